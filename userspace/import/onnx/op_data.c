// SPDX-License-Identifier: MIT
/* Translates Trilu, Pad, DepthToSpace, SpaceToDepth, OneHot, EyeLike and Compress. */
#include <math.h>
#include <string.h>

#include "ops.h"

int onnx_op_trilu(struct onnx_node *node)
{
	WNNTriangularOptions options = WNN_TRIANGULAR_OPTIONS_INIT;
	WNNOperand x = onnx_in(node, 0);
	const int64_t *k;
	size_t count;

	if (!x || onnx_in_ints(node, 1, "k", &k, &count))
		return -1;
	if (count && (k[0] < INT32_MIN || k[0] > INT32_MAX))
		return onnx_refuse(node, "k", "k is %lld: -2147483648 to 2147483647 are allowed",
				   (long long)k[0]);
	options.label = node->options.label;
	options.upper = onnx_attr_int(node, "upper", 1) != 0;
	options.diagonal = count ? (int32_t)k[0] : 0;
	return onnx_out_as(node, 0, wnnGraphBuilderTriangular(node->b, x, &options),
			   onnx_in_type(node, 0));
}

/* Whether pads are inputs: from version 11 on, and always in com.microsoft's Pad. */
static bool pads_are_inputs(const struct onnx_node *node)
{
	return node->version >= 11 || node->op->variant;
}

/* Reads pads into one item for each dimension and side. Returns 0 or -1. */
static int read_pads(struct onnx_node *node, uint32_t rank, int64_t *begin, int64_t *end)
{
	const int64_t *pads, *axes = NULL;
	size_t count, n_axes = 0;
	uint32_t axis;
	int64_t wide;

	if (!pads_are_inputs(node)) {
		pads = onnx_attr_ints(node, node->version < 2 ? "paddings" : "pads", &count);
	} else if (onnx_in_ints(node, 1, "pads", &pads, &count) ||
		   onnx_in_ints(node, 3, "axes", &axes, &n_axes)) {
		return -1;
	}
	if (count != 2 * (axes ? n_axes : rank))
		return onnx_refuse(node, "pads", "pads has %zu items instead of %zu", count,
				   2 * (axes ? n_axes : (size_t)rank));
	for (size_t i = 0; i < count / 2; i++) {
		if (onnx_axis(node, "axes", axes ? axes[i] : (int64_t)i, rank, &axis))
			return -1;
		begin[axis] = pads[i];
		end[axis] = pads[count / 2 + i];
		wide = begin[axis] < INT32_MIN || begin[axis] > INT32_MAX ? begin[axis] : end[axis];
		if (wide < INT32_MIN || wide > INT32_MAX)
			return onnx_refuse(node, "pads",
					   "pads has %lld for dimension %u: -2147483648 to "
					   "2147483647 are allowed",
					   (long long)wide, axis);
	}
	return 0;
}

/*
 * Returns the index of the element at position @at when the axis repeats without end in both
 * directions.
 */
static int64_t wrapped(int64_t at, int64_t size)
{
	return ((at % size) + size) % size;
}

static int64_t reflected(int64_t at, int64_t size)
{
	int64_t period = size > 1 ? 2 * (size - 1) : 1;

	at = wrapped(at, period);
	return at < size ? at : period - at;
}

/*
 * Pads one dimension by gathering elements; place() gives the index of the element for a position
 * before, in or after the axis. Returns NULL when refused, as for more than ONNX_INDICES positions.
 */
static WNNOperand pad_by_position(struct onnx_node *node, WNNOperand x, uint32_t axis,
				  int64_t begin, int64_t end,
				  int64_t (*place)(int64_t at, int64_t size))
{
	int64_t size = x_shape(x).dim[axis], length = begin + size + end, *positions;

	if (length > ONNX_INDICES) {
		onnx_refuse(node, "pads",
			    "dimension %u would have %lld elements with its padding, at most %lld "
			    "are allowed",
			    axis, (long long)length, (long long)ONNX_INDICES);
		return NULL;
	}
	positions = onnx_node_alloc(node, (size_t)length * sizeof(*positions));
	if (!positions)
		return NULL;
	for (int64_t i = 0; i < length; i++)
		positions[i] = place(i - begin, size);
	return x_gather(node, x, x_constant_ints(node, (size_t)length, positions), axis);
}

