// SPDX-License-Identifier: MIT
/*
 * Reorders the instructions of a plan. Kernels emit node after node, so that in the order of
 * emission an engine finishes a node before it begins the next: the vector unit adds the last rows
 * of one layer while the matrix unit, which could work on the first rows of the next, waits for it.
 * This file simulates the engines by the cost model: each idle engine takes, from the instructions
 * that are ready, the one that the busiest kind of engine needs first. The order of the simulation
 * is the new order. Dependences come from the bytes that instructions touch, reused SRAM included.
 * Preemption points are chosen again, where the engines lose the least; each saves the bytes of
 * SRAM that are written before it and read after it.
 */
#include <stdlib.h>
#include <string.h>

#include "plan/list/hazards.h"
#include "plan/list/plan.h"
#include "plan/list/schedule.h"
#include "util/array.h"
#include "util/malloc.h"

#define NONE UINT32_MAX

/* ---- the simulation */

/* LD and ST are one kind: a transfer can be given to either. */
enum kind { KIND_DMA, KIND_MXU, KIND_VPU, KINDS };

static enum kind kind_of(uint8_t engine)
{
	return engine == ONPU_ENG_MXU ? KIND_MXU : engine == ONPU_ENG_VPU ? KIND_VPU : KIND_DMA;
}

/*
 * The properties of an instruction that the simulation reads. They are much fewer than those of
 * struct plan_op, so that the simulation reads less memory.
 */
struct work {
	uint32_t cost, segment; /* segment: number of preemption points emitted before it */
	uint32_t at;		/* index of the instruction in the window */
	enum kind kind;
};

/* A heap of instructions, least key first. */
struct heap {
	uint32_t *op;
	size_t count;
};

struct simulation {
	const struct plan_op *ops; /* the window */
	const struct plan_depend *depend;
	size_t begin;	   /* index of the window's first instruction in the list */
	struct work *work; /* the instructions of the window, without preemption points */
	uint32_t count;
	uint32_t *number; /* by instruction of the window: its number in `work` */
	/* the followers of instruction i: follower[first[i] .. first[i + 1]) */
	uint32_t *first, *follower;
	uint32_t *missing; /* by instruction: how many instructions it still waits for */
	uint64_t *key;	   /* by instruction: the one with the least key goes first */
	struct heap ready[KINDS];
	uint32_t *memory;
	uint32_t running[ONPU_ENG_COUNT]; /* the instruction that each engine executes, or NONE */
	uint64_t end[ONPU_ENG_COUNT];
	uint32_t *order; /* the instructions in the order of their start */
	uint64_t *start; /* by instruction: the cycle at which it starts */
	uint8_t *engine; /* by instruction: the engine that executes it */
	uint32_t done;	 /* number of instructions in `order` */
};

/* Returns the edges to the instructions that instruction `i` of `work` must follow. */
static inline const struct depend_edge *edges_of(const struct simulation *sim, uint32_t i,
						 size_t *count)
{
	return depend_edges(sim->depend, sim->begin + sim->work[i].at, count);
}

/* Returns the number, in `work`, of the instruction that an edge comes from. */
static inline uint32_t number_of(const struct simulation *sim, const struct depend_edge *edge)
{
	return sim->number[edge->from - sim->begin];
}

static void push(struct simulation *sim, struct heap *heap, uint32_t op)
{
	size_t i = heap->count++;

	for (; i && sim->key[heap->op[(i - 1) / 2]] > sim->key[op]; i = (i - 1) / 2)
		heap->op[i] = heap->op[(i - 1) / 2];
	heap->op[i] = op;
}

static uint32_t pop(struct simulation *sim, struct heap *heap)
{
	uint32_t top = heap->op[0], last = heap->op[--heap->count];
	size_t i = 0;

	for (size_t child; (child = 2 * i + 1) < heap->count; i = child) {
		if (child + 1 < heap->count &&
		    sim->key[heap->op[child + 1]] < sim->key[heap->op[child]])
			child++;
		if (sim->key[heap->op[child]] >= sim->key[last])
			break;
		heap->op[i] = heap->op[child];
	}
	heap->op[i] = last;
	return top;
}

