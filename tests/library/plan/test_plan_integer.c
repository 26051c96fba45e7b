// SPDX-License-Identifier: MIT
/*
 * Tests operators on 8-bit integers, which give the bits of the reference kernels for every size of
 * SRAM, and packed weights.
 */
#include "fixture.h"
#include "nodes.h"

#include <stdlib.h>
#include <string.h>

#include <onpu/slots.h>

static enum ir_dtype random_bytes(void)
{
	return random_below(2) ? IR_I8 : IR_U8;
}

/* Returns a random type of a product: 8-bit integers, float32 or float16. */
static enum ir_dtype random_result(void)
{
	return random_below(3) ? random_bytes() : random_below(3) ? IR_F32 : IR_F16;
}

/*
 * Returns relu, clamp or no function for a float result, and no function for an integer one: other
 * functions do not give the same bits in all kernels.
 */
static struct ir_unary_attrs random_limits(enum ir_dtype y)
{
	return (struct ir_unary_attrs){ .kind = !ir_dtype_is_float(y) || random_below(2) ?
							IR_UNARY_NONE :
						random_below(2) ? IR_RELU :
								  IR_CLAMP,
					.alpha = -40,
					.beta = 60 };
}

static int64_t random_zero(enum ir_dtype dtype)
{
	return (int64_t)random_below(256) - (dtype == IR_I8 ? 128 : 0);
}

static struct ir_value *add_constant(struct test_graph *t, enum ir_dtype dtype, int64_t count,
				     const void *data)
{
	struct ir_type type = ir_type_make(dtype, 1, &count);
	struct ir_constant *constant = ir_constant_copy(data, (size_t)ir_type_bytes(&type));
	struct ir_value *value;

	assert_non_null(constant);
	value = ir_add_constant(t->graph, &type, constant);
	assert_non_null(value);
	t->data[t->num_inputs] = malloc(constant->bytes);
	assert_non_null(t->data[t->num_inputs]);
	memcpy(t->data[t->num_inputs], data, constant->bytes);
	t->input[t->num_inputs++] = value;
	return value;
}

/* Returns a new constant with a random scale for each channel, or with one for all channels. */
static struct ir_value *add_scale(struct test_graph *t, int64_t channels, double most)
{
	int64_t count = random_below(4) ? channels : 1;
	float *scale = calloc((size_t)count, sizeof(*scale));
	struct ir_value *value;

	assert_non_null(scale);
	for (int64_t i = 0; i < count; i++)
		scale[i] = (float)(most * (1 + random_below(1000)) / 1000);
	value = add_constant(t, IR_F32, count, scale);
	free(scale);
	return value;
}

static struct ir_integer_attrs random_integer(enum ir_dtype a, enum ir_dtype b, enum ir_dtype y)
{
	int64_t least = y == IR_I8 ? -128 : 0;
	struct ir_integer_attrs attrs = {
		.a_zero = random_below(4) ? random_zero(a) : 0,
		.b_zero = random_below(2) ? random_zero(b) : 0,
		.zero = random_below(4) ? random_zero(y) : 0,
		.lo = least,
		.hi = least + 255,
	};

	if (ir_dtype_is_float(y)) {
		attrs.zero = attrs.lo = attrs.hi = 0;
	} else if (random_below(2)) {
		attrs.lo += random_below(100);
		attrs.hi -= random_below(100);
	}
	return attrs;
}

/*
 * Adds a bias if @bias, and perhaps an addend if the result y is a float; returns the number of the
 * product's operands.
 */
static uint32_t add_bias(struct test_graph *t, struct ir_value **operand, enum ir_dtype y,
			 int64_t channels, bool bias)
{
	if (bias)
		operand[3] = add_operand(t, IR_I32, 1, &channels, random_below(4));
	if (!ir_dtype_is_float(y) || !random_below(3))
		return bias ? 4 : 3;
	operand[4] = add_operand(t, y, 1, &channels, random_below(2));
	return 5;
}

