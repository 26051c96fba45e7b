// SPDX-License-Identifier: MIT
/* Builds operators of WebNN from 64-bit shapes, for translators that compose operators. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "node.h"

/*
 * Converts a list of numbers to WebNN's uint32; false: a number does not fit, and the node is
 * refused.
 */
static bool to_array(struct onnx_node *node, uint32_t count, const int64_t *numbers, uint32_t *room,
		     WNNUint32Array *array)
{
	for (uint32_t i = 0; i < count; i++) {
		if (numbers[i] < 0 || numbers[i] > INT32_MAX) {
			onnx_refuse(node, "", "a dimension would be %lld: 0 to %d are allowed",
				    (long long)numbers[i], INT32_MAX);
			return false;
		}
		room[i] = (uint32_t)numbers[i];
	}
	*array = count ? (WNNUint32Array){ count, room } : WNN_UINT32_EMPTY;
	return true;
}

struct onnx_shape x_shape(WNNOperand operand)
{
	WNNUint32Array array = wnnOperandGetShape(operand);
	struct onnx_shape shape = { .rank = (uint32_t)array.count };

	for (uint32_t i = 0; i < shape.rank; i++)
		shape.dim[i] = array.data[i];
	return shape;
}

WNNOperand x_number(struct onnx_node *node, WNNOperandDataType type, double number)
{
	return wnnGraphBuilderConstantFromNumber(node->b, type, WNN_NUMBER_DOUBLE(number));
}

WNNOperand x_integer(struct onnx_node *node, WNNOperandDataType type, int64_t number)
{
	return wnnGraphBuilderConstantFromNumber(node->b, type, WNN_NUMBER_INT64(number));
}

WNNOperand x_like(struct onnx_node *node, WNNOperand like, double number)
{
	return like ? x_number(node, wnnOperandGetDataType(like), number) : NULL;
}

WNNOperand x_constant(struct onnx_node *node, WNNOperandDataType type,
		      const struct onnx_shape *shape, const void *data)
{
	WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
	uint32_t room[ONNX_MAX_RANK];

	descriptor.dataType = type;
	if (!to_array(node, shape->rank, shape->dim, room, &descriptor.shape))
		return NULL;
	return wnnGraphBuilderConstant(node->b, &descriptor, data,
				       onnx_data_size(onnx_type_of(type),
						      onnx_shape_elements(shape)));
}

WNNOperand x_constant_ints(struct onnx_node *node, size_t count, const int64_t *ints)
{
	struct onnx_shape shape = { 1, { (int64_t)count } };

	return x_constant(node, WNNOperandDataType_Int64, &shape, ints);
}

WNNOperand x_reshape(struct onnx_node *node, WNNOperand a, const struct onnx_shape *shape)
{
	uint32_t room[ONNX_MAX_RANK];
	WNNUint32Array array;
	struct onnx_shape old;

	if (!a)
		return NULL;
	old = x_shape(a);
	if (onnx_shape_same(&old, shape))
		return a;
	if (!to_array(node, shape->rank, shape->dim, room, &array))
		return NULL;
	return wnnGraphBuilderReshape(node->b, a, array, &node->options);
}

WNNOperand x_expand(struct onnx_node *node, WNNOperand a, const struct onnx_shape *shape)
{
	uint32_t room[ONNX_MAX_RANK];
	WNNUint32Array array;
	struct onnx_shape old;

	if (!a)
		return NULL;
	old = x_shape(a);
	if (onnx_shape_same(&old, shape))
		return a;
	if (!to_array(node, shape->rank, shape->dim, room, &array))
		return NULL;
	return wnnGraphBuilderExpand(node->b, a, array, &node->options);
}

WNNOperand x_transpose(struct onnx_node *node, WNNOperand a, const uint32_t *permutation)
{
	WNNTransposeOptions options = WNN_TRANSPOSE_OPTIONS_INIT;
	bool identity = true;
	uint32_t rank;

	if (!a)
		return NULL;
	rank = x_shape(a).rank;
	for (uint32_t i = 0; i < rank; i++)
		identity = identity && permutation[i] == i;
	if (identity)
		return a;
	options.label = node->options.label;
	options.permutation = (WNNUint32Array){ rank, permutation };
	return wnnGraphBuilderTranspose(node->b, a, &options);
}

