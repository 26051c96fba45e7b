// SPDX-License-Identifier: MIT
/*
 * A hostile process beside one that computes: the first gets the architected error and the fault's
 * record each time, the second always gets right results.
 */
#include "harness.h"
#include "npu.h"

#include <errno.h>
#include <sys/mman.h>
#include <xf86drm.h>

#define VICTIM_BYTES 65536u

/* Memory that the victim and the test share: the victim counts its rounds and notes its error. */
struct record {
	volatile uint64_t rounds;
	volatile int error;
	volatile bool stop;
};

FIXTURE(hostile)
{
	struct record *record;
	pid_t victim;
	int fd;
	struct npu_ctx ctx;
	struct npu_bo data;
	struct npu_program program;
};

/*
 * Until it is told to stop or has found an error: fills a buffer with a number, copies it to
 * another one, and checks the result.
 */
static void compute(struct record *record)
{
	int fd = npu_open();
	struct npu_bo from = npu_bo(fd, VICTIM_BYTES, 0), to = npu_bo(fd, VICTIM_BYTES, 0);
	struct npu_program program = npu_program(fd, 4);
	struct npu_ctx ctx = npu_ctx(fd, 0);
	struct drm_onpu_job job;
	uint8_t value = 0;

	npu_add_fill(&program, from.va, VICTIM_BYTES, 0);
	npu_insn(&program, (struct onpu_insn){ .op = ONPU_OP_BARRIER,
					       .mask = 1 << ONPU_ENG_LD | 1 << ONPU_ENG_ST });
	npu_insn(&program, (struct onpu_insn){
				   .op = ONPU_OP_DMA_COPY,
				   .ch = 0,
				   .s0 = npu_tensor(&program, ONPU_DT_U8, ONPU_SPACE_VA, from.va,
						    VICTIM_BYTES),
				   .dst = npu_tensor(&program, ONPU_DT_U8, ONPU_SPACE_VA, to.va,
						     VICTIM_BYTES),
			   });
	job = npu_job(&program);
	while (!record->stop && !record->error) {
		((struct onpu_slot_param_fill *)(program.bo.map + 2 * ONPU_SLOT_SIZE))->value =
			++value;
		npu_flush(program.bo.map + 2 * ONPU_SLOT_SIZE, ONPU_SLOT_SIZE);
		record->error = npu_run(fd, ctx.id, &job);
		if (!npu_sees(to.map, VICTIM_BYTES, value) || npu_state(fd, ctx.id).state)
			record->error = record->error ? record->error : -2;
		record->rounds++;
	}
	close(fd);
}

