// SPDX-License-Identifier: MIT
/* Tests that a program builds its graphs in its first run, and uses them in later ones. */
#include <dirent.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <webnn/stablehlo.h>
#include <webnn/webnn_npu.h>

#include "context.h"
#include "kept.h"

#define COUNT 1024
#define KEPT  256 /* programs whose graphs the process keeps */

/* The number of iterations and the branch are inputs, so that neither is known before a run. */
static const char text[] =
	"func.func private @twice(%x: tensor<1024xf32>) -> tensor<1024xf32> {\n"
	"  %y = stablehlo.add %x, %x : tensor<1024xf32>\n"
	"  return %y : tensor<1024xf32>\n}\n"
	"func.func @main(%x: tensor<1024xf32>, %n: tensor<i32>, %which: tensor<i32>) -> "
	"tensor<1024xf32> {\n"
	"  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
	"  %one = stablehlo.constant dense<1> : tensor<i32>\n"
	"  %half = stablehlo.constant dense<0.5> : tensor<1024xf32>\n"
	"  %r:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<1024xf32>\n"
	"    cond {\n"
	"      %go = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
	"      stablehlo.return %go : tensor<i1>\n"
	"    } do {\n"
	"      %next = stablehlo.add %i, %one : tensor<i32>\n"
	"      %b = func.call @twice(%a) : (tensor<1024xf32>) -> tensor<1024xf32>\n"
	"      %c = stablehlo.add %b, %half : tensor<1024xf32>\n"
	"      stablehlo.return %next, %c : tensor<i32>, tensor<1024xf32>\n"
	"    }\n"
	"  %d = \"stablehlo.case\"(%which) ({\n"
	"    %s = stablehlo.multiply %r#1, %half : tensor<1024xf32>\n"
	"    stablehlo.return %s : tensor<1024xf32>\n"
	"  }, {\n"
	"    %s = stablehlo.negate %r#1 : tensor<1024xf32>\n"
	"    stablehlo.return %s : tensor<1024xf32>\n"
	"  }) : (tensor<i32>) -> tensor<1024xf32>\n"
	"  return %d : tensor<1024xf32>\n}\n";

static WNNInstance instance;
static WNNContext contexts[2];

static WNNStablehloProgram load(void)
{
	WNNStablehloProgram program;

	assert_int_equal(wnnStablehloLoadMemory(text, strlen(text), NULL, &program),
			 WNNStatus_Success);
	return program;
}

/* Runs the program, and returns whether the result is equal to the bit to one computed here. */
static bool runs(WNNStablehloProgram program, WNNContext context, float x, int32_t n, int32_t which)
{
	WNNStablehloTensor inputs[3] = { { .size = COUNT * sizeof(x) },
					 { &n, sizeof(n), 0, NULL },
					 { &which, sizeof(which), 0, NULL } };
	float values[COUNT], expected[COUNT];
	WNNStablehloTensorArray results;

	for (size_t i = 0; i < COUNT; i++) {
		values[i] = expected[i] = x + (float)i / 8;
		for (int32_t k = 0; k < n; k++)
			expected[i] = expected[i] * 2 + 0.5f;
		expected[i] = which ? -expected[i] : expected[i] / 2;
	}
	inputs[0].data = values;
	if (wnnStablehloProgramRunSync(program, 0, context, 3, inputs) != WNNStatus_Success)
		return false;
	results = wnnStablehloProgramGetResults(program);
	return results.count == 1 && results.data[0].size == sizeof(expected) &&
	       !memcmp(results.data[0].data, expected, sizeof(expected));
}

static uint64_t built(WNNStablehloProgram program)
{
	return wnnStablehloProgramGetBuildCount(program);
}

