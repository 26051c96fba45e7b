/* SPDX-License-Identifier: MIT */
/*
 * Checks that shapes, types and attributes of a node fit each other, which kernels rely on. This is
 * for graphs from files; the rules of the builder check the nodes that they make.
 */
#ifndef WNN_IR_SHAPES_H
#define WNN_IR_SHAPES_H

#include "ir/ir.h"

/*
 * Returns true if all fit. ir_verify_dropped() must have accepted the graph: operands and results
 * exist, and axes are below the rank of the first operand.
 */
bool ir_shapes_fit(const struct ir_node *node);

/* ---- for shapes*.c: return the type of an operand, NULL if it is absent, or of the result */
static inline const struct ir_type *ir_shape_in(const struct ir_node *node, uint32_t i)
{
	return i < node->num_operands && node->operands[i] ? &node->operands[i]->type : NULL;
}

static inline const struct ir_type *ir_shape_out(const struct ir_node *node)
{
	return &node->results[0]->type;
}

/*
 * ir_shape_is() returns true if a type has this shape, ir_shape_counts() if it has this number of
 * elements or one element, ir_shape_broadcasts() if it can be broadcast to another type. All three
 * return true for NULL, an absent operand.
 */
bool ir_shape_is(const struct ir_type *type, uint32_t rank, const int64_t *dims);
bool ir_shape_counts(const struct ir_type *type, int64_t elements);
bool ir_shape_broadcasts(const struct ir_type *from, const struct ir_type *to);
/* Returns true if scale and zero point have one shape, and divide the data into equal blocks. */
bool ir_shape_has_blocks(const struct ir_type *data, const struct ir_type *scale,
			 const struct ir_type *zero);
/* Returns true if an operand has this data type or is absent. */
bool ir_shape_has_type(const struct ir_node *node, uint32_t operand, enum ir_dtype dtype);

bool ir_shapes_conv(const struct ir_node *node);
bool ir_shapes_pool(const struct ir_node *node);
bool ir_shapes_matmul(const struct ir_node *node);
bool ir_shapes_recurrent(const struct ir_node *node);

#endif
