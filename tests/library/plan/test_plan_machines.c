// SPDX-License-Identifier: MIT
/*
 * Runs programs that were compiled for one named machine on another: the results must have the same
 * bits, and onpu-ref2 must take fewer cycles than onpu-ref1, because these graphs have work for the
 * matrix unit and for the vector unit. WEBNN_SIM_MACHINE names the machine that programs are
 * compiled for.
 */
#include <string.h>

#include "fixture.h"
#include "nodes.h"

static void check_sizes(struct test_graph *t, void **state)
{
	for (int size = 0; size < NUM_SIZES; size++) {
		bool ref2 = !strcmp(fixture_machine(*state), REF2);
		struct traffic traffic[2];

		check_machine(t, *state, size, ref2 ? REF1 : REF2, traffic);
		assert_int_equal(traffic[0].loaded, traffic[1].loaded);
		/* traffic[1] is that of the machine for which the program was not compiled. */
		assert_true(traffic[ref2].cycles > traffic[!ref2].cycles);
	}
	graph_free(t);
}

static void network_of_pictures(void **state)
{
	for (int layout = 0; layout < 2; layout++) {
		const int64_t dims[2][4] = { { 1, 5, 24, 20 }, { 1, 24, 20, 5 } };
		enum ir_layout order = layout ? IR_NHWC : IR_NCHW;
		struct test_graph t;
		struct ir_value *x;

		graph_init(&t);
		x = add_operand(&t, IR_F32, 4, dims[layout], false);
		x = node_conv(&t, x, order, 12, 3);
		x = node_unary(&t, IR_SIGMOID, node_conv(&t, x, order, 40, 1));
		add_output(&t, node_binary(&t, IR_MUL, x, node_conv(&t, x, order, 40, 3)));
		check_sizes(&t, state);
	}
}

static void attention(void **state)
{
	static const enum ir_dtype types[] = { IR_F32, IR_F16 };

	for (int i = 0; i < 2; i++) {
		const int64_t rows[3] = { 3, 40, 16 }, columns[3] = { 3, 16, 40 };
		struct ir_value *q, *k, *v, *scores;
		struct test_graph t;

		graph_init(&t);
		q = add_operand(&t, types[i], 3, rows, false);
		k = add_operand(&t, types[i], 3, columns, false);
		v = add_operand(&t, types[i], 3, rows, false);
		scores = node_softmax(&t, node_matmul(&t, q, k), 2);
		add_output(&t, node_unary(&t, IR_GELU, node_matmul(&t, scores, v)));
		check_sizes(&t, state);
	}
}

/* Tests one row times a matrix, for which onpu-ref2 gives its matrix unit another shape. */
static void one_row(void **state)
{
	const int64_t row[2] = { 1, 96 }, matrix[2] = { 96, 520 };
	struct ir_value *x, *weights;
	struct test_graph t;

	graph_init(&t);
	x = add_operand(&t, IR_F16, 2, row, false);
	weights = add_operand(&t, IR_F16, 2, matrix, true);
	add_output(&t, node_unary(&t, IR_TANH, node_matmul(&t, x, weights)));
	check_sizes(&t, state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(network_of_pictures),
		cmocka_unit_test(attention),
		cmocka_unit_test(one_row),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
