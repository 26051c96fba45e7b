// SPDX-License-Identifier: MIT
/*
 * Rules that fold factors and summands of channels, in front of a convolution or matrix product or
 * after it, into its weights and its bias: a batch normalisation, and products, quotients, sums
 * and differences with constants.
 *
 *	%2 = conv(%0, %1)
 *	%3 = batchnorm(%2, ...) -> %3 = conv(%0, %1', %2') ; conv2d+batchNormalization
 *
 * The factors of one product are accumulated in float64; its constants are written once, when no
 * more rules apply.
 *
 * Assumed: sums do not overflow before they are scaled. A rule does not apply where a weight or a
 * bias would not be finite, where the largest weight of a channel would be too small for a normal
 * number of its type, where a factor or summand is not finite, as with a variance that is not
 * positive, and where the weights have other users and more than MAX_SHARED bytes.
 *
 * A sum or difference in front of a product stays: x + c is exact where c nearly cancels x, while
 * the rounding errors of x * w + c * w are as large as those of its terms. A batch normalisation
 * of float32 in front is taken: its own result may already have an error in proportion to x and the
 * mean. In float16 it is not, unless it adds nothing: the scaled weights are rounded to 11 bits,
 * while the normalisation is computed in float32.
 */
#include <math.h>

#include "pass/channels.h"
#include "pass/scaling.h"
#include "util/malloc.h"

/* The most bytes of weights that are copied although other nodes use them, too. */
#define MAX_SHARED (64 << 10)

/* ---- products */

static bool is_product(const struct ir_node *node)
{
	const struct ir_type *type = node ? &node->results[0]->type : NULL;

	if (!node || (type->dtype != IR_F32 && type->dtype != IR_F16))
		return false;
	if (node->op == IR_OP_CONV)
		return node->attrs.conv.act.kind == IR_UNARY_NONE;
	return node->op == IR_OP_MATMUL && node->attrs.matmul.act.kind == IR_UNARY_NONE;
}

static const struct ir_value *bias_of(const struct ir_node *product)
{
	return product->num_operands > 2 ? product->operands[2] : NULL;
}

/* Returns the axis of the first operand along which its channels lie. */
static uint32_t input_axis(const struct ir_node *product)
{
	uint32_t rank = product->operands[0]->type.rank;

	if (product->op == IR_OP_MATMUL)
		return rank - (product->attrs.matmul.a_transpose ? 2 : 1);
	return product->attrs.conv.layout == IR_NCHW ? 1 : rank - 1;
}

static int64_t input_channels(const struct ir_node *product)
{
	return ir_type_dim(&product->operands[0]->type, input_axis(product));
}

static bool changes(const double *numbers, int64_t count, double neutral)
{
	for (int64_t i = 0; i < count; i++)
		if (numbers[i] != neutral)
			return true;
	return false;
}

/* ---- factors and summands of channels */

/* A factor and a summand for each channel. */
struct affine {
	double *scale, *shift;
	int64_t count;
};

static bool make_affine(struct rules *rules, struct affine *affine, int64_t count)
{
	affine->count = count;
	affine->scale = wnn_calloc(2 * (size_t)count, sizeof(*affine->scale));
	if (!affine->scale)
		return rules_nomem(rules), false;
	affine->shift = affine->scale + count;
	return true;
}

static double element_or(const struct ir_value *value, int64_t i, double otherwise)
{
	if (!value)
		return otherwise;
	return quantized_float(value, ir_type_elements(&value->type) == 1 ? 0 : i);
}

static const struct ir_value *operand_of(const struct ir_node *node, uint32_t i)
{
	return i < node->num_operands ? node->operands[i] : NULL;
}

static bool read_normalisation(const struct ir_node *node, struct affine *affine)
{
	for (uint32_t i = 1; i < node->num_operands; i++)
		if (node->operands[i] && node->operands[i]->kind != IR_VALUE_CONSTANT)
			return false;
	for (int64_t i = 0; i < affine->count; i++) {
		double under =
			(double)node->attrs.norm.epsilon + element_or(node->operands[2], i, 0);

		affine->scale[i] = element_or(operand_of(node, 3), i, 1) / sqrt(under);
		affine->shift[i] = element_or(operand_of(node, 4), i, 0) -
				   element_or(node->operands[1], i, 0) * affine->scale[i];
	}
	return true;
}

