// SPDX-License-Identifier: MIT
/* Converts numbers to and from binary16. */
#include "half.h"

#include <math.h>

uint16_t half_from_double(double value)
{
	uint16_t sign = signbit(value) ? 0x8000 : 0;
	double magnitude = fabs(value), scaled;
	int exponent;

	if (isnan(value))
		return 0x7e00;
	if (magnitude >= 65520)
		return (uint16_t)(sign | 0x7c00);
	if (magnitude < 0x1p-14)
		return (uint16_t)(sign | (uint16_t)rint(magnitude * 0x1p24));
	frexp(magnitude, &exponent);
	/* The mantissa has 11 bits; if rounding gives 2048, the carry goes into the exponent. */
	scaled = rint(ldexp(magnitude, 11 - exponent));
	return (uint16_t)(sign | (((exponent + 14) << 10) + (int)scaled - 1024));
}

double half_to_double(uint16_t half)
{
	int exponent = half >> 10 & 31, fraction = half & 1023;
	double value;

	if (exponent == 31)
		value = fraction ? NAN : INFINITY;
	else if (exponent)
		value = ldexp(fraction + 1024, exponent - 25);
	else
		value = ldexp(fraction, -24);
	return half & 0x8000 ? -value : value;
}
