// SPDX-License-Identifier: MIT
/*
 * Successful submissions: batches, order, syncobjs to wait for and to signal, the limit of jobs in
 * a context.
 */
#include "harness.h"
#include "npu.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <xf86drm.h>

#define BYTES 4096u
#define COUNT 64u

FIXTURE(sync)
{
	int fd;
	struct drm_onpu_dev_info info;
	struct npu_ctx ctx, other;
	struct npu_bo data;
};

FIXTURE_SETUP(sync)
{
	self->fd = npu_open();
	self->info = npu_info(self->fd);
	self->ctx = npu_ctx(self->fd, 0);
	self->other = npu_ctx(self->fd, 0);
	self->data = npu_bo(self->fd, NPU_LONG_BYTES, 0);
}

FIXTURE_TEARDOWN(sync)
{
	close(self->fd);
}

static void give_syncs(struct drm_onpu_job *job, const struct drm_onpu_sync *syncs, uint32_t count)
{
	job->syncs = (struct drm_onpu_obj_array)DRM_ONPU_OBJ_ARRAY(count, syncs);
}

/*
 * Starts jobs in the other context, which run until that context is destroyed; returns a syncobj
 * that the last job signals.
 */
static uint32_t start_endless(FIXTURE_DATA(sync) * self)
{
	uint32_t syncobj = npu_syncobj(self->fd);

	npu_submit_endless(self->fd, self->other.id, self->data.va, syncobj);
	return syncobj;
}

TEST_F(sync, the_largest_batch)
{
	struct drm_onpu_job one = npu_fill(self->fd, self->data.va, BYTES, 3);
	struct drm_onpu_job *jobs = calloc(self->info.max_jobs, sizeof(*jobs));
	uint32_t syncobj = npu_syncobj(self->fd);
	struct drm_onpu_sync sync = { syncobj, DRM_ONPU_SYNC_SIGNAL, 0 };
	uint64_t seqno = 0;

	for (uint32_t i = 0; i < self->info.max_jobs; i++)
		jobs[i] = one;
	give_syncs(&jobs[self->info.max_jobs - 1], &sync, 1);
	for (uint64_t round = 1; round <= 6; round++) {
		ASSERT_EQ(0, npu_submit(self->fd, self->ctx.id, jobs, self->info.max_jobs, &seqno));
		EXPECT_EQ(round * self->info.max_jobs, seqno);
		ASSERT_EQ(0, npu_wait(self->fd, syncobj));
		EXPECT_EQ(seqno, self->ctx.page->seqno);
		EXPECT_EQ(seqno, npu_state(self->fd, self->ctx.id).completed);
	}
	EXPECT_TRUE(npu_sees(self->data.map, BYTES, 3));
	free(jobs);
}

TEST_F(sync, a_batch_runs_in_order_and_signals_in_between)
{
	struct drm_onpu_job jobs[COUNT];
	struct drm_onpu_sync syncs[COUNT];
	uint64_t seqno = 0;

	for (uint32_t i = 0; i < COUNT; i++) {
		jobs[i] = npu_fill(self->fd, self->data.va, BYTES - i, (uint8_t)(i + 1));
		syncs[i] = (struct drm_onpu_sync){ npu_syncobj(self->fd), DRM_ONPU_SYNC_SIGNAL, 0 };
		if (i % 3)
			give_syncs(&jobs[i], &syncs[i], 1);
	}
	ASSERT_EQ(0, npu_submit(self->fd, self->ctx.id, jobs, COUNT, &seqno));
	EXPECT_EQ(COUNT, seqno);
	for (uint32_t i = 0; i < COUNT; i++)
		if (i % 3)
			EXPECT_EQ(0, npu_wait(self->fd, syncs[i].handle));
	ASSERT_EQ(0, npu_run(self->fd, self->ctx.id, &jobs[COUNT - 1]));
	/* Every job wrote one byte less than the job before. */
	EXPECT_TRUE(npu_sees(self->data.map, BYTES - COUNT + 1, COUNT));
	npu_refresh(self->data.map, BYTES);
	for (uint32_t i = 0; i < COUNT - 1; i++)
		EXPECT_EQ(i + 1, self->data.map[BYTES - i - 1]);
}

