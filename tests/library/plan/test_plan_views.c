// SPDX-License-Identifier: MIT
/*
 * Tests that operators which only change where data is move no bytes, and that values which stay in
 * SRAM between nodes move none. The device counts the bytes.
 */
#include "nodes.h"

#include <string.h>

#include "plan/list/plan.h"

enum { SMALLEST = 0, LARGEST = NUM_SIZES - 1 };

#define ROWS  48
#define COLS  80
#define BYTES ((uint64_t)ROWS * COLS * 4)

static const int64_t dims[2] = { ROWS, COLS }, transposed[2] = { COLS, ROWS };
static const uint32_t swap[2] = { 1, 0 };

/* ---- one operator between two functions */

static struct ir_value *by_reshape(struct test_graph *t, struct ir_value *in)
{
	return node_reshape(t, in, 3, (int64_t[]){ 4, ROWS / 4, COLS });
}

static struct ir_value *by_copy(struct test_graph *t, struct ir_value *in)
{
	return add_node(t, IR_OP_COPY, &in, 1, IR_F32, 2, dims, NULL)->results[0];
}

static struct ir_value *by_transpose(struct test_graph *t, struct ir_value *in)
{
	return node_transpose(t, in, swap);
}

/*
 * Returns a reshape of a transpose. The reshape needs a dense operand, so that the node before the
 * transpose stores its result transposed.
 */
static struct ir_value *by_transpose_and_reshape(struct test_graph *t, struct ir_value *in)
{
	return node_reshape(t, node_transpose(t, in, swap), 1, (int64_t[]){ ROWS * COLS });
}

static struct ir_value *by_concat(struct test_graph *t, struct ir_value *in)
{
	struct ir_value *upper = node_unary(t, IR_ABS, node_slice(t, in, 1, 0, COLS / 2));

	return node_concat(t, upper,
			   node_unary(t, IR_SIGN, node_slice(t, in, 1, COLS / 2, COLS / 2)), 1);
}

static struct ir_value *by_expand(struct test_graph *t, struct ir_value *in)
{
	return node_expand(t, node_reshape(t, in, 3, (int64_t[]){ ROWS, 1, COLS }), 3,
			   (int64_t[]){ ROWS, 3, COLS });
}

static struct ir_value *by_reverse(struct test_graph *t, struct ir_value *in)
{
	union ir_attrs attrs = { .axes = 1 };

	return add_node(t, IR_OP_REVERSE, &in, 1, IR_F32, 2, dims, &attrs)->results[0];
}

static const struct {
	const char *name;
	struct ir_value *(*make)(struct test_graph *t, struct ir_value *in);
	uint32_t times;	 /* the output is this many times as large as the input */
	uint32_t values; /* number of values between input and output, each made and used once */
	bool moves;
} operators[] = {
	{ "reshape", by_reshape, 1, 1, false },
	{ "identity", by_copy, 1, 1, false },
	{ "transpose", by_transpose, 1, 1, false },
	{ "transpose and reshape", by_transpose_and_reshape, 1, 1, false },
	{ "split and concat", by_concat, 1, 2, false },
	{ "expand", by_expand, 3, 1, false },
	{ "reverse", by_reverse, 1, 1, true },
};

static void build(struct test_graph *t, size_t i, bool both_used)
{
	struct ir_value *x, *in, *moved;

	graph_init(t);
	t->tolerance = 0;
	x = add_operand(t, IR_F32, 2, dims, false);
	in = node_unary(t, IR_NEG, x);
	moved = operators[i].make(t, in);
	add_output(t, node_unary(t, IR_ABS, moved));
	if (both_used)
		add_output(t, node_unary(t, IR_SIGN, in));
}

static void test_moves(void **state)
{
	for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
		struct traffic small, large;
		struct test_graph t;

		random_seed(i);
		build(&t, i, false);
		check_graph(&t, *state);
		small = count_traffic(&t, *state, SMALLEST);
		large = count_traffic(&t, *state, LARGEST);
		graph_free(&t);
		/* With enough SRAM, only the input is loaded and the output stored. */
		if (large.loaded != BYTES || large.stored != operators[i].times * BYTES)
			fail_msg("%s moves %llu and %llu bytes with 4 MiB", operators[i].name,
				 (unsigned long long)large.loaded,
				 (unsigned long long)large.stored);
		/*
		 * With little SRAM, every value is stored once and loaded once, results of moves,
		 * too.
		 */
		if (small.loaded != (1 + operators[i].values + operators[i].moves) * BYTES ||
		    small.stored !=
			    (operators[i].times + operators[i].values + operators[i].moves) * BYTES)
			fail_msg("%s moves %llu and %llu bytes with 16 KiB", operators[i].name,
				 (unsigned long long)small.loaded,
				 (unsigned long long)small.stored);
	}
}

