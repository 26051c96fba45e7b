// SPDX-License-Identifier: MIT
/*
 * Tests operands with strides on the CPU, which save copies. The products of an attention read its
 * heads from the matrix of queries, keys and values, and write their results where they belong;
 * elementwise functions read and write slices of rows; and convolutions write their channels into
 * the result of a concat. The test computes the expected results itself, and compares each level of
 * vector instructions with them.
 */
#include "fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 48, HEADS = 3, DEPTH = 20, WIDTH = HEADS * DEPTH };

static const char *const levels[] = { "base", "avx2", "avx512" };

/* Returns a context on the CPU at the level, or NULL when the processor lacks the level. */
static WNNContext open_level(WNNInstance instance, const char *level, uint32_t threads)
{
	WNNContextDeviceOptions device = WNN_CONTEXT_DEVICE_OPTIONS_INIT;
	WNNContextOptions options = WNN_CONTEXT_OPTIONS_INIT;
	WNNContext context = NULL;
	char *before;

	device.device = WNN_STR("cpu");
	device.threads = threads;
	options.nextInChain = &device.chain;
	before = exchange_level(level);
	if (wnnInstanceCreateContextSync(instance, &options, GENEROUS, &context) !=
	    WNNStatus_Success) {
		assert_last_error(WNNStatus_NotSupportedError, LEVEL_VARIABLE);
		assert_string_not_equal(level, "base");
		context = NULL;
	}
	free(exchange_level(before));
	free(before);
	return context;
}

/*
 * Returns slice @part of x as queries, keys or values: [head][row][depth] or, with @transposed,
 * [head][depth][row].
 */
static WNNOperand heads(WNNGraphBuilder b, WNNOperand x, uint32_t part, bool transposed)
{
	WNNTransposeOptions options = WNN_TRANSPOSE_OPTIONS_INIT;

	x = wnnGraphBuilderSlice(b, x, WNN_UINT32_LIST(0, part * WIDTH),
				 WNN_UINT32_LIST(ROWS, WIDTH), NULL);
	x = wnnGraphBuilderReshape(b, x, WNN_UINT32_LIST(ROWS, HEADS, DEPTH), NULL);
	options.permutation = transposed ? WNN_UINT32_LIST(1, 2, 0) : WNN_UINT32_LIST(1, 0, 2);
	return wnnGraphBuilderTranspose(b, x, &options);
}

static WNNGraph build_attention(WNNContext context)
{
	WNNGraphBuilder b = wnnContextCreateGraphBuilder(context);
	WNNTransposeOptions back = WNN_TRANSPOSE_OPTIONS_INIT;
	WNNOperand x = make_input(b, "x", ROWS, 3 * WIDTH), y;
	WNNGraph graph;

	y = wnnGraphBuilderMatmul(b, heads(b, x, 0, false), heads(b, x, 1, true), NULL);
	y = wnnGraphBuilderMatmul(b, wnnGraphBuilderSoftmax(b, y, 2, NULL), heads(b, x, 2, false),
				  NULL);
	back.permutation = WNN_UINT32_LIST(1, 0, 2);
	y = wnnGraphBuilderTranspose(b, y, &back);
	y = wnnGraphBuilderReshape(b, y, WNN_UINT32_LIST(ROWS, WIDTH), NULL);
	assert_non_null(y);
	graph = build_one(b, "y", y);
	wnnGraphBuilderRelease(b);
	return graph;
}

static void expect(const float *x, double *y)
{
	for (int row = 0; row < ROWS; row++)
		for (int h = 0; h < HEADS; h++) {
			const float *q = x + row * 3 * WIDTH + h * DEPTH;
			double score[ROWS], sum = 0;

			for (int k = 0; k < ROWS; k++) {
				score[k] = 0;
				for (int d = 0; d < DEPTH; d++)
					score[k] += (double)q[d] *
						    x[(k * 3 + 1) * WIDTH + h * DEPTH + d];
				score[k] = exp(score[k]);
				sum += score[k];
			}
			for (int d = 0; d < DEPTH; d++) {
				double *to = &y[row * WIDTH + h * DEPTH + d];

				*to = 0;
				for (int k = 0; k < ROWS; k++)
					*to += score[k] / sum *
					       x[(k * 3 + 2) * WIDTH + h * DEPTH + d];
			}
		}
}

static size_t count_steps(WNNGraph graph)
{
	WNNGraphPlacement placement = WNN_GRAPH_PLACEMENT_INIT;
	size_t steps = 0;

	assert_ok(wnnGraphGetPlacement(graph, &placement));
	for (size_t i = 0; i < placement.nodeCount; i++)
		steps += placement.nodes[i].reason == WNNPlacementReason_CPUDevice;
	return steps;
}

