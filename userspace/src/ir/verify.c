// SPDX-License-Identifier: MIT
/*
 * Checks the structure of a graph: order, ids, numbers of operands, types, attributes. A failure is
 * a defect of a pass, or of a file of a saved graph, but never of the application.
 */
#include "ir/ir.h"

#include <inttypes.h>
#include <stdio.h>

#include "ir/attrs.h"
#include "ir/symbols.h"
#include "util/malloc.h"

/* The numbers of operands and results of each operator. */
static const struct {
	uint8_t required, most; /* the least and the most operands; most 0: any number */
	uint8_t results;	/* number of results; 0: any number from 1 */
} arity[] = {
#define IR_OPERATOR(id, name, required, most, results, attrs) \
	[IR_OP_##id] = { required, most, results },
#include "ir/ops.def"
#undef IR_OPERATOR
};

static int bad(struct wnn_error *err, const struct ir_node *node, const char *what)
{
	return wnn_error_set(err, WNN_OPERATION_ERROR,
			     "internal error, please report it: node %" PRIu32 " (%s): %s",
			     node->id, ir_op_name(node->op), what);
}

/*
 * Checks that a symbol exists and has this number when its name has the maximum. Returns 0 or -1.
 */
static int verify_symbol(const struct ir_graph *graph, uint32_t symbol, int64_t number)
{
	const struct ir_symbol *s = ir_symbol_of(graph, symbol);

	return s && ir_symbol_at(s, graph->names[s->name].max) == number ? 0 : -1;
}

static int verify_type(const struct ir_graph *graph, const struct ir_type *type)
{
	if (type->dtype >= IR_DTYPE_COUNT || type->rank > IR_MAX_RANK)
		return -1;
	for (uint32_t i = 0; i < type->rank; i++)
		if (ir_type_dim(type, i) < 1 ||
		    (type->dim[i].symbol &&
		     verify_symbol(graph, type->dim[i].symbol, ir_type_dim(type, i))))
			return -1;
	return 0;
}

/* Checks the attributes of a node that are known only at dispatch. Returns 0 or -1. */
static int verify_late(const struct ir_graph *graph, struct ir_node *node)
{
	for (uint32_t i = 0; i < node->num_late; i++) {
		const struct ir_late *late = &node->late[i];
		const uint32_t *number = ir_attr_number(node->op, &node->attrs,
							node->results[0]->type.rank, late->field,
							late->element);

		if (!number || verify_symbol(graph, late->symbol, *number))
			return -1;
	}
	return 0;
}

static int verify_names(const struct ir_graph *graph, struct wnn_error *err)
{
	bool sound = true;

	for (uint32_t i = 0; i < graph->num_names; i++) {
		const struct ir_name *name = &graph->names[i];

		sound &= name->name[0] && name->min >= 1 && name->min <= name->max &&
			 name->max <= INT32_MAX && ir_find_name(graph, name->name) == i;
	}
	return sound ? 0 :
		       wnn_error_set(err, WNN_OPERATION_ERROR,
				     "internal error, please report it: a name is malformed");
}

/*
 * Checks a node; defined[id] is true for the values that exist before it. Returns 0, or -1 with
 * *err.
 */
static int verify_node(const struct ir_graph *graph, struct ir_node *node, const bool *defined,
		       struct wnn_error *err)
{
	const uint32_t num_values = graph->num_values;
	const char *field, *what;

	if (node->op >= IR_OP_COUNT)
		return wnn_error_set(err, WNN_OPERATION_ERROR,
				     "internal error, please report it: node %" PRIu32
				     ": no such operator",
				     node->id);
	if (node->num_operands < arity[node->op].required ||
	    (arity[node->op].most && node->num_operands > arity[node->op].most))
		return bad(err, node, "wrong number of operands");
	if (!node->num_results ||
	    (arity[node->op].results && node->num_results != arity[node->op].results))
		return bad(err, node, "wrong number of results");
	for (uint32_t i = 0; i < node->num_operands; i++) {
		const struct ir_value *value = node->operands[i];

		if (!value && i < arity[node->op].required)
			return bad(err, node, "a required operand is missing");
		if (value && (value->id >= num_values || !defined[value->id]))
			return bad(err, node, "an operand is used before it is defined");
	}
	for (uint32_t i = 0; i < node->num_results; i++) {
		const struct ir_value *value = node->results[i];

		if (value->def != node || value->result_index != i ||
		    value->kind != IR_VALUE_RESULT)
			return bad(err, node, "a result does not point back");
		if (verify_type(graph, &value->type))
			return bad(err, node, "a result's type is invalid");
	}
	if (verify_late(graph, node))
		return bad(err, node, "a symbol among its attributes is invalid");
	what = ir_attrs_check(node, &field);
	if (what)
		return wnn_error_set(err, WNN_OPERATION_ERROR,
				     "internal error, please report it: node %" PRIu32
				     " (%s): attribute %s%s%s",
				     node->id, ir_op_name(node->op), field ? field : "",
				     field ? " " : "", what);
	return 0;
}

/*
 * Returns whether ir_specialise() can make a constant of this type smaller: for a dimension that is
 * known only at dispatch it copies elements, which must have whole bytes.
 */
static bool can_be_cut(const struct ir_type *type)
{
	for (uint32_t i = 0; i < type->rank; i++)
		if (type->dim[i].symbol && ir_dtype_bits(type->dtype) < 8)
			return false;
	return true;
}

static int verify_values(const struct ir_graph *graph, bool dropped, bool *defined,
			 struct wnn_error *err)
{
	for (uint32_t i = 0; i < graph->num_values; i++) {
		const struct ir_value *value = graph->values[i];

		if (value->id != i || verify_type(graph, &value->type))
			return wnn_error_set(err, WNN_OPERATION_ERROR,
					     "internal error, please report it: value %" PRIu32
					     " is malformed",
					     i);
		if (value->kind == IR_VALUE_CONSTANT &&
		    (value->constant ?
			     (int64_t)value->constant->bytes < ir_type_bytes(&value->type) :
			     !dropped))
			return wnn_error_set(err, WNN_OPERATION_ERROR,
					     "internal error, please report it: constant %" PRIu32
					     " has too few bytes",
					     i);
		if (value->kind == IR_VALUE_CONSTANT && !can_be_cut(&value->type))
			return wnn_error_set(
				err, WNN_OPERATION_ERROR,
				"internal error, please report it: constant %" PRIu32
				" of %s has a dimension that is known only at dispatch",
				i, ir_dtype_name(value->type.dtype));
		defined[i] = value->kind != IR_VALUE_RESULT;
	}
	return 0;
}

/*
 * Returns, by value id, how often outputs and the nodes that they depend on read a value; ignores
 * other nodes, which a pass may leave in the graph. NULL: no memory.
 */
static uint32_t *count_reads(const struct ir_graph *graph)
{
	uint32_t *reads = wnn_calloc((size_t)graph->num_values + 1, sizeof(*reads));

	for (uint32_t i = 0; reads && i < graph->num_outputs; i++)
		reads[graph->outputs[i].value->id]++;
	for (uint32_t n = graph->num_nodes; reads && n-- > 0;) {
		const struct ir_node *node = graph->nodes[n];
		bool needed = false;

		for (uint32_t r = 0; r < node->num_results; r++)
			needed |= reads[node->results[r]->id] != 0;
		for (uint32_t i = 0; needed && i < node->num_operands; i++)
			if (node->operands[i])
				reads[node->operands[i]->id]++;
	}
	return reads;
}

static int verify_update(const struct ir_output *output, const uint32_t *reads,
			 struct wnn_error *err)
{
	char what[128];

	if (output->updates->kind != IR_VALUE_INPUT)
		return wnn_error_set(
			err, WNN_OPERATION_ERROR,
			"internal error, please report it: output \"%.64s\" updates no input",
			output->name);
	snprintf(what, sizeof(what), "internal error, please report it: output \"%.64s\"",
		 output->name);
	if (!ir_check_update(output->value, output->updates, reads, what, err))
		return 0;
	err->status = WNN_OPERATION_ERROR;
	return -1;
}

/*
 * Checks the outputs that update inputs, and that only their nodes write in place. Returns 0, or -1
 * with *err.
 */
static int verify_updates(const struct ir_graph *graph, struct wnn_error *err)
{
	uint32_t *reads = count_reads(graph);
	bool *found = ir_find_updates(graph);
	int ret = reads && found ? 0 : wnn_error_nomem(err, "the graph's verifier");

	for (uint32_t i = 0; !ret && i < graph->num_outputs; i++) {
		const struct ir_output *output = &graph->outputs[i];

		for (uint32_t k = 0; output->updates && k < i; k++)
			if (graph->outputs[k].updates == output->updates)
				ret = wnn_error_set(
					err, WNN_OPERATION_ERROR,
					"internal error, please report it: two outputs update one "
					"input");
		if (!ret && output->updates)
			ret = verify_update(output, reads, err);
	}
	for (uint32_t i = 0; !ret && i < graph->num_nodes; i++) {
		const struct ir_node *node = graph->nodes[i];
		bool gather = node->op == IR_OP_GATHER || node->op == IR_OP_SCATTER;

		if (gather &&
		    node->attrs.gather.in_place != (node->op == IR_OP_SCATTER && found[i]))
			ret = bad(err, node, "in_place is for the nodes that update an input");
	}
	wnn_free(reads);
	wnn_free(found);
	return ret;
}

static int verify(const struct ir_graph *graph, bool dropped, struct wnn_error *err)
{
	bool *defined = wnn_calloc(graph->num_values + 1, sizeof(*defined));
	int ret;

	if (!defined)
		return wnn_error_nomem(err, "the graph's verifier");
	ret = verify_names(graph, err);
	if (!ret)
		ret = verify_values(graph, dropped, defined, err);
	for (uint32_t i = 0; !ret && i < graph->num_nodes; i++) {
		struct ir_node *node = graph->nodes[i];

		ret = verify_node(graph, node, defined, err);
		for (uint32_t r = 0; !ret && r < node->num_results; r++)
			defined[node->results[r]->id] = true;
	}
	for (uint32_t i = 0; !ret && i < graph->num_outputs; i++)
		if (!defined[graph->outputs[i].value->id])
			ret = wnn_error_set(
				err, WNN_OPERATION_ERROR,
				"internal error, please report it: output \"%s\" is not defined",
				graph->outputs[i].name);
	if (!ret)
		ret = verify_updates(graph, err);
	wnn_free(defined);
	return ret;
}

int ir_verify(const struct ir_graph *graph, struct wnn_error *err)
{
	return verify(graph, false, err);
}

int ir_verify_dropped(const struct ir_graph *graph, struct wnn_error *err)
{
	return verify(graph, true, err);
}
