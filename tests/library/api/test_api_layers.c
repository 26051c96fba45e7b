// SPDX-License-Identifier: MIT
/*
 * Tests the layers of the CPU (oneDNN, OpenBLAS): which one is chosen, that both compute the same,
 * which libraries they load, and that files record the layer.
 */
#include "fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VARIABLE      "WEBNN_CPU_LAYER"
#define SPIN_VARIABLE "WEBNN_CPU_SPIN"

enum {
	CHANNELS = 64,
	SIDE = 8,
	ELEMENTS = CHANNELS * SIDE * SIDE,
	WEIGHTS = CHANNELS * CHANNELS * 9
};

static WNNStatus try_layer(WNNInstance instance, const char *layer, WNNContext *context)
{
	WNNContextDeviceOptions device = WNN_CONTEXT_DEVICE_OPTIONS_INIT;
	WNNContextOptions options = WNN_CONTEXT_OPTIONS_INIT;
	WNNStatus status;

	device.device = WNN_STR("cpu");
	options.nextInChain = &device.chain;
	setenv(VARIABLE, layer, 1);
	status = wnnInstanceCreateContextSync(instance, &options, GENEROUS, context);
	unsetenv(VARIABLE);
	return status;
}

static WNNContext open_layer(WNNInstance instance, const char *layer)
{
	WNNContext context;

	assert_ok(try_layer(instance, layer, &context));
	return context;
}

/*
 * Returns a context on the layer onednn. Skips the test when oneDNN cannot be loaded, and checks
 * that the error says so.
 */
static WNNContext open_onednn(WNNInstance instance)
{
	WNNContext context;

	if (try_layer(instance, "onednn", &context) != WNNStatus_Success) {
		assert_last_error(WNNStatus_NotSupportedError, "the layer onednn");
		wnnInstanceRelease(instance);
		skip();
	}
	return context;
}

/*
 * Builds two convolutions with enough work that changing the layout of their data is worth its
 * cost.
 */
static WNNGraph build_pictures(WNNContext context)
{
	static float weights[WEIGHTS];
	WNNGraphBuilder builder = wnnContextCreateGraphBuilder(context);
	const uint32_t shape[] = { 1, CHANNELS, SIDE, SIDE };
	const uint32_t filter[] = { CHANNELS, CHANNELS, 3, 3 };
	WNNOperandDescriptor desc = { NULL, WNNOperandDataType_Float32, { 4, shape } };
	WNNConv2dOptions conv = WNN_CONV2D_OPTIONS_INIT;
	WNNOperand x, f;
	WNNGraph graph;

	for (int i = 0; i < WEIGHTS; i++)
		weights[i] = sinf((float)i) * .05f;
	x = wnnGraphBuilderInput(builder, WNN_STR("x"), &desc);
	desc.shape.data = filter;
	f = wnnGraphBuilderConstant(builder, &desc, weights, sizeof(weights));
	conv.padding = WNN_UINT32_LIST(1, 1, 1, 1);
	x = wnnGraphBuilderRelu(builder, wnnGraphBuilderConv2d(builder, x, f, &conv), NULL);
	graph = build_one(builder, "y", wnnGraphBuilderConv2d(builder, x, f, &conv));
	wnnGraphBuilderRelease(builder);
	return graph;
}

/* A shape with ELEMENTS elements. */
static const uint32_t picture_shape[] = { 1, CHANNELS, SIDE, SIDE };

static float *run_shape(WNNContext context, WNNGraph graph, const uint32_t *shape)
{
	float *data = malloc(ELEMENTS * sizeof(*data));
	WNNTensor x = make_picture(context, shape), y = make_picture(context, shape);

	assert_non_null(data);
	for (int i = 0; i < ELEMENTS; i++)
		data[i] = cosf((float)i);
	assert_ok(wnnContextWriteTensor(context, x, data, ELEMENTS * sizeof(*data)));
	assert_ok(dispatch_xy(context, graph, x, y));
	assert_ok(
		wnnContextReadTensorIntoSync(context, y, data, ELEMENTS * sizeof(*data), GENEROUS));
	wnnTensorRelease(x);
	wnnTensorRelease(y);
	return data;
}

