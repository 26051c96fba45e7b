// SPDX-License-Identifier: MIT
/*
 * Tests every register of registers.xml: its value after reset, and the behaviour of its access
 * type. The tables are generated from the XML (register_table.py); functions of this file have the
 * exceptions that the XML's attributes cannot express.
 */
#include "rig.h"

#include "device/device.h"

enum access_type { ACCESS_RW, ACCESS_RO, ACCESS_WO, ACCESS_W1C };

struct reg {
	const char *name;
	uint32_t offset;
	enum access_type access;
	uint32_t reset, mask;
};

#include "register_table.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static struct rig rig;

static int setup(void **state)
{
	(void)state;
	rig_init(&rig, 0, 0, false);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	rig_destroy(&rig);
	return 0;
}

static uint32_t core_read(uint32_t offset)
{
	uint32_t value = 0;

	assert_true(core_bus_load(rig.device, ONPU_CORE_REGS_BASE + offset, 4, &value));
	return value;
}

static void core_write(uint32_t offset, uint32_t value)
{
	assert_true(core_bus_store(rig.device, ONPU_CORE_REGS_BASE + offset, 4, value));
}

static uint32_t bar0_get(uint32_t offset)
{
	return rig_read(&rig, offset);
}

static void bar0_put(uint32_t offset, uint32_t value)
{
	rig_write(&rig, offset, value);
}

/*
 * Returns the value of a core register after reset; the XML has none for the core's copies of
 * capabilities.
 */
static uint32_t core_reset(const struct reg *r)
{
	switch (r->offset) {
	case ONPU_REG_CORE_NUM_QUEUES:
		return 64;
	case ONPU_REG_CORE_NUM_VMS:
		return 64;
	case ONPU_REG_CORE_NUM_ASIDS:
		return ONPU_CAP_NUM_ASIDS__RESET;
	case ONPU_REG_CORE_SAVE_BYTES:
		return ONPU_CAP_SAVE_BYTES__RESET;
	default:
		return r->reset;
	}
}

/* Returns the bits of a core register that a test may write and must then read back. */
static uint32_t core_mask(const struct reg *r)
{
	if (r->offset == ONPU_REG_CORE_STATUS)
		return 0; /* accepts two states only */
	if (r->offset == ONPU_REG_CORE_IRQ_ENABLE)
		return 0xff; /* the bits that IRQ_STATUS names */
	if (!strncmp(r->name, "VM[", 3) && strstr(r->name, "ROOT_LO"))
		return ~0xfffu;
	if (!strncmp(r->name, "CONTEXT[", 8) && strstr(r->name, "CONTROL"))
		/* a write of VALID fails: there is nothing to bind */
		return r->mask & ~ONPU_CORE_CONTEXT_CONTROL_VALID__MASK;
	return r->mask;
}

static void test_bar0_reset(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(bar0_table); i++) {
		const struct reg *r = &bar0_table[i];

		if (bar0_get(r->offset) != r->reset)
			fail_msg("%s reads %#x after reset, not %#x", r->name, bar0_get(r->offset),
				 r->reset);
	}
}

static void test_core_reset(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(core_table); i++) {
		const struct reg *r = &core_table[i];

		if (core_read(r->offset) != core_reset(r))
			fail_msg("%s reads %#x after reset, not %#x", r->name, core_read(r->offset),
				 core_reset(r));
	}
}

static void check_access(const struct reg *r, uint32_t mask, uint32_t reset,
			 uint32_t (*get)(uint32_t), void (*put)(uint32_t, uint32_t))
{
	static const uint32_t values[] = { 0, ~0u, 0x5a5aa5a5, 0x00010001, 0 };

	for (size_t i = 0; i < COUNT(values); i++) {
		uint32_t expected = r->access == ACCESS_RW ? values[i] & mask : reset;

		put(r->offset, values[i]);
		if (get(r->offset) != expected)
			fail_msg("%s reads %#x after %#x was written, not %#x", r->name,
				 get(r->offset), values[i], expected);
	}
}

static void test_bar0_access(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(bar0_table); i++) {
		const struct reg *r = &bar0_table[i];

		/* The registers that start an action have tests of their own. */
		if (r->offset != ONPU_REG_RESET && r->offset != ONPU_REG_BOOT)
			check_access(r, r->mask, r->reset, bar0_get, bar0_put);
	}
}

