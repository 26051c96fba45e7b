// SPDX-License-Identifier: MIT
/*
 * The rules of element-wise operators: functions of one, two and three operands, activations, cast,
 * clamp. They check a call, infer the type of its result and emit an IR node.
 */
#include <math.h>

#include "graph/rules.h"

/* Returns the function of the IR for an operator; the rules below set its parameters. */
static int unary_kind(enum wnn_op op)
{
	switch (op) {
	case WNN_OP_ABS:
		return IR_ABS;
	case WNN_OP_CEIL:
		return IR_CEIL;
	case WNN_OP_COS:
		return IR_COS;
	case WNN_OP_ERF:
		return IR_ERF;
	case WNN_OP_EXP:
		return IR_EXP;
	case WNN_OP_FLOOR:
		return IR_FLOOR;
	case WNN_OP_LOG:
		return IR_LOG;
	case WNN_OP_NEG:
		return IR_NEG;
	case WNN_OP_RECIPROCAL:
		return IR_RECIPROCAL;
	case WNN_OP_ROUND_EVEN:
		return IR_ROUND_EVEN;
	case WNN_OP_SIN:
		return IR_SIN;
	case WNN_OP_SIGN:
		return IR_SIGN;
	case WNN_OP_SQRT:
		return IR_SQRT;
	case WNN_OP_TAN:
		return IR_TAN;
	case WNN_OP_ELU:
		return IR_ELU;
	case WNN_OP_GELU:
		return IR_GELU;
	case WNN_OP_HARD_SIGMOID:
		return IR_HARD_SIGMOID;
	case WNN_OP_HARD_SWISH:
		return IR_HARD_SWISH;
	case WNN_OP_LEAKY_RELU:
		return IR_LEAKY_RELU;
	case WNN_OP_LINEAR:
		return IR_LINEAR;
	case WNN_OP_RELU:
		return IR_RELU;
	case WNN_OP_SIGMOID:
		return IR_SIGMOID;
	case WNN_OP_SOFTPLUS:
		return IR_SOFTPLUS;
	case WNN_OP_SOFTSIGN:
		return IR_SOFTSIGN;
	case WNN_OP_TANH:
		return IR_TANH;
	case WNN_OP_LOGICAL_NOT:
		return IR_LOGICAL_NOT;
	case WNN_OP_IS_NAN:
		return IR_IS_NAN;
	case WNN_OP_IS_INFINITE:
		return IR_IS_INFINITE;
	default:
		return IR_UNARY_NONE;
	}
}

int rule_unary(struct wnn_rule *rule)
{
	const struct ir_type *type = rule_type(rule, 0);
	union ir_attrs attrs = { .unary = { .kind = unary_kind(rule->call->op) } };
	double alpha = 0, beta = 0;

	switch (rule->call->op) {
	case WNN_OP_ELU:
		alpha = rule_options(rule, WNNEluOptions)->alpha;
		break;
	case WNN_OP_LEAKY_RELU:
		alpha = rule_options(rule, WNNLeakyReluOptions)->alpha;
		break;
	case WNN_OP_HARD_SIGMOID:
		alpha = rule_options(rule, WNNHardSigmoidOptions)->alpha;
		beta = rule_options(rule, WNNHardSigmoidOptions)->beta;
		break;
	case WNN_OP_LINEAR:
		alpha = rule_options(rule, WNNLinearOptions)->alpha;
		beta = rule_options(rule, WNNLinearOptions)->beta;
		break;
	default:
		break;
	}
	if (ir_dtype_is_float(type->dtype)) {
		attrs.unary.alpha = wnn_double_cast(type->dtype, alpha);
		attrs.unary.beta = wnn_double_cast(type->dtype, beta);
	}
	return rule_emit_call(rule, IR_OP_UNARY, type, &attrs);
}

int rule_unary_to_uint8(struct wnn_rule *rule)
{
	union ir_attrs attrs = { .unary = { .kind = unary_kind(rule->call->op) } };
	struct ir_type type = *rule_type(rule, 0);

	type.dtype = IR_U8;
	return rule_emit_call(rule, IR_OP_UNARY, &type, &attrs);
}

