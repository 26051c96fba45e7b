// SPDX-License-Identifier: MIT
/*
 * Tests builders: which calls they refuse, constants of all kinds, building once. The rules of
 * operators have tests of their own.
 */
#include "fixture.h"

#include <string.h>

#include <webnn/webnn_compat.h>

struct fixture {
	WNNInstance instance;
	WNNContext context;
	WNNGraphBuilder builder;
	struct notes *notes;
};

static int setup(void **state)
{
	static struct fixture f;

	f.instance = wnnCreateInstance(NULL);
	f.context = open_context(f.instance, "cpu");
	f.builder = wnnContextCreateGraphBuilder(f.context);
	f.notes = notes_create();
	*state = &f;
	return f.builder ? 0 : -1;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	wnnGraphBuilderRelease(f->builder);
	wnnContextRelease(f->context);
	wnnInstanceRelease(f->instance);
	return 0;
}

#define assert_refused(builder, call, text)                                                        \
	do {                                                                                       \
		assert_null(call);                                                                 \
		assert_last_error(WNNStatus_TypeError, text);                                      \
		assert_int_equal(wnnGraphBuilderGetLastError(builder, NULL), WNNStatus_TypeError); \
	} while (0)

static const char *last_message(void)
{
	WNNError error = WNN_ERROR_INIT;

	wnnGetLastError(&error);
	return error.message.data;
}

static void inputs(void **state)
{
	struct fixture *f = *state;
	WNNOperandDescriptor wanted = WNN_OPERAND_DESCRIPTOR_INIT;
	WNNBorrowedConstant borrowed = WNN_BORROWED_CONSTANT_INIT;
	WNNOperand x = make_input(f->builder, "x", 2, 3);

	assert_non_null(x);
	assert_int_equal(wnnOperandGetDataType(x), WNNOperandDataType_Float32);
	assert_int_equal(wnnOperandGetShape(x).count, 2);
	assert_int_equal(wnnOperandGetShape(x).data[1], 3);
	assert_refused(f->builder, make_input(f->builder, "x", 2, 3), "exists already");
	assert_refused(f->builder, make_input(f->builder, "", 2, 3), "empty");
	assert_refused(f->builder, make_input(f->builder, "z", 2, 0), "dimension 1");
	assert_refused(f->builder, wnnGraphBuilderInput(f->builder, WNN_STR("d"), NULL), "NULL");
	wanted.dataType = WNNOperandDataType_Int8;
	wanted.nextInChain = &borrowed.chain;
	assert_refused(f->builder, wnnGraphBuilderInput(f->builder, WNN_STR("c"), &wanted),
		       "chain");
}

static void operators_take_their_own_operands(void **state)
{
	struct fixture *f = *state;
	WNNGraphBuilder other = wnnContextCreateGraphBuilder(f->context);
	WNNOperand x = make_input(f->builder, "x", 2, 3), foreign = make_input(other, "x", 2, 3);
	WNNOperatorOptions options = WNN_OPERATOR_OPTIONS_INIT;
	WNNError error = WNN_ERROR_INIT;
	WNNOperand parts[3] = { x, x, x };

	options.label = WNN_STR("tail\x1b[31m");
	assert_refused(f->builder, wnnGraphBuilderAdd(f->builder, x, foreign, &options), "builder");
	wnnGraphBuilderGetLastError(f->builder, &error);
	/* The message has operator and label, with control characters escaped. */
	assert_non_null(memmem(error.message.data, error.message.length, "add \"tail\\u001b", 10));
	assert_refused(f->builder,
		       wnnGraphBuilderRelu(f->builder, wnnGraphBuilderAbs(f->builder, NULL, NULL),
					   NULL),
		       "relu");
	assert_int_equal(wnnGraphBuilderSplitEqual(f->builder, x, 2, NULL, 3, parts),
			 WNNStatus_TypeError);
	assert_null(parts[0]);
	assert_null(parts[2]);
	/* Calls that failed have left the builder usable; it keeps their last error. */
	assert_non_null(wnnGraphBuilderRelu(f->builder, x, NULL));
	assert_int_equal(wnnGraphBuilderGetLastError(f->builder, NULL), WNNStatus_TypeError);
	assert_int_equal(wnnGraphBuilderGetLastError(other, NULL), WNNStatus_Success);
	wnnGraphBuilderRelease(other);
}