/*
 * Returns the index of the constant operand; -1 when neither or both operands are constant, or when
 * the constant is divided by the other operand.
 */
static int constant_side(const struct ir_node *node)
{
	for (int i = 1; i >= 0; i--)
		if (node->operands[i]->kind == IR_VALUE_CONSTANT &&
		    node->operands[!i]->kind != IR_VALUE_CONSTANT)
			return node->attrs.binary.kind == IR_DIV && i == 0 ? -1 : i;
	return -1;
}

static bool read_binary(const struct ir_node *node, struct affine *affine)
{
	enum ir_binary kind = node->attrs.binary.kind;
	int side = constant_side(node);

	if (side < 0)
		return false;
	for (int64_t i = 0; i < affine->count; i++) {
		double number = element_or(node->operands[side], i, 0);

		affine->scale[i] = kind == IR_MUL ? number : kind == IR_DIV ? 1 / number : 1;
		affine->shift[i] = kind == IR_ADD ? number : 0;
		if (kind == IR_SUB) {
			affine->scale[i] = side ? 1 : -1;
			affine->shift[i] = side ? -number : number;
		}
	}
	return kind == IR_MUL || kind == IR_DIV || kind == IR_ADD || kind == IR_SUB;
}

/* ---- the product that takes factors and summands */

/* Whether rules may replace the weights of a product. */
static bool can_scale(const struct rules *rules, const struct ir_node *product)
{
	const struct ir_value *weights = product->operands[1];

	return weights->kind == IR_VALUE_CONSTANT &&
	       weights->type.dtype == product->results[0]->type.dtype &&
	       product->operands[0]->kind != IR_VALUE_CONSTANT &&
	       (rules_uses(rules, weights) == 1 || ir_type_bytes(&weights->type) <= MAX_SHARED);
}

/* Whether the product has no bias, or one that the rule may replace. */
static bool can_shift(const struct ir_node *product)
{
	const struct ir_value *bias = bias_of(product);

	/* The bias of a convolution always has one element for each channel. */
	return !bias || (bias->kind == IR_VALUE_CONSTANT &&
			 bias->type.dtype == product->results[0]->type.dtype &&
			 (product->op == IR_OP_CONV || channels_each_or_one(product, &bias->type)));
}

static bool scale_result(struct rules *rules, const struct ir_node *product,
			 struct rules_scaling *s, const struct affine *affine)
{
	s->has_out |= changes(affine->scale, affine->count, 1);
	for (int64_t i = 0; i < s->outs; i++) {
		s->out_scale[i] *= affine->scale[i];
		s->out_shift[i] = s->out_shift[i] * affine->scale[i] + affine->shift[i];
	}
	return scaling_fits(rules, product, s);
}

/*
 * Whether every result includes all taps of the filter, so that all get the same bias: the summand
 * that is added to the input is not added to its padding.
 */
static bool sees_all(const struct ir_node *product)
{
	const struct ir_conv_attrs *conv = &product->attrs.conv;

	return product->op == IR_OP_MATMUL ||
	       (!conv->transposed && !conv->padding[0] && !conv->padding[1] && !conv->padding[2] &&
		!conv->padding[3]);
}

/* Whether a product has a single second matrix for the whole batch. */
static bool is_one_matrix(const struct ir_node *product)
{
	const struct ir_type *type = &product->operands[1]->type;

	for (uint32_t i = 0; product->op == IR_OP_MATMUL && i + 2 < type->rank; i++)
		if (ir_type_dim(type, i) != 1)
			return false;
	return true;
}

