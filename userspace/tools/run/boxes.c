// SPDX-License-Identifier: MIT
/* webnn-run: divides the nodes of a large graph into boxes of nodes in a row, for a picture. */
#include "boxes.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "model_file.h"

/*
 * Limits for a graph of more than BOXES_ALONE nodes: more boxes take long to draw, and fewer tell
 * little of the model.
 */
#define MOST_BOXES   300
#define FEWEST_BOXES 10
/* The most parts of a name that are compared; slashes or points separate the parts. */
#define DEEPEST 12

/*
 * Returns the length of the first @depth parts of a name, without its last part, which is the
 * node's own.
 */
static size_t parts_of(const char *name, int depth)
{
	size_t length = 0;

	for (size_t i = 1; *name && name[i] && depth; i++)
		if (strchr("/.", name[i])) {
			length = i;
			depth--;
		}
	return length;
}

static bool begin_alike(const Onnx__NodeProto *a, const Onnx__NodeProto *b, int depth)
{
	size_t length = parts_of(node_label(a), depth);

	return length == parts_of(node_label(b), depth) &&
	       !memcmp(node_label(a), node_label(b), length);
}

/*
 * Sets first[] to the first node of each box. A new box begins where the first @depth parts of a
 * node's name differ from those of the node before. Returns the number of boxes.
 */
static size_t divide_by_names(const Onnx__GraphProto *graph, int depth, size_t *first)
{
	size_t count = 0;

	for (size_t i = 0; i < graph->n_node; i++)
		if (!i || !begin_alike(graph->node[i - 1], graph->node[i], depth))
			first[count++] = i;
	return count;
}

/* Sets first[] to the first node of each box: every @share-th node. Returns the number of boxes. */
static size_t divide_equally(const Onnx__GraphProto *graph, size_t share, size_t *first)
{
	size_t count = 0;

	for (size_t i = 0; i < graph->n_node; i += share)
		first[count++] = i;
	return count;
}

int boxes_init(struct boxes *boxes, const Onnx__GraphProto *graph)
{
	size_t nodes = graph->n_node;

	*boxes = (struct boxes){ 0 };
	boxes->first = calloc(nodes + 1, sizeof(*boxes->first));
	boxes->of_node = calloc(nodes + 1, sizeof(*boxes->of_node));
	if (!boxes->first || !boxes->of_node) {
		boxes_exit(boxes);
		return -1;
	}
	for (int depth = DEEPEST; nodes > BOXES_ALONE && depth; depth--) {
		boxes->count = divide_by_names(graph, depth, boxes->first);
		if (boxes->count <= MOST_BOXES)
			break;
	}
	if (boxes->count < FEWEST_BOXES || boxes->count > MOST_BOXES)
		boxes->count = divide_equally(
			graph, nodes > BOXES_ALONE ? nodes / MOST_BOXES + 1 : 1, boxes->first);
	boxes->first[boxes->count] = nodes;
	for (size_t box = 0; box < boxes->count; box++)
		for (size_t i = boxes->first[box]; i < boxes->first[box + 1]; i++)
			boxes->of_node[i] = box;
	return 0;
}

void boxes_exit(struct boxes *boxes)
{
	free(boxes->first);
	free(boxes->of_node);
	*boxes = (struct boxes){ 0 };
}

size_t boxes_name(const struct boxes *boxes, const Onnx__GraphProto *graph, size_t box,
		  const char **name)
{
	size_t length;

	*name = node_label(graph->node[boxes->first[box]]);
	length = strlen(*name);
	for (size_t i = boxes->first[box] + 1; i < boxes->first[box + 1]; i++) {
		const char *other = node_label(graph->node[i]);
		size_t common = 0;

		while (common < length && other[common] == (*name)[common])
			common++;
		length = common;
	}
	return length;
}
