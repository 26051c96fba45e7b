// SPDX-License-Identifier: MIT
/*
 * DeformConv: samples the input at each tap of the kernel, for all results at once, and multiplies
 * the samples with the weights in one matrix product.
 */
#include <string.h>

#include "grid.h"
#include "ops.h"
#include "window.h"

struct deform {
	struct onnx_window w;
	int64_t batch, channels, groups, offset_groups, filters, taps, outputs;
};

static int read_deform(struct onnx_node *node, struct deform *d)
{
	const struct onnx_shape *x = onnx_in_shape(node, 0), *filter = onnx_in_shape(node, 1);
	const struct onnx_shape *offset = onnx_in_shape(node, 2);

	*d = (struct deform){ .groups = onnx_attr_int(node, "group", 1),
			      .offset_groups = onnx_attr_int(node, "offset_group", 1) };
	if (x->rank != 4 || filter->rank != 4 || offset->rank != 4)
		return onnx_refuse(node, "",
				   "X, W and offset have %u, %u and %u dimensions instead of 4",
				   x->rank, filter->rank, offset->rank);
	if (onnx_window(node, x, filter->dim + 2, &d->w))
		return -1;
	d->batch = x->dim[0];
	d->channels = x->dim[1];
	d->filters = filter->dim[0];
	d->taps = d->w.kernel[0] * d->w.kernel[1];
	d->outputs = d->w.out[0] * d->w.out[1];
	if (d->groups < 1 || d->offset_groups < 1 || d->channels % d->groups ||
	    d->filters % d->groups || d->channels % d->offset_groups ||
	    filter->dim[1] != d->channels / d->groups || offset->dim[0] != d->batch ||
	    offset->dim[1] != d->offset_groups * d->taps * 2 || offset->dim[2] != d->w.out[0] ||
	    offset->dim[3] != d->w.out[1])
		return onnx_refuse(node, "group",
				   "X, W, offset and groups do not fit together: the inputs are %s",
				   onnx_inputs_text(node));
	if (d->taps * d->outputs > ONNX_INDICES)
		return onnx_refuse(node, "", "it has too many samples: %lld, at most %lld",
				   (long long)(d->taps * d->outputs), (long long)ONNX_INDICES);
	return 0;
}

/*
 * Returns the positions of the kernel's taps along @dimension, without offsets: [1, taps * outputs,
 * 1].
 */
static WNNOperand regular(struct onnx_node *node, const struct deform *d, uint32_t dimension)
{
	struct onnx_shape shape = { 3, { 1, d->taps * d->outputs, 1 } };
	float *numbers = onnx_node_alloc(node, (size_t)shape.dim[1] * sizeof(*numbers));
	const struct onnx_window *w = &d->w;

	for (int64_t i = 0; numbers && i < shape.dim[1]; i++) {
		int64_t place = i / d->outputs, out = i % d->outputs;

		place = dimension ? place % w->kernel[1] : place / w->kernel[1];
		out = dimension ? out % w->out[1] : out / w->out[1];
		numbers[i] = (float)(out * w->stride[dimension] - w->begin[dimension] +
				     place * w->dilation[dimension]);
	}
	return numbers ? x_constant(node, WNNOperandDataType_Float32, &shape, numbers) : NULL;
}

/* Returns the samples of the channels of one offset group: [batch, taps * outputs, channels]. */
static WNNOperand sample_group(struct onnx_node *node, const struct deform *d, WNNOperand x,
			       WNNOperand offsets, WNNOperand mask, int64_t group)
{
	int64_t channels = d->channels / d->offset_groups, points = d->taps * d->outputs;
	struct onnx_grid g = {
		.rank = 2, .reach = 2, .batch = d->batch, .channels = channels, .points = points
	};
	struct onnx_shape column = { 3, { d->batch, points, 1 } };
	WNNOperand at[2], y;

	x = x_slice_axis(node, x, 1, group * channels, channels, 1);
	offsets = x_at(node, offsets, 1, group);
	if (!x || !offsets)
		return NULL;
	g.image = x_shape(x);
	for (uint32_t i = 0; i < 2; i++) {
		at[i] = x_reshape(node, x_at(node, offsets, 2, i), &column);
		at[i] = x_add(node, at[i], regular(node, d, i));
	}
	y = onnx_grid_sample(node, &g, x, at);
	if (mask)
		y = x_mul(node, y, x_reshape(node, x_at(node, mask, 1, group), &column));
	return y;
}

/*
 * Returns the samples of all offset groups as matrices that the weights are multiplied with:
 * [batch, groups, channels of a group * taps, outputs].
 */
static WNNOperand sample_all(struct onnx_node *node, const struct deform *d, WNNOperand x,
			     WNNOperand offsets, WNNOperand mask)
{
	static const uint32_t order[] = { 0, 3, 1, 2 };
	struct onnx_shape wide = { 4, { d->batch, d->taps, d->outputs, d->channels } };
	struct onnx_shape product = {
		4, { d->batch, d->groups, d->channels / d->groups * d->taps, d->outputs }
	};
	WNNOperand *parts, y;

	if (onnx_unroll(node, (uint64_t)d->offset_groups * 60))
		return NULL;
	parts = onnx_node_alloc(node, (size_t)d->offset_groups * sizeof(*parts));
	for (int64_t i = 0; parts && i < d->offset_groups; i++) {
		parts[i] = sample_group(node, d, x, offsets, mask, i);
		if (!parts[i])
			return NULL;
	}
	if (!parts)
		return NULL;
	y = x_concat(node, (size_t)d->offset_groups, parts, 2);
	return x_reshape(node, x_transpose(node, x_reshape(node, y, &wide), order), &product);
}

int onnx_op_deform_conv(struct onnx_node *node)
{
	WNNOperand x = onnx_in(node, 0), filter, offsets, mask = NULL, y;
	struct onnx_shape shape;
	struct deform d;

	if (!x || !(filter = onnx_in(node, 1)) || !(offsets = onnx_in(node, 2)) ||
	    (onnx_has(node, 4) && !(mask = onnx_in(node, 4))) || read_deform(node, &d))
		return -1;
	x = x_cast(node, x, WNNOperandDataType_Float32);
	shape = (struct onnx_shape){ 5, { d.batch, d.offset_groups, d.taps, 2, d.outputs } };
	offsets = x_reshape(node, x_cast(node, offsets, WNNOperandDataType_Float32), &shape);
	shape = (struct onnx_shape){ 3, { d.batch, d.offset_groups, d.taps * d.outputs } };
	if (mask)
		mask = x_reshape(node, x_cast(node, mask, WNNOperandDataType_Float32), &shape);
	y = sample_all(node, &d, x, offsets, mask);
	shape = (struct onnx_shape){
		4, { 1, d.groups, d.filters / d.groups, d.channels / d.groups * d.taps }
	};
	filter = x_reshape(node, x_cast(node, filter, WNNOperandDataType_Float32), &shape);
	y = x_matmul(node, filter, y);
	shape = (struct onnx_shape){ 4, { d.batch, d.filters, d.w.out[0], d.w.out[1] } };
	y = x_reshape(node, y, &shape);
	y = y ? x_cast(node, y, onnx_type_webnn(onnx_in_type(node, 0))) : NULL;
	if (onnx_has(node, 3)) {
		struct onnx_shape column = { 3, { d.filters, 1, 1 } };

		y = x_add(node, y, x_reshape(node, onnx_in(node, 3), &column));
	}
	return onnx_out(node, 0, y);
}