/* Tests that a value with other uses keeps its layout, of which the operator's result is a view. */
static void test_used_twice(void **state)
{
	for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
		struct test_graph t;

		random_seed(20 + i);
		build(&t, i, true);
		check_graph(&t, *state);
		graph_free(&t);
	}
}

/* Tests that outputs are dense: their producer transposes while it stores, or they are copied. */
static void test_outputs(void **state)
{
	for (int twice = 0; twice < 2; twice++) {
		struct traffic traffic;
		struct test_graph t;
		struct ir_value *x;

		random_seed(40 + twice);
		graph_init(&t);
		t.tolerance = 0;
		x = node_unary(&t, IR_NEG, add_operand(&t, IR_F32, 2, dims, false));
		add_output(&t, node_transpose(&t, x, swap));
		if (twice)
			add_output(&t, node_transpose(&t, x, swap));
		check_graph(&t, *state);
		traffic = count_traffic(&t, *state, SMALLEST);
		assert_int_equal(traffic.loaded, twice ? 3 * BYTES : BYTES);
		assert_int_equal(traffic.stored, twice ? 3 * BYTES : BYTES);
		graph_free(&t);
	}
}

/* Tests that kernels of every kind can read inputs and constants in any layout. */
static void test_readers(void **state)
{
	for (int constant = 0; constant < 2; constant++) {
		struct ir_value *x, *y, *z;
		struct test_graph t;

		random_seed(60 + constant);
		graph_init(&t);
		t.tolerance = 1e-5;
		x = add_operand(&t, IR_F32, 2, transposed, constant);
		y = add_operand(&t, IR_F32, 2, dims, false);
		z = node_transpose(&t, x, swap);
		add_output(&t, node_softmax(&t, node_binary(&t, IR_SUB, y, z), 1));
		add_output(&t, node_matmul(&t, z, node_transpose(&t, y, swap)));
		add_output(&t, node_softmax(&t, z, 1));
		z = node_slice(&t, add_operand(&t, IR_F32, 2, dims, constant), 0, 5, 1);
		z = node_expand(&t, z, 2, dims);
		add_output(&t, node_softmax(&t, z, 0));
		add_output(&t, node_matmul(&t, node_transpose(&t, z, swap), y));
		add_output(&t, node_concat(&t, node_transpose(&t, z, swap), x, 1));
		check_graph(&t, *state);
		graph_free(&t);
	}
}

/* ---- chains */

#define LONG_BYTES ((uint64_t)1 << 16)

static struct ir_value *make_chain(struct test_graph *t, bool output_between)
{
	struct ir_value *x = add_operand(t, IR_F32, 1, (int64_t[]){ LONG_BYTES / 4 }, false),
			*y = x;

	for (int i = 0; i < 4; i++) {
		y = node_unary(t, IR_TANH, node_binary(t, IR_ADD, node_unary(t, IR_ABS, y), y));
		if (output_between && i == 1)
			add_output(t, y);
	}
	return y;
}

/* Tests that a chain stays in SRAM when it fits, and stores a value that is an output once. */
static void test_chain(void **state)
{
	for (int between = 0; between < 2; between++) {
		struct traffic small, large;
		struct test_graph t;

		random_seed(80 + between);
		graph_init(&t);
		add_output(&t, make_chain(&t, between));
		check_graph(&t, *state);
		small = count_traffic(&t, *state, SMALLEST);
		large = count_traffic(&t, *state, LARGEST);
		/*
		 * Two nodes read x; two nodes read the value between when that value is an output.
		 */
		assert_int_equal(large.loaded, (between ? 4 : 2) * LONG_BYTES);
		assert_int_equal(large.stored, (between ? 2 : 1) * LONG_BYTES);
		assert_int_equal(small.loaded, 16 * LONG_BYTES);
		assert_int_equal(small.stored, 12 * LONG_BYTES);
		graph_free(&t);
	}
}

/* Tests that a set keeps equal items once, and an item's index while others are added. */
static void test_set(void **state)
{
	struct wnn_error err = { 0 };
	struct plan plan = { .report = { .err = &err } };
	struct plan_set set = { 0 };

	(void)state;
	for (int round = 0; round < 3; round++)
		for (int32_t i = 0; i < 1000; i++) {
			const uint64_t item[2] = { (uint64_t)i << 20, 7 };

			assert_int_equal(plan_set_add(&plan, &set, item, sizeof(item)), i);
			assert_memory_equal((uint8_t *)set.items + (size_t)i * sizeof(item), item,
					    sizeof(item));
		}
	assert_int_equal(set.num, 1000);
	assert_int_equal(set.uses, 3000);
	plan_set_release(&set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_set),	   cmocka_unit_test(test_moves),
		cmocka_unit_test(test_used_twice), cmocka_unit_test(test_outputs),
		cmocka_unit_test(test_readers),	   cmocka_unit_test(test_chain),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
