// SPDX-License-Identifier: MIT
/*
 * The order in which engines execute. Kernels emit node after node, so that in the order of emission an
 * engine finishes a node before it begins the next: the vector unit adds the last rows of one layer
 * while the matrix unit, which could work on the first rows of the next, waits for it. Here the
 * instructions between two preemption points are put into the order of a simulation by the cost model
 * in which each engine, when it is free, takes of those that are ready the one that the busiest kind of
 * engine needs first. What must follow what comes from the bytes that they touch, slot reuse included.
 */
#include <stdlib.h>
#include <string.h>

#include "plan/list/plan.h"
#include "util/array.h"
#include "util/malloc.h"

#define NONE	    UINT32_MAX
#define SPACE_SHIFT 44 /* keys of different bases never meet */

/* ---- which instructions must follow which */

struct edge {
	uint32_t from, to;
};

/* Who read some bytes since they were written; lists share their ends. */
struct reader {
	uint32_t op, next;
};

struct range {
	int64_t lo, hi;
	uint32_t writer, readers;
};

struct graph {
	struct range *ranges; /* sorted, disjoint */
	size_t num_ranges, cap_ranges;
	struct reader *readers;
	size_t num_readers, cap_readers;
	struct edge *edges; /* sorted by `to` */
	size_t num_edges, cap_edges;
	uint32_t *seen; /* by instruction: the last one that has an edge from it */
};

static int add_edge(struct graph *g, uint32_t from, uint32_t to)
{
	if (from == NONE || from == to || g->seen[from] == to)
		return 0;
	if (wnn_array_reserve(&g->edges, &g->cap_edges, g->num_edges + 1, sizeof(*g->edges)))
		return -1;
	g->seen[from] = to;
	g->edges[g->num_edges++] = (struct edge){ from, to };
	return 0;
}

