// SPDX-License-Identifier: MIT
/*
 * Finds the instructions that each instruction must follow. The bytes of memory and SRAM are kept
 * as ranges, each with the instruction that wrote all of it last, and those that have read it
 * since. Columns are the bytes that a strided access touches, so that tiles of different channels
 * of one image do not follow each other: a range has a list of segments of columns, each with its
 * last writer and its readers. An instruction follows the writers of the bytes that it reads, and
 * the writers and readers of the bytes that it writes.
 */
#include "plan/list/depend.h"

#include <string.h>

#include "util/array.h"
#include "util/malloc.h"

#define NONE UINT32_MAX

/*
 * When a range has more segments than this, further accesses to its columns count as accesses to
 * all of its bytes, which bounds the time that an access takes.
 */
#define MOST_SEGMENTS 96

/* An instruction that has read bytes since they were written; lists share their tails. */
struct reader {
	uint32_t op, next;
};

/* The columns that an access touches: bytes whose address is in [at, at + run) modulo pitch. */
struct columns {
	int64_t pitch, at, run;
};

/*
 * Columns [at, end) of rows of `pitch` bytes that all accesses since the last write of the whole
 * range have touched alike. The writer is NONE when they were only read.
 */
struct segment {
	int64_t pitch, at, end;
	uint32_t writer, readers, next;
};

/* The segments are apart from each other, in the order of pitch and `at`; `num` is their number. */
struct range {
	uint32_t writer, readers, segments, num;
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
	struct segment *segments;
	size_t num_segments, cap_segments;
	uint32_t unused; /* the first of the segments that no range has */
};

struct plan_depend *depend_create(void)
{
	struct plan_depend *depend = wnn_calloc(1, sizeof(*depend));

	if (depend)
		depend->unused = NONE;
	return depend;
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
	wnn_free(depend->segments);
	wnn_free(depend);
}

