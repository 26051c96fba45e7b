// SPDX-License-Identifier: MIT
/*
 * Finds layer normalisations and RMS normalisations that exporters write as means, squares and a
 * root: (x - mean) / sqrt(mean of squares + epsilon) * scale + bias. Each of scale, bias and the
 * first mean may be absent. All of it, or the squares and their mean, may be computed in float32
 * between casts from and to float16. Means may be reshaped to keep their axes. With a scale, it may
 * be x * factor + (bias - mean * factor) instead.
 */
#include "pass/recognise.h"

#include <string.h>

static bool is_cast(const struct ir_node *node, enum ir_dtype from, enum ir_dtype to)
{
	return node && node->op == IR_OP_CAST && node->operands[0]->type.dtype == from &&
	       node->results[0]->type.dtype == to;
}

/*
 * Like recognise_take(), but where a cast between float16 and float32 makes the value, takes the
 * cast and returns the node before the cast: exporters compute squares and their mean in float32,
 * as the fused operator does.
 */
static const struct ir_node *take_uncast(struct search *s, const struct ir_value *value)
{
	const struct ir_node *node = recognise_take(s, value);

	return is_cast(node, IR_F16, IR_F32) || is_cast(node, IR_F32, IR_F16) ?
		       recognise_take(s, node->operands[0]) :
		       node;
}

/* Whether a type is that of a reduction of `full` that keeps the axes of the mask as 1. */
static bool keeps_axes(const struct ir_type *type, const struct ir_type *full, uint32_t axes)
{
	for (uint32_t i = 0; i < full->rank && type->rank == full->rank; i++)
		if (ir_type_dim(type, i) != (axes >> i & 1 ? 1 : ir_type_dim(full, i)))
			return false;
	return type->rank == full->rank;
}

/*
 * Returns the operand of a mean in a shape that has the reduced axes as dimensions of size 1; NULL
 * if `value` is no such mean. *axes becomes the reduced axes.
 */
static const struct ir_value *averaged(struct search *s, const struct ir_value *value,
				       uint32_t *axes)
{
	const struct ir_node *mean = take_uncast(s, value);

	if (mean && mean->op == IR_OP_RESHAPE)
		mean = recognise_take(s, mean->operands[0]);
	if (!mean || mean->op != IR_OP_REDUCE || mean->attrs.reduce.kind != IR_REDUCE_MEAN ||
	    !mean->attrs.reduce.axes ||
	    !keeps_axes(&value->type, &mean->operands[0]->type, mean->attrs.reduce.axes))
		return NULL;
	if (!s->found->main)
		s->found->main = mean;
	*axes = mean->attrs.reduce.axes;
	return mean->operands[0];
}

/* Returns the value whose square `value` is; NULL when `value` is no square. */
static const struct ir_value *squared(struct search *s, const struct ir_value *value)
{
	const struct ir_node *node = recognise_take(s, value);

	if (recognise_is_binary(node, IR_MUL) && node->operands[0] == node->operands[1])
		return node->operands[0];
	return recognise_is_binary(node, IR_POW) && recognise_is_about(node->operands[1], 2) ?
		       node->operands[0] :
		       NULL;
}

/*
 * Returns the operand of a square root; with `reciprocal`, of the reciprocal of a square root. Else
 * NULL.
 */
static const struct ir_value *under_root(struct search *s, const struct ir_value *value,
					 bool reciprocal)
{
	const struct ir_node *node = take_uncast(s, value);
	double power;

	if (recognise_is_binary(node, IR_POW) && rewrite_number(node->operands[1], &power))
		return power == (reciprocal ? -0.5 : 0.5) ? node->operands[0] : NULL;
	if (reciprocal && recognise_is_unary(node, IR_RECIPROCAL))
		return under_root(s, node->operands[0], false);
	if (reciprocal && recognise_is_binary(node, IR_DIV) &&
	    recognise_is_about(node->operands[0], 1))
		return under_root(s, node->operands[1], false);
	if (reciprocal && recognise_is_unary(node, IR_SQRT)) {
		node = recognise_take(s, node->operands[0]);
		return recognise_is_unary(node, IR_RECIPROCAL) ? node->operands[0] : NULL;
	}
	return !reciprocal && recognise_is_unary(node, IR_SQRT) ? node->operands[0] : NULL;
}

