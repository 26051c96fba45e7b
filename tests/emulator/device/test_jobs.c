// SPDX-License-Identifier: MIT
/* Tests jobs from the ring to the completion page, several contexts, preemption, kill and reset. */
#include "rig.h"

#include "jobs.h"

static struct rig rig;
static struct rig_vm vms[4];
static struct rig_context contexts[4];

static void start(unsigned int count)
{
	rig_start(&rig, JOB_SRAM, 4, false);
	for (unsigned int i = 0; i < count; i++) {
		rig_vm_create(&rig, &vms[i], i);
		rig_context_create(&rig, &contexts[i], &vms[i], 10 + i, i);
	}
}

static int teardown(void **state)
{
	(void)state;
	rig_destroy(&rig);
	return 0;
}

/*
 * Runs the program on a machine without a device, whose data and cycles are then the expected ones.
 */
static void run_alone(struct program *p)
{
	struct onpu_machine *m = onpu_machine_create(&rig.config.sim, NULL);

	assert_non_null(m);
	p->result.fault.code = 0;
	onpu_machine_run(m, &p->mem, &p->job, &p->result);
	onpu_machine_destroy(m);
}

static void expect_counters(const struct onpu_job_counters *got, const struct onpu_counters *want,
			    uint64_t seqno)
{
	assert_memory_equal(got->busy, want->busy, sizeof(want->busy));
	assert_memory_equal(got->stall_sem, want->stall_sem, sizeof(want->stall_sem));
	assert_int_equal(got->stall_fifo, want->stall_fifo);
	assert_int_equal(got->bytes_ld, want->bytes_ld);
	assert_int_equal(got->bytes_st, want->bytes_st);
	assert_int_equal(got->macs, want->macs);
	assert_int_equal(got->elements, want->elements);
	assert_int_equal(got->seqno, seqno);
	/* The counters are not all zero. */
	assert_true(got->busy[ONPU_ENG_VPU] && got->bytes_ld && got->elements);
}

static void expect_like_alone(struct program *p, const struct rig_context *c)
{
	struct onpu_completion done = rig_completion(&rig, c);

	run_alone(p);
	assert_int_equal(done.error, 0);
	assert_int_equal(done.code, p->result.code);
	assert_int_equal(done.cycles, p->result.cycles);
	assert_int_equal(done.profile_records, p->result.profile_records);
	expect_counters(rig_at(&rig, c->completion + ONPU_COMPLETION_COUNTERS), &p->result.counters,
			done.seqno);
	assert_memory_equal(rig_at(&rig, c->data), p->data, p->data_size);
}

static void submit(struct rig_context *c, const struct program *p)
{
	struct onpu_ring_job job = rig_job(p);

	rig_submit(&rig, c, &job, true);
}

static uint64_t counter(unsigned int which)
{
	return rig_read64(&rig, ONPU_REG_COUNTER_LO(which));
}

static void set_slice(uint32_t cycles)
{
	assert_int_equal(rig_simple(&rig, ONPU_MSG_SCHED_CONFIG, cycles, 0), ONPU_MSG_OK);
}

static uint64_t telemetry_switches(void)
{
	union onpu_msg m = { .header = { .type = ONPU_MSG_TELEMETRY } };

	assert_int_equal(rig_request(&rig, &m), ONPU_MSG_OK);
	return m.telemetry.switches;
}

static void test_one_job(void **state)
{
	struct program *p = job_stages(3, 0.5f);
	struct onpu_completion done;
	uint64_t insns = p->num_insns;

	(void)state;
	start(1);
	rig_load(&rig, &contexts[0], p);
	submit(&contexts[0], p);
	rig_settle(&rig);
	expect_like_alone(p, &contexts[0]);
	done = rig_completion(&rig, &contexts[0]);
	assert_int_equal(done.seqno, 1);
	assert_int_equal(done.total_cycles, done.cycles);
	assert_true(done.end_cycle <= onpu_device_cycle(rig.device));
	assert_int_equal(rig.interrupts[1], 1);
	assert_int_equal(rig_read(&rig, ONPU_REG_INT_QUEUE_PENDING(0)), 1);
	assert_int_equal(rig_read64(&rig, ONPU_REG_QUEUE_RETIRED_LO(0)), insns);
	assert_int_equal(rig_read64(&rig, ONPU_REG_QUEUE_RUN_CYCLES_LO(0)), done.cycles);
	assert_int_equal(rig_read(&rig, ONPU_REG_QUEUE_HEAD(0)), 1);
	program_destroy(p);
}

