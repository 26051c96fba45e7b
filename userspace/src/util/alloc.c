// SPDX-License-Identifier: MIT
/* Allocates through the application's hook, or from the C library without one. */
#include "util/alloc.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "util/malloc.h"

static void *allocate(const struct wnn_allocator *allocator, size_t size, bool cleared)
{
	void *memory;

	if (size > SIZE_MAX / 2)
		return NULL;
	size = size ? (size + WNN_ALIGNMENT - 1) & ~(WNN_ALIGNMENT - 1) : WNN_ALIGNMENT;
	if (!allocator->allocate)
		return cleared ? wnn_aligned_calloc(WNN_ALIGNMENT, size) :
				 wnn_aligned_alloc(WNN_ALIGNMENT, size);
	memory = allocator->allocate(size, WNN_ALIGNMENT, allocator->userdata1,
				     allocator->userdata2);
	if (memory && (uintptr_t)memory % WNN_ALIGNMENT) {
		/* Kernels rely on the alignment, so memory without it cannot be used. */
		wnn_deallocate(allocator, memory);
		return NULL;
	}
	return memory && cleared ? memset(memory, 0, size) : memory;
}

void *wnn_allocate(const struct wnn_allocator *allocator, size_t size)
{
	return allocate(allocator, size, false);
}

void *wnn_allocate_cleared(const struct wnn_allocator *allocator, size_t size)
{
	return allocate(allocator, size, true);
}

void wnn_deallocate(const struct wnn_allocator *allocator, void *memory)
{
	if (!memory)
		return;
	if (allocator->deallocate)
		allocator->deallocate(memory, allocator->userdata1, allocator->userdata2);
	else
		wnn_free(memory);
}
