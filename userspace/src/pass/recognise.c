// SPDX-License-Identifier: MIT
/*
 * Fuses the operators by which exporters of models write one function: gelu by the error function,
 * hardSwish by its clamp, linear by a product and a sum with numbers, layer normalisation by means,
 * squares and a root, RMS normalisation (layer normalisation without the mean), and gelu by tanh
 * and a cube.
 *
 * Precondition: a verified graph without equal nodes. Postcondition: the operators of each such
 * pattern are one node, unless something outside of the pattern uses an intermediate value. The
 * result has fewer roundings.
 *
 *	%1 = unary(%0) linear(0.70710678,0)
 *	%2 = unary(%1) erf
 *	%3 = binary(%2, 1) add
 *	%4 = binary(%0, %3) mul
 *	%5 = binary(%4, 0.5) mul		->	%5 = unary(%0) gelu ; erf+mul
 */
#include <math.h>
#include <string.h>

#include "pass/recognise.h"
#include "util/float16.h"
#include "util/malloc.h"
#include "util/number.h"

#define MAX_FACTORS 3

/* ---- properties of operands */

/*
 * Whether a number is `wanted`, which is positive, up to a relative error of 10^-3 for float16 and
 * of 10^-6 for other types.
 */
static bool is_near(double number, double wanted, enum ir_dtype dtype)
{
	return fabs(number - wanted) <= (dtype == IR_F16 ? 1e-3 : 1e-6) * wanted;
}

bool recognise_is_about(const struct ir_value *value, double wanted)
{
	double number;

	return rewrite_number(value, &number) && is_near(number, wanted, value->type.dtype);
}

bool recognise_is_binary(const struct ir_node *node, enum ir_binary kind)
{
	return node && node->op == IR_OP_BINARY && node->attrs.binary.kind == kind &&
	       node->attrs.binary.act.kind == IR_UNARY_NONE;
}

bool recognise_is_unary(const struct ir_node *node, enum ir_unary kind)
{
	return node && node->op == IR_OP_UNARY && node->attrs.unary.kind == (int)kind;
}

const struct ir_node *recognise_take(struct search *s, const struct ir_value *value)
{
	const struct ir_node *node = rewrite_sole_producer(s->rw, value);

	if (!node || s->found->num_inner == MAX_INNER)
		return NULL;
	s->found->inner[s->found->num_inner++] = node;
	return node;
}

/* Returns the operand of `node` whose other operand is about `number`; NULL when there is none. */
static const struct ir_value *beside(const struct ir_node *node, double number)
{
	for (uint32_t i = 0; i < 2; i++)
		if (recognise_is_about(node->operands[i], number))
			return node->operands[!i];
	return NULL;
}

/* ---- gelu: x * 0.5 * (1 + erf(x / sqrt(2))) */

/* Returns the x of 1 + erf(x / sqrt(2)) if `value` is that; else NULL. */
static const struct ir_value *erf_operand(struct search *s, const struct ir_value *value)
{
	const struct ir_node *sum = recognise_take(s, value), *erf, *inner;
	const struct ir_value *of_erf = recognise_is_binary(sum, IR_ADD) ? beside(sum, 1) : NULL;

	erf = of_erf ? recognise_take(s, of_erf) : NULL;
	if (!recognise_is_unary(erf, IR_ERF))
		return NULL;
	s->found->main = erf;
	inner = recognise_take(s, erf->operands[0]);
	if (recognise_is_binary(inner, IR_MUL))
		return beside(inner, M_SQRT1_2);
	if (recognise_is_binary(inner, IR_DIV))
		return recognise_is_about(inner->operands[1], M_SQRT2) ? inner->operands[0] : NULL;
	if (recognise_is_unary(inner, IR_LINEAR) && inner->attrs.unary.beta == 0 &&
	    fabs((double)inner->attrs.unary.alpha - M_SQRT1_2) < 1e-6)
		return inner->operands[0];
	return NULL;
}

/*
 * Finds the two or three factors of a product; returns their number, or 0 when root is not a
 * product.
 */
static uint32_t find_factors(struct search *s, const struct ir_node *root,
			     const struct ir_value **factors)
{
	uint32_t count = 2;

	if (!recognise_is_binary(root, IR_MUL))
		return 0;
	factors[0] = root->operands[0];
	factors[1] = root->operands[1];
	for (uint32_t i = 0; i < 2 && count == 2; i++) {
		const struct ir_node *product = rewrite_sole_producer(s->rw, factors[i]);

		if (!recognise_is_binary(product, IR_MUL))
			continue;
		recognise_take(s, factors[i]);
		factors[i] = product->operands[0];
		factors[count++] = product->operands[1];
	}
	return count;
}

