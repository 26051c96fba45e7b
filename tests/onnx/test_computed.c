// SPDX-License-Identifier: MIT
/* Tests values that a program has computed, as inputs of the graph, and misuse of their functions. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdbool.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <webnn/onnx.h>

#include "fixture.h"

static const WNNStringView none = TEXT("none"), turned = TEXT("turned"), first = TEXT("computed/0");

/* Returns the model y = NonZero(-x), whose result has as many columns as x has numbers but 0. */
static WNNOnnxModel load(void)
{
	static const WNNOnnxDimension four[] = { { 4, TEXT("") } };
	static const WNNStringView x[] = { TEXT("x") }, between[] = { TEXT("turned") },
				   y[] = { TEXT("y") };
	const WNNOnnxNode nodes[] = {
		{ TEXT("neg"), TEXT(""), TEXT("Neg"), 1, x, 1, between, 0, NULL },
		{ TEXT("find"), TEXT(""), TEXT("NonZero"), 1, between, 1, y, 0, NULL },
	};
	static const WNNOnnxOperatorSet sets[] = { { TEXT(""), 17 } };
	const WNNOnnxValue input = value("x", FLOAT, 1, four), output = value("y", INT64, 0, NULL);
	WNNOnnxDescription description = WNN_ONNX_DESCRIPTION_INIT;
	WNNOnnxGraph graph = { 0 };
	WNNOnnxModel model = NULL;

	graph.inputCount = graph.outputCount = 1;
	graph.inputs = &input;
	graph.outputs = &output;
	graph.nodeCount = COUNT(nodes);
	graph.nodes = nodes;
	description.graph = &graph;
	description.operatorSetCount = COUNT(sets);
	description.operatorSets = sets;
	assert_int_equal(wnnOnnxLoadGraph(&description, &model), WNNStatus_Success);
	return model;
}

static WNNStatus build(WNNOnnxModel model)
{
	WNNGraph graph = NULL;
	WNNStatus status = wnnOnnxModelBuildSync(model, context, WNN_WAIT_FOREVER, &graph);

	wnnGraphRelease(graph);
	return status;
}

static void elements_become_inputs(void **state)
{
	static const float data[] = { 0, 3, 0, -2 };
	WNNOnnxModel model = load();
	WNNOnnxValueInfoArray infos;
	int64_t places[2];

	(void)state;
	assert_int_equal(wnnOnnxModelGetComputedInputs(model).count, 0);
	assert_int_equal(build(model), WNNStatus_NotSupportedError);
	infos = wnnOnnxModelGetNeededValues(model);
	assert_int_equal(infos.count, 1);
	assert_memory_equal(infos.data[0].name.data, "turned", 6);
	assert_int_equal(wnnOnnxModelSetComputedValue(model, turned, data, sizeof(data)),
			 WNNStatus_Success);
	assert_int_equal(build(model), WNNStatus_Success);
	infos = wnnOnnxModelGetComputedInputs(model);
	assert_int_equal(infos.count, 1);
	assert_memory_equal(infos.data[0].name.data, "computed/0", 10);
	assert_int_equal(infos.data[0].dataType, WNNOperandDataType_Int64);
	assert_int_equal(infos.data[0].rank, 2);
	assert_int_equal(infos.data[0].dimensions[0].size, 1);
	assert_int_equal(infos.data[0].dimensions[1].size, 2);
	assert_int_equal(wnnOnnxModelReadComputedInput(model, first, places, sizeof(places)),
			 WNNStatus_Success);
	assert_int_equal(places[0], 1);
	assert_int_equal(places[1], 3);
	/* As a constant, the value leaves no input. */
	assert_int_equal(wnnOnnxModelSetValue(model, turned, data, sizeof(data)),
			 WNNStatus_Success);
	assert_int_equal(build(model), WNNStatus_Success);
	assert_int_equal(wnnOnnxModelGetComputedInputs(model).count, 0);
	wnnOnnxModelRelease(model);
}

static void misuse_is_refused(void **state)
{
	static const float data[4];
	WNNOnnxModel model = load();
	uint64_t key[2];
	int64_t place;

	(void)state;
	assert_int_equal(wnnOnnxModelSetComputedValue(model, turned, data, sizeof(data)),
			 WNNStatus_TypeError);
	assert_int_equal(build(model), WNNStatus_NotSupportedError);
	assert_int_equal(wnnOnnxModelSetComputedValue(NULL, turned, data, sizeof(data)),
			 WNNStatus_TypeError);
	assert_int_equal(wnnOnnxModelSetComputedValue(model, none, data, sizeof(data)),
			 WNNStatus_TypeError);
	assert_int_equal(wnnOnnxModelSetComputedValue(model, turned, data, 1), WNNStatus_TypeError);
	assert_int_equal(wnnOnnxModelGetComputedInputs(NULL).count, 0);
	assert_int_equal(wnnOnnxModelReadComputedInput(NULL, first, &place, sizeof(place)),
			 WNNStatus_TypeError);
	assert_int_equal(wnnOnnxModelReadComputedInput(model, first, NULL, sizeof(place)),
			 WNNStatus_TypeError);
	assert_int_equal(wnnOnnxModelReadComputedInput(model, none, &place, sizeof(place)),
			 WNNStatus_TypeError);
	assert_int_equal(wnnOnnxModelSetComputedValue(model, turned, (float[4]){ 1 }, sizeof(data)),
			 WNNStatus_Success);
	assert_int_equal(build(model), WNNStatus_Success);
	assert_int_equal(wnnOnnxModelReadComputedInput(model, first, &place, 1),
			 WNNStatus_TypeError);
	assert_int_equal(wnnOnnxModelReadComputedInput(model, first, &place, sizeof(place)),
			 WNNStatus_Success);
	assert_int_equal(place, 0);
	assert_int_equal(wnnOnnxModelGetKey(NULL, key), WNNStatus_TypeError);
	assert_int_equal(wnnOnnxModelGetKey(model, NULL), WNNStatus_TypeError);
	assert_int_equal(wnnOnnxModelGetKey(model, key), WNNStatus_NotSupportedError);
	wnnOnnxModelRelease(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(elements_become_inputs),
		cmocka_unit_test(misuse_is_refused),
	};

	setenv("WEBNN_DEVICE", "cpu", 1);
	return cmocka_run_group_tests(tests, open_context, close_context);
}
