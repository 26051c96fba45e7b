// SPDX-License-Identifier: MIT
/* Walks the nodes of a graph in their order and calls the translator of each operator. */
#include <string.h>

#include "carrier.h"
#include "node.h"
#include "probe.h"
#include "scope.h"

#define MAX_DEPTH 32

static WNNStatus fail(struct onnx_import *import)
{
	if (import->status == WNNStatus_Success)
		import->status = onnx_nomem();
	return import->status;
}

static WNNStatus damaged(struct onnx_import *import, const struct onnx_node *node, const char *what,
			 const char *name)
{
	onnx_error(WNNStatus_OperationError, "the model is damaged: node \"%s\" (%s) %s \"%s\"",
		   node->name, node->proto->op_type ? node->proto->op_type : "", what, name);
	import->status = onnx_error_in(import->model->file->name);
	return import->status;
}

static bool default_domain(const char *domain)
{
	return !domain || !*domain || !strcmp(domain, "ai.onnx");
}

static int64_t domain_version(const struct onnx_import *import, const struct onnx_scope *scope,
			      const char *domain)
{
	const Onnx__ModelProto *model = import->model->proto;
	size_t count = model->n_opset_import;
	Onnx__OperatorSetIdProto **sets = model->opset_import;

	for (; scope; scope = scope->outer) {
		if (!scope->function)
			continue;
		count = scope->function->n_opset_import;
		sets = scope->function->opset_import;
		break;
	}
	for (size_t i = 0; i < count; i++) {
		const char *name = sets[i]->domain;

		if (default_domain(name) ? default_domain(domain) : domain && !strcmp(name, domain))
			return sets[i]->version;
	}
	return 1;
}

static const Onnx__FunctionProto *find_function(const struct onnx_node *node)
{
	const Onnx__ModelProto *model = node->import->model->proto;
	const char *domain = node->proto->domain ? node->proto->domain : "";

	for (size_t i = 0; i < model->n_functions; i++) {
		const Onnx__FunctionProto *function = model->functions[i];

		if (function->name && !strcmp(function->name, node->proto->op_type) &&
		    !strcmp(function->domain ? function->domain : "", domain))
			return function;
	}
	return NULL;
}

static int run_nodes(struct onnx_import *import, struct onnx_scope *scope, size_t count,
		     Onnx__NodeProto **nodes);

/*
 * Translates the body of a function of the model in place of the node that calls it. Returns 0; -1:
 * refused, or functions are nested too deeply.
 */
static int run_function(struct onnx_node *node, const Onnx__FunctionProto *function)
{
	struct onnx_import *import = node->import;
	struct onnx_scope scope = { .caller = node, .function = function };
	int result;

	if (import->depth == MAX_DEPTH)
		return onnx_refuse(node, "", "functions and graphs are nested more than %d deep",
				   MAX_DEPTH);
	if (onnx_unroll(node, function->n_node))
		return -1;
	if (onnx_scope_begin(&scope, import->arena, function->n_node))
		return onnx_fail(node);
	for (size_t i = 0; i < function->n_input && i < node->input_count; i++)
		if (node->inputs[i] &&
		    onnx_set_name(import, &scope, function->input[i], node->inputs[i]))
			return -1;
	import->depth++;
	result = run_nodes(import, &scope, function->n_node, function->node);
	import->depth--;
	for (size_t i = 0; !result && i < function->n_output && i < node->output_count; i++) {
		struct onnx_value *value = onnx_scope_get(&scope, function->output[i]);

		if (!value)
			return onnx_refuse(node, "", "the function does not make its output %s",
					   function->output[i]);
		onnx_out_value(node, i, value);
	}
	return result;
}

static bool all_constant(const struct onnx_node *node)
{
	for (size_t i = 0; i < node->input_count; i++)
		if (node->inputs[i] && !node->inputs[i]->data)
			return false;
	return true;
}

/*
 * Refuses a node whose operator is only computed at import, and names its first input that is not
 * constant. Always returns -1.
 */
static int refuse_variable(struct onnx_node *node)
{
	for (size_t i = 0; i < node->input_count; i++)
		if (node->inputs[i] && !node->inputs[i]->data)
			return onnx_refuse_variable(node, i, "input");
	return onnx_refuse(node, "", "it is not computed for inputs like these");
}

