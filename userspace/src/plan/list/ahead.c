// SPDX-License-Identifier: MIT
/*
 * Loads ahead: prefetches for the next job of the same program. While the last instructions of a
 * job run, a DMA engine that is idle loads what the next job would load first:
 * weights, which no instruction writes. A job that finds them in SRAM begins after its first loads
 * (KEEP_START of the PROGRAM slot), which therefore come before all other instructions; a job that
 * does not find them begins with the loads. A prefetch is put where, by the cost model, a DMA
 * engine waits, and after the last instruction that touches its bytes of SRAM, so that it hardly
 * delays the job. The code generator calls plan_load_ahead() once for a scheduled plan.
 */
#include "plan/list/ahead.h"
#include "plan/list/depend.h"
#include "plan/list/schedule.h"

#include <string.h>

#include "util/array.h"
#include "util/malloc.h"

/* The most first loads that can get a prefetch. */
#define MOST_LOADS 64

/* Prefetches must save each later job more cycles than this, when a job takes `cycles`. */
#define LEAST_GAIN(cycles) ((cycles) / 2048)
/*
 * The most cycles that prefetches may cost the first job, when each later job saves `gain`. When
 * graphs alternate on a device, each job may be a first one.
 */
#define MOST_LOSS(gain) ((gain) / 4)

/* A list of instructions, with the cycles at which each runs by the cost model. */
struct timed {
	const struct plan_op *ops;
	uint32_t count;
	const struct plan_depend *depend;
	uint64_t *begin, *end; /* by instruction: the cycles at which it begins and ends */
	uint64_t cycles;       /* the cycle at which the last instruction ends */
};

/* One of the first loads, and where its prefetch goes. */
struct load {
	uint32_t op;
	int64_t lo, hi;	  /* bytes of SRAM */
	uint32_t touched; /* the last instruction that touches these bytes; op if none does */
	bool stays;	  /* no instruction overwrites the bytes: SRAM has them at the end */
	bool placed;
	uint8_t engine;
	uint32_t before; /* the prefetch goes before this instruction */
	uint64_t begin;
};

/*
 * A time in which a DMA engine is idle: from the end of one of its instructions to the begin of its
 * next one.
 */
struct gap {
	uint8_t engine;
	uint32_t first, before; /* positions in the list between the two instructions */
	uint64_t begin, end;
};

struct ahead {
	struct plan *plan;
	struct timed list;
	struct load load[MOST_LOADS];
	uint32_t num_loads;
	uint64_t gain;	  /* cycles that later jobs save by the prefetches that were tried last */
	struct gap *gaps; /* in order of time for each engine */
	size_t num_gaps, cap_gaps;
};

static bool is_point(const struct plan_op *op)
{
	return op->op == ONPU_OP_PREEMPT;
}

/* ---- times */

/*
 * Simulates the list without its first `skipped` instructions: sets the cycles at which each begins
 * and ends, and returns the cycle at which the last one ends.
 */
static uint64_t run(struct timed *list, uint32_t skipped)
{
	uint64_t free[ONPU_ENG_COUNT] = { 0 }, last = 0, rested = 0;

	for (uint32_t i = 0; i < list->count; i++) {
		size_t count;
		const struct depend_edge *edges = depend_edges(list->depend, i, &count);
		const struct plan_op *op = &list->ops[i];
		uint64_t at = rested > free[op->engine] ? rested : free[op->engine];

		if (is_point(op))
			at = rested = last;
		for (size_t e = 0; e < count; e++)
			if (list->end[edges[e].from] > at)
				at = list->end[edges[e].from];
		list->begin[i] = list->end[i] = at;
		if (i < skipped)
			continue;
		free[op->engine] = list->end[i] = at + op->cost;
		if (list->end[i] > last)
			last = list->end[i];
	}
	return last;
}

/*
 * Fills in *list: simulates the instructions. `depend` says which instructions each must follow;
 * it is NULL when memory was exhausted. Returns 0, or -1: no memory.
 */
static int time_list(const struct plan_op *ops, uint32_t count, const struct plan_depend *depend,
		     struct timed *list)
{
	*list = (struct timed){ .ops = ops,
				.count = count,
				.depend = depend,
				.begin = wnn_malloc((count + 1) * sizeof(*list->begin)),
				.end = wnn_malloc((count + 1) * sizeof(*list->end)) };
	if (!list->depend || !list->begin || !list->end)
		return -1;
	list->cycles = run(list, 0);
	return 0;
}

static void release_times(struct timed *list)
{
	wnn_free(list->begin);
	wnn_free(list->end);
}

/* ---- first loads */

static bool loads_constant(const struct plan *plan, const struct plan_op *op)
{
	return op->op == ONPU_OP_DMA_COPY && plan_view(plan, op->view[1])->base == NPU_BASE_CONST &&
	       plan_view(plan, op->view[0])->base == NPU_BASE_NONE;
}

/*
 * Lists the first loads in a->load, in order: loads of constants before the first preemption point
 * that need not wait for another instruction, and that fill all bytes of a range.
 */
