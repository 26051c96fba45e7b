// SPDX-License-Identifier: MIT
/* Tests operators that move data, with random shapes and types: every bit must arrive. */
#include "fixture.h"

#include <string.h>

#define MAX_RANK 5

static const enum ir_dtype types[] = { IR_F32, IR_F16, IR_I64, IR_U8 };

static uint32_t random_shape(uint32_t least_rank, int64_t most, int64_t *dims)
{
	uint32_t rank = between(least_rank, MAX_RANK);

	for (uint32_t i = 0; i < rank; i++) {
		int64_t limit = most > 50 ? 50 : most;

		dims[i] = random_below(6) ? between(1, limit) : 1;
		most /= dims[i];
	}
	return rank;
}

static void run_move(void **state, enum ir_op op, const union ir_attrs *attrs, enum ir_dtype dtype,
		     uint32_t in_rank, const int64_t *in, uint32_t out_rank, const int64_t *out)
{
	struct ir_value *input;
	struct test_graph t;

	graph_init(&t);
	t.tolerance = 0;
	input = add_operand(&t, dtype, in_rank, in, !random_below(4));
	add_result(&t, add_node(&t, op, &input, 1, dtype, out_rank, out, attrs));
	check_graph(&t, *state);
	graph_free(&t);
}

static void shuffle(uint32_t rank, uint32_t *perm)
{
	for (uint32_t i = 0; i < rank; i++)
		perm[i] = i;
	for (uint32_t i = rank; i > 1; i--) {
		uint32_t j = random_below(i), swap = perm[i - 1];

		perm[i - 1] = perm[j];
		perm[j] = swap;
	}
}

static void test_transpose(void **state)
{
	union ir_attrs attrs = { .transpose = { .perm = { 0, 2, 3, 1 } } };

	for (int i = 0; i < 32; i++) {
		int64_t in[MAX_RANK], out[MAX_RANK];
		uint32_t rank;

		random_seed(100 + i);
		rank = random_shape(1, 30000, in);
		shuffle(rank, attrs.transpose.perm);
		for (uint32_t d = 0; d < rank; d++)
			out[d] = in[attrs.transpose.perm[d]];
		run_move(state, IR_OP_TRANSPOSE, &attrs, types[i % 4], rank, in, rank, out);
	}
	/* The tensor is larger than any SRAM. */
	attrs = (union ir_attrs){ .transpose = { .perm = { 0, 2, 3, 1 } } };
	run_move(state, IR_OP_TRANSPOSE, &attrs, IR_F32, 4, (int64_t[]){ 1, 130, 101, 103 }, 4,
		 (int64_t[]){ 1, 101, 103, 130 });
}

static void test_concat(void **state)
{
	for (int i = 0; i < 24; i++) {
		struct ir_value *operands[4];
		int64_t dims[MAX_RANK], own[MAX_RANK], sum = 0;
		union ir_attrs attrs;
		uint32_t rank, count;
		struct test_graph t;

		random_seed(200 + i);
		graph_init(&t);
		t.tolerance = 0;
		rank = random_shape(1, 8000, dims);
		count = between(1, 4);
		attrs.axis = random_below(rank);
		for (uint32_t o = 0; o < count; o++) {
			memcpy(own, dims, sizeof(own));
			own[attrs.axis] = between(1, 20);
			operands[o] = add_operand(&t, types[i % 4], rank, own, !random_below(3));
			sum += own[attrs.axis];
		}
		dims[attrs.axis] = sum;
		add_result(&t, add_node(&t, IR_OP_CONCAT, operands, count, types[i % 4], rank, dims,
					&attrs));
		check_graph(&t, *state);
		graph_free(&t);
	}
}

static void test_slice(void **state)
{
	for (int i = 0; i < 24; i++) {
		union ir_attrs attrs = { .slice = { .starts = { 0 } } };
		int64_t in[MAX_RANK], out[MAX_RANK];
		uint32_t rank;

		random_seed(300 + i);
		rank = random_shape(1, 20000, in);
		for (uint32_t d = 0; d < rank; d++) {
			int64_t size;

			attrs.slice.starts[d] = random_below(in[d]);
			attrs.slice.strides[d] = between(1, 3);
			size = between(1, in[d] - attrs.slice.starts[d]);
			out[d] = (size + attrs.slice.strides[d] - 1) / attrs.slice.strides[d];
		}
		run_move(state, IR_OP_SLICE, &attrs, types[i % 4], rank, in, rank, out);
	}
}

