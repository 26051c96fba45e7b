// SPDX-License-Identifier: MIT
/* Reads attributes and inputs of a node, sets its outputs, and records refusals. */
#include "carrier.h"
#include "node.h"
#include "scope.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <webnn/webnn_npu.h>

#include "../common/printable.h"

#define MAX_REFUSALS 10000
#define MAX_UNROLLED 200000
#define MAX_MEMORY   ((size_t)256 << 20)
#define MAX_CONSTANT ((int64_t)1 << 24) /* elements; a larger constant is not computed at import */

int onnx_fail(struct onnx_node *node)
{
	if (node->import->status == WNNStatus_Success)
		node->import->status = onnx_nomem();
	return -1;
}

void *onnx_node_alloc(struct onnx_node *node, size_t size)
{
	void *memory;

	if (size > MAX_MEMORY) {
		onnx_refuse(node, "", "it would need %zu bytes of memory at import, of at most %zu",
			    size, MAX_MEMORY);
		return NULL;
	}
	memory = onnx_arena_alloc(node->import->arena, size);
	if (!memory)
		onnx_fail(node);
	return memory;
}

static WNNStringView view(const char *text)
{
	return (WNNStringView){ text ? text : "", text ? strlen(text) : 0 };
}

/*
 * Appends an item to a list of refusals or notices, unless the list has MAX_REFUSALS items; @reason
 * is in the arena. Always returns -1, which a function that refuses a node returns.
 */
static int add_item(struct onnx_node *node, const char *attribute, const char *origin,
		    const char *reason, WNNOnnxRefusal **items, size_t *count, size_t *room)
{
	struct onnx_import *import = node->import;
	const char *domain = node->proto && node->proto->domain ? node->proto->domain : "";
	const char *operator= node->proto ? node->proto->op_type : "";
	char *name = onnx_arena_printf(import->arena, "%s%s%s",
				       strcmp(domain, "ai.onnx") ? domain : "",
				       *domain && strcmp(domain, "ai.onnx") ? "." : "",
				       operator ? operator : "");
	char *copy = onnx_arena_printf(import->arena, "%s", attribute);

	if (!reason || !name || !copy)
		return onnx_fail(node);
	if (*count == MAX_REFUSALS)
		return -1;
	if (*count == *room) {
		size_t wider = *room ? *room * 2 : 16;
		WNNOnnxRefusal *more = onnx_node_alloc(node, wider * sizeof(*more));

		if (!more)
			return -1;
		if (*count)
			memcpy(more, *items, *count * sizeof(*more));
		*items = more;
		*room = wider;
	}
	(*items)[(*count)++] = (WNNOnnxRefusal){
		.node = view(node->name),
		.operatorName = view(name),
		.attribute = view(copy),
		.reason = view(reason),
		.input = view(origin),
	};
	return -1;
}

static int add_refusal(struct onnx_node *node, const char *attribute, const char *origin,
		       const char *reason)
{
	struct onnx_model *model = node->import->model;

	return add_item(node, attribute, origin, reason, &model->refusals, &model->refusal_count,
			&node->import->refusal_room);
}

void onnx_notice(struct onnx_node *node, const char *input, const char *text)
{
	struct onnx_model *model = node->import->model;

	add_item(node, "", input, text, &model->notices, &model->notice_count, &model->notice_room);
}

int onnx_refuse(struct onnx_node *node, const char *attribute, const char *format, ...)
{
	char reason[600];
	va_list args;

	va_start(args, format);
	vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	import_printable(reason);
	return add_refusal(node, attribute, NULL,
			   onnx_arena_printf(node->import->arena, "%s", reason));
}

const char *onnx_inputs_text(struct onnx_node *node)
{
	struct onnx_arena *arena = node->import->arena;
	const char *text = "none";

	for (size_t i = 0; text && i < node->input_count; i++) {
		const struct onnx_value *value = node->inputs[i];
		const char *shape =
			value && !value->sequence ? onnx_shape_text(arena, &value->shape) : "none";

		text = i ? onnx_arena_printf(arena, "%s%s%s", text,
					     i + 1 < node->input_count ? ", " : " and ", shape) :
			   shape;
	}
	return text ? text : "";
}

int onnx_too_big(struct onnx_node *node, const char *attribute, const struct onnx_shape *shape)
{
	return onnx_refuse(node, attribute,
			   "the result %s has more than the %d elements that are allowed",
			   onnx_shape_text(node->import->arena, shape), INT32_MAX);
}

