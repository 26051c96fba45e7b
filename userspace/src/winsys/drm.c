// SPDX-License-Identifier: MIT
/*
 * The winsys of the kernel's driver: calls its ioctls for buffers, contexts and jobs through
 * libdrm. Each job signals a binary syncobj of its own, whose fence says whether the job succeeded;
 * the completion page has its cycles and counters, and the context's state has its fault. A wait
 * looks at the completion page for a short time before it sleeps. Buffers stay mapped as long as
 * they exist.
 */
#include "winsys/winsys.h"

#include <drm/onpu_accel.h>
#include <onpu/machines.h>
#include <onpu/registers.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/sync_file.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <xf86drm.h>

#include "util/alloc.h"
#include "util/malloc.h"
#include "util/number.h"
#include "winsys/drm_error.h"
#include "winsys/drm_node.h"
#include "winsys/drm_shares.h"

#define KEPT_JOBS 64u /* the last jobs of a context, which have syncobjs; older jobs have ended */

struct drm_winsys {
	struct winsys base;
	struct winsys_ops ops; /* drm_ops, but bo_sync and bo_wrap only if they are of use */
	int fd;
	struct drm_onpu_dev_info info;
	int64_t spin_ns; /* the time for which a wait looks at the completion page */
	struct drm_shares shares;
};

struct drm_bo {
	struct winsys_bo base;
	uint32_t handle;
	bool shared;   /* other buffers may have this handle, too: see drm_shares.h */
	bool imported; /* the buffer's memory and mapping belong to the caller */
};

struct winsys_ctx {
	struct drm_winsys *drm;
	uint32_t id;
	int64_t spin_ns; /* 0 when the context saves energy */
	const volatile struct onpu_completion *page;
	pthread_mutex_t lock;	     /* protects the members below */
	uint64_t submitted;	     /* number of the last job */
	uint32_t syncobj[KEPT_JOBS]; /* of job n at index n modulo KEPT_JOBS; 0: not created yet */
};

static struct drm_winsys *drm_of(struct winsys *ws)
{
	return (struct drm_winsys *)ws;
}

static int query(int fd, uint32_t type, void *answer, uint32_t size)
{
	struct drm_onpu_dev_query args = {
		.type = type,
		.size = size,
		.pointer = (uint64_t)(uintptr_t)answer,
	};

	return drmIoctl(fd, DRM_IOCTL_ONPU_DEV_QUERY, &args) ? -errno : 0;
}

/* ---- buffers */

static void close_handle(struct drm_winsys *drm, uint32_t handle)
{
	drmCloseBufferHandle(drm->fd, handle);
}

static int map_bo(struct drm_winsys *drm, struct drm_bo *bo)
{
	struct drm_onpu_bo_info info = { .handle = bo->handle };
	void *map;

	if (drmIoctl(drm->fd, DRM_IOCTL_ONPU_BO_INFO, &info))
		return -errno;
	map = mmap(NULL, info.size, PROT_READ | PROT_WRITE, MAP_SHARED, drm->fd,
		   (off_t)info.mmap_offset);
	if (map == MAP_FAILED)
		return -errno;
	bo->base.map = map;
	return 0;
}

static size_t mapped_bytes(const struct drm_winsys *drm, size_t size)
{
	return wnn_align_up(size, drm->info.page_size);
}

static struct winsys_bo *drm_bo_create(struct winsys *ws, size_t size, struct wnn_error *err)
{
	struct drm_winsys *drm = drm_of(ws);
	struct drm_onpu_bo_create create = { .size = size };
	struct drm_bo *bo = wnn_calloc(1, sizeof(*bo));
	int ret;

	if (!bo) {
		wnn_error_nomem(err, "a device buffer");
		return NULL;
	}
	ret = drmIoctl(drm->fd, DRM_IOCTL_ONPU_BO_CREATE, &create) ? -errno : 0;
	if (!ret) {
		bo->base = (struct winsys_bo){ .ws = ws, .va = create.va, .size = size };
		bo->handle = create.handle;
		ret = map_bo(drm, bo);
		if (!ret)
			return &bo->base;
		close_handle(drm, create.handle);
	}
	wnn_free(bo);
	if (ret == -ENODEV)
		drm_gone_error(err);
	else
		wnn_error_set(
			err, WNN_UNKNOWN_ERROR,
			"the driver gives no memory for a buffer of %zu bytes on the NPU: %s; use "
			"a smaller model, end other programs, or raise the limit (ulimit -v)",
			size, drm_bo_error(ret));
	return NULL;
}

