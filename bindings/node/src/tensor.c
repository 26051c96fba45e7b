// SPDX-License-Identifier: MIT
/* Tensors: creation, reading, writing. */
#include <stdlib.h>
#include <string.h>

#include "addon.h"

/*
 * Results of a read of at least this many bytes are lent to JavaScript; copying smaller ones costs
 * less.
 */
#define LEND_BYTES 65536

static void on_tensor(WNNStatus status, WNNTensor tensor, WNNStringView message, void *userdata1,
		      void *userdata2)
{
	struct request *request = userdata1;
	napi_handle_scope scope;
	napi_value value = NULL;

	(void)userdata2;
	if (!request_begin(request, &scope)) {
		wnnTensorRelease(tensor);
		request_free(request);
		return;
	}
	if (status == WNNStatus_Success)
		value = object_create(request->addon, OBJECT_TENSOR, tensor,
				      (int64_t)wnnTensorGetByteLength(tensor), NULL);
	request_end(request, scope, status, message, value);
}

/* Checks the size of a tensor. Returns false with a pending exception. */
static bool check_size(struct addon *addon, uint32_t type, uint32_t const *shape, size_t count)
{
	if (shape_fits((WNNOperandDataType)type, shape, count))
		return true;
	throw_status(
		addon, WNNStatus_TypeError,
		WNN_STR("the tensor has more bytes than opSupportLimits().maxTensorByteLength"));
	return false;
}

/*
 * createTensor(context, dataType, shape, readable, writable, done): calls done with a new tensor.
 */
napi_value native_create_tensor(napi_env env, napi_callback_info info)
{
	WNNCreateTensorCallbackInfo callback = WNN_CREATE_TENSOR_CALLBACK_INFO_INIT;
	WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
	bool readable = false, writable = false;
	struct object *context;
	struct request *request;
	uint32_t *shape, type = 0;
	napi_value values[6];

	if (!arguments(env, info, 6, values))
		return NULL;
	context = object_get(env, values[0], OBJECT_CONTEXT);
	if (!context || !get_u32s(env, values[2], &shape, &descriptor.shape.count))
		return NULL;
	napi_get_value_uint32(env, values[1], &type);
	napi_get_value_bool(env, values[3], &readable);
	napi_get_value_bool(env, values[4], &writable);
	descriptor.dataType = (WNNOperandDataType)type;
	descriptor.shape.data = shape;
	descriptor.readable = readable;
	descriptor.writable = writable;
	request = check_size(context->addon, type, shape, descriptor.shape.count) ?
			  request_create(context->addon, values[5]) :
			  NULL;
	if (request) {
		callback.callback = on_tensor;
		callback.userdata1 = request;
		request_started(request,
				wnnContextCreateTensor(context->context, &descriptor, callback));
	}
	free(shape);
	return NULL;
}

/*
 * createConstantTensor(context, dataType, shape, bytes, done): calls done with a new tensor that
 * holds the bytes.
 */
napi_value native_create_constant_tensor(napi_env env, napi_callback_info info)
{
	WNNCreateTensorCallbackInfo callback = WNN_CREATE_TENSOR_CALLBACK_INFO_INIT;
	WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
	struct object *context;
	struct request *request;
	uint32_t *shape, type = 0;
	napi_value values[5];
	void *data;
	size_t size;

	if (!arguments(env, info, 5, values))
		return NULL;
	context = object_get(env, values[0], OBJECT_CONTEXT);
	if (!context || !get_bytes(env, values[3], &data, &size) ||
	    !get_u32s(env, values[2], &shape, &descriptor.shape.count))
		return NULL;
	napi_get_value_uint32(env, values[1], &type);
	descriptor.dataType = (WNNOperandDataType)type;
	descriptor.shape.data = shape;
	request = check_size(context->addon, type, shape, descriptor.shape.count) ?
			  request_create(context->addon, values[4]) :
			  NULL;
	if (request) {
		callback.callback = on_tensor;
		callback.userdata1 = request;
		request_started(request,
				wnnContextCreateConstantTensor(context->context, &descriptor,
							       size ? data : "", size, callback));
	}
	free(shape);
	return NULL;
}