struct conv_case {
	int64_t n, groups, in, out, h, w, k,
		up; /* in, out: channels per group; up: stride of a transposed convolution, else
		     * 0 */
};

static void fill_image(enum ir_layout layout, int64_t *dim, int64_t n, int64_t c, int64_t h,
		       int64_t w)
{
	const int64_t nchw[4] = { n, c, h, w }, nhwc[4] = { n, h, w, c };

	memcpy(dim, layout == IR_NHWC ? nhwc : nchw, sizeof(nchw));
}

static int64_t extent(const struct conv_case *s, int64_t in, int64_t stride, int64_t pad)
{
	return s->up ? (in - 1) * stride + s->k - 2 * pad : (in + 2 * pad - s->k) / stride + 1;
}

static struct ir_value *add_qconv(struct test_graph *t, const struct conv_case *s,
				  struct ir_value *x, enum ir_layout layout, int64_t x_zero,
				  bool real)
{
	enum ir_dtype b = random_bytes(), y = real ? random_result() : random_bytes();
	union ir_attrs attrs = { .qconv = { .conv = { .strides = { 1, 1 },
						      .dilations = { 1, 1 },
						      .groups = (uint32_t)s->groups,
						      .layout = layout,
						      .transposed = s->up > 0,
						      .act = random_limits(y) },
					    .integer = random_integer(x->type.dtype, b, y) } };
	struct ir_conv_attrs *c = &attrs.qconv.conv;
	uint32_t pad = s->k > 1 ? random_below(2) : 0, operands, bias = random_below(3);
	struct ir_value *operand[5] = { x };
	int64_t f[4], out[4], channels = s->out * s->groups;
	const uint8_t *axes;

	attrs.qconv.integer.a_zero = x_zero;
	c->filter_layout = s->up ? IR_IOHW : (enum ir_filter_layout)random_below(4);
	axes = ir_filter_axes(c->filter_layout);
	for (int i = 0; i < 2; i++)
		c->strides[i] = s->up ? (uint32_t)s->up : between(1, 2);
	for (int i = 0; i < 4; i++)
		c->padding[i] = pad;
	f[axes[0]] = s->up ? s->out : channels;
	f[axes[1]] = s->up ? s->in * s->groups : s->in;
	f[axes[2]] = f[axes[3]] = s->k;
	fill_image(layout, out, s->n, channels, extent(s, s->h, c->strides[0], pad),
		   extent(s, s->w, c->strides[1], pad));
	operand[1] = add_operand(t, b, 4, f, random_below(4));
	operand[2] = add_scale(t, channels, 0.03);
	operands = add_bias(t, operand, y, channels, bias);
	return add_node(t, IR_OP_QCONV, operand, operands, y, 4, out, &attrs)->results[0];
}

static void run_conv(void **state, const struct conv_case *s)
{
	enum ir_layout layout = random_below(2) ? IR_NHWC : IR_NCHW;
	enum ir_dtype dtype = random_bytes();
	struct test_graph t;
	int64_t x[4];

	graph_init(&t);
	fill_image(layout, x, s->n, s->in * s->groups, s->h, s->w);
	add_output(&t, add_qconv(&t, s, add_operand(&t, dtype, 4, x, false), layout,
				 random_zero(dtype), true));
	check_graph(&t, *state);
	graph_free(&t);
}

static void test_conv(void **state)
{
	for (int i = 0; i < 40; i++) {
		struct conv_case s;

		random_seed(4000 + i);
		s = (struct conv_case){ between(1, 2),	random_below(3) ? 1 : between(2, 4),
					between(1, 70), between(1, 70),
					between(3, 20), between(3, 20),
					between(1, 3),	0 };
		run_conv(state, &s);
	}
}

static void test_depthwise(void **state)
{
	for (int i = 0; i < 24; i++) {
		struct conv_case s;

		random_seed(4100 + i);
		s = (struct conv_case){ between(1, 2),	between(2, 150), 1, between(1, 2),
					between(3, 40), between(3, 40),	 3, 0 };
		run_conv(state, &s);
	}
}

