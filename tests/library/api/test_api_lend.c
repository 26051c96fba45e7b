// SPDX-License-Identifier: MIT
/*
 * Tests tensors in memory of the application. When the device can use the memory, nothing is
 * copied; otherwise each tensor is copied once, and results still end up in the application's
 * memory. The test counts the bytes that are copied.
 */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>

#define N     12
#define COUNT (N * N)
#define BYTES (COUNT * sizeof(float))

static const char *const devices[] = { "cpu", "sim" };

/*
 * Returns whether the device can use the application's memory: sim cannot when it runs firmware
 * (ONPU_FIRMWARE) or when copies.c replaces its buffers (ONPU_COPIES).
 */
static bool takes_memory(const char *device)
{
	return !strcmp(device, "cpu") || !(getenv("ONPU_FIRMWARE") || getenv("ONPU_COPIES"));
}

static WNNStatus lend_part(WNNContext context, void *data, size_t size, WNNTensor *tensor)
{
	static const uint32_t shape[] = { N, N };
	WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
	WNNTensorHostMemory memory = WNN_TENSOR_HOST_MEMORY_INIT;

	memory.data = data;
	memory.size = size;
	descriptor.nextInChain = &memory.chain;
	descriptor.dataType = WNNOperandDataType_Float32;
	descriptor.shape = WNN_UINT32_ARRAY(shape);
	descriptor.readable = descriptor.writable = true;
	return wnnContextCreateTensorSync(context, &descriptor, GENEROUS, tensor);
}

static WNNTensor lend(WNNContext context, float *data)
{
	WNNTensor tensor = NULL;

	assert_ok(lend_part(context, data, BYTES, &tensor));
	assert_non_null(tensor);
	return tensor;
}

static WNNStatus move(WNNTensor tensor, void *data, size_t size)
{
	WNNTensorHostMemory memory = WNN_TENSOR_HOST_MEMORY_INIT;

	memory.data = data;
	memory.size = size;
	return wnnTensorSetHostMemory(tensor, &memory);
}

static void fill(float *x, int first)
{
	for (int i = 0; i < COUNT; i++)
		x[i] = (float)(i - first);
}

/* Checks y = relu(x + 1), where x was written by fill(). */
static void check(const float *y, int first)
{
	for (int i = 0; i < COUNT; i++)
		assert_float_equal(y[i], i - first < -1 ? 0 : i - first + 1, 0);
}

static void measure(WNNContext context, WNNGraph graph, WNNTensor x, WNNTensor y,
		    WNNDispatchCopies *copies)
{
	WNNDispatchStatistics statistics = WNN_DISPATCH_STATISTICS_INIT;
	WNNNamedTensor in = { WNN_STR("x"), x }, out = { WNN_STR("y"), y };

	statistics.nextInChain = &copies->chain;
	assert_ok(wnnContextDispatchMeasuredSync(context, graph, 1, &in, 1, &out, GENEROUS,
						 &statistics));
	assert_ptr_equal(statistics.nextInChain, &copies->chain);
	assert_int_equal(copies->chain.sType, WNNSType_DispatchCopies);
	assert_int_equal(statistics.npuNodes + statistics.cpuNodes, 2);
}

