/* SPDX-License-Identifier: MIT */
/*
 * Makes instructions with operands that fit, which a fuzzer would not find by chance.
 *
 * A template is an instruction and its five slots, made from a few bytes of input. Without further
 * changes most of them pass all checks of the architecture, so that changing bytes of their slots
 * reaches every check and every path after them.
 */
#ifndef ONPU_FUZZ_TEMPLATE_H
#define ONPU_FUZZ_TEMPLATE_H

#include "fuzz.h"
#include "onpu/isa.h"

/* Each tensor has a region of its own, in SRAM or in memory, unless it is in place. */
#define TEMPLATE_REGIONS 4u
#define TEMPLATE_REGION	 0x10000u
#define TEMPLATE_SRAM	 (TEMPLATE_REGIONS * TEMPLATE_REGION)
/* Addresses in memory: the program and its slots, then the regions. */
#define TEMPLATE_PROGRAM_VA   0x10000000u
#define TEMPLATE_SLOTS_VA     0x10004000u
#define TEMPLATE_PROFILE_VA   0x1000e000u
#define TEMPLATE_PROFILE_SIZE 0x400u
#define TEMPLATE_DATA_VA      0x10010000u
#define TEMPLATE_MEMORY	      (0x10000u + TEMPLATE_SRAM)

struct template
{
	struct onpu_insn insn;
	union onpu_slot slot[ONPU_OPERAND_COUNT];
	/* A mask of the operands that are present; optional ones may be left out. */
	uint8_t present;
};

/* Makes a template; the instruction's slot indices are first_slot and following. */
void template_make(struct fuzz_input *in, enum onpu_op op, uint16_t first_slot, struct template *t);
/* Makes a PROGRAM slot with all of SRAM and initial semaphore counts from the input. */
void template_program_slot(struct fuzz_input *in, union onpu_slot *slot);
/*
 * Changes the bytes by exclusive-or with a record of the input: an offset, and one or eight bytes.
 */
void template_flip(struct fuzz_input *in, void *bytes, size_t size);

#endif
