// SPDX-License-Identifier: MIT
/* Implements reference_machine.h: runs programs on the reference. */
#include "reference_machine.h"

#include <stdlib.h>
#include <string.h>

#define RECENT_SLOTS 64
#define MAX_COUNT    65535
#define NOBODY	     (-1)

/*
 * Tokens of a semaphore that were given or taken at the same time: their number, the time, and the
 * instruction.
 */
struct batch {
	uint64_t n, time, pc;
};

struct semaphore {
	int waiter, signaller;
	uint64_t given, taken;
	unsigned int num_gifts, num_takes;
	struct batch gift[2 * REF_MAX_INSNS + 1], take[REF_MAX_INSNS];
};

/* The state of a program while its times are computed. */
struct run {
	struct ref_machine *m;
	const struct ref_program *p;
	struct ref_result *r;
	struct semaphore sem[ONPU_NUM_SEMAPHORES];
	unsigned int recent[RECENT_SLOTS], num_recent; /* the slots fetched last, the most recent
						        * first */
	unsigned int queue[ONPU_ENG_COUNT][REF_MAX_INSNS], issued[ONPU_ENG_COUNT];
	unsigned int resolved[ONPU_ENG_COUNT];
	/* end of the last instruction of each engine whose times are known */
	uint64_t end[ONPU_ENG_COUNT];
	uint64_t now; /* the CP's time */
	/*
	 * The number, plus one, of the engine whose queue got a free entry for the CP only by an
	 * instruction that started in the cycle @made_room_at; 0: none.
	 */
	unsigned int made_room;
	uint64_t made_room_at;
	/*
	 * In the cycle of the fault, starts of engines from @first_late on, and overflows of
	 * engines from @overflow_late on, come after the fault.
	 */
	unsigned int first_late, overflow_late;
	uint64_t cp_busy[REF_MAX_INSNS]; /* busy cycles before the start of a CP instruction */
	uint64_t busy;
};

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void stop(struct run *run, uint64_t pc, unsigned int engine, struct ref_fault fault,
		 uint64_t cycle)
{
	run->r->fault = fault;
	run->r->pc = pc;
	run->r->engine = engine;
	run->r->fault_cycle = cycle;
	run->first_late = engine;
	run->overflow_late = engine + 1;
}

static struct ref_fault plain(enum onpu_fault code, uint64_t address)
{
	return (struct ref_fault){ .code = code, .operand = ONPU_OPERAND_NONE, .address = address };
}

static bool read_memory(struct run *run, uint64_t address, void *to, unsigned int n,
			struct ref_fault *fault)
{
	*fault = plain(ONPU_FAULT_NONE, 0);
	for (unsigned int i = 0; i < n; i++) {
		const uint8_t *byte = ref_byte(run->m, ONPU_SPACE_VA, address + i, false, fault,
					       ONPU_OPERAND_NONE);

		if (!byte)
			return false;
		((uint8_t *)to)[i] = *byte;
	}
	return true;
}

/* Executes #program. Returns false when the program does not begin. */
static bool begin(struct run *run)
{
	const struct ref_program *p = run->p;
	struct ref_fault fault = plain(ONPU_FAULT_NONE, 0);
	union onpu_slot slot;
	bool reserved;

	if (p->program_va % 16 || p->slots_va % 128)
		fault = plain(ONPU_FAULT_SLOT_FORMAT, 0);
	else if (!p->num_slots)
		fault = plain(ONPU_FAULT_SLOT_INDEX, 0);
	else if (read_memory(run, p->slots_va, &slot, sizeof(slot), &fault)) {
		reserved = slot.program.mbz_02[0] || slot.program.mbz_02[1];
		for (unsigned int i = 0x54; i < sizeof(slot); i++)
			reserved |= slot.bytes[i] != 0;
		/*
		 * KEEP_START without KEEP is reserved. No kept state exists, because no job has run
		 * before this one.
		 */
		reserved |= slot.program.keep_start && !slot.program.keep;
		if (slot.program.kind != ONPU_SLOT_PROGRAM || slot.program.isa_major < 1 ||
		    slot.program.isa_major > ONPU_ISA_MAJOR || reserved)
			fault = plain(ONPU_FAULT_SLOT_FORMAT, 0);
		else if (slot.program.sram_bytes > run->m->sram_bytes)
			fault = plain(ONPU_FAULT_BOUNDS, 0);
	}
	if (fault.code) {
		stop(run, 0, ONPU_ENG_CP, fault, 0);
		return false;
	}
	run->m->program_sram = slot.program.sram_bytes;
	for (unsigned int s = 0; s < ONPU_NUM_SEMAPHORES; s++) {
		run->sem[s].waiter = run->sem[s].signaller = NOBODY;
		run->sem[s].given = slot.program.sem_init[s];
		run->sem[s].gift[run->sem[s].num_gifts++].n = run->sem[s].given;
	}
	return true;
}

