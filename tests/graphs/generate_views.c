// SPDX-License-Identifier: MIT
/*
 * Draws operators that move no number, or whose moves are undone later: transposes round other
 * work, slices that are concatenated again, reshapes, heads of an attention.
 */
#include "generate.h"

#include <string.h>

#include "util/number.h"

#define NODES_OF_VIEWS 16 /* most nodes that the views take */

static int append(struct generator *g, enum wnn_op op, int a, int b)
{
	return a < 0 ? GRAPH_ABSENT : generator_append(g, generator_node(g, op, a, b));
}

static int transposed(struct generator *g, int x, const uint32_t *perm)
{
	struct graph_node *node = generator_node(g, WNN_OP_TRANSPOSE, x, GRAPH_ABSENT);

	if (x < 0)
		return GRAPH_ABSENT;
	set_list(graph_option(node, "permutation"), g->graph->values[x].rank, perm);
	return generator_append(g, node);
}

static int slice(struct generator *g, int x, uint32_t axis, uint32_t begin, uint32_t size)
{
	struct graph_node *node = generator_node(g, WNN_OP_SLICE, x, GRAPH_ABSENT);
	uint32_t starts[IR_MAX_RANK] = { 0 }, sizes[IR_MAX_RANK], rank = g->graph->values[x].rank;

	memcpy(sizes, g->graph->values[x].dims, sizeof(sizes));
	starts[axis] = begin;
	sizes[axis] = size;
	set_list(graph_argument(node, "starts"), rank, starts);
	set_list(graph_argument(node, "sizes"), rank, sizes);
	return generator_append(g, node);
}

static int concatenated(struct generator *g, uint32_t count, const int *parts, uint32_t axis)
{
	struct graph_node *node = generator_node(g, WNN_OP_CONCAT, parts[0], GRAPH_ABSENT);

	for (uint32_t i = 0; i < count; i++) {
		if (parts[i] < 0)
			return GRAPH_ABSENT;
		node->operands[i] = parts[i];
	}
	node->num_operands = count;
	set_word(graph_argument(node, "axis"), axis);
	return generator_append(g, node);
}

static int function_of(struct generator *g, int x)
{
	static const enum wnn_op ops[] = { WNN_OP_RELU, WNN_OP_SIGMOID, WNN_OP_ABS, WNN_OP_NEG };

	return append(g, ops[rng_below(&g->rng, ARRAY_SIZE(ops))], x, GRAPH_ABSENT);
}

/* ---- transposes */

/*
 * Appends one of seven functions of a transposed value, some of which work along an axis. Returns
 * the id of the result, or x itself when a dimension to slice has size 1.
 */
static int work_of(struct generator *g, int x)
{
	const struct graph_value like = g->graph->values[x];
	uint32_t axis = rng_below(&g->rng, like.rank), last = like.rank - 1;
	struct graph_node *node;
	int other;

	switch (rng_below(&g->rng, 7)) {
	case 0:
		return append(g, WNN_OP_MUL, x, append(g, WNN_OP_SIGMOID, x, GRAPH_ABSENT));
	case 1:
		other = generator_leaf(g, like.type, 1, &like.dims[last],
				       (struct fill){ GRAPH_UNIFORM, -1, 1 });
		if (other >= 0 && rng_chance(&g->rng, 70))
			g->graph->values[other].kind = GRAPH_CONSTANT;
		return append(g, WNN_OP_ADD, x, other);
	case 2:
		node = generator_node(g, WNN_OP_SOFTMAX, x, GRAPH_ABSENT);
		set_word(graph_argument(node, "axis"), axis);
		return generator_append(g, node);
	case 3:
		return like.dims[axis] < 2 ?
			       x :
			       slice(g, x, axis, rng_below(&g->rng, 2), like.dims[axis] - 1);
	case 4:
		return concatenated(g, 2, (int[]){ function_of(g, x), x }, axis);
	case 5:
		node = generator_node(g, WNN_OP_REDUCE_MAX, x, GRAPH_ABSENT);
		set_list(graph_option(node, "axes"), 1, &axis);
		set_word(graph_option(node, "keepDimensions"), 1);
		other = generator_append(g, node);
		return other < 0 ? other : append(g, WNN_OP_SUB, x, other);
	default:
		return function_of(g, x);
	}
}