/*
 * Sets busy[] to the cycles of work of each kind of engine in the segment of instruction `i`, which
 * lies between two emitted preemption points, and *busiest to the kind with the most. DMA counts
 * half, as it has two engines.
 */
static void find_busiest(const struct simulation *sim, uint32_t i, uint64_t *busy,
			 enum kind *busiest)
{
	uint32_t segment = sim->work[i].segment;

	memset(busy, 0, KINDS * sizeof(*busy));
	for (uint32_t k = i; k < sim->count && sim->work[k].segment == segment; k++)
		busy[sim->work[k].kind] += sim->work[k].cost;
	for (uint32_t k = i; k-- > 0 && sim->work[k].segment == segment;)
		busy[sim->work[k].kind] += sim->work[k].cost;
	busy[KIND_DMA] /= 2;
	*busiest = KIND_DMA;
	for (int k = 0; k < KINDS; k++)
		if (busy[k] > busy[*busiest])
			*busiest = (enum kind)k;
}

/*
 * Sets the urgency of each instruction: the number, in the order of emission, of the first
 * instruction of the busiest kind that depends on it, or its own number if it is of that kind.
 * Instructions on which no instruction of that kind depends come last.
 */
static void set_keys(struct simulation *sim)
{
	enum kind busiest = KIND_DMA;

	for (uint32_t i = sim->count; i-- > 0;) {
		uint64_t key = sim->count, busy[KINDS];

		if (i + 1 == sim->count || sim->work[i].segment != sim->work[i + 1].segment)
			find_busiest(sim, i, busy, &busiest);
		for (uint32_t e = sim->first[i]; e < sim->first[i + 1]; e++) {
			uint32_t to = sim->follower[e];

			if (sim->key[to] >> 32 < key)
				key = sim->key[to] >> 32;
		}
		if (sim->work[i].kind == busiest)
			key = i;
		sim->key[i] = key << 32 | i;
	}
}

/* Starts the most urgent instruction that is ready on an engine, if the engine is idle. */
static void start(struct simulation *sim, uint8_t engine, uint64_t now)
{
	struct heap *heap = &sim->ready[kind_of(engine)];
	uint32_t op;

	if (sim->running[engine] != NONE || !heap->count)
		return;
	op = pop(sim, heap);
	sim->running[engine] = op;
	sim->end[engine] = now + sim->work[op].cost;
	sim->order[sim->done++] = op;
	sim->start[op] = now;
	sim->engine[op] = engine;
}

/* Ends the instruction of an engine; its followers may become ready. */
static void finish(struct simulation *sim, uint8_t engine)
{
	uint32_t op = sim->running[engine];

	sim->running[engine] = NONE;
	for (uint32_t e = sim->first[op]; e < sim->first[op + 1]; e++) {
		uint32_t to = sim->follower[e];

		if (!--sim->missing[to])
			push(sim, &sim->ready[sim->work[to].kind], to);
	}
}

static const uint8_t engines[] = { ONPU_ENG_LD, ONPU_ENG_ST, ONPU_ENG_MXU, ONPU_ENG_VPU };

/* Simulates the instructions on all engines; returns the cycle at which the last one ends. */
static uint64_t simulate(struct simulation *sim)
{
	uint64_t now = 0;

	for (size_t e = 0; e < ARRAY_SIZE(engines); e++)
		sim->running[engines[e]] = NONE;
	for (uint32_t i = 0; i < sim->count; i++)
		if (!sim->missing[i])
			push(sim, &sim->ready[sim->work[i].kind], i);
	for (;;) {
		uint64_t soonest = UINT64_MAX;

		for (size_t e = 0; e < ARRAY_SIZE(engines); e++) {
			start(sim, engines[e], now);
			if (sim->running[engines[e]] != NONE && sim->end[engines[e]] < soonest)
				soonest = sim->end[engines[e]];
		}
		if (soonest == UINT64_MAX)
			return now;
		now = soonest;
		for (size_t e = 0; e < ARRAY_SIZE(engines); e++)
			if (sim->running[engines[e]] != NONE && sim->end[engines[e]] == now)
				finish(sim, engines[e]);
	}
}