static float *run(WNNContext context, WNNGraph graph)
{
	return run_shape(context, graph, picture_shape);
}

static void expect_kernel(WNNGraph graph, const char *kernel)
{
	WNNGraphPlacement placement = WNN_GRAPH_PLACEMENT_INIT;

	assert_ok(wnnGraphGetPlacement(graph, &placement));
	assert_int_equal(placement.nodeCount, 3);
	for (size_t i = 0; i < placement.nodeCount; i++) {
		assert_int_equal(placement.nodes[i].kernel.length, strlen(kernel));
		assert_memory_equal(placement.nodes[i].kernel.data, kernel, strlen(kernel));
	}
}

static bool openblas_is_loaded(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	bool found = false;
	char line[4096];

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		found |= strstr(line, "libopenblas") != NULL;
	fclose(maps);
	return found;
}

static float first_of_product(WNNContext context, uint32_t rows)
{
	WNNGraphBuilder builder = wnnContextCreateGraphBuilder(context);
	WNNTensor x = make_tensor(context, rows, 4);
	WNNTensor y = make_tensor(context, rows, 4);
	static const float factors[16] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	float data[16] = { 1, 10 };
	WNNOperand operand = make_input(builder, "x", rows, 4), product;
	WNNGraph graph;

	/* Several rows are not multiplied by a constant: it would be packed, for another kernel. */
	product = rows == 1 ? wnnGraphBuilderMatmul(builder, operand,
						    make_constant(builder, factors, 4, 4), NULL) :
			      wnnGraphBuilderMatmul(builder, operand, operand, NULL);
	graph = build_one(builder, "y", product);
	assert_ok(wnnContextWriteTensor(context, x, data, rows * 4 * sizeof(*data)));
	assert_ok(dispatch_xy(context, graph, x, y));
	assert_ok(
		wnnContextReadTensorIntoSync(context, y, data, rows * 4 * sizeof(*data), GENEROUS));
	wnnTensorRelease(x);
	wnnTensorRelease(y);
	wnnGraphRelease(graph);
	wnnGraphBuilderRelease(builder);
	return data[0];
}

/*
 * OpenBLAS starts threads and takes memory: it must not be loaded for a vector times a matrix,
 * which another kernel computes.
 */
static void one_line_needs_no_openblas(void **state)
{
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContext context = open_layer(instance, "openblas");

	(void)state;
	assert_false(openblas_is_loaded());
	assert_true(first_of_product(context, 1) == 51);
	assert_false(openblas_is_loaded());
	assert_true(first_of_product(context, 4) == 1);
	assert_true(openblas_is_loaded());
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
}

static void both_layers_compute_the_same(void **state)
{
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContext onednn = open_onednn(instance), openblas = open_layer(instance, "openblas");
	WNNGraph one = build_pictures(onednn), other = build_pictures(openblas);
	float *a = run(onednn, one), *b = run(openblas, other), most = 0;

	(void)state;
	expect_kernel(one, "cpu/conv-onednn");
	expect_kernel(other, "cpu/conv-packed");
	for (int i = 0; i < ELEMENTS; i++)
		most = fmaxf(most, fabsf(b[i]));
	assert_true(most > 0.01f);
	for (int i = 0; i < ELEMENTS; i++)
		assert_true(fabsf(a[i] - b[i]) <= 1e-5f * most);
	free(a);
	free(b);
	wnnGraphRelease(one);
	wnnGraphRelease(other);
	wnnContextRelease(onednn);
	wnnContextRelease(openblas);
	wnnInstanceRelease(instance);
}

