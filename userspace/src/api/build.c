/* SPDX-License-Identifier: MIT */
/* wnnGraphBuilderBuild: the checks on the calling thread, passes and compiler on the timeline. */

#include "api/builder.h"
#include "api/graph.h"
#include "util/malloc.h"

struct build_task {
	struct timeline_task task;
	WNNContext context; /* a reference */
	struct wnn_recording *recording;
	struct request *request;
};

static void build_graph(struct timeline_task *task, bool cancelled)
{
	struct build_task *build = (void *)task;
	WNNContext context = build->context;
	union request_result result = { 0 };
	struct wnn_error err = { 0 };

	if (cancelled) {
		wnn_recording_destroy(build->recording);
		context_check_lost(context, &err);
		request_complete(build->request, &err, NULL);
	} else if (!request_wanted(build->request)) {
		wnn_recording_destroy(build->recording);
	} else {
		result.graph = graph_make(context, build->recording, &err);
		if (!result.graph)
			context_fail_request(context, build->request, &err);
		else if (!request_complete(build->request, NULL, &result))
			wnnGraphRelease(result.graph);
	}
	context_remove_pending(context, build->request);
	request_put(build->request);
	wnn_free(build);
	wnnContextRelease(context);
}

/* Consumes the request. */
static void start_build(WNNGraphBuilder builder, size_t count, const WNNNamedOperand *outputs,
			struct request *request)
{
	WNNContext context = builder->context;
	struct build_task *build = wnn_calloc(1, sizeof(*build));
	struct wnn_error err = { 0 };

	if (!build ||
	    wnn_builder_build(builder->builder, count, outputs, &build->recording, &err)) {
		if (!build)
			wnn_error_nomem(&err, "build");
		wnn_free(build);
		builder_note_error(builder, &err);
		context_fail_request(context, request, &err);
		request_put(request);
		return;
	}
	build->task.run = build_graph;
	build->context = context;
	build->request = request;
	wnnContextAddRef(context);
	context_add_pending(context, request, NULL);
	timeline_push(context->timeline, &build->task);
}

/* The thread's last error is also the builder's. */
static WNNStatus note_status(WNNGraphBuilder builder)
{
	WNNError error = WNN_ERROR_INIT;

	wnnGetLastError(&error);
	wnn_error_set(&builder->last_error, (enum wnn_status)error.status, "%s",
		      error.message.data);
	return error.status;
}

WNNFuture wnnGraphBuilderBuild(WNNGraphBuilder builder, size_t outputCount,
			       WNNNamedOperand const *outputs, WNNBuildCallbackInfo callbackInfo)
{
	WNNFuture future = WNN_FUTURE_INIT;
	struct request *request;

	if (!api_check(builder, "wnnGraphBuilderBuild", "builder"))
		return future;
	request = request_begin_async(builder->context->instance, REQUEST_GRAPH,
				      REQUEST_CALLBACK(callbackInfo), "wnnGraphBuilderBuild");
	if (!request) {
		note_status(builder);
		return future;
	}
	future.id = request->id;
	start_build(builder, outputCount, outputs, request);
	return future;
}

WNNStatus wnnGraphBuilderBuildSync(WNNGraphBuilder builder, size_t outputCount,
				   WNNNamedOperand const *outputs, uint64_t timeoutNS,
				   WNNGraph *graph)
{
	union request_result result = { 0 };
	struct request *request;
	WNNStatus status;

	if (!api_check(graph, "wnnGraphBuilderBuildSync", "graph"))
		return wnnGetLastError(NULL);
	*graph = NULL;
	if (!api_check(builder, "wnnGraphBuilderBuildSync", "builder"))
		return wnnGetLastError(NULL);
	request = request_begin_sync(builder->context->instance, REQUEST_GRAPH,
				     "wnnGraphBuilderBuildSync");
	if (!request)
		return note_status(builder);
	start_build(builder, outputCount, outputs, request);
	status = request_wait(request, timeoutNS, &result);
	if (status)
		note_status(builder);
	*graph = result.graph;
	return status;
}
