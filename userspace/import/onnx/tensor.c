// SPDX-License-Identifier: MIT
/* Makes constants from tensors in a file, and from external data. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/folder.h"
#include "model.h"
#include "value.h"
#include "wire.h"

__attribute__((format(printf, 2, 3))) static WNNStatus bad(const Onnx__TensorProto *tensor,
							   const char *format, ...)
{
	char what[256];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	return onnx_error(WNNStatus_OperationError, "tensor \"%s\": %s",
			  tensor->name ? tensor->name : "", what);
}

static const char *external_entry(const Onnx__TensorProto *tensor, const char *key)
{
	for (size_t i = 0; i < tensor->n_external_data; i++) {
		const Onnx__StringStringEntryProto *entry = tensor->external_data[i];

		if (entry->key && entry->value && !strcmp(entry->key, key))
			return entry->value;
	}
	return NULL;
}

static WNNStatus external_file(struct onnx_model *model, const Onnx__TensorProto *tensor,
			       struct onnx_file **out)
{
	const char *location = external_entry(tensor, "location");
	struct onnx_file *file;
	WNNStatus status;
	char *path;

	if (!location || !import_stays_below(location))
		return bad(tensor, "the name of its external data is missing or leads out of the "
				   "folder of the model");
	if (!model->folder)
		return bad(tensor,
			   "its data is in another file: load the model from a file, so that its "
			   "folder is known");
	path = onnx_arena_printf(&model->build_arena, "%s/%s", model->folder, location);
	if (!path)
		return onnx_nomem();
	for (file = model->external; file; file = file->next)
		if (!strcmp(file->name, path))
			break;
	if (!file) {
		status = onnx_file_open(path, false, &file);
		if (status != WNNStatus_Success)
			return status;
		file->next = model->external;
		model->external = file;
	}
	*out = file;
	return WNNStatus_Success;
}

static WNNStatus external_number(const Onnx__TensorProto *tensor, const char *key, uint64_t *value)
{
	const char *text = external_entry(tensor, key);
	char *end;

	if (!text)
		return WNNStatus_Success;
	*value = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end)
		return bad(tensor, "%s of its external data is \"%.40s\"; it has to be a number",
			   key, text);
	return WNNStatus_Success;
}

static WNNStatus external_data(struct onnx_model *model, const Onnx__TensorProto *tensor,
			       size_t size, struct onnx_value *value)
{
	uint64_t offset = 0, length = size;
	WNNStatus status = external_file(model, tensor, &value->file);

	if (status == WNNStatus_Success)
		status = external_number(tensor, "offset", &offset);
	if (status == WNNStatus_Success)
		status = external_number(tensor, "length", &length);
	if (status != WNNStatus_Success)
		return status;
	if (length != size)
		return bad(tensor,
			   "its external data has %" PRIu64 " bytes, its shape and type say %zu",
			   length, size);
	if (offset > value->file->size || length > value->file->size - offset)
		return bad(tensor,
			   "its external data has %" PRIu64 " bytes from %" PRIu64
			   " on, the file has %zu",
			   length, offset, (size_t)value->file->size);
	value->data = value->file->data + offset;
	return WNNStatus_Success;
}

/*
 * Sets the value's data from the list of numbers that belongs to the tensor's type. Fails when the
 * list does not have @elements numbers, or when memory is exhausted.
 */
static WNNStatus typed_data(struct onnx_arena *arena, const Onnx__TensorProto *tensor,
			    size_t elements, struct onnx_value *value)
{
	unsigned int bits = onnx_type_bits(value->type);
	size_t count = 0;
	uint8_t *data;

	switch (value->type) {
	case ONNX_FLOAT:
		count = tensor->n_float_data;
		break;
	case ONNX_DOUBLE:
		count = tensor->n_double_data;
		break;
	case ONNX_INT64:
		count = tensor->n_int64_data;
		break;
	case ONNX_UINT32:
	case ONNX_UINT64:
		count = tensor->n_uint64_data;
		break;
	default:
		count = tensor->n_int32_data;
		break;
	}
	if (bits < 8 && count != onnx_data_size(value->type, (int64_t)elements))
		return bad(tensor, "it has %zu bytes, its shape and type say %zu", count,
			   onnx_data_size(value->type, (int64_t)elements));
	if (bits >= 8 && count != elements)
		return bad(tensor, "it has %zu elements, its shape says %zu", count, elements);
	data = onnx_arena_alloc(arena, onnx_data_size(value->type, (int64_t)elements));
	if (!data)
		return onnx_nomem();
	for (size_t i = 0; i < count; i++) {
		if (value->type == ONNX_FLOAT)
			memcpy(data + i * 4, &tensor->float_data[i], 4);
		else if (value->type == ONNX_DOUBLE)
			memcpy(data + i * 8, &tensor->double_data[i], 8);
		else if (value->type == ONNX_INT64)
			memcpy(data + i * 8, &tensor->int64_data[i], 8);
		else if (value->type == ONNX_UINT32 || value->type == ONNX_UINT64)
			memcpy(data + i * bits / 8, &tensor->uint64_data[i], bits / 8);
		else
			memcpy(data + i * (bits < 8 ? 8 : bits) / 8, &tensor->int32_data[i],
			       (bits < 8 ? 8 : bits) / 8);
	}
	value->data = data;
	return WNNStatus_Success;
}

WNNStatus onnx_value_of_tensor(struct onnx_model *model, struct onnx_arena *arena,
			       const Onnx__TensorProto *tensor, struct onnx_value *value)
{
	const char *type = onnx_type_name(tensor->data_type);
	int64_t elements;
	size_t size;

	value->type = tensor->data_type;
	if (!onnx_type_bits(value->type) && *type)
		return bad(tensor, "it has type %s, which constants cannot have here", type);
	if (!onnx_type_bits(value->type))
		return bad(tensor, "it has the number %d as type, which is not known",
			   tensor->data_type);
	if (tensor->n_dims > ONNX_MAX_RANK)
		return bad(tensor, "it has %zu dimensions; at most %d are allowed", tensor->n_dims,
			   ONNX_MAX_RANK);
	value->shape.rank = (uint32_t)tensor->n_dims;
	for (uint32_t i = 0; i < value->shape.rank; i++)
		value->shape.dim[i] = tensor->dims[i];
	elements = onnx_shape_elements(&value->shape);
	if (tensor->segment)
		return bad(tensor, "it is a segment of a larger tensor: a whole one is needed");
	if (elements < 0)
		return bad(tensor,
			   "a dimension is negative, or they multiply to too many elements");
	for (uint32_t i = 0; i < value->shape.rank; i++)
		if (value->shape.dim[i] < 0)
			return bad(tensor, "a dimension is negative");
	size = onnx_data_size(value->type, elements);
	if (tensor->has_data_location &&
	    tensor->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL)
		return external_data(model, tensor, size, value);
	if (tensor->has_raw_data) {
		struct onnx_span span;

		if (tensor->raw_data.len != sizeof(span))
			return bad(
				tensor,
				"internal error, please report it: its data is at no place of the "
				"file");
		memcpy(&span, tensor->raw_data.data, sizeof(span));
		if (span.size != size)
			return bad(tensor, "it has %zu bytes, its shape and type say %zu",
				   (size_t)span.size, size);
		value->file = onnx_model_lends(model) ? model->file : NULL;
		/* Lent memory begins at address 0, so the offset is the address. */
		value->data = (const uint8_t *)((uintptr_t)model->file->data + span.offset);
		return WNNStatus_Success;
	}
	return typed_data(arena, tensor, (size_t)elements, value);
}
