// SPDX-License-Identifier: MIT
/*
 * Shape and Size, and operators that only move elements: reshape, slice, concatenate, expand and
 * the like.
 */
#include <string.h>

#include "move.h"
#include "ops.h"

static int out(struct onnx_node *node, size_t output, struct onnx_value *value)
{
	return value ? onnx_out_value(node, output, value) : -1;
}

/* Returns the tensor at an input; NULL: there is none, and the node is refused. */
static struct onnx_value *value_at(struct onnx_node *node, size_t input)
{
	if (!onnx_has(node, input) || node->inputs[input]->sequence) {
		onnx_refuse(node, "", "input %zu is missing, or is no tensor", input);
		return NULL;
	}
	return node->inputs[input];
}

int onnx_op_shape(struct onnx_node *node)
{
	struct onnx_value *x = value_at(node, 0);
	int64_t begin, end, *data;
	struct onnx_shape shape = { 1, { 0 } };

	if (!x)
		return -1;
	begin = onnx_attr_int(node, "start", 0);
	end = onnx_attr_int(node, "end", x->shape.rank);
	begin += begin < 0 ? x->shape.rank : 0;
	end += end < 0 ? x->shape.rank : 0;
	begin = begin < 0 ? 0 : begin > x->shape.rank ? x->shape.rank : begin;
	end = end < begin ? begin : end > x->shape.rank ? x->shape.rank : end;
	shape.dim[0] = end - begin;
	data = onnx_out_constant(node, 0, ONNX_INT64, &shape);
	for (int64_t i = begin; data && i < end; i++)
		data[i - begin] = x->shape.dim[i];
	return data ? 0 : -1;
}

int onnx_op_size(struct onnx_node *node)
{
	struct onnx_value *x = value_at(node, 0);
	struct onnx_shape scalar = { 0 };
	int64_t *data = x ? onnx_out_constant(node, 0, ONNX_INT64, &scalar) : NULL;

	if (data)
		*data = onnx_shape_elements(&x->shape);
	return data ? 0 : -1;
}

int onnx_op_reshape(struct onnx_node *node)
{
	struct onnx_value *x = value_at(node, 0);
	struct onnx_shape shape = { 0 };
	int64_t known = 1, guessed = -1;
	const int64_t *given;
	size_t count;

	if (!x)
		return -1;
	if (node->version < 5)
		given = onnx_attr_ints(node, "shape", &count);
	else if (onnx_in_ints(node, 1, "shape", &given, &count))
		return -1;
	if (count > ONNX_MAX_RANK)
		return onnx_refuse(node, "shape", "the result would have %zu dimensions", count);
	shape.rank = (uint32_t)count;
	if (count)
		memcpy(shape.dim, given, count * sizeof(*given));
	for (uint32_t i = 0; i < count; i++) {
		if (!given[i] && !onnx_attr_int(node, "allowzero", 0)) {
			if (i >= x->shape.rank)
				return onnx_refuse(
					node, "shape",
					"shape copies dimension %u, but the input has %u dimensions",
					i, x->shape.rank);
			shape.dim[i] = x->shape.dim[i];
		}
		if (given[i] < -1 || (given[i] == -1 && guessed >= 0))
			return onnx_refuse(
				node, "shape",
				"shape has an item %lld: sizes from 0 on, and -1 once, are allowed",
				(long long)given[i]);
		if (given[i] == -1)
			guessed = i;
		else if (shape.dim[i] && known > INT64_MAX / shape.dim[i])
			return onnx_too_big(node, "shape", &shape);
		else
			known *= shape.dim[i];
	}
	if (guessed >= 0 && !known)
		return onnx_refuse(node, "shape",
				   "the dimension of -1 cannot be told, as another one is 0");
	if (guessed >= 0)
		shape.dim[guessed] = onnx_shape_elements(&x->shape) / known;
	return out(node, 0, onnx_move_reshape(node, x, &shape));
}

int onnx_op_flatten(struct onnx_node *node)
{
	struct onnx_shape shape = { 2, { 1, 1 } };
	struct onnx_value *x = value_at(node, 0);
	int64_t axis = onnx_attr_int(node, "axis", 1);

	if (!x)
		return -1;
	if (axis < -(int64_t)x->shape.rank || axis > (int64_t)x->shape.rank)
		return onnx_refuse(node, "axis", "axis is beyond the dimensions of the input");
	axis += axis < 0 ? x->shape.rank : 0;
	for (uint32_t i = 0; i < x->shape.rank; i++)
		shape.dim[i >= axis] *= x->shape.dim[i];
	return out(node, 0, onnx_move_reshape(node, x, &shape));
}

