// SPDX-License-Identifier: MIT
/* Functions of single elements, and softmax: plain loops that the compiler vectorises. */
#include <math.h>
#include <string.h>

#include "cpu/fast_math.h"
#include "cpu/simd_fill.h"
#include "ir/ir.h"

#define EACH(expression)                            \
	do {                                        \
		for (int64_t i = 0; i < n; i++) {   \
			float v = x[i];             \
                                                    \
			y[i] = (float)(expression); \
		}                                   \
	} while (0)

static void clamp(float *y, const float *x, int64_t n, float lo, float hi)
{
	for (int64_t i = 0; i < n; i++) {
		float v = x[i] <= lo ? lo : x[i];

		y[i] = v >= hi ? hi : v;
	}
}

static float unit(float v)
{
	v = v < 0 ? 0 : v;
	return v > 1 ? 1 : v;
}

static float six(float v)
{
	v = v < 0 ? 0 : v;
	return v > 6 ? 6 : v;
}

/* e to this power, and all below, is 0 in float32: less than half of its smallest number. */
#define LEAST_EXPONENT (-104.0f)

/* 2^n * x for whole n from -150 to 0, whether or not float32 has 2^n; the last digits of `bits` are n. */
static inline vec scaled(vec x, vec n, ivec bits)
{
#if defined(__AVX512F__)
	(void)bits;
	return (vec)_mm512_scalef_ps((__m512)x, (__m512)n);
#else
	(void)n;
	return x * (vec)((bits << 23) + ((127 + 24) << 23)) * 0x1p-24f;
#endif
}

/*
 * e^(d + lost) for d up to 0, in float32 to about one unit in the last place; `lost` is what d is too small by,
 * for want of digits. With n * ln(2) taken away from it, e^r is its series to the 7th power. What becomes 0 is computed
 * as something else: results that underflow take some processors a hundred cycles.
 */
static inline vec exponential(vec d, vec lost)
{
	const vec whole = splat(0x1.8p23f);
	ivec zero = (ivec)(d < splat(LEAST_EXPONENT)), bits;
	vec n, r, p;

	/* NaN stays. */
	d = choose(zero, splat(0), d);
	n = multiply_add(d, splat(0x1.715476p+0f), whole);
	bits = (ivec)n;
	n = n - whole;
	/* Its first part has so few digits that the product is exact. */
	r = multiply_add(n, splat(-0x1.62e4p-1f), d);
	r = multiply_add(n, splat(-0x1.7f7d1cp-20f), r) + lost;
	p = splat(1.0f / 5040);
	p = multiply_add(p, r, splat(1.0f / 720));
	p = multiply_add(p, r, splat(1.0f / 120));
	p = multiply_add(p, r, splat(1.0f / 24));
	p = multiply_add(p, r, splat(1.0f / 6));
	p = multiply_add(p, r, splat(0.5f));
	p = multiply_add(p, r, splat(1));
	p = multiply_add(p, r, splat(1));
	return choose(zero, splat(0), scaled(p, n, bits));
}

/*
 * e^(z^2) * erfc(z) for z >= 0: a polynomial of s = (z - 3) / (z + 3), divided by 1 + 2 * z. Beyond MOST_Z,
 * e^(-z^2) is 0.
 */
#define MOST_Z 10.3f

static vec scaled_erfc(vec z)
{
	vec line, part, s, p;

	z = choose((ivec)(z > splat(MOST_Z)), splat(MOST_Z), z);
	line = multiply_add(z, splat(2), splat(1));
	part = splat(1) / ((z + 3) * line);
	s = (z - 3) * line * part;
	p = splat(-0.000275456022f);
	p = multiply_add(p, s, splat(-0.000793182585f));
	p = multiply_add(p, s, splat(0.0019982251f));
	p = multiply_add(p, s, splat(0.00257821808f));
	p = multiply_add(p, s, splat(-0.0237924583f));
	p = multiply_add(p, s, splat(0.06829324f));
	p = multiply_add(p, s, splat(-0.119272292f));
	p = multiply_add(p, s, splat(0.129646648f));
	p = multiply_add(p, s, splat(-0.0475622986f));
	p = multiply_add(p, s, splat(-0.135621146f));
	p = multiply_add(p, s, splat(1.25300806f));
	return p * (z + 3) * part;
}

