// SPDX-License-Identifier: MIT
/*
 * Draws graphs that the compiler may stream, which means run in blocks: chains over values that are
 * large compared to the SRAM, with branches that meet again. Images go through convolutions and
 * pools as in residual networks. Rows go through products, softmax and normalisations as in
 * attention, or through a decoder's step with its caches.
 */
#include "generate.h"

#include <string.h>

#define MAX_LAYERS 8
/*
 * Offsets that are added to the seed of a graph. The sum is the seed that decides whether the graph
 * has one property: operators that are composed of simple ones; rows of new tokens of a decoder;
 * constant weights, with factors and padding around the operators that have them; images that go
 * through 3x3 windows, so that blocks overlap; gates that are composed of simple operators;
 * transposes, slices and heads between layers.
 */
#define PARTS	3000000
#define STEP	5000000
#define SCALED	6000000
#define NETWORK 7000000
#define GATED	9000000
#define VIEWS	11000000

static enum wnn_op choose_layer(struct generator *g, uint32_t rank)
{
	static const enum wnn_op images[] = {
		WNN_OP_CONV2D,	   WNN_OP_CONV2D,
		WNN_OP_CONV2D,	   WNN_OP_CONV2D,
		WNN_OP_MAX_POOL2D, WNN_OP_AVERAGE_POOL2D,
		WNN_OP_RELU,	   WNN_OP_CONCAT,
		WNN_OP_CLAMP,	   WNN_OP_MUL,
		WNN_OP_ADD,	   WNN_OP_ADD,
		WNN_OP_HARD_SWISH, WNN_OP_BATCH_NORMALIZATION,
	};
	static const enum wnn_op rows[] = {
		WNN_OP_MATMUL,
		WNN_OP_MATMUL,
		WNN_OP_MATMUL,
		WNN_OP_SOFTMAX,
		WNN_OP_SOFTMAX,
		WNN_OP_LAYER_NORMALIZATION,
		WNN_OP_LAYER_NORMALIZATION,
		WNN_OP_ADD,
		WNN_OP_ADD,
		WNN_OP_MUL,
		WNN_OP_TANH,
		WNN_OP_GELU,
	};

	return rank == 4 ? images[rng_below(&g->rng, ARRAY_SIZE(images))] :
			   rows[rng_below(&g->rng, ARRAY_SIZE(rows))];
}

/*
 * Returns the latest input or result before @value that has its type and shape; GRAPH_ABSENT when
 * there is none.
 */
static int earlier_like(const struct generator *g, int value)
{
	const struct graph_value *like = &g->graph->values[value];

	for (int v = value; v-- > 0;) {
		const struct graph_value *other = &g->graph->values[v];

		if (other->kind != GRAPH_CONSTANT && other->type == like->type &&
		    other->rank == like->rank &&
		    !memcmp(other->dims, like->dims, like->rank * sizeof(*like->dims)))
			return v;
	}
	return GRAPH_ABSENT;
}

/*
 * Appends the sum of @value and @branch, with its operands in random order; returns the id of the
 * sum.
 */
static int add_branch(struct generator *g, int value, int branch)
{
	bool swap = rng_chance(&g->rng, 50);

	return generator_append(g, generator_node(g, WNN_OP_ADD, swap ? branch : value,
						  swap ? value : branch));
}

/* Turns the inputs among the last node's operands, except its first operand, into constants. */
static void fix_weights(struct generator *g)
{
	const struct graph_node *node = &g->graph->nodes[g->graph->num_nodes - 1];

	for (uint32_t i = 1; i < node->num_operands; i++)
		if (node->operands[i] >= 0 &&
		    g->graph->values[node->operands[i]].kind == GRAPH_INPUT)
			g->graph->values[node->operands[i]].kind = GRAPH_CONSTANT;
}

static int append_pad(struct generator *g, int value)
{
	struct graph_node *node = generator_node(g, WNN_OP_PAD, value, GRAPH_ABSENT);
	uint32_t begin[IR_MAX_RANK] = { 0 }, end[IR_MAX_RANK] = { 0 };
	uint32_t rank = g->graph->values[value].rank;

	for (uint32_t i = rank - 2; i < rank; i++) {
		begin[i] = rng_below(&g->rng, 3);
		end[i] = rng_below(&g->rng, 3);
	}
	set_list(graph_argument(node, "beginningPadding"), rank, begin);
	set_list(graph_argument(node, "endingPadding"), rank, end);
	return generator_append(g, node);
}

/*
 * Appends a product, quotient, sum or difference with a constant that has one element for each
 * channel or for all. Returns the id of the result, or GRAPH_ABSENT.
 */