int onnx_refuse_variable(struct onnx_node *node, size_t input, const char *what)
{
	const struct onnx_value *value = node->inputs[input];
	/* The value of an input helps only if the nodes after it are computed at import, too. */
	const char *origin = value && value->folds ? value->origin : NULL;

	if (value && value->computed)
		onnx_note_varying(node, input);
	if (!onnx_note_needed(node, input))
		return onnx_fail(node);
	return add_refusal(node, what, origin,
			   onnx_arena_printf(node->import->arena,
					     "%s must be a constant, and here it is computed%s%s%s",
					     what, value && value->origin ? " from input \"" : "",
					     value && value->origin ? value->origin : "",
					     value && value->origin ? "\"" : ""));
}

int onnx_refuse_choice(struct onnx_node *node, size_t input, const char *format, ...)
{
	const struct onnx_value *value = node->inputs[input];
	const char *name = value && value->origin ? value->origin : "";
	/* The value of an input helps only if the nodes after it are computed at import, too. */
	const char *origin = value && value->folds ? value->origin : NULL;
	char reason[400];
	va_list args;

	va_start(args, format);
	vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	import_printable(reason);
	return add_refusal(
		node, "", origin,
		onnx_arena_printf(node->import->arena,
				  "%s depends on data that is computed%s%s%s: a graph has "
				  "fixed shapes",
				  reason, *name ? " from input \"" : "", name, *name ? "\"" : ""));
}

static const Onnx__AttributeProto *find_attr(Onnx__AttributeProto *const *list, size_t count,
					     const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (list[i]->name && !strcmp(list[i]->name, name))
			return list[i];
	return NULL;
}

static bool refers(const Onnx__AttributeProto *attr)
{
	return attr && attr->ref_attr_name && *attr->ref_attr_name;
}

/*
 * Returns an attribute, or NULL. An attribute in the body of a function may refer to an attribute
 * of the call; when the call lacks it, this returns the function's default.
 */
const Onnx__AttributeProto *onnx_attr(struct onnx_node *node, const char *name)
{
	const struct onnx_scope *scope = node->scope;
	const Onnx__NodeProto *proto = node->proto;
	const Onnx__AttributeProto *attr = find_attr(proto->attribute, proto->n_attribute, name);

	while (refers(attr)) {
		const char *of_call = attr->ref_attr_name;
		const Onnx__FunctionProto *function;

		while (scope && !scope->function)
			scope = scope->outer;
		if (!scope)
			return NULL;
		function = scope->function;
		proto = scope->caller->proto;
		scope = scope->caller->scope;
		attr = find_attr(proto->attribute, proto->n_attribute, of_call);
		if (!attr)
			attr = find_attr(function->attribute_proto, function->n_attribute_proto,
					 of_call);
	}
	return attr;
}

int64_t onnx_attr_int(struct onnx_node *node, const char *name, int64_t fallback)
{
	const Onnx__AttributeProto *attr = onnx_attr(node, name);

	return attr && attr->has_i ? attr->i : fallback;
}

double onnx_attr_float(struct onnx_node *node, const char *name, double fallback)
{
	const Onnx__AttributeProto *attr = onnx_attr(node, name);

	return attr && attr->has_f ? (double)attr->f : fallback;
}

const char *onnx_attr_string(struct onnx_node *node, const char *name, const char *fallback)
{
	const Onnx__AttributeProto *attr = onnx_attr(node, name);
	char *text;

	if (!attr || !attr->has_s)
		return fallback;
	text = onnx_node_alloc(node, attr->s.len + 1);
	if (!text)
		return fallback;
	if (attr->s.len)
		memcpy(text, attr->s.data, attr->s.len);
	return text;
}

int onnx_attr_only(struct onnx_node *node, const char *name, int64_t only)
{
	int64_t given = onnx_attr_int(node, name, only);

	if (given == only)
		return 0;
	return onnx_refuse(node, name, "%s is %lld: only %lld is allowed", name, (long long)given,
			   (long long)only);
}

int onnx_attr_choice(struct onnx_node *node, const char *name, const char *fallback,
		     const char *const *names, int count)
{
	const char *given = onnx_attr_string(node, name, fallback), *allowed = NULL;

	for (int i = 0; i < count; i++)
		if (names[i] && !strcmp(given, names[i]))
			return i;
	for (int i = 0; i < count; i++)
		if (names[i])
			allowed = onnx_arena_printf(node->import->arena, "%s%s%s",
						    allowed ? allowed : "", allowed ? ", " : "",
						    names[i]);
	return onnx_refuse(node, name, "%s is \"%s\": allowed are %s", name, given,
			   allowed ? allowed : "");
}

