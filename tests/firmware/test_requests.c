// SPDX-License-Identifier: MIT
/* Tests every request: its effect, each member out of range, its response. */
#include "../random.h"
#include "driver.h"

static struct fake fake, *const f = &fake;

static int setup(void **state)
{
	(void)state;
	driver_start(f);
	return 0;
}

static uint32_t request(union onpu_msg m)
{
	return driver_request(f, &m);
}

/*
 * Returns a message of @type that the firmware accepts while VM 0, context 100 on queue 0, and
 * context 101 exist.
 */
static union onpu_msg good(uint32_t type)
{
	union onpu_msg m = { .header = { .type = type } };

	switch (type) {
	case ONPU_MSG_VM_CREATE:
		return driver_vm_message(1);
	case ONPU_MSG_VM_DESTROY:
		m.vm.vm = 1;
		break;
	case ONPU_MSG_CTX_CREATE:
		return driver_context_message(102, ONPU_PRIORITY_LOW);
	case ONPU_MSG_CTX_DESTROY:
		m.ctx.context = 102;
		break;
	case ONPU_MSG_CTX_KILL:
		m.ctx.context = 100;
		break;
	case ONPU_MSG_QUEUE_BIND:
	case ONPU_MSG_QUEUE_UNBIND:
		m.queue.context = 101;
		m.queue.queue = 3;
		break;
	case ONPU_MSG_LOG_CONFIG:
		m.log_config.level = ONPU_LOG_DEBUG;
		m.log_config.interrupt = 1;
		break;
	case ONPU_MSG_SCHED_CONFIG:
		m.sched_config.slice = 12345;
		break;
	}
	return m;
}

/* The types in an order in which good() messages succeed one after the other. */
static const uint32_t types[] = {
	ONPU_MSG_VM_CREATE, ONPU_MSG_VM_DESTROY, ONPU_MSG_CTX_CREATE,	ONPU_MSG_CTX_DESTROY,
	ONPU_MSG_CTX_KILL,  ONPU_MSG_QUEUE_BIND, ONPU_MSG_QUEUE_UNBIND, ONPU_MSG_HEARTBEAT,
	ONPU_MSG_TELEMETRY, ONPU_MSG_LOG_CONFIG, ONPU_MSG_SCHED_CONFIG,
};
#define NUM_TYPES (sizeof(types) / sizeof(types[0]))

static void prepare(void)
{
	union onpu_msg m = driver_context_message(101, ONPU_PRIORITY_NORMAL);

	driver_queue(f, 0, ONPU_PRIORITY_NORMAL, (struct fake_jobs){ .cycles = 10 });
	assert_int_equal(driver_request(f, &m), ONPU_MSG_OK);
}

static unsigned int member_words(uint32_t type)
{
	switch (type) {
	case ONPU_MSG_VM_CREATE:
	case ONPU_MSG_VM_DESTROY:
		return 4;
	case ONPU_MSG_CTX_CREATE:
		return 11;
	case ONPU_MSG_QUEUE_BIND:
	case ONPU_MSG_QUEUE_UNBIND:
		return 3;
	case ONPU_MSG_LOG_CONFIG:
		return 2;
	case ONPU_MSG_CTX_DESTROY:
	case ONPU_MSG_CTX_KILL:
	case ONPU_MSG_SCHED_CONFIG:
		return 1;
	default:
		return 0;
	}
}

/* Each bit of each reserved word of each request gives INVALID and changes nothing. */
static void test_reserved(void **state)
{
	(void)state;
	prepare();
	for (size_t t = 0; t < NUM_TYPES; t++) {
		for (unsigned int w = 2; w < ONPU_MSG_SIZE / 4; w++) {
			if (w >= 4 && w < 4 + member_words(types[t]))
				continue;
			for (unsigned int bit = 0; bit < 32; bit++) {
				union onpu_msg m = good(types[t]);

				m.words[w] = UINT32_C(1) << bit;
				if (request(m) != ONPU_MSG_INVALID)
					fail_msg("type %u, word %u, bit %u", types[t], w, bit);
			}
		}
		assert_int_equal(request(good(types[t])), ONPU_MSG_OK);
	}
}

