// SPDX-License-Identifier: MIT
/*
 * Tests how all layers keep numbers: rounding to float16, all bits of 64-bit integers, infinities
 * and NaN, and elements that are more than 2^31 bytes into a tensor.
 */
#define _GNU_SOURCE
#include "exact.h"

#include <math.h>
#include <string.h>
#include <sys/mman.h>

#include "util/float16.h"

#define BIG (INT64_C(1) << 53) /* doubles above this do not have all integers */

static void check_binary(enum ir_op op, enum ir_binary kind, enum ir_dtype dtype, int64_t a,
			 int64_t b, int64_t expected)
{
	union ir_attrs attrs = { .binary = { .kind = kind, .act.kind = IR_UNARY_NONE } };
	struct rig rig;

	rig_init(&rig);
	add_ints(&rig, dtype, 1, &a);
	add_ints(&rig, dtype, 1, &b);
	expect_vector(&rig, op, &attrs, op == IR_OP_COMPARE ? IR_U8 : dtype, 1, &expected, NULL);
}

/* --- float16 ---------------------------------------------------------------------------------- */

static uint16_t bits_of(_Float16 h)
{
	uint16_t bits;

	memcpy(&bits, &h, sizeof(bits));
	return bits;
}

static void check_half(double d)
{
	assert_int_equal(wnn_double_to_half(d), bits_of((_Float16)d));
	assert_int_equal(wnn_float_to_half((float)d), bits_of((_Float16)(float)d));
}

/* Tests all float16 numbers, the ties between them, and numbers next to a tie. */
static void test_float16_rounding(void **state)
{
	(void)state;
	for (uint32_t bits = 0; bits < 0x7c00; bits++) {
		double h = (double)wnn_half_to_float((uint16_t)bits);
		double next = bits == 0x7bff ? 65536 :
					       (double)wnn_half_to_float((uint16_t)(bits + 1));
		double tie = (h + next) / 2;

		assert_int_equal(wnn_double_to_half(h), bits);
		assert_int_equal(wnn_double_to_half(-h), bits | 0x8000);
		check_half(tie);
		check_half(-tie);
		check_half(nextafter(tie, 0));
		check_half(nextafter(tie, INFINITY));
		check_half((double)nextafterf((float)tie, 0));
		check_half((double)nextafterf((float)tie, INFINITY));
	}
	for (int e = -1074; e < 1024; e++)
		check_half(ldexp(1.5, e));
	assert_int_equal(wnn_double_to_half(INFINITY), 0x7c00);
	assert_int_equal(wnn_double_to_half(-INFINITY), 0xfc00);
	assert_true(isnan(wnn_half_to_float(wnn_double_to_half(NAN))));
	assert_true(isnan(wnn_half_to_float(0x7c01)));
	assert_true(wnn_half_to_float(0xfc00) == -INFINITY);
}

static void test_cast_to_float16(void **state)
{
	struct rig rig;

	(void)state;
	rig_init(&rig);
	add_reals(&rig, IR_F32, 8,
		  REALS(0x1p-24, 0x1p-25, 0x1.8p-25, -0x1p-26, 65519, 65520, 2049, 2051));
	expect_vector(&rig, IR_OP_CAST, NULL, IR_F16, 8, NULL,
		      REALS(0x1p-24, 0, 0x1p-24, -0.0, 65504, INFINITY, 2048, 2052));
	rig_init(&rig);
	add_reals(&rig, IR_F16, 3, REALS(0x1p-24, -0x1.ff8p-15, NAN));
	expect_vector(&rig, IR_OP_CAST, NULL, IR_F32, 3, NULL, REALS(0x1p-24, -0x1.ff8p-15, NAN));
}

/* --- 64-bit integers -------------------------------------------------------------------------- */

