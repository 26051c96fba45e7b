// SPDX-License-Identifier: MIT
/* Tests contexts: devices, hooks, limits, loss, the order in which objects are released. */
#include "fixture.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool view_is(WNNStringView view, const char *text)
{
	return view.length == strlen(text) && !memcmp(view.data, text, view.length);
}

static bool view_has(WNNStringView view, const char *text)
{
	return memmem(view.data, view.length, text, strlen(text));
}

static WNNStatus try_node(WNNInstance instance, const char *device, const char *node,
			  WNNPlacementPolicy policy, WNNContext *context)
{
	WNNContextDeviceOptions device_options = WNN_CONTEXT_DEVICE_OPTIONS_INIT;
	WNNContextOptions options = WNN_CONTEXT_OPTIONS_INIT;

	device_options.device = device ? WNN_STR(device) : WNN_STRING_VIEW_INIT;
	device_options.nodePath = node ? WNN_STR(node) : WNN_STRING_VIEW_INIT;
	device_options.placementPolicy = policy;
	options.nextInChain = &device_options.chain;
	return wnnInstanceCreateContextSync(instance, &options, GENEROUS, context);
}

static WNNStatus try_device(WNNInstance instance, const char *device, WNNPlacementPolicy policy,
			    WNNContext *context)
{
	return try_node(instance, device, NULL, policy, context);
}

static void devices_by_option(void **state)
{
	static const char *const no_numbers[] = { "npu:",   "npu:01",	 "npu:-1", "npu:1 ",
						  "npu:0x", "npu:10000", "npu1",   "sim:0" };
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNDeviceInfo info = WNN_DEVICE_INFO_INIT;
	WNNContext context = NULL;

	(void)state;
	assert_ok(try_device(instance, "cpu", 0, &context));
	assert_ok(wnnContextGetDeviceInfo(context, &info));
	assert_true(view_is(info.device, "cpu"));
	assert_true(view_has(info.reason, "WNNContextDeviceOptions"));
	assert_int_equal(info.sramBytes, 0);
	assert_false(info.accelerated);
	assert_true(info.usable);
	assert_false(wnnContextGetAccelerated(context));
	wnnContextRelease(context);

	assert_ok(try_device(instance, "sim", WNNPlacementPolicy_NPUOnly, &context));
	assert_ok(wnnContextGetDeviceInfo(context, &info));
	assert_true(view_is(info.device, "sim"));
	assert_true(view_is(info.machine, "onpu-ref2"));
	assert_int_equal(info.sramBytes, 4 << 20);
	assert_int_equal(info.peakMacsPerCycle, 2048);
	assert_true(wnnContextGetAccelerated(context));
	wnnContextRelease(context);

	assert_failed(try_node(instance, "npu", "/dev/accel/none", 0, &context),
		      WNNStatus_NotSupportedError, "/dev/accel/none does not open: No such file");
	assert_null(context);
	assert_failed(try_node(instance, "npu", "/dev/null", 0, &context),
		      WNNStatus_NotSupportedError, "not a node of the driver onpu");
	assert_null(context);
	/* Naming a node asks for the device npu, also when no device is named. */
	assert_failed(
		try_node(instance, NULL, "/dev/null", 0, &context), WNNStatus_NotSupportedError,
		"WNNContextDeviceOptions.nodePath asks for the device npu, but the NPU's node "
		"/dev/null does not open");
	assert_null(context);
	assert_failed(try_node(instance, "cpu", "/dev/accel/accel0", 0, &context),
		      WNNStatus_TypeError,
		      "nodePath is \"/dev/accel/accel0\", the node of an NPU, but "
		      "WNNContextDeviceOptions.device is \"cpu\"");
	assert_null(context);
	assert_failed(try_node(instance, "sim", "/dev/accel/accel0", 0, &context),
		      WNNStatus_TypeError, "WNNContextDeviceOptions.device is \"sim\"");
	assert_null(context);
	assert_failed(try_device(instance, "tpu", 0, &context), WNNStatus_NotSupportedError,
		      "no device \"tpu\"");
	/* The number in npu:NUMBER is that of the NPU's node. */
	assert_failed(
		try_device(instance, "npu:63", 0, &context), WNNStatus_NotSupportedError,
		"WNNContextDeviceOptions asks for the device npu, but the NPU's node "
		"/dev/accel/accel63 does not open: No such file or directory; NPUs that open: ");
	assert_failed(try_node(instance, "npu:1", "/dev/accel/accel1", 0, &context),
		      WNNStatus_TypeError, "only one of them may choose the NPU");
	for (size_t i = 0; i < sizeof(no_numbers) / sizeof(no_numbers[0]); i++)
		assert_failed(try_device(instance, no_numbers[i], 0, &context),
			      WNNStatus_NotSupportedError, "allowed are npu, npu:NUMBER, sim");
	assert_failed(try_device(instance, "cpu", WNNPlacementPolicy_NPUOnly, &context),
		      WNNStatus_NotSupportedError, "NPUOnly");
	assert_failed(try_device(instance, "cpu", (WNNPlacementPolicy)9, &context),
		      WNNStatus_TypeError, "placementPolicy is 9");
	wnnInstanceRelease(instance);
}

