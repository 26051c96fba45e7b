// SPDX-License-Identifier: MIT
/*
 * Tests features beyond the specification: mapped tensors, cancelled operations, limits of a
 * placement policy, disabled folding.
 */
#include "fixture.h"

#include <string.h>

#define N 4

struct state {
	WNNInstance instance;
	WNNContext context;
};

static void open_state(struct state *s, const char *device)
{
	s->instance = wnnCreateInstance(NULL);
	assert_non_null(s->instance);
	s->context = open_context(s->instance, device);
}

static void close_state(struct state *s)
{
	wnnContextRelease(s->context);
	wnnInstanceRelease(s->instance);
}

static float *map(struct state *s, WNNTensor tensor, WNNMapMode mode)
{
	void *data = NULL;

	assert_ok(wnnContextMapTensorSync(s->context, tensor, mode, GENEROUS, &data));
	assert_non_null(data);
	return data;
}

/* Tests that a graph reads what a mapping wrote, and that another mapping reads its result. */
static void mapped_memory_is_the_tensor(void **state)
{
	static const char *const devices[] = { "cpu", "sim" };

	(void)state;
	for (int d = 0; d < 2; d++) {
		struct state s;
		WNNTensor x, y;
		WNNGraph graph;
		float *data;

		open_state(&s, devices[d]);
		x = make_tensor(s.context, N, N);
		y = make_tensor(s.context, N, N);
		graph = build_add_relu(s.context, N, N);
		data = map(&s, x, WNNMapMode_Write);
		for (int i = 0; i < N * N; i++) {
			assert_float_equal(data[i], 0, 0);
			data[i] = (float)(i - 8);
		}
		assert_ok(wnnTensorUnmap(x));
		assert_ok(dispatch_xy(s.context, graph, x, y));
		data = map(&s, y, WNNMapMode_Read);
		for (int i = 0; i < N * N; i++)
			assert_float_equal(data[i], i < 7 ? 0 : i - 7, 0);
		assert_ok(wnnTensorUnmap(y));
		wnnGraphRelease(graph);
		wnnTensorRelease(x);
		wnnTensorRelease(y);
		close_state(&s);
	}
}

static void a_mapped_tensor_is_in_use(void **state)
{
	struct state s;
	float buffer[N * N] = { 0 };
	WNNTensor x, y;
	WNNGraph graph;
	void *data;

	(void)state;
	open_state(&s, "cpu");
	x = make_tensor(s.context, N, N);
	y = make_tensor(s.context, N, N);
	graph = build_add_relu(s.context, N, N);
	assert_failed(wnnTensorUnmap(x), WNNStatus_InvalidStateError, "not mapped");
	map(&s, x, WNNMapMode_ReadWrite);
	assert_failed(wnnContextMapTensorSync(s.context, x, WNNMapMode_Read, GENEROUS, &data),
		      WNNStatus_InvalidStateError, "is mapped");
	assert_null(data);
	assert_failed(dispatch_xy(s.context, graph, x, y), WNNStatus_InvalidStateError,
		      "dispatch: the tensor is mapped; wnnTensorUnmap ends that");
	assert_failed(dispatch_xy(s.context, graph, y, x), WNNStatus_InvalidStateError, "mapped");
	assert_failed(wnnContextWriteTensor(s.context, x, buffer, sizeof(buffer)),
		      WNNStatus_InvalidStateError, "mapped");
	assert_failed(wnnContextReadTensorIntoSync(s.context, x, buffer, sizeof(buffer), GENEROUS),
		      WNNStatus_InvalidStateError, "mapped");
	assert_ok(wnnTensorUnmap(x));
	assert_failed(wnnTensorUnmap(x), WNNStatus_InvalidStateError, "not mapped");
	assert_ok(wnnContextWriteTensor(s.context, x, buffer, sizeof(buffer)));
	assert_ok(dispatch_xy(s.context, graph, x, y));
	wnnGraphRelease(graph);
	wnnTensorRelease(x);
	wnnTensorRelease(y);
	close_state(&s);
}

