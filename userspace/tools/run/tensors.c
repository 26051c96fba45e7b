// SPDX-License-Identifier: MIT
/* webnn-run: indexes the tensors of a model's main graph by name. */
#include "tensors.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct tensor *)a)->name, ((const struct tensor *)b)->name);
}

static void add(struct tensors *tensors, struct tensor tensor)
{
	if (tensor.name && *tensor.name)
		tensors->items[tensors->count++] = tensor;
}

/* Merges entries of one name into one with all their members; an info with a type is preferred. */
static void merge(struct tensors *tensors)
{
	size_t count = 0;

	if (tensors->count)
		qsort(tensors->items, tensors->count, sizeof(*tensors->items), compare);
	for (size_t i = 0; i < tensors->count; i++) {
		const struct tensor *from = &tensors->items[i];
		struct tensor *to = count ? &tensors->items[count - 1] : NULL;

		if (!to || strcmp(to->name, from->name)) {
			tensors->items[count++] = *from;
			continue;
		}
		if (from->node != NO_NODE)
			to->node = from->node;
		if (from->initializer)
			to->initializer = from->initializer;
		if (from->sparse)
			to->sparse = from->sparse;
		if (from->info && (!to->info || !to->info->type))
			to->info = from->info;
		to->is_input |= from->is_input;
	}
	tensors->count = count;
}

int tensors_init(struct tensors *tensors, const Onnx__GraphProto *graph)
{
	size_t room = graph->n_input + graph->n_output + graph->n_value_info +
		      graph->n_initializer + graph->n_sparse_initializer;

	for (size_t i = 0; i < graph->n_node; i++)
		room += graph->node[i]->n_output;
	*tensors = (struct tensors){ .graph = graph };
	tensors->items = calloc(room + 1, sizeof(*tensors->items));
	if (!tensors->items)
		return -1;
	for (size_t i = 0; i < graph->n_node; i++)
		for (size_t k = 0; k < graph->node[i]->n_output; k++)
			add(tensors,
			    (struct tensor){ .name = graph->node[i]->output[k], .node = i });
	for (size_t i = 0; i < graph->n_initializer; i++)
		add(tensors, (struct tensor){ .name = graph->initializer[i]->name,
					      .node = NO_NODE,
					      .initializer = graph->initializer[i] });
	for (size_t i = 0; i < graph->n_sparse_initializer; i++)
		if (graph->sparse_initializer[i]->values)
			add(tensors,
			    (struct tensor){ .name = graph->sparse_initializer[i]->values->name,
					     .node = NO_NODE,
					     .sparse = graph->sparse_initializer[i] });
	for (size_t i = 0; i < graph->n_input; i++)
		add(tensors, (struct tensor){ .name = graph->input[i]->name,
					      .node = NO_NODE,
					      .info = graph->input[i],
					      .is_input = true });
	for (size_t i = 0; i < graph->n_output; i++)
		add(tensors, (struct tensor){ .name = graph->output[i]->name,
					      .node = NO_NODE,
					      .info = graph->output[i] });
	for (size_t i = 0; i < graph->n_value_info; i++)
		add(tensors, (struct tensor){ .name = graph->value_info[i]->name,
					      .node = NO_NODE,
					      .info = graph->value_info[i] });
	merge(tensors);
	return 0;
}

void tensors_exit(struct tensors *tensors)
{
	free(tensors->items);
	*tensors = (struct tensors){ 0 };
}

struct tensor *tensors_find(const struct tensors *tensors, const char *name)
{
	const struct tensor key = { .name = name ? name : "" };

	if (!tensors->count)
		return NULL;
	return bsearch(&key, tensors->items, tensors->count, sizeof(key), compare);
}

/* ---- names like another one */

#define MOST_LENGTH 120

/*
 * Returns the edit distance: how many bytes must be inserted, removed or changed; SIZE_MAX: @b has
 * more than MOST_LENGTH bytes.
 */
