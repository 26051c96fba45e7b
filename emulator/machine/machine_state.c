// SPDX-License-Identifier: MIT
/*
 * Saving a job at a preemption point and continuing it. The save area holds struct saved_state,
 * padded to ONPU_MACHINE_STATE_HEADER bytes, then SRAM [0, live). The engines are idle at a
 * preemption point, so no queue of theirs has to be saved. All members are little-endian; times are
 * cycles of the job. The area belongs to the kernel driver and no job can reach it; its content is
 * checked all the same, so that a broken driver cannot make this process access memory out of
 * bounds.
 */
#include <string.h>

#include "machine/machine.h"

#define STATE_VERSION 4

struct saved_semaphore {
	uint32_t count, pending;
	uint64_t time, pending_time;
	uint8_t signaller, waiter, overflow;
	uint8_t zero[5];
};

struct saved_engine {
	uint64_t end;
	uint32_t pc;
	uint32_t words[ONPU_INSN_WORDS];
	uint32_t zero;
};

struct saved_state {
	struct onpu_save_header head;	 /* the caller writes its seqno */
	uint32_t sram_bytes, fifo_depth; /* configuration of the machine */
	uint32_t lanes, mxu_rows, mxu_cols, dma_bytes_per_cycle;
	uint32_t program_sram, slots_cached;
	uint64_t now, cp_time, cp_end;
	uint64_t program_va, slots_va, profile_va, profile_size, cycle_limit;
	uint32_t num_insns, num_slots;
	uint32_t start, features;
	uint64_t profile_records;
	struct onpu_counters counters;
	uint64_t energy;
	struct saved_engine engine[ONPU_ENG_COUNT];
	struct saved_semaphore semaphore[ONPU_NUM_SEMAPHORES];
	uint16_t slot_cache[ONPU_CACHED_SLOTS];
};

union state_area {
	struct saved_state state;
	uint8_t bytes[ONPU_MACHINE_STATE_HEADER];
};

_Static_assert(sizeof(struct saved_state) <= ONPU_MACHINE_STATE_HEADER, "header too small");
_Static_assert(ONPU_SAVE_HEADER_SIZE == ONPU_MACHINE_STATE_HEADER, "size of a save area");

size_t onpu_machine_state_size(const struct onpu_machine *m)
{
	return ONPU_MACHINE_STATE_HEADER + (size_t)m->live;
}

static void save_machine(const struct onpu_machine *m, struct saved_state *s)
{
	s->head.magic = ONPU_SAVE_MAGIC;
	s->head.version = STATE_VERSION;
	s->head.live = m->live;
	s->head.state_size = sizeof(*s) - sizeof(s->head);
	s->head.pc = m->pc;
	s->sram_bytes = m->config.sram_bytes;
	s->fifo_depth = m->config.fifo_depth;
	s->lanes = m->config.lanes;
	s->mxu_rows = m->config.mxu_rows;
	s->mxu_cols = m->config.mxu_cols;
	s->dma_bytes_per_cycle = m->config.dma_bytes_per_cycle;
	s->features = m->config.features;
	s->program_sram = m->context.sram_bytes;
	s->slots_cached = m->slots_cached;
	s->now = m->now;
	s->cp_time = m->cp_time;
	s->cp_end = m->cp_end;
	s->program_va = m->job.program_va;
	s->slots_va = m->job.slots_va;
	s->profile_va = m->job.profile_va;
	s->profile_size = m->job.profile_size;
	s->cycle_limit = m->job.cycle_limit;
	s->start = m->start;
	s->num_insns = m->job.num_insns;
	s->num_slots = m->job.num_slots;
	s->profile_records = m->result.profile_records;
	s->counters = m->result.counters;
	s->energy = m->context.energy;
	memcpy(s->slot_cache, m->slot_cache, sizeof(s->slot_cache));
}

int onpu_machine_save(struct onpu_machine *m, const struct onpu_mem *mem, uint64_t addr)
{
	union state_area area;
	struct saved_state *s = &area.state;
	int code;

	memset(&area, 0, sizeof(area));
	save_machine(m, s);
	for (unsigned int i = 0; i < ONPU_ENG_COUNT; i++) {
		s->engine[i].end = m->engine[i].end;
		s->engine[i].pc = m->engine[i].pc;
		memcpy(s->engine[i].words, m->engine[i].words, sizeof(s->engine[i].words));
	}
	for (unsigned int i = 0; i < ONPU_NUM_SEMAPHORES; i++) {
		const struct semaphore *from = &m->semaphore[i];

		s->semaphore[i].count = from->count;
		s->semaphore[i].pending = from->pending;
		s->semaphore[i].time = from->time;
		s->semaphore[i].pending_time = from->pending_time;
		s->semaphore[i].signaller = from->signaller;
		s->semaphore[i].waiter = from->waiter;
		s->semaphore[i].overflow = from->overflow;
	}
	code = mem->write(mem->ctx, addr, &area, sizeof(area));
	if (code || !m->live)
		return code;
	return mem->write(mem->ctx, addr + sizeof(area), m->context.sram, m->live);
}

/*
 * The most tokens that one instruction signals, and the count when they are added to a full
 * semaphore.
 */
