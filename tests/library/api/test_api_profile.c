// SPDX-License-Identifier: MIT
/* Tests wnnGraphGetProfile(): every cycle, instruction and byte is accounted for exactly once. */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>

#define ROWS 40
#define COLS 96
#define SRAM (1 << 16)

struct fixture {
	WNNInstance instance;
	WNNContext context;
	WNNGraph graph;
	WNNTensor x, y;
};

static WNNContext open_profiled(WNNInstance instance, const char *device, bool profile)
{
	WNNContextDeviceOptions options = WNN_CONTEXT_DEVICE_OPTIONS_INIT;
	const char *firmware = getenv("ONPU_FIRMWARE");

	options.device = WNN_STR(device);
	options.simSramBytes = SRAM;
	options.profile = profile;
	if (firmware) {
		options.simMode = WNNSimMode_Full;
		options.simFirmwarePath = WNN_STR(firmware);
	}
	return open_context_with(instance, &options);
}

/*
 * Builds y = softmax(relu(x w) x), where x w is a matrix product and the other product is
 * elementwise, so that every engine has work.
 */
static WNNGraph build(WNNContext context)
{
	static float w[COLS * COLS];
	WNNGraphBuilder b = wnnContextCreateGraphBuilder(context);
	WNNOperatorOptions first = WNN_OPERATOR_OPTIONS_INIT, last = WNN_OPERATOR_OPTIONS_INIT;
	WNNOperand x = make_input(b, "x", ROWS, COLS), y;
	WNNGraph graph;

	for (int i = 0; i < COLS * COLS; i++)
		w[i] = (float)(i % 17 - 8) / 16;
	first.label = WNN_STR("first");
	last.label = WNN_STR("last");
	y = wnnGraphBuilderMatmul(b, x, make_constant(b, w, COLS, COLS), &first);
	y = wnnGraphBuilderRelu(b, y, NULL);
	y = wnnGraphBuilderMul(b, y, x, NULL);
	y = wnnGraphBuilderSoftmax(b, y, 1, &last);
	graph = build_one(b, "y", y);
	wnnGraphBuilderRelease(b);
	return graph;
}

static void open_all(struct fixture *f, const char *device, bool profile)
{
	f->instance = wnnCreateInstance(NULL);
	f->context = open_profiled(f->instance, device, profile);
	f->graph = build(f->context);
	f->x = make_tensor(f->context, ROWS, COLS);
	f->y = make_tensor(f->context, ROWS, COLS);
}

static void close_all(struct fixture *f)
{
	wnnTensorRelease(f->x);
	wnnTensorRelease(f->y);
	wnnGraphRelease(f->graph);
	wnnContextRelease(f->context);
	wnnInstanceRelease(f->instance);
}

static void run(const struct fixture *f)
{
	assert_ok(dispatch_xy(f->context, f->graph, f->x, f->y));
	assert_ok(wnnContextWaitIdle(f->context, GENEROUS));
}

static bool view_is(WNNStringView view, const char *text)
{
	return view.length == strlen(text) && !memcmp(view.data, text, view.length);
}

static WNNProfileNode sum_nodes(const WNNGraphProfile *profile)
{
	WNNProfileNode sum = WNN_PROFILE_NODE_INIT;

	for (size_t i = 0; i < profile->nodeCount; i++) {
		const WNNProfileNode *node = &profile->nodes[i];

		sum.instructionCount += node->instructionCount;
		sum.cycles += node->cycles;
		sum.controlCycles += node->controlCycles;
		sum.loadCycles += node->loadCycles;
		sum.storeCycles += node->storeCycles;
		sum.matrixCycles += node->matrixCycles;
		sum.vectorCycles += node->vectorCycles;
		sum.stallCycles += node->stallCycles;
		sum.macs += node->macs;
		sum.bytesRead += node->bytesRead;
		sum.bytesWritten += node->bytesWritten;
	}
	return sum;
}

static void check_sums(const WNNGraphProfile *profile, const WNNGraphStatistics *statistics)
{
	WNNProfileNode sum = sum_nodes(profile);

	assert_int_equal(profile->cycles, statistics->npuCycles);
	assert_int_equal(sum.cycles + profile->endCycles, profile->cycles);
	assert_int_equal(sum.loadCycles, profile->loadCycles);
	assert_int_equal(sum.storeCycles, profile->storeCycles);
	assert_int_equal(sum.matrixCycles, profile->matrixCycles);
	assert_int_equal(sum.vectorCycles, profile->vectorCycles);
	assert_int_equal(sum.macs, statistics->macs);
	assert_int_equal(sum.bytesRead, statistics->bytesRead);
	assert_int_equal(sum.bytesWritten, statistics->bytesWritten);
	assert_in_range(profile->loadCycles, 1, profile->cycles);
	assert_in_range(profile->storeCycles, 1, profile->cycles);
	assert_in_range(profile->matrixCycles, 1, profile->cycles);
	assert_in_range(profile->vectorCycles, 1, profile->cycles);
	assert_int_equal(profile->hostNanoseconds, statistics->hostNanoseconds);
}

