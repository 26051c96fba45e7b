// SPDX-License-Identifier: MIT
/*
 * Tests the boot: a good firmware image, damaged images, programs that misbehave, and what the
 * firmware refuses.
 */
#include "rig.h"

#include "device/device.h"

static struct rig rig;

static int setup(void **state)
{
	(void)state;
	rig_init(&rig, 64 << 10, 4, false);
	rig_setup(&rig);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	rig_destroy(&rig);
	return 0;
}

static uint32_t boot_status(void)
{
	rig_write(&rig, ONPU_REG_BOOT, 1);
	rig_settle(&rig);
	return rig_read(&rig, ONPU_REG_STATUS);
}

static uint32_t failed(enum onpu_boot_error error, uint32_t detail)
{
	return ONPU_STATE_FAILED | (uint32_t)error << ONPU_STATUS_ERROR__SHIFT |
	       detail << ONPU_STATUS_DETAIL__SHIFT;
}

static struct onpu_fw_header *header(void)
{
	return rig_at(&rig, rig.image);
}

static uint32_t crc32(const uint8_t *bytes, size_t size)
{
	uint32_t crc = 0;

	/*
	 * Divides the message, whose first 32 bits are inverted, by the polynomial. The lowest bit
	 * of a byte comes first.
	 */
	for (size_t i = 0; i < size + 4; i++) {
		uint8_t byte = i < size ? bytes[i] : 0;

		byte = (uint8_t)(i < 4 ? ~byte : byte);
		for (unsigned int n = 0; n < 8; n++) {
			bool out = crc >> 31;

			crc = crc << 1 | (byte >> n & 1);
			crc ^= out ? 0x04c11db7u : 0;
		}
	}
	for (unsigned int n = 0; n < 16; n++) {
		uint32_t low = crc >> n & 1, high = crc >> (31 - n) & 1;

		crc = (crc & ~(1u << n | 1u << (31 - n))) | low << (31 - n) | high << n;
	}
	return ~crc;
}

static void test_good(void **state)
{
	const struct onpu_fw_header *h = header();

	(void)state;
	assert_int_equal(h->crc, crc32((const uint8_t *)(h + 1), h->image_size));
	rig_write(&rig, ONPU_REG_INT_ENABLE, ONPU_INT_STATUS_STATUS__MASK);
	assert_int_equal(boot_status(), ONPU_STATE_READY);
	assert_true(rig.interrupts[0] >= 1);
	assert_int_equal(rig_read(&rig, ONPU_REG_FW_ABI), ONPU_ABI_MAJOR << 16 | ONPU_ABI_MINOR);
	assert_int_equal(rig_read(&rig, ONPU_REG_FW_VERSION), h->version);
	/* The log has a line that says that the firmware has started. */
	assert_true(rig_read(&rig, ONPU_REG_LOG_TAIL) > 10);
	assert_memory_equal(rig_at(&rig, rig.log), "[0x", 3);
	assert_non_null(strstr(rig_at(&rig, rig.log), "] firmware started, queues 0x4"));
	assert_int_equal(((char *)rig_at(&rig, rig.log))[rig_read(&rig, ONPU_REG_LOG_TAIL) - 1],
			 '\n');
	/* A second BOOT has no effect, and writes to the rings' registers have none any more. */
	rig_write(&rig, ONPU_REG_BOOT, 1);
	rig_write(&rig, ONPU_REG_REQUEST_SIZE, 8);
	rig_settle(&rig);
	assert_int_equal(rig_read(&rig, ONPU_REG_STATUS), ONPU_STATE_READY);
	assert_int_equal(rig_read(&rig, ONPU_REG_REQUEST_SIZE), RIG_RING);
}