static size_t distance(const char *a, const char *b)
{
	size_t row[MOST_LENGTH + 1], length = strlen(b);

	if (length > MOST_LENGTH)
		return SIZE_MAX;
	for (size_t k = 0; k <= length; k++)
		row[k] = k;
	for (size_t i = 0; a[i]; i++) {
		size_t before = row[0]++;

		for (size_t k = 0; k < length; k++) {
			size_t changed = before + (a[i] != b[k]);

			before = row[k + 1];
			row[k + 1] = before + 1 < changed ? before + 1 : changed;
			if (row[k] + 1 < row[k + 1])
				row[k + 1] = row[k] + 1;
		}
	}
	return row[length];
}

/*
 * Writes the names most like @name to @text, at most three: those at a small edit distance and, if
 * @name has three or more characters, those that contain it.
 */
void tensors_similar(const struct tensors *tensors, const char *name, char *text, size_t room)
{
	size_t least[3] = { SIZE_MAX, SIZE_MAX, SIZE_MAX }, used = 0, length = strlen(name);
	const char *best[3] = { 0 };

	for (size_t i = 0; i < tensors->count && length <= MOST_LENGTH; i++) {
		const char *other = tensors->items[i].name;
		size_t apart = distance(name, other), at = 3;

		if (apart > length / 3 + 1 && length >= 3 && strstr(other, name))
			apart = length / 3 + 1;
		if (apart > length / 3 + 1)
			continue;
		for (; at && apart < least[at - 1]; at--)
			if (at < 3) {
				least[at] = least[at - 1];
				best[at] = best[at - 1];
			}
		if (at < 3) {
			least[at] = apart;
			best[at] = other;
		}
	}
	snprintf(text, room, best[0] ? "; similar are " : "; info lists inputs and outputs");
	used = strlen(text);
	for (int i = 0; i < 3 && best[i] && used < room; i++)
		used += (size_t)snprintf(text + used, room - used, "%s\"%s\"", i ? ", " : "",
					 best[i]);
}

/* ---- types */

/* Operators whose outputs may have another type than their first input. */
static const struct {
	const char *operator;
	int output; /* index of the output; -1: all */
	int type;   /* element type; 0: that of an input */
	size_t input;
} rules[] = {
#define FIXED(operator, output, name) { operator, output, ONNX__TENSOR_PROTO__DATA_TYPE__##name, 0 }
#define AS_INPUT(operator, input)     { operator, - 1, 0, input }
	FIXED("And", -1, BOOL),
	FIXED("ArgMax", -1, INT64),
	FIXED("ArgMin", -1, INT64),
	AS_INPUT("CastLike", 1),
	FIXED("ConvInteger", -1, INT32),
	AS_INPUT("DequantizeLinear", 1),
	FIXED("Dropout", 1, BOOL),
	FIXED("DynamicQuantizeLinear", 1, FLOAT),
	FIXED("DynamicQuantizeLinear", -1, UINT8),
	FIXED("Equal", -1, BOOL),
	FIXED("Greater", -1, BOOL),
	FIXED("GreaterOrEqual", -1, BOOL),
	FIXED("IsInf", -1, BOOL),
	FIXED("IsNaN", -1, BOOL),
	FIXED("Less", -1, BOOL),
	FIXED("LessOrEqual", -1, BOOL),
	FIXED("MatMulInteger", -1, INT32),
	FIXED("MaxPool", 1, INT64),
	FIXED("NonMaxSuppression", -1, INT64),
	FIXED("NonZero", -1, INT64),
	FIXED("Not", -1, BOOL),
	AS_INPUT("OneHot", 2),
	FIXED("Or", -1, BOOL),
	AS_INPUT("QLinearConv", 7),
	AS_INPUT("QLinearMatMul", 7),
	FIXED("Shape", -1, INT64),
	FIXED("Size", -1, INT64),
	FIXED("TopK", 1, INT64),
	AS_INPUT("Where", 1),
	FIXED("Xor", -1, BOOL),
#undef AS_INPUT
#undef FIXED
};

