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
	atomic_bool destroyed; /* written with the context's lock held */
	/*
	 * The request of the mapping, with a reference, from wnnContextMapTensor to wnnTensorUnmap;
	 * written with the context's lock held.
	 */
	_Atomic(struct request *) map;
	/* Whether the tensor is mapped and the processor has access to its dma-buf. */
	atomic_bool accessed;
	/*
	 * Whether the tensor was made with WNNTensorDmaBuf, and whether that dma-buf can only be
	 * read; constant once made.
	 */
	bool shared, read_only;
	bool lent; /* whether the tensor was made with WNNTensorHostMemory; constant once made */
	/* The lent memory for work that is queued from now on; the context's lock protects it. */
	void *lent_data;
	int file; /* descriptor of the tensor's dma-buf; -1: there is none */
	/* list of the context's tensors; link is NULL outside of it */
	struct WNNTensorImpl *next, **link;
	struct timeline_task task; /* task that frees the data */
	struct object_label label;

	/*
	 * The error that left the tensor without computed data. Only the timeline uses this member.
	 */
	struct wnn_error fault;
	/*
	 * The data of the tensor, or its constant. Only the timeline uses them, except that other
	 * threads may read whether the data is a dma-buf, end the access to a mapped dma-buf, and
	 * take references to the constant of a tensor that is not destroyed.
	 */
	struct run_tensor data;
	struct ir_constant *constant; /* a constant, whose bytes never change */
};

/* Count references; both accept NULL. */
void tensor_get(WNNTensor tensor);
void tensor_put(WNNTensor tensor);

/*
 * Takes a reference and returns true, unless the last reference is gone. Call it with the context's
 * lock held.
 */
bool tensor_try_get(struct WNNTensorImpl *tensor);

/* Ends the processor's access to a mapped dma-buf. */
void tensor_end_access(struct WNNTensorImpl *tensor);

/* Ends the mapping of the tensor if it was made by @map. */
void tensor_end_map(struct WNNTensorImpl *tensor, struct request *map);

/* Returns the tensor's label for messages, see object_label_text(). */
const char *tensor_label(WNNTensor tensor);

/*
 * Checks that a tensor is not mapped. Returns 0, or -1 with InvalidStateError. @what begins the
 * message.
 */
int tensor_check_unmapped(WNNTensor tensor, const char *what, struct wnn_error *err);

/*
 * Notes, on the timeline, that a tensor was written (@fault is NULL) or could not be written
 * because of an error. After an error the tensor has no data until something writes it. No error is
 * kept for a dma-buf or for memory of the application, because others write them, too.
 */
void tensor_note_written(WNNTensor tensor, const struct wnn_error *fault);
/*
 * Checks that a tensor was written. Returns 0, or -1 with UnknownError. Call it on the timeline,
 * after all work that may write the tensor.
 */
int tensor_check_written(WNNTensor tensor, const char *what, struct wnn_error *err);

/* Destroys the tensor because its context is lost. Call it with the context's lock held. */
void tensor_lose(struct WNNTensorImpl *tensor);

/*
 * Checks that a tensor belongs to the context and is not destroyed. Returns 0, or -1 with
 * TypeError; with InvalidStateError when it is destroyed because the context is lost. @what begins
 * the message.
 */
int tensor_check(WNNContext context, WNNTensor tensor, const char *what, struct wnn_error *err);

/*
 * Checks a tensor for an input or output of a graph, and stores it at its index among @tensors:
 * those of the inputs in the order of the graph, then those of the outputs. @call begins messages.
 * Shapes are checked unless the graph has names of sizes: see family_find_sizes(). Returns 0 or -1.
 */
int graph_bind(WNNGraph graph, const WNNNamedTensor *named, bool output, const char *call,
	       WNNTensor *tensors, struct wnn_error *err);

/* A copy of the application's bytes, which counts as memory of the context. */
struct context_copy {
	WNNContext context; /* a reference */
	size_t size;
	void *data;
};

/* Returns a copy of @size bytes; NULL with *err. */
struct context_copy *context_copy(WNNContext context, const void *data, size_t size,
				  const char *what, struct wnn_error *err);
void context_copy_free(struct context_copy *copy); /* NULL is fine */
/* Frees a context_copy, @userdata, as the release function of an ir_constant. */
void context_copy_release(void *userdata, const void *data);

#endif
