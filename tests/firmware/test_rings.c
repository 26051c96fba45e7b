// SPDX-License-Identifier: MIT
/*
 * Tests start-up, message rings and log: set-ups, indices, DMA errors, full rings, storms, log
 * levels.
 */
#include <inttypes.h>

#include "driver.h"

static struct fake fake, *const f = &fake;

static int setup(void **state)
{
	(void)state;
	driver_start(f);
	return 0;
}

static struct fake_jobs jobs(uint32_t cycles)
{
	return (struct fake_jobs){ .cycles = cycles, .point = 10 };
}

/* ---- Start-up ---- */

static void test_start(void **state)
{
	(void)state;
	assert_int_equal(f->abi >> ONPU_FW_ABI_MAJOR__SHIFT, ONPU_ABI_MAJOR);
	assert_int_equal(f->abi & ONPU_FW_ABI_MINOR__MASK, ONPU_ABI_MINOR);
	assert_int_equal(f->irq_enable, FW_IRQS);
	assert_int_equal(f->cp.slice, FW_DEFAULT_SLICE);
	assert_true(f->wakes && f->log.tail);
	fake_settle(f);
	/* The firmware also answers a request from before it was ready. */
	fake_init(f);
	fake_put(f, &(union onpu_msg){ .header = { .type = ONPU_MSG_HEARTBEAT } });
	f->irq_status = 0;
	fake_boot(f);
	fake_settle(f);
	assert_int_equal(f->responses.tail, 1);
}

static void spoil_setup(unsigned int n)
{
	struct fake_ring *ring = n < 9 ? &f->requests : &f->responses;
	const uint32_t sizes[] = { 0, 1, 3, 24, 4095, 8192, UINT32_C(1) << 31, UINT32_MAX };

	n %= 9;
	if (n < 8)
		ring->size = sizes[n];
	else
		ring->base += 32;
}

static void test_bad_setup(void **state)
{
	const uint32_t sizes[] = { 1, 64, 2048, 4097, 6144, UINT32_MAX };

	(void)state;
	for (unsigned int n = 0; n < 18; n++) {
		fake_init(f);
		spoil_setup(n);
		fake_boot(f);
		driver_expect_failed(f, ONPU_FW_DETAIL_RING_SETUP);
		assert_int_equal(f->dmas, 0);
	}
	for (unsigned int n = 0; n < 9; n++) {
		fake_init(f);
		f->log.size = n < 6 ? sizes[n] : FAKE_LOG;
		f->log.base += n == 6 ? 4 : 0;
		f->log.base = n == 7 ? UINT64_MAX - 4095 + 64 * 0 : f->log.base;
		f->requests.base = n == 8 ? UINT64_MAX - 63 : f->requests.base;
		fake_boot(f);
		driver_expect_failed(f, ONPU_FW_DETAIL_RING_SETUP);
		assert_int_equal(f->dmas, 0);
	}
	/* The smallest and the largest size are valid. */
	fake_init(f);
	f->requests.size = ONPU_MIN_RING_SIZE;
	f->responses.size = ONPU_MAX_RING_SIZE;
	fake_boot(f);
	assert_int_equal(fake_state(f), ONPU_STATE_READY);
}

/* ---- Inconsistent indices ---- */

static void test_indices(void **state)
{
	static const uint32_t wrong[] = {
		FAKE_RING + 1, FAKE_RING + 2, 1000, UINT32_C(1) << 31, UINT32_MAX,
	};

	(void)state;
	for (unsigned int i = 0; i < 5; i++) {
		setup(NULL);
		fake_write_tail(f, wrong[i]);
		fake_settle(f);
		driver_expect_failed(f, ONPU_FW_DETAIL_RING_INDEX);
		assert_int_equal(f->requests.head, 0);
		/* A wrong index is found without a request, too. */
		setup(NULL);
		fake_write_head(f, wrong[i] - FAKE_RING);
		fake_settle(f);
		driver_expect_failed(f, ONPU_FW_DETAIL_RING_INDEX);
	}
	/* An index that goes back is wrong. */
	setup(NULL);
	driver_simple(f, ONPU_MSG_HEARTBEAT, 0, 0);
	fake_write_tail(f, 0);
	fake_settle(f);
	driver_expect_failed(f, ONPU_FW_DETAIL_RING_INDEX);
}

static void test_indices_wrap(void **state)
{
	(void)state;
	f->requests.head = f->requests.tail = f->fw.requests.index = UINT32_MAX - 3;
	f->responses.head = f->responses.tail = f->fw.responses.index = UINT32_MAX - 5;
	for (unsigned int i = 0; i < 20; i++)
		assert_int_equal(driver_simple(f, ONPU_MSG_HEARTBEAT, 0, 0), ONPU_MSG_OK);
	assert_int_equal(f->requests.head, 16);
}

/* ---- Memory that disappears ---- */

static void traffic(void)
{
	driver_queue(f, 0, ONPU_PRIORITY_NORMAL, jobs(100));
	driver_queue(f, 1, ONPU_PRIORITY_NORMAL, jobs(100));
	f->queues[1].jobs.fault_at = 50;
	driver_submit(f, 0, 3);
	driver_submit(f, 1, 1);
	fake_settle(f);
	driver_events(f);
	driver_simple(f, ONPU_MSG_CTX_KILL, 100, 0);
	driver_simple(f, 1234, 0, 0);
}

