// SPDX-License-Identifier: MIT
/*
 * Replaces products of dequantised values, whose results are not quantised again, by products of
 * 8-bit integers with float results. Their scales, and the zero point of the first operand, may be
 * computed while the graph runs, as dynamic quantisation does.
 *
 * Precondition: a verified graph in which biases and activations are part of their products, and
 * products that are quantised again have become operators on integers. Postcondition: a convolution
 * or matrix product of dequantised values is one node together with the scales, the addition and
 * the function after it, as far as each result has no other use. The sum is exact and becomes a
 * float once: the result is nearer to the true one than that of the single operators.
 *
 *	%2 = dequantize(%0, s, z)
 *	%3 = matmul(%2, dequantize(%1, ...))
 *	%4 = binary(%3, s') mul			->	%4 = qmatmul(%0, %1, s * s') ; matmul+mul
 *
 * A zero point z that is computed while the graph runs is taken out of the sum: minus z times the
 * sum of each column of the constant %1 is the bias of the integers. Where a convolution is padded,
 * z is concatenated around the integers %0 first, in place of the padding.
 */
#include <math.h>
#include <string.h>

#include "pass/channels.h"

#include "util/float16.h"
#include "util/malloc.h"

#define MOST_SUM      ((double)INT32_MAX)
#define MAX_FACTORS   4 /* the scales of both operands and factors of the result */
#define MAX_FOLLOWING 6 /* the most nodes after a product that are fused with it */

struct sum {
	const struct ir_node *node;
	struct quantized a, b;
	double alpha; /* constant factor of all channels of the result */
	/*
	 * Other factors of the result, of which the scales of both operands are the first: each is
	 * one number per channel, or one for all.
	 */
	const struct ir_value *factors[MAX_FACTORS];
	uint32_t num_factors;
	/* what is added to the scaled sum, such as a bias; NULL: nothing */
	const struct ir_value *addend;
	float beta; /* factor of the addend; 1 if the addend is not constant */
	struct ir_unary_attrs act;
	/* Nodes after the product that are fused with the product, in order. */
	const struct ir_node *following[MAX_FOLLOWING];
	uint32_t num_following;
	bool whole; /* whether both scales and alpha are 1, so that the product is an integer */
};

struct fusion {
	struct rewrite *rw;
	const struct ir_node **user; /* by value: the last node that uses it */
	const struct ir_node *
		*product; /* by node: the product that is computed at its position, or NULL */
	/* by node: the product that the node is fused with, or NULL */
	const struct ir_node **owner;
	uint32_t *uses; /* by value: number of uses that the fusion removes */
};

/* ---- products that can be computed on integers */

static bool is_constant(const struct ir_value *value)
{
	return value->kind == IR_VALUE_CONSTANT;
}

static bool is_one(const struct ir_value *value)
{
	for (int64_t i = 0; is_constant(value) && i < ir_type_elements(&value->type); i++)
		if (quantized_float(value, i) != 1)
			return false;
	return is_constant(value);
}

static bool is_padded(const struct ir_conv_attrs *conv)
{
	return conv->padding[0] || conv->padding[1] || conv->padding[2] || conv->padding[3];
}

/*
 * Whether the first operand's zero point can be taken out of the sum: the second operand is
 * constant, and each result includes a whole column of it. Padded convolutions with groups stay
 * float: their sums have few terms, so that padding the data first would take more time than
 * integers save.
 */
static bool zero_may_leave(const struct sum *s)
{
	const struct ir_conv_attrs *conv = &s->node->attrs.conv;
	const struct ir_type *b = &s->b.integers->type;

	if (!is_constant(s->b.integers))
		return false;
	if (s->node->op == IR_OP_MATMUL) {
		for (uint32_t i = 0; i + 2 < b->rank; i++)
			if (ir_type_dim(b, i) != 1)
				return false;
		return true;
	}
	return !conv->transposed && (conv->groups == 1 || !is_padded(conv));
}

/*
 * Whether the sums fit int32; with a computed zero point, also whether the products that are
 * subtracted from the sums do.
 */
