// SPDX-License-Identifier: MIT
/*
 * com.microsoft: products with weights, and rows gathered from tables, of a few bits, in blocks
 * that have scales of their own. The weights are written out in the order of WebNN's matmul, as
 * constants of dequantizeLinear, so that devices dequantise them inside of the product.
 */
#include <string.h>

#include <webnn/webnn_npu.h>

#include "carrier.h"
#include "ops.h"

#define MAX_SIZE (1 << 24)
#define ROWS	 64

struct weights {
	int64_t depth, columns, block, blocks, bits; /* depth: K, columns: N */
	const uint8_t *data, *zeros;
	const double *real_zeros; /* zero points as floats [N, blocks], or NULL */
	/* new index of each row of the weights; NULL: the rows keep their order */
	int64_t *slot;
};

/* Returns the number at an index of memory; the first number of a byte is in its low bits. */
static int64_t few_bits(const struct weights *w, const uint8_t *data, int64_t index)
{
	int64_t at = index * w->bits;

	return data[at / 8] >> (at % 8) & ((1 << w->bits) - 1);
}

/* Returns the number of bytes of the zero points of one column. */
static int64_t zeros_pitch(const struct weights *w)
{
	return (w->blocks * w->bits + 7) / 8;
}

/* Returns the zero point of columns without one. */
static int64_t usual_zero(const struct weights *w)
{
	return 1 << (w->bits - 1);
}

static int64_t weight(const struct weights *w, int64_t column, int64_t row)
{
	return few_bits(w, w->data, column * w->blocks * w->block + row);
}

static int64_t zero(const struct weights *w, int64_t column, int64_t block)
{
	return w->zeros ? few_bits(w, w->zeros + column * zeros_pitch(w), block) : usual_zero(w);
}

/*
 * Returns the bytes of a constant input; NULL: it is absent, not constant or shorter than @size,
 * and the node is refused.
 */
static const uint8_t *bytes(struct onnx_node *node, size_t input, const char *what, int64_t size)
{
	const struct onnx_value *value = onnx_has(node, input) ? node->inputs[input] : NULL;

	if (!value || !value->data) {
		if (value)
			onnx_refuse_variable(node, input, what);
		else
			onnx_refuse(node, what, "%s is missing", what);
		return NULL;
	}
	if (value->type != ONNX_UINT8 || onnx_shape_elements(&value->shape) < size) {
		onnx_refuse(node, what,
			    "%s is %s: it must be uint8 with at least %lld "
			    "elements",
			    what, onnx_value_text(node->import->arena, value), (long long)size);
		return NULL;
	}
	return value->data;
}

/*
 * Reads g_idx, which names the block of each row, and sets w->slot so that the rows of a block
 * become adjacent. Returns 0 or -1.
 */
static int read_order(struct onnx_node *node, struct weights *w)
{
	const int64_t *group;
	bool same = true;
	int64_t *used;
	size_t count;

	if (onnx_in_ints(node, 4, "g_idx", &group, &count))
		return -1;
	if (!group)
		return 0;
	used = onnx_node_alloc(node, (size_t)w->blocks * sizeof(*used));
	w->slot = onnx_node_alloc(node, (size_t)w->depth * sizeof(*w->slot));
	if (!used || !w->slot)
		return -1;
	for (int64_t i = 0; i < w->depth; i++) {
		if ((int64_t)count < w->depth || group[i] < 0 || group[i] >= w->blocks ||
		    used[group[i]] == w->block)
			return onnx_refuse(node, "g_idx",
					   "g_idx must have %lld items from 0 to %lld, each number "
					   "at most %lld times, as block_size says",
					   (long long)w->depth, (long long)w->blocks - 1,
					   (long long)w->block);
		w->slot[i] = group[i] * w->block + used[group[i]]++;
		same = same && w->slot[i] == i;
	}
	if (same)
		w->slot = NULL;
	else if (w->blocks * w->block != w->depth)
		return onnx_refuse(node, "g_idx", "g_idx gives a block fewer rows than block_size");
	return 0;
}

static int read_real_zeros(struct onnx_node *node, struct weights *w)
{
	size_t count;

	if (onnx_in_floats(node, 3, "zero_points", &w->real_zeros, &count))
		return -1;
	if ((int64_t)count < w->columns * w->blocks)
		return onnx_refuse(node, "zero_points",
				   "zero_points has %zu items: at least %lld are needed", count,
				   (long long)(w->columns * w->blocks));
	return 0;
}

