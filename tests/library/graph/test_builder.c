// SPDX-License-Identifier: MIT
/* Tests the builder: inputs, constants, states, building, labels, limits. */
#include "fixture.h"

#include <math.h>

#include "graph/label.h"
#include "util/arena.h"
#include "util/printable.h"

static const WNNOperandDescriptor vector3 = {
	NULL,
	WNNOperandDataType_Float32,
	{ 1, (const uint32_t[]){ 3 } },
};

static WNNOperand input(struct fixture *f, WNNStringView name, const WNNOperandDescriptor *d)
{
	WNNOperand operand = (WNNOperand)f; /* must be overwritten */

	wnn_builder_input(f->builder, name, d, NULL, &operand, &test_error);
	return operand;
}

static WNNOperand input_of(struct fixture *f, WNNOperandDataType type, size_t rank,
			   const uint32_t *shape)
{
	WNNOperandDescriptor d = { NULL, type, { rank, shape } };
	static unsigned int number;
	char name[16];

	snprintf(name, sizeof(name), "i%u", number++);
	return input(f, WNN_STR(name), &d);
}

static void inputs_have_names_of_their_own(void **state)
{
	struct fixture *f = *state;

	assert_shape(input(f, WNN_STR("x"), &vector3), Float32, 3);
	assert_shape(input(f, (WNNStringView){ "xyz", 2 }, &vector3), Float32, 3);
	assert_type_error(input(f, WNN_STR("x"), &vector3), "\"x\" exists already");
	assert_type_error(input(f, WNN_STR("xy"), &vector3), "\"xy\" exists already");
	assert_type_error(input(f, WNN_STR(""), &vector3), "is empty");
	assert_type_error(input(f, WNN_STRING_VIEW_INIT, &vector3), "is empty");
	assert_type_error(input(f, (WNNStringView){ "a\0b", 3 }, &vector3), "contains a NUL");
	assert_type_error(input(f, WNN_STR("z"), NULL), "input \"z\" has no descriptor");
}

/* Bytes that are not UTF-8 become U+FFFD, as in a USVString. */
static void names_are_valid_utf8(void **state)
{
	struct fixture *f = *state;
	WNNOperand x = input(f, WNN_STR("x\xff"), &vector3), y;
	struct wnn_recording *recording;
	WNNNamedOperand outputs[2];

	assert_shape(x, Float32, 3);
	assert_string_equal(x->value->name, "x\xef\xbf\xbd");
	assert_type_error(input(f, WNN_STR("x\xfe"), &vector3), "\"x\xef\xbf\xbd\" exists already");
	assert_type_error(input(f, WNN_STR("x\xef\xbf\xbd"), &vector3), "exists already");
	/* Each byte of an incomplete sequence becomes one U+FFFD. */
	assert_shape(input(f, WNN_STR("x\xef\xbf"), &vector3), Float32, 3);
	assert_type_error(input(f, WNN_STR("x\xff\xff"), &vector3), "exists already");
	y = wnnGraphBuilderRelu(f->b, x, NULL);
	outputs[0] = (WNNNamedOperand){ WNN_STR("\x80y"), y };
	outputs[1] = (WNNNamedOperand){ WNN_STR("\x81y"), y };
	assert_int_equal(wnn_builder_build(f->builder, 2, outputs, &recording, &test_error), -1);
	assert_non_null(strstr(test_error.message, "two outputs have the name \"\xef\xbf\xbdy\""));
	assert_int_equal(wnn_builder_build(f->builder, 1, outputs, &recording, &test_error), 0);
	assert_string_equal(recording->graph->outputs[0].name, "\xef\xbf\xbdy");
	wnn_recording_destroy(recording);
}