static size_t find(const struct graph *g, int64_t at)
{
	size_t lo = 0, hi = g->num_ranges;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (g->ranges[mid].hi <= at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static int insert(struct graph *g, size_t at, struct range range)
{
	if (wnn_array_reserve(&g->ranges, &g->cap_ranges, g->num_ranges + 1, sizeof(*g->ranges)))
		return -1;
	memmove(g->ranges + at + 1, g->ranges + at, (g->num_ranges - at) * sizeof(range));
	g->ranges[at] = range;
	g->num_ranges++;
	return 0;
}

/* Makes `at` a border between ranges. */
static int split(struct graph *g, int64_t at)
{
	size_t i = find(g, at);
	struct range upper;

	if (i == g->num_ranges || g->ranges[i].lo >= at)
		return 0;
	upper = g->ranges[i];
	upper.lo = at;
	g->ranges[i].hi = at;
	return insert(g, i + 1, upper);
}

static int follow(struct graph *g, int64_t lo, int64_t hi, bool write, uint32_t op)
{
	for (size_t i = find(g, lo); i < g->num_ranges && g->ranges[i].lo < hi; i++) {
		if (add_edge(g, g->ranges[i].writer, op))
			return -1;
		for (uint32_t r = g->ranges[i].readers; write && r != NONE; r = g->readers[r].next)
			if (add_edge(g, g->readers[r].op, op))
				return -1;
	}
	return 0;
}

static int note_write(struct graph *g, int64_t lo, int64_t hi, uint32_t op)
{
	struct range fresh = { lo, hi, op, NONE };
	size_t first = find(g, lo), last = first;

	while (last < g->num_ranges && g->ranges[last].lo < hi)
		last++;
	if (last == first)
		return insert(g, first, fresh);
	g->ranges[first] = fresh;
	memmove(g->ranges + first + 1, g->ranges + last, (g->num_ranges - last) * sizeof(fresh));
	g->num_ranges -= last - first - 1;
	return 0;
}

static int note_read(struct graph *g, int64_t lo, int64_t hi, uint32_t op)
{
	int64_t at = lo;

	for (size_t i = find(g, lo); at < hi; i++) {
		struct range gap = { at, hi, NONE, NONE };

		if (i < g->num_ranges && g->ranges[i].lo < hi)
			gap.hi = g->ranges[i].lo;
		if (gap.hi > at && insert(g, i, gap))
			return -1;
		if (wnn_array_reserve(&g->readers, &g->cap_readers, g->num_readers + 1,
				      sizeof(*g->readers)))
			return -1;
		g->readers[g->num_readers] = (struct reader){ op, g->ranges[i].readers };
		g->ranges[i].readers = (uint32_t)g->num_readers++;
		at = g->ranges[i].hi;
	}
	return 0;
}

static int add_accesses(struct graph *g, const struct hazard_access *access, uint32_t count,
			uint32_t op)
{
	for (uint32_t i = 0; i < count; i++) {
		int64_t space = (int64_t)access[i].base +
				(access[i].base == NPU_BASE_VALUE ? access[i].binding : 0);
		int64_t lo = (space << SPACE_SHIFT) + access[i].lo;
		int64_t hi = (space << SPACE_SHIFT) + access[i].hi;

		if (split(g, lo) || split(g, hi) || follow(g, lo, hi, access[i].write, op))
			return -1;
	}
	/* Reads first: a write of the same bytes by the same instruction stands for both. */
	for (int write = 0; write < 2; write++)
		for (uint32_t i = 0; i < count; i++) {
			int64_t space = (int64_t)access[i].base +
					(access[i].base == NPU_BASE_VALUE ? access[i].binding : 0);
			int64_t lo = (space << SPACE_SHIFT) + access[i].lo;
			int64_t hi = (space << SPACE_SHIFT) + access[i].hi;

			if (access[i].write == (bool)write &&
			    (write ? note_write(g, lo, hi, op) : note_read(g, lo, hi, op)))
				return -1;
		}
	return 0;
}

static void graph_free(struct graph *g)
{
	wnn_free(g->ranges);
	wnn_free(g->readers);
	wnn_free(g->edges);
	wnn_free(g->seen);
}

/* ---- the simulation */

/* LD and ST are one kind: a transfer can be given to either. */
enum kind { KIND_DMA, KIND_MXU, KIND_VPU, KINDS };

static enum kind kind_of(uint8_t engine)
{
	return engine == ONPU_ENG_MXU ? KIND_MXU : engine == ONPU_ENG_VPU ? KIND_VPU : KIND_DMA;
}

/* A heap of instructions, least key first. */
struct heap {
	uint32_t *op;
	size_t count;
};

struct simulation {
	const struct plan_op *ops; /* of the segment */
	uint32_t count;
	const struct graph *graph;
	uint32_t *first, *next; /* edges by `from`: the first, and that behind each */
	uint32_t *missing;	/* by instruction: how many it still waits for */
	uint64_t *key;		/* urgency, and later when it ends */
	struct heap ready[KINDS];
	uint32_t *memory;
	uint32_t running[ONPU_ENG_COUNT]; /* or NONE */
	uint64_t end[ONPU_ENG_COUNT];
	struct plan_op *out;
	uint32_t done;
};

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
 * How urgent each instruction is: the number, in the order of emission, of the first one of the busiest
 * kind that depends on it; of those on which none does, all are behind.
 */
static void set_keys(struct simulation *sim)
{
	uint64_t busy[KINDS] = { 0 };
	enum kind busiest = KIND_DMA;

	for (uint32_t i = 0; i < sim->count; i++)
		busy[kind_of(sim->ops[i].engine)] += sim->ops[i].cost;
	busy[KIND_DMA] /= 2;
	for (int k = 0; k < KINDS; k++)
		if (busy[k] > busy[busiest])
			busiest = (enum kind)k;
	for (uint32_t i = sim->count; i-- > 0;) {
		uint64_t key = sim->count;

		for (uint32_t e = sim->first[i]; e != NONE; e = sim->next[e]) {
			uint32_t to = sim->graph->edges[e].to;

			if (sim->key[to] >> 32 < key)
				key = sim->key[to] >> 32;
		}
		if (kind_of(sim->ops[i].engine) == busiest)
			key = i;
		sim->key[i] = key << 32 | i;
	}
}

static void start(struct simulation *sim, uint8_t engine, uint64_t now)
{
	struct heap *heap = &sim->ready[kind_of(engine)];
	struct plan_op *out;
	uint32_t op;

	if (sim->running[engine] != NONE || !heap->count)
		return;
	op = pop(sim, heap);
	sim->running[engine] = op;
	sim->end[engine] = now + sim->ops[op].cost;
	out = &sim->out[sim->done++];
	*out = sim->ops[op];
	out->engine = engine;
	out->on_st = engine == ONPU_ENG_ST;
	out->start = now;
}

static void finish(struct simulation *sim, uint8_t engine)
{
	uint32_t op = sim->running[engine];

	sim->running[engine] = NONE;
	for (uint32_t e = sim->first[op]; e != NONE; e = sim->next[e]) {
		uint32_t to = sim->graph->edges[e].to;

		if (!--sim->missing[to])
			push(sim, &sim->ready[kind_of(sim->ops[to].engine)], to);
	}
}

static const uint8_t engines[] = { ONPU_ENG_LD, ONPU_ENG_ST, ONPU_ENG_MXU, ONPU_ENG_VPU };

/* Returns when all is done. */
static uint64_t simulate(struct simulation *sim)
{
	uint64_t now = 0;

	for (size_t e = 0; e < ARRAY_SIZE(engines); e++)
		sim->running[engines[e]] = NONE;
	for (uint32_t i = 0; i < sim->count; i++)
		if (!sim->missing[i])
			push(sim, &sim->ready[kind_of(sim->ops[i].engine)], i);
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

/* ---- segments */

static bool prepare(struct simulation *sim)
{
	const struct graph *g = sim->graph;
	uint32_t *memory;

	sim->memory = memory =
		wnn_malloc((5 * (size_t)sim->count + g->num_edges + 1) * sizeof(*memory));
	sim->key = wnn_malloc(((size_t)sim->count + 1) * sizeof(*sim->key));
	if (!memory || !sim->key)
		return false;
	sim->first = memory;
	sim->missing = memory + sim->count;
	for (int k = 0; k < KINDS; k++)
		sim->ready[k].op = memory + (2 + k) * (size_t)sim->count;
	sim->next = memory + 5 * (size_t)sim->count;
	for (uint32_t i = 0; i < sim->count; i++) {
		sim->first[i] = NONE;
		sim->missing[i] = 0;
	}
	for (size_t e = g->num_edges; e-- > 0;) {
		sim->next[e] = sim->first[g->edges[e].from];
		sim->first[g->edges[e].from] = (uint32_t)e;
		sim->missing[g->edges[e].to]++;
	}
	set_keys(sim);
	return true;
}

/* When the instructions as they are end, counted from the first one. */
static uint64_t length_of(const struct plan_op *ops, uint32_t count)
{
	uint64_t begin = UINT64_MAX, end = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (ops[i].start < begin)
			begin = ops[i].start;
		if (ops[i].start + ops[i].cost > end)
			end = ops[i].start + ops[i].cost;
	}
	return end - begin;
}

/* Orders instructions [begin, end) anew unless that takes longer; adds how long they take. -1: no memory. */
static int order_segment(struct plan *plan, size_t begin, size_t end, uint64_t *cycles)
{
	struct plan_op *ops = plan->list.ops + begin;
	struct graph graph = { .ranges = NULL };
	struct simulation sim = { .ops = ops, .count = (uint32_t)(end - begin), .graph = &graph };
	uint64_t before = sim.count ? length_of(ops, sim.count) : 0, after = before;
	int ret = 0;

	if (sim.count < 3) {
		*cycles += before;
		return 0;
	}
	graph.seen = wnn_malloc((size_t)sim.count * sizeof(*graph.seen));
	sim.out = wnn_malloc((size_t)sim.count * sizeof(*sim.out));
	if (!graph.seen || !sim.out)
		ret = -1;
	for (uint32_t i = 0; !ret && i < sim.count; i++)
		graph.seen[i] = NONE;
	for (uint32_t i = 0; !ret && i < sim.count; i++) {
		struct hazard_access access[PLAN_MAX_ACCESSES];

		ret = add_accesses(&graph, access, plan_accesses(plan, &ops[i], access), i);
	}
	if (!ret && !prepare(&sim))
		ret = -1;
	if (!ret)
		after = simulate(&sim);
	if (after < before)
		memcpy(ops, sim.out, (size_t)sim.count * sizeof(*ops));
	*cycles += after < before ? after : before;
	graph_free(&graph);
	wnn_free(sim.memory);
	wnn_free(sim.key);
	wnn_free(sim.out);
	return ret;
}

/* Waits and signals for the order as it is now. */
static int wait_anew(struct plan *plan)
{
	struct plan_hazards *hazards = hazards_create();
	int ret = hazards ? 0 : -1;

	for (size_t i = 0; i < plan->list.num_ops && !ret; i++) {
		struct hazard_access access[PLAN_MAX_ACCESSES];
		struct plan_op *op = &plan->list.ops[i];
		size_t after[ONPU_ENG_COUNT];

		op->waits = op->signals = 0;
		if (op->op == ONPU_OP_PREEMPT) {
			hazards_forget(hazards);
			continue;
		}
		ret = hazards_add(hazards, op->engine, i, access, plan_accesses(plan, op, access),
				  &op->waits, after);
		for (int e = 0; !ret && e < ONPU_ENG_COUNT; e++)
			if (op->waits & 1u << e)
				plan->list.ops[after[e]].signals |= (uint8_t)(1u << op->engine);
	}
	hazards_destroy(hazards);
	return ret;
}

uint64_t plan_schedule(struct plan *plan)
{
	size_t begin = 0, bytes = plan->list.num_ops * sizeof(*plan->list.ops);
	uint64_t cycles = 0;
	int ret = 0;

	plan->list.emitted = wnn_malloc(bytes + 1);
	if (!plan->list.emitted) {
		plan_nomem(plan);
		return 0;
	}
	if (bytes)
		memcpy(plan->list.emitted, plan->list.ops, bytes);
	for (size_t i = 0; i <= plan->list.num_ops && !ret; i++)
		if (i == plan->list.num_ops || plan->list.ops[i].op == ONPU_OP_PREEMPT) {
			ret = order_segment(plan, begin, i, &cycles);
			begin = i + 1;
		}
	if (ret || wait_anew(plan))
		plan_nomem(plan);
	return cycles;
}

void plan_unschedule(struct plan *plan)
{
	memcpy(plan->list.ops, plan->list.emitted, plan->list.num_ops * sizeof(*plan->list.ops));
}
