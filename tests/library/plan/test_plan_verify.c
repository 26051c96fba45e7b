// SPDX-License-Identifier: MIT
/*
 * Tests the verifier of programs: each kind of error, planted into a good program, is refused with
 * a message that names the instruction.
 */
#include "nodes.h"

#include <stdlib.h>
#include <string.h>

#include <onpu/slots.h>

#include "plan/list/plan.h"
#include "util/bytes.h"
#include "util/malloc.h"

#define ANY UINT32_MAX

static const struct npu_caps caps = {
	.sram_bytes = 64 << 10,
	.lanes = ONPU_CAP_LANES__RESET,
	.mxu_rows = ONPU_CAP_MXU_ROWS__RESET,
	.mxu_cols = ONPU_CAP_MXU_COLS__RESET,
	.fifo_depth = ONPU_CAP_FIFO_DEPTH__RESET,
	.dma_bytes_per_cycle = ONPU_CAP_DMA_BYTES__RESET,
};

static struct npu_program *compile(struct test_graph *t, const struct ir_value *output,
				   const struct npu_caps *machine)
{
	struct npu_program *program;
	struct wnn_error err = { 0 };

	assert_int_equal(npu_compile(t->graph, 0, t->graph->num_nodes, &output->id, 1, machine,
				     true, NULL, &program, &err),
			 0);
	return program;
}

/* A program with a copy of its original content, and space for one more slot. */
struct rig {
	struct npu_program *program;
	const struct npu_caps *machine;
	union onpu_slot *slots;
	uint32_t (*saved_insns)[4];
	union onpu_slot *saved_slots;
	struct npu_patch *saved_patches;
	uint32_t num_slots, num_insns, num_patches;
};

static void *copy(const void *from, size_t bytes)
{
	void *to = malloc(bytes ? bytes : 1);

	assert_non_null(to);
	memcpy(to, from, bytes);
	return to;
}

static void rig_open(struct rig *rig, struct npu_program *program, const struct npu_caps *machine)
{
	*rig = (struct rig){ .program = program,
			     .machine = machine,
			     .num_slots = program->num_slots,
			     .num_insns = program->num_insns,
			     .num_patches = program->num_patches };
	assert_int_equal(program->num_jobs, 1);
	rig->saved_slots = program->slots;
	rig->slots = calloc(program->num_slots + 1, sizeof(*rig->slots));
	assert_non_null(rig->slots);
	program->slots = rig->slots;
	rig->saved_insns = copy(program->insns, program->num_insns * sizeof(*program->insns));
	rig->saved_patches =
		copy(program->patches, program->num_patches * sizeof(*program->patches));
}

static void rig_restore(struct rig *rig)
{
	struct npu_program *program = rig->program;

	program->num_slots = program->jobs[0].num_slots = rig->num_slots;
	program->num_insns = program->jobs[0].num_insns = rig->num_insns;
	program->num_patches = rig->num_patches;
	memcpy(program->slots, rig->saved_slots, rig->num_slots * sizeof(*rig->slots));
	memcpy(program->insns, rig->saved_insns, rig->num_insns * sizeof(*program->insns));
	memcpy(program->patches, rig->saved_patches, rig->num_patches * sizeof(*program->patches));
}

static void rig_close(struct rig *rig)
{
	rig->program->slots = rig->saved_slots;
	npu_program_destroy(rig->program);
	free(rig->slots);
	free(rig->saved_insns);
	free(rig->saved_patches);
}

static struct onpu_insn insn_at(const struct rig *rig, uint32_t at)
{
	struct onpu_insn insn;

	assert_int_equal(onpu_insn_unpack(rig->program->insns[at], &insn), 0);
	return insn;
}

static void put_insn(struct rig *rig, uint32_t at, const struct onpu_insn *insn)
{
	assert_int_equal(onpu_insn_pack(insn, rig->program->insns[at]), 0);
}

static uint32_t find_op(const struct rig *rig, enum onpu_op op)
{
	uint32_t at = 0;

	while (at < rig->num_insns && insn_at(rig, at).op != op)
		at++;
	assert_true(at < rig->num_insns);
	return at;
}

/*
 * Copies slot *index to the end of the slots, sets *index to the copy, and returns the copy:
 * changing it affects no other instruction.
 */