/* x / 2 * erfc(-x / sqrt(2)): what this is less than x, or 0, is x / 2 * erfc(|x| / sqrt(2)). */
static vec gelu_of(vec x)
{
	const ivec high_bits = (ivec)splat(0) - 4096, sign = (ivec)splat(-0.0f);
	/* The square of the first half of the digits is exact. */
	vec high = (vec)((ivec)x & high_bits), rest = (x + high) * (x - high);
	vec z = (vec)((ivec)x & ~sign) * 0x1.6a09e6p-1f;
	vec part = x * 0.5f * (scaled_erfc(z) * exponential(high * high * -0.5f, rest * -0.5f));

	return choose((ivec)(x > splat(0)), x - choose((ivec)(z > splat(MOST_Z)), splat(0), part),
		      part);
}

static void gelu(float *y, const float *x, int64_t n)
{
	float rest[LANES] = { 0 };
	int64_t i;

	for (i = 0; i + LANES <= n; i += LANES)
		store(y + i, gelu_of(load(x + i)));
	if (i == n)
		return;
	memcpy(rest, x + i, (size_t)(n - i) * sizeof(*x));
	store(rest, gelu_of(load(rest)));
	memcpy(y + i, rest, (size_t)(n - i) * sizeof(*y));
}

static bool unary(int kind, float alpha, float beta, float *y, const float *x, int64_t n)
{
	switch (kind) {
	case IR_UNARY_NONE:
		if (x != y)
			memcpy(y, x, (size_t)n * sizeof(*y));
		return true;
	case IR_RELU:
		EACH(v <= 0 ? 0 : v);
		return true;
	case IR_CLAMP:
		clamp(y, x, n, alpha, beta);
		return true;
	case IR_LINEAR:
		EACH(alpha * v + beta);
		return true;
	case IR_ABS:
		EACH(fabsf(v));
		return true;
	case IR_NEG:
		EACH(-v);
		return true;
	case IR_LEAKY_RELU:
		EACH(v < 0 ? alpha * v : v);
		return true;
	case IR_EXP:
		EACH(cpu_exp((double)v));
		return true;
	case IR_SIGMOID:
		EACH(cpu_sigmoid((double)v));
		return true;
	case IR_TANH:
		EACH(cpu_tanh((double)v));
		return true;
	case IR_ERF:
		EACH(cpu_erf((double)v));
		return true;
	case IR_GELU:
		gelu(y, x, n);
		return true;
	case IR_HARD_SIGMOID:
		EACH(unit(alpha * v + beta));
		return true;
	case IR_HARD_SWISH:
		EACH(v * (six(v + 3) / 6));
		return true;
	case IR_SIGN:
		EACH((v > 0) - (v < 0));
		return true;
	case IR_FLOOR:
		EACH(floorf(v));
		return true;
	case IR_CEIL:
		EACH(ceilf(v));
		return true;
	case IR_ROUND_EVEN:
		EACH(nearbyintf(v));
		return true;
	case IR_SQRT:
		EACH(sqrtf(v));
		return true;
	case IR_RECIPROCAL:
		EACH(1 / v);
		return true;
	case IR_SOFTSIGN:
		EACH(v / (1 + fabsf(v)));
		return true;
	default:
		return false;
	}
}

/* Of equal numbers, which differ at most in the sign of zero: +0 if there is one, or -0. */
static inline float equals(float u, float v, bool max)
{
	uint32_t a, b;

	memcpy(&a, &u, sizeof(a));
	memcpy(&b, &v, sizeof(b));
	a = max ? a & b : a | b;
	memcpy(&u, &a, sizeof(u));
	return u;
}

