// SPDX-License-Identifier: MIT
/*
 * Values that the program has computed. The import may read their elements; a value that it does
 * not read becomes an input of the graph, so that one graph serves all elements of a shape. The
 * model's key is a hash of all that the import has read.
 */
#include <string.h>

#include "node.h"
#include "order.h"
#include "scope.h"

void onnx_key_add(struct onnx_model *model, const void *data, size_t size)
{
	import_hash(&model->key, data, size);
}

static void add_input(struct onnx_model *model, const struct onnx_input *input)
{
	uint32_t flags = (uint32_t)input->has_shape | (uint32_t)input->empty << 1 |
			 (uint32_t)(input->value != NULL) << 2;

	onnx_key_add(model, input->name, strlen(input->name));
	onnx_key_add(model, &flags, sizeof(flags));
	if (input->has_shape)
		onnx_key_add(model, input->shape.dim,
			     input->shape.rank * sizeof(input->shape.dim[0]));
	if (input->value)
		onnx_key_add(model, input->value->data,
			     onnx_data_size(input->value->type,
					    onnx_shape_elements(&input->value->shape)));
	import_hash_word(&model->key, input->item_count);
	for (size_t i = 0; i < input->item_count; i++)
		add_input(model, &input->items[i]);
}

void onnx_key_begin(struct onnx_model *model)
{
	model->key = (struct import_hash){ 1, 2 };
	for (size_t i = 0; i < model->input_count; i++)
		add_input(model, &model->inputs[i]);
	for (size_t i = 0; i < model->output_count; i++)
		onnx_key_add(model, model->outputs[i]->name, strlen(model->outputs[i]->name));
}

struct import_hash onnx_key_of(const struct onnx_model *model)
{
	struct import_hash key = model->key;

	if (model->file->copied)
		import_hash(&key, model->file->data, model->file->size);
	else
		import_hash(&key, model->file->identity, sizeof(model->file->identity));
	for (const struct onnx_file *file = model->external; file; file = file->next)
		import_hash(&key, file->identity, sizeof(file->identity));
	return key;
}

/* Whether elements of the value can be an input of a graph. */
static bool can_vary(const struct onnx_value *value)
{
	return value->data && !value->sequence && onnx_shape_elements(&value->shape) > 0 &&
	       !onnx_type_is_carried(value->type) &&
	       onnx_type_webnn(value->type) != WNNOperandDataType_Undefined;
}

static void read_elements(struct onnx_node *node, const struct onnx_value *value, const void *data)
{
	onnx_key_add(node->import->model, data,
		     onnx_data_size(value->type, onnx_shape_elements(&value->shape)));
}

struct onnx_value *onnx_vary(struct onnx_node *node, struct onnx_value *value)
{
	struct onnx_value *made;

	onnx_key_add(node->import->model, value->shape.dim,
		     value->shape.rank * sizeof(value->shape.dim[0]));
	if (!can_vary(value)) {
		if (value->data)
			read_elements(node, value, value->data);
		return value;
	}
	made = onnx_node_alloc(node, sizeof(*made));
	if (!made)
		return NULL;
	*made = (struct onnx_value){
		.type = value->type,
		.shape = value->shape,
		.computed = value->data,
		.origin = value->origin,
	};
	return made;
}

/* Returns a constant with the elements of a computed value; NULL: no memory. */
static struct onnx_value *fixed(struct onnx_node *node, const struct onnx_value *value)
{
	struct onnx_value *made = onnx_node_alloc(node, sizeof(*made));

	if (made)
		*made = (struct onnx_value){ .type = value->type,
					     .shape = value->shape,
					     .data = value->computed };
	return made;
}

/*
 * Whether the elements of all inputs are known at import, and the program has computed some of
 * them.
 */
static bool is_computed(const struct onnx_node *node)
{
	bool computed = false;

	for (size_t i = 0; i < node->input_count; i++) {
		const struct onnx_value *value = node->inputs[i];

		if (value && !value->data && !value->computed)
			return false;
		computed = computed || (value && value->computed);
	}
	return computed;
}

/*
 * Whether the node must be translated even if the elements of all inputs are known: Shape and Size
 * need no elements, and a node with a graph of its own runs that graph.
 */
static bool stays(const struct onnx_node *node)
{
	if (!strcmp(node->proto->op_type, "Shape") || !strcmp(node->proto->op_type, "Size"))
		return true;
	for (size_t i = 0; i < node->proto->n_attribute; i++)
		if (node->proto->attribute[i]->g)
			return true;
	return false;
}

