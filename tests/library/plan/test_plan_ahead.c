// SPDX-License-Identifier: MIT
/*
 * Tests loads ahead: the first weights of a dispatch (a run of the program) are loaded while the
 * dispatch before computes. fixture.c runs each such program several times, also alternating with
 * another context.
 */
#include "nodes.h"

#include <onpu/isa.h>
#include <onpu/slots.h>

#define SIZE_BIG (NUM_SIZES - 1) /* 4 MiB of SRAM */

static uint32_t keep_start(const struct npu_program *program)
{
	return ((const union onpu_slot *)program->slots)->program.keep_start;
}

/*
 * Makes a product of `rows` rows with weights that do not fit into SRAM. `tail` further products
 * without weights follow; unless it is 0, rows must be 16.
 */
static void make_graph(struct test_graph *t, int64_t rows, uint32_t tail)
{
	const int64_t in[] = { rows, 1024 };
	static const int64_t weights[] = { 1024, 1024 }, square[] = { 128, 128 };
	struct ir_value *a, *b, *value;

	graph_init(t);
	t->tolerance = 1e-4;
	a = add_operand(t, IR_F32, 2, in, false);
	b = add_operand(t, IR_F32, 2, weights, true);
	value = node_matmul(t, a, b);
	if (tail)
		value = node_reshape(t, value, 2, square);
	for (uint32_t i = 0; i < tail; i++)
		value = node_softmax(t, node_matmul(t, value, value), 1);
	add_output(t, value);
}

/* Counts the loads before and after the instruction at which a later dispatch begins. */
static void count_loads(const struct npu_program *program, uint32_t *first, uint32_t *later)
{
	*first = *later = 0;
	for (uint32_t i = 0; i < program->num_insns; i++) {
		struct onpu_insn insn;

		assert_int_equal(onpu_insn_unpack(program->insns[i], &insn), 0);
		if (insn.op == ONPU_OP_DMA_COPY)
			++*(i < keep_start(program) ? first : later);
	}
}

static void check_kept(struct test_graph *t, void *state)
{
	struct npu_program *program = compile_graph(t, state, SIZE_BIG);
	uint32_t first, later;

	assert_non_null(program);
	assert_true(keep_start(program));
	count_loads(program, &first, &later);
	assert_in_range(first, 1, later);
	npu_program_destroy(program);
}

/*
 * The products after the first one hide the loads of the next dispatch; both dispatches give the
 * right numbers.
 */
static void a_later_dispatch_is_shorter(void **state)
{
	struct traffic traffic;
	struct test_graph t;

	random_seed(5100);
	make_graph(&t, 16, 8);
	check_kept(&t, *state);
	traffic = count_traffic(&t, *state, SIZE_BIG);
	assert_true(traffic.later_cycles < traffic.cycles - traffic.cycles / 32);
	check_graph(&t, *state);
	graph_free(&t);
}

/*
 * When little is computed at the end, there is no time for loads ahead, and the first dispatch
 * must not pay for them.
 */
static void without_time_nothing_is_loaded(void **state)
{
	struct npu_program *program;
	struct test_graph t;

	random_seed(5101);
	make_graph(&t, 1, 0);
	program = compile_graph(&t, *state, SIZE_BIG);
	assert_non_null(program);
	assert_int_equal(keep_start(program), 0);
	npu_program_destroy(program);
	graph_free(&t);
}

/* Tests that a job which is interrupted and resumed on another machine gives the same bits. */
static void preemption(void **state)
{
	struct test_graph t;

	random_seed(5102);
	/* The graph takes more cycles than are allowed without a preemption point. */
	make_graph(&t, 16, 320);
	check_kept(&t, *state);
	assert_true(check_preempted(&t, *state, SIZE_BIG));
	graph_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_later_dispatch_is_shorter),
		cmocka_unit_test(without_time_nothing_is_loaded),
		cmocka_unit_test(preemption),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