/*
 * More jobs than the ring has entries run, with NOPs between them; one interrupt comes for each
 * job.
 */
static void test_ring_wraps(void **state)
{
	struct program *p = job_stages(1, 1.0f);
	const struct onpu_ring_job nop = { .type = ONPU_ENTRY_NOP, .seqno = 99 };
	struct onpu_ring_job job = rig_job(p);

	(void)state;
	start(1);
	rig_load(&rig, &contexts[0], p);
	for (unsigned int round = 0; round < 3; round++) {
		for (unsigned int i = 0; i < RIG_RING / 2; i++) {
			rig_submit(&rig, &contexts[0], &job, false);
			rig_submit(&rig, &contexts[0], &nop, false);
		}
		rig_doorbell(&rig, &contexts[0]);
		rig_settle(&rig);
	}
	assert_int_equal(rig_completion(&rig, &contexts[0]).seqno, 3 * RIG_RING / 2);
	assert_int_equal(rig.interrupts[1], 3 * RIG_RING / 2);
	assert_int_equal(rig_read(&rig, ONPU_REG_QUEUE_HEAD(0)), 3 * RIG_RING);
	assert_int_equal(rig_read(&rig, ONPU_REG_QUEUE_STATE(0)), ONPU_QUEUE_RESIDENT);
	program_destroy(p);
}

/*
 * When contexts share the device in time slices, the result and cycles of each are those of a run
 * alone.
 */
static void test_time_slices(void **state)
{
	struct program *p[3];

	(void)state;
	start(3);
	set_slice(150);
	for (unsigned int i = 0; i < 3; i++) {
		p[i] = job_stages(80 + i, (float)i);
		rig_load(&rig, &contexts[i], p[i]);
	}
	for (unsigned int i = 0; i < 3; i++)
		submit(&contexts[i], p[i]);
	rig_settle(&rig);
	for (unsigned int i = 0; i < 3; i++)
		expect_like_alone(p[i], &contexts[i]);
	/*
	 * A stage is longer than a slice, and a queue switch costs the time of several slices: a
	 * queue that is charged for it waits until the others have had as much.
	 */
	assert_true(telemetry_switches() > 10);
	for (unsigned int i = 0; i < 3; i++)
		program_destroy(p[i]);
}

static void set_input(const struct rig_context *c, float value)
{
	*(float *)rig_at(&rig, c->data) = value;
}

static float output(const struct rig_context *c)
{
	return *(float *)rig_at(&rig, c->data + JOB_OUT);
}

/*
 * A job finds the contents of SRAM when the job before it has the same number in slot->keep, and no
 * other context has run between them. Jobs of other contexts with that number do not count.
 */
static void test_kept_sram(void **state)
{
	struct program *p = program_create(JOB_SRAM, JOB_DATA);
	struct onpu_slot_program *slot = (struct onpu_slot_program *)p->slots[0];
	uint16_t in = job_data(p, 0, 64), out = job_data(p, JOB_OUT, 64), x = job_sram(p, 0, 64);

	(void)state;
	program_insn(p, (struct onpu_insn){ .op = ONPU_OP_DMA_COPY, .dst = x, .s0 = in });
	program_insn(p, (struct onpu_insn){ .op = ONPU_OP_PREEMPT, .live = 256 });
	program_insn(p, (struct onpu_insn){ .op = ONPU_OP_DMA_COPY, .dst = out, .s0 = x });
	program_end(p);
	program_job(p);
	slot->keep = 1;
	slot->keep_start = 2;
	start(2);
	for (unsigned int i = 0; i < 2; i++)
		rig_load(&rig, &contexts[i], p);
	/*
	 * The context of each job, its input, and its expected output. Consecutive jobs of one
	 * context find the input of the first of them in SRAM, and output it.
	 */
	static const struct {
		unsigned int context;
		float input, output;
	} jobs[] = { { 0, 1, 1 }, { 0, 2, 1 }, { 1, 3, 3 }, { 1, 4, 3 }, { 0, 5, 5 } };

	for (unsigned int i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++) {
		struct rig_context *c = &contexts[jobs[i].context];

		set_input(c, jobs[i].input);
		submit(c, p);
		rig_settle(&rig);
		assert_int_equal(rig_completion(&rig, c).error, 0);
		assert_true(output(c) == jobs[i].output);
	}
	program_destroy(p);
}