#define PAIRS(expression)                                   \
	do {                                                \
		for (int64_t i = 0; i < n; i++) {           \
			float u = a[i * sa], v = b[i * sb]; \
                                                            \
			y[i] = (expression);                \
		}                                           \
	} while (0)

static inline __attribute__((always_inline)) void pairs(int kind, float *y, const float *a,
							const int64_t sa, const float *b,
							const int64_t sb, int64_t n)
{
	switch (kind) {
	case IR_ADD:
		PAIRS(u + v);
		break;
	case IR_SUB:
		PAIRS(u - v);
		break;
	case IR_MUL:
		PAIRS(u * v);
		break;
	case IR_DIV:
		PAIRS(u / v);
		break;
	case IR_PRELU:
		PAIRS(u < 0 ? u * v : u);
		break;
	case IR_MAX:
		PAIRS(u == v ? equals(u, v, true) : u != u || u > v ? u : v);
		break;
	default:
		PAIRS(u == v ? equals(u, v, false) : u != u || u < v ? u : v);
		break;
	}
}

static void binary(int kind, float *y, const float *a, int64_t sa, const float *b, int64_t sb,
		   int64_t n)
{
	if (sa && sb)
		pairs(kind, y, a, 1, b, 1, n);
	else if (sa)
		pairs(kind, y, a, 1, b, 0, n);
	else
		pairs(kind, y, a, 0, b, sb, n);
}

/* Some other element where there is NaN, which makes the sum NaN, and all of softmax with it. */
static float largest(const float *x, int64_t n)
{
	vec most[4];
	int64_t i = 0;
	float max;

	for (int k = 0; k < 4; k++)
		most[k] = splat(-INFINITY);
	/* Several at a time hide the latency of the choice. */
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

/* e^(x - max) for x up to max. What the difference loses by rounding may be several units where it is large. */
static vec exp_below(vec x, vec max)
{
	vec d = x - max, taken = x - d;

	return exponential(d, (x - (d + taken)) + (taken - max));
}

#define HALF (LANES / 2)

typedef double dvec __attribute__((vector_size(4 * LANES), may_alias));
typedef float half_vec __attribute__((vector_size(4 * HALF), may_alias, aligned(4)));

/* Adds the elements of v: few numbers are added in float32, sums of many in double. */
static inline void add_to(dvec sum[2], vec v)
{
#if defined(__AVX512F__)
	/* The compiler would make it of quarters. */
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

/* Of all elements. In pairs, since each addition waits for those before it. */
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

static inline vec exp_to(float *y, const float *x, vec max)
{
	vec e = exp_below(load(x), max);

	store(y, e);
	return e;
}

static void softmax(float *y, const float *x, int64_t n)
{
	const vec most = splat(largest(x, n));
	float rest[LANES], scale;
	dvec sum[2] = { { 0 } };
	int64_t i;

	for (i = 0; i + 4 * LANES <= n; i += 4 * LANES) {
		vec v = exp_to(y + i, x + i, most) + exp_to(y + i + LANES, x + i + LANES, most);

		v += exp_to(y + i + 2 * LANES, x + i + 2 * LANES, most) +
		     exp_to(y + i + 3 * LANES, x + i + 3 * LANES, most);
		add_to(sum, v);
	}
	for (; i + LANES <= n; i += LANES)
		add_to(sum, exp_to(y + i, x + i, most));
	for (int64_t k = i; k < i + LANES; k++)
		rest[k - i] = k < n ? x[k] : -INFINITY;
	if (i < n) {
		add_to(sum, exp_to(rest, rest, most));
		memcpy(y + i, rest, (size_t)(n - i) * sizeof(*y));
	}
	scale = (float)(1 / sum_in(sum[0] + sum[1]));
	for (i = 0; i < n; i++)
		y[i] *= scale;
}

void LEVEL_TABLE(fill_map)(struct cpu_simd *simd)
{
	simd->unary = unary;
	simd->binary = binary;
	simd->softmax = softmax;
}
