// SPDX-License-Identifier: MIT
/*
 * Draws graphs like quantised networks: each layer takes dequantised values and dequantised
 * weights, and its result is quantised and dequantised again.
 */
#include "generate.h"

#include <string.h>

#define MAX_LAYERS     5
#define NODES_OF_LAYER 15 /* most nodes that a layer takes */
/*
 * Offsets that are added to the seed of a graph. The sum is the seed that decides whether the graph
 * has one property: additions after convolutions, depthwise convolutions, scales and zero points
 * that are inputs, float16 between the integers, averages, matrices, and products of few rows with
 * wide matrices.
 */
#define RESIDUAL  1000000
#define DEPTHWISE 2000000
#define DYNAMIC	  3000000
#define HALF	  4000000
#define AVERAGES  5000000
#define MATRICES  6000000
#define FEW_ROWS  7000000

static enum wnn_op choose_layer(struct generator *g)
{
	static const enum wnn_op layers[] = {
		WNN_OP_CONV2D,	   WNN_OP_CONV2D, WNN_OP_CONV2D,  WNN_OP_CONV_TRANSPOSE2D,
		WNN_OP_GEMM,	   WNN_OP_MATMUL, WNN_OP_ADD,	  WNN_OP_MUL,
		WNN_OP_SUB,	   WNN_OP_CLAMP,  WNN_OP_SIGMOID, WNN_OP_MAX_POOL2D,
		WNN_OP_RESHAPE,	   WNN_OP_PAD,	  WNN_OP_CONCAT,  WNN_OP_TRANSPOSE,
		WNN_OP_HARD_SWISH, WNN_OP_SLICE,  WNN_OP_ADD,	  WNN_OP_RELU,
		WNN_OP_RESAMPLE2D,
	};

	if (g->depthwise && rng_chance(&g->rng, 60))
		return WNN_OP_CONV2D;
	if (g->matrices && rng_chance(&g->rng, 60))
		return rng_chance(&g->rng, 60) ? WNN_OP_GEMM : WNN_OP_MATMUL;
	if (g->averages && rng_chance(&g->rng, 30))
		return WNN_OP_AVERAGE_POOL2D;
	return layers[rng_below(&g->rng, ARRAY_SIZE(layers))];
}

/* Adds a constant, of the rank of the value that it scales or shifts; returns its id. */
static int add_constant(struct generator *g, WNNOperandDataType type, uint32_t rank,
			const uint32_t *dims, struct fill fill)
{
	int id = generator_leaf(g, type, rank, dims, fill);

	if (id >= 0)
		g->graph->values[id].kind = GRAPH_CONSTANT;
	return id;
}

/* Appends a node with these operands; returns the id of its result, or GRAPH_ABSENT. */
static int add_result(struct generator *g, enum wnn_op op, int data, int scale, int zero)
{
	struct graph_node *node = generator_node(g, op, data, scale);

	if (node->num_operands > 2)
		node->operands[2] = zero;
	return zero < 0 ? GRAPH_ABSENT : generator_append(g, node);
}

static WNNOperandDataType random_bytes(struct generator *g)
{
	return rng_chance(&g->rng, 50) ? WNNOperandDataType_Int8 : WNNOperandDataType_Uint8;
}

/*
 * A scale and a zero point. Sometimes a layer uses those of an earlier one, so that a
 * dequantisation and the next quantisation cancel out.
 */
struct quantum {
	int scale, zero;
	WNNOperandDataType type;
	uint32_t rank;
};

/* In a dynamic graph, turns a constant into an input with a probability of @percent. */
static void free_constant(struct generator *g, int id, uint32_t percent)
{
	if (id >= 0 && g->dynamic && rng_chance(&g->rng, percent))
		g->graph->values[id].kind = GRAPH_INPUT;
}

static struct quantum draw_quantum(struct generator *g, uint32_t rank, double lo, double hi)
{
	static const uint32_t ones[IR_MAX_RANK] = { 1, 1, 1, 1, 1, 1, 1, 1 };
	struct quantum q = { .type = random_bytes(g), .rank = rank };
	bool is_signed = q.type == WNNOperandDataType_Int8;

