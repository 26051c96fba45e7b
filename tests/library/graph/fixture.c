// SPDX-License-Identifier: MIT
/* A builder without a context. */
#include "fixture.h"

#include "api/record.h"

struct wnn_error test_error;

WNNStatus wnn_builder_record(WNNGraphBuilder builder, struct wnn_op_call *call, size_t output_count,
			     WNNOperand *outputs)
{
	/* The statuses of both layers have the same values. */
	if (wnn_builder_record_op((struct wnn_builder *)builder, call, output_count, outputs,
				  &test_error))
		return (WNNStatus)test_error.status;
	return WNNStatus_Success;
}

static bool is_lost(void *userdata)
{
	return ((struct fixture *)userdata)->lost;
}

void fixture_open_with(struct fixture *f, const struct wnn_limits *limits)
{
	struct wnn_builder_config config = {
		.limits = *limits,
		.lost = is_lost,
		.userdata = f,
		.owner = f,
	};

	f->lost = false;
	f->builder = wnn_builder_create(&config, &test_error);
	assert_non_null(f->builder);
	f->b = (WNNGraphBuilder)f->builder;
	memset(&test_error, 0, sizeof(test_error));
}

void fixture_open(struct fixture *f)
{
	const struct wnn_limits limits = { .ir_ops = UINT64_MAX };

	fixture_open_with(f, &limits);
}

void fixture_close(struct fixture *f)
{
	wnn_builder_destroy(f->builder);
	f->builder = NULL;
}

int fixture_setup(void **state)
{
	struct fixture *f = malloc(sizeof(*f));

	if (!f)
		return -1;
	fixture_open(f);
	*state = f;
	return 0;
}

int fixture_teardown(void **state)
{
	fixture_close(*state);
	free(*state);
	return 0;
}

WNNOperand fixture_input(struct fixture *f, WNNOperandDataType type, size_t rank,
			 const uint32_t *shape)
{
	static unsigned int number;
	WNNOperandDescriptor descriptor = { NULL, type, { rank, shape } };
	WNNOperand operand;
	char name[16];

	snprintf(name, sizeof(name), "x%u", number++);
	if (wnn_builder_input(f->builder, WNN_STR(name), &descriptor, NULL, &operand, &test_error))
		fail_msg("%s", test_error.message);
	return operand;
}

WNNOperand fixture_constant(struct fixture *f, WNNOperandDataType type, size_t rank,
			    const uint32_t *shape, const void *data)
{
	WNNOperandDescriptor descriptor = { NULL, type, { rank, shape } };
	size_t size = wnn_data_type_size(type);
	WNNOperand operand;

	for (size_t i = 0; i < rank; i++)
		size *= shape[i];
	if (wnn_builder_constant(f->builder, &descriptor, data, size, NULL, NULL, &operand,
				 &test_error))
		fail_msg("%s", test_error.message);
	return operand;
}

struct wnn_recording *fixture_build(struct fixture *f, const char *name, WNNOperand operand)
{
	WNNNamedOperand output = { WNN_STR(name), operand };
	struct wnn_recording *recording;

	if (wnn_builder_build(f->builder, 1, &output, &recording, &test_error))
		fail_msg("%s", test_error.message);
	return recording;
}

void assert_operand(WNNOperand operand, WNNOperandDataType type, size_t rank, const uint32_t *shape)
{
	if (!operand)
		fail_msg("refused: %s", test_error.message);
	assert_int_equal(operand->data_type, type);
	assert_int_equal(operand->rank, rank);
	for (size_t i = 0; i < rank; i++)
		assert_int_equal(operand->shape[i], shape[i]);
	/* Handle and IR agree on type and shape. */
	assert_int_equal(operand->value->type.dtype, wnn_dtype_to_ir(type));
	assert_int_equal(operand->value->type.rank, rank);
	for (uint32_t i = 0; i < rank; i++)
		assert_int_equal(ir_type_dim(&operand->value->type, i), shape[i]);
}

void assert_refused(WNNOperand operand, enum wnn_status status, const char *text)
{
	if (operand)
		fail_msg("accepted, expected: %s", text);
	if (!strstr(test_error.message, text))
		fail_msg("message is: %s\nexpected: %s", test_error.message, text);
	assert_int_equal(test_error.status, status);
	memset(&test_error, 0, sizeof(test_error));
}

void assert_text(char *actual, const char *expected)
{
	if (!actual || strcmp(actual, expected))
		fail_msg("is:\n%s\nexpected:\n%s", actual ? actual : "(none)", expected);
	free(actual);
}