const int64_t *onnx_attr_ints(struct onnx_node *node, const char *name, size_t *count)
{
	const Onnx__AttributeProto *attr = onnx_attr(node, name);

	*count = attr ? attr->n_ints : 0;
	return attr ? attr->ints : NULL;
}

bool onnx_has(struct onnx_node *node, size_t input)
{
	return input < node->input_count && node->inputs[input];
}

bool onnx_is_empty(struct onnx_node *node, size_t input)
{
	return onnx_has(node, input) && !node->inputs[input]->sequence &&
	       !onnx_shape_elements(&node->inputs[input]->shape);
}

/* Returns the tensor of a required input; NULL: it is missing, and the node is refused. */
static struct onnx_value *tensor(struct onnx_node *node, size_t input)
{
	if (!onnx_has(node, input)) {
		onnx_refuse(node, "", "input %zu is missing", input);
		return NULL;
	}
	if (node->inputs[input]->absent) {
		onnx_refuse(node, "", "input %zu is an optional value that is not there", input);
		return NULL;
	}
	if (node->inputs[input]->sequence) {
		onnx_refuse(node, "", "input %zu is a sequence instead of a tensor", input);
		return NULL;
	}
	return node->inputs[input];
}

/*
 * Releases a constant in a file, after the graph has packed it or is released: the pages of the
 * file are no longer needed.
 */
static void put_file(const void *data, size_t size, void *file, void *unused)
{
	(void)unused;
	onnx_file_forget(file, data, size);
	onnx_file_put(file);
}

/*
 * Adds a graph input for random numbers when a value is first used, so that unused numbers are not
 * drawn, and returns its operand; NULL: refused, or no memory.
 */
static WNNOperand drawn_input(struct onnx_node *node, const struct onnx_value *value)
{
	WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
	struct onnx_model *model = node->import->model;
	struct onnx_random *random = onnx_node_alloc(node, sizeof(*random));
	uint32_t shape[ONNX_MAX_RANK];

	if (!random)
		return NULL;
	*random = (struct onnx_random){
		.name = onnx_arena_printf(node->import->arena, "random/%zu", model->random_count),
		.number = model->random_count,
		.draw = *value->draw,
		.type = (int)onnx_type_of(onnx_type_webnn(value->type)),
		.own_type = value->type,
		.shape = value->shape,
		.next = model->random,
	};
	if (!random->name) {
		onnx_fail(node);
		return NULL;
	}
	model->random = random;
	model->random_count++;
	for (uint32_t i = 0; i < value->shape.rank; i++)
		shape[i] = (uint32_t)value->shape.dim[i];
	descriptor.dataType = onnx_type_webnn(value->type);
	descriptor.shape = value->shape.rank ? (WNNUint32Array){ value->shape.rank, shape } :
					       WNN_UINT32_EMPTY;
	return wnnGraphBuilderInput(node->b, WNN_STR(random->name), &descriptor);
}

WNNOperand onnx_operand(struct onnx_node *node, struct onnx_value *value)
{
	WNNBorrowedConstant loan = WNN_BORROWED_CONSTANT_INIT;
	WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
	uint32_t shape[ONNX_MAX_RANK];
	int64_t elements = onnx_shape_elements(&value->shape);

	if (value->operand)
		return value->operand;
	if (value->draw) {
		value->operand = drawn_input(node, value);
		return value->operand;
	}
	if (value->computed) {
		value->operand = onnx_computed_input(node, value);
		return value->operand;
	}
	if (onnx_type_is_carried(value->type)) {
		struct onnx_value *carrier = onnx_carrier(node, value);

		value->operand = carrier ? onnx_operand(node, carrier) : NULL;
		return value->operand;
	}
	descriptor.dataType = onnx_type_webnn(value->type);
	if (descriptor.dataType == WNNOperandDataType_Undefined) {
		onnx_refuse(node, "", "WebNN has no type for %s",
			    onnx_type_text(node->import->arena, value->type));
		return NULL;
	}
	/* An input of the model without elements is a constant here, too. */
	if (!elements) {
		onnx_refuse(node, "", "an input of shape %s has no elements: at least 1 is needed",
			    onnx_shape_text(node->import->arena, &value->shape));
		return NULL;
	}
	if (elements < 0 || elements > INT32_MAX) {
		onnx_refuse(node, "",
			    "a constant of shape %s has more than the %d elements that are allowed",
			    onnx_shape_text(node->import->arena, &value->shape), INT32_MAX);
		return NULL;
	}
	for (uint32_t i = 0; i < value->shape.rank; i++)
		shape[i] = (uint32_t)value->shape.dim[i];
	descriptor.shape = value->shape.rank ? (WNNUint32Array){ value->shape.rank, shape } :
					       WNN_UINT32_EMPTY;
	if (value->file) {
		loan.releaseCallback = put_file;
		loan.userdata1 = value->file;
		descriptor.nextInChain = &loan.chain;
		onnx_file_get(value->file);
	}
	value->operand = wnnGraphBuilderConstant(node->b, &descriptor, value->data,
						 onnx_data_size(value->type, elements));
	return value->operand;
}

