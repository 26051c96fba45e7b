// SPDX-License-Identifier: MIT
/* Special functions that the C library lacks: digamma, zeta, inverse error function, Bessel. */
#include "scalar.h"

#include <math.h>

static const long double pi = 3.14159265358979323846264338327950288L;

/* B(2k) / (2k)!, terms of the Euler-Maclaurin expansion. */
static const long double bernoulli_over_factorial[] = {
	1.0L / 12,
	-1.0L / 720,
	1.0L / 30240,
	-1.0L / 1209600,
	1.0L / 47900160,
	-691.0L / 1307674368000,
	1.0L / 74724249600,
	-3617.0L / 10670622842880000.0L,
	43867.0L / 5109094217170944000.0L,
};

#define BERNOULLI_COUNT (sizeof(bernoulli_over_factorial) / sizeof(bernoulli_over_factorial[0]))

/* B(2k) / (2k), terms of the asymptotic expansion of digamma. */
static const long double digamma_terms[] = {
	1.0L / 12,	 -1.0L / 120, 1.0L / 252,      -1.0L / 240,	 1.0L / 132,
	-691.0L / 32760, 1.0L / 12,   -3617.0L / 8160, 43867.0L / 14364,
};

long double shlo_digamma(long double x)
{
	long double result = 0, square, power = 1;

	if (x <= 0 && floorl(x) == x)
		return NAN;
	if (isinf(x))
		return x > 0 ? x : NAN;
	if (x < 0.5L) {
		/*
		 * Uses the reflection formula; taking the fraction first keeps the tangent exact
		 * for large numbers.
		 */
		long double fraction = x - floorl(x);

		return shlo_digamma(1 - x) - pi / tanl(pi * fraction);
	}
	for (; x < 20; x++)
		result -= 1 / x;
	square = 1 / (x * x);
	result += logl(x) - 1 / (2 * x);
	for (size_t i = 0; i < sizeof(digamma_terms) / sizeof(digamma_terms[0]); i++) {
		power *= square;
		result -= digamma_terms[i] * power;
	}
	return result;
}

/* Returns Hurwitz's zeta: the sum of (q + k)^-x over all k from 0 on; NaN where it has no value. */
long double shlo_zeta(long double x, long double q)
{
	long double sum = 0, at = q, factor, power;
	int terms = 24;

	if (isnan(x) || isnan(q) || x < 1)
		return NAN;
	if (x == 1)
		return INFINITY;
	if (q <= 0) {
		if (floorl(q) == q)
			return INFINITY;
		if (floorl(x) != x)
			return NAN;
	}
	if (isinf(q))
		return 0;
	while (terms-- > 0 || at <= 9) {
		sum += powl(at, -x);
		at += 1;
		if (at < -1e6L)
			return NAN;
	}
	power = powl(at, -x);
	sum += power * at / (x - 1) + power / 2;
	factor = x * power / at;
	for (size_t i = 0; i < BERNOULLI_COUNT; i++) {
		long double k = 2 * (long double)i;

		sum += bernoulli_over_factorial[i] * factor;
		factor *= (x + k + 1) * (x + k + 2) / (at * at);
	}
	return sum;
}

long double shlo_polygamma(long double n, long double x)
{
	long double sign;

	if (n < 0 || floorl(n) != n)
		return NAN;
	if (n == 0)
		return shlo_digamma(x);
	sign = fmodl(n, 2) != 0 ? 1 : -1;
	return sign * expl(lgammal(n + 1)) * shlo_zeta(n + 1, x);
}

long double shlo_erf_inv(long double x)
{
	long double w, guess, error;

	if (!(fabsl(x) <= 1))
		return NAN;
	if (fabsl(x) == 1)
		return copysignl(INFINITY, x);
	if (x == 0)
		return x;
	/*
	 * Begins with Winitzki's approximation, which Halley's method improves. Near 1 and -1, the
	 * difference is one of erfc(), because 1 - erf(guess) would lose digits.
	 */
	w = logl((1 - x) * (1 + x));
	error = 2 / (pi * 0.147L) + w / 2;
	guess = copysignl(sqrtl(sqrtl(error * error - w / 0.147L) - error), x);
	for (int i = 0; i < 4; i++) {
		long double difference = fabsl(x) < 0.5L ? erfl(guess) - x :
					 x > 0		 ? (1 - x) - erfcl(guess) :
							   erfcl(-guess) - (1 + x);
		long double slope = 2 / sqrtl(pi) * expl(-guess * guess), step = difference / slope;

		guess -= step / (1 + guess * step);
	}
	return guess;
}

/* Returns exp(-|x|) I1(x): by the power series, or for large numbers by the asymptotic series. */
long double shlo_bessel_i1e(long double x)
{
	long double size = fabsl(x), term, sum;

	if (isnan(x))
		return x;
	if (isinf(x))
		return copysignl(0, x);
	if (size < 40) {
		long double square = size * size / 4;

		term = size / 2;
		sum = term;
		for (int k = 1; k < 200 && term > sum * 1e-22L; k++) {
			term *= square / ((long double)k * (k + 1));
			sum += term;
		}
		return copysignl(sum * expl(-size), x);
	}
	term = 1;
	sum = 1;
	for (int k = 1; k < 40; k++) {
		long double odd = 2 * k - 1, next = -term * (4 - odd * odd) / (8 * size * k);

		if (fabsl(next) > fabsl(term))
			break;
		term = next;
		sum += term;
	}
	return copysignl(sum / sqrtl(2 * pi * size), x);
}
