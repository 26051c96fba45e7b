// SPDX-License-Identifier: MIT
/*
 * Makes a model from a description in memory: builds the protobuf messages that a file would have,
 * in the model's arena.
 */
#include <inttypes.h>
#include <string.h>

#include "model.h"
#include "wire.h"

#define MAX_DEPTH 32

struct maker {
	struct onnx_arena *arena;
	WNNStatus status;		 /* status of the first error */
	int depth;			 /* nesting depth of graphs within nodes */
	const WNNOnnxTensorFiles *files; /* files that hold tensors of the main graph; or NULL */
};

static void *take(struct maker *m, size_t size)
{
	void *memory = m->status == WNNStatus_Success ? onnx_arena_alloc(m->arena, size) : NULL;

	if (!memory && m->status == WNNStatus_Success)
		m->status = onnx_nomem();
	return memory;
}

static void *copy(struct maker *m, const void *data, size_t size)
{
	void *memory = take(m, size + 1);

	if (memory && size && data)
		memcpy(memory, data, size);
	return memory;
}

static size_t length(WNNStringView text)
{
	return !text.data ? 0 : text.length == WNN_STRLEN ? strlen(text.data) : text.length;
}

static char *text(struct maker *m, WNNStringView view)
{
	return copy(m, view.data, length(view));
}

static void damaged(struct maker *m, const char *what, WNNStringView name)
{
	if (m->status == WNNStatus_Success)
		m->status = onnx_error(WNNStatus_OperationError,
				       "the graph is damaged: %s \"%.*s\"", what, (int)length(name),
				       name.data ? name.data : "");
}

/*
 * Adds a key to the tensor's external_data, which says where its elements lie. @value is in the
 * arena; NULL: memory is exhausted.
 */
static void add_entry(struct maker *m, Onnx__TensorProto *tensor, const char *key, char *value)
{
	Onnx__StringStringEntryProto *entry = take(m, sizeof(*entry));

	if (!value && m->status == WNNStatus_Success)
		m->status = onnx_nomem();
	if (!entry || !value)
		return;
	onnx__string_string_entry_proto__init(entry);
	entry->key = copy(m, key, strlen(key));
	entry->value = value;
	tensor->external_data[tensor->n_external_data++] = entry;
}

/* Lets the importer find the elements of a tensor in a file. */
static void place_in_file(struct maker *m, Onnx__TensorProto *tensor, const WNNOnnxTensor *from,
			  const WNNOnnxTensorFile *file)
{
	tensor->has_data_location = true;
	tensor->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
	tensor->external_data = take(m, 3 * sizeof(Onnx__StringStringEntryProto *));
	if (!tensor->external_data)
		return;
	add_entry(m, tensor, "location", text(m, file->name));
	add_entry(m, tensor, "offset", onnx_arena_printf(m->arena, "%" PRIu64, file->offset));
	add_entry(m, tensor, "length", onnx_arena_printf(m->arena, "%zu", from->size));
}

/*
 * Lets the importer find the elements of a tensor in memory. The place is stored as an offset into
 * the file of lent memory; that file begins at address 0, so that the offset is the address.
 */
static void place_in_memory(struct maker *m, Onnx__TensorProto *tensor, const WNNOnnxTensor *from)
{
	struct onnx_span span = { (uint64_t)(uintptr_t)from->data, from->size };

	tensor->has_raw_data = true;
	tensor->raw_data.len = sizeof(span);
	tensor->raw_data.data = copy(m, &span, sizeof(span));
	if (from->size && !from->data)
		damaged(m, "there is no data of tensor", from->name);
}

/*
 * Returns the message of a tensor, which lies in a file, or in memory when @file is NULL or has no
 * name. Returns NULL when memory is exhausted.
 */
static Onnx__TensorProto *make_tensor(struct maker *m, const WNNOnnxTensor *from,
				      const WNNOnnxTensorFile *file)
{
	Onnx__TensorProto *tensor = take(m, sizeof(*tensor));

	if (!tensor)
		return NULL;
	onnx__tensor_proto__init(tensor);
	tensor->name = text(m, from->name);
	tensor->has_data_type = true;
	tensor->data_type = from->elementType;
	tensor->n_dims = from->rank;
	tensor->dims = copy(m, from->dimensions, from->rank * sizeof(*tensor->dims));
	if (file && length(file->name))
		place_in_file(m, tensor, from, file);
	else
		place_in_memory(m, tensor, from);
	return tensor;
}

