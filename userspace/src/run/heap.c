// SPDX-License-Identifier: MIT
/* Allocates, wraps and imports buffers, and counts their bytes against the limit of a context. */
#include "run/heap.h"

#include <inttypes.h>
#include <string.h>

#include "util/memory.h"

static int charge(struct run_heap *heap, size_t size, const char *what, struct wnn_error *err)
{
	uint64_t used = atomic_load(&heap->used);

	do {
		if (heap->limit && (size > heap->limit || used > heap->limit - size))
			return wnn_error_set(
				err, WNN_UNKNOWN_ERROR,
				"%s needs %zu bytes, but the context already takes %" PRIu64
				" of the %" PRIu64
				" that its memoryLimit allows: raise the limit, or release graphs "
				"and tensors",
				what, size, used, heap->limit);
	} while (!atomic_compare_exchange_weak(&heap->used, &used, used + size));
	return 0;
}

/*
 * Counts bytes that are going to be allocated. Returns 0, or -1 when they exceed the limit, or the
 * memory that the machine has left. The memory that is left is not checked when the application has
 * its own allocator, whose memory may come from elsewhere.
 */
static int reserve(struct run_heap *heap, size_t size, const char *what, struct wnn_error *err)
{
	uint64_t left;

	if (charge(heap, size, what, err))
		return -1;
	if (heap->allocator.allocate || wnn_memory_fits(size, &left))
		return 0;
	atomic_fetch_sub(&heap->used, size);
	return wnn_error_set(err, WNN_UNKNOWN_ERROR,
			     "out of memory: %s needs %zu bytes, but the machine has %" PRIu64
			     " left for this process; use a smaller model, or end other programs",
			     what, size, left);
}

static void *host_alloc(struct run_heap *heap, size_t size, bool cleared, const char *what,
			struct wnn_error *err)
{
	void *memory;

	if (reserve(heap, size, what, err))
		return NULL;
	memory = cleared ? wnn_allocate_cleared(&heap->allocator, size) :
			   wnn_allocate(&heap->allocator, size);
	if (memory) {
		wnn_memory_hold(size);
		return memory;
	}
	atomic_fetch_sub(&heap->used, size);
	wnn_error_set(err, WNN_UNKNOWN_ERROR,
		      "out of memory: %s needs %zu bytes, which cannot be allocated; use a smaller "
		      "model, or end other programs",
		      what, size);
	return NULL;
}

void *run_host_alloc(struct run_heap *heap, size_t size, const char *what, struct wnn_error *err)
{
	return host_alloc(heap, size, false, what, err);
}

void run_host_free(struct run_heap *heap, void *memory, size_t size)
{
	if (!memory)
		return;
	wnn_deallocate(&heap->allocator, memory);
	wnn_memory_unhold(size);
	atomic_fetch_sub(&heap->used, size);
}

/* Syncs a range of the buffer, if its device needs this and the buffer is not a dma-buf. */
static void sync_range(const struct run_buffer *buffer, size_t offset, size_t size, bool for_device)
{
	if (buffer->bo && buffer->bo->ws->ops->bo_sync && !buffer->dmabuf.map)
		buffer->bo->ws->ops->bo_sync(buffer->bo, offset, size, for_device);
}

void run_buffer_flush(const struct run_buffer *buffer, size_t offset, size_t size)
{
	sync_range(buffer, offset, size, true);
}

int run_buffer_create(struct run_heap *heap, struct run_buffer *buffer, size_t size,
		      const char *what, struct wnn_error *err)
{
	memset(buffer, 0, sizeof(*buffer));
	if (!heap->ws) {
		buffer->map = host_alloc(heap, size, true, what, err);
		if (!buffer->map)
			return -1;
		buffer->size = size;
		return 0;
	}
	if (reserve(heap, size, what, err))
		return -1;
	buffer->bo = heap->ws->ops->bo_create(heap->ws, size ? size : 1, err);
	if (!buffer->bo) {
		atomic_fetch_sub(&heap->used, size);
		return -1;
	}
	wnn_memory_hold(size);
	buffer->held = true;
	buffer->map = buffer->bo->map;
	buffer->va = buffer->bo->va;
	buffer->size = size;
	return 0;
}

/*
 * Sets *bo to a buffer over memory, or to NULL when there is no device or it cannot use this memory.
 * Returns 0, or -1 with *err.
 */
static int wrap(struct run_heap *heap, void *map, size_t size, bool writes, struct winsys_bo **bo,
		struct wnn_error *err)
{
	*bo = NULL;
	if (!heap->ws || !heap->ws->ops->bo_wrap)
		return 0;
	return heap->ws->ops->bo_wrap(heap->ws, map, size, writes, bo, err);
}

/*
 * Fills in a buffer over memory that wrap() has wrapped, and takes over @bo, also after a failure.
 * Returns 0 or -1.
 */
static int take_wrapped(struct run_heap *heap, struct run_buffer *buffer, struct winsys_bo *bo,
			size_t size, const char *what, struct wnn_error *err)
{
	if (charge(heap, size, what, err)) {
		heap->ws->ops->bo_destroy(bo);
		return -1;
	}
	*buffer = (struct run_buffer){ .bo = bo, .map = bo->map, .va = bo->va, .size = size };
	return 0;
}

