// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <webnn/webnn.h>

static void check(WNNStatus status)
{
	WNNError error = WNN_ERROR_INIT;

	if (status == WNNStatus_Success)
		return;
	/* The message of the last error names the operator, what was given and what is allowed. */
	wnnGetLastError(&error);
	fprintf(stderr, "%.*s\n", (int)error.message.length, error.message.data);
	exit(1);
}

int main(void)
{
	float data[] = { -1, 2, -3, 4 };
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContext context;
	WNNGraph graph;
	WNNOperandDescriptor vector = WNN_OPERAND_DESCRIPTOR_INIT;
	WNNTensorDescriptor place = WNN_TENSOR_DESCRIPTOR_INIT;
	WNNNamedTensor x = { WNN_STR("x"), NULL }, y = { WNN_STR("y"), NULL };

	check(wnnInstanceCreateContextSync(instance, NULL, WNN_WAIT_FOREVER, &context));
	vector.dataType = place.dataType = WNNOperandDataType_Float32;
	vector.shape = place.shape = WNN_UINT32_LIST(4);
	place.readable = place.writable = WNN_TRUE;

	WNNGraphBuilder b = wnnContextCreateGraphBuilder(context);
	WNNOperand input = wnnGraphBuilderInput(b, WNN_STR("x"), &vector);
	WNNNamedOperand output = { WNN_STR("y"), wnnGraphBuilderRelu(b, input, NULL) };

	check(wnnGraphBuilderBuildSync(b, 1, &output, WNN_WAIT_FOREVER, &graph));
	check(wnnContextCreateTensorSync(context, &place, WNN_WAIT_FOREVER, &x.tensor));
	check(wnnContextCreateTensorSync(context, &place, WNN_WAIT_FOREVER, &y.tensor));
	check(wnnContextWriteTensor(context, x.tensor, data, sizeof(data)));
	check(wnnContextDispatch(context, graph, 1, &x, 1, &y));
	check(wnnContextReadTensorIntoSync(context, y.tensor, data, sizeof(data),
					   WNN_WAIT_FOREVER));
	printf("%g %g %g %g\n", data[0], data[1], data[2], data[3]);
	return 0;
}
