// SPDX-License-Identifier: MIT
/*
 * The architected functions: accuracy against the host's libm in double, equal bits on every
 * SIMD level, and bits that never change.
 *
 * The test always checks all float16 and bfloat16 arguments and a sample of the float32 ones.
 * Environment variables ask for two campaigns over all 2^32 float32 arguments: ONPU_EXHAUSTIVE=1
 * compares every result on every level with libm (half an hour), ONPU_ALL_BITS=1 compares hashes of
 * the results of the best level (minutes). A list such as exp,log instead of 1 names functions.
 */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../random.h"
#include "math/functions.h"

#define BLOCK	      4096
#define SAMPLE_STRIDE 251
#define CANONICAL_NAN 0x7fc00000u

/*
 * functions.rst promises 1 ULP. The error of the definitions is at most 0.5 ULP plus that of the
 * evaluation in double; this tight limit finds a wrong digit in a coefficient.
 */
#define MAX_ULP 0.5001

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* A binary floating-point format: digits of the significand, exponents of its normal range. */
struct format {
	const char *name;
	int digits, min_exponent, max_exponent;
};

static const struct format binary32 = { "float32", 24, -126, 127 };
static const struct format binary16 = { "float16", 11, -14, 15 };
static const struct format bfloat16 = { "bfloat16", 8, -126, 127 };

struct worst {
	double ulp;
	float argument;
};

