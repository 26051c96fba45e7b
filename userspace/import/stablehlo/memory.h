/* SPDX-License-Identifier: MIT */
/* Arenas, and errors that leave deep recursions. */
#ifndef SHLO_MEMORY_H
#define SHLO_MEMORY_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <webnn/webnn.h>

#include "../common/memory.h"

/*
 * The target of an error. Reading and running are deep recursions over the contents of a file; an
 * error leaves them by longjmp() to the public function that began. All memory taken until then
 * belongs to an arena or a list of the run, and is freed from there.
 */
struct shlo_guard {
	jmp_buf jump;
	WNNStatus status;
	char message[1024];
};

_Noreturn void shlo_throw(struct shlo_guard *guard, WNNStatus status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
_Noreturn void shlo_vthrow(struct shlo_guard *guard, WNNStatus status, const char *format,
			   va_list args) __attribute__((format(printf, 3, 0)));

struct shlo_arena {
	struct import_chunk *chunks;
	struct shlo_guard *guard; /* an error for lack of memory goes here */
	size_t chunk_size;	  /* least size of a new chunk; 0: the default */
};

/* Return zeroed memory, a copy of a text, and a formatted text; never NULL. */
void *shlo_arena_alloc(struct shlo_arena *arena, size_t count, size_t size);
char *shlo_arena_text(struct shlo_arena *arena, const char *text, size_t length);
char *shlo_arena_printf(struct shlo_arena *arena, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void shlo_arena_exit(struct shlo_arena *arena);

/* Returns the array, or a larger copy of it, with space for one more item than @count. */
void *shlo_arena_grow(struct shlo_arena *arena, void *items, size_t count, size_t size);

/* Sets the thread's last error, and returns @status. */
WNNStatus shlo_set_error(WNNStatus status, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
