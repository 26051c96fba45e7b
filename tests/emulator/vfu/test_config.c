// SPDX-License-Identifier: MIT
/* Tests the configuration space: layout, write masks, sizing of BARs, resets and power states. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "onpu/registers.h"
#include "onpu_sim.h"
#include "vfu/pci_config.h"

#define VECTORS 65

static struct pci_config config;

static uint32_t get(uint32_t offset, unsigned int size)
{
	uint32_t value = 0;

	pci_config_read(&config, offset, &value, size);
	return value;
}

static bool set(uint32_t offset, unsigned int size, uint32_t value)
{
	return pci_config_write(&config, offset, &value, size);
}

static uint32_t capability(uint8_t id)
{
	uint32_t at = get(PCI_CAPABILITY_LIST, 1);

	for (unsigned int i = 0; at && i < 48; i++) {
		assert_int_equal(at % 4, 0);
		assert_in_range(at, 0x40, 0xfc);
		if (get(at, 1) == id)
			return at;
		at = get(at + 1, 1);
	}
	assert_int_equal(at, 0);
	return 0;
}

static int setup(void **state)
{
	(void)state;
	pci_config_init(&config, VECTORS);
	return 0;
}

static void test_identity(void **state)
{
	(void)state;
	assert_int_equal(get(PCI_VENDOR_ID, 2), ONPU_PCI_VENDOR);
	assert_int_equal(get(PCI_DEVICE_ID, 2), ONPU_PCI_DEVICE);
	assert_int_equal(get(PCI_SUBSYSTEM_VENDOR_ID, 2), ONPU_PCI_VENDOR);
	assert_int_equal(get(PCI_SUBSYSTEM_ID, 2), ONPU_PCI_DEVICE);
	assert_int_equal(get(PCI_CLASS_REVISION, 4) >> 8, ONPU_PCI_CLASS);
	assert_int_equal(get(PCI_HEADER_TYPE, 1), PCI_HEADER_TYPE_NORMAL);
	assert_int_equal(get(PCI_COMMAND, 2), 0);
	assert_int_equal(get(PCI_STATUS, 2), PCI_STATUS_CAP_LIST);
	assert_int_equal(get(PCI_INTERRUPT_PIN, 1), 0);
	assert_int_equal(get(PCI_ROM_ADDRESS, 4), 0);
}

static void test_capabilities(void **state)
{
	uint32_t express, msi, msix;

	(void)state;
	assert_true(capability(PCI_CAP_ID_PM));
	express = capability(PCI_CAP_ID_EXP);
	msi = capability(PCI_CAP_ID_MSI);
	msix = capability(PCI_CAP_ID_MSIX);
	assert_true(express && msi && msix);
	assert_int_equal((get(express + PCI_EXP_FLAGS, 2) & PCI_EXP_FLAGS_TYPE) >> 4,
			 PCI_EXP_TYPE_ENDPOINT);
	assert_true(get(express + PCI_EXP_DEVCAP, 4) & PCI_EXP_DEVCAP_FLR);
	/* 4 GB/s for each lane of 32 GT/s are the bytes that LD and ST move in a cycle of 1 ns. */
	assert_int_equal(get(express + PCI_EXP_LNKCAP, 4) & PCI_EXP_LNKCAP_SLS,
			 PCI_EXP_LNKCAP_SLS_32_0GB);
	assert_int_equal(4 * ((get(express + PCI_EXP_LNKCAP, 4) & PCI_EXP_LNKCAP_MLW) >> 4),
			 2 * onpu_sim_config_default().dma_bytes_per_cycle);
	assert_int_equal(get(msi + PCI_MSI_FLAGS, 2), PCI_MSI_FLAGS_64BIT);
	assert_int_equal(get(msix + PCI_MSIX_FLAGS, 2), VECTORS - 1);
	assert_int_equal(get(msix + PCI_MSIX_TABLE, 4), 2);
	assert_int_equal(get(msix + PCI_MSIX_PBA, 4), 0x1002);
	/* AER is the only extended capability. */
	assert_int_equal(get(PCI_CFG_SPACE_SIZE, 4), PCI_EXT_CAP_ID_ERR | 2 << 16);

	pci_config_init(&config, 0);
	assert_int_equal(capability(PCI_CAP_ID_MSIX), 0);
	assert_true(capability(PCI_CAP_ID_MSI) && capability(PCI_CAP_ID_EXP));
}

/* Whatever is written, byte by byte or not, only writable bits change. */
static void test_masks(void **state)
{
	struct pci_config before = config;
	uint8_t ones[64], zeros[64] = { 0 };
	uint32_t express = capability(PCI_CAP_ID_EXP), pm = capability(PCI_CAP_ID_PM);

	(void)state;
	memset(ones, 0xff, sizeof(ones));
	for (uint32_t at = 0; at < PCI_CONFIG_SIZE; at++) {
		if (at != express + PCI_EXP_DEVCTL + 1 && at != pm + PCI_PM_CTRL)
			assert_false(set(at, 1, 0xff));
	}
	for (uint32_t at = 0; at < PCI_CONFIG_SIZE; at++)
		assert_int_equal((config.value[at] ^ before.value[at]) & ~before.writable[at], 0);
	assert_int_equal(get(PCI_VENDOR_ID, 2), ONPU_PCI_VENDOR);
	assert_int_equal(get(PCI_STATUS, 2), PCI_STATUS_CAP_LIST);
	assert_int_equal(get(PCI_COMMAND, 2), PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER |
						      PCI_COMMAND_PARITY | PCI_COMMAND_SERR |
						      PCI_COMMAND_INTX_DISABLE);
	for (uint32_t at = 0; at < PCI_CONFIG_SIZE; at += sizeof(zeros)) {
		if (at <= express && express - at < sizeof(zeros))
			continue;
		assert_false(pci_config_write(&config, at, zeros, sizeof(zeros)));
	}
	assert_int_equal(get(PCI_DEVICE_ID, 2), ONPU_PCI_DEVICE);
	assert_int_equal(get(PCI_COMMAND, 2), 0);
}