/* ---- preemption points */

struct points {
	uint32_t *before; /* positions in the order, each before the instruction there */
	uint64_t *live;	  /* bytes of SRAM that each point must save */
	size_t num, cap_before, cap_live;
};

/*
 * Returns the cycles that engines lose by a preemption point at position `at` of the order: each
 * engine waits until all instructions in flight have ended, at `drained`. Cycles of the matrix unit
 * count four times: it is the bottleneck of most programs.
 */
static uint64_t loss_at(const struct simulation *sim, uint32_t at, uint64_t drained)
{
	uint64_t loss = 0;
	uint32_t seen = 0;

	for (uint32_t i = at; i < sim->count && sim->start[sim->order[i]] < drained; i++) {
		uint32_t op = sim->order[i], engine = 1u << sim->engine[op];

		if (!(seen & engine))
			loss += (drained - sim->start[op]) *
				(sim->work[op].kind == KIND_MXU ? 4 : 1);
		seen |= engine;
	}
	return loss;
}

/*
 * Chooses the preemption points: at least one in ONPU_PREEMPT_CYCLES, counted as the sum over all
 * engines, which is often enough however engines overlap. Each is at the cheapest position in the
 * second half of that span. Returns 0, or -1: no memory.
 */
static int place_points(const struct simulation *sim, struct points *points)
{
	uint64_t sum = 0, drained = 0, least = UINT64_MAX, rest = 0;
	uint32_t best = 0;

	for (uint32_t i = 0; i < sim->count; i++) {
		uint32_t op = sim->order[i];
		uint64_t cost = sim->work[op].cost + PLAN_SEMAPHORES_OF_ONE;

		/*
		 * The loop adds two points when even the instructions after the cheapest position
		 * leave no room for a long instruction.
		 */
		while (sum && sum + cost + PLAN_SEMAPHORES_OF_PAUSE > ONPU_PREEMPT_CYCLES) {
			if (!best) {
				best = i;
				rest = 0;
			}
			if (wnn_array_reserve(&points->before, &points->cap_before, points->num + 1,
					      sizeof(*points->before)))
				return -1;
			points->before[points->num++] = best;
			sum = rest;
			least = UINT64_MAX;
			best = 0;
		}
		if (sum > ONPU_PREEMPT_CYCLES / 2) {
			uint64_t loss = loss_at(sim, i, drained);

			if (loss <= least) {
				least = loss;
				best = i;
				rest = 0;
			}
		}
		sum += cost;
		rest += cost;
		if (sim->start[op] + sim->work[op].cost > drained)
			drained = sim->start[op] + sim->work[op].cost;
	}
	return 0;
}

/* Simulates again with all engines idle at each point; returns the cycle at which all has ended. */
static uint64_t drain(struct simulation *sim, const struct points *points)
{
	uint64_t free[ONPU_ENG_COUNT] = { 0 }, last = 0, rested = 0;
	size_t next = 0;

	/* start[] of a later instruction holds the latest end of those that it must follow. */
	memset(sim->start, 0, sim->count * sizeof(*sim->start));
	for (uint32_t i = 0; i < sim->count; i++) {
		uint32_t op = sim->order[i];
		uint64_t begin = sim->start[op];

		if (next < points->num && points->before[next] == i) {
			rested = last;
			next++;
		}
		if (begin < rested)
			begin = rested;
		if (begin < free[sim->engine[op]])
			begin = free[sim->engine[op]];
		sim->start[op] = begin;
		free[sim->engine[op]] = begin += sim->work[op].cost;
		if (begin > last)
			last = begin;
		for (uint32_t e = sim->first[op]; e < sim->first[op + 1]; e++) {
			uint64_t *after = &sim->start[sim->follower[e]];

			if (*after < begin)
				*after = begin;
		}
	}
	return last;
}

/*
 * Makes the points between instruction `op`, at position `written` of the order, and a reader of
 * its result, at position `read`, save that result.
 */
