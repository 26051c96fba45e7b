// SPDX-License-Identifier: MIT
/*
 * Draws graphs from a seed: graphs of a single call, which go through all types and ranks of the
 * operator's main operand, and compositions of several calls.
 */
#include "generate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/operand.h"

#define MAX_ELEMENTS 200000
#define MAX_RANK     8
#define MAX_CALLS    15

_Static_assert(MAX_CALLS <= GRAPH_MAX_NODES, "room for all calls");

bool type_is_float(WNNOperandDataType type)
{
	return type == WNNOperandDataType_Float32 || type == WNNOperandDataType_Float16;
}

WNNOperandDataType pick_type(struct rng *rng, WNNOperandDataTypeSet types)
{
	uint32_t count = (uint32_t)__builtin_popcount(types);
	uint32_t k = count ? rng_below(rng, count) : 0;

	for (uint32_t t = 1; t < 32; t++)
		if (types & WNN_DATA_TYPE_BIT(t) && !k--)
			return (WNNOperandDataType)t;
	return WNNOperandDataType_Undefined;
}

/* --- Attributes --- */

void set_word(struct graph_attr *attr, uint32_t word)
{
	attr->set = true;
	attr->count = 1;
	attr->word[0] = word;
}

void set_list(struct graph_attr *attr, uint32_t count, const uint32_t *words)
{
	attr->set = true;
	attr->count = count;
	for (uint32_t i = 0; i < count; i++)
		attr->word[i] = words[i];
}

void set_real(struct graph_attr *attr, double value)
{
	attr->set = true;
	attr->f64 = value;
}

void maybe_enum(struct draw *d, const char *name, uint32_t count)
{
	if (rng_chance(&d->g->rng, 75))
		set_word(graph_option(d->node, name), rng_between(&d->g->rng, 1, count));
}

void maybe_bool(struct draw *d, const char *name)
{
	if (rng_chance(&d->g->rng, 75))
		set_word(graph_option(d->node, name), rng_below(&d->g->rng, 2));
}

void maybe_real(struct draw *d, const char *name, double lo, double hi)
{
	if (rng_chance(&d->g->rng, 50))
		set_real(graph_option(d->node, name), rng_real(&d->g->rng, lo, hi));
}

/* --- Values --- */

/* Draws dimensions of which as many as possible are above 1 and can be divided. */
static void many_dims(struct generator *g, uint32_t rank, uint64_t most, uint32_t *dims)
{
	for (uint32_t i = 0; i < rank; i++) {
		dims[i] = most >= 4 && rng_chance(&g->rng, 70) ? 4 : most >= 2 ? 2 : 1;
		most /= dims[i];
	}
}

void generator_dims(struct generator *g, uint32_t rank, uint64_t least, uint64_t most,
		    uint32_t *dims)
{
	double left = rng_real(&g->rng, log((double)least), log((double)(most ? most : 1)));
	uint32_t order[MAX_RANK];

	if (rank > 4 && rng_chance(&g->rng, g->blocks ? 70 : 25)) {
		many_dims(g, rank, most, dims);
		return;
	}
	for (uint32_t i = 0; i < rank; i++) {
		uint32_t j = rng_below(&g->rng, i + 1);

		order[i] = order[j];
		order[j] = i;
	}
	for (uint32_t i = 0; i < rank; i++) {
		double part = i + 1 == rank ? left : left * rng_real(&g->rng, 0, 1);

		if (rng_chance(&g->rng, 15))
			part = 0;
		dims[order[i]] = (uint32_t)exp(part);
		left -= log(dims[order[i]]);
	}
}

int generator_value(struct generator *g)
{
	if (g->graph->num_values + 1 >= GRAPH_MAX_VALUES)
		return GRAPH_ABSENT;
	memset(&g->graph->values[g->graph->num_values], 0, sizeof(g->graph->values[0]));
	return (int)g->graph->num_values++;
}

