// SPDX-License-Identifier: MIT
/*
 * Uses the library with a power preference, for guest_power.sh:
 *
 *   driver-prefer default|low-power|high-performance
 *
 * It computes once, prints "done", and keeps its context until standard input ends.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <webnn/webnn.h>

static void check(WNNStatus status)
{
	WNNError error = WNN_ERROR_INIT;

	if (status == WNNStatus_Success)
		return;
	wnnGetLastError(&error);
	fprintf(stderr, "# " WNN_SV_FMT "\n", WNN_SV_ARG(error.message));
	exit(1);
}

/* Returns the preference of this name; an undefined value when there is none. */
static WNNPowerPreference preference_of(const char *name)
{
	if (!strcmp(name, "default"))
		return WNNPowerPreference_Default;
	if (!strcmp(name, "low-power"))
		return WNNPowerPreference_LowPower;
	if (!strcmp(name, "high-performance"))
		return WNNPowerPreference_HighPerformance;
	return WNNPowerPreference_Undefined;
}

static float relu_of(WNNContext context, float value)
{
	WNNOperandDescriptor operand = WNN_OPERAND_DESCRIPTOR_INIT;
	WNNTensorDescriptor tensor = WNN_TENSOR_DESCRIPTOR_INIT;
	WNNGraphBuilder builder = wnnContextCreateGraphBuilder(context);
	WNNNamedTensor in = { WNN_STR("x"), NULL }, out = { WNN_STR("y"), NULL };
	WNNNamedOperand y = { WNN_STR("y"), NULL };
	float result = -1;
	WNNGraph graph;

	operand.dataType = tensor.dataType = WNNOperandDataType_Float32;
	operand.shape = tensor.shape = WNN_UINT32_LIST(1);
	tensor.readable = tensor.writable = WNN_TRUE;
	y.operand = wnnGraphBuilderRelu(
		builder, wnnGraphBuilderInput(builder, WNN_STR("x"), &operand), NULL);
	check(wnnGraphBuilderBuildSync(builder, 1, &y, WNN_WAIT_FOREVER, &graph));
	wnnGraphBuilderRelease(builder);
	check(wnnContextCreateTensorSync(context, &tensor, WNN_WAIT_FOREVER, &in.tensor));
	check(wnnContextCreateTensorSync(context, &tensor, WNN_WAIT_FOREVER, &out.tensor));
	check(wnnContextWriteTensor(context, in.tensor, &value, sizeof(value)));
	check(wnnContextDispatch(context, graph, 1, &in, 1, &out));
	check(wnnContextReadTensorIntoSync(context, out.tensor, &result, sizeof(result),
					   WNN_WAIT_FOREVER));
	wnnTensorRelease(in.tensor);
	wnnTensorRelease(out.tensor);
	wnnGraphRelease(graph);
	return result;
}

int main(int argc, char **argv)
{
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContextOptions options = WNN_CONTEXT_OPTIONS_INIT;
	WNNContext context;
	bool good;

	if (argc == 2)
		options.powerPreference = preference_of(argv[1]);
	if (argc != 2 || options.powerPreference == WNNPowerPreference_Undefined) {
		fprintf(stderr, "usage: driver-prefer default|low-power|high-performance\n");
		return 2;
	}
	check(wnnInstanceCreateContextSync(instance, &options, WNN_WAIT_FOREVER, &context));
	/* Check that an NPU has computed: otherwise the driver is told no preference. */
	good = wnnContextGetAccelerated(context) && relu_of(context, 3) == 3;
	puts(good ? "done" : "# no NPU has computed");
	fflush(stdout);
	while (good && getchar() != EOF)
		;
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
	return good ? 0 : 1;
}
