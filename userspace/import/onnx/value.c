// SPDX-License-Identifier: MIT
/* Element types, shapes, and access to the elements of constants. */
#include "value.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;
	unsigned int bits;
	bool is_float, carried;
	WNNOperandDataType webnn;
} types[] = {
	[ONNX_FLOAT] = { "float", 32, true, false, WNNOperandDataType_Float32 },
	[ONNX_UINT8] = { "uint8", 8, false, false, WNNOperandDataType_Uint8 },
	[ONNX_INT8] = { "int8", 8, false, false, WNNOperandDataType_Int8 },
	[ONNX_UINT16] = { "uint16", 16, false, true, WNNOperandDataType_Uint32 },
	[ONNX_INT16] = { "int16", 16, false, true, WNNOperandDataType_Int32 },
	[ONNX_INT32] = { "int32", 32, false, false, WNNOperandDataType_Int32 },
	[ONNX_INT64] = { "int64", 64, false, false, WNNOperandDataType_Int64 },
	[ONNX_STRING] = { "string", 0, false, false, WNNOperandDataType_Undefined },
	[ONNX_BOOL] = { "bool", 8, false, false, WNNOperandDataType_Uint8 },
	[ONNX_FLOAT16] = { "float16", 16, true, false, WNNOperandDataType_Float16 },
	[ONNX_DOUBLE] = { "double", 64, true, true, WNNOperandDataType_Float32 },
	[ONNX_UINT32] = { "uint32", 32, false, false, WNNOperandDataType_Uint32 },
	[ONNX_UINT64] = { "uint64", 64, false, false, WNNOperandDataType_Uint64 },
	[14] = { "complex64", 0, false, false, WNNOperandDataType_Undefined },
	[15] = { "complex128", 0, false, false, WNNOperandDataType_Undefined },
	[ONNX_BFLOAT16] = { "bfloat16", 16, true, true, WNNOperandDataType_Float32 },
	[ONNX_FLOAT8E4M3FN] = { "float8e4m3fn", 8, true, true, WNNOperandDataType_Float16 },
	[ONNX_FLOAT8E4M3FNUZ] = { "float8e4m3fnuz", 8, true, true, WNNOperandDataType_Float16 },
	[ONNX_FLOAT8E5M2] = { "float8e5m2", 8, true, true, WNNOperandDataType_Float16 },
	[ONNX_FLOAT8E5M2FNUZ] = { "float8e5m2fnuz", 8, true, true, WNNOperandDataType_Float16 },
	[ONNX_UINT4] = { "uint4", 4, false, false, WNNOperandDataType_Uint4 },
	[ONNX_INT4] = { "int4", 4, false, false, WNNOperandDataType_Int4 },
	[ONNX_FLOAT4E2M1] = { "float4e2m1", 4, true, true, WNNOperandDataType_Float16 },
	[ONNX_FLOAT8E8M0] = { "float8e8m0", 8, true, true, WNNOperandDataType_Float32 },
	[ONNX_UINT2] = { "uint2", 2, false, true, WNNOperandDataType_Uint4 },
	[ONNX_INT2] = { "int2", 2, false, true, WNNOperandDataType_Int4 },
	[ONNX_FLOAT6E2M3] = { "float6e2m3", 6, true, true, WNNOperandDataType_Float16 },
	[ONNX_FLOAT6E3M2] = { "float6e3m2", 6, true, true, WNNOperandDataType_Float16 },
};

static bool known(int type)
{
	return type > 0 && type < (int)(sizeof(types) / sizeof(types[0])) && types[type].name;
}

const char *onnx_type_name(int type)
{
	return known(type) ? types[type].name : "";
}

const char *onnx_type_text(struct onnx_arena *arena, int type)
{
	const char *text = *onnx_type_name(type) ?
				   onnx_type_name(type) :
				   onnx_arena_printf(arena, "%d (an unknown type)", type);

	return text ? text : "";
}

