// SPDX-License-Identifier: MIT
/*
 * com.microsoft: operators that optimisers fuse; they are translated as the operators that were
 * fused.
 */
#include "ops.h"
#include "select.h"

/*
 * Translates EmbedLayerNormalization: adds rows of the tables of words, positions and segments, and
 * normalises the sum.
 */
int onnx_op_embed_norm(struct onnx_node *node)
{
	WNNOperand ids = onnx_in(node, 0), sum, more, gamma, beta, mask;
	struct onnx_shape shape;
	uint32_t axis = 1;

	if (!ids || !(sum = onnx_in(node, 2)) || !(more = onnx_in(node, 3)) ||
	    !(gamma = onnx_in(node, 5)) || !(beta = onnx_in(node, 6)))
		return -1;
	shape = x_shape(ids);
	if (shape.rank != 2)
		return onnx_refuse(node, "", "input_ids has %u dimensions instead of 2",
				   shape.rank);
	sum = x_gather(node, sum, ids, 0);
	if (onnx_has(node, 8))
		more = x_gather(node, more, onnx_in(node, 8), 0);
	else
		more = x_slice_axis(node, more, 0, 0, shape.dim[1], 1);
	sum = x_add(node, sum, more);
	if (onnx_has(node, 1) && onnx_has(node, 4))
		sum = x_add(node, sum, x_gather(node, onnx_in(node, 4), onnx_in(node, 1), 0));
	if (!sum || onnx_out(node, 0,
			     onnx_layer_norm(node, sum, 2, gamma, beta,
					     onnx_attr_float(node, "epsilon", 1e-12))))
		return onnx_out(node, 0, NULL);
	if (onnx_wants(node, 1)) {
		struct onnx_shape column = { 1, { shape.dim[0] } };

		/* Output 1 is the number of tokens of each sequence: the sum of its mask. */
		mask = onnx_has(node, 7) ?
			       x_cast(node, onnx_in(node, 7), WNNOperandDataType_Int32) :
			       onnx_filled(node, WNNOperandDataType_Int32, &column, 0);
		if (onnx_has(node, 7))
			mask = x_reduce(node, X_SUM, mask, 1, &axis, false);
		if (onnx_out(node, 1, mask))
			return -1;
	}
	return onnx_wants(node, 2) ? onnx_out(node, 2, sum) : 0;
}

/*
 * Normalises each group of channels over all pixels; x and the result are [batch, channels,
 * pixels].
 */
static WNNOperand normalise_groups(struct onnx_node *node, WNNOperand x, int64_t groups)
{
	struct onnx_shape shape = x_shape(x), flat;
	static const uint32_t last = 2;
	WNNOperand centred, variance;

	flat = (struct onnx_shape){
		3, { shape.dim[0], groups, shape.dim[1] / groups * shape.dim[2] }
	};
	x = x_reshape(node, x, &flat);
	centred = x_sub(node, x, x_reduce(node, X_MEAN, x, 1, &last, true));
	variance = x_reduce(node, X_MEAN, x_mul(node, centred, centred), 1, &last, true);
	variance = x_add(node, variance, x_like(node, x, onnx_attr_float(node, "epsilon", 1e-5)));
	return x_reshape(node, x_div(node, centred, x_sqrt(node, variance)), &shape);
}

/* Returns the sum of input, skip and bias of SkipGroupNorm; skip may be [batch, channels]. */
static WNNOperand skipped(struct onnx_node *node, WNNOperand x)
{
	WNNOperand skip = onnx_in(node, 3);
	struct onnx_shape shape, wide = { 4, { 1, 1, 1, 1 } };

	if (!skip)
		return NULL;
	shape = x_shape(skip);
	if (shape.rank == 2) {
		wide.dim[0] = shape.dim[0];
		wide.dim[3] = shape.dim[1];
		skip = x_reshape(node, skip, &wide);
	}
	x = x_add(node, x, skip);
	return onnx_has(node, 4) ? x_add(node, x, onnx_in(node, 4)) : x;
}