/* One member is wrong at a time; the others are good. */
static void test_bad_header(void **state)
{
	struct onpu_fw_header good = *header();
	const struct {
		size_t offset;
		uint32_t value;
		enum onpu_boot_error error;
	} cases[] = {
		{ offsetof(struct onpu_fw_header, magic), 0, ONPU_BOOT_ERROR_HEADER },
		{ offsetof(struct onpu_fw_header, header_size), 128, ONPU_BOOT_ERROR_HEADER },
		{ offsetof(struct onpu_fw_header, mbz_28), 1, ONPU_BOOT_ERROR_HEADER },
		{ offsetof(struct onpu_fw_header, mbz_28) + 20, 1, ONPU_BOOT_ERROR_HEADER },
		{ offsetof(struct onpu_fw_header, image_size), good.image_size - 4,
		  ONPU_BOOT_ERROR_SIZE },
		{ offsetof(struct onpu_fw_header, image_size), 0, ONPU_BOOT_ERROR_SIZE },
		{ offsetof(struct onpu_fw_header, load_address), 2, ONPU_BOOT_ERROR_SIZE },
		{ offsetof(struct onpu_fw_header, load_address), 256 << 10, ONPU_BOOT_ERROR_SIZE },
		{ offsetof(struct onpu_fw_header, load_address), 0xfffffffc, ONPU_BOOT_ERROR_SIZE },
		{ offsetof(struct onpu_fw_header, memory_size), good.image_size - 4,
		  ONPU_BOOT_ERROR_SIZE },
		{ offsetof(struct onpu_fw_header, memory_size), (256 << 10) + 4,
		  ONPU_BOOT_ERROR_SIZE },
		{ offsetof(struct onpu_fw_header, entry), 2, ONPU_BOOT_ERROR_SIZE },
		{ offsetof(struct onpu_fw_header, entry), good.image_size, ONPU_BOOT_ERROR_SIZE },
		{ offsetof(struct onpu_fw_header, crc), good.crc ^ 1, ONPU_BOOT_ERROR_CRC },
		{ offsetof(struct onpu_fw_header, hw_version), 0x00020000, ONPU_BOOT_ERROR_ABI },
		{ offsetof(struct onpu_fw_header, hw_version), 0x00010001, ONPU_BOOT_ERROR_ABI },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		rig_write(&rig, ONPU_REG_RESET, 1);
		rig_setup(&rig);
		*header() = good;
		memcpy((uint8_t *)header() + cases[i].offset, &cases[i].value, 4);
		assert_int_equal(boot_status(), failed(cases[i].error, 0));
	}
	/* The state stays FAILED until a reset. */
	*header() = good;
	assert_int_equal(boot_status(), failed(ONPU_BOOT_ERROR_ABI, 0));
	rig_write(&rig, ONPU_REG_RESET, 1);
	rig_setup(&rig);
	assert_int_equal(boot_status(), ONPU_STATE_READY);
}

/* Changing any bit of the content makes the boot fail. */
static void test_bad_content(void **state)
{
	uint8_t *image = (uint8_t *)(header() + 1);

	(void)state;
	for (uint32_t at = 0; at < header()->image_size; at += 97) {
		image[at] ^= 1u << at % 8;
		rig_write(&rig, ONPU_REG_RESET, 1);
		rig_setup(&rig);
		assert_int_equal(boot_status(), failed(ONPU_BOOT_ERROR_CRC, 0));
		image[at] ^= 1u << at % 8;
	}
}