static bool find_gelu(struct search *s, const struct ir_node *root)
{
	const struct ir_value *factors[MAX_FACTORS], *x = NULL;
	bool divided = recognise_is_binary(root, IR_DIV) &&
		       recognise_is_about(root->operands[1], 2);
	uint32_t count =
		find_factors(s, divided ? recognise_take(s, root->operands[0]) : root, factors);
	uint32_t products = s->found->num_inner, half = MAX_FACTORS, sum;

	/*
	 * There are three factors, one of them 0.5; or two, with a division by 2 in place of 0.5.
	 */
	if (count != (divided ? 2 : MAX_FACTORS))
		return false;
	for (uint32_t i = 0; i < count && !divided; i++)
		if (recognise_is_about(factors[i], 0.5))
			half = i;
	for (sum = 0; sum < count && (divided || half < count) && !x; sum++) {
		s->found->num_inner = products;
		if (sum != half)
			x = erf_operand(s, factors[sum]);
	}
	/*
	 * sum - 1 is the index of the factor with erf, `half` that of 0.5. The indices of three
	 * factors add up to 3, those of two to 1, which gives the index of the remaining factor: it
	 * must be x.
	 */
	if (!x || factors[(divided ? 1 : 3 - half) - (sum - 1)] != x ||
	    !ir_type_same_shape(&x->type, &root->results[0]->type))
		return false;
	s->found->op = IR_OP_UNARY;
	s->found->attrs.unary = (struct ir_unary_attrs){ .kind = IR_GELU };
	s->found->operands[0] = x;
	return true;
}

/*
 * ---- gelu by tanh: x * 0.5 * (1 + tanh(a * x + b * x^3)), which is x * sigmoid(x * (2 * b * x^2 +
 * 2 * a))
 */

#define MAX_DEPTH 8 /* the most operators in a row that are searched */
#define DEGREE	  3 /* the highest power of a polynomial */

struct polynomial {
	double factor[DEGREE + 1];
};

static bool multiply(const struct polynomial *a, const struct polynomial *b,
		     struct polynomial *product)
{
	*product = (struct polynomial){ { 0 } };
	for (int i = 0; i <= DEGREE; i++)
		for (int k = 0; k <= DEGREE; k++) {
			if (a->factor[i] == 0 || b->factor[k] == 0)
				continue;
			if (i + k > DEGREE)
				return false;
			product->factor[i + k] += a->factor[i] * b->factor[k];
		}
	return true;
}

static bool find_polynomial(struct search *s, const struct ir_value *value,
			    const struct ir_value *x, int depth, struct polynomial *p);

static bool polynomial_of_binary(struct search *s, const struct ir_node *node,
				 const struct ir_value *x, int depth, struct polynomial *p)
{
	enum ir_binary kind = node->attrs.binary.kind;
	struct polynomial a, b, square;

	if (!find_polynomial(s, node->operands[0], x, depth, &a) ||
	    !find_polynomial(s, node->operands[1], x, depth, &b))
		return false;
	*p = a;
	switch (kind) {
	case IR_ADD:
	case IR_SUB:
		for (int i = 0; i <= DEGREE; i++)
			p->factor[i] += kind == IR_ADD ? b.factor[i] : -b.factor[i];
		return true;
	case IR_MUL:
		return multiply(&a, &b, p);
	case IR_DIV:
		b.factor[0] = 1 / b.factor[0];
		return !b.factor[1] && !b.factor[2] && !b.factor[3] && multiply(&a, &b, p);
	case IR_POW:
		return (recognise_is_about(node->operands[1], 2) && multiply(&a, &a, p)) ||
		       (recognise_is_about(node->operands[1], 3) && multiply(&a, &a, &square) &&
			multiply(&square, &a, p));
	default:
		return false;
	}
}

/*
 * Whether a value is a polynomial of x, computed by operators whose results nothing else uses;
 * fills in *p.
 */
