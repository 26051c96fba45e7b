// SPDX-License-Identifier: MIT
/* Builds a new graph from an old one, and records the fate of each old node; every pass uses it. */
#include "pass/rewrite.h"

#include <stdio.h>
#include <string.h>

#include "util/float16.h"
#include "util/malloc.h"

/*
 * The most characters of the name of a node that does the work of several; a longer name ends with
 * CUT.
 */
#define MAX_SOURCE 256
#define CUT	   "+..."

int rewrite_nomem(const struct rewrite *rw)
{
	return wnn_error_nomem(rw->err, "the passes over a graph");
}

int rewrite_begin(struct rewrite *rw, const struct ir_graph *from, struct wnn_error *err)
{
	memset(rw, 0, sizeof(*rw));
	rw->from = from;
	rw->err = err;
	rw->to = ir_graph_create();
	rw->value = wnn_calloc(from->num_values + 1, sizeof(*rw->value));
	rw->fate = wnn_calloc(from->num_nodes + 1, sizeof(*rw->fate));
	rw->rule = wnn_calloc(from->num_nodes + 1, sizeof(*rw->rule));
	rw->uses = ir_count_uses(from);
	rw->is_output = wnn_calloc(from->num_values + 1, sizeof(*rw->is_output));
	if (!rw->to || !rw->value || !rw->fate || !rw->rule || !rw->uses || !rw->is_output)
		return rewrite_nomem(rw);
	for (uint32_t n = 0; n < from->num_nodes; n++)
		rw->fate[n] = (struct rewrite_fate){ WNN_FATE_UNUSED, UINT32_MAX };
	for (uint32_t i = 0; i < from->num_outputs; i++)
		rw->is_output[from->outputs[i].value->id] = true;
	for (uint32_t i = 0; i < from->num_values; i++) {
		const struct ir_value *value = from->values[i];

		/*
		 * Inputs stay even if they are not used: the application built the graph with them.
		 */
		if (value->kind == IR_VALUE_RESULT ||
		    (value->kind == IR_VALUE_CONSTANT && !rw->uses[i]))
			continue;
		rw->value[i] = ir_copy_leaf(rw->to, value);
		if (!rw->value[i])
			return rewrite_nomem(rw);
	}
	return 0;
}

int rewrite_end(struct rewrite *rw)
{
	for (uint32_t i = 0; i < rw->from->num_outputs; i++) {
		const struct ir_output *output = &rw->from->outputs[i];

		if (ir_add_output(rw->to, output->name, rw->value[output->value->id],
				  output->updates ? rw->value[output->updates->id] : NULL))
			return rewrite_nomem(rw);
	}
	return 0;
}

void rewrite_destroy(struct rewrite *rw)
{
	ir_graph_destroy(rw->to);
	wnn_free(rw->value);
	wnn_free(rw->fate);
	wnn_free(rw->rule);
	wnn_free(rw->uses);
	wnn_free(rw->is_output);
}

struct ir_value *rewrite_reshaped(struct rewrite *rw, const struct ir_value *constant,
				  const struct ir_type *type)
{
	struct ir_constant *data = ir_constant_ref(constant->constant);
	struct ir_value *value = ir_add_constant(rw->to, type, data);

	if (!value)
		ir_constant_unref(data);
	return value;
}

int rewrite_copy(struct rewrite *rw, const struct ir_node *node)
{
	struct ir_value **operands = wnn_calloc(node->num_operands + 1, sizeof(*operands));
	struct ir_type *types = wnn_calloc(node->num_results + 1, sizeof(*types));
	struct ir_node *copy = NULL;

	if (operands && types) {
		for (uint32_t i = 0; i < node->num_operands; i++)
			if (node->operands[i])
				operands[i] = rw->value[node->operands[i]->id];
		for (uint32_t i = 0; i < node->num_results; i++)
			types[i] = node->results[i]->type;
		copy = ir_add_node(rw->to, node->op, operands, node->num_operands, types,
				   node->num_results, &node->attrs, node->label, node->source);
	}
	wnn_free(operands);
	wnn_free(types);
	if (!copy)
		return rewrite_nomem(rw);
	for (uint32_t i = 0; i < node->num_results; i++)
		rw->value[node->results[i]->id] = copy->results[i];
	rw->fate[node->id] = (struct rewrite_fate){ WNN_FATE_KEPT, copy->id };
	return 0;
}

