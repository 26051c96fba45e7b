/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What the files of the driver's core share among themselves: device, interrupts, firmware,
 * messages, reset.
 */
#ifndef ONPU_CORE_H
#define ONPU_CORE_H

#include "onpu_device.h"

/* ---- onpu_device.c */

int onpu_device_init(struct onpu_device *onpu);
int onpu_irq_init(struct onpu_device *onpu);
/* No handler runs, and none will. */
void onpu_irq_fini(void *onpu);
/* No handler runs until onpu_irq_enable(). */
void onpu_irq_disable(struct onpu_device *onpu);
void onpu_irq_enable(struct onpu_device *onpu);

/* ---- onpu_fw.c */

/* How often the firmware is asked whether it lives, while jobs are running. */
#define ONPU_HEARTBEAT_INTERVAL	HZ

int onpu_fw_init(struct onpu_device *onpu);
/* In the state RESET: start the firmware and wait until it takes requests. */
int onpu_fw_boot(struct onpu_device *onpu);
/* Once requests can be made: have the log show up. */
void onpu_fw_log_start(struct onpu_device *onpu);
void onpu_fw_log_drain(struct onpu_device *onpu);
/* The register STATUS has changed. */
void onpu_fw_status_irq(struct onpu_device *onpu);

/* ---- onpu_mbox.c */

int onpu_mbox_init(struct onpu_device *onpu);
/* In the state RESET, no handler running: empty the rings and tell the device about them. */
void onpu_mbox_setup(struct onpu_device *onpu);
/* Requests may be made. */
void onpu_mbox_start(struct onpu_device *onpu);
/* All requests fail, those under way too. */
void onpu_mbox_fail(struct onpu_device *onpu, int error);
/* The same with -EAGAIN, unless no reset is asked for any more. Returns whether one is. */
bool onpu_mbox_fail_for_reset(struct onpu_device *onpu);
void onpu_mbox_irq(struct onpu_device *onpu);

/* ---- onpu_reset.c */

/*
 * Bring the device from whatever state into one in which the firmware takes requests. No handler
 * runs meanwhile.
 */
int onpu_device_start(struct onpu_device *onpu);
/* After drm_dev_unplug(), or before anybody knows of the device: end all work and halt it. */
void onpu_device_unplug(struct onpu_device *onpu);
void onpu_device_reset_work(struct work_struct *work);
extern const struct pci_error_handlers onpu_error_handlers;
extern const struct dev_pm_ops onpu_pm_ops;

/* ---- onpu_sysfs.c */

extern const struct attribute_group *onpu_sysfs_groups[];

#endif
