// SPDX-License-Identifier: MIT
/*
 * Tests gather and scatter of random shapes: every type, indices inside and outside, several
 * updates of one element, more indices than one instruction takes, operands that are interleaved in
 * memory.
 */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>

static const enum ir_dtype types[] = {
	IR_F32, IR_F16, IR_I32, IR_U32, IR_I64, IR_U64, IR_I8, IR_U8
};
static const enum ir_dtype index_types[] = { IR_I32, IR_U32, IR_I64 };

/*
 * Shapes of one gather or scatter: input, indices, and the result of a gather or the updates of a
 * scatter.
 */
struct shapes {
	union ir_attrs attrs;
	uint32_t rank, index_rank, part_rank;
	int64_t dims[IR_MAX_RANK], index[IR_MAX_RANK], part[IR_MAX_RANK];
};

static uint32_t random_dims(uint32_t least, uint32_t most_rank, int64_t most, int64_t *dims)
{
	uint32_t rank = between(least, most_rank);

	for (uint32_t i = 0; i < rank; i++) {
		dims[i] = random_below(6) ? between(1, most > 30 ? 30 : (uint32_t)most) : 1;
		most /= dims[i];
	}
	return rank;
}

static void append(struct shapes *s, const int64_t *dims, uint32_t begin, uint32_t end)
{
	for (uint32_t i = begin; i < end; i++)
		s->part[s->part_rank++] = dims[i];
}

static void set_part(struct shapes *s)
{
	uint32_t axis = s->attrs.gather.axis, coordinates;

	s->part_rank = 0;
	switch (s->attrs.gather.kind) {
	case IR_GATHER_AXIS:
		append(s, s->dims, 0, axis);
		append(s, s->index, 0, s->index_rank);
		append(s, s->dims, axis + 1, s->rank);
		break;
	case IR_GATHER_ELEMENTS:
		append(s, s->index, 0, s->index_rank);
		break;
	default:
		coordinates = (uint32_t)s->index[s->index_rank - 1];
		append(s, s->index, 0, s->index_rank - 1);
		append(s, s->dims, coordinates, s->rank);
	}
}

static void random_shapes(struct shapes *s, int kind)
{
	memset(s, 0, sizeof(*s));
	s->rank = random_dims(1, kind == IR_GATHER_ELEMENTS ? 8 : 5, 6000, s->dims);
	s->attrs.gather.kind = kind;
	s->attrs.gather.axis = kind == IR_GATHER_ND ? 0 : random_below(s->rank);
	if (kind == IR_GATHER_ELEMENTS) {
		s->index_rank = s->rank;
		memcpy(s->index, s->dims, sizeof(s->index));
		s->index[s->attrs.gather.axis] = between(1, 30);
	} else {
		s->index_rank = random_dims(kind == IR_GATHER_ND, 9 - s->rank, 100, s->index);
		if (kind == IR_GATHER_ND)
			s->index[s->index_rank - 1] = between(1, s->rank);
	}
	set_part(s);
}

/*
 * Returns new indices, a constant or an input, with random values; some indices of an input are far
 * outside.
 */
static struct ir_value *add_indices(struct test_graph *t, const struct shapes *s,
				    enum ir_dtype dtype)
{
	struct ir_value *value = add_operand(t, dtype, s->index_rank, s->index, random_below(2));
	const int64_t far[] = { INT64_MIN, INT64_MAX, -1, UINT32_MAX, INT32_MIN };
	size_t size = ir_dtype_bits(dtype) / 8;
	uint8_t *data = t->data[t->num_inputs - 1];

	for (int i = 0; i < 5 && value->kind == IR_VALUE_INPUT; i++)
		memcpy(data + random_below((uint32_t)ir_type_elements(&value->type)) * size,
		       &far[i], size);
	return value;
}

static void build(struct test_graph *t, bool scatter, const struct shapes *s, enum ir_dtype dtype,
		  enum ir_dtype index_dtype)
{
	struct ir_value *operands[3];

	graph_init(t);
	t->tolerance = 0;
	operands[0] = add_operand(t, dtype, s->rank, s->dims, !random_below(3));
	operands[1] = add_indices(t, s, index_dtype);
	if (scatter)
		operands[2] = add_operand(t, dtype, s->part_rank, s->part, !random_below(3));
	add_result(t, add_node(t, scatter ? IR_OP_SCATTER : IR_OP_GATHER, operands, 2 + scatter,
			       dtype, scatter ? s->rank : s->part_rank, scatter ? s->dims : s->part,
			       &s->attrs));
}

static void run(void **state, bool scatter, const struct shapes *s, enum ir_dtype dtype,
		enum ir_dtype index_dtype)
{
	struct test_graph t;

