// SPDX-License-Identifier: MIT
/*
 * Attention of operator sets 23 and newer, and FlexAttention: softmax(query * key^T) * value with
 * masks, windows and caches.
 */
#include <math.h>
#include <string.h>

#include "attention.h"
#include "ops.h"
#include "select.h"

struct scaled {
	WNNOperand query, key, value; /* [batch, heads, length, size] */
	struct onnx_shape q, k, v;
	double scale;
	WNNOperand bias;    /* added to the scores; may be NULL */
	WNNOperand allowed; /* keys where this is false get no weight; may be NULL */
	bool empty_rows;    /* a query may have no allowed key */
};

static int64_t head_group(const struct scaled *s)
{
	return s->q.dim[1] / s->k.dim[1];
}

/*
 * Merges query heads that share a key head into rows of one product, or with @group false splits
 * them again.
 */
static WNNOperand group_heads(struct onnx_node *node, const struct scaled *s, WNNOperand x,
			      bool group)
{
	struct onnx_shape shape;

	if (!x)
		return NULL;
	shape = x_shape(x);
	shape.dim[1] = group ? s->k.dim[1] : s->q.dim[1];
	shape.dim[2] = s->q.dim[2] * (group ? head_group(s) : 1);
	return x_reshape(node, x, &shape);
}

static int check_shapes(struct onnx_node *node, struct scaled *s)
{
	if (!s->query || !s->key || !s->value)
		return onnx_out(node, 0, NULL);
	s->q = x_shape(s->query);
	s->k = x_shape(s->key);
	s->v = x_shape(s->value);
	if (s->q.rank != 4 || s->k.rank != 4 || s->v.rank != 4 || s->q.dim[1] % s->k.dim[1] ||
	    s->q.dim[0] != s->k.dim[0] || s->q.dim[3] != s->k.dim[3] ||
	    s->v.dim[0] != s->k.dim[0] || s->v.dim[1] != s->k.dim[1] || s->v.dim[2] != s->k.dim[2])
		return onnx_refuse(
			node, "",
			"the shapes of query, key and value do not fit together: the inputs are %s",
			onnx_inputs_text(node));
	s->scale = onnx_attr_float(node, "scale", 1 / sqrt((double)s->q.dim[3]));
	return 0;
}

/* Returns the scores query * key^T * scale: [batch, heads, length, total]. */
static WNNOperand scores(struct onnx_node *node, const struct scaled *s)
{
	WNNOperand x = x_linear(node, group_heads(node, s, s->query, true), s->scale, 0);

	return group_heads(node, s, x_matmul(node, x, x_move_axis(node, s->key, 3, 2)), false);
}

/* Returns weights * value: [batch, heads, length, size of the value]. */
static WNNOperand weigh(struct onnx_node *node, const struct scaled *s, WNNOperand weights,
			WNNOperand value)
{
	return group_heads(node, s, x_matmul(node, group_heads(node, s, weights, true), value),
			   false);
}

/*
 * Returns query, key or value split into heads, after the positions of its cache if it has one. The
 * input has three or four dimensions.
 */
static WNNOperand read_operand(struct onnx_node *node, size_t input, const char *heads, size_t past)
{
	WNNOperand x = onnx_in(node, input), before;

	if (x && x_shape(x).rank == 3)
		x = onnx_split_heads(node, x, onnx_attr_int(node, heads, 0));
	if (!x || !onnx_has(node, past) || onnx_is_empty(node, past))
		return x;
	before = onnx_in(node, past);
	return before ? x_concat(node, 2, (WNNOperand[]){ before, x }, 2) : NULL;
}

