// SPDX-License-Identifier: MIT
/*
 * When instructions run, by the cost model: the command processor issues one after the other, as long
 * as the queue of its engine has room; each engine executes its own in order, from the time on at which
 * what it waits for has ended. Kernels do not say when, so this is kept while they emit: it is the
 * estimate of a node's time, and it tells which of the two DMA engines comes to a transfer first.
 */
#include "plan/list/plan.h"

/* An instruction and about two new slots. */
#define ISSUE_CYCLES 8

/* When an instruction can be issued to an engine at the earliest. */
static uint64_t issue_time(const struct plan_timeline *tl, uint8_t engine, uint32_t depth)
{
	const struct plan_queue *queue = &tl->queue[engine];
	uint64_t issue = tl->issue + ISSUE_CYCLES, room = 0;

	if (queue->count >= depth)
		room = queue->start[(queue->count - depth) % PLAN_MAX_FIFO];
	return issue > room ? issue : room;
}

static uint32_t fifo_depth(const struct plan *plan)
{
	return plan->caps->fifo_depth < PLAN_MAX_FIFO ? plan->caps->fifo_depth : PLAN_MAX_FIFO;
}

static uint64_t start_time(const struct plan *plan, uint8_t engine, uint64_t ready)
{
	const struct plan_timeline *tl = &plan->list.timeline;
	uint64_t start = issue_time(tl, engine, fifo_depth(plan));

	if (tl->queue[engine].free > start)
		start = tl->queue[engine].free;
	return ready > start ? ready : start;
}

bool timeline_prefers_st(const struct plan *plan, bool by_itself, uint64_t ready)
{
	uint64_t ld = start_time(plan, ONPU_ENG_LD, ready);
	uint64_t st = start_time(plan, ONPU_ENG_ST, ready);

	return ld == st ? by_itself : st < ld;
}

void timeline_add(struct plan *plan, struct plan_op *op, uint64_t ready)
{
	struct plan_timeline *tl = &plan->list.timeline;
	struct plan_queue *queue = &tl->queue[op->engine];
	uint64_t start = start_time(plan, op->engine, ready), before = tl->last;

	tl->issue = issue_time(tl, op->engine, fifo_depth(plan));
	queue->start[queue->count++ % PLAN_MAX_FIFO] = start;
	queue->free = op->end = start + op->cost;
	if (op->end > tl->last)
		tl->last = op->end;
	plan->report.nodes[op->node].est_cycles += tl->last - before;
}

void timeline_drain(struct plan_timeline *tl)
{
	if (tl->issue < tl->last)
		tl->issue = tl->last;
}
