// SPDX-License-Identifier: MIT
/* The importer's arenas, and the last error of each thread. */
#include "memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <webnn/onnx.h>

#include "../common/printable.h"

static _Thread_local WNNStatus last_status;
static _Thread_local char last_message[1024];

void *onnx_arena_alloc(struct onnx_arena *arena, size_t size)
{
	return import_chunks_take(&arena->chunks, size, 0);
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
	import_chunks_free(&arena->chunks);
}

WNNStatus onnx_error(WNNStatus status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(last_message, sizeof(last_message), format, args);
	va_end(args);
	import_printable(last_message);
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