/* Tests dispatches on lent memory, where the output does not begin at a cache line. */
static void graphs_work_in_place(void **state)
{
	WNNInstance instance = wnnCreateInstance(NULL);

	(void)state;
	for (int d = 0; d < 2; d++) {
		WNNContext context = open_context(instance, devices[d]);
		WNNGraph graph = build_add_relu(context, N, N);
		bool in_place = takes_memory(devices[d]);
		float *memory = calloc(2, BYTES + 64), *first = memory,
		      *second = memory + COUNT + 1;
		WNNTensor x, y, own = make_tensor(context, N, N);
		WNNDispatchCopies copies = WNN_DISPATCH_COPIES_INIT;

		fill(first, 70);
		memset(second, 0x55, BYTES);
		x = lend(context, first);
		y = lend(context, second);
		measure(context, graph, x, y, &copies);
		check(second, 70);
		assert_int_equal(copies.bytesIn, in_place ? 0 : BYTES);
		assert_int_equal(copies.bytesOut, in_place ? 0 : BYTES);
		/* The next dispatch sees what the application writes to its memory. */
		fill(first, 30);
		measure(context, graph, x, y, &copies);
		check(second, 30);
		/* A tensor in the library's own memory needs no copy. */
		measure(context, graph, x, own, &copies);
		assert_int_equal(copies.bytesIn, in_place ? 0 : BYTES);
		assert_int_equal(copies.bytesOut, 0);
		/* The result of one dispatch is the input of the next. */
		measure(context, graph, y, own, &copies);
		assert_ok(wnnContextReadTensorIntoSync(context, own, first, BYTES, GENEROUS));
		assert_float_equal(first[COUNT - 1], COUNT - 1 - 30 + 2, 0);
		wnnTensorRelease(x);
		wnnTensorRelease(y);
		wnnTensorRelease(own);
		wnnGraphRelease(graph);
		wnnContextRelease(context);
		/* The memory still belongs to the application, with its contents. */
		check(second, 30);
		free(memory);
	}
	wnnInstanceRelease(instance);
}

/* Tests that writing, reading and mapping a tensor use the memory that was lent. */
static void calls_use_the_memory(void **state)
{
	WNNInstance instance = wnnCreateInstance(NULL);

	(void)state;
	for (int d = 0; d < 2; d++) {
		WNNContext context = open_context(instance, devices[d]);
		float memory[COUNT], other[COUNT];
		WNNTensor x = lend(context, memory);
		void *mapped = NULL;

		fill(other, 5);
		assert_ok(wnnContextWriteTensor(context, x, other, BYTES));
		assert_ok(wnnContextWaitIdle(context, GENEROUS));
		assert_memory_equal(memory, other, BYTES);
		fill(memory, 9);
		assert_ok(wnnContextReadTensorIntoSync(context, x, other, BYTES, GENEROUS));
		assert_memory_equal(memory, other, BYTES);
		/* The source of a write may be the lent memory itself. */
		assert_ok(wnnContextWriteTensor(context, x, memory, BYTES));
		assert_ok(wnnContextMapTensorSync(context, x, WNNMapMode_ReadWrite, GENEROUS,
						  &mapped));
		assert_ptr_equal(mapped, memory);
		assert_failed(move(x, other, BYTES), WNNStatus_InvalidStateError,
			      "is mapped; wnnTensorUnmap ends that");
		assert_ok(wnnTensorUnmap(x));
		assert_memory_equal(memory, other, BYTES);
		wnnTensorRelease(x);
		wnnContextRelease(context);
	}
	wnnInstanceRelease(instance);
}

/* Work that is enqueued before a move uses the old memory; later work uses the new memory. */
static void tensors_move(void **state)
{
	WNNInstance instance = wnnCreateInstance(NULL);

	(void)state;
	for (int d = 0; d < 2; d++) {
		WNNContext context = open_context(instance, devices[d]);
		WNNGraph graph = build_add_relu(context, N, N);
		static float in[8][COUNT], out[8][COUNT];
		WNNTensor x = lend(context, in[0]), y = lend(context, out[0]);

		for (int i = 0; i < 8; i++) {
			fill(in[i], i * 9);
			memset(out[i], 0x55, BYTES);
			assert_ok(move(x, in[i], BYTES));
			assert_ok(move(y, out[i], BYTES));
			assert_ok(dispatch_xy(context, graph, x, y));
		}
		assert_ok(wnnContextWaitIdle(context, GENEROUS));
		for (int i = 0; i < 8; i++)
			check(out[i], i * 9);
		wnnTensorRelease(x);
		wnnTensorRelease(y);
		wnnGraphRelease(graph);
		wnnContextRelease(context);
	}
	wnnInstanceRelease(instance);
}

