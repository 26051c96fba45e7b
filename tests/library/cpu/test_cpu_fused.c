// SPDX-License-Identifier: MIT
/*
 * Compares float32 products and convolutions with a fused addition of another tensor with the same
 * plan without the addition, followed by the reference kernel of the addition: both must give the
 * same bits.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/fast.h"
#include "cpu/simd/simd.h"
#include "rig.h"
#include "util/float16.h"

/* The elements of a constant matrix so large that the kernel packs the rows of the other one. */
#define PACKED 440000
/* The elements of a smaller matrix, which yet exceeds the second-level cache. */
#define DIRECT 200000

/* A product of random rows with a constant matrix, and the addition that follows. */
struct drawn {
	struct rig rig;
	struct ir_node *product, *sum; /* sum: product + addend */
	float *addend;
	int64_t elements; /* of the result */
};

/* Draws a clamp, a relu, or no activation; now and then it rounds to float16. */
static struct ir_unary_attrs random_limits(void)
{
	struct ir_unary_attrs act = { .kind = random_below(3) ? IR_RELU : IR_CLAMP,
				      .alpha = -0.5f,
				      .beta = random_below(2) ? 0.5f : INFINITY };

	if (!random_below(3))
		act = (struct ir_unary_attrs){ .kind = IR_UNARY_NONE };
	act.half = !random_below(4);
	return act;
}

/*
 * Draws the product [m,k] x [k,n], or a 1x1 convolution that computes it. The kernel computes more
 * than 192 rows in several blocks.
 */
static void draw_product(struct drawn *d)
{
	int64_t m = random_below(5) ? between(8, 60) : between(200, 500), n = 16 * between(4, 12),
		k = between(1, 70);
	bool conv = random_below(2);
	struct ir_unary_attrs act = random_below(4) ?
					    (struct ir_unary_attrs){ .kind = IR_UNARY_NONE } :
					    rig_random_act();
	union ir_attrs attrs = { .matmul = { .alpha = 1, .beta = 1, .act = act } };
	int64_t x[4] = { 1, m, 1, k }, filter[4] = { n, 1, 1, k }, y[4] = { 1, m, 1, n };
	struct ir_type type;

	if (!random_below(6))
		k = (random_below(2) ? PACKED : DIRECT) / n;
	x[3] = filter[3] = k;
	rig_init(&d->rig);
	if (conv) {
		attrs.conv = (struct ir_conv_attrs){ .strides = { 1, 1 },
						     .dilations = { 1, 1 },
						     .groups = 1,
						     .layout = IR_NHWC,
						     .filter_layout = IR_OHWI,
						     .act = act };
		type = ir_type_make(IR_F32, 4, y);
		rig_add(&d->rig, IR_F32, 4, x);
		rig_add(&d->rig, IR_F32, 4, filter);
	} else {
		type = ir_type_make(IR_F32, 2, (int64_t[]){ m, n });
		rig_add(&d->rig, IR_F32, 2, (int64_t[]){ m, k });
		rig_add(&d->rig, IR_F32, 2, (int64_t[]){ k, n });
	}
	rig_make_constant(&d->rig, 1);
	if (random_below(2))
		rig_add(&d->rig, IR_F32, 1, &n);
	d->elements = m * n;
	d->product = ir_add_node(d->rig.graph, conv ? IR_OP_CONV : IR_OP_MATMUL, d->rig.operand,
				 d->rig.num_operands, &type, 1, &attrs, "", NULL);
}

/* Adds the node that adds a tensor with the product's shape to the product. */
static void draw_sum(struct drawn *d)
{
	const struct ir_type *type = &d->product->results[0]->type;
	union ir_attrs attrs = { .binary = { .kind = IR_ADD, .act = random_limits() } };
	struct ir_value *operands[2];
	uint32_t at = d->rig.num_operands;
	int64_t dims[4];

	for (uint32_t i = 0; i < type->rank; i++)
		dims[i] = ir_type_dim(type, i);
	d->addend = rig_add(&d->rig, IR_F32, type->rank, dims);
	operands[0] = d->product->results[0];
	operands[1] = d->rig.operand[at];
	d->sum = ir_add_node(d->rig.graph, IR_OP_BINARY, operands, 2, type, 1, &attrs, "", NULL);
}

