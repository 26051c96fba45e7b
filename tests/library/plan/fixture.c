// SPDX-License-Identifier: MIT
/* Devices, random operands, and the comparison of a graph's results. */
#include "fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <onpu/slots.h>

#include "cpu/cpu.h"
#include "util/float16.h"

static const uint32_t sram_sizes[NUM_SIZES] = { 16 << 10, 64 << 10, 512 << 10, 4 << 20 };

struct devices {
	struct winsys *ws[NUM_SIZES];
	struct cpu_context *cpu;
};

static uint64_t random_state = 1;

void random_seed(uint64_t seed)
{
	random_state = seed * 2 + 1;
}

uint32_t random_below(uint32_t n)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(random_state >> 33) % n;
}

uint32_t between(uint32_t lo, uint32_t hi)
{
	return lo + random_below(hi - lo + 1);
}

int fixture_setup(void **state)
{
	struct devices *devices = calloc(1, sizeof(*devices));
	struct wnn_error err = { 0 };

	assert_non_null(devices);
	for (int i = 0; i < NUM_SIZES; i++) {
		struct winsys_sim_config config = { .sram_bytes = sram_sizes[i], .simd = -1 };

		devices->ws[i] = winsys_sim_create(&config, &err);
		assert_non_null(devices->ws[i]);
	}
	devices->cpu = cpu_context_create(1);
	assert_non_null(devices->cpu);
	*state = devices;
	return 0;
}

int fixture_teardown(void **state)
{
	struct devices *devices = *state;

	for (int i = 0; i < NUM_SIZES; i++)
		devices->ws[i]->ops->destroy(devices->ws[i]);
	cpu_context_destroy(devices->cpu);
	free(devices);
	return 0;
}

/* ---- graphs */

void graph_init(struct test_graph *t)
{
	memset(t, 0, sizeof(*t));
	t->graph = ir_graph_create();
	t->tolerance = 2e-6;
	assert_non_null(t->graph);
}

void graph_free(struct test_graph *t)
{
	ir_graph_destroy(t->graph);
	for (uint32_t i = 0; i < t->num_inputs; i++)
		free(t->data[i]);
}

static void random_element(enum ir_dtype dtype, void *at)
{
	float f = (float)random_below(4001) / 1000 - 2;
	int64_t n = (int64_t)random_below(41) - 20;
	uint16_t half;

	switch (dtype) {
	case IR_F32:
		memcpy(at, &f, 4);
		break;
	case IR_F16:
		half = wnn_float_to_half(f);
		memcpy(at, &half, 2);
		break;
	case IR_U8: case IR_U32: case IR_U64:
		n = n < 0 ? -n : n;
		/* fall through */
	default:
		memcpy(at, &n, ir_dtype_bits(dtype) / 8);
	}
}

struct ir_value *add_operand(struct test_graph *t, enum ir_dtype dtype, uint32_t rank,
			     const int64_t *dims, bool constant)
{
	struct ir_type type = ir_type_make(dtype, rank, dims);
	size_t bytes = ir_type_bytes(&type), size = ir_dtype_bits(dtype) / 8;
	struct ir_value *value;
	uint8_t *data = malloc(bytes);

	assert_non_null(data);
	assert_true(t->num_inputs < MAX_DATA);
	for (size_t i = 0; i < bytes; i += size)
		random_element(dtype, data + i);
	if (constant)
		value = ir_add_constant(t->graph, &type, ir_constant_copy(data, bytes));
	else
		value = ir_add_input(t->graph, "x", &type);
	assert_non_null(value);
	t->data[t->num_inputs] = data;
	t->input[t->num_inputs++] = value;
	return value;
}

struct ir_node *add_node(struct test_graph *t, enum ir_op op, struct ir_value *const *operands,
			 uint32_t num_operands, enum ir_dtype dtype, uint32_t rank,
			 const int64_t *dims, const union ir_attrs *attrs)
{
	static const union ir_attrs none;
	struct ir_type type = ir_type_make(dtype, rank, dims);
	struct ir_node *node = ir_add_node(t->graph, op, operands, num_operands, &type, 1,
					   attrs ? attrs : &none, "", "test");

	assert_non_null(node);
	return node;
}

void add_result(struct test_graph *t, const struct ir_node *node)
{
	assert_int_equal(ir_add_output(t->graph, "y", node->results[0]), 0);
	t->output[t->num_outputs++] = node->results[0];
}

/* ---- the reference */

