// SPDX-License-Identifier: MIT
/* Tests programs on several devices of this process: slices of values, collectives, and errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <webnn/stablehlo.h>
#include <webnn/webnn_npu.h>

#include "context.h"

#define DEVICES 4

static WNNInstance instance;
static WNNContext contexts[DEVICES];

#define MESH "sdy.mesh @grid = <[\"x\"=2, \"y\"=2]>\n"

/* Rows go over x, columns over y; each device has one element of a 2x2 value in the region. */
static const char all[] = MESH
	"func.func @main(%a: tensor<2x2xf32> {sdy.sharding = #sdy.sharding<@grid, [{\"x\"}, {\"y\"}]>},\n"
	"                %b: tensor<4xf32> {sdy.sharding = #sdy.sharding<@grid, [{\"y\", \"x\"}]>},\n"
	"                %w: tensor<4xf32>)\n"
	"    -> (tensor<2x2xf32> {sdy.sharding = #sdy.sharding<@grid, [{\"x\"}, {\"y\"}]>},\n"
	"        tensor<2x1xf32> {sdy.sharding = #sdy.sharding<@grid, [{}, {}]>},\n"
	"        tensor<4xf32> {sdy.sharding = #sdy.sharding<@grid, [{}]>}, tensor<4xui32>, tensor<2x2xf32>,\n"
	"        tensor<4xf32> {sdy.sharding = #sdy.sharding<@grid, [{\"x\"}]>}) {\n"
	"  %r:4 = sdy.manual_computation(%a, %w)\n"
	"      in_shardings=[<@grid, [{\"x\"}, {\"y\"}]>, <@grid, [{\"x\", \"y\"}]>]\n"
	"      out_shardings=[<@grid, [{\"x\"}, {\"y\"}]>, <@grid, [{\"x\"}, {}]>,\n"
	"                     <@grid, [{\"x\", \"y\"}]>, <@grid, [{\"x\", \"y\"}]>]\n"
	"      manual_axes={\"x\", \"y\"} (%s: tensor<1x1xf32>, %v: tensor<1xf32>) {\n"
	"    %two = stablehlo.constant dense<2.0> : tensor<1x1xf32>\n"
	"    %t = stablehlo.multiply %s, %two : tensor<1x1xf32>\n"
	"    %sum = \"stablehlo.all_reduce\"(%s) <{channel_handle = #stablehlo.channel_handle<handle = 1,\n"
	"        type = 1>, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @grid,\n"
	"        axes = [#stablehlo.axis_ref<name = \"y\">]>, use_global_device_ids}> ({\n"
	"    ^bb0(%p: tensor<f32>, %q: tensor<f32>):\n"
	"      %pq = stablehlo.add %p, %q : tensor<f32>\n"
	"      stablehlo.return %pq : tensor<f32>\n"
	"    }) : (tensor<1x1xf32>) -> tensor<1x1xf32>\n"
	"    %moved = \"stablehlo.collective_permute\"(%v) <{channel_handle =\n"
	"        #stablehlo.channel_handle<handle = 2, type = 1>, source_target_pairs =\n"
	"        dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<1xf32>) -> tensor<1xf32>\n"
	"    %id = stablehlo.partition_id : tensor<ui32>\n"
	"    %ids = stablehlo.reshape %id : (tensor<ui32>) -> tensor<1xui32>\n"
	"    sdy.return %t, %sum, %moved, %ids : tensor<1x1xf32>, tensor<1x1xf32>, tensor<1xf32>, tensor<1xui32>\n"
	"  } : (tensor<2x2xf32>, tensor<4xf32>) -> (tensor<2x2xf32>, tensor<2x1xf32>, tensor<4xf32>, tensor<4xui32>)\n"
	"  %whole = stablehlo.add %a, %r#0 : tensor<2x2xf32>\n"
	"  %sorted = stablehlo.add %b, %w : tensor<4xf32>\n"
	"  return %r#0, %r#1, %r#2, %r#3, %whole, %sorted : tensor<2x2xf32>, tensor<2x1xf32>,\n"
	"      tensor<4xf32>, tensor<4xui32>, tensor<2x2xf32>, tensor<4xf32>\n"
	"}\n";

/* Checks that a call succeeds; otherwise the test fails with the call's message. */
static void works(WNNStatus status)
{
	WNNError error = WNN_ERROR_INIT;

	if (status == WNNStatus_Success)
		return;
	wnnStablehloGetLastError(&error);
	fail_msg("%.*s", (int)error.message.length, error.message.data);
}

static WNNStablehloProgram load(const char *text, size_t partitions)
{
	WNNStablehloProgram program;

	works(wnnStablehloLoadPartitioned(text, strlen(text), NULL, partitions, &program));
	return program;
}

static void fails(WNNStatus status, const char *words)
{
	WNNError error = WNN_ERROR_INIT;
	char text[2048];

	assert_int_not_equal(status, WNNStatus_Success);
	wnnStablehloGetLastError(&error);
	snprintf(text, sizeof(text), "%.*s", (int)error.message.length, error.message.data);
	if (!strstr(text, words))
		fail_msg("%s", text);
}

static void check_floats(WNNStablehloProgram program, size_t process, size_t index,
			 const float *wanted, size_t count)
{
	WNNStablehloTensorArray results = wnnStablehloProgramGetResultsOf(program, process);

	assert_true(index < results.count);
	assert_int_equal(results.data[index].size, count * sizeof(float));
	for (size_t i = 0; i < count; i++)
		assert_float_equal(((const float *)results.data[index].data)[i], wanted[i], 0);
}

