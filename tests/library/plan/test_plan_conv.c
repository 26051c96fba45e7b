// SPDX-License-Identifier: MIT
/* Tests convolutions, pools and matrix products of random shapes in every layout. */
#include "fixture.h"

#include <string.h>

static const struct ir_unary_attrs no_act = { .kind = IR_UNARY_NONE };

static struct ir_unary_attrs random_act(void)
{
	struct ir_unary_attrs act = { .kind = IR_UNARY_NONE };

	switch (random_below(4)) {
	case 0:
		act.kind = IR_RELU;
		break;
	case 1:
		act.kind = IR_CLAMP;
		act.alpha = -1;
		act.beta = 1.5f;
		break;
	}
	return act;
}

/*
 * Returns the tolerance of a sum, which grows with its length. It is relative to the largest
 * result, which a clamp may have made much smaller than the sum.
 */
static double sum_tolerance(enum ir_dtype dtype, int64_t terms)
{
	return (dtype == IR_F16 ? 4e-3 : 1e-5) + 4e-8 * terms;
}

static void image_dims(enum ir_layout layout, int64_t n, int64_t c, int64_t h, int64_t w,
		       int64_t *dims)
{
	const int64_t nchw[4] = { n, c, h, w }, nhwc[4] = { n, h, w, c };

	memcpy(dims, layout == IR_NHWC ? nhwc : nchw, sizeof(nchw));
}

static void filter_dims(enum ir_filter_layout layout, int64_t o, int64_t i, int64_t h, int64_t w,
			int64_t *dims)
{
	static const char *const names[] = { "oihw", "hwio", "ohwi", "ihwo", "iohw", "hwoi" };

	for (int d = 0; d < 4; d++)
		dims[d] = names[layout][d] == 'o' ? o :
			  names[layout][d] == 'i' ? i :
			  names[layout][d] == 'h' ? h :
						    w;
}

static int64_t conv_out(int64_t in, int64_t k, uint32_t lo, uint32_t hi, uint32_t stride,
			uint32_t dilation)
{
	int64_t window = (k - 1) * dilation + 1;

	return in + lo + hi < window ? 0 : (in + lo + hi - window) / stride + 1;
}

struct conv_shape {
	int64_t n, groups, ci, co, h, w, kh, kw; /* ci, co: channels per group */
};

static void run_conv(void **state, const struct conv_shape *s, enum ir_dtype dtype, bool constant)
{
	union ir_attrs attrs = { .conv = { .groups = s->groups,
					   .layout = random_below(2),
					   .filter_layout = random_below(4),
					   .act = random_act() } };
	struct ir_conv_attrs *conv = &attrs.conv;
	struct ir_value *operands[3] = { NULL };
	int64_t in[4], filter[4], out[4], oh, ow;
	struct test_graph t;

	for (int i = 0; i < 2; i++) {
		conv->strides[i] = between(1, 3);
		conv->dilations[i] = between(1, 2);
	}
	for (int i = 0; i < 4; i++)
		conv->padding[i] = random_below(4);
	oh = conv_out(s->h, s->kh, conv->padding[0], conv->padding[1], conv->strides[0],
		      conv->dilations[0]);
	ow = conv_out(s->w, s->kw, conv->padding[2], conv->padding[3], conv->strides[1],
		      conv->dilations[1]);
	if (oh < 1 || ow < 1)
		return;
	graph_init(&t);
	t.tolerance = sum_tolerance(dtype, s->ci * s->kh * s->kw);
	image_dims(conv->layout, s->n, s->groups * s->ci, s->h, s->w, in);
	image_dims(conv->layout, s->n, s->groups * s->co, oh, ow, out);
	filter_dims(conv->filter_layout, s->groups * s->co, s->ci, s->kh, s->kw, filter);
	operands[0] = add_operand(&t, dtype, 4, in, false);
	operands[1] = add_operand(&t, dtype, 4, filter, constant);
	if (random_below(3))
		operands[2] = add_operand(&t, dtype, 1, (int64_t[]){ s->groups * s->co },
					  random_below(2));
	add_result(&t, add_node(&t, IR_OP_CONV, operands, 3, dtype, 4, out, &attrs));
	check_graph(&t, *state);
	graph_free(&t);
}

static void test_conv(void **state)
{
	for (int i = 0; i < 60; i++) {
		struct conv_shape s = {
			.n = between(1, 2),
			.groups = random_below(3) ? 1 : between(2, 4),
			.ci = between(1, 20),
			.co = between(1, 40),
			.h = between(1, 24),
			.w = between(1, 24),
			.kh = between(1, 5),
			.kw = between(1, 5),
		};

		random_seed(1000 + i);
		run_conv(state, &s, i % 4 == 3 ? IR_F16 : IR_F32, random_below(4));
	}
}

