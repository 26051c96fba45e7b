// SPDX-License-Identifier: MIT
/* Tests messages: every status of every request, full rings, and the invalidation protocol. */
#include "rig.h"

#include "jobs.h"

static struct rig rig;

static int setup(void **state)
{
	(void)state;
	rig_start(&rig, JOB_SRAM, 4, true);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	rig_destroy(&rig);
	return 0;
}

static uint32_t vm_create(uint32_t vm, uint32_t asid, uint64_t root)
{
	union onpu_msg m = {
		.vm = { .type = ONPU_MSG_VM_CREATE, .vm = vm, .asid = asid, .root = root }
	};

	return rig_request(&rig, &m);
}

static void test_vms(void **state)
{
	(void)state;
	assert_int_equal(vm_create(64, 1, 0), ONPU_MSG_INVALID);
	assert_int_equal(vm_create(0, 65536, 0), ONPU_MSG_INVALID);
	assert_int_equal(vm_create(0, 1, 64), ONPU_MSG_INVALID);
	assert_int_equal(vm_create(0, 1, UINT64_C(1) << 56), ONPU_MSG_INVALID);
	assert_int_equal(vm_create(63, 65535, (UINT64_C(1) << 56) - 4096), ONPU_MSG_OK);
	assert_int_equal(vm_create(63, 2, 0), ONPU_MSG_EXISTS);
	assert_int_equal(vm_create(2, 65535, 0), ONPU_MSG_EXISTS);
	assert_int_equal(rig_simple(&rig, ONPU_MSG_VM_DESTROY, 64, 0), ONPU_MSG_INVALID);
	assert_int_equal(rig_simple(&rig, ONPU_MSG_VM_DESTROY, 63, 1), ONPU_MSG_INVALID);
	assert_int_equal(rig_simple(&rig, ONPU_MSG_VM_DESTROY, 1, 0), ONPU_MSG_NOT_FOUND);
	assert_int_equal(rig_simple(&rig, ONPU_MSG_VM_DESTROY, 63, 0), ONPU_MSG_OK);
	assert_int_equal(vm_create(2, 65535, 0), ONPU_MSG_OK);
}

static struct onpu_msg_ctx_create context_message(uint32_t id)
{
	return (struct onpu_msg_ctx_create){
		.type = ONPU_MSG_CTX_CREATE,
		.context = id,
		.vm = 0,
		.ring = RIG_KERNEL_VA,
		.save = RIG_KERNEL_VA + 4096,
		.completion = RIG_KERNEL_VA + 8192,
		.ring_size = 2,
		.vector = 4,
		.priority = ONPU_PRIORITY_HIGH,
	};
}

static uint32_t context_create(struct onpu_msg_ctx_create message)
{
	union onpu_msg m = { .ctx_create = message };

	return rig_request(&rig, &m);
}

static void test_context_members(void **state)
{
	struct onpu_msg_ctx_create m;

	(void)state;
	assert_int_equal(context_create(context_message(1)), ONPU_MSG_NOT_FOUND);
	assert_int_equal(vm_create(0, 9, 0), ONPU_MSG_OK);
	for (unsigned int n = 0; n < 14; n++) {
		m = context_message(1);
		m.context = n == 0 ? 65536 : m.context;
		m.vm = n == 1 ? 64 : m.vm;
		m.ring += n == 2 ? 32 : 0;
		m.save += n == 3 ? 64 : 0;
		m.completion += n == 4 ? 128 : 0;
		m.ring += n == 5 ? RIG_KERNEL_VA : 0;
		m.save += n == 6 ? UINT64_C(1) << 40 : 0;
		m.completion += n == 7 ? UINT64_C(1) << 63 : 0;
		m.ring_size = n == 8 ? 0 : n == 9 ? 1 : n == 10 ? 3 : n == 11 ? 8192 : m.ring_size;
		m.vector = n == 12 ? 5 : m.vector;
		m.priority = n == 13 ? ONPU_PRIORITY_COUNT : m.priority;
		assert_int_equal(context_create(m), ONPU_MSG_INVALID);
	}
	m = context_message(1);
	m.mbz_3c = 1;
	assert_int_equal(context_create(m), ONPU_MSG_INVALID);
	m = context_message(1);
	m.mbz_0c = 1;
	assert_int_equal(context_create(m), ONPU_MSG_INVALID);
	m = context_message(1);
	m.status = 1;
	assert_int_equal(context_create(m), ONPU_MSG_INVALID);
	assert_int_equal(context_create(context_message(1)), ONPU_MSG_OK);
	assert_int_equal(context_create(context_message(1)), ONPU_MSG_EXISTS);
}

