// SPDX-License-Identifier: MIT
/* Tensors in memory of the application: checks that memory, and moves tensors to other memory. */
#include "api/lend.h"

#include "graph/operand.h"
#include "util/malloc.h"

bool lend_aligned(const void *data, WNNOperandDataType type)
{
	size_t size = wnn_data_type_size(type);

	return !size || (uintptr_t)data % size == 0;
}

int lend_check(WNNTensor tensor, const WNNTensorHostMemory *memory, const char *what,
	       struct wnn_error *err)
{
	WNNOperandDataType type = wnn_dtype_from_ir(tensor->type.dtype);

	if (!memory->data)
		return wnn_error_set(err, WNN_TYPE_ERROR,
				     "%s: data of WNNTensorHostMemory is NULL; the tensor%s needs "
				     "%zu bytes",
				     what, tensor_label(tensor), tensor->bytes);
	if (memory->size < tensor->bytes)
		return wnn_error_set(err, WNN_TYPE_ERROR,
				     "%s: size of WNNTensorHostMemory is %zu; the tensor%s needs "
				     "%zu bytes",
				     what, memory->size, tensor_label(tensor), tensor->bytes);
	if (!lend_aligned(memory->data, type))
		return wnn_error_set(err, WNN_TYPE_ERROR,
				     "%s: data of WNNTensorHostMemory is at %p; elements of the "
				     "tensor%s begin at multiples of %zu",
				     what, memory->data, tensor_label(tensor),
				     wnn_data_type_size(type));
	return 0;
}

static bool overlap(const struct WNNTensorImpl *a, const struct WNNTensorImpl *b)
{
	uintptr_t x = (uintptr_t)a->lent_data, y = (uintptr_t)b->lent_data;

	return x && y && x < y + b->bytes && y < x + a->bytes;
}

bool lend_overlaps(WNNTensor const *tensors, uint32_t count, uint32_t output)
{
	for (uint32_t i = 0; i < count; i++)
		if (tensors[i] != tensors[output] && overlap(tensors[i], tensors[output]))
			return true;
	return false;
}

/* --- Moving --- */

struct move_task {
	struct timeline_task task;
	WNNTensor tensor;
	void *data;
};

static void move(WNNTensor tensor, void *data)
{
	struct wnn_error err = { 0 };

	if (run_tensor_move(&tensor->context->device, &tensor->data, data, &err))
		context_fail_work(tensor->context, &err);
}

static void move_tensor(struct timeline_task *task, bool cancelled)
{
	struct move_task *moving = (void *)task;

	if (!cancelled)
		move(moving->tensor, moving->data);
	tensor_put(moving->tensor);
	wnn_free(moving);
}

/* Checks that a tensor may be moved. Returns 0 or -1. Call it with the context's lock held. */
static int check_state(WNNTensor tensor, struct wnn_error *err)
{
	static const char what[] = "wnnTensorSetHostMemory";

	return tensor_check(tensor->context, tensor, what, err) ||
			       tensor_check_unmapped(tensor, what, err) ?
		       -1 :
		       0;
}

/*
 * Moves a tensor on this thread. Returns 1 when it was moved, or the move failed, which
 * wnnContextOnWorkDone reports, or the context was lost; 0 when nothing was done, because work is
 * queued or running, or the device is no CPU; -1 with *err.
 */
static int move_at_once(WNNTensor tensor, void *data, struct wnn_error *err)
{
	WNNContext context = tensor->context;
	struct timeline *timeline = context->timeline;
	bool entered = false;
	int ret;

	pthread_mutex_lock(&context->lock);
	ret = check_state(tensor, err);
	if (!ret)
		entered = context_try_enter(context);
	if (entered)
		tensor->lent_data = data;
	pthread_mutex_unlock(&context->lock);
	if (entered) {
		tensor_get(tensor);
		if (!timeline_cancelled(timeline))
			move(tensor, data);
		tensor_put(tensor);
		timeline_leave(timeline);
	}
	return entered ? 1 : ret;
}

static int queue_move(WNNTensor tensor, void *data, struct wnn_error *err)
{
	struct move_task *moving = wnn_calloc(1, sizeof(*moving));
	WNNContext context = tensor->context;
	int ret;

	if (!moving)
		return wnn_error_nomem(err, "wnnTensorSetHostMemory");
	*moving = (struct move_task){ { .run = move_tensor }, tensor, data };
	tensor_get(tensor);
	pthread_mutex_lock(&context->lock);
	ret = check_state(tensor, err);
	if (!ret) {
		tensor->lent_data = data;
		timeline_push(context->timeline, &moving->task);
	}
	pthread_mutex_unlock(&context->lock);
	if (ret)
		move_tensor(&moving->task, true);
	return ret;
}

static int set_memory(WNNTensor tensor, const WNNTensorHostMemory *memory, struct wnn_error *err)
{
	static const char what[] = "wnnTensorSetHostMemory";
	int ret;

	if (debug_on && debug_verify(DEBUG_TENSOR, tensor, what, err))
		return -1;
	if (context_check_lost(tensor->context, what, err))
		return -1;
	if (!tensor->lent)
		return wnn_error_set(err, WNN_TYPE_ERROR,
				     "%s: the tensor%s was not made with WNNTensorHostMemory", what,
				     tensor_label(tensor));
	if (memory->chain.next)
		return wnn_error_set(err, WNN_TYPE_ERROR,
				     "%s: the chain of WNNTensorHostMemory holds an unknown struct "
				     "of sType %#x",
				     what, (unsigned int)memory->chain.next->sType);
	if (lend_check(tensor, memory, what, err))
		return -1;
	ret = move_at_once(tensor, memory->data, err);
	return ret ? ret : queue_move(tensor, memory->data, err);
}

WNNStatus wnnTensorSetHostMemory(WNNTensor tensor, WNNTensorHostMemory const *memory)
{
	struct wnn_error err = { 0 };

	if (!api_check(tensor, "wnnTensorSetHostMemory", "tensor") ||
	    !api_check(memory, "wnnTensorSetHostMemory", "memory"))
		return wnnGetLastError(NULL);
	if (set_memory(tensor, memory, &err) >= 0)
		return WNNStatus_Success;
	return context_error(tensor->context, &err);
}
