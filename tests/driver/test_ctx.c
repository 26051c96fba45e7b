// SPDX-License-Identifier: MIT
/* CTX_CREATE, CTX_DESTROY, CTX_GET_STATE and the completion page. */
#include "harness.h"
#include "npu.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define MANY_JOBS 100u

/* ---- refused arguments */

FIXTURE(create)
{
	int fd;
	struct drm_onpu_ctx_create args;
};

FIXTURE_VARIANT(create)
{
	void (*spoil)(FIXTURE_DATA(create) * a);
	int error;
};

FIXTURE_SETUP(create)
{
	self->fd = npu_open();
	self->args.priority = DRM_ONPU_PRIORITY_NORMAL;
}

FIXTURE_TEARDOWN(create)
{
	close(self->fd);
}

REFUSED(create, flags, EINVAL, a->args.flags = 2);
REFUSED(create, highest_flag, EINVAL, a->args.flags = 1u << 31);
REFUSED(create, unknown_priority, EINVAL, a->args.priority = DRM_ONPU_PRIORITY_HIGH + 1);
REFUSED(create, negative_priority, EINVAL, a->args.priority = UINT32_MAX);
REFUSED(create, high_priority, EACCES, a->args.priority = DRM_ONPU_PRIORITY_HIGH);
REFUSED(create, unknown_power, EINVAL, a->args.power = DRM_ONPU_POWER_HIGH_PERFORMANCE + 1);
REFUSED(create, number, EINVAL, a->args.ctx_id = 1);
REFUSED(create, padding, EINVAL, a->args.pad = 1);
REFUSED(create, offset, EINVAL, a->args.completion_offset = 4096);

TEST_F(create, is_refused)
{
	struct drm_onpu_ctx_create args;

	if (variant->error == EACCES && !geteuid())
		SKIP(return, "root may");
	variant->spoil(self);
	args = self->args;
	EXPECT_EQ(variant->error, npu_ioctl(self->fd, DRM_IOCTL_ONPU_CTX_CREATE, &args));
	EXPECT_EQ(0, memcmp(&args, &self->args, sizeof(args)));
	EXPECT_EQ(ENOENT, npu_ctx_destroy(self->fd, 1));
}

FIXTURE(state)
{
	int fd;
	struct npu_ctx ctx;
	struct drm_onpu_ctx_get_state args;
};

FIXTURE_VARIANT(state)
{
	void (*spoil)(FIXTURE_DATA(state) * a);
	int error;
};

FIXTURE_SETUP(state)
{
	self->fd = npu_open();
	self->ctx = npu_ctx(self->fd, 0);
	self->args.ctx_id = self->ctx.id;
}

FIXTURE_TEARDOWN(state)
{
	close(self->fd);
}

REFUSED(state, no_context, ENOENT, a->args.ctx_id = 0);
REFUSED(state, unknown_context, ENOENT, a->args.ctx_id = 4711);
REFUSED(state, destroyed_context, ENOENT, must(!npu_ctx_destroy(a->fd, a->ctx.id)));
REFUSED(state, state, EINVAL, a->args.state = 1);
REFUSED(state, error, EINVAL, a->args.error = 1);
REFUSED(state, padding, EINVAL, a->args.pad = 1);
REFUSED(state, submitted, EINVAL, a->args.submitted = 1);
REFUSED(state, completed, EINVAL, a->args.completed = 1);
REFUSED(state, cancelled, EINVAL, a->args.cancelled = 1);
REFUSED(state, busy_ns, EINVAL, a->args.busy_ns = 1);
REFUSED(state, cycles, EINVAL, a->args.cycles = 1);
REFUSED(state, first_byte_of_fault, EINVAL, a->args.fault.code = 1);
REFUSED(state, last_byte_of_fault, EINVAL, a->args.fault.cycle = 1ull << 56);

TEST_F(state, is_refused)
{
	struct drm_onpu_ctx_get_state args;

	variant->spoil(self);
	args = self->args;
	EXPECT_EQ(variant->error, npu_ioctl(self->fd, DRM_IOCTL_ONPU_CTX_GET_STATE, &args));
	EXPECT_EQ(0, memcmp(&args, &self->args, sizeof(args)));
}

