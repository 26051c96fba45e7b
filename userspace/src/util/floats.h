/* SPDX-License-Identifier: MIT */
/*
 * Loops over many float32 numbers, with AVX2 or AVX-512 where the processor has them. Results have
 * the same bits on all processors.
 */
#ifndef WNN_UTIL_FLOATS_H
#define WNN_UTIL_FLOATS_H

#include <stdint.h>

/*
 * Returns the largest of some numbers without their signs, as bits; 0 for no numbers. Infinity is
 * larger than all finite numbers, and NaN is larger than infinity.
 */
uint32_t wnn_floats_largest(const float *numbers, int64_t count);
/* Multiplies numbers by a factor in double precision, and rounds once. */
void wnn_floats_scale(float *to, const float *from, int64_t count, double factor);

#endif
