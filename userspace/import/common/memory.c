// SPDX-License-Identifier: MIT
/*
 * Memory of the importers' libraries. Other files of these libraries call these functions instead
 * of malloc(), except for onnx/range.c, so that tests can let allocations fail.
 */
#include "memory.h"

#include <stdlib.h>

#define CHUNK_SIZE ((size_t)64 << 10)

struct import_chunk {
	struct import_chunk *next;
	size_t used, size;
	_Alignas(16) uint8_t bytes[];
};

_Thread_local int64_t import_memory_left = -1;
_Thread_local uint64_t import_memory_failures;

static int may_allocate(void)
{
	if (!import_memory_left)
		return 0;
	if (import_memory_left < -1)
		return ++import_memory_left != -1;
	if (import_memory_left > 0)
		import_memory_left--;
	return 1;
}

void *import_alloc(size_t size)
{
	void *memory = may_allocate() ? calloc(1, size ? size : 1) : NULL;

	import_memory_failures += !memory;
	return memory;
}

void *import_realloc(void *memory, size_t size)
{
	void *more = may_allocate() ? realloc(memory, size ? size : 1) : NULL;

	import_memory_failures += !more;
	return more;
}

void import_free(void *memory)
{
	free(memory);
}

void *import_chunks_take(struct import_chunk **chunks, size_t size, size_t chunk_size)
{
	struct import_chunk *chunk = *chunks;
	void *memory;

	if (size > SIZE_MAX / 4)
		return NULL;
	size = (size + 15) & ~(size_t)15;
	if (!chunk || chunk->size - chunk->used < size) {
		size_t room = chunk_size ? chunk_size : CHUNK_SIZE;

		room = size > room ? size : room;
		chunk = import_alloc(sizeof(*chunk) + room);
		if (!chunk)
			return NULL;
		chunk->size = room;
		chunk->next = *chunks;
		*chunks = chunk;
	}
	memory = chunk->bytes + chunk->used;
	chunk->used += size;
	return memory;
}

void import_chunks_free(struct import_chunk **chunks)
{
	while (*chunks) {
		struct import_chunk *next = (*chunks)->next;

		import_free(*chunks);
		*chunks = next;
	}
}

size_t import_chunks_bytes(const struct import_chunk *chunks)
{
	size_t bytes = 0;

	for (; chunks; chunks = chunks->next)
		bytes += chunks->size;
	return bytes;
}
