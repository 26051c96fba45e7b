// SPDX-License-Identifier: MIT
/*
 * Rules for grouped-query attention: several heads of queries share a head of keys and values,
 * which exporters repeat before the matrix products. The products can broadcast it instead.
 *
 *	%2 = expand(%1) [b,kv,1,t,d] -> [b,kv,n,t,d]	%5 = reshape(%0) -> [b,kv,n,s,t]
 *	%3 = reshape(%2) -> [b,kv*n,t,d]	->	%6 = matmul(%5, %1) [b,kv,n,s,d]
 *	%4 = matmul(%0, %3) [b,kv*n,s,d]		%4 = reshape(%6) -> [b,kv*n,s,d]
 *
 * The reshape of the result then moves after the nodes that follow, until the reshape in front of
 * the next product undoes it. All results keep their bits, except where sums are made in another
 * order.
 */
#include <string.h>

#include "pass/rules.h"

/* Returns a type with one axis divided into two. */
static struct ir_type split_axis(const struct ir_type *type, uint32_t axis, struct ir_dim outer,
				 struct ir_dim inner)
{
	struct ir_type split = *type;

	for (uint32_t i = axis + 1; i < type->rank; i++)
		split.dim[i + 1] = type->dim[i];
	split.dim[axis] = outer;
	split.dim[axis + 1] = inner;
	split.rank++;
	return split;
}

/*
 * Finds the axis of a reshape's result into which two axes of its operand were merged while all
 * others stayed; false for all other reshapes.
 */
static bool find_merged(const struct ir_node *reshape, uint32_t *axis)
{
	const struct ir_type *from = &reshape->operands[0]->type, *to = &reshape->results[0]->type;

	if (from->rank != to->rank + 1)
		return false;
	for (*axis = 0; *axis < to->rank; ++*axis) {
		struct ir_type split =
			split_axis(to, *axis, from->dim[*axis], from->dim[*axis + 1]);

		if (ir_type_same_shape(&split, from) &&
		    ir_type_elements(from) == ir_type_elements(to))
			return true;
	}
	return false;
}

/* An operand of a product whose heads are repeated by expand, reshape and maybe transpose. */
struct repeated {
	/* the value before the expand; the axis that is expanded has size 1 there */
	struct ir_value *value;
	const struct ir_node *transpose; /* transpose of the repeated value; NULL: none */
	const struct ir_node *expand;
	struct ir_type whole; /* the expanded type */
	/*
	 * the axis of `whole` that the reshape merges with the axis after it into the axis of the
	 * heads
	 */
	uint32_t axis;
};

static bool is_expand(const struct ir_node *node)
{
	const struct ir_type *from = &node->operands[0]->type, *to = &node->results[0]->type;

	if ((node->op != IR_OP_EXPAND && node->op != IR_OP_TILE) || from->rank != to->rank)
		return false;
	for (uint32_t i = 0; i < to->rank; i++)
		if (ir_type_dim(from, i) != 1 && ir_type_dim(from, i) != ir_type_dim(to, i))
			return false;
	return true;
}

static const struct ir_node *maker_of(const struct ir_value *value)
{
	return value->kind == IR_VALUE_RESULT ? value->def : NULL;
}

/* Whether only the axes of the heads are expanded. */
static bool repeats_heads(const struct repeated *r)
{
	for (uint32_t i = 0; i < r->whole.rank; i++)
		if (ir_type_dim(&r->value->type, i) != ir_type_dim(&r->whole, i) && i != r->axis &&
		    i != r->axis + 1)
			return false;
	return true;
}

static bool find_repeated(const struct ir_value *operand, struct repeated *r)
{
	const struct ir_node *node = maker_of(operand);

	r->transpose = NULL;
	if (node && node->op == IR_OP_TRANSPOSE) {
		r->transpose = node;
		node = maker_of(node->operands[0]);
	}
	if (!node || node->op != IR_OP_RESHAPE || !find_merged(node, &r->axis))
		return false;
	r->expand = maker_of(node->operands[0]);
	if (!r->expand || !is_expand(r->expand))
		return false;
	r->value = r->expand->operands[0];
	r->whole = r->expand->results[0]->type;
	return repeats_heads(r);
}

/*
 * Returns the axis to which a transpose moves an axis of its operand; the axis itself when
 * transpose is NULL.
 */
static uint32_t axis_after(const struct ir_node *transpose, uint32_t axis)
{
	uint32_t i = 0;

	while (transpose && transpose->attrs.transpose.perm[i] != axis)
		i++;
	return transpose ? i : axis;
}