static void devices_by_environment(void **state)
{
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNDeviceInfo info = WNN_DEVICE_INFO_INIT;
	WNNContextOptions options = WNN_CONTEXT_OPTIONS_INIT;
	WNNContext context = NULL;

	(void)state;
	setenv("WEBNN_DEVICE", "sim", 1);
	assert_ok(wnnInstanceCreateContextSync(instance, NULL, GENEROUS, &context));
	assert_ok(wnnContextGetDeviceInfo(context, &info));
	assert_true(view_is(info.device, "sim"));
	assert_true(view_has(info.reason, "WEBNN_DEVICE"));
	wnnContextRelease(context);
	/* The option overrides the variable. */
	assert_ok(try_device(instance, "cpu", 0, &context));
	assert_false(wnnContextGetAccelerated(context));
	wnnContextRelease(context);
	setenv("WEBNN_DEVICE", "npu:63", 1);
	assert_failed(wnnInstanceCreateContextSync(instance, NULL, GENEROUS, &context),
		      WNNStatus_NotSupportedError,
		      "the environment variable WEBNN_DEVICE asks for the device npu, but "
		      "the NPU's node /dev/accel/accel63 does not open");
	setenv("WEBNN_DEVICE", "gpu", 1);
	assert_failed(wnnInstanceCreateContextSync(instance, NULL, GENEROUS, &context),
		      WNNStatus_NotSupportedError, "WEBNN_DEVICE");
	/* Without the variable, the device model is never chosen. */
	unsetenv("WEBNN_DEVICE");
	assert_ok(wnnInstanceCreateContextSync(instance, &options, GENEROUS, &context));
	assert_ok(wnnContextGetDeviceInfo(context, &info));
	assert_true(view_is(info.device, "cpu"));
	assert_true(view_has(info.reason, "no NPU opens"));
	wnnContextRelease(context);
	options.accelerated = WNN_FALSE;
	options.powerPreference = WNNPowerPreference_LowPower;
	assert_ok(wnnInstanceCreateContextSync(instance, &options, GENEROUS, &context));
	assert_ok(wnnContextGetDeviceInfo(context, &info));
	assert_true(view_has(info.reason, "no accelerator"));
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
}

static void list_of_devices(void **state)
{
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNDeviceInfoArray devices = WNN_DEVICE_INFO_ARRAY_INIT;

	(void)state;
	assert_ok(wnnInstanceGetDevices(instance, &devices));
	assert_int_equal(devices.count, 3);
	assert_true(view_is(devices.data[0].device, "npu"));
	assert_true(devices.data[0].usable == (devices.data[0].nodePath.length > 0));
	assert_true(devices.data[0].reason.length > 0);
	assert_true(view_is(devices.data[1].device, "sim"));
	assert_true(devices.data[1].usable);
	assert_true(devices.data[1].accelerated);
	assert_true(view_is(devices.data[1].machine, "onpu-ref2"));
	assert_true(view_is(devices.data[2].device, "cpu"));
	assert_true(devices.data[2].usable);
	wnnDeviceInfoArrayFreeMembers(devices);
	wnnInstanceRelease(instance);
}