static void run_all(WNNContext const *where)
{
	/* %a is [[1, 2], [3, 4]]; %b is [10, 20, 30, 40], and device (x, y) has item y * 2 + x. */
	static const float a[DEVICES] = { 1, 2, 3, 4 }, b[DEVICES] = { 10, 30, 20, 40 };
	static const float w[4] = { 1, 2, 3, 4 };
	static const float doubled[4] = { 2, 4, 6, 8 }, sums[2] = { 3, 7 };
	static const float moved[4] = { 4, 1, 2, 3 }, whole[4] = { 3, 6, 9, 12 };
	static const float halves[2][2] = { { 11, 22 }, { 33, 44 } };
	WNNStablehloTensor inputs[DEVICES][3] = { 0 };
	const WNNStablehloTensor *lists[DEVICES];
	WNNStablehloProgram program = load(all, DEVICES);
	WNNStablehloSlices slices;

	assert_int_equal(wnnStablehloProgramGetRefusals(program).count, 0);
	assert_int_equal(wnnStablehloProgramGetInputs(program, 0).data[0].dimensions[0], 1);
	assert_int_equal(wnnStablehloProgramGetInputs(program, 0).data[2].dimensions[0], 4);
	assert_int_equal(wnnStablehloProgramGetOutputs(program, 0).data[5].dimensions[0], 2);
	slices = wnnStablehloProgramGetInputSlices(program, 0, 1);
	assert_int_equal(slices.rank, 1);
	assert_int_equal(slices.parts[0], 4);
	assert_int_equal(slices.partitions, 4);
	assert_int_equal(slices.slices[1], 2);
	assert_int_equal(slices.slices[2], 1);
	assert_int_equal(wnnStablehloProgramGetInputSlices(program, 0, 2).rank, 0);
	for (size_t i = 0; i < DEVICES; i++) {
		inputs[i][0] = (WNNStablehloTensor){ &a[i], sizeof(float), 0, NULL };
		inputs[i][1] = (WNNStablehloTensor){ &b[i], sizeof(float), 0, NULL };
		inputs[i][2] = (WNNStablehloTensor){ w, sizeof(w), 0, NULL };
		lists[i] = inputs[i];
	}
	/* Later runs use the graphs of the first. */
	for (int round = 0; round < 3; round++) {
		works(wnnStablehloProgramRunPartitionedSync(program, 0, DEVICES, where, 3, lists));
		assert_int_equal(wnnStablehloProgramGetBuildCount(program) > 0, where && !round);
		for (size_t i = 0; i < DEVICES; i++) {
			WNNStablehloTensorArray results =
				wnnStablehloProgramGetResultsOf(program, i);

			check_floats(program, i, 0, &doubled[i], 1);
			check_floats(program, i, 1, sums, 2);
			check_floats(program, i, 2, moved, 4);
			/* Results without a sharding come as each process has returned them. */
			assert_int_equal(results.data[3].size, sizeof(uint32_t));
			assert_int_equal(*(const uint32_t *)results.data[3].data, i);
			check_floats(program, i, 4, &whole[i], 1);
			check_floats(program, i, 5, halves[i / 2], 2);
		}
	}
	assert_int_equal(wnnStablehloProgramGetResultsOf(program, DEVICES).count, 0);
	inputs[2][0].size = 3;
	fails(wnnStablehloProgramRunPartitionedSync(program, 0, DEVICES, where, 3, lists),
	      "input 0 has 3 bytes, not 4");
	assert_int_equal(wnnStablehloProgramGetResultsOf(program, 0).count, 0);
	wnnStablehloProgramRelease(program);
}

static void test_references(void **state)
{
	(void)state;
	run_all(NULL);
}

static void test_contexts(void **state)
{
	(void)state;
	run_all(contexts);
}

#define LARGE 4096 /* elements of a slice, enough for a graph */

/* Tests that a region with many elements becomes a graph on each context. */
static void test_graphs(void **state)
{
	static const char text[] =
		"sdy.mesh @line = <[\"x\"=4]>\n"
		"func.func @main(%a: tensor<16384xf32> {sdy.sharding = #sdy.sharding<@line, [{\"x\"}]>})\n"
		"    -> tensor<16384xf32> {\n"
		"  %r = sdy.manual_computation(%a) in_shardings=[<@line, [{\"x\"}]>]\n"
		"      out_shardings=[<@line, [{\"x\"}]>] manual_axes={\"x\"} (%s: tensor<4096xf32>) {\n"
		"    %t = stablehlo.add %s, %s : tensor<4096xf32>\n"
		"    %u = stablehlo.multiply %t, %s : tensor<4096xf32>\n"
		"    sdy.return %u : tensor<4096xf32>\n"
		"  } : (tensor<16384xf32>) -> tensor<16384xf32>\n"
		"  return %r : tensor<16384xf32>\n}\n";
	static float in[DEVICES][LARGE], wanted[DEVICES][LARGE];
	WNNStablehloTensor inputs[DEVICES];
	const WNNStablehloTensor *lists[DEVICES];
	WNNStablehloProgram program = load(text, DEVICES);

	(void)state;
	for (size_t i = 0; i < DEVICES; i++) {
		for (size_t k = 0; k < LARGE; k++) {
			in[i][k] = (float)(i * 10 + k % 7);
			wanted[i][k] = 2 * in[i][k] * in[i][k];
		}
		inputs[i] = (WNNStablehloTensor){ in[i], sizeof(in[i]), 0, NULL };
		lists[i] = &inputs[i];
	}
	for (int round = 0; round < 2; round++) {
		WNNStablehloRunInfo info;

		works(wnnStablehloProgramRunPartitionedSync(program, 0, DEVICES, contexts, 1,
							    lists));
		info = wnnStablehloProgramGetRunInfo(program);
		assert_int_equal(info.graphOperations, 2 * DEVICES);
		assert_int_equal(info.referenceOperations, 0);
		assert_int_equal(wnnStablehloProgramGetBuildCount(program), round ? 0 : DEVICES);
		for (size_t i = 0; i < DEVICES; i++)
			check_floats(program, i, 0, wanted[i], LARGE);
	}
	wnnStablehloProgramRelease(program);
}