/*
 * Emits a transpose of a value in which `axis` has been divided into two; NULL when out of memory.
 */
static struct ir_value *emit_transpose(struct rules *rules, struct ir_value *value, uint32_t axis,
				       const struct ir_node *transpose)
{
	const uint32_t *perm = transpose->attrs.transpose.perm;
	union ir_attrs attrs = { .transpose = { .perm = { 0 } } };
	struct ir_type type = value->type;
	uint32_t count = 0;

	for (uint32_t i = 0; i + 1 < type.rank; i++) {
		attrs.transpose.perm[count++] = perm[i] + (perm[i] > axis);
		if (perm[i] == axis)
			attrs.transpose.perm[count++] = axis + 1;
	}
	for (uint32_t i = 0; i < type.rank; i++)
		type.dim[i] = value->type.dim[attrs.transpose.perm[i]];
	return rules_emit(rules, IR_OP_TRANSPOSE, &value, 1, &type, &attrs, transpose, NULL);
}

static struct ir_value *emit_reshape(struct rules *rules, struct ir_value *value,
				     const struct ir_type *type, const struct ir_node *main)
{
	return value->kind == IR_VALUE_CONSTANT ?
		       rules_reshaped(rules, value, type) :
		       rules_emit(rules, IR_OP_RESHAPE, &value, 1, type, NULL, main, NULL);
}

/*
 * Returns the value with its heads divided into two axes; NULL when out of memory. A transpose
 * stays after the reshape, so that the value may be read in place.
 */
static struct ir_value *emit_divided(struct rules *rules, struct ir_value *value, uint32_t axis,
				     const struct repeated *r)
{
	const struct ir_node *transpose = rules_maker(value, IR_OP_TRANSPOSE);
	struct ir_value *from = transpose ? transpose->operands[0] : value;
	struct ir_type type;

	if (transpose)
		axis = transpose->attrs.transpose.perm[axis];
	type = split_axis(&from->type, axis, r->whole.dim[r->axis], r->whole.dim[r->axis + 1]);
	value = emit_reshape(rules, from, &type, r->expand);
	return value && transpose ? emit_transpose(rules, value, axis, transpose) : value;
}

/*
 * Finds the operand of a product whose heads are repeated while the other operand has all of them,
 * and sets *side and *r; false when there is none.
 */
static bool find_side(const struct ir_node *node, struct repeated *r, uint32_t *side)
{
	const struct ir_type *result = &node->results[0]->type;

	for (*side = 0; *side < 2; ++*side) {
		const struct ir_type *other = &node->operands[!*side]->type;
		uint32_t axis;

		if (node->operands[*side]->type.rank != result->rank ||
		    other->rank != result->rank || result->rank == IR_MAX_RANK ||
		    !find_repeated(node->operands[*side], r))
			continue;
		axis = axis_after(r->transpose, r->axis);
		if (axis + 2 < result->rank &&
		    ir_type_dim(other, axis) == ir_type_dim(result, axis))
			return true;
	}
	return false;
}

struct ir_value *rule_repeated_heads(struct rules *rules, struct ir_node *node)
{
	struct ir_value *operands[3] = { NULL }, *value;
	struct repeated r;
	struct ir_type type;
	uint32_t side, axis;

	if (!find_side(node, &r, &side))
		return NULL;
	axis = axis_after(r.transpose, r.axis);
	operands[side] = r.transpose ? emit_transpose(rules, r.value, r.axis, r.transpose) :
				       r.value;
	operands[!side] = emit_divided(rules, node->operands[!side], axis, &r);
	if (node->num_operands > 2)
		operands[2] = node->operands[2];
	if (!operands[0] || !operands[1])
		return NULL;
	type = split_axis(&node->results[0]->type, axis, r.whole.dim[r.axis],
			  r.whole.dim[r.axis + 1]);
	value = rules_emit(rules, IR_OP_MATMUL, operands, node->num_operands, &type, &node->attrs,
			   node, NULL);
	return value ? rules_emit(rules, IR_OP_RESHAPE, &value, 1, &node->results[0]->type, NULL,
				  r.expand, NULL) :
		       NULL;
}

/* ---- an operand that is expanded along batch axes */

struct ir_value *rule_expand_before_product(struct rules *rules, struct ir_node *node)
{
	const struct ir_type *result = &node->results[0]->type;
	struct ir_value *operands[3] = { NULL };
	bool found = false;