/* A long message is cut between characters, so that it stays UTF-8. */
static void messages_are_cut_between_characters(void **state)
{
	struct wnn_error err;
	size_t length;

	(void)state;
	for (int blanks = 480; blanks < 512; blanks++) {
		wnn_error_set(&err, WNN_TYPE_ERROR,
			      "%*s\xe2\x82\xac\xe2\x82\xac\xc3\xa4\xf0\x9f\x98\x80"
			      "%32s",
			      blanks, "", "end");
		length = strlen(err.message);
		assert_true(length >= 508);
		for (size_t i = 0, n; i < length; i += n) {
			n = wnn_text_character(err.message + i, length - i);
			assert_true(n);
		}
	}
}

static void dimensions_are_checked(void **state)
{
	struct fixture *f = *state;

	assert_operand(input_of(f, WNNOperandDataType_Int8, 0, NULL), WNNOperandDataType_Int8, 0,
		       NULL);
	assert_type_error(input_of(f, WNNOperandDataType_Undefined, 0, NULL), "dataType 0");
	assert_type_error(input_of(f, 99, 0, NULL), "no value of WNNOperandDataType");
	assert_type_error(input_of(f, WNNOperandDataType_Int8, 1, NULL), "its data is NULL");
	assert_type_error(input_of(f, WNNOperandDataType_Int8, DIMS(2, 0)),
			  "size 0 in dimension 1");
	assert_type_error(input_of(f, WNNOperandDataType_Int8, DIMS(0x80000000u)),
			  "size 2147483648 in dimension 0");
	assert_type_error(input_of(f, WNNOperandDataType_Int8, DIMS(65536, 32768)),
			  "more than the 2147483647 elements");
	assert_type_error(input_of(f, WNNOperandDataType_Int8,
				   DIMS(0x7fffffff, 0x7fffffff, 0x7fffffff)),
			  "more than the 2147483647 elements");
	assert_type_error(input_of(f, WNNOperandDataType_Int8, DIMS(1, 1, 1, 1, 1, 1, 1, 1, 1)),
			  "rank 9; ranks up to 8");
	fixture_close(f);
	fixture_open_with(f, &(struct wnn_limits){ .max_tensor_bytes = 100 });
	assert_shape(input_of(f, WNNOperandDataType_Float32, DIMS(25)), Float32, 25);
	assert_type_error(input_of(f, WNNOperandDataType_Float32, DIMS(26)),
			  "104 bytes; maxTensorByteLength is 100");
}

static unsigned int releases;

static void count_release(void *userdata, const void *data)
{
	assert_ptr_equal(userdata, &releases);
	assert_non_null(data);
	releases++;
}

static WNNOperand constant(struct fixture *f, const WNNOperandDescriptor *d, const void *data,
			   size_t size, bool borrow)
{
	WNNOperand operand = (WNNOperand)f;

	wnn_builder_constant(f->builder, d, data, size, borrow ? count_release : NULL, &releases,
			     &operand, &test_error);
	return operand;
}

static void constants_are_copied_or_borrowed(void **state)
{
	struct fixture *f = *state;
	float data[3] = { 1, 2, 3 };
	WNNOperand copied = constant(f, &vector3, data, sizeof(data), false);
	WNNOperand borrowed = constant(f, &vector3, data, sizeof(data), true);

	assert_shape(copied, Float32, 3);
	assert_shape(borrowed, Float32, 3);
	data[0] = 7;
	assert_true(((const float *)copied->value->constant->data)[0] == 1);
	assert_ptr_equal(borrowed->value->constant->data, data);
	assert_type_error(constant(f, &vector3, data, 8, false),
			  "8 bytes of data, but float32[3] takes 12");
	assert_type_error(constant(f, &vector3, NULL, 12, false), "data of the constant is NULL");
	assert_type_error(constant(f, NULL, data, 12, false), "has no descriptor");
	releases = 0;
	assert_type_error(constant(f, &vector3, data, 13, true), "13 bytes");
	assert_int_equal(releases, 1);
	fixture_close(f);
	assert_int_equal(releases, 2);
	fixture_open(f);
}