static void mapping_needs_the_right(void **state)
{
	struct state s, other;
	WNNTensor readable, writable;
	void *data;

	(void)state;
	open_state(&s, "cpu");
	open_state(&other, "cpu");
	readable = make_tensor_flags(s.context, N, N, true, false);
	writable = make_tensor_flags(s.context, N, N, false, true);
	assert_failed(wnnContextMapTensorSync(s.context, writable, WNNMapMode_Read, GENEROUS,
					      &data),
		      WNNStatus_TypeError, "not made with readable");
	assert_failed(wnnContextMapTensorSync(s.context, readable, WNNMapMode_Write, GENEROUS,
					      &data),
		      WNNStatus_TypeError, "not made with writable");
	assert_failed(wnnContextMapTensorSync(s.context, readable, WNNMapMode_ReadWrite, GENEROUS,
					      &data),
		      WNNStatus_TypeError, "not made with writable");
	assert_failed(wnnContextMapTensorSync(s.context, readable, 7, GENEROUS, &data),
		      WNNStatus_TypeError, "mode is 7");
	assert_failed(wnnContextMapTensorSync(other.context, readable, WNNMapMode_Read, GENEROUS,
					      &data),
		      WNNStatus_TypeError, "another context");
	assert_failed(wnnContextMapTensorSync(s.context, NULL, WNNMapMode_Read, GENEROUS, &data),
		      WNNStatus_TypeError, "the tensor is NULL");
	assert_failed(wnnContextMapTensorSync(s.context, readable, WNNMapMode_Read, GENEROUS, NULL),
		      WNNStatus_TypeError, "data is NULL");
	wnnTensorRelease(readable);
	wnnTensorRelease(writable);
	close_state(&s);
	close_state(&other);
}

struct mapped {
	WNNStatus status;
	void *data;
	size_t size;
	int calls;
};

static void on_map(WNNStatus status, void *data, size_t size, WNNStringView message,
		   void *userdata1, void *userdata2)
{
	struct mapped *mapped = userdata1;

	(void)message;
	(void)userdata2;
	mapped->status = status;
	mapped->data = data;
	mapped->size = size;
	mapped->calls++;
}

static WNNMapTensorCallbackInfo map_info(struct mapped *mapped)
{
	return (WNNMapTensorCallbackInfo){ NULL, WNNCallbackMode_AllowProcessEvents, on_map, mapped,
					   NULL };
}

/*
 * Memory that the application has mapped stays valid, even if the tensor or its context is
 * destroyed.
 */
static void mapped_memory_outlives_destruction(void **state)
{
	struct state s;
	WNNTensor x;
	float *data;

	(void)state;
	for (int how = 0; how < 3; how++) {
		open_state(&s, "sim");
		x = make_tensor(s.context, N, N);
		data = map(&s, x, WNNMapMode_Write);
		if (how == 0)
			wnnTensorDestroy(x);
		else if (how == 1)
			wnnContextDestroy(s.context);
		if (!how)
			assert_ok(wnnContextWaitIdle(s.context, GENEROUS));
		memset(data, 1, sizeof(*data) * N * N);
		assert_ok(wnnTensorUnmap(x));
		wnnTensorRelease(x);
		close_state(&s);
	}
}

