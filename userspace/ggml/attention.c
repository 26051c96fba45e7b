// SPDX-License-Identifier: MIT
/*
 * Translates rotary positions, softmax with a mask and attention to operators of WebNN, in float32.
 */
#include <math.h>
#include <stdlib.h>

#include "emit.h"

static WNNOperand number(struct onpu_emit *e, double value)
{
	return x_number(e, WNNOperandDataType_Float32, value);
}

/* ---- rotary positions */

/*
 * The parameters of a rotation. The two elements of a pair are neighbours, or half of the rotated
 * elements apart.
 */
struct rope {
	uint32_t pairs;
	bool is_split; /* whether the elements of a pair are half apart */
	/*
	 * With extrapolation 0, all angles are scaled. With 1, those of pairs up to number @low are
	 * not, those from @high on are, and those between are mixed (YaRN).
	 */
	double base, scale, extrapolation, magnitude, low, high;
};

/* The positions of ROPE's parameters. */
enum {
	ROPE_COUNT = 1, /* number of rotated elements */
	ROPE_MODE,
	ROPE_TRAINED = 4, /* positions in the context of the training */
	ROPE_BASE,
	ROPE_SCALE,
	ROPE_EXTRAPOLATION,
	ROPE_MAGNITUDE,
	ROPE_FAST,
	ROPE_SLOW,
	ROPE_OFFSET = 15
};

/* Returns the pair whose angle makes @turns turns over the context of the training. */
static double turning_pair(const struct gg_tensor *op, double turns)
{
	return op->params[ROPE_COUNT] * log(op->params[ROPE_TRAINED] / (turns * 2 * M_PI)) /
	       (2 * log(onpu_number(op, ROPE_BASE)));
}

static bool read_rope(const struct gg_tensor *op, struct rope *rope)
{
	enum { SPLIT = 2 };
	int32_t count = op->params[ROPE_COUNT], mode = op->params[ROPE_MODE];

	rope->pairs = (uint32_t)count / 2;
	rope->is_split = mode == SPLIT;
	rope->base = onpu_number(op, ROPE_BASE);
	rope->scale = onpu_number(op, ROPE_SCALE);
	rope->extrapolation = onpu_number(op, ROPE_EXTRAPOLATION);
	rope->magnitude = onpu_number(op, ROPE_MAGNITUDE);
	if (mode & ~SPLIT || op->params[ROPE_OFFSET] || count < 2 || count > op->ne[0] || count % 2)
		return false;
	if (rope->extrapolation != 0) {
		rope->magnitude *= 1 + 0.1 * log(1 / rope->scale);
		rope->low = fmax(0, floor(turning_pair(op, onpu_number(op, ROPE_FAST))));
		rope->high = fmin(count - 1, ceil(turning_pair(op, onpu_number(op, ROPE_SLOW))));
	}
	return true;
}

/* Returns the angle of each pair at position 1, [1, 1, 1, pairs]. */
static WNNOperand make_steps(struct onpu_emit *e, const struct rope *rope)
{
	float *steps = malloc(rope->pairs * sizeof(*steps));
	WNNOperand operand;

	if (!steps)
		return onpu_refuse(e, "memory is exhausted");
	for (uint32_t i = 0; i < rope->pairs; i++) {
		double step = pow(rope->base, -(double)i / rope->pairs), mix = 0;

		if (rope->extrapolation != 0) {
			mix = (i - rope->low) / fmax(0.001, rope->high - rope->low);
			mix = (1 - fmin(1, fmax(0, mix))) * rope->extrapolation;
		}
		steps[i] = (float)(step * (rope->scale * (1 - mix) + mix));
	}
	operand = x_constant(e, WNNOperandDataType_Float32, SHAPE(1, 1, 1, rope->pairs), steps);
	free(steps);
	return operand;
}

/* Returns the first (`which` 0) or the second element of each pair of x: [.., pairs]. */
static WNNOperand take(struct onpu_emit *e, const struct rope *rope, WNNOperand x,
		       struct onpu_shape shape, uint32_t which)
{
	struct onpu_shape pairs = SHAPE(shape.dim[0], shape.dim[1], shape.dim[2], rope->pairs, 2);

