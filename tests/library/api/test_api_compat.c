// SPDX-License-Identifier: MIT
/* Tests the operators of older drafts, in webnn_compat.h. */
#include "fixture.h"

#include <string.h>

#include <webnn/webnn_compat.h>

struct state {
	WNNInstance instance;
	WNNContext context;
	WNNGraphBuilder b;
};

static int setup(void **state)
{
	static struct state s;

	s.instance = wnnCreateInstance(NULL);
	s.context = open_context(s.instance, "cpu");
	s.b = wnnContextCreateGraphBuilder(s.context);
	*state = &s;
	return 0;
}

static int teardown(void **state)
{
	struct state *s = *state;

	wnnGraphBuilderRelease(s->b);
	wnnContextRelease(s->context);
	wnnInstanceRelease(s->instance);
	return 0;
}

static WNNOperand input(struct state *s, const char *name, size_t rank, const uint32_t *shape)
{
	WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;

	descriptor.dataType = WNNOperandDataType_Float32;
	descriptor.shape = (WNNUint32Array){ rank, shape };
	return wnnGraphBuilderInput(s->b, WNN_STR(name), &descriptor);
}

#define LIST(...) WNN_UINT32_LIST(__VA_ARGS__)
#define ABSENT	  ((WNNUint32Array){ 0, NULL })

static void assert_shape(WNNOperand operand, WNNUint32Array wanted)
{
	WNNUint32Array shape;

	assert_non_null(operand);
	shape = wnnOperandGetShape(operand);
	assert_int_equal(shape.count, wanted.count);
	if (wanted.count)
		assert_memory_equal(shape.data, wanted.data, wanted.count * sizeof(*wanted.data));
}

static void assert_refused(WNNOperand operand, const char *text)
{
	assert_null(operand);
	assert_last_error(WNNStatus_TypeError, text);
}

static void squeeze(void **state)
{
	struct state *s = *state;
	WNNOperand x = input(s, "x", 4, LIST(1, 3, 1, 5).data);

	assert_shape(wnnCompatSqueeze(s->b, x, ABSENT, NULL), LIST(3, 5));
	assert_shape(wnnCompatSqueeze(s->b, x, LIST(2), NULL), LIST(1, 3, 5));
	assert_shape(wnnCompatSqueeze(s->b, x, LIST(2, 0), NULL), LIST(3, 5));
	assert_shape(wnnCompatSqueeze(s->b, x, WNN_UINT32_EMPTY, NULL), LIST(1, 3, 1, 5));
	assert_shape(wnnCompatSqueeze(s->b, input(s, "one", 2, LIST(1, 1).data), ABSENT, NULL),
		     (WNNUint32Array){ 0, NULL });
	assert_refused(wnnCompatSqueeze(s->b, x, LIST(1), NULL),
		       "squeeze: dimension 1 of input has size 3");
	assert_refused(wnnCompatSqueeze(s->b, x, LIST(4), NULL), "axes[0] is 4, but the rank is 4");
	assert_refused(wnnCompatSqueeze(s->b, x, LIST(0, 0), NULL), "axes has 0 twice");
	assert_refused(wnnCompatSqueeze(s->b, x, (WNNUint32Array){ 2, NULL }, NULL),
		       "data is NULL");
	assert_refused(wnnCompatSqueeze(s->b, NULL, ABSENT, NULL),
		       "squeeze: operand input is NULL");
	assert_refused(wnnCompatSqueeze(NULL, x, ABSENT, NULL), "builder is NULL");
}

static void unsqueeze(void **state)
{
	struct state *s = *state;
	WNNOperand x = input(s, "x", 2, LIST(3, 5).data);

	assert_shape(wnnCompatUnsqueeze(s->b, x, LIST(0), NULL), LIST(1, 3, 5));
	assert_shape(wnnCompatUnsqueeze(s->b, x, LIST(1, 3), NULL), LIST(3, 1, 5, 1));
	assert_refused(wnnCompatUnsqueeze(s->b, x, LIST(3), NULL),
		       "axes[0] is 3, but the rank is 3");
	assert_refused(wnnCompatUnsqueeze(s->b, x, LIST(0, 1, 2, 3, 4, 5, 6), NULL),
		       "7 axes added to rank 2");
}