/* Returns the number that the bits of a signed integer element stand for. */
static int64_t sign_extend(enum ir_dtype dtype, uint64_t bits)
{
	unsigned int shift = 64 - (unsigned int)ir_dtype_bits(dtype);

	return (int64_t)(bits << shift) >> shift;
}

/*
 * Sets the bounds of clamp for a floating-point type. A bound that is absent or NaN does not limit.
 * Returns 0, or -1 when the lower bound is above the upper one.
 */
static int clamp_float(struct wnn_rule *rule, enum ir_dtype dtype, const WNNClampOptions *options,
		       struct ir_unary_attrs *clamp)
{
	clamp->alpha = -INFINITY;
	clamp->beta = INFINITY;
	if (options->minValue.kind)
		clamp->alpha = wnn_number_float(dtype, &options->minValue);
	if (options->maxValue.kind)
		clamp->beta = wnn_number_float(dtype, &options->maxValue);
	if (isnan(clamp->alpha))
		clamp->alpha = -INFINITY;
	if (isnan(clamp->beta))
		clamp->beta = INFINITY;
	if (clamp->alpha > clamp->beta)
		return rule_error(rule, "minValue %.9g is greater than maxValue %.9g",
				  (double)clamp->alpha, (double)clamp->beta);
	return 0;
}

static int clamp_integer(struct wnn_rule *rule, enum ir_dtype dtype, const WNNClampOptions *options,
			 struct ir_unary_attrs *clamp)
{
	WNNNumber lowest = { WNNNumberKind_Double, -INFINITY, 0, 0 };
	WNNNumber highest = { WNNNumberKind_Double, INFINITY, 0, 0 };
	uint64_t lo, hi;

	if (options->minValue.kind)
		lowest = options->minValue;
	if (options->maxValue.kind)
		highest = options->maxValue;
	lo = wnn_number_bits(dtype, &lowest);
	hi = wnn_number_bits(dtype, &highest);
	if (ir_dtype_is_unsigned(dtype)) {
		clamp->ulo = lo;
		clamp->uhi = hi;
		if (lo > hi)
			return rule_error(rule,
					  "minValue %" PRIu64 " is greater than maxValue %" PRIu64,
					  lo, hi);
		return 0;
	}
	clamp->ilo = sign_extend(dtype, lo);
	clamp->ihi = sign_extend(dtype, hi);
	if (clamp->ilo > clamp->ihi)
		return rule_error(rule, "minValue %" PRId64 " is greater than maxValue %" PRId64,
				  clamp->ilo, clamp->ihi);
	return 0;
}

int rule_clamp(struct wnn_rule *rule)
{
	const WNNClampOptions *options = rule_options(rule, WNNClampOptions);
	const struct ir_type *type = rule_type(rule, 0);
	union ir_attrs attrs = { .unary = { .kind = IR_CLAMP } };
	int ret;

	if (ir_dtype_is_float(type->dtype))
		ret = clamp_float(rule, type->dtype, options, &attrs.unary);
	else
		ret = clamp_integer(rule, type->dtype, options, &attrs.unary);
	return ret ? ret : rule_emit_call(rule, IR_OP_UNARY, type, &attrs);
}

static enum ir_binary binary_kind(enum wnn_op op)
{
	switch (op) {
	case WNN_OP_ADD:
		return IR_ADD;
	case WNN_OP_SUB:
		return IR_SUB;
	case WNN_OP_MUL:
		return IR_MUL;
	case WNN_OP_DIV:
		return IR_DIV;
	case WNN_OP_MAX:
		return IR_MAX;
	case WNN_OP_MIN:
		return IR_MIN;
	case WNN_OP_POW:
		return IR_POW;
	case WNN_OP_PRELU:
		return IR_PRELU;
	case WNN_OP_LOGICAL_AND:
		return IR_AND;
	case WNN_OP_LOGICAL_OR:
		return IR_OR;
	case WNN_OP_LOGICAL_XOR:
		return IR_XOR;
	case WNN_OP_EQUAL:
		return IR_EQ;
	case WNN_OP_NOT_EQUAL:
		return IR_NE;
	case WNN_OP_GREATER:
		return IR_GT;
	case WNN_OP_GREATER_OR_EQUAL:
		return IR_GE;
	case WNN_OP_LESSER:
		return IR_LT;
	case WNN_OP_LESSER_OR_EQUAL:
		return IR_LE;
	default:
		return IR_BINARY_COUNT;
	}
}