/* A tensor that takes all memory of its context moves: old and new memory count once. */
static void a_full_context_moves_tensors(void **state)
{
	WNNContextDeviceOptions options = WNN_CONTEXT_DEVICE_OPTIONS_INIT;
	WNNInstance instance = wnnCreateInstance(NULL);
	static float data[2][COUNT];

	(void)state;
	options.memoryLimit = BYTES;
	for (int d = 0; d < 2; d++) {
		WNNDeviceInfo info = WNN_DEVICE_INFO_INIT;
		WNNTensor tensor, other = NULL;
		WNNContext context;

		options.device = WNN_STR(devices[d]);
		context = open_context_with(instance, &options);
		tensor = lend(context, data[0]);
		assert_ok(move(tensor, data[1], BYTES));
		assert_ok(wnnContextWaitIdle(context, GENEROUS));
		assert_ok(wnnContextGetDeviceInfo(context, &info));
		assert_int_equal(info.memoryUsed, BYTES);
		assert_failed(lend_part(context, data[0], BYTES, &other), WNNStatus_UnknownError,
			      "memoryLimit");
		wnnTensorRelease(tensor);
		wnnContextRelease(context);
	}
	wnnInstanceRelease(instance);
}

static void wrong_memory_is_refused(void **state)
{
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContext context = open_context(instance, "cpu");
	WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
	WNNTensorHostMemory memory = WNN_TENSOR_HOST_MEMORY_INIT, again = memory;
	WNNTensor x = NULL, own = make_tensor(context, N, N);
	static float data[COUNT + 1];
	char *odd = (char *)data + 1;
	uint8_t byte = 0;
	uint32_t one = 1;

	(void)state;
	assert_failed(lend_part(context, NULL, BYTES, &x), WNNStatus_TypeError,
		      "data of WNNTensorHostMemory is NULL; the tensor needs 576 bytes");
	assert_failed(lend_part(context, data, BYTES - 1, &x), WNNStatus_TypeError,
		      "size of WNNTensorHostMemory is 575; the tensor needs 576 bytes");
	assert_failed(lend_part(context, odd, BYTES, &x), WNNStatus_TypeError,
		      "elements of the tensor begin at multiples of 4");
	assert_null(x);
	x = lend(context, data);
	assert_ok(wnnTensorSetLabel(x, WNN_STR("picture")));
	assert_failed(move(x, NULL, BYTES), WNNStatus_TypeError,
		      "data of WNNTensorHostMemory is NULL; the tensor \"picture\" needs");
	assert_failed(move(x, data, 4), WNNStatus_TypeError, "size of WNNTensorHostMemory is 4");
	assert_failed(move(x, odd, BYTES), WNNStatus_TypeError, "begin at multiples of 4");
	assert_failed(move(own, data, BYTES), WNNStatus_TypeError,
		      "was not made with WNNTensorHostMemory");
	assert_failed(move(NULL, data, BYTES), WNNStatus_TypeError, "tensor is NULL");
	assert_failed(wnnTensorSetHostMemory(x, NULL), WNNStatus_TypeError, "memory is NULL");
	memory.data = data;
	memory.size = BYTES;
	memory.chain.next = &again.chain;
	assert_failed(wnnTensorSetHostMemory(x, &memory), WNNStatus_TypeError, "unknown struct");
	descriptor.nextInChain = &memory.chain;
	descriptor.dataType = WNNOperandDataType_Float32;
	descriptor.shape = (WNNUint32Array){ 1, &one };
	assert_failed(wnnContextCreateTensorSync(context, &descriptor, GENEROUS, &own),
		      WNNStatus_TypeError, "a second struct");
	/* Tensors of bytes may have any address. */
	memory.chain.next = NULL;
	memory.data = odd;
	descriptor.dataType = WNNOperandDataType_Uint8;
	descriptor.readable = true;
	assert_ok(wnnContextCreateTensorSync(context, &descriptor, GENEROUS, &own));
	odd[0] = 77;
	assert_ok(wnnContextReadTensorIntoSync(context, own, &byte, 1, GENEROUS));
	assert_int_equal(byte, 77);
	wnnTensorDestroy(x);
	assert_failed(move(x, data, BYTES), WNNStatus_TypeError, "is destroyed");
	wnnContextDestroy(context);
	assert_failed(move(own, data, BYTES), WNNStatus_InvalidStateError, "lost");
	wnnTensorRelease(x);
	wnnTensorRelease(own);
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
}