/* Without slices the first job runs to its end before the second begins. */
static void test_no_slices(void **state)
{
	struct program *p = job_stages(20, 2.0f);

	(void)state;
	start(2);
	set_slice(0);
	for (unsigned int i = 0; i < 2; i++) {
		rig_load(&rig, &contexts[i], p);
		submit(&contexts[i], p);
	}
	rig_settle(&rig);
	assert_int_equal(telemetry_switches(), 2);
	assert_true(rig_completion(&rig, &contexts[0]).end_cycle +
			    rig_completion(&rig, &contexts[1]).cycles <=
		    rig_completion(&rig, &contexts[1]).end_cycle);
	program_destroy(p);
}

/* A context cannot read what another one left in SRAM. */
static void test_sram_is_private(void **state)
{
	struct program *writer = job_stages(2, 3.0f);
	struct program *reader = program_create(JOB_SRAM, JOB_DATA);
	uint16_t x = job_sram(reader, 0, JOB_ELEMENTS), out = job_data(reader, 0, JOB_ELEMENTS);
	static const uint8_t zero[JOB_ELEMENTS * sizeof(float)];

	(void)state;
	memset(reader->data, 0x55, reader->data_size);
	program_insn(reader, (struct onpu_insn){ .op = ONPU_OP_DMA_COPY, .dst = out, .s0 = x });
	program_end(reader);
	start(2);
	rig_load(&rig, &contexts[0], writer);
	rig_load(&rig, &contexts[1], reader);
	submit(&contexts[0], writer);
	rig_settle(&rig);
	submit(&contexts[1], reader);
	rig_settle(&rig);
	assert_memory_equal(rig_at(&rig, contexts[1].data), zero, sizeof(zero));
	program_destroy(writer);
	program_destroy(reader);
}

static void run_until(uint32_t q, enum onpu_queue_state state)
{
	for (unsigned int i = 0; i < 10000; i++) {
		if (rig_read(&rig, ONPU_REG_QUEUE_STATE(q)) == state)
			return;
		onpu_device_run(rig.device, 50);
	}
	fail_msg("queue %u does not come to state %d", q, state);
}

struct progress {
	uint64_t retired, cycles;
};

static struct progress progress(void)
{
	return (struct progress){
		.retired = rig_read64(&rig, ONPU_REG_QUEUE_RETIRED_LO(0)),
		.cycles = rig_read64(&rig, ONPU_REG_QUEUE_RUN_CYCLES_LO(0)),
	};
}

/* A job's instructions and cycles from before it was suspended stay counted, however it ends. */
static void expect_progress(const struct progress *want)
{
	assert_true(want->retired && want->cycles);
	assert_int_equal(progress().retired, want->retired);
	assert_int_equal(progress().cycles, want->cycles);
}

/*
 * Changes the byte at @offset of a suspended job's save area; the job must end with the fault @code
 * when the device resumes it.
 */
static void damage_save_area(size_t offset, enum onpu_fault code)
{
	struct program *p = job_stages(40, 1.0f);
	struct onpu_save_header *head;
	struct progress before;

	start(2);
	set_slice(1500);
	for (unsigned int i = 0; i < 2; i++) {
		rig_load(&rig, &contexts[i], p);
		submit(&contexts[i], p);
	}
	run_until(0, ONPU_QUEUE_RUNNING);
	run_until(0, ONPU_QUEUE_READY);
	run_until(1, ONPU_QUEUE_RUNNING);
	head = rig_at(&rig, contexts[0].save);
	assert_int_equal(head->magic, ONPU_SAVE_MAGIC);
	assert_int_equal(head->live, JOB_ELEMENTS * sizeof(float));
	assert_int_equal(head->seqno, 1);
	before = progress();
	((uint8_t *)head)[offset] ^= 0xff;
	rig_settle(&rig);
	assert_int_equal(rig_completion(&rig, &contexts[0]).error, code);
	expect_progress(&before);
	expect_like_alone(p, &contexts[1]);
	program_destroy(p);
}

