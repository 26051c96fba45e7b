// SPDX-License-Identifier: MIT
/*
 * Rules that move a number by which the operands or the result of a matrix product are multiplied
 * or divided into the factor of the product, which costs nothing.
 *
 *	%3 = binary(%0, 0.5) mul
 *	%4 = transpose(%3)			%4 = transpose(%0)
 *	%5 = matmul(%2, %4)		->	%6 = matmul(%2, %4) alpha=0.125 ; mul+matmul+div
 *	%6 = binary(%5, 4) div
 *
 * Constant matrices of floats take factors themselves (rule_scale.c); this is for two computed
 * operands, and for constants that stay as they are. Assumed: sums do not overflow before they are
 * multiplied. A rule does not apply where the number without its sign is not from 2^-24 to 2^24 (so
 * not to 0 and NaN), or where the product may become one of integers, as that would change bits of
 * its result.
 */
#include <math.h>

#include "pass/rules.h"

#define LEAST_FACTOR 0x1p-24
#define MOST_FACTOR  0x1p24
/* The most reshapes and transposes between the factor and the product. */
#define MAX_VIEWS 4

static bool is_moderate(double factor)
{
	return fabs(factor) >= LEAST_FACTOR && fabs(factor) <= MOST_FACTOR;
}

/*
 * Returns the value that a node multiplies by a number (or divides by one, or negates), and sets
 * *factor to the number. NULL for other nodes, and when a product cannot take the factor over: for
 * integers and constants, a value that is broadcast, and a factor that is not moderate.
 */
static struct ir_value *scaled_value(const struct ir_node *node, double *factor)
{
	const struct ir_type *type = &node->results[0]->type;
	struct ir_value *value = NULL;

	if (!ir_dtype_is_float(type->dtype))
		return NULL;
	if (node->op == IR_OP_UNARY && node->attrs.unary.kind == IR_LINEAR &&
	    node->attrs.unary.beta == 0) {
		*factor = (double)node->attrs.unary.alpha;
		value = node->operands[0];
	} else if (node->op == IR_OP_UNARY && node->attrs.unary.kind == IR_NEG) {
		*factor = -1;
		value = node->operands[0];
	} else if (node->op == IR_OP_BINARY && node->attrs.binary.act.kind == IR_UNARY_NONE) {
		bool times = node->attrs.binary.kind == IR_MUL;

		if ((times || node->attrs.binary.kind == IR_DIV) &&
		    rewrite_number(node->operands[1], factor))
			value = node->operands[0];
		else if (times && rewrite_number(node->operands[0], factor))
			value = node->operands[1];
		if (value && !times)
			*factor = 1 / *factor;
	}
	if (!value || value->kind == IR_VALUE_CONSTANT || !is_moderate(*factor) ||
	    !ir_type_same_shape(&value->type, type))
		return NULL;
	return value;
}

static bool is_dequantized(const struct ir_value *value)
{
	const struct ir_node *node = rules_maker(value, IR_OP_DEQUANTIZE);

	return node &&
	       (node->operands[0]->type.dtype == IR_I8 || node->operands[0]->type.dtype == IR_U8);
}

static bool takes_factor(const struct rules *rules, const struct ir_node *product, double factor)
{
	const struct ir_matmul_attrs *attrs = &product->attrs.matmul;

	return is_moderate((double)attrs->alpha * factor) && !rules_scaling_of(rules, product) &&
	       !(is_dequantized(product->operands[0]) && is_dequantized(product->operands[1]));
}

/*
 * Emits the product with first[0] and first[1] as operands a and b, and with its factors multiplied
 * by alpha and beta.
 */
static struct ir_value *emit(struct rules *rules, const struct ir_node *product,
			     struct ir_value *const *first, double alpha, double beta,
			     const struct ir_node *other)
{
	struct ir_value *operands[3] = { first[0], first[1],
					 product->num_operands > 2 ? product->operands[2] : NULL };
	union ir_attrs attrs = product->attrs;

	attrs.matmul.alpha = (float)((double)attrs.matmul.alpha * alpha);
	attrs.matmul.beta = (float)((double)attrs.matmul.beta * beta);
	return rules_emit_product(rules, product, operands, &attrs, NULL, other);
}

struct ir_value *rule_factor_behind(struct rules *rules, struct ir_node *node)
{
	double factor;
	const struct ir_value *value = scaled_value(node, &factor);
	const struct ir_node *product = value ? rules_sole(rules, value) : NULL;
	bool has_bias = product && product->num_operands > 2 && product->operands[2];

	if (!product || product->op != IR_OP_MATMUL ||
	    product->attrs.matmul.act.kind != IR_UNARY_NONE ||
	    !takes_factor(rules, product, factor) ||
	    (has_bias && !is_moderate((double)product->attrs.matmul.beta * factor)))
		return NULL;
	return emit(rules, product, product->operands, factor, has_bias ? factor : 1, node);
}

/* An operand that is multiplied by a number, and the views between that and the product. */
struct bare {
	struct ir_value *value;
	const struct ir_node *scale; /* the node that multiplies `value` */
	const struct ir_node *views[MAX_VIEWS];
	uint32_t num_views;
	double factor;
};

static bool find_bare(const struct rules *rules, const struct ir_value *operand, struct bare *bare)
{
	const struct ir_node *node = rules_sole(rules, operand);

	bare->num_views = 0;
	while (node && (node->op == IR_OP_TRANSPOSE || node->op == IR_OP_RESHAPE) &&
	       bare->num_views < MAX_VIEWS) {
		bare->views[bare->num_views++] = node;
		node = rules_sole(rules, node->operands[0]);
	}
	bare->scale = node;
	bare->value = node ? scaled_value(node, &bare->factor) : NULL;
	return bare->value != NULL;
}

/* Applies the reshapes and transposes to the value without its factor; NULL when out of memory. */
static struct ir_value *view_again(struct rules *rules, const struct bare *bare)
{
	struct ir_value *value = bare->value;

	for (uint32_t i = bare->num_views; i-- > 0 && value;)
		value = rules_emit(rules, bare->views[i]->op, &value, 1,
				   &bare->views[i]->results[0]->type, &bare->views[i]->attrs,
				   bare->views[i], NULL);
	return value;
}

struct ir_value *rule_factor_before(struct rules *rules, struct ir_node *product)
{
	for (uint32_t i = 0; i < 2; i++) {
		struct ir_value *operands[2] = { product->operands[0], product->operands[1] };
		struct bare bare;

		if (!find_bare(rules, operands[i], &bare) ||
		    !takes_factor(rules, product, bare.factor))
			continue;
		operands[i] = view_again(rules, &bare);
		if (!operands[i])
			return NULL;
		return emit(rules, product, operands, bare.factor, 1, bare.scale);
	}
	return NULL;
}