static Onnx__TensorShapeProto *make_shape(struct maker *m, const WNNOnnxValue *from)
{
	Onnx__TensorShapeProto *shape = take(m, sizeof(*shape));

	if (!shape)
		return NULL;
	onnx__tensor_shape_proto__init(shape);
	shape->dim = take(m, (from->rank + 1) * sizeof(Onnx__TensorShapeProto__Dimension *));
	for (size_t i = 0; i < from->rank; i++) {
		const WNNOnnxDimension *known = &from->dimensions[i];
		Onnx__TensorShapeProto__Dimension *dim = take(m, sizeof(*dim));

		if (!dim)
			return NULL;
		onnx__tensor_shape_proto__dimension__init(dim);
		shape->dim[shape->n_dim++] = dim;
		if (known->size >= 0) {
			dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
			dim->dim_value = known->size;
		} else if (length(known->name)) {
			dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
			dim->dim_param = text(m, known->name);
		}
	}
	return shape;
}

static Onnx__ValueInfoProto *make_value(struct maker *m, const WNNOnnxValue *from)
{
	Onnx__ValueInfoProto *value = take(m, sizeof(*value));
	Onnx__TypeProto *type = take(m, sizeof(*type));
	Onnx__TypeProto__Tensor *tensor = take(m, sizeof(*tensor));

	if (!value || !type || !tensor)
		return NULL;
	onnx__value_info_proto__init(value);
	value->name = text(m, from->name);
	if (from->kind != WNNOnnxKind_Tensor)
		return value;
	onnx__type_proto__init(type);
	onnx__type_proto__tensor__init(tensor);
	value->type = type;
	type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
	type->tensor_type = tensor;
	tensor->has_elem_type = true;
	tensor->elem_type = from->elementType;
	if (from->rank != WNN_ONNX_RANK_UNKNOWN)
		tensor->shape = make_shape(m, from);
	return value;
}

static Onnx__ValueInfoProto **make_values(struct maker *m, size_t count, const WNNOnnxValue *from)
{
	Onnx__ValueInfoProto **values = take(m, (count + 1) * sizeof(Onnx__ValueInfoProto *));

	for (size_t i = 0; values && i < count; i++)
		values[i] = make_value(m, &from[i]);
	return values;
}

static Onnx__GraphProto *make_graph(struct maker *m, const WNNOnnxGraph *from);

static void make_strings(struct maker *m, const WNNOnnxAttribute *from,
			 Onnx__AttributeProto *attribute)
{
	attribute->strings = take(m, (from->count + 1) * sizeof(*attribute->strings));
	for (size_t i = 0; attribute->strings && i < from->count; i++) {
		attribute->strings[i].len = length(from->strings[i]);
		attribute->strings[i].data =
			copy(m, from->strings[i].data, length(from->strings[i]));
	}
	attribute->n_strings = from->count;
}

static bool has_value(const WNNOnnxAttribute *from)
{
	switch (from->kind) {
	case WNNOnnxAttributeKind_Float:
		return from->count == 1 && from->floats;
	case WNNOnnxAttributeKind_Int:
		return from->count == 1 && from->ints;
	case WNNOnnxAttributeKind_String:
		return from->count == 1 && from->strings;
	case WNNOnnxAttributeKind_Tensor:
		return from->tensor;
	case WNNOnnxAttributeKind_Graph:
		return from->graph;
	case WNNOnnxAttributeKind_Floats:
		return !from->count || from->floats;
	case WNNOnnxAttributeKind_Ints:
		return !from->count || from->ints;
	case WNNOnnxAttributeKind_Strings:
		return !from->count || from->strings;
	default:
		return false;
	}
}

