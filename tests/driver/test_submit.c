// SPDX-License-Identifier: MIT
/*
 * Arguments that SUBMIT refuses. The submission is two jobs that each wait for a syncobj and signal
 * another; one argument is made wrong, mostly in the second job: then neither job may run.
 */
#include "harness.h"
#include "npu.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>

#define BYTES 4096
#define MANY  1025
/* The stride of elements that are longer than a page, with zeros after the known members. */
#define LONG_STRIDE (4096 + 8)

struct longer_job {
	struct drm_onpu_job job;
	uint64_t more;
};

struct longer_sync {
	struct drm_onpu_sync sync;
	uint64_t more;
};

FIXTURE(submit)
{
	int fd;
	struct drm_onpu_dev_info info;
	struct npu_ctx ctx;
	struct npu_bo data, profile;
	uint32_t in, out[2], empty;
	struct drm_onpu_sync syncs[2][2];
	struct drm_onpu_job jobs[2];
	struct longer_job longer_jobs[2];
	struct longer_sync longer_syncs[2];
	struct drm_onpu_job many_jobs[257];
	struct drm_onpu_sync many_syncs[MANY];
	struct drm_onpu_submit args;
};

FIXTURE_VARIANT(submit)
{
	void (*spoil)(FIXTURE_DATA(submit) * a);
	int error;
};

FIXTURE_SETUP(submit)
{
	self->fd = npu_open();
	self->info = npu_info(self->fd);
	self->ctx = npu_ctx(self->fd, 0);
	self->data = npu_bo(self->fd, 2 * BYTES, 0);
	self->profile = npu_bo(self->fd, BYTES, 0);
	self->in = npu_syncobj(self->fd);
	self->empty = npu_syncobj(self->fd);
	for (int i = 0; i < 2; i++) {
		struct drm_onpu_job *job = &self->jobs[i];

		self->out[i] = npu_syncobj(self->fd);
		*job = npu_fill(self->fd, self->data.va + (unsigned int)i * BYTES, BYTES, 9);
		/* The syncobj to wait for has a fence of another context. */
		self->syncs[i][0] = (struct drm_onpu_sync){ self->in, DRM_ONPU_SYNC_WAIT, 0 };
		self->syncs[i][1] = (struct drm_onpu_sync){ self->out[i], DRM_ONPU_SYNC_SIGNAL, 0 };
		job->syncs = (struct drm_onpu_obj_array)DRM_ONPU_OBJ_ARRAY(2, self->syncs[i]);
		job->profile_va = self->profile.va;
		job->profile_size = 64;
	}
	self->args = (struct drm_onpu_submit){
		.ctx_id = self->ctx.id,
		.jobs = DRM_ONPU_OBJ_ARRAY(2, self->jobs),
	};
}

FIXTURE_TEARDOWN(submit)
{
	close(self->fd);
}

#define BAD(name, error, ...) REFUSED(submit, name, error, __VA_ARGS__)
#define JOB		      (a->jobs[1])
#define SYNC		      (a->syncs[1][1])
#define WAITS		      (a->syncs[1][0])

BAD(no_context, ENOENT, a->args.ctx_id = 0);
BAD(unknown_context, ENOENT, a->args.ctx_id = 4711);
BAD(flags, EINVAL, a->args.flags = 1);
BAD(highest_flag, EINVAL, a->args.flags = 1u << 31);
BAD(seqno, EINVAL, a->args.seqno = 1);

