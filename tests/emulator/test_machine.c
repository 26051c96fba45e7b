// SPDX-License-Identifier: MIT
/* Tests the machine: time, queues, semaphores, control instructions, faults, save and restore. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "program.h"

#define SRAM	 (64u << 10)
#define DIM(...) ((const uint32_t[]){ __VA_ARGS__ })

struct fixture {
	struct onpu_machine *m;
	struct program *p;
};

static int setup(void **state)
{
	static struct fixture f;
	struct onpu_sim_config config = onpu_sim_config_default();

	config.sram_bytes = SRAM;
	config.fifo_depth = 2;
	f.m = onpu_machine_create(&config, NULL);
	f.p = program_create(SRAM, 1 << 20);
	*state = &f;
	return f.m ? 0 : -1;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	onpu_machine_destroy(f->m);
	program_destroy(f->p);
	return 0;
}

static uint16_t sram_f32(struct program *p, uint64_t base, uint32_t n)
{
	return program_dense(p, ONPU_DT_F32, ONPU_SPACE_SRAM, base, 1, DIM(n));
}

static uint16_t data_f32(struct program *p, uint64_t offset, uint32_t n)
{
	return program_dense(p, ONPU_DT_F32, ONPU_SPACE_VA, DATA_VA + offset, 1, DIM(n));
}

static void expect_fault(struct fixture *f, enum onpu_fault code, enum onpu_engine engine,
			 uint32_t operand, uint64_t pc)
{
	const struct onpu_fault_record *r = &f->p->result.fault;

	assert_false(program_run(f->p, f->m));
	assert_int_equal(r->code, code);
	assert_int_equal(r->engine, engine);
	assert_int_equal(r->operand, operand);
	assert_int_equal(r->pc, pc);
	assert_int_equal(f->p->result.cycles, r->cycle);
	assert_int_equal(onpu_machine_step(f->m), ONPU_STEP_FAULT);
}

/* ---- Programs that end ---- */

static void test_empty(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(onpu_machine_step(f->m), ONPU_STEP_IDLE);
	program_insn(f->p, (struct onpu_insn){ .op = ONPU_OP_END, .code = 7 });
	assert_true(program_run(f->p, f->m));
	assert_int_equal(f->p->result.code, 7);
	/* The CP takes END in one cycle and executes it in another. */
	assert_int_equal(f->p->result.cycles, 2);
	assert_int_equal(f->p->result.counters.busy[ONPU_ENG_CP], 2);
	assert_int_equal(onpu_machine_step(f->m), ONPU_STEP_DONE);
}

/*
 * Two semaphores order a load, an addition of x to itself and a store; the expected times are
 * worked out by hand.
 */
static void test_pipeline(void **state)
{
	struct fixture *f = *state;
	struct program *p = f->p;
	uint16_t in = data_f32(p, 0, 64), a = sram_f32(p, 0, 64), b = sram_f32(p, 256, 64);
	uint16_t out = data_f32(p, 4096, 64);
	const struct onpu_profile_record *r = p->profile;
	float *data = (float *)p->data;

	for (int i = 0; i < 64; i++)
		data[i] = (float)i;
	program_insn(
		p,
		(struct onpu_insn){
			.op = ONPU_OP_DMA_COPY, .dst = a, .s0 = in, .sv = 1, .ssem = 3, .ts = 1 });
	program_insn(p, (struct onpu_insn){ .op = ONPU_OP_VADD,
					    .dst = b,
					    .s0 = a,
					    .s1 = a,
					    .wv = 1,
					    .wsem = 3,
					    .sv = 1,
					    .ssem = 4,
					    .ts = 1 });
	program_insn(p, (struct onpu_insn){ .op = ONPU_OP_DMA_COPY,
					    .dst = out,
					    .s0 = b,
					    .ch = 1,
					    .wv = 1,
					    .wsem = 4,
					    .ts = 1 });
	program_end(p);
	assert_true(program_run(p, f->m));
	for (int i = 0; i < 64; i++)
		assert_true(data[1024 + i] == 2.0f * (float)i);
	assert_int_equal(p->result.profile_records, 3);
	/*
	 * The CP takes the instruction in 1 cycle and fetches two slots in 2 * 4; one run of 256
	 * bytes takes 64 + 8.
	 */
	assert_int_equal(r[0].start, 9);
	assert_int_equal(r[0].end, 81);
	assert_int_equal(r[0].stall, 0);
	/* One slot is new, so the instruction is issued at 9 + 5; it takes 8 + 1 cycles. */
	assert_int_equal(r[1].start, 81);
	assert_int_equal(r[1].end, 90);
	assert_int_equal(r[1].stall, 81 - 14);
	assert_int_equal(r[1].engine, ONPU_ENG_VPU);
	assert_int_equal(r[2].start, 90);
	assert_int_equal(r[2].stall, 90 - 19);
	assert_int_equal(r[2].end, 162);
	assert_int_equal(p->result.cycles, 163);
	assert_int_equal(p->result.counters.stall_sem[ONPU_ENG_VPU], 81 - 14);
	assert_int_equal(p->result.counters.busy[ONPU_ENG_LD], 72);
	assert_int_equal(p->result.counters.bytes_ld, 256);
	assert_int_equal(p->result.counters.bytes_st, 256);
	assert_int_equal(p->result.counters.elements, 64);
}

