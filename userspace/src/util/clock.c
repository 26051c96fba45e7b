// SPDX-License-Identifier: MIT
/* Reads the monotonic clock, and waits by it. */
#include "util/clock.h"

#include <errno.h>
#include <time.h>

#define SECOND UINT64_C(1000000000)

uint64_t wnn_clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

uint64_t wnn_clock_deadline(uint64_t timeout_ns)
{
	uint64_t now = wnn_clock_ns();

	return timeout_ns > UINT64_MAX - now ? UINT64_MAX : now + timeout_ns;
}

int wnn_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;
	int ret;

	if (pthread_condattr_init(&attr))
		return -1;
	ret = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	if (!ret)
		ret = pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
	return ret ? -1 : 0;
}

bool wnn_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t deadline)
{
	struct timespec t;

	if (deadline == UINT64_MAX) {
		pthread_cond_wait(cond, lock);
		return true;
	}
	t.tv_sec = (time_t)(deadline / SECOND);
	t.tv_nsec = (long)(deadline % SECOND);
	return pthread_cond_timedwait(cond, lock, &t) != ETIMEDOUT;
}
