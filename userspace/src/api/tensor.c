// SPDX-License-Identifier: MIT
/* Tensors: creation, queries and destruction. */
#include "api/tensor.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "api/lend.h"
#include "api/webnn_async.h"
#include "graph/operand.h"
#include "util/malloc.h"

/* --- The end of a tensor --- */

/* Frees the data. Runs on the timeline, when nothing uses the data any more. */
static void free_data(WNNTensor tensor)
{
	run_tensor_destroy(&tensor->context->device, &tensor->data);
	ir_constant_unref(tensor->constant);
	tensor->constant = NULL;
}

static void free_tensor(struct timeline_task *task, bool cancelled)
{
	WNNTensor tensor = (void *)((char *)task - offsetof(struct WNNTensorImpl, task));
	WNNContext context = tensor->context;

	(void)cancelled;
	free_data(tensor);
	if (tensor->file >= 0)
		close(tensor->file);
	object_label_exit(&tensor->label);
	api_free_object(tensor);
	context_put(context);
}

static void release_data(struct timeline_task *task, bool cancelled)
{
	WNNTensor tensor = (void *)((char *)task - offsetof(struct WNNTensorImpl, task));

	(void)cancelled;
	free_data(tensor);
	tensor_put(tensor);
}

bool tensor_try_get(struct WNNTensorImpl *tensor)
{
	unsigned int refs = atomic_load(&tensor->refs);

	while (refs && !atomic_compare_exchange_weak(&tensor->refs, &refs, refs + 1))
		;
	return refs;
}

/* Queues the task that frees the data. Call it with the context's lock held. */
static void queue_release(WNNTensor tensor)
{
	if (!tensor_try_get(tensor))
		return;
	tensor->task.run = release_data;
	timeline_push(tensor->context->timeline, &tensor->task);
}

/*
 * Destroys a tensor. Mapped memory stays until the application unmaps it. Call it with the
 * context's lock held.
 */
static void destroy(WNNTensor tensor)
{
	if (!atomic_exchange(&tensor->destroyed, true) && !atomic_load(&tensor->map))
		queue_release(tensor);
}

void tensor_end_access(struct WNNTensorImpl *tensor)
{
	if (atomic_exchange(&tensor->accessed, false))
		run_buffer_end(&tensor->data.buffer, tensor->writable);
}

void tensor_end_map(struct WNNTensorImpl *tensor, struct request *map)
{
	WNNContext context = tensor->context;
	bool mine;

	pthread_mutex_lock(&context->lock);
	mine = atomic_load(&tensor->map) == map;
	if (mine) {
		tensor_end_access(tensor);
		atomic_store(&tensor->map, NULL);
		if (atomic_load(&tensor->destroyed))
			queue_release(tensor);
	}
	pthread_mutex_unlock(&context->lock);
	if (mine)
		request_put(map);
}

void tensor_lose(struct WNNTensorImpl *tensor)
{
	destroy(tensor);
}

void wnnTensorDestroy(WNNTensor tensor)
{
	WNNContext context;

	if (!api_check(tensor, "wnnTensorDestroy", "tensor"))
		return;
	context = tensor->context;
	pthread_mutex_lock(&context->lock);
	if (!atomic_load(&tensor->destroyed)) {
		context_fail_pending(context, tensor, "the tensor was destroyed");
		destroy(tensor);
	}
	pthread_mutex_unlock(&context->lock);
}

void tensor_get(WNNTensor tensor)
{
	if (tensor && !api_forked())
		atomic_fetch_add(&tensor->refs, 1);
}

void tensor_put(WNNTensor tensor)
{
	WNNContext context;

	if (!tensor || api_forked() || atomic_fetch_sub(&tensor->refs, 1) != 1)
		return;
	context = tensor->context;
	pthread_mutex_lock(&context->lock);
	if (tensor->link) {
		*tensor->link = tensor->next;
		if (tensor->next)
			tensor->next->link = tensor->link;
	}
	pthread_mutex_unlock(&context->lock);
	tensor->task.run = free_tensor;
	timeline_push(context->timeline, &tensor->task);
}

