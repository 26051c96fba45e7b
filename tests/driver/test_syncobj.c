// SPDX-License-Identifier: MIT
/*
 * Syncobjs on an accel node, which the DRM core serves for the driver: what IGT's syncobj_* tests
 * check on nodes in /dev/dri (Documentation/testing-driver.rst has the list).
 */
#include "harness.h"
#include "npu.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <xf86drm.h>

#define BYTES	4096u
#define UNKNOWN 4711u	    /* a handle that nothing has */
#define FLAG	0x40000000u /* a flag that does not exist */
#define SOON_S	0.05

FIXTURE(syncobj)
{
	int fd;
	uint32_t one, others[3];
	struct npu_bo data;
	struct npu_ctx ctx;
	struct drm_onpu_job job;
};

FIXTURE_SETUP(syncobj)
{
	self->fd = npu_open();
	self->one = npu_syncobj(self->fd);
	for (int i = 0; i < 3; i++)
		self->others[i] = npu_syncobj(self->fd);
	self->data = npu_bo(self->fd, BYTES, 0);
	self->ctx = npu_ctx(self->fd, 0);
	self->job = npu_fill(self->fd, self->data.va, BYTES, 1);
}

FIXTURE_TEARDOWN(syncobj)
{
	close(self->fd);
}

/* Checks the errno of a call with this structure and these members. */
#define CALL(error, request, type, ...)                                   \
	EXPECT_EQ(error, npu_ioctl(self->fd, DRM_IOCTL_SYNCOBJ_##request, \
				   &(struct drm_syncobj_##type){ __VA_ARGS__ }))

#define HANDLES(list) \
	.handles = (uintptr_t)(list), .count_handles = sizeof(list) / sizeof((list)[0])

TEST_F(syncobj, handles_and_files)
{
	struct drm_syncobj_handle exported = { .handle = self->one };

	CALL(EINVAL, CREATE, create, .flags = FLAG);
	CALL(EINVAL, DESTROY, destroy, .handle = UNKNOWN);
	CALL(EINVAL, DESTROY, destroy, .handle = self->one, .pad = 1);
	CALL(EINVAL, HANDLE_TO_FD, handle, .handle = UNKNOWN);
	CALL(EINVAL, HANDLE_TO_FD, handle, .handle = self->one, .flags = FLAG);
	CALL(EINVAL, HANDLE_TO_FD, handle, .handle = self->one, .pad = 1);
	CALL(EINVAL, FD_TO_HANDLE, handle, .fd = -1);
	/* This file is no syncobj. */
	CALL(EINVAL, FD_TO_HANDLE, handle, .fd = self->fd);
	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &exported));
	CALL(EINVAL, FD_TO_HANDLE, handle, .fd = exported.fd, .flags = FLAG);
	CALL(EINVAL, FD_TO_HANDLE, handle, .fd = exported.fd, .pad = 1);
	CALL(0, FD_TO_HANDLE, handle, .fd = exported.fd);
	close(exported.fd);
	CALL(0, DESTROY, destroy, .handle = self->one);
	CALL(EINVAL, DESTROY, destroy, .handle = self->one);
}

TEST_F(syncobj, one_that_is_created_signalled)
{
	struct drm_syncobj_create create = { .flags = DRM_SYNCOBJ_CREATE_SIGNALED };

	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_SYNCOBJ_CREATE, &create));
	EXPECT_TRUE(npu_signalled(self->fd, create.handle));
	EXPECT_FALSE(npu_signalled(self->fd, self->one));
}