static bool sums_fit(const struct sum *s)
{
	bool constant = is_constant(s->a.zero);
	double most = quantized_largest(&s->a, constant ? quantized_zero(&s->a, 0) : 0);

	return channels_depth(s->node) * most * quantized_largest(&s->b, quantized_zero(&s->b, 0)) *
		       (constant ? 1 : 2) <
	       MOST_SUM;
}

static bool operands_fit(struct sum *s)
{
	const struct ir_node *node = s->node;

	if (!quantized_any(node->operands[0], &s->a) || !quantized_any(node->operands[1], &s->b) ||
	    (is_constant(s->a.integers) && is_constant(s->b.integers)) || !quantized_whole(&s->a) ||
	    !is_constant(s->b.zero) || !channels_scales_fit(&s->b, channels_filter_axis(node)))
		return false;
	/*
	 * The filter of a transposed convolution with groups has scales for the channels of one
	 * group only.
	 */
	if (ir_type_elements(&s->b.scale->type) != 1 &&
	    ir_type_elements(&s->b.scale->type) !=
		    ir_type_dim(&node->results[0]->type, channels_axis(node)))
		return false;
	return (is_constant(s->a.zero) || zero_may_leave(s)) && sums_fit(s);
}

/*
 * Whether a constant times its factor is exact in the constant's type; float32 is always accepted,
 * as the error is negligible there.
 */
static bool product_is_exact(const struct ir_value *value, float factor)
{
	for (int64_t i = 0; value->type.dtype == IR_F16 && i < ir_type_elements(&value->type);
	     i++) {
		float product = factor * quantized_float(value, i);

		if (wnn_half_to_float(wnn_float_to_half(product)) != product)
			return false;
	}
	return true;
}

/*
 * Whether the bias, if any, can be the addend: one number per channel or one for all. The bias of a
 * convolution always is such a vector.
 */
static bool bias_fits(const struct sum *s)
{
	const struct ir_value *bias = s->addend;

	if (!bias || s->node->op == IR_OP_CONV)
		return true;
	return channels_each_or_one(s->node, &bias->type) &&
	       (s->beta == 1 || (is_constant(bias) && product_is_exact(bias, s->beta)));
}

/* Fills in *s for the product alone; false when it cannot be computed on integers. */
static bool begin(struct sum *s, const struct ir_node *node)
{
	bool conv = node->op == IR_OP_CONV;

	*s = (struct sum){ .node = node, .alpha = 1, .beta = 1 };
	if ((!conv && node->op != IR_OP_MATMUL) || !operands_fit(s))
		return false;
	s->act = conv ? node->attrs.conv.act : node->attrs.matmul.act;
	if (!conv) {
		s->alpha = node->attrs.matmul.alpha;
		s->beta = node->attrs.matmul.beta;
	}
	s->whole = is_one(s->a.scale) && is_one(s->b.scale) && s->alpha == 1;
	s->factors[s->num_factors++] = s->a.scale;
	s->factors[s->num_factors++] = s->b.scale;
	s->addend = node->num_operands > 2 ? node->operands[2] : NULL;
	return bias_fits(s);
}

/* ---- nodes after the product */

static bool is_plain(const struct sum *s)
{
	return !s->addend && s->act.kind == IR_UNARY_NONE;
}

/*
 * Returns the node that uses the result of @node; NULL when the result is an output or does not
 * have exactly one use.
 */
static const struct ir_node *next_node(const struct fusion *f, const struct ir_node *node)
{
	const struct ir_value *value = node->results[0];

	return f->rw->uses[value->id] == 1 && !f->rw->is_output[value->id] ? f->user[value->id] :
									     NULL;
}

/*
 * Takes two casts of a product that is an integer, to an integer type and back, which do not change
 * the product: adds *node, the first cast, to s->following, sets *node to the second, and returns
 * true. Returns false if *node is no such cast.
 */
