// SPDX-License-Identifier: MIT
/* Reads graphs of ONNX Runtime. */
#include "read.h"

#include <stdlib.h>
#include <string.h>

#include "../import/common/folder.h"

static int64_t dimension(const struct onpu_reading *r, int64_t size, const char *name)
{
	if (size >= 0)
		return size;
	for (size_t i = 0; name && *name && i < r->options->dimension_count; i++)
		if (!strcmp(r->options->dimensions[i].name, name))
			return r->options->dimensions[i].size;
	return r->trial;
}

static struct ort_status *read_dimensions(const struct onpu_reading *r,
					  const struct ort_tensor_info *info, WNNOnnxValue *value)
{
	const struct ort_api *ort = r->ort;
	WNNOnnxDimension *dimensions;
	const char **names;
	int64_t *sizes;

	ORT_TRY(ort->GetDimensionsCount(info, &value->rank));
	dimensions = onpu_take(r, value->rank * sizeof(*dimensions));
	sizes = onpu_take(r, value->rank * sizeof(*sizes));
	names = onpu_take(r, value->rank * sizeof(*names));
	if (!dimensions || !sizes || !names)
		return onpu_nomem(ort);
	ORT_TRY(ort->GetDimensions(info, sizes, value->rank));
	ORT_TRY(ort->GetSymbolicDimensions(info, names, value->rank));
	for (size_t i = 0; i < value->rank; i++) {
		if (sizes[i] < 0 && r->dynamic &&
		    onpu_names_set(r->dynamic, r->chunks, value->name, i))
			return onpu_nomem(ort);
		dimensions[i].size = dimension(r, sizes[i], names[i]);
		dimensions[i].name = onpu_view(r, names[i]);
	}
	value->dimensions = dimensions;
	return NULL;
}

/*
 * Treats the rank of a seeming scalar as unknown: before 1.24, a value without a shape looks like a
 * scalar, and an input that a program declares is seldom one.
 */
static void doubt_scalar(const struct onpu_reading *r, WNNOnnxValue *value)
{
	if (!value->rank && !r->ort->TensorTypeAndShape_HasShape)
		value->rank = WNN_ONNX_RANK_UNKNOWN;
}

struct ort_status *onpu_read_value(const struct onpu_reading *r, const struct ort_value_info *info,
				   WNNOnnxValue *value)
{
	const struct ort_tensor_info *tensor = NULL;
	const struct ort_type_info *type = NULL;
	const struct ort_api *ort = r->ort;
	const char *name;
	int kind = 0;

	ORT_TRY(ort->GetValueInfoName(info, &name));
	*value = (WNNOnnxValue){ .name = onpu_view(r, name),
				 .kind = WNNOnnxKind_Other,
				 .rank = WNN_ONNX_RANK_UNKNOWN };
	ORT_TRY(ort->GetValueInfoTypeInfo(info, &type));
	if (!type)
		return NULL;
	ORT_TRY(ort->GetOnnxTypeFromTypeInfo(type, &kind));
	if (kind != ORT_KIND_TENSOR)
		return NULL;
	ORT_TRY(ort->CastTypeInfoToTensorInfo(type, &tensor));
	if (!tensor)
		return NULL;
	value->kind = WNNOnnxKind_Tensor;
	ORT_TRY(ort->GetTensorElementType(tensor, &value->elementType));
	if (ort->TensorTypeAndShape_HasShape && !ort->TensorTypeAndShape_HasShape(tensor))
		return NULL;
	return read_dimensions(r, tensor, value);
}

struct ort_status *onpu_node_inputs(const struct onpu_reading *r, const struct ort_node *node,
				    size_t *count, const struct ort_value_info ***values)
{
	size_t explicit, implicit;

	ORT_TRY(r->ort->Node_GetNumInputs(node, &explicit));
	ORT_TRY(r->ort->Node_GetNumImplicitInputs(node, &implicit));
	*values = onpu_take(r, (explicit + implicit) * sizeof(**values));
	if (!*values)
		return onpu_nomem(r->ort);
	ORT_TRY(r->ort->Node_GetInputs(node, *values, explicit));
	if (implicit)
		ORT_TRY(r->ort->Node_GetImplicitInputs(node, *values + explicit, implicit));
	*count = explicit + implicit;
	return NULL;
}

