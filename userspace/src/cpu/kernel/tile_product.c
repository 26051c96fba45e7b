// SPDX-License-Identifier: MIT
/*
 * Matrix products on tiles: all rows of `a` are multiplied with one panel of columns of `b` after
 * the other, so that b is read once.
 */
#include "cpu/kernel/tile_product.h"

#include <string.h>

#include "cpu/kernel/conv_dense.h"
#include "util/number.h"
#include "cpu/tuning.h"

/* Steps of a panel that stay in the first-level cache. */
#define DEPTH 256
/* Floats of packed rows that stay in the second-level cache, next to a panel. */
#define NEAR (96 * 1024)
/*
 * The most floats of a matrix that stays in the second-level cache. A strip of rows is then
 * multiplied with all columns before the next one, so that whole rows of results are written.
 */
#define NEAR_MATRIX (64 * 1024)
/* Packs b to [panel][k][columns of the panel]. */
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

/*
 * Returns the number of steps for which the rows are packed at a time. All panels are multiplied
 * with these steps before the next steps are packed; in between, c is written and read again.
 */
static int64_t steps_of(int64_t m)
{
	int64_t steps = NEAR / m / DEPTH * DEPTH;

	return steps > DEPTH ? steps : DEPTH;
}

static bool is_direct(const struct cpu_simd *simd, const struct cpu_tile_product *p)
{
	return p->k * p->n <= cpu_tuning_of(simd)->max_direct;
}

size_t cpu_tile_scratch(int64_t m)
{
	return cpu_round_up((size_t)(m * DEPTH > NEAR ? m * DEPTH : NEAR) * sizeof(float));
}

static int64_t depth_of(const struct cpu_tile_product *p, int64_t k0)
{
	return p->k - k0 < DEPTH ? p->k - k0 : DEPTH;
}

struct steps {
	const float *packed;
	int64_t begin, end;
};

static struct steps steps_from(const struct cpu_tile_product *p, const float *packed, int64_t begin)
{
	int64_t most = steps_of(p->m), rest = p->k - begin;

	return (struct steps){ packed, begin, begin + (rest < most ? rest : most) };
}

/* Returns the addends of the results at c, a place in p->c; NULL: there are none. */
static const float *addend_of(const struct cpu_tile_product *p, const float *c)
{
	return p->addend ? p->addend + (c - p->c) : NULL;
}

/*
 * Makes the tile of strip i of `parts` prefetch its share of the floats from `next` on, some with
 * each of its steps: many at a time would hold up the loads of the tile. When there are few strips,
 * their shares are large, and reading them takes the time in any case: large shares, and all shares
 * at levels with shorter vectors, are prefetched at once.
 */
static void fetch_with(const struct cpu_simd *simd, struct cpu_tile *tile, const float *next,
		       int64_t floats, int64_t i, int64_t parts)
{
	int64_t share = floats / parts;

	next += i * share;
	tile->next = next;
	tile->ahead = (share * CPU_TILE_STEPS + tile->depth - 1) / tile->depth;
	if (simd->lanes < CPU_MAX_LANES || tile->ahead > CPU_TILE_AHEAD) {
		cpu_fetch_ahead(next, share);
		tile->next = NULL;
		tile->ahead = 0;
	}
}

/*
 * Multiplies strip i of the rows, unpacked, with the panel that begins at a column. @fetch: whether
 * to prefetch a share of the next panel, which must be as wide as this one.
 */
static void multiply_tile(const struct cpu_simd *simd, const struct cpu_tile_product *p,
			  const struct cpu_split *rows, int64_t i, int64_t column, bool fetch)
{
	int64_t row = cpu_split_first(rows, i), width = cpu_panel_width(simd, p->n, column);
	float *c = p->c + row * p->ldc + column;
	struct cpu_tile tile = {
		.depth = p->k,
		.a = p->a + row * p->k,
		.lda = p->k,
		.b = p->b + column * p->k,
		.c = c,
		.ldc = p->ldc,
		.column_bias = p->bias ? p->bias + column : NULL,
		.addend = addend_of(p, c),
		.lo = p->lo,
		.hi = p->hi,
	};

	if (fetch)
		fetch_with(simd, &tile, tile.b + width * p->k, p->k * width, i, rows->parts);
	simd->tile[cpu_split_size(rows, i)][width / simd->lanes](&tile);
}

