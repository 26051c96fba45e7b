// SPDX-License-Identifier: MIT
/*
 * The architected functions, one element at a time, and the choice of SIMD level. The page
 * uapi/onpu/functions.rst defines the functions.
 */
#include "math/functions_options.h"

#include "math/functions_core.h"
#include "math/functions_internal.h"

__extension__ typedef unsigned __int128 fn_u128;
__extension__ typedef __int128 fn_s128;

static const uint64_t fn_two_over_pi[4] = FN_TWO_OVER_PI_WORDS;

/* Returns the bits number first .. first + 63 of 2/pi after the binary point, counted from 1. */
static uint64_t fn_two_over_pi_bits(unsigned int first)
{
	unsigned int word = (first - 1) / 64, shift = (first - 1) % 64;
	uint64_t bits = fn_two_over_pi[word] << shift;

	if (shift)
		bits |= fn_two_over_pi[word + 1] >> (64 - shift);
	return bits;
}

/*
 * Returns the quadrant and the rest of a large angle, by the method of Payne and Hanek. With |x| =
 * m * 2^e, bits of 2/pi of weight 2^(2-e) and more contribute multiples of 4 quadrants, so 128 bits
 * of 2/pi, from weight 2^(1-e) downwards, decide the angle.
 */
static FN_TARGET_SCALAR struct fn_angle fn_angle_huge(float x)
{
	struct fn_angle angle;
	uint32_t bits, e;
	fn_u128 window, turns;
	fn_s128 rest;

	memcpy(&bits, &x, sizeof(bits));
	e = (bits >> 23 & 0xff) - 150;
	window = (fn_u128)fn_two_over_pi_bits(e - 1) << 64 | fn_two_over_pi_bits(e + 63);
	turns = window * ((bits & 0x7fffff) | 0x800000);
	turns += (fn_u128)1 << 125;
	angle.quadrant = turns >> 126;
	rest = (fn_s128)(turns & (((fn_u128)1 << 126) - 1)) - ((fn_s128)1 << 125);
	angle.rest = (double)rest * 0x1p-126 * FN_PIO2_HI;
	return angle;
}

static FN_TARGET_SCALAR struct fn_angle fn_angle(float x)
{
	float a = __builtin_fabsf(x);

	return a >= FN_TRIG_HUGE && a < __builtin_inff() ? fn_angle_huge(x) : fn_angle_small(a);
}

FN_TARGET_SCALAR float onpu_fn_exp(float x)
{
	return fn_exp(x);
}

FN_TARGET_SCALAR float onpu_fn_log(float x)
{
	return fn_log(x);
}

FN_TARGET_SCALAR float onpu_fn_sin(float x)
{
	return fn_sin_angle(fn_angle(x), x);
}

FN_TARGET_SCALAR float onpu_fn_cos(float x)
{
	return fn_cos_angle(fn_angle(x), x);
}

FN_TARGET_SCALAR float onpu_fn_tan(float x)
{
	return fn_tan_angle(fn_angle(x), x);
}

FN_TARGET_SCALAR float onpu_fn_tanh(float x)
{
	return fn_tanh(x);
}

FN_TARGET_SCALAR float onpu_fn_erf(float x)
{
	return fn_erf(x);
}

FN_TARGET_SCALAR float onpu_fn_sigmoid(float x)
{
	return fn_sigmoid(x);
}

FN_TARGET_SCALAR float onpu_fn_gelu(float x)
{
	return fn_gelu(x);
}

FN_TARGET_SCALAR float onpu_fn_softplus(float x)
{
	return fn_softplus(x);
}

FN_TARGET_SCALAR float onpu_fn_softsign(float x)
{
	return fn_softsign(x);
}

FN_TARGET_SCALAR float onpu_fn_elu(float x, float alpha)
{
	return fn_elu(x, alpha);
}

FN_TARGET_SCALAR float onpu_fn_recip(float x)
{
	return fn_recip(x);
}

FN_TARGET_SCALAR float onpu_fn_sqrt(float x)
{
	return fn_sqrt(x);
}

FN_TARGET_SCALAR float onpu_fn_rsqrt(float x)
{
	return fn_rsqrt(x);
}

FN_TARGET_SCALAR float onpu_fn_pow(float x, float y)
{
	return fn_pow(x, y);
}

#define FN_DEFINE(name, call)                                                             \
	static void fn_scalar_##name(float *dst, const float *src, size_t n, float alpha, \
				     float beta)                                          \
	{                                                                                 \
		(void)alpha;                                                              \
		(void)beta;                                                               \
		for (size_t i = 0; i < n; i++) {                                          \
			float x = src[i];                                                 \
                                                                                          \
			dst[i] = (call);                                                  \
		}                                                                         \
	}

