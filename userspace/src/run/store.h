/* SPDX-License-Identifier: MIT */
/* Compiled graphs as bytes, from which they are made again without the compiler; for files. */
#ifndef WNN_RUN_STORE_H
#define WNN_RUN_STORE_H

#include "run/compiled.h"

/* The parts of a compiled graph that a file stores. */
struct run_image {
	struct wnn_writer graph; /* nodes, values and programs */
	struct wnn_writer data;	 /* constants and packed operands of CPU nodes */
	const void *code;	 /* of the compiled graph: instructions and constants of programs */
	size_t code_bytes;
};

/* @image: all 0 before; to be released in any case, while the compiled graph is held. 0 or -1. */
int run_save(const struct run_compiled *compiled, struct run_image *image, struct wnn_error *err);
void run_image_release(struct run_image *image);

/* Such bytes in memory. */
struct run_stored {
	struct wnn_reader graph;
	const uint8_t *data; /* aligned to a page */
	size_t data_bytes;
	void *code; /* whole pages */
	size_t code_bytes;
	void *owner; /* of all that memory */
	void (*release)(void *owner);
};

/**
 * run_load - make a graph of what run_save() has written
 * @stored: bytes from anywhere. The owner is taken over on success; it is released with the graph,
 *	or as soon as nothing of the memory is used any more
 * @out: with one reference
 *
 * Programs pass the same verifier as compiled ones. -1 with *err: OperationError for bytes that are
 * not sound, with a clause about the file: "its programs do not fit its code".
 */
int run_load(struct run_device *device, struct run_stored *stored, struct run_compiled **out,
	     struct wnn_error *err);

#endif
