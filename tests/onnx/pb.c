// SPDX-License-Identifier: MIT
/* Reads recorded tensors: TensorProto and the messages that contain it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "value.h"

static uint8_t *read_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	uint8_t *data = NULL;
	long length;

	if (!file)
		return NULL;
	fseek(file, 0, SEEK_END);
	length = ftell(file);
	rewind(file);
	data = malloc((size_t)length + 1);
	*size = fread(data, 1, (size_t)length, file);
	fclose(file);
	return data;
}

static size_t elements_of(const struct pb_tensor *tensor)
{
	size_t elements = 1;

	for (uint32_t i = 0; i < tensor->rank; i++)
		elements *= tensor->shape[i];
	return elements;
}

double pb_range(const struct pb_tensor *tensor)
{
	struct onnx_value value = { .type = tensor->type, .data = tensor->data };
	double low = INFINITY, high = -INFINITY;
	size_t elements = elements_of(tensor);

	for (size_t i = 0; i < elements; i++) {
		double x = onnx_value_float(&value, i);

		if (!isfinite(x))
			continue;
		low = fmin(low, x);
		high = fmax(high, x);
	}
	return high > low ? high - low : high < low ? 0 : fabs(high);
}

double pb_relative(const struct pb_tensor *tensor, double relative)
{
	double least = tensor->type == ONNX_BFLOAT16 ? 0x1p-6 :
		       tensor->type == ONNX_FLOAT16  ? 0x1p-9 :
						       0;

	return relative < least ? least : relative;
}

static bool from_tensor(const Onnx__TensorProto *tensor, struct pb_tensor *out)
{
	size_t elements = 1, bits = onnx_type_bits(tensor->data_type);

	if (!bits || tensor->n_dims > 16)
		return false;
	out->type = tensor->data_type;
	out->rank = (uint32_t)tensor->n_dims;
	for (size_t i = 0; i < tensor->n_dims; i++) {
		out->shape[i] = (uint32_t)tensor->dims[i];
		elements *= (size_t)tensor->dims[i];
	}
	out->size = (elements * bits + 7) / 8;
	if (tensor->has_raw_data && tensor->raw_data.len != out->size)
		return false;
	out->data = calloc(1, out->size + 1);
	if (tensor->has_raw_data) {
		/* An empty field has the address NULL, which memcpy() must not get. */
		if (out->size)
			memcpy(out->data, tensor->raw_data.data, out->size);
		return true;
	}
	for (size_t i = 0; i < tensor->n_float_data; i++)
		memcpy(out->data + 4 * i, &tensor->float_data[i], 4);
	for (size_t i = 0; i < tensor->n_double_data; i++)
		memcpy(out->data + 8 * i, &tensor->double_data[i], 8);
	for (size_t i = 0; i < tensor->n_int64_data; i++)
		memcpy(out->data + 8 * i, &tensor->int64_data[i], 8);
	for (size_t i = 0; i < tensor->n_uint64_data; i++)
		memcpy(out->data + bits / 8 * i, &tensor->uint64_data[i], bits / 8);
	for (size_t i = 0; i < tensor->n_int32_data && bits >= 8; i++)
		memcpy(out->data + bits / 8 * i, &tensor->int32_data[i], bits / 8);
	for (size_t i = 0; i < tensor->n_int32_data && bits < 8; i++)
		out->data[i] = (uint8_t)tensor->int32_data[i];
	return true;
}

static bool add_tensor(const uint8_t *data, size_t size, struct pb_values *values)
{
	Onnx__TensorProto *tensor = onnx__tensor_proto__unpack(NULL, size, data);
	bool good = tensor && values->count < MAX_VALUES &&
		    from_tensor(tensor, &values->items[values->count]);

	if (tensor)
		onnx__tensor_proto__free_unpacked(tensor, NULL);
	values->count += good;
	return good;
}

/*
 * Adds the tensors in field 3 of a SequenceProto or OptionalProto, and those of the sequence in
 * field 5. Returns false when a message is malformed.
 */
