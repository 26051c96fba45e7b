// SPDX-License-Identifier: MIT
/*
 * Finds the instructions that each instruction must follow. The bytes of memory and SRAM are kept
 * as ranges, each with the instruction that wrote it last and the instructions that have read it
 * since. An instruction follows the writers of the bytes that it reads, and the writers and readers
 * of the bytes that it writes.
 */
#include "plan/list/depend.h"

#include <string.h>

#include "util/array.h"
#include "util/malloc.h"

#define NONE UINT32_MAX

/* An instruction that has read a range since it was written; lists share their tails. */
struct reader {
	uint32_t op, next;
};

struct range {
	uint32_t writer, readers;
};

struct plan_depend {
	struct depend_edge *edges; /* in the order of the instructions that follow */
	size_t num_edges, cap_edges;
	uint32_t *first; /* by instruction: its first edge */
	uint32_t *last;	 /* by instruction: the last edge from it */
	size_t num_ops, cap_first, cap_last;
	/*
	 * The begin of each range: INT64_MIN for the first one, and INT64_MAX after the last. It
	 * is an array of its own, because it is searched.
	 */
	int64_t *begin;
	struct range *ranges;
	size_t num_ranges, cap_begin, cap_ranges;
	struct reader *readers;
	size_t num_readers, cap_readers;
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
	wnn_free(depend->first);
	wnn_free(depend->last);
	wnn_free(depend->begin);
	wnn_free(depend->ranges);
	wnn_free(depend->readers);
	wnn_free(depend);
}

void depend_forget(struct plan_depend *depend)
{
	depend->num_ranges = depend->num_readers = 0;
}

void depend_reset(struct plan_depend *depend)
{
	depend_forget(depend);
	depend->num_edges = depend->num_ops = 0;
}

const struct depend_edge *depend_edges(const struct plan_depend *depend, size_t op, size_t *count)
{
	size_t first, end;

	*count = 0;
	if (op >= depend->num_ops)
		return NULL;
	first = depend->first[op];
	end = op + 1 < depend->num_ops ? depend->first[op + 1] : depend->num_edges;
	*count = end - first;
	return *count ? depend->edges + first : NULL;
}

/* Returns true if instruction `op`, which is being added, has an edge from `from` already. */
static inline bool follows(const struct plan_depend *g, uint32_t op, uint32_t from)
{
	return g->last[from] != NONE && g->last[from] >= g->first[op];
}

/*
 * Adds the edge by which `op` follows `from`, unless `from` is NONE or `op` itself. Returns 0, or
 * -1: no memory.
 */
static inline int add_edge(struct plan_depend *g, uint32_t from, uint32_t op, bool data)
{
	if (from >= op)
		return 0;
	if (follows(g, op, from)) {
		g->edges[g->last[from]].data |= data;
		return 0;
	}
	if (wnn_array_reserve(&g->edges, &g->cap_edges, g->num_edges + 1, sizeof(*g->edges)))
		return -1;
	g->last[from] = (uint32_t)g->num_edges;
	g->edges[g->num_edges++] = (struct depend_edge){ from, data };
	return 0;
}

/*
 * Returns the range in which `at` lies. The search has no branch on the comparison, as processors
 * could not predict it.
 */
static inline size_t find(const struct plan_depend *g, int64_t at)
{
	size_t i = 0;

	for (size_t num = g->num_ranges; num > 1;) {
		size_t half = num / 2;

		i = g->begin[i + half] <= at ? i + half : i;
		num -= half;
	}
	return i;
}

/* Splits range i at `at`, which lies in it. The arrays have room for one more range. */
static void split(struct plan_depend *g, size_t i, int64_t at)
{
	size_t behind = g->num_ranges++ - i;

	memmove(g->begin + i + 2, g->begin + i + 1, behind * sizeof(*g->begin));
	memmove(g->ranges + i + 1, g->ranges + i, behind * sizeof(*g->ranges));
	g->begin[i + 1] = at;
}

/* Returns the range that begins at `at`, after splitting the one in which `at` lies. */
static inline size_t border(struct plan_depend *g, int64_t at)
{
	size_t i = find(g, at);

	if (g->begin[i] != at)
		split(g, i++, at);
	return i;
}

/* Makes `op` follow the writers of bytes [lo, hi), and adds it to their readers. -1: no memory. */
static int note_read(struct plan_depend *g, int64_t lo, int64_t hi, uint32_t op)
{
	for (size_t i = border(g, lo); g->begin[i] < hi; i++) {
		if (g->begin[i + 1] > hi)
			split(g, i, hi);
		if (add_edge(g, g->ranges[i].writer, op, true) ||
		    wnn_array_reserve(&g->readers, &g->cap_readers, g->num_readers + 1,
				      sizeof(*g->readers)))
			return -1;
		g->readers[g->num_readers] = (struct reader){ op, g->ranges[i].readers };
		g->ranges[i].readers = (uint32_t)g->num_readers++;
	}
	return 0;
}

/*
 * Makes `op` follow the writers and readers of bytes [lo, hi), which become one range with `op` as
 * its writer. -1: no memory.
 */
static int note_write(struct plan_depend *g, int64_t lo, int64_t hi, uint32_t op)
{
	size_t first = border(g, lo), i = first;

	for (; g->begin[i] < hi; i++) {
		if (g->begin[i + 1] > hi)
			split(g, i, hi);
		/* Readers of a range follow its writer: `op` then needs no edge to the writer. */
		if (g->ranges[i].readers == NONE && add_edge(g, g->ranges[i].writer, op, false))
			return -1;
		for (uint32_t r = g->ranges[i].readers; r != NONE; r = g->readers[r].next)
			if (add_edge(g, g->readers[r].op, op, false))
				return -1;
	}
	g->ranges[first] = (struct range){ op, NONE };
	if (i - first > 1) {
		size_t behind = g->num_ranges - i;

		memmove(g->begin + first + 1, g->begin + i, (behind + 1) * sizeof(*g->begin));
		memmove(g->ranges + first + 1, g->ranges + i, behind * sizeof(*g->ranges));
		g->num_ranges -= i - first - 1;
	}
	return 0;
}

/*
 * Prepares the arrays for instruction `op`: gives it, and numbers left out before it, an empty list
 * of edges, and makes room for the ranges that it can add. -1: no memory.
 */
static int prepare(struct plan_depend *g, uint32_t op)
{
	size_t most = g->num_ranges + 2 * PLAN_MAX_ACCESSES + 2;

	if (wnn_array_reserve(&g->first, &g->cap_first, (size_t)op + 1, sizeof(*g->first)) ||
	    wnn_array_reserve(&g->last, &g->cap_last, (size_t)op + 1, sizeof(*g->last)) ||
	    wnn_array_reserve(&g->begin, &g->cap_begin, most, sizeof(*g->begin)) ||
	    wnn_array_reserve(&g->ranges, &g->cap_ranges, most, sizeof(*g->ranges)))
		return -1;
	for (; g->num_ops <= op; g->num_ops++) {
		g->first[g->num_ops] = (uint32_t)g->num_edges;
		g->last[g->num_ops] = NONE;
	}
	if (!g->num_ranges) {
		g->begin[0] = INT64_MIN;
		g->begin[1] = INT64_MAX;
		g->ranges[g->num_ranges++] = (struct range){ NONE, NONE };
	}
	return 0;
}

int depend_add(struct plan_depend *g, const struct hazard_access *access, uint32_t count,
	       uint32_t op)
{
	if (prepare(g, op))
		return -1;
	/* Notes reads first: a write by this instruction replaces the readers of its bytes. */
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
