// SPDX-License-Identifier: MIT
/*
 * Tests every fault code as the host sees it: record, completion, event, interrupt, effect on other
 * contexts.
 */
#include "rig.h"

#include "jobs.h"

#define READ_ONLY_OFFSET (16u << 10)

static struct rig rig;
static struct rig_vm vm, other_vm;
static struct rig_context context, other;

static int setup(void **state)
{
	(void)state;
	rig_start(&rig, JOB_SRAM, 4, false);
	rig_vm_create(&rig, &vm, 0);
	rig_vm_create(&rig, &other_vm, 1);
	rig_context_create(&rig, &context, &vm, 77, 2);
	rig_context_create(&rig, &other, &other_vm, 78, 3);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	rig_destroy(&rig);
	return 0;
}

/* ---- A program for each code ---- */

static void insn(struct program *p, struct onpu_insn i)
{
	program_insn(p, i);
}

static void make_illegal_opcode(struct program *p)
{
	p->insns[p->num_insns++][3] = 0xee000000;
}

static void make_reserved_bits(struct program *p)
{
	insn(p, (struct onpu_insn){ .op = ONPU_OP_NOP });
	p->insns[0][2] |= 1u << 5;
}

static void make_slot_index(struct program *p)
{
	insn(p, (struct onpu_insn){ .op = ONPU_OP_VABS, .dst = 900, .s0 = job_sram(p, 0, 16) });
}

static void make_slot_format(struct program *p)
{
	uint16_t x = job_sram(p, 0, 16);

	p->slots[x][4] = 1;
	insn(p, (struct onpu_insn){ .op = ONPU_OP_VABS, .dst = x, .s0 = x });
}

static void make_space(struct program *p)
{
	insn(p, (struct onpu_insn){
			.op = ONPU_OP_VABS, .dst = job_sram(p, 0, 16), .s0 = job_data(p, 0, 16) });
}

static void make_dtype(struct program *p)
{
	uint16_t x = job_sram(p, 0, 16);

	insn(p, (struct onpu_insn){ .op = ONPU_OP_VAND, .dst = x, .s0 = x, .s1 = x });
}

static void make_shape(struct program *p)
{
	insn(p, (struct onpu_insn){ .op = ONPU_OP_VABS,
				    .dst = job_sram(p, 0, 16),
				    .s0 = job_sram(p, 512, 17) });
}

static void make_bounds(struct program *p)
{
	struct onpu_slot_tensor t =
		program_tensor(ONPU_DT_F32, ONPU_SPACE_SRAM, 0, 1, DIM(16), NULL);
	uint16_t x;

	t.size = 60;
	x = program_slot(p, &t);
	insn(p, (struct onpu_insn){ .op = ONPU_OP_VABS, .dst = x, .s0 = x });
}

static void make_index_range(struct program *p)
{
	struct onpu_slot_param_index param = { .kind = ONPU_SLOT_PARAM,
					       .schema = ONPU_SCHEMA_INDEX };
	uint16_t index = program_dense(p, ONPU_DT_I32, ONPU_SPACE_VA, DATA_VA, 1, DIM(4));

	((int32_t *)p->data)[2] = 8;
	insn(p, (struct onpu_insn){ .op = ONPU_OP_DMA_GATHER_AXIS,
				    .dst = job_sram(p, 0, 4),
				    .s0 = job_data(p, 1024, 8),
				    .s1 = index,
				    .param = program_slot(p, &param) });
}

static void make_not_present(struct program *p)
{
	insn(p, (struct onpu_insn){ .op = ONPU_OP_DMA_COPY,
				    .dst = job_sram(p, 0, 16),
				    .s0 = job_data(p, 1 << 20, 16) });
}

static void make_perm(struct program *p)
{
	insn(p, (struct onpu_insn){ .op = ONPU_OP_DMA_COPY,
				    .s0 = job_sram(p, 0, 16),
				    .dst = job_data(p, READ_ONLY_OFFSET, 16) });
}

