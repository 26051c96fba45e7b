// SPDX-License-Identifier: MIT
/*
 * The event machine: virtual time, queues, semaphores.
 *
 * Events are taken in order of virtual time, ties in order of engine number. An engine's event
 * is the start of its next instruction, which then has its effects at once; the CP's events are
 * taking an instruction and starting one of its own.
 */
#include <string.h>

#include "machine/machine.h"
#include "onpu/machines.h"
#include "onpu_memory.h"

/* ---- Configuration ---- */

static void set_sizes(struct onpu_sim_config *config, const struct onpu_machine_info *machine)
{
	config->sram_bytes = machine->sram_bytes;
	config->lanes = machine->lanes;
	config->mxu_rows = machine->mxu_rows;
	config->mxu_cols = machine->mxu_cols;
	config->fifo_depth = machine->fifo_depth;
	config->dma_bytes_per_cycle = machine->dma_bytes;
	config->num_queues = (uint16_t)machine->num_queues;
	config->features = (uint16_t)machine->features;
}

struct onpu_sim_config onpu_sim_config_default(void)
{
	struct onpu_sim_config config = { .threads = 1, .simd = -1 };

	set_sizes(&config, onpu_machine_default);
	return config;
}

bool onpu_sim_config_name(struct onpu_sim_config *config, const char *name)
{
	const struct onpu_machine_info *machine = onpu_machine_by_name(name);

	if (machine)
		set_sizes(config, machine);
	return machine;
}

enum onpu_machine_id onpu_sim_config_machine(const struct onpu_sim_config *config)
{
	for (unsigned int i = 0; i < ONPU_MACHINE_COUNT; i++) {
		struct onpu_sim_config named = *config;

		set_sizes(&named, &onpu_machines[i]);
		/* The other members are copies, and the structure has no padding. */
		if (!memcmp(&named, config, sizeof(named)))
			return (enum onpu_machine_id)onpu_machines[i].id;
	}
	return ONPU_MACHINE_CUSTOM;
}

static const char *config_error(const struct onpu_sim_config *c)
{
	if (!onpu_simd_supported(ONPU_SIMD_SCALAR))
		return "the host has no fused multiply-add instruction";
	if (c->simd < -1 || c->simd >= ONPU_SIMD_COUNT)
		return "simd is no level of enum onpu_simd, nor -1";
	if (c->simd >= 0 && !onpu_simd_supported((enum onpu_simd)c->simd))
		return "the host does not support the SIMD level";
	if (!c->sram_bytes || c->sram_bytes % 64 || c->sram_bytes > 1u << 30)
		return "sram_bytes is not a multiple of 64 between 64 and 2^30";
	if (!c->lanes || c->lanes > 65536)
		return "lanes is not in 1..65536";
	if (!c->mxu_rows || c->mxu_rows > 4096 || !c->mxu_cols || c->mxu_cols > 4096)
		return "mxu_rows or mxu_cols is not in 1..4096";
	if (!c->fifo_depth || c->fifo_depth > 1024)
		return "fifo_depth is not in 1..1024";
	if (!c->dma_bytes_per_cycle || c->dma_bytes_per_cycle > 65536)
		return "dma_bytes_per_cycle is not in 1..65536";
	if (c->features & ~(ONPU_CAP_FEATURES_MXU_FORMS__MASK | ONPU_CAP_FEATURES_PACKING__MASK |
			    ONPU_CAP_FEATURES_WEIGHTS__MASK | ONPU_CAP_FEATURES_FACTORS__MASK))
		return "features has a bit that is no feature of CAP_FEATURES";
	_Static_assert(ONPU_SIM_MAX_THREADS == 64, "as told below");
	if (!c->threads || c->threads > ONPU_SIM_MAX_THREADS)
		return "threads is not in 1..64";
	return NULL;
}

static bool machine_alloc(struct onpu_machine *m)
{
	const struct onpu_sim_memory *memory = &m->context.memory;

	m->context.sram = sim_alloc(memory, m->config.sram_bytes);
	m->context.pool = onpu_pool_create(memory, m->config.threads);
	m->work = sim_alloc(memory, sizeof(*m->work));
	for (unsigned int i = ONPU_ENG_LD; i < ONPU_ENG_COUNT; i++) {
		m->engine[i].queue =
			sim_calloc(memory, m->config.fifo_depth, sizeof(*m->engine[i].queue));
		if (!m->engine[i].queue)
			return false;
	}
	return m->context.sram && m->context.pool && m->work;
}

