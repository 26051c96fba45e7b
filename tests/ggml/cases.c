// SPDX-License-Identifier: MIT
/* Implements cases.h: small graphs of ggml, by operator. */
#include "cases.h"

static struct gg_tensor *leaf(struct world *w, enum fill fill, const char *type, int64_t ne0,
			      int64_t ne1, int64_t ne2, int64_t ne3)
{
	struct gg_tensor *tensor = gg.ggml_new_tensor_4d(w->is_weight ? w->weights : w->context,
							 type_number(type), ne0, ne1, ne2, ne3);

	w->leaves[w->leaf_count++] = (struct leaf){ tensor, fill, 0 };
	return tensor;
}

static struct gg_tensor *real(struct world *w, int64_t ne0, int64_t ne1, int64_t ne2, int64_t ne3)
{
	return leaf(w, FILL_REAL, "f32", ne0, ne1, ne2, ne3);
}

static struct gg_tensor *rows(struct world *w, enum fill fill, int64_t limit, int64_t ne0,
			      int64_t ne1)
{
	struct gg_tensor *tensor =
		leaf(w, fill, fill == FILL_DISTINCT ? "i64" : "i32", ne0, ne1, 1, 1);

	w->leaves[w->leaf_count - 1].limit = limit;
	return tensor;
}

/* ---- operators of single elements */

static struct gg_tensor *binary(struct world *w)
{
	static const int64_t shapes[][4] = {
		{ 10, 5, 4, 3 }, { 10, 1, 1, 1 }, { 10, 5, 1, 1 }, { 1, 5, 2, 3 }, { 5, 5, 4, 1 },
	};
	const int64_t *shape = shapes[w->variant % 5];
	struct gg_tensor *a = real(w, 10, 5, 4, 3);
	struct gg_tensor *b = leaf(w, FILL_POSITIVE, "f32", shape[0], shape[1], shape[2], shape[3]);

	switch (w->variant / 5) {
	case 0:
		return gg.ggml_add(w->context, a, b);
	case 1:
		return gg.ggml_sub(w->context, a, b);
	case 2:
		return gg.ggml_mul(w->context, a, b);
	default:
		return gg.ggml_div(w->context, a, b);
	}
}

static struct gg_tensor *scale(struct world *w)
{
	return gg.ggml_scale_bias(w->context, real(w, 33, 7, 1, 1), w->variant ? 1 : -0.75f,
				  w->variant ? 0.5f : 0);
}

/*
 * Returns a graph with a clamp in place: one operator reads the clamp's operand before the clamp
 * changes it, and another reads the result.
 */
static struct gg_tensor *clamp(struct world *w)
{
	struct gg_tensor *a = real(w, 33, 7, 1, 1);
	struct gg_tensor *b = w->variant ? gg.ggml_sqr(w->context, a) : a;
	struct gg_tensor *sum = gg.ggml_add(w->context, b, a);

	return gg.ggml_mul(w->context, sum, gg.ggml_clamp(w->context, b, -0.3f, 0.4f));
}

static struct gg_tensor *function(struct world *w)
{
	static const char *const names[] = { "ABS",   "SGN",	   "NEG",     "TANH",
					     "RELU",  "SIGMOID",   "GELU",    "GELU_QUICK",
					     "SILU",  "HARDSWISH", "EXP",     "SOFTPLUS",
					     "FLOOR", "CEIL",	   "GELU_ERF" };

	return gg.ggml_unary(w->context, gg.ggml_scale_bias(w->context, real(w, 65, 3, 2, 1), 4, 0),
			     number_of(gg.ggml_unary_op_name, names[w->variant]));
}

static struct gg_tensor *function_of_op(struct world *w)
{
	struct gg_tensor *a = leaf(w, FILL_POSITIVE, "f32", 65, 3, 2, 1);

	switch (w->variant) {
	case 0:
		return gg.ggml_sqr(w->context, a);
	case 1:
		return gg.ggml_sqrt(w->context, a);
	case 2:
		return gg.ggml_log(w->context, a);
	case 3:
		return gg.ggml_sin(w->context, a);
	default:
		return gg.ggml_cos(w->context, a);
	}
}

static struct gg_tensor *gated(struct world *w)
{
	static const char *const names[] = { "REGLU", "GEGLU", "SWIGLU", "GEGLU_ERF",
					     "GEGLU_QUICK" };
	uint32_t number = number_of(gg.ggml_glu_op_name, names[w->variant % 5]);

	if (w->variant / 5 == 2)
		return gg.ggml_glu_split(w->context, real(w, 24, 5, 1, 1), real(w, 24, 5, 1, 1),
					 number);
	return gg.ggml_glu(w->context, real(w, 48, 5, 1, 1), number, w->variant / 5);
}

