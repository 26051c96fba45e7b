/* SPDX-License-Identifier: MIT */
/* Configuration space of the PCI function: its registers, and which bits a write changes. */
#ifndef ONPU_VFU_PCI_CONFIG_H
#define ONPU_VFU_PCI_CONFIG_H

#include <linux/pci_regs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PCI_CONFIG_SIZE PCI_CFG_SPACE_EXP_SIZE
/* BAR2: table and pending bits of MSI-X. */
#define PCI_CONFIG_MSIX_BAR	 2
#define PCI_CONFIG_MSIX_TABLE	 0x0000u
#define PCI_CONFIG_MSIX_PBA	 0x1000u
#define PCI_CONFIG_MSIX_BAR_SIZE 0x2000u

/**
 * struct pci_config - the configuration space
 * @value: bytes that a read returns
 * @writable: bits that a write sets and clears
 * @clearable: bits that writing a one clears
 * @vectors: number of MSI-X vectors
 */
struct pci_config {
	uint8_t value[PCI_CONFIG_SIZE];
	uint8_t writable[PCI_CONFIG_SIZE];
	uint8_t clearable[PCI_CONFIG_SIZE];
	unsigned int vectors;
};

/*
 * Sets the state after power-on. @vectors: number of MSI-X vectors; 0: the function has no MSI-X.
 */
void pci_config_init(struct pci_config *config, unsigned int vectors);

/* Reads; [offset, offset + len) must be inside the space. */
void pci_config_read(const struct pci_config *config, uint32_t offset, void *data, size_t len);
/*
 * Writes. Returns true when the device behind the BARs is to be reset, because of FLR or a change
 * of the power state. FLR and a return from D3hot have reset the configuration itself by then.
 */
bool pci_config_write(struct pci_config *config, uint32_t offset, const void *data, size_t len);
/*
 * Function level reset: writable registers return to their values after power-on, except error
 * reporting (AER).
 */
void pci_config_reset(struct pci_config *config);

/*
 * Return whether the function answers accesses to its BARs, and whether it may send requests and
 * interrupts.
 */
bool pci_config_memory_enabled(const struct pci_config *config);
bool pci_config_master_enabled(const struct pci_config *config);

#endif
