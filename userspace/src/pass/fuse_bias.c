// SPDX-License-Identifier: MIT
/*
 * Fuses an addition with the convolution or matrix product before it, as its bias.
 *
 * Precondition: a verified graph, before activations are fused. Postcondition: an addition of one
 * number for each channel (column) to the result of a convolution or matrix product is part of that
 * product, at the position of the addition, if the product had no bias and the result no other use.
 * float16 is rounded once instead of twice.
 *
 *	%3 = conv(%0, %1)
 *	%4 = binary(%3, %2) add			->	%4 = conv(%0, %1, %2) ; conv2d+add
 */

#include "pass/channels.h"

#include "util/malloc.h"

static bool takes_bias(const struct ir_node *node)
{
	if (node->num_operands > 2 && node->operands[2])
		return false;
	if (node->op == IR_OP_CONV)
		return node->attrs.conv.act.kind == IR_UNARY_NONE;
	return node->op == IR_OP_MATMUL && node->attrs.matmul.act.kind == IR_UNARY_NONE;
}

/*
 * Returns the node that makes operand `side` of an addition, if it can take the other operand as
 * its bias; else NULL.
 */
static const struct ir_node *find_producer(const struct rewrite *rw, const struct ir_node *add,
					   uint32_t side)
{
	const struct ir_node *producer = rewrite_sole_producer(rw, add->operands[side]);

	if (!producer || !takes_bias(producer) ||
	    !ir_type_same_shape(&producer->results[0]->type, &add->results[0]->type) ||
	    !channels_each(producer, &add->operands[!side]->type))
		return NULL;
	return producer;
}

static int fuse(struct rewrite *rw, const struct ir_node *producer, const struct ir_node *add,
		const struct ir_value *bias)
{
	union ir_attrs attrs = producer->attrs;
	struct ir_value *operands[3] = {
		rw->value[producer->operands[0]->id],
		rw->value[producer->operands[1]->id],
		channels_vector(rw, add, rw->value[bias->id]),
	};

	if (!operands[2])
		return rewrite_nomem(rw);
	if (producer->op == IR_OP_MATMUL)
		attrs.matmul.beta = 1;
	return rewrite_emit(rw, producer->op, operands, 3, &attrs, producer, add) ? 0 : -1;
}

/*
 * Sets with[n] to the producer that is fused into node n, or NULL, and marks the producers in
 * `absorbed`.
 */
static void plan_fusions(const struct rewrite *rw, const struct ir_node **with, bool *absorbed)
{
	for (uint32_t n = 0; n < rw->from->num_nodes; n++) {
		const struct ir_node *node = rw->from->nodes[n];

		if (node->op != IR_OP_BINARY || node->attrs.binary.kind != IR_ADD ||
		    node->attrs.binary.act.kind != IR_UNARY_NONE)
			continue;
		for (uint32_t side = 0; side < 2 && !with[n]; side++)
			with[n] = find_producer(rw, node, side);
		if (with[n])
			absorbed[with[n]->id] = true;
	}
}

int pass_fuse_bias(struct rewrite *rw, const struct pass_context *ctx)
{
	const struct ir_node **with = wnn_calloc(rw->from->num_nodes + 1, sizeof(*with));
	bool *absorbed = wnn_calloc(rw->from->num_nodes + 1, sizeof(*absorbed));
	int ret = with && absorbed ? 0 : rewrite_nomem(rw);

	(void)ctx;
	if (!ret)
		plan_fusions(rw, with, absorbed);
	for (uint32_t n = 0; n < rw->from->num_nodes && !ret; n++) {
		const struct ir_node *node = rw->from->nodes[n];

		if (absorbed[n])
			continue;
		if (!with[n])
			ret = rewrite_copy(rw, node);
		else
			ret = fuse(rw, with[n], node,
				   node->operands[node->operands[0] == with[n]->results[0]]);
	}
	wnn_free(with);
	wnn_free(absorbed);
	return ret;
}
