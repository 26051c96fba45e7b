// SPDX-License-Identifier: MIT
/*
 * Runs short random programs in which everything happens at once: full and empty semaphores, faults
 * of every kind at issue and on engines, limits and ends in the same few cycles. The order of these
 * events then decides on fault code, engine and content of memory; the machine must choose the
 * order of the reference.
 *
 * Environment: ONPU_ISA_PROGRAMS is the number of programs, ONPU_ISA_SEED the seed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "generate.h"

#define DEFAULT_PROGRAMS 20000
#define DEFAULT_SEED	 20240301
#define MAX_INSNS	 12 /* most instructions of a program that is full of mistakes */
#define MAX_CALM_INSNS	 40
#define SEMAPHORES	 4
#define BYTES		 4096 /* bytes of SRAM and of data that have content */
#define VECTORS		 12   /* vectors of bytes in slots 1 to VECTORS, half of them in SRAM */
#define ABSENT_SLOT	 20   /* a slot whose page is missing */
#define INDEX_SLOT	 21   /* a vector of indices, one of which is bad */
#define FILL_SLOT	 22
#define AXIS_SLOT	 23
#define TIMES_SLOT	 24

static struct rig_job job;
static struct rng rnd;
static bool calm; /* the program has few mistakes, so that it runs for long */
static uint8_t signaller[SEMAPHORES], waiter[SEMAPHORES];
static unsigned int seen[ONPU_FAULT_COUNT], equal_starts;

static uint64_t below(uint64_t n)
{
	return rng_below(&rnd, n);
}

static void put_vector(unsigned int index, unsigned int dtype, unsigned int space, uint64_t base,
		       uint32_t n)
{
	union onpu_slot slot;

	memset(&slot, 0, sizeof(slot));
	slot.tensor.kind = ONPU_SLOT_TENSOR;
	slot.tensor.dtype = (uint8_t)dtype;
	slot.tensor.space = (uint8_t)space;
	slot.tensor.rank = 1;
	slot.tensor.base = base;
	slot.tensor.size = (uint64_t)n * ref_size(dtype);
	slot.tensor.dim[0] = n;
	slot.tensor.stride[0] = ref_size(dtype);
	rig_put_slot(&job, index, &slot);
}

static void put_param(unsigned int index, unsigned int schema, uint64_t value)
{
	union onpu_slot slot;

	memset(&slot, 0, sizeof(slot));
	slot.fill.kind = ONPU_SLOT_PARAM;
	slot.fill.schema = (uint8_t)schema;
	slot.fill.value = value;
	rig_put_slot(&job, index, &slot);
}

static void put_slots(void)
{
	for (unsigned int i = 0; i < BYTES; i++) {
		job.sram[i] = (uint8_t)rng_bits(&rnd);
		job.memory[RIG_DATA + i] = (uint8_t)rng_bits(&rnd);
	}
	/* All vectors have one length, and do not overlap. */
	for (unsigned int i = 1; i <= VECTORS; i++) {
		bool sram = i <= VECTORS / 2;

		put_vector(i, ONPU_DT_U8, sram ? ONPU_SPACE_SRAM : ONPU_SPACE_VA,
			   64 * i + (sram ? 0 : RIG_BASE + RIG_DATA), 8);
	}
	put_vector(ABSENT_SLOT, ONPU_DT_U8, ONPU_SPACE_VA, RIG_BASE + RIG_DATA + BYTES + 64, 8);
	put_vector(INDEX_SLOT, ONPU_DT_I32, ONPU_SPACE_SRAM, 2048, 8);
	memset(job.sram + 2048, 0, 32);
	job.sram[2048 + 4 * below(8)] = calm || below(2) ? 7 : 8;
	put_vector(TIMES_SLOT, ONPU_DT_U64, ONPU_SPACE_VA, RIG_BASE + RIG_DATA + 2048, 6);
	put_param(FILL_SLOT, ONPU_SCHEMA_FILL, 0x5c);
	put_param(AXIS_SLOT, ONPU_SCHEMA_INDEX, 0);
}

static uint16_t vector(bool sram)
{
	return (uint16_t)(1 + below(sram ? VECTORS / 2 : VECTORS));
}

static struct onpu_insn semaphore_insn(void)
{
	static const uint16_t counts[] = { 0, 1, 1, 1, 2, 3, 65535, 65534, 65280, 40000 };

	struct onpu_insn insn = {
		.op = below(3) ? ONPU_OP_SEM_SIGNAL : ONPU_OP_SEM_WAIT,
		.sem = (uint8_t)below(SEMAPHORES),
		.count = counts[below(calm && below(8) ? 4 : sizeof(counts) / sizeof(*counts))],
	};

	insn.eng = insn.op == ONPU_OP_SEM_SIGNAL ? signaller[insn.sem] : waiter[insn.sem];
	if (below(calm ? 1000 : 50) == 0)
		insn.eng = (uint8_t)below(ONPU_ENG_COUNT);
	return insn;
}

static struct onpu_insn dma_insn(void)
{
	struct onpu_insn insn = { .op = ONPU_OP_DMA_COPY, .dst = vector(false), .ch = below(2) };

	do {
		insn.s0 = vector(false);
	} while (insn.s0 == insn.dst);
	switch (below(calm ? 12 : 6)) {
	case 0:
		insn.op = ONPU_OP_DMA_FILL;
		insn.s0 = 0;
		insn.param = FILL_SLOT;
		break;
	case 1:
		insn.op = ONPU_OP_DMA_GATHER_AXIS;
		insn.s1 = INDEX_SLOT;
		insn.param = AXIS_SLOT;
		break;
	case 2:
		if (!calm)
			*(below(2) ? &insn.s0 : &insn.dst) = ABSENT_SLOT;
		break;
	}
	return insn;
}