/* Returns whether the slot must be fetched; afterwards it is the most recently used one. */
static bool fetch_slot(struct run *run, unsigned int index)
{
	unsigned int at = 0;
	bool miss;

	while (at < run->num_recent && run->recent[at] != index)
		at++;
	miss = at == run->num_recent;
	if (miss && run->num_recent < RECENT_SLOTS)
		run->num_recent++;
	else if (miss)
		at--;
	memmove(run->recent + 1, run->recent, at * sizeof(*run->recent));
	run->recent[0] = index;
	return miss;
}

/* Returns how many tokens the instruction takes: WAIT takes one, sem.wait its count. */
static unsigned int tokens_wanted(const struct onpu_insn *insn, unsigned int sem)
{
	unsigned int n = insn->wv && insn->wsem == sem;

	return n + (insn->op == ONPU_OP_SEM_WAIT && insn->sem == sem ? insn->count : 0);
}

static bool own(int *owner, unsigned int engine)
{
	if (*owner != NOBODY && *owner != (int)engine)
		return false;
	*owner = (int)engine;
	return true;
}

static struct ref_fault own_semaphores(struct run *run, const struct onpu_insn *insn,
				       unsigned int engine)
{
	if (insn->wv && !own(&run->sem[insn->wsem].waiter, engine))
		return plain(ONPU_FAULT_SEM_OWNER, insn->wsem);
	if (insn->op == ONPU_OP_SEM_WAIT && !own(&run->sem[insn->sem].waiter, engine))
		return plain(ONPU_FAULT_SEM_OWNER, insn->sem);
	if (insn->sv && !own(&run->sem[insn->ssem].signaller, engine))
		return plain(ONPU_FAULT_SEM_OWNER, insn->ssem);
	if (insn->op == ONPU_OP_SEM_SIGNAL && !own(&run->sem[insn->sem].signaller, engine))
		return plain(ONPU_FAULT_SEM_OWNER, insn->sem);
	return plain(ONPU_FAULT_NONE, 0);
}

static uint64_t token_time(const struct semaphore *sem, uint64_t n)
{
	unsigned int i = 0;

	for (; n > sem->gift[i].n; i++)
		n -= sem->gift[i].n;
	return sem->gift[i].time;
}

/*
 * Raises *@time to the time when all tokens that the instruction needs are there. Returns false
 * when some of them have not been given so far.
 */
static bool tokens_ready(struct run *run, const struct onpu_insn *insn, uint64_t *time)
{
	for (unsigned int s = 0; s < ONPU_NUM_SEMAPHORES; s++) {
		unsigned int want = tokens_wanted(insn, s);

		if (!want)
			continue;
		if (run->sem[s].taken + want > run->sem[s].given)
			return false;
		*time = later(*time, token_time(&run->sem[s], run->sem[s].taken + want));
	}
	return true;
}

static void give(struct run *run, unsigned int sem, unsigned int n, const struct ref_step *step)
{
	run->sem[sem].given += n;
	run->sem[sem].gift[run->sem[sem].num_gifts++] = (struct batch){
		.n = n,
		.time = step->end,
		.pc = (uint64_t)(step - run->r->step),
	};
}

