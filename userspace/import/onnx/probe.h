/* SPDX-License-Identifier: MIT */
/* Tells which nodes can be part of a graph, for programs that compute the others themselves. */
#ifndef ONNX_PROBE_H
#define ONNX_PROBE_H

#include "node.h"
#include "scope.h"

/*
 * After the node: tells whether it was translated, and makes inputs of the outputs of one that was not.
 * There were @refusals before it.
 */
int onnx_probe_node(struct onnx_import *import, struct onnx_scope *scope,
		    const Onnx__NodeProto *proto, WNNBool *supported, size_t refusals);

/* Refuses a node that draws where the program computes such nodes itself; false: it does not. */
bool onnx_probe_refuses_draw(struct onnx_node *node);

/* import.c: the operand of an input, or its constant; NULL when the import has ended. */
struct onnx_value *onnx_input_value(struct onnx_import *import, const struct onnx_input *input);
/* import.c: makes an output of the graph, outputs[*used], of a value that is no sequence; none of one without elements. */
WNNStatus onnx_add_output(struct onnx_import *import, const char *name, struct onnx_value *value,
			  WNNNamedOperand *outputs, size_t *used);
/* import.c: inputs and constants, then the nodes. */
int onnx_import_nodes(struct onnx_import *import, struct onnx_scope *scope);

#endif
