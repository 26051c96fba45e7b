// SPDX-License-Identifier: MIT
/*
 * Sums and extremes of rows, and normalisation of rows by a mean and a factor. Sums are computed in
 * double.
 */
#include "cpu/simd/fill.h"

#define INLINE static inline __attribute__((always_inline))

/* Half a vector of floats; its elements become a vector of doubles. */
#define HALF (LANES / 2)
typedef float half_mem __attribute__((vector_size(4 * HALF), may_alias, aligned(4)));
typedef double dvec __attribute__((vector_size(8 * HALF)));
typedef int64_t lvec __attribute__((vector_size(8 * HALF)));

INLINE dvec load_doubles(const float *p)
{
	/* From plain code the compiler would make conversions of quarters of a vector. */
#if defined(__AVX512F__)
	return (dvec)_mm512_cvtps_pd(_mm256_loadu_ps(p));
#elif defined(__FMA__)
	return (dvec)_mm256_cvtps_pd(_mm_loadu_ps(p));
#else
	return __builtin_convertvector(*(const half_mem *)p, dvec);
#endif
}

INLINE dvec splat_double(double x)
{
	return x - (dvec){ 0 };
}

/* --- Rows folded to one result --- */

INLINE double term(enum cpu_fold kind, double x, double centre)
{
	switch (kind) {
	case CPU_FOLD_ABS:
		return x < 0 ? -x : x;
	case CPU_FOLD_SQUARES:
		return (x - centre) * (x - centre);
	default:
		return x;
	}
}

INLINE dvec terms(enum cpu_fold kind, dvec x, dvec centre)
{
	switch (kind) {
	case CPU_FOLD_ABS:
		return (dvec)((lvec)x & INT64_MAX);
	case CPU_FOLD_SQUARES:
		return (x - centre) * (x - centre);
	default:
		return x;
	}
}

INLINE double sum_of(const enum cpu_fold kind, const float *x, int64_t n, double centre)
{
	dvec s0 = { 0 }, s1 = { 0 }, s2 = { 0 }, s3 = { 0 }, c = splat_double(centre);
	double sum = 0;
	int64_t i = 0;

	for (; i + 4 * HALF <= n; i += 4 * HALF) {
		s0 += terms(kind, load_doubles(x + i), c);
		s1 += terms(kind, load_doubles(x + i + HALF), c);
		s2 += terms(kind, load_doubles(x + i + 2 * HALF), c);
		s3 += terms(kind, load_doubles(x + i + 3 * HALF), c);
	}
	s0 = (s0 + s1) + (s2 + s3);
	for (int k = 0; k < HALF; k++)
		sum += s0[k];
	for (; i < n; i++)
		sum += term(kind, (double)x[i], centre);
	return sum;
}

/*
 * Returns the largest element, or with `negated` the smallest one: it is minus the largest of the
 * elements with flipped signs.
 */
INLINE float largest_of(const bool negated, const float *x, int64_t n)
{
	vec most[4];
	float max = -__builtin_inff();
	int64_t i = 0;

	for (int k = 0; k < 4; k++)
		most[k] = splat(max);
	/* Four independent maxima hide the latency of the instructions. */
	for (; i + 4 * LANES <= n; i += 4 * LANES)
		for (int k = 0; k < 4; k++)
			most[k] = larger(most[k], negated ? -load(x + i + k * LANES) :
							    load(x + i + k * LANES));
	for (; i + LANES <= n; i += LANES)
		most[0] = larger(most[0], negated ? -load(x + i) : load(x + i));
	most[0] = larger(larger(most[0], most[1]), larger(most[2], most[3]));
	for (int k = 0; k < LANES; k++)
		max = max != max || max > most[0][k] ? max : most[0][k];
	for (; i < n; i++) {
		float v = negated ? -x[i] : x[i];

		max = max != max || max > v ? max : v;
	}
	return negated ? -max : max;
}

static double fold(enum cpu_fold kind, const float *x, int64_t n, double centre)
{
	switch (kind) {
	case CPU_FOLD_SUM:
		return sum_of(CPU_FOLD_SUM, x, n, 0);
	case CPU_FOLD_ABS:
		return sum_of(CPU_FOLD_ABS, x, n, 0);
	case CPU_FOLD_SQUARES:
		return sum_of(CPU_FOLD_SQUARES, x, n, centre);
	case CPU_FOLD_MAX:
		return (double)largest_of(false, x, n);
	default:
		return (double)largest_of(true, x, n);
	}
}

/* --- Rows folded into a row of results --- */

#define EACH(expression)                                   \
	do {                                               \
		for (int64_t i = 0; i < n; i++) {          \
			double a = y[i], v = (double)x[i]; \
                                                           \
			y[i] = (expression);               \
		}                                          \
	} while (0)

static void fold_row(enum cpu_fold kind, double *y, const float *x, int64_t n)
{
	switch (kind) {
	case CPU_FOLD_SUM:
		EACH(a + v);
		break;
	case CPU_FOLD_ABS:
		EACH(a + __builtin_fabs(v));
		break;
	case CPU_FOLD_SQUARES:
		EACH(a + v * v);
		break;
	case CPU_FOLD_MAX:
		EACH(a != a || a > v ? a : v);
		break;
	default:
		EACH(a != a || a < v ? a : v);
		break;
	}
}

/* --- Normalization --- */

INLINE void normalize_with(const struct cpu_normal *m, float *y, const float *x, int64_t n,
			   const int64_t step)
{
	for (int64_t i = 0; i < n; i++) {
		double v = ((double)x[i] - m->mean) * m->factor;

		if (m->scale)
			v *= (double)m->scale[i * step];
		if (m->bias)
			v += (double)m->bias[i * step];
		y[i] = (float)v;
	}
}

static void normalize(const struct cpu_normal *m, float *y, const float *x, int64_t n)
{
	if (m->each)
		normalize_with(m, y, x, n, 1);
	else
		normalize_with(m, y, x, n, 0);
}

void LEVEL_TABLE(fill_fold)(struct cpu_simd *simd)
{
	simd->fold = fold;
	simd->fold_row = fold_row;
	simd->normalize = normalize;
}
