// SPDX-License-Identifier: MIT
/*
 * com.microsoft: products with weights of a few bits, in blocks that have scales of their own. The
 * weights are written out in the order of WebNN's matmul, as constants of dequantizeLinear, so that
 * devices dequantise them inside of the product.
 */
#include <string.h>

#include <webnn/webnn_npu.h>

#include "ops.h"

#define MAX_SIZE (1 << 24)
#define ROWS	 64

struct weights {
	int64_t depth, columns, block, blocks, bits; /* depth: K, columns: N */
	const uint8_t *data, *zeros;
	const double *real_zeros; /* zero points as floats [N, blocks], or NULL */
	int64_t *slot;		  /* new index of each row of the weights; NULL: as they are */
};

static int64_t weight(const struct weights *w, int64_t column, int64_t row)
{
	int64_t at = column * w->blocks * w->block + row;

	return w->bits == 8 ? w->data[at] : w->data[at / 2] >> (at % 2 * 4) & 15;
}

static int64_t zero(const struct weights *w, int64_t column, int64_t block)
{
	int64_t row = w->bits == 8 ? w->blocks : (w->blocks + 1) / 2;

	if (!w->zeros)
		return w->bits == 8 ? 128 : 8;
	return w->bits == 8 ? w->zeros[column * row + block] :
			      w->zeros[column * row + block / 2] >> (block % 2 * 4) & 15;
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
		onnx_refuse(node, what, "%s is no uint8 of %lld elements", what, (long long)size);
		return NULL;
	}
	return value->data;
}

/*
 * g_idx names the block of each row: sorts the rows so that those of a block are adjacent. Returns
 * 0 or -1.
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
					   "g_idx gives a block more rows than block_size");
		w->slot[i] = group[i] * w->block + used[group[i]]++;
		same = same && w->slot[i] == i;
	}
	if (same)
		w->slot = NULL;
	else if (w->blocks * w->block != w->depth)
		return onnx_refuse(node, "g_idx", "g_idx leaves a block with too few rows");
	return 0;
}

static int read_real_zeros(struct onnx_node *node, struct weights *w)
{
	size_t count;

	if (onnx_in_floats(node, 3, "zero_points", &w->real_zeros, &count))
		return -1;
	if ((int64_t)count < w->columns * w->blocks)
		return onnx_refuse(node, "zero_points", "zero_points has %zu items", count);
	return 0;
}

static int read_weights(struct onnx_node *node, struct weights *w)
{
	*w = (struct weights){ .depth = onnx_attr_int(node, "K", 0),
			       .columns = onnx_attr_int(node, "N", 0),
			       .block = onnx_attr_int(node, "block_size", 0),
			       .bits = onnx_attr_int(node, "bits", 4) };
	if (w->bits != 4 && w->bits != 8)
		return onnx_refuse(node, "bits", "bits is %lld instead of 4 or 8",
				   (long long)w->bits);
	if (w->depth < 1 || w->columns < 1 || w->block < 2 || w->block % 2 || w->depth > MAX_SIZE ||
	    w->columns > MAX_SIZE || w->block > MAX_SIZE)
		return onnx_refuse(
			node, "block_size",
			"K is %lld, N %lld and block_size %lld: they are from 1 to %lld, "
			"and block_size is even",
			(long long)w->depth, (long long)w->columns, (long long)w->block,
			(long long)MAX_SIZE);
	w->blocks = (w->depth + w->block - 1) / w->block;
	w->data = bytes(node, 1, "B", w->columns * w->blocks * w->block * w->bits / 8);
	if (!w->data)
		return -1;
	if (onnx_has(node, 3) && onnx_type_is_float(onnx_in_type(node, 3)))
		return read_real_zeros(node, w) ? -1 : read_order(node, w);
	if (onnx_has(node, 3)) {
		w->zeros = bytes(node, 3, "zero_points",
				 w->columns * (w->bits == 8 ? w->blocks : (w->blocks + 1) / 2));
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
				       (size_t)((rows * w->columns * w->bits + 7) / 8));
}

static uint8_t *room(struct onnx_node *node, const struct weights *w, int64_t rows)
{
	uint8_t *data = import_alloc((size_t)((rows * w->columns * w->bits + 7) / 8));

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
 * Returns the weights, [N, blocks, block] in the file, as [K, N]. Works on a few rows at a time, so
 * that they stay in the cache.
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
 * Subtracts from y what float zero points contribute to the product: the sum of the input over each
 * block, times scale and zero point of that block. The weights stay packed.
 */
