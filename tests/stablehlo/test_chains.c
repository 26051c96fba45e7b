// SPDX-License-Identifier: MIT
/*
 * Tests chains of element-wise operations, which run block by block, and that values are freed when
 * nothing reads them any more. The steps of chains are compared with the operations on single
 * elements, bit by bit.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <webnn/stablehlo.h>
#include <webnn/webnn_npu.h>

#include "../random.h"
#include "api.h"
#include "combine.h"
#include "context.h"

#define COUNT 200003 /* so many 32-bit integers are no graph, and not a whole number of blocks */
#define MIB   ((size_t)1 << 20)

static WNNInstance instance;
static WNNContext contexts[3]; /* the last is NULL: reference kernels */

static WNNStablehloProgram load(const char *code)
{
	WNNStablehloProgram program;

	assert_int_equal(wnnStablehloLoadMemory(code, strlen(code), NULL, &program),
			 WNNStatus_Success);
	assert_int_equal(wnnStablehloProgramGetRefusals(program).count, 0);
	return program;
}

/* Mixes numbers with a key, as generators of random numbers do, and makes floats of them. */
static const char mix[] =
	"func.func @main(%key: tensor<2xui32>) -> (tensor<200003xf32>, tensor<200003xi1>, "
	"tensor<200003xui32>) {\n"
	"  %i = stablehlo.iota dim = 0 : tensor<200003xui32>\n"
	"  %k = stablehlo.slice %key [0:1] : (tensor<2xui32>) -> tensor<1xui32>\n"
	"  %k0 = stablehlo.reshape %k : (tensor<1xui32>) -> tensor<ui32>\n"
	"  %kb = stablehlo.broadcast_in_dim %k0, dims = [] : (tensor<ui32>) -> tensor<200003xui32>\n"
	"  %x0 = stablehlo.add %i, %kb : tensor<200003xui32>\n"
	"  %c13 = stablehlo.constant dense<13> : tensor<200003xui32>\n"
	"  %c19 = stablehlo.constant dense<19> : tensor<200003xui32>\n"
	"  %left = stablehlo.shift_left %x0, %c13 : tensor<200003xui32>\n"
	"  %right = stablehlo.shift_right_logical %x0, %c19 : tensor<200003xui32>\n"
	"  %turned = stablehlo.or %left, %right : tensor<200003xui32>\n"
	"  %x1 = stablehlo.xor %turned, %x0 : tensor<200003xui32>\n"
	"  %odd = stablehlo.constant dense<2654435769> : tensor<200003xui32>\n"
	"  %x2 = stablehlo.multiply %x1, %odd : tensor<200003xui32>\n"
	"  %c9 = stablehlo.constant dense<9> : tensor<200003xui32>\n"
	"  %one = stablehlo.constant dense<1065353216> : tensor<200003xui32>\n"
	"  %m = stablehlo.shift_right_logical %x2, %c9 : tensor<200003xui32>\n"
	"  %b = stablehlo.or %m, %one : tensor<200003xui32>\n"
	"  %f = stablehlo.bitcast_convert %b : (tensor<200003xui32>) -> tensor<200003xf32>\n"
	"  %fone = stablehlo.constant dense<1.0> : tensor<200003xf32>\n"
	"  %u = stablehlo.subtract %f, %fone : tensor<200003xf32>\n"
	"  %half = stablehlo.constant dense<0.5> : tensor<f32>\n"
	"  %halves = stablehlo.broadcast_in_dim %half, dims = [] : (tensor<f32>) -> "
	"tensor<200003xf32>\n"
	"  %less = stablehlo.compare LT, %u, %halves : (tensor<200003xf32>, tensor<200003xf32>) -> "
	"tensor<200003xi1>\n"
	"  %r = stablehlo.reshape %x1 : (tensor<200003xui32>) -> tensor<200003x1xui32>\n"
	"  %n = stablehlo.not %r : tensor<200003x1xui32>\n"
	"  %o = stablehlo.reshape %n : (tensor<200003x1xui32>) -> tensor<200003xui32>\n"
	"  return %u, %less, %o : tensor<200003xf32>, tensor<200003xi1>, tensor<200003xui32>\n}\n";