/*
 * An application may check only the last result of a chain of calls: the last message names the
 * call that failed first.
 */
static void a_chain_tells_its_first_error(void **state)
{
	struct fixture *f = *state;
	WNNOperand x = make_input(f->builder, "x", 2, 3), parts[2] = { x, NULL };
	WNNOperatorOptions options = WNN_OPERATOR_OPTIONS_INIT;
	WNNNamedOperand output = { WNN_STR("y"), NULL };
	WNNGraph graph = NULL;

	assert_null(wnnGraphBuilderRelu(f->builder, NULL, NULL));
	assert_last_error(WNNStatus_TypeError, "relu: operand input is NULL");
	assert_string_equal(last_message(), "relu: operand input is NULL");
	options.label = WNN_STR("dense");
	output.operand = wnnGraphBuilderRelu(
		f->builder,
		wnnGraphBuilderAdd(f->builder, wnnGraphBuilderMatmul(f->builder, x, x, &options), x,
				   NULL),
		NULL);
	assert_string_equal(
		last_message(),
		"relu: operand input is NULL, perhaps because of an earlier error: "
		"matmul \"dense\": a of shape [2,3] has 3 columns, but b of shape [2,3] "
		"has 2 rows");
	assert_failed(wnnGraphBuilderBuildSync(f->builder, 1, &output, GENEROUS, &graph),
		      WNNStatus_TypeError,
		      "the operand of output \"y\" is NULL, perhaps because of "
		      "an earlier error: matmul \"dense\": a of shape");
	assert_refused(f->builder, wnnGraphBuilderConcat(f->builder, 2, parts, 0, NULL),
		       "concat: operand inputs[1] is NULL, perhaps because of an earlier error: "
		       "matmul \"dense\"");
	/* Another error in between does not replace the first. */
	assert_null(wnnGraphBuilderMatmul(f->builder, make_input(f->builder, "z", 5, 7), x, NULL));
	assert_refused(f->builder, wnnGraphBuilderRelu(f->builder, NULL, NULL),
		       "relu: operand input is NULL, perhaps because of an earlier error: "
		       "matmul \"dense\"");
	assert_failed(wnnGraphBuilderBuildSync(f->builder, 1, &output, GENEROUS, &graph),
		      WNNStatus_TypeError,
		      "the operand of output \"y\" is NULL, perhaps because of "
		      "an earlier error: matmul \"dense\"");
}

/* Errors of inputs, constants and helpers for older drafts count as first errors, too. */
static void an_input_may_be_the_first_error(void **state)
{
	struct fixture *f = *state;

	assert_non_null(make_input(f->builder, "x", 2, 3));
	assert_refused(f->builder,
		       wnnCompatSoftmax(f->builder, make_input(f->builder, "x", 2, 2), NULL),
		       "softmax: operand input is NULL, perhaps because of an earlier error: an "
		       "input with the name \"x\" exists already");
}

static void an_operand_keeps_its_builder(void **state)
{
	struct fixture *f = *state;
	WNNGraphBuilder builder = wnnContextCreateGraphBuilder(f->context);
	WNNOperand x = make_input(builder, "x", 2, 3), y = wnnGraphBuilderRelu(builder, x, NULL);

	wnnOperandAddRef(y);
	wnnGraphBuilderRelease(builder);
	assert_int_equal(wnnOperandGetShape(x).data[0], 2);
	assert_int_equal(wnnOperandGetShape(y).data[1], 3);
	wnnOperandRelease(y);
}