static void run_reference(struct test_graph *t, struct devices *devices, void **value)
{
	struct wnn_error err = { 0 };

	for (uint32_t i = 0; i < t->num_inputs; i++)
		value[t->input[i]->id] = t->data[i];
	for (uint32_t i = 0; i < t->graph->num_nodes; i++) {
		const struct ir_node *node = t->graph->nodes[i];
		const void *in[MAX_DATA] = { NULL };
		void *out[1] = { malloc(ir_type_bytes(&node->results[0]->type)) };

		for (uint32_t o = 0; o < node->num_operands; o++)
			in[o] = node->operands[o] ? value[node->operands[o]->id] : NULL;
		assert_non_null(out[0]);
		if (cpu_run_node(devices->cpu, CPU_REFERENCE, node, in, out, &err))
			fail_msg("reference of %s: %s", ir_op_name(node->op), err.message);
		value[node->results[0]->id] = out[0];
	}
}

/* ---- the device */

static struct winsys_bo *upload(struct winsys *ws, const void *data, size_t bytes)
{
	struct wnn_error err = { 0 };
	struct winsys_bo *bo = ws->ops->bo_create(ws, bytes ? bytes : 1, &err);

	assert_non_null(bo);
	if (data && bytes)
		memcpy(bo->map, data, bytes);
	return bo;
}

static struct npu_program *compile(struct test_graph *t, struct winsys *ws)
{
	struct npu_program *program;
	struct wnn_error err = { 0 };
	uint32_t live[MAX_DATA];

	for (uint32_t i = 0; i < t->graph->num_nodes; i++) {
		const char *reason = "";

		if (!npu_supports(t->graph->nodes[i], &ws->caps, &reason))
			fail_msg("%s is not supported: %s", ir_op_name(t->graph->nodes[i]->op),
				 reason);
	}
	for (uint32_t i = 0; i < t->num_outputs; i++)
		live[i] = t->output[i]->id;
	if (npu_compile(t->graph, 0, t->graph->num_nodes, live, t->num_outputs, &ws->caps, false,
			&program, &err)) {
		char *text = ir_print(t->graph);

		fail_msg("compile for %u bytes: %s\n%s", ws->caps.sram_bytes, err.message, text);
	}
	return program;
}

static const void *input_data(const struct test_graph *t, uint32_t id)
{
	for (uint32_t i = 0; i < t->num_inputs; i++)
		if (t->input[i]->id == id)
			return t->data[i];
	return NULL;
}

static void patch_slots(const struct npu_program *program, uint8_t *slots, uint64_t constants,
			uint64_t arena, struct winsys_bo *const *bindings)
{
	for (uint32_t i = 0; i < program->num_patches; i++) {
		const struct npu_patch *patch = &program->patches[i];
		uint8_t *at = slots + (size_t)patch->slot * ONPU_SLOT_SIZE +
			      offsetof(struct onpu_slot_tensor, base);
		uint64_t base;

		memcpy(&base, at, 8);
		base += patch->base == NPU_BASE_CONST	? constants
			: patch->base == NPU_BASE_ARENA ? arena
							: bindings[patch->value]->va;
		memcpy(at, &base, 8);
	}
}

static void run_job(struct winsys *ws, const struct npu_program *program, struct winsys_bo *insns,
		    struct winsys_bo *slots)
{
	struct winsys_job job = {.program_va = insns->va,
				 .slots_va = slots->va,
				 .num_insns = program->num_insns,
				 .num_slots = program->num_slots};
	struct winsys_result result;
	struct wnn_error err = { 0 };
	struct winsys_ctx *ctx = ws->ops->ctx_create(ws, &err);
	uint64_t seqno;

	assert_non_null(ctx);
	assert_int_equal(ws->ops->submit(ctx, &job, 1, &seqno, &err), 0);
	assert_int_equal(ws->ops->wait(ctx, seqno, UINT64_MAX, &result, &err), 0);
	ws->ops->ctx_destroy(ctx);
	if (result.fault_code)
		fail_msg("fault %u, engine %u, operand %u, instruction %llu of %u",
			 result.fault_code, result.fault_engine, result.fault_operand,
			 (unsigned long long)result.fault_pc, program->num_insns);
}

