// SPDX-License-Identifier: MIT
/* Translates element-wise operations to operators of WebNN that compute the same. */
#include "lower.h"

#include <math.h>
#include <string.h>

#include "program.h"

typedef WNNOperand (*unary_fn)(WNNGraphBuilder, WNNOperand, WNNOperatorOptions const *);

static enum shlo_element element_of(const struct shlo_lower *l, size_t operand)
{
	return l->op->operands[operand]->type->element;
}

/*
 * Returns the operator for an operation on one operand; NULL when there is none. These operators
 * are exact on all devices, or are functions of f32 and f16 that NPU and CPU compute within three
 * units in the last place. Sign is not among them: WebNN's differs for NaN and -0, and it takes no
 * integers.
 */
static unary_fn unary_of(int op, enum shlo_element element)
{
	bool real = shlo_is_float(element);

	switch (op) {
	case SHLO_U_ABS:
		return real ? wnnGraphBuilderAbs : NULL;
	case SHLO_U_NEGATE:
		return real || shlo_class(element) == SHLO_SIGNED ? wnnGraphBuilderNeg : NULL;
	case SHLO_U_CEIL:
		return real ? wnnGraphBuilderCeil : NULL;
	case SHLO_U_FLOOR:
		return real ? wnnGraphBuilderFloor : NULL;
	case SHLO_U_ROUND_EVEN:
		return real ? wnnGraphBuilderRoundEven : NULL;
	case SHLO_U_SQRT:
		return real ? wnnGraphBuilderSqrt : NULL;
	case SHLO_U_EXP:
		return real ? wnnGraphBuilderExp : NULL;
	case SHLO_U_LOG:
		return real ? wnnGraphBuilderLog : NULL;
	case SHLO_U_SINE:
		return real ? wnnGraphBuilderSin : NULL;
	case SHLO_U_COSINE:
		return real ? wnnGraphBuilderCos : NULL;
	case SHLO_U_TAN:
		return real ? wnnGraphBuilderTan : NULL;
	case SHLO_U_ERF:
		return real ? wnnGraphBuilderErf : NULL;
	case SHLO_U_TANH:
		return real ? wnnGraphBuilderTanh : NULL;
	case SHLO_U_LOGISTIC:
		return real ? wnnGraphBuilderSigmoid : NULL;
	default:
		return NULL;
	}
}

static WNNOperand number_of(const struct shlo_lower *l, double real)
{
	enum shlo_element element = element_of(l, 0);
	WNNNumber number = WNN_NUMBER_INIT;

	number.kind = shlo_is_float(element) ? WNNNumberKind_Double : WNNNumberKind_Int64;
	number.doubleValue = real;
	if (!shlo_is_float(element))
		number.int64Value = (int64_t)real;
	return wnnGraphBuilderConstantFromNumber(l->b, shlo_held_type(element), number);
}

static WNNOperand one(const struct shlo_lower *l, unary_fn make, WNNOperand a)
{
	return a ? make(l->b, a, &l->options) : NULL;
}

/*
 * Returns the sign of x; where x is neither above nor below zero, x itself: a zero with its sign,
 * or NaN.
 */
static WNNOperand sign(const struct shlo_lower *l, WNNOperand x)
{
	WNNOperand plus = number_of(l, 1), minus, zero;

	if (shlo_class(element_of(l, 0)) == SHLO_UNSIGNED)
		return shlo_lower_both(l, wnnGraphBuilderMin, x, plus);
	minus = number_of(l, -1);
	if (!shlo_is_float(element_of(l, 0)))
		return shlo_lower_both(l, wnnGraphBuilderMax,
				       shlo_lower_both(l, wnnGraphBuilderMin, x, plus), minus);
	zero = number_of(l, 0);
	return shlo_lower_choice(
		l, shlo_lower_both(l, wnnGraphBuilderGreater, x, zero), plus,
		shlo_lower_choice(l, shlo_lower_both(l, wnnGraphBuilderLesser, x, zero), minus, x));
}

/* Rounds to the nearest integer, halves away from zero. Whole numbers and infinities stay. */
static WNNOperand round_away(const struct shlo_lower *l, WNNOperand x)
{
	WNNOperand size = one(l, wnnGraphBuilderAbs, x), whole = one(l, wnnGraphBuilderFloor, size);
	WNNOperand rest = shlo_lower_both(l, wnnGraphBuilderSub, size, whole);
	WNNOperand up = shlo_lower_both(l, wnnGraphBuilderGreaterOrEqual, rest, number_of(l, 0.5));
	WNNOperand rounded = shlo_lower_choice(
		l, up, shlo_lower_both(l, wnnGraphBuilderAdd, whole, number_of(l, 1)), whole);

	rounded = shlo_lower_choice(l,
				    shlo_lower_both(l, wnnGraphBuilderLesser, x, number_of(l, 0)),
				    one(l, wnnGraphBuilderNeg, rounded), rounded);
	return shlo_lower_choice(l, shlo_lower_both(l, wnnGraphBuilderEqual, whole, size), x,
				 rounded);
}

