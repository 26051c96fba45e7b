// SPDX-License-Identifier: MIT
/* Writes and reads sequences of bytes; see bytes.h. */
#include "util/bytes.h"

#include <string.h>

#include "util/arena.h"
#include "util/array.h"
#include "util/number.h"

void wnn_put(struct wnn_writer *w, const void *data, size_t size)
{
	w->failed = w->failed || size > SIZE_MAX / 4 - w->size ||
		    wnn_array_reserve(&w->data, &w->room, w->size + size, 1);
	if (w->failed || !size)
		return;
	memcpy(w->data + w->size, data, size);
	w->size += size;
}

void wnn_put_u32(struct wnn_writer *w, uint32_t value)
{
	wnn_put(w, &value, sizeof(value));
}

void wnn_put_u64(struct wnn_writer *w, uint64_t value)
{
	wnn_put(w, &value, sizeof(value));
}

void wnn_put_text(struct wnn_writer *w, const char *text, size_t length)
{
	wnn_put_u32(w, (uint32_t)length);
	wnn_put(w, text, length);
}

void wnn_put_zeros(struct wnn_writer *w, size_t alignment)
{
	static const uint8_t zeros[64];
	size_t missing = wnn_align_up(w->size, alignment) - w->size;

	for (size_t part; missing; missing -= part) {
		part = missing < sizeof(zeros) ? missing : sizeof(zeros);
		wnn_put(w, zeros, part);
	}
}

void wnn_get(struct wnn_reader *r, void *to, size_t size)
{
	if (r->failed || size > (size_t)(r->end - r->at)) {
		r->failed = true;
		memset(to, 0, size);
		return;
	}
	if (size)
		memcpy(to, r->at, size);
	r->at += size;
}

uint32_t wnn_get_u32(struct wnn_reader *r)
{
	uint32_t value;

	wnn_get(r, &value, sizeof(value));
	return value;
}

uint64_t wnn_get_u64(struct wnn_reader *r)
{
	uint64_t value;

	wnn_get(r, &value, sizeof(value));
	return value;
}

uint32_t wnn_get_count(struct wnn_reader *r, size_t each)
{
	uint32_t count = wnn_get_u32(r);

	if (!r->failed && count <= (size_t)(r->end - r->at) / each)
		return count;
	r->failed = true;
	return 0;
}

const char *wnn_get_text(struct wnn_reader *r, struct wnn_arena *arena)
{
	uint32_t length = wnn_get_count(r, 1);
	char *text = r->failed ? NULL : wnn_arena_alloc(arena, (size_t)length + 1);

	if (!text) {
		r->failed = true;
		return "";
	}
	wnn_get(r, text, length);
	r->failed |= strlen(text) != length;
	return text;
}

/* Multiplies two numbers of 64 bits; returns the exclusive or of both halves of the product. */
static inline uint64_t fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/*
 * How far ahead data is requested. The processor itself requests too little of it: sums of a file
 * in the page cache took nearly twice as long.
 */
#define AHEAD 8192

uint64_t wnn_checksum(uint64_t seed, const void *data, size_t size)
{
	const uint8_t *at = data;
	uint64_t lane[4], last[8] = { 0 }, sum = seed ^ size;

	for (int i = 0; i < 4; i++)
		lane[i] = fold(seed + (uint64_t)i + 1, UINT64_C(0x9e3779b97f4a7c15));
	for (size_t left = size; left; left -= left < 64 ? left : 64, at += 64) {
		uint64_t word[8];

		if (left > AHEAD)
			__builtin_prefetch(at + AHEAD);
		if (left < 64)
			memcpy(last, at, left);
		memcpy(word, left < 64 ? (const void *)last : at, 64);
		/*
		 * Constants are mixed into both factors, since a factor of 0 would hide the other
		 * one.
		 */
		for (int i = 0; i < 4; i++)
			lane[i] = fold(lane[i] ^ word[2 * i] ^ UINT64_C(0xa0761d6478bd642f),
				       word[2 * i + 1] ^ UINT64_C(0xe7037ed1a0b428db)) +
				  word[2 * i] + (uint64_t)i;
	}
	for (int i = 0; i < 4; i++)
		sum = fold(sum ^ lane[i] ^ UINT64_C(0x8ebc6af09c88c6e3),
			   lane[i] + UINT64_C(0x589965cc75374cc3));
	return sum;
}