static void make_sem_overflow(struct program *p)
{
	for (int i = 0; i < 2; i++)
		insn(p, (struct onpu_insn){ .op = ONPU_OP_SEM_SIGNAL,
					    .sem = 5,
					    .count = 40000,
					    .eng = ONPU_ENG_LD });
}

static void make_sem_owner(struct program *p)
{
	insn(p, (struct onpu_insn){
			.op = ONPU_OP_SEM_SIGNAL, .sem = 5, .count = 1, .eng = ONPU_ENG_LD });
	insn(p, (struct onpu_insn){
			.op = ONPU_OP_SEM_SIGNAL, .sem = 5, .count = 1, .eng = ONPU_ENG_ST });
}

static void make_deadlock(struct program *p)
{
	insn(p, (struct onpu_insn){
			.op = ONPU_OP_SEM_WAIT, .sem = 5, .count = 1, .eng = ONPU_ENG_LD });
}

static void make_timeout(struct program *p)
{
	uint16_t x = job_sram(p, 0, 4096);

	/* An instruction takes 8 + 4096 / 256 * 4 cycles. */
	p->job.cycle_limit = 300;
	for (int i = 0; i < 8; i++)
		insn(p, (struct onpu_insn){ .op = ONPU_OP_VSIN, .dst = x, .s0 = x });
}

static void make_trap(struct program *p)
{
	insn(p, (struct onpu_insn){ .op = ONPU_OP_TRAP, .code = 4711 });
}

static void make_parity(struct program *p)
{
	uint16_t x = job_sram(p, 0, 4096);

	insn(p, (struct onpu_insn){ .op = ONPU_OP_VSIN, .dst = x, .s0 = x });
}

static const struct {
	enum onpu_fault code;
	void (*make)(struct program *p);
} cases[] = {
	{ ONPU_FAULT_ILLEGAL_OPCODE, make_illegal_opcode },
	{ ONPU_FAULT_RESERVED_BITS, make_reserved_bits },
	{ ONPU_FAULT_SLOT_INDEX, make_slot_index },
	{ ONPU_FAULT_SLOT_FORMAT, make_slot_format },
	{ ONPU_FAULT_SPACE, make_space },
	{ ONPU_FAULT_DTYPE, make_dtype },
	{ ONPU_FAULT_SHAPE, make_shape },
	{ ONPU_FAULT_BOUNDS, make_bounds },
	{ ONPU_FAULT_INDEX_RANGE, make_index_range },
	{ ONPU_FAULT_MMU_NOT_PRESENT, make_not_present },
	{ ONPU_FAULT_MMU_PERM, make_perm },
	{ ONPU_FAULT_SEM_OVERFLOW, make_sem_overflow },
	{ ONPU_FAULT_SEM_OWNER, make_sem_owner },
	{ ONPU_FAULT_DEADLOCK, make_deadlock },
	{ ONPU_FAULT_TIMEOUT, make_timeout },
	{ ONPU_FAULT_TRAP, make_trap },
	{ ONPU_FAULT_PARITY, make_parity },
};

_Static_assert(sizeof(cases) / sizeof(cases[0]) == ONPU_FAULT_COUNT - 1, "a case for every code");

/*
 * Compares the record with that of a machine without a device, for faults that need neither MMU nor
 * injection.
 */
static void compare_with_machine(struct program *p, const struct onpu_fault_record *fault)
{
	struct onpu_machine *m = onpu_machine_create(&rig.config.sim, NULL);
	struct onpu_fault_record alone;

	assert_non_null(m);
	assert_false(onpu_machine_run(m, &p->mem, &p->job, &p->result));
	alone = p->result.fault;
	alone.context = fault->context;
	alone.queue = fault->queue;
	alone.seqno = fault->seqno;
	assert_memory_equal(&alone, fault, sizeof(alone));
	onpu_machine_destroy(m);
}

static void check_others(void)
{
	struct program *good = job_stages(2, 1.0f);
	struct onpu_ring_job job = rig_job(good);

	rig_load(&rig, &other, good);
	rig_submit(&rig, &other, &job, true);
	rig_settle(&rig);
	assert_int_equal(rig_completion(&rig, &other).error, 0);
	assert_int_equal(rig_completion(&rig, &other).seqno, 1);
	program_destroy(good);
}