/* A queue has two entries: the CP issues the fourth instruction when the second starts. */
static void test_fifo(void **state)
{
	struct fixture *f = *state;
	struct program *p = f->p;
	uint16_t a = sram_f32(p, 0, 64), b = data_f32(p, 0, 64);

	for (int i = 0; i < 4; i++)
		program_insn(p, (struct onpu_insn){ .op = ONPU_OP_DMA_COPY, .dst = a, .s0 = b });
	program_insn(p, (struct onpu_insn){ .op = ONPU_OP_NOP, .ts = 1 });
	program_end(p);
	assert_true(program_run(p, f->m));
	/*
	 * Three instructions are issued at 9, 10, 11; the fourth, taken at 12, waits for the start
	 * at 9 + 72.
	 */
	assert_int_equal(p->result.counters.stall_fifo, 81 - 12);
	assert_int_equal(p->profile[0].start, 82);
	assert_int_equal(p->result.cycles, 9 + 4 * 72 + 1);
}

static void test_profile_full(void **state)
{
	struct fixture *f = *state;
	struct program *p = f->p;

	for (int i = 0; i < 3; i++)
		program_insn(p, (struct onpu_insn){ .op = ONPU_OP_NOP, .ts = 1 });
	program_end(p);
	program_job(p);
	p->job.profile_size = 2 * sizeof(p->profile[0]) + 8;
	assert_true(onpu_machine_run(f->m, &p->mem, &p->job, &p->result));
	assert_int_equal(p->result.profile_records, 3);
	assert_int_equal(p->profile[1].index, 1);
	assert_int_equal(p->profile[2].end, 0);
}

static void test_credits(void **state)
{
	struct fixture *f = *state;
	struct program *p = f->p;

	p->slots[0][8 + 5] = 3;
	program_insn(p,
		     (struct onpu_insn){
			     .op = ONPU_OP_SEM_WAIT, .sem = 5, .count = 2, .eng = ONPU_ENG_MXU });
	program_insn(p, (struct onpu_insn){ .op = ONPU_OP_SEM_WAIT,
					    .sem = 5,
					    .count = 1,
					    .eng = ONPU_ENG_MXU,
					    .wv = 0 });
	program_insn(p, (struct onpu_insn){
				.op = ONPU_OP_SEM_WAIT, .sem = 6, .count = 0, .eng = ONPU_ENG_LD });
	program_end(p);
	assert_true(program_run(p, f->m));
}

