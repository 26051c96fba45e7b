// SPDX-License-Identifier: MIT
/*
 * Tests graphs that run partly on the NPU and partly on the CPU. The test replaces the function
 * that says which operators the NPU supports, so that it does not depend on those that are missing;
 * it also claims support for operators that then do not compile.
 */
#include "fixture.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "codegen/program.h"

/*
 * Replaces npu_supports(), by the linker's --wrap. Returns false, with a reason, for sines and,
 * while scatter_forbidden is set, for scatters; true for all other nodes.
 */
bool __wrap_npu_supports(const struct ir_node *node, const struct npu_caps *caps,
			 struct npu_reason *reason);

static bool scatter_forbidden;

bool __wrap_npu_supports(const struct ir_node *node, const struct npu_caps *caps,
			 struct npu_reason *reason)
{
	(void)caps;
	if (node->op == IR_OP_SCATTER && scatter_forbidden) {
		if (reason)
			*reason = (struct npu_reason){ NPU_REASON_OPERATOR,
						       "scatters are forbidden in this test" };
		return false;
	}
	if (node->op != IR_OP_UNARY || node->attrs.unary.kind != IR_SIN)
		return true;
	if (reason)
		*reason = (struct npu_reason){ NPU_REASON_OPERATOR,
					       "sines are forbidden in this test" };
	return false;
}

#define N 40

static WNNOperand label_sin(WNNGraphBuilder b, WNNOperand x, const char *label)
{
	WNNOperatorOptions options = WNN_OPERATOR_OPTIONS_INIT;

	options.label = WNN_STR(label);
	return wnnGraphBuilderSin(b, x, &options);
}

/*
 * Returns a built graph: a = |x| on the NPU, b = sin(a) on the CPU, c = -b * a on the NPU,
 * d = sin(c) on the CPU, and e = -d + x on the NPU. All but b are outputs. One CPU node and one NPU
 * program read a.
 */
static WNNGraph build_mixed(WNNContext context)
{
	WNNGraphBuilder builder = wnnContextCreateGraphBuilder(context);
	WNNOperand x = make_input(builder, "x", N, N), a, b, c, d, e;
	WNNNamedOperand outputs[4];
	WNNGraph graph = NULL;

	a = wnnGraphBuilderAbs(builder, x, NULL);
	b = label_sin(builder, a, "first");
	c = wnnGraphBuilderMul(builder, wnnGraphBuilderNeg(builder, b, NULL), a, NULL);
	d = label_sin(builder, c, "second");
	e = wnnGraphBuilderAdd(builder, wnnGraphBuilderNeg(builder, d, NULL), x, NULL);
	outputs[0] = (WNNNamedOperand){ WNN_STR("a"), a };
	outputs[1] = (WNNNamedOperand){ WNN_STR("c"), c };
	outputs[2] = (WNNNamedOperand){ WNN_STR("d"), d };
	outputs[3] = (WNNNamedOperand){ WNN_STR("e"), e };
	assert_ok(wnnGraphBuilderBuildSync(builder, 4, outputs, GENEROUS, &graph));
	wnnGraphBuilderRelease(builder);
	return graph;
}

static void check(const float *x, float got[4][N * N])
{
	for (int i = 0; i < N * N; i++) {
		float a = fabsf(x[i]), c = -sinf(a) * a, d = sinf(c);

		assert_true(got[0][i] == a);
		assert_true(fabsf(got[1][i] - c) < 1e-5f);
		assert_true(fabsf(got[2][i] - d) < 1e-5f);
		assert_true(fabsf(got[3][i] - (x[i] - d)) < 1e-5f);
	}
}

