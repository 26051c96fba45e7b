// SPDX-License-Identifier: MIT
/* Matrix products on tiles: all rows of `a` meet one panel of b's columns after the other, which is read once. */
#include "cpu/tile_product.h"

#include <string.h>

#include "cpu/conv_dense.h"

/* Steps of a panel that stay in the nearest cache. */
#define DEPTH 256

/* [panel][k][columns of the panel] */
void cpu_tile_pack(const struct cpu_simd *simd, int64_t k, int64_t n, const float *from, float *to)
{
	int64_t width;

	for (int64_t column = 0; column < n; column += width) {
		width = cpu_panel_width(simd, n, column);
		for (int64_t i = 0; i < k; i++, to += width)
			memcpy(to, from + i * n + column, (size_t)width * sizeof(*to));
	}
}

void cpu_tile_unpack(const struct cpu_simd *simd, int64_t k, int64_t n, const float *from,
		     float *to)
{
	int64_t width;

	for (int64_t column = 0; column < n; column += width) {
		width = cpu_panel_width(simd, n, column);
		for (int64_t i = 0; i < k; i++, from += width)
			memcpy(to + i * n + column, from, (size_t)width * sizeof(*to));
	}
}

size_t cpu_tile_scratch(int64_t m)
{
	return cpu_round_up((size_t)(m * DEPTH) * sizeof(float));
}

static int64_t depth_of(const struct cpu_tile_product *p, int64_t k0)
{
	return p->k - k0 < DEPTH ? p->k - k0 : DEPTH;
}

/* The steps from k0 on for all rows, whose part of `a` is packed. */
static void multiply_panel(const struct cpu_simd *simd, const struct cpu_tile_product *p,
			   const struct cpu_split *rows, const float *packed, int64_t column,
			   int64_t k0)
{
	int64_t width = cpu_panel_width(simd, p->n, column), depth = depth_of(p, k0);
	int64_t share = depth * width / rows->parts;
	bool last = k0 + depth == p->k;
	struct cpu_tile tile = {
		.depth = depth,
		.b = p->b + column * p->k + k0 * width,
		.ldc = p->n,
		.add = k0 > 0,
		.column_bias = p->bias && last ? p->bias + column : NULL,
		.lo = last ? p->lo : -__builtin_inff(),
		.hi = last ? p->hi : __builtin_inff(),
	};

	for (int64_t i = 0; i < rows->parts; i++) {
		int64_t row = cpu_split_first(rows, i);

		if (column + 2 * width <= p->n)
			cpu_fetch_ahead(tile.b + p->k * width + i * share, share);
		tile.a = packed + row * depth;
		tile.c = p->c + row * p->n + column;
		simd->tile[cpu_split_size(rows, i)][width / simd->lanes](&tile);
	}
}

/* The same steps of some rows. */
static void pack_rows(const struct cpu_simd *simd, const struct cpu_tile_product *p,
		      const struct cpu_split *rows, int64_t strip, int64_t k0, float *packed)
{
	int64_t row = cpu_split_first(rows, strip), size = cpu_split_size(rows, strip);
	int64_t depth = depth_of(p, k0);

	simd->transpose(packed + row * depth, size, p->a + row * p->k + k0, p->k, size, depth);
}

void cpu_tile_multiply(const struct cpu_simd *simd, const struct cpu_tile_product *p,
		       float *scratch)
{
	struct cpu_split rows = cpu_split(p->m, simd->rows);

	for (int64_t k0 = 0; k0 < p->k; k0 += DEPTH) {
		for (int64_t i = 0; i < rows.parts; i++)
			pack_rows(simd, p, &rows, i, k0, scratch);
		for (int64_t column = 0; column < p->n; column += 2 * simd->lanes)
			multiply_panel(simd, p, &rows, scratch, column, k0);
	}
}

int64_t cpu_tile_strips(const struct cpu_simd *simd, const struct cpu_tile_product *p)
{
	return cpu_split(p->m, simd->rows).parts;
}

void cpu_tile_pack_strip(const struct cpu_simd *simd, const struct cpu_tile_product *p,
			 int64_t strip, float *packed)
{
	struct cpu_split rows = cpu_split(p->m, simd->rows);

	for (int64_t k0 = 0; k0 < p->k; k0 += DEPTH)
		pack_rows(simd, p, &rows, strip, k0, packed + k0 * p->m);
}

void cpu_tile_multiply_columns(const struct cpu_simd *simd, const struct cpu_tile_product *p,
			       const float *packed, int64_t begin, int64_t end)
{
	struct cpu_split rows = cpu_split(p->m, simd->rows);

	for (int64_t k0 = 0; k0 < p->k; k0 += DEPTH)
		for (int64_t column = begin; column < end; column += 2 * simd->lanes)
			multiply_panel(simd, p, &rows, packed + k0 * p->m, column, k0);
}
