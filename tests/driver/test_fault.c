// SPDX-License-Identifier: MIT
/*
 * Jobs that fail: the errno for each error code of the device, the error in the fence, the
 * context's state and the completion page, and what becomes of later jobs.
 */
#include "harness.h"
#include "npu.h"

#include <errno.h>

#define DATA_BYTES (1u << 20)

FIXTURE(fault)
{
	int fd;
	struct npu_ctx ctx;
	struct npu_bo data, ro;
	struct npu_program program;
	uint64_t cycle_limit;
};

FIXTURE_VARIANT(fault)
{
	void (*make)(FIXTURE_DATA(fault) * f);
	uint32_t code;
	int error;
};

FIXTURE_SETUP(fault)
{
	self->fd = npu_open();
	self->ctx = npu_ctx(self->fd, 0);
	self->data = npu_bo(self->fd, DATA_BYTES, 0);
	self->ro = npu_bo(self->fd, 4096, DRM_ONPU_BO_DEVICE_RO);
	self->program = npu_program(self->fd, 16);
}

FIXTURE_TEARDOWN(fault)
{
	close(self->fd);
}

static uint16_t sram(FIXTURE_DATA(fault) * f, uint64_t at, uint32_t count)
{
	return npu_tensor(&f->program, ONPU_DT_F32, ONPU_SPACE_SRAM, at, count);
}

static uint16_t memory(FIXTURE_DATA(fault) * f, uint64_t va, uint32_t count)
{
	return npu_tensor(&f->program, ONPU_DT_F32, ONPU_SPACE_VA, va, count);
}

#define INSN(...) npu_insn(&f->program, (struct onpu_insn){ __VA_ARGS__ })

#define FAULT(name, code_, errno_, ...)                                             \
	static void make_##name(FIXTURE_DATA(fault) * f)                            \
	{                                                                           \
		__VA_ARGS__;                                                        \
	}                                                                           \
	FIXTURE_VARIANT_ADD(fault, name)                                            \
	{                                                                           \
		.make = make_##name, .code = ONPU_FAULT_##code_, .error = (errno_), \
	}

FAULT(undefined_instruction, ILLEGAL_OPCODE, EINVAL, {
	const uint32_t words[ONPU_INSN_WORDS] = { 0, 0, 0, 0xee000000 };

	npu_words(&f->program, words);
});
FAULT(reserved_bits, RESERVED_BITS, EINVAL, {
	const struct onpu_insn nop = { .op = ONPU_OP_NOP };
	uint32_t words[ONPU_INSN_WORDS];

	must(!onpu_insn_pack(&nop, words));
	words[2] |= 1u << 5;
	npu_words(&f->program, words);
});
FAULT(slot_index, SLOT_INDEX, EINVAL, INSN(.op = ONPU_OP_VABS, .dst = 900, .s0 = sram(f, 0, 16)));
FAULT(slot_format, SLOT_FORMAT, EINVAL, {
	uint16_t x = sram(f, 0, 16);

	f->program.bo.map[x * ONPU_SLOT_SIZE + 4] = 1;
	INSN(.op = ONPU_OP_VABS, .dst = x, .s0 = x);
});
FAULT(space, SPACE, EINVAL,
      INSN(.op = ONPU_OP_VABS, .dst = sram(f, 0, 16), .s0 = memory(f, f->data.va, 16)));
FAULT(type, DTYPE, EINVAL, {
	uint16_t x = sram(f, 0, 16);

	INSN(.op = ONPU_OP_VAND, .dst = x, .s0 = x, .s1 = x);
});
FAULT(shape, SHAPE, EINVAL,
      INSN(.op = ONPU_OP_VABS, .dst = sram(f, 0, 16), .s0 = sram(f, 512, 17)));
FAULT(bounds, BOUNDS, EFAULT, {
	uint16_t x = sram(f, 0, 16);
	struct onpu_slot_tensor *tensor = (void *)(f->program.bo.map + x * ONPU_SLOT_SIZE);

	tensor->size = 60;
	INSN(.op = ONPU_OP_VABS, .dst = x, .s0 = x);
});
FAULT(index, INDEX_RANGE, EFAULT, {
	const struct onpu_slot_param_index param = {
		.kind = ONPU_SLOT_PARAM,
		.schema = ONPU_SCHEMA_INDEX,
	};

	((int32_t *)f->data.map)[2] = 8;
	npu_flush(f->data.map, 16);
	INSN(.op = ONPU_OP_DMA_GATHER_AXIS, .dst = sram(f, 0, 4),
	     .s0 = memory(f, f->data.va + 1024, 8),
	     .s1 = npu_tensor(&f->program, ONPU_DT_I32, ONPU_SPACE_VA, f->data.va, 4),
	     .param = npu_slot(&f->program, &param));
});
FAULT(read_of_nothing, MMU_NOT_PRESENT, EFAULT,
      INSN(.op = ONPU_OP_DMA_COPY, .dst = sram(f, 0, 16),
	   .s0 = memory(f, f->data.va + DATA_BYTES, 16)));
