/* SPDX-License-Identifier: MIT */
/*
 * Definitions for the files that are built once per SIMD level. The build defines KERNEL_LEVEL to
 * the level's name, scalar, avx2 or avx512, and passes the compiler flags that go with it.
 */
#ifndef ONPU_MATH_KERNELS_LEVEL_H
#define ONPU_MATH_KERNELS_LEVEL_H

#include "math/kernels.h"

#if defined(__FAST_MATH__)
#error "kernels_*.c define bits of the architecture: build them without -ffast-math"
#endif

#if defined(__clang__)
#pragma clang fp contract(off)
#endif

/*
 * The kernels' loops have no dependencies between elements at different positions. KERNEL_PLAIN is
 * set for the level scalar.
 */
#if defined(KERNEL_PLAIN)
#define KERNEL_VECTORISE
#elif defined(__clang__)
#define KERNEL_VECTORISE _Pragma("clang loop vectorize(assume_safety)")
#else
#define KERNEL_VECTORISE _Pragma("GCC ivdep")
#endif

#define KERNEL_PASTE2(a, b, c) a##_##b##_##c
#define KERNEL_PASTE(a, b, c)  KERNEL_PASTE2(a, b, c)
#define KERNEL_NAME(name)      KERNEL_PASTE(onpu, KERNEL_LEVEL, name)

#define KERNEL_SIMD_scalar	  ONPU_SIMD_SCALAR
#define KERNEL_SIMD_avx2	  ONPU_SIMD_AVX2
#define KERNEL_SIMD_avx512	  ONPU_SIMD_AVX512
#define KERNEL_SIMD_PASTE2(level) KERNEL_SIMD_##level
#define KERNEL_SIMD_PASTE(level)  KERNEL_SIMD_PASTE2(level)
#define KERNEL_SIMD		  KERNEL_SIMD_PASTE(KERNEL_LEVEL)

/* Functions that each fill in some kernels of the table. */
void KERNEL_NAME(fill_vector)(struct onpu_kernels *k);
void KERNEL_NAME(fill_integer)(struct onpu_kernels *k);
void KERNEL_NAME(fill_matrix)(struct onpu_kernels *k);

#endif