static void take_tokens(struct run *run, const struct ref_step *step)
{
	for (unsigned int s = 0; s < ONPU_NUM_SEMAPHORES; s++) {
		unsigned int n = tokens_wanted(&step->op.insn, s);

		if (!n)
			continue;
		run->sem[s].taken += n;
		run->sem[s].take[run->sem[s].num_takes++] = (struct batch){
			.n = n,
			.time = step->start,
		};
	}
}

/*
 * Computes start and end of a step; @base is its earliest start if no token were missing. Returns
 * false when a token is missing.
 */
static bool resolve(struct run *run, struct ref_step *step, uint64_t base)
{
	const struct onpu_insn *insn = &step->op.insn;

	step->start = base;
	if (!tokens_ready(run, insn, &step->start))
		return false;
	take_tokens(run, step);
	step->stall = step->start - base;
	step->end = step->start + (uint64_t)ref_cost(run->m, &step->op);
	step->resolved = true;
	run->end[step->engine] = step->end;
	if (insn->sv)
		give(run, insn->ssem, 1, step);
	if (insn->op == ONPU_OP_SEM_SIGNAL)
		give(run, insn->sem, insn->count, step);
	return true;
}

/* Starts all queued instructions whose tokens have been given. */
static void resolve_queues(struct run *run)
{
	bool progress = true;

	while (progress) {
		progress = false;
		for (unsigned int e = 1; e < ONPU_ENG_COUNT; e++) {
			struct ref_step *step;

			if (run->resolved[e] == run->issued[e])
				continue;
			step = &run->r->step[run->queue[e][run->resolved[e]]];
			if (!resolve(run, step, later(run->end[e], step->issue)))
				continue;
			run->resolved[e]++;
			progress = true;
		}
	}
}

static void deadlock(struct run *run, uint64_t pc)
{
	uint64_t cycle = run->end[ONPU_ENG_CP];
	unsigned int engine = ONPU_ENG_CP;

	for (unsigned int e = ONPU_ENG_COUNT; e-- > 1;) {
		cycle = later(cycle, run->end[e]);
		if (run->resolved[e] < run->issued[e]) {
			engine = e;
			pc = run->queue[e][run->resolved[e]];
		}
	}
	stop(run, pc, engine, plain(ONPU_FAULT_DEADLOCK, 0), cycle);
	run->overflow_late = ONPU_ENG_COUNT;
}

static unsigned int engines_waited_for(const struct onpu_insn *insn)
{
	if (insn->op == ONPU_OP_BARRIER)
		return insn->mask;
	return insn->op == ONPU_OP_PREEMPT || insn->op == ONPU_OP_END ? 0x1f : 0;
}

static bool run_on_cp(struct run *run, uint64_t pc, struct ref_step *step)
{
	unsigned int mask = engines_waited_for(&step->op.insn);
	uint64_t base = run->now, tokens = run->now;

	resolve_queues(run);
	if (!tokens_ready(run, &step->op.insn, &tokens)) {
		deadlock(run, pc);
		run->r->engine = ONPU_ENG_CP;
		run->r->pc = pc;
		return false;
	}
	for (unsigned int e = 1; e < ONPU_ENG_COUNT; e++) {
		if (!(mask >> e & 1))
			continue;
		if (run->resolved[e] < run->issued[e]) {
			deadlock(run, pc);
			return false;
		}
		base = later(base, run->end[e]);
	}
	run->cp_busy[pc] = run->busy;
	resolve(run, step, base);
	step->stall = step->start - run->now;
	run->r->stall_sem[ONPU_ENG_CP] += tokens - run->now;
	run->busy += step->end - step->start;
	run->now = step->end;
	return true;
}

/* Records whether the engine's queue has had a free entry only since this cycle. */
static void room_just_made(struct run *run, unsigned int e)
{
	unsigned int full = 0;

	for (unsigned int i = run->issued[e]; i-- > 0; full++) {
		const struct ref_step *other = &run->r->step[run->queue[e][i]];

		if (other->resolved && other->start < run->now)
			break;
	}
	if (full < run->m->fifo_depth)
		return;
	run->made_room = e + 1;
	run->made_room_at = run->now;
}

/*
 * Waits for a free entry in the engine's queue and puts the instruction there. Returns false in a
 * deadlock: no entry will become free.
 */
