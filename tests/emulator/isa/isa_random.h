/* SPDX-License-Identifier: MIT */
/* Random numbers of the instruction tests: the same ones on every host. */
#ifndef ISA_RANDOM_H
#define ISA_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

struct isa_random {
	uint64_t state;
};

static inline uint64_t random_bits(struct isa_random *r)
{
	uint64_t z = r->state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

/* 0 .. n - 1 */
static inline uint64_t random_below(struct isa_random *r, uint64_t n)
{
	return random_bits(r) % n;
}

static inline int64_t random_between(struct isa_random *r, int64_t low, int64_t high)
{
	return low + (int64_t)random_below(r, (uint64_t)(high - low) + 1);
}

/* True in so many of 100 cases. */
static inline bool random_chance(struct isa_random *r, unsigned int percent)
{
	return random_below(r, 100) < percent;
}

#endif