static void check_mix(WNNStablehloProgram program, uint32_t key)
{
	WNNStablehloTensorArray results = wnnStablehloProgramGetResults(program);
	const float *u = results.data[0].data;
	const uint8_t *less = results.data[1].data;
	const uint32_t *o = results.data[2].data;

	for (uint32_t i = 0; i < COUNT; i++) {
		uint32_t x = i + key, mixed = (x << 13 | x >> 19) ^ x;
		uint32_t bits = mixed * 2654435769u >> 9 | 0x3f800000;
		float f;

		memcpy(&f, &bits, sizeof(f));
		f -= 1;
		if (u[i] != f || less[i] != (f < 0.5f) || o[i] != ~mixed)
			fail_msg("element %u: %g %u %x", i, (double)u[i], less[i], o[i]);
	}
}

/* Checks that reference kernels ran all 18 operations of @mix, and that @told of them are listed. */
static void check_placement(WNNStablehloProgram program, size_t told)
{
	WNNStablehloPlacementArray placement = wnnStablehloProgramGetPlacement(program);
	WNNStablehloRunInfo info = wnnStablehloProgramGetRunInfo(program);

	assert_int_equal(info.graphOperations, 0);
	assert_int_equal(info.referenceOperations, 18);
	assert_int_equal(placement.count, told);
	for (size_t i = 0; i < told; i++)
		assert_memory_equal(placement.data[i].device.data, "reference", 9);
}

static void test_mix(void **state)
{
	WNNStablehloProgram program = load(mix);
	uint32_t key[2] = { 0xfffffff0, 7 };
	WNNStablehloTensor input = { key, sizeof(key), 0, NULL };

	(void)state;
	for (int device = 0; device < 3; device++)
		for (int round = 0; round < 2; round++) {
			assert_int_equal(wnnStablehloProgramRunSync(program, 0, contexts[device], 1,
								    &input),
					 WNNStatus_Success);
			check_mix(program, key[0]);
			/* All results have 9 bytes an element; nothing else has so many elements. */
			assert_in_range(program->own.run.most_bytes, 9 * COUNT,
					9 * COUNT + MIB / 2);
			check_placement(program, contexts[device] ? 18 : 0);
			key[0] = (uint32_t)round * 99;
		}
	wnnStablehloProgramRelease(program);
}

/* A chain in a loop: a value from outside, one that the loop carries, and 16-bit integers. */
static const char loop[] =
	"func.func @main(%x: tensor<3000xi16>, %n: tensor<i32>) -> tensor<3000xi16> {\n"
	"  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
	"  %one = stablehlo.constant dense<1> : tensor<i32>\n"
	"  %r:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<3000xi16>\n"
	"    cond {\n"
	"      %go = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
	"      stablehlo.return %go : tensor<i1>\n"
	"    } do {\n"
	"      %s = stablehlo.convert %i : (tensor<i32>) -> tensor<i16>\n"
	"      %b = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<i16>) -> tensor<3000xi16>\n"
	"      %c = stablehlo.add %a, %x : tensor<3000xi16>\n"
	"      %next = stablehlo.add %i, %one : tensor<i32>\n"
	"      %d = stablehlo.xor %c, %b : tensor<3000xi16>\n"
	"      stablehlo.return %next, %d : tensor<i32>, tensor<3000xi16>\n"
	"    }\n"
	"  %e = stablehlo.xor %r#1, %x : tensor<3000xi16>\n"
	"  %f = stablehlo.negate %e : tensor<3000xi16>\n"
	"  return %f : tensor<3000xi16>\n}\n";

static void test_loop(void **state)
{
	WNNStablehloProgram program = load(loop);
	int16_t x[3000], expected[3000];
	int32_t n = 5;
	WNNStablehloTensor inputs[2] = { { x, sizeof(x), 0, NULL }, { &n, sizeof(n), 0, NULL } };

	(void)state;
	for (int i = 0; i < 3000; i++) {
		int16_t a = x[i] = (int16_t)(i * 7919);

		for (int k = 0; k < n; k++)
			a = (int16_t)((int16_t)(a + x[i]) ^ k);
		expected[i] = (int16_t)-(a ^ x[i]);
	}
	for (int device = 0; device < 3; device++) {
		assert_int_equal(wnnStablehloProgramRunSync(program, 0, contexts[device], 2,
							    inputs),
				 WNNStatus_Success);
		assert_memory_equal(wnnStablehloProgramGetResults(program).data[0].data, expected,
				    sizeof(expected));
	}
	wnnStablehloProgramRelease(program);
}

/* ---- memory */

/*
 * Each value has 1 MiB. A branch is the last reader of %b; it also reads %a, which %e reads once
 * more after the branch.
 */
