// SPDX-License-Identifier: MIT
/* The part of the command processor that reads, decodes and checks instructions. */
#include <string.h>

#include "machine/machine.h"

/* Reads memory for the CP. Returns false after a failure; the context's fault tells why. */
static bool cp_read(struct onpu_machine *m, uint64_t address, void *dst, size_t size)
{
	return sim_read(&m->context, ONPU_OPERAND_NONE, address, dst, size);
}

static bool fault_here(struct onpu_machine *m, const uint32_t *words)
{
	const struct sim_fault *f = &m->context.fault;

	return machine_fault(m, f->code, ONPU_ENG_CP, m->pc, words, f->operand, f->address,
			     m->cp_time);
}

static bool program_ok(const struct onpu_slot_program *p)
{
	struct onpu_slot_program clean = { .kind = ONPU_SLOT_PROGRAM,
					   .isa_major = p->isa_major,
					   .sram_bytes = p->sram_bytes,
					   .keep = p->keep,
					   .keep_start = p->keep_start };

	if ((!p->keep && p->keep_start) || !p->isa_major || p->isa_major > ONPU_ISA_MAJOR)
		return false;
	memcpy(clean.sem_init, p->sem_init, sizeof(clean.sem_init));
	return !memcmp(&clean, p, sizeof(clean));
}

/*
 * If the last job has left in SRAM what this program names by KEEP, skips the instructions that
 * would load it; otherwise clears SRAM and starts at the first instruction.
 */
static void begin_sram(struct onpu_machine *m, const struct onpu_slot_program *p)
{
	m->keep = p->keep;
	if (m->keep && m->keep == m->held)
		m->pc = m->start = p->keep_start;
	else
		machine_clear_sram(m);
	m->held = 0;
}

bool machine_begin_program(struct onpu_machine *m)
{
	const struct onpu_job *job = &m->job;
	struct onpu_slot_program program;
	int code = 0;

	if (job->program_va % ONPU_INSN_BYTES || job->slots_va % ONPU_SLOT_SIZE)
		code = ONPU_FAULT_SLOT_FORMAT;
	else if (!job->num_slots)
		code = ONPU_FAULT_SLOT_INDEX;
	else if (!cp_read(m, job->slots_va, &program, sizeof(program)))
		return fault_here(m, NULL);
	else if (!program_ok(&program))
		code = ONPU_FAULT_SLOT_FORMAT;
	else if (program.sram_bytes > m->config.sram_bytes)
		code = ONPU_FAULT_BOUNDS;
	if (code)
		return machine_fault(m, code, ONPU_ENG_CP, 0, NULL, ONPU_OPERAND_NONE, 0, 0);
	begin_sram(m, &program);
	m->context.sram_bytes = program.sram_bytes;
	for (unsigned int i = 0; i < ONPU_NUM_SEMAPHORES; i++)
		m->semaphore[i].count = program.sem_init[i];
	m->cp = CP_TAKE;
	return true;
}

/*
 * Returns the cycles to fetch a slot, 0 if it is one of the most recently used ones; makes it the
 * most recent one.
 */
static unsigned int slot_cycles(struct onpu_machine *m, uint16_t index)
{
	unsigned int at = 0, miss;

	while (at < m->slots_cached && m->slot_cache[at] != index)
		at++;
	miss = at == m->slots_cached;
	if (miss && m->slots_cached < ONPU_CACHED_SLOTS)
		m->slots_cached++;
	else if (miss)
		at--;
	memmove(m->slot_cache + 1, m->slot_cache, at * sizeof(m->slot_cache[0]));
	m->slot_cache[0] = index;
	return miss ? ONPU_CYCLES_SLOT : 0;
}

static unsigned int fetch_cycles(struct onpu_machine *m, const struct sim_work *w)
{
	const uint16_t index[ONPU_OPERAND_COUNT] = { w->insn.dst, w->insn.s0, w->insn.s1,
						     w->insn.s2, w->insn.param };
	unsigned int cycles = ONPU_CYCLES_TAKE;

	for (unsigned int i = 0; i < ONPU_OPERAND_COUNT; i++) {
		if (w->info->operands[i].present && index[i])
			cycles += slot_cycles(m, index[i]);
	}
	return cycles;
}