static void test_unknown(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 64; i++) {
		union onpu_msg m = { .words = { i < 32 ? ONPU_MSG_SCHED_CONFIG + 1 + i :
							 UINT32_C(1) << (i - 32) } };

		if (i >= 32 && m.words[0] <= ONPU_MSG_SCHED_CONFIG)
			m.words[0] |= 0x100;
		assert_int_equal(request(m), ONPU_MSG_UNSUPPORTED);
		/* An unknown type is refused whatever else the message holds. */
		memset(&m.words[1], 0xff, sizeof(m) - 4);
		assert_int_equal(request(m), ONPU_MSG_UNSUPPORTED);
	}
	assert_int_equal(driver_simple(f, 0, 0, 0), ONPU_MSG_UNSUPPORTED);
	assert_int_equal(driver_simple(f, ONPU_MSG_EVENT_FAULT, 0, 0), ONPU_MSG_UNSUPPORTED);
}

/* The response to a refused request has nothing but its header. */
static void test_responses(void **state)
{
	(void)state;
	prepare();
	for (size_t t = 0; t < NUM_TYPES; t++) {
		union onpu_msg m = good(types[t]);
		bool full = types[t] == ONPU_MSG_HEARTBEAT || types[t] == ONPU_MSG_TELEMETRY;

		m.header.status = 1;
		assert_int_equal(driver_request(f, &m), ONPU_MSG_INVALID);
		for (unsigned int i = 3; i < ONPU_MSG_SIZE / 4; i++)
			assert_int_equal(m.words[i], 0);
		m = good(types[t]);
		assert_int_equal(driver_request(f, &m), ONPU_MSG_OK);
		for (unsigned int i = 3; i < ONPU_MSG_SIZE / 4 && !full; i++)
			assert_int_equal(m.words[i], 0);
	}
}

static void test_vm(void **state)
{
	union onpu_msg m;

	(void)state;
	for (unsigned int n = 0; n < 8; n++) {
		m = driver_vm_message(1);
		m.vm.vm = n == 0 ? FAKE_VMS : n == 1 ? UINT32_MAX : m.vm.vm;
		m.vm.asid = n == 2 ? FAKE_ASIDS : n == 3 ? UINT32_MAX : m.vm.asid;
		m.vm.root = n == 4 ? 4 :
			    n == 5 ? 4095 :
			    n == 6 ? UINT64_C(1) << 56 :
			    n == 7 ? UINT64_C(1) << 63 :
				     m.vm.root;
		assert_int_equal(request(m), ONPU_MSG_INVALID);
	}
	m = driver_vm_message(FAKE_VMS - 1);
	m.vm.asid = FAKE_ASIDS - 1;
	m.vm.root = (UINT64_C(1) << 56) - 4096;
	assert_int_equal(request(m), ONPU_MSG_OK);
	assert_int_equal(f->vm_root[FAKE_VMS - 1], m.vm.root);
	assert_int_equal(f->vm_control[FAKE_VMS - 1],
			 ONPU_CORE_VM_CONTROL_VALID__MASK | (FAKE_ASIDS - 1));
	assert_int_equal(request(m), ONPU_MSG_EXISTS);
	m.vm.asid = 1;
	assert_int_equal(request(m), ONPU_MSG_EXISTS);
	m.vm.vm = 0;
	m.vm.asid = FAKE_ASIDS - 1;
	assert_int_equal(request(m), ONPU_MSG_EXISTS);
	m.vm.asid = 1;
	assert_int_equal(request(m), ONPU_MSG_OK);
	assert_int_equal(driver_simple(f, ONPU_MSG_VM_DESTROY, FAKE_VMS, 0), ONPU_MSG_INVALID);
	assert_int_equal(driver_simple(f, ONPU_MSG_VM_DESTROY, 0, 1), ONPU_MSG_INVALID);
	assert_int_equal(driver_simple(f, ONPU_MSG_VM_DESTROY, 1, 0), ONPU_MSG_NOT_FOUND);
	assert_int_equal(driver_simple(f, ONPU_MSG_VM_DESTROY, FAKE_VMS - 1, 0), ONPU_MSG_OK);
	assert_int_equal(f->vm_control[FAKE_VMS - 1], 0);
	m = (union onpu_msg){ .vm = { .type = ONPU_MSG_VM_DESTROY, .root = 4096 } };
	assert_int_equal(request(m), ONPU_MSG_INVALID);
	assert_int_equal(driver_telemetry(f).vms, 1);
}

