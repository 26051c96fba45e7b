// SPDX-License-Identifier: MIT
/*
 * Reductions along axes, and functions that normalise along an axis: sums, extremes, softmax and
 * the like.
 */
#include <math.h>
#include <string.h>

#include "ops.h"

/*
 * Reads the axes from an attribute, or from an input since operator set `moved`. Returns 0 or -1.
 */
static int reduce_axes(struct onnx_node *node, int moved, uint32_t rank, uint32_t *axes,
		       uint32_t *count)
{
	const int64_t *given;
	size_t number;

	if (node->version < moved)
		given = onnx_attr_ints(node, "axes", &number);
	else if (onnx_in_ints(node, 1, "axes", &given, &number))
		return -1;
	*count = 0;
	if (!number && !onnx_attr_int(node, "noop_with_empty_axes", 0)) {
		for (; *count < rank; ++*count)
			axes[*count] = *count;
		return 0;
	}
	if (number > ONNX_MAX_RANK)
		return onnx_refuse(node, "axes", "there are more axes than dimensions");
	for (; *count < number; ++*count)
		if (onnx_axis(node, "axes", given[*count], rank, &axes[*count]))
			return -1;
	return 0;
}

static bool holds_axis(const uint32_t *axes, uint32_t count, uint32_t axis)
{
	for (uint32_t i = 0; i < count; i++)
		if (axes[i] == axis)
			return true;
	return false;
}

/* Returns the least or greatest number of an integer type or of bool. */
static int64_t extreme(int type, bool largest)
{
	unsigned int bits = type == ONNX_BOOL ? 1 : onnx_type_bits(type);

	if (onnx_type_is_unsigned(type))
		return largest ? (int64_t)(UINT64_MAX >> (64 - bits)) : 0;
	return largest ? (int64_t)(UINT64_MAX >> (65 - bits)) :
			 -(int64_t)(UINT64_MAX >> (65 - bits)) - 1;
}

/*
 * Sets the output of a reduction over no elements to the neutral element. Returns 0; -1: refused.
 */
static int reduce_nothing(struct onnx_node *node)
{
	static const double neutral[] = {
		[X_MAX] = -INFINITY, [X_MIN] = INFINITY,      [X_MEAN] = NAN,
		[X_SUM] = 0,	     [X_PRODUCT] = 1,	      [X_L1] = 0,
		[X_L2] = 0,	     [X_LOG_SUM] = -INFINITY, [X_LOG_SUM_EXP] = -INFINITY,
		[X_SUM_SQUARE] = 0
	};
	enum x_reduction kind = (enum x_reduction)node->op->variant;
	const struct onnx_shape *from = onnx_in_shape(node, 0);
	uint32_t axes[ONNX_MAX_RANK], count;
	struct onnx_shape shape = { 0 };
	int type = onnx_in_type(node, 0);
	int64_t elements;
	void *data;

	if (reduce_axes(node, kind == X_SUM ? 13 : 18, from->rank, axes, &count))
		return -1;
	for (uint32_t i = 0; i < from->rank; i++)
		if (!holds_axis(axes, count, i))
			shape.dim[shape.rank++] = from->dim[i];
		else if (onnx_attr_int(node, "keepdims", 1))
			shape.dim[shape.rank++] = 1;
	data = onnx_out_constant(node, 0, type, &shape);
	elements = onnx_shape_elements(&shape);
	for (int64_t i = 0; data && i < elements; i++) {
		if (onnx_type_is_float(type) || (kind != X_MAX && kind != X_MIN))
			onnx_put_float(type, data, (size_t)i, neutral[kind]);
		else
			onnx_put_int(type, data, (size_t)i, extreme(type, kind == X_MIN));
	}
	return data ? 0 : -1;
}

static bool all_true(int type, enum x_reduction kind)
{
	return type == ONNX_BOOL && (kind == X_MAX || kind == X_MIN);
}

