/* SPDX-License-Identifier: MIT */
/*
 * Operators of which an operand is transposed: what they become when they work on it as it was before, and
 * their result is transposed instead.
 */
#ifndef WNN_PASS_TURN_H
#define WNN_PASS_TURN_H

#include "ir/ir.h"

/* The shape before a transpose that gives this one. */
struct ir_type turn_back(const struct ir_type *type, const uint32_t *perm);
/* Whether dimensions above 1 stay in their order, so that the bytes do, too; @before: the shape before. */
bool turn_moves_nothing(const struct ir_type *before, const uint32_t *perm);
/* Whether the node does the same work as fast in the order before: @perm has the rank of its result. */
bool turn_can(const struct ir_node *node, const uint32_t *perm);
/* Whether an operand of such a node has to be in the same order. */
bool turn_takes(const struct ir_node *node, uint32_t operand);
/* Attributes in the order before. */
void turn_attributes(enum ir_op op, union ir_attrs *attrs, const uint32_t *perm, uint32_t rank);
/* Whether it is work of single elements, beside which the order does not matter. */
bool turn_is_elementwise(enum ir_op op);

#endif