TEST_F(sync, a_fence_is_not_signalled_before_its_job_has_ended)
{
	uint32_t endless = start_endless(self), behind = npu_syncobj(self->fd);
	struct drm_onpu_job job = npu_fill(self->fd, self->data.va, BYTES, 3);

	ASSERT_EQ(0, npu_submit_signal(self->fd, self->other.id, job, behind));
	usleep(100000);
	EXPECT_FALSE(npu_signalled(self->fd, endless));
	EXPECT_FALSE(npu_signalled(self->fd, behind));
	EXPECT_EQ(0, npu_ctx_destroy(self->fd, self->other.id));
	EXPECT_EQ(ECANCELED, npu_wait(self->fd, endless));
	EXPECT_EQ(ECANCELED, npu_wait(self->fd, behind));
}

/* Two contexts alternate, each waiting for the other's last point. */
TEST_F(sync, timeline_in_and_out)
{
	uint32_t timeline = npu_syncobj(self->fd);
	uint64_t point = 100;

	for (uint32_t i = 1; i <= point; i++) {
		struct drm_onpu_job job = npu_fill(self->fd, self->data.va, 1 << 18, (uint8_t)i);
		struct drm_onpu_sync syncs[2] = {
			{ timeline, DRM_ONPU_SYNC_SIGNAL | DRM_ONPU_SYNC_TIMELINE, i },
			{ timeline, DRM_ONPU_SYNC_WAIT | DRM_ONPU_SYNC_TIMELINE, i - 1 },
		};

		give_syncs(&job, syncs, i > 1 ? 2 : 1);
		ASSERT_EQ(0, npu_submit(self->fd, i & 1 ? self->ctx.id : self->other.id, &job, 1,
					NULL));
	}
	ASSERT_EQ(0, drmSyncobjTimelineWait(self->fd, &timeline, &point, 1,
					    npu_deadline(NPU_PATIENCE_S), 0, NULL));
	EXPECT_TRUE(npu_sees(self->data.map, 1 << 18, 100));
	EXPECT_EQ(0, drmSyncobjQuery(self->fd, &timeline, &point, 1));
	EXPECT_EQ(100, point);
}

TEST_F(sync, binary_between_contexts)
{
	uint32_t syncobj = npu_syncobj(self->fd), done = npu_syncobj(self->fd);

	for (uint32_t i = 1; i <= 20; i++) {
		struct npu_program program = npu_program(self->fd, 1);
		struct drm_onpu_job first = npu_fill(self->fd, self->data.va, 1 << 18, (uint8_t)i),
				    second;
		struct drm_onpu_sync syncs[2] = {
			{ syncobj, DRM_ONPU_SYNC_WAIT, 0 },
			{ done, DRM_ONPU_SYNC_SIGNAL, 0 },
		};

		npu_insn(&program, (struct onpu_insn){
					   .op = ONPU_OP_DMA_COPY,
					   .ch = 1,
					   .s0 = npu_tensor(&program, ONPU_DT_U8, ONPU_SPACE_VA,
							    self->data.va, 1 << 18),
					   .dst = npu_tensor(&program, ONPU_DT_U8, ONPU_SPACE_VA,
							     self->data.va + (1 << 20), 1 << 18),
				   });
		second = npu_job(&program);
		give_syncs(&second, syncs, 2);
		ASSERT_EQ(0, npu_submit_signal(self->fd, self->ctx.id, first, syncobj));
		ASSERT_EQ(0, npu_submit(self->fd, self->other.id, &second, 1, NULL));
		ASSERT_EQ(0, npu_wait(self->fd, done));
		ASSERT_TRUE(npu_sees(self->data.map + (1 << 20), 1 << 18, (uint8_t)i));
		npu_bo_close(self->fd, &program.bo);
	}
}

