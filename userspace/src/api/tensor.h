/* SPDX-License-Identifier: MIT */
/* WNNTensor: a tensor of a context. */
#ifndef WNN_API_TENSOR_H
#define WNN_API_TENSOR_H

#include "api/context.h"
#include "run/tensor.h"

struct WNNTensorImpl {
	atomic_uint refs;
	WNNContext context; /* a reference */
	struct ir_type type;
	uint32_t shape[IR_MAX_RANK];
	size_t bytes;
	bool readable, writable, is_constant;
	atomic_bool destroyed; /* set under the lock of the context */
	/* The mapping, from wnnContextMapTensor on: a reference; changed under that lock. */
	_Atomic(struct request *) map;
	atomic_bool accessed; /* it is mapped, and the processor has the dma-buf */
	/* For a tensor made with WNNTensorDmaBuf; constant once made. */
	bool shared, read_only;
	bool lent; /* it was made with WNNTensorHostMemory; constant once made */
	/* That memory for work enqueued from now on; under the lock of the context. */
	void *lent_data;
	int file;			    /* a descriptor of its memory; -1: there is none yet */
	struct WNNTensorImpl *next, **link; /* in the context; link is NULL when not */
	struct timeline_task task;	    /* gives the memory back */
	struct object_label label;

	/*
	 * Touched only on the timeline, like the data: the error because of which the data are not
	 * the computed ones.
	 */
	struct wnn_error fault;
	/* One of them; touched on the timeline only. */
	struct run_tensor data;
	struct ir_constant *constant; /* constant once made: its bytes never change */
};

/* Take NULL. */
void tensor_get(WNNTensor tensor);
void tensor_put(WNNTensor tensor);

/* Another reference, unless the last one is gone; under the lock of the context. */
bool tensor_try_get(struct WNNTensorImpl *tensor);

/* A mapped dma-buf is no longer the processor's. */
void tensor_end_access(struct WNNTensorImpl *tensor);

/* The tensor is no longer mapped, if it was by @map. */
void tensor_end_map(struct WNNTensorImpl *tensor, struct request *map);

/* Returns the tensor's name in messages: its kind and label. */
const char *tensor_label(WNNTensor tensor);

/* InvalidStateError when the tensor is mapped. */
int tensor_check_unmapped(WNNTensor tensor, const char *what, struct wnn_error *err);

/*
 * Notes on the timeline whether a tensor that was to be written was: NULL, or the error that
 * prevented it. After an error the tensor gives no data until something writes it. No error is kept
 * for a dma-buf and for memory of the application, which others write, too.
 */
void tensor_note_written(WNNTensor tensor, const struct wnn_error *fault);
/*
 * Returns UnknownError when it was not written. Call it on the timeline, after all work that may
 * write it.
 */
int tensor_check_written(WNNTensor tensor, const char *what, struct wnn_error *err);

/* The context is lost; under its lock. */
void tensor_lose(struct WNNTensorImpl *tensor);

/*
 * Returns TypeError unless the tensor belongs to the context and is not destroyed;
 * InvalidStateError when it is destroyed because the context is lost. @what begins the message.
 */
int tensor_check(WNNContext context, WNNTensor tensor, const char *what, struct wnn_error *err);

/* A copy of the application's bytes in memory of the context. */
struct context_copy {
	WNNContext context; /* a reference */
	size_t size;
	void *data;
};

/* NULL with *err. */
struct context_copy *context_copy(WNNContext context, const void *data, size_t size,
				  const char *what, struct wnn_error *err);
void context_copy_free(struct context_copy *copy); /* NULL is fine */
/* Frees such a copy, as the release function of an ir_constant; @userdata is the copy. */
void context_copy_release(void *userdata, const void *data);

#endif
