// SPDX-License-Identifier: MIT
/*
 * Tests models that are made from graphs in memory (wnnOnnxLoadGraph), and which of their nodes can
 * be taken (wnnOnnxModelProbe).
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <webnn/onnx.h>

#include "fixture.h"
#include "memory.h"

static atomic_int released;

static const WNNOnnxOperatorSet sets[] = { { TEXT(""), 17 } };
static const int64_t two_by_two[] = { 2, 2 };
static const WNNOnnxDimension known[] = { { 2, TEXT("") }, { 2, TEXT("") } };
static const WNNOnnxDimension named[] = { { WNN_ONNX_DIMENSION_UNKNOWN, TEXT("n") },
					  { 2, TEXT("") } };
static const float numbers[] = { 1, 2, 3, 4 };
static const WNNOnnxTensor weights[] = { {
	.name = TEXT("w"),
	.elementType = 1,
	.rank = 2,
	.dimensions = two_by_two,
	.data = numbers,
	.size = sizeof(numbers),
} };
static const WNNStringView matmul_in[] = { TEXT("x"), TEXT("w") }, matmul_out[] = { TEXT("m") };
static const WNNStringView soft_in[] = { TEXT("m") }, soft_out[] = { TEXT("y") };
static const int64_t axis[] = { 1 };
static const WNNOnnxAttribute attributes[] = {
	{ .name = TEXT("axis"), .kind = WNNOnnxAttributeKind_Int, .count = 1, .ints = axis },
};
static const WNNOnnxNode nodes[] = {
	{ TEXT("first"), TEXT(""), TEXT("MatMul"), 2, matmul_in, 1, matmul_out, 0, NULL },
	{ TEXT("second"), TEXT(""), TEXT("Softmax"), 1, soft_in, 1, soft_out, 1, attributes },
};

static void release(void const *data, size_t size, void *userdata1, void *userdata2)
{
	assert_null(data);
	assert_int_equal(size, 0);
	assert_ptr_equal(userdata1, &released);
	assert_null(userdata2);
	released++;
}

/* Waits until a thread of the library has given back the lent weights; fails after 10 seconds. */
static void wait_for_release(void)
{
	for (int i = 0; !released && i < 10000; i++)
		usleep(1000);
	assert_int_equal(released, 1);
}

static WNNStatus load(const WNNOnnxGraph *graph, bool lend, WNNOnnxModel *model)
{
	WNNOnnxDescription description = WNN_ONNX_DESCRIPTION_INIT;

	description.graph = graph;
	description.operatorSetCount = COUNT(sets);
	description.operatorSets = sets;
	if (lend) {
		description.releaseCallback = release;
		description.userdata1 = &released;
	}
	return wnnOnnxLoadGraph(&description, model);
}

static void says(const char *words)
{
	WNNError error = WNN_ERROR_INIT;

	wnnOnnxGetLastError(&error);
	if (!strstr(error.message.data, words))
		fail_msg("\"%s\" does not have \"%s\"", error.message.data, words);
}

/* Creates a tensor of one row and writes @size bytes of @data to it, unless @data is NULL. */
static WNNTensor tensor(WNNOperandDataType type, uint32_t columns, const void *data, size_t size)
{
	WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
	WNNTensor out;

	descriptor.dataType = type;
	descriptor.shape = WNN_UINT32_LIST(1, columns);
	descriptor.readable = descriptor.writable = WNN_TRUE;
	assert_int_equal(wnnContextCreateTensorSync(context, &descriptor, WNN_WAIT_FOREVER, &out),
			 WNNStatus_Success);
	if (data)
		assert_int_equal(wnnContextWriteTensor(context, out, data, size),
				 WNNStatus_Success);
	return out;
}

/*
 * Runs the graph on the row [1, -1] and checks that the result is [0.5, 0.5]: the row times the
 * weights is [-2, -2], and the softmax of equal numbers is equal.
 */
static void run(WNNGraph graph)
{
	static const float row[] = { 1, -1 };
	WNNNamedTensor x = { TEXT("x"), tensor(WNNOperandDataType_Float32, 2, row, sizeof(row)) };
	WNNNamedTensor y = { TEXT("y"), tensor(WNNOperandDataType_Float32, 2, NULL, 0) };
	float result[2];

	assert_int_equal(wnnContextDispatch(context, graph, 1, &x, 1, &y), WNNStatus_Success);
	assert_int_equal(wnnContextReadTensorIntoSync(context, y.tensor, result, sizeof(result),
						      WNN_WAIT_FOREVER),
			 WNNStatus_Success);
	assert_float_equal(result[0], 0.5, 1e-6);
	assert_float_equal(result[1], 0.5, 1e-6);
	wnnTensorRelease(x.tensor);
	wnnTensorRelease(y.tensor);
}

