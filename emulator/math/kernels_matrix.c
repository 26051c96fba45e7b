// SPDX-License-Identifier: MIT
/*
 * Register-blocked inner loops of the matrix unit; see kernels.h. Built once per SIMD level.
 *
 * A tile keeps its accumulators in registers over the whole contraction, or over each partial sum
 * of it: taps, then k ascending, one fused multiply-add each, so that the order per element is the
 * architecture's whatever the tile's shape.
 */
#include <stdbool.h>
#include <string.h>

#include "math/kernels_level.h"

#if defined(__AVX512F__) && !defined(KERNEL_PLAIN)
#include <immintrin.h>
#define TILE_ROWS 8
#define VECTORS	  3
#define VECTOR	  16
typedef __m512 vec_f32;
typedef __m512i vec_i32;
#define f32_load(p)	 _mm512_loadu_ps(p)
#define f32_store(p, x)	 _mm512_storeu_ps(p, x)
#define f32_splat(x)	 _mm512_set1_ps(x)
#define f32_mac(a, b, c) _mm512_fmadd_ps(a, b, c)
#define f32_add(a, b)	 _mm512_add_ps(a, b)
#define f32_canonical(x)                                              \
	_mm512_mask_mov_ps(x, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), \
			   _mm512_set1_ps(__builtin_nanf("")))
#define i32_load(p)	 _mm512_loadu_si512(p)
#define i32_store(p, x)	 _mm512_storeu_si512(p, x)
#define i32_splat(x)	 _mm512_set1_epi32(x)
#define i32_mac(a, b, c) _mm512_add_epi32(_mm512_mullo_epi32(a, b), c)
#elif defined(__AVX2__) && defined(__FMA__) && !defined(KERNEL_PLAIN)
#include <immintrin.h>
#define TILE_ROWS	6
#define VECTORS		2
#define VECTOR		8
typedef __m256 vec_f32;
typedef __m256i vec_i32;
#define f32_load(p)	_mm256_loadu_ps(p)
#define f32_store(p, x) _mm256_storeu_ps(p, x)
#define f32_splat(x)	_mm256_set1_ps(x)
#define f32_add(a, b)	_mm256_add_ps(a, b)
#define f32_canonical(x) \
	_mm256_blendv_ps(x, _mm256_set1_ps(__builtin_nanf("")), _mm256_cmp_ps(x, x, _CMP_UNORD_Q))
#define i32_load(p)	 _mm256_loadu_si256((const __m256i *)(p))
#define i32_store(p, x)	 _mm256_storeu_si256((__m256i *)(p), x)
#define i32_splat(x)	 _mm256_set1_epi32(x)
#define i32_mac(a, b, c) _mm256_add_epi32(_mm256_mullo_epi32(a, b), c)

/*
 * Returns a * b + c, rounded once, with the accumulator @c in its register. This is assembly
 * because in an unrolled loop GCC turns the intrinsic into other instructions, too, and moves
 * accumulators to other registers and to the stack, although all fit.
 */
static inline __attribute__((always_inline)) vec_f32 f32_mac(vec_f32 a, vec_f32 b, vec_f32 c)
{
	__asm__("vfmadd231ps %2, %1, %0" : "+x"(c) : "x"(a), "x"(b));
	return c;
}
#else
/* Without SIMD, compute one column at a time, as the instruction set defines it. */
#define TILE_ROWS	 4
#define VECTORS		 1
#define VECTOR		 1
typedef float vec_f32;
typedef uint32_t vec_i32;
#define f32_load(p)	 (*(p))
#define f32_store(p, x)	 (*(p) = (x))
#define f32_splat(x)	 (x)
#define f32_mac(a, b, c) __builtin_fmaf(a, b, c)
#define f32_add(a, b)	 ((a) + (b))
#define f32_canonical(x) ((x) != (x) ? __builtin_nanf("") : (x))
#define i32_load(p)	 ((uint32_t)*(p))
#define i32_store(p, x)	 (*(p) = (int32_t)(x))
#define i32_splat(x)	 ((uint32_t)(x))
#define i32_mac(a, b, c) ((a) * (b) + (c))
#endif

/* One value of k, at the byte positions @col and @at: adds its products to acc[][]. */
#define DEFINE_STEP(type, element)                                                     \
	static inline __attribute__((always_inline)) void step_##type(                 \
		const char *col, const char *const *row, int64_t at,                   \
		vec_##type acc[TILE_ROWS][VECTORS], const int rows, const int vectors) \
	{                                                                              \
		vec_##type b[VECTORS];                                                 \
                                                                                       \
		for (int v = 0; v < vectors; v++)                                      \
			b[v] = type##_load((const element *)col + v * VECTOR);         \
		for (int r = 0; r < rows; r++) {                                       \
			vec_##type a = type##_splat(*(const element *)(row[r] + at));  \
                                                                                       \
			for (int v = 0; v < vectors; v++)                              \
				acc[r][v] = type##_mac(a, b[v], acc[r][v]);            \
		}                                                                      \
	}