/* Transfers fail from the n-th on, for every n up to 40. */
static void test_dma_errors(void **state)
{
	(void)state;
	for (uint64_t n = 1; n <= 40; n++) {
		fake_init(f);
		f->dma_fails = n;
		fake_boot(f);
		for (unsigned int i = 0; i < 30 && !f->fw.failed; i++) {
			union onpu_msg m = { .words = { i % 13 } };

			fake_put(f, &m);
			fake_settle(f);
			while (fake_take(f, &m))
				;
		}
		driver_expect_failed(f, ONPU_FW_DETAIL_RING_ACCESS);
		/* The firmware stops at the first transfer that fails. */
		assert_int_equal(f->dmas, n);
		assert_true(f->responses.tail < n && f->requests.head <= n);
	}
}

static void test_event_cannot_leave(void **state)
{
	(void)state;
	driver_queue(f, 0, ONPU_PRIORITY_NORMAL, jobs(100));
	f->queues[0].jobs.fault_at = 50;
	f->dma_fails = f->dmas + 1;
	driver_submit(f, 0, 1);
	fake_settle(f);
	driver_expect_failed(f, ONPU_FW_DETAIL_RING_ACCESS);
}

/* ---- Full rings ---- */

static void fill_responses(void)
{
	const union onpu_msg m = { .header = { .type = ONPU_MSG_HEARTBEAT, .id = 7 } };

	while (f->responses.tail - f->responses.head < FAKE_RING) {
		fake_put(f, &m);
		fake_settle(f);
	}
}

/* No event is lost however long the response ring is full, and the core sleeps meanwhile. */
static void test_events_wait(void **state)
{
	unsigned int events = 0;
	union onpu_msg m;
	uint64_t beats;

	(void)state;
	for (uint32_t q = 0; q < FAKE_QUEUES; q++) {
		driver_queue(f, q, ONPU_PRIORITY_NORMAL, jobs(100));
		f->queues[q].jobs.fault_at = 10 + q;
	}
	fill_responses();
	for (uint32_t q = 0; q < FAKE_QUEUES; q++)
		driver_submit(f, q, 1);
	fake_put(f, &(union onpu_msg){ .header = { .type = ONPU_MSG_HEARTBEAT, .id = 99 } });
	fake_settle(f);
	assert_int_equal(f->cp.num_faults, FAKE_QUEUES);
	beats = f->fw.counts.beats;
	fake_run(f, 100000);
	assert_true(f->fw.counts.beats - beats < 3);
	for (unsigned int i = 0; i < 2 * FAKE_RING + 1; i++) {
		assert_true(fake_take(f, &m));
		fake_settle(f);
		if (i < FAKE_RING) {
			assert_int_equal(m.header.id, 7);
			continue;
		}
		if (m.header.type == ONPU_MSG_EVENT_FAULT) {
			assert_int_equal(m.event_fault.queue, events);
			events++;
		} else {
			assert_int_equal(m.header.id, 99);
			assert_int_equal(events, FAKE_QUEUES);
		}
	}
	assert_int_equal(events, FAKE_QUEUES);
	assert_false(fake_take(f, &m));
	assert_int_equal(f->irq_enable, FW_IRQS);
}

/* The firmware takes no more requests than the response ring has free entries. */
static void test_requests_wait(void **state)
{
	union onpu_msg m = { .header = { .type = ONPU_MSG_HEARTBEAT } };

	(void)state;
	fill_responses();
	for (unsigned int i = 0; i < FAKE_RING; i++)
		fake_put(f, &m);
	fake_settle(f);
	assert_int_equal(f->requests.head + FAKE_RING, f->requests.tail);
	assert_int_equal(f->int_requests, 0);
	for (unsigned int i = 1; i <= FAKE_RING; i++) {
		assert_true(fake_take(f, &m));
		fake_settle(f);
		assert_int_equal(f->requests.head + FAKE_RING - i, f->requests.tail);
	}
	assert_int_equal(f->int_requests, 1);
}

static void feed(struct fake *h)
{
	const union onpu_msg m = { .header = { .type = 4321 } };
	union onpu_msg ignored;

	while (fake_take(h, &ignored))
		;
	while (h->requests.tail - h->requests.head < FAKE_RING)
		fake_put(h, &m);
}

/* The driver sends requests without end: queues run and alternate all the same. */
static void test_storm(void **state)
{
	(void)state;
	driver_simple(f, ONPU_MSG_SCHED_CONFIG, 5000, 0);
	for (uint32_t q = 0; q < 3; q++) {
		driver_queue(f, q, q == 2 ? ONPU_PRIORITY_HIGH : ONPU_PRIORITY_NORMAL,
			     jobs(q == 2 ? 100 : UINT32_MAX));
	}
	f->hook = feed;
	driver_submit(f, 0, 1);
	driver_submit(f, 1, 1);
	fake_run(f, 100000);
	driver_submit(f, 2, 1);
	fake_run(f, 3000);
	assert_int_equal(f->queues[2].completed, 1);
	assert_true(f->queues[0].run_cycles > 40000 && f->queues[1].run_cycles > 40000);
	assert_true(f->fw.counts.errors > 500);
	f->hook = NULL;
	assert_int_equal(fake_state(f), ONPU_STATE_READY);
}