TEST_F(sync, a_wait_means_the_syncobj_as_it_was)
{
	uint32_t syncobj = start_endless(self);
	struct drm_onpu_job jobs[2];
	struct drm_onpu_sync syncs[2] = {
		{ syncobj, DRM_ONPU_SYNC_SIGNAL, 0 },
		{ syncobj, DRM_ONPU_SYNC_WAIT, 0 },
	};
	uint32_t after = npu_syncobj(self->fd);

	/*
	 * Both jobs wait for the endless one; the second, too, although the first one signals the
	 * same syncobj.
	 */
	jobs[0] = npu_fill(self->fd, self->data.va, BYTES, 1);
	jobs[1] = jobs[0];
	give_syncs(&jobs[0], syncs, 2);
	give_syncs(&jobs[1], &syncs[1], 1);
	ASSERT_EQ(0, npu_submit(self->fd, self->ctx.id, jobs, 2, NULL));
	ASSERT_EQ(0, npu_submit_signal(self->fd, self->ctx.id, jobs[1], after));
	usleep(50000);
	EXPECT_FALSE(npu_signalled(self->fd, syncobj));
	EXPECT_EQ(0, npu_state(self->fd, self->ctx.id).completed);
	EXPECT_EQ(0, npu_ctx_destroy(self->fd, self->other.id));
	/*
	 * A job that waits for a fence runs, and succeeds, also when the fence signals with an
	 * error.
	 */
	EXPECT_EQ(0, npu_wait(self->fd, syncobj));
	EXPECT_EQ(0, npu_wait(self->fd, after));
	EXPECT_EQ(3, npu_state(self->fd, self->ctx.id).completed);
}

TEST_F(sync, in_a_batch_only_what_comes_behind_waits)
{
	uint32_t endless = start_endless(self), first = npu_syncobj(self->fd);
	struct drm_onpu_job jobs[2];
	struct drm_onpu_sync signal = { first, DRM_ONPU_SYNC_SIGNAL, 0 };
	struct drm_onpu_sync wait = { endless, DRM_ONPU_SYNC_WAIT, 0 };

	jobs[0] = npu_fill(self->fd, self->data.va, BYTES, 1);
	jobs[1] = jobs[0];
	give_syncs(&jobs[0], &signal, 1);
	give_syncs(&jobs[1], &wait, 1);
	ASSERT_EQ(0, npu_submit(self->fd, self->ctx.id, jobs, 2, NULL));
	EXPECT_EQ(0, npu_wait(self->fd, first));
	/* Without the wait, the other job would have ended by now. */
	usleep(100000);
	EXPECT_EQ(1, npu_state(self->fd, self->ctx.id).completed);
	EXPECT_EQ(0, npu_ctx_destroy(self->fd, self->other.id));
	EXPECT_EQ(0, npu_run(self->fd, self->ctx.id, &jobs[1]));
}

/* Jobs of a context run in order, also when only an earlier one has something to wait for. */
TEST_F(sync, a_later_job_waits_for_the_earlier_one)
{
	uint32_t endless = start_endless(self), last = npu_syncobj(self->fd);
	struct drm_onpu_job job = npu_fill(self->fd, self->data.va, BYTES, 1);
	struct drm_onpu_sync wait = { endless, DRM_ONPU_SYNC_WAIT, 0 };

	give_syncs(&job, &wait, 1);
	ASSERT_EQ(0, npu_submit(self->fd, self->ctx.id, &job, 1, NULL));
	job = npu_fill(self->fd, self->data.va, BYTES, 2);
	ASSERT_EQ(0, npu_submit_signal(self->fd, self->ctx.id, job, last));
	usleep(200000);
	EXPECT_FALSE(npu_signalled(self->fd, last));
	EXPECT_EQ(0, npu_state(self->fd, self->ctx.id).completed);
	EXPECT_EQ(0, npu_ctx_destroy(self->fd, self->other.id));
	EXPECT_EQ(0, npu_wait(self->fd, last));
	EXPECT_EQ(2, npu_state(self->fd, self->ctx.id).completed);
	EXPECT_TRUE(npu_sees(self->data.map, BYTES, 2));
}

