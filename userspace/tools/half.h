/* SPDX-License-Identifier: MIT */
/* Numbers of binary16, as their bits. */
#ifndef ONPU_TOOLS_HALF_H
#define ONPU_TOOLS_HALF_H

#include <stdint.h>

/* Rounds to nearest, ties to even, in one step from the double. */
uint16_t half_from_double(double value);
double half_to_double(uint16_t half);

#endif
