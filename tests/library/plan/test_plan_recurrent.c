// SPDX-License-Identifier: MIT
/*
 * Tests gru and lstm with every option, for several sizes of SRAM, and how programs grow with
 * steps.
 */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>

#include "plan/list/plan.h"

struct shape {
	enum ir_op op;
	enum ir_dtype dtype;
	int64_t steps, batch, input, hidden;
	bool cell;
};

static int64_t directions(const union ir_attrs *attrs)
{
	return attrs->rnn.direction == IR_BOTH ? 2 : 1;
}

/*
 * Multiplies the elements of the last input by 1/4 if it is float32 and no constant, so that
 * activations are not all at their limits. Returns @value, which must be that input.
 */
static struct ir_value *scaled(struct test_graph *t, struct ir_value *value)
{
	const float by = 0.25f;
	int64_t n = ir_type_elements(&value->type);
	float *data = t->data[t->num_inputs - 1];

	if (value->type.dtype != IR_F32 || value->kind == IR_VALUE_CONSTANT)
		return value;
	for (int64_t i = 0; i < n; i++)
		data[i] *= by;
	return value;
}

/* Returns a new operand [directions, a, b] or, for a cell, [a, b]; with a rank below 3, no b. */
static struct ir_value *operand(struct test_graph *t, const struct shape *s,
				const union ir_attrs *attrs, uint32_t rank, int64_t a, int64_t b)
{
	int64_t dims[3] = { directions(attrs), a, b };
	bool constant = random_below(2);

	return scaled(t, add_operand(t, s->dtype, s->cell ? rank - 1 : rank, dims + s->cell,
				     constant));
}

static struct ir_value *maybe(struct test_graph *t, const struct shape *s,
			      const union ir_attrs *attrs, uint32_t rank, int64_t a, int64_t b)
{
	return random_below(3) ? operand(t, s, attrs, rank, a, b) : NULL;
}

/* Returns a new operand with a length for each item of the batch, from 0 to the steps plus 1. */
static struct ir_value *lengths(struct test_graph *t, const struct shape *s)
{
	struct ir_value *value = add_operand(t, IR_I32, 1, &s->batch, random_below(3) == 0);
	int32_t *data = t->data[t->num_inputs - 1];

	if (value->kind == IR_VALUE_CONSTANT)
		data = (int32_t *)value->constant->data;
	for (int64_t i = 0; i < s->batch; i++)
		data[i] = (int32_t)random_below((uint32_t)s->steps + 2);
	if (value->kind == IR_VALUE_CONSTANT)
		memcpy(t->data[t->num_inputs - 1], data, (size_t)s->batch * sizeof(*data));
	return value;
}

static union ir_attrs random_attrs(const struct shape *s)
{
	/* From the fourth kind on, kinds have parameters or bounds, or are unusual for gates. */
	static const int kinds[9] = { IR_RELU,	       IR_SIGMOID,  IR_TANH,
				      IR_HARD_SIGMOID, IR_SOFTSIGN, IR_SCALED_TANH,
				      IR_LEAKY_RELU,   IR_ELU,	    IR_LINEAR };
	union ir_attrs attrs;

	memset(&attrs, 0, sizeof(attrs));
	attrs.rnn.steps = (uint32_t)s->steps;
	attrs.rnn.hidden_size = (uint32_t)s->hidden;
	attrs.rnn.cell = s->cell;
	attrs.rnn.reset_after = s->op == IR_OP_GRU && random_below(2);
	attrs.rnn.gate_order = random_below(2);
	attrs.rnn.clip = random_below(3) ? 0 : 0.5f;
	attrs.rnn.coupled = s->op == IR_OP_LSTM && random_below(3) == 0;
	attrs.rnn.late_peephole = s->op == IR_OP_LSTM && random_below(2);
	if (!s->cell) {
		attrs.rnn.return_sequence = random_below(2);
		attrs.rnn.direction = random_below(3);
	}
	for (int i = 0; i < 3; i++) {
		attrs.rnn.activations[i] = random_below(2) ? (i ? IR_TANH : IR_SIGMOID) :
							     kinds[random_below(i ? 9 : 6)];
		attrs.rnn.alphas[i] = 0.125f * (float)random_below(8);
		attrs.rnn.betas[i] = 0.125f * (float)random_below(8);
	}
	/* A plain network has a single activation. */
	attrs.rnn.plain = s->op == IR_OP_GRU && random_below(3) == 0;
	if (attrs.rnn.plain)
		attrs.rnn.activations[0] = attrs.rnn.activations[1];
	/*
	 * Repeated products, and long sums, would grow without bounds, and their errors with them.
	 */
	else if (s->op == IR_OP_GRU || s->steps > 4 || s->hidden > 24)
		attrs.rnn.activations[0] = IR_SIGMOID;
	/* A gate above 1 would make its complement negative, and states grow. */
	if (attrs.rnn.coupled)
		attrs.rnn.activations[0] = IR_SIGMOID;
	return attrs;
}

