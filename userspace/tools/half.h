/* SPDX-License-Identifier: MIT */
/* Numbers of binary16, as their bits. */
#ifndef ONPU_TOOLS_HALF_H
#define ONPU_TOOLS_HALF_H

#include <stdint.h>

/*
 * Returns the bits of the float16 to which @value rounds: the nearest, ties to even, in one step.
 */
uint16_t half_from_double(double value);
double half_to_double(uint16_t half);

#endif
