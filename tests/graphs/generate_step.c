// SPDX-License-Identifier: MIT
/* Steps of a decoder: new words behind those of a cache, all of which products read. */
#include "generate.h"

#include <string.h>

#define NODES_OF_STEP 6 /* at most */

/* How the caches of a step are joined: words from outside, new ones, and now and then more from outside. */
struct layout {
	uint32_t before, behind; /* rows */
	bool swap;		 /* the new words come first */
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
	int more = layout->behind ? words(g, x, layout->behind) : GRAPH_ABSENT;
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

int generator_step(struct generator *g, int x)
{
	const struct graph_value *like = &g->graph->values[x];
	uint32_t rows = like->dims[like->rank - 2];
	struct layout layout = {
		.before = rng_between(&g->rng, rows, 3 * rows),
		.behind = rng_chance(&g->rng, 20) ? rng_between(&g->rng, 1, rows) : 0,
		.swap = rng_chance(&g->rng, 20),
	};
	uint32_t queries = rng_chance(&g->rng, 60) ? 1 : rng_between(&g->rng, 2, 90);
	int query, scores;

	if (g->graph->num_nodes + NODES_OF_STEP > GRAPH_MAX_NODES)
		return GRAPH_ABSENT;
	query = words(g, x, queries);
	scores = generator_append(g, generator_node(g, WNN_OP_MATMUL, query,
						    swapped(g, cache(g, x, &layout))));
	scores = rng_chance(&g->rng, 70) ? probable(g, scores) : scores;
	if (rng_chance(&g->rng, 20))
		return scores;
	return generator_append(g, generator_node(g, WNN_OP_MATMUL, scores, cache(g, x, &layout)));
}
