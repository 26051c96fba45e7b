// SPDX-License-Identifier: MIT
/*
 * Tests caches of models that graphs update in place: of TensorScatter, ScatterND and
 * GroupQueryAttention, whose past and present are one tensor.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdbool.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <webnn/onnx.h>

#include "fixture.h"

#define LENGTH 8
#define SIZE   16

static const WNNOnnxDimension one[] = { { 1, TEXT("") }, { 1, TEXT("") } };
static const WNNOnnxDimension row[] = { { 1, TEXT("") }, { 1, TEXT("") }, { SIZE, TEXT("") } };
static const WNNOnnxDimension two_rows[] = { { 1, TEXT("") },
					     { 1, TEXT("") },
					     { 2 * SIZE, TEXT("") } };
static const WNNOnnxDimension heads[] = {
	{ 1, TEXT("") }, { 1, TEXT("") }, { LENGTH, TEXT("") }, { SIZE, TEXT("") }
};
static const WNNOnnxDimension head_row[] = {
	{ 1, TEXT("") }, { 1, TEXT("") }, { 1, TEXT("") }, { SIZE, TEXT("") }
};

/*
 * Returns the built graph. Unless @chosen is NULL, its outputs are "next" and @chosen, in place of
 * those of @graph.
 */
static WNNGraph build(const WNNOnnxGraph *graph, const char *chosen)
{
	static const WNNOnnxOperatorSet sets[] = { { TEXT(""), 24 }, { TEXT("com.microsoft"), 1 } };
	WNNOnnxDescription description = WNN_ONNX_DESCRIPTION_INIT;
	WNNError error = WNN_ERROR_INIT;
	WNNOnnxModel model = NULL;
	WNNGraph built = NULL;

	description.graph = graph;
	description.operatorSetCount = COUNT(sets);
	description.operatorSets = sets;
	assert_int_equal(wnnOnnxLoadGraph(&description, &model), WNNStatus_Success);
	if (chosen) {
		const WNNStringView names[] = { TEXT("next"), { chosen, strlen(chosen) } };

		assert_int_equal(wnnOnnxModelSetOutputs(model, 2, names), WNNStatus_Success);
	}
	if (wnnOnnxModelBuildSync(model, context, WNN_WAIT_FOREVER, &built) != WNNStatus_Success) {
		wnnOnnxGetLastError(&error);
		fail_msg("%.*s", (int)error.message.length, error.message.data);
	}
	wnnOnnxModelRelease(model);
	return built;
}

static WNNTensor tensor(WNNOperandDataType type, size_t rank, const uint32_t *shape,
			const void *data, size_t size)
{
	WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
	WNNTensor out = NULL;

	descriptor.dataType = type;
	descriptor.shape = (WNNUint32Array){ rank, shape };
	descriptor.readable = descriptor.writable = WNN_TRUE;
	assert_int_equal(wnnContextCreateTensorSync(context, &descriptor, WNN_WAIT_FOREVER, &out),
			 WNNStatus_Success);
	assert_int_equal(wnnContextWriteTensor(context, out, data, size), WNNStatus_Success);
	return out;
}

static void read(WNNTensor tensor, float *data, size_t size)
{
	assert_int_equal(wnnContextReadTensorIntoSync(context, tensor, data, size,
						      WNN_WAIT_FOREVER),
			 WNNStatus_Success);
}

/*
 * Checks that the NPU has written at most @most bytes: those of new rows, not those of whole
 * caches.
 */
static void check_written(WNNGraph graph, uint64_t most)
{
	WNNGraphStatistics statistics = WNN_GRAPH_STATISTICS_INIT;

	assert_int_equal(wnnGraphGetLastStatistics(graph, &statistics), WNNStatus_Success);
	assert_int_equal(statistics.npuCycles != 0, !strcmp(getenv("WEBNN_DEVICE"), "sim"));
	if (statistics.npuCycles)
		assert_in_range(statistics.bytesWritten, 1, most);
}

/*
 * Runs a node that writes rows of a cache, and checks that the others stay. Its input "at" has the
 * shape @at; its last element is the position of the row, and those before are 0. Another node
 * reads the shape of the cache.
 */
