// SPDX-License-Identifier: MIT
/* wnn-conformance: converts JSON numbers to elements of tensors, and back for messages. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance.h"
#include "half.h"

/* A tensor with more bytes in memory is taken as a mistake of the case. */
#define MAX_BYTES (UINT64_C(1) << 32)

static int named_number(const char *text, double *value)
{
	if (!strcmp(text, "NaN"))
		*value = NAN;
	else if (!strcmp(text, "Infinity"))
		*value = INFINITY;
	else if (!strcmp(text, "-Infinity"))
		*value = -INFINITY;
	else
		return -1;
	return 0;
}

int value_to_double(const json_t *json, double *value)
{
	const char *text = json_string_value(json);
	char *end;

	if (json_is_number(json)) {
		*value = json_number_value(json);
		return 0;
	}
	if (!text || !named_number(text, value))
		return text ? 0 : -1;
	*value = strtod(text, &end);
	return *text && !*end ? 0 : -1;
}

/* --- Integers beyond int64 --- */

#define DIGITS "0123456789"

/* Returns whether a JSON integer of @length characters is beyond int64. */
static bool is_large(const char *text, size_t length)
{
	size_t sign = *text == '-', digits = length - sign;
	const char *most = sign ? "9223372036854775808" : "9223372036854775807";

	return digits > 19 || (digits == 19 && memcmp(text + sign, most, 19) > 0);
}

bool value_is_large(const json_t *json)
{
	const char *text = json_string_value(json);
	size_t length = json_string_length(json), sign = text && *text == '-';

	return text && length > sign && strspn(text + sign, DIGITS) == length - sign &&
	       is_large(text, length);
}

/* Returns the end of a JSON string that begins with the quotation mark at @text. */
static const char *string_end(const char *text, const char *end)
{
	for (text++; text < end && *text != '"'; text++)
		if (*text == '\\' && text + 1 < end)
			text++;
	return text < end ? text + 1 : end;
}

/*
 * Copies JSON text with large integers turned into strings, and returns the length; @to must have
 * room for 3 times the text.
 */
static size_t quote_large(const char *from, const char *end, char *to)
{
	char *begin = to;

	while (from < end) {
		size_t n = 1, sign = *from == '-';
		bool large = false;

		if (*from == '"') {
			n = (size_t)(string_end(from, end) - from);
		} else if (sign || (*from >= '0' && *from <= '9')) {
			n = sign + strspn(from + sign, DIGITS);
			/* A number with a fraction or an exponent is no integer. */
			large = !strchr(".eE", from[n]) && is_large(from, n);
			n += large ? 0 : strspn(from + n, DIGITS ".eE+-");
		}
		if (large)
			*to++ = '"';
		memcpy(to, from, n);
		to += n;
		from += n;
		if (large)
			*to++ = '"';
	}
	return (size_t)(to - begin);
}

/*
 * Returns what can be read from a file, terminated by 0, and sets *size to its bytes without the 0;
 * NULL with errno when memory is exhausted.
 */
static char *read_text(FILE *file, size_t *size)
{
	size_t room = 1 << 16, n;
	char *text = malloc(room), *more;

	*size = 0;
	while (text && (n = fread(text + *size, 1, room - *size - 1, file))) {
		*size += n;
		if (room - *size > 1)
			continue;
		more = realloc(text, room *= 2);
		if (!more)
			free(text);
		text = more;
	}
	if (text)
		text[*size] = '\0';
	return text;
}

json_t *value_load(const char *path, json_error_t *error)
{
	FILE *file = fopen(path, "r");
	char *text = NULL, *quoted = NULL;
	json_t *root = NULL;
	size_t size = 0;

	memset(error, 0, sizeof(*error));
	error->line = -1;
	if (file)
		text = read_text(file, &size);
	if (text && !ferror(file))
		quoted = malloc(3 * size + 1);
	if (quoted)
		root = json_loadb(quoted, quote_large(text, text + size, quoted),
				  JSON_REJECT_DUPLICATES, error);
	else
		snprintf(error->text, sizeof(error->text), "it cannot be read: %s",
			 strerror(errno));
	free(quoted);
	free(text);
	if (file)
		fclose(file);
	return root;
}

/* --- Elements --- */

/*
 * Reads an integer, which is a JSON number or a string, into 64 bits and a sign. Returns 0 or -1.
 */
