// SPDX-License-Identifier: MIT
/* Contexts: creation, loss, limits, dispatch. */
#include <stdlib.h>
#include <string.h>

#include "addon.h"

static void on_context(WNNStatus status, WNNContext context, WNNStringView message, void *userdata1,
		       void *userdata2)
{
	struct request *request = userdata1;
	napi_handle_scope scope;
	napi_value value = NULL;

	(void)userdata2;
	if (!request_begin(request, &scope)) {
		wnnContextRelease(context);
		request_free(request);
		return;
	}
	if (status == WNNStatus_Success)
		value = object_create(request->addon, OBJECT_CONTEXT, context, 0, NULL);
	request_end(request, scope, status, message, value);
}

/*
 * createContext(powerPreference, accelerated, device, profile, done): starts to open a device and
 * calls done with the context. With the device "", the library chooses the device.
 */
napi_value native_create_context(napi_env env, napi_callback_info info)
{
	WNNCreateContextCallbackInfo callback = WNN_CREATE_CONTEXT_CALLBACK_INFO_INIT;
	WNNContextDeviceOptions device = WNN_CONTEXT_DEVICE_OPTIONS_INIT;
	WNNContextOptions options = WNN_CONTEXT_OPTIONS_INIT;
	struct addon *addon = addon_of(env);
	struct request *request;
	uint32_t power = 0;
	bool accelerated = true, profile = false;
	napi_value values[5];

	if (!arguments(env, info, 5, values) || !get_text(env, values[2], &device.device))
		return NULL;
	napi_get_value_uint32(env, values[0], &power);
	napi_get_value_bool(env, values[1], &accelerated);
	options.powerPreference = (WNNPowerPreference)power;
	napi_get_value_bool(env, values[3], &profile);
	options.accelerated = accelerated;
	device.profile = profile;
	options.nextInChain = &device.chain;
	request = request_create(addon, values[4]);
	if (request) {
		callback.callback = on_context;
		callback.userdata1 = request;
		request_started(request,
				wnnInstanceCreateContext(addon->instance, &options, callback));
	}
	free((void *)device.device.data);
	return NULL;
}

static void on_lost(WNNStatus status, WNNStringView message, void *userdata1, void *userdata2)
{
	struct request *request = userdata1;
	struct addon *addon = request->addon;
	napi_handle_scope scope;
	napi_value text;

	(void)userdata2;
	if (!request_begin(request, &scope)) {
		request_free(request);
		return;
	}
	if (request->context)
		request->context->lost_request = NULL;
	if (status == WNNStatus_Cancelled) {
		/* The context was collected, so that nobody waits for its loss any more. */
		request_free(request);
		napi_close_handle_scope(addon->env, scope);
		return;
	}
	if (napi_create_string_utf8(addon->env, message.data ? message.data : "", message.length,
				    &text) != napi_ok)
		text = NULL;
	request_end(request, scope, WNNStatus_Success, message, text);
}

/* contextLost(context, done): calls done with the message when the context is lost. */
napi_value native_context_lost(napi_env env, napi_callback_info info)
{
	WNNContextLostCallbackInfo callback = WNN_CONTEXT_LOST_CALLBACK_INFO_INIT;
	struct object *context;
	struct request *request;
	napi_value values[2];
	WNNFuture future;

	if (!arguments(env, info, 2, values))
		return NULL;
	context = object_get(env, values[0], OBJECT_CONTEXT);
	if (!context)
		return NULL;
	request = request_create(context->addon, values[1]);
	if (!request)
		return NULL;
	request->background = true;
	callback.callback = on_lost;
	callback.userdata1 = request;
	future = wnnContextGetLost(context->context, callback);
	if (request_started(request, future)) {
		context->lost = future;
		context->lost_request = request;
		request->context = context;
	}
	return NULL;
}

napi_value native_context_accelerated(napi_env env, napi_callback_info info)
{
	struct object *context;
	napi_value value, result = NULL;

	if (!arguments(env, info, 1, &value))
		return NULL;
	context = object_get(env, value, OBJECT_CONTEXT);
	if (context)
		napi_get_boolean(env, wnnContextGetAccelerated(context->context) != 0, &result);
	return result;
}

