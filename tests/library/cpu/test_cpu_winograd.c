// SPDX-License-Identifier: MIT
/*
 * Compares 3x3 convolutions by Winograd's algorithm with the reference: shapes with few and with
 * many chunks, and numbers for which the transforms before and after the products overflow.
 */
#include "rig.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/fast.h"

struct shape {
	int64_t batch, in, out, h, w;
	uint32_t padding[4];
};

static const uint8_t axes[][4] = { { 0, 1, 2, 3 }, { 3, 2, 0, 1 }, { 0, 3, 1, 2 }, { 3, 0, 1, 2 } };

/* Makes the convolution of a shape in the rig; the filter is a constant. */
static void make(struct rig *rig, const struct shape *s, union ir_attrs *attrs, double lo,
		 double hi)
{
	const int64_t x[4] = { s->batch, s->h, s->w, s->in };
	const int64_t parts[4] = { s->out, s->in, 3, 3 };
	int64_t f[4];

	attrs->conv = (struct ir_conv_attrs){
		.strides = { 1, 1 },
		.dilations = { 1, 1 },
		.groups = 1,
		.layout = IR_NHWC,
		.filter_layout = (enum ir_filter_layout)random_below(4),
		.act.kind = IR_UNARY_NONE,
	};
	memcpy(attrs->conv.padding, s->padding, sizeof(s->padding));
	for (int i = 0; i < 4; i++)
		f[axes[attrs->conv.filter_layout][i]] = parts[i];
	rig_init(rig);
	rig_add_between(rig, IR_F32, 4, x, lo, hi);
	rig_add(rig, IR_F32, 4, f);
	rig_make_constant(rig, 1);
}

#ifdef __x86_64__
static bool has_avx512(void)
{
	const char *most = getenv("ONEDNN_MAX_CPU_ISA");

	return __builtin_cpu_supports("avx512f") &&
	       (!most || !strncmp(most, "AVX512", 6) || !strncmp(most, "AVX10", 5));
}
#endif

/*
 * Returns the name of the kernel that should run: the one with products of oneDNN where those are
 * fast, else the one with our own tiles, whose columns must be whole vectors; NULL when any kernel
 * may run.
 */
static const char *kernel_of(const struct shape *s)
{
#ifdef __x86_64__
	if (has_avx512())
		return "cpu/winograd-onednn";
	return s->out % CPU_MAX_LANES ? NULL : "cpu/winograd";
#else
	(void)s;
	return NULL;
#endif
}

/* Compares all levels with the reference; returns false when only the reference takes the node. */
static bool agrees(struct rig *rig, const struct shape *s, const union ir_attrs *attrs)
{
	const int64_t y[4] = { s->batch, s->h + s->padding[0] + s->padding[1] - 2,
			       s->w + s->padding[2] + s->padding[3] - 2, s->out };
	struct ir_type type = ir_type_make(IR_F32, 4, y);

	/* Without fused multiply-add, some of a million results have an error above 1e-5. */
	return rig_compare(rig, IR_OP_CONV, attrs, 1, &type, s->in > 100 ? 1e-4 : 3e-5);
}

static void compare(struct rig *rig, const struct shape *s, const union ir_attrs *attrs)
{
	assert_true(agrees(rig, s, attrs));
	if (cpu_onednn_form() && kernel_of(s))
		assert_string_equal(rig_kept_name(), kernel_of(s));
}

static bool conv_round(void)
{
	static const int acts[] = { IR_UNARY_NONE, IR_RELU, IR_CLAMP, IR_TANH };
	struct shape s = { between(1, 2),
			   between(16, 40),
			   between(16, 50),
			   between(12, 36),
			   between(12, 36),
			   { random_below(3), random_below(3), random_below(3), random_below(3) } };
	union ir_attrs attrs;
	struct rig rig;

	if (random_below(2))
		s.out = (s.out + 7) / 8 * 8;
	make(&rig, &s, &attrs, -1, 1);
	attrs.conv.act = (struct ir_unary_attrs){ .kind = acts[random_below(4)],
						  .alpha = -.5f,
						  .beta = .75f,
						  .half = random_below(4) == 0 };
	if (random_below(2))
		rig_add(&rig, IR_F32, 1, &s.out);
	compare(&rig, &s, &attrs);
	return true;
}

