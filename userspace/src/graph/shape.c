// SPDX-License-Identifier: MIT
/*
 * The rules of operators that change shapes: reshape, transpose, expand, tile and triangular. They
 * check a call, infer the type of its result and emit an IR node.
 */
#include <string.h>

#include "graph/rules.h"

/*
 * Converts a list of sizes to a type; rule_emit() checks the sizes with the result. Returns 0 or
 * -1.
 */
static int shape_of_list(struct wnn_rule *rule, const char *what, WNNUint32Array list,
			 enum ir_dtype dtype, struct ir_type *type)
{
	if (list.count > IR_MAX_RANK)
		return rule_error(rule, "%s has %zu items; ranks up to %d are supported", what,
				  list.count, IR_MAX_RANK);
	memset(type, 0, sizeof(*type));
	type->dtype = dtype;
	type->rank = (uint32_t)list.count;
	for (uint32_t i = 0; i < type->rank; i++)
		type->dim[i].value = list.data[i];
	return 0;
}

int rule_reshape(struct wnn_rule *rule)
{
	const struct ir_type *input = rule_type(rule, 0);
	struct ir_type type;

	if (shape_of_list(rule, "newShape", rule->call->arguments.new_shape, input->dtype, &type) ||
	    rule_check_result(rule, &type))
		return -1;
	if (ir_type_elements(&type) != ir_type_elements(input))
		return rule_error(rule,
				  "newShape %s has %" PRId64 " elements, but input of shape "
				  "%s has %" PRId64,
				  SHAPE(&type), ir_type_elements(&type), SHAPE(input),
				  ir_type_elements(input));
	return rule_emit_call(rule, IR_OP_RESHAPE, &type, NULL);
}

int rule_expand(struct wnn_rule *rule)
{
	const struct ir_type *input = rule_type(rule, 0);
	struct ir_type type;

	if (shape_of_list(rule, "newShape", rule->call->arguments.new_shape, input->dtype, &type))
		return -1;
	if (!rule_broadcasts_to(input, &type))
		return rule_error(rule, "input of shape %s cannot be broadcast to newShape %s",
				  SHAPE(input), SHAPE(&type));
	return rule_emit_call(rule, IR_OP_EXPAND, &type, NULL);
}

int rule_tile(struct wnn_rule *rule)
{
	WNNUint32Array repetitions = rule->call->arguments.repetitions;
	struct ir_type type = *rule_type(rule, 0);
	uint32_t times[IR_MAX_RANK];

	if (repetitions.count != type.rank)
		return rule_error(rule,
				  "repetitions has %zu items, expected %" PRIu32
				  ", the rank of input",
				  repetitions.count, type.rank);
	if (type.rank && rule_list(rule, "repetitions", repetitions, type.rank, 1, false, times))
		return -1;
	for (uint32_t i = 0; i < type.rank; i++)
		type.dim[i].value *= times[i];
	return rule_emit_call(rule, IR_OP_TILE, &type, NULL);
}

int rule_transpose(struct wnn_rule *rule)
{
	WNNUint32Array list = rule_options(rule, WNNTransposeOptions)->permutation;
	const struct ir_type *input = rule_type(rule, 0);
	struct ir_type type = *input;
	union ir_attrs attrs = { 0 };
	uint32_t seen = 0;

	if (list.data && list.count != input->rank)
		return rule_error(rule,
				  "options.permutation has %zu items, expected %" PRIu32
				  ", the rank of input",
				  list.count, input->rank);
	for (uint32_t i = 0; i < input->rank; i++) {
		uint32_t from = list.data ? list.data[i] : input->rank - 1 - i;

		if (from >= input->rank)
			return rule_error(rule,
					  "options.permutation[%" PRIu32 "] is %" PRIu32
					  "; it must be below the rank, %" PRIu32,
					  i, from, input->rank);
		if (seen >> from & 1)
			return rule_error(rule, "options.permutation has %" PRIu32 " twice", from);
		seen |= 1u << from;
		attrs.transpose.perm[i] = from;
		type.dim[i] = input->dim[from];
	}
	return rule_emit_call(rule, IR_OP_TRANSPOSE, &type, &attrs);
}

int rule_triangular(struct wnn_rule *rule)
{
	const WNNTriangularOptions *options = rule_options(rule, WNNTriangularOptions);
	union ir_attrs attrs = { .triangular = {
					 .upper = options->upper,
					 .diagonal = options->diagonal,
				 } };

	return rule_emit_call(rule, IR_OP_TRIANGULAR, rule_type(rule, 0), &attrs);
}
