// SPDX-License-Identifier: MIT
/*
 * The bytes of memory and SRAM as disjoint ranges, each with who wrote it last and who has read it since:
 * an instruction follows the writers of what it reads, and the writers and readers of what it writes.
 */
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

struct plan_depend {
	struct depend_edge *edges;
	size_t num_edges, cap_edges;
	struct range *ranges; /* sorted, disjoint */
	size_t num_ranges, cap_ranges;
	struct reader *readers;
	size_t num_readers, cap_readers;
	uint32_t *last; /* by instruction: the last edge from it */
	size_t num_last, cap_last;
};

struct plan_depend *depend_create(void)
{
	return wnn_calloc(1, sizeof(struct plan_depend));
}

void depend_destroy(struct plan_depend *depend)
{
	if (!depend)
		return;
	wnn_free(depend->edges);
	wnn_free(depend->ranges);
	wnn_free(depend->readers);
	wnn_free(depend->last);
	wnn_free(depend);
}

void depend_forget(struct plan_depend *depend)
{
	depend->num_ranges = depend->num_readers = 0;
}

void depend_reset(struct plan_depend *depend)
{
	depend_forget(depend);
	depend->num_edges = depend->num_last = 0;
}

const struct depend_edge *depend_edges(const struct plan_depend *depend, size_t *count)
{
	*count = depend->num_edges;
	return depend->edges;
}

static inline int add_edge(struct plan_depend *g, uint32_t from, uint32_t to, bool data)
{
	uint32_t e;

	if (from == NONE)
		return 0;
	e = g->last[from];
	if (e != NONE && g->edges[e].to == to) {
		g->edges[e].data |= data;
		return 0;
	}
	if (wnn_array_reserve(&g->edges, &g->cap_edges, g->num_edges + 1, sizeof(*g->edges)))
		return -1;
	g->last[from] = (uint32_t)g->num_edges;
	g->edges[g->num_edges++] = (struct depend_edge){ from, to, data };
	return 0;
}

/* The first range that ends above `at`; `guess` is looked at first. */
static size_t find(const struct plan_depend *g, int64_t at, size_t guess)
{
	size_t lo = 0, hi = g->num_ranges;

	if (guess < hi && g->ranges[guess].hi > at && (!guess || g->ranges[guess - 1].hi <= at))
		return guess;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (g->ranges[mid].hi <= at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static int insert(struct plan_depend *g, size_t at, struct range range)
{
	if (wnn_array_reserve(&g->ranges, &g->cap_ranges, g->num_ranges + 1, sizeof(*g->ranges)))
		return -1;
	memmove(g->ranges + at + 1, g->ranges + at, (g->num_ranges - at) * sizeof(range));
	g->ranges[at] = range;
	g->num_ranges++;
	return 0;
}

/* Makes `at`, which lies inside of a range, a border. */
static int split(struct plan_depend *g, size_t i, int64_t at)
{
	struct range upper = g->ranges[i];

	upper.lo = at;
	g->ranges[i].hi = at;
	return insert(g, i + 1, upper);
}

/* What the instruction follows; *first is the first range at or behind `lo`, and lo and hi are borders afterwards. */
static int follow(struct plan_depend *g, int64_t lo, int64_t hi, bool write, uint32_t op,
		  size_t *first)
{
	size_t i = find(g, lo, SIZE_MAX);

	if (i < g->num_ranges && g->ranges[i].lo < lo && split(g, i++, lo))
		return -1;
	*first = i;
	for (; i < g->num_ranges && g->ranges[i].lo < hi; i++) {
		if (g->ranges[i].hi > hi && split(g, i, hi))
			return -1;
		if (add_edge(g, g->ranges[i].writer, op, !write))
			return -1;
		for (uint32_t r = g->ranges[i].readers; write && r != NONE; r = g->readers[r].next)
			if (add_edge(g, g->readers[r].op, op, false))
				return -1;
	}
	return 0;
}

static int note_write(struct plan_depend *g, int64_t lo, int64_t hi, uint32_t op, size_t guess)
{
	struct range fresh = { lo, hi, op, NONE };
	size_t first = find(g, lo, guess), last = first;

	while (last < g->num_ranges && g->ranges[last].lo < hi)
		last++;
	if (last == first)
		return insert(g, first, fresh);
	g->ranges[first] = fresh;
	if (last > first + 1)
		memmove(g->ranges + first + 1, g->ranges + last,
			(g->num_ranges - last) * sizeof(fresh));
	g->num_ranges -= last - first - 1;
	return 0;
}

static int note_read(struct plan_depend *g, int64_t lo, int64_t hi, uint32_t op, size_t guess)
{
	int64_t at = lo;

	for (size_t i = find(g, lo, guess); at < hi; i++) {
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

/* Numbers up to that of the instruction have no edge yet. */
static int add_number(struct plan_depend *g, uint32_t op)
{
	if (wnn_array_reserve(&g->last, &g->cap_last, (size_t)op + 1, sizeof(*g->last)))
		return -1;
	while (g->num_last <= op)
		g->last[g->num_last++] = NONE;
	return 0;
}

int depend_add(struct plan_depend *g, const struct hazard_access *access, uint32_t count,
	       uint32_t op)
{
	size_t first[PLAN_MAX_ACCESSES];

	if (add_number(g, op))
		return -1;
	for (uint32_t i = 0; i < count; i++) {
		int64_t key = hazard_key(&access[i]);

		if (follow(g, key + access[i].lo, key + access[i].hi, access[i].write, op,
			   &first[i]))
			return -1;
	}
	/* Reads first: a write of the same bytes by the same instruction stands for both. */
	for (int write = 0; write < 2; write++)
		for (uint32_t i = 0; i < count; i++) {
			int64_t key = hazard_key(&access[i]);
			int64_t lo = key + access[i].lo, hi = key + access[i].hi;

			if (access[i].write == (bool)write &&
			    (write ? note_write(g, lo, hi, op, first[i]) :
				     note_read(g, lo, hi, op, first[i])))
				return -1;
		}
	return 0;
}
