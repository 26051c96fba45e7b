// SPDX-License-Identifier: MIT
/*
 * Tests running out of memory: creates an instance, a context and a graph, and runs the graph,
 * again and again, with another single allocation failing each time, until a run has no failure.
 * Each failure must be reported, nothing may leak, and calls that still work must give the right
 * result.
 *
 * In one half of the tests, allocations fail in the allocator hook, which sees all memory of the
 * library and of the device model; in the other half, without a hook, in the C library's functions,
 * which the linker redirects to this file (--wrap).
 */
#include "fixture.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codegen/program.h"

#define IMAGE	(3 * 8 * 8)
#define RESULTS 10
#define NEVER	UINT32_MAX

/* --- The C library's functions --- */

static atomic_bool armed; /* calls are counted, and one of them fails */
static _Atomic uint32_t calls;
static _Atomic uint32_t failing = NEVER;
static atomic_bool injected;

static bool refuse(void)
{
	if (!atomic_load(&armed) || atomic_fetch_add(&calls, 1) != failing)
		return false;
	atomic_store(&injected, true);
	return true;
}

#define WRAP(type, name, parameters, ...)                            \
	type __real_##name parameters;                               \
	type __wrap_##name parameters;                               \
	type __wrap_##name parameters                                \
	{                                                            \
		return refuse() ? NULL : __real_##name(__VA_ARGS__); \
	}

WRAP(void *, malloc, (size_t size), size)
WRAP(void *, calloc, (size_t count, size_t size), count, size)
WRAP(void *, realloc, (void *memory, size_t size), memory, size)
WRAP(void *, reallocarray, (void *memory, size_t count, size_t size), memory, count, size)
WRAP(char *, strdup, (const char *text), text)
WRAP(char *, strndup, (const char *text, size_t size), text, size)

int __real_posix_memalign(void **memory, size_t alignment, size_t size);
int __wrap_posix_memalign(void **memory, size_t alignment, size_t size);
int __wrap_posix_memalign(void **memory, size_t alignment, size_t size)
{
	return refuse() ? ENOMEM : __real_posix_memalign(memory, alignment, size);
}

/* --- Operators that do not compile --- */

bool __real_npu_supports(const struct ir_node *node, const struct npu_caps *caps,
			 struct npu_reason *reason);
bool __wrap_npu_supports(const struct ir_node *node, const struct npu_caps *caps,
			 struct npu_reason *reason);

/*
 * Replaces npu_supports(): also returns true for the convolutions that it refuses. The compiler
 * fails on these, so that they run on the CPU.
 */
bool __wrap_npu_supports(const struct ir_node *node, const struct npu_caps *caps,
			 struct npu_reason *reason)
{
	return __real_npu_supports(node, caps, reason) || node->op == IR_OP_CONV;
}

/* --- The hook --- */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t empty;
	size_t blocks;
	uint32_t calls, failing;
	bool injected;
} hook = { .lock = PTHREAD_MUTEX_INITIALIZER, .empty = PTHREAD_COND_INITIALIZER };

static void *hook_allocate(size_t size, size_t alignment, void *userdata1, void *userdata2)
{
	void *block = NULL;

	(void)userdata1;
	(void)userdata2;
	pthread_mutex_lock(&hook.lock);
	if (hook.calls++ == hook.failing) {
		hook.injected = true;
	} else if (!__real_posix_memalign(
			   &block, alignment < sizeof(void *) ? sizeof(void *) : alignment, size)) {
		hook.blocks++;
	}
	pthread_mutex_unlock(&hook.lock);
	return block;
}

static void hook_deallocate(void *block, void *userdata1, void *userdata2)
{
	(void)userdata1;
	(void)userdata2;
	free(block);
	pthread_mutex_lock(&hook.lock);
	if (!--hook.blocks)
		pthread_cond_broadcast(&hook.empty);
	pthread_mutex_unlock(&hook.lock);
}

/* Waits until all memory is free: threads of the library free the last objects after Release. */
static void wait_until_empty(void)
{
	pthread_mutex_lock(&hook.lock);
	while (hook.blocks)
		pthread_cond_wait(&hook.empty, &hook.lock);
	pthread_mutex_unlock(&hook.lock);
}

/* --- The scenario --- */

struct run {
	const char *device;
	bool with_hook;
	WNNInstance instance;
	WNNContext context;
	WNNGraphBuilder builder;
	WNNGraph graph;
	WNNTensor x, y, z;
	float result[RESULTS];
};