static bool take_casts(const struct fusion *f, struct sum *s, const struct ir_node **node)
{
	const struct ir_node *next = *node, *after;

	if (!s->whole || !is_plain(s) || s->num_factors > 2 || next->op != IR_OP_CAST ||
	    next->results[0]->type.dtype != IR_I32)
		return false;
	after = next_node(f, next);
	if (!after || after->op != IR_OP_CAST ||
	    after->results[0]->type.dtype != s->node->results[0]->type.dtype)
		return false;
	s->following[s->num_following++] = next;
	*node = after;
	return true;
}

static bool take_binary(struct sum *s, const struct ir_node *node, const struct ir_value *last)
{
	const struct ir_value *other = node->operands[node->operands[0] == last];

	if (node->op != IR_OP_BINARY || s->act.kind != IR_UNARY_NONE || other == last ||
	    !ir_type_same_shape(&last->type, &node->results[0]->type) ||
	    !channels_each_or_one(s->node, &other->type))
		return false;
	if (node->attrs.binary.kind == IR_MUL && is_plain(s) && s->num_factors < MAX_FACTORS)
		s->factors[s->num_factors++] = other;
	else if (node->attrs.binary.kind == IR_ADD && !s->addend)
		s->addend = other;
	else
		return false;
	s->act = node->attrs.binary.act;
	return true;
}

static bool take_function(struct sum *s, const struct ir_node *node)
{
	if (node->op != IR_OP_UNARY || s->act.kind != IR_UNARY_NONE ||
	    node->results[0]->type.dtype != node->operands[0]->type.dtype)
		return false;
	s->act = node->attrs.unary;
	return true;
}

static void find_following(const struct fusion *f, struct sum *s)
{
	const struct ir_node *last = s->node, *node;

	while (s->num_following + 2 <= MAX_FOLLOWING && (node = next_node(f, last))) {
		/*
		 * A node that combines the results of two products is fused with the first of them
		 * only.
		 */
		if (f->owner[node->id] && f->owner[node->id] != s->node)
			break;
		if (!take_casts(f, s, &node) && !take_binary(s, node, last->results[0]) &&
		    !take_function(s, node))
			break;
		s->following[s->num_following++] = node;
		last = node;
	}
}

/* ---- the factor of each sum */

static int64_t channels_of(const struct sum *s)
{
	return ir_type_dim(&s->node->results[0]->type, channels_axis(s->node));
}

static double constant_factor(const struct sum *s, int64_t channel)
{
	double factor = s->alpha;

	for (uint32_t i = 0; i < s->num_factors; i++)
		if (is_constant(s->factors[i]))
			factor *= quantized_float(
				s->factors[i],
				ir_type_elements(&s->factors[i]->type) > 1 ? channel : 0);
	return factor;
}

/* Whether the constant factor of each channel is a normal number of float32. */
static bool factors_fit(const struct sum *s)
{
	for (int64_t i = 0; i < channels_of(s); i++)
		if (!isnormal((float)constant_factor(s, i)))
			return false;
	return true;
}

static bool find_sum(const struct fusion *f, const struct ir_node *node, struct sum *s)
{
	if (!begin(s, node))
		return false;
	find_following(f, s);
	return factors_fit(s);
}

/* ---- making nodes */

/*
 * Adds a node with the label of the product, and returns its result: one number, or a vector of as
 * many as the longest operand has. NULL when an operand is NULL, or out of memory.
 */
static struct ir_value *add_node(struct rewrite *rw, const struct sum *s, enum ir_op op,
				 struct ir_value *const *operands, uint32_t count,
				 enum ir_dtype dtype, const union ir_attrs *attrs)
{
	int64_t most = 1;
	struct ir_type type;
	struct ir_node *node;

	for (uint32_t i = 0; i < count; i++) {
		if (!operands[i])
			return NULL;
		if (ir_type_elements(&operands[i]->type) > most)
			most = ir_type_elements(&operands[i]->type);
	}
	type = ir_type_make(dtype, 1, &most);
	node = ir_add_node(rw->to, op, operands, count, &type, 1, attrs, s->node->label,
			   s->node->source);
	return node ? node->results[0] : NULL;
}

