// SPDX-License-Identifier: MIT
/* Answers the calls of the winsys "drm" in place of the kernel; see kernel.h. */
#include "kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <linux/sync_file.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <onpu/registers.h>
#include <xf86drm.h>

#define VA_FIRST (UINT64_C(1) << 32)

struct kernel kernel = { .lock = PTHREAD_MUTEX_INITIALIZER, .gone = PTHREAD_COND_INITIALIZER };

static uint64_t take(uint64_t size)
{
	uint64_t offset = kernel.used;

	size = (size + PAGE - 1) / PAGE * PAGE;
	if (size > MEMORY - offset)
		return UINT64_MAX;
	kernel.used += size;
	return offset;
}

static int query(const struct drm_onpu_dev_query *args)
{
	const struct drm_onpu_dev_info info = {
		.interface_major = DRM_ONPU_DRIVER_MAJOR,
		.interface_minor = kernel.minor,
		.features = kernel.features,
		.va_start = VA_FIRST,
		.va_end = VA_FIRST + MEMORY,
		.memory_limit = MEMORY,
		.page_size = PAGE,
		.max_contexts = MAX_CONTEXTS,
		.max_jobs = 64,
		.max_syncs = 128,
		.max_queued_jobs = 1024,
	};
	static const struct {
		uint32_t reg, value;
	} caps[] = {
		{ ONPU_REG_CAP_MACHINE, ONPU_CAP_MACHINE__RESET },
		{ ONPU_REG_CAP_ISA, ONPU_CAP_ISA__RESET },
		{ ONPU_REG_CAP_SRAM_BYTES, ONPU_CAP_SRAM_BYTES__RESET },
		{ ONPU_REG_CAP_LANES, ONPU_CAP_LANES__RESET },
		{ ONPU_REG_CAP_MXU_ROWS, ONPU_CAP_MXU_ROWS__RESET },
		{ ONPU_REG_CAP_MXU_COLS, ONPU_CAP_MXU_COLS__RESET },
		{ ONPU_REG_CAP_FIFO_DEPTH, ONPU_CAP_FIFO_DEPTH__RESET },
		{ ONPU_REG_CAP_DMA_BYTES, ONPU_CAP_DMA_BYTES__RESET },
		{ ONPU_REG_CAP_NUM_QUEUES, ONPU_CAP_NUM_QUEUES__RESET },
		{ ONPU_REG_CAP_CLOCK_KHZ, ONPU_CAP_CLOCK_KHZ__RESET },
	};
	void *answer = (void *)(uintptr_t)args->pointer;

	if (args->type == DRM_ONPU_DEV_QUERY_INFO) {
		memcpy(answer, &info, args->size < sizeof(info) ? args->size : sizeof(info));
		return 0;
	}
	if (args->type != DRM_ONPU_DEV_QUERY_CAPS)
		return EINVAL;
	for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++) {
		uint32_t at = (caps[i].reg - ONPU_REG_CAP_MACHINE) / 4;

		if (at < args->size / 4)
			((uint32_t *)answer)[at] = caps[i].value;
	}
	return 0;
}

static int create_bo(struct drm_onpu_bo_create *args)
{
	uint64_t offset = take(args->size);

	if (offset == UINT64_MAX || kernel.num_bos + 1 == MAX_BOS)
		return ENOMEM;
	args->handle = ++kernel.num_bos;
	args->va = VA_FIRST + offset;
	kernel.bos[args->handle].offset = offset;
	kernel.bos[args->handle].size = args->size;
	return 0;
}

static int bo_info(struct drm_onpu_bo_info *args)
{
	if (!args->handle || args->handle > kernel.num_bos)
		return ENOENT;
	args->size = kernel.bos[args->handle].size;
	args->mmap_offset = kernel.bos[args->handle].offset;
	args->va = VA_FIRST + args->mmap_offset;
	return 0;
}

/* Makes memory of the application a buffer with a handle and an address. Returns 0 or an errno. */
static int wrap_bo(struct drm_onpu_bo_wrap *args)
{
	kernel.wraps++;
	if (kernel.refuses)
		return kernel.refuses;
	if (args->handle || args->va || args->address % PAGE)
		return EINVAL;
	args->handle = MAX_BOS + kernel.wraps;
	args->va = VA_FIRST + MEMORY;
	kernel.wrapped = *args;
	return 0;
}

static int sync_bo(const struct drm_onpu_bo_sync *args)
{
	if (!args->handle || args->handle > kernel.num_bos)
		return ENOENT;
	if (!args->size || args->offset > kernel.bos[args->handle].size ||
	    args->size > kernel.bos[args->handle].size - args->offset)
		return EINVAL;
	kernel.syncs[args->flags == DRM_ONPU_BO_SYNC_FOR_CPU]++;
	return 0;
}

static int create_ctx(struct drm_onpu_ctx_create *args)
{
	if (kernel.no_context)
		return kernel.no_context;
	if (kernel.num_contexts == MAX_CONTEXTS)
		return ENOSPC;
	kernel.powers[kernel.num_contexts] = args->power;
	args->ctx_id = ++kernel.num_contexts;
	args->completion_offset = kernel.page = take(PAGE);
	kernel.seqno = 0;
	return 0;
}

static int ctx_state(struct drm_onpu_ctx_get_state *args)
{
	args->fault.code = kernel.no_record ? 0 : DRM_ONPU_FAULT_BOUNDS;
	args->state = kernel.ends_with ? DRM_ONPU_CTX_FAULT : DRM_ONPU_CTX_ACTIVE;
	args->completed = kernel.shows && !kernel.resets ? kernel.seqno : 0;
	return 0;
}

