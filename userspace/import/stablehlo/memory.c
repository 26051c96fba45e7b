// SPDX-License-Identifier: MIT
/* Memory of the library, and the thread's last error. */
#include "memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <webnn/stablehlo.h>

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

void *shlo_arena_alloc(struct shlo_arena *arena, size_t count, size_t size)
{
	void *memory = NULL;

	if (!__builtin_mul_overflow(count, size, &size))
		memory = import_chunks_take(&arena->chunks, size, arena->chunk_size);
	if (!memory)
		shlo_throw(arena->guard, WNNStatus_UnknownError, "memory is exhausted");
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

	/*
	 * The array has memory for 4, 8, 16 … items: it is full when the count is one of these, or
	 * 0.
	 */
	if (count && (count < 4 || count & (count - 1)))
		return items;
	more = shlo_arena_alloc(arena, count ? count * 2 : 4, size);
	if (count)
		memcpy(more, items, count * size);
	return more;
}

void shlo_arena_exit(struct shlo_arena *arena)
{
	import_chunks_free(&arena->chunks);
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
