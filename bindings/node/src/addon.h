/* SPDX-License-Identifier: MIT */
/*
 * Declarations that the files of the Node binding share. JavaScript (lib/) does the conversions of
 * WebIDL; the functions here take converted values, call the library and bring results back into
 * the event loop. All run on the thread of their environment, unless said otherwise.
 */
#ifndef WEBNN_NODE_ADDON_H
#define WEBNN_NODE_ADDON_H

#define NAPI_VERSION 8
#include <node/node_api.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include <webnn/webnn.h>
#include <webnn/webnn_npu.h>

/* The state of one environment: of the main thread, or of one worker. */
struct addon {
	napi_env env;
	WNNInstance instance;
	uv_poll_t poll;
	napi_async_context async;
	napi_async_cleanup_hook_handle hook;
	/* Function (status, message) that makes a TypeError or DOMException. */
	napi_ref make_error;
	/* Number of operations that keep the event loop alive. */
	size_t pending;
	/* Set once the environment ends: callbacks then run on a thread of the library. */
	atomic_bool closing;
	/* The number of references: the environment's own, and one for each object and request. */
	atomic_size_t references;
};

void addon_release(struct addon *addon);

enum object_kind { OBJECT_CONTEXT = 1, OBJECT_TENSOR, OBJECT_GRAPH, OBJECT_BUILDER, OBJECT_MODEL };

/* The object behind an external value of JavaScript, which JavaScript keeps in a private field. */
struct object {
	enum object_kind kind;
	struct addon *addon;
	union {
		WNNContext context;
		WNNTensor tensor;
		WNNGraph graph;
		WNNGraphBuilder builder;
		/* A WNNOnnxModel, if the addon has libwebnn-onnx. */
		void *model;
	};
	/* Bytes of memory outside of JavaScript that the garbage collector was told of. */
	int64_t bytes;
	/* For a context: the future of its loss, and the request that waits for it. */
	WNNFuture lost;
	struct request *lost_request;
	/* For a builder: its operands, which JavaScript names by their index in this list. */
	WNNOperand *operands;
	size_t operand_count;
	size_t operand_capacity;
};

/*
 * Returns an external value, which releases the handle when it is collected; NULL with a pending
 * exception.
 */
napi_value object_create(struct addon *addon, enum object_kind kind, void *handle, int64_t bytes,
			 struct object **object);
/* Returns the object of an external value; NULL with a pending exception. */
struct object *object_get(napi_env env, napi_value value, enum object_kind kind);
/* Releases a model of libwebnn-onnx. */
void model_release(void *model);
/* Tells the garbage collector that the memory was freed before the object. */
void object_forget_bytes(struct object *object);

/* An operation in progress, which ends by a call of done(error) or done(undefined, value). */
struct request {
	struct addon *addon;
	napi_ref done;
	/* Whether the request does not keep the event loop alive. */
	bool background;
	/* The context whose loss the request waits for; NULL once the context is collected. */
	struct object *context;
	/* Memory that the operation holds until its end. */
	void *data;
	size_t size;
};

/*
 * request_create() returns NULL with a pending exception when it fails. request_end() frees a
 * request, request_free() one that will not end.
 */
struct request *request_create(struct addon *addon, napi_value done);
void request_free(struct request *request);
/*
 * Is called first in every callback. Returns false when the environment has ended, so that the
 * callback only frees memory.
 */
bool request_begin(struct request *request, napi_handle_scope *scope);
/* Calls done and frees the request. A value of NULL stands for undefined. */
void request_end(struct request *request, napi_handle_scope scope, WNNStatus status,
		 WNNStringView message, napi_value value);
/*
 * Returns whether the future stands for an operation; otherwise it frees the request and throws the
 * last error of the library.
 */
bool request_started(struct request *request, WNNFuture future);

/* Makes the request keep the event loop alive from now on, because its end is near. */
void request_expect(struct request *request);

/* Throw an exception. */
void throw_status(struct addon *addon, WNNStatus status, WNNStringView message);
void throw_last_error(struct addon *addon);
void throw_internal(napi_env env, char const *what);

/* Returns the state of an environment, which NAPI_MODULE_INIT() has made. */
struct addon *addon_of(napi_env env);
/* Reads the @count arguments of a call to @values. Returns false with a pending exception. */
bool arguments(napi_env env, napi_callback_info info, size_t count, napi_value *values);
/*
 * Sets *data and *size to the bytes of a Uint8Array, which belong to it. Returns false with a
 * pending exception.
 */
