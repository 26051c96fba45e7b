// SPDX-License-Identifier: MIT
/*
 * The bytes of memory and SRAM as disjoint ranges, each with who wrote it last and who has read it since:
 * an instruction follows the writers of what it reads, and the writers and readers of what it writes.
 */
#include "plan/list/hazards.h"
#include "plan/list/depend.h"

#include <string.h>

#include "util/array.h"
#include "util/malloc.h"

#define NONE UINT32_MAX
/* Who read some bytes since they were written; lists share their ends. */
struct reader {
	uint32_t op, next;
};

struct range {
	int64_t lo, hi;
	uint32_t writer, readers;
};

struct finder {
	struct depend_graph *out;
	size_t cap_edges;
	struct range *ranges; /* sorted, disjoint */
	size_t num_ranges, cap_ranges;
	struct reader *readers;
	size_t num_readers, cap_readers;
	uint32_t *seen; /* by instruction: the last one that has an edge from it */
};

static int add_edge(struct finder *g, uint32_t from, uint32_t to, bool data)
{
	if (from == NONE || from == to)
		return 0;
	if (g->seen[from] == to) {
		size_t e = g->out->num_edges;

		while (data && g->out->edges[--e].from != from)
			;
		if (data)
			g->out->edges[e].data = true;
		return 0;
	}
	if (wnn_array_reserve(&g->out->edges, &g->cap_edges, g->out->num_edges + 1,
			      sizeof(*g->out->edges)))
		return -1;
	g->seen[from] = to;
	g->out->edges[g->out->num_edges++] = (struct depend_edge){ from, to, data };
	return 0;
}

static size_t find(const struct finder *g, int64_t at)
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

static int insert(struct finder *g, size_t at, struct range range)
{
	if (wnn_array_reserve(&g->ranges, &g->cap_ranges, g->num_ranges + 1, sizeof(*g->ranges)))
		return -1;
	memmove(g->ranges + at + 1, g->ranges + at, (g->num_ranges - at) * sizeof(range));
	g->ranges[at] = range;
	g->num_ranges++;
	return 0;
}

/* Makes `at` a border between ranges. */
static int split(struct finder *g, int64_t at)
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

static int follow(struct finder *g, int64_t lo, int64_t hi, bool write, uint32_t op)
{
	for (size_t i = find(g, lo); i < g->num_ranges && g->ranges[i].lo < hi; i++) {
		if (add_edge(g, g->ranges[i].writer, op, !write))
			return -1;
		for (uint32_t r = g->ranges[i].readers; write && r != NONE; r = g->readers[r].next)
			if (add_edge(g, g->readers[r].op, op, false))
				return -1;
	}
	return 0;
}

static int note_write(struct finder *g, int64_t lo, int64_t hi, uint32_t op)
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

static int note_read(struct finder *g, int64_t lo, int64_t hi, uint32_t op)
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

static int add_accesses(struct finder *g, const struct hazard_access *access, uint32_t count,
			uint32_t op)
{
	for (uint32_t i = 0; i < count; i++) {
		int64_t key = hazard_key(&access[i]);
		int64_t lo = key + access[i].lo, hi = key + access[i].hi;

		if (split(g, lo) || split(g, hi) || follow(g, lo, hi, access[i].write, op))
			return -1;
	}
	/* Reads first: a write of the same bytes by the same instruction stands for both. */
	for (int write = 0; write < 2; write++)
		for (uint32_t i = 0; i < count; i++) {
			int64_t key = hazard_key(&access[i]);
			int64_t lo = key + access[i].lo, hi = key + access[i].hi;

			if (access[i].write == (bool)write &&
			    (write ? note_write(g, lo, hi, op) : note_read(g, lo, hi, op)))
				return -1;
		}
	return 0;
}

int depend_find(const struct plan *plan, const struct plan_op *ops, uint32_t count,
		struct depend_graph *graph)
{
	struct finder finder = { .out = graph };
	int ret = 0;

	finder.seen = wnn_malloc(((size_t)count + 1) * sizeof(*finder.seen));
	if (!finder.seen)
		return -1;
	for (uint32_t i = 0; i < count; i++)
		finder.seen[i] = NONE;
	for (uint32_t i = 0; i < count && !ret; i++) {
		struct hazard_access access[PLAN_MAX_ACCESSES];

		ret = add_accesses(&finder, access, plan_accesses(plan, &ops[i], access), i);
	}
	wnn_free(finder.ranges);
	wnn_free(finder.readers);
	wnn_free(finder.seen);
	return ret;
}

void depend_release(struct depend_graph *graph)
{
	wnn_free(graph->edges);
	memset(graph, 0, sizeof(*graph));
}
