// SPDX-License-Identifier: MIT
/*
 * Compares the fast layer with the reference on random functions of one and of two operands, and on
 * reductions of integers: with NaN and infinities, integers that wrap, divisions by 0, and
 * broadcast operands.
 */
#include "exact.h"

#include <math.h>

static const enum ir_dtype types[] = { IR_I8, IR_U8, IR_I32, IR_U32, IR_I64, IR_U64 };
enum { TYPES = sizeof(types) / sizeof(types[0]) };

/*
 * Draws dimensions and returns their number; now and then there are so many elements that several
 * threads share them in several chunks.
 */
static uint32_t random_dims(int64_t *dims)
{
	uint32_t rank = random_below(random_below(3) ? 5 : 9);

	for (uint32_t i = 0; i < rank; i++)
		dims[i] = between(1, rank > 4 ? 3 : 7);
	if (rank && rank < 3 && !random_below(4))
		dims[random_below(rank)] = between(3000, 20000);
	/* Many short rows, of which an operand may have one for all. */
	if (rank == 3 && !random_below(3)) {
		dims[1] = between(2, 900);
		dims[2] = between(2, random_below(4) ? 70 : 600);
	}
	return rank;
}

/*
 * Adds floats from -most to most and some special values, or integers of any bits, many of them
 * small or at the ends of the type.
 */
static void add_values(struct rig *rig, enum ir_dtype dtype, uint32_t rank, const int64_t *dims,
		       double most)
{
	static const double odd[] = { NAN, INFINITY, -INFINITY, -0.0, 0, 1, -1, 3e38, 1e-40 };
	struct ir_type type = ir_type_make(dtype, rank, dims);
	bool is_float = ir_dtype_is_float(dtype);
	void *data = is_float ? rig_add_between(rig, dtype, rank, dims, -most, most) :
				rig_add(rig, dtype, rank, dims);
	bool has_odd = !random_below(3);

	for (int64_t i = 0; i < ir_type_elements(&type); i++)
		if (is_float && has_odd && !random_below(4))
			rig_put(dtype, data, i, odd[random_below(9)]);
		else if (!is_float && random_below(2))
			rig_put(dtype, data, i,
				ir_dtype_bits(dtype) < 64 && !random_below(4) ?
					(dtype == IR_I8	 ? -128 :
					 dtype == IR_I32 ? -0x1p31 :
							   255) :
					(double)random_below(5) -
						(dtype == IR_I8 || dtype == IR_I32 ||
								 dtype == IR_I64 ?
							 2 :
							 0));
}

/* Adds two operands that broadcast to `y`; the second one often lacks the first dimensions. */
static void add_pair(struct rig *rig, enum ir_dtype dtype, uint32_t rank, const int64_t *y,
		     double most)
{
	uint32_t lead = rank ? random_below(rank + 1) : 0;
	int64_t a[8], b[8];

	for (uint32_t i = 0; i < rank; i++) {
		a[i] = random_below(4) ? y[i] : 1;
		b[i] = a[i] == 1 || random_below(4) ? y[i] : 1;
		if (i < lead)
			a[i] = y[i];
	}
	add_values(rig, dtype, rank, a, most);
	add_values(rig, dtype, rank - lead, b + lead, most);
}

static bool binary_round(void)
{
	union ir_attrs attrs = { 0 };
	int64_t y[8];
	uint32_t rank = random_dims(y);
	struct ir_type type = ir_type_make(IR_F32, rank, y);
	struct rig rig;

	attrs.binary.kind = (enum ir_binary)random_below(IR_PRELU + 1);
	attrs.binary.act = rig_random_act();
	rig_init(&rig);
	add_pair(&rig, IR_F32, rank, y, 1);
	return rig_compare(&rig, IR_OP_BINARY, &attrs, 1, &type, 1e-6);
}

