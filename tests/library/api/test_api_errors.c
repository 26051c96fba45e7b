// SPDX-License-Identifier: MIT
/* Tests functions that take no object, NULL arguments, the thread's last error, and fork(). */
#include "fixture.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static bool view_is(WNNStringView view, const char *text)
{
	return view.length == strlen(text) && !memcmp(view.data, text, view.length);
}

static void names_and_sizes(void **state)
{
	WNNVersion version = WNN_VERSION_INIT;
	char text[32];

	(void)state;
	assert_true(view_is(wnnStatusGetName(WNNStatus_TypeError), "TypeError"));
	assert_true(view_is(wnnStatusGetName(WNNStatus_TimedOut), "TimedOut"));
	assert_int_equal(wnnStatusGetName((WNNStatus)77).length, 0);
	assert_true(view_is(wnnOperandDataTypeGetName(WNNOperandDataType_Float16), "float16"));
	assert_int_equal(wnnOperandDataTypeGetName(WNNOperandDataType_Undefined).length, 0);
	assert_int_equal(wnnOperandDataTypeGetSize(WNNOperandDataType_Int64), 8);
	assert_int_equal(wnnOperandDataTypeGetSize((WNNOperandDataType)99), 0);
	wnnGetVersion(&version);
	snprintf(text, sizeof(text), "%u.%u.%u", version.major, version.minor, version.patch);
	assert_true(view_is(version.text, text));
	assert_int_equal(version.specification.length, 7);
}

static void addresses(void **state)
{
	WNNStringView cut = { "wnnCreateInstanceXYZ", strlen("wnnCreateInstance") };

	(void)state;
	assert_true(wnnGetProcAddress(WNN_STR("wnnCreateInstance")) == (WNNProc)wnnCreateInstance);
	assert_true(wnnGetProcAddress(cut) == (WNNProc)wnnCreateInstance);
	assert_true(wnnGetProcAddress(WNN_STR("wnnContextAddRef")) == (WNNProc)wnnContextAddRef);
	assert_true(wnnGetProcAddress(WNN_STR("wnnTensorRelease")) == (WNNProc)wnnTensorRelease);
	assert_true(wnnGetProcAddress(WNN_STR("wnnGraphBuilderConv2d")) ==
		    (WNNProc)wnnGraphBuilderConv2d);
	assert_null(wnnGetProcAddress(WNN_STR("wnnCreateInstanc")));
	assert_null(wnnGetProcAddress(WNN_STR("")));
	assert_null(wnnGetProcAddress((WNNStringView){ NULL, WNN_STRLEN }));
}

static void null_is_a_type_error(void **state)
{
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNOpSupportLimits limits = WNN_OP_SUPPORT_LIMITS_INIT;
	WNNGraphStatistics statistics = WNN_GRAPH_STATISTICS_INIT;
	WNNGraphPlacement placement = WNN_GRAPH_PLACEMENT_INIT;
	WNNDeviceInfo info = WNN_DEVICE_INFO_INIT;
	WNNString text = WNN_STRING_INIT;
	WNNContext context = (void *)&limits;
	WNNFutureWaitInfo wait = WNN_FUTURE_WAIT_INFO_INIT;

	(void)state;
	assert_failed(wnnInstanceCreateContextSync(NULL, NULL, 0, &context), WNNStatus_TypeError,
		      "instance is NULL");
	assert_null(context);
	assert_failed(wnnInstanceCreateContextSync(instance, NULL, 0, NULL), WNNStatus_TypeError,
		      "context is NULL");
	assert_failed(wnnInstanceProcessEvents(NULL), WNNStatus_TypeError, "instance is NULL");
	assert_failed(wnnInstanceWaitAny(NULL, 1, &wait, 0), WNNStatus_TypeError,
		      "instance is NULL");
	assert_int_equal(wnnInstanceGetEventFd(NULL), -1);
	assert_failed(wnnInstanceGetDevices(instance, NULL), WNNStatus_TypeError,
		      "devices is NULL");
	assert_failed(wnnContextGetOpSupportLimits(NULL, &limits), WNNStatus_TypeError,
		      "context is NULL");
	assert_failed(wnnContextGetDeviceInfo(NULL, &info), WNNStatus_TypeError, "context is NULL");
	assert_failed(wnnGraphBuilderGetDeviceInfo(NULL, &info), WNNStatus_TypeError,
		      "builder is NULL");
	assert_failed(wnnContextGetCpuInfo(NULL, NULL), WNNStatus_TypeError, "context is NULL");
	assert_failed(wnnContextWriteTensor(NULL, NULL, NULL, 0), WNNStatus_TypeError,
		      "context is NULL");
	assert_failed(wnnContextDispatch(NULL, NULL, 0, NULL, 0, NULL), WNNStatus_TypeError,
		      "context is NULL");
	assert_failed(wnnContextWaitIdle(NULL, 0), WNNStatus_TypeError, "context is NULL");
	assert_failed(wnnGraphGetPlacement(NULL, &placement), WNNStatus_TypeError, "graph is NULL");
	assert_failed(wnnGraphGetText(NULL, WNNGraphText_Nodes, &text), WNNStatus_TypeError,
		      "graph is NULL");
	assert_failed(wnnGraphGetLastStatistics(NULL, &statistics), WNNStatus_TypeError,
		      "graph is NULL");
	assert_null(wnnContextCreateGraphBuilder(NULL));
	assert_null(wnnGraphBuilderRelu(NULL, NULL, NULL));
	assert_last_error(WNNStatus_TypeError, "builder is NULL");
	assert_int_equal(wnnTensorGetShape(NULL).count, 0);
	assert_int_equal(wnnTensorGetByteLength(NULL), 0);
	assert_int_equal(wnnTensorGetDataType(NULL), WNNOperandDataType_Undefined);
	assert_int_equal(wnnOperandGetShape(NULL).count, 0);
	assert_int_equal(wnnGraphGetInputs(NULL).count, 0);
	assert_int_equal(wnnGraphGetNodeCount(NULL), 0);
	assert_false(wnnContextGetAccelerated(NULL));
	wnnInstanceAddRef(NULL);
	wnnInstanceRelease(NULL);
	wnnContextAddRef(NULL);
	wnnContextRelease(NULL);
	wnnContextDestroy(NULL);
	wnnTensorAddRef(NULL);
	wnnTensorRelease(NULL);
	wnnTensorDestroy(NULL);
	wnnGraphBuilderAddRef(NULL);
	wnnGraphBuilderRelease(NULL);
	wnnOperandAddRef(NULL);
	wnnOperandRelease(NULL);
	wnnGraphAddRef(NULL);
	wnnGraphRelease(NULL);
	wnnGraphDestroy(NULL);
	wnnStringFreeMembers(text);
	wnnDeviceInfoArrayFreeMembers(WNN_DEVICE_INFO_ARRAY_INIT);
	wnnInstanceRelease(instance);
}

