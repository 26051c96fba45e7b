// SPDX-License-Identifier: MIT
/*
 * The rules of conv2d and convTranspose2d: they check a call, infer the types of its results and
 * emit IR nodes. record.c calls the rules of all operators.
 */
#include "graph/rules.h"

/* The sizes of a convolution, the same for all layouts. */
struct conv_sizes {
	int64_t batch, channels, in[2];
	int64_t filter_out, filter_in, window[2];
};

static struct conv_sizes sizes_of(const struct wnn_rule *rule, const struct ir_conv_attrs *attrs)
{
	const struct ir_type *input = rule_type(rule, 0), *filter = rule_type(rule, 1);
	const uint8_t *at = ir_filter_axes(attrs->filter_layout);
	bool nchw = attrs->layout == IR_NCHW;

	return (struct conv_sizes){
		.batch = ir_type_dim(input, 0),
		.channels = ir_type_dim(input, nchw ? 1 : 3),
		.in = { ir_type_dim(input, nchw ? 2 : 1), ir_type_dim(input, nchw ? 3 : 2) },
		.filter_out = ir_type_dim(filter, at[0]),
		.filter_in = ir_type_dim(filter, at[1]),
		.window = { ir_type_dim(filter, at[2]), ir_type_dim(filter, at[3]) },
	};
}

static struct ir_type output_type(const struct wnn_rule *rule, const struct ir_conv_attrs *attrs,
				  int64_t batch, int64_t channels, const int64_t out[2])
{
	int64_t nchw[4] = { batch, channels, out[0], out[1] };
	int64_t nhwc[4] = { batch, out[0], out[1], channels };

	return ir_type_make(rule_type(rule, 0)->dtype, 4, attrs->layout == IR_NCHW ? nchw : nhwc);
}

static int check_window_options(struct wnn_rule *rule, WNNUint32Array padding,
				WNNUint32Array strides, WNNUint32Array dilations,
				struct ir_conv_attrs *attrs)
{
	if (rule_list(rule, "options.padding", padding, 4, 0, true, attrs->padding) ||
	    rule_list(rule, "options.strides", strides, 2, 1, false, attrs->strides) ||
	    rule_list(rule, "options.dilations", dilations, 2, 1, false, attrs->dilations))
		return -1;
	return 0;
}

static int check_groups(struct wnn_rule *rule, const struct conv_sizes *s, uint32_t groups)
{
	if (!groups)
		return rule_error(rule, "options.groups is 0; it must be at least 1");
	if (s->channels % groups)
		return rule_error(rule,
				  "input has %" PRId64 " channels, which %" PRIu32
				  " groups do not divide",
				  s->channels, groups);
	return 0;
}

int rule_conv2d(struct wnn_rule *rule)
{
	static const enum ir_filter_layout layouts[] = {
		[WNNConv2dFilterOperandLayout_Oihw] = IR_OIHW,
		[WNNConv2dFilterOperandLayout_Hwio] = IR_HWIO,
		[WNNConv2dFilterOperandLayout_Ohwi] = IR_OHWI,
		[WNNConv2dFilterOperandLayout_Ihwo] = IR_IHWO,
	};
	const WNNConv2dOptions *options = rule_options(rule, WNNConv2dOptions);
	union ir_attrs attrs = { .conv = {
					 .groups = options->groups,
					 .layout = options->inputLayout ==
								   WNNInputOperandLayout_Nhwc ?
							   IR_NHWC :
							   IR_NCHW,
					 .filter_layout = layouts[options->filterLayout],
					 .act = rule_no_activation(),
				 } };
	struct conv_sizes s = sizes_of(rule, &attrs.conv);
	struct ir_type type;
	int64_t out[2];

	if (check_window_options(rule, options->padding, options->strides, options->dilations,
				 &attrs.conv) ||
	    check_groups(rule, &s, options->groups))
		return -1;
	if (s.channels / options->groups != s.filter_in)
		return rule_error(rule,
				  "filter has %" PRId64 " input channels per group, "
				  "expected %" PRId64 " (input has %" PRId64
				  " channels, groups %" PRIu32 ")",
				  s.filter_in, s.channels / options->groups, s.channels,
				  options->groups);
	if (s.filter_out % options->groups)
		return rule_error(rule,
				  "filter has %" PRId64 " output channels, which %" PRIu32
				  " groups do not divide",
				  s.filter_out, options->groups);
	if (rule_shape_is(rule, 2, 1, &s.filter_out))
		return -1;
	for (int i = 0; i < 2; i++) {
		int64_t room = s.in[i] + attrs.conv.padding[2 * i] + attrs.conv.padding[2 * i + 1];
		int64_t window = rule_effective_size(s.window[i], attrs.conv.dilations[i]);

		if (window > room)
			return rule_error(rule,
					  "the dilated filter has %s %" PRId64
					  ", more than the padded input's %" PRId64,
					  i ? "width" : "height", window, room);
		out[i] = (room - window) / attrs.conv.strides[i] + 1;
	}
	type = output_type(rule, &attrs.conv, s.batch, s.filter_out, out);
	return rule_emit_call(rule, IR_OP_CONV, &type, &attrs);
}

