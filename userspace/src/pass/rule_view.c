// SPDX-License-Identifier: MIT
/*
 * Rules for reshapes and transposes: consecutive ones become one, and pairs that undo each other
 * are removed.
 *
 *	%1 = transpose(%0) perm=0,2,3,1
 *	%2 = unary(%1) relu
 *	%3 = transpose(%2) perm=0,3,1,2	->	%3 = unary(%0) relu
 *
 * All results keep their bits.
 */
#include <string.h>

#include "pass/rules.h"
#include "pass/permute.h"

struct ir_value *rule_reshape_twice(struct rules *rules, struct ir_node *node)
{
	const struct ir_node *inner = rules_maker(node->operands[0], IR_OP_RESHAPE);
	const struct ir_type *type = &node->results[0]->type;

	if (!inner)
		return NULL;
	if (ir_type_same_shape(&inner->operands[0]->type, type) &&
	    rules_may_pass(rules, node, inner->operands[0]))
		return inner->operands[0];
	return rules_emit(rules, IR_OP_RESHAPE, inner->operands, 1, type, NULL, inner, node);
}

static bool keeps_order(const union ir_attrs *attrs, uint32_t rank)
{
	for (uint32_t i = 0; i < rank; i++)
		if (attrs->transpose.perm[i] != i)
			return false;
	return true;
}

/* Returns the attributes of one transpose that has the effect of `inner` followed by `outer`. */
static union ir_attrs compose(const struct ir_node *outer, const struct ir_node *inner)
{
	union ir_attrs attrs = { .transpose = { .perm = { 0 } } };

	for (uint32_t i = 0; i < outer->results[0]->type.rank; i++)
		attrs.transpose.perm[i] =
			inner->attrs.transpose.perm[outer->attrs.transpose.perm[i]];
	return attrs;
}

struct ir_value *rule_transpose_twice(struct rules *rules, struct ir_node *node)
{
	const struct ir_node *inner = rules_maker(node->operands[0], IR_OP_TRANSPOSE);
	union ir_attrs attrs;

	if (!inner)
		return NULL;
	attrs = compose(node, inner);
	if (keeps_order(&attrs, node->results[0]->type.rank) &&
	    rules_may_pass(rules, node, inner->operands[0]))
		return inner->operands[0];
	return rules_emit(rules, IR_OP_TRANSPOSE, inner->operands, 1, &node->results[0]->type,
			  &attrs, inner, node);
}

static bool swaps_last(const struct ir_node *transpose)
{
	uint32_t rank = transpose->results[0]->type.rank;

	for (uint32_t i = 0; i + 2 < rank; i++)
		if (transpose->attrs.transpose.perm[i] != i)
			return false;
	return rank >= 2;
}

/*
 * Replaces the transpose of a product by the product of its transposed operands in reverse order. A
 * constant matrix must remain the second operand, which is packed.
 */
struct ir_value *rule_transpose_product(struct rules *rules, struct ir_node *node)
{
	const struct ir_node *product = rules_sole(rules, node->operands[0]);
	struct ir_value *operands[2];
	union ir_attrs attrs;

	if (!product || product->op != IR_OP_MATMUL || !swaps_last(node) ||
	    (product->num_operands > 2 && product->operands[2]) ||
	    product->operands[1]->kind == IR_VALUE_CONSTANT)
		return NULL;
	operands[0] = product->operands[1];
	operands[1] = product->operands[0];
	attrs = product->attrs;
	attrs.matmul.a_transpose = !product->attrs.matmul.b_transpose;
	attrs.matmul.b_transpose = !product->attrs.matmul.a_transpose;
	return rules_emit(rules, IR_OP_MATMUL, operands, 2, &node->results[0]->type, &attrs,
			  product, node);
}

static bool same_order(const struct ir_node *a, const struct ir_node *b)
{
	return !memcmp(a->attrs.transpose.perm, b->attrs.transpose.perm,
		       a->results[0]->type.rank * sizeof(*a->attrs.transpose.perm));
}

/*
 * Returns the transpose before an element-wise function, or before several operands that are
 * transposed alike (constants of a single number may be among them), if nothing else uses the
 * transposed values; else NULL.
 */
static const struct ir_node *transpose_in_front(const struct rules *rules,
						const struct ir_node *function)
{
	const struct ir_node *found = NULL;
	uint32_t uses = 0;

	for (uint32_t i = 0; i < function->num_operands; i++) {
		const struct ir_value *operand = function->operands[i];
		const struct ir_node *transpose = rules_maker(operand, IR_OP_TRANSPOSE);

		if (transpose && (!found || same_order(found, transpose))) {
			uses += found ? found->results[0] == operand : 1;
			found = found ? found : transpose;
			if (rules_is_output(rules, operand) ||
			    (transpose != found && rules_uses(rules, operand) != 1))
				return NULL;
		} else if (operand->kind != IR_VALUE_CONSTANT ||
			   ir_type_elements(&operand->type) != 1) {
			return NULL;
		}
	}
	return found && rules_uses(rules, found->results[0]) == uses &&
			       ir_type_same_shape(&found->results[0]->type,
						  &function->results[0]->type) ?
		       found :
		       NULL;
}

/*
 * Moves a transpose after the function that follows it, until it meets another transpose or an
 * output.
 */
struct ir_value *rule_transpose_sinks(struct rules *rules, struct ir_node *node)
{
	const struct ir_node *transpose = transpose_in_front(rules, node);
	struct ir_value *operands[2], *value;
	struct ir_type type;