static void check_scatter(WNNOnnxNode node, size_t rank, const WNNOnnxDimension *at)
{
	static const uint32_t shape[] = { 1, 1, LENGTH, SIZE }, line[] = { 1, 1, 1, SIZE };
	WNNOnnxValue inputs[] = { value("cache", FLOAT, 4, heads), value("row", FLOAT, 4, head_row),
				  value("at", INT64, rank, at) };
	WNNOnnxValue output = value("next", FLOAT, 4, heads);
	const WNNStringView shape_out[] = { TEXT("shape") };
	const WNNOnnxNode nodes[] = { node,
				      { TEXT("measure"), TEXT(""), TEXT("Shape"), 1,
					&inputs[0].name, 1, shape_out, 0, NULL } };
	const WNNOnnxGraph model = { .inputCount = 3,
				     .inputs = inputs,
				     .outputCount = 1,
				     .outputs = &output,
				     .nodeCount = COUNT(nodes),
				     .nodes = nodes };
	float want[LENGTH][SIZE] = { { 1, 2, 3 }, { 4, 5 } }, got[LENGTH][SIZE];
	const uint32_t places[] = { 1, 1, 1, (uint32_t)at[rank - 1].size };
	int64_t place[3] = { 0 };
	size_t count = places[3];
	WNNGraph graph = build(&model, NULL);
	WNNTensor cache = tensor(WNNOperandDataType_Float32, 4, shape, want, sizeof(want));
	WNNTensor rows = tensor(WNNOperandDataType_Float32, 4, line, want, sizeof(want[0]));
	WNNTensor to = tensor(WNNOperandDataType_Int64, rank, places + 4 - rank, place, 8 * count);

	for (int64_t step = 2; step < 5; step++) {
		const WNNNamedTensor given[] = { { TEXT("cache"), cache },
						 { TEXT("row"), rows },
						 { TEXT("at"), to } };
		const WNNNamedTensor next = { TEXT("next"), cache };

		for (int i = 0; i < SIZE; i++)
			want[step][i] = (float)(10 * step + i);
		place[count - 1] = step;
		wnnContextWriteTensor(context, rows, want[step], sizeof(want[0]));
		wnnContextWriteTensor(context, to, place, 8 * count);
		assert_int_equal(wnnContextDispatch(context, graph, 3, given, 1, &next),
				 WNNStatus_Success);
	}
	read(cache, got[0], sizeof(got));
	assert_memory_equal(got, want, sizeof(got));
	check_written(graph, sizeof(got) - 1);
	wnnTensorRelease(cache);
	wnnTensorRelease(rows);
	wnnTensorRelease(to);
	wnnGraphRelease(graph);
}

static void scatter(void **state)
{
	static const WNNStringView in[] = { TEXT("cache"), TEXT("row"), TEXT("at") };
	static const WNNStringView out[] = { TEXT("next") };
	static const WNNOnnxNode node = {
		TEXT("write"), TEXT(""), TEXT("TensorScatter"), 3, in, 1, out, 0, NULL
	};

	(void)state;
	check_scatter(node, 1, one);
}

static void scatter_nd(void **state)
{
	static const WNNOnnxDimension places[] = {
		{ 1, TEXT("") }, { 1, TEXT("") }, { 1, TEXT("") }, { 3, TEXT("") }
	};
	static const WNNStringView in[] = { TEXT("cache"), TEXT("at"), TEXT("row") };
	static const WNNStringView out[] = { TEXT("next") };
	static const WNNOnnxNode node = {
		TEXT("write"), TEXT(""), TEXT("ScatterND"), 3, in, 1, out, 0, NULL
	};

	(void)state;
	check_scatter(node, 4, places);
}

/*
 * Checks that @got is softmax(query * key^T / 4) * value, for two heads of queries that share one
 * head of keys.
 */