static void test_wide_arithmetic(void **state)
{
	(void)state;
	check_binary(IR_OP_BINARY, IR_ADD, IR_I64, BIG, 1, BIG + 1);
	check_binary(IR_OP_BINARY, IR_SUB, IR_I64, BIG + 1, 1, BIG);
	check_binary(IR_OP_BINARY, IR_MUL, IR_I64, BIG + 1, 3, 3 * BIG + 3);
	check_binary(IR_OP_BINARY, IR_DIV, IR_I64, INT64_MAX, 2, INT64_MAX / 2);
	check_binary(IR_OP_BINARY, IR_DIV, IR_U64, -1, 2, INT64_MAX);
	check_binary(IR_OP_BINARY, IR_MAX, IR_I64, BIG, BIG + 1, BIG + 1);
	check_binary(IR_OP_BINARY, IR_MIN, IR_U64, -1, BIG + 1, BIG + 1);
	check_binary(IR_OP_BINARY, IR_POW, IR_I64, 3, 39, INT64_C(4052555153018976267));
	check_binary(IR_OP_COMPARE, IR_GT, IR_I64, BIG + 1, BIG, 1);
	check_binary(IR_OP_COMPARE, IR_EQ, IR_I64, BIG + 1, BIG, 0);
	check_binary(IR_OP_COMPARE, IR_LT, IR_U64, BIG, -1, 1);
	check_binary(IR_OP_COMPARE, IR_LT, IR_I64, BIG, -1, 0);
}

static void check_cast(enum ir_dtype from, enum ir_dtype to, int64_t x, int64_t bits, double real)
{
	bool to_float = ir_dtype_is_float(to);
	struct rig rig;

	rig_init(&rig);
	add_ints(&rig, from, 1, &x);
	expect_vector(&rig, IR_OP_CAST, NULL, to, 1, to_float ? NULL : &bits,
		      to_float ? &real : NULL);
}

static void check_cast_from_float(enum ir_dtype to, double x, int64_t bits)
{
	struct rig rig;

	rig_init(&rig);
	add_reals(&rig, IR_F32, 1, &x);
	expect_vector(&rig, IR_OP_CAST, NULL, to, 1, &bits, NULL);
}

static void test_wide_casts(void **state)
{
	(void)state;
	check_cast(IR_I64, IR_U64, -2, -2, 0);
	check_cast(IR_I64, IR_I32, BIG + 7, 7, 0);
	check_cast(IR_U32, IR_I64, UINT32_MAX, UINT32_MAX, 0);
	check_cast(IR_I64, IR_F32, (1 << 24) + 1, 0, 0x1p24);
	check_cast(IR_I64, IR_F32, (1 << 24) + 3, 0, 0x1p24 + 4);
	/*
	 * The integer is just above a tie: rounding by way of double would give the tie, and then
	 * the even number.
	 */
	check_cast(IR_I64, IR_F32, (INT64_C(1) << 60) + (INT64_C(1) << 36) + 1, 0, 0x1p60 + 0x1p37);
	check_cast(IR_U64, IR_F32, -1, 0, 0x1p64);
	check_cast(IR_I64, IR_F32, INT64_MIN, 0, -0x1p63);
	check_cast(IR_U64, IR_F16, -1, 0, INFINITY);
	check_cast_from_float(IR_I64, 0x1p63, INT64_MAX);
	check_cast_from_float(IR_I64, -0x1p63, INT64_MIN);
	check_cast_from_float(IR_I64, 0x1.fffffep62, INT64_C(0x7fffff8000000000));
	check_cast_from_float(IR_U64, 0x1p63, INT64_MIN);
	check_cast_from_float(IR_U64, 0x1p64, -1);
	check_cast_from_float(IR_U64, -0.5, 0);
	check_cast_from_float(IR_I32, 0x1p31, INT32_MAX);
	check_cast_from_float(IR_U32, 0x1p31, INT64_C(1) << 31);
}

static void check_reduce(enum ir_reduce kind, enum ir_dtype dtype, const int64_t *x,
			 int64_t expected)
{
	union ir_attrs attrs = { .reduce = { .kind = kind, .axes = 1 } };
	struct ir_type type = ir_type_make(dtype, 0, NULL);
	struct rig rig;

	rig_init(&rig);
	add_ints(&rig, dtype, 3, x);
	expect(&rig, IR_OP_REDUCE, &attrs, &type, &expected, NULL);
}

static void test_wide_reductions(void **state)
{
	(void)state;
	check_reduce(IR_REDUCE_SUM, IR_I64, INTS(BIG, 1, BIG), 2 * BIG + 1);
	check_reduce(IR_REDUCE_SUM, IR_I64, INTS(INT64_MAX, 1, 0), INT64_MIN);
	check_reduce(IR_REDUCE_MAX, IR_I64, INTS(BIG, BIG + 1, INT64_MIN), BIG + 1);
	check_reduce(IR_REDUCE_MAX, IR_U64, INTS(BIG, -1, 3), -1);
	check_reduce(IR_REDUCE_MIN, IR_I64, INTS(-BIG - 1, -BIG, 3), -BIG - 1);
	check_reduce(IR_REDUCE_PROD, IR_I64, INTS(BIG + 1, 3, -1), -3 * BIG - 3);
	check_reduce(IR_REDUCE_L1, IR_I64, INTS(-BIG, -1, BIG), 2 * BIG + 1);
	check_reduce(IR_REDUCE_L1, IR_U64, INTS(-1, 0, 0), -1);
	check_reduce(IR_REDUCE_L1, IR_I64, INTS(INT64_MIN, 0, 0), INT64_MIN);
	check_reduce(IR_REDUCE_SUM_SQUARE, IR_U64, INTS(1, INT64_C(1) << 31, 0),
		     (INT64_C(1) << 62) + 1);
}

