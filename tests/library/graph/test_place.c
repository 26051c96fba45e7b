// SPDX-License-Identifier: MIT
/* Tests the placement: policies, reasons, and the error for a node that no device can run. */
#include "fixture.h"

#include "pass/place.h"

/*
 * Returns whether an NPU that lacks exp and float16 supports a node; if not, sets *text to the
 * reason.
 */
static WNNPlacementReason npu(const struct ir_node *node, void *userdata, const char **text)
{
	(void)userdata;
	if (node->results[0]->type.dtype == IR_F16) {
		*text = "float16 is no type of this NPU";
		return WNNPlacementReason_DataType;
	}
	if (node->op == IR_OP_UNARY && node->attrs.unary.kind == IR_EXP) {
		*text = "there is no exp";
		return WNNPlacementReason_Operator;
	}
	return WNNPlacementReason_Supported;
}

static bool cpu(const struct ir_node *node, void *userdata)
{
	(void)userdata;
	return node->op != IR_OP_UNARY || node->attrs.unary.kind != IR_LOG;
}

static struct wnn_recording *record(WNNOperandDataType type, bool with_log)
{
	WNNOperatorOptions label = { NULL, WNN_STR("e") };
	struct wnn_recording *recording;
	struct fixture f;
	WNNOperand x;

	fixture_open(&f);
	x = fixture_input(&f, type, DIMS(2, 3));
	x = wnnGraphBuilderExp(f.b, wnnGraphBuilderAbs(f.b, x, NULL), &label);
	if (with_log)
		x = wnnGraphBuilderLog(f.b, x, NULL);
	recording = fixture_build(&f, "y", wnnGraphBuilderNeg(f.b, x, NULL));
	fixture_close(&f);
	return recording;
}

static void reasons_are_given(void **state)
{
	struct wnn_recording *recording = record(WNNOperandDataType_Float32, false);
	struct wnn_place_options options = { .npu = npu, .cpu = cpu };
	struct wnn_placement placement;

	(void)state;
	assert_int_equal(wnn_place(recording->graph, &options, &placement, &test_error), 0);
	assert_int_equal(placement.num_npu, 2);
	assert_int_equal(placement.num_cpu, 1);
	assert_int_equal(placement.nodes[0].device, WNNNodeDevice_NPU);
	assert_int_equal(placement.nodes[0].reason, WNNPlacementReason_Supported);
	assert_string_equal(placement.nodes[0].text, "the NPU runs it; operands float32[2,3]");
	assert_int_equal(placement.nodes[1].device, WNNNodeDevice_CPU);
	assert_int_equal(placement.nodes[1].reason, WNNPlacementReason_Operator);
	assert_string_equal(placement.nodes[1].text, "there is no exp; operands float32[2,3]");
	wnn_placement_destroy(&placement);

	options.policy = WNNPlacementPolicy_CPUOnly;
	assert_int_equal(wnn_place(recording->graph, &options, &placement, &test_error), 0);
	assert_int_equal(placement.num_cpu, 3);
	assert_int_equal(placement.nodes[0].reason, WNNPlacementReason_CPUPolicy);
	wnn_placement_destroy(&placement);

	options = (struct wnn_place_options){ .cpu_device = true, .cpu = cpu };
	assert_int_equal(wnn_place(recording->graph, &options, &placement, &test_error), 0);
	assert_int_equal(placement.num_cpu, 3);
	assert_int_equal(placement.nodes[2].reason, WNNPlacementReason_CPUDevice);
	wnn_placement_destroy(&placement);

	options.policy = WNNPlacementPolicy_NPUOnly;
	assert_int_equal(wnn_place(recording->graph, &options, &placement, &test_error), -1);
	assert_refused(NULL, WNN_NOT_SUPPORTED, "NPUOnly, but the device is the CPU");
	wnn_placement_destroy(&placement);
	wnn_recording_destroy(recording);
}

static void npu_only_lists_every_node(void **state)
{
	struct wnn_recording *recording = record(WNNOperandDataType_Float16, true);
	struct wnn_place_options options = {
		.policy = WNNPlacementPolicy_NPUOnly,
		.npu = npu,
		.cpu = cpu,
	};
	struct wnn_placement placement;

	(void)state;
	assert_int_equal(wnn_place(recording->graph, &options, &placement, &test_error), -1);
	for (int i = 0; i < 4; i++)
		assert_true(placement.nodes[i].failed);
	assert_int_equal(placement.nodes[3].reason, WNNPlacementReason_DataType);
	assert_refused(NULL, WNN_OPERATION_ERROR,
		       "4 operators cannot run on the NPU, and the policy NPUOnly allows no other "
		       "device: abs: float16 is no "
		       "type of this NPU; operands float16[2,3]; exp \"e\": float16 is no");
	wnn_placement_destroy(&placement);
	wnn_recording_destroy(recording);
}

