// SPDX-License-Identifier: MIT
/*
 * Functions of single elements: computed for groups of vectors, or as plain loops that the compiler
 * vectorises.
 */
#include <math.h>
#include <string.h>

#include "cpu/simd/functions.h"
#include "cpu/simd/fill.h"
#include "cpu/simd/powers.h"
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

/*
 * Returns e^(z^2) * erfc(z) for z >= 0: a polynomial of s = (z - 3) / (z + 3), divided by 1 + 2 *
 * z.
 */
INLINE struct group scaled_erfc(struct group z)
{
	struct group part, s, p;

	for (int k = 0; k < GROUP; k++) {
		vec line = multiply_add(z.v[k], splat(2), splat(1));

		part.v[k] = splat(1) / ((z.v[k] + 3) * line);
		s.v[k] = (z.v[k] - 3) * line * part.v[k];
		part.v[k] *= z.v[k] + 3;
		p.v[k] = multiply_add(s.v[k], splat(-0.000275456022f), splat(-0.000793182585f));
	}
	p = next_term(p, s, 0.0019982251f);
	p = next_term(p, s, 0.00257821808f);
	p = next_term(p, s, -0.0237924583f);
	p = next_term(p, s, 0.06829324f);
	p = next_term(p, s, -0.119272292f);
	p = next_term(p, s, 0.129646648f);
	p = next_term(p, s, -0.0475622986f);
	p = next_term(p, s, -0.135621146f);
	p = next_term(p, s, 1.25300806f);
	for (int k = 0; k < GROUP; k++)
		p.v[k] *= part.v[k];
	return p;
}

/* From here down, e^(-x^2 / 2) rounds to 0. */
#define LEAST_GELU (-14.484375f)

/* Returns x / 2 * erfc(-x / sqrt(2)). It is max(x, 0) minus |x| / 2 * erfc(|x| / sqrt(2)). */
INLINE struct group gelu_of(struct group x)
{
	const ivec high_bits = (ivec)splat(0) - 4096, sign = (ivec)splat(-0.0f);
	struct group below, z, square, rest, e;

	for (int k = 0; k < GROUP; k++) {
		vec high;

		/* -|x|, limited to LEAST_GELU, which gives the same result. NaN stays. */
		below.v[k] = most_of(splat(LEAST_GELU), (vec)((ivec)x.v[k] | sign));
		/*
		 * -x^2 / 2 is the sum of two terms; that of the first half of the digits is exact.
		 */
		high = (vec)((ivec)below.v[k] & high_bits);
		rest.v[k] = (below.v[k] + high) * (below.v[k] - high) * -0.5f;
		square.v[k] = high * high * -0.5f;
	}
	e = exponential(square, &rest, (ivec)splat(WHOLE) + LEAST_POWER);
	for (int k = 0; k < GROUP; k++)
		z.v[k] = below.v[k] * -0x1.6a09e6p-1f;
	z = scaled_erfc(z);
	for (int k = 0; k < GROUP; k++) {
		vec least = choose((ivec)(x.v[k] > splat(0)), below.v[k], x.v[k]);

		x.v[k] = most_of(x.v[k], splat(-0.0f)) +
			 least * 0.5f * (z.v[k] * (e.v[k] * (1.0f / (1 << POWER_FACTOR))));
	}
	return x;
}

/* Returns e^-|z| * 2^POWER_FACTOR; 0 where e^-|z| rounds to 0. NaN stays. */
INLINE struct group decay(struct group z)
{
	const ivec sign = (ivec)splat(-0.0f);

	for (int k = 0; k < GROUP; k++)
		z.v[k] = most_of(splat(LEAST_POWER * LN_2), (vec)((ivec)z.v[k] | sign));
	return exponential(z, NULL, (ivec)splat(WHOLE) + LEAST_POWER);
}

/* Below this, the factor of e^z is applied last, so that subnormal results are rounded once. */
#define SMALL_POWER (-80.0f)