static void check_attention(const float *query, float keys[LENGTH][SIZE],
			    float values[LENGTH][SIZE], int used, const float *got)
{
	for (int h = 0; h < 2; h++) {
		double weight[LENGTH], sum = 0;

		for (int k = 0; k < used; k++) {
			double score = 0;

			for (int i = 0; i < SIZE; i++)
				score += (double)query[h * SIZE + i] * (double)keys[k][i];
			sum += weight[k] = exp(score / 4);
		}
		for (int i = 0; i < SIZE; i++) {
			double want = 0;

			for (int k = 0; k < used; k++)
				want += weight[k] / sum * (double)values[k][i];
			assert_true(fabs(want - (double)got[h * SIZE + i]) < 2e-3);
		}
	}
}

/*
 * Returns GroupQueryAttention with two heads of queries and one of keys. @lengths: seqlens_k, or
 * NULL where it is an input.
 */
static WNNGraph build_attention(const WNNOnnxValue *inputs, const int32_t *lengths)
{
	static const WNNStringView in[] = { TEXT("q"),	TEXT("k"),	 TEXT("v"),    TEXT("pk"),
					    TEXT("pv"), TEXT("lengths"), TEXT("total") };
	static const WNNStringView out[] = { TEXT("y"), TEXT("nk"), TEXT("nv") };
	static const int64_t two[] = { 2 }, single[] = { 1 };
	static const int32_t total[] = { LENGTH };
	static const WNNOnnxAttribute attributes[] = {
		{ .name = TEXT("num_heads"),
		  .kind = WNNOnnxAttributeKind_Int,
		  .count = 1,
		  .ints = two },
		{ .name = TEXT("kv_num_heads"),
		  .kind = WNNOnnxAttributeKind_Int,
		  .count = 1,
		  .ints = single },
	};
	static const WNNOnnxNode node = { TEXT("attend"),
					  TEXT("com.microsoft"),
					  TEXT("GroupQueryAttention"),
					  7,
					  in,
					  3,
					  out,
					  2,
					  attributes };
	const WNNOnnxTensor constants[] = { { .name = TEXT("total"),
					      .elementType = INT32,
					      .rank = 1,
					      .dimensions = single,
					      .data = total,
					      .size = sizeof(total) },
					    { .name = TEXT("lengths"),
					      .elementType = INT32,
					      .rank = 1,
					      .dimensions = single,
					      .data = lengths,
					      .size = sizeof(*lengths) } };
	WNNOnnxValue outputs[] = { value("y", FLOAT, 3, two_rows), value("nk", FLOAT, 4, heads),
				   value("nv", FLOAT, 4, heads) };
	const WNNOnnxGraph model = { .inputCount = lengths ? 5 : 6,
				     .inputs = inputs,
				     .outputCount = 3,
				     .outputs = outputs,
				     .tensorCount = lengths ? 2 : 1,
				     .tensors = constants,
				     .nodeCount = 1,
				     .nodes = &node };

	return build(&model, NULL);
}

/*
 * Runs the steps of a decoder from position @first up to 4, and checks them. Positions after the
 * newest one keep what they held, which is NaN in part. @fixed: seqlens_k is a constant, so that
 * @first must be the only step.
 */
