// SPDX-License-Identifier: MIT
/*
 * Implements fixture.h: devices, random operands, and the comparison of a graph's results with the
 * reference.
 */
#include "../../random.h"
#include "fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <onpu/slots.h>
#include <onpu_sim.h>

#include "cpu/cpu.h"
#include "text.h"
#include "util/float16.h"

static const uint32_t sram_sizes[NUM_SIZES] = { 16 << 10, 64 << 10, 512 << 10, 4 << 20 };

struct devices {
	struct winsys *ws[NUM_SIZES];
	struct cpu_context *cpu;
};

static struct rng rng = { 1 };

void random_seed(uint64_t seed)
{
	rng.state = seed;
}

uint32_t random_below(uint32_t n)
{
	return (uint32_t)rng_below(&rng, n);
}

uint32_t between(uint32_t lo, uint32_t hi)
{
	return lo + random_below(hi - lo + 1);
}

static int create_devices(void **state, const char *machine)
{
	struct devices *devices = calloc(1, sizeof(*devices));
	struct wnn_error err = { 0 };

	assert_non_null(devices);
	for (int i = 0; i < NUM_SIZES; i++) {
		struct winsys_sim_config config = {
			.sram_bytes = sram_sizes[i],
			.simd = -1,
			/*
			 * The tests of tests/library/winsys set this variable, which gives the
			 * device firmware and page tables.
			 */
			.full = getenv("FIXTURE_FULL"),
			.machine = machine,
		};

		devices->ws[i] = winsys_sim_create(&config, &err);
		assert_non_null(devices->ws[i]);
	}
	/* Named machines have the largest size, so that the last device has the wanted name. */
	if (machine)
		assert_string_equal(devices->ws[NUM_SIZES - 1]->caps.machine, machine);
	devices->cpu = cpu_context_create(1);
	assert_non_null(devices->cpu);
	*state = devices;
	return 0;
}

int fixture_setup(void **state)
{
	return create_devices(state, getenv("WEBNN_SIM_MACHINE"));
}

int fixture_setup_ref1(void **state)
{
	return create_devices(state, REF1);
}

const char *fixture_machine(void *state)
{
	struct devices *devices = state;

	return devices->ws[NUM_SIZES - 1]->caps.machine;
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
	case IR_U8:
	case IR_U32:
	case IR_U64:
		n = n < 0 ? -n : n;
		memcpy(at, &n, ir_dtype_bits(dtype) / 8);
		break;
	case IR_I4:
	case IR_U4:
		*(uint8_t *)at = (uint8_t)random_below(256);
		break;
	default:
		memcpy(at, &n, ir_dtype_bits(dtype) / 8);
	}
}

struct ir_value *add_operand(struct test_graph *t, enum ir_dtype dtype, uint32_t rank,
			     const int64_t *dims, bool constant)
{
	struct ir_type type = ir_type_make(dtype, rank, dims);
	size_t bytes = ir_type_bytes(&type), bits = ir_dtype_bits(dtype);
	size_t size = bits < 8 ? 1 : bits / 8;
	struct ir_value *value;
	uint8_t *data = malloc(bytes);

	assert_non_null(data);
	assert_true(t->num_inputs < MAX_DATA);
	for (size_t i = 0; i < bytes; i += size)
		random_element(dtype, data + i);
	if (bits * (size_t)ir_type_elements(&type) % 8)
		data[bytes - 1] &= 15;
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

void add_output(struct test_graph *t, struct ir_value *value)
{
	assert_int_equal(ir_add_output(t->graph, "y", value, NULL), 0);
	t->output[t->num_outputs++] = value;
}

void add_result(struct test_graph *t, const struct ir_node *node)
{
	for (uint32_t r = 0; r < node->num_results; r++)
		add_output(t, node->results[r]);
}

/* ---- the reference */

static double element(enum ir_dtype dtype, const uint8_t *data, size_t i)
{
	const uint8_t *at = data + i * ir_dtype_bits(dtype) / 8;
	int nibble = *at >> i % 2 * 4 & 15;
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
	case IR_I4:
		return nibble < 8 ? nibble : nibble - 16;
	case IR_U4:
		return nibble;
	default:
		return *at;
	}
}

