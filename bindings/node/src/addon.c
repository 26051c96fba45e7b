// SPDX-License-Identifier: MIT
/*
 * The module: its functions, its state in each environment, and how results of the library reach
 * the event loop. The library has a file descriptor that is readable while callbacks are due; libuv
 * polls it, and the callbacks run on the thread of JavaScript.
 */
#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "addon.h"

/* Freed memory of this size and more goes back to the system; it is glibc's own initial value. */
#define MMAP_THRESHOLD (128 * 1024)

void throw_internal(napi_env env, char const *what)
{
	bool pending = false;

	napi_is_exception_pending(env, &pending);
	if (!pending)
		napi_throw_error(env, "ERR_WEBNN_INTERNAL", what);
}

/* Returns the error object of a status; NULL with a pending exception. */
static napi_value error_value(struct addon *addon, WNNStatus status, WNNStringView message)
{
	napi_env env = addon->env;
	napi_value make, arguments[2], receiver, error;

	if (napi_get_reference_value(env, addon->make_error, &make) != napi_ok ||
	    napi_create_uint32(env, status, &arguments[0]) != napi_ok ||
	    napi_create_string_utf8(env, message.data ? message.data : "", message.length,
				    &arguments[1]) != napi_ok ||
	    napi_get_undefined(env, &receiver) != napi_ok ||
	    napi_call_function(env, receiver, make, 2, arguments, &error) != napi_ok) {
		throw_internal(env, "Node.js made no error object: memory may be exhausted");
		return NULL;
	}
	return error;
}

void throw_status(struct addon *addon, WNNStatus status, WNNStringView message)
{
	napi_value error = error_value(addon, status, message);

	if (error)
		napi_throw(addon->env, error);
}

void throw_last_error(struct addon *addon)
{
	WNNError error = WNN_ERROR_INIT;

	wnnGetLastError(&error);
	throw_status(addon, error.status, error.message);
}

struct addon *addon_of(napi_env env)
{
	void *data = NULL;

	napi_get_instance_data(env, &data);
	return data;
}

bool arguments(napi_env env, napi_callback_info info, size_t count, napi_value *values)
{
	if (napi_get_cb_info(env, info, &count, values, NULL, NULL) == napi_ok)
		return true;
	throw_internal(env, "call the package webnn-npu, not its addon: no arguments");
	return false;
}

void addon_release(struct addon *addon)
{
	if (atomic_fetch_sub(&addon->references, 1) == 1)
		free(addon);
}

/* --- Requests -------------------------------------------------------------------------------- */

struct request *request_create(struct addon *addon, napi_value done)
{
	struct request *request = calloc(1, sizeof(*request));

	if (!request) {
		throw_status(addon, WNNStatus_UnknownError, WNN_STR("memory is exhausted"));
		return NULL;
	}
	if (napi_create_reference(addon->env, done, 1, &request->done) != napi_ok) {
		free(request);
		throw_internal(addon->env, "Node.js made no reference: memory may be exhausted");
		return NULL;
	}
	request->addon = addon;
	atomic_fetch_add(&addon->references, 1);
	return request;
}

void request_free(struct request *request)
{
	if (!atomic_load(&request->addon->closing))
		napi_delete_reference(request->addon->env, request->done);
	free(request->data);
	addon_release(request->addon);
	free(request);
}

bool request_started(struct request *request, WNNFuture future)
{
	struct addon *addon = request->addon;

	if (!future.id) {
		request_free(request);
		throw_last_error(addon);
		return false;
	}
	if (!request->background && !addon->pending++)
		uv_ref((uv_handle_t *)&addon->poll);
	return true;
}

void request_expect(struct request *request)
{
	if (!request->background)
		return;
	request->background = false;
	if (!request->addon->pending++)
		uv_ref((uv_handle_t *)&request->addon->poll);
}

bool request_begin(struct request *request, napi_handle_scope *scope)
{
	struct addon *addon = request->addon;

	if (atomic_load(&addon->closing))
		return false;
	if (!request->background && !--addon->pending)
		uv_unref((uv_handle_t *)&addon->poll);
	return napi_open_handle_scope(addon->env, scope) == napi_ok;
}

void request_end(struct request *request, napi_handle_scope scope, WNNStatus status,
		 WNNStringView message, napi_value value)
{
	struct addon *addon = request->addon;
	napi_env env = addon->env;
	napi_value done, receiver, error, arguments[2];

	napi_get_undefined(env, &arguments[0]);
	napi_get_undefined(env, &arguments[1]);
	napi_get_global(env, &receiver);
	/* When the value could not be made, there is an exception, which becomes the error. */
	if (status != WNNStatus_Success)
		value = error_value(addon, status, message);
	if (!value && napi_get_and_clear_last_exception(env, &error) == napi_ok)
		arguments[0] = error;
	else if (status != WNNStatus_Success)
		arguments[0] = value;
	else
		arguments[1] = value;
	napi_get_reference_value(env, request->done, &done);
	request_free(request);
	/* The call also runs the microtasks, so that each completion is a task of its own. */
	if (napi_make_callback(env, addon->async, receiver, done, 2, arguments, NULL) ==
		    napi_pending_exception &&
	    napi_get_and_clear_last_exception(env, &error) == napi_ok)
		napi_fatal_exception(env, error);
	napi_close_handle_scope(env, scope);
}

/* --- The environment ------------------------------------------------------------------------- */

