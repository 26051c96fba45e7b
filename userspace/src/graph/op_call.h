/* SPDX-License-Identifier: MIT */
/* One call of an operator method of the builder, as the application made it. */
#ifndef WNN_GRAPH_OP_CALL_H
#define WNN_GRAPH_OP_CALL_H

#include "graph/op_table.h"
#include "util/error.h"

struct wnn_op_call {
	enum wnn_op op;
	unsigned int overload; /* 0; 1 for splitEqual, whose count is arguments.split_count */
	/* operands in the order of the operator table; optional ones may be NULL */
	const WNNOperand *operands;
	size_t operand_count;
	struct wnn_op_arguments arguments;
	/* a copy of the options, wnn_op_info[op].options->type, that may be changed */
	void *options;
	const WNNStringView *label; /* label in the options */
};

/* Writes the operator and its label in printable form, such as: conv2d "stem". Returns buffer. */
const char *wnn_op_call_name(const struct wnn_op_call *call, char *buffer, size_t size);

/*
 * wnn_op_call_check - check what can be checked without looking at the operands
 *
 * Checks that operands which are not optional are there, lists have data, enumerations have a
 * defined value, and the chain of the options has no unknown struct. Sets enumerations in the
 * options that are Undefined to their default. Returns 0, or -1 with a TypeError.
 */
int wnn_op_call_check(struct wnn_op_call *call, struct wnn_error *err);

#endif