static int read_weights(struct onnx_node *node, struct weights *w)
{
	*w = (struct weights){ .depth = onnx_attr_int(node, "K", 0),
			       .columns = onnx_attr_int(node, "N", 0),
			       .block = onnx_attr_int(node, "block_size", 0),
			       .bits = onnx_attr_int(node, "bits", 4) };
	/* Prepacked weights are in the layout of one kind of device, which is not known here. */
	if (onnx_attr_only(node, "weight_prepacked", 0))
		return -1;
	if (w->bits != 2 && w->bits != 4 && w->bits != 8)
		return onnx_refuse(node, "bits", "bits is %lld instead of 2, 4 or 8",
				   (long long)w->bits);
	if (w->depth < 1 || w->columns < 1 || w->block < 1 || w->block * w->bits % 8 ||
	    w->depth > MAX_SIZE || w->columns > MAX_SIZE || w->block > MAX_SIZE)
		return onnx_refuse(
			node, "block_size",
			"K is %lld, N %lld and block_size %lld: they are from 1 to %lld, "
			"and a block has whole bytes",
			(long long)w->depth, (long long)w->columns, (long long)w->block,
			(long long)MAX_SIZE);
	w->blocks = (w->depth + w->block - 1) / w->block;
	w->data = bytes(node, 1, "B", w->columns * w->blocks * w->block * w->bits / 8);
	if (!w->data)
		return -1;
	if (onnx_has(node, 3) && onnx_type_is_float(onnx_in_type(node, 3)))
		return read_real_zeros(node, w) ? -1 : read_order(node, w);
	if (onnx_has(node, 3)) {
		w->zeros = bytes(node, 3, "zero_points", w->columns * zeros_pitch(w));
		if (!w->zeros)
			return -1;
	}
	return read_order(node, w);
}

static void release(const void *data, size_t size, void *memory, void *unused)
{
	(void)data;
	(void)size;
	(void)unused;
	import_free(memory);
}

/* Returns the bits of a number in the graph, which has no integers of 2 bits. */
static int64_t stored_bits(const struct weights *w)
{
	return w->bits == 8 ? 8 : 4;
}

/* Returns a constant of 4-bit or 8-bit integers; @data is taken over. */
static WNNOperand packed(struct onnx_node *node, const struct weights *w, int64_t rows,
			 uint8_t *data)
{
	WNNBorrowedConstant loan = WNN_BORROWED_CONSTANT_INIT;
	WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
	uint32_t shape[2] = { (uint32_t)rows, (uint32_t)w->columns };

	loan.releaseCallback = release;
	loan.userdata1 = data;
	descriptor.nextInChain = &loan.chain;
	descriptor.dataType = w->bits == 8 ? WNNOperandDataType_Uint8 : WNNOperandDataType_Uint4;
	descriptor.shape = WNN_UINT32_ARRAY(shape);
	return wnnGraphBuilderConstant(node->b, &descriptor, data,
				       (size_t)((rows * w->columns * stored_bits(w) + 7) / 8));
}

static uint8_t *room(struct onnx_node *node, const struct weights *w, int64_t rows)
{
	uint8_t *data = import_alloc((size_t)((rows * w->columns * stored_bits(w) + 7) / 8));

	if (!data)
		onnx_fail(node);
	return data;
}

/* Writes a number at index @at of memory that is zero. */
static void put(const struct weights *w, uint8_t *data, int64_t at, int64_t number)
{
	if (w->bits == 8)
		data[at] = (uint8_t)number;
	else
		data[at / 2] |= (uint8_t)(number << (at % 2 * 4));
}

/*
 * Returns the weights, [N, blocks, block] in the file, as [blocks * block, N]. Works on a few rows
 * at a time, so that they stay in the cache.
 */
static WNNOperand make_weights(struct onnx_node *node, const struct weights *w)
{
	uint8_t *data = room(node, w, w->blocks * w->block);

	if (!data)
		return NULL;
	for (int64_t first = 0; first < w->depth; first += ROWS) {
		int64_t end = first + ROWS < w->depth ? first + ROWS : w->depth;

		for (int64_t n = 0; n < w->columns; n++)
			for (int64_t row = first; row < end; row++)
				put(w, data, (w->slot ? w->slot[row] : row) * w->columns + n,
				    weight(w, n, row));
	}
	return packed(node, w, w->blocks * w->block, data);
}