int run_buffer_wrap(struct run_heap *heap, struct run_buffer *buffer, void *map, size_t size,
		    const char *what, struct wnn_error *err)
{
	struct winsys_bo *bo;

	memset(buffer, 0, sizeof(*buffer));
	if (wrap(heap, map, size, false, &bo, err))
		return -1;
	if (bo)
		return take_wrapped(heap, buffer, bo, size, what, err);
	if (run_buffer_create(heap, buffer, size, what, err))
		return -1;
	memcpy(buffer->map, map, size);
	run_buffer_flush(buffer, 0, size);
	return 0;
}

/*
 * Creates a buffer for a copy of memory of the application, which run_buffer_fetch() fills. Returns
 * 0 or -1.
 */
static int lend_copy(struct run_heap *heap, struct run_buffer *buffer, void *data, size_t size,
		     const char *what, struct wnn_error *err)
{
	if (run_buffer_create(heap, buffer, size, what, err))
		return -1;
	buffer->host = data;
	return 0;
}

int run_buffer_lend(struct run_heap *heap, struct run_buffer *buffer, void *data, size_t size,
		    const char *what, struct wnn_error *err)
{
	struct winsys_bo *bo;

	memset(buffer, 0, sizeof(*buffer));
	if (!heap->ws) {
		if (charge(heap, size, what, err))
			return -1;
		*buffer = (struct run_buffer){ .size = size, .map = data, .lent = true };
		return 0;
	}
	if (wrap(heap, data, size, true, &bo, err))
		return -1;
	if (!bo)
		return lend_copy(heap, buffer, data, size, what, err);
	if (take_wrapped(heap, buffer, bo, size, what, err))
		return -1;
	buffer->lent = true;
	return 0;
}

int run_buffer_move(struct run_heap *heap, struct run_buffer *buffer, void *data,
		    struct wnn_error *err)
{
	struct run_buffer moved;
	int ret;

	if (buffer->host) {
		buffer->host = data;
		return 0;
	}
	if (!heap->ws) {
		buffer->map = data;
		return 0;
	}
	/*
	 * The device can use the old memory, but may be unable to use the new memory, so a new
	 * buffer is made. It takes the place of the old one in the limit, too.
	 */
	atomic_fetch_sub(&heap->used, buffer->size);
	ret = run_buffer_lend(heap, &moved, data, buffer->size, "a tensor", err);
	atomic_fetch_add(&heap->used, buffer->size);
	if (ret)
		return -1;
	run_buffer_destroy(heap, buffer);
	*buffer = moved;
	return 0;
}

size_t run_buffer_fetch(const struct run_buffer *buffer)
{
	if (!buffer->host)
		return 0;
	memcpy(buffer->map, buffer->host, buffer->size);
	run_buffer_flush(buffer, 0, buffer->size);
	return buffer->size;
}

size_t run_buffer_return(const struct run_buffer *buffer)
{
	if (!buffer->host)
		return 0;
	sync_range(buffer, 0, buffer->size, false);
	memcpy(buffer->host, buffer->map, buffer->size);
	return buffer->size;
}

void *run_buffer_data(const struct run_buffer *buffer)
{
	return buffer->host ? buffer->host : buffer->map;
}

/* Maps a dma-buf as a buffer, whose bytes the caller has counted. Returns 0 or -1. */
static int import(struct run_heap *heap, struct run_buffer *buffer, size_t offset,
		  struct wnn_error *err)
{
	const struct winsys_ops *ops = heap->ws ? heap->ws->ops : NULL;

	buffer->map = (char *)buffer->dmabuf.map + offset;
	if (!ops)
		return 0;
	if (!ops->bo_import)
		return wnn_error_set(
			err, WNN_NOT_SUPPORTED,
			"the device that the library's own tests use cannot take a dma-buf");
	buffer->bo = ops->bo_import(heap->ws, &buffer->dmabuf, err);
	if (!buffer->bo)
		return -1;
	buffer->va = buffer->bo->va + offset;
	return 0;
}

int run_buffer_import(struct run_heap *heap, struct run_buffer *buffer, struct wnn_dmabuf *dmabuf,
		      size_t offset, size_t size, const char *what, struct wnn_error *err)
{
	*buffer = (struct run_buffer){ .size = size, .dmabuf = *dmabuf };
	memset(dmabuf, 0, sizeof(*dmabuf));
	if (!charge(heap, size, what, err)) {
		if (!import(heap, buffer, offset, err))
			return 0;
		atomic_fetch_sub(&heap->used, size);
	}
	wnn_dmabuf_close(&buffer->dmabuf);
	memset(buffer, 0, sizeof(*buffer));
	return -1;
}

int run_buffer_begin(const struct run_buffer *buffer, bool writes, struct wnn_error *err)
{
	if (buffer->dmabuf.map)
		return wnn_dmabuf_begin(&buffer->dmabuf, writes, err);
	sync_range(buffer, 0, buffer->size, false);
	return 0;
}

void run_buffer_end(const struct run_buffer *buffer, bool writes)
{
	if (buffer->dmabuf.map)
		wnn_dmabuf_end(&buffer->dmabuf, writes);
	else if (writes)
		run_buffer_flush(buffer, 0, buffer->size);
}

void run_buffer_destroy(struct run_heap *heap, struct run_buffer *buffer)
{
	if (buffer->bo)
		heap->ws->ops->bo_destroy(buffer->bo);
	if (buffer->held)
		wnn_memory_unhold(buffer->size);
	if (buffer->bo || buffer->dmabuf.map || buffer->lent) {
		wnn_dmabuf_close(&buffer->dmabuf);
		atomic_fetch_sub(&heap->used, buffer->size);
	} else {
		run_host_free(heap, buffer->map, buffer->size);
	}
	memset(buffer, 0, sizeof(*buffer));
}