static int given_axes(struct onnx_node *node, const int64_t **axes, size_t *count)
{
	if (node->version < 13) {
		*axes = onnx_attr_ints(node, "axes", count);
		return 0;
	}
	return onnx_in_ints(node, 1, "axes", axes, count);
}

int onnx_op_squeeze(struct onnx_node *node)
{
	struct onnx_value *x = value_at(node, 0);
	bool gone[ONNX_MAX_RANK] = { 0 };
	struct onnx_shape shape = { 0 };
	const int64_t *axes;
	uint32_t axis;
	size_t count;

	if (!x || given_axes(node, &axes, &count))
		return -1;
	for (size_t i = 0; i < count; i++) {
		if (onnx_axis(node, "axes", axes[i], x->shape.rank, &axis))
			return -1;
		gone[axis] = true;
	}
	for (uint32_t i = 0; i < x->shape.rank; i++)
		if (count ? !gone[i] : x->shape.dim[i] != 1)
			shape.dim[shape.rank++] = x->shape.dim[i];
	return out(node, 0, onnx_move_reshape(node, x, &shape));
}

int onnx_op_unsqueeze(struct onnx_node *node)
{
	struct onnx_value *x = value_at(node, 0);
	bool added[ONNX_MAX_RANK] = { 0 };
	struct onnx_shape shape = { 0 };
	const int64_t *axes;
	uint32_t axis, from = 0;
	size_t count;

	if (!x || given_axes(node, &axes, &count))
		return -1;
	if (count + x->shape.rank > ONNX_MAX_RANK)
		return onnx_refuse(node, "axes", "the result would have more than 8 dimensions");
	shape.rank = (uint32_t)count + x->shape.rank;
	for (size_t i = 0; i < count; i++) {
		if (onnx_axis(node, "axes", axes[i], shape.rank, &axis))
			return -1;
		if (added[axis])
			return onnx_refuse(node, "axes", "an axis occurs twice");
		added[axis] = true;
	}
	for (uint32_t i = 0; i < shape.rank; i++)
		shape.dim[i] = added[i] ? 1 : x->shape.dim[from++];
	return out(node, 0, onnx_move_reshape(node, x, &shape));
}

int onnx_op_transpose(struct onnx_node *node)
{
	struct onnx_value *x = value_at(node, 0);
	uint32_t permutation[ONNX_MAX_RANK], seen = 0;
	const int64_t *perm;
	size_t count;

	if (!x)
		return -1;
	perm = onnx_attr_ints(node, "perm", &count);
	if (perm && count != x->shape.rank)
		return onnx_refuse(node, "perm", "perm has %zu items, and the input %u dimensions",
				   count, x->shape.rank);
	for (uint32_t i = 0; i < x->shape.rank; i++) {
		if (onnx_axis(node, "perm", perm ? perm[i] : x->shape.rank - 1 - i, x->shape.rank,
			      &permutation[i]))
			return -1;
		seen |= 1u << permutation[i];
	}
	if (seen != (1u << x->shape.rank) - 1)
		return onnx_refuse(node, "perm", "perm names a dimension twice");
	return out(node, 0, onnx_move_transpose(node, x, permutation));
}

int onnx_op_concat(struct onnx_node *node)
{
	struct onnx_value **values = node->inputs;
	uint32_t axis;

	for (size_t i = 0; i < node->input_count; i++)
		if (!value_at(node, i))
			return -1;
	if (!node->input_count)
		return onnx_refuse(node, "", "it has no input");
	if (onnx_axis(node, "axis", onnx_attr_int(node, "axis", 1), values[0]->shape.rank, &axis))
		return -1;
	return out(node, 0, onnx_move_concat(node, node->input_count, values, axis));
}

