// SPDX-License-Identifier: MIT
/*
 * The rules of operators that divide and combine tensors: concat, split, slice, pad, reverse. They
 * check a call, infer the types of its results and emit IR nodes.
 */

#include "graph/rules.h"

#include "util/malloc.h"

/*
 * Checks that item `i` has the type and sizes of the first item, except the size along the axis.
 * Returns 0 or -1.
 */
static int check_concat_item(struct wnn_rule *rule, size_t i, uint32_t axis)
{
	const struct ir_type *first = rule_type(rule, 0), *type = rule_type(rule, i);

	if (type->dtype != first->dtype)
		return rule_error(rule,
				  "inputs[%zu] has type %s, but inputs[0] has %s; they must "
				  "be the same",
				  i, ir_dtype_name(type->dtype), ir_dtype_name(first->dtype));
	if (type->rank != first->rank)
		return rule_error(rule,
				  "inputs[%zu] has rank %" PRIu32 ", but inputs[0] has %" PRIu32
				  "; they must be the same",
				  i, type->rank, first->rank);
	for (uint32_t d = 0; d < first->rank; d++)
		if (d != axis && ir_type_dim(type, d) != ir_type_dim(first, d))
			return rule_error(rule,
					  "inputs[%zu] of shape %s differs from inputs[0] of "
					  "shape %s in dimension %" PRIu32 ", which is not "
					  "the axis",
					  i, SHAPE(type), SHAPE(first), d);
	return 0;
}

int rule_concat(struct wnn_rule *rule)
{
	uint32_t axis = rule->call->arguments.axis;
	size_t count = rule->call->operand_count;
	union ir_attrs attrs = { .axis = axis };
	struct ir_value **operands;
	struct ir_type type;
	int ret;

	if (!count || count > WNN_MAX_TENSOR_COUNT)
		return rule_error(rule, "inputs has %zu items; 1 to %d are allowed", count,
				  WNN_MAX_TENSOR_COUNT);
	type = *rule_type(rule, 0);
	if (rule_axis(rule, "axis", axis, type.rank))
		return -1;
	for (size_t i = 1; i < count; i++) {
		if (check_concat_item(rule, i, axis))
			return -1;
		/* The sum fits: it has at most 2^13 terms below 2^31. */
		type.dim[axis].value += ir_type_dim(rule_type(rule, i), axis);
	}
	operands = wnn_calloc(count, sizeof(*operands));
	if (!operands)
		return wnn_error_nomem(rule->err, rule->name);
	for (size_t i = 0; i < count; i++)
		operands[i] = rule_value(rule, i);
	ret = rule_emit(rule, IR_OP_CONCAT, operands, (uint32_t)count, &type, &attrs);
	wnn_free(operands);
	return ret;
}

/* Sets *count to the number of results of a split, and checks their sizes. Returns 0 or -1. */
static int split_count(struct wnn_rule *rule, int64_t size, size_t *count)
{
	const struct wnn_op_arguments *arguments = &rule->call->arguments;
	int64_t sum = 0;

	*count = rule->call->overload ? arguments->split_count : arguments->splits.count;
	if (!*count || *count > WNN_MAX_TENSOR_COUNT)
		return rule_error(rule, "input is split into %zu parts; 1 to %d are allowed",
				  *count, WNN_MAX_TENSOR_COUNT);
	if (rule->call->overload) {
		if (size % (int64_t)*count)
			return rule_error(rule,
					  "the size of the axis, %" PRId64 ", cannot be "
					  "split into %zu equal parts",
					  size, *count);
		return 0;
	}
	for (size_t i = 0; i < *count; i++) {
		if (!arguments->splits.data[i])
			return rule_error(rule, "splits[%zu] is 0; it must be at least 1", i);
		sum += arguments->splits.data[i];
	}
	if (sum != size)
		return rule_error(rule,
				  "splits add up to %" PRId64 ", but the size of the axis "
				  "is %" PRId64,
				  sum, size);
	return 0;
}

int rule_split(struct wnn_rule *rule)
{
	uint32_t axis = rule_options(rule, WNNSplitOptions)->axis;
	const struct ir_type *input = rule_type(rule, 0);
	union ir_attrs attrs = { 0 };
	int64_t size;
	size_t count;

	if (rule_axis(rule, "options.axis", axis, input->rank))
		return -1;
	size = ir_type_dim(input, axis);
	if (split_count(rule, size, &count) || rule_output_count(rule, count))
		return -1;
	for (uint32_t d = 0; d < input->rank; d++)
		attrs.slice.strides[d] = 1;
	for (size_t i = 0; i < count; i++) {
		struct ir_type type = *input;

		type.dim[axis].value = rule->call->overload ? size / (int64_t)count :
							      rule->call->arguments.splits.data[i];
		if (rule_emit_call(rule, IR_OP_SLICE, &type, &attrs))
			return -1;
		attrs.slice.starts[axis] += (uint32_t)ir_type_dim(&type, axis);
	}
	return 0;
}

