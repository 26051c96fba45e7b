/* SPDX-License-Identifier: MIT */
/* Tells which nodes can be part of a graph, for programs that compute the others themselves. */
#ifndef ONNX_PROBE_H
#define ONNX_PROBE_H

#include "node.h"
#include "scope.h"

/*
 * Called after each node: sets *supported to whether the node was translated, and replaces the
 * outputs of an unsupported node by inputs. @refusals: the number of refusals before the node.
 * Returns 0 or -1.
 */
int onnx_probe_node(struct onnx_import *import, struct onnx_scope *scope,
		    const Onnx__NodeProto *proto, WNNBool *supported, size_t refusals);

/*
 * In a probe, refuses a node that draws random numbers, because the program computes such nodes
 * itself, and returns true; false: the import is no probe.
 */
bool onnx_probe_refuses_draw(struct onnx_node *node);

/*
 * In a probe, refuses a node whose result has further rows after the boxes that were taken, and
 * returns true: the program, which computes other nodes itself, expects a result without these
 * rows. false: the import is no probe.
 */
bool onnx_probe_refuses_rows(struct onnx_node *node);

/*
 * import.c: returns the value of a model input: an operand, a constant, or a value that is refused.
 * NULL: the import has ended.
 */
struct onnx_value *onnx_input_value(struct onnx_import *import, const struct onnx_input *input);
/*
 * import.c: adds outputs[*used] for a value that is no sequence; a value without elements adds
 * none.
 */
WNNStatus onnx_add_output(struct onnx_import *import, const char *name, struct onnx_value *value,
			  WNNNamedOperand *outputs, size_t *used);
/* import.c: adds inputs and constants, then translates the nodes. Returns 0 or -1. */
int onnx_import_nodes(struct onnx_import *import, struct onnx_scope *scope);

#endif