static void test_timestamp(void **state)
{
	struct fixture *f = *state;
	struct program *p = f->p;
	uint16_t a = sram_f32(p, 0, 64), b = data_f32(p, 0, 64);
	uint16_t t = program_dense(p, ONPU_DT_U64, ONPU_SPACE_VA, DATA_VA + 512, 1, DIM(6));
	const uint64_t *v = (const uint64_t *)(p->data + 512);

	program_insn(p, (struct onpu_insn){ .op = ONPU_OP_DMA_COPY, .dst = a, .s0 = b });
	program_insn(p, (struct onpu_insn){ .op = ONPU_OP_TIMESTAMP, .dst = t });
	program_end(p);
	assert_true(program_run(p, f->m));
	/*
	 * The CP issued the load at 9: 1 cycle for the instruction, 4 for each of its slots. It
	 * took the timestamp from 9 on, for 1 + 4 cycles, and started it at 14, when the load had
	 * run for 5.
	 */
	assert_int_equal(v[0], 14);
	assert_int_equal(v[1 + ONPU_ENG_CP], 14);
	assert_int_equal(v[1 + ONPU_ENG_LD], 5);
	assert_int_equal(v[1 + ONPU_ENG_VPU], 0);
}

static void test_barrier(void **state)
{
	struct fixture *f = *state;
	struct program *p = f->p;
	uint16_t a = sram_f32(p, 0, 64), b = data_f32(p, 0, 64);

	program_insn(p, (struct onpu_insn){ .op = ONPU_OP_DMA_COPY, .dst = a, .s0 = b });
	program_insn(
		p, (struct onpu_insn){ .op = ONPU_OP_BARRIER, .mask = 1 << ONPU_ENG_ST, .ts = 1 });
	program_insn(
		p, (struct onpu_insn){ .op = ONPU_OP_BARRIER, .mask = 1 << ONPU_ENG_LD, .ts = 1 });
	program_end(p);
	assert_true(program_run(p, f->m));
	assert_int_equal(p->profile[0].start, 10);
	assert_int_equal(p->profile[1].start, 81);
}

/* Bits and cycles after a switch are those of a run without a switch. */
static void test_preempt(void **state)
{
	struct fixture *f = *state;
	struct program *p = f->p;
	uint16_t in = data_f32(p, 0, 64), a = sram_f32(p, 0, 64), out = data_f32(p, 4096, 64);
	const uint64_t area = DATA_VA + 65536;
	struct onpu_job_result first;
	enum onpu_step step;

	for (int i = 0; i < 64; i++)
		((float *)p->data)[i] = (float)i;
	program_insn(p, (struct onpu_insn){
				.op = ONPU_OP_DMA_COPY, .dst = a, .s0 = in, .sv = 1, .ssem = 9 });
	program_insn(p, (struct onpu_insn){ .op = ONPU_OP_PREEMPT, .live = 256 });
	program_insn(
		p,
		(struct onpu_insn){
			.op = ONPU_OP_DMA_COPY, .dst = out, .s0 = a, .ch = 1, .wv = 1, .wsem = 9 });
	program_end(p);
	assert_true(program_run(p, f->m));
	first = p->result;
	memset(p->data + 4096, 0, 256);

	onpu_machine_begin(f->m, &p->mem, &p->job);
	do {
		step = onpu_machine_step(f->m);
	} while (step == ONPU_STEP_RUNNING);
	assert_int_equal(step, ONPU_STEP_PREEMPT_POINT);
	assert_int_equal(onpu_machine_state_size(f->m), ONPU_MACHINE_STATE_HEADER + 256);
	assert_int_equal(onpu_machine_save(f->m, &p->mem, area), 0);
	onpu_machine_abort(f->m);
	assert_int_equal(onpu_machine_step(f->m), ONPU_STEP_IDLE);
	memset(onpu_machine_sram(f->m), 0xff, SRAM);

	assert_int_equal(onpu_machine_restore(f->m, &p->mem, &p->mem, area), 0);
	do {
		step = onpu_machine_step(f->m);
	} while (step == ONPU_STEP_RUNNING);
	assert_int_equal(step, ONPU_STEP_DONE);
	assert_memory_equal(onpu_machine_result(f->m), &first, sizeof(first));
	assert_memory_equal(p->data + 4096, p->data, 256);
	assert_int_equal(onpu_machine_sram(f->m)[256], 0);

	p->data[65536]++;
	assert_int_equal(onpu_machine_restore(f->m, &p->mem, &p->mem, area), ONPU_FAULT_PARITY);
	assert_int_equal(onpu_machine_restore(f->m, &p->mem, &p->mem, 0),
			 ONPU_FAULT_MMU_NOT_PRESENT);
}

/* ---- What a job leaves in SRAM for the next one ---- */