static void test_wide_cumulative_sum(void **state)
{
	union ir_attrs attrs = { .cumsum = { .axis = 0, .reversed = true } };
	struct rig rig;

	(void)state;
	rig_init(&rig);
	add_ints(&rig, IR_I64, 4, INTS(INT64_MAX, BIG, 1, BIG));
	expect_vector(&rig, IR_OP_CUMSUM, &attrs, IR_I64, 4,
		      INTS((int64_t)((uint64_t)INT64_MAX + 2 * BIG + 1), 2 * BIG + 1, BIG + 1, BIG),
		      NULL);
	attrs.cumsum.exclusive = true;
	rig_init(&rig);
	add_ints(&rig, IR_U64, 3, INTS(-1, 5, -1));
	expect_vector(&rig, IR_OP_CUMSUM, &attrs, IR_U64, 3, INTS(4, -1, 0), NULL);
}

/* --- NaN, infinities -------------------------------------------------------------------------- */

static void check_arg(bool max, bool last, enum ir_dtype dtype, const int64_t *ints,
		      const double *reals, int64_t expected)
{
	union ir_attrs attrs = { .arg = { .max = max, .last = last, .axis = 0 } };
	struct ir_type type = ir_type_make(IR_I32, 0, NULL);
	int64_t n = 4;
	struct rig rig;

	rig_init(&rig);
	add_shape(&rig, dtype, 1, &n, ints, reals);
	expect(&rig, IR_OP_ARG, &attrs, &type, &expected, NULL);
}

static void test_arg(void **state)
{
	(void)state;
	check_arg(true, false, IR_I64, INTS(BIG, BIG + 1, BIG + 1, -1), NULL, 1);
	check_arg(true, true, IR_I64, INTS(BIG, BIG + 1, BIG + 1, -1), NULL, 2);
	check_arg(false, false, IR_I64, INTS(BIG, BIG + 1, INT64_MIN, -1), NULL, 2);
	check_arg(true, false, IR_U64, INTS(BIG, BIG + 1, INT64_MIN, -1), NULL, 3);
	check_arg(true, false, IR_F32, NULL, REALS(1, NAN, INFINITY, NAN), 1);
	check_arg(false, false, IR_F32, NULL, REALS(1, NAN, -INFINITY, NAN), 1);
	check_arg(true, false, IR_F32, NULL, REALS(-INFINITY, -INFINITY, -1, -1), 2);
	check_arg(false, true, IR_F16, NULL, REALS(0, -0.0, 1, 0), 3);
}

static void check_topk(bool max, enum ir_dtype dtype, const int64_t *ints, const double *reals,
		       const int64_t *expected)
{
	union ir_attrs attrs = { .arg = { .max = max, .axis = 0 } };
	int64_t n = 4;
	struct ir_type type = ir_type_make(IR_I32, 1, &n);
	struct rig rig;

	rig_init(&rig);
	add_shape(&rig, dtype, 1, &n, ints, reals);
	expect(&rig, IR_OP_TOPK, &attrs, &type, expected, NULL);
}

/*
 * NaN is larger than all numbers, -0 equals 0, and the lower index of equal elements comes first.
 */
static void test_topk(void **state)
{
	(void)state;
	check_topk(true, IR_I64, INTS(BIG, BIG + 1, BIG + 1, -1), NULL, INTS(1, 2, 0, 3));
	check_topk(true, IR_U64, INTS(BIG, BIG + 1, INT64_MIN, -1), NULL, INTS(3, 2, 1, 0));
	check_topk(false, IR_I64, INTS(BIG, BIG + 1, INT64_MIN, -1), NULL, INTS(2, 3, 0, 1));
	check_topk(true, IR_F32, NULL, REALS(1, NAN, INFINITY, NAN), INTS(1, 3, 2, 0));
	check_topk(false, IR_F32, NULL, REALS(1, NAN, -INFINITY, NAN), INTS(2, 0, 1, 3));
	check_topk(true, IR_F16, NULL, REALS(-0.0, 0, 1, -0.0), INTS(2, 0, 1, 3));
	check_topk(true, IR_I8, INTS(-128, 127, 0, -1), NULL, INTS(1, 2, 3, 0));
}

