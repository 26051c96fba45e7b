/* SPDX-License-Identifier: MIT */
/*
 * Where the library's memory comes from: from the allocator that the calling thread works for, which
 * is that of an instance, or from the C library. wnn_free() takes the memory of both, also what the
 * C library itself has allocated. Nothing else in the library calls malloc() and its relatives.
 */
#ifndef WNN_UTIL_MALLOC_H
#define WNN_UTIL_MALLOC_H

#include <stddef.h>

void *wnn_malloc(size_t size);
void *wnn_calloc(size_t count, size_t size);
void *wnn_realloc(void *memory, size_t size);
void *wnn_reallocarray(void *memory, size_t count, size_t size);
void *wnn_aligned_alloc(size_t alignment, size_t size);
/* Cleared; large memory of the C library takes no pages until it is written. */
void *wnn_aligned_calloc(size_t alignment, size_t size);
int wnn_posix_memalign(void **memory, size_t alignment, size_t size);
char *wnn_strdup(const char *text);
char *wnn_strndup(const char *text, size_t size);
void wnn_free(void *memory);
/*
 * What is freed while something as large is filled: its pages go back to the system at once, which has them at
 * hand for the other. Fresh ones are slow to come by, in a virtual machine above all.
 */
void wnn_free_pages(void *memory, size_t size);
/* The block that is filled meanwhile, and is empty yet, if it is of wnn_aligned_calloc(): of pages as small as those that are freed. */
void wnn_take_freed_pages(void *memory, size_t size);
/* Its next bytes, all of which will be written: their pages come with one call of the system. */
void wnn_touch(void *memory, size_t size);

#endif