/*
 * Returns x if `divisor` is sqrt(mean(x^2) + epsilon), or with `reciprocal` 1 divided by that; else
 * NULL. *axes becomes the axes of the mean.
 */
static const struct ir_value *squares_under(struct search *s, const struct ir_value *divisor,
					    bool reciprocal, uint32_t *axes)
{
	const struct ir_value *under = under_root(s, divisor, reciprocal), *value = NULL;
	const struct ir_node *sum = under ? recognise_take(s, under) : NULL;
	double epsilon;

	for (uint32_t i = 0; i < 2 && recognise_is_binary(sum, IR_ADD) && !value; i++)
		if (rewrite_number(sum->operands[i], &epsilon))
			value = averaged(s, sum->operands[!i], axes);
	if (!value || !(epsilon >= 0))
		return NULL;
	s->found->attrs.norm.epsilon = (float)epsilon;
	return squared(s, value);
}

/* Returns `numerator` if squares_under() finds that value, perhaps behind a cast; else NULL. */
static const struct ir_value *find_quotient(struct search *s, const struct ir_value *numerator,
					    const struct ir_value *divisor, bool reciprocal,
					    uint32_t *axes)
{
	const struct ir_value *value = squares_under(s, divisor, reciprocal, axes);

	if (value && value != numerator) {
		const struct ir_node *cast = recognise_take(s, value);

		value = is_cast(cast, IR_F16, IR_F32) ? cast->operands[0] : NULL;
	}
	return value == numerator ? numerator : NULL;
}

/* Returns how often nodes of the pattern, including `root`, use a value. */
static uint32_t uses_inside(const struct search *s, const struct ir_node *root,
			    const struct ir_value *value)
{
	uint32_t uses = 0;

	for (uint32_t n = 0; n <= s->found->num_inner; n++) {
		const struct ir_node *node = n ? s->found->inner[n - 1] : root;

		for (uint32_t i = 0; i < node->num_operands; i++)
			uses += node->operands[i] == value;
	}
	return uses;
}

/*
 * Returns x when `value` is x minus its mean and only nodes of the pattern use the difference; else
 * NULL.
 */
static const struct ir_value *without_mean(struct search *s, const struct ir_node *root,
					   const struct ir_value *value, uint32_t axes)
{
	const struct ir_node *difference = value->kind == IR_VALUE_RESULT ? value->def : NULL;
	uint32_t kept = s->found->num_inner, of_mean;
	const struct ir_value *x;

	if (!recognise_is_binary(difference, IR_SUB) || s->rw->is_output[value->id] ||
	    s->rw->uses[value->id] != uses_inside(s, root, value) || kept == MAX_INNER)
		return NULL;
	x = averaged(s, difference->operands[1], &of_mean);
	if (!x || x != difference->operands[0] || of_mean != axes ||
	    s->found->num_inner == MAX_INNER) {
		s->found->num_inner = kept;
		return NULL;
	}
	s->found->inner[s->found->num_inner++] = difference;
	return x;
}

/*
 * Whether the axes of the mask are the last ones. Along other axes the CPU has fast kernels for the
 * separate operators, but not for a normalisation.
 */
static bool are_last(uint32_t axes, uint32_t rank)
{
	uint32_t first = 0;

	while (first < rank && !(axes >> first & 1))
		first++;
	return axes == ((1u << rank) - 1) >> first << first;
}

static void set_axes(struct ir_norm_attrs *attrs, uint32_t axes)
{
	for (uint32_t i = 0; i < IR_MAX_RANK; i++)
		if (axes >> i & 1)
			attrs->axes[attrs->num_axes++] = i;
}

static bool find_quotients(struct search *s, const struct ir_node *root)
{
	struct ir_norm_attrs *attrs = &s->found->attrs.norm;
	const struct ir_value *value = NULL, *x;
	uint32_t axes = 0;

	if (recognise_is_binary(root, IR_DIV))
		value = find_quotient(s, root->operands[0], root->operands[1], false, &axes);
	for (uint32_t i = 0; i < 2 && recognise_is_binary(root, IR_MUL) && !value; i++) {
		s->found->num_inner = 0;
		value = find_quotient(s, root->operands[i], root->operands[!i], true, &axes);
	}
	if (!value || !ir_type_same_shape(&value->type, &root->results[0]->type) ||
	    (s->cpu && !are_last(axes, value->type.rank)))
		return false;
	s->found->op = IR_OP_LAYERNORM;
	set_axes(attrs, axes);
	x = without_mean(s, root, value, axes);
	attrs->rms = !x;
	s->found->operands[0] = x ? x : value;
	return true;
}