/*
 * Whether an input of the node was refused. Records the reason for this node, if it is not recorded
 * yet.
 */
static bool refused_inputs(struct onnx_node *node)
{
	bool refused = false;

	for (size_t i = 0; i < node->input_count; i++) {
		struct onnx_value *value = node->inputs[i];

		if (!value || !value->refused)
			continue;
		refused = true;
		if (value->unsaid)
			onnx_refuse(node, "", "%s", value->unsaid);
		value->unsaid = NULL;
	}
	return refused;
}

int onnx_translate(struct onnx_node *node)
{
	if (onnx_carry(node) || onnx_wide_begin(node) || node->op->translate(node) ||
	    onnx_wide_end(node))
		return -1;
	return onnx_uncarry(node);
}

static int translate(struct onnx_node *node)
{
	const Onnx__FunctionProto *function = find_function(node);
	size_t refusals = node->import->model->refusal_count;
	int result = 1;

	if (function)
		return run_function(node, function);
	node->op = onnx_op_find(default_domain(node->proto->domain) ? "" : node->proto->domain,
				node->proto->op_type, node->version);
	if (!node->op && node->proto->domain && !strcmp(node->proto->domain, "com.microsoft.nchwc"))
		return onnx_refuse(
			node, "",
			"ONNX Runtime saved this file for one kind of processor: take the "
			"model from before that, or save it with optimisations of level "
			"extended or less");
	if (!node->op)
		return onnx_refuse(node, "",
				   "operator set %lld has no such operator that WebNN can express",
				   (long long)node->version);
	if (refused_inputs(node))
		return -1;
	if (node->op->fold && all_constant(node))
		result = node->op->fold(node);
	else
		result = onnx_compute(node);
	if (result == 1)
		result = onnx_empty(node);
	if (result == 1 && node->op->translate)
		result = onnx_translate(node);
	else if (result == 1)
		result = refuse_variable(node);
	/*
	 * A translator that fails without a refusal got NULL from the builder; this records the
	 * builder's error.
	 */
	if (result && refusals == node->import->model->refusal_count &&
	    node->import->status == WNNStatus_Success)
		onnx_value_of(node, NULL, 0);
	return result;
}

/*
 * Returns a refused value whose reason @unsaid is recorded only when a node uses it; NULL: no
 * memory.
 */
static struct onnx_value *refused_value(struct onnx_import *import, const char *unsaid)
{
	struct onnx_value *value = onnx_arena_alloc(import->arena, sizeof(*value));

	if (value)
		*value = (struct onnx_value){ .refused = true, .unsaid = unsaid };
	else
		fail(import);
	return value;
}

static int find_inputs(struct onnx_node *node)
{
	for (size_t i = 0; i < node->input_count; i++) {
		const char *name = node->proto->input[i];

		if (!name || !*name)
			continue;
		node->inputs[i] = onnx_scope_get(node->scope, name);
		/* A call of a function may leave out its last inputs. */
		if (!node->inputs[i] && !node->scope->function) {
			damaged(node->import, node,
				"has an input that is no output of another "
				"node, no input and no constant:",
				name);
			return -1;
		}
	}
	return 0;
}

/*
 * Marks the results of a node whose operands are all constants, when they depend on a model input
 * for which the program gave a constant, and adds a notice that names the input.
 */
static void mark_frozen(struct onnx_node *node)
{
	const char *frozen = NULL;
	char *text;

	for (size_t i = 0; i < node->input_count; i++) {
		const struct onnx_value *value = node->inputs[i];

		if (!value)
			continue;
		if (!value->data && !value->frozen)
			return;
		frozen = frozen ? frozen : value->frozen;
	}
	if (!frozen)
		return;
	text = onnx_arena_printf(node->import->arena,
				 "it is computed once, since input \"%s\" is a constant", frozen);
	onnx_notice(node, frozen, text);
	for (size_t i = 0; i < node->output_count; i++) {
		struct onnx_value *copy;

		if (!node->outputs[i] || node->outputs[i]->frozen || node->outputs[i]->sequence)
			continue;
		/* Marks a copy, because other names may stand for the same value. */
		copy = onnx_arena_alloc(node->import->arena, sizeof(*copy));
		if (!copy)
			return;
		*copy = *node->outputs[i];
		copy->frozen = frozen;
		node->outputs[i] = copy;
	}
}

