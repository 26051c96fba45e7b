// SPDX-License-Identifier: MIT
/*
 * Sorts nodes after the producers of their inputs, since some exporters write nodes in any order,
 * and refuses names with two definitions.
 */
#include "order.h"

#include <string.h>

#include "scope.h"

/* The nodes of one graph or function while they are sorted. */
struct sorter {
	const Onnx__GraphProto *graph;	     /* NULL: the nodes belong to @function */
	const Onnx__FunctionProto *function; /* NULL: the nodes belong to @graph */
	struct onnx_arena arena;
	struct onnx_scope makers; /* maps a name to the index + 1 of its producer, or to GIVEN */
	Onnx__NodeProto **nodes, **sorted;
	size_t count, used;
	struct list *needs; /* for each node, the indices of its producers */
	uint8_t *state;	    /* 0: not seen, 1: on the stack, 2: sorted */
};

struct list {
	size_t count, room, next;
	size_t *items;
};

/* An entry of sorter.makers for an input or initializer, which no node produces. */
#define GIVEN SIZE_MAX

static WNNStatus order_graph(Onnx__GraphProto *graph);

static WNNStatus order_inner(const Onnx__NodeProto *node)
{
	WNNStatus status = WNNStatus_Success;

	for (size_t i = 0; status == WNNStatus_Success && i < node->n_attribute; i++) {
		const Onnx__AttributeProto *attr = node->attribute[i];

		if (attr->g)
			status = order_graph(attr->g);
		for (size_t k = 0; status == WNNStatus_Success && k < attr->n_graphs; k++)
			status = order_graph(attr->graphs[k]);
	}
	return status;
}

static const char *name_of(const Onnx__NodeProto *node)
{
	return node->name && *node->name ? node->name : node->output[0];
}

static int set_maker(struct sorter *s, const char *name, size_t maker)
{
	if (!name || !*name)
		return 0;
	return onnx_scope_set(&s->makers, &s->arena, name, (struct onnx_value *)(uintptr_t)maker);
}

/*
 * Notes the names of inputs and initializers as given, so that no node makes them. Returns 0; -1:
 * no memory.
 */
static int add_given(struct sorter *s)
{
	const Onnx__GraphProto *graph = s->graph;
	int ret = 0;

	for (size_t i = 0; !ret && !graph && i < s->function->n_input; i++)
		ret = set_maker(s, s->function->input[i], GIVEN);
	for (size_t i = 0; !ret && graph && i < graph->n_input; i++)
		ret = set_maker(s, graph->input[i]->name, GIVEN);
	for (size_t i = 0; !ret && graph && i < graph->n_initializer; i++)
		ret = set_maker(s, graph->initializer[i]->name, GIVEN);
	for (size_t i = 0; !ret && graph && i < graph->n_sparse_initializer; i++)
		if (graph->sparse_initializer[i]->values)
			ret = set_maker(s, graph->sparse_initializer[i]->values->name, GIVEN);
	return ret;
}

/*
 * Notes the node that defines each of its outputs. Fails when one of the names is defined already,
 * or when memory is exhausted.
 */
static WNNStatus add_outputs(struct sorter *s, size_t position)
{
	const Onnx__NodeProto *node = s->nodes[position];

	for (size_t i = 0; i < node->n_output; i++) {
		const char *name = node->output[i];

		if (name && onnx_scope_get(&s->makers, name))
			return onnx_error(WNNStatus_OperationError,
					  "the model is damaged: node \"%s\" (%s) defines \"%s\" "
					  "a second time",
					  name_of(node), node->op_type ? node->op_type : "", name);
		if (set_maker(s, name, position + 1))
			return onnx_nomem();
	}
	return WNNStatus_Success;
}

static int add_need(struct sorter *s, struct list *list, size_t self, const char *name)
{
	size_t maker = name && *name ? (size_t)(uintptr_t)onnx_scope_get(&s->makers, name) : 0;

	if (!maker || maker == GIVEN || maker - 1 == self)
		return 0;
	if (list->count == list->room) {
		size_t room = list->room ? 2 * list->room : 4;
		size_t *items = onnx_arena_alloc(&s->arena, room * sizeof(*items));

		if (!items)
			return -1;
		if (list->count)
			memcpy(items, list->items, list->count * sizeof(*items));
		list->items = items;
		list->room = room;
	}
	list->items[list->count++] = maker - 1;
	return 0;
}

/*
 * Adds the producers of names that a graph within a node takes from outside. Names that the inner
 * graph defines hide outer ones. Returns 0 or -1.
 */
