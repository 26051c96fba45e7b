// SPDX-License-Identifier: MIT
/* webnn-run: makes, reads and prints values of inputs and outputs of any type. */
#include "value.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../half.h"
#include "run.h"

static bool four_bits(WNNOperandDataType type)
{
	return type == WNNOperandDataType_Int4 || type == WNNOperandDataType_Uint4;
}

static size_t bytes_of(WNNOperandDataType type, size_t count)
{
	return four_bits(type) ? (count + 1) / 2 : count * wnnOperandDataTypeGetSize(type);
}

int value_init(struct value *value, WNNStringView name, WNNOperandDataType type, uint32_t rank,
	       const uint32_t *shape)
{
	memset(value, 0, sizeof(*value));
	if (rank > VALUE_MAX_RANK)
		return -1;
	value->type = type;
	value->rank = rank;
	value->count = 1;
	for (uint32_t i = 0; i < rank; i++) {
		if (shape[i] && value->count > INT32_MAX / shape[i])
			return -1;
		value->shape[i] = shape[i];
		value->count *= shape[i];
	}
	value->size = bytes_of(type, value->count);
	value->name = strndup(name.data ? name.data : "", name.length);
	value->data = calloc(value->size + 1, 1);
	if (value->name && value->data)
		return 0;
	value_exit(value);
	return -1;
}

int value_make(struct value *value, int code, const char *about, WNNStringView name,
	       WNNOperandDataType type, uint32_t rank, const uint32_t *shape)
{
	uint64_t count = 1;
	char text[200];

	if (!value_init(value, name, type, rank, shape))
		return DONE;
	if (rank > VALUE_MAX_RANK)
		return complain(
			code,
			"%s: the array has %u dimensions, but at most %d are allowed: reshape it",
			about, rank, VALUE_MAX_RANK);
	describe_type(type, rank, shape, text, sizeof(text));
	for (uint32_t i = 0; i < rank && count <= INT32_MAX; i++)
		count *= shape[i];
	if (count > INT32_MAX)
		return complain(
			code,
			"%s: an array of %s has more than the %d elements that are allowed: set "
			"smaller dimensions",
			about, text, INT32_MAX);
	return complain(
		BAD_DEVICE,
		"%s: too little memory is free for an array of %s, which takes %zu bytes: set "
		"smaller dimensions, or end other programs",
		about, text, bytes_of(type, (size_t)count));
}

void value_exit(struct value *value)
{
	free(value->name);
	free(value->data);
	memset(value, 0, sizeof(*value));
}

bool value_is_float(const struct value *value)
{
	return value->type == WNNOperandDataType_Float32 ||
	       value->type == WNNOperandDataType_Float16;
}

static double get_nibble(const struct value *value, size_t index)
{
	int bits = ((const uint8_t *)value->data)[index / 2] >> index % 2 * 4 & 15;

	return value->type == WNNOperandDataType_Int4 && bits > 7 ? bits - 16 : bits;
}

#define ELEMENT(Type) (((Type *)value->data)[index])

double value_get(const struct value *value, size_t index)
{
	switch (value->type) {
	case WNNOperandDataType_Float32:
		return (double)ELEMENT(const float);
	case WNNOperandDataType_Float16:
		return half_to_double(ELEMENT(const uint16_t));
	case WNNOperandDataType_Int32:
		return ELEMENT(const int32_t);
	case WNNOperandDataType_Uint32:
		return ELEMENT(const uint32_t);
	case WNNOperandDataType_Int64:
		return (double)ELEMENT(const int64_t);
	case WNNOperandDataType_Uint64:
		return (double)ELEMENT(const uint64_t);
	case WNNOperandDataType_Int8:
		return ELEMENT(const int8_t);
	case WNNOperandDataType_Uint8:
		return ELEMENT(const uint8_t);
	case WNNOperandDataType_Int4:
	case WNNOperandDataType_Uint4:
		return get_nibble(value, index);
	default:
		return NAN;
	}
}

