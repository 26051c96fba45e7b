/* SPDX-License-Identifier: MIT */
/* Arithmetic that many files need: sizes, rounding, alignment. */
#ifndef WNN_UTIL_NUMBER_H
#define WNN_UTIL_NUMBER_H

#include <stdint.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* Returns n / by rounded up; by is not 0, and n + by - 1 must not overflow. */
static inline uint64_t wnn_div_up(uint64_t n, uint64_t by)
{
	return (n + by - 1) / by;
}

/* Returns n rounded up to a multiple of `alignment`, which is any number but 0. */
static inline uint64_t wnn_align_up(uint64_t n, uint64_t alignment)
{
	return wnn_div_up(n, alignment) * alignment;
}

/*
 * Returns the greatest common divisor of two numbers; that of a number and 0 is its absolute value.
 */
static inline int64_t wnn_gcd(int64_t a, int64_t b)
{
	while (b) {
		int64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a < 0 ? -a : a;
}

#endif