static void test_code(void **state)
{
	unsigned int n = (unsigned int)(uintptr_t)*state;
	struct program *p = program_create(JOB_SRAM, JOB_DATA);
	struct onpu_fault_record fault;
	struct onpu_completion done;
	struct onpu_ring_job job;

	setup(NULL);
	cases[n].make(p);
	program_end(p);
	program_job(p);
	job = rig_job(p);
	rig_load(&rig, &context, p);
	*rig_leaf(&rig, &vm, DATA_VA + READ_ONLY_OFFSET) &= ~(uint64_t)(ONPU_PTE_W | ONPU_PTE_D);
	if (cases[n].code == ONPU_FAULT_PARITY)
		onpu_device_inject_parity(rig.device);
	rig_submit(&rig, &context, &job, false);
	rig_submit(&rig, &context, &job, true);
	rig_settle(&rig);

	done = rig_completion(&rig, &context);
	fault = rig_fault(&rig, &context);
	assert_int_equal(done.error, cases[n].code);
	assert_int_equal(done.seqno, 1);
	assert_int_equal(done.cycles, fault.cycle);
	assert_int_equal(fault.code, cases[n].code);
	assert_int_equal(fault.context, 77);
	assert_int_equal(fault.queue, 2);
	assert_int_equal(fault.seqno, 1);
	if (cases[n].code == ONPU_FAULT_MMU_PERM)
		assert_int_equal(fault.address, DATA_VA + READ_ONLY_OFFSET);
	else if (cases[n].code != ONPU_FAULT_PARITY)
		compare_with_machine(p, &fault);
	assert_int_equal(rig.interrupts[3], 1);
	assert_int_equal(rig_read(&rig, ONPU_REG_QUEUE_STATE(2)), ONPU_QUEUE_FAULTED);
	assert_int_equal(rig_read(&rig, ONPU_REG_QUEUE_HEAD(2)), 1);

	rig_collect(&rig);
	assert_int_equal(rig.num_events, 1);
	assert_int_equal(rig.events[0].code, cases[n].code);
	assert_int_equal(rig.events[0].context, 77);
	assert_int_equal(rig.events[0].queue, 2);
	assert_int_equal(rig.events[0].seqno, 1);
	check_others();
	rig_destroy(&rig);
	program_destroy(p);
}

/* ---- Wrong ring entries ---- */

static void expect_queue_fault(enum onpu_fault code, uint64_t address, uint64_t completed)
{
	struct onpu_fault_record fault;

	rig_settle(&rig);
	fault = rig_fault(&rig, &context);
	assert_int_equal(fault.code, code);
	assert_int_equal(fault.address, address);
	assert_int_equal(fault.operand, ONPU_OPERAND_NONE);
	assert_int_equal(fault.engine, ONPU_ENG_CP);
	assert_int_equal(fault.pc, 0);
	assert_int_equal(rig_completion(&rig, &context).error, code);
	assert_int_equal(rig_completion(&rig, &context).seqno, completed);
	assert_int_equal(rig_read(&rig, ONPU_REG_QUEUE_STATE(2)), ONPU_QUEUE_FAULTED);
	rig_collect(&rig);
	assert_int_equal(rig.num_events, 1);
	check_others();
}

static struct onpu_ring_job good_job(void)
{
	struct program *p = job_stages(1, 1.0f);
	struct onpu_ring_job job = rig_job(p);

	rig_load(&rig, &context, p);
	program_destroy(p);
	return job;
}

