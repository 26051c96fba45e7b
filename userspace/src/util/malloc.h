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
 * wnn_free_pages - wnn_free(), and the pages of a large block go back to the system at once
 *
 * For memory that is freed while other memory is filled, which can have those pages then. Pages that the system
 * has to fetch anew take longer, above all in a virtual machine.
 */
void wnn_free_pages(void *memory, size_t size);
/*
 * wnn_take_freed_pages - prepare a block to be filled while other memory is freed
 * @memory: not written yet. Only blocks of wnn_aligned_calloc() change, others are left as they are
 *
 * It gets small pages, as those are that wnn_free_pages() gives back.
 */
void wnn_take_freed_pages(void *memory, size_t size);
/* All of these bytes will be written soon: their pages are fetched with one system call. */
void wnn_touch(void *memory, size_t size);

#endif
