// SPDX-License-Identifier: MIT
/* Elements of all types: loads, stores, rounding, conversion. */
#include "element.h"

#include <math.h>
#include <string.h>

const struct shlo_element_info shlo_elements[SHLO_ELEMENT_COUNT] = {
#define ELEMENT(name, text, class, bits, bytes, exponent, mantissa, bias, special)        \
	[SHLO_##name] = {                                                                 \
		text, SHLO_##class, bits, bytes, exponent, mantissa, bias, SHLO_##special \
	},
#include "elements.def"
#undef ELEMENT
};

int shlo_element_find(const char *text, size_t length)
{
	for (int i = 0; i < SHLO_ELEMENT_COUNT; i++)
		if (strlen(shlo_elements[i].text) == length &&
		    !memcmp(shlo_elements[i].text, text, length))
			return i;
	return -1;
}

enum shlo_element shlo_element_unsigned(enum shlo_element element)
{
	return element >= SHLO_I2 && element <= SHLO_I64 ?
		       (enum shlo_element)(element - SHLO_I2 + SHLO_UI2) :
		       element;
}

enum shlo_element shlo_element_part(enum shlo_element element)
{
	return element == SHLO_C64 ? SHLO_F32 : element == SHLO_C128 ? SHLO_F64 : element;
}

enum shlo_element shlo_element_complex(enum shlo_element element)
{
	return element == SHLO_F32 ? SHLO_C64 : element == SHLO_F64 ? SHLO_C128 : element;
}

/*
 * Returns the value that an integer, boolean included, has after it was stored in an element: the
 * bits that do not fit are cut off, and the top bit of a signed type is its sign.
 */
static int64_t wrap(const struct shlo_element_info *info, int64_t value)
{
	unsigned int unused = 64 - info->bits;

	if (info->class == SHLO_BOOL)
		return value != 0;
	if (info->class == SHLO_UNSIGNED)
		return (int64_t)((uint64_t)value << unused >> unused);
	return (int64_t)((uint64_t)value << unused) >> unused;
}

/*
 * Returns exponent and mantissa of a finite non-negative number as bits. For a number that is too
 * large for the type, these are the bits of infinity or NaN, or more bits than the type has.
 */
static uint64_t magnitude_bits(const struct shlo_element_info *info, double value)
{
	int exponent, least = 1 - info->bias, quantum;
	uint64_t number;

	if (value == 0)
		return 0;
	frexp(value, &exponent);
	exponent--;
	quantum = (exponent > least ? exponent : least) - info->mantissa;
	number = (uint64_t)rint(ldexp(value, -quantum));
	/* A mantissa that rounds up to the next power of two carries into the exponent. */
	if (number < UINT64_C(1) << info->mantissa)
		return number;
	return ((uint64_t)(quantum + info->mantissa + info->bias) << info->mantissa) +
	       (number - (UINT64_C(1) << info->mantissa));
}

static uint64_t e8m0_bits(double value)
{
	int exponent;
	double fraction;

	if (!(value > 0) || isinf(value))
		return 0xFF;
	fraction = frexp(value, &exponent) * 2;
	exponent += 126;
	/* Rounds to the nearest power of two; a tie goes to the even exponent. */
	if (fraction > 1.5 || (fraction == 1.5 && exponent & 1))
		exponent++;
	return exponent < 0 ? 0 : exponent > 254 ? 0xFF : (uint64_t)exponent;
}

/* Returns the bits of the largest finite number. */
static uint64_t most_bits(const struct shlo_element_info *info)
{
	uint64_t all = (UINT64_C(1) << (info->exponent + info->mantissa)) - 1;

	switch (info->special) {
	case SHLO_IEEE:
		return all - (UINT64_C(1) << info->mantissa);
	case SHLO_FN:
	case SHLO_E8M0:
		return all - 1;
	default:
		return all;
	}
}

double shlo_float_most(enum shlo_element element)
{
	return shlo_float_value(element, most_bits(&shlo_elements[element]));
}

double shlo_float_least(enum shlo_element element)
{
	/* f8E8M0FNU has no bits for 0. */
	return shlo_float_value(element, shlo_elements[element].special != SHLO_E8M0);
}