/*
 * Makes a buffer of the pages in which memory lies. The memory must be mapped shared: the driver
 * refuses private mappings, and more memory than the user may lock; *out is NULL then, and the
 * caller copies the memory. Returns 0 or -1.
 */
static int drm_bo_wrap(struct winsys *ws, void *map, size_t size, bool writes,
		       struct winsys_bo **out, struct wnn_error *err)
{
	struct drm_winsys *drm = drm_of(ws);
	size_t offset = (uintptr_t)map % drm->info.page_size;
	struct drm_onpu_bo_wrap wrap = {
		.address = (uintptr_t)map - offset,
		.size = offset + size,
		.flags = writes ? 0 : DRM_ONPU_BO_DEVICE_RO,
	};
	struct drm_bo *bo;

	*out = NULL;
	if (!size || offset % WNN_ALIGNMENT || drmIoctl(drm->fd, DRM_IOCTL_ONPU_BO_WRAP, &wrap))
		return 0;
	bo = wnn_calloc(1, sizeof(*bo));
	if (!bo) {
		close_handle(drm, wrap.handle);
		return wnn_error_nomem(err, "a device buffer");
	}
	bo->base = (struct winsys_bo){ .ws = ws, .va = wrap.va + offset, .size = size, .map = map };
	bo->handle = wrap.handle;
	bo->imported = true;
	*out = &bo->base;
	return 0;
}

static void drm_bo_destroy(struct winsys_bo *base)
{
	struct drm_bo *bo = (struct drm_bo *)base;
	struct drm_winsys *drm;

	if (!bo)
		return;
	drm = drm_of(base->ws);
	if (!bo->imported)
		munmap(base->map, mapped_bytes(drm, base->size));
	if (bo->shared)
		drm_shares_put(&drm->shares, drm->fd, bo->handle);
	else
		close_handle(drm, bo->handle);
	wnn_free(bo);
}

/* Whether an import failed because the NPU is gone, and not because the dma-buf's device is. */
static bool is_gone(const struct drm_winsys *drm, int ret)
{
	struct drm_onpu_dev_info info;

	return ret == -ENODEV &&
	       query(drm->fd, DRM_ONPU_DEV_QUERY_INFO, &info, sizeof(info)) == -ENODEV;
}

static struct winsys_bo *drm_bo_import(struct winsys *ws, const struct wnn_dmabuf *buffer,
				       struct wnn_error *err)
{
	struct drm_winsys *drm = drm_of(ws);
	struct drm_onpu_bo_info info = { 0 };
	struct drm_bo *bo = wnn_calloc(1, sizeof(*bo));
	int ret;

	if (!bo) {
		wnn_error_nomem(err, "a device buffer");
		return NULL;
	}
	ret = drm_shares_import(&drm->shares, drm->fd, buffer->fd, &info.handle);
	if (!ret) {
		/* The ioctl gives the buffer its device address. */
		ret = drmIoctl(drm->fd, DRM_IOCTL_ONPU_BO_INFO, &info) ? -errno : 0;
		if (!ret) {
			bo->base = (struct winsys_bo){
				.ws = ws, .va = info.va, .size = buffer->size, .map = buffer->map
			};
			bo->handle = info.handle;
			bo->shared = bo->imported = true;
			return &bo->base;
		}
		drm_shares_put(&drm->shares, drm->fd, info.handle);
	}
	wnn_free(bo);
	if (is_gone(drm, ret))
		drm_gone_error(err);
	else
		wnn_error_set(
			err, WNN_UNKNOWN_ERROR,
			"the NPU cannot use the dma-buf of %zu bytes that a tensor was given: %s; "
			"release other tensors, or give the tensor another dma-buf, such as of "
			"udmabuf",
			buffer->size, drm_bo_error(ret));
	return NULL;
}

