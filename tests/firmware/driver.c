// SPDX-License-Identifier: MIT
/* Implements driver.h: sends requests to the firmware and checks its responses. */
#include "driver.h"

struct onpu_msg_event_fault driver_event[ONPU_MAX_QUEUES];
static unsigned int num_events;

void driver_start(struct fake *f)
{
	fake_init(f);
	num_events = 0;
	fake_boot(f);
	assert_int_equal(fake_state(f), ONPU_STATE_READY);
}

void driver_expect_failed(struct fake *f, uint32_t detail)
{
	assert_true(f->fw.failed);
	assert_int_equal(fake_state(f), ONPU_STATE_FAILED);
	assert_int_equal((f->status & ONPU_STATUS_ERROR__MASK) >> ONPU_STATUS_ERROR__SHIFT,
			 ONPU_BOOT_ERROR_FIRMWARE);
	assert_int_equal(fake_detail(f), detail);
	assert_int_equal(f->cp.run_queue, ONPU_NO_QUEUE);
}

static void keep_event(const union onpu_msg *m)
{
	assert_int_equal(m->header.type, ONPU_MSG_EVENT_FAULT);
	assert_true(num_events < ONPU_MAX_QUEUES);
	for (uint32_t i = ONPU_REG_MSG_EVENT_FAULT_CODE / 4 + 1; i < ONPU_MSG_SIZE / 4; i++)
		assert_int_equal(m->words[i], 0);
	driver_event[num_events++] = m->event_fault;
}

unsigned int driver_events(struct fake *f)
{
	union onpu_msg m;

	while (fake_take(f, &m))
		keep_event(&m);
	return num_events;
}

uint32_t driver_request(struct fake *f, union onpu_msg *m)
{
	uint32_t type = m->header.type, id = ++f->id;

	m->header.id = id;
	fake_put(f, m);
	for (unsigned int i = 0; i < 10000; i++) {
		fake_run(f, 50);
		while (fake_take(f, m)) {
			if (m->header.type == (type | ONPU_MSG_RESPONSE)) {
				assert_int_equal(m->header.id, id);
				return m->header.status;
			}
			keep_event(m);
		}
	}
	fail_msg("no response to message %#x", type);
	return 0;
}

uint32_t driver_simple(struct fake *f, uint32_t type, uint32_t first, uint32_t second)
{
	union onpu_msg m = { .words = { type, 0, 0, 0, first, second } };

	return driver_request(f, &m);
}

union onpu_msg driver_vm_message(uint32_t vm)
{
	return (union onpu_msg){ .vm = {
					 .type = ONPU_MSG_VM_CREATE,
					 .vm = vm,
					 .asid = 7 + vm,
					 .root = 4096,
				 } };
}

union onpu_msg driver_context_message(uint32_t id, enum onpu_priority priority)
{
	return (union onpu_msg){ .ctx_create = {
					 .type = ONPU_MSG_CTX_CREATE,
					 .context = id,
					 .vm = 0,
					 .ring = DRIVER_VA,
					 .save = DRIVER_VA + 4096,
					 .completion = DRIVER_VA + (64 << 20),
					 .ring_size = 64,
					 .vector = 1,
					 .priority = priority,
				 } };
}

void driver_queue_of(struct fake *f, uint32_t vm, uint32_t queue, enum onpu_priority priority,
		     struct fake_jobs jobs)
{
	union onpu_msg m = driver_vm_message(vm);

	if (!f->fw.vms[vm].used)
		assert_int_equal(driver_request(f, &m), ONPU_MSG_OK);
	m = driver_context_message(100 + queue, priority);
	m.ctx_create.vm = vm;
	assert_int_equal(driver_request(f, &m), ONPU_MSG_OK);
	assert_int_equal(driver_simple(f, ONPU_MSG_QUEUE_BIND, 100 + queue, queue), ONPU_MSG_OK);
	f->queues[queue].jobs = jobs;
}

void driver_queue(struct fake *f, uint32_t queue, enum onpu_priority priority,
		  struct fake_jobs jobs)
{
	driver_queue_of(f, 0, queue, priority, jobs);
}

void driver_submit(struct fake *f, uint32_t queue, uint32_t count)
{
	fake_doorbell(f, queue, f->queues[queue].tail + count);
}

struct onpu_msg_telemetry driver_telemetry(struct fake *f)
{
	union onpu_msg m = { .header = { .type = ONPU_MSG_TELEMETRY } };

	assert_int_equal(driver_request(f, &m), ONPU_MSG_OK);
	return m.telemetry;
}