static uint32_t float_bits(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

static float bits_float(uint32_t bits)
{
	float x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

static int exponent_of(double x)
{
	uint64_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return (int)(bits >> 52 & 0x7ff) - 1023;
}

static double power_of_two(int exponent)
{
	uint64_t bits = (uint64_t)(exponent + 1023) << 52;
	double x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

/* Returns the true value, with an error far below one ULP of a float32. */
static double reference(enum onpu_fn fn, double x, double alpha)
{
	switch (fn) {
	case ONPU_FN_EXP:
		return exp(x);
	case ONPU_FN_LOG:
		return log(x);
	case ONPU_FN_SIN:
		return sin(x);
	case ONPU_FN_COS:
		return cos(x);
	case ONPU_FN_TAN:
		return tan(x);
	case ONPU_FN_TANH:
		return tanh(x);
	case ONPU_FN_ERF:
		return erf(x);
	case ONPU_FN_SIGMOID:
		return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x));
	case ONPU_FN_GELU:
		return 0.5 * x * erfc(-x * M_SQRT1_2);
	case ONPU_FN_SOFTPLUS:
		return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
	case ONPU_FN_SOFTSIGN:
		return x / (1 + fabs(x));
	case ONPU_FN_ELU:
		return x < 0 ? alpha * expm1(x) : x;
	case ONPU_FN_RECIP:
		return 1 / x;
	case ONPU_FN_SQRT:
		return sqrt(x);
	case ONPU_FN_RSQRT:
		return 1 / sqrt(x);
	default:
		fail_msg("no reference for function %d", fn);
		return 0;
	}
}

/*
 * Returns |result - truth| in ULPs of truth; infinity when only one of them is NaN or when a zero
 * has the wrong sign.
 */
static double ulp_error(const struct format *format, double result, double truth)
{
	double limit = power_of_two(format->max_exponent) * 2;
	int exponent;

	if (isnan(truth) || isnan(result))
		return isnan(truth) && isnan(result) ? 0 : INFINITY;
	if (result == 0 && signbit(result) != signbit(truth))
		return INFINITY;
	if (result == truth)
		return 0;
	if (fabs(truth) > limit)
		truth = copysign(limit, truth);
	if (fabs(result) > limit)
		result = copysign(limit, result);
	exponent = exponent_of(truth);
	if (exponent < format->min_exponent)
		exponent = format->min_exponent;
	if (exponent > format->max_exponent)
		exponent = format->max_exponent;
	return fabs(result - truth) * power_of_two(format->digits - 1 - exponent);
}

/* Returns x rounded to nearest even in the format, which is float16 or bfloat16. */
static double round_to(const struct format *format, double x)
{
	int exponent = exponent_of(x);
	double shift, result;

	if (isnan(x) || isinf(x))
		return x;
	if (exponent < format->min_exponent)
		exponent = format->min_exponent;
	shift = 1.5 * power_of_two(exponent - format->digits + 1) * 0x1p52;
	result = fabs(x) + shift - shift;
	if (result >= power_of_two(format->max_exponent) * 2)
		result = INFINITY;
	return copysign(result, x);
}

static float half_value(uint16_t bits)
{
	int exponent = bits >> 10 & 31;
	int fraction = bits & 1023;
	float x;

	if (exponent == 31)
		x = fraction ? NAN : INFINITY;
	else if (exponent == 0)
		x = (float)fraction * 0x1p-24f;
	else
		x = (float)((1024 + fraction) * power_of_two(exponent - 25));
	return bits >> 15 ? -x : x;
}

static void note(struct worst *worst, double ulp, float argument)
{
	if (ulp > worst->ulp) {
		worst->ulp = ulp;
		worst->argument = argument;
	}
}

static void check_worst(const char *name, const struct format *format, const struct worst *worst)
{
	if (worst->ulp > MAX_ULP)
		fail_msg("%s(%a): error of %g ULP of %s, at most %g are allowed", name,
			 worst->argument, worst->ulp, format->name, MAX_ULP);
}

/* Puts the results of the scalar level in @dst; fails when another level gives other bits. */
static void evaluate(enum onpu_fn fn, float alpha, float *dst, const float *src, size_t n)
{
	float other[BLOCK];

	onpu_fn_table(ONPU_SIMD_SCALAR)[fn](dst, src, n, alpha, 0);
	for (int level = ONPU_SIMD_SCALAR + 1; level < ONPU_SIMD_COUNT; level++) {
		const onpu_fn_array *table = onpu_fn_table(level);

		if (!table)
			continue;
		table[fn](other, src, n, alpha, 0);
		if (!memcmp(dst, other, n * sizeof(float)))
			continue;
		for (size_t i = 0; i < n; i++) {
			if (float_bits(dst[i]) != float_bits(other[i]))
				fail_msg("%s(%a): scalar gives %08x, %s gives %08x",
					 onpu_fn_name(fn), src[i], float_bits(dst[i]),
					 onpu_simd_name(level), float_bits(other[i]));
		}
	}
}

static void check_block(enum onpu_fn fn, float alpha, const float *src, size_t n,
			struct worst *worst)
{
	float result[BLOCK];

	evaluate(fn, alpha, result, src, n);
	for (size_t i = 0; i < n; i++) {
		double truth = reference(fn, src[i], alpha);

		if (isnan(result[i]) && float_bits(result[i]) != CANONICAL_NAN)
			fail_msg("%s(%a): NaN %08x is not canonical", onpu_fn_name(fn), src[i],
				 float_bits(result[i]));
		note(worst, ulp_error(&binary32, result[i], truth), src[i]);
	}
}

/* Checks @count arguments: bit patterns from @first on, @stride apart. */
static void check_patterns(enum onpu_fn fn, float alpha, uint64_t first, uint64_t stride,
			   uint64_t count, struct worst *worst)
{
	float src[BLOCK];

	while (count) {
		size_t n = count < BLOCK ? count : BLOCK;

		for (size_t i = 0; i < n; i++)
			src[i] = bits_float((uint32_t)(first + i * stride));
		check_block(fn, alpha, src, n, worst);
		first += n * stride;
		count -= n;
	}
}

/* Checks arguments around which the definition changes: reductions, clamps, selects, overflow. */
static void check_edges(enum onpu_fn fn, float alpha, struct worst *worst)
{
	static const float edges[] = {
		0.0f,	     FLT_MIN,	  FLT_MAX,	   INFINITY,	0.5f,	     1.0f,
		2.0f,	     1.41421356f, 0.70710678f,	   0.34657359f, 0.69314718f, 0.78539816f,
		1.57079633f, 3.14159265f, 0x1p28f,	   0x1p24f,	4.0f,	     3.9192f,
		5.4f,	     9.1f,	  10.0f,	   15.0f,	14.2f,	     17.33f,
		20.0f,	     87.34f,	  88.73f,	   103.98f,	128.0f,	     0.8813736f,
		6.2831853f,  10.9955743f, 0x1.ddebdep119f,
	};
	enum { AROUND = 2000 };

	for (size_t i = 0; i < ARRAY_SIZE(edges); i++) {
		uint32_t bits = float_bits(edges[i]) - AROUND;

		check_patterns(fn, alpha, bits, 1, 2 * AROUND, worst);
		check_patterns(fn, alpha, bits ^ 0x80000000u, 1, 2 * AROUND, worst);
	}
}

static void test_levels(void **state)
{
	(void)state;
	assert_true(onpu_simd_supported(ONPU_SIMD_SCALAR));
	assert_true(onpu_simd_supported(onpu_simd_best()));
	for (int level = 0; level < ONPU_SIMD_COUNT; level++) {
		bool supported = onpu_simd_supported(level);

		assert_int_equal(onpu_fn_table(level) != NULL, supported);
		assert_int_equal(onpu_fn_pow_array(level) != NULL, supported);
		for (int fn = 0; supported && fn < ONPU_FN_COUNT; fn++)
			assert_non_null(onpu_fn_table(level)[fn]);
	}
	assert_false(onpu_simd_supported(ONPU_SIMD_COUNT));
	assert_null(onpu_fn_table(ONPU_SIMD_COUNT));
}

/* The 16-bit forms convert to float32, apply the function and round once. */
static void check_narrow(enum onpu_fn fn, const struct format *format, float (*value)(uint16_t))
{
	struct worst worst = { 0 };
	float src[BLOCK], result[BLOCK];

	for (uint32_t first = 0; first < 0x10000; first += BLOCK) {
		for (uint32_t i = 0; i < BLOCK; i++)
			src[i] = value((uint16_t)(first + i));
		evaluate(fn, 1.0f, result, src, BLOCK);
		for (uint32_t i = 0; i < BLOCK; i++)
			note(&worst,
			     ulp_error(format, round_to(format, result[i]),
				       reference(fn, src[i], 1.0)),
			     src[i]);
	}
	check_worst(onpu_fn_name(fn), format, &worst);
}

static float bfloat_value(uint16_t bits)
{
	return bits_float((uint32_t)bits << 16);
}

static void test_16_bit(void **state)
{
	(void)state;
	assert_true(half_value(0x3c00) == 1.0f && half_value(0xfbff) == -65504.0f);
	assert_true(half_value(0x0001) == 0x1p-24f && isinf(half_value(0x7c00)));
	assert_true(round_to(&binary16, 65519.99) == 65504 && isinf(round_to(&binary16, 65520)));
	assert_true(round_to(&binary16, 0x1.8p-24) == 0x1p-23 && round_to(&binary16, 2049) == 2048);
	for (int fn = 0; fn < ONPU_FN_COUNT; fn++) {
		check_narrow(fn, &binary16, half_value);
		check_narrow(fn, &bfloat16, bfloat_value);
	}
}

static void test_sampled(void **state)
{
	(void)state;
	for (int fn = 0; fn < ONPU_FN_COUNT; fn++) {
		struct worst worst = { 0 };

		check_patterns(fn, 1.0f, 0, SAMPLE_STRIDE, (UINT64_C(1) << 32) / SAMPLE_STRIDE,
			       &worst);
		check_edges(fn, 1.0f, &worst);
		check_worst(onpu_fn_name(fn), &binary32, &worst);
	}
}

static void test_elu_alpha(void **state)
{
	static const float alphas[] = { 0.0f, 0.3f, -2.5f, 1e-30f, 3e38f, INFINITY, NAN };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(alphas); i++) {
		struct worst worst = { 0 };

		check_patterns(ONPU_FN_ELU, alphas[i], 0, 40009, (UINT64_C(1) << 32) / 40009,
			       &worst);
		check_edges(ONPU_FN_ELU, alphas[i], &worst);
		check_worst("elu", &binary32, &worst);
	}
}

