// SPDX-License-Identifier: MIT
/*
 * Configuration space: a PCI Express endpoint with two BARs and the capabilities PM, MSI, PCIe
 * (with FLR), MSI-X and AER.
 */
#include "vfu/pci_config.h"

#include <string.h>

#include "onpu/registers.h"

#define REVISION 1
#define D3HOT	 3u

/* Offsets of the capabilities. */
#define PM	 0x40u
#define MSI	 0x48u
#define EXPRESS	 0x60u
#define MSIX	 0xa0u
#define AER	 0x100u
#define AER_SIZE 0x48u

/* 32 GT/s times 16 lanes are 64 bytes a cycle in each direction: what LD and ST move together. */
#define LINK_SPEED PCI_EXP_LNKCAP_SLS_32_0GB
#define LINK_WIDTH (16u << 4)
#define LINK_SPEEDS                                                                          \
	(PCI_EXP_LNKCAP2_SLS_2_5GB | PCI_EXP_LNKCAP2_SLS_5_0GB | PCI_EXP_LNKCAP2_SLS_8_0GB | \
	 PCI_EXP_LNKCAP2_SLS_16_0GB | PCI_EXP_LNKCAP2_SLS_32_0GB)
#define DEVICE_ERRORS \
	(PCI_EXP_DEVSTA_CED | PCI_EXP_DEVSTA_NFED | PCI_EXP_DEVSTA_FED | PCI_EXP_DEVSTA_URD)
#define DEVICE_CONTROL                                                                            \
	(PCI_EXP_DEVCTL_CERE | PCI_EXP_DEVCTL_NFERE | PCI_EXP_DEVCTL_FERE | PCI_EXP_DEVCTL_URRE | \
	 PCI_EXP_DEVCTL_RELAX_EN | PCI_EXP_DEVCTL_PAYLOAD | PCI_EXP_DEVCTL_NOSNOOP_EN |           \
	 PCI_EXP_DEVCTL_READRQ)
#define STATUS_ERRORS                                                                    \
	(PCI_STATUS_PARITY | PCI_STATUS_SIG_TARGET_ABORT | PCI_STATUS_REC_TARGET_ABORT | \
	 PCI_STATUS_REC_MASTER_ABORT | PCI_STATUS_SIG_SYSTEM_ERROR | PCI_STATUS_DETECTED_PARITY)
#define UNCORRECTABLE                                                                         \
	(PCI_ERR_UNC_DLP | PCI_ERR_UNC_POISON_TLP | PCI_ERR_UNC_FCP | PCI_ERR_UNC_COMP_TIME | \
	 PCI_ERR_UNC_COMP_ABORT | PCI_ERR_UNC_UNX_COMP | PCI_ERR_UNC_RX_OVER |                \
	 PCI_ERR_UNC_MALF_TLP | PCI_ERR_UNC_UNSUP)
#define FATAL (PCI_ERR_UNC_DLP | PCI_ERR_UNC_FCP | PCI_ERR_UNC_RX_OVER | PCI_ERR_UNC_MALF_TLP)
#define CORRECTABLE                                                                             \
	(PCI_ERR_COR_RCVR | PCI_ERR_COR_BAD_TLP | PCI_ERR_COR_BAD_DLLP | PCI_ERR_COR_REP_ROLL | \
	 PCI_ERR_COR_REP_TIMER | PCI_ERR_COR_ADV_NFAT)

static uint32_t get(const uint8_t *from, unsigned int size)
{
	uint32_t value = 0;

	for (unsigned int i = 0; i < size; i++)
		value |= (uint32_t)from[i] << 8 * i;
	return value;
}

static void put(uint8_t *to, unsigned int size, uint32_t value)
{
	for (unsigned int i = 0; i < size; i++)
		to[i] = (uint8_t)(value >> 8 * i);
}

/* Sets up a register: its value after power-on, and the bits that a write changes. */
static void put8(struct pci_config *c, uint32_t at, uint8_t value, uint8_t writable)
{
	put(c->value + at, 1, value);
	put(c->writable + at, 1, writable);
}

static void put16(struct pci_config *c, uint32_t at, uint32_t value, uint32_t writable)
{
	put(c->value + at, 2, value);
	put(c->writable + at, 2, writable);
}

static void put32(struct pci_config *c, uint32_t at, uint32_t value, uint32_t writable)
{
	put(c->value + at, 4, value);
	put(c->writable + at, 4, writable);
}