	q.scale = add_constant(g, g->real, rank, ones, (struct fill){ GRAPH_UNIFORM, lo, hi });
	q.zero = add_constant(g, q.type, rank, ones,
			      (struct fill){ GRAPH_UNIFORM, is_signed ? -8 : 0,
					     is_signed ? 8 : 200 });
	free_constant(g, q.scale, 60);
	free_constant(g, q.zero, 60);
	return q;
}

/* Quantises and dequantises a value; returns the id of the result, or a number below 0. */
static int through_integers(struct generator *g, int value, const struct quantum *q)
{
	int integers = add_result(g, WNN_OP_QUANTIZE_LINEAR, value, q->scale, q->zero);

	if (integers < 0)
		return integers;
	return add_result(g, WNN_OP_DEQUANTIZE_LINEAR, integers, q->scale, q->zero);
}

/*
 * Appends the dequantisation of integer weights with the shape of @like, and returns the id of its
 * result. Each dimension of the scale is 1, that of the weights or half of it.
 */
static int draw_weights(struct generator *g, const struct graph_value *like)
{
	uint32_t dims[IR_MAX_RANK], axis = like->rank ? rng_below(&g->rng, like->rank) : 0;
	bool packed = rng_chance(&g->rng, 25), is_signed = rng_chance(&g->rng, 50);
	WNNOperandDataType type = packed    ? is_signed ? WNNOperandDataType_Int4 :
							  WNNOperandDataType_Uint4 :
				  is_signed ? WNNOperandDataType_Int8 :
					      WNNOperandDataType_Uint8;
	int data, scale, zero, most = packed ? 7 : 60;

	data = generator_leaf(g, type, like->rank, like->dims,
			      (struct fill){ GRAPH_UNIFORM, is_signed ? -most : 0, most });
	if (data >= 0 && rng_chance(&g->rng, 85))
		g->graph->values[data].kind = GRAPH_CONSTANT;
	for (uint32_t i = 0; i < like->rank; i++)
		dims[i] = i == axis && rng_chance(&g->rng, 60)		  ? like->dims[i] :
			  !(like->dims[i] % 2) && rng_chance(&g->rng, 15) ? like->dims[i] / 2 :
									    1;
	scale = add_constant(g, g->real, like->rank, dims,
			     (struct fill){ GRAPH_UNIFORM, 0.002, 0.05 });
	zero = add_constant(g, type, like->rank, dims,
			    (struct fill){ GRAPH_UNIFORM, 0,
					   rng_chance(&g->rng, 70) ? 0 : most / 2 });
	return add_result(g, WNN_OP_DEQUANTIZE_LINEAR, data, scale, zero);
}

static bool is_product(enum wnn_op op)
{
	return op == WNN_OP_CONV2D || op == WNN_OP_CONV_TRANSPOSE2D || op == WNN_OP_GEMM ||
	       op == WNN_OP_MATMUL;
}

/*
 * Replaces the second operand of the last call by dequantised integers if it is a float leaf.
 * Returns false when the graph has too little space left.
 */
static bool quantise_operand(struct generator *g)
{
	struct graph *graph = g->graph;
	struct graph_node call = graph->nodes[graph->num_nodes - 1];
	struct graph_value like = graph->values[call.operands[1]];
	int weights;

	if (like.kind == GRAPH_RESULT || like.type != g->real)
		return true;
	graph->num_nodes--;
	weights = draw_weights(g, &like);
	if (weights < 0)
		return false;
	call.operands[1] = weights;
	graph->nodes[graph->num_nodes++] = call;
	return true;
}

/*
 * Multiplies the result of @op by a number or, if @op is a product of matrices, perhaps by one for
 * each column. Returns the id of the result, or a number below 0.
 */
