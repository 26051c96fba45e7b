// SPDX-License-Identifier: MIT
/* Copies in and out of tensors. */
#include "run/tensor.h"

#include <string.h>

int run_tensor_create(struct run_device *device, struct run_tensor *tensor, size_t size,
		      struct wnn_error *err)
{
	return run_buffer_create(&device->heap, &tensor->buffer, size, "a tensor", err);
}

void run_tensor_write(struct run_device *device, struct run_tensor *tensor, const void *data)
{
	run_device_drain(device);
	memcpy(tensor->buffer.map, data, tensor->buffer.size);
}

void run_tensor_read(struct run_device *device, const struct run_tensor *tensor, void *data)
{
	run_device_drain(device);
	memcpy(data, tensor->buffer.map, tensor->buffer.size);
}

void run_tensor_destroy(struct run_device *device, struct run_tensor *tensor)
{
	run_device_drain(device);
	run_buffer_destroy(&device->heap, &tensor->buffer);
}