static void constants_are_copied(void **state)
{
	struct fixture *f = *state;
	float data[4] = { 1, 2, 3, 4 }, got[4] = { 0 };
	WNNOperand x = make_input(f->builder, "x", 2, 2), c = make_constant(f->builder, data, 2, 2);
	WNNTensor in = make_tensor(f->context, 2, 2), out = make_tensor(f->context, 2, 2);
	WNNOperandDescriptor wanted = WNN_OPERAND_DESCRIPTOR_INIT;
	WNNGraph graph;

	memset(data, 0, sizeof(data));
	wanted.dataType = WNNOperandDataType_Float32;
	assert_refused(f->builder, wnnGraphBuilderConstant(f->builder, &wanted, data, 8), "8");
	assert_refused(f->builder, wnnGraphBuilderConstant(f->builder, &wanted, data, SIZE_MAX),
		       "18446744073709551615 bytes of data, but float32[] takes 4");
	assert_refused(f->builder, wnnGraphBuilderConstant(f->builder, NULL, data, 8), "NULL");
	assert_refused(f->builder, wnnGraphBuilderConstant(f->builder, &wanted, NULL, 4), "NULL");
	assert_refused(f->builder,
		       wnnGraphBuilderConstantFromNumber(f->builder, 0, WNN_NUMBER_DOUBLE(1)),
		       "dataType");
	assert_refused(f->builder,
		       wnnGraphBuilderConstantFromNumber(f->builder, WNNOperandDataType_Float32,
							 WNN_NUMBER_INIT),
		       "number");
	graph = build_one(f->builder, "y", wnnGraphBuilderAdd(f->builder, x, c, NULL));
	assert_ok(dispatch_xy(f->context, graph, in, out));
	assert_ok(wnnContextReadTensorIntoSync(f->context, out, got, sizeof(got), GENEROUS));
	assert_true(got[0] == 1 && got[3] == 4);
	wnnGraphRelease(graph);
	wnnTensorRelease(in);
	wnnTensorRelease(out);
}

/* --- Borrowed constants --- */

static void give_back(void const *data, size_t size, void *userdata1, void *userdata2)
{
	WNNWorkDoneCallbackInfo info = note_done(userdata1, 0, 0);

	(void)data;
	(void)size;
	info.callback(WNNStatus_Success, (WNNStringView){ "", 0 }, userdata1, userdata2);
}

static WNNOperand borrow(WNNGraphBuilder builder, struct notes *notes, int tag, const void *data,
			 size_t size)
{
	WNNOperandDescriptor wanted = WNN_OPERAND_DESCRIPTOR_INIT;
	WNNBorrowedConstant borrowed = WNN_BORROWED_CONSTANT_INIT;
	uint32_t shape[] = { 2, 2 };

	borrowed.releaseCallback = give_back;
	borrowed.userdata1 = notes;
	borrowed.userdata2 = TAG(tag);
	wanted.nextInChain = &borrowed.chain;
	wanted.dataType = WNNOperandDataType_Float32;
	wanted.shape = WNN_UINT32_ARRAY(shape);
	return wnnGraphBuilderConstant(builder, &wanted, data, size);
}