struct ort_status *onpu_node_outputs(const struct onpu_reading *r, const struct ort_node *node,
				     size_t *count, const struct ort_value_info ***values)
{
	ORT_TRY(r->ort->Node_GetNumOutputs(node, count));
	*values = onpu_take(r, *count * sizeof(**values));
	if (!*values)
		return onpu_nomem(r->ort);
	return r->ort->Node_GetOutputs(node, *values, *count);
}

/* Reads type, shape and elements of a value of ONNX Runtime; data stays NULL for strings. */
static struct ort_status *read_tensor(const struct onpu_reading *r, const struct ort_value *from,
				      bool keep, WNNOnnxTensor *tensor)
{
	const struct ort_api *ort = r->ort;
	struct ort_tensor_info *info;
	size_t elements = 1;
	int64_t *dims;
	void *data, *copy;
	int type;

	ORT_TRY(ort->GetTensorTypeAndShape(from, &info));
	/* These calls fail only for missing arguments. */
	ORT_TRY(ort->GetTensorElementType(info, &type));
	ORT_TRY(ort->GetDimensionsCount(info, &tensor->rank));
	dims = onpu_take(r, tensor->rank * sizeof(*dims));
	if (!dims)
		return onpu_nomem(ort);
	ORT_TRY(ort->GetDimensions(info, dims, tensor->rank));
	ort->ReleaseTensorTypeAndShapeInfo(info);
	for (size_t i = 0; i < tensor->rank; i++)
		elements *= (size_t)dims[i];
	tensor->elementType = type;
	tensor->dimensions = dims;
	tensor->size = onpu_type_bytes(type, elements);
	if (tensor->size == SIZE_MAX) {
		tensor->size = 0;
		return NULL;
	}
	ORT_TRY(ort->GetTensorMutableData((struct ort_value *)(uintptr_t)from, &data));
	tensor->data = data;
	if (!keep || !tensor->size)
		return NULL;
	copy = onpu_take(r, tensor->size);
	if (!copy)
		return onpu_nomem(ort);
	tensor->data = memcpy(copy, data, tensor->size);
	return NULL;
}

/*
 * Sets *elements to a copy of the elements of an attribute, which have @size bytes each, and *count
 * to their number. Returns NULL, or an error.
 */
static struct ort_status *read_elements(const struct onpu_reading *r,
					const struct ort_attribute *from, int type, size_t size,
					size_t *count, const void **elements)
{
	struct ort_status *status;
	size_t bytes = 0;
	void *data;

	/* The first call asks for the size; it fails unless the size is 0. */
	status = r->ort->ReadOpAttr(from, type, NULL, 0, &bytes);
	if (status)
		r->ort->ReleaseStatus(status);
	data = onpu_take(r, bytes + 8);
	if (!data)
		return onpu_nomem(r->ort);
	if (bytes)
		ORT_TRY(r->ort->ReadOpAttr(from, type, data, bytes, &bytes));
	*count = bytes / size;
	*elements = data;
	return NULL;
}

/* Reads strings, which ONNX Runtime returns one after the other, each with a NUL. */
static struct ort_status *read_strings(const struct onpu_reading *r,
				       const struct ort_attribute *from,
				       WNNOnnxAttribute *attribute)
{
	WNNStringView *strings;
	const void *bytes;
	const char *text;
	size_t size;

	ORT_TRY(read_elements(r, from, ORT_ATTRIBUTE_STRINGS, 1, &size, &bytes));
	text = bytes;
	strings = onpu_take(r, (size + 1) * sizeof(*strings));
	if (!strings)
		return onpu_nomem(r->ort);
	for (size_t at = 0; at < size; at += strlen(text + at) + 1)
		strings[attribute->count++] = onpu_view(r, text + at);
	attribute->strings = strings;
	return NULL;
}

static struct ort_status *read_string(const struct onpu_reading *r,
				      const struct ort_attribute *from, WNNOnnxAttribute *attribute)
{
	WNNStringView *string = onpu_take(r, sizeof(*string));
	const void *bytes;
	size_t size;

	if (!string)
		return onpu_nomem(r->ort);
	ORT_TRY(read_elements(r, from, ORT_ATTRIBUTE_STRING, 1, &size, &bytes));
	*string = (WNNStringView){ bytes, strnlen(bytes, size) };
	attribute->count = 1;
	attribute->strings = string;
	return NULL;
}

