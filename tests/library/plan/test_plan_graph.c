// SPDX-License-Identifier: MIT
/* Graphs of several nodes: memory that is shared and used again, order between nodes, and the
 * plan's text. */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"

static const union ir_attrs no_attrs;

static struct ir_value *unary(struct test_graph *t, int kind, struct ir_value *in)
{
	union ir_attrs attrs = { .unary = { .kind = kind } };
	int64_t dims[IR_MAX_RANK];

	for (uint32_t i = 0; i < in->type.rank; i++)
		dims[i] = ir_type_dim(&in->type, i);
	return add_node(t, IR_OP_UNARY, &in, 1, in->type.dtype, in->type.rank, dims, &attrs)
		->results[0];
}

static struct ir_value *binary(struct test_graph *t, int kind, struct ir_value *a,
			       struct ir_value *b)
{
	union ir_attrs attrs = { .binary = { .kind = kind, .act = { .kind = IR_UNARY_NONE } } };
	struct ir_value *operands[2] = { a, b };
	int64_t dims[IR_MAX_RANK];

	for (uint32_t i = 0; i < a->type.rank; i++)
		dims[i] = ir_type_dim(&a->type, i);
	return add_node(t, IR_OP_BINARY, operands, 2, a->type.dtype, a->type.rank, dims, &attrs)
		->results[0];
}

static struct ir_value *reshape(struct test_graph *t, struct ir_value *in, uint32_t rank,
				const int64_t *dims)
{
	return add_node(t, IR_OP_RESHAPE, &in, 1, in->type.dtype, rank, dims, NULL)->results[0];
}

static struct ir_value *concat(struct test_graph *t, struct ir_value *a, struct ir_value *b,
			       uint32_t axis)
{
	struct ir_value *operands[2] = { a, b };
	union ir_attrs attrs = { .axis = axis };
	int64_t dims[IR_MAX_RANK];

	for (uint32_t i = 0; i < a->type.rank; i++)
		dims[i] = ir_type_dim(&a->type, i);
	dims[axis] += ir_type_dim(&b->type, axis);
	return add_node(t, IR_OP_CONCAT, operands, 2, a->type.dtype, a->type.rank, dims, &attrs)
		->results[0];
}

static struct ir_value *slice(struct test_graph *t, struct ir_value *in, uint32_t axis,
			      int64_t begin, int64_t size)
{
	union ir_attrs attrs = no_attrs;
	int64_t dims[IR_MAX_RANK];

	for (uint32_t i = 0; i < in->type.rank; i++) {
		dims[i] = ir_type_dim(&in->type, i);
		attrs.slice.strides[i] = 1;
	}
	attrs.slice.starts[axis] = begin;
	dims[axis] = size;
	return add_node(t, IR_OP_SLICE, &in, 1, in->type.dtype, in->type.rank, dims, &attrs)
		->results[0];
}

static struct ir_value *conv(struct test_graph *t, struct ir_value *in, enum ir_layout layout,
			     int64_t co, int64_t k)
{
	union ir_attrs attrs = {.conv = {.groups = 1,
					 .strides = {1, 1},
					 .dilations = {1, 1},
					 .layout = layout,
					 .padding = {k / 2, k / 2, k / 2, k / 2},
					 .filter_layout = IR_OIHW,
					 .act = {.kind = IR_RELU}}};
	int64_t dims[4], c = layout == IR_NHWC ? 3 : 1;
	struct ir_value *operands[3] = { in };

	for (int i = 0; i < 4; i++)
		dims[i] = ir_type_dim(&in->type, i);
	operands[1] = add_operand(t, IR_F32, 4, (int64_t[]){ co, dims[c], k, k }, true);
	operands[2] = add_operand(t, IR_F32, 1, (int64_t[]){ co }, true);
	dims[c] = co;
	return add_node(t, IR_OP_CONV, operands, 3, IR_F32, 4, dims, &attrs)->results[0];
}

static void finish(struct test_graph *t, struct ir_value *value)
{
	assert_int_equal(ir_add_output(t->graph, "y", value), 0);
	t->output[t->num_outputs++] = value;
}

/* A fire module: its two convolutions write straight into the concat's result. */
static struct ir_value *build_fire(struct test_graph *t, enum ir_layout layout, int64_t size)
{
	const int64_t nchw[4] = { 1, 24, size, size }, nhwc[4] = { 1, size, size, 24 };
	struct ir_value *in = add_operand(t, IR_F32, 4, layout == IR_NHWC ? nhwc : nchw, false);
	struct ir_value *squeeze = conv(t, in, layout, 8, 1);
	struct ir_value *a = conv(t, squeeze, layout, 20, 1), *b = conv(t, squeeze, layout, 36, 3);

