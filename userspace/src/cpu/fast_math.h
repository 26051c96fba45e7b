/* SPDX-License-Identifier: MIT */
/*
 * exp, sigmoid, tanh and erf without branches, for loops that the compiler vectorises. Computed in
 * double to some 1e-12 (erf: 1e-9), so that the float they are stored in is rounded right but in rare
 * cases.
 */
#ifndef WNN_CPU_FAST_MATH_H
#define WNN_CPU_FAST_MATH_H

#include <stdint.h>
#include <string.h>

/* x = n * ln(2) + r, |r| <= ln(2) / 2; e^r by its series to the 12th power. */
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
	/* The low bits of n are the exponent. */
	bits = (bits + 1023) << 52;
	memcpy(&n, &bits, sizeof(n));
	return p * n;
}

static inline double cpu_sigmoid(double x)
{
	return 1 / (1 + cpu_exp(-x));
}

/* Near 0 the quotient would cancel; there two terms of the series suffice. */
static inline double cpu_tanh(double x)
{
	double e = cpu_exp(2 * x), near = x - x * x * x * (1.0 / 3), far = (e - 1) / (e + 1);

	return x < 0x1p-10 && x > -0x1p-10 ? near : far;
}

/* erfc(z) for z >= 0: e^(-z^2) by a polynomial of (z - 3) / (z + 3), which is right to 1e-9. */
static inline double cpu_erfc_positive(double z)
{
	double within = z > 28 ? 28 : z, line = 1 + 2 * within;
	double part = 1 / ((within + 3) * line), s = (within - 3) * line * part;
	double p = 7.3536749411716272e-05;

	p = p * s - 9.7545020017440981e-05;
	p = p * s - 0.00072100115609213789;
	p = p * s + 0.0018834156705810651;
	p = p * s + 0.0024966454427947913;
	p = p * s - 0.023768421466418017;
	p = p * s + 0.068316882827438988;
	p = p * s - 0.11927413472190564;
	p = p * s + 0.1296441346217094;
	p = p * s - 0.047562249657008809;
	p = p * s - 0.13562107237309554;
	p = p * s + 1.2530080575466502;
	p = p * (within + 3) * part * cpu_exp(-within * within);
	/* As far out as in double, so that the product with an infinity is no number. */
	return z > 27.2 ? 0 : p;
}

static inline double cpu_erfc(double x)
{
	double e = cpu_erfc_positive(x < 0 ? -x : x);

	return x < 0 ? 2 - e : e;
}

/* Near 0 by its series, where the difference would cancel. */
static inline double cpu_erf(double x)
{
	double far = 1 - cpu_erfc(x), q = x * x, p = 1.0 / 9360;

	p = p * q - 1.0 / 1320;
	p = p * q + 1.0 / 216;
	p = p * q - 1.0 / 42;
	p = p * q + 1.0 / 10;
	p = p * q - 1.0 / 3;
	p = (p * q + 1) * x * 0x1.20dd750429b6dp+0;
	return x < 0.5 && x > -0.5 ? p : far;
}

#endif
