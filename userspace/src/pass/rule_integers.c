// SPDX-License-Identifier: MIT
/*
 * Rules for constant integers of 8 bits that become floats while a graph runs, such as embedding
 * tables and weights.
 *
 *	%2 = cast(%0)				%2 = gather(%0, %9)
 *	%3 = binary(%2, 0.5) mul
 *	%4 = gather(%3, %9)		->	%4 = dequantize(%2, 0.5, 0) ; gather+cast+mul
 *
 * All results keep their bits: a cast of such integers is exact, and each product is rounded once.
 */
#include "pass/rules.h"
#include "util/malloc.h"

/*
 * Returns the node with operator `op` that converts a constant of 8-bit integers to floats; NULL
 * when there is none.
 */
static const struct ir_node *from_integers(const struct ir_value *value, enum ir_op op)
{
	const struct ir_node *node = rules_maker(value, op);
	const struct ir_value *integers = node ? node->operands[0] : NULL;

	return integers && integers->kind == IR_VALUE_CONSTANT &&
			       (integers->type.dtype == IR_I8 || integers->type.dtype == IR_U8) ?
		       node :
		       NULL;
}

/*
 * Sets *wide to the type of scales with as many dimensions as the integers that they are broadcast
 * to; false when they cannot be.
 */
static bool widened_type(const struct ir_type *scale, const struct ir_type *type,
			 struct ir_type *wide)
{
	uint32_t missing;

	if (scale->rank > type->rank)
		return false;
	missing = type->rank - scale->rank;
	*wide = *type;
	wide->dtype = scale->dtype;
	for (uint32_t i = 0; i < type->rank; i++) {
		wide->dim[i].value = i < missing ? 1 : ir_type_dim(scale, i - missing);
		if (ir_type_dim(wide, i) != 1 && ir_type_dim(wide, i) != ir_type_dim(type, i))
			return false;
	}
	return true;
}

static struct ir_value *zeros(struct rules *rules, const struct ir_type *scale, enum ir_dtype dtype)
{
	struct ir_type type = *scale;
	void *data;

	type.dtype = dtype;
	data = wnn_calloc(1, (size_t)ir_type_bytes(&type));
	if (!data) {
		rules_nomem(rules);
		return NULL;
	}
	return rules_constant(rules, &type, data);
}

/*
 * Replaces the product of constants and cast constant integers by a dequantisation, with which
 * matrix products can be fused and which can be moved after a gather.
 */
struct ir_value *rule_scaled_integers(struct rules *rules, struct ir_node *node)
{
	const struct ir_node *cast = NULL;
	struct ir_value *operands[3];
	struct ir_type wide;
	uint32_t side = 0;

	if (node->attrs.binary.kind != IR_MUL || node->attrs.binary.act.kind != IR_UNARY_NONE)
		return NULL;
	for (; side < 2 && !cast; side++)
		cast = from_integers(node->operands[side], IR_OP_CAST);
	if (!cast || node->operands[side == 1]->kind != IR_VALUE_CONSTANT ||
	    !ir_dtype_is_float(cast->results[0]->type.dtype) ||
	    !ir_type_same_shape(&cast->results[0]->type, &node->results[0]->type) ||
	    !widened_type(&node->operands[side == 1]->type, &cast->operands[0]->type, &wide))
		return NULL;
	operands[0] = cast->operands[0];
	operands[1] = rules_reshaped(rules, node->operands[side == 1], &wide);
	operands[2] = zeros(rules, &wide, operands[0]->type.dtype);
	if (!operands[1] || !operands[2])
		return NULL;
	return rules_emit(rules, IR_OP_DEQUANTIZE, operands, 3, &node->results[0]->type, NULL, cast,
			  node);
}

/*
 * Transposes constant integers, when the graph is built, instead of the floats that they are
 * converted to in each run.
 */
struct ir_value *rule_transpose_integers(struct rules *rules, struct ir_node *node)
{
	const struct ir_node *from = rules_sole(rules, node->operands[0]);
	struct ir_value *operands[3];

	if (!from || !from_integers(node->operands[0], IR_OP_DEQUANTIZE))
		return NULL;
	for (uint32_t i = 0; i < 3; i++) {
		const struct ir_type *old = &from->operands[i]->type;
		struct ir_type type = *old;

		if (from->operands[i]->kind != IR_VALUE_CONSTANT ||
		    old->rank != node->results[0]->type.rank)
			return NULL;
		for (uint32_t d = 0; d < old->rank; d++)
			type.dim[d] = old->dim[node->attrs.transpose.perm[d]];
		operands[i] = rules_emit(rules, IR_OP_TRANSPOSE, &from->operands[i], 1, &type,
					 &node->attrs, node, NULL);
		if (!operands[i])
			return NULL;
	}
	return rules_emit(rules, IR_OP_DEQUANTIZE, operands, 3, &node->results[0]->type, NULL, from,
			  NULL);
}

/*
 * Returns the scales or zero points of the gathered rows. NULL when each of several blocks of rows
 * has one of its own, or out of memory.
 */
static struct ir_value *gathered(struct rules *rules, const struct ir_node *gather,
				 struct ir_value *scale, const struct ir_type *table)
{
	uint32_t axis = gather->attrs.gather.axis;
	const struct ir_type *indices = &gather->operands[1]->type, *from = &scale->type;
	struct ir_type type = { .dtype = from->dtype };
	struct ir_value *operands[2] = { scale, gather->operands[1] };
	bool each = ir_type_dim(from, axis) != 1;

	for (uint32_t i = 0; i < from->rank; i++)
		for (uint32_t k = 0; k < (i == axis ? indices->rank : 1); k++) {
			type.dim[type.rank] = i == axis ? indices->dim[k] : from->dim[i];
			if (i == axis && !each)
				type.dim[type.rank].value = 1;
			type.rank++;
		}
	if (!each)
		return rules_reshaped(rules, scale, &type);
	if (ir_type_dim(from, axis) != ir_type_dim(table, axis))
		return NULL;
	return rules_emit(rules, IR_OP_GATHER, operands, 2, &type, &gather->attrs, gather, NULL);
}

/*
 * Gathers rows of integers and converts these, instead of converting the whole table in each run.
 */
struct ir_value *rule_gather_integers(struct rules *rules, struct ir_node *node)
{
	const struct ir_node *from = from_integers(node->operands[0], IR_OP_DEQUANTIZE);
	struct ir_type type = node->results[0]->type;
	struct ir_value *operands[3];
	uint32_t count = from ? 3 : 1;

	from = from ? from : from_integers(node->operands[0], IR_OP_CAST);
	if (!from || node->attrs.gather.kind != IR_GATHER_AXIS)
		return NULL;
	type.dtype = from->operands[0]->type.dtype;
	for (uint32_t i = 1; i < count; i++) {
		if (from->operands[i]->kind != IR_VALUE_CONSTANT ||
		    from->operands[i]->type.rank != from->operands[0]->type.rank)
			return NULL;
		operands[i] = gathered(rules, node, from->operands[i], &from->operands[0]->type);
		if (!operands[i])
			return NULL;
	}
	operands[0] = rules_emit(rules, IR_OP_GATHER,
				 (struct ir_value *[]){ from->operands[0], node->operands[1] }, 2,
				 &type, &node->attrs, node, NULL);
	if (!operands[0])
		return NULL;
	return rules_emit(rules, from->op, operands, count, &node->results[0]->type, NULL, from,
			  NULL);
}
