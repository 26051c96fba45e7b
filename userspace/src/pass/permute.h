/* SPDX-License-Identifier: MIT */
/*
 * Changes operators whose operand is transposed so that they work on the operand before its
 * transpose; their result is then transposed instead. Passes and rules that move transposes use
 * these functions.
 */
#ifndef WNN_PASS_PERMUTE_H
#define WNN_PASS_PERMUTE_H

#include "ir/ir.h"

/* Returns the shape before a transpose that results in `type`. */
struct ir_type permute_shape_back(const struct ir_type *type, const uint32_t *perm);
/*
 * Whether a transpose keeps the order of the dimensions larger than 1, and thus of all bytes;
 * @before: the shape before it.
 */
bool permute_moves_nothing(const struct ir_type *before, const uint32_t *perm);
/*
 * Whether a node can work, as fast as now, on operands before their transpose; @perm has the rank
 * of its result.
 */
bool permute_can(const struct ir_node *node, const uint32_t *perm);
/*
 * Whether a node that permute_can() accepts reads operand `operand` as it is before the transpose;
 * other operands stay as they are.
 */
bool permute_takes(const struct ir_node *node, uint32_t operand);
/* Changes attributes for operands before the transpose. */
void permute_attributes(enum ir_op op, union ir_attrs *attrs, const uint32_t *perm, uint32_t rank);
/* Whether the operator works on single elements, so that their order does not matter. */
bool permute_is_elementwise(enum ir_op op);

#endif
