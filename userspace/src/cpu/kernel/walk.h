/* SPDX-License-Identifier: MIT */
/*
 * Iterates over operands that are broadcast to the result of their node, in rows: along a row each
 * operand stays at one element or advances by one.
 */
#ifndef WNN_CPU_WALK_H
#define WNN_CPU_WALK_H

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
static inline int64_t cpu_walk_line(const struct cpu_walk *w, int64_t i, int64_t end)
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

#endif
