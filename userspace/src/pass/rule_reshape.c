// SPDX-License-Identifier: MIT
/*
 * Rules that move work between a product and a reshape of its result in front of the reshape, where
 * it becomes part of the product, and pads behind a reshape, where they become part of windows.
 * Convolutions and pools of one dimension have such reshapes around them, and so have products
 * whose columns are divided into heads.
 *
 *	%2 = conv(%0, %1)			%2 = conv(%0, %1)
 *	%3 = reshape(%2)			%3 = unary(%2) relu
 *	%4 = unary(%3) relu		->	%4 = reshape(%3)
 *
 * All results keep their bits. Products of 8-bit integers that are dequantised are left alone.
 */
#include "pass/channels.h"
#include "pass/rules.h"

/* Whether an operand of a product is dequantised from integers of 8 bits, then perhaps reshaped. */
static bool is_integer(const struct ir_value *value)
{
	const struct ir_node *reshape = rules_maker(value, IR_OP_RESHAPE), *node;

	node = rules_maker(reshape ? reshape->operands[0] : value, IR_OP_DEQUANTIZE);
	return node &&
	       (node->operands[0]->type.dtype == IR_I8 || node->operands[0]->type.dtype == IR_U8);
}

/*
 * Returns the reshape that makes a value of a product's result, when nothing else uses either; else
 * NULL.
 */
static const struct ir_node *reshaped_product(const struct rules *rules,
					      const struct ir_value *value)
{
	const struct ir_node *reshape = rules_sole(rules, value), *product;
	int act;

	if (!reshape || reshape->op != IR_OP_RESHAPE)
		return NULL;
	product = rules_sole(rules, reshape->operands[0]);
	if (!product || (product->op != IR_OP_CONV && product->op != IR_OP_MATMUL) ||
	    is_integer(product->operands[0]))
		return NULL;
	act = product->op == IR_OP_CONV ? product->attrs.conv.act.kind :
					  product->attrs.matmul.act.kind;
	return act == IR_UNARY_NONE ? reshape : NULL;
}

/*
 * Emits a node with the operands in front of the reshape, and the reshape behind it. NULL when out
 * of memory.
 */
static struct ir_value *emit_in_front(struct rules *rules, const struct ir_node *node,
				      struct ir_value *const *operands, const union ir_attrs *attrs,
				      const struct ir_node *reshape)
{
	struct ir_value *value = rules_emit(rules, node->op, operands, node->num_operands,
					    &reshape->operands[0]->type, attrs, node, NULL);

	return value ? rules_emit(rules, IR_OP_RESHAPE, &value, 1, &node->results[0]->type, NULL,
				  reshape, NULL) :
		       NULL;
}

struct ir_value *rule_function_behind_reshape(struct rules *rules, struct ir_node *node)
{
	const struct ir_node *reshape = reshaped_product(rules, node->operands[0]);

	if (!reshape || node->results[0]->type.dtype != node->operands[0]->type.dtype)
		return NULL;
	return emit_in_front(rules, node, reshape->operands, &node->attrs, reshape);
}

/*
 * Sets *axis to the axis of a reshape's result that is axis `from_axis`, not of size 1, of its
 * operand; false when the reshape does more than add and remove axes of size 1.
 */
static bool find_axis(const struct ir_node *reshape, uint32_t from_axis, uint32_t *axis)
{
	const struct ir_type *from = &reshape->operands[0]->type, *to = &reshape->results[0]->type;
	bool found = false;
	uint32_t k = 0;

	for (uint32_t i = 0; i < from->rank; i++) {
		if (ir_type_dim(from, i) == 1)
			continue;
		while (k < to->rank && ir_type_dim(to, k) == 1)
			k++;
		if (k == to->rank || ir_type_dim(from, i) != ir_type_dim(to, k))
			return false;
		if (i == from_axis) {
			*axis = k;
			found = true;
		}
		k++;
	}
	/* As many elements are left as there are, so that the rest of the axes have size 1. */
	return found;
}

struct ir_value *rule_norm_behind_reshape(struct rules *rules, struct ir_node *node)
{
	const struct ir_node *reshape = reshaped_product(rules, node->operands[0]), *product;
	struct ir_value *operands[5];
	union ir_attrs attrs = node->attrs;
	uint32_t axis;

	if (!reshape)
		return NULL;
	product = reshape->operands[0]->def;
	if (!find_axis(reshape, channels_axis(product), &axis) || axis != node->attrs.norm.axis)
		return NULL;
	attrs.norm.axis = channels_axis(product);
	for (uint32_t i = 0; i < node->num_operands; i++)
		operands[i] = i ? node->operands[i] : reshape->operands[0];
	return emit_in_front(rules, node, operands, &attrs, reshape);
}

