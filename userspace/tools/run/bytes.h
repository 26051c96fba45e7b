/* SPDX-License-Identifier: MIT */
/* webnn-run: bytes that are appended to. */
#ifndef ONPU_TOOLS_RUN_BYTES_H
#define ONPU_TOOLS_RUN_BYTES_H

#include <stddef.h>

/* Starts as zeros; the owner frees the data. */
struct bytes {
	char *data;
	size_t size, room;
};

/* Appends bytes. Returns 0; -1: memory is exhausted. */
int bytes_add(struct bytes *bytes, const void *data, size_t size);

#endif