static void set_nibble(struct value *value, size_t index, double number)
{
	uint8_t *byte = (uint8_t *)value->data + index / 2;
	unsigned int shift = index % 2 * 4;

	*byte = (uint8_t)((*byte & ~(15u << shift)) | ((unsigned int)(int)number & 15) << shift);
}

/* Returns the integer nearest to @number from @least to @most. */
static int64_t clamp(double number, int64_t least, int64_t most)
{
	number = nearbyint(number);
	if (!(number > (double)least))
		return least;
	return number >= (double)most ? most : (int64_t)number;
}

void value_set(struct value *value, size_t index, double number)
{
	switch (value->type) {
	case WNNOperandDataType_Float32:
		ELEMENT(float) = (float)number;
		break;
	case WNNOperandDataType_Float16:
		ELEMENT(uint16_t) = half_from_double(number);
		break;
	case WNNOperandDataType_Int32:
		ELEMENT(int32_t) = (int32_t)clamp(number, INT32_MIN, INT32_MAX);
		break;
	case WNNOperandDataType_Uint32:
		ELEMENT(uint32_t) = (uint32_t)clamp(number, 0, UINT32_MAX);
		break;
	case WNNOperandDataType_Int64:
		ELEMENT(int64_t) = clamp(number, INT64_MIN, INT64_MAX);
		break;
	case WNNOperandDataType_Uint64:
		ELEMENT(uint64_t) = (uint64_t)clamp(number, 0, INT64_MAX);
		break;
	case WNNOperandDataType_Int8:
		ELEMENT(int8_t) = (int8_t)clamp(number, INT8_MIN, INT8_MAX);
		break;
	case WNNOperandDataType_Uint8:
		ELEMENT(uint8_t) = (uint8_t)clamp(number, 0, UINT8_MAX);
		break;
	case WNNOperandDataType_Int4:
		set_nibble(value, index, (double)clamp(number, -8, 7));
		break;
	case WNNOperandDataType_Uint4:
		set_nibble(value, index, (double)clamp(number, 0, 15));
		break;
	default:
		break;
	}
}

/* Returns the next number of SplitMix64, equal on every machine. */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

void value_randomise(struct value *value, uint64_t seed)
{
	bool real = value_is_float(value);

	for (size_t i = 0; i < value->count; i++) {
		uint64_t bits = next_random(&seed);

		value_set(value, i,
			  real ? (double)(bits >> 40) * 0x1p-23 - 1 : (double)(bits >> 63));
	}
}

void describe_type(WNNOperandDataType type, uint32_t rank, const uint32_t *shape, char *text,
		   size_t room)
{
	WNNStringView name = wnnOperandDataTypeGetName(type);
	size_t used = (size_t)snprintf(text, room, "%.*s [", (int)name.length, name.data);

	for (uint32_t i = 0; i < rank && used < room; i++)
		used += (size_t)snprintf(text + used, room - used, "%s%" PRIu32, i ? ", " : "",
					 shape[i]);
	if (used < room)
		snprintf(text + used, room - used, "]");
}

void value_describe(const struct value *value, char *text, size_t room)
{
	char plain[300];

	describe_type(value->type, value->rank, value->shape, plain, sizeof(plain));
	/* The type of the file takes the place of that to which its elements were converted. */
	snprintf(text, room, "%s%s", value->was ? value->was : "",
		 value->was ? plain + strcspn(plain, " ") : plain);
}

void value_print(const struct value *value, FILE *file)
{
	size_t row = value->rank ? value->shape[value->rank - 1] : 1;

	for (size_t i = 0; i < value->count; i++) {
		const char *after = (i + 1) % row ? " " : "\n";

		if (value->type == WNNOperandDataType_Int64)
			fprintf(file, "%" PRId64 "%s", ((const int64_t *)value->data)[i], after);
		else if (value->type == WNNOperandDataType_Uint64)
			fprintf(file, "%" PRIu64 "%s", ((const uint64_t *)value->data)[i], after);
		else
			fprintf(file, "%.9g%s", value_get(value, i), after);
	}
}
