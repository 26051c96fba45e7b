// SPDX-License-Identifier: MIT
/* Translates convolutions to operators of a graph, which have two spatial dimensions. */
#include "lower.h"
#include "numbers.h"

#define SPATIAL 2
#define RANK	(2 + SPATIAL)

/*
 * Returns an operand in WebNN's layout; if it has fewer than two spatial dimensions, dimensions of
 * 1 come in front of these.
 */
static WNNOperand ordered(const struct shlo_lower *l, size_t operand, int64_t first, int64_t second,
			  const struct shlo_list *spatial, int64_t *dims)
{
	const struct shlo_type *type = shlo_operand_type(l, operand);
	int64_t order[SHLO_MAX_RANK] = { first, second };
	int missing = SPATIAL - spatial->count;

	dims[0] = type->dims[first];
	dims[1] = type->dims[second];
	for (int i = 0; i < missing; i++)
		dims[2 + i] = 1;
	for (int i = 0; i < spatial->count; i++) {
		order[2 + i] = spatial->at[i];
		dims[2 + missing + i] = type->dims[spatial->at[i]];
	}
	return shlo_lower_reshape(
		l, shlo_lower_transpose(l, shlo_lowered(l, operand), order, type->rank), dims,
		RANK);
}

/*
 * Returns x with @groups of the batch moved into the feature dimension, so that each becomes a
 * group of the convolution. Updates @dims.
 */
static WNNOperand batches_as_features(const struct shlo_lower *l, WNNOperand x, int64_t groups,
				      int64_t *dims)
{
	static const int64_t order[] = { 1, 0, 2, 3, 4 };
	int64_t split[] = { groups, dims[0] / groups, dims[1], dims[2], dims[3] };

	dims[0] /= groups;
	dims[1] *= groups;
	x = shlo_lower_transpose(l, shlo_lower_reshape(l, x, split, RANK + 1), order, RANK + 1);
	return shlo_lower_reshape(l, x, dims, RANK);
}

/*
 * Inserts dilation - 1 zeros between the elements along @axis: pads a new dimension after each
 * element, and cuts off those after the last. Updates @dims and returns the result; NULL: refused.
 */
static WNNOperand dilated(const struct shlo_lower *l, WNNOperand x, int axis, int64_t dilation,
			  int64_t *dims)
{
	static const int64_t none[RANK + 1];
	int64_t split[RANK + 1], padding_after[RANK + 1] = { 0 };
	WNNPadOptions padding = WNN_PAD_OPTIONS_INIT;
	WNNSliceOptions slicing = WNN_SLICE_OPTIONS_INIT;
	struct shlo_sizes before, after, starts, sizes;

	if (dilation == 1 || dims[axis] == 1)
		return x;
	for (int i = 0; i <= RANK; i++)
		split[i] = i == axis + 1 ? 1 : dims[i - (i > axis)];
	padding_after[axis + 1] = dilation - 1;
	shlo_sizes_init(&before, none, RANK + 1);
	shlo_sizes_init(&after, padding_after, RANK + 1);
	padding.label = l->options.label;
	x = shlo_lower_reshape(l, x, split, RANK + 1);
	x = x ? wnnGraphBuilderPad(l->b, x, before.array, after.array, &padding) : NULL;
	dims[axis] *= dilation;
	x = shlo_lower_reshape(l, x, dims, RANK);
	dims[axis] -= dilation - 1;
	shlo_sizes_init(&starts, none, RANK);
	shlo_sizes_init(&sizes, dims, RANK);
	slicing.label = l->options.label;
	return x ? wnnGraphBuilderSlice(l->b, x, starts.array, sizes.array, &slicing) : NULL;
}

/*
 * Returns @x reversed along the spatial dimensions whose windows are reversed or, with @if_so
 * false, along the others.
 */
static WNNOperand reversed(const struct shlo_lower *l, WNNOperand x, const struct shlo_window *w,
			   bool if_so)
{
	WNNReverseOptions options = WNN_REVERSE_OPTIONS_INIT;
	int64_t axes[SPATIAL];
	struct shlo_sizes sizes;
	int count = 0;

	for (int i = 0; i < w->rank; i++)
		if (w->reversed[i] == if_so)
			axes[count++] = RANK - w->rank + i;
	if (!count)
		return x;
	shlo_sizes_init(&sizes, axes, count);
	options.axes = sizes.array;
	options.label = l->options.label;
	return x ? wnnGraphBuilderReverse(l->b, x, &options) : NULL;
}

