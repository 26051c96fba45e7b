/* SPDX-License-Identifier: MIT */
/*
 * What a machine did against the reference of tests/emulator/isa, which works element by element from
 * the text of isa.xml. It is slow: programs with much work are left out, and so are those that change
 * their own instructions or slots, which the reference does not follow.
 */
#include <stdbool.h>

#include "reference_machine.h"
#include "twins.h"

#define MAX_CYCLES	20000
#define MAX_WORK	60000	/* elements, bytes, multiply-accumulates */

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
		.lanes = c->lanes, .rows = c->mxu_rows, .cols = c->mxu_cols,
		.fifo_depth = c->fifo_depth, .dma_bytes = c->dma_bytes_per_cycle,
		.sram_bytes = TEMPLATE_SRAM, .sram = sram,
		.memory = memory, .memory_base = TEMPLATE_PROGRAM_VA,
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

	twins_fill(p, memory, sram);
	ref_run(&m, &program, &want);
}

static bool is_mmu_fault(unsigned int code)
{
	return code == ONPU_FAULT_MMU_NOT_PRESENT || code == ONPU_FAULT_MMU_PERM;
}

static const char *compare_fault(const struct onpu_fault_record *f)
{
	if (f->code != want.fault.code)
		return "the fault's code";
	if (!f->code)
		return NULL;
	if (f->pc != want.pc)
		return "the fault's PC";
	if (f->engine != want.engine)
		return "the fault's engine";
	if (f->operand != want.fault.operand)
		return "the fault's operand";
	/* Of several addresses that fail, any may be named. */
	if (f->address != want.fault.address && !is_mmu_fault(f->code))
		return "the fault's address";
	return f->cycle != want.fault_cycle ? "the fault's cycle" : NULL;
}

static const char *compare_counters(const struct onpu_job_result *r)
{
	if (r->cycles != want.cycles)
		return "the number of cycles";
	if (r->code != want.code)
		return "the status";
	if (memcmp(r->counters.busy, want.busy, sizeof(want.busy)))
		return "a busy counter";
	if (memcmp(r->counters.stall_sem, want.stall_sem, sizeof(want.stall_sem)) ||
	    r->counters.stall_fifo != want.stall_fifo)
		return "a stall counter";
	if (r->counters.macs != want.macs || r->counters.elements != want.elements)
		return "a work counter";
	if (want.bytes_known && (r->counters.bytes_ld != want.bytes_ld ||
				 r->counters.bytes_st != want.bytes_st))
		return "a byte counter";
	return NULL;
}

/* Equal but for what an instruction that faulted half-way may have written. */
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
	if (!unlike && got->result->profile_records != want.num_records)
		unlike = "the number of profile records";
	if (!unlike && !want.fault.code)
		unlike = compare_counters(got->result);
	if (unlike)
		fprintf(stderr, "by the text: fault %u pc %llu operand %u address %#llx cycle %llu\n",
			want.fault.code, (unsigned long long)want.pc, want.fault.operand,
			(unsigned long long)want.fault.address,
			(unsigned long long)want.fault_cycle);
	if (!unlike && !equal(got->sram, sram, ONPU_SPACE_SRAM, 0, TEMPLATE_SRAM))
		unlike = "SRAM";
	if (!unlike && !equal(got->memory, memory, ONPU_SPACE_VA, TEMPLATE_PROGRAM_VA,
			      TEMPLATE_MEMORY))
		unlike = "memory";
	return unlike;
}
