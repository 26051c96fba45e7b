// SPDX-License-Identifier: MIT
/* Tests graphs on a device that fails, or that is too small for them. */
#include "fake.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onpu/slots.h"

#define ROWS 4 /* number of softmaxes, each of which may have a row that is too long for a job */

static void a_fault_names_the_operator(void **state)
{
	struct fixture *f = *state;
	WNNGraph graph = build_add_relu(f->context, 4, 4);
	WNNTensor x = make_tensor(f->context, 4, 4), y = make_tensor(f->context, 4, 4);
	WNNGraphStatistics statistics = WNN_GRAPH_STATISTICS_INIT;

	fake.fault_at = 2;
	for (int i = 0; i < 3; i++)
		assert_ok(dispatch_xy(f->context, graph, x, y));
	assert_failed(wnnContextWaitIdle(f->context, GENEROUS), WNNStatus_OperationError,
		      "\"plus one\": the NPU stopped with fault BOUNDS");
	assert_last_error(WNNStatus_OperationError, "instruction 2, engine VPU, operand S1");
	/* The fault was reported once; the context goes on, and the third dispatch has run. */
	assert_ok(wnnContextWaitIdle(f->context, GENEROUS));
	assert_ok(wnnGraphGetLastStatistics(graph, &statistics));
	assert_int_equal(statistics.dispatchCount, 2);
	assert_int_equal(statistics.npuCycles, 1000);
	assert_ok(dispatch_xy(f->context, graph, x, y));
	assert_ok(wnnContextWaitIdle(f->context, GENEROUS));
	wnnGraphRelease(graph);
	wnnTensorRelease(x);
	wnnTensorRelease(y);
}

/* A device with an older instruction set than the library's is not opened. */
static void an_older_instruction_set_is_refused(void **state)
{
	struct fixture *f = *state;
	WNNContextOptions options = WNN_CONTEXT_OPTIONS_INIT;
	WNNContextDeviceOptions device = WNN_CONTEXT_DEVICE_OPTIONS_INIT;
	WNNDeviceInfoArray devices = WNN_DEVICE_INFO_ARRAY_INIT;
	WNNContext context;
	char reason[200];

	wnnContextRelease(f->context);
	wait_for_the_end();
	snprintf(reason, sizeof(reason),
		 "the device onpu-fake has version %d of the instruction set, but this library "
		 "needs version %d: update the device or its emulator, or use an older library",
		 ONPU_ISA_MAJOR - 1, ONPU_ISA_MAJOR);
	fake.isa_major = ONPU_ISA_MAJOR - 1;
	device.device = WNN_STR("sim");
	options.nextInChain = &device.chain;
	assert_failed(wnnInstanceCreateContextSync(f->instance, &options, GENEROUS, &context),
		      WNNStatus_NotSupportedError, reason);
	wait_for_the_end();
	assert_ok(wnnInstanceGetDevices(f->instance, &devices));
	assert_false(devices.data[1].usable);
	assert_string_equal(devices.data[1].reason.data, reason);
	wnnDeviceInfoArrayFreeMembers(devices);
	/* Devices with a newer instruction set run older programs. */
	fake.isa_major = ONPU_ISA_MAJOR + 1;
	f->context = open_context(f->instance, "sim");
}