/*
 * Whether a scale or bias has one element for each position along the pattern's axes, and its other
 * dimensions are 1.
 */
static bool fits_axes(const struct pattern *found, const struct ir_value *value)
{
	const struct ir_norm_attrs *attrs = &found->attrs.norm;
	const struct ir_type *type = &found->operands[0]->type;
	uint32_t missing = type->rank - value->type.rank, mask = 0;

	for (uint32_t i = 0; i < attrs->num_axes; i++)
		mask |= 1u << attrs->axes[i];
	if (value->type.rank > type->rank || value->type.dtype != type->dtype)
		return false;
	for (uint32_t i = 0; i < type->rank; i++)
		if ((i < missing ? 1 : ir_type_dim(&value->type, i - missing)) !=
		    (mask >> i & 1 ? ir_type_dim(type, i) : 1))
			return false;
	return true;
}

/*
 * Extends the pattern, whose last node is `root`, by `next`, the only node that uses the result of
 * root, if next is a product with a scale (@kind IR_MUL) or a sum with a bias (IR_ADD). Returns
 * next, or NULL when it is neither.
 */
static const struct ir_node *extend(struct pattern *found, const struct ir_node *root,
				    const struct ir_node *next, enum ir_binary kind)
{
	const struct ir_value *other;

	if (!recognise_is_binary(next, kind) || found->num_inner == MAX_INNER)
		return NULL;
	other = next->operands[next->operands[0] == root->results[0]];
	if (!fits_axes(found, other))
		return NULL;
	found->operands[kind == IR_MUL ? 1 : 2] = other;
	found->inner[found->num_inner++] = root;
	return next;
}

/*
 * Adds the node that makes a value to the pattern, if that is an `op` that only nodes of the pattern
 * use. Returns the node or NULL.
 */
static const struct ir_node *take_inside(struct search *s, const struct ir_node *root,
					 const struct ir_value *value, enum ir_op op)
{
	const struct ir_node *node = value->kind == IR_VALUE_RESULT ? value->def : NULL;

	if (!node || node->op != op || s->rw->is_output[value->id] ||
	    s->rw->uses[value->id] != uses_inside(s, root, value) ||
	    s->found->num_inner == MAX_INNER)
		return NULL;
	s->found->inner[s->found->num_inner++] = node;
	return node;
}

/*
 * Finds x * factor + (bias - mean * factor), where the factor is the scale divided by the root, as
 * Keras writes layer normalisation. The fused operator takes the mean off first, and so is exact
 * where the mean is much larger than the differences from it.
 */
static bool find_spread(struct search *s, const struct ir_node *root, const struct ir_value *x,
			const struct ir_value *factor, const struct ir_node *less)
{
	const struct ir_node *shift = recognise_take(s, less->operands[1]), *node;
	const struct ir_value *mean, *difference = NULL, *scale = NULL;
	struct ir_norm_attrs *attrs = &s->found->attrs.norm;
	uint32_t axes = 0, kept;

	if (!recognise_is_binary(shift, IR_MUL) ||
	    (shift->operands[0] != factor && shift->operands[1] != factor))
		return false;
	mean = shift->operands[shift->operands[0] == factor];
	node = take_inside(s, root, factor, IR_OP_BINARY);
	if (!recognise_is_binary(node, IR_MUL))
		return false;
	kept = s->found->num_inner;
	for (uint32_t i = 0; i < 2 && !difference; i++) {
		s->found->num_inner = kept;
		scale = node->operands[!i];
		difference = squares_under(s, node->operands[i], true, &axes);
	}
	node = difference ? take_inside(s, root, difference, IR_OP_BINARY) : NULL;
	if (!recognise_is_binary(node, IR_SUB) || node->operands[0] != x ||
	    node->operands[1] != mean)
		return false;
	node = take_inside(s, root, mean, IR_OP_REDUCE);
	if (!node || node->operands[0] != x || node->attrs.reduce.kind != IR_REDUCE_MEAN ||
	    node->attrs.reduce.axes != axes || !keeps_axes(&mean->type, &x->type, axes) ||
	    !ir_type_same_shape(&x->type, &root->results[0]->type) ||
	    (s->cpu && !are_last(axes, x->type.rank)))
		return false;
	set_axes(attrs, axes);
	s->found->op = IR_OP_LAYERNORM;
	s->found->operands[0] = x;
	s->found->operands[1] = scale;
	s->found->operands[2] = less->operands[0];
	return fits_axes(s->found, scale) && fits_axes(s->found, less->operands[0]);
}