/*
 * Tests convolutions whose sums are too long for one tile in a small SRAM: they are cut by rows,
 * taps and channels.
 */
static void test_conv_deep(void **state)
{
	static const struct conv_shape shapes[] = {
		{ 1, 1, 600, 33, 7, 6, 3, 3 },
		{ 1, 1, 2000, 20, 5, 5, 1, 1 },
		{ 2, 1, 130, 70, 9, 9, 3, 5 },
		{ 1, 2, 512, 8, 4, 4, 2, 2 },
	};

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		random_seed(7 + i);
		run_conv(state, &shapes[i], i == 2 ? IR_F16 : IR_F32, true);
		run_conv(state, &shapes[i], IR_F32, false);
	}
}

static void test_conv_depthwise(void **state)
{
	for (int i = 0; i < 24; i++) {
		struct conv_shape s;

		random_seed(2000 + i);
		s = (struct conv_shape){
			.n = between(1, 2),
			.groups = between(2, 70),
			.ci = 1,
			.co = between(1, 3),
			.h = between(3, 30),
			.w = between(3, 30),
			.kh = between(1, 4),
			.kw = between(1, 4),
		};
		run_conv(state, &s, i % 4 == 3 ? IR_F16 : IR_F32, random_below(3));
	}
}

/* Tests a transposed convolution; `stride` is the largest stride. */
static void run_transposed(void **state, int seed, uint32_t stride, enum ir_dtype dtype)
{
	union ir_attrs attrs = { .conv = { .transposed = true, .act = no_act } };
	static const enum ir_filter_layout layouts[3] = { IR_IOHW, IR_HWOI, IR_OHWI };
	int64_t n = between(1, 2), ci = between(1, 12), co = between(1, 20), k[2], in[2], out[2];
	struct ir_conv_attrs *conv = &attrs.conv;
	struct ir_value *operands[3] = { NULL };
	int64_t in_dims[4], f_dims[4], out_dims[4];
	struct test_graph t;

	conv->groups = seed % 3 ? 1 : 2;
	conv->layout = random_below(2);
	conv->filter_layout = layouts[random_below(3)];
	for (int i = 0; i < 2; i++) {
		k[i] = between(1, 4);
		in[i] = between(1, 12);
		conv->strides[i] = between(1, stride);
		conv->dilations[i] = between(1, stride > 3 ? 4 : 2);
		conv->padding[2 * i] = random_below(2);
		conv->padding[2 * i + 1] = random_below(2);
		out[i] = (in[i] - 1) * conv->strides[i] + (k[i] - 1) * conv->dilations[i] + 1 -
			 conv->padding[2 * i] - conv->padding[2 * i + 1] +
			 random_below(conv->strides[i]);
		if (out[i] < 1)
			return;
	}
	graph_init(&t);
	t.tolerance = sum_tolerance(dtype, ci * k[0] * k[1]);
	image_dims(conv->layout, n, conv->groups * ci, in[0], in[1], in_dims);
	image_dims(conv->layout, n, conv->groups * co, out[0], out[1], out_dims);
	filter_dims(conv->filter_layout, co, conv->groups * ci, k[0], k[1], f_dims);
	operands[0] = add_operand(&t, dtype, 4, in_dims, false);
	operands[1] = add_operand(&t, dtype, 4, f_dims, random_below(2));
	operands[2] = add_operand(&t, dtype, 1, (int64_t[]){ conv->groups * co }, true);
	add_result(&t, add_node(&t, IR_OP_CONV, operands, 3, dtype, 4, out_dims, &attrs));
	check_graph(&t, *state);
	graph_free(&t);
}

static void test_conv_transposed(void **state)
{
	for (int i = 0; i < 54; i++) {
		random_seed(3000 + i);
		run_transposed(state, i,
			       i < 30 ? 3 :
			       i % 4  ? 7 :
					40,
			       i < 30 || i % 3 ? IR_F32 : IR_F16);
	}
}

/*
 * Makes a transposed convolution of an image of `size` x `size`, with c input and c output
 * channels.
 */
