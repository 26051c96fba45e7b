// SPDX-License-Identifier: MIT
/* webnn-run: lists the tensors of a model that depend on its inputs. */
#include "computed.h"

#include <stdlib.h>
#include <string.h>

#include "cut.h"

static int add(struct computed *computed, const char *name, size_t length)
{
	char **names = realloc(computed->names, (computed->count + 1) * sizeof(char *));

	if (names)
		computed->names = names;
	if (!names || !(names[computed->count] = strndup(name, length)))
		return complain(
			BAD_DEVICE,
			"too little memory is free for the list of the model's tensors; end "
			"other programs, or raise the limit (ulimit -v)");
	computed->count++;
	return DONE;
}

int computed_add(struct computed *computed, const char *name)
{
	for (size_t i = 0; i < computed->count; i++)
		if (!strcmp(computed->names[i], name))
			return DONE;
	return add(computed, name, strlen(name));
}

int computed_outputs(struct computed *computed, const struct subject *subject)
{
	WNNOnnxValueInfoArray outputs = wnnOnnxModelGetOutputs(subject->model);
	int ret = DONE;

	for (size_t i = 0; !ret && i < outputs.count; i++)
		ret = add(computed, outputs.data[i].name.data, outputs.data[i].name.length);
	return ret;
}

/*
 * A model, with marks for each node: whether the outputs need it, and whether it depends on the
 * inputs.
 */
struct flow {
	Onnx__ModelProto *model;
	struct tensors tensors;
	bool *needed, *reads;
};

/*
 * Returns whether a node, or a graph in its attributes, reads a value that depends on the inputs.
 */
static bool reads_inputs(const struct flow *flow, const Onnx__NodeProto *node)
{
	for (size_t i = 0; i < node->n_input; i++) {
		const struct tensor *tensor = tensors_find(&flow->tensors, node->input[i]);

		if (tensor && (tensor->node != NO_NODE ? flow->reads[tensor->node] :
							 tensor->is_input && !tensor->initializer))
			return true;
	}
	for (size_t i = 0; i < node->n_attribute; i++)
		for (size_t k = 0; node->attribute[i]->g && k < node->attribute[i]->g->n_node; k++)
			if (reads_inputs(flow, node->attribute[i]->g->node[k]))
				return true;
	return false;
}

/*
 * Marks all nodes that depend on values of inputs. Nodes may be in any order, so this goes through
 * them again until nothing changes.
 */
static void follow_inputs(struct flow *flow)
{
	const Onnx__GraphProto *graph = flow->model->graph;
	bool again = true;

	while (again) {
		again = false;
		for (size_t i = 0; i < graph->n_node; i++) {
			const Onnx__NodeProto *node = graph->node[i];

			if (flow->reads[i] || !strcmp(node->op_type, "Shape") ||
			    !strcmp(node->op_type, "Size") || !reads_inputs(flow, node))
				continue;
			flow->reads[i] = again = true;
		}
	}
}

static int open_flow(struct flow *flow, const struct subject *subject)
{
	struct computed outputs = { 0 };
	size_t count;
	int ret = model_file_load(subject->options->model, &flow->model);

	if (ret)
		return ret;
	count = flow->model->graph->n_node;
	flow->needed = calloc(count + 1, sizeof(bool));
	flow->reads = calloc(count + 1, sizeof(bool));
	ret = computed_outputs(&outputs, subject);
	if (!ret &&
	    (!flow->needed || !flow->reads || tensors_init(&flow->tensors, flow->model->graph) ||
	     cut_mark(&flow->tensors, (const char *const *)outputs.names, outputs.count,
		      flow->needed)))
		ret = complain(BAD_DEVICE,
			       "too little memory is free for the list of the model's tensors; end "
			       "other programs, or raise the limit (ulimit -v)");
	computed_exit(&outputs);
	return ret;
}

int computed_init(struct computed *computed, const struct subject *subject)
{
	struct flow flow = { 0 };
	int ret = open_flow(&flow, subject);

	if (!ret)
		follow_inputs(&flow);
	for (size_t i = 0; !ret && i < flow.model->graph->n_node; i++) {
		const Onnx__NodeProto *node = flow.model->graph->node[i];

		for (size_t k = 0; !ret && flow.needed[i] && flow.reads[i] && k < node->n_output;
		     k++)
			if (*node->output[k])
				ret = add(computed, node->output[k], strlen(node->output[k]));
	}
	tensors_exit(&flow.tensors);
	model_file_free(flow.model);
	free(flow.needed);
	free(flow.reads);
	return ret;
}

void computed_exit(struct computed *computed)
{
	for (size_t i = 0; i < computed->count; i++)
		free(computed->names[i]);
	free(computed->names);
	*computed = (struct computed){ 0 };
}