BAD(no_job, EINVAL, a->args.jobs.count = 0);
BAD(too_many_jobs, EINVAL, {
	for (int i = 0; i < 257; i++) {
		a->many_jobs[i] = a->jobs[0];
		a->many_jobs[i].syncs.count = 0;
	}
	a->args.jobs = (struct drm_onpu_obj_array)DRM_ONPU_OBJ_ARRAY(257, a->many_jobs);
});
BAD(as_many_jobs_as_can_be_counted, EINVAL, a->args.jobs.count = UINT32_MAX);
BAD(short_stride_of_jobs, EINVAL, {
	/* All other arguments are right: a job without its last member has no syncs. */
	const size_t stride = offsetof(struct drm_onpu_job, syncs);

	for (int i = 0; i < 2; i++)
		memcpy((char *)a->many_jobs + (size_t)i * stride, &a->jobs[i], stride);
	a->args.jobs.stride = stride;
	a->args.jobs.array = (uintptr_t)a->many_jobs;
});
BAD(no_stride_of_jobs, EINVAL, a->args.jobs.stride = 0);
BAD(long_stride_of_jobs, E2BIG, {
	a->many_jobs[0] = a->jobs[0];
	memcpy((char *)a->many_jobs + LONG_STRIDE, &a->jobs[1], sizeof(a->jobs[1]));
	a->args.jobs.stride = LONG_STRIDE;
	a->args.jobs.array = (uintptr_t)a->many_jobs;
});
BAD(jobs_at_zero, EFAULT, a->args.jobs.array = 0);
BAD(jobs_of_the_kernel, EFAULT, a->args.jobs.array = 0xffff800000000000ull);
BAD(half_of_the_jobs, EFAULT, {
	size_t page = npu_page();
	char *pages =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct drm_onpu_job *last = (void *)(pages + page - sizeof(*last));

	*last = a->jobs[0];
	munmap(pages + page, page);
	a->args.jobs.array = (uintptr_t)last;
});
BAD(longer_jobs_with_something, E2BIG, {
	for (int i = 0; i < 2; i++)
		a->longer_jobs[i].job = a->jobs[i];
	a->longer_jobs[1].more = 1ull << 63;
	a->args.jobs = (struct drm_onpu_obj_array)DRM_ONPU_OBJ_ARRAY(2, a->longer_jobs);
});

BAD(job_flags, EINVAL, JOB.flags = 1);
BAD(misaligned_program, EINVAL, JOB.program_va += 8);
BAD(program_at_the_end, EINVAL, JOB.program_va = a->info.va_end);
BAD(program_across_the_end, EINVAL, JOB.program_va = a->info.va_end - 16);
BAD(program_that_wraps, EINVAL, JOB.program_va = UINT64_MAX - 15);
BAD(endless_program, EINVAL, {
	JOB.program_va = a->info.va_end - 4096;
	JOB.instr_count = UINT32_MAX;
});
BAD(no_instruction, EINVAL, JOB.instr_count = 0);
BAD(misaligned_slots, EINVAL, JOB.slots_va += 64);
BAD(slots_at_the_end, EINVAL, JOB.slots_va = a->info.va_end);
BAD(slots_across_the_end, EINVAL, JOB.slots_va = a->info.va_end - 128);
BAD(slots_that_wrap, EINVAL, JOB.slots_va = UINT64_MAX - 127);
BAD(no_slot, EINVAL, JOB.slot_count = 0);
BAD(too_many_slots, EINVAL, JOB.slot_count = 65537);
BAD(profile_without_size, EINVAL, JOB.profile_size = 0);
BAD(profile_without_address, EINVAL, JOB.profile_va = 0);
BAD(misaligned_profile, EINVAL, JOB.profile_va += 16);
BAD(profile_of_odd_size, EINVAL, JOB.profile_size = 48);
BAD(profile_at_the_end, EINVAL, JOB.profile_va = a->info.va_end);
BAD(profile_across_the_end, EINVAL, JOB.profile_va = a->info.va_end - 32);
BAD(profile_that_wraps, EINVAL, JOB.profile_va = UINT64_MAX - 31);

