// SPDX-License-Identifier: MIT
/*
 * Rules for functions of one element that exporters write as several operators, and for gates:
 * products of a value and a function of it.
 *
 *	%1 = unary(%0) sigmoid
 *	%2 = binary(%0, %1) mul		->	%2 = unary(%0) swish(1,0) ; sigmoid+mul
 *
 * A gate computes the product as it is written. It maps NaN to NaN, -infinity to NaN too, since
 * sigmoid, tanh of softplus and hardSigmoid are 0 there, and -0 to -0. Finite results differ only
 * by roundings. float16 is no longer rounded between the operators.
 */
#include <math.h>

#include "pass/rules.h"

static bool is_binary(const struct ir_node *node, enum ir_binary kind)
{
	return node && node->op == IR_OP_BINARY && node->attrs.binary.kind == kind &&
	       node->attrs.binary.act.kind == IR_UNARY_NONE;
}

static bool is_unary(const struct ir_node *node, enum ir_unary kind)
{
	return node && node->op == IR_OP_UNARY && node->attrs.unary.kind == (int)kind;
}

/* Whether a value is float32 or float16, the types that all devices compute. */
static bool is_real(const struct ir_value *value)
{
	return value->type.dtype == IR_F32 || value->type.dtype == IR_F16;
}

/*
 * Returns the operand of a sum or product whose other operand is a constant number, and sets
 * *number; NULL: neither operand is.
 */
static struct ir_value *beside_number(const struct ir_node *node, double *number)
{
	for (uint32_t i = 0; i < 2; i++)
		if (rewrite_number(node->operands[i], number))
			return node->operands[!i];
	return NULL;
}

static bool has_exact_reciprocal(double number)
{
	int exponent;

	return fabs(frexp(number, &exponent)) == 0.5 && exponent > -100 && exponent < 100;
}

/* Returns true if a value is x times a finite number, and sets *times to the number. */
static bool is_multiple(const struct ir_value *value, const struct ir_value *x, double *times)
{
	const struct ir_node *node = value->kind == IR_VALUE_RESULT ? value->def : NULL;

	*times = 1;
	if (value == x)
		return true;
	if (is_unary(node, IR_NEG)) {
		*times = -1;
		return node->operands[0] == x;
	}
	if (is_unary(node, IR_LINEAR)) {
		*times = (double)node->attrs.unary.alpha;
		return node->operands[0] == x && node->attrs.unary.beta == 0 && isfinite(*times);
	}
	if (is_binary(node, IR_MUL))
		return beside_number(node, times) == x && isfinite(*times);
	if (!is_binary(node, IR_DIV) || node->operands[0] != x ||
	    !rewrite_number(node->operands[1], times) || !has_exact_reciprocal(*times))
		return false;
	*times = 1 / *times;
	return true;
}

/* Returns the exp in 1 + exp(x) if nothing else uses the values in between; else NULL. */
static const struct ir_node *find_exp(const struct rules *rules, const struct ir_value *value)
{
	const struct ir_node *sum = rules_sole(rules, value), *exp;
	struct ir_value *power;
	double one;

	if (!is_binary(sum, IR_ADD))
		return NULL;
	power = beside_number(sum, &one);
	exp = power && one == 1 ? rules_sole(rules, power) : NULL;
	return is_unary(exp, IR_EXP) && ir_type_same_shape(&power->type, &value->type) ? exp : NULL;
}

/* Returns the operand of a negation or of a product with -1; else NULL. */
static struct ir_value *negated(const struct ir_value *value)
{
	const struct ir_node *node = value->kind == IR_VALUE_RESULT ? value->def : NULL;
	struct ir_value *x = NULL;
	double times;

	if (is_unary(node, IR_NEG) || is_unary(node, IR_LINEAR))
		x = node->operands[0];
	else if (is_binary(node, IR_MUL))
		x = beside_number(node, &times);
	return x && is_multiple(value, x, &times) && times == -1 ? x : NULL;
}

/* ---- sigmoid: 1 / (1 + exp(-x)), which is 0 where exp(-x) overflows */

static struct ir_value *emit_sigmoid(struct rules *rules, const struct ir_node *node,
				     const struct ir_value *sum)
{
	const union ir_attrs attrs = { .unary = { .kind = IR_SIGMOID } };
	const struct ir_type *type = &node->results[0]->type;
	const struct ir_node *exp = is_real(sum) ? find_exp(rules, sum) : NULL;
	struct ir_value *x = exp ? negated(exp->operands[0]) : NULL;

	if (!x || !ir_type_same_shape(&x->type, type))
		return NULL;
	return rules_emit(rules, IR_OP_UNARY, &x, 1, type, &attrs, exp, node);
}