	return concat(t, a, b, layout == IR_NHWC ? 3 : 1);
}

static void test_fire(void **state)
{
	for (int layout = 0; layout < 2; layout++) {
		struct test_graph t;
		struct ir_value *fire;

		random_seed(layout);
		graph_init(&t);
		t.tolerance = 1e-4;
		fire = build_fire(&t, layout, 27);
		finish(&t, unary(&t, IR_NEG, fire));
		check_graph(&t, *state);
		graph_free(&t);
	}
}

/* What may not share memory: outputs, inputs, and a value that a concat takes twice. */
static void test_sharing(void **state)
{
	int64_t dims[2] = { 30, 70 }, flat[1] = { 2100 };
	struct ir_value *x, *y, *z, *twice, *part;
	struct test_graph t;

	random_seed(1);
	graph_init(&t);
	t.tolerance = 0;
	x = add_operand(&t, IR_F32, 2, dims, false);
	finish(&t, reshape(&t, x, 1, flat));			/* input to output */
	y = unary(&t, IR_NEG, x);
	finish(&t, y);
	finish(&t, reshape(&t, y, 1, flat));			/* output to output */
	z = unary(&t, IR_ABS, x);
	twice = concat(&t, z, z, 1);
	part = slice(&t, twice, 1, 35, 70);
	finish(&t, reshape(&t, part, 1, flat));			/* strided, must be copied */
	finish(&t, binary(&t, IR_SUB, part, z));
	finish(&t, concat(&t, concat(&t, unary(&t, IR_NEG, z), y, 0), part, 0));
	check_graph(&t, *state);
	graph_free(&t);
}

/* Random graphs over values of one shape; late nodes take the place of early ones in the arena. */
static void test_random_graphs(void **state)
{
	for (int i = 0; i < 24; i++) {
		int64_t dims[3] = { 1 }, flat[1];
		struct ir_value *pool[24];
		uint32_t count = 0;
		struct test_graph t;

		random_seed(50 + i);
		graph_init(&t);
		t.tolerance = 0;
		for (int d = 0; d < 3; d++)
			dims[d] = between(2, 24);
		flat[0] = dims[0] * dims[1] * dims[2];
		pool[count++] = add_operand(&t, IR_F32, 3, dims, false);
		pool[count++] = add_operand(&t, IR_F32, 3, dims, true);
		while (count < 20) {
			struct ir_value *a = pool[random_below(count)],
					*b = pool[random_below(count)];
			uint32_t axis = random_below(3);

			switch (random_below(6)) {
			case 0:
				pool[count++] = unary(&t, IR_NEG, a);
				break;
			case 1:
				pool[count++] = reshape(&t, reshape(&t, a, 1, flat), 3, dims);
				break;
			case 2:
				pool[count++] = slice(&t, concat(&t, a, b, axis), axis,
						      random_below(dims[axis] + 1), dims[axis]);
				break;
			case 3:
				pool[count++] =
					concat(&t, slice(&t, b, axis, 1, dims[axis] - 1),
					       slice(&t, unary(&t, IR_ABS, a), axis, 0, 1), axis);
				break;
			default:
				pool[count++] = binary(&t, random_below(2) ? IR_MAX : IR_MIN, a, b);
			}
		}
		for (int o = 0; o < 3; o++)
			if (pool[count - 1 - 3 * o]->kind == IR_VALUE_RESULT)
				finish(&t, pool[count - 1 - 3 * o]);
		check_graph(&t, *state);
		graph_free(&t);
	}
}

/* More work between two nodes than a preemption point may be away. */
static void test_long_node(void **state)
{
	struct ir_value *operands[3] = { NULL };
	union ir_attrs attrs = {.matmul = {.alpha = 1, .beta = 1, .act = {.kind = IR_UNARY_NONE}}};
	struct test_graph t;

	random_seed(3);
	graph_init(&t);
	t.tolerance = 1e-4;
	operands[0] = add_operand(&t, IR_F32, 2, (int64_t[]){ 1024, 700 }, false);
	operands[1] = add_operand(&t, IR_F32, 2, (int64_t[]){ 700, 1500 }, true);
	finish(&t,
	       add_node(&t, IR_OP_MATMUL, operands, 3, IR_F32, 2, (int64_t[]){1024, 1500}, &attrs)
		       ->results[0]);
	check_graph(&t, *state);
	/* What lies in SRAM at those points must be kept, all of it and hardly more. */
	for (int size = 0; size < NUM_SIZES; size++)
		assert_true(check_preempted(&t, *state, size) >= 1);
	graph_free(&t);
}