static int scale_product(struct generator *g, enum wnn_op op, int value)
{
	uint32_t rank = g->graph->values[value].rank, dims[IR_MAX_RANK];
	bool matrix = op == WNN_OP_GEMM || op == WNN_OP_MATMUL;
	int factor;

	for (uint32_t i = 0; i < rank; i++)
		dims[i] = 1;
	if (matrix && rank && rng_chance(&g->rng, 50))
		dims[rank - 1] = g->graph->values[value].dims[rank - 1];
	factor = add_constant(g, g->real, rank, dims, (struct fill){ GRAPH_UNIFORM, -2, 2 });
	free_constant(g, factor, 60);
	return factor < 0 ? factor : add_result(g, WNN_OP_MUL, value, factor, 0);
}

/*
 * Adds dequantised integers of the shape of @value, as residual networks do, and quantises and
 * dequantises the sum, which is now and then transposed. Returns the id of the result, or a number
 * below 0.
 */
static int add_residual(struct generator *g, int value)
{
	const struct graph_value like = g->graph->values[value];
	struct quantum q = draw_quantum(g, like.rank, 0.01, 0.2);
	bool is_signed = q.type == WNNOperandDataType_Int8;
	int other = generator_leaf(g, q.type, like.rank, like.dims,
				   (struct fill){ GRAPH_UNIFORM, is_signed ? -60 : 0, 120 });

	other = add_result(g, WNN_OP_DEQUANTIZE_LINEAR, other, q.scale, q.zero);
	if (rng_chance(&g->rng, 50))
		value = add_result(g, WNN_OP_ADD, value, other, 0);
	else
		value = add_result(g, WNN_OP_ADD, other, value, 0);
	if (value >= 0 && rng_chance(&g->rng, 30) && generator_call(g, WNN_OP_RELU, value))
		value = g->graph->nodes[g->graph->num_nodes - 1].results[0];
	q = draw_quantum(g, like.rank, 0.02, 0.3);
	value = value < 0 ? value : through_integers(g, value, &q);
	if (value >= 0 && rng_chance(&g->rng, 30) && generator_call(g, WNN_OP_TRANSPOSE, value))
		value = g->graph->nodes[g->graph->num_nodes - 1].results[0];
	return value;
}

static int draw_layer(struct generator *g, int value, struct quantum *q, bool residual)
{
	static const enum wnn_op functions[] = { WNN_OP_RELU, WNN_OP_CLAMP, WNN_OP_SIGMOID };
	struct graph *graph = g->graph;
	enum wnn_op op = choose_layer(g);
	uint32_t rank;

	if (!generator_fits(g, op, &graph->values[value]) || !generator_call(g, op, value))
		return value;
	if (graph->values[graph->nodes[graph->num_nodes - 1].results[0]].type != g->real)
		return GRAPH_ABSENT;
	if (graph->nodes[graph->num_nodes - 1].num_operands > 1 &&
	    (is_product(op) || rng_chance(&g->rng, 80)) && !quantise_operand(g))
		return GRAPH_ABSENT;
	value = graph->nodes[graph->num_nodes - 1].results[0];
	if (is_product(op) && g->dynamic && rng_chance(&g->rng, 60))
		value = scale_product(g, op, value);
	if (value >= 0 && is_product(op) && rng_chance(&g->rng, 50) &&
	    generator_call(g, functions[rng_below(&g->rng, ARRAY_SIZE(functions))], value))
		value = graph->nodes[graph->num_nodes - 1].results[0];
	if (value < 0)
		return value;
	rank = graph->values[value].rank;
	if (!q->type || q->rank != rank || is_product(op) || rng_chance(&g->rng, 50))
		*q = draw_quantum(g, rank, 0.01, is_product(op) ? 1 : 0.2);
	value = through_integers(g, value, q);
	if (residual && value >= 0 && op == WNN_OP_CONV2D)
		value = add_residual(g, value);
	return value;
}

/*
 * Appends a product with a matrix that takes longer to load than to multiply, so that devices may
 * keep the matrix in SRAM for the next dispatch. Returns the id of the result, which is mostly
 * quantised and dequantised, or a number below 0.
 */