static void borrowed_constants_come_back_once(void **state)
{
	struct fixture *f = *state;
	static const float data[4] = { 1, 2, 3, 4 };
	static _Alignas(float) unsigned char crooked[17];
	WNNTensor in = make_tensor(f->context, 2, 2), out = make_tensor(f->context, 2, 2);
	WNNOperand x, c;
	WNNGraph graph;
	float got[4] = { 0 };

	memcpy(crooked + 1, data, sizeof(data));
	/*
	 * A failing call gives the memory back, and so does a builder that is released without a
	 * build.
	 */
	assert_null(borrow(f->builder, f->notes, 1, data, 12));
	assert_true(notes_wait(f->notes, 1));
	assert_int_equal(notes_get(f->notes, 0).tag, 1);
	assert_false(notes_get(f->notes, 0).thread == this_thread());
	wnnGraphBuilderRelease(f->builder);
	f->builder = wnnContextCreateGraphBuilder(f->context);
	assert_non_null(borrow(f->builder, f->notes, 2, data, sizeof(data)));
	wnnGraphBuilderRelease(f->builder);
	assert_true(notes_wait(f->notes, 2));
	assert_int_equal(notes_get(f->notes, 1).tag, 2);
	/* Data that is not aligned is copied, so that it is given back at once. */
	f->builder = wnnContextCreateGraphBuilder(f->context);
	x = make_input(f->builder, "x", 2, 2);
	c = borrow(f->builder, f->notes, 3, crooked + 1, sizeof(data));
	assert_true(notes_wait(f->notes, 3));
	assert_int_equal(notes_get(f->notes, 2).tag, 3);
	/* Data that a graph uses is given back when nothing reads it any more. */
	x = wnnGraphBuilderAdd(f->builder, x, c, NULL);
	c = borrow(f->builder, f->notes, 4, data, sizeof(data));
	graph = build_one(f->builder, "y", wnnGraphBuilderMul(f->builder, x, c, NULL));
	assert_ok(dispatch_xy(f->context, graph, in, out));
	assert_ok(wnnContextReadTensorIntoSync(f->context, out, got, sizeof(got), GENEROUS));
	assert_true(got[0] == 1 && got[1] == 4 && got[3] == 16);
	wnnGraphDestroy(graph);
	assert_true(notes_wait(f->notes, 4));
	assert_int_equal(notes_get(f->notes, 3).tag, 4);
	wnnGraphRelease(graph);
	wnnTensorRelease(in);
	wnnTensorRelease(out);
	assert_ok(wnnContextWaitIdle(f->context, GENEROUS));
	assert_int_equal(notes_count(f->notes), 4);
}

static void a_borrowed_constant_survives_the_instance(void **state)
{
	static const float data[4];
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContext context = open_context(instance, "cpu");
	WNNGraphBuilder builder = wnnContextCreateGraphBuilder(context);
	struct notes *notes = notes_create();

	(void)state;
	assert_non_null(borrow(builder, notes, 1, data, sizeof(data)));
	wnnInstanceRelease(instance);
	wnnContextRelease(context);
	assert_int_equal(notes_count(notes), 0);
	wnnGraphBuilderRelease(builder);
	assert_true(notes_wait(notes, 1));
}

static void borrowing_without_a_builder(void **state)
{
	struct fixture *f = *state;
	static const float data[4];

	assert_null(borrow(NULL, f->notes, 1, data, sizeof(data)));
	assert_int_equal(notes_count(f->notes), 1);
}

/* --- Constants of tensors --- */

static WNNTensor constant_tensor(WNNContext context, const float *data)
{
	WNNOperandDescriptor wanted = WNN_OPERAND_DESCRIPTOR_INIT;
	uint32_t shape[] = { 2, 2 };
	WNNTensor tensor = NULL;

	wanted.dataType = WNNOperandDataType_Float32;
	wanted.shape = WNN_UINT32_ARRAY(shape);
	assert_ok(
		wnnContextCreateConstantTensorSync(context, &wanted, data, 16, GENEROUS, &tensor));
	return tensor;
}

