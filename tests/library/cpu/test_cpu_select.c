// SPDX-License-Identifier: MIT
/*
 * Compares the fast layer with the reference on random comparisons, where, casts, argMin, argMax
 * and topK, with elements that are equal, out of range or NaN.
 */
#include "rig.h"

#include <math.h>
#include <string.h>

static const enum ir_dtype types[] = {
	IR_F32, IR_F16, IR_I32, IR_U32, IR_I64, IR_U64, IR_I8, IR_U8
};
enum { TYPES = sizeof(types) / sizeof(types[0]) };

static enum ir_dtype random_type(void)
{
	return types[random_below(TYPES)];
}

/*
 * Draws at least @lo dimensions and returns their number; now and then there are so many elements
 * that several threads share them in several chunks.
 */
static uint32_t random_dims(uint32_t lo, int64_t *dims)
{
	uint32_t rank = between(lo, random_below(3) ? 4 : 8);

	for (uint32_t i = 0; i < rank; i++)
		dims[i] = between(1, rank > 4 ? 3 : 7);
	if (rank && rank < 3 && !random_below(4))
		dims[random_below(rank)] = between(3000, 20000);
	return rank;
}

/* Adds an operand with many equal elements, and special floats. */
static void add_few_values(struct rig *rig, enum ir_dtype dtype, uint32_t rank, const int64_t *dims)
{
	static const double odd[] = { NAN, INFINITY, -INFINITY, -0.0, 0 };
	struct ir_type type = ir_type_make(dtype, rank, dims);
	bool has_odd = !random_below(3);
	void *data = rig_add(rig, dtype, rank, dims);

	for (int64_t i = 0; i < ir_type_elements(&type); i++)
		if (ir_dtype_is_float(dtype) && has_odd && !random_below(4))
			rig_put(dtype, data, i, odd[random_below(5)]);
		else if (random_below(3))
			rig_put(dtype, data, i, (double)random_below(4));
}

/* Adds an operand in which some dimensions become 1 and some of the first are left out. */
static void add_broadcast(struct rig *rig, enum ir_dtype dtype, uint32_t rank, const int64_t *dims)
{
	uint32_t lead = rank && !random_below(4) ? random_below(rank + 1) : 0;
	int64_t own[8];

	for (uint32_t i = 0; i < rank; i++)
		own[i] = random_below(3) ? dims[i] : 1;
	add_few_values(rig, dtype, rank - lead, own + lead);
}

static bool compare_round(void)
{
	int64_t dims[8];
	uint32_t rank = random_dims(0, dims), whole = random_below(2);
	union ir_attrs attrs = { .binary = { .kind = (enum ir_binary)between(IR_EQ, IR_LE) } };
	enum ir_dtype dtype = random_type();
	struct ir_type type = ir_type_make(IR_U8, rank, dims);
	struct rig rig;

	attrs.binary.act.kind = IR_UNARY_NONE;
	rig_init(&rig);
	for (uint32_t k = 0; k < 2; k++)
		if (k == whole)
			add_few_values(&rig, dtype, rank, dims);
		else
			add_broadcast(&rig, dtype, rank, dims);
	return rig_compare(&rig, IR_OP_COMPARE, &attrs, 1, &type, 0);
}

static bool where_round(void)
{
	int64_t dims[8];
	uint32_t rank = random_dims(0, dims), whole = random_below(3);
	enum ir_dtype dtype = random_type();
	struct ir_type type = ir_type_make(dtype, rank, dims);
	union ir_attrs attrs = { 0 };
	struct rig rig;

	rig_init(&rig);
	for (uint32_t k = 0; k < 3; k++)
		if (k == whole)
			add_few_values(&rig, k ? dtype : IR_U8, rank, dims);
		else
			add_broadcast(&rig, k ? dtype : IR_U8, rank, dims);
	return rig_compare(&rig, IR_OP_WHERE, &attrs, 1, &type, 0);
}

/* Returns a float near the end of an integer type's range, or far beyond. */
static double near_an_end(void)
{
	static const double ends[] = {
		0x1p7, 0x1p8, 0x1p15, 0x1p31, 0x1p32, 0x1p63, 0x1p64, 0x1p100
	};
	double end = ends[random_below(8)];

	end += random_below(2) ? between(0, 4) - 2.0 :
				 end * ((double)random_below(5) - 2) * 0x1p-24;
	return random_below(2) ? end : -end;
}

