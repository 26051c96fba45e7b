// SPDX-License-Identifier: MIT
/*
 * Records graphs as calls of a builder. The operator table has the offsets at which options are
 * stored in their structures.
 */
#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "graph/operand.h"

static struct graph_attr *find(const struct wnn_attribute *table, uint32_t count,
			       struct graph_attr *attrs, const char *name)
{
	for (uint32_t i = 0; i < count; i++)
		if (!strcmp(table[i].name, name))
			return &attrs[i];
	fprintf(stderr, "graph-fuzz: the operator table has no '%s' where one was expected\n",
		name);
	abort();
}

struct graph_attr *graph_argument(struct graph_node *node, const char *name)
{
	const struct wnn_op_info *info = &wnn_op_info[node->op];

	return find(info->arguments, info->argument_count, node->arguments, name);
}

struct graph_attr *graph_option(struct graph_node *node, const char *name)
{
	const struct wnn_options_info *info = wnn_op_info[node->op].options;

	return find(info->members, info->member_count, node->options, name);
}

uint32_t graph_main_operand(enum wnn_op op)
{
	return op == WNN_OP_WHERE ? 1 : 0;
}

static void set_field(const struct wnn_attribute *row, const struct graph_attr *attr, char *base)
{
	WNNUint32Array words = { attr->count, attr->word };
	WNNFloatArray reals = { attr->count, attr->real };
	void *field = base + row->offset;

	switch (row->kind) {
	case WNN_ATTRIBUTE_U32:
	case WNN_ATTRIBUTE_I32:
	case WNN_ATTRIBUTE_BOOL:
	case WNN_ATTRIBUTE_ENUM:
		memcpy(field, attr->word, sizeof(uint32_t));
		break;
	case WNN_ATTRIBUTE_F64:
		memcpy(field, &attr->f64, sizeof(attr->f64));
		break;
	case WNN_ATTRIBUTE_NUMBER:
		memcpy(field, &attr->number, sizeof(attr->number));
		break;
	case WNN_ATTRIBUTE_U32_ARRAY:
	case WNN_ATTRIBUTE_ENUM_ARRAY: /* enumerations have the same size */
		memcpy(field, &words, sizeof(words));
		break;
	case WNN_ATTRIBUTE_F32_ARRAY:
		memcpy(field, &reals, sizeof(reals));
		break;
	case WNN_ATTRIBUTE_STRING:
	case WNN_ATTRIBUTE_OPERAND: /* recorded with the operands */
		break;
	}
}

void graph_call_make(struct graph_call *out, const struct graph_node *node,
		     const WNNOperand *values)
{
	const struct wnn_op_info *info = &wnn_op_info[node->op];

	memset(out, 0, sizeof(*out));
	memcpy(out->options, info->options->defaults, info->options->size);
	out->label = WNN_STRING_VIEW_INIT;
	out->call = (struct wnn_op_call){
		.op = node->op,
		.overload = node->equal_split,
		.operands = out->operands,
		.operand_count = node->num_operands,
		.options = out->options,
		.label = &out->label,
	};
	out->call.arguments.split_count = node->num_results;
	for (uint32_t i = 0; i < node->num_operands; i++)
		out->operands[i] = node->operands[i] < 0 ? NULL : values[node->operands[i]];
	for (uint32_t i = 0; i < info->argument_count; i++)
		if (node->arguments[i].set)
			set_field(&info->arguments[i], &node->arguments[i],
				  (char *)&out->call.arguments);
	for (uint32_t i = 0; i < info->options->member_count; i++)
		if (node->options[i].set)
			set_field(&info->options->members[i], &node->options[i], out->options);
}

struct wnn_builder *graph_scratch_builder(void)
{
	struct wnn_builder_config config = { .limits = { .ir_ops = UINT64_MAX, .four_bit = true } };
	struct wnn_error err;

	return wnn_builder_create(&config, &err);
}

