// SPDX-License-Identifier: MIT
/* Builds the graphs of models of the architecture llama. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../common/memory.h"
#include "llama.h"

/* Most characters of the name of an input or output. */
#define NAME 16

struct graph {
	const struct gguf_llama *model;
	WNNGraphBuilder builder;
	uint32_t tokens, length;
	WNNOperand cosine, sine, mask, place;
	/* scalars: the norm's epsilon; 1 over the square root of a head's size */
	WNNOperand epsilon, root;
	WNNNamedOperand *outputs;
	char (*names)[NAME];
	size_t output_count;
};

/*
 * Returns x reshaped. As all functions here do, it returns NULL for a NULL operand, which stands
 * for one that the builder refused.
 */
static WNNOperand reshape(const struct graph *g, WNNOperand x, WNNUint32Array shape)
{
	return x ? wnnGraphBuilderReshape(g->builder, x, shape, NULL) : NULL;
}

#define RESHAPE(g, x, ...) reshape(g, x, WNN_UINT32_ARRAY(((uint32_t[]){ __VA_ARGS__ })))

static WNNOperand transpose(const struct graph *g, WNNOperand x, uint32_t a, uint32_t b, uint32_t c)
{
	WNNTransposeOptions options = WNN_TRANSPOSE_OPTIONS_INIT;
	uint32_t order[] = { a, b, c };

	options.permutation = WNN_UINT32_ARRAY(order);
	return x ? wnnGraphBuilderTranspose(g->builder, x, &options) : NULL;
}

typedef WNNOperand (*binary_fn)(WNNGraphBuilder, WNNOperand, WNNOperand,
				WNNOperatorOptions const *);

static WNNOperand binary(const struct graph *g, binary_fn fn, WNNOperand a, WNNOperand b)
{
	return a && b ? fn(g->builder, a, b, NULL) : NULL;
}

static WNNOperand scalar(const struct graph *g, double value)
{
	WNNNumber number = WNN_NUMBER_INIT;

	number.kind = WNNNumberKind_Double;
	number.doubleValue = value;
	return wnnGraphBuilderConstantFromNumber(g->builder, WNNOperandDataType_Float32, number);
}

static WNNOperand input(const struct graph *g, const char *name, WNNOperandDataType type,
			WNNUint32Array shape)
{
	WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;

	descriptor.dataType = type;
	descriptor.shape = shape;
	return wnnGraphBuilderInput(g->builder, WNN_STR(name), &descriptor);
}

#define INPUT(g, name, type, ...) \
	input(g, name, type, WNN_UINT32_ARRAY(((uint32_t[]){ __VA_ARGS__ })))

static void output(struct graph *g, const char *name, WNNOperand operand)
{
	WNNNamedOperand *item = &g->outputs[g->output_count];

	snprintf(g->names[g->output_count], NAME, "%s", name);
	item->name = WNN_STR(g->names[g->output_count]);
	item->operand = operand;
	g->output_count++;
}

/* Returns x divided by the root of the mean of its squares, times a weight for each number. */
static WNNOperand norm(const struct graph *g, WNNOperand x, const float *weight)
{
	uint32_t axis[] = { 1 }, shape[] = { g->model->width };
	WNNReduceOptions reduce = WNN_REDUCE_OPTIONS_INIT;
	WNNOperand squares = binary(g, wnnGraphBuilderMul, x, x), factor, mean;

	reduce.axes = WNN_UINT32_ARRAY(axis);
	reduce.keepDimensions = true;
	mean = squares ? wnnGraphBuilderReduceMean(g->builder, squares, &reduce) : NULL;
	mean = binary(g, wnnGraphBuilderAdd, mean, g->epsilon);
	mean = mean ? wnnGraphBuilderSqrt(g->builder, mean, NULL) : NULL;
	factor = import_borrow(g->builder, WNNOperandDataType_Float32, weight,
			       g->model->width * sizeof(*weight), WNN_UINT32_ARRAY(shape));
	return binary(g, wnnGraphBuilderMul, binary(g, wnnGraphBuilderDiv, x, mean), factor);
}

/* ---- attention */

