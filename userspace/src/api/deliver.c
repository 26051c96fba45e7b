/* SPDX-License-Identifier: MIT */
/* The callbacks of all kinds of requests. */
#include "api/deliver.h"

#include <string.h>

#include "api/error.h"
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
	case REQUEST_CONTEXT:
		wnnContextRelease(request->result.context);
		break;
	case REQUEST_TENSOR:
		wnnTensorRelease(request->result.tensor);
		break;
	case REQUEST_GRAPH:
		wnnGraphRelease(request->result.graph);
		break;
	case REQUEST_READ:
		wnn_free(request->result.bytes.data);
		break;
	default:
		break;
	}
	memset(&request->result, 0, sizeof(request->result));
}

/* The functions are kept with one type and called with their own. */
#define CALL(type, ...)                                                               \
	(((type)request->callback.function)(__VA_ARGS__, request->callback.userdata1, \
					    request->callback.userdata2))

static void call(const struct request *request)
{
	const union request_result *result = &request->result;
	WNNStringView message = api_view(request->message);
	WNNStatus status = request->status;

	switch (request->kind) {
	case REQUEST_CONTEXT:
		CALL(WNNCreateContextCallback, status, result->context, message);
		break;
	case REQUEST_TENSOR:
		CALL(WNNCreateTensorCallback, status, result->tensor, message);
		break;
	case REQUEST_GRAPH:
		CALL(WNNBuildCallback, status, result->graph, message);
		break;
	case REQUEST_READ:
		CALL(WNNReadTensorCallback, status, result->bytes.data, result->bytes.size,
		     message);
		break;
	case REQUEST_READ_INTO:
		CALL(WNNReadTensorIntoCallback, status, message);
		break;
	case REQUEST_MAP:
		CALL(WNNMapTensorCallback, status, result->bytes.data, result->bytes.size, message);
		break;
	case REQUEST_LOST:
		CALL(WNNContextLostCallback, status, message);
		break;
	case REQUEST_WORK_DONE:
		CALL(WNNWorkDoneCallback, status, message);
		break;
	case REQUEST_ERROR:
		CALL(WNNErrorCallback, status, message);
		break;
	case REQUEST_RELEASE_CONSTANT:
		CALL(WNNReleaseConstantCallback, result->bytes.data, result->bytes.size);
		break;
	}
}

void deliver_run(struct request *request)
{
	bool object = request->kind == REQUEST_CONTEXT || request->kind == REQUEST_TENSOR ||
		      request->kind == REQUEST_GRAPH;

	if (request->status != WNNStatus_Success) {
		deliver_discard(request);
		if (request->kind == REQUEST_MAP)
			tensor_end_map(request->tensor, request);
	}
	depth++;
	call(request);
	depth--;
	/* The callback may have used other instances. */
	api_use_instance(request->instance);
	/* Objects belong to the callback now; data lived only as long as it ran. */
	if (object)
		memset(&request->result, 0, sizeof(request->result));
	else
		deliver_discard(request);
}