/* WEBNN_SIM_MACHINE chooses the machine that sim is a model of, also in the list of devices. */
static void machine_by_environment(void **state)
{
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNDeviceInfoArray devices = WNN_DEVICE_INFO_ARRAY_INIT;
	WNNDeviceInfo info = WNN_DEVICE_INFO_INIT;
	WNNContext context = NULL;

	(void)state;
	setenv("WEBNN_SIM_MACHINE", "onpu-ref1", 1);
	assert_ok(try_device(instance, "sim", WNNPlacementPolicy_NPUOnly, &context));
	assert_ok(wnnContextGetDeviceInfo(context, &info));
	assert_true(view_is(info.machine, "onpu-ref1"));
	wnnContextRelease(context);
	setenv("WEBNN_SIM_MACHINE", "onpu-ref2", 1);
	assert_ok(try_device(instance, "sim", WNNPlacementPolicy_NPUOnly, &context));
	assert_ok(wnnContextGetDeviceInfo(context, &info));
	assert_true(view_is(info.machine, "onpu-ref2"));
	wnnContextRelease(context);
	assert_ok(wnnInstanceGetDevices(instance, &devices));
	assert_true(view_is(devices.data[1].machine, "onpu-ref2"));
	wnnDeviceInfoArrayFreeMembers(devices);
	setenv("WEBNN_SIM_MACHINE", "onpu-ref0", 1);
	assert_failed(try_device(instance, "sim", 0, &context), WNNStatus_NotSupportedError,
		      "WEBNN_SIM_MACHINE is \"onpu-ref0\"; allowed are the machines onpu-ref1, "
		      "onpu-ref2, onpu-small");
	assert_ok(wnnInstanceGetDevices(instance, &devices));
	assert_false(devices.data[1].usable);
	assert_true(view_has(devices.data[1].reason, "WEBNN_SIM_MACHINE is \"onpu-ref0\""));
	wnnDeviceInfoArrayFreeMembers(devices);
	unsetenv("WEBNN_SIM_MACHINE");
	wnnInstanceRelease(instance);
}

static void bad_context_options(void **state)
{
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContextDeviceOptions device = WNN_CONTEXT_DEVICE_OPTIONS_INIT;
	WNNContextDeviceOptions second = WNN_CONTEXT_DEVICE_OPTIONS_INIT;
	WNNContextDeviceOptions zero = { { NULL, WNNSType_ContextDeviceOptions }, .threads = 1 };
	WNNContextOptions options = WNN_CONTEXT_OPTIONS_INIT;
	struct notes *notes = notes_create();
	WNNContext context = NULL;

	(void)state;
	options.powerPreference = (WNNPowerPreference)8;
	assert_failed(wnnInstanceCreateContextSync(instance, &options, GENEROUS, &context),
		      WNNStatus_TypeError, "powerPreference is 8");
	options = (WNNContextOptions){ 0 };
	assert_failed(wnnInstanceCreateContextSync(instance, &options, GENEROUS, &context),
		      WNNStatus_TypeError,
		      "WNNContextOptions was not initialised with WNN_CONTEXT_OPTIONS_INIT, as "
		      "its members powerPreference and accelerated are 0");
	options.powerPreference = WNNPowerPreference_Default;
	options.nextInChain = &zero.chain;
	assert_failed(wnnInstanceCreateContextSync(instance, &options, GENEROUS, &context),
		      WNNStatus_TypeError, "initialised with WNN_CONTEXT_DEVICE_OPTIONS_INIT");
	options.nextInChain = &device.chain;
	device.chain.next = &second.chain;
	assert_failed(wnnInstanceCreateContextSync(instance, &options, GENEROUS, &context),
		      WNNStatus_TypeError, "a second struct");
	device.chain.next = NULL;
	device.chain.sType = WNNSType_InstanceLog;
	assert_failed(wnnInstanceCreateContextSync(instance, &options, GENEROUS, &context),
		      WNNStatus_TypeError, "an unknown struct");
	device.chain.sType = WNNSType_ContextDeviceOptions;
	device.simMode = (WNNSimMode)7;
	assert_failed(wnnInstanceCreateContextSync(instance, &options, GENEROUS, &context),
		      WNNStatus_TypeError, "simMode is 7");
	device.simMode = 0;
	device.simSramBytes = UINT64_C(1) << 40;
	assert_failed(wnnInstanceCreateContextSync(instance, &options, GENEROUS, &context),
		      WNNStatus_NotSupportedError, "the device sim cannot have");
	device.simSramBytes = 65537;
	assert_failed(wnnInstanceCreateContextSync(instance, &options, GENEROUS, &context),
		      WNNStatus_NotSupportedError, "65537 bytes of SRAM: give a multiple of 64");
	device.simSramBytes = 65536 + 64;
	device.simMode = WNNSimMode_Full;
	assert_failed(wnnInstanceCreateContextSync(instance, &options, GENEROUS, &context),
		      WNNStatus_NotSupportedError, "65600 bytes of SRAM: give a multiple of 4096");
	device.simMode = 0;
	device.simSramBytes = 0;
	device.threads = UINT32_MAX;
	assert_failed(wnnInstanceCreateContextSync(instance, &options, GENEROUS, &context),
		      WNNStatus_NotSupportedError, "threads is 4294967295, but the CPU may have");
	options.nextInChain = NULL;
	options.errorCallbackInfo = note_error(notes, WNNCallbackMode_WaitAnyOnly, 0);
	assert_failed(wnnInstanceCreateContextSync(instance, &options, GENEROUS, &context),
		      WNNStatus_TypeError, "WaitAnyOnly");
	options.errorCallbackInfo = note_error(notes, (WNNCallbackMode)5, 0);
	assert_failed(wnnInstanceCreateContextSync(instance, &options, GENEROUS, &context),
		      WNNStatus_TypeError, "mode of errorCallbackInfo");
	/* The asynchronous call refuses bad options, too. */
	assert_ok(wait_future(instance, wnnInstanceCreateContext(instance, &options,
								 note_context(notes, 0, 1))));
	assert_int_equal(notes_get(notes, 0).status, WNNStatus_TypeError);
	assert_null(notes_get(notes, 0).object);
	assert_ok(wait_future(instance, wnnInstanceCreateContextFromGPUDevice(
						instance, instance, note_context(notes, 0, 2))));
	assert_int_equal(notes_get(notes, 1).status, WNNStatus_NotSupportedError);
	wnnInstanceRelease(instance);
}