static bool named(const char *list, const char *name)
{
	size_t length = strlen(name);

	if (!strcmp(list, "1"))
		return true;
	for (const char *at = strstr(list, name); at; at = strstr(at + 1, name)) {
		if ((at == list || at[-1] == ',') && (!at[length] || at[length] == ','))
			return true;
	}
	return false;
}

/*
 * Returns the value of an environment variable that asks for a campaign, NULL when it is not set,
 * empty or 0.
 */
static const char *campaign(const char *variable)
{
	const char *list = getenv(variable);

	return list && *list && strcmp(list, "0") ? list : NULL;
}

static void test_exhaustive(void **state)
{
	const char *list = campaign("ONPU_EXHAUSTIVE");

	(void)state;
	if (!list)
		skip();
	for (int fn = 0; fn < ONPU_FN_COUNT; fn++) {
		struct worst worst = { 0 };

		if (!named(list, onpu_fn_name(fn)))
			continue;
		check_patterns(fn, 1.0f, 0, 1, UINT64_C(1) << 32, &worst);
		printf("%-8s all 2^32 arguments: at most %.9f ULP, at %a\n", onpu_fn_name(fn),
		       worst.ulp, worst.argument);
		fflush(stdout);
		check_worst(onpu_fn_name(fn), &binary32, &worst);
	}
}

