// SPDX-License-Identifier: MIT
/* Computes y = relu(x * w + 1), once. */
#include <stdio.h>
#include <stdlib.h>

#include <webnn/webnn.h>

static void check(WNNStatus status)
{
	WNNError error = WNN_ERROR_INIT;

	if (status == WNNStatus_Success)
		return;
	wnnGetLastError(&error);
	fprintf(stderr, "%.*s\n", (int)error.message.length, error.message.data);
	exit(1);
}

static WNNGraph build(WNNContext context)
{
	const uint32_t x_shape[] = { 1, 3 }, w_shape[] = { 3, 2 };
	const float weights[] = { 1, -1, 2, -2, 3, -3 };
	WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
	WNNGraphBuilder b = wnnContextCreateGraphBuilder(context);
	WNNOperatorOptions label = WNN_OPERATOR_OPTIONS_INIT;
	WNNNamedOperand output = { WNN_STR("y"), NULL };
	WNNOperand x, w, one, y;
	WNNGraph graph;

	descriptor.dataType = WNNOperandDataType_Float32;
	descriptor.shape = WNN_UINT32_ARRAY(x_shape);
	x = wnnGraphBuilderInput(b, WNN_STR("x"), &descriptor);
	descriptor.shape = WNN_UINT32_ARRAY(w_shape);
	w = wnnGraphBuilderConstant(b, &descriptor, weights, sizeof(weights));
	one = wnnGraphBuilderConstantFromNumber(b, WNNOperandDataType_Float32,
						WNN_NUMBER_DOUBLE(1));
	label.label = WNN_STR("dense");
	/* A call that fails returns NULL, which the next call refuses: one check is enough. */
	y = wnnGraphBuilderAdd(b, wnnGraphBuilderMatmul(b, x, w, &label), one, NULL);
	output.operand = wnnGraphBuilderRelu(b, y, NULL);
	check(wnnGraphBuilderBuildSync(b, 1, &output, WNN_WAIT_FOREVER, &graph));
	wnnGraphBuilderRelease(b);
	return graph;
}

static WNNTensor make_tensor(WNNContext context, uint32_t columns)
{
	const uint32_t shape[] = { 1, columns };
	WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
	WNNTensor tensor;

	descriptor.dataType = WNNOperandDataType_Float32;
	descriptor.shape = WNN_UINT32_ARRAY(shape);
	descriptor.readable = descriptor.writable = WNN_TRUE;
	check(wnnContextCreateTensorSync(context, &descriptor, WNN_WAIT_FOREVER, &tensor));
	return tensor;
}

int main(void)
{
	const float data[] = { 1, 2, 3 };
	float result[2];
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNNamedTensor in = { WNN_STR("x"), NULL }, out = { WNN_STR("y"), NULL };
	WNNContext context;
	WNNGraph graph;

	check(wnnInstanceCreateContextSync(instance, NULL, WNN_WAIT_FOREVER, &context));
	graph = build(context);
	in.tensor = make_tensor(context, 3);
	out.tensor = make_tensor(context, 2);
	/* These three calls are queued and run in this order; the last one waits for its result. */
	check(wnnContextWriteTensor(context, in.tensor, data, sizeof(data)));
	check(wnnContextDispatch(context, graph, 1, &in, 1, &out));
	check(wnnContextReadTensorIntoSync(context, out.tensor, result, sizeof(result),
					   WNN_WAIT_FOREVER));
	printf("%g %g\n", result[0], result[1]);
	wnnTensorRelease(in.tensor);
	wnnTensorRelease(out.tensor);
	wnnGraphRelease(graph);
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
	return result[0] == 15 && result[1] == 0 ? 0 : 1;
}
