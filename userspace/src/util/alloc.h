/* SPDX-License-Identifier: MIT */
/*
 * The application's allocator. Callers pass it for large memory; small memory uses the allocator of
 * the calling thread (util/malloc.h).
 */
#ifndef WNN_UTIL_ALLOC_H
#define WNN_UTIL_ALLOC_H

#include <stddef.h>

/* When both functions are NULL, memory comes from the C library. */
struct wnn_allocator {
	void *(*allocate)(size_t size, size_t alignment, void *userdata1, void *userdata2);
	void (*deallocate)(void *memory, void *userdata1, void *userdata2);
	void *userdata1, *userdata2;
};

/* Sets the allocator of the calling thread; NULL: the C library. */
void wnn_allocator_use(const struct wnn_allocator *allocator);
struct wnn_allocator wnn_allocator_current(void);

/* The alignment for vector code and device models: a cache line. */
#define WNN_ALIGNMENT ((size_t)64)

/* Returns memory aligned to WNN_ALIGNMENT, not cleared; NULL when out of memory. @size may be 0. */
void *wnn_allocate(const struct wnn_allocator *allocator, size_t size);
/* Like wnn_allocate(), with all bytes 0. NULL: no memory. */
void *wnn_allocate_cleared(const struct wnn_allocator *allocator, size_t size);
void wnn_deallocate(const struct wnn_allocator *allocator, void *memory); /* NULL is fine */

#endif