/* Arrays have any length and alignment, in place or not; nothing beside the results is written. */
static void test_arrays(void **state)
{
	enum { MOST = 600 };
	float src[MOST], expected[MOST], dst[MOST + 2];

	(void)state;
	for (int i = 0; i < MOST; i++)
		src[i] = i % 7 ? (float)(i - 300) * 0.0625f : (float)(i + 1) * 0x1.9p30f;
	for (int level = 0; level < ONPU_SIMD_COUNT; level++) {
		const onpu_fn_array *table = onpu_fn_table(level);

		for (int fn = 0; table && fn < ONPU_FN_COUNT; fn++) {
			onpu_fn_table(ONPU_SIMD_SCALAR)[fn](expected, src, MOST, 0.5f, 0);
			for (int n = 0; n < MOST; n += n < 70 ? 1 : 53) {
				for (int i = 0; i < MOST + 2; i++)
					dst[i] = 77.0f;
				table[fn](dst + 1, src, n, 0.5f, 0);
				assert_memory_equal(dst + 1, expected, n * sizeof(float));
				assert_true(dst[0] == 77.0f && dst[n + 1] == 77.0f);
				memcpy(dst + 1, src, n * sizeof(float));
				table[fn](dst + 1, dst + 1, n, 0.5f, 0);
				assert_memory_equal(dst + 1, expected, n * sizeof(float));
				assert_true(dst[0] == 77.0f && dst[n + 1] == 77.0f);
			}
		}
	}
}

struct special {
	enum onpu_fn fn;
	float argument, result;
};

