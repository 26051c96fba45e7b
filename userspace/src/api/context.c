// SPDX-License-Identifier: MIT
/* The life of a context: creation, loss and release. */
#include "api/context.h"

#include <stdio.h>
#include <string.h>

#include "api/graph.h"
#include "api/tensor.h"
#include "api/webnn_async.h"
#include "cpu/cpu.h"
#include "util/malloc.h"

/* --- Errors --- */

void context_report(WNNContext context, const struct wnn_error *err)
{
	struct request *request;

	wnn_log_write(&context->instance->log, WNN_LOG_ERROR, "%s", err->message);
	if (!context->error_callback.function)
		return;
	request = request_create(context->instance, REQUEST_ERROR, context->error_callback);
	if (request)
		request_post(request, (WNNStatus)err->status, err->message);
}

WNNStatus context_error(WNNContext context, const struct wnn_error *err)
{
	context_report(context, err);
	return api_error(err);
}

void context_fail_work(WNNContext context, const struct wnn_error *err)
{
	context_report(context, err);
	if (!context->has_work_error)
		context->work_error = *err;
	context->has_work_error = true;
}

void context_fail_request(WNNContext context, struct request *request, const struct wnn_error *err)
{
	context_report(context, err);
	request_complete(request, err, NULL);
}

int context_check_lost(WNNContext context, const char *what, struct wnn_error *err)
{
	if (!atomic_load(&context->lost))
		return 0;
	return wnn_error_set(err, WNN_INVALID_STATE, "%s: the context%s is lost: %s", what,
			     object_label_text(&context->label), context->lost_message);
}

/* --- Pending requests --- */

static void link_request(struct request **head, struct request *request)
{
	request->next_pending = *head;
	request->link_pending = head;
	if (*head)
		(*head)->link_pending = &request->next_pending;
	*head = request;
}

static void unlink_request(struct request *request)
{
	if (!request->link_pending)
		return;
	*request->link_pending = request->next_pending;
	if (request->next_pending)
		request->next_pending->link_pending = request->link_pending;
	request->link_pending = NULL;
}

void context_add_pending(WNNContext context, struct request *request, const void *subject)
{
	pthread_mutex_lock(&context->lock);
	request->subject = subject;
	link_request(&context->pending, request);
	/*
	 * The context may have been lost after the caller's check; then context_lose() did not see
	 * this request.
	 */
	if (atomic_load(&context->lost))
		request_settle(request, WNNStatus_InvalidStateError, context->lost_message);
	pthread_mutex_unlock(&context->lock);
}

void context_remove_pending(WNNContext context, struct request *request)
{
	pthread_mutex_lock(&context->lock);
	unlink_request(request);
	pthread_mutex_unlock(&context->lock);
}

void context_fail_pending(WNNContext context, const void *subject, const char *message)
{
	struct request *oldest = NULL, *request;

	/*
	 * The list begins with the newest request, but requests shall fail in the order of the
	 * calls.
	 */
	for (request = context->pending; request; request = request->next_pending)
		oldest = request;
	for (request = oldest; request;) {
		if (!subject || request->subject == subject)
			request_settle(request, WNNStatus_InvalidStateError, message);
		if (request == context->pending)
			break;
		request = (struct request *)(void *)((char *)request->link_pending -
						     offsetof(struct request, next_pending));
	}
}

/* --- Loss --- */

void context_lose(WNNContext context, const char *message)
{
	struct request *request;

	pthread_mutex_lock(&context->lock);
	if (atomic_load(&context->lost)) {
		pthread_mutex_unlock(&context->lock);
		return;
	}
	snprintf(context->lost_message, sizeof(context->lost_message), "%s", message);
	atomic_store(&context->lost, true);
	timeline_cancel(context->timeline);
	context_fail_pending(context, NULL, context->lost_message);
	for (struct WNNGraphImpl *graph = context->graphs; graph; graph = graph->next)
		graph_lose(graph);
	for (struct WNNTensorImpl *tensor = context->tensors; tensor; tensor = tensor->next)
		tensor_lose(tensor);
	while ((request = context->lost_requests)) {
		unlink_request(request);
		request_settle(request, WNNStatus_Success, context->lost_message);
		request_put(request);
	}
	pthread_mutex_unlock(&context->lock);
	wnn_log_write(&context->instance->log, WNN_LOG_WARNING, "the context%s is lost: %s",
		      object_label_text(&context->label), message);
}

void wnnContextDestroy(WNNContext context)
{
	if (api_check(context, "wnnContextDestroy", "context"))
		context_lose(context, "wnnContextDestroy was called");
}

void start_get_lost(WNNContext context, struct request *request)
{
	pthread_mutex_lock(&context->lock);
	if (atomic_load(&context->lost)) {
		request_settle(request, WNNStatus_Success, context->lost_message);
		request_put(request);
	} else {
		link_request(&context->lost_requests, request);
	}
	pthread_mutex_unlock(&context->lock);
}