static bool cast_round(void)
{
	int64_t dims[8];
	uint32_t rank = random_dims(0, dims);
	enum ir_dtype from = random_type(), to = random_type();
	struct ir_type in = ir_type_make(from, rank, dims), out = ir_type_make(to, rank, dims);
	union ir_attrs attrs = { 0 };
	struct rig rig;

	rig_init(&rig);
	add_few_values(&rig, from, rank, dims);
	for (int64_t i = 0; i < ir_type_elements(&in) && ir_dtype_is_float(from); i++)
		if (!random_below(3))
			rig_put(from, rig.data[0], i, near_an_end());
	return rig_compare(&rig, IR_OP_CAST, &attrs, 1, &out, 0);
}

static bool arg_round(void)
{
	int64_t dims[8], y[8];
	uint32_t rank = random_dims(1, dims), axis = random_below(rank), n = 0;
	union ir_attrs attrs = { .arg = { .max = random_below(2),
					  .last = random_below(2),
					  .keep_dims = random_below(2),
					  .axis = axis } };
	enum ir_dtype dtype = random_type();
	struct ir_type type;
	struct rig rig;

	if (dtype == IR_F16)
		dtype = IR_F32;
	for (uint32_t d = 0; d < rank; d++) {
		if (d != axis || attrs.arg.keep_dims)
			y[n++] = d == axis ? 1 : dims[d];
	}
	type = ir_type_make(random_below(2) ? IR_I32 : IR_I64, n, y);
	rig_init(&rig);
	add_few_values(&rig, dtype, rank, dims);
	return rig_compare(&rig, IR_OP_ARG, &attrs, 1, &type, 0);
}

/*
 * Compares topK with the reference, with k from 1 to the length of the axis, but at most 500;
 * returns false when no fast kernel takes the node.
 */
static bool topk_round(void)
{
	int64_t dims[8];
	uint32_t rank = random_dims(1, dims), axis = random_below(rank);
	union ir_attrs attrs = { .arg = { .max = random_below(2), .axis = axis } };
	enum ir_dtype dtype = random_type();
	uint32_t most = (uint32_t)(dims[axis] > 500 ? 500 : dims[axis]);
	struct ir_type type = ir_type_make(random_below(2) ? IR_I32 : IR_I64, rank, dims);
	struct rig rig;

	rig_init(&rig);
	add_few_values(&rig, dtype, rank, dims);
	type.dim[axis].value = random_below(4) ? between(1, most) : most;
	return rig_compare(&rig, IR_OP_TOPK, &attrs, 1, &type, 0);
}

FAMILY(compare)
FAMILY(where)
FAMILY(cast)
FAMILY(arg)
FAMILY(topk)

/* Tests topK of vectors that are sorted, reversed, full of equal numbers, or a Gray code. */
static void test_topk_orders(void **state)
{
	enum { N = 4000, K = 300 };
	const int64_t dims[1] = { N }, count[1] = { K };
	union ir_attrs attrs = { .arg = { .max = true } };
	struct ir_type type = ir_type_make(IR_I32, 1, count);

	(void)state;
	for (int order = 0; order < 4; order++) {
		struct rig rig;
		int32_t *x;

		rig_init(&rig);
		x = rig_add(&rig, IR_I32, 1, dims);
		for (int32_t i = 0; i < N; i++)
			x[i] = order == 0 ? i : order == 1 ? -i : order == 2 ? i % 7 : i ^ (i >> 1);
		assert_true(rig_compare(&rig, IR_OP_TOPK, &attrs, 1, &type, 0));
	}
}

static void test_all_seen(void **state)
{
	(void)state;
	rig_expect_all_seen(RIG_OPS_SELECT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_compare),	 cmocka_unit_test(test_where),
		cmocka_unit_test(test_cast),	 cmocka_unit_test(test_arg),
		cmocka_unit_test(test_topk),	 cmocka_unit_test(test_topk_orders),
		cmocka_unit_test(test_all_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
