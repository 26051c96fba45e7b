/* SPDX-License-Identifier: MIT */
/*
 * What the planner knows of each IR operator: one row in plan/lower/operators.c. A new operator is
 * a new row, and a file in plan/lower/ unless it belongs to a family that has one.
 */
#ifndef WNN_PLAN_OPERATORS_H
#define WNN_PLAN_OPERATORS_H

#include "plan/report.h"

struct plan;

struct plan_operator {
	/* Whether the node can be lowered; if not, *reason says why. NULL: every node can. */
	bool (*supports)(const struct ir_node *node, struct npu_reason *reason);
	/* Emits the instructions of a node that is supported. */
	void (*lower)(struct plan *plan, const struct ir_node *node);
	/* Bytes of memory that the code of a node needs for itself. NULL: none. */
	uint64_t (*scratch)(const struct ir_node *node);
	bool tiles; /* makes its result as tiles in SRAM, whose elements may lie in any order */
	bool any_layout; /* takes images by rows as well as by planes */
	bool nibbles;	 /* has 4-bit operands */
};

extern const struct plan_operator plan_operators[IR_OP_COUNT];

#endif