static void test_core_access(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(core_table); i++) {
		const struct reg *r = &core_table[i];

		if (r->offset == ONPU_REG_CORE_STATUS)
			continue;
		rig_write(&rig, ONPU_REG_RESET, 1);
		check_access(r, core_mask(r), core_reset(r), core_read, core_write);
	}
}

/* Offsets without a register read as zero, and writes to them change no register. */
static void test_unnamed(void **state)
{
	static bool named[ONPU_BAR0_SIZE / 4];

	(void)state;
	for (size_t i = 0; i < COUNT(bar0_table); i++)
		named[bar0_table[i].offset / 4] = true;
	for (uint32_t offset = 0; offset < ONPU_BAR0_SIZE; offset += 4) {
		if (named[offset / 4])
			continue;
		bar0_put(offset, ~0u);
		assert_int_equal(bar0_get(offset), 0);
	}
	test_bar0_reset(state);
}

static void test_core_unnamed(void **state)
{
	static bool named[ONPU_CORE_REGS_SIZE / 4];

	(void)state;
	for (size_t i = 0; i < COUNT(core_table); i++)
		named[core_table[i].offset / 4] = true;
	for (uint32_t offset = 0; offset < ONPU_CORE_REGS_SIZE; offset += 4) {
		if (named[offset / 4])
			continue;
		core_write(offset, ~0u);
		assert_int_equal(core_read(offset), 0);
	}
	test_core_reset(state);
}

static void test_bad_accesses(void **state)
{
	uint32_t value;

	(void)state;
	assert_true(onpu_device_mmio_read(rig.device, ONPU_REG_ID, 1) == 0xff);
	assert_true(onpu_device_mmio_read(rig.device, ONPU_REG_ID, 2) == 0xffff);
	assert_true(onpu_device_mmio_read(rig.device, ONPU_REG_ID, 8) == UINT64_MAX);
	assert_true(onpu_device_mmio_read(rig.device, ONPU_REG_ID + 2, 4) == UINT32_MAX);
	assert_true(onpu_device_mmio_read(rig.device, ONPU_BAR0_SIZE, 4) == UINT32_MAX);
	assert_true(onpu_device_mmio_read(rig.device, UINT64_MAX - 3, 4) == UINT32_MAX);
	onpu_device_mmio_write(rig.device, ONPU_REG_FW_SIZE, 2, 7);
	onpu_device_mmio_write(rig.device, ONPU_REG_FW_SIZE, 8, 7);
	onpu_device_mmio_write(rig.device, ONPU_REG_FW_SIZE + 1, 4, 7);
	onpu_device_mmio_write(rig.device, (UINT64_C(1) << 32) + ONPU_REG_FW_SIZE, 4, 7);
	assert_int_equal(bar0_get(ONPU_REG_FW_SIZE), 0);
	assert_false(core_bus_load(rig.device, ONPU_CORE_REGS_BASE, 1, &value));
	assert_false(core_bus_store(rig.device, ONPU_CORE_REGS_BASE, 2, 0));
	assert_false(
		core_bus_load(rig.device, ONPU_CORE_REGS_BASE + ONPU_CORE_REGS_SIZE, 4, &value));
	assert_false(core_bus_load(rig.device, ONPU_CORE_REGS_BASE - 4, 4, &value));
}

/* With fewer queues, the registers of the missing ones behave like offsets without a register. */
static void test_few_queues(void **state)
{
	struct rig small;

	(void)state;
	rig_init(&small, 64 << 10, 4, false);
	assert_int_equal(rig_read(&small, ONPU_REG_CAP_MACHINE), ONPU_MACHINE_CUSTOM);
	assert_int_equal(rig_read(&small, ONPU_REG_CAP_NUM_QUEUES), 4);
	assert_int_equal(rig_read(&small, ONPU_REG_CAP_VECTORS), 5);
	assert_int_equal(rig_read(&small, ONPU_REG_CAP_SRAM_BYTES), 64 << 10);
	assert_int_equal(rig_read(&small, ONPU_REG_CAP_SAVE_BYTES), (64 << 10) + 8192);
	rig_write(&small, ONPU_REG_DOORBELL_TAIL(3), 5);
	rig_write(&small, ONPU_REG_DOORBELL_TAIL(4), 5);
	assert_int_equal(rig_read(&small, ONPU_REG_DOORBELL_TAIL(3)), 5);
	assert_int_equal(rig_read(&small, ONPU_REG_DOORBELL_TAIL(4)), 0);
	rig_destroy(&small);
}