struct ir_value *rule_sigmoid_quotient(struct rules *rules, struct ir_node *node)
{
	double one;

	return is_binary(node, IR_DIV) && rewrite_number(node->operands[0], &one) && one == 1 ?
		       emit_sigmoid(rules, node, node->operands[1]) :
		       NULL;
}

struct ir_value *rule_sigmoid_reciprocal(struct rules *rules, struct ir_node *node)
{
	return is_unary(node, IR_RECIPROCAL) ? emit_sigmoid(rules, node, node->operands[0]) : NULL;
}

/* ---- leakyRelu: max(x, a * x), or a choice between the two by the sign of x */

/* Whether a value is x times a number above 0 and up to 1; sets *alpha. */
static bool is_fraction(const struct ir_value *value, const struct ir_value *x, double *alpha)
{
	return value != x && is_multiple(value, x, alpha) && *alpha > 0 && *alpha <= 1 &&
	       ir_type_same_shape(&value->type, &x->type);
}

/* The result keeps its bits: the larger of x and a * x is x where that is positive, else a * x. */
static struct ir_value *emit_leaky(struct rules *rules, const struct ir_node *node,
				   const struct ir_value *product, struct ir_value *x)
{
	union ir_attrs attrs = { .unary = { .kind = IR_LEAKY_RELU } };
	double alpha;

	if (!is_real(x) || !is_fraction(product, x, &alpha) ||
	    !ir_type_same_shape(&x->type, &node->results[0]->type))
		return NULL;
	attrs.unary.alpha = (float)alpha;
	return rules_emit(rules, IR_OP_UNARY, &x, 1, &node->results[0]->type, &attrs, product->def,
			  node);
}

struct ir_value *rule_leaky_maximum(struct rules *rules, struct ir_node *node)
{
	struct ir_value *value = NULL;

	for (uint32_t i = 0; i < 2 && is_binary(node, IR_MAX) && !value; i++)
		value = emit_leaky(rules, node, node->operands[!i], node->operands[i]);
	return value;
}

/*
 * Returns x if a condition is x > 0 or x >= 0, or with @below x < 0 or x <= 0, with the operands in
 * either order; else NULL. It is false for NaN.
 */
static struct ir_value *compared_with_zero(const struct ir_value *condition, bool below)
{
	const struct ir_node *node = rules_maker(condition, IR_OP_COMPARE);
	double number;

	if (!node || node->attrs.binary.act.kind != IR_UNARY_NONE)
		return NULL;
	for (uint32_t i = 0; i < 2; i++) {
		enum ir_binary kind = node->attrs.binary.kind;
		bool less = kind == IR_LT || kind == IR_LE, more = kind == IR_GT || kind == IR_GE;

		if ((less || more) && rewrite_number(node->operands[!i], &number) && number == 0 &&
		    (i ? more : less) == below)
			return node->operands[i];
	}
	return NULL;
}

struct ir_value *rule_leaky_where(struct rules *rules, struct ir_node *node)
{
	struct ir_value *value = NULL;

	for (uint32_t i = 1; i < 3 && !value; i++) {
		struct ir_value *x = node->operands[i];

		/* x is the first choice where it is positive, the second where that is negative. */
		if (compared_with_zero(node->operands[0], i == 2) == x)
			value = emit_leaky(rules, node, node->operands[3 - i], x);
	}
	return value;
}

/* ---- gates */

/* Whether a value is sigmoid(a * x), the factor of x in swish; fills in *gate. */
static bool is_swish(const struct ir_node *node, const struct ir_value *x,
		     struct ir_unary_attrs *gate)
{
	double times;

	if (!is_unary(node, IR_SIGMOID) || !is_multiple(node->operands[0], x, &times))
		return false;
	*gate = (struct ir_unary_attrs){ .kind = IR_SWISH, .alpha = (float)times };
	return true;
}

/*
 * Returns the x of softplus(x) or of log(1 + exp(x)), else NULL. The two differ where exp(x)
 * overflows, but tanh of both is 1 there.
 */
static const struct ir_value *under_softplus(const struct rules *rules,
					     const struct ir_value *value)
{
	const struct ir_node *node = rules_sole(rules, value);

	if (is_unary(node, IR_SOFTPLUS))
		return node->operands[0];
	node = is_unary(node, IR_LOG) ? find_exp(rules, node->operands[0]) : NULL;
	return node ? node->operands[0] : NULL;
}

static bool is_mish(const struct rules *rules, const struct ir_node *node, const struct ir_value *x,
		    struct ir_unary_attrs *gate)
{
	if (!is_unary(node, IR_TANH) || under_softplus(rules, node->operands[0]) != x)
		return false;
	*gate = (struct ir_unary_attrs){ .kind = IR_MISH };
	return true;
}

