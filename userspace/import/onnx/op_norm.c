// SPDX-License-Identifier: MIT
/* Normalisation over batches, channels, layers and groups. */
#include <math.h>
#include <string.h>

#include "ops.h"

/*
 * Returns x [C] as [C,1,1 …], so that it is broadcast along dimension 1 of an image of rank @rank.
 */
static WNNOperand per_channel(struct onnx_node *node, WNNOperand x, uint32_t rank)
{
	struct onnx_shape shape = { rank - 1, { 0 } };

	if (!x)
		return NULL;
	shape.dim[0] = x_shape(x).dim[0];
	for (uint32_t i = 1; i < shape.rank; i++)
		shape.dim[i] = 1;
	return x_reshape(node, x, &shape);
}

static int optional(struct onnx_node *node, size_t input, WNNOperand *operand)
{
	*operand = NULL;
	if (!onnx_has(node, input))
		return 0;
	*operand = onnx_in(node, input);
	return *operand ? 0 : -1;
}

/*
 * Sets *mean and *variance to those of the batch, for training mode, and sets the outputs of the
 * running averages. Returns 0 or -1.
 */
static int train(struct onnx_node *node, WNNOperand x, WNNOperand *mean, WNNOperand *variance)
{
	double momentum = onnx_attr_float(node, "momentum", 0.9);
	uint32_t axes[ONNX_MAX_RANK], count = 0, rank = x_shape(x).rank;
	WNNOperand now[2], old[2] = { *mean, *variance }, centred;

	for (uint32_t i = 0; i < rank; i++)
		if (i != 1)
			axes[count++] = i;
	now[0] = x_reduce(node, X_MEAN, x, count, axes, false);
	centred = x_sub(node, x, per_channel(node, now[0], rank));
	now[1] = x_reduce(node, X_MEAN, x_mul(node, centred, centred), count, axes, false);
	for (int i = 0; i < 2; i++)
		if (onnx_wants(node, 1 + (size_t)i) &&
		    onnx_out(node, 1 + (size_t)i,
			     x_add(node, x_linear(node, old[i], momentum, 0),
				   x_linear(node, now[i], 1 - momentum, 0))))
			return -1;
	/* Up to set 13 two more outputs are the mean and 1 / deviation, like in ONNX Runtime. */
	if (onnx_wants(node, 3) && onnx_out(node, 3, now[0]))
		return -1;
	if (onnx_wants(node, 4)) {
		double epsilon = onnx_attr_float(node, "epsilon", 1e-5);
		WNNOperand deviation = x_sqrt(node, x_linear(node, now[1], 1, epsilon));

		if (onnx_out(node, 4, x_reciprocal(node, deviation)))
			return -1;
	}
	*mean = now[0];
	*variance = now[1];
	return 0;
}

bool onnx_batch_norm_trains(struct onnx_node *node)
{
	if (onnx_attr_int(node, "training_mode", 0))
		return true;
	for (size_t i = 1; node->version < 14 && i < 5; i++)
		if (onnx_wants(node, i))
			return true;
	return false;
}

int onnx_op_batch_norm(struct onnx_node *node)
{
	WNNBatchNormalizationOptions options = WNN_BATCH_NORMALIZATION_OPTIONS_INIT;
	WNNOperand x = onnx_in(node, 0), mean, variance;

	if (!x || !(options.scale = onnx_in(node, 1)) || !(options.bias = onnx_in(node, 2)) ||
	    !(mean = onnx_in(node, 3)) || !(variance = onnx_in(node, 4)))
		return -1;
	if (onnx_batch_norm_trains(node)) {
		if (x_shape(x).rank < 2)
			return onnx_refuse(node, "training_mode", "the input has no channels");
		if (train(node, x, &mean, &variance))
			return -1;
	} else if (onnx_wants(node, 1)) {
		return onnx_refuse(node, "",
				   "outputs of training are wanted without training_mode");
	}
	if (node->version < 9 && !onnx_attr_int(node, "spatial", 1))
		return onnx_refuse(node, "spatial",
				   "spatial is 0: statistics must be those of channels");
	options.label = node->options.label;
	options.epsilon = onnx_attr_float(node, "epsilon", 1e-5);
	return onnx_out(node, 0,
			wnnGraphBuilderBatchNormalization(node->b, x, mean, variance, &options));
}