/* ---- The log ---- */

static const char *log_text(void)
{
	static char text[FAKE_LOG + 1];
	uint32_t start = f->log.tail < FAKE_LOG ? 0 : f->log.tail;
	uint32_t size = f->log.tail < FAKE_LOG ? f->log.tail : FAKE_LOG;

	for (uint32_t i = 0; i < size; i++)
		text[i] = (char)f->memory[FAKE_LOG_BASE - FAKE_BUS + (start + i) % FAKE_LOG];
	text[size] = '\0';
	return text;
}

static void test_log_levels(void **state)
{
	static const char *const lines[] = { "request refused, type 0x4d2", "killed context 0x64",
					     "resident queue 0x1" };

	(void)state;
	assert_non_null(strstr(log_text(), "firmware started, queues 0x8"));
	driver_queue(f, 0, ONPU_PRIORITY_NORMAL, jobs(100));
	driver_queue(f, 1, ONPU_PRIORITY_NORMAL, jobs(100));
	for (unsigned int level = 0; level <= ONPU_LOG_DEBUG; level++) {
		driver_simple(f, ONPU_MSG_LOG_CONFIG, level, 0);
		memset(f->memory + (FAKE_LOG_BASE - FAKE_BUS), ' ', FAKE_LOG);
		driver_simple(f, 1234, 0, 0);
		driver_simple(f, ONPU_MSG_CTX_KILL, 100, 0);
		driver_submit(f, 1, 1);
		fake_settle(f);
		driver_simple(f, ONPU_MSG_QUEUE_UNBIND, 101, 1);
		driver_simple(f, ONPU_MSG_QUEUE_BIND, 101, 1);
		for (unsigned int i = 0; i < 3; i++)
			assert_int_equal(!!strstr(log_text(), lines[i]), level > i);
	}
	assert_int_equal(f->int_raised & ONPU_INT_STATUS_LOG__MASK, 0);
}

/* Lines continue at the beginning of the log's ring, and end where LOG_TAIL says. */
static void test_log_wraps(void **state)
{
	const char *text, *end;
	uint64_t before = 0;

	(void)state;
	driver_simple(f, ONPU_MSG_LOG_CONFIG, ONPU_LOG_ERROR, 1);
	f->int_raised = 0;
	for (uint32_t i = 0; i < 1000; i++) {
		uint32_t tail = f->log.tail;

		driver_simple(f, 0x1000 + i, 0, 0);
		assert_true(f->int_raised & ONPU_INT_STATUS_LOG__MASK);
		assert_true(f->log.tail > tail && f->log.tail % 4 == 0);
		f->int_raised = 0;
	}
	text = strchr(log_text(), '\n');
	assert_non_null(text);
	for (uint32_t expected = 0; *++text; text = end) {
		unsigned int number;
		uint64_t cycle;

		assert_int_equal(sscanf(text, "[0x%" SCNx64 "] request refused, type 0x%x", &cycle,
					&number),
				 2);
		assert_true(!expected || number == expected + 1);
		/* Each line has a time stamp of its own. */
		assert_true(cycle > before);
		before = cycle;
		expected = number;
		end = strchr(text, '\n');
		assert_non_null(end);
		assert_true(end[1] || number == 0x1000 + 999);
	}
	/* LOG_TAIL counts on beyond 2^32. */
	f->fw.log.tail = f->log.tail = UINT32_MAX - 15;
	driver_simple(f, 0x7777, 0, 0);
	assert_true(f->log.tail < 100);
	assert_non_null(strstr(log_text(), "77"));
}

static void test_no_log(void **state)
{
	(void)state;
	fake_init(f);
	f->log = (struct fake_ring){ .size = 0 };
	fake_boot(f);
	assert_int_equal(driver_simple(f, ONPU_MSG_LOG_CONFIG, ONPU_LOG_DEBUG, 1), ONPU_MSG_OK);
	traffic();
	assert_int_equal(fake_state(f), ONPU_STATE_READY);
	assert_int_equal(f->log.tail, 0);
	assert_int_equal(f->int_raised & ONPU_INT_STATUS_LOG__MASK, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_start, setup),
		cmocka_unit_test(test_bad_setup),
		cmocka_unit_test(test_indices),
		cmocka_unit_test_setup(test_indices_wrap, setup),
		cmocka_unit_test(test_dma_errors),
		cmocka_unit_test_setup(test_event_cannot_leave, setup),
		cmocka_unit_test_setup(test_events_wait, setup),
		cmocka_unit_test_setup(test_requests_wait, setup),
		cmocka_unit_test_setup(test_storm, setup),
		cmocka_unit_test_setup(test_log_levels, setup),
		cmocka_unit_test_setup(test_log_wraps, setup),
		cmocka_unit_test_setup(test_no_log, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
