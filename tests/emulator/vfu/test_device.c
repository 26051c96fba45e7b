// SPDX-License-Identifier: MIT
/* Runs the firmware and jobs through BAR0: results, interrupts, resets, memory that is unmapped. */
#include "bench.h"

#include <linux/pci_regs.h>
#include <unistd.h>

#include "jobs.h"

/* Cycles of one of the long jobs, which fill the ring, so that some are left when the test acts. */
#define LONG (UINT64_C(4096) * 1000)

static struct bench b;
static struct rig_vm vm;
static struct rig_context context;

static int stop(void **state)
{
	(void)state;
	bench_stop(&b);
	return 0;
}

static void make_context(void)
{
	rig_vm_create(&b.rig, &vm, 0);
	rig_context_create(&b.rig, &context, &vm, 10, 0);
}

static void start_with(const struct vfu_server_config *config)
{
	bench_start(&b, config);
	bench_attach(&b);
	bench_boot(&b);
	make_context();
}

static void start(void)
{
	const struct vfu_server_config config = bench_config();

	start_with(&config);
}

static void submit(const struct program *p)
{
	struct onpu_ring_job job = rig_job(p);

	rig_submit(&b.rig, &context, &job, true);
}

static void run_alone(struct program *p)
{
	const struct vfu_server_config config = bench_config();
	struct onpu_machine *m = onpu_machine_create(&config.function.device.sim, NULL);

	assert_non_null(m);
	onpu_machine_run(m, &p->mem, &p->job, &p->result);
	onpu_machine_destroy(m);
	assert_int_equal(p->result.fault.code, 0);
}

/* Loads and runs a job, and compares its result with that of a machine alone. */
static void run_job(float seed)
{
	struct program *p = job_stages(3, seed);
	struct onpu_completion done;

	rig_load(&b.rig, &context, p);
	submit(p);
	bench_wait(&b, &context, context.seqno);
	run_alone(p);
	done = rig_completion(&b.rig, &context);
	assert_int_equal(done.error, 0);
	assert_int_equal(done.seqno, context.seqno);
	assert_int_equal(done.cycles, p->result.cycles);
	assert_memory_equal(rig_at(&b.rig, context.data), p->data, p->data_size);
	program_destroy(p);
}

/*
 * Submits jobs and waits until the completion page shows that the first one is done, so that
 * another one is running.
 */
static void start_long_jobs(void)
{
	struct program *p = job_stubborn(LONG);

	rig_load(&b.rig, &context, p);
	for (unsigned int i = 0; i < RIG_RING - 1; i++) {
		struct onpu_ring_job job = rig_job(p);

		rig_submit(&b.rig, &context, &job, false);
	}
	rig_doorbell(&b.rig, &context);
	bench_wait(&b, &context, 1);
	program_destroy(p);
}

/*
 * Calls @act while the long jobs run; tries again when this process was so late that they had
 * ended.
 */
static void act_on_long_jobs(void (*act)(void))
{
	for (unsigned int tries = 0; tries < 5; tries++) {
		start();
		start_long_jobs();
		act();
		if (rig_completion(&b.rig, &context).seqno < RIG_RING - 1)
			return;
		bench_stop(&b);
	}
	fail_msg("the jobs have always ended before");
}

static void flr(void)
{
	uint32_t at = client_config16(&b.client, PCI_CAPABILITY_LIST) & 0xff;

	while ((client_config16(&b.client, at) & 0xff) != PCI_CAP_ID_EXP)
		at = client_config16(&b.client, at) >> 8;
	client_set_config16(&b.client, at + PCI_EXP_DEVCTL, PCI_EXP_DEVCTL_BCR_FLR);
}

static void test_job(void **state)
{
	(void)state;
	start();
	assert_true(bench_interrupted(&b, 0, 60000));
	run_job(0.5f);
	assert_false(bench_interrupted(&b, 2, 0));
}

static void test_job_by_msi(void **state)
{
	struct vfu_server_config config = bench_config();
	struct program *p = job_stages(1, 2.0f);

	(void)state;
	config.function.msix = false;
	start_with(&config);
	assert_true(bench_interrupted(&b, 0, 60000));
	rig_load(&b.rig, &context, p);
	submit(p);
	assert_true(bench_interrupted(&b, 0, 60000));
	while (rig_completion(&b.rig, &context).seqno < 1)
		bench_interrupted(&b, 0, 60000);
	program_destroy(p);
}

/*
 * After a reset by message or FLR the device is in RESET and writes nothing more; what the client
 * attached before still works.
 */
