// SPDX-License-Identifier: MIT
/* webnn-run: cuts out the part of a model between given tensors. */
#include "cut.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is needed */

struct walk {
	struct tensors *tensors;
	bool *nodes;
	size_t *stack, depth; /* stack of nodes whose inputs are still to be visited */
};

static void need(struct walk *walk, const char *name)
{
	struct tensor *tensor = tensors_find(walk->tensors, name);

	if (!tensor || tensor->needed)
		return;
	tensor->needed = true;
	if (tensor->cut || tensor->node == NO_NODE || walk->nodes[tensor->node])
		return;
	walk->nodes[tensor->node] = true;
	walk->stack[walk->depth++] = tensor->node;
}

/* Marks the inputs of a node; graphs in its attributes read values of the graph around them. */
static void need_inputs(struct walk *walk, const Onnx__NodeProto *node)
{
	for (size_t i = 0; i < node->n_input; i++)
		need(walk, node->input[i]);
	for (size_t i = 0; i < node->n_attribute; i++) {
		const Onnx__GraphProto *graph = node->attribute[i]->g;

		for (size_t k = 0; graph && k < graph->n_node; k++)
			need_inputs(walk, graph->node[k]);
		for (size_t k = 0; graph && k < graph->n_output; k++)
			need(walk, graph->output[k]->name);
	}
}

int cut_mark(struct tensors *tensors, const char *const *outputs, size_t output_count, bool *nodes)
{
	const Onnx__GraphProto *graph = tensors->graph;
	struct walk walk = { .tensors = tensors, .nodes = nodes };

	walk.stack = calloc(graph->n_node + 1, sizeof(*walk.stack));
	if (!walk.stack)
		return -1;
	for (size_t i = 0; i < output_count; i++)
		need(&walk, outputs[i]);
	while (walk.depth)
		need_inputs(&walk, graph->node[walk.stack[--walk.depth]]);
	free(walk.stack);
	return 0;
}

/* ---- what is left */

Onnx__ValueInfoProto *cut_value(const char *name)
{
	Onnx__ValueInfoProto *value = malloc(sizeof(*value));

	if (!value)
		return NULL;
	onnx__value_info_proto__init(value);
	value->name = strdup(name);
	if (value->name)
		return value;
	free(value);
	return NULL;
}

static Onnx__ValueInfoProto *copy_value(const Onnx__ValueInfoProto *value)
{
	size_t size = onnx__value_info_proto__get_packed_size(value);
	uint8_t *bytes = malloc(size + 1);
	Onnx__ValueInfoProto *copy = NULL;

	if (bytes) {
		onnx__value_info_proto__pack(value, bytes);
		copy = onnx__value_info_proto__unpack(NULL, size, bytes);
	}
	free(bytes);
	return copy;
}

/*
 * Returns a copy of a tensor's description in the file, or one with the name alone; NULL: no
 * memory.
 */
static Onnx__ValueInfoProto *value_of(const struct tensors *tensors, const char *name)
{
	const struct tensor *tensor = tensors_find(tensors, name);

	return tensor && tensor->info ? copy_value(tensor->info) : cut_value(name);
}

static void free_values(Onnx__ValueInfoProto **values, size_t count)
{
	for (size_t i = 0; values && i < count; i++)
		if (values[i])
			onnx__value_info_proto__free_unpacked(values[i], NULL);
	free(values);
}

/*
 * Returns the *count inputs of the cut model: first the given tensors, then inputs of the model
 * that are still needed. NULL: no memory.
 */
static Onnx__ValueInfoProto **make_inputs(const struct tensors *tensors, const char *const *inputs,
					  size_t input_count, size_t *count)
{
	const Onnx__GraphProto *graph = tensors->graph;
	Onnx__ValueInfoProto **values =
		calloc(input_count + graph->n_input + 1, sizeof(Onnx__ValueInfoProto *));

	*count = 0;
	for (size_t i = 0; values && i < input_count + graph->n_input; i++) {
		const char *name = i < input_count ? inputs[i] :
						     graph->input[i - input_count]->name;
		const struct tensor *tensor = tensors_find(tensors, name);

		if (i >= input_count && (!tensor || !tensor->needed || tensor->cut))
			continue;
		values[*count] = value_of(tensors, name);
		if (!values[(*count)++]) {
			free_values(values, *count);
			return NULL;
		}
	}
	return values;
}

static Onnx__ValueInfoProto **make_outputs(const struct tensors *tensors,
					   const char *const *outputs, size_t output_count)
{
	Onnx__ValueInfoProto **values = calloc(output_count + 1, sizeof(Onnx__ValueInfoProto *));

	for (size_t i = 0; values && i < output_count; i++) {
		values[i] = value_of(tensors, outputs[i]);
		if (!values[i]) {
			free_values(values, i);
			return NULL;
		}
	}
	return values;
}

static bool is_kept(const struct tensors *tensors, const char *name, bool cut_too)
{
	const struct tensor *tensor = tensors_find(tensors, name);

	return tensor && tensor->needed && (cut_too || !tensor->cut);
}

static bool is_one_of(const char *name, Onnx__ValueInfoProto *const *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(values[i]->name, name))
			return true;
	return false;
}

/* A new name for an output of a node. */
struct rename {
	char **slot, *name;
};

/*
 * A node that is kept for another output may also compute one of @inputs, the name of which is that
 * of an input of the model now. Lists such outputs of nodes in @renames, with new names. Returns 0;
 * -1: no memory.
 */
