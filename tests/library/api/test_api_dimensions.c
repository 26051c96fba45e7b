// SPDX-License-Identifier: MIT
/*
 * Tests dimensions that are known only at dispatch: one graph is dispatched with tensors of several
 * sizes, and gives the bits of graphs that are built for these sizes.
 */
#include "fixture.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH  16
#define ROWS   12 /* the largest size of "rows" */
#define LENGTH 40 /* the largest size of "length" */

static const char *const devices[] = { "cpu", "sim" };

static const WNNDimensionRange plain = WNN_DIMENSION_RANGE_INIT;

static WNNDimensionRange range(const char *name, uint32_t min, uint32_t max)
{
	return (WNNDimensionRange){ WNN_STR(name), min, max };
}

/*
 * Returns a new input of two dimensions, or NULL when the builder refuses it; the range `plain`
 * means that a dimension is fixed.
 */
static WNNOperand late_input(WNNGraphBuilder b, const char *name, uint32_t rows, uint32_t cols,
			     WNNDimensionRange of_rows, WNNDimensionRange of_cols)
{
	WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
	WNNDimensionRanges ranges = WNN_DIMENSION_RANGES_INIT;
	const WNNDimensionRange list[] = { of_rows, of_cols };
	const uint32_t shape[] = { rows, cols };

	ranges.rangeCount = 2;
	ranges.ranges = list;
	descriptor.dataType = WNNOperandDataType_Float32;
	descriptor.shape = WNN_UINT32_ARRAY(shape);
	descriptor.nextInChain = &ranges.chain;
	return wnnGraphBuilderInput(b, WNN_STR(name), &descriptor);
}

/*
 * The sizes of a graph. If `late`, its dimensions have names and ranges; else they are `rows` and
 * `length`.
 */
struct sizes {
	bool late;
	uint32_t rows, length;
};

static uint32_t times(WNNGraphBuilder b, const struct sizes *s, const char *name, int32_t multiply,
		      int32_t add, uint32_t divide)
{
	int64_t n = strcmp(name, "rows") ? s->length : s->rows;

	return s->late ? wnnGraphBuilderDimension(b, WNN_STR(name), multiply, add, divide) :
			 (uint32_t)((multiply * n + add) / divide);
}

/*
 * Records a graph in a new builder, which it returns, and sets outputs[0] to outputs[2]: attention
 * of q[rows, WIDTH] over k[length, WIDTH], a reshape and a slice whose sizes depend on rows, and a
 * pool with stride 2 over length:
 *	attended[rows, WIDTH] = softmax(q * transpose(k)) * k
 *	lower[rows, WIDTH / 2]: the second half of attended as [2 * rows, WIDTH / 2]
 *	pooled[1, 1, (length + 1) / 2, WIDTH]
 */