static WNNOperand number(struct fixture *f, WNNOperandDataType type, WNNNumber value)
{
	WNNOperand operand = (WNNOperand)f;

	wnn_builder_constant_number(f->builder, type, &value, &operand, &test_error);
	return operand;
}

static void numbers_become_scalars(void **state)
{
	struct fixture *f = *state;
	WNNOperand x = number(f, WNNOperandDataType_Int8, WNN_NUMBER_DOUBLE(-300));

	assert_operand(x, WNNOperandDataType_Int8, 0, NULL);
	assert_int_equal(x->value->constant->bytes, 1);
	assert_int_equal(*(const int8_t *)x->value->constant->data, -128);
	assert_type_error(number(f, WNNOperandDataType_Int8, WNN_NUMBER_INIT),
			  "no number: its kind is 0");
	assert_type_error(number(f, WNNOperandDataType_Int8, (WNNNumber){ 77, 0, 0, 0 }),
			  "no number: its kind is 77");
	assert_type_error(number(f, WNNOperandDataType_Undefined, WNN_NUMBER_INT64(1)),
			  "dataType 0");
}

struct tensor {
	bool destroyed;
	unsigned int releases;
};

static bool tensor_is_destroyed(void *tensor)
{
	return ((struct tensor *)tensor)->destroyed;
}

static void tensor_release(void *tensor)
{
	((struct tensor *)tensor)->releases++;
}

static WNNOperand constant_tensor(struct fixture *f, struct tensor *tensor)
{
	static const float data[3];
	const struct wnn_constant_tensor use = { tensor, tensor_is_destroyed, tensor_release };
	struct ir_type type = ir_type_make(IR_F32, 1, (int64_t[]){ 3 });
	WNNOperand operand = (WNNOperand)f;

	wnn_builder_constant_tensor(f->builder, &type, ir_constant_copy(data, sizeof(data)), &use,
				    &operand, &test_error);
	return operand;
}

static int build(struct fixture *f, WNNOperand operand, struct wnn_recording **recording)
{
	WNNNamedOperand output = { WNN_STR("y"), operand };

	return wnn_builder_build(f->builder, 1, &output, recording, &test_error);
}

static void tensors_of_constants_must_live_until_build(void **state)
{
	struct fixture *f = *state;
	struct tensor used = { .destroyed = true }, unused = { .destroyed = true };
	WNNOperand a = constant_tensor(f, &used), y = wnnGraphBuilderRelu(f->b, a, NULL);
	struct wnn_recording *recording;

	assert_shape(constant_tensor(f, &unused), Float32, 3);
	assert_int_equal(build(f, y, &recording), -1);
	assert_refused(NULL, WNN_TYPE_ERROR, "destroyed before the graph was built");
	assert_int_equal(used.releases, 0);
	/*
	 * A refused build leaves the builder usable; constants that the outputs do not need may
	 * have been released.
	 */
	used.destroyed = false;
	assert_int_equal(build(f, y, &recording), 0);
	assert_int_equal(used.releases, 1);
	assert_int_equal(unused.releases, 1);
	wnn_recording_destroy(recording);
	/* The builder takes the tensor over although it is used up. */
	assert_refused(constant_tensor(f, &used), WNN_INVALID_STATE, "builds only once");
	assert_int_equal(used.releases, 2);
	fixture_close(f);
	assert_int_equal(used.releases, 2);
	fixture_open(f);
}

static void a_lost_context_stops_everything(void **state)
{
	struct fixture *f = *state;
	WNNOperand x = INPUT(f, Float32, 3);
	struct wnn_recording *recording;
	float data[3];

	f->lost = true;
	assert_refused(input(f, WNN_STR(""), NULL), WNN_INVALID_STATE, "is lost");
	assert_refused(constant(f, NULL, data, 1, false), WNN_INVALID_STATE, "is lost");
	assert_refused(number(f, WNNOperandDataType_Undefined, WNN_NUMBER_INIT), WNN_INVALID_STATE,
		       "is lost");
	/* A lost context is reported before the operands are checked. */
	assert_refused(wnnGraphBuilderRelu(f->b, NULL, NULL), WNN_INVALID_STATE, "is lost");
	assert_int_equal(build(f, x, &recording), -1);
	assert_refused(NULL, WNN_INVALID_STATE, "is lost");
	assert_null(recording);
}

