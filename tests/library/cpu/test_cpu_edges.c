// SPDX-License-Identifier: MIT
/*
 * Tests cases in which the specification leaves a result open or C's result is undefined: every
 * layer must give the value that the documentation names, without a trap or a read outside of an
 * operand.
 */
#include "rig.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exact.h"

/* --- Integers --------------------------------------------------------------------------------- */

static void check_binary(enum ir_binary kind, enum ir_dtype dtype, int64_t n, const int64_t *a,
			 const int64_t *b, const int64_t *expected)
{
	union ir_attrs attrs = { .binary = { .kind = kind, .act.kind = IR_UNARY_NONE } };
	struct rig rig;

	rig_init(&rig);
	add_ints(&rig, dtype, n, a);
	add_ints(&rig, dtype, n, b);
	expect_vector(&rig, IR_OP_BINARY, &attrs, dtype, n, expected, NULL);
}

static void test_integer_division(void **state)
{
	(void)state;
	for (int t = 0; t < 3; t++) {
		int64_t min = lowest(signed_types[t]), max = highest(unsigned_types[t]);

		check_binary(IR_DIV, signed_types[t], 6, INTS(min, min, 0, 7, -7, -7),
			     INTS(-1, 0, 0, -2, 2, 0), INTS(min, 0, 0, -3, -3, 0));
		check_binary(IR_DIV, unsigned_types[t], 4, INTS(max, max, 0, 7), INTS(max, 0, 0, 2),
			     INTS(1, 0, 0, 3));
	}
}

static void test_integer_overflow(void **state)
{
	(void)state;
	for (int t = 0; t < 3; t++) {
		enum ir_dtype s = signed_types[t], u = unsigned_types[t];
		int64_t min = lowest(s), max = highest(s), all = highest(u);

		check_binary(IR_ADD, s, 2, INTS(max, min), INTS(1, -1), INTS(min, max));
		check_binary(IR_SUB, s, 2, INTS(min, max), INTS(1, -1), INTS(max, min));
		check_binary(IR_MUL, s, 3, INTS(max, min, min), INTS(2, -1, 2), INTS(-2, min, 0));
		check_binary(IR_ADD, u, 1, INTS(all), INTS(2), INTS(1));
		check_binary(IR_SUB, u, 1, INTS(0), INTS(1), INTS(all));
		check_binary(IR_MAX, u, 1, INTS(all), INTS(1), INTS(all));
		check_binary(IR_PRELU, s, 2, INTS(min, 5), INTS(-1, 9), INTS(min, 5));
	}
}

static void test_integer_power(void **state)
{
	(void)state;
	for (int t = 0; t < 3; t++) {
		check_binary(IR_POW, signed_types[t], 8, INTS(2, -1, -1, 1, 0, 3, 2, -2),
			     INTS(-1, -3, -4, -9, -1, 0, 100, 3), INTS(0, -1, 1, 1, 0, 1, 0, -8));
		check_binary(IR_POW, unsigned_types[t], 3, INTS(2, 0, 3), INTS(100, 0, 4),
			     INTS(0, 1, 81));
	}
}

static void test_smallest_integer(void **state)
{
	static const int kinds[] = { IR_ABS, IR_NEG };

	(void)state;
	for (int t = 0; t < 3; t++)
		for (int k = 0; k < 2; k++) {
			union ir_attrs attrs = { .unary.kind = kinds[k] };
			int64_t min = lowest(signed_types[t]);
			struct rig rig;

			rig_init(&rig);
			add_ints(&rig, signed_types[t], 2, INTS(min, 1));
			expect_vector(&rig, IR_OP_UNARY, &attrs, signed_types[t], 2,
				      INTS(min, k ? -1 : 1), NULL);
		}
}

/* --- Indices ---------------------------------------------------------------------------------- */

static void check_gather(enum ir_dtype index, int64_t n, const int64_t *indices,
			 const int64_t *expected)
{
	struct rig rig;

	for (int kind = IR_GATHER_AXIS; kind <= IR_GATHER_ND; kind++) {
		union ir_attrs attrs = { .gather.axis = 0 };
		int64_t dims[2] = { n, 1 };

		attrs.gather.kind = kind;
		rig_init(&rig);
		add_ints(&rig, IR_I8, 3, INTS(10, 20, 30));
		add_shape(&rig, index, kind == IR_GATHER_ND ? 2 : 1, dims, indices, NULL);
		expect_vector(&rig, IR_OP_GATHER, &attrs, IR_I8, n, expected, NULL);
	}
}

