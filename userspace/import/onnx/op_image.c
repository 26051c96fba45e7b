// SPDX-License-Identifier: MIT
/* AffineGrid, CenterCropPad, Col2Im and MaxUnpool, composed of operators that pad, move and add. */
#include <string.h>

#include "ops.h"
#include "window.h"

/*
 * Returns homogeneous positions [points, dimensions + 1] in [-1, 1], x first; they are multiplied
 * with theta.
 */
static WNNOperand base_grid(struct onnx_node *node, const struct onnx_shape *image, int64_t points,
			    WNNOperandDataType type)
{
	bool corners = onnx_attr_int(node, "align_corners", 0);
	uint32_t rank = image->rank;
	struct onnx_shape shape = { 2, { points, rank + 1 } };
	int own = (int)onnx_type_of(type);
	uint8_t *data = onnx_node_alloc(node, onnx_data_size(own, points * (rank + 1)));

	for (int64_t i = 0; data && i < points; i++) {
		int64_t rest = i;

		for (uint32_t d = rank; d--; rest /= image->dim[d]) {
			double at = (double)(rest % image->dim[d]), size = (double)image->dim[d];
			double number = corners ? (size > 1 ? 2 * at / (size - 1) - 1 : -1) :
						  (2 * at + 1) / size - 1;

			onnx_put_float(own, data, (size_t)(i * (rank + 1) + rank - 1 - d), number);
		}
		onnx_put_float(own, data, (size_t)(i * (rank + 1) + rank), 1);
	}
	return data ? x_constant(node, type, &shape, data) : NULL;
}

int onnx_op_affine_grid(struct onnx_node *node)
{
	WNNOperand theta = onnx_in(node, 0), grid;
	struct onnx_shape image = { 0 }, shape;
	const int64_t *size;
	int64_t points = 1;
	size_t count;

	if (!theta || onnx_in_ints(node, 1, "size", &size, &count))
		return -1;
	shape = x_shape(theta);
	if ((count != 4 && count != 5) || shape.rank != 3 || shape.dim[0] != size[0] ||
	    shape.dim[1] != (int64_t)count - 2 || shape.dim[2] != (int64_t)count - 1)
		return onnx_refuse(node, "size",
				   "theta and size do not fit together: the inputs are %s",
				   onnx_inputs_text(node));
	for (size_t i = 2; i < count; i++) {
		if (size[i] < 1 || size[i] > ONNX_INDICES / points)
			return onnx_refuse(
				node, "size",
				"size has an item %lld: each must be at least 1, and the "
				"product of all but the first two at most %lld",
				(long long)size[i], (long long)ONNX_INDICES);
		points *= size[i];
		image.dim[image.rank++] = size[i];
	}
	grid = base_grid(node, &image, points, wnnOperandGetDataType(theta));
	grid = x_matmul(node, grid, x_move_axis(node, theta, 2, 1));
	shape = (struct onnx_shape){ image.rank + 2, { size[0] } };
	memcpy(shape.dim + 1, image.dim, image.rank * sizeof(*image.dim));
	shape.dim[image.rank + 1] = image.rank;
	return onnx_out(node, 0, x_reshape(node, grid, &shape));
}

int onnx_op_center_crop_pad(struct onnx_node *node)
{
	int64_t start[ONNX_MAX_RANK] = { 0 }, begin[ONNX_MAX_RANK] = { 0 };
	int64_t end[ONNX_MAX_RANK] = { 0 };
	const int64_t *wanted, *axes;
	WNNOperand x = onnx_in(node, 0);
	struct onnx_shape shape;
	size_t count, n_axes;

	axes = onnx_attr_ints(node, "axes", &n_axes);
	if (!x || onnx_in_ints(node, 1, "shape", &wanted, &count))
		return -1;
	shape = x_shape(x);
	if (count != (axes ? n_axes : shape.rank))
		return onnx_refuse(node, "shape", "shape has %zu items instead of %zu", count,
				   axes ? n_axes : (size_t)shape.rank);
	for (size_t i = 0; i < count; i++) {
		uint32_t axis;
		int64_t more;

		if (onnx_axis(node, "axes", axes ? axes[i] : (int64_t)i, shape.rank, &axis))
			return -1;
		if (wanted[i] < 1 || wanted[i] > INT32_MAX)
			return onnx_refuse(node, "shape",
					   "shape has an item %lld: 1 to %d are allowed",
					   (long long)wanted[i], INT32_MAX);
		more = wanted[i] - shape.dim[axis];
		if (more > 0) {
			begin[axis] = more / 2;
			end[axis] = more - more / 2;
		} else {
			start[axis] = -more / 2;
			shape.dim[axis] = wanted[i];
		}
	}
	x = x_slice(node, x, start, shape.dim, NULL);
	return onnx_out_as(node, 0, x_pad(node, x, begin, end, 0), onnx_in_type(node, 0));
}