static void test_context_life(void **state)
{
	unsigned int made = 0;

	(void)state;
	assert_int_equal(vm_create(0, 9, 0), ONPU_MSG_OK);
	while (context_create(context_message(1000 + made)) == ONPU_MSG_OK)
		made++;
	assert_true(made >= 4 && made < 1000);
	assert_int_equal(context_create(context_message(5000)), ONPU_MSG_BUSY);
	assert_int_equal(rig_simple(&rig, ONPU_MSG_VM_DESTROY, 0, 0), ONPU_MSG_BUSY);
	assert_int_equal(rig_simple(&rig, ONPU_MSG_QUEUE_BIND, 1000, 4), ONPU_MSG_INVALID);
	assert_int_equal(rig_simple(&rig, ONPU_MSG_QUEUE_BIND, 999, 1), ONPU_MSG_NOT_FOUND);
	assert_int_equal(rig_simple(&rig, ONPU_MSG_QUEUE_UNBIND, 1000, 1), ONPU_MSG_NOT_FOUND);
	assert_int_equal(rig_simple(&rig, ONPU_MSG_QUEUE_BIND, 1000, 1), ONPU_MSG_OK);
	assert_int_equal(rig_simple(&rig, ONPU_MSG_QUEUE_BIND, 1001, 1), ONPU_MSG_BUSY);
	assert_int_equal(rig_simple(&rig, ONPU_MSG_QUEUE_BIND, 1000, 2), ONPU_MSG_BUSY);
	assert_int_equal(rig_simple(&rig, ONPU_MSG_QUEUE_UNBIND, 1000, 2), ONPU_MSG_NOT_FOUND);
	assert_int_equal(rig_simple(&rig, ONPU_MSG_QUEUE_UNBIND, 1000, 4), ONPU_MSG_INVALID);
	assert_int_equal(rig_simple(&rig, ONPU_MSG_CTX_DESTROY, 1000, 0), ONPU_MSG_BUSY);
	assert_int_equal(rig_simple(&rig, ONPU_MSG_CTX_KILL, 999, 0), ONPU_MSG_NOT_FOUND);
	assert_int_equal(rig_simple(&rig, ONPU_MSG_CTX_KILL, 1001, 0), ONPU_MSG_OK);
	assert_int_equal(rig_simple(&rig, ONPU_MSG_QUEUE_UNBIND, 1000, 1), ONPU_MSG_OK);
	assert_int_equal(rig_read(&rig, ONPU_REG_QUEUE_STATE(1)), ONPU_QUEUE_UNBOUND);
	for (unsigned int i = 0; i < made; i++)
		assert_int_equal(rig_simple(&rig, ONPU_MSG_CTX_DESTROY, 1000 + i, 0), ONPU_MSG_OK);
	assert_int_equal(rig_simple(&rig, ONPU_MSG_CTX_DESTROY, 1000, 0), ONPU_MSG_NOT_FOUND);
	assert_int_equal(rig_simple(&rig, ONPU_MSG_VM_DESTROY, 0, 0), ONPU_MSG_OK);
}

/*
 * A queue that has work cannot be unbound. One whose jobs have just ended can, whether the device
 * still has its state or not.
 */
static void test_unbind_busy(void **state)
{
	struct program *p = job_stages(3, 1.0f);
	struct onpu_ring_job job = rig_job(p);
	struct rig_context c;
	struct rig_vm vm;

	(void)state;
	rig_vm_create(&rig, &vm, 0);
	rig_context_create(&rig, &c, &vm, 5, 3);
	rig_load(&rig, &c, p);
	rig_submit(&rig, &c, &job, true);
	assert_int_equal(rig_simple(&rig, ONPU_MSG_QUEUE_UNBIND, 5, 3), ONPU_MSG_BUSY);
	rig_settle(&rig);
	assert_int_equal(rig_read(&rig, ONPU_REG_QUEUE_STATE(3)), ONPU_QUEUE_RESIDENT);
	assert_int_equal(rig_simple(&rig, ONPU_MSG_QUEUE_UNBIND, 5, 3), ONPU_MSG_OK);
	assert_int_equal(rig_completion(&rig, &c).seqno, 1);
	program_destroy(p);
}

