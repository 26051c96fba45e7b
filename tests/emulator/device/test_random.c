// SPDX-License-Identifier: MIT
/*
 * Makes random accesses, as a hostile host and a hostile firmware could, while contexts run. The
 * device must answer, must not misbehave in a way that sanitizers find, and must work like a new
 * one after a reset.
 */
#include "../../random.h"
#include "rig.h"

#include "device/device.h"
#include "jobs.h"

#define ROUNDS 60
#define MOVES  600

static struct rig rig;
static struct rig_vm vm[2];
static struct rig_context contexts[2];
static struct rng rng;

/* Returns a value that often means something to the device. */
static uint32_t random_value(void)
{
	switch (rng_u32(&rng) % 8) {
	case 0:
		return rng_u32(&rng);
	case 1:
		return rng_u32(&rng) & 0xfffff000;
	case 2:
		return 1u << rng_u32(&rng) % 32;
	case 3:
		return 0x80000000u | rng_u32(&rng) % 4;
	case 4:
		return (uint32_t)RIG_BUS + rng_u32(&rng) % RIG_MEMORY;
	default:
		return rng_u32(&rng) % 64;
	}
}

static uint32_t random_offset(void)
{
	static const uint32_t bases[] = {
		0, 0x100, 0x180, 0x1c0, 0x1000, 0x2000, ONPU_DOORBELL_BASE,
	};
	uint32_t base = bases[rng_u32(&rng) % 7];

	if (base == ONPU_DOORBELL_BASE)
		return base + rng_u32(&rng) % 5 * 4096;
	return base + rng_u32(&rng) % 24 * 4;
}

static void host_move(void)
{
	uint32_t offset = random_offset();

	/* Resets and boots are rare, else little would ever happen. */
	if ((offset == ONPU_REG_RESET || offset == ONPU_REG_BOOT) && rng_u32(&rng) % 16)
		return;
	if (rng_u32(&rng) % 4)
		onpu_device_mmio_write(rig.device, offset + (rng_u32(&rng) % 32 == 0),
				       rng_u32(&rng) % 16 ? 4 : rng_u32(&rng) % 9, random_value());
	else
		onpu_device_mmio_read(rig.device, offset, 4);
}

static void firmware_move(void)
{
	static const uint32_t bases[] = { 0, 0x40, 0xc0, 0x100, 0x140, 0x1000, 0x2000 };
	uint32_t addr = ONPU_CORE_REGS_BASE + bases[rng_u32(&rng) % 7] + rng_u32(&rng) % 80 * 4;
	uint32_t value;

	if (rng_u32(&rng) % 4)
		core_bus_store(rig.device, addr, 4, random_value());
	else
		core_bus_load(rig.device, addr, 4, &value);
}

/* Spoils some of the memory that the device reads. */
static void memory_move(void)
{
	const uint64_t targets[] = {
		contexts[0].ring, contexts[1].ring,	  contexts[0].save,
		contexts[1].save, contexts[0].completion, vm[0].root,
		vm[1].root,	  rig.requests,		  rig.responses,
	};
	uint64_t *word = rig_at(&rig, targets[rng_u32(&rng) % 9] + rng_u32(&rng) % 64 * 8);

	switch (rng_u32(&rng) % 3) {
	case 0:
		*word ^= UINT64_C(1) << rng_u32(&rng) % 64;
		break;
	case 1:
		*word = random_value();
		break;
	default:
		*word = (uint64_t)rng_u32(&rng) << 32 | rng_u32(&rng);
	}
}

static void submit_move(const struct program *p)
{
	struct onpu_ring_job job = rig_job(p);

	rig_submit(&rig, &contexts[rng_u32(&rng) % 2], &job, rng_u32(&rng) % 4);
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
		rng.state = round;
		check_works(p);
		for (unsigned int i = 0; i < MOVES; i++) {
			unsigned int kind = rng_u32(&rng) % 32;

			if (kind < 12)
				host_move();
			else if (kind < 14 + round % 4)
				firmware_move();
			else if (kind < 20)
				memory_move();
			else if (kind < 24)
				submit_move(p);
			else
				onpu_device_run(rig.device, rng_u32(&rng) % 3000);
			if (rng_u32(&rng) % 500 == 0)
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