static int run_node(struct onnx_import *import, struct onnx_scope *scope, Onnx__NodeProto *proto)
{
	struct onnx_node node = {
		.import = import,
		.scope = scope,
		.proto = proto,
		.b = import->builder,
		.input_count = proto->n_input,
		.output_count = proto->n_output,
		.version = domain_version(import, scope, proto->domain),
	};
	size_t refusals = import->model->refusal_count;
	int result;

	node.name = proto->name && *proto->name ? proto->name :
		    proto->n_output		? proto->output[0] :
						  "";
	node.options = WNN_OPERATOR_OPTIONS_INIT;
	node.options.label = (WNNStringView){ node.name, strlen(node.name) };
	node.inputs = onnx_arena_alloc(import->arena, (proto->n_input + 1) * sizeof(*node.inputs));
	node.outputs =
		onnx_arena_alloc(import->arena, (proto->n_output + 1) * sizeof(*node.outputs));
	if (!node.inputs || !node.outputs) {
		fail(import);
		return -1;
	}
	if (!proto->op_type) {
		onnx_error(WNNStatus_OperationError,
			   "the model is damaged: node \"%s\" has no operator", node.name);
		import->status = onnx_error_in(import->model->file->name);
		return -1;
	}
	do {
		if (find_inputs(&node))
			return -1;
		if (!onnx_fix_inputs(&node))
			return -1;
		result = onnx_is_known(&node) ? 0 : translate(&node);
	} while (result && onnx_try_fixed(&node, refusals));
	if (!result)
		result = onnx_put_known(&node);
	if (import->status != WNNStatus_Success)
		return -1;
	if (!result) {
		mark_frozen(&node);
		onnx_mark_folding(&node);
	}
	for (size_t i = 0; i < node.output_count; i++) {
		if (!proto->output[i] || !*proto->output[i])
			continue;
		if (!result && !node.outputs[i] && onnx_wants(&node, i))
			onnx_refuse(&node, "", "output %zu cannot be computed", i);
		if (result || !node.outputs[i])
			node.outputs[i] = refused_value(import, NULL);
		if (!node.outputs[i] ||
		    onnx_set_name(import, scope, proto->output[i], node.outputs[i]))
			return -1;
	}
	return 0;
}

static int run_nodes(struct onnx_import *import, struct onnx_scope *scope, size_t count,
		     Onnx__NodeProto **nodes)
{
	for (size_t i = 0; i < count; i++) {
		size_t refusals = import->model->refusal_count;

		if (!onnx_uses_node(&import->uses, nodes[i]))
			continue;
		if (run_node(import, scope, nodes[i]))
			return -1;
		/*
		 * When nodes are probed, notes whether this node of the main graph is supported,
		 * and replaces the outputs of an unsupported node by inputs.
		 */
		if (import->supported && !import->depth &&
		    onnx_probe_node(import, scope, nodes[i], &import->supported[i], refusals))
			return -1;
	}
	return 0;
}

int onnx_run_subgraph(struct onnx_node *node, const Onnx__GraphProto *graph, size_t input_count,
		      struct onnx_value **inputs, struct onnx_value **results)
{
	struct onnx_import *import = node->import;
	struct onnx_scope scope = { .outer = node->scope };
	int result;

	if (import->depth == MAX_DEPTH)
		return onnx_refuse(node, "", "functions and graphs are nested more than %d deep",
				   MAX_DEPTH);
	if (input_count != graph->n_input)
		return onnx_refuse(node, "", "its graph has %zu inputs instead of %zu",
				   graph->n_input, input_count);
	if (onnx_scope_begin(&scope, import->arena,
			     graph->n_node + graph->n_initializer + graph->n_sparse_initializer))
		return onnx_fail(node);
	for (size_t i = 0; i < input_count; i++)
		if (onnx_set_name(import, &scope,
				  graph->input[i]->name ? graph->input[i]->name : "", inputs[i]))
			return -1;
	import->depth++;
	result = onnx_set_initialisers(import, &scope, graph);
	if (!result)
		result = run_nodes(import, &scope, graph->n_node, graph->node);
	import->depth--;
	for (size_t i = 0; !result && i < graph->n_output; i++) {
		results[i] = graph->output[i]->name ?
				     onnx_scope_get(&scope, graph->output[i]->name) :
				     NULL;
		if (!results[i])
			return onnx_refuse(node, "", "its graph does not make output %zu", i);
	}
	return result;
}

