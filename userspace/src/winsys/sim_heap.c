// SPDX-License-Identifier: MIT
/*
 * The allocator of the device model. The model's thread works for no caller, so that the allocator
 * of the application is stored with the model.
 */
#include "winsys/sim_heap.h"

static void *allocate(void *ctx, size_t alignment, size_t size)
{
	return alignment <= WNN_ALIGNMENT ? wnn_allocate(ctx, size) : NULL;
}

static void release(void *ctx, void *memory)
{
	wnn_deallocate(ctx, memory);
}

struct onpu_sim_memory sim_heap_memory(struct wnn_allocator *allocator)
{
	*allocator = wnn_allocator_current();
	return (struct onpu_sim_memory){ allocator, allocate, release };
}
