// SPDX-License-Identifier: MIT
/*
 * webnn-run: reads values from files that contain type and shape, .npy, .npz and ONNX tensors;
 * writes them as .npy.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../npz.h"
#include "onnx.pb-c.h"
#include "subject.h"

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), tail = strlen(end);

	return length >= tail && !strcmp(text + length - tail, end);
}

static bool is_npy(const char *path)
{
	char head[6];
	FILE *file = fopen(path, "rb");
	bool is = file && fread(head, 1, 6, file) == 6 && !memcmp(head, "\x93NUMPY", 6);

	if (file)
		fclose(file);
	return is;
}

bool value_file_has_shape(const char *path)
{
	return ends_with(path, ".npy") || ends_with(path, ".pb") || npz_is(path) || is_npy(path);
}

static const WNNStringView no_name = { "", 0 };

static int load_npy(const char *path, const char *name, struct value *value)
{
	struct npy array;
	int ret;

	if (npz_is(path) ? npz_load(&array, path, name) : npy_load(&array, path))
		return BAD_FILE;
	ret = value_make(value, BAD_FILE, path, no_name, array.type, array.rank, array.dim);
	if (!ret)
		memcpy(value->data, array.data, value->size);
	value->was = array.was;
	npy_free(&array);
	return ret;
}

int value_save(const struct value *value, const char *path)
{
	struct npy array = { .type = value->type,
			     .rank = value->rank,
			     .count = value->count,
			     .bytes = value->size,
			     .data = value->data };

	memcpy(array.dim, value->shape, sizeof(array.dim));
	return npy_save(&array, path) ? BAD_FILE : DONE;
}

char *value_path(const char *folder, const char *name)
{
	char *path;

	if (asprintf(&path, "%s/%s.npy", folder, name) < 0)
		return NULL;
	/* Slashes in names such as /model/add must not become folders. */
	for (char *at = path + strlen(folder) + 1; *at; at++)
		if (*at == '/')
			*at = '_';
	return path;
}

/* ---- tensors of ONNX */

static WNNOperandDataType type_of(int32_t type)
{
	switch (type) {
	case ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE:
	case ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT:
		return WNNOperandDataType_Float32;
	case ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16:
		return WNNOperandDataType_Float16;
	case ONNX__TENSOR_PROTO__DATA_TYPE__INT32:
		return WNNOperandDataType_Int32;
	case ONNX__TENSOR_PROTO__DATA_TYPE__UINT32:
		return WNNOperandDataType_Uint32;
	case ONNX__TENSOR_PROTO__DATA_TYPE__INT64:
		return WNNOperandDataType_Int64;
	case ONNX__TENSOR_PROTO__DATA_TYPE__UINT64:
		return WNNOperandDataType_Uint64;
	case ONNX__TENSOR_PROTO__DATA_TYPE__INT8:
		return WNNOperandDataType_Int8;
	case ONNX__TENSOR_PROTO__DATA_TYPE__UINT8:
	case ONNX__TENSOR_PROTO__DATA_TYPE__BOOL:
		return WNNOperandDataType_Uint8;
	default:
		return WNNOperandDataType_Undefined;
	}
}

/*
 * Returns how many elements the file holds: as bytes, or in the list that their type selects.
 * *rest: whether there is a part of an element more.
 */
static size_t elements_held(const Onnx__TensorProto *tensor, WNNOperandDataType type, bool *rest)
{
	bool wide = tensor->data_type == ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE;
	size_t size = wide ? 8 : wnnOperandDataTypeGetSize(type);

	*rest = tensor->has_raw_data && tensor->raw_data.len % size;
	if (tensor->has_raw_data)
		return tensor->raw_data.len / size;
	switch (type) {
	case WNNOperandDataType_Float32:
		return wide ? tensor->n_double_data : tensor->n_float_data;
	case WNNOperandDataType_Int64:
		return tensor->n_int64_data;
	case WNNOperandDataType_Uint64:
	case WNNOperandDataType_Uint32:
		return tensor->n_uint64_data;
	default:
		return tensor->n_int32_data;
	}
}

static void copy_doubles(const Onnx__TensorProto *tensor, struct value *value)
{
	const uint8_t *bytes = tensor->has_raw_data ? tensor->raw_data.data :
						      (const uint8_t *)tensor->double_data;

	for (size_t i = 0; i < value->count; i++) {
		double number;

		memcpy(&number, bytes + 8 * i, 8);
		value_set(value, i, number);
	}
	value->was = "float64";
}

