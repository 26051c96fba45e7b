// SPDX-License-Identifier: MIT
/* Pooling in one to three dimensions, over windows or over the whole image. */
#include <math.h>
#include <string.h>

#include "ops.h"
#include "window.h"

#define MAX_PLACES 1024 /* elements of a window whose indices are computed */

/* Returns a pool over two dimensions without padding, whose output sizes follow from the window. */
static WNNOperand pool2d(struct onnx_node *node, WNNOperand x, int kind,
			 const struct onnx_window *w, uint32_t first)
{
	WNNPool2dOptions options = WNN_POOL2D_OPTIONS_INIT;
	uint32_t window[2], strides[2], dilations[2];

	for (uint32_t i = 0; i < 2; i++) {
		window[i] = (uint32_t)w->kernel[first + i];
		strides[i] = (uint32_t)w->stride[first + i];
		dilations[i] = (uint32_t)w->dilation[first + i];
	}
	options.label = node->options.label;
	options.windowDimensions = WNN_UINT32_ARRAY(window);
	options.strides = WNN_UINT32_ARRAY(strides);
	options.dilations = WNN_UINT32_ARRAY(dilations);
	if (kind == P_MAX)
		return wnnGraphBuilderMaxPool2d(node->b, x, &options);
	if (kind == P_L2)
		return wnnGraphBuilderL2Pool2d(node->b, x, &options);
	return wnnGraphBuilderAveragePool2d(node->b, x, &options);
}

/*
 * Returns a pool of WebNN with padding, for windows whose padding WebNN treats as ONNX does.
 */
static WNNOperand padded2d(struct onnx_node *node, WNNOperand x, int kind,
			   const struct onnx_window *w)
{
	WNNPool2dOptions options = WNN_POOL2D_OPTIONS_INIT;
	uint32_t window[2], strides[2], dilations[2], padding[4], sizes[2];

	for (uint32_t i = 0; i < 2; i++) {
		window[i] = (uint32_t)w->kernel[i];
		strides[i] = (uint32_t)w->stride[i];
		dilations[i] = (uint32_t)w->dilation[i];
		padding[2 * i] = (uint32_t)w->begin[i];
		padding[2 * i + 1] = (uint32_t)w->end[i];
		sizes[i] = (uint32_t)w->out[i];
	}
	options.label = node->options.label;
	options.windowDimensions = WNN_UINT32_ARRAY(window);
	options.strides = WNN_UINT32_ARRAY(strides);
	options.dilations = WNN_UINT32_ARRAY(dilations);
	options.padding = WNN_UINT32_ARRAY(padding);
	if (w->ceil)
		options.outputSizes = WNN_UINT32_ARRAY(sizes);
	return kind == P_MAX ? wnnGraphBuilderMaxPool2d(node->b, x, &options) :
			       wnnGraphBuilderAveragePool2d(node->b, x, &options);
}

/*
 * Returns x padded with @value so that the windows, also those that ceil_mode adds, cover it up to
 * its end.
 */
static WNNOperand pad_exactly(struct onnx_node *node, WNNOperand x, const struct onnx_window *w,
			      double value)
{
	int64_t begin[5] = { 0 }, end[5] = { 0 };

	for (uint32_t i = 0; i < w->rank; i++) {
		int64_t need =
			(w->out[i] - 1) * w->stride[i] + (w->kernel[i] - 1) * w->dilation[i] + 1;

		begin[2 + i] = w->begin[i];
		end[2 + i] = need - w->in[i] - w->begin[i];
		end[2 + i] = end[2 + i] < 0 ? 0 : end[2 + i];
	}
	return x_pad(node, x, begin, end, value);
}

/*
 * Pools the spatial dimensions one after the other, which is possible for sums and extremes.
 * Returns the result; NULL: refused.
 */
static WNNOperand pool_each(struct onnx_node *node, WNNOperand x, int kind,
			    const struct onnx_window *w)
{
	for (uint32_t i = 0; x && i < w->rank; i++) {
		struct onnx_window one = { .rank = 2,
					   .kernel = { w->kernel[i], 1 },
					   .stride = { w->stride[i], 1 },
					   .dilation = { w->dilation[i], 1 } };
		struct onnx_shape shape = x_shape(x), flat = { 4, { 1, 1, 1, 1 } };

		for (uint32_t k = 0; k < shape.rank; k++)
			flat.dim[k < 2 + i ? 1 : k == 2 + i ? 2 : 3] *= shape.dim[k];
		x = pool2d(node, x_reshape(node, x, &flat), kind, &one, 0);
		if (!x)
			return NULL;
		shape.dim[2 + i] = x_shape(x).dim[2];
		x = x_reshape(node, x, &shape);
	}
	return x;
}

