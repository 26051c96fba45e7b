// SPDX-License-Identifier: MIT
/* Runs a small network: shows options, lists, constants, and what a context supports. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <webnn/webnn.h>

#define CLASSES 10

static void check(WNNStatus status)
{
	WNNError error = WNN_ERROR_INIT;

	if (status == WNNStatus_Success)
		return;
	wnnGetLastError(&error);
	fprintf(stderr, "%.*s\n", (int)error.message.length, error.message.data);
	exit(1);
}

static WNNOperand random_constant(WNNGraphBuilder b, WNNUint32Array shape)
{
	WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
	static float data[8192];
	size_t count = 1;

	for (size_t i = 0; i < shape.count; i++)
		count *= shape.data[i];
	for (size_t i = 0; i < count; i++)
		data[i] = (float)rand() / (float)RAND_MAX - 0.5f;
	descriptor.dataType = WNNOperandDataType_Float32;
	descriptor.shape = shape;
	/* The library copies the data, so that the memory can be used again. */
	return wnnGraphBuilderConstant(b, &descriptor, data, count * sizeof(*data));
}

/*
 * Adds a 3x3 convolution that halves the size, and a clamp to 0 to 6, which the compiler fuses into
 * the convolution. Returns the clamp's result.
 */
static WNNOperand stem(WNNGraphBuilder b, WNNOperand x)
{
	WNNConv2dOptions conv = WNN_CONV2D_OPTIONS_INIT;
	WNNClampOptions clamp = WNN_CLAMP_OPTIONS_INIT;

	/* Members that are not set have the defaults of the specification. */
	conv.padding = WNN_UINT32_LIST(1, 1, 1, 1);
	conv.strides = WNN_UINT32_LIST(2, 2);
	conv.bias = random_constant(b, WNN_UINT32_LIST(8));
	conv.label = WNN_STR("stem");
	x = wnnGraphBuilderConv2d(b, x, random_constant(b, WNN_UINT32_LIST(8, 3, 3, 3)), &conv);
	clamp.minValue = WNN_NUMBER_DOUBLE(0);
	clamp.maxValue = WNN_NUMBER_DOUBLE(6);
	return wnnGraphBuilderClamp(b, x, &clamp);
}

static WNNOperand head(WNNGraphBuilder b, WNNOperand x)
{
	WNNGemmOptions gemm = WNN_GEMM_OPTIONS_INIT;

	/* Without windowDimensions the window is the whole picture. */
	x = wnnGraphBuilderAveragePool2d(b, x, NULL);
	x = wnnGraphBuilderReshape(b, x, WNN_UINT32_LIST(1, 8), NULL);
	gemm.bTranspose = WNN_TRUE;
	gemm.c = random_constant(b, WNN_UINT32_LIST(CLASSES));
	x = wnnGraphBuilderGemm(b, x, random_constant(b, WNN_UINT32_LIST(CLASSES, 8)), &gemm);
	return wnnGraphBuilderSoftmax(b, x, 1, NULL);
}

static WNNGraph build(WNNContext context)
{
	WNNOperandDescriptor picture = WNN_OPERAND_DESCRIPTOR_INIT;
	WNNGraphBuilder b = wnnContextCreateGraphBuilder(context);
	WNNNamedOperand outputs[] = { { WNN_STR("features"), NULL }, { WNN_STR("classes"), NULL } };
	WNNUint32Array shape;
	WNNGraph graph;

	picture.dataType = WNNOperandDataType_Float32;
	picture.shape = WNN_UINT32_LIST(1, 3, 32, 32);
	outputs[0].operand = stem(b, wnnGraphBuilderInput(b, WNN_STR("picture"), &picture));
	outputs[1].operand = head(b, outputs[0].operand);
	/* Shapes are known as soon as an operator is recorded. */
	shape = wnnOperandGetShape(outputs[0].operand);
	for (size_t i = 0; i < shape.count; i++)
		printf("%u%s", shape.data[i], i + 1 < shape.count ? "x" : " features\n");
	check(wnnGraphBuilderBuildSync(b, 2, outputs, WNN_WAIT_FOREVER, &graph));
	/* The builder is not needed any more; its operands are released with it. */
	wnnGraphBuilderRelease(b);
	return graph;
}

/* Makes a tensor for every input or output of a graph: @list has their names, types and shapes. */
static void make_tensors(WNNContext context, WNNNamedOperandDescriptorArray list,
			 WNNNamedTensor *tensors)
{
	for (size_t i = 0; i < list.count; i++) {
		WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;

		descriptor.dataType = list.data[i].dataType;
		descriptor.shape = list.data[i].shape;
		descriptor.readable = descriptor.writable = WNN_TRUE;
		tensors[i].name = list.data[i].name;
		check(wnnContextCreateTensorSync(context, &descriptor, WNN_WAIT_FOREVER,
						 &tensors[i].tensor));
	}
}

int main(void)
{
	static float picture[3 * 32 * 32];
	float classes[CLASSES], sum = 0;
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNOpSupportLimits limits = WNN_OP_SUPPORT_LIMITS_INIT;
	WNNNamedTensor in[1], out[2];
	WNNContext context;
	WNNGraph graph;

	check(wnnInstanceCreateContextSync(instance, NULL, WNN_WAIT_FOREVER, &context));
	check(wnnContextGetOpSupportLimits(context, &limits));
	if (!(limits.conv2d.input.dataTypes & WNN_DATA_TYPE_BIT(WNNOperandDataType_Float32)))
		return 1;
	graph = build(context);
	make_tensors(context, wnnGraphGetInputs(graph), in);
	make_tensors(context, wnnGraphGetOutputs(graph), out); /* sorted by name: classes first */
	for (size_t i = 0; i < sizeof(picture) / sizeof(picture[0]); i++)
		picture[i] = (float)(i % 32) / 32;
	check(wnnContextWriteTensor(context, in[0].tensor, picture, sizeof(picture)));
	check(wnnContextDispatch(context, graph, 1, in, 2, out));
	check(wnnContextReadTensorIntoSync(context, out[0].tensor, classes, sizeof(classes),
					   WNN_WAIT_FOREVER));
	for (int i = 0; i < CLASSES; i++) {
		printf("%d: %.3f\n", i, (double)classes[i]);
		sum += classes[i];
	}
	wnnTensorRelease(in[0].tensor);
	wnnTensorRelease(out[0].tensor);
	wnnTensorRelease(out[1].tensor);
	wnnGraphRelease(graph);
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
	return fabsf(sum - 1) < 1e-5f ? 0 : 1;
}
