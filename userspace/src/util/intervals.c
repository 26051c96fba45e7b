// SPDX-License-Identifier: MIT
/*
 * Packs intermediates into one arena: a value may take the place of another whose life has ended.
 * Largest first, each at the lowest address that is free for its whole life.
 */
#include "util/intervals.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "util/malloc.h"
#include "util/number.h"

static int by_size(const void *a, const void *b)
{
	const struct memory_interval *x = *(struct memory_interval *const *)a;
	const struct memory_interval *y = *(struct memory_interval *const *)b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return x < y ? -1 : x > y;
}

/*
 * `placed` is sorted by offset. Intervals of one offset are sorted by time, as no two of them live at once. So
 * the next offset is found in leaps, and among those of one offset the one that is alive at a time.
 */
static uint32_t next_offset(struct memory_interval *const *placed, uint32_t count, uint32_t at)
{
	uint64_t offset = placed[at]->offset;
	uint32_t step = 1, end;

	while (at + step < count && placed[at + step]->offset == offset)
		step *= 2;
	end = at + step < count ? at + step : count;
	while (at < end) {
		uint32_t middle = at + (end - at) / 2;

		if (placed[middle]->offset == offset)
			at = middle + 1;
		else
			end = middle;
	}
	return at;
}

static uint32_t first_alive(struct memory_interval *const *placed, uint32_t at, uint32_t end,
			    uint32_t time)
{
	while (at < end) {
		uint32_t middle = at + (end - at) / 2;

		if (placed[middle]->end < time)
			at = middle + 1;
		else
			end = middle;
	}
	return at;
}

static uint64_t lowest_place(struct memory_interval *const *placed, uint32_t count,
			     const struct memory_interval *interval)
{
	uint64_t at = 0;

	for (uint32_t i = 0; i < count && placed[i]->offset < at + interval->bytes;) {
		uint32_t next = next_offset(placed, count, i);

		for (i = first_alive(placed, i, next, interval->begin);
		     i < next && placed[i]->begin <= interval->end; i++)
			if (placed[i]->offset + placed[i]->bytes > at)
				at = placed[i]->offset + placed[i]->bytes;
		i = next;
	}
	return at;
}

static bool before(const struct memory_interval *a, const struct memory_interval *b)
{
	return a->offset != b->offset ? a->offset < b->offset : a->begin < b->begin;
}

static void insert_sorted(struct memory_interval **placed, uint32_t count,
			  struct memory_interval *interval)
{
	uint32_t at = 0, end = count;

	while (at < end) {
		uint32_t middle = at + (end - at) / 2;

		if (before(placed[middle], interval))
			at = middle + 1;
		else
			end = middle;
	}
	memmove(placed + at + 1, placed + at, (count - at) * sizeof(*placed));
	placed[at] = interval;
}

static void pack(struct memory_interval *intervals, uint32_t count, struct memory_interval **order,
		 struct memory_interval **placed, uint64_t *total)
{
	for (uint32_t i = 0; i < count; i++) {
		intervals[i].bytes = wnn_align_up(intervals[i].bytes, MEMORY_ALIGN);
		order[i] = &intervals[i];
	}
	qsort(order, count, sizeof(*order), by_size);
	/* The last ones may have no bytes, and need no place. */
	for (uint32_t i = 0; i < count; i++)
		order[i]->offset = 0;
	for (uint32_t i = 0; i < count && order[i]->bytes; i++) {
		order[i]->offset = lowest_place(placed, i, order[i]);
		if (order[i]->offset + order[i]->bytes > *total)
			*total = order[i]->offset + order[i]->bytes;
		insert_sorted(placed, i, order[i]);
	}
}

int memory_pack(struct memory_interval *intervals, uint32_t count, uint64_t *total)
{
	/* Few intervals need no memory: those who try tiles have no way to report that there is none. */
	struct memory_interval *few[2][MEMORY_FEW], **many;

	*total = 0;
	if (count <= MEMORY_FEW) {
		pack(intervals, count, few[0], few[1], total);
		return 0;
	}
	many = wnn_calloc(2 * (size_t)count, sizeof(*many));
	if (!many)
		return -1;
	pack(intervals, count, many, many + count, total);
	wnn_free(many);
	return 0;
}
