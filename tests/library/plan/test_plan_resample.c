// SPDX-License-Identifier: MIT
/* Tests resampling of random shapes along any two dimensions, up and down. */
#include "fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const enum ir_dtype types[] = { IR_F32, IR_F16, IR_I8, IR_U8 };

static void build(struct test_graph *t, bool linear, enum ir_dtype dtype, const uint32_t *axes,
		  const int64_t *in, const int64_t *out)
{
	union ir_attrs attrs = { .resample = { .linear = linear, .axes = { axes[0], axes[1] } } };
	struct ir_value *input;

	graph_init(t);
	t->tolerance = linear ? 1e-6 : 0;
	input = add_operand(t, dtype, 4, in, !random_below(4));
	add_result(t, add_node(t, IR_OP_RESAMPLE, &input, 1, dtype, 4, out, &attrs));
}

static void run(void **state, bool linear, enum ir_dtype dtype, const uint32_t *axes,
		const int64_t *in, const int64_t *out)
{
	struct test_graph t;

	build(&t, linear, dtype, axes, in, out);
	check_graph(&t, *state);
	graph_free(&t);
}

static void test_random(void **state)
{
	for (int i = 0; i < 64; i++) {
		int64_t in[4], out[4], most = 9000;
		uint32_t axes[2];

		random_seed(100 + i);
		axes[0] = random_below(4);
		axes[1] = (axes[0] + between(1, 3)) % 4;
		for (int d = 0; d < 4; d++) {
			in[d] = out[d] = random_below(6) ? between(1, most > 24 ? 24 : most) : 1;
			most /= in[d];
		}
		for (int e = 0; e < 2; e++)
			out[axes[e]] = between(1, random_below(2) ? 60 : 9);
		run(state, i & 1, types[i / 2 % 4], axes, in, out);
	}
}

/* Tests sizes without a common divisor, long rows, and tiles that need much of the input. */
static void test_large(void **state)
{
	static const struct {
		uint32_t axes[2];
		int64_t in[4], out[4];
	} cases[] = {
		{ { 2, 3 }, { 1, 3, 101, 97 }, { 1, 3, 211, 64 } },
		{ { 1, 2 }, { 1, 67, 61, 5 }, { 1, 31, 173, 5 } },
		{ { 3, 0 }, { 2, 1, 1, 30000 }, { 3, 1, 1, 7 } },
		{ { 2, 3 }, { 1, 1, 1, 3 }, { 1, 1, 1, 40000 } },
		{ { 2, 3 }, { 1, 2, 300, 250 }, { 1, 2, 1, 1 } },
	};

	for (int i = 0; i < 20; i++) {
		random_seed(300 + i);
		run(state, i & 1, i & 2 ? IR_U8 : IR_F32, cases[i / 4].axes, cases[i / 4].in,
		    cases[i / 4].out);
	}
}

/* Tests inputs with infinities and NaN, which must not reach results in which their weight is 0. */
static void test_infinities(void **state)
{
	const int64_t in[4] = { 1, 1, 9, 9 }, out[4] = { 1, 1, 27, 21 };

	for (int i = 0; i < 8; i++) {
		struct test_graph t;
		float *data;

		random_seed(400 + i);
		build(&t, true, IR_F32, (const uint32_t[]){ 2, 3 }, in, out);
		if (t.input[0]->kind == IR_VALUE_INPUT) {
			data = t.data[0];
			for (int k = 0; k < 8; k++)
				data[random_below(81)] = k % 4 ? INFINITY : NAN;
		}
		check_graph(&t, *state);
		graph_free(&t);
	}
}

/*
 * Tests a result that is an operand of a concat, so that its rows are not contiguous; other nodes
 * come before and after.
 */
static void test_between_nodes(void **state)
{
	const int64_t in[4] = { 1, 3, 20, 30 }, out[4] = { 1, 3, 40, 45 };
	const int64_t both[4] = { 1, 3, 40, 90 };
	union ir_attrs attrs = { .resample = { .linear = true, .axes = { 2, 3 } } };
	union ir_attrs relu = { .unary = { .kind = IR_RELU } }, axis = { .axis = 3 };
	struct ir_value *value, *parts[2];
	struct test_graph t;

	random_seed(500);
	graph_init(&t);
	value = add_operand(&t, IR_F32, 4, in, false);
	value = add_node(&t, IR_OP_UNARY, &value, 1, IR_F32, 4, in, &relu)->results[0];
	for (int i = 0; i < 2; i++, attrs.resample.linear = false)
		parts[i] =
			add_node(&t, IR_OP_RESAMPLE, &value, 1, IR_F32, 4, out, &attrs)->results[0];
	value = add_node(&t, IR_OP_CONCAT, parts, 2, IR_F32, 4, both, &axis)->results[0];
	add_result(&t, add_node(&t, IR_OP_UNARY, &value, 1, IR_F32, 4, both, &relu));
	check_graph(&t, *state);
	graph_free(&t);
}

static void test_jobs(void **state)
{
	const int64_t in[4] = { 1, 8, 60, 60 }, out[4] = { 1, 8, 90, 90 };
	struct test_graph t;

	random_seed(600);
	build(&t, true, IR_F32, (const uint32_t[]){ 2, 3 }, in, out);
	assert_in_range(check_split(&t, *state, 0, 48), 2, 1000);
	assert_in_range(check_preempted(&t, *state, 0), 0, 1000);
	graph_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),	   cmocka_unit_test(test_large),
		cmocka_unit_test(test_infinities), cmocka_unit_test(test_between_nodes),
		cmocka_unit_test(test_jobs),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
