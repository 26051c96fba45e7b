/* SPDX-License-Identifier: MIT */
/* The memory of a context: buffers that host and device share, host memory, and their limit. */
#ifndef WNN_RUN_HEAP_H
#define WNN_RUN_HEAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/alloc.h"
#include "util/error.h"
#include "winsys/winsys.h"

/* May be used from any thread. */
struct run_heap {
	struct winsys *ws;		/* NULL: host memory only */
	struct wnn_allocator allocator; /* of host memory */
	uint64_t limit;			/* bytes; 0: none */
	_Atomic uint64_t used;
};

/* A buffer of the device when the heap has one, else of the host (va 0). */
struct run_buffer {
	struct winsys_bo *bo;
	void *map;
	uint64_t va;
	size_t size;
	bool held;		  /* memory that the device has made for it */
	bool lent;		  /* the application's memory, where the device can take that */
	void *host;		  /* the application's memory of which it is a copy; or NULL */
	struct wnn_dmabuf dmabuf; /* whose memory it is; all 0: its own */
};

/* @what names the buffer in messages: "the intermediate results of a graph". */
int run_buffer_create(struct run_heap *heap, struct run_buffer *buffer, size_t size,
		      const char *what, struct wnn_error *err);
/*
 * run_buffer_create() with contents: whole pages at @map, which must exist as long as the buffer.
 * They are its memory when the device can use them, else they are copied; it counts the same bytes.
 */
int run_buffer_wrap(struct run_heap *heap, struct run_buffer *buffer, void *map, size_t size,
		    const char *what, struct wnn_error *err);
/*
 * run_buffer_create() on a dma-buf, from @offset; it counts @size bytes. The dma-buf is taken over
 * in any case, and closed after a failure.
 */
int run_buffer_import(struct run_heap *heap, struct run_buffer *buffer, struct wnn_dmabuf *dmabuf,
		      size_t offset, size_t size, const char *what, struct wnn_error *err);
/*
 * run_buffer_create() on memory of the application: used directly when the device can, else copied,
 * and run_buffer_fetch() and run_buffer_return() keep the copy in step; it counts the same bytes.
 */
int run_buffer_lend(struct run_heap *heap, struct run_buffer *buffer, void *data, size_t size,
		    const char *what, struct wnn_error *err);
/*
 * Moves a lent buffer to other memory of its size; the device must not be using it. After a failure
 * it is where it was.
 */
int run_buffer_move(struct run_heap *heap, struct run_buffer *buffer, void *data,
		    struct wnn_error *err);
/* Copies from, or to, the application's memory; returns how many bytes were copied. */
size_t run_buffer_fetch(const struct run_buffer *buffer);
size_t run_buffer_return(const struct run_buffer *buffer);
/* Returns the address at which the processor finds the contents. */
void *run_buffer_data(const struct run_buffer *buffer);
/* Lets the processor read the buffer, and write it if @writes, until run_buffer_end(). */
int run_buffer_begin(const struct run_buffer *buffer, bool writes, struct wnn_error *err);
void run_buffer_end(const struct run_buffer *buffer, bool writes);
void run_buffer_destroy(struct run_heap *heap, struct run_buffer *buffer); /* zeroes it */

/* Host memory, aligned to WNN_ALIGNMENT, not cleared. */
void *run_host_alloc(struct run_heap *heap, size_t size, const char *what, struct wnn_error *err);
void run_host_free(struct run_heap *heap, void *memory, size_t size); /* NULL is fine */

#endif
