// SPDX-License-Identifier: MIT
/*
 * Draws operators as exporters of models compose them from simple ones: gelu from erf or tanh,
 * softmax and its logarithm, normalisations from a mean of squares, and branches from where().
 */
#include "generate.h"

#include <math.h>
#include <string.h>

#define NODES_OF_PARTS 16 /* most nodes that a composed operator takes */

struct graph_node *generator_node(struct generator *g, enum wnn_op op, int a, int b)
{
	struct graph_node *node = &g->graph->nodes[g->graph->num_nodes];

	memset(node, 0, sizeof(*node));
	node->op = op;
	node->num_operands = wnn_op_info[op].operand_count;
	node->num_results = 1;
	for (uint32_t i = 0; i < GRAPH_MAX_OPERANDS; i++)
		node->operands[i] = GRAPH_ABSENT;
	node->operands[0] = a;
	if (node->num_operands > 1)
		node->operands[1] = b;
	return node;
}

int generator_append(struct generator *g, struct graph_node *node)
{
	struct wnn_error err;

	if (node->operands[0] < 0 || (node->num_operands > 1 && node->operands[1] < 0))
		return GRAPH_ABSENT;
	node->results[0] = generator_value(g);
	if (node->results[0] < 0 || graph_scratch_node(g->scratch, g->graph, node, g->values, &err))
		return GRAPH_ABSENT;
	g->graph->num_nodes++;
	return node->results[0];
}

int generator_unary(struct generator *g, enum wnn_op op, int x)
{
	return x < 0 ? GRAPH_ABSENT : generator_append(g, generator_node(g, op, x, GRAPH_ABSENT));
}

int generator_binary(struct generator *g, enum wnn_op op, int a, int b)
{
	return generator_append(g, generator_node(g, op, a, b));
}

int generator_either(struct generator *g, enum wnn_op op, int a, int b)
{
	return rng_chance(&g->rng, 50) ? generator_binary(g, op, a, b) :
					 generator_binary(g, op, b, a);
}

int generator_reshaped(struct generator *g, int x, uint32_t rank, const uint32_t *dims)
{
	struct graph_node *node = generator_node(g, WNN_OP_RESHAPE, x, GRAPH_ABSENT);

	if (x < 0)
		return GRAPH_ABSENT;
	set_list(graph_argument(node, "newShape"), rank, dims);
	return generator_append(g, node);
}

static int constant(struct generator *g, int like, uint32_t rank, const uint32_t *dims, double lo,
		    double hi)
{
	int id = generator_leaf(g, g->graph->values[like].type, rank, dims,
				(struct fill){ GRAPH_UNIFORM, lo, hi });

	if (id >= 0)
		g->graph->values[id].kind = GRAPH_CONSTANT;
	return id;
}

static int number(struct generator *g, int like, double value)
{
	return constant(g, like, 0, NULL, value, value);
}

static int gelu_parts(struct generator *g, int x)
{
	bool divide = rng_chance(&g->rng, 50), half_first = rng_chance(&g->rng, 50);
	int half = number(g, x, 0.5), one = number(g, x, 1), y;
	/* Now and then the nodes look like gelu but are not. */
	int factor = rng_chance(&g->rng, 20) ? generator_unary(g, WNN_OP_NEG, x) : x;

	y = divide ? generator_binary(g, WNN_OP_DIV, x, number(g, x, sqrt(2))) :
		     generator_either(g, WNN_OP_MUL, x, number(g, x, sqrt(0.5)));
	y = generator_either(g, WNN_OP_ADD, generator_unary(g, WNN_OP_ERF, y), one);
	if (half_first)
		return generator_either(g, WNN_OP_MUL,
					generator_either(g, WNN_OP_MUL, factor, half), y);
	return generator_either(g, WNN_OP_MUL, generator_either(g, WNN_OP_MUL, factor, y), half);
}

static int product(struct generator *g, int a, int b)
{
	return generator_either(g, WNN_OP_MUL, a, b);
}

/*
 * Appends x + 0.044715 * x^3, or the equal product x * (1 + 0.044715 * x^2); returns the id of the
 * result.
 */