/*
 * Makes a program that loads the first 64 numbers of the data to SRAM and, from KEEP_START on,
 * stores them. Returns the program's slot, where the test can change KEEP.
 */
static struct onpu_slot_program *keeping(struct program *p)
{
	uint16_t in = data_f32(p, 0, 64), kept = sram_f32(p, 0, 64), out = data_f32(p, 4096, 64);
	struct onpu_slot_program *slot = (struct onpu_slot_program *)p->slots[0];

	program_insn(p, (struct onpu_insn){ .op = ONPU_OP_DMA_COPY, .dst = kept, .s0 = in });
	program_insn(p, (struct onpu_insn){ .op = ONPU_OP_PREEMPT, .live = 256 });
	program_insn(p, (struct onpu_insn){ .op = ONPU_OP_DMA_COPY, .dst = out, .s0 = kept });
	program_end(p);
	slot->keep = 7;
	slot->keep_start = 2;
	return slot;
}

/* Runs the program with @input as its input; returns the first number of its output. */
static float keep_run(struct fixture *f, float input)
{
	*(float *)f->p->data = input;
	assert_true(program_run(f->p, f->m));
	return *(float *)(f->p->data + 4096);
}

static void test_keep(void **state)
{
	struct fixture *f = *state;
	struct onpu_slot_program *slot = keeping(f->p);
	uint64_t cold;

	assert_true(keep_run(f, 1) == 1);
	assert_int_equal(onpu_machine_pc(f->m), 4);
	cold = f->p->result.cycles;
	/* The second run finds the 1 of the first in SRAM, and takes less time. */
	assert_true(keep_run(f, 2) == 1);
	assert_int_equal(onpu_machine_pc(f->m), 2);
	assert_true(f->p->result.cycles < cold);
	assert_int_equal(f->p->result.counters.bytes_ld, 0);
	/*
	 * A program with another KEEP number, or with none, finds nothing and begins with its first
	 * instruction, the load, whatever its KEEP_START.
	 */
	slot->keep = 7ull << 32;
	assert_true(keep_run(f, 3) == 3);
	slot->keep = 0;
	slot->keep_start = 0;
	assert_true(keep_run(f, 4) == 4);
	slot->keep = 7ull << 32;
	slot->keep_start = 2;
	assert_true(keep_run(f, 5) == 5);
	onpu_machine_forget(f->m);
	assert_true(keep_run(f, 6) == 6);
	assert_true(keep_run(f, 7) == 6);
}

static void test_keep_nothing_of_a_job_that_did_not_end(void **state)
{
	struct fixture *f = *state;
	struct onpu_slot_program *slot = keeping(f->p);
	const uint64_t area = DATA_VA + 65536;
	uint32_t end[4];

	/* A program that faults keeps nothing. */
	memcpy(end, f->p->insns[3], sizeof(end));
	memset(f->p->insns[3], 0xff, sizeof(end));
	assert_false(program_run(f->p, f->m));
	memcpy(f->p->insns[3], end, sizeof(end));
	assert_true(keep_run(f, 1) == 1);
	/* A program that is aborted keeps nothing. */
	onpu_machine_begin(f->m, &f->p->mem, &f->p->job);
	while (onpu_machine_step(f->m) != ONPU_STEP_RUNNING)
		;
	onpu_machine_abort(f->m);
	assert_true(keep_run(f, 2) == 2);
	/*
	 * The job is aborted and then resumed, as if another one had run meanwhile: only live SRAM
	 * is restored, and nothing is kept.
	 */
	onpu_machine_forget(f->m);
	*(float *)f->p->data = 3;
	onpu_machine_begin(f->m, &f->p->mem, &f->p->job);
	while (onpu_machine_step(f->m) != ONPU_STEP_PREEMPT_POINT)
		;
	assert_int_equal(onpu_machine_save(f->m, &f->p->mem, area), 0);
	onpu_machine_abort(f->m);
	assert_int_equal(onpu_machine_restore(f->m, &f->p->mem, &f->p->mem, area), 0);
	while (onpu_machine_step(f->m) != ONPU_STEP_DONE)
		;
	assert_int_equal(onpu_machine_pc(f->m), 4);
	assert_true(keep_run(f, 4) == 4);
	/*
	 * A program that finds its SRAM begins at KEEP_START, and faults if that is beyond its end.
	 */
	assert_true(keep_run(f, 5) == 4);
	slot->keep_start = 5;
	assert_false(program_run(f->p, f->m));
	assert_int_equal(f->p->result.fault.code, ONPU_FAULT_ILLEGAL_OPCODE);
	assert_int_equal(f->p->result.fault.pc, 5);
	slot->keep = 0;
	slot->keep_start = 1;
	assert_false(program_run(f->p, f->m));
	assert_int_equal(f->p->result.fault.code, ONPU_FAULT_SLOT_FORMAT);
}