static void test_later_runs(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		WNNStablehloProgram program = load();
		uint64_t cpu;

		assert_int_equal(built(program), 0);
		/* The graphs are the body of the loop with the called function, and a branch. */
		assert_true(runs(program, contexts[i], 1, 5, 0));
		assert_int_equal(built(program), 2);
		cpu = wnnStablehloProgramGetRunInfo(program).cpuOperators;
		assert_int_equal(cpu > 0, i == 1);
		assert_true(runs(program, contexts[i], -2, 9, 0));
		assert_int_equal(built(program), 0);
		assert_int_equal(wnnStablehloProgramGetRunInfo(program).cpuOperators, cpu);
		assert_true(runs(program, contexts[i], 3, 0, 1));
		assert_int_equal(built(program), 1);
		assert_true(runs(program, contexts[i], 3, 2, 1));
		assert_int_equal(built(program), 0);
		assert_true(runs(program, NULL, 3, 2, 1));
		assert_int_equal(built(program), 0);
		wnnStablehloProgramRelease(program);
	}
}

/*
 * Tests that another context and other limits get graphs of their own, and leave the existing ones.
 */
static void test_keys(void **state)
{
	WNNStablehloProgram program = load();

	(void)state;
	for (uint64_t i = 0; i < 2; i++) {
		assert_true(runs(program, contexts[0], 1, 2, 0));
		assert_int_equal(built(program), i ? 0 : 2);
		assert_true(runs(program, contexts[1], 1, 2, 0));
		assert_int_equal(built(program), i ? 0 : 2);
		wnnStablehloProgramSetUnrollLimit(program, 0);
		assert_true(runs(program, contexts[1], 1, 2, 0));
		/* The called function has a graph of its own. */
		assert_int_equal(built(program), i ? 0 : 3);
		wnnStablehloProgramSetUnrollLimit(program, WNN_STABLEHLO_UNROLL_LIMIT_DEFAULT);
	}
	wnnStablehloProgramRelease(program);
}

/* Returns whether the placement of the last run has an operation with this line. */
static bool tells(WNNStablehloProgram program, const char *label)
{
	WNNStablehloPlacementArray placement = wnnStablehloProgramGetPlacement(program);

	for (size_t i = 0; i < placement.count; i++)
		if (placement.data[i].label.length == strlen(label) &&
		    !memcmp(placement.data[i].label.data, label, strlen(label)))
			return true;
	return false;
}

/*
 * Tests that the placement is that of the last run, though the program keeps graphs of other runs.
 */
static void test_placement(void **state)
{
	static const char half[] = "stablehlo.multiply at 20:5",
			  minus[] = "stablehlo.negate at 23:5";
	WNNStablehloProgram program = load();

	(void)state;
	for (int32_t i = 0; i < 6; i++) {
		int32_t which = i / 2 % 2;

		assert_true(runs(program, contexts[1], 1, 2, which));
		assert_int_equal(tells(program, half), !which);
		assert_int_equal(tells(program, minus), which);
	}
	assert_true(runs(program, NULL, 1, 2, 0));
	assert_int_equal(wnnStablehloProgramGetPlacement(program).count, 0);
	wnnStablehloProgramRelease(program);
}

/* Tests that errors of arguments say what is given and what is allowed. */
static void test_arguments(void **state)
{
	WNNStablehloProgram program = load();
	WNNError error = WNN_ERROR_INIT;

	(void)state;
	assert_int_not_equal(wnnStablehloProgramRunSync(program, 1, NULL, 0, NULL),
			     WNNStatus_Success);
	wnnStablehloGetLastError(&error);
	assert_string_equal(error.message.data,
			    "there is no module 1: the program has 1, counted from 0");
	assert_int_not_equal(wnnStablehloProgramRunSync(NULL, 0, NULL, 0, NULL), WNNStatus_Success);
	wnnStablehloGetLastError(&error);
	assert_string_equal(error.message.data, "the argument program is NULL");
	wnnStablehloProgramRelease(program);
}