TEST_F(syncobj, what_is_refused)
{
	uint32_t good[2] = { self->one, self->others[0] }, bad[2] = { self->one, UNKNOWN };
	uint64_t points[2] = { 1, 1 };
	int event = eventfd(0, EFD_CLOEXEC);

	CALL(0, WAIT, wait, .count_handles = 0);
	CALL(EINVAL, WAIT, wait, HANDLES(good), .flags = FLAG);
	CALL(ENOENT, WAIT, wait, HANDLES(bad));
	CALL(EINVAL, RESET, array, .count_handles = 0);
	CALL(EINVAL, RESET, array, HANDLES(good), .pad = 1);
	CALL(ENOENT, RESET, array, HANDLES(bad));
	CALL(EINVAL, SIGNAL, array, .count_handles = 0);
	CALL(EINVAL, SIGNAL, array, HANDLES(good), .pad = 1);
	CALL(ENOENT, SIGNAL, array, HANDLES(bad));
	CALL(EINVAL, TIMELINE_WAIT, timeline_wait, HANDLES(good), .points = (uintptr_t)points,
	     .flags = FLAG);
	CALL(ENOENT, TIMELINE_WAIT, timeline_wait, HANDLES(bad), .points = (uintptr_t)points);
	CALL(EINVAL, QUERY, timeline_array, .count_handles = 0);
	CALL(EINVAL, QUERY, timeline_array, HANDLES(good), .points = (uintptr_t)points,
	     .flags = FLAG);
	CALL(ENOENT, QUERY, timeline_array, HANDLES(bad), .points = (uintptr_t)points);
	CALL(EINVAL, TIMELINE_SIGNAL, timeline_array, .count_handles = 0);
	CALL(EINVAL, TIMELINE_SIGNAL, timeline_array, HANDLES(good), .points = (uintptr_t)points,
	     .flags = FLAG);
	CALL(ENOENT, TIMELINE_SIGNAL, timeline_array, HANDLES(bad), .points = (uintptr_t)points);
	CALL(ENOENT, TRANSFER, transfer, .src_handle = UNKNOWN, .dst_handle = self->one);
	CALL(EINVAL, TRANSFER, transfer, .src_handle = self->one, .dst_handle = self->others[0],
	     .src_point = 1, .dst_point = 1);
	CALL(ENOENT, EVENTFD, eventfd, .handle = UNKNOWN, .fd = event);
	CALL(EINVAL, EVENTFD, eventfd, .handle = self->one, .fd = event, .flags = FLAG);
	CALL(EINVAL, EVENTFD, eventfd, .handle = self->one, .fd = event, .pad = 1);
	CALL(EBADF, EVENTFD, eventfd, .handle = self->one, .fd = -1);
	EXPECT_FALSE(npu_signalled(self->fd, self->one));
	close(event);
}

/* ---- waits */

static int wait_for(int fd, const uint32_t *handles, uint32_t count, uint32_t flags, double seconds,
		    uint32_t *first)
{
	struct drm_syncobj_wait wait = {
		.handles = (uintptr_t)handles,
		.count_handles = count,
		.flags = flags,
		.timeout_nsec = npu_deadline(seconds),
	};
	int ret = npu_ioctl(fd, DRM_IOCTL_SYNCOBJ_WAIT, &wait);

	if (first)
		*first = wait.first_signaled;
	return ret;
}

TEST_F(syncobj, without_a_fence_there_is_nothing_to_wait_for)
{
	uint32_t all[2] = { self->one, self->others[0] }, first;

	EXPECT_EQ(EINVAL, wait_for(self->fd, all, 1, 0, 0, NULL));
	EXPECT_EQ(ETIME,
		  wait_for(self->fd, all, 1, DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT, SOON_S, NULL));
	ASSERT_EQ(0, npu_submit_signal(self->fd, self->ctx.id, self->job, all[1]));
	EXPECT_EQ(0, wait_for(self->fd, all, 2, DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT,
			      NPU_PATIENCE_S, &first));
	EXPECT_EQ(1, first);
	EXPECT_EQ(ETIME,
		  wait_for(self->fd, all, 2,
			   DRM_SYNCOBJ_WAIT_FLAGS_WAIT_ALL | DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT,
			   SOON_S, NULL));
	CALL(0, SIGNAL, array, HANDLES(all));
	EXPECT_EQ(0, wait_for(self->fd, all, 2, DRM_SYNCOBJ_WAIT_FLAGS_WAIT_ALL, 0, NULL));
	CALL(0, RESET, array, HANDLES(all));
	EXPECT_EQ(EINVAL, wait_for(self->fd, all, 2, DRM_SYNCOBJ_WAIT_FLAGS_WAIT_ALL, 0, NULL));
}

/* A job that a thread submits while the test waits for its syncobj. */
struct later {
	int fd;
	uint32_t ctx, reset, syncobj;
	struct drm_onpu_job job;
};