int onnx_op_instance_norm(struct onnx_node *node)
{
	WNNInstanceNormalizationOptions options = WNN_INSTANCE_NORMALIZATION_OPTIONS_INIT;
	WNNOperand x = onnx_in(node, 0), y;
	struct onnx_shape shape, flat = { 4, { 1, 1, 1, 1 } };

	if (!x || !(options.scale = onnx_in(node, 1)) || !(options.bias = onnx_in(node, 2)))
		return -1;
	shape = x_shape(x);
	if (shape.rank < 3)
		return onnx_refuse(node, "", "its input has no spatial dimensions");
	options.label = node->options.label;
	options.epsilon = onnx_attr_float(node, "epsilon", 1e-5);
	if (shape.rank == 4)
		return onnx_out(node, 0,
				wnnGraphBuilderInstanceNormalization(node->b, x, &options));
	for (uint32_t i = 0; i < shape.rank; i++)
		flat.dim[i < 3 ? i : 3] *= shape.dim[i];
	y = wnnGraphBuilderInstanceNormalization(node->b, x_reshape(node, x, &flat), &options);
	return onnx_out(node, 0, x_reshape(node, y, &shape));
}

/*
 * Returns the layer normalisation of x. Scale and bias may be broadcast, which WebNN's operator
 * does not do.
 */
WNNOperand onnx_layer_norm(struct onnx_node *node, WNNOperand x, uint32_t axis, WNNOperand scale,
			   WNNOperand bias, double epsilon)
{
	WNNLayerNormalizationOptions options = WNN_LAYER_NORMALIZATION_OPTIONS_INIT;
	struct onnx_shape shape = x_shape(x), part = { 0 }, have;
	uint32_t axes[ONNX_MAX_RANK];
	WNNOperand *operands[] = { &scale, &bias };

	for (uint32_t i = axis; i < shape.rank; i++) {
		axes[i - axis] = i;
		part.dim[part.rank++] = shape.dim[i];
	}
	for (int i = 0; i < 2; i++) {
		if (!*operands[i])
			continue;
		have = x_shape(*operands[i]);
		if (onnx_shape_elements(&have) == onnx_shape_elements(&part))
			*operands[i] = x_reshape(node, *operands[i], &part);
		else if (have.rank <= part.rank)
			*operands[i] = x_expand(node, *operands[i], &part);
	}
	options.label = node->options.label;
	options.axes = (WNNUint32Array){ part.rank, axes };
	options.scale = scale;
	options.bias = bias;
	options.epsilon = epsilon;
	return wnnGraphBuilderLayerNormalization(node->b, x, &options);
}

int onnx_op_layer_norm(struct onnx_node *node)
{
	double epsilon = onnx_attr_float(node, "epsilon", 1e-5);
	uint32_t axis, axes[ONNX_MAX_RANK], count = 0;
	WNNOperand x = onnx_in(node, 0), scale, bias, mean, centred, variance;

	if (!x || optional(node, 1, &scale) || optional(node, 2, &bias) ||
	    onnx_axis(node, "axis", onnx_attr_int(node, "axis", -1), x_shape(x).rank, &axis) ||
	    onnx_out(node, 0, onnx_layer_norm(node, x, axis, scale, bias, epsilon)))
		return -1;
	if (!onnx_wants(node, 1) && !onnx_wants(node, 2))
		return 0;
	for (uint32_t i = axis; i < x_shape(x).rank; i++)
		axes[count++] = i;
	/* The outputs of mean and deviation are float32, the type that they are computed in. */
	x = x_cast(node, x, WNNOperandDataType_Float32);
	mean = x_reduce(node, X_MEAN, x, count, axes, true);
	centred = x_sub(node, x, mean);
	variance = x_reduce(node, X_MEAN, x_mul(node, centred, centred), count, axes, true);
	variance = x_sqrt(node, x_add(node, variance, x_like(node, x, epsilon)));
	if (onnx_wants(node, 1) && onnx_out(node, 1, mean))
		return -1;
	return onnx_wants(node, 2) ? onnx_out(node, 2, x_reciprocal(node, variance)) : 0;
}

