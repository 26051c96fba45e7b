// SPDX-License-Identifier: MIT
/*
 * Makes one graph for ranges of sizes from graphs that were recorded with different sizes: an
 * importer of another format knows numbers only, and records the model several times. The graphs
 * must consist of the same operators; numbers that differ become expressions of one name.
 */
#include <stdio.h>
#include <string.h>

#include "graph/express.h"
#include "graph/label.h"
#include "util/arena.h"
#include "util/malloc.h"
#include "util/printable.h"

#define NAME_SIZE 128

/* Writes a name in printable form for messages; returns text. */
static const char *name_text(const char *name, char text[NAME_SIZE])
{
	wnn_text_printable(text, NAME_SIZE, name, strlen(name));
	return text;
}

/*
 * Checks the names and their ranges, and adds them to the builder's graph. Returns 0, or -1 with an
 * error in l->err.
 */
static int add_names(struct late *l, size_t count, const WNNDimensionRange *ranges)
{
	struct ir_graph *graph = l->symbols;
	char text[NAME_SIZE];

	for (size_t i = 0; i < count; i++) {
		const WNNDimensionRange *range = &ranges[i];
		const char *name = wnn_label_copy(l->arena, &range->name);

		if (!name)
			return wnn_error_nomem(l->err, "setSizes");
		name_text(name, text);
		if (!*name)
			return wnn_error_set(l->err, WNN_TYPE_ERROR,
					     "setSizes: ranges[%zu] has no name; each range needs "
					     "one",
					     i);
		if (ir_find_name(graph, name) < graph->num_names)
			return wnn_error_set(l->err, WNN_TYPE_ERROR,
					     "setSizes: ranges[%zu] has the name \"%s\" of an "
					     "earlier one; each name has one range",
					     i, text);
		if (!range->min || range->min > range->max || range->max > WNN_MAX_DIMENSION)
			return wnn_error_set(
				l->err, WNN_TYPE_ERROR,
				"setSizes: \"%s\" ranges from %" PRIu32 " to %" PRIu32
				"; a range is from at least 1 to at most %d, and its end "
				"is no less than its begin",
				text, range->min, range->max, WNN_MAX_DIMENSION);
		if (ir_add_name(graph, name, range->min, range->max))
			return wnn_error_nomem(l->err, "setSizes");
		l->used[i] = true;
	}
	return 0;
}

/*
 * Adds a point with these sizes and the builder's graph, which stays the builder's; checks that the
 * sizes are in their ranges. Returns 0 or -1.
 */
static int add_builder(struct late *l, struct wnn_builder *builder, const uint32_t *sizes)
{
	const struct ir_name *names = l->symbols->names;
	struct point *point;
	char text[NAME_SIZE];

	if (!ir_grow((void **)&l->points, l->num_points, &l->cap_points, sizeof(*l->points)))
		return wnn_error_nomem(l->err, "setSizes");
	point = &l->points[l->num_points++];
	*point = (struct point){ (uint32_t *)sizes, builder->graph };
	for (uint32_t i = 0; i < l->symbols->num_names; i++)
		if (sizes[i] < names[i].min || sizes[i] > names[i].max)
			return wnn_error_set(
				l->err, WNN_TYPE_ERROR,
				"setSizes: the builder of sizes[%" PRIu32 "] has the size %" PRIu32
				" for \"%s\", which ranges from %" PRIu32 " to %" PRIu32,
				l->num_points - 2, sizes[i], name_text(names[i].name, text),
				names[i].min, names[i].max);
	return 0;
}

/* Whether a point has the minimum of a name, and the maximum of all others. */
static bool is_minimum(const struct late *l, const struct point *point, uint32_t name)
{
	for (uint32_t i = 0; i < l->symbols->num_names; i++)
		if (point->numbers[i] !=
		    (i == name ? l->symbols->names[i].min : l->symbols->names[i].max))
			return false;
	return true;
}

/*
 * Checks that for each name one point has its minimum and the maximum of all others, and another
 * point has a size between the two ends, if there is such a size. Returns 0 or -1.
 */
static int check_points(struct late *l)
{
	for (uint32_t i = 0; i < l->symbols->num_names; i++) {
		const struct ir_name *name = &l->symbols->names[i];
		char text[NAME_SIZE];
		bool minimum = false;
		uint32_t others = 0;

		for (uint32_t p = 0; p < l->num_points; p++) {
			minimum |= is_minimum(l, &l->points[p], i);
			others += l->points[p].numbers[i] != name->min &&
				  l->points[p].numbers[i] != name->max;
		}
		if (!minimum)
			return wnn_error_set(
				l->err, WNN_TYPE_ERROR,
				"setSizes: a builder is needed where \"%s\" is %" PRIu32
				" and all other names have their maximum",
				name_text(name->name, text), name->min);
		if (!others && name->max - name->min > 1)
			return wnn_error_set(l->err, WNN_TYPE_ERROR,
					     "setSizes: a builder is needed where \"%s\" is above "
					     "%" PRIu32 " and below %" PRIu32,
					     name_text(name->name, text), name->min, name->max);
	}
	return 0;
}

/* Whether a graph has the inputs and constants of the first graph, apart from their sizes. */
static bool same_leaves(const struct ir_graph *first, const struct ir_graph *graph)
{
	if (first->num_inputs != graph->num_inputs || first->num_values != graph->num_values)
		return false;
	for (uint32_t i = 0; i < first->num_values; i++) {
		const struct ir_value *a = first->values[i], *b = graph->values[i];

		if (a->kind != b->kind || a->type.dtype != b->type.dtype ||
		    a->type.rank != b->type.rank ||
		    (a->kind == IR_VALUE_INPUT && strcmp(a->name, b->name)))
			return false;
	}
	return true;
}

