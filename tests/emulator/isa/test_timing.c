// SPDX-License-Identifier: MIT
/*
 * Tests time and order with random straight-line programs over all engines, with semaphores,
 * barriers, full queues, timestamps and operands that several engines touch. The reference computes
 * every start and end. The machine's profile records must have these times, and its memory the same
 * bytes, which depend on the order of effects.
 *
 * Environment: ONPU_ISA_PROGRAMS is the number of programs, ONPU_ISA_SEED the seed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "generate.h"

#define DEFAULT_PROGRAMS 3000
#define DEFAULT_SEED	 20240229
#define SEMAPHORES	 6
#define BYTES		 16384 /* bytes of SRAM and of data that have content */
#define BYTES_SLOTS	 100   /* slots 1 to BYTES_SLOTS: vectors of bytes */
#define TIMES_SLOT	 110   /* the vector of timestamps */
#define LONGS_SLOT	 112   /* i32 accumulators of a product */
#define MATRIX_SLOT	 114
#define ROW_SLOT	 116
#define LAST_SLOT	 118
#define MAX_INSNS	 180

static struct rig_job job;

struct builder {
	struct rng random;
	unsigned int num_insns;
	/*
	 * for each semaphore: the engines that signal it and wait for it, and the tokens that it
	 * has when the program runs in order
	 */
	unsigned int signaller[SEMAPHORES], waiter[SEMAPHORES];
	int tokens[SEMAPHORES];
	bool careful;
};

/* Counts of events in the programs that have run. */
static struct {
	unsigned int programs, ended, deadlocks, overflows, timeouts, other;
	unsigned int insns, stalled, full, ties, dropped, misses;
} seen;

static union onpu_slot *put_tensor(unsigned int index, unsigned int dtype, unsigned int space,
				   uint64_t base, uint32_t n)
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
	return rig_slot(&job, index);
}

/* Lengths of the byte vectors: slot i has lengths[i % 4]. */
static const uint32_t lengths[] = { 16, 100, 333, 900 };

static void put_slots(struct builder *b)
{
	union onpu_slot *slot;

	for (unsigned int i = 1; i <= BYTES_SLOTS; i++) {
		bool sram = i <= BYTES_SLOTS / 2;
		uint64_t base = rng_below(&b->random, 3000);

		/* The first eight, two of each length, overlap no other operand. */
		if (i <= 8)
			base = 4096 + 1024 * i;
		put_tensor(i, ONPU_DT_U8, sram ? ONPU_SPACE_SRAM : ONPU_SPACE_VA,
			   sram ? base : RIG_BASE + RIG_DATA + base, lengths[i % 4]);
	}
	put_tensor(TIMES_SLOT, ONPU_DT_U64, ONPU_SPACE_VA, RIG_BASE + RIG_DATA + 8, 6);
	put_tensor(TIMES_SLOT + 1, ONPU_DT_U64, ONPU_SPACE_SRAM, 1600, 6);
	put_tensor(LONGS_SLOT, ONPU_DT_I32, ONPU_SPACE_SRAM, 4000, 16);
	put_tensor(ROW_SLOT, ONPU_DT_U8, ONPU_SPACE_SRAM, 900, 100);
	slot = put_tensor(MATRIX_SLOT, ONPU_DT_U8, ONPU_SPACE_SRAM, 500, 100);
	slot->tensor.rank = 2;
	slot->tensor.dim[1] = 16;
	slot->tensor.stride[0] = 16;
	slot->tensor.stride[1] = 1;
	slot->tensor.size = 1600;
	memset(rig_slot(&job, LAST_SLOT), 0, ONPU_SLOT_SIZE);
	rig_slot(&job, LAST_SLOT)->param.kind = ONPU_SLOT_PARAM;
	rig_slot(&job, LAST_SLOT)->fill.schema = ONPU_SCHEMA_FILL;
	rig_slot(&job, LAST_SLOT)->fill.value = 0x5c;
	job.program.num_slots = LAST_SLOT + 1;
}

