// SPDX-License-Identifier: MIT
/* The tiles of a matrix product, one function for each number of rows and of vectors of columns. */
#include "cpu/simd_fill.h"

#define INLINE static inline __attribute__((always_inline))

#define EACH_ROW(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13)

/* Rows that are too many are dead code; names instead of arrays, so that all are registers. */
#define DECLARE(i) vec p##i, q##i;
#define START(i)                                                         \
	if (rows > i) {                                                  \
		p##i = q##i = splat(t->row_start ? t->row_start[i] : 0); \
		if (t->add) {                                            \
			p##i = load(t->c + i * t->ldc);                  \
			if (vecs > 1)                                    \
				q##i = load(t->c + i * t->ldc + LANES);  \
		} else if (t->column_start) {                            \
			p##i = load(t->column_start);                    \
			if (vecs > 1)                                    \
				q##i = load(t->column_start + LANES);    \
		}                                                        \
	} else {                                                         \
		p##i = q##i = (vec){ 0 };                                \
	}
#define STEP(i)                            \
	if (rows > i) {                    \
		p##i += b0 * a[i];         \
		if (vecs > 1)              \
			q##i += b1 * a[i]; \
	}
#define FINISH(i)                                                                \
	if (rows > i) {                                                          \
		store(t->c + i * t->ldc, between(p##i, lo, hi));                 \
		if (vecs > 1)                                                    \
			store(t->c + i * t->ldc + LANES, between(q##i, lo, hi)); \
	}

INLINE void tile(const struct cpu_tile *t, const int rows, const int vecs)
{
	const float *a = t->a, *b = t->b;
	const int64_t *at = t->at;
	vec lo = splat(t->lo), hi = splat(t->hi), b0, b1 = { 0 };

	EACH_ROW(DECLARE)
	EACH_ROW(START)
	for (int64_t k = 0; k < t->depth; k++, a += rows) {
		b0 = load(b + at[k]);
		if (vecs > 1)
			b1 = load(b + at[k] + LANES);
		EACH_ROW(STEP)
	}
	EACH_ROW(FINISH)
}

#define FUNCTIONS(i)                                       \
	static void tile_##i##_1(const struct cpu_tile *t) \
	{                                                  \
		tile(t, i + 1, 1);                         \
	}                                                  \
	static void tile_##i##_2(const struct cpu_tile *t) \
	{                                                  \
		tile(t, i + 1, 2);                         \
	}
#define ENTRY(i)                                     \
	if (i < TILE_ROWS) {                         \
		simd->tile[i + 1][1] = tile_##i##_1; \
		simd->tile[i + 1][2] = tile_##i##_2; \
	}

EACH_ROW(FUNCTIONS)

void LEVEL_TABLE(fill_gemm)(struct cpu_simd *simd)
{
	simd->name = LEVEL_NAME;
	simd->lanes = LANES;
	simd->rows = TILE_ROWS;
	EACH_ROW(ENTRY)
}
