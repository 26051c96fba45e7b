// SPDX-License-Identifier: MIT
/*
 * Submits the jobs of a device to its winsys, waits for them, and renews the winsys context after a
 * fault. dispatch.c submits, the timeline's thread waits.
 */
#include "run/device.h"

#include <string.h>
#include <unistd.h>

#define MAX_TRIES 4u /* the most runs of a job that resets, or faults of other jobs, cancel */

int run_device_init(struct run_device *device, struct winsys *ws, unsigned int threads,
		    struct wnn_error *err)
{
	device->last = &device->first;
	device->ws = ws;
	device->heap.ws = ws;
	run_pool_init(&device->pool);
	device->cpu = cpu_context_create(threads);
	if (!device->cpu)
		return wnn_error_nomem(err, "the kernels of the CPU");
	if (!ws)
		return 0;
	device->ctx = ws->ops->ctx_create(ws, device->power, err);
	return device->ctx ? 0 : -1;
}

static bool has_fences(const struct run_device *device)
{
	return device->ws && device->ws->ops->fence;
}

static void close_file(int *file)
{
	if (*file)
		close(*file);
	*file = 0;
}

void run_device_exit(struct run_device *device)
{
	run_device_drain(device);
	close_file(&device->wait_file);
	if (device->ctx)
		device->ws->ops->ctx_destroy(device->ctx);
	if (device->ws)
		device->ws->ops->destroy(device->ws);
	cpu_context_destroy(device->cpu);
	run_pool_exit(&device->pool);
	device->ctx = NULL;
	device->ws = NULL;
	device->heap.ws = NULL;
	device->cpu = NULL;
}

static void lose(struct run_device *device, const struct wnn_error *err)
{
	if (device->lost)
		return;
	device->lost = true;
	device->lost_error = *err;
	wnn_log_write(device->log, WNN_LOG_ERROR, "the device is lost: %s", err->message);
}

/*
 * Makes a new winsys context and submits the waiting jobs again. A fault ends a context for good,
 * and the jobs after the job that faulted did not run; a reset that another client caused ends a
 * context, too. Waiting jobs run again, because whether a dispatch works must depend neither on how
 * early it was queued nor on other clients. Running a job twice is harmless: a job does not write
 * the memory that it reads, except inputs that it updates in place. No other operator reads what an
 * update overwrites (ir_check_update()), and the update writes the same elements again.
 */
static void renew(struct run_device *device)
{
	struct run_job *job = device->first;
	struct wnn_error err = { 0 };

	device->ws->ops->ctx_destroy(device->ctx);
	device->ctx = device->ws->ops->ctx_create(device->ws, device->power, &err);
	for (; device->ctx && job; job = job->next)
		if (device->ws->ops->submit(device->ctx, &job->desc, 1, &job->seqno, &err))
			break;
	if (!device->ctx || job)
		lose(device, &err);
}

int run_device_submit(struct run_device *device, struct run_job *job, struct wnn_error *err)
{
	const struct winsys_ops *ops = device->lost ? NULL : device->ws->ops;

	job->desc.wait_file = device->wait_file;
	if (ops && ops->submit(device->ctx, &job->desc, 1, &job->seqno, err)) {
		/* An earlier job, for which nobody has waited yet, may have ended the context. */
		run_device_drain(device);
		if (!device->lost && ops->submit(device->ctx, &job->desc, 1, &job->seqno, err))
			return -1;
	}
	if (device->lost) {
		*err = device->lost_error;
		return -1;
	}
	device->wait_file = 0;
	job->next = NULL;
	*device->last = job;
	device->last = &job->next;
	return 0;
}

/*
 * Waits for the oldest job, and runs it again when resets, or faults of other jobs, cancelled it.
 * Sets *result to the result of its last run.
 */
static void wait_for(struct run_device *device, const struct run_job *job,
		     struct winsys_result *result)
{
	struct wnn_error err = { 0 };

	for (unsigned int try = 1; !device->lost; try++) {
		if (device->ws->ops->wait(device->ctx, job->seqno, UINT64_MAX, result, &err))
			return lose(device, &err);
		if (!result->cancelled)
			return;
		if (try == MAX_TRIES) {
			wnn_error_set(
				&err, WNN_UNKNOWN_ERROR,
				"resets of the device, which other programs or the device caused, "
				"have cancelled one job %u times, so this context is lost: make a "
				"new one; dmesg tells why the device was reset",
				try);
			return lose(device, &err);
		}
		wnn_log_write(
			device->log, WNN_LOG_WARNING,
			"the device was reset during work of this process, which is tried again");
		renew(device);
	}
}

bool run_device_wait_one(struct run_device *device)
{
	struct run_job *job = device->first;
	struct winsys_result result = { 0 };

	if (!job)
		return false;
	wait_for(device, job, &result);
	device->first = job->next;
	close_file(&job->desc.wait_file);
	if (!device->first)
		device->last = &device->first;
	if (!device->lost && result.fault_code)
		renew(device);
	if (device->lost && !result.fault_code)
		job->done(job, NULL, &device->lost_error);
	else
		job->done(job, &result, NULL);
	return true;
}

void run_device_drain(struct run_device *device)
{
	while (run_device_wait_one(device))
		;
}

static void wait_file(struct run_device *device)
{
	if (!device->wait_file)
		return;
	wnn_sync_file_wait(device->wait_file, device->cancelled, device->userdata);
	close_file(&device->wait_file);
}

void run_device_settle(struct run_device *device)
{
	run_device_drain(device);
	wait_file(device);
}

int run_device_wait_file(struct run_device *device, int file, struct wnn_error *err)
{
	int both = file;

	if (device->wait_file) {
		both = wnn_sync_file_merge(device->wait_file, file, err);
		close(file);
		if (both < 0)
			return -1;
		close_file(&device->wait_file);
	}
	device->wait_file = both;
	if (!has_fences(device))
		wait_file(device);
	return 0;
}

/*
 * Merges a fence, which it takes over, with the fences that the next job is going to wait for.
 * Returns a sync file for all of them, or -1.
 */
static int add_wait(struct run_device *device, int fence, struct wnn_error *err)
{
	int both;

	if (fence < 0 || !device->wait_file)
		return fence;
	both = wnn_sync_file_merge(fence, device->wait_file, err);
	close(fence);
	return both;
}

int run_device_fence(struct run_device *device, struct wnn_error *err)
{
	const struct run_job *last = device->first;

	if (!has_fences(device) || device->lost) {
		run_device_settle(device);
		return wnn_sync_file_signalled(err);
	}
	while (last && last->next)
		last = last->next;
	return add_wait(device, device->ws->ops->fence(device->ctx, last ? last->seqno : 0, err),
			err);
}
