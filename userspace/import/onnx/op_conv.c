// SPDX-License-Identifier: MIT
/*
 * Translates convolutions. Those of WebNN have two spatial dimensions: with one, a dimension of 1
 * is added; with three, the result is the sum of two-dimensional convolutions, one for each plane
 * of the kernel.
 */
#include <string.h>

#include "ops.h"
#include "window.h"

static void to_list(uint32_t out[], uint32_t count, const int64_t *first, const int64_t *second)
{
	for (uint32_t i = 0; i < count; i++) {
		out[second ? 2 * i : i] = (uint32_t)first[i];
		if (second)
			out[2 * i + 1] = (uint32_t)second[i];
	}
}

static WNNOperand conv2d(struct onnx_node *node, WNNOperand x, WNNOperand filter, WNNOperand bias,
			 uint32_t groups, const struct onnx_window *w)
{
	WNNConv2dOptions options = WNN_CONV2D_OPTIONS_INIT;
	uint32_t padding[4], strides[2], dilations[2];

	to_list(padding, 2, w->begin, w->end);
	to_list(strides, 2, w->stride, NULL);
	to_list(dilations, 2, w->dilation, NULL);
	options.label = node->options.label;
	options.padding = WNN_UINT32_ARRAY(padding);
	options.strides = WNN_UINT32_ARRAY(strides);
	options.dilations = WNN_UINT32_ARRAY(dilations);
	options.groups = groups;
	options.bias = bias;
	return wnnGraphBuilderConv2d(node->b, x, filter, &options);
}

/* Adds a spatial dimension of 1 in front of the only one. */
static void widen(struct onnx_window *w)
{
	int64_t *lists[] = { w->in, w->kernel, w->stride, w->dilation, w->out };

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		lists[i][1] = lists[i][0];
		lists[i][0] = 1;
	}
	w->begin[1] = w->begin[0];
	w->end[1] = w->end[0];
	w->begin[0] = 0;
	w->end[0] = 0;
	w->rank = 2;
}

static WNNOperand squeeze_row(struct onnx_node *node, WNNOperand y)
{
	struct onnx_shape shape;

	if (!y)
		return NULL;
	shape = x_shape(y);
	shape.rank = 3;
	shape.dim[2] = shape.dim[3];
	return x_reshape(node, y, &shape);
}

/* Merges dimension 2 of x [N,C,D,H,W] into the batch and returns [N*D,C,H,W]. */
static WNNOperand planes_to_batch(struct onnx_node *node, WNNOperand x)
{
	struct onnx_shape shape = x_shape(x), flat = { 4, { 0 } };

	flat.dim[0] = shape.dim[0] * shape.dim[2];
	flat.dim[1] = shape.dim[1];
	flat.dim[2] = shape.dim[3];
	flat.dim[3] = shape.dim[4];
	return x_reshape(node, x_move_axis(node, x, 2, 1), &flat);
}

static WNNOperand batch_to_planes(struct onnx_node *node, WNNOperand y, int64_t batch)
{
	struct onnx_shape shape, wide = { 5, { 0 } };

	if (!y)
		return NULL;
	shape = x_shape(y);
	wide.dim[0] = batch;
	wide.dim[1] = shape.dim[0] / batch;
	wide.dim[2] = shape.dim[1];
	wide.dim[3] = shape.dim[2];
	wide.dim[4] = shape.dim[3];
	return x_move_axis(node, x_reshape(node, y, &wide), 1, 2);
}

static WNNOperand conv3d(struct onnx_node *node, WNNOperand x, WNNOperand filter, WNNOperand bias,
			 uint32_t groups, const struct onnx_window *w)
{
	int64_t begin[5] = { 0, 0, w->begin[0] }, end[5] = { 0, 0, w->end[0] };
	int64_t batch = x_shape(x).dim[0];
	struct onnx_window plane = { .rank = 2 };
	WNNOperand sum = NULL;

	memcpy(plane.begin, w->begin + 1, sizeof(int64_t) * 2);
	memcpy(plane.end, w->end + 1, sizeof(int64_t) * 2);
	memcpy(plane.stride, w->stride + 1, sizeof(int64_t) * 2);
	memcpy(plane.dilation, w->dilation + 1, sizeof(int64_t) * 2);
	if (onnx_unroll(node, (uint64_t)w->kernel[0] * 6))
		return NULL;
	x = x_pad(node, x, begin, end, 0);
	for (int64_t i = 0; x && i < w->kernel[0]; i++) {
		WNNOperand part = x_slice_axis(node, x, 2, i * w->dilation[0],
					       (w->out[0] - 1) * w->stride[0] + 1, w->stride[0]);
		WNNOperand y;

		if (!part)
			return NULL;
		y = conv2d(node, planes_to_batch(node, part), x_at(node, filter, 2, i),
			   i ? NULL : bias, groups, &plane);
		sum = sum ? x_add(node, sum, y) : y;
	}
	return batch_to_planes(node, sum, batch);
}