/* Returns (in - 1) * stride + window - padding; saturates. */
static int64_t transposed_size(int64_t in, uint32_t stride, int64_t window, const uint32_t *padding)
{
	int64_t size;

	if (__builtin_mul_overflow(in - 1, (int64_t)stride, &size) || size > INT64_MAX / 4)
		size = INT64_MAX / 4;
	return size + window - padding[0] - padding[1];
}

/*
 * Checks an output size that the application gives: the convolution must be able to have it for
 * this input. Returns 0 or -1.
 */
static int check_output_size(struct wnn_rule *rule, uint32_t given, int64_t calculated,
			     uint32_t stride, int i)
{
	int64_t least = calculated < 1 ? 1 : calculated, most = calculated + stride - 1;

	if (given >= least && given <= most)
		return 0;
	if (most < 1)
		return rule_error(rule,
				  "options.outputSizes[%d] is %" PRIu32
				  ", but no size is possible, as options.padding removes all of "
				  "the output",
				  i, given);
	if (least == most)
		return rule_error(rule, "options.outputSizes[%d] is %" PRIu32 ", expected %" PRId64,
				  i, given, least);
	return rule_error(rule,
			  "options.outputSizes[%d] is %" PRIu32 "; sizes from %" PRId64
			  " to %" PRId64 " are possible",
			  i, given, least, most);
}

static int transposed_output(struct wnn_rule *rule, const struct conv_sizes *s,
			     const struct ir_conv_attrs *attrs, int64_t out[2])
{
	const WNNConvTranspose2dOptions *options = rule_options(rule, WNNConvTranspose2dOptions);
	const uint32_t *sizes = options->outputSizes.data;
	uint32_t padding[2];

	if (rule_list(rule, "options.outputPadding", options->outputPadding, 2, 0, true, padding))
		return -1;
	if (sizes && options->outputSizes.count != 2)
		return rule_error(rule, "options.outputSizes has %zu items, expected 2",
				  options->outputSizes.count);
	for (int i = 0; i < 2; i++) {
		int64_t window = rule_effective_size(s->window[i], attrs->dilations[i]);

		if (!sizes && padding[i] >= attrs->strides[i])
			return rule_error(rule,
					  "options.outputPadding[%d] is %" PRIu32
					  "; it must be below the stride, %" PRIu32,
					  i, padding[i], attrs->strides[i]);
		out[i] = transposed_size(s->in[i], attrs->strides[i], window,
					 &attrs->padding[2 * i]);
		if (sizes && check_output_size(rule, sizes[i], out[i], attrs->strides[i], i))
			return -1;
		out[i] = sizes ? sizes[i] : out[i] + padding[i];
	}
	return 0;
}

int rule_conv_transpose2d(struct wnn_rule *rule)
{
	static const enum ir_filter_layout layouts[] = {
		[WNNConvTranspose2dFilterOperandLayout_Iohw] = IR_IOHW,
		[WNNConvTranspose2dFilterOperandLayout_Hwoi] = IR_HWOI,
		[WNNConvTranspose2dFilterOperandLayout_Ohwi] = IR_OHWI,
	};
	const WNNConvTranspose2dOptions *options = rule_options(rule, WNNConvTranspose2dOptions);
	union ir_attrs attrs = { .conv = {
					 .groups = options->groups,
					 .layout = options->inputLayout ==
								   WNNInputOperandLayout_Nhwc ?
							   IR_NHWC :
							   IR_NCHW,
					 .filter_layout = layouts[options->filterLayout],
					 .transposed = true,
					 .act = rule_no_activation(),
				 } };
	struct conv_sizes s = sizes_of(rule, &attrs.conv);
	struct ir_type type;
	int64_t out[2], channels;

	if (check_window_options(rule, options->padding, options->strides, options->dilations,
				 &attrs.conv) ||
	    transposed_output(rule, &s, &attrs.conv, out) ||
	    check_groups(rule, &s, options->groups))
		return -1;
	if (s.channels != s.filter_in)
		return rule_error(rule,
				  "filter has %" PRId64 " input channels, but input has %" PRId64,
				  s.filter_in, s.channels);
	channels = s.filter_out * options->groups;
	if (channels > WNN_MAX_DIMENSION)
		return rule_error(rule,
				  "%" PRId64 " output channels are more than the %d that are "
				  "allowed",
				  channels, WNN_MAX_DIMENSION);
	if (rule_shape_is(rule, 2, 1, &channels))
		return -1;
	type = output_type(rule, &attrs.conv, s.batch, channels, out);
	return rule_emit_call(rule, IR_OP_CONV, &type, &attrs);
}