static void run_reference(struct test_graph *t, struct devices *devices, void **value)
{
	struct wnn_error err = { 0 };

	for (uint32_t i = 0; i < t->num_inputs; i++)
		value[t->input[i]->id] = t->data[i];
	for (uint32_t i = 0; i < t->graph->num_nodes; i++) {
		const struct ir_node *node = t->graph->nodes[i];
		const void *in[MAX_DATA] = { NULL };
		void *out[MAX_DATA] = { NULL };

		for (uint32_t r = 0; r < node->num_results; r++) {
			out[r] = malloc(ir_type_bytes(&node->results[r]->type));
			assert_non_null(out[r]);
		}
		for (uint32_t o = 0; o < node->num_operands; o++)
			in[o] = node->operands[o] ? value[node->operands[o]->id] : NULL;
		if (cpu_run_node(devices->cpu, CPU_REFERENCE, node, in, out, &err))
			fail_msg("reference of %s: %s", ir_op_name(node->op), err.message);
		for (uint32_t r = 0; r < node->num_results; r++)
			value[node->results[r]->id] = out[r];
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

	assert_true(text_round_trip(t->graph));
	for (uint32_t i = 0; i < t->graph->num_nodes; i++) {
		struct npu_reason reason = { 0 };

		if (!npu_supports(t->graph->nodes[i], &ws->caps, &reason))
			fail_msg("%s is not supported: %s", ir_op_name(t->graph->nodes[i]->op),
				 reason.text);
	}
	for (uint32_t i = 0; i < t->num_outputs; i++)
		live[i] = t->output[i]->id;
	if (npu_compile(t->graph, 0, t->graph->num_nodes, live, t->num_outputs, &ws->caps, false,
			NULL, &program, &err)) {
		char *text = ir_print(t->graph);

		fail_msg("compile for %u bytes: %s\n%s", ws->caps.sram_bytes, err.message, text);
	}
	/* Values can stay in SRAM, unless jobs are very small. */
	if (!ws->caps.max_slots)
		assert_string_equal(program->residency_error, "");
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
		base += patch->base == NPU_BASE_CONST ? constants :
			patch->base == NPU_BASE_ARENA ? arena :
							bindings[patch->value]->va;
		memcpy(at, &base, 8);
	}
}

/* Sets the keep number: 1 if the program keeps weights in SRAM for its next run, else 0. */
static void name_kept(const struct npu_program *program, union onpu_slot *slots)
{
	slots->program.keep = slots->program.keep_start != 0;
	assert_true(!slots->program.keep || program->num_jobs == 1);
}

static struct traffic run_jobs(struct winsys *ws, struct winsys_ctx *ctx,
			       const struct npu_program *program, struct winsys_bo *insns,
			       struct winsys_bo *slots)
{
	struct traffic traffic = { 0 };
	struct winsys_result result;
	struct wnn_error err = { 0 };
	uint64_t seqno;

	for (uint32_t i = 0; i < program->num_jobs; i++) {
		const struct npu_job *part = &program->jobs[i];
		struct winsys_job job = {
			.program_va = insns->va + (uint64_t)part->first_insn * 16,
			.slots_va = slots->va + (uint64_t)part->first_slot * ONPU_SLOT_SIZE,
			.num_insns = part->num_insns,
			.num_slots = part->num_slots,
		};

		assert_int_equal(ws->ops->submit(ctx, &job, 1, &seqno, &err), 0);
		assert_int_equal(ws->ops->wait(ctx, seqno, UINT64_MAX, &result, &err), 0);
		if (result.fault_code)
			fail_msg("fault %u, engine %u, operand %u, instruction %llu of %u",
				 result.fault_code, result.fault_engine, result.fault_operand,
				 (unsigned long long)result.fault_pc, part->num_insns);
		assert_true(result.has_counters);
		traffic.loaded += result.bytes_ld;
		traffic.stored += result.bytes_st;
		traffic.cycles += result.cycles;
	}
	return traffic;
}