/* Tests a mesh with its own order of devices, axes that are cut into sub-axes, and two replicas. */
static void test_places(void **state)
{
	static const char text[] =
		"sdy.mesh @turned = <[\"x\"=2, \"y\"=2], device_ids=[1, 2, 3, 0]>\n"
		"sdy.mesh @line = <[\"q\"=4]>\n"
		"func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@turned, [{\"x\", \"y\"}]>},\n"
		"    %b: tensor<4xf32> {sdy.sharding = #sdy.sharding<@line, [{\"q\":(2)2}]>})\n"
		"    -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@line, [{}]>},\n"
		"        tensor<4xf32> {sdy.sharding = #sdy.sharding<@line, [{}]>},\n"
		"        tensor<4xf32> {sdy.sharding = #sdy.sharding<@line, [{\"q\":(2)2, \"q\":(1)2}]>}) {\n"
		"  return %a, %b, %b : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>\n}\n";
	static const size_t slices[DEVICES] = { 3, 0, 1, 2 }, parts[DEVICES] = { 0, 2, 1, 3 };
	float a[2][4], b[2][4];
	WNNStablehloTensor inputs[2 * DEVICES][2];
	const WNNStablehloTensor *lists[2 * DEVICES];
	WNNStablehloProgram program = load(text, DEVICES);

	(void)state;
	for (size_t r = 0; r < 2; r++)
		for (size_t i = 0; i < 4; i++) {
			a[r][i] = (float)(1 + i + 100 * r);
			b[r][i] = (float)(10 + 10 * i + 100 * r);
		}
	for (size_t i = 0; i < 2 * DEVICES; i++) {
		size_t r = i / DEVICES, device = i % DEVICES;

		inputs[i][0] =
			(WNNStablehloTensor){ &a[r][slices[device]], sizeof(float), 0, NULL };
		inputs[i][1] =
			(WNNStablehloTensor){ &b[r][device % 2 * 2], 2 * sizeof(float), 0, NULL };
		lists[i] = inputs[i];
	}
	assert_memory_equal(wnnStablehloProgramGetInputSlices(program, 0, 0).slices, slices,
			    sizeof(slices));
	works(wnnStablehloProgramRunPartitionedSync(program, 0, 2 * DEVICES, NULL, 2, lists));
	for (size_t i = 0; i < 2 * DEVICES; i++) {
		check_floats(program, i, 0, a[i / DEVICES], 4);
		check_floats(program, i, 1, b[i / DEVICES], 4);
		check_floats(program, i, 2, &b[i / DEVICES][parts[i % DEVICES]], 1);
	}
	wnnStablehloProgramRelease(program);
}

/* Tests that processes are replicas when the program has no partitions. */
static void test_replicas(void **state)
{
	static const char text[] =
		"func.func @main(%a: tensor<2xf32>) -> (tensor<4xf32>, tensor<ui32>) {\n"
		"  %g = \"stablehlo.all_gather\"(%a) <{all_gather_dim = 0 : i64, replica_groups =\n"
		"      dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>}> : (tensor<2xf32>) -> tensor<4xf32>\n"
		"  %r = stablehlo.replica_id : tensor<ui32>\n"
		"  return %g, %r : tensor<4xf32>, tensor<ui32>\n}\n";
	static const float a[DEVICES][2] = { { 1, 2 }, { 3, 4 }, { 5, 6 }, { 7, 8 } };
	static const float wanted[2][4] = { { 1, 2, 5, 6 }, { 3, 4, 7, 8 } };
	WNNStablehloTensor inputs[DEVICES];
	const WNNStablehloTensor *lists[DEVICES];
	WNNStablehloProgram program = load(text, 1);

	(void)state;
	for (size_t i = 0; i < DEVICES; i++) {
		inputs[i] = (WNNStablehloTensor){ a[i], sizeof(a[i]), 0, NULL };
		lists[i] = &inputs[i];
	}
	works(wnnStablehloProgramRunPartitionedSync(program, 0, DEVICES, contexts, 1, lists));
	for (size_t i = 0; i < DEVICES; i++) {
		check_floats(program, i, 0, wanted[i % 2], 4);
		assert_int_equal(
			*(const uint32_t *)wnnStablehloProgramGetResultsOf(program, i).data[1].data,
			i);
	}
	wnnStablehloProgramRelease(program);
}

#define BRANCH(body)                                                                         \
	"func.func @main() -> tensor<f32> {\n"                                               \
	"  %one = stablehlo.constant dense<1.0> : tensor<f32>\n"                             \
	"  %id = stablehlo.partition_id : tensor<ui32>\n"                                    \
	"  %zero = stablehlo.constant dense<0> : tensor<ui32>\n"                             \
	"  %first = stablehlo.compare EQ, %id, %zero : (tensor<ui32>, tensor<ui32>) -> "     \
	"tensor<i1>\n"                                                                       \
	"  %r = \"stablehlo.if\"(%first) ({\n" body "  }, {\n"                               \
	"    %s = \"stablehlo.all_reduce\"(%one) <{channel_handle = "                        \
	"#stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> " \
	": tensor<1x2xi64>, use_global_device_ids}> ({\n"                                    \
	"    ^bb0(%p: tensor<f32>, %q: tensor<f32>):\n"                                      \
	"      %pq = stablehlo.add %p, %q : tensor<f32>\n"                                   \
	"      stablehlo.return %pq : tensor<f32>\n"                                         \
	"    }) : (tensor<f32>) -> tensor<f32>\n"                                            \
	"    stablehlo.return %s : tensor<f32>\n"                                            \
	"  }) : (tensor<i1>) -> tensor<f32>\n"                                               \
	"  return %r : tensor<f32>\n}\n"