/* Multiplies all rows, unpacked, with the columns begin to end - 1, which begin at a panel. */
static void multiply_direct(const struct cpu_simd *simd, const struct cpu_tile_product *p,
			    int64_t begin, int64_t end)
{
	struct cpu_split rows = cpu_split(p->m, simd->rows);
	int64_t panel = 2 * simd->lanes, width;

	if (p->k * p->n <= NEAR_MATRIX) {
		for (int64_t i = 0; i < rows.parts; i++)
			for (int64_t column = begin; column < end; column += panel)
				multiply_tile(simd, p, &rows, i, column, false);
		return;
	}
	for (int64_t column = begin; column < end; column += width) {
		width = cpu_panel_width(simd, p->n, column);
		for (int64_t i = 0; i < rows.parts; i++)
			multiply_tile(simd, p, &rows, i, column, column + 2 * width <= p->n);
	}
}

/*
 * Multiplies all rows with some steps of a panel: from k0 on, as many as stay in the first-level
 * cache.
 */
static void multiply_panel(const struct cpu_simd *simd, const struct cpu_tile_product *p,
			   const struct cpu_split *rows, const struct steps *steps, int64_t column,
			   int64_t k0)
{
	int64_t width = cpu_panel_width(simd, p->n, column), depth = depth_of(p, k0);
	const float *packed = steps->packed + (k0 - steps->begin) * p->m;
	bool last = k0 + depth == p->k, ends = k0 + depth == steps->end;
	/* distance to the part of b that is read next, for prefetching */
	int64_t next = ends ? p->k - k0 + steps->begin : depth;
	struct cpu_tile tile = {
		.depth = depth,
		.b = p->b + column * p->k + k0 * width,
		.ldc = p->ldc,
		.add = k0 > 0,
		.column_bias = p->bias && last ? p->bias + column : NULL,
		.lo = last ? p->lo : -__builtin_inff(),
		.hi = last ? p->hi : __builtin_inff(),
	};

	for (int64_t i = 0; i < rows->parts; i++) {
		int64_t row = cpu_split_first(rows, i);

		if (!ends || column + 2 * width <= p->n)
			fetch_with(simd, &tile, tile.b + next * width, depth * width, i,
				   rows->parts);
		tile.a = packed + row * depth;
		tile.c = p->c + row * p->ldc + column;
		tile.addend = last ? addend_of(p, tile.c) : NULL;
		simd->tile[cpu_split_size(rows, i)][width / simd->lanes](&tile);
	}
}

static void pack_rows(const struct cpu_simd *simd, const struct cpu_tile_product *p,
		      const struct cpu_split *rows, int64_t strip, int64_t k0, float *packed)
{
	int64_t row = cpu_split_first(rows, strip), size = cpu_split_size(rows, strip);
	int64_t depth = depth_of(p, k0);

	simd->transpose(packed + row * depth, size, p->a + row * p->k + k0, p->k, size, depth);
}

static void multiply_steps(const struct cpu_simd *simd, const struct cpu_tile_product *p,
			   const struct cpu_split *rows, const struct steps *steps, int64_t begin,
			   int64_t end)
{
	for (int64_t column = begin; column < end; column += 2 * simd->lanes)
		for (int64_t k0 = steps->begin; k0 < steps->end; k0 += DEPTH)
			multiply_panel(simd, p, rows, steps, column, k0);
}

void cpu_tile_multiply(const struct cpu_simd *simd, const struct cpu_tile_product *p,
		       float *scratch)
{
	struct cpu_split rows = cpu_split(p->m, simd->rows);

	if (is_direct(simd, p)) {
		multiply_direct(simd, p, 0, p->n);
		return;
	}
	for (int64_t begin = 0; begin < p->k; begin += steps_of(p->m)) {
		struct steps steps = steps_from(p, scratch, begin);

		for (int64_t k0 = begin; k0 < steps.end; k0 += DEPTH)
			for (int64_t i = 0; i < rows.parts; i++)
				pack_rows(simd, p, &rows, i, k0, scratch + (k0 - begin) * p->m);
		multiply_steps(simd, p, &rows, &steps, 0, p->n);
	}
}

int64_t cpu_tile_share(int64_t panels, unsigned int threads)
{
	uint64_t best = 1, least = UINT64_MAX;

	for (uint64_t size = wnn_div_up((uint64_t)panels, CPU_ITEMS * threads); size > 0; size--) {
		uint64_t most = wnn_div_up(wnn_div_up((uint64_t)panels, size), threads) * size;

		if (most < least) {
			least = most;
			best = size;
		}
	}
	return (int64_t)best;
}

int64_t cpu_tile_strips(const struct cpu_simd *simd, const struct cpu_tile_product *p)
{
	return is_direct(simd, p) ? 0 : cpu_split(p->m, simd->rows).parts;
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

	if (is_direct(simd, p)) {
		multiply_direct(simd, p, begin, end);
		return;
	}
	for (int64_t at = 0; at < p->k; at += steps_of(p->m)) {
		struct steps steps = steps_from(p, packed + at * p->m, at);

		multiply_steps(simd, p, &rows, &steps, begin, end);
	}
}