static union onpu_slot *own_slot(struct rig *rig, uint16_t *index)
{
	union onpu_slot *slot = &rig->slots[rig->num_slots];

	*slot = rig->slots[*index];
	assert_int_equal(slot->tensor.space, ONPU_SPACE_SRAM);
	*index = (uint16_t)rig->num_slots;
	rig->program->num_slots = rig->program->jobs[0].num_slots = rig->num_slots + 1;
	return slot;
}

/* Checks that the program is refused with `text`, for instruction `at`; then restores it. */
static void refused_for(struct rig *rig, const struct npu_caps *machine, uint32_t at,
			const char *text)
{
	struct wnn_error err = { 0 };
	uint32_t insn;
	char name[40];

	assert_int_equal(npu_program_verify(rig->program, machine, &insn, &err), -1);
	if (!strstr(err.message, text))
		fail_msg("\"%s\" does not say \"%s\"", err.message, text);
	snprintf(name, sizeof(name), "instruction %u ", at);
	if (at != ANY && !strstr(err.message, name))
		fail_msg("\"%s\" does not name instruction %u", err.message, at);
	assert_int_equal(insn != UINT32_MAX, strstr(err.message, "instruction ") != NULL);
	assert_true(at == ANY || insn == at);
	rig_restore(rig);
	assert_int_equal(npu_program_verify(rig->program, rig->machine, &insn, &err), 0);
}

static void refused(struct rig *rig, uint32_t at, const char *text)
{
	refused_for(rig, rig->machine, at, text);
}

/* ---- words and slots */

static void plant_words(struct rig *rig)
{
	for (uint32_t at = 0; at < rig->num_insns; at++) {
		struct onpu_insn insn = insn_at(rig, at);

		memset(rig->program->insns[at], 0xff, sizeof(rig->program->insns[at]));
		refused(rig, at, "no instruction");
		if (insn.s0) {
			insn.s0 = (uint16_t)rig->num_slots;
			put_insn(rig, at, &insn);
			refused(rig, at, "no tensor slot");
		}
	}
	rig->program->num_insns = rig->program->jobs[0].num_insns = rig->num_insns - 1;
	refused(rig, rig->num_insns - 2, "ends here or not");
}

typedef void (*plant_fn)(struct onpu_slot_tensor *slot);

static void plant_type(struct onpu_slot_tensor *slot)
{
	slot->dtype = ONPU_DT_I8;
}

static void plant_no_type(struct onpu_slot_tensor *slot)
{
	slot->dtype = 0xff;
}

static void plant_rank(struct onpu_slot_tensor *slot)
{
	slot->rank = 9;
}

static void plant_zero(struct onpu_slot_tensor *slot)
{
	slot->dim[0] = 0;
}

static void plant_size(struct onpu_slot_tensor *slot)
{
	slot->size = (uint64_t)1 << 40;
}

static void plant_base(struct onpu_slot_tensor *slot)
{
	slot->base = caps.sram_bytes - slot->size + 64;
}

static void plant_offset(struct onpu_slot_tensor *slot)
{
	slot->offset += slot->size;
}

static void plant_stride(struct onpu_slot_tensor *slot)
{
	slot->stride[slot->rank - 1] = (int64_t)slot->size;
}

static void plant_repetition(struct onpu_slot_tensor *slot)
{
	slot->stride[slot->rank - 1] = 0;
}

/* Each of the next functions plants a number with which a sum or product would wrap around. */
static void plant_far_offset(struct onpu_slot_tensor *slot)
{
	slot->offset = INT64_MAX;
}

static void plant_far_stride(struct onpu_slot_tensor *slot)
{
	slot->stride[0] = INT64_MIN;
}

static void plant_elements(struct onpu_slot_tensor *slot)
{
	for (uint32_t i = 0; i < slot->rank; i++) {
		slot->dim[i] = UINT32_MAX;
		slot->stride[i] = 0;
	}
}

static void plant_less_rank(struct onpu_slot_tensor *slot)
{
	slot->rank--;
}