/* ---- operators of rows */

static struct gg_tensor *row(struct world *w)
{
	struct gg_tensor *a = real(w, 70, 5, 2, 1);

	switch (w->variant) {
	case 0:
		return gg.ggml_norm(w->context, a, 1e-5f);
	case 1:
		return gg.ggml_rms_norm(w->context, a, 1e-6f);
	case 2:
		return gg.ggml_sum_rows(w->context, a);
	default:
		return gg.ggml_mean(w->context, a);
	}
}

/*
 * Returns a product with a matrix of a type that depends on the variant. The matrix is a weight in
 * some variants, and an operand that may change in the others.
 */
static struct gg_tensor *product(struct world *w)
{
	static const char *const types[] = { "f32",  "f16",    "bf16",	 "q4_0", "q4_1",
					     "q8_0", "q5_0",   "q5_1",	 "q4_K", "q5_K",
					     "q6_K", "iq4_nl", "iq4_xs", "mxfp4" };
	static const int64_t lines[] = { 1, 9 };
	int count = sizeof(types) / sizeof(types[0]);
	struct gg_tensor *a, *b;

	w->is_weight = w->variant / count % 2;
	a = leaf(w, FILL_REAL, types[w->variant % count], 256, 33, 1, 1);
	w->is_weight = false;
	b = real(w, 256, lines[w->variant / count / 2 % 2], 1, 1);
	return gg.ggml_mul_mat(w->context, a, b);
}

/* Returns products with a quantised weight and with its first rows, in both orders. */
static struct gg_tensor *product_of_slice(struct world *w)
{
	struct gg_tensor *x = real(w, 64, 3, 1, 1), *whole, *slice;

	w->is_weight = true;
	whole = leaf(w, FILL_REAL, w->variant / 2 ? "q8_0" : "q4_0", 64, 48, 1, 1);
	w->is_weight = false;
	slice = gg.ggml_view_4d(w->context, whole, 64, 32, 1, 1, whole->nb[1], whole->nb[2],
				whole->nb[3], 0);
	slice = gg.ggml_mul_mat(w->context, slice, x);
	whole = gg.ggml_mul_mat(w->context, whole, x);
	return w->variant % 2 ? gg.ggml_concat(w->context, whole, slice, 0) :
				gg.ggml_concat(w->context, slice, whole, 0);
}

/*
 * Returns a product in which several matrices of @b share one of @a; @b may be a transposed view.
 */
static struct gg_tensor *batch_product(struct world *w)
{
	struct gg_tensor *a = leaf(w, FILL_REAL, w->variant % 2 ? "f16" : "f32", 32, 11, 2, 3), *b;

	if (w->variant < 2)
		return gg.ggml_mul_mat(w->context, a, real(w, 32, 5, 6, 3));
	b = gg.ggml_permute(w->context, real(w, 32, 2, 5, 3), 0, 2, 1, 3);
	return gg.ggml_mul_mat(w->context, a, b);
}

/*
 * Returns products with matrices (experts) that indices select, two for each token. The variant
 * chooses one token or five, a row of its own for each expert of a token or one row for both, the
 * type of the matrices, and whether they are weights or may change.
 */
static struct gg_tensor *product_of_experts(struct world *w)
{
	static const char *const types[] = { "f32", "f16", "bf16", "q4_0", "q8_0", "q4_K", "mxfp4" };
	int count = sizeof(types) / sizeof(types[0]), form = w->variant / count;
	int64_t tokens = form / 2 % 2 ? 5 : 1;
	struct gg_tensor *a, *b;

	w->is_weight = form / 4 % 2;
	a = leaf(w, FILL_REAL, types[w->variant % count], 256, 33, 4, 1);
	w->is_weight = false;
	b = real(w, 256, form % 2 ? 2 : 1, tokens, 1);
	return gg.ggml_mul_mat_id(w->context, a, b, rows(w, FILL_ROWS, 4, 2, tokens));
}

/* Returns products with matrices that the largest elements of rows select, as a router does. */
static struct gg_tensor *routed(struct world *w)
{
	struct gg_tensor *scores = real(w, 8, 300, 1, 1), *order, *a;

	order = gg.ggml_argsort(w->context, scores, w->variant ? 0 : 1);
	order = gg.ggml_view_4d(w->context, order, 3, 300, 1, 1, order->nb[1], order->nb[2],
				order->nb[3], 0);
	w->is_weight = true;
	a = leaf(w, FILL_REAL, "q4_0", 32, 16, 8, 1);
	w->is_weight = false;
	a = gg.ggml_mul_mat_id(w->context, a, real(w, 32, 1, 300, 1), order);
	scores = gg.ggml_view_4d(w->context, scores, 1, 8, 300, 1, scores->nb[0], scores->nb[1],
				 scores->nb[2], 0);
	return gg.ggml_mul(w->context, a, gg.ggml_get_rows(w->context, scores, order));
}