/*
 * Checks the weight and the results of both nodes, of which only y has a type before the model is
 * built.
 */
static void check_values(WNNOnnxModel model, bool built)
{
	WNNOnnxValueInfoArray values = wnnOnnxModelGetValues(model);
	const WNNOnnxValueInfo *y = &values.data[2];

	assert_int_equal(values.count, 3);
	assert_memory_equal(values.data[0].name.data, "w", 2);
	assert_true(values.data[0].fixed);
	assert_int_equal(values.data[0].dimensions[1].size, 2);
	assert_false(y->fixed);
	assert_memory_equal(y->name.data, "y", 2);
	assert_memory_equal(y->elementType.data, "float", 6);
	assert_int_equal(y->rank, 2);
	assert_int_equal(y->dimensions[0].size, built ? 1 : WNN_ONNX_DIMENSION_UNKNOWN);
	assert_int_equal(y->dimensions[0].name.length, built ? 0 : 1);
	assert_int_equal(values.data[1].rank, built ? 2 : WNN_ONNX_RANK_UNKNOWN);
	if (built)
		assert_int_equal(values.data[1].dimensions[0].size, 1);
	assert_int_equal(wnnOnnxModelGetValues(NULL).count, 0);
}

static void test_run(void **state)
{
	WNNOnnxValue x = value("x", FLOAT, 2, named), y = value("y", FLOAT, 2, named);
	WNNOnnxGraph graph = { TEXT(""), 1, &x, 1, &y, 0, NULL, 1, weights, 2, nodes };

	(void)state;
	for (int lend = 0; lend < 2; lend++) {
		WNNOnnxModel model;
		WNNGraph built;

		released = 0;
		assert_int_equal(load(&graph, lend, &model), WNNStatus_Success);
		assert_int_equal(wnnOnnxModelGetNodeCount(model), 2);
		assert_int_equal(wnnOnnxModelGetInputs(model).count, 1);
		check_values(model, false);
		assert_int_equal(wnnOnnxModelSetDimension(model, WNN_STR("n"), 1),
				 WNNStatus_Success);
		assert_int_equal(wnnOnnxModelBuildSync(model, context, WNN_WAIT_FOREVER, &built),
				 WNNStatus_Success);
		check_values(model, true);
		wnnOnnxModelRelease(model);
		run(built);
		wnnGraphRelease(built);
		if (lend)
			wait_for_release();
		assert_int_equal(released, lend);
	}
}

/* Describes a graph whose only weight is in @file, with @chain before what says so; or NULL. */
static WNNStatus load_files(const WNNOnnxGraph *graph, const WNNOnnxTensorFile *file,
			    const char *folder, WNNChainedStruct *chain, WNNOnnxModel *model)
{
	WNNOnnxDescription description = WNN_ONNX_DESCRIPTION_INIT;
	WNNOnnxTensorFiles files = WNN_ONNX_TENSOR_FILES_INIT;

	description.graph = graph;
	description.operatorSetCount = COUNT(sets);
	description.operatorSets = sets;
	description.nextInChain = chain ? chain : &files.chain;
	files.folder.data = folder;
	files.folder.length = folder ? strlen(folder) : 0;
	files.files = file;
	if (chain)
		chain->next = chain->sType == WNNSType_OnnxTensorFiles ? &files.chain : NULL;
	return wnnOnnxLoadGraph(&description, model);
}

/* Builds a graph whose only weight is in @file, for one row; sets *built to it if it can be built. */
static WNNStatus build_files(const WNNOnnxGraph *graph, const WNNOnnxTensorFile *file,
			     const char *folder, WNNGraph *built)
{
	WNNOnnxModel model;
	WNNStatus status;

	assert_int_equal(load_files(graph, file, folder, NULL, &model), WNNStatus_Success);
	assert_int_equal(wnnOnnxModelSetDimension(model, WNN_STR("n"), 1), WNNStatus_Success);
	status = wnnOnnxModelBuildSync(model, context, WNN_WAIT_FOREVER, built);
	wnnOnnxModelRelease(model);
	return status;
}