/* Returns a node that stands for a model input in refusals. */
static struct onnx_node input_node(struct onnx_import *import, const char *name)
{
	static Onnx__NodeProto none = ONNX__NODE_PROTO__INIT;

	return (struct onnx_node){
		.import = import,
		.proto = &none,
		.name = name,
		.b = import->builder,
	};
}

struct onnx_value *onnx_input_value(struct onnx_import *import, const struct onnx_input *input)
{
	const Onnx__TypeProto__Tensor *type = input->tensor;
	struct onnx_node node = input_node(import, input->name);
	WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
	struct onnx_value *value;
	uint32_t shape[ONNX_MAX_RANK];

	if (input->value) {
		value = onnx_new_value(&node);
		if (value) {
			*value = *input->value;
			value->frozen = node.name;
		}
		return value;
	}
	if (!type)
		return refused_value(import,
				     onnx_arena_printf(import->arena,
						       "the input \"%s\" is no tensor", node.name));
	import->doubles = import->doubles || type->elem_type == ONNX_DOUBLE;
	descriptor.dataType = onnx_type_webnn(type->elem_type);
	if (descriptor.dataType == WNNOperandDataType_Undefined)
		return refused_value(
			import,
			onnx_arena_printf(
				import->arena, "WebNN has no type for the input \"%s\" of type %s",
				node.name, onnx_type_text(import->arena, type->elem_type)));
	if (!input->has_shape && type->shape && type->shape->n_dim > ONNX_MAX_RANK)
		return refused_value(
			import, onnx_arena_printf(import->arena,
						  "the input \"%s\" has %zu dimensions: at most %d "
						  "are allowed",
						  node.name, type->shape->n_dim, ONNX_MAX_RANK));
	if (!input->has_shape) {
		import->status = onnx_error(WNNStatus_TypeError,
					    "the shape of input \"%s\" is not known: set its "
					    "dimensions first",
					    node.name);
		return NULL;
	}
	/* WebNN has no operands without elements: such an input becomes an empty constant. */
	if (!onnx_shape_elements(&input->shape)) {
		value = onnx_new_value(&node);
		if (value)
			*value = (struct onnx_value){ .type = type->elem_type,
						      .shape = input->shape,
						      .data = "" };
		return value;
	}
	for (uint32_t i = 0; i < input->shape.rank; i++)
		shape[i] = (uint32_t)input->shape.dim[i];
	descriptor.shape = input->shape.rank ? (WNNUint32Array){ input->shape.rank, shape } :
					       WNN_UINT32_EMPTY;
	value = onnx_value_of(
		&node, wnnGraphBuilderInput(import->builder, WNN_STR(node.name), &descriptor),
		type->elem_type);
	if (!value)
		return import->status == WNNStatus_Success ? refused_value(import, NULL) : NULL;
	value->origin = node.name;
	value->given = value->folds = true;
	return value;
}

/*
 * Returns the value of a model input: a sequence whose items are inputs, an absent optional value,
 * or a tensor. NULL: the import has ended.
 */
static struct onnx_value *make_input(struct onnx_import *import, const struct onnx_input *input)
{
	struct onnx_node node = input_node(import, input->name);
	struct onnx_value *value;

	if (!input->sequence && !(input->optional && input->empty))
		return onnx_input_value(import, input);
	if (input->sequence && !input->item_count && !input->empty)
		return refused_value(
			import, onnx_arena_printf(
					import->arena,
					"how many items the sequence \"%s\" has is not known: set "
					"the shape of \"%s/0\" and those that follow, or that it "
					"is empty",
					input->name, input->name));
	value = onnx_new_value(&node);
	if (!value)
		return NULL;
	value->type = input->tensor->elem_type;
	value->absent = input->optional && input->empty;
	value->sequence = input->sequence && !value->absent;
	value->count = input->item_count;
	value->items = onnx_node_alloc(&node, (value->count + 1) * sizeof(*value->items));
	for (size_t i = 0; value->items && i < value->count; i++) {
		value->items[i] = onnx_input_value(import, &input->items[i]);
		if (!value->items[i])
			return NULL;
		if (!value->items[i]->refused)
			continue;
		value->refused = true;
		value->unsaid = value->items[i]->unsaid;
	}
	return value->items ? value : NULL;
}