static int submit(struct drm_onpu_submit *args)
{
	args->seqno = kernel.seqno += args->jobs.count;
	if (!kernel.shows)
		return 0;
	return pwrite(kernel.memory, &kernel.seqno, sizeof(kernel.seqno), (off_t)kernel.page) < 0 ?
		       errno :
		       0;
}

static int sync_file_info(struct sync_file_info *args)
{
	args->status = kernel.ends_with ? kernel.ends_with : 1;
	kernel.ends_with = 0;
	return 0;
}

static int answer(unsigned long request, void *args)
{
	int why;

	switch (request) {
	case DRM_IOCTL_ONPU_DEV_QUERY:
		return query(args);
	case DRM_IOCTL_ONPU_BO_CREATE:
		return create_bo(args);
	case DRM_IOCTL_ONPU_BO_INFO:
		return bo_info(args);
	case DRM_IOCTL_ONPU_BO_WRAP:
		return wrap_bo(args);
	case DRM_IOCTL_ONPU_BO_SYNC:
		why = sync_bo(args);
		kernel.unknown += why != 0;
		return why;
	case DRM_IOCTL_ONPU_CTX_CREATE:
		return create_ctx(args);
	case DRM_IOCTL_ONPU_CTX_DESTROY:
		kernel.destroyed++;
		pthread_cond_broadcast(&kernel.gone);
		return 0;
	case DRM_IOCTL_ONPU_CTX_GET_STATE:
		return ctx_state(args);
	case DRM_IOCTL_ONPU_SUBMIT:
		return submit(args);
	case SYNC_IOC_FILE_INFO:
		return sync_file_info(args);
	default:
		kernel.unknown++;
		return EINVAL;
	}
}

/* The linker calls these in place of libdrm's functions and ioctl(); no header declares them. */
int __real_ioctl(int fd, unsigned long request, void *args);
int __wrap_ioctl(int fd, unsigned long request, void *args);
int __wrap_drmIoctl(int fd, unsigned long request, void *args);
drmVersionPtr __wrap_drmGetVersion(int fd);
void __wrap_drmFreeVersion(drmVersionPtr version);
int __wrap_drmCloseBufferHandle(int fd, uint32_t handle);
int __wrap_drmSyncobjCreate(int fd, uint32_t flags, uint32_t *handle);
int __wrap_drmSyncobjDestroy(int fd, uint32_t handle);
int __wrap_drmSyncobjWait(int fd, uint32_t *handles, unsigned int count, int64_t timeout_ns,
			  unsigned int flags, uint32_t *first);
int __wrap_drmSyncobjExportSyncFile(int fd, uint32_t handle, int *file);

/* Answers DMA_BUF_IOCTL_SYNC for any file, so that the library takes each for a dma-buf. */
int __wrap_ioctl(int fd, unsigned long request, void *args)
{
	return request == DMA_BUF_IOCTL_SYNC ? 0 : __real_ioctl(fd, request, args);
}

int __wrap_drmIoctl(int fd, unsigned long request, void *args)
{
	int why;

	(void)fd;
	pthread_mutex_lock(&kernel.lock);
	why = answer(request, args);
	pthread_mutex_unlock(&kernel.lock);
	errno = why;
	return why ? -1 : 0;
}

drmVersionPtr __wrap_drmGetVersion(int fd)
{
	static char name[] = "onpu";
	drmVersionPtr version = calloc(1, sizeof(*version));

	(void)fd;
	version->name = name;
	version->version_major = DRM_ONPU_DRIVER_MAJOR;
	return version;
}

void __wrap_drmFreeVersion(drmVersionPtr version)
{
	free(version);
}

int __wrap_drmCloseBufferHandle(int fd, uint32_t handle)
{
	(void)fd;
	pthread_mutex_lock(&kernel.lock);
	if (handle == kernel.wrapped.handle)
		kernel.wrapped.handle = 0;
	pthread_mutex_unlock(&kernel.lock);
	return 0;
}

int __wrap_drmSyncobjCreate(int fd, uint32_t flags, uint32_t *handle)
{
	(void)fd;
	(void)flags;
	pthread_mutex_lock(&kernel.lock);
	*handle = ++kernel.syncobjs;
	pthread_mutex_unlock(&kernel.lock);
	return 0;
}

int __wrap_drmSyncobjDestroy(int fd, uint32_t handle)
{
	(void)fd;
	(void)handle;
	return 0;
}

int __wrap_drmSyncobjWait(int fd, uint32_t *handles, unsigned int count, int64_t timeout_ns,
			  unsigned int flags, uint32_t *first)
{
	int why;

	(void)fd;
	(void)handles;
	(void)count;
	(void)timeout_ns;
	(void)flags;
	(void)first;
	pthread_mutex_lock(&kernel.lock);
	kernel.waits++;
	why = kernel.no_wait;
	pthread_mutex_unlock(&kernel.lock);
	return -why;
}

int __wrap_drmSyncobjExportSyncFile(int fd, uint32_t handle, int *file)
{
	int why;

	(void)fd;
	(void)handle;
	pthread_mutex_lock(&kernel.lock);
	why = kernel.no_file;
	pthread_mutex_unlock(&kernel.lock);
	if (why) {
		errno = why;
		return -1;
	}
	*file = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return *file < 0 ? -1 : 0;
}