/* Operators whose output type is in an attribute, or cannot be told here. */
static const char *const unknown[] = { "Bernoulli",
				       "BitCast",
				       "BlackmanWindow",
				       "EyeLike",
				       "HammingWindow",
				       "HannWindow",
				       "If",
				       "Loop",
				       "Multinomial",
				       "Optional",
				       "OptionalGetElement",
				       "OptionalHasElement",
				       "RandomNormal",
				       "RandomNormalLike",
				       "RandomUniform",
				       "RandomUniformLike",
				       "Scan",
				       "SequenceAt",
				       "SequenceConstruct",
				       "SequenceEmpty",
				       "SequenceErase",
				       "SequenceInsert",
				       "SequenceLength",
				       "SequenceMap",
				       "SplitToSequence",
				       "StringConcat",
				       "StringSplit",
				       "Unique" };

static const Onnx__AttributeProto *attribute(const Onnx__NodeProto *node, const char *name)
{
	for (size_t i = 0; i < node->n_attribute; i++)
		if (!strcmp(node->attribute[i]->name, name))
			return node->attribute[i];
	return NULL;
}

static int type_of_value(const Onnx__NodeProto *node, const char *name, int otherwise)
{
	const Onnx__AttributeProto *value = attribute(node, name);

	return value && value->t ? value->t->data_type : otherwise;
}

/*
 * Returns the type of an output; or 0 and in *follow the input that has the same type, NULL: the
 * type is not known.
 */
static int type_of_output(const Onnx__NodeProto *node, const char *name, const char **follow)
{
	const Onnx__AttributeProto *to = attribute(node, "to");
	size_t input = 0;

	*follow = NULL;
	if (node->domain && *node->domain && strcmp(node->domain, "ai.onnx") != 0)
		return 0;
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
		if (!strcmp(node->op_type, unknown[i]))
			return 0;
	if (!strcmp(node->op_type, "Cast"))
		return to ? (int)to->i : 0;
	if (!strcmp(node->op_type, "Constant"))
		return type_of_value(node, "value", 0);
	if (!strcmp(node->op_type, "ConstantOfShape"))
		return type_of_value(node, "value", ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT);
	if (!strcmp(node->op_type, "QuantizeLinear")) {
		if (attribute(node, "output_dtype"))
			return (int)attribute(node, "output_dtype")->i;
		if (node->n_input < 3)
			return ONNX__TENSOR_PROTO__DATA_TYPE__UINT8;
		input = 2;
	}
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		if (strcmp(node->op_type, rules[i].operator) != 0)
			continue;
		if (rules[i].output >= 0 && ((size_t)rules[i].output >= node->n_output ||
					     strcmp(node->output[rules[i].output], name) != 0))
			continue;
		if (rules[i].type)
			return rules[i].type;
		input = rules[i].input;
		break;
	}
	*follow = input < node->n_input ? node->input[input] : NULL;
	return 0;
}

int tensors_type(const struct tensors *tensors, const char *name)
{
	const Onnx__GraphProto *graph = tensors->graph;

	/* The loop is bounded, because a damaged graph may have a cycle. */
	for (size_t i = 0; name && *name && i <= graph->n_node; i++) {
		const struct tensor *tensor = tensors_find(tensors, name);
		int type;

		if (!tensor)
			return 0;
		if (tensor->info && tensor->info->type &&
		    tensor->info->type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
			return tensor->info->type->tensor_type->elem_type;
		if (tensor->initializer)
			return tensor->initializer->data_type;
		if (tensor->sparse)
			return tensor->sparse->values->data_type;
		if (tensor->node == NO_NODE)
			return 0;
		type = type_of_output(graph->node[tensor->node], name, &name);
		if (type)
			return type;
	}
	return 0;
}