FN_DEFINE(exp, onpu_fn_exp(x))
FN_DEFINE(log, onpu_fn_log(x))
FN_DEFINE(sin, onpu_fn_sin(x))
FN_DEFINE(cos, onpu_fn_cos(x))
FN_DEFINE(tan, onpu_fn_tan(x))
FN_DEFINE(tanh, onpu_fn_tanh(x))
FN_DEFINE(erf, onpu_fn_erf(x))
FN_DEFINE(sigmoid, onpu_fn_sigmoid(x))
FN_DEFINE(gelu, onpu_fn_gelu(x))
FN_DEFINE(softplus, onpu_fn_softplus(x))
FN_DEFINE(softsign, onpu_fn_softsign(x))
FN_DEFINE(elu, onpu_fn_elu(x, alpha))
FN_DEFINE(recip, onpu_fn_recip(x))
FN_DEFINE(sqrt, onpu_fn_sqrt(x))
FN_DEFINE(rsqrt, onpu_fn_rsqrt(x))

static void fn_scalar_pow(float *dst, const float *x, const float *y, size_t n)
{
	for (size_t i = 0; i < n; i++)
		dst[i] = onpu_fn_pow(x[i], y[i]);
}

static const onpu_fn_array fn_scalar_table[ONPU_FN_COUNT] = {
	[ONPU_FN_EXP] = fn_scalar_exp,		 [ONPU_FN_LOG] = fn_scalar_log,
	[ONPU_FN_SIN] = fn_scalar_sin,		 [ONPU_FN_COS] = fn_scalar_cos,
	[ONPU_FN_TAN] = fn_scalar_tan,		 [ONPU_FN_TANH] = fn_scalar_tanh,
	[ONPU_FN_ERF] = fn_scalar_erf,		 [ONPU_FN_SIGMOID] = fn_scalar_sigmoid,
	[ONPU_FN_GELU] = fn_scalar_gelu,	 [ONPU_FN_SOFTPLUS] = fn_scalar_softplus,
	[ONPU_FN_SOFTSIGN] = fn_scalar_softsign, [ONPU_FN_ELU] = fn_scalar_elu,
	[ONPU_FN_RECIP] = fn_scalar_recip,	 [ONPU_FN_SQRT] = fn_scalar_sqrt,
	[ONPU_FN_RSQRT] = fn_scalar_rsqrt,
};

static const struct fn_level fn_level_scalar = {
	.table = fn_scalar_table,
	.pow_array = fn_scalar_pow,
};

static const struct fn_level *const fn_levels[ONPU_SIMD_COUNT] = {
	[ONPU_SIMD_SCALAR] = &fn_level_scalar,
	[ONPU_SIMD_AVX2] = &fn_level_avx2,
	[ONPU_SIMD_AVX512] = &fn_level_avx512,
};

bool onpu_simd_supported(enum onpu_simd level)
{
#if defined(__x86_64__)
	bool fma = __builtin_cpu_supports("fma");

	switch (level) {
	case ONPU_SIMD_SCALAR:
		return fma;
	case ONPU_SIMD_AVX2:
		return fma && __builtin_cpu_supports("avx2");
	case ONPU_SIMD_AVX512:
		return fma && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("avx512f") &&
		       __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
		       __builtin_cpu_supports("avx512vl");
	default:
		return false;
	}
#else
	return level == ONPU_SIMD_SCALAR;
#endif
}

enum onpu_simd onpu_simd_best(void)
{
	enum onpu_simd level = ONPU_SIMD_COUNT - 1;

	while (level > ONPU_SIMD_SCALAR && !onpu_simd_supported(level))
		level--;
	return level;
}

const char *onpu_simd_name(enum onpu_simd level)
{
	static const char *const names[ONPU_SIMD_COUNT] = { "scalar", "avx2", "avx512" };

	return level < ONPU_SIMD_COUNT ? names[level] : "unknown";
}

const onpu_fn_array *onpu_fn_table(enum onpu_simd level)
{
	return onpu_simd_supported(level) ? fn_levels[level]->table : NULL;
}

onpu_fn_array2 onpu_fn_pow_array(enum onpu_simd level)
{
	return onpu_simd_supported(level) ? fn_levels[level]->pow_array : NULL;
}

const char *onpu_fn_name(enum onpu_fn fn)
{
	static const char *const names[ONPU_FN_COUNT] = {
		"exp",	"log",	    "sin",	"cos", "tan",	"tanh", "erf",	 "sigmoid",
		"gelu", "softplus", "softsign", "elu", "recip", "sqrt", "rsqrt",
	};

	return fn < ONPU_FN_COUNT ? names[fn] : "unknown";
}