/* Tests that a failed run keeps no graphs, as these may be the reason of the failure. */
static void test_failure(void **state)
{
	WNNStablehloProgram program = load();

	(void)state;
	assert_true(runs(program, contexts[1], 1, 4, 0));
	wnnStablehloProgramSetLoopLimit(program, 3);
	assert_true(runs(program, contexts[1], 1, 3, 0));
	assert_false(runs(program, contexts[1], 1, 4, 0));
	assert_int_equal(wnnStablehloProgramGetPlacement(program).count, 0);
	assert_true(runs(program, contexts[1], 1, 3, 0));
	assert_int_equal(built(program), 2);
	wnnStablehloProgramSetLoopLimit(program, WNN_STABLEHLO_LOOP_LIMIT_DEFAULT);
	assert_true(runs(program, contexts[1], 1, 3, 0));
	assert_int_equal(built(program), 0);
	wnnStablehloProgramRelease(program);
}

/* Tests that a run on two devices has no placement when the second one fails after the first. */
static void test_failure_of_one(void **state)
{
	float values[COUNT] = { 0 };
	int32_t which = 0, few = 1, many = 4;
	WNNStablehloTensor first[] = { { values, sizeof(values), 0, NULL },
				       { &few, sizeof(few), 0, NULL },
				       { &which, sizeof(which), 0, NULL } };
	WNNStablehloTensor second[] = { first[0], { &many, sizeof(many), 0, NULL }, first[2] };
	const WNNStablehloTensor *const inputs[] = { first, second };
	WNNContext const both[] = { contexts[1], contexts[1] };
	WNNStablehloProgram program = load();

	(void)state;
	for (int i = 0; i < 2; i++) {
		wnnStablehloProgramSetLoopLimit(program, i ? 3 : 4);
		assert_int_equal(wnnStablehloProgramRunPartitionedSync(program, 0, 2, both, 3,
								       inputs) == WNNStatus_Success,
				 !i);
		assert_int_equal(tells(program, "stablehlo.multiply at 20:5"), !i);
		assert_int_equal(!wnnStablehloProgramGetPlacement(program).count, i);
	}
	wnnStablehloProgramRelease(program);
}

/* Tests that each run on a lost context fails: with graphs of an earlier run, and without. */
static void test_lost(void **state)
{
	WNNStablehloProgram program = load();
	WNNContext context = open_context(instance, "cpu");

	(void)state;
	assert_non_null(context);
	assert_true(runs(program, context, 1, 4, 0));
	wnnContextDestroy(context);
	for (int i = 0; i < 3; i++)
		assert_false(runs(program, context, 1, 4, 0));
	assert_true(runs(program, contexts[1], 1, 4, 0));
	wnnStablehloProgramRelease(program);
	wnnContextRelease(context);
}

/*
 * Tests that the next run builds segments for which memory was exhausted, whichever allocation
 * failed.
 */
static void test_memory(void **state)
{
	bool lacked = true;

	(void)state;
	for (int64_t i = 0; lacked; i++) {
		WNNStablehloProgram program = load();
		bool whole;

		import_memory_left = -2 - i;
		whole = runs(program, contexts[1], 1, 2, 0) && built(program) == 2;
		lacked = import_memory_left == -1;
		import_memory_left = -1;
		assert_true(whole || lacked);
		assert_true(runs(program, contexts[1], 1, 2, 0));
		assert_true(built(program) == 2 || (whole && built(program) == 0));
		wnnStablehloProgramRelease(program);
	}
}

static void test_forget_results(void **state)
{
	WNNStablehloProgram program = load();

	(void)state;
	wnnStablehloProgramForgetResults(NULL);
	wnnStablehloProgramForgetResults(program);
	assert_true(runs(program, contexts[1], 1, 4, 0));
	wnnStablehloProgramForgetResults(program);
	assert_int_equal(wnnStablehloProgramGetResults(program).count, 0);
	assert_int_equal(built(program), 2);
	assert_true(runs(program, contexts[1], 1, 4, 0));
	assert_int_equal(built(program), 0);
	wnnStablehloProgramRelease(program);
}

