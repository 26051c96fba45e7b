// SPDX-License-Identifier: MIT
/*
 * Tests that a kill, a reset, the end of the device, messages and invalidations take effect inside
 * a long instruction. The instruction is a load of single bytes; the test acts when the device has
 * read some of them.
 */
#include "rig.h"

#include "device/device.h"
#include "jobs.h"

#define BYTES 131072u
/* Numbers of data reads at which the test acts, and at which it checks the effect. */
#define ACT  1000u
#define LOOK 2000u
/* The largest number of data reads between a change and its effect. */
#define PATIENCE 64u

static struct rig rig;
static struct rig_vm vms[2];
static struct rig_context contexts[2];
static struct program *load;
static unsigned int reads;
/* @act is called at read number ACT, @look at number LOOK, @always at each read from ACT on. */
static void (*act)(void), (*look)(void), (*always)(void);

static void on_read(struct rig *r, uint64_t addr)
{
	(void)r;
	/* Count only reads of the instructions' data, not of tables or messages. */
	if (addr < contexts[0].data || addr >= contexts[0].data + 4096)
		return;
	reads++;
	if (reads == ACT && act)
		act();
	if (reads == LOOK && look)
		look();
	if (reads >= ACT && always)
		always();
}

/* Returns a program of @count instructions, each of which loads the same byte BYTES times. */
static struct program *create_load(unsigned int count)
{
	const int64_t none = 0;
	const uint32_t n = BYTES;
	struct onpu_slot_tensor from =
		program_tensor(ONPU_DT_U8, ONPU_SPACE_VA, DATA_VA, 1, &n, &none);
	struct program *p = program_create(JOB_SRAM, JOB_DATA);
	struct onpu_insn copy = { .op = ONPU_OP_DMA_COPY };

	copy.dst = program_dense(p, ONPU_DT_U8, ONPU_SPACE_SRAM, 0, 1, DIM(BYTES));
	copy.s0 = program_slot(p, &from);
	while (count--)
		program_insn(p, copy);
	program_end(p);
	program_job(p);
	return p;
}

static void start_with(unsigned int count, bool sticky)
{
	rig_start(&rig, JOB_SRAM, 4, sticky);
	for (unsigned int i = 0; i < 2; i++) {
		rig_vm_create(&rig, &vms[i], i);
		rig_context_create(&rig, &contexts[i], &vms[i], 10 + i, i);
	}
	load = create_load(count);
	rig_load(&rig, &contexts[0], load);
	rig_settle(&rig);
	reads = 0;
	act = NULL;
	look = NULL;
	always = NULL;
	rig.on_read = on_read;
}

static void start(bool sticky, void (*acting)(void), void (*looking)(void))
{
	start_with(1, sticky);
	act = acting;
	look = looking;
}

static void submit(void)
{
	struct onpu_ring_job job = rig_job(load);

	rig_submit(&rig, &contexts[0], &job, true);
}

static int teardown(void **state)
{
	(void)state;
	program_destroy(load);
	rig_destroy(&rig);
	return 0;
}

/* Posts a request without waiting for its response. */
static void post(uint32_t type, uint32_t first)
{
	union onpu_msg m = { .words = { type, ++rig.id, 0, 0, first } };
	uint32_t at = rig.request_tail++ % RIG_RING;

	memcpy(rig_at(&rig, rig.requests + at * ONPU_MSG_SIZE), &m, sizeof(m));
	rig_write(&rig, ONPU_REG_REQUEST_TAIL, rig.request_tail);
}

/* Returns the next unread entry of the response ring; the device may not have written it yet. */
static const union onpu_msg *response(void)
{
	return rig_at(&rig, rig.responses + rig.response_head % RIG_RING * ONPU_MSG_SIZE);
}

static void expect_next_job(void)
{
	struct program *p = job_stages(2, 1.0f);
	struct onpu_ring_job job = rig_job(p);

	rig_load(&rig, &contexts[1], p);
	rig_submit(&rig, &contexts[1], &job, true);
	rig_settle(&rig);
	assert_int_equal(rig_completion(&rig, &contexts[1]).error, 0);
	assert_int_equal(rig_completion(&rig, &contexts[1]).seqno, 1);
	program_destroy(p);
}

static void act_kill(void)
{
	post(ONPU_MSG_CTX_KILL, 10);
}

static void test_kill(void **state)
{
	(void)state;
	start(false, act_kill, NULL);
	submit();
	rig_settle(&rig);
	assert_in_range(reads, ACT, ACT + PATIENCE);
	assert_int_equal(response()->header.type, ONPU_MSG_CTX_KILL | ONPU_MSG_RESPONSE);
	assert_int_equal(response()->header.status, ONPU_MSG_OK);
	assert_int_equal(rig_read(&rig, ONPU_REG_QUEUE_STATE(0)), ONPU_QUEUE_FAULTED);
	assert_int_equal(rig_completion(&rig, &contexts[0]).seqno, 0);
	rig_write(&rig, ONPU_REG_RESPONSE_HEAD, ++rig.response_head);
	expect_next_job();
}