/* A job waits for each of its fences, whichever of them ends last. */
TEST_F(sync, a_job_waits_for_all_its_fences)
{
	const struct npu_ctx third = npu_ctx(self->fd, 0);
	const struct npu_ctx waiting[2] = { self->ctx, npu_ctx(self->fd, 0) };
	uint32_t stays = start_endless(self), ends = npu_syncobj(self->fd);
	struct drm_onpu_sync syncs[2][2] = {
		{ { stays, DRM_ONPU_SYNC_WAIT, 0 }, { ends, DRM_ONPU_SYNC_WAIT, 0 } },
		{ { ends, DRM_ONPU_SYNC_WAIT, 0 }, { stays, DRM_ONPU_SYNC_WAIT, 0 } },
	};
	struct drm_onpu_job job = npu_fill(self->fd, self->data.va, BYTES, 5);

	npu_submit_endless(self->fd, third.id, self->data.va, ends);
	for (int i = 0; i < 2; i++) {
		give_syncs(&job, syncs[i], 2);
		ASSERT_EQ(0, npu_submit(self->fd, waiting[i].id, &job, 1, NULL));
	}
	EXPECT_EQ(0, npu_ctx_destroy(self->fd, third.id));
	EXPECT_EQ(ECANCELED, npu_wait(self->fd, ends));
	usleep(100000);
	for (int i = 0; i < 2; i++)
		EXPECT_EQ(0, npu_state(self->fd, waiting[i].id).completed);
	EXPECT_EQ(0, npu_ctx_destroy(self->fd, self->other.id));
	job.syncs.count = 0;
	for (int i = 0; i < 2; i++)
		EXPECT_EQ(0, npu_run(self->fd, waiting[i].id, &job));
}

TEST_F(sync, arrays_that_are_not_looked_at)
{
	struct drm_onpu_job job = npu_fill(self->fd, self->data.va, BYTES, 1);

	job.syncs = (struct drm_onpu_obj_array){ .stride = 3, .count = 0, .array = 5 };
	EXPECT_EQ(0, npu_submit(self->fd, self->ctx.id, &job, 1, NULL));
	EXPECT_EQ(0, npu_run(self->fd, self->ctx.id, &job));
}

/* On i386 structures, and arrays of them, may be at any multiple of 4. */
TEST_F(sync, arrays_at_any_address)
{
	static char memory[1024];
	char *jobs = memory + 4, *syncs = jobs + 2 * (sizeof(struct drm_onpu_job) + 4);
	struct drm_onpu_submit args = {
		.ctx_id = self->ctx.id,
		.jobs = { sizeof(struct drm_onpu_job) + 4, 2, (uintptr_t)jobs },
	};
	uint32_t syncobj[2];

	for (int i = 0; i < 2; i++) {
		struct drm_onpu_job job =
			npu_fill(self->fd, self->data.va + (unsigned int)i * BYTES, BYTES, 7);
		struct drm_onpu_sync sync = { .flags = DRM_ONPU_SYNC_SIGNAL };

		sync.handle = syncobj[i] = npu_syncobj(self->fd);
		memcpy(syncs + i * (sizeof(sync) + 4), &sync, sizeof(sync));
		if (i)
			job.syncs = (struct drm_onpu_obj_array){ sizeof(sync) + 4, 2,
								 (uintptr_t)syncs };
		memcpy(jobs + i * (sizeof(job) + 4), &job, sizeof(job));
	}
	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_ONPU_SUBMIT, &args));
	for (int i = 0; i < 2; i++)
		EXPECT_EQ(0, npu_wait(self->fd, syncobj[i]));
	EXPECT_TRUE(npu_sees(self->data.map, 2 * BYTES, 7));
}