static void test_others(void **state)
{
	union onpu_msg m = { .header = { .type = ONPU_MSG_HEARTBEAT } };
	uint64_t cycle;

	(void)state;
	assert_int_equal(rig_request(&rig, &m), ONPU_MSG_OK);
	cycle = m.heartbeat.cycle;
	assert_true(cycle && cycle <= onpu_device_cycle(rig.device) && m.heartbeat.beats);
	memset(&m, 0, sizeof(m));
	m.header.type = ONPU_MSG_HEARTBEAT;
	assert_int_equal(rig_request(&rig, &m), ONPU_MSG_OK);
	assert_true(m.heartbeat.cycle > cycle);
	assert_int_equal(rig_simple(&rig, ONPU_MSG_HEARTBEAT, 1, 0), ONPU_MSG_INVALID);
	assert_int_equal(rig_simple(&rig, 0, 0, 0), ONPU_MSG_UNSUPPORTED);
	assert_int_equal(rig_simple(&rig, 0x3fffffff, 0, 0), ONPU_MSG_UNSUPPORTED);
	assert_int_equal(rig_simple(&rig, ONPU_MSG_LOG_CONFIG, ONPU_LOG_DEBUG + 1, 0),
			 ONPU_MSG_INVALID);
	assert_int_equal(rig_simple(&rig, ONPU_MSG_LOG_CONFIG, 0, 2), ONPU_MSG_INVALID);
	memset(&m, 0, sizeof(m));
	m.header.type = ONPU_MSG_TELEMETRY;
	assert_int_equal(rig_request(&rig, &m), ONPU_MSG_OK);
	assert_int_equal(m.telemetry.requests, 8);
	assert_int_equal(m.telemetry.errors, 5);
	assert_int_equal(m.telemetry.vms, 0);
	assert_true(m.telemetry.idle_cycles < onpu_device_cycle(rig.device));
}

/* The log wraps round, and raises its interrupt when asked to. */
static void test_log(void **state)
{
	uint32_t tail;

	(void)state;
	rig_write(&rig, ONPU_REG_INT_ENABLE, ONPU_INT_STATUS_LOG__MASK);
	rig_simple(&rig, 99, 0, 0);
	assert_int_equal(rig.interrupts[0], 0);
	assert_int_equal(rig_simple(&rig, ONPU_MSG_LOG_CONFIG, ONPU_LOG_ERROR, 1), ONPU_MSG_OK);
	rig_simple(&rig, 0x1234, 0, 0);
	assert_int_equal(rig.interrupts[0], 1);
	while (rig_read(&rig, ONPU_REG_LOG_TAIL) < 10000)
		rig_simple(&rig, 0x1234, 0, 0);
	tail = rig_read(&rig, ONPU_REG_LOG_TAIL);
	assert_int_equal(((char *)rig_at(&rig, rig.log))[(tail - 1) % 4096], '\n');
	for (uint32_t i = 0; i < 4096; i++) {
		char c = ((char *)rig_at(&rig, rig.log))[i];

		assert_true(c == '\n' || (c >= ' ' && c <= '~'));
	}
	assert_int_equal(rig_simple(&rig, ONPU_MSG_LOG_CONFIG, ONPU_LOG_OFF, 0), ONPU_MSG_OK);
	rig_simple(&rig, 0x1234, 0, 0);
	assert_int_equal(rig_read(&rig, ONPU_REG_LOG_TAIL), tail);
}

/*
 * While the response ring is full, requests wait; the REQUEST interrupt says that request entries
 * are free again.
 */
static void test_full_rings(void **state)
{
	union onpu_msg m = { .header = { .type = ONPU_MSG_HEARTBEAT } };
	uint32_t head = rig.response_head;

	(void)state;
	rig_write(&rig, ONPU_REG_RESPONSE_HEAD, head);
	for (uint32_t i = 0; i < RIG_RING; i++) {
		m.header.id = i;
		memcpy(rig_at(&rig, rig.requests + i * ONPU_MSG_SIZE), &m, sizeof(m));
	}
	rig_write(&rig, ONPU_REG_INT_ENABLE, ONPU_INT_STATUS_REQUEST__MASK);
	rig_write(&rig, ONPU_REG_REQUEST_TAIL, RIG_RING);
	rig_settle(&rig);
	assert_int_equal(rig.interrupts[0], 1);
	assert_int_equal(rig_read(&rig, ONPU_REG_REQUEST_HEAD), RIG_RING);
	assert_int_equal(rig_read(&rig, ONPU_REG_RESPONSE_TAIL), head + RIG_RING);
	/* The response ring is full: the next request waits. */
	rig_write(&rig, ONPU_REG_REQUEST_TAIL, RIG_RING + 1);
	rig_settle(&rig);
	assert_int_equal(rig_read(&rig, ONPU_REG_REQUEST_HEAD), RIG_RING);
	rig_write(&rig, ONPU_REG_RESPONSE_HEAD, head + 1);
	rig_settle(&rig);
	assert_int_equal(rig_read(&rig, ONPU_REG_REQUEST_HEAD), RIG_RING + 1);
}

