// SPDX-License-Identifier: MIT
/*
 * ONNX models, by libwebnn-onnx. Loading and building run on a thread of libuv's pool. JavaScript
 * sees to it that each model has one operation at a time, and that model and context stay alive
 * meanwhile.
 */
#include <stdlib.h>
#include <string.h>

#include "addon.h"

#if defined(WITH_ONNX)

#include <webnn/onnx.h>

/* An operation that loads a model, or builds a graph of it. */
struct work {
	napi_async_work handle;
	struct request *request;
	void (*run)(struct work *work);
	enum object_kind kind;
	/* Loading: the source of the model, a file or bytes. */
	WNNStringView path, folder;
	void *data;
	size_t size;
	/* Building: the model, the context, and the resulting graph. */
	WNNContext context;
	WNNOnnxModel model;
	WNNGraph graph;
	/* The result. */
	WNNStatus status;
	char *message;
	int64_t bytes;
};

void model_release(void *model)
{
	wnnOnnxModelRelease(model);
}

static void free_work(struct work *work)
{
	free((void *)work->path.data);
	free((void *)work->folder.data);
	free(work->data);
	free(work->message);
	free(work);
}

static void on_run(napi_env env, void *data)
{
	struct work *work = data;
	WNNError error = WNN_ERROR_INIT;

	(void)env;
	work->run(work);
	if (work->status == WNNStatus_Success)
		return;
	/* The last error belongs to this thread. */
	wnnOnnxGetLastError(&error);
	if (error.message.length)
		work->message = strndup(error.message.data, error.message.length);
}

static void on_complete(napi_env env, napi_status cancelled, void *data)
{
	struct work *work = data;
	struct request *request = work->request;
	void *made = work->kind == OBJECT_MODEL ? (void *)work->model : (void *)work->graph;
	WNNStringView message = { work->message, work->message ? strlen(work->message) : 0 };
	napi_handle_scope scope;
	napi_value value = NULL;

	napi_delete_async_work(env, work->handle);
	if (cancelled != napi_ok)
		work->status = WNNStatus_UnknownError;
	/* Without memory, there is no copy of the message either. */
	if (!work->message)
		message = WNN_STR("memory is exhausted");
	if (request_begin(request, &scope)) {
		if (work->status == WNNStatus_Success)
			value = object_create(request->addon, work->kind, made, work->bytes, NULL);
		request_end(request, scope, work->status, message, value);
	} else {
		if (work->status == WNNStatus_Success && work->kind == OBJECT_MODEL)
			wnnOnnxModelRelease(work->model);
		else
			wnnGraphRelease(work->graph);
		request_free(request);
	}
	free_work(work);
}

/*
 * Starts the work, which is taken over; done is called at its end, unless there is a pending
 * exception.
 */
static void start_work(struct addon *addon, struct work *work, napi_value done)
{
	napi_value name;

	work->request = request_create(addon, done);
	if (work->request) {
		/* The work itself keeps the event loop alive, so that the request need not. */
		work->request->background = true;
		if (napi_create_string_utf8(addon->env, "webnn-npu/onnx", NAPI_AUTO_LENGTH,
					    &name) == napi_ok &&
		    napi_create_async_work(addon->env, NULL, name, on_run, on_complete, work,
					   &work->handle) == napi_ok) {
			if (napi_queue_async_work(addon->env, work->handle) == napi_ok)
				return;
			napi_delete_async_work(addon->env, work->handle);
		}
		request_free(work->request);
		throw_internal(addon->env, "Node.js queued no work: memory may be exhausted");
	}
	free_work(work);
}

static struct work *create_work(struct addon *addon, enum object_kind kind,
				void (*run)(struct work *work))
{
	struct work *work = calloc(1, sizeof(*work));

	if (!work) {
		throw_status(addon, WNNStatus_UnknownError, WNN_STR("memory is exhausted"));
		return NULL;
	}
	work->kind = kind;
	work->run = run;
	return work;
}

