// SPDX-License-Identifier: MIT
/*
 * Translates integer operations to operators of WebNN, exactly for all numbers. This relies on what
 * the operators guarantee: sums and products wrap around; a quotient is truncated, and 0 if the
 * divisor is 0; a power wraps, so that 2 to the number of bits or more is 0; and a cast to fewer
 * bits keeps the low bits.
 */
#include "lower.h"

#include <string.h>

/* Most bits that a graph holds as separate elements, for one value. */
#define MOST_BITS (INT64_C(1) << 22)

static enum shlo_element element_of(const struct shlo_lower *l)
{
	return shlo_operand_type(l, 0)->element;
}

/* Returns the unsigned type of the same size. */
static WNNOperandDataType plain_type(enum shlo_element element)
{
	switch (shlo_elements[element].bits) {
	case 8:
		return WNNOperandDataType_Uint8;
	case 32:
		return WNNOperandDataType_Uint32;
	default:
		return WNNOperandDataType_Uint64;
	}
}

static size_t size_of(WNNOperandDataType type)
{
	switch (type) {
	case WNNOperandDataType_Int8:
	case WNNOperandDataType_Uint8:
		return 1;
	case WNNOperandDataType_Int32:
	case WNNOperandDataType_Uint32:
		return 4;
	default:
		return 8;
	}
}

static WNNOperand number(const struct shlo_lower *l, WNNOperandDataType type, int64_t value)
{
	WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;

	descriptor.dataType = type;
	return wnnGraphBuilderConstant(l->b, &descriptor, &value, size_of(type));
}

/* ---- division */

/*
 * Returns the quotient or, with @rest, the remainder. A quotient by zero is -1, all bits set; the
 * remainder is then the dividend.
 */
static WNNOperand divide(const struct shlo_lower *l, WNNOperand x, WNNOperand y, bool rest)
{
	WNNOperandDataType type = shlo_held_type(element_of(l));
	WNNOperand quotient;

	if (rest && import_runs_on_cpu(l->b))
		return import_integers(l->b, wnnGraphBuilderDiv, WNNIntegerFunction_Remainder, x, y,
				       &l->options);
	quotient = shlo_lower_both(l, wnnGraphBuilderDiv, x, y);
	if (rest)
		return shlo_lower_both(l, wnnGraphBuilderSub, x,
				       shlo_lower_both(l, wnnGraphBuilderMul, quotient, y));
	return shlo_lower_choice(l, shlo_lower_both(l, wnnGraphBuilderEqual, y, number(l, type, 0)),
				 number(l, type, -1), quotient);
}

/*
 * Returns a bit operation as an operator of the CPU; the code for the NPU composes it of other
 * operators.
 */
static WNNOperand on_bits(const struct shlo_lower *l, shlo_combine_fn make, WNNOperand x,
			  WNNOperand y)
{
	return import_integers(l->b, make, WNNIntegerFunction_Bits, x, y, &l->options);
}

/* ---- shifts: products with powers of two, and quotients by them */

static WNNOperand power_of_two(const struct shlo_lower *l, WNNOperand exponent)
{
	return exponent ? shlo_lower_both(l, wnnGraphBuilderPow,
					  number(l, wnnOperandGetDataType(exponent), 2), exponent) :
			  NULL;
}

static WNNOperand inverted(const struct shlo_lower *l, WNNOperand x)
{
	return x ? shlo_lower_both(l, wnnGraphBuilderSub, number(l, wnnOperandGetDataType(x), -1),
				   x) :
		   NULL;
}

static WNNOperandDataType signed_type(enum shlo_element element)
{
	switch (shlo_elements[element].bits) {
	case 8:
		return WNNOperandDataType_Int8;
	case 32:
		return WNNOperandDataType_Int32;
	default:
		return WNNOperandDataType_Int64;
	}
}