/*
 * Whether a value is alpha * x + beta: a linear operator, or a product or quotient of x and a
 * number, plus a number; sets the two. The reciprocal of a divisor is rounded: a result may differ
 * by that.
 */
static bool is_line(const struct rules *rules, const struct ir_value *value,
		    const struct ir_value *x, double *alpha, double *beta)
{
	const struct ir_node *node = rules_sole(rules, value);
	const struct ir_value *product;

	if (is_unary(node, IR_LINEAR)) {
		*alpha = (double)node->attrs.unary.alpha;
		*beta = (double)node->attrs.unary.beta;
		return node->operands[0] == x;
	}
	if (!is_binary(node, IR_ADD))
		return false;
	product = beside_number(node, beta);
	node = product ? rules_sole(rules, product) : NULL;
	if (is_binary(node, IR_DIV) && node->operands[0] == x &&
	    rewrite_number(node->operands[1], alpha)) {
		*alpha = 1 / *alpha;
		return true;
	}
	return node && is_multiple(product, x, alpha);
}

/* Returns the x of a value that may be alpha * x + beta, for is_line(); else NULL. */
static struct ir_value *under_line(const struct rules *rules, const struct ir_value *value)
{
	const struct ir_node *node = rules_sole(rules, value);
	const struct ir_value *product;
	double number;

	if (is_unary(node, IR_LINEAR))
		return node->operands[0];
	product = is_binary(node, IR_ADD) ? beside_number(node, &number) : NULL;
	node = product ? rules_sole(rules, product) : NULL;
	if (is_binary(node, IR_DIV))
		return node->operands[0];
	return is_binary(node, IR_MUL) ? beside_number(node, &number) : NULL;
}

/* Whether the pass `recognise` will replace x times this hardSigmoid by hardSwish. */
static bool is_hard_swish(const struct ir_node *node)
{
	double alpha = (double)node->attrs.unary.alpha;
	double near = node->results[0]->type.dtype == IR_F16 ? 1e-3 : 1e-6;

	return fabs(alpha - 1.0 / 6) <= near / 6 && node->attrs.unary.beta == 0.5F;
}

/*
 * Whether a node is hardSigmoid(x), or the last of the operators that compute it; fills in *gate.
 */
static bool is_hard(const struct rules *rules, const struct ir_node *node, const struct ir_value *x,
		    struct ir_unary_attrs *gate)
{
	double alpha, beta;

	if (is_unary(node, IR_HARD_SIGMOID) && node->operands[0] == x && !is_hard_swish(node)) {
		alpha = (double)node->attrs.unary.alpha;
		beta = (double)node->attrs.unary.beta;
	} else if (!is_unary(node, IR_CLAMP) || node->attrs.unary.alpha != 0 ||
		   node->attrs.unary.beta != 1 ||
		   !is_line(rules, node->operands[0], x, &alpha, &beta)) {
		return false;
	}
	*gate = (struct ir_unary_attrs){ .kind = IR_HARD_GATE,
					 .alpha = (float)alpha,
					 .beta = (float)beta };
	return isfinite(gate->alpha) && isfinite(gate->beta);
}

/* Whether a value is the factor of x in one of the gates; fills in *gate. */
static bool find_gate(const struct rules *rules, const struct ir_value *value,
		      const struct ir_value *x, struct ir_unary_attrs *gate)
{
	const struct ir_node *node = rules_sole(rules, value);

	return node && ir_type_same_shape(&value->type, &x->type) &&
	       (is_swish(node, x, gate) || is_mish(rules, node, x, gate) ||
		is_hard(rules, node, x, gate));
}

static struct ir_value *emit_gate(struct rules *rules, const struct ir_node *node,
				  struct ir_value *x, const struct ir_unary_attrs *gate,
				  const struct ir_node *main)
{
	const union ir_attrs attrs = { .unary = *gate };

	return rules_emit(rules, IR_OP_UNARY, &x, 1, &node->results[0]->type, &attrs, main, node);
}

/*
 * Replaces x / (1 + exp(-a * x)) by swish; NULL if the node is not that. Where exp() overflows,
 * both are 0, or NaN if x is infinite.
 */
static struct ir_value *swish_quotient(struct rules *rules, const struct ir_node *node)
{
	const struct ir_node *exp = find_exp(rules, node->operands[1]);
	struct ir_value *x = node->operands[0];
	struct ir_unary_attrs gate = { .kind = IR_SWISH };
	double times;

	if (!exp || !ir_type_same_shape(&exp->results[0]->type, &x->type) ||
	    !is_multiple(exp->operands[0], x, &times))
		return NULL;
	gate.alpha = (float)-times;
	return emit_gate(rules, node, x, &gate, exp);
}

