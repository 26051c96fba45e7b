// SPDX-License-Identifier: MIT
/* Allocates from an arena: a list of chunks, each filled from its begin, freed together. */
#include "util/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <string.h>

#include "util/malloc.h"

#define CHUNK_SIZE ((size_t)32768)

struct chunk {
	struct chunk *next;
	size_t used, size;
	alignas(max_align_t) unsigned char data[];
};

struct wnn_arena {
	struct chunk *chunks;
};

struct wnn_arena *wnn_arena_create(void)
{
	return wnn_calloc(1, sizeof(struct wnn_arena));
}

void wnn_arena_destroy(struct wnn_arena *arena)
{
	struct chunk *chunk, *next;

	if (!arena)
		return;
	for (chunk = arena->chunks; chunk; chunk = next) {
		next = chunk->next;
		wnn_free(chunk);
	}
	wnn_free(arena);
}

void *wnn_arena_alloc(struct wnn_arena *arena, size_t size)
{
	struct chunk *chunk = arena->chunks;
	size_t room;
	void *p;

	if (size > SIZE_MAX / 2)
		return NULL;
	size = (size + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
	if (!chunk || chunk->size - chunk->used < size) {
		room = size > CHUNK_SIZE ? size : CHUNK_SIZE;
		chunk = wnn_calloc(1, sizeof(*chunk) + room);
		if (!chunk)
			return NULL;
		chunk->size = room;
		chunk->next = arena->chunks;
		arena->chunks = chunk;
	}
	p = chunk->data + chunk->used;
	chunk->used += size;
	return p;
}

char *wnn_arena_strdup(struct wnn_arena *arena, const char *str)
{
	size_t n = strlen(str) + 1;
	char *copy = wnn_arena_alloc(arena, n);

	return copy ? memcpy(copy, str, n) : NULL;
}