/*
 * Returns the slot of a random byte vector of lengths[@length] elements, in SRAM if @sram is true,
 * else in either space.
 */
static unsigned int pick(struct builder *b, unsigned int length, bool sram)
{
	unsigned int i;

	do {
		i = 1 + (unsigned int)rng_below(&b->random, sram ? BYTES_SLOTS / 2 : BYTES_SLOTS);
	} while (i % 4 != length);
	return i;
}

static bool overlaps(unsigned int a, unsigned int b)
{
	const struct onpu_slot_tensor *x = &rig_slot(&job, a)->tensor;
	const struct onpu_slot_tensor *y = &rig_slot(&job, b)->tensor;

	return x->space == y->space && x->base < y->base + y->size && y->base < x->base + x->size;
}

static unsigned int pick_apart(struct builder *b, unsigned int length, bool sram, unsigned int from)
{
	unsigned int i;

	do {
		i = pick(b, length, sram);
	} while (overlaps(i, from));
	return i;
}

static struct onpu_insn dma_insn(struct builder *b)
{
	unsigned int length = (unsigned int)rng_below(&b->random, 4);
	struct onpu_insn insn = { .op = ONPU_OP_DMA_COPY };

	insn.ch = rng_chance(&b->random, 50);
	insn.dst = (uint16_t)pick(b, length, false);
	if (rng_chance(&b->random, 20)) {
		insn.op = ONPU_OP_DMA_FILL;
		insn.param = LAST_SLOT;
	} else {
		insn.s0 = (uint16_t)pick_apart(b, length, false, insn.dst);
	}
	return insn;
}

static struct onpu_insn vector_insn(struct builder *b)
{
	static const enum onpu_op ops[] = {
		ONPU_OP_VADD, ONPU_OP_VMUL, ONPU_OP_VXOR, ONPU_OP_VPOW, ONPU_OP_VMAX, ONPU_OP_VDIV,
	};
	unsigned int length = (unsigned int)rng_below(&b->random, 4);
	struct onpu_insn insn = {
		.op = ops[rng_below(&b->random, sizeof(ops) / sizeof(*ops))],
	};

	insn.dst = (uint16_t)pick(b, length, true);
	insn.s0 = (uint16_t)(rng_chance(&b->random, 30) ? insn.dst :
							  pick_apart(b, length, true, insn.dst));
	insn.s1 = (uint16_t)pick_apart(b, length, true, insn.dst);
	return insn;
}

static struct onpu_insn control_insn(struct builder *b)
{
	struct onpu_insn insn = { .op = ONPU_OP_NOP };

	switch (rng_below(&b->random, 6)) {
	case 0:
		insn.op = ONPU_OP_BARRIER;
		insn.mask = (uint8_t)rng_below(&b->random, 32);
		break;
	case 1:
	case 2:
		insn.op = ONPU_OP_TIMESTAMP;
		insn.dst = (uint16_t)(TIMES_SLOT + rng_below(&b->random, 2));
		break;
	case 3:
		insn.op = ONPU_OP_PREEMPT;
		insn.live = rig_sram_bytes(job.size);
		break;
	default:
		break;
	}
	return insn;
}

static struct onpu_insn semaphore_insn(struct builder *b)
{
	unsigned int s = (unsigned int)rng_below(&b->random, SEMAPHORES);
	struct onpu_insn insn = { .op = ONPU_OP_SEM_SIGNAL, .sem = (uint8_t)s };
	int most = b->tokens[s];

	insn.eng = (uint8_t)b->signaller[s];
	insn.count = (uint16_t)rng_below(&b->random, 4);
	if (rng_chance(&b->random, 50)) {
		b->tokens[s] += insn.count;
		return insn;
	}
	if (!b->careful)
		most += 1;
	most = most < 0 ? 0 : most;
	insn.op = ONPU_OP_SEM_WAIT;
	insn.eng = (uint8_t)b->waiter[s];
	insn.count = (uint16_t)rng_below(&b->random, (uint64_t)(most > 3 ? 4 : most + 1));
	b->tokens[s] -= insn.count;
	return insn;
}