static WNNGraphBuilder record(WNNContext context, const struct sizes *s, WNNNamedOperand *outputs)
{
	WNNGraphBuilder b = wnnContextCreateGraphBuilder(context);
	WNNPool2dOptions pool = WNN_POOL2D_OPTIONS_INIT;
	const uint32_t stride[] = { 2, 1 }, window[] = { 1, 1 };
	WNNOperand q, k, attended, flat, lower, picture, pooled, scores;

	q = s->late ? late_input(b, "q", ROWS, WIDTH, range("rows", 1, ROWS), plain) :
		      make_input(b, "q", s->rows, WIDTH);
	k = s->late ? late_input(b, "k", LENGTH, WIDTH, range("length", 1, LENGTH), plain) :
		      make_input(b, "k", s->length, WIDTH);
	scores = wnnGraphBuilderMatmul(b, q, wnnGraphBuilderTranspose(b, k, NULL), NULL);
	attended = wnnGraphBuilderMatmul(b, wnnGraphBuilderSoftmax(b, scores, 1, NULL), k, NULL);
	flat = wnnGraphBuilderReshape(
		b, attended,
		WNN_UINT32_ARRAY(((uint32_t[]){ times(b, s, "rows", 2, 0, 1), WIDTH / 2 })), NULL);
	lower = wnnGraphBuilderSlice(
		b, flat, WNN_UINT32_ARRAY(((uint32_t[]){ times(b, s, "rows", 1, 0, 1), 0 })),
		WNN_UINT32_ARRAY(((uint32_t[]){ times(b, s, "rows", 1, 0, 1), WIDTH / 2 })), NULL);
	picture = wnnGraphBuilderReshape(
		b, k,
		WNN_UINT32_ARRAY(((uint32_t[]){ 1, 1, times(b, s, "length", 1, 0, 1), WIDTH })),
		NULL);
	pool.windowDimensions = WNN_UINT32_ARRAY(window);
	pool.strides = WNN_UINT32_ARRAY(stride);
	pooled = wnnGraphBuilderMaxPool2d(b, picture, &pool);
	assert_non_null(lower);
	assert_non_null(pooled);
	outputs[0] = (WNNNamedOperand){ WNN_STR("attended"), attended };
	outputs[1] = (WNNNamedOperand){ WNN_STR("lower"), lower };
	outputs[2] = (WNNNamedOperand){ WNN_STR("pooled"), pooled };
	return b;
}

static WNNGraph build(WNNContext context, const struct sizes *s)
{
	WNNNamedOperand outputs[3];
	WNNGraphBuilder b = record(context, s, outputs);
	WNNGraph graph = NULL;

	assert_ok(wnnGraphBuilderBuildSync(b, 3, outputs, GENEROUS, &graph));
	wnnGraphBuilderRelease(b);
	return graph;
}

/* The tensors of a dispatch. */
struct tensors {
	WNNTensor q, k, attended, lower, pooled;
};

static WNNStatus dispatch(WNNContext context, WNNGraph graph, const struct tensors *t)
{
	const WNNNamedTensor inputs[] = { { WNN_STR("q"), t->q }, { WNN_STR("k"), t->k } };
	const WNNNamedTensor outputs[] = { { WNN_STR("attended"), t->attended },
					   { WNN_STR("lower"), t->lower },
					   { WNN_STR("pooled"), t->pooled } };

	return wnnContextDispatch(context, graph, 2, inputs, 3, outputs);
}

static void fill(WNNContext context, WNNTensor tensor, uint32_t elements, uint32_t seed)
{
	float *data = malloc(elements * sizeof(*data));

	for (uint32_t i = 0; i < elements; i++)
		data[i] = (float)((i * 37 + seed * 11) % 64) / 32 - 1;
	assert_ok(wnnContextWriteTensor(context, tensor, data, elements * sizeof(*data)));
	free(data);
}

static void open_tensors(struct tensors *t, WNNContext context, uint32_t rows, uint32_t length)
{
	t->q = make_tensor(context, rows, WIDTH);
	t->k = make_tensor(context, length, WIDTH);
	t->attended = make_tensor(context, rows, WIDTH);
	t->lower = make_tensor(context, rows, WIDTH / 2);
	t->pooled = make_picture(context, (const uint32_t[]){ 1, 1, (length + 1) / 2, WIDTH });
	fill(context, t->q, rows * WIDTH, rows);
	fill(context, t->k, length * WIDTH, length);
}

static void close_tensors(const struct tensors *t)
{
	wnnTensorRelease(t->q);
	wnnTensorRelease(t->k);
	wnnTensorRelease(t->attended);
	wnnTensorRelease(t->lower);
	wnnTensorRelease(t->pooled);
}

static void assert_same(WNNContext context, WNNTensor a, WNNTensor b, size_t elements)
{
	size_t bytes = elements * sizeof(float);
	float *x = malloc(bytes), *y = malloc(bytes);

	assert_ok(wnnContextReadTensorIntoSync(context, a, x, bytes, GENEROUS));
	assert_ok(wnnContextReadTensorIntoSync(context, b, y, bytes, GENEROUS));
	assert_memory_equal(x, y, bytes);
	free(x);
	free(y);
}

