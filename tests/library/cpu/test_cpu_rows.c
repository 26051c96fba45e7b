// SPDX-License-Identifier: MIT
/*
 * Compares the fast layer with the reference on random nodes: pad, tile, triangular and
 * cumulativeSum.
 */
#include <string.h>

#include "rig.h"

static const enum ir_dtype types[] = {
	IR_F32, IR_F16, IR_I32, IR_U32, IR_I64, IR_U64, IR_I8, IR_U8
};

static enum ir_dtype random_type(void)
{
	return types[random_below(8)];
}

/*
 * Draws at least @lo dimensions and returns their number; now and then there are so many elements
 * that several threads share them.
 */
static uint32_t random_dims(uint32_t lo, int64_t *dims)
{
	uint32_t rank = between(lo, random_below(3) ? 4 : 8);

	for (uint32_t i = 0; i < rank; i++)
		dims[i] = between(1, rank > 4 ? 3 : 7);
	if (rank && rank < 4 && !random_below(4))
		dims[random_below(rank)] = between(300, 5000);
	return rank;
}

/*
 * Compares pad with the reference, with margins for some dimensions that are no wider than the mode
 * allows; returns false when no fast kernel takes the node.
 */
static bool pad_round(void)
{
	int64_t dims[8], y[8];
	uint32_t rank = random_dims(0, dims);
	enum ir_dtype dtype = random_type();
	union ir_attrs attrs = { .pad = { .mode = (enum ir_pad_mode)random_below(4),
					  .value = 0x0102030405060708 } };
	struct ir_type type;
	struct rig rig;

	for (uint32_t i = 0; i < rank; i++) {
		int64_t most = attrs.pad.mode == IR_PAD_REFLECTION ? dims[i] - 1 :
			       attrs.pad.mode == IR_PAD_SYMMETRIC  ? dims[i] :
								     5;

		most = most < 5 ? most : 5;
		if (random_below(3)) {
			attrs.pad.begin[i] = between(0, (uint32_t)most);
			attrs.pad.end[i] = between(0, (uint32_t)most);
		}
		y[i] = attrs.pad.begin[i] + dims[i] + attrs.pad.end[i];
	}
	type = ir_type_make(dtype, rank, y);
	rig_init(&rig);
	rig_add(&rig, dtype, rank, dims);
	return rig_compare(&rig, IR_OP_PAD, &attrs, 1, &type, 0);
}

/* Compares pad of the last dimension alone, whose size is 1: each element gets its own padding. */
static bool spread_round(void)
{
	int64_t dims[8], y[8];
	uint32_t rank = random_dims(1, dims);
	enum ir_dtype dtype = random_type();
	union ir_attrs attrs = { .pad = { .mode = IR_PAD_CONSTANT, .value = 0x0102030405060708 } };
	struct ir_type type;
	struct rig rig;

	dims[rank - 1] = 1;
	attrs.pad.begin[rank - 1] = random_below(3);
	attrs.pad.end[rank - 1] = random_below(3) + 1;
	memcpy(y, dims, sizeof(y));
	y[rank - 1] += attrs.pad.begin[rank - 1] + attrs.pad.end[rank - 1];
	type = ir_type_make(dtype, rank, y);
	rig_init(&rig);
	rig_add(&rig, dtype, rank, dims);
	return rig_compare(&rig, IR_OP_PAD, &attrs, 1, &type, 0);
}

static bool tile_round(void)
{
	int64_t dims[8], y[8];
	uint32_t rank = random_dims(0, dims);
	enum ir_dtype dtype = random_type();
	union ir_attrs attrs = { 0 };
	struct ir_type type;
	struct rig rig;

	for (uint32_t i = 0; i < rank; i++)
		y[i] = dims[i] * (random_below(2) ? 1 : between(1, 4));
	type = ir_type_make(dtype, rank, y);
	rig_init(&rig);
	rig_add(&rig, dtype, rank, dims);
	return rig_compare(&rig, IR_OP_TILE, &attrs, 1, &type, 0);
}

static bool triangular_round(void)
{
	int64_t dims[8];
	uint32_t rank = random_dims(2, dims);
	enum ir_dtype dtype = random_type();
	struct ir_type type = ir_type_make(dtype, rank, dims);
	union ir_attrs attrs = { .triangular = { .upper = random_below(2),
						 .diagonal = (int64_t)between(0, 16) - 8 } };
	struct rig rig;

	if (!random_below(8))
		attrs.triangular.diagonal *= 1000;
	rig_init(&rig);
	rig_add(&rig, dtype, rank, dims);
	return rig_compare(&rig, IR_OP_TRIANGULAR, &attrs, 1, &type, 0);
}

static bool cumsum_round(void)
{
	int64_t dims[8];
	uint32_t rank = random_dims(1, dims);
	enum ir_dtype dtype = random_type();
	struct ir_type type;
	union ir_attrs attrs = { .cumsum = { .axis = random_below(rank),
					     .exclusive = random_below(2),
					     .reversed = random_below(2) } };
	struct rig rig;

	/* The fast layer has no cumulativeSum of float16. */
	dtype = dtype == IR_F16 ? IR_F32 : dtype;
	type = ir_type_make(dtype, rank, dims);
	rig_init(&rig);
	rig_add(&rig, dtype, rank, dims);
	return rig_compare(&rig, IR_OP_CUMSUM, &attrs, 1, &type, 0);
}

FAMILY(pad)
FAMILY(spread)
FAMILY(tile)
FAMILY(triangular)
FAMILY(cumsum)

static void test_all_seen(void **state)
{
	(void)state;
	rig_expect_all_seen(RIG_OPS_ROWS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pad),    cmocka_unit_test(test_spread),
		cmocka_unit_test(test_tile),   cmocka_unit_test(test_triangular),
		cmocka_unit_test(test_cumsum), cmocka_unit_test(test_all_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
