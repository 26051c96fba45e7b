// SPDX-License-Identifier: MIT
/*
 * Compares a machine with the reference of tests/emulator/isa, which works element by element from
 * the text of isa.xml. The reference is slow, so that programs with much work are left out, and so
 * are programs that change their own instructions or slots, which the reference does not support.
 */
#include <stdbool.h>

#include "reference_machine.h"
#include "twins.h"

#define MAX_CYCLES 20000
#define MAX_WORK   60000 /* most elements, bytes and multiply-accumulates of a program */

static uint8_t memory[TEMPLATE_MEMORY], sram[TEMPLATE_SRAM];
static struct ref_result want;

static bool suitable(const struct twins_program *p, const struct twins_outcome *got)
{
	const struct onpu_job_result *r = got->result;
	const size_t slots = TEMPLATE_SLOTS_VA - TEMPLATE_PROGRAM_VA;

	if (r->cycles > MAX_CYCLES || r->counters.macs > MAX_WORK ||
	    r->counters.elements > MAX_WORK ||
	    r->counters.bytes_ld + r->counters.bytes_st > MAX_WORK)
		return false;
	return !memcmp(got->memory, p->insn, p->num_insns * sizeof(p->insn[0])) &&
	       !memcmp(got->memory + slots, p->slot, p->num_slots * sizeof(p->slot[0]));
}

static void run_reference(const struct twins_program *p)
{
	const struct onpu_sim_config *c = twins_config();
	struct ref_machine m = {
		.lanes = c->lanes,
		.rows = c->mxu_rows,
		.cols = c->mxu_cols,
		.forms = (c->features & ONPU_CAP_FEATURES_MXU_FORMS__MASK) >>
			 ONPU_CAP_FEATURES_MXU_FORMS__SHIFT,
		.packing = c->features & ONPU_CAP_FEATURES_PACKING__MASK,
		.weights = c->features & ONPU_CAP_FEATURES_WEIGHTS__MASK,
		.fifo_depth = c->fifo_depth,
		.dma_bytes = c->dma_bytes_per_cycle,
		.sram_bytes = TEMPLATE_SRAM,
		.sram = sram,
		.memory = memory,
		.memory_base = TEMPLATE_PROGRAM_VA,
		.memory_size = TEMPLATE_MEMORY,
	};
	const struct ref_program program = {
		.program_va = TEMPLATE_PROGRAM_VA,
		.slots_va = TEMPLATE_SLOTS_VA,
		.num_insns = p->num_insns,
		.num_slots = p->num_slots,
		.cycle_limit = TWINS_CYCLE_LIMIT,
		.profile_va = TEMPLATE_PROFILE_VA,
		.profile_size = p->flags & TWINS_PROFILE ? TEMPLATE_PROFILE_SIZE : 0,
	};

	twins_fill_memory(p, memory);
	twins_fill_sram(p, sram);
	ref_run(&m, &program, &want);
}

static bool is_mmu_fault(unsigned int code)
{
	return code == ONPU_FAULT_MMU_NOT_PRESENT || code == ONPU_FAULT_MMU_PERM;
}

/* Returns NULL when the numbers are equal; otherwise prints both to stderr and returns @what. */
static const char *differs(const char *what, uint64_t got, uint64_t expected)
{
	if (got == expected)
		return NULL;
	fprintf(stderr, "%s: %#llx (%llu), by the text %#llx (%llu)\n", what,
		(unsigned long long)got, (unsigned long long)got, (unsigned long long)expected,
		(unsigned long long)expected);
	return what;
}

static const char *compare_fault(const struct onpu_fault_record *f)
{
	const char *unlike = differs("the fault's code", f->code, want.fault.code);

	if (unlike || !f->code)
		return unlike;
	unlike = differs("the fault's PC", f->pc, want.pc);
	if (!unlike)
		unlike = differs("the fault's engine", f->engine, want.engine);
	if (!unlike)
		unlike = differs("the fault's operand", f->operand, want.fault.operand);
	/* When several addresses fail, the fault may name any of them. */
	if (!unlike && !is_mmu_fault(f->code))
		unlike = differs("the fault's address", f->address, want.fault.address);
	return unlike ? unlike : differs("the fault's cycle", f->cycle, want.fault_cycle);
}

static const char *compare_engine(const struct onpu_counters *c, unsigned int engine)
{
	const char *unlike = differs("a busy counter", c->busy[engine], want.busy[engine]);

	if (!unlike)
		unlike = differs("a stall counter", c->stall_sem[engine], want.stall_sem[engine]);
	if (unlike)
		fprintf(stderr, "... of engine %u\n", engine);
	return unlike;
}

static const char *compare_counters(const struct onpu_job_result *r)
{
	const char *unlike = differs("the number of cycles", r->cycles, want.cycles);

	if (!unlike)
		unlike = differs("the status", r->code, want.code);
	for (unsigned int e = 0; !unlike && e < ONPU_ENG_COUNT; e++)
		unlike = compare_engine(&r->counters, e);
	if (!unlike)
		unlike = differs("the stalls of full queues", r->counters.stall_fifo,
				 want.stall_fifo);
	if (!unlike)
		unlike = differs("the number of products", r->counters.macs, want.macs);
	if (!unlike)
		unlike = differs("the number of elements", r->counters.elements, want.elements);
	if (!unlike && want.bytes_known)
		unlike = differs("the bytes read", r->counters.bytes_ld, want.bytes_ld);
	if (!unlike && want.bytes_known)
		unlike = differs("the bytes written", r->counters.bytes_st, want.bytes_st);
	return unlike;
}

/*
 * Returns whether the bytes are equal; prints the first that differs. Bytes that an instruction
 * which faulted half-way may or may not have written are not compared.
 */
static bool equal(const uint8_t *got, const uint8_t *expected, unsigned int space, uint64_t base,
		  uint64_t size)
{
	bool partly = want.partly && want.partly_space == space;

	if (!memcmp(got, expected, size))
		return true;
	for (uint64_t i = 0; i < size; i++) {
		bool open = partly && base + i >= want.partly_from && base + i < want.partly_to;

		if (got[i] != expected[i] && !open) {
			fprintf(stderr, "byte %#llx: %02x, by the text %02x\n",
				(unsigned long long)i, got[i], expected[i]);
			return false;
		}
	}
	return true;
}

const char *book_compare(const struct twins_program *p, const struct twins_outcome *got)
{
	const char *unlike;

	if (!suitable(p, got))
		return NULL;
	run_reference(p);
	unlike = compare_fault(&got->result->fault);
	if (!unlike)
		unlike = differs("the number of profile records", got->result->profile_records,
				 want.num_records);
	if (!unlike && !want.fault.code)
		unlike = compare_counters(got->result);
	if (unlike)
		fprintf(stderr,
			"by the text: fault %u pc %llu operand %u address %#llx cycle %llu\n",
			want.fault.code, (unsigned long long)want.pc, want.fault.operand,
			(unsigned long long)want.fault.address,
			(unsigned long long)want.fault_cycle);
	if (!unlike && !equal(got->sram, sram, ONPU_SPACE_SRAM, 0, TEMPLATE_SRAM))
		unlike = "SRAM";
	if (!unlike &&
	    !equal(got->memory, memory, ONPU_SPACE_VA, TEMPLATE_PROGRAM_VA, TEMPLATE_MEMORY))
		unlike = "memory";
	return unlike;
}