	for (uint32_t i = 0; i < node->num_operands; i++) {
		const struct ir_node *expand = node->operands[i] ? maker_of(node->operands[i]) :
								   NULL;
		const struct ir_type *other = i < 2 ? &node->operands[!i]->type : NULL, *from;

		operands[i] = node->operands[i];
		if (found || i > 1 || !expand || !is_expand(expand) || other->rank != result->rank)
			continue;
		from = &expand->operands[0]->type;
		found = from->rank == result->rank;
		for (uint32_t k = 0; k < from->rank; k++)
			if (ir_type_dim(from, k) != ir_type_dim(&expand->results[0]->type, k))
				found &= k + 2 < result->rank &&
					 ir_type_dim(other, k) == ir_type_dim(result, k);
		if (found)
			operands[i] = expand->operands[0];
	}
	return found ? rules_emit(rules, IR_OP_MATMUL, operands, node->num_operands, result,
				  &node->attrs, node, NULL) :
		       NULL;
}

/* ---- the reshape of a product's result */

/*
 * Returns the reshape that makes `value` and merges its two axes of heads, if nothing else uses the
 * value; else NULL.
 */
static const struct ir_node *heads_joined(const struct rules *rules, const struct ir_value *value,
					  uint32_t *axis)
{
	const struct ir_node *reshape = rules_sole(rules, value), *maker;

	if (!reshape || reshape->op != IR_OP_RESHAPE || !find_merged(reshape, axis) ||
	    *axis + 2 >= value->type.rank)
		return NULL;
	maker = maker_of(reshape->operands[0]);
	return maker && (maker->op == IR_OP_MATMUL || maker->op == IR_OP_BINARY ||
			 maker->op == IR_OP_UNARY || maker->op == IR_OP_WHERE ||
			 maker->op == IR_OP_SOFTMAX) ?
		       reshape :
		       NULL;
}

struct ir_value *rule_heads_sink_transpose(struct rules *rules, struct ir_node *node)
{
	uint32_t axis;
	const struct ir_node *reshape = heads_joined(rules, node->operands[0], &axis);
	struct ir_value *value;

	if (!reshape)
		return NULL;
	value = emit_transpose(rules, reshape->operands[0], axis, node);
	return value ? rules_emit(rules, IR_OP_RESHAPE, &value, 1, &node->results[0]->type, NULL,
				  reshape, NULL) :
		       NULL;
}

/*
 * Returns an operand of a node, which is broadcast, with the axis of the heads divided into two;
 * NULL when out of memory.
 */
static struct ir_value *divide_heads(struct rules *rules, struct ir_value *value,
				     const struct ir_type *whole, uint32_t axis,
				     const struct ir_node *main)
{
	uint32_t missing = whole->rank - 1 - value->type.rank;
	struct ir_type type;
	bool one;

	if (axis < missing)
		return value;
	axis -= missing;
	one = ir_type_dim(&value->type, axis) == 1;
	type = split_axis(&value->type, axis,
			  one ? (struct ir_dim){ 1, 0 } : whole->dim[axis + missing],
			  one ? (struct ir_dim){ 1, 0 } : whole->dim[axis + missing + 1]);
	return emit_reshape(rules, value, &type, main);
}

struct ir_value *rule_heads_sink(struct rules *rules, struct ir_node *node)
{
	const struct ir_type *type = &node->results[0]->type;
	const struct ir_node *reshape = NULL;
	union ir_attrs attrs = node->attrs;
	struct ir_value *operands[3], *value;
	struct ir_type whole;
	uint32_t axis = 0, side = 0;

	for (; side < node->num_operands && !reshape; side++)
		reshape = heads_joined(rules, node->operands[side], &axis);
	if (!reshape || !ir_type_same_shape(&reshape->results[0]->type, type) ||
	    (node->op == IR_OP_SOFTMAX && node->attrs.axis <= axis))
		return NULL;
	side--;
	whole = reshape->operands[0]->type;
	for (uint32_t i = 0; i < node->num_operands; i++) {
		operands[i] = i == side ?
				      reshape->operands[0] :
				      divide_heads(rules, node->operands[i], &whole, axis, reshape);
		if (!operands[i])
			return NULL;
	}
	if (node->op == IR_OP_SOFTMAX)
		attrs.axis++;
	whole.dtype = type->dtype;
	value = rules_emit(rules, node->op, operands, node->num_operands, &whole, &attrs, node,
			   NULL);
	return value ? rules_emit(rules, IR_OP_RESHAPE, &value, 1, type, NULL, reshape, NULL) :
		       NULL;
}