/*
 * An output whose memory overlaps that of an input is refused: it would overwrite elements of the
 * input that are not read yet.
 */
static void overlaps_are_refused(void **state)
{
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContext context = open_context(instance, "cpu");
	WNNGraph graph = build_add_relu(context, N, N);
	static float data[2 * COUNT];
	WNNTensor x = lend(context, data), y = lend(context, data + COUNT - 1);

	(void)state;
	assert_failed(dispatch_xy(context, graph, x, y), WNNStatus_TypeError,
		      "the memory of output \"y\" overlaps that of another input or output");
	assert_ok(move(y, data + COUNT, BYTES));
	fill(data, 7);
	assert_ok(dispatch_xy(context, graph, x, y));
	assert_ok(wnnContextWaitIdle(context, GENEROUS));
	check(data + COUNT, 7);
	wnnTensorRelease(x);
	wnnTensorRelease(y);
	wnnGraphRelease(graph);
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
}

static void tell_copies(WNNStatus status, WNNDispatchStatistics const *statistics,
			WNNStringView message, void *userdata1, void *userdata2)
{
	(void)message;
	(void)userdata2;
	assert_int_equal(status, WNNStatus_Success);
	assert_int_equal(statistics->nextInChain->sType, WNNSType_DispatchCopies);
	memcpy(userdata1, statistics->nextInChain, sizeof(WNNDispatchCopies));
}

/* Callbacks get the number of copied bytes, too; any other structure in the chain is refused. */
static void copies_are_told(void **state)
{
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContext context = open_context(instance, "sim");
	WNNGraph graph = build_add_relu(context, N, N);
	WNNDispatchMeasuredCallbackInfo info = WNN_DISPATCH_MEASURED_CALLBACK_INFO_INIT;
	WNNDispatchStatistics statistics = WNN_DISPATCH_STATISTICS_INIT;
	WNNDispatchCopies copies = WNN_DISPATCH_COPIES_INIT, second = copies;
	WNNChainedStruct wrong = { NULL, WNNSType_TensorDmaBuf };
	static float data[2 * COUNT];
	WNNNamedTensor in = { WNN_STR("x"), lend(context, data) };
	WNNNamedTensor out = { WNN_STR("y"), lend(context, data + COUNT) };

	(void)state;
	info.callback = tell_copies;
	info.userdata1 = &copies;
	copies.bytesIn = copies.bytesOut = 4711;
	assert_ok(wait_future(instance,
			      wnnContextDispatchMeasured(context, graph, 1, &in, 1, &out, info)));
	assert_int_equal(copies.bytesIn, takes_memory("sim") ? 0 : BYTES);
	assert_int_equal(copies.bytesOut, takes_memory("sim") ? 0 : BYTES);
	statistics.nextInChain = &wrong;
	assert_failed(wnnContextDispatchMeasuredSync(context, graph, 1, &in, 1, &out, GENEROUS,
						     &statistics),
		      WNNStatus_TypeError, "an unknown struct of sType 0x10004");
	copies.chain.next = &wrong;
	statistics.nextInChain = &copies.chain;
	assert_failed(wnnContextDispatchMeasuredSync(context, graph, 1, &in, 1, &out, GENEROUS,
						     &statistics),
		      WNNStatus_TypeError, "an unknown struct of sType 0x10004");
	copies.chain.next = &second.chain;
	assert_failed(wnnContextDispatchMeasuredSync(context, graph, 1, &in, 1, &out, GENEROUS,
						     &statistics),
		      WNNStatus_TypeError, "a second struct of sType 0x10009");
	wnnTensorRelease(in.tensor);
	wnnTensorRelease(out.tensor);
	wnnGraphRelease(graph);
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(graphs_work_in_place),
		cmocka_unit_test(calls_use_the_memory),
		cmocka_unit_test(tensors_move),
		cmocka_unit_test(a_full_context_moves_tensors),
		cmocka_unit_test(wrong_memory_is_refused),
		cmocka_unit_test(overlaps_are_refused),
		cmocka_unit_test(copies_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