/* Returns x padded with its own elements, as if x were repeated without end; NULL: refused. */
static WNNOperand wrap(struct onnx_node *node, WNNOperand x, const int64_t *begin,
		       const int64_t *end)
{
	uint32_t rank = x_shape(x).rank;

	for (uint32_t i = 0; x && i < rank; i++) {
		int64_t size = x_shape(x).dim[i];
		WNNOperand parts[3];
		size_t count = 0;

		if (begin[i] > size || end[i] > size) {
			x = pad_by_position(node, x, i, begin[i], end[i], wrapped);
			continue;
		}
		if (begin[i])
			parts[count++] = x_slice_axis(node, x, i, size - begin[i], begin[i], 1);
		parts[count++] = x;
		if (end[i])
			parts[count++] = x_slice_axis(node, x, i, 0, end[i], 1);
		x = x_concat(node, count, parts, i);
	}
	return x;
}

static WNNOperand pad_like(struct onnx_node *node, WNNOperand x, const char *mode,
			   const int64_t *begin, const int64_t *end, uint32_t rank)
{
	WNNPadOptions options = WNN_PAD_OPTIONS_INIT;
	uint32_t room[2][ONNX_MAX_RANK];
	bool reflect = !strcmp(mode, "reflect");

	if (!strcmp(mode, "wrap"))
		return wrap(node, x, begin, end);
	for (uint32_t i = 0; i < rank; i++) {
		int64_t size = x_shape(x).dim[i];
		bool far = reflect && (begin[i] >= size || end[i] >= size);

		/*
		 * Padding that reflects several times is gathered, because WebNN's pad reflects
		 * only once.
		 */
		if (far)
			x = pad_by_position(node, x, i, begin[i], end[i], reflected);
		if (!x)
			return NULL;
		room[0][i] = far ? 0 : (uint32_t)begin[i];
		room[1][i] = far ? 0 : (uint32_t)end[i];
	}
	options.label = node->options.label;
	options.mode = reflect ? WNNPaddingMode_Reflection : WNNPaddingMode_Edge;
	return wnnGraphBuilderPad(node->b, x, (WNNUint32Array){ rank, room[0] },
				  (WNNUint32Array){ rank, room[1] }, &options);
}

/*
 * Pads a tensor without elements: fills the whole result with @number. Returns 0; -1: refused, or
 * no memory.
 */
static int pad_nothing(struct onnx_node *node, const struct onnx_shape *shape, double number)
{
	int type = onnx_in_type(node, 0);
	int64_t elements = onnx_shape_elements(shape);
	uint8_t *data = onnx_out_constant(node, 0, type, shape);

	for (int64_t i = 0; data && i < elements; i++)
		onnx_put_float(type, data, (size_t)i, number);
	return data ? 0 : -1;
}