/*
 * The graph relu(f(x) + addend), where f is a convolution. The addend is x or, with `constant`, a
 * constant; with `first` it is the left operand. With `apart` the sum is written as a difference,
 * which has the same bits but is not fused.
 */
struct sum {
	uint32_t shape[4]; /* channels last */
	bool constant, first, apart;
	bool wide; /* windows have three pixels; no kernel for single rows takes these */
};

static WNNGraph build_sum(WNNContext context, const struct sum *sum)
{
	uint32_t channels = sum->shape[3], taps = sum->wide ? 3 : 1, n = taps * channels * channels;
	float *weights = malloc((n + ELEMENTS) * sizeof(*weights));
	WNNGraphBuilder builder = wnnContextCreateGraphBuilder(context);
	const uint32_t filter[] = { channels, 1, taps, channels };
	const uint32_t padding[] = { 0, 0, 1, 1 };
	WNNOperandDescriptor desc = { NULL, WNNOperandDataType_Float32, { 4, sum->shape } };
	WNNConv2dOptions conv = WNN_CONV2D_OPTIONS_INIT;
	WNNOperand x, f, addend;
	WNNGraph graph;

	assert_non_null(weights);
	for (uint32_t i = 0; i < n + ELEMENTS; i++)
		weights[i] = sinf((float)i) * .05f;
	x = wnnGraphBuilderInput(builder, WNN_STR("x"), &desc);
	addend = x;
	if (sum->constant)
		addend = wnnGraphBuilderConstant(builder, &desc, weights, ELEMENTS * sizeof(float));
	desc.shape.data = filter;
	f = wnnGraphBuilderConstant(builder, &desc, weights, n * sizeof(*weights));
	conv.inputLayout = WNNInputOperandLayout_Nhwc;
	conv.filterLayout = WNNConv2dFilterOperandLayout_Ohwi;
	if (sum->wide)
		conv.padding = (WNNUint32Array){ 4, padding };
	x = wnnGraphBuilderConv2d(builder, x, f, &conv);
	if (sum->apart)
		x = wnnGraphBuilderSub(builder, x, wnnGraphBuilderNeg(builder, addend, NULL), NULL);
	else
		x = wnnGraphBuilderAdd(builder, sum->first ? addend : x, sum->first ? x : addend,
				       NULL);
	graph = build_one(builder, "y", wnnGraphBuilderRelu(builder, x, NULL));
	wnnGraphBuilderRelease(builder);
	free(weights);
	return graph;
}

static bool adds_at_once(WNNGraph graph)
{
	WNNGraphPlacement placement = WNN_GRAPH_PLACEMENT_INIT;
	bool found = false;

	assert_ok(wnnGraphGetPlacement(graph, &placement));
	for (size_t i = 0; i < placement.nodeCount; i++) {
		const WNNNodePlacement *node = &placement.nodes[i];

		found |= node->operatorName.length == 3 &&
			 !memcmp(node->operatorName.data, "add", 3) &&
			 node->kernel.length > strlen("cpu/conv-") &&
			 !memcmp(node->kernel.data, "cpu/conv-", strlen("cpu/conv-"));
	}
	return found;
}

/* Checks that the sum, the sum as a difference, and the saved sum have equal bits. */
static void check_sum(WNNContext context, const struct sum *sum, bool at_once, const char *path)
{
	struct sum apart = *sum;
	WNNGraph graph = build_sum(context, sum), other, loaded;
	float *a = run_shape(context, graph, sum->shape), *b, *c;

	apart.apart = true;
	other = build_sum(context, &apart);
	b = run_shape(context, other, sum->shape);
	assert_int_equal(adds_at_once(graph), at_once);
	assert_memory_equal(a, b, ELEMENTS * sizeof(*a));
	assert_ok(wnnGraphSave(graph, WNN_STR(path)));
	assert_ok(wnnContextLoadGraphSync(context, WNN_STR(path), GENEROUS, &loaded));
	c = run_shape(context, loaded, sum->shape);
	assert_int_equal(adds_at_once(loaded), at_once);
	assert_memory_equal(a, c, ELEMENTS * sizeof(*a));
	free(a);
	free(b);
	free(c);
	wnnGraphRelease(graph);
	wnnGraphRelease(other);
	wnnGraphRelease(loaded);
}