/*
 * Returns 1 / sqrt(x). Computes float16 in float32, since the square root and the quotient would
 * both round to float16.
 */
static WNNOperand reciprocal_root(const struct shlo_lower *l, WNNOperand x)
{
	WNNNumber number = WNN_NUMBER_INIT;
	WNNOperand unit;

	number.kind = WNNNumberKind_Double;
	number.doubleValue = 1;
	unit = wnnGraphBuilderConstantFromNumber(l->b, WNNOperandDataType_Float32, number);
	if (element_of(l, 0) == SHLO_F32)
		return shlo_lower_both(l, wnnGraphBuilderDiv, unit, one(l, wnnGraphBuilderSqrt, x));
	x = wnnGraphBuilderCast(l->b, x, WNNOperandDataType_Float32, &l->options);
	x = shlo_lower_both(l, wnnGraphBuilderDiv, unit, one(l, wnnGraphBuilderSqrt, x));
	return x ? wnnGraphBuilderCast(l->b, x, WNNOperandDataType_Float16, &l->options) : NULL;
}

/*
 * Translates functions that take a few operators; false: the operation is another one, or has
 * another type.
 */
static bool lower_composed(const struct shlo_lower *l, WNNOperand *out)
{
	enum shlo_element element = element_of(l, 0);
	bool real = shlo_is_float(element);
	WNNOperand x = l->b ? shlo_lowered(l, 0) : NULL;

	switch (l->op->kind->code) {
	case SHLO_U_SIGN:
		if (l->b)
			*out = sign(l, x);
		return true;
	case SHLO_U_ABS: /* integers only */
		if (l->b)
			*out = shlo_lower_both(l, wnnGraphBuilderMax, x,
					       one(l, wnnGraphBuilderNeg, x));
		return shlo_class(element) == SHLO_SIGNED;
	case SHLO_U_ROUND_AFZ:
		if (l->b)
			*out = round_away(l, x);
		return real;
	case SHLO_U_RSQRT:
		if (l->b)
			*out = reciprocal_root(l, x);
		return real;
	case SHLO_U_IS_FINITE:
		if (l->b)
			*out = shlo_lower_both(l, wnnGraphBuilderLesser,
					       one(l, wnnGraphBuilderAbs, x),
					       number_of(l, INFINITY));
		return real;
	case SHLO_U_IS_INF:
		if (l->b)
			*out = shlo_lower_both(l, wnnGraphBuilderEqual,
					       one(l, wnnGraphBuilderAbs, x),
					       number_of(l, INFINITY));
		return real;
	case SHLO_U_IS_POS_INF:
	case SHLO_U_IS_NEG_INF:
		if (l->b)
			*out = shlo_lower_both(l, wnnGraphBuilderEqual, x,
					       number_of(l, l->op->kind->code == SHLO_U_IS_POS_INF ?
								    INFINITY :
								    -INFINITY));
		return real;
	case SHLO_U_NEGATE: /* unsigned integers only */
		if (l->b)
			*out = shlo_lower_both(l, wnnGraphBuilderSub, number_of(l, 0), x);
		return true;
	case SHLO_U_SQUARE:
		if (l->b)
			*out = shlo_lower_both(l, wnnGraphBuilderMul, x, x);
		return true;
	default:
		return shlo_lower_bits_unary(l, out);
	}
}

bool shlo_lower_unary(struct shlo_lower *l, WNNOperand *out)
{
	enum shlo_element element = element_of(l, 0);
	unary_fn make;

	if (element == SHLO_I1 && l->op->kind->code == SHLO_U_NOT)
		make = wnnGraphBuilderLogicalNot;
	else
		make = shlo_is_computed(element) ? unary_of(l->op->kind->code, element) : NULL;
	if (!make && shlo_is_computed(element))
		return lower_composed(l, out);
	if (!make || !l->b)
		return make != NULL;
	*out = make(l->b, shlo_lowered(l, 0), &l->options);
	return true;
}