static void test_vm_in_use(void **state)
{
	(void)state;
	prepare();
	assert_int_equal(driver_simple(f, ONPU_MSG_VM_DESTROY, 0, 0), ONPU_MSG_BUSY);
	assert_int_equal(driver_simple(f, ONPU_MSG_CTX_DESTROY, 101, 0), ONPU_MSG_OK);
	assert_int_equal(driver_simple(f, ONPU_MSG_VM_DESTROY, 0, 0), ONPU_MSG_BUSY);
	assert_int_equal(driver_simple(f, ONPU_MSG_QUEUE_UNBIND, 100, 0), ONPU_MSG_OK);
	assert_int_equal(driver_simple(f, ONPU_MSG_VM_DESTROY, 0, 0), ONPU_MSG_BUSY);
	assert_int_equal(driver_simple(f, ONPU_MSG_CTX_DESTROY, 100, 0), ONPU_MSG_OK);
	assert_int_equal(driver_simple(f, ONPU_MSG_VM_DESTROY, 0, 0), ONPU_MSG_OK);
}

#define END (UINT64_C(1) << 38)

static void spoil_context(struct onpu_msg_ctx_create *m, unsigned int n)
{
	const uint64_t addresses[] = { END, END << 1, UINT64_C(1) << 63, UINT64_MAX - 4095 };
	const uint32_t sizes[] = { 0, 1, 3, 4095, 8192, UINT32_C(1) << 31, UINT32_MAX };

	if (n < 4)
		m->ring = addresses[n];
	else if (n < 8)
		m->save = addresses[n - 4];
	else if (n < 12)
		m->completion = addresses[n - 8];
	else if (n < 19)
		m->ring_size = sizes[n - 12];
	else if (n == 19)
		m->ring += 32;
	else if (n == 20)
		m->save += 2048;
	else if (n == 21)
		m->completion += 64;
	else if (n == 22)
		m->ring = END - 63 * 64;
	else if (n == 23)
		m->save = END - ONPU_CAP_SAVE_BYTES__RESET + 4096;
	else if (n == 24)
		m->vector = FAKE_QUEUES + 1;
	else if (n == 25)
		m->vector = UINT32_MAX;
	else if (n == 26)
		m->priority = ONPU_PRIORITY_COUNT;
	else if (n == 27)
		m->priority = UINT32_MAX;
	else if (n == 28)
		m->context = 65536;
	else if (n == 29)
		m->vm = FAKE_VMS;
	else
		m->vm = UINT32_MAX;
}

static void test_context_members(void **state)
{
	union onpu_msg m = driver_context_message(5, ONPU_PRIORITY_HIGH);

	(void)state;
	assert_int_equal(request(m), ONPU_MSG_NOT_FOUND);
	assert_int_equal(request(driver_vm_message(0)), ONPU_MSG_OK);
	for (unsigned int n = 0; n <= 30; n++) {
		m = driver_context_message(5, ONPU_PRIORITY_HIGH);
		spoil_context(&m.ctx_create, n);
		if (request(m) != ONPU_MSG_INVALID)
			fail_msg("case %u", n);
	}
	m = driver_context_message(65535, ONPU_PRIORITY_HIGH);
	m.ctx_create.ring = END - 4096 * 64;
	m.ctx_create.ring_size = 4096;
	m.ctx_create.save = END - ONPU_CAP_SAVE_BYTES__RESET;
	m.ctx_create.completion = END - 4096;
	m.ctx_create.vector = FAKE_QUEUES;
	assert_int_equal(request(m), ONPU_MSG_OK);
	assert_int_equal(request(m), ONPU_MSG_EXISTS);
	assert_int_equal(driver_simple(f, ONPU_MSG_QUEUE_BIND, 65535, 7), ONPU_MSG_OK);
	assert_int_equal(f->queues[7].ring, m.ctx_create.ring);
	assert_int_equal(f->queues[7].save, m.ctx_create.save);
	assert_int_equal(f->queues[7].completion, m.ctx_create.completion);
	assert_int_equal(f->queues[7].ring_size, 4096);
	assert_int_equal(f->queues[7].id, 65535);
	assert_int_equal(f->queues[7].control,
			 ONPU_CORE_CONTEXT_CONTROL_VALID__MASK |
				 FAKE_QUEUES << ONPU_CORE_CONTEXT_CONTROL_VECTOR__SHIFT);
}

static void test_context_limit(void **state)
{
	unsigned int made = 0;

	(void)state;
	assert_int_equal(request(driver_vm_message(0)), ONPU_MSG_OK);
	while (request(driver_context_message(made, ONPU_PRIORITY_LOW)) == ONPU_MSG_OK)
		made++;
	assert_int_equal(made, FW_MAX_CONTEXTS);
	assert_int_equal(request(driver_context_message(made, 0)), ONPU_MSG_BUSY);
	assert_int_equal(driver_telemetry(f).contexts, made);
	assert_int_equal(driver_simple(f, ONPU_MSG_CTX_DESTROY, 17, 0), ONPU_MSG_OK);
	assert_int_equal(request(driver_context_message(made, 0)), ONPU_MSG_OK);
}

