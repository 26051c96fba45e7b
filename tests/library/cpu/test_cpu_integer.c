// SPDX-License-Identifier: MIT
/*
 * Compares the fast layer with the reference kernels: operators on 8-bit integers, bit by bit, and
 * packed weights.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/kernel/kernels.h"
#include "cpu/simd/simd.h"
#include "rig.h"

/* Whether a kernel that multiplies bytes, or pairs of 16-bit integers, computed some node. */
static bool dots_ran;

/* Returns whether the kernel of this name, or NULL, is one of those two. */
static bool is_dots(const char *kernel)
{
	return kernel &&
	       (!strcmp(kernel, "cpu/integer-dots") || !strcmp(kernel, "cpu/integer-pairs"));
}

static bool compare(struct rig *rig, enum ir_op op, const union ir_attrs *attrs,
		    const struct ir_type *type)
{
	bool fast = rig_compare(rig, op, attrs, 1, type, 0);

	dots_ran |= is_dots(rig_kept_name());
	return fast;
}

static enum ir_dtype random_bytes(void)
{
	return random_below(2) ? IR_I8 : IR_U8;
}

static int64_t random_zero(enum ir_dtype dtype)
{
	return (int64_t)random_below(256) - (dtype == IR_I8 ? 128 : 0);
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

/*
 * Returns random zero points of a, b and y, and limits of y, which some results exceed; for a float
 * y, zero point and limits are 0.
 */
static struct ir_integer_attrs random_integer(enum ir_dtype a, enum ir_dtype b, enum ir_dtype y)
{
	int64_t least = y == IR_I8 ? -128 : 0;
	struct ir_integer_attrs attrs = {
		.a_zero = random_below(4) ? random_zero(a) : 0,
		/* The zero point of filters is mostly the middle of the range. */
		.b_zero = random_below(3) ? (b == IR_U8 ? 128 : 0) : random_zero(b),
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
 * Adds a scale and, perhaps, a bias and an addend for a result of type y: one for each of
 * `channels`, or one for all.
 */
static void add_scaling(struct rig *rig, int64_t channels, int64_t depth, enum ir_dtype y)
{
	int64_t one = 1, *count = random_below(4) ? &channels : &one;
	bool addend = ir_dtype_is_float(y) && random_below(3);
	double most = 1.0 / (100.0 * (double)depth);

	/* Products of sums and such scales exceed 31 bits. */
	if (!ir_dtype_is_float(y) && !random_below(4))
		most = 1e9;
	rig_add_between(rig, IR_F32, 1, count, most / 8, most * 2);
	if (random_below(3))
		rig_add_between(rig, IR_I32, 1, random_below(4) ? &channels : &one, -1e5, 1e5);
	else if (addend)
		rig_skip(rig);
	if (addend)
		rig_add_between(rig, y, 1, random_below(4) ? &channels : &one, -30, 30);
}

static void fill_image(enum ir_layout layout, int64_t *dim, int64_t n, int64_t c, int64_t h,
		       int64_t w)
{
	const int64_t nchw[4] = { n, c, h, w }, nhwc[4] = { n, h, w, c };

	memcpy(dim, layout == IR_NHWC ? nhwc : nchw, sizeof(nchw));
}

static bool qconv_round(void)
{
	enum ir_dtype a = random_bytes(), b = random_bytes(), y = random_result();
	int64_t groups = random_below(3) ? 1 : between(2, 9), k = between(1, 3);
	/* Some images are so small that some windows, or all, see only padding. */
	int64_t h = between(random_below(3) ? 3 : 1, 12), w = between(random_below(3) ? 3 : 1, 20);
	int64_t in = random_below(4) ? between(1, 20) : between(100, 700);
	int64_t out = random_below(4) ? between(1, 12) : between(13, 150);
	int64_t x_dims[4], f_dims[4], y_dims[4];
	union ir_attrs attrs = { .qconv = {
		.conv = {
			.strides = { between(1, 2), between(1, 2) },
			.dilations = { 1, 1 },
			.groups = (uint32_t)groups,
			.layout = random_below(2) ? IR_NHWC : IR_NCHW,
			.filter_layout = (enum ir_filter_layout)random_below(4),
			.act = random_limits(y),
		},
		.integer = random_integer(a, b, y),
	} };
	const struct ir_conv_attrs *c = &attrs.conv;
	const uint8_t *axes = ir_filter_axes(c->filter_layout);
	uint32_t pad[4];
	struct ir_type type;
	struct rig rig;

	for (int i = 0; i < 4; i++)
		pad[i] = random_below(3);
	for (int i = 0; i < 2; i++) {
		int64_t size = i ? w : h;

		if (size + pad[2 * i] + pad[2 * i + 1] < k)
			pad[2 * i] = (uint32_t)k;
	}
	if (groups > 1) {
		in = random_below(2) ? 1 : between(2, 5);
		out = between(1, 12);
		/* Some convolutions are depthwise, of few channels or of many. */
		if (in == 1 && random_below(2)) {
			out = 1;
			attrs.conv.groups = (uint32_t)(groups = random_below(2) ?
									1 << between(1, 6) :
									(int64_t)between(10, 150));
		}
	}
	for (int i = 0; i < 4; i++)
		attrs.conv.padding[i] = pad[i];
	fill_image(c->layout, x_dims, between(1, 2), in * groups, h, w);
	fill_image(c->layout, y_dims, x_dims[0], out * groups,
		   (h + pad[0] + pad[1] - k) / c->strides[0] + 1,
		   (w + pad[2] + pad[3] - k) / c->strides[1] + 1);
	f_dims[axes[0]] = out * groups;
	f_dims[axes[1]] = in;
	f_dims[axes[2]] = f_dims[axes[3]] = k;
	type = ir_type_make(y, 4, y_dims);
	rig_init(&rig);
	rig_add(&rig, a, 4, x_dims);
	rig_add(&rig, b, 4, f_dims);
	add_scaling(&rig, out * groups, in * k * k, y);
	return compare(&rig, IR_OP_QCONV, &attrs, &type);
}

static bool qmatmul_round(void)
{
	enum ir_dtype a = random_bytes(), b = random_bytes(), y = random_result();
	int64_t m = between(1, 20), batch = between(1, 3);
	int64_t n = random_below(4) ? between(1, 40) : between(41, 150);
	int64_t k = random_below(3) ? between(1, 90) : between(500, 2000);
	union ir_attrs attrs = { .qmatmul = {
		.matmul = {
			.a_transpose = random_below(2),
			.b_transpose = random_below(2),
			.alpha = 1,
			.beta = 1,
			.act = random_limits(y),
		},
		.integer = random_integer(a, b, y),
	} };
	bool ta = attrs.matmul.a_transpose, tb = attrs.matmul.b_transpose;
	const int64_t a_dims[3] = { batch, ta ? k : m, ta ? m : k };
	const int64_t b_dims[3] = { random_below(2) ? batch : 1, tb ? n : k, tb ? k : n };
	struct ir_type type = ir_type_make(y, 3, (int64_t[]){ batch, m, n });
	uint32_t lead = random_below(2) && b_dims[0] == 1;
	struct rig rig;

	rig_init(&rig);
	rig_add(&rig, a, 3, a_dims);
	rig_add(&rig, b, 3 - lead, b_dims + lead);
	add_scaling(&rig, n, k, y);
	return compare(&rig, IR_OP_QMATMUL, &attrs, &type);
}

/*
 * Biases near the ends of int32. Operands near their zero point keep the results in int32, but not
 * the sums of biases and what the zero point adds to them.
 */
static bool large_bias_round(void)
{
	enum ir_dtype a = random_bytes(), b = random_bytes(), y = random_result();
	int64_t m = between(1, 9), n = between(1, 150), k = between(1, 300);
	int64_t zero = (a == IR_I8 ? -128 : 0) + (int64_t)random_below(2) * 200 + 20;
	double end = random_below(2) ? INT32_MAX : INT32_MIN;
	/* No sum is farther than this from its bias. */
	double reach = end > 0 ? (double)(k * 128) : -(double)(k * 128);
	union ir_attrs attrs = { .qmatmul = {
		.matmul = {
			.alpha = 1,
			.beta = 1,
			.act = random_limits(y),
		},
		.integer = random_integer(a, b, y),
	} };
	struct ir_type type = ir_type_make(y, 2, (int64_t[]){ m, n });
	struct rig rig;

	attrs.qmatmul.integer.a_zero = zero;
	attrs.qmatmul.integer.b_zero = b == IR_U8 ? 128 : 0;
	rig_init(&rig);
	rig_add_between(&rig, a, 2, (int64_t[]){ m, k }, (double)zero - 1, (double)zero + 1);
	rig_add(&rig, b, 2, (int64_t[]){ k, n });
	rig_add_between(&rig, IR_F32, 1, &n, 1e-9, 1e-7);
	rig_add_between(&rig, IR_I32, 1, &n, end - 2 * reach, end - reach);
	return compare(&rig, IR_OP_QMATMUL, &attrs, &type);
}

/* --- Products with the function of their bytes that is fused with them --- */

/* Adds two operands: the scale and the zero point of integers of a type. */
static void add_quanta(struct rig *rig, enum ir_dtype dtype)
{
	static const float odd[] = { 0, INFINITY, NAN, 1e-42f, 3e38f, 0x1.fffffep-3f, -0.25f };
	int64_t one = 1;
	float *scale = rig_add_between(rig, IR_F32, 1, &one, 0.05, 2);

	if (!random_below(3))
		*scale = 1 / (float)(1 << random_below(6));
	else if (!random_below(8))
		*scale = odd[random_below(7)];
	rig_add(rig, dtype, 1, &one);
}

/*
 * Adds the operands of a function of the bytes of @sum to the rig, and returns its node. The
 * function is an addition, in which @sum is operand @place, if @adds, else a conversion to another
 * scale.
 */
static struct ir_node *add_function(struct rig *rig, struct ir_value *sum, int place, bool adds)
{
	enum ir_dtype other = random_bytes(), y = random_bytes();
	enum ir_dtype types[2] = { place ? other : sum->type.dtype,
				   place ? sum->type.dtype : other };
	struct ir_type type = ir_type_make(
		y, 2, (int64_t[]){ ir_type_dim(&sum->type, 0), ir_type_dim(&sum->type, 1) });
	union ir_attrs attrs = { .unary = { .kind = IR_UNARY_NONE } };
	uint32_t first = rig->num_operands, n;

	for (int i = 0; i < (adds ? 2 : 1); i++) {
		if ((i ? 3 : 0) == place)
			rig_skip(rig);
		else
			rig_add(rig, types[i], 2,
				(int64_t[]){ ir_type_dim(&type, 0), ir_type_dim(&type, 1) });
		add_quanta(rig, types[i]);
	}
	add_quanta(rig, y);
	/*
	 * With a scale of y that is twice that of an operand, quotients are at or next to the
	 * middle of two integers.
	 */
	if (!random_below(3))
		*(float *)rig->data[rig->num_operands - 2] = 2 * *(float *)rig->data[first + 1];
	rig->operand[first + (place ? 3 : 0)] = sum;
	n = rig->num_operands - first;
	if (adds)
		attrs.binary = (struct ir_binary_attrs){
			.kind = IR_ADD,
			.act = { .kind = random_below(2) ? IR_UNARY_NONE :
					 random_below(2) ? IR_RELU :
							   IR_CLAMP,
				 .alpha = -1 + (float)random_below(3),
				 .beta = random_below(2) ? 6 : INFINITY },
		};
	return ir_add_node(rig->graph, adds ? IR_OP_QBINARY : IR_OP_QUNARY, rig->operand + first, n,
			   &type, 1, &attrs, "", NULL);
}

/*
 * Returns the result of a product and of the function after it, by the reference kernels one after
 * the other. The caller frees it.
 */
static uint8_t *expected(struct rig *rig, const struct ir_node *product, const struct ir_node *next,
			 int64_t bytes)
{
	struct cpu_context *cpu = cpu_context_create(1);
	const void *in[RIG_MAX] = { NULL };
	uint32_t n = product->num_operands;
	void *sum = malloc((size_t)bytes), *y = malloc((size_t)bytes);

	assert_true(cpu && sum && y);
	memcpy(in, rig->data, n * sizeof(*in));
	assert_int_equal(cpu_run_node(cpu, CPU_REFERENCE, product, in, &sum, NULL), 0);
	for (uint32_t i = 0; i < next->num_operands; i++)
		in[i] = next->operands[i] == product->results[0] ? sum : rig->data[n + i];
	assert_int_equal(cpu_run_node(cpu, CPU_REFERENCE, next, in, &y, NULL), 0);
	free(sum);
	cpu_context_destroy(cpu);
	return y;
}

/* Runs the plan of a product with which the function is fused; stores the result at @y. */
static void run_fused(struct rig *rig, struct cpu_context *cpu, struct cpu_plan *plan,
		      const struct ir_node *next, uint32_t n, void *y)
{
	void *packed = aligned_alloc(64, (cpu_plan_pack_bytes(plan) + 63) / 64 * 64);
	const void *in[RIG_MAX] = { NULL };
	struct wnn_error err = { 0 };
	uint32_t count = n;

	assert_non_null(packed);
	assert_true(cpu_plan_fuse(plan, cpu, next));
	assert_int_equal(cpu_plan_pack(plan, rig->data[1], packed, &err), 0);
	memcpy(in, rig->data, n * sizeof(*in));
	for (uint32_t i = n; i < rig->num_operands; i++)
		if (rig->data[i])
			in[count++] = rig->data[i];
	assert_int_equal(cpu_plan_run(plan, cpu, packed, in, &y, &err), 0);
	free(packed);
}

static bool fused_round(void)
{
	enum ir_dtype a = random_bytes(), b = random_bytes(), y = random_bytes();
	int64_t m = between(1, 30), k = between(1, 40), n = between(1, 150), bytes = m * n;
	union ir_attrs attrs = { .qmatmul = { .matmul = { .alpha = 1 },
					      .integer = random_integer(a, b, y) } };
	struct ir_type type = ir_type_make(y, 2, (int64_t[]){ m, n });
	struct cpu_context *cpu = cpu_context_create(2);
	struct ir_node *product, *next;
	struct wnn_error err = { 0 };
	struct cpu_plan *plan;
	uint8_t *want, *got = malloc((size_t)bytes);
	bool adds = random_below(3);
	struct rig rig;

	assert_true(cpu && got);
	rig_init(&rig);
	rig_add(&rig, a, 2, (int64_t[]){ m, k });
	rig_add(&rig, b, 2, (int64_t[]){ k, n });
	rig_make_constant(&rig, 1);
	add_scaling(&rig, n, k, y);
	product = ir_add_node(rig.graph, IR_OP_QMATMUL, rig.operand, rig.num_operands, &type, 1,
			      &attrs, "", NULL);
	next = add_function(&rig, product->results[0], adds && random_below(2) ? 3 : 0, adds);
	plan = cpu_plan_create(cpu, product, CPU_PACKS | CPU_KEEPS, &err);
	assert_non_null(plan);
	if (is_dots(cpu_plan_name(plan))) {
		want = expected(&rig, product, next, bytes);
		run_fused(&rig, cpu, plan, next, product->num_operands, got);
		assert_memory_equal(got, want, (size_t)bytes);
		free(want);
	}
	cpu_plan_destroy(plan);
	cpu_context_destroy(cpu);
	free(got);
	rig_exit(&rig);
	return true;
}

/*
 * Tests that the product with the inverse of a scale rounds as the division does, for the two
 * floats whose quotients are nearest to odd / 2, the tie between two integers: one on each side.
 */
static void check_borders(const struct cpu_integers *op, int odd)
{
	for (int side = -1; side <= 1; side += 2) {
		double border = odd / 2.0 + side * 0x1p-16;
		float v = (float)(border * op->scale);
		float product = fmaf(v, op->inverse, v * op->inverse_rest);

		assert_true(nearbyintf(product) == nearbyintf(v / op->scale));
	}
}

/*
 * Tests which scales are refused because multiplying by the inverse is not proven to be exact for
 * them, and that it is exact for the scales next to these. No quotients below 512 are nearer to a
 * tie than those of check_borders().
 */
static void test_inverse(void **state)
{
	(void)state;
	for (int low = -9; low <= 9; low++)
		for (int high = 257; high < 511; high++) {
			struct cpu_integers op = {
				.scale = (float)(high * (1 << 15) + low) * 0x1p-24f,
				.lo = -INFINITY,
				.hi = INFINITY,
				.most = UINT8_MAX,
			};
			bool proven = !low || abs(low) >= 8;

			assert_int_equal(cpu_integers_are_tame(&op), proven);
			for (int odd = 513; proven && odd < 1024; odd += 2)
				check_borders(&op, odd);
		}
}

static bool wmatmul_round(void)
{
	static const enum ir_dtype types[] = { IR_I4, IR_U4, IR_I8, IR_U8 };
	enum ir_dtype real = random_below(3) ? IR_F32 : IR_F16, packed = types[random_below(4)];
	bool large = random_below(4) == 0;
	int64_t m = large ? between(1, 90) : between(1, 20), n = between(1, large ? 100 : 40);
	int64_t blocks = between(1, 4), k = blocks * between(1, large ? 400 : 24);
	int64_t per_column = random_below(2) ? n : 1;
	union ir_attrs attrs = { .matmul = {
					 .b_transpose = random_below(2),
					 .alpha = random_below(2) ? 1 : 0.5f,
					 .beta = 1,
					 .act = { .kind = random_below(2) ? IR_UNARY_NONE :
									    IR_RELU },
				 } };
	bool tb = attrs.matmul.b_transpose, constant = random_below(3);
	const int64_t b_dims[2] = { tb ? n : k, tb ? k : n };
	const int64_t s_dims[2] = { tb ? per_column : blocks, tb ? blocks : per_column };
	struct ir_type type = ir_type_make(real, 2, (int64_t[]){ m, n });
	struct rig rig;

	rig_init(&rig);
	rig_add(&rig, real, 2, (int64_t[]){ m, k });
	rig_add(&rig, packed, 2, b_dims);
	rig_add_between(&rig, real, 2, s_dims, 0.01, 0.05);
	rig_add(&rig, packed, 2, s_dims);
	if (random_below(3) == 0)
		rig_add(&rig, real, 1, &n);
	else if (random_below(2))
		rig_add(&rig, real, 2, (int64_t[]){ m, random_below(2) ? n : 1 });
	for (uint32_t i = 1; i < 4 && constant; i++)
		rig_make_constant(&rig, i);
	rig.by_largest = true;
	return rig_compare(&rig, IR_OP_WMATMUL, &attrs, 1, &type, real == IR_F32 ? 1e-5 : 2e-3);
}

static void add_quantized(struct rig *rig, const struct ir_type *type, const int64_t *dims)
{
	rig_add(rig, type->dtype, type->rank, dims);
	rig_add_between(rig, IR_F32, 0, NULL, 0.01, 0.3);
	rig_add(rig, type->dtype, 0, NULL);
}

static struct ir_unary_attrs random_function(void)
{
	static const int kinds[] = { IR_UNARY_NONE, IR_RELU, IR_CLAMP, IR_SIGMOID, IR_HARD_SWISH };

	return (struct ir_unary_attrs){ .kind = kinds[random_below(5)], .alpha = -1, .beta = 6 };
}

static bool qunary_round(void)
{
	int64_t dims[3] = { between(1, 9), between(1, 40), between(1, 90) };
	union ir_attrs attrs = { .unary = random_function() };
	struct ir_type from = ir_type_make(random_bytes(), 3, dims);
	struct ir_type to = ir_type_make(random_bytes(), 3, dims);
	struct rig rig;

	rig_init(&rig);
	add_quantized(&rig, &from, dims);
	rig_add_between(&rig, IR_F32, 0, NULL, 0.01, 0.3);
	rig_add(&rig, to.dtype, 0, NULL);
	return rig_compare(&rig, IR_OP_QUNARY, &attrs, 1, &to, 0);
}

static bool qbinary_round(void)
{
	static const int acts[] = { IR_UNARY_NONE, IR_RELU, IR_CLAMP };
	int64_t dims[3] = { between(1, 9), between(1, 40), between(1, 90) };
	union ir_attrs
		attrs = { .binary = {
				  .kind = (enum ir_binary)random_below(3), /* add, sub, mul */
				  .act = { .kind = acts[random_below(3)], .alpha = -2, .beta = 3 },
			  } };
	struct ir_type a = ir_type_make(random_bytes(), 3, dims);
	struct ir_type b = ir_type_make(random_bytes(), 3, dims);
	struct ir_type to = ir_type_make(random_bytes(), 3, dims);
	struct rig rig;

	rig_init(&rig);
	add_quantized(&rig, &a, dims);
	add_quantized(&rig, &b, dims);
	rig_add_between(&rig, IR_F32, 0, NULL, 0.01, 0.3);
	rig_add(&rig, to.dtype, 0, NULL);
	return rig_compare(&rig, IR_OP_QBINARY, &attrs, 1, &to, 0);
}

/*
 * Compares a random quantised average pooling, at times over the whole image, with the reference;
 * returns false when only the reference takes the node.
 */
static bool qpool_round(void)
{
	enum ir_dtype from = random_bytes(), to = random_bytes();
	int64_t n = between(1, 3), c = between(1, 40), in[2], out[2], x_dims[4], y_dims[4];
	union ir_attrs attrs = { .qpool = { .pool = { .kind = IR_POOL_AVERAGE,
						      .dilations = { 1, 1 },
						      .layout = random_below(2),
						      .counts_padding = random_below(2) },
					    .a_zero = random_zero(from),
					    .zero = random_zero(to) } };
	struct ir_pool_attrs *pool = &attrs.pool;
	bool whole = random_below(4) == 0;
	struct ir_type type;
	struct rig rig;

	for (int i = 0; i < 2; i++) {
		uint32_t pad;

		in[i] = between(3, 20);
		pool->window[i] = whole ? (uint32_t)in[i] : between(1, 3);
		pool->strides[i] = between(1, 3);
		pad = !whole && pool->window[i] > 1 ? random_below(2) : 0;
		pool->padding[2 * i] = pool->padding[2 * i + 1] = pad;
		out[i] = (in[i] + 2 * pad - pool->window[i]) / pool->strides[i] + 1;
	}
	fill_image(pool->layout, x_dims, n, c, in[0], in[1]);
	fill_image(pool->layout, y_dims, n, c, out[0], out[1]);
	type = ir_type_make(to, 4, y_dims);
	rig_init(&rig);
	rig_add(&rig, from, 4, x_dims);
	rig_add_between(&rig, IR_F32, 1, (int64_t[]){ 1 }, 0.3, 3);
	return rig_compare(&rig, IR_OP_QPOOL, &attrs, 1, &type, 0);
}

FAMILY(qconv)
FAMILY(qpool)
FAMILY(qmatmul)
FAMILY(fused)
FAMILY(large_bias)
FAMILY(wmatmul)
FAMILY(qunary)
FAMILY(qbinary)

static void test_all_kernels(void **state)
{
	(void)state;
	rig_expect_all_seen(RIG_OPS_INTEGER);
	if (cpu_simd_best()->channel_dots)
		assert_true(dots_ran || getenv("WNN_CPU_ONEDNN"));
	else
		print_message("this processor has no products of bytes or of pairs\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_qconv),	   cmocka_unit_test(test_qmatmul),
		cmocka_unit_test(test_qunary),	   cmocka_unit_test(test_qbinary),
		cmocka_unit_test(test_fused),	   cmocka_unit_test(test_wmatmul),
		cmocka_unit_test(test_qpool),	   cmocka_unit_test(test_inverse),
		cmocka_unit_test(test_large_bias), cmocka_unit_test(test_all_kernels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