int onnx_op_group_norm_nhwc(struct onnx_node *node)
{
	int64_t groups = onnx_attr_int(node, "groups", 0), channels;
	bool last = onnx_attr_int(node, "channels_last", 1);
	WNNOperand x = onnx_in(node, 0), gamma, beta, y;
	struct onnx_shape shape, flat, column;

	if (!x || !(gamma = onnx_in(node, 1)) || !(beta = onnx_in(node, 2)))
		return -1;
	shape = x_shape(x);
	channels = shape.rank == 4 ? shape.dim[last ? 3 : 1] : 0;
	if (groups < 1 || !channels || channels % groups)
		return onnx_refuse(node, "groups",
				   "groups is %lld: it must be at least 1 and divide the channels "
				   "of an input of 4 dimensions, which has shape %s",
				   (long long)groups, onnx_shape_text(node->import->arena, &shape));
	if (node->op->variant && !last)
		return onnx_refuse(node, "channels_last", "channels_last is 0: only 1 is allowed");
	if (node->op->variant)
		x = skipped(node, x);
	y = x;
	if (last)
		y = x_channels_first(node, y);
	if (!y)
		return onnx_out(node, 0, NULL);
	flat = (struct onnx_shape){
		3, { shape.dim[0], channels, onnx_shape_elements(&shape) / shape.dim[0] / channels }
	};
	column = (struct onnx_shape){ 3, { 1, channels, 1 } };
	shape = x_shape(y);
	y = normalise_groups(node, x_reshape(node, y, &flat), groups);
	y = x_mul(node, y, x_reshape(node, gamma, &column));
	y = x_reshape(node, x_add(node, y, x_reshape(node, beta, &column)), &shape);
	if (onnx_attr_int(node, "activation", 0))
		y = x_mul(node, y, x_sigmoid(node, y));
	if (last)
		y = x_channels_last(node, y);
	if (onnx_out(node, 0, y))
		return -1;
	return onnx_wants(node, 1) ? onnx_out(node, 1, x) : 0;
}

int onnx_op_bias_add(struct onnx_node *node)
{
	WNNOperand x = onnx_in(node, 0), bias = x ? onnx_in(node, 1) : NULL;
	WNNOperand skip = bias ? onnx_in(node, 2) : NULL;

	return skip ? onnx_out(node, 0, x_add(node, x_add(node, x, bias), skip)) : -1;
}

/* Translates BiasSplitGelu: the first half of the last dimension times gelu of the second half. */
int onnx_op_bias_split_gelu(struct onnx_node *node)
{
	WNNOperand x = onnx_in(node, 0), bias = x ? onnx_in(node, 1) : NULL, gate;
	uint32_t last;
	int64_t half;

	if (!bias)
		return -1;
	x = x_add(node, x, bias);
	if (!x)
		return onnx_out(node, 0, NULL);
	last = x_shape(x).rank - 1;
	half = x_shape(x).dim[last] / 2;
	if (x_shape(x).dim[last] % 2)
		return onnx_refuse(node, "", "its last dimension is %lld: it must be even",
				   (long long)x_shape(x).dim[last]);
	gate = onnx_gelu(node, x_slice_axis(node, x, last, half, half, 1), false);
	return onnx_out(node, 0, x_mul(node, x_slice_axis(node, x, last, 0, half, 1), gate));
}

int onnx_op_gemm_fast_gelu(struct onnx_node *node)
{
	WNNOperand x = onnx_in(node, 0), weights = x ? onnx_in(node, 1) : NULL;

	if (!weights)
		return -1;
	x = onnx_matmul(node, x, weights);
	if (onnx_has(node, 2))
		x = x_add(node, x, onnx_in(node, 2));
	return onnx_out(node, 0, x ? onnx_gelu(node, x, true) : NULL);
}