/* Several jobs are on the device when one fails: the others run on a new context, in order. */
static void victims_of_a_fault_run_again(void **state)
{
	struct fixture *f = *state;
	WNNGraph graph = build_add_relu(f->context, 4, 4);
	WNNTensor x = make_tensor(f->context, 4, 4), y = make_tensor(f->context, 4, 4);
	WNNGraphStatistics statistics = WNN_GRAPH_STATISTICS_INIT;

	fake.hold = true;
	fake.fault_at = 1;
	for (int i = 0; i < 8; i++)
		assert_ok(dispatch_xy(f->context, graph, x, y));
	wnnContextOnWorkDone(f->context, note_done(f->notes, WNNCallbackMode_AllowSpontaneous, 1));
	wnnContextReadTensor(f->context, y,
			     note_read(f->notes, WNNCallbackMode_AllowSpontaneous, 2));
	wnnContextOnWorkDone(f->context, note_done(f->notes, WNNCallbackMode_AllowSpontaneous, 3));
	release_jobs();
	assert_true(notes_wait(f->notes, 3));
	assert_int_equal(notes_get(f->notes, 0).tag, 1);
	assert_int_equal(notes_get(f->notes, 0).status, WNNStatus_OperationError);
	assert_int_equal(notes_get(f->notes, 1).tag, 2);
	assert_int_equal(notes_get(f->notes, 1).status, WNNStatus_Success);
	assert_int_equal(notes_get(f->notes, 2).status, WNNStatus_Success);
	assert_ok(wnnGraphGetLastStatistics(graph, &statistics));
	assert_int_equal(statistics.dispatchCount, 7);
	wnnGraphRelease(graph);
	wnnTensorRelease(x);
	wnnTensorRelease(y);
}

static void use_small_jobs(struct fixture *f)
{
	wnnContextRelease(f->context);
	wait_for_the_end();
	fake.max_slots = 64;
	f->context = open_context(f->instance, "sim");
}

/* Counts warnings about programs that keep nothing in SRAM. */
static void count_spilled(WNNLogLevel level, WNNStringView message, void *userdata1,
			  void *userdata2)
{
	(void)userdata2;
	if (level == WNNLogLevel_Warning &&
	    memmem(message.data, message.length, "nothing stays in SRAM between the 21 nodes", 42))
		atomic_fetch_add((atomic_int *)userdata1, 1);
}

/*
 * A program can be divided into jobs only where no value stays in SRAM from one node to the next.
 * With small jobs no value stays there; statistics, text and one warning report this.
 */
static void values_in_memory_are_reported(void **state)
{
	WNNInstanceDescriptor descriptor = WNN_INSTANCE_DESCRIPTOR_INIT;
	WNNGraphStatistics statistics = WNN_GRAPH_STATISTICS_INIT;
	WNNInstanceLog log = WNN_INSTANCE_LOG_INIT;
	struct fixture *f = *state;
	WNNString text = WNN_STRING_INIT;
	atomic_int spilled = 0;

	log.level = WNNLogLevel_Warning;
	log.callback = count_spilled;
	log.userdata1 = &spilled;
	descriptor.nextInChain = &log.chain;
	wnnInstanceRelease(f->instance);
	f->instance = wnnCreateInstance(&descriptor);
	for (int small = 0; small < 2; small++) {
		WNNGraphBuilder builder;
		WNNTensor x, y;
		WNNOperand v;
		WNNGraph graph;

		wnnContextRelease(f->context);
		wait_for_the_end();
		fake.max_slots = small ? 64 : 0;
		f->context = open_context(f->instance, "sim");
		builder = wnnContextCreateGraphBuilder(f->context);
		v = make_input(builder, "x", 8, 32);
		for (uint32_t i = 0; i < 20; i++)
			v = wnnGraphBuilderSoftmax(builder, v, i % 2, NULL);
		graph = build_one(builder, "y", wnnGraphBuilderNeg(builder, v, NULL));
		wnnGraphBuilderRelease(builder);
		x = make_tensor(f->context, 8, 32);
		y = make_tensor(f->context, 8, 32);
		assert_ok(dispatch_xy(f->context, graph, x, y));
		assert_ok(wnnContextWaitIdle(f->context, GENEROUS));
		assert_ok(wnnGraphGetLastStatistics(graph, &statistics));
		assert_int_equal(statistics.spilledPrograms, small);
		assert_ok(wnnGraphGetText(graph, WNNGraphText_Plan, &text));
		assert_int_equal(
			small,
			strstr(text.data,
			       "nothing stays in SRAM between nodes: "
			       "softmax: the operator has a part that cannot be divided") != NULL);
		wnnStringFreeMembers(text);
		wnnGraphRelease(graph);
		wnnTensorRelease(x);
		wnnTensorRelease(y);
	}
	assert_int_equal(atomic_load(&spilled), 1);
}

