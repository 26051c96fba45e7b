// SPDX-License-Identifier: MIT
/*
 * The rules of batchNormalization, instanceNormalization and layerNormalization: they check a call,
 * infer the types of its results and emit IR nodes.
 */
#include "graph/rules.h"

int rule_batch_normalization(struct wnn_rule *rule)
{
	const WNNBatchNormalizationOptions *options =
		rule_options(rule, WNNBatchNormalizationOptions);
	const struct ir_type *input = rule_type(rule, 0);
	union ir_attrs attrs = { .norm = {
					 .axis = options->axis,
					 .epsilon = wnn_double_cast(input->dtype, options->epsilon),
				 } };
	int64_t channels;

	if (rule_axis(rule, "options.axis", options->axis, input->rank))
		return -1;
	channels = ir_type_dim(input, options->axis);
	for (size_t i = 1; i < rule->call->operand_count; i++)
		if (rule_shape_is(rule, i, 1, &channels))
			return -1;
	return rule_emit_call(rule, IR_OP_BATCHNORM, input, &attrs);
}

int rule_instance_normalization(struct wnn_rule *rule)
{
	const WNNInstanceNormalizationOptions *options =
		rule_options(rule, WNNInstanceNormalizationOptions);
	const struct ir_type *input = rule_type(rule, 0);
	bool nhwc = options->layout == WNNInputOperandLayout_Nhwc;
	int64_t channels = ir_type_dim(input, nhwc ? 3 : 1);
	union ir_attrs attrs = { .norm = {
					 .layout = nhwc ? IR_NHWC : IR_NCHW,
					 .epsilon = wnn_double_cast(input->dtype, options->epsilon),
				 } };

	if (rule_shape_is(rule, 1, 1, &channels) || rule_shape_is(rule, 2, 1, &channels))
		return -1;
	return rule_emit_call(rule, IR_OP_INSTNORM, input, &attrs);
}

int rule_layer_normalization(struct wnn_rule *rule)
{
	const WNNLayerNormalizationOptions *options =
		rule_options(rule, WNNLayerNormalizationOptions);
	const struct ir_type *input = rule_type(rule, 0);
	union ir_attrs attrs = { .norm = {
					 .epsilon = wnn_double_cast(input->dtype, options->epsilon),
				 } };
	struct ir_norm_attrs *norm = &attrs.norm;
	int64_t dims[IR_MAX_RANK];
	uint32_t mask;

	/* Without the option, the axes are all dimensions but the first. */
	for (uint32_t d = 1; !options->axes.data && d < input->rank; d++)
		norm->axes[norm->num_axes++] = d;
	if (options->axes.data) {
		if (rule_axes(rule, options->axes, input->rank, &mask))
			return -1;
		norm->num_axes = (uint32_t)options->axes.count;
		for (uint32_t i = 0; i < norm->num_axes; i++)
			norm->axes[i] = options->axes.data[i];
	}
	/* The dimensions of scale and bias are in the order of the axes. */
	for (uint32_t i = 0; i < norm->num_axes; i++)
		dims[i] = ir_type_dim(input, norm->axes[i]);
	if (rule_shape_is(rule, 1, norm->num_axes, dims) ||
	    rule_shape_is(rule, 2, norm->num_axes, dims))
		return -1;
	return rule_emit_call(rule, IR_OP_LAYERNORM, input, &attrs);
}