static void values_cross_between_devices(void **state)
{
	static float x[5][N * N], got[5][4][N * N];
	static const char *const names[] = { "a", "c", "d", "e" };
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContext context = open_context(instance, "sim");
	WNNGraph graph = build_mixed(context);
	WNNGraphStatistics statistics = WNN_GRAPH_STATISTICS_INIT;
	WNNTensor in[5], out[5][4];

	(void)state;
	/* All dispatches are queued before the test looks at the first result. */
	for (int r = 0; r < 5; r++) {
		WNNNamedTensor outputs[4], input;

		in[r] = make_tensor(context, N, N);
		for (int i = 0; i < N * N; i++)
			x[r][i] = (float)((i * 7 + r * 13) % 200 - 100) / 40;
		assert_ok(wnnContextWriteTensor(context, in[r], x[r], sizeof(x[r])));
		for (int i = 0; i < 4; i++) {
			out[r][i] = make_tensor(context, N, N);
			outputs[i] = (WNNNamedTensor){ WNN_STR(names[i]), out[r][i] };
		}
		input = (WNNNamedTensor){ WNN_STR("x"), in[r] };
		assert_ok(wnnContextDispatch(context, graph, 1, &input, 4, outputs));
	}
	for (int r = 0; r < 5; r++) {
		for (int i = 0; i < 4; i++) {
			assert_ok(wnnContextReadTensorIntoSync(context, out[r][i], got[r][i],
							       sizeof(got[r][i]), GENEROUS));
			wnnTensorRelease(out[r][i]);
		}
		check(x[r], got[r]);
		wnnTensorRelease(in[r]);
	}
	assert_ok(wnnGraphGetLastStatistics(graph, &statistics));
	assert_int_equal(statistics.dispatchCount, 5);
	assert_true(statistics.npuCycles > 0);
	assert_true(statistics.cpuNanoseconds > 0);
	wnnGraphRelease(graph);
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
}

/*
 * NPU and CPU share memory: the NPU stores a value that crosses between them once, and loads it
 * once. Any other traffic must be what the report calls copied, node by node.
 */
static void nothing_is_copied(void **state)
{
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContext context = open_context(instance, "sim");
	WNNGraph graph = build_mixed(context);
	WNNGraphStatistics statistics = WNN_GRAPH_STATISTICS_INIT;
	WNNGraphPlacement placement = WNN_GRAPH_PLACEMENT_INIT;
	const uint64_t bytes = N * N * sizeof(float);
	static const char *const names[] = { "a", "c", "d", "e" };
	WNNNamedTensor input = { WNN_STR("x"), make_tensor(context, N, N) }, outputs[4];
	uint64_t reported = 0;

	(void)state;
	for (int i = 0; i < 4; i++)
		outputs[i] = (WNNNamedTensor){ WNN_STR(names[i]), make_tensor(context, N, N) };
	assert_ok(wnnContextDispatch(context, graph, 1, &input, 4, outputs));
	assert_ok(wnnContextWaitIdle(context, GENEROUS));
	assert_ok(wnnGraphGetLastStatistics(graph, &statistics));
	assert_ok(wnnGraphGetPlacement(graph, &placement));
	for (size_t i = 0; i < placement.nodeCount; i++)
		reported += placement.nodes[i].bytesCopied;
	assert_int_equal(statistics.bytesCopied, reported);
	/*
	 * The NPU's three programs read x; a and b; d and x. They write a; c; e. neg's results stay
	 * in SRAM.
	 */
	assert_int_equal(statistics.bytesRead, 5 * bytes + reported);
	assert_int_equal(statistics.bytesWritten, 3 * bytes + reported);
	wnnTensorRelease(input.tensor);
	for (int i = 0; i < 4; i++)
		wnnTensorRelease(outputs[i].tensor);
	wnnGraphRelease(graph);
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
}

static void the_report_says_why(void **state)
{
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContext context = open_context(instance, "sim");
	WNNGraph graph = build_mixed(context);
	WNNGraphPlacement placement = WNN_GRAPH_PLACEMENT_INIT;
	WNNString text = WNN_STRING_INIT;
	size_t sines = 0;

	(void)state;
	assert_ok(wnnGraphGetPlacement(graph, &placement));
	assert_int_equal(placement.nodeCount, 7);
	assert_int_equal(placement.cpuCount, 2);
	assert_int_equal(placement.npuCount, 5);
	for (size_t i = 0; i < placement.nodeCount; i++) {
		const WNNNodePlacement *node = &placement.nodes[i];

		if (memcmp(node->operatorName.data, "sin", 3))
			continue;
		sines++;
		assert_int_equal(node->device, WNNNodeDevice_CPU);
		assert_int_equal(node->reason, WNNPlacementReason_Operator);
		assert_non_null(strstr(node->reasonText.data, "sines are forbidden"));
		assert_true(node->kernel.length > 0);
		assert_int_equal(node->exactness, WNNExactness_Undefined);
	}
	assert_int_equal(sines, 2);
	assert_ok(wnnGraphGetText(graph, WNNGraphText_Plan, &text));
	assert_non_null(strstr(text.data, "on the CPU"));
	assert_non_null(strstr(text.data, "on the NPU"));
	wnnStringFreeMembers(text);
	wnnGraphRelease(graph);
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
}