	if (rope->is_split)
		return x_slice_last(e, x, shape, which * rope->pairs, rope->pairs);
	x = x_reshape(e, x_slice_last(e, x, shape, 0, 2 * rope->pairs), pairs);
	x = x_slice_last(e, x, pairs, which, 1);
	return x_reshape(e, x, SHAPE(shape.dim[0], shape.dim[1], shape.dim[2], rope->pairs));
}

/*
 * Returns [.., 2 * pairs] from the first elements of the pairs (a) and the second ones (b), both
 * [.., pairs]: one after the other where a row is split into halves, else interleaved.
 */
static WNNOperand concat_pairs(struct onpu_emit *e, const struct rope *rope, WNNOperand a,
			       WNNOperand b, struct onpu_shape shape)
{
	struct onpu_shape pairs = SHAPE(shape.dim[0], shape.dim[1], shape.dim[2], rope->pairs, 1);

	if (rope->is_split)
		return x_concat(e, a, b, 3);
	shape.dim[3] = 2 * rope->pairs;
	return x_reshape(e, x_concat(e, x_reshape(e, a, pairs), x_reshape(e, b, pairs), 4), shape);
}

WNNOperand onpu_emit_rope(struct onpu_emit *e, const struct gg_tensor *op)
{
	struct onpu_shape shape = onpu_shape(op->src[0]);
	WNNOperand x = onpu_float(e, op->src[0]), angle, sine, cosine, a, b, first, second;
	struct rope rope;

	if (!read_rope(op, &rope))
		return onpu_refuse(e, "the rotation is not one of neighbours or of halves, or not "
				      "of an even number of elements from the first on");
	angle = x_cast(e, onpu_value(e, op->src[1]), WNNOperandDataType_Float32);
	angle = x_mul(e, x_reshape(e, angle, SHAPE(1, shape.dim[1], 1, 1)), make_steps(e, &rope));
	if (op->src[2])
		angle = x_binary(e, wnnGraphBuilderDiv, angle,
				 x_slice_last(e, onpu_float(e, op->src[2]), onpu_shape(op->src[2]),
					      0, rope.pairs));
	cosine = x_unary(e, wnnGraphBuilderCos, angle);
	sine = x_unary(e, wnnGraphBuilderSin, angle);
	if (rope.magnitude != 1) {
		cosine = x_mul(e, cosine, number(e, rope.magnitude));
		sine = x_mul(e, sine, number(e, rope.magnitude));
	}
	a = take(e, &rope, x, shape, 0);
	b = take(e, &rope, x, shape, 1);
	first = x_binary(e, wnnGraphBuilderSub, x_mul(e, a, cosine), x_mul(e, b, sine));
	second = x_add(e, x_mul(e, a, sine), x_mul(e, b, cosine));
	first = concat_pairs(e, &rope, first, second, shape);
	if (2 * rope.pairs == shape.dim[3])
		return first;
	return x_concat(e, first,
			x_slice_last(e, x, shape, 2 * rope.pairs, shape.dim[3] - 2 * rope.pairs),
			3);
}

/* ---- softmax */

/* Returns the factor of the mask for each head, [1, heads, 1, 1]. */
static WNNOperand make_slopes(struct onpu_emit *e, uint32_t heads, double bias)
{
	uint32_t power = 1;
	float *slopes = malloc(heads * sizeof(*slopes));
	WNNOperand operand;

	if (!slopes)
		return onpu_refuse(e, "memory is exhausted");
	while (2 * power <= heads)
		power *= 2;
	for (uint32_t i = 0; i < heads; i++)
		slopes[i] = (float)(i < power ? pow(2, -bias / power * (i + 1)) :
						pow(2, -bias / 2 / power * (2 * (i - power) + 1)));
	operand = x_constant(e, WNNOperandDataType_Float32, SHAPE(1, heads, 1, 1), slopes);
	free(slopes);
	return operand;
}

/*
 * Returns the scores, which have @shape, plus the first rows of a mask; NULL when the builder
 * refuses. The heads use the masks cyclically, and so do the batches. A positive @bias scales the
 * mask by the slope of each head first.
 */
