// SPDX-License-Identifier: MIT
/*
 * Tests the calls of the winsys "drm" to the kernel: the linker redirects libdrm's functions to
 * this file (--wrap), and the device node is a file in memory, from which all buffers are mapped.
 * Jobs compute nothing.
 */
#include "../api/fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <linux/sync_file.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <drm/onpu_accel.h>
#include <onpu/registers.h>
#include <xf86drm.h>

#include "util/dmabuf.h"

#define PAGE	     UINT64_C(4096)
#define MEMORY	     (UINT64_C(256) << 20)
#define VA_FIRST     (UINT64_C(1) << 32)
#define MAX_BOS	     256u
#define MAX_CONTEXTS 4u

/* The state of the replaced kernel: what the library has asked for, and which calls must fail. */
static struct kernel {
	pthread_mutex_t lock;
	pthread_cond_t gone; /* signalled when a context is destroyed */
	int memory;	     /* the file that replaces the device node */
	struct {
		uint64_t offset, size;
	} bos[MAX_BOS]; /* indexed by handle */
	uint32_t num_bos, syncobjs;
	uint64_t used; /* bytes of memory in use */
	uint32_t powers[MAX_CONTEXTS], num_contexts, destroyed;
	uint64_t seqno; /* number of the newest context's last job; only that context has jobs */
	uint64_t page;	/* offset of the newest context's completion page in the file */
	bool shows;	/* the completion page shows each job as ended at once */
	bool resets;	/* the driver does not look at the page, as in a reset */
	uint32_t waits; /* calls that wait for a syncobj */
	int no_wait;	/* error of these calls; 0: they succeed */
	int no_file;	/* error of calls that export a sync file; 0: they succeed */
	int ends_with;	/* error of the next job; 0: it succeeds */
	bool no_record; /* the device has recorded no fault */
	int unknown;	/* number of unexpected calls */
	uint32_t features;
	/* numbers of syncs for the device (0) and for the processor (1) */
	uint32_t syncs[2];
	uint32_t minor;			 /* minor version of the interface */
	int refuses;			 /* error of BO_WRAP; 0: it succeeds */
	int no_context;			 /* error of CTX_CREATE; 0: it succeeds */
	uint32_t wraps;			 /* calls of BO_WRAP */
	struct drm_onpu_bo_wrap wrapped; /* the last buffer of BO_WRAP; handle 0: it is closed */
} kernel = { .lock = PTHREAD_MUTEX_INITIALIZER, .gone = PTHREAD_COND_INITIALIZER };

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

static WNNStatus try_open(WNNInstance instance, WNNPowerPreference preference, WNNContext *context)
{
	WNNContextDeviceOptions device = WNN_CONTEXT_DEVICE_OPTIONS_INIT;
	WNNContextOptions options = WNN_CONTEXT_OPTIONS_INIT;
	char node[32];

	snprintf(node, sizeof(node), "/proc/self/fd/%d", kernel.memory);
	device.nodePath = WNN_STR(node);
	device.placementPolicy = WNNPlacementPolicy_NPUOnly;
	options.nextInChain = &device.chain;
	options.powerPreference = preference;
	return wnnInstanceCreateContextSync(instance, &options, GENEROUS, context);
}

static WNNContext open_with_power(WNNInstance instance, WNNPowerPreference preference)
{
	WNNContext context = NULL;

	assert_ok(try_open(instance, preference, &context));
	return context;
}

/* Checks that the library has created @contexts contexts, all with the power preference @power. */
static void assert_powers(uint32_t contexts, uint32_t power)
{
	uint32_t powers[MAX_CONTEXTS], count;

	/* A failing check leaves the function, and must not keep the lock. */
	pthread_mutex_lock(&kernel.lock);
	count = kernel.num_contexts;
	memcpy(powers, kernel.powers, sizeof(powers));
	pthread_mutex_unlock(&kernel.lock);
	assert_int_equal(count, contexts);
	for (uint32_t i = 0; i < contexts; i++)
		assert_int_equal(powers[i], power);
}

