// SPDX-License-Identifier: MIT
/*
 * Tests loops that are not unrolled: functions that they call become part of the loop's graph, and
 * arrays that they carry are updated in place. The tests count graphs and copied bytes.
 */
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

#include "api.h"
#include "context.h"

#define MOST  256  /* rows */
#define WIDTH 1024 /* elements of a row: so many are worth a graph */

static WNNInstance instance;
static WNNContext contexts[3]; /* the last is NULL: reference kernels */
static char text[8192];

/* A scan as JAX writes it; the number of iterations is an argument, so that it is not unrolled. */
static const char scan[] =
	"func.func @main(%%x: tensor<%dx1024xf32>, %%n: tensor<i32>) -> tensor<%dx1024xf32> {\n"
	"  %%zero = stablehlo.constant dense<0> : tensor<i32>\n"
	"  %%one = stablehlo.constant dense<1> : tensor<i32>\n"
	"  %%r:4 = stablehlo.while(%%xs = %%x, %%i = %%zero, %%c = %%n, %%ys = %%x) : "
	"tensor<%dx1024xf32>, tensor<i32>, tensor<i32>, tensor<%dx1024xf32>\n"
	"    cond {\n"
	"      %%go = stablehlo.compare LT, %%i, %%c : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
	"      stablehlo.return %%go : tensor<i1>\n"
	"    } do {\n"
	"      %%v = func.call @take(%%xs, %%i) : (tensor<%dx1024xf32>, tensor<i32>) -> "
	"tensor<1024xf32>\n"
	"      %%w = stablehlo.add %%v, %%v : tensor<1024xf32>\n"
	"      %%out = func.call @put(%%ys, %%w, %%i) : (tensor<%dx1024xf32>, tensor<1024xf32>, "
	"tensor<i32>) -> tensor<%dx1024xf32>\n"
	"      %%next = stablehlo.add %%i, %%one : tensor<i32>\n"
	"      stablehlo.return %%xs, %%next, %%c, %%out : tensor<%dx1024xf32>, tensor<i32>, "
	"tensor<i32>, tensor<%dx1024xf32>\n"
	"    }\n"
	"  return %%r#3 : tensor<%dx1024xf32>\n}\n"
	"func.func private @take(%%x: tensor<%dx1024xf32>, %%i: tensor<i32>) -> tensor<1024xf32> {\n"
	"  %%c = stablehlo.constant dense<0> : tensor<i32>\n"
	"  %%s = stablehlo.dynamic_slice %%x, %%i, %%c, sizes = [1, 1024] : (tensor<%dx1024xf32>, "
	"tensor<i32>, tensor<i32>) -> tensor<1x1024xf32>\n"
	"  %%r = stablehlo.reshape %%s : (tensor<1x1024xf32>) -> tensor<1024xf32>\n"
	"  return %%r : tensor<1024xf32>\n}\n"
	"func.func private @put(%%x: tensor<%dx1024xf32>, %%v: tensor<1024xf32>, %%i: tensor<i32>) "
	"-> tensor<%dx1024xf32> {\n"
	"  %%c = stablehlo.constant dense<0> : tensor<i32>\n"
	"  %%s = stablehlo.reshape %%v : (tensor<1024xf32>) -> tensor<1x1024xf32>\n"
	"  %%r = stablehlo.dynamic_update_slice %%x, %%s, %%i, %%c : (tensor<%dx1024xf32>, "
	"tensor<1x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<%dx1024xf32>\n"
	"  return %%r : tensor<%dx1024xf32>\n}\n";

static WNNStablehloProgram load(const char *code)
{
	WNNStablehloProgram program;

	assert_int_equal(wnnStablehloLoadMemory(code, strlen(code), NULL, &program),
			 WNNStatus_Success);
	assert_int_equal(wnnStablehloProgramGetRefusals(program).count, 0);
	return program;
}

static WNNStablehloProgram load_scan(int rows)
{
	int n = snprintf(text, sizeof(text), scan, rows, rows, rows, rows, rows, rows, rows, rows,
			 rows, rows, rows, rows, rows, rows, rows, rows, rows);

	assert_in_range(n, 1, sizeof(text) - 1);
	return load(text);
}

/*
 * Runs @n iterations of the scan over @rows rows, and checks the result; returns the number of
 * copied bytes.
 */
