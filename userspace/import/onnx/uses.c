// SPDX-License-Identifier: MIT
/*
 * Finds the values that the outputs of a model depend on. Names of all graphs and functions share
 * one table: it holds each value that is used, and may hold an unused value whose name another one
 * has.
 */
#include <string.h>

#include "order.h"

static uint64_t hash(const char *name)
{
	uint64_t sum = UINT64_C(0xcbf29ce484222325);

	for (; *name; name++)
		sum = (sum ^ (uint8_t)*name) * UINT64_C(0x100000001b3);
	return sum ^ sum >> 32;
}

/* Returns the entry of a name in the table, or the free entry where the name belongs. */
static const char **entry(const struct onnx_uses *uses, const char *name)
{
	size_t at = hash(name) & (uses->room - 1);

	while (uses->names[at] && strcmp(uses->names[at], name))
		at = (at + 1) & (uses->room - 1);
	return &uses->names[at];
}

static int grow(struct onnx_uses *uses)
{
	struct onnx_uses old = *uses;

	uses->room = old.room ? 2 * old.room : 64;
	uses->names = onnx_arena_alloc(uses->arena, uses->room * sizeof(*uses->names));
	if (!uses->names) {
		*uses = old;
		return -1;
	}
	for (size_t i = 0; i < old.room; i++)
		if (old.names[i])
			*entry(uses, old.names[i]) = old.names[i];
	return 0;
}

int onnx_uses_add(struct onnx_uses *uses, const char *name)
{
	const char **at;

	if (!name || !*name)
		return 0;
	if (2 * uses->count >= uses->room && grow(uses))
		return -1;
	at = entry(uses, name);
	uses->count += !*at;
	*at = name;
	return 0;
}

bool onnx_uses_has(const struct onnx_uses *uses, const char *name)
{
	return name && *name && uses->room && *entry(uses, name);
}

bool onnx_uses_node(const struct onnx_uses *uses, const Onnx__NodeProto *node)
{
	bool named = false;

	for (size_t i = 0; i < node->n_output; i++) {
		named = named || (node->output[i] && *node->output[i]);
		if (onnx_uses_has(uses, node->output[i]))
			return true;
	}
	return !named;
}

static int look_through(struct onnx_uses *uses, size_t count, Onnx__NodeProto *const *nodes);

static int look_at_graph(struct onnx_uses *uses, const Onnx__GraphProto *graph)
{
	int ret = 0;

	for (size_t i = 0; !ret && i < graph->n_output; i++)
		ret = onnx_uses_add(uses, graph->output[i]->name);
	return ret ? ret : look_through(uses, graph->n_node, graph->node);
}

/*
 * Adds all outputs of the functions that a node calls, and the values that these depend on. Returns
 * 0 or -1.
 */
static int look_at_functions(struct onnx_uses *uses, const Onnx__NodeProto *node)
{
	const Onnx__ModelProto *model = uses->model;
	int ret = 0;

	for (size_t i = 0; !ret && i < model->n_functions; i++) {
		const Onnx__FunctionProto *function = model->functions[i];

		if (uses->functions[i] || !function->name || !node->op_type ||
		    strcmp(function->name, node->op_type))
			continue;
		uses->functions[i] = true;
		for (size_t k = 0; !ret && k < function->n_output; k++)
			ret = onnx_uses_add(uses, function->output[k]);
		if (!ret)
			ret = look_through(uses, function->n_node, function->node);
	}
	return ret;
}

static int look_through(struct onnx_uses *uses, size_t count, Onnx__NodeProto *const *nodes)
{
	int ret = 0;

	for (size_t i = count; !ret && i--;) {
		const Onnx__NodeProto *node = nodes[i];

		if (!onnx_uses_node(uses, node))
			continue;
		for (size_t k = 0; !ret && k < node->n_input; k++)
			ret = onnx_uses_add(uses, node->input[k]);
		for (size_t k = 0; !ret && k < node->n_attribute; k++)
			if (node->attribute[k]->g)
				ret = look_at_graph(uses, node->attribute[k]->g);
		if (!ret)
			ret = look_at_functions(uses, node);
	}
	return ret;
}

int onnx_uses_begin(struct onnx_uses *uses, struct onnx_arena *arena, const Onnx__ModelProto *model)
{
	*uses = (struct onnx_uses){ .arena = arena, .model = model };
	uses->functions = onnx_arena_alloc(arena, model->n_functions + 1);
	return uses->functions ? 0 : -1;
}

int onnx_uses_end(struct onnx_uses *uses)
{
	return look_through(uses, uses->model->graph->n_node, uses->model->graph->node);
}