static struct ort_status *read_tensor_attribute(const struct onpu_reading *r,
						const struct ort_attribute *from,
						WNNOnnxAttribute *attribute)
{
	WNNOnnxTensor *tensor = onpu_take(r, sizeof(*tensor));
	struct ort_status *status;
	struct ort_value *value;

	if (!tensor)
		return onpu_nomem(r->ort);
	ORT_TRY(r->ort->OpAttr_GetTensorAttributeAsOrtValue(from, &value));
	status = read_tensor(r, value, true, tensor);
	r->ort->ReleaseValue(value);
	attribute->tensor = tensor;
	return status;
}

static struct ort_status *read_attribute(const struct onpu_reading *r,
					 const struct ort_attribute *from,
					 WNNOnnxAttribute *attribute, bool *there)
{
	const char *name;
	const void *data;
	int type;

	*there = true;
	ORT_TRY(r->ort->OpAttr_GetName(from, &name));
	ORT_TRY(r->ort->OpAttr_GetType(from, &type));
	*attribute = (WNNOnnxAttribute){ .name = onpu_view(r, name) };
	switch (type) {
	case ORT_ATTRIBUTE_INT:
	case ORT_ATTRIBUTE_INTS:
		attribute->kind = type == ORT_ATTRIBUTE_INT ? WNNOnnxAttributeKind_Int :
							      WNNOnnxAttributeKind_Ints;
		ORT_TRY(read_elements(r, from, type, sizeof(int64_t), &attribute->count, &data));
		attribute->ints = data;
		return NULL;
	case ORT_ATTRIBUTE_FLOAT:
	case ORT_ATTRIBUTE_FLOATS:
		attribute->kind = type == ORT_ATTRIBUTE_FLOAT ? WNNOnnxAttributeKind_Float :
								WNNOnnxAttributeKind_Floats;
		ORT_TRY(read_elements(r, from, type, sizeof(float), &attribute->count, &data));
		attribute->floats = data;
		return NULL;
	case ORT_ATTRIBUTE_STRING:
		attribute->kind = WNNOnnxAttributeKind_String;
		return read_string(r, from, attribute);
	case ORT_ATTRIBUTE_STRINGS:
		attribute->kind = WNNOnnxAttributeKind_Strings;
		return read_strings(r, from, attribute);
	case ORT_ATTRIBUTE_TENSOR:
		attribute->kind = WNNOnnxAttributeKind_Tensor;
		return read_tensor_attribute(r, from, attribute);
	default:
		*there = false; /* graphs are read separately */
		return NULL;
	}
}

static struct ort_status *read_inner_graph(const struct onpu_reading *r,
					   const struct ort_graph *graph, WNNOnnxGraph *out);

static struct ort_status *read_attributes(const struct onpu_reading *r, const struct ort_node *node,
					  WNNOnnxNode *out)
{
	const struct ort_attribute **from;
	const struct ort_graph **graphs;
	WNNOnnxAttribute *attributes;
	size_t count, graph_count;
	const char **names;

	ORT_TRY(r->ort->Node_GetNumAttributes(node, &count));
	ORT_TRY(r->ort->Node_GetNumSubgraphs(node, &graph_count));
	from = onpu_take(r, count * sizeof(*from));
	graphs = onpu_take(r, graph_count * sizeof(*graphs));
	names = onpu_take(r, graph_count * sizeof(*names));
	attributes = onpu_take(r, (count + graph_count) * sizeof(*attributes));
	if (!from || !graphs || !names || !attributes)
		return onpu_nomem(r->ort);
	ORT_TRY(r->ort->Node_GetAttributes(node, from, count));
	for (size_t i = 0; i < count; i++) {
		bool there;

		ORT_TRY(read_attribute(r, from[i], &attributes[out->attributeCount], &there));
		out->attributeCount += there;
	}
	if (graph_count)
		ORT_TRY(r->ort->Node_GetSubgraphs(node, graphs, graph_count, names));
	for (size_t i = 0; i < graph_count; i++) {
		WNNOnnxGraph *inner = onpu_take(r, sizeof(*inner));

		if (!inner)
			return onpu_nomem(r->ort);
		ORT_TRY(read_inner_graph(r, graphs[i], inner));
		attributes[out->attributeCount++] =
			(WNNOnnxAttribute){ .name = onpu_view(r, names[i]),
					    .kind = WNNOnnxAttributeKind_Graph,
					    .graph = inner };
	}
	out->attributes = attributes;
	return NULL;
}

