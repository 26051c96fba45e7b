// SPDX-License-Identifier: MIT
/* RotaryEmbedding: rotates pairs of numbers of each head by angles that depend on the position. */
#include "attention.h"
#include "ops.h"
#include "select.h"

/*
 * Rotates pairs (x, y) of the first @size numbers of the last dimension to x * cos - y * sin and y
 * * cos + x * sin. Pairs are neighbours if @interleaved, else elements of the two halves. Returns
 * NULL when refused.
 */
WNNOperand onnx_rotate(struct onnx_node *node, WNNOperand x, WNNOperand cosine, WNNOperand sine,
		       int64_t size, bool interleaved)
{
	struct onnx_shape shape = x_shape(x);
	uint32_t last = shape.rank - 1;
	int64_t half = size / 2;
	WNNOperand a, b, parts[3];
	size_t count = 2;

	if (interleaved) {
		a = x_slice_axis(node, x, last, 0, size - 1, 2);
		b = x_slice_axis(node, x, last, 1, size - 1, 2);
	} else {
		a = x_slice_axis(node, x, last, 0, half, 1);
		b = x_slice_axis(node, x, last, half, half, 1);
	}
	parts[0] = x_sub(node, x_mul(node, a, cosine), x_mul(node, b, sine));
	parts[1] = x_add(node, x_mul(node, b, cosine), x_mul(node, a, sine));
	if (interleaved) {
		struct onnx_shape pairs = shape;

		pairs.dim[last] = size;
		parts[0] = x_unsqueeze(node, parts[0], last + 1);
		parts[1] = x_unsqueeze(node, parts[1], last + 1);
		if (!parts[0] || !parts[1])
			return NULL;
		parts[0] = x_reshape(node, x_concat(node, 2, parts, last + 1), &pairs);
		count = 1;
	}
	if (size < shape.dim[last])
		parts[count++] = x_slice_axis(node, x, last, size, shape.dim[last] - size, 1);
	for (size_t i = 0; i < count; i++)
		if (!parts[i])
			return NULL;
	return x_concat(node, count, parts, last);
}

/*
 * Returns rows of a table at positions [batch, length], or at consecutive positions from a given
 * one: [batch or 1, length, columns].
 */
static WNNOperand angles(struct onnx_node *node, size_t input, size_t positions, int64_t length)
{
	WNNOperand table = onnx_in(node, input), at;
	const struct onnx_value *value = node->inputs[positions];
	int64_t first;

	if (!table)
		return NULL;
	if (onnx_shape_elements(&value->shape) != 1 || value->shape.rank > 1)
		return x_gather(node, table, onnx_in(node, positions), 0);
	if (value->data) {
		first = onnx_value_int(value, 0);
		if (first < 0 || first > x_shape(table).dim[0] - length) {
			onnx_refuse(
				node, "position_ids",
				"position_ids is %lld: the %lld positions from there on are not "
				"all among the %lld rows of the tables",
				(long long)first, (long long)length,
				(long long)x_shape(table).dim[0]);
			return NULL;
		}
		return x_unsqueeze(node, x_slice_axis(node, table, 0, first, length, 1), 0);
	}
	at = onnx_in(node, positions);
	at = at ? x_cast(node, at, WNNOperandDataType_Int32) : NULL;
	at = x_add(node, at, onnx_iota(node, 1, 0, length));
	return at ? x_unsqueeze(node, x_gather(node, table, at, 0), 0) : NULL;
}

struct rotary {
	uint32_t heads_at; /* index of the heads' dimension */
	/* length of the sequence; how many numbers of each head are rotated */
	int64_t length, rotated;
	struct onnx_shape wide; /* X with 4 dimensions */
};

static int read_rotary(struct onnx_node *node, struct rotary *r)
{
	const struct onnx_shape *x = onnx_in_shape(node, 0), *table = onnx_in_shape(node, 2);
	int64_t heads = onnx_attr_int(node, "num_heads", 0), size;

	r->rotated = onnx_attr_int(node, "rotary_embedding_dim", 0);
	if (onnx_attr_int(node, "is_packed_batching", 0))
		return onnx_refuse(node, "is_packed_batching", "batches must not be packed");
	if (x->rank != 3 && x->rank != 4)
		return onnx_refuse(node, "", "input has %u dimensions instead of 3 or 4", x->rank);
	if (table->rank != 2)
		return onnx_refuse(node, "cos_cache", "cos_cache has %u dimensions instead of 2",
				   table->rank);
	if (r->rotated < 0 || heads < 0)
		return onnx_refuse(
			node, "",
			"rotary_embedding_dim is %lld and num_heads %lld: neither may be "
			"negative",
			(long long)r->rotated, (long long)heads);
	r->wide = *x;
	r->heads_at = x->rank == 4 ? 1 : 2;
	r->length = x->dim[x->rank == 4 ? 2 : 1];
	if (x->rank == 3) {
		size = heads ? x->dim[2] / heads : table->dim[1] * 2;
		if (r->rotated && !heads)
			return onnx_refuse(node, "num_heads",
					   "rotary_embedding_dim is given without num_heads");
		if (size < 1 || x->dim[2] % size)
			return onnx_refuse(node, "num_heads",
					   "heads of %lld do not divide the last dimension, %lld",
					   (long long)size, (long long)x->dim[2]);
		r->wide =
			(struct onnx_shape){ 4, { x->dim[0], x->dim[1], x->dim[2] / size, size } };
	}
	size = r->wide.dim[3];
	r->rotated = r->rotated ? r->rotated : size;
	if (r->rotated > size || r->rotated != table->dim[1] * 2)
		return onnx_refuse(node, "cos_cache",
				   "cos_cache has %lld columns, and %lld of the %lld numbers of a "
				   "head are rotated: half as many columns are needed",
				   (long long)table->dim[1], (long long)r->rotated,
				   (long long)size);
	return 0;
}