/* ---- Programs that fail ---- */

static void test_fall_off(void **state)
{
	struct fixture *f = *state;

	program_insn(f->p, (struct onpu_insn){ .op = ONPU_OP_NOP });
	expect_fault(f, ONPU_FAULT_ILLEGAL_OPCODE, ONPU_ENG_CP, ONPU_OPERAND_NONE, 1);
}

static void test_encoding(void **state)
{
	struct fixture *f = *state;

	program_end(f->p);
	f->p->insns[0][3] = 0xff000000;
	expect_fault(f, ONPU_FAULT_ILLEGAL_OPCODE, ONPU_ENG_CP, ONPU_OPERAND_NONE, 0);
	assert_int_equal(f->p->result.fault.insn[3], 0xff000000);
	f->p->insns[0][3] = 0;
	f->p->insns[0][0] = 1;
	expect_fault(f, ONPU_FAULT_RESERVED_BITS, ONPU_ENG_CP, ONPU_OPERAND_NONE, 0);
}

static void test_program_slot(void **state)
{
	struct fixture *f = *state;
	struct onpu_slot_program *slot = (struct onpu_slot_program *)f->p->slots[0];

	program_end(f->p);
	slot->isa_major = ONPU_ISA_MAJOR + 1;
	expect_fault(f, ONPU_FAULT_SLOT_FORMAT, ONPU_ENG_CP, ONPU_OPERAND_NONE, 0);
	slot->isa_major = 0;
	expect_fault(f, ONPU_FAULT_SLOT_FORMAT, ONPU_ENG_CP, ONPU_OPERAND_NONE, 0);
	/* Programs for older instruction sets run. */
	slot->isa_major = 1;
	slot->sram_bytes = SRAM + 1;
	expect_fault(f, ONPU_FAULT_BOUNDS, ONPU_ENG_CP, ONPU_OPERAND_NONE, 0);
	slot->sram_bytes = SRAM;
	f->p->slots[0][127] = 1;
	expect_fault(f, ONPU_FAULT_SLOT_FORMAT, ONPU_ENG_CP, ONPU_OPERAND_NONE, 0);
	f->p->slots[0][127] = 0;
	f->p->num_slots = 0;
	expect_fault(f, ONPU_FAULT_SLOT_INDEX, ONPU_ENG_CP, ONPU_OPERAND_NONE, 0);
}

