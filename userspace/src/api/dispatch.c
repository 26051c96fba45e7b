// SPDX-License-Identifier: MIT
/* wnnContextDispatch: checks the call on the calling thread; runs the graph on the timeline. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/family.h"
#include "api/lend.h"
#include "api/tensor.h"
#include "graph/label.h"
#include "api/webnn_async.h"
#include "util/clock.h"
#include "util/malloc.h"
#include "util/printable.h"

struct dispatch_task {
	struct timeline_task task;
	struct run_dispatch run;
	WNNGraph graph; /* a reference; the task holds one to the graph's context, too */
	uint32_t num_tensors;
	struct request *request; /* request that is completed at the end; or NULL */
	bool waited_for;	 /* whether the caller waits for the request without a limit */
	uint64_t queued_ns;	 /* time of the call */
	/*
	 * tensors of the inputs, then of the outputs, in the order of the compiled graph; this and
	 * the next two lists lie behind the task, in the same block of memory
	 */
	WNNTensor *tensors;
	struct run_buffer **buffers;
	uint32_t *numbers; /* a family's sizes, one for each named dimension; NULL: no family */
};

static void free_task(struct dispatch_task *d)
{
	WNNContext context = d->graph->context;

	for (uint32_t i = 0; i < d->num_tensors; i++)
		tensor_put(d->tensors[i]);
	if (d->request) {
		context_remove_pending(context, d->request);
		request_put(d->request);
	}
	run_profile_destroy(d->run.profile);
	run_compiled_unref(d->run.compiled);
	graph_put(d->graph);
	wnn_free(d);
	context_put(context);
}

/*
 * Stores the statistics of a dispatch, takes over *profile, and returns the number of the dispatch
 * among those of the graph.
 */
static uint64_t note_statistics(WNNGraph graph, struct run_compiled *compiled,
				const struct run_statistics *statistics,
				struct run_profile **profile)
{
	struct run_compiled *last = NULL;
	struct run_profile *before;
	uint64_t number;

	pthread_mutex_lock(&graph->lock);
	number = ++graph->dispatch_count;
	graph->statistics = *statistics;
	before = graph->profile;
	graph->profile = *profile;
	*profile = NULL;
	/*
	 * The profile counts the nodes of @compiled, so the graph's texts describe @compiled from
	 * now on.
	 */
	if (graph->compiled && graph->compiled != compiled) {
		last = graph->compiled;
		graph->compiled = run_compiled_ref(compiled);
	}
	pthread_mutex_unlock(&graph->lock);
	run_compiled_unref(last);
	run_profile_destroy(before);
	return number;
}

static void tell_success(struct dispatch_task *d, uint64_t number,
			 const struct run_statistics *statistics)
{
	const WNNDispatchStatistics none = WNN_DISPATCH_STATISTICS_INIT;
	const WNNDispatchCopies no_copies = WNN_DISPATCH_COPIES_INIT;
	union request_result result = { .dispatch = { none, no_copies } };
	WNNDispatchStatistics *to = &result.dispatch.statistics;

	if (!d->request)
		return;
	to->number = number;
	to->npuNodes = d->graph->placement.npuCount;
	to->cpuNodes = d->graph->placement.cpuCount;
	to->npuCycles = statistics->npu_cycles;
	to->controlCycles = statistics->busy[ONPU_ENG_CP];
	to->loadCycles = statistics->busy[ONPU_ENG_LD];
	to->storeCycles = statistics->busy[ONPU_ENG_ST];
	to->matrixCycles = statistics->busy[ONPU_ENG_MXU];
	to->vectorCycles = statistics->busy[ONPU_ENG_VPU];
	to->macs = statistics->macs;
	to->bytesRead = statistics->bytes_read;
	to->bytesWritten = statistics->bytes_written;
	to->queuedNanoseconds = d->run.start_ns - d->queued_ns;
	to->npuNanoseconds = statistics->npu_ns;
	to->cpuNanoseconds = statistics->cpu_ns;
	to->hostNanoseconds = statistics->host_ns;
	result.dispatch.copies.bytesIn = statistics->copied_in;
	result.dispatch.copies.bytesOut = statistics->copied_out;
	request_complete(d->request, NULL, &result);
}