struct onpu_machine *onpu_machine_create(const struct onpu_sim_config *config, const char **error)
{
	return onpu_machine_create_in(NULL, config, error);
}

struct onpu_machine *onpu_machine_create_in(const struct onpu_sim_memory *from,
					    const struct onpu_sim_config *config,
					    const char **error)
{
	const struct onpu_sim_memory memory = from ? *from : (struct onpu_sim_memory){ 0 };
	struct onpu_sim_config c = config ? *config : onpu_sim_config_default();
	const char *why = config_error(&c);
	struct onpu_machine *m = why ? NULL : sim_calloc(&memory, 1, sizeof(*m));

	if (m) {
		if (c.simd < 0)
			c.simd = onpu_simd_best();
		m->config = c;
		m->context.memory = memory;
		if (machine_alloc(m)) {
			m->context.config = &m->config;
			m->context.watch = &m->watch;
			onpu_kernels_fill((enum onpu_simd)c.simd, &m->kernels);
			m->context.kernels = &m->kernels;
			m->context.functions = onpu_fn_table((enum onpu_simd)c.simd);
			m->context.counters = &m->result.counters;
			m->sram_dirty = m->config.sram_bytes;
			machine_clear_sram(m);
			return m;
		}
		onpu_machine_destroy(m);
	}
	if (error)
		*error = why ? why : "too little memory is free, or no thread can be started";
	return NULL;
}

void onpu_machine_destroy(struct onpu_machine *m)
{
	struct onpu_sim_memory memory;

	if (!m)
		return;
	memory = m->context.memory;
	onpu_pool_destroy(m->context.pool);
	for (unsigned int i = 0; i < ONPU_ENG_COUNT; i++)
		sim_free(&memory, m->engine[i].queue);
	sim_free(&memory, m->work);
	sim_free(&memory, m->context.scratch);
	sim_free(&memory, m->context.sram);
	sim_free(&memory, m);
}

const struct onpu_sim_config *onpu_machine_config(const struct onpu_machine *m)
{
	return &m->config;
}

/* ---- Start and end of a job ---- */

void machine_reset(struct onpu_machine *m)
{
	memset(&m->job, 0, sizeof(m->job));
	memset(&m->result, 0, sizeof(m->result));
	memset(&m->context.fault, 0, sizeof(m->context.fault));
	m->context.energy = 0;
	memset(m->semaphore, 0, sizeof(m->semaphore));
	for (unsigned int i = 0; i < ONPU_NUM_SEMAPHORES; i++) {
		m->semaphore[i].signaller = NO_ENGINE;
		m->semaphore[i].waiter = NO_ENGINE;
	}
	for (unsigned int i = 0; i < ONPU_ENG_COUNT; i++) {
		m->engine[i].head = 0;
		m->engine[i].count = 0;
		m->engine[i].end = 0;
		m->engine[i].pc = 0;
	}
	m->slots_cached = 0;
	m->context.sram_bytes = 0;
	m->cp = CP_STOPPED;
	m->cp_time = 0;
	m->cp_end = 0;
	m->pc = 0;
	m->start = 0;
	m->keep = 0;
	m->live = 0;
	m->now = 0;
	m->active = false;
	m->faulted = false;
}

void onpu_machine_begin(struct onpu_machine *m, const struct onpu_mem *mem,
			const struct onpu_job *job)
{
	machine_reset(m);
	m->context.mem = mem;
	m->job = *job;
	m->cp = CP_BEGIN;
	m->active = true;
}

void onpu_machine_abort(struct onpu_machine *m)
{
	if (m->executing)
		atomic_store(&m->watch.stop, true);
	else
		machine_reset(m);
}

void onpu_machine_forget(struct onpu_machine *m)
{
	m->held = 0;
}