static bool add_all(const uint8_t *data, size_t size, struct pb_values *values)
{
	size_t at = 0;

	while (at < size) {
		uint64_t tag = data[at++], length = 0;
		int shift = 0;

		do {
			length |= (uint64_t)(data[at] & 0x7f) << shift;
			shift += 7;
		} while (data[at++] & 0x80 && at < size);
		if ((tag & 7) == 0)
			continue;
		if ((tag & 7) != 2 || length > size - at)
			return false;
		if (tag >> 3 == 3 && !add_tensor(data + at, (size_t)length, values))
			return false;
		if (tag >> 3 == 5) {
			values->sequence = true;
			if (!add_all(data + at, (size_t)length, values))
				return false;
		}
		at += (size_t)length;
	}
	return true;
}

bool pb_is_beyond(const struct pb_tensor *tensor)
{
	struct onnx_value value = { .type = tensor->type, .data = tensor->data };

	for (size_t i = 0; tensor->type == ONNX_DOUBLE && i < elements_of(tensor); i++) {
		double x = fabs(onnx_value_float(&value, i));

		if (isfinite(x) && x > 0x1.fffffep127)
			return true;
	}
	return false;
}

/* Corrects the type: older data stores the bits of bfloat16 in tensors of uint16. */
static void repair_type(const WNNOnnxValueInfo *info, struct pb_values *values)
{
	static const char name[] = "bfloat16";

	if (info->elementType.length != strlen(name) ||
	    memcmp(info->elementType.data, name, strlen(name)))
		return;
	for (size_t i = 0; i < values->count; i++)
		if (values->items[i].type == ONNX_UINT16)
			values->items[i].type = ONNX_BFLOAT16;
}

bool pb_read(const char *path, const WNNOnnxValueInfo *info, struct pb_values *values)
{
	WNNOnnxKind kind = info->kind;
	size_t size = 0;
	uint8_t *data = read_file(path, &size);
	bool good;

	memset(values, 0, sizeof(*values));
	if (!data)
		return false;
	values->sequence = kind == WNNOnnxKind_Sequence;
	good = kind == WNNOnnxKind_Tensor ? add_tensor(data, size, values) :
					    add_all(data, size, values);
	repair_type(info, values);
	free(data);
	return good;
}

static uint8_t *convert(const struct pb_tensor *like, int from, const void *data, int to,
			size_t *size)
{
	struct onnx_value value = { .type = from, .data = data };
	size_t elements = elements_of(like);
	uint8_t *out;

	*size = onnx_data_size(to, (int64_t)elements);
	out = calloc(1, *size + 1);
	for (size_t i = 0; i < elements; i++) {
		if (onnx_type_is_float(to))
			onnx_put_rounded(to, out, i, onnx_value_float(&value, i), false,
					 ONNX_NEAREST);
		else
			onnx_put_int(to, out, i, onnx_value_int(&value, i));
	}
	return out;
}

/* Returns the type that a graph uses for elements of @type: another one when WebNN lacks it. */
static int carrier(int type)
{
	return onnx_type_is_carried(type) ? (int)onnx_type_of(onnx_type_webnn(type)) : type;
}

uint8_t *pb_to_graph(const struct pb_tensor *tensor, size_t *size)
{
	return convert(tensor, tensor->type, tensor->data, carrier(tensor->type), size);
}

uint8_t *pb_from_graph(const struct pb_tensor *want, const void *data, size_t *size)
{
	return convert(want, carrier(want->type), data, want->type, size);
}

void pb_free(struct pb_values *values)
{
	for (size_t i = 0; i < values->count; i++)
		free(values->items[i].data);
	values->count = 0;
}

bool pb_same(const struct pb_tensor *want, const void *got, size_t size, double relative,
	     double absolute, int64_t steps, char *why, size_t room)
{
	struct onnx_value a = { .type = want->type, .data = want->data };
	struct onnx_value b = { .type = want->type, .data = got };
	size_t elements = elements_of(want);

	if (size != want->size) {
		snprintf(why, room, "%zu bytes instead of %zu", size, want->size);
		return false;
	}
	for (size_t i = 0; i < elements; i++) {
		double x = onnx_value_float(&a, i), y = onnx_value_float(&b, i);
		bool same = onnx_type_is_float(want->type) ?
				    (isnan(x) && isnan(y)) || x == y ||
					    fabs(x - y) <= absolute + relative * fabs(x) :
				    llabs(onnx_value_int(&a, i) - onnx_value_int(&b, i)) <= steps;

		if (same)
			continue;
		snprintf(why, room, "element %zu is %.9g instead of %.9g", i, y, x);
		return false;
	}
	return true;
}