static void test_bad_registers(void **state)
{
	const struct {
		uint32_t reg, value;
		enum onpu_boot_error error;
	} cases[] = {
		{ ONPU_REG_FW_SIZE, 0, ONPU_BOOT_ERROR_SIZE },
		{ ONPU_REG_FW_SIZE, 63, ONPU_BOOT_ERROR_SIZE },
		{ ONPU_REG_FW_SIZE, (256 << 10) + 65, ONPU_BOOT_ERROR_SIZE },
		{ ONPU_REG_FW_SIZE, 0xffffffff, ONPU_BOOT_ERROR_SIZE },
		{ ONPU_REG_FW_ADDRESS_LO, (uint32_t)rig.image + 32, ONPU_BOOT_ERROR_FETCH },
		{ ONPU_REG_FW_ADDRESS_HI, 0, ONPU_BOOT_ERROR_FETCH },
		{ ONPU_REG_FW_ADDRESS_HI, 0x01000040, ONPU_BOOT_ERROR_FETCH },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		rig_write(&rig, ONPU_REG_RESET, 1);
		rig_setup(&rig);
		rig_write(&rig, cases[i].reg, cases[i].value);
		assert_int_equal(boot_status(), failed(cases[i].error, 0));
	}
	/* The header can be read, the content after it cannot. */
	rig_write(&rig, ONPU_REG_RESET, 1);
	rig_setup(&rig);
	rig.bus_hole = rig.image + 4096;
	assert_int_equal(boot_status(), failed(ONPU_BOOT_ERROR_FETCH, 0));
}

/* ---- Other programs than the firmware ---- */

static void load_code(const uint32_t *words, uint32_t count)
{
	struct onpu_fw_header *h = header();

	memcpy(h + 1, words, count * 4);
	h->image_size = count * 4;
	h->memory_size = count * 4;
	h->crc = crc32((const uint8_t *)words, count * 4);
	rig_write(&rig, ONPU_REG_FW_SIZE, count * 4 + sizeof(*h));
}

/* The first instruction of the exception handler raises an exception, which locks the core up. */
static void test_lock_up(void **state)
{
	const uint32_t code[] = { 0 };

	(void)state;
	load_code(code, 1);
	assert_int_equal(boot_status(), ONPU_STATE_HALTED | 2 << ONPU_STATUS_DETAIL__SHIFT);
	rig_write(&rig, ONPU_REG_RESET, 1);
	assert_int_equal(rig_read(&rig, ONPU_REG_STATUS), 0);
}

/* A program that never becomes ready leaves the device alive; a reset ends it. */
static void test_spin(void **state)
{
	const uint32_t code[] = { 0x0000006f }; /* j . */

	(void)state;
	load_code(code, 1);
	rig_write(&rig, ONPU_REG_BOOT, 1);
	for (int i = 0; i < 10; i++)
		assert_int_equal(onpu_device_run(rig.device, 100000), ONPU_PROGRESS_BUSY);
	assert_int_equal(rig_read(&rig, ONPU_REG_STATUS), ONPU_STATE_BOOTING);
	rig_write(&rig, ONPU_REG_INV_REQ, 5);
	onpu_device_run(rig.device, 1000);
	assert_int_equal(rig_read(&rig, ONPU_REG_INV_DONE), 5);
	rig_write(&rig, ONPU_REG_RESET, 1);
	assert_int_equal(onpu_device_run(rig.device, 100000), ONPU_PROGRESS_IDLE);
}

/*
 * The timer wakes a core that waits for it. When nothing else happens, the clock jumps to the
 * timer.
 */
static void test_timer(void **state)
{
	const uint32_t code[] = {
		0x40000537, /* lui  a0, 0x40000     */
		0x001005b7, /* lui  a1, 0x100       : 2^20 */
		0x00052623, /* sw   zero, 12(a0)    : MTIMECMP_HI */
		0x00b52423, /* sw   a1, 8(a0)       : MTIMECMP_LO */
		0x08000613, /* li   a2, 0x80        */
		0x30461073, /* csrw mie, a2         */
		0x10500073, /* wfi                  */
		0x00200693, /* li   a3, 2           : READY */
		0x02d52023, /* sw   a3, 32(a0)      : STATUS */
		0x30401073, /* csrw mie, zero       */
		0x10500073, /* wfi                  */
		0xffdff06f, /* j    -4              */
	};

	(void)state;
	load_code(code, sizeof(code) / 4);
	assert_int_equal(boot_status(), ONPU_STATE_READY);
	assert_true(onpu_device_cycle(rig.device) >= 1 << 20);
	assert_true(onpu_device_cycle(rig.device) < (1 << 20) + 100);
	assert_int_equal(rig_read(&rig, ONPU_REG_CYCLE_LO), onpu_device_cycle(rig.device));
	assert_int_equal(rig_read(&rig, ONPU_REG_CYCLE_HI), 0);
}

