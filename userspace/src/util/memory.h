/* SPDX-License-Identifier: MIT */
/*
 * How much memory is left. The kernel promises more than it has, and kills a process when it cannot
 * keep the promise: large requests are compared with what is left before they are made.
 */
#ifndef WNN_UTIL_MEMORY_H
#define WNN_UTIL_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Requests of at least this size are checked, and smaller ones when they add up to it since the
 * last check.
 */
#define WNN_MEMORY_LARGE ((size_t)16 << 20)

/*
 * wnn_memory_available - return how many bytes the process can still allocate
 *
 * @proc, @cgroup: "/proc" and "/sys/fs/cgroup"; other folders in tests
 *
 * Counts swap, and stays below the limits of the machine and of the process's control groups by a
 * small share of each. UINT64_MAX when neither can be read.
 */
uint64_t wnn_memory_available(const char *proc, const char *cgroup);

/*
 * Whether the process can use @size bytes in addition to all that it holds. If not, *left is how
 * many it can use; left may be NULL.
 */
bool wnn_memory_fits(size_t size, uint64_t *left);

/*
 * wnn_memory_hold() adds bytes to those that the process holds, whether it has touched them or not;
 * wnn_memory_unhold() subtracts bytes that it gives back.
 */
void wnn_memory_hold(size_t size);
void wnn_memory_unhold(size_t size);

#endif