static int to_integer(const json_t *json, bool *negative, uint64_t *bits)
{
	const char *text = json_string_value(json);
	char *end;

	if (json_is_integer(json)) {
		*negative = json_integer_value(json) < 0;
		*bits = (uint64_t)json_integer_value(json);
		return 0;
	}
	if (!text || !*text)
		return -1;
	*negative = *text == '-';
	errno = 0;
	*bits = *negative ? (uint64_t)strtoll(text, &end, 10) : strtoull(text, &end, 10);
	return *end || errno ? -1 : 0;
}

int value_to_number(const json_t *json, WNNNumber *number)
{
	bool negative;
	uint64_t bits;
	double value;

	if (!to_integer(json, &negative, &bits)) {
		if (negative || bits <= INT64_MAX)
			*number = WNN_NUMBER_INT64((int64_t)bits);
		else
			*number = WNN_NUMBER_UINT64(bits);
		return 0;
	}
	if (value_to_double(json, &value))
		return -1;
	*number = WNN_NUMBER_DOUBLE(value);
	return 0;
}

WNNOperandDataType value_type(const char *name)
{
	for (int type = WNNOperandDataType_Float32; type <= WNNOperandDataType_Uint4; type++) {
		WNNStringView view = wnnOperandDataTypeGetName((WNNOperandDataType)type);

		if (strlen(name) == view.length && !memcmp(name, view.data, view.length))
			return (WNNOperandDataType)type;
	}
	return WNNOperandDataType_Undefined;
}

static int put_float(const json_t *json, WNNOperandDataType type, void *to)
{
	double value;
	uint16_t half;
	float single;

	if (value_to_double(json, &value))
		return -1;
	if (type == WNNOperandDataType_Float16) {
		half = half_from_double(value);
		memcpy(to, &half, sizeof(half));
	} else {
		single = (float)value;
		memcpy(to, &single, sizeof(single));
	}
	return 0;
}

static bool is_signed(WNNOperandDataType type)
{
	return type == WNNOperandDataType_Int32 || type == WNNOperandDataType_Int64 ||
	       type == WNNOperandDataType_Int8 || type == WNNOperandDataType_Int4;
}

static bool has_four_bits(WNNOperandDataType type)
{
	return type == WNNOperandDataType_Int4 || type == WNNOperandDataType_Uint4;
}

static int put_integer(const json_t *json, WNNOperandDataType type, size_t size, void *to)
{
	unsigned int width = (has_four_bits(type) ? 4 : (unsigned int)size * 8) - is_signed(type);
	uint64_t bits, max = width == 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
	bool negative;

	if (to_integer(json, &negative, &bits))
		return -1;
	/* For a negative value, ~bits is -1 - value, which must not exceed @max either. */
	if (negative ? !is_signed(type) || ~bits > max : bits > max)
		return -1;
	switch (size) {
	case 1:
		memcpy(to, &(uint8_t){ (uint8_t)bits }, 1);
		break;
	case 4:
		memcpy(to, &(uint32_t){ (uint32_t)bits }, 4);
		break;
	default:
		memcpy(to, &bits, 8);
	}
	return 0;
}

static int put(const json_t *json, WNNOperandDataType type, size_t size, void *to)
{
	if (type == WNNOperandDataType_Float32 || type == WNNOperandDataType_Float16)
		return put_float(json, type, to);
	return put_integer(json, type, size, to);
}

static int read_shape(const json_t *shape, struct values *values)
{
	size_t rank = json_array_size(shape);

	if (!json_is_array(shape) || rank > 64)
		return -1;
	values->rank = (uint32_t)rank;
	values->dims = calloc(rank + 1, sizeof(*values->dims));
	values->count = 1;
	for (size_t i = 0; values->dims && i < rank; i++) {
		const json_t *dim = json_array_get(shape, i);
		json_int_t size = json_integer_value(dim);

		if (!json_is_integer(dim) || size < 0 || size > UINT32_MAX)
			return -1;
		values->dims[i] = (uint32_t)size;
		/* The count is saturated on overflow: only a tensor with elements needs it. */
		if (__builtin_mul_overflow(values->count, (size_t)size, &values->count))
			values->count = SIZE_MAX;
	}
	return values->dims ? 0 : -1;
}