/* Checks additions to the results of convolutions. Releases context and instance. */
static void check_sums(WNNInstance instance, WNNContext context, bool onednn)
{
	static const struct sum sums[] = {
		{ .shape = { 1, 32, 8, 16 } },
		{ .shape = { 1, 32, 8, 16 }, .first = true },
		{ .shape = { 1, 32, 8, 16 }, .constant = true },
		{ .shape = { 1, 1, 8, 512 } },
		{ .shape = { 1, 1, 8, 512 }, .constant = true, .first = true },
		{ .shape = { 1, 32, 8, 16 }, .wide = true },
		{ .shape = { 1, 32, 8, 16 }, .constant = true, .wide = true },
		{ .shape = { 1, 1, 8, 512 }, .first = true, .wide = true },
	};
	char path[] = "/tmp/test_api_layers-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++)
		check_sum(context, &sums[i], onednn || (has_lines() && !sums[i].wide), path);
	unlink(path);
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
}

static void additions_are_part_of_a_convolution(void **state)
{
	WNNInstance instance = wnnCreateInstance(NULL);

	(void)state;
	check_sums(instance, open_onednn(instance), true);
}

static void so_they_are_below_onednn(void **state)
{
	WNNInstance instance = wnnCreateInstance(NULL);

	(void)state;
	check_sums(instance, open_layer(instance, "openblas"), false);
}

/*
 * Checks, on the layer openblas, the kernel of the first of two 3x3 convolutions; two convolutions
 * with groups follow unless @groups is 0.
 */
static void expect_first_kernel(uint32_t groups, const char *kernel)
{
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContext context = open_layer(instance, "openblas");
	WNNGraphBuilder builder = wnnContextCreateGraphBuilder(context);
	WNNGraphPlacement placement = WNN_GRAPH_PLACEMENT_INIT;
	static float weights[WEIGHTS];
	const uint32_t shape[] = { 1, CHANNELS, 16, 16 };
	WNNOperandDescriptor desc = { NULL, WNNOperandDataType_Float32, { 4, shape } };
	WNNConv2dOptions conv = WNN_CONV2D_OPTIONS_INIT;
	WNNOperand x = wnnGraphBuilderInput(builder, WNN_STR("x"), &desc);
	WNNGraph graph;

	conv.padding = WNN_UINT32_LIST(1, 1, 1, 1);
	for (int i = 0; i < (groups ? 4 : 2); i++) {
		uint32_t filter[] = { CHANNELS, CHANNELS, 3, 3 };
		WNNOperand f;

		conv.groups = i < 2 ? 1 : groups;
		filter[1] /= conv.groups;
		desc.shape.data = filter;
		f = wnnGraphBuilderConstant(builder, &desc, weights, sizeof(weights) / conv.groups);
		x = wnnGraphBuilderConv2d(builder, x, f, &conv);
	}
	graph = build_one(builder, "y", x);
	assert_ok(wnnGraphGetPlacement(graph, &placement));
	assert_int_equal(placement.nodes[0].kernel.length, strlen(kernel));
	assert_memory_equal(placement.nodes[0].kernel.data, kernel, strlen(kernel));
	wnnGraphRelease(graph);
	wnnGraphBuilderRelease(builder);
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
}

/*
 * The layout of images is changed for Winograd convolutions, unless other convolutions, with groups
 * of few channels, lose more by the new layout than the Winograd ones gain.
 */
static void layouts_change_where_it_gains(void **state)
{
	(void)state;
	if (!has_lines())
		skip();
	expect_first_kernel(0, "cpu/winograd");
	expect_first_kernel(16, "cpu/conv-packed");
}