/* ---- successful calls */

FIXTURE(ctx)
{
	int fd, other;
	struct drm_onpu_dev_info info;
};

FIXTURE_SETUP(ctx)
{
	self->fd = npu_open();
	self->other = npu_open();
	self->info = npu_info(self->fd);
}

FIXTURE_TEARDOWN(ctx)
{
	close(self->fd);
	close(self->other);
}

TEST_F(ctx, destroy_refuses)
{
	struct npu_ctx ctx = npu_ctx(self->fd, 0);
	struct drm_onpu_ctx_destroy args = { .ctx_id = ctx.id, .pad = 1 };

	EXPECT_EQ(EINVAL, npu_ioctl(self->fd, DRM_IOCTL_ONPU_CTX_DESTROY, &args));
	EXPECT_EQ(0, npu_state(self->fd, ctx.id).state);
	EXPECT_EQ(ENOENT, npu_ctx_destroy(self->fd, 0));
	EXPECT_EQ(ENOENT, npu_ctx_destroy(self->fd, ctx.id + 1));
	EXPECT_EQ(ENOENT, npu_ctx_destroy(self->other, ctx.id));
	EXPECT_EQ(0, npu_ctx_destroy(self->fd, ctx.id));
	EXPECT_EQ(ENOENT, npu_ctx_destroy(self->fd, ctx.id));
}

TEST_F(ctx, a_destroyed_one_takes_nothing)
{
	struct npu_bo data = npu_bo(self->fd, 4096, 0);
	struct npu_ctx ctx = npu_ctx(self->fd, 0);
	struct drm_onpu_job job = npu_fill(self->fd, data.va, 64, 1);

	EXPECT_EQ(0, npu_ctx_destroy(self->fd, ctx.id));
	EXPECT_EQ(ENOENT, npu_submit(self->fd, ctx.id, &job, 1, NULL));
}

TEST_F(ctx, numbers_are_of_one_client)
{
	struct npu_ctx ctx = npu_ctx(self->fd, 0);
	struct drm_onpu_ctx_get_state state = { .ctx_id = ctx.id };
	struct drm_onpu_job job = npu_fill(self->other, 1 << 20, 64, 1);

	EXPECT_NE(0, ctx.id);
	EXPECT_EQ(ENOENT, npu_ioctl(self->other, DRM_IOCTL_ONPU_CTX_GET_STATE, &state));
	EXPECT_EQ(ENOENT, npu_submit(self->other, ctx.id, &job, 1, NULL));
}

TEST_F(ctx, timeouts)
{
	uint32_t most = self->info.max_timeout_ms;
	const struct {
		uint32_t wanted, got;
	} cases[] = {
		{ 0, self->info.timeout_ms }, { 1, 1 },
		{ 4711 % most, 4711 % most }, { most, most },
		{ most + 1, most },	      { UINT32_MAX, most },
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
		struct drm_onpu_ctx_create args = {
			.priority = DRM_ONPU_PRIORITY_LOW,
			.timeout_ms = cases[i].wanted,
		};

		ASSERT_EQ(0, npu_ctx_create(self->fd, &args));
		EXPECT_EQ(cases[i].got, args.timeout_ms);
		EXPECT_EQ(0, npu_ctx_destroy(self->fd, args.ctx_id));
	}
}

TEST_F(ctx, priorities_and_power)
{
	uint32_t last = geteuid() ? DRM_ONPU_PRIORITY_NORMAL : DRM_ONPU_PRIORITY_HIGH;
	struct npu_bo data = npu_bo(self->fd, 4096, 0);
	uint8_t value = 1;

	for (uint32_t priority = 0; priority <= last; priority++) {
		for (uint32_t power = 0; power <= DRM_ONPU_POWER_HIGH_PERFORMANCE; power++) {
			struct drm_onpu_ctx_create args = { .priority = priority, .power = power };
			struct drm_onpu_job job = npu_fill(self->fd, data.va, 4096, ++value);

			ASSERT_EQ(0, npu_ctx_create(self->fd, &args));
			EXPECT_EQ(0, npu_run(self->fd, args.ctx_id, &job));
			EXPECT_TRUE(npu_sees(data.map, 4096, value));
			EXPECT_EQ(0, npu_ctx_destroy(self->fd, args.ctx_id));
		}
	}
}

