// SPDX-License-Identifier: MIT
/* Tasks of the timeline that write and read tensors, and that serve wnnContextOnWorkDone. */
#include <string.h>

#include "api/tensor.h"
#include "api/webnn_async.h"
#include "util/malloc.h"

/* --- Writing --- */

struct write_task {
	struct timeline_task task;
	WNNTensor tensor;
	struct context_copy *copy;
};

static void copy_to_tensor(WNNTensor tensor, const void *data)
{
	WNNContext context = tensor->context;
	struct wnn_error err = { 0 };
	bool failed = run_tensor_write(&context->device, &tensor->data, data, &err);

	if (failed)
		context_fail_work(context, &err);
	tensor_note_written(tensor, failed ? &err : NULL);
}

static void write_tensor(struct timeline_task *task, bool cancelled)
{
	struct write_task *write = (void *)task;

	if (!cancelled)
		copy_to_tensor(write->tensor, write->copy->data);
	context_copy_free(write->copy);
	tensor_put(write->tensor);
	wnn_free(write);
}

static int check_size(struct WNNTensorImpl *tensor, size_t size, const char *what,
		      struct wnn_error *err)
{
	if (size == tensor->bytes)
		return 0;
	return wnn_error_set(err, WNN_TYPE_ERROR, "%s: size is %zu; the tensor%s has %zu bytes",
			     what, size, tensor_label(tensor), tensor->bytes);
}

static int check_write(WNNContext context, WNNTensor tensor, const void *data, size_t size,
		       struct wnn_error *err)
{
	if (context_check_lost(context, "writeTensor", err) ||
	    tensor_check(context, tensor, "writeTensor", err))
		return -1;
	if (!tensor->writable)
		return wnn_error_set(err, WNN_TYPE_ERROR,
				     "writeTensor: the tensor%s was not made with writable: set it "
				     "in the descriptor",
				     tensor_label(tensor));
	if (!data)
		return wnn_error_set(err, WNN_TYPE_ERROR, "writeTensor: data is NULL");
	return check_size(tensor, size, "writeTensor", err);
}

/*
 * Whether the tensor's memory is a dma-buf: a use may then have to wait for other users of that
 * memory, and only the timeline waits for them.
 */
static bool may_wait(const struct WNNTensorImpl *tensor)
{
	return tensor->data.buffer.dmabuf.map;
}

/* The most bytes whose copy takes less time than passing it to another thread. */
#define FEW_BYTES 65536

/*
 * Queues or runs work that uses a tensor. Returns 0, or -1 when the tensor is destroyed or mapped;
 * the caller still owns the task then.
 */
static int push_for_tensor(WNNTensor tensor, struct timeline_task *task, const char *what,
			   struct wnn_error *err)
{
	WNNContext context = tensor->context;
	struct timeline *timeline = context->timeline;
	bool runs = false;
	int ret;

	pthread_mutex_lock(&context->lock);
	ret = tensor_check(context, tensor, what, err);
	if (!ret)
		ret = tensor_check_unmapped(tensor, what, err);
	if (!ret)
		runs = context_push(context, task, tensor->bytes <= FEW_BYTES && !may_wait(tensor));
	pthread_mutex_unlock(&context->lock);
	if (runs)
		timeline_run(timeline, task);
	return ret;
}

/*
 * Writes a tensor on this thread when nothing is queued or running, because queueing would copy the
 * data, too. Returns true when the tensor was written, or writing failed, which
 * wnnContextOnWorkDone reports, or the context has just been lost; true with *err when the tensor
 * is destroyed or mapped; false, with nothing done, when the caller must queue the work.
 */
static bool write_at_once(WNNTensor tensor, const void *data, struct wnn_error *err)
{
	WNNContext context = tensor->context;
	struct timeline *timeline = context->timeline;
	bool entered = false, failed;

	pthread_mutex_lock(&context->lock);
	failed = tensor_check(context, tensor, "writeTensor", err) ||
		 tensor_check_unmapped(tensor, "writeTensor", err);
	if (!failed && !may_wait(tensor))
		entered = context_try_enter(context);
	pthread_mutex_unlock(&context->lock);
	if (entered) {
		tensor_get(tensor);
		if (!timeline_cancelled(timeline))
			copy_to_tensor(tensor, data);
		tensor_put(tensor);
		timeline_leave(timeline);
	}
	return entered || failed;
}

WNNStatus wnnContextWriteTensor(WNNContext context, WNNTensor tensor, void const *data, size_t size)
{
	struct wnn_error err = { 0 };
	struct context_copy *copy;
	struct write_task *write;

	if (!api_check(context, "wnnContextWriteTensor", "context"))
		return wnnGetLastError(NULL);
	if (check_write(context, tensor, data, size, &err))
		return context_error(context, &err);
	wnn_log_debug(&context->instance->log, "writeTensor: %zu bytes to the tensor%s", size,
		      tensor_label(tensor));
	if (write_at_once(tensor, data, &err))
		return err.status ? context_error(context, &err) : WNNStatus_Success;
	copy = context_copy(context, data, size, "the data of writeTensor", &err);
	if (!copy)
		return context_error(context, &err);
	write = wnn_calloc(1, sizeof(*write));
	if (!write) {
		context_copy_free(copy);
		wnn_error_nomem(&err, "writeTensor");
		return context_error(context, &err);
	}
	write->task.run = write_tensor;
	write->tensor = tensor;
	write->copy = copy;
	tensor_get(tensor);
	if (!push_for_tensor(tensor, &write->task, "writeTensor", &err))
		return WNNStatus_Success;
	write_tensor(&write->task, true);
	return context_error(context, &err);
}

