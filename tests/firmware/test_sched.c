// SPDX-License-Identifier: MIT
/* Tests which queue runs when: priorities, time slices, kills and faults between them. */
#include "../random.h"
#include "driver.h"

#define HIGH   ONPU_PRIORITY_HIGH
#define NORMAL ONPU_PRIORITY_NORMAL
#define LOW    ONPU_PRIORITY_LOW

static struct fake fake, *const f = &fake;

static int setup(void **state)
{
	(void)state;
	driver_start(f);
	return 0;
}

static struct fake_jobs jobs(uint32_t cycles, uint32_t point)
{
	return (struct fake_jobs){ .cycles = cycles, .point = point };
}

static void set_slice(uint32_t slice)
{
	assert_int_equal(driver_simple(f, ONPU_MSG_SCHED_CONFIG, slice, 0), ONPU_MSG_OK);
}

/* Checks the order in which queues became resident from run @first on. */
static void expect_runs(uint32_t first, const uint32_t *queues, uint32_t count)
{
	assert_int_equal(f->num_runs - first, count);
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(f->trace[first + i].queue, queues[i]);
}

static void test_priorities(void **state)
{
	const uint32_t order[] = { 5, 4, 2, 0, 3, 1 };
	const enum onpu_priority classes[] = { NORMAL, LOW, NORMAL, LOW, HIGH, HIGH };

	(void)state;
	for (uint32_t q = 0; q < 6; q++)
		driver_queue(f, q, classes[q], jobs(300, 0));
	/* In each priority, the next queue is the one after that which ran last: 4, 0 and 1. */
	for (uint32_t i = 0; i < 3; i++) {
		driver_submit(f, (const uint32_t[]){ 4, 0, 1 }[i], 1);
		fake_settle(f);
	}
	for (uint32_t q = 0; q < 6; q++)
		driver_submit(f, q, 2);
	fake_settle(f);
	expect_runs(3, order, 6);
	/*
	 * The resident queue ended its first job before the firmware looked, and ran the second one
	 * in its time slice, the last one.
	 */
	for (uint32_t i = 3; i < 9; i++)
		assert_int_equal(f->trace[i].cycles, i == 8 ? 300 : 600);
}

/* A higher priority waits for one preemption point at most; afterwards the lower one goes on. */
static void test_preemption(void **state)
{
	const uint32_t order[] = { 0, 1, 0, 2, 0 };
	uint64_t rung;

	(void)state;
	set_slice(0);
	driver_queue(f, 0, LOW, jobs(20000, 50));
	driver_queue(f, 1, NORMAL, jobs(100, 0));
	driver_queue(f, 2, HIGH, jobs(100, 0));
	driver_submit(f, 0, 1);
	for (uint32_t q = 1; q < 3; q++) {
		fake_run(f, 3000);
		rung = f->now;
		driver_submit(f, q, 1);
		fake_run(f, 1000);
		assert_int_equal(f->queues[q].completed, 1);
		assert_true(f->trace[f->num_runs - 2].start - rung < 50 + 200);
	}
	fake_settle(f);
	assert_int_equal(f->queues[0].completed, 1);
	assert_int_equal(f->queues[0].run_cycles, 20000);
	expect_runs(0, order, 5);
	assert_int_equal(driver_telemetry(f).switches, 5);
}

static void test_fair_slices(void **state)
{
	(void)state;
	set_slice(1000);
	for (uint32_t q = 0; q < 3; q++) {
		driver_queue(f, q, NORMAL, jobs(q == 2 ? 37 : UINT32_MAX, 10 + q));
		f->queues[q].jobs.endless = true;
		driver_submit(f, q, 1);
	}
	fake_run(f, 300000);
	for (uint32_t i = 1; i + 1 < f->num_runs; i++) {
		assert_int_equal(f->trace[i].queue, (f->trace[i - 1].queue + 1) % 3);
		assert_true(f->trace[i].cycles >= 1000 && f->trace[i].cycles < 1200);
	}
	assert_true(f->num_runs > 200);
}