static WNNStatus begin(struct onnx_import *import, struct onnx_scope *scope)
{
	const Onnx__GraphProto *graph = import->model->proto->graph;

	if (onnx_scope_begin(scope, import->arena,
			     graph->n_node + graph->n_initializer + graph->n_sparse_initializer))
		return fail(import);
	for (size_t i = 0; i < import->model->input_count; i++) {
		struct onnx_value *value;

		if (!onnx_uses_has(&import->uses, import->model->inputs[i].proto->name))
			continue;
		value = make_input(import, &import->model->inputs[i]);

		if (!value)
			return fail(import);
		if (onnx_set_name(import, scope, import->model->inputs[i].name, value))
			return import->status;
	}
	onnx_set_initialisers(import, scope, graph);
	return import->status;
}

static WNNStatus find_uses(struct onnx_import *import)
{
	const struct onnx_model *model = import->model;
	int ret = onnx_uses_begin(&import->uses, import->arena, model->proto);

	for (size_t i = 0; !ret && i < model->output_count; i++)
		ret = onnx_uses_add(&import->uses, model->outputs[i]->name);
	/*
	 * A program that probes nodes may compute some of them itself and ask for any value: all
	 * outputs of nodes count as used.
	 */
	for (size_t i = 0; import->supported && i < model->proto->graph->n_node; i++) {
		const Onnx__NodeProto *node = model->proto->graph->node[i];

		for (size_t k = 0; !ret && k < node->n_output; k++)
			ret = onnx_uses_add(&import->uses, node->output[k]);
	}
	if (!ret)
		ret = onnx_uses_end(&import->uses);
	return ret ? fail(import) : WNNStatus_Success;
}

int onnx_import_nodes(struct onnx_import *import, struct onnx_scope *scope)
{
	const Onnx__GraphProto *graph = import->model->proto->graph;

	if (find_uses(import) != WNNStatus_Success || begin(import, scope) != WNNStatus_Success ||
	    run_nodes(import, scope, graph->n_node, graph->node))
		return -1;
	if (onnx_model_list_values(import->model, import->arena, scope, &import->model->values))
		fail(import);
	return import->status == WNNStatus_Success ? 0 : -1;
}

/*
 * Adds an output without elements to the model's list of empty outputs instead of the graph's,
 * because WebNN has no such tensors. Returns import->status.
 */
static WNNStatus add_empty(struct onnx_import *import, const char *name,
			   const struct onnx_value *value)
{
	struct onnx_model *model = import->model;
	WNNOnnxValueInfo *more =
		onnx_arena_alloc(import->arena, (model->empty_count + 1) * sizeof(*more));
	WNNOnnxDimension *dimensions =
		onnx_arena_alloc(import->arena, value->shape.rank * sizeof(*dimensions));

	if (!more || !dimensions)
		return fail(import);
	if (model->empty_count)
		memcpy(more, model->empty, model->empty_count * sizeof(*more));
	for (uint32_t i = 0; i < value->shape.rank; i++)
		dimensions[i].size = value->shape.dim[i];
	more[model->empty_count++] = (WNNOnnxValueInfo){
		.name = { name, strlen(name) },
		.kind = WNNOnnxKind_Tensor,
		.elementType = { onnx_type_name(value->type), strlen(onnx_type_name(value->type)) },
		.dataType = onnx_type_webnn(value->type),
		.rank = value->shape.rank,
		.dimensions = dimensions,
	};
	model->empty = more;
	return import->status;
}

/*
 * Returns an operand that may be an output. WebNN has no identity for int4 and uint4: an input of
 * these types is dequantised and quantised again, a constant is quantised.
 */
static WNNOperand output_operand(struct onnx_node *node, struct onnx_value *value)
{
	WNNOperandDataType type = onnx_type_webnn(value->type);

	if (type != WNNOperandDataType_Int4 && type != WNNOperandDataType_Uint4)
		return x_identity(node, onnx_operand(node, value));
	if (value->given)
		return onnx_to_four_bits(node, onnx_from_four_bits(node, onnx_operand(node, value)),
					 type);
	if (!value->data)
		return onnx_operand(node, value);
	value = onnx_converted(node, value, ONNX_FLOAT);
	return value ? onnx_to_four_bits(node, onnx_operand(node, value), type) : NULL;
}