/*
 * Completes the request with the error of a dispatch; without a request, or when the request has
 * ended already, it keeps the error for wnnContextOnWorkDone.
 */
static void tell_failure(struct dispatch_task *d, const struct wnn_error *err)
{
	if (d->request && request_complete(d->request, err, NULL))
		context_report(d->graph->context, err);
	else
		context_fail_work(d->graph->context, err);
}

/*
 * Fails when an earlier failure left an input without data: results would be wrong. Returns 0, or
 * -1 with *err; then *cause is the earlier failure, else NULL.
 */
static int check_inputs(const struct dispatch_task *d, const struct wnn_error **cause,
			struct wnn_error *err)
{
	for (uint32_t i = 0; i < d->graph->num_inputs; i++) {
		*cause = &d->tensors[i]->fault;
		if (tensor_check_written(d->tensors[i], "dispatch", err))
			return -1;
	}
	*cause = NULL;
	return 0;
}

/*
 * Ends a dispatch: notes whether its outputs were written, reports its statistics or its error, and
 * frees the task. Dispatches end in the order of the calls.
 */
static void run_done(struct run_dispatch *run, const struct wnn_error *err,
		     const struct run_statistics *statistics)
{
	struct dispatch_task *d = (void *)((char *)run - offsetof(struct dispatch_task, run));
	const struct wnn_error *cause = err;
	WNNContext context = d->graph->context;
	struct wnn_error of_input;

	wnn_error_init(&of_input);
	if (!err && check_inputs(d, &cause, &of_input))
		err = &of_input;
	for (uint32_t i = d->graph->num_inputs; i < d->num_tensors; i++)
		tensor_note_written(d->tensors[i], cause);
	if (!err) {
		wnn_log_debug(&context->instance->log,
			      "dispatch of graph%s is through after %" PRIu64 " ns",
			      object_label_text(&d->graph->label), statistics->host_ns);
		tell_success(
			d, note_statistics(d->graph, d->run.compiled, statistics, &d->run.profile),
			statistics);
	} else if (!timeline_cancelled(context->timeline)) {
		tell_failure(d, err);
		if (context->device.lost)
			context_lose(context, context->device.lost_error.message);
	} else if (d->request) {
		request_complete(d->request, err, NULL);
	}
	free_task(d);
}

static bool aborted(struct run_dispatch *run)
{
	struct dispatch_task *d = (void *)((char *)run - offsetof(struct dispatch_task, run));

	return timeline_cancelled(d->graph->context->timeline);
}

static void run_task(struct timeline_task *task, bool cancelled)
{
	struct dispatch_task *d = (void *)task;
	struct wnn_error err;

	wnn_error_init(&err);
	if (!cancelled && d->numbers) {
		d->run.compiled = family_get(d->graph, d->numbers, &err);
		if (!d->run.compiled) {
			/* Dispatches end in the order of the calls. */
			run_device_drain(&d->graph->context->device);
			run_done(&d->run, &err, NULL);
			return;
		}
	}
	if (!cancelled) {
		run_dispatch_start(&d->run);
		return;
	}
	if (d->request) {
		context_check_lost(d->graph->context, "dispatch", &err);
		request_complete(d->request, &err, NULL);
	}
	free_task(d);
}

/* --- Checks --- */

static int check_type(const struct ir_type *type, WNNTensor tensor, const char *what,
		      struct wnn_error *err)
{
	char want[WNN_SHAPE_TEXT_SIZE], have[WNN_SHAPE_TEXT_SIZE];

	if (type->dtype == tensor->type.dtype && ir_type_same_shape(type, &tensor->type))
		return 0;
	return wnn_error_set(err, WNN_TYPE_ERROR, "%s: the tensor%s is %s%s; the graph has %s%s",
			     what, tensor_label(tensor), ir_dtype_name(tensor->type.dtype),
			     wnn_shape_text(&tensor->type, have, sizeof(have)),
			     ir_dtype_name(type->dtype), wnn_shape_text(type, want, sizeof(want)));
}

