// SPDX-License-Identifier: MIT
/*
 * Tests quantisation per tensor, axis and block, to and from every integer type, with packed 4-bit
 * types.
 */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>

static const enum ir_dtype small_types[] = { IR_I8, IR_U8, IR_I32, IR_U32, IR_I4, IR_U4 };

struct shape {
	uint32_t rank;
	int64_t dims[IR_MAX_RANK], blocks[IR_MAX_RANK];
};

/* Returns a random number of blocks, which divides the extent. */
static int64_t random_blocks(int64_t extent)
{
	int64_t blocks;

	switch (random_below(4)) {
	case 0:
		return 1;
	case 1:
		return extent;
	default:
		do
			blocks = between(1, (uint32_t)extent);
		while (extent % blocks);
		return blocks;
	}
}

static struct shape random_shape(int64_t most)
{
	struct shape s = { .rank = random_below(6) };

	for (uint32_t d = 0; d < s.rank; d++) {
		s.dims[d] = random_below(6) ? between(1, most > 40 ? 40 : (uint32_t)most) : 1;
		s.blocks[d] = random_blocks(s.dims[d]);
		most /= s.dims[d];
	}
	return s;
}

static void build(struct test_graph *t, bool quantize, enum ir_dtype real, enum ir_dtype small,
		  const struct shape *s)
{
	struct ir_value *operands[3];

	graph_init(t);
	t->tolerance = 1e-6;
	operands[0] = add_operand(t, quantize ? real : small, s->rank, s->dims, false);
	operands[1] = add_operand(t, real, s->rank, s->blocks, random_below(2));
	operands[2] = add_operand(t, small, s->rank, s->blocks, random_below(2));
	add_result(t, add_node(t, quantize ? IR_OP_QUANTIZE : IR_OP_DEQUANTIZE, operands, 3,
			       quantize ? small : real, s->rank, s->dims, NULL));
}

static void run(void **state, bool quantize, enum ir_dtype real, enum ir_dtype small,
		const struct shape *s)
{
	struct test_graph t;

	build(&t, quantize, real, small, s);
	check_graph(&t, *state);
	graph_free(&t);
}

static void test_random(void **state)
{
	for (int i = 0; i < 96; i++) {
		struct shape s;

		random_seed(550 + i);
		s = random_shape(15000);
		run(state, i & 1, i & 2 ? IR_F16 : IR_F32, small_types[i / 4 % 6], &s);
	}
}

/* Tests shapes in which more dimensions have blocks than a view can split. */
static void test_blocks_of_all_dims(void **state)
{
	static const struct shape shapes[] = {
		{ 8, { 4, 4, 4, 4, 4, 4, 4, 4 }, { 2, 2, 2, 2, 2, 2, 2, 2 } },
		{ 6, { 4, 6, 1, 4, 9, 50 }, { 2, 3, 1, 2, 3, 5 } },
		{ 5, { 9, 15, 9, 4, 5 }, { 3, 5, 3, 2, 5 } },
	};

	for (int i = 0; i < 3; i++) {
		random_seed(700 + i);
		run(state, i == 1, IR_F32, i ? IR_I4 : IR_U8, &shapes[i]);
	}
}

/* Tests tensors that are larger than a small SRAM, with rows that begin in the middle of a byte. */
static void test_large(void **state)
{
	static const struct shape shapes[] = {
		{ 2, { 301, 333 }, { 301, 3 } },
		{ 1, { 100001 }, { 1 } },
		{ 3, { 3, 7, 4095 }, { 1, 7, 1 } },
	};

	for (int i = 0; i < 6; i++) {
		random_seed(800 + i);
		run(state, i & 1, IR_F32, i / 2 % 2 ? IR_U4 : IR_I4, &shapes[i / 2]);
	}
}

/*
 * Tests a quantisation whose result is dequantised with the same constant scales and zero points.
 */
static void test_chain(void **state)
{
	const int64_t dims[2] = { 33, 65 }, blocks[2] = { 11, 13 };

	for (int i = 0; i < 6; i++) {
		enum ir_dtype small = small_types[i];
		struct ir_value *q[3], *d[3];
		struct test_graph t;
		struct ir_node *node;

		random_seed(900 + i);
		graph_init(&t);
		q[0] = add_operand(&t, IR_F32, 2, dims, false);
		q[1] = d[1] = add_operand(&t, IR_F32, 2, blocks, true);
		q[2] = d[2] = add_operand(&t, small, 2, blocks, true);
		node = add_node(&t, IR_OP_QUANTIZE, q, 3, small, 2, dims, NULL);
		d[0] = node->results[0];
		add_result(&t, add_node(&t, IR_OP_DEQUANTIZE, d, 3, IR_F32, 2, dims, NULL));
		check_graph(&t, *state);
		graph_free(&t);
	}
}

static void test_jobs(void **state)
{
	static const struct shape shape = { 2, { 301, 333 }, { 301, 3 } };
	struct test_graph t;

	random_seed(1000);
	build(&t, true, IR_F32, IR_I4, &shape);
	assert_in_range(check_split(&t, *state, 0, 48), 2, 1000);
	assert_in_range(check_preempted(&t, *state, 0), 0, 1000);
	graph_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random), cmocka_unit_test(test_blocks_of_all_dims),
		cmocka_unit_test(test_large),  cmocka_unit_test(test_chain),
		cmocka_unit_test(test_jobs),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
