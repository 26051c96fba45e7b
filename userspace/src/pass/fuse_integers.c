// SPDX-License-Identifier: MIT
/*
 * Replaces operators between dequantisations and a quantisation by operators on 8-bit integers.
 *
 * Precondition: a verified graph in which biases and activations are part of their products.
 * Postcondition: a convolution or matrix product, a function of one or two values, an average of
 * windows smaller than the image, or a concatenation, of dequantised values, whose result only a
 * quantisation uses, is one node on the integers together with the quantisation. Products and
 * averages are exact sums there: the result differs from that of the single operators by at most
 * one quantum. Results of other operators keep their bits, except with float16, as the fused node
 * computes in float32.
 *
 *	%2 = dequantize(%0, s, z)
 *	%3 = conv(%2, dequantize(%1, ...))
 *	%4 = quantize(%3, s', z')		->	%4 = qconv(%0, %1, scales)
 *						   ; conv2d+quantizeLinear
 */
#include <math.h>

#include "pass/channels.h"

#include "util/malloc.h"

/*
 * The most quanta by which the result may change when a float32 bias is rounded to an integer in
 * the scale of the sums.
 */
#define MOST_BIAS_ERROR (1.0 / 16)
/* The limit of a bias as an integer, and that of a sum with its bias, which is an int32. */
#define MOST_BIAS ((double)(1 << 30))
#define MOST_SUM  ((double)INT32_MAX)

/* Whether a quantisation is fused, and the node before it that is fused with it. */
struct match {
	/*
	 * NULL: the operand of the quantisation is a dequantised value, without an operator between
	 */
	const struct ir_node *producer;
	bool matched;
};

struct fusion {
	struct rewrite *rw;
	struct match *matches; /* by node: a quantisation's match; unused for other nodes */
	bool *absorbed;	       /* by node: whether it is a producer that is fused */
	uint32_t *uses;	       /* by value: number of uses that the fusion removes */
};

/* ---- products */

/* A product of dequantised values, with the operands and attributes of its form on integers. */
struct product {
	const struct ir_node *node;
	struct quantized a, b, y;
	struct ir_integer_attrs attrs;
	/*
	 * channels: channels of the result; filters: scales of the second operand, 1 or one per
	 * channel
	 */
	int64_t channels, filters;
	double alpha, beta;
	float *scale;
	int32_t *bias; /* one number per channel; NULL: no bias */
};

static const struct ir_value *bias_of(const struct ir_node *node)
{
	return node->num_operands > 2 ? node->operands[2] : NULL;
}

static int64_t to_quantum(const struct quantized *y, float value)
{
	double lo = y->integers->type.dtype == IR_I8 ? INT8_MIN : 0;
	double n = nearbyint(value / quantized_scale(y, 0)) + (double)quantized_zero(y, 0);

	return (int64_t)fmin(fmax(n, lo), lo + UINT8_MAX);
}

/*
 * Finds the limits that an activation sets on the integers of the result; false when the activation
 * does more than limit its operand, or the lower limit is above the upper one.
 */
static bool find_limits(const struct quantized *y, const struct ir_unary_attrs *act, int64_t *lo,
			int64_t *hi)
{
	float least = -INFINITY, most = INFINITY;

	if (act->kind == IR_RELU) {
		least = 0;
	} else if (act->kind == IR_CLAMP) {
		least = act->alpha;
		most = act->beta;
	} else if (act->kind != IR_UNARY_NONE) {
		return false;
	}
	*lo = to_quantum(y, least);
	*hi = to_quantum(y, most);
	return *lo <= *hi;
}

/* Whether the limits of the integer type have the effect of the activation. */
static bool is_implied(const struct quantized *y, const struct ir_unary_attrs *act)
{
	int64_t least = y->integers->type.dtype == IR_I8 ? INT8_MIN : 0, lo, hi;

	return find_limits(y, act, &lo, &hi) && lo == least && hi == least + UINT8_MAX;
}

/*
 * Returns whether a product can be fused with a quantisation, and fills in *p. The scale and the
 * bias of each channel are left to scale_channel().
 */
