/* SPDX-License-Identifier: MIT */
/* Dimensions of inputs that are known only at dispatch, and calls that depend on them. */
#ifndef WNN_GRAPH_LATE_H
#define WNN_GRAPH_LATE_H

#include "graph/rules.h"

/*
 * A size or number above this one stands for a symbol: the difference is 1 + its index in the
 * builder's graph.
 */
#define WNN_FIRST_DIMENSION 0x80000000u

/*
 * Returns whether an operand has a dimension, or an option a number, that is known only at
 * dispatch.
 */
bool wnn_call_is_late(const struct wnn_builder *builder, struct wnn_op_call *call);

/*
 * Records a call for which wnn_call_is_late() is true; it has passed the checks that all calls
 * pass. Returns 0 or -1.
 */
int wnn_late_record(struct wnn_rule *rule, WNNOperand *outputs);

#endif