/* Dispatches the graph with names and one that is built for these sizes, and compares bits. */
static void compare(WNNContext context, WNNGraph graph, uint32_t rows, uint32_t length)
{
	const struct sizes fixed = { false, rows, length };
	WNNGraph same = build(context, &fixed);
	struct tensors t, u;

	open_tensors(&t, context, rows, length);
	open_tensors(&u, context, rows, length);
	assert_ok(dispatch(context, graph, &t));
	assert_ok(dispatch(context, same, &u));
	assert_same(context, t.attended, u.attended, (size_t)rows * WIDTH);
	assert_same(context, t.lower, u.lower, (size_t)rows * WIDTH / 2);
	assert_same(context, t.pooled, u.pooled, (size_t)(length + 1) / 2 * WIDTH);
	close_tensors(&t);
	close_tensors(&u);
	wnnGraphRelease(same);
}

static void assert_text(WNNGraph graph, const char *part)
{
	WNNString text = WNN_STRING_INIT;

	assert_ok(wnnGraphGetText(graph, WNNGraphText_Dimensions, &text));
	if (!strstr(text.data, part))
		fail_msg("\"%s\" is not in:\n%s", part, text.data);
	wnnStringFreeMembers(text);
}

static void each_size_gives_the_bits_of_a_fixed_graph(void **state)
{
	static const uint32_t sizes[][2] = { { ROWS, LENGTH }, { 1, 1 }, { 1, LENGTH }, { ROWS, 1 },
					     { 2, 7 },	       { 3, 7 }, { 5, 39 },	{ 7, 8 },
					     { 2, 7 },	       { 9, 9 }, { 10, 10 },	{ 1, 1 } };
	const struct sizes late = { true, 0, 0 };
	WNNInstance instance = wnnCreateInstance(NULL);

	(void)state;
	for (size_t d = 0; d < sizeof(devices) / sizeof(*devices); d++) {
		WNNContext context = open_context(instance, devices[d]);
		WNNGraph graph = build(context, &late);

		assert_text(graph, "\"rows\" is from 1 to 12, by value");
		assert_text(graph, "input \"k\": float32[length,16]");
		assert_text(graph, "output \"pooled\": float32[1,1,(length+1)/2,16]");
		assert_text(graph, "1 of at most 8 combinations of sizes are compiled, after 1 "
				   "compilations");
		for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
			compare(context, graph, sizes[i][0], sizes[i][1]);
		/* { 2, 7 } is compiled once; { 1, 1 } is dropped and compiled again. */
		assert_text(graph, "compiled for \"rows\" = 2, \"length\" = 7: 2 dispatches");
		assert_text(graph, "8 of at most 8 combinations of sizes are compiled, after 11 "
				   "compilations");
		wnnGraphRelease(graph);
		wnnContextRelease(context);
	}
	wnnInstanceRelease(instance);
}

static void assert_dispatch_failed(WNNContext context, WNNGraph graph, struct tensors t,
				   const char *text)
{
	assert_failed(dispatch(context, graph, &t), WNNStatus_TypeError, text);
}