static bool product_fits(struct product *p, const struct ir_node *node,
			 const struct ir_node *quantize)
{
	const struct ir_value *bias = bias_of(node);
	const struct ir_unary_attrs *act;

	*p = (struct product){ .node = node, .alpha = 1, .beta = 1 };
	if (!quantized_result(quantize, &p->y) || !quantized_value(node->operands[0], &p->a) ||
	    !quantized_value(node->operands[1], &p->b) || !quantized_whole(&p->a))
		return false;
	p->channels = ir_type_dim(&node->results[0]->type, channels_axis(node));
	p->filters = ir_type_elements(&p->b.scale->type);
	if (!channels_scales_fit(&p->b, channels_filter_axis(node)) ||
	    (bias && (bias->kind != IR_VALUE_CONSTANT || !ir_dtype_is_float(bias->type.dtype) ||
		      (ir_type_elements(&bias->type) != 1 &&
		       (ir_type_elements(&bias->type) != p->channels ||
			ir_type_dim(&bias->type, bias->type.rank - 1) != p->channels)))))
		return false;
	act = node->op == IR_OP_CONV ? &node->attrs.conv.act : &node->attrs.matmul.act;
	if (node->op == IR_OP_MATMUL) {
		p->alpha = node->attrs.matmul.alpha;
		p->beta = node->attrs.matmul.beta;
	}
	p->attrs.a_zero = quantized_zero(&p->a, 0);
	p->attrs.b_zero = quantized_zero(&p->b, 0);
	p->attrs.zero = quantized_zero(&p->y, 0);
	return p->alpha > 0 && find_limits(&p->y, act, &p->attrs.lo, &p->attrs.hi) &&
	       channels_depth(node) * quantized_largest(&p->a, quantized_zero(&p->a, 0)) *
				       quantized_largest(&p->b, quantized_zero(&p->b, 0)) +
			       MOST_BIAS <
		       MOST_SUM;
}

/*
 * Computes the factor of a channel's sums, and its bias as an integer in the scale of the sums;
 * false when one of them does not fit.
 */
static bool scale_channel(const struct product *p, int64_t channel, float *scale, int32_t *bias)
{
	const struct ir_value *value = bias_of(p->node);
	float of_a = quantized_scale(&p->a, 0), of_y = quantized_scale(&p->y, 0);
	float of_b = quantized_scale(&p->b, channel % p->filters);
	double of_sum = p->alpha * (double)of_a * (double)of_b;
	double factor = of_sum / (double)of_y, b, whole;

	/*
	 * Each step rounds as in ONNX Runtime, so that results equal the results of its integer
	 * kernels.
	 */
	*scale = p->alpha == 1 ? of_a * of_b / of_y : (float)factor;
	*bias = 0;
	if (!isnormal(*scale))
		return false;
	if (!value)
		return true;
	b = p->beta *
	    (double)quantized_float(value, ir_type_elements(&value->type) > 1 ? channel : 0) /
	    of_sum;
	whole = nearbyint(b);
	/*
	 * A bias that was dequantised from a large integer has lost its last bits; the nearest
	 * integer is the original one. The limit of the error therefore grows with the bias.
	 */
	if (!(fabs(whole) < MOST_BIAS) ||
	    fabs(b - whole) * factor > MOST_BIAS_ERROR + fabs(b) * 0x1p-22 * factor)
		return false;
	*bias = (int32_t)whole;
	return true;
}

static bool scale_channels(const struct product *p)
{
	for (int64_t i = 0; i < p->channels; i++) {
		float scale;
		int32_t bias;

		if (!scale_channel(p, i, p->scale ? p->scale + i : &scale,
				   p->bias ? p->bias + i : &bias))
			return false;
	}
	return true;
}

static bool is_product(const struct rewrite *rw, const struct ir_node *node,
		       const struct ir_node *quantize)
{
	struct product p;

	(void)rw;
	return product_fits(&p, node, quantize) && scale_channels(&p);
}