/* Tests that the process keeps the graphs of KEPT programs, and frees the oldest. */
static void test_bound(void **state)
{
	WNNStablehloProgram programs[KEPT + 1];

	(void)state;
	for (size_t i = 0; i <= KEPT; i++) {
		programs[i] = load();
		assert_true(runs(programs[i], contexts[1], 1, 1, 0));
	}
	assert_true(tells(programs[0], "stablehlo.multiply at 20:5"));
	assert_true(runs(programs[1], contexts[1], 1, 1, 0));
	assert_int_equal(built(programs[1]), 0);
	assert_true(runs(programs[0], contexts[1], 1, 1, 0));
	assert_int_equal(built(programs[0]), 2);
	for (size_t i = 0; i <= KEPT; i++)
		wnnStablehloProgramRelease(programs[i]);
	assert_false(shlo_kept_drop(NULL));
}

/*
 * Tests that unrolled modules count: a module beyond the limit is not kept once there is a newer
 * one.
 */
static void test_bound_of_modules(void **state)
{
	struct shlo_kept_key keys[] = { { .owner = &keys[0], .context = contexts[0] },
					{ .owner = &keys[1], .context = contexts[0] } };
	struct shlo_kept *large = shlo_kept_take(&keys[0]), *small, *again;
	uint64_t serial;

	(void)state;
	assert_non_null(large);
	serial = large->serial;
	assert_non_null(import_chunks_take(&large->arena.chunks, (size_t)600 << 20, 0));
	shlo_kept_give(large);
	again = shlo_kept_take(&keys[0]);
	assert_int_equal(again->serial, serial);
	shlo_kept_give(again);
	small = shlo_kept_take(&keys[1]);
	assert_non_null(small);
	shlo_kept_give(small);
	again = shlo_kept_take(&keys[0]);
	assert_int_not_equal(again->serial, serial);
	shlo_kept_free(again);
	assert_true(shlo_kept_drop(NULL));
}

static atomic_bool ended;

static void *walk_list(void *arg)
{
	while (!ended) {
		shlo_kept_drop(arg);
		usleep(10);
	}
	return NULL;
}

/* Tests that a child of fork() can use the list, though another thread was using it. */
static void test_fork(void **state)
{
	/* With such a long list, the other thread is using it nearly all the time. */
	static struct shlo_kept rest[100000];
	struct shlo_kept_key key = { .owner = &key, .context = contexts[0] };
	struct shlo_kept *kept = shlo_kept_take(&key);
	pthread_t thread;

	(void)state;
	assert_non_null(kept);
	shlo_kept_give(kept);
	for (size_t i = 0; i + 1 < sizeof(rest) / sizeof(rest[0]); i++)
		rest[i].next = &rest[i + 1];
	kept->next = rest;
	assert_int_equal(pthread_create(&thread, NULL, walk_list, &ended), 0);
	for (int i = 0; i < 20; i++) {
		pid_t child = fork();
		int status = -1;

		if (!child) {
			/* A child that waits for ever ends by a signal. */
			alarm(60);
			shlo_kept_drop(&child);
			_exit(0);
		}
		assert_true(child > 0);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
	}
	ended = true;
	assert_int_equal(pthread_join(thread, NULL), 0);
	kept->next = NULL;
	assert_true(shlo_kept_drop(NULL));
}

static void *run_many(void *arg)
{
	WNNStablehloProgram programs[KEPT / 2 + 8];
	size_t count = sizeof(programs) / sizeof(programs[0]), right = 0;

	(void)arg;
	for (size_t i = 0; i < count; i++)
		programs[i] = load();
	for (size_t round = 0; round < 2; round++)
		for (size_t i = 0; i < count; i++)
			right += runs(programs[i], contexts[1], (float)i, 1, 0);
	for (size_t i = 0; i < count; i++)
		wnnStablehloProgramRelease(programs[i]);
	return right == 2 * count ? NULL : contexts;
}

/*
 * Tests two threads that keep more graphs than the process may, so that each frees graphs of the
 * other.
 */
