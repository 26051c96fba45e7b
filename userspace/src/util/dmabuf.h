/* SPDX-License-Identifier: MIT */
/*
 * Memory that processes and devices share by a file descriptor (dma-buf), as the processor sees it,
 * and the fences of devices as files (sync files).
 */
#ifndef WNN_UTIL_DMABUF_H
#define WNN_UTIL_DMABUF_H

#include <stdbool.h>
#include <stddef.h>

#include "util/error.h"

struct wnn_dmabuf {
	int fd;
	void *map; /* all of it */
	size_t size;
	bool read_only; /* the descriptor allows no writing */
};

/* Takes its own copy of the descriptor. 0 or -1 with TypeError, or UnknownError from the system. */
int wnn_dmabuf_open(struct wnn_dmabuf *buffer, int fd, struct wnn_error *err);

/* Memory that belongs to no device yet. NotSupportedError where the kernel does not make it. */
int wnn_dmabuf_create(struct wnn_dmabuf *buffer, size_t size, struct wnn_error *err);

void wnn_dmabuf_close(struct wnn_dmabuf *buffer); /* one that is all 0 is fine */

/* Before the processor touches the memory, and after it. Waits for devices whose fences it has. */
int wnn_dmabuf_begin(const struct wnn_dmabuf *buffer, bool writes, struct wnn_error *err);
void wnn_dmabuf_end(const struct wnn_dmabuf *buffer, bool writes);

/* A copy of the descriptor that is closed by exec() and never 0; -1 with *err. */
int wnn_file_copy(int fd, struct wnn_error *err);

/* Whether it is a sync file, which messages call by its number @name; 0 or -1 with TypeError. */
int wnn_sync_file_check(int fd, int name, struct wnn_error *err);

/* A sync file that signals when both have; -1 with *err. Both stay the caller's. */
int wnn_sync_file_merge(int one, int other, struct wnn_error *err);

/* Waits until it has signalled, with an error or without, or until @cancelled returns true. */
void wnn_sync_file_wait(int fd, bool (*cancelled)(void *userdata), void *userdata);

/* Returns a sync file that has signalled; -1 with NotSupportedError. */
int wnn_sync_file_signalled(struct wnn_error *err);

#endif
