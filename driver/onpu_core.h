/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Declarations that the files of the driver's core share: device, interrupts, core dumps, reset.
 */
#ifndef ONPU_CORE_H
#define ONPU_CORE_H

#include "onpu_device.h"

/* ---- onpu_device.c */

int onpu_device_init(struct onpu_device *onpu);
int onpu_irq_init(struct onpu_device *onpu);
/* Frees the interrupts; afterwards no handler is running. */
void onpu_irq_fini(void *onpu);
/* Without @allow: waits for handlers that are running; no other runs until they are allowed. */
void onpu_irq_allow(struct onpu_device *onpu, bool allow);

/* ---- onpu_dump.c: what is kept of the first failure of each kind */

int onpu_dump_init(struct onpu_device *onpu);
void onpu_debugfs_init(struct onpu_device *onpu);
/* Waits for the dump of a failure that a fence or a reset has told. */
void onpu_dump_flush(struct onpu_device *onpu);
/* Keep the failure of a device before its reset, with reset_lock held for writing. */
void onpu_dump_device(struct onpu_device *onpu, enum onpu_reset_reason reason, const char *text,
		      bool readable);

/* ---- onpu_reset.c */

/* Resets the device and boots the firmware; no interrupt handler may be running. */
int onpu_device_start(struct onpu_device *onpu);
/* After drm_dev_unplug(), or before anybody knows of the device: end all work and halt it. */
void onpu_device_unplug(struct onpu_device *onpu);
void onpu_device_reset_work(struct work_struct *work);
/* Frees memory when the device is seen to be off the bus. */
void onpu_device_quarantine_work(struct work_struct *work);
extern const struct pci_error_handlers onpu_error_handlers;
extern const struct dev_pm_ops onpu_pm_ops;

extern const struct attribute_group *onpu_sysfs_groups[];

#endif
