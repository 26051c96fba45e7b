/* SPDX-License-Identifier: MIT */
/*
 * Boxes: slices of values, and which slices of its operands an operator reads to compute a slice of
 * its result.
 */
#ifndef WNN_PLAN_STREAM_BOX_H
#define WNN_PLAN_STREAM_BOX_H

#include "ir/ir.h"

/* Elements begin[i] .. begin[i]+dim[i] of each dim of a value. */
struct box {
	int64_t begin[IR_MAX_RANK], dim[IR_MAX_RANK];
};

struct box box_whole(const struct ir_type *type);
bool box_is_whole(const struct box *box, const struct ir_type *type);
bool box_equal(const struct box *a, const struct box *b, uint32_t rank);
/* The least box that has both in it. */
struct box box_union(const struct box *a, const struct box *b, uint32_t rank);
int64_t box_elements(const struct box *box, uint32_t rank);

/*
 * box_operand - find what a node reads of operand `i` for a slice of its only result
 *
 * Sets *part. Returns false when the node cannot compute such a slice alone with the same bits as
 * in the whole result.
 */
bool box_operand(const struct ir_node *node, uint32_t i, const struct box *result,
		 struct box *part);
/*
 * Returns the node's attributes for that slice of the result: inner rows of an image have no
 * padding.
 */
union ir_attrs box_attrs(const struct ir_node *node, const struct box *result);
/* The axis of rows of an image that a convolution or pool makes; UINT32_MAX for other operators. */
uint32_t box_row_axis(const struct ir_node *node);

#endif