static const struct {
	plant_fn plant;
	bool dst_only;
	const char *text;
} tensors[] = {
	{ plant_type, false, "type the instruction does not take" },
	{ plant_no_type, false, "type the instruction does not take" },
	{ plant_rank, false, "no tensor slot" },
	{ plant_zero, false, "a dimension is zero" },
	{ plant_size, false, "a window leaves its memory" },
	{ plant_base, false, "a window leaves its memory" },
	{ plant_offset, false, "an operand leaves its window" },
	{ plant_stride, false, "an operand leaves its window" },
	{ plant_far_offset, false, "an operand is bigger than any memory" },
	{ plant_far_stride, false, "an operand is bigger than any memory" },
	{ plant_elements, false, "an operand is bigger than any memory" },
	{ plant_less_rank, false, "the ranks of its operands do not fit each other" },
	{ plant_repetition, true, "the destination overlaps itself" },
};

static void plant_tensors(struct rig *rig)
{
	uint32_t at = find_op(rig, ONPU_OP_MMA_F32);

	for (size_t i = 0; i < sizeof(tensors) / sizeof(tensors[0]); i++) {
		for (int operand = 0; operand < (tensors[i].dst_only ? 1 : 3); operand++) {
			struct onpu_insn insn = insn_at(rig, at);
			uint16_t *index[3] = { &insn.dst, &insn.s0, &insn.s1 };

			tensors[i].plant(&own_slot(rig, index[operand])->tensor);
			put_insn(rig, at, &insn);
			refused(rig, at, tensors[i].text);
		}
	}
}

/*
 * Returns the index of a slot that is patched with an address of this kind of memory; for
 * NPU_BASE_VALUE, with that of a binding that is written or not, as @written says.
 */
static uint16_t patched_slot(const struct rig *rig, enum npu_base base, bool written)
{
	const struct npu_program *program = rig->program;

	for (uint32_t i = 0; i < program->num_patches; i++)
		if (program->patches[i].base == base &&
		    (base != NPU_BASE_VALUE ||
		     program->bindings[program->patches[i].value].written == written))
			return (uint16_t)program->patches[i].slot;
	fail_msg("no slot of that kind");
	return 0;
}

static void plant_operands(struct rig *rig)
{
	uint32_t at = find_op(rig, ONPU_OP_MMA_F32), copies = 0;
	struct onpu_insn insn = insn_at(rig, at);
	struct onpu_slot_tensor *slot;

	insn.s0 = 0;
	put_insn(rig, at, &insn);
	refused(rig, at, "a required operand is missing");
	insn = insn_at(rig, at);
	insn.s0 = patched_slot(rig, NPU_BASE_CONST, false);
	put_insn(rig, at, &insn);
	refused(rig, at, "outside SRAM");
	insn = insn_at(rig, at);
	insn.param = insn.s0;
	put_insn(rig, at, &insn);
	refused(rig, at, "parameter slot has another form");
	insn = insn_at(rig, at);
	/* With stride 0 the whole dimension is inside the window, however long it is. */
	slot = &own_slot(rig, &insn.s0)->tensor;
	slot->dim[slot->rank - 1] = 1 << 20;
	slot->stride[slot->rank - 1] = 0;
	put_insn(rig, at, &insn);
	refused(rig, at, "more than 2^20 cycles");
	for (uint32_t i = 0; i < rig->num_insns; i++) {
		insn = insn_at(rig, i);
		if (insn.op != ONPU_OP_DMA_COPY)
			continue;
		copies++;
		insn.dst = patched_slot(rig, NPU_BASE_CONST, false);
		put_insn(rig, i, &insn);
		refused(rig, i, "the destination is read-only");
		insn.dst = patched_slot(rig, NPU_BASE_VALUE, false);
		put_insn(rig, i, &insn);
		refused(rig, i, "the destination is read-only");
	}
	assert_true(copies > 4);
}

/* ---- semaphores */

static void plant_tokens(struct rig *rig)
{
	uint32_t signals = 0, waits = 0;

	for (uint32_t at = 0; at < rig->num_insns; at++) {
		struct onpu_insn insn = insn_at(rig, at);
		struct wnn_error err = { 0 };
		uint32_t bad;

		if (insn.sv) {
			insn.sv = insn.ssem = 0;
			put_insn(rig, at, &insn);
			assert_int_equal(npu_program_verify(rig->program, &caps, &bad, &err), -1);
			assert_true(strstr(err.message, "waits for ever") ||
				    strstr(err.message, "nothing can run"));
			refused(rig, ANY, "instruction ");
			signals++;
		}
		insn = insn_at(rig, at);
		if (insn.wv) {
			insn.wv = insn.wsem = 0;
			put_insn(rig, at, &insn);
			refused(rig, ANY, "tokens at the end");
			waits++;
		}
	}
	assert_true(signals > 4 && waits > 4);
}

