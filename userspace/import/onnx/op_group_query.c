// SPDX-License-Identifier: MIT
/*
 * com.microsoft.GroupQueryAttention. The cache of keys and values has as many positions as the
 * incoming cache or total_sequence_length, whichever is larger; total_sequence_length must be
 * constant. The number of positions in use comes from seqlens_k, which may vary. A cache that does
 * not grow, such as one buffer for past and present, gets its new rows and keeps the others.
 */
#include "attention.h"
#include "ops.h"
#include "select.h"

/*
 * Indices of the inputs that only newer versions of the operator have; KNOWN_INPUTS is the index
 * after them.
 */
enum { POSITION_IDS = 9, ATTENTION_BIAS, HEAD_SINK, KNOWN_INPUTS };

struct group {
	int64_t batch, length, total, present, heads, key_heads, size, past;
	bool prompt; /* there are no past positions */
	/*
	 * Number of past positions of each batch, [batch, 1, 1, 1] of int32; NULL where @known says
	 * it.
	 */
	WNNOperand before;
	/* The number of past positions when it is known and equal for all batches, -1 otherwise. */
	int64_t known;
	/*
	 * [batch, heads, length, size]; key and value have @key_heads heads, and after cache()
	 * @present positions
	 */
	WNNOperand query, key, value;
};

static int read_lengths(struct onnx_node *node, struct group *g)
{
	struct onnx_shape column = { 4, { g->batch, 1, 1, 1 } };
	/*
	 * The past positions must lie in past_key, and past and new positions together in the
	 * cache.
	 */
	int64_t room = g->present - g->length, most = room < g->past ? room : g->past;
	const struct onnx_value *lengths;
	WNNOperand x;

	if (!onnx_has(node, 5) || onnx_shape_elements(onnx_in_shape(node, 5)) != g->batch)
		return onnx_refuse(node, "seqlens_k",
				   "seqlens_k must have one item for each of the %lld batches",
				   (long long)g->batch);
	lengths = node->inputs[5];
	g->known = g->prompt ? 0 : -1;
	for (int64_t i = 0; lengths->data && !g->prompt && i < g->batch; i++) {
		int64_t last = onnx_value_int(lengths, (size_t)i), before = last + 1 - g->length;

		if (before < 0 || before > most)
			return onnx_refuse(node, "seqlens_k",
					   "seqlens_k is %lld, and the cache allows %lld to %lld",
					   (long long)last, (long long)g->length - 1,
					   (long long)(most + g->length - 1));
		g->known = !i || before == g->known ? before : -1;
	}
	if (g->known >= 0)
		return 0;
	x = onnx_in(node, 5);
	x = x ? x_cast(node, x_reshape(node, x, &column), WNNOperandDataType_Int32) : NULL;
	g->before = x_add(node, x, x_integer(node, WNNOperandDataType_Int32, 1 - g->length));
	return g->before ? 0 : onnx_out(node, 0, NULL);
}

static int read_shapes(struct onnx_node *node, struct group *g)
{
	const struct onnx_shape *query = onnx_in_shape(node, 0);
	int64_t columns = query->rank == 3 ? query->dim[2] : 0;
	const int64_t *total;
	size_t count;

	*g = (struct group){ .heads = onnx_attr_int(node, "num_heads", 0),
			     .key_heads = onnx_attr_int(node, "kv_num_heads", 0) };
	if (onnx_in_ints(node, 6, "total_sequence_length", &total, &count))
		return -1;
	if (count != 1 || total[0] < 1 || total[0] > ONNX_INDICES)
		return onnx_refuse(node, "total_sequence_length",
				   "total_sequence_length is %lld and has %zu elements: it must "
				   "be one number from 1 to %lld",
				   count ? (long long)total[0] : 0LL, count,
				   (long long)ONNX_INDICES);
	if (g->heads < 1 || g->key_heads < 1 || g->heads > 65536 || g->heads % g->key_heads)
		return onnx_refuse(node, "kv_num_heads",
				   "kv_num_heads is %lld: it must be at least 1 and divide "
				   "num_heads, which is %lld of 1 to 65536",
				   (long long)g->key_heads, (long long)g->heads);
	g->size = columns / (onnx_has(node, 1) ? g->heads : g->heads + 2 * g->key_heads);
	if (g->size < 1 || (onnx_has(node, 1) && !onnx_has(node, 2)))
		return onnx_refuse(node, "",
				   "query, key and value do not fit together: the inputs are %s",
				   onnx_inputs_text(node));
	g->batch = query->dim[0];
	g->length = query->dim[1];
	g->total = total[0];
	g->past = onnx_has(node, 3) && onnx_in_shape(node, 3)->rank == 4 ?
			  onnx_in_shape(node, 3)->dim[2] :
			  0;
	g->present = g->past > g->total ? g->past : g->total;
	g->prompt = g->length == g->total;
	if (g->length > g->total)
		return onnx_refuse(node, "total_sequence_length",
				   "total_sequence_length is less than the query is long");
	return read_lengths(node, g);
}

