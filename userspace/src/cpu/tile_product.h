/* SPDX-License-Identifier: MIT */
/*
 * c[m][n] = a[m][k] * b[k][n] on the tiles of the vector units (cpu/simd.h), with b packed once. n
 * is a multiple of simd->lanes, and all rows are contiguous.
 */
#ifndef WNN_CPU_TILE_PRODUCT_H
#define WNN_CPU_TILE_PRODUCT_H

#include "cpu/simd.h"

/* Columns of the panel that begins at a column: two vectors, or one where no more are left. */
static inline int64_t cpu_panel_width(const struct cpu_simd *simd, int64_t n, int64_t column)
{
	return n - column > simd->lanes ? 2 * simd->lanes : simd->lanes;
}

/* A share of the steps that come next: packed matrices are read once, mostly from memory. */
static inline void cpu_fetch_ahead(const float *next, int64_t floats)
{
	for (int64_t i = 0; i < floats; i += 64 / (int64_t)sizeof(float))
		__builtin_prefetch(next + i);
}

/* Pieces of the work for each thread, so that one that is held up leaves its own to others. */
#define CPU_PIECES 4

/*
 * Returns the panels of an item with which no thread has more than it must; among such items the
 * largest.
 */
int64_t cpu_tile_share(int64_t panels, unsigned int threads);

struct cpu_tile_product {
	int64_t m, k, n;
	const float *a, *b; /* b: packed */
	float *c;
	const float *bias; /* one a column, or NULL */
	float lo, hi;	   /* as in cpu/simd.h */
};

/* A packed b has as many floats as before. */
void cpu_tile_pack(const struct cpu_simd *simd, int64_t k, int64_t n, const float *from, float *to);
void cpu_tile_unpack(const struct cpu_simd *simd, int64_t k, int64_t n, const float *from,
		     float *to);
/* Bytes of scratch memory for a product of at most m rows. */
size_t cpu_tile_scratch(int64_t m);
void cpu_tile_multiply(const struct cpu_simd *simd, const struct cpu_tile_product *p,
		       float *scratch);

/*
 * cpu_tile_multiply() in items that threads can share, with equal bits: first each strip of rows is
 * packed, if any is, into as many floats as a has for all of them, then items of some columns each,
 * which begin at a panel.
 */
int64_t cpu_tile_strips(const struct cpu_simd *simd, const struct cpu_tile_product *p);
void cpu_tile_pack_strip(const struct cpu_simd *simd, const struct cpu_tile_product *p,
			 int64_t strip, float *packed);
void cpu_tile_multiply_columns(const struct cpu_simd *simd, const struct cpu_tile_product *p,
			       const float *packed, int64_t begin, int64_t end);

#endif
