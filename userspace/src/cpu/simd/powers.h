/* SPDX-License-Identifier: MIT */
/* Groups of vectors, and e to the power of their elements, in float32. */
#ifndef WNN_CPU_SIMD_POWERS_H
#define WNN_CPU_SIMD_POWERS_H

#include "cpu/simd/vector.h"

#define INLINE static inline __attribute__((always_inline))

/*
 * Vectors that are computed together: each step of a function waits for the step before, and
 * processors do not look far enough ahead to find independent instructions of the next vector.
 */
#define GROUP 4

struct group {
	vec v[GROUP];
};

INLINE struct group load_group(const float *x)
{
	struct group g;

	for (int k = 0; k < GROUP; k++)
		g.v[k] = load(x + k * LANES);
	return g;
}

INLINE void store_group(float *y, struct group g)
{
	for (int k = 0; k < GROUP; k++)
		store(y + k * LANES, g.v[k]);
}

INLINE struct group next_term(struct group p, struct group x, float c)
{
	for (int k = 0; k < GROUP; k++)
		p.v[k] = multiply_add(p.v[k], x.v[k], splat(c));
	return p;
}

/*
 * exponential() needs powers of 2 with exponents from LEAST_POWER, which gives 0, to 0. A factor of
 * 2^POWER_FACTOR keeps them in the range where float32 has all digits.
 */
#define POWER_FACTOR 24
#define LEAST_POWER  (-127 - POWER_FACTOR)

/* Adding WHOLE rounds a number to an integer, which is then in the last bits of the sum. */
#define WHOLE  0x1.8p23f
#define LOG2_E 0x1.715476p+0f
#define LN_2   0x1.62e43p-1f

/*
 * Returns r = x - n * ln(2), |r| <= ln(2) / 2, for the integer n nearest to x / ln(2); *bits are
 * those of n + WHOLE.
 */
INLINE struct group reduced(struct group x, uvec bits[GROUP])
{
	struct group n, r;

	for (int k = 0; k < GROUP; k++) {
		n.v[k] = multiply_add(x.v[k], splat(LOG2_E), splat(WHOLE));
		bits[k] = (uvec)n.v[k];
	}
	for (int k = 0; k < GROUP; k++)
		n.v[k] -= WHOLE;
	/* The first term of ln(2) has so few digits that its product with n is exact. */
	for (int k = 0; k < GROUP; k++)
		r.v[k] = multiply_add(n.v[k], splat(-0x1.62e4p-1f), x.v[k]);
	for (int k = 0; k < GROUP; k++)
		r.v[k] = multiply_add(n.v[k], splat(-0x1.7f7d1cp-20f), r.v[k]);
	return r;
}

/* Returns (e^r - 1) / r. */
INLINE struct group slope(struct group r)
{
	struct group p;

	for (int k = 0; k < GROUP; k++)
		p.v[k] = multiply_add(r.v[k], splat(0.00138189388f), splat(0.00836870354f));
	p = next_term(p, r, 0.0416682884f);
	p = next_term(p, r, 0.166665211f);
	p = next_term(p, r, 0.49999994f);
	return next_term(p, r, 1);
}

/*
 * Returns e^(x + lost) * 2^(POWER_FACTOR - m) with an error of about one unit in the last place;
 * lost is 0 where it is NULL, and `of` is the bits of m + WHOLE, plus LEAST_POWER. Results that
 * become 0 are products with 0: underflow would take some processors a hundred cycles.
 */
INLINE struct group exponential(struct group x, const struct group *lost, ivec of)
{
	uvec bits[GROUP];
	struct group r = reduced(x, bits), p;

	for (int k = 0; k < GROUP && lost; k++)
		r.v[k] += lost->v[k];
	p = next_term(slope(r), r, 1);
	for (int k = 0; k < GROUP; k++)
		p.v[k] *= (vec)((bits[k] - (uvec)of) << 23);
	return p;
}

#define POWER_UNIT (1.0f / (1 << POWER_FACTOR))

/* From here on e^x is infinite. */
#define MOST_POWER 89.0f

/*
 * Returns e^x. The factor 2^n is applied in two steps, since the exponents of floats have too small
 * a range: 2^(n + POWER_FACTOR) for x < 0, 2^(n - POWER_FACTOR) for other x, then the rest.
 */
INLINE struct group exp_of(struct group x, float alpha, float beta)
{
	const ivec up = (ivec)splat(WHOLE) + LEAST_POWER, down = up + 2 * POWER_FACTOR;
	struct group r, p;
	uvec bits[GROUP];
	ivec small[GROUP];

	(void)alpha;
	(void)beta;
	for (int k = 0; k < GROUP; k++) {
		small[k] = (ivec)(x.v[k] < splat(0));
		/* NaN stays. */
		x.v[k] = -most_of(splat(-MOST_POWER), -x.v[k]);
		x.v[k] = most_of(splat(LEAST_POWER * LN_2), x.v[k]);
	}
	r = reduced(x, bits);
	p = next_term(slope(r), r, 1);
	for (int k = 0; k < GROUP; k++) {
		ivec of = (ivec)choose(small[k], (vec)up, (vec)down);

		p.v[k] *= (vec)((bits[k] - (uvec)of) << 23);
		p.v[k] *= choose(small[k], splat(POWER_UNIT), splat(1 << POWER_FACTOR));
	}
	return p;
}

#endif