/* Returns x / sqrt(mean(x * x) + epsilon) * scale. */
WNNOperand onnx_rms_norm(struct onnx_node *node, WNNOperand x, uint32_t axis, WNNOperand scale,
			 double epsilon)
{
	uint32_t axes[ONNX_MAX_RANK], count = 0;
	WNNOperand square;

	for (uint32_t i = axis; i < x_shape(x).rank; i++)
		axes[count++] = i;
	square = x_reduce(node, X_MEAN, x_mul(node, x, x), count, axes, true);
	square = x_sqrt(node, x_add(node, square, x_like(node, x, epsilon)));
	x = x_div(node, x, square);
	return scale ? x_mul(node, x, scale) : x;
}

int onnx_op_rms_norm(struct onnx_node *node)
{
	WNNOperand x = onnx_in(node, 0), scale;
	uint32_t axis;

	if (!x || optional(node, 1, &scale) ||
	    onnx_axis(node, "axis", onnx_attr_int(node, "axis", -1), x_shape(x).rank, &axis))
		return -1;
	if (onnx_wants(node, 1))
		return onnx_refuse(node, "", "only its first output is supported");
	return onnx_out(node, 0,
			onnx_rms_norm(node, x, axis, scale,
				      onnx_attr_float(node, "epsilon", 1e-5)));
}

/*
 * Translates SkipLayerNormalization of com.microsoft: adds input and skip first; the sum is output
 * 3.
 */
int onnx_op_skip_norm(struct onnx_node *node)
{
	bool simple = node->op->variant;
	double epsilon = onnx_attr_float(node, "epsilon", 1e-12);
	WNNOperand x = onnx_in(node, 0), skip, scale, beta = NULL, bias;
	uint32_t axis;

	if (!x || !(skip = onnx_in(node, 1)) || optional(node, 2, &scale) ||
	    (!simple && optional(node, 3, &beta)) || optional(node, simple ? 3 : 4, &bias))
		return -1;
	if (onnx_wants(node, 1) || onnx_wants(node, 2))
		return onnx_refuse(node, "", "the outputs mean and inv_std_var are not supported");
	x = x_add(node, x, skip);
	if (bias)
		x = x_add(node, x, bias);
	if (!x)
		return onnx_out(node, 0, NULL);
	axis = x_shape(x).rank - 1;
	if (onnx_out(node, 0,
		     simple ? onnx_rms_norm(node, x, axis, scale, epsilon) :
			      onnx_layer_norm(node, x, axis, scale, beta, epsilon)))
		return -1;
	return onnx_wants(node, 3) ? onnx_out(node, 3, x) : 0;
}

/*
 * Normalises x as an image of [batch, groups, elements of a group], and returns it in its own
 * shape.
 */
static WNNOperand normalise_groups(struct onnx_node *node, WNNOperand x, int64_t groups,
				   WNNOperand scale, WNNOperand bias)
{
	WNNInstanceNormalizationOptions options = WNN_INSTANCE_NORMALIZATION_OPTIONS_INIT;
	struct onnx_shape shape = x_shape(x), flat = { 4, { shape.dim[0], groups, 1, 1 } };
	WNNOperand y;

	flat.dim[2] = onnx_shape_elements(&shape) / groups / shape.dim[0];
	options.label = node->options.label;
	options.epsilon = onnx_attr_float(node, "epsilon", 1e-5);
	options.scale = scale;
	options.bias = bias;
	y = wnnGraphBuilderInstanceNormalization(node->b, x_reshape(node, x, &flat), &options);
	return y ? x_reshape(node, y, &shape) : NULL;
}

/*
 * Translates GroupNormalization. The compiler fuses the normalisation of groups with the scale and
 * bias of channels into one operator.
 */
int onnx_op_group_norm(struct onnx_node *node)
{
	int64_t groups = onnx_attr_int(node, "num_groups", 0);
	WNNOperand x = onnx_in(node, 0), scale, bias;
	struct onnx_shape shape;

	if (!x || !(scale = onnx_in(node, 1)) || !(bias = onnx_in(node, 2)))
		return -1;
	shape = x_shape(x);
	if (shape.rank < 2 || groups < 1 || shape.dim[1] % groups)
		return onnx_refuse(node, "num_groups",
				   "num_groups is %lld: it must be at least 1 and divide dimension "
				   "1, the channels, of %s",
				   (long long)groups, onnx_shape_text(node->import->arena, &shape));
	/* Before operator set 21 scale and bias have one item for each group. */
	if (node->version < 21 && x_shape(scale).dim[0] == groups)
		return onnx_out(node, 0, normalise_groups(node, x, groups, scale, bias));
	x = normalise_groups(node, x, groups, NULL, NULL);
	x = x_mul(node, x, per_channel(node, scale, shape.rank));
	return onnx_out(node, 0, x_add(node, x, per_channel(node, bias, shape.rank)));
}