/* Returns whether a status is a failure; one that lack of memory cannot cause fails the test. */
static bool is_failure(WNNStatus status)
{
	assert_true(status == WNNStatus_Success || status == WNNStatus_UnknownError ||
		    status == WNNStatus_OperationError || status == WNNStatus_NotSupportedError);
	return status != WNNStatus_Success;
}

static bool no_object(const void *object)
{
	if (object)
		return false;
	assert_true(is_failure(wnnGetLastError(NULL)));
	return true;
}

static bool open_instance(struct run *run)
{
	WNNInstanceDescriptor descriptor = WNN_INSTANCE_DESCRIPTOR_INIT;
	WNNInstanceAllocator allocator = WNN_INSTANCE_ALLOCATOR_INIT;

	allocator.allocate = hook_allocate;
	allocator.deallocate = hook_deallocate;
	if (run->with_hook)
		descriptor.nextInChain = &allocator.chain;
	run->instance = wnnCreateInstance(&descriptor);
	return !no_object(run->instance);
}

static bool open_device(struct run *run)
{
	WNNContextDeviceOptions device = WNN_CONTEXT_DEVICE_OPTIONS_INIT;
	WNNContextOptions options = WNN_CONTEXT_OPTIONS_INIT;

	device.device = WNN_STR(run->device);
	device.threads = device.simThreads = 1;
	device.simSramBytes = 65536;
	device.profile = true;
	options.nextInChain = &device.chain;
	if (is_failure(
		    wnnInstanceCreateContextSync(run->instance, &options, GENEROUS, &run->context)))
		return false;
	run->builder = wnnContextCreateGraphBuilder(run->context);
	return !no_object(run->builder);
}

static WNNOperand input_of(struct run *run)
{
	WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
	uint32_t shape[] = { 1, 3, 8, 8 };

	descriptor.dataType = WNNOperandDataType_Float32;
	descriptor.shape = WNN_UINT32_ARRAY(shape);
	return wnnGraphBuilderInput(run->builder, WNN_STR("x"), &descriptor);
}

static WNNOperand weights_of(struct run *run, uint32_t rank, const uint32_t *shape)
{
	static const float data[4 * 3 * 3 * 3 + 64 * RESULTS] = { 1, -1, 0.5f, 2, -0.25f, 1, 3, -2 };
	WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
	size_t size = sizeof(float);

	descriptor.dataType = WNNOperandDataType_Float32;
	descriptor.shape = (WNNUint32Array){ rank, shape };
	for (uint32_t i = 0; i < rank; i++)
		size *= shape[i];
	assert_true(size <= sizeof(data));
	return wnnGraphBuilderConstant(run->builder, &descriptor, data, size);
}

#define TAKE(variable, call)             \
	do {                             \
		(variable) = (call);     \
		if (no_object(variable)) \
			return NULL;     \
	} while (0)

/*
 * Records convolution, pooling, and a few elementwise operators; returns the last result, or NULL
 * when memory fails.
 */
static WNNOperand record_image(struct run *run, WNNOperand x)
{
	WNNConv2dOptions conv = WNN_CONV2D_OPTIONS_INIT;
	WNNPool2dOptions pool = WNN_POOL2D_OPTIONS_INIT;
	WNNOperatorOptions label = WNN_OPERATOR_OPTIONS_INIT;
	const uint32_t filter[] = { 4, 3, 3, 3 }, bias[] = { 4 }, two[] = { 2, 2 };
	const uint32_t one[] = { 1, 1, 1, 1 };
	WNNGraphBuilder b = run->builder;
	WNNOperand w, parts[2];

	TAKE(w, weights_of(run, 4, filter));
	TAKE(conv.bias, weights_of(run, 1, bias));
	conv.padding = WNN_UINT32_ARRAY(one);
	conv.label = WNN_STR("stem");
	TAKE(x, wnnGraphBuilderConv2d(b, x, w, &conv));
	TAKE(x, wnnGraphBuilderRelu(b, x, NULL));
	pool.windowDimensions = pool.strides = WNN_UINT32_ARRAY(two);
	TAKE(x, wnnGraphBuilderMaxPool2d(b, x, &pool));
	label.label = WNN_STR("smooth");
	TAKE(w, wnnGraphBuilderSigmoid(b, x, &label));
	TAKE(x, wnnGraphBuilderMul(b, x, w, NULL));
	if (is_failure(wnnGraphBuilderSplitEqual(
		    b, x, 2, &(WNNSplitOptions){ .label = WNN_STRING_VIEW_INIT, .axis = 1 }, 2,
		    parts)))
		return NULL;
	TAKE(x, wnnGraphBuilderConcat(b, 2, parts, 1, NULL));
	return x;
}