/*
 * Checks that a constant of each point is the block at the start of the constant with the largest
 * sizes. Returns 0 or -1.
 */
static int check_constant(struct late *l, uint32_t value)
{
	struct ir_value *largest = l->symbols->values[value];
	char text[NAME_SIZE];

	for (uint32_t p = 1; p < l->num_points; p++) {
		const struct ir_value *other = l->points[p].graph->values[value];
		int ret = ir_constant_is_block(largest, other);

		if (ret < 0)
			return wnn_error_nomem(l->err, "setSizes");
		if (!ret)
			return wnn_error_set(
				l->err, WNN_TYPE_ERROR,
				"setSizes: a constant of %s with %s, must be the first elements, "
				"along each axis, of the one with the largest sizes",
				ir_dtype_name(largest->type.dtype),
				point_text(l, &l->points[p], text, sizeof(text)));
	}
	return 0;
}

static int express_all(struct late *l)
{
	struct ir_graph *graph = l->symbols;
	char name[IR_NODE_NAME_SIZE], text[IR_NODE_NAME_SIZE];

	l->name = "setSizes";
	for (uint32_t i = 0; i < graph->num_values; i++) {
		struct ir_value *value = graph->values[i];

		if (value->kind == IR_VALUE_RESULT)
			continue;
		if ((value->kind == IR_VALUE_CONSTANT && check_constant(l, i)) ||
		    express_type(l, i, &value->type))
			return -1;
	}
	for (uint32_t i = 0; i < graph->num_nodes; i++) {
		snprintf(text, sizeof(text), "setSizes: %.160s",
			 ir_node_name(graph->nodes[i], name, sizeof(name)));
		l->name = text;
		if (express_node(l, graph->nodes[i]))
			return -1;
	}
	return 0;
}

static int set_sizes(struct late *l, size_t count, const WNNDimensionRange *ranges,
		     size_t builder_count, struct wnn_builder *const *builders,
		     const uint32_t *sizes)
{
	uint32_t *largest = wnn_arena_alloc(l->arena, (count + 1) * sizeof(*largest));
	char text[NAME_SIZE];

	l->used = wnn_arena_alloc(l->arena, (count + 1) * sizeof(*l->used));
	if (!largest || !l->used)
		return wnn_error_nomem(l->err, "setSizes");
	if (add_names(l, count, ranges))
		return -1;
	for (size_t i = 0; i < count; i++)
		largest[i] = ranges[i].max;
	if (add_builder(l, l->builder, largest))
		return -1;
	for (size_t i = 0; i < builder_count; i++)
		if (add_builder(l, builders[i], sizes + i * count))
			return -1;
	l->numbers = wnn_arena_alloc(l->arena, l->num_points * sizeof(*l->numbers));
	if (!l->numbers)
		return wnn_error_nomem(l->err, "setSizes");
	if (check_points(l))
		return -1;
	for (uint32_t p = 1; p < l->num_points; p++)
		if (!same_leaves(l->symbols, l->points[p].graph) ||
		    !same_nodes(l, l->points[p].graph))
			return wnn_error_set(
				l->err, WNN_TYPE_ERROR,
				"setSizes: with %s, the graph consists of other inputs, "
				"operators or constants than with the largest sizes",
				point_text(l, &l->points[p], text, sizeof(text)));
	return express_all(l);
}

/* Makes all dimensions and attributes of a graph numbers again. */
static void clear(struct ir_graph *graph)
{
	for (uint32_t i = 0; i < graph->num_values; i++)
		for (uint32_t d = 0; d < IR_MAX_RANK; d++)
			graph->values[i]->type.dim[d].symbol = 0;
	for (uint32_t i = 0; i < graph->num_nodes; i++)
		graph->nodes[i]->num_late = 0;
	graph->num_names = graph->num_symbols = 0;
}

int wnn_builder_set_sizes(struct wnn_builder *builder, size_t count,
			  const WNNDimensionRange *ranges, size_t builder_count,
			  struct wnn_builder *const *builders, const uint32_t *sizes,
			  struct wnn_error *err)
{
	struct late l = { .builder = builder, .err = err, .name = "setSizes" };
	int ret;

	if (wnn_builder_can_build(builder, err))
		return -1;
	for (size_t i = 0; i < builder_count; i++)
		if (wnn_builder_can_build(builders[i], err))
			return -1;
	l.symbols = builder->graph;
	for (size_t i = 0; i < builder_count; i++)
		if (builders[i]->graph->num_names)
			return wnn_error_set(err, WNN_TYPE_ERROR,
					     "setSizes: the builder of sizes[%zu] has names of "
					     "dimensions; record its graph with numbers",
					     i);
	if (builder->graph->num_names)
		return wnn_error_set(err, WNN_TYPE_ERROR,
				     "setSizes: the builder has names of dimensions already; "
				     "record its graph with numbers");
	l.arena = wnn_arena_create();
	ret = l.arena ? set_sizes(&l, count, ranges, builder_count, builders, sizes) :
			wnn_error_nomem(err, "setSizes");
	if (ret)
		clear(builder->graph);
	wnn_free(l.points);
	wnn_arena_destroy(l.arena);
	return ret;
}
