/* SPDX-License-Identifier: MIT */
/*
 * The library's memory: from the allocator of the calling thread, which is that of an instance, or
 * from the C library. wnn_free() frees the memory of both, and memory that functions of the C
 * library return. No other file of the library calls malloc() and its relatives.
 */
#ifndef WNN_UTIL_MALLOC_H
#define WNN_UTIL_MALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void *wnn_malloc(size_t size);
void *wnn_calloc(size_t count, size_t size);
void *wnn_realloc(void *memory, size_t size);
void *wnn_reallocarray(void *memory, size_t count, size_t size);
void *wnn_aligned_alloc(size_t alignment, size_t size);
/* Returns cleared memory; large memory of the C library takes no pages until it is written. */
void *wnn_aligned_calloc(size_t alignment, size_t size);
int wnn_posix_memalign(void **memory, size_t alignment, size_t size);
char *wnn_strdup(const char *text);
char *wnn_strndup(const char *text, size_t size);
void wnn_free(void *memory);
/*
 * wnn_free_pages - free a block, and return the pages of a large block to the system at once
 *
 * For memory that is freed while other memory is filled: the system gives these pages to the other
 * memory, which takes less time than to get pages that the process did not have, above all in a
 * virtual machine.
 */
void wnn_free_pages(void *memory, size_t size);
/* Large memory that is filled from begin to end: the next byte without a page, and the end. */
struct wnn_filling {
	char *next, *end;
	bool choose; /* whether it uses large or small pages, whichever are mapped faster */
	/* Number of stretches, each as long as a large page, that get small pages next. */
	uint32_t small_left;
	uint32_t patience; /* half of the next small_left, when large pages are slow again */
	uint64_t small_ns; /* nanoseconds that the last stretch of small pages took */
};

/*
 * wnn_filling_begin - prepare to fill a block
 * @memory: a block that is not written yet. The size of its pages is chosen only for blocks of
 *	wnn_aligned_calloc()
 *
 * Large pages take a fifth of the time of small ones, but many times as long in a virtual machine
 * whose host has taken them back meanwhile, which happens to large pages first. So the first pages
 * are small, and those after them large as long as they take less time.
 */
void wnn_filling_begin(struct wnn_filling *filling, void *memory, size_t size);
/*
 * Announces that all bytes up to `end` will be written soon: maps their pages with few system
 * calls.
 */
void wnn_filling_reach(struct wnn_filling *filling, const void *end);

#endif