static void find_loads(struct ahead *a)
{
	for (uint32_t i = 0; i < a->list.count && a->num_loads < MOST_LOADS; i++) {
		const struct plan_op *op = &a->list.ops[i];
		struct hazard_access access[PLAN_MAX_ACCESSES];
		size_t followed;

		if (is_point(op))
			break;
		depend_edges(a->list.depend, i, &followed);
		if (followed || !loads_constant(a->plan, op))
			continue;
		plan_accesses(a->plan, op, access);
		if (access[0].pitch)
			continue;
		a->load[a->num_loads++] = (struct load){
			.op = i, .lo = access[0].lo, .hi = access[0].hi, .touched = i, .stays = true
		};
	}
}

/*
 * Sets `touched` of each load to the last instruction that touches its bytes, and `stays` to
 * whether no other instruction writes them.
 */
static void find_touched(struct ahead *a)
{
	for (uint32_t i = 0; i < a->list.count; i++) {
		struct hazard_access access[PLAN_MAX_ACCESSES];
		uint32_t count = is_point(&a->list.ops[i]) ?
					 0 :
					 plan_accesses(a->plan, &a->list.ops[i], access);

		for (uint32_t k = 0; k < count; k++)
			for (uint32_t n = 0; n < a->num_loads; n++) {
				struct load *load = &a->load[n];

				if (load->op == i || access[k].base != NPU_BASE_NONE ||
				    access[k].hi <= load->lo || access[k].lo >= load->hi)
					continue;
				load->touched = i;
				load->stays &= !access[k].write;
			}
	}
}

/* ---- positions of the prefetches */

/*
 * Closes the open gap of a DMA engine at its next instruction, at a preemption point or at the end
 * of the list, and opens the next gap. Returns 0, or -1 when out of memory.
 */
static int close_gap(struct ahead *a, struct gap *open, uint32_t op, uint64_t begin, uint64_t end)
{
	open->before = op;
	open->end = begin;
	if (open->end > open->begin) {
		if (wnn_array_reserve(&a->gaps, &a->cap_gaps, a->num_gaps + 1, sizeof(*a->gaps)))
			return -1;
		a->gaps[a->num_gaps++] = *open;
	}
	open->first = op + 1;
	open->begin = end;
	return 0;
}

static int find_gaps(struct ahead *a)
{
	const struct timed *list = &a->list;
	struct gap open[2] = { { .engine = ONPU_ENG_LD }, { .engine = ONPU_ENG_ST } };

	for (uint32_t i = 0; i <= list->count; i++)
		for (int e = 0; e < 2; e++) {
			bool last = i == list->count;

			if (!last && !is_point(&list->ops[i]) &&
			    list->ops[i].engine != open[e].engine)
				continue;
			if (close_gap(a, &open[e], i, last ? list->cycles : list->begin[i],
				      last ? list->cycles : list->end[i]))
				return -1;
		}
	return 0;
}

/*
 * Returns true if an instruction of `cost` cycles before instruction `before` leaves at most
 * ONPU_PREEMPT_CYCLES between the preemption points around it.
 */
static bool segment_has_room(const struct ahead *a, uint32_t before, uint64_t cost)
{
	uint64_t cycles = cost + PLAN_SEMAPHORES_OF_ONE + 2 * PLAN_SEMAPHORES_OF_PAUSE;
	const struct plan_op *ops = a->list.ops;
	uint32_t lo = before, hi = before;

	for (; lo && !is_point(&ops[lo - 1]); lo--)
		cycles += ops[lo - 1].cost + PLAN_SEMAPHORES_OF_ONE;
	for (; hi < a->list.count && !is_point(&ops[hi]); hi++)
		cycles += ops[hi].cost + PLAN_SEMAPHORES_OF_ONE;
	for (uint32_t n = 0; n < a->num_loads; n++)
		if (a->load[n].placed && a->load[n].before >= lo && a->load[n].before <= hi)
			cycles += ops[a->load[n].op].cost + PLAN_SEMAPHORES_OF_ONE;
	return cycles <= ONPU_PREEMPT_CYCLES;
}

/* Puts the prefetch of a load into the first gap that is long enough; sets load->placed then. */
static void place_load(struct ahead *a, struct load *load)
{
	const struct timed *list = &a->list;
	uint64_t cost = list->ops[load->op].cost;

	for (size_t g = 0; g < a->num_gaps && !load->placed; g++) {
		struct gap *gap = &a->gaps[g];
		uint64_t begin = gap->begin;
		uint32_t before = gap->first;

		if (gap->before <= load->touched)
			continue;
		if (begin < list->end[load->touched])
			begin = list->end[load->touched];
		if (before <= load->touched)
			before = load->touched + 1;
		/* The prefetch follows the instructions that begin before it. */
		while (before < gap->before && list->begin[before] < begin)
			before++;
		if (begin + cost > gap->end || !segment_has_room(a, before, cost))
			continue;
		load->placed = true;
		load->engine = gap->engine;
		load->before = before;
		load->begin = begin;
		gap->first = before;
		gap->begin = begin + cost;
	}
}