static void test_threads(void **state)
{
	pthread_t threads[2];
	void *wrong;

	(void)state;
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, run_many, NULL), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(pthread_join(threads[i], &wrong), 0);
		assert_null(wrong);
	}
	assert_false(shlo_kept_drop(NULL));
}

#define LARGE (1 << 20)

/* The most bytes that the context of test_copies() asked for at once, since they were set to 0. */
static atomic_size_t largest;

static void *allocate(size_t size, size_t alignment, void *userdata1, void *userdata2)
{
	size_t before = atomic_load(&largest);

	(void)userdata1;
	(void)userdata2;
	while (size > before && !atomic_compare_exchange_weak(&largest, &before, size))
		;
	return aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

static void deallocate(void *memory, void *userdata1, void *userdata2)
{
	(void)userdata1;
	(void)userdata2;
	free(memory);
}

/* Runs a program that doubles, on elements of value @x, and checks the results. */
static void check_doubled(WNNStablehloProgram program, WNNContext context, float *values, float x)
{
	WNNStablehloTensor input = { values, LARGE * sizeof(x), 0, NULL };
	WNNStablehloTensorArray results;

	for (size_t i = 0; i < LARGE; i++)
		values[i] = x;
	assert_int_equal(wnnStablehloProgramRunSync(program, 0, context, 1, &input),
			 WNNStatus_Success);
	results = wnnStablehloProgramGetResults(program);
	assert_int_equal(results.data[0].size, input.size);
	for (size_t i = 0; i < LARGE; i++)
		assert_true(((const float *)results.data[0].data)[i] == 2 * x);
}

/* Tests that runs copy neither inputs nor outputs, though each run has them at other addresses. */
static void test_copies(void **state)
{
	static const char doubles[] =
		"func.func @main(%x: tensor<1048576xf32>) -> tensor<1048576xf32> {\n"
		"  %y = stablehlo.add %x, %x : tensor<1048576xf32>\n"
		"  return %y : tensor<1048576xf32>\n}\n";
	WNNInstanceDescriptor descriptor = WNN_INSTANCE_DESCRIPTOR_INIT;
	WNNInstanceAllocator counting = WNN_INSTANCE_ALLOCATOR_INIT;
	float *values[2] = { malloc(LARGE * sizeof(float)), malloc(LARGE * sizeof(float)) };
	WNNStablehloProgram program;
	WNNInstance own;
	WNNContext context;

	(void)state;
	assert_true(values[0] && values[1]);
	counting.allocate = allocate;
	counting.deallocate = deallocate;
	descriptor.nextInChain = &counting.chain;
	own = wnnCreateInstance(&descriptor);
	context = open_context(own, "cpu");
	assert_non_null(context);
	assert_int_equal(wnnStablehloLoadMemory(doubles, strlen(doubles), NULL, &program),
			 WNNStatus_Success);
	for (int run = 0; run < 4; run++) {
		atomic_store(&largest, 0);
		check_doubled(program, context, values[run % 2], (float)run);
		assert_int_equal(built(program), run == 0);
		assert_true(atomic_load(&largest) < LARGE);
	}
	wnnStablehloProgramRelease(program);
	wnnContextRelease(context);
	wnnInstanceRelease(own);
	free(values[0]);
	free(values[1]);
}

/*
 * Tests that an element-wise operator on the CPU reads an operand as it was before its expansion:
 * the graph has an expand only when both operands are expanded.
 */
static void test_expanded(void **state)
{
	static const char *const sums[] = { "%x, %b", "%b, %x", "%b, %c" };
	char expands[512];

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		WNNStablehloPlacementArray placement;
		WNNStablehloTensor inputs[2];
		WNNStablehloProgram program;
		float x[2048], y = 3;
		size_t count = 0;

		snprintf(expands, sizeof(expands),
			 "func.func @main(%%x: tensor<2x1024xf32>, %%y: tensor<f32>) -> "
			 "tensor<2x1024xf32> {\n"
			 "  %%z = stablehlo.negate %%y : tensor<f32>\n"
			 "  %%b = stablehlo.broadcast_in_dim %%z, dims = [] : (tensor<f32>) -> "
			 "tensor<2x1024xf32>\n"
			 "  %%c = stablehlo.broadcast_in_dim %%y, dims = [] : (tensor<f32>) -> "
			 "tensor<2x1024xf32>\n"
			 "  %%s = stablehlo.add %s : tensor<2x1024xf32>\n"
			 "  return %%s : tensor<2x1024xf32>\n}\n",
			 sums[i]);
		for (size_t k = 0; k < 2048; k++)
			x[k] = (float)k;
		inputs[0] = (WNNStablehloTensor){ x, sizeof(x), 0, NULL };
		inputs[1] = (WNNStablehloTensor){ &y, sizeof(y), 0, NULL };
		assert_int_equal(wnnStablehloLoadMemory(expands, strlen(expands), NULL, &program),
				 WNNStatus_Success);
		assert_int_equal(wnnStablehloProgramRunSync(program, 0, contexts[1], 2, inputs),
				 WNNStatus_Success);
		for (size_t k = 0; k < 2048; k++)
			assert_true(((const float *)wnnStablehloProgramGetResults(program)
					     .data[0]
					     .data)[k] == (i == 2 ? 0 : x[k] - 3));
		placement = wnnStablehloProgramGetPlacement(program);
		for (size_t k = 0; k < placement.count; k++)
			count += placement.data[k].operatorName.length == strlen("expand") &&
				 !memcmp(placement.data[k].operatorName.data, "expand", 6);
		assert_int_equal(count > 0, i == 2);
		wnnStablehloProgramRelease(program);
	}
}