shlo_combine_fn shlo_binary_of(int op, enum shlo_element element)
{
	if (element == SHLO_I1)
		return op == SHLO_B_AND || op == SHLO_B_MULTIPLY || op == SHLO_B_MINIMUM ?
			       wnnGraphBuilderLogicalAnd :
		       op == SHLO_B_OR || op == SHLO_B_ADD || op == SHLO_B_MAXIMUM ?
			       wnnGraphBuilderLogicalOr :
		       op == SHLO_B_XOR ? wnnGraphBuilderLogicalXor :
					  NULL;
	if (!shlo_is_computed(element))
		return NULL;
	switch (op) {
	case SHLO_B_ADD:
		return wnnGraphBuilderAdd;
	case SHLO_B_SUBTRACT:
		return wnnGraphBuilderSub;
	case SHLO_B_MULTIPLY:
		return wnnGraphBuilderMul;
	case SHLO_B_DIVIDE:
		/*
		 * Integers, which need a rule for division by zero, are left to
		 * shlo_lower_integers().
		 */
		return shlo_is_float(element) ? wnnGraphBuilderDiv : NULL;
	case SHLO_B_POWER:
		return wnnGraphBuilderPow;
	case SHLO_B_MAXIMUM:
		return wnnGraphBuilderMax;
	case SHLO_B_MINIMUM:
		return wnnGraphBuilderMin;
	default:
		return NULL;
	}
}

bool shlo_lower_binary(struct shlo_lower *l, WNNOperand *out)
{
	shlo_combine_fn make = shlo_binary_of(l->op->kind->code, element_of(l, 0));

	if (!make)
		return shlo_lower_integers(l, out);
	if (!l->b)
		return true;
	*out = make(l->b, shlo_lowered_narrow(l, 0), shlo_lowered_narrow(l, 1), &l->options);
	return true;
}

static const shlo_combine_fn comparisons[] = {
	[SHLO_EQ] = wnnGraphBuilderEqual,	   [SHLO_NE] = wnnGraphBuilderNotEqual,
	[SHLO_GE] = wnnGraphBuilderGreaterOrEqual, [SHLO_GT] = wnnGraphBuilderGreater,
	[SHLO_LE] = wnnGraphBuilderLesserOrEqual,  [SHLO_LT] = wnnGraphBuilderLesser,
};

/* ---- the total order of floats, where neither a sign of NaN nor one of zero can be seen */

static bool is_op(const struct shlo_value *value, const char *name)
{
	return value->op && value->op->kind && !strcmp(value->op->name, name);
}

/* Whether a value is a constant with a single number; sets *number and *bits. */
static bool is_number(const struct shlo_value *value, struct shlo_num *number, uint64_t *bits)
{
	const struct shlo_attr *attr = NULL;

	if (value->op && value->op->kind && value->op->kind->family == SHLO_CONSTANT)
		attr = shlo_attr_find(&value->op->attrs, "value");
	if (!attr || attr->kind != SHLO_ATTR_DENSE ||
	    (!attr->splat && shlo_type_count(value->type) != 1))
		return false;
	*number = shlo_load(value->type->element, attr->data, 0);
	*bits = 0;
	memcpy(bits, attr->data, shlo_elements[value->type->element].bytes);
	return true;
}

/*
 * Whether a value is a select by a comparison, not of total order, in this direction; sets *x and
 * *y to what it compares.
 */
static bool replaces(const struct shlo_value *value, int direction, const struct shlo_value **x,
		     const struct shlo_value **y)
{
	const struct shlo_op *compare;

	if (!is_op(value, "stablehlo.select") ||
	    !is_op(value->op->operands[0], "stablehlo.compare"))
		return false;
	compare = value->op->operands[0]->op;
	*x = compare->operands[0];
	*y = compare->operands[1];
	return (int)shlo_direction_of(compare) == direction &&
	       strcmp(shlo_attr_text(compare, "compare_type", ""), "TOTALORDER");
}

/* Whether zeros are canonical: the value is select(x == 0, +0, x). */
static bool has_one_zero(const struct shlo_value *value)
{
	const struct shlo_value *x, *y;
	struct shlo_num zero, plus;
	uint64_t zero_bits, bits;

	return replaces(value, SHLO_EQ, &x, &y) && is_number(y, &zero, &zero_bits) &&
	       zero.re == 0 && is_number(value->op->operands[1], &plus, &bits) && !bits &&
	       value->op->operands[2] == x;
}

/*
 * Whether NaN and zeros are canonical: the value is select(x != x, NaN, y), where y is x with all
 * zeros made +0.
 */
static bool is_canonical(const struct shlo_value *value)
{
	const struct shlo_value *x, *y, *rest;
	enum shlo_element element = value->type->element;
	struct shlo_num number;
	uint64_t bits;

	if (!replaces(value, SHLO_NE, &x, &y) || x != y ||
	    !is_number(value->op->operands[1], &number, &bits) ||
	    bits != (element == SHLO_F16 ? 0x7e00 : 0x7fc00000))
		return false;
	rest = value->op->operands[2];
	return has_one_zero(rest) && rest->op->operands[2] == x;
}