static void run_load(struct work *work)
{
	WNNOnnxLoadOptions options = WNN_ONNX_LOAD_OPTIONS_INIT;

	options.folder = work->folder;
	if (work->data) {
		work->bytes = (int64_t)work->size;
		work->status = wnnOnnxLoadMemory(work->data, work->size, &options, &work->model);
		return;
	}
	/* A file is mapped, and not copied. */
	work->status = wnnOnnxLoadFile(work->path, &options, &work->model);
}

static bool is_text(napi_env env, napi_value value)
{
	napi_valuetype type = napi_undefined;

	napi_typeof(env, value, &type);
	return type == napi_string;
}

/*
 * onnxLoad(path or bytes, folder, done): loads a model in another thread and calls done with it;
 * folder may be "".
 */
napi_value native_onnx_load(napi_env env, napi_callback_info info)
{
	struct addon *addon = addon_of(env);
	struct work *work;
	napi_value values[3];
	void *data;

	if (!arguments(env, info, 3, values))
		return NULL;
	work = create_work(addon, OBJECT_MODEL, run_load);
	if (!work)
		return NULL;
#if defined(WITH_PROTOBUF_LOADER)
	if (!protobuf_is_there()) {
		free_work(work);
		throw_status(
			addon, WNNStatus_NotSupportedError,
			WNN_STR("libprotobuf-c.so.1, which reads models of ONNX, is missing or "
				"does not load: install it (Debian: libprotobuf-c1)"));
		return NULL;
	}
#endif
	if (!get_text(env, values[1], &work->folder) ||
	    (is_text(env, values[0]) ? !get_text(env, values[0], &work->path) :
				       !get_bytes(env, values[0], &data, &work->size))) {
		free_work(work);
		return NULL;
	}
	if (!work->path.data) {
		/* Copies the bytes, which a script may change meanwhile. */
		work->data = malloc(work->size + 1);
		if (!work->data) {
			free_work(work);
			throw_status(addon, WNNStatus_UnknownError, WNN_STR("memory is exhausted"));
			return NULL;
		}
		if (work->size)
			memcpy(work->data, data, work->size);
	}
	start_work(addon, work, values[2]);
	return NULL;
}

static void run_build(struct work *work)
{
	work->status =
		wnnOnnxModelBuildSync(work->model, work->context, WNN_WAIT_FOREVER, &work->graph);
}

/*
 * onnxBuild(model, context, bytes, done): builds the graph in another thread and calls done with
 * it; bytes is the approximate size of the graph, for the garbage collector.
 */
napi_value native_onnx_build(napi_env env, napi_callback_info info)
{
	struct object *model, *context;
	struct work *work;
	napi_value values[4];

	if (!arguments(env, info, 4, values))
		return NULL;
	model = object_get(env, values[0], OBJECT_MODEL);
	context = model ? object_get(env, values[1], OBJECT_CONTEXT) : NULL;
	work = context ? create_work(model->addon, OBJECT_GRAPH, run_build) : NULL;
	if (!work)
		return NULL;
	work->model = model->model;
	work->context = context->context;
	napi_get_value_int64(env, values[2], &work->bytes);
	start_work(model->addon, work, values[3]);
	return NULL;
}

/* --- What a model is ------------------------------------------------------------------------- */

static bool set_item(napi_env env, napi_value list, uint32_t index, WNNStringView text)
{
	napi_value value;

	return napi_create_string_utf8(env, text.data ? text.data : "", text.length, &value) ==
		       napi_ok &&
	       napi_set_element(env, list, index, value) == napi_ok;
}

static bool set_item_number(napi_env env, napi_value list, uint32_t index, double number)
{
	napi_value value;

	return napi_create_double(env, number, &value) == napi_ok &&
	       napi_set_element(env, list, index, value) == napi_ok;
}

/* Adds -1 for an unknown rank, else a list of sizes and names; a name is "" when there is none. */
static bool set_dimensions(napi_env env, napi_value list, uint32_t index,
			   WNNOnnxValueInfo const *value)
{
	napi_value dimensions;

	if (value->rank == WNN_ONNX_RANK_UNKNOWN)
		return set_item_number(env, list, index, -1);
	if (napi_create_array_with_length(env, value->rank, &dimensions) != napi_ok)
		return false;
	for (uint32_t i = 0; i < value->rank; i++) {
		WNNOnnxDimension const *dimension = &value->dimensions[i];

		if (dimension->size == WNN_ONNX_DIMENSION_UNKNOWN ?
			    !set_item(env, dimensions, i, dimension->name) :
			    !set_item_number(env, dimensions, i, (double)dimension->size))
			return false;
	}
	return napi_set_element(env, list, index, dimensions) == napi_ok;
}