static void check_results(WNNContext context, WNNGraph graph)
{
	static float data[ROWS * 3 * WIDTH], result[ROWS * WIDTH];
	static double wanted[ROWS * WIDTH];
	WNNTensor x = make_tensor(context, ROWS, 3 * WIDTH);
	WNNTensor y = make_tensor(context, ROWS, WIDTH);

	for (int i = 0; i < ROWS * 3 * WIDTH; i++)
		data[i] = sinf((float)(i % 997)) * 0.7f;
	expect(data, wanted);
	assert_ok(wnnContextWriteTensor(context, x, data, sizeof(data)));
	assert_ok(dispatch_xy(context, graph, x, y));
	assert_ok(wnnContextReadTensorIntoSync(context, y, result, sizeof(result), GENEROUS));
	for (int i = 0; i < ROWS * WIDTH; i++)
		assert_true(fabs(result[i] - wanted[i]) <= 1e-5);
	wnnTensorRelease(x);
	wnnTensorRelease(y);
}

/* Above the level base, the graph has three steps: two products and softmax. */
static void heads_are_read_with_strides(void **state)
{
	WNNInstance instance = wnnCreateInstance(NULL);

	(void)state;
	for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++)
		for (uint32_t threads = 1; threads <= 3; threads += 2) {
			WNNContext context = open_level(instance, levels[i], threads);
			WNNGraph graph;

			if (!context)
				continue;
			graph = build_attention(context);
			if (i)
				assert_int_equal(count_steps(graph), 3);
			check_results(context, graph);
			wnnGraphRelease(graph);
			wnnContextRelease(context);
		}
	wnnInstanceRelease(instance);
}

enum { LINES = 60, LEFT = 37, RIGHT = 5, ALL = LEFT + RIGHT };

static WNNOperand part(WNNGraphBuilder b, WNNOperand x, uint32_t begin, uint32_t columns)
{
	return wnnGraphBuilderSlice(b, x, WNN_UINT32_LIST(0, begin),
				    WNN_UINT32_LIST(LINES, columns), NULL);
}

/*
 * Builds a graph that swaps the two slices of each row, negates the right one, and multiplies the
 * left one by the row's last number.
 */
static WNNGraph build_parts(WNNContext context)
{
	WNNGraphBuilder b = wnnContextCreateGraphBuilder(context);
	WNNOperand x = make_input(b, "x", LINES, ALL), parts[2], y;
	WNNGraph graph;

	parts[0] = wnnGraphBuilderNeg(b, part(b, x, LEFT, RIGHT), NULL);
	parts[1] = wnnGraphBuilderMul(b, part(b, x, 0, LEFT), part(b, x, ALL - 1, 1), NULL);
	y = wnnGraphBuilderConcat(b, 2, parts, 1, NULL);
	assert_non_null(y);
	graph = build_one(b, "y", y);
	wnnGraphBuilderRelease(b);
	return graph;
}

static void check_parts(WNNContext context, WNNGraph graph)
{
	static float data[LINES * ALL], result[LINES * ALL];
	WNNTensor x = make_tensor(context, LINES, ALL), y = make_tensor(context, LINES, ALL);

	for (int i = 0; i < LINES * ALL; i++)
		data[i] = (float)(i % 991) - 400;
	assert_ok(wnnContextWriteTensor(context, x, data, sizeof(data)));
	assert_ok(dispatch_xy(context, graph, x, y));
	assert_ok(wnnContextReadTensorIntoSync(context, y, result, sizeof(result), GENEROUS));
	for (int line = 0; line < LINES; line++) {
		const float *from = data + line * ALL, *to = result + line * ALL;

		for (int i = 0; i < RIGHT; i++)
			assert_true(to[i] == -from[LEFT + i]);
		for (int i = 0; i < LEFT; i++)
			assert_true(to[RIGHT + i] == from[i] * from[ALL - 1]);
	}
	wnnTensorRelease(x);
	wnnTensorRelease(y);
}

/* The graph has two steps: negation and multiplication. */
static void slices_of_rows_are_read_with_strides(void **state)
{
	WNNInstance instance = wnnCreateInstance(NULL);

	(void)state;
	for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++)
		for (uint32_t threads = 1; threads <= 3; threads += 2) {
			WNNContext context = open_level(instance, levels[i], threads);
			WNNGraph graph;

			if (!context)
				continue;
			graph = build_parts(context);
			assert_int_equal(count_steps(graph), 2);
			check_parts(context, graph);
			wnnGraphRelease(graph);
			wnnContextRelease(context);
		}
	wnnInstanceRelease(instance);
}

enum { HIGH = 11, WIDE = 13, IN = 16, ONE = 64, THREE = 32, BOTH = ONE + THREE };

static float weight(int k)
{
	return sinf((float)(k % 991)) * 0.1f + 0.01f;
}

