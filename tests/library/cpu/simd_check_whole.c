// SPDX-License-Identifier: MIT
/* Checks of the functions of integers and booleans, and of the tests of floats for NaN. */
#include <math.h>
#include <string.h>

#include "cpu/element.h"
#include "cpu/ref/reference.h"
#include "simd_check.h"

static const enum ir_dtype types[] = { IR_I8, IR_U8, IR_I32, IR_U32, IR_I64, IR_U64 };
enum { MOST = 300, NUM_TYPES = sizeof(types) / sizeof(types[0]) };

static int64_t size_of(enum ir_dtype dtype)
{
	return (int64_t)(ir_dtype_bits(dtype) / 8);
}

/* Returns n elements of any bits in guarded memory; many of them are small, or a type's limits. */
static void *wholes(struct guard *memory, enum ir_dtype dtype, int64_t n)
{
	bool wide = ir_dtype_bits(dtype) == 64;
	const int64_t odd[] = { 0,
				1,
				-1,
				2,
				wide ? INT64_MIN : cpu_int_min(dtype),
				wide ? INT64_MAX : cpu_int_max(dtype) };
	void *data = bytes(memory, n * size_of(dtype));

	for (int64_t i = 0; i < n; i++)
		if (random_below(2))
			cpu_store_int(dtype, data, i, odd[random_below(6)]);
	return data;
}

/* Checks that results have the bits that the reference gives. */
static void expect_bits(const char *what, enum ir_dtype dtype, int kind, const void *actual,
			const void *expected, int64_t n)
{
	for (int64_t i = 0; i < n * size_of(dtype); i++)
		if (((const uint8_t *)actual)[i] != ((const uint8_t *)expected)[i])
			fail_msg("%s of level %s: function %d, type %d, element %d of %d differs",
				 what, simd->name, kind, (int)dtype, (int)(i / size_of(dtype)),
				 (int)n);
}

void check_whole_unary(void)
{
	static const int kinds[] = { IR_ABS, IR_NEG, IR_SIGN, IR_RELU, IR_CLAMP, IR_LOGICAL_NOT };
	enum ir_dtype dtype = types[random_below(NUM_TYPES)];
	bool is_unsigned = ir_dtype_is_unsigned(dtype), in_place = random_below(2);
	int64_t n = between(1, MOST), lo = is_unsigned ? 2 : -3, hi = lo + 4;
	int64_t none = 0;
	struct guard memory[2];
	void *x = wholes(&memory[0], dtype, n), *y = wholes(&memory[1], dtype, n);

	for (int k = 0; k < 6; k++) {
		struct ir_unary_attrs attrs = { .kind = kinds[k],
						.ilo = lo,
						.ihi = hi,
						.ulo = (uint64_t)lo,
						.uhi = (uint64_t)hi };
		int64_t expected[MOST];
		void *result = in_place ? x : y;

		for (int64_t i = 0; i < n; i++)
			cpu_store_int(dtype, expected, i,
				      cpu_apply_unary_int(&attrs, dtype,
							  cpu_load_int(dtype, x, i)));
		assert_true(simd->whole_unary((int)dtype, kinds[k], lo, hi, result, x, n));
		expect_bits("whole_unary", dtype, kinds[k], result, expected, n);
	}
	assert_false(simd->whole_unary((int)dtype, IR_EXP, 0, 0, &none, &none, 0));
	guard_free(&memory[0]);
	guard_free(&memory[1]);
}

void check_whole_binary(void)
{
	int64_t n = between(1, MOST), sa = random_below(2), sb = random_below(2);
	enum ir_dtype dtype = types[random_below(NUM_TYPES)];
	struct ir_value values[3] = {
		{ .type = ir_type_make(dtype, 1, (int64_t[]){ sa ? n : 1 }) },
		{ .type = ir_type_make(dtype, 1, (int64_t[]){ sb ? n : 1 }) },
		{ .type = ir_type_make(dtype, 1, (int64_t[]){ n }) },
	};
	struct ir_value *operands[2] = { &values[0], &values[1] }, *results[1] = { &values[2] };
	struct ir_node node = { .op = IR_OP_BINARY,
				.operands = operands,
				.num_operands = 2,
				.results = results,
				.attrs.binary.act.kind = IR_UNARY_NONE };
	struct guard memory[3];
	void *a = wholes(&memory[0], dtype, sa ? n : 1);
	void *b = wholes(&memory[1], dtype, sb ? n : 1);
	void *y = wholes(&memory[2], dtype, n);
	int64_t expected[MOST];

	for (int kind = IR_ADD; kind < IR_EQ; kind++) {
		node.attrs.binary.kind = (enum ir_binary)kind;
		cpu_ref_binary(&node, (const void *[]){ a, b }, (void *[]){ expected });
		simd->whole_binary((int)dtype, kind, y, a, sa, b, sb, n);
		expect_bits("whole_binary", dtype, kind, y, expected, n);
	}
	for (int i = 0; i < 3; i++)
		guard_free(&memory[i]);
}

void check_says(void)
{
	enum ir_dtype dtype = random_below(2) ? IR_F32 : IR_F16;
	static const double odd[] = { NAN, INFINITY, -INFINITY, 0, -0.0, 65504, 1e-7, -1 };
	int64_t n = between(1, MOST);
	struct guard memory[2];
	void *x = bytes(&memory[0], n * size_of(dtype));
	uint8_t *y = bytes(&memory[1], n);

	for (int64_t i = 0; i < n; i++)
		if (random_below(2))
			rig_put(dtype, x, i, odd[random_below(8)]);
	for (int infinite = 0; infinite < 2; infinite++) {
		simd->says((int)dtype, infinite ? IR_IS_INFINITE : IR_IS_NAN, y, x, n);
		for (int64_t i = 0; i < n; i++) {
			double v = rig_get(dtype, x, i);

			expect("says", i, y[i], infinite ? isinf(v) != 0 : isnan(v) != 0, 0.25);
		}
	}
	guard_free(&memory[0]);
	guard_free(&memory[1]);
}