static bool read_slot(void *ctx, uint32_t index, union onpu_slot *slot)
{
	struct onpu_machine *m = ctx;

	return cp_read(m, m->job.slots_va + (uint64_t)index * ONPU_SLOT_SIZE, slot, sizeof(*slot));
}

/*
 * Makes the engine the signaller or the waiter of a semaphore. Returns false if another engine
 * already has that role, which is a fault of the job.
 */
static bool own(struct onpu_machine *m, const struct sim_work *w, unsigned int semaphore,
		bool signals)
{
	struct semaphore *s = &m->semaphore[semaphore];
	uint8_t *owner = signals ? &s->signaller : &s->waiter;

	if (*owner != NO_ENGINE && *owner != w->engine)
		return sim_fail(&m->context, ONPU_FAULT_SEM_OWNER, ONPU_OPERAND_NONE, semaphore);
	*owner = w->engine;
	return true;
}

static bool own_all(struct onpu_machine *m, const struct sim_work *w)
{
	if (w->insn.wv && !own(m, w, w->insn.wsem, false))
		return false;
	if (w->insn.op == ONPU_OP_SEM_WAIT && !own(m, w, w->insn.sem, false))
		return false;
	if (w->insn.sv && !own(m, w, w->insn.ssem, true))
		return false;
	return w->insn.op != ONPU_OP_SEM_SIGNAL || own(m, w, w->insn.sem, true);
}

/* Checks the CP's own instructions beyond their operands. Returns false after a fault. */
static bool check_control(struct onpu_machine *m, const struct sim_work *w)
{
	if (w->insn.op == ONPU_OP_TRAP)
		return sim_fail(&m->context, ONPU_FAULT_TRAP, ONPU_OPERAND_NONE, w->insn.code);
	if (w->insn.op == ONPU_OP_PREEMPT && w->insn.live > m->context.sram_bytes)
		return sim_fail(&m->context, ONPU_FAULT_BOUNDS, ONPU_OPERAND_NONE, 0);
	return true;
}

static bool decode(struct onpu_machine *m, struct sim_work *w)
{
	enum onpu_fault code = onpu_insn_unpack(w->words, &w->insn);

	if (code)
		return sim_fail(&m->context, code, ONPU_OPERAND_NONE, 0);
	w->info = &onpu_op_info[w->insn.op];
	if (w->info->feature & ~(uint32_t)m->config.features)
		return sim_fail(&m->context, ONPU_FAULT_ILLEGAL_OPCODE, ONPU_OPERAND_NONE, 0);
	w->engine = onpu_insn_engine(&w->insn);
	w->pc = m->pc;
	return true;
}

bool machine_take(struct onpu_machine *m)
{
	const struct sim_slot_source slots = { m, m->job.num_slots, read_slot };
	struct sim_work *w = m->work;
	unsigned int cycles;

	if (m->pc >= m->job.num_insns)
		return machine_fault(m, ONPU_FAULT_ILLEGAL_OPCODE, ONPU_ENG_CP, m->pc, NULL,
				     ONPU_OPERAND_NONE, 0, m->cp_time);
	memset(w, 0, sizeof(*w));
	if (!cp_read(m, m->job.program_va + (uint64_t)m->pc * sizeof(w->words), w->words,
		     sizeof(w->words)))
		return fault_here(m, NULL);
	if (!decode(m, w))
		return fault_here(m, w->words);
	cycles = fetch_cycles(m, w);
	if (!sim_decode(&m->context, w, &slots) || !own_all(m, w) || !check_control(m, w))
		return fault_here(m, w->words);
	m->pc++;
	m->cp_time += cycles;
	m->result.counters.busy[ONPU_ENG_CP] += cycles;
	w->issue = m->cp_time;
	m->cp = w->engine == ONPU_ENG_CP ? CP_START : CP_PUSH;
	m->cp_tokens = UINT64_MAX;
	return true;
}
