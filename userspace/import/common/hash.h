/* SPDX-License-Identifier: MIT */
/* A hash that names what a graph was compiled from. */
#ifndef IMPORT_HASH_H
#define IMPORT_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Two 64-bit hashes with different multipliers. */
struct import_hash {
	uint64_t a, b;
};

static inline void import_hash_word(struct import_hash *h, uint64_t word)
{
	h->a = (h->a ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	h->a ^= h->a >> 29;
	h->b = (h->b + word) * UINT64_C(0xbf58476d1ce4e5b9);
	h->b ^= h->b >> 31;
}

/* Adds the size and the bytes. */
static inline void import_hash(struct import_hash *h, const void *data, size_t size)
{
	const char *bytes = (const char *)data;
	uint64_t word;

	import_hash_word(h, size);
	for (; size >= sizeof(word); bytes += sizeof(word), size -= sizeof(word)) {
		memcpy(&word, bytes, sizeof(word));
		import_hash_word(h, word);
	}
	word = 0;
	if (size)
		memcpy(&word, bytes, size);
	import_hash_word(h, word);
}

#endif
