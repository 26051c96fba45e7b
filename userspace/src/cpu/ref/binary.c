// SPDX-License-Identifier: MIT
/*
 * Reference kernels for functions of two or three broadcast operands: slow and obvious; floats are
 * computed in double, integers in 64 bits.
 */
#include <math.h>

#include "cpu/element.h"
#include "cpu/ref/reference.h"

/*
 * Returns the larger number, or NaN if either is NaN; +0 is larger than -0. (fmax() ignores a NaN,
 * and may return either zero.)
 */
static double maximum(double a, double b)
{
	if (isnan(a) || isnan(b))
		return NAN;
	if (a == 0 && b == 0)
		return signbit(a) ? b : a;
	return a > b ? a : b;
}

double cpu_apply_binary(enum ir_binary kind, double a, double b)
{
	switch (kind) {
	case IR_ADD:
		return a + b;
	case IR_SUB:
		return a - b;
	case IR_MUL:
		return a * b;
	case IR_DIV:
		return a / b;
	case IR_MAX:
		return maximum(a, b);
	case IR_MIN:
		return -maximum(-a, -b);
	case IR_POW:
		return pow(a, b);
	case IR_PRELU:
		return a < 0 ? a * b : a;
	default:
		return NAN;
	}
}

static uint64_t power(uint64_t base, uint64_t exponent)
{
	uint64_t r = 1;

	for (; exponent; exponent >>= 1, base *= base)
		if (exponent & 1)
			r *= base;
	return r;
}

/*
 * Returns a power. A negative exponent gives the quotient 1 / power, truncated; 0 to a negative
 * power is 0.
 */
static int64_t power_int(int64_t a, int64_t b, bool is_unsigned)
{
	if (is_unsigned || b >= 0)
		return (int64_t)power((uint64_t)a, (uint64_t)b);
	if (a == 1)
		return 1;
	if (a == -1)
		return b & 1 ? -1 : 1;
	return 0;
}

