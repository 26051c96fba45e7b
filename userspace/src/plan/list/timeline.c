// SPDX-License-Identifier: MIT
/*
 * Simulates, while kernels emit, when each instruction runs: an engine executes its instructions in
 * order, and each begins when all instructions that it waits for have ended. This gives the
 * estimate of a node's time, and says which of the two DMA engines is idle first for a transfer.
 */
#include "plan/list/plan.h"
#include "plan/list/timeline.h"

/* Cycles that the command processor takes to issue an instruction, with about two new slots. */
#define ISSUE_CYCLES 8

/* Returns the cycle at which an engine can start an instruction that waits until `ready`. */
static uint64_t start_time(const struct plan_timeline *tl, uint8_t engine, uint64_t ready)
{
	uint64_t start = tl->free[engine] > tl->drained ? tl->free[engine] : tl->drained;

	return ready > start ? ready : start;
}

bool timeline_prefers_st(const struct plan *plan, bool by_itself, uint64_t ready)
{
	uint64_t ld = start_time(&plan->list.timeline, ONPU_ENG_LD, ready);
	uint64_t st = start_time(&plan->list.timeline, ONPU_ENG_ST, ready);

	return ld == st ? by_itself : st < ld;
}

void timeline_add(struct plan *plan, struct plan_op *op, uint64_t ready)
{
	struct plan_timeline *tl = &plan->list.timeline;
	uint64_t before = tl->last;

	op->start = start_time(tl, op->engine, ready);
	tl->free[op->engine] = op->start + op->cost;
	if (tl->free[op->engine] > tl->last)
		tl->last = tl->free[op->engine];
	tl->issued += ISSUE_CYCLES;
	if (tl->issued > tl->last)
		tl->last = tl->issued;
	plan->report.nodes[op->node].est_cycles += tl->last - before;
}

void timeline_drain(struct plan *plan, struct plan_op *op)
{
	struct plan_timeline *tl = &plan->list.timeline;

	op->start = tl->drained = tl->issued = tl->last;
}
