// SPDX-License-Identifier: MIT
/* Calls the application's callback of each kind of request. */
#include "api/deliver.h"

#include <string.h>
#include <unistd.h>

#include "api/error.h"
#include "api/graph.h"
#include "api/tensor.h"
#include "util/malloc.h"

static _Thread_local unsigned int depth;

bool events_in_callback(void)
{
	return depth;
}

void deliver_discard(struct request *request)
{
	switch (request->kind) {
	case REQUEST_CREATE_CONTEXT:
		context_put(request->result.context);
		break;
	case REQUEST_CREATE_TENSOR:
		tensor_put(request->result.tensor);
		break;
	case REQUEST_BUILD:
		graph_put(request->result.graph);
		break;
	case REQUEST_READ_TENSOR:
		wnn_free(request->result.bytes.data);
		break;
	case REQUEST_SYNC_FILE:
		if (request->result.file)
			close(request->result.file - 1);
		break;
	default:
		break;
	}
	memset(&request->result, 0, sizeof(request->result));
}

/* Callbacks are stored as void (*)(void), and are called with their real type. */
#define CALL(type, ...)                                                               \
	(((type)request->callback.function)(__VA_ARGS__, request->callback.userdata1, \
					    request->callback.userdata2))

static void call(struct request *request)
{
	union request_result *result = &request->result;
	WNNStringView message = api_view(request->message);
	WNNStatus status = request->status;

	switch (request->kind) {
	case REQUEST_CREATE_CONTEXT:
		CALL(WNNCreateContextCallback, status, result->context, message);
		break;
	case REQUEST_CREATE_TENSOR:
		CALL(WNNCreateTensorCallback, status, result->tensor, message);
		break;
	case REQUEST_BUILD:
		CALL(WNNBuildCallback, status, result->graph, message);
		break;
	case REQUEST_READ_TENSOR:
		CALL(WNNReadTensorCallback, status, result->bytes.data, result->bytes.size,
		     message);
		break;
	case REQUEST_READ_TENSOR_INTO:
		CALL(WNNReadTensorIntoCallback, status, message);
		break;
	case REQUEST_MAP_TENSOR:
		CALL(WNNMapTensorCallback, status, result->bytes.data, result->bytes.size, message);
		break;
	case REQUEST_CONTEXT_LOST:
		CALL(WNNContextLostCallback, status, message);
		break;
	case REQUEST_WORK_DONE:
		CALL(WNNWorkDoneCallback, status, message);
		break;
	case REQUEST_ERROR:
		CALL(WNNErrorCallback, status, message);
		break;
	case REQUEST_DISPATCH_MEASURED:
		if (!status)
			result->dispatch.statistics.nextInChain = &result->dispatch.copies.chain;
		CALL(WNNDispatchMeasuredCallback, status,
		     status ? NULL : &result->dispatch.statistics, message);
		break;
	case REQUEST_SYNC_FILE: /* a request of this kind has no callback */
		break;
	case REQUEST_RELEASE_CONSTANT:
		CALL(WNNReleaseConstantCallback, result->bytes.data, result->bytes.size);
		break;
	}
}

void deliver_failed(struct request *request)
{
	deliver_discard(request);
	/* The request has no tensor when the call was refused before it took one. */
	if (request->kind == REQUEST_MAP_TENSOR && request->tensor)
		tensor_end_map(request->tensor, request);
}

void deliver_note(const struct request *request, const union request_result *result)
{
	if (!request->location)
		return;
	switch (request->kind) {
	case REQUEST_CREATE_CONTEXT:
		debug_made(DEBUG_CONTEXT, result->context, NULL, request->location);
		break;
	case REQUEST_CREATE_TENSOR:
		debug_made(DEBUG_TENSOR, result->tensor, NULL, request->location);
		break;
	case REQUEST_BUILD:
		debug_made(DEBUG_GRAPH, result->graph, NULL, request->location);
		/* A graph has the label of its builder. */
		debug_labelled(result->graph, object_label_text(&result->graph->label));
		break;
	default:
		break;
	}
}

void deliver_run(struct request *request)
{
	bool object = request->kind == REQUEST_CREATE_CONTEXT ||
		      request->kind == REQUEST_CREATE_TENSOR || request->kind == REQUEST_BUILD;

	if (request->status != WNNStatus_Success)
		deliver_failed(request);
	else if (debug_on)
		deliver_note(request, &request->result);
	depth++;
	call(request);
	depth--;
	/* The callback may have used an object of another instance, and so another allocator. */
	api_use_instance(request->instance);
	/* Objects belong to the callback now; data was valid only while the callback ran. */
	if (object)
		memset(&request->result, 0, sizeof(request->result));
	else
		deliver_discard(request);
}