/* Tests each way in which a ring entry can be wrong; the job before it is good. */
static void test_bad_entry(void **state)
{
	(void)state;
	for (unsigned int n = 0; n < 10; n++) {
		struct onpu_ring_job job, bad;

		setup(NULL);
		job = good_job();
		bad = job;
		bad.seqno = 2;
		bad.type += n == 0;
		bad.flags = n == 1;
		bad.mbz_3c = n == 2;
		bad.program_va += n == 3 ? 8 : 0;
		bad.slots_va += n == 4 ? 64 : 0;
		bad.num_slots = n == 5 ? 0 : n == 6 ? 65537 : bad.num_slots;
		bad.profile_va += n == 7 ? 16 : 0;
		bad.profile_size += n == 8 ? 4 : 0;
		bad.seqno = n == 9 ? 1 : bad.seqno;
		rig_submit(&rig, &context, &job, false);
		rig_submit(&rig, &context, &bad, true);
		expect_queue_fault(ONPU_FAULT_SLOT_FORMAT, context.ring_va + 64, n == 9 ? 1 : 2);
		rig_destroy(&rig);
	}
}

static void test_ring_not_mapped(void **state)
{
	struct onpu_ring_job job = good_job();

	(void)state;
	*rig_leaf(&rig, &vm, context.ring_va) = 0;
	rig_submit(&rig, &context, &job, true);
	expect_queue_fault(ONPU_FAULT_MMU_NOT_PRESENT, context.ring_va, 0);
}

static void test_doorbell_too_far(void **state)
{
	(void)state;
	good_job();
	rig_write(&rig, ONPU_REG_DOORBELL_TAIL(2), RIG_RING + 1);
	expect_queue_fault(ONPU_FAULT_SLOT_FORMAT, context.ring_va, 0);
}

/* When the completion page is not mapped, only the event reports the fault of a job. */
static void test_completion_not_mapped(void **state)
{
	struct onpu_ring_job job = good_job();

	(void)state;
	*rig_leaf(&rig, &vm, context.completion_va) = 0;
	rig_submit(&rig, &context, &job, true);
	rig_settle(&rig);
	assert_int_equal(rig_completion(&rig, &context).seqno, 0);
	rig_collect(&rig);
	assert_int_equal(rig.num_events, 1);
	assert_int_equal(rig.events[0].code, ONPU_FAULT_MMU_NOT_PRESENT);
	assert_int_equal(rig.events[0].seqno, 1);
	check_others();
}

/* ---- Injected faults ---- */

/* The stuck job makes no progress, and others wait until it is killed. */
static void test_stuck(void **state)
{
	struct onpu_ring_job job = good_job();
	uint64_t cycles;

	(void)state;
	onpu_device_inject_stuck(rig.device);
	rig_submit(&rig, &context, &job, true);
	rig_settle(&rig);
	cycles = rig_read64(&rig, ONPU_REG_QUEUE_RUN_CYCLES_LO(2));
	assert_int_equal(rig_completion(&rig, &context).seqno, 0);
	assert_int_equal(rig_simple(&rig, ONPU_MSG_HEARTBEAT, 0, 0), ONPU_MSG_OK);
	rig_settle(&rig);
	assert_int_equal(rig_read64(&rig, ONPU_REG_QUEUE_RUN_CYCLES_LO(2)), cycles);
	assert_int_equal(rig_completion(&rig, &context).seqno, 0);
	assert_int_equal(rig_simple(&rig, ONPU_MSG_CTX_KILL, 77, 0), ONPU_MSG_OK);
	assert_int_equal(rig_completion(&rig, &context).seqno, 0);
	check_others();
}

/* The stuck job does not reach a preemption point in time for another job, and faults. */
static void test_stuck_makes_room(void **state)
{
	struct onpu_ring_job job = good_job();
	struct program *good = job_stages(2, 1.0f);
	struct onpu_ring_job other_job = rig_job(good);
	union onpu_msg preempt = {
		.queue = { .type = ONPU_MSG_QUEUE_UNBIND,
			   .context = 77,
			   .queue = 2,
			   .mode = ONPU_QUEUE_PREEMPT },
	};

	(void)state;
	onpu_device_inject_stuck(rig.device);
	rig_submit(&rig, &context, &job, true);
	rig_settle(&rig);
	rig_load(&rig, &other, good);
	rig_submit(&rig, &other, &other_job, true);
	rig_settle(&rig);
	/* The stuck job's time slice does not end, because its cycle count stands still. */
	assert_int_equal(rig_completion(&rig, &other).seqno, 0);
	rig_request(&rig, &preempt);
	rig_settle(&rig);
	assert_int_equal(rig_completion(&rig, &context).error, ONPU_FAULT_TIMEOUT);
	assert_int_equal(rig_completion(&rig, &other).seqno, 1);
	assert_int_equal(rig_completion(&rig, &other).error, 0);
	program_destroy(good);
}