static int drm_bo_export(struct winsys_bo *base, struct wnn_error *err)
{
	struct drm_bo *bo = (struct drm_bo *)base;
	struct drm_winsys *drm = drm_of(base->ws);
	int fd = -1, ret = bo->shared ? 0 : drm_shares_add(&drm->shares, bo->handle);

	if (!ret) {
		bo->shared = true;
		if (!drmPrimeHandleToFD(drm->fd, bo->handle, DRM_CLOEXEC | DRM_RDWR, &fd))
			return fd;
		ret = -errno;
	}
	if (ret == -ENODEV)
		return drm_gone_error(err);
	wnn_error_set(
		err, WNN_UNKNOWN_ERROR,
		"the driver cannot make a dma-buf of a tensor on the NPU: %s; close files, or end "
		"other programs",
		strerror(-ret));
	return -1;
}

/*
 * Syncs a range of a buffer for the device or for the CPU. An error can be ignored: the process is
 * being killed, or the device was unplugged, which has synced all buffers.
 */
static void drm_bo_sync(struct winsys_bo *base, size_t offset, size_t size, bool for_device)
{
	struct drm_onpu_bo_sync sync = {
		.handle = ((struct drm_bo *)base)->handle,
		.flags = for_device ? DRM_ONPU_BO_SYNC_FOR_DEVICE : DRM_ONPU_BO_SYNC_FOR_CPU,
		.offset = offset,
		.size = size,
	};

	if (size)
		drmIoctl(drm_of(base->ws)->fd, DRM_IOCTL_ONPU_BO_SYNC, &sync);
}

/* ---- contexts */

static void drm_ctx_destroy(struct winsys_ctx *ctx)
{
	struct drm_onpu_ctx_destroy destroy;

	if (!ctx)
		return;
	destroy = (struct drm_onpu_ctx_destroy){ .ctx_id = ctx->id };
	drmIoctl(ctx->drm->fd, DRM_IOCTL_ONPU_CTX_DESTROY, &destroy);
	for (uint32_t i = 0; i < KEPT_JOBS; i++)
		if (ctx->syncobj[i])
			drmSyncobjDestroy(ctx->drm->fd, ctx->syncobj[i]);
	if (ctx->page)
		munmap((void *)ctx->page, ctx->drm->info.page_size);
	pthread_mutex_destroy(&ctx->lock);
	wnn_free(ctx);
}

static uint32_t power_of(enum winsys_power power)
{
	switch (power) {
	case WINSYS_POWER_LOW:
		return DRM_ONPU_POWER_LOW;
	case WINSYS_POWER_HIGH_PERFORMANCE:
		return DRM_ONPU_POWER_HIGH_PERFORMANCE;
	default:
		return DRM_ONPU_POWER_DEFAULT;
	}
}

static struct winsys_ctx *drm_ctx_create(struct winsys *ws, enum winsys_power power,
					 struct wnn_error *err)
{
	struct drm_winsys *drm = drm_of(ws);
	struct drm_onpu_ctx_create create = {
		.priority = DRM_ONPU_PRIORITY_NORMAL,
		.power = power_of(power),
	};
	struct winsys_ctx *ctx = wnn_calloc(1, sizeof(*ctx));
	void *page;

	if (!ctx) {
		wnn_error_nomem(err, "a device context");
		return NULL;
	}
	if (drmIoctl(drm->fd, DRM_IOCTL_ONPU_CTX_CREATE, &create)) {
		drm_ctx_error(&drm->info, errno, err);
		wnn_free(ctx);
		return NULL;
	}
	ctx->drm = drm;
	ctx->id = create.ctx_id;
	ctx->spin_ns = power == WINSYS_POWER_LOW ? 0 : drm->spin_ns;
	pthread_mutex_init(&ctx->lock, NULL);
	page = mmap(NULL, drm->info.page_size, PROT_READ, MAP_SHARED, drm->fd,
		    (off_t)create.completion_offset);
	if (page != MAP_FAILED) {
		ctx->page = page;
		return ctx;
	}
	if (errno == ENODEV)
		drm_gone_error(err);
	else
		wnn_error_set(
			err, WNN_UNKNOWN_ERROR,
			"the page in which the NPU reports the end of jobs cannot be mapped: %s; "
			"end other programs, or raise the limit of this process's addresses "
			"(ulimit -v) or mappings (sysctl vm.max_map_count)",
			strerror(errno));
	drm_ctx_destroy(ctx);
	return NULL;
}

