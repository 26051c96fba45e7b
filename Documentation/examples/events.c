// SPDX-License-Identifier: MIT
/*
 * Waits in poll() instead of a call of the library: the callbacks run in the program's own event
 * loop.
 */
#include <poll.h>
#include <stdio.h>

#include <webnn/webnn.h>

struct program {
	WNNInstance instance;
	WNNContext context;
	int done;
};

static void on_lost(WNNStatus status, WNNStringView message, void *userdata1, void *userdata2)
{
	struct program *program = userdata1;

	(void)status;
	(void)userdata2;
	printf("lost: %.*s\n", (int)message.length, message.data);
	program->done++;
}

static void on_tensor(WNNStatus status, WNNTensor tensor, WNNStringView message, void *userdata1,
		      void *userdata2)
{
	struct program *program = userdata1;

	(void)userdata2;
	if (status != WNNStatus_Success)
		printf("no tensor: %.*s\n", (int)message.length, message.data);
	else
		program->done++;
	/* The callback owns the reference. */
	wnnTensorRelease(tensor);
	wnnContextDestroy(program->context);
}

static void on_context(WNNStatus status, WNNContext context, WNNStringView message, void *userdata1,
		       void *userdata2)
{
	WNNContextLostCallbackInfo lost = WNN_CONTEXT_LOST_CALLBACK_INFO_INIT;
	WNNCreateTensorCallbackInfo made = WNN_CREATE_TENSOR_CALLBACK_INFO_INIT;
	WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
	struct program *program = userdata1;

	(void)userdata2;
	if (status != WNNStatus_Success) {
		printf("no context: %.*s\n", (int)message.length, message.data);
		return;
	}
	program->context = context;
	lost.callback = on_lost;
	lost.userdata1 = program;
	wnnContextGetLost(context, lost);
	descriptor.dataType = WNNOperandDataType_Float32;
	made.callback = on_tensor;
	made.userdata1 = program;
	wnnContextCreateTensor(context, &descriptor, made);
}

int main(void)
{
	WNNCreateContextCallbackInfo info = WNN_CREATE_CONTEXT_CALLBACK_INFO_INIT;
	struct program program = { wnnCreateInstance(NULL), NULL, 0 };
	struct pollfd fd = { wnnInstanceGetEventFd(program.instance), POLLIN, 0 };

	info.callback = on_context;
	info.userdata1 = &program;
	wnnInstanceCreateContext(program.instance, NULL, info);
	/* The descriptor can wait in any loop, beside sockets and timers. */
	while (program.done < 2 && poll(&fd, 1, 60000) == 1)
		wnnInstanceProcessEvents(program.instance);
	wnnContextRelease(program.context);
	wnnInstanceRelease(program.instance);
	return program.done == 2 ? 0 : 1;
}
