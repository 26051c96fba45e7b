// SPDX-License-Identifier: MIT
/* Jobs that run long: without progress, with progress, and while others run. */
#include "harness.h"
#include "npu.h"

#include <errno.h>
#include <unistd.h>
#include <xf86drm.h>

FIXTURE(hang)
{
	int fd, other;
	struct npu_bo data, small;
	struct npu_ctx innocent;
	struct drm_onpu_job job;
};

FIXTURE_SETUP(hang)
{
	self->fd = npu_open();
	self->other = npu_open();
	self->data = npu_bo(self->fd, 31 << 20, 0);
	self->small = npu_bo(self->other, 4096, 0);
	self->innocent = npu_ctx(self->other, 0);
	self->job = npu_fill(self->other, self->small.va, 4096, 3);
}

FIXTURE_TEARDOWN(hang)
{
	close(self->fd);
	close(self->other);
}

/* Seconds within which the driver notices a hang of 4 s: it checks each second. */
#define NOTICED_S 5.5

static bool runs_still(int fd, uint32_t syncobj, double seconds)
{
	return drmSyncobjWait(fd, &syncobj, 1, npu_deadline(seconds), 0, NULL) == -ETIME;
}

/*
 * Returns a job of matrix products with the highest cost that is allowed: the emulator needs much
 * longer for one of them than the shortest timeout, and counts it as progress only when it has
 * ended.
 */
static struct drm_onpu_job slow_job(int fd, unsigned int count)
{
	const struct drm_onpu_caps caps = npu_caps(fd);
	struct npu_program program = npu_program(fd, count);
	struct onpu_insn product = { .op = ONPU_OP_MMA_I8 };
	struct onpu_slot_tensor left = {
		.kind = ONPU_SLOT_TENSOR, .dtype = ONPU_DT_I8, .rank = 2, .space = ONPU_SPACE_SRAM,
		.size = 1, .dim = { 0, 1000000 },
	}, right = left, to = {
		.kind = ONPU_SLOT_TENSOR, .dtype = ONPU_DT_I32, .rank = 2, .space = ONPU_SPACE_SRAM,
		.base = 64, .stride = { 0, 4 },
	};

	to.dim[0] = left.dim[0] = right.dim[0] = caps.mxu_rows;
	to.dim[1] = right.dim[2] = caps.mxu_cols;
	to.stride[0] = 4 * to.dim[1];
	to.size = (uint64_t)to.stride[0] * to.dim[0];
	right.rank = 3;
	product.s0 = npu_slot(&program, &left);
	product.s1 = npu_slot(&program, &right);
	product.dst = npu_slot(&program, &to);
	for (unsigned int i = 0; i < count; i++)
		npu_insn(&program, product);
	return npu_job(&program);
}

TEST_F(hang, no_progress)
{
	uint32_t first = npu_syncobj(self->fd), second = npu_syncobj(self->fd);
	struct npu_ctx ctx = npu_ctx(self->fd, 1);
	struct drm_onpu_job job = slow_job(self->fd, 400);
	struct drm_onpu_ctx_get_state state;

	ASSERT_EQ(0, npu_submit_signal(self->fd, ctx.id, job, first));
	ASSERT_EQ(0, npu_submit_signal(self->fd, ctx.id, job, second));
	EXPECT_EQ(ETIME, npu_wait(self->fd, first));
	EXPECT_EQ(ECANCELED, npu_wait(self->fd, second));
	state = npu_state(self->fd, ctx.id);
	EXPECT_EQ(DRM_ONPU_CTX_TIMEDOUT, state.state);
	EXPECT_EQ(ETIME, state.error);
	EXPECT_EQ(2, state.completed);
	EXPECT_EQ(1, state.cancelled);
	EXPECT_TRUE(npu_all((const uint8_t *)&state.fault, sizeof(state.fault), 0));
	EXPECT_EQ(2, ctx.page->seqno);
	EXPECT_EQ(DRM_ONPU_COMPLETION_BY_DRIVER | ECANCELED, ctx.page->error);
	EXPECT_EQ(EIO, npu_submit(self->fd, ctx.id, &job, 1, NULL));
	EXPECT_EQ(0, npu_run(self->other, self->innocent.id, &self->job));
	EXPECT_EQ(DRM_ONPU_CTX_ACTIVE, npu_state(self->other, self->innocent.id).state);
}

/*
 * Returns the seconds that this machine needs for one of the products when nothing else runs, or 1
 * if it needs more.
 */
static double product_seconds(int fd)
{
	struct npu_ctx ctx = npu_ctx(fd, 0);
	struct drm_onpu_job job = slow_job(fd, 1);
	double least = 1;

	for (int i = 0; i < 3; i++) {
		double begin = npu_now();

		must(!npu_run(fd, ctx.id, &job));
		least = npu_now() - begin < least ? npu_now() - begin : least;
	}
	return least;
}

