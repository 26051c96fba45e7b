// SPDX-License-Identifier: MIT
/* Tests the names of rules, and the bits by which they are disabled. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "pass/rules.h"

static uint64_t mask_of(const char *name)
{
	return wnn_rules_mask(name, strlen(name));
}

/* Each name has one bit that no other name has, however many rows there are. */
static void test_masks(void **state)
{
	uint64_t all = mask_of("sink-transposes") | mask_of("join-products");

	(void)state;
	for (uint32_t i = 0; i < rules_count; i++) {
		const char *name = rules_table[i].name;
		uint64_t mask = mask_of(name);

		assert_true(mask && !(mask & (mask - 1)));
		for (uint32_t k = 0; k < i; k++)
			assert_int_equal(mask == mask_of(rules_table[k].name),
					 !strcmp(name, rules_table[k].name));
		assert_false(mask & (mask_of("sink-transposes") | mask_of("join-products")));
		all |= mask;
	}
	assert_true(mask_of("all") == all);
	assert_true(!mask_of("abacus") && !mask_of(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_masks) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
