// SPDX-License-Identifier: MIT
/* The reference kernel for rotary embedding. */
#include "cpu/element.h"
#include "cpu/ref/reference.h"

/*
 * Sets the strides with which cosines or sines are read for half rows; returns the distance between
 * the angles of the two halves of a row, 0 when both halves use the same angles.
 */
static int64_t angle_strides(const struct ir_type *type, const struct cpu_shape *halves,
			     int64_t *stride)
{
	struct cpu_shape from = cpu_shape_of(type);
	int64_t half = halves->dim[halves->rank - 1];

	cpu_broadcast_strides(&from, halves, stride);
	return from.rank && from.dim[from.rank - 1] == 2 * half ? half : 0;
}

void cpu_ref_rotary(const struct ir_node *node, const void *const *in, void *const *out)
{
	enum ir_dtype dtype = node->results[0]->type.dtype;
	struct cpu_shape rows = cpu_shape_of(&node->results[0]->type), halves = rows;
	int64_t half = rows.dim[rows.rank - 1] / 2, cosine[IR_MAX_RANK], sine[IR_MAX_RANK];
	int64_t next_cosine, next_sine;

	halves.dim[rows.rank - 1] = half;
	halves.count = rows.count / 2;
	next_cosine = angle_strides(&node->operands[1]->type, &halves, cosine);
	next_sine = angle_strides(&node->operands[2]->type, &halves, sine);
	for (int64_t i = 0; i < halves.count; i++) {
		int64_t at = cpu_offset(&halves, i, rows.stride);
		int64_t c = cpu_offset(&halves, i, cosine), s = cpu_offset(&halves, i, sine);
		double x = cpu_load(dtype, in[0], at), y = cpu_load(dtype, in[0], at + half);

		cpu_store(dtype, out[0], at,
			  x * cpu_load(dtype, in[1], c) - y * cpu_load(dtype, in[2], s));
		cpu_store(dtype, out[0], at + half,
			  y * cpu_load(dtype, in[1], c + next_cosine) +
				  x * cpu_load(dtype, in[2], s + next_sine));
	}
}
