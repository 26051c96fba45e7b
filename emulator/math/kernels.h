/* SPDX-License-Identifier: MIT */
/*
 * Inner loops of the device model, built once per SIMD level.
 *
 * Each level compiles kernels_*.c with other compiler flags (see meson.build); the computation of
 * one element is written once, so every level gives the same bits. All loops work on float32 or on
 * 64-bit integers: narrower types are converted by loads and stores. Kernels with a float result
 * store canonical NaNs, except loads, accumulations and the tiles of a matrix product.
 */
#ifndef ONPU_MATH_KERNELS_H
#define ONPU_MATH_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "math/functions.h"
#include "onpu/slots.h"

/* The most elements of one call of an elementwise kernel. */
#define KERNEL_CHUNK 512
/* Upper bounds of the register tile of the matrix kernels, over all levels. */
#define MMA_MAX_ROWS 8
#define MMA_MAX_COLS 48

enum kernel_unary {
	UN_ABS,
	UN_NEG,
	UN_SIGN,
	UN_CEIL,
	UN_FLOOR,
	UN_ROUNDEVEN,
	UN_LEAKYRELU,
	UN_HARDSIGMOID,
	UN_HARDSWISH,
	UN_RELU,
	UN_CLAMP,
	UN_LINEAR,
	UN_COUNT
};

enum kernel_binary {
	BIN_ADD,
	BIN_SUB,
	BIN_MUL,
	BIN_DIV,
	BIN_MAX,
	BIN_MIN,
	BIN_PRELU,
	BIN_POW,
	BIN_COUNT
};

enum kernel_compare { CMP_EQ, CMP_NE, CMP_GT, CMP_GE, CMP_LT, CMP_LE, CMP_COUNT };

enum kernel_reduce { RED_SUM, RED_PROD, RED_MAX, RED_MIN, RED_SUMABS, RED_SUMSQ, RED_COUNT };

/* Sizes of elements, for copies that are strided on both sides. */
enum kernel_size { SIZE_1, SIZE_2, SIZE_4, SIZE_8, SIZE_COUNT };

/* Properties of an integer type for the 64-bit kernels. */
struct kernel_int {
	unsigned int bits;
	int is_unsigned;
	int64_t min, max; /* the range; for u64 these are 0 and all ones */
};

/*
 * One call of a matrix kernel: a tile of as many rows and vectors of columns as the kernel is
 * made for.
 */
struct mma_tile {
	const char *const *row; /* address of each row's element at k = 0 without tap */
	int64_t k_stride;	/* bytes from k to k + 1 in a row */
	const int64_t *row_tap; /* byte offset of each tap in the rows */
	const char *col;	/* vectors of columns: address at k = 0 without tap */
	int64_t col_k_stride;	/* bytes from k to k + 1 */
	const int64_t *col_tap;
	uint32_t taps, depth; /* contraction: taps, then k below depth */
	uint32_t piece;	      /* for mma_partial: values of k in a partial sum */
	void *acc;	      /* accumulators: [rows][vectors of the kernel][columns of a vector] */
	bool fresh;	      /* accumulators start with 0, whatever is in acc */
};

typedef void (*kernel_load_f32)(float *dst, const char *src, int64_t stride, size_t n);
typedef void (*kernel_store_f32)(char *dst, int64_t stride, const float *src, size_t n);
typedef void (*kernel_load_s64)(int64_t *dst, const char *src, int64_t stride, size_t n);
typedef void (*kernel_store_s64)(char *dst, int64_t stride, const int64_t *src, size_t n);
typedef void (*kernel_copy)(char *dst, int64_t dst_stride, const char *src, int64_t src_stride,
			    size_t n);
typedef void (*kernel_mma)(const struct mma_tile *tile);

struct onpu_kernels {
	/* Floats: indexed by dtype - ONPU_DT_F16, so f16, bf16, f32. */
	kernel_load_f32 load_f32[3];
	kernel_store_f32 store_f32[3];
	/* Integers: indexed by dtype, i8..u64. */
	kernel_load_s64 load_s64[8];
	/* Indexed by enum kernel_size: stores the low bits. */
	kernel_store_s64 store_s64[SIZE_COUNT];
	kernel_copy copy[SIZE_COUNT];
	/* dst[i] = c[i] ? a[i] : b[i], dense arrays of raw elements. */
	void (*select[SIZE_COUNT])(void *dst, const uint8_t *c, const void *a, const void *b,
				   size_t n);