/* Damages all files of a folder, or with @remove deletes them. Returns their number. */
static size_t harm_files(const char *folder, bool remove)
{
	char path[PATH_MAX];
	size_t count = 0;
	struct dirent *entry;
	DIR *dir = opendir(folder);

	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		FILE *file;

		if (entry->d_name[0] == '.')
			continue;
		count++;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		if (remove) {
			assert_int_equal(unlink(path), 0);
			continue;
		}
		file = fopen(path, "r+b");
		assert_non_null(file);
		fseek(file, 64, SEEK_SET);
		fputs("damaged", file);
		fclose(file);
	}
	closedir(dir);
	return count;
}

/* Runs a new program with a folder, and returns how many graphs it built. */
static uint64_t built_with(const char *folder, WNNContext context)
{
	WNNStablehloProgram program = load();
	uint64_t count;

	assert_int_equal(wnnStablehloProgramSetGraphFolder(program, WNN_STR(folder)),
			 WNNStatus_Success);
	assert_true(runs(program, context, 1, 5, 0));
	count = built(program);
	assert_true(runs(program, context, 2, 3, 0));
	assert_int_equal(built(program), 0);
	wnnStablehloProgramRelease(program);
	return count;
}

/* Tests that a program loads the graphs that another one with the same text has saved. */
static void test_folder(void **state)
{
	char folder[] = "/tmp/shlo-graphs-XXXXXX", missing[64];

	(void)state;
	assert_non_null(mkdtemp(folder));
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(built_with(folder, contexts[i]), 2);
		assert_int_equal(built_with(folder, contexts[i]), 0);
		assert_int_equal(harm_files(folder, false), 2);
		assert_int_equal(built_with(folder, contexts[i]), 2);
		assert_int_equal(built_with(folder, contexts[i]), 0);
		/* The files are those of another device, and are replaced. */
		assert_int_equal(built_with(folder, contexts[!i]), 2);
		assert_int_equal(harm_files(folder, true), 2);
	}
	assert_int_equal(built_with("", contexts[1]), 2);
	assert_int_equal(harm_files(folder, true), 0);
	snprintf(missing, sizeof(missing), "%s/missing", folder);
	assert_int_equal(built_with(missing, contexts[1]), 2);
	assert_int_equal(rmdir(folder), 0);
	assert_int_equal(wnnStablehloProgramSetGraphFolder(NULL, WNN_STR("x")),
			 WNNStatus_TypeError);
}

