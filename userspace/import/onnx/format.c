// SPDX-License-Identifier: MIT
/* Float formats of few bits: conversion between codes and numbers, with rounding. */
#include <math.h>

#include "value.h"

const struct onnx_format *onnx_format_of(int type)
{
	static const struct onnx_format formats[] = {
		[ONNX_FLOAT8E4M3FN] = { 3, 7, -6, 448, false, true, false },
		[ONNX_FLOAT8E4M3FNUZ] = { 3, 8, -7, 240, false, true, true },
		[ONNX_FLOAT8E5M2] = { 2, 15, -14, 57344, true, true, false },
		[ONNX_FLOAT8E5M2FNUZ] = { 2, 16, -15, 57344, false, true, true },
		[ONNX_FLOAT4E2M1] = { 1, 1, 0, 6, false, false, false },
		[ONNX_FLOAT8E8M0] = { 0, 127, -127, 0x1p127, false, true, false },
		[ONNX_FLOAT6E2M3] = { 3, 1, 0, 7.5, false, false, false },
		[ONNX_FLOAT6E3M2] = { 2, 3, -2, 28, false, false, false },
	};

	if (type < ONNX_FLOAT8E4M3FN || type >= (int)(sizeof(formats) / sizeof(formats[0])) ||
	    !formats[type].bias)
		return NULL;
	return &formats[type];
}

/*
 * Returns the code of NaN: the sign bit alone in formats that have no -0, 255 for powers of two,
 * which have no sign, else a code whose sign bit is 0.
 */
static unsigned int nan_code(const struct onnx_format *f, unsigned int bits)
{
	if (f->signed_nan)
		return 1u << (bits - 1);
	return f->infinities ? 0x7e : f->mantissa ? 0x7f : 0xff;
}

double onnx_format_get(int type, unsigned int code)
{
	const struct onnx_format *f = onnx_format_of(type);
	unsigned int bits = onnx_type_bits(type), sign = 1u << (bits - 1), fraction;
	int exponent;
	double number;

	if (!f->mantissa)
		return code == 0xff ? (double)NAN : ldexp(1, (int)code - f->bias);
	if (f->signed_nan && code == sign)
		return NAN;
	fraction = code & ((1u << f->mantissa) - 1);
	exponent = (int)((code & (sign - 1)) >> f->mantissa);
	if (f->infinities && exponent == 31)
		number = fraction ? (double)NAN : (double)INFINITY;
	else if (f->nan && !f->signed_nan && (code & (sign - 1)) == 0x7f)
		number = NAN;
	else if (!exponent)
		number = ldexp(fraction, f->least - f->mantissa);
	else
		number =
			ldexp((1 << f->mantissa) + (int)fraction, exponent - f->bias - f->mantissa);
	return code & sign ? -number : number;
}

/*
 * Returns the 8-bit code of the power of two to which the magnitude of a number is rounded; 255,
 * which is NaN, for NaN and infinities. Powers beyond the largest become 254 with @saturate, else
 * 255; numbers below 2^-126 become code 0 or, rounded up, 1.
 */
static unsigned int put_power(double number, bool saturate, enum onnx_rounding rounding)
{
	int exponent, code;
	double fraction;

	if (!isfinite(number))
		return 0xff;
	fraction = 2 * frexp(fabs((double)(float)number), &exponent);
	code = fraction == 0 ? 0 : exponent - 1 + 127;
	if (code < 1) {
		/*
		 * A subnormal float32, f / 2^126 with f below 1, is rounded as if it were (1 + f) /
		 * 2^127.
		 */
		fraction = 1 + fabs(number) * 0x1p126;
		code = 0;
	}
	if ((rounding == ONNX_UP && fraction > 1) ||
	    (rounding == ONNX_NEAREST && (fraction > 1.5 || (fraction == 1.5 && code))))
		code++;
	return code > 254 ? saturate ? 254 : 255 : (unsigned int)code;
}

unsigned int onnx_format_put(int type, double number, bool saturate, enum onnx_rounding rounding)
{
	const struct onnx_format *f = onnx_format_of(type);
	unsigned int bits = onnx_type_bits(type), sign;
	double size = fabs(number), scaled;
	int exponent;

	if (!f->mantissa)
		return put_power(number, saturate, rounding);
	sign = signbit(number) ? 1u << (bits - 1) : 0;
	if (isnan(number))
		return f->nan ? nan_code(f, bits) | (f->signed_nan ? 0 : sign) : sign;
	frexp(size, &exponent);
	exponent = size == 0 || isinf(size) || exponent - 1 < f->least ? f->least : exponent - 1;
	scaled = isinf(size) ? size : nearbyint(ldexp(size, f->mantissa - exponent));
	if (ldexp(scaled, exponent - f->mantissa) > f->largest) {
		if (!saturate && f->infinities)
			return sign | 0x7c;
		if (!saturate && f->nan)
			return nan_code(f, bits) | (f->signed_nan ? 0 : sign);
		scaled = ldexp(f->largest, f->mantissa);
		frexp(f->largest, &exponent);
		exponent--;
		scaled = ldexp(f->largest, f->mantissa - exponent);
	}
	if (scaled == 0 && f->signed_nan)
		return 0;
	/*
	 * A mantissa that rounds up to the next power of two carries into the exponent without
	 * further code.
	 */
	if (scaled < 1 << f->mantissa)
		return sign | (unsigned int)scaled;
	return sign | (unsigned int)(((exponent + f->bias) << f->mantissa) + (int)scaled -
				     (1 << f->mantissa));
}