static uint64_t run_scan(WNNStablehloProgram program, WNNContext context, int rows, int32_t n)
{
	static float x[MOST * WIDTH];
	WNNStablehloTensor inputs[2] = {
		{ .data = x, .size = (size_t)rows * WIDTH * sizeof(*x) },
		{ &n, sizeof(n), 0, NULL },
	};
	const float *y;

	for (int i = 0; i < rows * WIDTH; i++)
		x[i] = (float)(i % 1013);
	assert_int_equal(wnnStablehloProgramRunSync(program, 0, context, 2, inputs),
			 WNNStatus_Success);
	y = wnnStablehloProgramGetResults(program).data[0].data;
	for (int i = 0; i < rows * WIDTH; i++)
		if (y[i] != (i < n * WIDTH ? 2 : 1) * x[i])
			fail_msg("element %d is %g", i, y[i]);
	return program->own.run.copied_bytes;
}

/*
 * Tests that an iteration copies only its row into a graph and back, whatever the number of rows.
 */
static void test_scan(void **state)
{
	(void)state;
	for (int device = 0; device < 2; device++)
		for (int rows = 64; rows <= 256; rows *= 4) {
			WNNStablehloProgram program = load_scan(rows);
			uint64_t few = run_scan(program, contexts[device], rows, 2), more;

			/* The graph of the loop's body serves all iterations and runs. */
			assert_int_equal(wnnStablehloProgramGetBuildCount(program), 1);
			more = run_scan(program, contexts[device], rows, 34);
			assert_int_equal(wnnStablehloProgramGetBuildCount(program), 0);
			assert_int_equal(more - few, 32 * 2 * WIDTH * sizeof(float));
			wnnStablehloProgramRelease(program);
		}
	for (int rows = 64; rows <= 256; rows *= 4) {
		WNNStablehloProgram program = load_scan(rows);

		run_scan(program, NULL, rows, 5);
		wnnStablehloProgramRelease(program);
	}
}

/*
 * Runs a program on x, tensor<4xf32>, and @n, and returns the status of the run. After a success,
 * fails the test unless the results are @count numbers, those of @expected.
 */
static WNNStatus run_small(WNNStablehloProgram program, WNNContext context, int32_t n,
			   const float *expected, size_t count)
{
	float x[4] = { 1, 2, 3, 4 };
	WNNStablehloTensor inputs[2] = { { .data = x, .size = sizeof(x) },
					 { &n, sizeof(n), 0, NULL } };
	WNNStatus status = wnnStablehloProgramRunSync(program, 0, context, 2, inputs);
	WNNStablehloTensorArray results = wnnStablehloProgramGetResults(program);
	size_t at = 0;

	for (size_t i = 0; status == WNNStatus_Success && i < results.count; i++) {
		const float *data = results.data[i].data;

		for (size_t k = 0; k < results.data[i].size / sizeof(float); k++, at++)
			if (at >= count || data[k] != expected[at])
				fail_msg("result %zu, element %zu is %g", i, k, data[k]);
	}
	if (status == WNNStatus_Success)
		assert_int_equal(at, count);
	return status;
}

#define HEAD                                                                                        \
	"func.func @main(%x: tensor<4xf32>, %n: tensor<i32>) -> (tensor<4xf32>, tensor<4xf32>) {\n" \
	"  %zero = stablehlo.constant dense<0> : tensor<i32>\n"                                     \
	"  %one = stablehlo.constant dense<1> : tensor<i32>\n"                                      \
	"  %nine = stablehlo.constant dense<9.0> : tensor<1xf32>\n"                                 \
	"  %k = stablehlo.constant dense<7.0> : tensor<4xf32>\n"                                    \
	"  %r:3 = stablehlo.while(%i = %zero, %a = %x, %b = %x) : tensor<i32>, tensor<4xf32>, "     \
	"tensor<4xf32>\n"                                                                           \
	"    cond {\n"                                                                              \
	"      %go = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"     \
	"      stablehlo.return %go : tensor<i1>\n"                                                 \
	"    } do {\n"                                                                              \
	"      %next = stablehlo.add %i, %one : tensor<i32>\n"
#define TAIL                                             \
	" : tensor<i32>, tensor<4xf32>, tensor<4xf32>\n" \
	"    }\n"                                        \
	"  return %r#1, %r#2 : tensor<4xf32>, tensor<4xf32>\n}\n"
#define PUT(x, value, at)                                      \
	"stablehlo.dynamic_update_slice " x ", " value ", " at \
	" : (tensor<4xf32>, tensor<1xf32>, tensor<i32>) -> tensor<4xf32>\n"

