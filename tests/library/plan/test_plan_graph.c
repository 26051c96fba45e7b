// SPDX-License-Identifier: MIT
/*
 * Tests graphs of several nodes: memory that is shared and reused, the order between nodes, and the
 * plan's text.
 */
#include "nodes.h"

#include <stdlib.h>
#include <string.h>

#include "plan/list/plan.h"

static void test_fire(void **state)
{
	for (int layout = 0; layout < 2; layout++) {
		struct test_graph t;
		struct ir_value *fire;

		random_seed(layout);
		graph_init(&t);
		t.tolerance = 1e-4;
		fire = node_fire(&t, layout, 27);
		add_output(&t, node_unary(&t, IR_NEG, fire));
		check_graph(&t, *state);
		graph_free(&t);
	}
}

/* Tests that outputs, inputs, and a value that a concat takes twice do not share memory. */
static void test_sharing(void **state)
{
	int64_t dims[2] = { 30, 70 }, flat[1] = { 2100 };
	struct ir_value *x, *y, *z, *twice, *part;
	struct test_graph t;

	random_seed(1);
	graph_init(&t);
	t.tolerance = 0;
	x = add_operand(&t, IR_F32, 2, dims, false);
	add_output(&t, node_reshape(&t, x, 1, flat));
	y = node_unary(&t, IR_NEG, x);
	add_output(&t, y);
	add_output(&t, node_reshape(&t, y, 1, flat));
	z = node_unary(&t, IR_ABS, x);
	twice = node_concat(&t, z, z, 1);
	part = node_slice(&t, twice, 1, 35, 70);
	add_output(&t, node_reshape(&t, part, 1, flat)); /* strided, so that it must be copied */
	add_output(&t, node_binary(&t, IR_SUB, part, z));
	add_output(&t, node_concat(&t, node_concat(&t, node_unary(&t, IR_NEG, z), y, 0), part, 0));
	check_graph(&t, *state);
	graph_free(&t);
}

/*
 * Transposes a value by a rotation of its dimensions, applies abs, which may reuse the memory, and
 * returns the value transposed back. With @by = 0 there is no abs.
 */
static struct ir_value *transposed(struct test_graph *t, struct ir_value *in, uint32_t by)
{
	uint32_t there[3], back[3];

	for (uint32_t i = 0; i < 3; i++) {
		there[i] = (i + by) % 3;
		back[there[i]] = i;
	}
	in = node_transpose(t, in, there);
	return node_transpose(t, by ? node_unary(t, IR_ABS, in) : in, back);
}

/* Tests random graphs of values of one shape, where late nodes reuse the memory of early ones. */
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

			switch (random_below(8)) {
			case 0:
				pool[count++] = node_unary(&t, IR_NEG, a);
				break;
			case 1:
				pool[count++] =
					node_reshape(&t, node_reshape(&t, a, 1, flat), 3, dims);
				break;
			case 2:
				pool[count++] = node_slice(&t, node_concat(&t, a, b, axis), axis,
							   random_below(dims[axis] + 1),
							   dims[axis]);
				break;
			case 3:
				pool[count++] = node_concat(
					&t, node_slice(&t, b, axis, 1, dims[axis] - 1),
					node_slice(&t, node_unary(&t, IR_ABS, a), axis, 0, 1),
					axis);
				break;
			case 4:
				pool[count++] = transposed(&t, a, axis);
				break;
			case 5:
				pool[count++] =
					node_expand(&t, node_slice(&t, b, axis, 0, 1), 3, dims);
				break;
			default:
				pool[count++] =
					node_binary(&t, random_below(2) ? IR_MAX : IR_MIN, a, b);
			}
		}
		for (int o = 0; o < 3; o++)
			if (pool[count - 1 - 3 * o]->kind == IR_VALUE_RESULT)
				add_output(&t, pool[count - 1 - 3 * o]);
		check_graph(&t, *state);
		graph_free(&t);
	}
}