	if (!transpose || ir_dtype_bits(node->results[0]->type.dtype) >
				  ir_dtype_bits(transpose->results[0]->type.dtype))
		return NULL;
	for (uint32_t i = 0; i < node->num_operands; i++)
		operands[i] = rules_maker(node->operands[i], IR_OP_TRANSPOSE) ?
				      node->operands[i]->def->operands[0] :
				      node->operands[i];
	type = transpose->operands[0]->type;
	type.dtype = node->results[0]->type.dtype;
	value = rules_emit(rules, node->op, operands, node->num_operands, &type, &node->attrs, node,
			   NULL);
	return value ? rules_emit(rules, IR_OP_TRANSPOSE, &value, 1, &node->results[0]->type,
				  &transpose->attrs, transpose, NULL) :
		       NULL;
}

/* ---- a reshape of a transpose */

/*
 * Finds, for each axis i of a reshape's operand, the axes first[i] to first[i + 1] - 1 of its
 * result into which the reshape divides it; false when it does not just divide axes.
 */
static bool divides_axes(const struct ir_type *from, const struct ir_type *to, uint32_t *first)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < from->rank; i++) {
		int64_t size = 1;

		first[i] = at;
		while (at < to->rank && (size < ir_type_dim(from, i) || at == first[i]) &&
		       size * ir_type_dim(to, at) <= ir_type_dim(from, i))
			size *= ir_type_dim(to, at++);
		if (size != ir_type_dim(from, i))
			return false;
	}
	while (at < to->rank && ir_type_dim(to, at) == 1)
		at++;
	first[from->rank] = at;
	return at == to->rank;
}

/*
 * Moves a reshape that divides axes of a transpose's result, or adds and removes axes of size 1,
 * before the transpose: there the reshape costs nothing, and no node is left between the transpose
 * and the reader of its result.
 */
struct ir_value *rule_reshape_rises(struct rules *rules, struct ir_node *node)
{
	const struct ir_node *transpose = rules_sole(rules, node->operands[0]);
	const struct ir_type *to = &node->results[0]->type;
	uint32_t first[IR_MAX_RANK + 1], rank, count = 0;
	union ir_attrs attrs = { .transpose = { .perm = { 0 } } };
	struct ir_type type = *to;
	struct ir_value *value;

	if (!transpose || transpose->op != IR_OP_TRANSPOSE ||
	    !divides_axes(&node->operands[0]->type, to, first))
		return NULL;
	rank = transpose->results[0]->type.rank;
	for (uint32_t axis = 0; axis < rank; axis++)
		for (uint32_t i = 0; i < rank; i++)
			for (uint32_t k = first[i];
			     transpose->attrs.transpose.perm[i] == axis && k < first[i + 1]; k++) {
				type.dim[count] = to->dim[k];
				attrs.transpose.perm[k] = count++;
			}
	value = rules_emit(rules, IR_OP_RESHAPE, transpose->operands, 1, &type, NULL, node, NULL);
	if (!value || permute_moves_nothing(&type, attrs.transpose.perm))
		return value && !ir_type_same_shape(&type, to) ?
			       rules_emit(rules, IR_OP_RESHAPE, &value, 1, to, NULL, node, NULL) :
			       value;
	return rules_emit(rules, IR_OP_TRANSPOSE, &value, 1, to, &attrs, transpose, NULL);
}

/* ---- a transpose of a reshape */

/*
 * Whether a value is the result of a convolution, or of functions and batch normalisations after
 * one, and none of these results has another use.
 */
static bool makes_image(const struct rules *rules, const struct ir_value *value)
{
	for (int i = 0; i < 4; i++) {
		const struct ir_node *node = rules_sole(rules, value);

		if (!node || node->op == IR_OP_CONV)
			return node != NULL;
		if (node->op != IR_OP_UNARY && node->op != IR_OP_BATCHNORM)
			return false;
		value = node->operands[0];
	}
	return false;
}

/*
 * Whether a reshape drops the axis of the rows or that of the columns of images, whose size is 1.
 */
static bool drops_one(const struct ir_type *from, const struct ir_type *to)
{
	for (uint32_t axis = 2; from->rank == 4 && axis < 4; axis++) {
		struct ir_type less = *from;

		less.rank = 3;
		less.dim[2] = from->dim[5 - axis];
		if (ir_type_dim(from, axis) == 1 && ir_type_same_shape(&less, to))
			return true;
	}
	return false;
}

/*
 * Moves a transpose that brings channels to the end in front of the reshape after a convolution of
 * one dimension, so that the transpose can become the layout of the convolution.
 */
struct ir_value *rule_transpose_rises(struct rules *rules, struct ir_node *node)
{
	static const uint32_t lines[] = { 0, 2, 1 }, images[] = { 0, 2, 3, 1 };
	const struct ir_node *reshape = rules_sole(rules, node->operands[0]);
	union ir_attrs attrs = { .transpose = { .perm = { 0 } } };
	struct ir_value *value;
	struct ir_type type;

	if (!reshape || reshape->op != IR_OP_RESHAPE ||
	    !drops_one(&reshape->operands[0]->type, &node->operands[0]->type) ||
	    memcmp(node->attrs.transpose.perm, lines, sizeof(lines)) != 0 ||
	    !makes_image(rules, reshape->operands[0]))
		return NULL;
	type = reshape->operands[0]->type;
	memcpy(attrs.transpose.perm, images, sizeof(images));
	for (uint32_t i = 0; i < type.rank; i++)
		type.dim[i] = reshape->operands[0]->type.dim[images[i]];
	value = rules_emit(rules, IR_OP_TRANSPOSE, reshape->operands, 1, &type, &attrs, node, NULL);
	return value ? rules_emit(rules, IR_OP_RESHAPE, &value, 1, &node->results[0]->type, NULL,
				  reshape, NULL) :
		       NULL;
}
