// SPDX-License-Identifier: MIT
/* Allocation through the application's hook. */
#include "util/alloc.h"

#include <stdint.h>

#include "util/malloc.h"

void *wnn_allocate(const struct wnn_allocator *allocator, size_t size)
{
	void *memory;

	if (size > SIZE_MAX / 2)
		return NULL;
	size = size ? (size + WNN_ALIGNMENT - 1) & ~(WNN_ALIGNMENT - 1) : WNN_ALIGNMENT;
	if (!allocator->allocate)
		return wnn_aligned_alloc(WNN_ALIGNMENT, size);
	memory = allocator->allocate(size, WNN_ALIGNMENT, allocator->userdata1,
				     allocator->userdata2);
	if (memory && (uintptr_t)memory % WNN_ALIGNMENT) {
		/* Kernels rely on it; a hook that ignores the alignment has no memory for us. */
		wnn_deallocate(allocator, memory);
		return NULL;
	}
	return memory;
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
