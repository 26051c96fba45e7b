// SPDX-License-Identifier: MIT
/*
 * Finds outputs of the graph that update an input of it in place, such as a cache of keys with new
 * rows (wnnGraphBuilderUpdateInput()).
 */
#include <string.h>

#include "node.h"

void onnx_note_update(struct onnx_node *node, size_t output, size_t input)
{
	struct onnx_value *old = node->inputs[input];

	/* The operand of a converted input is not that of the graph. */
	if (onnx_wants(node, output) && old->given && !node->wide && !node->carried)
		node->outputs[output]->updates = old;
}

/* Returns how often nodes and outputs of a graph read a value; a graph within a node counts as 2. */
static size_t count_reads(const Onnx__GraphProto *graph, const char *name)
{
	size_t count = 0;

	for (size_t i = 0; i < graph->n_output; i++)
		count += !strcmp(graph->output[i]->name, name);
	for (size_t n = 0; n < graph->n_node; n++) {
		const Onnx__NodeProto *node = graph->node[n];

		for (size_t i = 0; i < node->n_input; i++)
			count += !strcmp(node->input[i], name);
		for (size_t i = 0; i < node->n_attribute; i++)
			count += node->attribute[i]->g || node->attribute[i]->n_graphs ? 2 : 0;
	}
	return count;
}

int onnx_declare_update(struct onnx_node *node, struct onnx_value *input, WNNOperand output)
{
	const Onnx__ModelProto *model = node->import->model->proto;
	WNNError error = WNN_ERROR_INIT;

	if (!input || !output || input->updates || model->n_functions || node->import->supported ||
	    count_reads(model->graph, input->origin) != 1)
		return 0;
	/* Marks the input: another output with this value becomes a copy. */
	input->updates = input;
	if (wnnGraphBuilderUpdateInput(node->b, input->operand, output) == WNNStatus_Success)
		return 0;
	wnnGraphBuilderGetLastError(node->b, &error);
	return onnx_refuse(node, "", "%.*s", (int)error.message.length, error.message.data);
}
