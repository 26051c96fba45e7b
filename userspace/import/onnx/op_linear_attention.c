// SPDX-License-Identifier: MIT
/*
 * LinearAttention and CausalConvWithState: layers that keep a state of constant size instead of a
 * cache. The steps of a sequence are unrolled.
 */
#include <math.h>
#include <string.h>

#include "attention.h"
#include "ops.h"

struct linear {
	int64_t heads, keys, steps, batch,
		size; /* keys: number of key and value heads; size: columns of a key */
	bool gated, delta;
	WNNOperand q, k, v, decay,
		beta;	  /* float32 [batch, heads, steps, columns]; decay, beta: may be NULL */
	WNNOperand state; /* [batch, keys, size, size of a value] */
};

static const WNNOperandDataType wide = WNNOperandDataType_Float32;

static int read_rule(struct onnx_node *node, struct linear *l)
{
	const char *rule = onnx_attr_string(node, "update_rule", "gated_delta");

	l->gated = !strcmp(rule, "gated") || !strcmp(rule, "gated_delta");
	l->delta = !strcmp(rule, "delta") || !strcmp(rule, "gated_delta");
	if (!l->gated && !l->delta && strcmp(rule, "linear"))
		return onnx_refuse(
			node, "update_rule",
			"update_rule is \"%s\": linear, gated, delta and gated_delta are allowed",
			rule);
	if (l->gated != onnx_has(node, 4))
		return onnx_refuse(node, "decay", "the rule \"%s\" %s decay", rule,
				   l->gated ? "needs" : "has no");
	if (l->delta != onnx_has(node, 5))
		return onnx_refuse(node, "beta", "the rule \"%s\" %s beta", rule,
				   l->delta ? "needs" : "has no");
	l->heads = onnx_attr_int(node, "q_num_heads", 0);
	l->keys = onnx_attr_int(node, "kv_num_heads", 0);
	if (l->keys < 1 || l->heads < 1 || l->heads % l->keys)
		return onnx_refuse(node, "kv_num_heads",
				   "kv_num_heads is %lld: it must be at least 1 and divide "
				   "q_num_heads, which is %lld",
				   (long long)l->keys, (long long)l->heads);
	return 0;
}

/* Returns an input [batch, steps, heads * columns] as float32 [batch, heads, steps, columns]. */
static WNNOperand read_heads(struct onnx_node *node, size_t input, int64_t heads)
{
	WNNOperand x = onnx_in(node, input);

	return x ? onnx_split_heads(node, x_cast(node, x, wide), heads) : NULL;
}

static int read_state(struct onnx_node *node, struct linear *l)
{
	struct onnx_shape shape = { 4, { l->batch, l->keys, l->size, x_shape(l->v).dim[3] } };

	if (!onnx_has(node, 3)) {
		l->state = x_expand(node, x_number(node, wide, 0), &shape);
	} else {
		if (!onnx_shape_same(onnx_in_shape(node, 3), &shape))
			return onnx_refuse(node, "past_state",
					   "past_state has a wrong shape: the inputs are %s",
					   onnx_inputs_text(node));
		l->state = x_cast(node, onnx_in(node, 3), wide);
	}
	return l->state ? 0 : onnx_out(node, 0, NULL);
}

static int read_linear(struct onnx_node *node, struct linear *l)
{
	struct onnx_shape k, v;

	l->q = read_heads(node, 0, l->heads);
	l->k = l->q ? read_heads(node, 1, l->keys) : NULL;
	l->v = l->k ? read_heads(node, 2, l->keys) : NULL;
	if (!l->v)
		return onnx_out(node, 0, NULL);
	k = x_shape(l->k);
	v = x_shape(l->v);
	l->batch = k.dim[0];
	l->steps = k.dim[2];
	l->size = k.dim[3];
	if (x_shape(l->q).dim[0] != l->batch || x_shape(l->q).dim[2] != l->steps ||
	    x_shape(l->q).dim[3] != l->size || v.dim[0] != l->batch || v.dim[2] != l->steps)
		return onnx_refuse(
			node, "",
			"the shapes of query, key and value do not fit together: the inputs are %s",
			onnx_inputs_text(node));
	if (l->gated)
		l->decay = read_heads(node, 4, l->keys);
	if (l->delta)
		l->beta = read_heads(node, 5,
				     onnx_in_shape(node, 5)->rank == 3 &&
						     onnx_in_shape(node, 5)->dim[2] == 1 ?
					     1 :
					     l->keys);
	if ((l->gated && !l->decay) || (l->delta && !l->beta))
		return onnx_out(node, 0, NULL);
	if (l->gated && x_shape(l->decay).dim[3] != 1 && x_shape(l->decay).dim[3] != l->size)
		return onnx_refuse(
			node, "decay",
			"decay must have one number for each head, or one for each column of its keys");
	if (l->delta && x_shape(l->beta).dim[3] != 1)
		return onnx_refuse(node, "beta", "beta must have one number for each head");
	return read_state(node, l);
}

/* Returns the row [batch, heads, 1, columns] of one step; with @upright, as a column. */
static WNNOperand row(struct onnx_node *node, WNNOperand x, int64_t step, bool upright)
{
	x = x_slice_axis(node, x, 2, step, 1, 1);
	return upright ? x_move_axis(node, x, 3, 2) : x;
}