static void a_callback_gets_the_memory(void **state)
{
	static struct mapped mapped; /* the last callback may come after the test */
	struct state s;
	WNNFuture future;
	WNNTensor x;

	(void)state;
	open_state(&s, "cpu");
	x = make_tensor(s.context, N, N);
	future = wnnContextMapTensor(s.context, x, WNNMapMode_Read, map_info(&mapped));
	assert_ok(wait_future(s.instance, future));
	assert_int_equal(mapped.calls, 1);
	assert_int_equal(mapped.status, WNNStatus_Success);
	assert_int_equal(mapped.size, sizeof(float) * N * N);
	assert_float_equal(((float *)mapped.data)[3], 0, 0);
	assert_ok(wnnTensorUnmap(x));
	/*
	 * The tensor is unmapped before the callback could run: the callback must not get the
	 * memory.
	 */
	future = wnnContextMapTensor(s.context, x, WNNMapMode_Read, map_info(&mapped));
	assert_ok(wnnContextWaitIdle(s.context, GENEROUS));
	assert_ok(wnnTensorUnmap(x));
	assert_ok(wait_future(s.instance, future));
	assert_int_equal(mapped.calls, 2);
	assert_int_equal(mapped.status, WNNStatus_InvalidStateError);
	assert_null(mapped.data);
	/* The instance is released before the callback runs, and drops the mapping. */
	wnnContextMapTensor(s.context, x, WNNMapMode_Read, map_info(&mapped));
	assert_ok(wnnContextWaitIdle(s.context, GENEROUS));
	wnnTensorRelease(x);
	close_state(&s);
}

/* When the call itself refuses a mapping, the callback gets the error. */
static void refused_mappings_are_told(void **state)
{
	struct mapped mapped = { 0 };
	struct state s;
	WNNFuture future;
	WNNTensor x;

	(void)state;
	open_state(&s, "cpu");
	x = make_tensor(s.context, N, N);
	future = wnnContextMapTensor(s.context, NULL, WNNMapMode_Read, map_info(&mapped));
	assert_ok(wait_future(s.instance, future));
	assert_int_equal(mapped.status, WNNStatus_TypeError);
	future = wnnContextMapTensor(s.context, x, 7, map_info(&mapped));
	assert_ok(wait_future(s.instance, future));
	assert_int_equal(mapped.status, WNNStatus_TypeError);
	assert_int_equal(mapped.calls, 2);
	assert_null(mapped.data);
	wnnTensorRelease(x);
	close_state(&s);
}

static void pending_mappings_end(void **state)
{
	struct mapped mapped = { 0 };
	struct gate *gate = gate_create();
	struct state s;
	WNNFuture future;
	WNNTensor x;
	void *data;

	(void)state;
	s.instance = gate_instance(gate);
	s.context = open_context(s.instance, "cpu");
	x = make_tensor(s.context, N, N);
	gate_close(gate, s.context);
	assert_failed(wnnContextMapTensorSync(s.context, x, WNNMapMode_Read, 0, &data),
		      WNNStatus_TimedOut, "the time is over");
	/* The tensor is unmapped at once, even before the timeline has reached the mapping. */
	future = wnnContextMapTensor(s.context, x, WNNMapMode_Read, map_info(&mapped));
	assert_ok(wnnTensorUnmap(x));
	assert_ok(wait_future(s.instance, future));
	assert_int_equal(mapped.status, WNNStatus_InvalidStateError);
	future = wnnContextMapTensor(s.context, x, WNNMapMode_Read, map_info(&mapped));
	assert_ok(wnnInstanceCancel(s.instance, future));
	assert_ok(wait_future(s.instance, future));
	assert_int_equal(mapped.status, WNNStatus_Cancelled);
	future = wnnContextMapTensor(s.context, x, WNNMapMode_Read, map_info(&mapped));
	wnnTensorDestroy(x);
	assert_ok(wait_future(s.instance, future));
	assert_int_equal(mapped.status, WNNStatus_InvalidStateError);
	assert_int_equal(mapped.calls, 3);
	gate_open(gate);
	wnnTensorRelease(x);
	close_state(&s);
}

