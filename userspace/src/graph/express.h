/* SPDX-License-Identifier: MIT */
/*
 * Expressions for numbers: graphs that were made at several sizes of the names consist of the same
 * nodes, and each number that differs becomes an expression of a name, which gives it at all sizes.
 */
#ifndef WNN_GRAPH_EXPRESS_H
#define WNN_GRAPH_EXPRESS_H

#include <inttypes.h>

#include "graph/builder_private.h"

struct wnn_rule;

/* Sizes of all names, and the graph that a rule or an application makes at these sizes. */
struct point {
	uint32_t *numbers;
	struct ir_graph *graph;
};

struct late {
	struct wnn_rule *rule; /* NULL: the points are graphs of other builders */
	struct wnn_builder *builder;
	struct wnn_error *err;
	const char *name; /* begins messages */
	struct wnn_arena *arena;
	struct ir_graph *symbols; /* the builder's graph, for its names and symbols */
	bool *used;		  /* by name: whether numbers may depend on it */
	/* points[0] has the maximum of all names. */
	uint32_t num_points, cap_points;
	struct point *points;
	int64_t *numbers; /* by point: the number that becomes an expression */
};

/* Writes the sizes of a point, such as: "rows" = 2, of 1 to 8. Returns buffer. */
const char *point_text(const struct late *l, const struct point *point, char *buffer, size_t size);
/* Whether a graph has nodes of the same structure as that of the first point. */
bool same_nodes(const struct late *l, const struct ir_graph *graph);
/*
 * Gives the dimensions of a type their symbols, found from the dimensions of value @value at all
 * points. Returns 0, or -1 with an error that begins with l->name.
 */
int express_type(struct late *l, uint32_t value, struct ir_type *type);
/*
 * Gives a node of the first point its symbols: dimensions of results, and attributes. Returns 0 or
 * -1.
 */
int express_node(struct late *l, struct ir_node *node);

#endif
