// SPDX-License-Identifier: MIT
/* Tests in which cases the addition after a convolution is fused with it. */
#include "fixture.h"
#include "nodes.h"

#include <string.h>

struct shape {
	enum ir_layout layout;
	int64_t n, c, h, w;
};

static void shape_dims(const struct shape *s, int64_t *dims)
{
	const int64_t nchw[4] = { s->n, s->c, s->h, s->w }, nhwc[4] = { s->n, s->h, s->w, s->c };

	memcpy(dims, s->layout == IR_NHWC ? nhwc : nchw, sizeof(nchw));
}

/* Returns a new 3x3 convolution whose output has the size of its input, perhaps with a bias. */
static struct ir_node *conv(struct test_graph *t, const struct shape *s, struct ir_value *in,
			    enum ir_dtype dtype, uint32_t groups, int act)
{
	union ir_attrs attrs = { .conv = { .groups = groups,
					   .layout = s->layout,
					   .filter_layout = IR_OIHW,
					   .padding = { 1, 1, 1, 1 },
					   .strides = { 1, 1 },
					   .dilations = { 1, 1 },
					   .act = { .kind = act, .alpha = 0.7f, .beta = 0.4f } } };
	const int64_t filter[4] = { s->c, s->c / groups, 3, 3 };
	struct ir_value *operands[3] = { in, add_operand(t, dtype, 4, filter, true), NULL };
	int64_t dims[4];

	shape_dims(s, dims);
	if (random_below(2))
		operands[2] = add_operand(t, dtype, 1, &s->c, true);
	return add_node(t, IR_OP_CONV, operands, 3, dtype, 4, dims, &attrs);
}

static struct ir_value *add(struct test_graph *t, const struct shape *s, struct ir_value *a,
			    struct ir_value *b, int act)
{
	union ir_attrs attrs = { .binary = { .kind = IR_ADD, .act = { .kind = act } } };
	struct ir_value *operands[2] = { a, b };
	int64_t dims[4];

	shape_dims(s, dims);
	return add_node(t, IR_OP_BINARY, operands, 2, a->type.dtype, 4, dims, &attrs)->results[0];
}

static struct ir_value *input(struct test_graph *t, const struct shape *s, enum ir_dtype dtype)
{
	int64_t dims[4];

	shape_dims(s, dims);
	return add_operand(t, dtype, 4, dims, false);
}

/* Returns another operand for an addition: an input, a value that stays in SRAM, or a slice. */
static struct ir_value *other(struct test_graph *t, const struct shape *s, struct ir_value *in)
{
	struct shape twice = *s;

	switch (random_below(3)) {
	case 0:
		return input(t, s, IR_F32);
	case 1:
		return node_unary(t, IR_ABS, in);
	default:
		twice.h *= 2;
		return node_slice(t, node_unary(t, IR_NEG, input(t, &twice, IR_F32)),
				  s->layout == IR_NHWC ? 1 : 2, random_below(2) ? 0 : s->h, s->h);
	}
}

static const struct npu_node_info *info_of(const struct npu_program *program,
					   const struct ir_node *node)
{
	return &program->nodes[node->id];
}

static void test_sums(void **state)
{
	static const int acts[] = { IR_UNARY_NONE, IR_UNARY_NONE, IR_UNARY_NONE, IR_SWISH,
				    IR_MISH,	   IR_GELU_TANH,  IR_HARD_GATE };

	for (int i = 0; i < 48; i++) {
		struct shape s = { random_below(2), between(1, 2), between(2, 20), between(3, 24),
				   between(3, 24) };
		struct ir_value *in, *residual, *sum;
		struct npu_program *program;
		struct ir_node *node, *addition;
		struct test_graph t;

		random_seed(900 + i);
		graph_init(&t);
		t.tolerance = 1e-4;
		in = node_unary(&t, IR_NEG, input(&t, &s, IR_F32));
		residual = other(&t, &s, in);
		node = conv(&t, &s, in, IR_F32, random_below(3) ? 1 : (uint32_t)s.c,
			    acts[random_below(sizeof(acts) / sizeof(acts[0]))]);
		sum = random_below(2) ? add(&t, &s, node->results[0], residual, IR_RELU) :
					add(&t, &s, residual, node->results[0], IR_UNARY_NONE);
		addition = sum->def;
		/* The sum may be written into a concat, or be transposed. */
		switch (random_below(3)) {
		case 0:
			sum = node_concat(&t, sum, node_unary(&t, IR_ABS, in), 1);
			break;
		case 1:
			sum = node_transpose(&t, sum, (const uint32_t[]){ 3, 1, 0, 2 });
		}
		add_output(&t, sum);
		check_graph(&t, *state);
		program = compile_graph(&t, *state, 3);
		assert_non_null(info_of(program, node)->kernel);
		assert_null(info_of(program, addition)->kernel);
		npu_program_destroy(program);
		graph_free(&t);
	}
}

/*
 * Tests that the vector unit adds, and the addition is not fused, when the convolution applies an
 * activation before it, when its result has a second use, and for float16.
 */
static void test_apart(void **state)
{
	const struct shape s = { IR_NCHW, 1, 8, 12, 12 };

	for (int i = 0; i < 4; i++) {
		enum ir_dtype dtype = i == 2 ? IR_F16 : IR_F32;
		struct npu_program *program;
		struct ir_value *sum, *in;
		struct test_graph t;
		struct ir_node *node;

		random_seed(950 + i);
		graph_init(&t);
		t.tolerance = dtype == IR_F16 ? 1e-2 : 1e-4;
		in = input(&t, &s, dtype);
		node = conv(&t, &s, in, dtype, 1, i == 0 ? IR_RELU : IR_UNARY_NONE);
		sum = add(&t, &s, node->results[0], i == 3 ? node->results[0] : in, IR_UNARY_NONE);
		if (i == 1)
			add_output(&t, node_unary(&t, IR_ABS, node->results[0]));
		add_output(&t, sum);
		check_graph(&t, *state);
		program = compile_graph(&t, *state, 3);
		assert_string_equal(info_of(program, sum->def)->kernel, "vector binary");
		npu_program_destroy(program);
		graph_free(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_apart),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
