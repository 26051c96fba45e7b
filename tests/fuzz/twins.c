// SPDX-License-Identifier: MIT
/* Implements twins.h, except for book_compare(). */
#include <stdbool.h>

#include "../random.h"
#include "isa/assembler.h"
#include "twins.h"

#define STATE_BYTES (ONPU_MACHINE_STATE_HEADER + TEMPLATE_SRAM)
#define PATTERNS    4

struct twin {
	const char *name;
	struct onpu_machine *machine;
	struct onpu_mem mem, state_mem;
	struct onpu_job_result result;
	uint8_t memory[TEMPLATE_MEMORY];
	uint8_t state[STATE_BYTES];
	uint64_t fault_address;
};

static struct twin twin[2] = { { .name = "scalar" }, { .name = "best" } };
static uint8_t pattern[PATTERNS][TEMPLATE_SRAM];

/* ---- Memory ---- */

/* Returns the byte of the twin's memory at an address of the job; NULL: the access is outside. */
static uint8_t *locate(struct twin *t, uint64_t addr, size_t len)
{
	uint64_t at = addr - TEMPLATE_PROGRAM_VA;

	t->fault_address = addr;
	return at < TEMPLATE_MEMORY && len <= TEMPLATE_MEMORY - at ? t->memory + at : NULL;
}

static int memory_read(void *ctx, uint64_t addr, void *dst, size_t len)
{
	const uint8_t *from = locate(ctx, addr, len);

	if (!from)
		return ONPU_FAULT_MMU_NOT_PRESENT;
	memcpy(dst, from, len);
	return 0;
}

static int memory_write(void *ctx, uint64_t addr, const void *src, size_t len)
{
	uint8_t *to = locate(ctx, addr, len);

	if (!to)
		return ONPU_FAULT_MMU_NOT_PRESENT;
	memcpy(to, src, len);
	return 0;
}

static uint64_t memory_fault(void *ctx)
{
	return ((struct twin *)ctx)->fault_address;
}

/*
 * Reads the saved state, which has an address space of its own. Returns 0; an access outside ends
 * the program.
 */
static int state_read(void *ctx, uint64_t addr, void *dst, size_t len)
{
	FUZZ_CHECK(addr <= STATE_BYTES && len <= STATE_BYTES - addr, "the state is too large");
	memcpy(dst, ((struct twin *)ctx)->state + addr, len);
	return 0;
}

static int state_write(void *ctx, uint64_t addr, const void *src, size_t len)
{
	FUZZ_CHECK(addr <= STATE_BYTES && len <= STATE_BYTES - addr, "the state is too large");
	memcpy(((struct twin *)ctx)->state + addr, src, len);
	return 0;
}

/* ---- Set-up, done once ---- */

/*
 * Returns a word of one of four patterns: random bits; random bits with many special values; small
 * floats; small bytes.
 */
static uint32_t pattern_word(unsigned int kind, uint32_t *seed)
{
	static const uint32_t special[] = {
		0,	    0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000,
		0x7fc00000, 0x7f800001, 0xffffffff, 1,		0x807fffff, 0x7f7fffff,
		0x7fffffff, 0x7c007e00, 0xfc01ff80, 0x00010001,
	};
	uint32_t r = rng_xorshift32(seed);
	float small;

	switch (kind) {
	case 0:
		return r;
	case 1:
		return r & 0x100 ? special[r & 15] : r;
	case 2:
		small = (float)(int32_t)(r & 0xffff) / 1024.0f - 32.0f;
		memcpy(&r, &small, sizeof(r));
		return r;
	default:
		return r & 0x07070707;
	}
}

static void set_up(void)
{
	uint32_t seed = 1;

	for (unsigned int i = 0; i < PATTERNS; i++) {
		for (size_t at = 0; at < TEMPLATE_SRAM; at += sizeof(seed)) {
			uint32_t word = pattern_word(i, &seed);

			memcpy(pattern[i] + at, &word, sizeof(word));
		}
	}
	for (int i = 0; i < 2; i++) {
		struct onpu_sim_config config = onpu_sim_config_default();
		const char *error = NULL;

		/* With few lanes and a small array, little work takes much time. */
		config.sram_bytes = TEMPLATE_SRAM;
		config.lanes = 8;
		config.mxu_rows = 8;
		config.mxu_cols = 8;
		config.features = 1 << ONPU_CAP_FEATURES_MXU_FORMS__SHIFT |
				  ONPU_CAP_FEATURES_PACKING__MASK | ONPU_CAP_FEATURES_WEIGHTS__MASK;
		config.fifo_depth = 3;
		config.dma_bytes_per_cycle = 8;
		config.threads = i ? 2 : 1;
		config.simd = i ? -1 : 0;
		twin[i].machine = onpu_machine_create(&config, &error);
		FUZZ_CHECK(twin[i].machine, "%s", error);
		twin[i].mem =
			(struct onpu_mem){ &twin[i], memory_read, memory_write, memory_fault };
		twin[i].state_mem = (struct onpu_mem){ &twin[i], state_read, state_write, NULL };
	}
}