/* Shifts to the right with sign: a negative number is inverted, shifted and inverted again. */
static WNNOperand shift_arithmetic(const struct shlo_lower *l, WNNOperand x, WNNOperand by)
{
	WNNOperandDataType type = signed_type(element_of(l));
	WNNOperand below, size, shifted;

	x = shlo_lower_cast(l, x, type);
	if (import_runs_on_cpu(l->b))
		return on_bits(l, wnnGraphBuilderDiv, x, shlo_lower_cast(l, by, type));
	below = shlo_lower_both(l, wnnGraphBuilderLesser, x, number(l, type, 0));
	size = shlo_lower_choice(l, below, inverted(l, x), x);
	shifted = shlo_lower_both(l, wnnGraphBuilderDiv, size,
				  power_of_two(l, shlo_lower_cast(l, by, type)));
	return shlo_lower_choice(l, below, inverted(l, shifted), shifted);
}

static WNNOperand shift_logical(const struct shlo_lower *l, WNNOperand x, WNNOperand by)
{
	WNNOperandDataType type = plain_type(element_of(l));

	x = shlo_lower_cast(l, x, type);
	by = shlo_lower_cast(l, by, type);
	if (import_runs_on_cpu(l->b))
		return on_bits(l, wnnGraphBuilderDiv, x, by);
	return shlo_lower_both(l, wnnGraphBuilderDiv, x, power_of_two(l, by));
}

/* ---- bits, one by one along a dimension of their own */

struct bits {
	const struct shlo_lower *l;
	/* type in which the bits are computed; WebNN does not add 8-bit integers */
	WNNOperandDataType type;
	int64_t count;
	WNNUint32Array shape; /* shape of the value; the other operand may be a single number */
	WNNOperand powers;    /* powers of two, [count, 1] */
};

static int64_t elements_of(WNNUint32Array shape)
{
	int64_t count = 1;

	for (size_t i = 0; i < shape.count; i++)
		count *= shape.data[i];
	return count;
}

static bool bits_init(struct bits *b, const struct shlo_lower *l, WNNOperand x)
{
	uint64_t powers[64];
	int64_t dims[2] = { 0, 1 };

	*b = (struct bits){ .l = l, .count = shlo_elements[element_of(l)].bits };
	b->type = b->count == 64 ? WNNOperandDataType_Uint64 : WNNOperandDataType_Uint32;
	b->shape = wnnOperandGetShape(x);
	for (int64_t i = 0; i < b->count; i++) {
		uint64_t power = UINT64_C(1) << i;
		size_t size = size_of(b->type);

		memcpy((char *)powers + (size_t)i * size, &power, size);
	}
	dims[0] = b->count;
	b->powers = shlo_lower_reshape(
		l, shlo_lower_list(l, b->type, powers, b->count, size_of(b->type)), dims, 2);
	return b->powers && elements_of(b->shape) * b->count <= MOST_BITS;
}

/* Returns x as [1, elements] of an unsigned type. */
static WNNOperand in_row(const struct bits *b, WNNOperand x)
{
	int64_t dims[2] = { 1, elements_of(wnnOperandGetShape(x)) };

	x = shlo_lower_cast(b->l, x, plain_type(element_of(b->l)));
	return shlo_lower_reshape(b->l, shlo_lower_cast(b->l, x, b->type), dims, 2);
}

/* Returns [count, elements]: each bit of x as 0 or 1. */
static WNNOperand spread(const struct bits *b, WNNOperand x)
{
	WNNOperand two = number(b->l, b->type, 2);
	WNNOperand above = shlo_lower_both(b->l, wnnGraphBuilderDiv, in_row(b, x), b->powers);
	WNNOperand higher = shlo_lower_both(b->l, wnnGraphBuilderDiv, above, two);

	return shlo_lower_both(b->l, wnnGraphBuilderSub, above,
			       shlo_lower_both(b->l, wnnGraphBuilderMul, higher, two));
}

static WNNOperand sum(const struct bits *b, WNNOperand x)
{
	static const int64_t first;
	WNNReduceOptions options = WNN_REDUCE_OPTIONS_INIT;
	struct shlo_sizes axes;

	shlo_sizes_init(&axes, &first, 1);
	options.axes = axes.array;
	options.label = b->l->options.label;
	x = shlo_lower_cast(b->l, x, b->type);
	x = x ? wnnGraphBuilderReduceSum(b->l->b, x, &options) : NULL;
	x = x ? wnnGraphBuilderReshape(b->l->b, x, b->shape, &b->l->options) : NULL;
	return shlo_lower_cast(b->l, x, shlo_held_type(element_of(b->l)));
}