static void a_context_asynchronously(void **state)
{
	WNNInstance instance = wnnCreateInstance(NULL);
	struct notes *notes = notes_create();

	(void)state;
	assert_ok(wait_future(instance,
			      wnnInstanceCreateContext(instance, NULL, note_context(notes, 0, 1))));
	assert_int_equal(notes_get(notes, 0).status, WNNStatus_Success);
	assert_ok(wnnContextWaitIdle(notes_get(notes, 0).object, GENEROUS));
	wnnContextRelease(notes_get(notes, 0).object);
	wnnInstanceRelease(instance);
}

/* --- Hooks --- */

static WNNBool permit(WNNPermissionAction action, void *userdata1, void *userdata2)
{
	(void)userdata2;
	return action != *(WNNPermissionAction *)userdata1;
}

static void permissions(void **state)
{
	WNNInstanceDescriptor descriptor = WNN_INSTANCE_DESCRIPTOR_INIT;
	WNNInstancePermission hook = WNN_INSTANCE_PERMISSION_INIT;
	WNNPermissionAction refused = WNNPermissionAction_CreateContext;
	WNNInstance instance;
	WNNContext context = NULL;

	(void)state;
	descriptor.nextInChain = &hook.chain;
	hook.callback = permit;
	hook.userdata1 = &refused;
	instance = wnnCreateInstance(&descriptor);
	assert_non_null(instance);
	assert_failed(wnnInstanceCreateContextSync(instance, NULL, GENEROUS, &context),
		      WNNStatus_SecurityError, "createContext");
	refused = WNNPermissionAction_CreateGraphBuilder;
	assert_ok(wnnInstanceCreateContextSync(instance, NULL, GENEROUS, &context));
	assert_null(wnnContextCreateGraphBuilder(context));
	assert_last_error(WNNStatus_SecurityError, "graph builder");
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
}

struct log {
	pthread_mutex_t lock;
	int count[5];
	char first[5][256];
};

static void write_log(WNNLogLevel level, WNNStringView message, void *userdata1, void *userdata2)
{
	struct log *log = userdata1;

	(void)userdata2;
	pthread_mutex_lock(&log->lock);
	if (!log->count[level]++)
		snprintf(log->first[level], sizeof(log->first[level]), "%.*s", (int)message.length,
			 message.data);
	pthread_mutex_unlock(&log->lock);
}

static void log_run(WNNLogLevel level, struct log *log)
{
	WNNInstanceDescriptor descriptor = WNN_INSTANCE_DESCRIPTOR_INIT;
	WNNInstanceLog hook = WNN_INSTANCE_LOG_INIT;
	WNNInstance instance;
	WNNContext context;
	WNNGraph graph;

	descriptor.nextInChain = &hook.chain;
	hook.level = level;
	hook.callback = write_log;
	hook.userdata1 = log;
	instance = wnnCreateInstance(&descriptor);
	context = open_context(instance, "sim");
	graph = build_add_relu(context, 4, 4);
	assert_null(wnnGraphBuilderRelu(NULL, NULL, NULL));
	assert_failed(wnnContextWriteTensor(context, NULL, "", 0), WNNStatus_TypeError, "NULL");
	wnnGraphRelease(graph);
	wnnContextDestroy(context);
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
}

static void log_levels(void **state)
{
	static struct log quiet = { .lock = PTHREAD_MUTEX_INITIALIZER };
	static struct log errors = { .lock = PTHREAD_MUTEX_INITIALIZER };
	static struct log all = { .lock = PTHREAD_MUTEX_INITIALIZER };

	(void)state;
	log_run(WNNLogLevel_Undefined, &quiet);
	log_run(WNNLogLevel_Error, &errors);
	log_run(WNNLogLevel_Debug, &all);
	for (int i = 0; i < 5; i++)
		assert_int_equal(quiet.count[i], 0);
	assert_int_equal(errors.count[WNNLogLevel_Error], 1);
	assert_non_null(strstr(errors.first[WNNLogLevel_Error], "writeTensor"));
	assert_int_equal(errors.count[WNNLogLevel_Info], 0);
	assert_int_equal(all.count[WNNLogLevel_Error], 1);
	assert_true(all.count[WNNLogLevel_Info] >= 2);
	assert_non_null(strstr(all.first[WNNLogLevel_Info], "device sim"));
	assert_non_null(strstr(all.first[WNNLogLevel_Warning], "lost"));
}