/* Binds a tensor; messages begin with @what. Returns 0 or -1. */
static int bind_port(WNNGraph graph, const WNNNamedTensor *named, bool output,
		     const struct graph_port *port, const char *what, WNNTensor *tensors,
		     struct wnn_error *err)
{
	WNNTensor *slot;

	if (named->tensor->is_constant)
		return wnn_error_set(err, WNN_TYPE_ERROR,
				     "%s: the tensor%s is a constant: give one of createTensor",
				     what, tensor_label(named->tensor));
	if (output && named->tensor->read_only)
		return wnn_error_set(err, WNN_TYPE_ERROR,
				     "%s: the tensor%s lies in a dma-buf whose file descriptor is "
				     "for reading only",
				     what, tensor_label(named->tensor));
	slot = output ? &tensors[graph->num_inputs + (port - graph->outputs)] :
			&tensors[port - graph->inputs];
	if (*slot)
		return wnn_error_set(err, WNN_TYPE_ERROR, "%s is given twice", what);
	if (!graph->family && check_type(&port->type, named->tensor, what, err))
		return -1;
	*slot = named->tensor;
	return 0;
}

int graph_bind(WNNGraph graph, const WNNNamedTensor *named, bool output, const char *call,
	       WNNTensor *tensors, struct wnn_error *err)
{
	const struct graph_port *port =
		output ? graph_find_port(graph->num_outputs, graph->output_list, named->name) :
			 graph_find_port(graph->num_inputs, graph->input_list, named->name);
	const char *kind = output ? "output" : "input";
	const char *label = object_label_text(&graph->label);
	char name[96], what[256];

	/* Making the text for messages takes a tenth of a small dispatch: only errors need it. */
	if (!tensor_check(graph->context, named->tensor, call, err) && port &&
	    !bind_port(graph, named, output, port, call, tensors, err))
		return 0;
	wnn_text_printable(name, sizeof(name), named->name.data, wnn_view_length(&named->name));
	snprintf(what, sizeof(what), "%s%s%s: %s \"%s\"", call, *label ? " of graph" : "", label,
		 kind, name);
	if (tensor_check(graph->context, named->tensor, what, err))
		return -1;
	if (!port)
		return wnn_error_set(err, WNN_TYPE_ERROR, "%s: the graph%s has no %s \"%s\"%s",
				     call, label, kind, name,
				     output ? "" :
					      "; it leaves out inputs that no output depends on");
	return bind_port(graph, named, output, port, what, tensors, err);
}

/* Writes what tensors[index] is, such as: input "x". Returns buffer. */
static const char *port_text(WNNGraph graph, uint32_t index, char *buffer, size_t size)
{
	bool output = index >= graph->num_inputs;
	const uint32_t *shape = output ? graph->outputs[index - graph->num_inputs].shape :
					 graph->inputs[index].shape;
	const WNNNamedOperandDescriptor *entry = output ? graph->output_list : graph->input_list;
	char name[96];

	while (entry->shape.data != shape)
		entry++;
	wnn_text_printable(name, sizeof(name), entry->name.data, entry->name.length);
	snprintf(buffer, size, "%s \"%s\"", output ? "output" : "input", name);
	return buffer;
}

/* Whether tensors[output] is of an output that updates the input of tensors[input] in place. */
static bool is_update(WNNGraph graph, uint32_t input, uint32_t output)
{
	return output >= graph->num_inputs &&
	       graph->outputs[output - graph->num_inputs].updates == input;
}

static int check_twice(const struct dispatch_task *d, struct wnn_error *err)
{
	char one[128], other[128];

	for (uint32_t i = 0; i < d->num_tensors; i++)
		for (uint32_t k = 0; k < i; k++)
			if (d->tensors[i] == d->tensors[k] && !is_update(d->graph, k, i))
				return wnn_error_set(err, WNN_TYPE_ERROR,
						     "dispatch: one tensor%s is given twice, as %s "
						     "and as %s; only an output that updates an "
						     "input in place may have its tensor",
						     tensor_label(d->tensors[i]),
						     port_text(d->graph, k, one, sizeof(one)),
						     port_text(d->graph, i, other, sizeof(other)));
	return 0;
}