static void a_builder_builds_once(void **state)
{
	struct fixture *f = *state;
	WNNOperand x = INPUT(f, Float32, 3), y = wnnGraphBuilderRelu(f->b, x, NULL);
	struct wnn_recording *recording = fixture_build(f, "y", y);

	wnn_recording_destroy(recording);
	assert_refused(wnnGraphBuilderRelu(f->b, x, NULL), WNN_INVALID_STATE, "builds only once");
	assert_refused(input(f, WNN_STR("z"), &vector3), WNN_INVALID_STATE, "builds only once");
	assert_int_equal(build(f, y, &recording), -1);
	assert_refused(NULL, WNN_INVALID_STATE, "builds only once");
	/* Operands still have their type and shape. */
	assert_int_equal(y->data_type, WNNOperandDataType_Float32);
	assert_int_equal(y->shape[0], 3);
}

static void outputs_are_checked(void **state)
{
	struct fixture *f = *state, other;
	WNNOperand x = INPUT(f, Float32, 3), y = wnnGraphBuilderRelu(f->b, x, NULL);
	WNNOperand c = fixture_constant(f, WNNOperandDataType_Float32, DIMS(1), &(float){ 1 });
	struct wnn_recording *recording;
	WNNOperand foreign;

	fixture_open(&other);
	foreign = wnnGraphBuilderRelu(other.b, INPUT(&other, Float32, 3), NULL);

	const struct {
		size_t count;
		WNNNamedOperand outputs[2];
		const char *message;
	} cases[] = {
		{ 0, { { WNN_STR("y"), y } }, "outputs is empty" },
		{ 1, { { WNN_STR(""), y } }, "name of outputs[0] is empty" },
		{ 2, { { WNN_STR("y"), y }, { { "y", 1 }, y } }, "two outputs have the name \"y\"" },
		{ 1, { { { "a\0b", 3 }, y } }, "\"a\\u0000b\" contains a NUL" },
		{ 1, { { WNN_STR("y"), NULL } }, "operand of output \"y\" is NULL" },
		{ 1, { { WNN_STR("y"), foreign } }, "belongs to another builder" },
		{ 1, { { WNN_STR("y"), x } }, "is an input; identity" },
		{ 1, { { WNN_STR("y"), c } }, "is a constant; identity" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(wnn_builder_build(f->builder, cases[i].count, cases[i].outputs,
						   &recording, &test_error),
				 -1);
		assert_null(recording);
		assert_refused(NULL, WNN_TYPE_ERROR, cases[i].message);
	}
	assert_int_equal(wnn_builder_build(f->builder, 1, NULL, &recording, &test_error), -1);
	assert_refused(NULL, WNN_TYPE_ERROR, "outputs is NULL");
	fixture_close(&other);
	/* The builder can still be used after these errors. */
	wnn_recording_destroy(fixture_build(f, "y", y));
}

static void only_what_outputs_need_is_built(void **state)
{
	struct fixture *f = *state;
	WNNOperand x = input(f, WNN_STR("used"), &vector3), z = input(f, WNN_STR("idle"), &vector3);
	float three[3] = { 1, 2, 3 };
	WNNOperand c = fixture_constant(f, WNNOperandDataType_Float32, DIMS(3), three);
	WNNOperand y, parts[3];
	WNNOperatorOptions label = { NULL, WNN_STR("sum") };
	struct wnn_recording *recording;

	wnnGraphBuilderAdd(f->b, z, c, NULL);
	y = wnnGraphBuilderAdd(f->b, x, c, &label);
	wnnGraphBuilderRelu(f->b, y, NULL);
	assert_int_equal(wnnGraphBuilderSplitEqual(f->b, y, 3, NULL, 3, parts), 0);

	const WNNNamedOperand outputs[] = {
		{ WNN_STR("a"), parts[2] },
		{ WNN_STR("b"), y },
		{ WNN_STR("c"), y },
	};
	assert_int_equal(wnn_builder_build(f->builder, 3, outputs, &recording, &test_error), 0);
	assert_text(ir_print(recording->graph),
		    "%0 float32[3] = input \"used\"\n"
		    "%1 float32[3] = constant 1,2,3\n"
		    "%2 float32[3] = binary(%0, %1) add ; add \"sum\"\n"
		    "%3 float32[1] = slice(%2) start=2 stride=1 ; split\n"
		    "output \"a\" = %3\n"
		    "output \"b\" = %2\n"
		    "output \"c\" = %2\n");
	assert_int_equal(recording->num_operators, 4);
	assert_false(recording->operators[0].used);
	assert_true(recording->operators[1].used);
	assert_false(recording->operators[2].used);
	assert_true(recording->operators[3].used);
	assert_string_equal(recording->operators[1].label, "sum");
	assert_int_equal(recording->node_operator[0], 1);
	assert_int_equal(recording->node_operator[1], 3);
	assert_int_equal(ir_verify(recording->graph, &test_error), 0);
	wnn_recording_destroy(recording);
}

static void labels_are_kept_and_printed_safely(void **state)
{
	struct fixture *f = *state;
	WNNOperand x = INPUT(f, Int32, 3);
	WNNOperatorOptions o = { NULL, { "a\n\xe2\x80\xae\xff\xc3\xa4\0z", 10 } };
	struct wnn_recording *recording;

	assert_type_error(
		wnnGraphBuilderExp(f->b, x, &o),
		"exp \"a\\u000a\\u202e\xef\xbf\xbd\xc3\xa4\\u0000z\": input has type int32; "
		"allowed are float32, float16");
	recording = fixture_build(f, "y", wnnGraphBuilderRelu(f->b, x, &o));
	assert_string_equal(recording->operators[0].label,
			    "a\n\xe2\x80\xae\xef\xbf\xbd\xc3\xa4\xef\xbf\xbdz");
	assert_string_equal(recording->graph->nodes[0]->label,
			    "a\\u000a\\u202e\xef\xbf\xbd\xc3\xa4\\u0000z");
	assert_string_equal(recording->graph->nodes[0]->source, "relu");
	wnn_recording_destroy(recording);
}

static void foreign_and_missing_operands_are_refused(void **state)
{
	struct fixture *f = *state, other;
	WNNOperand x = INPUT(f, Float32, 3), foreign;

	fixture_open(&other);
	foreign = INPUT(&other, Float32, 3);
	assert_type_error(wnnGraphBuilderAdd(f->b, x, foreign, NULL),
			  "add: b belongs to another builder");
	assert_type_error(wnnGraphBuilderAdd(f->b, x, NULL, NULL), "add: operand b is NULL");
	assert_type_error(wnnGraphBuilderConcat(f->b, 2, (WNNOperand[]){ x, foreign }, 0, NULL),
			  "concat: inputs[1] belongs to another builder");

	WNNConv2dOptions conv = WNN_CONV2D_OPTIONS_INIT;
	WNNOperand image = INPUT(f, Float32, 1, 1, 3, 3);

	conv.bias = foreign;
	assert_type_error(wnnGraphBuilderConv2d(f->b, image, image, &conv),
			  "conv2d: bias belongs to another builder");
	fixture_close(&other);
}

static void a_failed_call_records_nothing(void **state)
{
	struct fixture *f = *state;
	WNNOperand x = INPUT(f, Float32, 4), parts[3] = { x, x, x };
	struct wnn_recording *recording;

	assert_int_equal(wnnGraphBuilderSplitEqual(f->b, x, 3, NULL, 3, parts),
			 WNNStatus_TypeError);
	for (int i = 0; i < 3; i++)
		assert_null(parts[i]);
	assert_null(wnnGraphBuilderSoftmax(f->b, x, 1, NULL));
	recording = fixture_build(f, "y", wnnGraphBuilderSoftmax(f->b, x, 0, NULL));
	assert_int_equal(recording->num_operators, 1);
	assert_int_equal(recording->graph->num_nodes, 1);
	wnn_recording_destroy(recording);
}

static void limits_are_those_of_the_rules(void **state)
{
	struct fixture *f = *state;
	const struct wnn_limits limits = {
		.ir_ops = UINT64_C(1) << IR_OP_CONV | UINT64_C(1) << IR_OP_SLICE,
		.max_tensor_bytes = 1000,
		.preferred_layout = WNNInputOperandLayout_Nhwc,
	};
	WNNOpSupportLimits out = WNN_OP_SUPPORT_LIMITS_INIT;
	WNNOperand x;

	wnn_limits_fill(&limits, &out);
	assert_int_equal(out.maxTensorByteLength, 1000);
	assert_int_equal(out.preferredInputLayout, WNNInputOperandLayout_Nhwc);
	assert_int_equal(out.input.dataTypes, 0x1fe);
	assert_int_equal(out.constant.rankRange.max, 8);
	assert_int_equal(out.conv2d.filter.dataTypes, 0x6);
	assert_int_equal(out.convTranspose2d.bias.rankRange.min, 1);
	assert_int_equal(out.split.outputs.rankRange.max, 8);
	assert_int_equal(out.relu.input.dataTypes, 0);
	assert_int_equal(out.relu.output.rankRange.max, 0);
	fixture_close(f);
	fixture_open_with(f, &limits);
	x = INPUT(f, Float32, 3);
	assert_refused(wnnGraphBuilderRelu(f->b, x, NULL), WNN_NOT_SUPPORTED,
		       "relu: this version of the library cannot execute relu");
	/* A wrong argument is reported before an operator that is not supported. */
	assert_type_error(wnnGraphBuilderSoftmax(f->b, x, 1, NULL), "axis is 1");
}

/* The unary operators accept every type and rank that the limits list. */
static void listed_types_work(void **state)
{
	struct fixture *f = *state;
	const struct wnn_limits limits = { .ir_ops = UINT64_MAX };
	WNNOpSupportLimits out = WNN_OP_SUPPORT_LIMITS_INIT;
	const uint32_t ones[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };

	wnn_limits_fill(&limits, &out);
	for (uint32_t t = 1; t <= 8; t++)
		for (uint32_t rank = 0; rank <= 8; rank++) {
			WNNOperand x = fixture_input(f, t, rank, ones);
			WNNOperand y = wnnGraphBuilderAbs(f->b, x, NULL);
			WNNOperand z = wnnGraphBuilderTriangular(f->b, x, NULL);

			assert_int_equal(!!(out.abs.input.dataTypes >> t & 1), y != NULL);
			assert_int_equal(rank >= out.triangular.input.rankRange.min, z != NULL);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		GRAPH_TEST(inputs_have_names_of_their_own),
		GRAPH_TEST(names_are_valid_utf8),
		cmocka_unit_test(messages_are_cut_between_characters),
		GRAPH_TEST(dimensions_are_checked),
		GRAPH_TEST(constants_are_copied_or_borrowed),
		GRAPH_TEST(numbers_become_scalars),
		GRAPH_TEST(tensors_of_constants_must_live_until_build),
		GRAPH_TEST(a_lost_context_stops_everything),
		GRAPH_TEST(a_builder_builds_once),
		GRAPH_TEST(outputs_are_checked),
		GRAPH_TEST(only_what_outputs_need_is_built),
		GRAPH_TEST(labels_are_kept_and_printed_safely),
		GRAPH_TEST(foreign_and_missing_operands_are_refused),
		GRAPH_TEST(a_failed_call_records_nothing),
		GRAPH_TEST(limits_are_those_of_the_rules),
		GRAPH_TEST(listed_types_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