bool context_push(WNNContext context, struct timeline_task *task, bool quick)
{
	/*
	 * With an NPU, the timeline's own thread runs the task, because the task may wait for jobs.
	 */
	if (quick && !context->device.ws)
		return timeline_enter(context->timeline, task);
	timeline_push(context->timeline, task);
	return false;
}

bool context_try_enter(WNNContext context)
{
	return !context->device.ws && timeline_try_enter(context->timeline);
}

/* --- The end --- */

static void timeline_idle(void *userdata)
{
	WNNContext context = userdata;

	/* Waits for the jobs on the device, so that their statistics and errors are known. */
	run_device_drain(&context->device);
}

static void free_context(WNNContext context)
{
	WNNInstance instance = context->instance;

	pthread_mutex_destroy(&context->lock);
	context_config_free(&context->config);
	object_label_exit(&context->label);
	api_free_object(context);
	events_drop_user(&instance->events);
	instance_drop(instance);
}

static void timeline_end(void *userdata)
{
	WNNContext context = userdata;

	run_device_exit(&context->device);
	free_context(context);
}

void context_get(WNNContext context)
{
	if (context && !api_forked())
		atomic_fetch_add(&context->refs, 1);
}

void context_put(WNNContext context)
{
	struct request *request;

	if (!context || api_forked() || atomic_fetch_sub(&context->refs, 1) != 1)
		return;
	/*
	 * Without references the context can no longer be lost, so requests that wait for its loss
	 * are cancelled.
	 */
	while ((request = context->lost_requests)) {
		unlink_request(request);
		request_settle(request, WNNStatus_Cancelled,
			       "the last reference to the context was released");
		request_put(request);
	}
	timeline_stop(context->timeline);
}

/* --- Making --- */

struct open_task {
	struct timeline_task task;
	WNNContext context;
	struct request *request;
};

/* Whether a device can run quantizeLinear and dequantizeLinear with 4-bit types. */
static bool has_four_bit(WNNContext context)
{
	const struct ir_type four_bit[] = { { .dtype = IR_I4 }, { .dtype = IR_U4 } };
	const struct ir_type real = { .dtype = IR_F32 };
	bool all = true;

	for (int i = 0; i < 2; i++) {
		struct ir_value q = { .type = four_bit[i] }, r = { .type = real };
		struct ir_value *from[] = { &q, &r, &q }, *to[] = { &r, &r, &q }, *qs[] = { &q };
		struct ir_value *rs[] = { &r };
		struct ir_node dequantize = { .op = IR_OP_DEQUANTIZE,
					      .operands = from,
					      .num_operands = 3,
					      .results = rs,
					      .num_results = 1 };
		struct ir_node quantize = { .op = IR_OP_QUANTIZE,
					    .operands = to,
					    .num_operands = 3,
					    .results = qs,
					    .num_results = 1 };

		all &= context_can_run(&dequantize, context) && context_can_run(&quantize, context);
	}
	return all;
}

/* Computes the limits that opSupportLimits will return. Returns 0 or -1. */
static int find_limits(WNNContext context, struct wnn_error *err)
{
	const WNNOpSupportLimits none = WNN_OP_SUPPORT_LIMITS_INIT;
	WNNOpSupportLimits *limits = &context->op_limits;

	context->limits.four_bit = has_four_bit(context);
	*limits = none;
	wnn_limits_fill(&context->limits, limits);
	if (context->config.policy != WNNPlacementPolicy_NPUOnly)
		return 0;
	return wnn_limits_probe(&context->limits, context_can_run, context, limits, NULL, err);
}

static void open_context(struct timeline_task *task, bool cancelled)
{
	struct open_task *open = (void *)task;
	WNNContext context = open->context;
	union request_result result = { .context = context };
	struct wnn_error err = { 0 };

	(void)cancelled;
	if (!request_wanted(open->request)) {
		context_put(context);
	} else if (context_open_device(context, &err) || find_limits(context, &err)) {
		wnn_log_write(&context->instance->log, WNN_LOG_ERROR, "%s", err.message);
		request_complete(open->request, &err, NULL);
		context_put(context);
	} else {
		wnn_log_write(&context->instance->log, WNN_LOG_INFO, "device %s: %s",
			      context->device_name, context->reason);
		if (!request_complete(open->request, NULL, &result))
			context_put(context);
	}
	request_put(open->request);
	wnn_free(open);
}

static void set_limits(WNNContext context)
{
	uint64_t memory = context->config.memory_limit;

	if (memory && memory < WNN_DEFAULT_MAX_TENSOR_BYTES)
		context->limits.max_tensor_bytes = memory;
	for (int op = 0; op < IR_OP_COUNT; op++) {
		const struct ir_node node = { .op = (enum ir_op)op };

		if (cpu_supports(&node))
			context->limits.ir_ops |= UINT64_C(1) << op;
	}
}

