/* SPDX-License-Identifier: MIT */
/*
 * How much memory there is. The kernel promises more than it has, and ends some process when the
 * promise cannot be kept: large requests are compared with what is left before they are made.
 */
#ifndef WNN_UTIL_MEMORY_H
#define WNN_UTIL_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Requests from this size on are compared; smaller ones when so much has come together. */
#define WNN_MEMORY_LARGE ((size_t)16 << 20)

/*
 * What the machine can still give, swap included, within the limits of the control groups of the
 * process, but for a small part of each; UINT64_MAX where nobody tells. @proc and @cgroup: "/proc" and "/sys/fs/cgroup", other
 * folders in tests.
 */
uint64_t wnn_memory_available(const char *proc, const char *cgroup);

/* Whether so much more can be used, with all that is held. False: *left is what can be; it may be NULL. */
bool wnn_memory_fits(size_t size, uint64_t *left);

/* Memory that the process has from now on, or gives back, and may not have touched yet. */
void wnn_memory_hold(size_t size);
void wnn_memory_unhold(size_t size);

#endif
