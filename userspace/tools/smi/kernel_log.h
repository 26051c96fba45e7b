/* SPDX-License-Identifier: MIT */
/* onpu-smi: reads the kernel's log. */
#ifndef ONPU_TOOLS_SMI_KERNEL_LOG_H
#define ONPU_TOOLS_SMI_KERNEL_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct log_line {
	uint64_t us;	  /* time since the machine was started */
	int level;	  /* severity; 3: error */
	const char *text; /* without its line end */
};

/* Called for each line; returns false to end the reading. */
typedef bool (*log_line_fn)(void *ctx, const struct log_line *line);

/*
 * Reads the log and, with @follow, waits for more lines until @line returns false. Returns 0, or a
 * negative errno: -EPERM when the administrator hides the log (kernel.dmesg_restrict).
 */
int kernel_log_read(bool follow, log_line_fn line, void *ctx);

/*
 * Returns the driver's message about the device at @address ("onpu 0000:01:00.0: …") without that
 * prefix and "[drm] "; NULL: the line is about something else.
 */
const char *kernel_log_about(const struct log_line *line, const char *address);

#endif
