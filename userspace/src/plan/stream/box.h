/* SPDX-License-Identifier: MIT */
/*
 * Boxes, which are slices of values: finds the slices of the operands that an operator reads to
 * compute a slice of its result.
 */
#ifndef WNN_PLAN_STREAM_BOX_H
#define WNN_PLAN_STREAM_BOX_H

#include "ir/ir.h"

/* Elements begin[i] to begin[i] + dim[i] - 1 along each dim of a value. */
struct box {
	int64_t begin[IR_MAX_RANK], dim[IR_MAX_RANK];
};

/* Returns the box of all elements. */
struct box box_whole(const struct ir_type *type);
bool box_is_whole(const struct box *box, const struct ir_type *type);
bool box_equal(const struct box *a, const struct box *b, uint32_t rank);
/* Returns the smallest box that contains both. */
struct box box_union(const struct box *a, const struct box *b, uint32_t rank);
int64_t box_elements(const struct box *box, uint32_t rank);

/*
 * box_operand - find the slice of operand `i` that a node reads for a slice of its only result
 *
 * Sets *slice. Returns false when the node cannot compute the slice alone with the bits that it has
 * in the whole result.
 */
bool box_operand(const struct ir_node *node, uint32_t i, const struct box *result,
		 struct box *slice);
/*
 * Returns the node's attributes for a slice of its result: inner rows of an image have no padding.
 */
union ir_attrs box_attrs(const struct ir_node *node, const struct box *result);
/* Returns the axis of rows in the result of a convolution or pool; UINT32_MAX for others. */
uint32_t box_row_axis(const struct ir_node *node);

#endif
