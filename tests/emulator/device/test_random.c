// SPDX-License-Identifier: MIT
/*
 * Random accesses of a host and of a firmware that mean no good, on top of contexts that run: the
 * device answers, comes to no harm (build with sanitizers), and is as new after a reset.
 */
#include "rig.h"

#include "device/device.h"
#include "jobs.h"

#define ROUNDS 60
#define MOVES  600

static struct rig rig;
static struct rig_vm vm[2];
static struct rig_context contexts[2];
static uint64_t seed;

static uint32_t random32(void)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(seed >> 32);
}

/* Values with a meaning more often than not. */
static uint32_t random_value(void)
{
	switch (random32() % 8) {
	case 0:
		return random32();
	case 1:
		return random32() & 0xfffff000;
	case 2:
		return 1u << random32() % 32;
	case 3:
		return 0x80000000u | random32() % 4;
	case 4:
		return (uint32_t)RIG_BUS + random32() % RIG_MEMORY;
	default:
		return random32() % 64;
	}
}

static uint32_t random_offset(void)
{
	static const uint32_t bases[] = {
		0, 0x100, 0x180, 0x1c0, 0x1000, 0x2000, ONPU_DOORBELL_BASE,
	};
	uint32_t base = bases[random32() % 7];

	if (base == ONPU_DOORBELL_BASE)
		return base + random32() % 5 * 4096;
	return base + random32() % 24 * 4;
}

static void host_move(void)
{
	uint32_t offset = random_offset();

	/* A reset now and then, else little would ever happen. */
	if ((offset == ONPU_REG_RESET || offset == ONPU_REG_BOOT) && random32() % 16)
		return;
	if (random32() % 4)
		onpu_device_mmio_write(rig.device, offset + (random32() % 32 == 0),
				       random32() % 16 ? 4 : random32() % 9, random_value());
	else
		onpu_device_mmio_read(rig.device, offset, 4);
}

static void firmware_move(void)
{
	static const uint32_t bases[] = { 0, 0x40, 0xc0, 0x100, 0x140, 0x1000, 0x2000 };
	uint32_t addr = ONPU_CORE_REGS_BASE + bases[random32() % 7] + random32() % 80 * 4;
	uint32_t value;

	if (random32() % 4)
		core_bus_store(rig.device, addr, 4, random_value());
	else
		core_bus_load(rig.device, addr, 4, &value);
}

/* Spoil some of the memory that the device looks at. */
static void memory_move(void)
{
	const uint64_t targets[] = {
		contexts[0].ring, contexts[1].ring,	  contexts[0].save,
		contexts[1].save, contexts[0].completion, vm[0].root,
		vm[1].root,	  rig.requests,		  rig.responses,
	};
	uint64_t *word = rig_at(&rig, targets[random32() % 9] + random32() % 64 * 8);

	switch (random32() % 3) {
	case 0:
		*word ^= UINT64_C(1) << random32() % 64;
		break;
	case 1:
		*word = random_value();
		break;
	default:
		*word = (uint64_t)random32() << 32 | random32();
	}
}

static void submit_move(const struct program *p)
{
	struct onpu_ring_job job = rig_job(p);

	rig_submit(&rig, &contexts[random32() % 2], &job, random32() % 4);
}

static void set_up(const struct program *p)
{
	rig.used = 0;
	rig.image = 0;
	rig.requests = 0;
	memset(rig.memory, 0, RIG_MEMORY);
	rig_boot(&rig);
	assert_int_equal(rig_read(&rig, ONPU_REG_STATUS), ONPU_STATE_READY);
	for (unsigned int i = 0; i < 2; i++) {
		rig_vm_create(&rig, &vm[i], i);
		rig_context_create(&rig, &contexts[i], &vm[i], i + 1, i);
		rig_load(&rig, &contexts[i], p);
	}
	assert_int_equal(rig_simple(&rig, ONPU_MSG_SCHED_CONFIG, 200, 0), ONPU_MSG_OK);
}

static void check_works(const struct program *p)
{
	struct onpu_ring_job job = rig_job(p);

	onpu_device_reset(rig.device);
	set_up(p);
	for (unsigned int i = 0; i < 2; i++)
		rig_submit(&rig, &contexts[i], &job, true);
	rig_settle(&rig);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(rig_completion(&rig, &contexts[i]).seqno, 1);
		assert_int_equal(rig_completion(&rig, &contexts[i]).error, 0);
	}
}

static void test_random(void **state)
{
	struct program *p = job_stages(8, 1.0f);

	(void)state;
	rig_init(&rig, JOB_SRAM, 4, false);
	for (unsigned int round = 0; round < ROUNDS; round++) {
		seed = round;
		check_works(p);
		for (unsigned int i = 0; i < MOVES; i++) {
			unsigned int kind = random32() % 32;

			if (kind < 12)
				host_move();
			else if (kind < 14 + round % 4)
				firmware_move();
			else if (kind < 20)
				memory_move();
			else if (kind < 24)
				submit_move(p);
			else
				onpu_device_run(rig.device, random32() % 3000);
			if (random32() % 500 == 0)
				onpu_device_inject_parity(rig.device);
		}
		onpu_device_run(rig.device, 100000);
	}
	check_works(p);
	rig_destroy(&rig);
	program_destroy(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