WNNOperand x_move_axis(struct onnx_node *node, WNNOperand a, uint32_t from, uint32_t to)
{
	uint32_t permutation[ONNX_MAX_RANK], rank, next = 0;

	if (!a)
		return NULL;
	rank = x_shape(a).rank;
	for (uint32_t i = 0; i < rank; i++) {
		if (i == to) {
			permutation[i] = from;
			continue;
		}
		if (next == from)
			next++;
		permutation[i] = next++;
	}
	return x_transpose(node, a, permutation);
}

WNNOperand x_channels_first(struct onnx_node *node, WNNOperand a)
{
	return a ? x_move_axis(node, a, x_shape(a).rank - 1, 1) : NULL;
}

WNNOperand x_channels_last(struct onnx_node *node, WNNOperand a)
{
	return a ? x_move_axis(node, a, 1, x_shape(a).rank - 1) : NULL;
}

WNNOperand x_slice(struct onnx_node *node, WNNOperand a, const int64_t *starts,
		   const int64_t *sizes, const int64_t *strides)
{
	uint32_t room[3][ONNX_MAX_RANK];
	WNNSliceOptions options = WNN_SLICE_OPTIONS_INIT;
	WNNUint32Array start, size, stride;
	struct onnx_shape shape;
	bool whole = true;

	if (!a)
		return NULL;
	shape = x_shape(a);
	for (uint32_t i = 0; i < shape.rank; i++)
		whole = whole && !starts[i] && sizes[i] == shape.dim[i] &&
			(!strides || strides[i] == 1);
	if (whole)
		return a;
	if (!to_array(node, shape.rank, starts, room[0], &start) ||
	    !to_array(node, shape.rank, sizes, room[1], &size))
		return NULL;
	if (strides) {
		if (!to_array(node, shape.rank, strides, room[2], &stride))
			return NULL;
		options.strides = stride;
	}
	options.label = node->options.label;
	return wnnGraphBuilderSlice(node->b, a, start, size, &options);
}

WNNOperand x_slice_axis(struct onnx_node *node, WNNOperand a, uint32_t axis, int64_t begin,
			int64_t size, int64_t stride)
{
	int64_t starts[ONNX_MAX_RANK] = { 0 }, strides[ONNX_MAX_RANK];
	struct onnx_shape shape;

	if (!a)
		return NULL;
	shape = x_shape(a);
	for (uint32_t i = 0; i < shape.rank; i++)
		strides[i] = 1;
	starts[axis] = begin;
	shape.dim[axis] = size;
	strides[axis] = stride;
	return x_slice(node, a, starts, shape.dim, strides);
}

WNNOperand x_at(struct onnx_node *node, WNNOperand a, uint32_t axis, int64_t index)
{
	struct onnx_shape shape, less;

	a = x_slice_axis(node, a, axis, index, 1, 1);
	if (!a)
		return NULL;
	shape = x_shape(a);
	less.rank = shape.rank - 1;
	for (uint32_t i = 0; i < less.rank; i++)
		less.dim[i] = shape.dim[i + (i >= axis)];
	return x_reshape(node, a, &less);
}

WNNOperand x_unsqueeze(struct onnx_node *node, WNNOperand a, uint32_t axis)
{
	struct onnx_shape shape, more;

	if (!a)
		return NULL;
	shape = x_shape(a);
	if (shape.rank == ONNX_MAX_RANK) {
		onnx_refuse(node, "", "it would need more than 8 dimensions");
		return NULL;
	}
	more.rank = shape.rank + 1;
	for (uint32_t i = 0; i < more.rank; i++)
		more.dim[i] = i == axis ? 1 : shape.dim[i - (i > axis)];
	return x_reshape(node, a, &more);
}

WNNOperand x_concat(struct onnx_node *node, size_t count, const WNNOperand *operands, uint32_t axis)
{
	for (size_t i = 0; i < count; i++)
		if (!operands[i])
			return NULL;
	if (count == 1)
		return operands[0];
	return wnnGraphBuilderConcat(node->b, count, operands, axis, &node->options);
}