/*
 * Checks that each engine runs one instruction after the other, and that each instruction other
 * than "end" belongs to a node.
 */
static void check_events(const WNNGraphProfile *profile)
{
	const WNNGraphProfileMemory *memory = (const void *)profile->nextInChain;
	uint64_t end[WNNProfileEngine_Vector + 1] = { 0 },
					       busy[WNNProfileEngine_Vector + 1] = { 0 };
	uint64_t read = 0, written = 0, most = 0;
	size_t ends = 0;

	for (size_t i = 0; i < profile->eventCount; i++) {
		const WNNProfileEvent *event = &profile->events[i];

		assert_in_range(event->engine, WNNProfileEngine_Control, WNNProfileEngine_Vector);
		assert_true(event->startCycle >= end[event->engine] + event->stallCycles);
		assert_true(event->endCycle >= event->startCycle);
		assert_true(event->endCycle <= profile->cycles);
		end[event->engine] = event->endCycle;
		busy[event->engine] += event->endCycle - event->startCycle;
		read += memory->events[i].bytesRead;
		written += memory->events[i].bytesWritten;
		most = memory->events[i].sramBytes > most ? memory->events[i].sramBytes : most;
		assert_true(memory->events[i].sramBytes <= SRAM);
		if (view_is(event->instruction, "end")) {
			assert_int_equal(event->node, WNN_NODE_NONE);
			ends++;
		} else {
			assert_in_range(event->node, 0, profile->nodeCount - 1);
		}
	}
	assert_int_equal(busy[WNNProfileEngine_Control], profile->controlCycles);
	assert_int_equal(busy[WNNProfileEngine_Load], profile->loadCycles);
	assert_int_equal(busy[WNNProfileEngine_Store], profile->storeCycles);
	assert_int_equal(busy[WNNProfileEngine_Matrix], profile->matrixCycles);
	assert_int_equal(busy[WNNProfileEngine_Vector], profile->vectorCycles);
	assert_int_equal(read, sum_nodes(profile).bytesRead);
	assert_int_equal(written, sum_nodes(profile).bytesWritten);
	/* At some time, at least half of a matrix [ROWS,COLS] of float32 is in SRAM. */
	assert_in_range(most, ROWS * COLS * 2, SRAM);
	assert_int_equal(ends, profile->spanCount);
	assert_int_equal(sum_nodes(profile).instructionCount + ends, profile->eventCount);
}

static void check_nodes(const WNNGraphProfile *profile, size_t count)
{
	assert_int_equal(profile->nodeCount, count);
	for (size_t i = 0; i < profile->nodeCount; i++) {
		const WNNProfileNode *node = &profile->nodes[i];

		assert_int_equal(node->device, WNNNodeDevice_NPU);
		assert_true(node->kernel.length > 0);
		assert_true(node->instructionCount > 0 && node->cycles > 0);
		assert_int_equal(node->cpuNanoseconds, 0);
	}
	assert_true(view_is(profile->nodes[0].label, "first"));
	assert_true(view_is(profile->nodes[0].operatorName, "matmul+relu"));
	assert_true(profile->nodes[0].matrixCycles == profile->matrixCycles);
	assert_true(view_is(profile->nodes[profile->nodeCount - 1].label, "last"));
}

static void test_npu(void **state)
{
	WNNGraphStatistics statistics = WNN_GRAPH_STATISTICS_INIT;
	struct fixture f;

	(void)state;
	open_all(&f, "sim", true);
	for (int i = 0; i < 3; i++) {
		WNNGraphProfileMemory memory = WNN_GRAPH_PROFILE_MEMORY_INIT;
		WNNGraphProfile profile = WNN_GRAPH_PROFILE_INIT;

		run(&f);
		profile.nextInChain = &memory.chain;
		assert_ok(wnnGraphGetProfile(f.graph, &profile));
		assert_ok(wnnGraphGetLastStatistics(f.graph, &statistics));
		assert_ptr_equal(profile.nextInChain, &memory.chain);
		assert_int_equal(memory.eventCount, profile.eventCount);
		assert_int_equal(profile.spanCount, 1);
		assert_int_equal(profile.spans[0].device, WNNNodeDevice_NPU);
		assert_int_equal(profile.spans[0].node, WNN_NODE_NONE);
		assert_int_equal(profile.spans[0].cycles, profile.cycles);
		assert_true(profile.spans[0].endNanoseconds >= profile.spans[0].startNanoseconds);
		assert_true(profile.spans[0].endNanoseconds <= profile.hostNanoseconds);
		check_sums(&profile, &statistics);
		check_events(&profile);
		check_nodes(&profile, wnnGraphGetNodeCount(f.graph));
		wnnGraphProfileFreeMembers(profile);
	}
	close_all(&f);
}