/* ---- Invalidation ---- */

static void invalidate(uint32_t asid, uint64_t va, uint32_t pages, uint32_t name)
{
	rig_write(&rig, ONPU_REG_INV_ASID, asid);
	rig_write(&rig, ONPU_REG_INV_VA_LO, (uint32_t)va);
	rig_write(&rig, ONPU_REG_INV_VA_HI, (uint32_t)(va >> 32));
	rig_write(&rig, ONPU_REG_INV_PAGES, pages);
	rig_write(&rig, ONPU_REG_INV_REQ, name);
}

static uint32_t run_job(struct rig_context *c, const struct program *p)
{
	struct onpu_ring_job job = rig_job(p);

	rig_submit(&rig, c, &job, true);
	rig_settle(&rig);
	assert_int_equal(rig_completion(&rig, c).seqno, c->seqno);
	return rig_completion(&rig, c).error;
}

/*
 * A translation that was removed from the table still works until the device is told, and not
 * after.
 */
static void test_stale_translation(void **state)
{
	struct program *p = job_stages(1, 1.0f);
	struct rig_context c;
	struct rig_vm vm;

	(void)state;
	rig_vm_create(&rig, &vm, 0);
	rig_context_create(&rig, &c, &vm, 5, 0);
	rig_load(&rig, &c, p);
	assert_int_equal(run_job(&c, p), 0);
	*rig_leaf(&rig, &vm, DATA_VA) = 0;
	assert_int_equal(run_job(&c, p), 0);
	/*
	 * Requests for another address space, for the pages behind this one, or for the page before
	 * it leave the translation.
	 */
	invalidate(vm.asid + 1, 0, 0, 1);
	invalidate(vm.asid, DATA_VA + 4096, 3, 2);
	invalidate(vm.asid, DATA_VA - 4096, 1, 3);
	rig_settle(&rig);
	assert_int_equal(rig_read(&rig, ONPU_REG_INV_DONE), 3);
	assert_int_equal(run_job(&c, p), 0);
	invalidate(vm.asid, DATA_VA - 8192, 3, 4);
	rig_settle(&rig);
	assert_int_equal(run_job(&c, p), ONPU_FAULT_MMU_NOT_PRESENT);
	assert_int_equal(rig_fault(&rig, &c).address, DATA_VA);
	program_destroy(p);
}

static void test_invalidate_all(void **state)
{
	struct program *p = job_stages(1, 1.0f);
	struct rig_context c;
	struct rig_vm vm;

	(void)state;
	rig_vm_create(&rig, &vm, 0);
	rig_context_create(&rig, &c, &vm, 5, 0);
	rig_load(&rig, &c, p);
	assert_int_equal(run_job(&c, p), 0);
	*rig_leaf(&rig, &vm, DATA_VA) &= ~(uint64_t)ONPU_PTE_U;
	assert_int_equal(run_job(&c, p), 0);
	invalidate(ONPU_INV_ASID_ALL__MASK, 0, 1, 1);
	rig_settle(&rig);
	assert_int_equal(run_job(&c, p), ONPU_FAULT_MMU_PERM);
	program_destroy(p);
}

/*
 * Invalidations are done in the order of the requests, some time after they came; INV_DONE reaches
 * the last of them.
 */
static void test_invalidation_order(void **state)
{
	uint32_t seen = 0;

	(void)state;
	rig_write(&rig, ONPU_REG_INT_ENABLE, ONPU_INT_STATUS_INVALIDATED__MASK);
	for (uint32_t i = 1; i <= 100; i++)
		invalidate(3, 0, i, i);
	assert_int_equal(rig_read(&rig, ONPU_REG_INV_DONE), 0);
	for (int i = 0; i < 1000 && seen < 100; i++) {
		uint32_t done;

		onpu_device_run(rig.device, 1);
		done = rig_read(&rig, ONPU_REG_INV_DONE);
		assert_true(done >= seen);
		seen = done;
	}
	assert_int_equal(seen, 100);
	assert_int_equal(rig.interrupts[0], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_vms, setup, teardown),
		cmocka_unit_test_setup_teardown(test_context_members, setup, teardown),
		cmocka_unit_test_setup_teardown(test_context_life, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unbind_busy, setup, teardown),
		cmocka_unit_test_setup_teardown(test_others, setup, teardown),
		cmocka_unit_test_setup_teardown(test_log, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full_rings, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stale_translation, setup, teardown),
		cmocka_unit_test_setup_teardown(test_invalidate_all, setup, teardown),
		cmocka_unit_test_setup_teardown(test_invalidation_order, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
