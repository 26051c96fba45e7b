// SPDX-License-Identifier: MIT
/*
 * Runs one graph on one device: program npu|FIRMWARE. FIRMWARE is a firmware's image, which the
 * device model boots. The first line of output has the version of the interface with which the
 * library was built. The exit status is 0 when the result is right; otherwise the library's message
 * is printed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <drm/onpu_accel.h>
#include <onpu/registers.h>
#include <webnn/webnn.h>
#include <webnn/webnn_npu.h>

#define COUNT 100

static void check(WNNStatus status)
{
	WNNError error = WNN_ERROR_INIT;

	if (status == WNNStatus_Success)
		return;
	wnnGetLastError(&error);
	printf("%.*s\n", (int)error.message.length, error.message.data);
	exit(1);
}

static WNNStringView view(const char *text)
{
	return (WNNStringView){ text, strlen(text) };
}

static WNNContext open_device(WNNInstance instance, const char *which)
{
	WNNContextDeviceOptions device = WNN_CONTEXT_DEVICE_OPTIONS_INIT;
	WNNContextOptions options = WNN_CONTEXT_OPTIONS_INIT;
	WNNContext context;

	device.device = view(strcmp(which, "npu") ? "sim" : "npu");
	if (strcmp(which, "npu")) {
		device.simMode = WNNSimMode_Full;
		device.simFirmwarePath = view(which);
	}
	device.placementPolicy = WNNPlacementPolicy_NPUOnly;
	options.nextInChain = &device.chain;
	check(wnnInstanceCreateContextSync(instance, &options, WNN_WAIT_FOREVER, &context));
	return context;
}

/* Returns a graph that computes y = x * x + 1; an error ends the program. */
static WNNGraph build(WNNContext context)
{
	const uint32_t shape[] = { COUNT };
	WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
	WNNGraphBuilder b = wnnContextCreateGraphBuilder(context);
	WNNNamedOperand output = { WNN_STR("y"), NULL };
	WNNOperand x, one;
	WNNGraph graph;

	descriptor.dataType = WNNOperandDataType_Float32;
	descriptor.shape = WNN_UINT32_ARRAY(shape);
	x = wnnGraphBuilderInput(b, WNN_STR("x"), &descriptor);
	one = wnnGraphBuilderConstantFromNumber(b, WNNOperandDataType_Float32,
						WNN_NUMBER_DOUBLE(1));
	output.operand = wnnGraphBuilderAdd(b, wnnGraphBuilderMul(b, x, x, NULL), one, NULL);
	check(wnnGraphBuilderBuildSync(b, 1, &output, WNN_WAIT_FOREVER, &graph));
	wnnGraphBuilderRelease(b);
	return graph;
}

static WNNTensor make_tensor(WNNContext context)
{
	const uint32_t shape[] = { COUNT };
	WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
	WNNTensor tensor;

	descriptor.dataType = WNNOperandDataType_Float32;
	descriptor.shape = WNN_UINT32_ARRAY(shape);
	descriptor.readable = descriptor.writable = WNN_TRUE;
	check(wnnContextCreateTensorSync(context, &descriptor, WNN_WAIT_FOREVER, &tensor));
	return tensor;
}

/* Runs the graph once, and returns the number of elements of the result that are wrong. */
static int compute(WNNContext context, WNNGraph graph)
{
	WNNNamedTensor in = { WNN_STR("x"), make_tensor(context) };
	WNNNamedTensor out = { WNN_STR("y"), make_tensor(context) };
	float data[COUNT], result[COUNT];
	int wrong = 0;

	for (int i = 0; i < COUNT; i++)
		data[i] = (float)i;
	check(wnnContextWriteTensor(context, in.tensor, data, sizeof(data)));
	check(wnnContextDispatch(context, graph, 1, &in, 1, &out));
	check(wnnContextReadTensorIntoSync(context, out.tensor, result, sizeof(result),
					   WNN_WAIT_FOREVER));
	for (int i = 0; i < COUNT; i++)
		wrong += result[i] != (float)(i * i + 1);
	wnnTensorRelease(in.tensor);
	wnnTensorRelease(out.tensor);
	return wrong;
}

int main(int argc, char **argv)
{
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContext context;
	WNNGraph graph;
	int wrong;

	if (argc != 2) {
		fprintf(stderr, "usage: %s npu|FIRMWARE\n", argv[0]);
		return 2;
	}
	printf("library %d.%d\n", DRM_ONPU_DRIVER_MAJOR, DRM_ONPU_DRIVER_MINOR);
	context = open_device(instance, argv[1]);
	graph = build(context);
	wrong = compute(context, graph);
	wnnGraphRelease(graph);
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
	if (wrong)
		printf("%d of %d results are wrong\n", wrong, COUNT);
	return wrong ? 1 : 0;
}