DEFINE_STEP(f32, float)
DEFINE_STEP(i32, int32_t)

/*
 * Adds the `count` products of one tap, from `first` on, to acc[][]. With constant steps, which
 * almost all tiles have, four values of k share their address computations and their jump.
 */
#define DEFINE_CHAIN(type)                                                                   \
	static inline __attribute__((always_inline)) void chain_##type(                      \
		const struct mma_tile *t, uint32_t tap, uint32_t first, uint32_t count,      \
		vec_##type acc[TILE_ROWS][VECTORS], const int rows, const int vectors,       \
		const int64_t row_step, const int64_t col_step)                              \
	{                                                                                    \
		const bool constant = __builtin_constant_p(row_step);                        \
		const char *col = t->col + t->col_tap[tap] + first * col_step;               \
		int64_t at = t->row_tap[tap] + first * row_step;                             \
		const char *row[TILE_ROWS];                                                  \
		uint32_t k = 0;                                                              \
                                                                                             \
		for (int r = 0; r < rows; r++)                                               \
			row[r] = t->row[r];                                                  \
		for (; constant && k + 4 <= count; k += 4) {                                 \
			step_##type(col, row, at, acc, rows, vectors);                       \
			step_##type(col + col_step, row, at + row_step, acc, rows, vectors); \
			step_##type(col + 2 * col_step, row, at + 2 * row_step, acc, rows,   \
				    vectors);                                                \
			step_##type(col + 3 * col_step, row, at + 3 * row_step, acc, rows,   \
				    vectors);                                                \
			col += 4 * col_step;                                                 \
			at += 4 * row_step;                                                  \
		}                                                                            \
		for (; k < count; k++, col += col_step, at += row_step)                      \
			step_##type(col, row, at, acc, rows, vectors);                       \
	}

DEFINE_CHAIN(f32)
DEFINE_CHAIN(i32)

#define DEFINE_TILE(type, element)                                                                 \
	static inline __attribute__((always_inline)) void steps_##type(                            \
		const struct mma_tile *t, const int rows, const int vectors, int64_t row_step,     \
		int64_t col_step)                                                                  \
	{                                                                                          \
		vec_##type acc[TILE_ROWS][VECTORS];                                                \
		element *out = t->acc;                                                             \
                                                                                                   \
		for (int r = 0; r < rows; r++)                                                     \
			for (int v = 0; v < vectors; v++)                                          \
				acc[r][v] = t->fresh ?                                             \
						    type##_splat(0) :                              \
						    type##_load(out + (r * vectors + v) * VECTOR); \
		for (uint32_t tap = 0; tap < t->taps; tap++)                                       \
			chain_##type(t, tap, 0, t->depth, acc, rows, vectors, row_step, col_step); \
		for (int r = 0; r < rows; r++)                                                     \
			for (int v = 0; v < vectors; v++)                                          \
				type##_store(out + (r * vectors + v) * VECTOR, acc[r][v]);         \
	}

DEFINE_TILE(f32, float)
DEFINE_TILE(i32, int32_t)

/*
 * Computes a tile whose depth is divided into partial sums: each starts with 0 and is added to the
 * accumulator at its end.
 */
static inline __attribute__((always_inline)) void steps_partial(const struct mma_tile *t,
								const int rows, const int vectors,
								int64_t row_step, int64_t col_step)
{
	vec_f32 acc[TILE_ROWS][VECTORS];
	float *out = t->acc;

	for (int i = 0; t->fresh && i < rows * vectors; i++)
		f32_store(out + i * VECTOR, f32_splat(0));
	for (uint32_t tap = 0; tap < t->taps; tap++) {
		for (uint32_t first = 0; first < t->depth; first += t->piece) {
			uint32_t left = t->depth - first;

			out = t->acc;
			for (int r = 0; r < rows; r++)
				for (int v = 0; v < vectors; v++)
					acc[r][v] = f32_splat(0);
			chain_f32(t, tap, first, left < t->piece ? left : t->piece, acc, rows,
				  vectors, row_step, col_step);
			for (int r = 0; r < rows; r++)
				for (int v = 0; v < vectors; v++, out += VECTOR)
					f32_store(out, f32_add(f32_load(out), acc[r][v]));
		}
	}
}