/* Returns numbers [first, first + count) of each head. */
static WNNOperand part(const struct graph *g, WNNOperand x, uint32_t heads, uint32_t first,
		       uint32_t count)
{
	uint32_t starts[] = { 0, 0, first }, sizes[] = { heads, g->tokens, count };

	if (!x)
		return NULL;
	return wnnGraphBuilderSlice(g->builder, x, WNN_UINT32_ARRAY(starts),
				    WNN_UINT32_ARRAY(sizes), NULL);
}

/*
 * Rotates the pairs of each head of x [heads, tokens, size] and returns the result; NULL: the
 * builder refused. Number i of the first half and number i of the second half of the rotated
 * numbers are a pair, because the weights are in that order. Numbers beyond m->rotated stay.
 */
static WNNOperand rotate(const struct graph *g, WNNOperand x, uint32_t heads)
{
	const struct gguf_llama *m = g->model;
	WNNOperand a = part(g, x, heads, 0, m->rotated / 2), parts[3];
	WNNOperand b = part(g, x, heads, m->rotated / 2, m->rotated / 2);
	size_t count = 2;

	parts[0] = binary(g, wnnGraphBuilderSub, binary(g, wnnGraphBuilderMul, a, g->cosine),
			  binary(g, wnnGraphBuilderMul, b, g->sine));
	parts[1] = binary(g, wnnGraphBuilderAdd, binary(g, wnnGraphBuilderMul, b, g->cosine),
			  binary(g, wnnGraphBuilderMul, a, g->sine));
	if (m->rotated < m->size)
		parts[count++] = part(g, x, heads, m->rotated, m->size - m->rotated);
	for (size_t i = 0; i < count; i++)
		if (!parts[i])
			return NULL;
	return wnnGraphBuilderConcat(g->builder, count, parts, 2, NULL);
}

/* Returns x [tokens, heads * size] as [heads, tokens, size]. */
static WNNOperand split(const struct graph *g, WNNOperand x, uint32_t heads)
{
	return transpose(g, RESHAPE(g, x, g->tokens, heads, g->model->size), 1, 0, 2);
}

/*
 * Puts x [key heads, tokens, size] into a cache, which is updated in place and becomes an output,
 * and returns the cache.
 */
static WNNOperand store(struct graph *g, WNNOperand x, char kind, uint32_t layer)
{
	uint32_t heads = g->model->key_heads, size = g->model->size;
	WNNOperand cache, parts;
	char name[NAME];

	snprintf(name, sizeof(name), "%c%u", kind, layer);
	cache = INPUT(g, name, WNNOperandDataType_Float32, heads, g->length, size);
	parts = RESHAPE(g, cache, heads, g->length / g->tokens, g->tokens, size);
	x = x && parts && g->place ?
		    wnnGraphBuilderScatterND(g->builder, parts, g->place, x, NULL) :
		    NULL;
	x = RESHAPE(g, x, heads, g->length, size);
	if (x && wnnGraphBuilderUpdateInput(g->builder, cache, x) != WNNStatus_Success)
		x = NULL;
	snprintf(name, sizeof(name), "%c%u", kind - 'a' + 'A', layer);
	output(g, name, x);
	return x;
}

static WNNOperand attend(struct graph *g, WNNOperand x, uint32_t layer)
{
	const struct gguf_llama *m = g->model;
	const struct gguf_layer *l = &m->layers[layer];
	uint32_t rows = m->heads / m->key_heads * g->tokens;
	WNNOperand query, key, value, scores;

	query = split(g, import_matrix_multiply(&l->query, g->builder, x), m->heads);
	key = split(g, import_matrix_multiply(&l->key, g->builder, x), m->key_heads);
	value = split(g, import_matrix_multiply(&l->value, g->builder, x), m->key_heads);
	query = binary(g, wnnGraphBuilderMul, rotate(g, query, m->heads), g->root);
	key = store(g, rotate(g, key, m->key_heads), 'k', layer);
	value = store(g, value, 'v', layer);
	/* Heads of queries that share a head of keys are rows of one matrix. */
	scores = binary(g, wnnGraphBuilderMatmul, RESHAPE(g, query, m->key_heads, rows, m->size),
			transpose(g, key, 0, 2, 1));
	scores = binary(g, wnnGraphBuilderAdd, RESHAPE(g, scores, m->heads, g->tokens, g->length),
			g->mask);
	scores = scores ? wnnGraphBuilderSoftmax(g->builder, scores, 2, NULL) : NULL;
	x = binary(g, wnnGraphBuilderMatmul, RESHAPE(g, scores, m->key_heads, rows, g->length),
		   value);
	x = transpose(g, RESHAPE(g, x, m->heads, g->tokens, m->size), 1, 0, 2);
	x = RESHAPE(g, x, g->tokens, m->heads * m->size);
	return import_matrix_multiply(&l->output, g->builder, x);
}

