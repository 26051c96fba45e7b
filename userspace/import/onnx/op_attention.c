// SPDX-License-Identifier: MIT
/* Translates Attention and MultiHeadAttention of com.microsoft to matmul and softmax. */
#include <math.h>

#include "attention.h"
#include "ops.h"
#include "select.h"

WNNOperand onnx_split_heads(struct onnx_node *node, WNNOperand x, int64_t heads)
{
	struct onnx_shape shape, wide;

	if (!x)
		return NULL;
	shape = x_shape(x);
	if (shape.rank != 3) {
		onnx_refuse(node, "", "%s is split into heads: it must have 3 dimensions",
			    onnx_shape_text(node->import->arena, &shape));
		return NULL;
	}
	if (heads < 1 || shape.dim[2] % heads) {
		onnx_refuse(
			node, "num_heads",
			"num_heads is %lld: it must be at least 1 and divide the last dimension "
			"of %s",
			(long long)heads, onnx_shape_text(node->import->arena, &shape));
		return NULL;
	}
	wide = (struct onnx_shape){ 4,
				    { shape.dim[0], shape.dim[1], heads, shape.dim[2] / heads } };
	return x_move_axis(node, x_reshape(node, x, &wide), 2, 1);
}

/*
 * Returns softmax of x with one more column, which takes part in the sum of each row and is cut off
 * the result. It has the number that the sink gives for each head, or zeros without a sink.
 */
static WNNOperand smooth_softmax(struct onnx_node *node, WNNOperand x, WNNOperand sink)
{
	int64_t begin[ONNX_MAX_RANK] = { 0 }, end[ONNX_MAX_RANK] = { 0, 0, 0, 1 };
	struct onnx_shape column, row = { 4, { 1, 1, 1, 1 } };

	if (!x)
		return NULL;
	column = x_shape(x);
	column.dim[3] = 1;
	row.dim[1] = column.dim[1];
	if (sink) {
		sink = x_expand(node, x_reshape(node, sink, &row), &column);
		x = x_concat(node, 2, (WNNOperand[]){ x, sink }, 3);
	} else {
		x = x_pad(node, x, begin, end, 0);
	}
	x = x_softmax(node, x, 3);
	return x ? x_slice_axis(node, x, 3, 0, x_shape(x).dim[3] - 1, 1) : NULL;
}

static WNNOperand softcap(struct onnx_node *node, WNNOperand x, double cap)
{
	return x_linear(node, x_tanh(node, x_linear(node, x, 1 / cap, 0)), cap, 0);
}

WNNOperand onnx_attend(struct onnx_node *node, WNNOperand query, WNNOperand key, WNNOperand value,
		       const struct onnx_attention *a)
{
	struct onnx_shape q, k, v, shape;
	WNNOperand x;

	if (!query || !key || !value)
		return NULL;
	q = x_shape(query);
	k = x_shape(key);
	v = x_shape(value);
	if (k.rank != 4 || v.rank != 4 || q.dim[1] % k.dim[1] || q.dim[0] != k.dim[0] ||
	    q.dim[3] != k.dim[3] || v.dim[1] != k.dim[1] || v.dim[2] != k.dim[2]) {
		onnx_refuse(
			node, "",
			"the shapes of query, key and value do not fit together: the inputs are %s",
			onnx_inputs_text(node));
		return NULL;
	}
	/* Query heads that share a key head become rows of one product. */
	shape = (struct onnx_shape){
		4, { q.dim[0], k.dim[1], q.dim[1] / k.dim[1] * q.dim[2], q.dim[3] }
	};
	x = x_linear(node, x_reshape(node, query, &shape),
		     a->scale != 0 ? a->scale : 1 / sqrt((double)q.dim[3]), 0);
	x = x_matmul(node, x, x_move_axis(node, key, 3, 2));
	shape = (struct onnx_shape){ 4, { q.dim[0], q.dim[1], q.dim[2], k.dim[2] } };
	x = x_reshape(node, x, &shape);
	if (a->softcap > 0)
		x = softcap(node, x, a->softcap);
	if (a->bias)
		x = x_add(node, x, a->bias);
	if (a->allowed)
		x = x_where(node, a->allowed, x, x_like(node, x, -INFINITY));
	x = a->smooth ? smooth_softmax(node, x, a->sink) : x_softmax(node, x, 3);
	shape = (struct onnx_shape){
		4, { q.dim[0], k.dim[1], q.dim[1] / k.dim[1] * q.dim[2], k.dim[2] }
	};
	x = x_matmul(node, x_reshape(node, x, &shape), value);
	shape = (struct onnx_shape){ 4, { q.dim[0], q.dim[1], q.dim[2], v.dim[3] } };
	x = x_move_axis(node, x_reshape(node, x, &shape), 1, 2);
	shape = (struct onnx_shape){ 3, { q.dim[0], q.dim[2], q.dim[1] * v.dim[3] } };
	return x_reshape(node, x, &shape);
}