/* Tests a weight that is in a file, behind other bytes, and what is wrong with such a place. */
static void test_files(void **state)
{
	WNNOnnxValue x = value("x", FLOAT, 2, named), y = value("y", FLOAT, 2, named);
	WNNOnnxTensor weight = weights[0];
	WNNOnnxGraph graph = { TEXT(""), 1, &x, 1, &y, 0, NULL, 1, &weight, 2, nodes };
	WNNOnnxValue m = value("m", FLOAT, 2, named);
	WNNOnnxGraph bare = { TEXT(""), 1, &m, 1, &y, 0, NULL, 0, NULL, 1, nodes + 1 };
	WNNOnnxTensorFile file = { TEXT("weights"), 8 }, outside = { TEXT("../weights"), 0 };
	WNNChainedStruct other = { NULL, WNNSType_BorrowedConstant };
	WNNOnnxTensorFiles first = WNN_ONNX_TENSOR_FILES_INIT;
	char folder[] = "/tmp/onpu-graph-XXXXXX", path[64];
	WNNOnnxModel model;
	WNNGraph built;
	FILE *out;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/weights", folder);
	out = fopen(path, "w");
	assert_non_null(out);
	assert_int_equal(fwrite("12345678", 8, 1, out), 1);
	assert_int_equal(fwrite(numbers, sizeof(numbers), 1, out), 1);
	fclose(out);
	weight.data = NULL;
	assert_int_equal(build_files(&graph, &file, folder, &built), WNNStatus_Success);
	run(built);
	wnnGraphRelease(built);
	file.offset = 12;
	assert_int_equal(build_files(&graph, &file, folder, &built), WNNStatus_OperationError);
	says("16 bytes from 12 on, the file has 24");
	assert_int_equal(build_files(&graph, &outside, folder, &built), WNNStatus_OperationError);
	says("leads out of the folder");
	unlink(path);
	rmdir(folder);
	assert_int_equal(load_files(&graph, &file, folder, &other, &model), WNNStatus_TypeError);
	says("an unknown struct of sType 0x10002");
	assert_int_equal(load_files(&graph, &file, folder, &first.chain, &model),
			 WNNStatus_TypeError);
	says("a second struct of sType 0x1000c");
	for (int empty = 0; empty < 2; empty++) {
		assert_int_equal(load_files(&graph, &file, empty ? "" : NULL, NULL, &model),
				 WNNStatus_TypeError);
		says("folder of WNNOnnxTensorFiles is missing");
	}
	assert_int_equal(load_files(&graph, NULL, folder, NULL, &model), WNNStatus_TypeError);
	says("files of WNNOnnxTensorFiles is missing");
	/* A graph without tensors needs no list of files. */
	assert_int_equal(build_files(&bare, NULL, folder, &built), WNNStatus_Success);
	wnnGraphRelease(built);
}

/*
 * Tests that a product of integers is exact when the program chooses it as an output, though the
 * graph's own outputs only need it as floats.
 */