	build(&t, scatter, s, dtype, index_dtype);
	check_graph(&t, *state);
	graph_free(&t);
}

static void test_gather(void **state)
{
	for (int i = 0; i < 72; i++) {
		struct shapes s;

		random_seed(100 + i);
		random_shapes(&s, i % 3);
		run(state, false, &s, types[i / 3 % 8], index_types[i / 24]);
	}
}

static void test_scatter(void **state)
{
	for (int i = 0; i < 72; i++) {
		struct shapes s;

		random_seed(300 + i);
		random_shapes(&s, i % 2 ? IR_GATHER_ELEMENTS : IR_GATHER_ND);
		run(state, true, &s, types[i / 2 % 8], index_types[i / 16 % 3]);
	}
}

/* Tests more indices, and larger slices, than one instruction takes. */
static void test_large(void **state)
{
	struct shapes all[] = {
		{ { .gather = { IR_GATHER_ELEMENTS, 1, false } },
		  2,
		  2,
		  0,
		  { 300, 20 },
		  { 300, 700 },
		  { 0 } },
		{ { .gather = { IR_GATHER_AXIS, 0, false } }, 2, 1, 0, { 30, 90000 }, { 25 }, { 0 } },
		{ { .gather = { IR_GATHER_AXIS, 2, false } },
		  3,
		  1,
		  0,
		  { 400, 5, 20 },
		  { 60 },
		  { 0 } },
		{ { .gather = { IR_GATHER_ND, 0, false } },
		  2,
		  2,
		  0,
		  { 20, 20 },
		  { 90000, 2 },
		  { 0 } },
		{ { .gather = { IR_GATHER_ND, 0, false } },
		  2,
		  2,
		  0,
		  { 20, 90000 },
		  { 24, 1 },
		  { 0 } },
	};

	for (int i = 0; i < 5; i++) {
		random_seed(500 + i);
		set_part(&all[i]);
		run(state, false, &all[i], IR_F32, IR_I32);
		if (all[i].attrs.gather.kind != IR_GATHER_AXIS)
			run(state, true, &all[i], IR_F32, IR_I64);
	}
}

/*
 * Tests operands of one concat, which are interleaved in memory: the result of a gather with its
 * input and its indices, or updates and indices with the target of a scatter.
 */
static void test_beside_operands(void **state)
{
	union ir_attrs neg = { .unary = { .kind = IR_NEG } }, axis = { .axis = 1 };
	union ir_attrs elements = { .gather = { IR_GATHER_ELEMENTS, 1, false } };

	for (int i = 0; i < 6; i++) {
		int64_t dims[2] = { between(1, 90), between(40, 400) }, all[2] = { dims[0], 0 };
		bool scatter = i % 2;
		struct ir_value *parts[4], *operands[3];
		uint32_t count = scatter ? 3 : 2;
		struct test_graph t;

		random_seed(600 + i);
		graph_init(&t);
		t.tolerance = 0;
		for (uint32_t k = 0; k < count; k++) {
			struct ir_value *input = add_operand(&t, IR_I32, 2, dims, false);

			operands[k] = parts[k] =
				add_node(&t, IR_OP_UNARY, &input, 1, IR_I32, 2, dims, &neg)
					->results[0];
		}
		parts[count] = add_node(&t, scatter ? IR_OP_SCATTER : IR_OP_GATHER, operands, count,
					IR_I32, 2, dims, &elements)
				       ->results[0];
		all[1] = dims[1] * (count + 1);
		operands[0] = add_node(&t, IR_OP_CONCAT, parts, count + 1, IR_I32, 2, all, &axis)
				      ->results[0];
		add_result(&t, add_node(&t, IR_OP_UNARY, operands, 1, IR_I32, 2, all, &neg));
		check_graph(&t, *state);
		graph_free(&t);
	}
}

static void test_plan(void **state)
{
	struct shapes s = {
		{ .gather = { IR_GATHER_AXIS, 0, false } }, 2, 1, 0, { 50, 64 }, { 9 }, { 0 }
	};
	struct test_graph t;
	char *text;

	random_seed(700);
	set_part(&s);
	build(&t, false, &s, IR_F32, IR_I32);
	text = plan_text(&t, *state, 0);
	assert_non_null(strstr(text, "dma gather"));
	assert_non_null(strstr(text, "exact, 1 tile"));
	free(text);
	assert_in_range(check_preempted(&t, *state, 0), 0, 1000);
	graph_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gather),		cmocka_unit_test(test_scatter),
		cmocka_unit_test(test_large),		cmocka_unit_test(test_plan),
		cmocka_unit_test(test_beside_operands),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