/*
 * Plans the product, alone or with the addition, and runs it. Returns the name of its kernel, or
 * NULL without a run when that kernel cannot be fused with the addition.
 */
static const char *run_product(struct drawn *d, struct cpu_context *cpu, bool adds, void *y)
{
	struct wnn_error err = { 0 };
	struct cpu_plan *plan = cpu_plan_create(cpu, d->product, CPU_PACKS | CPU_KEEPS, &err);
	const void *in[RIG_MAX] = { NULL };
	const char *name;
	void *packed;

	assert_non_null(plan);
	name = cpu_plan_name(plan);
	if (adds && !cpu_plan_fuse(plan, cpu, d->sum)) {
		cpu_plan_destroy(plan);
		return NULL;
	}
	packed = aligned_alloc(64, cpu_round_up(cpu_plan_pack_bytes(plan) + 1));
	assert_non_null(packed);
	assert_int_equal(cpu_plan_pack(plan, d->rig.data[1], packed, &err), 0);
	memcpy(in, d->rig.data, d->product->num_operands * sizeof(*in));
	if (cpu_plan_pack_bytes(plan))
		in[1] = NULL;
	if (adds)
		in[d->product->num_operands] = d->addend;
	assert_int_equal(cpu_plan_run(plan, cpu, packed, in, &y, &err), 0);
	cpu_plan_destroy(plan);
	free(packed);
	return name;
}

/* Returns memory for n floats. */
static float *floats(int64_t n)
{
	float *y = malloc((size_t)n * sizeof(float));

	assert_non_null(y);
	return y;
}

/* The number of rounds in which our own tiles computed a product and its addition. */
static int seen;

static bool added_round(void)
{
	struct cpu_context *cpu = cpu_context_create(between(1, 3));
	float *product, *want, *got;
	struct wnn_error err = { 0 };
	struct drawn d = { 0 };
	const char *name;

	assert_non_null(cpu);
	do
		cpu->simd = cpu_simd_level((enum cpu_level)random_below(CPU_LEVEL_COUNT));
	while (!cpu->simd);
	if (random_below(2))
		assert_int_equal(cpu_set_layer(cpu, CPU_FAST, &err), 0);
	draw_product(&d);
	draw_sum(&d);
	product = floats(d.elements);
	want = floats(d.elements);
	got = floats(d.elements);
	name = run_product(&d, cpu, true, got);
	if (name) {
		struct ir_unary_attrs *act = &d.sum->attrs.binary.act;
		bool half = act->half;

		run_product(&d, cpu, false, product);
		/*
		 * The reference rounds its sum to float16 at once, the fused addition rounds it to
		 * float32 first.
		 */
		act->half = false;
		assert_int_equal(cpu_run_node(cpu, CPU_REFERENCE, d.sum,
					      (const void *[]){ product, d.addend },
					      (void *[]){ want }, &err),
				 0);
		for (int64_t i = 0; half && i < d.elements; i++)
			want[i] = wnn_half_to_float(wnn_float_to_half(want[i]));
		assert_memory_equal(got, want, (size_t)d.elements * sizeof(float));
		seen += !strcmp(name, "cpu/conv-lines") || !strcmp(name, "cpu/matmul-lines");
	}
	cpu_context_destroy(cpu);
	free(product);
	free(want);
	free(got);
	rig_exit(&d.rig);
	return true;
}

FAMILY(added)

static void test_all_seen(void **state)
{
	(void)state;
	if (cpu_simd_best() == cpu_simd_level(CPU_LEVEL_BASE))
		skip();
	assert_true(seen > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_added),
		cmocka_unit_test(test_all_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