static void flatten(void **state)
{
	struct state *s = *state;
	WNNOperand x = input(s, "x", 3, LIST(2, 3, 5).data);

	assert_shape(wnnCompatFlatten(s->b, x, 0, NULL), LIST(1, 30));
	assert_shape(wnnCompatFlatten(s->b, x, 1, NULL), LIST(2, 15));
	assert_shape(wnnCompatFlatten(s->b, x, 3, NULL), LIST(30, 1));
	assert_refused(wnnCompatFlatten(s->b, x, 4, NULL), "flatten: axis is 4");
}

static void reshape(void **state)
{
	struct state *s = *state;
	WNNOperand x = input(s, "x", 2, LIST(4, 6).data);

	assert_shape(wnnCompatReshape(s->b, x, 2, (int32_t[]){ -1, 8 }, NULL), LIST(3, 8));
	assert_shape(wnnCompatReshape(s->b, x, 1, (int32_t[]){ -1 }, NULL), LIST(24));
	assert_shape(wnnCompatReshape(s->b, x, 2, (int32_t[]){ 12, 2 }, NULL), LIST(12, 2));
	assert_refused(wnnCompatReshape(s->b, x, 2, (int32_t[]){ -1, 7 }, NULL),
		       "no size for newShape[0]");
	assert_refused(wnnCompatReshape(s->b, x, 2, (int32_t[]){ -1, -1 }, NULL),
		       "newShape[1] is -1 for the second time");
	assert_refused(wnnCompatReshape(s->b, x, 2, (int32_t[]){ 24, 0 }, NULL),
		       "newShape[1] is 0");
	assert_refused(wnnCompatReshape(s->b, x, 2, (int32_t[]){ 24, -2 }, NULL), "is -2");
	assert_refused(wnnCompatReshape(s->b, x, 2, NULL, NULL), "its data is NULL");
	assert_refused(wnnCompatReshape(s->b, x, 9, (int32_t[9]){ 1 }, NULL), "up to 8");
}

static void softmax(void **state)
{
	struct state *s = *state;

	assert_shape(wnnCompatSoftmax(s->b, input(s, "x", 2, LIST(2, 3).data), NULL), LIST(2, 3));
	assert_refused(wnnCompatSoftmax(s->b, input(s, "y", 1, LIST(3).data), NULL),
		       "softmax: input has rank 1, expected 2");
}

static void auto_padding(void **state)
{
	uint32_t padding[2];

	(void)state;
	/*
	 * Size 224, window 3 and stride 2 give 112 results, and the last window reaches one row
	 * beyond the end.
	 */
	assert_ok(wnnCompatAutoPadding(WNNCompatAutoPad_SameUpper, 224, 3, 2, 1, padding));
	assert_int_equal(padding[0], 0);
	assert_int_equal(padding[1], 1);
	assert_ok(wnnCompatAutoPadding(WNNCompatAutoPad_SameLower, 224, 3, 2, 1, padding));
	assert_int_equal(padding[0], 1);
	assert_int_equal(padding[1], 0);
	assert_ok(wnnCompatAutoPadding(WNNCompatAutoPad_SameUpper, 10, 3, 1, 2, padding));
	assert_int_equal(padding[0] + padding[1], 4);
	assert_ok(wnnCompatAutoPadding(WNNCompatAutoPad_SameUpper, 4, 1, 4, 1, padding));
	assert_int_equal(padding[0] + padding[1], 0);
	assert_failed(wnnCompatAutoPadding(WNNCompatAutoPad_Explicit, 4, 1, 4, 1, padding),
		      WNNStatus_TypeError, "autoPad is 1");
	assert_failed(wnnCompatAutoPadding(WNNCompatAutoPad_SameUpper, 4, 1, 0, 1, padding),
		      WNNStatus_TypeError, "is 0");
	assert_failed(wnnCompatAutoPadding(WNNCompatAutoPad_SameUpper, 4, UINT32_MAX, 1, 9,
					   padding),
		      WNNStatus_TypeError, "the dilated window has");
	assert_failed(wnnCompatAutoPadding(WNNCompatAutoPad_SameUpper, 4, 1, 1, 1, NULL),
		      WNNStatus_TypeError, "padding is NULL");
}