struct memory {
	pthread_mutex_t lock;
	pthread_cond_t empty;
	size_t blocks, made;
	bool refuse;
};

static void *allocate(size_t size, size_t alignment, void *userdata1, void *userdata2)
{
	struct memory *memory = userdata1;
	void *block = NULL;

	(void)userdata2;
	pthread_mutex_lock(&memory->lock);
	if (!memory->refuse && !posix_memalign(&block, alignment, size)) {
		memory->blocks++;
		memory->made++;
	}
	pthread_mutex_unlock(&memory->lock);
	return block;
}

static void deallocate(void *block, void *userdata1, void *userdata2)
{
	struct memory *memory = userdata1;

	(void)userdata2;
	free(block);
	pthread_mutex_lock(&memory->lock);
	if (!--memory->blocks)
		pthread_cond_broadcast(&memory->empty);
	pthread_mutex_unlock(&memory->lock);
}

static void the_allocator_gives_and_takes(void **state)
{
	static struct memory memory = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0,
					0 };
	WNNInstanceDescriptor descriptor = WNN_INSTANCE_DESCRIPTOR_INIT;
	WNNInstanceAllocator hook = WNN_INSTANCE_ALLOCATOR_INIT;
	WNNTensorDescriptor wanted = WNN_TENSOR_DESCRIPTOR_INIT;
	WNNTensor tensor, refused = NULL;
	WNNInstance instance;
	WNNContext context;

	(void)state;
	descriptor.nextInChain = &hook.chain;
	hook.allocate = allocate;
	hook.deallocate = deallocate;
	hook.userdata1 = &memory;
	instance = wnnCreateInstance(&descriptor);
	context = open_context(instance, "cpu");
	tensor = make_tensor(context, 8, 8);
	assert_true(memory.made > 1);
	memory.refuse = true;
	wanted.dataType = WNNOperandDataType_Float32;
	assert_failed(wnnContextCreateTensorSync(context, &wanted, GENEROUS, &refused),
		      WNNStatus_UnknownError, "out of memory");
	assert_null(wnnContextCreateGraphBuilder(context));
	assert_last_error(WNNStatus_UnknownError, "out of memory");
	wnnTensorRelease(tensor);
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
	/*
	 * A thread of the library frees the last memory, perhaps after the releases have returned.
	 */
	pthread_mutex_lock(&memory.lock);
	while (memory.blocks)
		pthread_cond_wait(&memory.empty, &memory.lock);
	pthread_mutex_unlock(&memory.lock);
}

static void memory_limit(void **state)
{
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContextDeviceOptions options = WNN_CONTEXT_DEVICE_OPTIONS_INIT;
	WNNTensorDescriptor wanted = WNN_TENSOR_DESCRIPTOR_INIT;
	WNNDeviceInfo info = WNN_DEVICE_INFO_INIT;
	WNNOpSupportLimits limits = WNN_OP_SUPPORT_LIMITS_INIT;
	uint32_t shape[] = { 100, 100 };
	const char *devices[] = { "cpu", "sim" };

	(void)state;
	wanted.dataType = WNNOperandDataType_Float32;
	wanted.shape = WNN_UINT32_ARRAY(shape);
	for (int i = 0; i < 2; i++) {
		WNNContext context;
		WNNTensor first = NULL, second = NULL;

		options.device = WNN_STR(devices[i]);
		options.memoryLimit = 60000;
		context = open_context_with(instance, &options);
		assert_ok(wnnContextCreateTensorSync(context, &wanted, GENEROUS, &first));
		assert_ok(wnnContextGetDeviceInfo(context, &info));
		assert_int_equal(info.memoryLimit, 60000);
		assert_int_equal(info.memoryUsed, 40000);
		assert_ok(wnnContextGetOpSupportLimits(context, &limits));
		assert_int_equal(limits.maxTensorByteLength, 60000);
		shape[1] = 151;
		assert_failed(wnnContextCreateTensorSync(context, &wanted, GENEROUS, &second),
			      WNNStatus_TypeError, "maxTensorByteLength is 60000");
		shape[1] = 100;
		assert_failed(wnnContextCreateTensorSync(context, &wanted, GENEROUS, &second),
			      WNNStatus_UnknownError, "memoryLimit");
		assert_null(second);
		/* Destroying a tensor frees memory for another. */
		wnnTensorDestroy(first);
		assert_ok(wnnContextCreateTensorSync(context, &wanted, GENEROUS, &second));
		wnnTensorRelease(first);
		wnnTensorRelease(second);
		wnnContextRelease(context);
	}
	wnnInstanceRelease(instance);
}