WNNOperand onnx_in(struct onnx_node *node, size_t input)
{
	struct onnx_value *value = tensor(node, input);

	return value ? onnx_operand(node, value) : NULL;
}

const struct onnx_shape *onnx_in_shape(struct onnx_node *node, size_t input)
{
	static const struct onnx_shape scalar;

	return onnx_has(node, input) ? &node->inputs[input]->shape : &scalar;
}

int onnx_in_type(struct onnx_node *node, size_t input)
{
	return onnx_has(node, input) ? node->inputs[input]->type : 0;
}

/* Returns a constant input whose elements are read; NULL: refused. */
static struct onnx_value *constant(struct onnx_node *node, size_t input, const char *what)
{
	struct onnx_value *value = tensor(node, input);

	if (input < 64)
		node->read |= UINT64_C(1) << input;
	if (!value || value->data)
		return value;
	onnx_refuse_variable(node, input, what);
	return NULL;
}

int onnx_in_ints(struct onnx_node *node, size_t input, const char *what, const int64_t **ints,
		 size_t *count)
{
	struct onnx_value *value;
	int64_t elements, *copy;

	*ints = NULL;
	*count = 0;
	if (!onnx_has(node, input))
		return 0;
	value = constant(node, input, what);
	if (!value)
		return -1;
	elements = onnx_shape_elements(&value->shape);
	if (elements < 0 || elements > MAX_CONSTANT)
		return onnx_refuse(node, what, "%s has too many elements: %s, at most %lld", what,
				   onnx_shape_text(node->import->arena, &value->shape),
				   (long long)MAX_CONSTANT);
	copy = onnx_node_alloc(node, (size_t)elements * sizeof(*copy) + 1);
	if (!copy)
		return -1;
	for (int64_t i = 0; i < elements; i++)
		copy[i] = onnx_value_int(value, (size_t)i);
	*ints = copy;
	*count = (size_t)elements;
	return 0;
}

int onnx_in_float(struct onnx_node *node, size_t input, const char *what, double *number)
{
	struct onnx_value *value;

	if (!onnx_has(node, input))
		return 0;
	value = constant(node, input, what);
	if (!value)
		return -1;
	if (onnx_shape_elements(&value->shape) != 1)
		return onnx_refuse(node, what, "%s must have one element", what);
	*number = onnx_value_float(value, 0);
	return 0;
}

int onnx_in_floats(struct onnx_node *node, size_t input, const char *what, const double **numbers,
		   size_t *count)
{
	struct onnx_value *value;
	int64_t elements;
	double *copy;

	*numbers = NULL;
	*count = 0;
	if (!onnx_has(node, input))
		return 0;
	value = constant(node, input, what);
	if (!value)
		return -1;
	elements = onnx_shape_elements(&value->shape);
	if (elements < 0 || elements > MAX_CONSTANT)
		return onnx_refuse(node, what, "%s has too many elements: %s, at most %lld", what,
				   onnx_shape_text(node->import->arena, &value->shape),
				   (long long)MAX_CONSTANT);
	copy = onnx_node_alloc(node, (size_t)elements * sizeof(*copy) + 1);
	if (!copy)
		return -1;
	for (int64_t i = 0; i < elements; i++)
		copy[i] = onnx_value_float(value, (size_t)i);
	*numbers = copy;
	*count = (size_t)elements;
	return 0;
}

bool onnx_wants(struct onnx_node *node, size_t output)
{
	return output < node->output_count &&
	       onnx_uses_has(&node->import->uses, node->proto->output[output]);
}

/*
 * Returns the origin for the node's results: that of its first input that is no constant and has an
 * origin. NULL: there is none.
 */
