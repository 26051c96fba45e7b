// SPDX-License-Identifier: MIT
/* The architected functions over arrays, for x86 with AVX-512 F, DQ, BW and VL. */
#include "math/functions_options.h"

#include "math/functions_core.h"
#include "math/functions_internal.h"

#if defined(__x86_64__)

#define FN_LEVEL(name) fn_avx512_##name
#define FN_TARGET      FN_TARGET_AVX512
#include "math/functions_array.h"

const struct fn_level fn_level_avx512 = {
	.table = fn_avx512_table,
	.pow_array = fn_avx512_pow_array,
};

#else

const struct fn_level fn_level_avx512;

#endif