static bool enqueue(struct run *run, uint64_t pc, struct ref_step *step)
{
	unsigned int e = step->engine, waiting = 0, first = 0;

	resolve_queues(run);
	for (unsigned int i = run->issued[e]; i-- > 0;) {
		const struct ref_step *other = &run->r->step[run->queue[e][i]];

		if (other->resolved && other->start <= run->now)
			break;
		waiting++;
		first = run->queue[e][i];
	}
	if (waiting >= run->m->fifo_depth) {
		if (!run->r->step[first].resolved) {
			deadlock(run, pc);
			return false;
		}
		run->r->stall_fifo += run->r->step[first].start - run->now;
		run->now = run->r->step[first].start;
	}
	room_just_made(run, e);
	step->issue = run->now;
	run->queue[e][run->issued[e]++] = (unsigned int)pc;
	return true;
}

/* Executes #issue up to and including #checks and ownership; returns the first fault. */
static struct ref_fault take(struct run *run, struct ref_step *step, const uint32_t *word)
{
	struct ref_fault fault;
	enum onpu_fault code = onpu_insn_unpack(word, &step->op.insn);
	const struct ref_op *op = &step->op;

	if (code)
		return plain(code, 0);
	if (op->insn.op == ONPU_OP_MMA_W && !run->m->weights)
		return plain(ONPU_FAULT_ILLEGAL_OPCODE, 0);
	run->now++;
	run->busy++;
	{
		static union onpu_slot slots[1 << 16];
		const unsigned int index[] = {
			op->insn.dst, op->insn.s0, op->insn.s1, op->insn.s2, op->insn.param,
		};

		for (unsigned int x = 0; x < ONPU_OPERAND_COUNT; x++) {
			if (!index[x] || index[x] >= run->p->num_slots)
				continue;
			if (fetch_slot(run, index[x])) {
				run->now += 4;
				run->busy += 4;
			}
			if (!read_memory(run, run->p->slots_va + 128ull * index[x],
					 &slots[index[x]], 128, &fault)) {
				fault.operand = x;
				return fault;
			}
		}
		fault = ref_decode_slots(run->m, &step->op, run->p->num_slots, slots);
	}
	if (!fault.code)
		fault = ref_check(run->m, op);
	step->engine = onpu_insn_engine(&op->insn);
	if (!fault.code)
		fault = own_semaphores(run, &op->insn, step->engine);
	if (!fault.code && op->insn.op == ONPU_OP_TRAP)
		fault = plain(ONPU_FAULT_TRAP, op->insn.code);
	if (!fault.code && op->insn.op == ONPU_OP_PREEMPT && op->insn.live > run->m->program_sram)
		fault = plain(ONPU_FAULT_BOUNDS, 0);
	return fault;
}

/* Issues one instruction. Returns false when the job stops there. */
static bool issue(struct run *run, uint64_t pc)
{
	struct ref_step *step = &run->r->step[pc];
	uint64_t took = run->now;
	uint32_t word[ONPU_INSN_WORDS] = { 0 };
	struct ref_fault fault;

	if (pc == run->p->num_insns)
		fault = plain(ONPU_FAULT_ILLEGAL_OPCODE, 0);
	else if (read_memory(run, run->p->program_va + 16 * pc, word, sizeof(word), &fault)) {
		run->r->has_insn = true;
		fault = take(run, step, word);
	}
	memcpy(run->r->insn, word, sizeof(word));
	if (fault.code) {
		stop(run, pc, ONPU_ENG_CP, fault, took);
		if (run->made_room && run->made_room_at == took) {
			run->first_late = run->made_room;
			run->overflow_late = run->made_room;
		}
		return false;
	}
	step->took = took;
	step->issued = true;
	if (step->engine == ONPU_ENG_CP) {
		step->issue = run->now;
		return run_on_cp(run, pc, step) && step->op.insn.op != ONPU_OP_END;
	}
	return enqueue(run, pc, step);
}

/*
 * Compares two steps for qsort(), by start, then by engine; returns a negative or a positive
 * number. Two steps of one engine never start at the same time.
 */