/* With the default slice no queue waits for ever. */
static void test_no_starvation(void **state)
{
	(void)state;
	driver_queue(f, 0, NORMAL, jobs(UINT32_MAX, 100));
	driver_queue(f, 1, NORMAL, jobs(1000, 0));
	driver_submit(f, 0, 1);
	fake_run(f, 1000);
	driver_submit(f, 1, 3);
	fake_run(f, FW_DEFAULT_SLICE + 10000);
	assert_int_equal(f->queues[1].completed, 3);
	assert_int_equal(f->trace[f->num_runs - 1].queue, 0);
}

/* A waiting priority gets one slice after the others have had about FW_STARVED slices. */
static void test_no_priority_starves(void **state)
{
	const enum onpu_priority priorities[] = { LOW, NORMAL, HIGH };
	uint32_t slices[3] = { 0 }, others[3] = { 0 };

	(void)state;
	set_slice(1000);
	for (uint32_t q = 0; q < 3; q++) {
		driver_queue(f, q, priorities[q], jobs(UINT32_MAX, 10));
		f->queues[q].jobs.endless = true;
	}
	for (uint32_t q = 3; q-- > 0;)
		driver_submit(f, q, 1);
	fake_run(f, 500000);
	/* The last run has not ended. */
	for (uint32_t i = 0; i + 1 < f->num_runs; i++) {
		uint32_t q = f->trace[i].queue;

		slices[q]++;
		for (uint32_t other = 0; other < 3; other++)
			others[other] = other == q ? 0 : others[other] + f->trace[i].cycles;
		if (q != 2)
			assert_true(f->trace[i].cycles >= 1000 && f->trace[i].cycles < 1200);
		assert_true(others[0] < (FW_STARVED + 3) * 1000);
		assert_true(others[1] < (FW_STARVED + 3) * 1000);
		assert_true(others[2] < 2 * 1200);
	}
	assert_true(slices[0] >= 500 / (FW_STARVED + 3) && slices[0] <= 500 / FW_STARVED);
	assert_true(slices[1] >= 500 / (FW_STARVED + 3) && slices[1] <= 500 / FW_STARVED);
}

/* A queue that had the machine alone for long gives way at once, without a second slice. */
static void test_slice_used_up_alone(void **state)
{
	(void)state;
	set_slice(2000);
	driver_queue(f, 0, NORMAL, jobs(UINT32_MAX, 20));
	driver_queue(f, 1, NORMAL, jobs(100, 0));
	driver_submit(f, 0, 1);
	fake_run(f, 50000);
	assert_int_equal(f->num_runs, 1);
	driver_submit(f, 1, 1);
	fake_run(f, 500);
	assert_int_equal(f->queues[1].completed, 1);
}

/* Interruptions by a higher priority do not give one queue several slices in a row. */
static void test_turns_under_interruption(void **state)
{
	(void)state;
	set_slice(20000);
	for (uint32_t q = 0; q < 3; q++) {
		driver_queue(f, q, q == 2 ? HIGH : NORMAL, jobs(q == 2 ? 20 : UINT32_MAX, 10));
		driver_submit(f, q, q != 2);
	}
	for (unsigned int i = 0; i < 200; i++) {
		fake_run(f, 700);
		driver_submit(f, 2, 1);
	}
	assert_int_equal(f->queues[2].completed, 199);
	assert_true(f->queues[0].run_cycles * 2 > f->queues[1].run_cycles);
	assert_true(f->queues[1].run_cycles * 2 > f->queues[0].run_cycles);
}

/* ---- Clients ---- */

static uint64_t cycles_of(uint32_t first, uint32_t last)
{
	uint64_t sum = 0;

	for (uint32_t q = first; q <= last; q++)
		sum += f->queues[q].run_cycles;
	return sum;
}

/* Returns whether a differs from b by at most b / 10. */
static bool equal_shares(uint64_t a, uint64_t b)
{
	return 10 * a >= 9 * b && 10 * a <= 11 * b;
}

/* Three clients with one, two and five queues get equal shares. */
static void test_clients_share(void **state)
{
	(void)state;
	set_slice(1000);
	for (uint32_t q = 0; q < 8; q++) {
		driver_queue_of(f, q < 1 ? 5 : q < 3 ? 0 : 2, q, NORMAL, jobs(UINT32_MAX, 10 + q));
		driver_submit(f, q, 1);
	}
	fake_run(f, 600000);
	assert_true(equal_shares(cycles_of(0, 0), cycles_of(1, 2)));
	assert_true(equal_shares(cycles_of(0, 0), cycles_of(3, 7)));
	for (uint32_t q = 4; q < 8; q++)
		assert_true(equal_shares(cycles_of(q, q), cycles_of(3, 3)));
	/* A run takes at least a slice, and more only if its client was behind. */
	assert_true(f->num_runs > 300 && f->num_runs < 600);
}

