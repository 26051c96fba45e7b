// SPDX-License-Identifier: MIT
/* Shows what the message of an error has, and where errors arrive. */
#include <stdio.h>
#include <string.h>

#include <webnn/webnn.h>

/* Gets every error of the context, whether the program asks for that error or not. */
static void on_error(WNNStatus status, WNNStringView message, void *userdata1, void *userdata2)
{
	WNNStringView name = wnnStatusGetName(status);

	(void)userdata2;
	/* Strings of the library have a length; they need not end with a NUL. */
	fprintf(stderr, "%.*s: %.*s\n", (int)name.length, name.data, (int)message.length,
		message.data);
	++*(int *)userdata1;
}

static int message_begins(const char *text)
{
	WNNError error = WNN_ERROR_INIT;

	/* The message of this thread's last failed call is valid until the next one fails. */
	wnnGetLastError(&error);
	return error.message.length >= strlen(text) &&
	       !memcmp(error.message.data, text, strlen(text));
}

/*
 * Makes the first of several calls fail and returns whether the message of the last call names the
 * first error.
 */
static int bad_graph(WNNContext context)
{
	WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
	WNNOperatorOptions options = WNN_OPERATOR_OPTIONS_INIT;
	WNNGraphBuilder b = wnnContextCreateGraphBuilder(context);
	WNNNamedOperand output = { WNN_STR("y"), NULL };
	WNNGraph graph;
	WNNOperand x;
	int ok;

	descriptor.dataType = WNNOperandDataType_Float32;
	descriptor.shape = WNN_UINT32_LIST(2, 3);
	x = wnnGraphBuilderInput(b, WNN_STR("x"), &descriptor);
	/* Labels make messages readable; control characters in them are shown as escapes. */
	options.label = WNN_STR("attention\n");
	output.operand = wnnGraphBuilderRelu(b, wnnGraphBuilderMatmul(b, x, x, &options), NULL);
	ok = wnnGraphBuilderBuildSync(b, 1, &output, WNN_WAIT_FOREVER, &graph) ==
		     WNNStatus_TypeError &&
	     message_begins("the operand of output \"y\" is NULL, perhaps because of an earlier "
			    "error: matmul \"attention\\u000a\": a of shape [2,3]");
	/* The call that failed has recorded nothing: the builder can still build. */
	output.operand = wnnGraphBuilderRelu(b, x, NULL);
	ok &= !wnnGraphBuilderBuildSync(b, 1, &output, WNN_WAIT_FOREVER, &graph);
	/* A dispatch needs a tensor for everything; one that goes wrong later tells OnWorkDone. */
	ok &= wnnContextDispatch(context, graph, 0, NULL, 0, NULL) == WNNStatus_TypeError &&
	      message_begins("dispatch: no tensor is given for input \"x\"");
	wnnGraphRelease(graph);
	wnnGraphBuilderRelease(b);
	return ok;
}

int main(void)
{
	WNNContextOptions options = WNN_CONTEXT_OPTIONS_INIT;
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContext context;
	int ok, errors = 0;

	options.errorCallbackInfo.callback = on_error;
	options.errorCallbackInfo.userdata1 = &errors;
	if (wnnInstanceCreateContextSync(instance, &options, WNN_WAIT_FOREVER, &context))
		return 1;
	ok = bad_graph(context);
	/* Callbacks run when the program asks for them, unless their mode says otherwise. */
	wnnInstanceProcessEvents(instance);
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
	/* matmul, relu, build, dispatch */
	return ok && errors == 4 ? 0 : 1;
}
