/* SPDX-License-Identifier: MIT */
/*
 * Converts IEEE binary16 to and from float; rounds to nearest even. A NaN that becomes binary16 is
 * 0x7e00 with its sign; one that becomes float keeps its bits.
 */
#ifndef WNN_UTIL_FLOAT16_H
#define WNN_UTIL_FLOAT16_H

#include <stdint.h>
#include <string.h>

static inline float wnn_half_to_float(uint16_t h)
{
	uint32_t sign = (uint32_t)(h & 0x8000) << 16, mag = h & 0x7fff, bits;
	float f;

	if (mag >= 0x7c00) {
		bits = sign | 0x7f800000 | (uint32_t)(mag & 0x3ff) << 13;
	} else if (mag >= 0x400) {
		bits = sign | ((mag << 13) + (112u << 23));
	} else {
		/* Subnormal: a small integer times 2^-24, exact in a float. */
		f = (float)mag * 0x1p-24f;
		memcpy(&bits, &f, 4);
		bits |= sign;
	}
	memcpy(&f, &bits, 4);
	return f;
}

static inline uint16_t wnn_float_to_half(float f)
{
	uint32_t bits, mag, rest, half;
	uint16_t sign;

	memcpy(&bits, &f, 4);
	sign = (uint16_t)(bits >> 16 & 0x8000);
	mag = bits & 0x7fffffff;
	if (mag > 0x7f800000)
		return sign | 0x7e00;
	if (mag >= 0x47800000)
		return sign | 0x7c00;
	if (mag < 0x38800000) {
		uint32_t shift, m;

		if (mag < 0x33000000)
			return sign;
		shift = 126 - (mag >> 23);
		m = (mag & 0x7fffff) | 0x800000;
		rest = m & ((1u << shift) - 1);
		half = m >> shift;
		half += rest > 1u << (shift - 1) || (rest == 1u << (shift - 1) && (half & 1));
		return (uint16_t)(sign | half);
	}
	half = (mag - (112u << 23)) >> 13;
	rest = mag & 0x1fff;
	half += rest > 0x1000 || (rest == 0x1000 && (half & 1));
	return (uint16_t)(sign | half);
}

/* Returns a double converted to binary16 with a single rounding. */
static inline uint16_t wnn_double_to_half(double d)
{
	float f = (float)d;
	uint32_t bits;

	/*
	 * Rounds to odd first, so that the second rounding knows on which side of a tie the value
	 * is.
	 */
	if ((double)f != d && f == f) {
		double a = d < 0 ? -d : d, b = f < 0 ? -(double)f : (double)f;

		memcpy(&bits, &f, 4);
		if (b > a)
			bits--;
		bits |= 1;
		memcpy(&f, &bits, 4);
	}
	return wnn_float_to_half(f);
}

#endif