static bool unary_round(void)
{
	union ir_attrs attrs = { .unary = { .kind = (int)random_below(IR_LINEAR + 1),
					    .alpha = -0.25f,
					    .beta = 0.5f,
					    .half = random_below(4) == 0 } };
	int64_t dims[2] = { between(1, 9), between(1, random_below(8) ? 70 : 20000) };
	int kind = attrs.unary.kind;
	struct ir_type type = ir_type_make(IR_F32, 2, dims);
	struct rig rig;

	rig_init(&rig);
	if (kind == IR_SQRT || kind == IR_RECIPROCAL || kind == IR_LOG)
		rig_add_between(&rig, IR_F32, 2, dims, 0.125, 30);
	else
		add_values(&rig, IR_F32, 2, dims, 20);
	return rig_compare(&rig, IR_OP_UNARY, &attrs, 1, &type, 1e-6);
}

/* Returns a random function; IR_CEIL, which does not change integers, is one of them. */
static struct ir_unary_attrs random_function(enum ir_dtype dtype)
{
	static const int kinds[] = { IR_ABS, IR_NEG, IR_SIGN, IR_RELU, IR_CLAMP, IR_CEIL };
	bool wide = ir_dtype_bits(dtype) == 64 || random_below(4) == 0;
	int64_t lo = wide ? INT64_MIN : -(int64_t)random_below(3), hi = random_below(5);

	if (random_below(8) == 0)
		hi = lo;
	return (struct ir_unary_attrs){ .kind = kinds[random_below(6)],
					.ilo = lo,
					.ihi = hi,
					.ulo = random_below(3),
					.uhi = wide ? UINT64_MAX : 200 };
}

static bool unary_integers_round(void)
{
	enum ir_dtype dtype = types[random_below(TYPES)];
	union ir_attrs attrs = { .unary = random_function(dtype) };
	int64_t dims[8];
	uint32_t rank = random_dims(dims);
	struct ir_type type;
	struct rig rig;

	if (random_below(4) == 0) {
		dtype = IR_U8;
		attrs.unary.kind = IR_LOGICAL_NOT;
	}
	type = ir_type_make(dtype, rank, dims);
	rig_init(&rig);
	add_values(&rig, dtype, rank, dims, 0);
	return rig_compare(&rig, IR_OP_UNARY, &attrs, 1, &type, 0);
}

static bool binary_integers_round(void)
{
	enum ir_dtype dtype = types[random_below(TYPES)];
	union ir_attrs attrs = { .binary = { .kind = (enum ir_binary)random_below(IR_EQ) } };
	int64_t dims[8];
	uint32_t rank = random_dims(dims);
	struct ir_type type;
	struct rig rig;

	if (attrs.binary.kind >= IR_AND && attrs.binary.kind <= IR_XOR)
		dtype = IR_U8;
	attrs.binary.act = random_function(dtype);
	if (random_below(2))
		attrs.binary.act.kind = IR_UNARY_NONE;
	type = ir_type_make(dtype, rank, dims);
	rig_init(&rig);
	add_pair(&rig, dtype, rank, dims, 0);
	return rig_compare(&rig, IR_OP_BINARY, &attrs, 1, &type, 0);
}

/* A reduction over neighbouring axes, any of them, or none. */
static bool reduction_round(void)
{
	static const enum ir_reduce kinds[] = {
		IR_REDUCE_SUM, IR_REDUCE_MAX,  IR_REDUCE_MIN,
		IR_REDUCE_L1,  IR_REDUCE_PROD, IR_REDUCE_SUM_SQUARE
	};
	enum ir_dtype dtype = types[random_below(TYPES)];
	union ir_attrs attrs = { .reduce.kind = kinds[random_below(6)] };
	int64_t dims[8], kept[8];
	uint32_t rank = random_dims(dims), first = between(0, rank), end = between(first, rank);
	uint32_t count = 0;
	struct ir_type type;
	struct rig rig;

	for (uint32_t i = 0; i < rank; i++) {
		if (i >= first && i < end)
			attrs.reduce.axes |= 1u << i;
		else
			kept[count++] = dims[i];
	}
	type = ir_type_make(dtype, count, kept);
	rig_init(&rig);
	add_values(&rig, dtype, rank, dims, 0);
	return rig_compare(&rig, IR_OP_REDUCE, &attrs, 1, &type, 0);
}

