/* SPDX-License-Identifier: MIT */
/* The state of a builder, for builder.c, build.c and record.c. */
#ifndef WNN_GRAPH_BUILDER_PRIVATE_H
#define WNN_GRAPH_BUILDER_PRIVATE_H

#include "graph/builder.h"

struct wnn_arena;

struct wnn_tensor_use {
	uint32_t value; /* id */
	struct wnn_constant_tensor tensor;
	struct wnn_tensor_use *next;
};

struct wnn_builder {
	struct wnn_builder_config config;
	bool has_built;
	struct ir_graph *graph;		 /* NULL once built */
	struct WNNOperandImpl *operands; /* newest first */
	struct wnn_tensor_use *tensors;
	struct wnn_arena *arena; /* labels, tensor uses */
	uint32_t num_operators, cap_operators;
	struct wnn_operator *operators;
	uint32_t cap_nodes;
	uint32_t *node_operator; /* for each node of graph */
	bool *computed; /* likewise: it depends on constants alone, and the builder folds */
};

/* An operand without a value yet, not in the builder's list; NULL when out of memory. */
struct WNNOperandImpl *wnn_operand_create(struct wnn_builder *builder);
/* Gives it its value and puts it into the list. */
void wnn_operand_publish(struct WNNOperandImpl *operand, struct ir_value *value);

#endif