static struct gg_tensor *get_rows(struct world *w)
{
	static const char *const types[] = { "f32", "f16", "q4_0", "q8_0", "mxfp4" };
	int64_t batches = w->variant / 5 ? 3 : 1;
	struct gg_tensor *table = leaf(w, FILL_REAL, types[w->variant % 5], 64, 17, batches, 1);

	return gg.ggml_get_rows(w->context, table, rows(w, FILL_ROWS, 17, 6, batches));
}

/* ---- operators that move elements */

/* Returns a graph that puts rows into a cache and reads a view of the cache. */
static struct gg_tensor *set_rows(struct world *w)
{
	struct gg_tensor *cache = leaf(w, FILL_REAL, w->variant ? "f16" : "f32", 24, 20, 1, 1);
	struct gg_tensor *written = gg.ggml_set_rows(w->context, cache,
						     gg.ggml_sqr(w->context, real(w, 24, 4, 1, 1)),
						     rows(w, FILL_DISTINCT, 20, 4, 1));

	return gg.ggml_mul_mat(w->context, written, real(w, 24, 3, 1, 1));
}

/*
 * Returns a copy, by variant: of a transposed or permuted view, into float16, of the tensor as it
 * is, from a view with strides, or of a view with strides that was written.
 */
static struct gg_tensor *copy(struct world *w)
{
	struct gg_tensor *a = real(w, 12, 10, 3, 1), *to;

	switch (w->variant) {
	case 0:
		return gg.ggml_cont(w->context, gg.ggml_transpose(w->context, a));
	case 1:
		return gg.ggml_cont(w->context, gg.ggml_permute(w->context, a, 2, 0, 1, 3));
	case 2:
		return gg.ggml_cpy(w->context, a, leaf(w, FILL_REAL, "f16", 12, 10, 3, 1));
	case 3:
		return gg.ggml_dup(w->context, a);
	case 4:
		return gg.ggml_cont(w->context,
				    gg.ggml_view_4d(w->context, a, 5, 4, 2, 1, 96, 480, 1440, 28));
	default:
		to = leaf(w, FILL_REAL, "f32", 20, 14, 3, 1);
		to = gg.ggml_cpy(w->context, a,
				 gg.ggml_view_4d(w->context, to, 12, 10, 3, 1, 80, 1120, 3360, 16));
		return gg.ggml_cont(w->context, to);
	}
}

/* Returns a graph that puts rows into a computed tensor and then reads all of it. */
static struct gg_tensor *write_slice(struct world *w)
{
	struct gg_tensor *whole = gg.ggml_sqr(w->context, real(w, 12, 6, 1, 1)), *slice;

	slice = gg.ggml_view_4d(w->context, whole, 12, 2, 1, 1, 48, 96, 96, 48);
	slice = gg.ggml_cpy(w->context, real(w, 12, 2, 1, 1), slice);
	return gg.ggml_concat(w->context, slice, whole, 1);
}

/*
 * Returns a graph that reads a slice from the middle of a computed row: as two rows of four
 * elements, or as one element.
 */
static struct gg_tensor *read_slice(struct world *w)
{
	struct gg_tensor *whole = gg.ggml_sqr(w->context, real(w, 10, 1, 1, 1));
	int64_t columns = w->variant ? 1 : 4, lines = w->variant ? 1 : 2;
	struct gg_tensor *slice =
		gg.ggml_view_4d(w->context, whole, columns, lines, 1, 1, 16, 32, 32, 8);

	return gg.ggml_mul(w->context, slice, leaf(w, FILL_POSITIVE, "f32", columns, lines, 1, 1));
}

static struct gg_tensor *concat(struct world *w)
{
	int64_t ne[4] = { 6, 5, 4, 3 };
	struct gg_tensor *a = real(w, 6, 5, 4, 3);

	if (w->variant == 4)
		return gg.ggml_repeat(w->context, a, real(w, 12, 5, 8, 3));
	ne[w->variant] = 7;
	return gg.ggml_concat(w->context, a, real(w, ne[0], ne[1], ne[2], ne[3]), w->variant);
}

/* ---- attention */

static struct gg_tensor *soft_max(struct world *w)
{
	struct gg_tensor *a = real(w, 21, 6, 4, 2), *mask = NULL, *y;

