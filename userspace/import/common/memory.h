/* SPDX-License-Identifier: MIT */
/* Memory of the libraries that read formats: single blocks, and chunks of which small pieces are taken. */
#ifndef IMPORT_COMMON_MEMORY_H
#define IMPORT_COMMON_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* How many more allocations succeed in this thread, for tests; below 0: all. */
extern _Thread_local int64_t import_memory_left;

/* Zeroed; NULL when memory is exhausted. import_free() frees, also NULL. */
void *import_alloc(size_t size);
void *import_realloc(void *memory, size_t size);
void import_free(void *memory);

struct import_chunk;

/*
 * Zeroed, aligned for every type; NULL when memory is exhausted. It lives as long as the chunks, which
 * have @chunk_size bytes at least; 0: many.
 */
void *import_chunks_take(struct import_chunk **chunks, size_t size, size_t chunk_size);
void import_chunks_free(struct import_chunk **chunks);

#endif
