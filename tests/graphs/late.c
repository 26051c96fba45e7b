// SPDX-License-Identifier: MIT
/*
 * Gives a size of a graph a name: all dimensions of inputs and constants, and all sizes in
 * arguments of nodes, that are this number get the name; constants with the name become inputs. The
 * graph that is built once with the name must give the bits of those that are built for each size.
 */
#include <string.h>

#include "graph.h"

bool late_draw(const struct graph *graph, uint64_t seed, struct late *late)
{
	struct rng rng = { seed };
	uint32_t sizes[GRAPH_MAX_VALUES * IR_MAX_RANK], count = 0;

	for (uint32_t v = 0; v < graph->num_values; v++)
		for (uint32_t d = 0; d < graph->values[v].rank; d++)
			if (graph->values[v].kind == GRAPH_INPUT && graph->values[v].dims[d] > 1)
				sizes[count++] = graph->values[v].dims[d];
	if (!count)
		return false;
	late->size = sizes[rng_below(&rng, count)];
	late->min = (uint32_t)rng_between(&rng, 1, late->size);
	late->max = late->size + (uint32_t)rng_below(&rng, 4);
	return true;
}

bool late_leaf(const struct late *late, const struct graph_value *value)
{
	for (uint32_t d = 0; late && d < value->rank; d++)
		if (value->dims[d] == late->size)
			return true;
	return false;
}

/* Returns whether all items of an argument are sizes of dimensions. */
static bool is_sizes(const char *name)
{
	return !strcmp(name, "newShape") || !strcmp(name, "sizes") || !strcmp(name, "splits");
}

void late_node(const struct late *late, struct graph_node *node, uint32_t number)
{
	const struct wnn_op_info *info = &wnn_op_info[node->op];

	for (uint32_t i = 0; i < info->argument_count; i++)
		for (uint32_t k = 0;
		     is_sizes(info->arguments[i].name) && k < node->arguments[i].count; k++)
			if (node->arguments[i].word[k] == late->size)
				node->arguments[i].word[k] = number;
}

int late_graph(const struct graph *graph, const struct late *late, uint32_t size, struct graph *at)
{
	struct wnn_error err = { 0 };

	*at = *graph;
	for (uint32_t v = 0; v < at->num_values; v++) {
		struct graph_value *value = &at->values[v];

		if (value->kind == GRAPH_RESULT || !late_leaf(late, value))
			continue;
		value->kind = GRAPH_INPUT;
		for (uint32_t d = 0; d < value->rank; d++)
			if (value->dims[d] == late->size)
				value->dims[d] = size;
	}
	for (uint32_t n = 0; n < at->num_nodes; n++)
		late_node(late, &at->nodes[n], size);
	return graph_infer(at, &err);
}
