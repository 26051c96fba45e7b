// SPDX-License-Identifier: MIT
/* Tests the operator table, and the checks that are the same for every operator. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "graph/op_call.h"
#include "util/printable.h"

/* Operands are opaque to these checks, so that any address will do. */
static char objects[8];
#define OPERAND(n) ((WNNOperand)(void *)&objects[n])

static void names_are_found(void **state)
{
	(void)state;
	for (int op = 0; op < WNN_OP_COUNT; op++)
		assert_int_equal(wnn_op_find(wnn_op_info[op].name), op);
	assert_int_equal(wnn_op_find("conv2d"), WNN_OP_CONV2D);
	assert_int_equal(wnn_op_find("isNaN"), WNN_OP_IS_NAN);
	assert_int_equal(wnn_op_find("conv3d"), WNN_OP_COUNT);
	assert_int_equal(wnn_op_find(""), WNN_OP_COUNT);
}

static void check_operand(const struct wnn_op_info *info, const struct wnn_op_operand *operand)
{
	assert_int_not_equal(operand->types, 0);
	assert_int_equal(operand->required_types & ~operand->types, 0);
	assert_true(operand->rank_min <= operand->rank_max);
	assert_true(operand->rank_min <= operand->required_rank_max);
	assert_true(operand->required_rank_max <= operand->rank_max);
	assert_in_range(operand->type_as + 1, 0, info->operand_count);
	assert_in_range(operand->rank_as + 1, 0, info->operand_count);
	if (operand->type_as >= 0)
		assert_int_equal(operand->types, info->operands[operand->type_as].types);
}

static void table_is_consistent(void **state)
{
	(void)state;
	for (int op = 0; op < WNN_OP_COUNT; op++) {
		const struct wnn_op_info *info = &wnn_op_info[op];
		bool optional = false;

		assert_in_range(info->positional_count, 1, info->operand_count);
		assert_in_range(info->output_count, 1, 3);
		for (int i = 0; i < info->operand_count; i++) {
			check_operand(info, &info->operands[i]);
			optional = info->operands[i].flags & WNN_OPERAND_OPTIONAL;
			assert_int_equal(optional, i >= info->positional_count);
		}
		for (int i = 0; i < info->output_count; i++)
			check_operand(info, &info->outputs[i]);
		assert_string_equal(info->options->members[0].name, "label");
	}
}

static void table_knows_conv2d(void **state)
{
	const struct wnn_op_info *info = &wnn_op_info[WNN_OP_CONV2D];
	uint32_t floats = WNN_DATA_TYPE_BIT(WNNOperandDataType_Float32) |
			  WNN_DATA_TYPE_BIT(WNNOperandDataType_Float16);

	(void)state;
	assert_int_equal(info->operand_count, 3);
	assert_int_equal(info->positional_count, 2);
	assert_string_equal(info->operands[2].name, "bias");
	assert_int_equal(info->operands[2].type_as, 0);
	assert_int_equal(info->operands[2].rank_max, 1);
	assert_int_equal(info->operands[0].types, floats);
	assert_int_equal(info->options->size, sizeof(WNNConv2dOptions));
}

static void enums_have_names(void **state)
{
	(void)state;
	assert_string_equal(wnn_enum_name(&wnn_enum_operand_data_type, WNNOperandDataType_Int64),
			    "int64");
	assert_string_equal(wnn_enum_name(&wnn_enum_status, WNNStatus_TypeError), "TypeError");
	assert_null(wnn_enum_name(&wnn_enum_operand_data_type, 0));
	assert_null(wnn_enum_name(&wnn_enum_operand_data_type, 11));
	assert_null(wnn_enum_name(&wnn_enum_operand_data_type, UINT32_MAX));
	assert_int_equal(wnn_enum_find(&wnn_enum_input_operand_layout, "nhwc"),
			 WNNInputOperandLayout_Nhwc);
	assert_int_equal(wnn_enum_find(&wnn_enum_input_operand_layout, "chwn"), 0);
}