static void test_binding(void **state)
{
	(void)state;
	prepare();
	assert_int_equal(driver_simple(f, ONPU_MSG_QUEUE_BIND, 101, FAKE_QUEUES), ONPU_MSG_INVALID);
	assert_int_equal(driver_simple(f, ONPU_MSG_QUEUE_BIND, 101, UINT32_MAX), ONPU_MSG_INVALID);
	assert_int_equal(driver_simple(f, ONPU_MSG_QUEUE_BIND, 99, 1), ONPU_MSG_NOT_FOUND);
	assert_int_equal(driver_simple(f, ONPU_MSG_QUEUE_BIND, UINT32_MAX, 1), ONPU_MSG_NOT_FOUND);
	assert_int_equal(driver_simple(f, ONPU_MSG_QUEUE_BIND, 65536 + 101, 1), ONPU_MSG_NOT_FOUND);
	assert_int_equal(driver_simple(f, ONPU_MSG_QUEUE_BIND, 101, 0), ONPU_MSG_BUSY);
	assert_int_equal(driver_simple(f, ONPU_MSG_QUEUE_BIND, 100, 1), ONPU_MSG_BUSY);
	assert_int_equal(driver_simple(f, ONPU_MSG_QUEUE_UNBIND, 100, FAKE_QUEUES),
			 ONPU_MSG_INVALID);
	for (uint32_t mode = ONPU_QUEUE_PREEMPT; mode < 5; mode++) {
		const union onpu_msg m = { .words = { 0, 0, 0, 0, 100, 0, mode } };
		union onpu_msg bind = m, unbind = m;

		bind.header.type = ONPU_MSG_QUEUE_BIND;
		unbind.header.type = ONPU_MSG_QUEUE_UNBIND;
		if (mode != ONPU_QUEUE_RESUME)
			assert_int_equal(driver_request(f, &bind), ONPU_MSG_INVALID);
		if (mode != ONPU_QUEUE_PREEMPT)
			assert_int_equal(driver_request(f, &unbind), ONPU_MSG_INVALID);
	}
	assert_int_equal(driver_simple(f, ONPU_MSG_QUEUE_UNBIND, 100, 1), ONPU_MSG_NOT_FOUND);
	assert_int_equal(driver_simple(f, ONPU_MSG_QUEUE_UNBIND, 99, 0), ONPU_MSG_NOT_FOUND);
	assert_int_equal(driver_simple(f, ONPU_MSG_CTX_DESTROY, 100, 0), ONPU_MSG_BUSY);
	assert_int_equal(driver_simple(f, ONPU_MSG_CTX_DESTROY, 99, 0), ONPU_MSG_NOT_FOUND);
	assert_int_equal(driver_simple(f, ONPU_MSG_CTX_KILL, 99, 0), ONPU_MSG_NOT_FOUND);
	f->refuses_binding = true;
	assert_int_equal(driver_simple(f, ONPU_MSG_QUEUE_BIND, 101, 2), ONPU_MSG_INTERNAL);
	f->refuses_binding = false;
	assert_int_equal(driver_telemetry(f).queues, 1);
	assert_int_equal(driver_simple(f, ONPU_MSG_QUEUE_BIND, 101, 2), ONPU_MSG_OK);
	assert_int_equal(driver_telemetry(f).queues, 2);
}

static void test_heartbeat(void **state)
{
	union onpu_msg m = { .header = { .type = ONPU_MSG_HEARTBEAT } };
	uint64_t cycle, beats;

	(void)state;
	f->now = UINT64_C(0x123ffffff00);
	assert_int_equal(driver_request(f, &m), ONPU_MSG_OK);
	cycle = m.heartbeat.cycle;
	beats = m.heartbeat.beats;
	assert_true(cycle > UINT64_C(0x123ffffff00) && cycle < f->now);
	fake_pass(f, 1000);
	m = (union onpu_msg){ .header = { .type = ONPU_MSG_HEARTBEAT } };
	assert_int_equal(driver_request(f, &m), ONPU_MSG_OK);
	assert_true(m.heartbeat.cycle >= cycle + 1000 && m.heartbeat.cycle < f->now);
	assert_true(m.heartbeat.beats > beats);
}