static void test_shapes(void **state)
{
	(void)state;
	for (int i = 0; i < rounds() / 10; i++)
		assert_true(conv_round());
}

/*
 * Tests shapes with one chunk or several, the last one complete or not, and with one call for the
 * products or several.
 */
static void test_chunks(void **state)
{
	static const struct shape shapes[] = {
		{ 1, 16, 16, 16, 16, { 0 } },		{ 3, 16, 17, 16, 16, { 1, 1, 1, 1 } },
		{ 1, 16, 16, 34, 34, { 0 } },		{ 1, 17, 16, 66, 34, { 0 } },
		{ 1, 18, 16, 67, 63, { 0 } },		{ 1, 20, 20, 67, 63, { 0 } },
		{ 1, 300, 40, 14, 14, { 1, 1, 1, 1 } }, { 1, 530, 24, 15, 13, { 0 } },
	};
	union ir_attrs attrs;
	struct rig rig;

	(void)state;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		make(&rig, &shapes[i], &attrs, -1, 1);
		compare(&rig, &shapes[i], &attrs);
	}
}

static const struct shape small = { 1, 16, 16, 16, 16, { 1, 1, 1, 1 } };

static void put(struct rig *rig, uint32_t operand, int64_t element, double value)
{
	rig_put(IR_F32, rig->data[operand], element, value);
}

/*
 * Tests that an infinite or NaN pixel changes only results that depend on it, with and without
 * limits of the results.
 */
static void test_no_numbers(void **state)
{
	static const double values[] = { INFINITY, -INFINITY, NAN };

	(void)state;
	for (int i = 0; i < 3; i++)
		for (int limited = 0; limited < 2; limited++) {
			union ir_attrs attrs;
			struct rig rig;

			make(&rig, &small, &attrs, -1, 1);
			if (limited)
				attrs.conv.act = (struct ir_unary_attrs){ .kind = IR_CLAMP,
									  .alpha = -1,
									  .beta = 1 };
			put(&rig, 0, (5 * 16 + 6) * 16 + 7, values[i]);
			compare(&rig, &small, &attrs);
		}
}

/* Tests pixels so large that the transformed pixels would overflow, although no result does. */
static void test_large_pixels(void **state)
{
	union ir_attrs attrs;
	struct rig rig;

	(void)state;
	make(&rig, &small, &attrs, -1, 1);
	memset(rig.data[1], 0, (size_t)ir_type_bytes(&rig.operand[1]->type));
	for (int64_t i = 0; i < 16 * 16 * 16; i++)
		put(&rig, 0, i, i % 3 == 1 ? -3e38 : 3e38);
	put(&rig, 1, 0, .25);
	compare(&rig, &small, &attrs);
}

/*
 * Tests filters for which Winograd's algorithm fails: one that overflows when it is transformed, so
 * that the kernel must convolve plainly, and one with infinite weights, which the zeros of the
 * padding make NaN, so that only the reference takes it.
 */
static void test_large_filter(void **state)
{
	static const double values[] = { 3e38, INFINITY };
	union ir_attrs attrs;
	struct rig rig;

	(void)state;
	for (int i = 0; i < 2; i++) {
		make(&rig, &small, &attrs, 0, 1e-3);
		for (int64_t f = 0; f < 16 * 16 * 9; f++)
			put(&rig, 1, f, i && f % 5 ? 0 : values[i]);
		if (!i) {
			compare(&rig, &small, &attrs);
			continue;
		}
		assert_false(agrees(&rig, &small, &attrs));
		assert_string_equal(rig_kept_name(), "cpu/ref-conv");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shapes),	     cmocka_unit_test(test_chunks),
		cmocka_unit_test(test_no_numbers),   cmocka_unit_test(test_large_pixels),
		cmocka_unit_test(test_large_filter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