static struct ir_node *build(struct test_graph *t, const struct shape *s,
			     const union ir_attrs *attrs)
{
	bool lstm = s->op == IR_OP_LSTM;
	int64_t rows = (lstm ? 4 : attrs->rnn.plain ? 1 : 3) * s->hidden, dirs = directions(attrs);
	int64_t x[3] = { s->steps, s->batch, s->input }, first = s->cell;
	int64_t state[3] = { dirs, s->batch, s->hidden };
	int64_t sequence[4] = { s->steps, dirs, s->batch, s->hidden };
	uint32_t n = lstm ? 8 : 6, results = 1 + lstm;
	struct ir_value *operands[9] = { NULL };
	struct ir_type types[3];
	struct ir_node *node;

	operands[0] = add_operand(t, s->dtype, 3 - (uint32_t)first, x + first, false);
	operands[1] = operand(t, s, attrs, 3, rows, s->input);
	operands[2] = operand(t, s, attrs, 3, rows, s->hidden);
	operands[3] = maybe(t, s, attrs, 2, rows, 0);
	operands[4] = maybe(t, s, attrs, 2, rows, 0);
	if (lstm)
		operands[5] = maybe(t, s, attrs, 2, 3 * s->hidden, 0);
	for (uint32_t i = lstm ? 6 : 5; i < n; i++)
		operands[i] = s->cell ? operand(t, s, attrs, 3, s->batch, s->hidden) :
					maybe(t, s, attrs, 3, s->batch, s->hidden);
	if (!s->cell && random_below(2))
		operands[n++] = lengths(t, s);
	for (uint32_t i = 0; i < results; i++)
		types[i] = ir_type_make(s->dtype, 3 - (uint32_t)first, state + first);
	if (attrs->rnn.return_sequence)
		types[results++] = ir_type_make(s->dtype, 4, sequence);
	node = ir_add_node(t->graph, s->op, operands, n, types, results, attrs, "", "test");
	assert_non_null(node);
	return node;
}

static void check_shape(const struct shape *s, void *state)
{
	union ir_attrs attrs = random_attrs(s);
	struct test_graph t;

	graph_init(&t);
	t.tolerance = s->dtype == IR_F16 ? 1e-2 : 2e-4;
	add_result(&t, build(&t, s, &attrs));
	check_graph(&t, state);
	graph_free(&t);
}

static void test_random(void **state)
{
	for (int i = 0; i < 80; i++) {
		struct shape s;

		random_seed(700 + i);
		s.op = random_below(2) ? IR_OP_GRU : IR_OP_LSTM;
		s.dtype = random_below(3) ? IR_F32 : IR_F16;
		s.cell = !random_below(4);
		s.steps = s.cell ? 1 : between(1, 6);
		s.batch = between(1, 5);
		s.input = between(1, 40);
		s.hidden = between(1, 24);
		check_shape(&s, *state);
	}
}

/*
 * Tests the steps with the most instructions and registers: all activations take four instructions,
 * and gates are limited. For positive operands the activation returns its operand, so that rounding
 * cannot make it jump.
 */
static void test_longest_steps(void **state)
{
	const struct shape s = { IR_OP_LSTM, IR_F32, 3, 4, 5, 6, false };

	for (int i = 0; i < 24; i++) {
		union ir_attrs attrs;
		struct test_graph t;

		random_seed(1200 + i);
		attrs = random_attrs(&s);
		attrs.rnn.clip = 0.5f;
		attrs.rnn.coupled = false;
		attrs.rnn.return_sequence = true;
		for (int k = 0; k < 3; k++) {
			attrs.rnn.activations[k] = IR_STEP_GATE;
			attrs.rnn.alphas[k] = 0;
		}
		graph_init(&t);
		t.tolerance = 2e-4;
		/* Peepholes and lengths are drawn: some rounds have both. */
		add_result(&t, build(&t, &s, &attrs));
		check_graph(&t, *state);
		graph_free(&t);
	}
}

