/* SPDX-License-Identifier: MIT */
/* What the planner asks about element-wise nodes before it lowers them. */
#ifndef WNN_PLAN_ELEMENTWISE_H
#define WNN_PLAN_ELEMENTWISE_H

#include "ir/ir.h"

/* Dims of the iteration space when scale and zero point cover blocks; false: more than a view has.
 */
bool elementwise_block_rank(const struct ir_node *node, uint32_t *rank);

#endif