/* Returns the convolution of @x with @filter, in one to three spatial dimensions. NULL: refused. */
WNNOperand onnx_conv(struct onnx_node *node, WNNOperand x, WNNOperand filter, WNNOperand bias)
{
	int64_t groups = onnx_attr_int(node, "group", 1);
	struct onnx_shape shape, kernel;
	struct onnx_window w;

	if (!x || !filter)
		return NULL;
	shape = x_shape(x);
	kernel = x_shape(filter);
	if (kernel.rank != shape.rank || groups < 1 || groups > UINT32_MAX) {
		onnx_refuse(node, "group",
			    "input, filter and group do not fit together: the inputs are %s",
			    onnx_inputs_text(node));
		return NULL;
	}
	if (onnx_window(node, &shape, kernel.dim + 2, &w))
		return NULL;
	if (w.rank == 3)
		return conv3d(node, x, filter, bias, (uint32_t)groups, &w);
	if (w.rank == 2)
		return conv2d(node, x, filter, bias, (uint32_t)groups, &w);
	widen(&w);
	return squeeze_row(node, conv2d(node, x_unsqueeze(node, x, 2), x_unsqueeze(node, filter, 2),
					bias, (uint32_t)groups, &w));
}

int onnx_op_conv(struct onnx_node *node)
{
	WNNOperand x = onnx_in(node, 0);
	WNNOperand filter = x ? onnx_in(node, 1) : NULL;
	WNNOperand bias = filter && onnx_has(node, 2) ? onnx_in(node, 2) : NULL;

	if (!filter || (onnx_has(node, 2) && !bias))
		return -1;
	return onnx_out(node, 0, onnx_conv(node, x, filter, bias));
}

/*
 * Translates FusedConv and NhwcFusedConv of com.microsoft: a convolution, to which input 3 is added
 * if it is there, then an activation. In variant 1 (NhwcFusedConv), the channels are the last
 * dimension of all tensors but the filter.
 */
int onnx_op_fused_conv(struct onnx_node *node)
{
	WNNOperand x = onnx_in(node, 0), more = NULL, y;
	WNNOperand filter = x ? onnx_in(node, 1) : NULL;
	bool last = node->op->variant;

	if (!filter || (onnx_has(node, 3) && !(more = onnx_in(node, 3))))
		return -1;
	x = last ? x_channels_first(node, x) : x;
	y = onnx_conv(node, x, filter, onnx_has(node, 2) ? onnx_in(node, 2) : NULL);
	if (more)
		y = x_add(node, y, last ? x_channels_first(node, more) : more);
	y = y ? onnx_activate(node, y) : NULL;
	return onnx_out(node, 0, last ? x_channels_last(node, y) : y);
}

/*
 * Translates NhwcConv of com.microsoft: a convolution with channels as last dimension of image,
 * filter and result.
 */
int onnx_op_conv_nhwc(struct onnx_node *node)
{
	WNNOperand x = onnx_in(node, 0);
	WNNOperand filter = x ? onnx_in(node, 1) : NULL;
	WNNOperand bias = filter && onnx_has(node, 2) ? onnx_in(node, 2) : NULL;

	if (!filter || (onnx_has(node, 2) && !bias))
		return -1;
	x = onnx_conv(node, x_channels_first(node, x), x_channels_first(node, filter), bias);
	return onnx_out(node, 0, x_channels_last(node, x));
}

/*
 * Computes the padding of a transposed convolution from output_shape and auto_pad, and adds to
 * @extra where the output is larger than the windows reach. Returns 0 or -1.
 */
