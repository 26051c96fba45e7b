/* SPDX-License-Identifier: MIT */
/* Builds small programs for the device model in memory: instructions, slots, data. */
#ifndef TESTS_PROGRAM_H
#define TESTS_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onpu/isa.h"
#include "onpu/registers.h"
#include "onpu/slots.h"
#include "onpu_sim.h"

#define PROGRAM_INSNS 4096
#define PROGRAM_SLOTS 1024
/* Addresses of a program's instructions, slots, profile and data in its address space. */
#define PROGRAM_VA UINT64_C(0x10000)
#define SLOTS_VA   UINT64_C(0x100000)
#define PROFILE_VA UINT64_C(0x200000)
#define DATA_VA	   UINT64_C(0x1000000)

struct program {
	uint32_t insns[PROGRAM_INSNS][4];
	uint8_t slots[PROGRAM_SLOTS][ONPU_SLOT_SIZE];
	struct onpu_profile_record profile[PROGRAM_INSNS];
	uint32_t num_insns, num_slots;
	uint8_t *data;
	size_t data_size;
	/* Accesses to the page [hole, hole + 4096) fault as not present; 0: no hole. */
	uint64_t hole;
	/* The contents of SRAM when the job begins; NULL: zeros. */
	const void *sram;
	size_t sram_size;
	struct onpu_mem mem;
	struct onpu_job job;
	struct onpu_job_result result;
};

static inline uint8_t *program_memory(struct program *p, uint64_t addr, size_t len)
{
	const struct {
		uint64_t va;
		void *host;
		size_t size;
	} parts[] = {
		{ PROGRAM_VA, p->insns, sizeof(p->insns) },
		{ SLOTS_VA, p->slots, sizeof(p->slots) },
		{ PROFILE_VA, p->profile, sizeof(p->profile) },
		{ DATA_VA, p->data, p->data_size },
	};

	if (p->hole && addr < p->hole + 4096 && addr + len > p->hole)
		return NULL;
	for (unsigned int i = 0; i < 4; i++) {
		if (addr >= parts[i].va && addr - parts[i].va <= parts[i].size &&
		    len <= parts[i].size - (addr - parts[i].va))
			return (uint8_t *)parts[i].host + (addr - parts[i].va);
	}
	return NULL;
}

static inline int program_read(void *ctx, uint64_t addr, void *dst, size_t len)
{
	uint8_t *at = program_memory(ctx, addr, len);

	if (!at)
		return ONPU_FAULT_MMU_NOT_PRESENT;
	memcpy(dst, at, len);
	return 0;
}

static inline int program_write(void *ctx, uint64_t addr, const void *src, size_t len)
{
	uint8_t *at = program_memory(ctx, addr, len);

	if (!at)
		return ONPU_FAULT_MMU_NOT_PRESENT;
	memcpy(at, src, len);
	return 0;
}

static inline struct program *program_create(uint32_t sram_bytes, size_t data_size)
{
	struct program *p = calloc(1, sizeof(*p));
	struct onpu_slot_program head = { .kind = ONPU_SLOT_PROGRAM,
					  .isa_major = ONPU_ISA_MAJOR,
					  .sram_bytes = sram_bytes };

	if (!p)
		abort();
	p->data = calloc(1, data_size ? data_size : 1);
	if (!p->data)
		abort();
	p->data_size = data_size;
	memcpy(p->slots[0], &head, sizeof(head));
	p->num_slots = 1;
	p->mem.ctx = p;
	p->mem.read = program_read;
	p->mem.write = program_write;
	return p;
}

static inline void program_destroy(struct program *p)
{
	free(p->data);
	free(p);
}

static inline uint16_t program_slot(struct program *p, const void *slot)
{
	if (p->num_slots == PROGRAM_SLOTS)
		abort();
	memcpy(p->slots[p->num_slots], slot, ONPU_SLOT_SIZE);
	return (uint16_t)p->num_slots++;
}

/* Returns a tensor whose window is exactly its extent; @stride NULL: dense row-major. */
static inline struct onpu_slot_tensor program_tensor(enum onpu_dtype dtype, enum onpu_space space,
						     uint64_t base, unsigned int rank,
						     const uint32_t *dim, const int64_t *stride)
{
	static const uint8_t size[ONPU_DT_COUNT] = { 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 1, 1 };
	struct onpu_slot_tensor t = {
		.kind = ONPU_SLOT_TENSOR, .dtype = dtype, .rank = rank, .space = space, .base = base
	};
	int64_t dense = size[dtype], extent = size[dtype];

	for (unsigned int i = rank; i-- > 0;) {
		t.dim[i] = dim[i];
		t.stride[i] = stride ? stride[i] : dense;
		dense *= dim[i];
		extent += t.stride[i] * (dim[i] - 1);
	}
	t.size = (uint64_t)extent;
	return t;
}

static inline uint16_t program_dense(struct program *p, enum onpu_dtype dtype,
				     enum onpu_space space, uint64_t base, unsigned int rank,
				     const uint32_t *dim)
{
	struct onpu_slot_tensor t = program_tensor(dtype, space, base, rank, dim, NULL);

	return program_slot(p, &t);
}

static inline void program_insn(struct program *p, struct onpu_insn insn)
{
	if (p->num_insns == PROGRAM_INSNS || onpu_insn_pack(&insn, p->insns[p->num_insns])) {
		fprintf(stderr, "cannot encode %s\n", onpu_op_info[insn.op].name);
		abort();
	}
	p->num_insns++;
}

static inline void program_end(struct program *p)
{
	program_insn(p, (struct onpu_insn){ .op = ONPU_OP_END });
}

static inline void program_job(struct program *p)
{
	p->job.program_va = PROGRAM_VA;
	p->job.num_insns = p->num_insns;
	p->job.slots_va = SLOTS_VA;
	p->job.num_slots = p->num_slots;
	p->job.profile_va = PROFILE_VA;
	p->job.profile_size = sizeof(p->profile);
}

/* Begins the job, and fills SRAM with its content once the machine has zeroed it. */
static inline void program_begin(struct program *p, struct onpu_machine *m)
{
	program_job(p);
	onpu_machine_begin(m, &p->mem, &p->job);
	if (p->sram && onpu_machine_step(m) == ONPU_STEP_RUNNING)
		memcpy(onpu_machine_sram(m), p->sram, p->sram_size);
}

static inline bool program_run(struct program *p, struct onpu_machine *m)
{
	enum onpu_step step;

	program_begin(p, m);
	do {
		step = onpu_machine_step(m);
	} while (step == ONPU_STEP_RUNNING || step == ONPU_STEP_PREEMPT_POINT);
	p->result = *onpu_machine_result(m);
	return step == ONPU_STEP_DONE;
}

#endif