/*
 * Compares in total order the operands of a compare whose NaN and zeros are canonical: NaN is above
 * all numbers, and no zero is -0. NULL: refused.
 */
static WNNOperand compare_canonical(const struct shlo_lower *l, enum shlo_direction direction)
{
	bool swapped = direction == SHLO_GT || direction == SHLO_GE;
	WNNOperand a = shlo_lowered(l, swapped), b = shlo_lowered(l, !swapped);
	WNNOperand nan_a = shlo_lower_both(l, wnnGraphBuilderNotEqual, a, a);
	WNNOperand nan_b = shlo_lower_both(l, wnnGraphBuilderNotEqual, b, b);
	WNNOperand same;

	switch (direction) {
	case SHLO_LT:
	case SHLO_GT:
		return shlo_lower_both(l, wnnGraphBuilderLogicalOr,
				       shlo_lower_both(l, wnnGraphBuilderLesser, a, b),
				       shlo_lower_both(l, wnnGraphBuilderGreater, nan_b, nan_a));
	case SHLO_LE:
	case SHLO_GE:
		return shlo_lower_both(l, wnnGraphBuilderLogicalOr,
				       shlo_lower_both(l, wnnGraphBuilderLesserOrEqual, a, b),
				       nan_b);
	default:
		same = shlo_lower_both(l, wnnGraphBuilderLogicalOr,
				       shlo_lower_both(l, wnnGraphBuilderEqual, a, b),
				       shlo_lower_both(l, wnnGraphBuilderLogicalAnd, nan_a, nan_b));
		return direction == SHLO_EQ || !same ?
			       same :
			       wnnGraphBuilderLogicalNot(l->b, same, &l->options);
	}
}

bool shlo_lower_compare(struct shlo_lower *l, WNNOperand *out)
{
	enum shlo_element element = element_of(l, 0);
	enum shlo_direction direction = shlo_direction_of(l->op);

	if (!shlo_is_computed(element) && element != SHLO_I1)
		return false;
	if (shlo_is_float(element) &&
	    !strcmp(shlo_attr_text(l->op, "compare_type", ""), "TOTALORDER")) {
		if (l->b)
			*out = compare_canonical(l, direction);
		return is_canonical(l->op->operands[0]) && is_canonical(l->op->operands[1]);
	}
	if (l->b)
		*out = comparisons[direction](l->b, shlo_lowered_narrow(l, 0),
					      shlo_lowered_narrow(l, 1), &l->options);
	return true;
}

bool shlo_lower_select(struct shlo_lower *l, WNNOperand *out)
{
	enum shlo_element element = element_of(l, 1);

	/*
	 * 16-bit patterns of another type than float16 might change when a graph computes with them
	 * as float16.
	 */
	if (shlo_held_type(element) == WNNOperandDataType_Float16 && element != SHLO_F16)
		return false;
	if (l->b)
		*out = wnnGraphBuilderWhere(l->b, shlo_lowered_narrow(l, 0),
					    shlo_lowered_narrow(l, 1), shlo_lowered_narrow(l, 2),
					    &l->options);
	return true;
}

bool shlo_lower_clamp(struct shlo_lower *l, WNNOperand *out)
{
	WNNOperand x;

	if (!shlo_is_computed(element_of(l, 1)))
		return false;
	if (!l->b)
		return true;
	x = wnnGraphBuilderMax(l->b, shlo_lowered(l, 1), shlo_lowered(l, 0), &l->options);
	*out = x ? wnnGraphBuilderMin(l->b, x, shlo_lowered(l, 2), &l->options) : NULL;
	return true;
}

bool shlo_lower_convert(struct shlo_lower *l, WNNOperand *out)
{
	enum shlo_element from = element_of(l, 0), to = l->op->results[0]->type->element;
	WNNOperand zero;

	if ((!shlo_is_computed(from) && from != SHLO_I1) ||
	    (!shlo_is_computed(to) && to != SHLO_I1))
		return false;
	if (!l->b)
		return true;
	if (to == SHLO_I1 && from != SHLO_I1) {
		WNNNumber number = WNN_NUMBER_INIT;

		zero = wnnGraphBuilderConstantFromNumber(l->b, shlo_held_type(from), number);
		*out = zero ? wnnGraphBuilderNotEqual(l->b, shlo_lowered(l, 0), zero, &l->options) :
			      NULL;
		return true;
	}
	*out = wnnGraphBuilderCast(l->b, shlo_lowered(l, 0), shlo_held_type(to), &l->options);
	return true;
}