/*
 * Finds a position for the prefetch of each load whose bytes are overwritten, and drops the loads
 * for which there is none.
 */
static void place_loads(struct ahead *a)
{
	uint32_t placed = 0;

	for (uint32_t n = 0; n < a->num_loads; n++)
		if (!a->load[n].stays)
			place_load(a, &a->load[n]);
	for (uint32_t n = 0; n < a->num_loads; n++)
		if (a->load[n].stays || a->load[n].placed)
			a->load[placed++] = a->load[n];
	a->num_loads = placed;
}

/* ---- the new list */

/* Returns true if the prefetch of `a` comes before that of `b` in the new list. */
static bool comes_before(const struct load *a, const struct load *b)
{
	return a->before != b->before ? a->before < b->before : a->begin < b->begin;
}

/* Sorts the prefetches by position; returns their number. Loads that stay in SRAM need none. */
static uint32_t sort_by_position(const struct load *load, uint32_t count,
				 const struct load *sorted[])
{
	uint32_t placed = 0;

	for (uint32_t n = 0; n < count; n++) {
		uint32_t i = placed;

		if (load[n].stays)
			continue;
		for (; i && comes_before(&load[n], sorted[i - 1]); i--)
			sorted[i] = sorted[i - 1];
		sorted[i] = &load[n];
		placed++;
	}
	return placed;
}

/*
 * Writes the new list: the first `loads` loads before all other instructions, and their prefetches
 * at their positions. Returns its length.
 */
static uint32_t list_anew(const struct ahead *a, uint32_t loads, struct plan_op *ops)
{
	const struct load *sorted[MOST_LOADS];
	uint32_t placed = sort_by_position(a->load, loads, sorted);
	uint32_t at = 0, first = 0, next = 0;

	for (uint32_t n = 0; n < loads; n++)
		ops[at++] = a->list.ops[a->load[n].op];
	for (uint32_t i = 0; i <= a->list.count; i++) {
		for (; next < placed && sorted[next]->before == i; next++) {
			ops[at] = a->list.ops[sorted[next]->op];
			ops[at].again = true;
			ops[at].engine = sorted[next]->engine;
			ops[at++].on_st = sorted[next]->engine == ONPU_ENG_ST;
		}
		if (first < loads && a->load[first].op == i)
			first++;
		else if (i < a->list.count)
			ops[at++] = a->list.ops[i];
	}
	return at;
}

/*
 * Makes the list with `loads` first loads in front, and replaces the plan's list with it if later
 * jobs gain enough. Returns 1 if it was replaced, 0 if not, -1: no memory.
 */
static int try_loads(struct ahead *a, uint32_t loads)
{
	struct plan_list *list = &a->plan->list;
	struct plan_op *ops = wnn_malloc((a->list.count + loads) * sizeof(*ops));
	struct timed trial = { .count = 0 };
	struct plan_depend *depend;
	uint32_t count;
	int ret = -1;

	if (!ops)
		return -1;
	count = list_anew(a, loads, ops);
	depend = schedule_follow(a->plan, ops, count);
	if (!time_list(ops, count, depend, &trial)) {
		uint64_t later = run(&trial, loads);

		a->gain = later < a->list.cycles ? a->list.cycles - later : 0;
		ret = a->gain > LEAST_GAIN(a->list.cycles) &&
		      trial.cycles <= a->list.cycles + MOST_LOSS(a->gain);
	}
	release_times(&trial);
	if (ret <= 0) {
		depend_destroy(depend);
		wnn_free(ops);
		return ret;
	}
	depend_destroy(list->ordered);
	list->ordered = depend;
	wnn_free(list->ops);
	list->ops = ops;
	list->num_ops = list->cap_ops = count;
	list->ahead = loads;
	return schedule_waits(a->plan) ? -1 : 1;
}

/*
 * Returns the number of loads to try next: half, rounded up; 0 after 1. Two are tried before one,
 * as they may be the halves of one long transfer.
 */
static uint32_t fewer(uint32_t loads)
{
	return loads > 2 ? (loads + 1) / 2 : loads - 1;
}

void plan_load_ahead(struct plan *plan)
{
	struct ahead a = { .plan = plan };
	int ret = time_list(plan->list.ops, (uint32_t)plan->list.num_ops, plan->list.ordered,
			    &a.list);

	if (!ret) {
		find_loads(&a);
		find_touched(&a);
		ret = find_gaps(&a);
	}
	if (!ret)
		place_loads(&a);
	/*
	 * With fewer loads the first job is delayed less, but later jobs gain at most as much: the
	 * loop ends once these gain too little.
	 */
	a.gain = UINT64_MAX;
	for (uint32_t loads = a.num_loads; loads && !ret && a.gain > LEAST_GAIN(a.list.cycles);
	     loads = fewer(loads))
		ret = try_loads(&a, loads);
	if (ret < 0)
		plan_nomem(plan);
	release_times(&a.list);
	wnn_free(a.gaps);
}
