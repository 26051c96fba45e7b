// SPDX-License-Identifier: MIT
/* Implements isa_rig.h, the rig of the instruction tests. */
#include "isa_rig.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "math/functions.h"

#define MAX_KINDS 4

/* A configuration of the machine; all configurations must give equal results. */
struct kind {
	const char *name;
	int simd;
	unsigned int threads;
};

static const struct kind kinds[] = {
	{ "scalar", ONPU_SIMD_SCALAR, 1 },
	{ "AVX2", ONPU_SIMD_AVX2, 1 },
	{ "best", -1, 1 },
	{ "best, 2 threads", -1, 2 },
};

static struct onpu_machine *machines[RIG_SIZES][MAX_KINDS];
static uint8_t scratch_memory[RIG_MEMORY_MAX], expected_memory[RIG_MEMORY_MAX];
static uint8_t expected_sram[RIG_SRAM_MAX];
unsigned int rig_runs;

static struct onpu_sim_config config_of(enum rig_size size)
{
	struct onpu_sim_config config = onpu_sim_config_default();

	onpu_sim_config_name(&config, size == RIG_SMALL ? "onpu-ref1" : "onpu-ref2");
	config.sram_bytes = size == RIG_LARGE ? RIG_SRAM_MAX : 64 << 10;
	if (size == RIG_ODD) {
		config.sram_bytes = 32 << 10;
		config.lanes = 4;
		config.mxu_rows = 8;
		config.mxu_cols = 16;
		config.fifo_depth = 2;
		config.dma_bytes_per_cycle = 8;
	}
	return config;
}

void rig_open(void)
{
	for (unsigned int s = 0; s < RIG_SIZES; s++) {
		for (unsigned int k = 0; k < MAX_KINDS; k++) {
			struct onpu_sim_config config = config_of(s);
			const char *error = NULL;

			config.simd = kinds[k].simd;
			config.threads = kinds[k].threads;
			machines[s][k] = onpu_machine_create(&config, &error);
			if (machines[s][k])
				continue;
			/*
			 * The host may lack a SIMD level; the scalar and the best level always
			 * exist.
			 */
			printf("no machine of kind %s: %s\n", kinds[k].name, error ? error : "?");
			if (kinds[k].simd != ONPU_SIMD_AVX2)
				exit(1);
		}
	}
}

void rig_close(void)
{
	for (unsigned int s = 0; s < RIG_SIZES; s++)
		for (unsigned int k = 0; k < MAX_KINDS; k++)
			onpu_machine_destroy(machines[s][k]);
}

uint32_t rig_sram_bytes(enum rig_size size)
{
	return config_of(size).sram_bytes;
}

struct ref_machine rig_reference_machine(enum rig_size size)
{
	struct onpu_sim_config config = config_of(size);

	return (struct ref_machine){
		.lanes = config.lanes,
		.rows = config.mxu_rows,
		.cols = config.mxu_cols,
		.forms = (config.features & ONPU_CAP_FEATURES_MXU_FORMS__MASK) >>
			 ONPU_CAP_FEATURES_MXU_FORMS__SHIFT,
		.packing = config.features & ONPU_CAP_FEATURES_PACKING__MASK,
		.weights = config.features & ONPU_CAP_FEATURES_WEIGHTS__MASK,
		.fifo_depth = config.fifo_depth,
		.dma_bytes = config.dma_bytes_per_cycle,
		.sram_bytes = config.sram_bytes,
	};
}

void rig_clear(struct rig_job *job, enum rig_size size, uint32_t memory_size)
{
	union onpu_slot slot;

	memset(&slot, 0, sizeof(slot));
	job->size = size;
	job->memory_size = memory_size;
	job->readonly_base = job->readonly_size = 0;
	job->any_address = false;
	memset(job->memory, 0, memory_size);
	memset(job->sram, 0, rig_sram_bytes(size));
	job->program = (struct ref_program){
		.program_va = RIG_BASE + RIG_PROGRAM,
		.slots_va = RIG_BASE + RIG_SLOTS,
		.num_slots = 1,
		.profile_va = RIG_BASE + RIG_PROFILE,
		.profile_size = RIG_DATA - RIG_PROFILE,
	};
	slot.program.kind = ONPU_SLOT_PROGRAM;
	slot.program.isa_major = ONPU_ISA_MAJOR;
	slot.program.sram_bytes = rig_sram_bytes(size);
	rig_put_slot(job, 0, &slot);
}