static void keep_result(const struct plan *plan, const struct plan_op *op, uint32_t written,
			uint32_t read, struct points *points)
{
	for (size_t p = 0; p < points->num; p++) {
		struct hazard_access access[PLAN_MAX_ACCESSES];
		uint32_t count;

		if (written >= points->before[p] || read < points->before[p])
			continue;
		count = plan_accesses(plan, op, access);
		for (uint32_t a = 0; a < count; a++)
			if (access[a].write && (uint64_t)access[a].hi > points->live[p])
				points->live[p] = plan_align((uint64_t)access[a].hi);
	}
}

/*
 * Computes the bytes that each preemption point must save: those that are written before it and
 * read after it, and at least `least`. Returns 0, or -1: no memory.
 */
static int find_live(const struct plan *plan, const struct simulation *sim, struct points *points,
		     uint64_t least)
{
	uint32_t *number = wnn_malloc(((size_t)sim->count + 1) * sizeof(*number));

	if (!number || wnn_array_reserve(&points->live, &points->cap_live, points->num + 1,
					 sizeof(*points->live))) {
		wnn_free(number);
		return -1;
	}
	for (uint32_t i = 0; i < sim->count; i++)
		number[sim->order[i]] = i;
	for (size_t p = 0; p < points->num; p++)
		points->live[p] = least;
	for (uint32_t i = 0; i < sim->count && points->num; i++) {
		size_t count;
		const struct depend_edge *edges = edges_of(sim, i, &count);

		for (size_t e = 0; e < count; e++) {
			uint32_t from = number_of(sim, &edges[e]);
			const struct plan_op *op = &sim->ops[sim->work[from].at];

			if (edges[e].data && plan_view(plan, op->view[0])->base == NPU_BASE_NONE)
				keep_result(plan, op, number[from], number[i], points);
		}
	}
	wnn_free(number);
	return 0;
}

/* ---- windows */

/* Fills in the followers of each instruction, and the number of instructions that it waits for. */
static void sort_edges(struct simulation *sim)
{
	memset(sim->first, 0, ((size_t)sim->count + 1) * sizeof(*sim->first));
	for (uint32_t i = 0; i < sim->count; i++) {
		size_t count;
		const struct depend_edge *edges = edges_of(sim, i, &count);

		sim->missing[i] = (uint32_t)count;
		for (size_t e = 0; e < count; e++)
			sim->first[number_of(sim, &edges[e])]++;
	}
	for (uint32_t i = 0, sum = 0; i <= sim->count; i++)
		sim->first[i] = sum += sim->first[i];
	for (uint32_t i = sim->count; i-- > 0;) {
		size_t count;
		const struct depend_edge *edges = edges_of(sim, i, &count);

		while (count-- > 0)
			sim->follower[--sim->first[number_of(sim, &edges[count])]] = i;
	}
}

static size_t count_edges(const struct simulation *sim)
{
	size_t sum = 0;

	for (uint32_t i = 0; i < sim->count; i++) {
		size_t count;

		edges_of(sim, i, &count);
		sum += count;
	}
	return sum;
}

/* Allocates the tables of the simulation and fills them in; false: no memory. */
static bool prepare(struct simulation *sim)
{
	size_t count = sim->count;
	uint32_t *memory;

	sim->memory = memory = wnn_malloc((5 * count + count_edges(sim) + 1) * sizeof(*memory));
	sim->key = wnn_malloc((count + 1) * sizeof(*sim->key));
	if (!memory || !sim->key)
		return false;
	sim->missing = memory;
	for (int k = 0; k < KINDS; k++)
		sim->ready[k].op = memory + (1 + k) * count;
	sim->first = memory + 4 * count;
	sim->follower = sim->first + count + 1;
	sort_edges(sim);
	set_keys(sim);
	return true;
}

/*
 * Returns the cycles from the first start to the last end of instructions in their present order.
 */
static uint64_t length_of(const struct plan_op *ops, size_t count)
{
	uint64_t begin = UINT64_MAX, end = 0;

	for (size_t i = 0; i < count; i++) {
		if (ops[i].start < begin)
			begin = ops[i].start;
		if (ops[i].start + ops[i].cost > end)
			end = ops[i].start + ops[i].cost;
	}
	return count ? end - begin : 0;
}