static void test_chosen_output(void **state)
{
	static const int64_t long_column[] = { 259, 1 };
	static const WNNOnnxDimension sizes[] = { { 1, TEXT("") }, { 259, TEXT("") } };
	static const int64_t to_float[] = { 1 };
	static const WNNOnnxAttribute to[] = {
		{ .name = TEXT("to"),
		  .kind = WNNOnnxAttributeKind_Int,
		  .count = 1,
		  .ints = to_float },
	};
	static const WNNStringView in[] = { TEXT("x"), TEXT("w") }, y[] = { TEXT("y") },
				   z[] = { TEXT("z") };
	static const WNNOnnxNode product[] = {
		{ TEXT("a"), TEXT(""), TEXT("MatMulInteger"), 2, in, 1, y, 0, NULL },
		{ TEXT("b"), TEXT(""), TEXT("Cast"), 1, y, 1, z, 1, to },
	};
	uint8_t most[259];
	WNNOnnxTensor weight = weights[0];
	WNNOnnxValue inputs[] = { value("x", FLOAT, 2, sizes) };
	WNNOnnxValue outputs[] = { value("z", FLOAT, 0, NULL) };
	WNNOnnxGraph graph = { .inputCount = 1,
			       .inputs = inputs,
			       .outputCount = 1,
			       .outputs = outputs,
			       .tensorCount = 1,
			       .tensors = &weight,
			       .nodeCount = 2,
			       .nodes = product };
	WNNNamedOperand const *named;
	WNNNamedTensor from = { .name = TEXT("x") }, result = { .name = TEXT("y") };
	WNNGraphBuilder builder = wnnContextCreateGraphBuilder(context);
	WNNOnnxModel model;
	WNNGraph built;
	int32_t sum = 0;
	size_t count;

	(void)state;
	memset(most, 255, sizeof(most));
	weight.elementType = 2;
	weight.dimensions = long_column;
	weight.data = most;
	weight.size = sizeof(most);
	inputs[0].elementType = 2;
	assert_int_equal(load(&graph, false, &model), WNNStatus_Success);
	assert_int_equal(wnnOnnxModelSetOutputs(model, 1, y), WNNStatus_Success);
	assert_int_equal(wnnOnnxModelAddToBuilder(model, builder, &count, &named),
			 WNNStatus_Success);
	assert_int_equal(wnnGraphBuilderBuildSync(builder, count, named, WNN_WAIT_FOREVER, &built),
			 WNNStatus_Success);
	from.tensor = tensor(WNNOperandDataType_Uint8, sizeof(most), most, sizeof(most));
	result.tensor = tensor(WNNOperandDataType_Int32, 1, NULL, 0);
	assert_int_equal(wnnContextDispatch(context, built, 1, &from, 1, &result),
			 WNNStatus_Success);
	assert_int_equal(wnnContextReadTensorIntoSync(context, result.tensor, &sum, sizeof(sum),
						      WNN_WAIT_FOREVER),
			 WNNStatus_Success);
	assert_int_equal(sum, 259 * 255 * 255);
	wnnTensorRelease(from.tensor);
	wnnTensorRelease(result.tensor);
	wnnGraphRelease(built);
	wnnOnnxModelRelease(model);
	wnnGraphBuilderRelease(builder);
}

static void test_errors(void **state)
{
	WNNOnnxValue x = value("x", FLOAT, 2, known), y = value("y", FLOAT, 2, known);
	WNNOnnxGraph graph = { TEXT(""), 1, &x, 1, &y, 0, NULL, 1, weights, 2, nodes };
	WNNOnnxAttribute bare = { .name = TEXT("axis"), .kind = WNNOnnxAttributeKind_Int };
	WNNOnnxTensor lost = weights[0];
	WNNOnnxNode wrong = nodes[1];
	WNNOnnxModel model = (WNNOnnxModel)&wrong;
	WNNBool supported[2];

	(void)state;
	released = 0;
	assert_int_equal(load(NULL, true, &model), WNNStatus_TypeError);
	says("graph of the description is missing");
	assert_null(model);
	wrong.attributes = &bare;
	graph.nodes = &wrong;
	graph.nodeCount = 1;
	assert_int_equal(load(&graph, true, &model), WNNStatus_OperationError);
	says("there is no value that fits the kind of attribute \"axis\"");
	assert_int_equal(released, 2);
	lost.data = NULL;
	graph.tensors = &lost;
	assert_int_equal(load(&graph, false, &model), WNNStatus_OperationError);
	says("there is no data of tensor \"w\"");
	graph.tensors = weights;
	graph.nodes = nodes;
	graph.nodeCount = 2;
	assert_int_equal(load(&graph, false, &model), WNNStatus_Success);
	assert_int_equal(wnnOnnxModelProbe(model, context, 1, supported), WNNStatus_TypeError);
	says("count is 1, but the model has 2 nodes");
	wnnOnnxModelRelease(model);
	assert_int_equal(wnnOnnxModelGetNodeCount(NULL), 0);
}

