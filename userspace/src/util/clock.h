/* SPDX-License-Identifier: MIT */
/* The monotonic clock, and waits with a timeout on it. */
#ifndef WNN_UTIL_CLOCK_H
#define WNN_UTIL_CLOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Nanoseconds of the monotonic clock. */
uint64_t wnn_clock_ns(void);

/* A point in time that far ahead; UINT64_MAX: never comes. */
uint64_t wnn_clock_deadline(uint64_t timeout_ns);

/* A condition variable for wnn_cond_wait(); 0 or -1. */
int wnn_cond_init(pthread_cond_t *cond);

/* Waits for a signal until the deadline; false when it is over. */
bool wnn_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t deadline);

#endif
