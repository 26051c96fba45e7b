// SPDX-License-Identifier: MIT
/*
 * Sync files: work waits for fences of other devices, and the end of work is exported as a fence.
 */
#include <unistd.h>

#include "api/context.h"
#include "util/malloc.h"

struct file_task {
	struct timeline_task task;
	WNNContext context; /* a reference */
	int file;	    /* sync file for which the work waits */
	struct request *request;
};

/* Returns a task that holds the context; NULL with *err. */
static struct file_task *make_task(WNNContext context, const char *what, struct wnn_error *err)
{
	struct file_task *made;

	if (context_check_lost(context, what, err))
		return NULL;
	made = wnn_calloc(1, sizeof(*made));
	if (!made) {
		wnn_error_nomem(err, what);
		return NULL;
	}
	made->context = context;
	context_get(context);
	return made;
}

static void free_task(struct file_task *done)
{
	WNNContext context = done->context;

	wnn_free(done);
	context_put(context);
}

/* --- Waiting --- */

static void wait_file(struct timeline_task *task, bool cancelled)
{
	struct file_task *wait = (void *)task;
	WNNContext context = wait->context;
	struct wnn_error err = { 0 };

	if (cancelled)
		close(wait->file);
	else if (run_device_wait_file(&context->device, wait->file, &err))
		context_fail_work(context, &err);
	free_task(wait);
}

WNNStatus wnnContextWaitSyncFile(WNNContext context, int32_t fd)
{
	struct file_task *wait = NULL;
	struct wnn_error err = { 0 };
	int file;

	if (!api_check(context, "wnnContextWaitSyncFile", "context"))
		return wnnGetLastError(NULL);
	file = wnn_file_copy(fd, &err);
	if (file >= 0 && !wnn_sync_file_check(file, fd, &err))
		wait = make_task(context, "waitSyncFile", &err);
	if (!wait) {
		if (file >= 0)
			close(file);
		return context_error(context, &err);
	}
	wait->task.run = wait_file;
	wait->file = file;
	timeline_push(context->timeline, &wait->task);
	return WNNStatus_Success;
}

/* --- Export --- */

static void export_file(struct timeline_task *task, bool cancelled)
{
	struct file_task *export = (void *)task;
	WNNContext context = export->context;
	union request_result result = { .file = 0 };
	struct wnn_error err = { 0 };

	if (!cancelled && request_wanted(export->request)) {
		result.file = run_device_fence(&context->device, &err) + 1;
		if (!result.file)
			context_fail_request(context, export->request, &err);
		else if (!request_complete(export->request, NULL, &result))
			close(result.file - 1);
	} else if (cancelled) {
		context_check_lost(context, "exportSyncFile", &err);
		request_complete(export->request, &err, NULL);
	}
	context_remove_pending(context, export->request);
	request_put(export->request);
	free_task(export);
}

WNNStatus wnnContextExportSyncFile(WNNContext context, uint64_t timeoutNS, int32_t *fd)
{
	union request_result result = { .file = 0 };
	struct wnn_error err = { 0 };
	struct file_task *export;
	struct request *request;
	WNNStatus status;

	if (!api_check(fd, "wnnContextExportSyncFile", "fd"))
		return wnnGetLastError(NULL);
	*fd = -1;
	if (!api_check(context, "wnnContextExportSyncFile", "context"))
		return wnnGetLastError(NULL);
	request = request_begin_sync(context->instance, REQUEST_SYNC_FILE,
				     "wnnContextExportSyncFile");
	if (!request)
		return wnnGetLastError(NULL);
	export = make_task(context, "exportSyncFile", &err);
	if (export) {
		export->task.run = export_file;
		export->request = request;
		context_add_pending(context, request, NULL);
		timeline_push(context->timeline, &export->task);
	} else {
		context_fail_request(context, request, &err);
		request_put(request);
	}
	status = request_wait(request, timeoutNS, &result);
	*fd = result.file - 1;
	return status;
}
