// SPDX-License-Identifier: MIT
/* Runs one node on several layers of the CPU back end, and compares their results. */
#include "../../random.h"
#include "rig.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/element.h"
#include "cpu/fast.h"

#define DEFAULT_SEED   UINT64_C(0x2545f4914f6cdd1d)
#define DEFAULT_ROUNDS 250

static struct rng rng;
static bool seeded;

static uint64_t from_environment(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

uint32_t random_below(uint32_t n)
{
	if (!seeded) {
		rng.state = from_environment("WNN_CPU_SEED", DEFAULT_SEED);
		seeded = true;
		print_message("WNN_CPU_SEED=%#" PRIx64 "\n", rng.state);
	}
	return (uint32_t)rng_below(&rng, n);
}

uint32_t between(uint32_t lo, uint32_t hi)
{
	return lo + random_below(hi - lo + 1);
}

int rounds(void)
{
	return (int)from_environment("WNN_CPU_ROUNDS", DEFAULT_ROUNDS);
}

bool is_short(void)
{
	return rounds() < 40;
}

/* Returns whether this run compares only the layer onednn with the reference. */
static bool only_onednn(void)
{
	return from_environment("WNN_CPU_ONEDNN", 0) != 0;
}

void rig_init(struct rig *rig)
{
	memset(rig, 0, sizeof(*rig));
	rig->graph = ir_graph_create();
	assert_non_null(rig->graph);
}

static void *add(struct rig *rig, const struct ir_type *type)
{
	/* The buffer has exactly the size of the data, so that sanitizers see reads beyond it. */
	void *data = malloc((size_t)ir_type_bytes(type));

	assert_non_null(data);
	assert_true(rig->num_operands < RIG_MAX);
	rig->data[rig->num_operands] = data;
	rig->operand[rig->num_operands++] = ir_add_input(rig->graph, "x", type);
	return data;
}

void *rig_add(struct rig *rig, enum ir_dtype dtype, uint32_t rank, const int64_t *dims)
{
	struct ir_type type = ir_type_make(dtype, rank, dims);
	uint8_t *data;

	if (ir_dtype_is_float(dtype))
		return rig_add_between(rig, dtype, rank, dims, -1, 1);
	data = add(rig, &type);
	for (int64_t i = 0; i < ir_type_bytes(&type); i++)
		data[i] = (uint8_t)random_below(256);
	return data;
}

void *rig_add_between(struct rig *rig, enum ir_dtype dtype, uint32_t rank, const int64_t *dims,
		      double lo, double hi)
{
	struct ir_type type = ir_type_make(dtype, rank, dims);
	void *data = add(rig, &type);

	for (int64_t i = 0; i < ir_type_elements(&type); i++)
		rig_put(dtype, data, i, lo + (hi - lo) * random_below(2001) / 2000);
	return data;
}

void rig_add_data(struct rig *rig, enum ir_dtype dtype, uint32_t rank, const int64_t *dims,
		  const void *data)
{
	struct ir_type type = ir_type_make(dtype, rank, dims);

	memcpy(add(rig, &type), data, (size_t)ir_type_bytes(&type));
}

void rig_skip(struct rig *rig)
{
	rig->num_operands++;
}

double rig_get(enum ir_dtype dtype, const void *data, int64_t i)
{
	if (ir_dtype_is_float(dtype))
		return cpu_load(dtype, data, i);
	if (dtype == IR_U64)
		return (double)(uint64_t)cpu_load_int(dtype, data, i);
	return (double)cpu_load_int(dtype, data, i);
}

void rig_put(enum ir_dtype dtype, void *data, int64_t i, double value)
{
	if (ir_dtype_is_float(dtype))
		cpu_store(dtype, data, i, value);
	else
		cpu_store_int(dtype, data, i, (int64_t)value);
}

void rig_exit(struct rig *rig)
{
	for (uint32_t i = 0; i < rig->num_operands; i++)
		free(rig->data[i]);
	ir_graph_destroy(rig->graph);
}

static struct ir_node *add_node(struct rig *rig, enum ir_op op, const union ir_attrs *attrs,
				uint32_t num_results, const struct ir_type *types)
{
	struct ir_node *node = ir_add_node(rig->graph, op, rig->operand, rig->num_operands, types,
					   num_results, attrs, "", NULL);
	struct wnn_error err = { 0 };

	assert_non_null(node);
	if (ir_verify(rig->graph, &err))
		fail_msg("%s", err.message);
	return node;
}

static void make_results(const struct ir_node *node, void **out)
{
	for (uint32_t r = 0; r < node->num_results; r++) {
		size_t bytes = (size_t)ir_type_bytes(&node->results[r]->type);

		out[r] = malloc(bytes);
		assert_non_null(out[r]);
		memset(out[r], 0xa5, bytes);
	}
}

struct setup {
	enum cpu_layer layer;
	const struct cpu_simd *simd;
	unsigned int threads;
	bool small_cache; /* the cache is so small that small shapes have many blocks */
	bool keeps;	  /* plans are created with CPU_KEEPS */
};

/* the kernel of the last plan that was created with CPU_KEEPS */
static const struct cpu_kernel *kept;

const char *rig_kept_name(void)
{
	return kept ? kept->name : NULL;
}

/*
 * Packs operand 1, unless the kernel reads it as it is, and runs the plan. Returns 0, or a negative
 * number with the error in @err.
 */
static int run_plan(struct cpu_context *cpu, struct cpu_plan *plan, const void **in, void **out,
		    struct wnn_error *err)
{
	size_t bytes = cpu_plan_pack_bytes(plan);
	void *packed = bytes ? aligned_alloc(64, cpu_round_up(bytes)) : NULL;
	int ret = 0;

	if (bytes) {
		assert_non_null(packed);
		ret = cpu_plan_pack(plan, in[1], packed, err);
		in[1] = NULL;
	}
	if (!ret)
		ret = cpu_plan_run(plan, cpu, packed, in, out, err);
	free(packed);
	return ret;
}

/*
 * Fills the scratch memory of oneDNN before a run, as other nodes do, so that oneDNN cannot rely on
 * zeros there. Other layers get exactly the scratch that they ask for, so that sanitizers see
 * accesses beyond it.
 */
static void soil(struct cpu_context *cpu)
{
	const size_t size = 256 << 10;
	void *scratch = cpu_scratch(cpu, size);

	assert_non_null(scratch);
	memset(scratch, 0x55, size);
}

static void run(struct rig *rig, const struct setup *setup, const struct ir_node *node, void **out)
{
	struct cpu_context *cpu = cpu_context_create(setup->threads);
	const void *in[RIG_MAX] = { NULL };
	struct wnn_error err = { 0 };
	struct cpu_plan *plan;
	int ret;

	assert_non_null(cpu);
	cpu->simd = setup->simd;
	if (setup->small_cache)
		cpu->cache = cpu->part_work = 4096;
	memcpy(in, rig->data, sizeof(in));
	make_results(node, out);
	if (setup->layer == CPU_FAST)
		assert_int_equal(cpu_set_layer(cpu, CPU_FAST, &err), 0);
	if (setup->layer == CPU_ONEDNN)
		soil(cpu);
	if (setup->layer == CPU_REFERENCE) {
		ret = cpu_run_node(cpu, setup->layer, node, in, out, &err);
	} else {
		plan = cpu_plan_create(cpu, node, CPU_PACKS | (setup->keeps ? CPU_KEEPS : 0), &err);
		if (!plan)
			fail_msg("%s", err.message);
		if (setup->keeps)
			kept = plan->kernel;
		ret = run_plan(cpu, plan, in, out, &err);
		cpu_plan_destroy(plan);
	}
	if (ret)
		fail_msg("%s", err.message);
	cpu_context_destroy(cpu);
}

void *rig_run(struct rig *rig, enum cpu_layer layer, enum ir_op op, const union ir_attrs *attrs,
	      uint32_t num_results, const struct ir_type *types)
{
	const struct setup setup = { layer, cpu_simd_best(), 1, false, layer == CPU_ONEDNN };
	struct ir_node *node = add_node(rig, op, attrs, num_results, types);
	void *out[3];

	assert_in_range(num_results, 1, 3);
	run(rig, &setup, node, out);
	for (uint32_t r = 1; r < num_results; r++)
		free(out[r]);
	return out[0];
}

static bool agree(double expected, double actual, double bound)
{
	if (isnan(expected) || isnan(actual))
		return isnan(expected) && isnan(actual);
	return expected == actual || fabs(expected - actual) <= bound;
}

static double largest(const struct ir_type *type, const void *data)
{
	double most = 0;

	for (int64_t i = 0; i < ir_type_elements(type); i++)
		most = fmax(most, fabs(rig_get(type->dtype, data, i)));
	return most;
}

/* Returns whether results are float32 that are rounded to float16. */
static bool gives_halves(const struct ir_node *node)
{
	switch (node->op) {
	case IR_OP_CONV:
		return node->attrs.conv.act.half;
	case IR_OP_MATMUL:
		return node->attrs.matmul.act.half;
	case IR_OP_BINARY:
		return node->attrs.binary.act.half;
	case IR_OP_UNARY:
		return node->attrs.unary.half;
	default:
		return false;
	}
}

static void expect_half(float x)
{
	float y = wnn_half_to_float(wnn_float_to_half(x));

	if (x != y && x == x)
		fail_msg("%.9g is no number of float16", (double)x);
}

/*
 * Returns whether a result may be infinite where the expected one is not: its sum left the range of
 * float32 before the activation. The reference does not round that sum, and an activation that
 * halves it then gives a finite result.
 */
static bool overflowed(double expected, double actual)
{
	return isinf(actual) && fabs(expected) > 0x1p126 && (expected < 0) == (actual < 0);
}

static void compare_result(struct rig *rig, const struct ir_node *node, uint32_t r,
			   const char *level, const void *expected, const void *actual,
			   double tolerance)
{
	const struct ir_type *type = &node->results[r]->type;
	double most = rig->by_largest ? largest(type, expected) : 0;

	/* An error before the rounding may give the neighbouring float16. */
	if (gives_halves(node))
		tolerance = 0x1p-10;
	for (int64_t i = 0; i < ir_type_elements(type); i++) {
		double a = rig_get(type->dtype, expected, i), b = rig_get(type->dtype, actual, i);
		double scale = 1 + (rig->by_largest ? most : fabs(a));
		char *text;

		if (gives_halves(node))
			expect_half((float)b);
		if (agree(a, b, tolerance * (ir_dtype_is_float(type->dtype) ? scale : 1)) ||
		    overflowed(a, b))
			continue;
		text = ir_print(rig->graph);
		print_error("%s (%s): result %u, element %lld is %.9g, expected %.9g\n%s",
			    ir_op_name(node->op), level, (unsigned int)r, (long long)i, b, a, text);
		free(text);
		fail();
	}
	/* Compare the unused bits of the last byte, too. */
	if (tolerance == 0 && !ir_dtype_is_float(type->dtype))
		assert_memory_equal(expected, actual, (size_t)ir_type_bytes(type));
}

/* --- Which kernels were run --- */

static const struct cpu_kernel *seen[64];
static uint32_t num_seen;

static bool was_seen(const char *name)
{
	for (uint32_t i = 0; i < num_seen; i++)
		if (!strcmp(seen[i]->name, name))
			return true;
	return false;
}

static bool is_reference(const struct cpu_kernel *kernel, enum ir_op op)
{
	size_t count;
	const struct cpu_kernel *kernels = cpu_kernels(op, &count);

	return kernel == &kernels[count - 1];
}

/*
 * Notes the kernel that computes the node when its plan is not kept. Returns false when this is the
 * reference kernel, else true.
 */
static bool see(const struct ir_node *node)
{
	struct cpu_context *cpu = cpu_context_create(1);
	struct cpu_plan *plan = cpu_plan_create(cpu, node, CPU_PACKS, NULL);
	const struct cpu_kernel *kernel;

	assert_non_null(plan);
	kernel = plan->kernel;
	cpu_plan_destroy(plan);
	cpu_context_destroy(cpu);
	if (is_reference(kernel, node->op))
		return false;
	if (!was_seen(kernel->name)) {
		assert_true(num_seen < sizeof(seen) / sizeof(seen[0]));
		seen[num_seen++] = kernel;
	}
	return true;
}

/*
 * Returns whether the best level of this processor has the instructions that a kernel needs: two
 * kernels multiply bytes or pairs of 16-bit integers, all others run at every level.
 */
static bool has_instructions(const char *kernel)
{
	const struct cpu_simd *best = cpu_simd_best();

	if (!strcmp(kernel, "cpu/integer-dots"))
		return best->channel_dots && !best->pairs;
	return strcmp(kernel, "cpu/integer-pairs") || best->pairs;
}

void rig_expect_all_seen(uint64_t ops)
{
	uint32_t missing = 0;

	for (int op = 0; op < IR_OP_COUNT; op++) {
		size_t count;
		const struct cpu_kernel *kernels = cpu_kernels((enum ir_op)op, &count);

		for (size_t k = 0; ops >> op & 1 && k + 1 < count; k++)
			if (!kernels[k].keeps && has_instructions(kernels[k].name) &&
			    !was_seen(kernels[k].name)) {
				print_error("%s was compared with nothing\n", kernels[k].name);
				missing++;
			}
	}
	assert_int_equal(missing, 0);
	if (ops >> IR_OP_CONV & 1 && cpu_onednn_form())
		assert_non_null(kept);
}

void rig_make_constant(struct rig *rig, uint32_t operand)
{
	const struct ir_type *type = &rig->operand[operand]->type;

	rig->operand[operand] = ir_add_constant(
		rig->graph, type,
		ir_constant_borrow(rig->data[operand], (size_t)ir_type_bytes(type), NULL, NULL));
	assert_non_null(rig->operand[operand]);
}

/* Makes operand 1 a constant in half of the cases, if kernels of the operator may pack it. */
static void maybe_constant(struct rig *rig, enum ir_op op)
{
	bool packs = op == IR_OP_CONV || op == IR_OP_MATMUL || op == IR_OP_WMATMUL ||
		     op == IR_OP_QCONV || op == IR_OP_QMATMUL;

	if (packs && !random_below(2))
		rig_make_constant(rig, 1);
}

/*
 * When the self-test of oneDNN fails, the library uses its own kernels, and a comparison says
 * nothing about oneDNN. WNN_CPU_DEMAND_ONEDNN=1 makes that a failure, for a processor and an oneDNN
 * that are known to be good.
 */
static void demand_onednn(void)
{
	if (from_environment("WNN_CPU_DEMAND_ONEDNN", 0) && cpu_onednn_complaint())
		fail_msg("%s", cpu_onednn_complaint());
}

/* Compares one level: values within the tolerance, and the same bits with any number of threads. */
static void compare_level(struct rig *rig, const struct ir_node *node, struct setup setup,
			  void *const *expected, double tolerance)
{
	const char *level = setup.layer == CPU_ONEDNN ? "onednn" : setup.simd->name;
	void *actual[3], *again[3];

	setup.threads = 1;
	run(rig, &setup, node, actual);
	setup.threads = between(2, 5);
	run(rig, &setup, node, again);
	for (uint32_t r = 0; r < node->num_results; r++) {
		const struct ir_type *type = &node->results[r]->type;

		compare_result(rig, node, r, level, expected[r], actual[r], tolerance);
		assert_memory_equal(again[r], actual[r], (size_t)ir_type_bytes(type));
		free(actual[r]);
		free(again[r]);
	}
}

/* Returns one of the levels that this processor has. */
static const struct cpu_simd *random_simd(void)
{
	const struct cpu_simd *simd = NULL;

	while (!simd)
		simd = cpu_simd_level((enum cpu_level)random_below(CPU_LEVEL_COUNT));
	return simd;
}

/* Returns the best level without dot products of bytes or of pairs of 16-bit integers. */
static const struct cpu_simd *without_dots(void)
{
	const struct cpu_simd *best = cpu_simd_best();

	for (int level = CPU_LEVEL_COUNT; best->channel_dots && level-- > 0;)
		if (cpu_simd_level((enum cpu_level)level))
			best = cpu_simd_level((enum cpu_level)level);
	return best;
}

bool rig_compare(struct rig *rig, enum ir_op op, const union ir_attrs *attrs, uint32_t num_results,
		 const struct ir_type *types, double tolerance)
{
	struct setup setup = { CPU_REFERENCE, cpu_simd_best(), 1, random_below(2), false };
	struct ir_node *node;
	void *expected[3];
	bool fast;

	maybe_constant(rig, op);
	node = add_node(rig, op, attrs, num_results, types);
	fast = see(node);
	assert_in_range(num_results, 1, 3);
	run(rig, &setup, node, expected);
	setup.layer = CPU_FAST;
	for (int level = 0; level < CPU_LEVEL_COUNT && !only_onednn(); level++) {
		setup.simd = cpu_simd_level((enum cpu_level)level);
		setup.keeps = random_below(2);
		if (setup.simd)
			compare_level(rig, node, setup, expected, tolerance);
	}
	demand_onednn();
	setup.layer = CPU_ONEDNN;
	setup.keeps = true;
	setup.simd = only_onednn() ? without_dots() : random_simd();
	compare_level(rig, node, setup, expected, tolerance);
	for (uint32_t r = 0; r < num_results; r++)
		free(expected[r]);
	rig_exit(rig);
	return fast;
}

void rig_compare_onednn(struct rig *rig, enum ir_op op, const union ir_attrs *attrs,
			const struct ir_type *type, double tolerance)
{
	struct setup setup = { CPU_REFERENCE, cpu_simd_best(), 1, random_below(2), false };
	struct ir_node *node = add_node(rig, op, attrs, 1, type);
	void *expected[3];

	run(rig, &setup, node, expected);
	demand_onednn();
	setup.layer = CPU_ONEDNN;
	setup.keeps = true;
	if (setup.simd->channel_dots && op == IR_OP_QCONV)
		compare_level(rig, node, setup, expected, tolerance);
	setup.simd = without_dots();
	compare_level(rig, node, setup, expected, tolerance);
	free(expected[0]);
	rig_exit(rig);
}

void run_rounds(bool (*one)(void))
{
	for (int i = 0; i < rounds(); i++)
		assert_true(one());
}

struct ir_unary_attrs rig_random_act(void)
{
	static const int kinds[] = { IR_UNARY_NONE, IR_RELU, IR_CLAMP, IR_TANH, IR_LEAKY_RELU };

	return (struct ir_unary_attrs){ .kind = kinds[random_below(5)],
					.alpha = -0.5f,
					.beta = 0.75f,
					.half = random_below(4) == 0 };
}