/*
 * Checks that each node is exact, or splits keys with @split_keys, and that the bytes which the
 * plan states for its nodes add up to those of the device.
 */
static void check_nodes(const struct npu_program *program, const struct traffic *traffic,
			bool split_keys)
{
	struct traffic planned = { 0 };

	for (uint32_t i = 0; i < program->num_nodes; i++) {
		assert_true(program->nodes[i].exactness == NPU_EXACT ||
			    (split_keys && program->nodes[i].exactness == NPU_SPLIT_KEYS));
		planned.loaded += program->nodes[i].bytes_ld;
		planned.stored += program->nodes[i].bytes_st;
	}
	assert_int_equal(planned.loaded, traffic->loaded);
	assert_int_equal(planned.stored, traffic->stored);
}

/* ---- a job that moves to another machine at every preemption point */

struct preempted {
	const struct npu_program *program;
	struct winsys_bo *const *bo;
	uint32_t num_bos;
	uint8_t *save;
	size_t save_bytes;
};

static uint8_t *bo_byte(const struct preempted *p, uint64_t addr, size_t len)
{
	if (addr < p->save_bytes && len <= p->save_bytes - addr)
		return p->save + addr;
	for (uint32_t i = 0; i < p->num_bos; i++)
		if (addr >= p->bo[i]->va && addr + len <= p->bo[i]->va + p->bo[i]->size)
			return (uint8_t *)p->bo[i]->map + (addr - p->bo[i]->va);
	return NULL;
}

static int read_bytes(void *ctx, uint64_t addr, void *dst, size_t len)
{
	const uint8_t *from = bo_byte(ctx, addr, len);

	if (from)
		memcpy(dst, from, len);
	return from ? 0 : ONPU_FAULT_MMU_NOT_PRESENT;
}

static int write_bytes(void *ctx, uint64_t addr, const void *src, size_t len)
{
	uint8_t *to = bo_byte(ctx, addr, len);

	if (to)
		memcpy(to, src, len);
	return to ? 0 : ONPU_FAULT_MMU_NOT_PRESENT;
}

static uint32_t run_preempted(struct winsys *ws, struct preempted *p)
{
	struct onpu_sim_config config = onpu_sim_config_default();
	struct onpu_mem mem = { .ctx = p, .read = read_bytes, .write = write_bytes };
	struct onpu_job job = { .program_va = p->bo[0]->va,
				.slots_va = p->bo[1]->va,
				.num_insns = p->program->num_insns,
				.num_slots = p->program->num_slots };
	struct onpu_machine *machine;
	enum onpu_step step;
	uint32_t points = 0;

	config.sram_bytes = ws->caps.sram_bytes;
	config.lanes = ws->caps.lanes;
	config.features = (uint16_t)ws->caps.features;
	machine = onpu_machine_create(&config, NULL);
	assert_non_null(machine);
	onpu_machine_begin(machine, &mem, &job);
	while ((step = onpu_machine_step(machine)) != ONPU_STEP_DONE) {
		assert_true(step == ONPU_STEP_RUNNING || step == ONPU_STEP_PREEMPT_POINT);
		if (step == ONPU_STEP_RUNNING)
			continue;
		points++;
		assert_int_equal(onpu_machine_save(machine, &mem, 0), 0);
		onpu_machine_destroy(machine);
		machine = onpu_machine_create(&config, NULL);
		assert_int_equal(onpu_machine_restore(machine, &mem, &mem, 0), 0);
	}
	onpu_machine_destroy(machine);
	return points;
}

/*
 * Fills all results and the arena with a pattern: a result that is not written differs from the
 * expected one.
 */
static void spoil_results(const struct npu_program *program, struct winsys_bo *arena,
			  struct winsys_bo *const *binding)
{
	memset(arena->map, 0xa5, arena->size);
	for (uint32_t i = 0; i < program->num_bindings; i++)
		if (program->bindings[i].written)
			memset(binding[i]->map, 0xa5, program->bindings[i].bytes);
}

/*
 * Runs the program in another context, and then again in the first: both find nothing in SRAM, and
 * load as much as the first run did.
 */