static void test_indices_out_of_range(void **state)
{
	(void)state;
	check_gather(IR_I32, 8, INTS(-4, -3, -1, 0, 2, 3, INT32_MIN, INT32_MAX),
		     INTS(10, 10, 30, 10, 30, 30, 10, 30));
	check_gather(IR_I64, 5, INTS(-2, INT64_MIN, INT64_MAX, INT64_C(1) << 32, -4),
		     INTS(20, 10, 30, 30, 10));
	check_gather(IR_U32, 3, INTS(1, UINT32_MAX, 3), INTS(20, 30, 30));
}

/* When several updates have the same index, the last one stays. */
static void test_scatter_duplicates(void **state)
{
	(void)state;
	for (int kind = IR_GATHER_ELEMENTS; kind <= IR_GATHER_ND; kind++) {
		union ir_attrs attrs = { .gather.axis = 0 };
		int64_t dims[2] = { 6, 1 };
		struct rig rig;

		attrs.gather.kind = kind;
		rig_init(&rig);
		add_ints(&rig, IR_U8, 4, INTS(1, 2, 3, 4));
		add_shape(&rig, IR_I32, kind == IR_GATHER_ND ? 2 : 1, dims,
			  INTS(1, 1, -3, 99, -99, 3), NULL);
		add_ints(&rig, IR_U8, 6, INTS(10, 20, 30, 40, 50, 60));
		expect_vector(&rig, IR_OP_SCATTER, &attrs, IR_U8, 4, INTS(50, 30, 3, 60), NULL);
	}
}

/* --- NaN and infinities ----------------------------------------------------------------------- */

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

static void test_unary_of_no_number(void **state)
{
	(void)state;
	check_unary(IR_CLAMP, 0, 1, NAN, NAN);
	check_unary(IR_CLAMP, -INFINITY, 1, -INFINITY, -INFINITY);
	check_unary(IR_RELU, 0, 0, NAN, NAN);
	check_unary(IR_RELU, 0, 0, -INFINITY, 0);
	check_unary(IR_SIGN, 0, 0, NAN, 0);
	check_unary(IR_LEAKY_RELU, 0.5f, 0, NAN, NAN);
	check_unary(IR_LEAKY_RELU, 0.5f, 0, -INFINITY, -INFINITY);
	check_unary(IR_LOG, 0, 0, -1, NAN);
	check_unary(IR_LOG, 0, 0, 0, -INFINITY);
	check_unary(IR_RECIPROCAL, 0, 0, -0.0, -INFINITY);
	check_unary(IR_SQRT, 0, 0, -1, NAN);
	check_unary(IR_SIGMOID, 0, 0, -INFINITY, 0);
	check_unary(IR_TANH, 0, 0, INFINITY, 1);
	check_unary(IR_SOFTPLUS, 0, 0, INFINITY, INFINITY);
	check_unary(IR_SOFTPLUS, 0, 0, -INFINITY, 0);
	check_unary(IR_HARD_SIGMOID, 0.2f, 0.5f, NAN, NAN);
	check_unary(IR_ELU, 1, 0, -INFINITY, -1);
	check_unary(IR_ELU, INFINITY, 0, 0, 0);
	check_unary(IR_ELU, INFINITY, 0, -1, -INFINITY);
	check_unary(IR_RELU, 0, 0, -0.0, 0);
	check_unary(IR_CLAMP, 0, 1, -0.0, 0);
	check_unary(IR_ABS, 0, 0, -0.0, 0);
}

static void check_real_binary(enum ir_binary kind, double a, double b, double expected)
{
	union ir_attrs attrs = { .binary = { .kind = kind, .act.kind = IR_UNARY_NONE } };
	struct rig rig;

	rig_init(&rig);
	add_reals(&rig, IR_F32, 1, &a);
	add_reals(&rig, IR_F32, 1, &b);
	expect_vector(&rig, IR_OP_BINARY, &attrs, IR_F32, 1, NULL, &expected);
}

static void test_binary_of_no_number(void **state)
{
	(void)state;
	check_real_binary(IR_MAX, NAN, 1, NAN);
	check_real_binary(IR_MAX, 1, NAN, NAN);
	check_real_binary(IR_MIN, NAN, 1, NAN);
	check_real_binary(IR_MIN, 1, NAN, NAN);
	check_real_binary(IR_MAX, -INFINITY, 1, 1);
	check_real_binary(IR_MAX, -0.0, 0.0, 0.0);
	check_real_binary(IR_MAX, 0.0, -0.0, 0.0);
	check_real_binary(IR_MIN, -0.0, 0.0, -0.0);
	check_real_binary(IR_MIN, 0.0, -0.0, -0.0);
	check_real_binary(IR_DIV, 0, 0, NAN);
	check_real_binary(IR_DIV, -1, 0, -INFINITY);
	check_real_binary(IR_PRELU, NAN, 2, NAN);
	check_real_binary(IR_POW, 0, 0, 1);
	check_real_binary(IR_SUB, INFINITY, INFINITY, NAN);
}