/*
 * Checks that every input and output has a tensor; unknown names were refused before. Returns 0 or
 * -1.
 */
static int check_all(const struct dispatch_task *d, struct wnn_error *err)
{
	char text[128];

	for (uint32_t i = 0; i < d->num_tensors; i++)
		if (!d->tensors[i])
			return wnn_error_set(err, WNN_TYPE_ERROR,
					     "dispatch: no tensor is given for %s of the graph%s",
					     port_text(d->graph, i, text, sizeof(text)),
					     object_label_text(&d->graph->label));
	return 0;
}

/*
 * Finds the sizes that the shapes of the input tensors give to the names of dimensions, and checks
 * that the output tensors have these sizes. Returns 0 or -1.
 */
static int check_sizes(struct dispatch_task *d, struct wnn_error *err)
{
	WNNGraph graph = d->graph;
	const char *label = object_label_text(&graph->label);
	char what[256], port[128];

	snprintf(what, sizeof(what), "dispatch%s%s", *label ? " of graph" : "", label);
	if (family_find_sizes(graph, d->tensors, what, d->numbers, err))
		return -1;
	for (uint32_t i = 0; i < graph->num_outputs; i++) {
		struct ir_type type = family_type(graph, &graph->outputs[i], d->numbers);

		snprintf(what, sizeof(what), "dispatch%s%s: %s", *label ? " of graph" : "", label,
			 port_text(graph, graph->num_inputs + i, port, sizeof(port)));
		if (check_type(&type, d->tensors[graph->num_inputs + i], what, err))
			return -1;
	}
	return 0;
}

static int check_graph(WNNContext context, WNNGraph graph, struct wnn_error *err)
{
	if (context_check_lost(context, "dispatch", err))
		return -1;
	if (!graph)
		return wnn_error_set(err, WNN_TYPE_ERROR, "dispatch: the graph is NULL");
	if (debug_on && debug_verify(DEBUG_GRAPH, graph, "dispatch: graph", err))
		return -1;
	if (graph->context != context)
		return wnn_error_set(err, WNN_TYPE_ERROR,
				     "dispatch: the graph%s belongs to another context%s",
				     object_label_text(&graph->label),
				     object_label_text(&graph->context->label));
	return 0;
}

static int bind_all(struct dispatch_task *d, size_t input_count, const WNNNamedTensor *inputs,
		    size_t output_count, const WNNNamedTensor *outputs, struct wnn_error *err)
{
	if ((input_count && !inputs) || (output_count && !outputs))
		return wnn_error_set(err, WNN_TYPE_ERROR, "dispatch: %s is NULL",
				     input_count && !inputs ? "inputs" : "outputs");
	for (size_t i = 0; i < input_count; i++)
		if (graph_bind(d->graph, &inputs[i], false, "dispatch", d->tensors, err))
			return -1;
	for (size_t i = 0; i < output_count; i++)
		if (graph_bind(d->graph, &outputs[i], true, "dispatch", d->tensors, err))
			return -1;
	return check_all(d, err) || check_twice(d, err) || (d->numbers && check_sizes(d, err)) ?
		       -1 :
		       0;
}

static struct dispatch_task *make_task(WNNGraph graph, struct wnn_error *err)
{
	uint32_t tensors = graph->num_inputs + graph->num_outputs;
	size_t names = graph->family ? family_names(graph) : 0;
	struct dispatch_task *d =
		wnn_calloc(1, sizeof(*d) + tensors * (sizeof(*d->tensors) + sizeof(*d->buffers)) +
				      names * sizeof(*d->numbers));

	if (!d) {
		wnn_error_nomem(err, "dispatch");
		return NULL;
	}
	d->num_tensors = tensors;
	d->tensors = (WNNTensor *)(void *)(d + 1);
	d->buffers = (struct run_buffer **)(void *)(d->tensors + tensors);
	if (graph->family)
		d->numbers = (uint32_t *)(void *)(d->buffers + tensors);
	d->task.run = run_task;
	d->graph = graph;
	return d;
}

