// SPDX-License-Identifier: MIT
/* Softmax, and the sum of powers of a row. */
#include <math.h>
#include <string.h>

#include "cpu/simd/fill.h"
#include "cpu/simd/powers.h"

/*
 * Returns the largest element. When an element is NaN, the result may be any other element: the NaN
 * makes the sum, and so all of softmax, NaN.
 */
static float largest(const float *x, int64_t n)
{
	vec most[4];
	int64_t i = 0;
	float max;

	for (int k = 0; k < 4; k++)
		most[k] = splat(-INFINITY);
	/* Four independent maxima hide the latency of the instruction. */
	for (; i + 4 * LANES <= n; i += 4 * LANES)
		for (int k = 0; k < 4; k++)
			most[k] = most_of(load(x + i + k * LANES), most[k]);
	for (; i + LANES <= n; i += LANES)
		most[0] = most_of(load(x + i), most[0]);
	max = most_in(most_of(most_of(most[0], most[1]), most_of(most[2], most[3])));
	for (; i < n; i++)
		max = x[i] > max ? x[i] : max;
	return max;
}

/*
 * The scaling of the powers of a row. If the largest number is at most MOST_EXPONENT in magnitude,
 * nothing is subtracted from the numbers, so that no digits are lost: a power of 2 scales results
 * such that the largest power is at least 1/2. Otherwise the largest number is subtracted (`from`);
 * the difference is exact unless its power becomes 0.
 */
#define MOST_EXPONENT 220

struct powers {
	vec from, least;
	ivec of;
};

static struct powers powers_of(float max)
{
	float from = fabsf(max) <= MOST_EXPONENT ? 0 : max;
	vec n = multiply_add(splat(max - from), splat(LOG2_E), splat(WHOLE));

	return (struct powers){ splat(from), (n - WHOLE + LEAST_POWER) * LN_2,
				(ivec)n + LEAST_POWER };
}

#define HALF (LANES / 2)

typedef double dvec __attribute__((vector_size(4 * LANES), may_alias));
typedef float half_vec __attribute__((vector_size(4 * HALF), may_alias, aligned(4)));

/* Adds the elements of v to the sum. Callers may add a few numbers in float32 before. */
static inline void add_to(dvec sum[2], vec v)
{
#if defined(__AVX512F__)
	/* From plain code the compiler would make conversions of quarters of a vector. */
	sum[0] += (dvec)_mm512_cvtps_pd(_mm512_castps512_ps256((__m512)v));
	sum[1] += (dvec)_mm512_cvtps_pd(_mm512_extractf32x8_ps((__m512)v, 1));
#elif defined(__FMA__)
	sum[0] += (dvec)_mm256_cvtps_pd(_mm256_castps256_ps128((__m256)v));
	sum[1] += (dvec)_mm256_cvtps_pd(_mm256_extractf128_ps((__m256)v, 1));
#else
	float parts[LANES];

	store(parts, v);
	for (int k = 0; k < 2; k++)
		sum[k] += __builtin_convertvector(*(const half_vec *)(parts + k * HALF), dvec);
#endif
}

/*
 * Returns the sum of all elements of v, added in pairs, since each addition waits for the one
 * before.
 */
static inline double sum_in(dvec v)
{
	double e[HALF];

	memcpy(e, &v, sizeof(e));
#if HALF == 8
	return ((e[0] + e[4]) + (e[2] + e[6])) + ((e[1] + e[5]) + (e[3] + e[7]));
#elif HALF == 4
	return (e[0] + e[2]) + (e[1] + e[3]);
#else
	return e[0] + e[1];
#endif
}

INLINE struct group exp_to(float *y, struct group x, const struct powers *p)
{
	/* NaN stays. */
	for (int k = 0; k < GROUP; k++)
		x.v[k] = most_of(p->least, x.v[k] - p->from);
	x = exponential(x, NULL, p->of);
	store_group(y, x);
	return x;
}

INLINE dvec powers_to(float *y, const float *x, int64_t n, const struct powers *powers)
{
	float rest[GROUP * LANES];
	dvec sum[2] = { { 0 } };
	struct group e;
	int64_t i;

	for (i = 0; i + GROUP * LANES <= n; i += GROUP * LANES) {
		e = exp_to(y + i, load_group(x + i), powers);
		add_to(sum, (e.v[0] + e.v[1]) + (e.v[2] + e.v[3]));
	}
	if (i < n) {
		for (int64_t k = i; k < i + GROUP * LANES; k++)
			rest[k - i] = k < n ? x[k] : -INFINITY;
		e = exp_to(rest, load_group(rest), powers);
		add_to(sum, (e.v[0] + e.v[1]) + (e.v[2] + e.v[3]));
		memcpy(y + i, rest, (size_t)(n - i) * sizeof(*y));
	}
	return sum[0] + sum[1];
}