static const char frees[] =
	"func.func @main(%x: tensor<131072xf64>, %w: tensor<i1>) -> tensor<131072xf64> {\n"
	"  %a = stablehlo.reverse %x, dims = [0] : tensor<131072xf64>\n"
	"  %b = stablehlo.cosine %a : tensor<131072xf64>\n"
	"  %c = stablehlo.reverse %a, dims = [0] : tensor<131072xf64>\n"
	"  %d = \"stablehlo.if\"(%w) ({\n"
	"    %s = stablehlo.add %b, %c : tensor<131072xf64>\n"
	"    %t = stablehlo.add %s, %a : tensor<131072xf64>\n"
	"    stablehlo.return %t : tensor<131072xf64>\n"
	"  }, {\n"
	"    stablehlo.return %c : tensor<131072xf64>\n"
	"  }) : (tensor<i1>) -> tensor<131072xf64>\n"
	"  %e = stablehlo.add %d, %a : tensor<131072xf64>\n"
	"  %f = stablehlo.negate %e : tensor<131072xf64>\n"
	"  %g = stablehlo.negate %f : tensor<131072xf64>\n"
	"  %h = stablehlo.negate %g : tensor<131072xf64>\n"
	"  %i = stablehlo.negate %h : tensor<131072xf64>\n"
	"  %j = stablehlo.negate %i : tensor<131072xf64>\n"
	"  %k = stablehlo.negate %j : tensor<131072xf64>\n"
	"  return %k : tensor<131072xf64>\n}\n";

static void test_frees(void **state)
{
	static double x[131072];
	WNNStablehloProgram program = load(frees);
	uint8_t which = 1;
	WNNStablehloTensor inputs[2] = { { x, sizeof(x), 0, NULL },
					 { &which, sizeof(which), 0, NULL } };

	(void)state;
	/* All cosines are 1. */
	for (int device = 0; device < 3; device++) {
		const double *y;

		assert_int_equal(wnnStablehloProgramRunSync(program, 0, contexts[device], 2,
							    inputs),
				 WNNStatus_Success);
		y = wnnStablehloProgramGetResults(program).data[0].data;
		for (int i = 0; i < 131072; i++)
			assert_true(y[i] == 1);
		/* At most five values exist at once: %a, %b, %c, %s and %t. */
		assert_in_range(program->own.run.most_bytes, 5 * MIB, 5 * MIB + 1024);
	}
	wnnStablehloProgramRelease(program);
}

/* Writes a file in the form of /proc/meminfo, which this thread reads from then on. */
static void tell_memory(const char *path, unsigned int memory, unsigned int swap)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fprintf(file, "MemTotal: 99999999 kB\nMemAvailable: %8u kB\nSwapFree: %12u kB\n", memory,
		swap);
	fclose(file);
	shlo_meminfo = path;
}

/* Tests that a value needs memory or swap that is free. */
static void test_lack(void **state)
{
	static const char large[] =
		"func.func @main(%x: tensor<f32>) -> tensor<8388608xf32> {\n"
		"  %y = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f32>) -> "
		"tensor<8388608xf32>\n"
		"  return %y : tensor<8388608xf32>\n}\n";
	WNNStablehloProgram program = load(large);
	char path[] = "/tmp/shlo-meminfo-XXXXXX";
	_Alignas(64) float x = 1; /* so that it is read in place */
	WNNStablehloTensor input = { &x, sizeof(x), 0, NULL };
	WNNError error = WNN_ERROR_INIT;
	int file = mkstemp(path);

	(void)state;
	assert_true(file >= 0);
	close(file);
	tell_memory(path, 30000, 2767);
	assert_int_equal(wnnStablehloProgramRunSync(program, 0, NULL, 1, &input),
			 WNNStatus_UnknownError);
	wnnStablehloGetLastError(&error);
	assert_string_equal(error.message.data,
			    "line 2, column 3: stablehlo.broadcast_in_dim: too little memory is "
			    "free: a value of this operation takes 33554432 bytes, and other "
			    "values of "
			    "the run take 0; divide the run into smaller ones, or end other "
			    "programs");
	tell_memory(path, 30000, 2768);
	assert_int_equal(wnnStablehloProgramRunSync(program, 0, NULL, 1, &input),
			 WNNStatus_Success);
	unlink(path);
	assert_int_equal(wnnStablehloProgramRunSync(program, 0, NULL, 1, &input),
			 WNNStatus_Success);
	shlo_meminfo = "/proc/meminfo";
	assert_int_equal(wnnStablehloProgramRunSync(program, 0, NULL, 1, &input),
			 WNNStatus_Success);
	wnnStablehloProgramRelease(program);
}