/* Tests a node with more work than is allowed without a preemption point. */
static void test_long_node(void **state)
{
	struct ir_value *operands[3] = { NULL };
	union ir_attrs attrs = {
		.matmul = { .alpha = 1, .beta = 1, .act = { .kind = IR_UNARY_NONE } }
	};
	struct test_graph t;

	random_seed(3);
	graph_init(&t);
	t.tolerance = 1e-4;
	operands[0] = add_operand(&t, IR_F32, 2, (int64_t[]){ 3800, 64 }, false);
	operands[1] = add_operand(&t, IR_F32, 2, (int64_t[]){ 64, 1500 }, true);
	add_output(&t, add_node(&t, IR_OP_MATMUL, operands, 3, IR_F32, 2, (int64_t[]){ 3800, 1500 },
				&attrs)
			       ->results[0]);
	check_graph(&t, *state);
	/* All values in SRAM at these preemption points must be saved and restored. */
	for (int size = 0; size < NUM_SIZES; size++)
		assert_true(check_preempted(&t, *state, size) >= 1);
	graph_free(&t);
}

static void test_refused(void **state)
{
	const struct npu_caps caps = { .sram_bytes = 1 << 20,
				       .lanes = ONPU_CAP_LANES__RESET,
				       .mxu_rows = ONPU_CAP_MXU_ROWS__RESET,
				       .mxu_cols = ONPU_CAP_MXU_COLS__RESET,
				       .fifo_depth = ONPU_CAP_FIFO_DEPTH__RESET,
				       .dma_bytes_per_cycle = ONPU_CAP_DMA_BYTES__RESET };
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
	assert_int_equal(npu_compile(t.graph, 0, 1, &node->results[0]->id, 1, &caps, false, NULL,
				     &program, &err),
			 -1);
	assert_null(program);
	assert_non_null(strstr(err.message, "test: "));
	assert_non_null(strstr(err.message, reason.text));
	graph_free(&t);
}

static struct ir_node *named_softmax(struct test_graph *t, struct ir_value *in, const char *label)
{
	const union ir_attrs attrs = { .axis = 1 };
	struct ir_node *node = ir_add_node(t->graph, IR_OP_SOFTMAX, &in, 1, &in->type, 1, &attrs,
					   label, "softmax");

	assert_non_null(node);
	return node;
}

/*
 * Tests that rows too long for the slots of one job are refused, because a row cannot be divided.
 */
static void test_refusals(void **state)
{
	const struct npu_caps caps = { .sram_bytes = 16384,
				       .lanes = ONPU_CAP_LANES__RESET,
				       .mxu_rows = ONPU_CAP_MXU_ROWS__RESET,
				       .mxu_cols = ONPU_CAP_MXU_COLS__RESET,
				       .fifo_depth = ONPU_CAP_FIFO_DEPTH__RESET,
				       .max_slots = 40,
				       .dma_bytes_per_cycle = ONPU_CAP_DMA_BYTES__RESET };
	struct npu_refusals refusals = { 0 };
	struct ir_node *node[2];
	struct npu_program *program;
	struct ir_value *value;
	struct test_graph t;

	(void)state;
	graph_init(&t);
	value = add_operand(&t, IR_F32, 2, (int64_t[]){ 1, 60000 }, false);
	for (int i = 0; i < 2; i++) {
		value = node_unary(&t, IR_NEG, value);
		node[i] = named_softmax(&t, value, i ? "second" : "fir\nst");
		value = node[i]->results[0];
	}
	for (uint32_t i = 0; i < 2; i++) {
		const char *name = i ? "softmax \"second\": the operator has a part" :
				       "softmax \"fir\\u000ast\": the operator has a part";
		struct wnn_error err = { 0 };

		/*
		 * The first round compiles both rows, and the error names the first; the second
		 * round compiles the second row alone.
		 */
		assert_int_equal(npu_compile(t.graph, 2 * i, 4 - 2 * i, &value->id, 1, &caps, false,
					     &refusals, &program, &err),
				 -1);
		assert_null(program);
		assert_int_equal(err.status, WNN_OPERATION_ERROR);
		assert_ptr_equal(strstr(err.message, name), err.message);
		assert_int_equal(refusals.count, 2 - i);
		for (uint32_t k = 0; k < 4; k++) {
			const char *why = npu_refusals_why(&refusals, t.graph->nodes[k]);

			assert_int_equal(why != NULL, k == 3 || (k == 1 && !i));
			assert_true(!why || strstr(why, "than the 39 that a job"));
		}
		npu_refusals_destroy(&refusals);
	}
	graph_free(&t);
}