static int cubic(struct generator *g, int x)
{
	int square, small = number(g, x, 0.044715);

	if (rng_chance(&g->rng, 30)) {
		square = product(g, small, product(g, x, x));
		return product(g, x, generator_either(g, WNN_OP_ADD, square, number(g, x, 1)));
	}
	square = rng_chance(&g->rng, 50) ? generator_binary(g, WNN_OP_POW, x, number(g, x, 3)) :
					   product(g, x, product(g, x, x));
	return generator_either(g, WNN_OP_ADD, x, product(g, small, square));
}

static int gelu_tanh_parts(struct generator *g, int x)
{
	int half = number(g, x, 0.5), one = number(g, x, 1), y;
	/* Now and then the nodes look like gelu but are not. */
	int factor = rng_chance(&g->rng, 20) ? generator_unary(g, WNN_OP_NEG, x) : x;

	y = cubic(g, x);
	y = product(g, y, number(g, x, sqrt(M_2_PI)));
	y = generator_unary(g, WNN_OP_TANH, y);
	if (rng_chance(&g->rng, 20))
		return product(g, factor,
			       generator_either(g, WNN_OP_ADD, product(g, y, half), half));
	y = generator_either(g, WNN_OP_ADD, y, one);
	switch (rng_bits(&g->rng) % 3) {
	case 0:
		return product(g, product(g, factor, half), y);
	case 1:
		return product(g, product(g, factor, y), half);
	default:
		return product(g, product(g, y, half), factor);
	}
}

static int reduced(struct generator *g, enum wnn_op op, int x, uint32_t count, const uint32_t *axes)
{
	struct graph_node *node = generator_node(g, op, x, GRAPH_ABSENT);

	set_list(graph_option(node, "axes"), count, axes);
	set_word(graph_option(node, "keepDimensions"), 1);
	return generator_append(g, node);
}

static int mean_of(struct generator *g, int x, uint32_t count, const uint32_t *axes)
{
	return reduced(g, WNN_OP_REDUCE_MEAN, x, count, axes);
}

static int where(struct generator *g, int condition, int a, int b)
{
	struct graph_node *node = generator_node(g, WNN_OP_WHERE, condition, a);

	node->operands[2] = b;
	return a < 0 || b < 0 ? GRAPH_ABSENT : generator_append(g, node);
}

/* Appends x with 0 in place of elements that are not finite; returns the id of the result. */
static int guarded(struct generator *g, int x)
{
	int none = generator_unary(g, WNN_OP_IS_NAN, x),
	    infinite = generator_unary(g, WNN_OP_IS_INFINITE, x);

	return where(g, generator_either(g, WNN_OP_LOGICAL_OR, none, infinite), number(g, x, 0), x);
}

/*
 * Appends softmax, its logarithm, or the logarithm of a sum of exponentials, composed of simple
 * operators. Returns the id of the result.
 */
static int softmax_parts(struct generator *g, int x)
{
	uint32_t rank = g->graph->values[x].rank, axis = rng_below(&g->rng, rank);
	/* Now and then the sum is along another axis than the maximum. */
	uint32_t other = rng_chance(&g->rng, 15) ? rng_below(&g->rng, rank) : axis;
	int most = reduced(g, WNN_OP_REDUCE_MAX, x, 1, &axis), shifted, powers, sum;

	if (rng_chance(&g->rng, 40))
		most = guarded(g, most);
	shifted = generator_binary(g, WNN_OP_SUB, x, most);
	powers = generator_unary(g, WNN_OP_EXP, shifted);
	sum = reduced(g, WNN_OP_REDUCE_SUM, powers, 1, &other);
	switch (rng_bits(&g->rng) % 4) {
	case 0:
		return generator_binary(g, WNN_OP_DIV, powers, sum);
	case 1:
		return generator_binary(g, WNN_OP_SUB, shifted,
					generator_unary(g, WNN_OP_LOG, sum));
	case 2:
		return generator_either(g, WNN_OP_ADD, generator_unary(g, WNN_OP_LOG, sum), most);
	default:
		powers = generator_binary(g, WNN_OP_DIV, powers, sum);
		return where(g, generator_unary(g, WNN_OP_IS_NAN, powers), number(g, x, 0), powers);
	}
}