static int by_start(const void *a, const void *b)
{
	const struct ref_step *x = *(struct ref_step *const *)a, *y = *(struct ref_step *const *)b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (int)x->engine - (int)y->engine;
}

static struct ref_fault store_number(struct run *run, const struct ref_step *step, uint32_t at,
				     uint64_t v)
{
	struct ref_fault fault = plain(ONPU_FAULT_NONE, 0);

	ref_touch(run->m, &step->op, ONPU_OPERAND_DST, &at, &fault);
	if (!fault.code)
		ref_store_bits(run->m, &step->op.x[0], &at, v);
	return fault;
}

static struct ref_fault timestamp(struct run *run, struct ref_step *step)
{
	uint64_t pc = (uint64_t)(step - run->r->step), time = step->start, busy;
	struct ref_fault fault = store_number(run, step, 0, time);

	for (unsigned int e = 0; !fault.code && e < ONPU_ENG_COUNT; e++) {
		busy = e ? 0 : run->cp_busy[pc];
		for (unsigned int n = 0; e && n < run->resolved[e]; n++) {
			const struct ref_step *other = &run->r->step[run->queue[e][n]];

			if (other->start < time)
				busy += (other->end < time ? other->end : time) - other->start;
		}
		fault = store_number(run, step, 1 + e, busy);
	}
	return fault;
}

static void count(struct run *run, const struct ref_step *step)
{
	unsigned int cost = step->op.info->cost;

	if (cost == ONPU_COST_GATHER || step->op.insn.op == ONPU_OP_DMA_PAD) {
		run->r->bytes_known = false;
	} else if (cost == ONPU_COST_DMA) {
		const struct ref_tensor *dst = &step->op.x[0], *s0 = &step->op.x[1];
		uint64_t bytes = (uint64_t)ref_count(dst) * ref_size(dst->dtype);

		run->r->bytes_ld += step->op.has[1] && s0->space == ONPU_SPACE_VA ? bytes : 0;
		run->r->bytes_st += dst->space == ONPU_SPACE_VA ? bytes : 0;
	}
	if (step->engine == ONPU_ENG_MXU && cost == ONPU_COST_MMA)
		run->r->macs += (uint64_t)ref_macs(&step->op);
	if (cost == ONPU_COST_REDUCE)
		run->r->elements += (uint64_t)ref_count(&step->op.x[1]);
	else if (step->engine == ONPU_ENG_VPU && step->op.has[0])
		run->r->elements += (uint64_t)ref_count(&step->op.x[0]);
}

/* Notes the range of DST: after a fault, its bytes may hold anything. */
static void remember_partly(struct run *run, const struct ref_step *step)
{
	ref_int low, high;

	if (!step->op.has[0])
		return;
	ref_range(&step->op, 0, &low, &high);
	run->r->partly = true;
	run->r->partly_space = step->op.x[0].space;
	run->r->partly_from = (uint64_t)low;
	run->r->partly_to = (uint64_t)high;
}

static struct ref_fault effect(struct run *run, struct ref_step *step)
{
	unsigned int cost = step->op.info->cost;

	if (step->op.insn.op == ONPU_OP_TIMESTAMP)
		return timestamp(run, step);
	if (cost != ONPU_COST_CONST && cost != ONPU_COST_DRAIN)
		return ref_execute(run->m, &step->op);
	return plain(ONPU_FAULT_NONE, 0);
}

/* Writes the profile record of an instruction with .ts, if it fits; returns the fault, if any. */
static struct ref_fault record(struct run *run, const struct ref_step *step)
{
	const struct onpu_profile_record record = {
		.index = (uint32_t)(step - run->r->step),
		.engine = step->engine,
		.start = step->start,
		.end = step->end,
		.stall = step->stall,
	};
	struct ref_fault fault = plain(ONPU_FAULT_NONE, 0);
	uint64_t at = run->r->num_records * sizeof(record);