/*
 * Inserts zeros between the elements of a dimension, so that neighbours are @stride apart; none
 * after the last. Returns x itself when @stride is 1.
 */
static WNNOperand spread(struct onnx_node *node, WNNOperand x, uint32_t axis, int64_t stride)
{
	int64_t begin[ONNX_MAX_RANK] = { 0 }, end[ONNX_MAX_RANK] = { 0 };
	struct onnx_shape shape;

	if (!x || stride == 1)
		return x;
	shape = x_shape(x);
	end[axis + 1] = stride - 1;
	x = x_pad(node, x_unsqueeze(node, x, axis + 1), begin, end, 0);
	shape.dim[axis] *= stride;
	x = x_reshape(node, x, &shape);
	return x_slice_axis(node, x, axis, 0, shape.dim[axis] - stride + 1, 1);
}

static int read_blocks(struct onnx_node *node, const struct onnx_shape *shape,
		       struct onnx_window *w)
{
	const int64_t *image, *block;
	size_t images, blocks;
	int64_t pads[2 * ONNX_SPATIAL], columns = 1;

	if (onnx_in_ints(node, 1, "image_shape", &image, &images) ||
	    onnx_in_ints(node, 2, "block_shape", &block, &blocks))
		return -1;
	if (!images || images > ONNX_SPATIAL || images != blocks || shape->rank != 3)
		return onnx_refuse(node, "image_shape",
				   "image_shape and block_shape must have 1 to 3 items, both the "
				   "same number, and the input 3 dimensions: they have %zu, %zu "
				   "and %u",
				   images, blocks, shape->rank);
	w->rank = (uint32_t)images;
	if (onnx_window_list(node, "strides", w->rank, 1, w->stride) ||
	    onnx_window_list(node, "dilations", w->rank, 1, w->dilation) ||
	    onnx_window_list(node, "pads", 2 * w->rank, 0, pads))
		return -1;
	for (uint32_t i = 0; i < w->rank; i++) {
		w->in[i] = image[i];
		w->kernel[i] = block[i];
		w->begin[i] = pads[i];
		w->end[i] = pads[w->rank + i];
		if (image[i] < 1 || block[i] < 1 || image[i] > 65536 || block[i] > 1024 ||
		    w->stride[i] < 1 || w->dilation[i] < 1 || w->begin[i] > 65536 ||
		    w->end[i] > 65536)
			return onnx_refuse(node, "block_shape",
					   "dimension %u has an image of %lld and a block of %lld: "
					   "1 to 65536 and 1 to 1024 are allowed, strides and "
					   "dilations from 1, and pads up to 65536",
					   i, (long long)image[i], (long long)block[i]);
		w->out[i] = (image[i] + w->begin[i] + w->end[i] -
			     ((block[i] - 1) * w->dilation[i] + 1)) /
				    w->stride[i] +
			    1;
		columns *= w->out[i] > 0 ? w->out[i] : 0;
	}
	if (columns != shape->dim[2])
		return onnx_refuse(node, "block_shape",
				   "the input has %lld blocks, the image has %lld",
				   (long long)shape->dim[2], (long long)columns);
	return 0;
}

/*
 * Returns the elements at index @place of every block, moved to their positions in the padded
 * image.
 */
static WNNOperand put_block(struct onnx_node *node, WNNOperand x, const struct onnx_window *w,
			    int64_t place)
{
	int64_t begin[ONNX_MAX_RANK] = { 0 }, end[ONNX_MAX_RANK] = { 0 };

	for (uint32_t i = w->rank; i--; place /= w->kernel[i]) {
		begin[2 + i] = place % w->kernel[i] * w->dilation[i];
		end[2 + i] = w->in[i] + w->begin[i] + w->end[i] - begin[2 + i] -
			     ((w->out[i] - 1) * w->stride[i] + 1);
		x = spread(node, x, 2 + i, w->stride[i]);
	}
	return x_pad(node, x, begin, end, 0);
}

