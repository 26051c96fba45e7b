// SPDX-License-Identifier: MIT
/*
 * Cuts a plan that needs more slots than a job has into several jobs. The jobs run one after the
 * other and SRAM is not kept between them, so a cut is possible where no later instruction reads
 * bytes of SRAM from before it; the engines need no semaphore across it.
 */
#include "plan/list/plan.h"
#include "plan/list/split.h"

#include <string.h>

#include "util/malloc.h"

/*
 * By byte of SRAM: 1 when the instructions from the current one on read it before they write it;
 * and the number of such bytes. find_cuts() goes through the instructions backwards.
 */
struct live_bytes {
	uint8_t *byte;
	size_t count;
};

/* Marks bytes [lo, hi) as live (1) or dead (0). */
static void mark(struct live_bytes *live, int64_t lo, int64_t hi, uint8_t alive)
{
	size_t before = 0;

	if (hi <= lo)
		return;
	for (int64_t i = lo; i < hi; i++)
		before += live->byte[i];
	memset(live->byte + lo, alive, (size_t)(hi - lo));
	live->count += (alive ? (size_t)(hi - lo) : 0) - before;
}

/*
 * Sets ->cut of each instruction with which a job may begin, except the first instruction of the
 * plan. Returns 0, or -1 when out of memory.
 */
static int find_cuts(struct plan *plan)
{
	struct live_bytes live = { .byte = wnn_calloc((size_t)plan->caps->sram_bytes + 1, 1) };

	if (!live.byte) {
		plan_nomem(plan);
		return -1;
	}
	for (size_t i = plan->list.num_ops, birth = plan->list.num_births; i-- > 0;) {
		struct plan_op *op = &plan->list.ops[i];
		struct plan_touch touch[4];
		uint32_t count = op->op == ONPU_OP_PREEMPT ? 0 : plan_touches(plan, op, touch);

		for (uint32_t k = 0; k < count; k++)
			mark(&live, touch[k].lo, touch[k].hi, touch[k].read);
		/* A value that begins at an instruction keeps no bytes of SRAM alive before it. */
		for (; birth && plan->list.births[birth - 1].op >= i; birth--)
			mark(&live, plan->list.births[birth - 1].lo,
			     plan->list.births[birth - 1].hi, 0);
		op->cut = i && !live.count;
	}
	wnn_free(live.byte);
	return 0;
}

/* Returns the most slots that an instruction needs; instructions share equal slots later. */
static uint32_t slots_of(const struct plan_op *op)
{
	uint32_t count = op->param >= 0;

	for (int i = 0; i < 4; i++)
		count += op->view[i] >= 0;
	return count;
}

/*
 * Refuses the node of an instruction, because instructions that must be in one job take more than
 * `max_slots` slots. Returns true if nodes after it are to be checked as well.
 */
static bool refuse_uncut(struct plan *plan, const struct plan_op *op, uint32_t max_slots)
{
	plan->report.node = op->node;
	plan_fail(plan,
		  "the operator has a part that cannot be divided and needs more operands than the "
		  "%u that a job of the NPU takes: make its rows shorter",
		  max_slots);
	plan_refuse(plan);
	return !plan->report.failed;
}

/*
 * Keeps the fewest cuts with which no job has more than `max_slots` slots. Returns 0, or -1 when a
 * part of a node that cannot be cut takes more.
 */
static int choose_cuts(struct plan *plan, uint32_t max_slots)
{
	uint32_t refused = plan->report.refused;
	size_t begin = 0, last = 0;
	uint32_t used = 0, since_last = 0;

	for (size_t i = 0; i < plan->list.num_ops; i++) {
		uint32_t slots = slots_of(&plan->list.ops[i]);

		if (plan->list.ops[i].cut) {
			plan->list.ops[i].cut = false;
			last = i;
			since_last = 0;
		}
		if (used + slots > max_slots && last > begin) {
			plan->list.ops[last].cut = true;
			begin = last;
			used = since_last;
		}
		if (used + slots > max_slots) {
			if (!refuse_uncut(plan, &plan->list.ops[i], max_slots))
				return -1;
			while (i + 1 < plan->list.num_ops && !plan->list.ops[i + 1].cut)
				i++;
			begin = i + 1;
			used = since_last = 0;
			continue;
		}
		used += slots;
		since_last += slots;
	}
	return plan->report.refused > refused ? -1 : 0;
}

/*
 * Removes the semaphore tokens from engine `from` to engine `to` that are pending at `cut`: the
 * last signals before it and the first waits after it, which belong together.
 */
static void drop_tokens(struct plan *plan, size_t begin, size_t cut, int from, int to)
{
	uint8_t signal = (uint8_t)(1u << to), wait = (uint8_t)(1u << from);
	size_t tokens = 0, left;

	for (size_t i = begin; i < cut; i++) {
		const struct plan_op *op = &plan->list.ops[i];

		tokens += op->engine == from && (op->signals & signal);
		tokens -= op->engine == to && (op->waits & wait);
	}
	left = tokens;
	for (size_t i = cut; left && i-- > begin;)
		if (plan->list.ops[i].engine == from && (plan->list.ops[i].signals & signal)) {
			plan->list.ops[i].signals &= (uint8_t)~signal;
			left--;
		}
	for (size_t i = cut; tokens && i < plan->list.num_ops; i++)
		if (plan->list.ops[i].engine == to && (plan->list.ops[i].waits & wait)) {
			plan->list.ops[i].waits &= (uint8_t)~wait;
			tokens--;
		}
}

bool plan_pause_since(struct plan *plan, size_t *paused_at)
{
	uint32_t slots = plan_max_slots(plan);
	size_t now = plan->list.views.uses + plan->list.params.uses;

	if (now - *paused_at < slots / 4)
		return false;
	*paused_at = now;
	return true;
}

bool plan_pause(struct plan *plan)
{
	return plan_pause_since(plan, &plan->list.paused_at);
}

int plan_split(struct plan *plan, uint32_t max_slots)
{
	size_t begin = 0;

	if (find_cuts(plan) || choose_cuts(plan, max_slots))
		return -1;
	for (size_t i = 0; i < plan->list.num_ops; i++) {
		if (!plan->list.ops[i].cut)
			continue;
		for (int from = 0; from < ONPU_ENG_COUNT; from++)
			for (int to = 0; to < ONPU_ENG_COUNT; to++)
				drop_tokens(plan, begin, i, from, to);
		begin = i;
	}
	return 0;
}