/* Control characters in a label are escaped in an error. */
static void labels_are_fit_for_messages(void **state)
{
	struct wnn_place_options options = {
		.policy = WNNPlacementPolicy_NPUOnly,
		.npu = npu,
		.cpu = cpu,
	};
	WNNOperatorOptions label = { NULL, WNN_STR("a\nb") };
	struct wnn_recording *recording;
	struct wnn_placement placement;
	struct fixture f;

	(void)state;
	fixture_open(&f);
	recording = fixture_build(&f, "y", wnnGraphBuilderNeg(f.b, INPUT(&f, Float16, 2), &label));
	fixture_close(&f);
	assert_int_equal(wnn_place(recording->graph, &options, &placement, &test_error), -1);
	assert_refused(NULL, WNN_OPERATION_ERROR, "device: neg \"a\\u000ab\": float16 is no");
	wnn_placement_destroy(&placement);
	wnn_recording_destroy(recording);
}

static void long_lists_are_counted(void **state)
{
	struct wnn_place_options options = {
		.policy = WNNPlacementPolicy_NPUOnly,
		.npu = npu,
		.cpu = cpu,
	};
	struct wnn_recording *recording;
	struct wnn_placement placement;
	struct fixture f;
	WNNOperand x;

	(void)state;
	fixture_open(&f);
	x = INPUT(&f, Float16, 2);
	for (int i = 0; i < 100; i++)
		x = wnnGraphBuilderNeg(f.b, x, NULL);
	recording = fixture_build(&f, "y", x);
	fixture_close(&f);
	assert_int_equal(wnn_place(recording->graph, &options, &placement, &test_error), -1);
	assert_int_equal(placement.nodes[99].failed, true);
	assert_non_null(strstr(test_error.message, "100 operators cannot run"));
	assert_refused(NULL, WNN_OPERATION_ERROR, " more");
	wnn_placement_destroy(&placement);
	wnn_recording_destroy(recording);
}

/* A reason with the types of many operands is told, though it is longer than usual. */
static void long_reasons_are_told(void **state)
{
	struct wnn_place_options options = {
		.policy = WNNPlacementPolicy_NPUOnly,
		.npu = npu,
		.cpu = cpu,
	};
	struct wnn_recording *recording;
	struct wnn_placement placement;
	WNNOperand inputs[40];
	struct fixture f;

	(void)state;
	fixture_open(&f);
	for (int i = 0; i < 40; i++)
		inputs[i] = INPUT(&f, Float16, 2, 3);
	recording = fixture_build(&f, "y", wnnGraphBuilderConcat(f.b, 40, inputs, 0, NULL));
	fixture_close(&f);
	assert_int_equal(wnn_place(recording->graph, &options, &placement, &test_error), -1);
	assert_refused(NULL, WNN_OPERATION_ERROR,
		       "device: concat: float16 is no type of this NPU; operands float16[2,3], ");
	assert_null(strstr(test_error.message, " more"));
	wnn_placement_destroy(&placement);
	wnn_recording_destroy(recording);
}

static void nodes_without_any_kernel_are_listed(void **state)
{
	struct wnn_recording *recording = record(WNNOperandDataType_Float16, true);
	struct wnn_place_options options = { .npu = npu, .cpu = cpu };
	struct wnn_placement placement;

	(void)state;
	assert_int_equal(wnn_place(recording->graph, &options, &placement, &test_error), -1);
	assert_refused(
		NULL, WNN_OPERATION_ERROR,
		"1 operator can run on no device that the context and its placement policy allow: "
		"log: neither the NPU nor the CPU can run it");
	wnn_placement_destroy(&placement);
	options.policy = WNNPlacementPolicy_CPUOnly;
	assert_int_equal(wnn_place(recording->graph, &options, &placement, &test_error), -1);
	assert_refused(NULL, WNN_OPERATION_ERROR, "log: the CPU has no kernel for it");
	wnn_placement_destroy(&placement);
	wnn_recording_destroy(recording);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reasons_are_given),
		cmocka_unit_test(npu_only_lists_every_node),
		cmocka_unit_test(labels_are_fit_for_messages),
		cmocka_unit_test(long_lists_are_counted),
		cmocka_unit_test(long_reasons_are_told),
		cmocka_unit_test(nodes_without_any_kernel_are_listed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