static void test_damaged_magic(void **state)
{
	(void)state;
	damage_save_area(0, ONPU_FAULT_PARITY);
}

static void test_damaged_pc(void **state)
{
	(void)state;
	damage_save_area(offsetof(struct onpu_save_header, pc), ONPU_FAULT_PARITY);
}

static void test_damaged_state(void **state)
{
	(void)state;
	damage_save_area(offsetof(struct onpu_save_header, live) + 3, ONPU_FAULT_PARITY);
}

static void test_save_area_not_mapped(void **state)
{
	struct program *p = job_stages(40, 1.0f);
	struct onpu_fault_record fault;

	(void)state;
	start(2);
	set_slice(1500);
	for (unsigned int i = 0; i < 2; i++) {
		rig_load(&rig, &contexts[i], p);
		submit(&contexts[i], p);
	}
	*rig_leaf(&rig, &vms[0], contexts[0].save_va + 4096) = 0;
	rig_settle(&rig);
	fault = rig_fault(&rig, &contexts[0]);
	assert_int_equal(fault.code, ONPU_FAULT_MMU_NOT_PRESENT);
	assert_int_equal(fault.address, contexts[0].save_va + 4096);
	assert_int_equal(fault.engine, ONPU_ENG_CP);
	expect_like_alone(p, &contexts[1]);
	program_destroy(p);
}

/* A job that does not reach a preemption point within 2^21 cycles is taken off with a fault. */
static void test_switch_timeout(void **state)
{
	struct program *stubborn = job_stubborn(3 << 20), *p = job_stages(3, 1.0f);
	struct onpu_fault_record fault;

	(void)state;
	start(2);
	set_slice(1000);
	rig_load(&rig, &contexts[0], stubborn);
	rig_load(&rig, &contexts[1], p);
	submit(&contexts[0], stubborn);
	submit(&contexts[1], p);
	rig_settle(&rig);
	fault = rig_fault(&rig, &contexts[0]);
	assert_int_equal(fault.code, ONPU_FAULT_TIMEOUT);
	assert_true(fault.cycle >= ONPU_CORE_SWITCH_LIMIT__RESET &&
		    fault.cycle < ONPU_CORE_SWITCH_LIMIT__RESET + 5000);
	expect_like_alone(p, &contexts[1]);
	/* Alone, the job may run as long as it needs. */
	rig_destroy(&rig);
	start(1);
	rig_load(&rig, &contexts[0], stubborn);
	submit(&contexts[0], stubborn);
	rig_settle(&rig);
	assert_int_equal(rig_completion(&rig, &contexts[0]).error, 0);
	program_destroy(stubborn);
	program_destroy(p);
}

/*
 * A deadlock takes effect when the last instruction has ended. A job that is taken off before that
 * has taken the cycles until then, and the counter of cycles does not go back.
 */