napi_value native_context_destroy(napi_env env, napi_callback_info info)
{
	struct object *context;
	napi_value value;

	if (!arguments(env, info, 1, &value))
		return NULL;
	context = object_get(env, value, OBJECT_CONTEXT);
	if (context) {
		if (context->lost_request)
			request_expect(context->lost_request);
		wnnContextDestroy(context->context);
	}
	return NULL;
}

/*
 * From the member input on, WNNOpSupportLimits is an array of WNNTensorLimits without padding;
 * idl.js has their names.
 */
#define LIMITS_SIZE (sizeof(WNNOpSupportLimits) - offsetof(WNNOpSupportLimits, input))
_Static_assert(sizeof(WNNTensorLimits) == 3 * sizeof(uint32_t), "limits are three numbers");
_Static_assert(offsetof(WNNTensorLimits, rankRange) == sizeof(uint32_t), "types come first");
_Static_assert(LIMITS_SIZE % sizeof(WNNTensorLimits) < _Alignof(WNNOpSupportLimits),
	       "nothing but limits follows");

/*
 * contextLimits(context): returns [preferredInputLayout, maxTensorByteLength, types, min, max,
 * types …].
 */
napi_value native_context_limits(napi_env env, napi_callback_info info)
{
	WNNOpSupportLimits limits = WNN_OP_SUPPORT_LIMITS_INIT;
	uint32_t const *numbers = (uint32_t const *)&limits.input;
	size_t count = LIMITS_SIZE / sizeof(WNNTensorLimits) * 3;
	struct object *context;
	napi_value value, result;

	if (!arguments(env, info, 1, &value))
		return NULL;
	context = object_get(env, value, OBJECT_CONTEXT);
	if (!context)
		return NULL;
	if (wnnContextGetOpSupportLimits(context->context, &limits) != WNNStatus_Success) {
		throw_last_error(context->addon);
		return NULL;
	}
	if (napi_create_array_with_length(env, count + 2, &result) != napi_ok)
		return NULL;
	napi_create_uint32(env, limits.preferredInputLayout, &value);
	napi_set_element(env, result, 0, value);
	if (limits.maxTensorByteLength > MAX_TENSOR_BYTES)
		limits.maxTensorByteLength = MAX_TENSOR_BYTES;
	napi_create_double(env, (double)limits.maxTensorByteLength, &value);
	napi_set_element(env, result, 1, value);
	for (size_t i = 0; i < count; i++) {
		napi_create_uint32(env, numbers[i], &value);
		napi_set_element(env, result, (uint32_t)i + 2, value);
	}
	return result;
}

/* --- dispatch -------------------------------------------------------------------------------- */

static void free_named(WNNNamedTensor *named, size_t count)
{
	for (size_t i = 0; named && i < count; i++)
		free((void *)named[i].name.data);
	free(named);
}

/*
 * Sets *result to the *count pairs of two arrays of equal length, of names and of tensors; returns
 * false with a pending exception.
 */
static bool get_named(napi_env env, napi_value names, napi_value tensors, WNNNamedTensor **result,
		      size_t *count)
{
	WNNNamedTensor *named;
	uint32_t length;

	if (napi_get_array_length(env, names, &length) != napi_ok) {
		throw_internal(env,
			       "call the package webnn-npu, not its addon: the value is no array");
		return false;
	}
	named = calloc((size_t)length + 1, sizeof(*named));
	if (!named) {
		throw_status(addon_of(env), WNNStatus_UnknownError, WNN_STR("memory is exhausted"));
		return false;
	}
	for (uint32_t i = 0; i < length; i++) {
		struct object *tensor = NULL;
		napi_value value;

		if (napi_get_element(env, names, i, &value) == napi_ok &&
		    get_text(env, value, &named[i].name) &&
		    napi_get_element(env, tensors, i, &value) == napi_ok)
			tensor = object_get(env, value, OBJECT_TENSOR);
		if (!tensor) {
			free_named(named, length);
			throw_internal(
				env, "call the package webnn-npu, not its addon: a named tensor is "
				     "wrong");
			return false;
		}
		named[i].tensor = tensor->tensor;
	}
	*result = named;
	*count = length;
	return true;
}