bool get_bytes(napi_env env, napi_value value, void **data, size_t *size);
/*
 * Copies a string of JavaScript; the caller frees text->data. Returns false with a pending
 * exception.
 */
bool get_text(napi_env env, napi_value value, WNNStringView *text);

/*
 * Copies a shape or another list of numbers into memory that the caller frees. Returns false with a
 * pending exception.
 */
bool get_u32s(napi_env env, napi_value value, uint32_t **items, size_t *count);

/* The functions that JavaScript calls. */
napi_value native_create_context(napi_env env, napi_callback_info info);
napi_value native_context_lost(napi_env env, napi_callback_info info);
napi_value native_context_accelerated(napi_env env, napi_callback_info info);
napi_value native_context_limits(napi_env env, napi_callback_info info);
napi_value native_context_device(napi_env env, napi_callback_info info);
napi_value native_context_destroy(napi_env env, napi_callback_info info);
napi_value native_dispatch(napi_env env, napi_callback_info info);
napi_value native_create_tensor(napi_env env, napi_callback_info info);
napi_value native_create_constant_tensor(napi_env env, napi_callback_info info);
napi_value native_read_tensor(napi_env env, napi_callback_info info);
napi_value native_write_tensor(napi_env env, napi_callback_info info);
napi_value native_tensor_destroy(napi_env env, napi_callback_info info);
napi_value native_graph_destroy(napi_env env, napi_callback_info info);
napi_value native_graph_descriptors(napi_env env, napi_callback_info info);
napi_value native_graph_placement(napi_env env, napi_callback_info info);
napi_value native_graph_profile(napi_env env, napi_callback_info info);
napi_value native_create_builder(napi_env env, napi_callback_info info);
napi_value native_input(napi_env env, napi_callback_info info);
napi_value native_constant(napi_env env, napi_callback_info info);
napi_value native_constant_tensor(napi_env env, napi_callback_info info);
napi_value native_constant_number(napi_env env, napi_callback_info info);
napi_value native_update_input(napi_env env, napi_callback_info info);
napi_value native_operator(napi_env env, napi_callback_info info);
napi_value native_operand_info(napi_env env, napi_callback_info info);
napi_value native_build(napi_env env, napi_callback_info info);
#if defined(WITH_ONNX)
/* Returns whether libprotobuf-c was found, for addons that are not linked with it. */
bool protobuf_is_there(void);
napi_value native_onnx_load(napi_env env, napi_callback_info info);
napi_value native_onnx_build(napi_env env, napi_callback_info info);
napi_value native_onnx_values(napi_env env, napi_callback_info info);
napi_value native_onnx_reasons(napi_env env, napi_callback_info info);
napi_value native_onnx_set_dimension(napi_env env, napi_callback_info info);
napi_value native_onnx_set_shape(napi_env env, napi_callback_info info);
napi_value native_onnx_set_value(napi_env env, napi_callback_info info);
napi_value native_onnx_set_outputs(napi_env env, napi_callback_info info);
napi_value native_onnx_draw(napi_env env, napi_callback_info info);
#endif

/*
 * The size of the largest tensor. The library allows more, but JavaScript could hardly hold it in a
 * buffer; browsers have the same limit.
 */
#define MAX_TENSOR_BYTES INT32_MAX

/* Returns whether a tensor of this type and shape has at most MAX_TENSOR_BYTES bytes. */
bool shape_fits(WNNOperandDataType type, uint32_t const *shape, size_t count);

/*
 * Returns the index of an operand in its builder, as a number. NULL with a pending exception, for
 * example when the operand exceeds MAX_TENSOR_BYTES. The message names @what, which made the
 * operand, and @label.
 */
napi_value operand_value(napi_env env, struct object *builder, WNNOperand operand, char const *what,
			 WNNStringView label);
/*
 * Sets *operand to an operand that JavaScript gives as an index, or as [builder, index] for one of
 * another builder; leaves *operand as it is for undefined. Returns false with a pending exception.
 */
bool get_operand(napi_env env, struct object *builder, napi_value value, WNNOperand *operand);
/*
 * Sets *number to a number or bigint; leaves *number as it is for undefined. Returns false with a
 * pending exception.
 */
bool get_number(napi_env env, napi_value value, WNNNumber *number);

#endif