/* Tests that processes end when they wait for one that fails, or that ends without them. */
static void test_ends(void **state)
{
	static const char leaves[] = BRANCH("    stablehlo.return %one : tensor<f32>\n");
	static const char loops[] =
		BRANCH("    %true = stablehlo.constant dense<true> : tensor<i1>\n"
		       "    %w = stablehlo.while(%i = %one) : tensor<f32>\n"
		       "      cond {\n        stablehlo.return %true : tensor<i1>\n"
		       "      } do {\n        stablehlo.return %i : tensor<f32>\n      }\n"
		       "    stablehlo.return %w : tensor<f32>\n");
	WNNStablehloProgram program = load(leaves, 2);

	(void)state;
	fails(wnnStablehloProgramRunPartitionedSync(program, 0, 2, contexts, 0, NULL),
	      "stablehlo.all_reduce: all processes wait for each other");
	/* The next run begins anew. */
	fails(wnnStablehloProgramRunPartitionedSync(program, 0, 2, NULL, 0, NULL),
	      "stablehlo.all_reduce: all processes wait for each other");
	wnnStablehloProgramRelease(program);
	program = load(loops, 2);
	wnnStablehloProgramSetLoopLimit(program, 100);
	fails(wnnStablehloProgramRunPartitionedSync(program, 0, 2, contexts, 0, NULL),
	      "stablehlo.while");
	wnnStablehloProgramRelease(program);
}

#define PAIR "sdy.mesh @pair = <[\"x\"=2]>\n"
#define HALF "{sdy.sharding = #sdy.sharding<@pair, [{\"x\"}]>}"
#define JOINED(in)                                                                             \
	"  %r = sdy.manual_computation(%" in ") in_shardings=[<@pair, [{\"x\"}]>]\n"           \
	"      out_shardings=[<@pair, [{\"x\"}]>] manual_axes={\"x\"} (%s: tensor<2xf32>) {\n" \
	"    sdy.return %s : tensor<2xf32>\n"                                                  \
	"  } : (tensor<4xf32>) -> tensor<4xf32>\n"

/* Tests a failure of the last process while the first waits for its slice. */
static void test_waits(void **state)
{
	static const char text[] = PAIR
		"func.func @main() -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@pair, [{}]>}) {\n"
		"  %v = stablehlo.constant dense<1.0> : tensor<4xf32>\n"
		"  %id = stablehlo.partition_id : tensor<ui32>\n"
		"  %one = stablehlo.constant dense<1> : tensor<ui32>\n"
		"  %w = stablehlo.while(%i = %id) : tensor<ui32>\n"
		"      cond {\n"
		"        %last = stablehlo.compare EQ, %i, %one : (tensor<ui32>, tensor<ui32>) -> tensor<i1>\n"
		"        stablehlo.return %last : tensor<i1>\n"
		"      } do {\n        stablehlo.return %i : tensor<ui32>\n      }\n" JOINED(
			"v") "  return %r : tensor<4xf32>\n}\n";
	WNNStablehloProgram program = load(text, 2);

	(void)state;
	wnnStablehloProgramSetLoopLimit(program, 100);
	fails(wnnStablehloProgramRunPartitionedSync(program, 0, 2, NULL, 0, NULL),
	      "stablehlo.while");
	wnnStablehloProgramRelease(program);
}

#define OPEN "<@pair, [{}], unreduced={\"x\"}>"

/*
 * Tests values of which each device has an addend: they stay so between regions and shardings that
 * ask for addends, are added up where the whole value is needed, and are made from a whole value.
 */
