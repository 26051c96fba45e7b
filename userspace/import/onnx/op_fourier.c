// SPDX-License-Identifier: MIT
/* DFT and STFT as products with matrices of cosines and sines. */
#include <math.h>

#include "ops.h"

struct transform {
	int64_t length, bins; /* elements of the input and of the output */
	int64_t period;
	bool inverse;
	bool real;		 /* the inverse of half a spectrum, which gives a real signal */
	WNNOperand cosine, sine; /* [length, bins] */
};

static int make_matrices(struct onnx_node *node, struct transform *t, WNNOperandDataType type)
{
	struct onnx_shape shape = { 2, { t->length, t->bins } };
	size_t elements = (size_t)(t->length * t->bins);
	int own = (int)onnx_type_of(type);
	double factor = t->inverse ? 1 / (double)t->period : 1;
	void *cosine, *sine;

	if (t->length > ONNX_INDICES / t->bins)
		return onnx_refuse(
			node, "dft_length",
			"a transform of %lld elements into %lld is too long: the product is at most %lld",
			(long long)t->length, (long long)t->bins, (long long)ONNX_INDICES);
	if (onnx_work(node, 2 * elements))
		return -1;
	cosine = onnx_node_alloc(node, onnx_data_size(own, (int64_t)elements));
	sine = onnx_node_alloc(node, onnx_data_size(own, (int64_t)elements));
	if (!cosine || !sine)
		return -1;
	for (int64_t i = 0; i < t->length; i++)
		for (int64_t k = 0; k < t->bins; k++) {
			double angle = 2 * M_PI * (double)(i * k % t->period) / (double)t->period;
			double part = factor * (t->real && i && 2 * i != t->period ? 2 : 1);

			onnx_put_float(own, cosine, (size_t)(i * t->bins + k), part * cos(angle));
			onnx_put_float(own, sine, (size_t)(i * t->bins + k),
				       (t->inverse ? -part : part) * sin(angle));
		}
	t->cosine = x_constant(node, type, &shape, cosine);
	t->sine = x_constant(node, type, &shape, sine);
	return t->cosine && t->sine ? 0 : onnx_out(node, 0, NULL);
}

/*
 * Returns the transform [..., bins, 2]; with t->real only its real part, [..., bins, 1]. The parts
 * of the input, @real and @imaginary, are [..., length]; without @imaginary (NULL) it is 0.
 */
static WNNOperand transform(struct onnx_node *node, const struct transform *t, WNNOperand real,
			    WNNOperand imaginary)
{
	WNNOperand parts[2], even, odd;
	uint32_t rank;

	if (!real)
		return NULL;
	rank = x_shape(real).rank;
	even = onnx_matmul(node, real, t->cosine);
	odd = x_neg(node, onnx_matmul(node, real, t->sine));
	if (imaginary) {
		even = x_add(node, even, onnx_matmul(node, imaginary, t->sine));
		odd = x_add(node, odd, onnx_matmul(node, imaginary, t->cosine));
	}
	parts[0] = x_unsqueeze(node, even, rank);
	if (t->real)
		return parts[0];
	parts[1] = x_unsqueeze(node, odd, rank);
	return parts[0] && parts[1] ? x_concat(node, 2, parts, rank) : NULL;
}

/*
 * Returns the real or imaginary part [..., length] of x [..., size, 1 or 2], cut or filled with
 * zeros to @length. NULL: x has no imaginary part.
 */
static WNNOperand part_of(struct onnx_node *node, WNNOperand x, int64_t part, int64_t length)
{
	int64_t begin[ONNX_MAX_RANK] = { 0 }, end[ONNX_MAX_RANK] = { 0 };
	struct onnx_shape shape = x_shape(x);
	uint32_t last = shape.rank - 2;

	if (part >= shape.dim[shape.rank - 1])
		return NULL;
	x = x_at(node, x, shape.rank - 1, part);
	if (length < shape.dim[last])
		return x_slice_axis(node, x, last, 0, length, 1);
	end[last] = length - shape.dim[last];
	return x_pad(node, x, begin, end, 0);
}

