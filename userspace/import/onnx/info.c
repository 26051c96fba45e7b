// SPDX-License-Identifier: MIT
/*
 * Describes the inputs and outputs of a model, and sets dimensions and values that the program
 * gives.
 */
#include <stdlib.h>
#include <string.h>

#include "model.h"

static WNNStringView view(const char *text)
{
	return (WNNStringView){ text ? text : "", text ? strlen(text) : 0 };
}

static bool same(WNNStringView a, const char *b)
{
	size_t length = !a.data ? 0 : a.length == WNN_STRLEN ? strlen(a.data) : a.length;

	return b && strlen(b) == length && (!length || !memcmp(a.data, b, length));
}

int64_t onnx_model_dimension(const struct onnx_model *model,
			     const Onnx__TensorShapeProto__Dimension *dimension)
{
	if (dimension->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE)
		return dimension->dim_value >= 0 ? dimension->dim_value :
						   WNN_ONNX_DIMENSION_UNKNOWN;
	if (dimension->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM)
		for (size_t i = 0; i < model->dimension_count; i++)
			if (!strcmp(model->dimensions[i].name, dimension->dim_param))
				return model->dimensions[i].size;
	return WNN_ONNX_DIMENSION_UNKNOWN;
}

const Onnx__TypeProto__Tensor *onnx_tensor_type(const Onnx__TypeProto *type)
{
	if (type && type->value_case == ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE)
		type = type->optional_type->elem_type;
	return type && type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE ? type->tensor_type :
										 NULL;
}

const Onnx__TypeProto__Tensor *onnx_item_type(const Onnx__TypeProto *type)
{
	if (type && type->value_case == ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE)
		type = type->optional_type->elem_type;
	if (!type || type->value_case != ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE)
		return NULL;
	return onnx_tensor_type(type->sequence_type->elem_type);
}

/*
 * Gives an input, or its items, the shape that the file states, if each of its dimensions is a
 * number there or was set by the application.
 */
void onnx_model_learn_shape(const struct onnx_model *model, struct onnx_input *input)
{
	const Onnx__TypeProto__Tensor *tensor = input->tensor;
	struct onnx_shape shape = { 0 };

	for (size_t i = 0; i < input->item_count; i++)
		onnx_model_learn_shape(model, &input->items[i]);
	if (input->sequence || input->has_shape || !tensor || !tensor->shape ||
	    tensor->shape->n_dim > ONNX_MAX_RANK)
		return;
	shape.rank = (uint32_t)tensor->shape->n_dim;
	for (uint32_t i = 0; i < shape.rank; i++) {
		shape.dim[i] = onnx_model_dimension(model, tensor->shape->dim[i]);
		if (shape.dim[i] < 0 || shape.dim[i] > UINT32_MAX)
			return;
	}
	input->shape = shape;
	input->has_shape = input->learned = true;
}

void onnx_model_learn_shapes(struct onnx_model *model)
{
	for (size_t i = 0; i < model->input_count; i++)
		onnx_model_learn_shape(model, &model->inputs[i]);
}

