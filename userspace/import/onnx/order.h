/* SPDX-License-Identifier: MIT */
/* The order of nodes, and which of them the outputs depend on. */
#ifndef ONNX_ORDER_H
#define ONNX_ORDER_H

#include <stdbool.h>

#include "memory.h"
#include "onnx.pb-c.h"

/*
 * Sorts the nodes of a model so that each comes after the nodes that compute its inputs, in all its
 * graphs and functions. A model that is in order stays as it is. Fails when nodes depend on each
 * other, when a node defines a name that has a definition in its graph already, or when memory is
 * exhausted.
 */
WNNStatus onnx_order(Onnx__ModelProto *model);

/* Names of values that the model's outputs depend on, in any graph or function. */
struct onnx_uses {
	struct onnx_arena *arena;
	const Onnx__ModelProto *model;
	size_t count, room;
	const char **names; /* a hash table; NULL marks a free entry */
	/* one item for each function of the model: whether its body was searched already */
	bool *functions;
};

/* onnx_uses_begin(), _add() and _end() return 0, or -1 when memory is exhausted. */
int onnx_uses_begin(struct onnx_uses *uses, struct onnx_arena *arena,
		    const Onnx__ModelProto *model);
/*
 * onnx_uses_add() adds the name of a value that is wanted: an output of the main graph or, when
 * nodes are probed, any output of a node. When all are added, onnx_uses_end() adds the names that
 * they depend on.
 */
int onnx_uses_add(struct onnx_uses *uses, const char *name);
int onnx_uses_end(struct onnx_uses *uses);
bool onnx_uses_has(const struct onnx_uses *uses, const char *name);
/* Whether some output of a node is used; true for a node without outputs. */
bool onnx_uses_node(const struct onnx_uses *uses, const Onnx__NodeProto *node);

#endif