/* Tests that jobs with few slots give the bits of one job, whatever kind of node they divide. */
static void test_jobs(void **state)
{
	const uint32_t limits[] = { 48, 64, 100, 250, 1000 };

	for (int layout = 0; layout < 2; layout++) {
		struct ir_value *fire, *bias;
		struct test_graph t;

		random_seed(77 + layout);
		graph_init(&t);
		fire = node_fire(&t, layout, 24);
		/* A broadcast operand stays in SRAM from tile to tile, but not from job to job. */
		bias = add_operand(&t, IR_F32, 1, (int64_t[]){ 1 }, false);
		add_output(&t,
			   node_softmax(&t,
					node_unary(&t, IR_EXP, node_binary(&t, IR_ADD, fire, bias)),
					1));
		for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
			uint32_t jobs = check_split(&t, *state, 0, limits[i]);

			assert_true(limits[i] > 250 || jobs > 1);
			assert_true(limits[i] > 64 || jobs > 8);
		}
		assert_int_equal(check_split(&t, *state, 0, 65536), 1);
		graph_free(&t);
	}
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

			interval[i] = (struct memory_interval){ .bytes = between(1, 5000),
								.begin = begin,
								.end = begin + random_below(12) };
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
		/* The arena is never larger than twice the peak of the live bytes. */
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

static bool lives_before(const struct memory_interval *a, const struct memory_interval *b)
{
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes;
	return a->begin != b->begin ? a->begin < b->begin : a < b;
}

/* Returns the lowest offset for `next`; the placed intervals are sorted by offset. */
static uint64_t lowest_offset(struct memory_interval *const *placed, uint32_t count,
			      const struct memory_interval *next)
{
	uint64_t at = 0;

	for (uint32_t i = 0; i < count && placed[i]->offset < at + next->bytes; i++) {
		bool together = placed[i]->begin <= next->end && next->begin <= placed[i]->end;
		uint64_t end = placed[i]->offset + placed[i]->bytes;

		at = together && end > at ? end : at;
	}
	return at;
}

/*
 * Sets the offsets of intervals as memory_pack() must: the largest interval comes first, the
 * earliest of equal ones, each at the lowest free offset. Finds that offset by a search over all
 * intervals that have one already.
 */
static void pack_slowly(struct memory_interval *interval, uint32_t count)
{
	struct memory_interval *order[2000], *placed[2000];

	for (uint32_t i = 0; i < count; i++) {
		struct memory_interval *next = &interval[i];
		uint32_t at = i;

		next->bytes = (next->bytes + PLAN_ALIGN - 1) / PLAN_ALIGN * PLAN_ALIGN;
		for (; at && lives_before(next, order[at - 1]); at--)
			order[at] = order[at - 1];
		order[at] = next;
	}
	for (uint32_t i = 0; i < count; i++) {
		uint32_t at = i;

		order[i]->offset = order[i]->bytes ? lowest_offset(placed, i, order[i]) : 0;
		for (; at && placed[at - 1]->offset > order[i]->offset; at--)
			placed[at] = placed[at - 1];
		placed[at] = order[i];
	}
}

/* Gives interval i the live range of a value in a tree that begins with all its leaves. */
static void leaf_or_sum(struct memory_interval *interval, uint32_t i, uint32_t count)
{
	uint32_t leaves = count / 2 + 1;

	interval->begin = i;
	interval->end = leaves + i / 2;
}

