// SPDX-License-Identifier: MIT
/*
 * TfIdfVectorizer of numbers: counts how often n-grams occur, by comparing the input with all
 * n-grams at once.
 */
#include "ops.h"

enum mode { TF, IDF };

struct grams {
	const int64_t *pool, *starts, *places;
	size_t numbers, lengths, count;
	const float *weights;
	bool frequency;
	int64_t least, most, skips, columns;
};

static int read_grams(struct onnx_node *node, struct grams *g)
{
	static const char *const modes[] = { "TF", "IDF", "TFIDF" };
	int mode = onnx_attr_choice(node, "mode", modes[TF], modes, 3);
	const Onnx__AttributeProto *weights = onnx_attr(node, "weights");

	*g = (struct grams){ .least = onnx_attr_int(node, "min_gram_length", 1),
			     .most = onnx_attr_int(node, "max_gram_length", 1),
			     .skips = onnx_attr_int(node, "max_skip_count", 0),
			     .frequency = mode != IDF };
	g->pool = onnx_attr_ints(node, "pool_int64s", &g->numbers);
	g->starts = onnx_attr_ints(node, "ngram_counts", &g->lengths);
	g->places = onnx_attr_ints(node, "ngram_indexes", &g->count);
	if (!g->pool)
		return onnx_refuse(node, "pool_strings", "WebNN has no strings");
	if (mode < 0)
		return -1;
	if (g->least < 1 || g->most < g->least || g->most > (int64_t)g->lengths || g->skips < 0 ||
	    g->skips > 1000 || !g->count)
		return onnx_refuse(
			node, "ngram_counts",
			"groups of %lld to %lld numbers that skip up to %lld do not fit "
			"ngram_counts with %zu items: min_gram_length is from 1 to "
			"max_gram_length, that up to their number, and max_skip_count from "
			"0 to 1000",
			(long long)g->least, (long long)g->most, (long long)g->skips, g->lengths);
	if (weights && mode != TF) {
		if (weights->n_floats != g->count)
			return onnx_refuse(node, "weights", "weights has %zu items for %zu groups",
					   weights->n_floats, g->count);
		g->weights = weights->floats;
	}
	for (size_t i = 0; i < g->count; i++) {
		if (g->places[i] < 0 || g->places[i] >= ONNX_INDICES)
			return onnx_refuse(node, "ngram_indexes",
					   "ngram_indexes has an item %lld: 0 to %lld are allowed",
					   (long long)g->places[i], (long long)ONNX_INDICES - 1);
		if (g->places[i] >= g->columns)
			g->columns = g->places[i] + 1;
	}
	return 0;
}

/* Returns how often each of @count n-grams of @length numbers occurs: [batch, count]. */
static WNNOperand count_grams(struct onnx_node *node, const struct grams *g, WNNOperand x,
			      const int64_t *pool, int64_t length, int64_t count)
{
	int64_t size = x_shape(x).dim[1], skips = length > 1 ? g->skips : 0;
	struct onnx_shape row = { 3, { 1, 1, count } };
	int64_t *numbers = onnx_node_alloc(node, (size_t)count * sizeof(*numbers));
	WNNOperand sum = NULL;

	if (!numbers || onnx_unroll(node, (uint64_t)((skips + 1) * (2 * length + 3))))
		return NULL;
	for (int64_t skip = 0; skip <= skips && (length - 1) * (skip + 1) < size; skip++) {
		WNNOperand all = NULL;

		for (int64_t k = 0; k < length; k++) {
			WNNOperand part = x_slice_axis(node, x, 1, k * (skip + 1),
						       size - (length - 1) * (skip + 1), 1),
				   equal;

			for (int64_t i = 0; i < count; i++)
				numbers[i] = pool[i * length + k];
			equal = x_equal(node, part,
					x_constant(node, WNNOperandDataType_Int64, &row, numbers));
			all = all ? x_and(node, all, equal) : equal;
		}
		all = all ? x_cast(node, all, WNNOperandDataType_Float32) : NULL;
		all = x_reduce1(node, X_SUM, all, 1, false);
		sum = sum ? x_add(node, sum, all) : all;
	}
	if (!sum) {
		struct onnx_shape none = { 2, { x_shape(x).dim[0], count } };

		sum = x_expand(node, x_number(node, WNNOperandDataType_Float32, 0), &none);
	}
	return sum;
}

