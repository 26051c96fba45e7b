/* SPDX-License-Identifier: MIT */
/* What an error says, and where it arrives. */
#include <stdio.h>
#include <string.h>

#include <webnn/webnn.h>

int main(void)
{
	const uint32_t shape[] = { 2, 3 };
	WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
	WNNOperatorOptions options = WNN_OPERATOR_OPTIONS_INIT;
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNError error = WNN_ERROR_INIT;
	WNNGraphBuilder builder;
	WNNContext context;
	WNNOperand x, y;
	int found;

	if (wnnInstanceCreateContextSync(instance, NULL, WNN_WAIT_FOREVER, &context))
		return 1;
	builder = wnnContextCreateGraphBuilder(context);
	descriptor.dataType = WNNOperandDataType_Float32;
	descriptor.shape = WNN_UINT32_ARRAY(shape);
	x = wnnGraphBuilderInput(builder, WNN_STR("x"), &descriptor);
	/* Labels make messages readable; control characters in them are shown as escapes. */
	options.label = WNN_STR("attention\n");
	y = wnnGraphBuilderMatmul(builder, x, x, &options);
	if (y || wnnGraphBuilderGetLastError(builder, &error) != WNNStatus_TypeError)
		return 1;
	printf("%s: %.*s\n", wnnStatusGetName(error.status).data, (int)error.message.length,
	       error.message.data);
	found = !strncmp(error.message.data, "matmul \"attention\\u000a\"", 23);
	wnnGraphBuilderRelease(builder);
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
	return found ? 0 : 1;
}