/* Records a product, a folded constant, gather and softmax; returns NULL when memory fails. */
static WNNOperand record_head(struct run *run, WNNOperand x)
{
	const uint32_t flat[] = { 1, 64 }, weights[] = { 64, RESULTS };
	WNNGraphBuilder b = run->builder;
	WNNGatherOptions gather = WNN_GATHER_OPTIONS_INIT;
	WNNOperand w, c, index;

	TAKE(x, wnnGraphBuilderReshape(b, x, WNN_UINT32_ARRAY(flat), NULL));
	TAKE(w, weights_of(run, 2, weights));
	TAKE(x, wnnGraphBuilderMatmul(b, x, w, NULL));
	TAKE(c, wnnGraphBuilderConstantFromNumber(b, WNNOperandDataType_Float32,
						  WNN_NUMBER_DOUBLE(0.5)));
	TAKE(c, wnnGraphBuilderExp(b, c, NULL));
	TAKE(x, wnnGraphBuilderDiv(b, x, c, NULL));
	TAKE(index,
	     wnnGraphBuilderConstantFromNumber(b, WNNOperandDataType_Int32, WNN_NUMBER_INT64(0)));
	TAKE(x, wnnGraphBuilderGather(b, x, index, &gather));
	TAKE(x, wnnGraphBuilderSoftmax(b, x, 0, NULL));
	return x;
}

/*
 * Records a sum, and a transposed convolution of it whose strides are too wide for any tile of the
 * NPU. Returns the last result, or NULL when memory fails.
 */
static WNNOperand record_sum(struct run *run, WNNOperand x)
{
	WNNConvTranspose2dOptions options = WNN_CONV_TRANSPOSE2D_OPTIONS_INIT;
	WNNReduceOptions reduce = WNN_REDUCE_OPTIONS_INIT;
	const uint32_t one[] = { 1, 1, 1, 1 }, strides[] = { 200, 200 };
	WNNGraphBuilder b = run->builder;
	WNNOperand w;

	reduce.keepDimensions = WNN_TRUE;
	TAKE(x, wnnGraphBuilderReduceSum(b, x, &reduce));
	options.strides = WNN_UINT32_ARRAY(strides);
	options.label = WNN_STR("wide");
	TAKE(w, weights_of(run, 4, one));
	TAKE(x, wnnGraphBuilderConvTranspose2d(b, x, w, &options));
	TAKE(x, wnnGraphBuilderReshape(b, x, WNN_UINT32_EMPTY, NULL));
	return x;
}

/*
 * Checks for the device sim that only the operator "wide" is on the CPU, also when memory failed.
 */
static void check_placement(const struct run *run)
{
	WNNGraphPlacement placement = WNN_GRAPH_PLACEMENT_INIT;

	assert_ok(wnnGraphGetPlacement(run->graph, &placement));
	for (size_t i = 0; !strcmp(run->device, "sim") && i < placement.nodeCount; i++) {
		const WNNNodePlacement *node = &placement.nodes[i];
		bool wide = !strcmp(node->label.data, "wide");

		assert_int_equal(node->device == WNNNodeDevice_CPU, wide);
		assert_int_equal(node->reason == WNNPlacementReason_CompilerLimit, wide);
	}
}

static bool build(struct run *run)
{
	WNNNamedOperand outputs[2] = { { WNN_STR("y"), NULL }, { WNN_STR("z"), NULL } };
	WNNOperand x = input_of(run);

	if (no_object(x))
		return false;
	x = record_image(run, x);
	if (!x)
		return false;
	outputs[1].operand = record_sum(run, x);
	if (!outputs[1].operand)
		return false;
	outputs[0].operand = record_head(run, x);
	if (!outputs[0].operand)
		return false;
	if (is_failure(wnnGraphBuilderBuildSync(run->builder, 2, outputs, GENEROUS, &run->graph)))
		return false;
	check_placement(run);
	return true;
}