int onnx_model_describe(const struct onnx_model *model, struct onnx_arena *arena,
			const Onnx__ValueInfoProto *proto, const struct onnx_input *input,
			WNNOnnxValueInfo *info)
{
	const Onnx__TypeProto__Tensor *tensor = onnx_tensor_type(proto->type);
	WNNOnnxDimension *dimensions;

	*info = (WNNOnnxValueInfo){ .name = view(proto->name),
				    .kind = WNNOnnxKind_Other,
				    .elementType = view(""),
				    .rank = WNN_ONNX_RANK_UNKNOWN };
	if (proto->type && proto->type->value_case == ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE)
		info->kind = WNNOnnxKind_Sequence;
	if (proto->type && proto->type->value_case == ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE)
		info->kind = WNNOnnxKind_Optional;
	if (!tensor && (tensor = onnx_item_type(proto->type)))
		info->kind = WNNOnnxKind_Sequence;
	if (!tensor)
		return 0;
	if (info->kind == WNNOnnxKind_Other)
		info->kind = WNNOnnxKind_Tensor;
	info->elementType = view(onnx_type_name(tensor->elem_type));
	info->dataType = onnx_type_webnn(tensor->elem_type);
	info->fixed = input && input->value;
	if (input && input->has_shape)
		info->rank = input->shape.rank;
	else if (tensor->shape)
		info->rank = tensor->shape->n_dim;
	else
		return 0;
	dimensions = onnx_arena_alloc(arena, (info->rank + 1) * sizeof(*dimensions));
	if (!dimensions)
		return -1;
	for (size_t i = 0; i < info->rank; i++) {
		const Onnx__TensorShapeProto__Dimension *dim =
			tensor->shape && i < tensor->shape->n_dim ? tensor->shape->dim[i] : NULL;

		dimensions[i].size = input && input->has_shape ? input->shape.dim[i] :
								 onnx_model_dimension(model, dim);
		dimensions[i].name = view(
			dim && dim->value_case ==
						ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM ?
				dim->dim_param :
				"");
	}
	info->dimensions = dimensions;
	return 0;
}

WNNOnnxValueInfoArray wnnOnnxModelGetInputs(WNNOnnxModel handle)
{
	struct onnx_model *model = (struct onnx_model *)handle;
	WNNOnnxValueInfo *infos;

	if (!model)
		return (WNNOnnxValueInfoArray){ 0, NULL };
	onnx_model_learn_shapes(model);
	infos = onnx_arena_alloc(&model->info_arena, (model->input_count + 1) * sizeof(*infos));
	if (!infos) {
		onnx_nomem();
		return (WNNOnnxValueInfoArray){ 0, NULL };
	}
	for (size_t i = 0; i < model->input_count; i++)
		if (onnx_model_describe(model, &model->info_arena, model->inputs[i].proto,
					&model->inputs[i], &infos[i])) {
			onnx_nomem();
			return (WNNOnnxValueInfoArray){ 0, NULL };
		}
	return (WNNOnnxValueInfoArray){ model->input_count, infos };
}

WNNOnnxValueInfoArray wnnOnnxModelGetOutputs(WNNOnnxModel handle)
{
	struct onnx_model *model = (struct onnx_model *)handle;
	WNNOnnxValueInfo *infos;

	if (!model)
		return (WNNOnnxValueInfoArray){ 0, NULL };
	infos = onnx_arena_alloc(&model->info_arena, (model->output_count + 1) * sizeof(*infos));
	if (!infos) {
		onnx_nomem();
		return (WNNOnnxValueInfoArray){ 0, NULL };
	}
	for (size_t i = 0; i < model->output_count; i++)
		if (onnx_model_describe(model, &model->info_arena, model->outputs[i], NULL,
					&infos[i])) {
			onnx_nomem();
			return (WNNOnnxValueInfoArray){ 0, NULL };
		}
	return (WNNOnnxValueInfoArray){ model->output_count, infos };
}

/*
 * Returns the text in the file that equals @name and names an output of a node or a weight; NULL:
 * there is none.
 */
static char *find_name(const Onnx__GraphProto *graph, WNNStringView name)
{
	for (size_t i = 0; i < graph->n_node; i++)
		for (size_t k = 0; k < graph->node[i]->n_output; k++)
			if (same(name, graph->node[i]->output[k]))
				return graph->node[i]->output[k];
	for (size_t i = 0; i < graph->n_initializer; i++)
		if (same(name, graph->initializer[i]->name))
			return graph->initializer[i]->name;
	for (size_t i = 0; i < graph->n_sparse_initializer; i++)
		if (graph->sparse_initializer[i]->values &&
		    same(name, graph->sparse_initializer[i]->values->name))
			return graph->sparse_initializer[i]->values->name;
	return NULL;
}

static int print_length(WNNStringView text)
{
	return (int)(!text.data ? 0 : text.length == WNN_STRLEN ? strlen(text.data) : text.length);
}