static struct ort_status *read_names(const struct onpu_reading *r,
				     const struct ort_value_info *const *values, size_t count,
				     const WNNStringView **out)
{
	WNNStringView *names = onpu_take(r, count * sizeof(*names));

	if (!names)
		return onpu_nomem(r->ort);
	for (size_t i = 0; i < count; i++) {
		const char *name = "";

		if (values[i])
			ORT_TRY(r->ort->GetValueInfoName(values[i], &name));
		names[i] = onpu_view(r, name);
	}
	*out = names;
	return NULL;
}

static struct ort_status *read_node(const struct onpu_reading *r, const struct ort_node *node,
				    WNNOnnxNode *out)
{
	const char *name, *domain, *type;
	const struct ort_value_info **values;

	ORT_TRY(r->ort->Node_GetName(node, &name));
	ORT_TRY(r->ort->Node_GetDomain(node, &domain));
	ORT_TRY(r->ort->Node_GetOperatorType(node, &type));
	*out = (WNNOnnxNode){ .name = onpu_view(r, name),
			      .domain = onpu_view(r, domain),
			      .operatorName = onpu_view(r, type) };
	ORT_TRY(r->ort->Node_GetNumInputs(node, &out->inputCount));
	values = onpu_take(r, out->inputCount * sizeof(*values));
	if (!values)
		return onpu_nomem(r->ort);
	ORT_TRY(r->ort->Node_GetInputs(node, values, out->inputCount));
	ORT_TRY(read_names(r, values, out->inputCount, &out->inputs));
	ORT_TRY(onpu_node_outputs(r, node, &out->outputCount, &values));
	ORT_TRY(read_names(r, values, out->outputCount, &out->outputs));
	return read_attributes(r, node, out);
}

/* Lists that grow while a graph is read. */
struct lists {
	struct onpu_names seen; /* names of inputs, constants and outputs of nodes so far */
	WNNOnnxValue *inputs, *values;
	size_t input_room, value_room, tensor_room;
	bool inner;
};

static void *grow(const struct onpu_reading *r, void *list, size_t count, size_t *room, size_t size)
{
	void *more;

	if (count < *room)
		return list;
	more = onpu_take(r, (*room * 2 + 16) * size);
	if (more && count)
		memcpy(more, list, count * size);
	*room = *room * 2 + 16;
	return more;
}

/*
 * Sets *file to where a constant is in a file below the model's folder, unless it is in memory.
 * Returns NULL, or an error.
 */
static struct ort_status *find_file(const struct onpu_reading *r, const struct ort_value_info *info,
				    size_t size, WNNOnnxTensorFile *file)
{
	struct ort_external *external = NULL;
	const char *name;

	ORT_TRY(r->ort->ValueInfo_GetExternalInitializerInfo(info, &external));
	if (!external)
		return NULL;
	name = r->ort->ExternalInitializerInfo_GetFilePath(external);
	if (name && import_stays_below(name) &&
	    r->ort->ExternalInitializerInfo_GetByteSize(external) == size) {
		file->name = onpu_view(r, name);
		file->offset = (uint64_t)r->ort->ExternalInitializerInfo_GetFileOffset(external);
	}
	r->ort->ReleaseExternalInitializerInfo(external);
	return NULL;
}

static struct ort_status *add_constant(const struct onpu_reading *r, struct lists *l,
				       const struct ort_value_info *info, WNNStringView name,
				       struct onpu_read *out)
{
	const struct ort_value *value = NULL;
	size_t count = out->graph.tensorCount, room = l->tensor_room;
	WNNOnnxTensor *tensor;