static void run_device(struct test_graph *t, struct devices *devices, int size, void **out,
		       bool *exact)
{
	struct winsys *ws = devices->ws[size];
	struct npu_program *program = compile(t, ws);
	struct winsys_bo *insns = upload(ws, program->insns, (size_t)program->num_insns * 16);
	struct winsys_bo *slots =
		upload(ws, program->slots, (size_t)program->num_slots * ONPU_SLOT_SIZE);
	struct winsys_bo *constants = upload(ws, program->constants, program->constant_bytes);
	struct winsys_bo *arena = upload(ws, NULL, program->arena_bytes), *binding[2 * MAX_DATA];

	/* What is not written must not look written. */
	memset(arena->map, 0xa5, arena->size);
	for (uint32_t i = 0; i < program->num_bindings; i++) {
		const struct npu_binding *b = &program->bindings[i];

		binding[i] = upload(ws, b->written ? NULL : input_data(t, b->value_id), b->bytes);
		if (b->written)
			memset(binding[i]->map, 0xa5, b->bytes);
	}
	patch_slots(program, slots->map, constants->va, arena->va, binding);
	run_job(ws, program, insns, slots);
	*exact = true;
	for (uint32_t i = 0; i < program->num_nodes; i++)
		*exact &= program->nodes[i].exactness == NPU_EXACT;
	for (uint32_t o = 0; o < t->num_outputs; o++)
		for (uint32_t i = 0; i < program->num_bindings; i++)
			if (program->bindings[i].value_id == t->output[o]->id)
				memcpy(out[o], binding[i]->map, binding[i]->size);
	for (uint32_t i = 0; i < program->num_bindings; i++)
		ws->ops->bo_destroy(binding[i]);
	ws->ops->bo_destroy(insns);
	ws->ops->bo_destroy(slots);
	ws->ops->bo_destroy(constants);
	ws->ops->bo_destroy(arena);
	npu_program_destroy(program);
}

/* ---- comparison */

static double element(enum ir_dtype dtype, const uint8_t *at)
{
	float f;
	uint16_t half;
	int32_t i32;
	uint32_t u32;
	int64_t i64;
	uint64_t u64;

	switch (dtype) {
	case IR_F32:
		memcpy(&f, at, 4);
		return f;
	case IR_F16:
		memcpy(&half, at, 2);
		return wnn_half_to_float(half);
	case IR_I32:
		memcpy(&i32, at, 4);
		return i32;
	case IR_U32:
		memcpy(&u32, at, 4);
		return u32;
	case IR_I64:
		memcpy(&i64, at, 8);
		return (double)i64;
	case IR_U64:
		memcpy(&u64, at, 8);
		return (double)u64;
	case IR_I8:
		return (int8_t)*at;
	default:
		return *at;
	}
}

static void compare(const struct test_graph *t, uint32_t output, const uint8_t *got,
		    const uint8_t *want)
{
	const struct ir_type *type = &t->output[output]->type;
	size_t size = ir_dtype_bits(type->dtype) / 8, n = ir_type_elements(type);
	double worst = 0, tolerance = t->tolerance;

	if (type->dtype == IR_F16 && tolerance)
		tolerance = tolerance > 2e-3 ? tolerance : 2e-3;
	if (!ir_dtype_is_float(type->dtype))
		tolerance = 0;
	for (size_t i = 0; i < n; i++) {
		double w = fabs(element(type->dtype, want + i * size));

		if (isfinite(w) && w > worst)
			worst = w;
	}
	for (size_t i = 0; i < n; i++) {
		double g = element(type->dtype, got + i * size),
		       w = element(type->dtype, want + i * size);

		if ((isnan(g) && isnan(w)) || g == w || fabs(g - w) <= tolerance * (worst + 1e-30))
			continue;
		fail_msg("element %zu of %zu is %.9g, reference %.9g (largest %.9g)\n%s", i, n, g,
			 w, worst, ir_print(t->graph));
	}
}

void check_graph(struct test_graph *t, void *state)
{
	void **value = calloc(t->graph->num_values + 1, sizeof(*value)), *out[2][MAX_DATA];
	struct wnn_error err = { 0 };
	bool exact;

	assert_non_null(value);
	if (ir_verify(t->graph, &err))
		fail_msg("%s", err.message);
	run_reference(t, state, value);
	for (int size = 0; size < NUM_SIZES; size++) {
		for (uint32_t o = 0; o < t->num_outputs; o++)
			out[size > 0][o] = malloc(ir_type_bytes(&t->output[o]->type));
		run_device(t, state, size, out[size > 0], &exact);
		for (uint32_t o = 0; o < t->num_outputs; o++) {
			size_t bytes = ir_type_bytes(&t->output[o]->type);

			compare(t, o, out[size > 0][o], value[t->output[o]->id]);
			if (size && exact && memcmp(out[0][o], out[1][o], bytes))
				fail_msg("%u and %u bytes of SRAM give different bits\n%s",
					 sram_sizes[0], sram_sizes[size], ir_print(t->graph));
			if (size)
				free(out[1][o]);
		}
	}
	for (uint32_t o = 0; o < t->num_outputs; o++)
		free(out[0][o]);
	for (uint32_t i = 0; i < t->graph->num_nodes; i++)
		free(value[t->graph->nodes[i]->results[0]->id]);
	free(value);
}

char *plan_text(struct test_graph *t, void *state, int size)
{
	struct devices *devices = state;
	struct npu_program *program = compile(t, devices->ws[size]);
	char *text = npu_program_print(program, t->graph);

	assert_non_null(text);
	npu_program_destroy(program);
	return text;
}