unsigned int onnx_type_bits(int type)
{
	return known(type) ? types[type].bits : 0;
}

bool onnx_type_is_float(int type)
{
	return known(type) && types[type].is_float;
}

bool onnx_type_is_unsigned(int type)
{
	return type == ONNX_UINT2 || type == ONNX_UINT4 || type == ONNX_UINT8 ||
	       type == ONNX_UINT16 || type == ONNX_UINT32 || type == ONNX_UINT64 ||
	       type == ONNX_BOOL;
}

bool onnx_type_is_carried(int type)
{
	return known(type) && types[type].carried;
}

WNNOperandDataType onnx_type_webnn(int type)
{
	return known(type) ? types[type].webnn : WNNOperandDataType_Undefined;
}

enum onnx_type onnx_type_of(WNNOperandDataType type)
{
	for (int i = 1; i < (int)(sizeof(types) / sizeof(types[0])); i++)
		if (i != ONNX_BOOL && !types[i].carried && types[i].webnn == type)
			return (enum onnx_type)i;
	return 0;
}

int64_t onnx_shape_elements(const struct onnx_shape *shape)
{
	int64_t elements = 1;

	/* A dimension of 0 makes the product 0, even if other dimensions would overflow it. */
	for (uint32_t i = 0; i < shape->rank; i++)
		if (!shape->dim[i])
			return 0;
	for (uint32_t i = 0; i < shape->rank; i++) {
		if (shape->dim[i] < 0 || shape->dim[i] > (INT64_C(1) << 47) / elements)
			return -1;
		elements *= shape->dim[i];
	}
	return elements;
}

bool onnx_shape_is_too_big(const struct onnx_shape *shape)
{
	int64_t elements = onnx_shape_elements(shape);

	for (uint32_t i = 0; i < shape->rank; i++)
		if (shape->dim[i] < 0)
			return false;
	return elements < 0 || elements > INT32_MAX;
}

bool onnx_shape_same(const struct onnx_shape *a, const struct onnx_shape *b)
{
	if (a->rank != b->rank)
		return false;
	for (uint32_t i = 0; i < a->rank; i++)
		if (a->dim[i] != b->dim[i])
			return false;
	return true;
}

bool onnx_shape_broadcast(const struct onnx_shape *a, const struct onnx_shape *b,
			  struct onnx_shape *out)
{
	uint32_t rank = a->rank > b->rank ? a->rank : b->rank;
	struct onnx_shape result = { .rank = rank };

	for (uint32_t i = 0; i < rank; i++) {
		int64_t x = i < rank - a->rank ? 1 : a->dim[i - (rank - a->rank)];
		int64_t y = i < rank - b->rank ? 1 : b->dim[i - (rank - b->rank)];

		if (x != y && x != 1 && y != 1)
			return false;
		result.dim[i] = x == 1 ? y : x;
	}
	*out = result;
	return true;
}

const char *onnx_shape_text(struct onnx_arena *arena, const struct onnx_shape *shape)
{
	char text[ONNX_MAX_RANK * 22 + 3] = "[";
	size_t used = 1;
	const char *copy;

	for (uint32_t i = 0; i < shape->rank; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%lld", i ? "," : "",
					 (long long)shape->dim[i]);
	snprintf(text + used, sizeof(text) - used, "]");
	copy = onnx_arena_printf(arena, "%s", text);
	return copy ? copy : "";
}

const char *onnx_value_text(struct onnx_arena *arena, const struct onnx_value *value)
{
	const char *copy = value->sequence ?
				   onnx_arena_printf(arena, "a sequence of %zu", value->count) :
				   onnx_arena_printf(arena, "%s %s", onnx_type_name(value->type),
						     onnx_shape_text(arena, &value->shape));

	return copy ? copy : "";
}

static float bits_float(uint32_t bits)
{
	float number;

	memcpy(&number, &bits, sizeof(number));
	return number;
}

