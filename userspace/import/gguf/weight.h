/* SPDX-License-Identifier: MIT */
/*
 * Matrices of a model in the order of WebNN's matmul, with integers packed as dequantizeLinear
 * takes them.
 */
#ifndef GGUF_WEIGHT_H
#define GGUF_WEIGHT_H

#include <webnn/webnn_npu.h>

#include "type.h"

/*
 * A matrix [depth, columns]. Floats are in @values; integers are in @numbers, with a scale, a zero
 * point and, in @offsets if it is not NULL, a number to add for each @group rows of a column.
 */
struct gguf_weight {
	uint32_t depth, columns, group;
	WNNOperandDataType type; /* of numbers and zeros: uint4 or uint8 */
	float *values, *scales, *offsets;
	uint8_t *numbers, *zeros;
};

/*
 * The heads of a matrix whose rows are reordered: pairs of neighbours among the rotated rows become
 * pairs of a row of the first half and one of the second. With count 0, rows stay.
 */
struct gguf_heads {
	uint32_t count, size, rotated;
};

/*
 * Reads the tensor of this name, which must be [columns, depth] in the file. Returns 0, or -1 with
 * a message; gguf_weight_exit() is called in both cases.
 */
int gguf_weight_init(struct gguf_weight *weight, const struct gguf *gguf, const char *name,
		     uint32_t depth, uint32_t columns, struct gguf_heads heads,
		     struct gguf_error *error);
void gguf_weight_exit(struct gguf_weight *weight);

/* Returns @count floats of a vector, which gguf_free() frees; NULL after a failure. */
float *gguf_vector(const struct gguf *gguf, const char *name, uint32_t count,
		   struct gguf_error *error);

/* Returns x times the matrix, for x [rows, depth]; NULL: the builder has refused it. */
WNNOperand gguf_weight_multiply(const struct gguf_weight *weight, WNNGraphBuilder builder,
				WNNOperand x, uint32_t rows);

/*
 * Returns a constant whose data the caller keeps as long as its graph lives; NULL: the builder has
 * refused it.
 */
WNNOperand gguf_constant(WNNGraphBuilder builder, WNNOperandDataType type, const void *data,
			 size_t size, WNNUint32Array shape);

#endif