/* A client whose instructions last longer than slices gets no more than the other. */
static void test_long_instructions(void **state)
{
	(void)state;
	set_slice(1000);
	driver_queue_of(f, 0, 0, NORMAL, jobs(UINT32_MAX, 5000));
	driver_queue_of(f, 1, 1, NORMAL, jobs(UINT32_MAX, 10));
	driver_submit(f, 0, 1);
	driver_submit(f, 1, 1);
	fake_run(f, 600000);
	assert_true(equal_shares(cycles_of(0, 0), cycles_of(1, 1)));
}

/* A client that had the device alone owes nothing for that, and one that paused is owed nothing. */
static void test_pauses(void **state)
{
	uint64_t before[2];

	(void)state;
	set_slice(1000);
	driver_queue_of(f, 0, 0, NORMAL, jobs(UINT32_MAX, 10));
	driver_queue_of(f, 1, 1, NORMAL, jobs(20000, 10));
	driver_submit(f, 0, 1);
	for (unsigned int i = 0; i < 4; i++) {
		fake_run(f, 100000);
		for (uint32_t q = 0; q < 2; q++)
			before[q] = f->queues[q].run_cycles;
		driver_submit(f, 1, 1);
		fake_run(f, 20000);
		assert_true(equal_shares(cycles_of(0, 0) - before[0], cycles_of(1, 1) - before[1]));
	}
	/* Another client replaces the one that had used much. */
	assert_int_equal(driver_simple(f, ONPU_MSG_CTX_KILL, 100, 0), ONPU_MSG_OK);
	assert_int_equal(driver_simple(f, ONPU_MSG_QUEUE_UNBIND, 100, 0), ONPU_MSG_OK);
	assert_int_equal(driver_simple(f, ONPU_MSG_CTX_DESTROY, 100, 0), ONPU_MSG_OK);
	assert_int_equal(driver_simple(f, ONPU_MSG_VM_DESTROY, 0, 0), ONPU_MSG_OK);
	fake_settle(f);
	driver_submit(f, 1, 5);
	driver_queue_of(f, 0, 0, NORMAL, jobs(UINT32_MAX, 10));
	driver_submit(f, 0, 1);
	for (uint32_t q = 0; q < 2; q++)
		before[q] = f->queues[q].run_cycles;
	fake_run(f, 20000);
	assert_true(equal_shares(cycles_of(0, 0) - before[0], cycles_of(1, 1) - before[1]));
}

/* Without slices a queue runs until it is idle; a higher priority still interrupts it. */
static void test_without_slices(void **state)
{
	const uint32_t order[] = { 0, 2, 1, 0 };

	(void)state;
	set_slice(0);
	driver_queue(f, 0, NORMAL, jobs(50000, 10));
	driver_queue(f, 1, NORMAL, jobs(50000, 10));
	driver_queue(f, 2, HIGH, jobs(100, 10));
	driver_submit(f, 0, 3);
	fake_run(f, 500);
	driver_submit(f, 1, 3);
	fake_run(f, 1500);
	assert_int_equal(f->num_runs, 1);
	driver_submit(f, 2, 1);
	fake_settle(f);
	expect_runs(0, order, 4);
}

static void test_idle_queues_are_skipped(void **state)
{
	(void)state;
	set_slice(500);
	for (uint32_t q = 0; q < FAKE_QUEUES; q++)
		driver_queue(f, q, NORMAL, jobs(2000, 10));
	for (unsigned int i = 0; i < 5; i++) {
		driver_submit(f, 1, 1);
		driver_submit(f, 6, 1);
		/* A doorbell without work has no effect. */
		driver_submit(f, 3, 0);
		fake_settle(f);
	}
	for (uint32_t i = 0; i < f->num_runs; i++)
		assert_true(f->trace[i].queue == 1 || f->trace[i].queue == 6);
	assert_true(f->num_runs >= 20);
}

