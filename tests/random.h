/* SPDX-License-Identifier: MIT */
/*
 * Random numbers of the tests: the same ones on every machine, for a seed. The sequences are fixed, since recorded
 * graphs (tests/graphs/recorded) and recorded inputs of the fuzz targets (tests/fuzz/regressions) hold seeds.
 */
#ifndef TESTS_RANDOM_H
#define TESTS_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

/* The state of a sequence; any number is a seed. */
struct rng {
	uint64_t state;
};

/* Returns a number that depends on all bits of @a and @b, mixed as in splitmix64. */
static inline uint64_t rng_mix(uint64_t a, uint64_t b)
{
	uint64_t x = a * UINT64_C(0x9e3779b97f4a7c15) + b;

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* Returns 64 random bits: splitmix64. */
static inline uint64_t rng_bits(struct rng *rng)
{
	rng->state += UINT64_C(0x9e3779b97f4a7c15);
	return rng_mix(1, rng->state);
}

/* Returns 32 random bits. */
static inline uint32_t rng_u32(struct rng *rng)
{
	return (uint32_t)(rng_bits(rng) >> 32);
}

/* Returns a number from 0 to @n - 1; 0 when @n is 0. */
static inline uint64_t rng_below(struct rng *rng, uint64_t n)
{
	uint64_t bits = rng_bits(rng);

	return n > UINT32_MAX ? bits % n : (bits >> 32) * n >> 32;
}

/* Returns a number from @lo to @hi, both included. */
static inline int64_t rng_between(struct rng *rng, int64_t lo, int64_t hi)
{
	return lo + (int64_t)rng_below(rng, (uint64_t)(hi - lo) + 1);
}

/* Returns a number from @lo to below @hi. */
static inline double rng_real(struct rng *rng, double lo, double hi)
{
	return lo + (hi - lo) * ((double)(rng_bits(rng) >> 11) * 0x1p-53);
}

/* Returns true in @percent of 100 cases. */
static inline bool rng_chance(struct rng *rng, unsigned int percent)
{
	return rng_below(rng, 100) < percent;
}

/*
 * Returns the next of a sequence of 32-bit numbers whose state, which is never 0, is the number
 * itself: xorshift32.
 */
static inline uint32_t rng_xorshift32(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

#endif