static void act_reset(void)
{
	rig_write(&rig, ONPU_REG_RESET, 1);
}

static void test_reset(void **state)
{
	(void)state;
	start(false, act_reset, NULL);
	submit();
	rig_settle(&rig);
	assert_in_range(reads, ACT, ACT + PATIENCE);
	assert_int_equal(rig_read(&rig, ONPU_REG_STATUS), 0);
	rig_boot(&rig);
	assert_int_equal(rig_read(&rig, ONPU_REG_STATUS), ONPU_STATE_READY);
	rig_vm_create(&rig, &vms[1], 0);
	rig_context_create(&rig, &contexts[1], &vms[1], 10, 0);
	expect_next_job();
}

static void act_stop(void)
{
	onpu_device_stop(rig.device);
}

static void test_stop(void **state)
{
	(void)state;
	start(false, act_stop, NULL);
	submit();
	assert_int_equal(onpu_device_run(rig.device, UINT64_MAX), ONPU_PROGRESS_IDLE);
	assert_in_range(reads, ACT, ACT + PATIENCE);
	assert_int_equal(onpu_device_run(rig.device, UINT64_MAX), ONPU_PROGRESS_IDLE);
	assert_in_range(reads, ACT, ACT + PATIENCE);
}

static void act_heartbeat(void)
{
	post(ONPU_MSG_HEARTBEAT, 0);
}

static void look_heartbeat(void)
{
	assert_int_equal(response()->header.type, ONPU_MSG_HEARTBEAT | ONPU_MSG_RESPONSE);
}

/* A message is answered during the instruction, and the job's result and cycles do not change. */
static void test_message(void **state)
{
	struct onpu_completion done;
	struct onpu_machine *m;

	(void)state;
	start(false, act_heartbeat, look_heartbeat);
	submit();
	rig_settle(&rig);
	assert_int_equal(reads, BYTES);
	done = rig_completion(&rig, &contexts[0]);
	m = onpu_machine_create(&rig.config.sim, NULL);
	assert_non_null(m);
	assert_true(onpu_machine_run(m, &load->mem, &load->job, &load->result));
	onpu_machine_destroy(m);
	assert_int_equal(done.error, 0);
	assert_int_equal(done.cycles, load->result.cycles);
}

static void act_doorbell(void)
{
	rig_write(&rig, ONPU_REG_DOORBELL_TAIL(1), 1);
}

/*
 * A switch to another queue waits for a preemption point, and there is none inside an instruction.
 */
static void test_switch_waits(void **state)
{
	struct program *p = job_stages(2, 1.0f);
	struct onpu_ring_job job = rig_job(p);

	(void)state;
	start(false, act_doorbell, NULL);
	assert_int_equal(rig_simple(&rig, ONPU_MSG_SCHED_CONFIG, 1, 0), ONPU_MSG_OK);
	rig_load(&rig, &contexts[1], p);
	rig_submit(&rig, &contexts[1], &job, false);
	submit();
	rig_settle(&rig);
	assert_int_equal(reads, BYTES);
	assert_int_equal(rig_completion(&rig, &contexts[0]).error, 0);
	assert_int_equal(rig_completion(&rig, &contexts[1]).error, 0);
	program_destroy(p);
}

#define SLICE 150000u

/*
 * Submits a job of another context, and sends messages until the clock has passed the end of the
 * time slice.
 */
static void act_outlast_slice(void)
{
	static uint64_t end;

	if (reads == ACT) {
		end = device_now(rig.device) + SLICE;
		act_doorbell();
	} else if (!(reads % PATIENCE) && device_now(rig.device) <= end) {
		assert_true(reads < BYTES - PATIENCE);
		act_heartbeat();
		rig_write(&rig, ONPU_REG_RESPONSE_HEAD, rig.response_head++);
	}
}

/* A time slice ends when the jobs have run for its length, not when the clock has passed it. */
static void test_slice(void **state)
{
	struct program *p = job_stages(2, 1.0f);
	struct onpu_ring_job job = rig_job(p);

	(void)state;
	start(false, NULL, NULL);
	always = act_outlast_slice;
	assert_int_equal(rig_simple(&rig, ONPU_MSG_SCHED_CONFIG, SLICE, 0), ONPU_MSG_OK);
	rig_load(&rig, &contexts[1], p);
	rig_submit(&rig, &contexts[1], &job, false);
	for (unsigned int i = 0; i < 8; i++)
		submit();
	rig_settle(&rig);
	assert_int_equal(rig_completion(&rig, &contexts[0]).seqno, 8);
	assert_true(rig_completion(&rig, &contexts[0]).cycles < SLICE);
	assert_int_equal(rig_completion(&rig, &contexts[1]).seqno, 1);
	assert_true(rig_completion(&rig, &contexts[1]).end_cycle <
		    rig_completion(&rig, &contexts[0]).end_cycle);
	program_destroy(p);
}

