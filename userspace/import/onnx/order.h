/* SPDX-License-Identifier: MIT */
/* The order of nodes, and which of them the outputs depend on. */
#ifndef ONNX_ORDER_H
#define ONNX_ORDER_H

#include <stdbool.h>

#include "memory.h"
#include "onnx.pb-c.h"

/*
 * Puts the nodes of a model behind those that make their inputs, in all its graphs and functions. A
 * model that is in order stays as it is. Fails when nodes need each other, or without memory.
 */
WNNStatus onnx_order(Onnx__ModelProto *model);

/* Names of values that an output of the model depends on, in whatever graph or function. */
struct onnx_uses {
	struct onnx_arena *arena;
	const Onnx__ModelProto *model;
	size_t count, room;
	const char **names; /* a hash table; NULL: free */
	bool *functions;    /* those that were looked through */
};

/* 0, or -1 when memory is exhausted. */
int onnx_uses_begin(struct onnx_uses *uses, struct onnx_arena *arena,
		    const Onnx__ModelProto *model);
/* Adds the name of an output of the main graph; then onnx_uses_end() adds what they depend on. */
int onnx_uses_add(struct onnx_uses *uses, const char *name);
int onnx_uses_end(struct onnx_uses *uses);
bool onnx_uses_has(const struct onnx_uses *uses, const char *name);
/* Whether some output of a node is used. One without outputs counts as used. */
bool onnx_uses_node(const struct onnx_uses *uses, const Onnx__NodeProto *node);

#endif