static int read_dft(struct onnx_node *node, const struct onnx_shape *shape, struct transform *t,
		    uint32_t *axis)
{
	bool onesided = onnx_attr_int(node, "onesided", 0);
	int64_t given = node->version < 20 ? onnx_attr_int(node, "axis", 1) : -2;
	const int64_t *number;
	size_t count;

	if (onnx_in_ints(node, 1, "dft_length", &number, &count))
		return -1;
	if (count)
		t->length = number[0];
	if (onnx_in_ints(node, 2, "axis", &number, &count))
		return -1;
	if (count)
		given = number[0];
	if (shape->rank < 2 || shape->dim[shape->rank - 1] > 2)
		return onnx_refuse(node, "",
				   "its input must have at least 2 dimensions, the last of 1 (real "
				   "numbers) or 2 (complex numbers)");
	if (onnx_axis(node, "axis", given, shape->rank, axis))
		return -1;
	if (*axis == shape->rank - 1)
		return onnx_refuse(
			node, "axis",
			"axis is the last dimension, which holds the parts of complex numbers");
	if (onnx_has(node, 1) ? t->length < 1 || t->length > ONNX_INDICES : 0)
		return onnx_refuse(node, "dft_length", "dft_length is %lld: 1 to %lld are allowed",
				   (long long)t->length, (long long)ONNX_INDICES);
	t->inverse = onnx_attr_int(node, "inverse", 0);
	t->real = onesided && t->inverse;
	if (!onnx_has(node, 1))
		t->length = t->real ? 2 * (shape->dim[*axis] - 1) : shape->dim[*axis];
	if (t->length < 1)
		return onnx_refuse(
			node, "dft_length",
			"the transform has length %lld, at least 1 is needed: give dft_length",
			(long long)t->length);
	t->period = t->length;
	t->bins = onesided && !t->real ? t->length / 2 + 1 : t->length;
	if (t->real)
		t->length = t->length / 2 + 1;
	return 0;
}

int onnx_op_dft(struct onnx_node *node)
{
	struct transform t = { 0 };
	struct onnx_shape shape;
	WNNOperand x = onnx_in(node, 0);
	uint32_t axis;

	if (!x)
		return -1;
	shape = x_shape(x);
	if (read_dft(node, &shape, &t, &axis) || make_matrices(node, &t, wnnOperandGetDataType(x)))
		return -1;
	x = x_move_axis(node, x, axis, shape.rank - 2);
	if (!x)
		return onnx_out(node, 0, NULL);
	x = transform(node, &t, part_of(node, x, 0, t.length), part_of(node, x, 1, t.length));
	return onnx_out(node, 0, x_move_axis(node, x, shape.rank - 2, axis));
}

/*
 * Returns frames [batch, frames, length] of the signal's real or imaginary part, times the window
 * if there is one. NULL: refused, or the signal has no imaginary part.
 */
static WNNOperand frames_of(struct onnx_node *node, WNNOperand x, int64_t part, WNNOperand indices,
			    WNNOperand window)
{
	struct onnx_shape shape = x_shape(x);

	if (shape.rank == 3 && part >= shape.dim[2])
		return NULL;
	if (shape.rank == 3)
		x = x_at(node, x, 2, part);
	x = x_gather(node, x, indices, 1);
	return window ? x_mul(node, x, window) : x;
}

int onnx_op_stft(struct onnx_node *node)
{
	WNNOperand x = onnx_in(node, 0), window = NULL, indices;
	struct onnx_shape shape, grid = { 2, { 0 } };
	const int64_t *step, *length;
	size_t steps, lengths;
	struct transform t = { 0 };
	int64_t *numbers;

	if (!x || onnx_in_ints(node, 1, "frame_step", &step, &steps) ||
	    onnx_in_ints(node, 3, "frame_length", &length, &lengths))
		return -1;
	shape = x_shape(x);
	if (onnx_has(node, 2) && !(window = onnx_in(node, 2)))
		return -1;
	t.length = lengths			  ? length[0] :
		   window && x_shape(window).rank ? x_shape(window).dim[0] :
						    0;
	if ((shape.rank != 2 && (shape.rank != 3 || shape.dim[2] > 2)) || steps != 1 ||
	    step[0] < 1 || t.length < 1 || t.length > shape.dim[1])
		return onnx_refuse(node, "frame_length",
				   "the signal has shape %s, frame_step is %lld and a frame has "
				   "length %lld: the shape must be [batch, length], or with 1 or 2 "
				   "after that, and both numbers from 1 on, a frame no longer than "
				   "the signal",
				   onnx_shape_text(node->import->arena, &shape),
				   steps ? (long long)step[0] : 0LL, (long long)t.length);
	t.period = t.length;
	t.bins = onnx_attr_int(node, "onesided", 1) ? t.length / 2 + 1 : t.length;
	grid.dim[0] = (shape.dim[1] - t.length) / step[0] + 1;
	grid.dim[1] = t.length;
	if (onnx_shape_elements(&grid) > ONNX_INDICES)
		return onnx_refuse(node, "frame_step",
				   "there are too many frames: %lld of %lld, at most %lld together",
				   (long long)grid.dim[0], (long long)grid.dim[1],
				   (long long)ONNX_INDICES);
	if (make_matrices(node, &t, wnnOperandGetDataType(x)))
		return -1;
	numbers = onnx_node_alloc(node, (size_t)onnx_shape_elements(&grid) * sizeof(*numbers));
	for (int64_t i = 0; numbers && i < onnx_shape_elements(&grid); i++)
		numbers[i] = i / t.length * step[0] + i % t.length;
	indices = numbers ? x_constant(node, WNNOperandDataType_Int64, &grid, numbers) : NULL;
	if (!indices)
		return onnx_out(node, 0, NULL);
	return onnx_out(node, 0,
			transform(node, &t, frames_of(node, x, 0, indices, window),
				  shape.rank == 3 ? frames_of(node, x, 1, indices, window) : NULL));
}
