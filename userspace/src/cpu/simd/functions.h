/* SPDX-License-Identifier: MIT */
/*
 * exp, log, pow, sin, cos, tan, softplus and elu without branches, for loops that the compiler
 * vectorises. They compute in double with an error of some 1e-12, so that the float32 result is
 * almost always correctly rounded.
 */
#ifndef WNN_CPU_FAST_MATH_H
#define WNN_CPU_FAST_MATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/*
 * Returns e^x, with x limited to -700..700, as 2^n * e^r with x = n * ln(2) + r, |r| <= ln(2) / 2,
 * and the series of e^r up to the 12th power.
 */
static inline double cpu_exp(double x)
{
	static const double whole = 0x1.8p52;
	double n, r, p;
	uint64_t bits;

	x = x < -700 ? -700 : x;
	x = x > 700 ? 700 : x;
	n = x * 0x1.71547652b82fep+0 + whole;
	memcpy(&bits, &n, sizeof(bits));
	n -= whole;
	r = x - n * 0x1.62e42fefa39efp-1;
	p = 1.0 / 479001600;
	p = p * r + 1.0 / 39916800;
	p = p * r + 1.0 / 3628800;
	p = p * r + 1.0 / 362880;
	p = p * r + 1.0 / 40320;
	p = p * r + 1.0 / 5040;
	p = p * r + 1.0 / 720;
	p = p * r + 1.0 / 120;
	p = p * r + 1.0 / 24;
	p = p * r + 1.0 / 6;
	p = p * r + 0.5;
	p = p * r + 1;
	p = p * r + 1;
	/* The low bits of n become the exponent of the result. */
	bits = (bits + 1023) << 52;
	memcpy(&n, &bits, sizeof(n));
	return p * n;
}

/*
 * Returns log(x), from x = m * 2^n with m near 1 and the series of log(m) in (m - 1) / (m + 1). x
 * must not be a subnormal double; no float32 becomes one. 0 gives -infinity, a negative x gives
 * NaN.
 */
static inline double cpu_log(double x)
{
	static const double root_of_half = 0x1.6a09e667f3bcdp-1;
	uint64_t bits, least, exponent;
	double m, n, s, q, p;

	memcpy(&bits, &x, sizeof(bits));
	memcpy(&least, &root_of_half, sizeof(least));
	/*
	 * The exponent plus 1023 is positive. As the low bits of a double of at least 2^52 it is
	 * converted to a double without an instruction for it.
	 */
	exponent = (bits - least + (UINT64_C(1023) << 52)) >> 52;
	bits -= (exponent - 1023) << 52;
	exponent |= UINT64_C(0x433) << 52;
	memcpy(&m, &bits, sizeof(m));
	memcpy(&n, &exponent, sizeof(n));
	n -= 0x1p52 + 1023;
	s = (m - 1) / (m + 1);
	q = s * s;
	p = 1.0 / 15;
	p = p * q + 1.0 / 13;
	p = p * q + 1.0 / 11;
	p = p * q + 1.0 / 9;
	p = p * q + 1.0 / 7;
	p = p * q + 1.0 / 5;
	p = p * q + 1.0 / 3;
	p = p * q + 1;
	p = n * 0x1.62e42fefa39efp-1 + 2 * s * p;
	p = x == 0 ? -INFINITY : p;
	p = x < 0 ? NAN : p;
	/* Infinity and NaN stay. */
	return x < INFINITY ? p : x;
}

/* Returns x rounded to the nearest integer; |x| must be below 2^51. */
static inline double cpu_rounded(double x)
{
	static const double whole = 0x1.8p52;

	return (x + whole) - whole;
}

/*
 * Returns a^b of floats: computes |a|^b, and for a negative a sets the sign of the result, or NaN.
 */
