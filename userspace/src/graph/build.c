// SPDX-License-Identifier: MIT
/* Builds a graph: checks the outputs, and copies the nodes that they depend on into a new graph. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/builder_private.h"
#include "graph/label.h"
#include "util/arena.h"
#include "util/malloc.h"
#include "util/printable.h"

#define NAME_SIZE 96

static int check_name(const WNNNamedOperand *outputs, size_t i, struct wnn_error *err)
{
	size_t length = wnn_view_length(&outputs[i].name);
	char name[NAME_SIZE];

	if (!length)
		return wnn_error_set(err, WNN_TYPE_ERROR, "the name of outputs[%zu] is empty", i);
	if (!memchr(outputs[i].name.data, '\0', length))
		return 0;
	wnn_text_printable(name, sizeof(name), outputs[i].name.data, length);
	return wnn_error_set(err, WNN_TYPE_ERROR, "the name of output \"%s\" contains a NUL", name);
}

static int check_operand(const struct wnn_builder *builder, const WNNNamedOperand *output,
			 struct wnn_error *err)
{
	char name[NAME_SIZE];

	wnn_text_printable(name, sizeof(name), output->name.data, wnn_view_length(&output->name));
	if (!output->operand)
		return wnn_error_missing(err, "the operand of output \"%s\" is NULL", name);
	if (output->operand->builder != builder)
		return wnn_error_set(err, WNN_TYPE_ERROR,
				     "the operand of output \"%s\" belongs to another builder",
				     name);
	if (output->operand->value->kind != IR_VALUE_RESULT)
		return wnn_error_set(err, WNN_TYPE_ERROR,
				     "the operand of output \"%s\" is %s; identity makes an output "
				     "of it",
				     name,
				     output->operand->value->kind == IR_VALUE_INPUT ? "an input" :
										      "a constant");
	return 0;
}

static int by_name(const void *a, const void *b)
{
	const WNNNamedOperand *const *x = a, *const *y = b;

	return wnn_view_compare(&(*x)->name, &(*y)->name);
}

/* Returns the outputs sorted by name; NULL: out of memory. */
static const WNNNamedOperand **sort_outputs(size_t count, const WNNNamedOperand *outputs)
{
	const WNNNamedOperand **sorted = wnn_calloc(count, sizeof(*sorted));

	if (!sorted)
		return NULL;
	for (size_t i = 0; i < count; i++)
		sorted[i] = &outputs[i];
	qsort(sorted, count, sizeof(*sorted), by_name);
	return sorted;
}

static int check_different(size_t count, const WNNNamedOperand *const *sorted,
			   struct wnn_error *err)
{
	char name[NAME_SIZE];

	for (size_t i = 1; i < count; i++) {
		if (by_name(&sorted[i - 1], &sorted[i]))
			continue;
		wnn_text_printable(name, sizeof(name), sorted[i]->name.data,
				   wnn_view_length(&sorted[i]->name));
		return wnn_error_set(err, WNN_TYPE_ERROR, "two outputs have the name \"%s\"", name);
	}
	return 0;
}

/*
 * Returns, by value id, whether the outputs depend on a value; a node is needed when one of its
 * results is. NULL: out of memory.
 */
static bool *find_reachable(const struct ir_graph *graph, size_t count,
			    const WNNNamedOperand *outputs)
{
	bool *reached = wnn_calloc(graph->num_values + 1, sizeof(*reached));

	if (!reached)
		return NULL;
	for (size_t i = 0; i < count; i++)
		reached[outputs[i].operand->value->id] = true;
	/* Nodes are in topological order: all users of a node come after it. */
	for (uint32_t n = graph->num_nodes; n-- > 0;) {
		const struct ir_node *node = graph->nodes[n];
		bool used = false;

		for (uint32_t i = 0; i < node->num_results; i++)
			used |= reached[node->results[i]->id];
		/* If one result of a node is needed, all of its results stay. */
		for (uint32_t i = 0; used && i < node->num_results; i++)
			reached[node->results[i]->id] = true;
		for (uint32_t i = 0; used && i < node->num_operands; i++)
			if (node->operands[i])
				reached[node->operands[i]->id] = true;
	}
	return reached;
}

static int check_tensors(const struct wnn_builder *builder, const bool *reached,
			 struct wnn_error *err)
{
	for (const struct wnn_tensor_use *use = builder->tensors; use; use = use->next)
		if (reached[use->value] && use->tensor.is_destroyed(use->tensor.tensor))
			return wnn_error_set(err, WNN_TYPE_ERROR,
					     "a tensor that the graph uses as a constant was "
					     "destroyed before the graph was built");
	return 0;
}

/* Returns how often the nodes and outputs that are built read each value; NULL: out of memory. */
static uint32_t *count_reads(const struct ir_graph *graph, const bool *reached, size_t count,
			     const WNNNamedOperand *outputs)
{
	uint32_t *reads = wnn_calloc((size_t)graph->num_values + 1, sizeof(*reads));

	for (uint32_t n = 0; reads && n < graph->num_nodes; n++)
		for (uint32_t i = 0; i < graph->nodes[n]->num_operands; i++)
			if (graph->nodes[n]->operands[i] &&
			    reached[graph->nodes[n]->results[0]->id])
				reads[graph->nodes[n]->operands[i]->id]++;
	for (size_t i = 0; reads && i < count; i++)
		reads[outputs[i].operand->value->id]++;
	return reads;
}

