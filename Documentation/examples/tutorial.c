// SPDX-License-Identifier: MIT
/* Tells the brightest quarter of each of two pictures: tutorial MODEL.onnx */
#include <stdio.h>
#include <stdlib.h>

#include <webnn/onnx.h>
#include <webnn/webnn_npu.h>

#define SIDE 16

static const char *const names[4] = { "upper left", "upper right", "lower left", "lower right" };

/*
 * Prints the last error and ends the program unless @status is success. @last is a function of the
 * library that failed, as each of the two libraries has a last error of its own.
 */
static void check(WNNStatus status, WNNStatus (*last)(WNNError *))
{
	WNNError error = WNN_ERROR_INIT;

	if (status == WNNStatus_Success)
		return;
	last(&error);
	fprintf(stderr, "%.*s\n", (int)error.message.length, error.message.data);
	exit(1);
}

static WNNGraph load(WNNContext context, const char *path)
{
	WNNOnnxModel model;
	WNNGraph graph;

	check(wnnOnnxLoadFile(WNN_STR(path), NULL, &model), wnnOnnxGetLastError);
	/* A graph has fixed shapes: two pictures at a time. */
	check(wnnOnnxModelSetDimension(model, WNN_STR("batch"), 2), wnnOnnxGetLastError);
	check(wnnOnnxModelBuildSync(model, context, WNN_WAIT_FOREVER, &graph), wnnOnnxGetLastError);
	wnnOnnxModelRelease(model);
	return graph;
}

/* Returns a new float32 tensor of @shape that the program can both write and read. */
static WNNTensor make_tensor(WNNContext context, WNNUint32Array shape)
{
	WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
	WNNTensor tensor;

	descriptor.dataType = WNNOperandDataType_Float32;
	descriptor.shape = shape;
	descriptor.readable = descriptor.writable = WNN_TRUE;
	check(wnnContextCreateTensorSync(context, &descriptor, WNN_WAIT_FOREVER, &tensor),
	      wnnGetLastError);
	return tensor;
}

static void draw(float *pictures)
{
	/*
	 * The first picture is bright in the upper right quarter, the second one in the lower left.
	 */
	for (int y = 0; y < SIDE; y++) {
		for (int x = 0; x < SIDE; x++) {
			pictures[y * SIDE + x] = y < SIDE / 2 && x >= SIDE / 2;
			pictures[(SIDE + y) * SIDE + x] = y >= SIDE / 2 && x < SIDE / 2;
		}
	}
}

int main(int argc, char **argv)
{
	const uint32_t picture_shape[] = { 2, 1, SIDE, SIDE }, answer_shape[] = { 2, 4 };
	float pictures[2 * SIDE * SIDE], answers[2][4];
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNDeviceInfo device = WNN_DEVICE_INFO_INIT;
	WNNContext context;
	WNNGraph graph;

	if (argc != 2)
		return fprintf(stderr, "usage: tutorial MODEL.onnx\n"), 1;
	check(wnnInstanceCreateContextSync(instance, NULL, WNN_WAIT_FOREVER, &context),
	      wnnGetLastError);
	check(wnnContextGetDeviceInfo(context, &device), wnnGetLastError);
	graph = load(context, argv[1]);

	WNNTensor x = make_tensor(context, WNN_UINT32_ARRAY(picture_shape));
	WNNTensor y = make_tensor(context, WNN_UINT32_ARRAY(answer_shape));
	WNNNamedTensor input = { WNN_STR("picture"), x }, output = { WNN_STR("answer"), y };

	draw(pictures);
	check(wnnContextWriteTensor(context, x, pictures, sizeof(pictures)), wnnGetLastError);
	check(wnnContextDispatch(context, graph, 1, &input, 1, &output), wnnGetLastError);
	check(wnnContextReadTensorIntoSync(context, y, answers, sizeof(answers), WNN_WAIT_FOREVER),
	      wnnGetLastError);

	printf("on %.*s\n", (int)device.device.length, device.device.data);
	for (int i = 0; i < 2; i++) {
		int best = 0;

		for (int k = 1; k < 4; k++)
			if (answers[i][k] > answers[i][best])
				best = k;
		printf("picture %d: %s\n", i + 1, names[best]);
	}
	wnnTensorRelease(x);
	wnnTensorRelease(y);
	wnnGraphRelease(graph);
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
	return 0;
}