static void run_between(struct winsys *ws, struct winsys_ctx *ctx,
			const struct npu_program *program, struct winsys_bo *const *bo,
			const struct traffic *first)
{
	struct wnn_error err = { 0 };
	struct winsys_ctx *other = ws->ops->ctx_create(ws, WINSYS_POWER_DEFAULT, &err);
	struct traffic traffic;

	assert_non_null(other);
	for (int i = 0; i < 2; i++) {
		spoil_results(program, bo[3], bo + 4);
		traffic = run_jobs(ws, i ? ctx : other, program, bo[0], bo[1]);
		assert_int_equal(traffic.loaded, first->loaded);
		assert_int_equal(traffic.cycles, first->cycles);
	}
	ws->ops->ctx_destroy(other);
}

/*
 * Runs a program, and if it keeps weights in SRAM, runs it again: after a run of another context,
 * and after a run of its own. The results in @bo are those of the last run. Returns the bytes and
 * cycles of the first run, with those of the last one as later_*.
 */
static struct traffic run_program(const struct test_graph *t, struct winsys *ws,
				  const struct npu_program *program, struct winsys_bo *const *bo)
{
	struct wnn_error err = { 0 };
	struct winsys_ctx *ctx = ws->ops->ctx_create(ws, WINSYS_POWER_DEFAULT, &err);
	struct traffic traffic, again;

	assert_non_null(ctx);
	traffic = run_jobs(ws, ctx, program, bo[0], bo[1]);
	check_nodes(program, &traffic, t->split_keys);
	traffic.later_loaded = traffic.loaded;
	traffic.later_cycles = traffic.cycles;
	if (((const union onpu_slot *)bo[1]->map)->program.keep) {
		run_between(ws, ctx, program, bo, &traffic);
		spoil_results(program, bo[3], bo + 4);
		again = run_jobs(ws, ctx, program, bo[0], bo[1]);
		assert_true(again.loaded < traffic.loaded);
		assert_int_equal(again.stored, traffic.stored);
		traffic.later_loaded = again.loaded;
		traffic.later_cycles = again.cycles;
	}
	ws->ops->ctx_destroy(ctx);
	return traffic;
}

/*
 * Runs the graph on the device `ws`, as compiled for the device `maker`; returns the traffic. With
 * @points, moves the job to a new machine at every preemption point, sets *points to their number,
 * and returns zeros.
 */
static struct traffic run_compiled(struct test_graph *t, struct winsys *maker, struct winsys *ws,
				   void **out, uint32_t *points)
{
	struct npu_program *program = compile(t, maker);
	struct traffic traffic = { 0 };
	struct winsys_bo *bo[4 + 2 * MAX_DATA], **binding = bo + 4;
	uint32_t num_bos = 4 + program->num_bindings;

	bo[0] = upload(ws, program->insns, (size_t)program->num_insns * 16);
	bo[1] = upload(ws, program->slots, (size_t)program->num_slots * ONPU_SLOT_SIZE);
	bo[2] = upload(ws, NULL, program->constant_bytes);
	assert_int_equal(constants_write(&program->constants, bo[2]->map, NULL), 0);
	bo[3] = upload(ws, NULL, program->arena_bytes);
	for (uint32_t i = 0; i < program->num_bindings; i++) {
		const struct npu_binding *b = &program->bindings[i];

		binding[i] = upload(ws, b->written ? NULL : input_data(t, b->value_id), b->bytes);
	}
	spoil_results(program, bo[3], binding);
	name_kept(program, bo[1]->map);
	patch_slots(program, bo[1]->map, bo[2]->va, bo[3]->va, binding);
	if (points) {
		struct preempted p = { .program = program, .bo = bo, .num_bos = num_bos };

		p.save_bytes = ONPU_MACHINE_STATE_HEADER + ws->caps.sram_bytes;
		p.save = calloc(1, p.save_bytes);
		assert_non_null(p.save);
		*points = run_preempted(ws, &p);
		free(p.save);
	} else {
		traffic = run_program(t, ws, program, bo);
	}
	for (uint32_t o = 0; o < t->num_outputs; o++)
		for (uint32_t i = 0; i < program->num_bindings; i++)
			if (program->bindings[i].value_id == t->output[o]->id)
				memcpy(out[o], binding[i]->map, binding[i]->size);
	for (uint32_t i = 0; i < num_bos; i++)
		ws->ops->bo_destroy(bo[i]);
	npu_program_destroy(program);
	return traffic;
}