/*
 * Sets *found to the file's entry for a tensor; without such an entry, to a new entry that has only
 * the name. Fails when the model has no such tensor, or when memory is exhausted.
 */
static WNNStatus find_tensor(struct onnx_model *model, WNNStringView name,
			     const Onnx__ValueInfoProto **found)
{
	const Onnx__GraphProto *graph = model->proto->graph;
	Onnx__ValueInfoProto *info;
	char *made;

	*found = NULL;
	for (size_t i = 0; i < graph->n_output && !*found; i++)
		if (same(name, graph->output[i]->name))
			*found = graph->output[i];
	for (size_t i = 0; i < graph->n_value_info && !*found; i++)
		if (same(name, graph->value_info[i]->name))
			*found = graph->value_info[i];
	for (size_t i = 0; i < graph->n_input && !*found; i++)
		if (same(name, graph->input[i]->name))
			*found = graph->input[i];
	made = *found ? (*found)->name : find_name(graph, name);
	if (!made || !*made)
		return onnx_error(WNNStatus_TypeError, "the model has no tensor \"%.*s\"",
				  print_length(name), name.data ? name.data : "");
	if (*found)
		return WNNStatus_Success;
	info = onnx_arena_alloc(&model->arena, sizeof(*info));
	if (!info)
		return onnx_nomem();
	onnx__value_info_proto__init(info);
	info->name = made;
	*found = info;
	return WNNStatus_Success;
}

WNNStatus wnnOnnxModelSetOutputs(WNNOnnxModel handle, size_t count, WNNStringView const *names)
{
	struct onnx_model *model = (struct onnx_model *)handle;
	const Onnx__ValueInfoProto **outputs;

	if (!model || !count || !names)
		return onnx_error(WNNStatus_TypeError, "%s is missing", model ? "names" : "model");
	outputs = onnx_arena_alloc(&model->arena, count * sizeof(*outputs));
	if (!outputs)
		return onnx_nomem();
	for (size_t i = 0; i < count; i++) {
		WNNStatus status = find_tensor(model, names[i], &outputs[i]);

		if (status != WNNStatus_Success)
			return status;
		for (size_t k = 0; k < i; k++)
			if (!strcmp(outputs[k]->name, outputs[i]->name))
				return onnx_error(WNNStatus_TypeError,
						  "output \"%s\" is given twice", outputs[i]->name);
	}
	model->outputs = outputs;
	model->output_count = count;
	return WNNStatus_Success;
}

/* Describes a tensor with a known shape. Returns 0; -1: memory is exhausted. */
static int describe_fixed(struct onnx_model *model, const char *name, int type,
			  const struct onnx_shape *shape, WNNOnnxValueInfo *info)
{
	WNNOnnxDimension *dimensions =
		onnx_arena_alloc(&model->build_arena, (shape->rank + 1) * sizeof(*dimensions));

	if (!dimensions)
		return -1;
	for (uint32_t i = 0; i < shape->rank; i++)
		dimensions[i].size = shape->dim[i];
	*info = (WNNOnnxValueInfo){
		.name = view(name),
		.kind = WNNOnnxKind_Tensor,
		.elementType = view(onnx_type_name(type)),
		.dataType = onnx_type_webnn(type),
		.rank = shape->rank,
		.dimensions = dimensions,
	};
	return 0;
}

WNNOnnxValueInfoArray wnnOnnxModelGetRandomInputs(WNNOnnxModel handle)
{
	struct onnx_model *model = (struct onnx_model *)handle;
	size_t count = model ? model->random_count : 0;
	WNNOnnxValueInfo *infos;

	if (!count)
		return (WNNOnnxValueInfoArray){ 0, NULL };
	infos = onnx_arena_alloc(&model->build_arena, count * sizeof(*infos));
	for (struct onnx_random *random = model->random; infos && random; random = random->next)
		if (describe_fixed(model, random->name, random->type, &random->shape,
				   &infos[random->number]))
			infos = NULL;
	if (!infos)
		onnx_nomem();
	return (WNNOnnxValueInfoArray){ infos ? count : 0, infos };
}

