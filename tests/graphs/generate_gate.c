// SPDX-License-Identifier: MIT
/*
 * Draws gates that are composed of simple operators: products of a value x and a sigmoid of x, a
 * tanh of softplus of x, or a hardSigmoid of x.
 */
#include "generate.h"

#define NODES_OF_GATE 6 /* most nodes that a gate takes */

static int number(struct generator *g, int like, double value)
{
	int id = generator_leaf(g, g->graph->values[like].type, 0, NULL,
				(struct fill){ GRAPH_UNIFORM, value, value });

	if (id >= 0)
		g->graph->values[id].kind = GRAPH_CONSTANT;
	return id;
}

/* Appends a call of @op with the options alpha and beta; returns the id of its result. */
static int line(struct generator *g, enum wnn_op op, int x, double alpha, double beta)
{
	struct graph_node *node = generator_node(g, op, x, GRAPH_ABSENT);

	set_real(graph_option(node, "alpha"), alpha);
	set_real(graph_option(node, "beta"), beta);
	return generator_append(g, node);
}

static int clamp(struct generator *g, int x)
{
	struct graph_node *node = generator_node(g, WNN_OP_CLAMP, x, GRAPH_ABSENT);
	struct graph_attr *lo = graph_option(node, "minValue");
	struct graph_attr *hi = graph_option(node, "maxValue");

	lo->set = hi->set = true;
	lo->number = WNN_NUMBER_DOUBLE(0);
	/* With probability 1/10, the upper limit is not that of a gate. */
	hi->number = WNN_NUMBER_DOUBLE(rng_chance(&g->rng, 10) ? 2 : 1);
	return generator_append(g, node);
}

/*
 * Appends x times a number, written as neg, linear, div or mul, and returns the id of the product;
 * in one of six cases returns x itself.
 */
static int times(struct generator *g, int x)
{
	switch (rng_below(&g->rng, 6)) {
	case 0:
		return generator_unary(g, WNN_OP_NEG, x);
	case 1:
		return line(g, WNN_OP_LINEAR, x, rng_real(&g->rng, -2, 2),
			    rng_chance(&g->rng, 20) ? 0.5 : 0);
	case 2:
		return generator_binary(g, WNN_OP_DIV, x,
					number(g, x, rng_chance(&g->rng, 50) ? 4 : 3));
	case 3:
		return generator_either(g, WNN_OP_MUL, x, number(g, x, 1.702));
	case 4:
		return generator_either(g, WNN_OP_MUL, x, number(g, x, rng_real(&g->rng, -2, 2)));
	default:
		return x;
	}
}

/*
 * Appends 1 + exp(-x) or, with probability 3/10, 1 + exp of another multiple of x; returns the id
 * of the sum.
 */
static int power(struct generator *g, int x)
{
	int y = rng_chance(&g->rng, 70) ? generator_unary(g, WNN_OP_NEG, x) : times(g, x);

	return generator_either(g, WNN_OP_ADD, generator_unary(g, WNN_OP_EXP, y), number(g, x, 1));
}

static int sigmoid(struct generator *g, int x)
{
	switch (rng_below(&g->rng, 4)) {
	case 0:
		return generator_binary(g, WNN_OP_DIV, number(g, x, 1), power(g, x));
	case 1:
		return generator_unary(g, WNN_OP_RECIPROCAL, power(g, x));
	default:
		return generator_unary(g, WNN_OP_SIGMOID, times(g, x));
	}
}

static int hard_sigmoid(struct generator *g, int x)
{
	double alpha = rng_real(&g->rng, -1, 1), beta = rng_real(&g->rng, -1, 1);
	int y;

	if (rng_chance(&g->rng, 50))
		return line(g, WNN_OP_HARD_SIGMOID, x, rng_chance(&g->rng, 20) ? 1.0 / 6 : alpha,
			    rng_chance(&g->rng, 50) ? 0.5 : beta);
	if (rng_chance(&g->rng, 30))
		return clamp(g, line(g, WNN_OP_LINEAR, x, alpha, beta));
	if (rng_chance(&g->rng, 30))
		y = generator_binary(g, WNN_OP_DIV, x,
				     number(g, x, rng_chance(&g->rng, 50) ? 6 : 1.5 + alpha));
	else
		y = generator_either(g, WNN_OP_MUL, x, number(g, x, alpha));
	return clamp(g, generator_either(g, WNN_OP_ADD, y, number(g, x, beta)));
}

static int factor_of(struct generator *g, int x)
{
	switch (rng_below(&g->rng, 4)) {
	case 0:
		return hard_sigmoid(g, x);
	case 1:
		return generator_unary(g, WNN_OP_TANH, generator_unary(g, WNN_OP_SOFTPLUS, x));
	default:
		return sigmoid(g, x);
	}
}

int generator_gate(struct generator *g, int x)
{
	int factor, y;

	if (g->graph->num_nodes + NODES_OF_GATE > GRAPH_MAX_NODES)
		return GRAPH_ABSENT;
	if (rng_chance(&g->rng, 10))
		return generator_binary(g, WNN_OP_DIV, x, power(g, x));
	factor = factor_of(g, x);
	/* Now and then the product only looks like a gate, or its factor has another use, too. */
	y = generator_either(g, WNN_OP_MUL,
			     rng_chance(&g->rng, 10) ? generator_unary(g, WNN_OP_ABS, x) : x,
			     factor);
	return rng_chance(&g->rng, 10) ? generator_either(g, WNN_OP_ADD, y, factor) : y;
}
