// SPDX-License-Identifier: MIT
/* Translates element-wise operators, most of them to one operator of WebNN each. */
#include <math.h>
#include <string.h>

#include "ops.h"

typedef WNNOperand (*unary_function)(WNNGraphBuilder, WNNOperand, const WNNOperatorOptions *);
typedef WNNOperand (*binary_function)(WNNGraphBuilder, WNNOperand, WNNOperand,
				      const WNNOperatorOptions *);

static const unary_function unary_functions[] = {
	[U_ABS] = wnnGraphBuilderAbs,
	[U_CEIL] = wnnGraphBuilderCeil,
	[U_COS] = wnnGraphBuilderCos,
	[U_ERF] = wnnGraphBuilderErf,
	[U_EXP] = wnnGraphBuilderExp,
	[U_FLOOR] = wnnGraphBuilderFloor,
	[U_LOG] = wnnGraphBuilderLog,
	[U_NEG] = wnnGraphBuilderNeg,
	[U_RECIPROCAL] = wnnGraphBuilderReciprocal,
	[U_ROUND] = wnnGraphBuilderRoundEven,
	[U_SIGMOID] = wnnGraphBuilderSigmoid,
	[U_SIGN] = wnnGraphBuilderSign,
	[U_SIN] = wnnGraphBuilderSin,
	[U_SOFTPLUS] = wnnGraphBuilderSoftplus,
	[U_SOFTSIGN] = wnnGraphBuilderSoftsign,
	[U_SQRT] = wnnGraphBuilderSqrt,
	[U_TAN] = wnnGraphBuilderTan,
	[U_TANH] = wnnGraphBuilderTanh,
	[U_RELU] = wnnGraphBuilderRelu,
	[U_HARD_SWISH] = wnnGraphBuilderHardSwish,
	[U_NOT] = wnnGraphBuilderLogicalNot,
	[U_IS_NAN] = wnnGraphBuilderIsNaN,
};

int onnx_op_unary(struct onnx_node *node)
{
	int type = onnx_in_type(node, 0);
	WNNOperand x = onnx_in(node, 0);

	if (!x)
		return -1;
	if (type == ONNX_UINT8 || type == ONNX_UINT32 || type == ONNX_UINT64) {
		if (node->op->variant == U_ABS || node->op->variant == U_RELU)
			return onnx_out_value(node, 0, node->inputs[0]);
		if (node->op->variant == U_SIGN)
			return onnx_out(node, 0, x_min(node, x, x_like(node, x, 1)));
	}
	return onnx_out_as(node, 0, unary_functions[node->op->variant](node->b, x, &node->options),
			   node->op->variant == U_NOT || node->op->variant == U_IS_NAN ? ONNX_BOOL :
											 type);
}

static const binary_function binary_functions[] = {
	[B_ADD] = wnnGraphBuilderAdd,
	[B_SUB] = wnnGraphBuilderSub,
	[B_MUL] = wnnGraphBuilderMul,
	[B_DIV] = wnnGraphBuilderDiv,
	[B_MAX] = wnnGraphBuilderMax,
	[B_MIN] = wnnGraphBuilderMin,
	[B_EQUAL] = wnnGraphBuilderEqual,
	[B_GREATER] = wnnGraphBuilderGreater,
	[B_GREATER_OR_EQUAL] = wnnGraphBuilderGreaterOrEqual,
	[B_LESS] = wnnGraphBuilderLesser,
	[B_LESS_OR_EQUAL] = wnnGraphBuilderLesserOrEqual,
	[B_AND] = wnnGraphBuilderLogicalAnd,
	[B_OR] = wnnGraphBuilderLogicalOr,
	[B_XOR] = wnnGraphBuilderLogicalXor,
};

/*
 * Returns b, reshaped for broadcasting to a. Only operators before set 7 with the attribute
 * broadcast need it, where the attribute axis tells the first dimension of b in a. NULL: refused.
 */
static WNNOperand old_broadcast(struct onnx_node *node, WNNOperand a, WNNOperand b)
{
	struct onnx_shape shape = { 0 }, from, to;
	int64_t axis;

	if (node->version >= 7 || !onnx_attr_int(node, "broadcast", 0) || !a || !b)
		return b;
	to = x_shape(a);
	from = x_shape(b);
	axis = onnx_attr_int(node, "axis", (int64_t)to.rank - from.rank);
	if (axis < 0)
		axis += to.rank;
	if (axis < 0 || axis + from.rank > to.rank) {
		onnx_refuse(node, "axis", "axis is beyond the dimensions of the first input");
		return NULL;
	}
	shape.rank = to.rank - (uint32_t)axis;
	for (uint32_t i = 0; i < shape.rank; i++)
		shape.dim[i] = i < from.rank ? from.dim[i] : 1;
	return x_reshape(node, b, &shape);
}

static bool all_zero(const struct onnx_value *value)
{
	int64_t elements = onnx_shape_elements(&value->shape);

	if (!value->data || elements > 65536 || value->sequence)
		return false;
	for (int64_t i = 0; i < elements; i++)
		if (onnx_value_float(value, (size_t)i) != 0)
			return false;
	return true;
}