int onnx_op_pad(struct onnx_node *node)
{
	int64_t begin[ONNX_MAX_RANK] = { 0 }, end[ONNX_MAX_RANK] = { 0 }, start[ONNX_MAX_RANK];
	const char *mode = onnx_attr_string(node, "mode", "constant");
	double value = onnx_attr_float(node, "value", 0);
	struct onnx_shape shape = *onnx_in_shape(node, 0), padded = shape;
	WNNOperand x = NULL;
	bool none = true;

	if (!onnx_has(node, 0) || onnx_shape_elements(&shape)) {
		x = onnx_in(node, 0);
		if (!x)
			return -1;
	}
	if (read_pads(node, shape.rank, begin, end) ||
	    (pads_are_inputs(node) && onnx_in_float(node, 2, "constant_value", &value)))
		return -1;
	/* Negative padding removes elements. */
	for (uint32_t i = 0; i < shape.rank; i++) {
		start[i] = begin[i] < 0 ? -begin[i] : 0;
		shape.dim[i] -= start[i] + (end[i] < 0 ? -end[i] : 0);
		begin[i] = begin[i] < 0 ? 0 : begin[i];
		end[i] = end[i] < 0 ? 0 : end[i];
		none = none && !begin[i] && !end[i];
		padded.dim[i] = shape.dim[i] + begin[i] + end[i];
		if (shape.dim[i] < 0 || (!shape.dim[i] && strcmp(mode, "constant")))
			return onnx_refuse(node, "pads", "pads leaves nothing of dimension %u", i);
	}
	if (!onnx_shape_elements(&shape))
		return pad_nothing(node, &padded, value);
	x = x_slice(node, x, start, shape.dim, NULL);
	if (!strcmp(mode, "constant"))
		x = x_pad(node, x, begin, end, value);
	else if (strcmp(mode, "edge") && strcmp(mode, "reflect") && strcmp(mode, "wrap"))
		return onnx_refuse(node, "mode",
				   "mode is \"%s\": constant, edge, reflect and wrap are allowed",
				   mode);
	else if (x && !none)
		x = pad_like(node, x, mode, begin, end, shape.rank);
	return onnx_out_as(node, 0, x, onnx_in_type(node, 0));
}

int onnx_op_depth_space(struct onnx_node *node)
{
	static const uint32_t to_space[2][6] = { { 0, 3, 4, 1, 5, 2 }, { 0, 1, 4, 2, 5, 3 } };
	static const uint32_t to_depth[2][6] = { { 0, 3, 5, 1, 2, 4 }, { 0, 1, 3, 5, 2, 4 } };
	int64_t block = onnx_attr_int(node, "blocksize", 0), n, c, h, w;
	static const char *const modes[] = { "DCR", "CRD" };
	int crd = onnx_attr_choice(node, "mode", "DCR", modes, 2);
	struct onnx_shape shape, wide, last;
	WNNOperand x = onnx_in(node, 0);

	if (!x || crd < 0)
		return -1;
	shape = x_shape(x);
	if (shape.rank != 4)
		return onnx_refuse(node, "", "its input has %u dimensions instead of 4",
				   shape.rank);
	if (block < 1 || block > 65536)
		return onnx_refuse(node, "blocksize", "blocksize is %lld instead of 1 to 65536",
				   (long long)block);
	n = shape.dim[0];
	c = shape.dim[1];
	h = shape.dim[2];
	w = shape.dim[3];
	if (node->op->variant) {
		if (h % block || w % block)
			return onnx_refuse(
				node, "blocksize",
				"blocksize %lld does not divide the image of %lld x %lld",
				(long long)block, (long long)h, (long long)w);
		wide = (struct onnx_shape){ 6, { n, c, h / block, block, w / block, block } };
		last = (struct onnx_shape){ 4, { n, c * block * block, h / block, w / block } };
		x = x_transpose(node, x_reshape(node, x, &wide), to_depth[crd]);
		return onnx_out(node, 0, x_reshape(node, x, &last));
	}
	if (c % (block * block))
		return onnx_refuse(
			node, "blocksize",
			"blocksize is %lld: its square does not divide the %lld channels",
			(long long)block, (long long)c);
	c /= block * block;
	wide = crd ? (struct onnx_shape){ 6, { n, c, block, block, h, w } } :
		     (struct onnx_shape){ 6, { n, block, block, c, h, w } };
	last = (struct onnx_shape){ 4, { n, c, h * block, w * block } };
	x = x_transpose(node, x_reshape(node, x, &wide), to_space[crd]);
	return onnx_out(node, 0, x_reshape(node, x, &last));
}

