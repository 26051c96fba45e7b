// SPDX-License-Identifier: MIT
/*
 * Packs intermediates into one arena: a value may take the place of another whose life has ended.
 * Largest first, each at the lowest address that is free for its whole life.
 */
#include "plan/plan.h"

#include <stdlib.h>

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

/* `placed` is sorted by offset. */
static uint64_t lowest_place(struct memory_interval *const *placed, uint32_t count,
			     const struct memory_interval *interval)
{
	uint64_t at = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct memory_interval *other = placed[i];

		if (other->end < interval->begin || interval->end < other->begin)
			continue;
		if (other->offset >= at + interval->bytes)
			break;
		if (other->offset + other->bytes > at)
			at = other->offset + other->bytes;
	}
	return at;
}

static void insert_sorted(struct memory_interval **placed, uint32_t count,
			  struct memory_interval *interval)
{
	uint32_t at = count;

	while (at > 0 && placed[at - 1]->offset > interval->offset) {
		placed[at] = placed[at - 1];
		at--;
	}
	placed[at] = interval;
}

static void pack(struct memory_interval *intervals, uint32_t count,
		 struct memory_interval **order, struct memory_interval **placed, uint64_t *total)
{
	for (uint32_t i = 0; i < count; i++) {
		intervals[i].bytes =
			(intervals[i].bytes + PLAN_ALIGN - 1) & ~(uint64_t)(PLAN_ALIGN - 1);
		order[i] = &intervals[i];
	}
	qsort(order, count, sizeof(*order), by_size);
	for (uint32_t i = 0; i < count; i++) {
		order[i]->offset = lowest_place(placed, i, order[i]);
		if (order[i]->offset + order[i]->bytes > *total)
			*total = order[i]->offset + order[i]->bytes;
		insert_sorted(placed, i, order[i]);
	}
}

int memory_pack(struct memory_interval *intervals, uint32_t count, uint64_t *total)
{
	/* The few of a tile never run out of memory, as whoever tries tiles cannot tell. */
	struct memory_interval *few[2][MEMORY_FEW], **many;

	*total = 0;
	if (count <= MEMORY_FEW) {
		pack(intervals, count, few[0], few[1], total);
		return 0;
	}
	many = calloc(2 * (size_t)count, sizeof(*many));
	if (!many)
		return -1;
	pack(intervals, count, many, many + count, total);
	free(many);
	return 0;
}
