// SPDX-License-Identifier: MIT
/*
 * Finds the instructions that each instruction must follow. The bytes of memory and SRAM are kept
 * as ranges, each with the instruction that wrote all of it last, and the instructions that have
 * read it, or touched columns of it, since. Columns are the bytes that a strided access touches, so
 * that tiles of different channels of one image do not follow each other. An instruction follows
 * the writers of the bytes that it reads, and the writers and readers of the bytes that it writes.
 */
#include "plan/list/depend.h"

#include <string.h>

#include "util/array.h"
#include "util/malloc.h"

#define NONE UINT32_MAX

/*
 * The most accesses to columns that a range remembers, which bounds the time that an access takes.
 * A range with so many forgets those whose columns later writes cover; when more than half are
 * left, the next write of columns counts as a write of all bytes.
 */
#define MOST_COLUMNS 64

/* An instruction that has read a range since it was written; lists share their tails. */
struct reader {
	uint32_t op, next;
};

/* The columns that an access touches: bytes whose address is in [at, at + run) modulo pitch. */
struct columns {
	int64_t pitch, at, run;
};

/* An instruction that has read or written columns of a range; lists share their tails. */
struct part {
	struct columns columns;
	uint32_t op, next;
	bool write;
};

/* `parts` are accesses to columns since the last write of all bytes; `num` is their number. */
struct range {
	uint32_t writer, readers, parts, num;
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
	struct part *parts;
	size_t num_parts, cap_parts;
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
	wnn_free(depend->parts);
	wnn_free(depend);
}