/* A list of instructions that is being made. */
struct listing {
	struct plan_op *ops;
	size_t num, cap;
};

static int append(struct listing *list, const struct plan_op *ops, size_t count)
{
	if (wnn_array_reserve(&list->ops, &list->cap, list->num + count, sizeof(*ops)))
		return -1;
	memcpy(list->ops + list->num, ops, count * sizeof(*ops));
	list->num += count;
	return 0;
}

/*
 * Appends the instructions of a window in the new order, with preemption points. Returns 0, or -1
 * when out of memory.
 */
static int append_ordered(struct listing *list, const struct simulation *sim,
			  const struct points *points)
{
	for (uint32_t i = 0, next = 0; i < sim->count; i++) {
		struct plan_op op = sim->ops[sim->work[sim->order[i]].at];
		struct plan_op point = { .op = ONPU_OP_PREEMPT,
					 .engine = ONPU_ENG_CP,
					 .cost = 1,
					 .node = op.node,
					 .view = { -1, -1, -1, -1 },
					 .param = -1 };

		if (next < points->num && points->before[next] == i) {
			point.live = (uint32_t)points->live[next++];
			if (append(list, &point, 1))
				return -1;
		}
		op.engine = sim->engine[sim->order[i]];
		op.on_st = op.engine == ONPU_ENG_ST;
		op.start = sim->start[sim->order[i]];
		if (append(list, &op, 1))
			return -1;
	}
	return 0;
}

static int simulate_window(struct simulation *sim)
{
	sim->order = wnn_malloc((size_t)sim->count * sizeof(*sim->order));
	sim->start = wnn_malloc((size_t)sim->count * sizeof(*sim->start));
	sim->engine = wnn_malloc(sim->count);
	if (!sim->order || !sim->start || !sim->engine)
		return -1;
	if (!prepare(sim))
		return -1;
	simulate(sim);
	return 0;
}

/*
 * Notes for each node when its last instruction in the window ends, counted from the begin of the
 * program; the window begins at `cycles`. `ordered`: the new order is used.
 */
static void note_ends(const struct simulation *sim, uint64_t *ends, bool ordered, uint64_t cycles)
{
	uint64_t first = sim->count ? sim->ops[sim->work[0].at].start : 0;

	for (uint32_t i = 0; i < sim->count; i++) {
		const struct plan_op *op = &sim->ops[sim->work[i].at];
		uint64_t end = cycles + op->cost + (ordered ? sim->start[i] : op->start - first);

		if (end > ends[op->node])
			ends[op->node] = end;
	}
}

/*
 * Appends instructions [begin, end) to *list in a new order, or in the old order when the new one
 * takes longer, and adds their cycles to *cycles. `live`: bytes of SRAM that are live before or
 * after the window. Without a list, only adds the cycles. Returns 0, or -1: no memory.
 */
static int order_window(struct plan *plan, size_t begin, size_t end, uint64_t live,
			struct listing *list, uint64_t *cycles)
{
	struct plan_op *ops = plan->list.ops + begin;
	struct simulation sim = { .ops = ops, .depend = plan->list.depend, .begin = begin };
	struct points points = { .num = 0 };
	uint64_t before = length_of(ops, end - begin), after = before;
	uint32_t segment = 0;
	int ret = -1;

	sim.work = wnn_malloc((end - begin + 1) * sizeof(*sim.work));
	sim.number = wnn_malloc((end - begin + 1) * sizeof(*sim.number));
	if (!sim.work || !sim.number)
		goto out;
	for (size_t i = 0; i < end - begin; i++) {
		if (ops[i].op == ONPU_OP_PREEMPT) {
			segment++;
			continue;
		}
		sim.number[i] = sim.count;
		sim.work[sim.count++] = (struct work){ .cost = (uint32_t)ops[i].cost,
						       .segment = segment,
						       .at = (uint32_t)i,
						       .kind = kind_of(ops[i].engine) };
	}
	ret = 0;
	if (sim.count > 2)
		ret = simulate_window(&sim);
	if (!ret && sim.count > 2)
		ret = place_points(&sim, &points);
	if (!ret && sim.count > 2)
		after = drain(&sim, &points);
	if (!ret && list && after < before)
		ret = find_live(plan, &sim, &points, live);
	if (!ret && list)
		ret = after < before ? append_ordered(list, &sim, &points) :
				       append(list, ops, end - begin);
	if (plan->ends)
		note_ends(&sim, plan->ends, after < before, *cycles);
	*cycles += after < before ? after : before;
out:
	wnn_free(sim.number);
	wnn_free(sim.memory);
	wnn_free(sim.key);
	wnn_free(sim.order);
	wnn_free(sim.start);
	wnn_free(sim.engine);
	wnn_free(sim.work);
	wnn_free(points.before);
	wnn_free(points.live);
	return ret;
}

