/* SPDX-License-Identifier: MIT */
/*
 * Reads cases of the conformance data (webnn-validation/1, webnn-conformance/1) and makes the calls
 * of operators that they describe. The operator table maps names to arguments and options.
 */
#ifndef TEST_GRAPH_CASE_H
#define TEST_GRAPH_CASE_H

#include <jansson.h>

#include "graph/op_call.h"

/* Returns the operand that has this name in the case; NULL when there is none. */
typedef WNNOperand (*case_find)(const char *name, void *userdata);

/*
 * An entry of "operators" as a call. The memory to which the call points lives until
 * case_call_free().
 */
struct case_call {
	struct wnn_op_call call;
	size_t num_outputs;
	void *memory[32]; /* freed with the call */
	size_t num_memory;
};

/* Makes the call; returns 0, or -1 with the reason in `problem`. */
int case_call_make(struct case_call *c, const json_t *op, case_find find, void *userdata,
		   char *problem, size_t problem_size);
void case_call_free(struct case_call *c);

/* Reads a shape as a list, whose data the caller frees; returns 0 or -1. */
int case_shape(const json_t *json, WNNUint32Array *shape);

#endif