static void init_upscale(struct test_graph *t, int64_t c, int64_t size, int64_t k, uint32_t stride)
{
	union ir_attrs attrs = { .conv = { .transposed = true,
					   .groups = 1,
					   .strides = { stride, stride },
					   .dilations = { 1, 1 },
					   .filter_layout = IR_IOHW,
					   .act = no_act } };
	int64_t out = (size - 1) * stride + k;
	struct ir_value *operands[3] = { NULL };

	graph_init(t);
	t->tolerance = 1e-4;
	operands[0] = add_operand(t, IR_F32, 4, (int64_t[]){ 1, c, size, size }, false);
	operands[1] = add_operand(t, IR_F32, 4, (int64_t[]){ c, c, k, k }, true);
	add_result(t, add_node(t, IR_OP_CONV, operands, 3, IR_F32, 4, (int64_t[]){ 1, c, out, out },
			       &attrs));
}

/*
 * Tests that a transposed convolution with strides takes few instructions: the planner skips
 * products with the zeros that the strides put between the pixels of the input.
 */
static void test_conv_wide(void **state)
{
	static const struct {
		int64_t c, size, k;
		uint32_t stride, limit;
	} shapes[] = {
		{ 16, 16, 3, 32, 33000 },
		{ 16, 64, 4, 8, 40000 },
		{ 16, 64, 4, 2, 7000 },
	};

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		struct npu_program *program;
		struct test_graph t;

		init_upscale(&t, shapes[i].c, shapes[i].size, shapes[i].k, shapes[i].stride);
		program = compile_graph(&t, *state, 0);
		if (program->num_insns > shapes[i].limit)
			fail_msg("%u instructions", program->num_insns);
		npu_program_destroy(program);
		graph_free(&t);
	}
}

/*
 * The phases of a transposed convolution (one for each offset within its stride) share a block of
 * the result in SRAM, which is kept from phase to phase and freed before the next block.
 */
static void test_conv_blocks(void **state)
{
	struct test_graph t;

	init_upscale(&t, 8, 50, 4, 2);
	assert_true(check_split(&t, *state, 0, 250) > 1);
	graph_free(&t);
	init_upscale(&t, 16, 64, 5, 3);
	assert_true(check_preempted(&t, *state, 0) >= 1);
	graph_free(&t);
}

/* Tests very large windows, dilations and strides. */
static void test_conv_extreme(void **state)
{
	static const struct {
		int64_t c, h, w, o, oh, ow, kh, kw;
		uint32_t stride, dilation, groups;
		bool transposed;
	} shapes[] = {
		{ 1, 3, 5000, 1, 3, 4001, 1, 1000, 1, 1, 1, false },
		{ 4, 2, 5000, 4, 2, 4001, 1, 1000, 1, 1, 4, false },
		{ 3, 200, 200, 4, 4, 4, 5, 5, 1, 49, 1, false },
		{ 2, 300, 300, 2, 1, 1, 300, 300, 1, 1, 2, false },
		{ 3, 40, 40, 5, 352, 352, 1, 1, 9, 1, 1, true },
		{ 2, 30, 30, 3, 121, 121, 5, 5, 4, 1, 1, true },
		{ 3, 2, 3, 5, 34, 66, 2, 2, 32, 1, 1, true },
		{ 2, 2, 3, 3, 62, 122, 2, 2, 60, 1, 1, true },
	};

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		union ir_attrs attrs = {
			.conv = { .groups = shapes[i].groups,
				  .strides = { shapes[i].stride, shapes[i].stride },
				  .dilations = { shapes[i].dilation, shapes[i].dilation },
				  .layout = i & 1,
				  .transposed = shapes[i].transposed,
				  .act = no_act,
				  .filter_layout = shapes[i].transposed ? IR_IOHW : IR_OIHW }
		};
		int64_t in[4], out[4], filter[4];
		struct ir_value *operands[3] = { NULL };
		struct test_graph t;

		random_seed(i);
		graph_init(&t);
		t.tolerance = 1e-3;
		image_dims(i & 1, 1, shapes[i].c, shapes[i].h, shapes[i].w, in);
		image_dims(i & 1, 1, shapes[i].o, shapes[i].oh, shapes[i].ow, out);
		filter_dims(attrs.conv.filter_layout, shapes[i].o,
			    shapes[i].transposed ? shapes[i].c : shapes[i].c / shapes[i].groups,
			    shapes[i].kh, shapes[i].kw, filter);
		operands[0] = add_operand(&t, IR_F32, 4, in, false);
		operands[1] = add_operand(&t, IR_F32, 4, filter, i & 1);
		add_result(&t, add_node(&t, IR_OP_CONV, operands, 3, IR_F32, 4, out, &attrs));
		check_graph(&t, *state);
		graph_free(&t);
	}
}

