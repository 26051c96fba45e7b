/* SPDX-License-Identifier: MIT */
/* Tables of the SIMD levels, which functions_simd_*.c define for functions.c. */
#ifndef ONPU_MATH_FUNCTIONS_INTERNAL_H
#define ONPU_MATH_FUNCTIONS_INTERNAL_H

#include "math/functions.h"

/* Entry points of one SIMD level; all NULL where the build has no such level. */
struct fn_level {
	const onpu_fn_array *table;
	onpu_fn_array2 pow_array;
};

extern const struct fn_level fn_level_avx2;
extern const struct fn_level fn_level_avx512;

#endif
