/* SPDX-License-Identifier: MIT */
/* The monotonic clock, and waits with a timeout on it. */
#ifndef WNN_UTIL_CLOCK_H
#define WNN_UTIL_CLOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Returns the monotonic clock in nanoseconds. */
uint64_t wnn_clock_ns(void);

/* Returns the time of the monotonic clock after a timeout; UINT64_MAX: never. */
uint64_t wnn_clock_deadline(uint64_t timeout_ns);

/* Makes a condition variable for wnn_cond_wait(). Returns 0 or -1. */
int wnn_cond_init(pthread_cond_t *cond);

/*
 * Waits for a signal until the deadline; false when the deadline has passed. The caller holds the
 * lock; true does not mean that what it waits for has come.
 */
bool wnn_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t deadline);

#endif