static void test_sizing(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 6; i++)
		set(PCI_BASE_ADDRESS_0 + 4 * i, 4, UINT32_MAX);
	set(PCI_ROM_ADDRESS, 4, UINT32_MAX);
	assert_int_equal(get(PCI_BASE_ADDRESS_0, 4),
			 ~(uint32_t)(ONPU_BAR0_SIZE - 1) | PCI_BASE_ADDRESS_MEM_TYPE_64);
	assert_int_equal(get(PCI_BASE_ADDRESS_1, 4), UINT32_MAX);
	assert_int_equal(get(PCI_BASE_ADDRESS_2, 4), ~0x1fffu);
	assert_int_equal(get(PCI_BASE_ADDRESS_3, 4), 0);
	assert_int_equal(get(PCI_BASE_ADDRESS_4, 4), 0);
	assert_int_equal(get(PCI_BASE_ADDRESS_5, 4), 0);
	assert_int_equal(get(PCI_ROM_ADDRESS, 4), 0);
	set(PCI_BASE_ADDRESS_0, 4, 0xfe612345);
	assert_int_equal(get(PCI_BASE_ADDRESS_0, 4), 0xfe600004);

	pci_config_init(&config, 0);
	set(PCI_BASE_ADDRESS_2, 4, UINT32_MAX);
	assert_int_equal(get(PCI_BASE_ADDRESS_2, 4), 0);
}

static void test_write_one_to_clear(void **state)
{
	uint32_t status = PCI_CFG_SPACE_SIZE + PCI_ERR_UNCOR_STATUS;

	(void)state;
	config.value[status + 2] = 0x14;
	set(status, 4, 0);
	assert_int_equal(get(status, 4), 0x140000);
	set(status, 4, 0x40000);
	assert_int_equal(get(status, 4), 0x100000);
	set(status, 4, UINT32_MAX);
	assert_int_equal(get(status, 4), 0);
}

static void test_flr(void **state)
{
	uint32_t control = capability(PCI_CAP_ID_EXP) + PCI_EXP_DEVCTL;
	uint32_t mask = PCI_CFG_SPACE_SIZE + PCI_ERR_UNCOR_MASK;

	(void)state;
	set(PCI_COMMAND, 2, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
	set(PCI_BASE_ADDRESS_0, 4, 0xfe600000);
	set(mask, 4, PCI_ERR_UNC_UNSUP);
	assert_false(set(control, 2, get(control, 2)));
	assert_true(set(control, 2, get(control, 2) | PCI_EXP_DEVCTL_BCR_FLR));
	assert_int_equal(get(control, 2) & PCI_EXP_DEVCTL_BCR_FLR, 0);
	assert_int_equal(get(PCI_COMMAND, 2), 0);
	assert_int_equal(get(PCI_BASE_ADDRESS_0, 4), PCI_BASE_ADDRESS_MEM_TYPE_64);
	assert_int_equal(get(capability(PCI_CAP_ID_MSIX) + PCI_MSIX_FLAGS, 2), VECTORS - 1);
	/* A function-level reset keeps the mask of error reporting. */
	assert_int_equal(get(mask, 4), PCI_ERR_UNC_UNSUP);
	/*
	 * Writing the high byte alone starts a reset; a write that ends before that byte does not.
	 */
	assert_true(set(control + 1, 1, PCI_EXP_DEVCTL_BCR_FLR >> 8));
	assert_false(set(control, 1, 0xff));
}

static void test_power(void **state)
{
	uint32_t control = capability(PCI_CAP_ID_PM) + PCI_PM_CTRL;

	(void)state;
	set(PCI_COMMAND, 2, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
	assert_true(pci_config_memory_enabled(&config) && pci_config_master_enabled(&config));
	/* D1 and D2 do not exist. */
	assert_false(set(control, 2, 1));
	assert_false(set(control, 2, 2));
	assert_int_equal(get(control, 2), 0);
	assert_true(set(control, 2, 3));
	assert_int_equal(get(control, 2), 3);
	assert_false(set(control, 2, 3));
	assert_false(pci_config_memory_enabled(&config) || pci_config_master_enabled(&config));
	assert_int_equal(get(PCI_COMMAND, 2), PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
	/* The return to D0 is a reset. */
	assert_true(set(control, 2, 0));
	assert_int_equal(get(control, 2), 0);
	assert_int_equal(get(PCI_COMMAND, 2), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_identity, setup),
		cmocka_unit_test_setup(test_capabilities, setup),
		cmocka_unit_test_setup(test_masks, setup),
		cmocka_unit_test_setup(test_sizing, setup),
		cmocka_unit_test_setup(test_write_one_to_clear, setup),
		cmocka_unit_test_setup(test_flr, setup),
		cmocka_unit_test_setup(test_power, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