	onpu_fn_array unary[UN_COUNT];
	onpu_fn_array2 binary[BIN_COUNT];
	void (*fma)(float *dst, const float *a, const float *b, const float *c, size_t n);
	void (*compare[CMP_COUNT])(uint8_t *dst, const float *a, const float *b, size_t n);
	void (*isnan)(uint8_t *dst, const float *a, size_t n);
	void (*isinf)(uint8_t *dst, const float *a, size_t n);

	/* acc[i] = op(acc[i], x[i]); NaNs are not made canonical, which the last store does. */
	void (*accumulate[RED_COUNT])(float *acc, const float *x, size_t n);
	/* lane[i % ONPU_REDUCE_LANES] = op(that lane, x[i]) for a dense x. */
	void (*lanes[RED_COUNT])(float *lane, const float *x, size_t n);
	void (*mac)(float *acc, const float *x, const float *f, size_t n);
	void (*canonical)(float *x, size_t n);
	void (*lerp)(float *dst, const float *a, const float *b, const float *f, size_t n);

	void (*s64_unary[UN_COUNT])(int64_t *dst, const int64_t *a, size_t n,
				    const struct kernel_int *type, int64_t alpha, int64_t beta);
	void (*s64_binary[BIN_COUNT])(int64_t *dst, const int64_t *a, const int64_t *b, size_t n,
				      const struct kernel_int *type);
	void (*s64_fma)(int64_t *dst, const int64_t *a, const int64_t *b, const int64_t *c,
			size_t n);
	void (*s64_accumulate[RED_COUNT])(int64_t *acc, const int64_t *x, size_t n,
					  const struct kernel_int *type);
	void (*s64_lanes[RED_COUNT])(int64_t *lane, const int64_t *x, size_t n,
				     const struct kernel_int *type);
	void (*s64_compare[CMP_COUNT])(uint8_t *dst, const int64_t *a, const int64_t *b, size_t n,
				       int is_unsigned);

	/* Conversion to integers truncates and saturates; NaN becomes 0. */
	void (*f32_to_s64)(int64_t *dst, const float *a, size_t n, const struct kernel_int *type);
	void (*s64_to_f32)(float *dst, const int64_t *a, size_t n, int is_unsigned);
	/* saturate(roundEven(a / s) + z) and saturate(roundEven(f32(a) * s) + z) */
	void (*quant)(int64_t *dst, const float *a, const float *s, const int64_t *z, size_t n,
		      const struct kernel_int *type);
	void (*requant)(int64_t *dst, const int64_t *a, const float *s, const int64_t *z, size_t n,
			const struct kernel_int *type);
	void (*dequant)(float *dst, const int64_t *a, const float *s, const int64_t *z, size_t n);

	/*
	 * Matrix kernels, indexed by rows 1..mma_rows and vectors of columns 1..mma_vectors. A
	 * kernel may compute more rows than asked for: row[] and acc always have room for mma_rows.
	 */
	unsigned int mma_rows;	  /* rows of a full tile */
	unsigned int mma_vector;  /* columns in a vector */
	unsigned int mma_vectors; /* vectors in a full tile, at most 3 */
	kernel_mma mma_f32[MMA_MAX_ROWS + 1][4];
	kernel_mma mma_i32[MMA_MAX_ROWS + 1][4];
	kernel_mma mma_partial[MMA_MAX_ROWS + 1][4];
	/*
	 * Packs dense float32 columns of @n values of k, @stride bytes apart, into a panel: whole
	 * vectors, with zeros after the last column.
	 */
	void (*mma_pack)(float *dst, const char *src, int64_t stride, uint32_t columns, size_t n);
	/*
	 * Stores the accumulators of a tile as dense float32 rows at @dst + @row[], with canonical
	 * NaNs.
	 */
	void (*mma_store)(char *dst, const int64_t *row, const float *acc, uint32_t rows,
			  uint32_t columns);
};

/* Fills in the kernels of a level, which the host must support. */
void onpu_kernels_fill(enum onpu_simd level, struct onpu_kernels *k);

#endif