static void check_pool(enum ir_pool kind, const double *x, const double *y)
{
	union ir_attrs attrs = { .pool = { .kind = kind,
					   .window = { 1, 2 },
					   .strides = { 1, 1 },
					   .dilations = { 1, 1 } } };
	struct rig rig;

	for (int layout = IR_NCHW; layout <= IR_NHWC; layout++) {
		bool nhwc = layout == IR_NHWC;
		int64_t dims[4] = { 1, 1, nhwc ? 4 : 1, nhwc ? 1 : 4 };
		struct ir_type type;

		attrs.pool.layout = (enum ir_layout)layout;
		rig_init(&rig);
		add_shape(&rig, IR_F32, 4, dims, NULL, x);
		dims[nhwc ? 2 : 3] = 3;
		type = ir_type_make(IR_F32, 4, dims);
		expect(&rig, IR_OP_POOL, &attrs, &type, NULL, y);
	}
}

static void test_pools(void **state)
{
	(void)state;
	check_pool(IR_POOL_MAX, REALS(NAN, 1, 2, NAN), REALS(NAN, 2, NAN));
	check_pool(IR_POOL_MAX, REALS(-INFINITY, -INFINITY, -1, INFINITY),
		   REALS(-INFINITY, -1, INFINITY));
	check_pool(IR_POOL_AVERAGE, REALS(INFINITY, 1, 2, -INFINITY),
		   REALS(INFINITY, 1.5, -INFINITY));
	check_pool(IR_POOL_AVERAGE, REALS(INFINITY, -INFINITY, NAN, 1), REALS(NAN, NAN, NAN));
	/* The squares exceed float32, their root does not. */
	check_pool(IR_POOL_L2, REALS(3e30f, 4e30f, 0, 0), REALS(5e30f, 4e30f, 0));
	check_pool(IR_POOL_L2, REALS(-INFINITY, 4, 3, NAN), REALS(INFINITY, 5, NAN));
}

static void check_softmax(const double *x, const double *y)
{
	union ir_attrs attrs = { .axis = 0 };
	struct rig rig;

	rig_init(&rig);
	add_reals(&rig, IR_F32, 3, x);
	expect_vector(&rig, IR_OP_SOFTMAX, &attrs, IR_F32, 3, NULL, y);
}

static void test_softmax(void **state)
{
	(void)state;
	check_softmax(REALS(-INFINITY, 2, -INFINITY), REALS(0, 1, 0));
	check_softmax(REALS(3e38, 3e38, -3e38), REALS(0.5, 0.5, 0));
	check_softmax(REALS(1, NAN, 2), REALS(NAN, NAN, NAN));
	check_softmax(REALS(-INFINITY, -INFINITY, -INFINITY), REALS(NAN, NAN, NAN));
}

/* Checks softmax of three elements with attributes that only passes over the graph set. */
static void check_form(bool log, bool guarded, bool nan_to_zero, const double *x, const double *y)
{
	union ir_attrs attrs = {
		.softmax = { .log = log, .guarded = guarded, .nan_to_zero = nan_to_zero }
	};
	struct rig rig;

	rig_init(&rig);
	add_reals(&rig, IR_F32, 3, x);
	expect_vector(&rig, IR_OP_SOFTMAX, &attrs, IR_F32, 3, NULL, y);
}

static void test_softmax_forms(void **state)
{
	const double half = (double)-0x1.62e43p-1f; /* log(1/2) */

	(void)state;
	check_form(true, false, false, REALS(-INFINITY, 2, 2), REALS(-INFINITY, half, half));
	check_form(true, false, false, REALS(1000, 0, -1000), REALS(0, -1000, -2000));
	check_form(true, false, false, REALS(INFINITY, 0, 1), REALS(NAN, NAN, NAN));
	check_form(true, true, false, REALS(INFINITY, 0, 1), REALS(NAN, -INFINITY, -INFINITY));
	check_form(false, true, false, REALS(INFINITY, 0, 1), REALS(NAN, 0, 0));
	check_form(false, true, true, REALS(INFINITY, 0, 1), REALS(0, 0, 0));
	check_form(false, true, false, REALS(-INFINITY, -INFINITY, -INFINITY),
		   REALS(NAN, NAN, NAN));
	check_form(true, true, false, REALS(1, NAN, 2), REALS(NAN, NAN, NAN));
	check_form(false, false, true, REALS(1, NAN, 2), REALS(0, 0, 0));
	check_form(false, false, true, REALS(-INFINITY, 2, -INFINITY), REALS(0, 1, 0));
}