static void check_steps(int32_t first, bool fixed)
{
	static const uint32_t shape[] = { 1, 1, LENGTH, SIZE }, line[] = { 1, 1, SIZE };
	static const uint32_t wide[] = { 1, 1, 2 * SIZE }, number[] = { 1, 1 };
	WNNOnnxValue inputs[] = { value("q", FLOAT, 3, two_rows), value("k", FLOAT, 3, row),
				  value("v", FLOAT, 3, row),	  value("pk", FLOAT, 4, heads),
				  value("pv", FLOAT, 4, heads),	  value("lengths", INT32, 2, one) };
	float keys[LENGTH][SIZE], values[LENGTH][SIZE], got[LENGTH][SIZE], query[2 * SIZE],
		y[2 * SIZE];
	WNNGraph graph = build_attention(inputs, fixed ? &first : NULL);
	WNNTensor tensors[7];

	for (int i = 0; i < LENGTH * SIZE; i++) {
		keys[i / SIZE][i % SIZE] = (float)(i % 7) / 4 - 1;
		values[i / SIZE][i % SIZE] = (float)(i % 5) / 2;
		if (i / SIZE >= 5)
			keys[i / SIZE][i % SIZE] = values[i / SIZE][i % SIZE] = NAN;
	}
	memset(query, 0, sizeof(query));
	tensors[0] = tensor(WNNOperandDataType_Float32, 3, wide, query, sizeof(query));
	tensors[1] = tensor(WNNOperandDataType_Float32, 3, line, keys, sizeof(keys[0]));
	tensors[2] = tensor(WNNOperandDataType_Float32, 3, line, values, sizeof(values[0]));
	tensors[3] = tensor(WNNOperandDataType_Float32, 4, shape, keys, sizeof(keys));
	tensors[4] = tensor(WNNOperandDataType_Float32, 4, shape, values, sizeof(values));
	tensors[5] = tensor(WNNOperandDataType_Int32, 2, number, &(int32_t){ 0 }, 4);
	tensors[6] = tensor(WNNOperandDataType_Float32, 3, wide, query, sizeof(query));
	for (int32_t step = first; step < 5; step++) {
		const WNNNamedTensor next[] = { { TEXT("y"), tensors[6] },
						{ TEXT("nk"), tensors[3] },
						{ TEXT("nv"), tensors[4] } };
		WNNNamedTensor given[6];

		for (int i = 0; i < 6; i++)
			given[i] = (WNNNamedTensor){ inputs[i].name, tensors[i] };
		for (int i = 0; i < 2 * SIZE; i++)
			query[i] = (float)((i * 5 + step) % 11) / 8 - 1;
		for (int i = 0; i < SIZE; i++) {
			keys[step][i] = (float)((i + step) % 9) / 8;
			values[step][i] = (float)(i - step) / 4;
		}
		wnnContextWriteTensor(context, tensors[0], query, sizeof(query));
		wnnContextWriteTensor(context, tensors[1], keys[step], sizeof(keys[0]));
		wnnContextWriteTensor(context, tensors[2], values[step], sizeof(values[0]));
		wnnContextWriteTensor(context, tensors[5], &step, sizeof(step));
		assert_int_equal(wnnContextDispatch(context, graph, fixed ? 5 : 6, given, 3, next),
				 WNNStatus_Success);
		read(tensors[6], y, sizeof(y));
		check_attention(query, keys, values, step + 1, y);
		check_written(graph, sizeof(keys) + sizeof(values) - 1);
	}
	read(tensors[3], got[0], sizeof(got));
	assert_memory_equal(got, keys, sizeof(got));
	read(tensors[4], got[0], sizeof(got));
	assert_memory_equal(got, values, sizeof(got));
	for (int i = 0; i < 7; i++)
		wnnTensorRelease(tensors[i]);
	wnnGraphRelease(graph);
}

static void attend(void **state)
{
	(void)state;
	check_steps(2, false);
}

static void attend_with_constant(void **state)
{
	(void)state;
	check_steps(4, true);
}

/*
 * Checks that the new cache needs other memory when something besides TensorScatter reads the old
 * one. @other: the output that is the old cache times @sign; with @chosen, the program chooses it
 * as an output, otherwise it is an output of the graph.
 */
