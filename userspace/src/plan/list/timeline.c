// SPDX-License-Identifier: MIT
/*
 * The time that a plan takes by the cost model: each engine executes its instructions in order, and a
 * signal is given when the instruction that gives it ends.
 */
#include "plan/list/plan.h"
#include "util/malloc.h"

/* When each signal from one engine to another was given; `taken` of them have been waited for. */
struct tokens {
	uint64_t *time;
	size_t count, cap, taken;
};

struct timeline {
	struct tokens tokens[ONPU_ENG_COUNT][ONPU_ENG_COUNT]; /* from, to */
	uint64_t free[ONPU_ENG_COUNT]; /* when each engine has done its work */
	uint64_t issue, last;
};

/* An instruction and about two new slots. */
#define ISSUE_CYCLES 8

static void run_op(struct plan *plan, struct timeline *tl, const struct plan_op *op)
{
	uint64_t start;

	tl->issue += ISSUE_CYCLES;
	if (op->op == ONPU_OP_PREEMPT) {
		tl->issue = tl->issue > tl->last ? tl->issue : tl->last;
		return;
	}
	start = tl->free[op->engine] > tl->issue ? tl->free[op->engine] : tl->issue;
	for (int e = 0; e < ONPU_ENG_COUNT; e++) {
		struct tokens *tokens = &tl->tokens[e][op->engine];

		if (!(op->waits >> e & 1))
			continue;
		if (tokens->time[tokens->taken] > start)
			start = tokens->time[tokens->taken];
		tokens->taken++;
	}
	tl->free[op->engine] = start + op->cost;
	if (tl->free[op->engine] > tl->last)
		tl->last = tl->free[op->engine];
	for (int e = 0; e < ONPU_ENG_COUNT; e++) {
		struct tokens *tokens = &tl->tokens[op->engine][e];

		if (!(op->signals >> e & 1) || plan_grow(plan, &tokens->time, &tokens->cap,
							 tokens->count + 1, sizeof(*tokens->time)))
			continue;
		tokens->time[tokens->count++] = start + op->cost;
	}
}

uint64_t plan_estimate(struct plan *plan)
{
	struct timeline *tl = wnn_calloc(1, sizeof(*tl));
	uint64_t total;

	if (!tl) {
		plan_nomem(plan);
		return 0;
	}
	for (size_t i = 0; i < plan->list.num_ops && !plan->report.failed; i++) {
		uint64_t before = tl->last;

		run_op(plan, tl, &plan->list.ops[i]);
		plan->report.nodes[plan->list.ops[i].node].est_cycles += tl->last - before;
	}
	total = tl->last;
	for (int a = 0; a < ONPU_ENG_COUNT; a++)
		for (int b = 0; b < ONPU_ENG_COUNT; b++)
			wnn_free(tl->tokens[a][b].time);
	wnn_free(tl);
	return total;
}