static void constants_of_tensors(void **state)
{
	struct fixture *f = *state;
	const float data[4] = { 1, 2, 3, 4 };
	WNNTensor constant = constant_tensor(f->context, data),
		  plain = make_tensor(f->context, 2, 2);
	WNNTensor out = make_tensor(f->context, 2, 2);
	WNNContext other = open_context(f->instance, "cpu");
	WNNTensor foreign = constant_tensor(other, data);
	WNNOperand c, y;
	WNNNamedOperand output;
	WNNGraph graph = NULL;
	float got[4] = { 0 };

	assert_refused(f->builder, wnnGraphBuilderConstantFromTensor(f->builder, NULL), "NULL");
	assert_refused(f->builder, wnnGraphBuilderConstantFromTensor(f->builder, foreign),
		       "another context");
	assert_refused(f->builder, wnnGraphBuilderConstantFromTensor(f->builder, plain),
		       "createConstantTensor");
	c = wnnGraphBuilderConstantFromTensor(f->builder, constant);
	y = wnnGraphBuilderAdd(f->builder, make_input(f->builder, "x", 2, 2), c, NULL);
	graph = build_one(f->builder, "y", y);
	/* After the build, the constant tensor may be destroyed. */
	wnnTensorDestroy(constant);
	wnnTensorRelease(constant);
	assert_ok(dispatch_xy(f->context, graph, plain, out));
	assert_ok(wnnContextReadTensorIntoSync(f->context, out, got, sizeof(got), GENEROUS));
	assert_true(got[0] == 1 && got[3] == 4);
	wnnGraphRelease(graph);
	/* A build fails when one of its constant tensors was destroyed before. */
	wnnGraphBuilderRelease(f->builder);
	f->builder = wnnContextCreateGraphBuilder(f->context);
	constant = constant_tensor(f->context, data);
	y = wnnGraphBuilderAdd(f->builder, make_input(f->builder, "x", 2, 2),
			       wnnGraphBuilderConstantFromTensor(f->builder, constant), NULL);
	wnnTensorDestroy(constant);
	assert_refused(f->builder, wnnGraphBuilderConstantFromTensor(f->builder, constant),
		       "destroyed");
	output = (WNNNamedOperand){ WNN_STR("y"), y };
	graph = NULL;
	assert_failed(wnnGraphBuilderBuildSync(f->builder, 1, &output, GENEROUS, &graph),
		      WNNStatus_TypeError, "destroyed");
	wnnTensorRelease(constant);
	wnnTensorRelease(foreign);
	wnnContextRelease(other);
	wnnTensorRelease(plain);
	wnnTensorRelease(out);
}

/* --- Building --- */

static void bad_outputs(void **state)
{
	struct fixture *f = *state;
	WNNGraphBuilder other = wnnContextCreateGraphBuilder(f->context);
	WNNOperand x = make_input(f->builder, "x", 2, 2),
		   y = wnnGraphBuilderRelu(f->builder, x, NULL);
	WNNNamedOperand output = { WNN_STR("y"), y };
	WNNNamedOperand twice[2] = { output, output };
	WNNGraph graph = (void *)x;

	assert_failed(wnnGraphBuilderBuildSync(f->builder, 0, &output, GENEROUS, &graph),
		      WNNStatus_TypeError, "at least one output");
	assert_null(graph);
	assert_failed(wnnGraphBuilderBuildSync(f->builder, 2, twice, GENEROUS, &graph),
		      WNNStatus_TypeError, "two outputs");
	output.name = WNN_STR("");
	assert_failed(wnnGraphBuilderBuildSync(f->builder, 1, &output, GENEROUS, &graph),
		      WNNStatus_TypeError, "empty");
	output = (WNNNamedOperand){ WNN_STR("y"), NULL };
	assert_failed(wnnGraphBuilderBuildSync(f->builder, 1, &output, GENEROUS, &graph),
		      WNNStatus_TypeError, "NULL");
	output.operand = x;
	assert_failed(wnnGraphBuilderBuildSync(f->builder, 1, &output, GENEROUS, &graph),
		      WNNStatus_TypeError, "an input");
	output.operand = make_input(other, "x", 2, 2);
	assert_failed(wnnGraphBuilderBuildSync(f->builder, 1, &output, GENEROUS, &graph),
		      WNNStatus_TypeError, "another builder");
	assert_failed(wnnGraphBuilderBuildSync(f->builder, 1, &output, GENEROUS, NULL),
		      WNNStatus_TypeError, "graph is NULL");
	assert_int_equal(
		wnnGraphBuilderBuild(f->builder, 1, &output, WNN_BUILD_CALLBACK_INFO_INIT).id, 0);
	assert_ok(wait_future(f->instance, wnnGraphBuilderBuild(f->builder, 1, &output,
								note_build(f->notes, 0, 1))));
	assert_int_equal(notes_get(f->notes, 0).status, WNNStatus_TypeError);
	/* These errors have not used up the builder. */
	output.operand = y;
	assert_ok(wnnGraphBuilderBuildSync(f->builder, 1, &output, GENEROUS, &graph));
	wnnGraphRelease(graph);
	/* The successful build has used up the builder. */
	assert_failed(wnnGraphBuilderBuildSync(f->builder, 1, &output, GENEROUS, &graph),
		      WNNStatus_InvalidStateError, "only once");
	assert_int_equal(wnnGraphBuilderGetLastError(f->builder, NULL),
			 WNNStatus_InvalidStateError);
	assert_null(wnnGraphBuilderRelu(f->builder, y, NULL));
	assert_last_error(WNNStatus_InvalidStateError, "only once");
	assert_int_equal(wnnOperandGetShape(y).data[0], 2);
	wnnGraphBuilderRelease(other);
}