/* Takes references to the objects that the task uses; from now on free_task() must end it. */
static void take_references(struct dispatch_task *d, struct run_compiled *compiled)
{
	d->run.compiled = compiled;
	d->run.inputs = d->buffers;
	d->run.outputs = d->buffers + d->graph->num_inputs;
	d->run.done = run_done;
	d->run.aborted = aborted;
	graph_get(d->graph);
	context_get(d->graph->context);
	for (uint32_t i = 0; i < d->num_tensors; i++) {
		tensor_get(d->tensors[i]);
		d->buffers[i] = &d->tensors[i]->data.buffer;
	}
}

/*
 * Checks that the memory of no output overlaps that of another input or output. Returns 0 or -1.
 * Call it with the context's lock held.
 */
static int check_overlap(const struct dispatch_task *d, struct wnn_error *err)
{
	char text[128];

	for (uint32_t i = d->graph->num_inputs; i < d->num_tensors; i++)
		if (d->tensors[i]->lent && lend_overlaps(d->tensors, d->num_tensors, i))
			return wnn_error_set(err, WNN_TYPE_ERROR,
					     "dispatch: the memory of %s overlaps that of another "
					     "input or output",
					     port_text(d->graph, i, text, sizeof(text)));
	return 0;
}

/*
 * A dispatch for which the caller does not wait runs on the calling thread when the graph's last
 * one took at most this time: another thread would take about as long to start.
 */
#define QUICK_NS 20000

/* Whether the calling thread may run the dispatch itself. */
static bool is_quick(const struct dispatch_task *d)
{
	WNNGraph graph = d->graph;
	bool quick;

	if (d->waited_for)
		return true;
	pthread_mutex_lock(&graph->lock);
	quick = graph->dispatch_count && graph->statistics.host_ns <= QUICK_NS;
	pthread_mutex_unlock(&graph->lock);
	return quick && (!d->numbers || family_has(graph, d->numbers));
}

/*
 * Queues or runs the task. Returns 0, or -1 when an object of the dispatch is destroyed or mapped,
 * or memory of tensors overlaps.
 */
static int push(struct dispatch_task *d, struct wnn_error *err)
{
	WNNContext context = d->graph->context;
	struct timeline *timeline = context->timeline;
	bool quick = is_quick(d), runs = false;
	int ret = 0;

	pthread_mutex_lock(&context->lock);
	for (uint32_t i = 0; i < d->num_tensors && !ret; i++)
		ret = tensor_check(context, d->tensors[i], "dispatch", err) ||
				      tensor_check_unmapped(d->tensors[i], "dispatch", err) ?
			      -1 :
			      0;
	if (!ret)
		ret = check_overlap(d, err);
	/* A context that was lost after the caller's check has destroyed its graphs. */
	if (!ret && atomic_load(&d->graph->destroyed))
		ret = context_check_lost(context, "dispatch", err) ?
			      -1 :
			      graph_is_destroyed(d->graph, "dispatch", err);
	if (!ret)
		runs = context_push(context, &d->task, quick);
	pthread_mutex_unlock(&context->lock);
	if (runs)
		timeline_run(timeline, &d->task);
	return ret;
}

static int dispatch(WNNContext context, WNNGraph graph, size_t input_count,
		    const WNNNamedTensor *inputs, size_t output_count,
		    const WNNNamedTensor *outputs, struct request *request, bool waited_for,
		    struct wnn_error *err)
{
	struct run_compiled *compiled;
	struct dispatch_task *d;

	if (check_graph(context, graph, err))
		return -1;
	compiled = graph_compiled(graph, "dispatch", err);
	if (!compiled) {
		/* If the context is lost, that is the reason why the graph is destroyed. */
		context_check_lost(context, "dispatch", err);
		return -1;
	}
	d = make_task(graph, err);
	if (!d || bind_all(d, input_count, inputs, output_count, outputs, err)) {
		wnn_free(d);
		run_compiled_unref(compiled);
		return -1;
	}
	/* The timeline finds or compiles what a family needs for these sizes. */
	if (d->numbers) {
		run_compiled_unref(compiled);
		compiled = NULL;
	}
	take_references(d, compiled);
	d->waited_for = waited_for;
	d->queued_ns = wnn_clock_ns();
	if (request) {
		request_get(request);
		d->request = request;
		context_add_pending(context, request, NULL);
	}
	if (!push(d, err)) {
		wnn_log_debug(&context->instance->log,
			      "dispatch of graph%s: %zu inputs, %zu outputs",
			      object_label_text(&graph->label), input_count, output_count);
		return 0;
	}
	free_task(d);
	return -1;
}