/* While a switch to one queue waits for a preemption point, a queue of higher priority may come. */
static void test_redirection(void **state)
{
	const uint32_t order[] = { 0, 2, 1 };

	(void)state;
	set_slice(100);
	driver_queue(f, 0, NORMAL, jobs(5000, 0));
	driver_queue(f, 1, NORMAL, jobs(5000, 0));
	driver_queue(f, 2, HIGH, jobs(5000, 0));
	driver_submit(f, 0, 1);
	driver_submit(f, 1, 1);
	fake_run(f, 1000);
	assert_int_equal(f->cp.run_queue, 1);
	driver_submit(f, 2, 1);
	fake_settle(f);
	expect_runs(0, order, 3);
	assert_int_equal(driver_telemetry(f).switches, 3);
}

static void test_fault_gives_way(void **state)
{
	const uint32_t order[] = { 0, 1 };

	(void)state;
	set_slice(0);
	driver_queue(f, 0, NORMAL, (struct fake_jobs){ .cycles = 500, .fault_at = 200 });
	driver_queue(f, 1, NORMAL, jobs(100, 0));
	driver_submit(f, 0, 3);
	driver_submit(f, 1, 1);
	fake_settle(f);
	expect_runs(0, order, 2);
	assert_int_equal(f->queues[1].completed, 1);
	assert_int_equal(driver_events(f), 1);
	assert_int_equal(driver_event[0].context, 100);
	assert_int_equal(driver_event[0].queue, 0);
	assert_int_equal(driver_event[0].code, ONPU_FAULT_TRAP);
	assert_int_equal(driver_event[0].seqno, 1);
	/* The queue works again once it is bound anew. */
	assert_int_equal(driver_simple(f, ONPU_MSG_QUEUE_UNBIND, 100, 0), ONPU_MSG_OK);
	assert_int_equal(driver_simple(f, ONPU_MSG_QUEUE_BIND, 100, 0), ONPU_MSG_OK);
	f->queues[0].jobs.fault_at = 0;
	driver_submit(f, 0, 2);
	fake_settle(f);
	assert_int_equal(f->queues[0].completed, 2);
}

/* A queue's priority is that of the context that is bound now. */
static void test_priority_after_rebinding(void **state)
{
	const uint32_t order[] = { 1, 0 };
	union onpu_msg m = driver_context_message(7, LOW);

	(void)state;
	driver_queue(f, 0, HIGH, jobs(100, 0));
	driver_queue(f, 1, NORMAL, jobs(100, 0));
	assert_int_equal(driver_simple(f, ONPU_MSG_QUEUE_UNBIND, 100, 0), ONPU_MSG_OK);
	assert_int_equal(driver_request(f, &m), ONPU_MSG_OK);
	assert_int_equal(driver_simple(f, ONPU_MSG_QUEUE_BIND, 7, 0), ONPU_MSG_OK);
	driver_submit(f, 0, 1);
	driver_submit(f, 1, 1);
	fake_settle(f);
	expect_runs(0, order, 2);
}

/* ---- Kill ---- */

static void expect_killed(uint32_t queue, uint32_t delay)
{
	uint64_t before = f->now;

	f->cp.kill_delay = delay;
	assert_int_equal(driver_simple(f, ONPU_MSG_CTX_KILL, 100 + queue, 0), ONPU_MSG_OK);
	assert_false(f->cp.kill_under_way);
	assert_true(f->now - before >= delay);
	assert_int_equal(fake_cp_state(f, queue), ONPU_QUEUE_FAULTED);
	fake_settle(f);
	assert_int_equal(f->queues[queue].completed, 0);
	assert_int_equal(driver_events(f), 0);
	assert_int_equal(f->queues[1].completed, 1);
	assert_int_equal(driver_simple(f, ONPU_MSG_CTX_KILL, 100 + queue, 0), ONPU_MSG_OK);
	assert_int_equal(driver_simple(f, ONPU_MSG_QUEUE_UNBIND, 100 + queue, queue), ONPU_MSG_OK);
	assert_int_equal(driver_simple(f, ONPU_MSG_CTX_DESTROY, 100 + queue, 0), ONPU_MSG_OK);
	assert_int_equal(driver_telemetry(f).switches, f->cp.arrivals);
}

