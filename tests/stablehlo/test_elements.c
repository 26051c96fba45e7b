// SPDX-License-Identifier: MIT
/*
 * Tests that the fast functions for bfloat16 read and write the bits that the general functions for
 * floats do.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "element.h"

static void stores(double value)
{
	uint64_t expected = shlo_float_bits(SHLO_BF16, value);
	uint16_t bits[2] = { 0x1234, 0 };

	shlo_store(SHLO_BF16, bits, 1, (struct shlo_num){ .re = value });
	assert_int_equal(bits[1], expected);
	assert_int_equal(bits[0], 0x1234);
}

static void test_bf16(void **state)
{
	(void)state;
	for (uint32_t i = 0; i <= UINT16_MAX; i++) {
		uint16_t bits = (uint16_t)i;
		double value = shlo_float_value(SHLO_BF16, i), next, middle;
		struct shlo_num number = shlo_load(SHLO_BF16, &bits, 0);

		assert_memory_equal(&number.re, &value, sizeof(value));
		stores(value);
		if (isnan(value) || isinf(value))
			continue;
		/*
		 * Test the middle between this number and the next one, and the neighbours of the
		 * middle.
		 */
		next = shlo_float_value(SHLO_BF16, i + 1);
		middle = isinf(next) ? copysign(ldexp(0x1.ffp0, 127), value) : (value + next) / 2;
		stores(middle);
		stores(nextafter(middle, INFINITY));
		stores(nextafter(middle, -INFINITY));
		stores((double)nextafterf((float)middle, INFINITY));
		stores((double)nextafterf((float)middle, -INFINITY));
	}
	stores(1e300);
	stores(-1e-300);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_bf16) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