static void operations_are_cancelled(void **state)
{
	struct notes *notes = notes_create();
	struct gate *gate = gate_create();
	WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
	WNNCallbackMode mode = WNNCallbackMode_AllowProcessEvents;
	float buffer[N * N];
	struct state s;
	WNNFuture futures[5];
	WNNGraphBuilder builder;
	WNNNamedOperand output;
	WNNTensor x;

	(void)state;
	s.instance = gate_instance(gate);
	s.context = open_context(s.instance, "cpu");
	x = make_tensor(s.context, N, N);
	builder = wnnContextCreateGraphBuilder(s.context);
	output = (WNNNamedOperand){
		WNN_STR("y"), wnnGraphBuilderRelu(builder, make_input(builder, "x", N, N), NULL)
	};
	descriptor.dataType = WNNOperandDataType_Float32;
	gate_close(gate, s.context);
	memset(buffer, 0x5a, sizeof(buffer));
	futures[0] = wnnContextReadTensor(s.context, x, note_read(notes, mode, 0));
	futures[1] = wnnContextReadTensorInto(s.context, x, buffer, sizeof(buffer),
					      note_read_into(notes, mode, 1));
	futures[2] = wnnContextCreateTensor(s.context, &descriptor, note_tensor(notes, mode, 2));
	futures[3] = wnnGraphBuilderBuild(builder, 1, &output, note_build(notes, mode, 3));
	futures[4] = wnnContextGetLost(s.context, note_lost(notes, mode, 4));
	for (int i = 0; i < 5; i++)
		assert_ok(wnnInstanceCancel(s.instance, futures[i]));
	gate_open(gate);
	assert_ok(wnnContextWaitIdle(s.context, GENEROUS));
	assert_ok(wnnInstanceProcessEvents(s.instance));
	assert_int_equal(notes_count(notes), 5);
	for (int i = 0; i < 5; i++) {
		struct note note = notes_get(notes, (size_t)i);

		assert_int_equal(note.tag, i);
		assert_int_equal(note.status, WNNStatus_Cancelled);
		assert_null(note.object);
		assert_string_equal(note.message, "wnnInstanceCancel was called");
		/* The operation was delivered, so that nothing is left to cancel. */
		assert_ok(wnnInstanceCancel(s.instance, futures[i]));
	}
	assert_int_equal(((unsigned char *)buffer)[5], 0x5a);
	assert_failed(wnnInstanceCancel(s.instance, (WNNFuture){ 0 }), WNNStatus_TypeError, "{0}");
	assert_failed(wnnInstanceCancel(s.instance, (WNNFuture){ 77 }), WNNStatus_TypeError,
		      "belongs to no call of this instance");
	wnnGraphBuilderRelease(builder);
	wnnTensorRelease(x);
	close_state(&s);
}

static WNNContext open_npu_only(WNNInstance instance, bool folding)
{
	WNNContextDeviceOptions options = WNN_CONTEXT_DEVICE_OPTIONS_INIT;

	options.device = WNN_STR("sim");
	options.placementPolicy = WNNPlacementPolicy_NPUOnly;
	options.simSramBytes = 65536;
	options.simThreads = options.threads = 1;
	options.constantFolding = folding;
	return open_context_with(instance, &options);
}

/* Builds y = x + exp(1): exp(1) is folded, or runs on the NPU when folding is off. */
static void folding_can_be_switched_off(void **state)
{
	WNNInstance instance = wnnCreateInstance(NULL);

	(void)state;
	for (int folding = 0; folding < 2; folding++) {
		WNNContext context = open_npu_only(instance, folding);
		WNNGraphBuilder builder = wnnContextCreateGraphBuilder(context);
		WNNGraphPlacement placement = WNN_GRAPH_PLACEMENT_INIT;
		WNNOperand one = wnnGraphBuilderConstantFromNumber(
			builder, WNNOperandDataType_Float32, WNN_NUMBER_DOUBLE(1.0));
		WNNOperand e = wnnGraphBuilderExp(builder, one, NULL);
		WNNOperand x = make_input(builder, "x", N, N);
		WNNGraph graph = build_one(builder, "y", wnnGraphBuilderAdd(builder, x, e, NULL));

		assert_ok(wnnGraphGetPlacement(graph, &placement));
		assert_int_equal(placement.nodeCount, 2);
		assert_int_equal(placement.nodes[0].device,
				 folding ? WNNNodeDevice_Folded : WNNNodeDevice_NPU);
		wnnGraphRelease(graph);
		wnnGraphBuilderRelease(builder);
		wnnContextRelease(context);
	}
	wnnInstanceRelease(instance);
}

