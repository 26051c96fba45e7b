/* SPDX-License-Identifier: MIT */
/*
 * The rig of the instruction tests: a job with its memory and SRAM, run on the reference and on
 * machines of every kind, whose results must be equal in everything that isa.xml defines.
 */
#ifndef ISA_RIG_H
#define ISA_RIG_H

#include "../../random.h"
#include "onpu_sim.h"
#include "reference_machine.h"

/* Sizes of the machines; each exists for every SIMD level and number of threads. */
enum rig_size {
	RIG_SMALL, /* onpu-ref1 with little SRAM */
	RIG_ODD,   /* the features of onpu-ref2; all sizes are small and odd */
	RIG_LARGE, /* onpu-ref2 with 1 MiB of SRAM */
	RIG_SIZES
};

#define RIG_MEMORY_MAX (3u << 20)
#define RIG_SRAM_MAX   (1u << 20)
/* Offsets of a job's program, slots, profile and data from RIG_BASE. Data has pages of its own. */
#define RIG_BASE      0x3456789a0000ull
#define RIG_PROGRAM   0x0u
#define RIG_SLOTS     0x2000u
#define RIG_NUM_SLOTS 128u /* slots that fit */
#define RIG_PROFILE   0x6000u
#define RIG_DATA      0x8000u

struct rig_job {
	enum rig_size size;
	uint32_t memory_size; /* bytes in use */
	uint8_t memory[RIG_MEMORY_MAX], sram[RIG_SRAM_MAX];
	uint64_t readonly_base, readonly_size;
	struct ref_program program;
	struct ref_result expected;
	bool any_address; /* set for an MMU fault for which isa.xml allows several addresses */
};

/*
 * Creates the machines of all sizes, for each SIMD level and number of threads; ends the program if
 * it cannot, except for a level that the host lacks.
 */
void rig_open(void);
void rig_close(void);
/* Return the bytes of SRAM and the reference's description of the machine of a size. */
uint32_t rig_sram_bytes(enum rig_size size);
struct ref_machine rig_reference_machine(enum rig_size size);

/*
 * Sets memory and SRAM to zeros, and makes a PROGRAM slot that has all of the SRAM; the caller sets
 * the other members of the job.
 */
void rig_clear(struct rig_job *job, enum rig_size size, uint32_t memory_size);
void rig_put_slot(struct rig_job *job, unsigned int index, const union onpu_slot *slot);
union onpu_slot *rig_slot(struct rig_job *job, unsigned int index);
void rig_put_words(struct rig_job *job, unsigned int index, const uint32_t *words);
void rig_put_insn(struct rig_job *job, unsigned int index, const struct onpu_insn *insn);

/*
 * Runs the job on the reference and all machines, and prints differences; returns whether there are
 * none. job->expected is the result of the reference.
 */
bool rig_check(struct rig_job *job);

/*
 * Checks as rig_check() does, and that the reference reports this fault; returns whether all is
 * right.
 */
bool rig_check_fault(struct rig_job *job, enum onpu_fault code, unsigned int operand);

extern unsigned int rig_runs;

#endif