/* The response comes when no access is under way, and not before. */
static void test_kill_running(void **state)
{
	(void)state;
	for (uint32_t delay = 0; delay < 3000; delay = delay * 3 + 1) {
		setup(NULL);
		set_slice(0);
		driver_queue(f, 0, NORMAL, jobs(UINT32_MAX, 0));
		driver_queue(f, 1, NORMAL, jobs(100, 0));
		driver_submit(f, 0, 1);
		driver_submit(f, 1, 1);
		fake_run(f, 1000);
		assert_int_equal(f->cp.current, 0);
		expect_killed(0, delay);
	}
}

static void test_kill_suspended(void **state)
{
	(void)state;
	set_slice(200);
	driver_queue(f, 0, NORMAL, jobs(UINT32_MAX, 10));
	driver_queue(f, 1, NORMAL, jobs(5000, 10));
	driver_submit(f, 0, 1);
	driver_submit(f, 1, 1);
	fake_run(f, 300);
	while (f->cp.current != 1)
		fake_run(f, 10);
	assert_true(f->queues[0].suspended);
	expect_killed(0, 20);
}

/* The queue to which the CP is about to switch is killed. */
static void test_kill_while_switching(void **state)
{
	(void)state;
	for (uint32_t wait = 0; wait < 60; wait++) {
		setup(NULL);
		set_slice(100);
		driver_queue(f, 0, HIGH, jobs(UINT32_MAX, 0));
		driver_queue(f, 1, NORMAL, jobs(500, 0));
		driver_submit(f, 1, 1);
		fake_run(f, 200);
		driver_submit(f, 0, 1);
		fake_run(f, 350 + wait);
		expect_killed(0, 5);
	}
}

/* The CP does not answer: the driver is told, and everything else goes on. */
static void test_kill_unanswered(void **state)
{
	(void)state;
	driver_queue(f, 0, NORMAL, jobs(UINT32_MAX, 0));
	driver_queue(f, 1, NORMAL, jobs(100, 0));
	driver_submit(f, 0, 1);
	fake_run(f, 100);
	f->cp.kill_delay = UINT32_MAX;
	f->rest_unchecked = true;
	assert_int_equal(driver_simple(f, ONPU_MSG_CTX_KILL, 100, 0), ONPU_MSG_INTERNAL);
	driver_submit(f, 1, 1);
	fake_settle(f);
	assert_int_equal(f->queues[1].completed, 1);
	assert_int_equal(driver_simple(f, ONPU_MSG_HEARTBEAT, 0, 0), ONPU_MSG_OK);
}

/*
 * The first KILL ends after its request was answered, and must not be taken for the end of the
 * second.
 */
static void test_kill_late(void **state)
{
	(void)state;
	driver_queue(f, 0, NORMAL, jobs(UINT32_MAX, 0));
	driver_queue(f, 1, NORMAL, jobs(UINT32_MAX, 0));
	driver_queue(f, 2, NORMAL, jobs(100, 0));
	driver_submit(f, 0, 1);
	fake_run(f, 100);
	f->cp.kill_delay = UINT32_MAX;
	f->rest_unchecked = true;
	assert_int_equal(driver_simple(f, ONPU_MSG_CTX_KILL, 100, 0), ONPU_MSG_INTERNAL);
	/* The firmware begins no second KILL before the first one ends. */
	assert_int_equal(driver_simple(f, ONPU_MSG_CTX_KILL, 101, 0), ONPU_MSG_INTERNAL);
	assert_int_equal(f->cp.killing, 0);
	f->cp.kill_left = 5000;
	f->cp.kill_delay = 20000;
	assert_int_equal(driver_simple(f, ONPU_MSG_CTX_KILL, 101, 0), ONPU_MSG_OK);
	assert_int_equal(f->cp.killing, 1);
	assert_false(f->cp.kill_under_way);
	driver_submit(f, 2, 1);
	fake_settle(f);
	assert_int_equal(f->queues[2].completed, 1);
}

/* ---- Unbind ---- */

