// SPDX-License-Identifier: MIT
/*
 * Products with weights of 4 or 8 bits. For few rows, weigh() converts the integers to floats in
 * registers, multiplies the rows with them, and multiplies the sum over a block with the block's
 * scale. For more rows, widen_weights() converts weights to floats in a buffer of the caller.
 */
#include "cpu/simd/fill.h"

#define INLINE static inline __attribute__((always_inline))

/*
 * Steps of a partial sum, for the reason that gemm.c gives: the rounding error grows with the
 * terms of one sum.
 */
#define RUN 128

typedef int8_t narrow __attribute__((vector_size(LANES)));

INLINE ivec integers(const int8_t *from)
{
#if defined(__AVX512F__)
	return (ivec)_mm512_cvtepi8_epi32(_mm_loadu_si128((const void *)from));
#elif defined(__AVX2__)
	return (ivec)_mm256_cvtepi8_epi32(_mm_loadl_epi64((const void *)from));
#else
	narrow bytes;

	__builtin_memcpy(&bytes, from, sizeof(bytes));
	return __builtin_convertvector(bytes, ivec);
#endif
}

/* Eight weights of 4 bits of each column, the first in the low bits. */
typedef ivec eights_at __attribute__((aligned(4)));

/*
 * Returns the floats that the 16 values of 4 bits stand for, less the zero point that all weights
 * share. Only AVX-512 has an instruction for such a table; on other levels the result is unused.
 */
INLINE vec table_of(const struct cpu_weights *w)
{
#if defined(__AVX512F__)
	vec table;

	for (int i = 0; i < 16; i++)
		table[i] = (float)((i ^ 8) - 8 - w->same_zero);
	return table;
#else
	(void)w;
	return (vec){ 0 };
#endif
}

/*
 * Returns weight j of the eight weights of each column as floats; with AVX-512, less the zero point
 * that all weights share.
 */
INLINE vec one_of(ivec eight, int j, vec table)
{
#if defined(__AVX512F__)
	/* The instruction reads the low four bits of an index. */
	return (vec)_mm512_permutexvar_ps((__m512i)((uvec)eight >> 4 * j), (__m512)table);
#else
	(void)table;
	return __builtin_convertvector((ivec)((uvec)eight << (28 - 4 * j)) >> 28, vec);
#endif
}

/* Whether zero points are to be subtracted from what one_of() or integers() gives. */
INLINE bool has_zeros(const struct cpu_weights *w)
{
#if defined(__AVX512F__)
	if (w->nibbles)
		return w->zero;
#endif
	return w->zero || w->same_zero;
}

/* The scales and zero points of a block of weights. */
struct common {
	vec scale[2], zero[2];
};

INLINE struct common common_of(const struct cpu_weights *w, int64_t block, const int vecs,
			       const bool zeros)
{
	struct common c = { 0 };

	for (int v = 0; v < vecs; v++) {
		c.scale[v] = load(w->scale + (block * vecs + v) * LANES);
		if (zeros && w->zero)
			c.zero[v] = __builtin_convertvector(
				integers(w->zero + (block * vecs + v) * LANES), vec);
		else if (zeros)
			c.zero[v] = splat((float)w->same_zero);
	}
	return c;
}

/* Sets b to the 8-bit integers of a step, less their zero points. */
INLINE void bytes_at(const int8_t *q, const struct common *c, const int vecs, const bool zeros,
		     vec *b)
{
	for (int v = 0; v < vecs; v++) {
		b[v] = __builtin_convertvector(integers(q + v * LANES), vec);
		if (zeros)
			b[v] -= c->zero[v];
	}
}

/* Sets b to the integers of step j of eight, less their zero points. */
INLINE void nibbles_at(const ivec *eight, int j, vec table, const struct common *c,
		       const bool zeros, vec *b)
{
	for (int v = 0; v < 2; v++) {
		b[v] = one_of(eight[v], j, table);
		if (zeros)
			b[v] -= c->zero[v];
	}
}

INLINE void widen(const struct cpu_weights *w, float *to, const int vecs, const bool nibbles,
		  const bool zeros)
{
	const vec table = table_of(w);
	const int8_t *q = w->q;
	ivec eight[2] = { 0 };
	vec b[2];

	for (int64_t k = 0, block = 0; k < w->depth; k += w->block, block++) {
		const struct common c = common_of(w, block, vecs, zeros);

		for (int64_t i = 0; i < w->block; i++, to += vecs * LANES) {
			if (!nibbles) {
				bytes_at(q, &c, vecs, zeros, b);
				q += vecs * LANES;
			} else {
				for (int v = 0; v < 2 && i % 8 == 0; v++, q += 4 * LANES)
					eight[v] = *(const eights_at *)(const void *)q;
				nibbles_at(eight, 0, table, &c, zeros, b);
				for (int v = 0; v < 2; v++)
					eight[v] = (ivec)((uvec)eight[v] >> 4);
			}
			for (int v = 0; v < vecs; v++)
				store(to + v * LANES, b[v] * c.scale[v]);
		}
	}
}

static void widen_weights(const struct cpu_weights *w, int vecs, float *to)
{
	bool zeros = has_zeros(w);

	if (w->nibbles && zeros)
		widen(w, to, 2, true, true);
	else if (w->nibbles)
		widen(w, to, 2, true, false);
	else if (zeros && vecs == 2)
		widen(w, to, 2, false, true);
	else if (zeros)
		widen(w, to, 1, false, true);
	else if (vecs == 2)
		widen(w, to, 2, false, false);
	else
		widen(w, to, 1, false, false);
}

