/* SPDX-License-Identifier: MIT */
/*
 * c[m][n] = a[m][k] * b[k][n] on the tiles of the vector units (cpu/simd.h), with b packed once. n is a multiple of
 * simd->lanes, and all rows lie one behind the other.
 */
#ifndef WNN_CPU_TILE_PRODUCT_H
#define WNN_CPU_TILE_PRODUCT_H

#include "cpu/simd.h"

struct cpu_tile_product {
	int64_t m, k, n;
	const float *a, *b; /* b: packed */
	float *c;
};

/* A packed b has as many floats as before. */
void cpu_tile_pack(const struct cpu_simd *simd, int64_t k, int64_t n, const float *from, float *to);
void cpu_tile_unpack(const struct cpu_simd *simd, int64_t k, int64_t n, const float *from,
		     float *to);
/* Bytes of scratch memory for a product of at most m rows. */
size_t cpu_tile_scratch(int64_t m);
void cpu_tile_multiply(const struct cpu_simd *simd, const struct cpu_tile_product *p,
		       float *scratch);

#endif
