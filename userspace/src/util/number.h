/* SPDX-License-Identifier: MIT */
/* Arithmetic that many files need: sizes, rounding, alignment. */
#ifndef WNN_UTIL_NUMBER_H
#define WNN_UTIL_NUMBER_H

#include <stdint.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* The smallest integer that is not below n / by; by is not 0, and n + by - 1 must not wrap. */
static inline uint64_t wnn_div_up(uint64_t n, uint64_t by)
{
	return (n + by - 1) / by;
}

/* The smallest multiple of `alignment`, any number but 0, that is not below n. */
static inline uint64_t wnn_align_up(uint64_t n, uint64_t alignment)
{
	return wnn_div_up(n, alignment) * alignment;
}

#endif
