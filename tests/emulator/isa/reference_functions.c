// SPDX-License-Identifier: MIT
/*
 * The architected functions, step by step as functions.rst writes them. NaN results may have any
 * bits: storing makes them canonical.
 */
#include "reference.h"

#include <math.h>
#include <string.h>

#define SHIFT	    0x1.8000000000000p+52
#define INV_LN2	    0x1.71547652b82fep+0
#define LN2_HI	    0x1.62e42fefa39efp-1
#define LN2_LO	    0x1.abc9e3b39803fp-56
#define TWO_OVER_PI 0x1.45f306dc9c883p-1
#define PIO2_HI	    0x1.921fb54442d18p+0
#define PIO2_LO	    0x1.1a62633145c07p-54

static const double exp_table[] = {
	0x1.0000000000000p-1,  0x1.5555555555555p-3,  0x1.5555555555555p-5,  0x1.1111111111111p-7,
	0x1.6c16c16c16c17p-10, 0x1.a01a01a01a01ap-13, 0x1.a01a01a01a01ap-16, 0x1.71de3a556c734p-19,
	0x1.27e4fb7789f5cp-22, 0x1.ae64567f544e4p-26, 0x1.1eed8eff8d898p-29,
};

static const double log_table[] = {
	0x1.5555555555555p-1, 0x1.999999999999ap-2, 0x1.2492492492492p-2,
	0x1.c71c71c71c71cp-3, 0x1.745d1745d1746p-3, 0x1.3b13b13b13b14p-3,
	0x1.1111111111111p-3, 0x1.e1e1e1e1e1e1ep-4, 0x1.af286bca1af28p-4,
};

static const double sin_table[] = {
	-0x1.5555555555555p-3,	0x1.1111111111111p-7,	-0x1.a01a01a01a01ap-13,
	0x1.71de3a556c734p-19,	-0x1.ae64567f544e4p-26, 0x1.6124613a86d09p-33,
	-0x1.ae7f3e733b81fp-41,
};

static const double cos_table[] = {
	-0x1.0000000000000p-1,	0x1.5555555555555p-5,	-0x1.6c16c16c16c17p-10,
	0x1.a01a01a01a01ap-16,	-0x1.27e4fb7789f5cp-22, 0x1.1eed8eff8d898p-29,
	-0x1.93974a8c07c9dp-37, 0x1.ae7f3e733b81fp-45,
};

static const double erf_low_table[] = {
	0x1.20dd750429b6bp+0,	-0x1.812746b037352p-2,	0x1.ce2f21a000d30p-4,
	-0x1.b82ce3026aae0p-6,	0x1.565bcb082cca2p-8,	-0x1.c02d67e37081ep-11,
	0x1.f99c295886f05p-14,	-0x1.f4684782919e8p-17, 0x1.b5d3ea9fd0b5ap-20,
	-0x1.462a758d4591dp-23, 0x1.43f6d0dee7032p-27,
};

static const double erf_high_table[] = {
	0x1.ffcaa8f4c9beap-1,	0x1.1d831733cd3d0p-9,	-0x1.64e3dcd130838p-8,
	0x1.119d9f9d95092p-7,	-0x1.1a89b9a570182p-7,	0x1.90e828d2479c9p-8,
	-0x1.6ecdb960f9a08p-9,	0x1.1c5deed380acep-11,	0x1.11544cce371dep-12,
	-0x1.06621350249cdp-12, 0x1.4a8c01e9e32a2p-14,	0x1.52f5cff936bc9p-18,
	-0x1.d8c9019ce6cfcp-17, 0x1.40524e38801ecp-18,	0x1.9809392e7dce2p-23,
	-0x1.738703141d451p-21, 0x1.776207066a91fp-23,	0x1.475a22b5eac5cp-25,
	-0x1.8385bc66de0e1p-26, -0x1.e16fcb8cd1128p-32, 0x1.288e036034b80p-30,
};

static const double tail_table[] = {
	0x1.82b4bb8c94c24p-4,	-0x1.5cf97b0ae8ad8p-3,	0x1.fd751a1fd408cp-4,
	-0x1.25b6aa962b652p-4,	0x1.f9b05efecd31dp-6,	-0x1.1644dc67d88e4p-7,
	0x1.0a1bf1e329714p-11,	0x1.4eec60ca62d11p-11,	-0x1.8890d74a57a21p-13,
	-0x1.7e435764d20b1p-15, 0x1.e0e485e71fea0p-16,	0x1.3adceae277478p-18,
	-0x1.2085a24e29435p-18, -0x1.fccaf3408158ep-21, 0x1.30f9e0768cbb2p-21,
	0x1.2529b85ff834dp-22,	0x1.1c69b325f4cf1p-25,
};

