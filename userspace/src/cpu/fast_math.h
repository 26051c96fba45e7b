/* SPDX-License-Identifier: MIT */
/*
 * exp, sigmoid and tanh without branches, for loops that the compiler vectorises. Computed in
 * double to some 1e-12, so that the float they are stored in is rounded right but in rare
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

#endif