WNNStatus wnnOnnxModelDraw(WNNOnnxModel handle, WNNStringView name, uint64_t seed,
			   uint64_t dispatch, void *data, size_t size)
{
	struct onnx_model *model = (struct onnx_model *)handle;
	struct onnx_random *random = model ? model->random : NULL;
	size_t needed;

	if (!model || !data)
		return onnx_error(WNNStatus_TypeError, "%s is missing", model ? "data" : "model");
	while (random && !same(name, random->name))
		random = random->next;
	if (!random)
		return onnx_error(WNNStatus_TypeError,
				  "the graph has no input \"%.*s\" of random "
				  "numbers: wnnOnnxModelGetRandomInputs() lists them",
				  print_length(name), name.data ? name.data : "");
	needed = onnx_data_size(random->type, onnx_shape_elements(&random->shape));
	if (size != needed)
		return onnx_error(WNNStatus_TypeError,
				  "%zu bytes of data are given for input \"%s\", whose type and "
				  "shape need %zu",
				  size, random->name, needed);
	onnx_draw_fill(random, seed, dispatch, data);
	return WNNStatus_Success;
}

static bool names_dimension(const struct onnx_model *model, WNNStringView name)
{
	for (size_t i = 0; i < model->input_count; i++) {
		const Onnx__TypeProto__Tensor *tensor = model->inputs[i].tensor;

		for (size_t k = 0; tensor && tensor->shape && k < tensor->shape->n_dim; k++) {
			const Onnx__TensorShapeProto__Dimension *dim = tensor->shape->dim[k];

			if (dim->value_case ==
				    ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM &&
			    same(name, dim->dim_param))
				return true;
		}
	}
	return false;
}

WNNStatus wnnOnnxModelSetDimension(WNNOnnxModel handle, WNNStringView name, uint32_t size)
{
	struct onnx_model *model = (struct onnx_model *)handle;
	int length = (int)(!name.data		     ? 0 :
			   name.length == WNN_STRLEN ? strlen(name.data) :
						       name.length);
	struct onnx_dimension *dimensions;
	char *copy;

	if (!model || !size)
		return onnx_error(WNNStatus_TypeError,
				  model ? "the size of dimension \"%.*s\" is 0" :
					  "model is missing%.*s",
				  model ? length : 0, name.data ? name.data : "");
	if (!names_dimension(model, name))
		return onnx_error(WNNStatus_TypeError,
				  "no input has a dimension that is called \"%.*s\"", length,
				  name.data ? name.data : "");
	for (size_t i = 0; i < model->dimension_count; i++)
		if (same(name, model->dimensions[i].name))
			return onnx_error(WNNStatus_TypeError, "dimension \"%.*s\" is already %u",
					  length, name.data, model->dimensions[i].size);
	copy = onnx_arena_printf(&model->arena, "%.*s", length, name.data);
	dimensions =
		onnx_arena_alloc(&model->arena, (model->dimension_count + 1) * sizeof(*dimensions));
	if (!copy || !dimensions)
		return onnx_nomem();
	if (model->dimension_count)
		memcpy(dimensions, model->dimensions, model->dimension_count * sizeof(*dimensions));
	dimensions[model->dimension_count++] = (struct onnx_dimension){ copy, size };
	model->dimensions = dimensions;
	return WNNStatus_Success;
}

#define MAX_ITEMS 4096

/*
 * Sets *item to the item NAME/NUMBER of a sequence; the number after the last item adds an item.
 * Fails when the item cannot exist, or when memory is exhausted.
 */
static WNNStatus find_item(struct onnx_model *model, struct onnx_input *input, const char *number,
			   struct onnx_input **item)
{
	struct onnx_input *items;
	char *end;
	unsigned long at = strtoul(number, &end, 10);