/*
 * A softmax over a row cannot be divided into jobs: when no job can hold it, it runs on the CPU,
 * and the operators around it stay on the NPU.
 */
static void a_row_that_no_job_holds(void **state)
{
	WNNGraphPlacement placement = WNN_GRAPH_PLACEMENT_INIT;
	WNNOperatorOptions label = WNN_OPERATOR_OPTIONS_INIT;
	struct fixture *f = *state;
	WNNGraphBuilder builder;
	WNNOperand v;
	WNNGraph graph;

	use_small_jobs(f);
	builder = wnnContextCreateGraphBuilder(f->context);
	v = wnnGraphBuilderNeg(builder, make_input(builder, "x", 1, 300000), NULL);
	label.label = WNN_STR("row");
	v = wnnGraphBuilderSoftmax(builder, v, 1, &label);
	graph = build_one(builder, "y", wnnGraphBuilderNeg(builder, v, NULL));
	wnnGraphBuilderRelease(builder);
	assert_ok(wnnGraphGetPlacement(graph, &placement));
	assert_int_equal(placement.npuCount, 2);
	assert_int_equal(placement.nodes[1].device, WNNNodeDevice_CPU);
	assert_int_equal(placement.nodes[1].reason, WNNPlacementReason_CompilerLimit);
	assert_non_null(strstr(placement.nodes[1].reasonText.data, "more operands than the 63"));
	wnnGraphRelease(graph);
}

/* When tiles are so small that compiling would take minutes, the node runs on the CPU. */
static void a_product_of_too_many_instructions(void **state)
{
	WNNGraphPlacement placement = WNN_GRAPH_PLACEMENT_INIT;
	struct fixture *f = *state;
	WNNGraphBuilder builder = wnnContextCreateGraphBuilder(f->context);
	WNNOperand x = make_input(builder, "x", 1 << 14, 1 << 14);
	WNNGraph graph = build_one(builder, "y", wnnGraphBuilderMatmul(builder, x, x, NULL));

	wnnGraphBuilderRelease(builder);
	assert_ok(wnnGraphGetPlacement(graph, &placement));
	assert_int_equal(placement.compilerLimitCount, 1);
	assert_int_equal(placement.nodes[0].device, WNNNodeDevice_CPU);
	assert_int_equal(placement.nodes[0].reason, WNNPlacementReason_CompilerLimit);
	assert_non_null(
		strstr(placement.nodes[0].reasonText.data, "more than the 524288 instructions"));
	wnnGraphRelease(graph);
}

/*
 * Builds a chain of four softmaxes, each after a negation, and a negation at the end; returns the
 * status of the build. A softmax whose bit in `rows` is set is over a whole row, the others are
 * over single elements.
 */
static WNNStatus build_rows(WNNContext context, unsigned int rows, WNNGraph *graph)
{
	static const char *const labels[ROWS] = { "first", "second", "third", "fourth" };
	WNNGraphBuilder b = wnnContextCreateGraphBuilder(context);
	WNNOperand v = make_input(b, "x", 1, 300000);
	WNNNamedOperand output = { WNN_STR("y"), NULL };
	WNNStatus status;

	for (unsigned int i = 0; i < ROWS; i++) {
		WNNOperatorOptions label = WNN_OPERATOR_OPTIONS_INIT;

		label.label = WNN_STR(labels[i]);
		v = wnnGraphBuilderNeg(b, v, NULL);
		v = wnnGraphBuilderSoftmax(b, v, rows >> i & 1, &label);
	}
	output.operand = wnnGraphBuilderNeg(b, v, NULL);
	status = wnnGraphBuilderBuildSync(b, 1, &output, GENEROUS, graph);
	wnnGraphBuilderRelease(b);
	return status;
}