/* Returns the type in which WebNN reduces elements of @type: the same type, float32 or int32. */
static WNNOperandDataType wider(int type, enum x_reduction kind)
{
	WNNOperandDataType own = onnx_type_webnn(type);

	if (onnx_type_is_float(type) || kind == X_MAX || kind == X_MIN)
		return own;
	if (kind == X_MEAN || kind == X_L2 || kind == X_LOG_SUM || kind == X_LOG_SUM_EXP)
		return WNNOperandDataType_Float32;
	return type == ONNX_INT8 || type == ONNX_UINT8 ? WNNOperandDataType_Int32 : own;
}

int onnx_op_reduce(struct onnx_node *node)
{
	enum x_reduction kind = (enum x_reduction)node->op->variant;
	int moved = kind == X_SUM ? 13 : 18, type = onnx_in_type(node, 0);
	uint32_t axes[ONNX_MAX_RANK], count;
	WNNOperand x;

	if (onnx_is_empty(node, 0))
		return reduce_nothing(node);
	x = onnx_in(node, 0);
	if (!x || reduce_axes(node, moved, onnx_in_shape(node, 0)->rank, axes, &count))
		return -1;
	if (!count &&
	    (kind == X_MAX || kind == X_MIN || kind == X_MEAN || kind == X_SUM ||
	     kind == X_PRODUCT) &&
	    onnx_in_shape(node, 0)->rank)
		return onnx_out_value(node, 0, node->inputs[0]);
	x = x_cast(node, x, wider(type, kind));
	x = x_reduce(node, kind, x, count, axes, onnx_attr_int(node, "keepdims", 1));
	return onnx_out_as(node, 0, x ? x_cast(node, x, onnx_type_webnn(type)) : NULL,
			   all_true(type, kind) ? ONNX_BOOL : 0);
}

/*
 * Returns x as a matrix: the dimensions before @axis are merged into the rows, those from @axis on
 * into the columns, as operators before set 13 want.
 */
static WNNOperand flat_from(struct onnx_node *node, WNNOperand x, uint32_t axis)
{
	struct onnx_shape shape = x_shape(x), flat = { 2, { 1, 1 } };

	for (uint32_t i = 0; i < shape.rank; i++)
		flat.dim[i >= axis] *= shape.dim[i];
	return x_reshape(node, x, &flat);
}

static WNNOperand log_softmax(struct onnx_node *node, WNNOperand x, uint32_t axis)
{
	WNNOperand shifted = x_sub(node, x, x_reduce1(node, X_MAX, x, axis, true));
	WNNOperand sum = x_reduce1(node, X_SUM, x_exp(node, shifted), axis, true);

	return x_sub(node, shifted, x_log(node, sum));
}

/* Returns 1 at the first of the largest elements, 0 elsewhere. */
static WNNOperand hardmax(struct onnx_node *node, WNNOperand x, uint32_t axis)
{
	WNNArgMinMaxOptions options = WNN_ARG_MIN_MAX_OPTIONS_INIT;
	struct onnx_shape shape = x_shape(x), row = { shape.rank, { 0 } };
	WNNOperand index;
	int32_t *numbers;

	options.label = node->options.label;
	options.keepDimensions = WNN_TRUE;
	index = wnnGraphBuilderArgMax(node->b, x, axis, &options);
	numbers = onnx_node_alloc(node, (size_t)shape.dim[axis] * sizeof(*numbers));
	if (!numbers)
		return NULL;
	for (int64_t i = 0; i < shape.dim[axis]; i++)
		numbers[i] = (int32_t)i;
	for (uint32_t i = 0; i < shape.rank; i++)
		row.dim[i] = i == axis ? shape.dim[i] : 1;
	index = x_equal(node, index, x_constant(node, WNNOperandDataType_Int32, &row, numbers));
	return x_cast(node, index, wnnOperandGetDataType(x));
}

int onnx_op_softmax(struct onnx_node *node)
{
	struct onnx_shape shape = *onnx_in_shape(node, 0);
	bool flat = node->version < 13;
	WNNOperand x = onnx_in(node, 0);
	uint32_t axis;

	if (!x || onnx_axis(node, "axis", onnx_attr_int(node, "axis", flat ? 1 : -1),
			    shape.rank ? shape.rank : 1, &axis))
		return -1;
	/* For the last dimension, merging changes nothing. */
	flat = flat && axis + 1 != shape.rank;
	if (flat) {
		x = flat_from(node, x, axis);
		axis = 1;
	}
	if (node->op->variant == S_SOFTMAX)
		x = x_softmax(node, x, axis);
	else
		x = node->op->variant == S_LOG ? log_softmax(node, x, axis) :
						 hardmax(node, x, axis);
	return onnx_out(node, 0, x ? x_reshape(node, x, &shape) : NULL);
}

