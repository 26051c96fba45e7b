// SPDX-License-Identifier: MIT
/* The only place of the importer that allocates, and the thread's last error. */
#include "memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <webnn/onnx.h>

#define CHUNK_SIZE ((size_t)64 << 10)

struct onnx_chunk {
	struct onnx_chunk *next;
	size_t used, size;
	_Alignas(16) uint8_t bytes[];
};

_Thread_local int64_t onnx_memory_left = -1;
static _Thread_local WNNStatus last_status;
static _Thread_local char last_message[1024];

static int may_allocate(void)
{
	if (!onnx_memory_left)
		return 0;
	if (onnx_memory_left > 0)
		onnx_memory_left--;
	return 1;
}

void *onnx_alloc(size_t size)
{
	return may_allocate() ? calloc(1, size ? size : 1) : NULL;
}

void *onnx_realloc(void *memory, size_t size)
{
	return may_allocate() ? realloc(memory, size ? size : 1) : NULL;
}

void onnx_free(void *memory)
{
	free(memory);
}

void *onnx_arena_alloc(struct onnx_arena *arena, size_t size)
{
	struct onnx_chunk *chunk = arena->chunks;
	void *memory;

	if (size > SIZE_MAX / 2)
		return NULL;
	size = (size + 15) & ~(size_t)15;
	if (!chunk || chunk->size - chunk->used < size) {
		size_t room = size > CHUNK_SIZE ? size : CHUNK_SIZE;

		chunk = onnx_alloc(sizeof(*chunk) + room);
		if (!chunk)
			return NULL;
		chunk->size = room;
		chunk->next = arena->chunks;
		arena->chunks = chunk;
	}
	memory = chunk->bytes + chunk->used;
	chunk->used += size;
	return memory;
}

char *onnx_arena_printf(struct onnx_arena *arena, const char *format, ...)
{
	va_list args;
	char *text;
	int length;

	va_start(args, format);
	length = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (length < 0)
		return NULL;
	text = onnx_arena_alloc(arena, (size_t)length + 1);
	if (!text)
		return NULL;
	va_start(args, format);
	vsnprintf(text, (size_t)length + 1, format, args);
	va_end(args);
	return text;
}

void onnx_arena_free(struct onnx_arena *arena)
{
	while (arena->chunks) {
		struct onnx_chunk *next = arena->chunks->next;

		onnx_free(arena->chunks);
		arena->chunks = next;
	}
}

WNNStatus onnx_error(WNNStatus status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(last_message, sizeof(last_message), format, args);
	va_end(args);
	last_status = status;
	return status;
}

WNNStatus onnx_nomem(void)
{
	return onnx_error(WNNStatus_UnknownError, "memory is exhausted");
}

WNNStatus onnx_error_in(const char *file)
{
	char message[sizeof(last_message)];

	if (!file)
		return last_status;
	memcpy(message, last_message, sizeof(message));
	return onnx_error(last_status, "%s: %s", file, message);
}

WNNStatus wnnOnnxGetLastError(WNNError *error)
{
	if (error) {
		error->status = last_status;
		error->message = (WNNStringView){ last_message, strlen(last_message) };
	}
	return last_status;
}