int generator_leaf(struct generator *g, WNNOperandDataType type, uint32_t rank,
		   const uint32_t *dims, struct fill fill)
{
	int id = generator_value(g);
	struct graph_value *value = &g->graph->values[id < 0 ? 0 : id], as_input;

	if (id < 0)
		return id;
	value->kind = rng_chance(&g->rng, 40) ? GRAPH_CONSTANT : GRAPH_INPUT;
	value->type = type;
	value->rank = rank;
	if (rank)
		memcpy(value->dims, dims, rank * sizeof(*dims));
	value->fill = fill.kind;
	value->lo = fill.lo;
	value->hi = fill.hi;
	value->seed = rng_bits(&g->rng) >> 16;
	if (graph_elements(value) > 2 * MAX_ELEMENTS)
		return GRAPH_ABSENT;
	as_input = *value;
	as_input.kind = GRAPH_INPUT; /* the scratch builder needs no elements */
	g->values[id] = graph_scratch_leaf(g->scratch, &as_input, id, NULL);
	return g->values[id] ? id : GRAPH_ABSENT;
}

int generator_operand(struct generator *g, WNNOperandDataType type, uint32_t rank,
		      const uint32_t *dims, struct fill fill)
{
	uint32_t n = g->graph->num_values, first = n ? rng_below(&g->rng, n) : 0;

	for (uint32_t i = 0; g->compose && rng_chance(&g->rng, 60) && i < n; i++) {
		uint32_t id = (first + i) % n;
		const struct graph_value *value = &g->graph->values[id];

		if (g->values[id] && value->type == type && value->rank == rank &&
		    !memcmp(value->dims, dims, rank * sizeof(*dims)))
			return (int)id;
	}
	return generator_leaf(g, type, rank, dims, fill);
}

/* Returns a range of arguments in which the function is defined, varies and seldom overflows. */
static struct fill float_range(struct generator *g, enum wnn_op op)
{
	switch (op) {
	case WNN_OP_LOG:
	case WNN_OP_SQRT:
	case WNN_OP_REDUCE_LOG_SUM:
		return (struct fill){ GRAPH_UNIFORM, 0, 50 };
	case WNN_OP_POW:
		return (struct fill){ GRAPH_UNIFORM, 0, 4 };
	case WNN_OP_REDUCE_PRODUCT:
		return (struct fill){ GRAPH_UNIFORM, -1.5, 1.5 };
	case WNN_OP_COS:
	case WNN_OP_SIN:
	case WNN_OP_TAN:
	case WNN_OP_CEIL:
	case WNN_OP_FLOOR:
	case WNN_OP_ROUND_EVEN:
	case WNN_OP_CAST:
	case WNN_OP_QUANTIZE_LINEAR:
		return (struct fill){ GRAPH_UNIFORM, -300, 300 };
	default:
		return rng_chance(&g->rng, 25) ? (struct fill){ GRAPH_UNIFORM, -10, 10 } :
						 (struct fill){ GRAPH_UNIFORM, -1, 1 };
	}
}

/* The elements that operands of an operator may have: see operators.def. */
enum floats { ANY_VALUE, NUMBERS };

static bool takes_specials(enum wnn_op op)
{
	static const enum floats floats[WNN_OP_COUNT] = {
#define GRAPH_DRAW(op, function, floats) [WNN_OP_##op] = floats,
#define GRAPH_BOUND(op, function)
#include "operators.def"
#undef GRAPH_DRAW
#undef GRAPH_BOUND
	};

	return floats[op] == ANY_VALUE;
}

struct fill generator_fill(struct generator *g, enum wnn_op op, WNNOperandDataType type)
{
	struct fill fill = float_range(g, op);

	if (type_is_float(type)) {
		if (!g->compose && takes_specials(op) && rng_chance(&g->rng, 25))
			fill.kind = GRAPH_SPECIAL;
		else if (rng_chance(&g->rng, 20))
			fill.kind = GRAPH_STEPS;
		return fill;
	}
	if (!g->compose && rng_chance(&g->rng, op == WNN_OP_MAX_POOL2D ? 30 : 60))
		return (struct fill){ GRAPH_BITS, 0, 0 };
	if (type == WNNOperandDataType_Uint8 || type == WNNOperandDataType_Uint32 ||
	    type == WNNOperandDataType_Uint64 || type == WNNOperandDataType_Uint4)
		return (struct fill){ GRAPH_UNIFORM, 0, 15 };
	/* All elements are negative, so that padding with 0 would show. */
	if (rng_chance(&g->rng, op == WNN_OP_MAX_POOL2D ? 60 : 15))
		return (struct fill){ GRAPH_UNIFORM, -8, -1 };
	return (struct fill){ GRAPH_UNIFORM, -8, 7 };
}

