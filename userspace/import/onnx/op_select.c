// SPDX-License-Identifier: MIT
/* TopK and ReverseSequence, composed of operators of WebNN. */
#include <math.h>
#include <string.h>

#include "ops.h"
#include "select.h"

WNNOperand onnx_extreme(struct onnx_node *node, WNNOperandDataType type, bool largest)
{
	switch (type) {
	case WNNOperandDataType_Int32:
		return x_integer(node, type, largest ? INT32_MAX : INT32_MIN);
	case WNNOperandDataType_Uint32:
		return x_integer(node, type, largest ? UINT32_MAX : 0);
	case WNNOperandDataType_Int64:
		return x_integer(node, type, largest ? INT64_MAX : INT64_MIN);
	case WNNOperandDataType_Uint64:
		return wnnGraphBuilderConstantFromNumber(
			node->b, type, WNN_NUMBER_UINT64(largest ? UINT64_MAX : 0));
	default:
		return x_number(node, type, largest ? INFINITY : -INFINITY);
	}
}

WNNOperand onnx_iota(struct onnx_node *node, uint32_t rank, uint32_t axis, int64_t count)
{
	struct onnx_shape shape = { .rank = rank };
	int32_t *numbers = NULL;

	if (count > ONNX_INDICES)
		onnx_refuse(node, "axis",
			    "a dimension is too long for indices: it has %lld elements, at most "
			    "%lld are allowed",
			    (long long)count, (long long)ONNX_INDICES);
	else
		numbers = onnx_node_alloc(node, (size_t)count * sizeof(*numbers));
	if (!numbers)
		return NULL;
	for (uint32_t i = 0; i < rank; i++)
		shape.dim[i] = i == axis ? count : 1;
	for (int64_t i = 0; i < count; i++)
		numbers[i] = (int32_t)i;
	return x_constant(node, WNNOperandDataType_Int32, &shape, numbers);
}

static int read_k(struct onnx_node *node, int64_t size, int64_t *k)
{
	const int64_t *given;
	size_t count;

	*k = onnx_attr_int(node, "k", 0);
	if (node->version >= 10) {
		if (onnx_in_ints(node, 1, "k", &given, &count))
			return -1;
		if (count != 1)
			return onnx_refuse(node, "k", "k must be one number");
		*k = given[0];
	}
	if (*k < 0 || *k > size)
		return onnx_refuse(node, "k",
				   "k is %lld: 0 to %lld, the number of elements, are allowed",
				   (long long)*k, (long long)size);
	return 0;
}

/* Sets both outputs from values and indices of int32. Returns 0 or -1. */
static int top_k_out(struct onnx_node *node, WNNOperand values, WNNOperand indices)
{
	WNNOperandDataType type = onnx_type_webnn(onnx_in_type(node, 0));

	if (onnx_wants(node, 0) &&
	    onnx_out_as(node, 0, values ? x_cast(node, values, type) : NULL, onnx_in_type(node, 0)))
		return -1;
	if (!onnx_wants(node, 1))
		return 0;
	return onnx_out(node, 1, indices ? x_cast(node, indices, WNNOperandDataType_Int64) : NULL);
}

static int top_none(struct onnx_node *node, const struct onnx_shape *like, uint32_t axis)
{
	struct onnx_shape shape = *like;

	shape.dim[axis] = 0;
	for (size_t i = 0; i < 2 && i < node->output_count; i++)
		if (onnx_out_empty(node, i, i ? ONNX_INT64 : onnx_in_type(node, 0), &shape))
			return -1;
	return 0;
}

/* Translates TopK: among equal elements the first is taken. */
int onnx_op_top_k(struct onnx_node *node)
{
	WNNArgMinMaxDetails details = WNN_ARG_MIN_MAX_DETAILS_INIT;
	WNNArgMinMaxOptions options = WNN_ARG_MIN_MAX_OPTIONS_INIT;
	WNNGatherOptions along = WNN_GATHER_OPTIONS_INIT;
	WNNOperand x = onnx_in(node, 0), indices;
	struct onnx_shape shape;
	uint32_t axis;
	int64_t k;

	if (!x)
		return -1;
	shape = x_shape(x);
	if (onnx_axis(node, "axis", onnx_attr_int(node, "axis", -1), shape.rank, &axis) ||
	    read_k(node, shape.dim[axis], &k))
		return -1;
	if (!k)
		return top_none(node, &shape, axis);
	details.count = (uint32_t)k;
	options.nextInChain = &details.chain;
	options.label = along.label = node->options.label;
	options.outputDataType = WNNOperandDataType_Int32;
	along.axis = axis;
	indices = onnx_attr_int(node, "largest", 1) ?
			  wnnGraphBuilderArgMax(node->b, x, axis, &options) :
			  wnnGraphBuilderArgMin(node->b, x, axis, &options);
	return top_k_out(
		node, indices ? wnnGraphBuilderGatherElements(node->b, x, indices, &along) : NULL,
		indices);
}

/*
 * Translates ReverseSequence: gathers rows of batch and time; the first rows of each batch come in
 * reverse order.
 */
int onnx_op_reverse_sequence(struct onnx_node *node)
{
	WNNOperand x = onnx_in(node, 0), lengths = x ? onnx_in(node, 1) : NULL, steps, starts, at;
	int64_t batch_axis = onnx_attr_int(node, "batch_axis", 1), batches, times;
	struct onnx_shape shape, rows, row = { 2, { 1, 1 } };

	if (!lengths)
		return -1;
	shape = x_shape(x);
	if (shape.rank < 2 || batch_axis < 0 || batch_axis > 1 ||
	    onnx_attr_int(node, "time_axis", 0) != 1 - batch_axis)
		return onnx_refuse(node, "time_axis",
				   "batch_axis and time_axis are not the first two dimensions");
	batches = shape.dim[batch_axis];
	times = shape.dim[1 - batch_axis];
	if (x_shape(lengths).rank != 1 || x_shape(lengths).dim[0] != batches)
		return onnx_refuse(
			node, "sequence_lens",
			"sequence_lens has shape %s instead of [%lld], one item for each batch",
			onnx_shape_text(node->import->arena, onnx_in_shape(node, 1)),
			(long long)batches);
	if (batches * times > ONNX_INDICES)
		return onnx_refuse(
			node, "", "the sequences are too long: %lld of %lld, at most %lld together",
			(long long)batches, (long long)times, (long long)ONNX_INDICES);
	steps = onnx_iota(node, 2, (uint32_t)(1 - batch_axis), times);
	starts = onnx_iota(node, 2, (uint32_t)batch_axis, batches);
	row.dim[batch_axis] = batches;
	lengths = x_cast(node, x_reshape(node, lengths, &row), WNNOperandDataType_Int32);
	at = x_sub(node, x_sub(node, lengths, x_integer(node, WNNOperandDataType_Int32, 1)), steps);
	at = x_where(node, x_less(node, steps, lengths), at, steps);
	if (batch_axis)
		at = x_add(node,
			   x_mul(node, at, x_integer(node, WNNOperandDataType_Int32, batches)),
			   starts);
	else
		at = x_add(node,
			   x_mul(node, starts, x_integer(node, WNNOperandDataType_Int32, times)),
			   at);
	rows = (struct onnx_shape){
		2, { batches * times, onnx_shape_elements(&shape) / (batches * times) }
	};
	row = (struct onnx_shape){ 1, { batches * times } };
	x = x_gather(node, x_reshape(node, x, &rows), x_reshape(node, at, &row), 0);
	return onnx_out_as(node, 0, x_reshape(node, x, &shape), onnx_in_type(node, 0));
}