/* ---- A run ---- */

/* Fills the region with 64-bit numbers from -2 to 5, which also serve as 32-bit indices. */
static void fill_indices(uint8_t *region)
{
	for (size_t i = 0; i < TEMPLATE_REGION / sizeof(int64_t); i++) {
		int64_t value = (int64_t)(i * 2654435761u >> 13 & 7) - 2;

		memcpy(region + i * sizeof(value), &value, sizeof(value));
	}
}

void twins_fill_memory(const struct twins_program *p, uint8_t *memory)
{
	uint8_t *data = memory + (TEMPLATE_DATA_VA - TEMPLATE_PROGRAM_VA);

	memset(memory, 0, (size_t)(data - memory));
	memcpy(memory, p->insn, p->num_insns * sizeof(p->insn[0]));
	memcpy(memory + (TEMPLATE_SLOTS_VA - TEMPLATE_PROGRAM_VA), p->slot,
	       p->num_slots * sizeof(p->slot[0]));
	memcpy(data, pattern[p->flags & TWINS_PATTERN], TEMPLATE_SRAM);
	if (p->flags & TWINS_INDICES)
		fill_indices(data + 2 * TEMPLATE_REGION);
}

void twins_fill_sram(const struct twins_program *p, uint8_t *sram)
{
	memcpy(sram, pattern[p->flags & TWINS_PATTERN], TEMPLATE_SRAM);
	if (p->flags & TWINS_INDICES)
		fill_indices(sram + 2 * TEMPLATE_REGION);
}

/* Saves the job and restores it; returns false when the machine refused the saved state. */
static bool preempt(struct twin *t, const struct twins_program *p)
{
	bool whole = onpu_machine_state_size(t->machine) == STATE_BYTES;
	bool damage = p->flags & TWINS_DAMAGE;
	int code;

	if (!(p->flags & TWINS_PREEMPT) && !(p->flags & TWINS_MOVE && whole && t == &twin[1]))
		return true;
	code = onpu_machine_save(t->machine, &t->state_mem, 0);
	FUZZ_CHECK(!code, "the state cannot be saved: %d", code);
	if (damage && (p->flags & TWINS_PREEMPT)) {
		struct fuzz_input in = { p->damage, sizeof(p->damage) };

		template_flip(&in, t->state, ONPU_MACHINE_STATE_HEADER / 4);
	}
	onpu_machine_abort(t->machine);
	code = onpu_machine_restore(t->machine, &t->mem, &t->state_mem, 0);
	FUZZ_CHECK(!code || damage, "the state does not come back: %d", code);
	return !code;
}

static void run(struct twin *t, const struct twins_program *p)
{
	const struct onpu_job job = {
		.program_va = TEMPLATE_PROGRAM_VA,
		.num_insns = p->num_insns,
		.num_slots = p->num_slots,
		.slots_va = TEMPLATE_SLOTS_VA,
		.profile_va = TEMPLATE_PROFILE_VA,
		.profile_size = p->flags & TWINS_PROFILE ? TEMPLATE_PROFILE_SIZE : 0,
		.cycle_limit = TWINS_CYCLE_LIMIT,
	};
	/* Each instruction has at most two events; a damaged state may make some run again. */
	unsigned int events = 8 * TWINS_MAX_INSNS;
	enum onpu_step step;

	twins_fill_memory(p, t->memory);
	/* An input's result must not depend on what the input before left in SRAM. */
	onpu_machine_forget(t->machine);
	onpu_machine_begin(t->machine, &t->mem, &job);
	/*
	 * The first step zeroes SRAM, unless it faults; afterwards SRAM gets the program's content.
	 */
	step = onpu_machine_step(t->machine);
	twins_fill_sram(p, onpu_machine_sram(t->machine));
	while ((step == ONPU_STEP_RUNNING || step == ONPU_STEP_PREEMPT_POINT) &&
	       (--events || !(p->flags & TWINS_DAMAGE))) {
		step = onpu_machine_step(t->machine);
		if (step == ONPU_STEP_PREEMPT_POINT && !preempt(t, p))
			break;
	}
	t->result = *onpu_machine_result(t->machine);
	FUZZ_CHECK(step != ONPU_STEP_IDLE, "the job disappeared");
	FUZZ_CHECK((step == ONPU_STEP_FAULT) == (t->result.fault.code != 0), "step %d, fault %u",
		   step, t->result.fault.code);
	onpu_machine_abort(t->machine);
}