WNNOperand graph_scratch_leaf(struct wnn_builder *builder, const struct graph_value *value, int id,
			      const void *data)
{
	WNNOperandDescriptor desc = WNN_OPERAND_DESCRIPTOR_INIT;
	WNNOperand operand = NULL;
	struct wnn_error err;
	char name[16];

	desc.dataType = value->type;
	desc.shape = (WNNUint32Array){ value->rank, value->dims };
	snprintf(name, sizeof(name), "v%d", id);
	if (value->kind == GRAPH_CONSTANT)
		wnn_builder_constant(builder, &desc, data, graph_bytes(value), NULL, NULL, &operand,
				     &err);
	else
		wnn_builder_input(builder, WNN_STR(name), &desc, NULL, &operand, &err);
	return operand;
}

int graph_scratch_node(struct wnn_builder *builder, struct graph *graph, struct graph_node *node,
		       WNNOperand *values, struct wnn_error *err)
{
	WNNOperand outputs[GRAPH_MAX_RESULTS] = { NULL };
	struct graph_call call;

	graph_call_make(&call, node, values);
	if (wnn_builder_record_op(builder, &call.call, node->num_results, outputs, err))
		return -1;
	for (uint32_t i = 0; i < node->num_results; i++) {
		struct graph_value *value = &graph->values[node->results[i]];

		values[node->results[i]] = outputs[i];
		value->kind = GRAPH_RESULT;
		value->type = outputs[i]->data_type;
		value->rank = outputs[i]->rank;
		memcpy(value->dims, outputs[i]->shape, sizeof(value->dims));
	}
	return 0;
}

/*
 * Records the whole graph. @with_data: constants get their elements; otherwise they become inputs.
 * Sets @values to the graph's operands. Returns the builder; NULL, with an error in @err, if a
 * value or a call is refused.
 */
static struct wnn_builder *record_all(struct graph *graph, bool with_data, WNNOperand *values,
				      struct wnn_error *err)
{
	struct wnn_builder *builder = graph_scratch_builder();

	for (uint32_t v = 0; builder && v < graph->num_values; v++) {
		struct graph_value value = graph->values[v];
		void *data = NULL;

		if (value.kind == GRAPH_RESULT)
			continue;
		if (!with_data)
			value.kind = GRAPH_INPUT;
		if (value.kind == GRAPH_CONSTANT)
			data = graph_data(&value);
		values[v] = graph_scratch_leaf(builder, &value, (int)v, data);
		free(data);
		if (!values[v]) {
			wnn_error_set(err, WNN_TYPE_ERROR, "value %u is refused", (unsigned int)v);
			goto fail;
		}
	}
	for (uint32_t n = 0; builder && n < graph->num_nodes; n++)
		if (graph_scratch_node(builder, graph, &graph->nodes[n], values, err))
			goto fail;
	return builder;
fail:
	wnn_builder_destroy(builder);
	return NULL;
}

int graph_infer(struct graph *graph, struct wnn_error *err)
{
	WNNOperand values[GRAPH_MAX_VALUES] = { NULL };
	struct wnn_builder *builder = record_all(graph, false, values, err);

	if (!builder)
		return -1;
	wnn_builder_destroy(builder);
	return 0;
}

struct wnn_recording *graph_recording(const struct graph *graph, struct wnn_error *err)
{
	WNNOperand values[GRAPH_MAX_VALUES] = { NULL };
	WNNNamedOperand outputs[GRAPH_MAX_VALUES];
	struct wnn_recording *recording = NULL;
	struct wnn_builder *builder;
	struct graph *copy = malloc(sizeof(*copy));
	char names[GRAPH_MAX_VALUES][16];
	size_t count = 0;

	if (!copy)
		return NULL;
	*copy = *graph;
	builder = record_all(copy, true, values, err);
	for (uint32_t v = 0; builder && v < copy->num_values; v++) {
		if (!copy->values[v].output)
			continue;
		snprintf(names[count], sizeof(names[count]), "o%u", (unsigned int)v);
		outputs[count] = (WNNNamedOperand){ WNN_STR(names[count]), values[v] };
		count++;
	}
	if (builder)
		wnn_builder_build(builder, count, outputs, &recording, err);
	wnn_builder_destroy(builder);
	free(copy);
	return recording;
}