static WNNOperand step(struct onnx_node *node, struct linear *l, int64_t i)
{
	struct onnx_shape group = { 4, { l->batch, l->keys, l->heads / l->keys, l->size } }, flat;
	WNNOperand value = row(node, l->v, i, false), y;

	if (l->gated)
		l->state = x_mul(node, l->state, x_exp(node, row(node, l->decay, i, true)));
	if (l->delta) {
		y = x_matmul(node, row(node, l->k, i, false), l->state);
		value = x_mul(node, row(node, l->beta, i, false), x_sub(node, value, y));
	}
	/* A column times a row is the outer product. */
	l->state = x_add(node, l->state, x_mul(node, row(node, l->k, i, true), value));
	y = x_reshape(node, row(node, l->q, i, false), &group);
	y = x_matmul(node, y, l->state);
	if (!y)
		return NULL;
	flat = (struct onnx_shape){ 3, { l->batch, 1, l->heads * x_shape(y).dim[3] } };
	return x_reshape(node, y, &flat);
}

int onnx_op_linear_attention(struct onnx_node *node)
{
	double scale = onnx_attr_float(node, "scale", 0);
	struct linear l = { 0 };
	WNNOperand *ys, y;

	if (read_rule(node, &l) || read_linear(node, &l) ||
	    onnx_unroll(node, (uint64_t)l.steps * 16))
		return -1;
	ys = onnx_node_alloc(node, (size_t)l.steps * sizeof(*ys));
	if (!ys)
		return -1;
	l.q = x_linear(node, l.q, scale != 0 ? scale : 1 / sqrt((double)l.size), 0);
	for (int64_t i = 0; i < l.steps; i++) {
		ys[i] = step(node, &l, i);
		if (!ys[i])
			return onnx_out(node, 0, NULL);
	}
	y = x_concat(node, (size_t)l.steps, ys, 1);
	if (!y || onnx_out_as(node, 0, x_cast(node, y, onnx_type_webnn(onnx_in_type(node, 0))),
			      onnx_in_type(node, 0)))
		return onnx_out(node, 0, NULL);
	return onnx_wants(node, 1) ?
		       onnx_out(node, 1,
				x_cast(node, l.state,
				       onnx_type_webnn(
					       onnx_in_type(node, onnx_has(node, 3) ? 3 : 0)))) :
		       0;
}

/* Returns the past steps, or zeros when there are none, followed by the input. */
static WNNOperand with_past(struct onnx_node *node, WNNOperand x, int64_t before)
{
	int64_t begin[ONNX_MAX_RANK] = { 0, 0, before }, end[ONNX_MAX_RANK] = { 0 };
	struct onnx_shape shape = x_shape(x);
	WNNOperand past;

	if (!before)
		return x;
	if (!onnx_has(node, 3))
		return x_pad(node, x, begin, end, 0);
	shape.dim[2] = before;
	if (!onnx_shape_same(onnx_in_shape(node, 3), &shape)) {
		onnx_refuse(node, "past_state", "past_state has a wrong shape: the inputs are %s",
			    onnx_inputs_text(node));
		return NULL;
	}
	past = onnx_in(node, 3);
	return past ? x_concat(node, 2, (WNNOperand[]){ past, x }, 2) : NULL;
}

static int conv_state(struct onnx_node *node, WNNOperand x, int64_t before)
{
	struct onnx_shape none = x_shape(x);

	if (!onnx_wants(node, 1))
		return 0;
	if (before)
		return onnx_out(node, 1, x_slice_axis(node, x, 2, none.dim[2] - before, before, 1));
	none.dim[2] = 0;
	return onnx_out_constant(node, 1, onnx_in_type(node, 0), &none) ? 0 : -1;
}

static WNNOperand causal_conv(struct onnx_node *node, WNNOperand x, WNNOperand weight,
			      int64_t length)
{
	WNNConv2dOptions options = WNN_CONV2D_OPTIONS_INIT;
	struct onnx_shape shape = x_shape(x), kernel = x_shape(weight);
	struct onnx_shape image = { 4, { shape.dim[0], shape.dim[1], 1, shape.dim[2] } };
	struct onnx_shape filter = { 4, { kernel.dim[0], 1, 1, kernel.dim[2] } };
	struct onnx_shape line = { 3, { shape.dim[0], shape.dim[1], length } };

	options.label = node->options.label;
	options.groups = (uint32_t)shape.dim[1];
	if (onnx_has(node, 2)) {
		options.bias = onnx_in(node, 2);
		if (!options.bias)
			return NULL;
	}
	x = x_reshape(node, x, &image);
	weight = x_reshape(node, weight, &filter);
	if (!x || !weight)
		return NULL;
	return x_reshape(node, wnnGraphBuilderConv2d(node->b, x, weight, &options), &line);
}

int onnx_op_causal_conv(struct onnx_node *node)
{
	/* silu and swish are the same function. */
	static const char *const names[] = { "none", "silu", "swish" };
	int swish = onnx_attr_choice(node, "activation", "none", names, 3);
	WNNOperand x = onnx_in(node, 0), weight = x ? onnx_in(node, 1) : NULL, y;
	struct onnx_shape shape, kernel;

	if (!weight || swish < 0)
		return -1;
	shape = x_shape(x);
	kernel = x_shape(weight);
	if (shape.rank != 3 || kernel.rank != 3 || kernel.dim[0] != shape.dim[1] ||
	    kernel.dim[1] != 1)
		return onnx_refuse(node, "weight",
				   "input and weight do not fit together: the inputs are %s",
				   onnx_inputs_text(node));
	x = with_past(node, x, kernel.dim[2] - 1);
	if (!x)
		return onnx_out(node, 0, NULL);
	y = causal_conv(node, x, weight, shape.dim[2]);
	if (swish)
		y = x_mul(node, y, x_sigmoid(node, y));
	return onnx_out(node, 0, y) || conv_state(node, x, kernel.dim[2] - 1) ? -1 : 0;
}