static void test_comparison_with_nan(void **state)
{
	(void)state;
	for (int kind = IR_EQ; kind <= IR_LE; kind++) {
		union ir_attrs attrs = { .binary.kind = (enum ir_binary)kind };
		int64_t unequal = kind == IR_NE;
		struct rig rig;

		rig_init(&rig);
		add_reals(&rig, IR_F32, 3, REALS(NAN, 1, NAN));
		add_reals(&rig, IR_F32, 3, REALS(1, NAN, NAN));
		expect_vector(&rig, IR_OP_COMPARE, &attrs, IR_U8, 3,
			      INTS(unequal, unequal, unequal), NULL);
	}
}

/* where() selects: NaN or infinity in the operand that is not selected has no effect. */
static void test_where_selects(void **state)
{
	struct rig rig;

	(void)state;
	rig_init(&rig);
	add_ints(&rig, IR_U8, 4, INTS(1, 0, 255, 0));
	add_reals(&rig, IR_F32, 4, REALS(1, INFINITY, NAN, NAN));
	add_reals(&rig, IR_F32, 4, REALS(INFINITY, 2, 3, -0.0));
	expect_vector(&rig, IR_OP_WHERE, NULL, IR_F32, 4, NULL, REALS(1, 2, NAN, -0.0));
}

static void check_cast(enum ir_dtype from, enum ir_dtype to, int64_t n, const double *reals,
		       const int64_t *ints, const int64_t *expected)
{
	struct rig rig;

	rig_init(&rig);
	add_shape(&rig, from, 1, &n, ints, reals);
	expect_vector(&rig, IR_OP_CAST, NULL, to, n, expected, NULL);
}

static void test_casts_out_of_range(void **state)
{
	struct rig rig;

	(void)state;
	for (int t = 0; t < 3; t++) {
		enum ir_dtype s = signed_types[t], u = unsigned_types[t];

		check_cast(IR_F32, s, 6, REALS(NAN, 1e30, -1e30, INFINITY, -INFINITY, -1.9), NULL,
			   INTS(0, highest(s), lowest(s), highest(s), lowest(s), -1));
		check_cast(IR_F32, u, 6, REALS(NAN, 1e30, -1e30, INFINITY, -INFINITY, 1.9), NULL,
			   INTS(0, highest(u), 0, highest(u), 0, 1));
		check_cast(s, u, 2, NULL, INTS(-1, lowest(s)), INTS(highest(u), lowest(s)));
	}
	check_cast(IR_I32, IR_U8, 3, NULL, INTS(-1, 256, 300), INTS(255, 0, 44));
	rig_init(&rig);
	add_ints(&rig, IR_I32, 3, INTS(65519, 65520, -1000000));
	expect_vector(&rig, IR_OP_CAST, NULL, IR_F16, 3, NULL, REALS(65504, INFINITY, -INFINITY));
}

/* --- Quantisation ----------------------------------------------------------------------------- */

static void check_quantize(enum ir_dtype dtype, int64_t zero, int64_t n, const double *x,
			   const int64_t *expected)
{
	struct rig rig;

	for (int real = IR_F32; real <= IR_F16; real++) {
		rig_init(&rig);
		add_reals(&rig, (enum ir_dtype)real, n, x);
		add_reals(&rig, (enum ir_dtype)real, 1, REALS(0.5));
		add_ints(&rig, dtype, 1, &zero);
		expect_vector(&rig, IR_OP_QUANTIZE, NULL, dtype, n, expected, NULL);
	}
}

static void test_quantize(void **state)
{
	(void)state;
	check_quantize(IR_I8, 3, 5, REALS(NAN, INFINITY, -INFINITY, 1000, -1000),
		       INTS(3, 127, -128, 127, -128));
	/* Halves are rounded to even before the zero point is added. */
	check_quantize(IR_U8, 1, 5, REALS(0.25, 0.75, 1.25, -0.25, -0.75), INTS(1, 3, 3, 1, 0));
	check_quantize(IR_I32, INT32_MIN, 3, REALS(-1, INFINITY, 0),
		       INTS(INT32_MIN, INT32_MAX, INT32_MIN));
	check_quantize(IR_U32, UINT32_MAX, 4, REALS(1, -1, -INFINITY, NAN),
		       INTS(UINT32_MAX, UINT32_MAX - 2, 0, UINT32_MAX));
	/* The number of elements is odd: the unused half of the last byte is 0. */
	check_quantize(IR_I4, 0, 5, REALS(-9, -4, 3.5, 9, 0.5), INTS(-8, -8, 7, 7, 1));
	check_quantize(IR_U4, 8, 3, REALS(-9, 3.5, 9), INTS(0, 15, 15));
}