static void run_pool(void **state, int kind, enum ir_dtype dtype, int64_t size, int64_t window)
{
	union ir_attrs attrs = { .pool = { .kind = kind, .layout = random_below(2) } };
	struct ir_pool_attrs *pool = &attrs.pool;
	int64_t n = between(1, 2), c = between(1, 20), in[2], out[2], in_dims[4], out_dims[4];
	struct ir_value *input;
	struct test_graph t;

	pool->counts_padding = kind == IR_POOL_AVERAGE && random_below(2);
	for (int i = 0; i < 2; i++) {
		in[i] = between(size / 2 + 1, size);
		pool->window[i] = window ? in[i] : between(1, 4);
		pool->strides[i] = between(1, 3);
		pool->dilations[i] = window ? 1 : between(1, 2);
		/* No window is in the padding alone. */
		for (int e = 0; e < 2 && !window; e++)
			pool->padding[2 * i + e] = random_below(pool->window[i] > 1 ? 2 : 1);
		out[i] = conv_out(in[i], pool->window[i], pool->padding[2 * i],
				  pool->padding[2 * i + 1], pool->strides[i], pool->dilations[i]);
		if (out[i] < 1)
			return;
	}
	graph_init(&t);
	image_dims(pool->layout, n, c, in[0], in[1], in_dims);
	image_dims(pool->layout, n, c, out[0], out[1], out_dims);
	t.tolerance = kind == IR_POOL_MAX ? 0 : dtype == IR_F16 ? 2e-3 : 1e-5;
	input = add_operand(&t, dtype, 4, in_dims, false);
	add_result(&t, add_node(&t, IR_OP_POOL, &input, 1, dtype, 4, out_dims, &attrs));
	check_graph(&t, *state);
	graph_free(&t);
}

static void test_pool(void **state)
{
	static const enum ir_dtype types[] = { IR_F32, IR_F16, IR_F32, IR_I8,
					       IR_U8,  IR_I32, IR_I64, IR_F32 };

	for (int i = 0; i < 72; i++) {
		int kind = i % 3;

		random_seed(4000 + i);
		run_pool(state, kind, kind == IR_POOL_MAX ? types[i / 3 % 8] : types[i / 3 % 2],
			 i % 8 == 7 ? 90 : 24, i % 8 == 7);
	}
}

/* ---- matrix products */

static void run_matmul(void **state, int64_t m, int64_t k, int64_t n, int batch,
		       enum ir_dtype dtype)
{
	union ir_attrs attrs = { .matmul = { .a_transpose = random_below(2),
					     .b_transpose = random_below(2),
					     .alpha = 1,
					     .beta = 1,
					     .act = random_act() } };
	int64_t out[4] = { 1, 1, m, n }, a[4], b[4],
		c[2] = { random_below(2) ? m : 1, random_below(2) ? n : 1 };
	struct ir_value *operands[3] = { NULL };
	uint32_t rank = 2 + batch;
	struct test_graph t;

	for (int i = 0; i < batch; i++)
		out[2 - batch + i] = between(1, 4);
	memcpy(a, out, sizeof(a));
	memcpy(b, out, sizeof(b));
	for (int i = 0; i < batch; i++) {
		if (!random_below(3))
			a[2 - batch + i] = 1;
		else if (!random_below(3))
			b[2 - batch + i] = 1;
		if (a[2 - batch + i] == 1 && b[2 - batch + i] == 1)
			out[2 - batch + i] = 1;
	}
	a[2] = attrs.matmul.a_transpose ? k : m;
	a[3] = attrs.matmul.a_transpose ? m : k;
	b[2] = attrs.matmul.b_transpose ? n : k;
	b[3] = attrs.matmul.b_transpose ? k : n;
	if (!batch && random_below(2)) {
		attrs.matmul.alpha = 0.75f;
		attrs.matmul.beta = 1.25f;
	}
	graph_init(&t);
	t.tolerance = sum_tolerance(dtype, k);
	operands[0] = add_operand(&t, dtype, rank, a + 2 - batch, !random_below(4));
	operands[1] = add_operand(&t, dtype, rank, b + 2 - batch, random_below(2));
	if (random_below(2))
		operands[2] = add_operand(&t, dtype, 2, c, random_below(2));
	add_result(&t,
		   add_node(&t, IR_OP_MATMUL, operands, 3, dtype, rank, out + 2 - batch, &attrs));
	check_graph(&t, *state);
	graph_free(&t);
}