static void test_addends(void **state)
{
	static const char text[] = PAIR
		"func.func @main(%a: tensor<2xf32> {sdy.sharding = #sdy.sharding" OPEN "}) ->\n"
		"    (tensor<2xf32> {sdy.sharding = #sdy.sharding" OPEN "}, tensor<2xf32>,\n"
		"     tensor<2xf32> {sdy.sharding = #sdy.sharding" OPEN "}) {\n"
		"  %m = sdy.sharding_constraint %a " OPEN " : tensor<2xf32>\n"
		"  %r = sdy.manual_computation(%m) in_shardings=[" OPEN "] out_shardings=[" OPEN
		"]\n"
		"      manual_axes={\"x\"} (%s: tensor<2xf32>) {\n"
		"    %d = stablehlo.multiply %s, %s : tensor<2xf32>\n"
		"    sdy.return %d : tensor<2xf32>\n"
		"  } : (tensor<2xf32>) -> tensor<2xf32>\n"
		"  %b = sdy.manual_computation(%r) in_shardings=[" OPEN
		"] out_shardings=[<@pair, [{}]>]\n"
		"      manual_axes={\"x\"} (%s: tensor<2xf32>) {\n"
		"    %most = \"stablehlo.all_reduce\"(%s) <{channel_handle = #stablehlo.channel_handle<\n"
		"        handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>,\n"
		"        use_global_device_ids}> ({\n"
		"    ^bb0(%p: tensor<f32>, %q: tensor<f32>):\n"
		"      %pq = stablehlo.maximum %p, %q : tensor<f32>\n"
		"      stablehlo.return %pq : tensor<f32>\n"
		"    }) : (tensor<2xf32>) -> tensor<2xf32>\n"
		"    sdy.return %most : tensor<2xf32>\n"
		"  } : (tensor<2xf32>) -> tensor<2xf32>\n"
		"  return %r, %b, %b : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>\n}\n";
	static const char whole[] = PAIR
		"func.func @main(%a: tensor<2xf32> {sdy.sharding = #sdy.sharding" OPEN
		"}) -> tensor<2xf32> {\n"
		"  %n = stablehlo.negate %a : tensor<2xf32>\n"
		"  return %n : tensor<2xf32>\n}\n";
	static const float a[2][2] = { { 1, 2 }, { 10, 20 } };
	static const float squares[2][2] = { { 1, 4 }, { 100, 400 } };
	static const float most[2] = { 100, 400 }, none[2] = { 0, 0 }, negative[2] = { -11, -22 };
	WNNStablehloTensor inputs[2] = { { a[0], sizeof(a[0]), 0, NULL },
					 { a[1], sizeof(a[1]), 0, NULL } };
	const WNNStablehloTensor *lists[2] = { &inputs[0], &inputs[1] };
	WNNStablehloProgram program = load(text, 2);
	WNNStablehloSlices slices = wnnStablehloProgramGetInputSlices(program, 0, 0);

	(void)state;
	assert_int_equal(wnnStablehloProgramGetRefusals(program).count, 0);
	assert_int_equal(slices.addends, 2);
	assert_int_equal(slices.addend[1], 1);
	works(wnnStablehloProgramRunPartitionedSync(program, 0, 2, NULL, 1, lists));
	for (size_t i = 0; i < 2; i++) {
		check_floats(program, i, 0, squares[i], 2);
		check_floats(program, i, 1, most, 2);
		check_floats(program, i, 2, i ? none : most, 2);
	}
	wnnStablehloProgramRelease(program);
	program = load(whole, 2);
	works(wnnStablehloProgramRunPartitionedSync(program, 0, 2, NULL, 1, lists));
	check_floats(program, 0, 0, negative, 2);
	check_floats(program, 1, 0, negative, 2);
	wnnStablehloProgramRelease(program);
}

#define PARALLEL(results, programs, types)                                                        \
	PAIR "func.func @main() -> (" types ") {\n"                                               \
	     "  %r:" results " = \"interpreter.run_parallel\"() {programs = [[" programs "]]} : " \
	     "() -> (" types ")\n  return %r#0, %r#1"

/*
 * Tests functions of interpreter.run_parallel: two functions run as the program's two partitions,
 * and four are refused.
 */
static void test_parallel(void **state)
{
	static const char function[] =
		"func.func @f() -> tensor<4xf32> {\n"
		"  %v = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>\n" JOINED(
			"v") "  return %r : tensor<4xf32>\n}\n";
	static const float wanted[4] = { 1, 2, 3, 4 };
	WNNStablehloProgram program;
	char text[4096];

	(void)state;
	snprintf(text, sizeof(text), "%s : tensor<4xf32>, tensor<4xf32>\n}\n%s",
		 PARALLEL("2", "@f, @f", "tensor<4xf32>, tensor<4xf32>"), function);
	program = load(text, 2);
	works(wnnStablehloProgramRunPartitionedSync(program, 0, 2, NULL, 0, NULL));
	check_floats(program, 1, 1, wanted, 4);
	wnnStablehloProgramRelease(program);
	snprintf(
		text, sizeof(text),
		"%s, %%r#2, %%r#3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>\n}\n%s",
		PARALLEL("4", "@f, @f, @f, @f",
			 "tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>"),
		function);
	program = load(text, 2);
	fails(wnnStablehloProgramRunPartitionedSync(program, 0, 2, NULL, 0, NULL),
	      "sdy.manual_computation: the program is loaded for 2 partitions, and the operation "
	      "runs on 4");
	wnnStablehloProgramRelease(program);
}

/* Tests that the number of devices must be the one that the module names. */
static void test_numbers(void **state)
{
	static const char partitions[] = "module attributes {mhlo.num_partitions = 4 : i32} {\n"
					 "  func.func @main() {\n    return\n  }\n}\n";
	static const char replicas[] =
		"module attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 2 : i32} {\n"
		"  func.func @main() {\n    return\n  }\n}\n";
	WNNStablehloProgram program = load(partitions, 1);

	(void)state;
	fails(wnnStablehloProgramRunPartitionedSync(program, 0, 4, NULL, 0, NULL),
	      "mhlo.num_partitions = 4, and the program is loaded for 1 partitions");
	wnnStablehloProgramRelease(program);
	program = load(replicas, 2);
	fails(wnnStablehloProgramRunPartitionedSync(program, 0, 2, NULL, 0, NULL),
	      "mhlo.num_replicas = 2, and runs on 2 processes, which are 1 replicas of 2");
	works(wnnStablehloProgramRunPartitionedSync(program, 0, 4, NULL, 0, NULL));
	wnnStablehloProgramRelease(program);
}

static void refuses(const char *text, size_t partitions, const char *words)
{
	WNNStablehloProgram program = load(text, partitions);
	WNNStablehloRefusalArray refusals = wnnStablehloProgramGetRefusals(program);
	char reason[1024];

	assert_true(refusals.count > 0);
	snprintf(reason, sizeof(reason), "%.*s: %.*s", (int)refusals.data[0].operatorName.length,
		 refusals.data[0].operatorName.data, (int)refusals.data[0].reason.length,
		 refusals.data[0].reason.data);
	if (!strstr(reason, words))
		fail_msg("%s", reason);
	fails(wnnStablehloProgramRunPartitionedSync(program, 0, partitions, NULL, 0, NULL), words);
	wnnStablehloProgramRelease(program);
}

#define REPEAT_4(text)	text text text text
#define REPEAT_64(text) REPEAT_4(REPEAT_4(REPEAT_4(text)))

