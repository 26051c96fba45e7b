// SPDX-License-Identifier: MIT
/*
 * bench-cpu-graph: a network from a table of layers (models.py) as a WebNN graph on the CPU. Runs once for each line on
 * standard input and answers with the nanoseconds it took. The file of weights is mapped and lent to the library.
 */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cblas.h>
#include <jansson.h>

#include <webnn/webnn_npu.h>

struct options {
	const char *files[4];		/* table, weights, input, output */
	unsigned int count;
	uint32_t threads;
};

struct net {
	WNNGraphBuilder builder;
	const float *weights;
	WNNOperand *values;
};

static void fail(const char *what)
{
	WNNError error = WNN_ERROR_INIT;

	wnnGetLastError(&error);
	fprintf(stderr, "bench-cpu-graph: %s: %.*s\n", what, (int)error.message.length,
		error.message.data ? error.message.data : "");
	exit(1);
}

static void check(bool ok, const char *what)
{
	if (!ok)
		fail(what);
}

static WNNOperand made(const struct net *net, WNNOperand operand)
{
	WNNError error = WNN_ERROR_INIT;

	if (operand)
		return operand;
	wnnGraphBuilderGetLastError(net->builder, &error);
	fprintf(stderr, "bench-cpu-graph: %.*s\n", (int)error.message.length, error.message.data);
	exit(1);
}

static void *map_file(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *data = MAP_FAILED;

	if (fd >= 0 && !fstat(fd, &st))
		data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED) {
		fprintf(stderr, "bench-cpu-graph: %s: %s\n", path, strerror(errno));
		exit(1);
	}
	close(fd);
	return data;
}

/* --- From the table to a graph --- */

static uint32_t number(const json_t *layer, const char *key)
{
	return (uint32_t)json_integer_value(json_object_get(layer, key));
}

static uint32_t list(const json_t *layer, const char *key, uint32_t *values)
{
	const json_t *array = json_object_get(layer, key);
	uint32_t n = (uint32_t)json_array_size(array);

	for (uint32_t i = 0; i < n && i < 4; i++)
		values[i] = (uint32_t)json_integer_value(json_array_get(array, i));
	return n;
}

static void nothing_to_release(void const *data, size_t size, void *userdata1, void *userdata2)
{
	(void)data;
	(void)size;
	(void)userdata1;
	(void)userdata2;
}

static WNNOperand constant(const struct net *net, const json_t *layer, const char *key,
			   uint32_t rank, const uint32_t *dims)
{
	WNNBorrowedConstant borrowed = WNN_BORROWED_CONSTANT_INIT;
	WNNOperandDescriptor desc = WNN_OPERAND_DESCRIPTOR_INIT;
	const float *data = net->weights + json_integer_value(json_object_get(layer, key));
	size_t count = 1;

	for (uint32_t i = 0; i < rank; i++)
		count *= dims[i];
	borrowed.releaseCallback = nothing_to_release;
	desc.nextInChain = &borrowed.chain;
	desc.dataType = WNNOperandDataType_Float32;
	desc.shape = (WNNUint32Array){ rank, dims };
	return made(net, wnnGraphBuilderConstant(net->builder, &desc, data, count * sizeof(float)));
}

static WNNOperand add_conv(const struct net *net, const json_t *layer, WNNOperand x)
{
	WNNConv2dOptions options = WNN_CONV2D_OPTIONS_INIT;
	uint32_t filter[4], stride = number(layer, "stride"), pad = number(layer, "pad");

	list(layer, "filter", filter);
	options.strides = WNN_UINT32_LIST(stride, stride);
	options.padding = WNN_UINT32_LIST(pad, pad, pad, pad);
	options.groups = number(layer, "groups");
	options.bias = constant(net, layer, "bias", 1, filter);
	return wnnGraphBuilderConv2d(net->builder, x, constant(net, layer, "weight", 4, filter),
				     &options);
}

static WNNOperand add_linear(const struct net *net, const json_t *layer, WNNOperand x)
{
	WNNGemmOptions options = WNN_GEMM_OPTIONS_INIT;
	uint32_t shape[4];

	list(layer, "matrix", shape);
	options.bTranspose = WNN_TRUE;
	options.c = constant(net, layer, "bias", 1, shape);
	return wnnGraphBuilderGemm(net->builder, x, constant(net, layer, "weight", 2, shape), &options);
}