static int norm_parts(struct generator *g, int x)
{
	const struct graph_value like = g->graph->values[x];
	uint32_t count = rng_chance(&g->rng, 70) ? 1 : rng_between(&g->rng, 1, like.rank), axes[8];
	int y = x, centred, root;

	for (uint32_t i = 0; i < count; i++)
		axes[i] = like.rank - count + i;
	if (rng_chance(&g->rng, 50))
		y = generator_binary(g, WNN_OP_SUB, x, mean_of(g, x, count, axes));
	centred = y;
	root = rng_chance(&g->rng, 50) ? generator_binary(g, WNN_OP_MUL, y, y) :
					 generator_binary(g, WNN_OP_POW, y, number(g, x, 2));
	root = generator_either(g, WNN_OP_ADD, mean_of(g, root, count, axes),
				constant(g, x, 0, NULL, 0.01, 0.1));
	root = generator_unary(g, WNN_OP_SQRT, root);
	if (rng_chance(&g->rng, 50))
		y = generator_binary(g, WNN_OP_DIV, y, root);
	else
		y = generator_either(g, WNN_OP_MUL, y, generator_unary(g, WNN_OP_RECIPROCAL, root));
	if (rng_chance(&g->rng, 60))
		y = generator_either(g, WNN_OP_MUL, y,
				     constant(g, x, count, like.dims + like.rank - count, -2, 2));
	if (rng_chance(&g->rng, 60))
		y = generator_either(g, WNN_OP_ADD, y,
				     constant(g, x, count, like.dims + like.rank - count, -1, 1));
	/* Now and then the centred values have another use, so that they must stay. */
	return rng_chance(&g->rng, 20) ? generator_binary(g, WNN_OP_ADD, y, centred) : y;
}

/* Appends one or two functions of x; returns the id of the last value. */
static int side_of(struct generator *g, int x)
{
	static const enum wnn_op ops[] = { WNN_OP_ABS, WNN_OP_NEG, WNN_OP_RELU, WNN_OP_TANH };
	int y = generator_unary(g, ops[rng_below(&g->rng, ARRAY_SIZE(ops))], x);

	return rng_chance(&g->rng, 50) ? y : generator_either(g, WNN_OP_MUL, x, y);
}

/* Adds an input or constant of one element, 0 or 1; now and then its negation is computed. */
static int condition(struct generator *g)
{
	static const uint32_t ones[] = { 1, 1 };
	int c = generator_leaf(g, WNNOperandDataType_Uint8, rng_below(&g->rng, 2), ones,
			       (struct fill){ GRAPH_UNIFORM, 0, 1 });

	return c >= 0 && rng_chance(&g->rng, 40) ? generator_unary(g, WNN_OP_LOGICAL_NOT, c) : c;
}

/*
 * Appends one to three where() with conditions of one element; returns the id of the result. Their
 * two sides may be computed from each other, several where() may read one side, and the result of
 * one may be an operand of a side of another.
 */
static int branch_parts(struct generator *g, int x)
{
	int c = condition(g), sides[2], y, other;

	/* One by one, as compilers may draw initialisers and arguments in any order. */
	sides[0] = side_of(g, x);
	sides[1] = side_of(g, x);
	if (rng_chance(&g->rng, 30))
		sides[0] = side_of(g, sides[rng_below(&g->rng, 2)]);
	y = where(g, c, sides[0], sides[1]);
	if (rng_chance(&g->rng, 30)) {
		other = where(g, c, side_of(g, sides[0]), sides[1]);
		y = generator_either(g, WNN_OP_ADD, y, other);
	}
	if (rng_chance(&g->rng, 40)) {
		other = side_of(g, y);
		y = where(g, rng_chance(&g->rng, 30) ? c : condition(g), other, sides[0]);
	}
	return y;
}

int generator_parts(struct generator *g, int x)
{
	if (g->graph->num_nodes + NODES_OF_PARTS > GRAPH_MAX_NODES)
		return GRAPH_ABSENT;
	if (g->graph->values[x].rank && rng_chance(&g->rng, 30))
		return softmax_parts(g, x);
	if (rng_chance(&g->rng, 20))
		return branch_parts(g, x);
	if (rng_chance(&g->rng, 40))
		return gelu_tanh_parts(g, x);
	return rng_chance(&g->rng, 40) ? gelu_parts(g, x) : norm_parts(g, x);
}
