// SPDX-License-Identifier: MIT
/* The architected functions over arrays, for x86 with AVX2 and FMA. */
#include "math/functions_options.h"

#include "math/functions_core.h"
#include "math/functions_internal.h"

#if defined(__x86_64__)

#define FN_LEVEL(name) fn_avx2_##name
#define FN_TARGET      FN_TARGET_AVX2
#include "math/functions_array.h"

const struct fn_level fn_level_avx2 = {
	.table = fn_avx2_table,
	.pow_array = fn_avx2_pow_array,
};

#else

const struct fn_level fn_level_avx2;

#endif