static struct ir_value *multiply(struct rewrite *rw, const struct sum *s, struct ir_value *a,
				 struct ir_value *b)
{
	const union ir_attrs mul = { .binary = { .kind = IR_MUL, .act.kind = IR_UNARY_NONE } };

	return add_node(rw, s, IR_OP_BINARY, (struct ir_value *[]){ a, b }, 2,
			a ? a->type.dtype : IR_F32, &mul);
}

static struct ir_value *cast(struct rewrite *rw, const struct sum *s, struct ir_value *value,
			     enum ir_dtype dtype)
{
	if (!value || value->type.dtype == dtype)
		return value;
	return add_node(rw, s, IR_OP_CAST, &value, 1, dtype, NULL);
}

static struct ir_value *vector_of(struct rewrite *rw, const struct sum *s,
				  const struct ir_value *value)
{
	return channels_vector(rw, s->node, rw->value[value->id]);
}

/*
 * Returns the product of the constant factors as one vector, or as one number; NULL when out of
 * memory.
 */
static struct ir_value *constant_scale(struct rewrite *rw, const struct sum *s)
{
	int64_t count = 1;
	struct ir_value *value;
	float *data;

	for (uint32_t i = 0; i < s->num_factors; i++)
		if (is_constant(s->factors[i]) && ir_type_elements(&s->factors[i]->type) > 1)
			count = channels_of(s);
	data = wnn_malloc((size_t)count * sizeof(*data));
	if (!data)
		return NULL;
	for (int64_t i = 0; i < count; i++)
		data[i] = (float)constant_factor(s, i);
	value = channels_constant(rw, IR_F32, data, count);
	wnn_free(data);
	return value;
}

static struct ir_value *make_scale(struct rewrite *rw, const struct sum *s)
{
	struct ir_value *scale = constant_scale(rw, s);
	bool first = scale && is_one(scale);

	for (uint32_t i = 0; i < s->num_factors && scale; i++) {
		struct ir_value *factor;

		if (is_constant(s->factors[i]))
			continue;
		factor = cast(rw, s, vector_of(rw, s, s->factors[i]), IR_F32);
		scale = first && ir_type_elements(&scale->type) == 1 ?
				factor :
				multiply(rw, s, factor, scale);
		first = false;
	}
	return scale;
}

/*
 * Returns a vector of minus the sum of each column of the second operand, whose zero point is
 * subtracted; NULL when out of memory.
 */
static struct ir_value *column_sums(struct rewrite *rw, const struct sum *s)
{
	const struct ir_type *type = &s->b.integers->type;
	const void *data = ir_constant_data(s->b.integers->constant);
	int64_t channels = channels_of(s), inner = 1, zero = quantized_zero(&s->b, 0);
	int32_t *sums = data ? wnn_calloc((size_t)channels, sizeof(*sums)) : NULL;
	struct ir_value *value = NULL;

	for (uint32_t i = channels_filter_axis(s->node) + 1; i < type->rank; i++)
		inner *= ir_type_dim(type, i);
	for (int64_t i = 0; sums && i < ir_type_elements(type); i++)
		sums[i / inner % channels] -=
			(int32_t)((type->dtype == IR_I8 ? ((const int8_t *)data)[i] :
							  ((const uint8_t *)data)[i]) -
				  zero);
	if (sums)
		value = channels_constant(rw, IR_I32, sums, channels);
	wnn_free(sums);
	return value;
}

static struct ir_value *make_bias(struct rewrite *rw, const struct sum *s)
{
	struct ir_value *zero = cast(rw, s, vector_of(rw, s, s->a.zero), IR_I32);

	return multiply(rw, s, zero, column_sums(rw, s));
}

static struct ir_value *add_shaped(struct rewrite *rw, const struct sum *s, enum ir_op op,
				   struct ir_value *const *operands, uint32_t count,
				   const struct ir_type *type, const union ir_attrs *attrs)
{
	struct ir_node *node;

	for (uint32_t i = 0; i < count; i++)
		if (!operands[i])
			return NULL;
	node = ir_add_node(rw->to, op, operands, count, type, 1, attrs, s->node->label,
			   s->node->source);
	return node ? node->results[0] : NULL;
}