/*
 * Makes the outputs computed values. Returns 0; 1: an output that something uses is no constant;
 * -1: no memory.
 */
static int vary_outputs(struct onnx_node *node)
{
	for (size_t i = 0; i < node->output_count; i++)
		if (onnx_wants(node, i) && (!node->outputs[i] || !node->outputs[i]->data))
			return 1;
	for (size_t i = 0; i < node->output_count; i++) {
		if (!node->outputs[i])
			continue;
		node->outputs[i] = onnx_vary(node, node->outputs[i]);
		if (!node->outputs[i])
			return -1;
	}
	return 0;
}

int onnx_compute(struct onnx_node *node)
{
	struct onnx_model *model = node->import->model;
	struct onnx_node copy = *node;
	size_t refusals = model->refusal_count;
	int result = 1;

	if (!is_computed(node) || stays(node))
		return 1;
	copy.inputs = onnx_node_alloc(node, (node->input_count + 1) * sizeof(*copy.inputs));
	if (!copy.inputs)
		return -1;
	for (size_t i = 0; i < node->input_count; i++) {
		copy.inputs[i] = node->inputs[i];
		if (copy.inputs[i] && copy.inputs[i]->computed)
			copy.inputs[i] = fixed(node, copy.inputs[i]);
		if (node->inputs[i] && !copy.inputs[i])
			return -1;
	}
	if (node->op->fold)
		result = node->op->fold(&copy);
	if (result == 1)
		result = onnx_empty(&copy);
	if (result == 1 && node->op->translate)
		result = onnx_translate(&copy);
	if (node->import->status != WNNStatus_Success)
		return -1;
	if (!result)
		result = vary_outputs(&copy);
	if (!result || node->import->status != WNNStatus_Success)
		return result;
	/*
	 * Takes back what this attempt did: the node is translated with inputs that are no
	 * constants.
	 */
	model->refusal_count = refusals;
	memset(node->outputs, 0, node->output_count * sizeof(*node->outputs));
	return 1;
}

static uint64_t bit(size_t input)
{
	return UINT64_C(1) << (input < 63 ? input : 63);
}

bool onnx_fix_inputs(struct onnx_node *node)
{
	for (size_t i = 0; i < node->input_count; i++) {
		struct onnx_value *value = node->inputs[i];

		if (!value || !value->computed || !(node->fixed & bit(i)))
			continue;
		read_elements(node, value, value->computed);
		node->inputs[i] = fixed(node, value);
		if (!node->inputs[i])
			return false;
	}
	return true;
}

void onnx_note_varying(struct onnx_node *node, size_t input)
{
	node->varying |= bit(input);
}

bool onnx_try_fixed(struct onnx_node *node, size_t refusals)
{
	uint64_t computed = 0;

	if (node->import->status != WNNStatus_Success)
		return false;
	for (size_t i = 0; i < node->input_count; i++) {
		const char *name = node->proto->input[i];
		const struct onnx_value *value = name && *name ? onnx_scope_get(node->scope, name) :
								 NULL;

		if (value && value->computed)
			computed |= bit(i);
	}
	computed &= ~node->fixed;
	if (!computed)
		return false;
	/* A translator that has named no input that it needs as a constant may need any of them. */
	node->fixed |= node->varying & computed ? node->varying & computed : computed;
	node->varying = node->read = 0;
	node->carried = 0;
	node->wide = false;
	node->import->model->refusal_count = refusals;
	memset(node->outputs, 0, node->output_count * sizeof(*node->outputs));
	return true;
}

WNNOperand onnx_computed_input(struct onnx_node *node, const struct onnx_value *value)
{
	WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
	struct onnx_model *model = node->import->model;
	struct onnx_computed *computed = onnx_node_alloc(node, sizeof(*computed));
	uint32_t shape[ONNX_MAX_RANK];

	if (!computed)
		return NULL;
	*computed = (struct onnx_computed){
		.name = onnx_arena_printf(node->import->arena, "computed/%zu",
					  model->computed_count),
		.value = value,
		.next = model->computed,
	};
	if (!computed->name) {
		onnx_fail(node);
		return NULL;
	}
	model->computed = computed;
	model->computed_count++;
	for (uint32_t i = 0; i < value->shape.rank; i++)
		shape[i] = (uint32_t)value->shape.dim[i];
	descriptor.dataType = onnx_type_webnn(value->type);
	descriptor.shape = value->shape.rank ? (WNNUint32Array){ value->shape.rank, shape } :
					       WNN_UINT32_EMPTY;
	return wnnGraphBuilderInput(node->b, WNN_STR(computed->name), &descriptor);
}