/* A vadd has one wrong operand at a time. */
static void test_operands(void **state)
{
	struct fixture *f = *state;
	struct program *p = f->p;
	uint16_t a = sram_f32(p, 0, 64), b = sram_f32(p, 256, 64), d = sram_f32(p, 512, 64);
	struct onpu_slot_tensor *s1 = (struct onpu_slot_tensor *)p->slots[b], good = *s1;
	struct onpu_slot_tensor *dst = (struct onpu_slot_tensor *)p->slots[d], good_dst = *dst;

	program_insn(p, (struct onpu_insn){ .op = ONPU_OP_VADD, .dst = d, .s0 = a, .s1 = b });
	program_end(p);
	assert_true(program_run(p, f->m));

	s1->mbz_04 = 1;
	expect_fault(f, ONPU_FAULT_SLOT_FORMAT, ONPU_ENG_CP, ONPU_OPERAND_S1, 0);
	assert_int_equal(p->result.fault.address, b);
	*s1 = good;
	s1->space = ONPU_SPACE_VA;
	expect_fault(f, ONPU_FAULT_SPACE, ONPU_ENG_CP, ONPU_OPERAND_S1, 0);
	*s1 = good;
	s1->dtype = ONPU_DT_I32;
	expect_fault(f, ONPU_FAULT_DTYPE, ONPU_ENG_CP, ONPU_OPERAND_S1, 0);
	*s1 = good;
	s1->dim[0] = 63;
	expect_fault(f, ONPU_FAULT_SHAPE, ONPU_ENG_CP, ONPU_OPERAND_S1, 0);
	*s1 = good;
	s1->size = 252;
	expect_fault(f, ONPU_FAULT_BOUNDS, ONPU_ENG_CP, ONPU_OPERAND_S1, 0);
	assert_int_equal(p->result.fault.address, 511);
	*s1 = good;
	s1->base = 512 + 4;
	expect_fault(f, ONPU_FAULT_SHAPE, ONPU_ENG_CP, ONPU_OPERAND_S1, 0);
	s1->base = 512;
	assert_true(program_run(p, f->m));
	*s1 = good;
	dst->stride[0] = 0;
	expect_fault(f, ONPU_FAULT_SHAPE, ONPU_ENG_CP, ONPU_OPERAND_DST, 0);
	*dst = good_dst;
	dst->base = SRAM - 128;
	expect_fault(f, ONPU_FAULT_BOUNDS, ONPU_ENG_CP, ONPU_OPERAND_DST, 0);
	*dst = good_dst;
	/* Only unbounded arithmetic gives the extent of these strides. */
	s1->rank = 8;
	dst->rank = 8;
	((struct onpu_slot_tensor *)p->slots[a])->rank = 8;
	for (int i = 0; i < 8; i++) {
		struct onpu_slot_tensor *s0 = (struct onpu_slot_tensor *)p->slots[a];

		s0->dim[i] = s1->dim[i] = dst->dim[i] = UINT32_MAX;
		s0->stride[i] = s1->stride[i] = 0;
		dst->stride[i] = INT64_MIN;
	}
	expect_fault(f, ONPU_FAULT_SHAPE, ONPU_ENG_CP, ONPU_OPERAND_DST, 0);
}

static void test_cost(void **state)
{
	struct fixture *f = *state;
	struct program *p = f->p;
	uint16_t d = sram_f32(p, 0, 4096);
	struct onpu_slot_tensor t =
		program_tensor(ONPU_DT_F32, ONPU_SPACE_SRAM, 16384, 1, DIM(4096), NULL);
	struct onpu_slot_param_taps taps = { .kind = ONPU_SLOT_PARAM, .schema = ONPU_SCHEMA_TAPS };

	taps.loop[0].count = 1u << 15;
	taps.loop[1].count = 2;
	taps.loop[2].count = 1;
	program_insn(p, (struct onpu_insn){ .op = ONPU_OP_WIN_SUM,
					    .dst = d,
					    .s0 = program_slot(p, &t),
					    .param = program_slot(p, &taps) });
	program_end(p);
	/* The cost is 8 + 16 * 2^16 cycles with 256 lanes, which is more than allowed. */
	expect_fault(f, ONPU_FAULT_SHAPE, ONPU_ENG_CP, ONPU_OPERAND_NONE, 0);
}

static void test_pages(void **state)
{
	struct fixture *f = *state;
	struct program *p = f->p;
	uint16_t a = sram_f32(p, 0, 4096), b = data_f32(p, 0, 4096);

	program_insn(p, (struct onpu_insn){ .op = ONPU_OP_DMA_COPY, .dst = a, .s0 = b });
	program_insn(p, (struct onpu_insn){ .op = ONPU_OP_DMA_COPY, .dst = b, .s0 = a });
	program_end(p);
	p->hole = DATA_VA + 8192;
	expect_fault(f, ONPU_FAULT_MMU_NOT_PRESENT, ONPU_ENG_LD, ONPU_OPERAND_S0, 0);
	assert_int_equal(p->result.fault.cycle, 9);
	p->hole = PROGRAM_VA;
	expect_fault(f, ONPU_FAULT_MMU_NOT_PRESENT, ONPU_ENG_CP, ONPU_OPERAND_NONE, 0);
	p->hole = SLOTS_VA;
	expect_fault(f, ONPU_FAULT_MMU_NOT_PRESENT, ONPU_ENG_CP, ONPU_OPERAND_NONE, 0);
	assert_int_equal(p->result.fault.address, SLOTS_VA);
	p->hole = 0;
	assert_true(program_run(p, f->m));
}