/* A build without a callback is refused, and the builder keeps the error. */
static void a_build_without_a_callback(void **state)
{
	struct fixture *f = *state;
	WNNNamedOperand output = { WNN_STR("y"),
				   wnnGraphBuilderRelu(f->builder,
						       make_input(f->builder, "x", 2, 2), NULL) };
	const WNNBuildCallbackInfo none = WNN_BUILD_CALLBACK_INFO_INIT;

	assert_int_equal(wnnGraphBuilderGetLastError(f->builder, NULL), WNNStatus_Success);
	assert_int_equal(wnnGraphBuilderBuild(f->builder, 1, &output, none).id, 0);
	assert_int_equal(wnnGraphBuilderGetLastError(f->builder, NULL), WNNStatus_TypeError);
}

static void building_asynchronously(void **state)
{
	struct fixture *f = *state;
	WNNOperand y = wnnGraphBuilderRelu(f->builder, make_input(f->builder, "x", 2, 2), NULL);
	WNNNamedOperand output = { WNN_STR("y"), y };
	WNNFuture future = wnnGraphBuilderBuild(
		f->builder, 1, &output, note_build(f->notes, WNNCallbackMode_WaitAnyOnly, 3));
	struct note note;

	/* The builder is used up at once, before the build has ended. */
	assert_null(wnnGraphBuilderRelu(f->builder, y, NULL));
	assert_last_error(WNNStatus_InvalidStateError, "only once");
	assert_ok(wait_future(f->instance, future));
	note = notes_get(f->notes, 0);
	assert_int_equal(note.status, WNNStatus_Success);
	assert_int_equal(wnnGraphGetOutputs(note.object).count, 1);
	wnnGraphRelease(note.object);
}

static void a_build_that_takes_too_long(void **state)
{
	struct gate *gate = gate_create();
	WNNInstance instance = gate_instance(gate);
	WNNContext context = open_context(instance, "cpu");
	WNNGraphBuilder builder = wnnContextCreateGraphBuilder(context);
	WNNOperand y = wnnGraphBuilderRelu(builder, make_input(builder, "x", 2, 2), NULL);
	WNNNamedOperand output = { WNN_STR("y"), y };
	WNNGraph graph = NULL;

	(void)state;
	gate_close(gate, context);
	assert_failed(wnnGraphBuilderBuildSync(builder, 1, &output, 0, &graph), WNNStatus_TimedOut,
		      "cancelled");
	assert_null(graph);
	assert_int_equal(wnnGraphBuilderGetLastError(builder, NULL), WNNStatus_TimedOut);
	gate_open(gate);
	/*
	 * The build still makes a graph after the time-out; the library has to release it, which
	 * the leak checker checks.
	 */
	assert_ok(wnnContextWaitIdle(context, GENEROUS));
	wnnGraphBuilderRelease(builder);
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
}

