// SPDX-License-Identifier: MIT
/* Casts numbers in options to an element type. */
#include "graph/number.h"

#include <math.h>
#include <string.h>

#include "util/float16.h"

float wnn_double_cast(enum ir_dtype dtype, double value)
{
	if (dtype == IR_F16)
		return wnn_half_to_float(wnn_double_to_half(value));
	return (float)value;
}

float wnn_number_float(enum ir_dtype dtype, const WNNNumber *number)
{
	switch (number->kind) {
	case WNNNumberKind_Int64:
		/*
		 * Rounding to float first does not change the float16: the integers that float
		 * rounds are all so large that they become infinite as float16.
		 */
		if (dtype == IR_F16)
			return wnn_half_to_float(wnn_float_to_half((float)number->int64Value));
		return (float)number->int64Value;
	case WNNNumberKind_Uint64:
		if (dtype == IR_F16)
			return wnn_half_to_float(wnn_float_to_half((float)number->uint64Value));
		return (float)number->uint64Value;
	default:
		return wnn_double_cast(dtype, number->doubleValue);
	}
}

/*
 * Returns the magnitude of a number rounded half to even, and its sign; magnitudes beyond 64 bits
 * saturate.
 */
static uint64_t to_magnitude(const WNNNumber *number, bool *negative)
{
	double d;

	switch (number->kind) {
	case WNNNumberKind_Int64:
		*negative = number->int64Value < 0;
		return *negative ? 0 - (uint64_t)number->int64Value : (uint64_t)number->int64Value;
	case WNNNumberKind_Uint64:
		*negative = false;
		return number->uint64Value;
	default:
		break;
	}
	d = number->doubleValue;
	*negative = d < 0;
	if (isnan(d))
		return 0;
	/*
	 * Rounds halves to even in every rounding mode of the thread: fmod() and floor() are exact.
	 */
	d = fabs(d);
	if (d >= 0x1p64)
		return UINT64_MAX;
	if (d < 0x1p52) {
		double whole = floor(d), rest = d - whole;

		d = whole + (rest > 0.5 || (rest == 0.5 && fmod(whole, 2) == 1));
	}
	return (uint64_t)d;
}

static uint64_t to_integer(enum ir_dtype dtype, const WNNNumber *number)
{
	bool is_unsigned = ir_dtype_is_unsigned(dtype);
	unsigned int bits = (unsigned int)ir_dtype_bits(dtype);
	uint64_t mask = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
	uint64_t highest = is_unsigned ? mask : mask >> 1;
	uint64_t lowest = is_unsigned ? 0 : highest + 1; /* magnitude of the lowest number */
	bool negative;
	uint64_t m = to_magnitude(number, &negative);

	if (negative)
		return (0 - (m < lowest ? m : lowest)) & mask;
	return m < highest ? m : highest;
}

uint64_t wnn_number_bits(enum ir_dtype dtype, const WNNNumber *number)
{
	float f;
	uint32_t bits;

	switch (dtype) {
	case IR_F32:
		f = wnn_number_float(dtype, number);
		memcpy(&bits, &f, sizeof(bits));
		return bits;
	case IR_F16:
		return wnn_float_to_half(wnn_number_float(dtype, number));
	default:
		return to_integer(dtype, number);
	}
}
