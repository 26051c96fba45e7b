// SPDX-License-Identifier: MIT
/*
 * Runs the firmware's image on the model's management core: contexts of several priorities, whose
 * results must be bit for bit those of a run alone; kills, faults, heartbeats under load, hostile
 * requests.
 */
#include "../random.h"
#include "rig.h"

#include "jobs.h"

#define COUNT  5
#define LOW    ONPU_PRIORITY_LOW
#define NORMAL ONPU_PRIORITY_NORMAL
#define HIGH   ONPU_PRIORITY_HIGH

static struct rig rig;
static struct rig_vm vms[COUNT];
static struct rig_context contexts[COUNT];

/*
 * Makes the firmware's side of a context again with another priority; the rig's contexts have
 * normal priority.
 */
static void set_priority(struct rig_context *c, enum onpu_priority priority)
{
	union onpu_msg m = { .ctx_create = {
				     .type = ONPU_MSG_CTX_CREATE,
				     .context = c->id,
				     .vm = c->vm->index,
				     .ring = c->ring_va,
				     .ring_size = RIG_RING,
				     .completion = c->completion_va,
				     .save = c->save_va,
				     .vector = c->queue + 1,
				     .priority = priority,
			     } };

	assert_int_equal(rig_simple(&rig, ONPU_MSG_QUEUE_UNBIND, c->id, c->queue), ONPU_MSG_OK);
	assert_int_equal(rig_simple(&rig, ONPU_MSG_CTX_DESTROY, c->id, 0), ONPU_MSG_OK);
	assert_int_equal(rig_request(&rig, &m), ONPU_MSG_OK);
	assert_int_equal(rig_simple(&rig, ONPU_MSG_QUEUE_BIND, c->id, c->queue), ONPU_MSG_OK);
}

static void start(unsigned int count, const enum onpu_priority *priorities)
{
	rig_start(&rig, JOB_SRAM, 8, false);
	for (unsigned int i = 0; i < count; i++) {
		rig_vm_create(&rig, &vms[i], i);
		rig_context_create(&rig, &contexts[i], &vms[i], 10 + i, i);
		if (priorities)
			set_priority(&contexts[i], priorities[i]);
	}
}

static int teardown(void **state)
{
	(void)state;
	rig_destroy(&rig);
	return 0;
}

static void set_slice(uint32_t cycles)
{
	assert_int_equal(rig_simple(&rig, ONPU_MSG_SCHED_CONFIG, cycles, 0), ONPU_MSG_OK);
}

static void submit(struct rig_context *c, const struct program *p)
{
	struct onpu_ring_job job = rig_job(p);

	rig_submit(&rig, c, &job, true);
}

static struct onpu_msg_telemetry telemetry(void)
{
	union onpu_msg m = { .header = { .type = ONPU_MSG_TELEMETRY } };

	assert_int_equal(rig_request(&rig, &m), ONPU_MSG_OK);
	return m.telemetry;
}

/*
 * Compares data, code and cycles of the context's last job with a run of the program on a machine
 * alone.
 */
static void expect_like_alone(struct program *p, const struct rig_context *c)
{
	struct onpu_machine *m = onpu_machine_create(&rig.config.sim, NULL);
	struct onpu_completion done = rig_completion(&rig, c);

	assert_non_null(m);
	p->result.fault.code = 0;
	assert_true(onpu_machine_run(m, &p->mem, &p->job, &p->result));
	onpu_machine_destroy(m);
	assert_int_equal(done.seqno, c->seqno);
	assert_int_equal(done.error, 0);
	assert_int_equal(done.code, p->result.code);
	assert_int_equal(done.cycles, p->result.cycles);
	assert_memory_equal(rig_at(&rig, c->data), p->data, p->data_size);
}

/* ---- Priorities, preemption and slices ---- */

static void test_priorities(void **state)
{
	const enum onpu_priority priorities[COUNT] = { LOW, LOW, NORMAL, NORMAL, HIGH };
	struct program *p[COUNT];
	uint64_t end[COUNT];

	(void)state;
	start(COUNT, priorities);
	set_slice(400);
	for (unsigned int i = 0; i < COUNT; i++) {
		p[i] = job_stages(30 + i, (float)i);
		rig_load(&rig, &contexts[i], p[i]);
	}
	/* The lower priorities run already when the higher ones come. */
	for (unsigned int i = 0; i < COUNT; i++) {
		submit(&contexts[i], p[i]);
		if (i % 2)
			onpu_device_run(rig.device, 3000);
	}
	rig_settle(&rig);
	for (unsigned int i = 0; i < COUNT; i++) {
		expect_like_alone(p[i], &contexts[i]);
		end[i] = rig_completion(&rig, &contexts[i]).end_cycle;
		program_destroy(p[i]);
	}
	assert_true(end[4] < end[2] && end[4] < end[3]);
	assert_true(end[2] < end[0] && end[2] < end[1] && end[3] < end[0] && end[3] < end[1]);
	assert_true(telemetry().switches > 10);
}