/*
 * Returns the number of bits that are set, or of leading zeros, which is the number of powers of
 * two that are above x.
 */
static WNNOperand count_bits(const struct shlo_lower *l, WNNOperand x, bool leading_zeros)
{
	struct bits b;

	if (!x || !bits_init(&b, l, x))
		return NULL;
	return sum(&b, leading_zeros ?
			       shlo_lower_both(l, wnnGraphBuilderLesser, in_row(&b, x), b.powers) :
			       spread(&b, x));
}

static WNNOperand combine_bits(const struct shlo_lower *l, int op, WNNOperand x, WNNOperand y)
{
	struct bits b;
	WNNOperand z;

	if (!x || !y)
		return NULL;
	if (import_runs_on_cpu(l->b))
		return on_bits(l,
			       op == SHLO_B_AND ? wnnGraphBuilderLogicalAnd :
			       op == SHLO_B_OR	? wnnGraphBuilderLogicalOr :
						  wnnGraphBuilderLogicalXor,
			       x, y);
	/* In a region, a constant is a single number for all elements. */
	if (!bits_init(&b, l, elements_of(wnnOperandGetShape(x)) == 1 ? y : x))
		return NULL;
	x = spread(&b, x);
	y = spread(&b, y);
	z = shlo_lower_both(l,
			    op == SHLO_B_AND ? wnnGraphBuilderMul :
			    op == SHLO_B_OR  ? wnnGraphBuilderMax :
					       wnnGraphBuilderSub,
			    x, y);
	/* The difference of bits that differ is 1 or -1; its square is 1. */
	if (op == SHLO_B_XOR)
		z = shlo_lower_both(l, wnnGraphBuilderMul, z, z);
	return sum(&b, shlo_lower_both(l, wnnGraphBuilderMul, z, b.powers));
}

static bool is_integer(const struct shlo_lower *l)
{
	return shlo_is_computed(element_of(l)) && !shlo_is_float(element_of(l));
}

static bool has_few_bits(const struct shlo_lower *l)
{
	return shlo_type_count(shlo_operand_type(l, 0)) * shlo_elements[element_of(l)].bits <=
	       MOST_BITS;
}

bool shlo_lower_integers(const struct shlo_lower *l, WNNOperand *out)
{
	int op = l->op->kind->code;
	WNNOperand x = l->b ? shlo_lowered(l, 0) : NULL, y = l->b ? shlo_lowered(l, 1) : NULL;

	if (!is_integer(l))
		return false;
	switch (op) {
	case SHLO_B_DIVIDE:
	case SHLO_B_REMAINDER:
		if (l->b)
			*out = divide(l, x, y, op == SHLO_B_REMAINDER);
		return true;
	case SHLO_B_SHIFT_LEFT:
		if (l->b)
			*out = import_runs_on_cpu(l->b) ? on_bits(l, wnnGraphBuilderMul, x, y) :
							  shlo_lower_both(l, wnnGraphBuilderMul, x,
									  power_of_two(l, y));
		return true;
	case SHLO_B_SHIFT_RIGHT_ARITHMETIC:
		if (l->b)
			*out = shlo_lower_cast(l, shift_arithmetic(l, x, y),
					       shlo_held_type(element_of(l)));
		return true;
	case SHLO_B_SHIFT_RIGHT_LOGICAL:
		if (l->b)
			*out = shlo_lower_cast(l, shift_logical(l, x, y),
					       shlo_held_type(element_of(l)));
		return true;
	case SHLO_B_AND:
	case SHLO_B_OR:
	case SHLO_B_XOR:
		if (l->b)
			*out = combine_bits(l, op, x, y);
		return has_few_bits(l);
	default:
		return false;
	}
}

bool shlo_lower_bits_unary(const struct shlo_lower *l, WNNOperand *out)
{
	int op = l->op->kind->code;
	WNNOperand x = l->b ? shlo_lowered(l, 0) : NULL;

	if (!is_integer(l))
		return false;
	switch (op) {
	case SHLO_U_NOT:
		if (l->b)
			*out = inverted(l, x);
		return true;
	case SHLO_U_POPCNT:
	case SHLO_U_CLZ:
		if (l->b)
			*out = count_bits(l, x, op == SHLO_U_CLZ);
		return has_few_bits(l);
	default:
		return false;
	}
}