static void check_rows(WNNContext context, WNNGraph graph, unsigned int rows)
{
	WNNGraphPlacement placement = WNN_GRAPH_PLACEMENT_INIT;
	WNNGraphStatistics statistics = WNN_GRAPH_STATISTICS_INIT;
	WNNTensor x = make_tensor(context, 1, 300000), y = make_tensor(context, 1, 300000);
	size_t moved = (size_t)__builtin_popcount(rows);

	assert_ok(wnnGraphGetPlacement(graph, &placement));
	assert_int_equal(placement.nodeCount, 2 * ROWS + 1);
	for (size_t i = 0; i < placement.nodeCount; i++) {
		const WNNNodePlacement *node = &placement.nodes[i];
		bool on_cpu = i % 2 && rows >> i / 2 & 1;

		assert_int_equal(node->device, on_cpu ? WNNNodeDevice_CPU : WNNNodeDevice_NPU);
		assert_int_equal(node->reason == WNNPlacementReason_CompilerLimit, on_cpu);
	}
	assert_int_equal(placement.cpuCount, moved);
	assert_int_equal(placement.compilerLimitCount, moved);
	assert_ok(dispatch_xy(context, graph, x, y));
	assert_ok(wnnContextWaitIdle(context, GENEROUS));
	assert_ok(wnnGraphGetLastStatistics(graph, &statistics));
	assert_int_equal(statistics.compilerLimitNodes, moved);
	wnnTensorRelease(x);
	wnnTensorRelease(y);
}

/* With the policy NPUOnly, the error names the operators that do not compile, and no others. */
static void check_refused_rows(WNNContext context, unsigned int rows)
{
	static const char *const names[ROWS] = { "softmax \"first\": ", "softmax \"second\": ",
						 "softmax \"third\": ", "softmax \"fourth\": " };
	unsigned int refused = (unsigned int)__builtin_popcount(rows), named = 0;
	WNNError error = WNN_ERROR_INIT;
	WNNGraph graph = NULL;
	char count[24];

	snprintf(count, sizeof(count), "%u operator%s cannot", refused, refused > 1 ? "s" : "");
	assert_failed(build_rows(context, rows, &graph), WNNStatus_OperationError, count);
	assert_null(graph);
	wnnGetLastError(&error);
	for (unsigned int i = 0; i < ROWS; i++) {
		bool told = strstr(error.message.data, names[i]);

		named += told;
		assert_true(rows >> i & 1 || !told);
	}
	/* The message names as many operators as fit. */
	assert_true(named);
	snprintf(count, sizeof(count), "; and %u more", refused - named);
	assert_int_equal(strstr(error.message.data, count) != NULL, named < refused);
}

static void any_rows_that_no_job_holds(void **state)
{
	WNNContextDeviceOptions options = WNN_CONTEXT_DEVICE_OPTIONS_INIT;
	struct fixture *f = *state;

	use_small_jobs(f);
	for (unsigned int rows = 0; rows < 1 << ROWS; rows++) {
		WNNGraph graph = NULL;

		assert_ok(build_rows(f->context, rows, &graph));
		check_rows(f->context, graph, rows);
		wnnGraphRelease(graph);
	}
	wnnContextRelease(f->context);
	wait_for_the_end();
	options.device = WNN_STR("sim");
	options.placementPolicy = WNNPlacementPolicy_NPUOnly;
	f->context = open_context_with(f->instance, &options);
	for (unsigned int rows = 1; rows < 1 << ROWS; rows++)
		check_refused_rows(f->context, rows);
}

/*
 * A program is divided into several jobs: whichever fails, the failure is reported once, and later
 * dispatches run.
 */