/* Counts the messages that the operators "first" and "second" cannot run. */
static void count_refused(WNNLogLevel level, WNNStringView message, void *userdata1,
			  void *userdata2)
{
	char text[256];

	snprintf(text, sizeof(text), "%.*s", (int)message.length, message.data);
	if (level != WNNLogLevel_Error || !strstr(text, "cannot run: "))
		return;
	atomic_fetch_add((atomic_int *)userdata1, strstr(text, "sin \"first\"") != NULL);
	atomic_fetch_add((atomic_int *)userdata2, strstr(text, "sin \"second\"") != NULL);
}

/*
 * Builds a graph with four sines of constants and returns the status of the build. Two sines are
 * outputs, and so are not folded; the other two are.
 */
static WNNStatus build_constant_sines(WNNContext context, WNNGraph *graph)
{
	static const float one[] = { 1 };
	WNNGraphBuilder b = wnnContextCreateGraphBuilder(context);
	WNNOperand c = make_constant(b, one, 1, 1), x = make_input(b, "x", 1, 1);
	WNNOperand computed = label_sin(b, wnnGraphBuilderNeg(b, label_sin(b, c, ""), NULL), "");
	const WNNNamedOperand outputs[] = {
		{ WNN_STR("a"), label_sin(b, c, "first") },
		{ WNN_STR("b"), label_sin(b, wnnGraphBuilderNeg(b, c, NULL), "second") },
		{ WNN_STR("y"), wnnGraphBuilderAdd(b, computed, x, NULL) },
	};
	WNNStatus status;

	for (size_t i = 0; i < 3; i++)
		assert_non_null(outputs[i].operand);
	status = wnnGraphBuilderBuildSync(b, 3, outputs, GENEROUS, graph);
	wnnGraphBuilderRelease(b);
	return status;
}

/* Only the build knows whether a sine is folded: it lists those that are not. */
static void npu_only_lists_what_cannot_be(void **state)
{
	WNNInstanceDescriptor descriptor = WNN_INSTANCE_DESCRIPTOR_INIT;
	WNNInstanceLog log = WNN_INSTANCE_LOG_INIT;
	atomic_int first = 0, second = 0;
	WNNInstance instance;
	WNNContextDeviceOptions options = WNN_CONTEXT_DEVICE_OPTIONS_INIT;
	WNNContext context;
	WNNGraph graph = NULL;

	(void)state;
	log.level = WNNLogLevel_Error;
	log.callback = count_refused;
	log.userdata1 = &first;
	log.userdata2 = &second;
	descriptor.nextInChain = &log.chain;
	instance = wnnCreateInstance(&descriptor);
	options.device = WNN_STR("sim");
	options.placementPolicy = WNNPlacementPolicy_NPUOnly;
	context = open_context_with(instance, &options);
	assert_failed(build_constant_sines(context, &graph), WNNStatus_OperationError,
		      "2 operators cannot run on the NPU");
	assert_null(graph);
	assert_last_error(WNNStatus_OperationError, "\"first\"");
	assert_last_error(WNNStatus_OperationError, "\"second\"");
	assert_int_equal(atomic_load(&first), 1);
	assert_int_equal(atomic_load(&second), 1);
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
}

static WNNContext open_npu_only(WNNInstance instance, bool folding)
{
	WNNContextDeviceOptions options = WNN_CONTEXT_DEVICE_OPTIONS_INIT;

	options.device = WNN_STR("sim");
	options.placementPolicy = WNNPlacementPolicy_NPUOnly;
	options.constantFolding = folding;
	return open_context_with(instance, &options);
}

/*
 * A sine that the NPU would have to run is refused in the call; the builder stays usable. With
 * constant folding y = x + sin(sin(-1)) builds, because the build computes its sines; without
 * folding, these are refused as well, and the graph is y = x + 1.
 */