/*
 * Checks the limits of a type beyond the specification: an operand may have it only if the limits
 * list it.
 */
static void check_four_bits(WNNContext context, const WNNOpSupportLimits *limits,
			    WNNOperandDataType type)
{
	bool listed = limits->dequantizeLinear.input.dataTypes & WNN_DATA_TYPE_BIT(type);
	WNNGraphBuilder builder = wnnContextCreateGraphBuilder(context);
	WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
	uint32_t shape[] = { N, N }, one[] = { 1, 1 };
	WNNOperand x, scale, zero;

	descriptor.dataType = type;
	descriptor.shape = WNN_UINT32_ARRAY(shape);
	x = wnnGraphBuilderInput(builder, WNN_STR("x"), &descriptor);
	assert_int_equal(x != NULL, !!(limits->input.dataTypes & WNN_DATA_TYPE_BIT(type)));
	descriptor.shape = WNN_UINT32_ARRAY(one);
	zero = wnnGraphBuilderInput(builder, WNN_STR("z"), &descriptor);
	descriptor.dataType = WNNOperandDataType_Float32;
	scale = wnnGraphBuilderInput(builder, WNN_STR("s"), &descriptor);
	if (listed)
		wnnGraphRelease(
			build_one(builder, "y",
				  wnnGraphBuilderDequantizeLinear(builder, x, scale, zero, NULL)));
	else
		assert_null(wnnGraphBuilderDequantizeLinear(builder, x, scale, zero, NULL));
	wnnGraphBuilderRelease(builder);
}

/* The operator neg can be built with all types that the limits list for it, and with no others. */
static void npu_only_lists_what_it_builds(void **state)
{
	WNNOpSupportLimits limits = WNN_OP_SUPPORT_LIMITS_INIT;
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContext context = open_npu_only(instance, true);
	uint32_t shape[] = { N, N };

	(void)state;
	assert_ok(wnnContextGetOpSupportLimits(context, &limits));
	assert_true(limits.matmul.a.dataTypes & WNN_DATA_TYPE_BIT(WNNOperandDataType_Float32));
	for (WNNOperandDataType t = WNNOperandDataType_Float32; t <= WNNOperandDataType_Uint8;
	     t++) {
		WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
		WNNGraphBuilder builder = wnnContextCreateGraphBuilder(context);
		WNNNamedOperand output = { WNN_STR("y"), NULL };
		WNNGraph graph = NULL;
		bool listed = limits.neg.input.dataTypes & WNN_DATA_TYPE_BIT(t);
		WNNOperand x;

		descriptor.dataType = t;
		descriptor.shape = WNN_UINT32_ARRAY(shape);
		x = wnnGraphBuilderInput(builder, WNN_STR("x"), &descriptor);
		assert_non_null(x);
		output.operand = wnnGraphBuilderNeg(builder, x, NULL);
		if (output.operand)
			assert_int_equal(!wnnGraphBuilderBuildSync(builder, 1, &output, GENEROUS,
								   &graph),
					 listed);
		else
			assert_false(listed);
		wnnGraphRelease(graph);
		wnnGraphBuilderRelease(builder);
	}
	check_four_bits(context, &limits, WNNOperandDataType_Int4);
	check_four_bits(context, &limits, WNNOperandDataType_Uint4);
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mapped_memory_is_the_tensor),
		cmocka_unit_test(a_mapped_tensor_is_in_use),
		cmocka_unit_test(mapping_needs_the_right),
		cmocka_unit_test(mapped_memory_outlives_destruction),
		cmocka_unit_test(a_callback_gets_the_memory),
		cmocka_unit_test(refused_mappings_are_told),
		cmocka_unit_test(pending_mappings_end),
		cmocka_unit_test(operations_are_cancelled),
		cmocka_unit_test(folding_can_be_switched_off),
		cmocka_unit_test(npu_only_lists_what_it_builds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