	if (*number < '0' || *number > '9' || *end)
		return onnx_error(WNNStatus_TypeError, "the model has no input \"%s/%s\"",
				  input->name, number);
	if (at > input->item_count || at >= MAX_ITEMS)
		return onnx_error(WNNStatus_TypeError,
				  "the sequence \"%s\" has %zu items: set its next item, "
				  "\"%s/%zu\", before \"%s/%s\"; %d items are the most",
				  input->name, input->item_count, input->name, input->item_count,
				  input->name, number, MAX_ITEMS);
	if (at < input->item_count) {
		*item = &input->items[at];
		return WNNStatus_Success;
	}
	items = onnx_arena_alloc(&model->arena, (at + 1) * sizeof(*items));
	if (!items)
		return onnx_nomem();
	if (at)
		memcpy(items, input->items, at * sizeof(*items));
	items[at] = (struct onnx_input){ .tensor = input->tensor };
	items[at].name = onnx_arena_printf(&model->arena, "%s/%lu", input->name, at);
	if (!items[at].name)
		return onnx_nomem();
	input->items = items;
	input->item_count++;
	input->empty = false;
	*item = &items[at];
	return WNNStatus_Success;
}

static WNNStatus find(struct onnx_model *model, WNNStringView view, struct onnx_input **input)
{
	char *name, *slash;

	if (!model)
		return onnx_error(WNNStatus_TypeError, "model is missing");
	name = onnx_arena_printf(&model->arena, "%.*s", print_length(view),
				 view.data ? view.data : "");
	if (!name)
		return onnx_nomem();
	for (size_t i = 0; i < model->input_count; i++)
		if (!strcmp(name, model->inputs[i].name)) {
			*input = &model->inputs[i];
			return WNNStatus_Success;
		}
	slash = strrchr(name, '/');
	for (size_t i = 0; slash && i < model->input_count; i++)
		if (model->inputs[i].sequence &&
		    strlen(model->inputs[i].name) == (size_t)(slash - name) &&
		    !strncmp(name, model->inputs[i].name, (size_t)(slash - name)))
			return find_item(model, &model->inputs[i], slash + 1, input);
	return onnx_error(WNNStatus_TypeError, "the model has no input \"%s\"", name);
}

WNNStatus wnnOnnxModelSetInputShape(WNNOnnxModel handle, WNNStringView name, WNNUint32Array array)
{
	struct onnx_model *model = (struct onnx_model *)handle;
	const Onnx__TypeProto__Tensor *tensor;
	struct onnx_input *input;
	struct onnx_shape shape;
	WNNStatus status = find(model, name, &input);

	if (status != WNNStatus_Success)
		return status;
	tensor = input->sequence ? NULL : input->tensor;
	if (!tensor || array.count > ONNX_MAX_RANK)
		return onnx_error(WNNStatus_TypeError, "input \"%s\" %s", input->name,
				  tensor	  ? "can have no more than 8 dimensions" :
				  input->sequence ? "is a sequence: set the shapes of its items" :
						    "is no tensor");
	if (array.count && !array.data)
		return onnx_error(WNNStatus_TypeError, "the sizes of input \"%s\" are missing",
				  input->name);
	if (tensor->shape && tensor->shape->n_dim != array.count)
		return onnx_error(WNNStatus_TypeError, "input \"%s\" has %zu dimensions, not %zu",
				  input->name, tensor->shape->n_dim, array.count);
	shape.rank = (uint32_t)array.count;
	for (uint32_t i = 0; i < shape.rank; i++) {
		int64_t known = tensor->shape ? onnx_model_dimension(model, tensor->shape->dim[i]) :
						WNN_ONNX_DIMENSION_UNKNOWN;

		if (known > 0 && known != array.data[i])
			return onnx_error(
				WNNStatus_TypeError,
				"dimension %u of input \"%s\" is %lld in the model, or was set so; "
				"it cannot become %u",
				i, input->name, (long long)known, array.data[i]);
		shape.dim[i] = array.data[i];
	}
	input->shape = shape;
	input->has_shape = true;
	input->learned = false;
	return WNNStatus_Success;
}