/* Returns the mask; if it has fewer columns than there are keys, columns that forbid are added. */
static WNNOperand read_mask(struct onnx_node *node, const struct scaled *s, bool is_bool)
{
	int64_t begin[ONNX_MAX_RANK] = { 0 }, end[ONNX_MAX_RANK] = { 0 };
	WNNOperand mask = onnx_in(node, 3);
	struct onnx_shape shape;

	if (!mask)
		return NULL;
	shape = x_shape(mask);
	if (!shape.rank || shape.rank > 4 || shape.dim[shape.rank - 1] > s->k.dim[2]) {
		onnx_refuse(node, "attn_mask",
			    "attn_mask has shape %s: 1 to 4 dimensions are "
			    "allowed, the last of at most "
			    "%lld, the number of keys",
			    onnx_shape_text(node->import->arena, &shape), (long long)s->k.dim[2]);
		return NULL;
	}
	end[shape.rank - 1] = s->k.dim[2] - shape.dim[shape.rank - 1];
	return x_pad(node, mask, begin, end, is_bool ? 0 : -INFINITY);
}

/* Returns the conjunction of two masks, each of which may be NULL. */
static WNNOperand both(struct onnx_node *node, WNNOperand a, WNNOperand b)
{
	return a && b ? x_and(node, a, b) : a ? a : b;
}

/* Returns the positions of keys relative to their query: 0 is the query's own position. */
static WNNOperand distance(struct onnx_node *node, const struct scaled *s, WNNOperand offset)
{
	WNNOperand rows = x_add(node, onnx_iota(node, 4, 2, s->q.dim[2]), offset);

	return x_sub(node, onnx_iota(node, 4, 3, s->k.dim[2]), rows);
}

/*
 * Whether each query has a key within the window; @offset: position of the first query among the
 * keys.
 */
static bool all_rows_have_keys(const struct scaled *s, int64_t offset, int64_t left, int64_t right)
{
	int64_t last = offset + s->q.dim[2] - 1;

	return (right < 0 || offset + right >= 0) && (left < 0 || last - left < s->k.dim[2]);
}

/*
 * Sets s->allowed to the mask of is_causal, of the windows and of nonpad_kv_seqlen, unless all keys
 * are allowed. Returns 0; -1: refused.
 */
static int read_positions(struct onnx_node *node, struct scaled *s)
{
	int64_t left = onnx_attr_int(node, "left_window_size", -1);
	int64_t right = onnx_attr_int(node, "right_window_size", -1);
	int64_t past = onnx_has(node, 4) ? onnx_in_shape(node, 4)->dim[2] : 0;
	WNNOperandDataType type = WNNOperandDataType_Int32;
	WNNOperand lengths = NULL, offset, x;
	struct onnx_shape column = { 4, { s->q.dim[0], 1, 1, 1 } };

	if (left < -1 || right < -1)
		return onnx_refuse(
			node, left < -1 ? "left_window_size" : "right_window_size",
			"a window of %lld keys is not allowed: it is -1 (no limit) or more",
			(long long)(left < -1 ? left : right));
	if (onnx_attr_int(node, "is_causal", 0))
		right = 0;
	if (onnx_has(node, 6)) {
		if (onnx_shape_elements(onnx_in_shape(node, 6)) != s->q.dim[0])
			return onnx_refuse(node, "nonpad_kv_seqlen",
					   "nonpad_kv_seqlen must have one item for each of the "
					   "%lld batches",
					   (long long)s->q.dim[0]);
		lengths = x_reshape(node, x_cast(node, onnx_in(node, 6), type), &column);
		s->allowed = x_less(node, onnx_iota(node, 4, 3, s->k.dim[2]), lengths);
		if (!s->allowed)
			return onnx_out(node, 0, NULL);
	}
	s->empty_rows = lengths || !all_rows_have_keys(s, past, left, right);
	if (left < 0 && right < 0)
		return 0;
	offset = lengths ? x_sub(node, lengths, x_integer(node, type, s->q.dim[2])) :
			   x_integer(node, type, past);
	x = distance(node, s, offset);
	if (left >= 0)
		s->allowed = both(node, s->allowed,
				  x_not(node, x_less(node, x, x_integer(node, type, -left))));
	if (right >= 0)
		s->allowed = both(node, s->allowed,
				  x_not(node, x_greater(node, x, x_integer(node, type, right))));
	return s->allowed ? 0 : onnx_out(node, 0, NULL);
}