union onpu_slot *rig_slot(struct rig_job *job, unsigned int index)
{
	return (union onpu_slot *)(void *)(job->memory + RIG_SLOTS + index * ONPU_SLOT_SIZE);
}

void rig_put_slot(struct rig_job *job, unsigned int index, const union onpu_slot *slot)
{
	if (index >= RIG_NUM_SLOTS)
		abort();
	memcpy(rig_slot(job, index), slot, sizeof(*slot));
	if (index >= job->program.num_slots)
		job->program.num_slots = index + 1;
}

void rig_put_words(struct rig_job *job, unsigned int index, const uint32_t *words)
{
	if (RIG_PROGRAM + (index + 1) * ONPU_INSN_BYTES > RIG_SLOTS)
		abort();
	memcpy(job->memory + RIG_PROGRAM + index * ONPU_INSN_BYTES, words, ONPU_INSN_BYTES);
	if (index >= job->program.num_insns)
		job->program.num_insns = index + 1;
}

void rig_put_insn(struct rig_job *job, unsigned int index, const struct onpu_insn *insn)
{
	uint32_t words[ONPU_INSN_WORDS];

	if (onpu_insn_pack(insn, words))
		abort();
	rig_put_words(job, index, words);
}

/* The context's memory, as the machine's callbacks see it. */
struct memory {
	const struct rig_job *job;
	uint64_t bad;
};

static int check_access(struct memory *memory, uint64_t addr, size_t len, bool write)
{
	const struct rig_job *job = memory->job;

	for (size_t i = 0; i < len; i++) {
		memory->bad = addr + i;
		if (addr + i - RIG_BASE >= job->memory_size)
			return ONPU_FAULT_MMU_NOT_PRESENT;
		if (write && addr + i - job->readonly_base < job->readonly_size)
			return ONPU_FAULT_MMU_PERM;
		/*
		 * An access is checked byte by byte only if there are read-only bytes or it goes
		 * beyond the end.
		 */
		if (!job->readonly_size && addr - RIG_BASE < job->memory_size &&
		    len <= job->memory_size - (addr - RIG_BASE))
			return 0;
	}
	return 0;
}

static int memory_read(void *ctx, uint64_t addr, void *dst, size_t len)
{
	int error = check_access(ctx, addr, len, false);

	if (!error)
		memcpy(dst, scratch_memory + (addr - RIG_BASE), len);
	return error;
}

static int memory_write(void *ctx, uint64_t addr, const void *src, size_t len)
{
	int error = check_access(ctx, addr, len, true);

	if (!error)
		memcpy(scratch_memory + (addr - RIG_BASE), src, len);
	return error;
}

static uint64_t memory_fault_address(void *ctx)
{
	return ((struct memory *)ctx)->bad;
}

static void run_reference(struct rig_job *job)
{
	struct ref_machine m = rig_reference_machine(job->size);

	memcpy(expected_memory, job->memory, job->memory_size);
	memcpy(expected_sram, job->sram, m.sram_bytes);
	m.memory = expected_memory;
	m.memory_base = RIG_BASE;
	m.memory_size = job->memory_size;
	m.readonly_base = job->readonly_base;
	m.readonly_size = job->readonly_size;
	m.sram = expected_sram;
	ref_run(&m, &job->program, &job->expected);
}

static bool run_machine(const struct rig_job *job, struct onpu_machine *machine,
			struct onpu_job_result *result)
{
	struct memory memory = { .job = job };
	struct onpu_mem mem = {
		.ctx = &memory,
		.read = memory_read,
		.write = memory_write,
		.fault_address = memory_fault_address,
	};
	struct onpu_job what = {
		.program_va = job->program.program_va,
		.num_insns = job->program.num_insns,
		.num_slots = job->program.num_slots,
		.slots_va = job->program.slots_va,
		.profile_va = job->program.profile_va,
		.profile_size = job->program.profile_size,
		.cycle_limit = job->program.cycle_limit,
	};
	enum onpu_step step;