static struct onpu_insn vector_insn(void)
{
	struct onpu_insn insn = { .op = ONPU_OP_VADD, .dst = vector(true), .s0 = vector(true) };

	insn.s1 = calm || below(8) ? insn.s0 : vector(false);
	return insn;
}

static struct onpu_insn control_insn(void)
{
	static const struct onpu_insn list[] = {
		{ .op = ONPU_OP_NOP },
		{ .op = ONPU_OP_BARRIER, .mask = 2 },
		{ .op = ONPU_OP_BARRIER, .mask = 31 },
		{ .op = ONPU_OP_PREEMPT },
		{ .op = ONPU_OP_TIMESTAMP, .dst = TIMES_SLOT },
		/* instructions with mistakes */
		{ .op = ONPU_OP_TIMESTAMP, .dst = 1 },
		{ .op = ONPU_OP_TRAP, .code = 7 },
		{ .op = ONPU_OP_PREEMPT, .live = UINT32_MAX },
		{ .op = ONPU_OP_END, .code = 3 },
	};

	return list[below(calm ? 5 : sizeof(list) / sizeof(*list))];
}

static struct onpu_insn random_insn(void)
{
	uint64_t kind = below(100);
	struct onpu_insn insn = kind < (calm ? 15 : 40) ? semaphore_insn() :
				kind < 65		? dma_insn() :
				kind < 85		? vector_insn() :
							  control_insn();
	unsigned int s;

	insn.ts = below(4) == 0;
	s = (unsigned int)below(SEMAPHORES);
	if (waiter[s] == onpu_insn_engine(&insn) && below(2)) {
		insn.wv = 1;
		insn.wsem = (uint8_t)s;
	}
	s = (unsigned int)below(SEMAPHORES);
	if (signaller[s] == onpu_insn_engine(&insn) && below(2)) {
		insn.sv = 1;
		insn.ssem = (uint8_t)s;
	}
	return insn;
}

static void build(void)
{
	const uint32_t bad[ONPU_INSN_WORDS] = { 1, 2, 3, 4 };
	unsigned int n;

	calm = below(2);
	n = 1 + (unsigned int)below(calm ? MAX_CALM_INSNS : MAX_INSNS);
	rig_clear(&job, below(2) ? RIG_ODD : RIG_SMALL, RIG_DATA + BYTES);
	put_slots();
	for (unsigned int s = 0; s < SEMAPHORES; s++) {
		rig_slot(&job, 0)->program.sem_init[s] = (uint8_t)(below(3) ? below(4) : 255);
		signaller[s] = (uint8_t)below(ONPU_ENG_COUNT);
		waiter[s] = (uint8_t)below(ONPU_ENG_COUNT);
	}
	for (unsigned int i = 0; i < n; i++) {
		struct onpu_insn insn = random_insn();

		rig_put_insn(&job, i, &insn);
	}
	if (below(20) == 0 && !calm)
		rig_put_words(&job, n++, bad);
	if (below(8))
		rig_put_insn(&job, n, &(struct onpu_insn){ .op = ONPU_OP_END });
	if (below(5) == 0)
		job.program.cycle_limit = 1 + below(calm ? 400 : 40);
	if (below(10) == 0)
		job.program.profile_size = 32 * below(4);
	if (below(20) == 0)
		job.program.profile_va += RIG_DATA;
}

static void look(void)
{
	const struct ref_result *r = &job.expected;

	seen[r->fault.code]++;
	for (unsigned int i = 0; i < job.program.num_insns; i++)
		for (unsigned int k = 0; k < i; k++)
			equal_starts += r->step[i].executed && r->step[k].executed &&
					r->step[i].start == r->step[k].start;
}

static uint64_t from_environment(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

/*
 * Returns the number of kinds of events that were so rare in the programs that the test would prove
 * little.
 */
static unsigned int thin(uint64_t programs)
{
	static const enum onpu_fault codes[] = {
		ONPU_FAULT_NONE,	 ONPU_FAULT_ILLEGAL_OPCODE, ONPU_FAULT_SPACE,
		ONPU_FAULT_BOUNDS,	 ONPU_FAULT_INDEX_RANGE,    ONPU_FAULT_MMU_NOT_PRESENT,
		ONPU_FAULT_SEM_OVERFLOW, ONPU_FAULT_SEM_OWNER,	    ONPU_FAULT_DEADLOCK,
		ONPU_FAULT_TIMEOUT,	 ONPU_FAULT_TRAP,
	};
	unsigned int failures = 0;

	for (unsigned int i = 0; i < sizeof(codes) / sizeof(*codes); i++) {
		printf("fault code %2d: %u times\n", codes[i], seen[codes[i]]);
		failures += programs >= DEFAULT_PROGRAMS && seen[codes[i]] < programs / 1000;
	}
	printf("%u pairs that started in one cycle\n", equal_starts);
	return failures + (programs >= DEFAULT_PROGRAMS && equal_starts < programs / 50);
}

int main(void)
{
	uint64_t programs = from_environment("ONPU_ISA_PROGRAMS", DEFAULT_PROGRAMS);
	uint64_t seed = from_environment("ONPU_ISA_SEED", DEFAULT_SEED);
	unsigned int failures = 0;

	rig_open();
	for (uint64_t i = 0; i < programs && failures < 5; i++) {
		rnd.state = seed + i;
		build();
		if (!rig_check(&job)) {
			printf("ONPU_ISA_SEED=%" PRIu64 " ONPU_ISA_PROGRAMS=1: this program\n",
			       seed + i);
			failures++;
		}
		look();
	}
	rig_close();
	failures += thin(programs);
	printf("%" PRIu64 " programs, %u failed\n", programs, failures);
	return failures ? 1 : 0;
}