static void a_fault_in_one_of_several_jobs(void **state)
{
	static const float weights[64 * 64];
	struct fixture *f = *state;
	WNNGraphStatistics statistics = WNN_GRAPH_STATISTICS_INIT;
	WNNGraphBuilder builder;
	WNNTensor x, y;
	WNNOperand v;
	WNNGraph graph;
	unsigned int jobs;

	use_small_jobs(f);
	builder = wnnContextCreateGraphBuilder(f->context);
	/* Matrices of different sizes need slots of their own, which jobs have few of here. */
	v = make_input(builder, "x", 64, 64);
	for (uint32_t i = 0; i < 20; i++)
		v = wnnGraphBuilderMatmul(builder, v,
					  make_constant(builder, weights, 64 - i, 63 - i), NULL);
	graph = build_one(builder, "y", v);
	wnnGraphBuilderRelease(builder);
	x = make_tensor(f->context, 64, 64);
	y = make_tensor(f->context, 64, 44);
	assert_ok(dispatch_xy(f->context, graph, x, y));
	assert_ok(wnnContextWaitIdle(f->context, GENEROUS));
	jobs = fake.runs;
	assert_true(jobs > 1);
	for (unsigned int i = 0; i < jobs; i++) {
		fake.fault_at = fake.runs + 1 + i;
		assert_ok(dispatch_xy(f->context, graph, x, y));
		assert_ok(dispatch_xy(f->context, graph, x, y));
		assert_failed(wnnContextWaitIdle(f->context, GENEROUS), WNNStatus_OperationError,
			      "BOUNDS");
		assert_ok(wnnGraphGetLastStatistics(graph, &statistics));
		assert_int_equal(statistics.dispatchCount, 2 + i);
		assert_int_equal(statistics.npuCycles, 1000 * jobs);
	}
	wnnGraphRelease(graph);
	wnnTensorRelease(x);
	wnnTensorRelease(y);
}

static void the_error_callback_gets_every_fault(void **state)
{
	struct fixture *f = *state;
	WNNContextDeviceOptions device = WNN_CONTEXT_DEVICE_OPTIONS_INIT;
	WNNContextOptions options = WNN_CONTEXT_OPTIONS_INIT;
	WNNContext context = NULL;
	WNNTensor x, y;
	WNNGraph graph;

	wnnContextRelease(f->context);
	wait_for_the_end();
	f->context = NULL;
	device.device = WNN_STR("sim");
	options.nextInChain = &device.chain;
	options.errorCallbackInfo = note_error(f->notes, WNNCallbackMode_AllowSpontaneous, 1);
	assert_ok(wnnInstanceCreateContextSync(f->instance, &options, GENEROUS, &context));
	f->context = context;
	graph = build_add_relu(context, 4, 4);
	x = make_tensor(context, 4, 4);
	y = make_tensor(context, 4, 4);
	for (unsigned int i = 0; i < 2; i++) {
		fake.fault_at = fake.runs + 1;
		assert_ok(dispatch_xy(context, graph, x, y));
		assert_true(notes_wait(f->notes, i + 1));
		assert_int_equal(notes_get(f->notes, i).status, WNNStatus_OperationError);
	}
	assert_failed(wnnContextWaitIdle(context, GENEROUS), WNNStatus_OperationError, "BOUNDS");
	wnnGraphRelease(graph);
	wnnTensorRelease(x);
	wnnTensorRelease(y);
}