static int turned(struct generator *g, int x)
{
	uint32_t rank = g->graph->values[x].rank, perm[IR_MAX_RANK], back[IR_MAX_RANK];

	for (uint32_t i = 0; i < rank; i++)
		perm[i] = i;
	for (uint32_t i = rank; i > 1; i--) {
		uint32_t k = rng_below(&g->rng, i), other = perm[k];

		perm[k] = perm[i - 1];
		perm[i - 1] = other;
	}
	for (uint32_t i = 0; i < rank; i++)
		back[perm[i]] = i;
	x = transposed(g, x, perm);
	for (uint32_t i = rng_below(&g->rng, 4); i-- > 0 && x >= 0;)
		x = work_of(g, x);
	return transposed(g, x, rng_chance(&g->rng, 80) ? back : perm);
}

/* ---- slices */

/*
 * Slices x in two parts along an axis, applies functions to most parts, and concatenates the parts
 * in another order, now and then with one of them twice. When the axis has size 1, only applies a
 * function. Returns the id of the result, or GRAPH_ABSENT.
 */
static int parted(struct generator *g, int x)
{
	const struct graph_value like = g->graph->values[x];
	uint32_t axis = 0, first;
	int parts[3], old;

	while (axis + 1 < like.rank && (like.dims[axis] == 1 || rng_chance(&g->rng, 15)))
		axis++;
	if (like.dims[axis] < 2)
		return function_of(g, x);
	if (rng_chance(&g->rng, 60))
		x = function_of(g, x);
	if (x < 0)
		return x;
	first = rng_between(&g->rng, 1, like.dims[axis] - 1);
	parts[0] = slice(g, x, axis, first, like.dims[axis] - first);
	parts[1] = slice(g, x, axis, 0, first);
	for (uint32_t i = 0; i < 2; i++) {
		old = parts[i];
		if (old >= 0 && rng_chance(&g->rng, 75))
			parts[i] = function_of(g, old);
	}
	parts[2] = parts[rng_below(&g->rng, 2)];
	return concatenated(g, rng_chance(&g->rng, 25) ? 3 : 2, parts, axis);
}

/* ---- reshapes */

static int reshapes(struct generator *g, int x)
{
	const struct graph_value like = g->graph->values[x];
	uint32_t dims[IR_MAX_RANK] = { 1, 1 }, rank = rng_between(&g->rng, 1, 3);

	dims[rank - 1] = 1;
	for (uint32_t i = 0; i < like.rank; i++)
		dims[rank - 1] *= like.dims[i];
	x = generator_reshaped(g, x, rank, dims);
	if (x >= 0 && rng_chance(&g->rng, 60))
		x = function_of(g, x);
	x = generator_reshaped(g, x, like.rank, like.dims);
	return x >= 0 && rng_chance(&g->rng, 50) ? function_of(g, x) : x;
}

/* ---- products of one value with several matrices */

/*
 * Appends the product with a constant matrix and, with @biased, the sum with a bias. Returns the id
 * of the result, or GRAPH_ABSENT.
 */
static int projected(struct generator *g, int x, uint32_t columns, bool biased)
{
	const struct graph_value like = g->graph->values[x];
	const uint32_t dims[2] = { like.dims[like.rank - 1], columns };
	int b = generator_leaf(g, like.type, 2, dims, (struct fill){ GRAPH_UNIFORM, -1, 1 });
	int y;

	if (b < 0)
		return GRAPH_ABSENT;
	g->graph->values[b].kind = GRAPH_CONSTANT;
	y = generator_append(g, generator_node(g, WNN_OP_MATMUL, x, b));
	if (y < 0 || !biased)
		return y;
	b = generator_leaf(g, like.type, 1, &columns, (struct fill){ GRAPH_UNIFORM, -1, 1 });
	if (b < 0)
		return GRAPH_ABSENT;
	g->graph->values[b].kind = GRAPH_CONSTANT;
	return generator_either(g, WNN_OP_ADD, y, b);
}

