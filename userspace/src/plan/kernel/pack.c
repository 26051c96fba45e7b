// SPDX-License-Identifier: MIT
/*
 * Copies between two orders of memory, in blocks. Filters come with the channels of the result as the
 * slowest dim and go with them as the fastest: a copy in either order touches a cache line for each
 * element of the other.
 */
#include "plan/kernel/pack.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK  16 /* elements: a cache line of the widest usual type */
#define WIDEST 8  /* bytes of an element */

struct axis {
	int64_t dim, to, from;
};

struct copy {
	uint32_t rank, size;
	struct axis axis[PACK_RANK]; /* in the order of `from`; without the column */
	struct axis column;	     /* the fastest of `to` */
};

/* `count` elements behind each other, from places `step` bytes apart. */
static void gather(uint8_t *to, const uint8_t *from, int64_t step, int64_t count, uint32_t size)
{
	if (size == 4) {
		for (int64_t i = 0; i < count; i++)
			memcpy(to + i * 4, from + i * step, 4);
	} else if (size == 2) {
		for (int64_t i = 0; i < count; i++)
			memcpy(to + i * 2, from + i * step, 2);
	} else if (size == 1) {
		for (int64_t i = 0; i < count; i++)
			to[i] = from[i * step];
	} else {
		for (int64_t i = 0; i < count; i++)
			memcpy(to + i * size, from + i * step, size);
	}
}

/* Rows of `from` that are runs: each is read at once, then the block is turned around. */
static void turn(uint8_t *to, const uint8_t *from, const struct copy *c, const struct axis *row,
		 int64_t rows, int64_t columns)
{
	uint8_t block[BLOCK * BLOCK * WIDEST];
	int64_t pitch = BLOCK * c->size;

	for (int64_t i = 0; i < columns; i++)
		memcpy(block + i * pitch, from + i * c->column.from, (size_t)rows * c->size);
	for (int64_t i = 0; i < rows; i++)
		gather(to + i * row->to, block + i * c->size, pitch, columns, c->size);
}

/* The two fastest axes of `from` for up to BLOCK columns. */
static void copy_plane(uint8_t *to, const uint8_t *from, const struct copy *c, int64_t columns)
{
	const struct axis none = { .dim = 1 };
	const struct axis *inner = c->rank > 0 ? &c->axis[c->rank - 1] : &none;
	const struct axis *outer = c->rank > 1 ? &c->axis[c->rank - 2] : &none;
	bool runs = inner->from == c->size && inner->dim >= BLOCK && c->size <= WIDEST;

	for (int64_t o = 0; o < outer->dim; o += runs ? 1 : BLOCK) {
		int64_t rows = runs || outer->dim - o < BLOCK ? outer->dim - o : BLOCK;

		for (int64_t i = 0; i < inner->dim; i += runs ? BLOCK : 1) {
			int64_t left = inner->dim - i < BLOCK ? inner->dim - i : BLOCK;
			uint8_t *t = to + o * outer->to + i * inner->to;
			const uint8_t *f = from + o * outer->from + i * inner->from;

			if (runs) {
				turn(t, f, c, inner, left, columns);
				continue;
			}
			for (int64_t r = 0; r < rows; r++)
				gather(t + r * outer->to, f + r * outer->from, c->column.from,
				       columns, c->size);
		}
	}
}

/* All but the two fastest axes of `from`, and the column if it is only as long as its run. */
static void copy_axes(uint8_t *to, const uint8_t *from, const struct copy *c, uint32_t axis,
		      int64_t columns)
{
	if (axis + 2 >= c->rank) {
		copy_plane(to, from, c, columns);
		return;
	}
	for (int64_t i = 0; i < c->axis[axis].dim; i++)
		copy_axes(to + i * c->axis[axis].to, from + i * c->axis[axis].from, c, axis + 1,
			  columns);
}

static void copy_runs(uint8_t *to, const uint8_t *from, const struct copy *c, uint32_t axis)
{
	if (axis == c->rank) {
		memcpy(to, from, (size_t)(c->column.dim * c->size));
		return;
	}
	for (int64_t i = 0; i < c->axis[axis].dim; i++)
		copy_runs(to + i * c->axis[axis].to, from + i * c->axis[axis].from, c, axis + 1);
}

/* The order in which `from` lies in memory. */
static int by_source(const void *a, const void *b)
{
	const struct axis *x = a, *y = b;

	if (llabs(x->from) != llabs(y->from))
		return llabs(x->from) < llabs(y->from) ? 1 : -1;
	return x->dim != y->dim ? (x->dim < y->dim ? -1 : 1) : 0;
}

/* Dims of 1 go, and those that follow each other in both orders become one. */
static void simplify(struct copy *c)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->rank; i++)
		if (c->axis[i].dim != 1)
			c->axis[n++] = c->axis[i];
	c->rank = n;
	qsort(c->axis, n, sizeof(c->axis[0]), by_source);
	n = 0;
	for (uint32_t i = 0; i < c->rank; i++) {
		struct axis *last = n ? &c->axis[n - 1] : NULL, *next = &c->axis[i];

		if (last && last->to == next->dim * next->to &&
		    last->from == next->dim * next->from) {
			last->dim *= next->dim;
			last->to = next->to;
			last->from = next->from;
		} else {
			c->axis[n++] = *next;
		}
	}
	c->rank = n;
}

/* Takes out the axis whose elements lie behind each other in `to`. */
static void take_column(struct copy *c)
{
	c->column = (struct axis){ .dim = 1, .to = c->size, .from = c->size };
	for (uint32_t i = 0; i < c->rank; i++) {
		if (c->axis[i].to != c->size)
			continue;
		c->column = c->axis[i];
		memmove(c->axis + i, c->axis + i + 1, (--c->rank - i) * sizeof(c->axis[0]));
		return;
	}
}

void pack_copy(uint8_t *to, const int64_t *to_stride, const uint8_t *from,
	       const int64_t *from_stride, const int64_t *dim, uint32_t size)
{
	struct copy c = { .rank = PACK_RANK, .size = size };

	for (uint32_t i = 0; i < PACK_RANK; i++)
		c.axis[i] = (struct axis){ dim[i], to_stride[i], from_stride[i] };
	simplify(&c);
	take_column(&c);
	if (c.column.from == size) {
		copy_runs(to, from, &c, 0);
		return;
	}
	for (int64_t n = 0; n < c.column.dim; n += BLOCK)
		copy_axes(to + n * size, from + n * c.column.from, &c, 0,
			  c.column.dim - n < BLOCK ? c.column.dim - n : BLOCK);
}