static bool set_value(napi_env env, napi_value list, uint32_t index, WNNOnnxValueInfo const *value)
{
	napi_value item;

	return napi_create_array_with_length(env, 6, &item) == napi_ok &&
	       set_item(env, item, 0, value->name) &&
	       set_item_number(env, item, 1, (double)value->kind) &&
	       set_item(env, item, 2, value->elementType) &&
	       set_item_number(env, item, 3, (double)value->dataType) &&
	       set_dimensions(env, item, 4, value) &&
	       set_item_number(env, item, 5, value->fixed ? 1 : 0) &&
	       napi_set_element(env, list, index, item) == napi_ok;
}

/* Returns the model, which is the first of @count arguments; NULL with a pending exception. */
static struct object *model_and(napi_env env, napi_callback_info info, size_t count,
				napi_value *values)
{
	return arguments(env, info, count, values) ? object_get(env, values[0], OBJECT_MODEL) :
						     NULL;
}

/*
 * onnxValues(model, which): returns [[name, kind, element type, data type, dimensions, fixed] …].
 */
napi_value native_onnx_values(napi_env env, napi_callback_info info)
{
	static WNNOnnxValueInfoArray (*const lists[])(WNNOnnxModel) = {
		wnnOnnxModelGetInputs,
		wnnOnnxModelGetOutputs,
		wnnOnnxModelGetRandomInputs,
		wnnOnnxModelGetEmptyOutputs,
	};
	napi_value values[2], result;
	struct object *model = model_and(env, info, 2, values);
	WNNOnnxValueInfoArray array;
	uint32_t which = 0;

	if (!model)
		return NULL;
	napi_get_value_uint32(env, values[1], &which);
	array = lists[which & 3](model->model);
	if (napi_create_array_with_length(env, array.count, &result) != napi_ok)
		return NULL;
	for (uint32_t i = 0; i < array.count; i++) {
		if (!set_value(env, result, i, &array.data[i])) {
			throw_internal(env, "Node.js made no array: memory may be exhausted");
			return NULL;
		}
	}
	return result;
}

/*
 * onnxReasons(model, notices): returns [[node, operator, attribute, reason, input] …], for refusals
 * or notices.
 */
napi_value native_onnx_reasons(napi_env env, napi_callback_info info)
{
	napi_value values[2], result, item;
	struct object *model = model_and(env, info, 2, values);
	WNNOnnxRefusalArray array;
	bool notices = false;

	if (!model)
		return NULL;
	napi_get_value_bool(env, values[1], &notices);
	array = notices ? wnnOnnxModelGetNotices(model->model) :
			  wnnOnnxModelGetRefusals(model->model);
	if (napi_create_array_with_length(env, array.count, &result) != napi_ok)
		return NULL;
	for (uint32_t i = 0; i < array.count; i++) {
		WNNOnnxRefusal const *reason = &array.data[i];

		if (napi_create_array_with_length(env, 5, &item) != napi_ok ||
		    !set_item(env, item, 0, reason->node) ||
		    !set_item(env, item, 1, reason->operatorName) ||
		    !set_item(env, item, 2, reason->attribute) ||
		    !set_item(env, item, 3, reason->reason) ||
		    !set_item(env, item, 4, reason->input) ||
		    napi_set_element(env, result, i, item) != napi_ok) {
			throw_internal(env, "Node.js made no array: memory may be exhausted");
			return NULL;
		}
	}
	return result;
}

/* --- What is said about a model -------------------------------------------------------------- */

static void check(struct addon *addon, WNNStatus status)
{
	WNNError error = WNN_ERROR_INIT;

	if (status == WNNStatus_Success)
		return;
	wnnOnnxGetLastError(&error);
	throw_status(addon, status, error.message);
}