static int read_elements(const json_t *tensor, struct values *values, size_t size, char *reason)
{
	const json_t *data = json_object_get(tensor, "data");
	const json_t *fill = json_object_get(tensor, "fill");
	const char *name = json_string_value(json_object_get(tensor, "name"));

	if (data && json_array_size(data) != values->count) {
		snprintf(reason, REASON_SIZE, "'%s' has %zu elements, its shape says %zu", name,
			 json_array_size(data), values->count);
		return -1;
	}
	if (values->count > MAX_BYTES / size) {
		snprintf(reason, REASON_SIZE, "'%s' is larger than 4 GiB", name);
		return -1;
	}
	values->bytes = has_four_bits(values->type) ? (values->count + 1) / 2 :
						      values->count * size;
	values->data = malloc(values->count * size + 1);
	for (size_t i = 0; values->data && i < values->count; i++) {
		char *to = (char *)values->data + i * size;

		if (fill && i) {
			memcpy(to, values->data, size);
		} else if (put(data ? json_array_get(data, i) : fill, values->type, size, to)) {
			snprintf(reason, REASON_SIZE, "'%s': element %zu is no %s", name, i,
				 json_string_value(json_object_get(tensor, "dataType")));
			return -1;
		}
	}
	if (!values->data)
		snprintf(reason, REASON_SIZE, "'%s': memory is exhausted", name);
	return values->data ? 0 : -1;
}

int values_read(const json_t *tensor, struct values *values, char *reason)
{
	const char *type = json_string_value(json_object_get(tensor, "dataType"));
	const char *name = json_string_value(json_object_get(tensor, "name"));

	memset(values, 0, sizeof(*values));
	if (!name || !type) {
		snprintf(reason, REASON_SIZE, "a tensor lacks its name or its dataType");
		return -1;
	}
	values->type = value_type(type);
	if (values->type == WNNOperandDataType_Undefined) {
		snprintf(reason, REASON_SIZE, "'%s': no data type '%s'", name, type);
		return -1;
	}
	if (read_shape(json_object_get(tensor, "shape"), values)) {
		snprintf(reason, REASON_SIZE,
			 "'%s': its shape is not a list of up to 64 sizes from 0 to 4294967295",
			 name);
		return -1;
	}
	if (!json_object_get(tensor, "data") && !json_object_get(tensor, "fill"))
		return 0;
	return read_elements(tensor, values, wnnOperandDataTypeGetSize(values->type), reason);
}

void *values_pack(const struct values *values)
{
	const uint8_t *from = values->data;
	uint8_t *to = calloc(values->bytes + 1, 1);

	if (!to || !has_four_bits(values->type)) {
		if (to)
			memcpy(to, values->data, values->bytes);
		return to;
	}
	for (size_t i = 0; i < values->count; i++)
		to[i / 2] |= (uint8_t)((from[i] & 15) << i % 2 * 4);
	return to;
}

void *values_unpack(const struct values *values, void *packed)
{
	const uint8_t *from = packed;
	uint8_t *to;

	if (!has_four_bits(values->type))
		return packed;
	to = malloc(values->count + 1);
	for (size_t i = 0; to && i < values->count; i++) {
		to[i] = from[i / 2] >> i % 2 * 4 & 15;
		/* The sign of a 4-bit integer is extended to its byte. */
		if (is_signed(values->type) && to[i] > 7)
			to[i] |= 0xf0;
	}
	free(packed);
	return to;
}

void values_free(struct values *values)
{
	free(values->dims);
	free(values->data);
	memset(values, 0, sizeof(*values));
}

#define ELEMENT(Type) (((const Type *)data)[index])

double values_get(const struct values *values, const void *data, size_t index)
{
	switch (values->type) {
	case WNNOperandDataType_Float32:
		return (double)ELEMENT(float);
	case WNNOperandDataType_Float16:
		return half_to_double(ELEMENT(uint16_t));
	case WNNOperandDataType_Int32:
		return ELEMENT(int32_t);
	case WNNOperandDataType_Uint32:
		return ELEMENT(uint32_t);
	case WNNOperandDataType_Int64:
		return (double)ELEMENT(int64_t);
	case WNNOperandDataType_Uint64:
		return (double)ELEMENT(uint64_t);
	case WNNOperandDataType_Int8:
	case WNNOperandDataType_Int4:
		return ELEMENT(int8_t);
	default:
		return ELEMENT(uint8_t);
	}
}

void values_print(const struct values *values, const void *data, size_t index, char text[32])
{
	if (values->type == WNNOperandDataType_Int64)
		snprintf(text, 32, "%" PRId64, ELEMENT(int64_t));
	else if (values->type == WNNOperandDataType_Uint64)
		snprintf(text, 32, "%" PRIu64, ELEMENT(uint64_t));
	else
		snprintf(text, 32, "%.10g", values_get(values, data, index));
}
