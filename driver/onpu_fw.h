/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The firmware: its image, boot, log and heartbeat. */
#ifndef ONPU_FW_H
#define ONPU_FW_H

#include <linux/mutex.h>
#include <linux/sizes.h>
#include <linux/workqueue.h>

#include <drm/onpu_accel.h>

struct onpu_device;

/**
 * struct onpu_fw - Firmware image and log; see onpu_fw.c.
 */
struct onpu_fw {
	/** @file: The image, as it was in the file. */
	void *file;
	/** @image: Copy of @file that the boot ROM fetches; made anew for each boot. */
	void *image;
	/** @image_dma: Bus address of @image. */
	dma_addr_t image_dma;
	/** @size: Bytes of @image, header included. */
	size_t size;
	/** @info: Versions and checksum of the image; constant over all boots. */
	struct drm_onpu_firmware_info info;
	/** @log: Log ring. */
	char *log;
	/** @log_dma: Bus address of @log. */
	dma_addr_t log_dma;
	/** @log_head: Number of bytes of the log that were shown, modulo 2^32. */
	u32 log_head;
	/** @log_lock: Protects @log_head and @line. */
	struct mutex log_lock;
	/** @line: Buffer in which a line of the log is assembled. */
	char line[128];
	/** @heartbeat: Checks that the firmware answers, while jobs are running. */
	struct delayed_work heartbeat;
};

/* Size of the ring that the firmware writes its log to. */
#define ONPU_FW_LOG_BYTES	SZ_16K

/* Time between checks that the firmware answers, in jiffies. */
#define ONPU_HEARTBEAT_INTERVAL	HZ

int onpu_fw_init(struct onpu_device *onpu);
/* Boots a device in the state RESET until firmware takes requests; returns 0 or an errno. */
int onpu_fw_boot(struct onpu_device *onpu);
/* Size of the text with versions and checksum of the firmware; the function returns @text. */
#define ONPU_FW_TEXT	64
const char *onpu_fw_describe(const struct onpu_device *onpu, char text[ONPU_FW_TEXT]);
/* Asks the firmware to write its log; it must already take requests. */
void onpu_fw_log_start(struct onpu_device *onpu);
void onpu_fw_log_drain(struct onpu_device *onpu);
/* Copies the end of the log, at most ONPU_FW_LOG_BYTES; returns the number of bytes. */
size_t onpu_fw_log_copy(struct onpu_device *onpu, char *to);
/* Reads the register STATUS and asks for a reset if the firmware is not running. */
void onpu_fw_status_irq(struct onpu_device *onpu);

#endif