static int make_renames(const struct tensors *tensors, const char *const *inputs,
			size_t input_count, const bool *nodes, struct rename *renames)
{
	for (size_t i = 0; i < input_count; i++) {
		const struct tensor *tensor = tensors_find(tensors, inputs[i]);
		Onnx__NodeProto *node;

		if (!tensor || tensor->node == NO_NODE || !nodes[tensor->node])
			continue;
		node = tensors->graph->node[tensor->node];
		for (size_t k = 0; k < node->n_output; k++)
			if (!strcmp(node->output[k], inputs[i]))
				renames[i].slot = &node->output[k];
		renames[i].name = malloc(strlen(inputs[i]) + sizeof("/before_the_cut"));
		if (!renames[i].name)
			return -1;
		sprintf(renames[i].name, "%s/before_the_cut", inputs[i]);
	}
	return 0;
}

static void apply_renames(struct rename *renames, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (renames[i].name) {
			free(*renames[i].slot);
			*renames[i].slot = renames[i].name;
			renames[i].name = NULL;
		}
}

static void free_renames(struct rename *renames, size_t count)
{
	for (size_t i = 0; renames && i < count; i++)
		free(renames[i].name);
	free(renames);
}

/*
 * Which members of the graph's lists are kept, by index. This is settled before a member is freed,
 * because struct tensors refers to names that are freed with the members.
 */
struct marks {
	bool *initializers, *sparse, *values, *annotations;
};

static int make_marks(struct marks *marks, const struct tensors *tensors)
{
	const Onnx__GraphProto *graph = tensors->graph;

	marks->initializers = calloc(graph->n_initializer + 1, 1);
	marks->sparse = calloc(graph->n_sparse_initializer + 1, 1);
	marks->values = calloc(graph->n_value_info + 1, 1);
	marks->annotations = calloc(graph->n_quantization_annotation + 1, 1);
	if (!marks->initializers || !marks->sparse || !marks->values || !marks->annotations)
		return -1;
	for (size_t i = 0; i < graph->n_initializer; i++)
		marks->initializers[i] = is_kept(tensors, graph->initializer[i]->name, false);
	for (size_t i = 0; i < graph->n_sparse_initializer; i++)
		marks->sparse[i] =
			graph->sparse_initializer[i]->values &&
			is_kept(tensors, graph->sparse_initializer[i]->values->name, false);
	for (size_t i = 0; i < graph->n_value_info; i++)
		marks->values[i] = is_kept(tensors, graph->value_info[i]->name, true);
	for (size_t i = 0; i < graph->n_quantization_annotation; i++)
		marks->annotations[i] =
			is_kept(tensors, graph->quantization_annotation[i]->tensor_name, true);
	return 0;
}

static void free_marks(struct marks *marks)
{
	free(marks->initializers);
	free(marks->sparse);
	free(marks->values);
	free(marks->annotations);
}

/* Frees the members of a list that are not marked. */
#define COMPACT(list, count, marks, release)                 \
	do {                                                 \
		size_t kept = 0;                             \
                                                             \
		for (size_t at = 0; at < (count); at++)      \
			if ((marks)[at])                     \
				(list)[kept++] = (list)[at]; \
			else                                 \
				release((list)[at], NULL);   \
		(count) = kept;                              \
	} while (0)

static void compact(Onnx__GraphProto *graph, const struct marks *marks, const bool *nodes)
{
	COMPACT(graph->initializer, graph->n_initializer, marks->initializers,
		onnx__tensor_proto__free_unpacked);
	COMPACT(graph->sparse_initializer, graph->n_sparse_initializer, marks->sparse,
		onnx__sparse_tensor_proto__free_unpacked);
	COMPACT(graph->value_info, graph->n_value_info, marks->values,
		onnx__value_info_proto__free_unpacked);
	COMPACT(graph->quantization_annotation, graph->n_quantization_annotation,
		marks->annotations, onnx__tensor_annotation__free_unpacked);
	COMPACT(graph->node, graph->n_node, nodes, onnx__node_proto__free_unpacked);
}

int cut_apply(Onnx__ModelProto *model, struct tensors *tensors, const char *const *inputs,
	      size_t input_count, const char *const *outputs, size_t output_count,
	      const bool *nodes)
{
	Onnx__GraphProto *graph = model->graph;
	Onnx__ValueInfoProto **new_inputs, **new_outputs;
	struct rename *renames = calloc(input_count + 1, sizeof(*renames));
	struct marks marks = { 0 };
	size_t count = 0;
	int ret = renames ? make_marks(&marks, tensors) : -1;

	new_inputs = make_inputs(tensors, inputs, input_count, &count);
	new_outputs = make_outputs(tensors, outputs, output_count);
	if (!new_inputs || !new_outputs)
		ret = -1;
	/*
	 * Inputs and outputs of the graph need no entry in value_info: they are described in its
	 * lists of inputs and outputs.
	 */
	for (size_t i = 0; !ret && i < graph->n_value_info; i++)
		if (is_one_of(graph->value_info[i]->name, new_inputs, count) ||
		    is_one_of(graph->value_info[i]->name, new_outputs, output_count))
			marks.values[i] = false;
	if (!ret)
		ret = make_renames(tensors, inputs, input_count, nodes, renames);
	if (ret) {
		free_values(new_inputs, count);
		free_values(new_outputs, output_count);
	} else {
		compact(graph, &marks, nodes);
		apply_renames(renames, input_count);
		free_values(graph->input, graph->n_input);
		free_values(graph->output, graph->n_output);
		graph->input = new_inputs;
		graph->n_input = count;
		graph->output = new_outputs;
		graph->n_output = output_count;
	}
	free_renames(renames, input_count);
	free_marks(&marks);
	return ret;
}
