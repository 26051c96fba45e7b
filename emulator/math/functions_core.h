/* SPDX-License-Identifier: MIT */
/*
 * Bodies of the architected functions, one element each, without branches.
 *
 * Private to functions*.c, which instantiate them for each instruction set; the compiler
 * turns the selects into masks when it vectorises the loop around a body. The steps and
 * their order are normative: see uapi/onpu/functions.rst before changing anything.
 *
 * The includer must compile without contraction and without value-changing options
 * (functions_options.h).
 */
#ifndef ONPU_MATH_FUNCTIONS_CORE_H
#define ONPU_MATH_FUNCTIONS_CORE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "math/functions_poly.h"

#define FN_INLINE static inline __attribute__((always_inline))

/* From this magnitude on sin, cos and tan reduce their argument in integers. */
#define FN_TRIG_HUGE 0x1p28f

#define FN_SIGN64      UINT64_C(0x8000000000000000)
#define FN_ONE64       UINT64_C(0x3ff0000000000000)
#define FN_SQRT_HALF64 UINT64_C(0x3fe6a09e667f3bcd)
#define FN_TWO52_64    UINT64_C(0x4330000000000000)

/* The reduced |x| = quadrant * pi/2 + rest, |rest| <= pi/4; quadrant counts modulo 4. */
struct fn_angle {
	double rest;
	uint64_t quadrant;
};