static void a_build_that_loses_its_context(void **state)
{
	struct gate *gate = gate_create();
	WNNInstance instance = gate_instance(gate);
	WNNContext context = open_context(instance, "cpu");
	WNNGraphBuilder builder = wnnContextCreateGraphBuilder(context);
	struct notes *notes = notes_create();
	WNNOperand y = wnnGraphBuilderRelu(builder, make_input(builder, "x", 2, 2), NULL);
	WNNNamedOperand output = { WNN_STR("y"), y };

	(void)state;
	gate_close(gate, context);
	assert_true(wnnGraphBuilderBuild(builder, 1, &output,
					 note_build(notes, WNNCallbackMode_AllowSpontaneous, 1))
			    .id);
	wnnContextDestroy(context);
	/* The callback comes at once, not when the timeline reaches the build. */
	assert_true(notes_wait(notes, 1));
	assert_int_equal(notes_get(notes, 0).status, WNNStatus_InvalidStateError);
	assert_null(notes_get(notes, 0).object);
	gate_open(gate);
	wnnGraphBuilderRelease(builder);
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
}

static void operators_that_cannot_be_executed(void **state)
{
	struct fixture *f = *state;
	WNNOpSupportLimits limits = WNN_OP_SUPPORT_LIMITS_INIT;
	WNNOperandDescriptor wanted = WNN_OPERAND_DESCRIPTOR_INIT;
	uint32_t in_shape[] = { 2, 1, 3 }, w_shape[] = { 1, 12, 3 }, r_shape[] = { 1, 12, 4 };
	WNNOperand input, weight, recurrent, outputs[2];
	WNNStatus status;

	wanted.dataType = WNNOperandDataType_Float32;
	wanted.shape = WNN_UINT32_ARRAY(in_shape);
	input = wnnGraphBuilderInput(f->builder, WNN_STR("i"), &wanted);
	wanted.shape = WNN_UINT32_ARRAY(w_shape);
	weight = wnnGraphBuilderInput(f->builder, WNN_STR("w"), &wanted);
	wanted.shape = WNN_UINT32_ARRAY(r_shape);
	recurrent = wnnGraphBuilderInput(f->builder, WNN_STR("r"), &wanted);
	assert_ok(wnnContextGetOpSupportLimits(f->context, &limits));
	status = wnnGraphBuilderGru(f->builder, input, weight, recurrent, 2, 4, NULL, 1, outputs);
	/* If the limits list types for gru, the call succeeds; otherwise it is refused. */
	if (limits.gru.input.dataTypes) {
		assert_ok(status);
	} else {
		assert_failed(status, WNNStatus_NotSupportedError, "gru");
		assert_null(outputs[0]);
	}
}

/* Builds y = relu(x) & 6. */
static WNNGraph build_bits(WNNContext context)
{
	WNNGraphBuilder b = wnnContextCreateGraphBuilder(context);
	WNNIntegerDetails details = WNN_INTEGER_DETAILS_INIT;
	WNNOperatorOptions options = WNN_OPERATOR_OPTIONS_INIT;
	WNNOperandDescriptor integers = WNN_OPERAND_DESCRIPTOR_INIT;
	WNNNamedOperand output = { WNN_STR("y"), NULL };
	WNNGraph graph = NULL;
	WNNOperand x;

	integers.dataType = WNNOperandDataType_Int32;
	integers.shape = WNN_UINT32_LIST(4);
	details.function = WNNIntegerFunction_Bits;
	options.nextInChain = &details.chain;
	x = wnnGraphBuilderRelu(b, wnnGraphBuilderInput(b, WNN_STR("x"), &integers), NULL);
	output.operand = wnnGraphBuilderLogicalAnd(
		b, x,
		wnnGraphBuilderConstantFromNumber(b, WNNOperandDataType_Int32, WNN_NUMBER_INT64(6)),
		&options);
	assert_ok(wnnGraphBuilderBuildSync(b, 1, &output, GENEROUS, &graph));
	wnnGraphBuilderRelease(b);
	return graph;
}