/* Tests that each wrong way of setting an input or output has a message of its own. */
static void test_settings(void **state)
{
	WNNOnnxValue x = value("x", FLOAT, 2, named), y = value("y", FLOAT, 2, named);
	WNNOnnxGraph graph = { TEXT(""), 1, &x, 1, &y, 0, NULL, 1, weights, 2, nodes };
	static const WNNStringView other[] = { TEXT("q") };
	static const uint32_t sizes[] = { 3, 3 };
	WNNUint32Array shape = { 2, NULL };
	WNNOnnxModel model;

	(void)state;
	assert_int_equal(load(&graph, false, &model), WNNStatus_Success);
	assert_int_equal(wnnOnnxModelSetOutputs(model, 1, other), WNNStatus_TypeError);
	says("the model has no tensor \"q\"");
	assert_int_equal(wnnOnnxModelSetInputShape(model, WNN_STR("x"), shape),
			 WNNStatus_TypeError);
	says("the sizes of input \"x\" are missing");
	shape.data = sizes;
	assert_int_equal(wnnOnnxModelSetInputShape(model, WNN_STR("x"), shape),
			 WNNStatus_TypeError);
	says("dimension 1 of input \"x\" is 2 in the model, or was set so; it cannot become 3");
	assert_int_equal(wnnOnnxModelSetInputValue(model, WNN_STR("x"), numbers, 16),
			 WNNStatus_TypeError);
	says("the shape of input \"x\" is not known: set its dimensions first");
	assert_int_equal(wnnOnnxModelSetDimension(model, WNN_STR("n"), 2), WNNStatus_Success);
	assert_int_equal(wnnOnnxModelSetInputValue(model, WNN_STR("x"), NULL, 16),
			 WNNStatus_TypeError);
	says("the data of input \"x\" is missing");
	assert_int_equal(wnnOnnxModelSetInputValue(model, WNN_STR("x"), numbers, 8),
			 WNNStatus_TypeError);
	says("8 bytes of data are given for input \"x\", whose type and shape need 16");
	wnnOnnxModelRelease(model);
}

/*
 * Tests that the middle node, which draws random numbers, is refused, and that the last node can be
 * taken when the shape of its input is known.
 */
static void test_probe(void **state)
{
	static const WNNStringView middle_out[] = { TEXT("s") }, last_in[] = { TEXT("s") },
				   last_out[] = { TEXT("z") };
	const WNNOnnxNode three[] = {
		nodes[0],
		{ TEXT("middle"), TEXT(""), TEXT("Bernoulli"), 1, soft_in, 1, middle_out, 0, NULL },
		{ TEXT("last"), TEXT(""), TEXT("Relu"), 1, last_in, 1, last_out, 0, NULL },
	};
	WNNOnnxValue x = value("x", FLOAT, 2, known), z = value("z", FLOAT, 2, known);
	WNNOnnxValue s = value("s", FLOAT, 2, known);
	WNNOnnxGraph graph = { TEXT(""), 1, &x, 1, &z, 0, &s, 1, weights, 3, three };

	(void)state;
	for (size_t types = 0; types < 2; types++) {
		WNNOnnxRefusalArray refusals;
		WNNBool supported[3];
		WNNOnnxModel model;

		graph.valueCount = types;
		assert_int_equal(load(&graph, false, &model), WNNStatus_Success);
		assert_int_equal(wnnOnnxModelProbe(model, context, 3, supported),
				 WNNStatus_Success);
		assert_true(supported[0]);
		assert_false(supported[1]);
		assert_int_equal(supported[2], types);
		refusals = wnnOnnxModelGetRefusals(model);
		assert_int_equal(refusals.count, 2 - types);
		assert_string_equal(refusals.data[0].node.data, "middle");
		if (!types)
			assert_non_null(strstr(refusals.data[1].reason.data, "its input \"s\""));
		wnnOnnxModelRelease(model);
	}
}

/*
 * Tests that a probe refuses NonMaxSuppression of computed boxes, which makes more rows than the
 * nodes of the program expect, and that a build does not refuse it.
 */