static WNNOperand add_pool(const struct net *net, const json_t *layer, bool max, WNNOperand x)
{
	WNNPool2dOptions options = WNN_POOL2D_OPTIONS_INIT;
	uint32_t kernel = number(layer, "kernel"), stride = number(layer, "stride");
	uint32_t pad = number(layer, "pad");

	options.windowDimensions = WNN_UINT32_LIST(kernel, kernel);
	options.strides = WNN_UINT32_LIST(stride, stride);
	options.padding = WNN_UINT32_LIST(pad, pad, pad, pad);
	return max ? wnnGraphBuilderMaxPool2d(net->builder, x, &options) :
		     wnnGraphBuilderAveragePool2d(net->builder, x, &options);
}

static WNNOperand add_relu6(const struct net *net, WNNOperand x)
{
	WNNClampOptions options = WNN_CLAMP_OPTIONS_INIT;

	options.minValue = WNN_NUMBER_DOUBLE(0);
	options.maxValue = WNN_NUMBER_DOUBLE(6);
	return wnnGraphBuilderClamp(net->builder, x, &options);
}

static WNNOperand add_flatten(const struct net *net, WNNOperand x)
{
	WNNUint32Array shape = wnnOperandGetShape(x);
	uint32_t size = 1;

	for (size_t i = 0; i < shape.count; i++)
		size *= shape.data[i];
	return wnnGraphBuilderReshape(net->builder, x, WNN_UINT32_LIST(1, size), NULL);
}

static WNNOperand add_layer(const struct net *net, const json_t *layer)
{
	const char *op = json_string_value(json_object_get(layer, "op"));
	uint32_t from[4] = { 0 };
	WNNOperand x[2];

	list(layer, "inputs", from);
	x[0] = net->values[from[0]];
	x[1] = net->values[from[1]];
	if (!strcmp(op, "conv"))
		return add_conv(net, layer, x[0]);
	if (!strcmp(op, "linear"))
		return add_linear(net, layer, x[0]);
	if (!strcmp(op, "maxpool") || !strcmp(op, "averagepool"))
		return add_pool(net, layer, op[0] == 'm', x[0]);
	if (!strcmp(op, "relu"))
		return wnnGraphBuilderRelu(net->builder, x[0], NULL);
	if (!strcmp(op, "relu6"))
		return add_relu6(net, x[0]);
	if (!strcmp(op, "add"))
		return wnnGraphBuilderAdd(net->builder, x[0], x[1], NULL);
	if (!strcmp(op, "concat"))
		return wnnGraphBuilderConcat(net->builder, 2, x, 1, NULL);
	if (!strcmp(op, "flatten"))
		return add_flatten(net, x[0]);
	if (!strcmp(op, "softmax"))
		return wnnGraphBuilderSoftmax(net->builder, x[0], 1, NULL);
	fprintf(stderr, "bench-cpu-graph: unknown layer '%s'\n", op);
	exit(1);
}

static WNNGraph build(WNNContext context, const char *table, const float *weights)
{
	static const uint32_t input[] = { 1, 3, 224, 224 };
	WNNOperandDescriptor desc = WNN_OPERAND_DESCRIPTOR_INIT;
	json_error_t error;
	json_t *layers = json_load_file(table, 0, &error), *layer;
	struct net net = { .weights = weights };
	WNNNamedOperand output;
	WNNGraph graph;
	size_t i;

	if (!json_is_array(layers)) {
		fprintf(stderr, "bench-cpu-graph: %s: %s\n", table, error.text);
		exit(1);
	}
	net.values = calloc(json_array_size(layers) + 1, sizeof(WNNOperand));
	net.builder = wnnContextCreateGraphBuilder(context);
	check(net.values && net.builder, "graph builder");
	desc.dataType = WNNOperandDataType_Float32;
	desc.shape = (WNNUint32Array){ 4, input };
	net.values[0] = made(&net, wnnGraphBuilderInput(net.builder, WNN_STR("x"), &desc));
	json_array_foreach(layers, i, layer)
		net.values[i + 1] = made(&net, add_layer(&net, layer));
	output = (WNNNamedOperand){ WNN_STR("y"), net.values[json_array_size(layers)] };
	check(wnnGraphBuilderBuildSync(net.builder, 1, &output, WNN_WAIT_FOREVER, &graph) ==
	      WNNStatus_Success, "build");
	wnnGraphBuilderRelease(net.builder);
	free(net.values);
	json_decref(layers);
	return graph;
}

/* --- Runs --- */