/* Measures how long a job of high priority takes while a lower one is in a long program. */
static void test_preemption_latency(void **state)
{
	const enum onpu_priority priorities[] = { NORMAL, HIGH };
	struct program *longer = job_stages(400, 1.0f), *urgent = job_stages(1, 2.0f);
	uint64_t rung;

	(void)state;
	start(2, priorities);
	rig_load(&rig, &contexts[0], longer);
	rig_load(&rig, &contexts[1], urgent);
	submit(&contexts[0], longer);
	for (unsigned int i = 0; i < 5; i++) {
		onpu_device_run(rig.device, 8000 + i * 131);
		assert_int_equal(rig_read(&rig, ONPU_REG_QUEUE_STATE(0)), ONPU_QUEUE_RUNNING);
		rung = onpu_device_cycle(rig.device);
		submit(&contexts[1], urgent);
		onpu_device_run(rig.device, 7000);
		assert_int_equal(rig_completion(&rig, &contexts[1]).seqno, i + 1);
		assert_true(rig_completion(&rig, &contexts[1]).end_cycle - rung < 6000);
		assert_int_equal(rig_completion(&rig, &contexts[0]).seqno, 0);
	}
	rig_settle(&rig);
	expect_like_alone(longer, &contexts[0]);
	assert_int_equal(rig_completion(&rig, &contexts[1]).error, 0);
	/*
	 * Each urgent job makes two switches, there and back; the first one to the long job is one
	 * more.
	 */
	assert_int_equal(telemetry().switches, 11);
	program_destroy(longer);
	program_destroy(urgent);
}

/* One client always has the next job ready; another one of the same priority must still run. */
static void test_endless(void **state)
{
	struct program *greedy = job_stages(20, 1.0f), *p = job_stages(10, 2.0f);
	const uint64_t slice = 1000000;
	uint64_t asked = 0, total = 0;

	(void)state;
	start(2, NULL);
	rig_load(&rig, &contexts[0], greedy);
	rig_load(&rig, &contexts[1], p);
	while (rig_completion(&rig, &contexts[1]).seqno < 2) {
		while (contexts[0].tail - rig_read(&rig, ONPU_REG_QUEUE_HEAD(0)) < RIG_RING)
			submit(&contexts[0], greedy);
		onpu_device_run(rig.device, 20000);
		total = onpu_device_cycle(rig.device);
		if (total > 100000 && contexts[1].seqno < 2) {
			submit(&contexts[1], p);
			submit(&contexts[1], p);
			asked = total;
		}
		/* The bound is generous, because jobs cost time that their cycles do not show. */
		assert_true(total < 3 * slice);
	}
	assert_true(asked);
	expect_like_alone(p, &contexts[1]);
	assert_true(rig_read64(&rig, ONPU_REG_QUEUE_RUN_CYCLES_LO(0)) >= slice);
	rig_settle(&rig);
	assert_int_equal(rig_completion(&rig, &contexts[0]).seqno, contexts[0].seqno);
	program_destroy(greedy);
	program_destroy(p);
}

/* ---- Kill ---- */

