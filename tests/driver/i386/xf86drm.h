/* SPDX-License-Identifier: MIT */
/*
 * The functions of libdrm that the tests use, for programs of 32 bits: the build environment has
 * the library for its own processor alone. They return what libdrm's functions return.
 */
#ifndef TESTS_DRIVER_I386_XF86DRM_H
#define TESTS_DRIVER_I386_XF86DRM_H

#include <drm/drm.h>

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>

typedef struct {
	int version_major, version_minor;
	char name[64];
} drmVersion, *drmVersionPtr;

static inline int drmIoctl(int fd, unsigned long request, void *args)
{
	int ret;

	do {
		ret = ioctl(fd, request, args);
	} while (ret && (errno == EINTR || errno == EAGAIN));
	return ret ? -errno : 0;
}

static inline drmVersionPtr drmGetVersion(int fd)
{
	drmVersionPtr version = calloc(1, sizeof(*version));
	struct drm_version args = { .name_len = sizeof(version->name) - 1 };

	if (!version)
		return NULL;
	args.name = version->name;
	if (drmIoctl(fd, DRM_IOCTL_VERSION, &args)) {
		free(version);
		return NULL;
	}
	version->version_major = args.version_major;
	version->version_minor = args.version_minor;
	return version;
}

static inline void drmFreeVersion(drmVersionPtr version)
{
	free(version);
}

static inline int drmPrimeHandleToFD(int fd, uint32_t handle, uint32_t flags, int *file)
{
	struct drm_prime_handle args = { .handle = handle, .flags = flags };
	int ret = drmIoctl(fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &args);

	if (!ret)
		*file = args.fd;
	return ret;
}

static inline int drmPrimeFDToHandle(int fd, int file, uint32_t *handle)
{
	struct drm_prime_handle args = { .fd = file };
	int ret = drmIoctl(fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &args);

	if (!ret)
		*handle = args.handle;
	return ret;
}

static inline int drmSyncobjCreate(int fd, uint32_t flags, uint32_t *handle)
{
	struct drm_syncobj_create args = { .flags = flags };
	int ret = drmIoctl(fd, DRM_IOCTL_SYNCOBJ_CREATE, &args);

	if (!ret)
		*handle = args.handle;
	return ret;
}

static inline int drmSyncobjDestroy(int fd, uint32_t handle)
{
	struct drm_syncobj_destroy args = { .handle = handle };

	return drmIoctl(fd, DRM_IOCTL_SYNCOBJ_DESTROY, &args);
}

static inline int drmSyncobjHandleToFD(int fd, uint32_t handle, int *file)
{
	struct drm_syncobj_handle args = { .handle = handle };
	int ret = drmIoctl(fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &args);

	if (!ret)
		*file = args.fd;
	return ret;
}

static inline int drmSyncobjFDToHandle(int fd, int file, uint32_t *handle)
{
	struct drm_syncobj_handle args = { .fd = file };
	int ret = drmIoctl(fd, DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, &args);

	if (!ret)
		*handle = args.handle;
	return ret;
}

static inline int drmSyncobjExportSyncFile(int fd, uint32_t handle, int *file)
{
	struct drm_syncobj_handle args = {
		.handle = handle,
		.flags = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE,
	};
	int ret = drmIoctl(fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &args);

	if (!ret)
		*file = args.fd;
	return ret;
}

static inline int drmSyncobjImportSyncFile(int fd, uint32_t handle, int file)
{
	struct drm_syncobj_handle args = {
		.handle = handle,
		.fd = file,
		.flags = DRM_SYNCOBJ_FD_TO_HANDLE_FLAGS_IMPORT_SYNC_FILE,
	};

	return drmIoctl(fd, DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, &args);
}

static inline int drmSyncobjWait(int fd, uint32_t *handles, unsigned int count, int64_t deadline,
				 unsigned int flags, uint32_t *first)
{
	struct drm_syncobj_wait args = {
		.handles = (uintptr_t)handles,
		.count_handles = count,
		.timeout_nsec = deadline,
		.flags = flags,
	};
	int ret = drmIoctl(fd, DRM_IOCTL_SYNCOBJ_WAIT, &args);

	if (first)
		*first = args.first_signaled;
	return ret;
}

static inline int drmSyncobjTimelineWait(int fd, uint32_t *handles, uint64_t *points,
					 unsigned int count, int64_t deadline, unsigned int flags,
					 uint32_t *first)
{
	struct drm_syncobj_timeline_wait args = {
		.handles = (uintptr_t)handles,
		.points = (uintptr_t)points,
		.count_handles = count,
		.timeout_nsec = deadline,
		.flags = flags,
	};
	int ret = drmIoctl(fd, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, &args);

	if (first)
		*first = args.first_signaled;
	return ret;
}

static inline int drmSyncobjQuery(int fd, uint32_t *handles, uint64_t *points, uint32_t count)
{
	struct drm_syncobj_timeline_array args = {
		.handles = (uintptr_t)handles,
		.points = (uintptr_t)points,
		.count_handles = count,
	};

	return drmIoctl(fd, DRM_IOCTL_SYNCOBJ_QUERY, &args);
}

static inline int drmSyncobjEventfd(int fd, uint32_t handle, uint64_t point, int event,
				    uint32_t flags)
{
	struct drm_syncobj_eventfd args = {
		.handle = handle,
		.flags = flags,
		.point = point,
		.fd = event,
	};

	return drmIoctl(fd, DRM_IOCTL_SYNCOBJ_EVENTFD, &args);
}

#endif
