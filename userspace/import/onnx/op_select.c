// SPDX-License-Identifier: MIT
/* TopK and ReverseSequence, which WebNN has not, by composition. */
#include <math.h>
#include <string.h>

#include "ops.h"
#include "select.h"

#define MAX_COMPARISONS (1 << 24)

/* The smallest or largest number of a type. */
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

/* Numbers from 0 on along one dimension. */
WNNOperand onnx_iota(struct onnx_node *node, uint32_t rank, uint32_t axis, int64_t count)
{
	struct onnx_shape shape = { .rank = rank };
	int32_t *numbers = NULL;

	if (count > ONNX_INDICES)
		onnx_refuse(node, "axis", "dimension %u is too long", axis);
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
		return onnx_refuse(node, "k", "k is %lld of %lld elements", (long long)*k,
				   (long long)size);
	return 0;
}

/* Both outputs, with indices of int32. */
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

/*
 * Counts for each element those that come before it, which is its place. Takes the square of the elements,
 * but no operators for each result.
 */
static int top_k_by_rank(struct onnx_node *node, WNNOperand x, uint32_t axis, int64_t k)
{
	bool largest = onnx_attr_int(node, "largest", 1);
	WNNArgMinMaxOptions first = WNN_ARG_MIN_MAX_OPTIONS_INIT;
	WNNGatherOptions along = WNN_GATHER_OPTIONS_INIT;
	struct onnx_shape shape = x_shape(x), rows = { 2, { 1, 0 } };
	WNNOperand one, other, before, rank, indices, values;
	int64_t size = shape.dim[axis];

	first.label = node->options.label;
	first.outputDataType = WNNOperandDataType_Int32;
	along.label = node->options.label;
	along.axis = 1;
	rows.dim[1] = size;
	rows.dim[0] = onnx_shape_elements(&shape) / size;
	x = x_reshape(node, x_move_axis(node, x, axis, shape.rank - 1), &rows);
	one = x_unsqueeze(node, x, 2);
	other = x_unsqueeze(node, x, 1);
	before = x_and(node, x_equal(node, one, other),
		       x_less(node, onnx_iota(node, 3, 2, size), onnx_iota(node, 3, 1, size)));
	before = x_or(node, before,
		      largest ? x_less(node, one, other) : x_greater(node, one, other));
	before = before ? x_cast(node, before, WNNOperandDataType_Int32) : NULL;
	rank = x_reduce1(node, X_SUM, before, 2, false);
	rank = rank ? x_unsqueeze(node, rank, 1) : NULL;
	rank = x_equal(node, rank, onnx_iota(node, 3, 1, k));
	rank = rank ? x_cast(node, rank, WNNOperandDataType_Int32) : NULL;
	indices = wnnGraphBuilderArgMax(node->b, rank, 2, &first);
	values = wnnGraphBuilderGatherElements(node->b, x, indices, &along);
	/* Back to where the dimension was. */
	for (uint32_t i = axis; i + 1 < shape.rank; i++)
		shape.dim[i] = onnx_in_shape(node, 0)->dim[i + 1];
	shape.dim[shape.rank - 1] = k;
	values = x_move_axis(node, x_reshape(node, values, &shape), shape.rank - 1, axis);
	indices = x_move_axis(node, x_reshape(node, indices, &shape), shape.rank - 1, axis);
	return top_k_out(node, values, indices);
}

static int top_none(struct onnx_node *node, const struct onnx_shape *like, uint32_t axis)
{
	struct onnx_shape shape = *like;

	shape.dim[axis] = 0;
	for (size_t i = 0; i < 2 && i < node->output_count; i++) {
		struct onnx_value *none =
			onnx_empty_value(node, i ? ONNX_INT64 : onnx_in_type(node, 0), &shape);

		if (!none)
			return -1;
		onnx_out_value(node, i, none);
	}
	return 0;
}

/*
 * Takes the extreme k times. What was taken is remembered, instead of overwritten by an infinity, which
 * the input may hold itself. Of equal elements the first is taken.
 */
int onnx_op_top_k(struct onnx_node *node)
{
	bool largest = onnx_attr_int(node, "largest", 1);
	enum x_reduction kind = largest ? X_MAX : X_MIN;
	WNNArgMinMaxOptions first = WNN_ARG_MIN_MAX_OPTIONS_INIT;
	WNNOperand x = onnx_in(node, 0), steps, worst, taken = NULL, *values, *indices;
	WNNOperandDataType type;
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
	type = wnnOperandGetDataType(x);
	if (type == WNNOperandDataType_Int8 || type == WNNOperandDataType_Uint8)
		x = x_cast(node, x, WNNOperandDataType_Int32);
	if (x && k > 4 && onnx_shape_elements(&shape) <= MAX_COMPARISONS / shape.dim[axis])
		return top_k_by_rank(node, x, axis, k);
	if (onnx_unroll(node, (uint64_t)k * 8))
		return -1;
	values = onnx_node_alloc(node, (size_t)k * sizeof(*values));
	indices = onnx_node_alloc(node, (size_t)k * sizeof(*indices));
	steps = onnx_iota(node, shape.rank, axis, shape.dim[axis]);
	if (!x || !values || !indices || !steps)
		return onnx_out(node, 0, NULL);
	worst = onnx_extreme(node, wnnOperandGetDataType(x), !largest);
	first.label = node->options.label;
	first.keepDimensions = WNN_TRUE;
	first.outputDataType = WNNOperandDataType_Int32;
	for (int64_t i = 0; i < k; i++) {
		WNNOperand left = taken ? x_where(node, taken, worst, x) : x, here;

		values[i] = x_reduce1(node, kind, left, axis, true);
		here = x_equal(node, x, values[i]);
		if (taken)
			here = x_and(node, here, x_not(node, taken));
		here = x_cast(node, here, WNNOperandDataType_Int32);
		indices[i] = wnnGraphBuilderArgMax(node->b, here, axis, &first);
		here = x_equal(node, steps, indices[i]);
		taken = taken ? x_or(node, taken, here) : here;
		if (!taken)
			return onnx_out(node, 0, NULL);
	}
	return top_k_out(node, x_concat(node, (size_t)k, values, axis),
			 x_concat(node, (size_t)k, indices, axis));
}

/* Rows of batch and time are gathered: the first ones of each batch from behind. */
int onnx_op_reverse_sequence(struct onnx_node *node)
{
	WNNOperand x = onnx_in(node, 0), lengths = x ? onnx_in(node, 1) : NULL, steps, starts, at;
	int64_t batch_axis = onnx_attr_int(node, "batch_axis", 1), batches, times;
	struct onnx_shape shape, rows, line = { 2, { 1, 1 } };

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
		return onnx_refuse(node, "sequence_lens", "sequence_lens has a wrong shape");
	if (batches * times > ONNX_INDICES)
		return onnx_refuse(node, "", "the sequences are too long");
	steps = onnx_iota(node, 2, (uint32_t)(1 - batch_axis), times);
	starts = onnx_iota(node, 2, (uint32_t)batch_axis, batches);
	line.dim[batch_axis] = batches;
	lengths = x_cast(node, x_reshape(node, lengths, &line), WNNOperandDataType_Int32);
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
	line = (struct onnx_shape){ 1, { batches * times } };
	x = x_gather(node, x_reshape(node, x, &rows), x_reshape(node, at, &line), 0);
	return onnx_out_as(node, 0, x_reshape(node, x, &shape), onnx_in_type(node, 0));
}
