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

	/*
	 * The operand of a converted input is not that of the graph. An input under the name that
	 * an Identity gave it may have readers that count_reads() does not find.
	 */
	if (onnx_wants(node, output) && old->given && old->origin && !node->wide &&
	    !node->carried && !strcmp(node->proto->input[input], old->origin))
		node->outputs[output]->updates = old;
}

/* Whether a node reads only the shape of its input, not the elements. */
static bool reads_shape(const Onnx__NodeProto *node)
{
	return node->op_type && (!node->domain || !*node->domain) &&
	       (!strcmp(node->op_type, "Shape") || !strcmp(node->op_type, "Size"));
}

/*
 * Returns how often nodes and the model's outputs read the elements of a value. Each attribute with
 * graphs counts as 2, because these may read the value.
 */
static size_t count_reads(const struct onnx_model *model, const char *name)
{
	const Onnx__GraphProto *graph = model->proto->graph;
	size_t count = 0;

	for (size_t i = 0; i < model->output_count; i++)
		count += !strcmp(model->outputs[i]->name, name);
	for (size_t n = 0; n < graph->n_node; n++) {
		const Onnx__NodeProto *node = graph->node[n];

		for (size_t i = 0; i < node->n_input && !reads_shape(node); i++)
			count += !strcmp(node->input[i], name);
		for (size_t i = 0; i < node->n_attribute; i++)
			count += node->attribute[i]->g || node->attribute[i]->n_graphs ? 2 : 0;
	}
	return count;
}

int onnx_declare_update(struct onnx_node *node, struct onnx_value *input, WNNOperand output)
{
	const struct onnx_model *model = node->import->model;
	WNNError error = WNN_ERROR_INIT;

	if (!input || !output || input->updates || model->proto->n_functions ||
	    node->import->supported || count_reads(model, input->origin) != 1)
		return 0;
	/*
	 * Marks the input as updated: a second output that is this input with new rows becomes a
	 * copy.
	 */
	input->updates = input;
	if (wnnGraphBuilderUpdateInput(node->b, input->operand, output) == WNNStatus_Success)
		return 0;
	wnnGraphBuilderGetLastError(node->b, &error);
	return onnx_refuse(node, "", "%.*s", (int)error.message.length, error.message.data);
}