/* ---- Comparison ---- */

static bool is_empty(const union onpu_slot *slot)
{
	static const union onpu_slot empty;

	return !memcmp(slot, &empty, sizeof(empty));
}

/* Prints all that a log needs: flags, both results, the program and its slots. */
static void show(const struct twins_program *p)
{
	fprintf(stderr, "flags %#x, %u instructions, %u slots\n", p->flags, p->num_insns,
		p->num_slots);
	for (unsigned int i = 0; i < 2; i++) {
		const struct onpu_job_result *r = &twin[i].result;

		fprintf(stderr,
			"%s: fault %u pc %llu operand %u address %#llx cycle %llu, code %u, "
			"%llu cycles\n",
			twin[i].name, r->fault.code, (unsigned long long)r->fault.pc,
			r->fault.operand, (unsigned long long)r->fault.address,
			(unsigned long long)r->fault.cycle, r->code, (unsigned long long)r->cycles);
	}
	for (uint32_t i = 0; i < p->num_insns; i++) {
		char text[ONPU_TEXT_MAX];

		onpu_disasm(p->insn[i], text, sizeof(text));
		fprintf(stderr, "%3u %08x %08x %08x %08x %s\n", i, p->insn[i][0], p->insn[i][1],
			p->insn[i][2], p->insn[i][3], text);
	}
	for (uint32_t i = 0; i < p->num_slots; i++) {
		if (is_empty(&p->slot[i]))
			continue;
		fprintf(stderr, "slot %u:", i);
		for (unsigned int w = 0; w < ONPU_SLOT_SIZE / 4; w++)
			fprintf(stderr, "%s%x", w % 8 ? " " : "\n    ", p->slot[i].words[w]);
		fputc('\n', stderr);
	}
}

static void compare(const struct twins_program *p, const char *what, const uint8_t *a,
		    const uint8_t *b, size_t size)
{
	size_t at = 0;

	if (!memcmp(a, b, size))
		return;
	while (a[at] == b[at])
		at++;
	show(p);
	FUZZ_CHECK(0, "%s differs at byte %#zx: scalar %02x, best %02x", what, at, a[at], b[at]);
}

void twins_append(struct twins_program *p, const struct onpu_insn *insn)
{
	int bad = onpu_insn_pack(insn, p->insn[p->num_insns]);

	FUZZ_CHECK(!bad, "%s does not pack", onpu_op_info[insn->op].name);
	p->num_insns++;
}

const struct onpu_sim_config *twins_config(void)
{
	return onpu_machine_config(twin[0].machine);
}

void twins_run(const struct twins_program *p)
{
	const char *unlike = NULL;

	if (!twin[0].machine)
		set_up();
	run(&twin[0], p);
	run(&twin[1], p);
	compare(p, "the result", (const uint8_t *)&twin[0].result, (const uint8_t *)&twin[1].result,
		sizeof(twin[0].result));
	compare(p, "memory", twin[0].memory, twin[1].memory, TEMPLATE_MEMORY);
	compare(p, "SRAM", onpu_machine_sram(twin[0].machine), onpu_machine_sram(twin[1].machine),
		TEMPLATE_SRAM);
	if (p->flags & TWINS_BOOK && !(p->flags & TWINS_PREEMPT)) {
		const struct twins_outcome got = { &twin[0].result, twin[0].memory,
						   onpu_machine_sram(twin[0].machine) };

		unlike = book_compare(p, &got);
	}
	if (unlike)
		show(p);
	FUZZ_CHECK(!unlike, "%s is not as the text has it", unlike);
}