struct plan_depend *schedule_follow(const struct plan *plan, const struct plan_op *ops,
				    size_t count)
{
	struct plan_depend *depend = depend_create();

	for (size_t i = 0; i < count && depend; i++) {
		struct hazard_access access[PLAN_MAX_ACCESSES];

		if (ops[i].op == ONPU_OP_PREEMPT) {
			depend_forget(depend);
		} else if (depend_add(depend, access, plan_accesses(plan, &ops[i], access),
				      (uint32_t)i)) {
			depend_destroy(depend);
			depend = NULL;
		}
	}
	return depend;
}

int schedule_waits(struct plan *plan)
{
	struct plan_hazards *hazards = hazards_create();
	int ret = hazards ? 0 : -1;

	for (size_t i = 0; i < plan->list.num_ops && !ret; i++) {
		struct plan_op *op = &plan->list.ops[i];
		uint32_t need[ONPU_ENG_COUNT];
		size_t after[ONPU_ENG_COUNT];

		op->waits = op->signals = 0;
		if (op->op == ONPU_OP_PREEMPT) {
			hazards_pause(hazards, i);
			continue;
		}
		hazards_find(hazards, plan->list.ops, plan->list.ordered, (uint32_t)i, need);
		ret = hazards_wait(hazards, op->engine, i, need, &op->waits, after);
		for (int e = 0; !ret && e < ONPU_ENG_COUNT; e++)
			if (op->waits & 1u << e)
				plan->list.ops[after[e]].signals |= (uint8_t)(1u << op->engine);
	}
	hazards_destroy(hazards);
	return ret;
}

uint64_t plan_schedule(struct plan *plan)
{
	size_t num = plan->list.num_ops;
	struct listing list = { .ops = NULL };
	bool dry = plan->constants.dry;
	uint64_t cycles = 0, live = 0;
	int ret = 0;

	plan->list.window = 0;
	for (size_t i = 0; i <= num && !ret; i++) {
		const struct plan_op *op = &plan->list.ops[i];
		uint64_t live_after = i < num ? op->live : 0;

		if (i < num && (op->op != ONPU_OP_PREEMPT || !schedule_fills_window(plan, i)))
			continue;
		ret = order_window(plan, plan->list.window, i,
				   live > live_after ? live : live_after, dry ? NULL : &list,
				   &cycles);
		if (!ret && !dry && i < num)
			ret = append(&list, op, 1);
		live = live_after;
		plan->list.window = i + 1;
	}
	if (ret) {
		wnn_free(list.ops);
		plan_nomem(plan);
		return 0;
	}
	if (dry)
		return cycles;
	plan->list.emitted = plan->list.ops;
	plan->list.num_emitted = num;
	plan->list.ops = list.ops;
	plan->list.num_ops = list.num;
	plan->list.cap_ops = list.cap;
	plan->list.ordered = schedule_follow(plan, list.ops, list.num);
	if (!plan->list.ordered || schedule_waits(plan))
		plan_nomem(plan);
	return cycles;
}

void plan_unschedule(struct plan *plan)
{
	wnn_free(plan->list.ops);
	plan->list.ops = plan->list.emitted;
	plan->list.num_ops = plan->list.cap_ops = plan->list.num_emitted;
	plan->list.emitted = NULL;
	plan->list.ahead = 0;
	depend_destroy(plan->list.ordered);
	plan->list.ordered = NULL;
}