WNNOperand x_gather(struct onnx_node *node, WNNOperand a, WNNOperand indices, uint32_t axis)
{
	WNNGatherOptions options = WNN_GATHER_OPTIONS_INIT;

	if (!a || !indices)
		return NULL;
	options.label = node->options.label;
	options.axis = axis;
	return wnnGraphBuilderGather(node->b, a, indices, &options);
}

WNNOperand x_reverse(struct onnx_node *node, WNNOperand a, uint32_t axis)
{
	WNNReverseOptions options = WNN_REVERSE_OPTIONS_INIT;

	if (!a)
		return NULL;
	options.label = node->options.label;
	options.axes = (WNNUint32Array){ 1, &axis };
	return wnnGraphBuilderReverse(node->b, a, &options);
}

WNNOperand x_clamp(struct onnx_node *node, WNNOperand a, double low, double high)
{
	WNNClampOptions options = WNN_CLAMP_OPTIONS_INIT;

	if (!a)
		return NULL;
	options.label = node->options.label;
	if (!isinf(low))
		options.minValue = WNN_NUMBER_DOUBLE(low);
	if (!isinf(high))
		options.maxValue = WNN_NUMBER_DOUBLE(high);
	return wnnGraphBuilderClamp(node->b, a, &options);
}

WNNOperand x_linear(struct onnx_node *node, WNNOperand a, double alpha, double beta)
{
	WNNLinearOptions options = WNN_LINEAR_OPTIONS_INIT;

	if (!a)
		return NULL;
	options.label = node->options.label;
	options.alpha = alpha;
	options.beta = beta;
	return wnnGraphBuilderLinear(node->b, a, &options);
}

WNNOperand x_pad(struct onnx_node *node, WNNOperand a, const int64_t *begin, const int64_t *end,
		 double value)
{
	uint32_t room[2][ONNX_MAX_RANK];
	WNNPadOptions options = WNN_PAD_OPTIONS_INIT;
	WNNUint32Array first, last;
	bool none = true;
	uint32_t rank;

	if (!a)
		return NULL;
	rank = x_shape(a).rank;
	for (uint32_t i = 0; i < rank; i++)
		none = none && !begin[i] && !end[i];
	if (none)
		return a;
	if (!to_array(node, rank, begin, room[0], &first) ||
	    !to_array(node, rank, end, room[1], &last))
		return NULL;
	options.label = node->options.label;
	options.value = WNN_NUMBER_DOUBLE(value);
	return wnnGraphBuilderPad(node->b, a, first, last, &options);
}

WNNOperand x_softmax(struct onnx_node *node, WNNOperand a, uint32_t axis)
{
	return a ? wnnGraphBuilderSoftmax(node->b, a, axis, &node->options) : NULL;
}

WNNOperand x_reduce(struct onnx_node *node, enum x_reduction kind, WNNOperand a, uint32_t count,
		    const uint32_t *axes, bool keep)
{
	static WNNOperand (*const functions[])(WNNGraphBuilder, WNNOperand,
					       const WNNReduceOptions *) = {
		[X_MAX] = wnnGraphBuilderReduceMax,
		[X_MIN] = wnnGraphBuilderReduceMin,
		[X_MEAN] = wnnGraphBuilderReduceMean,
		[X_SUM] = wnnGraphBuilderReduceSum,
		[X_PRODUCT] = wnnGraphBuilderReduceProduct,
		[X_L1] = wnnGraphBuilderReduceL1,
		[X_L2] = wnnGraphBuilderReduceL2,
		[X_LOG_SUM] = wnnGraphBuilderReduceLogSum,
		[X_LOG_SUM_EXP] = wnnGraphBuilderReduceLogSumExp,
		[X_SUM_SQUARE] = wnnGraphBuilderReduceSumSquare,
	};
	WNNReduceOptions options = WNN_REDUCE_OPTIONS_INIT;

	if (!a)
		return NULL;
	options.label = node->options.label;
	options.axes = count ? (WNNUint32Array){ count, axes } : WNN_UINT32_EMPTY;
	options.keepDimensions = keep;
	return functions[kind](node->b, a, &options);
}

WNNOperand x_largest(struct onnx_node *node, WNNOperand a, uint32_t count, const uint32_t *axes)
{
	WNNOperand largest = x_reduce(node, X_MAX, x_abs(node, a), count, axes, true);

	return x_clamp(node, largest, (double)FLT_MIN, (double)FLT_MAX);
}