static WNNOperand add_mask(struct onpu_emit *e, WNNOperand scores, struct onpu_shape shape,
			   const struct gg_tensor *mask, double bias)
{
	struct onpu_shape sizes = onpu_shape(mask), starts = SHAPE(0, 0, 0, 0);
	struct onpu_shape copies = SHAPE(1, 1, 1, 1);
	WNNOperand x = onpu_float(e, mask);

	if (sizes.dim[2] != shape.dim[2]) {
		sizes.dim[2] = shape.dim[2];
		x = x_slice(e, x, starts, sizes);
	}
	for (uint32_t i = 0; i < 2; i++)
		if (sizes.dim[i] != 1)
			copies.dim[i] = shape.dim[i] / sizes.dim[i];
	if (x && copies.dim[0] * copies.dim[1] != 1)
		x = wnnGraphBuilderTile(e->builder, x, (WNNUint32Array){ 4, copies.dim }, NULL);
	if (bias > 0)
		x = x_mul(e, x, make_slopes(e, shape.dim[1], bias));
	return x_add(e, scores, x);
}

/* Returns the softmax over the last dimension, to whose sums each head adds its sink, if any. */
static WNNOperand soft_max(struct onpu_emit *e, WNNOperand scores, struct onpu_shape shape,
			   const struct gg_tensor *sinks)
{
	struct onpu_shape column = shape;
	WNNOperand x = scores;

	column.dim[3] = 1;
	if (sinks)
		x = x_concat(
			e, x,
			x_expand(e,
				 x_reshape(e, onpu_float(e, sinks), SHAPE(1, shape.dim[1], 1, 1)),
				 column),
			3);
	x = x ? wnnGraphBuilderSoftmax(e->builder, x, 3, NULL) : NULL;
	return sinks ? x_slice(e, x, SHAPE(0, 0, 0, 0), shape) : x;
}

WNNOperand onpu_emit_soft_max(struct onpu_emit *e, const struct gg_tensor *op)
{
	struct onpu_shape shape = onpu_shape(op);
	WNNOperand x = onpu_float(e, op->src[0]);

	if (onpu_number(op, 0) != 1)
		x = x_mul(e, x, number(e, onpu_number(op, 0)));
	if (op->src[1])
		x = add_mask(e, x, shape, op->src[1], onpu_number(op, 1));
	return soft_max(e, x, shape, op->src[2]);
}

/*
 * Returns the attention of queries [batch, heads, T, D], as [batch, T, heads, D]. A group of heads
 * shares keys and values.
 */
WNNOperand onpu_emit_flash_attention(struct onpu_emit *e, const struct gg_tensor *op)
{
	enum { Q, K, V, MASK, SINKS };
	struct onpu_shape q = onpu_shape(op->src[Q]), k = onpu_shape(op->src[K]);
	struct onpu_shape v = onpu_shape(op->src[V]);
	struct onpu_shape scores = SHAPE(q.dim[0], q.dim[1], q.dim[2], k.dim[2]);
	struct onpu_shape grouped = q;
	double cap = onpu_number(op, 2), scale = onpu_number(op, 0);
	WNNOperand x = onpu_float(e, op->src[Q]);

	if (q.dim[1] % k.dim[1] || k.dim[1] != v.dim[1] || q.dim[0] != k.dim[0])
		return onpu_refuse(e, "heads or batches of queries, keys and values do not fit");
	grouped.dim[1] = k.dim[1];
	grouped.dim[2] = q.dim[1] / k.dim[1] * q.dim[2];
	x = x_matmul(e, x_reshape(e, x, grouped),
		     x_transpose(e, onpu_float(e, op->src[K]), SHAPE(0, 1, 3, 2)));
	x = x_mul(e, x_reshape(e, x, scores), number(e, cap != 0 ? scale / cap : scale));
	if (cap != 0)
		x = x_mul(e, x_unary(e, wnnGraphBuilderTanh, x), number(e, cap));
	if (op->src[MASK])
		x = add_mask(e, x, scores, op->src[MASK], onpu_number(op, 1));
	x = soft_max(e, x, scores, op->src[SINKS]);
	grouped.dim[3] = scores.dim[3];
	x = x_matmul(e, x_reshape(e, x, grouped), onpu_float(e, op->src[V]));
	q.dim[3] = v.dim[3];
	return x_transpose(e, x_reshape(e, x, q), SHAPE(0, 2, 1, 3));
}
