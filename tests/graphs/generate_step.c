// SPDX-License-Identifier: MIT
/*
 * Draws steps of a decoder: rows of new tokens get a rotary embedding of their positions and are
 * concatenated with cached rows; products read all of these rows.
 */
#include "generate.h"

#include <string.h>

#define NODES_OF_STEP 27 /* most nodes that a step takes */

/* ---- rotary embedding */

/*
 * A rotary embedding: the count of numbers of each row that it changes, and which two of them form
 * a pair.
 */
struct rotation {
	uint32_t numbers;
	bool pairs; /* pairs are neighbours; else half a row apart */
};

/*
 * Slices one half of the rotating numbers of each row; with rotation.pairs, every second of them.
 * Returns the id of the slice. With probability 0.35, the second half begins one number too early.
 */
static int half_of(struct generator *g, int x, bool second, struct rotation rotation)
{
	const struct graph_value like = g->graph->values[x];
	struct graph_node *node = generator_node(g, WNN_OP_SLICE, x, GRAPH_ABSENT);
	uint32_t starts[IR_MAX_RANK] = { 0 }, sizes[IR_MAX_RANK], last = like.rank - 1;

	memcpy(sizes, like.dims, sizeof(sizes));
	sizes[last] = rotation.pairs ? rotation.numbers - 1 : rotation.numbers / 2;
	starts[last] = !second ? 0 : rotation.pairs ? 1 : sizes[last];
	/* Now and then the slice only looks like the second half. */
	if (second && rng_chance(&g->rng, 35))
		starts[last] -= 1;
	if (rotation.pairs) {
		uint32_t strides[IR_MAX_RANK];

		for (uint32_t i = 0; i < like.rank; i++)
			strides[i] = i == last ? 2 : 1;
		set_list(graph_option(node, "strides"), like.rank, strides);
	}
	set_list(graph_argument(node, "starts"), like.rank, starts);
	set_list(graph_argument(node, "sizes"), like.rank, sizes);
	return generator_append(g, node);
}

/*
 * Slices the numbers of each row after the first @rotated ones, now and then from one number
 * earlier; returns the id of the slice.
 */
static int rest_of(struct generator *g, int x, uint32_t rotated)
{
	const struct graph_value like = g->graph->values[x];
	struct graph_node *node = generator_node(g, WNN_OP_SLICE, x, GRAPH_ABSENT);
	uint32_t starts[IR_MAX_RANK] = { 0 }, sizes[IR_MAX_RANK], last = like.rank - 1;

	memcpy(sizes, like.dims, sizeof(sizes));
	sizes[last] -= rotated;
	starts[last] = rotated - rng_chance(&g->rng, 15);
	set_list(graph_argument(node, "starts"), like.rank, starts);
	set_list(graph_argument(node, "sizes"), like.rank, sizes);
	return generator_append(g, node);
}

static int concat_last(struct generator *g, int a, int b)
{
	struct graph_node *node = generator_node(g, WNN_OP_CONCAT, a, GRAPH_ABSENT);

	if (a < 0 || b < 0)
		return GRAPH_ABSENT;
	node->num_operands = 2;
	node->operands[1] = b;
	set_word(graph_argument(node, "axis"), g->graph->values[a].rank - 1);
	return generator_append(g, node);
}

static int interleaved(struct generator *g, int a, int b)
{
	struct graph_value rows;

	if (a < 0 || b < 0)
		return GRAPH_ABSENT;
	rows = g->graph->values[a];
	rows.dims[rows.rank] = 1;
	a = generator_reshaped(g, a, rows.rank + 1, rows.dims);
	b = generator_reshaped(g, b, rows.rank + 1, rows.dims);
	rows.dims[rows.rank - 1] *= 2;
	return generator_reshaped(g, concat_last(g, a, b), rows.rank, rows.dims);
}

/*
 * Concatenates the halves @a and @b, with @pairs so that their numbers alternate, and then @rest
 * unless it is negative. Returns the id of the result, or GRAPH_ABSENT.
 */