/* Returns a name such as "conv2d+relu"; NULL when out of memory. A very long name ends with CUT. */
static char *joined_source(const struct ir_node *main, const struct ir_node *other)
{
	size_t own = strlen(main->source), size = own + (other ? strlen(other->source) + 1 : 0) + 1;
	bool is_cut = own >= sizeof(CUT) - 1 &&
		      !strcmp(main->source + own - (sizeof(CUT) - 1), CUT);
	const char *next = other ? other->source : "";
	char *source = wnn_malloc(size + sizeof(CUT));

	if (!source)
		return NULL;
	if (!other || is_cut)
		memcpy(source, main->source, own + 1);
	else if (size > MAX_SOURCE)
		snprintf(source, size + sizeof(CUT), "%s" CUT, main->source);
	else
		snprintf(source, size, "%s+%s", main->source, next);
	return source;
}

struct ir_node *rewrite_add(struct rewrite *rw, enum ir_op op, struct ir_value *const *operands,
			    uint32_t num_operands, const struct ir_type *type,
			    const union ir_attrs *attrs, const struct ir_node *main,
			    const struct ir_node *other)
{
	const char *label = main->label[0] || !other ? main->label : other->label;
	char *source = joined_source(main, other);
	struct ir_node *node = NULL;

	if (source)
		node = ir_add_node(rw->to, op, operands, num_operands, type, 1, attrs, label,
				   source);
	wnn_free(source);
	if (!node)
		rewrite_nomem(rw);
	return node;
}

struct ir_node *rewrite_emit(struct rewrite *rw, enum ir_op op, struct ir_value *const *operands,
			     uint32_t num_operands, const union ir_attrs *attrs,
			     const struct ir_node *main, const struct ir_node *other)
{
	const struct ir_node *last = other ? other : main;
	struct ir_node *node = rewrite_add(rw, op, operands, num_operands, &last->results[0]->type,
					   attrs, main, other);

	if (!node)
		return NULL;
	rw->value[last->results[0]->id] = node->results[0];
	rw->fate[main->id] = (struct rewrite_fate){ WNN_FATE_KEPT, node->id };
	if (other)
		rw->fate[other->id] = (struct rewrite_fate){ WNN_FATE_FUSED, node->id };
	return node;
}

void rewrite_bypass(struct rewrite *rw, const struct ir_node *node, struct ir_value *value,
		    enum wnn_fate fate)
{
	rw->value[node->results[0]->id] = value;
	rw->fate[node->id] = (struct rewrite_fate){ fate, UINT32_MAX };
}

const struct ir_node *rewrite_sole_producer(const struct rewrite *rw, const struct ir_value *value)
{
	if (value->kind != IR_VALUE_RESULT || rw->uses[value->id] != 1 ||
	    rw->is_output[value->id] || value->def->num_results != 1)
		return NULL;
	return value->def;
}

/* Whether all elements of a constant have the same bits. */
static bool is_uniform(const struct ir_value *value)
{
	size_t bytes = (size_t)ir_type_bytes(&value->type);
	size_t one = ir_dtype_bits(value->type.dtype) / 8;
	const char *data = ir_constant_data(value->constant);

	return data && !memcmp(data, data + one, bytes - one);
}

bool rewrite_number(const struct ir_value *value, double *number)
{
	enum ir_dtype dtype = value->type.dtype;
	const void *data;

	if (value->kind != IR_VALUE_CONSTANT || (dtype != IR_F32 && dtype != IR_F16) ||
	    !is_uniform(value))
		return false;
	data = ir_constant_data(value->constant);
	*number = dtype == IR_F32 ? (double)*(const float *)data :
				    (double)wnn_half_to_float(*(const uint16_t *)data);
	return true;
}
