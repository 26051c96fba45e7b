/* SPDX-License-Identifier: MIT */
/*
 * Runs whole programs on the reference: order, times, tokens and faults follow the blocks #program,
 * #issue, #faults and #semaphores of isa.xml. All start times are computed first, then the effects
 * in their order.
 */
#ifndef ISA_REFERENCE_MACHINE_H
#define ISA_REFERENCE_MACHINE_H

#include "reference.h"

#define REF_MAX_INSNS 512

struct ref_program {
	uint64_t program_va, slots_va;
	uint32_t num_insns, num_slots;
	uint64_t cycle_limit;
	uint64_t profile_va, profile_size;
};

/* The record of one instruction that the CP took; `executed` tells whether it was executed. */
struct ref_step {
	struct ref_op op;
	unsigned int engine;
	uint64_t issue, start, end, stall;
	uint64_t took; /* cycle in which the CP took it */
	bool issued, resolved, executed;
};

struct ref_result {
	struct ref_fault fault;
	uint64_t pc, fault_cycle;
	unsigned int engine;
	bool has_insn;
	uint32_t insn[ONPU_INSN_WORDS];
	uint32_t code;
	uint64_t cycles;
	uint64_t busy[ONPU_ENG_COUNT], stall_sem[ONPU_ENG_COUNT], stall_fifo;
	uint64_t macs, elements;
	/*
	 * False when a program gathers, scatters or pads: isa.xml does not define how often bytes
	 * are read then.
	 */
	bool bytes_known;
	uint64_t bytes_ld, bytes_st;
	unsigned int num_records;
	/*
	 * Whether an instruction faulted and may have written a part of DST. Then the bytes of the
	 * space from partly_from up to, but without, partly_to may hold anything.
	 */
	bool partly;
	unsigned int partly_space;
	uint64_t partly_from, partly_to;
	struct ref_step step[REF_MAX_INSNS];
};

/*
 * Runs the program. m->sram is the content of SRAM after the machine has zeroed it at the start of
 * the job; the tests put other content there.
 */
void ref_run(struct ref_machine *m, const struct ref_program *program, struct ref_result *result);

#endif