/* --- Loss --- */

static void a_lost_context(void **state)
{
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContext context = open_context(instance, "cpu");
	WNNTensor tensor = make_tensor(context, 2, 2);
	WNNGraph graph = build_add_relu(context, 2, 2);
	WNNGraphBuilder builder = wnnContextCreateGraphBuilder(context);
	struct notes *notes = notes_create();
	WNNGraphPlacement placement = WNN_GRAPH_PLACEMENT_INIT;
	WNNTensorDescriptor wanted = WNN_TENSOR_DESCRIPTOR_INIT;
	WNNTensor none = NULL;
	float data[4] = { 0 };
	WNNFuture future;

	(void)state;
	wnnContextGetLost(context, note_lost(notes, WNNCallbackMode_AllowSpontaneous, 1));
	wnnContextDestroy(context);
	wnnContextDestroy(context);
	assert_true(notes_wait(notes, 1));
	assert_int_equal(notes_get(notes, 0).status, WNNStatus_Success);
	assert_non_null(strstr(notes_get(notes, 0).message, "wnnContextDestroy"));
	/* The context is lost already, so that this request is answered at once. */
	future = wnnContextGetLost(context, note_lost(notes, 0, 2));
	assert_ok(wait_future(instance, future));
	assert_int_equal(notes_count(notes), 2);
	/* Calls that need the context fail with InvalidStateError. */
	wanted.dataType = WNNOperandDataType_Float32;
	assert_failed(wnnContextCreateTensorSync(context, &wanted, GENEROUS, &none),
		      WNNStatus_InvalidStateError, "lost");
	assert_failed(wnnContextWriteTensor(context, tensor, data, sizeof(data)),
		      WNNStatus_InvalidStateError, "lost");
	assert_failed(wnnContextReadTensorIntoSync(context, tensor, data, sizeof(data), GENEROUS),
		      WNNStatus_InvalidStateError, "lost");
	assert_failed(dispatch_xy(context, graph, tensor, tensor), WNNStatus_InvalidStateError,
		      "lost");
	assert_failed(wnnContextWaitIdle(context, GENEROUS), WNNStatus_InvalidStateError, "lost");
	assert_null(wnnContextCreateGraphBuilder(context));
	assert_last_error(WNNStatus_InvalidStateError, "lost");
	assert_null(make_input(builder, "x", 1, 1));
	assert_last_error(WNNStatus_InvalidStateError, "lost");
	assert_failed(wnnGraphGetPlacement(graph, &placement), WNNStatus_InvalidStateError,
		      "destroyed");
	assert_int_equal(wnnGraphGetNodeCount(graph), 0);
	/* The size of a tensor and the inputs of a graph can still be read. */
	assert_int_equal(wnnTensorGetByteLength(tensor), 16);
	assert_int_equal(wnnGraphGetInputs(graph).count, 1);
	wnnGraphBuilderRelease(builder);
	wnnGraphRelease(graph);
	wnnTensorRelease(tensor);
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
}

/* With work in flight, every callback comes and says whether its work was done. */
static void loss_with_work_in_flight(void **state)
{
	const char *devices[] = { "cpu", "sim" };

	(void)state;
	for (int i = 0; i < 2; i++) {
		WNNInstance instance = wnnCreateInstance(NULL);
		WNNContext context = open_context(instance, devices[i]);
		WNNTensor x = make_tensor(context, 64, 64), y = make_tensor(context, 64, 64);
		WNNGraph graph = build_add_relu(context, 64, 64);
		struct notes *notes = notes_create();
		bool failed = false;

		for (int n = 0; n < 100; n++) {
			assert_ok(dispatch_xy(context, graph, x, y));
			assert_true(wnnContextReadTensor(
					    context, y,
					    note_read(notes, WNNCallbackMode_AllowSpontaneous, n))
					    .id);
		}
		wnnContextDestroy(context);
		assert_true(notes_wait(notes, 100));
		for (int n = 0; n < 100; n++) {
			struct note note = notes_get(notes, (size_t)n);

			assert_int_equal(note.tag, n);
			if (note.status)
				assert_int_equal(note.status, WNNStatus_InvalidStateError);
			assert_false(failed && !note.status);
			failed |= note.status != WNNStatus_Success;
		}
		wnnGraphRelease(graph);
		wnnTensorRelease(x);
		wnnTensorRelease(y);
		wnnContextRelease(context);
		wnnInstanceRelease(instance);
	}
}

