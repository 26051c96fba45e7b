/* SPDX-License-Identifier: MIT */
/*
 * Random instructions with operands that fit them, for tests that compare ways to execute
 * them. Most are valid; what is not ends in a fault that has to be the same everywhere, too.
 */
#ifndef TESTS_RANDOM_INSN_H
#define TESTS_RANDOM_INSN_H

#include "program.h"

struct random_source {
	uint64_t state;
};

/* xorshift64* */
static inline uint32_t random_u32(struct random_source *r)
{
	r->state ^= r->state >> 12;
	r->state ^= r->state << 25;
	r->state ^= r->state >> 27;
	return (uint32_t)((r->state * UINT64_C(0x2545f4914f6cdd1d)) >> 32);
}

static inline uint32_t random_below(struct random_source *r, uint32_t n)
{
	return random_u32(r) % n;
}

/*
 * Adds one random instruction of @op to the program: sources in the lower half of the SRAM,
 * the destination in the upper half (or in memory, for DMA).
 */
void random_insn(struct random_source *r, struct program *p, enum onpu_op op, uint32_t sram_bytes);

/* Bytes that are interesting as elements of every type. */
void random_data(struct random_source *r, uint8_t *data, size_t size);

#endif