static void test_unbind(void **state)
{
	(void)state;
	driver_queue(f, 0, NORMAL, jobs(3000, 0));
	driver_queue(f, 1, NORMAL, jobs(3000, 0));
	assert_int_equal(driver_simple(f, ONPU_MSG_QUEUE_UNBIND, 101, 1), ONPU_MSG_OK);
	assert_int_equal(driver_simple(f, ONPU_MSG_QUEUE_BIND, 101, 1), ONPU_MSG_OK);
	driver_submit(f, 0, 1);
	driver_submit(f, 1, 1);
	fake_run(f, 500);
	/* One queue runs, the other waits. */
	assert_int_equal(driver_simple(f, ONPU_MSG_QUEUE_UNBIND, 100, 0), ONPU_MSG_BUSY);
	assert_int_equal(driver_simple(f, ONPU_MSG_QUEUE_UNBIND, 101, 1), ONPU_MSG_BUSY);
	fake_settle(f);
	assert_int_equal(f->queues[0].completed + f->queues[1].completed, 2);
	/* One queue is resident, the other is not; neither has work. */
	assert_int_equal(driver_simple(f, ONPU_MSG_QUEUE_UNBIND, 100, 0), ONPU_MSG_OK);
	assert_int_equal(driver_simple(f, ONPU_MSG_QUEUE_UNBIND, 101, 1), ONPU_MSG_OK);
	assert_int_equal(f->cp.current, ONPU_NO_QUEUE);
	assert_int_equal(driver_telemetry(f).queues, 0);
	assert_int_equal(driver_simple(f, ONPU_MSG_CTX_DESTROY, 100, 0), ONPU_MSG_OK);
}

static uint32_t with_mode(uint32_t type, uint32_t id, uint32_t queue, uint32_t mode, uint32_t *head)
{
	union onpu_msg m = { .queue = {
				     .type = type, .context = id, .queue = queue, .mode = mode } };
	uint32_t status = driver_request(f, &m);

	if (head)
		*head = m.queue.head;
	return status;
}

/* A queue that has work is unbound and bound again: no cycle of its job is lost or repeated. */
static void test_preempt_and_resume(void **state)
{
	uint32_t head = 77;

	(void)state;
	for (uint32_t wait = 0; wait < 400; wait += 7) {
		setup(NULL);
		driver_queue(f, 0, NORMAL, jobs(3000, 100));
		driver_queue(f, 1, NORMAL, jobs(3000, 100));
		driver_submit(f, 0, 2);
		driver_submit(f, 1, 1);
		fake_run(f, 500 + wait);
		assert_int_equal(with_mode(ONPU_MSG_QUEUE_UNBIND, 100, 0, ONPU_QUEUE_PREEMPT,
					   &head),
				 ONPU_MSG_OK);
		assert_int_equal(head, 1);
		assert_int_equal(f->queues[0].control, 0);
		assert_true(f->queues[0].run_cycles < 3000);
		/* The other queue goes on by itself. */
		fake_settle(f);
		assert_int_equal(f->queues[1].completed, 1);
		assert_int_equal(with_mode(ONPU_MSG_QUEUE_BIND, 100, 0, ONPU_QUEUE_RESUME, NULL),
				 ONPU_MSG_OK);
		fake_settle(f);
		assert_int_equal(f->queues[0].completed, 1);
		assert_int_equal(f->queues[0].run_cycles, 3000);
		driver_submit(f, 0, 1);
		fake_settle(f);
		assert_int_equal(f->queues[0].completed, 2);
		assert_int_equal(with_mode(ONPU_MSG_QUEUE_UNBIND, 100, 0, ONPU_QUEUE_PLAIN, &head),
				 ONPU_MSG_OK);
		assert_int_equal(head, 1);
	}
}

/* A queue that reaches no preemption point stays bound, and the answer is BUSY. */
static void test_preempt_in_vain(void **state)
{
	(void)state;
	driver_queue(f, 0, NORMAL, jobs(UINT32_MAX, 0));
	driver_submit(f, 0, 1);
	fake_run(f, 500);
	assert_int_equal(with_mode(ONPU_MSG_QUEUE_UNBIND, 100, 0, ONPU_QUEUE_PREEMPT, NULL),
			 ONPU_MSG_BUSY);
	assert_int_equal(driver_simple(f, ONPU_MSG_CTX_KILL, 100, 0), ONPU_MSG_OK);
	assert_int_equal(with_mode(ONPU_MSG_QUEUE_UNBIND, 100, 0, ONPU_QUEUE_PREEMPT, NULL),
			 ONPU_MSG_OK);
}

/* ---- Everything at random ---- */

#define PATIENCE 1500u

