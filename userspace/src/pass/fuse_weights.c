// SPDX-License-Identifier: MIT
/*
 * Fuses the dequantisation of a constant of 4 or 8 bits with the matrix product that uses it, so
 * that the product loads integers instead of floats.
 *
 * Precondition: a verified graph; constants that are to be dequantised at build are dequantised.
 * Postcondition: a product whose second operand is a dequantised constant of one matrix is one
 * node. The result has equal bits.
 *
 *	%2 = dequantize(%1, s, z)
 *	%3 = matmul(%0, %2)			->	%3 = wmatmul(%0, %1, s, z)
 */
#include "pass/rewrite.h"

#include "util/malloc.h"

static bool is_packed(enum ir_dtype dtype)
{
	return dtype == IR_I8 || dtype == IR_U8 || dtype == IR_I4 || dtype == IR_U4;
}

/* Returns the dequantisation that makes the second operand of a node, or NULL. */
static const struct ir_node *find_weights(const struct ir_node *node)
{
	const struct ir_value *b = node->op == IR_OP_MATMUL ? node->operands[1] : NULL;
	const struct ir_node *def = b && b->kind == IR_VALUE_RESULT ? b->def : NULL;
	const struct ir_type *type = def ? &b->type : NULL;

	if (!def || def->op != IR_OP_DEQUANTIZE || !is_packed(def->operands[0]->type.dtype) ||
	    type->dtype != node->operands[0]->type.dtype)
		return NULL;
	for (uint32_t i = 0; i < 3; i++)
		if (def->operands[i]->kind != IR_VALUE_CONSTANT ||
		    def->operands[i]->type.rank != type->rank)
			return NULL;
	for (uint32_t d = 0; d + 2 < type->rank; d++)
		if (ir_type_dim(type, d) != 1)
			return NULL;
	return def;
}

static int fuse(struct rewrite *rw, const struct ir_node *node, const struct ir_node *weights,
		bool sole)
{
	struct ir_value *operands[5] = { rw->value[node->operands[0]->id] };
	bool has_bias = node->num_operands > 2 && node->operands[2];
	struct ir_node *fused;

	for (uint32_t i = 0; i < 3; i++)
		operands[1 + i] = rw->value[weights->operands[i]->id];
	if (has_bias)
		operands[4] = rw->value[node->operands[2]->id];
	fused = rewrite_emit(rw, IR_OP_WMATMUL, operands, has_bias ? 5 : 4, &node->attrs, node,
			     NULL);
	if (fused && sole)
		rw->fate[weights->id] = (struct rewrite_fate){ WNN_FATE_FUSED, fused->id };
	return fused ? 0 : -1;
}

int pass_fuse_weights(struct rewrite *rw, const struct pass_context *ctx)
{
	uint32_t *uses = wnn_calloc(rw->from->num_values + 1, sizeof(*uses));
	int ret = uses ? 0 : rewrite_nomem(rw);

	(void)ctx;
	for (uint32_t n = 0; n < rw->from->num_nodes && !ret; n++)
		if (find_weights(rw->from->nodes[n]))
			uses[rw->from->nodes[n]->operands[1]->id]++;
	for (uint32_t n = 0; n < rw->from->num_nodes && !ret; n++) {
		const struct ir_node *node = rw->from->nodes[n], *weights = find_weights(node);

		if (weights)
			ret = fuse(rw, node, weights,
				   uses[node->operands[1]->id] == rw->uses[node->operands[1]->id]);
		else
			ret = rewrite_copy(rw, node);
	}
	wnn_free(uses);
	return ret;
}
