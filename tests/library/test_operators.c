// SPDX-License-Identifier: MIT
/*
 * Tests that the generated operator functions pass on the values that the table describes, and the
 * defaults of options.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/record.h"

static char objects[16];
#define OPERAND(n) ((WNNOperand)(void *)&objects[n])
#define BUILDER	   ((WNNGraphBuilder)(void *)&objects[15])

/* The last call, with copies of its operands and options, which are valid only during the call. */
static struct {
	struct wnn_op_call call;
	WNNOperand operands[8];
	_Alignas(max_align_t) char options[256];
	size_t output_count;
	WNNGraphBuilder builder;
} last;

/*
 * Replaces the function of api/, which needs a builder. Notes the call in `last`, sets the outputs
 * to handles of their own, and returns success.
 */
WNNStatus wnn_builder_record(WNNGraphBuilder builder, struct wnn_op_call *call, size_t output_count,
			     WNNOperand *outputs)
{
	const struct wnn_options_info *options = wnn_op_info[call->op].options;

	last.builder = builder;
	last.call = *call;
	last.output_count = output_count;
	assert_in_range(call->operand_count, 0, 8);
	if (call->operand_count)
		memcpy(last.operands, call->operands, call->operand_count * sizeof(WNNOperand));
	assert_true(options->size <= sizeof(last.options));
	memcpy(last.options, call->options, options->size);
	for (size_t i = 0; i < output_count; i++)
		outputs[i] = OPERAND(8 + i);
	return WNNStatus_Success;
}

static void operands_and_options_arrive(void **state)
{
	WNNConv2dOptions options = WNN_CONV2D_OPTIONS_INIT;
	const WNNConv2dOptions *seen = (const void *)last.options;

	(void)state;
	options.bias = OPERAND(2);
	options.groups = 7;
	assert_ptr_equal(wnnGraphBuilderConv2d(BUILDER, OPERAND(0), OPERAND(1), &options),
			 OPERAND(8));
	assert_ptr_equal(last.builder, BUILDER);
	assert_int_equal(last.call.op, WNN_OP_CONV2D);
	assert_int_equal(last.call.operand_count, wnn_op_info[WNN_OP_CONV2D].operand_count);
	assert_ptr_equal(last.operands[0], OPERAND(0));
	assert_ptr_equal(last.operands[1], OPERAND(1));
	assert_ptr_equal(last.operands[2], OPERAND(2));
	assert_int_equal(seen->groups, 7);
}

static void defaults_stand_for_null(void **state)
{
	const WNNConv2dOptions *conv = (const void *)last.options;
	const WNNGemmOptions *gemm = (const void *)last.options;
	const WNNPadOptions *pad = (const void *)last.options;
	const WNNUint32Array none = WNN_UINT32_ARRAY_INIT;

	(void)state;
	wnnGraphBuilderConv2d(BUILDER, OPERAND(0), OPERAND(1), NULL);
	assert_int_equal(conv->groups, 1);
	assert_null(conv->strides.data);
	assert_null(last.operands[2]);
	wnnGraphBuilderGemm(BUILDER, OPERAND(0), OPERAND(1), NULL);
	assert_true(gemm->alpha == 1.0 && gemm->beta == 1.0);
	wnnGraphBuilderPad(BUILDER, OPERAND(0), none, none, NULL);
	assert_int_equal(pad->value.kind, WNNNumberKind_Double);
	assert_true(pad->value.doubleValue == 0.0);
}

static void arguments_arrive(void **state)
{
	const uint32_t numbers[] = { 1, 2, 3 };

	(void)state;
	wnnGraphBuilderSlice(BUILDER, OPERAND(0), WNN_UINT32_ARRAY(numbers),
			     WNN_UINT32_LIST(4, 5, 6, 7), NULL);
	assert_ptr_equal(last.call.arguments.starts.data, numbers);
	assert_int_equal(last.call.arguments.starts.count, 3);
	assert_int_equal(last.call.arguments.sizes.count, 4);
	wnnGraphBuilderCast(BUILDER, OPERAND(0), WNNOperandDataType_Int8, NULL);
	assert_int_equal(last.call.arguments.data_type, WNNOperandDataType_Int8);
	wnnGraphBuilderSoftmax(BUILDER, OPERAND(0), 3, NULL);
	assert_int_equal(last.call.arguments.axis, 3);
}

static void lists_of_operands_arrive(void **state)
{
	WNNOperand inputs[] = { OPERAND(3), OPERAND(2), OPERAND(1) };
	WNNOperand outputs[2];

	(void)state;
	wnnGraphBuilderConcat(BUILDER, 3, inputs, 1, NULL);
	assert_int_equal(last.call.operand_count, 3);
	assert_memory_equal(last.operands, inputs, sizeof(inputs));
	assert_int_equal(wnnGraphBuilderGru(BUILDER, OPERAND(0), OPERAND(1), OPERAND(2), 5, 6, NULL,
					    2, outputs),
			 WNNStatus_Success);
	assert_int_equal(last.output_count, 2);
	assert_ptr_equal(outputs[1], OPERAND(9));
	assert_int_equal(last.call.arguments.steps, 5);
	assert_int_equal(last.call.arguments.hidden_size, 6);
}

static void overloads_are_told_apart(void **state)
{
	WNNOperand outputs[4];

	(void)state;
	wnnGraphBuilderSplit(BUILDER, OPERAND(0), WNN_UINT32_LIST(1, 2), NULL, 2, outputs);
	assert_int_equal(last.call.overload, 0);
	assert_int_equal(last.call.arguments.splits.count, 2);
	wnnGraphBuilderSplitEqual(BUILDER, OPERAND(0), 4, NULL, 4, outputs);
	assert_int_equal(last.call.op, WNN_OP_SPLIT);
	assert_int_equal(last.call.overload, 1);
	assert_int_equal(last.call.arguments.split_count, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(operands_and_options_arrive),
		cmocka_unit_test(defaults_stand_for_null),
		cmocka_unit_test(arguments_arrive),
		cmocka_unit_test(lists_of_operands_arrive),
		cmocka_unit_test(overloads_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