/*
 * Each element has two sums when there are so few rows that a processor would wait for each
 * addition.
 */
#define SETS 2

struct sums {
	vec of[CPU_WEIGHED_ROWS][2];
};

INLINE void add_step(struct sums *sums, const vec *b, const float *a, int64_t lda, const int lines,
		     const int vecs)
{
	for (int i = 0; i < lines; i++)
		for (int v = 0; v < vecs; v++)
			sums->of[i][v] = multiply_add(b[v], splat(a[i * lda]), sums->of[i][v]);
}

/* Adds the products of n steps, at most eight, to the sums. */
INLINE void add_eight(struct sums *sums, const ivec *eight, int n, vec table,
		      const struct common *c, const float *a, int64_t lda, const int lines,
		      const bool zeros)
{
	const int sets = lines <= 2 ? SETS : 1;
	vec b[2];

#pragma GCC unroll 8
	for (int j = 0; j < n; j++) {
		nibbles_at(eight, j, table, c, zeros, b);
		add_step(&sums[j % sets], b, a + j, lda, lines, 2);
	}
}

/*
 * Adds the products of n steps, which lie in one block, to the sums, times the scales. Returns the
 * end of their weights.
 */
INLINE const int8_t *weigh_run(const int8_t *q, const float *a, int64_t lda, int64_t n, vec table,
			       const struct common *c, struct sums *total, const int lines,
			       const int vecs, const bool nibbles, const bool zeros)
{
	const int sets = lines <= 2 ? SETS : 1;
	struct sums p[SETS] = { 0 };
	vec b[2];

	for (int64_t k = 0; nibbles && k < n; k += 8) {
		ivec eight[2];

		for (int v = 0; v < 2; v++, q += 4 * LANES)
			eight[v] = *(const eights_at *)(const void *)q;
		if (n - k >= 8)
			add_eight(p, eight, 8, table, c, a + k, lda, lines, zeros);
		else
			for (int64_t j = k; j < n; j++) {
				nibbles_at(eight, 0, table, c, zeros, b);
				add_step(p, b, a + j, lda, lines, 2);
				for (int v = 0; v < 2; v++)
					eight[v] = (ivec)((uvec)eight[v] >> 4);
			}
	}
	for (int64_t k = 0; !nibbles && k < n; k++, q += vecs * LANES) {
		bytes_at(q, c, vecs, zeros, b);
		add_step(p, b, a + k, lda, lines, vecs);
		if (sets == 1 || ++k == n)
			continue;
		q += vecs * LANES;
		bytes_at(q, c, vecs, zeros, b);
		add_step(&p[1], b, a + k, lda, lines, vecs);
	}
	for (int i = 0; i < lines; i++)
		for (int v = 0; v < vecs; v++)
			total->of[i][v] = multiply_add(p[0].of[i][v] + p[1].of[i][v], c->scale[v],
						       total->of[i][v]);
	return q;
}

INLINE void weigh(const struct cpu_weights *w, const struct cpu_weighted *t, const int lines,
		  const int vecs, const bool nibbles, const bool zeros)
{
	const vec table = table_of(w);
	const int8_t *q = w->q;
	struct sums total = { 0 };

	for (int64_t k = 0, block = 0; k < w->depth; block++) {
		const struct common c = common_of(w, block, vecs, zeros);
		int64_t end = k + w->block, next;

		for (; k < end; k = next) {
			next = end - k > RUN ? k + RUN : end;
			q = weigh_run(q, t->a + k, t->lda, next - k, table, &c, &total, lines, vecs,
				      nibbles, zeros);
		}
	}
	for (int i = 0; i < lines; i++)
		for (int v = 0; v < vecs; v++) {
			vec y = total.of[i][v];

			if (t->bias)
				y += load(t->bias + v * LANES);
			store(t->y + i * t->ldy + v * LANES,
			      between(y, splat(t->lo), splat(t->hi)));
		}
}

INLINE void weigh_rows(const struct cpu_weights *w, const struct cpu_weighted *t, int vecs,
		       const int lines)
{
	bool zeros = has_zeros(w);

	if (w->nibbles && zeros)
		weigh(w, t, lines, 2, true, true);
	else if (w->nibbles)
		weigh(w, t, lines, 2, true, false);
	else if (zeros && vecs == 2)
		weigh(w, t, lines, 2, false, true);
	else if (zeros)
		weigh(w, t, lines, 1, false, true);
	else if (vecs == 2)
		weigh(w, t, lines, 2, false, false);
	else
		weigh(w, t, lines, 1, false, false);
}

static void weigh_any(const struct cpu_weights *w, const struct cpu_weighted *t, int vecs)
{
	switch (t->lines) {
	case 1:
		weigh_rows(w, t, vecs, 1);
		break;
	case 2:
		weigh_rows(w, t, vecs, 2);
		break;
	case 3:
		weigh_rows(w, t, vecs, 3);
		break;
	default:
		weigh_rows(w, t, vecs, 4);
	}
}

void LEVEL_TABLE(fill_weights)(struct cpu_simd *simd)
{
	simd->widen_weights = widen_weights;
	simd->weigh = weigh_any;
}
