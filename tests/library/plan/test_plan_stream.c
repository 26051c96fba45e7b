// SPDX-License-Identifier: MIT
/* Tests groups of nodes that run in blocks: they give the same bits with less memory traffic. */
#include "fixture.h"
#include "nodes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE_64K = 1, SIZE_512K = 2 };

static int64_t bytes_of(const struct ir_value *value)
{
	return ir_type_bytes(&value->type);
}

/* ---- images */

struct image {
	struct ir_value *value;
	enum ir_layout layout;
};

static int64_t side(const struct image *image, int axis)
{
	return ir_type_dim(&image->value->type, (image->layout == IR_NHWC ? 1 : 2) + axis);
}

static int64_t channels(const struct image *image)
{
	return ir_type_dim(&image->value->type, image->layout == IR_NHWC ? 3 : 1);
}

static void image_dims(const struct image *image, int64_t c, int64_t h, int64_t w, int64_t *dims)
{
	const int64_t n = ir_type_dim(&image->value->type, 0);
	const int64_t nchw[4] = { n, c, h, w }, nhwc[4] = { n, h, w, c };

	memcpy(dims, image->layout == IR_NHWC ? nhwc : nchw, sizeof(nchw));
}

static struct image image_input(struct test_graph *t, enum ir_layout layout, enum ir_dtype dtype,
				int64_t n, int64_t c, int64_t h, int64_t w)
{
	const int64_t nchw[4] = { n, c, h, w }, nhwc[4] = { n, h, w, c };

	return (struct image){ add_operand(t, dtype, 4, layout == IR_NHWC ? nhwc : nchw, false),
			       layout };
}

static int64_t window_out(int64_t in, int64_t taps, const uint32_t *padding, uint32_t stride,
			  uint32_t dilation)
{
	return (in + padding[0] + padding[1] - (taps - 1) * dilation - 1) / stride + 1;
}

/*
 * Adds a convolution with relu, with the given padding, stride and dilation of its rows; returns
 * the result. It has @co output channels, or is depthwise when @co is 0.
 */
static struct image conv(struct test_graph *t, struct image in, int64_t co, int64_t taps,
			 uint32_t stride, uint32_t dilation, uint32_t above, uint32_t below)
{
	uint32_t side_pad = (uint32_t)(taps / 2);
	union ir_attrs attrs = { .conv = { .groups = 1,
					   .layout = in.layout,
					   .filter_layout = IR_OIHW,
					   .padding = { above, below, side_pad, side_pad },
					   .strides = { stride, 1 },
					   .dilations = { dilation, 1 },
					   .act = { .kind = IR_RELU } } };
	enum ir_dtype dtype = in.value->type.dtype;
	int64_t filter[4] = { co, channels(&in), taps, taps }, dims[4];
	struct ir_value *operands[3] = { in.value };

	if (!co) {
		attrs.conv.groups = (uint32_t)channels(&in);
		filter[0] = co = channels(&in);
		filter[1] = 1;
	}
	operands[1] = add_operand(t, dtype, 4, filter, true);
	operands[2] = add_operand(t, dtype, 1, &co, true);
	image_dims(&in, co, window_out(side(&in, 0), taps, attrs.conv.padding, stride, dilation),
		   side(&in, 1) + 2 * side_pad - taps + 1, dims);
	return (struct image){
		add_node(t, IR_OP_CONV, operands, 3, dtype, 4, dims, &attrs)->results[0], in.layout
	};
}

static struct image pool(struct test_graph *t, struct image in, enum ir_pool kind, uint32_t taps,
			 uint32_t stride, uint32_t padding)
{
	union ir_attrs attrs = { .pool = { .kind = kind,
					   .window = { taps, taps },
					   .padding = { padding, padding, padding, padding },
					   .strides = { stride, stride },
					   .dilations = { 1, 1 },
					   .layout = in.layout } };
	int64_t dims[4];

	image_dims(&in, channels(&in),
		   window_out(side(&in, 0), taps, attrs.pool.padding, stride, 1),
		   window_out(side(&in, 1), taps, attrs.pool.padding, stride, 1), dims);
	return (struct image){ add_node(t, IR_OP_POOL, &in.value, 1, in.value->type.dtype, 4, dims,
					&attrs)
				       ->results[0],
			       in.layout };
}

/*
 * Checks that the program moves less than its inputs, its outputs and `inner` bytes of values
 * between them.
 */