static void npu_only_refuses_in_the_call(void **state)
{
	WNNInstance instance = wnnCreateInstance(NULL);
	static const float one[] = { 1 };

	(void)state;
	for (int folding = 0; folding < 2; folding++) {
		WNNContext context = open_npu_only(instance, folding);
		WNNGraphBuilder b = wnnContextCreateGraphBuilder(context);
		WNNOperand c = make_constant(b, one, 1, 1), x = make_input(b, "x", 1, 2), s;
		WNNGraph graph;

		assert_null(label_sin(b, x, "stem"));
		assert_last_error(WNNStatus_TypeError,
				  "1 operator cannot run on the NPU, and the policy NPUOnly allows "
				  "no other device: sin \"stem\": sines are forbidden in this "
				  "test; operands float32[1,2]");
		/* A node with an operand that is no constant is not folded. */
		assert_null(label_sin(b, wnnGraphBuilderAdd(b, c, x, NULL), ""));
		s = label_sin(b, wnnGraphBuilderNeg(b, c, NULL), "inner");
		assert_int_equal(s != NULL, folding);
		if (folding)
			s = label_sin(b, s, "outer");
		else
			assert_last_error(WNNStatus_TypeError, "sin \"inner\": sines are");
		graph = build_one(b, "y", wnnGraphBuilderAdd(b, x, s ? s : c, NULL));
		wnnGraphBuilderRelease(b);
		wnnGraphRelease(graph);
		wnnContextRelease(context);
	}
	wnnInstanceRelease(instance);
}

/* --- Operators that turn out not to compile --- */

/*
 * Returns the result of a transposed convolution of x, as an image of 1x2 pixels, with the strides
 * `stride`. With a wide stride, no tile has space for the zeros between two pixels.
 */
static WNNOperand spread(WNNGraphBuilder b, WNNOperand x, uint32_t stride, const char *label)
{
	static const float filter = 2;
	WNNConvTranspose2dOptions options = WNN_CONV_TRANSPOSE2D_OPTIONS_INIT;
	WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;

	descriptor.dataType = WNNOperandDataType_Float32;
	descriptor.shape = WNN_UINT32_LIST(1, 1, 1, 1);
	options.strides = WNN_UINT32_LIST(stride, stride);
	options.label = WNN_STR(label);
	return wnnGraphBuilderConvTranspose2d(
		b, wnnGraphBuilderReshape(b, x, WNN_UINT32_LIST(1, 1, 1, 2), NULL),
		wnnGraphBuilderConstant(b, &descriptor, &filter, sizeof(filter)), &options);
}

/*
 * Builds y = |-(sum(spread(-x)) + sum(spread(|x|)))|; returns the status of the build. `stride` is
 * that of the first spread(); the stride of the second, 300, is too wide for the NPU.
 */
static WNNStatus build_spread(WNNContext context, uint32_t stride, WNNGraph *graph)
{
	WNNGraphBuilder b = wnnContextCreateGraphBuilder(context);
	WNNOperand x = make_input(b, "x", 1, 2), left, right, sum;
	WNNNamedOperand output;
	WNNStatus status;

	left = spread(b, wnnGraphBuilderNeg(b, x, NULL), stride, "left");
	right = spread(b, wnnGraphBuilderAbs(b, x, NULL), 300, "right");
	left = wnnGraphBuilderReduceSum(b, left, NULL);
	right = wnnGraphBuilderReduceSum(b, right, NULL);
	sum = wnnGraphBuilderNeg(b, wnnGraphBuilderAdd(b, left, right, NULL), NULL);
	sum = wnnGraphBuilderReshape(b, wnnGraphBuilderAbs(b, sum, NULL), WNN_UINT32_LIST(1, 1),
				     NULL);
	output = (WNNNamedOperand){ WNN_STR("y"), sum };
	status = wnnGraphBuilderBuildSync(b, 1, &output, GENEROUS, graph);
	wnnGraphBuilderRelease(b);
	return status;
}