#define ONE_OF(type, sharding) MESH "func.func @main(%a: " type " {" sharding "}) {\n return\n}\n"
#define SDY(type, rest)	       ONE_OF(type, "sdy.sharding = #sdy.sharding<" rest ">")
#define ONE(rest)	       SDY("tensor<3x4xf32>", rest)
#define MANUAL(in, out)                                                                  \
	MESH "func.func @main(%a: tensor<4xf32>) {\n  %r = sdy.manual_computation(%a)\n" \
	     "in_shardings=[" in "] out_shardings=[" out                                 \
	     "] manual_axes={} (%x: tensor<4xf32>) {\n"                                  \
	     "sdy.return %x : tensor<4xf32> } : (tensor<4xf32>) -> tensor<4xf32>\n  return\n}\n"
#define WHOLE "<@grid, [{}]>"

/* Tests that a sharding is refused in which an axis, or a sub-axis of it, divides a value twice. */
static void test_axes(void **state)
{
	(void)state;
	refuses(PAIR
		"func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@pair, [{\n" REPEAT_64(
			"\"x\", ") "?}]>}) -> tensor<4xf32> {\n"
				   "  return %a : tensor<4xf32>\n}\n",
		2, "sharding of argument 0: the sharding names twice a part of axis 'x'");
	refuses(ONE("@grid, [{\"x\"}, {\"x\"}]"), 4, "the sharding names twice a part of axis 'x'");
	refuses("sdy.mesh @six = <[\"x\"=6]>\n"
		"func.func @main(%a: tensor<4x4xf32> {sdy.sharding =\n"
		"    #sdy.sharding<@six, [{\"x\":(1)2}, {\"x\":(3)2}]>}) -> tensor<4x4xf32> {\n"
		"  return %a : tensor<4x4xf32>\n}\n",
		6, "the sharding names twice a part of axis 'x'");
}

static void test_refusals(void **state)
{
	WNNStablehloProgram program = load(all, DEVICES);

	(void)state;
	fails(wnnStablehloProgramRunSync(program, 0, NULL, 0, NULL), "takes 3 inputs, not 0");
	fails(wnnStablehloProgramRunPartitionedSync(program, 0, 6, NULL, 3, NULL),
	      "takes 3 inputs, but the argument inputs, or an item of it, is NULL");
	wnnStablehloProgramRelease(program);
	program = load("func.func @main() {\n  return\n}\n", 2);
	fails(wnnStablehloProgramRunSync(program, 0, NULL, 0, NULL),
	      "the program is for 2 partitions: it runs with");
	fails(wnnStablehloProgramRunPartitionedSync(program, 0, 3, NULL, 0, NULL),
	      "a multiple of the 2 partitions");
	wnnStablehloProgramRelease(program);
	fails(wnnStablehloLoadPartitioned("", 0, NULL, 0, &program), "1 to 1024 partitions");
	refuses(ONE("@grid, [{\"x\"}, {}]"), 4, "dimension 0 has size 3 and cannot be cut into 2");
	refuses(ONE("@grid, [{}, {\"z\"}]"), 4, "the mesh has no axis 'z'");
	refuses(ONE("@grid, [{}, {\"x\"}]"), 2, "is not the number of devices of mesh 'grid'");
	refuses(ONE("@none, [{}, {\"x\"}]"), 4, "there is no mesh 'none'");
	refuses(ONE("@grid, [{\"x\"}]"), 4,
		"the sharding has rank 1, which is not that of the value, tensor<3x4xf32>");
	refuses(ONE("mesh<[\"x\"=4]>, [{\"x\"}, {}]"), 4, "a mesh within it is not supported");
	refuses(SDY("!stablehlo.token", "@grid, [{\"x\"}]"), 4, "token, and only tensors are cut");
	/* A text in quotation marks may end anywhere. */
	refuses(ONE_OF("tensor<4xf32>", "sdy.sharding = \"#sdy.sharding<@grid, [{}], unreduced\""),
		4, "sharding of argument 0: '=' is missing");
	refuses(ONE("@grid, [{}, {\"x\"}], unreduced={\"z\"}"), 4, "the mesh has no axis 'z'");
	refuses(ONE("@grid, [{}, {\"x\"}], unreduced = { \"x\"}"), 4,
		"names twice a part of axis 'x'");
	refuses(ONE("@grid, [{}, {\"x\":(3)2}]"), 4, "part do not divide the axis 'x'");
	refuses(MANUAL("", WHOLE), 4, "sharding of operand 0: there is none in 'in_shardings'");
	refuses(MANUAL(WHOLE, WHOLE ", " WHOLE), 4,
		"sharding of result 1: there is no such value, for which there is a sharding in");
	refuses(ONE_OF("tensor<4xf32>", "mhlo.sharding = \"devices=[4]\""), 4, "as mhlo.sharding");
}

static _Atomic int calls;

/* Function 6 returns the number of calls, 7 doubles two numbers, 8 fails, and 9 has no results. */
static char const *call(uint64_t number, size_t ins, void const *const *in, size_t outs,
			void *const *out)
{
	int so_far = ++calls;

	if (number == 8)
		return "not today";
	if (ins != 1 || outs != (number < 8))
		return "wrong numbers of operands and results";
	for (size_t i = 0; outs && i < 2; i++)
		((float *)out[0])[i] = number == 6 ? (float)so_far : 2 * ((const float *)in[0])[i];
	return NULL;
}

#define CALL(config, result)                                                                \
	"  " result "\"stablehlo.custom_call\"(%a) {call_target_name = \"onpu.callback\", " \
	"has_side_effect = true, backend_config = \"" config "\"} : (tensor<2xf32>) -> "