static struct traffic run_device(struct test_graph *t, struct winsys *ws, void **out,
				 uint32_t *points)
{
	return run_compiled(t, ws, ws, out, points);
}

static void allocate_outputs(const struct test_graph *t, void **out)
{
	for (uint32_t o = 0; o < t->num_outputs; o++) {
		out[o] = malloc(ir_type_bytes(&t->output[o]->type));
		assert_non_null(out[o]);
	}
}

/*
 * Runs the graph on its own machine and on another, which gets a program of its own with
 * @recompiled, else that of the first machine. The results must have the same bits.
 */
static void check_other(struct test_graph *t, void *state, int size, const char *machine,
			bool recompiled, struct traffic traffic[2])
{
	struct devices *devices = state;
	struct winsys_sim_config config = { .sram_bytes = sram_sizes[size],
					    .simd = -1,
					    .machine = machine };
	struct winsys *ws = devices->ws[size], *other;
	struct wnn_error err = { 0 };
	void *own[MAX_DATA], *foreign[MAX_DATA];

	other = winsys_sim_create(&config, &err);
	assert_non_null(other);
	assert_int_not_equal(ws->caps.features, other->caps.features);
	allocate_outputs(t, own);
	allocate_outputs(t, foreign);
	traffic[0] = run_compiled(t, ws, ws, own, NULL);
	traffic[1] = run_compiled(t, recompiled ? other : ws, other, foreign, NULL);
	for (uint32_t o = 0; o < t->num_outputs; o++) {
		assert_memory_equal(own[o], foreign[o], ir_type_bytes(&t->output[o]->type));
		free(own[o]);
		free(foreign[o]);
	}
	other->ops->destroy(other);
}

void check_machine(struct test_graph *t, void *state, int size, const char *machine,
		   struct traffic traffic[2])
{
	check_other(t, state, size, machine, false, traffic);
}

void check_machines(struct test_graph *t, void *state, int size, const char *machine,
		    struct traffic traffic[2])
{
	check_other(t, state, size, machine, true, traffic);
}

struct npu_program *compile_graph(struct test_graph *t, void *state, int size)
{
	struct devices *devices = state;

	return compile(t, devices->ws[size]);
}

void run_graph(struct test_graph *t, void *state, int size, void **out)
{
	struct devices *devices = state;

	run_device(t, devices->ws[size], out, NULL);
}

struct traffic count_traffic(struct test_graph *t, void *state, int size)
{
	struct devices *devices = state;
	struct traffic traffic;
	void *out[MAX_DATA];

	allocate_outputs(t, out);
	traffic = run_device(t, devices->ws[size], out, NULL);
	for (uint32_t o = 0; o < t->num_outputs; o++)
		free(out[o]);
	return traffic;
}

/* ---- comparison */

static void compare(const struct test_graph *t, uint32_t output, const uint8_t *got,
		    const uint8_t *want)
{
	const struct ir_type *type = &t->output[output]->type;
	size_t n = ir_type_elements(type), bytes = ir_type_bytes(type);
	double worst = 0, tolerance = t->tolerance;

	if (type->dtype == IR_F16 && tolerance)
		tolerance = tolerance > 2e-3 ? tolerance : 2e-3;
	if (!ir_dtype_is_float(type->dtype))
		tolerance = 0;
	/* Compare the unused half of the last byte. */
	if (ir_dtype_bits(type->dtype) * n % 8)
		assert_int_equal(got[bytes - 1], want[bytes - 1]);
	for (size_t i = 0; i < n; i++) {
		double w = fabs(element(type->dtype, want, i));

		if (isfinite(w) && w > worst)
			worst = w;
	}
	for (size_t i = 0; i < n; i++) {
		double g = element(type->dtype, got, i), w = element(type->dtype, want, i);

		if ((isnan(g) && isnan(w)) || g == w || fabs(g - w) <= tolerance * (worst + 1e-30))
			continue;
		fail_msg("element %zu of %zu is %.9g, reference %.9g (largest %.9g)\n%s", i, n, g,
			 w, worst, ir_print(t->graph));
	}
}