static const struct special specials[] = {
	{ ONPU_FN_EXP, -INFINITY, 0.0f },
	{ ONPU_FN_EXP, INFINITY, INFINITY },
	{ ONPU_FN_EXP, -0.0f, 1.0f },
	{ ONPU_FN_EXP, FLT_MAX, INFINITY },
	{ ONPU_FN_EXP, 88.8f, INFINITY },
	{ ONPU_FN_EXP, -103.9f, 0x1p-149f },
	{ ONPU_FN_EXP, -104.0f, 0.0f },
	/* These two results need the constant LN2_LO. */
	{ ONPU_FN_EXP, 0x1.112856p+6f, 0x1.6f498ap+98f },
	{ ONPU_FN_EXP, -0x1.d2259ap+3f, 0x1.fa6636p-22f },
	{ ONPU_FN_LOG, -0.0f, -INFINITY },
	{ ONPU_FN_LOG, 0.0f, -INFINITY },
	{ ONPU_FN_LOG, -1.0f, NAN },
	{ ONPU_FN_LOG, -INFINITY, NAN },
	{ ONPU_FN_LOG, INFINITY, INFINITY },
	{ ONPU_FN_LOG, 1.0f, 0.0f },
	{ ONPU_FN_LOG, 0x1p-149f, -0x1.9d1dap+6f },
	{ ONPU_FN_SIN, -0.0f, -0.0f },
	{ ONPU_FN_SIN, INFINITY, NAN },
	{ ONPU_FN_SIN, -INFINITY, NAN },
	{ ONPU_FN_SIN, FLT_MAX, -0x1.0b3366p-1f },
	{ ONPU_FN_SIN, -0x1p-149f, -0x1p-149f },
	{ ONPU_FN_COS, -0.0f, 1.0f },
	{ ONPU_FN_COS, INFINITY, NAN },
	{ ONPU_FN_COS, -FLT_MAX, 0x1.b4bf2cp-1f },
	{ ONPU_FN_TAN, -0.0f, -0.0f },
	{ ONPU_FN_TAN, -INFINITY, NAN },
	{ ONPU_FN_TANH, -0.0f, -0.0f },
	{ ONPU_FN_TANH, INFINITY, 1.0f },
	{ ONPU_FN_TANH, -INFINITY, -1.0f },
	{ ONPU_FN_ERF, -0.0f, -0.0f },
	{ ONPU_FN_ERF, INFINITY, 1.0f },
	{ ONPU_FN_ERF, -FLT_MAX, -1.0f },
	{ ONPU_FN_SIGMOID, -INFINITY, 0.0f },
	{ ONPU_FN_SIGMOID, INFINITY, 1.0f },
	{ ONPU_FN_SIGMOID, -0.0f, 0.5f },
	{ ONPU_FN_GELU, -INFINITY, NAN },
	{ ONPU_FN_GELU, INFINITY, INFINITY },
	{ ONPU_FN_GELU, -FLT_MAX, -0.0f },
	{ ONPU_FN_GELU, FLT_MAX, FLT_MAX },
	{ ONPU_FN_GELU, -0.0f, -0.0f },
	{ ONPU_FN_GELU, 0.0f, 0.0f },
	{ ONPU_FN_SOFTPLUS, -INFINITY, 0.0f },
	{ ONPU_FN_SOFTPLUS, INFINITY, INFINITY },
	{ ONPU_FN_SOFTSIGN, INFINITY, NAN },
	{ ONPU_FN_SOFTSIGN, -INFINITY, NAN },
	{ ONPU_FN_SOFTSIGN, -0.0f, -0.0f },
	{ ONPU_FN_SOFTSIGN, FLT_MAX, 1.0f },
	{ ONPU_FN_ELU, -0.0f, -0.0f },
	{ ONPU_FN_ELU, -INFINITY, -1.0f },
	{ ONPU_FN_ELU, INFINITY, INFINITY },
	{ ONPU_FN_ELU, -FLT_MAX, -1.0f },
	{ ONPU_FN_RECIP, -0.0f, -INFINITY },
	{ ONPU_FN_RECIP, -INFINITY, -0.0f },
	{ ONPU_FN_RECIP, FLT_MAX, 0x1p-128f },
	{ ONPU_FN_RECIP, 0x1p-149f, INFINITY },
	{ ONPU_FN_SQRT, -0.0f, -0.0f },
	{ ONPU_FN_SQRT, -FLT_MIN, NAN },
	{ ONPU_FN_SQRT, INFINITY, INFINITY },
	{ ONPU_FN_SQRT, -INFINITY, NAN },
	{ ONPU_FN_RSQRT, -0.0f, -INFINITY },
	{ ONPU_FN_RSQRT, 0.0f, INFINITY },
	{ ONPU_FN_RSQRT, INFINITY, 0.0f },
	{ ONPU_FN_RSQRT, -1.0f, NAN },
};

/* Compares results as bits, so that the signs of zeros count. */
static void test_special_values(void **state)
{
	float result, nan = bits_float(0xffa12345);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(specials); i++) {
		const struct special *s = &specials[i];
		uint32_t expected = isnan(s->result) ? CANONICAL_NAN : float_bits(s->result);

		evaluate(s->fn, 1.0f, &result, &s->argument, 1);
		if (float_bits(result) != expected)
			fail_msg("%s(%a) is %a, expected %a", onpu_fn_name(s->fn), s->argument,
				 result, s->result);
	}
	for (int fn = 0; fn < ONPU_FN_COUNT; fn++) {
		evaluate(fn, 1.0f, &result, &nan, 1);
		assert_int_equal(float_bits(result), CANONICAL_NAN);
	}
}