static double half_to_double(uint16_t half)
{
	int exponent = half >> 10 & 31;
	double mantissa = half & 1023;
	double number;

	if (exponent == 31)
		number = mantissa ? NAN : INFINITY;
	else
		number = exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24);
	return half & 0x8000 ? -number : number;
}

static uint16_t double_to_half(double number)
{
	uint16_t sign = signbit(number) ? 0x8000 : 0;
	int exponent;
	double scaled;

	if (isnan(number))
		return sign | 0x7e00;
	number = fabs(number);
	if (number >= 65520)
		return sign | 0x7c00;
	if (number < ldexp(1, -14))
		return (uint16_t)(sign | (uint16_t)nearbyint(ldexp(number, 24)));
	frexp(number, &exponent);
	/* A mantissa that rounds up to 2048 carries into the exponent without further code. */
	scaled = nearbyint(ldexp(number, 11 - exponent));
	return (uint16_t)(sign | (uint16_t)((exponent + 13) * 1024 + (int)scaled));
}

/*
 * Returns element @index of @bits bits. Elements of less than 8 bits follow each other without
 * gaps, the first in the low bits.
 */
static unsigned int few_bits(const void *data, size_t index, unsigned int bits)
{
	const uint8_t *bytes = (const uint8_t *)data + index * bits / 8;
	unsigned int shift = index * bits % 8, pair = bytes[0];

	if (shift + bits > 8)
		pair |= (unsigned int)bytes[1] << 8;
	return pair >> shift & ((1u << bits) - 1);
}

static void put_few_bits(void *data, size_t index, unsigned int bits, unsigned int number)
{
	uint8_t *bytes = (uint8_t *)data + index * bits / 8;
	unsigned int shift = index * bits % 8, mask = ((1u << bits) - 1) << shift;

	number = number << shift & mask;
	bytes[0] = (uint8_t)((bytes[0] & ~mask) | number);
	if (shift + bits > 8)
		bytes[1] = (uint8_t)((bytes[1] & ~(mask >> 8)) | number >> 8);
}

static int64_t few_bits_int(const void *data, size_t index, int type)
{
	unsigned int bits = onnx_type_bits(type);
	int number = (int)few_bits(data, index, bits);

	return !onnx_type_is_unsigned(type) && number >> (bits - 1) ? number - (1 << bits) : number;
}

#define GET(type)                                                                     \
	({                                                                            \
		type element;                                                         \
		memcpy(&element, (const uint8_t *)value->data + index * sizeof(type), \
		       sizeof(type));                                                 \
		element;                                                              \
	})

double onnx_value_float(const struct onnx_value *value, size_t index)
{
	switch (value->type) {
	case ONNX_FLOAT:
		return (double)GET(float);
	case ONNX_DOUBLE:
		return GET(double);
	case ONNX_FLOAT16:
		return half_to_double(GET(uint16_t));
	case ONNX_BFLOAT16:
		return (double)bits_float((uint32_t)GET(uint16_t) << 16);
	case ONNX_UINT64:
		return (double)GET(uint64_t);
	default:
		if (onnx_format_of(value->type))
			return onnx_format_get(value->type, few_bits(value->data, index,
								     onnx_type_bits(value->type)));
		return (double)onnx_value_int(value, index);
	}
}

/*
 * Converts like C where C defines the result; a number beyond the range becomes the nearest integer
 * of the range, NaN becomes 0.
 */
static int64_t to_int(double number)
{
	if (isnan(number))
		return 0;
	if (number >= 9223372036854775808.0)
		return INT64_MAX;
	if (number < -9223372036854775808.0)
		return INT64_MIN;
	return (int64_t)number;
}

