// SPDX-License-Identifier: MIT
/*
 * Tests a pointwise convolution with the depthwise convolution of its result. The CPU computes both
 * row by row in one step when the values between them are too many for its cache. A network that
 * also outputs these values takes two steps; both give the same bits.
 */
#include "fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct network {
	uint32_t batch, height, width, in,
		pixels; /* channels last; pixels: channels between the two convolutions */
	uint32_t padding[4], strides[2];
	bool bias;
	float slope;   /* slope of the first activation for negative numbers; 1: no activation */
	bool product;  /* the first is a matrix product, whose rows are no pixels to the library */
	bool infinite; /* the second has an infinite weight, which padding must not be multiplied
		        * by */
};

static size_t count_in(const struct network *n)
{
	return (size_t)n->batch * n->height * n->width * n->in;
}

static size_t count_pixels(const struct network *n)
{
	return (size_t)n->batch * n->height * n->width * n->pixels;
}

static uint32_t size_out(const struct network *n, int axis)
{
	uint32_t size = axis ? n->width : n->height;

	return (size + n->padding[2 * axis] + n->padding[2 * axis + 1] - 3) / n->strides[axis] + 1;
}

static size_t count_out(const struct network *n)
{
	return (size_t)n->batch * size_out(n, 0) * size_out(n, 1) * n->pixels;
}

static WNNOperand constant(WNNGraphBuilder builder, WNNUint32Array shape, float phase,
			   bool infinite)
{
	WNNOperandDescriptor desc = { NULL, WNNOperandDataType_Float32, shape };
	size_t count = 1;
	WNNOperand operand;
	float *data;

	for (size_t i = 0; i < shape.count; i++)
		count *= shape.data[i];
	data = malloc(count * sizeof(*data));
	assert_non_null(data);
	for (size_t i = 0; i < count; i++)
		data[i] = sinf((float)i * 1.7f + phase) * .3f;
	if (infinite)
		data[0] = INFINITY;
	operand = wnnGraphBuilderConstant(builder, &desc, data, count * sizeof(*data));
	free(data);
	return operand;
}

/*
 * Returns a graph of the network; with `apart` the values between the convolutions are an output,
 * too.
 */
static WNNGraph build(WNNContext context, const struct network *n, bool apart)
{
	WNNGraphBuilder builder = wnnContextCreateGraphBuilder(context);
	const uint32_t shape[] = { n->batch, n->height, n->width, n->in };
	const uint32_t first[] = { n->pixels, 1, 1, n->in }, second[] = { 1, 3, 3, n->pixels };
	const uint32_t channels[] = { n->pixels }, matrix[] = { n->in, n->pixels };
	WNNOperandDescriptor desc = { NULL, WNNOperandDataType_Float32, { 4, shape } };
	WNNConv2dOptions conv = WNN_CONV2D_OPTIONS_INIT;
	WNNLeakyReluOptions leaky = WNN_LEAKY_RELU_OPTIONS_INIT;
	WNNNamedOperand outputs[2];
	WNNOperand x = wnnGraphBuilderInput(builder, WNN_STR("x"), &desc);
	WNNGraph graph;

	conv.inputLayout = WNNInputOperandLayout_Nhwc;
	conv.filterLayout = WNNConv2dFilterOperandLayout_Ohwi;
	if (n->bias)
		conv.bias = constant(builder, (WNNUint32Array){ 1, channels }, 0, false);
	if (n->product)
		x = wnnGraphBuilderMatmul(
			builder, x, constant(builder, (WNNUint32Array){ 2, matrix }, 0, false),
			NULL);
	else
		x = wnnGraphBuilderConv2d(builder, x,
					  constant(builder, (WNNUint32Array){ 4, first }, 0, false),
					  &conv);
	leaky.alpha = n->slope;
	if (n->slope == 0)
		x = wnnGraphBuilderRelu(builder, x, NULL);
	else if (n->slope != 1)
		x = wnnGraphBuilderLeakyRelu(builder, x, &leaky);
	outputs[1] = (WNNNamedOperand){ WNN_STR("pixels"), x };
	conv.filterLayout = WNNConv2dFilterOperandLayout_Ihwo;
	if (n->bias)
		conv.bias = constant(builder, (WNNUint32Array){ 1, channels }, 1, false);
	conv.groups = n->pixels;
	conv.padding = (WNNUint32Array){ 4, n->padding };
	conv.strides = (WNNUint32Array){ 2, n->strides };
	x = wnnGraphBuilderConv2d(builder, x,
				  constant(builder, (WNNUint32Array){ 4, second }, 0, n->infinite),
				  &conv);
	outputs[0] = (WNNNamedOperand){ WNN_STR("y"), wnnGraphBuilderRelu(builder, x, NULL) };
	assert_ok(wnnGraphBuilderBuildSync(builder, apart ? 2 : 1, outputs, GENEROUS, &graph));
	wnnGraphBuilderRelease(builder);
	return graph;
}