static void plant_owners(struct rig *rig)
{
	uint32_t found[2] = { 0 };

	for (uint32_t at = 0; at < rig->num_insns; at++) {
		for (uint32_t first = 0; first < at; first++) {
			struct onpu_insn insn = insn_at(rig, at), other = insn_at(rig, first);

			if (onpu_insn_engine(&insn) == onpu_insn_engine(&other))
				continue;
			if (insn.wv && other.wv) {
				insn.wsem = other.wsem;
				found[0]++;
			} else if (insn.sv && other.sv) {
				insn.ssem = other.ssem;
				found[1]++;
			} else {
				continue;
			}
			put_insn(rig, at, &insn);
			refused(rig, at, "two engines on one side");
			break;
		}
	}
	assert_true(found[0] && found[1]);
}

/* ---- patches, jobs, slot 0 */

static void plant_frame(struct rig *rig)
{
	struct npu_program *program = rig->program;
	struct npu_caps small = caps;

	program->num_patches--;
	refused(rig, ANY, "patch");
	program->patches[0].slot = rig->num_slots;
	refused(rig, ANY, "patch 0 names slot");
	program->patches[1].slot = program->patches[0].slot;
	refused(rig, ANY, "patch 1 names slot");
	program->num_slots--;
	refused(rig, ANY, "the last job does not end where the program ends");
	rig->slots[0].program.kind = ONPU_SLOT_TENSOR;
	refused(rig, ANY, "slot 0");
	small.sram_bytes = 16 << 10;
	refused_for(rig, &small, ANY, "slot 0");
}

static void test_errors(void **state)
{
	static void (*const plant[])(struct rig *rig) = {
		plant_words, plant_tensors, plant_operands, plant_tokens, plant_owners, plant_frame,
	};
	struct test_graph t;
	struct rig rig;

	(void)state;
	random_seed(2);
	graph_init(&t);
	rig_open(&rig, compile(&t, node_fire(&t, IR_NCHW, 27), &caps), &caps);
	rig_restore(&rig);
	for (size_t i = 0; i < sizeof(plant) / sizeof(plant[0]); i++)
		plant[i](&rig);
	rig_close(&rig);
	graph_free(&t);
}

/*
 * Tests that a machine without WEIGHTS refuses a program for one with it, which multiplies weights
 * of E4M3.
 */
static void test_features(void **state)
{
	struct npu_caps newer = caps;
	struct ir_value *a, *b;
	struct test_graph t;
	struct rig rig;

	(void)state;
	newer.features = ONPU_CAP_FEATURES_WEIGHTS__MASK;
	graph_init(&t);
	a = add_operand(&t, IR_F16, 2, (int64_t[]){ 1, 64 }, false);
	b = add_operand(&t, IR_F16, 2, (int64_t[]){ 64, 64 }, true);
	memset((void *)b->constant->data, 0, b->constant->bytes);
	rig_open(&rig, compile(&t, node_matmul(&t, a, b), &newer), &newer);
	rig_restore(&rig);
	refused_for(&rig, &caps, ANY, "the machine does not have the instruction");
	rig_close(&rig);
	graph_free(&t);
}

/* ---- preemption points */

static void test_preemption(void **state)
{
	struct ir_value *a, *b;
	struct onpu_insn insn;
	struct test_graph t;
	struct rig rig;
	uint32_t points = 0;

	(void)state;
	graph_init(&t);
	a = add_operand(&t, IR_F32, 2, (int64_t[]){ 1024, 700 }, false);
	b = add_operand(&t, IR_F32, 2, (int64_t[]){ 700, 1000 }, true);
	rig_open(&rig, compile(&t, node_matmul(&t, a, b), &caps), &caps);
	rig_restore(&rig);
	for (uint32_t at = 0; at < rig.num_insns; at++) {
		insn = insn_at(&rig, at);
		if (insn.op != ONPU_OP_PREEMPT)
			continue;
		points++;
		insn.live = caps.sram_bytes + 64;
		put_insn(&rig, at, &insn);
		refused(&rig, at, "more is live");
	}
	assert_true(points >= 2);
	for (uint32_t at = 0; at < rig.num_insns; at++)
		if (insn_at(&rig, at).op == ONPU_OP_PREEMPT)
			put_insn(&rig, at, &(struct onpu_insn){ .op = ONPU_OP_NOP });
	refused(&rig, ANY, "no preemption point for 2^20 cycles");
	rig_close(&rig);
	graph_free(&t);
}

