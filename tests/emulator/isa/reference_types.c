// SPDX-License-Identifier: MIT
/* Element types of the reference: sizes, ranges and conversions (isa.xml: #types, #address). */
#include "reference.h"

#include <math.h>
#include <string.h>

bool ref_is_float(unsigned int dtype)
{
	return dtype == ONPU_DT_F16 || dtype == ONPU_DT_BF16 || dtype == ONPU_DT_F32;
}

bool ref_is_signed(unsigned int dtype)
{
	return dtype == ONPU_DT_I8 || dtype == ONPU_DT_I16 || dtype == ONPU_DT_I32 ||
	       dtype == ONPU_DT_I64 || dtype == ONPU_DT_I4;
}

bool ref_is_nibble(unsigned int dtype)
{
	return dtype == ONPU_DT_I4 || dtype == ONPU_DT_U4 || dtype == ONPU_DT_F4E2M1;
}

unsigned int ref_bits(unsigned int dtype)
{
	switch (dtype) {
	case ONPU_DT_I4:
	case ONPU_DT_U4:
	case ONPU_DT_F4E2M1:
		return 4;
	case ONPU_DT_I8:
	case ONPU_DT_U8:
	case ONPU_DT_F8E4M3:
	case ONPU_DT_F8E5M2:
	case ONPU_DT_F8E8M0:
		return 8;
	case ONPU_DT_I16:
	case ONPU_DT_U16:
	case ONPU_DT_F16:
	case ONPU_DT_BF16:
		return 16;
	case ONPU_DT_I32:
	case ONPU_DT_U32:
	case ONPU_DT_F32:
		return 32;
	default:
		return 64;
	}
}

unsigned int ref_size(unsigned int dtype)
{
	return ref_is_nibble(dtype) ? 1 : ref_bits(dtype) / 8;
}

ref_int ref_least(unsigned int dtype)
{
	return ref_is_signed(dtype) ? -((ref_int)1 << (ref_bits(dtype) - 1)) : 0;
}

ref_int ref_greatest(unsigned int dtype)
{
	return ((ref_int)1 << (ref_bits(dtype) - ref_is_signed(dtype))) - 1;
}

ref_int ref_limit(ref_int v, ref_int low, ref_int high)
{
	return v < low ? low : v > high ? high : v;
}

ref_int ref_saturate(ref_int v, unsigned int dtype)
{
	return ref_limit(v, ref_least(dtype), ref_greatest(dtype));
}

/* Returns the number of the type that has these low bits. */
ref_int ref_wrap(uint64_t bits, unsigned int dtype)
{
	ref_int range = (ref_int)1 << ref_bits(dtype);
	ref_int v = bits & (uint64_t)(range - 1);

	return v > ref_greatest(dtype) ? v - range : v;
}

ref_int ref_mul(ref_int a, ref_int b)
{
	if (a && b > REF_HUGE / a)
		return REF_HUGE;
	return a * b;
}

ref_int ref_ceil_div(ref_int a, ref_int b)
{
	return (a + b - 1) / b;
}

ref_int ref_product(const uint32_t *dims, unsigned int rank)
{
	ref_int n = 1;

	for (unsigned int d = 0; d < rank; d++)
		n = ref_mul(n, dims[d]);
	return n;
}

ref_int ref_count(const struct ref_tensor *x)
{
	return ref_product(x->dim, x->rank);
}

/*
 * Advances the index in row-major order; returns false after the last index, which becomes the
 * first.
 */
bool ref_next(const uint32_t *dims, unsigned int rank, uint32_t *index)
{
	for (unsigned int d = rank; d-- > 0;) {
		if (++index[d] < dims[d])
			return true;
		index[d] = 0;
	}
	return false;
}

float ref_float_of(uint32_t bits)
{
	float f;

	memcpy(&f, &bits, sizeof(f));
	return f;
}

uint32_t ref_bits_of(float f)
{
	uint32_t bits;

	memcpy(&bits, &f, sizeof(bits));
	return bits;
}

