/* SPDX-License-Identifier: MIT */
/* Arenas and errors. */
#ifndef SHLO_MEMORY_H
#define SHLO_MEMORY_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <webnn/webnn.h>

#include "../common/memory.h"

/*
 * Where the work on a module goes when it cannot go on: reading and running are deep recursions over
 * what a file says, so an error leaves them by longjmp() to the public function that began. All that
 * is taken on the way belongs to an arena or to a list of the run, and is freed from there.
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
	struct shlo_guard *guard; /* where exhausted memory goes */
	size_t chunk_size;	  /* of which memory is taken, at least; 0: much at a time */
};

/* Zeroed; never NULL. */
void *shlo_arena_alloc(struct shlo_arena *arena, size_t count, size_t size);
char *shlo_arena_text(struct shlo_arena *arena, const char *text, size_t length);
char *shlo_arena_printf(struct shlo_arena *arena, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void shlo_arena_exit(struct shlo_arena *arena);

/* Adds an item to an array of an arena, which grows by doubling. */
void *shlo_arena_grow(struct shlo_arena *arena, void *items, size_t count, size_t size);

/* The thread's last error. */
WNNStatus shlo_set_error(WNNStatus status, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