/* Whether the input holds past positions; in the first step of a decoder there are none. */
static bool has_past(struct onnx_node *node, size_t input)
{
	return onnx_has(node, input) && !onnx_is_empty(node, input);
}

/* Returns the past with x appended along the dimension of positions. */
static WNNOperand append(struct onnx_node *node, WNNOperand past, WNNOperand x)
{
	return past && x ? x_concat(node, 2, (WNNOperand[]){ past, x }, 2) : NULL;
}

/* Returns 0 where @on is true, elsewhere the attribute mask_filter_value, which lowers a score. */
static WNNOperand weaken(struct onnx_node *node, WNNOperand on, WNNOperandDataType type)
{
	double filter = onnx_attr_float(node, "mask_filter_value", -10000);

	return x_where(node, on, x_number(node, type, 0), x_number(node, type, filter));
}

/*
 * Returns whether each key is allowed. The mask gives each batch an end, or an end and a begin: a
 * key is allowed when its position lies before the end, and not before the begin.
 */
static WNNOperand lengths_mask(struct onnx_node *node, WNNOperand mask, int64_t batch,
			       int64_t total)
{
	struct onnx_shape column = { 4, { batch, 1, 1, 1 } };
	WNNOperand steps = onnx_iota(node, 4, 3, total), end, begin, on;

	mask = x_cast(node, mask, WNNOperandDataType_Int32);
	if (!mask || !steps)
		return NULL;
	end = x_reshape(node, x_slice_axis(node, mask, 0, 0, batch, 1), &column);
	on = x_less(node, steps, end);
	if (x_shape(mask).dim[0] == batch)
		return on;
	begin = x_reshape(node, x_slice_axis(node, mask, 0, batch, batch, 1), &column);
	return x_and(node, on, x_not(node, x_less(node, steps, begin)));
}

/*
 * Returns what a mask adds to the scores. The mask is [batch], [2 * batch], [batch, total] or
 * [batch, length, total].
 */
static WNNOperand read_mask(struct onnx_node *node, size_t input, int64_t batch, int64_t length,
			    int64_t total, WNNOperandDataType type)
{
	WNNOperand mask = onnx_in(node, input), zero;
	struct onnx_shape shape, wide = { 4, { batch, 1, 1, total } };

	if (!mask)
		return NULL;
	shape = x_shape(mask);
	if (shape.rank == 1 && (shape.dim[0] == batch || shape.dim[0] == 2 * batch)) {
		mask = lengths_mask(node, mask, batch, total);
		return mask ? weaken(node, mask, type) : NULL;
	}
	if (shape.rank == 3)
		wide.dim[2] = length;
	if ((shape.rank != 2 && shape.rank != 3) ||
	    onnx_shape_elements(&shape) != onnx_shape_elements(&wide)) {
		onnx_refuse(node, "mask",
			    "the mask has shape %s: it must be [%lld] or [%lld], or have 2 or 3 "
			    "dimensions and as many elements as %s",
			    onnx_shape_text(node->import->arena, &shape), (long long)batch,
			    2 * (long long)batch, onnx_shape_text(node->import->arena, &wide));
		return NULL;
	}
	zero = x_like(node, mask, 0);
	return weaken(node, x_greater(node, x_reshape(node, mask, &wide), zero), type);
}

/* Returns a mask that allows each query the keys up to its own position. */
static WNNOperand causal(struct onnx_node *node, int64_t length, int64_t total)
{
	WNNOperand rows = onnx_iota(node, 4, 2, length), columns = onnx_iota(node, 4, 3, total);

	if (!rows || !columns)
		return NULL;
	rows = x_add(node, rows, x_integer(node, WNNOperandDataType_Int32, total - length));
	return x_not(node, x_greater(node, columns, rows));
}

/*
 * Fills in @a from the attributes, and from the inputs @mask and @bias; @query and @key are split
 * into heads already. Returns 0 or -1.
 */