int onnx_op_col2im(struct onnx_node *node)
{
	WNNOperand x = onnx_in(node, 0), sum = NULL;
	struct onnx_window w = { 0 };
	struct onnx_shape shape, wide;
	int64_t places = 1;

	if (!x)
		return -1;
	shape = x_shape(x);
	if (read_blocks(node, &shape, &w))
		return -1;
	for (uint32_t i = 0; i < w.rank; i++)
		places *= w.kernel[i];
	if (shape.dim[1] % places)
		return onnx_refuse(node, "block_shape",
				   "the product of block_shape is %lld: it does not divide "
				   "dimension 1 of the input, %lld",
				   (long long)places, (long long)shape.dim[1]);
	if (onnx_unroll(node, (uint64_t)places * (3 * w.rank + 4)))
		return -1;
	wide = (struct onnx_shape){ 3 + w.rank, { shape.dim[0], shape.dim[1] / places, places } };
	memcpy(wide.dim + 3, w.out, w.rank * sizeof(*w.out));
	x = x_reshape(node, x, &wide);
	for (int64_t i = 0; x && i < places; i++) {
		WNNOperand part = put_block(node, x_at(node, x, 2, i), &w, i);

		sum = sum ? x_add(node, sum, part) : part;
	}
	for (uint32_t i = 0; i < w.rank; i++)
		sum = x_slice_axis(node, sum, 2 + i, w.begin[i], w.in[i], 1);
	return onnx_out(node, 0, sum);
}

/* Computes the shape before pooling from the window's attributes. Returns 0 or -1. */
static int unpooled_shape(struct onnx_node *node, struct onnx_shape *shape)
{
	int64_t kernel[ONNX_SPATIAL], stride[ONNX_SPATIAL], pads[2 * ONNX_SPATIAL];
	uint32_t rank = shape->rank - 2;

	if (shape->rank < 3 || rank > ONNX_SPATIAL)
		return onnx_refuse(node, "", "its input has %u dimensions instead of 3 to %d",
				   shape->rank, ONNX_SPATIAL + 2);
	if (onnx_window_list(node, "kernel_shape", rank, 1, kernel) ||
	    onnx_window_list(node, "strides", rank, 1, stride) ||
	    onnx_window_list(node, "pads", 2 * rank, 0, pads))
		return -1;
	for (uint32_t i = 0; i < rank; i++) {
		int64_t *size = &shape->dim[2 + i];

		if (kernel[i] < 1 || stride[i] < 1 || kernel[i] > 65536 || stride[i] > 65536)
			return onnx_refuse(
				node, "kernel_shape",
				"item %u of kernel_shape is %lld, and that of strides %lld: "
				"1 to 65536 are allowed",
				i, (long long)kernel[i], (long long)stride[i]);
		*size = (*size - 1) * stride[i] - pads[i] - pads[rank + i] + kernel[i];
		if (*size < 1)
			return onnx_refuse(node, "pads", "pads leaves nothing of dimension %u",
					   2 + i);
	}
	return 0;
}

int onnx_op_max_unpool(struct onnx_node *node)
{
	WNNScatterOptions options = WNN_SCATTER_OPTIONS_INIT;
	WNNOperand x = onnx_in(node, 0), indices = x ? onnx_in(node, 1) : NULL;
	int64_t begin[ONNX_MAX_RANK] = { 0 }, end[ONNX_MAX_RANK] = { 0 };
	struct onnx_shape shape, flat = { 1, { 0 } }, all = { 1, { 0 } };
	const int64_t *wanted;
	size_t count;

	if (!indices || onnx_in_ints(node, 2, "output_shape", &wanted, &count))
		return -1;
	shape = x_shape(x);
	flat.dim[0] = onnx_shape_elements(&shape);
	if (unpooled_shape(node, &shape))
		return -1;
	all.dim[0] = onnx_shape_elements(&shape);
	if (onnx_shape_is_too_big(&shape))
		return onnx_too_big(node, "kernel_shape", &shape);
	options.label = node->options.label;
	x = wnnGraphBuilderScatterElements(node->b, x_expand(node, x_like(node, x, 0), &all),
					   x_reshape(node, indices, &flat),
					   x_reshape(node, x, &flat), &options);
	x = x_reshape(node, x, &shape);
	if (!count)
		return onnx_out(node, 0, x);
	for (uint32_t i = 0; i < shape.rank; i++) {
		if (count != shape.rank || wanted[i] < shape.dim[i] || wanted[i] > INT32_MAX)
			return onnx_refuse(node, "output_shape",
					   "output_shape must have %u items, each at least as in "
					   "%s, which the windows reach, and at most %d",
					   shape.rank, onnx_shape_text(node->import->arena, &shape),
					   INT32_MAX);
		end[i] = wanted[i] - shape.dim[i];
	}
	return onnx_out(node, 0, x_pad(node, x, begin, end, 0));
}