static void free_lent(napi_env env, void *data, void *hint)
{
	(void)env;
	(void)hint;
	free(data);
}

/* Returns the bytes that were read as an ArrayBuffer; NULL with a pending exception. */
static napi_value array_buffer(struct request *request)
{
	napi_env env = request->addon->env;
	napi_value value;
	void *copy;

	if (request->size >= LEND_BYTES &&
	    napi_create_external_arraybuffer(env, request->data, request->size, free_lent, NULL,
					     &value) == napi_ok) {
		request->data = NULL;
		return value;
	}
	if (napi_create_arraybuffer(env, request->size, &copy, &value) != napi_ok) {
		throw_internal(env, "Node.js made no ArrayBuffer: memory may be exhausted");
		return NULL;
	}
	memcpy(copy, request->data, request->size);
	return value;
}

static void on_read(WNNStatus status, WNNStringView message, void *userdata1, void *userdata2)
{
	struct request *request = userdata1;
	napi_handle_scope scope;
	napi_value value = NULL;

	(void)userdata2;
	if (!request_begin(request, &scope)) {
		request_free(request);
		return;
	}
	if (status == WNNStatus_Success)
		value = array_buffer(request);
	request_end(request, scope, status, message, value);
}

/* readTensor(context, tensor, done): calls done with an ArrayBuffer. */
napi_value native_read_tensor(napi_env env, napi_callback_info info)
{
	WNNReadTensorIntoCallbackInfo callback = WNN_READ_TENSOR_INTO_CALLBACK_INFO_INIT;
	struct object *context, *tensor;
	struct request *request;
	napi_value values[3];

	if (!arguments(env, info, 3, values))
		return NULL;
	context = object_get(env, values[0], OBJECT_CONTEXT);
	tensor = context ? object_get(env, values[1], OBJECT_TENSOR) : NULL;
	request = tensor ? request_create(context->addon, values[2]) : NULL;
	if (!request)
		return NULL;
	request->size = wnnTensorGetByteLength(tensor->tensor);
	request->data = malloc(request->size ? request->size : 1);
	if (!request->data) {
		request_free(request);
		throw_status(context->addon, WNNStatus_UnknownError,
			     WNN_STR("readTensor: memory is exhausted"));
		return NULL;
	}
	callback.callback = on_read;
	callback.userdata1 = request;
	request_started(request, wnnContextReadTensorInto(context->context, tensor->tensor,
							  request->data, request->size, callback));
	return NULL;
}

/*
 * writeTensor(context, tensor, bytes): writes the bytes to the tensor; throws the error of the
 * library.
 */
napi_value native_write_tensor(napi_env env, napi_callback_info info)
{
	struct object *context, *tensor;
	napi_value values[3];
	void *data;
	size_t size;

	if (!arguments(env, info, 3, values))
		return NULL;
	context = object_get(env, values[0], OBJECT_CONTEXT);
	tensor = context ? object_get(env, values[1], OBJECT_TENSOR) : NULL;
	if (tensor && get_bytes(env, values[2], &data, &size) &&
	    wnnContextWriteTensor(context->context, tensor->tensor, size ? data : "", size) !=
		    WNNStatus_Success)
		throw_last_error(context->addon);
	return NULL;
}

napi_value native_tensor_destroy(napi_env env, napi_callback_info info)
{
	struct object *tensor;
	napi_value value;

	if (!arguments(env, info, 1, &value))
		return NULL;
	tensor = object_get(env, value, OBJECT_TENSOR);
	if (tensor) {
		wnnTensorDestroy(tensor->tensor);
		object_forget_bytes(tensor);
	}
	return NULL;
}