/* --- Reading --- */

struct read_task {
	struct timeline_task task;
	WNNTensor tensor;
	struct request *request;
	void *data; /* memory of the caller; NULL: memory is allocated for the callback */
};

static void read_tensor(struct timeline_task *task, bool cancelled)
{
	struct read_task *read = (void *)task;
	WNNTensor tensor = read->tensor;
	WNNContext context = tensor->context;
	struct wnn_error err = { 0 };
	union request_result result = { .bytes = { read->data, tensor->bytes } };
	bool wanted = !cancelled && request_wanted(read->request), failed = false;

	if (!read->data && wanted) {
		result.bytes.data = wnn_malloc(tensor->bytes);
		failed = !result.bytes.data;
	}
	if (cancelled) {
		context_check_lost(context, "readTensor", &err);
		request_complete(read->request, &err, NULL);
	} else if (failed) {
		wnn_error_nomem(&err, "the data of readTensor");
		context_fail_request(context, read->request, &err);
	} else if (wanted) {
		/* Waits for jobs of the device that may write the tensor. */
		run_device_settle(&context->device);
		failed = tensor_check_written(tensor, "readTensor", &err);
		if (!failed && (!read->data || request_set_busy(read->request)))
			failed = run_tensor_read(&context->device, &tensor->data, result.bytes.data,
						 &err);
		if (failed)
			context_report(context, &err);
		if ((!request_complete(read->request, failed ? &err : NULL, &result) || failed) &&
		    !read->data)
			wnn_free(result.bytes.data);
	}
	context_remove_pending(context, read->request);
	request_put(read->request);
	tensor_put(tensor);
	wnn_free(read);
}

static int check_read(WNNContext context, WNNTensor tensor, struct wnn_error *err)
{
	if (context_check_lost(context, "readTensor", err) ||
	    tensor_check(context, tensor, "readTensor", err))
		return -1;
	if (!tensor->readable)
		return wnn_error_set(err, WNN_TYPE_ERROR,
				     "readTensor: the tensor%s was not made with readable: set it "
				     "in the descriptor",
				     tensor_label(tensor));
	return 0;
}

/* Begins to read a tensor; takes over the request. */
static void start_read(WNNContext context, WNNTensor tensor, void *data, struct request *request,
		       struct wnn_error *err)
{
	struct read_task *read = NULL;

	if (!err->status) {
		read = wnn_calloc(1, sizeof(*read));
		if (!read)
			wnn_error_nomem(err, "readTensor");
	}
	if (read) {
		read->task.run = read_tensor;
		read->tensor = tensor;
		read->request = request;
		read->data = data;
		tensor_get(tensor);
		context_add_pending(context, request, tensor);
		wnn_log_debug(&context->instance->log, "readTensor: %zu bytes of the tensor%s",
			      tensor->bytes, tensor_label(tensor));
		if (!push_for_tensor(tensor, &read->task, "readTensor", err))
			return;
		context_remove_pending(context, request);
		tensor_put(tensor);
		wnn_free(read);
	}
	context_fail_request(context, request, err);
	request_put(request);
}

void start_read_tensor(WNNContext context, WNNTensor tensor, struct request *request)
{
	struct wnn_error err = { 0 };

	check_read(context, tensor, &err);
	start_read(context, tensor, NULL, request, &err);
}

void start_read_tensor_into(WNNContext context, WNNTensor tensor, void *data, size_t size,
			    struct request *request)
{
	struct wnn_error err = { 0 };

	if (!check_read(context, tensor, &err)) {
		if (!data)
			wnn_error_set(&err, WNN_TYPE_ERROR, "readTensor: data is NULL");
		else
			check_size(tensor, size, "readTensor", &err);
	}
	start_read(context, tensor, data, request, &err);
}

/* --- The end of queued work --- */

struct done_task {
	struct timeline_task task;
	WNNContext context; /* a reference */
	struct request *request;
};

static void work_done(struct timeline_task *task, bool cancelled)
{
	struct done_task *done = (void *)task;
	WNNContext context = done->context;
	struct wnn_error err = { 0 };

	run_device_settle(&context->device);
	if (cancelled || timeline_cancelled(context->timeline)) {
		context_check_lost(context, "onWorkDone", &err);
		request_complete(done->request, &err, NULL);
	} else if (request_complete(done->request,
				    context->has_work_error ? &context->work_error : NULL, NULL)) {
		/*
		 * When the request has timed out, the error is kept for the next
		 * wnnContextOnWorkDone.
		 */
		context->has_work_error = false;
	}
	context_remove_pending(context, done->request);
	request_put(done->request);
	wnn_free(done);
	context_put(context);
}

void start_on_work_done(WNNContext context, struct request *request)
{
	struct timeline *timeline = context->timeline;
	struct done_task *done = NULL;
	struct wnn_error err = { 0 };

	if (!context_check_lost(context, "onWorkDone", &err)) {
		done = wnn_calloc(1, sizeof(*done));
		if (!done)
			wnn_error_nomem(&err, "onWorkDone");
	}
	if (!done) {
		context_fail_request(context, request, &err);
		request_put(request);
		return;
	}
	done->task.run = work_done;
	done->context = context;
	done->request = request;
	context_get(context);
	context_add_pending(context, request, NULL);
	if (context_push(context, &done->task, true))
		timeline_run(timeline, &done->task);
}