/* Returns the zero points, [N, blocks] in the file, as [blocks, N]. */
static WNNOperand make_zeros(struct onnx_node *node, const struct weights *w)
{
	uint8_t *data = room(node, w, w->blocks);

	if (!data)
		return NULL;
	for (int64_t block = 0; block < w->blocks; block++)
		for (int64_t n = 0; n < w->columns; n++)
			put(w, data, block * w->columns + n, zero(w, n, block));
	return packed(node, w, w->blocks, data);
}

/* Returns the scales, [N, blocks] in the file, as [blocks, N], by operators of the graph. */
static WNNOperand make_scales(struct onnx_node *node, const struct weights *w)
{
	struct onnx_shape shape = { 2, { w->columns, w->blocks } };
	static const uint32_t swapped[] = { 1, 0 };

	return x_transpose(node, x_reshape(node, onnx_in(node, 2), &shape), swapped);
}

/*
 * Returns the input with its columns in the order of the weights' rows, and zeros up to whole
 * blocks.
 */
static WNNOperand make_input(struct onnx_node *node, const struct weights *w, WNNOperand x)
{
	int64_t begin[ONNX_MAX_RANK] = { 0 }, end[ONNX_MAX_RANK] = { 0 }, *from;
	uint32_t rank = x_shape(x).rank;

	if (!w->slot) {
		end[rank - 1] = w->blocks * w->block - w->depth;
		return x_pad(node, x, begin, end, 0);
	}
	from = onnx_node_alloc(node, (size_t)w->depth * sizeof(*from));
	if (!from)
		return NULL;
	for (int64_t i = 0; i < w->depth; i++)
		from[w->slot[i]] = i;
	return x_gather(node, x, x_constant_ints(node, (size_t)w->depth, from), rank - 1);
}

/*
 * Corrects y, the product with the usual zero points, for float zero points: subtracts the sum of
 * the input over each block, times the scale of that block and the difference of its zero points.
 * The weights stay packed. Returns NULL when refused.
 */
static WNNOperand subtract_zeros(struct onnx_node *node, const struct weights *w, WNNOperand x,
				 WNNOperand scales, WNNOperand y)
{
	struct onnx_shape shape = x_shape(x), zeros = { 2, { w->blocks, w->columns } };
	double usual = (double)usual_zero(w);
	float *numbers = onnx_node_alloc(node, (size_t)(w->blocks * w->columns) * sizeof(*numbers));
	WNNOperand factor;

	if (shape.rank == ONNX_MAX_RANK) {
		onnx_refuse(node, "", "it would need more than 8 dimensions");
		return NULL;
	}
	if (!numbers)
		return NULL;
	for (int64_t i = 0; i < w->blocks * w->columns; i++)
		numbers[i] =
			(float)(w->real_zeros[i % w->columns * w->blocks + i / w->columns] - usual);
	factor = x_constant(node, WNNOperandDataType_Float32, &zeros, numbers);
	factor = x_mul(node, x_cast(node, scales, WNNOperandDataType_Float32), factor);
	shape.dim[shape.rank - 1] = w->blocks;
	shape.dim[shape.rank++] = w->block;
	x = x_reduce1(node, X_SUM, x_reshape(node, x, &shape), shape.rank - 1, false);
	factor = factor ? x_cast(node, factor, wnnOperandGetDataType(y)) : NULL;
	return x_sub(node, y, onnx_matmul(node, x, factor));
}

int onnx_op_matmul_bits(struct onnx_node *node)
{
	WNNOperand x = onnx_in(node, 0), scales, integers, zeros, y;
	struct onnx_shape shape;
	struct weights w;

	if (!x || read_weights(node, &w))
		return -1;
	shape = x_shape(x);
	if (!shape.rank || shape.dim[shape.rank - 1] != w.depth)
		return onnx_refuse(node, "K", "the input's last dimension is not K");
	x = make_input(node, &w, x);
	scales = make_scales(node, &w);
	integers = scales ? make_weights(node, &w) : NULL;
	zeros = integers ? make_zeros(node, &w) : NULL;
	if (!x || !zeros)
		return onnx_out(node, 0, NULL);
	y = wnnGraphBuilderDequantizeLinear(node->b, integers, scales, zeros, &node->options);
	y = y ? onnx_matmul(node, x, x_cast(node, y, wnnOperandGetDataType(x))) : NULL;
	if (y && w.real_zeros)
		y = subtract_zeros(node, &w, x, scales, y);
	if (onnx_has(node, 5))
		y = x_add(node, y, onnx_in(node, 5));
	return onnx_out(node, 0, y);
}