static int check_updates(const struct wnn_builder *builder, const bool *reached, size_t count,
			 const WNNNamedOperand *outputs, struct wnn_error *err)
{
	uint32_t *reads = count_reads(builder->graph, reached, count, outputs);
	char name[NAME_SIZE], what[NAME_SIZE + 32];
	int ret = reads ? 0 : wnn_error_nomem(err, "the graph");

	for (const struct wnn_update *u = builder->updates; u && !ret; u = u->next) {
		size_t i = 0;

		wnn_text_printable(name, sizeof(name), u->input->name, strlen(u->input->name));
		snprintf(what, sizeof(what), "the update of input \"%s\"", name);
		while (i < count && outputs[i].operand->value != u->value)
			i++;
		ret = i == count ? wnn_error_set(err, WNN_TYPE_ERROR,
						 "%s is no output of the graph; an operand that "
						 "updates an input must be one",
						 what) :
				   ir_check_update(u->value, u->input, reads, what, err);
	}
	wnn_free(reads);
	return ret;
}

static int copy_node(struct wnn_recording *recording, const struct ir_node *node,
		     struct ir_value **map, uint32_t operator)
{
	struct ir_value **operands = wnn_calloc(node->num_operands + 1, sizeof(*operands));
	struct ir_type *types = wnn_calloc(node->num_results + 1, sizeof(*types));
	struct ir_node *copy = NULL;

	if (operands && types) {
		for (uint32_t i = 0; i < node->num_operands; i++)
			operands[i] = node->operands[i] ? map[node->operands[i]->id] : NULL;
		for (uint32_t i = 0; i < node->num_results; i++)
			types[i] = node->results[i]->type;
		copy = ir_add_node(recording->graph, node->op, operands, node->num_operands, types,
				   node->num_results, &node->attrs, node->label, node->source);
		if (copy && ir_copy_late(recording->graph, copy, node->num_late, node->late))
			copy = NULL;
	}
	wnn_free(operands);
	wnn_free(types);
	if (!copy)
		return -1;
	for (uint32_t i = 0; i < node->num_results; i++)
		map[node->results[i]->id] = copy->results[i];
	recording->node_operator[copy->id] = operator;
	recording->operators[operator].used = true;
	return 0;
}

/* Copies the needed nodes to the new graph of the recording; -1: out of memory. */
static int copy_reachable(struct wnn_builder *builder, const bool *reached, struct ir_value **map,
			  struct wnn_recording *recording)
{
	const struct ir_graph *from = builder->graph;

	for (uint32_t i = 0; i < from->num_values; i++) {
		const struct ir_value *value = from->values[i];

		if (!reached[i] || value->kind == IR_VALUE_RESULT)
			continue;
		map[i] = ir_copy_leaf(recording->graph, value);
		if (!map[i])
			return -1;
	}
	for (uint32_t n = 0; n < from->num_nodes; n++)
		if (reached[from->nodes[n]->results[0]->id] &&
		    copy_node(recording, from->nodes[n], map, builder->node_operator[n]))
			return -1;
	return 0;
}

/*
 * Returns the input that output i updates, or NULL. When several outputs have one operand, only the
 * first of them has its update.
 */
static struct ir_value *updated_by(const struct wnn_update *updates, size_t i,
				   const WNNNamedOperand *outputs)
{
	for (size_t k = 0; k < i; k++)
		if (outputs[k].operand == outputs[i].operand)
			return NULL;
	for (; updates; updates = updates->next)
		if (updates->value == outputs[i].operand->value)
			return updates->input;
	return NULL;
}

static int copy_outputs(const struct wnn_builder *builder, size_t count,
			const WNNNamedOperand *outputs, struct ir_value **map,
			struct wnn_recording *recording)
{
	struct ir_graph *graph = recording->graph;

	for (size_t i = 0; i < count; i++) {
		struct ir_value *value = map[outputs[i].operand->value->id];
		struct ir_value *updates = updated_by(builder->updates, i, outputs);
		const char *name = wnn_label_copy(recording->memory, &outputs[i].name);

		if (!name || ir_add_output(graph, name, value, updates ? map[updates->id] : NULL))
			return -1;
		for (; updates && value != map[updates->id]; value = ir_updated(value->def))
			if (value->def->op == IR_OP_SCATTER)
				value->def->attrs.gather.in_place = true;
	}
	return 0;
}

