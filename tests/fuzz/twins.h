/* SPDX-License-Identifier: MIT */
/*
 * Two machines that must agree: the scalar one with one thread, and the best of the host with two.
 *
 * Both run one program over copies of the same memory. Their results, faults, virtual times, SRAM
 * and memory must be equal bit for bit; a difference is a finding, as is undefined behaviour. An
 * error in code that both machines share is not found so; TWINS_BOOK also compares the result with
 * the element-by-element reference of the unit tests.
 */
#ifndef ONPU_FUZZ_TWINS_H
#define ONPU_FUZZ_TWINS_H

#include "onpu_sim.h"
#include "template.h"

/* Enough for many instructions, and few enough that an input takes milliseconds. */
#define TWINS_CYCLE_LIMIT (1u << 17)

/* Bits of @flags: how a program is run. */
#define TWINS_PATTERN 0x03 /* initial content of SRAM and memory */
#define TWINS_INDICES 0x04 /* the third region holds small numbers, which are good indices */
#define TWINS_PREEMPT 0x08 /* both machines save and restore at preempt instructions */
#define TWINS_MOVE \
	0x10		   /* the best machine saves and restores where all of SRAM is saved;
			    * results must not change */
#define TWINS_DAMAGE  0x20 /* both machines restore a changed state */
#define TWINS_PROFILE 0x40
#define TWINS_BOOK    0x80 /* compare with the reference of tests/emulator/isa, too */

#define TWINS_MAX_SLOTS 256
#define TWINS_MAX_INSNS 64

struct twins_program {
	uint8_t flags;
	uint32_t num_insns, num_slots;
	uint32_t insn[TWINS_MAX_INSNS][ONPU_INSN_WORDS];
	union onpu_slot slot[TWINS_MAX_SLOTS];
	/* The bytes by which TWINS_DAMAGE changes the saved state. */
	uint8_t damage[16];
};

struct twins_outcome {
	const struct onpu_job_result *result;
	const uint8_t *memory, *sram;
};

void twins_append(struct twins_program *p, const struct onpu_insn *insn);
void twins_run(const struct twins_program *p);
/* Fill memory and SRAM with the content at the start of a run. */
void twins_fill_memory(const struct twins_program *p, uint8_t *memory);
void twins_fill_sram(const struct twins_program *p, uint8_t *sram);
const struct onpu_sim_config *twins_config(void);

/*
 * book.c: returns NULL, or the name of what differs from isa.xml, and prints both values to stderr.
 */
const char *book_compare(const struct twins_program *p, const struct twins_outcome *got);

#endif