/*
 * Translates 0 * (random number) as 0, so that no number is drawn. Returns 0, -1 when refused, or 1
 * when the node is no such product.
 */
static int zero_times_drawn(struct onnx_node *node)
{
	struct onnx_value *a, *b;
	struct onnx_shape shape;

	if (node->op->variant != B_MUL || !onnx_has(node, 0) || !onnx_has(node, 1))
		return 1;
	a = node->inputs[0];
	b = node->inputs[1];
	if (!(a->draw && all_zero(b)) && !(b->draw && all_zero(a)))
		return 1;
	if (!onnx_shape_broadcast(&a->shape, &b->shape, &shape))
		return 1;
	return onnx_out(node, 0,
			x_expand(node, x_number(node, onnx_type_webnn(a->type), 0), &shape));
}

int onnx_op_binary(struct onnx_node *node)
{
	int variant = node->op->variant, zero = zero_times_drawn(node);
	WNNOperand a = zero == 1 ? onnx_in(node, 0) : NULL;
	WNNOperand b = a ? onnx_in(node, 1) : NULL;

	if (zero != 1)
		return zero;
	b = old_broadcast(node, a, b);
	if (!b)
		return -1;
	return onnx_out_as(node, 0, binary_functions[variant](node->b, a, b, &node->options),
			   variant >= B_EQUAL ? ONNX_BOOL : onnx_in_type(node, 0));
}

int onnx_op_variadic(struct onnx_node *node)
{
	WNNOperand sum = onnx_in(node, 0);
	int variant = node->op->variant == B_MEAN ? B_ADD : node->op->variant;

	if (!sum)
		return -1;
	for (size_t i = 1; i < node->input_count; i++) {
		WNNOperand next = onnx_in(node, i);

		if (!next)
			return -1;
		sum = binary_functions[variant](node->b, sum, next, &node->options);
	}
	if (node->op->variant == B_MEAN)
		sum = x_div(node, sum, x_like(node, sum, (double)node->input_count));
	if (node->input_count == 1 && node->op->variant != B_MEAN)
		return onnx_out_value(node, 0, node->inputs[0]);
	return onnx_out_as(node, 0, sum, onnx_in_type(node, 0));
}

int onnx_op_pow(struct onnx_node *node)
{
	WNNOperand a = onnx_in(node, 0);
	WNNOperand b = a ? onnx_in(node, 1) : NULL;
	WNNOperandDataType type = wnnOperandGetDataType(a);

	b = old_broadcast(node, a, b);
	if (!b)
		return -1;
	if (!onnx_type_is_float(onnx_in_type(node, 0)) &&
	    onnx_type_is_float(onnx_in_type(node, 1))) {
		a = x_pow(node, x_cast(node, a, wnnOperandGetDataType(b)), b);
		return onnx_out(node, 0, x_cast(node, a, type));
	}
	return onnx_out(node, 0, x_pow(node, a, x_cast(node, b, type)));
}

int onnx_op_bitwise_not(struct onnx_node *node)
{
	int type = onnx_in_type(node, 0);
	WNNOperand x = onnx_in(node, 0);
	WNNOperandDataType webnn = wnnOperandGetDataType(x);
	WNNOperand ones;

	if (!x)
		return -1;
	if (type == ONNX_UINT64)
		ones = wnnGraphBuilderConstantFromNumber(node->b, webnn,
							 WNN_NUMBER_UINT64(UINT64_MAX));
	else if (type == ONNX_UINT8 || type == ONNX_UINT32)
		ones = x_integer(node, webnn, type == ONNX_UINT8 ? UINT8_MAX : UINT32_MAX);
	else
		ones = x_integer(node, webnn, -1);
	return onnx_out(node, 0, x_sub(node, ones, x));
}

/* Returns the lowest bit of *x as 0 or 1 in its type, and halves *x. */
static WNNOperand take_bit(struct onnx_node *node, WNNOperand *x, WNNOperand two)
{
	WNNOperand half = x_div(node, *x, two);
	WNNOperand bit = x_sub(node, *x, x_mul(node, half, two));

	*x = half;
	return bit;
}

static const import_combine_fn bitwise_functions[] = {
	[B_AND] = wnnGraphBuilderLogicalAnd,
	[B_OR] = wnnGraphBuilderLogicalOr,
	[B_XOR] = wnnGraphBuilderLogicalXor,
};

/*
 * Translates bitwise operators. The NPU has none: there, both numbers are split into bits, which
 * are combined one by one. Signed numbers are computed as the unsigned numbers with their bits.
 */
