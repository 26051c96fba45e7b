// SPDX-License-Identifier: MIT
/*
 * Checks and finds outputs that update an input in place, such as the cache of keys that a language
 * model adds a token to. The nodes between input and output form a chain: each writes its result to
 * the memory of the value before it, so that only the elements that change are written. Nothing
 * else may read the values before the last one, because they are overwritten.
 */
#include "ir/ir.h"
#include "util/malloc.h"

struct ir_value *ir_updated(const struct ir_node *node)
{
	struct ir_value *operand = node->num_operands ? node->operands[0] : NULL;

	if (node->op != IR_OP_SCATTER && node->op != IR_OP_RESHAPE && node->op != IR_OP_COPY)
		return NULL;
	return operand->type.dtype == node->results[0]->type.dtype &&
			       ir_type_elements(&operand->type) ==
				       ir_type_elements(&node->results[0]->type) ?
		       operand :
		       NULL;
}

/* Returns the previous value of the chain that begins at an input; NULL: the chain begins here. */
static const struct ir_value *before(const struct ir_value *value)
{
	return value->def ? ir_updated(value->def) : NULL;
}

/*
 * Checks that the chain's nodes alone read the values that scatters overwrite. Returns 0, or -1
 * with *err.
 */
static int check_readers(const struct ir_value *value, const uint32_t *uses, const char *what,
			 struct wnn_error *err)
{
	const struct ir_node *writer = NULL; /* the first scatter after `old` */
	char name[IR_NODE_NAME_SIZE];

	for (const struct ir_value *old = before(value); old; value = old, old = before(old)) {
		if (value->def->op == IR_OP_SCATTER)
			writer = value->def;
		if (writer && uses[old->id] != 1)
			return wnn_error_set(
				err, WNN_TYPE_ERROR,
				"%s: another operator reads the %s that %s overwrites, or it is an "
				"output; only the new value can be read",
				what, old->def ? "value" : "input",
				ir_node_name(writer, name, sizeof(name)));
	}
	return 0;
}

int ir_check_update(const struct ir_value *value, const struct ir_value *input,
		    const uint32_t *uses, const char *what, struct wnn_error *err)
{
	const struct ir_value *first = value;
	char name[IR_NODE_NAME_SIZE];
	bool writes = false;

	if (value->type.dtype != input->type.dtype ||
	    !ir_type_same_shape(&value->type, &input->type))
		return wnn_error_set(err, WNN_TYPE_ERROR,
				     "%s: the new value has another type or shape than the input",
				     what);
	for (; before(first); first = before(first))
		writes |= first->def->op == IR_OP_SCATTER;
	if (first != input && !first->def)
		return wnn_error_set(
			err, WNN_TYPE_ERROR,
			"%s: the new value is made of another input or of a constant; it must be "
			"made of the input by scatterElements or scatterND",
			what);
	if (first != input)
		return wnn_error_set(
			err, WNN_TYPE_ERROR,
			"%s: the new value is made of a result of %s; only scatterElements, "
			"scatterND, reshape and identity may lie between the input and it",
			what, ir_node_name(first->def, name, sizeof(name)));
	if (!writes)
		return wnn_error_set(err, WNN_TYPE_ERROR,
				     "%s: no scatterElements or scatterND changes the input", what);
	return uses ? check_readers(value, uses, what, err) : 0;
}

bool *ir_find_updates(const struct ir_graph *graph)
{
	bool *found = wnn_calloc((size_t)graph->num_nodes + 1, sizeof(*found));

	for (uint32_t i = 0; found && i < graph->num_outputs; i++) {
		const struct ir_value *value = graph->outputs[i].value;

		if (!graph->outputs[i].updates)
			continue;
		for (; before(value); value = before(value))
			found[value->def->id] = true;
	}
	return found;
}
