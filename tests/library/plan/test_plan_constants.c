// SPDX-License-Identifier: MIT
/*
 * Tests the constants of a program: which bytes are written to which offset, and when the source
 * constants are freed.
 */
#include "fixture.h"

#include <string.h>

#include "plan/list/constants.h"

#define DIRTY 0xa5

static const uint8_t bytes[] = { 1, 2, 3, 4, 5 };

static void note_release(void *userdata, const void *data)
{
	assert_ptr_equal(data, bytes);
	++*(int *)userdata;
}

static struct ir_constant *make_constant(int *released)
{
	struct ir_constant *constant =
		ir_constant_borrow(bytes, sizeof(bytes), note_release, released);

	assert_non_null(constant);
	return constant;
}

/*
 * Recipe of a section: writes each byte of the source plus the number to which the recipe points.
 */
static void write_sum(const struct plan_section *section, uint8_t *to)
{
	const uint8_t *from = section->source[0]->data;

	for (uint64_t i = 0; i < section->bytes; i++)
		to[i] = (uint8_t)(from[i] + *(const uint8_t *)section->recipe);
}

/*
 * Adds a section of the constants: the bytes of the source, each plus @number. Returns the offset
 * of the section.
 */
static uint64_t add_section(struct plan_constants *constants, struct ir_constant *source,
			    uint8_t number)
{
	struct plan_section section = { .bytes = sizeof(bytes), .source = { source } };

	section.at = constants_take(constants, sizeof(bytes));
	if (number) {
		section.write = write_sum;
		section.recipe = &number;
	}
	assert_int_equal(constants_add(constants, &section, number ? sizeof(number) : 0), 0);
	return section.at;
}

static void test_write(void **state)
{
	struct plan_constants constants = { .sections = NULL };
	int released[2] = { 0, 0 };
	struct ir_constant *one = make_constant(&released[0]), *other = make_constant(&released[1]);
	uint64_t at[2];
	uint8_t *to;

	(void)state;
	at[0] = add_section(&constants, one, 0);
	at[1] = add_section(&constants, other, 10);
	ir_constant_unref(one);
	ir_constant_unref(other);
	/* A section holds references to its sources until it is written. */
	assert_int_equal(released[0] + released[1], 0);
	assert_true(at[1] >= at[0] + sizeof(bytes));
	assert_int_equal(constants.bytes, at[1] + sizeof(bytes));
	to = test_malloc(constants.bytes + 1);
	memset(to, DIRTY, constants.bytes + 1);
	assert_int_equal(constants_write(&constants, to, NULL), 0);
	assert_memory_equal(to + at[0], bytes, sizeof(bytes));
	for (uint64_t i = at[0] + sizeof(bytes); i < at[1]; i++)
		assert_int_equal(to[i], 0);
	for (size_t i = 0; i < sizeof(bytes); i++)
		assert_int_equal(to[at[1] + i], bytes[i] + 10);
	assert_int_equal(to[constants.bytes], DIRTY);
	assert_int_equal(released[0], 1);
	assert_int_equal(released[1], 1);
	test_free(to);
}

/*
 * Tests that constants are released when they are never written, such as those of a plan that fails
 * or that another plan replaces.
 */
static void test_release(void **state)
{
	struct plan_constants constants = { .sections = NULL };
	int released = 0;
	struct ir_constant *constant = make_constant(&released);

	(void)state;
	add_section(&constants, constant, 0);
	add_section(&constants, constant, 1);
	ir_constant_unref(constant);
	assert_int_equal(released, 0);
	constants_release(&constants);
	assert_int_equal(released, 1);
}

/* A constant that is computed when it is first read, or for which memory is missing. */
struct later {
	int made, dropped;
	bool fails;
};

static int make_later(void *userdata, void *data)
{
	struct later *later = userdata;

	later->made++;
	if (later->fails)
		return -1;
	memcpy(data, bytes, sizeof(bytes));
	return 0;
}

static void drop_later(void *userdata)
{
	((struct later *)userdata)->dropped++;
}

static const struct ir_recipe recipe = { make_later, drop_later };

static struct ir_constant *compute_later(struct later *later)
{
	struct ir_constant *constant =
		ir_constant_later(&recipe, later, sizeof(bytes), IR_U8, false);

	assert_non_null(constant);
	return constant;
}

static void test_later(void **state)
{
	struct plan_constants constants = { .sections = NULL };
	struct later later = { 0 };
	struct ir_constant *constant = compute_later(&later);
	uint64_t at[2];
	uint8_t *to;

	(void)state;
	at[0] = add_section(&constants, constant, 0);
	at[1] = add_section(&constants, constant, 10);
	ir_constant_unref(constant);
	assert_int_equal(later.made, 0);
	to = test_malloc(constants.bytes);
	assert_int_equal(constants_write(&constants, to, NULL), 0);
	assert_int_equal(later.made, 1);
	assert_int_equal(later.dropped, 1);
	assert_memory_equal(to + at[0], bytes, sizeof(bytes));
	for (size_t i = 0; i < sizeof(bytes); i++)
		assert_int_equal(to[at[1] + i], bytes[i] + 10);
	test_free(to);
}

static void test_later_fails(void **state)
{
	struct plan_constants constants = { .sections = NULL };
	struct later later = { .fails = true }, other = { 0 };
	struct ir_constant *constant = compute_later(&later), *unread = compute_later(&other);
	int released[2] = { 0, 0 };
	struct ir_constant *one = make_constant(&released[0]), *two = make_constant(&released[1]);
	uint8_t to[256];

	(void)state;
	/* The sources of all sections are released, before the section that fails and after it. */
	add_section(&constants, one, 0);
	add_section(&constants, constant, 3);
	add_section(&constants, two, 0);
	ir_constant_unref(one);
	ir_constant_unref(two);
	assert_true(constants.bytes <= sizeof(to));
	assert_int_equal(constants_write(&constants, to, NULL), -1);
	assert_int_equal(released[0], 1);
	assert_int_equal(released[1], 1);
	assert_int_equal(later.dropped, 0);
	/* A later attempt may have enough memory. */
	later.fails = false;
	assert_memory_equal(ir_constant_data(constant), bytes, sizeof(bytes));
	assert_int_equal(later.dropped, 1);
	ir_constant_unref(constant);
	assert_int_equal(later.dropped, 1);
	/* A constant that nothing reads is never computed. */
	ir_constant_unref(unread);
	assert_int_equal(other.made, 0);
	assert_int_equal(other.dropped, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_write),
		cmocka_unit_test(test_release),
		cmocka_unit_test(test_later),
		cmocka_unit_test(test_later_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
