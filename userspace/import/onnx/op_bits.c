// SPDX-License-Identifier: MIT
/* BitShift and BitCast, composed of arithmetic where there are no operators on bits. */
#include <math.h>
#include <string.h>

#include "carrier.h"
#include "ops.h"

/*
 * Returns x with its complement in place of each negative number. A division then rounds as a shift
 * right does, since it rounds towards zero. @sign: whether each number is negative.
 */
static WNNOperand flip_negative(struct onnx_node *node, WNNOperand sign, WNNOperand x)
{
	return x_where(node, sign, x_sub(node, x_like(node, x, -1), x), x);
}

/* Returns 2^shift from a table for shifts from 0 to @most. */
static WNNOperand power_of(struct onnx_node *node, WNNOperand shift, unsigned int most)
{
	struct onnx_shape shape = { 1, { most + 1 } };
	WNNOperandDataType type = wnnOperandGetDataType(shift);
	int own = (int)onnx_type_of(type);
	uint64_t *data = onnx_node_alloc(node, (most + 1) * sizeof(*data));

	for (unsigned int i = 0; data && i <= most; i++)
		onnx_put_int(own, data, i, (int64_t)(UINT64_C(1) << i));
	return data ? x_gather(node, x_constant(node, type, &shape, data),
			       x_cast(node, shift, WNNOperandDataType_Int32), 0) :
		      NULL;
}

/*
 * Translates BitShift. On the NPU, a shift by n is a multiplication or division by 2^n. A shift by
 * a negative number, or by all bits or more, gives 0, or -1 where a shift to the right fills in the
 * sign.
 */
int onnx_op_bit_shift(struct onnx_node *node)
{
	static const char *const directions[] = { "LEFT", "RIGHT" };
	int right = onnx_attr_choice(node, "direction", "", directions, 2);
	int type = onnx_in_type(node, 0);
	bool left = !right, is_signed = !onnx_type_is_unsigned(type);
	unsigned int bits = onnx_type_bits(type), most = bits - 1 - is_signed;
	WNNOperand x = onnx_in(node, 0), shift = x ? onnx_in(node, 1) : NULL;
	WNNOperand valid, inside, negative = NULL, power, zero;

	if (!shift || right < 0)
		return -1;
	if (import_runs_on_cpu(node->b))
		return onnx_out(node, 0,
				import_integers(node->b,
						left ? wnnGraphBuilderMul : wnnGraphBuilderDiv,
						WNNIntegerFunction_Bits, x, shift, &node->options));
	zero = x_like(node, x, 0);
	valid = x_less(node, shift, x_like(node, x, bits));
	if (is_signed)
		valid = x_and(node, valid, x_not(node, x_less(node, shift, zero)));
	inside = x_where(node, valid, shift, zero);
	/*
	 * A table entry for the sign bit would be negative: a right shift by that many bits gives
	 * only 0 or the sign.
	 */
	inside = x_min(node, inside, x_like(node, x, left ? bits - 1 : most));
	power = power_of(node, inside, left ? bits - 1 : most);
	if (left)
		return onnx_out(node, 0, x_where(node, valid, x_mul(node, x, power), zero));
	if (!is_signed)
		return onnx_out(node, 0, x_where(node, valid, x_div(node, x, power), zero));
	/*
	 * A positive number has one bit less than its type: a shift by bits - 1 or more leaves
	 * nothing.
	 */
	negative = x_less(node, x, zero);
	x = x_div(node, flip_negative(node, negative, x), power);
	valid = x_and(node, valid, x_less(node, shift, x_like(node, x, bits - 1)));
	x = x_where(node, valid, x, zero);
	return onnx_out(node, 0, flip_negative(node, negative, x));
}

/* A float type: its number of bits, the bits of its mantissa, and the bias of its exponent. */
struct layout {
	int bits, mantissa, bias;
};

static bool layout_of(int type, struct layout *layout)
{
	const struct onnx_format *f = onnx_format_of(type);

	if (type == ONNX_FLOAT)
		*layout = (struct layout){ 32, 23, 127 };
	else if (type == ONNX_FLOAT16)
		*layout = (struct layout){ 16, 10, 15 };
	else if (type == ONNX_BFLOAT16)
		*layout = (struct layout){ 16, 7, 127 };
	else if (type == ONNX_DOUBLE)
		*layout = (struct layout){ 64, 52, 1023 };
	else if (f)
		*layout = (struct layout){ (int)onnx_type_bits(type), f->mantissa, f->bias };
	else
		return false;
	return true;
}

