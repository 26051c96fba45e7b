/* SPDX-License-Identifier: MIT */
/*
 * The vector type of the level that a file is compiled for, in the compiler's own vector extension,
 * and basic operations on it.
 */
#ifndef WNN_CPU_SIMD_VECTOR_H
#define WNN_CPU_SIMD_VECTOR_H

#include <stdint.h>

#if defined(__FMA__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#if defined(__AVX512F__)
#define LANES 16
/* the sums take 28 of 32 registers, columns of B 2 and an element of A 1 */
#define TILE_ROWS      14
#define LEVEL_NAME     "avx512"
#define LEVEL_TABLE(x) cpu_##x##_avx512
#elif defined(__AVX2__)
#define LANES	       8
#define TILE_ROWS      6
#define LEVEL_NAME     "avx2"
#define LEVEL_TABLE(x) cpu_##x##_avx2
#else
#define LANES 4
#if defined(__aarch64__)
#define TILE_ROWS 12
#else
#define TILE_ROWS 4 /* products need registers, as there is no fused multiply-add */
#endif
#define LEVEL_NAME     "base"
#define LEVEL_TABLE(x) cpu_##x##_base
#endif

typedef float vec __attribute__((vector_size(4 * LANES), may_alias));
typedef int32_t ivec __attribute__((vector_size(4 * LANES), may_alias));
/* unsigned, for sums that wrap */
typedef uint32_t uvec __attribute__((vector_size(4 * LANES), may_alias));
/* a vector at any address */
typedef float mem __attribute__((vector_size(4 * LANES), may_alias, aligned(4)));

static inline vec load(const float *p)
{
	return *(const mem *)p;
}

static inline void store(float *p, vec v)
{
	*(mem *)p = v;
}

static inline vec splat(float x)
{
	return x - (vec){ 0 };
}

/*
 * Returns x * y + sum, rounded once where the level can. The compiler by itself fuses
 * multiplications and additions in some loops only, but an element must have equal bits in
 * whichever loop it is computed.
 */
static inline vec multiply_add(vec x, vec y, vec sum)
{
#if defined(__AVX512F__)
	return (vec)_mm512_fmadd_ps((__m512)x, (__m512)y, (__m512)sum);
#elif defined(__FMA__)
	return (vec)_mm256_fmadd_ps((__m256)x, (__m256)y, (__m256)sum);
#elif defined(__aarch64__)
	return (vec)vfmaq_f32((float32x4_t)sum, (float32x4_t)x, (float32x4_t)y);
#else
	return x * y + sum;
#endif
}

static inline vec choose(ivec mask, vec yes, vec no)
{
	return (vec)((mask & (ivec)yes) | (~mask & (ivec)no));
}

/* Returns the elements of a with even index, then those of b. */
static inline vec even(vec a, vec b)
{
#if LANES == 16
	return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28,
				       30);
#elif LANES == 8
	vec halves = __builtin_shufflevector(a, b, 0, 2, 8, 10, 4, 6, 12, 14);

	return __builtin_shufflevector(halves, halves, 0, 1, 4, 5, 2, 3, 6, 7);
#else
	return __builtin_shufflevector(a, b, 0, 2, 4, 6);
#endif
}

/* Returns v, or lo where v is at most that. NaN stays. */
static inline vec at_least(vec v, vec lo)
{
#if defined(__AVX512F__)
	/* Compilers make three instructions of choose(). */
	return (vec)_mm512_mask_mov_ps(
		(__m512)v, _mm512_cmp_ps_mask((__m512)v, (__m512)lo, _CMP_LE_OS), (__m512)lo);
#else
	return choose((ivec)(v <= lo), lo, v);
#endif
}

/* Returns v clamped to lo and hi. NaN stays. */
static inline vec between(vec v, vec lo, vec hi)
{
	v = at_least(v, lo);
#if defined(__AVX512F__)
	return (vec)_mm512_mask_mov_ps(
		(__m512)v, _mm512_cmp_ps_mask((__m512)v, (__m512)hi, _CMP_GE_OS), (__m512)hi);
#else
	return choose((ivec)(v >= hi), hi, v);
#endif
}

/*
 * Returns the larger of each pair of elements, in one instruction where the level has it; of a pair
 * with a NaN, that of y.
 */
static inline vec most_of(vec x, vec y)
{
#if defined(__AVX512F__)
	return (vec)_mm512_max_ps((__m512)x, (__m512)y);
#elif defined(__FMA__)
	return (vec)_mm256_max_ps((__m256)x, (__m256)y);
#else
	return choose((ivec)(x > y), x, y);
#endif
}

/* Rotates a vector: element k of the result is element (k + n) % LANES of v. */
#define ROTATED_INDEX(k, n) (((k) + (n)) % LANES)
#if LANES == 16
#define ROTATED(v, n)                                                                             \
	__builtin_shufflevector(v, v, ROTATED_INDEX(0, n), ROTATED_INDEX(1, n),                   \
				ROTATED_INDEX(2, n), ROTATED_INDEX(3, n), ROTATED_INDEX(4, n),    \
				ROTATED_INDEX(5, n), ROTATED_INDEX(6, n), ROTATED_INDEX(7, n),    \
				ROTATED_INDEX(8, n), ROTATED_INDEX(9, n), ROTATED_INDEX(10, n),   \
				ROTATED_INDEX(11, n), ROTATED_INDEX(12, n), ROTATED_INDEX(13, n), \
				ROTATED_INDEX(14, n), ROTATED_INDEX(15, n))
#elif LANES == 8
#define ROTATED(v, n)                                                                          \
	__builtin_shufflevector(v, v, ROTATED_INDEX(0, n), ROTATED_INDEX(1, n),                \
				ROTATED_INDEX(2, n), ROTATED_INDEX(3, n), ROTATED_INDEX(4, n), \
				ROTATED_INDEX(5, n), ROTATED_INDEX(6, n), ROTATED_INDEX(7, n))
#else
#define ROTATED(v, n)                                                           \
	__builtin_shufflevector(v, v, ROTATED_INDEX(0, n), ROTATED_INDEX(1, n), \
				ROTATED_INDEX(2, n), ROTATED_INDEX(3, n))
#endif

/* Returns the largest element; when an element is NaN, the result may be another element. */
static inline float most_in(vec v)
{
#if LANES == 16
	v = most_of(v, ROTATED(v, 8));
#endif
#if LANES >= 8
	v = most_of(v, ROTATED(v, 4));
#endif
	v = most_of(v, ROTATED(v, 2));
	v = most_of(v, ROTATED(v, 1));
	return v[0];
}

/* Returns the larger of each pair of elements; NaN in either stays NaN. */
static inline vec larger(vec y, vec x)
{
#if defined(__FMA__)
	return choose((ivec)(y != y), y, most_of(y, x));
#else
	return choose((ivec)(y > x) | (ivec)(y != y), y, x);
#endif
}

#endif