static int concat_halves(struct generator *g, int a, int b, int rest, bool pairs)
{
	struct graph_node *node;

	if (a < 0 || b < 0)
		return GRAPH_ABSENT;
	if (pairs) {
		a = interleaved(g, a, b);
		return a < 0 || rest < 0 ? a : concat_last(g, a, rest);
	}
	node = generator_node(g, WNN_OP_CONCAT, a, GRAPH_ABSENT);
	node->num_operands = rest < 0 ? 2 : 3;
	node->operands[1] = b;
	node->operands[2] = rest;
	set_word(graph_argument(node, "axis"), g->graph->values[a].rank - 1);
	return generator_append(g, node);
}

/*
 * Adds an input with cosines or sines, and returns its id: a row for each row of x, one row for
 * all, or one number.
 */
static int angles(struct generator *g, int x, uint32_t columns)
{
	const struct graph_value *like = &g->graph->values[x];
	uint32_t rank = rng_below(&g->rng, 3), dims[2] = { like->dims[like->rank - 2], columns };

	return generator_leaf(g, like->type, rank, dims + 2 - rank,
			      (struct fill){ GRAPH_UNIFORM, -1, 1 });
}

/*
 * Appends x * cosines + (x with swapped halves, one of them negated) * sines; returns the id of the
 * sum.
 */
static int rotate_rows(struct generator *g, int x, bool pairs)
{
	uint32_t columns = g->graph->values[x].dims[g->graph->values[x].rank - 1];
	const struct rotation rotation = { columns, pairs };
	int cosine = angles(g, x, columns), sine = angles(g, x, columns);
	int swapped = generator_unary(g, WNN_OP_NEG, half_of(g, x, true, rotation));
	int straight = generator_either(g, WNN_OP_MUL, x, cosine);

	swapped = concat_halves(g, swapped, half_of(g, x, false, rotation), GRAPH_ABSENT, pairs);
	swapped = generator_either(g, WNN_OP_MUL, swapped, sine);
	return generator_either(g, WNN_OP_ADD, straight, swapped);
}

/*
 * Returns the id of cosines or sines for half a row: an input of its own or, with probability 2/5,
 * a slice of a table for whole rows.
 */
static int half_angles(struct generator *g, int x, bool second, uint32_t columns)
{
	int table;

	if (rng_chance(&g->rng, 60))
		return angles(g, x, columns / 2);
	table = angles(g, x, columns);
	return table >= 0 && g->graph->values[table].rank ?
		       half_of(g, table, second, (struct rotation){ columns, false }) :
		       table;
}

static int rotate_halves(struct generator *g, int x, bool pairs)
{
	uint32_t columns = g->graph->values[x].dims[g->graph->values[x].rank - 1];
	const struct rotation rotation = {
		columns > 4 && rng_chance(&g->rng, 30) ? columns / 4 * 2 : columns, pairs
	};
	int cosine = half_angles(g, x, false, rotation.numbers);
	int sine = half_angles(g, x, true, rotation.numbers);
	int first = half_of(g, x, false, rotation), second = half_of(g, x, true, rotation);
	int a, b, difference;

	a = generator_either(g, WNN_OP_MUL, first, cosine);
	b = generator_either(g, WNN_OP_MUL, second, sine);
	difference = generator_binary(g, WNN_OP_SUB, a, b);
	a = generator_either(g, WNN_OP_MUL, second, cosine);
	b = generator_either(g, WNN_OP_MUL, first, sine);
	return concat_halves(
		g, difference, generator_either(g, WNN_OP_ADD, a, b),
		rotation.numbers < columns ? rest_of(g, x, rotation.numbers) : GRAPH_ABSENT, pairs);
}

static int rotated(struct generator *g, int x)
{
	const struct graph_value *like = &g->graph->values[x];
	bool pairs = like->rank < IR_MAX_RANK && rng_chance(&g->rng, 40);

	if (like->dims[like->rank - 1] % 2)
		return x;
	return rng_chance(&g->rng, 50) ? rotate_rows(g, x, pairs) : rotate_halves(g, x, pairs);
}

/* ---- caches */

