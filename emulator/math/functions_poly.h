/* SPDX-License-Identifier: MIT */
/*
 * Constants and polynomials of the architected functions: uapi/onpu/functions.rst.
 * Written by uapi/onpu/gen_functions.py; do not edit.
 */
#ifndef ONPU_MATH_FUNCTIONS_POLY_H
#define ONPU_MATH_FUNCTIONS_POLY_H

#include <stdint.h>

/* adding it rounds to an integer, held in the low bits */
#define FN_SHIFT 0x1.8000000000000p+52
/* 1 / ln 2 */
#define FN_INV_LN2 0x1.71547652b82fep+0
/* ln 2 */
#define FN_LN2_HI 0x1.62e42fefa39efp-1
/* ln 2 - LN2_HI */
#define FN_LN2_LO 0x1.abc9e3b39803fp-56
/* 2 / pi */
#define FN_TWO_OVER_PI 0x1.45f306dc9c883p-1
/* pi / 2 */
#define FN_PIO2_HI 0x1.921fb54442d18p+0
/* pi / 2 - PIO2_HI */
#define FN_PIO2_LO 0x1.1a62633145c07p-54

/* The first 256 bits of 2/pi after the binary point. */
#define FN_TWO_OVER_PI_WORDS \
	{ UINT64_C(0xa2f9836e4e441529), \
	  UINT64_C(0xfc2757d1f534ddc0), \
	  UINT64_C(0xdb6295993c439041), \
	  UINT64_C(0xfe5163abdebbc561) }

/* (e^r - 1 - r) / r^2: Taylor, 1 / (i + 2)! */
static inline __attribute__((always_inline)) double fn_exp_poly(double r)
{
	double p = 0x1.1eed8eff8d898p-29;

	p = __builtin_fma(p, r, 0x1.ae64567f544e4p-26);
	p = __builtin_fma(p, r, 0x1.27e4fb7789f5cp-22);
	p = __builtin_fma(p, r, 0x1.71de3a556c734p-19);
	p = __builtin_fma(p, r, 0x1.a01a01a01a01ap-16);
	p = __builtin_fma(p, r, 0x1.a01a01a01a01ap-13);
	p = __builtin_fma(p, r, 0x1.6c16c16c16c17p-10);
	p = __builtin_fma(p, r, 0x1.1111111111111p-7);
	p = __builtin_fma(p, r, 0x1.5555555555555p-5);
	p = __builtin_fma(p, r, 0x1.5555555555555p-3);
	p = __builtin_fma(p, r, 0x1.0000000000000p-1);
	return p;
}

/* (log((1 + z) / (1 - z)) - 2z) / z^3 with w = z^2: Taylor, 2 / (2i + 3) */
static inline __attribute__((always_inline)) double fn_log_poly(double w)
{
	double p = 0x1.af286bca1af28p-4;

	p = __builtin_fma(p, w, 0x1.e1e1e1e1e1e1ep-4);
	p = __builtin_fma(p, w, 0x1.1111111111111p-3);
	p = __builtin_fma(p, w, 0x1.3b13b13b13b14p-3);
	p = __builtin_fma(p, w, 0x1.745d1745d1746p-3);
	p = __builtin_fma(p, w, 0x1.c71c71c71c71cp-3);
	p = __builtin_fma(p, w, 0x1.2492492492492p-2);
	p = __builtin_fma(p, w, 0x1.999999999999ap-2);
	p = __builtin_fma(p, w, 0x1.5555555555555p-1);
	return p;
}

/* (sin r - r) / r^3 with w = r^2: Taylor, (-1)^(i+1) / (2i + 3)! */
static inline __attribute__((always_inline)) double fn_sin_poly(double w)
{
	double p = -0x1.ae7f3e733b81fp-41;

	p = __builtin_fma(p, w, 0x1.6124613a86d09p-33);
	p = __builtin_fma(p, w, -0x1.ae64567f544e4p-26);
	p = __builtin_fma(p, w, 0x1.71de3a556c734p-19);
	p = __builtin_fma(p, w, -0x1.a01a01a01a01ap-13);
	p = __builtin_fma(p, w, 0x1.1111111111111p-7);
	p = __builtin_fma(p, w, -0x1.5555555555555p-3);
	return p;
}

/* (cos r - 1) / r^2 with w = r^2: Taylor, (-1)^(i+1) / (2i + 2)! */
static inline __attribute__((always_inline)) double fn_cos_poly(double w)
{
	double p = 0x1.ae7f3e733b81fp-45;

	p = __builtin_fma(p, w, -0x1.93974a8c07c9dp-37);
	p = __builtin_fma(p, w, 0x1.1eed8eff8d898p-29);
	p = __builtin_fma(p, w, -0x1.27e4fb7789f5cp-22);
	p = __builtin_fma(p, w, 0x1.a01a01a01a01ap-16);
	p = __builtin_fma(p, w, -0x1.6c16c16c16c17p-10);
	p = __builtin_fma(p, w, 0x1.5555555555555p-5);
	p = __builtin_fma(p, w, -0x1.0000000000000p-1);
	return p;
}