/* --- Making --- */

struct create_task {
	struct timeline_task task;
	WNNTensor tensor;
	struct request *request;
	struct wnn_dmabuf dmabuf; /* the dma-buf in whose memory the tensor lies; all 0: none */
	size_t offset;
	void *lent; /* the application's memory in which the tensor lies, or NULL */
};

/* Creates the data of a tensor that is not constant. Returns 0 or -1. */
static int create_data(struct create_task *create, struct wnn_error *err)
{
	WNNTensor tensor = create->tensor;
	struct run_device *device = &tensor->context->device;

	if (create->dmabuf.map)
		return run_tensor_import(device, &tensor->data, &create->dmabuf, create->offset,
					 tensor->bytes, err);
	if (create->lent)
		return run_tensor_lend(device, &tensor->data, create->lent, tensor->bytes, err);
	if (tensor->shared)
		return run_tensor_create_shared(device, &tensor->data, tensor->bytes, &tensor->file,
						err);
	return run_tensor_create(device, &tensor->data, tensor->bytes, err);
}

static void create_tensor(struct timeline_task *task, bool cancelled)
{
	struct create_task *create = (void *)task;
	WNNTensor tensor = create->tensor;
	WNNContext context = tensor->context;
	union request_result result = { .tensor = tensor };
	struct wnn_error err = { 0 };

	/* Completing the request may release the tensor, so the context needs a reference. */
	context_get(context);
	if (cancelled) {
		context_check_lost(context, "createTensor", &err);
		request_complete(create->request, &err, NULL);
		tensor_put(tensor);
	} else if (!request_wanted(create->request)) {
		tensor_put(tensor);
	} else if (!tensor->constant && create_data(create, &err)) {
		context_fail_request(context, create->request, &err);
		tensor_put(tensor);
	} else if (!request_complete(create->request, NULL, &result)) {
		tensor_put(tensor);
	}
	context_remove_pending(context, create->request);
	request_put(create->request);
	wnn_dmabuf_close(&create->dmabuf);
	wnn_free(create);
	context_put(context);
}

static WNNTensor make_tensor(WNNContext context, WNNOperandDataType data_type, WNNUint32Array shape,
			     struct wnn_error *err)
{
	struct ir_type type;
	WNNTensor tensor;

	if (context_check_lost(context, "createTensor", err) ||
	    wnn_limits_type_of(&context->limits, data_type, shape, "the tensor", &type, err))
		return NULL;
	tensor = wnn_calloc(1, sizeof(*tensor));
	if (!tensor) {
		wnn_error_nomem(err, "a tensor");
		return NULL;
	}
	atomic_init(&tensor->refs, 1);
	tensor->context = context;
	tensor->type = type;
	for (uint32_t i = 0; i < type.rank; i++)
		tensor->shape[i] = (uint32_t)ir_type_dim(&type, i);
	tensor->bytes = (size_t)ir_type_bytes(&type);
	tensor->file = -1;
	wnn_log_debug(&context->instance->log, "createTensor: %zu bytes", tensor->bytes);
	return tensor;
}

/* Frees a tensor whose creation has not begun. */
static void drop_tensor(WNNTensor tensor)
{
	ir_constant_unref(tensor->constant);
	if (tensor->file >= 0)
		close(tensor->file);
	wnn_free(tensor);
}

/*
 * Begins the creation of a tensor; takes over the request, the tensor and @create. @create is NULL
 * after an error; then @tensor is NULL, too, unless memory for @create was lacking.
 */
static void start_tensor(WNNContext context, WNNTensor tensor, struct create_task *create,
			 struct request *request, struct wnn_error *err)
{
	if (!create) {
		if (tensor) {
			drop_tensor(tensor);
			wnn_error_nomem(err, "a tensor");
		}
		context_fail_request(context, request, err);
		request_put(request);
		return;
	}
	context_get(context);
	create->task.run = create_tensor;
	create->tensor = tensor;
	create->request = request;
	pthread_mutex_lock(&context->lock);
	tensor->next = context->tensors;
	tensor->link = &context->tensors;
	if (tensor->next)
		tensor->next->link = &tensor->next;
	context->tensors = tensor;
	if (atomic_load(&context->lost))
		atomic_store(&tensor->destroyed, true);
	pthread_mutex_unlock(&context->lock);
	context_add_pending(context, request, NULL);
	timeline_push(context->timeline, &create->task);
}

