// SPDX-License-Identifier: MIT
/* Memory of the library, and the thread's last error. */
#include "memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <webnn/stablehlo.h>

#define CHUNK_SIZE ((size_t)64 << 10)

struct shlo_chunk {
	struct shlo_chunk *next;
	size_t used, size;
	_Alignas(16) uint8_t bytes[];
};

_Thread_local int64_t shlo_memory_left = -1;
static _Thread_local WNNStatus last_status;
static _Thread_local char last_message[1024];

void shlo_vthrow(struct shlo_guard *guard, WNNStatus status, const char *format, va_list args)
{
	guard->status = status;
	vsnprintf(guard->message, sizeof(guard->message), format, args);
	longjmp(guard->jump, 1);
}

void shlo_throw(struct shlo_guard *guard, WNNStatus status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	shlo_vthrow(guard, status, format, args);
}

static int may_allocate(void)
{
	if (!shlo_memory_left)
		return 0;
	if (shlo_memory_left > 0)
		shlo_memory_left--;
	return 1;
}

void *shlo_alloc(size_t size)
{
	return may_allocate() ? calloc(1, size ? size : 1) : NULL;
}

void *shlo_realloc(void *memory, size_t size)
{
	return may_allocate() ? realloc(memory, size ? size : 1) : NULL;
}

void shlo_free(void *memory)
{
	free(memory);
}

void *shlo_arena_alloc(struct shlo_arena *arena, size_t count, size_t size)
{
	struct shlo_chunk *chunk = arena->chunks;
	void *memory;

	if (__builtin_mul_overflow(count, size, &size) || size > SIZE_MAX / 4)
		shlo_throw(arena->guard, WNNStatus_UnknownError, "memory is exhausted");
	size = (size + 15) & ~(size_t)15;
	if (!chunk || chunk->size - chunk->used < size) {
		size_t room = size > CHUNK_SIZE ? size : CHUNK_SIZE;

		chunk = shlo_alloc(sizeof(*chunk) + room);
		if (!chunk)
			shlo_throw(arena->guard, WNNStatus_UnknownError, "memory is exhausted");
		chunk->size = room;
		chunk->next = arena->chunks;
		arena->chunks = chunk;
	}
	memory = chunk->bytes + chunk->used;
	chunk->used += size;
	return memory;
}

char *shlo_arena_text(struct shlo_arena *arena, const char *text, size_t length)
{
	char *copy = shlo_arena_alloc(arena, length + 1, 1);

	memcpy(copy, text, length);
	return copy;
}

char *shlo_arena_printf(struct shlo_arena *arena, const char *format, ...)
{
	va_list args;
	char *text;
	int length;

	va_start(args, format);
	length = vsnprintf(NULL, 0, format, args);
	va_end(args);
	text = shlo_arena_alloc(arena, (size_t)length + 1, 1);
	va_start(args, format);
	vsnprintf(text, (size_t)length + 1, format, args);
	va_end(args);
	return text;
}

void *shlo_arena_grow(struct shlo_arena *arena, void *items, size_t count, size_t size)
{
	void *more;

	/* Full at 0, 4, 8, 16 … items. */
	if (count && (count < 4 || count & (count - 1)))
		return items;
	more = shlo_arena_alloc(arena, count ? count * 2 : 4, size);
	if (count)
		memcpy(more, items, count * size);
	return more;
}

void shlo_arena_exit(struct shlo_arena *arena)
{
	while (arena->chunks) {
		struct shlo_chunk *next = arena->chunks->next;

		shlo_free(arena->chunks);
		arena->chunks = next;
	}
}

WNNStatus shlo_set_error(WNNStatus status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(last_message, sizeof(last_message), format, args);
	va_end(args);
	last_status = status;
	return status;
}

WNNStatus wnnStablehloGetLastError(WNNError *error)
{
	if (error) {
		error->status = last_status;
		error->message = (WNNStringView){ last_message, strlen(last_message) };
	}
	return last_status;
}