static void copy_elements(const Onnx__TensorProto *tensor, struct value *value)
{
	const void *list = tensor->has_raw_data			     ? tensor->raw_data.data :
			   value->type == WNNOperandDataType_Float32 ? (void *)tensor->float_data :
			   value->type == WNNOperandDataType_Int64   ? (void *)tensor->int64_data :
			   value->type == WNNOperandDataType_Uint64  ? (void *)tensor->uint64_data :
								       NULL;

	if (!value->count)
		return;
	if (tensor->data_type == ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE) {
		copy_doubles(tensor, value);
		return;
	}
	if (list) {
		memcpy(value->data, list, value->size);
		return;
	}
	for (size_t i = 0; i < value->count; i++)
		if (value->type == WNNOperandDataType_Uint32)
			((uint32_t *)value->data)[i] = (uint32_t)tensor->uint64_data[i];
		else if (value->type == WNNOperandDataType_Float16)
			((uint16_t *)value->data)[i] = (uint16_t)tensor->int32_data[i];
		else
			value_set(value, i, tensor->int32_data[i]);
}

/* Refuses a tensor for the type of its elements. */
static int refuse_type(const char *path, int32_t type)
{
	const ProtobufCEnumValue *known = protobuf_c_enum_descriptor_get_value(
		&onnx__tensor_proto__data_type__descriptor, type);

	if (!known || type == ONNX__TENSOR_PROTO__DATA_TYPE__UNDEFINED)
		return complain(
			BAD_FILE,
			"%s: this file is not an ONNX tensor (TensorProto) or is damaged, or too "
			"little memory is free to read it; save it again, or give a .npy file",
			path);
	return complain(
		BAD_FILE,
		"%s: the file's elements have the ONNX type %s, which webnn-run does not read; "
		"save the tensor as .npy, in the type of the input",
		path, known->name);
}

static int take_tensor(const char *path, const Onnx__TensorProto *tensor, struct value *value)
{
	WNNOperandDataType type = type_of(tensor->data_type);
	uint32_t shape[VALUE_MAX_RANK];
	uint64_t count = 1;
	size_t held;
	bool rest;
	int ret;

	if (type == WNNOperandDataType_Undefined)
		return refuse_type(path, tensor->data_type);
	if (tensor->n_external_data)
		return complain(
			BAD_FILE,
			"%s: the tensor's elements are in another file, which webnn-run does not "
			"read; save the tensor as .npy",
			path);
	if (tensor->n_dims > VALUE_MAX_RANK)
		return complain(BAD_FILE,
				"%s: the tensor has %zu dimensions; at most %d are allowed", path,
				tensor->n_dims, VALUE_MAX_RANK);
	for (size_t i = 0; i < tensor->n_dims; i++) {
		if (tensor->dims[i] < 0 || tensor->dims[i] > INT32_MAX)
			return complain(BAD_FILE,
					"%s: dimension %zu of the tensor, counted from 0, has size "
					"%" PRId64 "; allowed is 0 to %d",
					path, i, tensor->dims[i], INT32_MAX);
		shape[i] = (uint32_t)tensor->dims[i];
		count = count > INT32_MAX ? count : count * shape[i];
	}
	held = elements_held(tensor, type, &rest);
	if (count != held || rest)
		return complain(
			BAD_FILE,
			"%s: the tensor in this file is damaged: it has %zu elements%s, but its "
			"shape has %" PRIu64 "; save it again",
			path, held, rest ? " and a part of one" : "", count);
	ret = value_make(value, BAD_FILE, path, no_name, type, (uint32_t)tensor->n_dims, shape);
	if (!ret)
		copy_elements(tensor, value);
	return ret;
}

static int load_tensor(const char *path, struct value *value)
{
	Onnx__TensorProto *tensor = NULL;
	uint8_t *bytes = NULL;
	long size = -1;
	FILE *file;
	int ret;

	errno = 0;
	file = fopen(path, "rb");
	if (file && !fseek(file, 0, SEEK_END))
		size = ftell(file);
	if (size >= 0)
		bytes = malloc((size_t)size + 1);
	if (!bytes || fseek(file, 0, SEEK_SET) ||
	    fread(bytes, 1, (size_t)size, file) != (size_t)size) {
		ret = complain_unread(path, errno);
	} else {
		tensor = onnx__tensor_proto__unpack(NULL, (size_t)size, bytes);
		ret = tensor ? take_tensor(path, tensor, value) :
			       complain(BAD_FILE,
					"%s: this file is not an ONNX tensor (TensorProto) or is "
					"damaged, or too little memory is free to read it; save it "
					"again, or give a .npy file",
					path);
	}
	if (tensor)
		onnx__tensor_proto__free_unpacked(tensor, NULL);
	free(bytes);
	if (file)
		fclose(file);
	return ret;
}

int value_load(const char *path, const char *name, struct value *value)
{
	return ends_with(path, ".npy") || npz_is(path) || is_npy(path) ?
		       load_npy(path, name, value) :
		       load_tensor(path, value);
}