/* --- Nodes --- */

static bool small_enough(const struct generator *g, const struct graph_node *node)
{
	for (uint32_t i = 0; i < node->num_results; i++)
		if (graph_elements(&g->graph->values[node->results[i]]) > 2 * MAX_ELEMENTS)
			return false;
	return true;
}

bool generator_call(struct generator *g, enum wnn_op op, int main)
{
	struct graph *graph = g->graph;
	struct graph_node *node = &graph->nodes[graph->num_nodes];
	struct draw draw = { g, node, &graph->values[main], main };
	uint32_t values = graph->num_values;
	struct wnn_error err;

	memset(node, 0, sizeof(*node));
	node->op = op;
	node->num_operands = wnn_op_info[op].operand_count;
	node->num_results = 1;
	for (uint32_t i = 0; i < GRAPH_MAX_OPERANDS; i++)
		node->operands[i] = GRAPH_ABSENT;
	node->operands[graph_main_operand(op)] = main;
	if (draw_function(op)(&draw))
		goto fail;
	for (uint32_t i = 0; i < node->num_results; i++) {
		node->results[i] = generator_value(g);
		if (node->results[i] < 0)
			goto fail;
	}
	if (graph_scratch_node(g->scratch, graph, node, g->values, &err) || !small_enough(g, node))
		goto fail;
	graph->num_nodes++;
	return true;
fail:
	for (uint32_t v = values; v < graph->num_values; v++)
		g->values[v] = NULL;
	graph->num_values = values;
	return false;
}

static void budgets(struct generator *g)
{
	uint32_t dice = rng_below(&g->rng, 100);

	g->least = 1;
	if (g->compose) {
		g->budget = dice < 50 ? 600 : dice < 85 ? 6000 : 40000;
		g->work = 2000000;
	} else {
		/*
		 * A fifth of the graphs have values larger than the smallest SRAM, and half of
		 * these larger than one instruction takes.
		 */
		g->budget = dice < 50 ? 300 : dice < 80 ? 6000 : MAX_ELEMENTS;
		g->work = dice < 80 ? 1000000 : 6000000;
		g->least = dice < 80 ? 1 : dice < 90 ? 6000 : 70000;
	}
}

void generator_begin(struct generator *g, struct graph *graph, uint64_t seed, bool compose)
{
	memset(g, 0, sizeof(*g));
	memset(graph, 0, sizeof(*graph));
	g->graph = graph;
	g->rng.state = seed;
	g->compose = compose;
	budgets(g);
	g->scratch = graph_scratch_builder();
	if (!g->scratch) {
		fprintf(stderr, "graph-fuzz: memory is exhausted\n");
		abort();
	}
}

/* Makes outputs of the results that no node reads, and of some others. */
void generator_finish(struct generator *g)
{
	struct graph *graph = g->graph;
	bool used[GRAPH_MAX_VALUES] = { false };

	for (uint32_t n = 0; n < graph->num_nodes; n++)
		for (uint32_t i = 0; i < graph->nodes[n].num_operands; i++)
			if (graph->nodes[n].operands[i] >= 0)
				used[graph->nodes[n].operands[i]] = true;
	for (uint32_t v = 0; v < graph->num_values; v++)
		graph->values[v].output = graph->values[v].kind == GRAPH_RESULT &&
					  (!used[v] || rng_chance(&g->rng, 15));
	wnn_builder_destroy(g->scratch);
}

/* --- Single calls --- */

static WNNOperandDataTypeSet all_types(const struct wnn_op_operand *operand)
{
	return operand->types | operand->extension_types;
}

static WNNOperandDataType deal_type(const struct wnn_op_operand *operand, uint32_t variant)
{
	WNNOperandDataTypeSet types = all_types(operand);
	uint32_t k = variant % (uint32_t)__builtin_popcount(types);

	for (uint32_t t = 1; t < 32; t++)
		if (types & WNN_DATA_TYPE_BIT(t) && !k--)
			return (WNNOperandDataType)t;
	return WNNOperandDataType_Undefined;
}

