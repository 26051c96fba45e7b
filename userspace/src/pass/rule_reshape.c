// SPDX-License-Identifier: MIT
/*
 * Rules that move functions, biases and normalisations after a reshape or transpose of a product's
 * result in front of that view, where they become part of the product; and rules that move a pad
 * after the reshape or transpose that follows the pad, where it becomes part of windows.
 * Convolutions and pools of one dimension have such reshapes around them, and so have products
 * whose columns are divided into heads.
 *
 *	%2 = conv(%0, %1)			%2 = conv(%0, %1)
 *	%3 = reshape(%2)			%3 = unary(%2) relu
 *	%4 = unary(%3) relu		->	%4 = reshape(%3)
 *
 * All results keep their bits. Products of 8-bit integers that are dequantised are left alone.
 */
#include <string.h>

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

static bool is_product(const struct ir_node *node)
{
	int act;

	if (!node || (node->op != IR_OP_CONV && node->op != IR_OP_MATMUL) ||
	    is_integer(node->operands[0]))
		return false;
	act = node->op == IR_OP_CONV ? node->attrs.conv.act.kind : node->attrs.matmul.act.kind;
	return act == IR_UNARY_NONE;
}

/*
 * Returns the reshape or transpose that makes a value from a product's result, when neither the
 * result nor the value has another use; else NULL.
 */
static const struct ir_node *viewed_product(const struct rules *rules, const struct ir_value *value)
{
	const struct ir_node *view = rules_sole(rules, value);

	if (!view || (view->op != IR_OP_RESHAPE && view->op != IR_OP_TRANSPOSE))
		return NULL;
	return is_product(rules_sole(rules, view->operands[0])) ? view : NULL;
}

/*
 * Emits the operator of a node with operands from before a view, and then the view of its result;
 * returns that. NULL: no memory.
 */
static struct ir_value *emit_in_front(struct rules *rules, const struct ir_node *node,
				      struct ir_value *const *operands, const union ir_attrs *attrs,
				      const struct ir_node *view)
{
	struct ir_value *value = rules_emit(rules, node->op, operands, node->num_operands,
					    &view->operands[0]->type, attrs, node, NULL);

	return value ? rules_emit(rules, view->op, &value, 1, &node->results[0]->type, &view->attrs,
				  view, NULL) :
		       NULL;
}

/* Whether a value is the sum of a product and another value. */
static bool is_sum(const struct rules *rules, const struct ir_value *value)
{
	const struct ir_node *sum = rules_sole(rules, value);

	return sum && sum->op == IR_OP_BINARY && sum->attrs.binary.kind == IR_ADD &&
	       sum->attrs.binary.act.kind == IR_UNARY_NONE &&
	       (is_product(rules_sole(rules, sum->operands[0])) ||
		is_product(rules_sole(rules, sum->operands[1])));
}

struct ir_value *rule_function_behind_view(struct rules *rules, struct ir_node *node)
{
	const struct ir_node *view = viewed_product(rules, node->operands[0]);
	const struct ir_node *reshape = rules_sole(rules, node->operands[0]);

	if (!view && reshape && reshape->op == IR_OP_RESHAPE && is_sum(rules, reshape->operands[0]))
		view = reshape;
	if (!view || node->results[0]->type.dtype != node->operands[0]->type.dtype)
		return NULL;
	return emit_in_front(rules, node, view->operands, &node->attrs, view);
}

/* Returns the axis behind a view along which the channels of the product in front lie; -1: none. */
static int axis_behind(const struct ir_node *view)
{
	const struct ir_type *from = &view->operands[0]->type, *to = &view->results[0]->type;
	uint32_t axis = channels_axis(view->operands[0]->def);

	if (view->op == IR_OP_RESHAPE)
		return channels_reshaped_axis(from, axis, to);
	for (uint32_t k = 0; k < to->rank; k++)
		if (view->attrs.transpose.perm[k] == axis)
			return (int)k;
	return -1;
}

struct ir_value *rule_norm_behind_view(struct rules *rules, struct ir_node *node)
{
	const struct ir_node *view = viewed_product(rules, node->operands[0]);
	struct ir_value *operands[5];
	union ir_attrs attrs = node->attrs;

	if (!view || axis_behind(view) != (int)node->attrs.norm.axis)
		return NULL;
	attrs.norm.axis = channels_axis(view->operands[0]->def);
	for (uint32_t i = 0; i < node->num_operands; i++)
		operands[i] = i ? node->operands[i] : view->operands[0];
	return emit_in_front(rules, node, operands, &attrs, view);
}

/*
 * Whether a constant that is broadcast to the result of a view has one element for each channel of
 * the product in front of it. The channels are one axis there, or, where they are the last one of
 * the product, a reshape may divide them.
 */