static int read_masks(struct onnx_node *node, struct scaled *s)
{
	bool is_bool = onnx_in_type(node, 3) == ONNX_BOOL;
	WNNOperand mask;

	if (read_positions(node, s))
		return -1;
	if (!onnx_has(node, 3))
		return 0;
	mask = read_mask(node, s, is_bool);
	if (!mask)
		return onnx_out(node, 0, NULL);
	if (is_bool)
		s->allowed = both(node, s->allowed, mask);
	else
		s->bias = x_cast(node, mask, wnnOperandGetDataType(s->query));
	s->empty_rows = true;
	return 0;
}

/*
 * Returns for each query whether no key is allowed, in which case its result becomes zeros; NULL:
 * each query has an allowed key.
 */
static WNNOperand without_keys(struct onnx_node *node, const struct scaled *s)
{
	WNNOperand zero, low, bias = s->bias, rows;

	if (!s->empty_rows)
		return NULL;
	if (!bias) {
		rows = x_cast(node, s->allowed, WNNOperandDataType_Int32);
		rows = rows ? x_reduce1(node, X_MAX, rows, x_shape(rows).rank - 1, true) : NULL;
		zero = x_like(node, rows, 0);
		return x_equal(node, rows, zero);
	}
	low = x_like(node, bias, -INFINITY);
	if (s->allowed)
		bias = x_where(node, s->allowed, bias, low);
	rows = bias ? x_reduce1(node, X_MAX, bias, x_shape(bias).rank - 1, true) : NULL;
	return x_equal(node, rows, low);
}

static WNNOperand clear(struct onnx_node *node, WNNOperand where, WNNOperand x)
{
	return where ? x_where(node, where, x_like(node, x, 0), x) : x;
}

/*
 * Returns softmax in the type that softmax_precision names, float32 by default. The weights stay in
 * that type: rounding them to float16 would halve the digits of the result.
 */
static WNNOperand soft_weights(struct onnx_node *node, WNNOperand x)
{
	int precision = (int)onnx_attr_int(node, "softmax_precision", ONNX_FLOAT);
	WNNOperandDataType type = onnx_type_webnn(precision);

	if (!onnx_type_is_float(precision) || onnx_type_bits(precision) < 16) {
		onnx_refuse(node, "softmax_precision",
			    "softmax_precision must be a type of floats of at least 16 bits");
		return NULL;
	}
	return x ? x_softmax(node, x_cast(node, x, type), 3) : NULL;
}

/* The scores after each stage; output 3 is one of them. */
struct stages {
	WNNOperand product, capped, masked, weights;
};

static WNNOperand attend(struct onnx_node *node, struct scaled *s, struct stages *stages)
{
	WNNOperandDataType type = wnnOperandGetDataType(s->query);
	double cap = onnx_attr_float(node, "softcap", 0);
	WNNOperand x = scores(node, s), dead;

	stages->product = x;
	if (cap > 0)
		x = x_linear(node, x_tanh(node, x_linear(node, x, 1 / cap, 0)), cap, 0);
	stages->capped = x;
	if (s->bias)
		x = x_add(node, x, s->bias);
	if (s->allowed)
		x = x_where(node, s->allowed, x, x_like(node, x, -INFINITY));
	stages->masked = x;
	x = soft_weights(node, x);
	dead = without_keys(node, s);
	if (onnx_wants(node, 3) && x)
		stages->weights = clear(node, dead, x_cast(node, x, type));
	x = weigh(node, s, x, x ? x_cast(node, s->value, wnnOperandGetDataType(x)) : NULL);
	return clear(node, dead, x ? x_cast(node, x, type) : NULL);
}

