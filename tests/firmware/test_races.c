// SPDX-License-Identifier: MIT
/*
 * The host may act between any two accesses of the firmware. Each case repeats one scene, with the
 * event before the firmware's first access, its second one, and so on to the last. The fake
 * hardware checks that no work is left when the firmware sleeps.
 */
#include "driver.h"

static struct fake fake, *const f = &fake;
static void (*event)(void);
static bool happened;

static void hook(struct fake *h)
{
	if (h->accesses == h->hook_at) {
		happened = true;
		event();
	}
}

static struct fake_jobs jobs(uint32_t cycles)
{
	return (struct fake_jobs){ .cycles = cycles, .point = 7 };
}

/* Makes @what happen before the @n-th access of the firmware from here on. */
static void arm(void (*what)(void), uint64_t n)
{
	event = what;
	happened = false;
	f->hook_at = f->accesses + n;
	f->hook = hook;
}

/* Begins anew with two queues of equal priority; queue 0 has run, is resident and idle. */
static void begin(void)
{
	driver_start(f);
	driver_simple(f, ONPU_MSG_SCHED_CONFIG, 100, 0);
	driver_queue(f, 0, ONPU_PRIORITY_NORMAL, jobs(300));
	driver_queue(f, 1, ONPU_PRIORITY_NORMAL, jobs(300));
	driver_submit(f, 0, 1);
	fake_settle(f);
}

static void ring_0(void)
{
	driver_submit(f, 0, 1);
}

static void ring_1(void)
{
	driver_submit(f, 1, 1);
}

static void ring_both(void)
{
	ring_0();
	ring_1();
}

/* Doorbells ring at every moment of a job: for its queue, for one that has no work, or for both. */
static void test_doorbell(void **state)
{
	static void (*const events[])(void) = { ring_0, ring_1, ring_both };

	(void)state;
	for (unsigned int who = 0; who < 3; who++) {
		unsigned int n = 0;

		do {
			begin();
			arm(events[who], ++n);
			driver_submit(f, 0, 1);
			driver_submit(f, 1, 0);
			fake_settle(f);
			assert_int_equal(f->queues[0].completed, 2 + (who != 1 && happened));
			assert_int_equal(f->queues[1].completed, who != 0 && happened);
			assert_int_equal(f->fw.counts.switches, f->cp.arrivals);
		} while (happened);
		assert_true(n > 20);
	}
}

/* A doorbell rings for a third queue while two others alternate. */
static void test_doorbell_amid_turns(void **state)
{
	unsigned int n = 0;

	(void)state;
	do {
		begin();
		driver_queue(f, 2, ONPU_PRIORITY_NORMAL, jobs(300));
		driver_submit(f, 2, 2);
		arm(ring_1, ++n);
		driver_submit(f, 0, 2);
		fake_settle(f);
		assert_int_equal(f->queues[0].completed, 3);
		assert_int_equal(f->queues[1].completed, happened);
		assert_int_equal(f->queues[2].completed, 2);
		assert_int_equal(f->fw.counts.switches, f->cp.arrivals);
	} while (happened);
	assert_true(n > 200);
}

/*
 * A doorbell rings while its queue is unbound: either the queue stays bound and runs, or no job has
 * begun.
 */
static void test_doorbell_at_unbind(void **state)
{
	unsigned int n = 0, busy = 0;

	(void)state;
	do {
		uint64_t before;

		begin();
		before = f->queues[0].run_cycles;
		arm(ring_0, ++n);
		if (driver_simple(f, ONPU_MSG_QUEUE_UNBIND, 100, 0) == ONPU_MSG_BUSY) {
			busy++;
			fake_settle(f);
			assert_int_equal(f->queues[0].completed, 2);
			continue;
		}
		fake_settle(f);
		assert_true(f->queues[0].run_cycles - before == 0 ||
			    f->queues[0].run_cycles - before == 300);
		assert_int_equal(fake_cp_state(f, 0), ONPU_QUEUE_UNBOUND);
	} while (happened);
	assert_true(busy > 2 && busy < n);
}

static void fault_0(void)
{
	if (f->cp.current == 0)
		fake_cp_fault(f, 0, ONPU_FAULT_PARITY);
}