/*
 * Returns the state of a context after jobs without visible progress. The timeout is far below the
 * time of one job, and only the end of a job counts as progress. The driver checks four times in
 * the timeout, and the time between two SUBMITs is shorter than that between two checks. Submits
 * jobs until the context has ended, or until four have completed, which are hangs that the driver
 * has missed; these are fewer jobs than the ring holds.
 */
static uint32_t state_after_jobs(int fd, double timeout)
{
	struct npu_ctx ctx = npu_ctx(fd, (uint32_t)(timeout * 1000) + 1);
	struct drm_onpu_job job = slow_job(fd, 1);
	uint32_t state;

	while (ctx.page->seqno < 4 && !npu_submit(fd, ctx.id, &job, 1, NULL))
		usleep((useconds_t)(timeout / 6 * 1e6));
	state = npu_state(fd, ctx.id).state;
	must(!npu_ctx_destroy(fd, ctx.id));
	return state;
}

TEST_F(hang, jobs_that_follow_hide_nothing)
{
	double seconds = product_seconds(self->fd);
	uint32_t state = DRM_ONPU_CTX_ACTIVE;

	if (seconds < 0.06)
		SKIP(return,
			   "the emulator is done before a hang of the shortest timeout is noticed");
	/*
	 * A machine that halts now and then may miss a hang; one that misses it each time is wrong.
	 */
	for (int tries = 0; tries < 5 && state == DRM_ONPU_CTX_ACTIVE; tries++)
		state = state_after_jobs(self->fd, seconds / 8);
	EXPECT_EQ(DRM_ONPU_CTX_TIMEDOUT, state);
}

TEST_F(hang, progress_is_no_hang)
{
	struct npu_ctx ctx = npu_ctx(self->fd, 4000);
	uint32_t syncobj = npu_syncobj(self->fd);

	npu_submit_endless(self->fd, ctx.id, self->data.va, syncobj);
	EXPECT_TRUE(runs_still(self->fd, syncobj, NOTICED_S));
	EXPECT_EQ(DRM_ONPU_CTX_ACTIVE, npu_state(self->fd, ctx.id).state);
	EXPECT_EQ(0, npu_ctx_destroy(self->fd, ctx.id));
	EXPECT_EQ(ECANCELED, npu_wait(self->fd, syncobj));
}

/* Jobs of a lower priority get time slices now and then, which is progress, and they end. */
TEST_F(hang, a_lower_priority_has_time_slices)
{
	struct npu_ctx busy = npu_ctx(self->fd, 0);
	struct npu_ctx patient = npu_ctx_of(self->other, DRM_ONPU_PRIORITY_LOW, 4000);
	struct npu_bo data = npu_bo(self->other, 31 << 20, 0);
	uint32_t syncobj = npu_syncobj(self->fd), low = npu_syncobj(self->other);

	npu_submit_endless(self->fd, busy.id, self->data.va, syncobj);
	for (int i = 0; i < 3; i++)
		ASSERT_EQ(0, npu_run(self->other, patient.id, &self->job));
	npu_submit_endless(self->other, patient.id, data.va, low);
	EXPECT_TRUE(runs_still(self->fd, syncobj, NOTICED_S));
	EXPECT_FALSE(npu_signalled(self->other, low));
	EXPECT_EQ(DRM_ONPU_CTX_ACTIVE, npu_state(self->other, patient.id).state);
	EXPECT_EQ(0, npu_ctx_destroy(self->other, patient.id));
	EXPECT_EQ(0, npu_ctx_destroy(self->fd, busy.id));
	EXPECT_EQ(ECANCELED, npu_wait(self->other, low));
	EXPECT_EQ(ECANCELED, npu_wait(self->fd, syncobj));
}

TEST_F(hang, equal_priorities_take_time_slices)
{
	struct npu_ctx busy = npu_ctx(self->fd, 0);
	uint32_t syncobj = npu_syncobj(self->fd);

	npu_submit_endless(self->fd, busy.id, self->data.va, syncobj);
	for (int i = 0; i < 20; i++)
		ASSERT_EQ(0, npu_run(self->other, self->innocent.id, &self->job));
	EXPECT_FALSE(npu_signalled(self->fd, syncobj));
	EXPECT_EQ(0, npu_ctx_destroy(self->fd, busy.id));
	EXPECT_EQ(ECANCELED, npu_wait(self->fd, syncobj));
}

/* A cycle limit ends a job in time, also one that makes progress. */
TEST_F(hang, cycle_limit)
{
	struct npu_ctx ctx = npu_ctx(self->fd, 0);
	struct drm_onpu_job job = npu_long(self->fd, self->data.va);
	struct drm_onpu_ctx_get_state state;

	job.cycle_limit = 1 << 20;
	EXPECT_EQ(ETIME, npu_run(self->fd, ctx.id, &job));
	state = npu_state(self->fd, ctx.id);
	EXPECT_EQ(DRM_ONPU_CTX_FAULT, state.state);
	EXPECT_EQ(ONPU_FAULT_TIMEOUT, state.fault.code);
}

TEST_HARNESS_MAIN