static void test_telemetry(void **state)
{
	struct onpu_msg_telemetry t;
	uint64_t slept;

	(void)state;
	prepare(); /* 4 requests */
	driver_queue(f, 2, ONPU_PRIORITY_NORMAL, (struct fake_jobs){ .cycles = 10, .fault_at = 5 });
	assert_int_equal(driver_simple(f, 77, 0, 0), ONPU_MSG_UNSUPPORTED);
	assert_int_equal(driver_simple(f, ONPU_MSG_CTX_KILL, 9, 0), ONPU_MSG_NOT_FOUND);
	driver_submit(f, 0, 2);
	fake_settle(f);
	driver_submit(f, 2, 1);
	fake_settle(f);
	assert_int_equal(driver_events(f), 1);
	t = driver_telemetry(f);
	assert_int_equal(t.requests, 9);
	assert_int_equal(t.errors, 2);
	assert_int_equal(t.switches, 2);
	assert_int_equal(t.faults, 1);
	assert_int_equal(t.contexts, 3);
	assert_int_equal(t.queues, 2);
	assert_int_equal(t.vms, 1);
	slept = t.idle_cycles;
	assert_true(slept < f->now);
	/* The firmware sleeps while a job of 100,000 cycles runs; these count as idle. */
	f->queues[0].jobs.cycles = 100000;
	driver_submit(f, 0, 1);
	fake_settle(f);
	t = driver_telemetry(f);
	assert_true(t.idle_cycles - slept > 99000 && t.idle_cycles < f->now);
	assert_int_equal(t.requests, 10);
	assert_int_equal(t.switches, 3);
}

static void test_configuration(void **state)
{
	(void)state;
	assert_int_equal(f->cp.slice, FW_DEFAULT_SLICE);
	assert_true(FW_DEFAULT_SLICE);
	assert_int_equal(driver_simple(f, ONPU_MSG_SCHED_CONFIG, 0, 0), ONPU_MSG_OK);
	assert_int_equal(f->cp.slice, 0);
	assert_int_equal(driver_simple(f, ONPU_MSG_SCHED_CONFIG, UINT32_MAX, 0), ONPU_MSG_OK);
	assert_int_equal(f->cp.slice, UINT32_MAX);
	for (unsigned int level = 0; level < 6; level++)
		for (unsigned int interrupt = 0; interrupt < 3; interrupt++)
			assert_int_equal(driver_simple(f, ONPU_MSG_LOG_CONFIG, level, interrupt),
					 level <= ONPU_LOG_DEBUG && interrupt <= 1 ?
						 ONPU_MSG_OK :
						 ONPU_MSG_INVALID);
	assert_int_equal(driver_simple(f, ONPU_MSG_LOG_CONFIG, UINT32_MAX, 0), ONPU_MSG_INVALID);
}

/* Random messages are answered one by one, and the firmware works as before. */
static void test_random_messages(void **state)
{
	struct rng rng = { 1 };

	(void)state;
	prepare();
	for (unsigned int i = 0; i < 20000; i++) {
		union onpu_msg m;

		for (unsigned int w = 0; w < ONPU_MSG_SIZE / 4; w++) {
			m.words[w] = i % 3 && w > 3 ? rng_u32(&rng) % 8 : rng_u32(&rng);
		}
		if (i % 3) {
			m.words[0] %= 14;
			m.words[2] = 0;
			m.words[3] = 0;
			for (unsigned int w = 4 + (m.words[1] & 15); w < ONPU_MSG_SIZE / 4; w++)
				m.words[w] = 0;
		}
		m.header.type &= ~ONPU_MSG_RESPONSE;
		driver_request(f, &m);
	}
	assert_int_equal(driver_simple(f, ONPU_MSG_HEARTBEAT, 0, 0), ONPU_MSG_OK);
	assert_int_equal(fake_state(f), ONPU_STATE_READY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_reserved, setup),
		cmocka_unit_test_setup(test_unknown, setup),
		cmocka_unit_test_setup(test_responses, setup),
		cmocka_unit_test_setup(test_vm, setup),
		cmocka_unit_test_setup(test_vm_in_use, setup),
		cmocka_unit_test_setup(test_context_members, setup),
		cmocka_unit_test_setup(test_context_limit, setup),
		cmocka_unit_test_setup(test_binding, setup),
		cmocka_unit_test_setup(test_heartbeat, setup),
		cmocka_unit_test_setup(test_telemetry, setup),
		cmocka_unit_test_setup(test_configuration, setup),
		cmocka_unit_test_setup(test_random_messages, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