/*
 * Multiplies x by each of two or three constant matrices, and concatenates or adds the products.
 * Returns the id of the result, or GRAPH_ABSENT.
 */
static int branches(struct generator *g, int x)
{
	uint32_t count = rng_between(&g->rng, 2, 3), columns = rng_between(&g->rng, 1, 12);
	bool biased = rng_chance(&g->rng, 50), join = rng_chance(&g->rng, 60);
	uint32_t axis = g->graph->values[x].rank - 1;
	int parts[3];

	for (uint32_t i = 0; i < count; i++) {
		parts[i] = projected(g, x, columns, rng_chance(&g->rng, 15) ? !biased : biased);
		if (parts[i] >= 0 && rng_chance(&g->rng, 10))
			parts[i] = function_of(g, parts[i]);
		if (parts[i] < 0)
			return GRAPH_ABSENT;
		if (join)
			columns = rng_between(&g->rng, 1, 12);
	}
	if (join)
		return concatenated(g, count, parts, axis);
	for (uint32_t i = 1; i < count; i++)
		parts[0] = generator_binary(g, WNN_OP_ADD, parts[0], parts[i]);
	return parts[0];
}

/* ---- work behind reshapes of products */

/* Appends a pad of the last of three dimensions with 0 to 2 zeros on each side; returns its id. */
static int padded_row(struct generator *g, int x)
{
	struct graph_node *node = generator_node(g, WNN_OP_PAD, x, GRAPH_ABSENT);
	const uint32_t begin[3] = { 0, 0, rng_below(&g->rng, 3) };
	const uint32_t end[3] = { 0, 0, rng_below(&g->rng, 3) };

	set_list(graph_argument(node, "beginningPadding"), 3, begin);
	set_list(graph_argument(node, "endingPadding"), 3, end);
	return generator_append(g, node);
}

/*
 * Appends a convolution or a matrix product, reshapes the result, and appends one to three calls:
 * factors or summands of channels, or functions. The image of the convolution may be padded in one
 * dimension. Returns the id of the last result, or a number below 0.
 */
static int reshaped_products(struct generator *g, int like)
{
	const struct fill fill = { GRAPH_UNIFORM, -1, 1 };
	WNNOperandDataType type = g->graph->values[like].type;
	uint32_t rows = rng_between(&g->rng, 2, 9), depth = rng_between(&g->rng, 1, 4);
	uint32_t heads = rng_between(&g->rng, 1, 3), size = rng_between(&g->rng, 1, 3);
	uint32_t channels = heads * size;
	bool conv = rng_chance(&g->rng, 50);
	int x, y, other;

	if (conv) {
		const uint32_t line[3] = { 1, depth, rows }, filter[4] = { channels, depth, 1, 2 };

		x = generator_leaf(g, type, 3, line, fill);
		if (x >= 0 && rng_chance(&g->rng, 50))
			x = padded_row(g, x);
		if (x < 0)
			return GRAPH_ABSENT;
		rows = g->graph->values[x].dims[2];
		x = generator_reshaped(g, x, 4, (uint32_t[]){ 1, depth, 1, rows });
		other = generator_leaf(g, type, 4, filter, fill);
		if (other >= 0)
			g->graph->values[other].kind = GRAPH_CONSTANT;
		y = append(g, WNN_OP_CONV2D, x, other);
		y = y < 0 ? y : generator_reshaped(g, y, 3, (uint32_t[]){ 1, channels, rows - 1 });
	} else {
		x = generator_leaf(g, type, 2, (uint32_t[]){ rows, depth }, fill);
		y = x < 0 ? x : projected(g, x, channels, rng_chance(&g->rng, 30));
		y = y < 0 ? y : generator_reshaped(g, y, 4, (uint32_t[]){ 1, rows, heads, size });
	}
	for (uint32_t i = rng_between(&g->rng, 1, 3); i-- > 0 && y >= 0;) {
		const uint32_t wide[3] = { channels, 1 }, divided[2] = { heads, size };

		if (rng_chance(&g->rng, 40)) {
			y = function_of(g, y);
			continue;
		}
		other = generator_leaf(g, type, 2, conv ? wide : divided, fill);
		if (other < 0)
			return GRAPH_ABSENT;
		if (rng_chance(&g->rng, 90))
			g->graph->values[other].kind = GRAPH_CONSTANT;
		y = generator_either(g, rng_chance(&g->rng, 50) ? WNN_OP_MUL : WNN_OP_ADD, y,
				     other);
	}
	return y;
}

