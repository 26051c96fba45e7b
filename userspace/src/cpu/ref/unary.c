// SPDX-License-Identifier: MIT
/* Reference kernels for functions of one element, and casts. */
#include <limits.h>
#include <math.h>

#include "cpu/element.h"
#include "cpu/ref/reference.h"

static double clamp(double x, double lo, double hi)
{
	if (isnan(x))
		return x;
	x = x > lo ? x : lo;
	return x < hi ? x : hi;
}

static double sign(double x)
{
	return x > 0 ? 1 : x < 0 ? -1 : 0;
}

static double softplus(double x)
{
	return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

static double sigmoid(double x)
{
	return 1 / (1 + exp(-x));
}

static double apply(const struct ir_unary_attrs *attrs, double x)
{
	double alpha = attrs->alpha, beta = attrs->beta;

	switch (attrs->kind) {
	case IR_ABS:
		return fabs(x);
	case IR_NEG:
		return -x;
	case IR_SIGN:
		return sign(x);
	case IR_CEIL:
		return ceil(x);
	case IR_FLOOR:
		return floor(x);
	case IR_ROUND_EVEN:
		return nearbyint(x);
	case IR_RECIPROCAL:
		return 1 / x;
	case IR_SQRT:
		return sqrt(x);
	case IR_EXP:
		return exp(x);
	case IR_LOG:
		return log(x);
	case IR_SIN:
		return sin(x);
	case IR_COS:
		return cos(x);
	case IR_TAN:
		return tan(x);
	case IR_TANH:
		return tanh(x);
	case IR_SCALED_TANH:
		return alpha * tanh(beta * x);
	case IR_ERF:
		return erf(x);
	case IR_SIGMOID:
		return sigmoid(x);
	case IR_GELU:
		return 0.5 * x * erfc(-x * M_SQRT1_2);
	case IR_SWISH:
		return x * sigmoid(alpha * x);
	case IR_MISH:
		return x * tanh(softplus(x));
	case IR_GELU_TANH:
		return x * sigmoid(x * (alpha * x * x + beta));
	case IR_SOFTPLUS:
		return softplus(x);
	case IR_SOFTSIGN:
		return x / (1 + fabs(x));
	case IR_ELU:
		/* For x = 0 the product is not computed: an infinite alpha times 0 would be NaN. */
		return x < 0 ? alpha * expm1(x) : x;
	case IR_LEAKY_RELU:
		return x < 0 ? alpha * x : x;
	case IR_HARD_SIGMOID:
		return clamp(alpha * x + beta, 0, 1);
	case IR_HARD_SWISH:
		return x * clamp(x + 3, 0, 6) / 6;
	case IR_HARD_GATE:
		return x * clamp(alpha * x + beta, 0, 1);
	case IR_STEP_GATE:
		return x * (x > alpha);
	case IR_RELU:
		return x > 0 || isnan(x) ? x : 0;
	case IR_CLAMP:
		return clamp(x, alpha, beta);
	case IR_LINEAR:
		return alpha * x + beta;
	default:
		return x;
	}
}

double cpu_apply_unary(const struct ir_unary_attrs *attrs, double x)
{
	double y = apply(attrs, x);

	return attrs->half ? (double)wnn_half_to_float(wnn_double_to_half(y)) : y;
}

/*
 * Returns a function of an integer. Results wrap: the smallest value has no positive counterpart,
 * so its absolute value and its negative are itself.
 */
int64_t cpu_apply_unary_int(const struct ir_unary_attrs *attrs, enum ir_dtype dtype, int64_t x)
{
	bool is_unsigned = ir_dtype_is_unsigned(dtype);
	int64_t lo = is_unsigned ? (int64_t)attrs->ulo : attrs->ilo;
	int64_t hi = is_unsigned ? (int64_t)attrs->uhi : attrs->ihi;
	bool below = !is_unsigned && x < 0;

	switch (attrs->kind) {
	case IR_ABS:
		return below ? (int64_t)(0 - (uint64_t)x) : x;
	case IR_NEG:
		return (int64_t)(0 - (uint64_t)x);
	case IR_SIGN:
		return (x != 0) - 2 * below;
	case IR_RELU:
		return below ? 0 : x;
	case IR_CLAMP:
		x = cpu_compare_int(dtype, x, lo) < 0 ? lo : x;
		return cpu_compare_int(dtype, x, hi) > 0 ? hi : x;
	case IR_LOGICAL_NOT:
		return x == 0;
	default:
		return x;
	}
}

void cpu_ref_unary(const struct ir_node *node, const void *const *in, void *const *out)
{
	enum ir_dtype dtype = node->operands[0]->type.dtype;
	enum ir_dtype result = node->results[0]->type.dtype;
	int64_t n = ir_type_elements(&node->results[0]->type);
	const struct ir_unary_attrs *attrs = &node->attrs.unary;

	for (int64_t i = 0; i < n; i++) {
		if (attrs->kind == IR_IS_NAN)
			cpu_store_int(result, out[0], i, isnan(cpu_load(dtype, in[0], i)));
		else if (attrs->kind == IR_IS_INFINITE)
			cpu_store_int(result, out[0], i, isinf(cpu_load(dtype, in[0], i)) != 0);
		else if (ir_dtype_is_float(dtype))
			cpu_store(result, out[0], i,
				  cpu_apply_unary(attrs, cpu_load(dtype, in[0], i)));
		else
			cpu_store_int(result, out[0], i,
				      cpu_apply_unary_int(attrs, dtype,
							  cpu_load_int(dtype, in[0], i)));
	}
}

/*
 * Returns a float converted to an integer: values out of range saturate, NaN becomes 0. The
 * specification leaves both to the implementation.
 */
static int64_t float_to_int(double x, enum ir_dtype dtype)
{
	static const double lo[] = { [IR_I8] = -0x1p7, [IR_I32] = -0x1p31, [IR_I64] = -0x1p63,
				     [IR_U8] = 0,      [IR_U32] = 0,	   [IR_U64] = 0 };
	static const double hi[] = { [IR_I8] = 0x1p7, [IR_I32] = 0x1p31, [IR_I64] = 0x1p63,
				     [IR_U8] = 0x1p8, [IR_U32] = 0x1p32, [IR_U64] = 0x1p64 };

	x = trunc(x);
	if (isnan(x))
		return 0;
	if (x <= lo[dtype])
		return dtype == IR_I64 ? INT64_MIN : (int64_t)lo[dtype];
	if (x >= hi[dtype]) {
		if (dtype == IR_U64)
			return -1;
		return dtype == IR_I64 ? INT64_MAX : (int64_t)hi[dtype] - 1;
	}
	return dtype == IR_U64 ? (int64_t)(uint64_t)x : (int64_t)x;
}

static void store_int_as_float(enum ir_dtype from, enum ir_dtype to, void *out, int64_t i,
			       int64_t v)
{
	float f = from == IR_U64 ? (float)(uint64_t)v : (float)v;

	/*
	 * An integer that float32 rounds has more than 24 bits, so that it is infinite in float16:
	 * rounding twice changes nothing.
	 */
	if (to == IR_F16)
		((uint16_t *)out)[i] = wnn_float_to_half(f);
	else
		((float *)out)[i] = f;
}

void cpu_ref_cast(const struct ir_node *node, const void *const *in, void *const *out)
{
	enum ir_dtype from = node->operands[0]->type.dtype, to = node->results[0]->type.dtype;
	int64_t n = ir_type_elements(&node->results[0]->type);

	for (int64_t i = 0; i < n; i++) {
		if (ir_dtype_is_float(from) && ir_dtype_is_float(to))
			cpu_store(to, out[0], i, cpu_load(from, in[0], i));
		else if (ir_dtype_is_float(from))
			cpu_store_int(to, out[0], i, float_to_int(cpu_load(from, in[0], i), to));
		else if (ir_dtype_is_float(to))
			store_int_as_float(from, to, out[0], i, cpu_load_int(from, in[0], i));
		else
			cpu_store_int(to, out[0], i, cpu_load_int(from, in[0], i));
	}
}