static int read_inputs(struct onnx_node *node, struct group *g)
{
	int64_t width = g->heads * g->size, narrow = g->key_heads * g->size;
	WNNOperand x = onnx_in(node, 0);

	g->query = x;
	if (onnx_has(node, 1)) {
		g->key = onnx_in(node, 1);
		g->value = onnx_in(node, 2);
	} else {
		g->query = x_slice_axis(node, x, 2, 0, width, 1);
		g->key = x_slice_axis(node, x, 2, width, narrow, 1);
		g->value = x_slice_axis(node, x, 2, width + narrow, narrow, 1);
	}
	g->query = onnx_split_heads(node, g->query, g->heads);
	g->key = onnx_split_heads(node, g->key, g->key_heads);
	g->value = onnx_split_heads(node, g->value, g->key_heads);
	return g->query && g->key && g->value ? 0 : onnx_out(node, 0, NULL);
}

/*
 * Returns position_ids, [batch, length]; for a prompt, the positions that begin at the first of
 * these ids, [1, length].
 */
static WNNOperand positions(struct onnx_node *node, const struct group *g)
{
	struct onnx_shape one = { 2, { 1, 1 } };
	WNNOperand ids = onnx_in(node, POSITION_IDS);

	ids = ids ? x_cast(node, ids, WNNOperandDataType_Int32) : NULL;
	if (!g->prompt || !ids)
		return ids;
	ids = x_slice_axis(node, x_slice_axis(node, ids, 0, 0, 1, 1), 1, 0, 1, 1);
	return x_add(node, x_reshape(node, ids, &one), onnx_iota(node, 2, 1, g->length));
}

/* Returns the rows of a table of angles for the new positions: [1 or batch, 1, length, columns]. */
static WNNOperand angles(struct onnx_node *node, const struct group *g, size_t input)
{
	WNNOperand table = onnx_in(node, input), at;
	struct onnx_shape row = { 2, { g->batch, g->length } };

	if (!table)
		return NULL;
	if (x_shape(table).rank != 2 || x_shape(table).dim[0] < g->total ||
	    x_shape(table).dim[1] * 2 > g->size) {
		onnx_refuse(node, "cos_cache",
			    "cos_cache or sin_cache has a wrong shape: the inputs are %s",
			    onnx_inputs_text(node));
		return NULL;
	}
	if (onnx_has(node, POSITION_IDS)) {
		table = x_gather(node, table, positions(node, g), 0);
	} else if (g->known >= 0) {
		table = x_slice_axis(node, table, 0, g->known, g->length, 1);
		table = x_unsqueeze(node, table, 0);
	} else {
		at = x_add(node, g->before, onnx_iota(node, 4, 3, g->length));
		table = x_gather(node, table, x_reshape(node, at, &row), 0);
	}
	return table ? x_unsqueeze(node, table, 1) : NULL;
}

static int rotate(struct onnx_node *node, struct group *g)
{
	bool interleaved = onnx_attr_int(node, "rotary_interleaved", 0);
	WNNOperand cosine, sine;
	int64_t size;

	if (!onnx_attr_int(node, "do_rotary", 0))
		return 0;
	cosine = angles(node, g, 7);
	sine = cosine ? angles(node, g, 8) : NULL;
	if (!sine)
		return onnx_out(node, 0, NULL);
	size = x_shape(cosine).dim[3] * 2;
	g->query = onnx_rotate(node, g->query, cosine, sine, size, interleaved);
	g->key = onnx_rotate(node, g->key, cosine, sine, size, interleaved);
	return g->query && g->key ? 0 : onnx_out(node, 0, NULL);
}

/*
 * Appends zeros to x in dimension 2, up to the number of positions of the cache. Returns NULL when
 * x is NULL or refused.
 */