TEST_F(ctx, a_new_one_has_done_nothing)
{
	struct npu_ctx ctx = npu_ctx(self->fd, 0);
	struct drm_onpu_ctx_get_state state = npu_state(self->fd, ctx.id);

	EXPECT_EQ(DRM_ONPU_CTX_ACTIVE, state.state);
	EXPECT_EQ(0, state.error);
	EXPECT_EQ(0, state.submitted | state.completed | state.cancelled);
	EXPECT_EQ(0, state.busy_ns | state.cycles);
	EXPECT_TRUE(npu_all((const uint8_t *)&state.fault, sizeof(state.fault), 0));
	EXPECT_TRUE(npu_all((const uint8_t *)ctx.page, 4096, 0));
}

/*
 * The completion page shows the end of a job before the interrupt comes; CTX_GET_STATE does not
 * wait for that.
 */
TEST_F(ctx, what_the_page_shows_has_ended)
{
	struct npu_bo data = npu_bo(self->fd, 4096, 0);
	struct npu_ctx ctx = npu_ctx(self->fd, 0);
	struct drm_onpu_job job = npu_fill(self->fd, data.va, 16, 7);
	uint32_t syncobj = npu_syncobj(self->fd);

	for (uint64_t n = 1; n <= 300; n++) {
		struct drm_onpu_ctx_get_state state;

		ASSERT_EQ(0, npu_submit_signal(self->fd, ctx.id, job, syncobj));
		while (__atomic_load_n(&ctx.page->seqno, __ATOMIC_ACQUIRE) < n)
			;
		state = npu_state(self->fd, ctx.id);
		ASSERT_EQ(n, state.completed);
		ASSERT_EQ(DRM_ONPU_CTX_ACTIVE, state.state);
		ASSERT_TRUE(npu_signalled(self->fd, syncobj));
	}
}

TEST_F(ctx, what_a_good_job_leaves)
{
	struct npu_bo data = npu_bo(self->fd, 65536, 0);
	struct npu_ctx ctx = npu_ctx(self->fd, 0);
	struct drm_onpu_job job = npu_fill(self->fd, data.va + 3, 65000, 7);
	struct drm_onpu_ctx_get_state state;

	for (uint64_t n = 1; n <= 3; n++) {
		ASSERT_EQ(0, npu_run(self->fd, ctx.id, &job));
		EXPECT_EQ(n, ctx.page->seqno);
		EXPECT_EQ(0, ctx.page->error);
		EXPECT_EQ(0, ctx.page->pad);
		state = npu_state(self->fd, ctx.id);
		EXPECT_EQ(DRM_ONPU_CTX_ACTIVE, state.state);
		EXPECT_EQ(0, state.error);
		EXPECT_EQ(n, state.submitted);
		EXPECT_EQ(n, state.completed);
		EXPECT_EQ(0, state.cancelled);
		EXPECT_LT(0, state.cycles);
		EXPECT_LT(0, state.busy_ns);
		EXPECT_TRUE(npu_all((const uint8_t *)&state.fault, sizeof(state.fault), 0));
	}
	EXPECT_TRUE(npu_sees(data.map, 3, 0));
	EXPECT_TRUE(npu_sees(data.map + 3, 65000, 7));
	EXPECT_TRUE(npu_sees(data.map + 65003, 65536 - 65003, 0));
}

