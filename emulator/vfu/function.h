/* SPDX-License-Identifier: MIT */
/*
 * The PCI function that a client sees: configuration space, BARs, interrupts and the client's
 * memory around one device, and whatever lets the device run.
 */
#ifndef ONPU_VFU_FUNCTION_H
#define ONPU_VFU_FUNCTION_H

#include "onpu_device.h"
#include "vfu/pci_config.h"
#include "vfu/dma.h"
#include "vfu/inject.h"
#include "vfu/irq.h"
#include "vfu/record.h"
#include "vfu/worker.h"

/**
 * struct vfu_function_config - configuration of a function
 * @device: configuration of the device
 * @msix: the function has MSI-X and its BAR, not only MSI
 * @sync: see struct vfu_worker
 * @recorder: records the accesses across the device's interface; not begun, remains the caller's,
 *	or NULL. With a recorder the device has one thread
 */
struct vfu_function_config {
	struct onpu_device_config device;
	bool msix;
	bool sync;
	struct vfu_recorder *recorder;
};

/*
 * The PCI function. Only the protocol's thread uses configuration and registers; irq, dma, injector
 * and the device have locks of their own.
 */
struct vfu_function {
	struct onpu_device *device;
	struct pci_config pci;
	struct vfu_dma dma;
	struct vfu_irqs irqs;
	struct vfu_injector injector;
	struct vfu_worker worker;
	struct vfu_recorder *recorder;
	uint8_t msix_table[VFU_MAX_VECTORS * PCI_MSIX_ENTRY_SIZE];
};

/*
 * Creates a function. Returns false after an error; *error then tells why, and lives as long as the
 * program.
 */
bool vfu_function_init(struct vfu_function *f, const struct vfu_function_config *config,
		       const char **error);
void vfu_function_destroy(struct vfu_function *f);

/* Returns the bytes of a region (VFIO_PCI_*_REGION_INDEX); 0: there is none. */
uint64_t vfu_function_region(const struct vfu_function *f, uint32_t region);

/* Accesses to a region; [offset, offset + count) must be inside it. */
void vfu_function_read(struct vfu_function *f, uint32_t region, uint64_t offset, void *data,
		       uint32_t count);
void vfu_function_write(struct vfu_function *f, uint32_t region, uint64_t offset, const void *data,
			uint32_t count);

/* Resets the function as FLR does. */
void vfu_function_reset(struct vfu_function *f);
/* Returns to the state after power-on, without memory and descriptors of the client. */
void vfu_function_release(struct vfu_function *f);

#endif
