// SPDX-License-Identifier: MIT
/*
 * The tiles of a matrix product, with one function for each number of rows and of vectors of
 * columns; and functions that pack and transpose matrices.
 */
#include <string.h>

#include "cpu/simd/fill.h"

#define INLINE static inline __attribute__((always_inline))

#define EACH_ROW(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13)

/*
 * Steps of a partial sum. The partial sums are then added to each other: the rounding error grows
 * with the number of terms that are added to one sum.
 */
#define RUN 128

/*
 * Whether a tile prefetches while it computes. At levels with shorter vectors, a step takes as long
 * and reads at most half as many bytes, so that prefetches by FETCH() and by the processor are
 * early enough; prefetches between the steps cost 2 to 8 % of the time there.
 */
#define LONG_ROWS (LANES == CPU_MAX_LANES)

/*
 * Each row has its own variables: compilers keep variables in registers, but not always arrays.
 * Code for rows from `rows` on is dead.
 */
#define DECLARE(i) vec p##i = { 0 }, q##i = { 0 };
#define STEP(i, factor)                                               \
	if (rows > i) {                                               \
		p##i = multiply_add(b0, splat(factor), p##i);         \
		if (vecs > 1)                                         \
			q##i = multiply_add(b1, splat(factor), q##i); \
	}
#define PACKED_STEP(i) STEP(i, a[i])
#define ROW_STEP(i)    STEP(i, a[i * lda])
/*
 * Take a step with a packed B, and go on to the next one. The barrier keeps the compiler from
 * loading numbers of later steps, for which there are no registers.
 */
#define LOAD_B                            \
	if (LONG_ROWS)                    \
		__asm__("" ::: "memory"); \
	b0 = load(b);                     \
	if (vecs > 1)                     \
		b1 = load(b + LANES);     \
	b += vecs * LANES;
#define ROW_STEPS          \
	LOAD_B             \
	EACH_ROW(ROW_STEP) \
	a++;
#define PACKED_STEPS          \
	LOAD_B                \
	EACH_ROW(PACKED_STEP) \
	a += rows;
/* SOME() takes CPU_TILE_STEPS steps, ALL() takes all steps before `end`. */
#define SOME(steps)                                                      \
	_Pragma("GCC unroll 4") for (int s = 0; s < CPU_TILE_STEPS; s++) \
	{                                                                \
		steps                                                    \
	}
#define ALL(steps)                                   \
	_Pragma("GCC unroll 4") for (; k < end; k++) \
	{                                            \
		steps                                \
	}
/* KEEP_FIRST() moves the first partial sums to `kept`, KEEP() adds later ones to `kept`. */
#define KEEP_FIRST(i)                           \
	if (rows > i) {                         \
		kept[2 * i] = p##i;             \
		p##i = (vec){ 0 };              \
		if (vecs > 1) {                 \
			kept[2 * i + 1] = q##i; \
			q##i = (vec){ 0 };      \
		}                               \
	}
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
#define SCALE(i)                           \
	if (rows > i) {                    \
		p##i *= t->factor;         \
		if (vecs > 1)              \
			q##i *= t->factor; \
	}
#define ADD(i)                                                   \
	if (rows > i) {                                          \
		p##i += load(t->c + i * t->ldc);                 \
		if (vecs > 1)                                    \
			q##i += load(t->c + i * t->ldc + LANES); \
	}
#define ADD_ROW(i)                              \
	if (rows > i) {                         \
		p##i += t->row_bias[i];         \
		if (vecs > 1)                   \
			q##i += t->row_bias[i]; \
	}
#define ADD_COLUMN(i)               \
	if (rows > i) {             \
		p##i += b0;         \
		if (vecs > 1)       \
			q##i += b1; \
	}
#define ADD_OTHER(i)                                                  \
	if (rows > i) {                                               \
		p##i += load(t->addend + i * t->ldc);                 \
		if (vecs > 1)                                         \
			q##i += load(t->addend + i * t->ldc + LANES); \
	}