static void test_transposed(void **state)
{
	for (int i = 0; i < 16; i++) {
		struct conv_case s;

		random_seed(4200 + i);
		s = (struct conv_case){ 1,
					1,
					between(1, 20),
					between(1, 20),
					between(2, 12),
					between(2, 12),
					between(2, 4),
					between(1, 3) };
		run_conv(state, &s);
	}
}

/*
 * Tests two convolutions, of which the second finds the result of the first in SRAM, surrounded by
 * zero points.
 */
static void test_chain(void **state)
{
	for (int i = 0; i < 16; i++) {
		struct conv_case s = {
			1, 1, between(3, 40), 0, between(6, 20), between(6, 20), 3, 0
		};
		enum ir_layout layout;
		struct ir_value *value;
		struct test_graph t;
		int64_t x[4];

		random_seed(4300 + i);
		layout = random_below(2) ? IR_NHWC : IR_NCHW;
		graph_init(&t);
		fill_image(layout, x, 1, s.in, s.h, s.w);
		value = add_operand(&t, IR_U8, 4, x, false);
		for (int depth = 0; depth < 2; depth++) {
			uint32_t row = layout == IR_NHWC ? 1 : 2;

			s.out = between(3, 40);
			value = add_qconv(&t, &s, value, layout, random_zero(value->type.dtype),
					  depth > 0);
			s.in = s.out;
			s.h = ir_type_dim(&value->type, row);
			s.w = ir_type_dim(&value->type, row + 1);
			s.k = s.h < 3 || s.w < 3 ? 1 : 3;
		}
		add_output(&t, value);
		check_graph(&t, *state);
		graph_free(&t);
	}
}

static void test_matmul(void **state)
{
	for (int i = 0; i < 32; i++) {
		enum ir_dtype a, b, y;
		union ir_attrs attrs = { .axis = 0 };
		struct ir_value *operand[5] = { NULL };
		uint32_t operands;
		struct test_graph t;
		int64_t batch, m, n, k;
		bool ta, tb, bias;

		random_seed(4400 + i);
		a = random_bytes();
		b = random_bytes();
		y = random_result();
		batch = between(1, 3);
		m = random_below(3) ? between(1, 90) : 1;
		n = between(1, 200);
		k = between(1, 300);
		ta = random_below(2);
		tb = random_below(2);
		bias = random_below(3);
		attrs.qmatmul.matmul = (struct ir_matmul_attrs){ .a_transpose = ta,
								 .b_transpose = tb,
								 .alpha = 1,
								 .beta = 1,
								 .act = random_limits(y) };
		attrs.qmatmul.integer = random_integer(a, b, y);
		graph_init(&t);
		operand[0] =
			add_operand(&t, a, 3, (int64_t[]){ batch, ta ? k : m, ta ? m : k }, false);
		operand[1] = add_operand(&t, b, 3,
					 (int64_t[]){ random_below(2) ? batch : 1, tb ? n : k,
						      tb ? k : n },
					 random_below(2));
		operand[2] = add_scale(&t, n, 0.03);
		operands = add_bias(&t, operand, y, n, bias);
		add_result(&t, add_node(&t, IR_OP_QMATMUL, operand, operands, y, 3,
					(int64_t[]){ batch, m, n }, &attrs));
		check_graph(&t, *state);
		graph_free(&t);
	}
}

