/* SPDX-License-Identifier: MIT */
/* Interval packing: biggest item first, each at the lowest place that is free all its life. */
#include "run/layout.h"

#include <stdlib.h>

static int by_size(const void *a, const void *b)
{
	const struct run_item *x = *(struct run_item *const *)a, *y = *(struct run_item *const *)b;

	if (x->size != y->size)
		return x->size < y->size ? 1 : -1;
	/* The same layout for the same graph, whatever qsort() does with equals. */
	return x < y ? -1 : x > y;
}

static uint64_t align(uint64_t n)
{
	return (n + RUN_ITEM_ALIGN - 1) & ~(RUN_ITEM_ALIGN - 1);
}

/* @placed is sorted by offset; only those that live at the same time count. */
static uint64_t lowest_gap(const struct run_item *item, struct run_item *const *placed,
			   uint32_t count)
{
	uint64_t offset = 0, size = align(item->size);

	for (uint32_t i = 0; i < count; i++) {
		const struct run_item *other = placed[i];
		uint64_t end = other->offset + align(other->size);

		if (other->last < item->first || other->first > item->last || end <= offset)
			continue;
		if (other->offset >= offset + size)
			break;
		offset = end;
	}
	return offset;
}

static void insert(struct run_item **placed, uint32_t count, struct run_item *item)
{
	uint32_t i = count;

	for (; i && placed[i - 1]->offset > item->offset; i--)
		placed[i] = placed[i - 1];
	placed[i] = item;
}

int run_layout(struct run_item *items, uint32_t count, uint64_t *total)
{
	struct run_item **order, **placed;

	*total = 0;
	order = malloc(2 * ((size_t)count + 1) * sizeof(*order));
	if (!order)
		return -1;
	placed = order + count;
	for (uint32_t i = 0; i < count; i++)
		order[i] = &items[i];
	qsort(order, count, sizeof(*order), by_size);
	for (uint32_t i = 0; i < count; i++) {
		struct run_item *item = order[i];
		uint64_t end;

		item->offset = lowest_gap(item, placed, i);
		insert(placed, i, item);
		end = item->offset + align(item->size);
		if (end > *total)
			*total = end;
	}
	free(order);
	return 0;
}
