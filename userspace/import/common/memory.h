/* SPDX-License-Identifier: MIT */
/*
 * Memory of the importers' libraries: single blocks, and chunks from which small blocks are taken.
 */
#ifndef IMPORT_COMMON_MEMORY_H
#define IMPORT_COMMON_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/*
 * How many more allocations succeed in this thread, for tests; -1: all. With -2 - n, the next n
 * succeed, one fails and sets it to -1, and all later ones succeed.
 */
extern _Thread_local int64_t import_memory_left;
/* How many allocations have failed in this thread. */
extern _Thread_local uint64_t import_memory_failures;

/*
 * import_alloc() returns zeroed memory, import_realloc() a block of another size with the contents
 * of @memory; NULL: memory is exhausted. import_free() frees both kinds, and takes NULL, too.
 */
void *import_alloc(size_t size);
void *import_realloc(void *memory, size_t size);
void import_free(void *memory);

struct import_chunk;

/*
 * Returns zeroed memory from a chunk, aligned for every type; NULL: memory is exhausted. It lives
 * until import_chunks_free(). A new chunk has at least @chunk_size bytes; 0 selects the default.
 */
void *import_chunks_take(struct import_chunk **chunks, size_t size, size_t chunk_size);
void import_chunks_free(struct import_chunk **chunks);
/* Returns how many bytes all chunks have. */
size_t import_chunks_bytes(const struct import_chunk *chunks);

#endif