static void init_header(struct pci_config *c, bool msix)
{
	put16(c, PCI_VENDOR_ID, ONPU_PCI_VENDOR, 0);
	put16(c, PCI_DEVICE_ID, ONPU_PCI_DEVICE, 0);
	put16(c, PCI_COMMAND, 0,
	      PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER | PCI_COMMAND_PARITY | PCI_COMMAND_SERR |
		      PCI_COMMAND_INTX_DISABLE);
	put16(c, PCI_STATUS, PCI_STATUS_CAP_LIST, 0);
	put(c->clearable + PCI_STATUS, 2, STATUS_ERRORS);
	put32(c, PCI_CLASS_REVISION, (uint32_t)ONPU_PCI_CLASS << 8 | REVISION, 0);
	put8(c, PCI_CACHE_LINE_SIZE, 0, 0xff);
	put32(c, PCI_BASE_ADDRESS_0, PCI_BASE_ADDRESS_MEM_TYPE_64, ~(ONPU_BAR0_SIZE - 1));
	put32(c, PCI_BASE_ADDRESS_1, 0, UINT32_MAX);
	if (msix)
		put32(c, PCI_BASE_ADDRESS_2, PCI_BASE_ADDRESS_MEM_TYPE_32,
		      ~(PCI_CONFIG_MSIX_BAR_SIZE - 1));
	put16(c, PCI_SUBSYSTEM_VENDOR_ID, ONPU_PCI_VENDOR, 0);
	put16(c, PCI_SUBSYSTEM_ID, ONPU_PCI_DEVICE, 0);
	put8(c, PCI_CAPABILITY_LIST, PM, 0);
	put8(c, PCI_INTERRUPT_LINE, 0, 0xff);
}

static void init_capability(struct pci_config *c, uint32_t at, uint8_t id, uint32_t next)
{
	put8(c, at + PCI_CAP_LIST_ID, id, 0);
	put8(c, at + PCI_CAP_LIST_NEXT, (uint8_t)next, 0);
}

static void init_messages(struct pci_config *c, unsigned int vectors)
{
	init_capability(c, MSI, PCI_CAP_ID_MSI, EXPRESS);
	put16(c, MSI + PCI_MSI_FLAGS, PCI_MSI_FLAGS_64BIT, PCI_MSI_FLAGS_ENABLE);
	put32(c, MSI + PCI_MSI_ADDRESS_LO, 0, UINT32_MAX - 3);
	put32(c, MSI + PCI_MSI_ADDRESS_HI, 0, UINT32_MAX);
	put16(c, MSI + PCI_MSI_DATA_64, 0, UINT16_MAX);
	if (!vectors)
		return;
	init_capability(c, MSIX, PCI_CAP_ID_MSIX, 0);
	put16(c, MSIX + PCI_MSIX_FLAGS, vectors - 1,
	      PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL);
	put32(c, MSIX + PCI_MSIX_TABLE, PCI_CONFIG_MSIX_TABLE | PCI_CONFIG_MSIX_BAR, 0);
	put32(c, MSIX + PCI_MSIX_PBA, PCI_CONFIG_MSIX_PBA | PCI_CONFIG_MSIX_BAR, 0);
}

static void init_express(struct pci_config *c, uint32_t next)
{
	init_capability(c, EXPRESS, PCI_CAP_ID_EXP, next);
	put16(c, EXPRESS + PCI_EXP_FLAGS, 2 | PCI_EXP_TYPE_ENDPOINT << 4, 0);
	put32(c, EXPRESS + PCI_EXP_DEVCAP, PCI_EXP_DEVCAP_RBER | PCI_EXP_DEVCAP_FLR | 1, 0);
	/* The bit that starts an FLR reads zero. */
	put16(c, EXPRESS + PCI_EXP_DEVCTL,
	      PCI_EXP_DEVCTL_RELAX_EN | PCI_EXP_DEVCTL_NOSNOOP_EN | PCI_EXP_DEVCTL_READRQ_512B,
	      DEVICE_CONTROL);
	put(c->clearable + EXPRESS + PCI_EXP_DEVSTA, 2, DEVICE_ERRORS);
	put32(c, EXPRESS + PCI_EXP_LNKCAP, LINK_SPEED | LINK_WIDTH, 0);
	put16(c, EXPRESS + PCI_EXP_LNKCTL, 0,
	      PCI_EXP_LNKCTL_RCB | PCI_EXP_LNKCTL_CCC | PCI_EXP_LNKCTL_ES);
	put16(c, EXPRESS + PCI_EXP_LNKSTA, LINK_SPEED | LINK_WIDTH, 0);
	put32(c, EXPRESS + PCI_EXP_LNKCAP2, LINK_SPEEDS, 0);
	put16(c, EXPRESS + PCI_EXP_LNKCTL2, LINK_SPEED, PCI_EXP_LNKCTL2_TLS);
}

