// SPDX-License-Identifier: MIT
/* Tests the loops over many numbers, for all lengths about the width of vectors. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "util/floats.h"

#define MOST 67

static uint32_t bits_of(float number)
{
	uint32_t bits;

	memcpy(&bits, &number, sizeof(bits));
	return bits;
}

/*
 * The largest number is at each position once, in each lane of the vectors and after the last whole
 * vector, so that no position can be left out.
 */
static void test_largest(void **state)
{
	static const float largest[] = { -3.5F, 2.25F, -INFINITY, 1e-40F };
	float numbers[MOST + 1] = { 1 };

	(void)state;
	assert_int_equal(wnn_floats_largest(numbers, 0), 0);
	for (int64_t count = 1; count <= MOST; count++)
		for (int64_t at = 0; at < count; at++)
			for (size_t i = 0; i < sizeof(largest) / sizeof(largest[0]); i++) {
				for (int64_t k = 0; k <= count; k++)
					numbers[k] = k == count ? NAN : k % 2 ? -1e-41F : 0;
				numbers[at] = largest[i];
				assert_int_equal(wnn_floats_largest(numbers, count),
						 bits_of(fabsf(largest[i])));
				numbers[at] = -NAN;
				assert_int_equal(wnn_floats_largest(numbers, count),
						 bits_of(fabsf(NAN)));
			}
}

/* A product in single precision would differ: the factor has more bits than a float. */
static void test_scale(void **state)
{
	const double factors[] = { 1.0 / 3, -1e-30, 1e300, 0 };
	float from[MOST], to[MOST + 1];

	(void)state;
	for (int64_t i = 0; i < MOST; i++)
		from[i] = (float)(i - 30) / 7;
	from[5] = 1e30F;
	for (int64_t count = 0; count <= MOST; count++)
		for (size_t k = 0; k < sizeof(factors) / sizeof(factors[0]); k++) {
			to[count] = 77;
			wnn_floats_scale(to, from, count, factors[k]);
			for (int64_t i = 0; i < count; i++)
				assert_int_equal(bits_of(to[i]),
						 bits_of((float)((double)from[i] * factors[k])));
			assert_int_equal(bits_of(to[count]), bits_of(77));
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_largest),
		cmocka_unit_test(test_scale),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
