// SPDX-License-Identifier: MIT
/*
 * Fuses an activation with the convolution, matrix product or element-wise operator of two operands
 * before it. There may be reshapes and transposes between them, as around convolutions of one
 * dimension.
 *
 * Precondition: a verified graph. Postcondition: a floating-point function of one operand is the
 * activation of the node before it, if that is such an operator without an activation and nothing
 * else uses its result. Behind reshapes and transposes this is not so for operators on dequantised
 * values. float16 is rounded once instead of twice.
 *
 *	%2 = conv(%0, %1)
 *	%3 = reshape(%2)
 *	%4 = unary(%3) relu			->	%3 = conv(%0, %1) act=relu ; conv2d+relu
 *						%4 = reshape(%3)
 */

#include "pass/rewrite.h"

#include "util/malloc.h"

/* Returns the activation among a node's attributes, or NULL when the operator has none. */
static struct ir_unary_attrs *activation_of(enum ir_op op, union ir_attrs *attrs)
{
	switch (op) {
	case IR_OP_CONV:
		return &attrs->conv.act;
	case IR_OP_MATMUL:
		return &attrs->matmul.act;
	case IR_OP_BINARY:
		return &attrs->binary.act;
	default:
		return NULL;
	}
}

/*
 * The most views (reshapes and transposes) in a row that are looked at, so that the work is linear
 * in the size of the graph.
 */
#define MAX_VIEWS 4

static bool is_view(const struct ir_node *node)
{
	return node->op == IR_OP_RESHAPE || node->op == IR_OP_TRANSPOSE;
}

/*
 * Returns whether an operand is dequantised, directly or with reshapes and transposes after it. The
 * function behind the views of such a node stays in its place, so that the passes for quantised
 * graphs see the operators in the order in which the application wrote them.
 */
static bool has_integers(const struct ir_node *node)
{
	for (uint32_t i = 0; i < node->num_operands; i++) {
		const struct ir_value *value = node->operands[i];

		for (int k = 0; k < MAX_VIEWS && value && value->kind == IR_VALUE_RESULT &&
				is_view(value->def);
		     k++)
			value = value->def->operands[0];
		if (value && value->kind == IR_VALUE_RESULT && value->def->op == IR_OP_DEQUANTIZE)
			return true;
	}
	return false;
}

static const struct ir_node *find_producer(const struct rewrite *rw, const struct ir_node *node)
{
	const struct ir_node *producer;
	struct ir_unary_attrs *act;
	int views = 0;

	/*
	 * Only functions from floats to floats are activations: isNaN returns uint8, for example.
	 */
	if (node->op != IR_OP_UNARY || !ir_dtype_is_float(node->operands[0]->type.dtype) ||
	    node->results[0]->type.dtype != node->operands[0]->type.dtype)
		return NULL;
	producer = rewrite_sole_producer(rw, node->operands[0]);
	for (; views < MAX_VIEWS && producer && is_view(producer); views++)
		producer = rewrite_sole_producer(rw, producer->operands[0]);
	act = producer ? activation_of(producer->op, (union ir_attrs *)&producer->attrs) : NULL;
	return act && act->kind == IR_UNARY_NONE && !(views && has_integers(producer)) ? producer :
											 NULL;
}

static int fuse(struct rewrite *rw, const struct ir_node *producer, const struct ir_node *unary)
{
	union ir_attrs attrs = producer->attrs;
	struct ir_value *operands[3];
	struct ir_node *node;

	for (uint32_t i = 0; i < producer->num_operands; i++)
		operands[i] = producer->operands[i] ? rw->value[producer->operands[i]->id] : NULL;
	*activation_of(producer->op, &attrs) = unary->attrs.unary;
	node = rewrite_add(rw, producer->op, operands, producer->num_operands,
			   &producer->results[0]->type, &attrs, producer, unary);
	if (!node)
		return -1;
	rw->value[producer->results[0]->id] = node->results[0];
	rw->fate[producer->id] = (struct rewrite_fate){ WNN_FATE_KEPT, node->id };
	rw->fate[unary->id] = (struct rewrite_fate){ WNN_FATE_FUSED, node->id };
	return 0;
}

/*
 * Fuses activations with the nodes before them. The fused node stands at the position of the
 * producer, whose operands exist there; the activation has no other operand, so that no value made
 * between the two nodes is missing. Returns 0 or -1.
 */
int pass_fuse_activation(struct rewrite *rw, const struct pass_context *ctx)
{
	const struct ir_node **user = wnn_calloc(rw->from->num_nodes + 1, sizeof(*user));
	bool *done = wnn_calloc(rw->from->num_nodes + 1, sizeof(*done));
	int ret = user && done ? 0 : rewrite_nomem(rw);

	(void)ctx;
	for (uint32_t n = 0; n < rw->from->num_nodes && !ret; n++) {
		const struct ir_node *producer = find_producer(rw, rw->from->nodes[n]);

		if (producer) {
			user[producer->id] = rw->from->nodes[n];
			done[n] = true;
		}
	}
	for (uint32_t n = 0; n < rw->from->num_nodes && !ret; n++) {
		const struct ir_node *node = rw->from->nodes[n];

		if (done[n])
			rw->value[node->results[0]->id] = rw->value[node->operands[0]->id];
		else
			ret = user[n] ? fuse(rw, node, user[n]) : rewrite_copy(rw, node);
	}
	wnn_free(user);
	wnn_free(done);
	return ret;
}