static void types_have_sizes(void **state)
{
	static const size_t sizes[] = { 0, 4, 2, 4, 4, 8, 8, 1, 1, 1, 1, 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		assert_int_equal(wnn_data_type_size((WNNOperandDataType)i), sizes[i]);
}

static void limits_are_complete(void **state)
{
	WNNOpSupportLimits limits = WNN_OP_SUPPORT_LIMITS_INIT;
	const WNNTensorLimits *bias;

	(void)state;
	wnn_op_limits(&limits, 6);
	for (int op = 0; op < WNN_OP_COUNT; op++) {
		const struct wnn_op_info *info = &wnn_op_info[op];

		for (int i = 0; i < info->operand_count; i++) {
			const WNNTensorLimits *member =
				wnn_op_operand_limits(&limits, op, &info->operands[i]);

			assert_int_equal(member->dataTypes, info->operands[i].types);
			assert_true(member->rankRange.max <= 6);
			assert_true(member->rankRange.min <= member->rankRange.max);
		}
	}
	bias = wnn_op_operand_limits(&limits, WNN_OP_CONV2D,
				     &wnn_op_info[WNN_OP_CONV2D].operands[2]);
	assert_ptr_equal(bias, &limits.conv2d.bias);
	assert_int_equal(limits.conv2d.bias.rankRange.max, 1);
	assert_int_equal(limits.add.output.rankRange.max, 6);
	assert_int_equal(limits.where.condition.dataTypes,
			 WNN_DATA_TYPE_BIT(WNNOperandDataType_Uint8));
	assert_int_equal(limits.lstm.output2.rankRange.min, 4);
	/* Members that do not belong to operators are unchanged. */
	assert_int_equal(limits.input.dataTypes, 0);
	assert_int_equal(limits.maxTensorByteLength, 0);
}

struct conv {
	WNNConv2dOptions options;
	WNNOperand operands[3];
	struct wnn_op_call call;
	struct wnn_error err;
};

static struct conv *make_conv(struct conv *c)
{
	const WNNConv2dOptions defaults = WNN_CONV2D_OPTIONS_INIT;

	memset(c, 0, sizeof(*c));
	c->options = defaults;
	c->operands[0] = OPERAND(0);
	c->operands[1] = OPERAND(1);
	c->call.op = WNN_OP_CONV2D;
	c->call.operands = c->operands;
	c->call.operand_count = 3;
	c->call.options = &c->options;
	c->call.label = &c->options.label;
	return c;
}

static void expect_type_error(struct wnn_op_call *call, const char *part)
{
	struct wnn_error err = { 0 };

	assert_int_equal(wnn_op_call_check(call, &err), -1);
	assert_int_equal(err.status, WNN_TYPE_ERROR);
	if (!strstr(err.message, part))
		fail_msg("\"%s\" does not say \"%s\"", err.message, part);
}

static void good_call_passes(void **state)
{
	struct conv c;

	(void)state;
	make_conv(&c);
	assert_int_equal(wnn_op_call_check(&c.call, &c.err), 0);
	assert_int_equal(c.options.filterLayout, WNNConv2dFilterOperandLayout_Oihw);
}

static void undefined_enum_gets_its_default(void **state)
{
	struct conv c;

	(void)state;
	make_conv(&c);
	c.options.inputLayout = WNNInputOperandLayout_Undefined;
	c.options.filterLayout = WNNConv2dFilterOperandLayout_Undefined;
	assert_int_equal(wnn_op_call_check(&c.call, &c.err), 0);
	assert_int_equal(c.options.inputLayout, WNNInputOperandLayout_Nchw);
	assert_int_equal(c.options.filterLayout, WNNConv2dFilterOperandLayout_Oihw);
}

static void bad_calls_are_named(void **state)
{
	WNNChainedStruct unknown = { NULL, WNNSType_ContextDeviceOptions };
	struct conv c;

	(void)state;
	make_conv(&c)->operands[1] = NULL;
	c.options.label = WNN_STR("stem");
	expect_type_error(&c.call, "conv2d \"stem\": operand filter is NULL");
	make_conv(&c)->options.inputLayout = (WNNInputOperandLayout)3;
	expect_type_error(&c.call, "conv2d: options.inputLayout is 3, which is no value of "
				   "WNNInputOperandLayout");
	make_conv(&c)->options.strides.count = 2;
	expect_type_error(&c.call, "options.strides has 2 items, but its data is NULL");
	make_conv(&c)->options.nextInChain = &unknown;
	expect_type_error(&c.call, "sType 65537");
}

static void bad_arguments_are_named(void **state)
{
	WNNOperatorOptions options = WNN_OPERATOR_OPTIONS_INIT;
	WNNOperand operands[] = { OPERAND(0), NULL };
	struct wnn_op_call call = {
		.op = WNN_OP_CAST,
		.operands = operands,
		.operand_count = 1,
		.options = &options,
		.label = &options.label,
	};

	(void)state;
	expect_type_error(&call, "cast: dataType is 0, which is no value of WNNOperandDataType");
	call.op = WNN_OP_RESHAPE;
	call.arguments.new_shape.count = 3;
	expect_type_error(&call, "reshape: newShape has 3 items, but its data is NULL");
	call.op = WNN_OP_CONCAT;
	call.operand_count = 2;
	expect_type_error(&call, "concat: operand inputs[1] is NULL");
	call.operands = NULL;
	expect_type_error(&call, "concat: inputs is NULL, but has 2 items");
}

static void bad_numbers_and_lists_are_named(void **state)
{
	const WNNRecurrentNetworkActivation activations[] = {
		WNNRecurrentNetworkActivation_Tanh,
		WNNRecurrentNetworkActivation_Undefined,
	};
	WNNClampOptions clamp = WNN_CLAMP_OPTIONS_INIT;
	WNNGruOptions gru = WNN_GRU_OPTIONS_INIT;
	WNNOperand operands[] = { OPERAND(0), OPERAND(1), OPERAND(2), NULL, NULL, NULL };
	struct wnn_op_call call = {
		.op = WNN_OP_CLAMP,
		.operands = operands,
		.operand_count = 1,
		.options = &clamp,
		.label = &clamp.label,
	};

	(void)state;
	clamp.maxValue = WNN_NUMBER_INT64(6);
	assert_int_equal(wnn_op_call_check(&call, NULL), 0);
	clamp.minValue.kind = (WNNNumberKind)4;
	expect_type_error(&call, "clamp: the kind of options.minValue is 4");
	call.op = WNN_OP_GRU;
	call.operand_count = 6;
	call.options = &gru;
	call.label = &gru.label;
	gru.activations = WNN_RECURRENT_NETWORK_ACTIVATION_ARRAY(activations);
	expect_type_error(&call, "gru: options.activations[1] is 0");
}

static void expect_printable(const char *text, size_t size, const char *wanted)
{
	char buffer[64];

	assert_int_equal(wnn_text_printable(buffer, size, text, strlen(text)), strlen(wanted));
	assert_string_equal(buffer, wanted);
}

static void text_is_made_printable(void **state)
{
	char buffer[4] = "xyz";

	(void)state;
	expect_printable("mul#1234", 64, "mul#1234");
	expect_printable("a\nb\x1b[0m\x7f", 64, "a\\u000ab\\u001b[0m\\u007f");
	expect_printable("\xe2\x80\xae"
			 "abc\xe2\x81\xa6",
			 64, "\\u202eabc\\u2066");
	expect_printable("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", 64,
			 "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
	/*
	 * A stray byte, an overlong form, a surrogate, an incomplete character, a code above the
	 * last one.
	 */
	expect_printable("\xff", 64, "\xef\xbf\xbd");
	expect_printable("\xc0\x80", 64, "\xef\xbf\xbd\xef\xbf\xbd");
	expect_printable("\xed\xa0\x80", 64, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	expect_printable("a\xe2\x82", 64, "a\xef\xbf\xbd\xef\xbf\xbd");
	expect_printable("\xf4\x90\x80\x80", 64,
			 "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	/* Text is cut between characters. */
	expect_printable("abc", 3, "ab");
	expect_printable("a\xe2\x82\xac", 4, "a");
	assert_int_equal(wnn_text_printable(buffer, 1, "abc", 3), 0);
	assert_int_equal(wnn_text_printable(buffer, sizeof(buffer), NULL, 0), 0);
	assert_string_equal(buffer, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_found),
		cmocka_unit_test(table_is_consistent),
		cmocka_unit_test(table_knows_conv2d),
		cmocka_unit_test(enums_have_names),
		cmocka_unit_test(types_have_sizes),
		cmocka_unit_test(limits_are_complete),
		cmocka_unit_test(good_call_passes),
		cmocka_unit_test(undefined_enum_gets_its_default),
		cmocka_unit_test(bad_calls_are_named),
		cmocka_unit_test(bad_arguments_are_named),
		cmocka_unit_test(bad_numbers_and_lists_are_named),
		cmocka_unit_test(text_is_made_printable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
