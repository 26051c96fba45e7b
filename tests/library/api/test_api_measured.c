// SPDX-License-Identifier: MIT
/*
 * Tests wnnContextDispatchMeasured(): the callback of each dispatch says what it cost, how it ended
 * and where it ran.
 */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>

#define N 24

static const char *const devices[] = { "cpu", "sim" };

struct told {
	WNNStatus status;
	WNNDispatchStatistics statistics;
	bool has_statistics;
	char message[256];
	unsigned int count;
};

/*
 * Callback: stores its arguments in @userdata1. It runs in wnnInstanceWaitAny or
 * wnnInstanceProcessEvents, on the thread of the test, so that no lock is needed.
 */
static void tell(WNNStatus status, WNNDispatchStatistics const *statistics, WNNStringView message,
		 void *userdata1, void *userdata2)
{
	struct told *told = userdata1;
	size_t length = message.length < 255 ? message.length : 255;

	assert_ptr_equal(userdata2, TAG(7));
	told->status = status;
	told->has_statistics = statistics != NULL;
	if (statistics)
		told->statistics = *statistics;
	memcpy(told->message, message.data, length);
	told->message[length] = '\0';
	told->count++;
}

static WNNDispatchMeasuredCallbackInfo tell_to(struct told *told)
{
	WNNDispatchMeasuredCallbackInfo info = WNN_DISPATCH_MEASURED_CALLBACK_INFO_INIT;

	info.callback = tell;
	info.userdata1 = told;
	info.userdata2 = TAG(7);
	return info;
}

static WNNFuture begin(WNNContext context, WNNGraph graph, WNNTensor x, WNNTensor y,
		       struct told *told)
{
	WNNNamedTensor in = { WNN_STR("x"), x }, out = { WNN_STR("y"), y };

	return wnnContextDispatchMeasured(context, graph, 1, &in, 1, &out, tell_to(told));
}

static WNNStatus measure(WNNContext context, WNNGraph graph, WNNTensor x, WNNTensor y,
			 WNNDispatchStatistics *statistics)
{
	WNNNamedTensor in = { WNN_STR("x"), x }, out = { WNN_STR("y"), y };

	return wnnContextDispatchMeasuredSync(context, graph, 1, &in, 1, &out, GENEROUS,
					      statistics);
}

/* Builds the matrix product y = x * x, so that the matrix engine has work. */
static WNNGraph build_product(WNNContext context)
{
	WNNGraphBuilder b = wnnContextCreateGraphBuilder(context);
	WNNOperand x = make_input(b, "x", N, N);
	WNNGraph graph = build_one(b, "y", wnnGraphBuilderMatmul(b, x, x, NULL));

	wnnGraphBuilderRelease(b);
	return graph;
}

static void check_cost(const WNNDispatchStatistics *s, WNNGraph graph, bool npu, bool product)
{
	WNNGraphStatistics last = WNN_GRAPH_STATISTICS_INIT;

	assert_ok(wnnGraphGetLastStatistics(graph, &last));
	assert_int_equal(s->number, last.dispatchCount);
	assert_int_equal(s->npuCycles, last.npuCycles);
	assert_int_equal(s->macs, last.macs);
	assert_int_equal(s->bytesRead, last.bytesRead);
	assert_int_equal(s->bytesWritten, last.bytesWritten);
	assert_int_equal(s->hostNanoseconds, last.hostNanoseconds);
	assert_true(s->hostNanoseconds >= s->npuNanoseconds + s->cpuNanoseconds);
	assert_int_equal(s->npuNodes + s->cpuNodes, product ? 1 : 2);
	assert_int_equal(npu ? s->cpuNodes : s->npuNodes, 0);
	if (!npu) {
		assert_int_equal(s->npuCycles + s->matrixCycles + s->vectorCycles, 0);
		assert_true(s->cpuNanoseconds > 0);
		return;
	}
	assert_int_equal(s->macs, product ? N * N * N : 0);
	assert_int_equal(s->bytesWritten, N * N * sizeof(float));
	assert_true(s->bytesRead >= N * N * sizeof(float));
	assert_true(s->loadCycles > 0 && s->storeCycles > 0);
	assert_int_equal(s->matrixCycles > 0, product);
	assert_true(product || s->vectorCycles > 0);
	assert_true(s->npuCycles >= s->loadCycles && s->npuCycles >= s->matrixCycles);
}

