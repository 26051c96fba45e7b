// SPDX-License-Identifier: MIT
/* Buffers and their accounting. */
#include "run/heap.h"

#include <inttypes.h>
#include <string.h>

static int charge(struct run_heap *heap, size_t size, const char *what, struct wnn_error *err)
{
	uint64_t used = atomic_load(&heap->used);

	do {
		if (heap->limit && (size > heap->limit || used > heap->limit - size))
			return wnn_error_set(
				err, WNN_UNKNOWN_ERROR,
				"%s needs %zu bytes, but the context already takes %" PRIu64
				" of the %" PRIu64 " that its memoryLimit allows",
				what, size, used, heap->limit);
	} while (!atomic_compare_exchange_weak(&heap->used, &used, used + size));
	return 0;
}

static void *host_alloc(struct run_heap *heap, size_t size, bool cleared, const char *what,
			struct wnn_error *err)
{
	void *memory;

	if (charge(heap, size, what, err))
		return NULL;
	memory = cleared ? wnn_allocate_cleared(&heap->allocator, size) :
			   wnn_allocate(&heap->allocator, size);
	if (memory)
		return memory;
	atomic_fetch_sub(&heap->used, size);
	wnn_error_set(err, WNN_UNKNOWN_ERROR, "out of memory: %s needs %zu bytes", what, size);
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
	atomic_fetch_sub(&heap->used, size);
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
	if (charge(heap, size, what, err))
		return -1;
	buffer->bo = heap->ws->ops->bo_create(heap->ws, size ? size : 1, err);
	if (!buffer->bo) {
		atomic_fetch_sub(&heap->used, size);
		return -1;
	}
	buffer->map = buffer->bo->map;
	buffer->va = buffer->bo->va;
	buffer->size = size;
	return 0;
}

int run_buffer_wrap(struct run_heap *heap, struct run_buffer *buffer, void *map, size_t size,
		    const char *what, struct wnn_error *err)
{
	if (!heap->ws || !heap->ws->ops->bo_wrap) {
		if (run_buffer_create(heap, buffer, size, what, err))
			return -1;
		memcpy(buffer->map, map, size);
		return 0;
	}
	memset(buffer, 0, sizeof(*buffer));
	if (charge(heap, size, what, err))
		return -1;
	buffer->bo = heap->ws->ops->bo_wrap(heap->ws, map, size, err);
	if (!buffer->bo) {
		atomic_fetch_sub(&heap->used, size);
		return -1;
	}
	buffer->map = buffer->bo->map;
	buffer->va = buffer->bo->va;
	buffer->size = size;
	return 0;
}

void run_buffer_destroy(struct run_heap *heap, struct run_buffer *buffer)
{
	if (buffer->bo) {
		heap->ws->ops->bo_destroy(buffer->bo);
		atomic_fetch_sub(&heap->used, buffer->size);
	} else {
		run_host_free(heap, buffer->map, buffer->size);
	}
	memset(buffer, 0, sizeof(*buffer));
}