/* Returns x if a node is min(max(x + 3, 0), 6), else NULL. */
static struct ir_value *under_six(const struct rules *rules, const struct ir_node *node)
{
	const struct ir_node *sum = is_unary(node, IR_CLAMP) && node->attrs.unary.alpha == 0 &&
						    node->attrs.unary.beta == 6 ?
					    rules_sole(rules, node->operands[0]) :
					    NULL;
	struct ir_value *x;
	double number;

	x = is_binary(sum, IR_ADD) ? beside_number(sum, &number) : NULL;
	return x && number == 3 ? x : NULL;
}

/*
 * Replaces x * min(max(x + 3, 0), 6) / 6 by hardSwish; NULL if the node is not that. The pass
 * `recognise` replaces it, too, but when it runs again, rules may have moved the divisor into a
 * matrix product that follows.
 */
static struct ir_value *hard_swish_quotient(struct rules *rules, const struct ir_node *node)
{
	const struct ir_unary_attrs gate = { .kind = IR_HARD_SWISH };
	const struct ir_node *product = rules_sole(rules, node->operands[0]);
	double number;

	if (!is_binary(product, IR_MUL) || !rewrite_number(node->operands[1], &number) ||
	    number != 6)
		return NULL;
	for (uint32_t i = 0; i < 2; i++) {
		struct ir_value *x = product->operands[i];
		const struct ir_node *clamp = rules_sole(rules, product->operands[!i]);

		if (under_six(rules, clamp) == x &&
		    ir_type_same_shape(&x->type, &node->results[0]->type))
			return emit_gate(rules, node, x, &gate, clamp);
	}
	return NULL;
}

struct ir_value *rule_gate(struct rules *rules, struct ir_node *node)
{
	struct ir_unary_attrs gate;

	if (!is_real(node->results[0]))
		return NULL;
	if (is_binary(node, IR_DIV)) {
		struct ir_value *value = swish_quotient(rules, node);

		return value || rules_failed(rules) ? value : hard_swish_quotient(rules, node);
	}
	for (uint32_t i = 0; i < 2 && is_binary(node, IR_MUL); i++)
		if (find_gate(rules, node->operands[!i], node->operands[i], &gate))
			return emit_gate(rules, node, node->operands[i], &gate,
					 node->operands[!i]->def);
	return NULL;
}

/* ---- hardSigmoid: min(max(x + 3, 0), 6) / 6, or min(max(alpha * x + beta, 0), 1) */

static struct ir_value *emit_hard_sigmoid(struct rules *rules, const struct ir_node *node,
					  struct ir_value *x, double alpha, double beta,
					  const struct ir_node *main)
{
	const union ir_attrs attrs = {
		.unary = { .kind = IR_HARD_SIGMOID, .alpha = (float)alpha, .beta = (float)beta }
	};

	if (!ir_type_same_shape(&x->type, &node->results[0]->type) ||
	    !isfinite(attrs.unary.alpha) || !isfinite(attrs.unary.beta))
		return NULL;
	return rules_emit(rules, IR_OP_UNARY, &x, 1, &x->type, &attrs, main, node);
}

/* Whether a node multiplies the other operand than `number` by about 1/6, or divides it by 6. */
static bool makes_sixth(const struct ir_node *node, double number)
{
	double near = node->results[0]->type.dtype == IR_F16 ? 1e-3 : 1e-6;

	return is_binary(node, IR_DIV) ? number == 6 :
					 is_binary(node, IR_MUL) && fabs(6 * number - 1) <= near;
}

struct ir_value *rule_hard_sigmoid_scaled(struct rules *rules, struct ir_node *node)
{
	double number;

	for (uint32_t i = 0; i < 2; i++) {
		const struct ir_node *clamp = rules_sole(rules, node->operands[i]);
		struct ir_value *x = clamp ? under_six(rules, clamp) : NULL;

		if (x && is_real(x) && rewrite_number(node->operands[!i], &number) &&
		    makes_sixth(node, number) && !(i && is_binary(node, IR_DIV)))
			return emit_hard_sigmoid(rules, node, x, 1.0 / 6, 0.5, clamp);
	}
	return NULL;
}

struct ir_value *rule_hard_sigmoid_limited(struct rules *rules, struct ir_node *node)
{
	struct ir_value *x;
	double alpha, beta;

	if (!is_unary(node, IR_CLAMP) || node->attrs.unary.alpha != 0 ||
	    node->attrs.unary.beta != 1 || !is_real(node->results[0]))
		return NULL;
	x = under_line(rules, node->operands[0]);
	if (!x || !is_line(rules, node->operands[0], x, &alpha, &beta))
		return NULL;
	return emit_hard_sigmoid(rules, node, x, alpha, beta, node->operands[0]->def);
}