/* Tests that memory_pack() gives many intervals the offsets that pack_slowly() gives. */
static void test_memory_many(void **state)
{
	static const uint32_t counts[] = { 33, 200, 700, 2000 };
	/*
	 * The number of sizes that intervals may have; each is tested with random live ranges and
	 * with those of trees.
	 */
	static const uint32_t sizes[] = { 1, 2, 5, 64 };

	(void)state;
	for (uint32_t round = 0; round < 4 * 4 * 4; round++) {
		static struct memory_interval interval[2000], wanted[2000];
		uint32_t count = counts[round / 4 % 4], kinds = sizes[round % 4];
		uint64_t total, most = 0;

		random_seed(round);
		for (uint32_t i = 0; i < count; i++) {
			interval[i] = (struct memory_interval){
				.bytes = 100 * random_below(kinds) + (kinds > 2 ? 0 : 100),
				.begin = random_below(count),
			};
			interval[i].end =
				interval[i].begin + random_below(round / 16 == 1 ? count : 20);
			if (round / 16 > 1)
				leaf_or_sum(&interval[i], i, count);
			/* Some live ranges are much longer than others, or shorter. */
			if (round / 16 == 3 && !random_below(30))
				interval[i].end = interval[i].begin + random_below(count);
		}
		memcpy(wanted, interval, sizeof(wanted));
		assert_int_equal(memory_pack(interval, count, &total), 0);
		pack_slowly(wanted, count);
		for (uint32_t i = 0; i < count; i++) {
			uint64_t end = wanted[i].bytes ? wanted[i].offset + wanted[i].bytes : 0;

			assert_int_equal(interval[i].offset, wanted[i].offset);
			most = end > most ? end : most;
		}
		assert_int_equal(total, most);
	}
}

/* Tests that a chain of values needs memory for two neighbours only; some values have no bytes. */
static void test_memory_chain(void **state)
{
	struct memory_interval interval[2000];
	uint64_t total;

	(void)state;
	for (uint32_t i = 0; i < 2000; i++)
		interval[i] = (struct memory_interval){ .bytes = i % 10 ? 1000 : 0,
							.begin = i,
							.end = i + 1 };
	assert_int_equal(memory_pack(interval, 2000, &total), 0);
	assert_int_equal(total, 2 * 1024);
}

/* ---- the plan's text */

/*
 * The plan's text for onpu-ref2 with 64 KiB of SRAM. A difference here is a change of the planner:
 * review it, then update the text.
 */
static const char *const golden =
	"program: 108 instructions, 97 slots, "
	"12160 constant bytes, 0 arena bytes, about 10987 cycles\n"
	"binding 0: value 0, 69984 bytes, read\n"
	"binding 1: value 11, 163296 bytes, written\n"
	"node 0 conv: mma.f32 taps, exact, 4 tiles, 27 instructions, "
	"139968 macs, 70784 bytes in, 0 bytes out, about 2577 cycles\n"
	"node 1 conv: mma.f32 taps, exact, 4 tiles, 20 instructions, "
	"116640 macs, 720 bytes in, 58320 bytes out, about 2153 cycles\n"
	"node 2 conv: mma.f32 taps, exact, 14 tiles, 60 instructions, "
	"1889568 macs, 10512 bytes in, 104976 bytes out, about 6440 cycles\n"
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
	fire = node_fire(&t, IR_NHWC, 27);
	add_output(&t, node_reshape(&t, fire, 2, (int64_t[]){ 729, 56 }));
	text = plan_text(&t, *state, 1);
	assert_string_equal(text, golden);
	free(text);
	graph_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fire),	      cmocka_unit_test(test_sharing),
		cmocka_unit_test(test_random_graphs), cmocka_unit_test(test_long_node),
		cmocka_unit_test(test_refused),	      cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_memory),	      cmocka_unit_test(test_memory_many),
		cmocka_unit_test(test_memory_chain),  cmocka_unit_test(test_text),
		cmocka_unit_test(test_jobs),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
