// SPDX-License-Identifier: MIT
/*
 * Leaves out nodes that do nothing, and replaces a transpose that only moves dimensions of size 1
 * by a reshape.
 *
 * Precondition: a verified graph. Postcondition: no node is left that does_nothing() finds, except
 * where the result is an output of the graph and the operand an input or constant (an output needs
 * a node). Functions with a neutral operand, such as x * 1, are left to rule_chain.c.
 *
 *	%1 = reshape(%0) ; same shape			output "y" = %3
 *	%2 = unary(%1) clamp(-inf,inf)		->	%3 = unary(%0) relu
 *	%3 = unary(%2) relu
 */
#include <math.h>

#include "pass/rewrite.h"

static bool clamp_is_open(const struct ir_unary_attrs *a, enum ir_dtype dtype)
{
	switch (dtype) {
	case IR_F32:
	case IR_F16:
		return isinf(a->alpha) && a->alpha < 0 && isinf(a->beta) && a->beta > 0;
	case IR_I8:
		return a->ilo == INT8_MIN && a->ihi == INT8_MAX;
	case IR_I32:
		return a->ilo == INT32_MIN && a->ihi == INT32_MAX;
	case IR_I64:
		return a->ilo == INT64_MIN && a->ihi == INT64_MAX;
	case IR_U8:
		return a->ulo == 0 && a->uhi == UINT8_MAX;
	case IR_U32:
		return a->ulo == 0 && a->uhi == UINT32_MAX;
	case IR_U64:
		return a->ulo == 0 && a->uhi == UINT64_MAX;
	default:
		return false;
	}
}

static bool keeps_order(const struct ir_node *node)
{
	for (uint32_t i = 0; i < node->results[0]->type.rank; i++)
		if (node->attrs.transpose.perm[i] != i)
			return false;
	return true;
}

/* Whether a transpose keeps the order of the dimensions larger than 1. */
static bool moves_only_ones(const struct ir_node *node)
{
	const struct ir_type *from = &node->operands[0]->type;
	int64_t last = -1;

	for (uint32_t i = 0; i < from->rank; i++) {
		uint32_t axis = node->attrs.transpose.perm[i];

		if (ir_type_dim(from, axis) == 1)
			continue;
		if (axis < last)
			return false;
		last = axis;
	}
	return true;
}

static bool reverses_nothing(const struct ir_node *node)
{
	const struct ir_type *type = &node->operands[0]->type;

	for (uint32_t i = 0; i < type->rank; i++)
		if ((node->attrs.axes >> i & 1) && ir_type_dim(type, i) != 1)
			return false;
	return true;
}

/* Whether the result of a node always has the bits of its operand. */
static bool does_nothing(const struct ir_node *node)
{
	const struct ir_type *from = &node->operands[0]->type, *to = &node->results[0]->type;

	if (from->dtype != to->dtype || !ir_type_same_shape(from, to))
		return false;
	switch (node->op) {
	case IR_OP_COPY:
	case IR_OP_CAST:
	case IR_OP_RESHAPE:
	case IR_OP_EXPAND:
	case IR_OP_TILE:
	case IR_OP_PAD:
	case IR_OP_SLICE: /* a slice of the same shape starts at 0, and strides have no effect */
		return true;
	case IR_OP_CONCAT:
		return node->num_operands == 1;
	case IR_OP_TRANSPOSE:
		return keeps_order(node);
	case IR_OP_REVERSE:
		return reverses_nothing(node);
	case IR_OP_UNARY:
		return node->attrs.unary.kind == IR_CLAMP &&
		       clamp_is_open(&node->attrs.unary, from->dtype);
	default:
		return false;
	}
}

int pass_simplify(struct rewrite *rw, const struct pass_context *ctx)
{
	(void)ctx;
	for (uint32_t n = 0; n < rw->from->num_nodes; n++) {
		const struct ir_node *node = rw->from->nodes[n];
		struct ir_value *operand = node->num_operands && node->operands[0] ?
						   rw->value[node->operands[0]->id] :
						   NULL;

		if (operand && does_nothing(node) &&
		    (operand->kind == IR_VALUE_RESULT || !rw->is_output[node->results[0]->id])) {
			rewrite_bypass(rw, node, operand, WNN_FATE_VIEW);
			continue;
		}
		if (node->op == IR_OP_TRANSPOSE && moves_only_ones(node)) {
			if (!rewrite_emit(rw, IR_OP_RESHAPE, &operand, 1, NULL, node, NULL))
				return -1;
			continue;
		}
		if (rewrite_copy(rw, node))
			return -1;
	}
	return 0;
}