static void test_infinite_reductions(void **state)
{
	union ir_attrs attrs = { .reduce = { .kind = IR_REDUCE_LOG_SUM_EXP, .axes = 1 } };
	struct ir_type type = ir_type_make(IR_F32, 0, NULL);
	struct rig rig;

	(void)state;
	rig_init(&rig);
	add_reals(&rig, IR_F32, 2, REALS(-INFINITY, -INFINITY));
	expect(&rig, IR_OP_REDUCE, &attrs, &type, NULL, REALS(-INFINITY));
	rig_init(&rig);
	add_reals(&rig, IR_F32, 2, REALS(1000, -1000));
	expect(&rig, IR_OP_REDUCE, &attrs, &type, NULL, REALS(1000));
	rig_init(&rig);
	add_reals(&rig, IR_F32, 2, REALS(INFINITY, 0));
	expect(&rig, IR_OP_REDUCE, &attrs, &type, NULL, REALS(INFINITY));
	attrs.reduce.kind = IR_REDUCE_SHIFTED_LOG_SUM_EXP;
	rig_init(&rig);
	add_reals(&rig, IR_F32, 2, REALS(INFINITY, 0));
	expect(&rig, IR_OP_REDUCE, &attrs, &type, NULL, REALS(NAN));
	rig_init(&rig);
	add_reals(&rig, IR_F32, 2, REALS(-INFINITY, -INFINITY));
	expect(&rig, IR_OP_REDUCE, &attrs, &type, NULL, REALS(NAN));
	attrs.reduce.kind = IR_REDUCE_L2;
	rig_init(&rig);
	add_reals(&rig, IR_F32, 2, REALS(3e30f, 4e30f));
	expect(&rig, IR_OP_REDUCE, &attrs, &type, NULL, REALS(5e30f));
	attrs.reduce.kind = IR_REDUCE_MEAN;
	rig_init(&rig);
	add_reals(&rig, IR_F32, 2, REALS(0x1.8p127, 0x1.8p127));
	expect(&rig, IR_OP_REDUCE, &attrs, &type, NULL, REALS(0x1.8p127));
}

/* --- Far elements ----------------------------------------------------------------------------- */

/* The most elements that a tensor may have. */
#define FAR_COUNT INT64_C(0x7fffffff)

/*
 * Returns FAR_COUNT mapped elements: the last one is 7, the others are zeros whose pages take no
 * memory. The caller unmaps them.
 */
