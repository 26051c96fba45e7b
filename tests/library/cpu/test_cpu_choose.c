// SPDX-License-Identifier: MIT
/*
 * Tests the lists of kernels, and what plans say of their choice. The nodes are matrix products,
 * planned on the layer without oneDNN and on the lowest level of vector instructions, so that the
 * choice is the same on every processor.
 */
#include "rig.h"

#include <string.h>

#include "cpu/fast.h"

struct product {
	struct rig rig;
	struct ir_node *node;
	struct cpu_context *cpu;
};

/*
 * Sets *p to a node that computes a[lines][8] * b[8][8]. @transposed: the operand a is [8][lines].
 * @constant: b is a constant. end() frees what *p holds.
 */
static void begin_with(struct product *p, int64_t lines, bool transposed, bool constant)
{
	const int64_t a[] = { transposed ? 8 : lines, transposed ? lines : 8 };
	union ir_attrs attrs = { .matmul = { .a_transpose = transposed,
					     .alpha = 1,
					     .beta = 1,
					     .act = { .kind = IR_UNARY_NONE } } };
	struct ir_type y = ir_type_make(IR_F32, 2, (const int64_t[]){ lines, 8 });

	rig_init(&p->rig);
	rig_add(&p->rig, IR_F32, 2, a);
	rig_add(&p->rig, IR_F32, 2, (const int64_t[]){ 8, 8 });
	if (constant)
		rig_make_constant(&p->rig, 1);
	p->node =
		ir_add_node(p->rig.graph, IR_OP_MATMUL, p->rig.operand, 2, &y, 1, &attrs, "", NULL);
	assert_non_null(p->node);
	p->cpu = cpu_context_create(1);
	assert_non_null(p->cpu);
	p->cpu->simd = cpu_simd_level(CPU_LEVEL_BASE);
	assert_int_equal(cpu_set_layer(p->cpu, CPU_FAST, NULL), 0);
}

static void begin(struct product *p, int64_t lines, bool transposed)
{
	begin_with(p, lines, transposed, true);
}

static void end(struct product *p)
{
	cpu_context_destroy(p->cpu);
	rig_exit(&p->rig);
}

static void expect_choice(struct product *p, unsigned int use, const char *kernel, const char *why)
{
	struct cpu_plan *plan = cpu_plan_create(p->cpu, p->node, use, NULL);
	char text[1000];

	assert_non_null(plan);
	assert_string_equal(cpu_plan_name(plan), kernel);
	cpu_plan_explain(plan, text, sizeof(text));
	if (!strstr(text, why))
		fail_msg("'%s' is not in '%s'", why, text);
	cpu_plan_destroy(plan);
}

/* The last kernel of a list takes every node; each kernel has one of plan, run and reference. */
static void test_lists_end_in_the_reference(void **state)
{
	(void)state;
	for (int op = 0; op < IR_OP_COUNT; op++) {
		size_t count;
		const struct cpu_kernel *kernels = cpu_kernels((enum ir_op)op, &count);

		assert_true(count > 0);
		for (size_t i = 0; i < count; i++) {
			assert_memory_equal(kernels[i].name, "cpu/", 4);
			assert_int_equal(
				!!kernels[i].plan + !!kernels[i].run + !!kernels[i].reference, 1);
			assert_true(!kernels[i].onednn || kernels[i].plan);
		}
		assert_null(kernels[count - 1].refuses);
		assert_null(kernels[count - 1].loses);
		assert_false(kernels[count - 1].keeps || kernels[count - 1].onednn ||
			     kernels[count - 1].blas);
	}
}

static void test_plans_say_why(void **state)
{
	struct product p;

	(void)state;
	begin(&p, 4, false);
	expect_choice(&p, CPU_PACKS | CPU_KEEPS, "cpu/matmul-packed",
		      "not cpu/matmul-onednn, because the layer is openblas");
	expect_choice(&p, CPU_PACKS | CPU_KEEPS, "cpu/matmul-packed",
		      "not cpu/matmul-tiles, because its second matrix is constant; ");
	end(&p);
	begin(&p, 4, true);
	expect_choice(&p, CPU_PACKS, "cpu/matmul-openblas", "a transposed first matrix");
	end(&p);
	begin(&p, 1, false);
	expect_choice(&p, CPU_PACKS, "cpu/matmul-line",
		      "not cpu/matmul-packed, because it has one row");
	end(&p);
}

/*
 * Expects @why as the reason why oneDNN does not compute the product, or that there is no oneDNN.
 * The plan is made on the layer without oneDNN: an explanation loads no library, so that the layer
 * can be changed for it alone.
 */
static void expect_not_onednn(struct product *p, const char *why)
{
	struct cpu_plan *plan = cpu_plan_create(p->cpu, p->node, CPU_PACKS | CPU_KEEPS, NULL);
	char text[1000];

	assert_non_null(plan);
	p->cpu->layer = CPU_ONEDNN;
	cpu_plan_explain(plan, text, sizeof(text));
	p->cpu->layer = CPU_FAST;
	if (!strstr(text, why) && !strstr(text, "without the layer onednn"))
		fail_msg("'%s' is not in '%s'", why, text);
	cpu_plan_destroy(plan);
}