/* ---- the whole graph */

static WNNOperand feed_forward(const struct graph *g, WNNOperand x, const struct gguf_layer *l)
{
	WNNOperand gate = import_matrix_multiply(&l->gate, g->builder, x);
	WNNOperand up = import_matrix_multiply(&l->up, g->builder, x);
	WNNOperand share = gate ? wnnGraphBuilderSigmoid(g->builder, gate, NULL) : NULL;

	x = binary(g, wnnGraphBuilderMul, binary(g, wnnGraphBuilderMul, gate, share), up);
	return import_matrix_multiply(&l->down, g->builder, x);
}

static void add_operators(struct graph *g)
{
	const WNNOperandDataType real = WNNOperandDataType_Float32;
	const struct gguf_llama *m = g->model;
	WNNOperand x = INPUT(g, "x", real, g->tokens, m->width), pick;

	g->cosine = INPUT(g, "cos", real, 1, g->tokens, m->rotated / 2);
	g->sine = INPUT(g, "sin", real, 1, g->tokens, m->rotated / 2);
	g->mask = INPUT(g, "mask", real, 1, g->tokens, g->length);
	g->place = INPUT(g, "place", WNNOperandDataType_Int32, m->key_heads, 2);
	pick = INPUT(g, "pick", real, 1, g->tokens);
	g->epsilon = scalar(g, (double)m->epsilon);
	g->root = scalar(g, 1 / sqrt(m->size));
	for (uint32_t i = 0; i < m->layer_count; i++) {
		const struct gguf_layer *l = &m->layers[i];

		x = binary(g, wnnGraphBuilderAdd, x, attend(g, norm(g, x, l->attention_norm), i));
		x = binary(g, wnnGraphBuilderAdd, x, feed_forward(g, norm(g, x, l->feed_norm), l));
	}
	/* Selects the row of the token whose logits are wanted. */
	x = norm(g, binary(g, wnnGraphBuilderMatmul, pick, x), m->norm);
	output(g, "logits", import_matrix_multiply(&m->logits, g->builder, x));
}

int gguf_fail_last(struct gguf_error *error, const char *what)
{
	WNNError last = WNN_ERROR_INIT;

	wnnGetLastError(&last);
	gguf_fail(error, "%s: %.*s", what, (int)last.message.length, last.message.data);
	error->machine = last.status == WNNStatus_UnknownError;
	return -1;
}

static int fail_builder(WNNGraphBuilder builder, struct gguf_error *error)
{
	WNNError last = WNN_ERROR_INIT;

	wnnGraphBuilderGetLastError(builder, &last);
	gguf_fail(error, "its graph cannot be built: %.*s", (int)last.message.length,
		  last.message.data);
	error->machine = last.status == WNNStatus_UnknownError;
	return -1;
}

int gguf_llama_build(const struct gguf_llama *model, WNNContext context, uint32_t tokens,
		     uint32_t length, WNNGraph *graph, struct gguf_error *error)
{
	struct graph g = { .model = model, .tokens = tokens, .length = length };
	size_t most = 2 * (size_t)model->layer_count + 1;
	int ret = 0;

	g.builder = wnnContextCreateGraphBuilder(context);
	g.outputs = import_alloc(most * sizeof(*g.outputs));
	g.names = import_alloc(most * sizeof(*g.names));
	if (!g.builder)
		ret = gguf_fail_last(error, "its graph cannot be built");
	else if (!g.outputs || !g.names)
		ret = gguf_fail_memory(error);
	if (!ret) {
		add_operators(&g);
		for (size_t i = 0; i < most && !ret; i++)
			if (!g.outputs[i].operand)
				ret = fail_builder(g.builder, error);
	}
	if (!ret && wnnGraphBuilderBuildSync(g.builder, g.output_count, g.outputs, WNN_WAIT_FOREVER,
					     graph) != WNNStatus_Success)
		ret = gguf_fail_last(error, "its graph cannot be built");
	wnnGraphBuilderRelease(g.builder);
	import_free(g.outputs);
	import_free(g.names);
	return ret;
}
