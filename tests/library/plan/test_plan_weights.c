// SPDX-License-Identifier: MIT
/*
 * Tests products with short weights. onpu-ref1 dequantises them with its vector unit, the matrix
 * unit of onpu-ref2 reads them as they are (mma.w): the results must have the same bits, and
 * where a short float holds the numbers of a wider constant, onpu-ref2 must read fewer bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "nodes.h"
#include "util/float16.h"

/*
 * The least number of weights for which onpu-ref2 must read fewer bytes: with fewer weights, the
 * bytes that it saves may be less than the difference of other data between machines.
 */
#define MANY 4096

/* Compares both machines; @shorter says that onpu-ref2 must read fewer bytes. */
static void compare(struct test_graph *t, void *state, bool shorter)
{
	bool ref2 = !strcmp(fixture_machine(state), REF2);

	for (int size = 0; size < NUM_SIZES; size++) {
		struct traffic traffic[2];

		check_machines(t, state, size, ref2 ? REF1 : REF2, traffic);
		if (shorter)
			assert_true(traffic[ref2].loaded > traffic[!ref2].loaded);
	}
	graph_free(t);
}

/* The sizes of a random product: n is even, because elements may have 4 bits. */
struct sizes {
	int64_t m, n, k, blocks, columns;
	bool transposed;
};

static struct sizes draw(int seed)
{
	struct sizes s;

	random_seed(seed);
	s.m = random_below(2) ? 1 : between(1, 40);
	s.n = 2 * between(1, 150);
	s.blocks = random_below(3) ? between(2, 12) : 1;
	s.k = s.blocks * between(1, 60);
	s.columns = random_below(2) ? s.n : random_below(2) ? s.n / 2 : 1;
	s.transposed = random_below(2);
	return s;
}

/* Returns a constant of weights, or of their scales. */
static struct ir_value *weights(struct test_graph *t, enum ir_dtype dtype, const struct sizes *s,
				bool scales)
{
	int64_t k = scales ? s->blocks : s->k, n = scales ? s->columns : s->n;

	return add_operand(t, dtype, 2, (int64_t[]){ s->transposed ? n : k, s->transposed ? k : n },
			   true);
}

static void finish(struct test_graph *t, const struct sizes *s, enum ir_op op,
		   struct ir_value **operand, uint32_t operands)
{
	union ir_attrs attrs = { .axis = 0 };

	attrs.matmul = (struct ir_matmul_attrs){ .b_transpose = s->transposed,
						 .alpha = 1,
						 .beta = 1,
						 .act = { .kind = IR_UNARY_NONE } };
	add_result(t, add_node(t, op, operand, operands, IR_F16, 2, (int64_t[]){ s->m, s->n },
			       &attrs));
}

static struct ir_value *data(struct test_graph *t, const struct sizes *s)
{
	return add_operand(t, IR_F16, 2, (int64_t[]){ s->m, s->k }, false);
}

/* Tests integers with scales and zero points. */
static void integers(void **state)
{
	static const enum ir_dtype types[] = { IR_I4, IR_U4, IR_I8, IR_U8 };

	for (int i = 0; i < 24; i++) {
		struct sizes s = draw(9100 + i);
		struct ir_value *operand[4];
		struct test_graph t;

		graph_init(&t);
		operand[0] = data(&t, &s);
		operand[1] = weights(&t, types[i % 4], &s, false);
		operand[2] = weights(&t, IR_F16, &s, true);
		operand[3] = weights(&t, types[i % 4], &s, true);
		finish(&t, &s, IR_OP_WMATMUL, operand, 4);
		compare(&t, *state, false);
	}
}

/* Tests MXFP4, which importers give as int8: twice the numbers of E2M1, with zero points of 0. */
static void small_integers(void **state)
{
	static const int8_t twice[8] = { 0, 1, 2, 3, 4, 6, 8, 12 };

	for (int i = 0; i < 12; i++) {
		struct sizes s = draw(9200 + i);
		struct ir_value *operand[4];
		struct test_graph t;
		int8_t *numbers;

		s.k *= 8;
		graph_init(&t);
		operand[0] = data(&t, &s);
		operand[1] = weights(&t, IR_I8, &s, false);
		operand[2] = weights(&t, IR_F16, &s, true);
		operand[3] = weights(&t, IR_I8, &s, true);
		numbers = (int8_t *)operand[1]->constant->data;
		for (size_t n = 0; n < operand[1]->constant->bytes; n++)
			numbers[n] = twice[numbers[n] & 7] * (numbers[n] & 8 ? -1 : 1);
		memset((void *)operand[3]->constant->data, 0, operand[3]->constant->bytes);
		finish(&t, &s, IR_OP_WMATMUL, operand, 4);
		compare(&t, *state, s.k * s.n >= MANY);
	}
}

/*
 * Returns as float16 the number of E4M3, or else of E5M2, with these bits; 0 if it is not finite.
 */
static uint16_t short_float(uint8_t bits, bool e4m3)
{
	unsigned int exponent = bits >> 3 & 15, fraction = bits & 7;
	float v = exponent ? (float)(8 + fraction) : (float)fraction;

	if (!e4m3)
		return (uint16_t)((bits & 0x7c) == 0x7c ? 0 : bits << 8);
	if ((bits & 0x7f) == 0x7f)
		return 0;
	/* The least numbers are multiples of 2^-9. */
	v /= 512;
	for (unsigned int i = 1; i < exponent; i++)
		v *= 2;
	return wnn_float_to_half(bits & 0x80 ? -v : v);
}

static void floats(void **state)
{
	for (int i = 0; i < 24; i++) {
		struct sizes s = draw(9300 + i);
		struct ir_value *operand[2];
		struct test_graph t;
		uint16_t *numbers;

		s.k *= 8;
		graph_init(&t);
		operand[0] = data(&t, &s);
		/* The result of another node may be in SRAM. */
		if (i & 4)
			operand[0] = node_unary(&t, IR_ABS, operand[0]);
		operand[1] = weights(&t, IR_F16, &s, false);
		numbers = (uint16_t *)operand[1]->constant->data;
		/* All 256 patterns, if there are that many weights. */
		for (size_t n = 0; n < operand[1]->constant->bytes / 2; n++)
			numbers[n] = short_float((uint8_t)(n * 37), i % 2);
		finish(&t, &s, IR_OP_MATMUL, operand, 2);
		/* With two nodes, weights may be kept in SRAM as float16. */
		compare(&t, *state, s.k * s.n >= MANY && !(i & 4));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(integers),
		cmocka_unit_test(small_integers),
		cmocka_unit_test(floats),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