/*
 * Returns for each window the share of its positions that count: elements of the input and, with
 * @count_pads, of its padding. The average over all positions is divided by that share.
 */
static WNNOperand weights(struct onnx_node *node, const struct onnx_window *w, bool count_pads,
			  WNNOperand like)
{
	struct onnx_shape shape = { 2 + w->rank, { 1, 1 } };
	struct onnx_window rest = *w;
	WNNOperand ones;

	for (uint32_t i = 0; i < w->rank; i++) {
		shape.dim[2 + i] = w->in[i] + (count_pads ? w->begin[i] + w->end[i] : 0);
		if (count_pads) {
			rest.in[i] = shape.dim[2 + i];
			rest.begin[i] = 0;
		}
	}
	ones = x_expand(node, x_like(node, like, 1), &shape);
	return pool_each(node, pad_exactly(node, ones, &rest, 0), P_AVERAGE, w);
}

/* Whether all windows lie inside the input, so that WebNN's average is ONNX's. */
static bool plain(const struct onnx_window *w)
{
	for (uint32_t i = 0; i < w->rank; i++)
		if (w->begin[i] || w->end[i] ||
		    (w->out[i] - 1) * w->stride[i] + (w->kernel[i] - 1) * w->dilation[i] + 1 >
			    w->in[i])
			return false;
	return true;
}

/*
 * Whether WebNN, which rounds all output sizes down or all up, gets the sizes of ONNX. They may
 * differ because ONNX leaves out windows that begin in the padding after the input.
 */
static bool rounds_alike(const struct onnx_window *w)
{
	bool down = true, up = true;

	for (uint32_t i = 0; i < w->rank; i++) {
		int64_t rest = w->in[i] + w->begin[i] + w->end[i] -
			       ((w->kernel[i] - 1) * w->dilation[i] + 1);

		down = down && w->out[i] == rest / w->stride[i] + 1;
		up = up && w->out[i] == (rest + w->stride[i] - 1) / w->stride[i] + 1;
	}
	return down || up;
}

/* Whether no window reaches beyond the padding; with ceil_mode, windows may do that. */
static bool inside_padding(const struct onnx_window *w)
{
	for (uint32_t i = 0; i < w->rank; i++)
		if ((w->out[i] - 1) * w->stride[i] + (w->kernel[i] - 1) * w->dilation[i] + 1 >
		    w->in[i] + w->begin[i] + w->end[i])
			return false;
	return true;
}

/*
 * Returns an average pool in one or two dimensions. WebNN's average does not count padding; with
 * @count_pads, a pad comes first, which the compiler fuses with the pool.
 */
static WNNOperand average2d(struct onnx_node *node, WNNOperand x, const struct onnx_window *w,
			    bool count_pads)
{
	int64_t begin[5] = { 0 }, end[5] = { 0 };
	struct onnx_shape shape = x_shape(x), flat = shape;
	struct onnx_window plane = *w;
	WNNOperand y;

	if (w->rank == 1) {
		plane.rank = 2;
		plane.in[1] = plane.out[1] = plane.kernel[1] = plane.stride[1] = 1;
		plane.dilation[1] = 1;
		plane.begin[1] = plane.end[1] = 0;
		flat.rank = 4;
		flat.dim[3] = 1;
		x = x_reshape(node, x, &flat);
	}
	for (uint32_t i = 0; i < 2; i++) {
		begin[2 + i] = plane.begin[i];
		end[2 + i] = plane.end[i];
	}
	y = !count_pads ? padded2d(node, x, P_AVERAGE, &plane) :
			  pool2d(node, x_pad(node, x, begin, end, 0), P_AVERAGE, &plane, 0);
	shape.dim[2] = w->out[0];
	return w->rank == 1 && y ? x_reshape(node, y, &shape) : y;
}

static WNNOperand average(struct onnx_node *node, WNNOperand x, const struct onnx_window *w)
{
	bool count_pads = onnx_attr_int(node, "count_include_pad", 0);
	WNNOperandDataType type;
	WNNOperand y;

	if (plain(w))
		return w->rank == 2 ? padded2d(node, x, P_AVERAGE, w) :
				      pool_each(node, x, P_AVERAGE, w);
	if (w->rank <= 2 && (count_pads ? inside_padding(w) : rounds_alike(w)))
		return average2d(node, x, w, count_pads);
	type = wnnOperandGetDataType(x);
	x = x_cast(node, x, WNNOperandDataType_Float32);
	y = pool_each(node, pad_exactly(node, x, w, 0), P_AVERAGE, w);
	y = x_div(node, y, weights(node, w, count_pads, x));
	return y ? x_cast(node, y, type) : NULL;
}