static WNNOperand convolve(const struct shlo_lower *l, WNNOperand x, WNNOperand kernel,
			   const struct shlo_conv_numbers *n)
{
	WNNConv2dOptions options = WNN_CONV2D_OPTIONS_INIT;
	int64_t strides[] = { 1, 1 }, dilations[] = { 1, 1 }, padding[] = { 0, 0, 0, 0 };
	struct shlo_sizes sizes[3];

	for (int i = 0; i < n->spatial; i++) {
		int at = SPATIAL - n->spatial + i;

		strides[at] = n->window.stride[i];
		dilations[at] = n->window.window_dilation[i];
		padding[2 * at] = n->window.low[i] < 0 ? 0 : n->window.low[i];
		padding[2 * at + 1] = n->window.high[i] < 0 ? 0 : n->window.high[i];
	}
	shlo_sizes_init(&sizes[0], strides, SPATIAL);
	shlo_sizes_init(&sizes[1], dilations, SPATIAL);
	shlo_sizes_init(&sizes[2], padding, 2 * SPATIAL);
	options.strides = sizes[0].array;
	options.dilations = sizes[1].array;
	options.padding = sizes[2].array;
	options.groups = (uint32_t)(n->feature_groups * n->batch_groups);
	options.label = l->options.label;
	return x && kernel ? wnnGraphBuilderConv2d(l->b, x, kernel, &options) : NULL;
}

/*
 * Whether the convolution is a transposed one: windows move by one element over an operand with
 * zeros between its elements, such as the gradient of a convolution with strides. As a transposed
 * one it multiplies no such zero. Sets @padding and @added, which are its padding and the sizes
 * that it adds to the output.
 */
static bool is_transposed(const struct shlo_conv_numbers *n, const int64_t *kernel_dims,
			  int64_t *padding, int64_t *added)
{
	bool any = false;

	for (int i = 0; i < n->spatial; i++) {
		const struct shlo_window *w = &n->window;
		int at = SPATIAL - n->spatial + i;
		int64_t reach = (kernel_dims[2 + at] - 1) * w->window_dilation[i];
		int64_t high = reach - w->high[i];

		padding[2 * at] = reach - w->low[i];
		padding[2 * at + 1] = high > 0 ? high : 0;
		added[at] = high < 0 ? -high : 0;
		if (w->stride[i] != 1 || padding[2 * at] < 0 || added[at] >= w->base_dilation[i])
			return false;
		any |= w->base_dilation[i] > 1;
	}
	return any && n->feature_groups == 1 && n->batch_groups == 1;
}

/* Returns the convolution as a transposed one; @kernel has output channels first. */
static WNNOperand convolve_transposed(const struct shlo_lower *l, WNNOperand x, WNNOperand kernel,
				      const struct shlo_conv_numbers *n, const int64_t *padding,
				      const int64_t *added)
{
	static const int64_t order[] = { 1, 0, 2, 3 };
	WNNConvTranspose2dOptions options = WNN_CONV_TRANSPOSE2D_OPTIONS_INIT;
	int64_t strides[] = { 1, 1 }, dilations[] = { 1, 1 };
	struct shlo_sizes sizes[4];

	for (int i = 0; i < n->spatial; i++) {
		strides[SPATIAL - n->spatial + i] = n->window.base_dilation[i];
		dilations[SPATIAL - n->spatial + i] = n->window.window_dilation[i];
	}
	shlo_sizes_init(&sizes[0], strides, SPATIAL);
	shlo_sizes_init(&sizes[1], dilations, SPATIAL);
	shlo_sizes_init(&sizes[2], padding, 2 * SPATIAL);
	shlo_sizes_init(&sizes[3], added, SPATIAL);
	options.strides = sizes[0].array;
	options.dilations = sizes[1].array;
	options.padding = sizes[2].array;
	options.outputPadding = sizes[3].array;
	options.label = l->options.label;
	kernel = shlo_lower_transpose(l, kernel, order, RANK);
	return x && kernel ? wnnGraphBuilderConvTranspose2d(l->b, x, kernel, &options) : NULL;
}