/*
 * Tests that a program does not take the graphs of another one when their bytes differ only in the
 * highest bits. Programs in bytecode differ so when constants have other signs.
 */
static void test_folder_of_signs(void **state)
{
	static const char comment[] = "//      ++++++++++++++++\n";
	static const size_t signs[] = { 15, 19, 23 };
	char folder[] = "/tmp/shlo-graphs-XXXXXX", *copy = malloc(sizeof(comment) + sizeof(text));

	(void)state;
	assert_non_null(copy);
	assert_non_null(mkdtemp(folder));
	sprintf(copy, "%s%s", comment, text);
	for (size_t i = 0; i < 3; i++) {
		WNNStablehloProgram program;

		for (size_t k = 0; i == 1 && k < sizeof(signs) / sizeof(signs[0]); k++)
			copy[signs[k]] ^= (char)0x80;
		assert_int_equal(wnnStablehloLoadMemory(copy, strlen(copy), NULL, &program),
				 WNNStatus_Success);
		wnnStablehloProgramSetGraphFolder(program, WNN_STR(folder));
		assert_true(runs(program, contexts[1], 1, 5, 0));
		assert_int_equal(built(program), i < 2 ? 2 : 0);
		wnnStablehloProgramRelease(program);
	}
	free(copy);
	assert_int_equal(harm_files(folder, true), 4);
	assert_int_equal(rmdir(folder), 0);
}

/* Tests the folder with a program whose graph has a constant as its only input. */
static void test_folder_of_constants(void **state)
{
	static const char constant[] = "func.func @main() -> tensor<2048xf32> {\n"
				       "  %x = stablehlo.constant dense<2.0> : tensor<2048xf32>\n"
				       "  %y = stablehlo.sqrt %x : tensor<2048xf32>\n"
				       "  return %y : tensor<2048xf32>\n}\n";
	char folder[] = "/tmp/shlo-graphs-XXXXXX";

	(void)state;
	assert_non_null(mkdtemp(folder));
	for (uint64_t i = 0; i < 2; i++) {
		WNNStablehloProgram program;

		assert_int_equal(wnnStablehloLoadMemory(constant, strlen(constant), NULL, &program),
				 WNNStatus_Success);
		wnnStablehloProgramSetGraphFolder(program, WNN_STR(folder));
		assert_int_equal(wnnStablehloProgramRunSync(program, 0, contexts[1], 0, NULL),
				 WNNStatus_Success);
		assert_int_equal(built(program), !i);
		assert_true(
			((const float *)wnnStablehloProgramGetResults(program).data[0].data)[9] ==
			sqrtf(2));
		wnnStablehloProgramRelease(program);
	}
	assert_int_equal(harm_files(folder, true), 1);
	assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
	static const char *const devices[] = { "sim", "cpu" };
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_later_runs),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_placement),
		cmocka_unit_test(test_arguments),
		cmocka_unit_test(test_failure),
		cmocka_unit_test(test_failure_of_one),
		cmocka_unit_test(test_lost),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_forget_results),
		cmocka_unit_test(test_bound),
		cmocka_unit_test(test_bound_of_modules),
		cmocka_unit_test(test_fork),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_copies),
		cmocka_unit_test(test_expanded),
		cmocka_unit_test(test_folder),
		cmocka_unit_test(test_folder_of_signs),
		cmocka_unit_test(test_folder_of_constants),
	};
	int ret;

	instance = wnnCreateInstance(NULL);
	for (int i = 0; i < 2; i++) {
		contexts[i] = open_context(instance, devices[i]);
		if (!contexts[i])
			return 1;
	}
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	for (int i = 0; i < 2; i++)
		wnnContextRelease(contexts[i]);
	wnnInstanceRelease(instance);
	return ret;
}