/* Sets the sizes of the slices of Split: as given, or equal ones. Returns 0 or -1. */
static int split_sizes(struct onnx_node *node, int64_t size, size_t count, int64_t *parts)
{
	const int64_t *given;
	int64_t chunk = count ? (int64_t)((uint64_t)size + count - 1) / (int64_t)count : 0;
	size_t number;

	if (node->version < 13)
		given = onnx_attr_ints(node, "split", &number);
	else if (onnx_in_ints(node, 1, "split", &given, &number))
		return -1;
	/* A split without items counts as absent: the slices have equal sizes. */
	if (!number)
		given = NULL;
	if (given && number != count)
		return onnx_refuse(node, "split", "split has %zu items for %zu outputs", number,
				   count);
	for (size_t i = 0; i < count; i++) {
		parts[i] = given ? given[i] : size < chunk ? size : chunk;
		if (parts[i] < 0 || parts[i] > size)
			return onnx_refuse(node, "split",
					   "item %zu of split is %lld, and the dimension has %lld "
					   "elements left",
					   i, (long long)parts[i], (long long)size);
		size -= parts[i];
	}
	if (size)
		return onnx_refuse(node, "split",
				   "the items of split leave %lld elements of the dimension",
				   (long long)size);
	return 0;
}

int onnx_op_split(struct onnx_node *node)
{
	int64_t starts[ONNX_MAX_RANK] = { 0 }, strides[ONNX_MAX_RANK];
	struct onnx_value *x = value_at(node, 0);
	size_t count = node->output_count;
	struct onnx_shape shape;
	int64_t *parts;
	uint32_t axis;

	if (!x || onnx_axis(node, "axis", onnx_attr_int(node, "axis", 0), x->shape.rank, &axis))
		return -1;
	if (onnx_attr_int(node, "num_outputs", (int64_t)count) != (int64_t)count)
		return onnx_refuse(node, "num_outputs", "num_outputs is not the number of outputs");
	parts = onnx_node_alloc(node, (count + 1) * sizeof(*parts));
	shape = x->shape;
	if (!parts || split_sizes(node, shape.dim[axis], count, parts))
		return -1;
	for (uint32_t i = 0; i < shape.rank; i++)
		strides[i] = 1;
	for (size_t i = 0; i < count; i++) {
		shape.dim[axis] = parts[i];
		if (out(node, i, onnx_move_slice(node, x, starts, shape.dim, strides)))
			return -1;
		starts[axis] += parts[i];
	}
	return 0;
}

/*
 * Converts Slice's begin, end and step of one dimension to the start and the number of elements.
 * Returns 0 or -1.
 */
static int slice_one(struct onnx_node *node, int64_t size, int64_t begin, int64_t end, int64_t step,
		     int64_t *start, int64_t *count)
{
	int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;

	if (!step || step == INT64_MIN)
		return onnx_refuse(node, "steps", "a step is %lld: all but 0 and -2^63 are allowed",
				   (long long)step);
	if (begin < 0 && begin >= -size)
		begin += size;
	else if (begin < 0)
		begin = low;
	if (end < 0 && end >= -size)
		end += size;
	else if (end < 0)
		end = low;
	begin = begin > high ? high : begin;
	end = end > high ? high : end;
	*start = begin;
	*count = step > 0 ? (end > begin ? (end - begin - 1) / step + 1 : 0) :
			    (begin > end ? (begin - end - 1) / -step + 1 : 0);
	return 0;
}