static void test_index_range(void **state)
{
	struct fixture *f = *state;
	struct program *p = f->p;
	struct onpu_slot_param_index param = { .kind = ONPU_SLOT_PARAM,
					       .schema = ONPU_SCHEMA_INDEX };
	struct onpu_insn insn = { .op = ONPU_OP_DMA_GATHER_AXIS };
	int32_t *index = (int32_t *)(p->data + 4096);

	insn.dst = sram_f32(p, 0, 4);
	insn.s0 = data_f32(p, 0, 10);
	insn.s1 = program_dense(p, ONPU_DT_I32, ONPU_SPACE_VA, DATA_VA + 4096, 1, DIM(4));
	insn.param = program_slot(p, &param);
	program_insn(p, insn);
	program_end(p);
	index[2] = 10;
	expect_fault(f, ONPU_FAULT_INDEX_RANGE, ONPU_ENG_LD, ONPU_OPERAND_S1, 0);
	assert_int_equal(p->result.fault.address, 2);
	index[2] = 9;
	assert_true(program_run(p, f->m));
}

static void test_semaphore_owner(void **state)
{
	struct fixture *f = *state;
	struct program *p = f->p;

	program_insn(p,
		     (struct onpu_insn){
			     .op = ONPU_OP_SEM_SIGNAL, .sem = 1, .count = 1, .eng = ONPU_ENG_LD });
	program_insn(p,
		     (struct onpu_insn){
			     .op = ONPU_OP_SEM_SIGNAL, .sem = 1, .count = 1, .eng = ONPU_ENG_ST });
	program_end(p);
	expect_fault(f, ONPU_FAULT_SEM_OWNER, ONPU_ENG_CP, ONPU_OPERAND_NONE, 1);
	assert_int_equal(p->result.fault.address, 1);
}

static void test_semaphore_overflow(void **state)
{
	struct fixture *f = *state;
	struct program *p = f->p;

	program_insn(p, (struct onpu_insn){ .op = ONPU_OP_SEM_SIGNAL,
					    .sem = 1,
					    .count = 65535,
					    .eng = ONPU_ENG_LD });
	program_insn(p,
		     (struct onpu_insn){
			     .op = ONPU_OP_SEM_SIGNAL, .sem = 1, .count = 1, .eng = ONPU_ENG_LD });
	program_end(p);
	expect_fault(f, ONPU_FAULT_SEM_OVERFLOW, ONPU_ENG_LD, ONPU_OPERAND_NONE, 1);
}

static void test_deadlock(void **state)
{
	struct fixture *f = *state;
	struct program *p = f->p;

	program_insn(p,
		     (struct onpu_insn){
			     .op = ONPU_OP_SEM_SIGNAL, .sem = 1, .count = 1, .eng = ONPU_ENG_LD });
	program_insn(p,
		     (struct onpu_insn){
			     .op = ONPU_OP_SEM_WAIT, .sem = 1, .count = 2, .eng = ONPU_ENG_VPU });
	program_insn(p, (struct onpu_insn){
				.op = ONPU_OP_SEM_WAIT, .sem = 2, .count = 1, .eng = ONPU_ENG_CP });
	program_end(p);
	expect_fault(f, ONPU_FAULT_DEADLOCK, ONPU_ENG_CP, ONPU_OPERAND_NONE, 2);
	/* The signal was issued at 1 and ends at 2. */
	assert_int_equal(p->result.fault.cycle, 2);
}

static void test_timeout(void **state)
{
	struct fixture *f = *state;
	struct program *p = f->p;
	uint16_t a = sram_f32(p, 0, 64), b = data_f32(p, 0, 64);

	for (int i = 0; i < 3; i++)
		program_insn(p, (struct onpu_insn){ .op = ONPU_OP_DMA_COPY, .dst = a, .s0 = b });
	program_end(p);
	p->job.cycle_limit = 9 + 2 * 72 - 1;
	expect_fault(f, ONPU_FAULT_TIMEOUT, ONPU_ENG_LD, ONPU_OPERAND_NONE, 2);
	p->job.cycle_limit = 9 + 3 * 72;
	assert_true(program_run(p, f->m));
}