static bool find_polynomial(struct search *s, const struct ir_value *value,
			    const struct ir_value *x, int depth, struct polynomial *p)
{
	const struct ir_node *node;

	*p = (struct polynomial){ { 0 } };
	if (value == x)
		p->factor[1] = 1;
	if (value == x || rewrite_number(value, &p->factor[0]))
		return true;
	node = depth ? recognise_take(s, value) : NULL;
	if (recognise_is_unary(node, IR_LINEAR)) {
		if (!find_polynomial(s, node->operands[0], x, depth - 1, p))
			return false;
		for (int i = 0; i <= DEGREE; i++)
			p->factor[i] *= (double)node->attrs.unary.alpha;
		p->factor[0] += (double)node->attrs.unary.beta;
		return true;
	}
	return node && node->op == IR_OP_BINARY && node->attrs.binary.act.kind == IR_UNARY_NONE &&
	       polynomial_of_binary(s, node, x, depth - 1, p);
}

/*
 * Returns the tanh from which a value is computed with constant numbers alone; NULL: there is none.
 */
static const struct ir_node *tanh_under(const struct search *s, const struct ir_value *value)
{
	double number;

	for (int depth = 0; depth < MAX_DEPTH; depth++) {
		const struct ir_node *node = rewrite_sole_producer(s->rw, value);

		if (recognise_is_unary(node, IR_TANH))
			return node;
		if (recognise_is_unary(node, IR_LINEAR))
			value = node->operands[0];
		else if (node && node->op == IR_OP_BINARY &&
			 rewrite_number(node->operands[0], &number))
			value = node->operands[1];
		else if (node && node->op == IR_OP_BINARY &&
			 rewrite_number(node->operands[1], &number))
			value = node->operands[0];
		else
			return NULL;
	}
	return NULL;
}

/* Returns the tanh if `value` is `times` * (1 + tanh), which is a sigmoid; else NULL. */
static const struct ir_node *gate_of(struct search *s, const struct ir_value *value, double times)
{
	const struct ir_node *node = tanh_under(s, value);
	struct polynomial gate;

	if (!node || !find_polynomial(s, value, node->results[0], MAX_DEPTH, &gate) ||
	    gate.factor[0] != times || gate.factor[1] != times)
		return NULL;
	return recognise_take(s, node->results[0]);
}

/*
 * Sets the curve x * sigmoid(2 * inner), where inner is an odd polynomial of x; without a cube it
 * is swish. Returns false when the polynomial gives no such curve.
 */
static bool set_curve(struct ir_unary_attrs *curve, const struct polynomial *inner)
{
	double once = 2 * inner->factor[1], cube = 2 * inner->factor[3];

	*curve = cube == 0 ? (struct ir_unary_attrs){ .kind = IR_SWISH, .alpha = (float)once } :
			     (struct ir_unary_attrs){ .kind = IR_GELU_TANH,
						      .alpha = (float)cube,
						      .beta = (float)once };
	return isfinite(once) && isfinite(cube) && (cube == 0 ? once != 0 : cube > 0 && once > 0);
}

static bool find_curve(struct search *s, const struct ir_node *root)
{
	const struct ir_value *factors[MAX_FACTORS], *x = NULL;
	uint32_t count = find_factors(s, root, factors), products = s->found->num_inner;
	uint32_t half = MAX_FACTORS;
	struct polynomial inner;

	for (uint32_t i = 0; i < count && count == MAX_FACTORS; i++)
		if (recognise_is_about(factors[i], 0.5))
			half = i;
	for (uint32_t i = 0; i < count && !x; i++) {
		s->found->num_inner = products;
		if (i == half || (count == MAX_FACTORS && half == MAX_FACTORS))
			continue;
		s->found->main = gate_of(s, factors[i], half == MAX_FACTORS ? 0.5 : 1);
		if (s->found->main)
			x = factors[half == MAX_FACTORS ? !i : 3 - half - i];
	}
	/* The polynomial must be odd, so that infinities keep their signs. */
	if (!x || !ir_type_same_shape(&x->type, &root->results[0]->type) ||
	    !find_polynomial(s, s->found->main->operands[0], x, MAX_DEPTH, &inner) ||
	    inner.factor[0] != 0 || inner.factor[2] != 0)
		return false;
	s->found->op = IR_OP_UNARY;
	s->found->operands[0] = x;
	return set_curve(&s->found->attrs.unary, &inner);
}

/* ---- hardSwish: x * min(max(x + 3, 0), 6) / 6 */