static struct wnn_recording *make_recording(struct wnn_builder *builder, const bool *reached,
					    size_t count, const WNNNamedOperand *outputs)
{
	const struct ir_graph *from = builder->graph;
	struct wnn_recording *recording = wnn_calloc(1, sizeof(*recording));
	struct ir_value **map = wnn_calloc(from->num_values + 1, sizeof(*map));

	if (!recording || !map)
		goto fail;
	recording->graph = ir_graph_create();
	recording->node_operator =
		wnn_calloc(from->num_nodes + 1, sizeof(*recording->node_operator));
	recording->num_operators = builder->num_operators;
	recording->operators = builder->operators;
	recording->memory = builder->arena;
	builder->operators = NULL;
	builder->arena = NULL;
	builder->tensors = NULL;
	/*
	 * The list of updates is in the arena, which the recording has now: it must be read before
	 * the recording is destroyed.
	 */
	if (!recording->graph || !recording->node_operator ||
	    ir_copy_symbols(recording->graph, from) ||
	    copy_reachable(builder, reached, map, recording) ||
	    copy_outputs(builder, count, outputs, map, recording))
		goto fail;
	if (!ir_has_symbols(recording->graph))
		recording->graph->num_names = recording->graph->num_symbols = 0;
	wnn_free(map);
	return recording;
fail:
	wnn_free(map);
	wnn_recording_destroy(recording);
	return NULL;
}

/*
 * Ends the use of the builder: destroys its graph, so that constants live no longer than the nodes
 * that read them.
 */
static void spend(struct wnn_builder *builder)
{
	builder->has_built = true;
	for (struct WNNOperandImpl *operand = builder->operands; operand; operand = operand->next)
		operand->value = NULL;
	ir_graph_destroy(builder->graph);
	builder->graph = NULL;
	builder->updates = NULL;
	wnn_free(builder->node_operator);
	builder->node_operator = NULL;
}

int wnn_builder_build(struct wnn_builder *builder, size_t output_count,
		      const WNNNamedOperand *outputs, struct wnn_recording **out,
		      struct wnn_error *err)
{
	const WNNNamedOperand **sorted;
	bool *reached;
	int ret = 0;

	*out = NULL;
	if (wnn_builder_can_build(builder, err))
		return -1;
	if (!output_count || !outputs)
		return wnn_error_set(err, WNN_TYPE_ERROR,
				     "a graph needs at least one output; outputs is %s",
				     output_count ? "NULL" : "empty");
	for (size_t i = 0; i < output_count; i++)
		if (check_name(outputs, i, err))
			return -1;
	sorted = sort_outputs(output_count, outputs);
	if (sorted && check_different(output_count, sorted, err)) {
		wnn_free(sorted);
		return -1;
	}
	wnn_free(sorted);
	for (size_t i = 0; i < output_count; i++)
		if (check_operand(builder, &outputs[i], err))
			return -1;
	reached = sorted ? find_reachable(builder->graph, output_count, outputs) : NULL;
	if (reached && (check_tensors(builder, reached, err) ||
			wnn_builder_check_names(builder, reached, err) ||
			check_updates(builder, reached, output_count, outputs, err))) {
		wnn_free(reached);
		return -1;
	}
	for (struct wnn_tensor_use *use = builder->tensors; use; use = use->next)
		use->tensor.release(use->tensor.tensor);
	if (reached)
		*out = make_recording(builder, reached, output_count, outputs);
	if (!*out)
		ret = wnn_error_nomem(err, "the graph");
	builder->tensors = NULL;
	spend(builder);
	wnn_free(reached);
	return ret;
}

/* Copies the operators of a recording, with their labels. Returns 0, or -1 when out of memory. */
static int copy_operators(struct wnn_recording *to, const struct wnn_recording *from)
{
	size_t nodes = from->graph->num_nodes;

	to->memory = wnn_arena_create();
	to->operators = wnn_calloc(from->num_operators + (size_t)1, sizeof(*to->operators));
	to->node_operator = wnn_calloc(nodes + 1, sizeof(*to->node_operator));
	if (!to->memory || !to->operators || !to->node_operator)
		return -1;
	memcpy(to->node_operator, from->node_operator, nodes * sizeof(*to->node_operator));
	to->num_operators = from->num_operators;
	for (uint32_t i = 0; i < to->num_operators; i++) {
		to->operators[i] = from->operators[i];
		to->operators[i].label = wnn_arena_strdup(to->memory, from->operators[i].label);
		if (!to->operators[i].label)
			return -1;
	}
	return 0;
}

struct wnn_recording *wnn_recording_specialise(const struct wnn_recording *recording,
					       const uint32_t *numbers, struct wnn_error *err)
{
	struct wnn_recording *to = wnn_calloc(1, sizeof(*to));

	if (!to || copy_operators(to, recording))
		wnn_error_nomem(err, "a graph");
	else
		to->graph = ir_specialise(recording->graph, numbers, err);
	if (to && to->graph)
		return to;
	wnn_recording_destroy(to);
	return NULL;
}

void wnn_recording_destroy(struct wnn_recording *recording)
{
	if (!recording)
		return;
	ir_graph_destroy(recording->graph);
	wnn_free(recording->operators);
	wnn_free(recording->node_operator);
	wnn_arena_destroy(recording->memory);
	wnn_free(recording);
}