static struct rng rng;
static enum onpu_priority priority_of[FAKE_QUEUES];
static uint64_t waits_since[FAKE_QUEUES];

/* Checks that no queue waits for long while one of lower priority executes. */
static void watch_priorities(struct fake *h)
{
	for (uint32_t q = 0; q < FAKE_QUEUES; q++) {
		uint32_t current = h->cp.current;
		bool wronged = fake_cp_may_run(h, q) && fake_cp_has_work(h, q) && h->cp.running &&
			       current != q && priority_of[current] < priority_of[q];

		if (!wronged)
			waits_since[q] = h->now;
		else if (h->now - waits_since[q] > PATIENCE)
			fail_msg("queue %u waits for %u of lower priority", q, current);
	}
}

static void random_move(void)
{
	uint32_t q = rng_u32(&rng) % FAKE_QUEUES;

	switch (rng_u32(&rng) % 16) {
	case 0:
		driver_simple(f, ONPU_MSG_CTX_KILL, 100 + q, 0);
		break;
	case 1:
	case 2:
		driver_simple(f, ONPU_MSG_QUEUE_UNBIND, 100 + q, q);
		driver_simple(f, ONPU_MSG_QUEUE_BIND, 100 + q, q);
		break;
	case 3:
		set_slice(rng_u32(&rng) % 400);
		break;
	default:
		f->queues[q].jobs.fault_at = rng_u32(&rng) % 8 ? 0 : rng_u32(&rng) % 200;
		if (f->queues[q].tail - f->queues[q].head < 8)
			driver_submit(f, q, rng_u32(&rng) % 3);
	}
}

static void test_random(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < 60; round++) {
		rng.state = round;
		setup(NULL);
		for (uint32_t q = 0; q < FAKE_QUEUES; q++) {
			priority_of[q] = rng_u32(&rng) % ONPU_PRIORITY_COUNT;
			waits_since[q] = 0;
			driver_queue(f, q, priority_of[q],
				     jobs(10 + rng_u32(&rng) % 400, rng_u32(&rng) % 100));
		}
		f->hook = watch_priorities;
		for (unsigned int i = 0; i < 150; i++) {
			random_move();
			fake_run(f, rng_u32(&rng) % 1000);
			f->num_runs = 0;
		}
		fake_settle(f);
		/* Take the events, so that the response ring has a free entry for the answer. */
		for (unsigned int i = 0; i < 2 * FAKE_QUEUES; i++) {
			union onpu_msg m;

			while (fake_take(f, &m))
				;
			fake_settle(f);
		}
		assert_int_equal(driver_telemetry(f).switches, f->cp.arrivals);
		assert_int_equal(driver_telemetry(f).faults, f->fw.counts.faults);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_priorities, setup),
		cmocka_unit_test_setup(test_preemption, setup),
		cmocka_unit_test_setup(test_fair_slices, setup),
		cmocka_unit_test_setup(test_no_starvation, setup),
		cmocka_unit_test_setup(test_no_priority_starves, setup),
		cmocka_unit_test_setup(test_slice_used_up_alone, setup),
		cmocka_unit_test_setup(test_turns_under_interruption, setup),
		cmocka_unit_test_setup(test_clients_share, setup),
		cmocka_unit_test_setup(test_long_instructions, setup),
		cmocka_unit_test_setup(test_pauses, setup),
		cmocka_unit_test_setup(test_without_slices, setup),
		cmocka_unit_test_setup(test_idle_queues_are_skipped, setup),
		cmocka_unit_test_setup(test_redirection, setup),
		cmocka_unit_test_setup(test_fault_gives_way, setup),
		cmocka_unit_test_setup(test_priority_after_rebinding, setup),
		cmocka_unit_test_setup(test_kill_running, setup),
		cmocka_unit_test_setup(test_kill_suspended, setup),
		cmocka_unit_test_setup(test_kill_while_switching, setup),
		cmocka_unit_test_setup(test_kill_unanswered, setup),
		cmocka_unit_test_setup(test_kill_late, setup),
		cmocka_unit_test_setup(test_unbind, setup),
		cmocka_unit_test_setup(test_preempt_and_resume, setup),
		cmocka_unit_test_setup(test_preempt_in_vain, setup),
		cmocka_unit_test_setup(test_random, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