static void a_device_that_is_gone(void **state)
{
	struct fixture *f = *state;
	WNNGraph graph = build_add_relu(f->context, 4, 4);
	WNNTensor x = make_tensor(f->context, 4, 4), y = make_tensor(f->context, 4, 4);
	WNNTensorDescriptor wanted = WNN_TENSOR_DESCRIPTOR_INIT;
	WNNTensor none = NULL;
	bool failed = false;

	wnnContextGetLost(f->context, note_lost(f->notes, WNNCallbackMode_AllowSpontaneous, 1));
	fake.hold = true;
	fake.lose_at = 1;
	for (int i = 0; i < 5; i++)
		assert_ok(dispatch_xy(f->context, graph, x, y));
	wnnContextReadTensor(f->context, y,
			     note_read(f->notes, WNNCallbackMode_AllowSpontaneous, 2));
	release_jobs();
	assert_true(notes_wait(f->notes, 2));
	for (size_t i = 0; i < 2; i++) {
		struct note note = notes_get(f->notes, i);

		if (note.tag == 1)
			assert_non_null(strstr(note.message, "fell off the bus"));
		else
			failed = note.status == WNNStatus_InvalidStateError;
	}
	assert_true(failed);
	wanted.dataType = WNNOperandDataType_Float32;
	assert_failed(wnnContextCreateTensorSync(f->context, &wanted, GENEROUS, &none),
		      WNNStatus_InvalidStateError, "fell off the bus");
	assert_failed(dispatch_xy(f->context, graph, x, y), WNNStatus_InvalidStateError, "lost");
	wnnGraphRelease(graph);
	wnnTensorRelease(x);
	wnnTensorRelease(y);
}

/* Counts warnings that a job is tried again. */
static void count_tries(WNNLogLevel level, WNNStringView message, void *userdata1, void *userdata2)
{
	(void)userdata2;
	if (level == WNNLogLevel_Warning &&
	    memmem(message.data, message.length, "which is tried again", 20))
		atomic_fetch_add((atomic_int *)userdata1, 1);
}

/* A job that is cancelled by resets runs four times at most; the library logs each new try. */
static void resets_that_cancel_a_job(void **state)
{
	WNNInstanceDescriptor descriptor = WNN_INSTANCE_DESCRIPTOR_INIT;
	WNNInstanceLog log = WNN_INSTANCE_LOG_INIT;
	struct fixture *f = *state;
	atomic_int tries = 0;
	WNNTensor x, y;
	WNNGraph graph;

	log.level = WNNLogLevel_Warning;
	log.callback = count_tries;
	log.userdata1 = &tries;
	descriptor.nextInChain = &log.chain;
	wnnContextRelease(f->context);
	wait_for_the_end();
	wnnInstanceRelease(f->instance);
	f->instance = wnnCreateInstance(&descriptor);
	f->context = open_context(f->instance, "sim");
	graph = build_add_relu(f->context, 4, 4);
	x = make_tensor(f->context, 4, 4);
	y = make_tensor(f->context, 4, 4);
	fake.cancels = 3;
	assert_ok(dispatch_xy(f->context, graph, x, y));
	assert_ok(wnnContextWaitIdle(f->context, GENEROUS));
	assert_int_equal(atomic_load(&tries), 3);
	fake.cancels = 4;
	assert_ok(dispatch_xy(f->context, graph, x, y));
	assert_failed(wnnContextWaitIdle(f->context, GENEROUS), WNNStatus_InvalidStateError,
		      "have cancelled one job 4 times");
	assert_int_equal(fake.cancels, 0);
	assert_int_equal(atomic_load(&tries), 6);
	wnnGraphRelease(graph);
	wnnTensorRelease(x);
	wnnTensorRelease(y);
}

static void a_fault_and_no_context_after_it(void **state)
{
	struct fixture *f = *state;
	WNNGraph graph = build_add_relu(f->context, 4, 4);
	WNNTensor x = make_tensor(f->context, 4, 4), y = make_tensor(f->context, 4, 4);

	wnnContextGetLost(f->context, note_lost(f->notes, WNNCallbackMode_AllowSpontaneous, 1));
	fake.fault_at = 1;
	fake.fail_ctx_at = 2;
	assert_ok(dispatch_xy(f->context, graph, x, y));
	assert_true(notes_wait(f->notes, 1));
	assert_non_null(strstr(notes_get(f->notes, 0).message, "no context on the fake device"));
	wnnGraphRelease(graph);
	wnnTensorRelease(x);
	wnnTensorRelease(y);
}