static void test_timeout_before_deadlock(void **state)
{
	enum { COPIES = 3, SIZE = 1000000 };
	struct program *p[2] = { program_create(JOB_SRAM, SIZE), job_stages(3, 1.0f) };
	struct onpu_slot_tensor byte = program_tensor(ONPU_DT_U8, ONPU_SPACE_SRAM, 0, 1, DIM(SIZE),
						      (const int64_t[]){ 0 });
	uint16_t all = program_dense(p[0], ONPU_DT_U8, ONPU_SPACE_VA, DATA_VA, 1, DIM(SIZE));
	struct onpu_completion done;
	uint64_t seen = 0;

	(void)state;
	/* Each copy takes a cycle for each byte, and the last one is under way at the limit. */
	for (unsigned int i = 0; i < COPIES; i++)
		program_insn(p[0], (struct onpu_insn){ .op = ONPU_OP_DMA_COPY,
						       .dst = all,
						       .s0 = program_slot(p[0], &byte),
						       .ch = 1 });
	program_insn(p[0],
		     (struct onpu_insn){
			     .op = ONPU_OP_SEM_WAIT, .sem = 5, .count = 1, .eng = ONPU_ENG_LD });
	program_end(p[0]);
	program_job(p[0]);
	start(2);
	set_slice(1000);
	for (unsigned int i = 0; i < 2; i++) {
		rig_load(&rig, &contexts[i], p[i]);
		submit(&contexts[i], p[i]);
	}
	while (!rig_completion(&rig, &contexts[0]).seqno) {
		onpu_device_run(rig.device, 10000);
		assert_true(counter(ONPU_COUNTER_CYCLES) >= seen);
		seen = counter(ONPU_COUNTER_CYCLES);
	}
	assert_true(seen >= ONPU_CORE_SWITCH_LIMIT__RESET);
	assert_int_equal(rig_fault(&rig, &contexts[0]).code, ONPU_FAULT_TIMEOUT);
	done = rig_completion(&rig, &contexts[0]);
	assert_int_equal(rig_fault(&rig, &contexts[0]).cycle, done.cycles);
	assert_true(done.cycles >= ONPU_CORE_SWITCH_LIMIT__RESET && done.cycles < COPIES * SIZE);
	rig_settle(&rig);
	expect_like_alone(p[1], &contexts[1]);
	assert_int_equal(counter(ONPU_COUNTER_CYCLES), done.cycles + p[1]->result.cycles);
	for (unsigned int i = 0; i < 2; i++)
		program_destroy(p[i]);
}

/* The progress counters of a long job move. */
static void test_progress(void **state)
{
	struct program *p = job_stubborn(2 << 20);
	uint64_t retired = 0, cycles = 0;

	(void)state;
	start(1);
	rig_load(&rig, &contexts[0], p);
	submit(&contexts[0], p);
	run_until(0, ONPU_QUEUE_RUNNING);
	while (rig_read(&rig, ONPU_REG_QUEUE_STATE(0)) == ONPU_QUEUE_RUNNING) {
		uint64_t now = rig_read64(&rig, ONPU_REG_QUEUE_RUN_CYCLES_LO(0));

		onpu_device_run(rig.device, 1 << 20);
		assert_true(rig_read64(&rig, ONPU_REG_QUEUE_RUN_CYCLES_LO(0)) > now);
		assert_true(rig_read64(&rig, ONPU_REG_QUEUE_RETIRED_LO(0)) >= retired);
		retired = rig_read64(&rig, ONPU_REG_QUEUE_RETIRED_LO(0));
		assert_true(now >= cycles);
		cycles = now;
	}
	rig_settle(&rig);
	assert_int_equal(rig_read64(&rig, ONPU_REG_QUEUE_RETIRED_LO(0)), p->num_insns);
	program_destroy(p);
}

/*
 * Adds what a job does on a machine without a device to the expected values of the device's
 * counters.
 */
static void add_counters(uint64_t want[ONPU_COUNTER_TLB_MISSES], struct program *p)
{
	const struct onpu_counters *c = &p->result.counters;

	run_alone(p);
	want[ONPU_COUNTER_CYCLES] += p->result.cycles;
	for (unsigned int i = 0; i < ONPU_ENG_COUNT; i++)
		want[ONPU_COUNTER_BUSY + i] += c->busy[i];
	want[ONPU_COUNTER_BYTES_LD] += c->bytes_ld;
	want[ONPU_COUNTER_BYTES_ST] += c->bytes_st;
	want[ONPU_COUNTER_MACS] += c->macs;
	want[ONPU_COUNTER_ELEMENTS] += c->elements;
}

/*
 * Jobs that interrupt each other count once, each counter rises while they run, and a reset clears
 * none.
 */