#define STORE_AS(i, result)                                             \
	if (rows > i) {                                                 \
		store(t->c + i * t->ldc, result(p##i));                 \
		if (vecs > 1)                                           \
			store(t->c + i * t->ldc + LANES, result(q##i)); \
	}
#define SAME(v)	       (v)
#define ABOVE(v)       at_least(v, lo)
#define BETWEEN(v)     between(v, lo, hi)
#define STORE(i)       STORE_AS(i, SAME)
#define STORE_ABOVE(i) STORE_AS(i, ABOVE)
#define FINISH(i)      STORE_AS(i, BETWEEN)

/*
 * ADD_BIASES adds the biases of rows or else of columns, if there are any. STORE_ALL stores the
 * results, clamped if there are limits.
 */
#define ADD_BIASES                                         \
	if (t->row_bias) {                                 \
		EACH_ROW(ADD_ROW)                          \
	} else if (t->column_bias) {                       \
		b0 = load(t->column_bias);                 \
		if (vecs > 1)                              \
			b1 = load(t->column_bias + LANES); \
		EACH_ROW(ADD_COLUMN)                       \
	}
#define STORE_ALL                               \
	if (t->hi < __builtin_inff()) {         \
		EACH_ROW(FINISH)                \
	} else if (t->lo > -__builtin_inff()) { \
		EACH_ROW(STORE_ABOVE)           \
	} else {                                \
		EACH_ROW(STORE)                 \
	}

/*
 * Prefetches the rows of c, which are often far apart and not in the near caches, while the sums
 * are computed.
 */
#define FETCH(i)      \
	if (rows > i) \
		__builtin_prefetch(t->c + i * t->ldc, 1);

/*
 * The addresses that a tile prefetches next: one row of c and of the addend after the other, and the
 * floats from `next` on. A tile prefetches a little every few steps, since its own loads wait while
 * many prefetches are under way.
 */
struct fetch {
	const float *c, *last, *addend, *next;
	int64_t line, ahead;
};

INLINE void fetch(struct fetch *f, const int vecs)
{
	int64_t row = f->c < f->last ? f->line : 0;

	__builtin_prefetch(f->c, 1);
	__builtin_prefetch(f->addend);
	if (vecs > 1) {
		__builtin_prefetch(f->c + 2 * LANES - 1, 1);
		__builtin_prefetch(f->addend + 2 * LANES - 1);
	}
	f->c += row;
	f->addend += row;
	__builtin_prefetch(f->next, 0, 2);
	__builtin_prefetch(f->next + CPU_TILE_AHEAD / 2, 0, 2);
	f->next += f->ahead;
}

INLINE void tile(const struct cpu_tile *t, const int rows, const int vecs)
{
	/* local, as the compiler must assume that stores to c change *t */
	const float *a = t->a, *b = t->b, *addend = t->addend;
	int64_t k = 0, depth = t->depth, lda = t->lda, ldc = t->ldc;
	const int64_t *at = t->at;
	float *c = t->c;
	struct fetch ahead = { .c = c,
			       .last = c + (rows - 1) * ldc,
			       .addend = addend ? addend : c,
			       .next = t->next ? t->next : c,
			       .line = ldc,
			       .ahead = t->ahead };
	/* With fewer steps, there would not be a call of fetch() for each row of c. */
	const bool spreads = LONG_ROWS && !at && depth >= rows * CPU_TILE_STEPS;
	vec lo, hi, b0, b1 = { 0 };
	vec room[2 * CPU_MAX_ROWS], *kept = room;

	EACH_ROW(DECLARE)
	if (!spreads) {
		EACH_ROW(FETCH)
	}
	/*
	 * Makes the compiler keep the array `room` in memory, instead of setting up its values for
	 * each tile.
	 */
	__asm__("" : "+r"(kept));
	for (int64_t end = RUN; k < depth; end += RUN) {
		end = end < depth ? end : depth;
		/*
		 * Loops over a packed B are unrolled, which saves a sixth of their instructions;
		 * that matters when two threads share a core.
		 */
		if (at)
			for (; k < end; k++, a += rows) {
				b0 = load(b + at[k]);
				if (vecs > 1)
					b1 = load(b + at[k] + LANES);
				EACH_ROW(PACKED_STEP)
			}
		for (; spreads && k + CPU_TILE_STEPS <= end; k += CPU_TILE_STEPS) {
			fetch(&ahead, vecs);
			if (lda)
				SOME(ROW_STEPS)
			else
				SOME(PACKED_STEPS)
		}
		if (lda)
			ALL(ROW_STEPS)
		else
			ALL(PACKED_STEPS)
		if (k == RUN && k < depth) {
			EACH_ROW(KEEP_FIRST)
		} else if (k < depth) {
			EACH_ROW(KEEP)
		}
	}
	/*
	 * Makes the compiler compute lo and hi here, since there are no registers for them in the
	 * loops.
	 */
	__asm__("" : "+r"(t));
	lo = splat(t->lo);
	hi = splat(t->hi);
	if (depth > RUN) {
		EACH_ROW(TOGETHER)
	}
	if (t->scaled) {
		EACH_ROW(SCALE)
	}
	if (t->add) {
		EACH_ROW(ADD)
	}
	ADD_BIASES
	if (addend) {
		EACH_ROW(ADD_OTHER)
	}
	STORE_ALL
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

/* --- Packing --- */

/*
 * Copies runs as whole vectors: the floats that a vector writes after the end of a run are
 * overwritten by the next run or row.
 */
INLINE void pack_runs(const struct cpu_pack *pack, const int runs, const int vecs)
{
	/* a copy, as the compiler must assume that stores change the original */
	const struct cpu_pack p = *pack;
	float *to = p.to;

	for (int64_t k = 0; k < p.depth; k++, to += vecs * LANES)
		for (int i = 0; i < runs; i++) {
			const float *from = p.from + p.at[k] + p.place[i];
			vec first = load(from), second = vecs > 1 ? load(from + LANES) : first;

			store(to + p.begin[i], first);
			if (vecs > 1)
				store(to + p.begin[i] + LANES, second);
		}
}

static void pack_exactly(const struct cpu_pack *p)
{
	int64_t width = p->n > LANES ? 2 * LANES : LANES;

	for (int64_t k = 0; k < p->depth; k++)
		for (int i = 0; i < p->runs; i++) {
			int64_t end = i + 1 < p->runs ? p->begin[i + 1] : p->n;

			memcpy(p->to + k * width + p->begin[i], p->from + p->at[k] + p->place[i],
			       (size_t)(end - p->begin[i]) * sizeof(float));
		}
}

INLINE void pack_vectors(const struct cpu_pack *p, const int vecs)
{
	if (p->runs == 1)
		pack_runs(p, 1, vecs);
	else if (p->runs == 2)
		pack_runs(p, 2, vecs);
	else
		pack_runs(p, p->runs, vecs);
}

static void pack(const struct cpu_pack *p)
{
	if (!p->loose)
		pack_exactly(p);
	else if (p->n > LANES)
		pack_vectors(p, 2);
	else
		pack_vectors(p, 1);
}

#define BLOCK 4

typedef float four __attribute__((vector_size(16), may_alias, aligned(4)));

/* Transposes four rows of four, a block for which every level has registers. */
INLINE void transpose_block(float *y, int64_t ldy, const float *x, int64_t ldx)
{
	four a = *(const four *)x, b = *(const four *)(x + ldx);
	four c = *(const four *)(x + 2 * ldx), d = *(const four *)(x + 3 * ldx);
	four ab = __builtin_shufflevector(a, b, 0, 4, 1, 5);
	four cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);

	*(four *)y = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
	*(four *)(y + ldy) = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
	ab = __builtin_shufflevector(a, b, 2, 6, 3, 7);
	cd = __builtin_shufflevector(c, d, 2, 6, 3, 7);
	*(four *)(y + 2 * ldy) = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
	*(four *)(y + 3 * ldy) = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
}

INLINE void transpose_each(float *y, int64_t ldy, const float *x, int64_t ldx, const int64_t rows,
			   const int64_t columns)
{
	for (int64_t j = 0; j < columns; j++)
		for (int64_t i = 0; i < rows; i++)
			y[j * ldy + i] = x[i * ldx + j];
}

/* Transposes matrices with fewer rows or columns than a block. */
static void transpose_few(float *y, int64_t ldy, const float *x, int64_t ldx, int64_t rows,
			  int64_t columns)
{
	if (rows == 2)
		transpose_each(y, ldy, x, ldx, 2, columns);
	else
		transpose_each(y, ldy, x, ldx, rows, columns);
}

/* The rows that transpose_six() reads, four columns at a time; the result is contiguous in y. */
#define SIX 6

INLINE void transpose_six(float *y, const float *x, int64_t ldx)
{
	four line[SIX], low[SIX / 2], high[SIX / 2];

	for (int i = 0; i < SIX; i++)
		line[i] = *(const four *)(x + i * ldx);
	for (int i = 0; i < SIX / 2; i++) {
		four a = line[2 * i], b = line[2 * i + 1];

		low[i] = __builtin_shufflevector(a, b, 0, 4, 1, 5);
		high[i] = __builtin_shufflevector(a, b, 2, 6, 3, 7);
	}
	*(four *)y = __builtin_shufflevector(low[0], low[1], 0, 1, 4, 5);
	*(four *)(y + 4) = __builtin_shufflevector(low[2], low[0], 0, 1, 6, 7);
	*(four *)(y + 8) = __builtin_shufflevector(low[1], low[2], 2, 3, 6, 7);
	*(four *)(y + 12) = __builtin_shufflevector(high[0], high[1], 0, 1, 4, 5);
	*(four *)(y + 16) = __builtin_shufflevector(high[2], high[0], 0, 1, 6, 7);
	*(four *)(y + 20) = __builtin_shufflevector(high[1], high[2], 2, 3, 6, 7);
}

/*
 * Transposes four columns of three rows, such as the colours of pixels; the result is contiguous in
 * y.
 */
INLINE void transpose_three(float *y, const float *x, int64_t ldx)
{
	four a = *(const four *)x, b = *(const four *)(x + ldx), c = *(const four *)(x + 2 * ldx);
	four ab = __builtin_shufflevector(a, b, 0, 4, 1, 5);
	four bc = __builtin_shufflevector(b, c, 1, 5, 2, 6);
	four ca = __builtin_shufflevector(c, a, 2, 7, 2, 7);
	four cb = __builtin_shufflevector(b, c, 3, 7, 3, 7);

	*(four *)y = __builtin_shufflevector(ab, c, 0, 1, 4, 2);
	*(four *)(y + 4) = __builtin_shufflevector(bc, a, 0, 1, 6, 2);
	*(four *)(y + 8) = __builtin_shufflevector(ca, cb, 0, 1, 4, 5);
}

/*
 * Transposes a matrix in blocks. Where its size is no multiple of a block's, the last blocks of each
 * row and column overlap those before. Matrices that are smaller than a block, and those of 3 or 6
 * rows whose result is contiguous, have functions of their own.
 */
static void transpose(float *y, int64_t ldy, const float *x, int64_t ldx, int64_t rows,
		      int64_t columns)
{
	bool pixels = rows == 3 && ldy == 3;

	if ((rows < BLOCK && !pixels) || columns < BLOCK) {
		transpose_few(y, ldy, x, ldx, rows, columns);
		return;
	}
	for (int64_t at = 0; at < columns; at += BLOCK) {
		int64_t j = at + BLOCK > columns ? columns - BLOCK : at, i;

		if (pixels) {
			transpose_three(y + j * 3, x + j, ldx);
			continue;
		}
		if (rows == SIX && ldy == SIX) {
			transpose_six(y + j * SIX, x + j, ldx);
			continue;
		}
		for (i = 0; i + BLOCK <= rows; i += BLOCK)
			transpose_block(y + j * ldy + i, ldy, x + i * ldx + j, ldx);
		if (i < rows)
			transpose_block(y + j * ldy + rows - BLOCK, ldy,
					x + (rows - BLOCK) * ldx + j, ldx);
	}
}

void LEVEL_TABLE(fill_gemm)(struct cpu_simd *simd)
{
	simd->name = LEVEL_NAME;
	simd->lanes = LANES;
	simd->rows = TILE_ROWS;
	simd->pack = pack;
	simd->transpose = transpose;
	EACH_ROW(ENTRY)
}