/* Returns the rectified convolution of x with a square filter of @size elements on a side. */
static WNNOperand convolution(WNNGraphBuilder b, WNNOperand x, uint32_t size, uint32_t channels)
{
	static float data[THREE * 9 * IN];
	const uint32_t shape[] = { channels, size, size, IN };
	const uint32_t margin[] = { size / 2, size / 2, size / 2, size / 2 };
	WNNOperandDescriptor desc = { NULL, WNNOperandDataType_Float32, { 4, shape } };
	WNNConv2dOptions options = WNN_CONV2D_OPTIONS_INIT;
	uint32_t count = channels * size * size * IN;

	for (uint32_t i = 0; i < count; i++)
		data[i] = weight((int)i);
	options.padding = WNN_UINT32_ARRAY(margin);
	options.inputLayout = WNNInputOperandLayout_Nhwc;
	options.filterLayout = WNNConv2dFilterOperandLayout_Ohwi;
	x = wnnGraphBuilderConv2d(
		b, x, wnnGraphBuilderConstant(b, &desc, data, count * sizeof(*data)), &options);
	return wnnGraphBuilderRelu(b, x, NULL);
}

/* Builds two convolutions whose channels lie beside each other in the result. */
static WNNGraph build_channels(WNNContext context)
{
	const uint32_t shape[] = { 1, HIGH, WIDE, IN };
	WNNOperandDescriptor desc = { NULL, WNNOperandDataType_Float32, { 4, shape } };
	WNNGraphBuilder b = wnnContextCreateGraphBuilder(context);
	WNNOperand x = wnnGraphBuilderInput(b, WNN_STR("x"), &desc), parts[2], y;
	WNNGraph graph;

	parts[0] = convolution(b, x, 1, ONE);
	parts[1] = convolution(b, x, 3, THREE);
	y = wnnGraphBuilderConcat(b, 2, parts, 3, NULL);
	assert_non_null(y);
	graph = build_one(b, "y", y);
	wnnGraphBuilderRelease(b);
	return graph;
}

/*
 * Computes the channels of one pixel, from @to on, of a rectified convolution with a filter of
 * @size elements on a side.
 */
static void expect_channels(const float *x, int pixel, int size, int channels, double *to)
{
	for (int k = 0; k < channels; k++) {
		double sum = 0;

		for (int i = 0; i < size * size * IN; i++) {
			int row = pixel / WIDE + i / IN / size - size / 2;
			int column = pixel % WIDE + i / IN % size - size / 2;

			if (row >= 0 && row < HIGH && column >= 0 && column < WIDE)
				sum += (double)x[(row * WIDE + column) * IN + i % IN] *
				       weight(k * size * size * IN + i);
		}
		to[k] = sum > 0 ? sum : 0;
	}
}

static double expected[HIGH * WIDE * BOTH];

static void check_channels(WNNContext context, WNNGraph graph, const float *data)
{
	static float result[HIGH * WIDE * BOTH];
	const uint32_t from[] = { 1, HIGH, WIDE, IN }, to[] = { 1, HIGH, WIDE, BOTH };
	WNNTensor x = make_picture(context, from), y = make_picture(context, to);

	assert_ok(wnnContextWriteTensor(context, x, data, HIGH * WIDE * IN * sizeof(*data)));
	assert_ok(dispatch_xy(context, graph, x, y));
	assert_ok(wnnContextReadTensorIntoSync(context, y, result, sizeof(result), GENEROUS));
	for (int i = 0; i < HIGH * WIDE * BOTH; i++)
		assert_true(result[i] == expected[i] || fabs(result[i] - expected[i]) <= 1e-4);
	wnnTensorRelease(x);
	wnnTensorRelease(y);
}

/*
 * Checks all levels. Above the level base, the graph has four steps: both convolutions and their
 * activations, but no concat.
 * @strange: an input number is infinite, which Winograd's algorithm would make NaN
 */
static void check_levels(bool strange)
{
	static float data[HIGH * WIDE * IN];
	WNNInstance instance = wnnCreateInstance(NULL);

	for (int i = 0; i < HIGH * WIDE * IN; i++)
		data[i] = cosf((float)(i % 983)) * 0.3f;
	if (strange)
		data[(4 * WIDE + 6) * IN + 3] = INFINITY;
	for (int pixel = 0; pixel < HIGH * WIDE; pixel++) {
		expect_channels(data, pixel, 1, ONE, expected + pixel * BOTH);
		expect_channels(data, pixel, 3, THREE, expected + pixel * BOTH + ONE);
	}
	for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++)
		for (uint32_t threads = 1; threads <= 3; threads += 2) {
			WNNContext context = open_level(instance, levels[i], threads);
			WNNGraph graph;

			if (!context)
				continue;
			graph = build_channels(context);
			if (i)
				assert_int_equal(count_steps(graph), 4);
			check_channels(context, graph, data);
			wnnGraphRelease(graph);
			wnnContextRelease(context);
		}
	wnnInstanceRelease(instance);
}

static void convolutions_write_beside_each_other(void **state)
{
	(void)state;
	check_levels(false);
	check_levels(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(heads_are_read_with_strides),
		cmocka_unit_test(slices_of_rows_are_read_with_strides),
		cmocka_unit_test(convolutions_write_beside_each_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
