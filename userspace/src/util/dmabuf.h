/* SPDX-License-Identifier: MIT */
/*
 * Memory that processes and devices share by a file descriptor (dma-buf), mapped for the processor,
 * and fences of devices as files (sync files).
 */
#ifndef WNN_UTIL_DMABUF_H
#define WNN_UTIL_DMABUF_H

#include <stdbool.h>
#include <stddef.h>

#include "util/error.h"

struct wnn_dmabuf {
	int fd;
	void *map; /* mapping of the whole dma-buf */
	size_t size;
	bool read_only; /* whether the descriptor does not allow writing */
};

/*
 * Maps a dma-buf, and keeps a copy of the descriptor; @fd stays the caller's. Returns 0; -1 with a
 * TypeError when the descriptor is not that of a dma-buf with memory, or with an UnknownError from
 * the system.
 */
int wnn_dmabuf_open(struct wnn_dmabuf *buffer, int fd, struct wnn_error *err);

/*
 * Makes a dma-buf that belongs to no device. Returns 0; -1 with a NotSupportedError when
 * /dev/udmabuf cannot be opened, or with an UnknownError from the system.
 */
int wnn_dmabuf_create(struct wnn_dmabuf *buffer, size_t size, struct wnn_error *err);

void wnn_dmabuf_close(struct wnn_dmabuf *buffer); /* a buffer that is all 0 is fine */

/*
 * Begin and end the processor's access to the memory. wnn_dmabuf_begin() waits for devices whose
 * fences the dma-buf has; it returns 0, or -1 with *err.
 */
int wnn_dmabuf_begin(const struct wnn_dmabuf *buffer, bool writes, struct wnn_error *err);
void wnn_dmabuf_end(const struct wnn_dmabuf *buffer, bool writes);

/* Returns a copy of the descriptor that exec() closes and that is never 0; -1 with *err. */
int wnn_file_copy(int fd, struct wnn_error *err);

/*
 * Checks that a descriptor is a sync file; @name: its number in messages. Returns 0 or -1 with
 * TypeError.
 */
int wnn_sync_file_check(int fd, int name, struct wnn_error *err);

/*
 * Returns a sync file that signals when both files have signalled; -1 with *err. The caller still
 * owns both.
 */
int wnn_sync_file_merge(int one, int other, struct wnn_error *err);

/* Waits until a sync file has signalled, also with an error, or until @cancelled returns true. */
void wnn_sync_file_wait(int fd, bool (*cancelled)(void *userdata), void *userdata);

/* Returns a sync file that has signalled already; -1 with *err. */
int wnn_sync_file_signalled(struct wnn_error *err);

#endif