int onnx_op_scaled_attention(struct onnx_node *node)
{
	int64_t mode = onnx_attr_int(node, "qk_matmul_output_mode", 0);
	struct stages stages = { 0 };
	struct scaled s = { 0 };
	WNNOperand y, seen;

	if (onnx_has(node, 4) != onnx_has(node, 5))
		return onnx_refuse(node, "past_key",
				   "past_key and past_value must be given together");
	if (onnx_has(node, 4) && onnx_has(node, 6))
		return onnx_refuse(node, "nonpad_kv_seqlen",
				   "nonpad_kv_seqlen and past_key exclude each other");
	if (mode < 0 || mode > 3)
		return onnx_refuse(node, "qk_matmul_output_mode",
				   "qk_matmul_output_mode is %lld: 0 to 3 are allowed",
				   (long long)mode);
	s.query = read_operand(node, 0, "q_num_heads", SIZE_MAX);
	s.key = s.query ? read_operand(node, 1, "kv_num_heads", 4) : NULL;
	s.value = s.key ? read_operand(node, 2, "kv_num_heads", 5) : NULL;
	if (check_shapes(node, &s) || read_masks(node, &s))
		return -1;
	y = attend(node, &s, &stages);
	if (y && onnx_in_shape(node, 0)->rank == 3) {
		struct onnx_shape flat = { 3, { s.q.dim[0], s.q.dim[2], s.q.dim[1] * s.v.dim[3] } };

		y = x_reshape(node, x_move_axis(node, y, 1, 2), &flat);
	}
	seen = mode == 0 ? stages.product :
	       mode == 1 ? stages.capped :
	       mode == 2 ? stages.masked :
			   stages.weights;
	if (onnx_out(node, 0, y) || (onnx_wants(node, 1) && onnx_out(node, 1, s.key)) ||
	    (onnx_wants(node, 2) && onnx_out(node, 2, s.value)))
		return -1;
	return onnx_wants(node, 3) ? onnx_out(node, 3, seen) : 0;
}

/*
 * Returns scores or weights after the graph of an attribute; unchanged when the attribute is
 * absent.
 */
static WNNOperand modify(struct onnx_node *node, const char *name, WNNOperand x, int type)
{
	const Onnx__AttributeProto *attr = onnx_attr(node, name);
	struct onnx_value *given, **results;
	struct onnx_shape before;

	if (!attr || !attr->g || !x)
		return x;
	before = x_shape(x);
	given = onnx_value_of(node, x, type);
	results = onnx_node_alloc(node, (attr->g->n_output + 1) * sizeof(*results));
	if (!given || !results || onnx_run_subgraph(node, attr->g, 1, &given, results))
		return NULL;
	/* What was refused in the graph has said so itself. */
	if (attr->g->n_output == 1 && results[0]->refused)
		return NULL;
	if (attr->g->n_output != 1 || results[0]->sequence ||
	    !onnx_shape_same(&results[0]->shape, &before)) {
		onnx_refuse(node, name,
			    "its graph does not make one tensor of the shape that it gets");
		return NULL;
	}
	return onnx_operand(node, results[0]);
}

int onnx_op_flex_attention(struct onnx_node *node)
{
	int type =
		(int)onnx_attr_int(node, "softmax_precision",
				   onnx_in_type(node, 0) == ONNX_DOUBLE ? ONNX_DOUBLE : ONNX_FLOAT);
	int own = onnx_in_type(node, 2);
	struct scaled s = { 0 };
	WNNOperand x;

	if (!onnx_type_is_float(type) || onnx_type_bits(type) < 16)
		return onnx_refuse(
			node, "softmax_precision",
			"softmax_precision must be a type of floats of at least 16 bits");
	s.query = onnx_in(node, 0);
	s.key = s.query ? onnx_in(node, 1) : NULL;
	s.value = s.key ? onnx_in(node, 2) : NULL;
	if (check_shapes(node, &s))
		return -1;
	x = scores(node, &s);
	x = x ? x_cast(node, x, onnx_type_webnn(type)) : NULL;
	x = modify(node, "score_mod", x, type);
	x = x ? x_softmax(node, x, 3) : NULL;
	x = modify(node, "prob_mod", x, type);
	if (x)
		x = weigh(node, &s, x, x_cast(node, s.value, wnnOperandGetDataType(x)));
	return onnx_out_as(node, 0, x ? x_cast(node, x, onnx_type_webnn(own)) : NULL, own);
}