/*
 * Returns the numbers, as float32, that codes of a float type of few bits stand for. They are
 * looked up in a table.
 */
static WNNOperand from_code(struct onnx_node *node, WNNOperand code, int type)
{
	unsigned int count = 1u << onnx_type_bits(type);
	struct onnx_shape shape = { 1, { count } };
	float table[256];

	for (unsigned int i = 0; i < count; i++)
		table[i] = (float)onnx_format_get(type, i);
	return x_gather(node, x_constant(node, WNNOperandDataType_Float32, &shape, table),
			x_cast(node, code, WNNOperandDataType_Int32), 0);
}

static WNNOperand whole(struct onnx_node *node, WNNOperand like, int64_t number)
{
	return like ? x_integer(node, wnnOperandGetDataType(like), number) : NULL;
}

/* Returns x * 2^bits, multiplied with factors of at most 2^31. */
static WNNOperand shift_left(struct onnx_node *node, WNNOperand x, int bits)
{
	for (; bits > 0; bits -= 31)
		x = x_mul(node, x, whole(node, x, INT64_C(1) << (bits < 31 ? bits : 31)));
	return x;
}

/* Returns x / 2^bits of unsigned integers; *rest gets the remainder. */
static WNNOperand split(struct onnx_node *node, WNNOperand x, int bits, WNNOperand *rest)
{
	WNNOperand quotient = x;

	for (int left = bits; left > 0; left -= 31)
		quotient = x_div(node, quotient,
				 whole(node, x, INT64_C(1) << (left < 31 ? left : 31)));
	*rest = x_sub(node, x, shift_left(node, quotient, bits));
	return quotient;
}

/*
 * Returns 2^exponent. An exponent beyond float32's range, which only double has, gives infinity or
 * 0.
 */
static WNNOperand power_at(struct onnx_node *node, WNNOperand exponent)
{
	WNNOperandDataType type = WNNOperandDataType_Float32;
	WNNOperand at = x_add(node, exponent, whole(node, exponent, 149)), power;

	power = onnx_powers(node, x_clamp(node, at, 0, 276));
	power = x_where(node, x_greater(node, at, whole(node, at, 276)),
			x_number(node, type, INFINITY), power);
	return x_where(node, x_less(node, at, whole(node, at, 0)), x_number(node, type, 0), power);
}

/* Returns the float whose bits an unsigned integer holds. */
static WNNOperand from_bits(struct onnx_node *node, WNNOperand code, const struct layout *l)
{
	int highest = (1 << (l->bits - 1 - l->mantissa)) - 1;
	WNNOperandDataType type = WNNOperandDataType_Float32;
	WNNOperand fraction, exponent, sign, normal, y, special;

	sign = split(node, code, l->bits - 1, &code);
	exponent =
		x_cast(node, split(node, code, l->mantissa, &fraction), WNNOperandDataType_Int32);
	fraction = x_linear(node, x_cast(node, fraction, type), ldexp(1, -l->mantissa), 0);
	normal = x_greater(node, exponent, whole(node, exponent, 0));
	y = x_max(node, exponent, whole(node, exponent, 1));
	y = power_at(node, x_sub(node, y, whole(node, y, l->bias)));
	y = x_mul(node, y, x_add(node, fraction, x_cast(node, normal, type)));
	special = x_where(node, x_equal(node, fraction, x_number(node, type, 0)),
			  x_number(node, type, INFINITY), x_number(node, type, NAN));
	y = x_where(node, x_equal(node, exponent, whole(node, exponent, highest)), special, y);
	return x_where(node, x_greater(node, sign, whole(node, sign, 0)), x_neg(node, y), y);
}

/* Whether a float has its sign set, -0 included. */
static WNNOperand is_negative(struct onnx_node *node, WNNOperand x)
{
	WNNOperand zero = x_like(node, x, 0), below;

	below = x_and(node, x_equal(node, x, zero), x_less(node, x_reciprocal(node, x), zero));
	return x_or(node, below, x_less(node, x, zero));
}

