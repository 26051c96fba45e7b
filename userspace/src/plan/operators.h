/* SPDX-License-Identifier: MIT */
/*
 * The planner's table of IR operators, which plan/lower/operators.c fills in. A new operator is a
 * new row, and a file in plan/lower/ unless it belongs to a family that has one.
 */
#ifndef WNN_PLAN_OPERATORS_H
#define WNN_PLAN_OPERATORS_H

#include "plan/report.h"

struct plan;

struct plan_operator {
	/*
	 * Returns true if the node can be lowered; otherwise *reason says why not. NULL: all can.
	 */
	bool (*supports)(const struct ir_node *node, struct npu_reason *reason);
	/* Emits the instructions of a node that is supported. */
	void (*lower)(struct plan *plan, const struct ir_node *node);
	/*
	 * Returns the bytes of scratch memory that the code of a node needs. NULL: it needs none.
	 */
	uint64_t (*scratch)(const struct ir_node *node);
	bool tiles;	 /* its code writes the result from SRAM tiles, with any strides */
	bool any_layout; /* its code takes images in NHWC layout as well as NCHW */
	bool nibbles;	 /* it may have 4-bit operands */
};

extern const struct plan_operator plan_operators[IR_OP_COUNT];

#endif
