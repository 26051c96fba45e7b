// SPDX-License-Identifier: MIT
/*
 * Compares the machine, in all its configurations, with the reference, for every instruction with
 * random operands.
 *
 * Environment: ONPU_ISA_CASES is the number of cases for each instruction, ONPU_ISA_SEED the seed,
 * ONPU_ISA_OP the name of the only instruction to test.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "generate.h"

#define DEFAULT_CASES 300
#define DEFAULT_SEED  20240229
#define MAX_FAILURES  3

static struct rig_job job;

/* Coverage of the random cases. dtype and rank count the cases that ran to the end. */
struct coverage {
	unsigned int valid, faults, large;
	unsigned int dtype[ONPU_DT_COUNT], rank[ONPU_MAX_RANK + 1];
};

static uint64_t from_environment(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

static void cover(struct coverage *c, const struct gen *g)
{
	/* Counts the type and rank of the source, or of the destination when there is no source. */
	const struct onpu_slot_tensor *t = &g->slot[g->has[1] ? 1 : 0].tensor;

	c->valid++;
	c->large += g->job->size == RIG_LARGE;
	c->dtype[t->dtype]++;
	c->rank[t->rank]++;
}

static void print_coverage(enum onpu_op op, const struct coverage *c)
{
	static const char *const names[ONPU_DT_COUNT] = {
		"i8",	"u8",  "i16", "u16", "i32",    "u32",	 "i64",	   "u64",    "f16",
		"bf16", "f32", "i4",  "u4",  "f8e4m3", "f8e5m2", "f4e2m1", "f8e8m0",
	};

	printf("%-18s %4u ran, %3u large, %3u refused | rank", onpu_op_info[op].name, c->valid,
	       c->large, c->faults);
	for (unsigned int r = 0; r <= ONPU_MAX_RANK; r++)
		printf(" %u", c->rank[r]);
	printf(" |");
	for (unsigned int d = 0; d < ONPU_DT_COUNT; d++)
		if (c->dtype[d])
			printf(" %s %u", names[d], c->dtype[d]);
	printf("\n");
}

/*
 * Tests an instruction until @cases cases ran to the end; every fourth case is a mutated one. Stops
 * after 4 * @cases tries or MAX_FAILURES failures. Returns the number of failures, or 1 if there are
 * none but too few cases ran to the end.
 */
static unsigned int test_op(enum onpu_op op, uint64_t seed, uint64_t cases)
{
	struct coverage coverage = { 0 };
	unsigned int failures = 0;
	static struct gen g;

	for (uint64_t n = 0; coverage.valid < cases && n < 4 * cases; n++) {
		bool mutated = n % 4 == 3;

		memset(&g, 0, sizeof(g));
		g.random.state = seed + 1000003 * n + ((uint64_t)op << 40);
		g.job = &job;
		generate(&g, op);
		if (mutated) {
			mutate(&g);
			job.any_address = true;
		}
		if (!rig_check(&job)) {
			printf("%s, case %" PRIu64 ", seed %" PRIu64 " differs\n",
			       onpu_op_info[op].name, n, seed);
			if (++failures == MAX_FAILURES)
				break;
		}
		if (job.expected.fault.code)
			coverage.faults++;
		else
			cover(&coverage, &g);
	}
	print_coverage(op, &coverage);
	if (!failures && coverage.valid < cases) {
		printf("%s: only %u cases ran\n", onpu_op_info[op].name, coverage.valid);
		failures++;
	}
	return failures;
}

int main(void)
{
	uint64_t seed = from_environment("ONPU_ISA_SEED", DEFAULT_SEED);
	uint64_t cases = from_environment("ONPU_ISA_CASES", DEFAULT_CASES);
	const char *only = getenv("ONPU_ISA_OP");
	unsigned int failures = 0;

	printf("seed %" PRIu64 ", %" PRIu64 " cases for each instruction\n", seed, cases);
	rig_open();
	for (unsigned int op = ONPU_OP_DMA_COPY; op < ONPU_OP_COUNT; op++)
		if (!only || strcmp(only, onpu_op_info[op].name) == 0)
			failures += test_op(op, seed, cases);
	rig_close();
	printf("%u runs of the machine, %u instructions' cases differ\n", rig_runs, failures);
	return failures ? 1 : 0;
}