static void test_counters(void **state)
{
	uint64_t want[ONPU_COUNTER_TLB_MISSES] = { 0 }, seen[ONPU_COUNTER_COUNT] = { 0 };
	struct program *p[2];
	bool between = false;

	(void)state;
	start(2);
	set_slice(150);
	assert_int_equal(rig_read(&rig, ONPU_REG_NUM_COUNTERS), ONPU_COUNTER_COUNT);
	for (unsigned int i = 0; i < 2; i++) {
		p[i] = job_stages(80 + i, (float)i);
		rig_load(&rig, &contexts[i], p[i]);
		add_counters(want, p[i]);
	}
	for (unsigned int i = 0; i < 2; i++)
		submit(&contexts[i], p[i]);
	do {
		onpu_device_run(rig.device, 500);
		for (unsigned int i = 0; i < ONPU_COUNTER_COUNT; i++) {
			uint64_t now = counter(i);

			assert_true(now >= seen[i]);
			seen[i] = now;
		}
		between |= seen[ONPU_COUNTER_CYCLES] &&
			   seen[ONPU_COUNTER_CYCLES] < want[ONPU_COUNTER_CYCLES] / 2;
	} while (!rig_completion(&rig, &contexts[0]).seqno ||
		 !rig_completion(&rig, &contexts[1]).seqno);
	assert_true(between);
	rig_settle(&rig);
	assert_true(telemetry_switches() > 5);
	for (unsigned int i = 0; i < ONPU_COUNTER_TLB_MISSES; i++)
		assert_int_equal(counter(i), want[i]);
	assert_true(want[ONPU_COUNTER_ELEMENTS] && want[ONPU_COUNTER_BYTES_LD]);
	assert_true(counter(ONPU_COUNTER_TLB_MISSES) > 0);
	onpu_device_reset(rig.device);
	assert_int_equal(counter(ONPU_COUNTER_CYCLES), want[ONPU_COUNTER_CYCLES]);
	for (unsigned int i = 0; i < 2; i++)
		program_destroy(p[i]);
}

/* Runs a long job and one of another context, and kills the first in the middle. */
static void test_kill(void **state)
{
	struct program *victim = job_stubborn(2 << 20), *p = job_stages(3, 1.0f);
	uint64_t cycle;

	(void)state;
	start(2);
	set_slice(0);
	rig_load(&rig, &contexts[0], victim);
	rig_load(&rig, &contexts[1], p);
	submit(&contexts[0], victim);
	submit(&contexts[1], p);
	onpu_device_run(rig.device, 100000);
	cycle = onpu_device_cycle(rig.device);
	assert_int_equal(rig_read(&rig, ONPU_REG_QUEUE_STATE(0)), ONPU_QUEUE_RUNNING);
	assert_int_equal(rig_simple(&rig, ONPU_MSG_CTX_KILL, 10, 0), ONPU_MSG_OK);
	assert_true(onpu_device_cycle(rig.device) - cycle < 20000);
	/* The counter has the cycles of the job that was killed, too. */
	assert_int_equal(counter(ONPU_COUNTER_CYCLES),
			 rig_read64(&rig, ONPU_REG_QUEUE_RUN_CYCLES_LO(0)) +
				 rig_read64(&rig, ONPU_REG_QUEUE_RUN_CYCLES_LO(1)));
	assert_int_equal(rig_read(&rig, ONPU_REG_QUEUE_STATE(0)), ONPU_QUEUE_FAULTED);
	assert_true(rig_read64(&rig, ONPU_REG_QUEUE_RUN_CYCLES_LO(0)) > 50000);
	rig_settle(&rig);
	rig_collect(&rig);
	assert_int_equal(rig.num_events, 0);
	assert_int_equal(rig_completion(&rig, &contexts[0]).seqno, 0);
	expect_like_alone(p, &contexts[1]);
	/* The queue works again after it is unbound and bound. */
	assert_int_equal(rig_simple(&rig, ONPU_MSG_QUEUE_UNBIND, 10, 0), ONPU_MSG_OK);
	assert_int_equal(rig_simple(&rig, ONPU_MSG_QUEUE_BIND, 10, 0), ONPU_MSG_OK);
	assert_int_equal(rig_read64(&rig, ONPU_REG_QUEUE_RUN_CYCLES_LO(0)), 0);
	contexts[0].tail = 0;
	submit(&contexts[0], victim);
	rig_settle(&rig);
	assert_int_equal(rig_completion(&rig, &contexts[0]).seqno, contexts[0].seqno);
	program_destroy(victim);
	program_destroy(p);
}