/* Jobs of a context for long work wait for syncobjs, but signal none. */
TEST_F(ctx, long_work_signals_no_syncobj)
{
	struct drm_onpu_ctx_create create = { .flags = DRM_ONPU_CTX_LONG_RUNNING };
	struct npu_bo data = npu_bo(self->fd, 4096, 0);
	struct npu_ctx other = npu_ctx(self->fd, 0);
	struct drm_onpu_job job = npu_fill(self->fd, data.va, 64, 7);
	uint32_t syncobj = npu_syncobj(self->fd);
	struct drm_onpu_sync sync = { .handle = syncobj, .flags = DRM_ONPU_SYNC_WAIT };
	double end = npu_now() + npu_patience() * NPU_PATIENCE_S;

	ASSERT_EQ(0, npu_ctx_create(self->fd, &create));
	EXPECT_EQ(EOPNOTSUPP, npu_submit_signal(self->fd, create.ctx_id, job, syncobj));
	EXPECT_FALSE(npu_has_fence(self->fd, syncobj));
	EXPECT_EQ(0, npu_state(self->fd, create.ctx_id).submitted);
	ASSERT_EQ(0, npu_submit_signal(self->fd, other.id, job, syncobj));
	job.syncs = (struct drm_onpu_obj_array)DRM_ONPU_OBJ_ARRAY(1, &sync);
	ASSERT_EQ(0, npu_submit(self->fd, create.ctx_id, &job, 1, NULL));
	while (!npu_state(self->fd, create.ctx_id).completed && npu_now() < end)
		usleep(1000);
	EXPECT_EQ(1, npu_state(self->fd, create.ctx_id).completed);
	EXPECT_TRUE(npu_signalled(self->fd, syncobj));
	EXPECT_TRUE(npu_sees(data.map, 64, 7));
}

TEST_F(ctx, the_page_is_for_reading_and_for_its_client)
{
	struct npu_ctx ctx = npu_ctx(self->fd, 0);

	EXPECT_GT(1ull << 44, ctx.page_offset);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd,
				   (off_t)ctx.page_offset));
	EXPECT_EQ(-1, mprotect((void *)ctx.page, 4096, PROT_READ | PROT_WRITE));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 2 * npu_page(), PROT_READ, MAP_SHARED, self->fd,
				   (off_t)ctx.page_offset));
	EXPECT_EQ(MAP_FAILED,
		  mmap(NULL, 4096, PROT_READ, MAP_SHARED, self->other, (off_t)ctx.page_offset));
	EXPECT_EQ(0, npu_ctx_destroy(self->fd, ctx.id));
	EXPECT_EQ(MAP_FAILED,
		  mmap(NULL, 4096, PROT_READ, MAP_SHARED, self->fd, (off_t)ctx.page_offset));
}

/* A program that reads the state all the time sees counters that never fall and are consistent. */
TEST_F(ctx, the_state_while_jobs_run)
{
	struct npu_bo data = npu_bo(self->fd, 4096, 0);
	struct npu_ctx ctx = npu_ctx(self->fd, 0);
	struct drm_onpu_job job = npu_fill(self->fd, data.va, 64, 1);
	struct drm_onpu_ctx_get_state last = {}, now;
	pid_t child = fork();
	int status = 0;

	if (!child) {
		for (int i = 0; i < MANY_JOBS; i++)
			must(!npu_run(self->fd, ctx.id, &job));
		_exit(0);
	}
	ASSERT_LT(0, child);
	while (!waitpid(child, &status, WNOHANG)) {
		now = npu_state(self->fd, ctx.id);
		ASSERT_LE(now.completed, now.submitted);
		ASSERT_LE(last.submitted, now.submitted);
		ASSERT_LE(last.completed, now.completed);
		ASSERT_LE(last.busy_ns, now.busy_ns);
		ASSERT_LE(last.cycles, now.cycles);
		last = now;
	}
	EXPECT_EQ(0, status);
	EXPECT_EQ(MANY_JOBS, npu_state(self->fd, ctx.id).completed);
}

TEST_F(ctx, the_mapped_page_outlives_context_and_file)
{
	int fd = npu_open();
	struct npu_bo data = npu_bo(fd, 4096, 0);
	struct npu_ctx ctx = npu_ctx(fd, 0);
	struct drm_onpu_job job = npu_fill(fd, data.va, 64, 1);

	ASSERT_EQ(0, npu_run(fd, ctx.id, &job));
	EXPECT_EQ(0, npu_ctx_destroy(fd, ctx.id));
	EXPECT_EQ(1, ctx.page->seqno);
	close(fd);
	/* Buffers that are created later do not get the page. */
	data = npu_bo(self->fd, 4096, 0);
	job = npu_fill(self->fd, data.va, 64, 1);
	for (int i = 0; i < 4; i++) {
		struct npu_ctx later = npu_ctx(self->fd, 0);

		for (int j = 0; j < 3; j++)
			ASSERT_EQ(0, npu_run(self->fd, later.id, &job));
		EXPECT_EQ(3, later.page->seqno);
		EXPECT_EQ(1, ctx.page->seqno);
		EXPECT_EQ(0, ctx.page->error);
		EXPECT_EQ(0, npu_ctx_destroy(self->fd, later.id));
		munmap((void *)later.page, 4096);
	}
}