	memcpy(scratch_memory, job->memory, job->memory_size);
	onpu_machine_begin(machine, &mem, &what);
	/*
	 * The first step zeroes SRAM, unless it faults. Afterwards SRAM gets the content of the
	 * test.
	 */
	step = onpu_machine_step(machine);
	memcpy(onpu_machine_sram(machine), job->sram, rig_sram_bytes(job->size));
	while (step == ONPU_STEP_RUNNING || step == ONPU_STEP_PREEMPT_POINT)
		step = onpu_machine_step(machine);
	*result = *onpu_machine_result(machine);
	rig_runs++;
	return step == ONPU_STEP_DONE;
}

static bool same(const char *what, uint64_t got, uint64_t want)
{
	if (got == want)
		return true;
	printf("  %s is 0x%" PRIx64 " (%" PRId64 "), by the text 0x%" PRIx64 " (%" PRId64 ")\n",
	       what, got, (int64_t)got, want, (int64_t)want);
	return false;
}

/* Returns whether @address is one at which the access of the faulting operand can fail. */
static bool failing_address(const struct rig_job *job, uint64_t address)
{
	const struct ref_result *want = &job->expected;
	bool inside = address - RIG_BASE < job->memory_size, write = want->fault.operand == 0;
	ref_int low, high;

	ref_range(&want->step[want->pc].op, want->fault.operand, &low, &high);
	if (address >= low && address < high &&
	    (want->fault.code == ONPU_FAULT_MMU_PERM) == inside &&
	    (!inside || (write && address - job->readonly_base < job->readonly_size)))
		return true;
	printf("  fault address 0x%" PRIx64 " is none that fails\n", address);
	return false;
}

static bool same_fault(const struct rig_job *job, const struct onpu_job_result *got)
{
	const struct ref_result *want = &job->expected;
	bool ok = same("fault code", got->fault.code, want->fault.code);

	if (!want->fault.code && got->fault.code)
		printf("  ... pc %" PRIu64 ", engine %u, operand %u, address 0x%" PRIx64
		       ", cycle %" PRIu64 "\n",
		       got->fault.pc, got->fault.engine, got->fault.operand, got->fault.address,
		       got->fault.cycle);
	if (!want->fault.code || !ok)
		return ok;
	ok &= same("fault pc", got->fault.pc, want->pc);
	ok &= same("fault engine", got->fault.engine, want->engine);
	ok &= same("fault operand", got->fault.operand, want->fault.operand);
	if (job->any_address && ok &&
	    (want->fault.code == ONPU_FAULT_MMU_NOT_PRESENT ||
	     want->fault.code == ONPU_FAULT_MMU_PERM))
		ok &= failing_address(job, got->fault.address);
	else
		ok &= same("fault address", got->fault.address, want->fault.address);
	ok &= same("fault cycle", got->fault.cycle, want->fault_cycle);
	for (unsigned int i = 0; i < ONPU_INSN_WORDS; i++)
		ok &= same("instruction word", got->fault.insn[i], want->insn[i]);
	return ok;
}

static bool same_counters(const struct ref_result *want, const struct onpu_counters *got)
{
	bool ok = true;

	for (unsigned int e = 0; e < ONPU_ENG_COUNT; e++) {
		bool equal = same("busy", got->busy[e], want->busy[e]);

		equal &= same("stall_sem", got->stall_sem[e], want->stall_sem[e]);
		if (!equal)
			printf("  ... of engine %u\n", e);
		ok &= equal;
	}
	ok &= same("stall_fifo", got->stall_fifo, want->stall_fifo);
	ok &= same("macs", got->macs, want->macs);
	if (want->bytes_known) {
		ok &= same("bytes_ld", got->bytes_ld, want->bytes_ld);
		ok &= same("bytes_st", got->bytes_st, want->bytes_st);
	}
	ok &= same("elements", got->elements, want->elements);
	return ok;
}

/*
 * Copies the expected bytes to the part of the destination that a faulting instruction may have
 * written: it may hold anything, and is therefore not compared.
 */
static void forget_partly(const struct ref_result *want, unsigned int space, uint8_t *got,
			  const uint8_t *expected, uint64_t size)
{
	uint64_t from = want->partly_from, to = want->partly_to;

	if (!want->partly || want->partly_space != space)
		return;
	if (space == ONPU_SPACE_VA) {
		from -= RIG_BASE;
		to -= RIG_BASE;
	}
	for (uint64_t i = from; i < to && i < size; i++)
		got[i] = expected[i];
}

