/* SPDX-License-Identifier: MIT */
/* Division that rounds up. */
#ifndef ONPU_MATH_DIVIDE_H
#define ONPU_MATH_DIVIDE_H

#include <stdint.h>

/* Returns the smallest integer that is not below @n / @d; @n + @d must fit. */
static inline uint64_t onpu_div_up(uint64_t n, uint64_t d)
{
	return (n + d - 1) / d;
}

#endif