/* Two graphs alternate: each callback describes its own dispatch, not the last one. */
static void each_dispatch_is_told_of(void **state)
{
	(void)state;
	for (int d = 0; d < 2; d++) {
		WNNInstance instance = wnnCreateInstance(NULL);
		WNNContext context = open_context(instance, devices[d]);
		WNNTensor x = make_tensor(context, N, N), y = make_tensor(context, N, N);
		WNNGraph product = build_product(context), sum = build_add_relu(context, N, N);
		WNNDispatchStatistics s = WNN_DISPATCH_STATISTICS_INIT;

		for (unsigned int i = 1; i <= 3; i++) {
			assert_ok(measure(context, product, x, y, &s));
			assert_int_equal(s.number, i);
			check_cost(&s, product, d, true);
			assert_ok(measure(context, sum, x, y, &s));
			assert_int_equal(s.number, i);
			check_cost(&s, sum, d, false);
		}
		assert_ok(measure(context, sum, x, y, NULL));
		wnnGraphRelease(product);
		wnnGraphRelease(sum);
		wnnTensorRelease(x);
		wnnTensorRelease(y);
		wnnContextRelease(context);
		wnnInstanceRelease(instance);
	}
}

static void many_are_in_flight(void **state)
{
	(void)state;
	for (int d = 0; d < 2; d++) {
		WNNInstance instance = wnnCreateInstance(NULL);
		WNNContext context = open_context(instance, devices[d]);
		WNNTensor x = make_tensor(context, N, N), y = make_tensor(context, N, N);
		WNNGraph graph = build_product(context);
		struct told told[20] = { 0 };
		WNNFuture last = { 0 };

		for (int i = 0; i < 20; i++) {
			last = begin(context, graph, x, y, &told[i]);
			assert_int_not_equal(last.id, 0);
		}
		assert_ok(wait_future(instance, last));
		wnnInstanceProcessEvents(instance);
		for (unsigned int i = 0; i < 20; i++) {
			assert_int_equal(told[i].count, 1);
			assert_int_equal(told[i].status, WNNStatus_Success);
			assert_int_equal(told[i].statistics.number, i + 1);
			assert_string_equal(told[i].message, "");
		}
		wnnGraphRelease(graph);
		wnnTensorRelease(x);
		wnnTensorRelease(y);
		wnnContextRelease(context);
		wnnInstanceRelease(instance);
	}
}

/* Log hook: notes the thread on which a dispatch ends, which is the thread that computed it. */
static void note_thread(WNNLogLevel level, WNNStringView message, void *userdata1, void *userdata2)
{
	static const char end[] = " is through after ";
	unsigned long *thread = userdata1;

	(void)level;
	(void)userdata2;
	if (memmem(message.data, message.length, end, sizeof(end) - 1))
		*thread = this_thread();
}

/* Returns the thread that computes the first dispatch of a new graph. */
static unsigned long first_dispatch(WNNContext context, WNNTensor x, WNNTensor y, uint64_t limit,
				    const unsigned long *thread)
{
	WNNNamedTensor in = { WNN_STR("x"), x }, out = { WNN_STR("y"), y };
	WNNGraph graph = build_product(context);

	assert_ok(wnnContextDispatchMeasuredSync(context, graph, 1, &in, 1, &out, limit, NULL));
	assert_int_not_equal(*thread, 0);
	wnnGraphRelease(graph);
	return *thread;
}

/*
 * A caller who waits without a time limit computes the dispatch itself, even the first of a graph;
 * a caller with a limit does not.
 */