static void check_spread(WNNContext context, WNNGraph graph)
{
	WNNTensor x = make_tensor(context, 1, 2), y = make_tensor(context, 1, 1);
	const float data[] = { 3, -5 };
	float got;

	assert_ok(wnnContextWriteTensor(context, x, data, sizeof(data)));
	assert_ok(dispatch_xy(context, graph, x, y));
	assert_ok(wnnContextReadTensorIntoSync(context, y, &got, sizeof(got), GENEROUS));
	assert_true(got == 2 * (-3 + 5) + 2 * (3 + 5));
	wnnTensorRelease(x);
	wnnTensorRelease(y);
}

/* Counts warnings about operators that run on the CPU instead. */
static void count_moved(WNNLogLevel level, WNNStringView message, void *userdata1, void *userdata2)
{
	char text[256];

	(void)userdata2;
	snprintf(text, sizeof(text), "%.*s", (int)message.length, message.data);
	if (level == WNNLogLevel_Warning && strstr(text, "runs on the CPU: the smallest part"))
		atomic_fetch_add((atomic_int *)userdata1, 1);
}

static void what_does_not_compile_moves(void **state)
{
	WNNInstanceDescriptor descriptor = WNN_INSTANCE_DESCRIPTOR_INIT;
	WNNInstanceLog log = WNN_INSTANCE_LOG_INIT;
	atomic_int moved = 0;
	WNNInstance instance;
	WNNContext context;

	(void)state;
	log.level = WNNLogLevel_Warning;
	log.callback = count_moved;
	log.userdata1 = &moved;
	descriptor.nextInChain = &log.chain;
	instance = wnnCreateInstance(&descriptor);
	context = open_context(instance, "sim");
	for (int both = 0; both < 2; both++) {
		WNNGraphPlacement placement = WNN_GRAPH_PLACEMENT_INIT;
		WNNGraph graph = NULL;
		size_t compiler = 0;

		assert_ok(build_spread(context, both ? 200 : 2, &graph));
		assert_ok(wnnGraphGetPlacement(graph, &placement));
		assert_int_equal(placement.cpuCount, 1 + both);
		for (size_t i = 0; i < placement.nodeCount; i++) {
			const WNNNodePlacement *node = &placement.nodes[i];

			assert_int_equal(node->device == WNNNodeDevice_CPU,
					 node->reason == WNNPlacementReason_CompilerLimit);
			if (node->device != WNNNodeDevice_CPU)
				continue;
			compiler++;
			assert_true(both || !strcmp(node->label.data, "right"));
			assert_non_null(
				strstr(node->reasonText.data,
				       "bytes of SRAM, but the NPU has 65536 for it (kernel "
				       "mma.f32 taps); operands float32["));
			assert_true(node->kernel.length > 0);
		}
		assert_int_equal(compiler, 1 + both);
		check_spread(context, graph);
		wnnGraphRelease(graph);
	}
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
	assert_int_equal(atomic_load(&moved), 3);
}

static void npu_only_tells_what_does_not_compile(void **state)
{
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContextDeviceOptions options = WNN_CONTEXT_DEVICE_OPTIONS_INIT;
	WNNContext context;
	WNNGraph graph = NULL;

	(void)state;
	options.device = WNN_STR("sim");
	options.simSramBytes = 65536;
	options.placementPolicy = WNNPlacementPolicy_NPUOnly;
	context = open_context_with(instance, &options);
	assert_failed(build_spread(context, 2, &graph), WNNStatus_OperationError,
		      "1 operator cannot run on the NPU, and the policy NPUOnly allows no other "
		      "device: convTranspose2d \"right\": the smallest part of the operator "
		      "needs ");
	assert_failed(build_spread(context, 200, &graph), WNNStatus_OperationError,
		      "2 operators cannot run on the NPU");
	assert_last_error(WNNStatus_OperationError, "\"left\": the smallest part");
	assert_last_error(WNNStatus_OperationError, "\"right\": the smallest part");
	assert_null(graph);
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
}

/*
 * Updates a cache of N * 8 elements in place. Operators on the NPU and on the CPU read the new
 * value; the scatter is on the NPU, or with scatter_forbidden on the CPU.
 */