static void check_reader(size_t count, const WNNOnnxNode *nodes, const char *other, bool chosen,
			 float sign)
{
	static const uint32_t shape[] = { 1, 1, LENGTH, SIZE }, line[] = { 1, 1, 1, SIZE };
	WNNOnnxValue inputs[] = { value("cache", FLOAT, 4, heads),
				  value("row", FLOAT, 4, head_row) };
	WNNOnnxValue outputs[] = { value("next", FLOAT, 4, heads), value(other, FLOAT, 4, heads) };
	const WNNOnnxGraph model = { .inputCount = 2,
				     .inputs = inputs,
				     .outputCount = chosen ? 1 : 2,
				     .outputs = outputs,
				     .nodeCount = count,
				     .nodes = nodes };
	float old_rows[LENGTH][SIZE] = { { 1 }, { 2 } }, got[LENGTH][SIZE], five[SIZE] = { 5 };
	WNNGraph graph = build(&model, chosen ? other : NULL);
	WNNTensor cache = tensor(WNNOperandDataType_Float32, 4, shape, old_rows, sizeof(old_rows));
	WNNTensor written = tensor(WNNOperandDataType_Float32, 4, shape, got, sizeof(got));
	WNNTensor read_too = tensor(WNNOperandDataType_Float32, 4, shape, got, sizeof(got));
	const WNNNamedTensor given[] = { { TEXT("cache"), cache },
					 { TEXT("row"), tensor(WNNOperandDataType_Float32, 4, line,
							       five, sizeof(five)) } };
	WNNNamedTensor results[] = { { TEXT("next"), cache },
				     { { other, strlen(other) }, read_too } };

	assert_int_equal(wnnContextDispatch(context, graph, 2, given, 2, results),
			 WNNStatus_TypeError);
	results[0].tensor = written;
	assert_int_equal(wnnContextDispatch(context, graph, 2, given, 2, results),
			 WNNStatus_Success);
	read(read_too, got[0], sizeof(got));
	assert_true(got[0][0] == sign && got[1][0] == 2 * sign);
	read(written, got[0], sizeof(got));
	assert_true(got[0][0] == 5 && got[1][0] == 2);
	wnnTensorRelease(cache);
	wnnTensorRelease(written);
	wnnTensorRelease(read_too);
	wnnTensorRelease(given[1].tensor);
	wnnGraphRelease(graph);
}

static const WNNStringView cache_name[] = { TEXT("cache") }, next_name[] = { TEXT("next") };
static const WNNStringView negative_name[] = { TEXT("negative") };
static const WNNStringView cache_and_row[] = { TEXT("cache"), TEXT("row") };

static void another_reader(void **state)
{
	static const WNNOnnxNode nodes[] = {
		{ TEXT("write"), TEXT(""), TEXT("TensorScatter"), 2, cache_and_row, 1, next_name, 0,
		  NULL },
		{ TEXT("turn"), TEXT(""), TEXT("Neg"), 1, cache_name, 1, negative_name, 0, NULL },
	};

	(void)state;
	check_reader(COUNT(nodes), nodes, "negative", false, -1);
}

/*
 * Tests that another node, which reads the cache by the name that an Identity gives it, sees the
 * old cache.
 */
static void reader_by_another_name(void **state)
{
	static const WNNStringView copy[] = { TEXT("copy") };
	static const WNNStringView copy_and_row[] = { TEXT("copy"), TEXT("row") };
	static const WNNOnnxNode nodes[] = {
		{ TEXT("same"), TEXT(""), TEXT("Identity"), 1, cache_name, 1, copy, 0, NULL },
		{ TEXT("write"), TEXT(""), TEXT("TensorScatter"), 2, copy_and_row, 1, next_name, 0,
		  NULL },
		{ TEXT("turn"), TEXT(""), TEXT("Neg"), 1, copy, 1, negative_name, 0, NULL },
	};

	(void)state;
	check_reader(COUNT(nodes), nodes, "negative", false, -1);
}

/* Tests that the old cache, which the program chooses as an output, too, keeps its elements. */
static void chosen_input(void **state)
{
	static const WNNOnnxNode node = {
		TEXT("write"), TEXT(""), TEXT("TensorScatter"), 2, cache_and_row, 1, next_name, 0,
		NULL
	};

	(void)state;
	check_reader(1, &node, "cache", true, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scatter),	  cmocka_unit_test(scatter_nd),
		cmocka_unit_test(attend),	  cmocka_unit_test(attend_with_constant),
		cmocka_unit_test(another_reader), cmocka_unit_test(reader_by_another_name),
		cmocka_unit_test(chosen_input),
	};
	int failed = 0;

	setenv("WEBNN_DEVICE", "cpu", 1);
	failed += cmocka_run_group_tests_name("cpu", tests, open_context, close_context);
	setenv("WEBNN_DEVICE", "sim", 1);
	failed += cmocka_run_group_tests_name("sim", tests, open_context, close_context);
	return failed;
}