/* Puts the results of the scalar pow in @dst; fails when a level gives other bits. */
static void evaluate_pow(float *dst, const float *x, const float *y, size_t n)
{
	float other[BLOCK];

	for (size_t i = 0; i < n; i++)
		dst[i] = onpu_fn_pow(x[i], y[i]);
	for (int level = 0; level < ONPU_SIMD_COUNT; level++) {
		if (!onpu_simd_supported(level))
			continue;
		onpu_fn_pow_array(level)(other, x, y, n);
		for (size_t i = 0; i < n; i++) {
			if (float_bits(dst[i]) != float_bits(other[i]))
				fail_msg("pow(%a, %a): scalar gives %08x, %s gives %08x", x[i],
					 y[i], float_bits(dst[i]), onpu_simd_name(level),
					 float_bits(other[i]));
		}
	}
}

static void check_pow(const float *x, const float *y, size_t n, struct worst *worst)
{
	float result[BLOCK];

	evaluate_pow(result, x, y, n);
	for (size_t i = 0; i < n; i++) {
		double ulp = ulp_error(&binary32, result[i], pow(x[i], y[i]));

		if (isnan(result[i]))
			assert_int_equal(float_bits(result[i]), CANONICAL_NAN);
		if (ulp > MAX_ULP)
			fail_msg("pow(%a, %a) is %a, expected %a", x[i], y[i], result[i],
				 pow(x[i], y[i]));
		note(worst, ulp, x[i]);
	}
}

/* Tests every pair of values that C's Annex F names, and some next to them. */
static void test_pow_special(void **state)
{
	static const float values[] = {
		0.0f,		1.0f,	   INFINITY,	   0.5f,	   2.0f,    3.0f,
		4.0f,		0x1p-149f, FLT_MIN,	   FLT_MAX,	   1.5f,    0x1.fffffep-1f,
		0x1.000002p0f,	0x1p23f,   0x1.000002p23f, 0x1.fffffep22f, 0x1p24f, 0x1.000002p24f,
		0x1.fffffep23f, 0x1p31f,   10.0f,	   127.0f,	   128.0f,  149.0f,
		150.0f,		151.0f,	   0.1f,	   1e-30f,	   7.0f,    33.0f,
	};
	struct worst worst = { 0 };
	float x[BLOCK], y[BLOCK], nan = bits_float(0xffa12345);
	size_t n = 0, count = ARRAY_SIZE(values);

	(void)state;
	for (size_t i = 0; i < 2 * count; i++) {
		for (size_t j = 0; j < 2 * count; j++, n++) {
			x[n] = i < count ? values[i] : -values[i - count];
			y[n] = j < count ? values[j] : -values[j - count];
		}
	}
	check_pow(x, y, n, &worst);
	assert_true(onpu_fn_pow(nan, 0.0f) == 1.0f && onpu_fn_pow(nan, -0.0f) == 1.0f);
	assert_true(onpu_fn_pow(1.0f, nan) == 1.0f);
	assert_int_equal(float_bits(onpu_fn_pow(nan, 1.0f)), CANONICAL_NAN);
	assert_int_equal(float_bits(onpu_fn_pow(-1.0f, nan)), CANONICAL_NAN);
	assert_int_equal(float_bits(onpu_fn_pow(0.0f, nan)), CANONICAL_NAN);
	assert_true(onpu_fn_pow(-1.0f, INFINITY) == 1.0f);
	assert_true(onpu_fn_pow(-0.0f, -3.0f) == -INFINITY);
	assert_true(onpu_fn_pow(3.0f, 4.0f) == 81.0f && onpu_fn_pow(-2.0f, 3.0f) == -8.0f);
}

/*
 * Draws the operands of pow. Kind 0: any bits. 1: results in range. 2: base near one. 3: small
 * integer exponents.
 */
static void pow_arguments(int kind, struct rng *random, float *x, float *y)
{
	*x = bits_float(rng_u32(random));
	*y = bits_float(rng_u32(random));
	if (kind == 1)
		*y = (float)(((double)rng_u32(random) * 0x1p-31 - 1) * 150 /
			     log2(fabs((double)*x)));
	if (kind == 2) {
		*x = bits_float(0x3f800000u + (rng_u32(random) & 0x1fffff) - 0xfffff);
		*y = (float)(((double)rng_u32(random) * 0x1p-31 - 1) * 2000);
	}
	if (kind == 3)
		*y = (float)((int)(rng_u32(random) & 31) - 16);
}