static int transposed_pads(struct onnx_node *node, struct onnx_window *w, int64_t *extra)
{
	const char *automatic = onnx_attr_string(node, "auto_pad", "NOTSET");
	bool shaped = onnx_attr(node, "output_shape");
	const int64_t *given;
	int64_t shape[ONNX_SPATIAL];
	size_t count;

	given = onnx_attr_ints(node, "output_shape", &count);
	if (shaped && count != w->rank && count != w->rank + 2)
		return onnx_refuse(node, "output_shape", "output_shape has %zu items instead of %u",
				   count, w->rank);
	for (uint32_t i = 0; i < w->rank; i++) {
		int64_t extent = (w->kernel[i] - 1) * w->dilation[i] + 1, total;
		int64_t full = (w->in[i] - 1) * w->stride[i] + extent + extra[i];

		if (!shaped && strncmp(automatic, "SAME", 4))
			continue;
		shape[i] = shaped ? given[count - w->rank + i] : w->in[i] * w->stride[i];
		if (shape[i] < 1 || shape[i] >= (int64_t)1 << 31)
			return onnx_refuse(
				node, "output_shape",
				"output_shape has an item %lld: 1 to 2147483647 are allowed",
				(long long)shape[i]);
		total = full - shape[i];
		if (total < 0) {
			/*
			 * The output is larger than the windows reach: @extra elements at the end
			 * are 0, or the bias.
			 */
			extra[i] -= total;
			total = 0;
		}
		w->begin[i] = strcmp(automatic, "SAME_UPPER") ? total - total / 2 : total / 2;
		w->end[i] = total - w->begin[i];
	}
	return 0;
}

/*
 * Computes a transposed convolution of two dimensions. With @extra, applies the window's padding,
 * adds @extra to the sizes, and adds the bias; without, returns the whole result, neither cut nor
 * with a bias.
 */
static WNNOperand transposed2d(struct onnx_node *node, WNNOperand x, WNNOperand filter,
			       WNNOperand bias, uint32_t groups, const struct onnx_window *w,
			       const int64_t *extra)
{
	WNNConvTranspose2dOptions options = WNN_CONV_TRANSPOSE2D_OPTIONS_INIT;
	uint32_t strides[2], dilations[2], padding[4], more[2];

	if (extra) {
		to_list(padding, 2, w->begin, w->end);
		to_list(more, 2, extra, NULL);
		options.padding = WNN_UINT32_ARRAY(padding);
		options.outputPadding = WNN_UINT32_ARRAY(more);
		options.bias = bias;
	}
	to_list(strides, 2, w->stride, NULL);
	to_list(dilations, 2, w->dilation, NULL);
	options.label = node->options.label;
	options.strides = WNN_UINT32_ARRAY(strides);
	options.dilations = WNN_UINT32_ARRAY(dilations);
	options.groups = groups;
	return wnnGraphBuilderConvTranspose2d(node->b, x, filter, &options);
}

/*
 * Computes a transposed convolution of three dimensions as a sum over the planes of the kernel: the
 * result of each lands on different planes of the output, with zeros between them. Returns the
 * whole result, without padding and bias; NULL: refused.
 */
static WNNOperand transposed3d(struct onnx_node *node, WNNOperand x, WNNOperand filter,
			       uint32_t groups, const struct onnx_window *w)
{
	int64_t batch = x_shape(x).dim[0], depth = w->in[0], stride = w->stride[0];
	int64_t full = (depth - 1) * stride + (w->kernel[0] - 1) * w->dilation[0] + 1;
	struct onnx_window plane = { .rank = 2 };
	WNNOperand flat = planes_to_batch(node, x), sum = NULL;

	memcpy(plane.stride, w->stride + 1, sizeof(int64_t) * 2);
	memcpy(plane.dilation, w->dilation + 1, sizeof(int64_t) * 2);
	if (onnx_unroll(node, (uint64_t)w->kernel[0] * 8))
		return NULL;
	for (int64_t i = 0; i < w->kernel[0]; i++) {
		int64_t begin[6] = { 0 }, end[6] = { 0, 0, 0, stride - 1 };
		struct onnx_shape shape;
		WNNOperand y = batch_to_planes(node,
					       transposed2d(node, flat, x_at(node, filter, 2, i),
							    NULL, groups, &plane, NULL),
					       batch);

		if (!y)
			return NULL;
		y = x_pad(node, x_unsqueeze(node, y, 3), begin, end, 0);
		shape = x_shape(y);
		shape.rank = 5;
		shape.dim[2] = depth * stride;
		shape.dim[3] = shape.dim[4];
		shape.dim[4] = shape.dim[5];
		y = x_slice_axis(node, x_reshape(node, y, &shape), 2, 0, (depth - 1) * stride + 1,
				 1);
		end[3] = 0;
		begin[2] = i * w->dilation[0];
		end[2] = full - begin[2] - ((depth - 1) * stride + 1);
		y = x_pad(node, y, begin, end, 0);
		sum = sum ? x_add(node, sum, y) : y;
	}
	return sum;
}

