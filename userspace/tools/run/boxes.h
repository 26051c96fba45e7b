/* SPDX-License-Identifier: MIT */
/* webnn-run: divides the nodes of a large graph into boxes of nodes in a row, for a picture. */
#ifndef ONPU_TOOLS_RUN_BOXES_H
#define ONPU_TOOLS_RUN_BOXES_H

#include <stddef.h>

#include "onnx.pb-c.h"

/* The most nodes that have a box each. */
#define BOXES_ALONE 1500

struct boxes {
	size_t count;
	size_t *first;	 /* the first node of each box, then the number of nodes */
	size_t *of_node; /* the box of each node */
};

/*
 * Divides a graph. In a graph of up to BOXES_ALONE nodes, each node has a box of its own. In a
 * larger graph, a box has consecutive nodes whose names begin alike; where that gives too few or
 * too many boxes, all boxes but the last have equally many nodes. Returns 0, or -1 when memory is
 * exhausted.
 */
int boxes_init(struct boxes *boxes, const Onnx__GraphProto *graph);
void boxes_exit(struct boxes *boxes);

/*
 * Returns the length of the part with which all names of a box's nodes begin; *name is set to the
 * first of the names.
 */
size_t boxes_name(const struct boxes *boxes, const Onnx__GraphProto *graph, size_t box,
		  const char **name);

#endif