static bool scale_input(struct rules *rules, const struct ir_node *product, struct rules_scaling *s,
			const struct affine *affine)
{
	bool shifts = changes(affine->shift, affine->count, 0);

	s->has_in |= changes(affine->scale, affine->count, 1);
	s->shifts_input |= shifts;
	if (shifts && (product->results[0]->type.dtype == IR_F16 || !sees_all(product) ||
		       !is_one_matrix(product)))
		return false;
	/*
	 * The new factors apply before those that are collected already, which come from nodes
	 * nearer to the product.
	 */
	for (int64_t i = 0; i < s->ins; i++) {
		s->in_shift[i] += s->in_scale[i] * affine->shift[i];
		s->in_scale[i] *= affine->scale[i];
	}
	return scaling_fits(rules, product, s);
}

/* Emits the product with the scaling `s`, and with `input` as first operand if that is not NULL. */
static struct ir_value *emit(struct rules *rules, const struct ir_node *product,
			     struct ir_value *input, struct rules_scaling *s,
			     const struct ir_node *other)
{
	struct ir_value *operands[3] = { input ? input : product->operands[0], product->operands[1],
					 product->num_operands > 2 ? product->operands[2] : NULL };

	return rules_emit_product(rules, product, operands, &product->attrs, s, other);
}

/* ---- factors and summands after a product */

/*
 * Folds the factors and summands that @read finds in `node` into the product that makes `from`.
 * Returns the value that replaces the result of `node`; NULL when the rule does not apply, or out
 * of memory.
 */
static struct ir_value *fold_into_product(struct rules *rules, struct ir_node *node,
					  const struct ir_value *from,
					  bool (*read)(const struct ir_node *, struct affine *))
{
	struct ir_node *product = rules_sole(rules, from);
	struct affine affine;
	struct rules_scaling *s;
	struct ir_value *value = NULL;

	if (!is_product(product) || !ir_type_same_shape(&from->type, &node->results[0]->type) ||
	    !can_scale(rules, product) || !can_shift(product) ||
	    !make_affine(rules, &affine, ir_type_dim(&from->type, channels_axis(product))))
		return NULL;
	s = read(node, &affine) ? scaling_begin(rules, product) : NULL;
	if (s && scale_result(rules, product, s, &affine))
		value = emit(rules, product, NULL, s, node);
	else
		rules_scaling_destroy(s);
	wnn_free(affine.scale);
	return value;
}

struct ir_value *rule_scale_behind_normalised(struct rules *rules, struct ir_node *node)
{
	const struct ir_node *product = rules_sole(rules, node->operands[0]);

	if (!is_product(product) || node->attrs.norm.axis != channels_axis(product))
		return NULL;
	return fold_into_product(rules, node, node->operands[0], read_normalisation);
}

static bool read_linear(const struct ir_node *node, struct affine *affine)
{
	bool negates = node->attrs.unary.kind == IR_NEG;

	for (int64_t i = 0; i < affine->count; i++) {
		affine->scale[i] = negates ? -1 : (double)node->attrs.unary.alpha;
		affine->shift[i] = negates ? 0 : (double)node->attrs.unary.beta;
	}
	return true;
}

struct ir_value *rule_scale_behind_linear(struct rules *rules, struct ir_node *node)
{
	if (node->attrs.unary.kind != IR_LINEAR && node->attrs.unary.kind != IR_NEG)
		return NULL;
	return fold_into_product(rules, node, node->operands[0], read_linear);
}

struct ir_value *rule_scale_behind(struct rules *rules, struct ir_node *node)
{
	const struct ir_node *product;
	int side = constant_side(node);

	if (side < 0 || node->attrs.binary.act.kind != IR_UNARY_NONE ||
	    !ir_dtype_is_float(node->results[0]->type.dtype))
		return NULL;
	product = rules_sole(rules, node->operands[!side]);
	if (!is_product(product) || !channels_each_or_one(product, &node->operands[side]->type))
		return NULL;
	return fold_into_product(rules, node, node->operands[!side], read_binary);
}

/* ---- factors and summands before a product */

/*
 * Whether a constant that is broadcast to the input has one element for each channel along `axis`,
 * or one for all.
 */