static void test_same_cycles(void **state)
{
	WNNGraphStatistics statistics[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct fixture f;

		statistics[i] = WNN_GRAPH_STATISTICS_INIT;
		open_all(&f, "sim", i);
		run(&f);
		assert_ok(wnnGraphGetLastStatistics(f.graph, &statistics[i]));
		close_all(&f);
	}
	assert_int_equal(statistics[0].npuCycles, statistics[1].npuCycles);
}

static void test_cpu(void **state)
{
	WNNGraphProfile profile = WNN_GRAPH_PROFILE_INIT;
	struct fixture f;
	uint64_t before = 0;

	(void)state;
	open_all(&f, "cpu", true);
	run(&f);
	assert_ok(wnnGraphGetProfile(f.graph, &profile));
	assert_int_equal(profile.cycles, 0);
	assert_int_equal(profile.eventCount, 0);
	assert_int_equal(profile.spanCount, profile.nodeCount);
	assert_int_equal(profile.nodeCount, wnnGraphGetNodeCount(f.graph));
	for (size_t i = 0; i < profile.spanCount; i++) {
		const WNNProfileSpan *span = &profile.spans[i];

		assert_int_equal(span->device, WNNNodeDevice_CPU);
		assert_int_equal(span->node, i);
		assert_true(span->startNanoseconds >= before);
		before = span->endNanoseconds;
		assert_int_equal(profile.nodes[i].device, WNNNodeDevice_CPU);
		assert_int_equal(profile.nodes[i].cpuNanoseconds,
				 span->endNanoseconds - span->startNanoseconds);
	}
	assert_true(before <= profile.hostNanoseconds);
	wnnGraphProfileFreeMembers(profile);
	close_all(&f);
}

/* A caller that does not chain WNNGraphProfileMemory gets the same events. */
static void test_without_memory(void **state)
{
	WNNGraphProfileMemory memory = WNN_GRAPH_PROFILE_MEMORY_INIT, again = memory;
	WNNGraphProfile with = WNN_GRAPH_PROFILE_INIT, without = WNN_GRAPH_PROFILE_INIT;
	struct fixture f;

	(void)state;
	open_all(&f, "sim", true);
	run(&f);
	with.nextInChain = &memory.chain;
	assert_ok(wnnGraphGetProfile(f.graph, &with));
	assert_ok(wnnGraphGetProfile(f.graph, &without));
	assert_int_equal(with.eventCount, without.eventCount);
	for (size_t i = 0; i < with.eventCount; i++) {
		assert_int_equal(with.events[i].startCycle, without.events[i].startCycle);
		assert_true(
			view_is(with.events[i].instruction, without.events[i].instruction.data));
	}
	wnnGraphProfileFreeMembers(with);
	wnnGraphProfileFreeMembers(without);
	memory.chain.next = &again.chain;
	assert_failed(wnnGraphGetProfile(f.graph, &with), WNNStatus_TypeError, "a second struct");
	memory.chain.next = NULL;
	memory.chain.sType = WNNSType_BorrowedConstant;
	assert_failed(wnnGraphGetProfile(f.graph, &with), WNNStatus_TypeError,
		      "wnnGraphGetProfile: the chain of WNNGraphProfile holds an unknown struct");
	close_all(&f);
}

static void test_refused(void **state)
{
	WNNGraphProfile profile = WNN_GRAPH_PROFILE_INIT;
	struct fixture f;

	(void)state;
	wnnGraphProfileFreeMembers(profile);
	open_all(&f, "sim", false);
	run(&f);
	assert_failed(wnnGraphGetProfile(f.graph, &profile), WNNStatus_NotSupportedError,
		      "WNNContextDeviceOptions");
	close_all(&f);
	open_all(&f, "sim", true);
	assert_failed(wnnGraphGetProfile(f.graph, &profile), WNNStatus_InvalidStateError,
		      "no dispatch");
	assert_failed(wnnGraphGetProfile(f.graph, NULL), WNNStatus_TypeError, "profile");
	assert_failed(wnnGraphGetProfile(NULL, &profile), WNNStatus_TypeError, "graph");
	run(&f);
	wnnGraphDestroy(f.graph);
	assert_failed(wnnGraphGetProfile(f.graph, &profile), WNNStatus_InvalidStateError,
		      "destroyed");
	close_all(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_npu),	cmocka_unit_test(test_same_cycles),
		cmocka_unit_test(test_cpu),	cmocka_unit_test(test_without_memory),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests_name("profile", tests, NULL, NULL);
}