static void files_remember_the_layer(void **state)
{
	char path[] = "/tmp/test_api_layers-XXXXXX";
	int fd = mkstemp(path);
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContext onednn = open_onednn(instance), openblas = open_layer(instance, "openblas");
	WNNGraph graph = build_pictures(onednn), loaded;
	float *a = run(onednn, graph), *b;

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	assert_ok(wnnGraphSave(graph, WNN_STR(path)));
	assert_ok(wnnContextLoadGraphSync(onednn, WNN_STR(path), GENEROUS, &loaded));
	b = run(onednn, loaded);
	assert_memory_equal(a, b, ELEMENTS * sizeof(*a));
	expect_kernel(loaded, "cpu/conv-onednn");
	wnnGraphRelease(loaded);
	assert_failed(wnnContextLoadGraphSync(openblas, WNN_STR(path), GENEROUS, &loaded),
		      WNNStatus_NotSupportedError, "onednn");
	unlink(path);
	free(a);
	free(b);
	wnnGraphRelease(graph);
	wnnContextRelease(onednn);
	wnnContextRelease(openblas);
	wnnInstanceRelease(instance);
}

static WNNStatus try_level(WNNInstance instance, const char *level, WNNContext *context)
{
	char *before = exchange_level(level);
	WNNStatus status = try_layer(instance, "openblas", context);

	free(exchange_level(before));
	free(before);
	return status;
}

static bool processor_has(const char *level)
{
#ifdef __x86_64__
	if (!strcmp(level, "avx2"))
		return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
		       __builtin_cpu_supports("f16c");
	if (!strcmp(level, "avx512"))
		return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
		       __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#endif
	return !strcmp(level, "base");
}

static const char *const level_names[] = { "base", "avx2", "avx512" };

#define LEVELS (sizeof(level_names) / sizeof(level_names[0]))

static void expect_view(WNNStringView view, const char *text)
{
	assert_int_equal(view.length, strlen(text));
	assert_memory_equal(view.data, text, view.length);
}

/* Levels the processor has differ by 1e-5 of the largest result at most; others are refused. */
static void each_level_computes_the_same(void **state)
{
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNCpuInfo info = WNN_CPU_INFO_INIT;
	WNNContext context;
	float *wanted = NULL, most = 0;

	(void)state;
	for (size_t i = 0; i < LEVELS; i++) {
		WNNGraph graph;
		float *y;

		if (!processor_has(level_names[i])) {
			assert_failed(try_level(instance, level_names[i], &context),
				      WNNStatus_NotSupportedError, LEVEL_VARIABLE " is \"avx");
			continue;
		}
		assert_ok(try_level(instance, level_names[i], &context));
		assert_ok(wnnContextGetCpuInfo(context, &info));
		expect_view(info.level, level_names[i]);
		expect_view(info.layer, "openblas");
		expect_view(info.levelReason,
			    "the environment variable " LEVEL_VARIABLE " asks for it");
		graph = build_pictures(context);
		y = run(context, graph);
		wanted = wanted ? wanted : y;
		for (int k = 0; k < ELEMENTS; k++)
			most = fmaxf(most, fabsf(wanted[k]));
		assert_true(most > 0.01f);
		for (int k = 0; k < ELEMENTS; k++)
			assert_true(fabsf(y[k] - wanted[k]) <= 1e-5f * most);
		if (y != wanted)
			free(y);
		wnnGraphRelease(graph);
		wnnContextRelease(context);
	}
	free(wanted);
	wnnInstanceRelease(instance);
}