static void on_events(uv_poll_t *poll, int status, int events)
{
	struct addon *addon = poll->data;

	(void)status;
	(void)events;
	if (!atomic_load(&addon->closing))
		wnnInstanceProcessEvents(addon->instance);
}

static void on_closed(uv_handle_t *handle)
{
	struct addon *addon = handle->data;

	napi_remove_async_cleanup_hook(addon->hook);
	addon_release(addon);
}

/* The environment ends: from now on, callbacks only free memory, on a thread of the library. */
static void on_cleanup(napi_async_cleanup_hook_handle handle, void *data)
{
	struct addon *addon = data;

	(void)handle;
	uv_poll_stop(&addon->poll);
	atomic_store(&addon->closing, true);
	wnnInstanceRelease(addon->instance);
	uv_close((uv_handle_t *)&addon->poll, on_closed);
}

static bool start_polling(napi_env env, struct addon *addon)
{
	uv_loop_t *loop;
	int fd = wnnInstanceGetEventFd(addon->instance);

	if (fd < 0 || napi_get_uv_event_loop(env, &loop) != napi_ok ||
	    uv_poll_init(loop, &addon->poll, fd) != 0)
		return false;
	addon->poll.data = addon;
	if (uv_poll_start(&addon->poll, UV_READABLE, on_events) != 0)
		return false;
	uv_unref((uv_handle_t *)&addon->poll);
	return true;
}

/*
 * initialize(makeError): stores the function that makes errors; JavaScript calls this before all
 * other functions. Returns undefined.
 */
static napi_value native_initialize(napi_env env, napi_callback_info info)
{
	struct addon *addon = addon_of(env);
	napi_value argument;

	if (!arguments(env, info, 1, &argument))
		return NULL;
	if (!addon->make_error &&
	    napi_create_reference(env, argument, 1, &addon->make_error) != napi_ok)
		throw_internal(env, "Node.js made no reference: memory may be exhausted");
	return NULL;
}

static bool export_functions(napi_env env, napi_value exports)
{
	static struct {
		char const *name;
		napi_callback function;
	} const functions[] = {
		{ "initialize", native_initialize },
		{ "createContext", native_create_context },
		{ "contextLost", native_context_lost },
		{ "contextAccelerated", native_context_accelerated },
		{ "contextLimits", native_context_limits },
		{ "contextDevice", native_context_device },
		{ "contextDestroy", native_context_destroy },
		{ "dispatch", native_dispatch },
		{ "createTensor", native_create_tensor },
		{ "createConstantTensor", native_create_constant_tensor },
		{ "readTensor", native_read_tensor },
		{ "writeTensor", native_write_tensor },
		{ "tensorDestroy", native_tensor_destroy },
		{ "graphDestroy", native_graph_destroy },
		{ "graphDescriptors", native_graph_descriptors },
		{ "graphPlacement", native_graph_placement },
		{ "graphProfile", native_graph_profile },
		{ "createBuilder", native_create_builder },
		{ "input", native_input },
		{ "constant", native_constant },
		{ "constantTensor", native_constant_tensor },
		{ "constantNumber", native_constant_number },
		{ "updateInput", native_update_input },
		{ "operator", native_operator },
		{ "operandInfo", native_operand_info },
		{ "build", native_build },
#if defined(WITH_ONNX)
		{ "onnxLoad", native_onnx_load },
		{ "onnxBuild", native_onnx_build },
		{ "onnxValues", native_onnx_values },
		{ "onnxReasons", native_onnx_reasons },
		{ "onnxSetDimension", native_onnx_set_dimension },
		{ "onnxSetShape", native_onnx_set_shape },
		{ "onnxSetValue", native_onnx_set_value },
		{ "onnxSetOutputs", native_onnx_set_outputs },
		{ "onnxDraw", native_onnx_draw },
#endif
	};

	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		napi_value function;

		if (napi_create_function(env, functions[i].name, NAPI_AUTO_LENGTH,
					 functions[i].function, NULL, &function) != napi_ok ||
		    napi_set_named_property(env, exports, functions[i].name, function) != napi_ok)
			return false;
	}
	return true;
}

/* The macro defines functions that no header declares. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

NAPI_MODULE_INIT()
{
	struct addon *addon = calloc(1, sizeof(*addon));
	napi_value name;

	if (!addon) {
		throw_internal(env, "memory is exhausted");
		return NULL;
	}
#ifdef __GLIBC__
	/*
	 * By default, glibc raises the value with each tensor that is freed, and keeps later memory
	 * in an arena for each thread: a process that has made many contexts would never shrink.
	 */
	mallopt(M_MMAP_THRESHOLD, MMAP_THRESHOLD);
#endif
	addon->env = env;
	atomic_init(&addon->references, 1);
	addon->instance = wnnCreateInstance(NULL);
	if (!addon->instance || !start_polling(env, addon) ||
	    napi_create_string_utf8(env, "webnn-npu", NAPI_AUTO_LENGTH, &name) != napi_ok ||
	    napi_async_init(env, NULL, name, &addon->async) != napi_ok ||
	    napi_set_instance_data(env, addon, NULL, NULL) != napi_ok ||
	    napi_add_async_cleanup_hook(env, on_cleanup, addon, &addon->hook) != napi_ok ||
	    !export_functions(env, exports)) {
		/*
		 * *addon is not freed, nor what it holds: Node's event loop may already poll a
		 * handle in it, and closes that handle only in a later iteration.
		 */
		throw_internal(env, "webnn-npu: the library could not be set up: memory or file "
				    "descriptors may be exhausted");
		return NULL;
	}
	return exports;
}