/* Returns x when `value` is min(max(x + 3, 0), 6); else NULL. */
static const struct ir_value *clamp_operand(struct search *s, const struct ir_value *value)
{
	const struct ir_node *clamp = recognise_take(s, value), *sum;

	if (!recognise_is_unary(clamp, IR_CLAMP) || clamp->attrs.unary.alpha != 0 ||
	    clamp->attrs.unary.beta != 6)
		return NULL;
	s->found->main = clamp;
	sum = recognise_take(s, clamp->operands[0]);
	return recognise_is_binary(sum, IR_ADD) ? beside(sum, 3) : NULL;
}

/* Returns the x of min(max(x + 3, 0), 6) / 6, which hardSigmoid(x) also is; else NULL. */
static const struct ir_value *sixth_operand(struct search *s, const struct ir_value *value)
{
	const struct ir_node *node = recognise_take(s, value);

	if (recognise_is_binary(node, IR_DIV))
		return recognise_is_about(node->operands[1], 6) ?
			       clamp_operand(s, node->operands[0]) :
			       NULL;
	if (!recognise_is_unary(node, IR_HARD_SIGMOID) ||
	    !is_near((double)node->attrs.unary.alpha, 1.0 / 6, value->type.dtype) ||
	    node->attrs.unary.beta != 0.5F)
		return NULL;
	s->found->main = node;
	return node->operands[0];
}

static bool find_hard_swish(struct search *s, const struct ir_node *root)
{
	const struct ir_value *factors[MAX_FACTORS], *x = NULL, *other = NULL;
	bool divided = recognise_is_binary(root, IR_DIV) &&
		       recognise_is_about(root->operands[1], 6);
	uint32_t count =
		find_factors(s, divided ? recognise_take(s, root->operands[0]) : root, factors);
	uint32_t sixth = MAX_FACTORS, products = s->found->num_inner;

	for (uint32_t i = 0; i < count; i++)
		if (recognise_is_about(factors[i], 1.0 / 6))
			sixth = i;
	/*
	 * The factor 1/6 is the divisor of root, or the third factor, or part of one of two
	 * factors.
	 */
	if (count != (sixth == MAX_FACTORS ? 2 : MAX_FACTORS) || (divided && count != 2))
		return false;
	for (uint32_t i = 0; i < count && !x; i++) {
		if (i == sixth)
			continue;
		s->found->num_inner = products;
		x = divided || count == MAX_FACTORS ? clamp_operand(s, factors[i]) :
						      sixth_operand(s, factors[i]);
		other = factors[count == MAX_FACTORS ? 3 - sixth - i : 1 - i];
	}
	if (!x || other != x || !ir_type_same_shape(&x->type, &root->results[0]->type))
		return false;
	s->found->op = IR_OP_UNARY;
	s->found->attrs.unary = (struct ir_unary_attrs){ .kind = IR_HARD_SWISH };
	s->found->operands[0] = x;
	return true;
}

/* ---- linear: x * a + b, or x * a - b, with two numbers */

static bool find_linear(struct search *s, const struct ir_node *root)
{
	bool less = recognise_is_binary(root, IR_SUB);
	const struct ir_value *x = NULL;
	double factor = 0, summand = 0;

	if (!less && !recognise_is_binary(root, IR_ADD))
		return false;
	for (uint32_t i = 0; i < (less ? 1 : 2) && !x; i++) {
		s->found->num_inner = 0;
		s->found->main = rewrite_number(root->operands[!i], &summand) ?
					 recognise_take(s, root->operands[i]) :
					 NULL;
		for (uint32_t j = 0; j < 2 && recognise_is_binary(s->found->main, IR_MUL) && !x;
		     j++)
			if (rewrite_number(s->found->main->operands[!j], &factor))
				x = s->found->main->operands[j];
	}
	if (!x || !ir_type_same_shape(&x->type, &root->results[0]->type))
		return false;
	s->found->op = IR_OP_UNARY;
	s->found->attrs.unary =
		(struct ir_unary_attrs){ .kind = IR_LINEAR,
					 .alpha = (float)factor,
					 .beta = (float)(less ? -summand : summand) };
	s->found->operands[0] = x;
	return true;
}

/* ---- all patterns */

/*
 * Returns, by value id, the last node that uses each value: the only user of a value with one use.
 */