static void update_between_devices(WNNContext context)
{
	static const uint32_t flat[] = { N * 8 }, rows[] = { N, 8 };
	WNNGraphBuilder b = wnnContextCreateGraphBuilder(context);
	WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
	WNNTensorDescriptor place = WNN_TENSOR_DESCRIPTOR_INIT;
	WNNTensor cache = make_tensor(context, N, 8), row = make_tensor(context, 1, 8);
	WNNTensor y = make_tensor(context, N, 8), at = NULL;
	float want[N * 8], got[N * 8], sines[N * 8];
	WNNOperand old = make_input(b, "cache", N, 8), whole, sine;
	WNNNamedOperand outputs[2];
	WNNGraph graph = NULL;

	descriptor.dataType = place.dataType = WNNOperandDataType_Int32;
	descriptor.shape = place.shape = WNN_UINT32_ARRAY(((uint32_t[]){ 1, 1 }));
	place.writable = true;
	assert_ok(wnnContextCreateTensorSync(context, &place, GENEROUS, &at));
	whole = wnnGraphBuilderScatterND(b, old,
					 wnnGraphBuilderInput(b, WNN_STR("at"), &descriptor),
					 make_input(b, "row", 1, 8), NULL);
	whole = wnnGraphBuilderReshape(b, whole, WNN_UINT32_ARRAY(flat), NULL);
	whole = wnnGraphBuilderReshape(b, whole, WNN_UINT32_ARRAY(rows), NULL);
	sine = label_sin(b, wnnGraphBuilderNeg(b, whole, NULL), "of all");
	sine = wnnGraphBuilderAdd(b, label_sin(b, whole, "again"), sine, NULL);
	outputs[0] = (WNNNamedOperand){ WNN_STR("y"), wnnGraphBuilderAdd(b, sine, whole, NULL) };
	outputs[1] = (WNNNamedOperand){ WNN_STR("whole"), whole };
	assert_ok(wnnGraphBuilderUpdateInput(b, old, whole));
	assert_ok(wnnGraphBuilderBuildSync(b, 2, outputs, GENEROUS, &graph));
	for (int i = 0; i < N * 8; i++)
		want[i] = (float)(i % 11) / 8;
	assert_ok(wnnContextWriteTensor(context, cache, want, sizeof(want)));
	for (int32_t step = 0; step < 3; step++) {
		const WNNNamedTensor in[] = { { WNN_STR("cache"), cache },
					      { WNN_STR("at"), at },
					      { WNN_STR("row"), row } };
		const WNNNamedTensor out[] = { { WNN_STR("y"), y }, { WNN_STR("whole"), cache } };
		int32_t position = 3 * step;

		for (int i = 0; i < 8; i++)
			want[8 * position + i] = (float)(step + i);
		assert_ok(wnnContextWriteTensor(context, at, &position, sizeof(position)));
		assert_ok(wnnContextWriteTensor(context, row, &want[8 * position], 32));
		assert_ok(wnnContextDispatch(context, graph, 3, in, 2, out));
	}
	assert_ok(wnnContextReadTensorIntoSync(context, cache, got, sizeof(got), GENEROUS));
	assert_memory_equal(got, want, sizeof(got));
	assert_ok(wnnContextReadTensorIntoSync(context, y, sines, sizeof(sines), GENEROUS));
	for (int i = 0; i < N * 8; i++)
		assert_true(fabsf(sines[i] - want[i]) < 1e-5f);
	wnnTensorRelease(cache);
	wnnTensorRelease(row);
	wnnTensorRelease(y);
	wnnTensorRelease(at);
	wnnGraphRelease(graph);
	wnnGraphBuilderRelease(b);
}

static void updates_cross_between_devices(void **state)
{
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContext context = open_context(instance, "sim");

	(void)state;
	update_between_devices(context);
	scatter_forbidden = true;
	update_between_devices(context);
	scatter_forbidden = false;
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_cross_between_devices),
		cmocka_unit_test(nothing_is_copied),
		cmocka_unit_test(the_report_says_why),
		cmocka_unit_test(npu_only_lists_what_cannot_be),
		cmocka_unit_test(npu_only_refuses_in_the_call),
		cmocka_unit_test(what_does_not_compile_moves),
		cmocka_unit_test(npu_only_tells_what_does_not_compile),
		cmocka_unit_test(updates_cross_between_devices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