/* A bind is refused as long as one field is wrong, and then changes nothing. */
static void test_bind(void **state)
{
	const uint32_t valid = ONPU_CORE_CONTEXT_CONTROL_VALID__MASK;
	const struct {
		uint32_t reg, bad, good;
	} fields[] = {
		{ ONPU_REG_CORE_CONTEXT_RING_SIZE(5), 0, 64 },
		{ ONPU_REG_CORE_CONTEXT_RING_SIZE(5), 1, 64 },
		{ ONPU_REG_CORE_CONTEXT_RING_SIZE(5), 96, 64 },
		{ ONPU_REG_CORE_CONTEXT_RING_SIZE(5), 8192, 64 },
		{ ONPU_REG_CORE_CONTEXT_RING_LO(5), 32, 64 },
		{ ONPU_REG_CORE_CONTEXT_SAVE_LO(5), 2048, 4096 },
		{ ONPU_REG_CORE_CONTEXT_COMPLETION_LO(5), 64, 8192 },
	};
	uint32_t control = ONPU_REG_CORE_CONTEXT_CONTROL(5);

	(void)state;
	for (size_t i = 0; i < COUNT(fields); i++) {
		core_write(fields[i].reg, fields[i].bad);
		core_write(control, valid);
		assert_int_equal(core_read(control), 0);
		core_write(fields[i].reg, fields[i].good);
	}
	core_write(control, valid | 64); /* wrong VM */
	assert_int_equal(core_read(control), 64);
	core_write(control, valid | 65 << 8); /* wrong vector */
	assert_int_equal(core_read(control), 65 << 8);
	core_write(control, valid | 3);
	assert_int_equal(core_read(control), valid | 3);
	assert_int_equal(bar0_get(ONPU_REG_QUEUE_STATE(5)), ONPU_QUEUE_IDLE);
	core_write(ONPU_REG_CORE_CONTEXT_RING_SIZE(5), 128);
	assert_int_equal(core_read(ONPU_REG_CORE_CONTEXT_RING_SIZE(5)), 64);
	core_write(ONPU_REG_CORE_VM_ROOT_LO(3), 4096);
	assert_int_equal(core_read(ONPU_REG_CORE_VM_ROOT_LO(3)), 0);
	core_write(control, 0);
	assert_int_equal(core_read(control), 0);
	core_write(ONPU_REG_CORE_VM_ROOT_LO(3), 4096);
	assert_int_equal(core_read(ONPU_REG_CORE_VM_ROOT_LO(3)), 4096);
}

/*
 * Tests the core's interrupts for a doorbell, a kill, a request and a response. A doorbell of a
 * queue that is not bound is lost.
 */
static void test_core_interrupts(void **state)
{
	(void)state;
	rig_write(&rig, ONPU_REG_DOORBELL_TAIL(9), 1);
	assert_int_equal(core_read(ONPU_REG_CORE_DOORBELL_PENDING(0)), 0);
	core_write(ONPU_REG_CORE_CONTEXT_RING_SIZE(9), 4);
	core_write(ONPU_REG_CORE_CONTEXT_CONTROL(9), ONPU_CORE_CONTEXT_CONTROL_VALID__MASK);
	assert_int_equal(bar0_get(ONPU_REG_DOORBELL_TAIL(9)), 0);
	rig_write(&rig, ONPU_REG_DOORBELL_TAIL(9), 2);
	assert_int_equal(core_read(ONPU_REG_CORE_DOORBELL_PENDING(0)), 1 << 9);
	assert_int_equal(core_read(ONPU_REG_CORE_IRQ_STATUS), ONPU_CORE_IRQ_STATUS_DOORBELL__MASK);
	assert_int_equal(core_read(ONPU_REG_CORE_CONTEXT_TAIL(9)), 2);
	core_write(ONPU_REG_CORE_IRQ_STATUS, ~0u);
	assert_int_equal(core_read(ONPU_REG_CORE_IRQ_STATUS), ONPU_CORE_IRQ_STATUS_DOORBELL__MASK);
	core_write(ONPU_REG_CORE_DOORBELL_PENDING(0), 1 << 9);
	assert_int_equal(core_read(ONPU_REG_CORE_IRQ_STATUS), 0);
	core_write(ONPU_REG_CORE_KILL, 200);
	assert_int_equal(core_read(ONPU_REG_CORE_IRQ_STATUS), ONPU_CORE_IRQ_STATUS_KILLED__MASK);
	core_write(ONPU_REG_CORE_IRQ_STATUS, ~0u);
	rig_write(&rig, ONPU_REG_REQUEST_TAIL, 1);
	rig_write(&rig, ONPU_REG_RESPONSE_HEAD, 1);
	assert_int_equal(core_read(ONPU_REG_CORE_IRQ_STATUS),
			 ONPU_CORE_IRQ_STATUS_REQUEST__MASK | ONPU_CORE_IRQ_STATUS_RESPONSE__MASK);
}

