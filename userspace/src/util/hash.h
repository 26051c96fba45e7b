/* SPDX-License-Identifier: MIT */
/*
 * A fast hash of structs whose padding is cleared, for tables inside one process: FNV-1a by words.
 */
#ifndef WNN_UTIL_HASH_H
#define WNN_UTIL_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define WNN_HASH_SEED UINT64_C(0xcbf29ce484222325)

/* Returns a hash that continues `hash`, at first WNN_HASH_SEED; size is a multiple of 8. */
static inline uint64_t wnn_hash_words(uint64_t hash, const void *data, size_t size)
{
	for (size_t i = 0; i < size; i += 8) {
		uint64_t word;

		memcpy(&word, (const uint8_t *)data + i, 8);
		hash = (hash ^ word) * UINT64_C(0x100000001b3);
		hash ^= hash >> 29;
	}
	return hash;
}

#endif
