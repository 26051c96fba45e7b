/* SPDX-License-Identifier: MIT */
/*
 * Converts the sum of an integer product, or of a window of a pool, to an 8-bit result, by the
 * formulas of ir/ops.def.
 */
#ifndef WNN_CPU_REQUANTIZE_H
#define WNN_CPU_REQUANTIZE_H

#include <math.h>

#include "cpu/element.h"

static inline int64_t cpu_requantize(const struct ir_integer_attrs *attrs, enum ir_dtype dtype,
				     int64_t sum, float scale)
{
	double lo = (double)cpu_int_min(dtype), hi = (double)cpu_int_max(dtype);
	float scaled = (float)sum * scale;
	int64_t v = (int64_t)fmin(fmax(nearbyint(scaled) + (double)attrs->zero, lo), hi);

	v = v < attrs->lo ? attrs->lo : v;
	return v > attrs->hi ? attrs->hi : v;
}

/* Returns the 8-bit average of a window whose elements have this sum, by the formula of QPOOL. */
static inline int64_t cpu_average(enum ir_dtype dtype, int64_t sum, int64_t count, float scale,
				  int64_t zero)
{
	double lo = (double)cpu_int_min(dtype), hi = (double)cpu_int_max(dtype);
	float mean = (float)sum / (float)(count ? count : 1);

	return (int64_t)fmin(fmax((double)nearbyintf(mean / scale) + (double)zero, lo), hi);
}

#endif
