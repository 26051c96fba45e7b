/* SPDX-License-Identifier: MIT */
/*
 * Random instructions with operands that fit them, for tests that compare configurations of the
 * machine. Most are valid; an invalid one ends in a fault, which must be the same everywhere, too.
 */
#ifndef TESTS_RANDOM_INSN_H
#define TESTS_RANDOM_INSN_H

#include "../random.h"
#include "program.h"

/*
 * Adds one random instruction of @op to the program: sources in the lower half of the SRAM, the
 * destination in the upper half; an operand of a DMA instruction may be in memory instead.
 */
void random_insn(struct rng *r, struct program *p, enum onpu_op op, uint32_t sram_bytes);

/*
 * Fills memory with bytes that are interesting as elements of every type: mostly numbers near 1 in
 * each float type, some extremes, some noise.
 */
void random_data(struct rng *r, uint8_t *data, size_t size);

#endif