/* A table of integers in blocks, and what is gathered of it. */
struct table {
	uint32_t axis, quantised; /* dimensions of the gather and of the blocks */
	int64_t bits, block;	  /* bits: of each number that a uint8 holds */
	int64_t count;		  /* numbers along the dimension of the blocks */
	WNNOperand indices;
};

/* Checks the types and shapes of the inputs, and sets *t. Returns 0 or -1. */
static int read_table(struct onnx_node *node, struct table *t)
{
	const struct onnx_shape *data = onnx_in_shape(node, 0), *scales = onnx_in_shape(node, 2);
	uint32_t last = data->rank - 1;

	if (onnx_axis(node, "gather_axis", onnx_attr_int(node, "gather_axis", 0), data->rank,
		      &t->axis) ||
	    onnx_axis(node, "quantize_axis", onnx_attr_int(node, "quantize_axis", 1), data->rank,
		      &t->quantised))
		return -1;
	t->block = onnx_attr_int(node, "block_size", 128);
	if (t->block < 1)
		return onnx_refuse(node, "block_size", "block_size is %lld: it must be at least 1",
				   (long long)t->block);
	t->bits = onnx_in_type(node, 0) == ONNX_UINT8 ? onnx_attr_int(node, "bits", 4) : 8;
	if (t->bits != 2 && t->bits != 4 && t->bits != 8)
		return onnx_refuse(node, "bits", "bits is %lld instead of 2, 4 or 8",
				   (long long)t->bits);
	if (t->bits < 8 && t->quantised != last)
		return onnx_refuse(node, "quantize_axis", "quantize_axis is not the last one");
	t->count = data->dim[t->quantised] * (8 / t->bits);
	for (uint32_t i = 0; i < data->rank; i++) {
		int64_t wanted = i == t->quantised ? (t->count - 1) / t->block + 1 : data->dim[i];

		if (scales->rank != data->rank || scales->dim[i] != wanted)
			return onnx_refuse(
				node, "block_size",
				"block_size is %lld: the scales have shape %s, and dimension %u "
				"must be %lld",
				(long long)t->block, onnx_shape_text(node->import->arena, scales),
				i, (long long)wanted);
	}
	if (!onnx_has(node, 3))
		return 0;
	if (onnx_in_shape(node, 3)->rank != data->rank)
		return onnx_refuse(node, "zero_points", "zero_points has another rank than data");
	if (t->bits < 8 &&
	    onnx_in_shape(node, 3)->dim[last] != (scales->dim[last] * t->bits + 7) / 8)
		return onnx_refuse(node, "zero_points",
				   "zero_points has rows of %lld bytes for %lld numbers",
				   (long long)onnx_in_shape(node, 3)->dim[last],
				   (long long)scales->dim[last]);
	return 0;
}

/* Returns the numbers of @bits bits that bytes hold, the lowest bits first, as integers of @type. */
static WNNOperand split_bytes(struct onnx_node *node, WNNOperand x, int64_t bits,
			      WNNOperandDataType type)
{
	int64_t per = 8 / bits, base = INT64_C(1) << bits;
	struct onnx_shape shape, column = { 2, { 1, 1 } };
	WNNOperand parts[4], whole;

	if (!x)
		return NULL;
	shape = x_shape(x);
	column.dim[0] = onnx_shape_elements(&shape);
	shape.dim[shape.rank - 1] *= per;
	x = x_cast(node, x_reshape(node, x, &column), WNNOperandDataType_Float32);
	for (int64_t i = 0; i < per; i++) {
		whole = x_floor(node, x_linear(node, x, 1 / (double)base, 0));
		parts[i] = x_sub(node, x, x_linear(node, whole, (double)base, 0));
		x = whole;
	}
	x = x_concat(node, (size_t)per, parts, 1);
	if (type == WNNOperandDataType_Int8) {
		whole = x_floor(node, x_linear(node, x, 2 / (double)base, 0));
		x = x_sub(node, x, x_linear(node, whole, (double)base, 0));
	}
	return x_reshape(node, x_cast(node, x, type), &shape);
}