static int forget_contexts(void **state)
{
	(void)state;
	pthread_mutex_lock(&kernel.lock);
	kernel.num_contexts = kernel.destroyed = 0;
	kernel.ends_with = 0;
	kernel.features = DRM_ONPU_FEATURE_COHERENT;
	memset(kernel.syncs, 0, sizeof(kernel.syncs));
	kernel.minor = DRM_ONPU_DRIVER_MINOR;
	kernel.wraps = 0;
	kernel.refuses = 0;
	kernel.no_context = 0;
	kernel.no_record = false;
	kernel.shows = false;
	kernel.resets = false;
	kernel.waits = 0;
	kernel.no_wait = 0;
	kernel.no_file = 0;
	pthread_mutex_unlock(&kernel.lock);
	return 0;
}

/*
 * Waits until the library's thread has destroyed all contexts of the device, and checks that no
 * call was unexpected.
 */
static void wait_for_the_end(void)
{
	int unknown;

	pthread_mutex_lock(&kernel.lock);
	while (kernel.destroyed < kernel.num_contexts)
		pthread_cond_wait(&kernel.gone, &kernel.lock);
	unknown = kernel.unknown;
	pthread_mutex_unlock(&kernel.lock);
	assert_int_equal(unknown, 0);
}

/* Makes the next job end with this error. */
static void end_with(int error)
{
	pthread_mutex_lock(&kernel.lock);
	kernel.ends_with = error;
	pthread_mutex_unlock(&kernel.lock);
}

static void release_all(WNNInstance instance, WNNContext context, WNNGraph graph, WNNTensor x,
			WNNTensor y)
{
	wnnTensorRelease(x);
	wnnTensorRelease(y);
	wnnGraphRelease(graph);
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
	wait_for_the_end();
}

static void check_power(WNNPowerPreference preference, uint32_t power)
{
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContext context = open_with_power(instance, preference);
	WNNTensor x, y;
	WNNGraph graph;

	assert_powers(1, power);
	graph = build_add_relu(context, 4, 4);
	x = make_tensor(context, 4, 4);
	y = make_tensor(context, 4, 4);
	assert_ok(dispatch_xy(context, graph, x, y));
	assert_ok(wnnContextWaitIdle(context, GENEROUS));
	assert_powers(1, power);
	/* Another client causes a reset: the job runs again in a new context. */
	end_with(-ECANCELED);
	assert_ok(dispatch_xy(context, graph, x, y));
	assert_ok(wnnContextWaitIdle(context, GENEROUS));
	assert_powers(2, power);
	/* A fault ends the context; later jobs use another one. */
	end_with(-EIO);
	assert_ok(dispatch_xy(context, graph, x, y));
	assert_failed(wnnContextWaitIdle(context, GENEROUS), WNNStatus_OperationError,
		      "the NPU stopped with fault BOUNDS");
	assert_powers(3, power);
	release_all(instance, context, graph, x, y);
}

/* Tests the error of a job that the driver ends because it takes too long. */
static void a_job_without_progress(void **state)
{
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContext context = open_with_power(instance, WNNPowerPreference_Default);
	WNNTensor x = make_tensor(context, 4, 4), y = make_tensor(context, 4, 4);
	WNNGraph graph = build_add_relu(context, 4, 4);

	(void)state;
	kernel.no_record = true;
	end_with(-ETIME);
	assert_ok(dispatch_xy(context, graph, x, y));
	assert_failed(wnnContextWaitIdle(context, GENEROUS), WNNStatus_OperationError,
		      "a job of the NPU made no progress, or took longer than allowed");
	release_all(instance, context, graph, x, y);
}

/*
 * Checks the error with which the context is lost when the call that waits for a job fails (@wait),
 * or the one that exports the job's fence (@file).
 */
static void check_no_end(int wait, int file, const char *message)
{
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContext context = open_with_power(instance, WNNPowerPreference_Default);
	WNNTensor x = make_tensor(context, 4, 4), y = make_tensor(context, 4, 4);
	WNNGraph graph = build_add_relu(context, 4, 4);

	pthread_mutex_lock(&kernel.lock);
	kernel.no_wait = wait;
	kernel.no_file = file;
	/* Without an error the state of the context has no fault. */
	kernel.no_record = true;
	pthread_mutex_unlock(&kernel.lock);
	assert_ok(dispatch_xy(context, graph, x, y));
	assert_failed(wnnContextWaitIdle(context, GENEROUS), WNNStatus_InvalidStateError, message);
	release_all(instance, context, graph, x, y);
}