static int check_slice_dim(struct wnn_rule *rule, uint32_t d, uint32_t start, uint32_t size)
{
	int64_t dim = ir_type_dim(rule_type(rule, 0), d);

	if (!size)
		return rule_error(rule, "sizes[%" PRIu32 "] is 0; it must be at least 1", d);
	if (start >= dim)
		return rule_error(rule,
				  "starts[%" PRIu32 "] is %" PRIu32 "; it must be below the "
				  "size of the dimension, %" PRId64,
				  d, start, dim);
	if ((int64_t)start + size > dim)
		return rule_error(rule,
				  "starts[%" PRIu32 "] + sizes[%" PRIu32 "] is %" PRId64
				  ", more than the size of the dimension, %" PRId64,
				  d, d, (int64_t)start + size, dim);
	return 0;
}

int rule_slice(struct wnn_rule *rule)
{
	const struct wnn_op_arguments *arguments = &rule->call->arguments;
	struct ir_type type = *rule_type(rule, 0);
	union ir_attrs attrs = { 0 };

	if (arguments->starts.count != type.rank || arguments->sizes.count != type.rank)
		return rule_error(rule,
				  "starts has %zu and sizes has %zu items, expected %" PRIu32
				  ", the rank of input",
				  arguments->starts.count, arguments->sizes.count, type.rank);
	if (rule_list(rule, "options.strides", rule_options(rule, WNNSliceOptions)->strides,
		      type.rank, 1, false, attrs.slice.strides))
		return -1;
	for (uint32_t d = 0; d < type.rank; d++) {
		uint32_t start = arguments->starts.data[d], size = arguments->sizes.data[d];

		if (check_slice_dim(rule, d, start, size))
			return -1;
		attrs.slice.starts[d] = start;
		type.dim[d].value = rule_ceil_div(size, attrs.slice.strides[d]);
	}
	return rule_emit_call(rule, IR_OP_SLICE, &type, &attrs);
}

/*
 * Checks that a pad by reflection adds less than the size of the dimension at each end. Returns 0
 * or -1.
 */
static int check_reflection(struct wnn_rule *rule, uint32_t d, const struct ir_pad_attrs *pad,
			    int64_t dim)
{
	if (pad->begin[d] < dim && pad->end[d] < dim)
		return 0;
	return rule_error(rule,
			  "padding of dimension %" PRIu32 " is %" PRIu32 " and %" PRIu32
			  "; with mode reflection it must be below the size, %" PRId64,
			  d, pad->begin[d], pad->end[d], dim);
}

int rule_pad(struct wnn_rule *rule)
{
	static const enum ir_pad_mode modes[] = {
		[WNNPaddingMode_Constant] = IR_PAD_CONSTANT,
		[WNNPaddingMode_Edge] = IR_PAD_EDGE,
		[WNNPaddingMode_Reflection] = IR_PAD_REFLECTION,
	};
	const WNNNumber zero = { WNNNumberKind_Double, 0, 0, 0 };
	const WNNPadOptions *options = rule_options(rule, WNNPadOptions);
	WNNUint32Array begin = rule->call->arguments.beginning_padding;
	WNNUint32Array end = rule->call->arguments.ending_padding;
	struct ir_type type = *rule_type(rule, 0);
	union ir_attrs attrs = { .pad = {
					 .mode = modes[options->mode],
					 .value = wnn_number_bits(
						 type.dtype,
						 options->value.kind ? &options->value : &zero),
				 } };

	if (begin.count != type.rank || end.count != type.rank)
		return rule_error(rule,
				  "beginningPadding has %zu and endingPadding has %zu items, "
				  "expected %" PRIu32 ", the rank of input",
				  begin.count, end.count, type.rank);
	for (uint32_t d = 0; d < type.rank; d++) {
		attrs.pad.begin[d] = begin.data[d];
		attrs.pad.end[d] = end.data[d];
		if (attrs.pad.mode == IR_PAD_REFLECTION &&
		    check_reflection(rule, d, &attrs.pad, ir_type_dim(&type, d)))
			return -1;
		type.dim[d].value += (int64_t)begin.data[d] + end.data[d];
	}
	return rule_emit_call(rule, IR_OP_PAD, &type, &attrs);
}

int rule_reverse(struct wnn_rule *rule)
{
	const struct ir_type *input = rule_type(rule, 0);
	union ir_attrs attrs = { 0 };

	if (rule_axes(rule, rule_options(rule, WNNReverseOptions)->axes, input->rank, &attrs.axes))
		return -1;
	return rule_emit_call(rule, IR_OP_REVERSE, input, &attrs);
}