/* The victim runs, waits, or is being switched in or out; after the response it is gone. */
static void test_kill(void **state)
{
	struct program *victim = job_stages(30, 1.0f), *p = job_stages(12, 2.0f);

	(void)state;
	for (unsigned int delay = 0; delay < 4000; delay += 211) {
		uint8_t before[JOB_DATA];

		start(3, (const enum onpu_priority[]){ NORMAL, NORMAL, LOW });
		set_slice(300);
		rig_load(&rig, &contexts[0], victim);
		rig_load(&rig, &contexts[1], p);
		rig_load(&rig, &contexts[2], p);
		for (unsigned int i = 0; i < 3; i++)
			submit(&contexts[i], i ? p : victim);
		onpu_device_run(rig.device, delay);
		assert_int_equal(rig_simple(&rig, ONPU_MSG_CTX_KILL, 10, 0), ONPU_MSG_OK);
		assert_int_equal(rig_read(&rig, ONPU_REG_QUEUE_STATE(0)), ONPU_QUEUE_FAULTED);
		assert_int_equal(rig_simple(&rig, ONPU_MSG_QUEUE_UNBIND, 10, 0), ONPU_MSG_OK);
		assert_int_equal(rig_simple(&rig, ONPU_MSG_CTX_DESTROY, 10, 0), ONPU_MSG_OK);
		assert_int_equal(rig_simple(&rig, ONPU_MSG_VM_DESTROY, 0, 0), ONPU_MSG_OK);
		memcpy(before, rig_at(&rig, contexts[0].data), JOB_DATA);
		rig_settle(&rig);
		assert_memory_equal(rig_at(&rig, contexts[0].data), before, JOB_DATA);
		assert_int_equal(rig_completion(&rig, &contexts[0]).seqno, 0);
		expect_like_alone(p, &contexts[1]);
		program_destroy(p);
		p = job_stages(12, 2.0f);
		expect_like_alone(p, &contexts[2]);
		program_destroy(p);
		p = job_stages(12, 2.0f);
		rig_collect(&rig);
		assert_int_equal(rig.num_events, 0);
		rig_destroy(&rig);
	}
	program_destroy(victim);
	program_destroy(p);
}

/* ---- Faults ---- */

/* The event of a faulted queue comes before the response that unbinds the queue. */
static void test_event_comes_first(void **state)
{
	struct program *p = program_create(JOB_SRAM, JOB_DATA);

	(void)state;
	program_insn(p, (struct onpu_insn){ .op = ONPU_OP_TRAP, .code = 9 });
	program_job(p);
	start(1, NULL);
	rig_load(&rig, &contexts[0], p);
	for (unsigned int delay = 0; delay < 2000; delay += 13) {
		uint32_t status;

		rig.num_events = 0;
		submit(&contexts[0], p);
		onpu_device_run(rig.device, delay);
		do {
			status = rig_simple(&rig, ONPU_MSG_QUEUE_UNBIND, 10, 0);
		} while (status == ONPU_MSG_BUSY);
		assert_int_equal(status, ONPU_MSG_OK);
		assert_int_equal(rig.num_events, 1);
		assert_int_equal(rig.events[0].code, ONPU_FAULT_TRAP);
		assert_int_equal(rig.events[0].context, 10);
		assert_int_equal(rig.events[0].seqno, contexts[0].seqno);
		assert_int_equal(rig_simple(&rig, ONPU_MSG_QUEUE_BIND, 10, 0), ONPU_MSG_OK);
		contexts[0].tail = 0;
	}
	program_destroy(p);
}

/* ---- Heartbeat ---- */

static void test_heartbeat_under_load(void **state)
{
	struct program *p[3];
	uint64_t beats = 0;

	(void)state;
	start(3, (const enum onpu_priority[]){ NORMAL, NORMAL, HIGH });
	set_slice(200);
	for (unsigned int i = 0; i < 3; i++) {
		p[i] = job_stages(150, (float)i);
		rig_load(&rig, &contexts[i], p[i]);
		submit(&contexts[i], p[i]);
	}
	for (unsigned int i = 0; i < 20; i++) {
		union onpu_msg m = { .header = { .type = ONPU_MSG_HEARTBEAT } };
		uint64_t asked = onpu_device_cycle(rig.device);

		assert_int_equal(rig_request(&rig, &m), ONPU_MSG_OK);
		assert_true(m.heartbeat.cycle - asked < 10000);
		assert_true(m.heartbeat.beats > beats);
		beats = m.heartbeat.beats;
		onpu_device_run(rig.device, 2000);
	}
	rig_settle(&rig);
	for (unsigned int i = 0; i < 3; i++) {
		expect_like_alone(p[i], &contexts[i]);
		program_destroy(p[i]);
	}
}

/* ---- Hostile requests ---- */

static struct rng rng = { 3 };

/*
 * Returns random words, or one of the first types with members that are random, small or aligned; a
 * bit of either may be flipped.
 */
static union onpu_msg random_message(void)
{
	unsigned int kind = rng_u32(&rng) % 4;
	union onpu_msg m;