	if (!step->op.insn.ts)
		return fault;
	run->r->num_records++;
	if (at + sizeof(record) > run->p->profile_size)
		return fault;
	/*
	 * The memory of the tests takes a whole access or nothing of it, so all bytes are checked
	 * first.
	 */
	for (unsigned int i = 0; i < sizeof(record); i++)
		ref_byte(run->m, ONPU_SPACE_VA, run->p->profile_va + at + i, true, &fault,
			 ONPU_OPERAND_NONE);
	if (!fault.code)
		memcpy(ref_byte(run->m, ONPU_SPACE_VA, run->p->profile_va + at, true, NULL, 0),
		       &record, sizeof(record));
	return fault;
}

/*
 * Returns whether an overflow at this time, on this engine, comes after the fault that is known so
 * far.
 */
static bool after_fault(const struct run *run, uint64_t time, unsigned int engine)
{
	if (!run->r->fault.code || time < run->r->fault_cycle)
		return false;
	return time > run->r->fault_cycle || engine >= run->overflow_late;
}

/*
 * Ends the job with a fault at the first time when a semaphore's count is too large, unless the job
 * has faulted before.
 */
static void find_overflow(struct run *run)
{
	for (unsigned int s = 0; s < ONPU_NUM_SEMAPHORES; s++) {
		const struct semaphore *sem = &run->sem[s];
		uint64_t count = 0;

		for (unsigned int i = 0; i < sem->num_gifts; i++) {
			unsigned int engine = run->r->step[sem->gift[i].pc].engine;
			uint64_t taken = 0, time = sem->gift[i].time;

			count += sem->gift[i].n;
			for (unsigned int t = 0; t < sem->num_takes; t++)
				taken += sem->take[t].time < time ? sem->take[t].n : 0;
			if (count - taken <= MAX_COUNT || after_fault(run, time, engine))
				continue;
			stop(run, sem->gift[i].pc, engine, plain(ONPU_FAULT_SEM_OVERFLOW, s), time);
			/*
			 * When two semaphores overflow at once on one engine, the lower one is
			 * reported.
			 */
			run->overflow_late = engine;
		}
	}
}

static void run_effects(struct run *run, uint64_t num)
{
	static struct ref_step *order[REF_MAX_INSNS];
	struct ref_result *r = run->r;
	unsigned int n = 0;

	for (uint64_t i = 0; i < num; i++)
		if (r->step[i].resolved)
			order[n++] = &r->step[i];
	qsort(order, n, sizeof(*order), by_start);
	for (unsigned int i = 0; i < n; i++) {
		struct ref_step *step = order[i];
		struct ref_fault fault;
		uint64_t pc = (uint64_t)(step - r->step);

		if (r->fault.code &&
		    (step->start > r->fault_cycle ||
		     (step->start == r->fault_cycle && step->engine >= run->first_late)))
			break;
		if (run->p->cycle_limit && step->start > run->p->cycle_limit) {
			fault = plain(ONPU_FAULT_TIMEOUT, 0);
		} else {
			fault = record(run, step);
			if (!fault.code) {
				fault = effect(run, step);
				if (fault.code)
					remember_partly(run, step);
			}
			step->executed = !fault.code;
		}
		if (fault.code) {
			stop(run, pc, step->engine, fault, step->start);
			break;
		}
		r->busy[step->engine] += step->end - step->start;
		if (step->engine != ONPU_ENG_CP)
			r->stall_sem[step->engine] += step->stall;
		count(run, step);
	}
}

void ref_run(struct ref_machine *m, const struct ref_program *program, struct ref_result *result)
{
	static struct run state;
	struct run *run = &state;
	uint64_t pc = 0;

	memset(run, 0, sizeof(*run));
	memset(result, 0, offsetof(struct ref_result, step));
	memset(result->step, 0, (program->num_insns + 1) * sizeof(*result->step));
	run->m = m;
	run->p = program;
	run->r = result;
	result->fault.operand = ONPU_OPERAND_NONE;
	result->bytes_known = true;
	if (!begin(run))
		return;
	while (issue(run, pc))
		pc++;
	find_overflow(run);
	run_effects(run, pc + 1);
	result->busy[ONPU_ENG_CP] = run->busy;
	if (result->fault.code)
		read_memory(run, program->program_va + 16 * result->pc, result->insn, 16,
			    &(struct ref_fault){ 0 });
	result->code = result->step[pc].op.insn.code;
	result->cycles = run->now;
}