/* The PC of a job that begins at KEEP_START is an index into its program, too. */
static void test_parity_after_keep_start(void **state)
{
	struct program *p = program_create(JOB_SRAM, JOB_DATA);
	struct onpu_slot_program *slot = (struct onpu_slot_program *)p->slots[0];
	uint16_t x = job_sram(p, 0, 4096);
	struct onpu_fault_record fault;
	struct onpu_ring_job job;
	uint64_t retired;

	(void)state;
	for (int i = 0; i < 8; i++)
		insn(p, (struct onpu_insn){ .op = ONPU_OP_NOP });
	for (int i = 0; i < 40; i++)
		insn(p, (struct onpu_insn){ .op = ONPU_OP_VSIN, .dst = x, .s0 = x });
	program_end(p);
	slot->keep = 7;
	slot->keep_start = 8;
	rig_load(&rig, &context, p);
	job = rig_job(p);
	rig_submit(&rig, &context, &job, true);
	rig_settle(&rig);
	assert_int_equal(rig_completion(&rig, &context).error, 0);
	retired = rig_read64(&rig, ONPU_REG_QUEUE_RETIRED_LO(2));
	assert_int_equal(retired, 49);
	job.seqno = 2;
	rig_submit(&rig, &context, &job, true);
	while (rig_read64(&rig, ONPU_REG_QUEUE_RETIRED_LO(2)) < retired + 10)
		onpu_device_run(rig.device, 10);
	onpu_device_inject_parity(rig.device);
	rig_settle(&rig);
	fault = rig_fault(&rig, &context);
	assert_int_equal(fault.code, ONPU_FAULT_PARITY);
	retired = rig_read64(&rig, ONPU_REG_QUEUE_RETIRED_LO(2)) - retired;
	assert_true(retired >= 10 && retired < 41);
	assert_int_equal(fault.pc, 8 + retired);
	program_destroy(p);
}

static void test_stuck_is_reset(void **state)
{
	struct onpu_ring_job job = good_job();

	(void)state;
	onpu_device_inject_stuck(rig.device);
	rig_submit(&rig, &context, &job, true);
	rig_settle(&rig);
	onpu_device_reset(rig.device);
	rig_destroy(&rig);
	setup(NULL);
	check_others();
}

/* A dead core answers no message, and STATUS does not show it; a reset and a boot help. */
static void test_dead_core(void **state)
{
	uint32_t head = rig_read(&rig, ONPU_REG_REQUEST_HEAD);

	(void)state;
	onpu_device_inject_dead_core(rig.device);
	rig_write(&rig, ONPU_REG_REQUEST_TAIL, head + 1);
	rig_settle(&rig);
	assert_int_equal(rig_read(&rig, ONPU_REG_REQUEST_HEAD), head);
	assert_int_equal(rig_read(&rig, ONPU_REG_STATUS) & ONPU_STATUS_STATE__MASK,
			 ONPU_STATE_READY << ONPU_STATUS_STATE__SHIFT);
	onpu_device_reset(rig.device);
	rig_boot(&rig);
	assert_int_equal(rig_simple(&rig, ONPU_MSG_HEARTBEAT, 0, 0), ONPU_MSG_OK);
}

/* ---- The U bit ---- */