/*
 * Adds padding[0] rows of a number before a value and padding[1] rows after it along an axis; NULL
 * when out of memory.
 */
static struct ir_value *surround(struct rewrite *rw, const struct sum *s, struct ir_value *value,
				 struct ir_value *number, uint32_t axis, const uint32_t *padding)
{
	const union ir_attrs attrs = { .axis = axis };
	struct ir_value *parts[3];
	struct ir_type type;
	uint32_t count = 0;

	if (!value || (!padding[0] && !padding[1]))
		return value;
	type = value->type;
	for (int i = 0; i < 3; i++) {
		if (i == 1) {
			parts[count++] = value;
		} else if (i == 2 && padding[1] == padding[0]) {
			parts[count++] = parts[0];
		} else if (padding[i / 2]) {
			type.dim[axis].value = padding[i / 2];
			parts[count++] = add_shaped(rw, s, IR_OP_EXPAND, &number, 1, &type, NULL);
		}
	}
	type.dim[axis].value = ir_type_dim(&value->type, axis) + padding[0] + padding[1];
	return add_shaped(rw, s, IR_OP_CONCAT, parts, count, &type, &attrs);
}

/*
 * Returns the first operand; for a padded convolution with a computed zero point, the operand with
 * the padding around it.
 */
static struct ir_value *make_data(struct rewrite *rw, const struct sum *s)
{
	const struct ir_conv_attrs *conv = &s->node->attrs.conv;
	struct ir_value *value = rw->value[s->a.integers->id], *zero = rw->value[s->a.zero->id];
	struct ir_type type = value->type;
	uint32_t rows = conv->layout == IR_NHWC ? 1 : 2;

	if (s->node->op != IR_OP_CONV || is_constant(s->a.zero))
		return value;
	for (uint32_t i = 0; i < type.rank; i++)
		type.dim[i] = (struct ir_dim){ .value = 1 };
	if (is_padded(conv))
		zero = add_shaped(rw, s, IR_OP_RESHAPE, &zero, 1, &type, NULL);
	value = surround(rw, s, value, zero, rows + 1, conv->padding + 2);
	return surround(rw, s, value, zero, rows, conv->padding);
}

/* Returns a constant addend times its factor, rounded to its type; NULL when out of memory. */
static struct ir_value *scaled_addend(struct rewrite *rw, const struct sum *s)
{
	int64_t count = ir_type_elements(&s->addend->type);
	enum ir_dtype dtype = s->addend->type.dtype;
	uint16_t *half = wnn_malloc((size_t)count * sizeof(float));
	float *real = (float *)half;
	struct ir_value *value = NULL;

	for (int64_t i = 0; half && i < count; i++) {
		float product = s->beta * quantized_float(s->addend, i);

		if (dtype == IR_F16)
			half[i] = wnn_float_to_half(product);
		else
			real[i] = product;
	}
	if (half)
		value = channels_constant(rw, dtype, half, count);
	wnn_free(half);
	return value;
}

static union ir_attrs attrs_of(const struct sum *s)
{
	const struct ir_integer_attrs integer = {
		.a_zero = is_constant(s->a.zero) ? quantized_zero(&s->a, 0) : 0,
		.b_zero = quantized_zero(&s->b, 0),
	};
	union ir_attrs attrs = { .axis = 0 };

	if (s->node->op == IR_OP_CONV) {
		attrs.qconv.conv = s->node->attrs.conv;
		if (!is_constant(s->a.zero))
			memset(attrs.qconv.conv.padding, 0, sizeof(attrs.qconv.conv.padding));
		attrs.qconv.conv.act = s->act;
		attrs.qconv.integer = integer;
	} else {
		attrs.qmatmul.matmul = s->node->attrs.matmul;
		attrs.qmatmul.matmul.alpha = attrs.qmatmul.matmul.beta = 1;
		attrs.qmatmul.matmul.act = s->act;
		attrs.qmatmul.integer = integer;
	}
	return attrs;
}

/*
 * Sets the fates of dequantisations: when only fused products use its result, a dequantisation
 * counts as fused into node `node`.
 */
