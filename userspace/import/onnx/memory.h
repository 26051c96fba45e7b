/* SPDX-License-Identifier: MIT */
/* The importer's memory: single blocks, arenas that are freed as a whole, and the last error. */
#ifndef ONNX_MEMORY_H
#define ONNX_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <webnn/webnn.h>

#include "../common/memory.h"

/* {0} is an empty arena. */
struct onnx_arena {
	struct import_chunk *chunks;
};

/*
 * onnx_arena_alloc() returns zeroed memory, aligned for every type. Both functions return NULL when
 * memory is exhausted.
 */
void *onnx_arena_alloc(struct onnx_arena *arena, size_t size);
char *onnx_arena_printf(struct onnx_arena *arena, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void onnx_arena_free(struct onnx_arena *arena);

/* Remembers status and message for wnnOnnxGetLastError(); returns the status. */
WNNStatus onnx_error(WNNStatus status, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
WNNStatus onnx_nomem(void);
/* Puts a file's name before the last message; NULL: the file has no name. Returns the status. */
WNNStatus onnx_error_in(const char *file);

#endif
