/* SPDX-License-Identifier: MIT */
/*
 * The data of a tensor. Only the thread that runs the timeline calls the functions below. While a
 * tensor is mapped, the application uses its memory, and ends the access on its own thread.
 */
#ifndef WNN_RUN_TENSOR_H
#define WNN_RUN_TENSOR_H

#include "run/device.h"

struct run_tensor {
	struct run_buffer buffer;
};

/* Creates a tensor filled with zeros. Returns 0 or -1. */
int run_tensor_create(struct run_device *device, struct run_tensor *tensor, size_t size,
		      struct wnn_error *err);
/* Creates a tensor in the memory of a dma-buf, see run_buffer_import(). Returns 0 or -1. */
int run_tensor_import(struct run_device *device, struct run_tensor *tensor,
		      struct wnn_dmabuf *dmabuf, size_t offset, size_t size, struct wnn_error *err);
/*
 * run_tensor_lend() creates a tensor in memory of the application, see run_buffer_lend().
 * run_tensor_move() moves it to other memory of the application. Both return 0 or -1.
 */
int run_tensor_lend(struct run_device *device, struct run_tensor *tensor, void *data, size_t size,
		    struct wnn_error *err);
int run_tensor_move(struct run_device *device, struct run_tensor *tensor, void *data,
		    struct wnn_error *err);
/*
 * Creates a tensor of zeros; *file becomes a descriptor of its memory as dma-buf. Returns 0 or -1.
 */
int run_tensor_create_shared(struct run_device *device, struct run_tensor *tensor, size_t size,
			     int *file, struct wnn_error *err);
/*
 * The three functions below first wait for the device, which may be using the tensor. The first two
 * return 0 or -1.
 */
int run_tensor_write(struct run_device *device, struct run_tensor *tensor, const void *data,
		     struct wnn_error *err);
int run_tensor_read(struct run_device *device, const struct run_tensor *tensor, void *data,
		    struct wnn_error *err);
void run_tensor_destroy(struct run_device *device, struct run_tensor *tensor);

#endif