/* Returns the bits of a finite float that is not negative, as integers of @type. */
static WNNOperand finite_bits(struct onnx_node *node, WNNOperand x, const struct layout *l,
			      WNNOperandDataType type)
{
	int least = 1 - l->bias < -126 ? -126 : 1 - l->bias;
	int mantissa = l->mantissa < 23 ? l->mantissa : 23;
	WNNOperand power = onnx_power_below(node, x, least), normal, fraction, exponent;

	normal = x_not(node, x_less(node, x, power));
	fraction = x_sub(node, x_div(node, x, power),
			 x_cast(node, normal, WNNOperandDataType_Float32));
	fraction = x_cast(node, x_linear(node, fraction, ldexp(1, mantissa), 0), type);
	/* Doubles are computed in float32, so their lower bits are lost. */
	fraction = shift_left(node, fraction, l->mantissa - mantissa);
	exponent = x_round(node, x_linear(node, x_log(node, power), 1 / M_LN2, l->bias));
	exponent = x_cast(node, x_where(node, normal, exponent, x_like(node, x, 0)), type);
	return x_add(node, shift_left(node, exponent, l->mantissa), fraction);
}

/* Returns the bits of a float as an unsigned integer. */
static WNNOperand to_bits(struct onnx_node *node, WNNOperand x, int from, const struct layout *l,
			  WNNOperandDataType type)
{
	int64_t infinite = ((INT64_C(1) << (l->bits - 1 - l->mantissa)) - 1) << l->mantissa;
	int64_t nan = infinite + (INT64_C(1) << l->mantissa) / 2;
	WNNOperand sign, size, finite, code;

	if (onnx_format_of(from)) {
		infinite = onnx_format_put(from, INFINITY, false, ONNX_UP);
		nan = onnx_format_put(from, NAN, false, ONNX_UP);
	}
	x = x_cast(node, x, WNNOperandDataType_Float32);
	sign = x_cast(node, is_negative(node, x), type);
	size = x_abs(node, x);
	finite = x_less(node, size, x_like(node, x, INFINITY));
	code = finite_bits(node, x_where(node, finite, size, x_like(node, x, 0)), l, type);
	code = x_where(node, finite, code, whole(node, code, infinite));
	code = x_add(node, code, shift_left(node, sign, l->bits - 1));
	return x_where(node, x_equal(node, x, x), code, whole(node, code, nan));
}

/* Returns the bits of an integer or a float as an unsigned integer. */
static WNNOperand bits_of(struct onnx_node *node, WNNOperand x, int from)
{
	int bits = (int)onnx_type_bits(from);
	WNNOperandDataType type = bits == 64 ? WNNOperandDataType_Uint64 :
					       WNNOperandDataType_Uint32;
	struct layout layout;

	if (layout_of(from, &layout))
		return to_bits(node, x, from, &layout, type);
	if (bits < 8)
		x = x_cast(node, onnx_from_four_bits(node, x), WNNOperandDataType_Int32);
	x = x_cast(node, x, type);
	if (bits < 32)
		split(node, x, bits, &x);
	return x;
}

/* Returns the number that bits mean in type @to. */
static WNNOperand meaning_of(struct onnx_node *node, WNNOperand code, int to)
{
	WNNOperandDataType type = onnx_type_webnn(to);
	struct layout layout;

	if (onnx_format_of(to))
		return x_cast(node, from_code(node, code, to), type);
	if (layout_of(to, &layout))
		return x_cast(node, from_bits(node, code, &layout), type);
	if (onnx_type_bits(to) < 32)
		code = onnx_wrap(node, code, to);
	return onnx_type_bits(to) < 8 ? onnx_to_four_bits(node, code, type) :
					x_cast(node, code, type);
}

static int check_bits(struct onnx_node *node, int from, int to)
{
	if (!onnx_type_bits(to) || onnx_type_bits(from) != onnx_type_bits(to))
		return onnx_refuse(node, "to", "%s has not as many bits as %s",
				   onnx_type_text(node->import->arena, to),
				   onnx_type_text(node->import->arena, from));
	return 0;
}

int onnx_op_bit_cast(struct onnx_node *node)
{
	int to = (int)onnx_attr_int(node, "to", 0), from = onnx_in_type(node, 0);
	WNNOperand x;

	x = onnx_in(node, 0);
	if (!x || check_bits(node, from, to))
		return -1;
	return onnx_out_as(node, 0, meaning_of(node, bits_of(node, x, from), to), to);
}

int onnx_fold_bit_cast(struct onnx_node *node)
{
	int to = (int)onnx_attr_int(node, "to", 0);
	const struct onnx_value *x = node->inputs[0];
	void *data;

	if (!x || x->sequence || check_bits(node, x->type, to))
		return x && !x->sequence ? -1 : 1;
	data = onnx_out_constant(node, 0, to, &x->shape);
	if (data)
		memcpy(data, x->data, onnx_data_size(to, onnx_shape_elements(&x->shape)));
	return data ? 0 : -1;
}
