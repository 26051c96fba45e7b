/* SPDX-License-Identifier: MIT */
/*
 * The constants of a program: where they lie, and what they are made of. Their bytes are put together only
 * when there is the memory that the device reads, so that each is written once, and those that they are made
 * of are freed on the way.
 */
#ifndef WNN_PLAN_CONSTANTS_H
#define WNN_PLAN_CONSTANTS_H

#include "ir/ir.h"

#define PLAN_PIECE_SOURCES 3

/* Bytes behind each other that one recipe makes. */
struct plan_piece {
	uint64_t at, bytes;
	struct ir_constant *source[PLAN_PIECE_SOURCES]; /* referenced; NULL: none */
	/* Writes all of the bytes and reads none of them; NULL: they are those of the first source. */
	void (*write)(const struct plan_piece *piece, uint8_t *to);
	void *recipe; /* of write(); malloc'ed */
};

struct wnn_filling;

struct plan_constants {
	struct plan_piece *pieces; /* in the order of their places; none when dry */
	size_t num, cap;
	uint64_t bytes;
	bool dry; /* only their size is wanted: the plan is tried */
};

/* Takes bytes at the end, aligned; returns where. */
uint64_t constants_take(struct plan_constants *constants, uint64_t bytes);
/*
 * constants_add - say what bytes that were taken consist of
 * @piece: behind all that there are; its sources get a reference
 * @size: bytes of its recipe, which is copied
 *
 * Returns 0, or -1 when memory is exhausted.
 */
int constants_add(struct plan_constants *constants, const struct plan_piece *piece, size_t size);
/*
 * constants_write - write all `bytes` to memory that may be slow to read, and forget what they are made of
 * @filling: of the memory that `to` is a part of, or NULL
 *
 * Returns 0, or -1 when memory is exhausted for a source that is computed here.
 */
int constants_write(struct plan_constants *constants, uint8_t *to, struct wnn_filling *filling);
void constants_release(struct plan_constants *constants);

#endif
