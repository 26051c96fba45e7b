/* SPDX-License-Identifier: MIT */
/*
 * Checks whether floating-point numbers are all finite, eight bytes at a time, as constants may be
 * large.
 */
#ifndef WNN_UTIL_FINITE_H
#define WNN_UTIL_FINITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * wnn_words_finite - whether no element is infinite or NaN
 *
 * @exponents: mask of the exponent bits in a word of 8 bytes
 * @lowest: the lowest exponent bit of each element
 *
 * Infinities and NaN have all exponent bits set, and only for these does adding @lowest carry into
 * the sign bit.
 */
static inline bool wnn_words_finite(const void *data, size_t bytes, uint64_t exponents,
				    uint64_t lowest)
{
	const char *from = data;
	uint64_t word, carries = 0;
	size_t at = 0;

	for (; at + sizeof(word) <= bytes; at += sizeof(word)) {
		memcpy(&word, from + at, sizeof(word));
		carries |= (word & exponents) + lowest;
	}
	word = 0;
	memcpy(&word, from + at, bytes - at);
	carries |= (word & exponents) + lowest;
	/* exponents + lowest is the mask of the sign bits, which only carries set. */
	return !(carries & (exponents + lowest));
}

/* Whether float32 numbers are all finite. */
static inline bool wnn_floats_finite(const void *data, size_t count)
{
	return wnn_words_finite(data, count * 4, UINT64_C(0x7f8000007f800000),
				UINT64_C(0x0080000000800000));
}

/* Whether float16 numbers are all finite. */
static inline bool wnn_halves_finite(const void *data, size_t count)
{
	return wnn_words_finite(data, count * 2, UINT64_C(0x7c007c007c007c00),
				UINT64_C(0x0400040004000400));
}

#endif