int onnx_op_bitwise(struct onnx_node *node)
{
	int type = onnx_in_type(node, 0);
	unsigned int bits = onnx_type_bits(type);
	WNNOperand a = onnx_in(node, 0);
	WNNOperand b = a ? onnx_in(node, 1) : NULL;
	WNNOperand two, power, sum = NULL;

	if (!b)
		return -1;
	if (import_runs_on_cpu(node->b))
		return onnx_out(node, 0,
				import_integers(node->b, bitwise_functions[node->op->variant],
						WNNIntegerFunction_Bits, a, b, &node->options));
	if (type == ONNX_INT8 || type == ONNX_INT32 || type == ONNX_INT64) {
		/* A cast to unsigned keeps the bits of a two's complement number. */
		WNNOperandDataType wide = type == ONNX_INT64 ? WNNOperandDataType_Uint64 :
					  type == ONNX_INT32 ? WNNOperandDataType_Uint32 :
							       WNNOperandDataType_Uint8;

		a = x_cast(node, a, wide);
		b = x_cast(node, b, wide);
	}
	if (onnx_unroll(node, bits * 8))
		return -1;
	two = x_like(node, a, 2);
	power = x_like(node, a, 1);
	for (unsigned int i = 0; i < bits; i++) {
		WNNOperand x = take_bit(node, &a, two), y = take_bit(node, &b, two);
		WNNOperand bit = node->op->variant == B_AND ?
					 x_min(node, x, y) :
				 node->op->variant == B_OR ?
					 x_max(node, x, y) :
					 x_sub(node, x_max(node, x, y), x_min(node, x, y));

		bit = x_mul(node, bit, power);
		sum = sum ? x_add(node, sum, bit) : bit;
		power = x_mul(node, power, two);
	}
	return onnx_out(node, 0, x_cast(node, sum, onnx_type_webnn(type)));
}

int onnx_op_where(struct onnx_node *node)
{
	WNNOperand condition = onnx_in(node, 0);
	WNNOperand a = condition ? onnx_in(node, 1) : NULL;
	WNNOperand b = a ? onnx_in(node, 2) : NULL;

	if (!b)
		return -1;
	return onnx_out_as(node, 0, x_where(node, condition, a, b), onnx_in_type(node, 1));
}

/*
 * Reads the bounds of Clip if both are constant or absent. Returns 0; -1: refused; 1: a bound is
 * not constant, and operators have to apply the bounds.
 */
static int clip_bounds(struct onnx_node *node, double *low, double *high)
{
	if (node->version < 11) {
		*low = onnx_attr_float(node, "min", -INFINITY);
		*high = onnx_attr_float(node, "max", INFINITY);
		return 0;
	}
	if ((onnx_has(node, 1) && !node->inputs[1]->data) ||
	    (onnx_has(node, 2) && !node->inputs[2]->data))
		return 1;
	return onnx_in_float(node, 1, "min", low) || onnx_in_float(node, 2, "max", high) ? -1 : 0;
}

int onnx_op_clip(struct onnx_node *node)
{
	double low = -INFINITY, high = INFINITY;
	int type = onnx_in_type(node, 0);
	WNNOperand x = onnx_in(node, 0);
	int variable = x ? clip_bounds(node, &low, &high) : -1;

	if (variable < 0)
		return -1;
	if (!variable && (onnx_type_is_float(type) || onnx_type_bits(type) <= 32) && low <= high)
		return onnx_out(node, 0, x_clamp(node, x, low, high));
	if (!variable && node->version < 11)
		return low <= high ?
			       onnx_refuse(node, "", "its input is of type %s instead of float",
					   onnx_type_name(type)) :
			       onnx_refuse(node, "min", "min is greater than max");
	if (onnx_has(node, 1))
		x = x_max(node, x, onnx_in(node, 1));
	if (onnx_has(node, 2))
		x = x_min(node, x, onnx_in(node, 2));
	return onnx_out(node, 0, x);
}

int onnx_op_dropout(struct onnx_node *node)
{
	double ratio = 0.5;
	const int64_t *training;
	size_t count;

	if (onnx_in_ints(node, 2, "training_mode", &training, &count))
		return -1;
	if (count && training[0]) {
		if (onnx_in_float(node, 1, "ratio", &ratio))
			return -1;
		if (ratio != 0)
			return onnx_refuse(node, "training_mode",
					   "dropout in training is random, which graphs are "
					   "not: export the model for inference");
	}
	if (node->version < 7 && !onnx_attr_int(node, "is_test", 0))
		return onnx_refuse(node, "is_test",
				   "dropout in training is random, which graphs are "
				   "not: export the model for inference");
	if (!onnx_in(node, 0))
		return -1;
	onnx_out_value(node, 0, node->inputs[0]);
	if (!onnx_wants(node, 1))
		return 0;
	if (node->version < 10)
		return onnx_out(node, 1,
				x_expand(node, x_like(node, onnx_in(node, 0), 1),
					 onnx_in_shape(node, 0)));
	return onnx_out_bool(node, 1,
			     x_expand(node, x_number(node, WNNOperandDataType_Uint8, 1),
				      onnx_in_shape(node, 0)));
}

int onnx_op_identity(struct onnx_node *node)
{
	if (!onnx_has(node, 0))
		return onnx_refuse(node, "", "input 0 is missing");
	return onnx_out_value(node, 0, node->inputs[0]);
}