/* The first 256 bits of 2/pi after the binary point. */
static const uint64_t two_over_pi_words[] = {
	0xa2f9836e4e441529,
	0xfc2757d1f534ddc0,
	0xdb6295993c439041,
	0xfe5163abdebbc561,
};

#define P(table, x) polynomial(table, sizeof(table) / sizeof((table)[0]), x)

static double polynomial(const double *c, unsigned int n, double x)
{
	double p = c[--n];

	while (n-- > 0)
		p = fma(p, x, c[n]);
	return p;
}

static uint64_t bits(double x)
{
	uint64_t u;

	memcpy(&u, &x, sizeof(u));
	return u;
}

static double from_bits(uint64_t u)
{
	double x;

	memcpy(&x, &u, sizeof(x));
	return x;
}

static double atmost(double x, double limit)
{
	return x > limit ? limit : x;
}

static double atleast(double x, double limit)
{
	return x < limit ? limit : x;
}

static double withsign(double v, double x)
{
	return from_bits(bits(v) ^ (bits(x) & (uint64_t)1 << 63));
}

static float round_result(double v)
{
	return isnan(v) ? ref_float_of(0x7fc00000) : (float)v;
}

static void expparts(double x, double *scale, double *rest)
{
	double t = fma(x, INV_LN2, SHIFT);
	double k = t - SHIFT;
	double r = fma(-k, LN2_HI, x);

	r = fma(-k, LN2_LO, r);
	*scale = from_bits((bits(t) + 1023) << 52);
	*rest = fma(r * r, P(exp_table, r), r);
}

static double expd(double x)
{
	double scale, rest;

	expparts(x, &scale, &rest);
	return fma(scale, rest, scale);
}

static double expm1d(double x)
{
	double scale, rest;

	expparts(x, &scale, &rest);
	return fma(scale, rest, scale - 1);
}

static double exp2d(double x)
{
	double t = x + SHIFT;
	double scale = from_bits((bits(t) + 1023) << 52);
	double r = (x - (t - SHIFT)) * LN2_HI;
	double rest = fma(r * r, P(exp_table, r), r);

	return fma(scale, rest, scale);
}

static double log1pd(double f)
{
	double z = f / (2 + f);
	double w = z * z;

	return fma(z * w, P(log_table, w), z + z);
}

static void logparts(double x, double *k, double *f)
{
	uint64_t b = bits(x);
	uint64_t e = (b + 0x3ff0000000000000 - 0x3fe6a09e667f3bcd) >> 52;

	*f = from_bits(b - (e << 52) + 0x3ff0000000000000) - 1;
	*k = (double)((int64_t)e - 1023);
}

/* Returns bit n of 2/pi after the binary point; the first is bit 1. */
static unsigned int two_over_pi_bit(int n)
{
	return two_over_pi_words[(n - 1) / 64] >> (63 - (n - 1) % 64) & 1;
}

static void large_angle(double a, uint64_t *quadrant, double *rest)
{
	int exponent;
	uint64_t mantissa = (uint64_t)ldexp(frexp(a, &exponent), 24);
	int e = exponent - 24;
	ref_uint window = 0, turns;

	for (int n = e - 1; n <= e + 126; n++)
		window = window << 1 | two_over_pi_bit(n);
	turns = mantissa * window + ((ref_uint)1 << 125);
	*quadrant = (uint64_t)(turns >> 126);
	ref_int whole = (ref_int)(turns & (((ref_uint)1 << 126) - 1)) - ((ref_int)1 << 125);

	*rest = (double)whole * 0x1p-126 * PIO2_HI;
}

static void angle(double x, uint64_t *quadrant, double *rest)
{
	double a = fabs(x);

	if (isnan(a) || isinf(a)) {
		*quadrant = 0;
		*rest = NAN;
	} else if (a < 0x1p28) {
		double t = fma(a, TWO_OVER_PI, SHIFT);
		double k = t - SHIFT;
		double r = fma(-k, PIO2_HI, a);

		*rest = fma(-k, PIO2_LO, r);
		*quadrant = bits(t);
	} else {
		large_angle(a, quadrant, rest);
	}
}

static void sincos_of(double rest, double *sine, double *cosine)
{
	double w = rest * rest;

	*sine = fma(rest * w, P(sin_table, w), rest);
	*cosine = fma(w, P(cos_table, w), 1);
}

float ref_fn_exp(float x)
{
	return round_result(expd(atmost(atleast(x, -128), 128)));
}

