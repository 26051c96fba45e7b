// SPDX-License-Identifier: MIT
/*
 * Mapping: gives the application access to the memory of a tensor. The tensor has a pointer to the
 * request of its mapping until wnnTensorUnmap, so that a tensor has at most one mapping; the
 * request holds a reference to the tensor.
 */
#include <string.h>

#include "api/tensor.h"
#include "api/webnn_async.h"
#include "util/malloc.h"

struct map_task {
	struct timeline_task task;
	bool reads;
	struct request *request;
};

static void map_tensor(struct timeline_task *task, bool cancelled)
{
	struct map_task *map = (void *)task;
	WNNTensor tensor = map->request->tensor;
	WNNContext context = tensor->context;
	union request_result result = { .bytes = { run_buffer_data(&tensor->data.buffer),
						   tensor->bytes } };
	struct wnn_error err = { 0 };
	bool mapped = false;

	if (cancelled) {
		context_check_lost(context, "mapTensor", &err);
		request_complete(map->request, &err, NULL);
	} else if (request_wanted(map->request)) {
		/*
		 * Waits for the device: from now on host and device do not use the tensor at the
		 * same time.
		 */
		run_device_settle(&context->device);
		if ((map->reads && tensor_check_written(tensor, "mapTensor", &err)) ||
		    run_buffer_begin(&tensor->data.buffer, tensor->writable, &err)) {
			context_fail_request(context, map->request, &err);
		} else {
			atomic_store(&tensor->accessed, true);
			mapped = request_complete(map->request, NULL, &result);
			/* From now on the application is responsible for the contents. */
			if (mapped)
				tensor_note_written(tensor, NULL);
			else
				tensor_end_access(tensor);
		}
	}
	context_remove_pending(context, map->request);
	if (!mapped)
		tensor_end_map(tensor, map->request);
	request_put(map->request);
	wnn_free(map);
}

static int check_mode(WNNTensor tensor, WNNMapMode mode, struct wnn_error *err)
{
	bool read = mode == WNNMapMode_Read || mode == WNNMapMode_ReadWrite;
	bool write = mode == WNNMapMode_Write || mode == WNNMapMode_ReadWrite;

	if (!read && !write)
		return wnn_error_set(err, WNN_TYPE_ERROR,
				     "mapTensor: mode is %u, which is no value of WNNMapMode",
				     (unsigned int)mode);
	if ((read && !tensor->readable) || (write && !tensor->writable))
		return wnn_error_set(
			err, WNN_TYPE_ERROR,
			"mapTensor: the tensor%s was not made with %s, which this mode needs: set it in "
			"the descriptor",
			tensor_label(tensor), read && !tensor->readable ? "readable" : "writable");
	return 0;
}

/*
 * Registers the mapping with the tensor and queues the task. Returns 0, or -1 when the tensor is
 * mapped already or destroyed.
 */
static int push(WNNContext context, WNNTensor tensor, struct map_task *map, struct wnn_error *err)
{
	int ret;

	pthread_mutex_lock(&context->lock);
	ret = tensor_check(context, tensor, "mapTensor", err) ||
	      tensor_check_unmapped(tensor, "mapTensor", err);
	if (!ret) {
		request_get(map->request);
		atomic_store(&tensor->map, map->request);
		timeline_push(context->timeline, &map->task);
	}
	pthread_mutex_unlock(&context->lock);
	return ret ? -1 : 0;
}

void start_map_tensor(WNNContext context, WNNTensor tensor, WNNMapMode mode,
		      struct request *request)
{
	struct wnn_error err = { 0 };
	struct map_task *map = NULL;

	if (!context_check_lost(context, "mapTensor", &err) &&
	    !tensor_check(context, tensor, "mapTensor", &err) && !check_mode(tensor, mode, &err)) {
		map = wnn_calloc(1, sizeof(*map));
		if (!map)
			wnn_error_nomem(&err, "mapTensor");
	}
	if (map) {
		map->task.run = map_tensor;
		map->reads = mode != WNNMapMode_Write;
		map->request = request;
		tensor_get(tensor);
		request->tensor = tensor;
		context_add_pending(context, request, tensor);
		if (!push(context, tensor, map, &err))
			return;
		context_remove_pending(context, request);
		wnn_free(map);
	}
	context_fail_request(context, request, &err);
	request_put(request);
}

WNNStatus wnnTensorUnmap(WNNTensor tensor)
{
	WNNContext context;
	struct request *map;

	if (!api_check(tensor, "wnnTensorUnmap", "tensor"))
		return wnnGetLastError(NULL);
	context = tensor->context;
	pthread_mutex_lock(&context->lock);
	map = atomic_load(&tensor->map);
	if (map)
		request_get(map);
	pthread_mutex_unlock(&context->lock);
	if (!map)
		return api_error_status(WNNStatus_InvalidStateError,
					"wnnTensorUnmap: the tensor%s is not mapped",
					tensor_label(tensor));
	/* If the callback has not run yet, it must not get the memory any more. */
	request_revoke(map, WNNStatus_InvalidStateError, "the tensor was unmapped");
	tensor_end_map(tensor, map);
	request_put(map);
	return WNNStatus_Success;
}