/* Adds WAIT and SIGNAL of semaphores whose owners and tokens permit it. */
static void add_tokens(struct builder *b, struct onpu_insn *insn)
{
	unsigned int engine = onpu_insn_engine(insn);
	unsigned int first = (unsigned int)rng_below(&b->random, SEMAPHORES);

	for (unsigned int n = 0; n < SEMAPHORES && rng_chance(&b->random, 70); n++) {
		unsigned int s = (first + n) % SEMAPHORES;
		bool allowed = b->tokens[s] > 0 || (!b->careful && rng_chance(&b->random, 10));

		if (!insn->wv && b->waiter[s] == engine && allowed) {
			insn->wv = 1;
			insn->wsem = (uint8_t)s;
			b->tokens[s]--;
		}
	}
	/* An instruction gives tokens after it has taken those that it waits for. */
	for (unsigned int s = 0; s < SEMAPHORES; s++)
		if (!insn->sv && b->signaller[s] == engine && rng_chance(&b->random, 60)) {
			insn->sv = 1;
			insn->ssem = (uint8_t)s;
			b->tokens[s]++;
		}
}

static struct onpu_insn random_insn(struct builder *b)
{
	uint64_t kind = rng_below(&b->random, 100);
	struct onpu_insn insn;

	if (kind < 35)
		insn = dma_insn(b);
	else if (kind < 65)
		insn = vector_insn(b);
	else if (kind < 80)
		insn = (struct onpu_insn){
			.op = ONPU_OP_MMA_I8,
			.dst = LONGS_SLOT,
			.s0 = ROW_SLOT,
			.s1 = MATRIX_SLOT,
			.acc = rng_chance(&b->random, 50),
		};
	else if (kind < 90)
		insn = semaphore_insn(b);
	else
		insn = control_insn(b);
	insn.ts = rng_chance(&b->random, 80);
	add_tokens(b, &insn);
	return insn;
}

static void build(struct builder *b)
{
	struct onpu_insn end = { .op = ONPU_OP_END, .ts = 1 };
	unsigned int n = 1 + (unsigned int)rng_below(&b->random, MAX_INSNS);

	rig_clear(&job, rng_chance(&b->random, 50) ? RIG_ODD : RIG_SMALL, RIG_DATA + BYTES);
	for (unsigned int i = 0; i < BYTES; i++)
		job.sram[i] = (uint8_t)rng_bits(&b->random);
	for (unsigned int i = 0; i < BYTES; i++)
		job.memory[RIG_DATA + i] = (uint8_t)rng_bits(&b->random);
	put_slots(b);
	b->careful = rng_chance(&b->random, 80);
	for (unsigned int s = 0; s < SEMAPHORES; s++) {
		b->signaller[s] = (unsigned int)rng_below(&b->random, ONPU_ENG_COUNT);
		b->waiter[s] = (unsigned int)rng_below(&b->random, ONPU_ENG_COUNT);
		b->tokens[s] = rng_chance(&b->random, 50) ? 0 : (int)rng_below(&b->random, 5);
		rig_slot(&job, 0)->program.sem_init[s] = (uint8_t)b->tokens[s];
	}
	for (unsigned int i = 0; i < n; i++) {
		struct onpu_insn insn = random_insn(b);

		rig_put_insn(&job, i, &insn);
	}
	rig_put_insn(&job, n, &end);
	if (rng_chance(&b->random, 10))
		job.program.profile_size = 32 * rng_below(&b->random, n + 1);
	if (rng_chance(&b->random, 10))
		job.program.cycle_limit = 1 + rng_below(&b->random, 100ull * n);
	b->num_insns = n + 1;
}

/*
 * Counts the events of the program, so that the test fails when the generator makes too few events
 * of some kind.
 */