/* ---- jobs */

/*
 * Sets *handle to the syncobj that job `seqno` will signal, and waits until the job that used it
 * before has ended. Returns 0 or a negative errno.
 */
static int take_syncobj(struct winsys_ctx *ctx, uint64_t seqno, uint32_t *handle)
{
	uint32_t *slot = &ctx->syncobj[seqno % KEPT_JOBS];
	int fd = ctx->drm->fd;

	if (!*slot && drmSyncobjCreate(fd, 0, slot))
		return -errno;
	*handle = *slot;
	if (seqno <= KEPT_JOBS)
		return 0;
	return drmSyncobjWait(fd, slot, 1, INT64_MAX, 0, NULL) ? -errno : 0;
}

static struct drm_onpu_job job_of(const struct winsys_job *job, const struct drm_onpu_sync *syncs,
				  uint32_t count)
{
	return (struct drm_onpu_job){
		.program_va = job->program_va,
		.slots_va = job->slots_va,
		.instr_count = job->num_insns,
		.slot_count = job->num_slots,
		.profile_va = job->profile_va,
		.profile_size = (uint32_t)job->profile_size,
		.cycle_limit = job->cycle_limit,
		.syncs = DRM_ONPU_OBJ_ARRAY(count, syncs),
	};
}

/* Creates a syncobj with the fence of a sync file. Returns 0 or a negative errno. */
static int import_fence(int fd, int sync_file, uint32_t *handle)
{
	int ret;

	if (drmSyncobjCreate(fd, 0, handle))
		return -errno;
	if (!drmSyncobjImportSyncFile(fd, *handle, sync_file))
		return 0;
	ret = -errno;
	drmSyncobjDestroy(fd, *handle);
	*handle = 0;
	return ret;
}

/* The syncobjs of a job: first the syncobj that it signals, then the one that it waits for. */
struct job_syncs {
	struct drm_onpu_sync list[2];
	uint32_t count;
};

static int make_syncs(struct winsys_ctx *ctx, const struct winsys_job *job, uint64_t seqno,
		      struct job_syncs *syncs)
{
	int ret;

	syncs->count = 1;
	syncs->list[0] = (struct drm_onpu_sync){ .flags = DRM_ONPU_SYNC_SIGNAL };
	ret = take_syncobj(ctx, seqno, &syncs->list[0].handle);
	if (ret || !job->wait_file)
		return ret;
	syncs->list[1] = (struct drm_onpu_sync){ .flags = DRM_ONPU_SYNC_WAIT };
	ret = import_fence(ctx->drm->fd, job->wait_file, &syncs->list[1].handle);
	syncs->count = ret ? 1 : 2;
	return ret;
}

/* Submits jobs, with the context's lock held. Returns 0 or a negative errno. */
static int submit_part(struct winsys_ctx *ctx, const struct winsys_job *jobs, uint32_t count)
{
	struct job_syncs syncs[KEPT_JOBS];
	struct drm_onpu_job list[KEPT_JOBS];
	struct drm_onpu_submit submit = {
		.ctx_id = ctx->id,
		.jobs = DRM_ONPU_OBJ_ARRAY(count, list),
	};
	uint32_t made = 0;
	int ret = 0;

	for (; made < count && !ret; made++) {
		ret = make_syncs(ctx, &jobs[made], ctx->submitted + 1 + made, &syncs[made]);
		list[made] = job_of(&jobs[made], syncs[made].list, syncs[made].count);
	}
	if (!ret && drmIoctl(ctx->drm->fd, DRM_IOCTL_ONPU_SUBMIT, &submit))
		ret = -errno;
	/* The kernel holds the fences now: the syncobjs that jobs wait for are not needed. */
	while (made--)
		if (syncs[made].count > 1)
			drmSyncobjDestroy(ctx->drm->fd, syncs[made].list[1].handle);
	if (!ret)
		ctx->submitted = submit.seqno;
	return ret;
}