uint64_t shlo_float_bits(enum shlo_element element, double value)
{
	const struct shlo_element_info *info = &shlo_elements[element];
	uint64_t sign = signbit(value) ? UINT64_C(1) << (info->bits - 1) : 0, bits;
	uint64_t all = (UINT64_C(1) << (info->exponent + info->mantissa)) - 1;
	uint64_t infinity = all - ((UINT64_C(1) << info->mantissa) - 1), nan;
	uint64_t most = most_bits(info);

	if (element == SHLO_F64) {
		memcpy(&bits, &value, sizeof(bits));
		return bits;
	}
	/* The processor rounds to float32 in less time than the integer operations below. */
	if (element == SHLO_F32 && !isnan(value)) {
		const float number = (float)value;
		uint32_t pattern;

		memcpy(&pattern, &number, sizeof(pattern));
		return pattern;
	}
	if (info->special == SHLO_E8M0)
		return e8m0_bits(value);
	switch (info->special) {
	case SHLO_IEEE:
		nan = sign | infinity | UINT64_C(1) << (info->mantissa - 1);
		break;
	case SHLO_FNUZ:
		nan = UINT64_C(1) << (info->bits - 1);
		break;
	default:
		nan = sign | all;
		break;
	}
	if (isnan(value))
		return nan;
	bits = isinf(value) ? most + 1 : magnitude_bits(info, fabs(value));
	if (bits > most)
		return info->special == SHLO_IEEE   ? sign | infinity :
		       info->special == SHLO_FINITE ? sign | most :
						      nan;
	if (!bits && info->special == SHLO_FNUZ)
		return 0;
	return sign | bits;
}

double shlo_float_value(enum shlo_element element, uint64_t bits)
{
	const struct shlo_element_info *info = &shlo_elements[element];
	uint64_t all = (UINT64_C(1) << (info->exponent + info->mantissa)) - 1;
	uint64_t top = UINT64_C(1) << (info->bits - 1), magnitude = bits & all;
	uint64_t infinity = all - ((UINT64_C(1) << info->mantissa) - 1);
	double sign = bits & top ? -1 : 1, value;
	int exponent = (int)(magnitude >> info->mantissa);

	if (element == SHLO_F64) {
		memcpy(&value, &bits, sizeof(value));
		return value;
	}
	if (info->special == SHLO_E8M0)
		return bits == 0xFF ? NAN : ldexp(1, (int)bits - info->bias);
	if (info->special == SHLO_IEEE && magnitude >= infinity)
		return magnitude == infinity ? sign * INFINITY : copysign(NAN, sign);
	if ((info->special == SHLO_FN && magnitude == all) ||
	    (info->special == SHLO_FNUZ && bits == top))
		return NAN;
	magnitude &= (UINT64_C(1) << info->mantissa) - 1;
	if (exponent)
		magnitude |= UINT64_C(1) << info->mantissa;
	else
		exponent = 1;
	return sign * ldexp((double)magnitude, exponent - info->bias - info->mantissa);
}

static struct shlo_num load_integer(const struct shlo_element_info *info, const void *data,
				    size_t index)
{
	const uint8_t *at = (const uint8_t *)data + index * info->bytes;
	uint64_t bits = 0;

	memcpy(&bits, at, info->bytes);
	return shlo_int(wrap(info, (int64_t)bits));
}

/*
 * Sets *value to a bf16 of the array @data; a bf16 is the upper half of a float. Returns false for
 * NaN, which shlo_float_value() has to convert.
 */
static bool load_bf16(const void *data, size_t index, double *value)
{
	uint16_t half;
	uint32_t bits;
	float number;

	memcpy(&half, (const char *)data + index * 2, 2);
	bits = (uint32_t)half << 16;
	memcpy(&number, &bits, 4);
	*value = (double)number;
	return !isnan(number);
}

/*
 * Stores a number as the nearest bf16, ties to even. Returns false, and stores nothing, for NaN and
 * for a number that float32 cannot hold, which this way would round twice.
 */
static bool store_bf16(void *data, size_t index, double value)
{
	float number = (float)value;
	uint32_t bits;
	uint16_t half;

	if ((double)number != value)
		return false;
	memcpy(&bits, &number, 4);
	half = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
	memcpy((char *)data + index * 2, &half, 2);
	return true;
}

struct shlo_num shlo_load(enum shlo_element element, const void *data, size_t index)
{
	const struct shlo_element_info *info = &shlo_elements[element];
	uint64_t bits = 0;
	float parts[2];
	struct shlo_num number = { 0 };