static void test_matmul(void **state)
{
	for (int i = 0; i < 48; i++) {
		random_seed(5000 + i);
		run_matmul(state, between(1, 90), between(1, 90), between(1, 90), i % 3,
			   i % 5 == 4 ? IR_F16 : IR_F32);
	}
	random_seed(77);
	run_matmul(state, 1, 5000, 40, 0, IR_F32);
	run_matmul(state, 300, 3000, 5, 0, IR_F32);
	run_matmul(state, 17, 9000, 3, 0, IR_F16);
	run_matmul(state, 1, 3, 100000, 0, IR_F32);
	run_matmul(state, 100000, 2, 1, 0, IR_F32);
}

/*
 * Returns whether the NPU takes a convolution with a filter of side x side weights. The last weight
 * of a constant filter has these bits.
 */
static bool takes_weight(enum ir_dtype dtype, uint32_t bits, int64_t side, uint32_t padding,
			 bool transposed, bool constant)
{
	const struct npu_caps caps = { .sram_bytes = 1 << 20,
				       .lanes = ONPU_CAP_LANES__RESET,
				       .mxu_rows = ONPU_CAP_MXU_ROWS__RESET,
				       .mxu_cols = ONPU_CAP_MXU_COLS__RESET,
				       .fifo_depth = ONPU_CAP_FIFO_DEPTH__RESET,
				       .dma_bytes_per_cycle = ONPU_CAP_DMA_BYTES__RESET };
	union ir_attrs attrs = { .conv = { .padding = { 0, 0, 0, padding },
					   .strides = { 1, 1 },
					   .dilations = { 1, 1 },
					   .groups = 1,
					   .transposed = transposed,
					   .act = no_act } };
	const int64_t in = 8, out = transposed ? in + side - 1 - padding : in - side + 1 + padding;
	const int64_t rows = transposed ? in + side - 1 : in - side + 1;
	size_t bytes = dtype == IR_F16 ? 2 : 4;
	struct ir_value *operands[2];
	struct npu_reason reason = { 0 };
	struct test_graph t;
	char *weights;
	bool takes;

	graph_init(&t);
	operands[0] = add_operand(&t, dtype, 4, (int64_t[]){ 1, 1, in, in }, false);
	operands[1] = add_operand(&t, dtype, 4, (int64_t[]){ 1, 1, side, side }, constant);
	if (constant) {
		weights = (char *)operands[1]->constant->data;
		memcpy(weights + (size_t)(side * side - 1) * bytes, &bits, bytes);
	}
	takes = npu_supports(add_node(&t, IR_OP_CONV, operands, 2, dtype, 4,
				      (int64_t[]){ 1, 1, rows, out }, &attrs),
			     &caps, &reason);
	assert_true(takes || strstr(reason.text, "is padded or transposed"));
	graph_free(&t);
	return takes;
}

/*
 * Padding multiplies weights by 0, and 0 times infinity is NaN: a convolution with padding and with
 * constant weights that are infinite or NaN runs on the CPU.
 */
static void test_weights_without_end(void **state)
{
	static const uint32_t large[] = { 0x7f7fffff, 0xff7fffff, 0x7bff, 0xfbff };
	static const uint32_t endless[] = { 0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001,
					    0x7c00,	0xfc00,	    0x7e00,	0xfc01 };

	(void)state;
	for (size_t i = 0; i < 4; i++)
		assert_true(takes_weight(i < 2 ? IR_F32 : IR_F16, large[i], 3, 1, false, true));
	for (size_t i = 0; i < 8; i++)
		for (int64_t side = 1; side < 4; side++) {
			enum ir_dtype dtype = i < 4 ? IR_F32 : IR_F16;

			assert_false(takes_weight(dtype, endless[i], side, 1, false, true));
			assert_true(takes_weight(dtype, endless[i], side, 0, false, true));
			assert_true(takes_weight(dtype, endless[i], side, 1, false, false));
			/* Windows of more than one tap reach beyond the input. */
			assert_int_equal(takes_weight(dtype, endless[i], side, 0, true, true),
					 side == 1);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_conv),	       cmocka_unit_test(test_conv_deep),
		cmocka_unit_test(test_conv_depthwise), cmocka_unit_test(test_conv_transposed),
		cmocka_unit_test(test_conv_wide),      cmocka_unit_test(test_conv_blocks),
		cmocka_unit_test(test_conv_extreme),   cmocka_unit_test(test_pool),
		cmocka_unit_test(test_matmul),	       cmocka_unit_test(test_weights_without_end),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