static int drm_submit(struct winsys_ctx *ctx, const struct winsys_job *jobs, uint32_t count,
		      uint64_t *seqno, struct wnn_error *err)
{
	const struct drm_onpu_dev_info *info = &ctx->drm->info;
	uint32_t most = KEPT_JOBS;
	int ret;

	most = info->max_jobs < most ? info->max_jobs : most;
	most = info->max_syncs / 2 < most ? info->max_syncs / 2 : most;
	if (!count || count > most)
		return wnn_error_set(
			err, WNN_OPERATION_ERROR,
			"internal error, please report it: %u jobs at once, the NPU takes 1 to %u",
			count, most);
	pthread_mutex_lock(&ctx->lock);
	ret = submit_part(ctx, jobs, count);
	*seqno = ctx->submitted;
	pthread_mutex_unlock(&ctx->lock);
	return ret ? drm_submit_error(&ctx->drm->info, -ret, err) : 0;
}

/*
 * Adds cycles and counters of a job to *result, unless the completion page has those of a later job
 * already.
 */
static void read_figures(const struct winsys_ctx *ctx, uint64_t seqno, struct winsys_result *result)
{
	const volatile struct onpu_job_counters *counters =
		(const volatile void *)((const volatile char *)ctx->page +
					ONPU_COMPLETION_COUNTERS);
	struct winsys_result got = *result;

	if (__atomic_load_n(&ctx->page->seqno, __ATOMIC_ACQUIRE) != seqno)
		return;
	got.cycles = ctx->page->cycles;
	for (int i = 0; i < ONPU_ENG_COUNT; i++)
		got.busy[i] = counters->busy[i];
	got.macs = counters->macs;
	got.bytes_ld = counters->bytes_ld;
	got.bytes_st = counters->bytes_st;
	got.has_counters = true;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	/*
	 * The device changes counters->seqno first: while it is the job's number, all figures are
	 * the job's.
	 */
	if (counters->seqno == seqno)
		*result = got;
}

static int read_fault(const struct winsys_ctx *ctx, int why, struct winsys_result *result,
		      struct wnn_error *err)
{
	struct drm_onpu_ctx_get_state state = { .ctx_id = ctx->id };
	const struct drm_onpu_fault *fault = &state.fault;

	if (drmIoctl(ctx->drm->fd, DRM_IOCTL_ONPU_CTX_GET_STATE, &state)) {
		if (errno == ENODEV)
			return drm_gone_error(err);
		return wnn_error_set(
			err, WNN_UNKNOWN_ERROR,
			"a job of the NPU failed, and the driver does not tell why (%s); look for "
			"the reason with onpu-smi dump, and in the kernel's log",
			strerror(errno));
	}
	if (fault->code) {
		result->fault_code = fault->code;
		result->fault_engine = fault->engine;
		result->fault_operand = fault->operand;
		result->fault_pc = fault->pc;
		result->fault_address = fault->address;
		return 0;
	}
	/* No fence has these errors: the status of the fence could not be read. */
	if (why == EMFILE || why == ENFILE || why == ENOMEM)
		return wnn_error_set(
			err, WNN_UNKNOWN_ERROR,
			"the kernel does not tell how a job of the NPU ended: %s; close files "
			"(ulimit -n) or end other programs, and make a new context",
			strerror(why));
	if (why != ETIME)
		return wnn_error_set(
			err, WNN_UNKNOWN_ERROR,
			"a job of the NPU failed: %s; look for the reason in the kernel's log, "
			"with dmesg",
			strerror(why));
	/* The driver ended the job because it made no progress: the device has no fault record. */
	result->fault_code = ONPU_FAULT_TIMEOUT;
	result->fault_engine = ONPU_ENG_COUNT;
	result->fault_operand = ONPU_OPERAND_NONE;
	return 0;
}

/*
 * Returns 1 if the fence of a syncobj signalled without error; a negative errno: with this error,
 * or the status cannot be read.
 */
