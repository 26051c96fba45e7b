// SPDX-License-Identifier: MIT
/*
 * The functions that count the application's references; x_get() and x_put() count the library's
 * own.
 */
#include "api/builder.h"
#include "api/debug.h"
#include "api/graph.h"
#include "api/tensor.h"

#define REFERENCES(type, KIND, name)                                               \
	void wnn##type##AddRef(WNN##type name)                                     \
	{                                                                          \
		if (!name || api_forked())                                         \
			return;                                                    \
		if (!debug_on || debug_add_ref(KIND, name, "wnn" #type "AddRef"))  \
			name##_get(name);                                          \
	}                                                                          \
                                                                                   \
	void wnn##type##Release(WNN##type name)                                    \
	{                                                                          \
		if (!name || api_forked())                                         \
			return;                                                    \
		if (!debug_on || debug_release(KIND, name, "wnn" #type "Release")) \
			name##_put(name);                                          \
	}

REFERENCES(Instance, DEBUG_INSTANCE, instance)
REFERENCES(Context, DEBUG_CONTEXT, context)
REFERENCES(Tensor, DEBUG_TENSOR, tensor)
REFERENCES(GraphBuilder, DEBUG_GRAPH_BUILDER, builder)
REFERENCES(Operand, DEBUG_OPERAND, operand)
REFERENCES(Graph, DEBUG_GRAPH, graph)
