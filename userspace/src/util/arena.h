/* SPDX-License-Identifier: MIT */
/* Arenas: memory that is freed as a whole, such as that of a graph. */
#ifndef WNN_UTIL_ARENA_H
#define WNN_UTIL_ARENA_H

#include <stddef.h>

struct wnn_arena;

struct wnn_arena *wnn_arena_create(void);
void wnn_arena_destroy(struct wnn_arena *arena); /* NULL is fine */

/*
 * Returns zeroed memory that is aligned for every type and lives as long as the arena; NULL when
 * out of memory.
 */
void *wnn_arena_alloc(struct wnn_arena *arena, size_t size);
/* Copies a string into the arena; NULL when out of memory. */
char *wnn_arena_strdup(struct wnn_arena *arena, const char *str);

#endif
