// SPDX-License-Identifier: MIT
/*
 * The rules of averagePool2d, l2Pool2d and maxPool2d: they check a call, infer the types of its
 * results and emit IR nodes.
 */
#include "graph/rules.h"

/*
 * Sets the output sizes that the application gives: both must be those with rounding down, or both
 * those with rounding up. The padding of the options stays in effect, unlike in the text of the
 * specification. Returns 0 or -1.
 */
static int given_sizes(struct wnn_rule *rule, WNNUint32Array sizes, const int64_t down[2],
		       const int64_t up[2], int64_t out[2])
{
	if (sizes.count != 2)
		return rule_error(rule, "options.outputSizes has %zu items, expected 2",
				  sizes.count);
	out[0] = sizes.data[0];
	out[1] = sizes.data[1];
	if ((out[0] == down[0] && out[1] == down[1]) || (out[0] == up[0] && out[1] == up[1]))
		return 0;
	if (down[0] < 1 || down[1] < 1 || (down[0] == up[0] && down[1] == up[1]))
		return rule_error(rule,
				  "options.outputSizes is [%" PRId64 ",%" PRId64
				  "], expected [%" PRId64 ",%" PRId64 "]",
				  out[0], out[1], up[0], up[1]);
	return rule_error(rule,
			  "options.outputSizes is [%" PRId64 ",%" PRId64 "]; possible are [%" PRId64
			  ",%" PRId64 "] and [%" PRId64 ",%" PRId64 "]",
			  out[0], out[1], down[0], down[1], up[0], up[1]);
}

static int output_sizes(struct wnn_rule *rule, const struct ir_pool_attrs *attrs,
			const int64_t in[2], int64_t out[2])
{
	const WNNPool2dOptions *options = rule_options(rule, WNNPool2dOptions);
	const WNNUint32Array sizes = options->outputSizes;
	int64_t down[2], up[2];

	for (int i = 0; i < 2; i++) {
		int64_t window = rule_effective_size(attrs->window[i], attrs->dilations[i]);
		int64_t room = in[i] + attrs->padding[2 * i] + attrs->padding[2 * i + 1];

		down[i] = rule_floor_div(room - window, attrs->strides[i]) + 1;
		up[i] = rule_ceil_div(room - window, attrs->strides[i]) + 1;
		out[i] = options->outputShapeRounding == WNNRoundingType_Ceil ? up[i] : down[i];
		/* Given sizes may be rounded up or down, whatever the option for rounding says. */
		if ((sizes.data ? up[i] : out[i]) < 1)
			return rule_error(rule,
					  "the dilated window has %s %" PRId64
					  ", more than the padded input's %" PRId64,
					  i ? "width" : "height", window, room);
	}
	if (sizes.data)
		return given_sizes(rule, sizes, down, up, out);
	return 0;
}

/*
 * Removes the taps that lie in the padding for every output: windows may be billions of elements
 * larger than the input, and no back end should count through them.
 */
static void trim_window(struct ir_pool_attrs *pool, int i, int64_t in, int64_t out)
{
	int64_t dilation = pool->dilations[i], pad = pool->padding[2 * i];
	int64_t before = (pad - (out - 1) * pool->strides[i]) / dilation;
	int64_t end = (in - 1 + pad) / dilation + 1;

	if (before < 0)
		before = 0;
	if (before >= pool->window[i])
		before = pool->window[i] - 1;
	if (end > pool->window[i])
		end = pool->window[i];
	pool->padding[2 * i] = (uint32_t)(pad - before * dilation);
	pool->window[i] = end > before ? (uint32_t)(end - before) : 1;
}

int rule_pool2d(struct wnn_rule *rule)
{
	const WNNPool2dOptions *options = rule_options(rule, WNNPool2dOptions);
	const struct ir_type *input = rule_type(rule, 0);
	bool nchw = options->layout != WNNInputOperandLayout_Nhwc;
	int h = nchw ? 2 : 1, w = h + 1;
	int64_t in[2] = { ir_type_dim(input, h), ir_type_dim(input, w) }, out[2];
	union ir_attrs attrs = { .pool = {
					 .kind = rule->call->op == WNN_OP_MAX_POOL2D ?
							 IR_POOL_MAX :
						 rule->call->op == WNN_OP_L2_POOL2D ?
							 IR_POOL_L2 :
							 IR_POOL_AVERAGE,
					 .layout = nchw ? IR_NCHW : IR_NHWC,
				 } };
	struct ir_pool_attrs *pool = &attrs.pool;
	struct ir_type type = *input;

	if (rule_list(rule, "options.windowDimensions", options->windowDimensions, 2, 1, false,
		      pool->window) ||
	    rule_list(rule, "options.padding", options->padding, 4, 0, true, pool->padding) ||
	    rule_list(rule, "options.strides", options->strides, 2, 1, false, pool->strides) ||
	    rule_list(rule, "options.dilations", options->dilations, 2, 1, false, pool->dilations))
		return -1;
	if (!options->windowDimensions.data) {
		/* The window is the whole image, whose sizes fit in 31 bits. */
		pool->window[0] = (uint32_t)in[0];
		pool->window[1] = (uint32_t)in[1];
	}
	if (output_sizes(rule, pool, in, out))
		return -1;
	for (int i = 0; i < 2; i++)
		trim_window(pool, i, in[i], out[i]);
	type.dim[h].value = out[0];
	type.dim[w].value = out[1];
	return rule_emit_call(rule, IR_OP_POOL, &type, &attrs);
}