static struct ir_node *emit_product(struct rewrite *rw, const struct ir_node *node,
				    const struct ir_node *quantize)
{
	bool conv = node->op == IR_OP_CONV;
	struct ir_value *operands[4] = { NULL };
	union ir_attrs attrs = { .axis = 0 };
	struct ir_node *fused = NULL;
	struct product p;

	product_fits(&p, node, quantize);
	p.scale = wnn_calloc((size_t)p.channels, sizeof(*p.scale));
	p.bias = wnn_calloc((size_t)p.channels, sizeof(*p.bias));
	if (p.scale && p.bias) {
		scale_channels(&p);
		operands[0] = rw->value[p.a.integers->id];
		operands[1] = rw->value[p.b.integers->id];
		operands[2] = channels_constant(rw, IR_F32, p.scale, p.channels);
		if (bias_of(node))
			operands[3] = channels_constant(rw, IR_I32, p.bias, p.channels);
	}
	wnn_free(p.scale);
	wnn_free(p.bias);
	if (conv) {
		attrs.qconv.conv = node->attrs.conv;
		attrs.qconv.conv.act = (struct ir_unary_attrs){ .kind = IR_UNARY_NONE };
		attrs.qconv.integer = p.attrs;
	} else {
		attrs.qmatmul.matmul = node->attrs.matmul;
		attrs.qmatmul.matmul.alpha = attrs.qmatmul.matmul.beta = 1;
		attrs.qmatmul.matmul.act = (struct ir_unary_attrs){ .kind = IR_UNARY_NONE };
		attrs.qmatmul.integer = p.attrs;
	}
	if (operands[2] && (operands[3] || !bias_of(node)))
		fused = rewrite_emit(rw, conv ? IR_OP_QCONV : IR_OP_QMATMUL, operands,
				     bias_of(node) ? 4 : 3, &attrs, node, quantize);
	if (!fused)
		rewrite_nomem(rw);
	return fused;
}

/* ---- functions of one or two values */

static bool is_function(const struct rewrite *rw, const struct ir_node *node,
			const struct ir_node *quantize)
{
	struct quantized q;

	(void)rw;
	if (!quantized_result(quantize, &q) || node->num_operands > 2)
		return false;
	for (uint32_t i = 0; i < node->num_operands; i++)
		if (!quantized_value(node->operands[i], &q) || !quantized_whole(&q))
			return false;
	return true;
}

/* Returns a scale as float32; NULL when out of memory. */
static struct ir_value *real_scale(struct rewrite *rw, const struct quantized *q)
{
	struct ir_type type = q->scale->type;
	float scale = quantized_scale(q, 0);
	struct ir_constant *constant;
	struct ir_value *value;

	if (type.dtype == IR_F32)
		return rw->value[q->scale->id];
	type.dtype = IR_F32;
	constant = ir_constant_copy(&scale, sizeof(scale));
	value = constant ? ir_add_constant(rw->to, &type, constant) : NULL;
	if (constant && !value)
		ir_constant_unref(constant);
	return value;
}

/* Appends integers, scale and zero point to the operands; false when out of memory. */
static bool append_quantized(struct rewrite *rw, const struct quantized *q,
			     struct ir_value **operands, uint32_t *count)
{
	operands[(*count)++] = rw->value[q->integers->id];
	operands[(*count)++] = real_scale(rw, q);
	operands[(*count)++] = rw->value[q->zero->id];
	return operands[*count - 2] != NULL;
}

static struct ir_node *emit_function(struct rewrite *rw, const struct ir_node *node,
				     const struct ir_node *quantize)
{
	bool unary = node->op == IR_OP_UNARY;
	union ir_attrs attrs = node->attrs;
	struct ir_unary_attrs *act = unary ? &attrs.unary : &attrs.binary.act;
	struct ir_value *operands[8];
	struct quantized q, to;
	uint32_t count = 0;
	bool ok = true;

	quantized_result(quantize, &to);
	if (is_implied(&to, act))
		*act = (struct ir_unary_attrs){ .kind = IR_UNARY_NONE };
	for (uint32_t i = 0; i < node->num_operands; i++) {
		quantized_value(node->operands[i], &q);
		ok &= append_quantized(rw, &q, operands, &count);
	}
	operands[count++] = real_scale(rw, &to);
	operands[count++] = rw->value[to.zero->id];
	if (!ok || !operands[count - 2]) {
		rewrite_nomem(rw);
		return NULL;
	}
	return rewrite_emit(rw, unary ? IR_OP_QUNARY : IR_OP_QBINARY, operands, count, &attrs, node,
			    quantize);
}

/* ---- averages */

/* The most elements of a window whose sum is exact in float32. */
#define MOST_TAPS ((1 << 24) / UINT8_MAX)

/*
 * Whether a pool averages a whole image. Such a pool stays one of floats: on the NPU, the average
 * of an image as integers took 500 cycles more in ResNet-50.
 */
static bool is_whole_picture(const struct ir_node *pool)
{
	uint32_t row = pool->attrs.pool.layout == IR_NHWC ? 1 : 2;

	return ir_type_dim(&pool->results[0]->type, row) == 1 &&
	       ir_type_dim(&pool->results[0]->type, row + 1) == 1;
}