static WNNGraph build_two_outputs(struct state *s)
{
	WNNOperand a = make_input(s->b, "a", 2, 2), b = make_input(s->b, "b", 2, 2);
	WNNNamedOperand outputs[] = {
		{ WNN_STR("sum"), wnnGraphBuilderAdd(s->b, a, b, NULL) },
		{ WNN_STR("product"), wnnGraphBuilderMul(s->b, a, b, NULL) },
	};
	WNNGraph graph = NULL;

	assert_ok(wnnGraphBuilderBuildSync(s->b, 2, outputs, GENEROUS, &graph));
	return graph;
}

static void compute(void **state)
{
	struct state *s = *state;
	WNNGraph graph = build_two_outputs(s);
	const float a[5] = { 1, 2, 3, 4, 99 }, b[4] = { 5, 6, 7, 8 };
	float sum[6] = { 0, 0, 0, 0, -1, -1 }, product[4];
	WNNCompatInput in[] = { { WNN_STR("b"), b, sizeof(b) }, { WNN_STR("a"), a, sizeof(a) } };
	WNNCompatOutput out[] = { { WNN_STR("sum"), sum, sizeof(sum) },
				  { WNN_STR("product"), product, sizeof(product) } };

	/* Buffers may be larger than their operands, and outputs may be left out. */
	assert_ok(wnnCompatCompute(s->context, graph, 2, in, 1, out, GENEROUS));
	assert_memory_equal(sum, ((float[]){ 6, 8, 10, 12, -1, -1 }), sizeof(sum));
	assert_ok(wnnCompatCompute(s->context, graph, 2, in, 2, out, GENEROUS));
	assert_memory_equal(product, ((float[]){ 5, 12, 21, 32 }), sizeof(product));
	assert_ok(wnnCompatCompute(s->context, graph, 2, in, 0, NULL, GENEROUS));
	assert_failed(wnnCompatCompute(s->context, graph, 1, in, 1, out, GENEROUS),
		      WNNStatus_DataError, "compute: input \"a\" is missing");
	in[1].size = 15;
	assert_failed(wnnCompatCompute(s->context, graph, 2, in, 1, out, GENEROUS),
		      WNNStatus_DataError,
		      "input \"a\" has a buffer of 15 bytes, expected at least 16");
	in[1] = in[0];
	assert_failed(wnnCompatCompute(s->context, graph, 2, in, 1, out, GENEROUS),
		      WNNStatus_DataError, "input \"b\" is given twice");
	in[1].name = WNN_STR("c");
	assert_failed(wnnCompatCompute(s->context, graph, 2, in, 1, out, GENEROUS),
		      WNNStatus_DataError, "input \"c\" is not in the graph");
	in[1] = (WNNCompatInput){ WNN_STR("a"), NULL, 16 };
	assert_failed(wnnCompatCompute(s->context, graph, 2, in, 1, out, GENEROUS),
		      WNNStatus_DataError, "input \"a\" has no buffer");
	in[1].data = a;
	out[0].size = 15;
	assert_failed(wnnCompatCompute(s->context, graph, 2, in, 1, out, GENEROUS),
		      WNNStatus_DataError,
		      "output \"sum\" has a buffer of 15 bytes, expected at least 16");
	assert_failed(wnnCompatCompute(s->context, graph, 2, NULL, 1, out, GENEROUS),
		      WNNStatus_TypeError, "inputs is NULL");
	assert_failed(wnnCompatCompute(s->context, NULL, 2, in, 1, out, GENEROUS),
		      WNNStatus_TypeError, "graph is NULL");
	wnnGraphDestroy(graph);
	out[0].size = sizeof(sum);
	assert_failed(wnnCompatCompute(s->context, graph, 2, in, 1, out, GENEROUS),
		      WNNStatus_InvalidStateError, "destroyed");
	wnnGraphRelease(graph);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(squeeze, setup, teardown),
		cmocka_unit_test_setup_teardown(unsqueeze, setup, teardown),
		cmocka_unit_test_setup_teardown(flatten, setup, teardown),
		cmocka_unit_test_setup_teardown(reshape, setup, teardown),
		cmocka_unit_test_setup_teardown(softmax, setup, teardown),
		cmocka_unit_test(auto_padding),
		cmocka_unit_test_setup_teardown(compute, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