/* A file that was written at one level can be loaded at that level only. */
static void files_remember_the_level(void **state)
{
	char path[] = "/tmp/test_api_layers-XXXXXX";
	int fd = mkstemp(path);
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContext base, context;
	WNNGraph graph, loaded;

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	assert_ok(try_level(instance, "base", &base));
	graph = build_pictures(base);
	assert_ok(wnnGraphSave(graph, WNN_STR(path)));
	for (size_t i = 0; i < LEVELS; i++) {
		if (!processor_has(level_names[i]))
			continue;
		assert_ok(try_level(instance, level_names[i], &context));
		if (!strcmp(level_names[i], "base")) {
			assert_ok(
				wnnContextLoadGraphSync(context, WNN_STR(path), GENEROUS, &loaded));
			wnnGraphRelease(loaded);
		} else {
			char kernels[64];

			snprintf(kernels, sizeof(kernels), "kernels base, this context has %s",
				 level_names[i]);
			assert_failed(wnnContextLoadGraphSync(context, WNN_STR(path), GENEROUS,
							      &loaded),
				      WNNStatus_NotSupportedError, kernels);
			assert_last_error(WNNStatus_NotSupportedError, LEVEL_VARIABLE);
		}
		wnnContextRelease(context);
	}
	unlink(path);
	wnnGraphRelease(graph);
	wnnContextRelease(base);
	wnnInstanceRelease(instance);
}

static WNNStatus try_rules(WNNInstance instance, const char *rules, WNNContext *context)
{
	WNNStatus status;

	setenv("WEBNN_RULES", rules, 1);
	status = try_layer(instance, "openblas", context);
	unsetenv("WEBNN_RULES");
	return status;
}

/* Returns the number of operators that are neither fused into another one nor folded. */
static uint32_t own_nodes(WNNGraph graph)
{
	WNNGraphPlacement placement = WNN_GRAPH_PLACEMENT_INIT;
	uint32_t count = 0;

	assert_ok(wnnGraphGetPlacement(graph, &placement));
	for (size_t i = 0; i < placement.nodeCount; i++)
		count += placement.nodes[i].fusedInto == WNN_NODE_NONE &&
			 placement.nodes[i].device != WNNNodeDevice_Folded;
	return count;
}

/* Returns the number of nodes of a graph that multiplies by a constant matrix and then by 3. */
static uint32_t nodes_of_scaled(WNNContext context)
{
	static const float factors[16] = { 1, 2, 3, 4, 5, 6, 7, 8 }, three = 3;
	WNNGraphBuilder builder = wnnContextCreateGraphBuilder(context);
	const uint32_t shape[] = { 4, 4 };
	WNNOperandDescriptor desc = { NULL, WNNOperandDataType_Float32, { 2, shape } };
	WNNOperand f = wnnGraphBuilderConstant(builder, &desc, factors, sizeof(factors)), y;
	WNNGraph graph;
	uint32_t count;

	desc.shape.count = 0;
	y = wnnGraphBuilderMatmul(builder, make_input(builder, "x", 4, 4), f, NULL);
	y = wnnGraphBuilderMul(
		builder, wnnGraphBuilderConstant(builder, &desc, &three, sizeof(three)), y, NULL);
	graph = build_one(builder, "y", y);
	count = own_nodes(graph);
	wnnGraphRelease(graph);
	wnnGraphBuilderRelease(builder);
	return count;
}

/*
 * Returns the number of nodes of a graph that multiplies one row by each of two constant matrices,
 * and the products with each other.
 */
static uint32_t nodes_of_products(WNNContext context)
{
	static const float weights[2][16] = { { 1, 2, 3, 4 }, { 5, 6, 7, 8 } };
	WNNGraphBuilder builder = wnnContextCreateGraphBuilder(context);
	const uint32_t shape[] = { 4, 4 };
	WNNOperandDescriptor desc = { NULL, WNNOperandDataType_Float32, { 2, shape } };
	WNNOperand x = make_input(builder, "x", 1, 4), y[2];
	WNNGraph graph;
	uint32_t count;

	for (int i = 0; i < 2; i++)
		y[i] = wnnGraphBuilderMatmul(builder, x,
					     wnnGraphBuilderConstant(builder, &desc, weights[i],
								     sizeof(weights[i])),
					     NULL);
	graph = build_one(builder, "y", wnnGraphBuilderMul(builder, y[0], y[1], NULL));
	count = own_nodes(graph);
	wnnGraphRelease(graph);
	wnnGraphBuilderRelease(builder);
	return count;
}