void onpu_machine_watch(struct onpu_machine *m, bool (*look)(void *ctx), void *ctx)
{
	m->watch.look = look;
	m->watch.ctx = ctx;
}

/*
 * Clears SRAM; only the bytes that may differ from 0, so that a small job takes the host little
 * time.
 */
void machine_clear_sram(struct onpu_machine *m)
{
	memset(m->context.sram, 0, m->sram_dirty);
	m->sram_dirty = 0;
}

static void will_write(struct onpu_machine *m, const struct sim_tensor *t)
{
	if (t->present && t->space == ONPU_SPACE_SRAM && t->base + t->size > m->sram_dirty)
		m->sram_dirty = t->base + t->size;
}

bool machine_fault(struct onpu_machine *m, int code, unsigned int engine, uint32_t pc,
		   const uint32_t *words, uint32_t operand, uint64_t address, uint64_t cycle)
{
	struct onpu_fault_record *f = &m->result.fault;

	memset(f, 0, sizeof(*f));
	f->code = (uint32_t)code;
	f->pc = pc;
	if (words)
		memcpy(f->insn, words, sizeof(f->insn));
	f->engine = engine;
	f->operand = operand;
	f->address = address;
	f->cycle = cycle;
	m->result.cycles = cycle;
	m->cp = CP_STOPPED;
	m->active = false;
	m->faulted = true;
	return false;
}

/* ---- Semaphores ---- */

/*
 * Returns the time of the token that brings a semaphore to @count; NO_TIME when none is on its way.
 */
static uint64_t token_time(const struct semaphore *s, uint32_t count)
{
	if (!count)
		return 0;
	if (s->count >= count)
		return s->time;
	return s->count + s->pending >= count ? s->pending_time : NO_TIME;
}

/* Returns the time when all tokens are there that an instruction waits for. */
static uint64_t wait_time(const struct onpu_machine *m, const struct sim_work *w)
{
	uint32_t count = w->insn.op == ONPU_OP_SEM_WAIT ? w->insn.count : 0;
	uint64_t time = 0, more;

	if (w->insn.wv) {
		if (count && w->insn.wsem == w->insn.sem)
			return token_time(&m->semaphore[w->insn.sem], count + 1);
		time = token_time(&m->semaphore[w->insn.wsem], 1);
	}
	more = count ? token_time(&m->semaphore[w->insn.sem], count) : 0;
	return time > more ? time : more;
}

static bool comes_before(const struct semaphore *a, const struct semaphore *b)
{
	return a->time < b->time || (a->time == b->time && a->signaller < b->signaller);
}

/*
 * Adds the tokens that have arrived until @now to the counts. A count that becomes too large is a
 * fault of the engine that signalled. The fault comes before the event of @engine at @now, unless
 * it is at @now, too, and of an engine with a higher number. Returns false if the job has faulted.
 */
static bool arrive(struct onpu_machine *m, uint64_t now, unsigned int engine)
{
	const struct semaphore *first = NULL;
	const struct engine *e;

	for (unsigned int i = 0; i < ONPU_NUM_SEMAPHORES; i++) {
		struct semaphore *s = &m->semaphore[i];

		if (s->pending && s->pending_time <= now) {
			s->count += s->pending;
			s->time = s->pending_time;
			s->pending = 0;
			s->overflow = s->count > ONPU_MAX_TOKENS;
		}
		if (s->overflow && (!first || comes_before(s, first)))
			first = s;
	}
	if (!first || (first->time == now && first->signaller > engine))
		return true;
	e = &m->engine[first->signaller];
	return machine_fault(m, ONPU_FAULT_SEM_OVERFLOW, first->signaller, e->pc, e->words,
			     ONPU_OPERAND_NONE, (uint64_t)(first - m->semaphore), first->time);
}

static void consume(struct onpu_machine *m, const struct sim_work *w)
{
	if (w->insn.wv)
		m->semaphore[w->insn.wsem].count--;
	if (w->insn.op == ONPU_OP_SEM_WAIT)
		m->semaphore[w->insn.sem].count -= w->insn.count;
}

static void signal_at(struct onpu_machine *m, unsigned int semaphore, uint32_t count, uint64_t end)
{
	m->semaphore[semaphore].pending += count;
	m->semaphore[semaphore].pending_time = end;
}