int onnx_op_arg(struct onnx_node *node)
{
	WNNArgMinMaxOptions options = WNN_ARG_MIN_MAX_OPTIONS_INIT;
	struct onnx_shape shape = *onnx_in_shape(node, 0);
	bool last = onnx_attr_int(node, "select_last_index", 0);
	WNNOperand x = onnx_in(node, 0);
	uint32_t axis;

	if (!x || onnx_axis(node, "axis", onnx_attr_int(node, "axis", 0), shape.rank, &axis))
		return -1;
	options.label = node->options.label;
	options.keepDimensions = onnx_attr_int(node, "keepdims", 1) != 0;
	options.outputDataType = WNNOperandDataType_Int64;
	if (last)
		x = x_reverse(node, x, axis);
	x = node->op->variant ? wnnGraphBuilderArgMin(node->b, x, axis, &options) :
				wnnGraphBuilderArgMax(node->b, x, axis, &options);
	if (last)
		x = x_sub(node, x_integer(node, WNNOperandDataType_Int64, shape.dim[axis] - 1), x);
	return onnx_out(node, 0, x);
}

/* Reads the axis of a cumulative operator, which is an input. Returns 0 or -1. */
static int cumulative_axis(struct onnx_node *node, uint32_t *axis)
{
	const int64_t *given;
	size_t count;

	if (onnx_in_ints(node, 1, "axis", &given, &count))
		return -1;
	if (count != 1)
		return onnx_refuse(node, "axis", "axis must be one number");
	return onnx_axis(node, "axis", given[0], onnx_in_shape(node, 0)->rank, axis);
}

int onnx_op_cum_sum(struct onnx_node *node)
{
	WNNCumulativeSumOptions options = WNN_CUMULATIVE_SUM_OPTIONS_INIT;
	WNNOperand x = onnx_in(node, 0);
	uint32_t axis;

	if (!x || cumulative_axis(node, &axis))
		return -1;
	options.label = node->options.label;
	options.exclusive = onnx_attr_int(node, "exclusive", 0) != 0;
	options.reversed = onnx_attr_int(node, "reverse", 0) != 0;
	return onnx_out(node, 0, wnnGraphBuilderCumulativeSum(node->b, x, axis, &options));
}

/* Returns x moved by @by elements along an axis, with 1 in the first @by elements. */
static WNNOperand moved_by(struct onnx_node *node, WNNOperand x, uint32_t axis, int64_t by)
{
	struct onnx_shape ones = x_shape(x);
	int64_t size = ones.dim[axis];
	WNNOperand parts[2];

	ones.dim[axis] = by < size ? by : size;
	parts[0] = x_expand(node, x_like(node, x, 1), &ones);
	if (by >= size || !parts[0])
		return parts[0];
	parts[1] = x_slice_axis(node, x, axis, 0, size - by, 1);
	return parts[1] ? x_concat(node, 2, parts, axis) : NULL;
}

/* Translates CumProd: each step doubles the number of elements that every product covers. */
int onnx_op_cum_prod(struct onnx_node *node)
{
	bool reverse = onnx_attr_int(node, "reverse", 0) != 0;
	WNNOperand x = onnx_in(node, 0);
	uint32_t axis;
	int64_t size;

	if (!x || cumulative_axis(node, &axis))
		return -1;
	size = x_shape(x).dim[axis];
	x = reverse ? x_reverse(node, x, axis) : x;
	if (x && onnx_attr_int(node, "exclusive", 0))
		x = moved_by(node, x, axis, 1);
	for (int64_t by = 1; x && by < size; by *= 2)
		x = x_mul(node, x, moved_by(node, x, axis, by));
	return onnx_out(node, 0, x && reverse ? x_reverse(node, x, axis) : x);
}