int onnx_op_one_hot(struct onnx_node *node)
{
	WNNOperand indices = onnx_in(node, 0), values, steps, depth;
	struct onnx_shape row = { 0 };
	const int64_t *given;
	int64_t *numbers;
	uint32_t axis;
	size_t count;

	if (!indices || onnx_in_ints(node, 1, "depth", &given, &count) ||
	    !(values = onnx_in(node, 2)))
		return -1;
	if (count != 1 || given[0] < 1 || given[0] > ONNX_INDICES)
		return onnx_refuse(node, "depth", "depth must be one number from 1 to %lld",
				   (long long)ONNX_INDICES);
	if (x_shape(values).rank != 1)
		return onnx_refuse(node, "values", "values has %u dimensions instead of 1",
				   x_shape(values).rank);
	row.rank = x_shape(indices).rank + 1;
	if (row.rank > ONNX_MAX_RANK)
		return onnx_refuse(node, "", "the result would have more than 8 dimensions");
	if (onnx_axis(node, "axis", onnx_attr_int(node, "axis", -1), row.rank, &axis))
		return -1;
	numbers = onnx_node_alloc(node, (size_t)given[0] * sizeof(*numbers));
	if (!numbers)
		return -1;
	for (int64_t i = 0; i < given[0]; i++)
		numbers[i] = i;
	for (uint32_t i = 0; i < row.rank; i++)
		row.dim[i] = i == axis ? given[0] : 1;
	steps = x_constant(node, WNNOperandDataType_Int64, &row, numbers);
	indices = x_cast(node, indices, WNNOperandDataType_Int64);
	indices = x_unsqueeze(node, indices, axis);
	depth = x_integer(node, WNNOperandDataType_Int64, given[0]);
	indices = x_where(node, x_less(node, indices, x_integer(node, WNNOperandDataType_Int64, 0)),
			  x_add(node, indices, depth), indices);
	steps = x_equal(node, indices, steps);
	return onnx_out_as(node, 0,
			   x_where(node, steps, x_at(node, values, 0, 1), x_at(node, values, 0, 0)),
			   onnx_in_type(node, 2));
}

int onnx_op_eye_like(struct onnx_node *node)
{
	int type = (int)onnx_attr_int(node, "dtype", onnx_in_type(node, 0));
	int64_t k = onnx_attr_int(node, "k", 0);
	struct onnx_shape shape = *onnx_in_shape(node, 0);
	void *data;

	if (shape.rank != 2)
		return onnx_refuse(node, "", "its input has %u dimensions instead of 2",
				   shape.rank);
	data = onnx_out_constant(node, 0, type, &shape);
	for (int64_t i = 0; data && i < shape.dim[0]; i++)
		if (k > -shape.dim[0] && k < shape.dim[1] && i + k >= 0 && i + k < shape.dim[1])
			onnx_put_int(type, data, (size_t)(i * shape.dim[1] + i + k), 1);
	return data ? 0 : -1;
}

int onnx_op_compress(struct onnx_node *node)
{
	struct onnx_shape shape = *onnx_in_shape(node, 0);
	const int64_t *chosen;
	int64_t *indices;
	size_t count, used = 0;
	uint32_t axis = 0;
	bool empty = onnx_is_empty(node, 0);
	WNNOperand x = empty ? NULL : onnx_in(node, 0);

	if ((!empty && !x) || onnx_in_ints(node, 1, "condition", &chosen, &count))
		return -1;
	if (!onnx_attr(node, "axis"))
		shape = (struct onnx_shape){ 1, { onnx_shape_elements(&shape) } };
	else if (onnx_axis(node, "axis", onnx_attr_int(node, "axis", 0), shape.rank, &axis))
		return -1;
	indices = onnx_node_alloc(node, (count + 1) * sizeof(*indices));
	if (!indices)
		return onnx_out(node, 0, NULL);
	for (size_t i = 0; i < count && (int64_t)i < shape.dim[axis]; i++)
		if (chosen[i])
			indices[used++] = (int64_t)i;
	if (!used || empty) {
		shape.dim[axis] = (int64_t)used;
		return onnx_out_empty(node, 0, onnx_in_type(node, 0), &shape);
	}
	x = x_reshape(node, x, &shape);
	return onnx_out_as(node, 0, x_gather(node, x, x_constant_ints(node, used, indices), axis),
			   onnx_in_type(node, 0));
}