/*
 * The order in which the caches of a step are concatenated: cached rows, rows of new tokens and,
 * now and then, further cached rows.
 */
struct layout {
	uint32_t before, after; /* cached rows in front of the new ones and after them */
	bool swap;		/* the new rows come first */
};

static int words(struct generator *g, int x, uint32_t rows)
{
	struct graph_value like = g->graph->values[x];

	like.dims[like.rank - 2] = rows;
	return generator_leaf(g, like.type, like.rank, like.dims,
			      (struct fill){ GRAPH_UNIFORM, -1, 1 });
}

static int cache(struct generator *g, int x, const struct layout *layout)
{
	int past = words(g, x, layout->before);
	int more = layout->after ? words(g, x, layout->after) : GRAPH_ABSENT;
	struct graph_node *node =
		generator_node(g, WNN_OP_CONCAT, layout->swap ? x : past, GRAPH_ABSENT);

	if (past < 0)
		return GRAPH_ABSENT;
	node->num_operands = more < 0 ? 2 : 3;
	node->operands[1] = layout->swap ? past : x;
	node->operands[2] = more;
	set_word(graph_argument(node, "axis"), g->graph->values[x].rank - 2);
	return generator_append(g, node);
}

static int swapped(struct generator *g, int x)
{
	struct graph_node *node = generator_node(g, WNN_OP_TRANSPOSE, x, GRAPH_ABSENT);
	uint32_t order[IR_MAX_RANK], rank;

	if (x < 0)
		return GRAPH_ABSENT;
	rank = g->graph->values[x].rank;
	for (uint32_t i = 0; i < rank; i++)
		order[i] = i + 2 < rank ? i : 2 * rank - 3 - i;
	set_list(graph_option(node, "permutation"), rank, order);
	return generator_append(g, node);
}

static int probable(struct generator *g, int scores)
{
	struct graph_node *node = generator_node(g, WNN_OP_SOFTMAX, scores, GRAPH_ABSENT);

	if (scores < 0)
		return GRAPH_ABSENT;
	set_word(graph_argument(node, "axis"), g->graph->values[scores].rank - 1);
	return generator_append(g, node);
}

/*
 * Scales the scores with probability 1/2, then adds a mask with probability 2/5. Returns the id of
 * the result, which is @scores if neither happens.
 */
static int prepared(struct generator *g, int scores)
{
	static const double factors[] = { 0.125, 0.25, 0.3, 0.1, 2 };
	const struct graph_value like = g->graph->values[scores < 0 ? 0 : scores];
	double factor = factors[rng_below(&g->rng, ARRAY_SIZE(factors))];
	uint32_t one[IR_MAX_RANK] = { 1 }, dims[IR_MAX_RANK];
	int mask;

	if (scores >= 0 && rng_chance(&g->rng, 50)) {
		bool divide = factor < 1 && rng_chance(&g->rng, 30);
		int number;

		factor = divide ? 1 / factor : factor;
		number = generator_leaf(g, like.type, rng_below(&g->rng, 2), one,
					(struct fill){ GRAPH_UNIFORM, factor, factor });
		if (number < 0)
			return GRAPH_ABSENT;
		g->graph->values[number].kind = GRAPH_CONSTANT;
		scores = divide ? generator_binary(g, WNN_OP_DIV, scores, number) :
				  generator_either(g, WNN_OP_MUL, scores, number);
	}
	if (scores < 0 || rng_chance(&g->rng, 60))
		return scores;
	memcpy(dims, like.dims, sizeof(dims));
	for (uint32_t i = 0; i + 1 < like.rank; i++)
		if (rng_chance(&g->rng, 40))
			dims[i] = 1;
	mask = generator_leaf(g, like.type, like.rank, dims, (struct fill){ GRAPH_UNIFORM, -8, 1 });
	return generator_either(g, WNN_OP_ADD, scores, mask);
}

