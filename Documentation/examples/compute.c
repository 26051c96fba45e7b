// SPDX-License-Identifier: MIT
/* Uses the older forms of the API, as a program of 2021 would: compute() with named buffers. */
#include <stdio.h>

#include <webnn/webnn_compat.h>

int main(void)
{
	const uint32_t shape[] = { 2, 2, 2 };
	const float data[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	float sums[2] = { 0, 0 };
	WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
	WNNReduceOptions reduce = WNN_REDUCE_OPTIONS_INIT;
	const uint32_t axes[] = { 1 };
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNNamedOperand output = { WNN_STR("sums"), NULL };
	WNNCompatInput in = { WNN_STR("x"), data, sizeof(data) };
	WNNCompatOutput out = { WNN_STR("sums"), sums, sizeof(sums) };
	WNNGraphBuilder b;
	WNNContext context;
	WNNGraph graph;
	WNNOperand x;

	if (wnnInstanceCreateContextSync(instance, NULL, WNN_WAIT_FOREVER, &context))
		return 1;
	b = wnnContextCreateGraphBuilder(context);
	descriptor.dataType = WNNOperandDataType_Float32;
	descriptor.shape = WNN_UINT32_ARRAY(shape);
	x = wnnGraphBuilderInput(b, WNN_STR("x"), &descriptor);
	reduce.axes = WNN_UINT32_ARRAY(axes);
	output.operand = wnnGraphBuilderReduceSum(b, wnnCompatFlatten(b, x, 1, NULL), &reduce);
	if (wnnGraphBuilderBuildSync(b, 1, &output, WNN_WAIT_FOREVER, &graph) ||
	    wnnCompatCompute(context, graph, 1, &in, 1, &out, WNN_WAIT_FOREVER))
		return 1;
	printf("%g %g\n", sums[0], sums[1]);
	wnnGraphRelease(graph);
	wnnGraphBuilderRelease(b);
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
	return sums[0] == 10 && sums[1] == 26 ? 0 : 1;
}