static void test_refused(void **state)
{
	const struct npu_caps caps = {.sram_bytes = 1 << 20,
				      .lanes = 128,
				      .mxu_rows = 64,
				      .mxu_cols = 64,
				      .fifo_depth = 16,
				      .dma_bytes_per_cycle = 32};
	union ir_attrs attrs = { .unary = { .kind = IR_EXP } };
	struct wnn_error err = { 0 };
	struct npu_program *program;
	struct npu_reason reason = { 0 };
	struct ir_value *in;
	struct ir_node *node;
	struct test_graph t;

	(void)state;
	graph_init(&t);
	in = add_operand(&t, IR_I32, 1, (int64_t[]){ 4 }, false);
	node = add_node(&t, IR_OP_UNARY, &in, 1, IR_I32, 1, (int64_t[]){ 4 }, &attrs);
	assert_false(npu_supports(node, &caps, &reason));
	assert_int_equal(reason.class, NPU_REASON_DATA_TYPE);
	assert_non_null(strstr(reason.text, "float32"));
	assert_int_equal(
		npu_compile(t.graph, 0, 1, &node->results[0]->id, 1, &caps, false, &program, &err),
		-1);
	assert_null(program);
	assert_non_null(strstr(err.message, reason.text));
	graph_free(&t);
}

static struct ir_value *softmax(struct test_graph *t, struct ir_value *in, uint32_t axis)
{
	union ir_attrs attrs = { .axis = axis };
	int64_t dims[IR_MAX_RANK];

	for (uint32_t i = 0; i < in->type.rank; i++)
		dims[i] = ir_type_dim(&in->type, i);
	return add_node(t, IR_OP_SOFTMAX, &in, 1, in->type.dtype, in->type.rank, dims, &attrs)
		->results[0];
}

/* Jobs of few slots give the bits of one job, whatever kind of node they cut. */
static void test_jobs(void **state)
{
	const uint32_t limits[] = { 48, 64, 100, 250, 1000 };

	for (int layout = 0; layout < 2; layout++) {
		struct ir_value *fire, *bias;
		struct test_graph t;

		random_seed(77 + layout);
		graph_init(&t);
		fire = build_fire(&t, layout, 40);
		/* A broadcast operand stays in SRAM from tile to tile, but not from job to job. */
		bias = add_operand(&t, IR_F32, 1, (int64_t[]){ 1 }, false);
		finish(&t, softmax(&t, unary(&t, IR_EXP, binary(&t, IR_ADD, fire, bias)), 1));
		for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
			uint32_t jobs = check_split(&t, *state, 0, limits[i]);

			assert_true(limits[i] > 250 || jobs > 1);
			assert_true(limits[i] > 64 || jobs > 8);
		}
		assert_int_equal(check_split(&t, *state, 0, 65536), 1);
		graph_free(&t);
	}
}

/* Each defect that the verifier is for, put into a program that was right. */
static void test_verifier(void **state)
{
	const struct npu_caps caps = {.sram_bytes = 64 << 10,
				      .lanes = 128,
				      .mxu_rows = 64,
				      .mxu_cols = 64,
				      .fifo_depth = 16,
				      .dma_bytes_per_cycle = 32};
	struct npu_caps small = caps;
	struct wnn_error err = { 0 };
	struct npu_program *program;
	struct test_graph t;
	uint32_t saved[4], live;

	(void)state;
	random_seed(2);
	graph_init(&t);
	live = build_fire(&t, IR_NCHW, 27)->id;
	assert_int_equal(
		npu_compile(t.graph, 0, t.graph->num_nodes, &live, 1, &caps, true, &program, &err),
		0);
	assert_int_equal(npu_program_verify(program, &caps, &err), 0);
	small.sram_bytes = 16 << 10;
	assert_int_equal(npu_program_verify(program, &small, &err), -1);
	/* No end; an unknown word; a lost signal; a slot that does not exist. */
	program->num_insns--;
	assert_int_equal(npu_program_verify(program, &caps, &err), -1);
	assert_non_null(strstr(err.message, "ends"));
	program->num_insns++;
	for (uint32_t i = 0, lost = 0; i < program->num_insns; i++) {
		struct onpu_insn insn;

		memcpy(saved, program->insns[i], sizeof(saved));
		assert_int_equal(onpu_insn_unpack(saved, &insn), 0);
		if (insn.sv && !lost++) {
			insn.sv = 0;
			insn.ssem = 0;
			assert_int_equal(onpu_insn_pack(&insn, program->insns[i]), 0);
			assert_int_equal(npu_program_verify(program, &caps, &err), -1);
			assert_true(strstr(err.message, "waits for ever") ||
				    strstr(err.message, "nothing can run"));
			memcpy(program->insns[i], saved, sizeof(saved));
		}
		memset(program->insns[i], 0xff, sizeof(saved));
		assert_int_equal(npu_program_verify(program, &caps, &err), -1);
		memcpy(program->insns[i], saved, sizeof(saved));
	}
	program->num_patches--;
	assert_int_equal(npu_program_verify(program, &caps, &err), -1);
	assert_non_null(strstr(err.message, "patch"));
	program->num_patches++;
	program->num_slots--;
	assert_int_equal(npu_program_verify(program, &caps, &err), -1);
	program->num_slots++;
	assert_int_equal(npu_program_verify(program, &caps, &err), 0);
	npu_program_destroy(program);
	graph_free(&t);
}