/* Saves the graph and replaces it by the one that it loads; returns false when memory fails. */
static bool save_and_load(struct run *run)
{
	char path[] = "/tmp/test-api-memory-XXXXXX";
	int fd = mkstemp(path);
	WNNGraph loaded = NULL;
	bool through;

	assert_true(fd >= 0);
	close(fd);
	through = !is_failure(wnnGraphSave(run->graph, WNN_STR(path))) &&
		  !is_failure(
			  wnnContextLoadGraphSync(run->context, WNN_STR(path), GENEROUS, &loaded));
	unlink(path);
	wnnGraphRelease(run->graph);
	run->graph = loaded;
	if (through)
		check_placement(run);
	return through;
}

/*
 * Tensor z moves between these two; static, because work that nobody waits for may still write to
 * them.
 */
static float lent[2];

static WNNTensorHostMemory lent_memory(int which)
{
	WNNTensorHostMemory memory = WNN_TENSOR_HOST_MEMORY_INIT;

	memory.data = &lent[which];
	memory.size = sizeof(lent[which]);
	return memory;
}

static bool make_tensors(struct run *run)
{
	WNNTensorHostMemory memory = lent_memory(0);
	WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
	const uint32_t image[] = { 1, 3, 8, 8 }, results[] = { RESULTS };

	descriptor.dataType = WNNOperandDataType_Float32;
	descriptor.readable = descriptor.writable = WNN_TRUE;
	descriptor.shape = WNN_UINT32_ARRAY(image);
	if (is_failure(wnnContextCreateTensorSync(run->context, &descriptor, GENEROUS, &run->x)))
		return false;
	descriptor.shape = WNN_UINT32_ARRAY(results);
	if (is_failure(wnnContextCreateTensorSync(run->context, &descriptor, GENEROUS, &run->y)))
		return false;
	descriptor.shape = WNN_UINT32_EMPTY;
	descriptor.nextInChain = &memory.chain;
	return !is_failure(
		wnnContextCreateTensorSync(run->context, &descriptor, GENEROUS, &run->z));
}

static void on_read(WNNStatus status, void const *data, size_t size, WNNStringView message,
		    void *userdata1, void *userdata2)
{
	struct run *run = userdata1;

	(void)message;
	*(WNNStatus *)userdata2 = status;
	if (status == WNNStatus_Success) {
		assert_int_equal(size, sizeof(run->result));
		memcpy(run->result, data, size);
	}
}

static bool read_result(struct run *run)
{
	WNNStatus status = WNNStatus_TimedOut;
	WNNReadTensorCallbackInfo info = { NULL, WNNCallbackMode_WaitAnyOnly, on_read, run,
					   &status };
	WNNFuture future = wnnContextReadTensor(run->context, run->y, info);

	if (!future.id) {
		assert_true(is_failure(wnnGetLastError(NULL)));
		return false;
	}
	assert_int_equal(wait_future(run->instance, future), WNNStatus_Success);
	return !is_failure(status);
}

static bool look(struct run *run)
{
	WNNGraphStatistics statistics = WNN_GRAPH_STATISTICS_INIT;
	WNNGraphProfile profile = WNN_GRAPH_PROFILE_INIT;

	/* As in a run with enough memory, the programs keep values in SRAM. */
	assert_ok(wnnGraphGetLastStatistics(run->graph, &statistics));
	assert_int_equal(statistics.spilledPrograms, 0);
	if (is_failure(wnnGraphGetProfile(run->graph, &profile)))
		return false;
	assert_true(profile.nodeCount > 0);
	wnnGraphProfileFreeMembers(profile);
	return true;
}

static bool compute(struct run *run)
{
	float image[IMAGE];
	WNNNamedTensor in = { WNN_STR("x"), run->x };
	WNNNamedTensor out[] = { { WNN_STR("y"), run->y }, { WNN_STR("z"), run->z } };

	for (int i = 0; i < IMAGE; i++)
		image[i] = (float)(i % 7 - 3);
	for (int i = 0; i < 2; i++) {
		WNNTensorHostMemory memory = lent_memory(1 - i);

		if (is_failure(wnnTensorSetHostMemory(run->z, &memory)) ||
		    is_failure(wnnContextWriteTensor(run->context, run->x, image, sizeof(image))) ||
		    is_failure(wnnContextDispatch(run->context, run->graph, 1, &in, 2, out)))
			return false;
	}
	return !is_failure(wnnContextWaitIdle(run->context, GENEROUS)) && look(run) &&
	       read_result(run);
}

static bool play(struct run *run)
{
	bool through = open_instance(run) && open_device(run) && build(run) && save_and_load(run) &&
		       make_tensors(run) && compute(run);

	wnnTensorRelease(run->x);
	wnnTensorRelease(run->y);
	wnnTensorRelease(run->z);
	wnnGraphRelease(run->graph);
	wnnGraphBuilderRelease(run->builder);
	wnnContextRelease(run->context);
	wnnInstanceRelease(run->instance);
	return through;
}

