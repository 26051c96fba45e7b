/* SPDX-License-Identifier: MIT */
/* Writes and reads graphs as bytes, for files of saved graphs. */
#ifndef WNN_IR_BINARY_H
#define WNN_IR_BINARY_H

#include "ir/ir.h"
#include "util/bytes.h"

#define IR_DATA_ALIGNMENT 64 /* bytes; alignment of each constant in the data */

/*
 * ir_write - append a graph
 * @data: gets the bytes of the constants that the graph still has; a compiled graph has dropped
 *	some
 *
 * Returns 0, or -1 with *err when the graph was not made with the functions of ir.h. Lack of memory
 * shows only in the writers, which remember it.
 */
int ir_write(const struct ir_graph *graph, struct wnn_writer *w, struct wnn_writer *data,
	     struct wnn_error *err);

/*
 * ir_read - read the graph that ir_write() has written
 *
 * @data: outlives the graph, whose constants point into it
 *
 * Accepts any bytes, and checks types, operands and attributes with ir_verify_dropped(). The caller
 * checks the shapes of nodes with ir_shapes_fit(). Returns the graph, or NULL with *err.
 */
struct ir_graph *ir_read(struct wnn_reader *r, const uint8_t *data, size_t data_bytes,
			 struct wnn_error *err);

/*
 * Returns a hash of all operators and attributes: libraries with equal hashes can read each other's
 * bytes.
 */
uint64_t ir_binary_form(void);

#endif