/* Looks for find_spread() with the operands of sums and products in either order. */
static bool find_spread_sum(struct search *s, const struct ir_node *root)
{
	for (uint32_t i = 0; i < 4 && recognise_is_binary(root, IR_ADD); i++) {
		const struct ir_node *product, *less;

		memset(s->found, 0, sizeof(*s->found));
		product = recognise_take(s, root->operands[i & 1]);
		less = recognise_take(s, root->operands[!(i & 1)]);
		if (recognise_is_binary(product, IR_MUL) && recognise_is_binary(less, IR_SUB) &&
		    find_spread(s, root, product->operands[i >> 1], product->operands[!(i >> 1)],
				less))
			return true;
	}
	memset(s->found, 0, sizeof(*s->found));
	return false;
}

/*
 * Makes a normalisation in float32 between casts from and to float16 one of float16, which is
 * computed in float32 as well. Returns the last cast, or NULL when there are no such casts.
 */
static const struct ir_node *between_casts(struct search *s, const struct ir_node *root,
					   const struct ir_node *next)
{
	const struct ir_value *x = s->found->operands[0], *whole = NULL;
	struct ir_norm_attrs *attrs = &s->found->attrs.norm;
	uint32_t axes = 0, kept;

	if (x->kind != IR_VALUE_RESULT || !is_cast(x->def, IR_F16, IR_F32) ||
	    !is_cast(next, IR_F32, IR_F16) || s->found->num_inner + 2 > MAX_INNER)
		return NULL;
	for (uint32_t i = 0; i < attrs->num_axes; i++)
		axes |= 1u << attrs->axes[i];
	if (attrs->rms && uses_inside(s, root, x) == s->rw->uses[x->id]) {
		s->found->inner[s->found->num_inner++] = x->def;
		kept = s->found->num_inner;
		whole = without_mean(s, root, x->def->operands[0], axes);
		/* The mean stays apart where the pattern would have no room for root. */
		if (s->found->num_inner == MAX_INNER) {
			s->found->num_inner = kept;
			whole = NULL;
		}
		attrs->rms = !whole;
	}
	s->found->operands[0] = whole ? whole : x->def->operands[0];
	s->found->inner[s->found->num_inner++] = root;
	return next;
}

const struct ir_node *recognise_normalisation(struct search *s, const struct ir_node *const *user,
					      const struct ir_node *root)
{
	const enum ir_binary kinds[] = { IR_MUL, IR_ADD };

	if (find_spread_sum(s, root))
		return root;
	if (!find_quotients(s, root))
		return NULL;
	for (int i = -1; i < 2 && rewrite_sole_producer(s->rw, root->results[0]); i++) {
		const struct ir_node *next = user[root->results[0]->id];

		/* A scale comes before the bias; each may be absent. */
		next = i < 0 ? between_casts(s, root, next) :
			       extend(s->found, root, next, kinds[i]);
		root = next ? next : root;
	}
	return root;
}

struct ir_value *recognise_operand(struct rewrite *rw, const struct pattern *found, uint32_t i)
{
	const struct ir_norm_attrs *attrs = &found->attrs.norm;
	const struct ir_type *type = &found->operands[0]->type;
	struct ir_value *value = rw->value[found->operands[i]->id];
	int64_t dims[IR_MAX_RANK];
	struct ir_type wanted;
	struct ir_node *node;

	if (!i || value->type.rank == attrs->num_axes)
		return value;
	for (uint32_t k = 0; k < attrs->num_axes; k++)
		dims[k] = ir_type_dim(type, attrs->axes[k]);
	wanted = ir_type_make(type->dtype, attrs->num_axes, dims);
	if (value->kind == IR_VALUE_CONSTANT)
		return rewrite_reshaped(rw, value, &wanted);
	node = rewrite_add(rw, IR_OP_RESHAPE, &value, 1, &wanted, NULL, found->main, NULL);
	return node ? node->results[0] : NULL;
}
