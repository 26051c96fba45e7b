/* SPDX-License-Identifier: MIT */
/*
 * The memory of a context: buffers that host and device share, host memory, and the limit of both.
 */
#ifndef WNN_RUN_HEAP_H
#define WNN_RUN_HEAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/alloc.h"
#include "util/error.h"
#include "winsys/winsys.h"

/* Memory of a context; may be used from any thread. */
struct run_heap {
	struct winsys *ws;		/* NULL: there is host memory only */
	struct wnn_allocator allocator; /* allocator of host memory */
	uint64_t limit;			/* the most bytes that may be in use; 0: no limit */
	_Atomic uint64_t used;
};

/* A buffer that the device can use when the heap has a device, else host memory (va is 0). */
struct run_buffer {
	struct winsys_bo *bo;
	void *map;
	uint64_t va;
	size_t size;
	bool held; /* whether the device allocated memory for the buffer */
	/* whether the buffer lies in memory of the application */
	bool lent;
	/* the application's memory if the buffer is a copy of it, else NULL */
	void *host;
	struct wnn_dmabuf dmabuf; /* the dma-buf in whose memory the buffer lies; all 0: none */
};

/*
 * Allocates a buffer. @what names it in messages: "the intermediate results of a graph". Returns 0,
 * or -1 with *err, as do the functions below that have @err and return int.
 */
int run_buffer_create(struct run_heap *heap, struct run_buffer *buffer, size_t size,
		      const char *what, struct wnn_error *err);
/*
 * Like run_buffer_create(), with contents: whole pages at @map, which must exist as long as the
 * buffer. If the device can use these pages, they are the buffer's memory, else the buffer is a
 * copy. Counts @size bytes in both cases.
 */
int run_buffer_wrap(struct run_heap *heap, struct run_buffer *buffer, void *map, size_t size,
		    const char *what, struct wnn_error *err);
/*
 * Like run_buffer_create(), in the memory of a dma-buf from @offset on; counts @size bytes. The
 * dma-buf is taken over in any case, and closed after a failure.
 */
int run_buffer_import(struct run_heap *heap, struct run_buffer *buffer, struct wnn_dmabuf *dmabuf,
		      size_t offset, size_t size, const char *what, struct wnn_error *err);
/*
 * Like run_buffer_create(), in memory of the application. If the device can use this memory, the
 * buffer lies in it; else the buffer is a copy, which run_buffer_fetch() and run_buffer_return()
 * keep up to date. Counts @size bytes in both cases.
 */
int run_buffer_lend(struct run_heap *heap, struct run_buffer *buffer, void *data, size_t size,
		    const char *what, struct wnn_error *err);
/*
 * Moves a lent buffer to other memory of the application with the same size; the device must not be
 * using the buffer. After a failure the buffer is still in the old memory.
 */
int run_buffer_move(struct run_heap *heap, struct run_buffer *buffer, void *data,
		    struct wnn_error *err);
/*
 * Copy from and to the application's memory, if the buffer is a copy; return how many bytes were
 * copied.
 */
size_t run_buffer_fetch(const struct run_buffer *buffer);
size_t run_buffer_return(const struct run_buffer *buffer);
/* Returns the address at which the processor reads and writes the contents. */
void *run_buffer_data(const struct run_buffer *buffer);
/*
 * Lets the processor read the buffer, and with @writes also write it, until run_buffer_end(). The
 * device must not be using the buffer meanwhile. Returns 0 or -1; only a dma-buf can fail.
 */
int run_buffer_begin(const struct run_buffer *buffer, bool writes, struct wnn_error *err);
void run_buffer_end(const struct run_buffer *buffer, bool writes);
/* Lets jobs that are submitted later read what the processor has written to a range. */
void run_buffer_flush(const struct run_buffer *buffer, size_t offset, size_t size);
void run_buffer_destroy(struct run_heap *heap, struct run_buffer *buffer); /* zeroes it */

/* Allocates host memory, aligned to WNN_ALIGNMENT and not cleared. NULL with *err. */
void *run_host_alloc(struct run_heap *heap, size_t size, const char *what, struct wnn_error *err);
void run_host_free(struct run_heap *heap, void *memory, size_t size); /* NULL is fine */

#endif