static void test_pow_sampled(void **state)
{
	struct worst worst = { 0 };
	struct rng random = { 1 };
	float x[BLOCK], y[BLOCK];

	(void)state;
	for (int block = 0; block < 1200; block++) {
		for (int i = 0; i < BLOCK; i++)
			pow_arguments(i & 3, &random, &x[i], &y[i]);
		check_pow(x, y, BLOCK, &worst);
	}
}

/* The result may replace either operand; arrays have any length. */
static void test_pow_arrays(void **state)
{
	float x[100], y[100], expected[100], dst[102];

	(void)state;
	for (int i = 0; i < 100; i++) {
		x[i] = (float)(i - 20) * 0.5f;
		y[i] = (float)(i % 11 - 5);
	}
	onpu_fn_pow_array(ONPU_SIMD_SCALAR)(expected, x, y, 100);
	for (int level = 0; level < ONPU_SIMD_COUNT; level++) {
		onpu_fn_array2 array = onpu_fn_pow_array(level);

		for (int n = 0; array && n <= 100; n++) {
			dst[n] = 77.0f;
			array(dst, x, y, n);
			assert_memory_equal(dst, expected, n * sizeof(float));
			memcpy(dst, x, n * sizeof(float));
			array(dst, dst, y, n);
			assert_memory_equal(dst, expected, n * sizeof(float));
			memcpy(dst, y, n * sizeof(float));
			array(dst, x, dst, n);
			assert_memory_equal(dst, expected, n * sizeof(float));
			assert_true(dst[n] == 77.0f);
		}
	}
}

static uint64_t hash_results(uint64_t hash, const float *results, size_t n)
{
	for (size_t i = 0; i < n; i++)
		hash = (hash ^ float_bits(results[i])) * UINT64_C(0x100000001b3);
	return hash;
}

static uint64_t hash_function(int fn)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325), random = 2;
	float x[BLOCK], y[BLOCK], result[BLOCK];

	for (int block = 0; block < 256; block++) {
		for (int i = 0; i < BLOCK; i++) {
			x[i] = bits_float((uint32_t)(block * BLOCK + i) * 4095u);
			/*
			 * The hashes in test_frozen() depend on these numbers, which therefore do
			 * not come from random.h.
			 */
			random = random * UINT64_C(6364136223846793005) +
				 UINT64_C(1442695040888963407);
			y[i] = (float)((int)(random >> 32) >> 16) * 0x1p-11f;
		}
		if (fn < ONPU_FN_COUNT)
			evaluate(fn, 0.75f, result, x, BLOCK);
		else
			evaluate_pow(result, x, y, BLOCK);
		hash = hash_results(hash, result, BLOCK);
	}
	return hash;
}

/*
 * Compares hashes of result bits. A difference means that programs give other results than before:
 * that is a new machine with a new name, never a change of this table alone.
 */
static void test_frozen(void **state)
{
	static const uint64_t frozen[ONPU_FN_COUNT + 1] = {
		[ONPU_FN_EXP] = UINT64_C(0x0bb993cbb33fc523),
		[ONPU_FN_LOG] = UINT64_C(0xe29b6b8b435fdf92),
		[ONPU_FN_SIN] = UINT64_C(0xf127334e4c4eb8f3),
		[ONPU_FN_COS] = UINT64_C(0x85e3f6166359f352),
		[ONPU_FN_TAN] = UINT64_C(0x35d7f07f9bd602c6),
		[ONPU_FN_TANH] = UINT64_C(0xf513fb8634431d02),
		[ONPU_FN_ERF] = UINT64_C(0xfb907770908fd835),
		[ONPU_FN_SIGMOID] = UINT64_C(0x26adfb44f2196c4b),
		[ONPU_FN_GELU] = UINT64_C(0xb8b4595842d02270),
		[ONPU_FN_SOFTPLUS] = UINT64_C(0x017052c0877527c2),
		[ONPU_FN_SOFTSIGN] = UINT64_C(0x84d9a6779ba7e249),
		[ONPU_FN_ELU] = UINT64_C(0x43b64699195159d5),
		[ONPU_FN_RECIP] = UINT64_C(0x135de4b6f5780bfe),
		[ONPU_FN_SQRT] = UINT64_C(0xb1183ba4fb0ca3a1),
		[ONPU_FN_RSQRT] = UINT64_C(0xb69bbb1f23e297bf),
		[ONPU_FN_COUNT] = UINT64_C(0x89a09d618f5da4b8),
	};
	int changed = 0;

	(void)state;
	for (int fn = 0; fn <= ONPU_FN_COUNT; fn++) {
		uint64_t hash = hash_function(fn);

		if (hash == frozen[fn])
			continue;
		changed++;
		print_error("%s: results hash to 0x%016llx, not to the frozen 0x%016llx\n",
			    fn < ONPU_FN_COUNT ? onpu_fn_name(fn) : "pow", (unsigned long long)hash,
			    (unsigned long long)frozen[fn]);
	}
	assert_int_equal(changed, 0);
}