static void produce(struct onpu_machine *m, const struct sim_work *w, uint64_t end)
{
	if (w->insn.sv)
		signal_at(m, w->insn.ssem, 1, end);
	if (w->insn.op == ONPU_OP_SEM_SIGNAL)
		signal_at(m, w->insn.sem, w->insn.count, end);
}

/* ---- One instruction starts ---- */

static bool profile(struct onpu_machine *m, const struct sim_work *w, uint64_t start, uint64_t end,
		    uint64_t stall)
{
	const struct onpu_profile_record record = {
		.index = w->pc, .engine = w->engine, .start = start, .end = end, .stall = stall
	};
	uint64_t at = m->result.profile_records * sizeof(record);

	if (!w->insn.ts)
		return true;
	m->result.profile_records++;
	if (at + sizeof(record) > m->job.profile_size)
		return true;
	return sim_write(&m->context, ONPU_OPERAND_NONE, m->job.profile_va + at, &record,
			 sizeof(record));
}

/*
 * Starts an instruction of any engine: checks the cycle limit, takes its tokens, writes the profile
 * and schedules the tokens that it signals at its end. @ready is the time when it could have
 * started without waiting for tokens. Returns false if the job has faulted.
 */
static bool start_common(struct onpu_machine *m, const struct sim_work *w, uint64_t start,
			 uint64_t ready)
{
	struct engine *e = &m->engine[w->engine];
	uint64_t end = start + w->cost;

	if (m->job.cycle_limit && start > m->job.cycle_limit)
		return machine_fault(m, ONPU_FAULT_TIMEOUT, w->engine, w->pc, w->words,
				     ONPU_OPERAND_NONE, 0, start);
	consume(m, w);
	e->pc = w->pc;
	memcpy(e->words, w->words, sizeof(e->words));
	e->end = end;
	if (!profile(m, w, start, end, start - ready))
		return machine_fault(m, m->context.fault.code, w->engine, w->pc, w->words,
				     ONPU_OPERAND_NONE, m->context.fault.address, start);
	produce(m, w, end);
	return true;
}

static void push_work(struct onpu_machine *m, uint64_t issue)
{
	struct engine *e = &m->engine[m->work->engine];
	uint32_t at = (e->head + e->count) % m->config.fifo_depth;

	m->work->issue = issue;
	e->queue[at] = *m->work;
	e->count++;
	m->result.counters.stall_fifo += issue - m->cp_time;
	m->cp_time = issue;
	m->cp = CP_TAKE;
}

static bool start_engine(struct onpu_machine *m, unsigned int engine, uint64_t start)
{
	struct onpu_counters *counters = &m->result.counters;
	struct engine *e = &m->engine[engine];
	const struct sim_work *w = &e->queue[e->head];
	uint64_t ready = e->end > w->issue ? e->end : w->issue;
	unsigned long long fp;
	bool ok;

	if (!start_common(m, w, start, ready))
		return false;
	counters->stall_sem[engine] += start - ready;
	counters->busy[engine] += w->cost;
	will_write(m, &w->t[ONPU_OPERAND_DST]);
	if (w->info->cost == ONPU_COST_SCAN)
		will_write(m, &w->t[ONPU_OPERAND_S1]);
	fp = onpu_fp_enter();
	m->executing = true;
	ok = sim_execute(&m->context, w);
	m->executing = false;
	onpu_fp_leave(fp);
	if (atomic_load(&m->watch.stop))
		return false;
	if (!ok)
		return machine_fault(m, m->context.fault.code, engine, w->pc, w->words,
				     m->context.fault.operand, m->context.fault.address, start);
	e->head = (e->head + 1) % m->config.fifo_depth;
	e->count--;
	if (m->cp == CP_PUSH && m->work->engine == engine)
		push_work(m, m->cp_time > start ? m->cp_time : start);
	return true;
}

/*
 * Stores the time of the start and the busy cycles of each engine, of which only cycles before the
 * start count. Returns false if the job has faulted.
 */
