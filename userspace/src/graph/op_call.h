/* SPDX-License-Identifier: MIT */
/* One call of an operator method of the builder, as the application made it. */
#ifndef WNN_GRAPH_OP_CALL_H
#define WNN_GRAPH_OP_CALL_H

#include "graph/op_table.h"
#include "util/error.h"

struct wnn_op_call {
	enum wnn_op op;
	unsigned int overload;	    /* 0, or 1 for splitEqual: arguments.split_count counts */
	const WNNOperand *operands; /* in the order of the table; optional ones may be NULL */
	size_t operand_count;
	struct wnn_op_arguments arguments;
	void *options;		    /* the caller's own copy of wnn_op_info[op].options->type */
	const WNNStringView *label; /* in options */
};

/* The operator and its label, made printable: conv2d "stem". Returns buffer. */
const char *wnn_op_call_name(const struct wnn_op_call *call, char *buffer, size_t size);

/*
 * wnn_op_call_check - check what can be checked without knowing what the operands are
 *
 * Operands that are not optional are there, lists have data, enumerations have values, no unknown
 * struct is in the chain of the options. Enumerations in the options that are Undefined get their
 * default. Returns 0, or -1 with a TypeError.
 */
int wnn_op_call_check(struct wnn_op_call *call, struct wnn_error *err);

#endif