/* Tests weights of 4 and 8 bits, with a scale for each block and column, or with fewer scales. */
static void test_weights(void **state)
{
	static const enum ir_dtype types[] = { IR_I4, IR_U4, IR_I8, IR_U8 };

	for (int i = 0; i < 32; i++) {
		enum ir_dtype packed = types[i % 4], real = i & 4 ? IR_F16 : IR_F32;
		union ir_attrs attrs = { .axis = 0 };
		struct ir_value *operand[5] = { NULL };
		struct test_graph t;
		int64_t m, n, k, blocks, columns;
		uint32_t operands;
		bool tb;

		random_seed(4700 + i);
		m = random_below(2) ? 1 : between(1, 90);
		n = 2 * between(1, 150);
		blocks = random_below(3) ? between(2, 12) : 1;
		k = blocks * between(1, 60);
		columns = random_below(2) ? n : random_below(2) ? n / 2 : 1;
		tb = random_below(2);
		operands = random_below(2) ? 5 : 4;
		attrs.matmul = (struct ir_matmul_attrs){
			.b_transpose = tb, .alpha = 1, .beta = 1, .act = { .kind = IR_UNARY_NONE }
		};
		graph_init(&t);
		t.tolerance = real == IR_F16 ? 2e-3 : 1e-5;
		operand[0] = add_operand(&t, real, 2, (int64_t[]){ m, k }, false);
		operand[1] =
			add_operand(&t, packed, 2, (int64_t[]){ tb ? n : k, tb ? k : n }, true);
		operand[2] = add_operand(
			&t, real, 2, (int64_t[]){ tb ? columns : blocks, tb ? blocks : columns },
			true);
		operand[3] = add_operand(
			&t, packed, 2, (int64_t[]){ tb ? columns : blocks, tb ? blocks : columns },
			true);
		if (operands > 4)
			operand[4] = add_operand(&t, real, 1, &n, random_below(2));
		add_result(&t, add_node(&t, IR_OP_WMATMUL, operand, operands, real, 2,
					(int64_t[]){ m, n }, &attrs));
		check_graph(&t, *state);
		graph_free(&t);
	}
}

static void add_quantized(struct test_graph *t, struct ir_value **operand, enum ir_dtype dtype,
			  uint32_t rank, const int64_t *dims)
{
	float scale = (float)(1 + random_below(100)) / 300;
	uint8_t zero = (uint8_t)random_below(256);

	if (dims)
		*operand++ = add_operand(t, dtype, rank, dims, false);
	operand[0] = add_constant(t, IR_F32, 1, &scale);
	operand[1] = add_constant(t, dtype, 1, &zero);
}

static void test_elementwise(void **state)
{
	static const int acts[] = { IR_UNARY_NONE, IR_RELU, IR_CLAMP, IR_HARD_SWISH };

	for (int i = 0; i < 32; i++) {
		struct ir_unary_attrs act = { .alpha = -1, .beta = 3 };
		union ir_attrs attrs = { .axis = 0 };
		struct ir_value *operand[8];
		enum ir_dtype y;
		struct test_graph t;
		int64_t dims[4];
		bool binary = i & 1;

		random_seed(4500 + i);
		y = random_bytes();
		act.kind = acts[random_below(4)];
		for (int d = 0; d < 4; d++)
			dims[d] = between(1, 20);
		graph_init(&t);
		add_quantized(&t, operand, random_bytes(), 4, dims);
		if (binary) {
			uint32_t lead = random_below(3);

			attrs.binary.kind = (enum ir_binary)random_below(3);
			attrs.binary.act = act;
			add_quantized(&t, operand + 3, random_bytes(), 4 - lead, dims + lead);
		} else {
			attrs.unary = act;
		}
		add_quantized(&t, operand + (binary ? 6 : 3), y, 1, NULL);
		add_result(&t, add_node(&t, binary ? IR_OP_QBINARY : IR_OP_QUNARY, operand,
					binary ? 8 : 5, y, 4, dims, &attrs));
		check_graph(&t, *state);
		graph_free(&t);
	}
}