static void reset_and_go_on(void (*reset)(void))
{
	uint64_t seqno;

	act_on_long_jobs(reset);
	seqno = rig_completion(&b.rig, &context).seqno;
	assert_int_equal(client_config16(&b.client, PCI_COMMAND), 0);
	assert_int_equal(client_read32(&b.client, 0, ONPU_REG_ID), UINT32_MAX);
	bench_enable(&b);
	assert_int_equal(rig_read(&b.rig, ONPU_REG_STATUS), ONPU_STATE_RESET);
	usleep(20000);
	assert_int_equal(rig_completion(&b.rig, &context).seqno, seqno);
	bench_boot(&b);
	make_context();
	while (bench_interrupted(&b, 1, 0))
		;
	run_job(1.5f);
}

static void reset_by_message(void)
{
	assert_int_equal(client_call(&b.client, VFU_DEVICE_RESET, NULL, 0, NULL, 0), 0);
}

static void test_reset(void **state)
{
	(void)state;
	reset_and_go_on(reset_by_message);
}

static void test_flr(void **state)
{
	(void)state;
	reset_and_go_on(flr);
}

/* The link goes down at the next access to a register, and comes back. */
static void lose_link(void)
{
	struct vfu_injector *injector = &b.server.function.injector;
	const struct vfu_arm arm = { .fault = VFU_FAULT_LINK_DOWN, .times = 1 };

	vfu_inject_arm(injector, &arm);
	assert_int_equal(rig_read(&b.rig, ONPU_REG_ID), UINT32_MAX);
	assert_int_equal(client_config16(&b.client, PCI_COMMAND), UINT16_MAX);
	vfu_inject_clear(injector);
}

static void test_link(void **state)
{
	(void)state;
	reset_and_go_on(lose_link);
}

static void unmap(void)
{
	assert_int_equal(client_dma_unmap(&b.client, RIG_BUS, RIG_MEMORY), 0);
}

/* The job's memory is unmapped: the job ends with a fault, and nothing is written any more. */
static void test_unmap_while_running(void **state)
{
	struct onpu_completion after;

	(void)state;
	act_on_long_jobs(unmap);
	memset(b.memory, 0x5a, RIG_MEMORY);
	usleep(20000);
	assert_true(b.memory[0] == 0x5a && !memcmp(b.memory, b.memory + 1, RIG_MEMORY - 1));
	/* Firmware that cannot reach its rings may give up, but the function still answers. */
	assert_int_equal(rig_read(&b.rig, ONPU_REG_ID), ONPU_ID_MAGIC);
	memset(b.memory, 0, RIG_MEMORY);
	flr();
	bench_lend(&b);
	bench_enable(&b);
	b.rig.used = 0;
	b.rig.image = 0;
	b.rig.requests = 0;
	bench_boot(&b);
	make_context();
	while (bench_interrupted(&b, 1, 0))
		;
	run_job(2.5f);
	after = rig_completion(&b.rig, &context);
	assert_int_equal(after.seqno, 1);
}

/* Without bus mastering the device does not read, write or interrupt. */
static void test_bus_master(void **state)
{
	const struct vfu_server_config config = bench_config();
	struct onpu_completion page;

	(void)state;
	bench_start(&b, &config);
	bench_attach(&b);
	client_set_config16(&b.client, PCI_COMMAND, PCI_COMMAND_MEMORY);
	rig_setup(&b.rig);
	rig_write(&b.rig, ONPU_REG_INT_ENABLE, ONPU_INT_STATUS_STATUS__MASK);
	rig_write(&b.rig, ONPU_REG_BOOT, ONPU_BOOT_START__MASK);
	assert_int_equal(rig_read(&b.rig, ONPU_REG_STATUS),
			 ONPU_STATE_FAILED | ONPU_BOOT_ERROR_FETCH << ONPU_STATUS_ERROR__SHIFT);
	assert_false(bench_interrupted(&b, 0, 0));
	assert_int_equal(client_read32(&b.client, VFIO_PCI_BAR2_REGION_INDEX, 0x1000), 1);
	/* The interrupt comes once bus mastering is on again. */
	bench_enable(&b);
	assert_true(bench_interrupted(&b, 0, 60000));
	assert_int_equal(client_read32(&b.client, VFIO_PCI_BAR2_REGION_INDEX, 0x1000), 0);
	flr();
	bench_enable(&b);
	bench_boot(&b);
	make_context();
	start_long_jobs();
	client_set_config16(&b.client, PCI_COMMAND, PCI_COMMAND_MEMORY);
	page = rig_completion(&b.rig, &context);
	usleep(20000);
	assert_int_equal(rig_completion(&b.rig, &context).seqno, page.seqno);
}