static bool timestamp(struct onpu_machine *m, uint64_t start)
{
	const struct sim_tensor *t = &m->work->t[ONPU_OPERAND_DST];
	uint64_t value[1 + ONPU_ENG_COUNT] = { start };

	will_write(m, t);
	for (unsigned int i = 0; i < ONPU_ENG_COUNT; i++) {
		uint64_t end = i == ONPU_ENG_CP ? 0 : m->engine[i].end;

		value[1 + i] = m->result.counters.busy[i] - (end > start ? end - start : 0);
	}
	for (unsigned int i = 0; i < 1 + ONPU_ENG_COUNT; i++) {
		uint64_t address = t->start + (uint64_t)t->stride[0] * i;

		if (t->space == ONPU_SPACE_SRAM)
			memcpy(sim_at(&m->context, (int64_t)address), &value[i], sizeof(*value));
		else if (!sim_write(&m->context, ONPU_OPERAND_DST, address, &value[i],
				    sizeof(*value)))
			return machine_fault(m, m->context.fault.code, ONPU_ENG_CP, m->work->pc,
					     m->work->words, m->context.fault.operand,
					     m->context.fault.address, start);
	}
	return true;
}

static enum onpu_step start_control(struct onpu_machine *m, uint64_t start)
{
	const struct sim_work *w = m->work;

	if (m->cp_tokens > w->issue)
		m->result.counters.stall_sem[ONPU_ENG_CP] += m->cp_tokens - w->issue;
	if (!start_common(m, w, start, w->issue))
		return ONPU_STEP_FAULT;
	if (w->insn.op == ONPU_OP_TIMESTAMP && !timestamp(m, start))
		return ONPU_STEP_FAULT;
	m->result.counters.busy[ONPU_ENG_CP] += w->cost;
	m->cp_time = start + w->cost;
	m->cp_end = m->cp_time;
	m->cp = CP_TAKE;
	if (w->insn.op == ONPU_OP_PREEMPT) {
		m->live = w->insn.live;
		return ONPU_STEP_PREEMPT_POINT;
	}
	if (w->insn.op != ONPU_OP_END)
		return ONPU_STEP_RUNNING;
	/* A semaphore that has overflowed by now is still a fault of this job. */
	if (!arrive(m, m->cp_time, ONPU_ENG_COUNT))
		return ONPU_STEP_FAULT;
	m->result.code = w->insn.code;
	m->result.cycles = m->cp_time;
	m->held = m->keep;
	m->cp = CP_STOPPED;
	m->active = false;
	return ONPU_STEP_DONE;
}

/* ---- Which event is next ---- */

/* Returns the engines that have to be idle before a CP instruction starts, a bit for each. */
static unsigned int drained_engines(const struct sim_work *w)
{
	switch (w->insn.op) {
	case ONPU_OP_END:
	case ONPU_OP_PREEMPT:
		return (1u << ONPU_ENG_COUNT) - 1;
	case ONPU_OP_BARRIER:
		return w->insn.mask;
	default:
		return 0;
	}
}

static uint64_t control_time(const struct onpu_machine *m)
{
	const struct sim_work *w = m->work;
	unsigned int mask = drained_engines(w);
	uint64_t tokens = wait_time(m, w);
	uint64_t time = tokens > w->issue ? tokens : w->issue;

	for (unsigned int i = ONPU_ENG_LD; i < ONPU_ENG_COUNT; i++) {
		if (!(mask >> i & 1))
			continue;
		if (m->engine[i].count)
			return NO_TIME;
		if (m->engine[i].end > time)
			time = m->engine[i].end;
	}
	return time;
}

static uint64_t engine_time(const struct onpu_machine *m, const struct engine *e)
{
	const struct sim_work *w = &e->queue[e->head];
	uint64_t tokens, time;

	if (!e->count)
		return NO_TIME;
	tokens = wait_time(m, w);
	time = e->end > w->issue ? e->end : w->issue;
	return tokens > time ? tokens : time;
}

static uint64_t cp_event(const struct onpu_machine *m)
{
	switch (m->cp) {
	case CP_BEGIN:
	case CP_TAKE:
		return m->cp_time;
	case CP_START:
		return control_time(m);
	default:
		return NO_TIME;
	}
}