	out->files = grow(r, out->files, count, &room, sizeof(*out->files));
	out->tensors = grow(r, out->tensors, count, &l->tensor_room, sizeof(*out->tensors));
	if (!out->files || !out->tensors)
		return onpu_nomem(r->ort);
	tensor = &out->tensors[out->graph.tensorCount++];
	*tensor = (WNNOnnxTensor){ .name = name };
	out->files[count] = (WNNOnnxTensorFile){ .offset = 0 };
	ORT_TRY(r->ort->ValueInfo_GetInitializerValue(info, &value));
	if (!value)
		return onpu_error(r->ort, ORT_FAIL,
				  ONPU_PROVIDER ": constant \"%.*s\" has no value",
				  (int)name.length, name.data);
	ORT_TRY(read_tensor(r, value, l->inner && r->keep, tensor));
	return r->keep && !l->inner ? find_file(r, info, tensor->size, &out->files[count]) : NULL;
}

/*
 * Adds a value that a node reads, or that is an output, to the constants or inputs of the graph,
 * unless it was seen before. Returns NULL, or an error.
 */
static struct ort_status *see(const struct onpu_reading *r, struct lists *l,
			      const struct ort_value_info *info, struct onpu_read *out)
{
	bool constant = false, outer = false;
	WNNStringView name;
	const char *text;

	if (!info)
		return NULL;
	ORT_TRY(r->ort->GetValueInfoName(info, &text));
	name = (WNNStringView){ text, strlen(text) };
	if (!name.length || onpu_names_get(&l->seen, name) != SIZE_MAX)
		return NULL;
	name = onpu_view(r, text);
	if (onpu_names_set(&l->seen, r->chunks, name, 0))
		return onpu_nomem(r->ort);
	ORT_TRY(r->ort->ValueInfo_IsConstantInitializer(info, &constant));
	ORT_TRY(r->ort->ValueInfo_IsFromOuterScope(info, &outer));
	out->uses_outer = out->uses_outer || outer;
	/* A graph within a node uses outer names without having them as inputs. */
	if (l->inner && outer)
		return NULL;
	if (constant)
		return add_constant(r, l, info, name, out);
	if (l->inner)
		return NULL;
	l->inputs = grow(r, l->inputs, out->graph.inputCount, &l->input_room, sizeof(*l->inputs));
	if (!l->inputs)
		return onpu_nomem(r->ort);
	ORT_TRY(onpu_read_value(r, info, &l->inputs[out->graph.inputCount]));
	/*
	 * Without a size to try, this is the graph of a group, whose inputs may come from any node.
	 */
	if (r->trial < 0)
		doubt_scalar(r, &l->inputs[out->graph.inputCount]);
	out->graph.inputCount++;
	return NULL;
}

static struct ort_status *read_nodes(const struct onpu_reading *r, struct lists *l,
				     struct onpu_read *out)
{
	for (size_t i = 0; i < out->graph.nodeCount; i++) {
		const struct ort_value_info **values;
		size_t count;

		ORT_TRY(read_node(r, out->nodes[i], &out->described[i]));
		ORT_TRY(onpu_node_inputs(r, out->nodes[i], &count, &values));
		for (size_t k = 0; k < count; k++)
			ORT_TRY(see(r, l, values[k], out));
		ORT_TRY(onpu_node_outputs(r, out->nodes[i], &count, &values));
		for (size_t k = 0; k < count; k++) {
			WNNStringView name = out->described[i].outputs[k];

			if (!values[k] || !name.length)
				continue;
			if (onpu_names_set(&l->seen, r->chunks, name, 0))
				return onpu_nomem(r->ort);
			l->values = grow(r, l->values, out->graph.valueCount, &l->value_room,
					 sizeof(*l->values));
			if (!l->values)
				return onpu_nomem(r->ort);
			ORT_TRY(onpu_read_value(r, values[k], &l->values[out->graph.valueCount]));
			doubt_scalar(r, &l->values[out->graph.valueCount++]);
		}
	}
	return NULL;
}