/* A job cannot reach kernel pages: not for code, slots, profile or operands. */
static void test_kernel_pages(void **state)
{
	static const uint64_t pages[] = { PROGRAM_VA, SLOTS_VA, PROFILE_VA, DATA_VA };

	(void)state;
	for (unsigned int n = 0; n < 4; n++) {
		struct onpu_fault_record fault;
		struct onpu_ring_job job;

		setup(NULL);
		job = good_job();
		*rig_leaf(&rig, &vm, pages[n]) &= ~(uint64_t)ONPU_PTE_U;
		rig_submit(&rig, &context, &job, true);
		rig_settle(&rig);
		fault = rig_fault(&rig, &context);
		assert_int_equal(fault.code, ONPU_FAULT_MMU_PERM);
		assert_int_equal(fault.address, pages[n]);
		check_others();
		rig_destroy(&rig);
	}
}

/* A program that writes to its own ring, completion page or save area faults. */
static void test_forgery(void **state)
{
	const uint64_t targets[] = { 0, 1 << 20, 4 << 20 };

	(void)state;
	for (unsigned int n = 0; n < 3; n++) {
		struct program *p = program_create(JOB_SRAM, JOB_DATA);
		struct onpu_fault_record fault;
		struct onpu_ring_job job;
		uint64_t target;

		setup(NULL);
		target = context.ring_va + targets[n];
		program_insn(p,
			     (struct onpu_insn){ .op = ONPU_OP_DMA_COPY,
						 .s0 = job_sram(p, 0, 16),
						 .dst = program_dense(p, ONPU_DT_F32, ONPU_SPACE_VA,
								      target, 1, DIM(16)) });
		program_end(p);
		rig_load(&rig, &context, p);
		job = rig_job(p);
		rig_submit(&rig, &context, &job, true);
		rig_settle(&rig);
		fault = rig_fault(&rig, &context);
		assert_int_equal(fault.code, ONPU_FAULT_MMU_PERM);
		assert_int_equal(fault.address, target);
		rig_destroy(&rig);
		program_destroy(p);
	}
}

/*
 * When there are more faults than free entries in the response ring, no event is lost, and the
 * firmware does not spin.
 */
static void test_event_backlog(void **state)
{
	struct onpu_ring_job bad = { .type = 99, .seqno = 1 };
	uint32_t head = rig.response_head;

	(void)state;
	/* Make the ring look full but for one entry. */
	rig_write(&rig, ONPU_REG_RESPONSE_HEAD,
		  rig_read(&rig, ONPU_REG_RESPONSE_TAIL) - RIG_RING + 1);
	rig_submit(&rig, &context, &bad, true);
	rig_submit(&rig, &other, &bad, true);
	rig_settle(&rig);
	assert_int_equal(rig_read(&rig, ONPU_REG_RESPONSE_TAIL), head + 1);
	rig_collect(&rig);
	rig_settle(&rig);
	rig_collect(&rig);
	assert_int_equal(rig.num_events, 2);
}

int main(void)
{
	static struct CMUnitTest tests[ONPU_FAULT_COUNT - 1];
	const struct CMUnitTest more[] = {
		cmocka_unit_test(test_bad_entry),
		cmocka_unit_test_setup_teardown(test_ring_not_mapped, setup, teardown),
		cmocka_unit_test_setup_teardown(test_doorbell_too_far, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stuck, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stuck_makes_room, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stuck_is_reset, setup, teardown),
		cmocka_unit_test_setup_teardown(test_parity_after_keep_start, setup, teardown),
		cmocka_unit_test_setup_teardown(test_dead_core, setup, teardown),
		cmocka_unit_test_setup_teardown(test_completion_not_mapped, setup, teardown),
		cmocka_unit_test(test_kernel_pages),
		cmocka_unit_test(test_forgery),
		cmocka_unit_test_setup_teardown(test_event_backlog, setup, teardown),
	};

	static char names[ONPU_FAULT_COUNT][32];
	int failed;

	for (unsigned int n = 0; n < ONPU_FAULT_COUNT - 1; n++) {
		snprintf(names[n], sizeof(names[n]), "code %u", cases[n].code);
		tests[n].name = names[n];
		tests[n].test_func = test_code;
		tests[n].initial_state = (void *)(uintptr_t)n;
	}
	failed = cmocka_run_group_tests_name("codes", tests, NULL, NULL);
	return failed + cmocka_run_group_tests_name("queues", more, NULL, NULL);
}