static void look(const struct builder *b)
{
	const struct ref_result *r = &job.expected;

	seen.programs++;
	seen.ended += r->fault.code == ONPU_FAULT_NONE;
	seen.deadlocks += r->fault.code == ONPU_FAULT_DEADLOCK;
	seen.overflows += r->fault.code == ONPU_FAULT_SEM_OVERFLOW;
	seen.timeouts += r->fault.code == ONPU_FAULT_TIMEOUT;
	seen.other += r->fault.code && r->fault.code != ONPU_FAULT_DEADLOCK &&
		      r->fault.code != ONPU_FAULT_TIMEOUT &&
		      r->fault.code != ONPU_FAULT_SEM_OVERFLOW;
	seen.full += r->stall_fifo != 0;
	seen.dropped += r->num_records * sizeof(struct onpu_profile_record) >
			job.program.profile_size;
	for (unsigned int i = 0; i < b->num_insns; i++) {
		if (!r->step[i].executed)
			continue;
		seen.insns++;
		seen.stalled += r->step[i].stall != 0;
		for (unsigned int k = i + 1; k < b->num_insns && k < i + 20; k++)
			seen.ties += r->step[k].executed && r->step[k].start == r->step[i].start;
	}
}

static uint64_t from_environment(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

/*
 * Uses 60 to 67 slots in turn, three times each, and with each of them the same PARAM slot. The CP
 * remembers 64 slots, so that with 64 and more besides that one every use is a fetch. Returns the
 * number of failures.
 */
static unsigned int test_recent_slots(void)
{
	unsigned int failures = 0;

	for (unsigned int circle = 60; circle < 68; circle++) {
		struct builder b = { .random.state = circle };
		unsigned int n = 0;

		rig_clear(&job, RIG_SMALL, RIG_DATA + BYTES);
		put_slots(&b);
		for (unsigned int round = 0; round < 3; round++)
			for (unsigned int i = 0; i < circle; i++, n++)
				rig_put_insn(&job, n,
					     &(struct onpu_insn){
						     .op = ONPU_OP_DMA_FILL,
						     .dst = (uint16_t)(1 + i),
						     .param = (uint16_t)LAST_SLOT,
						     .ts = 1,
					     });
		rig_put_insn(&job, n, &(struct onpu_insn){ .op = ONPU_OP_END });
		if (!rig_check(&job)) {
			printf("%u slots in turn differ\n", circle);
			failures++;
		}
		/* The PARAM slot always stays; 63 other slots fit beside it. */
		seen.misses += job.expected.busy[0] > 3 * circle + 2 + 4 * (circle + 1);
	}
	return failures;
}

int main(void)
{
	uint64_t seed = from_environment("ONPU_ISA_SEED", DEFAULT_SEED);
	uint64_t programs = from_environment("ONPU_ISA_PROGRAMS", DEFAULT_PROGRAMS);
	unsigned int failures = 0;

	printf("seed %" PRIu64 ", %" PRIu64 " programs\n", seed, programs);
	rig_open();
	failures += test_recent_slots();
	for (uint64_t i = 0; i < programs && failures < 3; i++) {
		static struct builder b;

		memset(&b, 0, sizeof(b));
		b.random.state = seed + 6364136223846793005ull * i;
		build(&b);
		if (!rig_check(&job)) {
			printf("program %" PRIu64 " differs\n", i);
			failures++;
		}
		look(&b);
	}
	rig_close();
	printf("%u programs: %u ended, %u deadlocks, %u timeouts, %u overflows, %u other faults\n",
	       seen.programs, seen.ended, seen.deadlocks, seen.timeouts, seen.overflows,
	       seen.other);
	printf("%u instructions, %u stalled, %u ties, %u programs with a full queue, "
	       "%u with records dropped, %u circles of slots that do not fit\n",
	       seen.insns, seen.stalled, seen.ties, seen.full, seen.dropped, seen.misses);
	return failures || !seen.ended || !seen.deadlocks || !seen.timeouts || !seen.stalled ||
	       !seen.ties || !seen.full || !seen.dropped || seen.misses != 4 || seen.other;
}