static bool nobody_waits(void *userdata)
{
	WNNContext context = userdata;

	return timeline_cancelled(context->timeline);
}

static WNNContext make_context(WNNInstance instance, const WNNContextOptions *options,
			       struct wnn_error *err)
{
	static const struct timeline_ops ops = { timeline_idle, timeline_end };
	const WNNContextOptions defaults = WNN_CONTEXT_OPTIONS_INIT;
	WNNContext context = wnn_calloc(1, sizeof(*context));

	if (!context) {
		wnn_error_nomem(err, "a context");
		return NULL;
	}
	atomic_init(&context->refs, 1);
	context->instance = instance;
	context->device_name = "";
	context->error_callback =
		REQUEST_CALLBACK((options ? options : &defaults)->errorCallbackInfo);
	pthread_mutex_init(&context->lock, NULL);
	instance_hold(instance);
	events_add_user(&instance->events);
	if (context_config_parse(options, &context->config, err)) {
		free_context(context);
		return NULL;
	}
	context->device.log = &instance->log;
	context->device.heap.allocator = instance->allocator;
	context->device.heap.limit = context->config.memory_limit;
	context->device.profile = context->config.profile;
	context->device.power = context->config.power;
	context->device.last = &context->device.first;
	set_limits(context);
	context->device.cancelled = nobody_waits;
	context->device.userdata = context;
	context->timeline = timeline_create(&ops, context);
	if (!context->timeline) {
		wnn_error_set(err, WNN_UNKNOWN_ERROR,
			      "no thread can be started for a context: end other programs, or "
			      "raise the limits (ulimit -u, ulimit -v)");
		free_context(context);
		return NULL;
	}
	return context;
}

static int check_error_callback(const WNNContextOptions *options, struct wnn_error *err)
{
	const WNNErrorCallbackInfo *info;

	if (!options || !options->errorCallbackInfo.callback)
		return 0;
	info = &options->errorCallbackInfo;
	if (api_check_no_chain(info->nextInChain, "errorCallbackInfo", err))
		return -1;
	if (info->mode > WNNCallbackMode_AllowSpontaneous)
		return wnn_error_set(err, WNN_TYPE_ERROR,
				     "the mode of errorCallbackInfo is %u, which is no value of "
				     "WNNCallbackMode",
				     (unsigned int)info->mode);
	if (info->mode == WNNCallbackMode_WaitAnyOnly)
		return wnn_error_set(
			err, WNN_TYPE_ERROR,
			"the mode of errorCallbackInfo is WaitAnyOnly, but errors have no "
			"future to wait for: set AllowProcessEvents or AllowSpontaneous");
	return 0;
}

void start_create_context(WNNInstance instance, const WNNContextOptions *options,
			  struct request *request)
{
	struct open_task *open = wnn_calloc(1, sizeof(*open));
	struct wnn_error err = { 0 };
	WNNContext context = NULL;

	if (!open)
		wnn_error_nomem(&err, "a context");
	else if (!instance_permits(instance, WNNPermissionAction_CreateContext, &err) &&
		 !check_error_callback(options, &err))
		context = make_context(instance, options, &err);
	if (!context) {
		wnn_free(open);
		wnn_log_write(&instance->log, WNN_LOG_ERROR, "%s", err.message);
		request_complete(request, &err, NULL);
		request_put(request);
		return;
	}
	open->task.run = open_context;
	open->context = context;
	open->request = request;
	timeline_push(context->timeline, &open->task);
}

void start_create_context_from_gpu_device(WNNInstance instance, void *gpuDevice,
					  struct request *request)
{
	struct wnn_error err = { 0 };

	(void)gpuDevice;
	if (!instance_permits(instance, WNNPermissionAction_CreateContext, &err))
		wnn_error_set(&err, WNN_NOT_SUPPORTED,
			      "no WebGPU device can share memory with an NPU of this library");
	request_complete(request, &err, NULL);
	request_put(request);
}

WNNBool wnnContextGetAccelerated(WNNContext context)
{
	return api_check(context, "wnnContextGetAccelerated", "context") && context->accelerated;
}

WNNStatus wnnContextGetOpSupportLimits(WNNContext context, WNNOpSupportLimits *limits)
{
	WNNChainedStruct *chain;

	if (!api_check(context, "wnnContextGetOpSupportLimits", "context") ||
	    !api_check(limits, "wnnContextGetOpSupportLimits", "limits"))
		return wnnGetLastError(NULL);
	chain = limits->nextInChain;
	*limits = context->op_limits;
	limits->nextInChain = chain;
	return WNNStatus_Success;
}