static void *submit_later(void *data)
{
	struct later *later = data;

	usleep((useconds_t)(SOON_S * 1e6));
	/* A wait for a submission goes on when the syncobj loses its fence. */
	npu_ioctl(later->fd, DRM_IOCTL_SYNCOBJ_RESET,
		  &(struct drm_syncobj_array){ .handles = (uintptr_t)&later->reset,
					       .count_handles = 1 });
	usleep((useconds_t)(SOON_S * 1e6));
	must(!npu_submit_signal(later->fd, later->ctx, later->job, later->syncobj));
	return NULL;
}

TEST_F(syncobj, a_job_that_is_submitted_later)
{
	struct later later = { self->fd, self->ctx.id, self->one, self->one, self->job };
	pthread_t thread;

	must(!pthread_create(&thread, NULL, submit_later, &later));
	EXPECT_EQ(0,
		  wait_for(self->fd, &self->one, 1,
			   DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT | DRM_SYNCOBJ_WAIT_FLAGS_WAIT_ALL,
			   NPU_PATIENCE_S, NULL));
	pthread_join(thread, NULL);
	EXPECT_EQ(0, npu_wait(self->fd, self->one));
	EXPECT_TRUE(npu_sees(self->data.map, BYTES, 1));
}

/* ---- timelines */

static uint64_t point_of(int fd, uint32_t syncobj)
{
	uint64_t point = 0;

	must(!npu_ioctl(fd, DRM_IOCTL_SYNCOBJ_QUERY,
			&(struct drm_syncobj_timeline_array){ .handles = (uintptr_t)&syncobj,
							      .points = (uintptr_t)&point,
							      .count_handles = 1 }));
	return point;
}

TEST_F(syncobj, points_of_host_and_device)
{
	uint32_t list[1] = { self->one };
	uint64_t host = 5, beyond = (UINT64_C(1) << 32) + 7;
	struct drm_onpu_sync signal = { self->one, DRM_ONPU_SYNC_SIGNAL | DRM_ONPU_SYNC_TIMELINE,
					UINT64_C(1) << 33 };
	struct drm_onpu_job job = self->job;

	CALL(0, TIMELINE_SIGNAL, timeline_array, HANDLES(list), .points = (uintptr_t)&host);
	EXPECT_EQ(5, point_of(self->fd, self->one));
	CALL(0, TIMELINE_SIGNAL, timeline_array, HANDLES(list), .points = (uintptr_t)&beyond);
	EXPECT_EQ(beyond, point_of(self->fd, self->one));
	job.syncs = (struct drm_onpu_obj_array)DRM_ONPU_OBJ_ARRAY(1, &signal);
	ASSERT_EQ(0, npu_submit(self->fd, self->ctx.id, &job, 1, NULL));
	CALL(0, TIMELINE_WAIT, timeline_wait, HANDLES(list), .points = (uintptr_t)&signal.point,
	     .timeout_nsec = npu_deadline(NPU_PATIENCE_S));
	EXPECT_EQ(signal.point, point_of(self->fd, self->one));
	/* A point becomes the fence of a binary syncobj, and the other way round. */
	CALL(0, TRANSFER, transfer, .src_handle = self->one, .dst_handle = self->others[0],
	     .src_point = signal.point);
	EXPECT_TRUE(npu_signalled(self->fd, self->others[0]));
	CALL(0, TRANSFER, transfer, .src_handle = self->others[0], .dst_handle = self->others[1],
	     .dst_point = 3);
	EXPECT_EQ(3, point_of(self->fd, self->others[1]));
}

/* ---- event loops */

TEST_F(syncobj, an_eventfd_of_a_job)
{
	int event = eventfd(0, EFD_CLOEXEC);
	struct pollfd ready = { .fd = event, .events = POLLIN };

	CALL(0, EVENTFD, eventfd, .handle = self->one, .fd = event);
	EXPECT_EQ(0, poll(&ready, 1, (int)(SOON_S * 1e3)));
	ASSERT_EQ(0, npu_submit_signal(self->fd, self->ctx.id, self->job, self->one));
	EXPECT_EQ(1, poll(&ready, 1, (int)(NPU_PATIENCE_S * npu_patience() * 1e3)));
	EXPECT_TRUE(npu_signalled(self->fd, self->one));
	close(event);
	/* An event of a fence that has signalled comes at once. */
	event = eventfd(0, EFD_CLOEXEC);
	ready.fd = event;
	CALL(0, EVENTFD, eventfd, .handle = self->one, .fd = event);
	EXPECT_EQ(1, poll(&ready, 1, 0));
	close(event);
}

TEST_HARNESS_MAIN
