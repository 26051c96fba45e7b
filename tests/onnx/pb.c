// SPDX-License-Identifier: MIT
/* Recorded tensors: TensorProto and what holds it. */
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

double pb_range(const struct pb_tensor *tensor)
{
	struct onnx_value value = { .type = tensor->type, .data = tensor->data };
	double low = INFINITY, high = -INFINITY;
	size_t elements = 1;

	for (uint32_t i = 0; i < tensor->rank; i++)
		elements *= tensor->shape[i];
	for (size_t i = 0; i < elements; i++) {
		low = fmin(low, onnx_value_float(&value, i));
		high = fmax(high, onnx_value_float(&value, i));
	}
	return high > low ? high - low : fabs(high);
}

/* Double is float32 in graphs. */
static void narrow(struct pb_tensor *tensor, size_t elements)
{
	if (tensor->type != ONNX_DOUBLE)
		return;
	for (size_t i = 0; i < elements; i++) {
		double number;
		float nearest;

		memcpy(&number, tensor->data + 8 * i, 8);
		nearest = (float)number;
		memcpy(tensor->data + 4 * i, &nearest, 4);
	}
	tensor->type = ONNX_FLOAT;
	tensor->size = 4 * elements;
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
		/* An empty field has no address, which memcpy() may not be given. */
		if (out->size)
			memcpy(out->data, tensor->raw_data.data, out->size);
		narrow(out, elements);
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
	narrow(out, elements);
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

/* The messages in field 3 (tensors) and 5 (a sequence) of a SequenceProto or OptionalProto. */
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

bool pb_read(const char *path, WNNOnnxKind kind, struct pb_values *values)
{
	size_t size = 0;
	uint8_t *data = read_file(path, &size);
	bool good;

	memset(values, 0, sizeof(*values));
	if (!data)
		return false;
	values->sequence = kind == WNNOnnxKind_Sequence;
	good = kind == WNNOnnxKind_Tensor ? add_tensor(data, size, values) :
					    add_all(data, size, values);
	free(data);
	return good;
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
	size_t elements = 1;

	if (size != want->size) {
		snprintf(why, room, "%zu bytes instead of %zu", size, want->size);
		return false;
	}
	for (uint32_t i = 0; i < want->rank; i++)
		elements *= want->shape[i];
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