static void a_wait_that_fails(void **state)
{
	(void)state;
	check_no_end(ENOMEM, 0,
		     "the kernel cannot wait for a job of the NPU: Cannot allocate memory");
}

/* Tests the error when the NPU has been removed before the library waits for a job. */
static void a_wait_without_a_device(void **state)
{
	(void)state;
	check_no_end(ENODEV, 0, "the NPU is gone: it was removed");
}

static void a_job_whose_end_is_not_told(void **state)
{
	(void)state;
	check_no_end(0, EMFILE,
		     "the kernel does not tell how a job of the NPU ended: Too many open files");
}

static void no_preference(void **state)
{
	(void)state;
	check_power(WNNPowerPreference_Default, DRM_ONPU_POWER_DEFAULT);
}

static void no_value(void **state)
{
	(void)state;
	check_power(WNNPowerPreference_Undefined, DRM_ONPU_POWER_DEFAULT);
}

static void low_power(void **state)
{
	(void)state;
	check_power(WNNPowerPreference_LowPower, DRM_ONPU_POWER_LOW);
}

static void high_performance(void **state)
{
	(void)state;
	check_power(WNNPowerPreference_HighPerformance, DRM_ONPU_POWER_HIGH_PERFORMANCE);
}

/* Returns the number of syncs for the processor (@for_cpu) or the device, and sets it to 0. */
static uint32_t take_syncs(bool for_cpu)
{
	uint32_t count;

	pthread_mutex_lock(&kernel.lock);
	count = kernel.syncs[for_cpu];
	kernel.syncs[for_cpu] = 0;
	pthread_mutex_unlock(&kernel.lock);
	return count;
}

/*
 * Checks that memory is synced before a job if the processor has written it, and after the job when
 * the processor reads it. A coherent device needs no sync.
 */
static void check_syncs(uint32_t features)
{
	const uint32_t one = features & DRM_ONPU_FEATURE_COHERENT ? 0 : 1;
	WNNInstance instance = wnnCreateInstance(NULL);
	float data[16] = { 0 };
	WNNContext context;
	WNNTensor x, y;
	WNNGraph graph;

	kernel.features = features;
	context = open_with_power(instance, WNNPowerPreference_Default);
	graph = build_add_relu(context, 4, 4);
	/* The build has synced the program with its constants. */
	assert_int_equal(take_syncs(false), one);
	x = make_tensor(context, 4, 4);
	y = make_tensor(context, 4, 4);
	assert_ok(wnnContextWriteTensor(context, x, data, sizeof(data)));
	assert_ok(dispatch_xy(context, graph, x, y));
	assert_ok(wnnContextWaitIdle(context, GENEROUS));
	/* The dispatch has synced the input and the slots. */
	assert_int_equal(take_syncs(false), 2 * one);
	take_syncs(true);
	assert_ok(wnnContextReadTensorIntoSync(context, y, data, sizeof(data), GENEROUS));
	assert_int_equal(take_syncs(true), one);
	assert_int_equal(take_syncs(false), 0);
	release_all(instance, context, graph, x, y);
}

static void no_syncs(void **state)
{
	(void)state;
	check_syncs(DRM_ONPU_FEATURE_COHERENT);
}

static void syncs(void **state)
{
	(void)state;
	check_syncs(0);
}

/*
 * Lends memory of the application to a tensor, and then moves the tensor to other memory that
 * begins @offset bytes after the start of a page. Checks that the kernel was asked @wraps times to
 * use the memory itself, and does so in the end if @wrapped; otherwise the tensor is a copy.
 */
