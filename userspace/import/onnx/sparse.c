// SPDX-License-Identifier: MIT
/* Converts sparse tensors of a file to dense ones, because WebNN has no sparse tensors. */
#include <string.h>

#include "model.h"
#include "value.h"

#define MAX_ELEMENTS ((int64_t)1 << 24)

static WNNStatus bad(const Onnx__SparseTensorProto *tensor, const char *what)
{
	return onnx_error(WNNStatus_OperationError, "sparse tensor \"%s\": %s",
			  tensor->values && tensor->values->name ? tensor->values->name : "", what);
}

/*
 * Returns the offset of stored element @index in the dense tensor, or -1. The indices have one
 * number for each element, or one for each dimension.
 */
static int64_t place_of(const struct onnx_value *indices, const struct onnx_shape *shape,
			size_t index)
{
	int64_t at = 0, number;

	if (indices->shape.rank == 1) {
		at = onnx_value_int(indices, index);
		return at < onnx_shape_elements(shape) ? at : -1;
	}
	for (uint32_t i = 0; i < shape->rank; i++) {
		number = onnx_value_int(indices, index * shape->rank + i);
		if (number < 0 || number >= shape->dim[i])
			return -1;
		at = at * shape->dim[i] + number;
	}
	return at;
}

static WNNStatus check(const Onnx__SparseTensorProto *tensor, const struct onnx_value *values,
		       const struct onnx_value *indices, const struct onnx_shape *shape)
{
	int64_t elements = onnx_shape_elements(shape);

	if (elements < 0 || elements > MAX_ELEMENTS)
		return bad(tensor, "it has more than 2^24 elements");
	if (values->shape.rank != 1 || indices->type != ONNX_INT64 || indices->shape.rank < 1 ||
	    indices->shape.rank > 2 || indices->shape.dim[0] != values->shape.dim[0] ||
	    (indices->shape.rank == 2 && indices->shape.dim[1] != shape->rank))
		return bad(tensor, "its values and indices do not fit together");
	return WNNStatus_Success;
}

WNNStatus onnx_value_of_sparse(struct onnx_model *model, struct onnx_arena *arena,
			       const Onnx__SparseTensorProto *tensor, struct onnx_value *value)
{
	struct onnx_value values = { 0 }, indices = { 0 };
	struct onnx_shape shape = { .rank = (uint32_t)tensor->n_dims };
	WNNStatus status;
	uint8_t *data;

	if (!tensor->values || !tensor->indices || tensor->n_dims > ONNX_MAX_RANK)
		return bad(tensor, "it has no values, no indices, or more than 8 dimensions");
	for (uint32_t i = 0; i < shape.rank; i++) {
		shape.dim[i] = tensor->dims[i];
		if (shape.dim[i] < 0)
			return bad(tensor, "a dimension is below 0");
	}
	status = onnx_value_of_tensor(model, arena, tensor->values, &values);
	if (status == WNNStatus_Success)
		status = onnx_value_of_tensor(model, arena, tensor->indices, &indices);
	if (status == WNNStatus_Success)
		status = check(tensor, &values, &indices, &shape);
	if (status != WNNStatus_Success)
		return status;
	data = onnx_arena_alloc(arena,
				onnx_data_size(values.type, onnx_shape_elements(&shape)) + 1);
	if (!data)
		return onnx_nomem();
	for (int64_t i = 0; i < values.shape.dim[0]; i++) {
		int64_t at = place_of(&indices, &shape, (size_t)i);

		if (at < 0)
			return bad(tensor, "an index is not within its dimensions");
		onnx_copy_element(values.type, data, (size_t)at, values.data, (size_t)i);
	}
	*value = (struct onnx_value){ .type = values.type, .shape = shape, .data = data };
	return WNNStatus_Success;
}
