// SPDX-License-Identifier: MIT
/* The tiles of a matrix product, one function for each number of rows and of vectors of columns. */
#include <string.h>

#include "cpu/simd_fill.h"

#define INLINE static inline __attribute__((always_inline))

#define EACH_ROW(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13)

/*
 * Steps that are summed up by themselves before they are added to the others: what is rounded grows with
 * the number of terms that a sum has seen.
 */
#define RUN 128

/* A variable for each row, as compilers keep these in registers, and arrays not always. Rows from `rows` on are dead code. */
#define DECLARE(i) vec p##i = { 0 }, q##i = { 0 };
#define STEP(i)                                                     \
	if (rows > i) {                                             \
		p##i = multiply_add(b0, splat(a[i]), p##i);         \
		if (vecs > 1)                                       \
			q##i = multiply_add(b1, splat(a[i]), q##i); \
	}
/* Puts a run aside. */
#define KEEP(i)                                  \
	if (rows > i) {                          \
		kept[2 * i] += p##i;             \
		p##i = (vec){ 0 };               \
		if (vecs > 1) {                  \
			kept[2 * i + 1] += q##i; \
			q##i = (vec){ 0 };       \
		}                                \
	}
#define TOGETHER(i)                              \
	if (rows > i) {                          \
		p##i += kept[2 * i];             \
		if (vecs > 1)                    \
			q##i += kept[2 * i + 1]; \
	}
#define ADD(i)                                                   \
	if (rows > i) {                                          \
		p##i += load(t->c + i * t->ldc);                 \
		if (vecs > 1)                                    \
			q##i += load(t->c + i * t->ldc + LANES); \
	}
#define ADD_ROW(i)                      \
	if (rows > i) {                 \
		p##i += t->row_bias[i]; \
		q##i += t->row_bias[i]; \
	}
#define ADD_COLUMN(i)                                         \
	if (rows > i) {                                       \
		p##i += load(t->column_bias);                 \
		if (vecs > 1)                                 \
			q##i += load(t->column_bias + LANES); \
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
	vec kept[2 * CPU_MAX_ROWS];
	int64_t k = 0;

	EACH_ROW(DECLARE)
	if (t->depth > RUN)
		memset(kept, 0, sizeof(kept));
	for (int64_t end = RUN; k < t->depth; end += RUN) {
		end = end < t->depth ? end : t->depth;
		for (; k < end; k++, a += rows) {
			b0 = load(b + at[k]);
			if (vecs > 1)
				b1 = load(b + at[k] + LANES);
			EACH_ROW(STEP)
		}
		if (k < t->depth) {
			EACH_ROW(KEEP)
		}
	}
	if (t->depth > RUN) {
		EACH_ROW(TOGETHER)
	}
	if (t->add) {
		EACH_ROW(ADD)
	}
	if (t->row_bias) {
		EACH_ROW(ADD_ROW)
	} else if (t->column_bias) {
		EACH_ROW(ADD_COLUMN)
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
