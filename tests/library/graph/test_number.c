// SPDX-License-Identifier: MIT
/* Tests casts of numbers in options to element types. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "graph/number.h"

static uint64_t bits_of(enum ir_dtype dtype, WNNNumber number)
{
	return wnn_number_bits(dtype, &number);
}

#define DOUBLE(dtype, number) bits_of(dtype, WNN_NUMBER_DOUBLE(number))
#define INT(dtype, number)    bits_of(dtype, WNN_NUMBER_INT64(number))
#define UINT(dtype, number)   bits_of(dtype, WNN_NUMBER_UINT64(number))

static void floats(void **state)
{
	(void)state;
	assert_int_equal(DOUBLE(IR_F32, 1.0), 0x3f800000);
	assert_int_equal(DOUBLE(IR_F32, -0.0), 0x80000000);
	assert_int_equal(DOUBLE(IR_F32, 1e39), 0x7f800000);
	assert_int_equal(DOUBLE(IR_F32, -1e-60), 0x80000000);
	assert_int_equal(DOUBLE(IR_F32, NAN) & 0x7fffffff, 0x7fc00000);
	/* The number is just below the middle between the largest float32 and 2^128. */
	assert_int_equal(DOUBLE(IR_F32, 0x1.fffffefffffffp127), 0x7f7fffff);
	assert_int_equal(DOUBLE(IR_F32, 0x1.ffffffp127), 0x7f800000);
	assert_int_equal(INT(IR_F32, INT64_MIN), 0xdf000000);
	assert_int_equal(UINT(IR_F32, UINT64_MAX), 0x5f800000);
	assert_int_equal(INT(IR_F32, 16777217), 0x4b800000);
}

static void halves(void **state)
{
	(void)state;
	assert_int_equal(DOUBLE(IR_F16, 65504), 0x7bff);
	assert_int_equal(DOUBLE(IR_F16, 65519.99), 0x7bff);
	assert_int_equal(DOUBLE(IR_F16, 65520), 0x7c00);
	assert_int_equal(DOUBLE(IR_F16, -65520), 0xfc00);
	assert_int_equal(INT(IR_F16, 65519), 0x7bff);
	assert_int_equal(INT(IR_F16, -65520), 0xfc00);
	assert_int_equal(UINT(IR_F16, UINT64_MAX), 0x7c00);
	assert_int_equal(DOUBLE(IR_F16, -1e-30), 0x8000);
	assert_int_equal(DOUBLE(IR_F16, NAN) & 0x7fff, 0x7e00);
	/* There is one rounding only: by way of float this would be a tie, which goes to even. */
	assert_int_equal(DOUBLE(IR_F16, 1 + 0x1p-11 + 0x1p-40), 0x3c01);
	assert_true(wnn_double_cast(IR_F16, 0.1) == 0.0999755859375f);
	assert_true(wnn_double_cast(IR_F32, 0.1) == 0.1f);
}

static void integers(void **state)
{
	(void)state;
	assert_int_equal(DOUBLE(IR_I8, -300), 0x80);
	assert_int_equal(DOUBLE(IR_I8, 300), 0x7f);
	assert_int_equal(DOUBLE(IR_U8, -1), 0);
	assert_int_equal(DOUBLE(IR_U8, 256), 255);
	assert_int_equal(DOUBLE(IR_U8, INFINITY), 255);
	assert_int_equal(DOUBLE(IR_I32, -INFINITY), 0x80000000);
	assert_int_equal(DOUBLE(IR_I32, NAN), 0);
	assert_int_equal(DOUBLE(IR_I32, -0.0), 0);
	/*
	 * The cast is to an unsigned integer, although the wording of the specification says
	 * otherwise.
	 */
	assert_int_equal(DOUBLE(IR_U32, 4294967290.0), 4294967290u);
	assert_int_equal(DOUBLE(IR_U64, 0x1p64), UINT64_MAX);
	assert_int_equal(DOUBLE(IR_U64, 0x1p63), UINT64_C(1) << 63);
	assert_int_equal(DOUBLE(IR_I64, 0x1p63), INT64_MAX);
	assert_int_equal(DOUBLE(IR_I64, -0x1p63), UINT64_C(1) << 63);
	assert_int_equal(DOUBLE(IR_I64, -0x1p70), UINT64_C(1) << 63);
	assert_int_equal(INT(IR_I64, INT64_MIN), UINT64_C(1) << 63);
	assert_int_equal(INT(IR_U64, -1), 0);
	assert_int_equal(INT(IR_I64, (INT64_C(1) << 53) + 1), (INT64_C(1) << 53) + 1);
	assert_int_equal(UINT(IR_I64, UINT64_MAX), INT64_MAX);
	assert_int_equal(UINT(IR_U64, UINT64_MAX), UINT64_MAX);
	assert_int_equal(UINT(IR_I8, 200), 127);
	assert_int_equal(INT(IR_I32, -5), 0xfffffffb);
}

static void halves_round_to_even(void **state)
{
	(void)state;
	assert_int_equal(DOUBLE(IR_U8, 0.5), 0);
	assert_int_equal(DOUBLE(IR_U8, 1.5), 2);
	assert_int_equal(DOUBLE(IR_U8, 2.5), 2);
	assert_int_equal(DOUBLE(IR_U8, 2.5000001), 3);
	assert_int_equal(DOUBLE(IR_I8, -2.5), 0xfe);
	assert_int_equal(DOUBLE(IR_I8, -3.5), 0xfc);
	assert_int_equal(DOUBLE(IR_I8, 127.5), 127);
	assert_int_equal(DOUBLE(IR_I64, 4503599627370495.5), 4503599627370496);
	assert_int_equal(DOUBLE(IR_I64, 0.49999999999999994), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(floats),
		cmocka_unit_test(halves),
		cmocka_unit_test(integers),
		cmocka_unit_test(halves_round_to_even),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
