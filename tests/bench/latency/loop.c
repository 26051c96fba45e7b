// SPDX-License-Identifier: MIT
/*
 * The program that bench_latency.py measures: bench-latency-loop NETWORK, where NETWORK is "relu"
 * or "matmul". For each line "sync N" it dispatches N times and reads the result each time; for
 * "flight N" it dispatches N times and waits for the last. It answers with the nanoseconds of all N
 * together.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <webnn/webnn.h>
#include <webnn/webnn_npu.h>

#define SIDE 256

static WNNContext context;
static WNNGraph graph;
static WNNNamedTensor inputs[2], output;
static size_t num_inputs;
static float *result;
static size_t result_bytes;

static void must(int condition, const char *what)
{
	if (condition)
		return;
	fprintf(stderr, "bench-latency-loop: %s failed\n", what);
	exit(1);
}

static WNNTensor make_tensor(WNNUint32Array shape, WNNBool writable)
{
	WNNTensorDescriptor desc = WNN_TENSOR_DESCRIPTOR_INIT;
	WNNTensor tensor = NULL;

	desc.dataType = WNNOperandDataType_Float32;
	desc.shape = shape;
	desc.writable = writable;
	desc.readable = !writable;
	must(!wnnContextCreateTensorSync(context, &desc, WNN_WAIT_FOREVER, &tensor), "a tensor");
	return tensor;
}

static WNNOperand add_input(WNNGraphBuilder builder, const char *name, WNNUint32Array shape)
{
	WNNOperandDescriptor desc = WNN_OPERAND_DESCRIPTOR_INIT;
	size_t count = 1;
	float *data;

	desc.dataType = WNNOperandDataType_Float32;
	desc.shape = shape;
	for (size_t i = 0; i < shape.count; i++)
		count *= shape.data[i];
	inputs[num_inputs] = (WNNNamedTensor){ WNN_STR(name), make_tensor(shape, 1) };
	data = calloc(count, sizeof(*data));
	must(data != NULL, "memory");
	for (size_t i = 0; i < count; i++)
		data[i] = (float)(i % 7) - 3;
	must(!wnnContextWriteTensor(context, inputs[num_inputs++].tensor, data,
				    count * sizeof(*data)),
	     "writing");
	free(data);
	return wnnGraphBuilderInput(builder, WNN_STR(name), &desc);
}

static void build(const char *network)
{
	static const uint32_t row[] = { 1, 16 }, square[] = { SIDE, SIDE };
	int relu = !strcmp(network, "relu");
	WNNUint32Array shape = { 2, relu ? row : square };
	WNNGraphBuilder builder = wnnContextCreateGraphBuilder(context);
	WNNNamedOperand named = { WNN_STR("y"), NULL };
	WNNOperand a = add_input(builder, "a", shape), b;

	must(relu || !strcmp(network, "matmul"), "the name of the network");
	if (relu) {
		named.operand = wnnGraphBuilderRelu(builder, a, NULL);
	} else {
		b = add_input(builder, "b", shape);
		named.operand = wnnGraphBuilderSoftmax(
			builder, wnnGraphBuilderMatmul(builder, a, b, NULL), 1, NULL);
	}
	must(!wnnGraphBuilderBuildSync(builder, 1, &named, WNN_WAIT_FOREVER, &graph), "build");
	wnnGraphBuilderRelease(builder);
	result_bytes = sizeof(float) * shape.data[0] * shape.data[1];
	result = malloc(result_bytes);
	must(result != NULL, "memory");
	output = (WNNNamedTensor){ WNN_STR("y"), make_tensor(shape, 0) };
}

static void dispatch(void)
{
	must(!wnnContextDispatch(context, graph, num_inputs, inputs, 1, &output), "dispatch");
}

static void read_result(void)
{
	must(!wnnContextReadTensorIntoSync(context, output.tensor, result, result_bytes,
					   WNN_WAIT_FOREVER),
	     "reading");
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

int main(int argc, char **argv)
{
	WNNContextOptions options = WNN_CONTEXT_OPTIONS_INIT;
	WNNContextDeviceOptions device = WNN_CONTEXT_DEVICE_OPTIONS_INIT;
	WNNInstance instance = wnnCreateInstance(NULL);
	unsigned int count;
	char mode[16];

	must(argc == 2 && instance, "the start");
	device.device = WNN_STR("cpu");
	device.threads = 1;
	options.nextInChain = &device.chain;
	must(!wnnInstanceCreateContextSync(instance, &options, WNN_WAIT_FOREVER, &context),
	     "a context");
	build(argv[1]);
	dispatch();
	read_result();
	printf("ready\n");
	fflush(stdout);
	while (scanf("%15s %u", mode, &count) == 2) {
		uint64_t begin = now();

		for (unsigned int i = 0; i < count; i++) {
			dispatch();
			if (!strcmp(mode, "sync"))
				read_result();
		}
		must(!wnnContextWaitIdle(context, WNN_WAIT_FOREVER), "waiting");
		printf("%" PRIu64 "\n", now() - begin);
		fflush(stdout);
	}
	free(result);
	for (size_t i = 0; i < num_inputs; i++)
		wnnTensorRelease(inputs[i].tensor);
	wnnTensorRelease(output.tensor);
	wnnGraphRelease(graph);
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
	return 0;
}