static void fill_attribute(struct maker *m, const WNNOnnxAttribute *from,
			   Onnx__AttributeProto *attribute)
{
	switch (from->kind) {
	case WNNOnnxAttributeKind_Float:
		attribute->has_f = true;
		attribute->f = from->floats[0];
		break;
	case WNNOnnxAttributeKind_Int:
		attribute->has_i = true;
		attribute->i = from->ints[0];
		break;
	case WNNOnnxAttributeKind_String:
		attribute->has_s = true;
		attribute->s.len = length(from->strings[0]);
		attribute->s.data = copy(m, from->strings[0].data, length(from->strings[0]));
		break;
	case WNNOnnxAttributeKind_Tensor:
		attribute->t = make_tensor(m, from->tensor, NULL);
		break;
	case WNNOnnxAttributeKind_Graph:
		attribute->g = make_graph(m, from->graph);
		break;
	case WNNOnnxAttributeKind_Floats:
		attribute->n_floats = from->count;
		attribute->floats = copy(m, from->floats, from->count * sizeof(float));
		break;
	case WNNOnnxAttributeKind_Ints:
		attribute->n_ints = from->count;
		attribute->ints = copy(m, from->ints, from->count * sizeof(int64_t));
		break;
	default:
		make_strings(m, from, attribute);
		break;
	}
}

static Onnx__AttributeProto *make_attribute(struct maker *m, const WNNOnnxAttribute *from)
{
	Onnx__AttributeProto *attribute = take(m, sizeof(*attribute));

	if (!attribute)
		return NULL;
	onnx__attribute_proto__init(attribute);
	attribute->name = text(m, from->name);
	attribute->has_type = true;
	attribute->type = (Onnx__AttributeProto__AttributeType)from->kind;
	if (has_value(from))
		fill_attribute(m, from, attribute);
	else
		damaged(m, "there is no value that fits the kind of attribute", from->name);
	return attribute;
}

static char **make_names(struct maker *m, size_t count, const WNNStringView *from)
{
	char **names = take(m, (count + 1) * sizeof(*names));

	for (size_t i = 0; names && i < count; i++)
		names[i] = text(m, from[i]);
	return names;
}

static Onnx__NodeProto *make_node(struct maker *m, const WNNOnnxNode *from)
{
	Onnx__NodeProto *node = take(m, sizeof(*node));

	if (!node)
		return NULL;
	onnx__node_proto__init(node);
	node->name = text(m, from->name);
	node->op_type = text(m, from->operatorName);
	node->domain = text(m, from->domain);
	node->n_input = from->inputCount;
	node->input = make_names(m, from->inputCount, from->inputs);
	node->n_output = from->outputCount;
	node->output = make_names(m, from->outputCount, from->outputs);
	node->n_attribute = from->attributeCount;
	node->attribute = take(m, (from->attributeCount + 1) * sizeof(Onnx__AttributeProto *));
	for (size_t i = 0; node->attribute && i < from->attributeCount; i++)
		node->attribute[i] = make_attribute(m, &from->attributes[i]);
	return node;
}

static Onnx__GraphProto *make_graph(struct maker *m, const WNNOnnxGraph *from)
{
	const WNNOnnxTensorFile *files = m->files && !m->depth ? m->files->files : NULL;
	Onnx__GraphProto *graph = take(m, sizeof(*graph));

	if (m->depth == MAX_DEPTH)
		damaged(m, "graphs are nested too deeply in", from->name);
	if (!graph || m->status != WNNStatus_Success)
		return NULL;
	m->depth++;
	onnx__graph_proto__init(graph);
	graph->name = text(m, from->name);
	graph->n_input = from->inputCount;
	graph->input = make_values(m, from->inputCount, from->inputs);
	graph->n_output = from->outputCount;
	graph->output = make_values(m, from->outputCount, from->outputs);
	graph->n_value_info = from->valueCount;
	graph->value_info = make_values(m, from->valueCount, from->values);
	graph->n_initializer = from->tensorCount;
	graph->initializer = take(m, (from->tensorCount + 1) * sizeof(Onnx__TensorProto *));
	for (size_t i = 0; graph->initializer && i < from->tensorCount; i++)
		graph->initializer[i] = make_tensor(m, &from->tensors[i], files ? &files[i] : NULL);
	graph->n_node = from->nodeCount;
	graph->node = take(m, (from->nodeCount + 1) * sizeof(Onnx__NodeProto *));
	for (size_t i = 0; graph->node && i < from->nodeCount; i++)
		graph->node[i] = make_node(m, &from->nodes[i]);
	m->depth--;
	return graph;
}