/*
 * Sets the output: X with each head rotated by angles [batch, length, half of the rotated numbers].
 * Returns 0 or -1.
 */
static int rotate_heads(struct onnx_node *node, const struct rotary *r, WNNOperand cosine,
			WNNOperand sine)
{
	WNNOperand x;

	if (!sine || x_shape(sine).rank != 3)
		return sine ? onnx_refuse(node, "position_ids",
					  "position_ids has a wrong shape: the inputs are %s",
					  onnx_inputs_text(node)) :
			      onnx_out(node, 0, NULL);
	cosine = x_unsqueeze(node, cosine, r->heads_at);
	sine = x_unsqueeze(node, sine, r->heads_at);
	x = x_reshape(node, onnx_in(node, 0), &r->wide);
	x = onnx_rotate(node, x, cosine, sine, r->rotated, onnx_attr_int(node, "interleaved", 0));
	return onnx_out(node, 0, x_reshape(node, x, onnx_in_shape(node, 0)));
}

int onnx_op_rotary(struct onnx_node *node)
{
	WNNOperand cosine, sine;
	struct rotary r;

	if (!onnx_in(node, 0) || !onnx_in(node, 1) || !onnx_in(node, 2) || !onnx_in(node, 3) ||
	    read_rotary(node, &r))
		return -1;
	cosine = angles(node, 2, 1, r.length);
	sine = cosine ? angles(node, 3, 1, r.length) : NULL;
	return rotate_heads(node, &r, cosine, sine);
}

/*
 * Sets the shape of input X as [batch, heads, length, size] or with heads third, where the heads
 * are, and how many numbers of each head are rotated. Returns 0; -1: refused.
 */
static int read_heads(struct onnx_node *node, struct rotary *r)
{
	const struct onnx_shape *x = onnx_in_shape(node, 0), *table = onnx_in_shape(node, 1);
	int64_t heads = onnx_attr_int(node, "num_heads", 0);

	r->rotated = onnx_attr_int(node, "rotary_embedding_dim", 0);
	r->wide = *x;
	r->heads_at = x->rank == 4 ? 1 : 2;
	if (x->rank == 3) {
		if (heads < 1 || x->dim[2] % heads)
			return onnx_refuse(node, "num_heads",
					   "num_heads is %lld: it must be at least 1 and "
					   "divide the last dimension of "
					   "%s",
					   (long long)heads,
					   onnx_shape_text(node->import->arena, x));
		r->wide = (struct onnx_shape){ 4,
					       { x->dim[0], x->dim[1], heads, x->dim[2] / heads } };
	}
	if (r->wide.rank != 4)
		return onnx_refuse(node, "", "X has %u dimensions instead of 3 or 4", x->rank);
	if (table->rank != (onnx_has(node, 3) ? 2 : 3))
		return onnx_refuse(node, "cos_cache", "cos_cache has %u dimensions instead of %d",
				   table->rank, onnx_has(node, 3) ? 2 : 3);
	r->rotated = r->rotated ? r->rotated : r->wide.dim[3];
	if (r->rotated < 2 || r->rotated > r->wide.dim[3] ||
	    r->rotated != table->dim[table->rank - 1] * 2)
		return onnx_refuse(node, "cos_cache",
				   "cos_cache has %lld columns, and %lld of the %lld numbers of a "
				   "head are rotated: half as many columns are needed",
				   (long long)table->dim[table->rank - 1], (long long)r->rotated,
				   (long long)r->wide.dim[3]);
	return 0;
}

/*
 * Returns cosines or sines [batch, length, columns], at positions [batch, length] if they are
 * given.
 */
static WNNOperand angles_of(struct onnx_node *node, size_t input)
{
	WNNOperand table = onnx_in(node, input), at;

	if (!table || !onnx_has(node, 3))
		return table;
	at = onnx_in(node, 3);
	return at ? x_gather(node, table, at, 0) : NULL;
}

int onnx_op_rotary_embedding(struct onnx_node *node)
{
	WNNOperand cosine, sine;
	struct rotary r;

	if (!onnx_in(node, 0) || !onnx_in(node, 1) || !onnx_in(node, 2) || read_heads(node, &r))
		return -1;
	cosine = angles_of(node, 1);
	sine = cosine ? angles_of(node, 2) : NULL;
	return rotate_heads(node, &r, cosine, sine);
}