/* ---- queues */

/*
 * Verifies a program in which an engine waits for a signal of later instructions, with `behind`
 * more instructions in its queue. The load engine executes the instructions that signal. Returns 0,
 * or -1 when the program is refused.
 */
static int verify_queue(uint32_t behind, struct wnn_error *err)
{
	uint32_t insn;
	union onpu_slot slot = { .program = { .kind = ONPU_SLOT_PROGRAM,
					      .isa_major = ONPU_ISA_MAJOR } };
	struct npu_job job = { .num_slots = 1 };
	uint32_t insns[40][4], n = 0;
	struct npu_program program = {
		.jobs = &job, .num_jobs = 1, .insns = insns, .slots = &slot, .num_slots = 1
	};
	struct onpu_insn step = { .op = ONPU_OP_SEM_WAIT, .eng = ONPU_ENG_VPU, .count = 1 };

	assert_int_equal(onpu_insn_pack(&step, insns[n++]), 0);
	step = (struct onpu_insn){
		.op = ONPU_OP_SEM_SIGNAL, .eng = ONPU_ENG_VPU, .sem = 1, .count = 1
	};
	for (uint32_t i = 0; i < behind; i++)
		assert_int_equal(onpu_insn_pack(&step, insns[n++]), 0);
	step = (struct onpu_insn){ .op = ONPU_OP_SEM_SIGNAL, .eng = ONPU_ENG_LD, .count = 1 };
	assert_int_equal(onpu_insn_pack(&step, insns[n++]), 0);
	step = (struct onpu_insn){
		.op = ONPU_OP_SEM_WAIT, .eng = ONPU_ENG_LD, .sem = 1, .count = (uint16_t)behind
	};
	assert_int_equal(onpu_insn_pack(&step, insns[n++]), 0);
	step = (struct onpu_insn){ .op = ONPU_OP_END };
	assert_int_equal(onpu_insn_pack(&step, insns[n++]), 0);
	program.num_insns = job.num_insns = n;
	return npu_program_verify(&program, &caps, &insn, err);
}

static void test_queues(void **state)
{
	struct wnn_error err = { 0 };

	(void)state;
	assert_int_equal(verify_queue(caps.fifo_depth - 1, &err), 0);
	assert_int_equal(verify_queue(caps.fifo_depth, &err), -1);
	assert_non_null(strstr(err.message, "instruction 16 (sem.signal)"));
	assert_non_null(strstr(err.message, "nothing can run"));
}

/* ---- SRAM at the start of a job */

/*
 * Returns the index of an instruction that loads ahead: it loads for the next job what one of the
 * first instructions has loaded for this job.
 */
static uint32_t find_load_ahead(const struct rig *rig)
{
	uint32_t start = rig->slots[0].program.keep_start;

	for (uint32_t at = 0; at < start; at++)
		for (uint32_t again = start; again < rig->num_insns; again++) {
			struct onpu_insn a = insn_at(rig, at), b = insn_at(rig, again);

			if (a.op == ONPU_OP_DMA_COPY && b.op == a.op && a.dst == b.dst &&
			    a.s0 == b.s0)
				return again;
		}
	fail_msg("no load for the next job");
	return ANY;
}

static void plant_first_loads(struct rig *rig)
{
	struct onpu_slot_program *program = &rig->slots[0].program;
	uint32_t again = find_load_ahead(rig);
	struct onpu_insn insn = insn_at(rig, again);

	/* A copy of its destination slot makes this another load for the verifier. */
	own_slot(rig, &insn.dst);
	put_insn(rig, again, &insn);
	refused(rig, ANY, "of the first ones is not in SRAM at the end");
	put_insn(rig, 0, &(struct onpu_insn){ .op = ONPU_OP_PREEMPT });
	refused(rig, 0, "none of those that bring the first weights");
	program->keep_start = rig->num_insns;
	refused(rig, ANY, "starts behind its end");
	/*
	 * A job that begins after the first loads needs exactly the tokens that these would
	 * signal.
	 */
	program->sem_init[ONPU_NUM_SEMAPHORES - 1]++;
	refused(rig, ANY, "keeps 1 tokens at the end");
}