static void check_traffic(struct test_graph *t, void *state, int size, int64_t inner)
{
	struct traffic traffic = count_traffic(t, state, size);
	uint64_t outer = 0;

	for (uint32_t i = 0; i < t->num_inputs; i++)
		outer += (uint64_t)bytes_of(t->input[i]);
	for (uint32_t i = 0; i < t->num_outputs; i++)
		outer += (uint64_t)bytes_of(t->output[i]);
	assert_true(traffic.loaded + traffic.stored < outer + (uint64_t)inner);
}

/* Tests that the values in the middle, which are wide as in MobileNetV2, are never stored. */
static void test_bottleneck(void **state)
{
	for (int layout = IR_NCHW; layout <= IR_NHWC; layout++) {
		struct test_graph t;
		struct image in, out;
		int64_t inner;

		random_seed(700 + layout);
		graph_init(&t);
		t.tolerance = 1e-4;
		in = image_input(&t, layout, IR_F32, 1, 8, 64, 32);
		out = conv(&t, in, 48, 1, 1, 1, 0, 0);
		inner = bytes_of(out.value);
		out = conv(&t, out, 0, 3, 1, 1, 1, 1);
		out = conv(&t, out, 8, 1, 1, 1, 0, 0);
		out.value = node_binary(&t, IR_ADD, out.value, in.value);
		add_output(&t, out.value);
		check_graph(&t, *state);
		check_traffic(&t, *state, SIZE_64K, inner);
		assert_true(check_preempted(&t, *state, SIZE_64K) < UINT32_MAX);
		assert_true(check_split(&t, *state, SIZE_64K, 200) > 1);
		graph_free(&t);
	}
}

/* Tests that each image of a batch runs through many nodes before the next image begins. */
static void test_batch(void **state)
{
	struct test_graph t;
	struct image image;
	int64_t inner = 0;

	random_seed(720);
	graph_init(&t);
	t.tolerance = 1e-4;
	image = image_input(&t, IR_NCHW, IR_F32, 6, 4, 24, 24);
	for (int i = 0; i < 5; i++) {
		image = conv(&t, image, i % 2 ? 0 : 16, 3, 1, 1, 1, 1);
		inner += bytes_of(image.value);
	}
	add_output(&t, image.value);
	check_graph(&t, *state);
	check_traffic(&t, *state, SIZE_512K, inner);
	graph_free(&t);
}

/* Returns the multiplications of all nodes of the program, from the text of the plan. */
static uint64_t count_products(struct test_graph *t, void *state, int size)
{
	char *text = plan_text(t, state, size);
	uint64_t products = 0;

	for (const char *at = text; (at = strstr(at, " macs,"));) {
		const char *number = at++;

		while (number[-1] >= '0' && number[-1] <= '9')
			number--;
		products += strtoull(number, NULL, 10);
	}
	free(text);
	return products;
}

/*
 * Tests that rows which two blocks need are computed once, when that takes less time than computing
 * them twice. It does on onpu-ref1, which this test uses; on onpu-ref2 the first convolution
 * computes four rows twice.
 */
static void test_line_buffers(void **state)
{
	for (int layout = IR_NCHW; layout <= IR_NHWC; layout++) {
		struct test_graph t;
		struct image image;
		int64_t inner;

		random_seed(730 + layout);
		graph_init(&t);
		t.tolerance = 1e-4;
		image = image_input(&t, layout, IR_F32, 1, 16, 64, 32);
		image = conv(&t, image, 64, 3, 1, 1, 1, 1);
		inner = bytes_of(image.value);
		image = conv(&t, image, 0, 5, 1, 1, 2, 2);
		image = conv(&t, image, 32, 5, 1, 1, 2, 2);
		add_output(&t, image.value);
		check_graph(&t, *state);
		/* At least one of the two inner values is never stored. */
		assert_true(count_traffic(&t, *state, SIZE_512K).stored <
			    (uint64_t)(2 * inner + bytes_of(image.value)));
		assert_int_equal(count_products(&t, *state, SIZE_512K),
				 64 * 32 * (9 * 16 * 64 + 25 * 64 + 25 * 64 * 32));
		graph_free(&t);
	}
}

/*
 * Tests that the planner chooses a manner (plan_set_manner()) for each node. On onpu-ref2 with 512
 * KiB of SRAM, the program takes 52,031 cycles with the best manner for all nodes alike.
 */