/* Returns x / (1 + e^-z). */
INLINE struct group gated(struct group x, struct group z)
{
	struct group e = decay(z);

	for (int k = 0; k < GROUP; k++) {
		ivec small = (ivec)(z.v[k] < splat(SMALL_POWER));
		vec power = e.v[k] * POWER_UNIT, part = x.v[k] / (power + 1);
		vec factor = choose((ivec)(z.v[k] < splat(0)), power, splat(1));

		x.v[k] = choose(small, part * e.v[k] * POWER_UNIT, part * factor);
	}
	return x;
}

INLINE struct group sigmoid_of(struct group x, float alpha, float beta)
{
	struct group one;

	(void)alpha;
	(void)beta;
	for (int k = 0; k < GROUP; k++)
		one.v[k] = splat(1);
	return gated(one, x);
}

/* From here on tanh(x) is 1. */
#define MOST_TANH 10.0f

/*
 * Returns tanh(x): the sign of x, and the magnitude -p / (p + 2) with p = e^-2|x| - 1, which loses
 * no digits for a small x.
 */
INLINE struct group tanh_of(struct group x, float alpha, float beta)
{
	const ivec sign = (ivec)splat(-0.0f), one = (ivec)splat(1);
	struct group z, r, p;
	uvec bits[GROUP];

	(void)alpha;
	(void)beta;
	for (int k = 0; k < GROUP; k++)
		z.v[k] = most_of(splat(-2 * MOST_TANH), (vec)((ivec)(x.v[k] * 2) | sign));
	r = reduced(z, bits);
	p = slope(r);
	for (int k = 0; k < GROUP; k++) {
		vec power = (vec)(((bits[k] - (uvec)splat(WHOLE)) << 23) + (uvec)one);

		p.v[k] = multiply_add(p.v[k] * r.v[k], power, power - 1);
		p.v[k] /= p.v[k] + 2;
		p.v[k] = (vec)(((ivec)p.v[k] & ~sign) | ((ivec)x.v[k] & sign));
	}
	return p;
}

INLINE struct group scaled_tanh_of(struct group x, float alpha, float beta)
{
	for (int k = 0; k < GROUP; k++)
		x.v[k] *= beta;
	x = tanh_of(x, 0, 0);
	for (int k = 0; k < GROUP; k++)
		x.v[k] *= alpha;
	return x;
}

/* From here on erf(x) is 1. */
#define MOST_ERF 4.0f

/*
 * Returns erf(x): up to 1 an odd polynomial; beyond it 1 - e^p, where p is a polynomial of |x|.
 * The coefficients of both were fitted to erf by weighted least squares.
 */
INLINE struct group erf_of(struct group x, float alpha, float beta)
{
	const ivec sign = (ivec)splat(-0.0f);
	struct group size, square, near, far;

	(void)alpha;
	(void)beta;
	for (int k = 0; k < GROUP; k++) {
		/* |x|, limited. NaN stays. */
		size.v[k] = -most_of(splat(-MOST_ERF), (vec)((ivec)x.v[k] | sign));
		square.v[k] = size.v[k] * size.v[k];
		near.v[k] =
			multiply_add(square.v[k], splat(7.85385782e-05f), splat(-0.000801019254f));
		far.v[k] = multiply_add(size.v[k], splat(0.000186380086f), splat(-0.00294766668f));
	}
	near = next_term(near, square, 0.00518832775f);
	far = next_term(far, size, 0.0218380969f);
	near = next_term(near, square, -0.026853811f);
	far = next_term(far, size, -0.103106819f);
	near = next_term(near, square, 0.112835854f);
	far = next_term(far, size, -0.638144732f);
	near = next_term(near, square, -0.37612626f);
	far = next_term(far, size, -1.12708926f);
	near = next_term(near, square, 0.128379166f);
	far = next_term(far, size, -0.000341512583f);
	far = exponential(far, NULL, (ivec)splat(WHOLE) + LEAST_POWER);
	for (int k = 0; k < GROUP; k++) {
		vec y = multiply_add(far.v[k], splat(-POWER_UNIT), splat(1));

		near.v[k] = multiply_add(near.v[k], size.v[k], size.v[k]);
		y = choose((ivec)(size.v[k] > splat(1)), y, near.v[k]);
		x.v[k] = (vec)((ivec)y | ((ivec)x.v[k] & sign));
	}
	return x;
}