static int append_factor(struct generator *g, int value)
{
	static const enum wnn_op ops[] = { WNN_OP_MUL, WNN_OP_MUL, WNN_OP_DIV, WNN_OP_ADD,
					   WNN_OP_SUB };
	const struct graph_value *x = &g->graph->values[value];
	uint32_t axis = rng_chance(&g->rng, 60) && x->rank == 4 ? 1 : x->rank - 1;
	uint32_t dims[IR_MAX_RANK], rank = rng_chance(&g->rng, 25) ? 0 : x->rank - axis;
	bool swap = rng_chance(&g->rng, 30);
	int factor;

	for (uint32_t i = 0; i < rank; i++)
		dims[i] = i ? 1 : x->dims[axis];
	factor = generator_leaf(g, x->type, rank, dims, (struct fill){ GRAPH_UNIFORM, 0.5, 2 });
	if (factor < 0)
		return GRAPH_ABSENT;
	g->graph->values[factor].kind = GRAPH_CONSTANT;
	return generator_append(g, generator_node(g, ops[rng_below(&g->rng, ARRAY_SIZE(ops))],
						  swap ? factor : value, swap ? value : factor));
}

static int append_scale(struct generator *g, int value)
{
	int next = g->graph->values[value].rank == 4 && rng_chance(&g->rng, 20) ?
			   append_pad(g, value) :
			   append_factor(g, value);

	return next >= 0 ? next : value;
}

static int view_or_heads(struct generator *g, int value)
{
	int next = rng_chance(&g->rng, 20) ? generator_heads(g, value) : generator_views(g, value);

	return next >= 0 ? next : value;
}

/* Patterns that the graph has besides single layers. */
struct patterns {
	bool parts, scaled, views, gated;
};

/*
 * Appends a layer, unless no valid call was drawn. Returns the value that the next layer takes, or
 * a number below 0.
 */
static int draw_layer(struct generator *g, int value, const struct patterns *with)
{
	struct graph *graph = g->graph;
	const struct graph_value *x = &graph->values[value];
	enum wnn_op op;
	int branch;

	if (with->scaled && rng_chance(&g->rng, 45))
		return append_scale(g, value);
	if (with->gated && rng_chance(&g->rng, 35))
		return generator_gate(g, value);
	if (with->parts && rng_chance(&g->rng, 40))
		return generator_parts(g, value);
	if (with->views && rng_chance(&g->rng, 45))
		return view_or_heads(g, value);
	op = choose_layer(g, x->rank);
	branch = op == WNN_OP_ADD ? earlier_like(g, value) : GRAPH_ABSENT;

	if (branch >= 0 && rng_chance(&g->rng, 80))
		return add_branch(g, value, branch);
	if (!generator_fits(g, op, x) || !generator_call(g, op, value))
		return value;
	if (with->scaled)
		fix_weights(g);
	/* Now and then two layers take the same value. */
	return rng_chance(&g->rng, 10) ? value : graph->nodes[graph->num_nodes - 1].results[0];
}

static void first_dims(struct generator *g, uint32_t rank, uint32_t *dims)
{
	if (rank == 4 && g->same_size) {
		dims[0] = 1;
		for (uint32_t i = 1; i < rank; i++)
			dims[i] = rng_between(&g->rng, 12, 40);
		return;
	}
	if (rank == 4) {
		dims[0] = rng_between(&g->rng, 1, 3);
		for (uint32_t i = 1; i < rank; i++)
			dims[i] = rng_between(&g->rng, 2, 24);
		return;
	}
	for (uint32_t i = 0; i + 2 < rank; i++)
		dims[i] = rng_between(&g->rng, 1, 4);
	dims[rank - 2] = rng_between(&g->rng, 20, 120);
	dims[rank - 1] = rng_between(&g->rng, 4, 60);
}

void graph_streamed(struct graph *graph, uint64_t seed, graph_limits limits)
{
	for (uint32_t attempt = 0;; attempt++) {
		uint32_t dims[IR_MAX_RANK], rank, wanted;
		bool step = rng_mix(seed, attempt + STEP) % 4;
		const struct patterns with = {
			.parts = rng_mix(seed, attempt + PARTS) % 2,
			.scaled = rng_mix(seed, attempt + SCALED) % 2,
			.views = rng_mix(seed, attempt + VIEWS) % 2,
			.gated = rng_mix(seed, attempt + GATED) % 3 == 0,
		};
		WNNOperandDataType type;
		struct generator g;
		int value;

		generator_begin(&g, graph, rng_mix(seed, attempt), true);
		g.limits = limits;
		g.budget = 40000;
		rank = rng_chance(&g.rng, 60) ? 4 : rng_between(&g.rng, 2, 3);
		type = rng_chance(&g.rng, 80) ? WNNOperandDataType_Float32 :
						WNNOperandDataType_Float16;
		wanted = rng_between(&g.rng, 3, MAX_LAYERS);
		if (rank == 4 && rng_mix(seed, attempt + NETWORK) % 2) {
			g.same_size = true;
			g.work = 8000000;
		}
		first_dims(&g, rank, dims);
		value = generator_leaf(&g, type, rank, dims, (struct fill){ GRAPH_UNIFORM, -1, 1 });
		for (uint32_t i = 0; value >= 0 && i < 60 && graph->num_nodes < wanted; i++)
			value = draw_layer(&g, value, &with);
		if (value >= 0 && rank < 4 && step)
			value = generator_step(&g, value);
		if (value >= 0 && graph->num_nodes > 1) {
			generator_finish(&g);
			return;
		}
		wnn_builder_destroy(g.scratch);
	}
}