static void the_waiting_thread_computes(void **state)
{
	unsigned long thread = 0;
	WNNInstanceLog hook = WNN_INSTANCE_LOG_INIT;
	WNNInstanceDescriptor descriptor = WNN_INSTANCE_DESCRIPTOR_INIT;
	WNNInstance instance;
	WNNContext context;
	WNNTensor x, y;

	(void)state;
	hook.level = WNNLogLevel_Debug;
	hook.callback = note_thread;
	hook.userdata1 = &thread;
	descriptor.nextInChain = &hook.chain;
	instance = wnnCreateInstance(&descriptor);
	context = open_context(instance, "cpu");
	x = make_tensor(context, N, N);
	y = make_tensor(context, N, N);
	assert_int_not_equal(first_dispatch(context, x, y, GENEROUS, &thread), this_thread());
	/* The context's thread may not have left the timeline yet, so this takes several tries. */
	for (int i = 0; i < 1000 && thread != this_thread(); i++)
		first_dispatch(context, x, y, WNN_WAIT_FOREVER, &thread);
	assert_int_equal(thread, this_thread());
	wnnTensorRelease(x);
	wnnTensorRelease(y);
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
}

static void a_refusal_is_told(void **state)
{
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContext context = open_context(instance, "cpu");
	WNNTensor x = make_tensor(context, N, N), small = make_tensor(context, 1, 1);
	WNNGraph graph = build_product(context);
	WNNDispatchMeasuredCallbackInfo none = WNN_DISPATCH_MEASURED_CALLBACK_INFO_INIT;
	WNNDispatchStatistics s = WNN_DISPATCH_STATISTICS_INIT;
	struct told told = { 0 };
	WNNFuture future;

	(void)state;
	s.number = 4711;
	assert_failed(measure(context, graph, x, small, &s), WNNStatus_TypeError,
		      "output \"y\": the tensor is float32[1,1]; the graph has float32[24,24]");
	assert_int_equal(s.number, 4711);
	future = begin(context, graph, x, x, &told);
	assert_ok(wait_future(instance, future));
	assert_int_equal(told.status, WNNStatus_TypeError);
	assert_false(told.has_statistics);
	assert_non_null(strstr(told.message, "one tensor is given twice"));
	future = wnnContextDispatchMeasured(context, graph, 0, NULL, 0, NULL, none);
	assert_int_equal(future.id, 0);
	assert_last_error(WNNStatus_TypeError, "the callback is NULL");
	/* The refused call leaves no later failure. */
	assert_ok(wnnContextWaitIdle(context, GENEROUS));
	wnnGraphRelease(graph);
	wnnTensorRelease(x);
	wnnTensorRelease(small);
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
}

/*
 * Work that is queued when the context is lost ends with an error, whichever way the test waits for
 * it.
 */
static void a_lost_context_is_told(void **state)
{
	struct gate *gate = gate_create();
	WNNInstance instance = gate_instance(gate);
	WNNContext context = open_context(instance, "cpu");
	WNNTensor x = make_tensor(context, N, N), y = make_tensor(context, N, N);
	WNNNamedTensor in = { WNN_STR("x"), x }, out = { WNN_STR("y"), y };
	WNNGraph graph = build_product(context);
	struct told told = { 0 };
	WNNFuture future;

	(void)state;
	gate_close(gate, context);
	future = begin(context, graph, x, y, &told);
	assert_failed(wnnContextDispatchMeasuredSync(context, graph, 1, &in, 1, &out, 1000000,
						     NULL),
		      WNNStatus_TimedOut, "the time is over");
	wnnContextDestroy(context);
	assert_ok(wait_future(instance, future));
	assert_int_equal(told.status, WNNStatus_InvalidStateError);
	assert_false(told.has_statistics);
	gate_open(gate);
	assert_failed(measure(context, graph, x, y, NULL), WNNStatus_InvalidStateError, "is lost");
	wnnGraphRelease(graph);
	wnnTensorRelease(x);
	wnnTensorRelease(y);
	wnnContextRelease(context);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_dispatch_is_told_of),    cmocka_unit_test(many_are_in_flight),
		cmocka_unit_test(the_waiting_thread_computes), cmocka_unit_test(a_refusal_is_told),
		cmocka_unit_test(a_lost_context_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