FAULT(write_to_nothing, MMU_NOT_PRESENT, EFAULT,
      npu_add_fill(&f->program, f->data.va + DATA_BYTES, 64, 1));
FAULT(write_to_address_zero, MMU_NOT_PRESENT, EFAULT, npu_add_fill(&f->program, 0, 64, 1));
FAULT(read_only, MMU_PERM, EFAULT, npu_add_fill(&f->program, f->ro.va, 64, 1));
FAULT(write_to_kernel, MMU_PERM, EFAULT, npu_add_fill(&f->program, npu_info(f->fd).va_end, 64, 1));
FAULT(read_of_kernel, MMU_PERM, EFAULT,
      INSN(.op = ONPU_OP_DMA_COPY, .dst = sram(f, 0, 16),
	   .s0 = memory(f, npu_info(f->fd).va_end, 16)));
FAULT(semaphore_overflow, SEM_OVERFLOW, EINVAL, {
	for (int i = 0; i < 2; i++)
		INSN(.op = ONPU_OP_SEM_SIGNAL, .sem = 5, .count = 40000, .eng = ONPU_ENG_LD);
});
FAULT(semaphore_owner, SEM_OWNER, EINVAL, {
	INSN(.op = ONPU_OP_SEM_SIGNAL, .sem = 5, .count = 1, .eng = ONPU_ENG_LD);
	INSN(.op = ONPU_OP_SEM_SIGNAL, .sem = 5, .count = 1, .eng = ONPU_ENG_ST);
});
FAULT(deadlock, DEADLOCK, ETIME,
      INSN(.op = ONPU_OP_SEM_WAIT, .sem = 5, .count = 1, .eng = ONPU_ENG_LD));
FAULT(cycle_limit, TIMEOUT, ETIME, {
	f->cycle_limit = 300;
	for (int i = 0; i < 4; i++)
		npu_add_fill(&f->program, f->data.va, DATA_BYTES, 1);
});
FAULT(trap, TRAP, EREMOTEIO, INSN(.op = ONPU_OP_TRAP, .code = 4711));

static struct drm_onpu_job make(FIXTURE_DATA(fault) * self, const FIXTURE_VARIANT(fault) * variant)
{
	struct drm_onpu_job job;

	variant->make(self);
	job = npu_job(&self->program);
	job.cycle_limit = self->cycle_limit;
	return job;
}

static void check_state(struct __test_metadata *_metadata, FIXTURE_DATA(fault) * self,
			const FIXTURE_VARIANT(fault) * variant, uint64_t good, uint64_t cancelled)
{
	struct drm_onpu_ctx_get_state state = npu_state(self->fd, self->ctx.id);
	struct drm_onpu_fault fault = state.fault;

	EXPECT_EQ(DRM_ONPU_CTX_FAULT, state.state);
	EXPECT_EQ(variant->error, state.error);
	EXPECT_EQ(good + 1 + cancelled, state.submitted);
	EXPECT_EQ(good + 1 + cancelled, state.completed);
	EXPECT_EQ(cancelled, state.cancelled);
	EXPECT_EQ(variant->code, fault.code);
	EXPECT_EQ(good + 1, fault.seqno);
	if (variant->code == ONPU_FAULT_TRAP)
		EXPECT_EQ(4711, fault.address);
	if (variant->code == ONPU_FAULT_MMU_PERM || variant->code == ONPU_FAULT_MMU_NOT_PRESENT)
		EXPECT_NE(ONPU_OPERAND_NONE, fault.operand);
}