	for (unsigned int w = 0; w < ONPU_MSG_SIZE / 4; w++)
		m.words[w] = kind == 3 && w > 3 ? rng_u32(&rng) % 16 << (rng_u32(&rng) % 3 * 12) :
						  rng_u32(&rng);
	if (kind) {
		m.words[0] = rng_u32(&rng) % (ONPU_MSG_SCHED_CONFIG + 2);
		m.words[2] = 0;
		m.words[3] = 0;
		for (unsigned int w = 4 + rng_u32(&rng) % 12; w < ONPU_MSG_SIZE / 4; w++)
			m.words[w] = 0;
	}
	if (rng_u32(&rng) % 8 == 0)
		m.words[rng_u32(&rng) % 16] ^= UINT32_C(1) << rng_u32(&rng) % 32;
	m.words[0] &= ~ONPU_MSG_RESPONSE;
	return m;
}

static void test_hostile_messages(void **state)
{
	const unsigned int count = 20000;
	struct onpu_msg_telemetry t;
	uint64_t refused = 0;

	(void)state;
	start(0, NULL);
	for (unsigned int i = 0; i < count; i++) {
		union onpu_msg m = random_message();

		refused += rig_request(&rig, &m) != ONPU_MSG_OK;
	}
	assert_int_equal(rig_read(&rig, ONPU_REG_STATUS), ONPU_STATE_READY);
	assert_int_equal(rig_simple(&rig, ONPU_MSG_HEARTBEAT, 0, 0), ONPU_MSG_OK);
	t = telemetry();
	assert_int_equal(t.requests, count + 2);
	assert_int_equal(t.errors, refused);
	assert_true(refused > count / 4 && refused < count);
}

/* Hostile requests do no harm to the jobs of contexts at work. */
static void test_hostile_beside_work(void **state)
{
	struct program *p = job_stages(200, 1.0f);

	(void)state;
	start(1, NULL);
	rig_load(&rig, &contexts[0], p);
	submit(&contexts[0], p);
	while (rig_completion(&rig, &contexts[0]).seqno < 1) {
		union onpu_msg m = random_message();

		/* The request must not name the context's own number, VM or queue by accident. */
		for (unsigned int w = 4; w < 6; w++)
			if (m.words[w] == 10 || !m.words[w])
				m.words[w] = 11;
		if (m.header.type == ONPU_MSG_LOG_CONFIG)
			m.words[0] = ONPU_MSG_HEARTBEAT;
		rig_request(&rig, &m);
	}
	rig_settle(&rig);
	expect_like_alone(p, &contexts[0]);
	assert_int_equal(rig_read(&rig, ONPU_REG_STATUS), ONPU_STATE_READY);
	program_destroy(p);
}

/* The driver fills the whole request ring again and again. */
static void test_storm(void **state)
{
	struct program *p = job_stages(100, 1.0f);
	uint32_t tail, sent = 0;

	(void)state;
	start(2, NULL);
	set_slice(500);
	for (unsigned int i = 0; i < 2; i++) {
		rig_load(&rig, &contexts[i], p);
		submit(&contexts[i], p);
	}
	while (rig_completion(&rig, &contexts[0]).seqno + rig_completion(&rig, &contexts[1]).seqno <
	       2) {
		tail = rig_read(&rig, ONPU_REG_REQUEST_HEAD) + RIG_RING;
		for (uint32_t i = rig.request_tail; i != tail; i++, sent++) {
			union onpu_msg m = { .words = { 0x5555, i } };

			memcpy(rig_at(&rig, rig.requests + i % RIG_RING * ONPU_MSG_SIZE), &m,
			       sizeof(m));
		}
		rig.request_tail = tail;
		rig_write(&rig, ONPU_REG_REQUEST_TAIL, tail);
		rig.response_head = rig_read(&rig, ONPU_REG_RESPONSE_TAIL);
		rig_write(&rig, ONPU_REG_RESPONSE_HEAD, rig.response_head);
		onpu_device_run(rig.device, 1000);
		assert_true(sent < 10000);
	}
	assert_true(sent > 30);
	expect_like_alone(p, &contexts[0]);
	program_destroy(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_priorities, teardown),
		cmocka_unit_test_teardown(test_preemption_latency, teardown),
		cmocka_unit_test_teardown(test_endless, teardown),
		cmocka_unit_test(test_kill),
		cmocka_unit_test_teardown(test_event_comes_first, teardown),
		cmocka_unit_test_teardown(test_heartbeat_under_load, teardown),
		cmocka_unit_test_teardown(test_hostile_messages, teardown),
		cmocka_unit_test_teardown(test_hostile_beside_work, teardown),
		cmocka_unit_test_teardown(test_storm, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