/* ---- What the firmware itself refuses ---- */

static void test_bad_rings(void **state)
{
	const struct {
		uint32_t reg, value, detail;
	} cases[] = {
		{ ONPU_REG_REQUEST_SIZE, 0, ONPU_FW_DETAIL_RING_SETUP },
		{ ONPU_REG_REQUEST_SIZE, 24, ONPU_FW_DETAIL_RING_SETUP },
		{ ONPU_REG_REQUEST_SIZE, 8192, ONPU_FW_DETAIL_RING_SETUP },
		{ ONPU_REG_RESPONSE_SIZE, 1, ONPU_FW_DETAIL_RING_SETUP },
		{ ONPU_REG_RESPONSE_BASE_LO, 32, ONPU_FW_DETAIL_RING_SETUP },
		{ ONPU_REG_LOG_SIZE, 2048, ONPU_FW_DETAIL_RING_SETUP },
		{ ONPU_REG_LOG_SIZE, 5000, ONPU_FW_DETAIL_RING_SETUP },
		{ ONPU_REG_LOG_BASE_HI, 0, ONPU_FW_DETAIL_RING_ACCESS },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		rig_write(&rig, ONPU_REG_RESET, 1);
		rig_setup(&rig);
		rig_write(&rig, cases[i].reg, cases[i].value);
		assert_int_equal(boot_status(), failed(ONPU_BOOT_ERROR_FIRMWARE, cases[i].detail));
	}
	/* A log of size 0 is allowed. */
	rig_write(&rig, ONPU_REG_RESET, 1);
	rig_setup(&rig);
	rig_write(&rig, ONPU_REG_LOG_SIZE, 0);
	assert_int_equal(boot_status(), ONPU_STATE_READY);
	assert_int_equal(rig_read(&rig, ONPU_REG_LOG_TAIL), 0);
}

/*
 * Ring indices that are inconsistent, and rings that vanish while the firmware runs, make it fail.
 */
static void test_ring_trouble(void **state)
{
	const uint32_t index = failed(ONPU_BOOT_ERROR_FIRMWARE, ONPU_FW_DETAIL_RING_INDEX);
	const uint32_t access = failed(ONPU_BOOT_ERROR_FIRMWARE, ONPU_FW_DETAIL_RING_ACCESS);

	(void)state;
	assert_int_equal(boot_status(), ONPU_STATE_READY);
	rig_write(&rig, ONPU_REG_REQUEST_TAIL, RIG_RING + 1);
	rig_settle(&rig);
	assert_int_equal(rig_read(&rig, ONPU_REG_STATUS), index);

	rig_write(&rig, ONPU_REG_RESET, 1);
	rig_setup(&rig);
	assert_int_equal(boot_status(), ONPU_STATE_READY);
	rig_write(&rig, ONPU_REG_RESPONSE_HEAD, 1);
	rig_write(&rig, ONPU_REG_REQUEST_TAIL, 1);
	rig_settle(&rig);
	assert_int_equal(rig_read(&rig, ONPU_REG_STATUS), index);

	for (int n = 0; n < 2; n++) {
		rig_write(&rig, ONPU_REG_RESET, 1);
		rig.bus_hole = 0;
		rig_setup(&rig);
		assert_int_equal(boot_status(), ONPU_STATE_READY);
		rig.bus_hole = n ? rig.responses : rig.requests;
		rig_write(&rig, ONPU_REG_REQUEST_TAIL, 1);
		rig_settle(&rig);
		assert_int_equal(rig_read(&rig, ONPU_REG_STATUS), access);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_good, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bad_header, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bad_content, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bad_registers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lock_up, setup, teardown),
		cmocka_unit_test_setup_teardown(test_spin, setup, teardown),
		cmocka_unit_test_setup_teardown(test_timer, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bad_rings, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ring_trouble, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
