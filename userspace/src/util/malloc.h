/* SPDX-License-Identifier: MIT */
/*
 * Where the library's memory comes from. Included into every file of the library by its build, so
 * that malloc() and its relatives mean these: they go to the allocator that the calling thread works
 * for, which is that of an instance, or to the C library. free() takes the memory of both.
 */
#ifndef WNN_UTIL_MALLOC_H
#define WNN_UTIL_MALLOC_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdlib.h>
#include <string.h>

void *wnn_malloc(size_t size);
void *wnn_calloc(size_t count, size_t size);
void *wnn_realloc(void *memory, size_t size);
void *wnn_reallocarray(void *memory, size_t count, size_t size);
void *wnn_aligned_alloc(size_t alignment, size_t size);
int wnn_posix_memalign(void **memory, size_t alignment, size_t size);
char *wnn_strdup(const char *text);
char *wnn_strndup(const char *text, size_t size);
void wnn_free(void *memory);

#define malloc	       wnn_malloc
#define calloc	       wnn_calloc
#define realloc	       wnn_realloc
#define reallocarray   wnn_reallocarray
#define aligned_alloc  wnn_aligned_alloc
#define posix_memalign wnn_posix_memalign
#undef strdup
#define strdup wnn_strdup
#undef strndup
#define strndup wnn_strndup
#define free	wnn_free

#endif