/* Tests gates that do not fit into 16 KiB: products and vector programs have several tiles. */
static void test_large(void **state)
{
	for (int i = 0; i < 4; i++) {
		const struct shape s = {
			i & 1 ? IR_OP_GRU : IR_OP_LSTM, IR_F32, 3, 9, 130, 150, false
		};

		random_seed(900 + i);
		check_shape(&s, *state);
	}
}

/* Tests states so large that SRAM holds those before a step, but not those after it as well. */
static void test_many_rows(void **state)
{
	const struct shape s = { IR_OP_LSTM, IR_F16, 2, 2598, 25, 8, false };

	random_seed(950);
	check_shape(&s, *state);
}

/* Tests operands that are slices of other values, and results that are written into one value. */
static void test_views(void **state)
{
	const struct shape s = { IR_OP_LSTM, IR_F32, 4, 3, 6, 8, false };
	const int64_t part[3] = { 4, 3, 6 }, state_dims[3] = { 1, 3, 16 };
	union ir_attrs attrs, slice, concat = { .axis = 2 };
	struct ir_value *whole, *sliced, *both[2];
	struct ir_node *node, *negated;
	struct test_graph t;
	union ir_attrs neg = { .unary = { .kind = IR_NEG } };

	random_seed(31);
	graph_init(&t);
	t.tolerance = 2e-4;
	attrs = random_attrs(&s);
	attrs.rnn.direction = IR_BACKWARD;
	attrs.rnn.return_sequence = false;
	memset(&slice, 0, sizeof(slice));
	slice.slice.starts[1] = 2;
	slice.slice.starts[2] = 1;
	for (int i = 0; i < 3; i++)
		slice.slice.strides[i] = 1;
	whole = add_operand(&t, IR_F32, 3, (int64_t[]){ 4, 6, 9 }, false);
	negated = add_node(&t, IR_OP_UNARY, &whole, 1, IR_F32, 3, (int64_t[]){ 4, 6, 9 }, &neg);
	sliced =
		add_node(&t, IR_OP_SLICE, negated->results, 1, IR_F32, 3, part, &slice)->results[0];
	node = build(&t, &s, &attrs);
	node->operands[0] = sliced;
	both[0] = node->results[0];
	both[1] = node->results[1];
	add_result(&t, add_node(&t, IR_OP_CONCAT, both, 2, IR_F32, 3, state_dims, &concat));
	check_graph(&t, *state);
	graph_free(&t);
}

static struct npu_program *compile_steps(int64_t steps, int64_t hidden)
{
	static const struct npu_caps caps = {
		.sram_bytes = 4 << 20,
		.lanes = ONPU_CAP_LANES__RESET,
		.mxu_rows = ONPU_CAP_MXU_ROWS__RESET,
		.mxu_cols = ONPU_CAP_MXU_COLS__RESET,
		.fifo_depth = ONPU_CAP_FIFO_DEPTH__RESET,
		.dma_bytes_per_cycle = 64,
		.num_queues = 4,
	};
	const int64_t x[3] = { steps, 1, 8 }, w[3] = { 1, 4 * hidden, 8 };
	const int64_t r[3] = { 1, 4 * hidden, hidden }, state[3] = { 1, 1, hidden };
	union ir_attrs attrs = { .rnn = { .steps = (uint32_t)steps,
					  .hidden_size = (uint32_t)hidden,
					  .activations = { IR_SIGMOID, IR_TANH, IR_TANH } } };
	struct ir_value *operands[8] = { NULL };
	struct npu_program *program = NULL;
	struct wnn_error err = { 0 };
	struct ir_type types[2];
	struct test_graph t;
	struct ir_node *node;

