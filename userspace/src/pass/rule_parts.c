// SPDX-License-Identifier: MIT
/*
 * Operators that exporters write in parts.
 *
 *	%1 = reduce(%0) max axes=0x2 keep
 *	%2 = binary(%0, %1) sub
 *	%3 = unary(%2) exp
 *	%4 = reduce(%3) sum axes=0x2 keep
 *	%5 = binary(%3, %4) div		->	%5 = softmax(%0) axis=1
 *
 * NaN and infinities come out as before: a row with NaN, with +infinity, or of -infinities alone is all NaN.
 */
#include "pass/rules.h"

static const struct ir_node *binary_of(const struct ir_value *value, enum ir_binary kind)
{
	const struct ir_node *node = rules_maker(value, IR_OP_BINARY);

	return node && node->attrs.binary.kind == kind &&
			       node->attrs.binary.act.kind == IR_UNARY_NONE ?
		       node :
		       NULL;
}

static const struct ir_node *unary_of(const struct ir_value *value, enum ir_unary kind)
{
	const struct ir_node *node = rules_maker(value, IR_OP_UNARY);

	return node && node->attrs.unary.kind == (int)kind ? node : NULL;
}

/* The reduction along one axis that stays as a dimension of 1. */
static const struct ir_node *reduce_of(const struct ir_value *value, enum ir_reduce kind)
{
	const struct ir_node *node = rules_maker(value, IR_OP_REDUCE);
	uint32_t axes = node ? node->attrs.reduce.axes : 0;

	return axes && !(axes & (axes - 1)) && node->attrs.reduce.kind == kind &&
			       node->attrs.reduce.keep_dims ?
		       node :
		       NULL;
}

/* The x of exp(x - max(x)), whose axes are `axes`; *most is max(x). */
static struct ir_value *under_exp(const struct ir_value *value, uint32_t axes,
				  const struct ir_value **most)
{
	const struct ir_node *exp = unary_of(value, IR_EXP);
	const struct ir_node *sub = exp ? binary_of(exp->operands[0], IR_SUB) : NULL;
	const struct ir_node *max = sub ? reduce_of(sub->operands[1], IR_REDUCE_MAX) : NULL;

	if (!max || max->operands[0] != sub->operands[0] || max->attrs.reduce.axes != axes ||
	    !ir_dtype_is_float(value->type.dtype))
		return NULL;
	*most = max->results[0];
	return sub->operands[0];
}

struct ir_value *rule_softmax_parts(struct rules *rules, struct ir_node *node)
{
	const struct ir_value *numerator = node->operands[0], *most;
	const struct ir_node *sum = node->attrs.binary.kind == IR_DIV &&
						    node->attrs.binary.act.kind == IR_UNARY_NONE ?
					    reduce_of(node->operands[1], IR_REDUCE_SUM) :
					    NULL;
	union ir_attrs attrs = { .axis = 0 };
	struct ir_value *x;

	if (!sum || sum->operands[0] != numerator || !rules_sole(rules, node->operands[1]) ||
	    rules_uses(rules, numerator) != 2 || rules_is_output(rules, numerator))
		return NULL;
	x = under_exp(numerator, sum->attrs.reduce.axes, &most);
	if (!x)
		return NULL;
	while (!(sum->attrs.reduce.axes >> attrs.axis & 1))
		attrs.axis++;
	return rules_emit(rules, IR_OP_SOFTMAX, &x, 1, &node->results[0]->type, &attrs,
			  numerator->def, node);
}