INLINE struct group swish_of(struct group x, float alpha, float beta)
{
	struct group z;

	(void)beta;
	for (int k = 0; k < GROUP; k++)
		z.v[k] = x.v[k] * alpha;
	return gated(x, z);
}

INLINE struct group gelu_tanh_of(struct group x, float alpha, float beta)
{
	struct group z;

	for (int k = 0; k < GROUP; k++)
		z.v[k] = x.v[k] * multiply_add(x.v[k] * x.v[k], splat(alpha), splat(beta));
	return gated(x, z);
}

/*
 * Returns x * tanh(log(1 + e^x)), computed as x * p / (p + 2) with p = e^x * (e^x + 2). For x > 0
 * numerator and denominator are multiplied by e^-2x, so that they do not overflow.
 */
INLINE struct group mish_of(struct group x, float alpha, float beta)
{
	struct group e = decay(x);

	(void)alpha;
	(void)beta;
	for (int k = 0; k < GROUP; k++) {
		ivec below = (ivec)(x.v[k] < splat(0));
		vec power = e.v[k] * POWER_UNIT, both = 2 * power;
		vec low = multiply_add(power, power, both), high = both + 1;
		vec part = x.v[k] / choose(below, low + 2, multiply_add(both, power, high));

		part *= choose(below, e.v[k] * (power + 2), high);
		x.v[k] = part * choose(below, splat(POWER_UNIT), splat(1));
	}
	return x;
}

INLINE struct group gelu_group(struct group x, float alpha, float beta)
{
	(void)alpha;
	(void)beta;
	return gelu_of(x);
}

/* Computes the results of a function of groups; the last elements fill a group in a buffer. */
#define GROUPS(function)                                                              \
	do {                                                                          \
		float rest[GROUP * LANES] = { 0 };                                    \
		int64_t i;                                                            \
                                                                                      \
		for (i = 0; i + GROUP * LANES <= n; i += GROUP * LANES)               \
			store_group(y + i, function(load_group(x + i), alpha, beta)); \
		if (i == n)                                                           \
			break;                                                        \
		memcpy(rest, x + i, (size_t)(n - i) * sizeof(*x));                    \
		store_group(rest, function(load_group(rest), alpha, beta));           \
		memcpy(y + i, rest, (size_t)(n - i) * sizeof(*y));                    \
	} while (0)

static void by_groups(int kind, float alpha, float beta, float *y, const float *x, int64_t n)
{
	switch (kind) {
	case IR_EXP:
		GROUPS(exp_of);
		break;
	case IR_SIGMOID:
		GROUPS(sigmoid_of);
		break;
	case IR_TANH:
		GROUPS(tanh_of);
		break;
	case IR_SCALED_TANH:
		GROUPS(scaled_tanh_of);
		break;
	case IR_ERF:
		GROUPS(erf_of);
		break;
	case IR_SWISH:
		GROUPS(swish_of);
		break;
	case IR_MISH:
		GROUPS(mish_of);
		break;
	case IR_GELU_TANH:
		GROUPS(gelu_tanh_of);
		break;
	default:
		GROUPS(gelu_group);
		break;
	}
}

/* Elements that are copied at a time, because x may be y. */
#define ANGLES 256

#define ANGLES_OF(function)                                              \
	do {                                                             \
		for (int64_t i = 0; i < n; i++) {                        \
			float v = x[i];                                  \
                                                                         \
			/* angles() computes larger angles itself. */    \
			v = v >= -LIMIT && v <= LIMIT ? v : 0;           \
			y[i] = (float)cpu_of_angle(function, (double)v); \
		}                                                        \
	} while (0)

#define LIMIT ((float)CPU_MOST_ANGLE)

static void angles(enum cpu_angle what, float *restrict y, const float *restrict x, int64_t n)
{
	int far = 0;

	if (what == CPU_SIN)
		ANGLES_OF(CPU_SIN);
	else if (what == CPU_COS)
		ANGLES_OF(CPU_COS);
	else
		ANGLES_OF(CPU_TAN);
	for (int64_t i = 0; i < n; i++)
		far |= !(x[i] >= -LIMIT && x[i] <= LIMIT);
	for (int64_t i = 0; i < n && far; i++) {
		double v = (double)x[i];

		if (!(x[i] >= -LIMIT && x[i] <= LIMIT))
			y[i] = (float)(what == CPU_SIN ? sin(v) :
				       what == CPU_COS ? cos(v) :
							 tan(v));
	}
}

