// SPDX-License-Identifier: MIT
/*
 * Tests that the nodes which a plan marks as exact are exact: for every size of SRAM, they have the
 * bits of the one order in which the machine adds. The test computes sums in that order, and also
 * in an order in which a planner could split them, whose bits differ.
 */
#include "nodes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <onpu/isa.h>

/*
 * Returns the number of instructions @op of the program that add to the result of an earlier one.
 */
static uint32_t count_continued(struct test_graph *t, void *state, int size, enum onpu_op op)
{
	struct npu_program *program = compile_graph(t, state, size);
	uint32_t count = 0;

	for (uint32_t i = 0; i < program->num_insns; i++) {
		struct onpu_insn insn;

		assert_int_equal(onpu_insn_unpack(program->insns[i], &insn), 0);
		count += insn.op == op && insn.acc;
	}
	npu_program_destroy(program);
	return count;
}

/* Checks that the graph gives the bits `want` with every size of SRAM, and that `other` differs. */
static void check_bits(struct test_graph *t, void *state, const float *want, const float *other)
{
	size_t bytes = (size_t)ir_type_bytes(&t->output[0]->type);
	void *got = malloc(bytes);

	assert_non_null(got);
	assert_memory_not_equal(want, other, bytes);
	for (int size = 0; size < NUM_SIZES; size++) {
		run_graph(t, state, size, &got);
		assert_memory_equal(got, want, bytes);
	}
	free(got);
}

/* ---- contractions */

#define K    1500 /* channels: three taps of this many do not fit into 16 KiB */
#define SIDE 5
#define OUT  6

struct conv {
	const float *in, *filter, *bias; /* layouts nchw and oihw */
};

/* The machine adds the products of a tap in partial sums of this many, then adds those sums. */
#define PIECE 32

/*
 * Returns `sum` plus one result's products over channels first..last-1, with taps in the outer
 * loop.
 */
static float sum_taps(const struct conv *c, int64_t n, int64_t h, int64_t w, int64_t first,
		      int64_t last, float sum)
{
	for (int64_t kh = 0; kh < 3; kh++) {
		for (int64_t kw = 0; kw < 3; kw++) {
			int64_t y = h + kh - 1, x = w + kw - 1;
			bool inside = y >= 0 && y < SIDE && x >= 0 && x < SIDE;
			float piece = 0;

			for (int64_t k = first; k < last; k++) {
				piece = fmaf(inside ? c->in[(k * SIDE + y) * SIDE + x] : 0,
					     c->filter[((n * K + k) * 3 + kh) * 3 + kw], piece);
				if ((k + 1 - first) % PIECE && k + 1 < last)
					continue;
				sum += piece;
				piece = 0;
			}
		}
	}
	return sum;
}

static void fill_conv(const struct conv *c, bool halves, float *out)
{
	for (int64_t n = 0; n < OUT; n++)
		for (int64_t h = 0; h < SIDE; h++)
			for (int64_t w = 0; w < SIDE; w++) {
				int64_t middle = halves ? K / 2 : K;
				float sum = sum_taps(c, n, h, w, 0, middle, 0);

				sum = sum_taps(c, n, h, w, middle, K, sum) + c->bias[n];
				out[(n * SIDE + h) * SIDE + w] = sum > 0 ? sum : 0;
			}
}

static void test_conv(void **state)
{
	static float want[OUT * SIDE * SIDE], other[OUT * SIDE * SIDE];
	struct test_graph t;
	struct conv c;

	random_seed(1);
	graph_init(&t);
	add_output(&t,
		   node_conv(&t, add_operand(&t, IR_F32, 4, (int64_t[]){ 1, K, SIDE, SIDE }, false),
			     IR_NCHW, OUT, 3));
	c = (struct conv){ t.data[0], t.data[1], t.data[2] };
	fill_conv(&c, false, want);
	fill_conv(&c, true, other);
	/* The sum is split for the smallest SRAM only. */
	assert_true(count_continued(&t, *state, 0, ONPU_OP_MMA_F32) > 9);
	assert_int_equal(count_continued(&t, *state, NUM_SIZES - 1, ONPU_OP_MMA_F32), 0);
	check_bits(&t, *state, want, other);
	graph_free(&t);
}

#define DEPTH 20000

static void test_matmul(void **state)
{
	static float want[9], other[9];
	struct ir_value *a, *b;
	struct test_graph t;

	random_seed(2);
	graph_init(&t);
	a = add_operand(&t, IR_F32, 2, (int64_t[]){ 3, DEPTH }, false);
	b = add_operand(&t, IR_F32, 2, (int64_t[]){ DEPTH, 3 }, false);
	add_output(&t, node_matmul(&t, a, b));
	for (int i = 0; i < 9; i++) {
		const float *x = (const float *)t.data[0] + (size_t)(i / 3) * DEPTH;
		const float *y = (const float *)t.data[1] + i % 3;
		float piece = 0;

		for (size_t k = 0; k < DEPTH; k++) {
			piece = fmaf(x[k], y[3 * k], piece);
			other[i] = fmaf(x[k], y[3 * k], other[i]);
			if ((k + 1) % PIECE)
				continue;
			want[i] += piece;
			piece = 0;
		}
	}
	assert_true(count_continued(&t, *state, 0, ONPU_OP_MMA_F32) > 1);
	check_bits(&t, *state, want, other);
	graph_free(&t);
}

/* ---- reductions */

#define LONG 30011

/* Returns the sum of 16 partial sums, which are added as a tree. */
static float sum_lanes(const float *data, size_t count)
{
	float lane[16] = { 0 };

	for (size_t i = 0; i < count; i++)
		lane[i % 16] += data[i];
	for (int width = 8; width; width /= 2)
		for (int i = 0; i < width; i++)
			lane[i] += lane[i + width];
	return lane[0];
}

static void test_reduce(void **state)
{
	union ir_attrs attrs = { .reduce = { .kind = IR_REDUCE_SUM, .axes = 2 } };
	float want[2], other[2];
	struct test_graph t;
	struct ir_value *in;

	random_seed(3);
	graph_init(&t);
	in = add_operand(&t, IR_F32, 2, (int64_t[]){ 2, LONG }, false);
	add_output(&t, add_node(&t, IR_OP_REDUCE, &in, 1, IR_F32, 1, (int64_t[]){ 2 }, &attrs)
			       ->results[0]);
	for (int i = 0; i < 2; i++) {
		const float *row = (const float *)t.data[0] + (size_t)i * LONG;

		want[i] = sum_lanes(row, LONG);
		/*
		 * The row is cut at 1005, which is no multiple of 16, and the sums of both slices
		 * are added.
		 */
		other[i] = sum_lanes(row, 1005) + sum_lanes(row + 1005, LONG - 1005);
	}
	assert_true(count_continued(&t, *state, 0, ONPU_OP_RSUM) > 4);
	assert_int_equal(count_continued(&t, *state, NUM_SIZES - 1, ONPU_OP_RSUM), 0);
	check_bits(&t, *state, want, other);
	graph_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_conv),
		cmocka_unit_test(test_matmul),
		cmocka_unit_test(test_reduce),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