static int read_attention(struct onnx_node *node, WNNOperand query, WNNOperand key, size_t mask,
			  size_t bias, struct onnx_attention *a)
{
	struct onnx_shape q, k;

	*a = (struct onnx_attention){ .scale = onnx_attr_float(node, "scale", 0) };
	if (!query || !key || x_shape(key).rank != 4)
		return onnx_out(node, 0, NULL);
	q = x_shape(query);
	k = x_shape(key);
	if (onnx_has(node, mask)) {
		a->bias = read_mask(node, mask, q.dim[0], q.dim[2], k.dim[2],
				    wnnOperandGetDataType(query));
		if (!a->bias)
			return onnx_out(node, 0, NULL);
	}
	if (onnx_has(node, bias)) {
		WNNOperand more = onnx_in(node, bias);

		a->bias = a->bias ? x_add(node, a->bias, more) : more;
		if (!a->bias)
			return onnx_out(node, 0, NULL);
	}
	if (onnx_attr_int(node, "unidirectional", 0)) {
		a->allowed = causal(node, q.dim[2], k.dim[2]);
		if (!a->allowed)
			return onnx_out(node, 0, NULL);
	}
	return 0;
}

/*
 * Returns query, key or value of MultiHeadAttention plus its columns of the bias, split into heads.
 */
static WNNOperand head_input(struct onnx_node *node, WNNOperand x, int64_t first, int64_t heads)
{
	if (x && onnx_has(node, 3)) {
		WNNOperand bias = onnx_in(node, 3);

		bias = bias ? x_slice_axis(node, bias, 0, first, x_shape(x).dim[2], 1) : NULL;
		x = x_add(node, x, bias);
	}
	return onnx_split_heads(node, x, heads);
}

/*
 * Returns the operand of an input as heads: three dimensions are split, four stay. An input of five
 * dimensions holds several tensors, [batch, length, heads, which, size].
 */
static WNNOperand read_heads(struct onnx_node *node, size_t input, int64_t which, int64_t first,
			     int64_t heads)
{
	WNNOperand x = onnx_in(node, input);
	struct onnx_shape shape;

	if (!x || x_shape(x).rank == 4)
		return x;
	shape = x_shape(x);
	if (shape.rank == 5 && which < shape.dim[3]) {
		struct onnx_shape flat = {
			3, { shape.dim[0], shape.dim[1], shape.dim[2] * shape.dim[4] }
		};

		x = x_reshape(node, x_at(node, x, 3, which), &flat);
	} else if (shape.rank != 3) {
		onnx_refuse(node, "",
			    "input %zu has shape %s: 3 or 4 dimensions are allowed, or 5, of which "
			    "the fourth is at least %lld",
			    input, onnx_shape_text(node->import->arena, &shape),
			    (long long)which + 1);
		return NULL;
	}
	return head_input(node, x, first, heads);
}

/*
 * Returns the number of columns of a query, key or value, which has three dimensions or is packed.
 */
static int64_t columns_of(const struct onnx_shape *shape)
{
	return shape->rank == 5 ? shape->dim[2] * shape->dim[4] : shape->dim[2];
}

/*
 * Refuses inputs from index @known on, which only newer versions of the operators have: results
 * without them would be wrong. Returns 0 or -1.
 */
int onnx_attention_inputs(struct onnx_node *node, size_t known)
{
	for (size_t i = known; i < node->input_count; i++)
		if (onnx_has(node, i))
			return onnx_refuse(node, "",
					   "input %zu cannot be imported: it must be absent", i);
	return 0;
}

int onnx_op_multi_head_attention(struct onnx_node *node)
{
	int64_t heads = onnx_attr_int(node, "num_heads", 0), width;
	struct onnx_attention a;
	size_t key_at, value_at;
	WNNOperand q, k, v;

	if (!onnx_in(node, 0) || onnx_attention_inputs(node, 8))
		return -1;
	/* When an input is absent, the input before it also holds its columns. */
	key_at = onnx_has(node, 1) ? 1 : 0;
	value_at = onnx_has(node, 2) ? 2 : key_at;
	width = columns_of(onnx_in_shape(node, 0));
	q = read_heads(node, 0, 0, 0, heads);
	k = q ? read_heads(node, key_at, key_at ? 0 : 1, width, heads) : NULL;
	v = k ? read_heads(node, value_at,
			   value_at == 2 ? 0 :
			   value_at	 ? 1 :
					   2,
			   2 * width, heads) :
		NULL;
	if (v && has_past(node, 6)) {
		k = append(node, onnx_in(node, 6), k);
		v = append(node, onnx_in(node, 7), v);
	}
	if (!v || read_attention(node, q, k, 4, 5, &a))
		return onnx_out(node, 0, NULL);
	if (onnx_out(node, 0, onnx_attend(node, q, k, v, &a)) ||
	    (onnx_wants(node, 1) && onnx_out(node, 1, k)))
		return -1;
	return onnx_wants(node, 2) ? onnx_out(node, 2, v) : 0;
}

