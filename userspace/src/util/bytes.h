/* SPDX-License-Identifier: MIT */
/* Writers and readers of a sequence of bytes, for files; numbers have the host's byte order. */
#ifndef WNN_UTIL_BYTES_H
#define WNN_UTIL_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wnn_arena;

/* All zeros is an empty one. */
struct wnn_writer {
	uint8_t *data; /* wnn_free() */
	size_t size, room;
	bool failed; /* out of memory; sticky */
};

void wnn_put(struct wnn_writer *w, const void *data, size_t size);
void wnn_put_u32(struct wnn_writer *w, uint32_t value);
void wnn_put_u64(struct wnn_writer *w, uint64_t value);
void wnn_put_text(struct wnn_writer *w, const char *text, size_t length);
void wnn_put_zeros(struct wnn_writer *w, size_t alignment); /* up to the next multiple */

/* Reads beyond the end give zeros, and set `failed`, which is sticky. */
struct wnn_reader {
	const uint8_t *at, *end;
	bool failed;
};

void wnn_get(struct wnn_reader *r, void *to, size_t size);
uint32_t wnn_get_u32(struct wnn_reader *r);
uint64_t wnn_get_u64(struct wnn_reader *r);
/* A number of items that take `each` bytes or more, all of which are there; else 0 and failed. */
uint32_t wnn_get_count(struct wnn_reader *r, size_t each);
/* A copy in the arena, without NUL inside; "" and failed when it is none, or without memory. */
const char *wnn_get_text(struct wnn_reader *r, struct wnn_arena *arena);

/* Tells damage from the original; not made to withstand forgery. Goes on from `seed`. */
uint64_t wnn_checksum(uint64_t seed, const void *data, size_t size);

#endif