static void *other_thread(void *argument)
{
	*(WNNStatus *)argument = wnnGetLastError(NULL);
	return NULL;
}

static void errors_belong_to_the_thread(void **state)
{
	WNNError error = WNN_ERROR_INIT;
	WNNStatus seen = WNNStatus_Force32;
	pthread_t thread;

	(void)state;
	wnnTensorGetByteLength(NULL);
	assert_int_equal(wnnGetLastError(&error), WNNStatus_TypeError);
	assert_true(view_is(error.message, "wnnTensorGetByteLength: tensor is NULL"));
	assert_int_equal(pthread_create(&thread, NULL, other_thread, &seen), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(seen, WNNStatus_Success);
	/* A call that succeeds does not change the last error. */
	wnnStatusGetName(WNNStatus_Success);
	assert_int_equal(wnnGetLastError(NULL), WNNStatus_TypeError);
}

static void bad_instance_descriptors(void **state)
{
	WNNInstanceDescriptor descriptor = WNN_INSTANCE_DESCRIPTOR_INIT;
	WNNInstanceLog log = WNN_INSTANCE_LOG_INIT;
	WNNInstanceAllocator allocator = WNN_INSTANCE_ALLOCATOR_INIT;
	WNNInstancePermission permission = WNN_INSTANCE_PERMISSION_INIT;
	WNNChainedStruct unknown = { NULL, WNNSType_BorrowedConstant };

	(void)state;
	descriptor.nextInChain = &log.chain;
	assert_null(wnnCreateInstance(&descriptor));
	assert_last_error(WNNStatus_TypeError, "WNNInstanceLog");
	descriptor.nextInChain = &allocator.chain;
	assert_null(wnnCreateInstance(&descriptor));
	assert_last_error(WNNStatus_TypeError, "allocate of WNNInstanceAllocator");
	descriptor.nextInChain = &permission.chain;
	assert_null(wnnCreateInstance(&descriptor));
	assert_last_error(WNNStatus_TypeError, "WNNInstancePermission");
	descriptor.nextInChain = &unknown;
	assert_null(wnnCreateInstance(&descriptor));
	assert_last_error(WNNStatus_TypeError, "0x10002");
}

/* Runs in the child of fork(). Returns 0 when every call was refused, else 1. */
static int use_in_child(WNNInstance instance, WNNContext context, WNNTensor tensor)
{
	WNNContext made = NULL;
	int wrong = 0;

	wrong |= wnnCreateInstance(NULL) != NULL;
	wrong |= wnnGetLastError(NULL) != WNNStatus_InvalidStateError;
	wrong |= wnnInstanceCreateContextSync(instance, NULL, 0, &made) !=
		 WNNStatus_InvalidStateError;
	wrong |= wnnInstanceProcessEvents(instance) != WNNStatus_InvalidStateError;
	wrong |= wnnContextWaitIdle(context, WNN_WAIT_FOREVER) != WNNStatus_InvalidStateError;
	wrong |= wnnContextCreateGraphBuilder(context) != NULL;
	wrong |= wnnTensorGetByteLength(tensor) != 0;
	wnnTensorRelease(tensor);
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
	return wrong;
}

static void a_forked_child_is_refused(void **state)
{
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContext context = open_context(instance, "cpu");
	WNNTensor tensor = make_tensor(context, 2, 2);
	int status = -1;
	pid_t child;

	(void)state;
	child = fork();
	assert_true(child >= 0);
	if (!child)
		_exit(use_in_child(instance, context, tensor));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	/* The parent can still use the context. */
	assert_ok(wnnContextWaitIdle(context, GENEROUS));
	wnnTensorRelease(tensor);
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_and_sizes),
		cmocka_unit_test(addresses),
		cmocka_unit_test(null_is_a_type_error),
		cmocka_unit_test(errors_belong_to_the_thread),
		cmocka_unit_test(bad_instance_descriptors),
		cmocka_unit_test(a_forked_child_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
