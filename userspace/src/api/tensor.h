/* SPDX-License-Identifier: MIT */
/* Tensors of a context. */
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
	/* Of a tensor that was made with WNNTensorDmaBuf; constant once made. */
	bool shared, read_only;
	bool lent;	 /* it was made with WNNTensorHostMemory; constant once made */
	void *lent_data; /* that memory for work enqueued from now on; under the lock of the context */
	int file;	 /* a descriptor of its memory; -1: there is none yet */
	struct WNNTensorImpl *next, **link; /* in the context; link is NULL when not */
	struct timeline_task task;	    /* gives the memory back */
	struct object_label label;

	/* Touched on the timeline only, as the data: why these are not what was to be computed. */
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

/* What messages call it: the tensor, and its label. */
const char *tensor_label(WNNTensor tensor);

/* InvalidStateError when the tensor is mapped. */
int tensor_check_unmapped(WNNTensor tensor, const char *what, struct wnn_error *err);

/*
 * What becomes of a tensor that was to be written, on the timeline: NULL when it was, else why it was
 * not. Then it gives no data until something writes it. Nothing is kept for a dma-buf and for memory of the
 * application, which others write, too.
 */
void tensor_note_written(WNNTensor tensor, const struct wnn_error *fault);
/* UnknownError when it was not, on the timeline; work that may write it has to be through. */
int tensor_check_written(WNNTensor tensor, const char *what, struct wnn_error *err);

/* The context is lost; under its lock. */
void tensor_lose(struct WNNTensorImpl *tensor);

/*
 * TypeError unless the tensor belongs to the context and is not destroyed; InvalidStateError when it
 * is because the context is lost. @what begins the message.
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
/* The same as the release function of an ir_constant; @userdata is the copy. */
void context_copy_release(void *userdata, const void *data);

#endif
