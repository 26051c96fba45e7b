// SPDX-License-Identifier: MIT
/* Tells which nodes of a model can be part of a graph. */
#include "probe.h"

#include <string.h>

static const Onnx__ValueInfoProto *find(Onnx__ValueInfoProto *const *list, size_t count,
					const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (list[i]->name && !strcmp(list[i]->name, name))
			return list[i];
	return NULL;
}

/* Refuses a node that was left out because of an input, so that each such node has a reason. */
static void refuse_silent(struct onnx_import *import, struct onnx_scope *scope,
			  const Onnx__NodeProto *proto)
{
	struct onnx_node node = {
		.import = import,
		.proto = proto,
		.name = proto->name && *proto->name ? proto->name :
			proto->n_output		    ? proto->output[0] :
						      "",
	};

	for (size_t i = 0; i < proto->n_input; i++) {
		struct onnx_value *value = onnx_scope_get(scope, proto->input[i]);

		if (!value || !value->refused)
			continue;
		onnx_refuse(&node, "",
			    "its input \"%s\" comes from a node that is refused, and its shape is "
			    "not known or WebNN has no such type",
			    proto->input[i]);
		return;
	}
	onnx_refuse(&node, "", "a graph within it uses a value that is refused");
}

/*
 * Replaces a refused value by a graph input of its shape; keeps it when the shape is not known.
 * Returns 0 or -1.
 */
static int replace(struct onnx_import *import, struct onnx_scope *scope, const char *name)
{
	const Onnx__GraphProto *graph = import->model->proto->graph;
	const Onnx__ValueInfoProto *proto = find(graph->value_info, graph->n_value_info, name);
	const Onnx__TypeProto__Tensor *type;
	struct onnx_input input;
	struct onnx_value *value;

	if (!proto)
		proto = find(graph->output, graph->n_output, name);
	type = proto ? onnx_tensor_type(proto->type) : NULL;
	if (!type || onnx_type_webnn(type->elem_type) == WNNOperandDataType_Undefined)
		return 0;
	input = onnx_input_of(proto);
	onnx_model_learn_shape(import->model, &input);
	if (!input.has_shape || onnx_shape_elements(&input.shape) <= 0 ||
	    onnx_shape_elements(&input.shape) > INT32_MAX)
		return 0;
	value = onnx_input_value(import, &input);
	if (!value)
		return -1;
	/*
	 * A refusal names the origin of a value, because the program can make that input a
	 * constant; here the input may not be one of the program's.
	 */
	value->origin = NULL;
	return onnx_scope_set(scope, import->arena, name, value);
}

static bool translated(const struct onnx_scope *scope, const Onnx__NodeProto *proto)
{
	for (size_t i = 0; i < proto->n_output; i++) {
		struct onnx_value *value = NULL;

		if (proto->output[i] && *proto->output[i])
			value = onnx_scope_get(scope, proto->output[i]);
		if (value && value->refused)
			return false;
	}
	return proto->n_output > 0;
}

int onnx_probe_node(struct onnx_import *import, struct onnx_scope *scope,
		    const Onnx__NodeProto *proto, WNNBool *supported, size_t refusals)
{
	*supported = translated(scope, proto) && refusals == import->model->refusal_count;
	if (*supported)
		return 0;
	if (refusals == import->model->refusal_count)
		refuse_silent(import, scope, proto);
	for (size_t i = 0; i < proto->n_output; i++)
		if (proto->output[i] && *proto->output[i] &&
		    replace(import, scope, proto->output[i]))
			return -1;
	return 0;
}

/* Refuses a node of a probe and returns true; false: the import is no probe. */
static bool refuse_in_probe(struct onnx_node *node, const char *reason)
{
	if (!node->import->supported)
		return false;
	onnx_refuse(node, "", "%s", reason);
	return true;
}

bool onnx_probe_refuses_draw(struct onnx_node *node)
{
	return refuse_in_probe(node,
			       "the program that computes other nodes draws its random numbers");
}

bool onnx_probe_refuses_rows(struct onnx_node *node)
{
	return refuse_in_probe(node, "how many boxes it takes is known only in a run");
}

static void unsupport(const Onnx__GraphProto *graph, const char *output, WNNBool *supported)
{
	for (size_t i = 0; i < graph->n_node; i++)
		for (size_t k = 0; k < graph->node[i]->n_output; k++)
			if (!strcmp(graph->node[i]->output[k], output))
				supported[i] = WNN_FALSE;
}

/*
 * Refuses the producers of outputs that are no tensors or have no elements, because these cannot be
 * outputs of a graph. Returns another status than WNNStatus_Success only after an error.
 */
static WNNStatus probe_outputs(struct onnx_import *import, struct onnx_scope *scope)
{
	const Onnx__GraphProto *graph = import->model->proto->graph;

	for (size_t i = 0; i < graph->n_output; i++) {
		struct onnx_value *value = onnx_scope_get(scope, graph->output[i]->name);
		struct onnx_node node = {
			.import = import,
			.proto = &(Onnx__NodeProto)ONNX__NODE_PROTO__INIT,
			.name = graph->output[i]->name,
		};
		size_t refusals = import->model->refusal_count;
		WNNNamedOperand output;
		size_t used = 0;

		if (!value || value->refused)
			continue;
		if (value->sequence)
			onnx_refuse(&node, "",
				    "it is a sequence, and outputs of graphs are tensors");
		else if (onnx_add_output(import, node.name, value, &output, &used) !=
			 WNNStatus_Success)
			return import->status;
		else if (!used && refusals == import->model->refusal_count)
			onnx_refuse(
				&node, "",
				"it has no elements, but an output of a graph needs at least one");
		if (refusals != import->model->refusal_count)
			unsupport(graph, node.name, import->supported);
	}
	return WNNStatus_Success;
}

WNNStatus onnx_probe(struct onnx_model *model, WNNGraphBuilder builder, WNNBool *supported)
{
	struct onnx_import import = {
		.model = model,
		.builder = builder,
		.arena = &model->build_arena,
		.supported = supported,
	};
	struct onnx_scope scope = { 0 };

	memset(supported, 0, model->proto->graph->n_node * sizeof(*supported));
	onnx_model_learn_shapes(model);
	if (onnx_import_nodes(&import, &scope) ||
	    probe_outputs(&import, &scope) != WNNStatus_Success)
		return import.status == WNNStatus_Success ? wnnOnnxGetLastError(NULL) :
							    import.status;
	return WNNStatus_Success;
}