static float *run(WNNContext context, WNNGraph graph, const struct network *n, bool apart)
{
	const uint32_t in[] = { n->batch, n->height, n->width, n->in };
	const uint32_t between[] = { n->batch, n->height, n->width, n->pixels };
	const uint32_t out[] = { n->batch, size_out(n, 0), size_out(n, 1), n->pixels };
	float *x = malloc(count_in(n) * sizeof(*x)), *y = malloc(count_out(n) * sizeof(*y));
	WNNNamedTensor input = { WNN_STR("x"), make_picture(context, in) };
	WNNNamedTensor outputs[] = { { WNN_STR("y"), make_picture(context, out) },
				     { WNN_STR("pixels"), make_picture(context, between) } };

	assert_non_null(x);
	assert_non_null(y);
	for (size_t i = 0; i < count_in(n); i++)
		x[i] = cosf((float)i);
	assert_ok(wnnContextWriteTensor(context, input.tensor, x, count_in(n) * sizeof(*x)));
	assert_ok(wnnContextDispatch(context, graph, 1, &input, apart ? 2 : 1, outputs));
	assert_ok(wnnContextReadTensorIntoSync(context, outputs[0].tensor, y,
					       count_out(n) * sizeof(*y), GENEROUS));
	wnnTensorRelease(input.tensor);
	wnnTensorRelease(outputs[0].tensor);
	wnnTensorRelease(outputs[1].tensor);
	free(x);
	return y;
}

/* Returns whether both convolutions share a step, with a kernel that computes row by row. */
static bool is_one_step(WNNGraph graph)
{
	WNNGraphPlacement placement = WNN_GRAPH_PLACEMENT_INIT;
	const char *kernel = "cpu/conv-lines";
	size_t lines = 0;

	assert_ok(wnnGraphGetPlacement(graph, &placement));
	for (size_t i = 0; i < placement.nodeCount; i++)
		if (placement.nodes[i].operatorName.length == strlen("conv2d") &&
		    placement.nodes[i].kernel.length == strlen(kernel) &&
		    !memcmp(placement.nodes[i].kernel.data, kernel, strlen(kernel)))
			lines++;
	return lines == 2;
}

/*
 * Returns whether is_one_step() must hold: the processor has the kernel, the kernel takes the
 * network, and the image is large enough.
 */
static bool should_be_one(const struct network *n)
{
	long image = (long)(count_pixels(n) / n->batch * sizeof(float));
	long cache = sysconf(_SC_LEVEL2_CACHE_SIZE);

	/* The library assumes at least 256 KiB; some virtual machines do not tell the size. */
	cache = cache < 256 << 10 ? 256 << 10 : cache;
	return has_lines() && !n->infinite && !n->product && image >= 2 * cache && n->width >= 24;
}

static WNNContext open_with(WNNInstance instance, uint32_t threads, const char *layer)
{
	WNNContextDeviceOptions device = WNN_CONTEXT_DEVICE_OPTIONS_INIT;
	WNNContext context;

	device.device = WNN_STR("cpu");
	device.threads = threads;
	if (layer)
		setenv("WEBNN_CPU_LAYER", layer, 1);
	context = open_context_with(instance, &device);
	unsetenv("WEBNN_CPU_LAYER");
	return context;
}