/* The first of two elements is in the low half of its byte. */
static void test_four_bits(void **state)
{
	static const uint8_t packed[] = { 0x8f, 0x70, 0x05 };
	const int64_t n = 5;
	struct rig rig;

	(void)state;
	for (int is_signed = 0; is_signed < 2; is_signed++) {
		rig_init(&rig);
		rig_add_data(&rig, is_signed ? IR_I4 : IR_U4, 1, &n, packed);
		add_reals(&rig, IR_F32, 1, REALS(2));
		add_ints(&rig, is_signed ? IR_I4 : IR_U4, 1, INTS(1));
		expect_vector(&rig, IR_OP_DEQUANTIZE, NULL, IR_F32, n, NULL,
			      is_signed ? REALS(-4, -18, -2, 12, 8) : REALS(28, 14, -2, 12, 8));
	}
}

/* The difference of an integer and its zero point is exact, however large both are. */
static void test_dequantize_extremes(void **state)
{
	struct rig rig;

	(void)state;
	rig_init(&rig);
	add_ints(&rig, IR_U32, 2, INTS(UINT32_MAX, 0));
	add_reals(&rig, IR_F32, 1, REALS(1));
	add_ints(&rig, IR_U32, 1, INTS(UINT32_MAX - 3));
	expect_vector(&rig, IR_OP_DEQUANTIZE, NULL, IR_F32, 2, NULL, REALS(3, -4294967292.0));
	rig_init(&rig);
	add_ints(&rig, IR_I32, 2, INTS(INT32_MIN, INT32_MAX));
	add_reals(&rig, IR_F16, 1, REALS(1));
	add_ints(&rig, IR_I32, 1, INTS(INT32_MAX));
	expect_vector(&rig, IR_OP_DEQUANTIZE, NULL, IR_F16, 2, NULL, REALS(-INFINITY, 0));
}

/* --- Empty sets, scalars ---------------------------------------------------------------------- */