/* Returns the IR function that a structure in the operator's chain selects; -1: there is none. */
static int integer_kind(enum wnn_op op, WNNIntegerFunction function)
{
	if (op == WNN_OP_DIV && function == WNNIntegerFunction_Remainder)
		return IR_REMAINDER;
	if (op == WNN_OP_DIV && function == WNNIntegerFunction_FlooredRemainder)
		return IR_FLOORED_REMAINDER;
	if (function != WNNIntegerFunction_Bits)
		return -1;
	switch (op) {
	case WNN_OP_LOGICAL_AND:
		return IR_BIT_AND;
	case WNN_OP_LOGICAL_OR:
		return IR_BIT_OR;
	case WNN_OP_LOGICAL_XOR:
		return IR_BIT_XOR;
	case WNN_OP_MUL:
		return IR_SHIFT_LEFT;
	default:
		return IR_SHIFT_RIGHT;
	}
}

static int set_integer_kind(struct wnn_rule *rule, enum ir_binary *kind)
{
	const WNNIntegerDetails *details =
		(const WNNIntegerDetails *)rule_options(rule, WNNOperatorOptions)->nextInChain;
	int integer;

	if (!details)
		return 0;
	integer = integer_kind(rule->call->op, details->function);
	if (integer < 0)
		return rule_error(rule, "function of WNNIntegerDetails is %u; allowed are %s",
				  (unsigned int)details->function,
				  rule->call->op == WNN_OP_DIV ?
					  "Bits, Remainder and FlooredRemainder" :
					  "Bits alone");
	*kind = (enum ir_binary)integer;
	return 0;
}

static int broadcast_call(struct wnn_rule *rule, struct ir_type *type, union ir_attrs *attrs)
{
	attrs->binary.kind = binary_kind(rule->call->op);
	attrs->binary.act = rule_no_activation();
	return rule_broadcast(rule, rule_type(rule, 0), rule_operand_name(rule, 0),
			      rule_type(rule, 1), rule_operand_name(rule, 1), type);
}

int rule_binary(struct wnn_rule *rule)
{
	union ir_attrs attrs = { 0 };
	struct ir_type type;

	if (broadcast_call(rule, &type, &attrs) || set_integer_kind(rule, &attrs.binary.kind))
		return -1;
	return rule_emit_call(rule, IR_OP_BINARY, &type, &attrs);
}

int rule_compare(struct wnn_rule *rule)
{
	union ir_attrs attrs = { 0 };
	struct ir_type type;

	if (broadcast_call(rule, &type, &attrs))
		return -1;
	type.dtype = IR_U8;
	return rule_emit_call(rule, IR_OP_COMPARE, &type, &attrs);
}

int rule_where(struct wnn_rule *rule)
{
	struct ir_type values, type;

	if (rule_broadcast(rule, rule_type(rule, 1), "trueValue", rule_type(rule, 2), "falseValue",
			   &values) ||
	    rule_broadcast(rule, &values, "the values", rule_type(rule, 0), "condition", &type))
		return -1;
	return rule_emit_call(rule, IR_OP_WHERE, &type, NULL);
}

int rule_cast(struct wnn_rule *rule)
{
	const struct wnn_op_operand *output = &wnn_op_info[WNN_OP_CAST].outputs[0];
	WNNOperandDataType data_type = rule->call->arguments.data_type;
	struct ir_type type = *rule_type(rule, 0);
	char allowed[128];

	if (!(output->types & WNN_DATA_TYPE_BIT(data_type)))
		return rule_error(rule, "dataType is %s; allowed are %s",
				  wnn_enum_name(&wnn_enum_operand_data_type, data_type),
				  wnn_types_text(output->types, allowed, sizeof(allowed)));
	type.dtype = wnn_dtype_to_ir(data_type);
	return rule_emit_call(rule, IR_OP_CAST, &type, NULL);
}

int rule_identity(struct wnn_rule *rule)
{
	return rule_emit_call(rule, IR_OP_COPY, rule_type(rule, 0), NULL);
}