TEST_F(sync, longer_elements_of_a_newer_program)
{
	struct {
		struct drm_onpu_job job;
		uint64_t more[3];
	} jobs[2];
	struct {
		struct drm_onpu_sync sync;
		uint64_t more[5];
	} syncs[2];
	struct drm_onpu_submit args = { .ctx_id = self->ctx.id };

	memset(jobs, 0, sizeof(jobs));
	memset(syncs, 0, sizeof(syncs));
	for (int i = 0; i < 2; i++) {
		syncs[i].sync.handle = npu_syncobj(self->fd);
		syncs[i].sync.flags = DRM_ONPU_SYNC_SIGNAL;
		jobs[i].job = npu_fill(self->fd, self->data.va + (unsigned int)i * BYTES, BYTES, 5);
	}
	jobs[1].job.syncs = (struct drm_onpu_obj_array)DRM_ONPU_OBJ_ARRAY(2, syncs);
	args.jobs = (struct drm_onpu_obj_array)DRM_ONPU_OBJ_ARRAY(2, jobs);
	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_ONPU_SUBMIT, &args));
	for (int i = 0; i < 2; i++)
		EXPECT_EQ(0, npu_wait(self->fd, syncs[i].sync.handle));
	EXPECT_TRUE(npu_sees(self->data.map, 2 * BYTES, 5));
}

TEST_F(sync, as_many_syncs_as_are_allowed)
{
	struct drm_onpu_sync *syncs = calloc(self->info.max_syncs, sizeof(*syncs));
	struct drm_onpu_job job = npu_fill(self->fd, self->data.va, BYTES, 5);

	for (uint32_t i = 0; i < self->info.max_syncs; i++)
		syncs[i] = (struct drm_onpu_sync){ npu_syncobj(self->fd), DRM_ONPU_SYNC_SIGNAL, 0 };
	give_syncs(&job, syncs, self->info.max_syncs);
	ASSERT_EQ(0, npu_submit(self->fd, self->ctx.id, &job, 1, NULL));
	for (uint32_t i = 0; i < self->info.max_syncs; i += 100)
		EXPECT_EQ(0, npu_wait(self->fd, syncs[i].handle));
	/* max_syncs syncobjs are accepted as waits, too; all of them have signalled. */
	for (uint32_t i = 0; i < self->info.max_syncs; i++)
		syncs[i].flags = DRM_ONPU_SYNC_WAIT;
	give_syncs(&job, syncs, self->info.max_syncs);
	EXPECT_EQ(0, npu_submit(self->fd, self->ctx.id, &job, 1, NULL));
	job.syncs.count = 0;
	EXPECT_EQ(0, npu_run(self->fd, self->ctx.id, &job));
	free(syncs);
}

TEST_F(sync, no_more_jobs_than_a_context_may_have)
{
	struct drm_onpu_job *jobs = calloc(self->info.max_jobs, sizeof(*jobs));
	struct drm_onpu_sync wait = { start_endless(self), DRM_ONPU_SYNC_WAIT, 0 };
	uint32_t left = self->info.max_queued_jobs, last = npu_syncobj(self->fd);
	struct drm_onpu_sync signal = { last, DRM_ONPU_SYNC_SIGNAL, 0 };
	uint64_t seqno = 0;

	for (uint32_t i = 0; i < self->info.max_jobs; i++)
		jobs[i] = npu_fill(self->fd, self->data.va, 64, 1);
	give_syncs(&jobs[0], &wait, 1);
	for (uint32_t count; left > 1; left -= count) {
		count = left - 1 < self->info.max_jobs ? left - 1 : self->info.max_jobs;
		ASSERT_EQ(0, npu_submit(self->fd, self->ctx.id, jobs, count, &seqno));
	}
	/* The context may take one more job: two are refused. */
	EXPECT_EQ(ENOSPC, npu_submit(self->fd, self->ctx.id, jobs, 2, NULL));
	give_syncs(&jobs[1], &signal, 1);
	EXPECT_EQ(0, npu_submit(self->fd, self->ctx.id, &jobs[1], 1, &seqno));
	EXPECT_EQ(self->info.max_queued_jobs, seqno);
	EXPECT_EQ(ENOSPC, npu_submit(self->fd, self->ctx.id, &jobs[2], 1, NULL));
	EXPECT_EQ(self->info.max_queued_jobs, npu_state(self->fd, self->ctx.id).submitted);
	EXPECT_EQ(0, npu_ctx_destroy(self->fd, self->other.id));
	EXPECT_EQ(0, npu_wait(self->fd, last));
	EXPECT_EQ(0, npu_run(self->fd, self->ctx.id, &jobs[2]));
	EXPECT_EQ(DRM_ONPU_CTX_ACTIVE, npu_state(self->fd, self->ctx.id).state);
	free(jobs);
}