static void test_probe_boxes(void **state)
{
	static const WNNOnnxDimension box_shape[] = { { 1, TEXT("") },
						      { 2, TEXT("") },
						      { 4, TEXT("") } };
	static const WNNOnnxDimension score_shape[] = { { 1, TEXT("") },
							{ 1, TEXT("") },
							{ 2, TEXT("") } };
	static const WNNStringView in[] = { TEXT("b"), TEXT("s"), TEXT("m") },
				   out[] = { TEXT("r") };
	static const int64_t most[] = { 2 };
	const WNNOnnxTensor tensor = {
		.name = TEXT("m"), .elementType = 7, .data = most, .size = sizeof(most)
	};
	const WNNOnnxNode node = {
		TEXT("boxes"), TEXT(""), TEXT("NonMaxSuppression"), 3, in, 1, out, 0, NULL
	};
	const WNNOnnxValue inputs[] = { value("b", FLOAT, 3, box_shape),
					value("s", FLOAT, 3, score_shape) };
	WNNOnnxValue result = value("r", 7, WNN_ONNX_RANK_UNKNOWN, NULL);
	WNNOnnxGraph graph = { TEXT(""), 2, inputs, 1, &result, 0, NULL, 1, &tensor, 1, &node };
	WNNBool supported = WNN_TRUE;
	WNNOnnxModel model;
	WNNGraph built;

	(void)state;
	assert_int_equal(load(&graph, false, &model), WNNStatus_Success);
	assert_int_equal(wnnOnnxModelProbe(model, context, 1, &supported), WNNStatus_Success);
	assert_false(supported);
	assert_non_null(strstr(wnnOnnxModelGetRefusals(model).data[0].reason.data,
			       "how many boxes it takes"));
	assert_int_equal(wnnOnnxModelBuildSync(model, context, WNN_WAIT_FOREVER, &built),
			 WNNStatus_Success);
	wnnGraphRelease(built);
	wnnOnnxModelRelease(model);
}

/*
 * Tests that a probe forgets what the build before it found, whose memory it frees; it finds the
 * empty output anew.
 */
static void test_probe_after_build(void **state)
{
	static const WNNOnnxDimension empty[] = { { 0, TEXT("") }, { 3, TEXT("") } };
	static const WNNStringView in[] = { TEXT("x"), TEXT("e") },
				   out[] = { TEXT("z"), TEXT("n") };
	const WNNOnnxNode two[] = {
		{ TEXT("first"), TEXT(""), TEXT("Relu"), 1, &in[0], 1, &out[0], 0, NULL },
		{ TEXT("second"), TEXT(""), TEXT("Relu"), 1, &in[1], 1, &out[1], 0, NULL },
	};
	const WNNOnnxValue inputs[] = { value("x", FLOAT, 2, known), value("e", FLOAT, 2, empty) };
	const WNNOnnxValue outputs[] = { value("z", FLOAT, 2, known), value("n", FLOAT, 2, empty) };
	WNNOnnxGraph graph = { TEXT(""), 2, inputs, 2, outputs, 0, NULL, 0, NULL, 2, two };
	WNNBool supported[2];
	WNNOnnxModel model;
	WNNGraph built;

	(void)state;
	assert_int_equal(load(&graph, false, &model), WNNStatus_Success);
	assert_int_equal(wnnOnnxModelBuildSync(model, context, WNN_WAIT_FOREVER, &built),
			 WNNStatus_Success);
	assert_int_equal(wnnOnnxModelGetEmptyOutputs(model).count, 1);
	assert_int_equal(wnnOnnxModelProbe(model, context, 2, supported), WNNStatus_Success);
	assert_int_equal(wnnOnnxModelGetEmptyOutputs(model).count, 1);
	wnnGraphRelease(built);
	wnnOnnxModelRelease(model);
}

/* Tests that any allocation may fail: one more succeeds in each round, until none fails. */
static void test_memory(void **state)
{
	WNNOnnxValue x = value("x", FLOAT, 2, known), y = value("y", FLOAT, 2, known);
	WNNOnnxGraph graph = { TEXT(""), 1, &x, 1, &y, 0, NULL, 1, weights, 2, nodes };
	WNNStatus status = WNNStatus_UnknownError;

	(void)state;
	for (int64_t left = 0; status != WNNStatus_Success; left++) {
		WNNBool supported[2];
		WNNOnnxModel model = NULL;

		released = 0;
		import_memory_left = left;
		status = load(&graph, true, &model);
		if (status == WNNStatus_Success)
			status = wnnOnnxModelProbe(model, context, 2, supported);
		import_memory_left = -1;
		assert_true(status == WNNStatus_Success || status == WNNStatus_UnknownError);
		wnnOnnxModelRelease(model);
		wait_for_release();
		assert_true(left < 1000);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_run),	      cmocka_unit_test(test_files),
		cmocka_unit_test(test_chosen_output), cmocka_unit_test(test_errors),
		cmocka_unit_test(test_probe),	      cmocka_unit_test(test_probe_after_build),
		cmocka_unit_test(test_probe_boxes),   cmocka_unit_test(test_memory),
		cmocka_unit_test(test_settings),
	};

	setenv("WEBNN_DEVICE", "cpu", 1);
	return cmocka_run_group_tests(tests, open_context, close_context);
}