static void test_power_state(void **state)
{
	uint32_t at;

	(void)state;
	start();
	start_long_jobs();
	at = client_config16(&b.client, PCI_CAPABILITY_LIST) & 0xff;
	assert_int_equal(client_config16(&b.client, at) & 0xff, PCI_CAP_ID_PM);
	client_set_config16(&b.client, at + PCI_PM_CTRL, 3);
	assert_int_equal(client_read32(&b.client, 0, ONPU_REG_ID), UINT32_MAX);
	client_set_config16(&b.client, at + PCI_PM_CTRL, 0);
	assert_int_equal(client_config16(&b.client, PCI_COMMAND), 0);
	bench_enable(&b);
	assert_int_equal(rig_read(&b.rig, ONPU_REG_STATUS), ONPU_STATE_RESET);
	bench_boot(&b);
	make_context();
	while (bench_interrupted(&b, 1, 0))
		;
	run_job(3.5f);
}

/* The observations of one run in sync mode. */
struct trail {
	uint32_t clock[40];
	unsigned int count;
	uint64_t memory;
};

static void note_clock(struct trail *trail)
{
	trail->clock[trail->count++] = rig_read(&b.rig, ONPU_REG_CYCLE_LO);
}

static uint64_t hash(const uint8_t *bytes, size_t size)
{
	uint64_t h = UINT64_C(14695981039346656037);

	for (size_t i = 0; i < size; i++)
		h = (h ^ bytes[i]) * UINT64_C(1099511628211);
	return h;
}

/* In sync mode every write returns when the device is idle, so that nothing here waits. */
static void sync_run(struct trail *trail)
{
	struct vfu_server_config config = bench_config();

	memset(trail, 0, sizeof(*trail));
	config.function.sync = true;
	start_with(&config);
	note_clock(trail);
	for (unsigned int i = 0; i < 8; i++) {
		struct program *p = job_stages(1 + i % 3, (float)i);

		rig_load(&b.rig, &context, p);
		submit(p);
		assert_int_equal(rig_completion(&b.rig, &context).seqno, context.seqno);
		assert_true(bench_interrupted(&b, 1, 0));
		note_clock(trail);
		usleep(1000 * i);
		program_destroy(p);
	}
	trail->memory = hash(b.memory, b.rig.used);
	bench_stop(&b);
}

static void test_sync(void **state)
{
	struct trail first, second;

	(void)state;
	sync_run(&first);
	sync_run(&second);
	assert_memory_equal(&first, &second, sizeof(first));
}

/*
 * In sync mode, work that takes longer than an access may wait goes on after the access, and can be
 * stopped.
 */
static void test_sync_endless(void **state)
{
	struct vfu_server_config config = bench_config();
	const uint32_t self_jump = 0x0000006f;
	struct onpu_fw_header *header;
	uint32_t crc = UINT32_MAX, cycle;

	(void)state;
	config.function.sync = true;
	bench_start(&b, &config);
	bench_attach(&b);
	rig_setup(&b.rig);
	header = rig_at(&b.rig, b.rig.image);
	header->image_size = sizeof(self_jump);
	header->entry = header->load_address;
	memcpy((char *)header + sizeof(*header), &self_jump, sizeof(self_jump));
	for (unsigned int i = 0; i < sizeof(self_jump) * 8; i++) {
		crc ^= self_jump >> i & 1;
		crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	}
	header->crc = ~crc;
	rig_write(&b.rig, ONPU_REG_FW_SIZE, sizeof(*header) + sizeof(self_jump));
	rig_write(&b.rig, ONPU_REG_BOOT, ONPU_BOOT_START__MASK);
	assert_int_equal(rig_read(&b.rig, ONPU_REG_STATUS), ONPU_STATE_BOOTING);
	cycle = rig_read(&b.rig, ONPU_REG_CYCLE_LO);
	/* On a slow machine it takes a while until the core runs on. */
	for (int i = 0; i < 60000 && rig_read(&b.rig, ONPU_REG_CYCLE_LO) == cycle; i++)
		usleep(1000);
	assert_int_not_equal(rig_read(&b.rig, ONPU_REG_CYCLE_LO), cycle);
	rig_write(&b.rig, ONPU_REG_RESET, ONPU_RESET_START__MASK);
	assert_int_equal(rig_read(&b.rig, ONPU_REG_STATUS), ONPU_STATE_RESET);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_job, stop),
		cmocka_unit_test_teardown(test_job_by_msi, stop),
		cmocka_unit_test_teardown(test_reset, stop),
		cmocka_unit_test_teardown(test_flr, stop),
		cmocka_unit_test_teardown(test_link, stop),
		cmocka_unit_test_teardown(test_unmap_while_running, stop),
		cmocka_unit_test_teardown(test_bus_master, stop),
		cmocka_unit_test_teardown(test_power_state, stop),
		cmocka_unit_test(test_sync),
		cmocka_unit_test_teardown(test_sync_endless, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