static struct ort_status *read_outputs(const struct onpu_reading *r, struct lists *l,
				       const struct ort_graph *graph, struct onpu_read *out)
{
	const struct ort_value_info **values;
	WNNOnnxValue *outputs;

	ORT_TRY(r->ort->Graph_GetNumOutputs(graph, &out->graph.outputCount));
	values = onpu_take(r, out->graph.outputCount * sizeof(*values));
	outputs = onpu_take(r, out->graph.outputCount * sizeof(*outputs));
	if (!values || !outputs)
		return onpu_nomem(r->ort);
	ORT_TRY(r->ort->Graph_GetOutputs(graph, values, out->graph.outputCount));
	for (size_t i = 0; i < out->graph.outputCount; i++) {
		ORT_TRY(onpu_read_value(r, values[i], &outputs[i]));
		ORT_TRY(see(r, l, values[i], out));
	}
	out->graph.outputs = outputs;
	return NULL;
}

static struct ort_status *read_sets(const struct onpu_reading *r, const struct ort_graph *graph,
				    struct onpu_read *out)
{
	const char **domains;
	int64_t *versions;

	ORT_TRY(r->ort->Graph_GetNumOperatorSets(graph, &out->set_count));
	out->sets = onpu_take(r, out->set_count * sizeof(*out->sets));
	domains = onpu_take(r, out->set_count * sizeof(*domains));
	versions = onpu_take(r, out->set_count * sizeof(*versions));
	if (!out->sets || !domains || !versions)
		return onpu_nomem(r->ort);
	ORT_TRY(r->ort->Graph_GetOperatorSets(graph, domains, versions, out->set_count));
	for (size_t i = 0; i < out->set_count; i++)
		out->sets[i] = (WNNOnnxOperatorSet){ onpu_view(r, domains[i]), versions[i] };
	return NULL;
}

static struct ort_status *read_inputs(const struct onpu_reading *r, struct lists *l,
				      const struct ort_graph *graph, struct onpu_read *out)
{
	const struct ort_value_info **values;
	size_t count;

	ORT_TRY(r->ort->Graph_GetNumInputs(graph, &count));
	values = onpu_take(r, count * sizeof(*values));
	l->inputs = onpu_take(r, count * sizeof(*l->inputs));
	if (!values || !l->inputs)
		return onpu_nomem(r->ort);
	l->input_room = count;
	ORT_TRY(r->ort->Graph_GetInputs(graph, values, count));
	for (size_t i = 0; i < count; i++) {
		WNNOnnxValue *value = &l->inputs[out->graph.inputCount++];

		ORT_TRY(onpu_read_value(r, values[i], value));
		if (onpu_names_set(&l->seen, r->chunks, value->name, 0))
			return onpu_nomem(r->ort);
	}
	return NULL;
}

static struct ort_status *read_any_graph(const struct onpu_reading *r,
					 const struct ort_graph *graph, bool inner,
					 struct onpu_read *out)
{
	struct lists lists = { .inner = inner };
	const char *name;

	*out = (struct onpu_read){ 0 };
	ORT_TRY(r->ort->Graph_GetName(graph, &name));
	out->graph.name = onpu_view(r, name);
	ORT_TRY(r->ort->Graph_GetNumNodes(graph, &out->graph.nodeCount));
	out->nodes = onpu_take(r, out->graph.nodeCount * sizeof(*out->nodes));
	out->described = onpu_take(r, out->graph.nodeCount * sizeof(*out->described));
	if (!out->nodes || !out->described ||
	    onpu_names_begin(&lists.seen, r->chunks, out->graph.nodeCount * 2))
		return onpu_nomem(r->ort);
	ORT_TRY(r->ort->Graph_GetNodes(graph, out->nodes, out->graph.nodeCount));
	if (inner)
		ORT_TRY(read_inputs(r, &lists, graph, out));
	else
		ORT_TRY(read_sets(r, graph, out));
	ORT_TRY(read_nodes(r, &lists, out));
	ORT_TRY(read_outputs(r, &lists, graph, out));
	out->graph.inputs = lists.inputs;
	out->graph.values = lists.values;
	out->graph.tensors = out->tensors;
	out->graph.nodes = out->described;
	return NULL;
}

static struct ort_status *read_inner_graph(const struct onpu_reading *r,
					   const struct ort_graph *graph, WNNOnnxGraph *out)
{
	struct onpu_read read;

	ORT_TRY(read_any_graph(r, graph, true, &read));
	*out = read.graph;
	return NULL;
}

struct ort_status *onpu_read_graph(const struct onpu_reading *r, const struct ort_graph *graph,
				   struct onpu_read *out)
{
	return read_any_graph(r, graph, false, out);
}
