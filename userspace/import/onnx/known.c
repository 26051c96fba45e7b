// SPDX-License-Identifier: MIT
/*
 * Tensors whose elements the import needs although nodes compute them: they are listed, and the
 * program gives them for a further build.
 */
#include <string.h>

#include "node.h"
#include "scope.h"

struct onnx_known *onnx_known_find(const struct onnx_model *model, const char *name)
{
	struct onnx_known *known = model->known;

	while (known && strcmp(known->name, name))
		known = known->next;
	return known;
}

bool onnx_note_needed(struct onnx_node *node, size_t input)
{
	struct onnx_model *model = node->import->model;
	const char *name = node->proto->input[input];
	/*
	 * node->inputs may hold a converted value; the scope has the value with the model's type.
	 */
	const struct onnx_value *value = onnx_scope_get(node->scope, name);
	struct onnx_known *known, **last = &model->known;

	if (node->import->depth || node->import->supported || !value || value->data ||
	    value->computed || value->given || value->sequence || value->absent)
		return true;
	known = onnx_known_find(model, name);
	if (!known) {
		known = onnx_arena_alloc(&model->arena, sizeof(*known));
		if (!known)
			return false;
		known->name = name;
		while (*last)
			last = &(*last)->next;
		*last = known;
	}
	known->needed = true;
	known->value = (struct onnx_value){ .type = value->type, .shape = value->shape };
	return true;
}

/* Returns the item for an output whose elements are known; NULL: there is none. */
static const struct onnx_known *known_output(struct onnx_node *node, size_t output)
{
	const struct onnx_known *known =
		node->import->depth || !onnx_wants(node, output) ?
			NULL :
			onnx_known_find(node->import->model, node->proto->output[output]);

	return known && known->value.data ? known : NULL;
}

bool onnx_is_known(struct onnx_node *node)
{
	bool all = node->import->model->known;

	for (size_t i = 0; all && i < node->output_count; i++)
		all = !onnx_wants(node, i) || known_output(node, i);
	return all;
}

int onnx_put_known(struct onnx_node *node)
{
	for (size_t i = 0; node->import->model->known && i < node->output_count; i++) {
		const struct onnx_known *known = known_output(node, i);

		if (!known)
			continue;
		node->outputs[i] = onnx_new_value(node);
		if (!node->outputs[i])
			return -1;
		*node->outputs[i] = known->value;
		if (known->varies)
			node->outputs[i] = onnx_vary(node, node->outputs[i]);
		else
			onnx_key_add(node->import->model, known->value.data,
				     onnx_data_size(known->value.type,
						    onnx_shape_elements(&known->value.shape)));
		if (!node->outputs[i])
			return -1;
	}
	return 0;
}

void onnx_mark_folding(struct onnx_node *node)
{
	bool folds = node->op && node->op->fold;

	for (size_t i = 0; folds && i < node->input_count; i++) {
		const struct onnx_value *value = node->inputs[i];

		folds = !value || value->data || value->computed || value->given || value->folds;
	}
	for (size_t i = 0; folds && i < node->output_count; i++)
		if (node->outputs[i] && !node->outputs[i]->data)
			node->outputs[i]->folds = true;
}