static void request_queue(uint32_t type, const struct rig_context *c, uint32_t mode, uint32_t *head)
{
	union onpu_msg m = {
		.queue = { .type = type, .context = c->id, .queue = c->queue, .mode = mode },
	};

	assert_int_equal(rig_request(&rig, &m), ONPU_MSG_OK);
	*head = m.queue.head;
}

/*
 * Another context uses the queue of the first context between two of its time slices, and the
 * suspended job resumes in a third queue. Its result and its cycles are those of a job that is
 * never disturbed; with @damaged, its save area is damaged, which must be a fault.
 */
static void resume_elsewhere(bool damaged)
{
	struct program *p = job_stages(200, 1.0f);
	struct rig_context *c = &contexts[0];
	struct onpu_completion done;
	uint32_t head;

	start(2);
	request_queue(ONPU_MSG_QUEUE_UNBIND, &contexts[1], ONPU_QUEUE_PLAIN, &head);
	assert_int_equal(head, 0);
	rig_load(&rig, c, p);
	submit(c, p);
	for (unsigned int iteration = 0; iteration < 3; iteration++) {
		run_until(c->queue, ONPU_QUEUE_RUNNING);
		onpu_device_run(rig.device, 500);
		request_queue(ONPU_MSG_QUEUE_UNBIND, c, ONPU_QUEUE_PREEMPT, &head);
		assert_int_equal(head, !iteration);
		assert_int_equal(rig_read(&rig, ONPU_REG_QUEUE_STATE(c->queue)),
				 ONPU_QUEUE_UNBOUND);
		assert_int_equal(rig_completion(&rig, c).seqno, 0);
		contexts[1].queue = c->queue;
		request_queue(ONPU_MSG_QUEUE_BIND, &contexts[1], ONPU_QUEUE_PLAIN, &head);
		contexts[1].tail = 0;
		contexts[1].seqno = 0;
		rig_load(&rig, &contexts[1], p);
		submit(&contexts[1], p);
		rig_settle(&rig);
		expect_like_alone(p, &contexts[1]);
		c->queue++;
		if (damaged)
			((struct onpu_save_header *)rig_at(&rig, c->save))->magic ^= 1;
		request_queue(ONPU_MSG_QUEUE_BIND, c, ONPU_QUEUE_RESUME, &head);
		if (damaged)
			break;
		request_queue(ONPU_MSG_QUEUE_UNBIND, &contexts[1], ONPU_QUEUE_PLAIN, &head);
	}
	rig_settle(&rig);
	done = rig_completion(&rig, c);
	assert_int_equal(done.error, damaged ? ONPU_FAULT_PARITY : ONPU_FAULT_NONE);
	if (!damaged)
		expect_like_alone(p, c);
	program_destroy(p);
}

static void test_resume_elsewhere(void **state)
{
	(void)state;
	resume_elsewhere(false);
}

static void test_resume_nothing(void **state)
{
	(void)state;
	resume_elsewhere(true);
}

/* A suspended job can be killed, too, and is not resumed. */
static void test_kill_suspended(void **state)
{
	struct program *p = job_stages(60, 1.0f);
	struct progress before;

	(void)state;
	start(2);
	set_slice(1500);
	for (unsigned int i = 0; i < 2; i++) {
		rig_load(&rig, &contexts[i], p);
		submit(&contexts[i], p);
	}
	run_until(0, ONPU_QUEUE_RUNNING);
	run_until(0, ONPU_QUEUE_READY);
	before = progress();
	assert_int_equal(rig_simple(&rig, ONPU_MSG_CTX_KILL, 10, 0), ONPU_MSG_OK);
	rig_settle(&rig);
	expect_progress(&before);
	assert_int_equal(rig_completion(&rig, &contexts[0]).seqno, 0);
	expect_like_alone(p, &contexts[1]);
	program_destroy(p);
}