static void release_does_not_cancel(void **state)
{
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContext context = open_context(instance, "cpu");
	WNNTensor x = make_tensor(context, 4, 4), y = make_tensor(context, 4, 4);
	WNNGraph graph = build_add_relu(context, 4, 4);
	struct notes *notes = notes_create();
	float ones[16];

	(void)state;
	for (int i = 0; i < 16; i++)
		ones[i] = 1;
	assert_ok(wnnContextWriteTensor(context, x, ones, sizeof(ones)));
	for (int n = 0; n < 50; n++)
		assert_ok(dispatch_xy(context, graph, x, y));
	wnnContextReadTensor(context, y, note_read(notes, WNNCallbackMode_AllowSpontaneous, 1));
	wnnContextGetLost(context, note_lost(notes, WNNCallbackMode_AllowSpontaneous, 2));
	wnnGraphRelease(graph);
	wnnTensorRelease(x);
	wnnTensorRelease(y);
	wnnContextRelease(context);
	assert_true(notes_wait(notes, 2));
	assert_int_equal(notes_get(notes, 0).tag, 1);
	assert_int_equal(notes_get(notes, 0).status, WNNStatus_Success);
	assert_int_equal(notes_get(notes, 0).size, sizeof(ones));
	assert_true(notes_get(notes, 0).first == 2);
	/* The released context cannot be lost any more. */
	assert_int_equal(notes_get(notes, 1).status, WNNStatus_Cancelled);
	wnnInstanceRelease(instance);
}

static void all_orders_of_release(void **state)
{
	int order[5] = { 0, 1, 2, 3, 4 }, stack[5] = { 0 };
	int i = 0, runs = 0;

	(void)state;
	for (;;) {
		WNNInstance instance = wnnCreateInstance(NULL);
		WNNContext context = open_context(instance, "cpu");
		WNNTensor tensor = make_tensor(context, 2, 2);
		WNNGraphBuilder builder = wnnContextCreateGraphBuilder(context);
		WNNGraph graph = build_add_relu(context, 2, 2);

		for (int k = 0; k < 5; k++)
			switch (order[k]) {
			case 0:
				wnnInstanceRelease(instance);
				break;
			case 1:
				wnnContextRelease(context);
				break;
			case 2:
				assert_int_equal(wnnTensorGetByteLength(tensor), 16);
				wnnTensorRelease(tensor);
				break;
			case 3:
				assert_non_null(make_input(builder, "x", 1, 1));
				wnnGraphBuilderRelease(builder);
				break;
			default:
				assert_int_equal(wnnGraphGetNodeCount(graph), 1);
				wnnGraphRelease(graph);
				break;
			}
		runs++;
		/* Heap's algorithm makes the next permutation. */
		while (i < 5 && stack[i] >= i)
			stack[i++] = 0;
		if (i == 5)
			break;
		int other = i % 2 ? stack[i] : 0, swap = order[i];

		order[i] = order[other];
		order[other] = swap;
		stack[i]++;
		i = 0;
	}
	assert_int_equal(runs, 120);
}

static void error_callback(void **state)
{
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContextOptions options = WNN_CONTEXT_OPTIONS_INIT;
	struct notes *notes = notes_create();
	WNNGraphBuilder builder;
	WNNContext context = NULL;

	(void)state;
	options.errorCallbackInfo = note_error(notes, WNNCallbackMode_AllowProcessEvents, 9);
	assert_ok(wnnInstanceCreateContextSync(instance, &options, GENEROUS, &context));
	builder = wnnContextCreateGraphBuilder(context);
	assert_null(wnnGraphBuilderRelu(builder, NULL, NULL));
	assert_failed(wnnContextDispatch(context, NULL, 0, NULL, 0, NULL), WNNStatus_TypeError,
		      "graph is NULL");
	assert_int_equal(notes_count(notes), 0);
	assert_ok(wnnInstanceProcessEvents(instance));
	assert_int_equal(notes_count(notes), 2);
	assert_int_equal(notes_get(notes, 0).tag, 9);
	assert_int_equal(notes_get(notes, 0).status, WNNStatus_TypeError);
	assert_non_null(strstr(notes_get(notes, 0).message, "relu"));
	assert_non_null(strstr(notes_get(notes, 1).message, "dispatch"));
	wnnGraphBuilderRelease(builder);
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
}