static void angle(enum cpu_angle what, float *y, const float *x, int64_t n)
{
	float copy[ANGLES];

	for (int64_t i = 0; i < n; i += ANGLES) {
		int64_t count = n - i < ANGLES ? n - i : ANGLES;

		memcpy(copy, x + i, (size_t)count * sizeof(*x));
		angles(what, y + i, copy, count);
	}
}

/*
 * Computes functions that take more than a few instructions, except the functions of groups; false
 * when kind is another function.
 */
static bool function(int kind, float alpha, float *y, const float *x, int64_t n)
{
	switch (kind) {
	case IR_LOG:
		EACH(cpu_log((double)v));
		return true;
	case IR_SOFTPLUS:
		EACH(cpu_softplus((double)v));
		return true;
	case IR_ELU:
		EACH(cpu_elu((double)v, (double)alpha));
		return true;
	case IR_SIN:
		angle(CPU_SIN, y, x, n);
		return true;
	case IR_COS:
		angle(CPU_COS, y, x, n);
		return true;
	case IR_TAN:
		angle(CPU_TAN, y, x, n);
		return true;
	default:
		return false;
	}
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
	case IR_SIGMOID:
	case IR_TANH:
	case IR_SCALED_TANH:
	case IR_ERF:
	case IR_GELU:
	case IR_SWISH:
	case IR_MISH:
	case IR_GELU_TANH:
		by_groups(kind, alpha, beta, y, x, n);
		return true;
	case IR_HARD_SIGMOID:
		EACH(unit(alpha * v + beta));
		return true;
	case IR_HARD_SWISH:
		EACH(v * (six(v + 3) / 6));
		return true;
	case IR_HARD_GATE:
		EACH(v * unit(alpha * v + beta));
		return true;
	case IR_STEP_GATE:
		EACH(v * (float)(v > alpha));
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
		return function(kind, alpha, y, x, n);
	}
}

/*
 * Returns the larger (max) or smaller of two equal numbers, which differ at most in the sign of
 * zero: +0 is larger than -0.
 */
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
	case IR_POW:
		PAIRS((float)cpu_pow((double)u, (double)v));
		break;
	case IR_MAX:
		PAIRS(u == v ? equals(u, v, true) : u != u || u > v ? u : v);
		break;
	default:
		PAIRS(u == v ? equals(u, v, false) : u != u || u < v ? u : v);
		break;
	}
}

/*
 * Raises x to one exponent for all elements; false for exponents without a special case. The most
 * common ones are exact, and take an instruction or two.
 */
static bool power(float *y, const float *x, double exponent, int64_t n)
{
	if (exponent == 2)
		EACH(v * v);
	else if (exponent == 3)
		EACH((double)v * (double)v * (double)v);
	else if (exponent == 1)
		EACH(v);
	else if (exponent == -1)
		EACH(1 / v);
	else if (exponent == -2)
		EACH(1 / ((double)v * (double)v));
	else if (exponent == 0.5)
		/* pow() maps -0 to +0 and -infinity to infinity; sqrt() maps them to -0 and NaN. */
		EACH(v == -INFINITY ? INFINITY : sqrtf(v + 0.0f));
	else
		return false;
	return true;
}

static void binary(int kind, float *y, const float *a, int64_t sa, const float *b, int64_t sb,
		   int64_t n)
{
	if (kind == IR_POW && sa && !sb && power(y, a, (double)*b, n))
		return;
	if (sa && sb)
		pairs(kind, y, a, 1, b, 1, n);
	else if (sa)
		pairs(kind, y, a, 1, b, 0, n);
	else
		pairs(kind, y, a, 0, b, sb, n);
}

void LEVEL_TABLE(fill_map)(struct cpu_simd *simd)
{
	simd->unary = unary;
	simd->binary = binary;
}