static void test_trap(void **state)
{
	struct fixture *f = *state;

	program_insn(f->p, (struct onpu_insn){ .op = ONPU_OP_TRAP, .code = 99 });
	expect_fault(f, ONPU_FAULT_TRAP, ONPU_ENG_CP, ONPU_OPERAND_NONE, 0);
	assert_int_equal(f->p->result.fault.address, 99);
}

static void test_config(void **state)
{
	struct onpu_sim_config config = onpu_sim_config_default();
	const char *error = NULL;

	(void)state;
	config.sram_bytes = 100;
	assert_null(onpu_machine_create(&config, &error));
	assert_non_null(error);
	config = onpu_sim_config_default();
	config.threads = 0;
	assert_null(onpu_machine_create(&config, NULL));
	config = onpu_sim_config_default();
	config.simd = 17;
	assert_null(onpu_machine_create(&config, &error));
}

/* A job finds nothing in SRAM of what the job before wrote, whichever instruction wrote it. */
static void test_sram_is_zero(void **state)
{
	struct fixture *f = *state;
	struct program *p = f->p, *q = program_create(SRAM, 2 * SRAM);
	static const uint8_t zero[SRAM];
	struct onpu_slot_param_fill fill = {
		.kind = ONPU_SLOT_PARAM,
		.schema = ONPU_SCHEMA_FILL,
		.value = 0x40400000,
	};
	uint16_t times = program_dense(p, ONPU_DT_U64, ONPU_SPACE_SRAM, 4096, 1, DIM(6));
	uint16_t carry = program_dense(p, ONPU_DT_F32, ONPU_SPACE_SRAM, SRAM - 4, 1, DIM(1));

	memset(p->data, 0x55, p->data_size);
	program_insn(p, (struct onpu_insn){ .op = ONPU_OP_DMA_FILL,
					    .dst = sram_f32(p, 256, 32),
					    .param = program_slot(p, &fill),
					    .sv = 1,
					    .ssem = 1 });
	program_insn(p, (struct onpu_insn){ .op = ONPU_OP_TIMESTAMP, .dst = times });
	program_insn(p, (struct onpu_insn){ .op = ONPU_OP_SCAN_SUM,
					    .dst = sram_f32(p, 512, 32),
					    .s0 = sram_f32(p, 256, 32),
					    .s1 = carry,
					    .wv = 1,
					    .wsem = 1 });
	program_end(p);
	program_insn(q, (struct onpu_insn){ .op = ONPU_OP_DMA_COPY,
					    .dst = data_f32(q, 0, SRAM / 4),
					    .s0 = sram_f32(q, 0, SRAM / 4) });
	program_end(q);
	assert_true(program_run(p, f->m));
	memset(q->data, 0xff, SRAM);
	assert_true(program_run(q, f->m));
	assert_memory_equal(q->data, zero, SRAM);
	/* A job that is aborted in the middle leaves nothing either. */
	program_begin(p, f->m);
	for (int i = 0; i < 8; i++)
		assert_int_equal(onpu_machine_step(f->m), ONPU_STEP_RUNNING);
	onpu_machine_abort(f->m);
	memset(q->data, 0xff, SRAM);
	assert_true(program_run(q, f->m));
	assert_memory_equal(q->data, zero, SRAM);
	program_destroy(q);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_empty),
		TEST(test_pipeline),
		TEST(test_fifo),
		TEST(test_profile_full),
		TEST(test_credits),
		TEST(test_timestamp),
		TEST(test_barrier),
		TEST(test_preempt),
		TEST(test_keep),
		TEST(test_keep_nothing_of_a_job_that_did_not_end),
		TEST(test_fall_off),
		TEST(test_encoding),
		TEST(test_program_slot),
		TEST(test_operands),
		TEST(test_cost),
		TEST(test_pages),
		TEST(test_index_range),
		TEST(test_semaphore_owner),
		TEST(test_semaphore_overflow),
		TEST(test_deadlock),
		TEST(test_timeout),
		TEST(test_trap),
		TEST(test_sram_is_zero),
		cmocka_unit_test(test_config),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