static int add_captured(struct sorter *s, struct list *list, size_t self,
			const Onnx__GraphProto *graph, const struct onnx_scope *outer)
{
	static struct onnx_value own;
	struct onnx_scope names = { .outer = outer };
	int ret = onnx_scope_begin(&names, &s->arena, graph->n_node + graph->n_initializer);

	for (size_t i = 0; !ret && i < graph->n_input; i++)
		ret = graph->input[i]->name ?
			      onnx_scope_set(&names, &s->arena, graph->input[i]->name, &own) :
			      0;
	for (size_t i = 0; !ret && i < graph->n_initializer; i++)
		ret = graph->initializer[i]->name ?
			      onnx_scope_set(&names, &s->arena, graph->initializer[i]->name, &own) :
			      0;
	for (size_t i = 0; !ret && i < graph->n_node; i++)
		for (size_t k = 0; !ret && k < graph->node[i]->n_output; k++)
			ret = onnx_scope_set(&names, &s->arena, graph->node[i]->output[k], &own);
	for (size_t i = 0; !ret && i < graph->n_output; i++)
		if (graph->output[i]->name && !onnx_scope_get(&names, graph->output[i]->name))
			ret = add_need(s, list, self, graph->output[i]->name);
	for (size_t i = 0; !ret && i < graph->n_node; i++) {
		const Onnx__NodeProto *node = graph->node[i];

		for (size_t k = 0; !ret && k < node->n_input; k++)
			if (!onnx_scope_get(&names, node->input[k]))
				ret = add_need(s, list, self, node->input[k]);
		for (size_t k = 0; !ret && k < node->n_attribute; k++)
			if (node->attribute[k]->g)
				ret = add_captured(s, list, self, node->attribute[k]->g, &names);
	}
	return ret;
}

static int find_needs(struct sorter *s, size_t position)
{
	const Onnx__NodeProto *node = s->nodes[position];
	struct list *list = &s->needs[position];
	int ret = 0;

	for (size_t i = 0; !ret && i < node->n_input; i++)
		ret = add_need(s, list, position, node->input[i]);
	for (size_t i = 0; !ret && i < node->n_attribute; i++)
		if (node->attribute[i]->g)
			ret = add_captured(s, list, position, node->attribute[i]->g, NULL);
	return ret;
}

/*
 * Appends a node to s->sorted after all that it needs; fails when nodes need each other. It does
 * not recurse, because a hostile file could make the recursion deep.
 */
static WNNStatus sort_from(struct sorter *s, size_t position, size_t *stack)
{
	size_t depth = 0;

	stack[depth++] = position;
	s->state[position] = 1;
	while (depth) {
		size_t top = stack[depth - 1];
		struct list *list = &s->needs[top];

		if (list->next == list->count) {
			s->sorted[s->used++] = s->nodes[top];
			s->state[top] = 2;
			depth--;
			continue;
		}
		position = list->items[list->next++];
		if (s->state[position] == 1)
			return onnx_error(
				WNNStatus_OperationError,
				"the model is damaged: node \"%s\" (%s) needs its own "
				"result",
				name_of(s->nodes[position]),
				s->nodes[position]->op_type ? s->nodes[position]->op_type : "");
		if (s->state[position])
			continue;
		s->state[position] = 1;
		stack[depth++] = position;
	}
	return WNNStatus_Success;
}

static WNNStatus sort(struct sorter *s)
{
	size_t *stack = onnx_arena_alloc(&s->arena, s->count * sizeof(*stack));
	WNNStatus status = WNNStatus_Success;

	s->sorted = onnx_arena_alloc(&s->arena, s->count * sizeof(*s->sorted));
	s->needs = onnx_arena_alloc(&s->arena, s->count * sizeof(*s->needs));
	s->state = onnx_arena_alloc(&s->arena, s->count);
	if (!stack || !s->sorted || !s->needs || !s->state ||
	    onnx_scope_begin(&s->makers, &s->arena, s->count) || add_given(s))
		return onnx_nomem();
	for (size_t i = 0; status == WNNStatus_Success && i < s->count; i++)
		status = add_outputs(s, i);
	for (size_t i = 0; status == WNNStatus_Success && i < s->count; i++)
		if (find_needs(s, i))
			return onnx_nomem();
	for (size_t i = 0; status == WNNStatus_Success && i < s->count; i++)
		if (!s->state[i])
			status = sort_from(s, i, stack);
	if (status == WNNStatus_Success)
		memcpy(s->nodes, s->sorted, s->count * sizeof(*s->nodes));
	return status;
}

static WNNStatus order_nodes(struct sorter *s)
{
	WNNStatus status = WNNStatus_Success;

	for (size_t i = 0; status == WNNStatus_Success && i < s->count; i++)
		status = order_inner(s->nodes[i]);
	if (status != WNNStatus_Success || !s->count)
		return status;
	status = sort(s);
	onnx_arena_free(&s->arena);
	return status;
}

static WNNStatus order_graph(Onnx__GraphProto *graph)
{
	struct sorter s = { .graph = graph, .nodes = graph->node, .count = graph->n_node };

	return order_nodes(&s);
}

static WNNStatus order_function(Onnx__FunctionProto *function)
{
	struct sorter s = {
		.function = function,
		.nodes = function->node,
		.count = function->n_node,
	};

	return order_nodes(&s);
}

WNNStatus onnx_order(Onnx__ModelProto *model)
{
	WNNStatus status = order_graph(model->graph);

	for (size_t i = 0; status == WNNStatus_Success && i < model->n_functions; i++)
		status = order_function(model->functions[i]);
	return status;
}