FN_INLINE uint64_t fn_bits(double x)
{
	uint64_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

FN_INLINE double fn_double(uint64_t bits)
{
	double x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

FN_INLINE double fn_abs(double x)
{
	return fn_double(fn_bits(x) & ~FN_SIGN64);
}

FN_INLINE double fn_flip_sign(double x, double sign)
{
	return fn_double(fn_bits(x) ^ (fn_bits(sign) & FN_SIGN64));
}

/*
 * Returns all ones if the condition holds, else 0, for fn_select(). Both are used where the
 * compiler would turn ?: into a branch, which keeps a loop from being vectorised.
 */
FN_INLINE uint64_t fn_mask(bool condition)
{
	return -(uint64_t)condition;
}

FN_INLINE double fn_select(uint64_t mask, double yes, double no)
{
	return fn_double((fn_bits(yes) & mask) | (fn_bits(no) & ~mask));
}

/* Returns the smaller of @x and @limit; a NaN argument stays a NaN. */
FN_INLINE double fn_at_most(double x, double limit)
{
	return x > limit ? limit : x;
}

FN_INLINE double fn_at_least(double x, double limit)
{
	return x < limit ? limit : x;
}

/*
 * Returns @x rounded to float32, and the canonical NaN for every NaN. Functions that compute in
 * double round only here.
 */
FN_INLINE float fn_round(double x)
{
	float result = (float)x;

	return result == result ? result : __builtin_nanf("");
}

/* Returns 2^k for the integer k that adding FN_SHIFT left in the low bits of t. */
FN_INLINE double fn_scale(double t)
{
	return fn_double((fn_bits(t) + 1023) << 52);
}

/* Returns e^r - 1 for |r| <= ln2 / 2. */
FN_INLINE double fn_expm1_small(double r)
{
	return __builtin_fma(r * r, fn_exp_poly(r), r);
}

/* Sets *scale and *rest so that e^x is scale * (1 + rest). */
FN_INLINE void fn_exp_parts(double x, double *scale, double *rest)
{
	double t = __builtin_fma(x, FN_INV_LN2, FN_SHIFT);
	double k = t - FN_SHIFT;
	double r = __builtin_fma(-k, FN_LN2_HI, x);

	r = __builtin_fma(-k, FN_LN2_LO, r);
	*scale = fn_scale(t);
	*rest = fn_expm1_small(r);
}

/* Returns e^x for |x| <= 700 or NaN. */
FN_INLINE double fn_exp_double(double x)
{
	double scale, rest;

	fn_exp_parts(x, &scale, &rest);
	return __builtin_fma(scale, rest, scale);
}

/* Returns e^x - 1 for |x| <= 700 or NaN. */
FN_INLINE double fn_expm1_double(double x)
{
	double scale, rest;

	fn_exp_parts(x, &scale, &rest);
	return __builtin_fma(scale, rest, scale - 1.0);
}

/* Returns 2^x; x is NaN or |x| <= 1000. */
FN_INLINE double fn_exp2_double(double x)
{
	double t = x + FN_SHIFT;
	double scale = fn_scale(t);
	double r = (x - (t - FN_SHIFT)) * FN_LN2_HI;

	return __builtin_fma(scale, fn_expm1_small(r), scale);
}

/* Returns log(1 + f) for sqrt(1/2) <= 1 + f <= sqrt(2). */
FN_INLINE double fn_log1p_small(double f)
{
	double z = f / (2.0 + f);
	double w = z * z;

	return __builtin_fma(z * w, fn_log_poly(w), z + z);
}

/* Returns k and sets *f so that x is 2^k * (1 + f), for a positive, finite, normal x. */
FN_INLINE double fn_log_parts(double x, double *f)
{
	uint64_t bits = fn_bits(x);
	uint64_t k = (bits + (FN_ONE64 - FN_SQRT_HALF64)) >> 52;

	*f = fn_double(bits - (k << 52) + FN_ONE64) - 1.0;
	return fn_double(k | FN_TWO52_64) - (0x1p52 + 1023.0);
}

FN_INLINE float fn_exp(float x)
{
	double a = fn_at_most(fn_at_least(x, -128.0), 128.0);

	return fn_round(fn_exp_double(a));
}

FN_INLINE float fn_log(float x)
{
	double f, k, result;
	double a = x;

	k = fn_log_parts(a, &f);
	result = __builtin_fma(k, FN_LN2_HI, fn_log1p_small(f));
	result = a < __builtin_inf() ? result : a;
	result = a == 0.0 ? -__builtin_inf() : result;
	result = a < 0.0 ? __builtin_nan("") : result;
	return fn_round(result);
}

/* Returns the reduced angle of 0 <= @a < FN_TRIG_HUGE; infinities and NaN give NaN. */
FN_INLINE struct fn_angle fn_angle_small(double a)
{
	double t = __builtin_fma(a, FN_TWO_OVER_PI, FN_SHIFT);
	double k = t - FN_SHIFT;
	double r = __builtin_fma(-k, FN_PIO2_HI, a);
	struct fn_angle angle = {
		.rest = __builtin_fma(-k, FN_PIO2_LO, r),
		.quadrant = fn_bits(t),
	};

	return angle;
}

FN_INLINE double fn_sin_rest(double r)
{
	double w = r * r;

	return __builtin_fma(r * w, fn_sin_poly(w), r);
}

FN_INLINE double fn_cos_rest(double r)
{
	double w = r * r;

	return __builtin_fma(w, fn_cos_poly(w), 1.0);
}

FN_INLINE float fn_sin_angle(struct fn_angle angle, float x)
{
	double sine = fn_sin_rest(angle.rest);
	double cosine = fn_cos_rest(angle.rest);
	double result = angle.quadrant & 1 ? cosine : sine;

	result = fn_flip_sign(result, fn_double(angle.quadrant << 62));
	return fn_round(fn_flip_sign(result, x));
}

FN_INLINE float fn_cos_angle(struct fn_angle angle, float x)
{
	double sine = fn_sin_rest(angle.rest);
	double cosine = fn_cos_rest(angle.rest);
	double result = angle.quadrant & 1 ? sine : cosine;

	(void)x;
	return fn_round(fn_flip_sign(result, fn_double((angle.quadrant + 1) << 62)));
}

FN_INLINE float fn_tan_angle(struct fn_angle angle, float x)
{
	double sine = fn_sin_rest(angle.rest);
	double cosine = fn_cos_rest(angle.rest);
	double top = angle.quadrant & 1 ? cosine : sine;
	double bottom = angle.quadrant & 1 ? -sine : cosine;

	return fn_round(fn_flip_sign(top / bottom, x));
}

FN_INLINE float fn_tanh(float x)
{
	double a = fn_at_most(fn_abs(x), 20.0);
	double e = fn_expm1_double(a + a);

	return fn_round(fn_flip_sign(e / (e + 2.0), x));
}

FN_INLINE float fn_erf(float x)
{
	double a = fn_at_most(fn_abs(x), 4.0);
	double low = a * fn_erf_low_poly(a * a);
	double high = fn_erf_high_poly(a - 2.5);

	return fn_round(fn_flip_sign(a < 1.0 ? low : high, x));
}

FN_INLINE float fn_sigmoid(float x)
{
	double a = fn_at_most(fn_at_least(x, -128.0), 128.0);

	return fn_round(1.0 / (1.0 + fn_exp_double(-a)));
}

FN_INLINE float fn_gelu(float x)
{
	double a = fn_at_most(fn_abs(x), 15.0);
	double tail = fn_exp_double(-0.5 * (a * a)) * fn_tail_poly((a - 4.0) / (a + 4.0));
	double positive = __builtin_fma(-a, tail, (double)x);
	double negative = -a * tail;
	double result = x < 0.0f ? negative : positive;

	return fn_round(x == -__builtin_inff() ? __builtin_nan("") : result);
}

FN_INLINE float fn_softplus(float x)
{
	double a = fn_at_most(fn_abs(x), 128.0);
	double e = fn_exp_double(-a);
	double f = e > 0.4140625 ? (e - 1.0) * 0.5 : e;
	double base = e > 0.4140625 ? FN_LN2_HI : 0.0;
	double result = base + fn_log1p_small(f);

	return fn_round(fn_at_least(x, 0.0) + result);
}

FN_INLINE float fn_softsign(float x)
{
	double a = x;

	return fn_round(a / (1.0 + fn_abs(a)));
}

FN_INLINE float fn_elu(float x, float alpha)
{
	double a = fn_at_most(fn_at_least(x, -128.0), 0.0);
	double negative = (double)alpha * fn_expm1_double(a);

	return fn_round(x < 0.0f ? negative : (double)x);
}

FN_INLINE float fn_recip(float x)
{
	float result = 1.0f / x;

	return result == result ? result : __builtin_nanf("");
}

FN_INLINE float fn_sqrt(float x)
{
	float result = __builtin_sqrtf(x);

	return result == result ? result : __builtin_nanf("");
}

FN_INLINE float fn_rsqrt(float x)
{
	return fn_round(1.0 / __builtin_sqrt((double)x));
}

/* Returns log2 of a >= 0 or NaN: -Inf at zero; infinities and NaN stay. */
FN_INLINE double fn_log2_double(double a)
{
	double f;
	double k = fn_log_parts(a, &f);
	double result = __builtin_fma(fn_log1p_small(f), FN_INV_LN2, k);

	result = a < __builtin_inf() ? result : a;
	return a == 0.0 ? -__builtin_inf() : result;
}

FN_INLINE float fn_pow(float x, float y)
{
	double base = x, exponent = y;
	double a = fn_abs(base);
	double log2 = fn_log2_double(a);
	double product = a == 1.0 ? 0.0 : exponent * log2;
	double result = fn_exp2_double(fn_at_most(fn_at_least(product, -256.0), 256.0));

	/* From 2^24 on every float32 is an even integer, and this treats infinity as one. */
	double whole = fn_at_most(fn_abs(exponent), 0x1p24);
	double shifted = whole + 0x1p52;
	uint64_t integral = fn_mask(shifted - 0x1p52 == whole);
	uint64_t odd = fn_bits(shifted) << 63 & integral;
	uint64_t nan = fn_mask(base < 0.0) & fn_mask(a < __builtin_inf()) & ~integral;
	uint64_t one = fn_mask(exponent == 0.0) | fn_mask(base == 1.0);

	nan |= fn_mask(exponent != exponent);
	result = fn_flip_sign(result, fn_double(fn_bits(base) & odd));
	result = fn_select(nan, __builtin_nan(""), result);
	result = fn_select(one, 1.0, result);
	return fn_round(result);
}

#endif