/* Puts counts in the order of the result's columns; a column that no n-gram has is 0. */
static WNNOperand arrange(struct onnx_node *node, const struct grams *g, WNNOperand counts,
			  const int64_t *used, size_t total)
{
	int64_t begin[2] = { 0 }, end[2] = { 0, 1 };
	int64_t *from = onnx_node_alloc(node, (size_t)g->columns * sizeof(*from));
	float *weights = onnx_node_alloc(node, (size_t)g->columns * sizeof(*weights));
	struct onnx_shape row = { 1, { g->columns } };

	if (!from || !weights)
		return NULL;
	/*
	 * ONNX assigns weights to the n-grams of the pool, but its reference and ONNX Runtime
	 * assign them to the columns; mostly this is the same.
	 */
	for (int64_t i = 0; i < g->columns; i++) {
		from[i] = (int64_t)total;
		weights[i] = g->weights && i < (int64_t)g->count ? g->weights[i] : 1;
	}
	for (size_t i = 0; i < total; i++)
		from[g->places[used[i]]] = (int64_t)i;
	counts = x_gather(node, x_pad(node, counts, begin, end, 0),
			  x_constant_ints(node, (size_t)g->columns, from), 1);
	if (!g->frequency)
		counts = x_min(node, counts, x_like(node, counts, 1));
	if (g->weights)
		counts = x_mul(node, counts,
			       x_constant(node, WNNOperandDataType_Float32, &row, weights));
	return counts;
}

/*
 * Translates TfIdfVectorizer. The pool has the n-grams of one number first, then the n-grams of two
 * numbers, and so on.
 */
int onnx_op_tf_idf(struct onnx_node *node)
{
	WNNOperand x = onnx_in(node, 0), parts[16];
	struct onnx_shape shape, rows;
	size_t total = 0, count = 0, first = 0;
	struct grams g;
	int64_t *used;

	if (!x || read_grams(node, &g))
		return -1;
	shape = x_shape(x);
	if (shape.rank != 1 && shape.rank != 2)
		return onnx_refuse(node, "", "its input has %u dimensions instead of 1 or 2",
				   shape.rank);
	rows = (struct onnx_shape){
		3, { shape.rank == 2 ? shape.dim[0] : 1, shape.dim[shape.rank - 1], 1 }
	};
	x = x_cast(node, x_reshape(node, x, &rows), WNNOperandDataType_Int64);
	used = onnx_node_alloc(node, g.count * sizeof(*used));
	for (size_t i = 0; used && x && i < (size_t)g.most; i++) {
		size_t length = i + 1, begin = (size_t)g.starts[i], groups;
		size_t end = i + 1 < g.lengths ? (size_t)g.starts[i + 1] : g.numbers;

		groups = end >= begin ? (end - begin) / length : 0;
		if (end < begin || end > g.numbers || groups > g.count - first || length > 16)
			return onnx_refuse(
				node, "ngram_counts",
				"ngram_counts and the pool of numbers do not fit together");
		if (groups && (int64_t)length >= g.least) {
			parts[count] = count_grams(node, &g, x, g.pool + begin, (int64_t)length,
						   (int64_t)groups);
			if (!parts[count++])
				return onnx_out(node, 0, NULL);
			for (size_t k = 0; k < groups; k++)
				used[total++] = (int64_t)(first + k);
		}
		first += groups;
	}
	if (!used || !count)
		return onnx_refuse(
			node, "ngram_counts",
			"ngram_counts has no groups of min_gram_length to max_gram_length");
	x = arrange(node, &g, x_concat(node, count, parts, 1), used, total);
	if (shape.rank == 1)
		x = x ? x_at(node, x, 0, 0) : NULL;
	return onnx_out(node, 0, x);
}