/*
 * onnxSetDimension(model, name, size): sets the size of a named dimension; throws the error of the
 * library.
 */
napi_value native_onnx_set_dimension(napi_env env, napi_callback_info info)
{
	napi_value values[3];
	struct object *model = model_and(env, info, 3, values);
	WNNStringView name;
	uint32_t size = 0;

	if (!model || !get_text(env, values[1], &name))
		return NULL;
	napi_get_value_uint32(env, values[2], &size);
	check(model->addon, wnnOnnxModelSetDimension(model->model, name, size));
	free((void *)name.data);
	return NULL;
}

/* onnxSetShape(model, name, shape): sets the shape of an input; throws the error of the library. */
napi_value native_onnx_set_shape(napi_env env, napi_callback_info info)
{
	napi_value values[3];
	struct object *model = model_and(env, info, 3, values);
	WNNUint32Array shape = { 0 };
	uint32_t *sizes;
	WNNStringView name;

	if (!model || !get_text(env, values[1], &name))
		return NULL;
	if (get_u32s(env, values[2], &sizes, &shape.count)) {
		shape.data = sizes;
		check(model->addon, wnnOnnxModelSetInputShape(model->model, name, shape));
		free(sizes);
	}
	free((void *)name.data);
	return NULL;
}

/*
 * onnxSetValue(model, name, bytes): makes an input a constant with these bytes; undefined means an
 * optional value that is absent.
 */
napi_value native_onnx_set_value(napi_env env, napi_callback_info info)
{
	napi_value values[3];
	struct object *model = model_and(env, info, 3, values);
	napi_valuetype type = napi_undefined;
	void *data = NULL;
	WNNStringView name;
	size_t size = 0;

	if (!model || !get_text(env, values[1], &name))
		return NULL;
	napi_typeof(env, values[2], &type);
	if (type == napi_undefined || get_bytes(env, values[2], &data, &size)) {
		/* An empty value is not the same as an absent one. */
		if (type != napi_undefined && !data)
			data = "";
		check(model->addon, wnnOnnxModelSetInputValue(model->model, name, data, size));
	}
	free((void *)name.data);
	return NULL;
}

/*
 * onnxSetOutputs(model, names): chooses the outputs of the graph; throws the error of the library.
 */
napi_value native_onnx_set_outputs(napi_env env, napi_callback_info info)
{
	napi_value values[2], item;
	struct object *model = model_and(env, info, 2, values);
	WNNStringView *names;
	uint32_t count = 0, done = 0;

	if (!model || napi_get_array_length(env, values[1], &count) != napi_ok)
		return NULL;
	names = calloc((size_t)count + 1, sizeof(*names));
	if (!names) {
		throw_status(model->addon, WNNStatus_UnknownError, WNN_STR("memory is exhausted"));
		return NULL;
	}
	while (done < count && napi_get_element(env, values[1], done, &item) == napi_ok &&
	       get_text(env, item, &names[done]))
		done++;
	if (done == count)
		check(model->addon, wnnOnnxModelSetOutputs(model->model, count, names));
	for (uint32_t i = 0; i < done; i++)
		free((void *)names[i].data);
	free(names);
	return NULL;
}

/* onnxDraw(model, name, seed, dispatch, bytes): writes the elements of a random input to bytes. */
napi_value native_onnx_draw(napi_env env, napi_callback_info info)
{
	napi_value values[5];
	struct object *model = model_and(env, info, 5, values);
	uint64_t seed = 0, dispatch = 0;
	bool lossless;
	WNNStringView name;
	void *data;
	size_t size;

	if (!model || !get_text(env, values[1], &name))
		return NULL;
	napi_get_value_bigint_uint64(env, values[2], &seed, &lossless);
	napi_get_value_bigint_uint64(env, values[3], &dispatch, &lossless);
	if (get_bytes(env, values[4], &data, &size))
		check(model->addon,
		      wnnOnnxModelDraw(model->model, name, seed, dispatch, data, size));
	free((void *)name.data);
	return NULL;
}

#else

/* Built without libwebnn-onnx there are no models; webnn-npu/onnx tells the reason. */
void model_release(void *model)
{
	(void)model;
}

#endif