/* --- The tests --- */

static void check_result(const struct run *run, const struct run *clean)
{
	float sum = 0;

	assert_memory_equal(run->result, clean->result, sizeof(run->result));
	for (int i = 0; i < RESULTS; i++)
		sum += run->result[i];
	assert_float_equal(sum, 1, 1e-5);
}

static void fail_each_of_the_hook(const char *device)
{
	struct run clean = { .device = device, .with_hook = true };
	uint32_t n, survived = 0;

	hook.failing = NEVER;
	hook.calls = 0;
	/* With a hook, the library does not call the C library's allocation functions itself. */
	atomic_store(&calls, 0);
	atomic_store(&armed, true);
	assert_true(play(&clean));
	wait_until_empty();
	atomic_store(&armed, false);
	assert_int_equal(atomic_load(&calls), 0);
	for (n = 0;; n++) {
		struct run run = { .device = device, .with_hook = true };
		bool through;

		hook.calls = 0;
		hook.failing = n;
		hook.injected = false;
		through = play(&run);
		wait_until_empty();
		if (through)
			check_result(&run, &clean);
		survived += through;
		if (!hook.injected)
			break;
	}
	print_message("%s: %u allocations, %u of them not needed\n", device, n, survived - 1);
	assert_true(n > 300);
}

static void hook_on_cpu(void **state)
{
	(void)state;
	fail_each_of_the_hook("cpu");
}

static void hook_on_sim(void **state)
{
	(void)state;
	fail_each_of_the_hook("sim");
}

static void fail_each_of_the_c_library(const char *device)
{
	struct run clean = { .device = device };
	uint32_t n;

	assert_true(play(&clean));
	for (n = 0;; n++) {
		struct run run = { .device = device };
		bool through;

		failing = n;
		atomic_store(&calls, 0);
		atomic_store(&injected, false);
		atomic_store(&armed, true);
		through = play(&run);
		atomic_store(&armed, false);
		if (through)
			check_result(&run, &clean);
		if (!atomic_load(&injected))
			break;
	}
	failing = NEVER;
	print_message("%s: %u allocations\n", device, n);
	assert_true(n > 300);
}

static void c_library_on_cpu(void **state)
{
	(void)state;
	fail_each_of_the_c_library("cpu");
}

static void c_library_on_sim(void **state)
{
	(void)state;
	fail_each_of_the_c_library("sim");
}

/* On an idle timeline, data is written to the tensor at once, without a copy in between. */
static void writes_to_idle_contexts(void **state)
{
	enum { COUNT = 1 << 18 };
	const uint32_t shape[] = { COUNT };
	static float data[COUNT], back[COUNT];
	struct run run = { .device = "cpu", .with_hook = true };
	WNNTensorDescriptor desc = WNN_TENSOR_DESCRIPTOR_INIT;
	uint32_t before = 0, after = 1;

	(void)state;
	hook.failing = NEVER;
	assert_true(open_instance(&run) && open_device(&run));
	desc.dataType = WNNOperandDataType_Float32;
	desc.shape = WNN_UINT32_ARRAY(shape);
	desc.readable = desc.writable = WNN_TRUE;
	assert_false(is_failure(wnnContextCreateTensorSync(run.context, &desc, GENEROUS, &run.x)));
	for (int i = 0; i < 10000 && before != after; i++) {
		data[i] = data[COUNT - 1 - i] = 1 + (float)i;
		before = hook.calls;
		assert_false(
			is_failure(wnnContextWriteTensor(run.context, run.x, data, sizeof(data))));
		after = hook.calls;
		usleep(1000);
	}
	assert_int_equal(before, after);
	assert_false(is_failure(
		wnnContextReadTensorIntoSync(run.context, run.x, back, sizeof(back), GENEROUS)));
	assert_memory_equal(data, back, sizeof(data));
	wnnTensorRelease(run.x);
	wnnGraphBuilderRelease(run.builder);
	wnnContextRelease(run.context);
	wnnInstanceRelease(run.instance);
	wait_until_empty();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hook_on_cpu),
		cmocka_unit_test(hook_on_sim),
		cmocka_unit_test(c_library_on_cpu),
		cmocka_unit_test(c_library_on_sim),
		cmocka_unit_test(writes_to_idle_contexts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
