// SPDX-License-Identifier: MIT
/* Creates tensors and copies data into and out of them. */
#include "run/tensor.h"

#include <string.h>

int run_tensor_create(struct run_device *device, struct run_tensor *tensor, size_t size,
		      struct wnn_error *err)
{
	return run_buffer_create(&device->heap, &tensor->buffer, size, "a tensor", err);
}

int run_tensor_import(struct run_device *device, struct run_tensor *tensor,
		      struct wnn_dmabuf *dmabuf, size_t offset, size_t size, struct wnn_error *err)
{
	return run_buffer_import(&device->heap, &tensor->buffer, dmabuf, offset, size, "a tensor",
				 err);
}

int run_tensor_lend(struct run_device *device, struct run_tensor *tensor, void *data, size_t size,
		    struct wnn_error *err)
{
	return run_buffer_lend(&device->heap, &tensor->buffer, data, size, "a tensor", err);
}

int run_tensor_move(struct run_device *device, struct run_tensor *tensor, void *data,
		    struct wnn_error *err)
{
	run_device_drain(device);
	return run_buffer_move(&device->heap, &tensor->buffer, data, err);
}

int run_tensor_create_shared(struct run_device *device, struct run_tensor *tensor, size_t size,
			     int *file, struct wnn_error *err)
{
	struct winsys *ws = device->ws;
	struct wnn_dmabuf dmabuf;

	if (!ws || !ws->ops->bo_export) {
		if (wnn_dmabuf_create(&dmabuf, size, err) ||
		    run_tensor_import(device, tensor, &dmabuf, 0, size, err))
			return -1;
		*file = wnn_file_copy(tensor->buffer.dmabuf.fd, err);
	} else {
		if (run_tensor_create(device, tensor, size, err))
			return -1;
		*file = ws->ops->bo_export(tensor->buffer.bo, err);
	}
	if (*file >= 0)
		return 0;
	run_tensor_destroy(device, tensor);
	return -1;
}

int run_tensor_write(struct run_device *device, struct run_tensor *tensor, const void *data,
		     struct wnn_error *err)
{
	run_device_settle(device);
	if (run_buffer_begin(&tensor->buffer, true, err))
		return -1;
	/*
	 * The ranges may overlap: an application may write a tensor from the memory that it lent
	 * for it.
	 */
	memmove(run_buffer_data(&tensor->buffer), data, tensor->buffer.size);
	run_buffer_end(&tensor->buffer, true);
	return 0;
}

int run_tensor_read(struct run_device *device, const struct run_tensor *tensor, void *data,
		    struct wnn_error *err)
{
	run_device_settle(device);
	if (run_buffer_begin(&tensor->buffer, false, err))
		return -1;
	memmove(data, run_buffer_data(&tensor->buffer), tensor->buffer.size);
	run_buffer_end(&tensor->buffer, false);
	return 0;
}

void run_tensor_destroy(struct run_device *device, struct run_tensor *tensor)
{
	run_device_drain(device);
	run_buffer_destroy(&device->heap, &tensor->buffer);
}
