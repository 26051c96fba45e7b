/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What the files of the driver's core share among themselves: device, interrupts, firmware,
 * messages, core dumps, reset.
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

/* ---- onpu_fw.c */

/* Size of the ring that it writes its log to. */
#define ONPU_FW_LOG_BYTES	SZ_16K

/* How often the firmware is asked whether it lives, while jobs are running. */
#define ONPU_HEARTBEAT_INTERVAL	HZ

int onpu_fw_init(struct onpu_device *onpu);
/* With the device in the state RESET: start the firmware and wait until it takes requests. */
int onpu_fw_boot(struct onpu_device *onpu);
/* Room for the versions and the checksum of the firmware in words; returns the text. */
#define ONPU_FW_TEXT	64
const char *onpu_fw_describe(const struct onpu_device *onpu, char text[ONPU_FW_TEXT]);
/* Asks the firmware to write its log, so it has to take requests already. */
void onpu_fw_log_start(struct onpu_device *onpu);
void onpu_fw_log_drain(struct onpu_device *onpu);
/* Copies the end of the log, at most ONPU_FW_LOG_BYTES; returns how many bytes. */
size_t onpu_fw_log_copy(struct onpu_device *onpu, char *to);
/* Reads the register STATUS and asks for a reset if the firmware is not running. */
void onpu_fw_status_irq(struct onpu_device *onpu);

/* ---- onpu_mbox.c */

int onpu_mbox_init(struct onpu_device *onpu);
/* Empties the rings and tells the device about them; it is in RESET and no handler runs. */
void onpu_mbox_setup(struct onpu_device *onpu);
/* Allows requests. */
void onpu_mbox_start(struct onpu_device *onpu);
/* Fails all requests, those under way too, until onpu_mbox_start(). */
void onpu_mbox_fail(struct onpu_device *onpu, int error);
/* The same with -EAGAIN if a reset is still asked for. Returns whether one is. */
bool onpu_mbox_fail_for_reset(struct onpu_device *onpu);
void onpu_mbox_irq(struct onpu_device *onpu);

/* ---- onpu_dump.c: what is kept of the first failure of each kind */

int onpu_dump_init(struct onpu_device *onpu);
void onpu_debugfs_init(struct onpu_device *onpu);
/* Waits for the dump of a failure that a fence or a reset has told. */
void onpu_dump_flush(struct onpu_device *onpu);
/* As onpu_dump_ctx(), of a device that is about to be reset, with reset_lock held for writing. */
void onpu_dump_device(struct onpu_device *onpu, enum onpu_reset_reason reason, const char *text,
		      bool readable);

/* ---- onpu_reset.c */

/* Resets the device and boots the firmware; no interrupt handler may be running. */
int onpu_device_start(struct onpu_device *onpu);
/* After drm_dev_unplug(), or before anybody knows of the device: end all work and halt it. */
void onpu_device_unplug(struct onpu_device *onpu);
void onpu_device_reset_work(struct work_struct *work);
extern const struct pci_error_handlers onpu_error_handlers;
extern const struct dev_pm_ops onpu_pm_ops;

/* ---- onpu_sysfs.c */

extern const struct attribute_group *onpu_sysfs_groups[];

#endif