/* Before it returns, a Sync function runs the error callbacks that are due. */
static void error_callback_in_sync_calls(void **state)
{
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContextOptions options = WNN_CONTEXT_OPTIONS_INIT;
	struct notes *notes = notes_create();
	WNNNamedOperand output = { WNN_STR("y"), NULL };
	WNNGraphBuilder builder;
	WNNContext context = NULL;
	WNNGraph graph;

	(void)state;
	options.errorCallbackInfo = note_error(notes, WNNCallbackMode_AllowProcessEvents, 9);
	assert_ok(wnnInstanceCreateContextSync(instance, &options, GENEROUS, &context));
	builder = wnnContextCreateGraphBuilder(context);
	assert_null(wnnGraphBuilderRelu(builder, NULL, NULL));
	/* Sync functions run only error callbacks: this one has to wait. */
	wnnContextOnWorkDone(context, note_done(notes, WNNCallbackMode_AllowProcessEvents, 1));
	assert_failed(wnnGraphBuilderBuildSync(builder, 1, &output, GENEROUS, &graph),
		      WNNStatus_TypeError, "the operand of output");
	assert_int_equal(notes_count(notes), 2);
	assert_int_equal(notes_get(notes, 0).tag, 9);
	assert_true(notes_get(notes, 0).thread == this_thread());
	assert_non_null(strstr(notes_get(notes, 0).message, "relu"));
	assert_non_null(strstr(notes_get(notes, 1).message, "the operand of output"));
	assert_ok(wnnContextWaitIdle(context, GENEROUS));
	assert_int_equal(notes_count(notes), 2);
	wnnGraphBuilderRelease(builder);
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
}

/* While nobody takes the errors, the context keeps the first 256 of them and counts the others. */
static void errors_do_not_pile_up(void **state)
{
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContextOptions options = WNN_CONTEXT_OPTIONS_INIT;
	struct notes *notes = notes_create();
	WNNContext context = NULL;

	(void)state;
	options.errorCallbackInfo = note_error(notes, WNNCallbackMode_AllowProcessEvents, 9);
	assert_ok(wnnInstanceCreateContextSync(instance, &options, GENEROUS, &context));
	for (int round = 0; round < 1000; round++)
		wnnContextDispatch(context, NULL, 0, NULL, 0, NULL);
	assert_ok(wnnContextWaitIdle(context, GENEROUS));
	assert_int_equal(notes_count(notes), 257);
	assert_non_null(strstr(notes_get(notes, 256).message,
			       "744 more errors were not kept, because 256 errors were waiting to "
			       "be taken; the last one: dispatch: the graph is NULL"));
	/* Once errors have been taken, new ones are kept again. */
	wnnContextDispatch(context, NULL, 0, NULL, 0, NULL);
	assert_ok(wnnInstanceProcessEvents(instance));
	assert_int_equal(notes_count(notes), 258);
	assert_null(strstr(notes_get(notes, 257).message, "not kept"));
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
}

static void support_limits(void **state)
{
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContext context = open_context(instance, "cpu");
	WNNOpSupportLimits limits = WNN_OP_SUPPORT_LIMITS_INIT, again = WNN_OP_SUPPORT_LIMITS_INIT;

	(void)state;
	assert_ok(wnnContextGetOpSupportLimits(context, &limits));
	assert_true(limits.input.dataTypes & WNN_DATA_TYPE_BIT(WNNOperandDataType_Float32));
	assert_true(limits.conv2d.input.dataTypes & WNN_DATA_TYPE_BIT(WNNOperandDataType_Float32));
	assert_int_equal(limits.conv2d.input.rankRange.min, 4);
	assert_true(limits.maxTensorByteLength > 1 << 20);
	assert_ok(wnnContextGetOpSupportLimits(context, &again));
	assert_memory_equal(&limits, &again, sizeof(limits));
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(devices_by_option),
		cmocka_unit_test(devices_by_environment),
		cmocka_unit_test(list_of_devices),
		cmocka_unit_test(machine_by_environment),
		cmocka_unit_test(bad_context_options),
		cmocka_unit_test(a_context_asynchronously),
		cmocka_unit_test(permissions),
		cmocka_unit_test(log_levels),
		cmocka_unit_test(the_allocator_gives_and_takes),
		cmocka_unit_test(memory_limit),
		cmocka_unit_test(a_lost_context),
		cmocka_unit_test(loss_with_work_in_flight),
		cmocka_unit_test(release_does_not_cancel),
		cmocka_unit_test(all_orders_of_release),
		cmocka_unit_test(error_callback),
		cmocka_unit_test(error_callback_in_sync_calls),
		cmocka_unit_test(errors_do_not_pile_up),
		cmocka_unit_test(support_limits),
	};

	unsetenv("WEBNN_DEVICE");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
