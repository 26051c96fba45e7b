/* SPDX-License-Identifier: MIT */
/* Compiled graphs as bytes for files, from which they are made again without the compiler. */
#ifndef WNN_RUN_STORE_H
#define WNN_RUN_STORE_H

#include "run/compiled.h"

/* The bytes of a compiled graph that a file stores. */
struct run_image {
	struct wnn_writer graph; /* nodes, values, and programs without their code */
	struct wnn_writer data;	 /* constants and packed operands of CPU nodes */
	/* instructions and constants of programs; belongs to the compiled graph */
	const void *code;
	size_t code_bytes;
};

/*
 * Writes a compiled graph. @image: all 0 before, except that `graph` may have bytes of the caller,
 * which stay in front; the caller releases it in any case, and holds the compiled graph until then.
 * Returns 0 or -1.
 */
int run_save(const struct run_compiled *compiled, struct run_image *image, struct wnn_error *err);
void run_image_release(struct run_image *image);

struct run_stored {
	struct wnn_reader graph;
	const uint8_t *data; /* aligned to the page size */
	size_t data_bytes;
	void *code; /* code of the programs, in whole pages */
	size_t code_bytes;
	void *owner; /* owner of the memory of all members above */
	void (*release)(void *owner);
};

/**
 * run_load - make a graph from the bytes that run_save() has written
 * @stored: untrusted bytes. The owner is taken over on success, and released with the graph
 * @out: with one reference
 *
 * Verifies programs like compiled ones. Returns 0, or -1 with *err: OperationError for bytes that
 * are not sound, with a clause about the file: "its programs do not fit its code".
 */
int run_load(struct run_device *device, struct run_stored *stored, struct run_compiled **out,
	     struct wnn_error *err);

#endif