/* ---- heads of an attention */

/*
 * Returns the id of queries, keys or values as [head][row][depth] or, with @turned, as
 * [head][depth][row]. They are all of the value @all or, when @all is wider, its slice number
 * @slice_of_all.
 */
static int heads_of(struct generator *g, int all, uint32_t slice_of_all, const uint32_t *dims,
		    bool turned)
{
	static const uint32_t to_heads[] = { 1, 0, 2 }, to_columns[] = { 1, 2, 0 };
	const uint32_t size[2] = { dims[0], dims[1] * dims[2] };
	int x = all;

	if (all >= 0 && g->graph->values[all].dims[1] != size[1])
		x = slice(g, all, 1, slice_of_all * size[1], size[1]);
	x = x < 0 ? GRAPH_ABSENT : generator_reshaped(g, x, 3, dims);
	return transposed(g, x, turned ? to_columns : to_heads);
}

/*
 * Appends an attention, with a number of rows for which products read and write with strides;
 * returns the id of its result, or GRAPH_ABSENT.
 */
static int attended(struct generator *g, int like)
{
	static const uint32_t back[] = { 1, 0, 2 };
	const uint32_t dims[3] = { rng_between(&g->rng, 30, 40), rng_between(&g->rng, 1, 3),
				   rng_between(&g->rng, 14, 20) };
	const uint32_t size[2] = { dims[0], dims[1] * dims[2] };
	const uint32_t wide[2] = { dims[0], 3 * size[1] };
	const struct fill fill = { GRAPH_UNIFORM, -1, 1 };
	WNNOperandDataType type = g->graph->values[like].type;
	bool together = rng_chance(&g->rng, 50), turned = rng_chance(&g->rng, 50);
	int all = generator_leaf(g, type, 2, together ? wide : size, fill), query, key, x;

	query = heads_of(g, all, 0, dims, false);
	if (!together)
		all = generator_leaf(g, type, 2, size, fill);
	key = heads_of(g, all, 1, dims, turned);
	if (!turned)
		key = transposed(g, key, (const uint32_t[]){ 0, 2, 1 });
	if (query < 0 || key < 0)
		return GRAPH_ABSENT;
	x = generator_append(g, generator_node(g, WNN_OP_MATMUL, query, key));
	key = heads_of(g, all, 2, dims, false);
	if (x < 0 || key < 0)
		return GRAPH_ABSENT;
	x = generator_append(g, generator_node(g, WNN_OP_MATMUL, x, key));
	x = transposed(g, x, back);
	return x < 0 || rng_chance(&g->rng, 30) ? x : generator_reshaped(g, x, 2, size);
}

int generator_views(struct generator *g, int x)
{
	if (g->graph->num_nodes + NODES_OF_VIEWS > GRAPH_MAX_NODES || !g->graph->values[x].rank)
		return GRAPH_ABSENT;
	switch (rng_below(&g->rng, 8)) {
	case 0:
	case 1:
		return turned(g, x);
	case 2:
		return reshapes(g, x);
	case 3:
		return attended(g, x);
	case 4:
		return g->graph->values[x].rank < 2 ? reshapes(g, x) : branches(g, x);
	case 5:
		return reshaped_products(g, x);
	default:
		return parted(g, x);
	}
}