/* A reduction without axes applies to each element alone. */
static void test_reductions_of_nothing(void **state)
{
	static const struct {
		enum ir_reduce kind;
		double expected[2];
	} cases[] = {
		{ IR_REDUCE_SUM, { -2, 3 } },
		{ IR_REDUCE_PROD, { -2, 3 } },
		{ IR_REDUCE_MAX, { -2, 3 } },
		{ IR_REDUCE_MIN, { -2, 3 } },
		{ IR_REDUCE_MEAN, { -2, 3 } },
		{ IR_REDUCE_L1, { 2, 3 } },
		{ IR_REDUCE_L2, { 2, 3 } },
		{ IR_REDUCE_SUM_SQUARE, { 4, 9 } },
		{ IR_REDUCE_LOG_SUM, { NAN, (double)1.0986122886681098f } },
		{ IR_REDUCE_LOG_SUM_EXP, { -2, 3 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (uint32_t rank = 0; rank < 2; rank++) {
			union ir_attrs attrs = { .reduce.kind = cases[i].kind };
			int64_t n = 2;
			struct ir_type type = ir_type_make(IR_F32, rank, &n);
			struct rig rig;

			rig_init(&rig);
			add_shape(&rig, IR_F32, rank, &n, NULL, REALS(-2, 3));
			expect(&rig, IR_OP_REDUCE, &attrs, &type, NULL, cases[i].expected);
		}
}

static void test_reductions_keep_nan(void **state)
{
	static const enum ir_reduce kinds[] = { IR_REDUCE_MAX, IR_REDUCE_MIN, IR_REDUCE_SUM };

	(void)state;
	for (int k = 0; k < 3; k++)
		for (int at = 0; at < 3; at++) {
			union ir_attrs attrs = { .reduce = { .kind = kinds[k], .axes = 1 } };
			struct ir_type type = ir_type_make(IR_F32, 0, NULL);
			double x[3] = { 1, 2, 3 };
			struct rig rig;

			x[at] = NAN;
			rig_init(&rig);
			add_reals(&rig, IR_F32, 3, x);
			expect(&rig, IR_OP_REDUCE, &attrs, &type, NULL, REALS(NAN));
		}
}

/* Cosines may be half a row, which both halves use; the sine may be one number for all. */
static void test_rotary(void **state)
{
	struct rig rig;

	(void)state;
	rig_init(&rig);
	add_reals(&rig, IR_F32, 4, REALS(1, 2, 3, 4));
	add_reals(&rig, IR_F32, 4, REALS(10, 20, 30, 40));
	add_reals(&rig, IR_F32, 4, REALS(1, 2, 3, 4));
	expect_vector(&rig, IR_OP_ROTARY, NULL, IR_F32, 4, NULL, REALS(7, 32, 93, 168));
	rig_init(&rig);
	add_reals(&rig, IR_F32, 4, REALS(1, 2, 3, 4));
	add_reals(&rig, IR_F32, 2, REALS(10, 20));
	add_shape(&rig, IR_F32, 0, NULL, NULL, REALS(2));
	expect_vector(&rig, IR_OP_ROTARY, NULL, IR_F32, 4, NULL, REALS(4, 32, 32, 84));
}

/* Tests a normalisation without axes: x - mean is 0, so that the result is the bias. */
static void test_normalisation_over_no_axes(void **state)
{
	union ir_attrs attrs = { .norm.epsilon = 1e-5f };
	struct ir_type type = ir_type_make(IR_F32, 0, NULL);
	struct rig rig;

	(void)state;
	rig_init(&rig);
	add_shape(&rig, IR_F32, 0, NULL, NULL, REALS(7));
	rig_skip(&rig);
	add_shape(&rig, IR_F32, 0, NULL, NULL, REALS(-3));
	expect(&rig, IR_OP_LAYERNORM, &attrs, &type, NULL, REALS(-3));
}

static void test_scalars(void **state)
{
	union ir_attrs add = { .binary = { .kind = IR_ADD, .act.kind = IR_UNARY_NONE } };
	union ir_attrs none = { .axes = 0 };
	static const enum ir_op movers[] = { IR_OP_COPY,  IR_OP_RESHAPE, IR_OP_EXPAND,
					     IR_OP_TILE,  IR_OP_REVERSE, IR_OP_TRANSPOSE,
					     IR_OP_SLICE, IR_OP_PAD };
	struct ir_type type = ir_type_make(IR_F32, 0, NULL);
	struct rig rig;

	(void)state;
	rig_init(&rig);
	add_shape(&rig, IR_F32, 0, NULL, NULL, REALS(1));
	add_shape(&rig, IR_F32, 0, NULL, NULL, REALS(2));
	expect(&rig, IR_OP_BINARY, &add, &type, NULL, REALS(3));
	for (size_t i = 0; i < sizeof(movers) / sizeof(movers[0]); i++) {
		rig_init(&rig);
		add_shape(&rig, IR_F32, 0, NULL, NULL, REALS(5));
		expect(&rig, movers[i], &none, &type, NULL, REALS(5));
	}
}

/* --- Windows, pictures ------------------------------------------------------------------------ */

static void test_pool_of_padding(void **state)
{
	static const double lowest_float = -INFINITY;
	struct ir_type type = ir_type_make(IR_F32, 4, (int64_t[]){ 1, 1, 1, 3 });
	int64_t one[4] = { 1, 1, 1, 1 };
	struct rig rig;

	(void)state;
	for (int kind = IR_POOL_MAX; kind <= IR_POOL_L2; kind++) {
		union ir_attrs attrs = { .pool = { .kind = (enum ir_pool)kind,
						   .window = { 1, 1 },
						   .padding = { 0, 0, 1, 1 },
						   .strides = { 1, 1 },
						   .dilations = { 1, 1 } } };
		double nothing = kind == IR_POOL_MAX ? lowest_float : 0;

		rig_init(&rig);
		add_shape(&rig, IR_F32, 4, one, NULL, REALS(4));
		expect(&rig, IR_OP_POOL, &attrs, &type, NULL, REALS(nothing, 4, nothing));
		if (kind != IR_POOL_MAX)
			continue;
		type.dtype = IR_I8;
		rig_init(&rig);
		add_shape(&rig, IR_I8, 4, one, INTS(4), NULL);
		expect(&rig, IR_OP_POOL, &attrs, &type, INTS(-128, 4, -128), NULL);
		type.dtype = IR_F32;
	}
}

/* A window that reaches far into the padding takes only the time of the input that it covers. */
static void test_huge_windows(void **state)
{
	static const double mean = 2.5, root = 5.477225575051661, max = 4, sums[] = { 1, 2, 3, 4 };
	const uint32_t far = 2000000000;
	struct ir_type type = ir_type_make(IR_F32, 4, (int64_t[]){ 1, 1, 1, 1 });
	int64_t x[4] = { 1, 1, 2, 2 };
	struct rig rig;

	(void)state;
	for (int kind = IR_POOL_MAX; kind <= IR_POOL_L2; kind++) {
		union ir_attrs attrs = { .pool = { .kind = (enum ir_pool)kind,
						   .window = { UINT32_MAX, UINT32_MAX },
						   .padding = { far, far, far, far },
						   .strides = { 1, 1 },
						   .dilations = { 1, 1 } } };
		double value = kind == IR_POOL_MAX ? max : kind == IR_POOL_AVERAGE ? mean : root;

		rig_init(&rig);
		add_shape(&rig, IR_F32, 4, x, NULL, REALS(1, 2, 3, 4));
		expect(&rig, IR_OP_POOL, &attrs, &type, NULL, REALS(value));
		/* Only the middle tap sees any input. */
		attrs.pool.window[0] = attrs.pool.window[1] = 3;
		attrs.pool.dilations[0] = attrs.pool.dilations[1] = far;
		type = ir_type_make(IR_F32, 4, x);
		rig_init(&rig);
		add_shape(&rig, IR_F32, 4, x, NULL, REALS(1, 2, 3, 4));
		expect(&rig, IR_OP_POOL, &attrs, &type, NULL, sums);
		type = ir_type_make(IR_F32, 4, (int64_t[]){ 1, 1, 1, 1 });
	}
}

/* With huge dilations, all taps of the filter but the middle one see only padding. */
static void test_huge_dilations(void **state)
{
	const uint32_t far = 2000000000;
	union ir_attrs attrs = { .conv = { .strides = { 1, 1 },
					   .dilations = { far, far },
					   .padding = { far, far, far, far },
					   .groups = 1,
					   .act.kind = IR_UNARY_NONE } };
	int64_t x[4] = { 1, 1, 2, 2 }, w[4] = { 1, 1, 3, 3 };
	struct ir_type type = ir_type_make(IR_F32, 4, x);
	struct rig rig;

	(void)state;
	for (int nhwc = 0; nhwc < 2; nhwc++) {
		rig_init(&rig);
		add_shape(&rig, IR_F32, 4, x, NULL, REALS(1, 2, 3, 4));
		add_shape(&rig, IR_F32, 4, w, NULL, REALS(1, 1, 1, 1, 2, 1, 1, 1, 1));
		expect(&rig, IR_OP_CONV, &attrs, &type, NULL, REALS(2, 4, 6, 8));
		attrs.conv.layout = IR_NHWC;
		x[1] = x[2] = 2;
		x[3] = 1;
		type = ir_type_make(IR_F32, 4, x);
	}
}

#define MAX_VECTOR 9

/*
 * Checks a convolution of one row: to one channel (depthwise) or to two equal ones (dense), in both
 * layouts, with a constant filter or not.
 */
static void check_conv(union ir_attrs *attrs, int64_t size, const double *x, int64_t window,
		       const double *filter, const double *expected)
{
	for (int round = 0; round < 8; round++) {
		bool nhwc = round & 1, constant = round & 2;
		int64_t channels = round & 4 ? 2 : 1, w[4] = { channels, 1, 1, window };
		int64_t in[4] = { 1, 1, nhwc ? size : 1, nhwc ? 1 : size };
		int64_t out[4] = { 1, nhwc ? 1 : channels, nhwc ? size : 1,
				   nhwc ? channels : size };
		struct ir_type type = ir_type_make(IR_F32, 4, out);
		double filters[2 * MAX_VECTOR], results[2 * MAX_VECTOR];
		struct rig rig;

		for (int64_t i = 0; i < channels * window; i++)
			filters[i] = filter[i % window];
		for (int64_t i = 0; i < channels * size; i++)
			results[i] = expected[nhwc ? i / channels : i % size];
		attrs->conv.layout = nhwc ? IR_NHWC : IR_NCHW;
		rig_init(&rig);
		add_shape(&rig, IR_F32, 4, in, NULL, x);
		add_shape(&rig, IR_F32, 4, w, NULL, filters);
		if (constant)
			rig_make_constant(&rig, 1);
		expect(&rig, IR_OP_CONV, attrs, &type, NULL, results);
	}
}

/* Sums leave padding out, as 0 times an infinite weight would be NaN. */
static void test_infinite_weights(void **state)
{
	union ir_attrs attrs = { .conv = { .strides = { 1, 1 },
					   .dilations = { 1, 1 },
					   .padding = { 0, 0, 1, 1 },
					   .groups = 1,
					   .act.kind = IR_UNARY_NONE } };

	(void)state;
	check_conv(&attrs, 3, REALS(1, 2, -3), 3, REALS(INFINITY, 1, 2),
		   REALS(5, INFINITY, INFINITY));
	check_conv(&attrs, 3, REALS(1, 2, -3), 3, REALS(1, 1, NAN), REALS(NAN, NAN, -1));
}

/* relu and clamp, fused into a convolution, make +0 of a product that underflows to -0. */
static void test_fused_negative_zero(void **state)
{
	union ir_attrs attrs = { .conv = { .strides = { 1, 1 },
					   .dilations = { 1, 1 },
					   .groups = 1,
					   .act.kind = IR_RELU } };
	const double x[] = { -0x1p-100, 1, -0x1p-100, 2, -3, -0x1p-120, 3, -0x1p-100, -0x1p-110 };
	double expected[9];

	(void)state;
	for (int i = 0; i < 9; i++)
		expected[i] = x[i] >= 1 ? x[i] * 0x1p-100 : 0;
	check_conv(&attrs, 9, x, 1, REALS(0x1p-100), expected);
	attrs.conv.act = (struct ir_unary_attrs){ .kind = IR_CLAMP, .alpha = 0, .beta = 6 };
	check_conv(&attrs, 9, x, 1, REALS(0x1p-100), expected);
}

/* Tests an average of large numbers: the sum of a window exceeds float32, the average does not. */
static void test_average_of_large(void **state)
{
	const double large = 0x1.8p127;
	int64_t x[4] = { 1, 1, 1, 6 };
	struct ir_type type = ir_type_make(IR_F32, 4, (int64_t[]){ 1, 1, 1, 5 });

	(void)state;
	for (int nhwc = 0; nhwc < 2; nhwc++) {
		union ir_attrs attrs = { .pool = { .kind = IR_POOL_AVERAGE,
						   .window = { 1, 2 },
						   .strides = { 1, 1 },
						   .dilations = { 1, 1 } } };
		struct rig rig;

		attrs.pool.layout = nhwc ? IR_NHWC : IR_NCHW;
		rig_init(&rig);
		add_shape(&rig, IR_F32, 4, x, NULL, REALS(large, large, -large, -large, large, 0));
		expect(&rig, IR_OP_POOL, &attrs, &type, NULL,
		       REALS(large, 0, -large, 0, large / 2));
		x[2] = 6;
		x[3] = 1;
		type = ir_type_make(IR_F32, 4, (int64_t[]){ 1, 1, 5, 1 });
	}
}

/* An infinite neighbour of weight 0 makes no NaN; halfway, the lower neighbour is nearest. */
static void test_resample(void **state)
{
	union ir_attrs attrs = { .resample = { .linear = true, .axes = { 2, 3 } } };
	int64_t x[4] = { 1, 1, 1, 2 };
	struct ir_type type = ir_type_make(IR_F32, 4, (int64_t[]){ 1, 1, 1, 4 });
	struct rig rig;

	(void)state;
	rig_init(&rig);
	add_shape(&rig, IR_F32, 4, x, NULL, REALS(1, INFINITY));
	expect(&rig, IR_OP_RESAMPLE, &attrs, &type, NULL, REALS(1, INFINITY, INFINITY, INFINITY));
	attrs.resample.linear = false;
	type = ir_type_make(IR_F32, 4, (int64_t[]){ 1, 1, 1, 1 });
	rig_init(&rig);
	add_shape(&rig, IR_F32, 4, x, NULL, REALS(1, 2));
	expect(&rig, IR_OP_RESAMPLE, &attrs, &type, NULL, REALS(1));
	attrs.resample.linear = true;
	type.dtype = IR_U8;
	rig_init(&rig);
	add_shape(&rig, IR_U8, 4, x, INTS(2, 3), NULL);
	expect(&rig, IR_OP_RESAMPLE, &attrs, &type, INTS(2), NULL);
}

/* --- Recurrent networks ----------------------------------------------------------------------- */

/*
 * Checks an LSTM cell of one unit with relu everywhere and weights of 0, so that a gate is the sum
 * of its biases: i = 2, o = 3, f = 5, g = 7; the cell state before is 1.
 */
static void check_lstm(uint32_t order, const double *bias, const double *peephole, double h)
{
	union ir_attrs attrs = { .rnn = { .steps = 1,
					  .hidden_size = 1,
					  .cell = true,
					  .gate_order = order,
					  .activations = { IR_RELU, IR_RELU, IR_RELU } } };
	struct ir_type types[2] = { ir_type_make(IR_F32, 2, (int64_t[]){ 1, 1 }),
				    ir_type_make(IR_F32, 2, (int64_t[]){ 1, 1 }) };
	const int64_t one[2] = { 1, 1 }, four[2] = { 4, 1 };
	float *actual;
	struct rig rig;

	for (int layer = CPU_REFERENCE; layer <= CPU_FAST; layer++) {
		rig_init(&rig);
		add_shape(&rig, IR_F32, 2, one, NULL, REALS(1));
		for (int i = 0; i < 2; i++)
			add_shape(&rig, IR_F32, 2, four, NULL, REALS(0, 0, 0, 0));
		add_reals(&rig, IR_F32, 4, bias);
		rig_skip(&rig);
		add_reals(&rig, IR_F32, 3, peephole);
		for (int i = 0; i < 2; i++)
			add_shape(&rig, IR_F32, 2, one, NULL, REALS(1));
		actual = rig_run(&rig, (enum cpu_layer)layer, IR_OP_LSTM, &attrs, 2, types);
		assert_true((double)actual[0] == h);
		free(actual);
		rig_exit(&rig);
	}
}

static void test_lstm_gates(void **state)
{
	(void)state;
	/* c = 5 * 1 + 2 * 7, h = 3 * c */
	check_lstm(0, REALS(2, 3, 5, 7), REALS(0, 0, 0), 57);
	check_lstm(1, REALS(2, 5, 7, 3), REALS(0, 0, 0), 57);
	/* Peephole weights are in the order i, o, f; o sees the old state: 13 * (105 + 3 * 7) */
	check_lstm(0, REALS(2, 3, 5, 7), REALS(1, 10, 100), 1638);
	check_lstm(1, REALS(2, 5, 7, 3), REALS(1, 10, 100), 1638);
}

/*
 * Checks a GRU with numbers worked out by hand: the gates are z = 2 and r = 3; n has bias 5,
 * recurrent bias 1 and recurrent weight 0.5; the initial state is 10.
 */
static void check_gru(uint32_t order, bool after, const double *bias, double h)
{
	union ir_attrs attrs = { .rnn = { .steps = 1,
					  .hidden_size = 1,
					  .cell = true,
					  .gate_order = order,
					  .reset_after = after,
					  .activations = { IR_RELU, IR_RELU } } };
	struct ir_type type = ir_type_make(IR_F32, 2, (int64_t[]){ 1, 1 });
	const int64_t one[2] = { 1, 1 }, three[2] = { 3, 1 };
	struct rig rig;

	rig_init(&rig);
	add_shape(&rig, IR_F32, 2, one, NULL, REALS(1));
	add_shape(&rig, IR_F32, 2, three, NULL, REALS(0, 0, 0));
	add_shape(&rig, IR_F32, 2, three, NULL, REALS(0, 0, 0.5));
	add_reals(&rig, IR_F32, 3, bias);
	add_reals(&rig, IR_F32, 3, REALS(0, 0, 1));
	add_shape(&rig, IR_F32, 2, one, NULL, REALS(10));
	expect(&rig, IR_OP_GRU, &attrs, &type, NULL, &h);
}

static void test_gru_gates(void **state)
{
	(void)state;
	/* after: n = 5 + 3 * (0.5 * 10 + 1); before: n = 5 + 0.5 * (3 * 10) + 1; h = 2 * 10 - n */
	check_gru(0, true, REALS(2, 3, 5), -3);
	check_gru(1, true, REALS(3, 2, 5), -3);
	check_gru(0, false, REALS(2, 3, 5), -1);
	check_gru(1, false, REALS(3, 2, 5), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_integer_division),
		cmocka_unit_test(test_integer_overflow),
		cmocka_unit_test(test_integer_power),
		cmocka_unit_test(test_smallest_integer),
		cmocka_unit_test(test_indices_out_of_range),
		cmocka_unit_test(test_scatter_duplicates),
		cmocka_unit_test(test_unary_of_no_number),
		cmocka_unit_test(test_binary_of_no_number),
		cmocka_unit_test(test_comparison_with_nan),
		cmocka_unit_test(test_where_selects),
		cmocka_unit_test(test_casts_out_of_range),
		cmocka_unit_test(test_quantize),
		cmocka_unit_test(test_four_bits),
		cmocka_unit_test(test_dequantize_extremes),
		cmocka_unit_test(test_reductions_of_nothing),
		cmocka_unit_test(test_reductions_keep_nan),
		cmocka_unit_test(test_normalisation_over_no_axes),
		cmocka_unit_test(test_rotary),
		cmocka_unit_test(test_scalars),
		cmocka_unit_test(test_pool_of_padding),
		cmocka_unit_test(test_huge_windows),
		cmocka_unit_test(test_huge_dilations),
		cmocka_unit_test(test_infinite_weights),
		cmocka_unit_test(test_fused_negative_zero),
		cmocka_unit_test(test_average_of_large),
		cmocka_unit_test(test_resample),
		cmocka_unit_test(test_lstm_gates),
		cmocka_unit_test(test_gru_gates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