/* Tests that a convolution and the addition of another image to its result are one kernel. */
static void test_residual(void **state)
{
	static const int acts[] = { IR_UNARY_NONE, IR_RELU, IR_HARD_SWISH };

	for (int i = 0; i < 32; i++) {
		struct conv_case s = { between(1, 2),  1,
				       between(1, 40), between(1, 70),
				       between(3, 16), between(3, 16),
				       between(1, 3),  0 };
		union ir_attrs attrs = { .binary = { .kind = IR_ADD } };
		enum ir_layout layout;
		struct ir_value *operand[8], *sum;
		struct npu_program *program;
		struct test_graph t;
		struct ir_node *node;
		int64_t dims[4];
		uint32_t at;

		random_seed(4700 + i);
		layout = random_below(2) ? IR_NHWC : IR_NCHW;
		at = random_below(2) ? 3 : 0;
		attrs.binary.act.kind = acts[random_below(3)];
		if (random_below(4) == 0) {
			s.groups = between(2, 60);
			s.in = s.out = 1;
		}
		graph_init(&t);
		fill_image(layout, dims, s.n, s.in * s.groups, s.h, s.w);
		operand[at] = add_qconv(&t, &s, add_operand(&t, IR_U8, 4, dims, false), layout, 100,
					false);
		for (uint32_t d = 0; d < 4; d++)
			dims[d] = ir_type_dim(&operand[at]->type, d);
		add_quantized(&t, operand + at + 1, operand[at]->type.dtype, 1, NULL);
		add_quantized(&t, operand + 3 - at, random_bytes(), 4, dims);
		add_quantized(&t, operand + 6, random_bytes(), 1, NULL);
		node = add_node(&t, IR_OP_QBINARY, operand, 8, operand[7]->type.dtype, 4, dims,
				&attrs);
		sum = node->results[0];
		if (random_below(2))
			sum = node_transpose(&t, sum, (const uint32_t[]){ 3, 1, 0, 2 });
		add_output(&t, sum);
		check_graph(&t, *state);
		program = compile_graph(&t, *state, 3);
		assert_null(program->nodes[node->id].kernel);
		npu_program_destroy(program);
		graph_free(&t);
	}
}

/* Tests averages of windows, some of which reach beyond the image, and of whole images. */
static void test_average(void **state)
{
	for (int i = 0; i < 24; i++) {
		enum ir_dtype from, to;
		union ir_attrs attrs = { .qpool = { .pool.kind = IR_POOL_AVERAGE } };
		int64_t in[2], out[2], x[4], y[4], n, c;
		struct ir_value *operand[2];
		struct test_graph t;
		float scale;

		random_seed(4800 + i);
		from = random_bytes();
		to = random_bytes();
		n = between(1, 2);
		c = between(1, 150);
		scale = (float)between(1, 30) / 10;
		attrs.qpool.a_zero = random_zero(from);
		attrs.qpool.zero = random_zero(to);
		attrs.pool.layout = random_below(2);
		attrs.pool.counts_padding = random_below(2);
		for (int a = 0; a < 2; a++) {
			uint32_t pad;

			in[a] = between(4, 30);
			attrs.pool.window[a] = i % 4 ? between(2, 4) : (uint32_t)in[a];
			attrs.pool.strides[a] = between(1, 3);
			attrs.pool.dilations[a] = 1;
			pad = i % 4 ? random_below(2) : 0;
			attrs.pool.padding[2 * a] = attrs.pool.padding[2 * a + 1] = pad;
			out[a] = (in[a] + 2 * pad - attrs.pool.window[a]) / attrs.pool.strides[a] +
				 1;
		}
		fill_image(attrs.pool.layout, x, n, c, in[0], in[1]);
		fill_image(attrs.pool.layout, y, n, c, out[0], out[1]);
		graph_init(&t);
		operand[0] = add_operand(&t, from, 4, x, false);
		operand[1] = add_constant(&t, IR_F32, 1, &scale);
		add_result(&t, add_node(&t, IR_OP_QPOOL, operand, 2, to, 4, y, &attrs));
		check_graph(&t, *state);
		graph_free(&t);
	}
}

static void test_jobs(void **state)
{
	struct conv_case s = { 1, 40, 1, 1, 40, 40, 3, 0 };
	struct test_graph t;
	int64_t x[4];

	random_seed(4600);
	graph_init(&t);
	fill_image(IR_NHWC, x, 1, 40, 40, 40);
	add_output(&t, add_qconv(&t, &s, add_operand(&t, IR_U8, 4, x, false), IR_NHWC, 128, false));
	assert_in_range(check_preempted(&t, *state, 0), 0, 1000);
	check_split(&t, *state, 0, 48);
	graph_free(&t);
}