/* ---- the arena's packer */

static void test_memory(void **state)
{
	(void)state;
	for (int round = 0; round < 200; round++) {
		struct memory_interval interval[60];
		uint32_t count = between(1, 60);
		uint64_t total, peak = 0;

		random_seed(round);
		for (uint32_t i = 0; i < count; i++) {
			uint32_t begin = random_below(40);

			interval[i] = (struct memory_interval){.bytes = between(1, 5000),
							       .begin = begin,
							       .end = begin + random_below(12)};
		}
		assert_int_equal(memory_pack(interval, count, &total), 0);
		for (uint32_t i = 0; i < count; i++) {
			assert_int_equal(interval[i].offset % PLAN_ALIGN, 0);
			assert_true(interval[i].offset + interval[i].bytes <= total);
			for (uint32_t j = 0; j < i; j++) {
				bool together = interval[i].begin <= interval[j].end &&
						interval[j].begin <= interval[i].end;

				assert_true(!together ||
					    interval[i].offset + interval[i].bytes <=
						    interval[j].offset ||
					    interval[j].offset + interval[j].bytes <=
						    interval[i].offset);
			}
		}
		/* Never worse than twice what is alive at the worst moment. */
		for (uint32_t now = 0; now < 60; now++) {
			uint64_t alive = 0;

			for (uint32_t i = 0; i < count; i++)
				if (interval[i].begin <= now && now <= interval[i].end)
					alive += interval[i].bytes;
			peak = alive > peak ? alive : peak;
		}
		assert_true(total <= 2 * peak);
	}
}

/* ---- the plan's text */

/* For 64 KiB; what differs here is a change of the planner, to be looked at and then written down.
 */
static const char *const golden =
	"program: 107 instructions, 97 slots, "
	"12160 constant bytes, 0 arena bytes, about 12194 cycles\n"
	"binding 0: value 0, 69984 bytes, read\n"
	"binding 1: value 11, 163296 bytes, written\n"
	"node 0 conv: mma.f32 taps, exact, 4 tiles, 25 instructions, "
	"139968 macs, 70784 bytes in, 2688 bytes out, about 3098 cycles\n"
	"node 1 conv: mma.f32 taps, exact, 4 tiles, 20 instructions, "
	"116640 macs, 720 bytes in, 58320 bytes out, about 2817 cycles\n"
	"node 2 conv: mma.f32 taps, exact, 14 tiles, 61 instructions, "
	"1889568 macs, 10512 bytes in, 104976 bytes out, about 6279 cycles\n"
	"node 3 concat: no code, exact, 0 tiles, 0 instructions, "
	"0 macs, 0 bytes in, 0 bytes out, about 0 cycles\n"
	"node 4 reshape: no code, exact, 0 tiles, 0 instructions, "
	"0 macs, 0 bytes in, 0 bytes out, about 0 cycles\n";

static void test_text(void **state)
{
	struct test_graph t;
	struct ir_value *fire;
	char *text;

	random_seed(9);
	graph_init(&t);
	fire = build_fire(&t, IR_NHWC, 27);
	finish(&t, reshape(&t, fire, 2, (int64_t[]){ 729, 56 }));
	text = plan_text(&t, *state, 1);
	assert_string_equal(text, golden);
	free(text);
	graph_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fire),	   cmocka_unit_test(test_sharing),
		cmocka_unit_test(test_random_graphs), cmocka_unit_test(test_long_node),
		cmocka_unit_test(test_refused),	   cmocka_unit_test(test_verifier),
		cmocka_unit_test(test_memory),	   cmocka_unit_test(test_text),
		cmocka_unit_test(test_jobs),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