#define CALLS(text)   PAIR "func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {\n" text "}\n"
#define RETURN(value) "  return " value " : tensor<2xf32>\n"

/* Tests functions of the application: each device calls them, those with "once" one device only. */
static void test_callbacks(void **state)
{
	static const float a[2] = { 1, 2 }, doubled[2] = { 2, 4 }, fourth[2] = { 4, 4 };
	WNNStablehloTensor input = { a, sizeof(a), 0, NULL };
	const WNNStablehloTensor *lists[2] = { &input, &input };
	WNNStablehloProgram program = load(
		CALLS(CALL("7", "%r = ") "tensor<2xf32>\n" CALL("9 once", "") "()\n" RETURN("%r")),
		2);

	(void)state;
	fails(wnnStablehloProgramRunPartitionedSync(program, 0, 2, NULL, 1, lists),
	      "this process has no functions to call");
	calls = 0;
	wnnStablehloSetCallback(call);
	works(wnnStablehloProgramRunPartitionedSync(program, 0, 2, NULL, 1, lists));
	check_floats(program, 0, 0, doubled, 2);
	check_floats(program, 1, 0, doubled, 2);
	assert_int_equal(calls, 3);
	wnnStablehloProgramRelease(program);
	program = load(CALLS(CALL("6 once", "%r = ") "tensor<2xf32>\n" RETURN("%r")), 2);
	works(wnnStablehloProgramRunPartitionedSync(program, 0, 2, NULL, 1, lists));
	check_floats(program, 0, 0, fourth, 2);
	check_floats(program, 1, 0, fourth, 2);
	wnnStablehloProgramRelease(program);
	program = load(CALLS(CALL("8 once", "%r = ") "tensor<2xf32>\n" RETURN("%r")), 2);
	fails(wnnStablehloProgramRunPartitionedSync(program, 0, 2, NULL, 1, lists),
	      "onpu.callback: not today");
	wnnStablehloProgramRelease(program);
	program = load(CALLS(CALL("8", "%r = ") "tensor<2xf32>\n" RETURN("%r")), 1);
	fails(wnnStablehloProgramRunSync(program, 0, NULL, 1, &input), "onpu.callback: not today");
	wnnStablehloProgramRelease(program);
	wnnStablehloSetCallback(NULL);
	refuses(CALLS(CALL("x", "%r = ") "tensor<2xf32>\n" RETURN("%r")), 1,
		"backend_config of onpu.callback is 'x'; it must be the number of a function");
	refuses(CALLS(CALL("7 twice", "%r = ") "tensor<2xf32>\n" RETURN("%r")), 1,
		"backend_config of onpu.callback is '7 twice'; it must be the number of a");
	refuses(CALLS(CALL("7", "%r = ") "tensor<?xf32>\n" RETURN("%a")), 1,
		"result 0 of onpu.callback is tensor<?xf32>; its sizes must be known");
}

#define COUNT                                                                    \
	"func.func private @count(%a: tensor<2xf32>) -> tensor<2xf32> {\n" CALL( \
		"6 once", "%r = ") "tensor<2xf32>\n" RETURN("%r") "}\n"

/*
 * Tests that calls keep their order though the operand of the first one must be gathered before it:
 * calls in the main function, in a branch, and in a region on slices.
 */
static void test_order_of_calls(void **state)
{
	static const char text[] =
		"module attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {\n" PAIR COUNT
		"func.func public @main(%a: tensor<2xf32> " HALF
		", %b: tensor<2xf32>, %i: tensor<i1>)\n"
		"    -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {\n"
		"  %r = func.call @count(%a) : (tensor<2xf32>) -> tensor<2xf32>\n"
		"  %s = func.call @count(%b) : (tensor<2xf32>) -> tensor<2xf32>\n"
		"  %t = \"stablehlo.if\"(%i) ({\n"
		"    %u = func.call @count(%b) : (tensor<2xf32>) -> tensor<2xf32>\n"
		"    stablehlo.return %u : tensor<2xf32>\n"
		"  }, {\n    stablehlo.return %b : tensor<2xf32>\n"
		"  }) : (tensor<i1>) -> tensor<2xf32>\n"
		"  %v = sdy.manual_computation(%b) in_shardings=[<@pair, [{}]>]\n"
		"      out_shardings=[<@pair, [{}]>] manual_axes={\"x\"} (%p: tensor<2xf32>) {\n"
		"    %q = func.call @count(%p) : (tensor<2xf32>) -> tensor<2xf32>\n"
		"    sdy.return %q : tensor<2xf32>\n  } : (tensor<2xf32>) -> tensor<2xf32>\n"
		"  return %r, %s, %t, %v : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>\n"
		"}\n}\n";
	static const float numbers[2] = { 0 };
	const WNNStablehloTensor inputs[3] = { { numbers, sizeof(numbers) / 2, 0, NULL },
					       { numbers, sizeof(numbers), 0, NULL },
					       { &(const char){ 1 }, 1, 0, NULL } };
	const WNNStablehloTensor *lists[2] = { inputs, inputs };
	WNNStablehloProgram program = load(text, 2);

	(void)state;
	calls = 0;
	wnnStablehloSetCallback(call);
	works(wnnStablehloProgramRunPartitionedSync(program, 0, 2, NULL, 3, lists));
	for (size_t i = 0; i < 8; i++) {
		float number = (float)(i / 2 + 1), wanted[2] = { number, number };

		check_floats(program, i % 2, i / 2, wanted, 2);
	}
	wnnStablehloSetCallback(NULL);
	wnnStablehloProgramRelease(program);
}

