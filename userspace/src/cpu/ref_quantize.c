// SPDX-License-Identifier: MIT
/* Reference: quantisation by block. */
#include <math.h>

#include "cpu/element.h"
#include "cpu/reference.h"

/*
 * The quotient is rounded to float32, as division of that type has it, so that ties are the
 * same ties everywhere; one of two float16 is far enough from every tie that it is not. NaN
 * quantises as 0 does.
 */
static double quotient(double x, double scale)
{
	double q = (float)(x / scale);

	return isnan(q) ? 0 : nearbyint(q);
}

void cpu_ref_quantize(const struct ir_node *node, const void *const *in, void *const *out)
{
	const struct ir_type *type = &node->results[0]->type;
	enum ir_dtype dtype = node->operands[0]->type.dtype;
	struct cpu_shape shape = cpu_shape_of(type);
	struct cpu_shape scale = cpu_shape_of(&node->operands[1]->type);
	double lo = (double)cpu_int_min(type->dtype), hi = (double)cpu_int_max(type->dtype);

	for (int64_t i = 0; i < shape.count; i++) {
		int64_t k = cpu_block_offset(&shape, &scale, i);
		double v = quotient(cpu_load(dtype, in[0], i), cpu_load(dtype, in[1], k));

		v = fmin(fmax(v + (double)cpu_load_int(type->dtype, in[2], k), lo), hi);
		cpu_store_int(type->dtype, out[0], i, (int64_t)v);
	}
}

void cpu_ref_dequantize(const struct ir_node *node, const void *const *in, void *const *out)
{
	enum ir_dtype from = node->operands[0]->type.dtype, to = node->results[0]->type.dtype;
	struct cpu_shape shape = cpu_shape_of(&node->results[0]->type);
	struct cpu_shape scale = cpu_shape_of(&node->operands[1]->type);

	for (int64_t i = 0; i < shape.count; i++) {
		int64_t k = cpu_block_offset(&shape, &scale, i);
		int64_t difference = cpu_load_int(from, in[0], i) - cpu_load_int(from, in[2], k);

		cpu_store(to, out[0], i, (double)difference * cpu_load(to, in[1], k));
	}
}