/*
 * Returns a constant of the elements that the program gives for a tensor, in the file's type or in
 * the type that a graph's input would have. NULL: a size that fits neither, or no memory, which
 * *status tells.
 */
static struct onnx_value *copy_value(struct onnx_model *model, const char *what, const char *name,
				     int type, const struct onnx_shape *shape, void const *data,
				     size_t size, WNNStatus *status)
{
	int64_t elements = onnx_shape_elements(shape);
	struct onnx_value *value;
	size_t needed;
	int own = type;
	void *copy;

	if (onnx_type_is_carried(type))
		own = (int)onnx_type_of(onnx_type_webnn(type));
	if (elements < 0) {
		*status = onnx_error(WNNStatus_TypeError,
				     "the shape of %s \"%s\" has more elements than can be counted",
				     what, name);
		return NULL;
	}
	if (size && !data) {
		*status = onnx_error(WNNStatus_TypeError, "the data of %s \"%s\" is missing", what,
				     name);
		return NULL;
	}
	needed = onnx_data_size(own, elements);
	if (size != onnx_data_size(type, elements) && size != needed) {
		*status = onnx_error(WNNStatus_TypeError,
				     "%zu bytes of data are given for %s \"%s\", whose type and "
				     "shape need %zu",
				     size, what, name, needed);
		return NULL;
	}
	value = onnx_arena_alloc(&model->arena, sizeof(*value));
	copy = onnx_arena_alloc(&model->arena, size + 1);
	if (!value || !copy) {
		*status = onnx_nomem();
		return NULL;
	}
	if (size)
		memcpy(copy, data, size);
	if (size == onnx_data_size(type, elements))
		own = type;
	*value = (struct onnx_value){ .type = own, .shape = *shape, .data = copy };
	*status = WNNStatus_Success;
	return value;
}

WNNStatus wnnOnnxModelSetInputValue(WNNOnnxModel handle, WNNStringView name, void const *data,
				    size_t size)
{
	struct onnx_model *model = (struct onnx_model *)handle;
	struct onnx_input *input;
	struct onnx_value *value;
	WNNStatus status = find(model, name, &input);

	if (status != WNNStatus_Success)
		return status;
	onnx_model_learn_shapes(model);
	if (!data && !size && (input->sequence || input->optional) && !input->item_count) {
		input->empty = true;
		return WNNStatus_Success;
	}
	if (input->sequence || !input->tensor)
		return onnx_error(WNNStatus_TypeError, "input \"%s\" %s", input->name,
				  input->sequence ? "is a sequence: set the values of its items" :
						    "is no tensor");
	if (!onnx_type_bits(input->tensor->elem_type))
		return onnx_error(WNNStatus_TypeError,
				  "the type of input \"%s\" is one that values cannot have here",
				  input->name);
	if (!input->has_shape)
		return onnx_error(
			WNNStatus_TypeError,
			"the shape of input \"%s\" is not known: set its dimensions first",
			input->name);
	value = copy_value(model, "input", input->name, input->tensor->elem_type, &input->shape,
			   data, size, &status);
	if (value)
		input->value = value;
	return status;
}

WNNOnnxValueInfoArray wnnOnnxModelGetNeededValues(WNNOnnxModel handle)
{
	struct onnx_model *model = (struct onnx_model *)handle;
	WNNOnnxValueInfo *infos = NULL;
	size_t most = 0, count = 0;

	for (struct onnx_known *known = model ? model->known : NULL; known; known = known->next)
		most += known->needed;
	if (most)
		infos = onnx_arena_alloc(&model->build_arena, most * sizeof(*infos));
	for (struct onnx_known *known = infos ? model->known : NULL; known; known = known->next) {
		if (!known->needed)
			continue;
		if (describe_fixed(model, known->name, known->value.type, &known->value.shape,
				   &infos[count]))
			break;
		count++;
	}
	if (count < most)
		onnx_nomem();
	return (WNNOnnxValueInfoArray){ count < most ? 0 : count, infos };
}