/*
 * Returns y, which has the dimensions batch, features and two spatial ones, in the shape and order
 * of the operation's result.
 */
static WNNOperand result(const struct shlo_lower *l, WNNOperand y,
			 const struct shlo_conv_numbers *n)
{
	const struct shlo_type *to = shlo_result_type(l);
	int64_t order[SHLO_MAX_RANK], dims[SHLO_MAX_RANK];

	order[n->output_batch] = 0;
	order[n->output_feature] = 1;
	for (int i = 0; i < n->spatial; i++)
		order[n->output_spatial.at[i]] = 2 + i;
	for (int i = 0; i < to->rank; i++)
		dims[order[i]] = to->dims[i];
	return shlo_lower_transpose(l, shlo_lower_reshape(l, y, dims, to->rank), order, to->rank);
}

/* Crops @x where the padding is negative. is_possible() has checked that elements remain. */
static WNNOperand cropped(const struct shlo_lower *l, WNNOperand x, const struct shlo_window *w,
			  int64_t *dims)
{
	struct shlo_padding padding = { 0 };

	for (int i = 0; i < w->rank; i++) {
		padding.low[RANK - w->rank + i] = w->low[i] < 0 ? w->low[i] : 0;
		padding.high[RANK - w->rank + i] = w->high[i] < 0 ? w->high[i] : 0;
	}
	return shlo_lower_padded(l, x, dims, RANK, &padding, NULL);
}

static bool is_possible(const struct shlo_lower *l, const struct shlo_conv_numbers *n)
{
	if (n->spatial > SPATIAL)
		return false;
	for (int i = 0; i < n->spatial; i++) {
		int64_t low = n->window.low[i], high = n->window.high[i];
		int64_t size = shlo_operand_type(l, 0)->dims[n->input_spatial.at[i]];

		size += (size - 1) * (n->window.base_dilation[i] - 1);
		if ((low < 0 ? -low : 0) + (high < 0 ? -high : 0) >= size)
			return false;
	}
	return true;
}

bool shlo_lower_convolution(struct shlo_lower *l, WNNOperand *out)
{
	const struct shlo_type *types[] = { shlo_operand_type(l, 0), shlo_operand_type(l, 1) };
	enum shlo_element element = types[0]->element;
	struct shlo_guard guard;
	struct shlo_check check = { .guard = &guard, .op = l->op, .in = types, .in_count = 2 };
	struct shlo_conv_numbers n;
	int64_t dims[RANK], kernel_dims[RANK], padding[2 * SPATIAL] = { 0 }, added[SPATIAL] = { 0 };
	WNNOperand x, kernel, y;

	if ((element != SHLO_F32 && element != SHLO_F16) || types[1]->element != element ||
	    shlo_result_type(l)->element != element)
		return false;
	/* shlo_verify() has checked the operation, so this cannot fail. */
	shlo_conv_numbers(&check, NULL, &n);
	if (!is_possible(l, &n))
		return false;
	if (!l->b)
		return true;
	x = ordered(l, 0, n.input_batch, n.input_feature, &n.input_spatial, dims);
	kernel = ordered(l, 1, n.kernel_output, n.kernel_input, &n.kernel_spatial, kernel_dims);
	if (is_transposed(&n, kernel_dims, padding, added)) {
		kernel = reversed(l, kernel, &n.window, false);
		y = convolve_transposed(l, x, kernel, &n, padding, added);
	} else {
		if (n.batch_groups > 1)
			x = batches_as_features(l, x, n.batch_groups, dims);
		for (int i = 0; i < n.spatial; i++)
			x = dilated(l, x, RANK - n.spatial + i, n.window.base_dilation[i], dims);
		x = cropped(l, x, &n.window, dims);
		y = convolve(l, x, reversed(l, kernel, &n.window, true), &n);
	}
	*out = result(l, y, &n);
	return true;
}
