// SPDX-License-Identifier: MIT
/*
 * Functions of one float or complex number. Most are computed in long double, which has more digits
 * than any element type, so that the result is the nearest number, or a neighbour in a near tie.
 * hyperbolic() says why cosh and sinh of floats round in each step instead.
 */
#include "scalar.h"

#include <complex.h>
#include <math.h>

static double sign(double x)
{
	return x > 0 ? 1 : x < 0 ? -1 : x;
}

/*
 * Returns 1 / (1 + exp(-x)), for negative numbers as exp(x) / (1 + exp(x)), because exp(-x) may be
 * infinite.
 */
static long double logistic(long double x)
{
	long double e;

	if (x >= 0)
		return 1 / (1 + expl(-x));
	e = expl(x);
	return e / (1 + e);
}

/*
 * Evaluates operations that double computes with at most one rounding, also for subnormal numbers:
 * double holds every float exactly. False: the operation is another one.
 */
static bool rounding(enum shlo_unary op, double x, double *result)
{
	switch (op) {
	case SHLO_U_ABS:
		*result = fabs(x);
		break;
	case SHLO_U_CEIL:
		*result = ceil(x);
		break;
	case SHLO_U_FLOOR:
		*result = floor(x);
		break;
	case SHLO_U_NEGATE:
		*result = -x;
		break;
	case SHLO_U_ROUND_AFZ:
		*result = round(x);
		break;
	case SHLO_U_ROUND_EVEN:
		*result = rint(x);
		break;
	case SHLO_U_SIGN:
		*result = sign(x);
		break;
	case SHLO_U_SQRT:
		*result = sqrt(x);
		break;
	case SHLO_U_REAL:
	case SHLO_U_CONJ:
		*result = x;
		break;
	case SHLO_U_IMAG:
		*result = 0;
		break;
	case SHLO_U_SQUARE:
		*result = x * x;
		break;
	default:
		return false;
	}
	return true;
}

static bool special(enum shlo_unary op, long double x, double *result)
{
	switch (op) {
	case SHLO_U_BESSEL_I1E:
		*result = (double)shlo_bessel_i1e(x);
		break;
	case SHLO_U_DIGAMMA:
		*result = (double)shlo_digamma(x);
		break;
	case SHLO_U_ERF:
		*result = (double)erfl(x);
		break;
	case SHLO_U_ERF_INV:
		*result = (double)shlo_erf_inv(x);
		break;
	case SHLO_U_ERFC:
		*result = (double)erfcl(x);
		break;
	case SHLO_U_LGAMMA:
		*result = isinf(x) ? INFINITY : (double)lgammal(x);
		break;
	default:
		return false;
	}
	return true;
}

static bool inverse(enum shlo_unary op, long double x, double *result)
{
	switch (op) {
	case SHLO_U_ACOS:
		*result = (double)acosl(x);
		break;
	case SHLO_U_ACOSH:
		*result = (double)acoshl(x);
		break;
	case SHLO_U_ASIN:
		*result = (double)asinl(x);
		break;
	case SHLO_U_ASINH:
		*result = (double)asinhl(x);
		break;
	case SHLO_U_ATAN:
		*result = (double)atanl(x);
		break;
	case SHLO_U_ATANH:
		*result = (double)atanhl(x);
		break;
	default:
		return special(op, x, result);
	}
	return true;
}

/* Returns a step of a computation rounded to double for f64, else to float32. */
static double step(enum shlo_element element, long double x)
{
	return element == SHLO_F64 ? (double)x : (double)(float)x;
}

static double half_exp(enum shlo_element element, double x)
{
	return step(element, expl(step(element, x + step(element, logl(0.5L)))));
}

/*
 * Returns cosh(x) or sinh(x) by StableHLO's expansion, with rounding in each step. The rounding of
 * x + log(1/2) shows for large x: coshl() is closer to the function, but not to what other
 * implementations give.
 */
static double hyperbolic(enum shlo_unary op, enum shlo_element element, double x)
{
	if (op == SHLO_U_COSH)
		return half_exp(element, x) + half_exp(element, -x);
	return fabs(x) < 1 ? (double)sinhl(x) : half_exp(element, x) - half_exp(element, -x);
}