static void test_mixture(void **state)
{
	static const int64_t layers[7][2] = { { 64, 1 }, { 0, 3 }, { 128, 1 }, { 0, 3 },
					      { 64, 3 }, { 0, 3 }, { 128, 3 } };
	struct npu_program *program;
	struct test_graph t;
	struct image image;

	random_seed(750);
	graph_init(&t);
	image = image_input(&t, IR_NCHW, IR_F16, 1, 32, 56, 56);
	for (int i = 0; i < 7; i++) {
		uint32_t padding = (uint32_t)layers[i][1] / 2;

		image = conv(&t, image, layers[i][0], layers[i][1], 1, 1, padding, padding);
		if (i == 1 || i == 3)
			image = pool(&t, image, IR_POOL_MAX, 2, 2, 0);
	}
	add_output(&t, image.value);
	program = compile_graph(&t, *state, SIZE_512K);
	assert_non_null(program);
	assert_in_range(program->est_cycles, 40000, 51000);
	npu_program_destroy(program);
	graph_free(&t);
}

static struct image random_layer(struct test_graph *t, struct image in)
{
	uint32_t taps = between(1, 3), stride = random_below(4) ? 1 : 2, dilation = between(1, 2);
	uint32_t above = random_below(3), below = random_below(3);

	switch (random_below(6)) {
	case 0:
		return pool(t, in, random_below(2) ? IR_POOL_MAX : IR_POOL_AVERAGE, taps, stride,
			    taps / 2);
	case 1:
		in.value = node_unary(t, IR_ABS, in.value);
		return in;
	case 2:
		in.value = node_binary(t, IR_MAX, in.value, node_unary(t, IR_NEG, in.value));
		return in;
	case 3:
		return conv(t, in, 0, taps, stride, dilation, above, below);
	default:
		return conv(t, in, between(4, 24), taps, stride, dilation, above, below);
	}
}

static void test_random_images(void **state)
{
	for (int i = 0; i < 24; i++) {
		struct test_graph t;
		struct image image, branch;

		random_seed(740 + i);
		graph_init(&t);
		t.tolerance = 1e-3;
		image = image_input(&t, random_below(2), IR_F32, between(1, 3), between(1, 12),
				    between(20, 60), between(8, 40));
		for (int layer = 0; layer < 4 && t.num_inputs + 6 < MAX_DATA; layer++) {
			if (side(&image, 0) < 8 || side(&image, 1) < 4)
				break;
			branch = image;
			image = random_layer(&t, image);
			/*
			 * The branch is concatenated with the image when their heights and widths
			 * match; otherwise the branch is an output.
			 */
			if (!random_below(3)) {
				branch = conv(&t, branch, 6, 1, 1, 1, 0, 0);
				if (side(&branch, 0) == side(&image, 0) &&
				    side(&branch, 1) == side(&image, 1))
					image.value = node_concat(&t, image.value, branch.value,
								  image.layout == IR_NHWC ? 3 : 1);
				else
					add_output(&t, branch.value);
			}
		}
		add_output(&t, image.value);
		check_graph(&t, *state);
		graph_free(&t);
	}
}

/* ---- rows */

/* Tests that the three nodes in the middle of an attention do not all store their scores. */
static void test_attention(void **state)
{
	static const enum ir_dtype types[] = { IR_F32, IR_F16 };

	for (int i = 0; i < 2; i++) {
		const int64_t q_dims[3] = { 3, 192, 16 }, k_dims[3] = { 3, 16, 192 };
		struct ir_value *scores, *weights, *mask;
		struct test_graph t;
		int64_t inner;

		random_seed(760 + i);
		graph_init(&t);
		t.split_keys = true;
		t.tolerance = types[i] == IR_F16 ? 1e-2 : 1e-4;
		scores = node_matmul(&t, add_operand(&t, types[i], 3, q_dims, false),
				     add_operand(&t, types[i], 3, k_dims, false));
		mask = add_operand(&t, types[i], 2, (int64_t[]){ 192, 192 }, false);
		scores = node_binary(&t, IR_ADD, scores, mask);
		weights = node_softmax(&t, scores, 2);
		inner = bytes_of(weights) * 4;
		add_output(&t,
			   node_matmul(&t, weights, add_operand(&t, types[i], 3, q_dims, false)));
		check_graph(&t, *state);
		check_traffic(&t, *state, SIZE_64K, inner);
		graph_free(&t);
	}
}

/* Returns whether the program's text says that its attention processes keys in blocks. */
static bool splits_keys(struct test_graph *t, void *state, int size)
{
	char *text = plan_text(t, state, size);
	bool splits = strstr(text, "split-keys") != NULL;

	free(text);
	return splits;
}

static struct ir_value *times_transposed(struct test_graph *t, struct ir_value *a,
					 struct ir_value *b)
{
	union ir_attrs attrs = { .matmul = { .b_transpose = true,
					     .alpha = 1,
					     .beta = 1,
					     .act = { .kind = IR_UNARY_NONE } } };
	struct ir_value *operands[2] = { a, b };
	int64_t dims[3] = { ir_type_dim(&a->type, 0), ir_type_dim(&a->type, 1),
			    ir_type_dim(&b->type, 1) };

