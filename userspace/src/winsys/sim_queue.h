/* SPDX-License-Identifier: MIT */
/*
 * The jobs of both modes of the device model: a queue of jobs that wait, and for each context a log
 * of the results of jobs that ended. The caller holds the lock; only sim_log_wait() takes it.
 */
#ifndef WNN_WINSYS_SIM_QUEUE_H
#define WNN_WINSYS_SIM_QUEUE_H

#include <pthread.h>

#include "winsys/winsys.h"

/* Results that a context keeps, those of its last jobs; older jobs count as free of faults. */
#define KEPT_RESULTS 256u

/* ---- waiting jobs */

struct sim_job {
	struct winsys_job job;
	uint64_t seqno;
	struct winsys_ctx *ctx;
	struct sim_job *next;
};

struct sim_queue {
	struct sim_job *first, **tail;
};

void sim_queue_init(struct sim_queue *queue);
/* Makes a queue of these jobs, without numbers. Returns 0, or -1 with *err. */
int sim_queue_make(struct sim_queue *made, struct winsys_ctx *ctx, const struct winsys_job *jobs,
		   uint32_t count, struct wnn_error *err);
/* Removes and returns the first job, which the caller frees; NULL: there is none. */
struct sim_job *sim_queue_take(struct sim_queue *queue);
/* Removes and frees the jobs of a context; NULL: of all contexts. */
void sim_queue_drop(struct sim_queue *queue, const struct winsys_ctx *ctx);

/* ---- jobs of a context */

struct sim_log {
	uint64_t submitted, completed;
	bool dead; /* a job failed or was cancelled, so that later ones are refused */
	struct winsys_result result[KEPT_RESULTS];
};

/*
 * Numbers the jobs of `made`, moves them to `queue`, and sets *seqno to the last number. Returns 0,
 * or -1 with *err after freeing the jobs: the context is dead.
 */
int sim_log_submit(struct sim_log *log, struct sim_queue *queue, struct sim_queue *made,
		   uint64_t *seqno, struct wnn_error *err);
/*
 * Notes that job `seqno` has ended, and so has every earlier job; result NULL: it was cancelled.
 */
void sim_log_end(struct sim_log *log, uint64_t seqno, const struct winsys_result *result);

/* The lock of the logs, and the conditions that signal a changed log or a lost device. */
struct sim_sync {
	pthread_mutex_t lock;
	pthread_cond_t wake;	/* wakes the device's thread */
	pthread_cond_t changed; /* wakes callers that wait for the device */
	bool lost;		/* the device does not run any more */
};

void sim_sync_init(struct sim_sync *sync);
void sim_sync_destroy(struct sim_sync *sync);
/* Waits for a job, with the results of winsys_ops.wait. */
int sim_log_wait(const struct sim_log *log, struct sim_sync *sync, uint64_t seqno,
		 uint64_t timeout_ns, struct winsys_result *result, struct wnn_error *err);

#endif
