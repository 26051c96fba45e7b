/* SPDX-License-Identifier: MIT */
/*
 * The worker, which runs the device: a thread of its own or, in sync mode, the thread that accesses
 * the device.
 */
#ifndef ONPU_VFU_WORKER_H
#define ONPU_VFU_WORKER_H

#include <pthread.h>
#include <stdbool.h>

#include "onpu_device.h"

/**
 * struct vfu_worker - runs the device when there is work
 * @sync: there is no thread. vfu_worker_settle() after an access runs the device until it is idle,
 *	so that a client's view depends on its accesses alone. Work of more than SYNC_BUDGET cycles
 *	is left to vfu_worker_continue().
 * @awake: an access has come since the device was last run; with @sync also: that run left work
 */
struct vfu_worker {
	struct onpu_device *device;
	bool sync;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool started, awake, stop;
};

/*
 * Initializes the worker, and clears its @device: the caller sets that before vfu_worker_start(),
 * which returns false if it cannot create the thread.
 */
void vfu_worker_init(struct vfu_worker *worker, bool sync);
bool vfu_worker_start(struct vfu_worker *worker);
void vfu_worker_destroy(struct vfu_worker *worker);

/* Tells the worker that there is work; may be called by any thread. */
void vfu_worker_wake(struct vfu_worker *worker);
/*
 * The thread that makes the accesses calls these functions, which run the device in sync mode and
 * do nothing in the other mode. vfu_worker_settle() runs up to SYNC_BUDGET cycles, before an access
 * is answered. vfu_worker_continue() runs a shorter slice, and returns true when work is left.
 */
void vfu_worker_settle(struct vfu_worker *worker);
bool vfu_worker_continue(struct vfu_worker *worker);

#endif