static void test_first_loads(void **state)
{
	static const int64_t in[] = { 16, 1024 }, weights[] = { 1024, 1024 },
			     square[] = { 128, 128 };
	struct npu_caps machine = caps;
	struct ir_value *value;
	struct test_graph t;
	struct rig rig;

	(void)state;
	machine.sram_bytes = 4 << 20;
	graph_init(&t);
	value = add_operand(&t, IR_F32, 2, in, false);
	value = node_matmul(&t, value, add_operand(&t, IR_F32, 2, weights, true));
	value = node_reshape(&t, value, 2, square);
	for (int i = 0; i < 8; i++)
		value = node_softmax(&t, node_matmul(&t, value, value), 1);
	add_output(&t, value);
	rig_open(&rig, compile(&t, value, &machine), &machine);
	rig_restore(&rig);
	plant_first_loads(&rig);
	rig_close(&rig);
	graph_free(&t);
}

/* Adds a scatter that writes its result to the memory of @value; returns the result. */
static struct ir_value *add_update(struct test_graph *t, struct ir_value *value,
				   struct ir_value *place, struct ir_value *rows)
{
	const union ir_attrs attrs = { .gather = { .in_place = true } };
	struct ir_value *operands[3] = { value, place, rows };

	return add_node(t, IR_OP_SCATTER, operands, 3, IR_F32, 1, (int64_t[]){ 4 }, &attrs)
		->results[0];
}

/*
 * Tests that reading a program takes time for its nodes and its bindings, not for their product: a
 * damaged file may repeat one binding very often.
 */
static void test_many_bindings(void **state)
{
	static const int64_t one[] = { 1 }, four[] = { 4 };
	struct npu_binding *bindings = calloc(1000000, sizeof(*bindings));
	struct npu_program stored = { .bindings = bindings, .num_bindings = 1000000 }, *program;
	struct ir_value *first, *value, *last, *place, *rows;
	struct wnn_writer w = { .data = NULL };
	struct wnn_error err = { 0 };
	struct wnn_reader r;
	struct test_graph t;

	(void)state;
	graph_init(&t);
	first = add_operand(&t, IR_F32, 1, four, false);
	last = add_operand(&t, IR_F32, 1, four, false);
	place = add_operand(&t, IR_I32, 1, one, false);
	rows = add_operand(&t, IR_F32, 1, one, false);
	value = first;
	for (int i = 0; i < 4000; i++)
		value = add_update(&t, value, place, rows);
	add_update(&t, last, place, rows);
	stored.num_nodes = t.graph->num_nodes;
	stored.nodes = calloc(stored.num_nodes, sizeof(*stored.nodes));
	assert_non_null(stored.nodes);
	for (uint32_t i = 0; i < stored.num_nodes; i++)
		stored.nodes[i].node_id = i;
	assert_non_null(bindings);
	for (uint32_t i = 0; i < stored.num_bindings; i++)
		bindings[i] = (struct npu_binding){ .value_id = i ? last->id : first->id,
						    .written = true };
	npu_program_write(&stored, &w);
	assert_false(w.failed);
	r = (struct wnn_reader){ w.data, w.data + w.size, false };
	program = npu_program_read(&r, t.graph, 0, stored.num_nodes, &err);
	assert_non_null(program);
	npu_program_destroy(program);

	/* The first binding is now `rows`, which no node updates. */
	bindings[0].value_id = rows->id;
	wnn_free(w.data);
	w = (struct wnn_writer){ .data = NULL };
	npu_program_write(&stored, &w);
	r = (struct wnn_reader){ w.data, w.data + w.size, false };
	assert_null(npu_program_read(&r, t.graph, 0, stored.num_nodes, &err));
	assert_string_equal(err.message, "one of its NPU programs is damaged");
	wnn_free(w.data);
	free(stored.nodes);
	free(bindings);
	graph_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_errors),	    cmocka_unit_test(test_features),
		cmocka_unit_test(test_preemption),  cmocka_unit_test(test_queues),
		cmocka_unit_test(test_first_loads), cmocka_unit_test(test_many_bindings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