static void adopt_operands(struct fusion *f, const struct sum *s, uint32_t node)
{
	for (uint32_t i = 0; i < 2; i++) {
		const struct ir_value *value = s->node->operands[i];

		if (f->uses[value->id] == f->rw->uses[value->id])
			f->rw->fate[value->def->id] = (struct rewrite_fate){ WNN_FATE_FUSED, node };
	}
}

static int emit(struct fusion *f, const struct sum *s)
{
	const struct ir_node *last = s->num_following ? s->following[s->num_following - 1] : NULL;
	enum ir_op op = s->node->op == IR_OP_CONV ? IR_OP_QCONV : IR_OP_QMATMUL;
	bool has_bias = !is_constant(s->a.zero);
	uint32_t count = s->addend ? 5 : has_bias ? 4 : 3;
	const union ir_attrs attrs = attrs_of(s);
	struct rewrite *rw = f->rw;
	struct ir_value *operands[5] = { make_data(rw, s), rw->value[s->b.integers->id],
					 make_scale(rw, s) };
	struct ir_node *fused;

	if (has_bias)
		operands[3] = make_bias(rw, s);
	if (s->addend)
		operands[4] = s->beta == 1 ? vector_of(rw, s, s->addend) : scaled_addend(rw, s);
	if (!operands[0] || !operands[2] || (has_bias && !operands[3]) ||
	    (s->addend && !operands[4]))
		return rewrite_nomem(rw);
	fused = rewrite_emit(rw, op, operands, count, &attrs, s->node, last);
	if (!fused)
		return -1;
	for (uint32_t i = 0; i < s->num_following; i++)
		rw->fate[s->following[i]->id] = (struct rewrite_fate){ WNN_FATE_FUSED, fused->id };
	adopt_operands(f, s, fused->id);
	return 0;
}

/* ---- the pass */

static void find_all(struct fusion *f)
{
	const struct ir_graph *from = f->rw->from;
	struct sum s;

	for (uint32_t n = 0; n < from->num_nodes; n++)
		for (uint32_t i = 0; i < from->nodes[n]->num_operands; i++)
			if (from->nodes[n]->operands[i])
				f->user[from->nodes[n]->operands[i]->id] = from->nodes[n];
	for (uint32_t n = 0; n < from->num_nodes; n++) {
		const struct ir_node *node = from->nodes[n], *place = node;

		if (!find_sum(f, node, &s))
			continue;
		f->owner[n] = node;
		for (uint32_t i = 0; i < s.num_following; i++) {
			place = s.following[i];
			f->owner[place->id] = node;
		}
		f->product[place->id] = node;
		for (uint32_t i = 0; i < 2; i++)
			f->uses[node->operands[i]->id]++;
	}
}

static int run(struct fusion *f)
{
	const struct ir_graph *from = f->rw->from;
	struct sum s;
	int ret = 0;

	find_all(f);
	for (uint32_t n = 0; n < from->num_nodes && !ret; n++) {
		if (f->product[n])
			ret = find_sum(f, f->product[n], &s) ? emit(f, &s) : -1;
		else if (!f->owner[n])
			ret = rewrite_copy(f->rw, from->nodes[n]);
	}
	return ret;
}

int pass_fuse_sums(struct rewrite *rw, const struct pass_context *ctx)
{
	uint32_t nodes = rw->from->num_nodes + 1, values = rw->from->num_values + 1;
	struct fusion f = {
		.rw = rw,
		.user = wnn_calloc(values, sizeof(*f.user)),
		.product = wnn_calloc(nodes, sizeof(*f.product)),
		.owner = wnn_calloc(nodes, sizeof(*f.owner)),
		.uses = wnn_calloc(values, sizeof(*f.uses)),
	};
	int ret = f.user && f.product && f.owner && f.uses ? run(&f) : rewrite_nomem(rw);

	(void)ctx;
	wnn_free(f.user);
	wnn_free(f.product);
	wnn_free(f.owner);
	wnn_free(f.uses);
	return ret;
}
