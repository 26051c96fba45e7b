/* SPDX-License-Identifier: MIT */
/* Writers and readers of a sequence of bytes, for files; numbers have the host's byte order. */
#ifndef WNN_UTIL_BYTES_H
#define WNN_UTIL_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wnn_arena;

/* A writer. A structure of zeros is a writer that has written nothing. */
struct wnn_writer {
	uint8_t *data; /* the bytes, which the owner frees with wnn_free() */
	size_t size, room;
	bool failed; /* whether memory ran out; stays true */
};

/* wnn_put() appends bytes, and wnn_put_text() a length of 32 bits and then the bytes of a text. */
void wnn_put(struct wnn_writer *w, const void *data, size_t size);
void wnn_put_u32(struct wnn_writer *w, uint32_t value);
void wnn_put_u64(struct wnn_writer *w, uint64_t value);
void wnn_put_text(struct wnn_writer *w, const char *text, size_t length);
/* Appends zeros until the size is a multiple of @alignment. */
void wnn_put_zeros(struct wnn_writer *w, size_t alignment);

/*
 * A reader. Reading beyond the end gives zeros and sets `failed`, which stays true; `at` does not
 * move then.
 */
struct wnn_reader {
	const uint8_t *at, *end;
	bool failed;
};

void wnn_get(struct wnn_reader *r, void *to, size_t size);
uint32_t wnn_get_u32(struct wnn_reader *r);
uint64_t wnn_get_u64(struct wnn_reader *r);
/*
 * Reads a number of items of at least `each` bytes that follow. When the items do not fit in the
 * rest, it returns 0 and sets `failed`.
 */
uint32_t wnn_get_count(struct wnn_reader *r, size_t each);
/*
 * Reads a text without NUL and copies it to the arena; returns "" and sets `failed` when memory ran
 * out, and sets `failed` when the text has a NUL.
 */
const char *wnn_get_text(struct wnn_reader *r, struct wnn_arena *arena);

/*
 * Returns a checksum that continues that of earlier data, `seed`. It finds accidental damage, not
 * forgery.
 */
uint64_t wnn_checksum(uint64_t seed, const void *data, size_t size);

#endif