bool shlo_unary_float(enum shlo_unary op, enum shlo_element element, double d, double *result)
{
	long double x = d;

	if (rounding(op, d, result))
		return true;
	switch (op) {
	case SHLO_U_CBRT:
		*result = (double)cbrtl(x);
		break;
	case SHLO_U_COSINE:
		*result = (double)cosl(x);
		break;
	case SHLO_U_EXP:
		*result = (double)expl(x);
		break;
	case SHLO_U_EXPM1:
		*result = (double)expm1l(x);
		break;
	case SHLO_U_LOG:
		*result = (double)logl(x);
		break;
	case SHLO_U_LOG1P:
		*result = (double)log1pl(x);
		break;
	case SHLO_U_LOGISTIC:
		*result = (double)logistic(x);
		break;
	case SHLO_U_RSQRT:
		*result = (double)(1 / sqrtl(x));
		break;
	case SHLO_U_SINE:
		*result = (double)sinl(x);
		break;
	case SHLO_U_TAN:
		*result = (double)tanl(x);
		break;
	case SHLO_U_TANH:
		*result = (double)tanhl(x);
		break;
	case SHLO_U_COSH:
	case SHLO_U_SINH:
		*result = hyperbolic(op, element, d);
		break;
	default:
		return inverse(op, x, result);
	}
	return true;
}

/* ---- complex numbers */

static long double complex complex_of(long double re, long double im)
{
	return CMPLXL(re, im);
}

/* Returns exp(z) - 1, precise near 0. */
static long double complex complex_expm1(long double complex z)
{
	long double x = creall(z), y = cimagl(z), half = sinl(y / 2);

	if (y == 0)
		return complex_of(expm1l(x), y);
	return complex_of(expm1l(x) * cosl(y) - 2 * half * half, expl(x) * sinl(y));
}

/* Returns log(1 + z), with the modulus from |1 + z|² - 1 = x (x + 2) + y². */
static long double complex complex_log1p(long double complex z)
{
	long double x = creall(z), y = cimagl(z);

	if (fabsl(x) < 0.5L && fabsl(y) < 0.5L)
		return complex_of(log1pl(x * (x + 2) + y * y) / 2, atan2l(y, 1 + x));
	return clogl(complex_of(1 + x, y));
}

static long double complex complex_cbrt(long double complex z)
{
	if (z == 0)
		return z;
	return cexpl(clogl(z) / 3);
}

static long double complex complex_tan(long double complex z)
{
	return ctanl(z);
}

static long double complex complex_sign(long double complex z)
{
	long double modulus = cabsl(z);

	if (isnan(creall(z)) || isnan(cimagl(z)))
		return complex_of(NAN, NAN);
	return modulus == 0 ? z : z / modulus;
}

static bool complex_inverse(enum shlo_unary op, long double complex z, long double complex *w)
{
	switch (op) {
	case SHLO_U_ACOS:
		*w = cacosl(z);
		break;
	case SHLO_U_ACOSH:
		*w = cacoshl(z);
		break;
	case SHLO_U_ASIN:
		*w = casinl(z);
		break;
	case SHLO_U_ASINH:
		*w = casinhl(z);
		break;
	case SHLO_U_ATAN:
		*w = catanl(z);
		break;
	case SHLO_U_ATANH:
		*w = catanhl(z);
		break;
	case SHLO_U_COSH:
		*w = ccoshl(z);
		break;
	case SHLO_U_SINH:
		*w = csinhl(z);
		break;
	case SHLO_U_CONJ:
		*w = conjl(z);
		break;
	case SHLO_U_SQUARE:
		*w = complex_of((creall(z) - cimagl(z)) * (creall(z) + cimagl(z)),
				2 * creall(z) * cimagl(z));
		break;
	default:
		return false;
	}
	return true;
}

bool shlo_unary_complex(enum shlo_unary op, struct shlo_num x, struct shlo_num *result)
{
	long double complex z = complex_of(x.re, x.im), w;

	switch (op) {
	case SHLO_U_CBRT:
		w = complex_cbrt(z);
		break;
	case SHLO_U_COSINE:
		w = ccosl(z);
		break;
	case SHLO_U_EXP:
		w = cexpl(z);
		break;
	case SHLO_U_EXPM1:
		w = complex_expm1(z);
		break;
	case SHLO_U_LOG:
		w = clogl(z);
		break;
	case SHLO_U_LOG1P:
		w = complex_log1p(z);
		break;
	case SHLO_U_LOGISTIC:
		w = 1 / (1 + cexpl(-z));
		break;
	case SHLO_U_NEGATE:
		w = -z;
		break;
	case SHLO_U_RSQRT:
		w = 1 / csqrtl(z);
		break;
	case SHLO_U_SIGN:
		w = complex_sign(z);
		break;
	case SHLO_U_SINE:
		w = csinl(z);
		break;
	case SHLO_U_SQRT:
		w = csqrtl(z);
		break;
	case SHLO_U_TAN:
		w = complex_tan(z);
		break;
	case SHLO_U_TANH:
		w = ctanhl(z);
		break;
	default:
		if (!complex_inverse(op, z, &w))
			return false;
	}
	result->re = (double)creall(w);
	result->im = (double)cimagl(w);
	return true;
}