/*
 * Compares a graph in one step with one in two steps and with one that is loaded. Releases the
 * context.
 */
static void check_in(WNNContext context, const struct network *n, const char *path)
{
	WNNGraph graph = build(context, n, false), apart = build(context, n, true), loaded;
	float *y = run(context, graph, n, false), *wanted = run(context, apart, n, true);
	size_t bytes = count_out(n) * sizeof(float);

	assert_false(is_one_step(apart));
	assert_int_equal(is_one_step(graph), should_be_one(n));
	assert_memory_equal(y, wanted, bytes);
	free(y);
	assert_ok(wnnGraphSave(graph, WNN_STR(path)));
	assert_ok(wnnContextLoadGraphSync(context, WNN_STR(path), GENEROUS, &loaded));
	assert_int_equal(is_one_step(loaded), should_be_one(n));
	y = run(context, loaded, n, false);
	assert_memory_equal(y, wanted, bytes);
	free(y);
	free(wanted);
	wnnGraphRelease(loaded);
	wnnGraphRelease(apart);
	wnnGraphRelease(graph);
	wnnContextRelease(context);
}

static void check(const struct network *n)
{
	char path[] = "/tmp/test_api_windows-XXXXXX";
	WNNInstance instance = wnnCreateInstance(NULL);
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	for (uint32_t threads = 1; threads <= 3; threads++)
		check_in(open_with(instance, threads, NULL), n, path);
	check_in(open_with(instance, 2, "openblas"), n, path);
	unlink(path);
	wnnInstanceRelease(instance);
}

static void same_padding(void **state)
{
	(void)state;
	check(&(struct network){
		1, 80, 60, 8, 128, { 1, 1, 1, 1 }, { 1, 1 }, true, 0, false, false });
}

static void strides_of_two(void **state)
{
	(void)state;
	check(&(struct network){
		1, 79, 61, 16, 128, { 0, 1, 0, 1 }, { 2, 2 }, false, 0, false, false });
}

/* Tests vertical strides of 5, with which no window reads some of the rows. */
static void long_strides(void **state)
{
	(void)state;
	check(&(struct network){
		1, 90, 50, 8, 128, { 2, 2, 0, 0 }, { 5, 1 }, true, 1, false, false });
}

static void several_images(void **state)
{
	(void)state;
	check(&(struct network){
		3, 60, 80, 8, 128, { 1, 1, 1, 1 }, { 2, 1 }, true, .25f, false, false });
}

/* Tests padding so wide that the windows of whole rows of results see only padding. */
static void wide_padding(void **state)
{
	(void)state;
	check(&(struct network){
		1, 60, 90, 8, 144, { 7, 6, 5, 4 }, { 1, 1 }, true, 0, false, false });
}

static void few_pixels(void **state)
{
	(void)state;
	check(&(struct network){
		1, 9, 9, 8, 128, { 1, 1, 1, 1 }, { 1, 1 }, true, 0, false, false });
}

/* Tests rows of 4 pixels, which are too short to be computed one by one. */
static void narrow_images(void **state)
{
	(void)state;
	check(&(struct network){
		1, 1200, 4, 8, 128, { 1, 1, 1, 1 }, { 1, 1 }, true, 0, false, false });
}

static void products(void **state)
{
	(void)state;
	check(&(struct network){
		1, 70, 70, 8, 128, { 1, 1, 1, 1 }, { 1, 1 }, false, 0, true, false });
}

static void infinite_weights(void **state)
{
	(void)state;
	check(&(struct network){
		1, 70, 70, 8, 128, { 1, 1, 1, 1 }, { 1, 1 }, true, 0, false, true });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_padding),	    cmocka_unit_test(strides_of_two),
		cmocka_unit_test(long_strides),	    cmocka_unit_test(several_images),
		cmocka_unit_test(wide_padding),	    cmocka_unit_test(few_pixels),
		cmocka_unit_test(narrow_images),    cmocka_unit_test(products),
		cmocka_unit_test(infinite_weights),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
