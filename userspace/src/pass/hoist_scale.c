// SPDX-License-Identifier: MIT
/*
 * Moves the factor of a product's result to its first operand, where that is the smaller one, as it is in attention.
 *
 * Precondition: a verified graph without integers. Postcondition: where the result has twice as many elements as the first
 * operand or more, a constant that it alone is multiplied with or divided by is a factor of that operand, when no more than
 * the last bits change by that: in float32 a factor from 2^-24 to 1, in float16 a power of two among these.
 *
 *	%2 = matmul(%0, %1)			%2 = binary(%0, 0.125) mul
 *	%3 = binary(%2, 0.125) mul	->	%3 = matmul(%2, %1)
 */

#include "pass/rewrite.h"

#include <math.h>

#include "util/malloc.h"

#define LEAST_FACTOR 0x1p-24

/* A product and the factor of its result. */
struct scaled {
	const struct ir_node *product, *node; /* node: multiplies or divides */
	const struct ir_value *factor;
};

/* Whether the factor may be one of the product's first operand instead. */
static bool is_harmless(const struct scaled *s, double number)
{
	const struct ir_value *first = s->product->operands[0];
	double value = fabs(s->node->attrs.binary.kind == IR_DIV ? 1 / number : number);
	int exponent;

	return first->kind != IR_VALUE_CONSTANT && s->factor->type.rank <= first->type.rank &&
	       ir_type_elements(&s->product->results[0]->type) >=
		       2 * ir_type_elements(&first->type) &&
	       value >= LEAST_FACTOR && value <= 1 &&
	       (first->type.dtype == IR_F32 || frexp(value, &exponent) == 0.5);
}

static bool find_scaled(const struct rewrite *rw, const struct ir_node *node, struct scaled *s)
{
	enum ir_binary kind = node->attrs.binary.kind;
	double number;

	if (node->op != IR_OP_BINARY || node->attrs.binary.act.kind != IR_UNARY_NONE)
		return false;
	for (uint32_t i = 0; i < (kind == IR_MUL ? 2 : kind == IR_DIV ? 1 : 0); i++) {
		*s = (struct scaled){ rewrite_sole_producer(rw, node->operands[i]), node,
				      node->operands[!i] };
		if (s->product && s->product->op == IR_OP_MATMUL &&
		    (s->product->num_operands < 3 || !s->product->operands[2]) &&
		    s->product->attrs.matmul.act.kind == IR_UNARY_NONE &&
		    ir_type_elements(&s->factor->type) == 1 && rewrite_number(s->factor, &number) &&
		    is_harmless(s, number))
			return true;
	}
	return false;
}

static int hoist(struct rewrite *rw, const struct scaled *s)
{
	const struct ir_value *first = s->product->operands[0];
	struct ir_value *operands[2] = { rw->value[first->id], rw->value[s->factor->id] };
	struct ir_node *node = ir_add_node(rw->to, IR_OP_BINARY, operands, 2, &first->type, 1,
					   &s->node->attrs, s->node->label, s->node->source);

	if (!node)
		return rewrite_nomem(rw);
	operands[0] = node->results[0];
	operands[1] = rw->value[s->product->operands[1]->id];
	return rewrite_emit(rw, IR_OP_MATMUL, operands, 2, &s->product->attrs, s->product,
			    s->node) ?
		       0 :
		       -1;
}

int pass_hoist_scale(struct rewrite *rw, const struct pass_context *ctx)
{
	struct scaled *by_product = wnn_calloc(rw->from->num_nodes + 1, sizeof(*by_product)), s;
	bool *gone = wnn_calloc(rw->from->num_nodes + 1, sizeof(*gone));
	int ret = by_product && gone ? 0 : rewrite_nomem(rw);

	(void)ctx;
	for (uint32_t n = 0; n < rw->from->num_nodes && !ret; n++)
		if (find_scaled(rw, rw->from->nodes[n], &s)) {
			by_product[s.product->id] = s;
			gone[n] = true;
		}
	for (uint32_t n = 0; n < rw->from->num_nodes && !ret; n++)
		if (!gone[n])
			ret = by_product[n].product ? hoist(rw, &by_product[n]) :
						      rewrite_copy(rw, rw->from->nodes[n]);
	wnn_free(by_product);
	wnn_free(gone);
	return ret;
}