/* A reset in the middle of a job leaves nothing of the old state, and the device boots again. */
static void reset_under_load(bool flr)
{
	struct program *p = job_stubborn(2 << 20), *q = job_stages(2, 1.0f);
	uint64_t cycle, counted;

	start(2);
	rig_load(&rig, &contexts[0], p);
	submit(&contexts[0], p);
	onpu_device_run(rig.device, 200000);
	assert_int_equal(rig_read(&rig, ONPU_REG_QUEUE_STATE(0)), ONPU_QUEUE_RUNNING);
	cycle = onpu_device_cycle(rig.device);
	counted = counter(ONPU_COUNTER_CYCLES);
	assert_true(counted > 50000);
	if (flr)
		onpu_device_reset(rig.device);
	else
		rig_write(&rig, ONPU_REG_RESET, 1);
	assert_int_equal(rig_read(&rig, ONPU_REG_STATUS), 0);
	assert_int_equal(counter(ONPU_COUNTER_CYCLES), counted);
	assert_int_equal(rig_read(&rig, ONPU_REG_QUEUE_STATE(0)), ONPU_QUEUE_UNBOUND);
	assert_int_equal(rig_read(&rig, ONPU_REG_REQUEST_SIZE), 0);
	rig_settle(&rig);
	assert_int_equal(onpu_device_cycle(rig.device), cycle);
	assert_int_equal(rig_completion(&rig, &contexts[0]).seqno, 0);

	memset(contexts, 0, sizeof(contexts));
	rig_boot(&rig);
	assert_int_equal(rig_read(&rig, ONPU_REG_STATUS), ONPU_STATE_READY);
	rig_vm_create(&rig, &vms[1], 0);
	rig_context_create(&rig, &contexts[1], &vms[1], 10, 0);
	rig_load(&rig, &contexts[1], q);
	submit(&contexts[1], q);
	rig_settle(&rig);
	expect_like_alone(q, &contexts[1]);
	program_destroy(p);
	program_destroy(q);
}

static void test_reset(void **state)
{
	(void)state;
	reset_under_load(false);
}

static void test_flr(void **state)
{
	(void)state;
	reset_under_load(true);
}

/* However the run is divided into budgets, the completions come at the same cycles. */
static void test_deterministic(void **state)
{
	static const uint64_t budgets[] = { 1, 97, 1 << 20 };
	struct onpu_completion first[2], other;
	struct program *p = job_stages(5, 1.0f);

	(void)state;
	for (unsigned int b = 0; b < 3; b++) {
		if (b)
			rig_destroy(&rig);
		start(2);
		set_slice(2500);
		for (unsigned int i = 0; i < 2; i++)
			rig_load(&rig, &contexts[i], p);
		rig_settle(&rig);
		for (unsigned int i = 0; i < 2; i++)
			submit(&contexts[i], p);
		while (onpu_device_run(rig.device, budgets[b]) == ONPU_PROGRESS_BUSY)
			;
		for (unsigned int i = 0; i < 2; i++) {
			other = rig_completion(&rig, &contexts[i]);
			if (!b)
				first[i] = other;
			assert_memory_equal(&other, &first[i], sizeof(other));
		}
	}
	program_destroy(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_one_job, teardown),
		cmocka_unit_test_teardown(test_ring_wraps, teardown),
		cmocka_unit_test_teardown(test_time_slices, teardown),
		cmocka_unit_test_teardown(test_counters, teardown),
		cmocka_unit_test_teardown(test_no_slices, teardown),
		cmocka_unit_test_teardown(test_sram_is_private, teardown),
		cmocka_unit_test_teardown(test_damaged_magic, teardown),
		cmocka_unit_test_teardown(test_damaged_pc, teardown),
		cmocka_unit_test_teardown(test_damaged_state, teardown),
		cmocka_unit_test_teardown(test_save_area_not_mapped, teardown),
		cmocka_unit_test_teardown(test_kept_sram, teardown),
		cmocka_unit_test_teardown(test_switch_timeout, teardown),
		cmocka_unit_test_teardown(test_timeout_before_deadlock, teardown),
		cmocka_unit_test_teardown(test_progress, teardown),
		cmocka_unit_test_teardown(test_kill, teardown),
		cmocka_unit_test_teardown(test_resume_elsewhere, teardown),
		cmocka_unit_test_teardown(test_resume_nothing, teardown),
		cmocka_unit_test_teardown(test_kill_suspended, teardown),
		cmocka_unit_test_teardown(test_reset, teardown),
		cmocka_unit_test_teardown(test_flr, teardown),
		cmocka_unit_test_teardown(test_deterministic, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