static bool says_round(void)
{
	union ir_attrs attrs = { .unary.kind = random_below(2) ? IR_IS_NAN : IR_IS_INFINITE };
	int64_t dims[8];
	uint32_t rank = random_dims(dims);
	struct ir_type type = ir_type_make(IR_U8, rank, dims);
	struct rig rig;

	rig_init(&rig);
	add_values(&rig, random_below(2) ? IR_F32 : IR_F16, rank, dims, 10);
	return rig_compare(&rig, IR_OP_UNARY, &attrs, 1, &type, 0);
}

/*
 * pow() has the results that C defines, with one exponent for all or one for each; sine and cosine
 * take large angles.
 */
static void test_odd_numbers(void **state)
{
	static const float values[] = { NAN,	  INFINITY, -INFINITY, 0,      -0.0f, 1,
					-1,	  2,	    -2,	       0.5f,   -0.5f, 3,
					-3,	  1e-40f,   3e38f,     -3e38f, -1e9f, 1e5f,
					16777216, 2.5f,	    -2.5f,     4,      1e30f, 33554430 };
	enum { COUNT = sizeof(values) / sizeof(values[0]) };
	const int64_t line[1] = { COUNT }, one[1] = { 1 }, all[2] = { COUNT, COUNT },
		      column[2] = { COUNT, 1 };
	union ir_attrs attrs = { .binary = { .kind = IR_POW, .act.kind = IR_UNARY_NONE } };
	struct ir_type type = ir_type_make(IR_F32, 2, all);
	struct rig rig;

	(void)state;
	rig_init(&rig);
	rig_add_data(&rig, IR_F32, 2, column, values);
	rig_add_data(&rig, IR_F32, 1, line, values);
	assert_true(rig_compare(&rig, IR_OP_BINARY, &attrs, 1, &type, 1e-6));
	type = ir_type_make(IR_F32, 1, line);
	for (int i = 0; i < COUNT; i++) {
		rig_init(&rig);
		rig_add_data(&rig, IR_F32, 1, line, values);
		rig_add_data(&rig, IR_F32, 1, one, values + i);
		assert_true(rig_compare(&rig, IR_OP_BINARY, &attrs, 1, &type, 1e-6));
	}
	for (int kind = IR_LOG; kind <= IR_TAN; kind++) {
		union ir_attrs unary = { .unary.kind = kind };

		rig_init(&rig);
		rig_add_data(&rig, IR_F32, 1, line, values);
		assert_true(rig_compare(&rig, IR_OP_UNARY, &unary, 1, &type, 1e-6));
	}
}

static void check(enum ir_binary kind, enum ir_dtype dtype, int64_t n, const int64_t *a,
		  const int64_t *b, const int64_t *expected)
{
	union ir_attrs attrs = { .binary = { .kind = kind, .act.kind = IR_UNARY_NONE } };
	struct rig rig;

	rig_init(&rig);
	add_ints(&rig, dtype, n, a);
	add_ints(&rig, dtype, n, b);
	expect_vector(&rig, IR_OP_BINARY, &attrs, dtype, n, expected, NULL);
	/* Checks each pair of numbers alone, too. */
	for (int64_t i = 0; i < n; i++) {
		rig_init(&rig);
		add_ints(&rig, dtype, 1, a + i);
		add_ints(&rig, dtype, 1, b + i);
		expect_vector(&rig, IR_OP_BINARY, &attrs, dtype, 1, expected + i, NULL);
	}
}