static bool has_channels(const struct ir_type *type, const struct ir_node *view)
{
	const struct ir_type *from = &view->operands[0]->type, *to = &view->results[0]->type;
	uint32_t axis = channels_axis(view->operands[0]->def), missing, first = 0;
	int own = axis_behind(view);

	if (type->rank > to->rank || ir_type_elements(type) != ir_type_dim(from, axis))
		return false;
	missing = to->rank - type->rank;
	if (own >= (int)missing &&
	    ir_type_dim(type, (uint32_t)own - missing) == ir_type_elements(type))
		return true;
	while (first < type->rank && ir_type_dim(type, first) == 1)
		first++;
	for (uint32_t i = first; i < type->rank; i++)
		if (ir_type_dim(type, i) != ir_type_dim(to, missing + i))
			return false;
	return view->op == IR_OP_RESHAPE && axis + 1 == from->rank;
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

/*
 * Returns the other operand of a sum, product, quotient or difference as it is in front of a view:
 * a constant with one number per channel or one for all, or, in a sum behind a reshape, a value of
 * equal shape; else NULL.
 */
static struct ir_value *in_front(struct rules *rules, const struct ir_node *node,
				 const struct ir_node *view, struct ir_value *other)
{
	if (other->kind == IR_VALUE_CONSTANT)
		return ir_type_elements(&other->type) == 1 || has_channels(&other->type, view) ?
			       along_channels(rules, other, view->operands[0]->def) :
			       NULL;
	/* A reshape of a transposed, expanded or sliced value would copy the value. */
	if (other->kind == IR_VALUE_RESULT &&
	    (other->def->op == IR_OP_TRANSPOSE || other->def->op == IR_OP_EXPAND ||
	     other->def->op == IR_OP_SLICE))
		return NULL;
	return node->attrs.binary.kind == IR_ADD && view->op == IR_OP_RESHAPE &&
			       ir_type_same_shape(&other->type, &node->results[0]->type) ?
		       rules_emit(rules, IR_OP_RESHAPE, &other, 1, &view->operands[0]->type, NULL,
				  view, NULL) :
		       NULL;
}

struct ir_value *rule_bias_behind_view(struct rules *rules, struct ir_node *node)
{
	struct ir_value *operands[2];

	if (node->attrs.binary.act.kind != IR_UNARY_NONE)
		return NULL;
	for (int side = 0; side < 2; side++) {
		const struct ir_node *view = viewed_product(rules, node->operands[side]);

		if (!view || !ir_type_same_shape(&view->results[0]->type, &node->results[0]->type))
			continue;
		operands[side] = view->operands[0];
		operands[!side] = in_front(rules, node, view, node->operands[!side]);
		if (operands[!side])
			return emit_in_front(rules, node, operands, &node->attrs, view);
	}
	return NULL;
}

/* ---- a reshape that adds axes, and a transpose, behind a pad */

/*
 * Moves a reshape that adds axes in front of the pad that it follows. The axes that the pad changes
 * must be axes of the reshape's result, too; others may be divided or joined, as those of images
 * and channels are around pools of one dimension.
 */
struct ir_value *rule_reshape_before_pad(struct rules *rules, struct ir_node *node)
{
	const struct ir_node *pad = rules_sole(rules, node->operands[0]);
	struct ir_type type = node->results[0]->type;
	const struct ir_type *padded;
	union ir_attrs attrs;
	struct ir_value *value;

	if (!pad || pad->op != IR_OP_PAD || pad->num_late ||
	    type.rank <= pad->results[0]->type.rank)
		return NULL;
	padded = &pad->results[0]->type;
	attrs = pad->attrs;
	memset(attrs.pad.begin, 0, sizeof(attrs.pad.begin));
	memset(attrs.pad.end, 0, sizeof(attrs.pad.end));
	for (uint32_t i = 0; i < padded->rank; i++) {
		int axis = channels_reshaped_axis(padded, i, &node->results[0]->type);

		if (!pad->attrs.pad.begin[i] && !pad->attrs.pad.end[i])
			continue;
		if (axis < 0 || type.dim[axis].symbol != padded->dim[i].symbol)
			return NULL;
		attrs.pad.begin[axis] = pad->attrs.pad.begin[i];
		attrs.pad.end[axis] = pad->attrs.pad.end[i];
		type.dim[axis] = pad->operands[0]->type.dim[i];
	}
	value = rules_emit(rules, IR_OP_RESHAPE, pad->operands, 1, &type, NULL, node, NULL);
	return value ? rules_emit(rules, IR_OP_PAD, &value, 1, &node->results[0]->type, &attrs, pad,
				  NULL) :
		       NULL;
}

/*
 * Moves a transpose in front of the pad that it follows, so that the pad can become that of a
 * window.
 */
struct ir_value *rule_transpose_before_pad(struct rules *rules, struct ir_node *node)
{
	const struct ir_node *pad = rules_sole(rules, node->operands[0]);
	const uint32_t *perm = node->attrs.transpose.perm;
	struct ir_type type = node->results[0]->type;
	union ir_attrs attrs;
	struct ir_value *value;

	if (!pad || pad->op != IR_OP_PAD || pad->num_late)
		return NULL;
	attrs = pad->attrs;
	for (uint32_t i = 0; i < type.rank; i++) {
		attrs.pad.begin[i] = pad->attrs.pad.begin[perm[i]];
		attrs.pad.end[i] = pad->attrs.pad.end[perm[i]];
		type.dim[i] = pad->operands[0]->type.dim[perm[i]];
	}
	value = rules_emit(rules, IR_OP_TRANSPOSE, pad->operands, 1, &type, &node->attrs, node,
			   NULL);
	return value ? rules_emit(rules, IR_OP_PAD, &value, 1, &node->results[0]->type, &attrs, pad,
				  NULL) :
		       NULL;
}