/* Vector 0 interrupts once for each new cause, and not for causes that are masked. */
static void test_host_interrupts(void **state)
{
	const uint32_t response = ONPU_INT_STATUS_RESPONSE__MASK, log = ONPU_INT_STATUS_LOG__MASK;

	(void)state;
	core_write(ONPU_REG_CORE_INT_RAISE, ~0u);
	assert_int_equal(bar0_get(ONPU_REG_INT_STATUS),
			 response | log | ONPU_INT_STATUS_REQUEST__MASK);
	assert_int_equal(rig.interrupts[0], 0);
	bar0_put(ONPU_REG_INT_ENABLE, response);
	assert_int_equal(rig.interrupts[0], 1);
	core_write(ONPU_REG_CORE_INT_RAISE, response);
	assert_int_equal(rig.interrupts[0], 1);
	bar0_put(ONPU_REG_INT_STATUS, response);
	core_write(ONPU_REG_CORE_INT_RAISE, response);
	assert_int_equal(rig.interrupts[0], 2);
	bar0_put(ONPU_REG_INT_ENABLE, response | log);
	assert_int_equal(rig.interrupts[0], 3);
	bar0_put(ONPU_REG_INT_STATUS, ~0u);
	assert_int_equal(bar0_get(ONPU_REG_INT_STATUS), 0);
}

/* Tests the core's DMA: wrong operands, bus errors, and the time that a copy takes. */
static void test_core_dma(void **state)
{
	uint64_t bus = rig_alloc(&rig, 4096);
	const struct {
		uint64_t host;
		uint32_t local, length, command;
		bool good;
	} transfers[] = {
		{ bus, 0, 4096, ONPU_DMA_READ, true },
		{ bus, 256 << 10, 0, ONPU_DMA_WRITE, true },
		{ bus, (256 << 10) - 4, 4, ONPU_DMA_WRITE, true },
		{ bus, (256 << 10) - 4, 8, ONPU_DMA_READ, false },
		{ bus, 0xfffffffc, 8, ONPU_DMA_READ, false },
		{ bus + 2, 0, 4, ONPU_DMA_READ, false },
		{ bus, 2, 4, ONPU_DMA_READ, false },
		{ bus, 0, 6, ONPU_DMA_READ, false },
		{ bus, 0, 4100, ONPU_DMA_READ, false },
		{ bus, 0, 4, 0, false },
		{ bus, 0, 4, 3, false },
		{ 16, 0, 4, ONPU_DMA_READ, false },
		{ UINT64_C(1) << 56, 0, 4, ONPU_DMA_WRITE, false },
		{ UINT64_MAX - 3, 0, 8, ONPU_DMA_WRITE, false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(transfers); i++) {
		core_write(ONPU_REG_CORE_DMA_HOST_LO, (uint32_t)transfers[i].host);
		core_write(ONPU_REG_CORE_DMA_HOST_HI, (uint32_t)(transfers[i].host >> 32));
		core_write(ONPU_REG_CORE_DMA_LOCAL, transfers[i].local);
		core_write(ONPU_REG_CORE_DMA_LENGTH, transfers[i].length);
		core_write(ONPU_REG_CORE_DMA_COMMAND, transfers[i].command);
		if (core_read(ONPU_REG_CORE_DMA_ERROR) == transfers[i].good)
			fail_msg("transfer %zu: error %d", i, transfers[i].good);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_bar0_reset, setup, teardown),
		cmocka_unit_test_setup_teardown(test_core_reset, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bar0_access, setup, teardown),
		cmocka_unit_test_setup_teardown(test_core_access, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unnamed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_core_unnamed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bad_accesses, setup, teardown),
		cmocka_unit_test(test_few_queues),
		cmocka_unit_test_setup_teardown(test_bind, setup, teardown),
		cmocka_unit_test_setup_teardown(test_core_interrupts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_host_interrupts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_core_dma, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