static void test_bits(void **state)
{
	(void)state;
	for (int t = 0; t < 3; t++) {
		enum ir_dtype s = signed_types[t], u = unsigned_types[t];
		int64_t min = lowest(s), max = highest(s), all = highest(u);

		check(IR_BIT_AND, s, 6, INTS(12, -1, min, max, -6, 0), INTS(10, 5, max, -1, 7, -1),
		      INTS(8, 5, 0, max, 2, 0));
		check(IR_BIT_OR, s, 6, INTS(12, -1, min, max, -6, 0), INTS(10, 5, max, -1, 7, 3),
		      INTS(14, -1, -1, -1, -1, 3));
		check(IR_BIT_XOR, s, 6, INTS(12, -1, min, max, -6, 0), INTS(10, 5, max, -1, 7, 3),
		      INTS(6, -6, -1, min, -3, 3));
		check(IR_BIT_AND, u, 5, INTS(12, all, all, 0, 85), INTS(10, 5, all, all, 51),
		      INTS(8, 5, all, 0, 17));
		check(IR_BIT_OR, u, 5, INTS(12, all, 0, 0, 85), INTS(10, 5, all, 0, 51),
		      INTS(14, all, all, 0, 119));
		check(IR_BIT_XOR, u, 5, INTS(12, all, all, 0, 85), INTS(10, all, 0, 0, 51),
		      INTS(6, 0, all, 0, 102));
	}
}

static void test_shifts(void **state)
{
	(void)state;
	for (int t = 0; t < 3; t++) {
		enum ir_dtype s = signed_types[t], u = unsigned_types[t];
		int64_t min = lowest(s), max = highest(s), all = highest(u);
		int64_t bits = (int64_t)ir_dtype_bits(s);

		check(IR_SHIFT_LEFT, s, 8, INTS(1, 3, -1, max, 1, -5, 7, min),
		      INTS(0, 2, 1, 1, bits - 1, bits, -1, 1), INTS(1, 12, -2, -2, min, 0, 0, 0));
		check(IR_SHIFT_RIGHT, s, 8, INTS(12, -12, -1, min, max, -5, 7, -7),
		      INTS(2, 2, 1, bits - 1, bits - 1, bits, -1, min),
		      INTS(3, -3, -1, -1, 0, -1, 0, -1));
		check(IR_SHIFT_LEFT, u, 5, INTS(1, 3, all, 1, all), INTS(0, 2, bits, bits - 1, all),
		      INTS(1, 12, 0, min, 0));
		check(IR_SHIFT_RIGHT, u, 6, INTS(12, all, all, all, 7, min),
		      INTS(2, bits - 1, bits, bits + 1, all, bits - 2), INTS(3, 1, 0, 0, 0, 2));
	}
}

static void test_remainders(void **state)
{
	(void)state;
	for (int t = 0; t < 3; t++) {
		enum ir_dtype s = signed_types[t], u = unsigned_types[t];
		int64_t min = lowest(s), max = highest(s), all = highest(u);

		check(IR_REMAINDER, s, 9, INTS(7, -7, 7, -7, 6, min, min, -5, max),
		      INTS(3, 3, -3, -3, 3, -1, 0, 0, min), INTS(1, -1, 1, -1, 0, 0, min, -5, max));
		check(IR_FLOORED_REMAINDER, s, 9, INTS(7, -7, 7, -7, -6, min, min, -5, max),
		      INTS(3, 3, -3, -3, 3, -1, 0, 0, min), INTS(1, 2, -2, -1, 0, 0, min, -5, -1));
		for (int kind = IR_REMAINDER; kind <= IR_FLOORED_REMAINDER; kind++)
			check((enum ir_binary)kind, u, 5, INTS(7, all, all, 5, 0),
			      INTS(3, all, 2, 0, all), INTS(1, 0, 1, 5, 0));
	}
}

FAMILY(unary)
FAMILY(binary)
FAMILY(unary_integers)
FAMILY(binary_integers)
FAMILY(reduction)
FAMILY(says)

static void test_all_seen(void **state)
{
	(void)state;
	rig_expect_all_seen(RIG_OPS_ELEMENTWISE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unary),	       cmocka_unit_test(test_binary),
		cmocka_unit_test(test_unary_integers), cmocka_unit_test(test_binary_integers),
		cmocka_unit_test(test_reduction),      cmocka_unit_test(test_says),
		cmocka_unit_test(test_odd_numbers),    cmocka_unit_test(test_bits),
		cmocka_unit_test(test_shifts),	       cmocka_unit_test(test_remainders),
		cmocka_unit_test(test_all_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