	graph_init(&t);
	operands[0] = add_operand(&t, IR_F32, 3, x, false);
	operands[1] = add_operand(&t, IR_F32, 3, w, true);
	operands[2] = add_operand(&t, IR_F32, 3, r, true);
	types[0] = types[1] = ir_type_make(IR_F32, 3, state);
	node = ir_add_node(t.graph, IR_OP_LSTM, operands, 8, types, 2, &attrs, "", "test");
	assert_non_null(node);
	if (npu_compile(t.graph, 0, 1, &node->results[0]->id, 1, &caps, false, NULL, &program,
			&err))
		fail_msg("%s", err.message);
	graph_free(&t);
	return program;
}

/*
 * Tests that recurrent weights which do not fit into SRAM are in the program once, packed for the
 * product.
 */
static void test_large_weights(void **state)
{
	const uint64_t bytes = 600 * 4 * (600 + 8) * sizeof(float);
	struct npu_program *program = compile_steps(2, 600);

	(void)state;
	assert_in_range(program->constant_bytes, bytes, bytes + bytes / 5);
	npu_program_destroy(program);
}

/* Tests that instructions grow with the number of steps, and that constants do not. */
static void test_steps(void **state)
{
	struct npu_program *some = compile_steps(100, 16), *many = compile_steps(5000, 16);

	(void)state;
	assert_int_equal(some->constant_bytes, many->constant_bytes);
	assert_in_range(many->num_insns, some->num_insns * 45, some->num_insns * 55);
	npu_program_destroy(some);
	npu_program_destroy(many);
}

/* Returns a network of @steps steps over rows of 8 numbers, in a new graph. */
static struct ir_node *build_long(struct test_graph *t, enum ir_op op, enum ir_dtype dtype,
				  int64_t steps, int64_t batch, int64_t hidden)
{
	struct shape s = { op, dtype, steps, batch, 8, hidden, false };
	union ir_attrs attrs;

	memset(&attrs, 0, sizeof(attrs));
	attrs.rnn.steps = (uint32_t)steps;
	attrs.rnn.hidden_size = (uint32_t)hidden;
	attrs.rnn.return_sequence = true;
	attrs.rnn.reset_after = hidden % 2;
	attrs.rnn.direction = random_below(3);
	attrs.rnn.activations[0] = IR_SIGMOID;
	attrs.rnn.activations[1] = attrs.rnn.activations[2] = IR_TANH;
	graph_init(t);
	/* With such weights, differences of rounding grow from step to step. */
	t->tolerance = dtype == IR_F16 ? 5e-2 : 2e-4;
	return build(t, &s, &attrs);
}

/* Tests that recurrent weights are loaded once for all steps. */
static void test_weights_stay(void **state)
{
	for (int i = 0; i < 8; i++) {
		enum ir_dtype dtype = i & 1 ? IR_F16 : IR_F32;
		int64_t hidden = 64 + (i >> 1 & 1), batch = i & 2 ? 3 : 1;
		uint64_t bytes = (uint64_t)hidden * hidden * 4 * (dtype == IR_F16 ? 2 : 4) * 2;
		struct traffic traffic;
		struct test_graph t;

		random_seed(1000 + i);
		add_result(&t,
			   build_long(&t, i & 4 ? IR_OP_GRU : IR_OP_LSTM, dtype, 6, batch, hidden));
		check_graph(&t, *state);
		traffic = count_traffic(&t, *state, NUM_SIZES - 1);
		assert_in_range(traffic.loaded, 0, 2 * bytes);
		graph_free(&t);
	}
}

/*
 * Tests jobs with few slots: between two jobs, states go to memory, and weights are loaded again.
 */
static void test_split(void **state)
{
	for (int i = 0; i < 6; i++) {
		struct test_graph t;

		random_seed(1100 + i);
		add_result(&t, build_long(&t, i & 1 ? IR_OP_GRU : IR_OP_LSTM,
					  i & 2 ? IR_F16 : IR_F32, 60, 1 + i / 4, 24 + i / 2 % 2));
		assert_in_range(check_split(&t, *state, NUM_SIZES - 1, 400), 3, 100);
		graph_free(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),	      cmocka_unit_test(test_large),
		cmocka_unit_test(test_many_rows),     cmocka_unit_test(test_views),
		cmocka_unit_test(test_steps),	      cmocka_unit_test(test_weights_stay),
		cmocka_unit_test(test_split),	      cmocka_unit_test(test_large_weights),
		cmocka_unit_test(test_longest_steps),
	};

	return cmocka_run_group_tests_name("plan recurrent", tests, fixture_setup,
					   fixture_teardown);
}