/*
 * Cuts the whole result y by the padding and extends it with @extra zeros, as ONNX demands, then
 * adds the bias, if there is one. Returns NULL after a refusal.
 */
static WNNOperand trim(struct onnx_node *node, WNNOperand y, WNNOperand bias,
		       const struct onnx_window *w, const int64_t *extra)
{
	int64_t none[5] = { 0 }, more[5] = { 0 };
	struct onnx_shape shape;

	if (!y)
		return NULL;
	for (uint32_t i = 0; i < w->rank; i++)
		more[2 + i] = extra[i];
	y = x_pad(node, y, none, more, 0);
	for (uint32_t i = 0; y && i < w->rank; i++) {
		int64_t size = x_shape(y).dim[2 + i] - w->begin[i] - w->end[i];

		y = x_slice_axis(node, y, 2 + i, w->begin[i], size, 1);
	}
	if (!bias || !y)
		return y;
	shape = (struct onnx_shape){ 1 + w->rank, { x_shape(bias).dim[0], 1, 1, 1 } };
	return x_add(node, y, x_reshape(node, bias, &shape));
}

/*
 * Whether WebNN's operator takes the padding of a transposed convolution, and @extra, the elements
 * that it adds at the end. With padding wider than a window, no tap would reach the edge.
 */
static bool is_plain(const struct onnx_window *w, const int64_t *extra)
{
	for (uint32_t i = 0; i < w->rank; i++) {
		int64_t reach = (w->kernel[i] - 1) * w->dilation[i];

		if (extra[i] >= w->stride[i] || w->begin[i] > reach || w->end[i] > reach)
			return false;
	}
	return w->rank <= 2;
}

/*
 * Calls transposed2d() for a window of two dimensions, or for one that gets a second dimension of
 * 1. Returns the result; NULL: refused.
 */
static WNNOperand transposed(struct onnx_node *node, WNNOperand x, WNNOperand filter,
			     WNNOperand bias, uint32_t groups, const struct onnx_window *w,
			     const int64_t *extra)
{
	struct onnx_window wide = *w;
	const int64_t of_row[2] = { 0, extra ? extra[0] : 0 };

	if (w->rank == 2)
		return transposed2d(node, x, filter, bias, groups, w, extra);
	widen(&wide);
	return squeeze_row(node,
			   transposed2d(node, x_unsqueeze(node, x, 2), x_unsqueeze(node, filter, 2),
					bias, groups, &wide, extra ? of_row : NULL));
}

int onnx_op_conv_transpose(struct onnx_node *node)
{
	int64_t groups = onnx_attr_int(node, "group", 1), extra[ONNX_SPATIAL];
	WNNOperand x = onnx_in(node, 0);
	WNNOperand filter = x ? onnx_in(node, 1) : NULL, bias = NULL, y;
	struct onnx_shape shape, kernel, large;
	struct onnx_window w;

	if (!filter || (onnx_has(node, 2) && !(bias = onnx_in(node, 2))))
		return -1;
	shape = x_shape(x);
	kernel = x_shape(filter);
	large = shape;
	if (kernel.rank != shape.rank || groups < 1 || groups > UINT32_MAX || shape.rank < 3)
		return onnx_refuse(node, "group",
				   "input, filter and group do not fit together: the inputs are %s",
				   onnx_inputs_text(node));
	/*
	 * onnx_window() refuses a window that does not fit into the input, which a transposed
	 * convolution allows: it gets the shape of a larger input.
	 */
	for (uint32_t i = 2; i < shape.rank; i++)
		large.dim[i] = (int64_t)1 << 40;
	if (onnx_window(node, &large, kernel.dim + 2, &w) ||
	    onnx_window_list(node, "output_padding", w.rank, 0, extra))
		return -1;
	memcpy(w.in, shape.dim + 2, sizeof(w.in));
	if (transposed_pads(node, &w, extra))
		return -1;
	if (is_plain(&w, extra))
		return onnx_out(node, 0,
				transposed(node, x, filter, bias, (uint32_t)groups, &w, extra));
	y = w.rank == 3 ? transposed3d(node, x, filter, (uint32_t)groups, &w) :
			  transposed(node, x, filter, NULL, (uint32_t)groups, &w, NULL);
	return onnx_out(node, 0, trim(node, y, bias, &w, extra));
}