static int fence_status(int fd, uint32_t syncobj)
{
	struct sync_file_info info = { .num_fences = 0 };
	int file, ret;

	if (drmSyncobjExportSyncFile(fd, syncobj, &file))
		return -errno;
	ret = drmIoctl(file, SYNC_IOC_FILE_INFO, &info) ? -errno : info.status;
	close(file);
	return ret;
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t deadline_of(uint64_t timeout_ns)
{
	int64_t ns = now_ns();

	return timeout_ns > (uint64_t)(INT64_MAX - ns) ? INT64_MAX : ns + (int64_t)timeout_ns;
}

/*
 * Looks at the completion page for a short time, until it shows a job as ended. Returns whether the
 * job has succeeded, as the driver confirms; false also when a wait has to tell.
 */
static bool ends_soon(const struct winsys_ctx *ctx, uint64_t seqno, int64_t deadline)
{
	struct drm_onpu_ctx_get_state state = { .ctx_id = ctx->id };
	int64_t until = ctx->spin_ns ? now_ns() + ctx->spin_ns : 0;

	if (!until)
		return false;
	until = until < deadline ? until : deadline;
	while (__atomic_load_n(&ctx->page->seqno, __ATOMIC_ACQUIRE) < seqno)
		if (now_ns() >= until)
			return false;
	/* In this state each job that has ended has succeeded. */
	return !drmIoctl(ctx->drm->fd, DRM_IOCTL_ONPU_CTX_GET_STATE, &state) &&
	       state.state == DRM_ONPU_CTX_ACTIVE && state.completed >= seqno;
}

static int drm_wait(struct winsys_ctx *ctx, uint64_t seqno, uint64_t timeout_ns,
		    struct winsys_result *result, struct wnn_error *err)
{
	int64_t deadline = deadline_of(timeout_ns);
	uint64_t submitted;
	uint32_t syncobj;
	int ret;

	memset(result, 0, sizeof(*result));
	pthread_mutex_lock(&ctx->lock);
	submitted = ctx->submitted;
	syncobj = ctx->syncobj[seqno % KEPT_JOBS];
	pthread_mutex_unlock(&ctx->lock);
	if (!seqno || seqno > submitted)
		return wnn_error_set(
			err, WNN_OPERATION_ERROR,
			"internal error, please report it: no job has the number %" PRIu64, seqno);
	if (submitted - seqno >= KEPT_JOBS)
		return 0;
	if (ends_soon(ctx, seqno, deadline)) {
		read_figures(ctx, seqno, result);
		return 0;
	}
	ret = drmSyncobjWait(ctx->drm->fd, &syncobj, 1, deadline, 0, NULL);
	if (ret == -ETIME)
		return wnn_error_set(
			err, WNN_OPERATION_ERROR,
			"internal error, please report it: a job of the NPU did not end within %g "
			"seconds",
			(double)timeout_ns / 1e9);
	if (ret == -ENODEV)
		return drm_gone_error(err);
	if (ret)
		return wnn_error_set(
			err, WNN_UNKNOWN_ERROR,
			"the kernel cannot wait for a job of the NPU: %s; make a new context",
			strerror(-ret));
	ret = fence_status(ctx->drm->fd, syncobj);
	if (ret == -ENODEV)
		return drm_gone_error(err);
	result->cancelled = ret == -ECANCELED;
	if (ret < 0 && !result->cancelled)
		return read_fault(ctx, -ret, result, err);
	read_figures(ctx, seqno, result);
	return 0;
}

/* ---- fences */

/* Makes a sync file of a fence that has signalled already. Returns 0 or a negative errno. */
static int signalled_file(int fd, int *file)
{
	uint32_t handle = 0;
	int ret;

	if (drmSyncobjCreate(fd, DRM_SYNCOBJ_CREATE_SIGNALED, &handle))
		return -errno;
	ret = drmSyncobjExportSyncFile(fd, handle, file) ? -errno : 0;
	drmSyncobjDestroy(fd, handle);
	return ret;
}

static int drm_fence(struct winsys_ctx *ctx, uint64_t seqno, struct wnn_error *err)
{
	int fd = ctx->drm->fd, file = -1, ret;

	pthread_mutex_lock(&ctx->lock);
	/* An older job has ended, so that any signalled fence will do. */
	if (seqno && ctx->submitted - seqno < KEPT_JOBS)
		ret = drmSyncobjExportSyncFile(fd, ctx->syncobj[seqno % KEPT_JOBS], &file) ?
			      -errno :
			      0;
	else
		ret = signalled_file(fd, &file);
	pthread_mutex_unlock(&ctx->lock);
	if (!ret)
		return file;
	if (ret == -ENODEV)
		return drm_gone_error(err);
	wnn_error_set(
		err, WNN_UNKNOWN_ERROR,
		"the driver cannot make a sync file for a job of the NPU: %s; close files, or end "
		"other programs",
		strerror(-ret));
	return -1;
}

/* ---- the winsys */

static void drm_destroy(struct winsys *ws)
{
	drm_shares_exit(&drm_of(ws)->shares);
	close(drm_of(ws)->fd);
	wnn_free(ws);
}

static const struct winsys_ops drm_ops = {
	.destroy = drm_destroy,
	.bo_create = drm_bo_create,
	.bo_wrap = drm_bo_wrap,
	.bo_import = drm_bo_import,
	.bo_export = drm_bo_export,
	.bo_destroy = drm_bo_destroy,
	.bo_sync = drm_bo_sync,
	.ctx_create = drm_ctx_create,
	.ctx_destroy = drm_ctx_destroy,
	.submit = drm_submit,
	.wait = drm_wait,
	.fence = drm_fence,
};

static int read_caps(int fd, struct npu_caps *caps)
{
	struct drm_onpu_caps answer = { .machine = 0 };
	int ret = query(fd, DRM_ONPU_DEV_QUERY_CAPS, &answer, sizeof(answer));

	if (ret)
		return ret;
	*caps = (struct npu_caps){
		.sram_bytes = answer.sram_bytes,
		.lanes = answer.lanes,
		.mxu_rows = answer.mxu_rows,
		.mxu_cols = answer.mxu_cols,
		.features = answer.features,
		.fifo_depth = answer.fifo_depth,
		.dma_bytes_per_cycle = answer.dma_bytes,
		.num_queues = answer.num_queues,
		.clock_khz = answer.clock_khz,
		.isa_major = answer.isa >> ONPU_CAP_ISA_MAJOR__SHIFT,
	};
	snprintf(caps->machine, sizeof(caps->machine), "%s", onpu_machine_name(answer.machine));
	return 0;
}

struct winsys *winsys_drm_create(const char *node, uint32_t spin, struct wnn_error *err)
{
	struct drm_winsys *drm = wnn_calloc(1, sizeof(*drm));
	int ret;

	if (!drm) {
		wnn_error_nomem(err, "the NPU");
		return NULL;
	}
	drm_shares_init(&drm->shares);
	drm->ops = drm_ops;
	drm->base.ops = &drm->ops;
	drm->base.name = "drm";
	drm->fd = drm_node_find(node, drm->base.node, err);
	if (drm->fd < 0) {
		drm_shares_exit(&drm->shares);
		wnn_free(drm);
		return NULL;
	}
	ret = query(drm->fd, DRM_ONPU_DEV_QUERY_INFO, &drm->info, sizeof(drm->info));
	if (!ret)
		ret = read_caps(drm->fd, &drm->base.caps);
	if (drm->info.features & DRM_ONPU_FEATURE_COHERENT)
		drm->ops.bo_sync = NULL;
	/*
	 * A sync works on whole pages, parts of which the application may be writing, so only
	 * coherent devices use memory of the application. Older drivers cannot wrap memory.
	 */
	if (drm->ops.bo_sync || drm->info.interface_minor < 4)
		drm->ops.bo_wrap = NULL;
	/* Older drivers do not confirm what the completion page shows. */
	if (drm->info.interface_minor >= 5)
		drm->spin_ns = (int64_t)spin * 1000;
	if (!ret)
		return &drm->base;
	if (ret == -ENODEV)
		drm_gone_error(err);
	else
		wnn_error_set(
			err, WNN_UNKNOWN_ERROR,
			"the driver does not tell the properties of the NPU: %s; install onpu-dkms "
			"and libwebnn-npu1 of one release",
			strerror(-ret));
	drm_destroy(&drm->base);
	return NULL;
}
