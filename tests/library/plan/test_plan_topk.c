// SPDX-License-Identifier: MIT
/*
 * Tests topk against the CPU's reference kernel: every type, equal elements, NaN, infinities and
 * zeros with a sign, rows of any length along any dimension, and rows that tiles divide.
 */
#include "fixture.h"
#include "util/float16.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RANK 5

static const enum ir_dtype types[] = {
	IR_F32, IR_F16, IR_I32, IR_U32, IR_I64, IR_U64, IR_I8, IR_U8
};

static void set(void *data, enum ir_dtype dtype, uint32_t at, double number, int64_t integer)
{
	size_t size = ir_dtype_bits(dtype) / 8;
	float value = (float)number;
	uint16_t half = wnn_float_to_half(value);

	if (dtype == IR_F32)
		memcpy((char *)data + at * size, &value, size);
	else if (dtype == IR_F16)
		memcpy((char *)data + at * size, &half, size);
	else
		memcpy((char *)data + at * size, &integer, size);
}

/*
 * Puts NaN, infinities and zeros, or the limits of types, at some positions, and integers from -2
 * to 2 at others, so that many elements are equal.
 */
static void set_special(void *data, enum ir_dtype dtype, uint32_t count)
{
	static const double numbers[] = { NAN, -NAN, INFINITY, -INFINITY, 0.0, -0.0, 1e-7, -1e-7 };
	static const int64_t integers[] = { INT64_MIN, INT64_MAX, -1,	     0,
					    INT32_MIN, INT32_MAX, INT64_MIN, UINT32_MAX };

	for (uint32_t i = 0; i < count / 3; i++) {
		uint32_t which = random_below(8);

		set(data, dtype, random_below(count), numbers[which], integers[which]);
	}
	for (uint32_t i = 0; i < count / 3; i++) {
		int number = (int)random_below(5) - 2;

		set(data, dtype, random_below(count), number, number);
	}
}

static void run(void **state, enum ir_dtype dtype, uint32_t rank, const int64_t *dims,
		uint32_t axis, int64_t k, int bits)
{
	union ir_attrs attrs = { .arg = { .max = bits & 1, .axis = axis } };
	int64_t out[IR_MAX_RANK], count = 1;
	struct ir_value *input;
	struct test_graph t;

	for (uint32_t i = 0; i < rank; i++) {
		out[i] = i == axis ? k : dims[i];
		count *= dims[i];
	}
	graph_init(&t);
	t.tolerance = 0;
	input = add_operand(&t, dtype, rank, dims, false);
	set_special(t.data[0], dtype, (uint32_t)count);
	add_result(&t, add_node(&t, IR_OP_TOPK, &input, 1, bits & 2 ? IR_I64 : IR_I32, rank, out,
				&attrs));
	check_graph(&t, *state);
	graph_free(&t);
}

static void test_types(void **state)
{
	for (int i = 0; i < 96; i++) {
		int64_t dims[MAX_RANK], most = 3000;
		uint32_t rank, axis;

		random_seed(100 + i);
		rank = between(1, MAX_RANK);
		axis = random_below(rank);
		for (uint32_t d = 0; d < rank; d++) {
			dims[d] = random_below(4) ? between(1, most > 9 ? 9 : (uint32_t)most) : 1;
			most /= dims[d];
		}
		dims[axis] = between(1, most > 200 ? 200 : (uint32_t)most);
		run(state, types[i % 8], rank, dims, axis,
		    between(1, dims[axis] > 60 ? 60 : (uint32_t)dims[axis]), i / 8);
	}
}

/* Tests rows of which the smallest SRAM holds only a slice. */
static void test_long_rows(void **state)
{
	static const int64_t sizes[] = { 9000, 2048, 2049, 70000 };

	for (int i = 0; i < 16; i++) {
		int64_t dims[3] = { 1, sizes[i / 4], 1 };

		random_seed(300 + i);
		dims[0] = dims[2] = dims[1] < 3000 ? 2 : 1;
		run(state, types[i % 4 * 2 + (i / 4 & 1)], 3, dims, 1, between(1, 33), i);
		if (dims[1] == 70000)
			run(state, IR_F16, 3, dims, 1, 2, i);
	}
}

/*
 * Tests upper bounds for the cycles of the largest 300 of 8,400 elements, with keys of 32 and of 16
 * bits.
 */
static void test_cycles(void **state)
{
	const int64_t dims[2] = { 1, 8400 }, out[2] = { 1, 300 };
	union ir_attrs attrs = { .arg = { .max = true, .axis = 1 } };
	static const enum ir_dtype kinds[] = { IR_F32, IR_F16 };
	static const uint64_t most[] = { 12000, 8000 };

	for (int i = 0; i < 2; i++) {
		struct ir_value *input;
		struct test_graph t;
		struct traffic traffic;

		random_seed(400);
		graph_init(&t);
		input = add_operand(&t, kinds[i], 2, dims, false);
		add_result(&t, add_node(&t, IR_OP_TOPK, &input, 1, IR_I32, 2, out, &attrs));
		traffic = count_traffic(&t, *state, NUM_SIZES - 1);
		print_message("%llu cycles\n", (unsigned long long)traffic.cycles);
		assert_in_range(traffic.cycles, 0, most[i]);
		graph_free(&t);
	}
}

/* Tests jobs with few slots: the program is cut between two topk nodes. */
static void test_split(void **state)
{
	const int64_t out[2] = { 1, 7 };
	union ir_attrs attrs = { .arg = { .max = true, .axis = 1 } };

	for (int i = 0; i < 8; i++) {
		struct test_graph t;
		bool wide = types[i] == IR_I64 || types[i] == IR_U64;

		random_seed(450 + i);
		graph_init(&t);
		for (int k = 0; k < 8; k++) {
			const int64_t dims[2] = { 1, 100 - 9 * k };
			struct ir_value *input = add_operand(&t, types[i], 2, dims, false);

			add_result(&t, add_node(&t, IR_OP_TOPK, &input, 1, IR_I32, 2, out, &attrs));
		}
		assert_in_range(check_split(&t, *state, NUM_SIZES - 1, wide ? 900 : 300), 2, 8);
		graph_free(&t);
	}
}

/* Tests k as large as a row, so that the result is the row's order. */
static void test_sort(void **state)
{
	static const int64_t dims[2] = { 3, 200 };

	for (int i = 0; i < 16; i++) {
		random_seed(500 + i);
		run(state, types[i / 2], 2, dims, 1, dims[1], i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_types),  cmocka_unit_test(test_long_rows),
		cmocka_unit_test(test_cycles), cmocka_unit_test(test_sort),
		cmocka_unit_test(test_split),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