static uint64_t hash_all_arguments(enum onpu_fn fn)
{
	onpu_fn_array array = onpu_fn_table(onpu_simd_best())[fn];
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	float x[BLOCK], result[BLOCK];

	for (uint64_t first = 0; first < UINT64_C(1) << 32; first += BLOCK) {
		for (uint32_t i = 0; i < BLOCK; i++)
			x[i] = bits_float((uint32_t)first + i);
		array(result, x, BLOCK, 0.75f, 0);
		hash = hash_results(hash, result, BLOCK);
	}
	return hash;
}

/* Compares the results for all arguments: a new compiler or host has to pass this once. */
static void test_all_bits(void **state)
{
	static const uint64_t frozen[ONPU_FN_COUNT] = {
		[ONPU_FN_EXP] = UINT64_C(0xadf283b2b8a04772),
		[ONPU_FN_LOG] = UINT64_C(0xb9ad67e08ae8f0fa),
		[ONPU_FN_SIN] = UINT64_C(0xc0719c2d610d8685),
		[ONPU_FN_COS] = UINT64_C(0x36f2c79ac359cbb5),
		[ONPU_FN_TAN] = UINT64_C(0x8c0c8cc5fbc6dfbd),
		[ONPU_FN_TANH] = UINT64_C(0x9363b80d987f3611),
		[ONPU_FN_ERF] = UINT64_C(0x4b9656d29d940fa5),
		[ONPU_FN_SIGMOID] = UINT64_C(0x97b0ee3687aa96ca),
		[ONPU_FN_GELU] = UINT64_C(0x3016f296c9c06481),
		[ONPU_FN_SOFTPLUS] = UINT64_C(0x39690136a5a87fa1),
		[ONPU_FN_SOFTSIGN] = UINT64_C(0xbd989f18fa7325e5),
		[ONPU_FN_ELU] = UINT64_C(0x161264d489ea47eb),
		[ONPU_FN_RECIP] = UINT64_C(0x73fba11ffcdc03cd),
		[ONPU_FN_SQRT] = UINT64_C(0x39b582444f0a4d93),
		[ONPU_FN_RSQRT] = UINT64_C(0x12f40da44be52d43),
	};
	const char *list = campaign("ONPU_ALL_BITS");
	int changed = 0;

	(void)state;
	if (!list)
		skip();
	for (int fn = 0; fn < ONPU_FN_COUNT; fn++) {
		uint64_t hash;

		if (!named(list, onpu_fn_name(fn)))
			continue;
		hash = hash_all_arguments(fn);
		if (hash == frozen[fn])
			continue;
		changed++;
		print_error("%s: all results hash to 0x%016llx, not to the frozen 0x%016llx\n",
			    onpu_fn_name(fn), (unsigned long long)hash,
			    (unsigned long long)frozen[fn]);
	}
	assert_int_equal(changed, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_levels),	    cmocka_unit_test(test_special_values),
		cmocka_unit_test(test_arrays),	    cmocka_unit_test(test_16_bit),
		cmocka_unit_test(test_sampled),	    cmocka_unit_test(test_elu_alpha),
		cmocka_unit_test(test_pow_special), cmocka_unit_test(test_pow_arrays),
		cmocka_unit_test(test_pow_sampled), cmocka_unit_test(test_frozen),
		cmocka_unit_test(test_all_bits),    cmocka_unit_test(test_exhaustive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