static float average_scale(const struct quantized *x, const struct quantized *y)
{
	return (float)((double)quantized_scale(y, 0) / (double)quantized_scale(x, 0));
}

static bool is_average(const struct rewrite *rw, const struct ir_node *node,
		       const struct ir_node *quantize)
{
	const struct ir_pool_attrs *pool = &node->attrs.pool;
	struct quantized x, y;

	(void)rw;
	return pool->kind == IR_POOL_AVERAGE && !is_whole_picture(node) &&
	       (uint64_t)pool->window[0] * pool->window[1] <= MOST_TAPS &&
	       quantized_value(node->operands[0], &x) && quantized_whole(&x) &&
	       quantized_result(quantize, &y) && isnormal(average_scale(&x, &y));
}

static struct ir_node *emit_average(struct rewrite *rw, const struct ir_node *node,
				    const struct ir_node *quantize)
{
	union ir_attrs attrs = { .qpool.pool = node->attrs.pool };
	struct ir_value *operands[2];
	struct quantized x, y;
	float scale;

	quantized_value(node->operands[0], &x);
	quantized_result(quantize, &y);
	attrs.qpool.a_zero = quantized_zero(&x, 0);
	attrs.qpool.zero = quantized_zero(&y, 0);
	scale = average_scale(&x, &y);
	operands[0] = rw->value[x.integers->id];
	operands[1] = channels_constant(rw, IR_F32, &scale, 1);
	if (!operands[1]) {
		rewrite_nomem(rw);
		return NULL;
	}
	return rewrite_emit(rw, IR_OP_QPOOL, operands, 2, &attrs, node, quantize);
}

/* ---- other scales */

/*
 * Returns the integers of `from`, converted to the scale and zero point of `to` by a node with the
 * label and source of `like`; the integers themselves when scale and zero point are equal already.
 * NULL when out of memory.
 */
static struct ir_value *requantize(struct rewrite *rw, const struct quantized *from,
				   const struct quantized *to, const struct ir_node *like)
{
	union ir_attrs attrs = { .axis = 0 };
	struct ir_type type = from->integers->type;
	struct ir_value *operands[5];
	struct ir_node *node;
	uint32_t count = 0;

	if (quantized_alike(from, to))
		return rw->value[from->integers->id];
	if (!append_quantized(rw, from, operands, &count))
		return NULL;
	operands[count++] = real_scale(rw, to);
	operands[count++] = rw->value[to->zero->id];
	if (!operands[count - 2])
		return NULL;
	attrs.unary.kind = IR_UNARY_NONE;
	type.dtype = to->integers->type.dtype;
	node = ir_add_node(rw->to, IR_OP_QUNARY, operands, count, &type, 1, &attrs, like->label,
			   like->source);
	return node ? node->results[0] : NULL;
}

static bool is_concat(const struct rewrite *rw, const struct ir_node *node,
		      const struct ir_node *quantize)
{
	struct quantized q;

	(void)rw;
	for (uint32_t i = 0; i < node->num_operands; i++)
		if (!quantized_value(node->operands[i], &q) || !quantized_whole(&q))
			return false;
	return quantized_result(quantize, &q);
}

static struct ir_node *emit_concat(struct rewrite *rw, const struct ir_node *node,
				   const struct ir_node *quantize)
{
	struct ir_value **operands = wnn_calloc(node->num_operands, sizeof(*operands));
	struct quantized from, to;
	struct ir_node *fused = NULL;
	bool ok = operands != NULL;

	quantized_result(quantize, &to);
	for (uint32_t i = 0; ok && i < node->num_operands; i++) {
		quantized_value(node->operands[i], &from);
		operands[i] = requantize(rw, &from, &to, quantize);
		ok = operands[i] != NULL;
	}
	if (ok)
		fused = rewrite_emit(rw, IR_OP_CONCAT, operands, node->num_operands, &node->attrs,
				     node, quantize);
	else
		rewrite_nomem(rw);
	wnn_free(operands);
	return fused;
}

/* ---- the pass */

/*
 * For each operator that can be fused with a quantisation: a function that checks a node, and one
 * that makes the fused node.
 */
static const struct form {
	bool (*is)(const struct rewrite *rw, const struct ir_node *node,
		   const struct ir_node *quantize);
	struct ir_node *(*emit)(struct rewrite *rw, const struct ir_node *node,
				const struct ir_node *quantize);
} forms[IR_OP_COUNT] = {
	[IR_OP_CONV] = { is_product, emit_product },
	[IR_OP_MATMUL] = { is_product, emit_product },
	[IR_OP_UNARY] = { is_function, emit_function },
	[IR_OP_BINARY] = { is_function, emit_function },
	[IR_OP_CONCAT] = { is_concat, emit_concat },
	[IR_OP_POOL] = { is_average, emit_average },
};

