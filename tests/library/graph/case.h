/* SPDX-License-Identifier: MIT */
/*
 * Reads cases of the conformance data (webnn-validation/1, webnn-conformance/1) and makes the calls
 * of operators that they describe. Arguments and options are found in the operator table by their
 * names.
 */
#ifndef TEST_GRAPH_CASE_H
#define TEST_GRAPH_CASE_H

#include <jansson.h>

#include "graph/op_call.h"

/* Finds the operand that a case calls by a name; NULL when there is none. */
typedef WNNOperand (*case_find)(const char *name, void *userdata);

/* One entry of "operators" as a call; what it points to lives until case_call_free. */
struct case_call {
	struct wnn_op_call call;
	size_t num_outputs;
	void *memory[32]; /* to be freed */
	size_t num_memory;
};

/* 0, or -1: `problem` says what in the data is not understood. */
int case_call_make(struct case_call *c, const json_t *op, case_find find, void *userdata,
		   char *problem, size_t problem_size);
void case_call_free(struct case_call *c);

/* A shape as a list; the caller frees data. 0 or -1. */
int case_shape(const json_t *json, WNNUint32Array *shape);

#endif