TEST_F(ctx, limit)
{
	struct drm_onpu_ctx_create args = { .priority = DRM_ONPU_PRIORITY_LOW };
	uint32_t *ids = calloc(self->info.max_contexts, sizeof(*ids));

	for (uint32_t i = 0; i < self->info.max_contexts; i++) {
		args = (struct drm_onpu_ctx_create){ .priority = DRM_ONPU_PRIORITY_LOW };
		ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_ONPU_CTX_CREATE, &args));
		ids[i] = args.ctx_id;
		for (uint32_t j = 0; j < i; j++)
			EXPECT_NE(ids[j], ids[i]);
	}
	args = (struct drm_onpu_ctx_create){ .priority = DRM_ONPU_PRIORITY_LOW };
	EXPECT_EQ(ENOSPC, npu_ioctl(self->fd, DRM_IOCTL_ONPU_CTX_CREATE, &args));
	EXPECT_EQ(0, args.ctx_id);
	/*
	 * A context that was refused does not count towards the limit, and neither does another
	 * client's.
	 */
	args.flags = 2;
	EXPECT_EQ(EINVAL, npu_ioctl(self->fd, DRM_IOCTL_ONPU_CTX_CREATE, &args));
	npu_ctx(self->other, 0);
	for (int round = 0; round < 3; round++) {
		EXPECT_EQ(0, npu_ctx_destroy(self->fd, ids[round]));
		args = (struct drm_onpu_ctx_create){ .priority = DRM_ONPU_PRIORITY_LOW };
		EXPECT_EQ(0, npu_ctx_create(self->fd, &args));
	}
	args = (struct drm_onpu_ctx_create){ .priority = DRM_ONPU_PRIORITY_LOW };
	EXPECT_EQ(ENOSPC, npu_ioctl(self->fd, DRM_IOCTL_ONPU_CTX_CREATE, &args));
	free(ids);
}

/*
 * Contexts of all files of a user count together. Skips where a user may have as many as two files
 * may: see guest_limits.sh.
 */
TEST_F(ctx, limit_of_a_user)
{
	int fds[] = { self->fd, self->other };
	struct drm_onpu_ctx_create args;
	uint32_t made = 0;
	int ret = 0;

	if (self->info.max_user_contexts >= 2 * self->info.max_contexts)
		SKIP(return, "a user may have %u", self->info.max_user_contexts);
	for (; !ret; made += !ret) {
		args = (struct drm_onpu_ctx_create){ .priority = DRM_ONPU_PRIORITY_LOW };
		ret = npu_ctx_create(fds[made % 2], &args);
	}
	EXPECT_EQ(ENOSPC, ret);
	EXPECT_EQ(self->info.max_user_contexts, made);
}

/* More contexts than may exist at a time work and are destroyed; each frees all its resources. */
TEST_F(ctx, all_that_they_had_is_given_back)
{
	struct npu_bo data = npu_bo(self->fd, 4096, 0);
	struct drm_onpu_job job = npu_fill(self->fd, data.va, 4096, 1);

	for (uint32_t i = 0; i < self->info.max_contexts + 8; i++) {
		struct drm_onpu_ctx_create args = { .priority = DRM_ONPU_PRIORITY_LOW };

		ASSERT_EQ(0, npu_ctx_create(self->fd, &args));
		ASSERT_EQ(0, npu_run(self->fd, args.ctx_id, &job));
		ASSERT_EQ(0, npu_ctx_destroy(self->fd, args.ctx_id));
	}
}

TEST_HARNESS_MAIN