/*
 * Finds the struct in a descriptor's chain that chooses the tensor's memory; *found is NULL without
 * it. Returns 0, or -1 with *err when the chain has another struct.
 */
static int find_memory(const WNNTensorDescriptor *descriptor, const WNNChainedStruct **found,
		       struct wnn_error *err)
{
	*found = NULL;
	for (const WNNChainedStruct *s = descriptor->nextInChain; s; s = s->next) {
		bool known = s->sType == WNNSType_TensorDmaBuf ||
			     s->sType == WNNSType_TensorHostMemory;

		if (!known || *found)
			return wnn_error_set(err, WNN_TYPE_ERROR,
					     "the chain of WNNTensorDescriptor holds %s struct of "
					     "sType %#x: one WNNTensorDmaBuf or "
					     "WNNTensorHostMemory is allowed",
					     known ? "a second" : "an unknown",
					     (unsigned int)s->sType);
		*found = s;
	}
	return 0;
}

static int check_range(WNNTensor tensor, const struct wnn_dmabuf *dmabuf, uint64_t offset,
		       struct wnn_error *err)
{
	if (offset % WNN_ALIGNMENT)
		return wnn_error_set(err, WNN_TYPE_ERROR,
				     "createTensor: the offset %" PRIu64
				     " in the dma-buf is no multiple of %zu",
				     offset, WNN_ALIGNMENT);
	if (offset > dmabuf->size || tensor->bytes > dmabuf->size - offset)
		return wnn_error_set(err, WNN_TYPE_ERROR,
				     "createTensor: the tensor needs %zu bytes from offset %" PRIu64
				     "; the dma-buf has %zu bytes",
				     tensor->bytes, offset, dmabuf->size);
	return 0;
}

/* Opens the dma-buf that the application chose. Returns 0 or -1. */
static int take_dmabuf(struct create_task *create, WNNTensor tensor, const WNNTensorDmaBuf *from,
		       struct wnn_error *err)
{
	tensor->shared = true;
	if (from->fd == -1 && from->offset)
		return wnn_error_set(
			err, WNN_TYPE_ERROR,
			"createTensor: offset is %" PRIu64
			", but fd is -1: the library makes the dma-buf, and its offset is "
			"0",
			from->offset);
	if (from->fd == -1)
		return 0;
	if (wnn_dmabuf_open(&create->dmabuf, from->fd, err) ||
	    check_range(tensor, &create->dmabuf, from->offset, err))
		return -1;
	create->offset = (size_t)from->offset;
	tensor->read_only = create->dmabuf.read_only;
	if (tensor->read_only && tensor->writable)
		return wnn_error_set(err, WNN_TYPE_ERROR,
				     "createTensor: the tensor is to be writable, but the file "
				     "descriptor of the dma-buf is for reading only");
	tensor->file = wnn_file_copy(from->fd, err);
	return tensor->file < 0 ? -1 : 0;
}

/* Sets up the memory that the application chose for the tensor. Returns 0 or -1. */
static int take_memory(struct create_task *create, WNNTensor tensor, const WNNChainedStruct *from,
		       struct wnn_error *err)
{
	const WNNTensorHostMemory *memory = (const void *)from;

	if (!from)
		return 0;
	if (from->sType == WNNSType_TensorDmaBuf)
		return take_dmabuf(create, tensor, (const void *)from, err);
	if (lend_check(tensor, memory, "createTensor", err))
		return -1;
	tensor->lent = true;
	tensor->lent_data = create->lent = memory->data;
	return 0;
}