/*
 * Returns an input with its rows gathered, unless the gather is along the dimension of the blocks.
 * Numbers below 8 bits become int8 or uint8, which happens after the gather when each row is whole
 * bytes. An input of type uint8 holds @count numbers of @bits bits along its last dimension.
 */
static WNNOperand gather_rows(struct onnx_node *node, const struct table *t, size_t input,
			      int64_t bits, int64_t count)
{
	struct onnx_value *value = node->inputs[input], *bytes;
	WNNOperandDataType type = onnx_type_is_unsigned(value->type) ? WNNOperandDataType_Uint8 :
								       WNNOperandDataType_Int8;
	uint32_t last = value->shape.rank - 1;
	WNNOperand x;

	if (onnx_type_bits(value->type) == 4 && value->data && !(value->shape.dim[last] % 2) &&
	    t->axis != last) {
		bytes = onnx_new_value(node);
		if (!bytes)
			return NULL;
		*bytes = *value;
		bytes->type = ONNX_UINT8;
		bytes->shape.dim[last] /= 2;
		bytes->operand = NULL;
		bytes->carrier = NULL;
		x = onnx_operand(node, bytes);
		bits = 4;
		count = value->shape.dim[last];
	} else {
		x = onnx_in(node, input);
		if (onnx_type_bits(value->type) < 8)
			x = x_cast(node, onnx_from_four_bits(node, x), type);
	}
	if (t->axis != t->quantised)
		x = x_gather(node, x, t->indices, t->axis);
	if (bits == 8)
		return x;
	x = split_bytes(node, x, bits, type);
	return x ? x_slice_axis(node, x, x_shape(x).rank - 1, 0, count, 1) : NULL;
}

/*
 * Dequantises integers in blocks along @axis, the last of which may be short, and returns them
 * without padding; NULL: refused.
 */
static WNNOperand dequantise_blocks(struct onnx_node *node, const struct table *t, WNNOperand x,
				    WNNOperand scales, WNNOperand zeros, uint32_t axis)
{
	int64_t begin[ONNX_MAX_RANK] = { 0 }, end[ONNX_MAX_RANK] = { 0 };

	if (!x || !scales || !zeros)
		return NULL;
	end[axis] = x_shape(scales).dim[axis] * t->block - t->count;
	/* A single scale needs no whole block: nothing is padded. */
	if (x_shape(scales).dim[axis] > 1)
		x = x_pad(node, x, begin, end, 0);
	x = x ? wnnGraphBuilderDequantizeLinear(node->b, x, scales, zeros, &node->options) : NULL;
	return x_slice_axis(node, x, axis, 0, t->count, 1);
}

/*
 * Translates GatherBlockQuantized: gathers rows of a table, then dequantises these. Where the
 * gather is along the dimension of the blocks, the whole table is dequantised first.
 */
int onnx_op_gather_blocks(struct onnx_node *node)
{
	WNNOperand x, scales, zeros;
	struct table t = { 0 };
	struct onnx_shape shape;
	uint32_t axis;

	for (size_t i = 0; i < 3; i++)
		if (!onnx_has(node, i))
			return onnx_refuse(node, "", "input %zu is missing", i);
	if (read_table(node, &t))
		return -1;
	t.indices = onnx_in(node, 1);
	scales = t.indices ? gather_rows(node, &t, 2, 8, 0) : NULL;
	x = scales ? gather_rows(node, &t, 0, t.bits, t.count) : NULL;
	if (!x)
		return onnx_out(node, 0, NULL);
	shape = x_shape(scales);
	zeros = onnx_has(node, 3) ?
			gather_rows(node, &t, 3, t.bits, onnx_in_shape(node, 2)->dim[t.quantised]) :
			onnx_filled(node, wnnOperandGetDataType(x), &shape,
				    onnx_in_type(node, 0) == ONNX_UINT8 ? 1 << (t.bits - 1) : 0);
	axis = t.quantised < t.axis || t.axis == t.quantised ?
		       t.quantised :
		       t.quantised + x_shape(t.indices).rank - 1;
	x = dequantise_blocks(node, &t, x, scales, zeros, axis);
	return onnx_out(node, 0, t.axis == t.quantised ? x_gather(node, x, t.indices, t.axis) : x);
}
