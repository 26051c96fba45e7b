// SPDX-License-Identifier: MIT
/* Mod: the remainder of a division. */
#include <math.h>

#include "ops.h"

#define DIGIT 22 /* bits of the quotient that one step computes */

/* Returns the remainder of a division of integers that rounds towards 0. */
static WNNOperand integer_rest(struct onnx_node *node, WNNOperand a, WNNOperand b)
{
	return x_sub(node, a, x_mul(node, x_div(node, a, b), b));
}

/* A positive float as the sum of two floats of 12 bits, whose products are exact. */
struct halves {
	WNNOperand whole, high, low;
};

static struct halves split(struct onnx_node *node, WNNOperand x)
{
	WNNOperand c = x_linear(node, x, 4097, 0), high = x_sub(node, c, x_sub(node, c, x));

	return (struct halves){ x, high, x_sub(node, x, high) };
}

struct division {
	/*
	 * the divisor; guard: the factor by which divisor and rest are multiplied so that no
	 * product overflows, or NULL
	 */
	struct halves divisor;
	WNNOperand guard;
};

/* Returns x * 2^shift * guard; 2^shift alone may be beyond the range. */
static WNNOperand shifted(struct onnx_node *node, const struct division *d, WNNOperand x, int shift)
{
	x = x_linear(node, x, ldexp(1, shift / 2), 0);
	if (d->guard)
		x = x_mul(node, x, d->guard);
	return x_linear(node, x, ldexp(1, shift - shift / 2), 0);
}

/*
 * Subtracts from the rest the largest multiple of divisor * 2^shift that it holds, and returns the
 * new rest. The quotient must be below 2^(DIGIT + 1).
 */
static WNNOperand take_digit(struct onnx_node *node, WNNOperand rest, const struct division *d,
			     int shift)
{
	double half = ldexp(1, DIGIT / 2);
	WNNOperand t = shifted(node, d, d->divisor.whole, shift);
	WNNOperand t_high = shifted(node, d, d->divisor.high, shift);
	WNNOperand t_low = shifted(node, d, d->divisor.low, shift);
	WNNOperand zero = x_like(node, rest, 0), q, high, low, product, error, left;

	q = x_floor(node, x_div(node, rest, t));
	high = x_linear(node, x_floor(node, x_linear(node, q, 1 / half, 0)), half, 0);
	low = x_sub(node, q, high);
	/* Computes the rounded product of q and t, and its rounding error. */
	product = x_mul(node, q, t);
	error = x_sub(node, x_mul(node, high, t_high), product);
	error = x_add(node, error, x_mul(node, high, t_low));
	error = x_add(node, error, x_mul(node, low, t_high));
	error = x_add(node, error, x_mul(node, low, t_low));
	left = x_sub(node, x_sub(node, rest, product), error);
	/* The quotient is rounded as well and may be off by one: corrects the rest. */
	left = x_where(node, x_less(node, left, zero), x_add(node, left, t), left);
	left = x_where(node, x_less(node, left, t), left, x_sub(node, left, t));
	/* Where the quotient is 0, such as for an infinite t, `rest` is the remainder. */
	return x_where(node, x_equal(node, q, zero), rest, left);
}

/* Returns 2^@scale where x is greater than 2^@limit, or below that if not @above; 1 elsewhere. */
static WNNOperand scale_where(struct onnx_node *node, WNNOperand x, bool above, int limit,
			      int scale)
{
	WNNOperand bound = x_like(node, x, ldexp(1, limit));

	return x_where(node, above ? x_greater(node, x, bound) : x_less(node, x, bound),
		       x_like(node, x, ldexp(1, scale)), x_like(node, x, 1));
}

/*
 * Returns fmod(a, b) exactly, by long division with digits of 22 bits. The quotient of float32 has
 * up to 277 bits, that of float16 (@is_half) up to 40. Its last digits are taken with both numbers
 * scaled by a power of two, so that the errors of products stay in the range of float32. The first
 * digits, where the rest may be large, are taken with large numbers scaled down, and other numbers
 * as they are.
 */
static WNNOperand exact_fmod(struct onnx_node *node, WNNOperand a, WNNOperand b, bool is_half)
{
	const int first = is_half ? 2 : 12, last = 2;
	WNNOperand x = x_abs(node, a), y = x_abs(node, b);
	WNNOperand smaller = x_less(node, x, y), rest, scale, up;
	struct division d = { 0 };

	scale = scale_where(node, y, true, 60, -64);
	y = x_mul(node, y, scale);
	rest = x_mul(node, x, scale);
	if (first > last) {
		d.guard = scale_where(node, rest, true, 100, -8);
		d.divisor = split(node, y);
		rest = x_mul(node, rest, d.guard);
		for (int i = first; i > last; i--)
			rest = take_digit(node, rest, &d, i * DIGIT);
		rest = x_div(node, rest, d.guard);
		d.guard = NULL;
	}
	up = scale_where(node, y, false, -60, 64);
	d.divisor = split(node, x_mul(node, y, up));
	rest = x_mul(node, rest, up);
	for (int i = last; i >= 0; i--)
		rest = take_digit(node, rest, &d, i * DIGIT);
	rest = x_div(node, x_div(node, rest, up), scale);
	rest = x_where(node, smaller, x, rest);
	return x_where(node, x_less(node, a, x_like(node, a, 0)), x_neg(node, rest), rest);
}

int onnx_op_mod(struct onnx_node *node)
{
	WNNOperand a = onnx_in(node, 0);
	WNNOperand b = a ? onnx_in(node, 1) : NULL;
	int type = onnx_in_type(node, 0);
	bool truncated = onnx_attr_int(node, "fmod", 0) || onnx_type_is_unsigned(type);
	WNNOperand rest, zero, differ;

	if (!b)
		return -1;
	if (!onnx_type_is_float(type) && import_runs_on_cpu(node->b))
		return onnx_out(node, 0,
				import_integers(node->b, wnnGraphBuilderDiv,
						truncated ? WNNIntegerFunction_Remainder :
							    WNNIntegerFunction_FlooredRemainder,
						a, b, &node->options));
	rest = onnx_type_is_float(type) ? exact_fmod(node, a, b, node->wide) :
					  integer_rest(node, a, b);
	if (truncated)
		return onnx_out(node, 0, rest);
	zero = x_like(node, a, 0);
	differ = wnnGraphBuilderLogicalXor(node->b, x_less(node, rest, zero), x_less(node, b, zero),
					   &node->options);
	differ = x_and(node, differ, x_not(node, x_equal(node, rest, zero)));
	return onnx_out(node, 0, x_where(node, differ, x_add(node, rest, b), rest));
}
