/* SPDX-License-Identifier: MIT */
/* Graphs as bytes, for files. */
#ifndef WNN_IR_BINARY_H
#define WNN_IR_BINARY_H

#include "ir/ir.h"
#include "util/bytes.h"

#define IR_DATA_ALIGNMENT 64 /* of constants among the data */

/*
 * ir_write - append a graph
 * @data: gets the bytes of the constants that the graph still has
 *
 * The writers remember when they ran out of memory. Returns -1 with *err when the graph was not
 * made with the functions of ir.h.
 */
int ir_write(const struct ir_graph *graph, struct wnn_writer *w, struct wnn_writer *data,
	     struct wnn_error *err);

/*
 * ir_read - read the graph that ir_write() has written
 *
 * @data: outlives the graph, whose constants point into it
 *
 * Accepts any bytes: the graph has sound types, operands and attributes, as ir_verify() demands;
 * whether the shapes of a node fit each other is not checked. NULL with *err.
 */
struct ir_graph *ir_read(struct wnn_reader *r, const uint8_t *data, size_t data_bytes,
			 struct wnn_error *err);

/*
 * Returns a hash of all operators and attributes: libraries with equal hashes can read each other's
 * bytes.
 */
uint64_t ir_binary_form(void);

#endif