/*
 * Whether a constant that is broadcast to a reshape's result has one element for each channel of
 * the product in front of it. The channels are one axis there, or, where they are the last one of
 * the product, the reshape may divide them.
 */
static bool has_channels(const struct ir_type *type, const struct ir_node *reshape)
{
	const struct ir_type *from = &reshape->operands[0]->type, *to = &reshape->results[0]->type;
	uint32_t axis = channels_axis(reshape->operands[0]->def), own, missing, first = 0;

	if (type->rank > to->rank || ir_type_elements(type) != ir_type_dim(from, axis))
		return false;
	missing = to->rank - type->rank;
	if (find_axis(reshape, axis, &own) && own >= missing &&
	    ir_type_dim(type, own - missing) == ir_type_elements(type))
		return true;
	while (first < type->rank && ir_type_dim(type, first) == 1)
		first++;
	for (uint32_t i = first; i < type->rank; i++)
		if (ir_type_dim(type, i) != ir_type_dim(to, missing + i))
			return false;
	return axis + 1 == from->rank;
}

/* Returns a constant with an element for each channel of a product in the shape for its result. */
static struct ir_value *along_channels(struct rules *rules, const struct ir_value *constant,
				       const struct ir_node *product)
{
	int64_t dims[IR_MAX_RANK] = { ir_type_elements(&constant->type) };
	uint32_t rank = product->results[0]->type.rank - channels_axis(product);
	struct ir_type type;

	for (uint32_t i = 1; i < rank; i++)
		dims[i] = 1;
	type = ir_type_make(constant->type.dtype, dims[0] == 1 ? 1 : rank, dims);
	return rules_reshaped(rules, constant, &type);
}

struct ir_value *rule_bias_behind_reshape(struct rules *rules, struct ir_node *node)
{
	struct ir_value *operands[2];

	if (node->attrs.binary.act.kind != IR_UNARY_NONE)
		return NULL;
	for (int side = 0; side < 2; side++) {
		struct ir_value *constant = node->operands[!side];
		const struct ir_node *reshape = reshaped_product(rules, node->operands[side]);

		if (!reshape || constant->kind != IR_VALUE_CONSTANT ||
		    !ir_type_same_shape(&reshape->results[0]->type, &node->results[0]->type) ||
		    (ir_type_elements(&constant->type) != 1 &&
		     !has_channels(&constant->type, reshape)))
			continue;
		operands[side] = reshape->operands[0];
		operands[!side] = along_channels(rules, constant, reshape->operands[0]->def);
		return operands[!side] ?
			       emit_in_front(rules, node, operands, &node->attrs, reshape) :
			       NULL;
	}
	return NULL;
}

/* ---- a reshape that adds axes behind a pad */

/*
 * Finds for each axis of `from` the axis of `to` that it becomes by a reshape that only adds axes
 * of size 1.
 */
static bool only_adds(const struct ir_type *from, const struct ir_type *to, uint32_t *axis)
{
	uint32_t i = 0;

	for (uint32_t k = 0; k < to->rank; k++) {
		if (i < from->rank && ir_type_dim(from, i) == ir_type_dim(to, k))
			axis[i++] = k;
		else if (ir_type_dim(to, k) != 1)
			return false;
	}
	return i == from->rank;
}

struct ir_value *rule_reshape_before_pad(struct rules *rules, struct ir_node *node)
{
	const struct ir_node *pad = rules_sole(rules, node->operands[0]);
	struct ir_type type = node->results[0]->type;
	union ir_attrs attrs;
	uint32_t axis[IR_MAX_RANK];
	struct ir_value *value;

	if (!pad || pad->op != IR_OP_PAD || pad->num_late ||
	    type.rank <= pad->results[0]->type.rank ||
	    !only_adds(&pad->results[0]->type, &type, axis))
		return NULL;
	attrs = pad->attrs;
	for (uint32_t k = 0; k < type.rank; k++)
		attrs.pad.begin[k] = attrs.pad.end[k] = 0;
	for (uint32_t i = 0; i < pad->results[0]->type.rank; i++) {
		attrs.pad.begin[axis[i]] = pad->attrs.pad.begin[i];
		attrs.pad.end[axis[i]] = pad->attrs.pad.end[i];
		type.dim[axis[i]] = pad->operands[0]->type.dim[i];
	}
	value = rules_emit(rules, IR_OP_RESHAPE, pad->operands, 1, &type, NULL, node, NULL);
	return value ? rules_emit(rules, IR_OP_PAD, &value, 1, &node->results[0]->type, &attrs, pad,
				  NULL) :
		       NULL;
}