static uint32_t deal_rank(const struct wnn_op_operand *operand, uint32_t variant)
{
	uint32_t types = (uint32_t)__builtin_popcount(all_types(operand));
	uint32_t most = operand->rank_max < MAX_RANK ? operand->rank_max : MAX_RANK;

	return operand->rank_min + variant / types % (most - operand->rank_min + 1);
}

uint32_t graph_variants(enum wnn_op op)
{
	const struct wnn_op_operand *operand = &wnn_op_info[op].operands[graph_main_operand(op)];
	uint32_t most = operand->rank_max < MAX_RANK ? operand->rank_max : MAX_RANK;

	return (uint32_t)__builtin_popcount(all_types(operand)) * (most - operand->rank_min + 1);
}

void graph_single(struct graph *graph, enum wnn_op op, uint32_t variant, uint64_t seed)
{
	const struct wnn_op_operand *operand = &wnn_op_info[op].operands[graph_main_operand(op)];
	WNNOperandDataType type = deal_type(operand, variant);
	uint32_t rank = deal_rank(operand, variant), dims[MAX_RANK];
	struct generator g;

	for (uint32_t attempt = 0;; attempt++) {
		int main;

		generator_begin(&g, graph, rng_mix(seed, attempt), false);
		g.blocks = op == WNN_OP_QUANTIZE_LINEAR || op == WNN_OP_DEQUANTIZE_LINEAR;
		generator_dims(&g, rank, g.least, g.budget, dims);
		main = generator_leaf(&g, type, rank, dims, generator_fill(&g, op, type));
		if (main >= 0 && generator_call(&g, op, main))
			break;
		wnn_builder_destroy(g.scratch);
		if (attempt == 1000) {
			fprintf(stderr, "graph-fuzz: no call of %s with rank %u is drawn\n",
				wnn_op_info[op].name, (unsigned int)rank);
			abort();
		}
	}
	generator_finish(&g);
}

/* --- Compositions --- */

bool generator_fits(const struct generator *g, enum wnn_op op, const struct graph_value *x)
{
	const struct wnn_op_info *info = &wnn_op_info[op];
	const struct wnn_op_operand *operand = &info->operands[graph_main_operand(op)];

	if (!(all_types(operand) & WNN_DATA_TYPE_BIT(x->type)) || x->rank < operand->rank_min ||
	    x->rank > operand->rank_max)
		return false;
	for (uint32_t i = 0; g->limits && i < info->operand_count; i++) {
		const WNNTensorLimits *limits =
			wnn_op_operand_limits(g->limits, op, &info->operands[i]);

		if (!limits->dataTypes)
			return false;
		if (i == graph_main_operand(op) &&
		    (!(limits->dataTypes & WNN_DATA_TYPE_BIT(x->type)) ||
		     x->rank < limits->rankRange.min || x->rank > limits->rankRange.max))
			return false;
	}
	return true;
}

/*
 * Returns the id of a value for the next call: one of the last four with probability 3/5, else any.
 */
static int choose_main(struct generator *g)
{
	uint32_t n = g->graph->num_values;
	uint32_t back = rng_chance(&g->rng, 60) ? rng_below(&g->rng, n < 4 ? n : 4) :
						  rng_below(&g->rng, n);

	return (int)(n - 1 - back);
}

static void seed_values(struct generator *g)
{
	static const WNNOperandDataType types[] = {
		WNNOperandDataType_Float32, WNNOperandDataType_Float32, WNNOperandDataType_Float16,
		WNNOperandDataType_Float16, WNNOperandDataType_Float32, WNNOperandDataType_Int32,
		WNNOperandDataType_Int8,    WNNOperandDataType_Uint8,	WNNOperandDataType_Int64,
		WNNOperandDataType_Uint32,  WNNOperandDataType_Uint64,
	};
	uint32_t count = rng_between(&g->rng, 1, 3);

	for (uint32_t i = 0; i < count; i++) {
		WNNOperandDataType type = types[rng_below(&g->rng, i ? ARRAY_SIZE(types) : 5)];
		uint32_t rank = rng_chance(&g->rng, 50) ? 4 : rng_below(&g->rng, MAX_RANK + 1);
		uint32_t dims[MAX_RANK];

		generator_dims(g, rank, 1, g->budget, dims);
		generator_leaf(g, type, rank, dims, generator_fill(g, WNN_OP_ADD, type));
	}
}