static void check_lent(uint32_t wraps, bool wrapped, size_t offset)
{
	char *pages =
		mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	WNNTensorHostMemory memory = WNN_TENSOR_HOST_MEMORY_INIT;
	WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
	WNNInstance instance = wnnCreateInstance(NULL);
	float data[16] = { 0 };
	struct drm_onpu_bo_wrap is;
	WNNContext context;
	WNNTensor x;

	assert_ptr_not_equal(pages, MAP_FAILED);
	memory.data = pages;
	memory.size = sizeof(data);
	descriptor.nextInChain = &memory.chain;
	descriptor.dataType = WNNOperandDataType_Float32;
	descriptor.shape = WNN_UINT32_LIST(4, 4);
	descriptor.readable = descriptor.writable = WNN_TRUE;
	context = open_with_power(instance, WNNPowerPreference_Default);
	assert_ok(wnnContextCreateTensorSync(context, &descriptor, GENEROUS, &x));
	memory.data = pages + PAGE + offset;
	assert_ok(wnnTensorSetHostMemory(x, &memory));
	for (int i = 0; i < 16; i++)
		((float *)memory.data)[i] = (float)i;
	assert_ok(wnnContextReadTensorIntoSync(context, x, data, sizeof(data), GENEROUS));
	assert_memory_equal(data, memory.data, sizeof(data));
	pthread_mutex_lock(&kernel.lock);
	is = kernel.wrapped;
	pthread_mutex_unlock(&kernel.lock);
	assert_int_equal(kernel.wraps, wraps);
	assert_int_equal(is.handle != 0, wrapped);
	if (wrapped) {
		assert_int_equal(is.address, (uintptr_t)pages + PAGE);
		assert_int_equal(is.size, offset + sizeof(data));
		assert_int_equal(is.flags, 0);
	}
	wnnTensorRelease(x);
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
	wait_for_the_end();
	munmap(pages, 2 * PAGE);
}

static void lent_memory(void **state)
{
	(void)state;
	check_lent(2, true, 0);
	assert_int_equal(kernel.wrapped.handle, 0);
	kernel.wraps = 0;
	check_lent(2, true, 128);
	kernel.wraps = 0;
	/* The NPU cannot use memory at this address, so the tensor becomes a copy. */
	check_lent(1, false, 4);
}

static void lent_memory_that_is_refused(void **state)
{
	(void)state;
	kernel.refuses = EOPNOTSUPP;
	check_lent(1, false, 0);
	kernel.refuses = ENOSPC;
	kernel.wraps = 0;
	check_lent(1, false, 0);
}

static void lent_memory_that_needs_syncs(void **state)
{
	(void)state;
	kernel.features = 0;
	check_lent(0, false, 0);
}

static void lent_memory_with_an_older_driver(void **state)
{
	(void)state;
	kernel.minor = 3;
	check_lent(0, false, 0);
}

/* Runs a job with a preference, and checks whether the wait for its end sleeps. */
static void check_sleep(WNNPowerPreference preference, bool sleeps)
{
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContext context = open_with_power(instance, preference);
	WNNTensor x = make_tensor(context, 4, 4), y = make_tensor(context, 4, 4);
	WNNGraph graph = build_add_relu(context, 4, 4);

	assert_ok(dispatch_xy(context, graph, x, y));
	assert_ok(wnnContextWaitIdle(context, GENEROUS));
	assert_int_equal(kernel.waits > 0, sleeps);
	release_all(instance, context, graph, x, y);
}

static void a_job_that_ends_soon(void **state)
{
	(void)state;
	kernel.shows = true;
	setenv("WEBNN_NPU_SPIN", "1000000", 1);
	check_sleep(WNNPowerPreference_Default, false);
	check_sleep(WNNPowerPreference_LowPower, true);
	unsetenv("WEBNN_NPU_SPIN");
}

static void a_job_that_takes_longer(void **state)
{
	(void)state;
	check_sleep(WNNPowerPreference_Default, true);
}

static void waits_that_sleep_at_once(void **state)
{
	(void)state;
	kernel.shows = true;
	setenv("WEBNN_NPU_SPIN", "0", 1);
	check_sleep(WNNPowerPreference_Default, true);
	unsetenv("WEBNN_NPU_SPIN");
}

static void a_driver_that_confirms_nothing(void **state)
{
	(void)state;
	kernel.shows = true;
	kernel.minor = 4;
	check_sleep(WNNPowerPreference_Default, true);
}

static void a_driver_in_a_reset(void **state)
{
	(void)state;
	kernel.shows = true;
	kernel.resets = true;
	check_sleep(WNNPowerPreference_Default, true);
}

static void a_time_with_a_unit(void **state)
{
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContext context;

	(void)state;
	setenv("WEBNN_NPU_SPIN", "1ms", 1);
	assert_failed(wnnInstanceCreateContextSync(instance, NULL, GENEROUS, &context),
		      WNNStatus_NotSupportedError, "WEBNN_NPU_SPIN is \"1ms\"");
	unsetenv("WEBNN_NPU_SPIN");
	wnnInstanceRelease(instance);
}