static Onnx__ModelProto *make_model(struct maker *m, const WNNOnnxDescription *from)
{
	Onnx__ModelProto *proto = take(m, sizeof(*proto));

	if (!proto)
		return NULL;
	onnx__model_proto__init(proto);
	proto->graph = make_graph(m, from->graph);
	proto->n_opset_import = from->operatorSetCount;
	proto->opset_import =
		take(m, (from->operatorSetCount + 1) * sizeof(Onnx__OperatorSetIdProto *));
	for (size_t i = 0; proto->opset_import && i < from->operatorSetCount; i++) {
		Onnx__OperatorSetIdProto *set = take(m, sizeof(*set));

		if (!set)
			return NULL;
		onnx__operator_set_id_proto__init(set);
		set->domain = text(m, from->operatorSets[i].domain);
		set->has_version = true;
		set->version = from->operatorSets[i].version;
		proto->opset_import[i] = set;
	}
	return proto;
}

/*
 * Sets *files to the structure in the chain that says which tensors lie in files; NULL: there is
 * none. Returns WNNStatus_Success, or an error for another structure.
 */
static WNNStatus find_files(const WNNOnnxDescription *description, const WNNOnnxTensorFiles **files)
{
	const WNNChainedStruct *chain = description->nextInChain;

	*files = NULL;
	if (!chain)
		return WNNStatus_Success;
	if (chain->sType != WNNSType_OnnxTensorFiles || chain->next)
		return onnx_error(WNNStatus_TypeError,
				  "the chain of the description holds %s struct of sType %#x; only "
				  "one WNNOnnxTensorFiles is allowed",
				  chain->next ? "a second" : "an unknown",
				  (unsigned int)(chain->next ? chain->next : chain)->sType);
	*files = (const WNNOnnxTensorFiles *)chain;
	/* With an empty name, files would be looked for in the root of the file system. */
	if (!length((*files)->folder))
		return onnx_error(WNNStatus_TypeError, "folder of WNNOnnxTensorFiles is missing");
	if (!(*files)->files && description->graph->tensorCount)
		return onnx_error(WNNStatus_TypeError, "files of WNNOnnxTensorFiles is missing");
	return WNNStatus_Success;
}

static WNNStatus describe(struct onnx_model *model, const WNNOnnxDescription *description)
{
	struct maker m = { .arena = &model->arena };
	WNNStatus status = find_files(description, &m.files);

	model->described = true;
	if (status != WNNStatus_Success)
		return status;
	if (m.files) {
		model->folder = import_alloc(length(m.files->folder) + 1);
		if (!model->folder)
			return onnx_nomem();
		memcpy(model->folder, m.files->folder.data, length(m.files->folder));
	}
	model->proto = make_model(&m, description);
	if (m.status != WNNStatus_Success)
		return m.status;
	status = onnx_model_check(model->proto);
	return status == WNNStatus_Success ? onnx_model_find_values(model) : status;
}

/* Releases the lent memory when no model is made of the description; returns @status. */
static WNNStatus give_back(const WNNOnnxDescription *description, WNNStatus status)
{
	if (description && description->releaseCallback)
		description->releaseCallback(NULL, 0, description->userdata1,
					     description->userdata2);
	return status;
}

WNNStatus wnnOnnxLoadGraph(WNNOnnxDescription const *description, WNNOnnxModel *out)
{
	struct onnx_model *model;
	struct onnx_file *file;
	WNNStatus status;

	if (out)
		*out = NULL;
	if (!out || !description || !description->graph)
		return give_back(description,
				 onnx_error(WNNStatus_TypeError, "%s is missing",
					    !out	 ? "model" :
					    !description ? "description" :
							   "graph of the description"));
	status = onnx_file_lend(description->releaseCallback, description->userdata1,
				description->userdata2, &file);
	if (status != WNNStatus_Success)
		return give_back(description, status);
	model = import_alloc(sizeof(*model));
	if (!model) {
		onnx_file_put(file);
		return onnx_nomem();
	}
	model->references = 1;
	model->file = file;
	status = describe(model, description);
	if (status == WNNStatus_Success)
		*out = (WNNOnnxModel)model;
	else
		wnnOnnxModelRelease((WNNOnnxModel)model);
	return status;
}

size_t wnnOnnxModelGetNodeCount(WNNOnnxModel handle)
{
	return handle ? ((struct onnx_model *)handle)->proto->graph->n_node : 0;
}