void start_create_tensor(WNNContext context, const WNNTensorDescriptor *descriptor,
			 struct request *request)
{
	const WNNChainedStruct *memory = NULL;
	struct create_task *create = NULL;
	struct wnn_error err = { 0 };
	WNNTensor tensor = NULL;

	if (!descriptor)
		wnn_error_set(&err, WNN_TYPE_ERROR, "wnnContextCreateTensor: descriptor is NULL");
	else if (!find_memory(descriptor, &memory, &err))
		tensor = make_tensor(context, descriptor->dataType, descriptor->shape, &err);
	if (tensor) {
		tensor->readable = descriptor->readable;
		tensor->writable = descriptor->writable;
		create = wnn_calloc(1, sizeof(*create));
	}
	if (create && take_memory(create, tensor, memory, &err)) {
		wnn_dmabuf_close(&create->dmabuf);
		wnn_free(create);
		drop_tensor(tensor);
		create = NULL;
		tensor = NULL;
	}
	start_tensor(context, tensor, create, request, &err);
}

/* --- Constants --- */

struct context_copy *context_copy(WNNContext context, const void *data, size_t size,
				  const char *what, struct wnn_error *err)
{
	struct context_copy *copy = wnn_malloc(sizeof(*copy));

	if (!copy) {
		wnn_error_nomem(err, what);
		return NULL;
	}
	copy->data = run_host_alloc(&context->device.heap, size, what, err);
	if (!copy->data) {
		wnn_free(copy);
		return NULL;
	}
	memcpy(copy->data, data, size);
	copy->size = size;
	copy->context = context;
	context_get(context);
	return copy;
}

void context_copy_free(struct context_copy *copy)
{
	if (!copy)
		return;
	run_host_free(&copy->context->device.heap, copy->data, copy->size);
	context_put(copy->context);
	wnn_free(copy);
}

void context_copy_release(void *userdata, const void *data)
{
	(void)data;
	context_copy_free(userdata);
}

static struct ir_constant *copy_constant(WNNContext context, const void *data, size_t size,
					 struct wnn_error *err)
{
	struct context_copy *copy = context_copy(context, data, size, "a constant", err);
	struct ir_constant *constant;

	if (!copy)
		return NULL;
	constant = ir_constant_borrow(copy->data, size, context_copy_release, copy);
	if (constant)
		return constant;
	context_copy_free(copy);
	wnn_error_nomem(err, "a constant");
	return NULL;
}

void start_create_constant_tensor(WNNContext context, const WNNOperandDescriptor *descriptor,
				  const void *data, size_t size, struct request *request)
{
	struct wnn_error err = { 0 };
	struct create_task *create = NULL;
	WNNTensor tensor = NULL;

	if (!descriptor || !data)
		wnn_error_set(&err, WNN_TYPE_ERROR, "wnnContextCreateConstantTensor: %s is NULL",
			      descriptor ? "data" : "descriptor");
	else if (!api_check_no_chain(descriptor->nextInChain, "WNNOperandDescriptor", &err))
		tensor = make_tensor(context, descriptor->dataType, descriptor->shape, &err);
	if (tensor && tensor->bytes != size)
		wnn_error_set(
			&err, WNN_TYPE_ERROR,
			"wnnContextCreateConstantTensor: size is %zu; the shape has %zu bytes",
			size, tensor->bytes);
	else if (tensor)
		tensor->constant = copy_constant(context, data, size, &err);
	if (tensor && !tensor->constant) {
		wnn_free(tensor);
		tensor = NULL;
	} else if (tensor) {
		tensor->is_constant = true;
		create = wnn_calloc(1, sizeof(*create));
	}
	start_tensor(context, tensor, create, request, &err);
}

/* --- Queries --- */

const char *tensor_label(WNNTensor tensor)
{
	return object_label_text(&tensor->label);
}

