// SPDX-License-Identifier: MIT
/* Losses of classification, composed of a gather of the target's class and reductions. */
#include <math.h>

#include "ops.h"

enum reduction { NONE, SUM, MEAN };

/* Returns the reduction; -1: it is not known, and the node is refused. */
static int read_reduction(struct onnx_node *node)
{
	static const char *const reductions[] = {
		[NONE] = "none",
		[SUM] = "sum",
		[MEAN] = "mean",
	};

	return onnx_attr_choice(node, "reduction", "mean", reductions, MEAN + 1);
}

/*
 * Sets output 0 from logarithms of probabilities @x, which have the classes in dimension 1. Returns
 * 0; -1: refused.
 */
static int loss(struct onnx_node *node, WNNOperand x, WNNOperand target, WNNOperand weight)
{
	int reduction = read_reduction(node);
	const Onnx__AttributeProto *ignore = onnx_attr(node, "ignore_index");
	WNNGatherOptions options = WNN_GATHER_OPTIONS_INIT;
	uint32_t axes[ONNX_MAX_RANK], rank;
	WNNOperand y, factor, skip;
	struct onnx_shape shape;

	if (reduction < 0)
		return -1;
	if (!x || !target)
		return onnx_out(node, 0, NULL);
	shape = x_shape(target);
	rank = shape.rank;
	factor = x_expand(node, x_like(node, x, 1), &shape);
	skip = NULL;
	if (ignore) {
		WNNOperandDataType type = wnnOperandGetDataType(target);

		skip = x_equal(node, target, x_integer(node, type, ignore->i));
		target = x_where(node, skip, x_integer(node, type, 0), target);
	}
	if (weight)
		factor = x_gather(node, weight, target, 0);
	if (skip)
		factor = x_where(node, skip, x_like(node, x, 0), factor);
	options.label = node->options.label;
	options.axis = 1;
	y = wnnGraphBuilderGatherElements(node->b, x, x_unsqueeze(node, target, 1), &options);
	y = x_mul(node, x_neg(node, y ? x_reshape(node, y, &shape) : NULL), factor);
	for (uint32_t i = 0; i < rank; i++)
		axes[i] = i;
	if (reduction == NONE)
		return onnx_out(node, 0, y);
	y = x_reduce(node, X_SUM, y, rank, axes, false);
	if (reduction == MEAN)
		y = x_div(node, y, x_reduce(node, X_SUM, factor, rank, axes, false));
	return onnx_out(node, 0, y);
}

/* Whether there is no target, but an input of the right shape. */
static bool has_no_targets(struct onnx_node *node)
{
	const struct onnx_shape *x = onnx_in_shape(node, 0), *target = onnx_in_shape(node, 1);

	if (!onnx_has(node, 0) || !onnx_has(node, 1) || onnx_shape_elements(target) ||
	    x->rank != target->rank + 1)
		return false;
	for (uint32_t i = 0; i < target->rank; i++)
		if (target->dim[i] != x->dim[i ? i + 1 : 0])
			return false;
	return true;
}

/*
 * Sets the outputs for no targets. The mean of no losses is 0, but NaN when it is divided by the
 * sum of weights: ONNX Runtime has these results.
 */
static int lose_nothing(struct onnx_node *node)
{
	bool weighted = onnx_has(node, 2) || onnx_attr(node, "ignore_index");
	int type = onnx_in_type(node, 0), reduction = read_reduction(node);
	struct onnx_shape result = { 0 };
	void *data;

	if (reduction < 0)
		return -1;
	if (reduction == NONE)
		result = *onnx_in_shape(node, 1);
	if (onnx_wants(node, 1) && onnx_out_empty(node, 1, type, onnx_in_shape(node, 0)))
		return -1;
	data = onnx_out_constant(node, 0, type, &result);
	if (data && reduction != NONE)
		onnx_put_float(type, data, 0, reduction == MEAN && weighted ? NAN : 0);
	return data ? 0 : -1;
}

/* The input of variant 0 is logarithms of probabilities, that of variant 1 is scores. */
int onnx_op_loss(struct onnx_node *node)
{
	WNNOperand x, target, weight = NULL, shifted;

	if (has_no_targets(node))
		return lose_nothing(node);
	x = onnx_in(node, 0);
	if (!x || !(target = onnx_in(node, 1)) ||
	    (onnx_has(node, 2) && !(weight = onnx_in(node, 2))))
		return -1;
	if (x_shape(x).rank < 2)
		return onnx_refuse(node, "", "its input has no dimension of classes");
	if (node->op->variant) {
		shifted = x_sub(node, x, x_reduce1(node, X_MAX, x, 1, true));
		x = x_reduce1(node, X_SUM, x_exp(node, shifted), 1, true);
		x = x_sub(node, shifted, x_log(node, x));
		if (onnx_wants(node, 1) && onnx_out(node, 1, x))
			return -1;
	}
	return loss(node, x, target, weight);
}
