/* SPDX-License-Identifier: MIT */
/* The data of a tensor. Touched only on the thread of the timeline. */
#ifndef WNN_RUN_TENSOR_H
#define WNN_RUN_TENSOR_H

#include "run/device.h"

struct run_tensor {
	struct run_buffer buffer;
};

/* Filled with zeros. */
int run_tensor_create(struct run_device *device, struct run_tensor *tensor, size_t size,
		      struct wnn_error *err);
/* Both wait for the device first, which may be using the tensor. */
void run_tensor_write(struct run_device *device, struct run_tensor *tensor, const void *data);
void run_tensor_read(struct run_device *device, const struct run_tensor *tensor, void *data);
void run_tensor_destroy(struct run_device *device, struct run_tensor *tensor);

#endif
