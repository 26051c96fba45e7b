/* SPDX-License-Identifier: MIT */
/*
 * What the code that isaspec generates needs of a bit set: an array of 32-bit words, lowest first.
 * The macros take arrays, not pointers.
 */
#ifndef SHIM_BITSET_H
#define SHIM_BITSET_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "util/compiler.h"

typedef uint32_t BITSET_WORD;

#define BITFIELD64_MASK(bits) ((bits) == 64 ? ~0ull : (1ull << (bits)) - 1)
#define BITSET_WORDS(bits)    (((bits) + 31) / 32)
#define SHIM_LENGTH(a)	      (sizeof(a) / sizeof((a)[0]))

#define BITSET_ZERO(a)	    memset((a), 0, sizeof(a))
#define BITSET_COPY(d, s)   memcpy((d), (s), sizeof(d))
#define BITSET_EQUAL(a, b)  (memcmp((a), (b), sizeof(a)) == 0)
#define BITSET_TEST(a, bit) (((a)[(bit) / 32] >> (bit) % 32 & 1) != 0)
#define BITSET_SET(a, bit)  ((a)[(bit) / 32] |= 1u << (bit) % 32)

#define SHIM_EACH(d, expression)                                     \
	do {                                                         \
		for (unsigned int i_ = 0; i_ < SHIM_LENGTH(d); i_++) \
			(d)[i_] = (expression);                      \
	} while (0)
#define BITSET_AND(d, a, b) SHIM_EACH(d, (a)[i_] & (b)[i_])
#define BITSET_OR(d, a, b)  SHIM_EACH(d, (a)[i_] | (b)[i_])
#define BITSET_NOT(d)	    SHIM_EACH(d, ~(d)[i_])

#define BITSET_SET_RANGE(a, low, high)                                                \
	do {                                                                          \
		for (unsigned int bit_ = (low); bit_ <= (unsigned int)(high); bit_++) \
			BITSET_SET(a, bit_);                                          \
	} while (0)
#define BITSET_SHL(a, n) shim_shift((a), SHIM_LENGTH(a), (int)(n))
#define BITSET_SHR(a, n) shim_shift((a), SHIM_LENGTH(a), -(int)(n))
#define BITSET_COUNT(a)	 shim_count((a), SHIM_LENGTH(a))

/* Moves every bit to a number higher by n, zeros behind. */
static inline void shim_shift(BITSET_WORD *a, unsigned int words, int n)
{
	BITSET_WORD result[32] = { 0 };
	int bits = 32 * (int)words, bit;

	for (bit = 0; bit < bits; bit++)
		if (BITSET_TEST(a, bit) && bit + n >= 0 && bit + n < bits)
			BITSET_SET(result, bit + n);
	memcpy(a, result, words * sizeof(*a));
}

static inline unsigned int shim_count(const BITSET_WORD *a, unsigned int words)
{
	unsigned int count = 0, i;

	for (i = 0; i < words; i++)
		count += (unsigned int)__builtin_popcount(a[i]);
	return count;
}

#endif
