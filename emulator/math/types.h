/* SPDX-License-Identifier: MIT */
/*
 * Conversions of floating-point formats, one element at a time. IEEE rules, round to nearest even,
 * subnormals kept, NaNs canonical in narrower types. There are no branches on data, so that loops
 * over them vectorise.
 */
#ifndef ONPU_MATH_TYPES_H
#define ONPU_MATH_TYPES_H

#include <stdint.h>
#include <string.h>

static inline uint32_t onpu_f32_bits(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

static inline float onpu_bits_f32(uint32_t bits)
{
	float x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

static inline float onpu_bf16_to_f32(uint16_t h)
{
	return onpu_bits_f32((uint32_t)h << 16);
}

static inline uint16_t onpu_f32_to_bf16(float x)
{
	uint32_t bits = onpu_f32_bits(x);
	uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;

	return x != x ? 0x7fc0 : rounded;
}

static inline float onpu_f16_to_f32(uint16_t h)
{
	uint32_t sign = (uint32_t)(h & 0x8000) << 16;
	uint32_t magnitude = h & 0x7fff;
	/* Multiplying by 2^112 moves the exponent bias; it is exact for subnormals, too. */
	float finite = onpu_bits_f32(magnitude << 13) * 0x1p112f;
	uint32_t special = magnitude << 13 | 0x7f800000;

	return onpu_bits_f32((magnitude >= 0x7c00 ? special : onpu_f32_bits(finite)) | sign);
}

static inline uint16_t onpu_f32_to_f16(float x)
{
	uint32_t bits = onpu_f32_bits(x), sign = bits >> 16 & 0x8000;
	uint32_t magnitude = bits & 0x7fffffff;
	/* Normal results: round the bits, carries move into the exponent and up to infinity. */
	uint32_t normal = (magnitude - (112u << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13;
	/* Subnormal results: adding 0.5 leaves the value, rounded, in the low bits. */
	uint32_t small = onpu_f32_bits(onpu_bits_f32(magnitude) + 0.5f) - 0x3f000000;
	uint32_t h = magnitude < 0x38800000 ? small : normal;

	h = magnitude >= 0x477ff000 ? 0x7c00 : h;
	h |= sign;
	return magnitude > 0x7f800000 ? 0x7e00 : h;
}

#endif