static const char *origin(const struct onnx_node *node)
{
	for (size_t i = 0; i < node->input_count; i++)
		if (node->inputs[i] && !node->inputs[i]->data && node->inputs[i]->origin)
			return node->inputs[i]->origin;
	return NULL;
}

struct onnx_value *onnx_new_value(struct onnx_node *node)
{
	struct onnx_value *value = onnx_node_alloc(node, sizeof(*value));

	if (value)
		value->origin = origin(node);
	return value;
}

struct onnx_value *onnx_value_of(struct onnx_node *node, WNNOperand operand, int type)
{
	WNNError error = WNN_ERROR_INIT;
	struct onnx_value *value;

	if (!operand) {
		size_t refused = node->import->model->refusal_count;

		/*
		 * When a composition has refused the node already, the builder's error would only
		 * repeat it.
		 */
		if (refused && node->import->model->refusals[refused - 1].node.data == node->name)
			return NULL;
		if (wnnGraphBuilderGetLastError(node->b, &error) == WNNStatus_UnknownError)
			node->import->status = onnx_error(WNNStatus_UnknownError, "%.*s",
							  (int)error.message.length,
							  error.message.data);
		else
			onnx_refuse(node, "", "%.*s", (int)error.message.length,
				    error.message.data ? error.message.data : "");
		return NULL;
	}
	value = onnx_new_value(node);
	if (!value)
		return NULL;
	value->type = type ? type : (int)onnx_type_of(wnnOperandGetDataType(operand));
	value->shape = x_shape(operand);
	value->operand = operand;
	return value;
}

int onnx_out_as(struct onnx_node *node, size_t output, WNNOperand operand, int type)
{
	struct onnx_value *value = onnx_value_of(node, operand, type);

	return value ? onnx_out_value(node, output, value) : -1;
}

int onnx_out(struct onnx_node *node, size_t output, WNNOperand operand)
{
	return onnx_out_as(node, output, operand, 0);
}

int onnx_out_bool(struct onnx_node *node, size_t output, WNNOperand operand)
{
	return onnx_out_as(node, output, operand, ONNX_BOOL);
}

int onnx_out_value(struct onnx_node *node, size_t output, struct onnx_value *value)
{
	if (output < node->output_count)
		node->outputs[output] = value;
	return 0;
}

int onnx_work(struct onnx_node *node, uint64_t elements)
{
	if (elements > ONNX_MAX_WORK || node->import->work + elements > ONNX_MAX_WORK)
		return onnx_refuse(node, "",
				   "the constants that are computed here are too big together: "
				   "%lld elements after %lld, at most %lld",
				   (long long)elements, (long long)node->import->work,
				   (long long)ONNX_MAX_WORK);
	node->import->work += elements;
	return 0;
}

void *onnx_out_constant(struct onnx_node *node, size_t output, int type,
			const struct onnx_shape *shape)
{
	int64_t elements = onnx_shape_elements(shape);
	struct onnx_value *value;
	void *data;

	if (elements < 0 || elements > MAX_CONSTANT || !onnx_type_bits(type)) {
		onnx_refuse(
			node, "",
			"a constant of shape %s and type %s is not computed here: it has at most "
			"%lld elements of a type of numbers",
			onnx_shape_text(node->import->arena, shape),
			onnx_type_text(node->import->arena, type), (long long)MAX_CONSTANT);
		return NULL;
	}
	if (onnx_work(node, (uint64_t)elements))
		return NULL;
	value = onnx_new_value(node);
	data = onnx_node_alloc(node, onnx_data_size(type, elements) + 1);
	if (!value || !data)
		return NULL;
	value->type = type;
	value->shape = *shape;
	value->data = data;
	onnx_out_value(node, output, value);
	return data;
}

int onnx_axis(struct onnx_node *node, const char *attribute, int64_t axis, uint32_t rank,
	      uint32_t *out)
{
	if (axis < -(int64_t)rank || axis >= (int64_t)rank)
		return onnx_refuse(node, attribute, "%s is %lld, and the input has %u dimensions",
				   attribute, (long long)axis, rank);
	*out = (uint32_t)(axis < 0 ? axis + rank : axis);
	return 0;
}

int onnx_unroll(struct onnx_node *node, uint64_t operators)
{
	if (operators > MAX_UNROLLED || node->import->operators + operators > MAX_UNROLLED)
		return onnx_refuse(node, "", "it would become more than %d operators",
				   MAX_UNROLLED);
	node->import->operators += operators;
	return 0;
}