static WNNOperand fill(struct onnx_node *node, const struct group *g, WNNOperand x)
{
	int64_t begin[ONNX_MAX_RANK] = { 0 }, end[ONNX_MAX_RANK] = { 0 };

	if (!x)
		return NULL;
	end[2] = g->present - x_shape(x).dim[2];
	return x_pad(node, x, begin, end, 0);
}

/*
 * Returns rows of x [batch, heads, length, size] moved to positions from `before` on: [batch,
 * heads, present, size].
 */
static WNNOperand spread(struct onnx_node *node, const struct group *g, WNNOperand x)
{
	struct onnx_shape row = { 1, { g->batch * g->present } };
	struct onnx_shape rows = { 2, { g->batch * g->length, g->key_heads * g->size } };
	struct onnx_shape wide = { 4, { g->batch, g->present, g->key_heads, g->size } };
	WNNOperand at, first;

	at = x_sub(node, onnx_iota(node, 4, 2, g->present), g->before);
	at = x_clamp(node, at, 0, (double)(g->length - 1));
	first = x_mul(node, onnx_iota(node, 4, 0, g->batch),
		      x_integer(node, WNNOperandDataType_Int32, g->length));
	at = x_reshape(node, x_add(node, at, first), &row);
	x = x_reshape(node, x_move_axis(node, x, 2, 1), &rows);
	return x_move_axis(node, x_reshape(node, x_gather(node, x, at, 0), &wide), 2, 1);
}

/* Whether the new rows are written into the incoming cache. */
static bool keeps_cache(const struct group *g)
{
	return g->past && g->past == g->present && g->known;
}

/* Returns the keys or values of input @past, followed by the new keys or values. */
static WNNOperand cache(struct onnx_node *node, const struct group *g, size_t past, WNNOperand x)
{
	WNNOperand old = g->past ? onnx_in(node, past) : NULL, steps, is_old, is_new;

	if (g->past && !old)
		return NULL;
	if (keeps_cache(g)) {
		steps = g->known > 0 ? x_integer(node, WNNOperandDataType_Int32, g->known) :
				       g->before;
		steps = x_add(node, steps, onnx_iota(node, 4, 2, g->length));
		return steps ? onnx_write_rows(node, old, 2, steps, x) : NULL;
	}
	if (g->known == 0)
		return fill(node, g, x);
	if (g->known > 0) {
		old = x_slice_axis(node, old, 2, 0, g->known, 1);
		return old ? fill(node, g, x_concat(node, 2, (WNNOperand[]){ old, x }, 2)) : NULL;
	}
	steps = onnx_iota(node, 4, 2, g->present);
	is_old = x_less(node, steps, g->before);
	is_new = x_less(node, steps,
			x_add(node, g->before,
			      x_integer(node, WNNOperandDataType_Int32, g->length)));
	x = x_where(node, is_new, spread(node, g, x), x_like(node, x, 0));
	return old ? x_where(node, is_old, fill(node, g, old), x) : x;
}

/*
 * Returns a mask of the keys up to the query's own position, and within the window if there is one:
 * [1 or batch, 1, length, present].
 */
static WNNOperand visible(struct onnx_node *node, const struct group *g)
{
	int64_t window = onnx_attr_int(node, "local_window_size", -1);
	WNNOperand rows = onnx_iota(node, 4, 2, g->length);
	WNNOperand columns = onnx_iota(node, 4, 3, g->present), seen;

	rows = x_add(node, rows,
		     g->known >= 0 ? x_integer(node, WNNOperandDataType_Int32, g->known) :
				     g->before);
	seen = x_not(node, x_greater(node, columns, rows));
	if (window > 0 && window < g->present) {
		rows = x_sub(node, rows, x_integer(node, WNNOperandDataType_Int32, window));
		seen = x_and(node, seen, x_not(node, x_less(node, columns, rows)));
	}
	return seen;
}

/*
 * Refuses the node when attributes of newer versions of the operator ask for another result than
 * that of the older ones. Returns 0 or -1.
 */
static int check_newer(struct onnx_node *node)
{
	static const char *const plain[] = { "NONE" };

	return onnx_attr_only(node, "causal", 1) || onnx_attr_only(node, "qk_output", 0) ||
			       onnx_attr_only(node, "sliding_window_cache", 0) ||
			       onnx_attr_choice(node, "k_quant_type", plain[0], plain, 1) ||
			       onnx_attr_choice(node, "v_quant_type", plain[0], plain, 1) ?
		       -1 :
		       0;
}