/*
 * Returns the number of nodes of a graph that transposes a value, multiplies it by its square root,
 * and transposes it back.
 */
static uint32_t nodes_of_transposed(WNNContext context)
{
	WNNGraphBuilder builder = wnnContextCreateGraphBuilder(context);
	WNNOperand x = wnnGraphBuilderTranspose(builder, make_input(builder, "x", 3, 4), NULL);
	WNNGraph graph;
	uint32_t count;

	x = wnnGraphBuilderMul(builder, x, wnnGraphBuilderSqrt(builder, x, NULL), NULL);
	graph = build_one(builder, "y", wnnGraphBuilderTranspose(builder, x, NULL));
	count = own_nodes(graph);
	wnnGraphRelease(graph);
	wnnGraphBuilderRelease(builder);
	return count;
}

static void passes_are_turned_off(void **state)
{
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContext context;

	(void)state;
	assert_ok(try_rules(instance, "", &context));
	assert_int_equal(nodes_of_products(context), 2);
	assert_int_equal(nodes_of_transposed(context), 2);
	wnnContextRelease(context);
	assert_ok(try_rules(instance, "-join-products", &context));
	assert_int_equal(nodes_of_products(context), 3);
	assert_int_equal(nodes_of_transposed(context), 2);
	wnnContextRelease(context);
	assert_ok(try_rules(instance, "-sink-transposes", &context));
	assert_int_equal(nodes_of_products(context), 2);
	assert_int_equal(nodes_of_transposed(context), 4);
	wnnContextRelease(context);
	assert_ok(try_rules(instance, "-all", &context));
	assert_int_equal(nodes_of_products(context), 3);
	assert_int_equal(nodes_of_transposed(context), 4);
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
}

static void rules_are_turned_off(void **state)
{
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContext context;

	(void)state;
	assert_ok(try_rules(instance, "", &context));
	assert_int_equal(nodes_of_scaled(context), 1);
	wnnContextRelease(context);
	assert_ok(try_rules(instance, "-scale-behind-product,-factor-of-product", &context));
	assert_int_equal(nodes_of_scaled(context), 2);
	wnnContextRelease(context);
	assert_ok(try_rules(instance, "-all", &context));
	assert_int_equal(nodes_of_scaled(context), 2);
	wnnContextRelease(context);
	assert_failed(try_rules(instance, "-where-not,-abacus", &context),
		      WNNStatus_NotSupportedError, "WEBNN_RULES has \"-abacus\"");
	assert_failed(try_rules(instance, "where-not", &context), WNNStatus_NotSupportedError,
		      "all, scale-behind-product, ");
	/* The message lists the passes last; their names must not be cut off. */
	assert_failed(try_rules(instance, "where-not", &context), WNNStatus_NotSupportedError,
		      ", sink-transposes, join-products");
	wnnInstanceRelease(instance);
}

static void names_of_levels(void **state)
{
	const char *const wrong[] = { "sse", "AVX2", "avx", "avx5", "avx512 ", "1" };
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContext context;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		char message[100];

		snprintf(message, sizeof(message), LEVEL_VARIABLE " is \"%s\"", wrong[i]);
		assert_failed(try_level(instance, wrong[i], &context), WNNStatus_NotSupportedError,
			      message);
		assert_last_error(WNNStatus_NotSupportedError, "this build of the library are "
							       "base");
	}
	assert_ok(try_level(instance, "", &context));
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
}