static void check_bits(WNNContext context, WNNGraph graph)
{
	const int32_t data[] = { 7, -1, 12, 65539 }, expected[] = { 6, 0, 4, 2 };
	WNNTensorDescriptor integers = WNN_TENSOR_DESCRIPTOR_INIT;
	WNNNamedTensor x = { WNN_STR("x"), NULL }, y = { WNN_STR("y"), NULL };
	int32_t found[4];

	integers.dataType = WNNOperandDataType_Int32;
	integers.shape = WNN_UINT32_LIST(4);
	integers.readable = integers.writable = WNN_TRUE;
	assert_ok(wnnContextCreateTensorSync(context, &integers, GENEROUS, &x.tensor));
	assert_ok(wnnContextCreateTensorSync(context, &integers, GENEROUS, &y.tensor));
	assert_ok(wnnContextWriteTensor(context, x.tensor, data, sizeof(data)));
	assert_ok(wnnContextDispatch(context, graph, 1, &x, 1, &y));
	assert_ok(wnnContextReadTensorIntoSync(context, y.tensor, found, sizeof(found), GENEROUS));
	assert_memory_equal(found, expected, sizeof(expected));
	wnnTensorRelease(x.tensor);
	wnnTensorRelease(y.tensor);
}

/*
 * Bitwise operators run on the CPU, also in a context with an NPU; the placement report says why.
 */
static void functions_of_integers(void **state)
{
	static const char *const devices[] = { "cpu", "sim" };
	static const char why[] =
		"the NPU has no instructions for bitwise operators, shifts and remainders";
	WNNInstance instance = wnnCreateInstance(NULL);

	(void)state;
	for (int i = 0; i < 2; i++) {
		WNNContext context = open_context(instance, devices[i]);
		WNNGraph graph = build_bits(context);
		WNNGraphPlacement placement = WNN_GRAPH_PLACEMENT_INIT;
		const WNNNodePlacement *last;

		assert_ok(wnnGraphGetPlacement(graph, &placement));
		assert_int_equal(placement.npuCount, i);
		last = &placement.nodes[placement.nodeCount - 1];
		assert_int_equal(last->device, WNNNodeDevice_CPU);
		assert_int_equal(strncmp(last->kernel.data, "cpu/binary-integers", 19), 0);
		assert_int_equal(!strncmp(last->reasonText.data, why, sizeof(why) - 1), i);
		check_bits(context, graph);
		wnnGraphRelease(graph);
		wnnContextRelease(context);
	}
	wnnInstanceRelease(instance);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(inputs),
		TEST(operators_take_their_own_operands),
		TEST(a_chain_tells_its_first_error),
		TEST(an_input_may_be_the_first_error),
		TEST(an_operand_keeps_its_builder),
		TEST(constants_are_copied),
		TEST(borrowed_constants_come_back_once),
		cmocka_unit_test(functions_of_integers),
		cmocka_unit_test(a_borrowed_constant_survives_the_instance),
		TEST(borrowing_without_a_builder),
		TEST(constants_of_tensors),
		TEST(bad_outputs),
		TEST(a_build_without_a_callback),
		TEST(building_asynchronously),
		cmocka_unit_test(a_build_that_takes_too_long),
		cmocka_unit_test(a_build_that_loses_its_context),
		TEST(operators_that_cannot_be_executed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