int onnx_op_mean_variance_norm(struct onnx_node *node)
{
	uint32_t axes[ONNX_MAX_RANK], count = 0;
	WNNOperand x = onnx_in(node, 0), deviation, centred;
	const int64_t *given;
	size_t number;

	if (!x)
		return -1;
	given = onnx_attr_ints(node, "axes", &number);
	if (number > ONNX_MAX_RANK)
		return onnx_refuse(node, "axes", "there are more axes than dimensions");
	for (; given && count < number; count++)
		if (onnx_axis(node, "axes", given[count], x_shape(x).rank, &axes[count]))
			return -1;
	for (uint32_t i = 0; !given && i < x_shape(x).rank; i++)
		if (i != 1)
			axes[count++] = i;
	centred = x_sub(node, x, x_reduce(node, X_MEAN, x, count, axes, true));
	deviation = x_sqrt(node, x_reduce(node, X_MEAN, x_mul(node, centred, centred), count, axes,
					  true));
	return onnx_out(node, 0,
			x_div(node, centred, x_add(node, deviation, x_like(node, x, 1e-9))));
}

/*
 * Translates LRN: computes the sum of squares over neighbouring channels as an average pool over
 * windows of one column.
 */
int onnx_op_lrn(struct onnx_node *node)
{
	int64_t size = onnx_attr_int(node, "size", 0);
	double alpha = onnx_attr_float(node, "alpha", 1e-4),
	       beta = onnx_attr_float(node, "beta", 0.75);
	WNNPool2dOptions options = WNN_POOL2D_OPTIONS_INIT;
	int64_t begin[4] = { 0 }, end[4] = { 0 };
	WNNOperand x = onnx_in(node, 0), square;
	struct onnx_shape shape, flat = { 4, { 1, 1, 1, 1 } };
	uint32_t window[2];

	if (!x)
		return -1;
	shape = x_shape(x);
	if (shape.rank < 2)
		return onnx_refuse(node, "", "its input has %u dimensions: at least 2 are needed",
				   shape.rank);
	if (size < 1 || size > INT32_MAX)
		return onnx_refuse(node, "size", "size is %lld: 1 to %d are allowed",
				   (long long)size, INT32_MAX);
	for (uint32_t i = 0; i < shape.rank; i++)
		flat.dim[i == 0 ? 0 : i == 1 ? 2 : 3] *= shape.dim[i];
	begin[2] = (size - 1) / 2;
	end[2] = size - 1 - begin[2];
	square = x_pad(node, x_reshape(node, x_mul(node, x, x), &flat), begin, end, 0);
	window[0] = (uint32_t)size;
	window[1] = 1;
	options.label = node->options.label;
	options.windowDimensions = WNN_UINT32_ARRAY(window);
	square = wnnGraphBuilderAveragePool2d(node->b, square, &options);
	square = x_linear(node, x_reshape(node, square, &shape), alpha,
			  onnx_attr_float(node, "bias", 1));
	return onnx_out(node, 0, x_div(node, x, x_pow(node, square, x_like(node, x, beta))));
}

/*
 * Translates LpNormalization. The elements are scaled first, so that powers stay in the range of
 * float32.
 */
int onnx_op_lp_norm(struct onnx_node *node)
{
	int64_t p = onnx_attr_int(node, "p", 2);
	WNNOperand x = onnx_in(node, 0), norm;
	uint32_t axis;

	if (!x || onnx_axis(node, "axis", onnx_attr_int(node, "axis", -1), x_shape(x).rank, &axis))
		return -1;
	if (p != 1 && p != 2)
		return onnx_refuse(node, "p", "p is %lld instead of 1 or 2", (long long)p);
	x = x_div(node, x, x_largest(node, x, 1, &axis));
	norm = x_reduce1(node, p == 1 ? X_L1 : X_L2, x, axis, true);
	/* A row of zeros stays zero: its norm is taken as 1. */
	norm = x_where(node, x_equal(node, norm, x_like(node, x, 0)), x_like(node, x, 1), norm);
	return onnx_out(node, 0, x_div(node, x, norm));
}