/* Tests that the memory of a freed value, kept for a later one, is given back before a run fails. */
static void test_spares(void **state)
{
	static const char two[] =
		"func.func @main(%x: tensor<f32>) -> (tensor<1xf32>, tensor<8388608xf32>) {\n"
		"  %y = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f32>) -> "
		"tensor<4194304xf32>\n"
		"  %a = stablehlo.slice %y [0:1] : (tensor<4194304xf32>) -> tensor<1xf32>\n"
		"  %z = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f32>) -> "
		"tensor<8388608xf32>\n"
		"  return %a, %z : tensor<1xf32>, tensor<8388608xf32>\n}\n";
	WNNStablehloProgram program = load(two);
	char path[] = "/tmp/shlo-meminfo-XXXXXX";
	_Alignas(64) float x = 1;
	WNNStablehloTensor input = { &x, sizeof(x), 0, NULL };
	int file = mkstemp(path);

	(void)state;
	assert_true(file >= 0);
	close(file);
	tell_memory(path, 32767, 0);
	assert_int_equal(wnnStablehloProgramRunSync(program, 0, NULL, 1, &input),
			 WNNStatus_UnknownError);
	assert_null(program->own.run.spares[0].data);
	tell_memory(path, 32768, 0);
	assert_int_equal(wnnStablehloProgramRunSync(program, 0, NULL, 1, &input),
			 WNNStatus_Success);
	assert_non_null(program->own.run.spares[0].data);
	unlink(path);
	shlo_meminfo = "/proc/meminfo";
	wnnStablehloProgramRelease(program);
}

/* Inputs are not copied, results are, and no kernel writes to the memory of an input. */
static void test_lent(void **state)
{
	static const char both[] =
		"func.func @main(%x: tensor<65536xf32>, %i: tensor<i32>) -> (tensor<65536xf32>, "
		"tensor<65536xf32>) {\n"
		"  %c = stablehlo.constant dense<5.0> : tensor<1xf32>\n"
		"  %y = stablehlo.dynamic_update_slice %x, %c, %i : (tensor<65536xf32>, "
		"tensor<1xf32>, tensor<i32>) -> tensor<65536xf32>\n"
		"  return %x, %y : tensor<65536xf32>, tensor<65536xf32>\n}\n"
		"// -----\n"
		"func.func @main(%x: tensor<65536xf32>, %i: tensor<i32>) -> tensor<65536xf32> {\n"
		"  %c = stablehlo.constant dense<5.0> : tensor<1xf32>\n"
		"  %y = stablehlo.dynamic_update_slice %x, %c, %i : (tensor<65536xf32>, "
		"tensor<1xf32>, tensor<i32>) -> tensor<65536xf32>\n"
		"  return %y : tensor<65536xf32>\n}\n";
	static _Alignas(16) float x[65537];
	WNNStablehloProgram program = load(both);
	int32_t i = 3;

	(void)state;
	/*
	 * An input that is not aligned is copied, and the copy is a result, or one is made in it.
	 */
	for (int shift = 0; shift < 2; shift++)
		for (size_t module = 0; module < 2; module++) {
			WNNStablehloTensor inputs[2] = {
				{ x + shift, 65536 * sizeof(float), 0, NULL },
				{ &i, sizeof(i), 0, NULL },
			};
			const float *y;

			assert_int_equal(wnnStablehloProgramRunSync(program, module, NULL, 2,
								    inputs),
					 WNNStatus_Success);
			for (int k = 0; k <= 65536; k++)
				assert_true(x[k] == 0);
			y = wnnStablehloProgramGetResults(program).data[1 - module].data;
			assert_true(y[3] == 5 && y[2] == 0 && y[4] == 0);
			y = wnnStablehloProgramGetResults(program).data[0].data;
			assert_ptr_not_equal(y, x);
			assert_in_range(program->own.run.most_bytes, (2 - module) * 65536 * 4,
					(2 - module) * 65536 * 4 + 1024);
		}
	wnnStablehloProgramRelease(program);
}

/* ---- steps */

#define SOME 64

