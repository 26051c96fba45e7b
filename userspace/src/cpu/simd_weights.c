// SPDX-License-Identifier: MIT
/*
 * Products with weights of 4 or 8 bits: weights are converted to floats in registers, or a panel at
 * a time to a buffer in the first-level cache.
 */
#include "cpu/simd_fill.h"

#define INLINE static inline __attribute__((always_inline))

/*
 * Steps of a partial sum, for the reason that simd_gemm.c gives: the rounding error grows with the
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

/* The scales and zero points of a block of weights. */
struct common {
	vec scale[2];
	ivec zero[2];
};

INLINE struct common common_of(const struct cpu_weights *w, int64_t block, const int vecs,
			       const bool zeros)
{
	struct common c = { 0 };

	for (int v = 0; v < vecs; v++) {
		c.scale[v] = load(w->scale + (block * vecs + v) * LANES);
		if (zeros)
			c.zero[v] = integers(w->zero + (block * vecs + v) * LANES);
	}
	return c;
}

INLINE void weights_at(const struct cpu_weights *w, int64_t k, const struct common *c,
		       const int vecs, const bool nibbles, const bool zeros, vec *b)
{
	for (int v = 0; v < vecs; v++) {
		ivec q = integers(w->q + (nibbles ? k : k * vecs + v) * LANES);

		if (nibbles)
			q = (v ? q >> 4 : q) & 15;
		if (zeros)
			q -= c->zero[v];
		b[v] = __builtin_convertvector(q, vec) * c->scale[v];
	}
}

INLINE void widen(const struct cpu_weights *w, float *to, const int vecs, const bool nibbles,
		  const bool zeros)
{
	vec b[2];

	for (int64_t k = 0, block = 0; k < w->depth; block++) {
		const struct common c = common_of(w, block, vecs, zeros);

		for (int64_t end = k + w->block; k < end; k++, to += vecs * LANES) {
			weights_at(w, k, &c, vecs, nibbles, zeros, b);
			for (int v = 0; v < vecs; v++)
				store(to + v * LANES, b[v]);
		}
	}
}

static void widen_weights(const struct cpu_weights *w, int vecs, float *to)
{
	if (w->nibbles)
		widen(w, to, 2, true, true);
	else if (w->zero && vecs == 2)
		widen(w, to, 2, false, true);
	else if (w->zero)
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
	vec of[CPU_WEIGHED_LINES][2];
};

/* Adds the products of steps k to end - 1, which lie in one block, to the sums. */
INLINE void weigh_run(const struct cpu_weights *w, const struct cpu_weighted *t, int64_t k,
		      int64_t end, const struct common *c, struct sums *total, const int lines,
		      const int vecs, const bool nibbles, const bool zeros)
{
	const int sets = lines <= 2 ? SETS : 1;
	vec p[SETS][CPU_WEIGHED_LINES][2] = { 0 }, b[2];

	for (; k + sets <= end; k += sets)
		for (int s = 0; s < sets; s++) {
			weights_at(w, k + s, c, vecs, nibbles, zeros, b);
			for (int i = 0; i < lines; i++)
				for (int v = 0; v < vecs; v++)
					p[s][i][v] = multiply_add(
						b[v], splat(t->a[i * t->lda + k + s]), p[s][i][v]);
		}
	for (; k < end; k++) {
		weights_at(w, k, c, vecs, nibbles, zeros, b);
		for (int i = 0; i < lines; i++)
			for (int v = 0; v < vecs; v++)
				p[0][i][v] =
					multiply_add(b[v], splat(t->a[i * t->lda + k]), p[0][i][v]);
	}
	for (int i = 0; i < lines; i++)
		for (int v = 0; v < vecs; v++)
			total->of[i][v] += p[0][i][v] + p[1][i][v];
}

INLINE void weigh(const struct cpu_weights *w, const struct cpu_weighted *t, const int lines,
		  const int vecs, const bool nibbles, const bool zeros)
{
	struct sums total = { 0 };

	for (int64_t k = 0, block = 0; k < w->depth; block++) {
		const struct common c = common_of(w, block, vecs, zeros);
		int64_t end = k + w->block, next;

		for (; k < end; k = next) {
			next = end - k > RUN ? k + RUN : end;
			weigh_run(w, t, k, next, &c, &total, lines, vecs, nibbles, zeros);
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

INLINE void weigh_lines(const struct cpu_weights *w, const struct cpu_weighted *t, int vecs,
			const int lines)
{
	if (w->nibbles)
		weigh(w, t, lines, 2, true, true);
	else if (w->zero && vecs == 2)
		weigh(w, t, lines, 2, false, true);
	else if (w->zero)
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
		weigh_lines(w, t, vecs, 1);
		break;
	case 2:
		weigh_lines(w, t, vecs, 2);
		break;
	case 3:
		weigh_lines(w, t, vecs, 3);
		break;
	default:
		weigh_lines(w, t, vecs, 4);
	}
}

void LEVEL_TABLE(fill_weights)(struct cpu_simd *simd)
{
	simd->widen_weights = widen_weights;
	simd->weigh = weigh_any;
}
