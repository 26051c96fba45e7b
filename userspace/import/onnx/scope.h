/* SPDX-License-Identifier: MIT */
/* The names that the nodes of a graph can use. */
#ifndef ONNX_SCOPE_H
#define ONNX_SCOPE_H

#include "memory.h"
#include "onnx.pb-c.h"
#include "value.h"

struct onnx_node;

struct onnx_scope {
	const struct onnx_scope *outer; /* scope of the enclosing graph; NULL: none */
	/* In the body of a model's function: the node that calls it, and the function. */
	struct onnx_node *caller;
	const Onnx__FunctionProto *function;
	size_t count, room;
	struct onnx_name {
		const char *name;
		struct onnx_value *value;
		struct onnx_name *next;
	} **buckets;
};

/*
 * onnx_scope_begin() and onnx_scope_set() return 0, or -1 when memory is exhausted. The table keeps
 * the pointer to the name.
 */
int onnx_scope_begin(struct onnx_scope *scope, struct onnx_arena *arena, size_t names);
int onnx_scope_set(struct onnx_scope *scope, struct onnx_arena *arena, const char *name,
		   struct onnx_value *value);
struct onnx_value *onnx_scope_get(const struct onnx_scope *scope, const char *name);

#endif