/* Messages come in order: the fault event before the response that unbinds the queue. */
static void test_fault_at_unbind(void **state)
{
	unsigned int n = 0, ended = 0;

	(void)state;
	do {
		union onpu_msg m = { .queue = { .type = ONPU_MSG_QUEUE_UNBIND, .context = 100 } };
		bool told = false;

		begin();
		driver_submit(f, 0, 1);
		fake_run(f, 60);
		arm(fault_0, ++n);
		fake_put(f, &m);
		fake_settle(f);
		while (fake_take(f, &m)) {
			told = told || m.header.type == ONPU_MSG_EVENT_FAULT;
			if (m.header.type != ONPU_MSG_EVENT_FAULT && !m.header.status) {
				assert_int_equal(told, f->fw.counts.faults);
				ended += told;
			}
		}
	} while (happened);
	assert_true(ended > 2);
}

static void fault_at_kill(void)
{
	fault_0();
}

static void test_kill(void **state)
{
	static void (*const events[])(void) = { ring_0, ring_1, fault_at_kill };

	(void)state;
	for (unsigned int e = 0; e < 3; e++) {
		unsigned int n = 0;

		do {
			begin();
			driver_submit(f, 0, 1);
			driver_submit(f, 1, 1);
			fake_run(f, 40);
			f->cp.kill_delay = 30;
			arm(events[e], ++n);
			assert_int_equal(driver_simple(f, ONPU_MSG_CTX_KILL, 100, 0), ONPU_MSG_OK);
			assert_false(f->cp.kill_under_way);
			assert_int_equal(fake_cp_state(f, 0), ONPU_QUEUE_FAULTED);
			fake_settle(f);
			assert_int_equal(f->queues[1].completed, 1 + (e == 1 && happened));
			assert_int_equal(f->fw.counts.switches, f->cp.arrivals);
		} while (happened);
	}
}

/* ---- Rings ---- */

static bool found_full;

static void fill_requests(void)
{
	const union onpu_msg m = { .header = { .type = ONPU_MSG_HEARTBEAT } };
	union onpu_msg ignored;

	while (fake_take(f, &ignored))
		;
	while (f->requests.tail - f->requests.head < FAKE_RING)
		fake_put(f, &m);
	found_full = true;
	f->int_requests = 0;
}

/* A driver that has found the request ring full is told when an entry becomes free. */
static void test_ring_fills(void **state)
{
	unsigned int n = 0;

	(void)state;
	do {
		union onpu_msg m = { .header = { .type = ONPU_MSG_HEARTBEAT } };

		begin();
		found_full = false;
		arm(fill_requests, ++n);
		for (unsigned int i = 0; i < 3; i++)
			fake_put(f, &m);
		fake_settle(f);
		while (fake_take(f, &m))
			;
		fake_settle(f);
		assert_true(!found_full || f->int_requests);
		assert_int_equal(f->requests.head, f->requests.tail);
	} while (happened);
	assert_true(n > 50);
}

static void make_room(void)
{
	union onpu_msg m;

	while (fake_take(f, &m))
		;
}

/*
 * Faults and requests wait for free entries in the response ring; they become free at any moment,
 * also while the firmware looks.
 */
static void test_room_comes(void **state)
{
	unsigned int n = 0;

	(void)state;
	do {
		union onpu_msg m = { .header = { .type = ONPU_MSG_HEARTBEAT } };

		begin();
		f->queues[0].jobs.fault_at = 50;
		f->queues[1].jobs.fault_at = 60;
		for (unsigned int i = 0; i < FAKE_RING; i++)
			fake_put(f, &m);
		fake_settle(f);
		arm(make_room, ++n);
		driver_submit(f, 0, 1);
		driver_submit(f, 1, 1);
		fake_put(f, &m);
		fake_settle(f);
		make_room();
		fake_settle(f);
		assert_int_equal(f->fw.counts.faults, 2);
		assert_int_equal(f->cp.num_faults, 0);
		assert_int_equal(f->requests.head, f->requests.tail);
	} while (happened);
	assert_true(n > 100);
}

static void put_request(void)
{
	const union onpu_msg m = { .header = { .type = ONPU_MSG_HEARTBEAT } };

	fake_put(f, &m);
}

static void test_request_comes(void **state)
{
	unsigned int n = 0;

	(void)state;
	do {
		begin();
		arm(put_request, ++n);
		driver_submit(f, 0, 1);
		put_request();
		fake_settle(f);
		assert_int_equal(f->requests.head, f->requests.tail);
		assert_int_equal(f->queues[0].completed, 2);
	} while (happened);
	assert_true(n > 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_doorbell),
		cmocka_unit_test(test_doorbell_amid_turns),
		cmocka_unit_test(test_doorbell_at_unbind),
		cmocka_unit_test(test_fault_at_unbind),
		cmocka_unit_test(test_kill),
		cmocka_unit_test(test_ring_fills),
		cmocka_unit_test(test_room_comes),
		cmocka_unit_test(test_request_comes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