static inline double cpu_pow(double a, double b)
{
	double size = a < 0 ? -a : a, y = cpu_exp(b * cpu_log(size));
	/* Floats beyond 2^25 are even integers: limiting b keeps its parity. */
	double w = b < -0x1p25 ? -0x1p25 : b > 0x1p25 ? 0x1p25 : b, half = w / 2;
	int whole = cpu_rounded(w) == w, odd = whole & (cpu_rounded(half) != half);
	uint64_t bits, sign;

	/* cpu_exp() limits its argument, so that infinite results are set here. */
	y = ((size == 0) & (b < 0)) ? INFINITY : y;
	y = ((size == INFINITY) & (b > 0)) ? INFINITY : y;
	y = ((size == 1) & (b == b)) ? 1 : y;
	y = ((a < 0) & !whole & (size < INFINITY)) ? NAN : y;
	y = ((b == 0) | (a == 1)) ? 1 : y;
	memcpy(&sign, &a, sizeof(sign));
	memcpy(&bits, &y, sizeof(bits));
	bits ^= (sign >> 63 & (uint64_t)odd) << 63;
	memcpy(&y, &bits, sizeof(y));
	return y;
}

/*
 * Returns log(1 + e^x), as x + log(1 + e^-x) for x > 0. For a small e, log(1 + e) is two terms of
 * its series, since 1 + e would lose digits of e.
 */
static inline double cpu_softplus(double x)
{
	double e = cpu_exp(x < 0 ? x : -x), more = e < 0x1p-20 ? e - e * e / 2 : cpu_log(1 + e);

	return x > 0 ? x + more : more;
}

/*
 * Returns alpha * (e^x - 1) for x < 0, otherwise x. Near 0 it takes the series, because the
 * difference e^x - 1 loses digits by cancellation.
 */
static inline double cpu_elu(double x, double alpha)
{
	double near = x + x * x * (0.5 + x * (1.0 / 6)), far = cpu_exp(x) - 1;

	return x < 0 ? alpha * (x > -0x1p-10 ? near : far) : x;
}

/*
 * The largest angle from which multiples of pi / 2 are subtracted exactly; libm computes functions
 * of larger ones.
 */
#define CPU_MOST_ANGLE 0x1p24

enum cpu_angle { CPU_SIN, CPU_COS, CPU_TAN };

/*
 * Returns sin, cos or tan of x = n * pi / 2 + r, |r| <= pi / 4; |x| must be at most CPU_MOST_ANGLE.
 * It computes the series of sin(r) and cos(r); n selects one of these and its sign, or for tan
 * which of them divides the other.
 */
static inline double cpu_of_angle(enum cpu_angle what, double x)
{
	static const double whole = 0x1.8p52;
	double n = x * 0x1.45f306dc9c883p-1 + whole, r, q, s, c;
	uint64_t bits, swap, sign, chosen;

	memcpy(&bits, &n, sizeof(bits));
	n -= whole;
	/*
	 * The first two of the three terms of pi / 2 have so few digits that their products with n
	 * are exact.
	 */
	r = x - n * 0x1.921fb5p+0;
	r -= n * 0x1.110b46p-26;
	r -= n * 0x1.1a62633145c07p-54;
	q = r * r;
	s = 1.0 / 6227020800;
	s = s * q - 1.0 / 39916800;
	s = s * q + 1.0 / 362880;
	s = s * q - 1.0 / 5040;
	s = s * q + 1.0 / 120;
	s = s * q - 1.0 / 6;
	s = r + r * q * s;
	c = -1.0 / 87178291200;
	c = c * q + 1.0 / 479001600;
	c = c * q - 1.0 / 3628800;
	c = c * q + 1.0 / 40320;
	c = c * q - 1.0 / 720;
	c = c * q + 1.0 / 24;
	c = c * q - 0.5;
	c = c * q + 1;
	if (what == CPU_TAN)
		return bits & 1 ? -c / s : s / c;
	bits += what == CPU_COS;
	swap = 0 - (bits & 1);
	sign = (bits & 2) << 62;
	memcpy(&bits, &s, sizeof(bits));
	memcpy(&chosen, &c, sizeof(chosen));
	bits = ((chosen & swap) | (bits & ~swap)) ^ sign;
	memcpy(&r, &bits, sizeof(r));
	return r;
}

#endif