int onnx_op_slice(struct onnx_node *node)
{
	int64_t start[ONNX_MAX_RANK] = { 0 }, stride[ONNX_MAX_RANK];
	struct onnx_value *x = value_at(node, 0);
	const int64_t *begins, *ends, *axes, *steps = NULL;
	size_t n_begins, n_ends, n_axes, n_steps = 0;
	struct onnx_shape shape;
	uint32_t axis;

	if (!x)
		return -1;
	if (node->version < 10) {
		begins = onnx_attr_ints(node, "starts", &n_begins);
		ends = onnx_attr_ints(node, "ends", &n_ends);
		axes = onnx_attr_ints(node, "axes", &n_axes);
	} else if (onnx_in_ints(node, 1, "starts", &begins, &n_begins) ||
		   onnx_in_ints(node, 2, "ends", &ends, &n_ends) ||
		   onnx_in_ints(node, 3, "axes", &axes, &n_axes) ||
		   onnx_in_ints(node, 4, "steps", &steps, &n_steps)) {
		return -1;
	}
	if (!axes && n_begins > x->shape.rank)
		return onnx_refuse(node, "starts", "starts has %zu items for %u dimensions",
				   n_begins, x->shape.rank);
	if (n_begins != n_ends || (axes && n_axes != n_begins) || (steps && n_steps != n_begins))
		return onnx_refuse(node, "starts", "starts, ends, axes and steps differ in length");
	shape = x->shape;
	for (uint32_t i = 0; i < shape.rank; i++)
		stride[i] = 1;
	for (size_t i = 0; i < n_begins; i++) {
		if (onnx_axis(node, "axes", axes ? axes[i] : (int64_t)i, shape.rank, &axis))
			return -1;
		stride[axis] = steps ? steps[i] : 1;
		if (slice_one(node, x->shape.dim[axis], begins[i], ends[i], stride[axis],
			      &start[axis], &shape.dim[axis]))
			return -1;
		/* A stride beyond the dimension takes only one element. */
		if (shape.dim[axis] <= 1)
			stride[axis] = 1;
		if (!shape.dim[axis])
			start[axis] = 0;
	}
	return out(node, 0, onnx_move_slice(node, x, start, shape.dim, stride));
}

int onnx_op_expand(struct onnx_node *node)
{
	struct onnx_value *x = value_at(node, 0);
	struct onnx_shape shape = { 0 };
	bool negative = false;
	const int64_t *given;
	size_t count;

	if (!x || onnx_in_ints(node, 1, "shape", &given, &count))
		return -1;
	if (count > ONNX_MAX_RANK)
		return onnx_refuse(node, "shape", "the result would have %zu dimensions", count);
	shape.rank = (uint32_t)count;
	for (uint32_t i = 0; i < count; i++) {
		shape.dim[i] = given[i];
		negative |= given[i] < 0;
	}
	if (negative || !onnx_shape_broadcast(&x->shape, &shape, &shape))
		return onnx_refuse(node, "shape", "%s cannot be expanded to %s",
				   onnx_shape_text(node->import->arena, &x->shape),
				   onnx_shape_text(node->import->arena, &shape));
	if (onnx_shape_is_too_big(&shape))
		return onnx_too_big(node, "shape", &shape);
	return out(node, 0, onnx_move_expand(node, x, &shape));
}

int onnx_op_tile(struct onnx_node *node)
{
	struct onnx_value *x = value_at(node, 0);
	const int64_t *repeats;
	size_t count;

	if (!x || onnx_in_ints(node, 1, "repeats", &repeats, &count))
		return -1;
	if (count != x->shape.rank)
		return onnx_refuse(node, "repeats", "repeats has %zu items for %u dimensions",
				   count, x->shape.rank);
	return out(node, 0, onnx_move_tile(node, x, repeats));
}

int onnx_op_gather(struct onnx_node *node)
{
	struct onnx_value *x = value_at(node, 0);
	struct onnx_value *indices = x ? value_at(node, 1) : NULL;
	uint32_t axis;

	if (!indices ||
	    onnx_axis(node, "axis", onnx_attr_int(node, "axis", 0), x->shape.rank, &axis))
		return -1;
	return out(node, 0, onnx_move_gather(node, x, indices, axis));
}

int onnx_op_gather_elements(struct onnx_node *node)
{
	WNNGatherOptions options = WNN_GATHER_OPTIONS_INIT;
	WNNOperand x = onnx_in(node, 0);
	WNNOperand indices = x ? onnx_in(node, 1) : NULL;

	if (!indices || onnx_axis(node, "axis", onnx_attr_int(node, "axis", 0),
				  onnx_in_shape(node, 0)->rank, &options.axis))
		return -1;
	options.label = node->options.label;
	/*
	 * WebNN wants equal sizes in the other dimensions; ONNX allows smaller indices. Cuts x to
	 * them.
	 */
	for (uint32_t i = 0; i < x_shape(x).rank && i < x_shape(indices).rank; i++)
		if (i != options.axis && x_shape(indices).dim[i] < x_shape(x).dim[i])
			x = x_slice_axis(node, x, i, 0, x_shape(indices).dim[i], 1);
	return onnx_out_as(node, 0, wnnGraphBuilderGatherElements(node->b, x, indices, &options),
			   onnx_in_type(node, 0));
}