/*
 * Ends the job with a deadlock fault. The fault names the CP if its own instruction waits for
 * tokens; otherwise the engine with the lowest number, from LD on, whose queue holds an
 * instruction.
 */
static void deadlock(struct onpu_machine *m)
{
	uint64_t cycle = m->cp_end;
	const struct sim_work *w = NULL;
	unsigned int engine = ONPU_ENG_CP;

	for (unsigned int i = ONPU_ENG_COUNT; i-- > ONPU_ENG_LD;) {
		struct engine *e = &m->engine[i];

		cycle = e->end > cycle ? e->end : cycle;
		if (e->count) {
			engine = i;
			w = &e->queue[e->head];
		}
	}
	if (m->cp == CP_START && wait_time(m, m->work) == NO_TIME) {
		engine = ONPU_ENG_CP;
		w = m->work;
	}
	machine_fault(m, ONPU_FAULT_DEADLOCK, engine, w->pc, w->words, ONPU_OPERAND_NONE, 0, cycle);
}

static enum onpu_step cp_step(struct onpu_machine *m, uint64_t time)
{
	const struct engine *e;

	if (m->cp == CP_START)
		return start_control(m, time);
	if (!(m->cp == CP_BEGIN ? machine_begin_program(m) : machine_take(m)))
		return ONPU_STEP_FAULT;
	if (m->cp != CP_PUSH)
		return ONPU_STEP_RUNNING;
	e = &m->engine[m->work->engine];
	if (e->count < m->config.fifo_depth)
		push_work(m, m->cp_time);
	return ONPU_STEP_RUNNING;
}

enum onpu_step onpu_machine_step(struct onpu_machine *m)
{
	unsigned int engine = ONPU_ENG_CP;
	uint64_t time;

	if (!m->active)
		return m->faulted	? ONPU_STEP_FAULT :
		       m->result.cycles ? ONPU_STEP_DONE :
					  ONPU_STEP_IDLE;
	/*
	 * Note when the instruction's tokens were first there: while the CP still waits for
	 * engines, more tokens may arrive and change the result of wait_time().
	 */
	if (m->cp == CP_START && m->cp_tokens == NO_TIME)
		m->cp_tokens = wait_time(m, m->work);
	time = cp_event(m);
	for (unsigned int i = ONPU_ENG_LD; i < ONPU_ENG_COUNT; i++) {
		uint64_t t = engine_time(m, &m->engine[i]);

		if (t < time) {
			time = t;
			engine = i;
		}
	}
	if (!arrive(m, time, engine))
		return ONPU_STEP_FAULT;
	if (time == NO_TIME) {
		deadlock(m);
		return ONPU_STEP_FAULT;
	}
	m->now = time;
	if (engine == ONPU_ENG_CP)
		return cp_step(m, time);
	if (start_engine(m, engine, time))
		return ONPU_STEP_RUNNING;
	if (!atomic_exchange(&m->watch.stop, false))
		return ONPU_STEP_FAULT;
	machine_reset(m);
	return ONPU_STEP_IDLE;
}

bool onpu_machine_run(struct onpu_machine *m, const struct onpu_mem *mem,
		      const struct onpu_job *job, struct onpu_job_result *result)
{
	enum onpu_step step;

	onpu_machine_begin(m, mem, job);
	do {
		step = onpu_machine_step(m);
	} while (step == ONPU_STEP_RUNNING || step == ONPU_STEP_PREEMPT_POINT);
	*result = m->result;
	return step == ONPU_STEP_DONE;
}

const struct onpu_job_result *onpu_machine_result(const struct onpu_machine *m)
{
	return &m->result;
}

uint64_t onpu_machine_energy(const struct onpu_machine *m)
{
	return m->context.energy;
}

uint64_t onpu_machine_time(const struct onpu_machine *m)
{
	return m->now;
}

uint64_t onpu_machine_pc(const struct onpu_machine *m)
{
	return m->pc - m->start;
}

uint64_t onpu_machine_index(const struct onpu_machine *m)
{
	return m->pc;
}

uint8_t *onpu_machine_sram(struct onpu_machine *m)
{
	m->sram_dirty = m->config.sram_bytes;
	return m->context.sram;
}