WNNStatus wnnContextDispatch(WNNContext context, WNNGraph graph, size_t inputCount,
			     WNNNamedTensor const *inputs, size_t outputCount,
			     WNNNamedTensor const *outputs)
{
	struct wnn_error err;

	if (!api_check(context, "wnnContextDispatch", "context"))
		return wnnGetLastError(NULL);
	wnn_error_init(&err);
	if (!dispatch(context, graph, inputCount, inputs, outputCount, outputs, NULL, false, &err))
		return WNNStatus_Success;
	return context_error(context, &err);
}

static void start_measured(WNNContext context, WNNGraph graph, size_t input_count,
			   const WNNNamedTensor *inputs, size_t output_count,
			   const WNNNamedTensor *outputs, struct request *request, bool waited_for)
{
	struct wnn_error err;

	wnn_error_init(&err);
	if (dispatch(context, graph, input_count, inputs, output_count, outputs, request,
		     waited_for, &err))
		context_fail_request(context, request, &err);
	request_put(request);
}

void start_dispatch_measured(WNNContext context, WNNGraph graph, size_t inputCount,
			     WNNNamedTensor const *inputs, size_t outputCount,
			     WNNNamedTensor const *outputs, struct request *request)
{
	start_measured(context, graph, inputCount, inputs, outputCount, outputs, request, false);
}

/*
 * Finds WNNDispatchCopies in the chain of statistics; *copies is NULL without it. Returns 0, or -1
 * with *err when the chain has another struct.
 */
static int find_copies(const WNNDispatchStatistics *statistics, WNNDispatchCopies **copies,
		       struct wnn_error *err)
{
	*copies = NULL;
	for (WNNChainedStruct *s = statistics ? statistics->nextInChain : NULL; s; s = s->next) {
		if (s->sType != WNNSType_DispatchCopies || *copies)
			return wnn_error_set(err, WNN_TYPE_ERROR,
					     "wnnContextDispatchMeasuredSync: the chain of "
					     "WNNDispatchStatistics holds %s struct of sType %#x",
					     s->sType == WNNSType_DispatchCopies ? "a second" :
										   "an unknown",
					     (unsigned int)s->sType);
		*copies = (void *)s;
	}
	return 0;
}

WNNStatus wnnContextDispatchMeasuredSync(WNNContext context, WNNGraph graph, size_t inputCount,
					 WNNNamedTensor const *inputs, size_t outputCount,
					 WNNNamedTensor const *outputs, uint64_t timeoutNS,
					 WNNDispatchStatistics *statistics)
{
	union request_result result = { .file = 0 };
	WNNDispatchCopies *copies;
	struct wnn_error err;
	struct request *request;
	WNNStatus status;

	if (!api_check(context, "wnnContextDispatchMeasuredSync", "context"))
		return wnnGetLastError(NULL);
	wnn_error_init(&err);
	if (find_copies(statistics, &copies, &err))
		return context_error(context, &err);
	request = request_begin_sync(context->instance, REQUEST_DISPATCH_MEASURED,
				     "wnnContextDispatchMeasuredSync");
	if (!request)
		return wnnGetLastError(NULL);
	start_measured(context, graph, inputCount, inputs, outputCount, outputs, request,
		       timeoutNS == WNN_WAIT_FOREVER);
	status = request_wait(request, timeoutNS, &result);
	if (!status && statistics) {
		result.dispatch.statistics.nextInChain = statistics->nextInChain;
		*statistics = result.dispatch.statistics;
		if (copies) {
			result.dispatch.copies.chain = copies->chain;
			*copies = result.dispatch.copies;
		}
	}
	return status;
}
