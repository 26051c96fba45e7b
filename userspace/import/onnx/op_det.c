// SPDX-License-Identifier: MIT
/* Det: determinants of small matrices, by cofactors of their first rows. */
#include "ops.h"

#define MAX_SIZE 4

/* Returns the element at a row and column of each matrix. */
static WNNOperand element(struct onnx_node *node, WNNOperand x, int64_t row, int64_t column)
{
	uint32_t rank = x_shape(x).rank;

	x = x_at(node, x, rank - 2, row);
	return x ? x_at(node, x, rank - 2, column) : NULL;
}

/*
 * Returns the determinant of the rows from @row on and of the columns in @columns, one bit for each
 * column.
 */
static WNNOperand minor_of(struct onnx_node *node, WNNOperand x, uint32_t size, uint32_t row,
			   uint32_t columns)
{
	WNNOperand sum = NULL;
	bool negative = false;

	for (uint32_t i = 0; i < size; i++) {
		WNNOperand part;

		if (!(columns & 1u << i))
			continue;
		part = element(node, x, row, i);
		if (row + 1 < size)
			part = x_mul(node, part,
				     minor_of(node, x, size, row + 1, columns & ~(1u << i)));
		sum = !sum ? part : negative ? x_sub(node, sum, part) : x_add(node, sum, part);
		negative = !negative;
		if (!sum)
			return NULL;
	}
	return sum;
}

/*
 * Sets the output to the determinants of matrices without elements, which are 1. Returns 0; -1: no
 * memory.
 */
static int det_of_nothing(struct onnx_node *node)
{
	struct onnx_shape shape = *onnx_in_shape(node, 0);
	void *data;

	shape.rank -= 2;
	data = onnx_out_constant(node, 0, onnx_in_type(node, 0), &shape);
	for (int64_t i = 0; data && i < onnx_shape_elements(&shape); i++)
		onnx_put_float(onnx_in_type(node, 0), data, (size_t)i, 1);
	return data ? 0 : -1;
}

int onnx_op_det(struct onnx_node *node)
{
	struct onnx_shape shape = *onnx_in_shape(node, 0);
	WNNOperand x;
	int64_t size;

	if (shape.rank > 1 && !shape.dim[shape.rank - 1] && !shape.dim[shape.rank - 2])
		return det_of_nothing(node);
	x = onnx_in(node, 0);
	if (!x)
		return -1;
	shape = x_shape(x);
	size = shape.rank < 2 ? 0 : shape.dim[shape.rank - 1];
	if (size < 1 || shape.dim[shape.rank - 2] != size)
		return onnx_refuse(node, "",
				   "its input has shape %s: the last two dimensions must be equal",
				   onnx_shape_text(node->import->arena, &shape));
	if (size > MAX_SIZE)
		return onnx_refuse(node, "", "the matrix has %lld rows, more than %d",
				   (long long)size, MAX_SIZE);
	return onnx_out(node, 0, minor_of(node, x, (uint32_t)size, 0, (1u << size) - 1));
}