/*
 * Tests that the library still waits for the two jobs that fail, to learn why: the page shows them
 * as ended, too.
 */
static void a_job_that_fails_soon(void **state)
{
	kernel.shows = true;
	no_preference(state);
	assert_int_equal(kernel.waits, 2);
}

/* Tests the errors when the driver refuses a context; a banned user is told of the ban. */
static void no_context(void **state)
{
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContext context = NULL;

	(void)state;
	kernel.no_context = ENOMEM;
	assert_failed(try_open(instance, WNNPowerPreference_Default, &context),
		      WNNStatus_UnknownError,
		      "the driver cannot make a context on the NPU: Cannot allocate memory");
	kernel.no_context = ENODEV;
	assert_failed(try_open(instance, WNNPowerPreference_Default, &context),
		      WNNStatus_UnknownError, "the NPU is gone: it was removed");
	kernel.no_context = EPERM;
	assert_failed(try_open(instance, WNNPowerPreference_Default, &context),
		      WNNStatus_UnknownError,
		      "the driver cannot make a context on the NPU: this user is banned for some "
		      "minutes; dmesg tells why");
	wnnInstanceRelease(instance);
}

/* Tests that a dma-buf without memory is refused, and one whose size the kernel does not tell. */
static void dma_bufs_without_a_size(void **state)
{
	int empty = memfd_create("empty", MFD_CLOEXEC), ends[2];
	struct wnn_dmabuf buffer;
	struct wnn_error err = { .status = WNN_OK };

	(void)state;
	assert_int_equal(wnn_dmabuf_open(&buffer, empty, &err), -1);
	assert_int_equal(err.status, WNN_TYPE_ERROR);
	assert_string_equal(err.message, "the dma-buf has 0 bytes, so it has no room for a tensor: "
					 "make it as large as the tensor");
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(wnn_dmabuf_open(&buffer, ends[0], &err), -1);
	assert_int_equal(err.status, WNN_UNKNOWN_ERROR);
	assert_string_equal(err.message, "internal error, please report it: the kernel does not "
					 "tell the size of the dma-buf: Illegal seek");
	close(empty);
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(no_preference, forget_contexts),
		cmocka_unit_test_setup(no_value, forget_contexts),
		cmocka_unit_test_setup(low_power, forget_contexts),
		cmocka_unit_test_setup(high_performance, forget_contexts),
		cmocka_unit_test_setup(no_syncs, forget_contexts),
		cmocka_unit_test_setup(syncs, forget_contexts),
		cmocka_unit_test_setup(lent_memory, forget_contexts),
		cmocka_unit_test_setup(lent_memory_that_is_refused, forget_contexts),
		cmocka_unit_test_setup(lent_memory_that_needs_syncs, forget_contexts),
		cmocka_unit_test_setup(lent_memory_with_an_older_driver, forget_contexts),
		cmocka_unit_test_setup(a_job_that_ends_soon, forget_contexts),
		cmocka_unit_test_setup(a_job_that_takes_longer, forget_contexts),
		cmocka_unit_test_setup(waits_that_sleep_at_once, forget_contexts),
		cmocka_unit_test_setup(a_driver_that_confirms_nothing, forget_contexts),
		cmocka_unit_test_setup(a_driver_in_a_reset, forget_contexts),
		cmocka_unit_test_setup(a_time_with_a_unit, forget_contexts),
		cmocka_unit_test_setup(a_job_that_fails_soon, forget_contexts),
		cmocka_unit_test_setup(a_job_without_progress, forget_contexts),
		cmocka_unit_test_setup(a_wait_that_fails, forget_contexts),
		cmocka_unit_test_setup(a_wait_without_a_device, forget_contexts),
		cmocka_unit_test_setup(a_job_whose_end_is_not_told, forget_contexts),
		cmocka_unit_test_setup(no_context, forget_contexts),
		cmocka_unit_test(dma_bufs_without_a_size),
	};

	kernel.memory = memfd_create("node", MFD_CLOEXEC);
	if (kernel.memory < 0 || ftruncate(kernel.memory, (off_t)MEMORY)) {
		perror("memfd");
		return 1;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