static void a_job_that_is_refused(void **state)
{
	struct fixture *f = *state;
	WNNGraph graph = build_add_relu(f->context, 4, 4);
	WNNTensor x = make_tensor(f->context, 4, 4), y = make_tensor(f->context, 4, 4);

	fake.fail_submit_at = 1;
	assert_ok(dispatch_xy(f->context, graph, x, y));
	/* The submission is tried once more, and succeeds. */
	assert_ok(wnnContextWaitIdle(f->context, GENEROUS));
	assert_int_equal(fake.jobs, 2);
	wnnGraphRelease(graph);
	wnnTensorRelease(x);
	wnnTensorRelease(y);
}

static void memory_of_the_device_runs_out(void **state)
{
	struct fixture *f = *state;
	WNNGraph graph = build_add_relu(f->context, 4, 4), none = NULL;
	WNNTensor x = make_tensor(f->context, 4, 4), y = make_tensor(f->context, 4, 4),
		  third = NULL;
	WNNTensorDescriptor wanted = WNN_TENSOR_DESCRIPTOR_INIT;
	WNNGraphBuilder builder = wnnContextCreateGraphBuilder(f->context);
	WNNNamedOperand output = { WNN_STR("y"), NULL };

	wanted.dataType = WNNOperandDataType_Float32;
	fake.fail_bo_at = fake.made_bos + 1;
	assert_failed(wnnContextCreateTensorSync(f->context, &wanted, GENEROUS, &third),
		      WNNStatus_UnknownError, "no memory on the fake device");
	fake.fail_bo_at = fake.made_bos + 1;
	assert_ok(dispatch_xy(f->context, graph, x, y));
	assert_failed(wnnContextWaitIdle(f->context, GENEROUS), WNNStatus_UnknownError,
		      "no memory on the fake device");
	assert_ok(dispatch_xy(f->context, graph, x, y));
	assert_ok(wnnContextWaitIdle(f->context, GENEROUS));
	output.operand = wnnGraphBuilderRelu(builder, make_input(builder, "x", 4, 4), NULL);
	fake.fail_bo_at = fake.made_bos + 1;
	assert_failed(wnnGraphBuilderBuildSync(builder, 1, &output, GENEROUS, &none),
		      WNNStatus_UnknownError, "no memory on the fake device");
	wnnGraphBuilderRelease(builder);
	wnnGraphRelease(graph);
	wnnTensorRelease(x);
	wnnTensorRelease(y);
}

static void a_device_without_contexts(void **state)
{
	struct fixture *f = *state;
	WNNContextDeviceOptions device = WNN_CONTEXT_DEVICE_OPTIONS_INIT;
	WNNContextOptions options = WNN_CONTEXT_OPTIONS_INIT;
	WNNContext context = NULL;

	wnnContextRelease(f->context);
	wait_for_the_end();
	f->context = NULL;
	device.device = WNN_STR("sim");
	options.nextInChain = &device.chain;
	fake.fail_ctx_at = fake.made_contexts + 1;
	assert_failed(wnnInstanceCreateContextSync(f->instance, &options, GENEROUS, &context),
		      WNNStatus_OperationError, "no context on the fake device");
	assert_null(context);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_fault_names_the_operator),
		TEST(an_older_instruction_set_is_refused),
		TEST(victims_of_a_fault_run_again),
		TEST(values_in_memory_are_reported),
		TEST(a_row_that_no_job_holds),
		TEST(a_product_of_too_many_instructions),
		TEST(any_rows_that_no_job_holds),
		TEST(a_fault_in_one_of_several_jobs),
		TEST(the_error_callback_gets_every_fault),
		TEST(a_device_that_is_gone),
		TEST(resets_that_cancel_a_job),
		TEST(a_fault_and_no_context_after_it),
		TEST(a_job_that_is_refused),
		TEST(memory_of_the_device_runs_out),
		TEST(a_device_without_contexts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
