/* SPDX-License-Identifier: MIT */
/*
 * Checks that shapes, types and attributes of a node fit each other, as kernels take for granted.
 * Graphs that the builder makes are right by its rules; this is for graphs that come from files.
 */
#ifndef WNN_IR_SHAPES_H
#define WNN_IR_SHAPES_H

#include "ir/ir.h"

/*
 * Whether the shapes fit. The node must be verified: operands and results exist, and axes are below
 * the rank of the first operand.
 */
bool ir_shapes_fit(const struct ir_node *node);

/* ---- for shapes*.c: an operand or result; NULL for an operand that is absent */
static inline const struct ir_type *ir_shape_in(const struct ir_node *node, uint32_t i)
{
	return i < node->num_operands && node->operands[i] ? &node->operands[i]->type : NULL;
}

static inline const struct ir_type *ir_shape_out(const struct ir_node *node)
{
	return &node->results[0]->type;
}

/* An absent operand fits. */
bool ir_shape_is(const struct ir_type *type, uint32_t rank, const int64_t *dims);
bool ir_shape_counts(const struct ir_type *type, int64_t elements); /* so many, or one for all */
bool ir_shape_broadcasts(const struct ir_type *from, const struct ir_type *to);
/* Scales and zero points of blocks. */
bool ir_shape_has_blocks(const struct ir_type *data, const struct ir_type *scale,
			 const struct ir_type *zero);
bool ir_shape_has_type(const struct ir_node *node, uint32_t operand, enum ir_dtype dtype);

bool ir_shapes_conv(const struct ir_node *node);
bool ir_shapes_pool(const struct ir_node *node);
bool ir_shapes_matmul(const struct ir_node *node);
bool ir_shapes_recurrent(const struct ir_node *node);

#endif
