/* SPDX-License-Identifier: MIT */
/*
 * Quantised matrices in the order of WebNN's matmul, with integers packed as dequantizeLinear takes
 * them.
 */
#ifndef IMPORT_COMMON_MATRIX_H
#define IMPORT_COMMON_MATRIX_H

#include <stddef.h>

#include <webnn/webnn.h>
#include <webnn/webnn_npu.h>

#include "blocks.h"

/*
 * A matrix [depth, columns]. Floats are in @values; integers are in @numbers, with a scale, a zero
 * point and, in @offsets if it is not NULL, a number to add for each @group rows of a column.
 */
struct import_matrix {
	uint32_t depth, columns, group;
	WNNOperandDataType type; /* of numbers and zeros: uint4 or uint8 */
	float *values, *scales, *offsets;
	uint8_t *numbers, *zeros;
};

/*
 * The rows of a tensor that become the columns of a matrix: @columns rows of @depth elements, which
 * are whole blocks of a type that import_block_is_read() accepts.
 */
struct import_rows {
	const struct import_block_type *type;
	const uint8_t *data;
	size_t stride; /* bytes from a row to the next */
	uint32_t depth, columns;
	/* Returns the row that becomes a column; NULL: the order stays. */
	uint32_t (*source)(const void *argument, uint32_t column);
	const void *argument;
};

enum import_packed {
	IMPORT_PACKED,
	IMPORT_NO_MEMORY,
	IMPORT_NOT_FINITE, /* a scale or an offset of a block is infinite or NaN */
};

/*
 * Packs a matrix and returns IMPORT_PACKED, or why it cannot. Types of floats become float32;
 * others keep 4 bits where all their numbers fit, else 8. Call import_matrix_exit() in any case.
 */
enum import_packed import_matrix_init(struct import_matrix *matrix, const struct import_rows *rows);
void import_matrix_exit(struct import_matrix *matrix);

/*
 * Returns x times the matrix, for a float32 x [..., depth]; NULL: the builder has refused it, or x
 * is NULL. The matrix must live as long as the graph.
 */
WNNOperand import_matrix_multiply(const struct import_matrix *matrix, WNNGraphBuilder builder,
				  WNNOperand x);

/*
 * Returns a constant that does not copy its data: the caller keeps the data as long as the graph
 * lives. NULL: the builder has refused it.
 */
WNNOperand import_borrow(WNNGraphBuilder builder, WNNOperandDataType type, const void *data,
			 size_t size, WNNUint32Array shape);

#endif
