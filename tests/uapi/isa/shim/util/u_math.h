/* SPDX-License-Identifier: MIT */
#ifndef SHIM_U_MATH_H
#define SHIM_U_MATH_H

#include <stdint.h>
#include <string.h>

static inline int64_t util_sign_extend(uint64_t value, unsigned int width)
{
	return (int64_t)(value << (64 - width)) >> (64 - width);
}

static inline float uif(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

#endif