/* Tests that a result without a mark may not have other dimensions than the returned value. */
static void test_other_results(void **state)
{
	static const char dynamic[] = PAIR
		"func.func @main(%a: tensor<4xf32> " HALF ", %b: tensor<?xf32>)\n"
		"    -> (tensor<?xf32>, tensor<*xf32>) {\n"
		"  %s = stablehlo.add %a, %b : (tensor<4xf32>, tensor<?xf32>) -> tensor<?xf32>\n"
		"  return %s, %s : tensor<?xf32>, tensor<?xf32>\n}\n";
	WNNStablehloProgram program;
	WNNStablehloValueInfoArray outputs;

	(void)state;
	refuses(PAIR "func.func @main(%a: tensor<4xf32> " HALF ") -> tensor<4x4xf32> {\n"
		     "  return %a : tensor<4xf32>\n}\n",
		2, "value 0 is tensor<4xf32>, but the function's type has tensor<4x4xf32>");
	program = load(dynamic, 2);
	outputs = wnnStablehloProgramGetOutputs(program, 0);
	assert_int_equal(outputs.data[0].dimensions[0], WNN_STABLEHLO_DIMENSION_UNKNOWN);
	assert_int_equal(wnnStablehloProgramGetOutputSlices(program, 0, 0).rank, 0);
	assert_int_equal(outputs.data[1].rank, 0);
	wnnStablehloProgramRelease(program);
}

/* A program whose region computes -%a and %a; it returns results of the region or %a itself. */
#define ONE_RESULT  "tensor<4xf32> " HALF
#define TWO_RESULTS ONE_RESULT ", " ONE_RESULT
#define REGION(results, returned)                                                          \
	PAIR "func.func @main(%a: tensor<4xf32> " HALF ") -> (" results ") {\n"            \
	     "  %r:2 = sdy.manual_computation(%a) in_shardings=[<@pair, [{\"x\"}]>] "      \
	     "out_shardings=[<@pair, [{\"x\"}]>, <@pair, [{\"x\"}]>] manual_axes={\"x\"} " \
	     "(%p: tensor<2xf32>) {\n"                                                     \
	     "    %n = stablehlo.negate %p : tensor<2xf32>\n"                              \
	     "    sdy.return %n, %p : tensor<2xf32>, tensor<2xf32>\n"                      \
	     "  } : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)\n"                   \
	     "  return " returned "\n}\n"

static size_t device_text_length(const char *text)
{
	WNNStablehloProgram program = load(text, 2);
	WNNStringView view = { 0 };

	works(wnnStablehloProgramGetDeviceText(program, &view));
	wnnStablehloProgramRelease(program);
	return view.length;
}

/* Tests that a program has a text for a device only when it returns the results of its region. */
static void test_device_text(void **state)
{
	(void)state;
	assert_true(device_text_length(
			    REGION(TWO_RESULTS, "%r#0, %r#1 : tensor<4xf32>, tensor<4xf32>")) > 0);
	assert_int_equal(
		device_text_length(REGION(TWO_RESULTS, "%r#0, %a : tensor<4xf32>, tensor<4xf32>")),
		0);
	assert_int_equal(device_text_length(REGION(
				 TWO_RESULTS ", " ONE_RESULT,
				 "%r#0, %r#1, %a : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>")),
			 0);
}

static void test_donations(void **state)
{
	static const char text[] =
		"func.func @main(%a: tensor<f32> {tf.aliasing_output = 1 : i32}, %b: tensor<f32>,\n"
		"    %c: tensor<f32> {jax.buffer_donor = true}, %d: tensor<f32> {tf.aliasing_output =\n"
		"    9 : i32}) -> (tensor<f32>, tensor<f32>) {\n"
		"  return %a, %b : tensor<f32>, tensor<f32>\n}\n";
	WNNStablehloProgram program = load(text, 1);
	size_t output = 7;

	(void)state;
	assert_int_equal(wnnStablehloProgramGetDonation(program, 0, 1, &output),
			 WNNStablehloDonation_None);
	assert_int_equal(wnnStablehloProgramGetDonation(program, 0, 2, &output),
			 WNNStablehloDonation_Any);
	assert_int_equal(wnnStablehloProgramGetDonation(program, 0, 3, &output),
			 WNNStablehloDonation_None);
	assert_int_equal(output, 7);
	assert_int_equal(wnnStablehloProgramGetDonation(program, 0, 0, &output),
			 WNNStablehloDonation_Output);
	assert_int_equal(output, 1);
	assert_int_equal(wnnStablehloProgramGetDonation(program, 0, 4, &output),
			 WNNStablehloDonation_None);
	wnnStablehloProgramRelease(program);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_references),     cmocka_unit_test(test_contexts),
		cmocka_unit_test(test_graphs),	       cmocka_unit_test(test_places),
		cmocka_unit_test(test_replicas),       cmocka_unit_test(test_ends),
		cmocka_unit_test(test_waits),	       cmocka_unit_test(test_parallel),
		cmocka_unit_test(test_numbers),	       cmocka_unit_test(test_axes),
		cmocka_unit_test(test_refusals),       cmocka_unit_test(test_donations),
		cmocka_unit_test(test_other_results),  cmocka_unit_test(test_addends),
		cmocka_unit_test(test_callbacks),      cmocka_unit_test(test_device_text),
		cmocka_unit_test(test_order_of_calls),
	};
	int failed;

	instance = wnnCreateInstance(NULL);
	for (size_t i = 0; i < DEVICES; i++) {
		contexts[i] = open_context(instance, argc > 1 ? argv[1] : "cpu");
		if (!contexts[i]) {
			fprintf(stderr, "the device does not open\n");
			return 1;
		}
	}
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	for (size_t i = 0; i < DEVICES; i++)
		wnnContextRelease(contexts[i]);
	wnnInstanceRelease(instance);
	return failed;
}