void depend_forget(struct plan_depend *depend)
{
	depend->num_ranges = depend->num_readers = depend->num_segments = 0;
	depend->unused = NONE;
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
 * Returns the range in which `at` lies, or `i` if that is behind it. The search has no branch on
 * the comparison, as processors could not predict it.
 */
static inline size_t find_from(const struct plan_depend *g, size_t i, int64_t at)
{
	for (size_t num = g->num_ranges - i; num > 1;) {
		size_t half = num / 2;

		i = g->begin[i + half] <= at ? i + half : i;
		num -= half;
	}
	return i;
}

/* Returns the range in which `at` lies. */
static inline size_t find(const struct plan_depend *g, int64_t at)
{
	return find_from(g, 0, at);
}

/* ---- lists of segments */

/* Returns where the index of the segment behind `before` is; behind NONE: of the first one. */
static inline uint32_t *link_of(struct plan_depend *g, struct range *range, uint32_t before)
{
	return before == NONE ? &range->segments : &g->segments[before].next;
}

/* Inserts a segment behind `before`; returns its index, or NONE when out of memory. */
static uint32_t insert(struct plan_depend *g, struct range *range, uint32_t before,
		       struct segment segment)
{
	uint32_t s = g->unused, *link;

	if (s != NONE) {
		g->unused = g->segments[s].next;
	} else {
		if (wnn_array_reserve(&g->segments, &g->cap_segments, g->num_segments + 1,
				      sizeof(*g->segments)))
			return NONE;
		s = (uint32_t)g->num_segments++;
	}
	link = link_of(g, range, before);
	segment.next = *link;
	*link = s;
	range->num++;
	g->segments[s] = segment;
	return s;
}

/* Takes the segment behind `before` out of the list. */
static inline void drop(struct plan_depend *g, struct range *range, uint32_t before)
{
	uint32_t *link = link_of(g, range, before), s = *link;

	range->num--;
	*link = g->segments[s].next;
	g->segments[s].next = g->unused;
	g->unused = s;
}

/* Makes room for so many ranges. Returns 0, or -1: no memory. */
static int reserve_ranges(struct plan_depend *g, size_t count)
{
	/* begin[] has one element more. */
	return wnn_array_reserve(&g->begin, &g->cap_begin, count + 1, sizeof(*g->begin)) ||
			       wnn_array_reserve(&g->ranges, &g->cap_ranges, count,
						 sizeof(*g->ranges)) ?
		       -1 :
		       0;
}

/* Forgets the segments of which range i has no byte, as it may be shorter than a row of them. */
static void prune(struct plan_depend *g, size_t i)
{
	struct range *range = &g->ranges[i];
	uint32_t before = NONE;

	for (uint32_t s = range->segments; s != NONE; s = *link_of(g, range, before)) {
		int64_t begin = g->begin[i], bytes = g->begin[i + 1] - begin, distance = 0;
		const struct segment *segment = &g->segments[s];
		int64_t pitch = segment->pitch;

		if (bytes < pitch)
			distance = (segment->at + pitch - begin % pitch) % pitch;
		if (distance >= bytes && distance + segment->end - segment->at <= pitch)
			drop(g, range, before);
		else
			before = s;
	}
}

/* Splits range i at `at`, which lies in it. Returns 0, or -1: no memory. */
static int split(struct plan_depend *g, size_t i, int64_t at)
{
	size_t following = g->num_ranges - i;
	uint32_t last = NONE;
	struct range *range;

	if (reserve_ranges(g, g->num_ranges + 1))
		return -1;
	g->num_ranges++;
	range = &g->ranges[i + 1];
	memmove(g->begin + i + 2, g->begin + i + 1, following * sizeof(*g->begin));
	memmove(range, range - 1, following * sizeof(*range));
	g->begin[i + 1] = at;
	range->segments = NONE;
	range->num = 0;
	for (uint32_t s = range[-1].segments; s != NONE; s = g->segments[s].next) {
		last = insert(g, range, last, g->segments[s]);
		if (last == NONE)
			return -1;
	}
	prune(g, i);
	prune(g, i + 1);
	return 0;
}

/*
 * Sets *i to the range that begins at `at`, after splitting the one in which `at` lies. Returns 0,
 * or -1: no memory.
 */
static inline int border(struct plan_depend *g, int64_t at, size_t *i)
{
	*i = find(g, at);
	return g->begin[*i] == at ? 0 : split(g, (*i)++, at);
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
 * Returns true if an access to columns has no byte in common with a segment, wherever it begins and
 * ends; false also when the pitches differ.
 */
static inline bool are_apart(const struct columns *columns, const struct segment *segment)
{
	int64_t distance = segment->at - columns->at;

	if (columns->pitch != segment->pitch)
		return false;
	if (distance < 0)
		distance += columns->pitch;
	return distance >= columns->run && distance + segment->end - segment->at <= columns->pitch;
}

/*
 * Makes range i one that an access touches alike. A range of at least one row has all columns; a
 * shorter one is split where the columns begin or end. Sets *columns to the columns to touch,
 * which are all bytes of a shorter range and of one with too many segments, and *first to the
 * range's first byte of them, or to the first one behind a range that has none. Returns 0, or -1:
 * no memory.
 */
static int narrow(struct plan_depend *g, size_t i, struct columns *columns, int64_t *first)
{
	int64_t begin = g->begin[i], bytes = g->begin[i + 1] - begin, pitch = columns->pitch,
		border;
	int64_t distance, end;

	*first = begin;
	if (!pitch || bytes >= pitch) {
		if (g->ranges[i].num > MOST_SEGMENTS)
			*columns = (struct columns){ .pitch = 0 };
		return 0;
	}
	distance = (columns->at + pitch - begin % pitch) % pitch;
	end = distance + columns->run;
	*columns = (struct columns){ .pitch = 0 };
	/* The first bytes come before the columns, or end columns that begin before the range. */
	border = end > pitch ? end - pitch : distance ? distance : end;
	if (end <= pitch)
		*first += distance;
	return border < bytes ? split(g, i, begin + border) : 0;
}

/*
 * Returns the range behind range i that is the next one for an access to bytes up to `hi`, whose
 * first byte behind range i is `first`: the one of this byte, or else the last one before `hi`.
 */
static inline size_t skip(const struct plan_depend *g, size_t i, int64_t first, int64_t hi)
{
	return find_from(g, i + 1, first < hi ? first : hi - 1);
}

/* Adds `op` to a list of readers. Returns 0, or -1: no memory. */
static int add_reader(struct plan_depend *g, uint32_t *readers, uint32_t op)
{
	if (wnn_array_reserve(&g->readers, &g->cap_readers, g->num_readers + 1,
			      sizeof(*g->readers)))
		return -1;
	g->readers[g->num_readers] = (struct reader){ op, *readers };
	*readers = (uint32_t)g->num_readers++;
	return 0;
}

/* Makes `op` follow the instructions of a list of readers. Returns 0, or -1: no memory. */
static int follow_readers(struct plan_depend *g, uint32_t readers, uint32_t op)
{
	for (uint32_t r = readers; r != NONE; r = g->readers[r].next)
		if (add_edge(g, g->readers[r].op, op, false))
			return -1;
	return 0;
}

/*
 * Makes `op`, which reads or writes (@write) `columns` of the range, follow the earlier accesses to
 * bytes of these columns: as a write all of them, as a read only the writes. @data: bytes of these
 * writes are still needed. Returns 0, or -1 when out of memory.
 */
static int follow_columns(struct plan_depend *g, const struct range *range,
			  const struct columns *columns, uint32_t op, bool write, bool data)
{
	for (uint32_t s = range->segments; s != NONE; s = g->segments[s].next) {
		const struct segment *segment = &g->segments[s];

		if (columns->pitch && are_apart(columns, segment))
			continue;
		if (add_edge(g, segment->writer, op, data) ||
		    (write && follow_readers(g, segment->readers, op)))
			return -1;
	}
	return 0;
}

/*
 * Divides segment s at `at`, if it begins before and ends behind that. Returns 0, or -1: no memory.
 */
static int cut(struct plan_depend *g, struct range *range, uint32_t s, int64_t at)
{
	struct segment rest = g->segments[s];

	if (rest.at >= at || rest.end <= at)
		return 0;
	rest.at = g->segments[s].end = at;
	return insert(g, range, s, rest) == NONE ? -1 : 0;
}

/*
 * Forgets the segments with other pitches when the writes of columns with this pitch cover whole
 * rows, and each of them follows all accesses to these segments.
 */
static void forget_others(struct plan_depend *g, struct range *range, int64_t pitch)
{
	uint32_t oldest = NONE, before = NONE;
	int64_t at = 0;

	for (uint32_t s = range->segments; s != NONE; s = g->segments[s].next) {
		const struct segment *segment = &g->segments[s];

		if (segment->pitch != pitch)
			continue;
		if (segment->at != at || segment->writer == NONE)
			return;
		at = segment->end;
		if (segment->writer < oldest)
			oldest = segment->writer;
	}
	if (at != pitch)
		return;
	if (range->writer != NONE && range->writer < oldest)
		range->writer = NONE;
	if (range->readers != NONE && g->readers[range->readers].op < oldest)
		range->readers = NONE;
	for (uint32_t s = range->segments; s != NONE; s = *link_of(g, range, before)) {
		const struct segment *segment = &g->segments[s];

		if (segment->pitch == pitch ||
		    (segment->writer != NONE && segment->writer >= oldest) ||
		    (segment->readers != NONE && g->readers[segment->readers].op >= oldest))
			before = s;
		else
			drop(g, range, before);
	}
}

/*
 * Notes that `op` has read or written (@write) columns [at, end) of a range, which become one
 * segment by a write. Returns 0, or -1: no memory.
 */
static int touch(struct plan_depend *g, struct range *range, int64_t pitch, int64_t at, int64_t end,
		 uint32_t op, bool write)
{
	struct segment whole = { pitch, at, end, write ? op : NONE, NONE, NONE };
	uint32_t before = NONE, s = range->segments;

	while (s != NONE && (g->segments[s].pitch < pitch ||
			     (g->segments[s].pitch == pitch && g->segments[s].end <= at))) {
		before = s;
		s = g->segments[s].next;
	}
	if (s != NONE && g->segments[s].pitch == pitch && g->segments[s].at < at) {
		if (cut(g, range, s, at))
			return -1;
		before = s;
		s = g->segments[s].next;
	}
	for (; s != NONE && g->segments[s].pitch == pitch && g->segments[s].at < end;
	     s = *link_of(g, range, before)) {
		struct segment gap = { pitch, at, g->segments[s].at, NONE, NONE, NONE };

		if (cut(g, range, s, end))
			return -1;
		if (write) {
			drop(g, range, before);
			continue;
		}
		at = g->segments[s].end;
		if (add_reader(g, &g->segments[s].readers, op) ||
		    (gap.at < gap.end &&
		     (add_reader(g, &gap.readers, op) || insert(g, range, before, gap) == NONE)))
			return -1;
		before = s;
	}
	whole.at = at;
	if (at == end)
		return 0;
	if (!write && add_reader(g, &whole.readers, op))
		return -1;
	return insert(g, range, before, whole) == NONE ? -1 : 0;
}

/* Does what touch() does for columns, which may go beyond the end of a row. */
static int touch_columns(struct plan_depend *g, struct range *range, const struct columns *columns,
			 uint32_t op, bool write)
{
	int64_t end = columns->at + columns->run, over = end - columns->pitch;

	if ((over > 0 && touch(g, range, columns->pitch, 0, over, op, write)) ||
	    touch(g, range, columns->pitch, columns->at, over > 0 ? columns->pitch : end, op,
		  write))
		return -1;
	if (write)
		forget_others(g, range, columns->pitch);
	return 0;
}

/* ---- reads and writes */

/* Returns true if accesses with this pitch have touched columns of a range. */
static bool has_pitch(const struct plan_depend *g, const struct range *range, int64_t pitch)
{
	uint32_t s = range->segments;

	while (s != NONE && g->segments[s].pitch < pitch)
		s = g->segments[s].next;
	return s != NONE && g->segments[s].pitch == pitch;
}

/*
 * Sets *i to the first range of an access to columns of bytes [lo, hi), and *end to where its last
 * range has to end. The ranges may go beyond the columns, so that tiles of an image that have the
 * same rows have the same ranges. Returns 0, or -1: no memory.
 */
static int find_first(struct plan_depend *g, int64_t lo, int64_t hi, const struct columns *columns,
		      size_t *i, int64_t *end)
{
	int64_t pitch = columns->pitch, rows;

	*end = hi;
	*i = find(g, lo);
	/* Less than a row before `lo` there may be other columns, but none of these. */
	if ((g->begin[*i] < lo - (pitch - columns->run) || !has_pitch(g, &g->ranges[*i], pitch)) &&
	    g->begin[*i] != lo && split(g, (*i)++, lo))
		return -1;
	if (pitch) {
		rows = (hi - g->begin[*i] + pitch - 1) / pitch;
		*end = g->begin[*i] + rows * pitch;
	}
	return 0;
}

/*
 * Makes `op` follow the writers of columns of bytes [lo, hi), and adds it to their readers. Returns
 * 0, or -1 when out of memory.
 */
static int note_read(struct plan_depend *g, int64_t lo, int64_t hi, const struct columns *columns,
		     uint32_t op)
{
	int64_t end, first;
	size_t i, next;

	if (find_first(g, lo, hi, columns, &i, &end))
		return -1;
	for (; g->begin[i] < hi; i = next) {
		struct columns here = *columns;
		struct range *range;

		if ((g->begin[i + 1] > end && split(g, i, end)) || narrow(g, i, &here, &first))
			return -1;
		next = i + 1;
		if (first >= g->begin[next]) {
			next = skip(g, i, first, hi);
			continue;
		}
		range = &g->ranges[i];
		if (add_edge(g, range->writer, op, true) ||
		    follow_columns(g, range, &here, op, false, true) ||
		    (here.pitch ? touch_columns(g, range, &here, op, false) :
				  add_reader(g, &range->readers, op)))
			return -1;
	}
	return 0;
}

/*
 * Makes `op`, which writes columns of a range, follow the accesses to these. @data: `op` may leave
 * out bytes, so that those of earlier writes are still needed. Returns 0, or -1 when out of memory.
 */
static int follow_range(struct plan_depend *g, const struct range *range,
			const struct columns *columns, uint32_t op, bool data)
{
	/* Readers of a range follow its writer: `op` then needs no edge to the writer. */
	if ((data || range->readers == NONE) && add_edge(g, range->writer, op, data))
		return -1;
	return follow_readers(g, range->readers, op) ||
			       follow_columns(g, range, columns, op, true, data) ?
		       -1 :
		       0;
}

/* Makes `op` the last access to range i. */
static void write_range(struct plan_depend *g, size_t i, uint32_t op)
{
	while (g->ranges[i].segments != NONE)
		drop(g, &g->ranges[i], NONE);
	g->ranges[i] = (struct range){ op, NONE, NONE, 0 };
}

/*
 * Makes `op`, which writes columns of bytes [lo, hi), follow the accesses to these, and makes it
 * their last writer. As `op` may leave out bytes of the columns, it counts as a read of earlier
 * writes, so that preemption points before it save their bytes. Returns 0, or -1: no memory.
 */
static int note_columns(struct plan_depend *g, int64_t lo, int64_t hi,
			const struct columns *columns, uint32_t op)
{
	int64_t end, first;
	size_t i, next;

	if (find_first(g, lo, hi, columns, &i, &end))
		return -1;
	for (; g->begin[i] < hi; i = next) {
		struct columns here = *columns;

		if ((g->begin[i + 1] > end && split(g, i, end)) || narrow(g, i, &here, &first))
			return -1;
		next = i + 1;
		if (first >= g->begin[next]) {
			next = skip(g, i, first, hi);
			continue;
		}
		if (follow_range(g, &g->ranges[i], &here, op, true))
			return -1;
		if (!here.pitch)
			write_range(g, i, op);
		else if (touch_columns(g, &g->ranges[i], &here, op, true))
			return -1;
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
	size_t first, i;

	if (border(g, lo, &first))
		return -1;
	for (i = first; g->begin[i] < hi; i++) {
		if ((g->begin[i + 1] > hi && split(g, i, hi)) ||
		    follow_range(g, &g->ranges[i], &all, op, false))
			return -1;
		write_range(g, i, op);
	}
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
 * of edges, and makes the first range. Returns 0, or -1 when out of memory.
 */
static int prepare(struct plan_depend *g, uint32_t op)
{
	if (wnn_array_reserve(&g->first, &g->cap_first, (size_t)op + 1, sizeof(*g->first)) ||
	    wnn_array_reserve(&g->last, &g->cap_last, (size_t)op + 1, sizeof(*g->last)) ||
	    reserve_ranges(g, 1))
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