	return add_node(t, IR_OP_MATMUL, operands, 2, a->type.dtype, 3, dims, &attrs)->results[0];
}

/*
 * Tests rows of scores that are too long for SRAM: keys are processed in blocks, wherever the
 * largest score is. Masked keys have no effect, even when they fill whole blocks; a row in which
 * all keys are masked gives NaN.
 */
static void test_long_attention(void **state)
{
	static const enum ir_dtype types[] = { IR_F32, IR_F16 };
	enum { ROWS = 64, KEYS = 8200, SIZE = 16 };

	for (int i = 0; i < 4; i++) {
		enum ir_dtype type = types[i % 2];
		const int64_t q_dims[3] = { 1, ROWS, SIZE }, k_dims[3] = { 1, KEYS, SIZE };
		const int64_t mask_dims[2] = { ROWS, KEYS };
		bool transposed = i > 1;
		struct ir_value *scores, *mask;
		struct test_graph t;
		float *masked;

		random_seed(770 + i);
		graph_init(&t);
		t.tolerance = type == IR_F16 ? 1e-2 : 1e-4;
		t.split_keys = true;
		scores = node_matmul(&t, add_operand(&t, type, 3, q_dims, false),
				     add_operand(&t, type, 3, (int64_t[]){ 1, SIZE, KEYS }, false));
		if (type == IR_F32) {
			mask = add_operand(&t, type, 2, mask_dims, false);
			masked = t.data[t.num_inputs - 1];
			for (int row = 0; row < ROWS; row++)
				for (int key = 0; key < KEYS; key++)
					if (row == 5 || key < 90 * row || key > 6000 + 30 * row)
						masked[row * KEYS + key] = -INFINITY;
			scores = node_binary(&t, IR_ADD, scores, mask);
		}
		scores = node_softmax(&t, scores, 2);
		if (transposed)
			scores = times_transposed(&t, scores,
						  add_operand(&t, type, 3,
							      (int64_t[]){ 1, SIZE, KEYS }, false));
		else
			scores = node_matmul(&t, scores, add_operand(&t, type, 3, k_dims, false));
		add_output(&t, scores);
		check_graph(&t, *state);

		assert_true(splits_keys(&t, *state, SIZE_512K));
		graph_free(&t);
	}
}

/*
 * Tests attention whose rows of scores fit into SRAM, but with so many rows that blocks of whole
 * rows would be too many: the scores do not go through memory.
 */
static void test_many_rows(void **state)
{
	enum { HEADS = 8, ROWS = 2560, KEYS = 576, SIZE = 16 };
	const int64_t q_dims[3] = { HEADS, ROWS, SIZE }, k_dims[3] = { HEADS, SIZE, KEYS };
	struct ir_value *scores;
	struct test_graph t;

	random_seed(790);
	graph_init(&t);
	t.split_keys = true;
	scores = node_matmul(&t, add_operand(&t, IR_F16, 3, q_dims, false),
			     add_operand(&t, IR_F16, 3, k_dims, false));
	add_output(&t, node_matmul(&t, node_softmax(&t, scores, 2),
				   add_operand(&t, IR_F16, 3, (int64_t[]){ HEADS, KEYS, SIZE },
					       false)));
	check_traffic(&t, *state, SIZE_512K, bytes_of(scores));
	assert_true(splits_keys(&t, *state, SIZE_512K));
	graph_free(&t);
}

/* Tests softmax along the columns, which needs all rows at once. */
static void test_columns(void **state)
{
	struct ir_value *value;
	struct test_graph t;

	random_seed(780);
	graph_init(&t);
	t.tolerance = 1e-4;
	value = node_matmul(&t, add_operand(&t, IR_F32, 2, (int64_t[]){ 96, 40 }, false),
			    add_operand(&t, IR_F32, 2, (int64_t[]){ 40, 300 }, true));
	value = node_softmax(&t, node_unary(&t, IR_TANH, value), 0);
	add_output(&t, node_unary(&t, IR_ABS, value));
	check_graph(&t, *state);
	graph_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bottleneck),     cmocka_unit_test(test_batch),
		cmocka_unit_test(test_random_images),  cmocka_unit_test(test_attention),
		cmocka_unit_test(test_long_attention), cmocka_unit_test(test_many_rows),
		cmocka_unit_test(test_columns),	       cmocka_unit_test(test_mixture),
	};
	const struct CMUnitTest ref1[] = { cmocka_unit_test(test_line_buffers) };

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown) |
	       cmocka_run_group_tests(ref1, fixture_setup_ref1, fixture_teardown);
}