	if (w->variant)
		mask = leaf(w, FILL_MASK, w->variant % 2 ? "f16" : "f32", 21,
			    w->variant > 2 ? 8 : 6, w->variant > 2 ? 2 : 1, 1);
	y = gg.ggml_soft_max_ext(w->context, a, mask, 0.7f, w->variant > 3 ? 8.0f : 0);
	if (w->variant == 2)
		gg.ggml_soft_max_add_sinks(y, real(w, 4, 1, 1, 1));
	return y;
}

/*
 * Returns a rotation of pairs of elements, by variant: a pair is two neighbours, or an element of
 * each half; all elements of a row are rotated or only the first ones; each frequency may have a
 * factor, or be scaled for long contexts.
 */
static struct gg_tensor *rope(struct world *w)
{
	struct gg_tensor *a = real(w, 32, 3, 5, 1), *factors = NULL;
	struct gg_tensor *positions = rows(w, FILL_ROWS, 300, 5, 1);
	int count = w->variant / 2 % 2 ? 20 : 32;

	if (w->variant / 4 == 1)
		factors = leaf(w, FILL_POSITIVE, "f32", 16, 1, 1, 1);
	return gg.ggml_rope_ext(w->context, a, positions, factors, count, w->variant % 2 * 2, 512,
				10000, w->variant / 4 == 2 ? 0.25f : 1,
				w->variant / 4 == 2 ? 1.0f : 0, 1, 32, 1);
}

static struct gg_tensor *attention(struct world *w)
{
	const char *type = w->variant % 2 ? "f16" : "f32";
	struct gg_tensor *q = real(w, 32, w->variant / 2 % 2 ? 1 : 7, 6, 1), *mask = NULL, *y;
	struct gg_tensor *k = leaf(w, FILL_REAL, type, 32, 40, 2, 1);
	struct gg_tensor *v = leaf(w, FILL_REAL, type, 32, 40, 2, 1);

	if (w->variant > 1)
		mask = leaf(w, FILL_MASK, "f16", 40, 8, 1, 1);
	y = gg.ggml_flash_attn_ext(w->context, q, k, v, mask, 0.17f, w->variant == 4 ? 8.0f : 0,
				   w->variant == 5 ? 10.0f : 0);
	if (w->variant == 3)
		gg.ggml_flash_attn_ext_add_sinks(y, real(w, 6, 1, 1, 1));
	return y;
}

/*
 * Returns a block of a network with quantised weights, in which an operator reads a view of some
 * columns of a product.
 */
static struct gg_tensor *block(struct world *w)
{
	struct gg_tensor *x = real(w, 64, 3, 1, 1), *y, *gate, *up, *down;

	w->is_weight = true;
	gate = leaf(w, FILL_REAL, "q4_1", 64, 192, 1, 1);
	up = leaf(w, FILL_POSITIVE, "f32", 64, 1, 1, 1);
	down = leaf(w, FILL_REAL, "q4_0", 96, 64, 1, 1);
	w->is_weight = false;
	y = gg.ggml_mul(w->context, gg.ggml_rms_norm(w->context, x, 1e-5f), up);
	y = gg.ggml_mul_mat(w->context, gate, y);
	y = gg.ggml_glu_split(w->context,
			      gg.ggml_cont(w->context, gg.ggml_view_4d(w->context, y, 96, 3, 1, 1,
								       768, 2304, 2304, 0)),
			      gg.ggml_cont(w->context, gg.ggml_view_4d(w->context, y, 96, 3, 1, 1,
								       768, 2304, 2304, 384)),
			      number_of(gg.ggml_glu_op_name, "SWIGLU"));
	return gg.ggml_add(w->context, x, gg.ggml_mul_mat(w->context, down, y));
}

const struct test_case cases[] = {
	{ "binary", 20, binary },
	{ "scale", 2, scale },
	{ "clamp", 2, clamp },
	{ "function", 15, function },
	{ "function of an operator", 5, function_of_op },
	{ "gated", 15, gated },
	{ "row", 4, row },
	{ "product", 56, product },
	{ "product of a part", 4, product_of_slice },
	{ "product of batches", 4, batch_product },
	{ "product of experts", 56, product_of_experts },
	{ "router", 2, routed },
	{ "get rows", 10, get_rows },
	{ "set rows", 2, set_rows },
	{ "copy", 6, copy },
	{ "write a part", 1, write_slice },
	{ "read a part", 2, read_slice },
	{ "join", 5, concat },
	{ "softmax", 5, soft_max },
	{ "rope", 12, rope },
	{ "attention", 6, attention },
	{ "block", 1, block },
	{ NULL, 0, NULL },
};