static bool is_dequantized(const struct ir_value *value)
{
	struct quantized q;

	return quantized_value(value, &q);
}

static void find_match(struct fusion *f, const struct ir_node *quantize)
{
	struct match *match = &f->matches[quantize->id];
	const struct ir_node *producer;
	struct quantized from, to;

	if (!quantized_result(quantize, &to))
		return;
	if (quantized_value(quantize->operands[0], &from)) {
		match->matched = quantized_whole(&from);
		f->uses[quantize->operands[0]->id] += match->matched;
		return;
	}
	producer = rewrite_sole_producer(f->rw, quantize->operands[0]);
	if (!producer || !forms[producer->op].is ||
	    !forms[producer->op].is(f->rw, producer, quantize))
		return;
	*match = (struct match){ producer, true };
	f->absorbed[producer->id] = true;
	for (uint32_t i = 0; i < producer->num_operands; i++)
		if (producer->operands[i] && is_dequantized(producer->operands[i]))
			f->uses[producer->operands[i]->id]++;
}

/*
 * Sets the fates of dequantisations: when only fused nodes use its result, a dequantisation counts
 * as fused into node `node`.
 */
static void adopt_operands(struct fusion *f, const struct ir_node *from, uint32_t node)
{
	for (uint32_t i = 0; i < from->num_operands; i++) {
		const struct ir_value *value = from->operands[i];

		if (value && is_dequantized(value) && f->uses[value->id] == f->rw->uses[value->id])
			f->rw->fate[value->def->id] = (struct rewrite_fate){ WNN_FATE_FUSED, node };
	}
}

static int emit_match(struct fusion *f, const struct ir_node *quantize)
{
	const struct ir_node *producer = f->matches[quantize->id].producer;
	struct rewrite *rw = f->rw;
	struct quantized from, to;
	struct ir_value *value;

	if (producer) {
		struct ir_node *node = forms[producer->op].emit(rw, producer, quantize);

		if (node)
			adopt_operands(f, producer, node->id);
		return node ? 0 : -1;
	}
	quantized_value(quantize->operands[0], &from);
	quantized_result(quantize, &to);
	/* An output of the graph must be the result of a node. */
	if (quantized_alike(&from, &to) && rw->is_output[to.integers->id] &&
	    from.integers->kind != IR_VALUE_RESULT)
		return rewrite_copy(rw, quantize);
	value = requantize(rw, &from, &to, quantize);
	if (!value)
		return rewrite_nomem(rw);
	if (quantized_alike(&from, &to)) {
		rewrite_bypass(rw, quantize, value, WNN_FATE_VIEW);
		return 0;
	}
	rw->value[to.integers->id] = value;
	rw->fate[quantize->id] = (struct rewrite_fate){ WNN_FATE_KEPT, value->def->id };
	adopt_operands(f, quantize, value->def->id);
	return 0;
}

static int run(struct fusion *f)
{
	const struct ir_graph *from = f->rw->from;
	int ret = 0;

	for (uint32_t n = 0; n < from->num_nodes; n++)
		find_match(f, from->nodes[n]);
	for (uint32_t n = 0; n < from->num_nodes && !ret; n++) {
		if (f->matches[n].matched)
			ret = emit_match(f, from->nodes[n]);
		else if (!f->absorbed[n])
			ret = rewrite_copy(f->rw, from->nodes[n]);
	}
	return ret;
}

int pass_fuse_integers(struct rewrite *rw, const struct pass_context *ctx)
{
	struct fusion f = {
		.rw = rw,
		.matches = wnn_calloc(rw->from->num_nodes + 1, sizeof(*f.matches)),
		.absorbed = wnn_calloc(rw->from->num_nodes + 1, sizeof(*f.absorbed)),
		.uses = wnn_calloc(rw->from->num_values + 1, sizeof(*f.uses)),
	};
	int ret = f.matches && f.absorbed && f.uses ? 0 : rewrite_nomem(rw);

	(void)ctx;
	if (!ret)
		ret = run(&f);
	wnn_free(f.matches);
	wnn_free(f.absorbed);
	wnn_free(f.uses);
	return ret;
}
