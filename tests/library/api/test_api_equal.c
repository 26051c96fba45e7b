// SPDX-License-Identifier: MIT
/* Tests that graphs of one context with equal weights store them once, and only equal ones. */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>

#define N	 512
#define ROWS	 32
#define MATRICES 20
#define BYTES	 ((size_t)N * N * sizeof(float))

static void fill(float *weights)
{
	for (size_t i = 0; i < (size_t)MATRICES * N * N; i++)
		weights[i] = (float)((i * 2654435761U >> 7) % 61) / 610 - 0.05F;
}

/*
 * Returns the graph that multiplies x by each matrix in turn; its constants are copies of the
 * weights.
 */
static WNNGraph build(WNNContext context, const float *weights)
{
	WNNGraphBuilder builder = wnnContextCreateGraphBuilder(context);
	WNNOperand y = make_input(builder, "x", ROWS, N);
	WNNGraph graph;

	for (size_t i = 0; i < MATRICES; i++)
		y = wnnGraphBuilderMatmul(builder, y,
					  make_constant(builder, weights + i * N * N, N, N), NULL);
	graph = build_one(builder, "y", y);
	wnnGraphBuilderRelease(builder);
	return graph;
}

static void run(WNNContext context, WNNGraph graph, float *result)
{
	WNNTensor x = make_tensor(context, ROWS, N), y = make_tensor(context, ROWS, N);
	float data[ROWS * N];

	for (size_t i = 0; i < ROWS * N; i++)
		data[i] = (float)(i % 7) - 3;
	assert_ok(wnnContextWriteTensor(context, x, data, sizeof(data)));
	assert_ok(dispatch_xy(context, graph, x, y));
	assert_ok(wnnContextReadTensorIntoSync(context, y, result, sizeof(data), GENEROUS));
	wnnTensorRelease(x);
	wnnTensorRelease(y);
}

/*
 * Builds three graphs in a context whose memory has room for the weights of one graph, those of a
 * builder, a block in which they are packed (16 MiB), and intermediate results.
 */
static void equal_weights_are_stored_once(void **state)
{
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContextDeviceOptions options = WNN_CONTEXT_DEVICE_OPTIONS_INIT;
	float *weights = malloc(MATRICES * BYTES), first[ROWS * N], other[ROWS * N];
	WNNGraph graphs[3];
	WNNContext context;

	(void)state;
	options.device = WNN_STR("cpu");
	options.memoryLimit = 2 * MATRICES * BYTES + (17 << 20);
	context = open_context_with(instance, &options);
	assert_non_null(weights);
	fill(weights);
	for (int i = 0; i < 3; i++)
		graphs[i] = build(context, weights);
	run(context, graphs[0], first);
	/* The weights stay as long as any of the graphs. */
	for (int i = 0; i < 2; i++)
		wnnGraphRelease(graphs[i]);
	run(context, graphs[2], other);
	assert_memory_equal(first, other, sizeof(first));
	wnnGraphRelease(graphs[2]);
	free(weights);
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
}

/* One number of the last matrix differs, at a position whose neighbours are equal. */
static void other_weights_are_not_shared(void **state)
{
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContext context = open_context(instance, "cpu");
	float *weights = malloc(MATRICES * BYTES), first[ROWS * N], other[ROWS * N];
	WNNGraph graph, changed;

	(void)state;
	assert_non_null(weights);
	fill(weights);
	graph = build(context, weights);
	weights[(size_t)(MATRICES - 1) * N * N + 3 * N + 7] += 1;
	changed = build(context, weights);
	run(context, graph, first);
	run(context, changed, other);
	for (size_t i = 0; i < ROWS * N; i++)
		assert_int_equal(first[i] != other[i], i % N == 7);
	free(weights);
	wnnGraphRelease(graph);
	wnnGraphRelease(changed);
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
}

/* Returns the graph y = x + numbers; @lent: it reads them in the caller's memory. */
static WNNGraph build_sum(WNNContext context, const float *numbers, bool lent)
{
	WNNGraphBuilder builder = wnnContextCreateGraphBuilder(context);
	WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
	WNNBorrowedConstant loan = WNN_BORROWED_CONSTANT_INIT;
	uint32_t shape[] = { ROWS, N };
	WNNOperand sum;
	WNNGraph graph;

	descriptor.nextInChain = lent ? &loan.chain : NULL;
	descriptor.dataType = WNNOperandDataType_Float32;
	descriptor.shape = WNN_UINT32_ARRAY(shape);
	sum = wnnGraphBuilderConstant(builder, &descriptor, numbers, sizeof(*numbers) * ROWS * N);
	sum = wnnGraphBuilderAdd(builder, make_input(builder, "x", ROWS, N), sum, NULL);
	graph = build_one(builder, "y", sum);
	wnnGraphBuilderRelease(builder);
	return graph;
}

/*
 * A constant is lent without a callback: as soon as its graph is released, the application may
 * write to the memory, so another graph must not read it.
 */
static void lent_numbers_are_not_shared(void **state)
{
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContext context = open_context(instance, "cpu");
	float numbers[ROWS * N], first[ROWS * N], other[ROWS * N];
	WNNGraph lent, copied;

	(void)state;
	for (size_t i = 0; i < ROWS * N; i++)
		numbers[i] = (float)i;
	lent = build_sum(context, numbers, true);
	copied = build_sum(context, numbers, false);
	run(context, copied, first);
	wnnGraphRelease(lent);
	memset(numbers, 0, sizeof(numbers));
	run(context, copied, other);
	assert_memory_equal(first, other, sizeof(first));
	wnnGraphRelease(copied);
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_weights_are_stored_once),
		cmocka_unit_test(other_weights_are_not_shared),
		cmocka_unit_test(lent_numbers_are_not_shared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