	switch (element) {
	case SHLO_F32:
		memcpy(parts, (const char *)data + index * 4, 4);
		return shlo_real((double)parts[0]);
	case SHLO_F64:
		memcpy(&number.re, (const char *)data + index * 8, 8);
		return number;
	case SHLO_C64:
		memcpy(parts, (const char *)data + index * 8, 8);
		return (struct shlo_num){ .re = (double)parts[0], .im = (double)parts[1] };
	case SHLO_C128:
		memcpy(&number.re, (const char *)data + index * 16, 8);
		memcpy(&number.im, (const char *)data + index * 16 + 8, 8);
		return number;
	case SHLO_BF16:
		if (load_bf16(data, index, &number.re))
			return number;
		break;
	default:
		break;
	}
	if (info->class != SHLO_FLOAT)
		return load_integer(info, data, index);
	memcpy(&bits, (const char *)data + index * info->bytes, info->bytes);
	return shlo_real(shlo_float_value(element, bits));
}

void shlo_store(enum shlo_element element, void *data, size_t index, struct shlo_num number)
{
	const struct shlo_element_info *info = &shlo_elements[element];
	char *at = (char *)data + index * info->bytes;
	float parts[2] = { 0 };
	uint64_t bits;

	switch (element) {
	case SHLO_F32:
		parts[0] = (float)number.re;
		memcpy(at, parts, 4);
		return;
	case SHLO_F64:
		memcpy(at, &number.re, 8);
		return;
	case SHLO_C64:
		parts[0] = (float)number.re;
		parts[1] = (float)number.im;
		memcpy(at, parts, 8);
		return;
	case SHLO_C128:
		memcpy(at, &number.re, 8);
		memcpy(at + 8, &number.im, 8);
		return;
	case SHLO_BF16:
		if (store_bf16(data, index, number.re))
			return;
		break;
	default:
		break;
	}
	bits = info->class == SHLO_FLOAT ? shlo_float_bits(element, number.re) :
					   (uint64_t)wrap(info, number.i);
	memcpy(at, &bits, info->bytes);
}

struct shlo_num shlo_round(enum shlo_element element, struct shlo_num number)
{
	uint64_t room[2] = { 0 };

	shlo_store(element, room, 0, number);
	return shlo_load(element, room, 0);
}

/* Converts a float to an integer: numbers beyond the range become its ends, and NaN becomes 0. */
static int64_t to_integer(const struct shlo_element_info *info, double value)
{
	double least, limit;

	if (isnan(value))
		return 0;
	value = trunc(value);
	if (info->class == SHLO_UNSIGNED) {
		limit = ldexp(1, (int)info->bits);
		if (value <= 0)
			return 0;
		return value >= limit ? (int64_t)(UINT64_MAX >> (64 - info->bits)) :
					(int64_t)(uint64_t)value;
	}
	limit = ldexp(1, (int)info->bits - 1);
	least = -limit;
	if (value < least)
		return INT64_MIN >> (64 - info->bits);
	return value >= limit ? INT64_MAX >> (64 - info->bits) : (int64_t)value;
}

struct shlo_num shlo_convert(enum shlo_element to, enum shlo_element from, struct shlo_num number)
{
	const struct shlo_element_info *in = &shlo_elements[from], *out = &shlo_elements[to];
	bool real = in->class == SHLO_FLOAT || in->class == SHLO_COMPLEX;

	if (out->class == SHLO_BOOL)
		return shlo_int(real ? number.re != 0 : number.i != 0);
	if (out->class == SHLO_FLOAT || out->class == SHLO_COMPLEX) {
		struct shlo_num result = { 0 };

		if (real)
			result.re = number.re;
		else if (to == SHLO_F32 || to == SHLO_C64)
			/* Converts to float in one step; going through double would round twice. */
			result.re = in->class == SHLO_UNSIGNED ? (double)(float)number.u :
								 (double)(float)number.i;
		else
			result.re = in->class == SHLO_UNSIGNED ? (double)number.u :
								 (double)number.i;
		if (in->class == SHLO_COMPLEX && out->class == SHLO_COMPLEX)
			result.im = number.im;
		return shlo_round(to, result);
	}
	if (real)
		return shlo_int(to_integer(out, number.re));
	return shlo_int(wrap(out, number.i));
}

struct shlo_num shlo_zero(enum shlo_element element)
{
	return shlo_convert(element, SHLO_I64, shlo_int(0));
}

struct shlo_num shlo_one(enum shlo_element element)
{
	return shlo_convert(element, SHLO_I64, shlo_int(1));
}