static void *make_far(enum ir_dtype dtype)
{
	size_t size = (size_t)FAR_COUNT * ir_dtype_bits(dtype) / 8;
	void *data = mmap(NULL, size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	assert_true(data != MAP_FAILED);
	rig_put(dtype, data, FAR_COUNT - 1, 7);
	return data;
}

/*
 * Checks a node with @data as operand 0 and, if given, @indices as operand 1; its result must be 0
 * and 7.
 */
static void check_far(enum ir_op op, const union ir_attrs *attrs, enum ir_dtype dtype,
		      const void *data, const int64_t *indices)
{
	struct ir_type x = ir_type_make(dtype, 1, (int64_t[]){ FAR_COUNT });
	struct ir_type y = ir_type_make(dtype, 1, (int64_t[]){ 2 });
	struct ir_type index = ir_type_make(IR_I64, 1, (int64_t[]){ 2 });

	for (int layer = CPU_REFERENCE; layer <= CPU_FAST; layer++) {
		struct ir_graph *graph = ir_graph_create();
		struct cpu_context *cpu = cpu_context_create(1);
		struct ir_value *operands[2] = { ir_add_input(graph, "x", &x) };
		const void *in[2] = { data, indices };
		int64_t result[2] = { -1, -1 };
		void *out = result;
		struct wnn_error err = { 0 };
		struct ir_node *node;

		operands[1] = indices ? ir_add_input(graph, "i", &index) : NULL;
		node = ir_add_node(graph, op, operands, indices ? 2 : 1, &y, 1, attrs, "", NULL);
		assert_non_null(node);
		assert_int_equal(cpu_run_node(cpu, (enum cpu_layer)layer, node, in, &out, &err), 0);
		assert_true(rig_get(dtype, out, 0) == 0);
		assert_true(rig_get(dtype, out, 1) == 7);
		cpu_context_destroy(cpu);
		ir_graph_destroy(graph);
	}
}

static void test_far_elements(void **state)
{
	static const enum ir_dtype types[] = { IR_U8, IR_F32, IR_I64 };
	const union ir_attrs end = { .slice = { .starts = { FAR_COUNT - 2 }, .strides = { 1 } } };
	const union ir_attrs wide = { .slice = { .starts = { 0 }, .strides = { FAR_COUNT - 1 } } };
	union ir_attrs gather = { .gather.axis = 0 };

	(void)state;
	for (int t = 0; t < 3; t++) {
		void *data = make_far(types[t]);

		check_far(IR_OP_SLICE, &end, types[t], data, NULL);
		check_far(IR_OP_SLICE, &wide, types[t], data, NULL);
		for (int kind = IR_GATHER_AXIS; kind <= IR_GATHER_ELEMENTS; kind++) {
			gather.gather.kind = kind;
			check_far(IR_OP_GATHER, &gather, types[t], data,
				  INTS(INT64_C(1) << 30, -1));
			check_far(IR_OP_GATHER, &gather, types[t], data,
				  INTS(INT64_MIN, INT64_MAX));
		}
		munmap(data, (size_t)FAR_COUNT * ir_dtype_bits(types[t]) / 8);
	}
}

static void check_unary(int kind, float alpha, float beta, double x, double expected)
{
	union ir_attrs attrs = { .unary = { .kind = kind, .alpha = alpha, .beta = beta } };
	struct rig rig;

	for (int dtype = IR_F32; dtype <= IR_F16; dtype++) {
		rig_init(&rig);
		add_reals(&rig, (enum ir_dtype)dtype, 1, &x);
		expect_vector(&rig, IR_OP_UNARY, &attrs, (enum ir_dtype)dtype, 1, NULL, &expected);
	}
}

/* Tests that gates are products: -infinity times 0 is NaN. */
static void test_gates(void **state)
{
	static const struct ir_unary_attrs gates[] = {
		{ .kind = IR_SWISH, .alpha = 1 },
		{ .kind = IR_MISH },
		{ .kind = IR_GELU_TANH, .alpha = 0.1f, .beta = 1.6f },
		{ .kind = IR_HARD_GATE, .alpha = 0.2f, .beta = 0.5f },
		{ .kind = IR_STEP_GATE, .alpha = 0.5f },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(gates) / sizeof(gates[0]); i++) {
		const struct ir_unary_attrs *g = &gates[i];

		check_unary(g->kind, g->alpha, g->beta, NAN, NAN);
		check_unary(g->kind, g->alpha, g->beta, INFINITY, INFINITY);
		check_unary(g->kind, g->alpha, g->beta, -INFINITY, NAN);
		check_unary(g->kind, g->alpha, g->beta, -0.0, -0.0);
		check_unary(g->kind, g->alpha, g->beta, 100, 100);
	}
	check_unary(IR_SWISH, -1, 0, INFINITY, NAN);
	check_unary(IR_SWISH, -1, 0, -100, -100);
	check_unary(IR_HARD_GATE, 0.25f, 0.5f, 1, 0.75);
	check_unary(IR_STEP_GATE, 0.5f, 0, 0.5, 0);
	check_unary(IR_STEP_GATE, -2, 0, -1, -1);
	check_unary(IR_SCALED_TANH, 2, 3, 0.5, 2 * tanh(1.5));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_float16_rounding),
		cmocka_unit_test(test_cast_to_float16),
		cmocka_unit_test(test_wide_arithmetic),
		cmocka_unit_test(test_wide_casts),
		cmocka_unit_test(test_wide_reductions),
		cmocka_unit_test(test_wide_cumulative_sum),
		cmocka_unit_test(test_arg),
		cmocka_unit_test(test_topk),
		cmocka_unit_test(test_pools),
		cmocka_unit_test(test_softmax),
		cmocka_unit_test(test_softmax_forms),
		cmocka_unit_test(test_infinite_reductions),
		cmocka_unit_test(test_far_elements),
		cmocka_unit_test(test_gates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