/*
 * Computes softmax of each row. Finds the largest number of the next row while the last powers of
 * this row are in flight: the next powers wait for that number, and the scale of this row waits for
 * the sum of its powers.
 */
static void softmax(float *y, const float *x, int64_t lines, int64_t n)
{
	struct powers powers = powers_of(largest(x, n));

	for (; lines; lines--, x += n, y += n) {
		dvec sum = powers_to(y, x, n, &powers);
		float scale;

		if (lines > 1)
			powers = powers_of(largest(x + n, n));
		scale = (float)(1 / sum_in(sum));
		for (int64_t i = 0; i < n; i++)
			y[i] *= scale;
	}
}

INLINE void add_powers(dvec sum[2], struct group x, float max)
{
	for (int k = 0; k < GROUP; k++)
		x.v[k] -= max;
	x = exp_of(x, 0, 0);
	for (int k = 0; k < GROUP; k++)
		add_to(sum, x.v[k]);
}

static double exp_sum(const float *x, int64_t n, float max)
{
	float rest[GROUP * LANES];
	dvec sum[2] = { { 0 } };
	int64_t i;

	for (i = 0; i + GROUP * LANES <= n; i += GROUP * LANES)
		add_powers(sum, load_group(x + i), max);
	if (i < n) {
		for (int64_t k = i; k < i + GROUP * LANES; k++)
			rest[k - i] = k < n ? x[k] : -INFINITY;
		add_powers(sum, load_group(rest), max);
	}
	return sum_in(sum[0] + sum[1]);
}

/* Loads a group of adjacent floats; without `all` only the first `count`. */
INLINE struct group load_some(const float *x, int64_t count, const bool all)
{
	float rest[GROUP * LANES] = { 0 };

	if (all)
		return load_group(x);
	memcpy(rest, x, (size_t)count * sizeof(*x));
	return load_group(rest);
}

INLINE void store_some(float *y, struct group g, int64_t count, const bool all)
{
	float rest[GROUP * LANES];

	if (all) {
		store_group(y, g);
		return;
	}
	store_group(rest, g);
	memcpy(y, rest, (size_t)count * sizeof(*y));
}

INLINE struct group one_over(dvec sum[GROUP][2])
{
	double sums[GROUP * LANES];
	float parts[GROUP * LANES];

	memcpy(sums, sum, sizeof(sums));
	for (int i = 0; i < GROUP * LANES; i++)
		parts[i] = (float)(1 / sums[i]);
	return load_group(parts);
}

/*
 * Computes `count` adjacent columns together, row by row: this needs no transpose and no sum over
 * the elements of a vector.
 */
INLINE void softmax_group(float *y, const float *x, int64_t n, int64_t step, int64_t count,
			  const bool all)
{
	dvec sum[GROUP][2] = { { { 0 } } };
	struct group max, g;

	for (int k = 0; k < GROUP; k++)
		max.v[k] = splat(-INFINITY);
	for (int64_t i = 0; i < n; i++) {
		g = load_some(x + i * step, count, all);
		for (int k = 0; k < GROUP; k++)
			max.v[k] = most_of(g.v[k], max.v[k]);
	}
	for (int64_t i = 0; i < n; i++) {
		g = load_some(x + i * step, count, all);
		/* NaN stays. */
		for (int k = 0; k < GROUP; k++)
			g.v[k] = most_of(splat(LEAST_POWER * LN_2), g.v[k] - max.v[k]);
		g = exponential(g, NULL, (ivec)splat(WHOLE) + LEAST_POWER);
		store_some(y + i * step, g, count, all);
		for (int k = 0; k < GROUP; k++)
			add_to(sum[k], g.v[k]);
	}
	max = one_over(sum);
	for (int64_t i = 0; i < n; i++) {
		g = load_some(y + i * step, count, all);
		for (int k = 0; k < GROUP; k++)
			g.v[k] *= max.v[k];
		store_some(y + i * step, g, count, all);
	}
}

static void softmax_columns(float *y, const float *x, int64_t n, int64_t step, int64_t columns)
{
	int64_t i;

	for (i = 0; i + GROUP * LANES <= columns; i += GROUP * LANES)
		softmax_group(y + i, x + i, n, step, GROUP * LANES, true);
	if (i < columns)
		softmax_group(y + i, x + i, n, step, columns - i, false);
}

void LEVEL_TABLE(fill_softmax)(struct cpu_simd *simd)
{
	simd->exp_sum = exp_sum;
	simd->softmax = softmax;
	simd->softmax_columns = softmax_columns;
}