static void sizes_out_of_the_range_are_refused(void **state)
{
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContext context = open_context(instance, "cpu");
	WNNGraphBuilder b = wnnContextCreateGraphBuilder(context);
	WNNOperand x = late_input(b, "x", 8, 4, range("rows", 2, 8), plain);
	WNNOperand y = late_input(b, "y", 8, 4, range("rows", 2, 8), plain);
	WNNGraph graph = build_one(b, "z", wnnGraphBuilderAdd(b, x, y, NULL));
	static const struct {
		uint32_t x, y, z, cols;
		const char *text;
	} cases[] = {
		{ 1, 1, 1, 4,
		  "input \"x\": dimension 0 of the tensor is 1; it must be rows, where \"rows\" "
		  "is from "
		  "2 to 8" },
		{ 9, 9, 9, 4, "is 9; it must be rows, where \"rows\" is from 2 to 8" },
		{ 3, 4, 3, 4, "is 4; it must be rows, which is 3, as \"rows\" is 3 by another" },
		{ 3, 3, 3, 5, "input \"x\": dimension 1 of the tensor is 5; the graph has 4" },
		{ 3, 3, 8, 4,
		  "output \"z\": the tensor is float32[8,4]; the graph has "
		  "float32[3,4]" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		WNNTensor t[] = { make_tensor(context, cases[i].x, cases[i].cols),
				  make_tensor(context, cases[i].y, cases[i].cols),
				  make_tensor(context, cases[i].z, cases[i].cols) };
		const WNNNamedTensor in[] = { { WNN_STR("x"), t[0] }, { WNN_STR("y"), t[1] } };
		const WNNNamedTensor out[] = { { WNN_STR("z"), t[2] } };

		assert_failed(wnnContextDispatch(context, graph, 2, in, 1, out),
			      WNNStatus_TypeError, cases[i].text);
		for (int k = 0; k < 3; k++)
			wnnTensorRelease(t[k]);
	}
	wnnGraphRelease(graph);
	wnnGraphBuilderRelease(b);
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
}

static void shapes_are_computed(void **state)
{
	const struct sizes late = { true, 0, 0 };
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContext context = open_context(instance, "cpu");
	WNNGraph graph = build(context, &late);
	WNNNamedOperandDescriptors shapes = WNN_NAMED_OPERAND_DESCRIPTORS_INIT;
	struct tensors t;
	WNNGraph plain;

	(void)state;
	open_tensors(&t, context, 3, 7);
	const WNNNamedTensor inputs[] = { { WNN_STR("k"), t.k }, { WNN_STR("q"), t.q } };

	assert_ok(wnnGraphComputeShapes(graph, 2, inputs, &shapes));
	assert_int_equal(shapes.count, 3);
	assert_memory_equal(shapes.data[1].name.data, "lower", 5);
	assert_int_equal(shapes.data[1].shape.data[0], 3);
	assert_memory_equal(shapes.data[2].name.data, "pooled", 6);
	assert_int_equal(shapes.data[2].shape.count, 4);
	assert_int_equal(shapes.data[2].shape.data[2], 4);
	wnnNamedOperandDescriptorsFreeMembers(shapes);
	assert_failed(wnnGraphComputeShapes(graph, 1, inputs, &shapes), WNNStatus_TypeError,
		      "computeShapes: no tensor is given that tells the size of \"rows\"");
	assert_int_equal(shapes.count, 0);
	assert_failed(wnnGraphComputeShapes(
			      graph, 1, (const WNNNamedTensor[]){ { WNN_STR("z"), t.k } }, &shapes),
		      WNNStatus_TypeError, "the graph has no input \"z\"");
	/* A graph without named dimensions checks the tensors, too. */
	plain = build_add_relu(context, 2, 3);
	assert_failed(wnnGraphComputeShapes(
			      plain, 1, (const WNNNamedTensor[]){ { WNN_STR("x"), t.k } }, &shapes),
		      WNNStatus_TypeError, "input \"x\"");
	wnnGraphRelease(plain);
	t.attended = (wnnTensorRelease(t.attended), make_tensor(context, 2, WIDTH));
	assert_dispatch_failed(context, graph, t,
			       "output \"attended\": the tensor is float32[2,16]; the graph has "
			       "float32[3,16]");
	assert_failed(wnnGraphSave(graph, WNN_STR("/nonexistent/graph")),
		      WNNStatus_NotSupportedError,
		      "has dimensions that are known only at dispatch");
	close_tensors(&t);
	wnnGraphRelease(graph);
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
}

/* Tests that a call which is invalid for some size is refused, with the size and its range. */
static void operators_are_checked_for_every_size(void **state)
{
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContext context = open_context(instance, "cpu");
	WNNGraphBuilder b = wnnContextCreateGraphBuilder(context);
	WNNOperand x = late_input(b, "x", 8, 8, range("rows", 1, 8), plain);
	WNNOperand y = late_input(b, "y", 8, 8, plain, plain);
	WNNOperand z = late_input(b, "z", 8, 5, range("more", 1, 8), plain);
	uint32_t shape[2];

	(void)state;
	assert_null(wnnGraphBuilderAdd(b, x, y, NULL));
	assert_last_error(WNNStatus_TypeError,
			  "add with \"rows\" = 2, of 1 to 8: a of shape [2,8] and b of shape [8,8] "
			  "cannot be broadcast together: 2 and 8 differ");
	assert_null(wnnGraphBuilderMatmul(b, y, x, NULL));
	assert_last_error(WNNStatus_TypeError, "matmul with \"rows\" = 1, of 1 to 8: ");
	assert_null(wnnGraphBuilderMatmul(b, wnnGraphBuilderTranspose(b, x, NULL), z, NULL));
	assert_last_error(WNNStatus_TypeError, "\"rows\" = ");
	assert_last_error(WNNStatus_TypeError, "and \"more\" = ");
	/* The number 64 instead of an expression of "rows" fits one size only: 8. */
	shape[0] = 64;
	assert_null(wnnGraphBuilderReshape(b, x, (WNNUint32Array){ 1, shape }, NULL));
	assert_last_error(WNNStatus_TypeError,
			  "reshape with \"rows\" = 1, of 1 to 8: newShape [64]");
	shape[0] = wnnGraphBuilderDimension(b, WNN_STR("rows"), 8, 0, 1);
	assert_true(shape[0] >= 0x80000000u);
	assert_non_null(wnnGraphBuilderReshape(b, x, (WNNUint32Array){ 1, shape }, NULL));
	shape[0] += 1000;
	assert_null(wnnGraphBuilderReshape(b, x, (WNNUint32Array){ 1, shape }, NULL));
	assert_last_error(WNNStatus_TypeError, "is no number that wnnGraphBuilderDimension gave");
	/* The sum of two sizes is no expression of one. */
	shape[0] = wnnGraphBuilderDimension(b, WNN_STR("rows"), 1, 0, 1);
	shape[1] = wnnGraphBuilderDimension(b, WNN_STR("more"), 5, 0, 1);
	WNNOperand wide = wnnGraphBuilderReshape(
		b,
		wnnGraphBuilderSlice(b, x, WNN_UINT32_ARRAY(((uint32_t[]){ 0, 0 })),
				     WNN_UINT32_ARRAY(((uint32_t[]){ shape[0], 1 })), NULL),
		(WNNUint32Array){ 1, shape }, NULL);
	assert_non_null(wide);
	assert_null(wnnGraphBuilderConcat(
		b, 2,
		(WNNOperand[]){ wide, wnnGraphBuilderReshape(b, z, (WNNUint32Array){ 1, shape + 1 },
							     NULL) },
		0, NULL));
	assert_last_error(WNNStatus_TypeError,
			  "it must be a multiple of one name plus a number, divided by a number "
			  "and rounded down");
	wnnGraphBuilderRelease(b);
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
}

static void ranges_are_checked(void **state)
{
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContext context = open_context(instance, "cpu");
	WNNGraphBuilder b = wnnContextCreateGraphBuilder(context);
	WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
	WNNGraph graph = NULL;
	uint32_t shape[2], two;

	(void)state;
	assert_non_null(late_input(b, "x", 8, 8, range("rows", 1, 8), plain));
	assert_null(late_input(b, "a", 9, 8, range("rows", 1, 9), plain));
	assert_last_error(
		WNNStatus_TypeError,
		"input \"a\": dimension 0, \"rows\", ranges from 1 to 9, but in an earlier "
		"input from 1 to 8; a name has one range in a builder");
	assert_null(late_input(b, "a", 9, 8, range("other", 0, 9), plain));
	assert_last_error(WNNStatus_TypeError, "ranges from 0 to 9; a range is from at least 1");
	assert_null(late_input(b, "a", 9, 8, range("other", 9, 8), plain));
	assert_last_error(WNNStatus_TypeError, "ranges from 9 to 8");
	assert_null(late_input(b, "a", 0x7fffffff, 1, range("other", 1, 0x80000000u), plain));
	assert_last_error(WNNStatus_TypeError, "at most 2147483647");
	assert_null(late_input(b, "a", 7, 8, range("other", 1, 8), plain));
	assert_last_error(WNNStatus_TypeError, "it must have the maximum");
	/* The refused inputs have given no range to "other", the name of their dimension. */
	assert_int_equal(wnnGraphBuilderDimension(b, WNN_STR("other"), 1, 0, 1), 0);
	assert_last_error(WNNStatus_TypeError, "no input of the builder has a dimension that is "
					       "called \"other\"");
	assert_int_equal(wnnGraphBuilderDimension(b, WNN_STR("rows"), 1, -2, 1), 0);
	assert_last_error(WNNStatus_TypeError, "is negative or above 2147483647 for some n");
	assert_int_equal(wnnGraphBuilderDimension(b, WNN_STR("rows"), 0, 2, 1), 0);
	assert_int_equal(wnnGraphBuilderDimension(b, WNN_STR("rows"), 1, 2, 0), 0);
	assert_int_equal(wnnGraphBuilderDimension(b, WNN_STR("rows"), INT32_MAX, INT32_MAX, 1), 0);
	/* A dimension of another input may be an expression: rows + 1. */
	two = wnnGraphBuilderDimension(b, WNN_STR("rows"), 1, 1, 1);
	descriptor.dataType = WNNOperandDataType_Float32;
	descriptor.shape = (WNNUint32Array){ 1, &two };
	WNNOperand one_more = wnnGraphBuilderInput(b, WNN_STR("one more"), &descriptor);
	assert_non_null(one_more);
	assert_int_equal(wnnOperandGetShape(one_more).data[0], 9);
	/* This graph has no input from which a dispatch could learn the size of "rows". */
	shape[0] = 3;
	shape[1] = wnnGraphBuilderDimension(b, WNN_STR("rows"), 1, 0, 1);
	WNNOperand scalar = wnnGraphBuilderConstant(
		b, &(WNNOperandDescriptor){ .dataType = WNNOperandDataType_Float32 }, &(float){ 1 },
		sizeof(float));
	const WNNNamedOperand lost = { WNN_STR("lost"),
				       wnnGraphBuilderExpand(b, scalar,
							     (WNNUint32Array){ 2, shape }, NULL) };

	assert_non_null(lost.operand);
	assert_failed(wnnGraphBuilderBuildSync(b, 1, &lost, GENEROUS, &graph), WNNStatus_TypeError,
		      "the graph depends on the size of \"rows\", but on no input with a dimension "
		      "that tells it");
	wnnGraphBuilderRelease(b);
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
}

/* A thread that dispatches a graph; `first` decides its numbers of rows. */
struct worker {
	WNNContext context;
	WNNGraph graph;
	uint32_t first;
};

static void *work(void *data)
{
	const struct worker *w = data;

	for (uint32_t i = 0; i < 24; i++) {
		uint32_t rows = 1 + (w->first + i * 5) % ROWS;
		WNNTensor x = make_tensor(w->context, rows, 4),
			  y = make_tensor(w->context, rows, 4);
		float data_of[ROWS * 4];

		fill(w->context, x, rows * 4, i);
		assert_ok(dispatch_xy(w->context, w->graph, x, y));
		assert_ok(wnnContextReadTensorIntoSync(w->context, y, data_of,
						       rows * 4 * sizeof(float), GENEROUS));
		for (uint32_t k = 0; k < rows * 4; k++)
			assert_true(data_of[k] == 2 * ((float)((k * 37 + i * 11) % 64) / 32 - 1));
		wnnTensorRelease(x);
		wnnTensorRelease(y);
	}
	return NULL;
}

static void threads_dispatch_different_sizes(void **state)
{
	WNNInstance instance = wnnCreateInstance(NULL);

	(void)state;
	for (size_t d = 0; d < sizeof(devices) / sizeof(*devices); d++) {
		WNNContext context = open_context(instance, devices[d]);
		WNNGraphBuilder b = wnnContextCreateGraphBuilder(context);
		WNNOperand x = late_input(b, "x", ROWS, 4, range("rows", 1, ROWS), plain);
		WNNGraph graph = build_one(b, "y", wnnGraphBuilderAdd(b, x, x, NULL));
		struct worker workers[3];
		pthread_t threads[3];

		for (uint32_t i = 0; i < 3; i++) {
			workers[i] = (struct worker){ context, graph, i * 4 };
			assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
		}
		for (int i = 0; i < 3; i++)
			pthread_join(threads[i], NULL);
		wnnGraphRelease(graph);
		wnnGraphBuilderRelease(b);
		wnnContextRelease(context);
	}
	wnnInstanceRelease(instance);
}

/* Recordings of one graph for some fixed sizes are built as a graph for ranges of sizes. */
static void graphs_of_numbers_become_one(void **state)
{
	/* Four recordings vary "length", then two vary "rows"; the first two alone are too few. */
	static const uint32_t at[][2] = { { ROWS, 1 }, { ROWS, 2 },   { ROWS, 7 },
					  { ROWS, 9 }, { 1, LENGTH }, { 5, LENGTH } };
	const WNNDimensionRange ranges[] = { range("rows", 1, ROWS), range("length", 1, LENGTH) };
	const struct sizes largest = { false, ROWS, LENGTH };
	WNNInstance instance = wnnCreateInstance(NULL);

	(void)state;
	for (size_t d = 0; d < sizeof(devices) / sizeof(*devices); d++) {
		WNNContext context = open_context(instance, devices[d]);
		WNNNamedOperand outputs[3], unused[3];
		WNNGraphBuilder b = record(context, &largest, outputs);
		WNNBuilderSizes sizes[6];
		WNNGraph graph = NULL;

		for (size_t i = 0; i < 6; i++) {
			const struct sizes fixed = { false, at[i][0], at[i][1] };

			sizes[i].builder = record(context, &fixed, unused);
			sizes[i].sizes = (WNNUint32Array){ 2, at[i] };
		}
		assert_failed(wnnGraphBuilderSetSizes(b, 2, ranges, 2, sizes), WNNStatus_TypeError,
			      "a builder is needed where \"rows\" is 1 and all other names have "
			      "their maximum");
		assert_failed(wnnGraphBuilderSetSizes(b, 2, ranges, 5, sizes), WNNStatus_TypeError,
			      "a builder is needed where \"rows\" is above 1 and below 12");
		sizes[0].sizes.count = 1;
		assert_failed(wnnGraphBuilderSetSizes(b, 2, ranges, 6, sizes), WNNStatus_TypeError,
			      "sizes[0] has 1 sizes, expected 2");
		sizes[0].sizes = (WNNUint32Array){ 2, NULL };
		assert_failed(wnnGraphBuilderSetSizes(b, 2, ranges, 6, sizes), WNNStatus_TypeError,
			      "sizes[0] has 2 sizes, but their data is NULL");
		sizes[0].sizes.data = at[0];
		assert_ok(wnnGraphBuilderSetSizes(b, 2, ranges, 6, sizes));
		for (size_t i = 0; i < 6; i++)
			wnnGraphBuilderRelease(sizes[i].builder);
		assert_ok(wnnGraphBuilderBuildSync(b, 3, outputs, GENEROUS, &graph));
		wnnGraphBuilderRelease(b);
		assert_text(graph, "output \"pooled\": float32[1,1,(length+1)/2,16]");
		compare(context, graph, 3, 7);
		compare(context, graph, 7, 8);
		compare(context, graph, ROWS, 39);
		wnnGraphRelease(graph);
		wnnContextRelease(context);
	}
	wnnInstanceRelease(instance);
}

/*
 * Records y[rows, 4] = x + c in a new builder, which it returns, and sets *output to y. Element
 * (i, k) of the constant c is `step` * i + k.
 */
static WNNGraphBuilder record_constant(WNNContext context, uint32_t rows, float step,
				       WNNNamedOperand *output)
{
	WNNGraphBuilder b = wnnContextCreateGraphBuilder(context);
	float data[ROWS * 4];

	for (uint32_t i = 0; i < rows * 4; i++)
		data[i] = step * (float)(i / 4) + (float)(i % 4);
	output->name = WNN_STR("y");
	output->operand = wnnGraphBuilderAdd(b, make_input(b, "x", rows, 4),
					     make_constant(b, data, rows, 4), NULL);
	return b;
}

static void constants_are_cut(void **state)
{
	static const uint32_t at[] = { 1, 2 };
	const WNNDimensionRange rows = range("rows", 1, ROWS), odd = range("ro\nws", 2, ROWS);
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContext context = open_context(instance, "cpu");
	WNNNamedOperand output, unused;
	WNNGraphBuilder b = record_constant(context, ROWS, 8, &output);
	WNNBuilderSizes sizes[] = { { record_constant(context, 1, 8, &unused), { 1, &at[0] } },
				    { record_constant(context, 2, 9, &unused), { 1, &at[1] } } };
	WNNTensor x = make_tensor(context, 3, 4), y = make_tensor(context, 3, 4);
	WNNGraph graph = NULL;
	float data[12] = { 0 };

	(void)state;
	assert_failed(
		wnnGraphBuilderSetSizes(b, 1, &odd, 2, sizes), WNNStatus_TypeError,
		"the builder of sizes[0] has the size 1 for \"ro\\u000aws\", which ranges from "
		"2 to 12");
	assert_failed(wnnGraphBuilderSetSizes(b, 1, &rows, 2, sizes), WNNStatus_TypeError,
		      "a constant of float32 with \"rows\" = 2, of 1 to 12, must be the first "
		      "elements, along each axis");
	wnnGraphBuilderRelease(sizes[1].builder);
	sizes[1].builder = record_constant(context, 2, 8, &unused);
	assert_ok(wnnGraphBuilderSetSizes(b, 1, &rows, 2, sizes));
	assert_ok(wnnGraphBuilderBuildSync(b, 1, &output, GENEROUS, &graph));
	assert_ok(wnnContextWriteTensor(context, x, data, sizeof(data)));
	assert_ok(dispatch_xy(context, graph, x, y));
	assert_ok(wnnContextReadTensorIntoSync(context, y, data, sizeof(data), GENEROUS));
	for (int i = 0; i < 12; i++)
		assert_true(data[i] == (float)(i / 4 * 8 + i % 4));
	wnnTensorRelease(x);
	wnnTensorRelease(y);
	wnnGraphRelease(graph);
	wnnGraphBuilderRelease(b);
	for (int i = 0; i < 2; i++)
		wnnGraphBuilderRelease(sizes[i].builder);
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(graphs_of_numbers_become_one),
		cmocka_unit_test(constants_are_cut),
		cmocka_unit_test(each_size_gives_the_bits_of_a_fixed_graph),
		cmocka_unit_test(sizes_out_of_the_range_are_refused),
		cmocka_unit_test(shapes_are_computed),
		cmocka_unit_test(operators_are_checked_for_every_size),
		cmocka_unit_test(ranges_are_checked),
		cmocka_unit_test(threads_dispatch_different_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