static bool same_bytes(const char *where, uint8_t *got, const uint8_t *want, uint64_t size)
{
	unsigned int shown = 0;

	if (memcmp(got, want, size) == 0)
		return true;
	for (uint64_t i = 0; i < size && shown < 8; i++)
		if (got[i] != want[i]) {
			printf("  %s 0x%" PRIx64 ": 0x%02x, by the text 0x%02x\n", where, i, got[i],
			       want[i]);
			shown++;
		}
	return false;
}

static bool check_machine(struct rig_job *job, struct onpu_machine *machine)
{
	const struct ref_result *want = &job->expected;
	struct onpu_job_result got;
	bool done = run_machine(job, machine, &got), ok;
	uint32_t sram_bytes = rig_sram_bytes(job->size);

	ok = same("done", done, !want->fault.code);
	ok &= same_fault(job, &got);
	forget_partly(want, ONPU_SPACE_VA, scratch_memory, expected_memory, job->memory_size);
	forget_partly(want, ONPU_SPACE_SRAM, onpu_machine_sram(machine), expected_sram, sram_bytes);
	if (!want->fault.code) {
		ok &= same("cycles", got.cycles, want->cycles);
		ok &= same("status", got.code, want->code);
		ok &= same_counters(want, &got.counters);
	}
	ok &= same("profile records", got.profile_records, want->num_records);
	ok &= same_bytes("memory", scratch_memory, expected_memory, job->memory_size);
	ok &= same_bytes("SRAM", onpu_machine_sram(machine), expected_sram, sram_bytes);
	return ok;
}

static void print_tensor(const struct onpu_slot_tensor *t)
{
	printf("type %u, space %u, base 0x%" PRIx64 ", size %" PRIu64 ", offset %" PRIu64 ", [",
	       t->dtype, t->space, t->base, t->size, t->offset);
	for (unsigned int d = 0; d < t->rank && d < ONPU_MAX_RANK; d++)
		printf("%s%u:%" PRId64, d ? ", " : "", t->dim[d], t->stride[d]);
	printf("]\n");
}

static void print_slot(struct rig_job *job, unsigned int index)
{
	const union onpu_slot *slot = rig_slot(job, index);

	if (!index || index >= RIG_NUM_SLOTS)
		return;
	printf("  slot %u: ", index);
	if (slot->tensor.kind == ONPU_SLOT_TENSOR) {
		print_tensor(&slot->tensor);
		return;
	}
	for (unsigned int i = 0; i < ONPU_SLOT_SIZE / 4; i++)
		printf("%s%x", i ? " " : "", slot->words[i]);
	printf("\n");
}

static void print_job(struct rig_job *job)
{
	for (uint32_t i = 0; i < job->program.num_insns && i < 8; i++) {
		const uint32_t *w = (const uint32_t *)(void *)(job->memory + RIG_PROGRAM + 16 * i);
		struct onpu_insn insn;

		printf("  %u: %08x %08x %08x %08x ", i, w[0], w[1], w[2], w[3]);
		if (onpu_insn_unpack(w, &insn)) {
			printf("(no instruction)\n");
			continue;
		}
		printf("%s dst %u s0 %u s1 %u s2 %u param %u\n", onpu_op_info[insn.op].name,
		       insn.dst, insn.s0, insn.s1, insn.s2, insn.param);
		print_slot(job, insn.dst);
		print_slot(job, insn.s0);
		print_slot(job, insn.s1);
		print_slot(job, insn.s2);
		print_slot(job, insn.param);
	}
}

bool rig_check(struct rig_job *job)
{
	bool ok = true;

	run_reference(job);
	for (unsigned int k = 0; k < MAX_KINDS; k++) {
		if (!machines[job->size][k] || check_machine(job, machines[job->size][k]))
			continue;
		printf("  ... on the machine \"%s\", size %d\n", kinds[k].name, job->size);
		ok = false;
	}
	if (!ok)
		print_job(job);
	return ok;
}

bool rig_check_fault(struct rig_job *job, enum onpu_fault code, unsigned int operand)
{
	bool ok = rig_check(job);

	ok &= same("fault that the test wants", job->expected.fault.code, code);
	ok &= same("operand that the test wants", job->expected.fault.operand, operand);
	return ok;
}
