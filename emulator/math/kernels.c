// SPDX-License-Identifier: MIT
/* The tables of kernels by SIMD level. */
#include <string.h>

#include "math/kernels.h"

#define KERNEL_LEVEL scalar
#include "math/kernels_level.h"

#define DECLARE(level)                                            \
	void onpu_##level##_fill_vector(struct onpu_kernels *k);  \
	void onpu_##level##_fill_integer(struct onpu_kernels *k); \
	void onpu_##level##_fill_matrix(struct onpu_kernels *k)

#define FILL(level, k)                          \
	do {                                    \
		onpu_##level##_fill_vector(k);  \
		onpu_##level##_fill_integer(k); \
		onpu_##level##_fill_matrix(k);  \
	} while (0)

#if defined(__x86_64__)
DECLARE(avx2);
DECLARE(avx512);
#endif

void onpu_kernels_fill(enum onpu_simd level, struct onpu_kernels *k)
{
	memset(k, 0, sizeof(*k));
	switch (level) {
#if defined(__x86_64__)
	case ONPU_SIMD_AVX2:
		FILL(avx2, k);
		break;
	case ONPU_SIMD_AVX512:
		FILL(avx512, k);
		break;
#endif
	default:
		FILL(scalar, k);
		break;
	}
}