void check_graph(struct test_graph *t, void *state)
{
	struct devices *devices = state;
	void **value = calloc(t->graph->num_values + 1, sizeof(*value)), *out[2][MAX_DATA];
	struct wnn_error err = { 0 };

	assert_non_null(value);
	if (ir_verify(t->graph, &err))
		fail_msg("%s", err.message);
	run_reference(t, state, value);
	for (int size = 0; size < NUM_SIZES; size++) {
		for (uint32_t o = 0; o < t->num_outputs; o++)
			out[size > 0][o] = malloc(ir_type_bytes(&t->output[o]->type));
		run_device(t, devices->ws[size], out[size > 0], NULL);
		for (uint32_t o = 0; o < t->num_outputs; o++) {
			size_t bytes = ir_type_bytes(&t->output[o]->type);

			compare(t, o, out[size > 0][o], value[t->output[o]->id]);
			if (size && !t->split_keys && memcmp(out[0][o], out[1][o], bytes))
				fail_msg("%u and %u bytes of SRAM give different bits\n%s",
					 sram_sizes[0], sram_sizes[size], ir_print(t->graph));
			if (size)
				free(out[1][o]);
		}
	}
	for (uint32_t o = 0; o < t->num_outputs; o++)
		free(out[0][o]);
	for (uint32_t i = 0; i < t->graph->num_nodes; i++)
		for (uint32_t r = 0; r < t->graph->nodes[i]->num_results; r++)
			free(value[t->graph->nodes[i]->results[r]->id]);
	free(value);
}

uint32_t check_preempted(struct test_graph *t, void *state, int size)
{
	struct devices *devices = state;
	void *plain[MAX_DATA], *moved[MAX_DATA];
	uint32_t points;

	for (uint32_t o = 0; o < t->num_outputs; o++) {
		plain[o] = malloc(ir_type_bytes(&t->output[o]->type));
		moved[o] = malloc(ir_type_bytes(&t->output[o]->type));
	}
	run_device(t, devices->ws[size], plain, NULL);
	run_device(t, devices->ws[size], moved, &points);
	for (uint32_t o = 0; o < t->num_outputs; o++) {
		assert_memory_equal(plain[o], moved[o], ir_type_bytes(&t->output[o]->type));
		free(plain[o]);
		free(moved[o]);
	}
	return points;
}

uint32_t check_split(struct test_graph *t, void *state, int size, uint32_t max_slots)
{
	struct devices *devices = state;
	struct winsys *ws = devices->ws[size];
	void *whole[MAX_DATA], *split[MAX_DATA];
	struct npu_program *program;
	uint32_t jobs;

	for (uint32_t o = 0; o < t->num_outputs; o++) {
		whole[o] = malloc(ir_type_bytes(&t->output[o]->type));
		split[o] = malloc(ir_type_bytes(&t->output[o]->type));
	}
	run_device(t, ws, whole, NULL);
	ws->caps.max_slots = max_slots;
	program = compile(t, ws);
	jobs = program->num_jobs;
	for (uint32_t i = 0; i < jobs; i++)
		assert_in_range(program->jobs[i].num_slots, 2, max_slots);
	npu_program_destroy(program);
	run_device(t, ws, split, NULL);
	ws->caps.max_slots = 0;
	for (uint32_t o = 0; o < t->num_outputs; o++) {
		assert_memory_equal(whole[o], split[o], ir_type_bytes(&t->output[o]->type));
		free(whole[o]);
		free(split[o]);
	}
	return jobs;
}

char *plan_text(struct test_graph *t, void *state, int size)
{
	struct npu_program *program = compile_graph(t, state, size);
	char *text = npu_program_print(program, t->graph);

	assert_non_null(text);
	npu_program_destroy(program);
	return text;
}
