/* SPDX-License-Identifier: MIT */
/*
 * Operators with a transposed operand: their type and attributes when they work on the operand
 * before its transpose, and their result is transposed instead. Passes and rules that move
 * transposes use it.
 */
#ifndef WNN_PASS_TURN_H
#define WNN_PASS_TURN_H

#include "ir/ir.h"

/* Returns the shape before a transpose that gives this one. */
struct ir_type turn_back(const struct ir_type *type, const uint32_t *perm);
/*
 * Whether dimensions above 1 keep their order, so that the bytes do, too; @before: the shape
 * before.
 */
bool turn_moves_nothing(const struct ir_type *before, const uint32_t *perm);
/*
 * Whether the node does equal work as fast in the order before: @perm has the rank of its result.
 */
bool turn_can(const struct ir_node *node, const uint32_t *perm);
/* Whether an operand of such a node must be in the order before, too. */
bool turn_takes(const struct ir_node *node, uint32_t operand);
/* Changes the attributes to the order before. */
void turn_attributes(enum ir_op op, union ir_attrs *attrs, const uint32_t *perm, uint32_t rank);
/* Whether the operator works on single elements, so that their order does not matter. */
bool turn_is_elementwise(enum ir_op op);

#endif