static const struct ir_node **find_users(const struct rewrite *rw)
{
	const struct ir_node **user = wnn_calloc(rw->from->num_values + 1, sizeof(*user));

	for (uint32_t n = 0; user && n < rw->from->num_nodes; n++) {
		const struct ir_node *node = rw->from->nodes[n];

		for (uint32_t i = 0; i < node->num_operands; i++)
			if (node->operands[i])
				user[node->operands[i]->id] = node;
	}
	return user;
}

/*
 * Finds the pattern whose result is that of `root`, and fills *found. Returns the last node of the
 * pattern: `root`, or after a normalisation a cast, the product with a scale or the sum with a
 * bias. NULL when there is no pattern. @curves: looks for the patterns of find_curve() only, or for
 * all others only.
 */
static const struct ir_node *find(const struct rewrite *rw, const struct ir_node *const *user,
				  const struct ir_node *root, bool curves, bool cpu,
				  struct pattern *found)
{
	bool (*const functions[])(struct search *, const struct ir_node *) = {
		find_gelu,
		find_hard_swish,
		find_linear,
	};
	struct search s = { rw, found, cpu };

	memset(found, 0, sizeof(*found));
	if (!ir_dtype_is_float(root->results[0]->type.dtype))
		return NULL;
	if (curves)
		return find_curve(&s, root) ? root : NULL;
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		if (functions[i](&s, root))
			return root;
		memset(found, 0, sizeof(*found));
	}
	return recognise_normalisation(&s, user, root);
}

/* Whether no node of the pattern *found belongs to a pattern that was found before. */
static bool is_free(struct pattern *const *pattern, const bool *gone, const struct ir_node *root,
		    const struct pattern *found)
{
	bool taken = pattern[root->id] || gone[root->id];

	for (uint32_t i = 0; i < found->num_inner; i++)
		taken |= pattern[found->inner[i]->id] || gone[found->inner[i]->id];
	return !taken;
}

static int emit(struct rewrite *rw, const struct ir_node *root, const struct pattern *found)
{
	struct ir_value *operands[3] = { NULL };
	struct ir_node *node;
	uint32_t count = 0;

	for (uint32_t i = 0; i < 3; i++) {
		if (!found->operands[i])
			continue;
		operands[i] = recognise_operand(rw, found, i);
		if (!operands[i])
			return -1;
		count = i + 1;
	}
	node = rewrite_emit(rw, found->op, operands, count, &found->attrs, found->main, root);
	if (!node)
		return -1;
	for (uint32_t i = 0; i < found->num_inner; i++)
		if (found->inner[i] != found->main)
			rw->fate[found->inner[i]->id] =
				(struct rewrite_fate){ WNN_FATE_FUSED, node->id };
	return 0;
}

/*
 * Finds patterns that have no node in common. Those of find_curve() come first, because linear
 * functions may be part of them. Returns 0, or -1 when out of memory.
 */
static int find_all(struct rewrite *rw, const struct ir_node **user, bool cpu,
		    struct pattern **pattern, bool *gone)
{
	uint32_t count = rw->from->num_nodes;
	struct pattern found;

	for (uint32_t n = 0; n < 2 * count; n++) {
		const struct ir_node *root =
			find(rw, user, rw->from->nodes[n % count], n < count, cpu, &found);

		if (!root || !is_free(pattern, gone, root, &found))
			continue;
		pattern[root->id] = wnn_malloc(sizeof(found));
		if (!pattern[root->id])
			return rewrite_nomem(rw);
		*pattern[root->id] = found;
		for (uint32_t i = 0; i < found.num_inner; i++)
			gone[found.inner[i]->id] = true;
	}
	return 0;
}

int pass_recognise(struct rewrite *rw, const struct pass_context *ctx)
{
	uint32_t count = rw->from->num_nodes;
	const struct ir_node **user = find_users(rw);
	struct pattern **pattern = wnn_calloc(count + 1, sizeof(struct pattern *));
	bool *gone = wnn_calloc(count + 1, sizeof(*gone));
	int ret = user && pattern && gone ? find_all(rw, user, ctx->options->widen, pattern, gone) :
					    rewrite_nomem(rw);

	for (uint32_t n = 0; n < count && !ret; n++) {
		const struct ir_node *node = rw->from->nodes[n];

		if (gone[n])
			continue;
		ret = pattern[n] ? emit(rw, node, pattern[n]) : rewrite_copy(rw, node);
	}
	for (uint32_t n = 0; pattern && n < count; n++)
		wnn_free(pattern[n]);
	wnn_free(pattern);
	wnn_free(user);
	wnn_free(gone);
	return ret;
}