static void test_expand_and_tile(void **state)
{
	for (int i = 0; i < 32; i++) {
		int64_t in[MAX_RANK], out[MAX_RANK];
		uint32_t rank, lead;

		random_seed(400 + i);
		rank = random_shape(1, 3000, in);
		memcpy(out, in, sizeof(out));
		if (i & 1) {
			for (uint32_t d = 0; d < rank; d++)
				out[d] = in[d] * between(1, 3);
			run_move(state, IR_OP_TILE, NULL, types[i % 4], rank, in, rank, out);
			continue;
		}
		for (uint32_t d = 0; d < rank; d++) {
			in[d] = random_below(2) ? 1 : in[d];
			out[d] = in[d] == 1 ? between(1, 12) : in[d];
		}
		lead = random_below(rank + 1);
		for (uint32_t d = 0; d < lead; d++)
			in[d] = 1;
		run_move(state, IR_OP_EXPAND, NULL, types[i % 4], rank - lead, in + lead, rank,
			 out);
	}
}

static void test_reverse(void **state)
{
	for (int i = 0; i < 16; i++) {
		int64_t dims[MAX_RANK];
		union ir_attrs attrs;
		uint32_t rank;

		random_seed(500 + i);
		rank = random_shape(1, 20000, dims);
		attrs.axes = random_below(1u << rank);
		run_move(state, IR_OP_REVERSE, &attrs, types[i % 4], rank, dims, rank, dims);
	}
}

static void run_pad(void **state, int mode, enum ir_dtype dtype, uint32_t rank, const int64_t *in)
{
	union ir_attrs attrs = { .pad = { .mode = mode, .value = mode ? 0 : 0x4b } };
	int64_t out[MAX_RANK];

	for (uint32_t d = 0; d < rank; d++) {
		int64_t most = mode == IR_PAD_REFLECTION ? in[d] - 1 :
			       mode == IR_PAD_SYMMETRIC	 ? in[d] :
							   4;

		attrs.pad.begin[d] = random_below((most > 4 ? 4 : most) + 1);
		attrs.pad.end[d] = random_below((most > 4 ? 4 : most) + 1);
		out[d] = in[d] + attrs.pad.begin[d] + attrs.pad.end[d];
	}
	run_move(state, IR_OP_PAD, &attrs, dtype, rank, in, rank, out);
}

static void test_pad(void **state)
{
	for (int i = 0; i < 32; i++) {
		int64_t dims[MAX_RANK];
		uint32_t rank;

		random_seed(600 + i);
		rank = random_shape(1, 8000, dims);
		run_pad(state, i % 4 % 3, types[i / 4 % 4], rank, dims);
	}
	/* The operands are larger than one instruction takes. */
	for (int mode = 0; mode < 3; mode++)
		run_pad(state, mode, IR_F32, 3, (int64_t[]){ 2, 700, 300 });
}

static void test_reshape(void **state)
{
	run_move(state, IR_OP_RESHAPE, NULL, IR_F32, 3, (int64_t[]){ 5, 6, 700 }, 2,
		 (int64_t[]){ 42, 500 });
	run_move(state, IR_OP_RESHAPE, NULL, IR_U8, 0, NULL, 3, (int64_t[]){ 1, 1, 1 });
	run_move(state, IR_OP_RESHAPE, NULL, IR_I64, 2, (int64_t[]){ 1, 1 }, 0, NULL);
	run_move(state, IR_OP_COPY, NULL, IR_F16, 2, (int64_t[]){ 300, 77 }, 2,
		 (int64_t[]){ 300, 77 });
	run_move(state, IR_OP_COPY, NULL, IR_F32, 0, NULL, 0, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_transpose), cmocka_unit_test(test_concat),
		cmocka_unit_test(test_slice),	  cmocka_unit_test(test_expand_and_tile),
		cmocka_unit_test(test_reverse),	  cmocka_unit_test(test_pad),
		cmocka_unit_test(test_reshape),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