static int draw_wide_layer(struct generator *g, int value)
{
	const struct graph_value *data = &g->graph->values[value];
	struct graph_value like = { .type = g->real, .rank = 2 };
	uint32_t columns = rng_between(&g->rng, 24, 96), rows = data->dims[1];
	struct quantum q;
	int weights;

	like.dims[0] = rows;
	like.dims[1] = columns;
	weights = draw_weights(g, &like);
	value = weights < 0 ? weights : add_result(g, WNN_OP_MATMUL, value, weights, 0);
	if (value >= 0 && rng_chance(&g->rng, 50)) {
		int bias = add_constant(g, g->real, 1, &columns,
					(struct fill){ GRAPH_UNIFORM, -1, 1 });

		value = bias < 0 ? bias : add_result(g, WNN_OP_ADD, value, bias, 0);
	}
	if (value >= 0 && rng_chance(&g->rng, 50) && generator_call(g, WNN_OP_RELU, value))
		value = g->graph->nodes[g->graph->num_nodes - 1].results[0];
	if (value < 0 || rng_chance(&g->rng, 30))
		return value;
	q = draw_quantum(g, 2, 0.01, 1);
	return through_integers(g, value, &q);
}

void graph_quantised(struct graph *graph, uint64_t seed, graph_limits limits)
{
	for (uint32_t attempt = 0;; attempt++) {
		uint32_t dims[IR_MAX_RANK], rank, wanted;
		struct quantum q = { .scale = GRAPH_ABSENT };
		uint64_t depthwise = rng_mix(seed, attempt + DEPTHWISE);
		bool residual = rng_mix(seed, attempt + RESIDUAL) % 3 == 0;
		bool few_rows = rng_mix(seed, attempt + FEW_ROWS) % 6 == 0;
		struct generator g;
		int value;

		generator_begin(&g, graph, rng_mix(seed, attempt), true);
		g.limits = limits;
		g.real = rng_mix(seed, attempt + HALF) % 5 ? WNNOperandDataType_Float32 :
							     WNNOperandDataType_Float16;
		g.averages = rng_mix(seed, attempt + AVERAGES) % 4 == 0;
		g.dynamic = rng_mix(seed, attempt + DYNAMIC) % 3 == 0;
		rank = rng_chance(&g.rng, 75) ? 4 : rng_between(&g.rng, 1, 4);
		wanted = rng_between(&g.rng, 2, MAX_LAYERS) * 5;
		generator_dims(&g, rank, 8, g.budget, dims);
		if (depthwise % 3 == 0) {
			g.depthwise = true;
			rank = 4;
			generator_dims(&g, rank, 6, g.budget, dims);
			dims[1] = 12 + (uint32_t)(depthwise / 3 % 40);
			dims[3] = 12 + (uint32_t)(depthwise / 120 % 12);
		} else if (rng_mix(seed, attempt + MATRICES) % 4 == 0) {
			g.matrices = true;
			rank = 2;
			generator_dims(&g, rank, 40, g.budget, dims);
		}
		if (few_rows) {
			rank = 2;
			dims[0] = rng_between(&g.rng, 1, 3);
			dims[1] = rng_between(&g.rng, 24, 96);
		}
		value = generator_leaf(&g, g.real, rank, dims,
				       (struct fill){ GRAPH_UNIFORM, -4, 4 });
		if (value >= 0) {
			q = draw_quantum(&g, rank, 0.01, 0.1);
			value = through_integers(&g, value, &q);
		}
		for (uint32_t i = 0; value >= 0 && i < 100 && graph->num_nodes < wanted &&
				     graph->num_nodes + NODES_OF_LAYER <= GRAPH_MAX_NODES;
		     i++)
			value = few_rows ? draw_wide_layer(&g, value) :
					   draw_layer(&g, value, &q, residual);
		if (value >= 0) {
			generator_finish(&g);
			return;
		}
		wnn_builder_destroy(g.scratch);
	}
}