int64_t onnx_value_int(const struct onnx_value *value, size_t index)
{
	switch (value->type) {
	case ONNX_UINT8:
		return GET(uint8_t);
	case ONNX_BOOL:
		return GET(uint8_t) != 0;
	case ONNX_INT8:
		return GET(int8_t);
	case ONNX_UINT16:
		return GET(uint16_t);
	case ONNX_INT16:
		return GET(int16_t);
	case ONNX_INT32:
		return GET(int32_t);
	case ONNX_UINT32:
		return GET(uint32_t);
	case ONNX_INT64:
	case ONNX_UINT64:
		return GET(int64_t);
	case ONNX_UINT2:
	case ONNX_INT2:
	case ONNX_UINT4:
	case ONNX_INT4:
		return few_bits_int(value->data, index, value->type);
	default:
		return to_int(onnx_value_float(value, index));
	}
}

#define PUT(type, number)                                                               \
	do {                                                                            \
		type element = (type)(number);                                          \
		memcpy((uint8_t *)data + index * sizeof(type), &element, sizeof(type)); \
	} while (0)

void onnx_put_int(int type, void *data, size_t index, int64_t number)
{
	switch (type) {
	case ONNX_BOOL:
		PUT(uint8_t, number != 0);
		break;
	case ONNX_UINT8:
	case ONNX_INT8:
		PUT(uint8_t, number);
		break;
	case ONNX_UINT16:
	case ONNX_INT16:
		PUT(uint16_t, number);
		break;
	case ONNX_INT32:
	case ONNX_UINT32:
		PUT(uint32_t, number);
		break;
	case ONNX_INT64:
	case ONNX_UINT64:
		PUT(int64_t, number);
		break;
	case ONNX_UINT2:
	case ONNX_INT2:
	case ONNX_UINT4:
	case ONNX_INT4:
		put_few_bits(data, index, onnx_type_bits(type), (unsigned int)number);
		break;
	default:
		onnx_put_float(type, data, index, (double)number);
		break;
	}
}

void onnx_put_rounded(int type, void *data, size_t index, double number, bool saturate,
		      enum onnx_rounding rounding)
{
	if (onnx_format_of(type))
		put_few_bits(data, index, onnx_type_bits(type),
			     onnx_format_put(type, number, saturate, rounding));
	else
		onnx_put_float(type, data, index, number);
}

void onnx_put_float(int type, void *data, size_t index, double number)
{
	if (onnx_format_of(type)) {
		onnx_put_rounded(type, data, index, number, true, ONNX_UP);
		return;
	}
	switch (type) {
	case ONNX_FLOAT:
		PUT(float, number);
		break;
	case ONNX_DOUBLE:
		PUT(double, number);
		break;
	case ONNX_FLOAT16:
		PUT(uint16_t, double_to_half(number));
		break;
	case ONNX_BFLOAT16: {
		float single = (float)number;
		uint32_t bits;

		memcpy(&bits, &single, sizeof(bits));
		if (!isnan(single))
			bits += 0x7fff + (bits >> 16 & 1);
		else
			bits |= 0x10000;
		PUT(uint16_t, bits >> 16);
		break;
	}
	case ONNX_BOOL:
		onnx_put_int(type, data, index, number != 0);
		break;
	case ONNX_UINT64:
		PUT(uint64_t, number >= 9223372036854775808.0 && number < 18446744073709551616.0 ?
				      (uint64_t)number :
				      (uint64_t)to_int(number));
		break;
	default:
		onnx_put_int(type, data, index, to_int(number));
		break;
	}
}

void onnx_copy_element(int type, void *to, size_t at, const void *from, size_t from_at)
{
	unsigned int bits = onnx_type_bits(type);
	size_t size = bits / 8;

	if (size)
		memcpy((uint8_t *)to + at * size, (const uint8_t *)from + from_at * size, size);
	else
		put_few_bits(to, at, bits, few_bits(from, from_at, bits));
}

size_t onnx_data_size(int type, int64_t elements)
{
	return ((size_t)elements * onnx_type_bits(type) + 7) / 8;
}