BAD(short_stride_of_syncs, EINVAL, {
	/*
	 * All other arguments are right: a sync without its last member is one of a binary syncobj.
	 */
	const size_t stride = offsetof(struct drm_onpu_sync, point);

	for (int i = 0; i < 2; i++)
		memcpy((char *)a->many_syncs + (size_t)i * stride, &a->syncs[1][i], stride);
	JOB.syncs.stride = stride;
	JOB.syncs.array = (uintptr_t)a->many_syncs;
});
BAD(long_stride_of_syncs, E2BIG, {
	a->many_syncs[0] = WAITS;
	memcpy((char *)a->many_syncs + LONG_STRIDE, &SYNC, sizeof(SYNC));
	JOB.syncs.stride = LONG_STRIDE;
	JOB.syncs.array = (uintptr_t)a->many_syncs;
});
BAD(syncs_at_zero, EFAULT, JOB.syncs.array = 0);
BAD(longer_syncs_with_something, E2BIG, {
	for (int i = 0; i < 2; i++)
		a->longer_syncs[i].sync = a->syncs[1][i];
	a->longer_syncs[0].more = 1;
	JOB.syncs = (struct drm_onpu_obj_array)DRM_ONPU_OBJ_ARRAY(2, a->longer_syncs);
});
BAD(too_many_syncs, EINVAL, {
	for (int i = 0; i < MANY; i++)
		a->many_syncs[i] = a->syncs[1][1];
	JOB.syncs = (struct drm_onpu_obj_array)DRM_ONPU_OBJ_ARRAY(MANY, a->many_syncs);
});
BAD(too_many_syncs_together, EINVAL, {
	for (int i = 0; i < MANY; i++)
		a->many_syncs[i] = a->syncs[1][1];
	JOB.syncs = (struct drm_onpu_obj_array)DRM_ONPU_OBJ_ARRAY(MANY - 2, a->many_syncs);
});
BAD(as_many_syncs_as_can_be_counted, EINVAL, JOB.syncs.count = UINT32_MAX);
BAD(neither_wait_nor_signal, EINVAL, SYNC.flags = 0);
BAD(wait_and_signal, EINVAL, SYNC.flags = DRM_ONPU_SYNC_WAIT | DRM_ONPU_SYNC_SIGNAL);
BAD(unknown_flag_of_a_sync, EINVAL, SYNC.flags |= 8);
BAD(point_without_timeline, EINVAL, SYNC.point = 1);
BAD(timeline_without_point, EINVAL, SYNC.flags |= DRM_ONPU_SYNC_TIMELINE);
BAD(unknown_syncobj_to_signal, ENOENT, SYNC.handle = 4711);
BAD(unknown_syncobj_to_wait_for, ENOENT, WAITS.handle = 4711);
BAD(no_syncobj, ENOENT, SYNC.handle = 0);
BAD(nothing_to_wait_for, EINVAL, WAITS.handle = a->empty);
BAD(no_such_point, EINVAL, {
	WAITS.flags |= DRM_ONPU_SYNC_TIMELINE;
	WAITS.point = 1;
	WAITS.handle = a->empty;
});

static void check_good(struct __test_metadata *_metadata, FIXTURE_DATA(submit) * self)
{
	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_ONPU_SUBMIT, &self->args));
	EXPECT_EQ(2, self->args.seqno);
	for (int i = 0; i < 2; i++)
		EXPECT_EQ(0, npu_wait(self->fd, self->out[i]));
	EXPECT_TRUE(npu_sees(self->data.map, 2 * BYTES, 9));
	EXPECT_EQ(2, npu_state(self->fd, self->ctx.id).completed);
}

static void give_fence(FIXTURE_DATA(submit) * self)
{
	struct npu_ctx ctx = npu_ctx(self->fd, 0);
	struct drm_onpu_job job = self->jobs[0];

	job.profile_va = job.profile_size = 0;
	must(!npu_submit_signal(self->fd, ctx.id, job, self->in));
	must(!npu_wait(self->fd, self->in));
	memset(self->data.map, 0, self->data.size);
	npu_flush(self->data.map, self->data.size);
}

TEST_F(submit, is_refused)
{
	FIXTURE_DATA(submit) good;
	struct drm_onpu_submit args;

	give_fence(self);
	good = *self;
	variant->spoil(self);
	args = self->args;
	EXPECT_EQ(variant->error, npu_ioctl(self->fd, DRM_IOCTL_ONPU_SUBMIT, &args));
	EXPECT_EQ(0, memcmp(&args, &self->args, sizeof(args)));
	EXPECT_EQ(0, npu_state(self->fd, self->ctx.id).submitted);
	for (int i = 0; i < 2; i++)
		EXPECT_FALSE(npu_has_fence(self->fd, self->out[i]));
	EXPECT_TRUE(npu_sees(self->data.map, 2 * BYTES, 0));
	/*
	 * With correct arguments at these addresses, the submission is accepted, and gets the first
	 * number.
	 */
	*self = good;
	check_good(_metadata, self);
	EXPECT_EQ(0, npu_state(self->fd, self->ctx.id).cancelled);
}

TEST_HARNESS_MAIN
