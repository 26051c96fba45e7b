// SPDX-License-Identifier: MIT
/*
 * Copies between two orders of memory, in blocks. Filters arrive with the channels of the result as
 * the slowest dim, and tiles need them as the fastest: a plain copy that follows one order touches
 * a cache line of the other for each element. pack_copy() therefore copies block by block; the
 * planner calls it when it writes constants.
 */
#include "plan/kernel/pack.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK  16 /* elements: a cache line of the widest usual type */
#define WIDEST 8  /* bytes of an element */

/* A dim with its extent and its strides on both sides. */
struct axis {
	int64_t dim, to, from;
};

struct copy {
	uint32_t rank, size;
	struct axis axis[PACK_RANK]; /* all axes but the column, in the order of `from` */
	struct axis column;	     /* the fastest axis of `to` */
	uint32_t run; /* first of the innermost axes that are contiguous in `from`; rank: none */
};

/* Copies `count` elements, `step` bytes apart, to a dense run. */
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

typedef uint32_t four __attribute__((vector_size(16), may_alias));

static inline four load(const uint8_t *from)
{
	four row;

	memcpy(&row, from, sizeof(row));
	return row;
}

static inline void store(uint8_t *to, four row)
{
	memcpy(to, &row, sizeof(row));
}

/*
 * Transposes four rows of four elements, `pitch` bytes apart. It is unrolled, because gcc leaves
 * such loops as loops at -O2.
 */
static inline void transpose(uint8_t *const *to, int64_t offset, const uint8_t *from, int64_t pitch)
{
	four a = load(from), b = load(from + pitch);
	four c = load(from + 2 * pitch), d = load(from + 3 * pitch);
	four ac = __builtin_shufflevector(a, c, 0, 4, 1, 5);
	four bd = __builtin_shufflevector(b, d, 0, 4, 1, 5);

	store(to[0] + offset, __builtin_shufflevector(ac, bd, 0, 4, 1, 5));
	store(to[1] + offset, __builtin_shufflevector(ac, bd, 2, 6, 3, 7));
	ac = __builtin_shufflevector(a, c, 2, 6, 3, 7);
	bd = __builtin_shufflevector(b, d, 2, 6, 3, 7);
	store(to[2] + offset, __builtin_shufflevector(ac, bd, 0, 4, 1, 5));
	store(to[3] + offset, __builtin_shufflevector(ac, bd, 2, 6, 3, 7));
}

/* Transposes a full block of 4-byte elements. */
static void transpose_words(uint8_t *const to[BLOCK], const uint8_t *from, int64_t step)
{
	uint8_t block[BLOCK * BLOCK * 4];

	for (int64_t k = 0; k < BLOCK; k++) {
		/*
		 * Prefetches the next block: there are more columns than a processor recognises as
		 * streams.
		 */
		__builtin_prefetch(from + k * step + BLOCK * 4);
		memcpy(block + k * BLOCK * 4, from + k * step, BLOCK * 4);
	}
	for (int64_t i = 0; i < BLOCK; i += 4)
		for (int64_t k = 0; k < BLOCK; k += 4)
			transpose(to + i, k * 4, block + (k * BLOCK + i) * 4, BLOCK * 4);
}

/*
 * Transposes up to BLOCK rows of up to BLOCK columns: reads the contiguous run of each column, then
 * transposes the block. to[i] receives row i.
 */
static void transpose_block(uint8_t *const to[BLOCK], const uint8_t *from, const struct copy *c,
			    int64_t rows, int64_t columns)
{
	uint8_t block[BLOCK * BLOCK * WIDEST];
	int64_t pitch = BLOCK * c->size;

	if (rows == BLOCK && columns == BLOCK && c->size == 4) {
		transpose_words(to, from, c->column.from);
		return;
	}
	for (int64_t k = 0; k < columns; k++)
		memcpy(block + k * pitch, from + k * c->column.from, (size_t)rows * c->size);
	for (int64_t i = 0; i < rows; i++)
		gather(to[i], block + i * c->size, pitch, columns, c->size);
}

/*
 * Returns the distance in `to` from the current element of a run of `from` to the next, and
 * advances index[] to that.
 */
static int64_t next_of_run(const struct copy *c, uint32_t first, int64_t *index)
{
	int64_t step = 0;

	for (uint32_t i = c->rank; i-- > first;) {
		step += c->axis[i].to;
		if (++index[i] < c->axis[i].dim)
			break;
		step -= c->axis[i].dim * c->axis[i].to;
		index[i] = 0;
	}
	return step;
}