/*
 * dispatch(context, graph, inputNames, inputTensors, outputNames, outputTensors): enqueues a run of
 * the graph; returns undefined, or throws the error of the library.
 */
napi_value native_dispatch(napi_env env, napi_callback_info info)
{
	WNNNamedTensor *inputs = NULL, *outputs = NULL;
	size_t input_count = 0, output_count = 0;
	struct object *context, *graph;
	napi_value values[6];

	if (!arguments(env, info, 6, values))
		return NULL;
	context = object_get(env, values[0], OBJECT_CONTEXT);
	graph = context ? object_get(env, values[1], OBJECT_GRAPH) : NULL;
	if (graph && get_named(env, values[2], values[3], &inputs, &input_count) &&
	    get_named(env, values[4], values[5], &outputs, &output_count) &&
	    wnnContextDispatch(context->context, graph->graph, input_count, inputs, output_count,
			       outputs) != WNNStatus_Success)
		throw_last_error(context->addon);
	free_named(inputs, input_count);
	free_named(outputs, output_count);
	return NULL;
}

/* --- Graphs ---------------------------------------------------------------------------------- */

napi_value native_graph_destroy(napi_env env, napi_callback_info info)
{
	struct object *graph;
	napi_value value;

	if (!arguments(env, info, 1, &value))
		return NULL;
	graph = object_get(env, value, OBJECT_GRAPH);
	if (graph) {
		wnnGraphDestroy(graph->graph);
		object_forget_bytes(graph);
	}
	return NULL;
}

/* Returns [[name, data type, shape] …]. */
static napi_value descriptors(napi_env env, WNNNamedOperandDescriptorArray array)
{
	napi_value list, item, value, shape;

	if (napi_create_array_with_length(env, array.count, &list) != napi_ok)
		return NULL;
	for (uint32_t i = 0; i < array.count; i++) {
		WNNNamedOperandDescriptor const *descriptor = &array.data[i];

		if (napi_create_array_with_length(env, 3, &item) != napi_ok ||
		    napi_create_array_with_length(env, descriptor->shape.count, &shape) !=
			    napi_ok ||
		    napi_create_string_utf8(env, descriptor->name.data, descriptor->name.length,
					    &value) != napi_ok)
			return NULL;
		napi_set_element(env, item, 0, value);
		napi_create_uint32(env, descriptor->dataType, &value);
		napi_set_element(env, item, 1, value);
		for (uint32_t axis = 0; axis < descriptor->shape.count; axis++) {
			napi_create_uint32(env, descriptor->shape.data[axis], &value);
			napi_set_element(env, shape, axis, value);
		}
		napi_set_element(env, item, 2, shape);
		napi_set_element(env, list, i, item);
	}
	return list;
}

/* graphDescriptors(graph): returns [inputs, outputs], each a list of [name, data type, shape]. */
napi_value native_graph_descriptors(napi_env env, napi_callback_info info)
{
	napi_value value, inputs, outputs, result;
	struct object *graph;

	if (!arguments(env, info, 1, &value))
		return NULL;
	graph = object_get(env, value, OBJECT_GRAPH);
	if (!graph)
		return NULL;
	inputs = descriptors(env, wnnGraphGetInputs(graph->graph));
	outputs = descriptors(env, wnnGraphGetOutputs(graph->graph));
	if (!inputs || !outputs || napi_create_array_with_length(env, 2, &result) != napi_ok) {
		throw_internal(env, "Node.js made no array: memory may be exhausted");
		return NULL;
	}
	napi_set_element(env, result, 0, inputs);
	napi_set_element(env, result, 1, outputs);
	return result;
}
