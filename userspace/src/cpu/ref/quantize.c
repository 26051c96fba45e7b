// SPDX-License-Identifier: MIT
/* Reference kernels for quantisation by blocks, and for functions of quantised integers. */
#include <math.h>

#include "cpu/element.h"
#include "cpu/ref/reference.h"

/*
 * Returns x / scale as an integer. The quotient is rounded to float32 first, as a division of
 * float32 numbers rounds it, so that all back ends have the same ties; a quotient of float16
 * numbers that is no tie is too far from ties to become one. NaN counts as 0.
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

/* An operand's integers, scale and zero point, which are consecutive operands of the node. */
struct quantized {
	enum ir_dtype dtype;
	const void *data;
	int64_t zero;
	double scale;
};

static struct quantized quantized_of(const struct ir_node *node, const void *const *in, uint32_t at)
{
	return (struct quantized){
		.dtype = node->operands[at]->type.dtype,
		.data = in[at],
		.scale = cpu_load(node->operands[at + 1]->type.dtype, in[at + 1], 0),
		.zero = cpu_load_int(node->operands[at + 2]->type.dtype, in[at + 2], 0),
	};
}

/* Returns element i dequantised, rounded to float32 like results of dequantizeLinear. */
static double real_at(const struct quantized *q, int64_t i)
{
	return (float)((double)(cpu_load_int(q->dtype, q->data, i) - q->zero) * q->scale);
}

/*
 * Quantises v, a float32 number, and stores it. The node's last two operands are scale and zero
 * point of the result.
 */
static void store_real(const struct ir_node *node, const void *const *in, void *const *out,
		       int64_t i, double v)
{
	uint32_t scale = node->num_operands - 2;
	enum ir_dtype dtype = node->results[0]->type.dtype;
	double lo = (double)cpu_int_min(dtype), hi = (double)cpu_int_max(dtype);

	v = quotient(v, cpu_load(node->operands[scale]->type.dtype, in[scale], 0));
	v = fmin(fmax(v + (double)cpu_load_int(dtype, in[scale + 1], 0), lo), hi);
	cpu_store_int(dtype, out[0], i, (int64_t)v);
}

void cpu_ref_qunary(const struct ir_node *node, const void *const *in, void *const *out)
{
	const struct quantized a = quantized_of(node, in, 0);
	int64_t count = ir_type_elements(&node->results[0]->type);

	for (int64_t i = 0; i < count; i++)
		store_real(node, in, out, i,
			   (float)cpu_apply_unary(&node->attrs.unary, real_at(&a, i)));
}

void cpu_ref_qbinary(const struct ir_node *node, const void *const *in, void *const *out)
{
	const struct quantized a = quantized_of(node, in, 0), b = quantized_of(node, in, 3);
	struct cpu_shape y = cpu_shape_of(&node->results[0]->type);
	struct cpu_shape shape_a = cpu_shape_of(&node->operands[0]->type);
	struct cpu_shape shape_b = cpu_shape_of(&node->operands[3]->type);
	int64_t sa[IR_MAX_RANK], sb[IR_MAX_RANK];

	cpu_broadcast_strides(&shape_a, &y, sa);
	cpu_broadcast_strides(&shape_b, &y, sb);
	for (int64_t i = 0; i < y.count; i++) {
		double v = cpu_apply_binary(node->attrs.binary.kind,
					    real_at(&a, cpu_offset(&y, i, sa)),
					    real_at(&b, cpu_offset(&y, i, sb)));

		store_real(node, in, out, i,
			   (float)cpu_apply_unary(&node->attrs.binary.act, (float)v));
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
