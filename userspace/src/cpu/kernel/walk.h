/* SPDX-License-Identifier: MIT */
/*
 * Iterates over operands that are broadcast to the result of their node, in rows: along a row each
 * operand stays at one element or advances by one.
 */
#ifndef WNN_CPU_WALK_H
#define WNN_CPU_WALK_H

#include <string.h>

#include "cpu/element.h"

#define CPU_MAX_OPERANDS 3

struct cpu_walk {
	struct cpu_shape shape; /* shape of the result with axes merged; its rank is at least 1 */
	int operands;
	int64_t stride[CPU_MAX_OPERANDS][IR_MAX_RANK];
};

/*
 * Whether dim d can be merged with the dim `before` it: in each operand, the stride of `before` is
 * that of d times the size of d.
 */
static inline bool cpu_walk_merges(const struct cpu_walk *w, uint32_t before, uint32_t d)
{
	for (int k = 0; k < w->operands; k++)
		if (w->stride[k][before] != w->stride[k][d] * w->shape.dim[d])
			return false;
	return true;
}

/* Merges dims by cpu_walk_merges(), so that rows are long, and drops dims of size 1. */
static inline void cpu_walk_merge(struct cpu_walk *w)
{
	struct cpu_shape *s = &w->shape;
	uint32_t r = 0;

	for (uint32_t d = 0; d < s->rank; d++) {
		if (s->dim[d] == 1)
			continue;
		if (r && cpu_walk_merges(w, r - 1, d))
			s->dim[r - 1] *= s->dim[d];
		else
			s->dim[r++] = s->dim[d];
		for (int k = 0; k < w->operands; k++)
			w->stride[k][r - 1] = w->stride[k][d];
	}
	if (!r) {
		s->dim[r] = 1;
		for (int k = 0; k < w->operands; k++)
			w->stride[k][r] = 0;
		r++;
	}
	s->rank = r;
}

/*
 * cpu_walk_of() returns an iterator over the result of a node and its first operands.
 * cpu_walk_unmerged() does not merge its axes: the caller changes strides, then calls
 * cpu_walk_merge().
 */
static inline struct cpu_walk cpu_walk_unmerged(const struct ir_node *node, int operands)
{
	struct cpu_walk w = { .shape = cpu_shape_of(&node->results[0]->type),
			      .operands = operands };

	for (int k = 0; k < operands; k++) {
		struct cpu_shape s = cpu_shape_of(&node->operands[k]->type);

		cpu_broadcast_strides(&s, &w.shape, w.stride[k]);
	}
	return w;
}

static inline struct cpu_walk cpu_walk_of(const struct ir_node *node, int operands)
{
	struct cpu_walk w = cpu_walk_unmerged(node, operands);

	cpu_walk_merge(&w);
	return w;
}

/* Returns the number of elements from i to the end of its row, or to `end` when that is before. */
static inline int64_t cpu_walk_row(const struct cpu_walk *w, int64_t i, int64_t end)
{
	int64_t n = w->shape.dim[w->shape.rank - 1], rest = n - i % n;

	return rest < end - i ? rest : end - i;
}

/*
 * cpu_walk_at() returns the offset of operand k for element i; cpu_walk_step() returns its step
 * along a row: 0 or 1, unless the caller changed strides.
 */
static inline int64_t cpu_walk_at(const struct cpu_walk *w, int k, int64_t i)
{
	return cpu_offset(&w->shape, i, w->stride[k]);
}

static inline int64_t cpu_walk_step(const struct cpu_walk *w, int k)
{
	return w->stride[k][w->shape.rank - 1];
}

/*
 * ---- Rows that repeat
 *
 * Where one operand has short rows that are each used for several rows of the result, as [8,1,64]
 * has with [8,32,64], a call of a function for each row takes longer than the function. A row is
 * copied several times into memory of CPU_REPEATS elements, so that a call covers many rows.
 */

#define CPU_REPEATS 2048
/* Calls for longer rows take less time than copies. */
#define CPU_REPEATED_ROW 512

/*
 * Returns which of the operands 0 and 1 repeats its rows along the dim before the last, while all
 * other operands are contiguous over both dims; -1: none does.
 */
static inline int cpu_walk_repeats(const struct cpu_walk *w)
{
	uint32_t last = w->shape.rank - 1;
	int found = -1;

	if (!last || !w->shape.count || w->shape.dim[last] > CPU_REPEATED_ROW)
		return -1;
	for (int k = 0; k < w->operands; k++) {
		if (w->stride[k][last] != 1)
			return -1;
		if (w->stride[k][last - 1] == w->shape.dim[last])
			continue;
		if (w->stride[k][last - 1] || found >= 0 || k > 1)
			return -1;
		found = k;
	}
	return found;
}

/* Computes n elements of a result; steps of both operands are 1. */
typedef void (*cpu_repeat_fn)(void *argument, void *y, const void *a, const void *b, int64_t n);

/* Returns the offset of operand k for the first element of block number `block`. */
static inline int64_t cpu_walk_block(const struct cpu_walk *w, int k, int64_t block)
{
	int64_t offset = 0;

	for (uint32_t d = w->shape.rank - 2; d-- > 1; block /= w->shape.dim[d])
		offset += block % w->shape.dim[d] * w->stride[k][d];
	return w->shape.rank > 2 ? offset + block * w->stride[k][0] : 0;
}

/* Repeats the first `line` of `all` bytes. */
static inline void cpu_repeat(char *room, int64_t line, int64_t all)
{
	for (int64_t have = line, n; have < all; have += n) {
		n = have < all - have ? have : all - have;
		memcpy(room + have, room, (size_t)n);
	}
}

/*
 * Calls fn for elements [begin, end) of the result, when operand k repeats its rows. @size: the
 * bytes of an element; @room: CPU_REPEATS elements
 */
static inline void cpu_walk_repeated(const struct cpu_walk *w, int k, int64_t size, void *room,
				     const void *const *in, void *out, int64_t begin, int64_t end,
				     cpu_repeat_fn fn, void *argument)
{
	uint32_t last = w->shape.rank - 1;
	int64_t line = w->shape.dim[last], rows = line * w->shape.dim[last - 1];
	int64_t all = CPU_REPEATS / line * line, block = begin / rows;

	for (int64_t from = begin - block * rows, to; begin < end; block++, from = 0) {
		int64_t phase = from ? from % line : 0, n;
		int64_t y = w->operands > 2 ? cpu_walk_block(w, 2, block) : block * rows;
		int64_t other = cpu_walk_block(w, !k, block);

		to = rows - from < end - begin ? rows : from + end - begin;
		begin += to - from;
		memcpy(room, (const char *)in[k] + cpu_walk_block(w, k, block) * size,
		       (size_t)(line * size));
		cpu_repeat(room, line * size,
			   (phase + to - from < all ? phase + to - from : all) * size);
		for (; from < to; from += n, phase = 0) {
			const char *row = (const char *)room + phase * size;
			const char *x = (const char *)in[!k] + (other + from) * size;

			n = to - from < all - phase ? to - from : all - phase;
			fn(argument, (char *)out + (y + from) * size, k ? x : row, k ? row : x, n);
		}
	}
}

#endif