TEST_F(sync, an_event_loop)
{
	struct drm_onpu_job job = npu_fill(self->fd, self->data.va, BYTES, 1);
	struct pollfd poller = { .fd = eventfd(0, EFD_CLOEXEC), .events = POLLIN };
	uint32_t syncobj = npu_syncobj(self->fd);

	ASSERT_EQ(0, npu_submit_signal(self->fd, self->ctx.id, job, syncobj));
	ASSERT_EQ(0, drmSyncobjEventfd(self->fd, syncobj, 0, poller.fd, 0));
	EXPECT_EQ(1, poll(&poller, 1, NPU_PATIENCE_S * 1000));
	EXPECT_TRUE(npu_signalled(self->fd, syncobj));
	close(poller.fd);
}

/* More contexts than the hardware has queues: see guest_queues.sh. */
TEST_F(sync, more_contexts_than_queues)
{
	enum { CONTEXTS = 24, ROUNDS = 20 };
	struct npu_ctx ctx[CONTEXTS];
	struct drm_onpu_job job[CONTEXTS];
	uint32_t syncobj[CONTEXTS];

	if (npu_num_queues(self->fd) >= CONTEXTS)
		SKIP(return, "there are %u queues", npu_num_queues(self->fd));
	for (uint32_t i = 0; i < CONTEXTS; i++) {
		ctx[i] = npu_ctx_of(self->fd, i % 2, 0);
		syncobj[i] = npu_syncobj(self->fd);
		job[i] = npu_fill(self->fd, self->data.va + i * BYTES, BYTES, (uint8_t)(i + 1));
	}
	for (int round = 0; round < ROUNDS; round++)
		for (int i = 0; i < CONTEXTS; i++)
			ASSERT_EQ(0, npu_submit_signal(self->fd, ctx[i].id, job[i], syncobj[i]));
	for (uint32_t i = 0; i < CONTEXTS; i++) {
		EXPECT_EQ(0, npu_wait(self->fd, syncobj[i]));
		EXPECT_EQ(ROUNDS, npu_state(self->fd, ctx[i].id).completed);
		EXPECT_TRUE(npu_sees(self->data.map + i * BYTES, BYTES, (uint8_t)(i + 1)));
	}
}

/* A fence signals for a context that is destroyed at the same moment. */
TEST_F(sync, contexts_end_while_others_wait_for_them)
{
	struct drm_onpu_job endless = npu_long(self->fd, self->data.va);
	struct drm_onpu_job job = npu_fill(self->fd, self->data.va, BYTES, 3);

	for (unsigned int round = 0; round < 50; round++) {
		struct npu_ctx first = npu_ctx(self->fd, 0), second = npu_ctx(self->fd, 0);
		uint32_t syncobj = npu_syncobj(self->fd);
		struct drm_onpu_sync wait = { syncobj, DRM_ONPU_SYNC_WAIT, 0 };
		struct drm_onpu_job waiting = job;

		ASSERT_EQ(0, npu_submit_signal(self->fd, first.id, endless, syncobj));
		give_syncs(&waiting, &wait, 1);
		ASSERT_EQ(0, npu_submit(self->fd, second.id, &waiting, 1, NULL));
		for (unsigned int i = 0; i < 16; i++)
			ASSERT_EQ(0, npu_submit(self->fd, second.id, &job, 1, NULL));
		ASSERT_EQ(0, npu_ctx_destroy(self->fd, round % 2 ? first.id : second.id));
		usleep(round * 32);
		ASSERT_EQ(0, npu_ctx_destroy(self->fd, round % 2 ? second.id : first.id));
		munmap((void *)first.page, 4096);
		munmap((void *)second.page, 4096);
		drmSyncobjDestroy(self->fd, syncobj);
	}
}

TEST_HARNESS_MAIN
