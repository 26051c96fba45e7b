/* SPDX-License-Identifier: MIT */
/* The state of a builder, for the files of graph/. */
#ifndef WNN_GRAPH_BUILDER_PRIVATE_H
#define WNN_GRAPH_BUILDER_PRIVATE_H

#include "graph/builder.h"

struct wnn_arena;

struct wnn_tensor_use {
	uint32_t value; /* id of the value */
	struct wnn_constant_tensor tensor;
	struct wnn_tensor_use *next;
};

/* An operand that updates an input in place. */
struct wnn_update {
	struct ir_value *input, *value;
	struct wnn_update *next;
};

struct wnn_builder {
	struct wnn_builder_config config;
	bool has_built;
	struct ir_graph *graph;		 /* NULL once the graph is built */
	struct WNNOperandImpl *operands; /* list of operands, the newest first */
	struct wnn_tensor_use *tensors;
	struct wnn_update *updates;
	struct wnn_arena *arena; /* memory of labels, and of the lists of tensors and updates */
	uint32_t num_operators, cap_operators;
	struct wnn_operator *operators;
	uint32_t cap_nodes;
	uint32_t *node_operator; /* for each node of graph: index of its operator */
	/* for each node of graph: whether it will be computed when the graph is built */
	bool *computed;
};

/*
 * Makes the type of an input whose dimensions may be known only at dispatch, and adds their names
 * to the builder's graph. @what begins messages, such as: input "x". Returns 0 or -1.
 */
int wnn_builder_late_type(struct wnn_builder *builder, const WNNOperandDescriptor *descriptor,
			  const WNNDimensionRanges *ranges, const char *what, struct ir_type *type,
			  struct wnn_error *err);

/*
 * Checks that dispatch will know the size of each name that the graph depends on: that an input
 * which the graph keeps has a dimension from which the size follows.
 * @reached: by value id, whether the outputs depend on it. Returns 0, or -1 with a TypeError.
 */
int wnn_builder_check_names(const struct wnn_builder *builder, const bool *reached,
			    struct wnn_error *err);

/*
 * Returns an operand without a value, which is not in the builder's list; NULL when out of memory.
 */
struct WNNOperandImpl *wnn_operand_create(struct wnn_builder *builder);
/* Gives an operand its value, and adds it to the builder's list. */
void wnn_operand_publish(struct WNNOperandImpl *operand, struct ir_value *value);

#endif