/*
 * Sends messages all the time; checks that the progress counters stay still until the instruction
 * is done.
 */
static void act_no_progress(void)
{
	static uint64_t begin, cycles, retired;
	uint64_t now = queue_run_cycles(rig.device, 0);

	if (reads < BYTES + ACT)
		return;
	if (reads == BYTES + ACT) {
		begin = device_now(rig.device);
		cycles = now;
		retired = queue_retired(rig.device, 0);
	} else if (!(reads % PATIENCE)) {
		act_heartbeat();
		rig_write(&rig, ONPU_REG_RESPONSE_HEAD, rig.response_head++);
	}
	assert_int_equal(now, cycles);
	assert_int_equal(queue_retired(rig.device, 0), retired);
	if (reads == 2 * BYTES)
		assert_true(device_now(rig.device) > begin + SLICE);
}

static void test_no_progress(void **state)
{
	(void)state;
	start_with(2, false);
	always = act_no_progress;
	submit();
	rig_settle(&rig);
	assert_int_equal(reads, 2 * BYTES);
	assert_int_equal(rig_completion(&rig, &contexts[0]).error, 0);
	assert_int_equal(rig_read64(&rig, ONPU_REG_QUEUE_RUN_CYCLES_LO(0)),
			 rig_completion(&rig, &contexts[0]).cycles);
}

/* ---- Unmapping ---- */

static void unmap(void)
{
	*rig_leaf(&rig, &vms[0], DATA_VA) = 0;
}

static void act_unmap(void)
{
	unmap();
	rig_write(&rig, ONPU_REG_INV_ASID, vms[0].asid);
	rig_write(&rig, ONPU_REG_INV_VA_LO, DATA_VA);
	rig_write(&rig, ONPU_REG_INV_VA_HI, 0);
	rig_write(&rig, ONPU_REG_INV_PAGES, 1);
	rig_write(&rig, ONPU_REG_INV_REQ, 77);
}

/* Once the page is unmapped, the device stops reading it long before the instruction ends. */
static void test_unmap(void **state)
{
	(void)state;
	for (unsigned int sticky = 0; sticky < 2; sticky++) {
		start(sticky, act_unmap, NULL);
		submit();
		rig_settle(&rig);
		assert_in_range(reads, ACT, ACT + PATIENCE);
		assert_int_equal(rig_read(&rig, ONPU_REG_INV_DONE), 77);
		assert_int_equal(rig_completion(&rig, &contexts[0]).error,
				 ONPU_FAULT_MMU_NOT_PRESENT);
		assert_int_equal(rig_fault(&rig, &contexts[0]).address, DATA_VA);
		if (!sticky)
			teardown(NULL);
	}
}

#define REQUESTS 1100u

/* Requests one invalidation at a time: the next one follows when the device has answered. */
static void act_unmap_many(void)
{
	unsigned int n = (reads - ACT) / PATIENCE;

	if ((reads - ACT) % PATIENCE || n > REQUESTS)
		return;
	assert_int_equal(rig.device->inv.done, n);
	if (n == REQUESTS)
		return;
	if (!n)
		rig_write(&rig, ONPU_REG_INV_ASID, vms[0].asid);
	rig_write(&rig, ONPU_REG_INV_VA_LO, (uint32_t)(DATA_VA + (n + 1) * 4096));
	rig_write(&rig, ONPU_REG_INV_REQ, n + 1);
}

/* Tests that the last of many requests during one instruction is served as quickly as the first. */
static void test_unmap_many(void **state)
{
	(void)state;
	start(false, NULL, NULL);
	always = act_unmap_many;
	submit();
	rig_settle(&rig);
	assert_int_equal(reads, BYTES);
	assert_int_equal(rig_completion(&rig, &contexts[0]).error, 0);
}

/*
 * Without the invalidation the sticky TLB goes on reading the page: this is how a test finds a
 * driver that forgot it.
 */
static void test_forgotten(void **state)
{
	(void)state;
	start(true, unmap, NULL);
	submit();
	rig_settle(&rig);
	assert_int_equal(reads, BYTES);
	assert_int_equal(rig_completion(&rig, &contexts[0]).error, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_kill, teardown),
		cmocka_unit_test_teardown(test_reset, teardown),
		cmocka_unit_test_teardown(test_stop, teardown),
		cmocka_unit_test_teardown(test_message, teardown),
		cmocka_unit_test_teardown(test_switch_waits, teardown),
		cmocka_unit_test_teardown(test_slice, teardown),
		cmocka_unit_test_teardown(test_no_progress, teardown),
		cmocka_unit_test_teardown(test_unmap, teardown),
		cmocka_unit_test_teardown(test_unmap_many, teardown),
		cmocka_unit_test_teardown(test_forgotten, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