static double lowest(int type)
{
	switch (type) {
	case ONNX_INT8:
		return -128;
	case ONNX_INT32:
		return INT32_MIN;
	case ONNX_INT64:
		return (double)INT64_MIN;
	default:
		return onnx_type_is_float(type) ? -INFINITY : 0;
	}
}

static WNNOperand extreme(struct onnx_node *node, WNNOperand x, const struct onnx_window *w)
{
	if (w->rank == 2 && rounds_alike(w))
		return padded2d(node, x, P_MAX, w);
	x = pad_exactly(node, x, w, lowest(onnx_in_type(node, 0)));
	return pool_each(node, x, P_MAX, w);
}

/*
 * Returns the indices of the largest elements of the windows, in row-major or column-major order.
 * The window must be small: each of its positions is compared.
 */
static WNNOperand indices_of(struct onnx_node *node, WNNOperand x, WNNOperand y,
			     const struct onnx_window *w)
{
	struct onnx_shape shape = x_shape(x), image = shape;
	int64_t places = 1, elements, *numbers;
	bool columns = onnx_attr_int(node, "storage_order", 0);
	WNNOperand positions, padded, best = NULL;

	elements = onnx_shape_elements(&shape);
	for (uint32_t i = 0; i < w->rank; i++)
		places *= w->kernel[i];
	if (places > MAX_PLACES || elements > ONNX_INDICES) {
		onnx_refuse(node, "Indices",
			    "the indices are computed for windows of at most %d elements and "
			    "inputs of at most %lld: they have %lld and %lld",
			    MAX_PLACES, (long long)ONNX_INDICES, (long long)places,
			    (long long)elements);
		return NULL;
	}
	if (onnx_unroll(node, (uint64_t)places * 5))
		return NULL;
	numbers = onnx_node_alloc(node, (size_t)elements * sizeof(*numbers));
	if (!numbers)
		return NULL;
	for (int64_t i = 0; i < elements; i++) {
		int64_t plane = elements / shape.dim[0] / shape.dim[1], at = i % plane, rest = at;
		int64_t swapped = 0, step = 1, size = plane;

		for (uint32_t k = 0; columns && k < w->rank; k++) {
			size /= shape.dim[2 + k];
			swapped += rest / size * step;
			rest %= size;
			step *= shape.dim[2 + k];
		}
		numbers[i] = columns ? i - at + swapped : i;
	}
	positions = x_constant(node, WNNOperandDataType_Int64, &image, numbers);
	padded = pad_exactly(node, x, w, lowest(onnx_in_type(node, 0)));
	positions = pad_exactly(node, positions, w, 0);
	for (int64_t p = places - 1; p >= 0; p--) {
		WNNOperand part = padded, where = positions;
		int64_t rest = p;

		for (uint32_t i = w->rank; i--; rest /= w->kernel[i]) {
			int64_t at = rest % w->kernel[i] * w->dilation[i];
			int64_t size = (w->out[i] - 1) * w->stride[i] + 1;

			part = x_slice_axis(node, part, 2 + i, at, size, w->stride[i]);
			where = x_slice_axis(node, where, 2 + i, at, size, w->stride[i]);
		}
		best = best ? x_where(node, x_equal(node, part, y), where, best) : where;
	}
	return best;
}

/*
 * Returns the p-th root of the average of p-th powers over windows; for p = 2 and two dimensions,
 * for which WebNN has an operator, the root of their sum.
 */
static WNNOperand lp_root(struct onnx_node *node, WNNOperand x, const struct onnx_window *w,
			  int64_t p)
{
	if (p == 2 && w->rank == 2)
		return pool2d(node, x, P_L2, w, 0);
	x = pool_each(node, x_pow(node, x, x_like(node, x, (double)p)), P_AVERAGE, w);
	return x_pow(node, x, x_like(node, x, 1.0 / (double)p));
}

/*
 * Returns what lp_root() does, for elements of any size. Powers of elements between 2^-reach and
 * 2^reach stay in the range of float32. A window whose root lies outside takes that of scaled
 * elements; each further scale moves those limits by twice the reach.
 */
static WNNOperand lp_roots(struct onnx_node *node, WNNOperand x, const struct onnx_window *w,
			   int64_t p)
{
	const double largest = 128, reach = 100.0 / (double)p;
	WNNOperand y = lp_root(node, x, w, p);

	for (double from = reach; y && from < largest; from += 2 * reach) {
		double up = exp2(fmin(floor(from + reach), 126));
		WNNOperand big, small;

		if (onnx_unroll(node, 16))
			return NULL;
		big = lp_root(node, x_linear(node, x, 1 / up, 0), w, p);
		small = lp_root(node, x_linear(node, x, up, 0), w, p);
		y = x_where(node, x_greater(node, y, x_like(node, y, exp2(from))),
			    x_linear(node, big, up, 0), y);
		y = x_where(node, x_less(node, y, x_like(node, y, exp2(-from))),
			    x_linear(node, small, 1 / up, 0), y);
	}
	return y;
}