TEST_F(fault, alone)
{
	struct drm_onpu_job job = make(self, variant),
			    good = npu_fill(self->fd, self->data.va, 64, 1);
	struct npu_ctx fresh = npu_ctx(self->fd, 0);

	EXPECT_EQ(variant->error, npu_run(self->fd, self->ctx.id, &job));
	check_state(_metadata, self, variant, 0, 0);
	EXPECT_EQ(1, self->ctx.page->seqno);
	EXPECT_EQ(variant->code, self->ctx.page->error);
	EXPECT_EQ(EIO, npu_submit(self->fd, self->ctx.id, &good, 1, NULL));
	EXPECT_EQ(1, npu_state(self->fd, self->ctx.id).submitted);
	EXPECT_EQ(0, npu_run(self->fd, fresh.id, &good));
	EXPECT_EQ(0, npu_ctx_destroy(self->fd, self->ctx.id));
}

TEST_F(fault, in_a_batch)
{
	uint32_t syncobj[4];
	struct drm_onpu_sync signal[4];
	struct drm_onpu_job jobs[4];

	jobs[0] = jobs[2] = jobs[3] = npu_fill(self->fd, self->data.va + 8192, 64, 1);
	jobs[1] = make(self, variant);
	for (int i = 0; i < 4; i++) {
		syncobj[i] = npu_syncobj(self->fd);
		signal[i] = (struct drm_onpu_sync){ syncobj[i], DRM_ONPU_SYNC_SIGNAL, 0 };
		jobs[i].syncs = (struct drm_onpu_obj_array)DRM_ONPU_OBJ_ARRAY(1, &signal[i]);
	}
	ASSERT_EQ(0, npu_submit(self->fd, self->ctx.id, jobs, 4, NULL));
	EXPECT_EQ(0, npu_wait(self->fd, syncobj[0]));
	EXPECT_EQ(variant->error, npu_wait(self->fd, syncobj[1]));
	EXPECT_EQ(ECANCELED, npu_wait(self->fd, syncobj[2]));
	EXPECT_EQ(ECANCELED, npu_wait(self->fd, syncobj[3]));
	check_state(_metadata, self, variant, 1, 2);
	EXPECT_EQ(4, self->ctx.page->seqno);
	EXPECT_EQ(DRM_ONPU_COMPLETION_BY_DRIVER | ECANCELED, self->ctx.page->error);
}

FIXTURE(bad_program)
{
	int fd;
	struct npu_ctx ctx;
};

FIXTURE_SETUP(bad_program)
{
	self->fd = npu_open();
	self->ctx = npu_ctx(self->fd, 0);
}

FIXTURE_TEARDOWN(bad_program)
{
	close(self->fd);
}

/* The addresses are valid for the driver, but nothing is mapped there. */
TEST_F(bad_program, is_not_there)
{
	struct drm_onpu_job job = npu_fill(self->fd, 1 << 20, 64, 1), bad = job;
	struct npu_ctx ctx = npu_ctx(self->fd, 0);

	bad.program_va = npu_info(self->fd).va_end - bad.instr_count * 16;
	EXPECT_EQ(EFAULT, npu_run(self->fd, self->ctx.id, &bad));
	bad = job;
	bad.slots_va = npu_info(self->fd).va_end - bad.slot_count * 128;
	EXPECT_EQ(EFAULT, npu_run(self->fd, ctx.id, &bad));
}

TEST_F(bad_program, has_no_end)
{
	struct npu_program program = npu_program(self->fd, 4);
	struct drm_onpu_job job;

	for (int i = 0; i < 3; i++)
		npu_insn(&program, (struct onpu_insn){ .op = ONPU_OP_NOP });
	job = npu_job(&program);
	job.instr_count--;
	EXPECT_EQ(EINVAL, npu_run(self->fd, self->ctx.id, &job));
}

/* Profiles: one without room for all records, and one at an unmapped address. */
TEST_F(bad_program, profiles)
{
	struct npu_bo data = npu_bo(self->fd, 4096, 0), profile = npu_bo(self->fd, 4096, 0);
	struct npu_program program = npu_program(self->fd, 8);
	struct drm_onpu_job job;

	for (uint16_t i = 0; i < 4; i++)
		npu_insn(&program, (struct onpu_insn){ .op = ONPU_OP_NOP, .ts = 1 });
	job = npu_job(&program);
	job.profile_va = profile.va;
	job.profile_size = 2 * sizeof(struct onpu_profile_record);
	EXPECT_EQ(0, npu_run(self->fd, self->ctx.id, &job));
	EXPECT_FALSE(npu_sees(profile.map, job.profile_size, 0));
	EXPECT_TRUE(npu_sees(profile.map + job.profile_size, 4096 - job.profile_size, 0));
	job.profile_va = data.va + (1 << 20);
	EXPECT_EQ(EFAULT, npu_run(self->fd, self->ctx.id, &job));
}

TEST_HARNESS_MAIN