float ref_from_half(uint16_t h)
{
	int sign = h >> 15, exponent = h >> 10 & 31, fraction = h & 0x3ff;
	float v;

	if (exponent == 31)
		v = fraction ? NAN : INFINITY;
	else if (exponent)
		v = ldexpf((float)(fraction + 0x400), exponent - 25);
	else
		v = ldexpf((float)fraction, -24);
	return sign ? -v : v;
}

/*
 * Returns the nearest float16: a search finds its two neighbours, whose distances are exact in
 * double.
 */
uint16_t ref_to_half(float f)
{
	uint16_t sign = signbit(f) ? 0x8000 : 0;
	double v = fabs((double)f);
	uint16_t low = 0, high = 0x7c00;

	if (isnan(f))
		return 0x7e00;
	if (isinf(f))
		return sign | 0x7c00;
	while (high - low > 1) {
		uint16_t middle = (low + high) / 2;

		if ((double)ref_from_half(middle) <= v)
			low = middle;
		else
			high = middle;
	}
	double below = v - ref_from_half(low);
	/* Above the largest number, infinity counts as the next number, 65536. */
	double above = (high == 0x7c00 ? 65536.0 : (double)ref_from_half(high)) - v;

	if (above < below || (above == below && !(high & 1)))
		return sign | high;
	return sign | low;
}

bool ref_is_small(unsigned int dtype)
{
	return dtype >= ONPU_DT_F8E4M3 && dtype <= ONPU_DT_F8E8M0;
}

/*
 * Returns the number that a float of 4 or 8 bits stands for: for E2M1 from a list, for the wider
 * types computed bit by bit.
 */
float ref_from_small(unsigned int dtype, unsigned int x)
{
	static const float e2m1[8] = { 0, 0.5F, 1, 1.5F, 2, 3, 4, 6 };
	unsigned int fraction = dtype == ONPU_DT_F8E4M3 ? 3 : 2;
	int bias = dtype == ONPU_DT_F8E4M3 ? 7 : 15, e = (int)(x & 0x7f) >> fraction;
	float v = 0, bit = 1;

	if (dtype == ONPU_DT_F4E2M1)
		return x & 8 ? -e2m1[x & 7] : e2m1[x & 7];
	if (dtype == ONPU_DT_F8E8M0) {
		/* 2^-127 is subnormal; halving is exact there, too. */
		for (v = 1; x > 127; x--)
			v *= 2;
		for (; x < 127; x++)
			v /= 2;
		return isinf(v) ? NAN : v;
	}
	if (dtype == ONPU_DT_F8E4M3 && (x & 0x7f) == 0x7f)
		return NAN;
	if (dtype == ONPU_DT_F8E5M2 && e == 31)
		return x & 3 ? NAN : x & 0x80 ? -INFINITY : INFINITY;
	if (e)
		v = 1;
	for (unsigned int i = fraction; i-- > 0;) {
		bit /= 2;
		v += x >> i & 1 ? bit : 0;
	}
	for (int i = e ? e : 1; i < bias; i++)
		v /= 2;
	for (int i = bias; i < e; i++)
		v *= 2;
	return x & 0x80 ? -v : v;
}

float ref_from_bfloat(uint16_t h)
{
	return ref_float_of((uint32_t)h << 16);
}

uint16_t ref_to_bfloat(float f)
{
	uint32_t bits = ref_bits_of(f);
	uint32_t rest = bits & 0xffff, low = bits >> 16;

	if (isnan(f))
		return 0x7fc0;
	if (rest > 0x8000 || (rest == 0x8000 && low & 1))
		low++;
	return (uint16_t)low;
}

float ref_integer_to_float(ref_int v)
{
	/* Both conversions of C round to nearest even. */
	return v < 0 ? (float)(int64_t)v : (float)(uint64_t)v;
}

ref_int ref_round_to_integer(float v)
{
	if (isnan(v))
		return 0;
	if (fabsf(v) >= 0x1p100f)
		return v < 0 ? -REF_HUGE : REF_HUGE;
	double whole = floor((double)v), rest = (double)v - whole;
	ref_int low = (ref_int)whole;

	if (rest > 0.5 || (rest == 0.5 && low % 2))
		low++;
	return low;
}