/* Dense rows and packed columns have constant steps. */
#define DEFINE_SIZE(type, rows, vectors)                                              \
	static void type##_##rows##x##vectors(const struct mma_tile *t)               \
	{                                                                             \
		const int64_t row_step = sizeof(float);                               \
		const int64_t col_step = (int64_t)sizeof(float) * (vectors) * VECTOR; \
                                                                                      \
		if (t->k_stride == row_step && t->col_k_stride == col_step)           \
			steps_##type(t, rows, vectors, row_step, col_step);           \
		else                                                                  \
			steps_##type(t, rows, vectors, t->k_stride, t->col_k_stride); \
	}

#define DEFINE_ROWS(rows, vectors)      \
	DEFINE_SIZE(f32, rows, vectors) \
	DEFINE_SIZE(i32, rows, vectors) \
	DEFINE_SIZE(partial, rows, vectors)

/* For each number of rows, use the smallest kernel that computes at least this many rows. */
#if TILE_ROWS == 8
#define DEFINE_VECTORS(v) DEFINE_ROWS(1, v) DEFINE_ROWS(2, v) DEFINE_ROWS(4, v) DEFINE_ROWS(8, v)
#define USE(type, k, v)                                                       \
	do {                                                                  \
		(k)->mma_##type[1][v] = type##_1x##v;                         \
		(k)->mma_##type[2][v] = type##_2x##v;                         \
		(k)->mma_##type[3][v] = (k)->mma_##type[4][v] = type##_4x##v; \
		for (int r = 5; r <= 8; r++)                                  \
			(k)->mma_##type[r][v] = type##_8x##v;                 \
	} while (0)
#elif TILE_ROWS == 6
#define DEFINE_VECTORS(v) DEFINE_ROWS(1, v) DEFINE_ROWS(2, v) DEFINE_ROWS(4, v) DEFINE_ROWS(6, v)
#define USE(type, k, v)                                                       \
	do {                                                                  \
		(k)->mma_##type[1][v] = type##_1x##v;                         \
		(k)->mma_##type[2][v] = type##_2x##v;                         \
		(k)->mma_##type[3][v] = (k)->mma_##type[4][v] = type##_4x##v; \
		(k)->mma_##type[5][v] = (k)->mma_##type[6][v] = type##_6x##v; \
	} while (0)
#else
#define DEFINE_VECTORS(v) DEFINE_ROWS(1, v) DEFINE_ROWS(4, v)
#define USE(type, k, v)                                       \
	do {                                                  \
		(k)->mma_##type[1][v] = type##_1x##v;         \
		for (int r = 2; r <= 4; r++)                  \
			(k)->mma_##type[r][v] = type##_4x##v; \
	} while (0)
#endif

DEFINE_VECTORS(1)
#if VECTORS >= 2
DEFINE_VECTORS(2)
#endif
#if VECTORS >= 3
DEFINE_VECTORS(3)
#endif

static void pack(float *dst, const char *src, int64_t stride, uint32_t columns, size_t n)
{
	uint32_t whole = columns / VECTOR * VECTOR;

	for (size_t k = 0; k < n; k++, src += stride) {
		const float *in = (const float *)src;
		uint32_t j = 0;

		for (; j < whole; j += VECTOR)
			f32_store(dst + j, f32_load(in + j));
		if (j < columns) {
			for (; j < columns; j++)
				dst[j] = in[j];
			for (; j < whole + VECTOR; j++)
				dst[j] = 0;
		}
		dst += j;
	}
}

static void store(char *dst, const int64_t *row, const float *src, uint32_t rows, uint32_t columns)
{
	uint32_t whole = columns / VECTOR * VECTOR;

	for (uint32_t r = 0; r < rows; r++) {
		float *out = (float *)(dst + row[r]);
		uint32_t j = 0;

		for (; j < whole; j += VECTOR) {
			vec_f32 x = f32_load(src + j);

			f32_store(out + j, f32_canonical(x));
		}
		if (j < columns) {
			for (; j < columns; j++)
				out[j] = src[j] != src[j] ? __builtin_nanf("") : src[j];
			j = whole + VECTOR;
		}
		src += j;
	}
}

void KERNEL_NAME(fill_matrix)(struct onpu_kernels *k)
{
	k->mma_rows = TILE_ROWS;
	k->mma_vector = VECTOR;
	k->mma_vectors = VECTORS;
	k->mma_pack = pack;
	k->mma_store = store;
	USE(f32, k, 1);
	USE(i32, k, 1);
	USE(partial, k, 1);
#if VECTORS >= 2
	USE(f32, k, 2);
	USE(i32, k, 2);
	USE(partial, k, 2);
#endif
#if VECTORS >= 3
	USE(f32, k, 3);
	USE(i32, k, 3);
	USE(partial, k, 3);
#endif
}