/*
 * Returns x repeated for each tuple of indices: the tuples have no numbers, so each selects all
 * dimensions of x after those of the batch.
 */
static WNNOperand gather_all(struct onnx_node *node, WNNOperand x, const struct onnx_shape *indices,
			     uint32_t batch)
{
	struct onnx_shape from = x_shape(x), middle = { 0 }, to = { 0 };

	if (indices->rank - 1 + from.rank - batch > ONNX_MAX_RANK) {
		onnx_refuse(node, "", "the result would have more than %d dimensions",
			    ONNX_MAX_RANK);
		return NULL;
	}
	for (uint32_t i = 0; i + 1 < indices->rank; i++) {
		middle.dim[middle.rank++] = i < batch ? from.dim[i] : 1;
		to.dim[to.rank++] = indices->dim[i];
	}
	for (uint32_t i = batch; i < from.rank; i++) {
		middle.dim[middle.rank++] = from.dim[i];
		to.dim[to.rank++] = from.dim[i];
	}
	return x_expand(node, x_reshape(node, x, &middle), &to);
}

/*
 * Whether the indices are tuples without numbers (the last dimension is 0), and there is at least
 * one tuple.
 */
static bool selects_all(const struct onnx_shape *indices)
{
	struct onnx_shape others = *indices;

	if (!others.rank || others.dim[others.rank - 1])
		return false;
	others.rank--;
	return onnx_shape_elements(&others) > 0;
}

int onnx_op_gather_nd(struct onnx_node *node)
{
	struct onnx_shape shape = *onnx_in_shape(node, 1), data = *onnx_in_shape(node, 0);
	int64_t batch = onnx_attr_int(node, "batch_dims", 0), flat = 1;
	WNNOperand x = onnx_in(node, 0);
	WNNOperand indices;
	int64_t *numbers;

	if (!x)
		return -1;
	if (batch < 0 || batch >= shape.rank || batch >= data.rank)
		return onnx_refuse(node, "batch_dims", "batch_dims is beyond the dimensions");
	if (selects_all(&shape))
		return onnx_out_as(node, 0, gather_all(node, x, &shape, (uint32_t)batch),
				   onnx_in_type(node, 0));
	indices = onnx_in(node, 1);
	if (!indices)
		return -1;
	if (batch) {
		/* Merges the batch dimensions into one, whose index is put before the others. */
		struct onnx_shape index = { 3, { 1, 1, shape.dim[shape.rank - 1] } },
				  one = { 3, { 0 } };
		struct onnx_shape merged = { data.rank - (uint32_t)batch + 1, { 0 } },
				  result = shape;
		WNNOperand both[2];

		for (int64_t i = 0; i < batch; i++)
			flat *= data.dim[i];
		for (uint32_t i = (uint32_t)batch; i + 1 < shape.rank; i++)
			index.dim[1] *= shape.dim[i];
		index.dim[0] = flat;
		merged.dim[0] = flat;
		memcpy(merged.dim + 1, data.dim + batch,
		       (data.rank - (size_t)batch) * sizeof(merged.dim[0]));
		numbers = onnx_node_alloc(node, (size_t)(flat * index.dim[1]) * sizeof(*numbers));
		if (!numbers)
			return -1;
		for (int64_t i = 0; i < flat * index.dim[1]; i++)
			numbers[i] = i / index.dim[1];
		one = (struct onnx_shape){ 3, { flat, index.dim[1], 1 } };
		both[0] = x_constant(node, WNNOperandDataType_Int64, &one, numbers);
		both[1] = x_cast(node, x_reshape(node, indices, &index), WNNOperandDataType_Int64);
		indices = x_concat(node, 2, both, 2);
		x = wnnGraphBuilderGatherND(node->b, x_reshape(node, x, &merged), indices,
					    &node->options);
		result.rank = shape.rank - 1;
		for (uint32_t i = (uint32_t)(batch + shape.dim[shape.rank - 1]);
		     i < data.rank && result.rank < ONNX_MAX_RANK; i++)
			result.dim[result.rank++] = data.dim[i];
		return onnx_out_as(node, 0, x ? x_reshape(node, x, &result) : NULL,
				   onnx_in_type(node, 0));
	}
	return onnx_out_as(node, 0, wnnGraphBuilderGatherND(node->b, x, indices, &node->options),
			   onnx_in_type(node, 0));
}
