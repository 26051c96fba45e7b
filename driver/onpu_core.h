/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Declarations that the files of the driver's core share: device, interrupts, core dumps, reset. */
#ifndef ONPU_CORE_H
#define ONPU_CORE_H

#include <linux/fault-inject.h>

#include "onpu_device.h"

/* ---- onpu_device.c */

/* Prepares locks, queues of work, DMA, and what is read from the device; returns 0 or an errno. */
int onpu_device_init(struct onpu_device *onpu);
/* Allocates the interrupt vectors and requests their handlers; returns 0 or an errno. */
int onpu_irq_init(struct onpu_device *onpu);
/* Frees the interrupts; afterwards no handler is running. */
void onpu_irq_fini(void *onpu);
/* Disables (@allow false; waits for running handlers) or enables all interrupts of the device. */
void onpu_irq_allow(struct onpu_device *onpu, bool allow);

/* ---- onpu_dump.c: core dumps of the first failure of each kind */

/* Allocates what dumps need; returns 0 or -ENOMEM. */
int onpu_dump_init(struct onpu_device *onpu);
void onpu_debugfs_init(struct onpu_device *onpu);
/* Which requests fail and which invalidations are lost, on kernels that inject faults. */
extern struct fault_attr onpu_fail_requests, onpu_lose_invalidations;
/*
 * Waits until a dump that was begun is written. Writing it reads the device and the buffer of the
 * program that failed, so this is called before either is given back.
 */
void onpu_dump_flush(struct onpu_device *onpu);
/*
 * Copies the state of a failed device for a dump, before its reset; reset_lock is held for writing.
 * @readable: the registers may be read.
 */
void onpu_dump_device(struct onpu_device *onpu, enum onpu_reset_reason reason, const char *text,
		      bool readable);

/* ---- onpu_pmu.c: counters of the device for perf */

/* Called once the device is registered. */
void onpu_pmu_add(struct onpu_device *onpu);
/* Called at the end of the module, when there are no devices. */
void onpu_pmu_exit(void);

/* ---- onpu_reset.c */

/* Resets the device and boots the firmware; no interrupt handler may run. Returns 0 or an errno. */
int onpu_device_start(struct onpu_device *onpu);
/* Ends all work and halts the device: after drm_dev_unplug(), or before it is registered. */
void onpu_device_unplug(struct onpu_device *onpu);
void onpu_device_reset_work(struct work_struct *work);
void onpu_device_event_work(struct work_struct *work);
/* Work of &onpu_device.quarantine_work: frees memory when the device is seen to be off the bus. */
void onpu_device_quarantine_work(struct work_struct *work);
extern const struct pci_error_handlers onpu_error_handlers;
extern const struct dev_pm_ops onpu_pm_ops;

/* ---- onpu_sysfs.c */

extern const struct attribute_group onpu_sysfs_group;
void onpu_hwmon_add(struct onpu_device *onpu);
/* Takes note of the device's energy, which it forgets without power; reset_lock is held. */
void onpu_energy_update(struct onpu_device *onpu);

#endif