FIXTURE_SETUP(hostile)
{
	self->record = mmap(NULL, sizeof(*self->record), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(self->record != MAP_FAILED);
	self->victim = fork();
	if (!self->victim) {
		compute(self->record);
		_exit(0);
	}
	self->fd = npu_open();
	self->ctx = npu_ctx(self->fd, 0);
	self->data = npu_bo(self->fd, 1 << 20, 0);
	self->program = npu_program(self->fd, 4096);
}

FIXTURE_TEARDOWN(hostile)
{
	close(self->fd);
}

/* Returns whether the victim still makes progress. */
static bool victim_works(struct record *record)
{
	uint64_t before = record->rounds;
	double end = npu_now() + NPU_PATIENCE_S;

	while (record->rounds < before + 2 && !record->error && npu_now() < end)
		usleep(1000);
	return record->rounds >= before + 2 && !record->error;
}

static void finish(struct __test_metadata *_metadata, FIXTURE_DATA(hostile) * self)
{
	int status = -1;

	EXPECT_TRUE(victim_works(self->record));
	self->record->stop = true;
	EXPECT_EQ(self->victim, waitpid(self->victim, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, self->record->error);
}

static struct drm_onpu_fault attack(struct __test_metadata *_metadata, FIXTURE_DATA(hostile) * self,
				    const struct drm_onpu_job *job, int error, uint32_t code)
{
	struct drm_onpu_ctx_get_state state;
	struct drm_onpu_fault fault;

	EXPECT_TRUE(victim_works(self->record));
	EXPECT_EQ(error, npu_run(self->fd, self->ctx.id, job));
	state = npu_state(self->fd, self->ctx.id);
	fault = state.fault;
	EXPECT_EQ(DRM_ONPU_CTX_FAULT, state.state);
	EXPECT_EQ(error, state.error);
	EXPECT_EQ(code, fault.code);
	EXPECT_EQ(1, fault.seqno);
	EXPECT_EQ(EIO, npu_submit(self->fd, self->ctx.id, job, 1, NULL));
	return fault;
}

TEST_F(hostile, bad_address)
{
	uint64_t va = self->data.va + self->data.size;
	struct drm_onpu_job job = npu_fill(self->fd, va, 4096, 0xff);
	struct drm_onpu_fault fault =
		attack(_metadata, self, &job, EFAULT, ONPU_FAULT_MMU_NOT_PRESENT);

	EXPECT_TRUE(fault.address >= va && fault.address < va + 4096);
	EXPECT_EQ(ONPU_OPERAND_DST, fault.operand);
	EXPECT_EQ(0, fault.pc);
	finish(_metadata, self);
}

TEST_F(hostile, undefined_instruction)
{
	const uint32_t words[ONPU_INSN_WORDS] = { 1, 2, 3, 0xee000000 };
	struct drm_onpu_fault fault;
	struct drm_onpu_job job;

	npu_insn(&self->program, (struct onpu_insn){ .op = ONPU_OP_NOP });
	npu_words(&self->program, words);
	job = npu_job(&self->program);
	fault = attack(_metadata, self, &job, EINVAL, ONPU_FAULT_ILLEGAL_OPCODE);
	EXPECT_EQ(1, fault.pc);
	EXPECT_EQ(0, memcmp(words, fault.insn, sizeof(words)));
	finish(_metadata, self);
}

TEST_F(hostile, forged_slot)
{
	uint8_t noise[ONPU_SLOT_SIZE];
	struct drm_onpu_fault fault;
	struct drm_onpu_job job;
	uint16_t forged;

	memset(noise, 0xff, sizeof(noise));
	forged = npu_slot(&self->program, noise);
	npu_insn(&self->program,
		 (struct onpu_insn){ .op = ONPU_OP_VABS, .dst = forged, .s0 = forged });
	job = npu_job(&self->program);
	fault = attack(_metadata, self, &job, EINVAL, ONPU_FAULT_SLOT_FORMAT);
	EXPECT_EQ(forged, fault.address);
	finish(_metadata, self);
}

/* A process keeps its queue full of jobs. */
TEST_F(hostile, endless_loop_of_jobs)
{
	struct npu_bo data = npu_bo(self->fd, NPU_LONG_BYTES, 0);
	struct drm_onpu_job one = npu_long(self->fd, data.va), jobs[64];
	double end = npu_now() + 3;
	uint64_t taken = 0;
	int ret = 0;

	for (int i = 0; i < 64; i++)
		jobs[i] = one;
	while (npu_now() < end || (!ret && npu_now() < end + NPU_PATIENCE_S)) {
		ret = npu_submit(self->fd, self->ctx.id, jobs, 64, &taken);
		EXPECT_TRUE(!ret || ret == ENOSPC);
	}
	EXPECT_EQ(ENOSPC, ret);
	EXPECT_TRUE(victim_works(self->record));
	EXPECT_EQ(DRM_ONPU_CTX_ACTIVE, npu_state(self->fd, self->ctx.id).state);
	EXPECT_EQ(0, npu_ctx_destroy(self->fd, self->ctx.id));
	finish(_metadata, self);
}

TEST_F(hostile, destination_that_would_run_for_ever)
{
	struct onpu_slot_tensor tensor = {
		.kind = ONPU_SLOT_TENSOR,
		.dtype = ONPU_DT_U8,
		.rank = 8,
		.space = ONPU_SPACE_VA,
		.base = self->data.va,
		.size = self->data.size,
	};
	const struct onpu_slot_param_fill fill = {
		.kind = ONPU_SLOT_PARAM,
		.schema = ONPU_SCHEMA_FILL,
	};
	struct drm_onpu_job job;

	for (int i = 0; i < 8; i++)
		tensor.dim[i] = UINT32_MAX;
	npu_insn(&self->program, (struct onpu_insn){
					 .op = ONPU_OP_DMA_FILL,
					 .ch = 1,
					 .dst = npu_slot(&self->program, &tensor),
					 .param = npu_slot(&self->program, &fill),
				 });
	job = npu_job(&self->program);
	attack(_metadata, self, &job, EINVAL, ONPU_FAULT_SHAPE);
	finish(_metadata, self);
}

/* Each write has the maximal length, and no preemption point lets another job run. */
TEST_F(hostile, program_that_never_yields)
{
	struct npu_bo data = npu_bo(self->fd, 31 << 20, 0);
	struct drm_onpu_job job;

	npu_add_fill(&self->program, data.va, (uint32_t)data.size, 1);
	for (int i = 1; i < 4096; i++)
		npu_insn(&self->program,
			 (struct onpu_insn){
				 .op = ONPU_OP_DMA_FILL, .ch = 1, .dst = 1, .param = 2 });
	job = npu_job(&self->program);
	attack(_metadata, self, &job, ETIME, ONPU_FAULT_TIMEOUT);
	finish(_metadata, self);
}

/*
 * A job overwrites all buffers of its process while it runs, those of its program and slots
 * included.
 */
TEST_F(hostile, program_that_overwrites_all_that_is_its_own)
{
	struct npu_program *program = &self->program;
	struct drm_onpu_job job;
	int error;

	npu_add_fill(program, self->data.va, (uint32_t)self->data.size, 0xff);
	npu_add_fill(program, program->bo.va, (uint32_t)program->bo.size, 0xff);
	for (int i = 0; i < 1000; i++)
		npu_insn(program, (struct onpu_insn){
					  .op = ONPU_OP_DMA_FILL, .ch = 1, .dst = 1, .param = 2 });
	job = npu_job(program);
	EXPECT_TRUE(victim_works(self->record));
	error = npu_run(self->fd, self->ctx.id, &job);
	/*
	 * Instructions that the device has fetched before may still run; then the slots cause the
	 * first error.
	 */
	EXPECT_EQ(EINVAL, error);
	EXPECT_TRUE(npu_sees(program->bo.map, program->bo.size, 0xff));
	EXPECT_EQ(DRM_ONPU_CTX_FAULT, npu_state(self->fd, self->ctx.id).state);
	finish(_metadata, self);
}

/*
 * A job writes to addresses outside of its buffers: below, between and above them, in the kernel's
 * half of the addresses, and beyond.
 */
TEST_F(hostile, program_that_overwrites_every_address)
{
	uint64_t end = npu_info(self->fd).va_end, page = 4096;
	const uint64_t at[] = {
		0,
		page,
		self->data.va - page,
		self->data.va + self->data.size,
		end / 2,
		end - page,
		end,
		end + page,
		end + 4 * page,
		end + 5 * page,
		end + 6 * page,
		end + (1 << 20),
		end + (2 << 20),
		end + (4 << 20),
		end + end / 2,
		2 * end - (2 << 20),
		2 * end - page,
		2 * end,
		4 * end,
		1ull << 47,
		1ull << 63,
		UINT64_MAX - page + 1 - page,
	};

	EXPECT_TRUE(victim_works(self->record));
	for (unsigned int i = 0; i < ARRAY_SIZE(at); i++) {
		struct npu_ctx ctx = npu_ctx(self->fd, 0);
		struct drm_onpu_job job;
		struct drm_onpu_ctx_get_state state;

		/* An address between its own buffers may belong to one of them. */
		job = npu_fill(self->fd, at[i], (uint32_t)page, 0xff);
		if (i == 2)
			continue;
		EXPECT_EQ(EFAULT, npu_run(self->fd, ctx.id, &job))
		{
			TH_LOG("at %#llx", (unsigned long long)at[i]);
		}
		state = npu_state(self->fd, ctx.id);
		EXPECT_EQ(DRM_ONPU_CTX_FAULT, state.state);
		EXPECT_EQ(1, state.fault.seqno);
		EXPECT_EQ(0, npu_ctx_destroy(self->fd, ctx.id));
		munmap((void *)ctx.page, page);
	}
	finish(_metadata, self);
}

TEST_HARNESS_MAIN