void depend_forget(struct plan_depend *depend)
{
	depend->num_ranges = depend->num_readers = depend->num_parts = 0;
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
	size_t following = g->num_ranges++ - i;

	memmove(g->begin + i + 2, g->begin + i + 1, following * sizeof(*g->begin));
	memmove(g->ranges + i + 1, g->ranges + i, following * sizeof(*g->ranges));
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

/* ---- accesses to columns */

/* Returns the columns of an access whose bytes begin at `lo`; pitch 0: it touches all bytes. */
static struct columns columns_of(const struct hazard_access *access, int64_t lo)
{
	struct columns columns = { access->pitch, 0, access->run };

	if (columns.pitch)
		columns.at = lo % columns.pitch;
	return columns;
}

/*
 * Returns true if two accesses to columns with one pitch have no byte in common, wherever they
 * begin and end; false also when the pitches differ.
 */
static bool are_apart(const struct columns *a, const struct columns *b)
{
	int64_t distance = (b->at - a->at + a->pitch) % a->pitch;

	return a->pitch == b->pitch && distance >= a->run && distance + b->run <= a->pitch;
}

/*
 * Clips *columns to range i, which may be shorter than a row of them; false: none is in the range.
 */
static bool clip(const struct plan_depend *g, size_t i, struct columns *columns)
{
	int64_t begin = g->begin[i], bytes = g->begin[i + 1] - begin, distance, pitch;

	if (!columns->pitch || bytes >= columns->pitch)
		return true;
	pitch = columns->pitch;
	begin %= pitch;
	distance = (columns->at - begin + pitch) % pitch;
	/* Columns that are at both ends of the range stay as they are. */
	if (distance + columns->run > pitch)
		return true;
	if (distance >= bytes)
		return false;
	if (columns->run > bytes - distance)
		columns->run = bytes - distance;
	return true;
}

/*
 * Makes `op`, which reads or writes (@write) `columns` of the range, follow the earlier accesses to
 * bytes of these columns: as a write all of them, as a read only the writes. Returns 0, or -1 when
 * out of memory.
 */
static int follow_parts(struct plan_depend *g, const struct range *range,
			const struct columns *columns, uint32_t op, bool write)
{
	for (uint32_t p = range->parts; p != NONE; p = g->parts[p].next) {
		const struct part *part = &g->parts[p];

		if (!write && !part->write)
			continue;
		if (columns->pitch && are_apart(columns, &part->columns))
			continue;
		if (add_edge(g, part->op, op, !write))
			return -1;
	}
	return 0;
}

static int add_part(struct plan_depend *g, struct range *range, const struct columns *columns,
		    uint32_t op, bool write)
{
	if (wnn_array_reserve(&g->parts, &g->cap_parts, g->num_parts + 1, sizeof(*g->parts)))
		return -1;
	g->parts[g->num_parts] = (struct part){ *columns, op, range->parts, write };
	range->parts = (uint32_t)g->num_parts++;
	range->num++;
	return 0;
}

/*
 * Returns true if the writes among `count` accesses of a list cover `columns`, which may be a whole
 * pitch.
 */
static bool are_covered(const struct plan_depend *g, uint32_t list, uint32_t count,
			const struct columns *columns)
{
	int64_t at = columns->at, end = columns->at + columns->run, before;

	do {
		before = at;
		for (uint32_t p = list, i = 0; i < count; p = g->parts[p].next, i++) {
			const struct columns *c = &g->parts[p].columns;
			int64_t distance;

			if (!g->parts[p].write || c->pitch != columns->pitch)
				continue;
			distance = ((at - c->at) % c->pitch + c->pitch) % c->pitch;
			if (distance < c->run)
				at += c->run - distance;
		}
	} while (at > before && at < end);
	return at >= end;
}

/*
 * Forgets the accesses to range i whose columns later writes cover: an instruction that follows
 * these writes follows the accesses, too. Returns 0, or -1: no memory.
 */
static int forget_covered(struct plan_depend *g, size_t i)
{
	int64_t bytes = g->begin[i + 1] - g->begin[i];
	struct range *range = &g->ranges[i];
	uint32_t count = 0;
	size_t first = g->num_parts;
	bool all = false;

	if (wnn_array_reserve(&g->parts, &g->cap_parts, g->num_parts + MOST_COLUMNS,
			      sizeof(*g->parts)))
		return -1;
	for (uint32_t p = range->parts; p != NONE && !all; p = g->parts[p].next) {
		int64_t pitch = g->parts[p].columns.pitch;
		struct columns whole = { pitch, 0, pitch };

		if (bytes < pitch)
			whole = (struct columns){ pitch, g->begin[i] % pitch, bytes };
		if (count && are_covered(g, (uint32_t)first, count, &g->parts[p].columns))
			continue;
		count++;
		/* The list that is kept lies at the end of the array, newest first. */
		g->parts[g->num_parts] = g->parts[p];
		g->parts[g->num_parts].next = (uint32_t)g->num_parts + 1;
		g->num_parts++;
		all = g->parts[p].write && are_covered(g, (uint32_t)first, count, &whole);
	}
	if (count)
		g->parts[g->num_parts - 1].next = NONE;
	range->parts = count ? (uint32_t)first : NONE;
	range->num = count;
	if (all) {
		uint32_t oldest = g->parts[g->num_parts - 1].op, reader = range->readers;

		range->writer = NONE;
		/*
		 * Forgets the readers if the last of them is before the oldest write that is kept:
		 * that write follows all of them.
		 */
		if (reader != NONE && g->readers[reader].op <= oldest)
			range->readers = NONE;
	}
	return 0;
}

/*
 * Makes room for one more access to columns of range i. When more than half of the accesses are
 * still needed, range->num becomes larger than MOST_COLUMNS instead: the range is full until the
 * next write, and no access looks for room in vain. Returns 0, or -1 when out of memory.
 */
static int make_room(struct plan_depend *g, size_t i)
{
	struct range *range = &g->ranges[i];

	if (range->num != MOST_COLUMNS)
		return 0;
	if (forget_covered(g, i))
		return -1;
	if (range->num > MOST_COLUMNS / 2)
		range->num = MOST_COLUMNS + 1;
	return 0;
}

/* ---- reads and writes */

static int add_reader(struct plan_depend *g, struct range *range, uint32_t op)
{
	if (wnn_array_reserve(&g->readers, &g->cap_readers, g->num_readers + 1,
			      sizeof(*g->readers)))
		return -1;
	g->readers[g->num_readers] = (struct reader){ op, range->readers };
	range->readers = (uint32_t)g->num_readers++;
	return 0;
}

/*
 * Makes `op` follow the writers of columns of bytes [lo, hi), and adds it to their readers. Returns
 * 0, or -1 when out of memory.
 */
static int note_read(struct plan_depend *g, int64_t lo, int64_t hi, const struct columns *columns,
		     uint32_t op)
{
	for (size_t i = border(g, lo); g->begin[i] < hi; i++) {
		struct columns here = *columns;
		struct range *range;

		if (g->begin[i + 1] > hi)
			split(g, i, hi);
		range = &g->ranges[i];
		if (!clip(g, i, &here))
			continue;
		if (add_edge(g, range->writer, op, true) ||
		    follow_parts(g, range, &here, op, false) || make_room(g, i))
			return -1;
		if (here.pitch && range->num < MOST_COLUMNS ? add_part(g, range, &here, op, false) :
							      add_reader(g, range, op))
			return -1;
	}
	return 0;
}

/*
 * Makes `op`, which writes columns of a range, follow the accesses to these. Returns 0, or -1 when
 * out of memory.
 */
static int follow_range(struct plan_depend *g, const struct range *range,
			const struct columns *columns, uint32_t op)
{
	/* Readers of a range follow its writer: `op` then needs no edge to the writer. */
	if (range->readers == NONE && add_edge(g, range->writer, op, false))
		return -1;
	for (uint32_t r = range->readers; r != NONE; r = g->readers[r].next)
		if (add_edge(g, g->readers[r].op, op, false))
			return -1;
	return follow_parts(g, range, columns, op, true);
}

/*
 * Adds `op` to the accesses of each range of bytes [lo, hi), of which it writes columns. Returns 0,
 * or -1 when out of memory.
 */
static int note_columns(struct plan_depend *g, int64_t lo, int64_t hi,
			const struct columns *columns, uint32_t op)
{
	for (size_t i = border(g, lo); g->begin[i] < hi; i++) {
		struct columns here = *columns;
		struct range *range;

		if (g->begin[i + 1] > hi)
			split(g, i, hi);
		range = &g->ranges[i];
		if (!clip(g, i, &here))
			continue;
		if (make_room(g, i))
			return -1;
		if (range->num > MOST_COLUMNS) {
			static const struct columns all = { .pitch = 0 };

			/*
			 * The range is full: `op` counts as a write of all its bytes, so that later
			 * accesses follow only `op`. It also counts as a read of earlier writes, so
			 * that preemption points before `op` save their bytes.
			 */
			if (add_edge(g, range->writer, op, true) ||
			    follow_parts(g, range, &all, op, false) ||
			    follow_range(g, range, &all, op))
				return -1;
			*range = (struct range){ op, NONE, NONE, 0 };
		} else if (follow_range(g, range, &here, op) ||
			   add_part(g, range, &here, op, true)) {
			return -1;
		}
	}
	return 0;
}

/*
 * Makes `op` follow the writers and readers of bytes [lo, hi), which become one range with `op` as
 * its writer. Returns 0, or -1 when out of memory.
 */
static int note_write(struct plan_depend *g, int64_t lo, int64_t hi, uint32_t op)
{
	static const struct columns all = { .pitch = 0 };
	size_t first = border(g, lo), i = first;

	for (; g->begin[i] < hi; i++) {
		if (g->begin[i + 1] > hi)
			split(g, i, hi);
		if (follow_range(g, &g->ranges[i], &all, op))
			return -1;
	}
	g->ranges[first] = (struct range){ op, NONE, NONE, 0 };
	if (i - first > 1) {
		size_t following = g->num_ranges - i;

		memmove(g->begin + first + 1, g->begin + i, (following + 1) * sizeof(*g->begin));
		memmove(g->ranges + first + 1, g->ranges + i, following * sizeof(*g->ranges));
		g->num_ranges -= i - first - 1;
	}
	return 0;
}

/*
 * Prepares the arrays for instruction `op`: gives it, and numbers left out before it, an empty list
 * of edges, and makes room for the ranges that it can add. Returns 0, or -1 when out of memory.
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
		g->ranges[g->num_ranges++] = (struct range){ NONE, NONE, NONE, 0 };
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
			struct columns columns = columns_of(&access[i], lo);

			if (access[i].write != (bool)write)
				continue;
			if (!write	  ? note_read(g, lo, hi, &columns, op) :
			    columns.pitch ? note_columns(g, lo, hi, &columns, op) :
					    note_write(g, lo, hi, op))
				return -1;
		}
	return 0;
}