/*
 * Returns whether the results of an operator, or errors that it has inherited from its operands,
 * can become arbitrarily large; such operators are drawn less often.
 */
static bool is_wild(enum wnn_op op)
{
	return op == WNN_OP_EXP || op == WNN_OP_POW || op == WNN_OP_REDUCE_PRODUCT ||
	       op == WNN_OP_TAN || op == WNN_OP_RECIPROCAL || op == WNN_OP_LOG ||
	       op == WNN_OP_DIV || op == WNN_OP_SQRT || op == WNN_OP_REDUCE_LOG_SUM ||
	       op == WNN_OP_REDUCE_SUM_SQUARE;
}

static enum wnn_op choose_op(struct generator *g)
{
	static const enum wnn_op favourites[] = {
		WNN_OP_CONV2D,	   WNN_OP_MATMUL, WNN_OP_GEMM,	    WNN_OP_AVERAGE_POOL2D,
		WNN_OP_MAX_POOL2D, WNN_OP_CONCAT, WNN_OP_TRANSPOSE, WNN_OP_RESHAPE,
		WNN_OP_ADD,	   WNN_OP_RELU,	  WNN_OP_SOFTMAX,   WNN_OP_SLICE,
	};

	if (rng_chance(&g->rng, 30))
		return favourites[rng_below(&g->rng, ARRAY_SIZE(favourites))];
	return (enum wnn_op)rng_below(&g->rng, WNN_OP_COUNT);
}

/*
 * Sets *@op and *@main to the operator and the main operand of the call with this number in the
 * graph.
 */
static void repeat(const struct generator *g, uint32_t number, enum wnn_op *op, int *main)
{
	const struct graph_node *node = &g->graph->nodes[number];

	*op = node->op;
	*main = node->operands[graph_main_operand(node->op)];
}

/*
 * If the last call is a convolution or a matrix product, appends an addition and a function of
 * single elements, each with probability 3/5.
 */
static void finish_layer(struct generator *g)
{
	static const enum wnn_op functions[] = {
		WNN_OP_RELU,	   WNN_OP_SIGMOID, WNN_OP_CLAMP, WNN_OP_TANH,	WNN_OP_HARD_SWISH,
		WNN_OP_LEAKY_RELU, WNN_OP_ELU,	   WNN_OP_GELU,	 WNN_OP_LINEAR, WNN_OP_ABS,
	};
	const enum wnn_op follow[] = {
		WNN_OP_ADD,
		functions[rng_below(&g->rng, ARRAY_SIZE(functions))],
	};
	const struct graph_node *last = &g->graph->nodes[g->graph->num_nodes - 1];

	if (last->op != WNN_OP_CONV2D && last->op != WNN_OP_CONV_TRANSPOSE2D &&
	    last->op != WNN_OP_MATMUL && last->op != WNN_OP_GEMM)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(follow); i++) {
		int main = g->graph->nodes[g->graph->num_nodes - 1].results[0];

		if (g->graph->num_nodes < MAX_CALLS && rng_chance(&g->rng, 60) &&
		    generator_fits(g, follow[i], &g->graph->values[main]))
			generator_call(g, follow[i], main);
	}
}

void graph_compose(struct graph *graph, uint64_t seed, graph_limits limits)
{
	struct generator g;
	uint32_t wanted;

	generator_begin(&g, graph, seed, true);
	g.limits = limits;
	wanted = rng_between(&g.rng, 5, MAX_CALLS);
	seed_values(&g);
	for (uint32_t attempt = 0; graph->num_nodes < wanted && attempt < 2000; attempt++) {
		enum wnn_op op = choose_op(&g);
		int main = choose_main(&g);

		if (graph->num_nodes && rng_chance(&g.rng, 6))
			repeat(&g, rng_below(&g.rng, graph->num_nodes), &op, &main);
		if (is_wild(op) && rng_chance(&g.rng, 70))
			continue;
		if (g.values[main] && generator_fits(&g, op, &graph->values[main]) &&
		    generator_call(&g, op, main))
			finish_layer(&g);
	}
	generator_finish(&g);
}
