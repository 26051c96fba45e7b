// SPDX-License-Identifier: MIT
/*
 * The rules of reductions, argMin and argMax, cumulativeSum and softmax: they check a call, infer
 * the types of its results and emit IR nodes.
 */
#include <inttypes.h>

#include "graph/rules.h"

static struct ir_type reduced_type(const struct ir_type *input, uint32_t mask, bool keep)
{
	struct ir_type type = { .dtype = input->dtype };

	for (uint32_t i = 0; i < input->rank; i++) {
		if (!(mask >> i & 1))
			type.dim[type.rank++] = input->dim[i];
		else if (keep)
			type.dim[type.rank++].value = 1;
	}
	return type;
}

static enum ir_reduce reduce_kind(enum wnn_op op)
{
	switch (op) {
	case WNN_OP_REDUCE_L1:
		return IR_REDUCE_L1;
	case WNN_OP_REDUCE_L2:
		return IR_REDUCE_L2;
	case WNN_OP_REDUCE_LOG_SUM:
		return IR_REDUCE_LOG_SUM;
	case WNN_OP_REDUCE_LOG_SUM_EXP:
		return IR_REDUCE_LOG_SUM_EXP;
	case WNN_OP_REDUCE_MAX:
		return IR_REDUCE_MAX;
	case WNN_OP_REDUCE_MEAN:
		return IR_REDUCE_MEAN;
	case WNN_OP_REDUCE_MIN:
		return IR_REDUCE_MIN;
	case WNN_OP_REDUCE_PRODUCT:
		return IR_REDUCE_PROD;
	case WNN_OP_REDUCE_SUM:
		return IR_REDUCE_SUM;
	case WNN_OP_REDUCE_SUM_SQUARE:
		return IR_REDUCE_SUM_SQUARE;
	default:
		return IR_REDUCE_COUNT;
	}
}

int rule_reduce(struct wnn_rule *rule)
{
	const WNNReduceOptions *options = rule_options(rule, WNNReduceOptions);
	const struct ir_type *input = rule_type(rule, 0);
	union ir_attrs attrs = { .reduce = {
					 .kind = reduce_kind(rule->call->op),
					 .keep_dims = options->keepDimensions,
				 } };
	struct ir_type type;

	if (rule_axes(rule, options->axes, input->rank, &attrs.reduce.axes))
		return -1;
	type = reduced_type(input, attrs.reduce.axes, attrs.reduce.keep_dims);
	return rule_emit_call(rule, IR_OP_REDUCE, &type, &attrs);
}

int rule_arg(struct wnn_rule *rule)
{
	const WNNArgMinMaxOptions *options = rule_options(rule, WNNArgMinMaxOptions);
	const WNNArgMinMaxDetails *details = (const WNNArgMinMaxDetails *)options->nextInChain;
	const struct ir_type *input = rule_type(rule, 0);
	uint32_t axis = rule->call->arguments.axis;
	union ir_attrs attrs = { .arg = {
					 .max = rule->call->op == WNN_OP_ARG_MAX,
					 .keep_dims = options->keepDimensions,
					 .axis = axis,
				 } };
	struct ir_type type;

	/* Indices of an axis, at most 2^31 - 2, fit in both types of the output. */
	if (rule_axis(rule, "axis", axis, input->rank))
		return -1;
	if (options->outputDataType != WNNOperandDataType_Int32 &&
	    options->outputDataType != WNNOperandDataType_Int64)
		return rule_error(rule, "options.outputDataType is %s; allowed are int32, int64",
				  wnn_enum_name(&wnn_enum_operand_data_type,
						options->outputDataType));
	if (details)
		attrs.arg.keep_dims = true;
	type = reduced_type(input, 1u << axis, attrs.arg.keep_dims);
	type.dtype = wnn_dtype_to_ir(options->outputDataType);
	if (!details)
		return rule_emit_call(rule, IR_OP_ARG, &type, &attrs);
	if (!details->count || details->count > ir_type_dim(input, axis))
		return rule_error(rule,
				  "count is %" PRIu32 "; it must be from 1 to %" PRId64
				  ", the size of axis %" PRIu32,
				  details->count, ir_type_dim(input, axis), axis);
	type.dim[axis].value = details->count;
	return rule_emit_call(rule, IR_OP_TOPK, &type, &attrs);
}

int rule_cumulative_sum(struct wnn_rule *rule)
{
	const WNNCumulativeSumOptions *options = rule_options(rule, WNNCumulativeSumOptions);
	const struct ir_type *input = rule_type(rule, 0);
	union ir_attrs attrs = { .cumsum = {
					 .axis = rule->call->arguments.axis,
					 .exclusive = options->exclusive,
					 .reversed = options->reversed,
				 } };

	if (rule_axis(rule, "axis", attrs.cumsum.axis, input->rank))
		return -1;
	return rule_emit_call(rule, IR_OP_CUMSUM, input, &attrs);
}

int rule_softmax(struct wnn_rule *rule)
{
	const struct ir_type *input = rule_type(rule, 0);
	union ir_attrs attrs = { .axis = rule->call->arguments.axis };

	if (rule_axis(rule, "axis", attrs.axis, input->rank))
		return -1;
	return rule_emit_call(rule, IR_OP_SOFTMAX, input, &attrs);
}
