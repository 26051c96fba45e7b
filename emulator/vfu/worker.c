// SPDX-License-Identifier: MIT
/* The worker's thread, which runs the device; in sync mode the calling thread runs it. */
#include "vfu/worker.h"

#include <string.h>

/* Cycles that the device runs between two checks whether the thread shall end. */
#define SLICE (UINT64_C(1) << 20)
/*
 * Cycles that the device may run before an access in sync mode is answered: a client waits only
 * some seconds.
 */
#define SYNC_BUDGET (UINT64_C(1) << 28)

void vfu_worker_init(struct vfu_worker *worker, bool sync)
{
	memset(worker, 0, sizeof(*worker));
	worker->sync = sync;
	pthread_mutex_init(&worker->lock, NULL);
	pthread_cond_init(&worker->wake, NULL);
}

/* Waits until there is work. Returns false if the thread shall end. */
static bool next_work(struct vfu_worker *worker, bool busy)
{
	bool stop;

	pthread_mutex_lock(&worker->lock);
	while (!busy && !worker->awake && !worker->stop)
		pthread_cond_wait(&worker->wake, &worker->lock);
	worker->awake = false;
	stop = worker->stop;
	pthread_mutex_unlock(&worker->lock);
	return !stop;
}

static void *worker_main(void *arg)
{
	struct vfu_worker *worker = arg;
	bool busy = false;

	while (next_work(worker, busy))
		busy = onpu_device_run(worker->device, SLICE) == ONPU_PROGRESS_BUSY;
	return NULL;
}

bool vfu_worker_start(struct vfu_worker *worker)
{
	if (!worker->sync)
		worker->started = !pthread_create(&worker->thread, NULL, worker_main, worker);
	return worker->sync || worker->started;
}

void vfu_worker_destroy(struct vfu_worker *worker)
{
	pthread_mutex_lock(&worker->lock);
	worker->stop = true;
	pthread_cond_signal(&worker->wake);
	pthread_mutex_unlock(&worker->lock);
	if (worker->started) {
		onpu_device_stop(worker->device);
		pthread_join(worker->thread, NULL);
	}
	pthread_cond_destroy(&worker->wake);
	pthread_mutex_destroy(&worker->lock);
}

void vfu_worker_wake(struct vfu_worker *worker)
{
	pthread_mutex_lock(&worker->lock);
	worker->awake = true;
	pthread_cond_signal(&worker->wake);
	pthread_mutex_unlock(&worker->lock);
}

static void run(struct vfu_worker *worker, uint64_t budget)
{
	if (!worker->sync || !worker->awake)
		return;
	worker->awake = onpu_device_run(worker->device, budget) == ONPU_PROGRESS_BUSY;
}

void vfu_worker_settle(struct vfu_worker *worker)
{
	run(worker, SYNC_BUDGET);
}

bool vfu_worker_continue(struct vfu_worker *worker)
{
	run(worker, SLICE);
	return worker->sync && worker->awake;
}