static bool lies_along(const struct ir_type *type, const struct ir_type *input, uint32_t axis)
{
	uint32_t missing;

	if (type->rank > input->rank)
		return false;
	missing = input->rank - type->rank;
	return ir_type_elements(type) == 1 ||
	       (axis >= missing && ir_type_dim(type, axis - missing) == ir_type_elements(type) &&
		ir_type_elements(type) == ir_type_dim(input, axis));
}

/* Reads the factors and summands of a node whose result has its channels along `axis`. */
static bool read_in_front(const struct ir_node *node, int axis, struct affine *affine)
{
	int side;

	if (axis < 0)
		return false;
	if (node->op == IR_OP_BATCHNORM)
		return node->attrs.norm.axis == (uint32_t)axis && read_normalisation(node, affine);
	if (node->op != IR_OP_BINARY || node->attrs.binary.act.kind != IR_UNARY_NONE)
		return false;
	side = constant_side(node);
	return side >= 0 &&
	       lies_along(&node->operands[side]->type, &node->results[0]->type, (uint32_t)axis) &&
	       read_binary(node, affine) && !changes(affine->shift, affine->count, 0);
}

#define MAX_VIEWS 2 /* the most views before a product that are looked through */

/* The node that computes the first operand of a product, and the views between the two. */
struct front {
	/* reshapes and transposes; the one next to the product is first */
	const struct ir_node *views[MAX_VIEWS];
	int count;
	const struct ir_node *node; /* the node before them, or NULL */
	/* axis of the result of `node` along which the channels lie; -1: none */
	int axis;
};

static struct front find_front(const struct rules *rules, const struct ir_node *product)
{
	struct front f = { .node = rules_sole(rules, product->operands[0]),
			   .axis = (int)input_axis(product) };

	while (f.node && f.count < MAX_VIEWS && f.axis >= 0) {
		if (f.node->op == IR_OP_RESHAPE)
			f.axis = channels_reshaped_axis(&f.node->results[0]->type, (uint32_t)f.axis,
							&f.node->operands[0]->type);
		else if (f.node->op == IR_OP_TRANSPOSE)
			f.axis = (int)f.node->attrs.transpose.perm[f.axis];
		else
			break;
		f.views[f.count++] = f.node;
		f.node = rules_sole(rules, f.node->operands[0]);
	}
	return f;
}

/* Applies the reshapes and transposes of @f to a value, by new nodes; NULL when out of memory. */
static struct ir_value *emit_views(struct rules *rules, const struct front *f,
				   struct ir_value *value)
{
	for (int i = f->count; i-- > 0 && value;)
		value = rules_emit(rules, f->views[i]->op, &value, 1,
				   &f->views[i]->results[0]->type, &f->views[i]->attrs, f->views[i],
				   NULL);
	return value;
}

struct ir_value *rule_scale_before(struct rules *rules, struct ir_node *product)
{
	const struct front front = find_front(rules, product);
	const struct ir_node *node = front.node;
	struct rules_scaling *s;
	struct ir_value *value = NULL, *input;
	struct affine affine;

	if (!is_product(product) || !node ||
	    (node->op != IR_OP_BINARY && node->op != IR_OP_BATCHNORM) ||
	    product->operands[0] == product->operands[1] || !can_scale(rules, product) ||
	    !can_shift(product) || !make_affine(rules, &affine, input_channels(product)))
		return NULL;
	s = read_in_front(node, front.axis, &affine) ? scaling_begin(rules, product) : NULL;
	if (s) {
		input = node->operands[node->op == IR_OP_BINARY ? !constant_side(node) : 0];
		if (ir_type_same_shape(&input->type, &node->results[0]->type) &&
		    input->type.dtype == product->operands[0]->type.dtype &&
		    scale_input(rules, product, s, &affine)) {
			input = emit_views(rules, &front, input);
			value = input ? emit(rules, product, input, s, node) : NULL;
			s = input ? NULL : s;
		}
	}
	rules_scaling_destroy(s);
	wnn_free(affine.scale);
	return value;
}