/*
 * Adds an output of the graph and returns import->status. The value goes through an identity,
 * because WebNN wants outputs that an operator computes, each under one name. A value that is
 * refused or absent adds none; one without elements is listed in model->empty.
 */
WNNStatus onnx_add_output(struct onnx_import *import, const char *name, struct onnx_value *value,
			  WNNNamedOperand *outputs, size_t *used)
{
	struct onnx_node node = input_node(import, name);
	struct onnx_value *updates;
	WNNOperand operand;

	if (value->refused) {
		if (value->unsaid)
			onnx_refuse(&node, "", "%s", value->unsaid);
		else if (!import->model->refusal_count)
			onnx_refuse(&node, "", "what the output \"%s\" depends on is refused",
				    name);
		value->unsaid = NULL;
		return import->status;
	}
	if (value->absent)
		return import->status;
	if (!onnx_shape_elements(&value->shape) && !value->sequence)
		return add_empty(import, name, value);
	updates = value->updates;
	operand = output_operand(&node, value);
	value = onnx_value_of(&node, operand, value->type);
	if (value && onnx_declare_update(&node, updates, operand))
		return import->status;
	if (value)
		outputs[(*used)++] = (WNNNamedOperand){ { name, strlen(name) }, operand };
	return import->status;
}

static WNNStatus collect(struct onnx_import *import, const struct onnx_scope *scope, size_t *count,
			 WNNNamedOperand **outputs)
{
	const struct onnx_model *model = import->model;
	size_t total = 0, used = 0;

	for (size_t i = 0; i < model->output_count; i++) {
		const char *name = model->outputs[i]->name;
		struct onnx_value *value = onnx_scope_get(scope, name);

		if (!value) {
			onnx_error(WNNStatus_OperationError,
				   "the model is damaged: no node makes its output \"%s\"", name);
			return onnx_error_in(import->model->file->name);
		}
		total += value->sequence ? value->count : 1;
	}
	*outputs = onnx_arena_alloc(import->arena, (total + 1) * sizeof(**outputs));
	if (!*outputs)
		return fail(import);
	for (size_t i = 0; i < model->output_count; i++) {
		const char *name = model->outputs[i]->name;
		struct onnx_value *value = onnx_scope_get(scope, name);

		for (size_t k = 0; value->sequence && k < value->count; k++) {
			char *item = onnx_arena_printf(import->arena, "%s/%zu", name, k);

			if (!item ||
			    onnx_add_output(import, item, value->items[k], *outputs, &used))
				return fail(import);
		}
		if (!value->sequence && onnx_add_output(import, name, value, *outputs, &used))
			return import->status;
	}
	*count = used;
	return import->status;
}

/* Returns the error of a model with refusals. A node may have several, one after the other. */
static WNNStatus refused(const struct onnx_model *model)
{
	const WNNOnnxRefusal *first = &model->refusals[0];
	bool has_operator = first->operatorName.length;
	size_t nodes = 1;

	for (size_t i = 1; i < model->refusal_count; i++)
		nodes += model->refusals[i].node.data != model->refusals[i - 1].node.data;
	return onnx_error(WNNStatus_NotSupportedError,
			  "%zu node%s cannot be imported; the first is \"%.*s\"%s%.*s%s: %.*s",
			  nodes, nodes > 1 ? "s" : "", (int)first->node.length, first->node.data,
			  has_operator ? " (" : "", (int)first->operatorName.length,
			  first->operatorName.data, has_operator ? ")" : "",
			  (int)first->reason.length, first->reason.data);
}

WNNStatus onnx_import(struct onnx_model *model, WNNGraphBuilder builder, size_t *count,
		      WNNNamedOperand **outputs)
{
	struct onnx_import import = {
		.model = model,
		.builder = builder,
		.arena = &model->build_arena,
	};
	struct onnx_scope scope = { 0 };

	onnx_model_learn_shapes(model);
	onnx_key_begin(model);
	if (onnx_import_nodes(&import, &scope) ||
	    collect(&import, &scope, count, outputs) != WNNStatus_Success)
		return import.status == WNNStatus_Success ? wnnOnnxGetLastError(NULL) :
							    import.status;
	if (import.doubles) {
		struct onnx_node none = input_node(&import, "");

		onnx_notice(&none, NULL, "values of double are computed in float32");
	}
	return model->refusal_count ? refused(model) : WNNStatus_Success;
}