/* Returns the number of elements of the axes from `first` on. */
static int64_t elements(const struct copy *c, uint32_t first)
{
	int64_t count = 1;

	for (uint32_t i = first; i < c->rank; i++)
		count *= c->axis[i].dim;
	return count;
}

/* Copies up to BLOCK columns whose axes from `first` on are one contiguous run of `from`. */
static void copy_run(uint8_t *to, const uint8_t *from, const struct copy *c, uint32_t first,
		     int64_t columns)
{
	int64_t left = elements(c, first), index[PACK_RANK] = { 0 }, offset = 0;

	while (left) {
		int64_t rows = left < BLOCK ? left : BLOCK;
		uint8_t *at[BLOCK];

		for (int64_t i = 0; i < rows; i++) {
			at[i] = to + offset;
			offset += next_of_run(c, first, index);
		}
		transpose_block(at, from, c, rows, columns);
		from += rows * c->size;
		left -= rows;
	}
}

/* Copies the two fastest axes of `from`, for up to BLOCK columns without long runs. */
static void copy_plane(uint8_t *to, const uint8_t *from, const struct copy *c, int64_t columns)
{
	const struct axis none = { .dim = 1 };
	const struct axis *inner = c->rank > 0 ? &c->axis[c->rank - 1] : &none;
	const struct axis *outer = c->rank > 1 ? &c->axis[c->rank - 2] : &none;

	for (int64_t o = 0; o < outer->dim; o += BLOCK) {
		int64_t rows = outer->dim - o < BLOCK ? outer->dim - o : BLOCK;

		for (int64_t i = 0; i < inner->dim; i++)
			for (int64_t r = 0; r < rows; r++)
				gather(to + (o + r) * outer->to + i * inner->to,
				       from + (o + r) * outer->from + i * inner->from,
				       c->column.from, columns, c->size);
	}
}

/*
 * Iterates over the axes of `from` from `axis` on, and copies the innermost ones by copy_run(),
 * when they are a run of at least BLOCK elements, or else by copy_plane().
 */
static void copy_axes(uint8_t *to, const uint8_t *from, const struct copy *c, uint32_t axis,
		      int64_t columns)
{
	bool ends_in_run = c->run < c->rank && c->axis[c->rank - 1].dim >= BLOCK;

	if (axis >= c->run && elements(c, axis) >= BLOCK) {
		copy_run(to, from, c, axis, columns);
		return;
	}
	if (axis + 2 >= c->rank && !ends_in_run) {
		copy_plane(to, from, c, columns);
		return;
	}
	for (int64_t i = 0; i < c->axis[axis].dim; i++)
		copy_axes(to + i * c->axis[axis].to, from + i * c->axis[axis].from, c, axis + 1,
			  columns);
}

/* Copies columns that are contiguous on both sides. */
static void copy_runs(uint8_t *to, const uint8_t *from, const struct copy *c, uint32_t axis)
{
	if (axis == c->rank) {
		memcpy(to, from, (size_t)(c->column.dim * c->size));
		return;
	}
	for (int64_t i = 0; i < c->axis[axis].dim; i++)
		copy_runs(to + i * c->axis[axis].to, from + i * c->axis[axis].from, c, axis + 1);
}

/*
 * Compares axes for qsort(): those with larger strides in `from` come first; among equal strides
 * those of smaller extent.
 */
static int by_source(const void *a, const void *b)
{
	const struct axis *x = a, *y = b;

	if (llabs(x->from) != llabs(y->from))
		return llabs(x->from) < llabs(y->from) ? 1 : -1;
	return x->dim != y->dim ? (x->dim < y->dim ? -1 : 1) : 0;
}

/* Drops dims of 1, and merges dims that are contiguous on both sides. */
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

/* Moves the axis whose elements are contiguous in `to` from c->axis to c->column. */
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

/*
 * Sets c->run to the first of the innermost axes that are contiguous in `from`; to c->rank when
 * there are none, or when elements are larger than WIDEST.
 */
static void find_run(struct copy *c)
{
	int64_t next = c->size;

	c->run = c->rank;
	while (c->size <= WIDEST && c->run && c->axis[c->run - 1].from == next) {
		next *= c->axis[c->run - 1].dim;
		c->run--;
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
	find_run(&c);
	if (c.column.from == size) {
		copy_runs(to, from, &c, 0);
		return;
	}
	for (int64_t n = 0; n < c.column.dim; n += BLOCK)
		copy_axes(to + n * size, from + n * c.column.from, &c, 0,
			  c.column.dim - n < BLOCK ? c.column.dim - n : BLOCK);
}