static uint32_t kept(const struct npu_program *program)
{
	return ((const union onpu_slot *)program->slots)->program.keep_start;
}

/*
 * Returns true if a program keeps all weights in SRAM. It then has a preemption point after their
 * loads; a program that loads ahead some weights of its next run has none there.
 */
static bool all_kept(const struct npu_program *program)
{
	uint32_t start = kept(program);
	struct onpu_insn insn;

	if (!start)
		return false;
	assert_int_equal(onpu_insn_unpack(program->insns[start - 1], &insn), 0);
	return insn.op == ONPU_OP_PREEMPT;
}

/*
 * Tests that the weights of layers stay in SRAM, for products of 8-bit integers and for floats
 * times packed weights, and that all sizes of SRAM give the same bits. Integer weights stay in the
 * largest SRAM, too, of which they fill about a hundredth.
 */
static void test_kept(void **state)
{
	static const enum ir_dtype types[] = { IR_I4, IR_U4, IR_I8, IR_U8 };
	uint32_t found[2] = { 0, 0 }, few = 0;

	for (int i = 0; i < 24; i++) {
		enum ir_dtype packed = types[i / 2 % 4], real = i & 8 ? IR_F16 : IR_F32;
		bool integers = i & 1;
		int64_t m = i < 12 ? 1 : 4, k;
		struct ir_value *value;
		struct test_graph t;

		random_seed(4900 + i);
		graph_init(&t);
		t.tolerance = integers ? 0 : real == IR_F16 ? 4e-3 : 2e-5;
		k = between(60, 100);
		value = add_operand(&t, integers ? IR_U8 : real, 2, (int64_t[]){ m, k }, false);
		for (int layer = 0; layer < 3; layer++) {
			int64_t n = 2 * between(30, 70), blocks = k % 3 ? 1 : 3, columns = n / 2;
			struct ir_value *operand[5] = { value };
			union ir_attrs attrs = { .axis = 0 };

			attrs.matmul = (struct ir_matmul_attrs){ .alpha = 1,
								 .beta = 1,
								 .act = { .kind = IR_UNARY_NONE } };
			if (integers) {
				operand[1] = add_operand(&t, random_bytes(), 2, (int64_t[]){ k, n },
							 true);
				operand[2] = add_scale(&t, n, 0.03);
				operand[3] = add_operand(&t, IR_I32, 1, &n, true);
				attrs.qmatmul.integer =
					random_integer(IR_U8, operand[1]->type.dtype, IR_U8);
			} else {
				operand[1] = add_operand(&t, packed, 2, (int64_t[]){ k, n }, true);
				operand[2] = add_operand(&t, real, 2,
							 (int64_t[]){ blocks, columns }, true);
				operand[3] = add_operand(&t, packed, 2,
							 (int64_t[]){ blocks, columns }, true);
				operand[4] = add_operand(&t, real, 1, &n, true);
			}
			value = add_node(&t, integers ? IR_OP_QMATMUL : IR_OP_WMATMUL, operand,
					 integers ? 4 : 5, integers ? IR_U8 : real, 2,
					 (int64_t[]){ m, n }, &attrs)
					->results[0];
			k = n;
		}
		add_output(&t, value);
		check_graph(&t, *state);
		for (int size = 0; size < NUM_SIZES; size++) {
			struct npu_program *program = compile_graph(&t, *state, size);

			assert_non_null(program);
			found[integers] += kept(program) > 0;
			few += integers && size == NUM_SIZES - 1 && all_kept(program);
			npu_program_destroy(program);
		}
		graph_free(&t);
	}
	assert_true(found[0] && found[1] && few);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_conv),	   cmocka_unit_test(test_depthwise),
		cmocka_unit_test(test_transposed), cmocka_unit_test(test_chain),
		cmocka_unit_test(test_matmul),	   cmocka_unit_test(test_elementwise),
		cmocka_unit_test(test_weights),	   cmocka_unit_test(test_average),
		cmocka_unit_test(test_jobs),	   cmocka_unit_test(test_residual),
		cmocka_unit_test(test_kept),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
