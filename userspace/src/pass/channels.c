// SPDX-License-Identifier: MIT
/*
 * The channels of convolutions and the columns of matrix products, for passes that treat both
 * alike.
 */
#include "pass/channels.h"

uint32_t channels_axis(const struct ir_node *node)
{
	uint32_t rank = node->results[0]->type.rank;

	return node->op == IR_OP_CONV && node->attrs.conv.layout == IR_NCHW ? 1 : rank - 1;
}

uint32_t channels_filter_axis(const struct ir_node *node)
{
	if (node->op == IR_OP_CONV)
		return ir_filter_axes(node->attrs.conv.filter_layout)[0];
	return node->operands[1]->type.rank - (node->attrs.matmul.b_transpose ? 2 : 1);
}

bool channels_each(const struct ir_node *node, const struct ir_type *type)
{
	const struct ir_type *result = &node->results[0]->type;
	uint32_t axis = channels_axis(node), missing;

	if (type->rank > result->rank || ir_type_elements(type) != ir_type_dim(result, axis))
		return false;
	missing = result->rank - type->rank;
	/* All elements of the value must lie along the axis of the channels. */
	return ir_type_elements(type) == 1 ||
	       (axis >= missing && ir_type_dim(type, axis - missing) == ir_type_elements(type));
}

bool channels_each_or_one(const struct ir_node *node, const struct ir_type *type)
{
	return channels_each(node, type) ||
	       (type->rank <= node->results[0]->type.rank && ir_type_elements(type) == 1);
}

struct ir_value *channels_vector(struct rewrite *rw, const struct ir_node *like,
				 struct ir_value *value)
{
	int64_t count = ir_type_elements(&value->type);
	struct ir_type type = ir_type_make(value->type.dtype, 1, &count);
	struct ir_value *vector = NULL;
	struct ir_node *node;

	if (value->type.rank == 1)
		return value;
	if (value->kind == IR_VALUE_CONSTANT) {
		vector = ir_add_constant(rw->to, &type, ir_constant_ref(value->constant));
		if (!vector)
			ir_constant_unref(value->constant);
		return vector;
	}
	node = ir_add_node(rw->to, IR_OP_RESHAPE, &value, 1, &type, 1, NULL, like->label,
			   like->source);
	return node ? node->results[0] : NULL;
}

struct ir_value *channels_constant(struct rewrite *rw, enum ir_dtype dtype, const void *data,
				   int64_t count)
{
	struct ir_type type = ir_type_make(dtype, 1, &count);
	struct ir_constant *constant = ir_constant_copy(data, (size_t)ir_type_bytes(&type));
	struct ir_value *value = constant ? ir_add_constant(rw->to, &type, constant) : NULL;

	if (constant && !value)
		ir_constant_unref(constant);
	return value;
}

int channels_reshaped_axis(const struct ir_type *from, uint32_t axis, const struct ir_type *to)
{
	int64_t before = 1, elements = 1;

	for (uint32_t i = 0; i < axis; i++)
		before *= ir_type_dim(from, i);
	for (uint32_t k = 0; k < to->rank; k++) {
		if (elements == before && ir_type_dim(to, k) == ir_type_dim(from, axis))
			return (int)k;
		elements *= ir_type_dim(to, k);
	}
	return -1;
}

double channels_depth(const struct ir_node *node)
{
	const struct ir_type *a = &node->operands[0]->type, *b = &node->operands[1]->type;

	if (node->op == IR_OP_MATMUL)
		return (double)ir_type_dim(a, a->rank - (node->attrs.matmul.a_transpose ? 2 : 1));
	return (double)ir_type_elements(b) / (double)ir_type_dim(b, channels_filter_axis(node));
}

bool channels_scales_fit(const struct quantized *q, uint32_t axis)
{
	const struct ir_type *scale = &q->scale->type, *type = &q->integers->type;
	int64_t zeros = ir_type_elements(&q->zero->type);

	for (int64_t i = 1; i < zeros; i++)
		if (quantized_zero(q, i) != quantized_zero(q, 0))
			return false;
	if (ir_type_elements(scale) == 1)
		return true;
	return scale->rank == type->rank && ir_type_dim(scale, axis) == ir_type_elements(scale) &&
	       ir_type_dim(scale, axis) == ir_type_dim(type, axis);
}