int generator_step(struct generator *g, int x)
{
	const struct graph_value *like = &g->graph->values[x];
	uint32_t rows = like->dims[like->rank - 2];
	struct layout layout = {
		.before = rng_between(&g->rng, rows, (rng_chance(&g->rng, 50) ? 3 : 9) * rows),
		.after = rng_chance(&g->rng, 20) ? rng_between(&g->rng, 1, rows) : 0,
		.swap = rng_chance(&g->rng, 20),
	};
	uint32_t queries = rng_chance(&g->rng, 40) ? 1 : rng_between(&g->rng, 2, 90);
	int query, scores;

	if (g->graph->num_nodes + NODES_OF_STEP > GRAPH_MAX_NODES)
		return GRAPH_ABSENT;
	if (rng_chance(&g->rng, 85)) {
		x = rotated(g, x);
		if (x < 0)
			return GRAPH_ABSENT;
	}
	query = words(g, x, queries);
	scores = generator_append(g, generator_node(g, WNN_OP_MATMUL, query,
						    swapped(g, cache(g, x, &layout))));
	scores = prepared(g, scores);
	scores = rng_chance(&g->rng, 80) ? probable(g, scores) : scores;
	if (rng_chance(&g->rng, 20))
		return scores;
	return generator_append(g, generator_node(g, WNN_OP_MATMUL, scores, cache(g, x, &layout)));
}

/* ---- heads */

#define NODES_OF_HEADS 20 /* most nodes that the heads take */

/*
 * Adds keys or values [1, heads, rows, columns] in which each group of @shared consecutive heads
 * has the content of one. Returns the id of the result, or GRAPH_ABSENT.
 */
static int repeated(struct generator *g, const struct graph_value *query, uint32_t shared,
		    uint32_t rows)
{
	uint32_t heads = query->dims[1], columns = query->dims[3];
	bool late = rng_chance(&g->rng, 30); /* heads are transposed to the front only afterwards */
	uint32_t dims[5] = { 1, heads / shared, 1, rows, columns };
	uint32_t order[] = { 0, 2, 1, 3 };
	struct graph_node *node;
	int x;

	if (late) {
		dims[1] = rows;
		dims[2] = heads / shared;
		dims[3] = 1;
	}
	x = generator_leaf(g, query->type, 5, dims, (struct fill){ GRAPH_UNIFORM, -1, 1 });
	if (x < 0)
		return GRAPH_ABSENT;
	node = generator_node(g, WNN_OP_EXPAND, x, GRAPH_ABSENT);
	dims[late ? 3 : 2] = shared;
	set_list(graph_argument(node, "newShape"), 5, dims);
	x = generator_reshaped(g, generator_append(g, node), 4,
			       (uint32_t[]){ 1, late ? rows : heads, late ? heads : rows,
					     columns });
	if (!late || x < 0)
		return x;
	node = generator_node(g, WNN_OP_TRANSPOSE, x, GRAPH_ABSENT);
	set_list(graph_option(node, "permutation"), 4, order);
	return generator_append(g, node);
}

int generator_heads(struct generator *g, int x)
{
	const struct graph_value like = g->graph->values[x];
	uint32_t dims[4] = { 1, 1, 0, 0 }, rows = rng_between(&g->rng, 1, 40), shared;
	struct graph_value query;
	int scores;

	if (like.rank < 3 || g->graph->num_nodes + NODES_OF_HEADS > GRAPH_MAX_NODES)
		return GRAPH_ABSENT;
	for (uint32_t i = 0; i + 2 < like.rank; i++)
		dims[1] *= like.dims[i];
	dims[2] = like.dims[like.rank - 2];
	dims[3] = like.dims[like.rank - 1];
	shared = dims[1] % 2 ? dims[1] : 2;
	x = generator_reshaped(g, x, 4, dims);
	if (x < 0)
		return GRAPH_ABSENT;
	query = g->graph->values[x];
	scores = generator_append(g, generator_node(g, WNN_OP_MATMUL, x,
						    swapped(g, repeated(g, &query, shared, rows))));
	scores = prepared(g, scores);
	scores = rng_chance(&g->rng, 80) ? probable(g, scores) : scores;
	scores = generator_append(g, generator_node(g, WNN_OP_MATMUL, scores,
						    repeated(g, &query, shared, rows)));
	return generator_reshaped(g, scores, like.rank, like.dims);
}