/* A context says with which layer and vector instructions it computes. */
static void contexts_tell_of_the_processor(void **state)
{
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContext onednn = open_onednn(instance), openblas = open_layer(instance, "openblas");
	WNNCpuInfo info = WNN_CPU_INFO_INIT, again = WNN_CPU_INFO_INIT;
	char levels[64] = "base";

	(void)state;
	if (processor_has("avx2"))
		strcpy(levels, processor_has("avx512") ? "base, avx2 and avx512" : "base and avx2");
	assert_ok(wnnContextGetCpuInfo(onednn, &info));
	expect_view(info.levels, levels);
	expect_view(info.layer, "onednn");
	assert_int_equal(info.oneDnnProblem.length, 0);
	assert_int_equal(info.openBlasProblem.length, 0);
	/* The version is 3.7.1 or the like. */
	assert_true(info.oneDnnVersion.length >= 5 && info.oneDnnVersion.data[1] == '.');
	assert_true(info.openBlasVersion.length >= 3 && info.openBlasVersion.data[1] == '.');
	assert_true(info.oneDnnLevel.length > 0 && info.openBlasCore.length > 0);
	assert_int_equal(info.threads, sysconf(_SC_NPROCESSORS_ONLN));
	assert_ok(wnnContextGetCpuInfo(onednn, &again));
	assert_ptr_equal(info.levels.data, again.levels.data);
	assert_ok(wnnContextGetCpuInfo(openblas, &info));
	expect_view(info.layer, "openblas");
	assert_int_equal(info.oneDnnVersion.length, 0);
	wnnContextRelease(onednn);
	wnnContextRelease(openblas);
	wnnInstanceRelease(instance);
}

static void names_of_layers(void **state)
{
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContext context;

	(void)state;
	assert_failed(try_layer(instance, "mkl", &context), WNNStatus_NotSupportedError,
		      "WEBNN_CPU_LAYER is \"mkl\"; allowed are onednn");
	assert_ok(try_layer(instance, "", &context));
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
}

static WNNStatus try_spin(WNNInstance instance, const char *spin, WNNContext *context)
{
	WNNStatus status;

	setenv(SPIN_VARIABLE, spin, 1);
	status = try_layer(instance, "openblas", context);
	unsetenv(SPIN_VARIABLE);
	return status;
}

static void how_long_threads_wait_awake(void **state)
{
	const char *const wrong[] = { "-1", "10us", "1000001", "99999999999999999999", " 1" };
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContext asleep, awake;
	WNNGraph one, other;
	float *a, *b;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_failed(try_spin(instance, wrong[i], &asleep), WNNStatus_NotSupportedError,
			      "WEBNN_CPU_SPIN");
	assert_ok(try_spin(instance, "0", &asleep));
	assert_ok(try_spin(instance, "1000000", &awake));
	one = build_pictures(asleep);
	other = build_pictures(awake);
	a = run(asleep, one);
	b = run(awake, other);
	assert_memory_equal(a, b, ELEMENTS * sizeof(*a));
	free(a);
	free(b);
	wnnGraphRelease(one);
	wnnGraphRelease(other);
	wnnContextRelease(asleep);
	wnnContextRelease(awake);
	wnnInstanceRelease(instance);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* This test must come before all that load OpenBLAS. */
		cmocka_unit_test(one_line_needs_no_openblas),
		cmocka_unit_test(both_layers_compute_the_same),
		cmocka_unit_test(additions_are_part_of_a_convolution),
		cmocka_unit_test(so_they_are_below_onednn),
		cmocka_unit_test(layouts_change_where_it_gains),
		cmocka_unit_test(files_remember_the_layer),
		cmocka_unit_test(each_level_computes_the_same),
		cmocka_unit_test(files_remember_the_level),
		cmocka_unit_test(contexts_tell_of_the_processor),
		cmocka_unit_test(names_of_layers),
		cmocka_unit_test(names_of_levels),
		cmocka_unit_test(rules_are_turned_off),
		cmocka_unit_test(passes_are_turned_off),
		cmocka_unit_test(how_long_threads_wait_awake),
	};

	unsetenv("WEBNN_DEVICE");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