static WNNOperand subtract_zeros(struct onnx_node *node, const struct weights *w, WNNOperand x,
				 WNNOperand scales, WNNOperand y)
{
	struct onnx_shape shape = x_shape(x), zeros = { 2, { w->blocks, w->columns } };
	double usual = w->bits == 8 ? 128 : 8;
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

/* Returns numbers of 2 or 4 bits that the file packs in bytes, @count along the last dimension. */
static struct onnx_value *unpacked(struct onnx_node *node, size_t input, const char *what,
				   int64_t bits, int64_t count)
{
	struct onnx_value *from = node->inputs[input], *to = onnx_new_value(node);
	uint32_t last = from->shape.rank - 1;
	int64_t per = 8 / bits, row = from->shape.dim[last], elements;
	const uint8_t *codes = from->data;
	uint8_t *data;

	if (!codes) {
		onnx_refuse_variable(node, input, what);
		return NULL;
	}
	if (row != (count + per - 1) / per) {
		onnx_refuse(node, what, "%s has rows of %lld bytes for %lld numbers", what,
			    (long long)row, (long long)count);
		return NULL;
	}
	if (!to)
		return NULL;
	*to = *from;
	to->type = ONNX_UINT4;
	to->shape.dim[last] = count;
	to->operand = NULL;
	to->carrier = NULL;
	/* The file's bytes are packed like uint4 already. */
	if (bits == 4 && count % 2 == 0)
		return to;
	elements = onnx_shape_elements(&to->shape);
	if (elements < 0 || onnx_work(node, (uint64_t)elements))
		return NULL;
	to->file = NULL;
	to->data = data = onnx_node_alloc(node, onnx_data_size(ONNX_UINT4, elements) + 1);
	for (int64_t i = 0; data && i < elements; i++) {
		int64_t at = i % count;

		onnx_put_int(ONNX_UINT4, data, (size_t)i,
			     codes[i / count * row + at / per] >> (at % per * bits) &
				     ((1 << bits) - 1));
	}
	return data ? to : NULL;
}

/*
 * Unpacks a table of bytes that hold one 8-bit number or several smaller ones; *middle gets the
 * default zero point, the middle of the range. Returns 0 or -1.
 */
static int unpack_table(struct onnx_node *node, uint32_t axis, int64_t *middle)
{
	int64_t bits = onnx_attr_int(node, "bits", 4), count;
	uint32_t last = onnx_in_shape(node, 0)->rank - 1;

	*middle = 0;
	if (onnx_in_type(node, 0) != ONNX_UINT8)
		return 0;
	if (bits != 2 && bits != 4 && bits != 8)
		return onnx_refuse(node, "bits", "bits is %lld instead of 2, 4 or 8",
				   (long long)bits);
	*middle = INT64_C(1) << (bits - 1);
	if (bits == 8)
		return 0;
	if (axis != last)
		return onnx_refuse(node, "quantize_axis", "quantize_axis is not the last one");
	count = onnx_in_shape(node, 0)->dim[last] * (8 / bits);
	node->inputs[0] = unpacked(node, 0, "data", bits, count);
	if (!node->inputs[0])
		return -1;
	if (!onnx_has(node, 3))
		return 0;
	if (onnx_in_shape(node, 3)->rank != last + 1 || onnx_in_shape(node, 2)->rank != last + 1)
		return onnx_refuse(node, "zero_points", "zero_points has another rank than data");
	node->inputs[3] = unpacked(node, 3, "zero_points", bits, onnx_in_shape(node, 2)->dim[last]);
	return node->inputs[3] ? 0 : -1;
}

/* GatherBlockQuantized: gathers and dequantises rows of a table. */
int onnx_op_gather_blocks(struct onnx_node *node)
{
	int64_t block = onnx_attr_int(node, "block_size", 128), middle;
	WNNOperand x, indices, scales, zeros;
	uint32_t axis, quantised, rank;

	for (size_t i = 0; i < 3; i++)
		if (!onnx_has(node, i))
			return onnx_refuse(node, "", "input %zu is missing", i);
	rank = onnx_in_shape(node, 0)->rank;
	if (onnx_axis(node, "gather_axis", onnx_attr_int(node, "gather_axis", 0), rank, &axis) ||
	    onnx_axis(node, "quantize_axis", onnx_attr_int(node, "quantize_axis", 1), rank,
		      &quantised))
		return -1;
	if (block < 1)
		return onnx_refuse(node, "block_size", "block_size is %lld", (long long)block);
	if (unpack_table(node, quantised, &middle) ||
	    onnx_stretch_blocks(node, onnx_in_shape(node, 0), quantised, block, 2))
		return -1;
	x = onnx_in(node, 0);
	indices = onnx_in(node, 1);
	scales = onnx_in(node, 2);
	if (!x || !indices || !scales)
		return -1;
	if (onnx_has(node, 3)) {
		zeros = onnx_in(node, 3);
	} else {
		struct onnx_shape shape = x_shape(scales);

		zeros = onnx_filled(node, wnnOperandGetDataType(x), &shape, middle);
	}
	if (!zeros)
		return onnx_out(node, 0, NULL);
	x = wnnGraphBuilderDequantizeLinear(node->b, x, scales, zeros, &node->options);
	return onnx_out(node, 0, x_gather(node, x, indices, axis));
}
