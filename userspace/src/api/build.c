// SPDX-License-Identifier: MIT
/*
 * wnnGraphBuilderBuild: checks the call on the calling thread; runs the passes and the compiler on
 * the timeline.
 */

#include "api/builder.h"
#include "api/graph.h"
#include "api/webnn_async.h"
#include "util/malloc.h"

struct build_task {
	struct timeline_task task;
	WNNContext context; /* a reference */
	struct object_label label;
	struct wnn_recording *recording;
	struct request *request;
};

/*
 * Completes the request with the graph, which gets the label of its builder. Too little memory for
 * the label is not an error of the build.
 */
static void hand_over(struct build_task *build, union request_result *result)
{
	object_label_copy(&result->graph->label, &build->label, NULL);
	if (!request_complete(build->request, NULL, result))
		graph_put(result->graph);
}

static void build_graph(struct timeline_task *task, bool cancelled)
{
	struct build_task *build = (void *)task;
	WNNContext context = build->context;
	union request_result result = { 0 };
	struct wnn_error err = { 0 };

	if (cancelled) {
		wnn_recording_destroy(build->recording);
		context_check_lost(context, "build", &err);
		request_complete(build->request, &err, NULL);
	} else if (!request_wanted(build->request)) {
		wnn_recording_destroy(build->recording);
	} else {
		wnn_log_debug(&context->instance->log, "build of graph%s begins",
			      object_label_text(&build->label));
		result.graph = graph_make(context, build->recording, &err);
		if (!result.graph)
			context_fail_request(context, build->request, &err);
		else
			hand_over(build, &result);
	}
	context_remove_pending(context, build->request);
	request_put(build->request);
	object_label_exit(&build->label);
	wnn_free(build);
	context_put(context);
}

static int verify_outputs(size_t count, const WNNNamedOperand *outputs, struct wnn_error *err)
{
	for (size_t i = 0; outputs && i < count; i++)
		if (outputs[i].operand &&
		    debug_verify(DEBUG_OPERAND, outputs[i].operand, "build", err))
			return -1;
	return 0;
}

void start_build(WNNGraphBuilder builder, size_t count, const WNNNamedOperand *outputs,
		 struct request *request)
{
	WNNContext context = builder->context;
	struct build_task *build = wnn_calloc(1, sizeof(*build));
	struct wnn_error err = { 0 };

	if (!build || (debug_on && verify_outputs(count, outputs, &err)) ||
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
	object_label_copy(&build->label, &builder->label, NULL);
	context_get(context);
	context_add_pending(context, request, NULL);
	timeline_push(context->timeline, &build->task);
}

void builder_note_status(WNNGraphBuilder builder)
{
	WNNError error = WNN_ERROR_INIT;

	wnnGetLastError(&error);
	wnn_error_set(&builder->last_error, (enum wnn_status)error.status, "%s",
		      error.message.data);
}
