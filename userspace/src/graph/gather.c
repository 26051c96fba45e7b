// SPDX-License-Identifier: MIT
/*
 * The rules of gather, gatherElements, gatherND, scatterElements and scatterND: they check a call,
 * infer the types of its results and emit IR nodes.
 */
#include "graph/rules.h"

/* Appends dimensions [first, end) of `from`; false when the rank gets too high. */
static bool append_dims(struct ir_type *type, const struct ir_type *from, uint32_t first,
			uint32_t end)
{
	for (uint32_t i = first; i < end; i++) {
		if (type->rank == IR_MAX_RANK)
			return false;
		type->dim[type->rank++] = from->dim[i];
	}
	return true;
}

static int rank_too_high(struct wnn_rule *rule, uint32_t rank)
{
	return rule_error(rule,
			  "the output would have rank %" PRIu32 "; ranks up to %d are "
			  "supported",
			  rank, IR_MAX_RANK);
}

int rule_gather(struct wnn_rule *rule)
{
	const struct ir_type *input = rule_type(rule, 0), *indices = rule_type(rule, 1);
	uint32_t axis = rule_options(rule, WNNGatherOptions)->axis;
	union ir_attrs attrs = { .gather = { .kind = IR_GATHER_AXIS, .axis = axis } };
	struct ir_type type = { .dtype = input->dtype };

	if (rule_axis(rule, "options.axis", axis, input->rank))
		return -1;
	if (!append_dims(&type, input, 0, axis) || !append_dims(&type, indices, 0, indices->rank) ||
	    !append_dims(&type, input, axis + 1, input->rank))
		return rank_too_high(rule, input->rank + indices->rank - 1);
	return rule_emit_call(rule, IR_OP_GATHER, &type, &attrs);
}

/* Checks that indices have the sizes of input, except along the axis. Returns 0 or -1. */
static int check_elements(struct wnn_rule *rule, uint32_t axis)
{
	const struct ir_type *input = rule_type(rule, 0), *indices = rule_type(rule, 1);

	if (rule_axis(rule, "options.axis", axis, input->rank))
		return -1;
	for (uint32_t i = 0; i < input->rank; i++)
		if (i != axis && ir_type_dim(indices, i) != ir_type_dim(input, i))
			return rule_error(rule,
					  "indices of shape %s differs from input of shape "
					  "%s in dimension %" PRIu32 ", which is not the axis",
					  SHAPE(indices), SHAPE(input), i);
	return 0;
}

int rule_gather_elements(struct wnn_rule *rule)
{
	uint32_t axis = rule_options(rule, WNNGatherOptions)->axis;
	union ir_attrs attrs = { .gather = { .kind = IR_GATHER_ELEMENTS, .axis = axis } };
	struct ir_type type = *rule_type(rule, 1);

	if (check_elements(rule, axis))
		return -1;
	type.dtype = rule_type(rule, 0)->dtype;
	return rule_emit_call(rule, IR_OP_GATHER, &type, &attrs);
}

/*
 * Sets *type to the shape of the result: indices.shape without its last dimension, then the
 * dimensions of input that the coordinates do not cover. Returns 0 or -1.
 */
static int nd_type(struct wnn_rule *rule, struct ir_type *type)
{
	const struct ir_type *input = rule_type(rule, 0), *indices = rule_type(rule, 1);
	int64_t size = ir_type_dim(indices, indices->rank - 1);

	*type = (struct ir_type){ .dtype = input->dtype };
	if (size > input->rank)
		return rule_error(rule,
				  "indices has %" PRId64 " coordinates (its last dimension), "
				  "more than the rank of input, %" PRIu32,
				  size, input->rank);
	if (!append_dims(type, indices, 0, indices->rank - 1) ||
	    !append_dims(type, input, (uint32_t)size, input->rank))
		return rank_too_high(rule, indices->rank - 1 + input->rank - (uint32_t)size);
	return 0;
}

int rule_gather_nd(struct wnn_rule *rule)
{
	union ir_attrs attrs = { .gather = { .kind = IR_GATHER_ND } };
	struct ir_type type;

	if (nd_type(rule, &type))
		return -1;
	return rule_emit_call(rule, IR_OP_GATHER, &type, &attrs);
}

static int check_updates(struct wnn_rule *rule, const struct ir_type *expected)
{
	const struct ir_type *updates = rule_type(rule, 2);

	if (ir_type_same_shape(updates, expected))
		return 0;
	return rule_error(rule, "updates has shape %s, expected %s", SHAPE(updates),
			  SHAPE(expected));
}

int rule_scatter_elements(struct wnn_rule *rule)
{
	uint32_t axis = rule_options(rule, WNNScatterOptions)->axis;
	union ir_attrs attrs = { .gather = { .kind = IR_GATHER_ELEMENTS, .axis = axis } };

	if (check_elements(rule, axis) || check_updates(rule, rule_type(rule, 1)))
		return -1;
	return rule_emit_call(rule, IR_OP_SCATTER, rule_type(rule, 0), &attrs);
}

int rule_scatter_nd(struct wnn_rule *rule)
{
	union ir_attrs attrs = { .gather = { .kind = IR_GATHER_ND } };
	struct ir_type updates;

	if (nd_type(rule, &updates) || check_updates(rule, &updates))
		return -1;
	return rule_emit_call(rule, IR_OP_SCATTER, rule_type(rule, 0), &attrs);
}
