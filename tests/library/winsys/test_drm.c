// SPDX-License-Identifier: MIT
/*
 * Tests the calls of the winsys "drm" to the kernel, which kernel.c replaces, and so the errors when
 * these calls fail.
 */
#include "kernel.h"

#include "../api/fixture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "util/dmabuf.h"

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