int tensor_check(WNNContext context, WNNTensor tensor, const char *what, struct wnn_error *err)
{
	if (!tensor)
		return wnn_error_set(err, WNN_TYPE_ERROR, "%s: the tensor is NULL", what);
	if (debug_on && debug_verify(DEBUG_TENSOR, tensor, what, err))
		return -1;
	if (tensor->context != context)
		return wnn_error_set(err, WNN_TYPE_ERROR,
				     "%s: the tensor%s belongs to another context%s", what,
				     tensor_label(tensor),
				     object_label_text(&tensor->context->label));
	if (!atomic_load(&tensor->destroyed))
		return 0;
	/* A context that was lost after the caller's check has destroyed its tensors. */
	if (context_check_lost(context, what, err))
		return -1;
	return wnn_error_set(err, WNN_TYPE_ERROR, "%s: the tensor%s is destroyed", what,
			     tensor_label(tensor));
}

int tensor_check_unmapped(WNNTensor tensor, const char *what, struct wnn_error *err)
{
	if (!atomic_load(&tensor->map))
		return 0;
	return wnn_error_set(err, WNN_INVALID_STATE,
			     "%s: the tensor%s is mapped; wnnTensorUnmap ends that", what,
			     tensor_label(tensor));
}

void tensor_note_written(WNNTensor tensor, const struct wnn_error *fault)
{
	if (!fault)
		tensor->fault.status = WNN_OK;
	else if (!tensor->shared && !tensor->lent)
		tensor->fault = *fault;
}

int tensor_check_written(WNNTensor tensor, const char *what, struct wnn_error *err)
{
	if (!tensor->fault.status)
		return 0;
	return wnn_error_set(err, WNN_UNKNOWN_ERROR,
			     "%s: the tensor%s has no data, as the work that should write it "
			     "failed: %s",
			     what, tensor_label(tensor), tensor->fault.message);
}

WNNStatus wnnTensorExportDmaBuf(WNNTensor tensor, int32_t *fd)
{
	struct wnn_error err = { 0 };

	if (!api_check(fd, "wnnTensorExportDmaBuf", "fd"))
		return wnnGetLastError(NULL);
	*fd = -1;
	if (!api_check(tensor, "wnnTensorExportDmaBuf", "tensor"))
		return wnnGetLastError(NULL);
	if (atomic_load(&tensor->destroyed))
		wnn_error_set(&err, WNN_INVALID_STATE,
			      "wnnTensorExportDmaBuf: the tensor%s is destroyed",
			      tensor_label(tensor));
	else if (tensor->file < 0)
		wnn_error_set(&err, WNN_TYPE_ERROR,
			      "wnnTensorExportDmaBuf: the tensor%s was not made with "
			      "WNNTensorDmaBuf",
			      tensor_label(tensor));
	else
		*fd = wnn_file_copy(tensor->file, &err);
	return *fd < 0 ? context_error(tensor->context, &err) : WNNStatus_Success;
}

WNNOperandDataType wnnTensorGetDataType(WNNTensor tensor)
{
	return api_check(tensor, "wnnTensorGetDataType", "tensor") ?
		       wnn_dtype_from_ir(tensor->type.dtype) :
		       WNNOperandDataType_Undefined;
}

WNNUint32Array wnnTensorGetShape(WNNTensor tensor)
{
	WNNUint32Array none = WNN_UINT32_ARRAY_INIT;

	if (!api_check(tensor, "wnnTensorGetShape", "tensor"))
		return none;
	return (WNNUint32Array){ tensor->type.rank, tensor->shape };
}

WNNBool wnnTensorGetReadable(WNNTensor tensor)
{
	return api_check(tensor, "wnnTensorGetReadable", "tensor") && tensor->readable;
}

WNNBool wnnTensorGetWritable(WNNTensor tensor)
{
	return api_check(tensor, "wnnTensorGetWritable", "tensor") && tensor->writable;
}

WNNBool wnnTensorGetConstant(WNNTensor tensor)
{
	return api_check(tensor, "wnnTensorGetConstant", "tensor") && tensor->is_constant;
}

size_t wnnTensorGetByteLength(WNNTensor tensor)
{
	return api_check(tensor, "wnnTensorGetByteLength", "tensor") ? tensor->bytes : 0;
}