#define PENDING_MAX (ONPU_MAX_TOKENS + 1)
#define COUNT_MAX   (ONPU_MAX_TOKENS + PENDING_MAX)
/* A time far above that of any job, yet so far below NO_TIME that adding costs cannot reach it. */
#define TIME_MAX (UINT64_C(1) << 62)

static bool times_ok(const struct saved_state *s)
{
	if (s->now > TIME_MAX || s->cp_time > TIME_MAX || s->cp_end > TIME_MAX)
		return false;
	for (unsigned int i = 0; i < ONPU_ENG_COUNT; i++) {
		if (s->engine[i].end > TIME_MAX)
			return false;
	}
	for (unsigned int i = 0; i < ONPU_NUM_SEMAPHORES; i++) {
		if (s->semaphore[i].time > TIME_MAX || s->semaphore[i].pending_time > TIME_MAX)
			return false;
	}
	return true;
}

static bool owner_ok(uint8_t engine)
{
	return engine < ONPU_ENG_COUNT || engine == NO_ENGINE;
}

/* Returns whether a machine of this configuration saved the state and every member is in range. */
static bool state_ok(const struct onpu_machine *m, const struct saved_state *s)
{
	const struct onpu_sim_config *c = &m->config;

	if (s->head.magic != ONPU_SAVE_MAGIC || s->head.version != STATE_VERSION ||
	    s->head.state_size != sizeof(*s) - sizeof(s->head))
		return false;
	if (s->sram_bytes != c->sram_bytes || s->fifo_depth != c->fifo_depth ||
	    s->lanes != c->lanes || s->mxu_rows != c->mxu_rows || s->mxu_cols != c->mxu_cols ||
	    s->dma_bytes_per_cycle != c->dma_bytes_per_cycle || s->features != c->features)
		return false;
	if (s->program_sram > c->sram_bytes || s->head.live > s->program_sram ||
	    s->head.pc > s->num_insns || s->start > s->head.pc ||
	    s->slots_cached > ONPU_CACHED_SLOTS || !times_ok(s))
		return false;
	for (unsigned int i = 0; i < ONPU_NUM_SEMAPHORES; i++) {
		const struct saved_semaphore *q = &s->semaphore[i];

		if (q->count > COUNT_MAX || (q->count > ONPU_MAX_TOKENS && !q->overflow) ||
		    q->pending > PENDING_MAX || q->overflow > 1 || !owner_ok(q->signaller) ||
		    !owner_ok(q->waiter) ||
		    ((q->pending || q->overflow) && q->signaller == NO_ENGINE))
			return false;
	}
	return true;
}

static void restore_machine(struct onpu_machine *m, const struct saved_state *s)
{
	m->context.sram_bytes = s->program_sram;
	m->live = s->head.live;
	m->pc = (uint32_t)s->head.pc;
	m->start = s->start;
	m->slots_cached = s->slots_cached;
	m->now = s->now;
	m->cp_time = s->cp_time;
	m->cp_end = s->cp_end;
	m->job.program_va = s->program_va;
	m->job.slots_va = s->slots_va;
	m->job.profile_va = s->profile_va;
	m->job.profile_size = s->profile_size;
	m->job.cycle_limit = s->cycle_limit;
	m->job.num_insns = s->num_insns;
	m->job.num_slots = s->num_slots;
	m->result.profile_records = s->profile_records;
	m->result.counters = s->counters;
	m->context.energy = s->energy;
	memcpy(m->slot_cache, s->slot_cache, sizeof(s->slot_cache));
	for (unsigned int i = 0; i < ONPU_ENG_COUNT; i++) {
		m->engine[i].end = s->engine[i].end;
		m->engine[i].pc = s->engine[i].pc;
		memcpy(m->engine[i].words, s->engine[i].words, sizeof(s->engine[i].words));
	}
	for (unsigned int i = 0; i < ONPU_NUM_SEMAPHORES; i++) {
		struct semaphore *to = &m->semaphore[i];

		to->count = s->semaphore[i].count;
		to->pending = s->semaphore[i].pending;
		to->time = s->semaphore[i].time;
		to->pending_time = s->semaphore[i].pending_time;
		to->signaller = s->semaphore[i].signaller;
		to->waiter = s->semaphore[i].waiter;
		to->overflow = s->semaphore[i].overflow;
	}
}

int onpu_machine_restore(struct onpu_machine *m, const struct onpu_mem *job_mem,
			 const struct onpu_mem *mem, uint64_t addr)
{
	union state_area area;
	int code;

	machine_reset(m);
	code = mem->read(mem->ctx, addr, &area, sizeof(area));
	if (code)
		return code;
	if (!state_ok(m, &area.state))
		return ONPU_FAULT_PARITY;
	machine_clear_sram(m);
	m->held = 0;
	m->sram_dirty = area.state.head.live;
	if (area.state.head.live)
		code = mem->read(mem->ctx, addr + sizeof(area), m->context.sram,
				 area.state.head.live);
	if (code)
		return code;
	restore_machine(m, &area.state);
	m->context.mem = job_mem;
	m->cp = CP_TAKE;
	m->active = true;
	return 0;
}