/* Whether an input has this shape, or is absent. */
static bool has_shape(struct onnx_node *node, size_t input, const struct onnx_shape *shape)
{
	return !onnx_has(node, input) || onnx_shape_same(onnx_in_shape(node, input), shape);
}

/* Reads the bias of the scores and the sinks of the heads. Returns 0 or -1. */
static int read_scores(struct onnx_node *node, const struct group *g, struct onnx_attention *a)
{
	const struct onnx_shape ids = { 2, { g->batch, g->length } }, sink = { 1, { g->heads } };
	struct onnx_shape bias = { 4, { g->batch, g->heads, g->length, g->total } };
	int64_t begin[ONNX_MAX_RANK] = { 0 }, end[ONNX_MAX_RANK] = { 0 };

	for (uint32_t i = 0; onnx_has(node, ATTENTION_BIAS) && i < 2; i++)
		if (onnx_in_shape(node, ATTENTION_BIAS)->dim[i] == 1)
			bias.dim[i] = 1;
	if (!has_shape(node, POSITION_IDS, &ids) || !has_shape(node, ATTENTION_BIAS, &bias) ||
	    !has_shape(node, HEAD_SINK, &sink))
		return onnx_refuse(
			node, "",
			"position_ids, attention_bias or head_sink has a wrong shape: the "
			"inputs are %s",
			onnx_inputs_text(node));
	if (onnx_has(node, ATTENTION_BIAS)) {
		/* The cache may be longer than the bias; no query sees what comes after it. */
		end[3] = g->present - g->total;
		a->bias = onnx_in(node, ATTENTION_BIAS);
		a->bias = a->bias ? x_pad(node, a->bias, begin, end, 0) : NULL;
		if (!a->bias)
			return onnx_out(node, 0, NULL);
	}
	if (onnx_has(node, HEAD_SINK)) {
		a->smooth = true;
		a->sink = onnx_in(node, HEAD_SINK);
		if (!a->sink)
			return -1;
	}
	return 0;
}

/*
 * Keeps positions of the caches that are not in use out of attention: they may hold NaN, and a
 * weight of 0 times NaN is NaN. Where g->known is the number of past positions, keys and values are
 * cut after the used ones; otherwise values at unused positions become 0, and the mask replaces
 * their scores.
 */
static void take_used(struct onnx_node *node, struct group *g)
{
	WNNOperand used;

	if (g->known > 0) {
		g->present = g->known + g->length;
		g->key = g->key ? x_slice_axis(node, g->key, 2, 0, g->present, 1) : NULL;
		g->value = g->value ? x_slice_axis(node, g->value, 2, 0, g->present, 1) : NULL;
		return;
	}
	used = x_less(node, onnx_iota(node, 4, 2, g->present),
		      x_add(node, g->before, x_integer(node, WNNOperandDataType_Int32, g->length)));
	g->value = g->value ? x_where(node, used, g->value, x_like(node, g->value, 0)) : NULL;
}

int onnx_op_group_query_attention(struct onnx_node *node)
{
	struct onnx_attention a = { .scale = onnx_attr_float(node, "scale", 0),
				    .softcap = onnx_attr_float(node, "softcap", 0),
				    .smooth = onnx_attr_int(node, "smooth_softmax", 0) == 1 };
	struct group g;

	if (!onnx_in(node, 0) || onnx_attention_inputs(node, KNOWN_INPUTS) || check_newer(node) ||
	    read_shapes(node, &g) || read_scores(node, &g, &a) || read_inputs(node, &g) ||
	    rotate(node, &g))
		return -1;
	g.key = cache(node, &g, 3, g.key);
	g.value = cache(node, &g, 4, g.value);
	if ((onnx_wants(node, 1) && onnx_out(node, 1, g.key)) ||
	    (onnx_wants(node, 2) && onnx_out(node, 2, g.value)))
		return -1;
	if (keeps_cache(&g)) {
		onnx_note_update(node, 1, 3);
		onnx_note_update(node, 2, 4);
		take_used(node, &g);
		if (a.bias && !(a.bias = x_slice_axis(node, a.bias, 3, 0, g.present, 1)))
			return onnx_out(node, 0, NULL);
	}
	a.allowed = visible(node, &g);
	return onnx_out(node, 0, a.allowed ? onnx_attend(node, g.query, g.key, g.value, &a) : NULL);
}