/* Sets the widths of query, key and value in the product with the weights. Returns 0 or -1. */
static int read_widths(struct onnx_node *node, int64_t columns, int64_t widths[3])
{
	size_t count;
	const int64_t *given = onnx_attr_ints(node, "qkv_hidden_sizes", &count);

	for (int i = 0; i < 3; i++)
		widths[i] = count == 3 ? given[i] : columns / 3;
	if ((count && count != 3) || widths[0] < 1 || widths[1] < 1 || widths[2] < 1 ||
	    widths[0] > columns || widths[1] > columns || widths[2] > columns ||
	    widths[0] + widths[1] + widths[2] != columns)
		return onnx_refuse(node, "qkv_hidden_sizes",
				   "the weights have %lld columns: qkv_hidden_sizes must be three "
				   "sizes with this sum, or absent if 3 divides it",
				   (long long)columns);
	return 0;
}

/*
 * Splits the columns of x into query, key and value, and puts past keys and values before the new
 * ones. Returns 0 or -1.
 */
static int split_columns(struct onnx_node *node, WNNOperand x, size_t past_at,
			 const int64_t *widths, WNNOperand *part)
{
	int64_t heads = onnx_attr_int(node, "num_heads", 0), at = 0;

	for (int i = 0; i < 3; at += widths[i++]) {
		part[i] = onnx_split_heads(node, x_slice_axis(node, x, 2, at, widths[i], 1), heads);
		if (i && part[i] && has_past(node, past_at)) {
			WNNOperand past = onnx_in(node, past_at);

			part[i] = append(node, past ? x_at(node, past, 0, i - 1) : NULL, part[i]);
		}
		if (!part[i])
			return onnx_out(node, 0, NULL);
	}
	return 0;
}

/*
 * Returns the input times the weights, plus the bias if there is one. In variant 1 the input and
 * the weights are quantised, and have scales.
 */
static WNNOperand project(struct onnx_node *node, WNNOperand x, WNNOperand weights)
{
	if (node->op->variant) {
		x = onnx_dequantise_at(node, 0, 3, 6, 1);
		weights = onnx_dequantise_at(node, 1, 4, 7, 1);
	}
	x = x && weights ? x_matmul(node, x, weights) : NULL;
	return onnx_has(node, 2) ? x_add(node, x, onnx_in(node, 2)) : x;
}

int onnx_op_attention(struct onnx_node *node)
{
	bool quantised = node->op->variant;
	WNNOperand x = onnx_in(node, 0), weights = x ? onnx_in(node, 1) : NULL, part[3];
	struct onnx_attention a;
	int64_t widths[3];

	if (!weights)
		return -1;
	if (onnx_attr_only(node, "do_rotary", 0) ||
	    onnx_attr_only(node, "past_present_share_buffer", 0))
		return -1;
	if (x_shape(weights).rank != 2)
		return onnx_refuse(node, "weights", "weights has %u dimensions instead of 2",
				   x_shape(weights).rank);
	if (read_widths(node, x_shape(weights).dim[1], widths))
		return -1;
	x = project(node, x, weights);
	if (!x || split_columns(node, x, quantised ? 8 : 4, widths, part) ||
	    read_attention(node, part[0], part[1], quantised ? 5 : 3,
			   quantised ? node->input_count : 5, &a) ||
	    onnx_out(node, 0, onnx_attend(node, part[0], part[1], part[2], &a)))
		return onnx_out(node, 0, NULL);
	if (!onnx_wants(node, 1))
		return 0;
	part[1] = x_unsqueeze(node, part[1], 0);
	part[2] = x_unsqueeze(node, part[2], 0);
	if (!part[1] || !part[2])
		return onnx_out(node, 1, NULL);
	return onnx_out(node, 1, x_concat(node, 2, part + 1, 0));
}