/* oneDNN's kernels have several conditions: the text names the one that does not hold. */
static void test_plans_name_the_condition(void **state)
{
	struct product p;

	(void)state;
	begin_with(&p, 7, false, false);
	expect_not_onednn(&p, "not cpu/matmul-onednn, because it has fewer than 8 rows");
	end(&p);
	begin(&p, 4, false);
	expect_not_onednn(&p, "not cpu/matmul-onednn, because its constant matrix has no more");
	end(&p);
	begin(&p, 4, true);
	expect_not_onednn(&p, "not cpu/matmul-onednn, because its first matrix is transposed");
	end(&p);
	begin(&p, 4, false);
	p.node->attrs.matmul.alpha = 2;
	expect_not_onednn(&p, "not cpu/matmul-onednn, because it has a factor");
	end(&p);
	begin(&p, 1, false);
	expect_not_onednn(&p, "not cpu/matmul-onednn, because it has one row");
	end(&p);
}

/* An explanation is cut at the size of the buffer, and still ends with a zero. */
static void test_long_explanations_are_cut(void **state)
{
	struct cpu_plan *plan;
	struct product p;
	char text[40];

	(void)state;
	begin(&p, 4, false);
	plan = cpu_plan_create(p.cpu, p.node, CPU_PACKS, NULL);
	assert_non_null(plan);
	for (size_t size = 1; size < sizeof(text); size++) {
		memset(text, 'x', sizeof(text));
		cpu_plan_explain(plan, text, size);
		assert_int_equal(strlen(text), size - 1);
		assert_int_equal(text[size], 'x');
	}
	cpu_plan_destroy(plan);
	end(&p);
}

/* A saved graph names its kernel, which is then used although a faster kernel exists. */
static void test_kernels_have_names(void **state)
{
	struct wnn_error err = { 0 };
	struct cpu_plan *plan;
	struct product p;

	(void)state;
	begin(&p, 4, false);
	plan = cpu_plan_named(p.cpu, p.node, "cpu/ref-matmul", 0, &err);
	assert_non_null(plan);
	assert_string_equal(cpu_plan_name(plan), "cpu/ref-matmul");
	cpu_plan_destroy(plan);
	assert_null(cpu_plan_named(p.cpu, p.node, "cpu/ref-matmul", 1, &err));
	assert_null(cpu_plan_named(p.cpu, p.node, "cpu/matmul-line", 0, &err));
	assert_null(cpu_plan_named(p.cpu, p.node, "cpu/matmul-onednn", 0, &err));
	assert_null(cpu_plan_named(p.cpu, p.node, "cpu/conv-packed", 0, &err));
	assert_int_equal(err.status, WNN_OK);
	end(&p);
}

/* A plan packs operand 1 only with CPU_PACKS; without it the plan reads operand 1 at each run. */
static void test_operands_are_packed_on_demand(void **state)
{
	struct cpu_plan *plan;
	struct product p;

	(void)state;
	begin(&p, 4, false);
	plan = cpu_plan_create(p.cpu, p.node, CPU_KEEPS, NULL);
	assert_non_null(plan);
	assert_int_equal(cpu_plan_pack_bytes(plan), 0);
	cpu_plan_destroy(plan);
	plan = cpu_plan_create(p.cpu, p.node, CPU_PACKS, NULL);
	assert_non_null(plan);
	assert_true(cpu_plan_pack_bytes(plan) >= 64 * sizeof(float));
	cpu_plan_destroy(plan);
	end(&p);
}

/* The name of the layout of packed operands tells AVX-512 with VNNI from AVX-512 without it. */
static void test_layouts_tell_vnni(void **state)
{
	struct cpu_context *cpu = cpu_context_create(1);
	struct cpu_simd level = *cpu_simd_level(CPU_LEVEL_BASE);

	(void)state;
	assert_non_null(cpu);
	assert_int_equal(cpu_set_layer(cpu, CPU_FAST, NULL), 0);
	level.name = "avx512";
	level.pairs = true;
	cpu_set_level(cpu, &level);
	assert_string_equal(cpu_pack_form(cpu), "avx512-without-vnni");
	level.pairs = false;
	assert_string_equal(cpu_pack_form(cpu), "avx512");
	level.name = "avx2";
	level.pairs = true;
	assert_string_equal(cpu_pack_form(cpu), "avx2");
	cpu_context_destroy(cpu);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists_end_in_the_reference),
		cmocka_unit_test(test_plans_say_why),
		cmocka_unit_test(test_plans_name_the_condition),
		cmocka_unit_test(test_long_explanations_are_cut),
		cmocka_unit_test(test_kernels_have_names),
		cmocka_unit_test(test_operands_are_packed_on_demand),
		cmocka_unit_test(test_layouts_tell_vnni),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