float ref_fn_log(float x)
{
	double k, f;

	if (isnan(x) || x < 0)
		return round_result(NAN);
	if (x == 0)
		return -INFINITY;
	if (isinf(x))
		return INFINITY;
	logparts(x, &k, &f);
	return round_result(fma(k, LN2_HI, log1pd(f)));
}

float ref_fn_sin(float x)
{
	uint64_t quadrant;
	double rest, sine, cosine, v;

	angle(x, &quadrant, &rest);
	sincos_of(rest, &sine, &cosine);
	v = quadrant & 1 ? cosine : sine;
	if (quadrant % 4 == 2 || quadrant % 4 == 3)
		v = -v;
	return round_result(withsign(v, x));
}

float ref_fn_cos(float x)
{
	uint64_t quadrant;
	double rest, sine, cosine, v;

	angle(x, &quadrant, &rest);
	sincos_of(rest, &sine, &cosine);
	v = quadrant & 1 ? sine : cosine;
	if (quadrant % 4 == 1 || quadrant % 4 == 2)
		v = -v;
	return round_result(v);
}

float ref_fn_tan(float x)
{
	uint64_t quadrant;
	double rest, sine, cosine;

	angle(x, &quadrant, &rest);
	sincos_of(rest, &sine, &cosine);
	return round_result(withsign(quadrant & 1 ? cosine / -sine : sine / cosine, x));
}

float ref_fn_tanh(float x)
{
	double a = atmost(fabs((double)x), 20);
	double e = expm1d(a + a);

	return round_result(withsign(e / (e + 2), x));
}

float ref_fn_erf(float x)
{
	double a = atmost(fabs((double)x), 4);
	double v = a < 1 ? a * P(erf_low_table, a * a) : P(erf_high_table, a - 2.5);

	return round_result(withsign(v, x));
}

float ref_fn_sigmoid(float x)
{
	double a = atmost(atleast(x, -128), 128);

	return round_result(1 / (1 + expd(-a)));
}

float ref_fn_gelu(float x)
{
	double a = atmost(fabs((double)x), 15);
	double tail = expd(-0.5 * (a * a)) * P(tail_table, (a - 4) / (a + 4));

	if (isinf(x) && x < 0)
		return round_result(NAN);
	return round_result(x < 0 ? -a * tail : fma(-a, tail, x));
}

float ref_fn_softplus(float x)
{
	double a = atmost(fabs((double)x), 128);
	double e = expd(-a);
	double f = e > 0.4140625 ? (e - 1) * 0.5 : e;
	double base = e > 0.4140625 ? LN2_HI : 0;

	return round_result(atleast(x, 0) + (base + log1pd(f)));
}

float ref_fn_softsign(float x)
{
	double v = x;

	return round_result(v / (1 + fabs(v)));
}

float ref_fn_elu(float x, float alpha)
{
	if (x < 0)
		return round_result((double)alpha * expm1d(atleast(x, -128)));
	return round_result(x);
}

float ref_fn_recip(float x)
{
	return 1.0f / x;
}

float ref_fn_sqrt(float x)
{
	return sqrtf(x);
}

float ref_fn_rsqrt(float x)
{
	return round_result(1 / sqrt((double)x));
}

float ref_fn_pow(float x, float y)
{
	double a = fabs((double)x), k, f, l, p, v;
	bool integer = fabsf(y) >= 0x1p23f || y == truncf(y);
	bool odd = integer && fabsf(y) < 0x1p24f && (int64_t)y & 1;

	if (a == 0) {
		l = -INFINITY;
	} else if (isinf(a) || isnan(a)) {
		l = a;
	} else {
		logparts(a, &k, &f);
		l = fma(log1pd(f), INV_LN2, k);
	}
	p = a == 1 ? 0 : y * l;
	v = exp2d(atmost(atleast(p, -256), 256));
	if (x < 0 && !isinf(x) && !integer)
		v = NAN;
	if (signbit(x) && odd)
		v = -v;
	if (isnan(y))
		v = NAN;
	if (y == 0 || x == 1)
		v = 1;
	return round_result(v);
}

float ref_max(float a, float b)
{
	if (isnan(a) || isnan(b))
		return NAN;
	if (a == 0 && b == 0)
		return signbit(a) && signbit(b) ? -0.0f : 0.0f;
	return a > b ? a : b;
}

float ref_min(float a, float b)
{
	if (isnan(a) || isnan(b))
		return NAN;
	if (a == 0 && b == 0)
		return signbit(a) || signbit(b) ? -0.0f : 0.0f;
	return a < b ? a : b;
}