/* Fills an array with bits of all kinds: any, few, those of special floats. */
static void fill(struct rng *random, enum shlo_element element, void *data)
{
	static const double special[] = {
		0,   -0.0, 1,  -1, 2.5, -3.75, 1e30, -1e30,	 1e300,	     INFINITY,	-INFINITY,
		NAN, -NAN, 31, 32, 63,	255,   256,  2147483520, 2147483648, 1.00390625
	};

	for (size_t i = 0; i < SOME; i++) {
		uint64_t bits = rng_bits(random);

		if (rng_bits(random) % 3)
			shlo_store(element, data, i,
				   shlo_convert(element, SHLO_F64,
						shlo_real(special[bits % (sizeof(special) /
									  sizeof(*special))])));
		else
			shlo_store(element, data, i,
				   shlo_class(element) == SHLO_FLOAT ?
					   shlo_real((double)(int64_t)bits / 1e12) :
					   shlo_int((int64_t)(bits >> bits % 64)));
	}
}

static void compare_step(struct rng *random, const struct shlo_step *step, unsigned int operands,
			 uint64_t *ran)
{
	uint64_t in[3][SOME], out[SOME] = { 0 }, expected[SOME] = { 0 };
	const void *const arrays[3] = { in[0], in[1], in[2] };
	enum shlo_element to = step->family == SHLO_COMPARE ? SHLO_I1 : step->to;
	bool by_one = rng_bits(random) % 2;

	for (unsigned int k = 0; k < operands; k++)
		fill(random, step->family == SHLO_SELECT && !k ? SHLO_I1 : step->element, in[k]);
	for (size_t i = 1; by_one && i < SOME; i++)
		shlo_store(step->element, in[1], i, shlo_load(step->element, in[1], 0));
	if (!shlo_combine_step(step, out, arrays, by_one, SOME))
		return;
	++*ran;
	for (size_t i = 0; i < SOME; i++) {
		struct shlo_num r[3] = { { .i = 0 } };

		for (unsigned int k = 0; k < operands; k++)
			r[k] = shlo_load(step->family == SHLO_SELECT && !k ? SHLO_I1 :
									     step->element,
					 in[k], i);
		shlo_store(to, expected, i, shlo_run_step(step, r));
	}
	for (size_t i = 0; i < SOME; i++) {
		size_t bytes = shlo_elements[to].bytes;
		struct shlo_num a = shlo_load(to, out, i), b = shlo_load(to, expected, i);

		/* The sign of a NaN is not defined. */
		if (shlo_class(to) == SHLO_FLOAT && a.re != a.re && b.re != b.re)
			continue;
		if (memcmp((char *)out + i * bytes, (char *)expected + i * bytes, bytes))
			fail_msg("family %d, code %d, %s to %s, element %zu differs", step->family,
				 step->code, shlo_elements[step->element].text,
				 shlo_elements[to].text, i);
	}
}

static void test_steps(void **state)
{
	static const struct {
		enum shlo_family family;
		int codes;
		unsigned int operands;
	} families[] = {
		{ SHLO_UNARY, SHLO_UNARY_COUNT, 1 },
		{ SHLO_BINARY, SHLO_BINARY_COUNT, 2 },
		{ SHLO_COMPARE, 6, 2 },
		{ SHLO_SELECT, 1, 3 },
		{ SHLO_CONVERT, 1, 1 },
	};
	struct rng random = { 46 };
	uint64_t ran = 0;

	(void)state;
	for (size_t f = 0; f < sizeof(families) / sizeof(families[0]); f++)
		for (int code = 0; code < families[f].codes; code++)
			for (int from = 0; from < SHLO_C64; from++)
				for (int to = 0; to < SHLO_C64; to++) {
					struct shlo_step step = {
						.family = families[f].family,
						.code = code,
						.element = (enum shlo_element)from,
						.to = (enum shlo_element)to,
						.in = { 0, 1, 2 },
					};

					if (step.family != SHLO_CONVERT && from != to)
						continue;
					for (int round = 0; round < 4; round++) {
						step.total = round % 2;
						compare_step(&random, &step, families[f].operands,
							     &ran);
					}
				}
	/* A step that no loop computes is not counted, so that not all steps are such. */
	assert_in_range(ran, 1000, UINT64_MAX);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mix),    cmocka_unit_test(test_loop),
		cmocka_unit_test(test_frees),  cmocka_unit_test(test_lack),
		cmocka_unit_test(test_spares), cmocka_unit_test(test_lent),
		cmocka_unit_test(test_steps),
	};
	int failed;

	instance = wnnCreateInstance(NULL);
	contexts[0] = open_context(instance, "sim");
	contexts[1] = open_context(instance, "cpu");
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	wnnContextRelease(contexts[0]);
	wnnContextRelease(contexts[1]);
	wnnInstanceRelease(instance);
	return failed;
}