/* Returns the p-th root of the sum of p-th powers over each window. */
static WNNOperand lp_pool(struct onnx_node *node, WNNOperand x, const struct onnx_window *w)
{
	int64_t p = onnx_attr_int(node, "p", 2);
	double size = 1;

	if (p < 1) {
		onnx_refuse(node, "p", "p is %lld: it must be at least 1", (long long)p);
		return NULL;
	}
	for (uint32_t i = 0; i < w->rank; i++)
		size *= (double)w->kernel[i];
	x = pad_exactly(node, x_abs(node, x), w, 0);
	if (p == 1)
		return x_linear(node, pool_each(node, x, P_AVERAGE, w), size, 0);
	x = lp_roots(node, x, w, p);
	return p == 2 && w->rank == 2 ? x : x_linear(node, x, pow(size, 1.0 / (double)p), 0);
}

/* Returns AveragePool of x, with the attributes of the node; NULL: refused. */
WNNOperand onnx_average_pool(struct onnx_node *node, WNNOperand x)
{
	struct onnx_shape shape = x_shape(x);
	struct onnx_window w;

	return x && !onnx_window(node, &shape, NULL, &w) ? average(node, x, &w) : NULL;
}

int onnx_op_pool(struct onnx_node *node)
{
	WNNOperand x = onnx_in(node, 0), y;
	struct onnx_shape shape;
	struct onnx_window w;

	if (!x)
		return -1;
	shape = x_shape(x);
	if (onnx_window(node, &shape, NULL, &w))
		return -1;
	y = node->op->variant == P_MAX	   ? extreme(node, x, &w) :
	    node->op->variant == P_AVERAGE ? average(node, x, &w) :
					     lp_pool(node, x, &w);
	if (onnx_out(node, 0, y))
		return -1;
	return onnx_wants(node, 1) ? onnx_out(node, 1, indices_of(node, x, y, &w)) : 0;
}

/* Translates NhwcMaxPool of com.microsoft: MaxPool with the channels in the last dimension. */
int onnx_op_max_pool_nhwc(struct onnx_node *node)
{
	WNNOperand x = onnx_in(node, 0);
	struct onnx_shape shape;
	struct onnx_window w;

	if (!x)
		return -1;
	if (x_shape(x).rank < 3)
		return onnx_refuse(node, "", "its input has no spatial dimensions");
	x = x_channels_first(node, x);
	if (!x)
		return onnx_out(node, 0, NULL);
	shape = x_shape(x);
	if (onnx_window(node, &shape, NULL, &w))
		return -1;
	return onnx_out(node, 0, x_channels_last(node, extreme(node, x, &w)));
}

/*
 * Returns the p-th root of the sum of p-th powers along axes. The elements are scaled to at most 1
 * first.
 */
static WNNOperand global_lp(struct onnx_node *node, WNNOperand x, uint32_t count,
			    const uint32_t *axes, int64_t p)
{
	WNNOperand largest = x_largest(node, x, count, axes);

	x = x_div(node, x_abs(node, x), largest);
	x = x_pow(node, x, x_like(node, x, (double)p));
	x = x_reduce(node, X_SUM, x, count, axes, true);
	return x_mul(node, x_pow(node, x, x_like(node, x, 1.0 / (double)p)), largest);
}

int onnx_op_global_pool(struct onnx_node *node)
{
	enum x_reduction kind = node->op->variant == P_MAX ? X_MAX : X_MEAN;
	int64_t p = onnx_attr_int(node, "p", 2);
	WNNOperand x = onnx_in(node, 0);
	uint32_t axes[ONNX_MAX_RANK], rank;

	if (!x)
		return -1;
	rank = x_shape(x).rank;
	if (rank < 3)
		return onnx_refuse(node, "", "its input has no spatial dimensions");
	for (uint32_t i = 2; i < rank; i++)
		axes[i - 2] = i;
	if (node->op->variant != P_L2)
		return onnx_out(node, 0, x_reduce(node, kind, x, rank - 2, axes, true));
	if (p < 1)
		return onnx_refuse(node, "p", "p is %lld: it must be at least 1", (long long)p);
	return onnx_out(node, 0,
			p == 1 ? x_reduce(node, X_L1, x, rank - 2, axes, true) :
				 global_lp(node, x, rank - 2, axes, p));
}
