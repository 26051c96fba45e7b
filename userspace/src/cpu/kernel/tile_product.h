/* SPDX-License-Identifier: MIT */
/*
 * Computes c[m][n] = a[m][k] * b[k][n] on our own tiles (cpu/simd/simd.h), with b packed once. n is
 * a multiple of simd->lanes, and the rows of a are contiguous.
 */
#ifndef WNN_CPU_TILE_PRODUCT_H
#define WNN_CPU_TILE_PRODUCT_H

#include "cpu/simd/simd.h"

/* Returns the columns of the panel that begins at a column: two vectors, or one at the end. */
static inline int64_t cpu_panel_width(const struct cpu_simd *simd, int64_t n, int64_t column)
{
	return n - column > simd->lanes ? 2 * simd->lanes : simd->lanes;
}

/*
 * Prefetches floats of a packed matrix that are read next: it is read once, mostly from memory.
 */
static inline void cpu_fetch_ahead(const float *next, int64_t floats)
{
	for (int64_t i = 0; i < floats; i += 64 / (int64_t)sizeof(float))
		__builtin_prefetch(next + i);
}

/*
 * Items of work per thread: several, so that other threads can take items of a thread that is held
 * up.
 */
#define CPU_ITEMS 4

/*
 * Returns the number of panels of an item, with which each thread has about CPU_ITEMS items or
 * more, for which the busiest thread has the fewest panels; the largest such number.
 */
int64_t cpu_tile_share(int64_t panels, unsigned int threads);

struct cpu_tile_product {
	int64_t m, k, n;
	const float *a, *b; /* b: packed */
	float *c;
	int64_t ldc;	     /* floats from one row of c to the next */
	const float *bias;   /* one number per column, or NULL */
	const float *addend; /* with rows like those of c, added after the bias; NULL: none */
	float lo, hi;	     /* limits of results, see struct cpu_tile */
};

/* Pack b and unpack it. Both forms have the same number of floats. */
void cpu_tile_pack(const struct cpu_simd *simd, int64_t k, int64_t n, const float *from, float *to);
void cpu_tile_unpack(const struct cpu_simd *simd, int64_t k, int64_t n, const float *from,
		     float *to);
/* Returns the bytes of scratch memory for a product of at most m rows. */
size_t cpu_tile_scratch(int64_t m);
void cpu_tile_multiply(const struct cpu_simd *simd, const struct cpu_tile_product *p,
		       float *scratch);

/*
 * Compute a product like cpu_tile_multiply(), with equal bits, in items that threads can share.
 * cpu_tile_strips() returns how many strips of rows there are, which may be 0. The caller packs
 * each of them by cpu_tile_pack_strip() into one buffer of as many floats as a has. After that
 * cpu_tile_multiply_columns() computes columns [begin, end), where `begin` is the start of a panel.
 */
int64_t cpu_tile_strips(const struct cpu_simd *simd, const struct cpu_tile_product *p);
void cpu_tile_pack_strip(const struct cpu_simd *simd, const struct cpu_tile_product *p,
			 int64_t strip, float *packed);
void cpu_tile_multiply_columns(const struct cpu_simd *simd, const struct cpu_tile_product *p,
			       const float *packed, int64_t begin, int64_t end);

#endif