/*
 * Stores the elements that the program gives for a tensor. @varies: they become an input of the
 * graph, unless a node needs them at import.
 */
static WNNStatus set_value(WNNOnnxModel handle, WNNStringView name, void const *data, size_t size,
			   bool varies)
{
	struct onnx_model *model = (struct onnx_model *)handle;
	struct onnx_known *known;
	struct onnx_value *value;
	WNNStatus status;

	if (!model || !name.data)
		return onnx_error(WNNStatus_TypeError, "%s is missing", model ? "name" : "model");
	known = model->known;
	while (known && !same(name, known->name))
		known = known->next;
	if (!known)
		return onnx_error(WNNStatus_TypeError,
				  "tensor \"%.*s\" is not one of those that "
				  "wnnOnnxModelGetNeededValues() lists",
				  (int)(name.length == WNN_STRLEN ? strlen(name.data) :
								    name.length),
				  name.data);
	value = copy_value(model, "tensor", known->name, known->value.type, &known->value.shape,
			   data, size, &status);
	if (value) {
		known->value = *value;
		known->varies = varies;
	}
	return status;
}

WNNStatus wnnOnnxModelSetValue(WNNOnnxModel model, WNNStringView name, void const *data,
			       size_t size)
{
	return set_value(model, name, data, size, false);
}

WNNStatus wnnOnnxModelSetComputedValue(WNNOnnxModel model, WNNStringView name, void const *data,
				       size_t size)
{
	return set_value(model, name, data, size, true);
}

WNNOnnxValueInfoArray wnnOnnxModelGetComputedInputs(WNNOnnxModel handle)
{
	struct onnx_model *model = (struct onnx_model *)handle;
	size_t count = model ? model->computed_count : 0, at = count;
	WNNOnnxValueInfo *infos;

	if (!count)
		return (WNNOnnxValueInfoArray){ 0, NULL };
	infos = onnx_arena_alloc(&model->build_arena, count * sizeof(*infos));
	for (struct onnx_computed *of = model->computed; infos && of; of = of->next)
		if (describe_fixed(model, of->name, of->value->type, &of->value->shape,
				   &infos[--at]))
			infos = NULL;
	if (!infos)
		onnx_nomem();
	return (WNNOnnxValueInfoArray){ infos ? count : 0, infos };
}

WNNStatus wnnOnnxModelReadComputedInput(WNNOnnxModel handle, WNNStringView name, void *data,
					size_t size)
{
	struct onnx_model *model = (struct onnx_model *)handle;
	struct onnx_computed *of = model ? model->computed : NULL;

	if (!model || !data)
		return onnx_error(WNNStatus_TypeError, "%s is missing", model ? "data" : "model");
	while (of && !same(name, of->name))
		of = of->next;
	if (!of)
		return onnx_error(WNNStatus_TypeError, "the graph has no computed input \"%.*s\"",
				  print_length(name), name.data ? name.data : "");
	if (size != onnx_data_size(of->value->type, onnx_shape_elements(&of->value->shape)))
		return onnx_error(
			WNNStatus_TypeError, "input \"%s\" has %zu bytes, not %zu", of->name,
			onnx_data_size(of->value->type, onnx_shape_elements(&of->value->shape)),
			size);
	memcpy(data, of->value->computed, size);
	return WNNStatus_Success;
}

WNNStatus wnnOnnxModelGetKey(WNNOnnxModel handle, uint64_t *key)
{
	struct onnx_model *model = (struct onnx_model *)handle;
	struct import_hash hash;

	if (!model || !key)
		return onnx_error(WNNStatus_TypeError, "%s is missing", model ? "key" : "model");
	if (model->described)
		return onnx_error(WNNStatus_NotSupportedError,
				  "the model has no key, since it does not come from a file");
	hash = onnx_key_of(model);
	key[0] = hash.a;
	key[1] = hash.b;
	return WNNStatus_Success;
}