static WNNContext open_context(WNNInstance instance, uint32_t threads)
{
	WNNContextDeviceOptions device = WNN_CONTEXT_DEVICE_OPTIONS_INIT;
	WNNContextOptions options = WNN_CONTEXT_OPTIONS_INIT;
	WNNContext context;

	device.device = WNN_STR("cpu");
	device.threads = threads;
	options.nextInChain = &device.chain;
	check(wnnInstanceCreateContextSync(instance, &options, WNN_WAIT_FOREVER, &context) ==
	      WNNStatus_Success, "context");
	return context;
}

static WNNTensor make_tensor(WNNContext context, WNNUint32Array shape, bool input)
{
	WNNTensorDescriptor desc = WNN_TENSOR_DESCRIPTOR_INIT;
	WNNTensor tensor;

	desc.dataType = WNNOperandDataType_Float32;
	desc.shape = shape;
	desc.writable = input;
	desc.readable = !input;
	check(wnnContextCreateTensorSync(context, &desc, WNN_WAIT_FOREVER, &tensor) ==
	      WNNStatus_Success, "tensor");
	return tensor;
}

struct run {
	WNNContext context;
	WNNGraph graph;
	WNNNamedTensor input, output;
	const float *x;
	size_t x_bytes, y_bytes;
	float *y;
};

static void infer(const struct run *run)
{
	check(wnnContextWriteTensor(run->context, run->input.tensor, run->x, run->x_bytes) ==
	      WNNStatus_Success, "write");
	check(wnnContextDispatch(run->context, run->graph, 1, &run->input, 1, &run->output) ==
	      WNNStatus_Success, "dispatch");
	check(wnnContextReadTensorSync(run->context, run->output.tensor, run->y, run->y_bytes,
				       WNN_WAIT_FOREVER) == WNNStatus_Success, "read");
}

static uint64_t nanoseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void run_lines(const struct run *run, const char *output)
{
	char line[64];
	FILE *f;

	infer(run);
	f = fopen(output, "wb");
	if (!f || fwrite(run->y, 1, run->y_bytes, f) != run->y_bytes || fclose(f)) {
		perror(output);
		exit(1);
	}
	printf("ready %s\n", openblas_get_corename());
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		uint64_t begin = nanoseconds();

		infer(run);
		printf("%" PRIu64 "\n", nanoseconds() - begin);
		fflush(stdout);
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case 't':
		options->threads = (uint32_t)strtoul(arg, NULL, 0);
		return 0;
	case ARGP_KEY_ARG:
		if (options->count == 4)
			argp_usage(state);
		options->files[options->count++] = arg;
		return 0;
	case ARGP_KEY_END:
		if (options->count < 4)
			argp_usage(state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int main(int argc, char **argv)
{
	static const struct argp_option known[] = {
		{ "threads", 't', "N", 0, "Threads (default 1)", 0 },
		{ 0 }
	};
	static const struct argp argp = {
		known, parse, "TABLE WEIGHTS INPUT OUTPUT", "Runs a network of bench_cpu.py.", NULL,
		NULL, NULL
	};
	struct options options = { .threads = 1 };
	WNNInstance instance;
	struct run run = { 0 };
	WNNNamedOperandDescriptorArray outputs;

	argp_parse(&argp, argc, argv, 0, NULL, &options);
	instance = wnnCreateInstance(NULL);
	check(instance, "instance");
	run.context = open_context(instance, options.threads);
	run.graph = build(run.context, options.files[0], map_file(options.files[1]));
	outputs = wnnGraphGetOutputs(run.graph);
	run.input = (WNNNamedTensor){ WNN_STR("x"), make_tensor(run.context,
		(WNNUint32Array){ 4, (const uint32_t[]){ 1, 3, 224, 224 } }, true) };
	run.output = (WNNNamedTensor){ WNN_STR("y"), make_tensor(run.context, outputs.data[0].shape,
								  false) };
	run.x = map_file(options.files[2]);
	run.x_bytes = 3 * 224 * 224 * sizeof(float);
	run.y_bytes = 1000 * sizeof(float);
	run.y = malloc(run.y_bytes);
	check(run.y, "memory");
	run_lines(&run, options.files[3]);
	free(run.y);
	wnnTensorRelease(run.input.tensor);
	wnnTensorRelease(run.output.tensor);
	wnnGraphRelease(run.graph);
	wnnContextRelease(run.context);
	wnnInstanceRelease(instance);
	return 0;
}