/* Tests that an update in a loop does not change values which other operations read, too. */
static void test_readers(void **state)
{
	static const struct {
		const char *code;
		float expected[8]; /* after three iterations */
	} cases[] = {
		/* the old value is read after the update */
		{ HEAD
		  "%c = " PUT("%a", "%nine", "%i") "%d = stablehlo.add %a, %b : tensor<4xf32>\n"
						   "stablehlo.return %next, %c, %d" TAIL,
		  { 9, 9, 9, 4, 20, 15, 12, 16 } },
		/* one value is carried twice */
		{ HEAD "%c = " PUT("%a", "%nine", "%i") "stablehlo.return %next, %c, %c" TAIL,
		  { 9, 9, 9, 4, 9, 9, 9, 4 } },
		/* both carried values change places */
		{ HEAD "%c = " PUT("%a", "%nine", "%i") "stablehlo.return %next, %b, %c" TAIL,
		  { 1, 9, 3, 4, 9, 2, 9, 4 } },
		/* the array is from outside of the loop */
		{ HEAD
		  "%c = " PUT("%x", "%nine", "%i") "%d = stablehlo.add %b, %x : tensor<4xf32>\n"
						   "stablehlo.return %next, %c, %d" TAIL,
		  { 1, 2, 9, 4, 4, 8, 12, 16 } },
		/* a constant of the body is changed, and is itself again in the next iteration */
		{ HEAD "%e = stablehlo.constant dense<5.0> : tensor<4xf32>\n"
		       "%c = " PUT("%e", "%nine", "%i") "stablehlo.return %next, %c, %b" TAIL,
		  { 5, 5, 9, 5, 1, 2, 3, 4 } },
		/* a constant of the body is carried, and changed by the next iteration */
		{ HEAD "%e = stablehlo.constant dense<5.0> : tensor<4xf32>\n"
		       "%c = " PUT("%a", "%nine", "%i") "stablehlo.return %next, %e, %c" TAIL,
		  { 5, 5, 5, 5, 5, 5, 9, 5 } },
		/* the array is its own update */
		{ HEAD "%c = stablehlo.dynamic_update_slice %a, %a, %i : (tensor<4xf32>, "
		       "tensor<4xf32>, tensor<i32>) -> tensor<4xf32>\n"
		       "stablehlo.return %next, %c, %b" TAIL,
		  { 1, 2, 3, 4, 1, 2, 3, 4 } },
		/* a scatter adds to a value, and two operations read its result */
		{ HEAD "%s = stablehlo.reshape %i : (tensor<i32>) -> tensor<1xi32>\n"
		       "%c = \"stablehlo.scatter\"(%a, %s, %nine) ({\n"
		       "^bb0(%p: tensor<f32>, %q: tensor<f32>):\n"
		       "%f = stablehlo.add %p, %q : tensor<f32>\n"
		       "stablehlo.return %f : tensor<f32>\n"
		       "}) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = "
		       "[0], scatter_dims_to_operand_dims = [0]>} : (tensor<4xf32>, tensor<1xi32>, "
		       "tensor<1xf32>) -> tensor<4xf32>\n"
		       "%d = stablehlo.add %c, %b : tensor<4xf32>\n"
		       "stablehlo.return %next, %c, %d" TAIL,
		  { 10, 11, 12, 4, 31, 26, 21, 16 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		WNNStablehloProgram program = load(cases[i].code);

		for (int device = 0; device < 3; device++)
			assert_int_equal(run_small(program, contexts[device], 3, cases[i].expected,
						   8),
					 WNNStatus_Success);
		wnnStablehloProgramRelease(program);
	}
}

/* Tests that an update and a scatter of a carried value copy it in the first iteration only. */
static void test_in_place(void **state)
{
	static const char code[] = HEAD
		"%s = stablehlo.reshape %i : (tensor<i32>) -> tensor<1xi32>\n"
		"%c = \"stablehlo.scatter\"(%a, %s, %nine) ({\n"
		"^bb0(%p: tensor<f32>, %q: tensor<f32>):\n"
		"stablehlo.return %q : tensor<f32>\n"
		"}) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], "
		"scatter_dims_to_operand_dims = [0]>} : (tensor<4xf32>, tensor<1xi32>, tensor<1xf32>) "
		"-> tensor<4xf32>\n"
		"%d = " PUT("%b", "%nine", "%i") "stablehlo.return %next, %c, %d" TAIL;
	static const float expected[] = { 9, 9, 9, 4, 9, 9, 9, 4 };
	WNNStablehloProgram program = load(code);

	(void)state;
	for (int device = 0; device < 3; device++) {
		assert_int_equal(run_small(program, contexts[device], 3, expected, 8),
				 WNNStatus_Success);
		assert_int_equal(program->own.run.copied_bytes, 2 * 4 * sizeof(float));
	}
	wnnStablehloProgramRelease(program);
}

/* Tests a loop whose body calls functions that call others within branches. */
static void test_nested(void **state)
{
	static const char code[] = HEAD
		"%c = func.call @outer(%a, %i) : (tensor<4xf32>, tensor<i32>) -> tensor<4xf32>\n"
		"%d = func.call @outer(%c, %i) : (tensor<4xf32>, tensor<i32>) -> tensor<4xf32>\n"
		"stablehlo.return %next, %d, %b" TAIL
		"func.func private @outer(%x: tensor<4xf32>, %i: tensor<i32>) -> tensor<4xf32> {\n"
		"  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
		"  %go = stablehlo.compare GT, %i, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
		"  %r = \"stablehlo.if\"(%go) ({\n"
		"    %z = func.call @double(%x) : (tensor<4xf32>) -> tensor<4xf32>\n"
		"    stablehlo.return %z : tensor<4xf32>\n"
		"  }, {\n"
		"    stablehlo.return %x : tensor<4xf32>\n"
		"  }) : (tensor<i1>) -> tensor<4xf32>\n"
		"  return %r : tensor<4xf32>\n}\n"
		"func.func private @double(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
		"  %y = stablehlo.add %x, %x : tensor<4xf32>\n"
		"  return %y : tensor<4xf32>\n}\n";
	/* All iterations but the first double the array twice. */
	static const float expected[] = { 64, 128, 192, 256, 1, 2, 3, 4 };
	WNNStablehloProgram program = load(code);

	(void)state;
	for (int device = 0; device < 3; device++)
		assert_int_equal(run_small(program, contexts[device], 4, expected, 8),
				 WNNStatus_Success);
	wnnStablehloProgramRelease(program);
}

/* Tests that calls stay calls when they would become 2^20 operations. */
static void test_many_calls(void **state)
{
	static const float expected[] = { 1, 2, 3, 4, 1, 2, 3, 4 };
	size_t length = (size_t)snprintf(text, sizeof(text),
					 "%sfunc.call @f0() : () -> ()\n"
					 "stablehlo.return %%next, %%a, %%b%s",
					 HEAD, TAIL);
	WNNStablehloProgram program;

	(void)state;
	for (int i = 0; i < 20; i++)
		length +=
			(size_t)snprintf(text + length, sizeof(text) - length,
					 "func.func private @f%d() {\nfunc.call @f%d() : () -> ()\n"
					 "func.call @f%d() : () -> ()\nreturn\n}\n",
					 i, i + 1, i + 1);
	length += (size_t)snprintf(text + length, sizeof(text) - length,
				   "func.func private @f20() {\nreturn\n}\n");
	assert_in_range(length, 1, sizeof(text) - 1);
	program = load(text);
	for (int device = 0; device < 3; device++)
		assert_int_equal(run_small(program, contexts[device], 0, expected, 8),
				 WNNStatus_Success);
	wnnStablehloProgramRelease(program);
}

/* Tests that an error in a called function names the line in that function. */
static void test_place(void **state)
{
	static const char code[] =
		"func.func private @last(%x: tensor<4xf32>, %i: tensor<i32>) -> tensor<4xf32> {\n"
		"  %one = stablehlo.constant dense<1> : tensor<1xi32>\n"
		"  %four = stablehlo.constant dense<4> : tensor<1xi32>\n"
		"  %s = stablehlo.reshape %i : (tensor<i32>) -> tensor<1xi32>\n"
		"  %y = stablehlo.real_dynamic_slice %x, %s, %four, %one : (tensor<4xf32>, "
		"tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>\n"
		"  return %x : tensor<4xf32>\n}\n" HEAD
		"%c = func.call @last(%a, %i) : (tensor<4xf32>, tensor<i32>) -> tensor<4xf32>\n"
		"stablehlo.return %next, %c, %b" TAIL;
	static const float expected[] = { 1, 2, 3, 4, 1, 2, 3, 4 };
	WNNStablehloProgram program = load(code);

	(void)state;
	for (int device = 0; device < 3; device++) {
		WNNError error = WNN_ERROR_INIT;

		assert_int_equal(run_small(program, contexts[device], 4, expected, 8),
				 WNNStatus_Success);
		assert_int_not_equal(run_small(program, contexts[device], 6, NULL, 0),
				     WNNStatus_Success);
		wnnStablehloGetLastError(&error);
		assert_non_null(strstr(error.message.data,
				       "line 5, column 3: stablehlo.real_dynamic_slice: "
				       "start:limit:stride is 5:4:1"));
	}
	wnnStablehloProgramRelease(program);
}

int main(void)
{
	static const char *const devices[] = { "sim", "cpu" };
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scan),	   cmocka_unit_test(test_readers),
		cmocka_unit_test(test_in_place),   cmocka_unit_test(test_nested),
		cmocka_unit_test(test_many_calls), cmocka_unit_test(test_place),
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