/* erf(a) / a with w = a^2, 0 <= a < 1: Chebyshev in w */
static inline __attribute__((always_inline)) double fn_erf_low_poly(double w)
{
	double p = 0x1.43f6d0dee7032p-27;

	p = __builtin_fma(p, w, -0x1.462a758d4591dp-23);
	p = __builtin_fma(p, w, 0x1.b5d3ea9fd0b5ap-20);
	p = __builtin_fma(p, w, -0x1.f4684782919e8p-17);
	p = __builtin_fma(p, w, 0x1.f99c295886f05p-14);
	p = __builtin_fma(p, w, -0x1.c02d67e37081ep-11);
	p = __builtin_fma(p, w, 0x1.565bcb082cca2p-8);
	p = __builtin_fma(p, w, -0x1.b82ce3026aae0p-6);
	p = __builtin_fma(p, w, 0x1.ce2f21a000d30p-4);
	p = __builtin_fma(p, w, -0x1.812746b037352p-2);
	p = __builtin_fma(p, w, 0x1.20dd750429b6bp+0);
	return p;
}

/* erf(u + 2.5), -1.5 <= u <= 1.5: Chebyshev in u */
static inline __attribute__((always_inline)) double fn_erf_high_poly(double u)
{
	double p = 0x1.288e036034b80p-30;

	p = __builtin_fma(p, u, -0x1.e16fcb8cd1128p-32);
	p = __builtin_fma(p, u, -0x1.8385bc66de0e1p-26);
	p = __builtin_fma(p, u, 0x1.475a22b5eac5cp-25);
	p = __builtin_fma(p, u, 0x1.776207066a91fp-23);
	p = __builtin_fma(p, u, -0x1.738703141d451p-21);
	p = __builtin_fma(p, u, 0x1.9809392e7dce2p-23);
	p = __builtin_fma(p, u, 0x1.40524e38801ecp-18);
	p = __builtin_fma(p, u, -0x1.d8c9019ce6cfcp-17);
	p = __builtin_fma(p, u, 0x1.52f5cff936bc9p-18);
	p = __builtin_fma(p, u, 0x1.4a8c01e9e32a2p-14);
	p = __builtin_fma(p, u, -0x1.06621350249cdp-12);
	p = __builtin_fma(p, u, 0x1.11544cce371dep-12);
	p = __builtin_fma(p, u, 0x1.1c5deed380acep-11);
	p = __builtin_fma(p, u, -0x1.6ecdb960f9a08p-9);
	p = __builtin_fma(p, u, 0x1.90e828d2479c9p-8);
	p = __builtin_fma(p, u, -0x1.1a89b9a570182p-7);
	p = __builtin_fma(p, u, 0x1.119d9f9d95092p-7);
	p = __builtin_fma(p, u, -0x1.64e3dcd130838p-8);
	p = __builtin_fma(p, u, 0x1.1d831733cd3d0p-9);
	p = __builtin_fma(p, u, 0x1.ffcaa8f4c9beap-1);
	return p;
}

/* e^(a^2/2) erfc(a / sqrt 2) / 2, t = (a - 4) / (a + 4), 0 <= a <= 15: Chebyshev in t */
static inline __attribute__((always_inline)) double fn_tail_poly(double t)
{
	double p = 0x1.1c69b325f4cf1p-25;

	p = __builtin_fma(p, t, 0x1.2529b85ff834dp-22);
	p = __builtin_fma(p, t, 0x1.30f9e0768cbb2p-21);
	p = __builtin_fma(p, t, -0x1.fccaf3408158ep-21);
	p = __builtin_fma(p, t, -0x1.2085a24e29435p-18);
	p = __builtin_fma(p, t, 0x1.3adceae277478p-18);
	p = __builtin_fma(p, t, 0x1.e0e485e71fea0p-16);
	p = __builtin_fma(p, t, -0x1.7e435764d20b1p-15);
	p = __builtin_fma(p, t, -0x1.8890d74a57a21p-13);
	p = __builtin_fma(p, t, 0x1.4eec60ca62d11p-11);
	p = __builtin_fma(p, t, 0x1.0a1bf1e329714p-11);
	p = __builtin_fma(p, t, -0x1.1644dc67d88e4p-7);
	p = __builtin_fma(p, t, 0x1.f9b05efecd31dp-6);
	p = __builtin_fma(p, t, -0x1.25b6aa962b652p-4);
	p = __builtin_fma(p, t, 0x1.fd751a1fd408cp-4);
	p = __builtin_fma(p, t, -0x1.5cf97b0ae8ad8p-3);
	p = __builtin_fma(p, t, 0x1.82b4bb8c94c24p-4);
	return p;
}

#endif