/* Returns a quotient. Division by zero gives 0, the smallest value divided by -1 wraps. */
static int64_t divide_int(enum ir_dtype dtype, int64_t a, int64_t b)
{
	if (!b)
		return 0;
	if (dtype == IR_U64)
		return (int64_t)((uint64_t)a / (uint64_t)b);
	return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

/*
 * Returns a shifted by b bits. To the right, copies of the sign fill in from the left for signed
 * types. A b that is negative, or at least the number of bits, shifts all bits out.
 */
static int64_t shift_int(enum ir_binary kind, enum ir_dtype dtype, int64_t a, int64_t b)
{
	uint64_t bits = ir_dtype_bits(dtype);

	if (kind == IR_SHIFT_LEFT)
		return (uint64_t)b < bits ? (int64_t)((uint64_t)a << b) : 0;
	if (ir_dtype_is_unsigned(dtype))
		return (uint64_t)b < bits ? (int64_t)((uint64_t)a >> b) : 0;
	return a >> ((uint64_t)b < bits ? b : 63);
}

static int64_t remainder_int(enum ir_binary kind, enum ir_dtype dtype, int64_t a, int64_t b)
{
	int64_t rest = (int64_t)((uint64_t)a - (uint64_t)divide_int(dtype, a, b) * (uint64_t)b);
	bool floored = kind == IR_FLOORED_REMAINDER && !ir_dtype_is_unsigned(dtype);

	if (floored && b && rest && (rest < 0) != (b < 0))
		rest += b;
	return rest;
}

static int64_t apply_int(enum ir_binary kind, enum ir_dtype dtype, int64_t a, int64_t b)
{
	bool is_unsigned = ir_dtype_is_unsigned(dtype);
	int order = cpu_compare_int(dtype, a, b);

	switch (kind) {
	case IR_ADD:
		return (int64_t)((uint64_t)a + (uint64_t)b);
	case IR_SUB:
		return (int64_t)((uint64_t)a - (uint64_t)b);
	case IR_MUL:
		return (int64_t)((uint64_t)a * (uint64_t)b);
	case IR_DIV:
		return divide_int(dtype, a, b);
	case IR_MAX:
		return order > 0 ? a : b;
	case IR_MIN:
		return order < 0 ? a : b;
	case IR_POW:
		return power_int(a, b, is_unsigned);
	case IR_PRELU:
		return a < 0 && !is_unsigned ? (int64_t)((uint64_t)a * (uint64_t)b) : a;
	case IR_AND:
		return a && b;
	case IR_OR:
		return a || b;
	case IR_XOR:
		return !a != !b;
	case IR_BIT_AND:
		return a & b;
	case IR_BIT_OR:
		return a | b;
	case IR_BIT_XOR:
		return a ^ b;
	case IR_SHIFT_LEFT:
	case IR_SHIFT_RIGHT:
		return shift_int(kind, dtype, a, b);
	case IR_REMAINDER:
	case IR_FLOORED_REMAINDER:
		return remainder_int(kind, dtype, a, b);
	default:
		return 0;
	}
}

/*
 * Stores an integer result. It wraps to the type before the activation, as if the two were nodes of
 * their own.
 */
static void store_int(const struct ir_node *node, void *out, int64_t i, int64_t v)
{
	enum ir_dtype dtype = node->results[0]->type.dtype;
	const struct ir_unary_attrs *act = &node->attrs.binary.act;

	cpu_store_int(dtype, out, i, v);
	if (act->kind != IR_UNARY_NONE)
		cpu_store_int(dtype, out, i,
			      cpu_apply_unary_int(act, dtype, cpu_load_int(dtype, out, i)));
}

void cpu_ref_binary(const struct ir_node *node, const void *const *in, void *const *out)
{
	struct cpu_shape shape = cpu_shape_of(&node->results[0]->type);
	struct cpu_shape a = cpu_shape_of(&node->operands[0]->type);
	struct cpu_shape b = cpu_shape_of(&node->operands[1]->type);
	enum ir_dtype dtype = node->operands[0]->type.dtype;
	enum ir_binary kind = node->attrs.binary.kind;
	int64_t sa[IR_MAX_RANK], sb[IR_MAX_RANK];

	cpu_broadcast_strides(&a, &shape, sa);
	cpu_broadcast_strides(&b, &shape, sb);
	for (int64_t i = 0; i < shape.count; i++) {
		int64_t ia = cpu_offset(&shape, i, sa), ib = cpu_offset(&shape, i, sb);

		if (ir_dtype_is_float(dtype))
			cpu_store(dtype, out[0], i,
				  cpu_apply_unary(&node->attrs.binary.act,
						  cpu_apply_binary(kind, cpu_load(dtype, in[0], ia),
								   cpu_load(dtype, in[1], ib))));
		else
			store_int(node, out[0], i,
				  apply_int(kind, dtype, cpu_load_int(dtype, in[0], ia),
					    cpu_load_int(dtype, in[1], ib)));
	}
}

static bool holds(enum ir_binary kind, bool equal, bool greater, bool less)
{
	switch (kind) {
	case IR_EQ:
		return equal;
	case IR_NE:
		return !equal;
	case IR_GT:
		return greater;
	case IR_GE:
		return greater || equal;
	case IR_LT:
		return less;
	default:
		return less || equal;
	}
}

void cpu_ref_compare(const struct ir_node *node, const void *const *in, void *const *out)
{
	struct cpu_shape shape = cpu_shape_of(&node->results[0]->type);
	struct cpu_shape a = cpu_shape_of(&node->operands[0]->type);
	struct cpu_shape b = cpu_shape_of(&node->operands[1]->type);
	enum ir_dtype dtype = node->operands[0]->type.dtype;
	enum ir_binary kind = node->attrs.binary.kind;
	int64_t sa[IR_MAX_RANK], sb[IR_MAX_RANK];
	uint8_t *result = out[0];

	cpu_broadcast_strides(&a, &shape, sa);
	cpu_broadcast_strides(&b, &shape, sb);
	for (int64_t i = 0; i < shape.count; i++) {
		int64_t ia = cpu_offset(&shape, i, sa), ib = cpu_offset(&shape, i, sb);

		if (ir_dtype_is_float(dtype)) {
			double x = cpu_load(dtype, in[0], ia), y = cpu_load(dtype, in[1], ib);

			result[i] = holds(kind, x == y, x > y, x < y);
		} else {
			int order = cpu_compare_int(dtype, cpu_load_int(dtype, in[0], ia),
						    cpu_load_int(dtype, in[1], ib));

			result[i] = holds(kind, order == 0, order > 0, order < 0);
		}
	}
}

void cpu_ref_where(const struct ir_node *node, const void *const *in, void *const *out)
{
	struct cpu_shape shape = cpu_shape_of(&node->results[0]->type);
	int64_t stride[3][IR_MAX_RANK];
	const uint8_t *condition = in[0];

	for (int k = 0; k < 3; k++) {
		struct cpu_shape s = cpu_shape_of(&node->operands[k]->type);

		cpu_broadcast_strides(&s, &shape, stride[k]);
	}
	for (int64_t i = 0; i < shape.count; i++) {
		int pick = condition[cpu_offset(&shape, i, stride[0])] ? 1 : 2;

		cpu_copy_element(node->results[0]->type.dtype, out[0], i, in[pick],
				 cpu_offset(&shape, i, stride[pick]));
	}
}