static void init_errors(struct pci_config *c)
{
	put32(c, AER, PCI_EXT_CAP_ID_ERR | 2 << 16, 0);
	put(c->clearable + AER + PCI_ERR_UNCOR_STATUS, 4, UNCORRECTABLE);
	put32(c, AER + PCI_ERR_UNCOR_MASK, 0, UNCORRECTABLE);
	put32(c, AER + PCI_ERR_UNCOR_SEVER, FATAL, UNCORRECTABLE);
	put(c->clearable + AER + PCI_ERR_COR_STATUS, 4, CORRECTABLE);
	put32(c, AER + PCI_ERR_COR_MASK, PCI_ERR_COR_ADV_NFAT, CORRECTABLE);
}

void pci_config_init(struct pci_config *config, unsigned int vectors)
{
	memset(config, 0, sizeof(*config));
	config->vectors = vectors;
	init_header(config, vectors);
	/* PM has version 3; a return from D3hot resets the function. */
	init_capability(config, PM, PCI_CAP_ID_PM, MSI);
	put16(config, PM + PCI_PM_PMC, 3, 0);
	put16(config, PM + PCI_PM_CTRL, 0, PCI_PM_CTRL_STATE_MASK);
	init_messages(config, vectors);
	init_express(config, vectors ? MSIX : 0);
	init_errors(config);
}

void pci_config_read(const struct pci_config *config, uint32_t offset, void *data, size_t len)
{
	memcpy(data, config->value + offset, len);
}

static uint32_t power_state(const struct pci_config *config)
{
	return get(config->value + PM + PCI_PM_CTRL, 2) & PCI_PM_CTRL_STATE_MASK;
}

/* Returns whether a write of @len bytes at @offset sets the bit that starts an FLR. */
static bool starts_flr(uint32_t offset, const uint8_t *data, size_t len)
{
	const uint32_t at = EXPRESS + PCI_EXP_DEVCTL + 1;

	return at >= offset && at - offset < len && data[at - offset] & PCI_EXP_DEVCTL_BCR_FLR >> 8;
}

/* Keeps the power state to D0 and D3hot; a request for a state between them changes nothing. */
static void settle_power(struct pci_config *config, uint32_t before)
{
	if (power_state(config) && power_state(config) != D3HOT)
		put(config->value + PM + PCI_PM_CTRL, 2, before);
}

bool pci_config_write(struct pci_config *config, uint32_t offset, const void *data, size_t len)
{
	const uint32_t before = power_state(config);
	const uint8_t *from = data;
	uint32_t after;
	bool flr;

	for (size_t i = 0; i < len; i++) {
		uint8_t *value = &config->value[offset + i];
		uint8_t mask = config->writable[offset + i];

		*value = (uint8_t)((*value & ~mask) | (from[i] & mask));
		*value &= (uint8_t)~(from[i] & config->clearable[offset + i]);
	}
	settle_power(config, before);
	after = power_state(config);
	flr = starts_flr(offset, from, len);
	if (flr || after < before)
		pci_config_reset(config);
	return flr || after != before;
}

void pci_config_reset(struct pci_config *config)
{
	struct pci_config fresh;

	pci_config_init(&fresh, config->vectors);
	memcpy(fresh.value + AER, config->value + AER, AER_SIZE);
	*config = fresh;
}

static uint32_t command(const struct pci_config *config)
{
	return power_state(config) ? 0 : get(config->value + PCI_COMMAND, 2);
}

bool pci_config_memory_enabled(const struct pci_config *config)
{
	return command(config) & PCI_COMMAND_MEMORY;
}

bool pci_config_master_enabled(const struct pci_config *config)
{
	return command(config) & PCI_COMMAND_MASTER;
}
