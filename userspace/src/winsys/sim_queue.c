// SPDX-License-Identifier: MIT
/* The jobs of the device model: queues of waiting jobs, and the results of jobs that ended. */
#include "winsys/sim_queue.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "util/malloc.h"

/* ---- waiting jobs */

void sim_queue_init(struct sim_queue *queue)
{
	queue->first = NULL;
	queue->tail = &queue->first;
}

int sim_queue_make(struct sim_queue *made, struct winsys_ctx *ctx, const struct winsys_job *jobs,
		   uint32_t count, struct wnn_error *err)
{
	sim_queue_init(made);
	for (uint32_t i = 0; i < count; i++) {
		struct sim_job *job = wnn_calloc(1, sizeof(*job));

		if (!job) {
			sim_queue_drop(made, NULL);
			return wnn_error_nomem(err, "a job");
		}
		job->job = jobs[i];
		job->ctx = ctx;
		*made->tail = job;
		made->tail = &job->next;
	}
	return 0;
}

struct sim_job *sim_queue_take(struct sim_queue *queue)
{
	struct sim_job *job = queue->first;

	if (!job)
		return NULL;
	queue->first = job->next;
	if (!queue->first)
		queue->tail = &queue->first;
	return job;
}

void sim_queue_drop(struct sim_queue *queue, const struct winsys_ctx *ctx)
{
	struct sim_job **at = &queue->first;

	while (*at) {
		struct sim_job *job = *at;

		if (!ctx || job->ctx == ctx) {
			*at = job->next;
			wnn_free(job);
		} else {
			at = &job->next;
		}
	}
	queue->tail = at;
}

/* ---- jobs of a context */

int sim_log_submit(struct sim_log *log, struct sim_queue *queue, struct sim_queue *made,
		   uint64_t *seqno, struct wnn_error *err)
{
	if (log->dead) {
		sim_queue_drop(made, NULL);
		return wnn_error_set(
			err, WNN_OPERATION_ERROR,
			"this context on the device sim is lost, because an earlier job of it "
			"failed or the firmware stopped: make a new context");
	}
	for (struct sim_job *job = made->first; job; job = job->next)
		job->seqno = ++log->submitted;
	*seqno = log->submitted;
	if (made->first) {
		*queue->tail = made->first;
		queue->tail = made->tail;
	}
	return 0;
}

void sim_log_end(struct sim_log *log, uint64_t seqno, const struct winsys_result *result)
{
	const struct winsys_result cancelled = { .cancelled = true };

	log->result[seqno % KEPT_RESULTS] = result ? *result : cancelled;
	log->completed = seqno;
	if (!result || result->fault_code)
		log->dead = true;
}

static void collect(const struct sim_log *log, uint64_t seqno, struct winsys_result *result)
{
	memset(result, 0, sizeof(*result));
	if (log->completed - seqno < KEPT_RESULTS)
		*result = log->result[seqno % KEPT_RESULTS];
}

void sim_sync_init(struct sim_sync *sync)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_mutex_init(&sync->lock, NULL);
	pthread_cond_init(&sync->wake, &attr);
	pthread_cond_init(&sync->changed, &attr);
	pthread_condattr_destroy(&attr);
}

void sim_sync_destroy(struct sim_sync *sync)
{
	pthread_cond_destroy(&sync->wake);
	pthread_cond_destroy(&sync->changed);
	pthread_mutex_destroy(&sync->lock);
}

static struct timespec deadline_of(uint64_t timeout_ns)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	at.tv_sec += (time_t)(timeout_ns / 1000000000u);
	at.tv_nsec += (long)(timeout_ns % 1000000000u);
	if (at.tv_nsec >= 1000000000) {
		at.tv_sec++;
		at.tv_nsec -= 1000000000;
	}
	return at;
}

static int wait_error(int why, uint64_t seqno, uint64_t timeout_ns, struct wnn_error *err)
{
	if (why == EINVAL)
		return wnn_error_set(
			err, WNN_OPERATION_ERROR,
			"internal error, please report it: no job has the number %" PRIu64, seqno);
	if (why == ENODEV)
		return wnn_error_set(
			err, WNN_UNKNOWN_ERROR,
			"the device sim is lost, because its firmware stopped: make a new context, "
			"and please report it");
	return wnn_error_set(
		err, WNN_OPERATION_ERROR,
		"internal error, please report it: a job of the device sim did not end within %g "
		"seconds",
		(double)timeout_ns / 1e9);
}

int sim_log_wait(const struct sim_log *log, struct sim_sync *sync, uint64_t seqno,
		 uint64_t timeout_ns, struct winsys_result *result, struct wnn_error *err)
{
	bool forever = timeout_ns == UINT64_MAX;
	struct timespec deadline = { .tv_sec = 0 };
	int ret = 0;

	if (!forever)
		deadline = deadline_of(timeout_ns);
	pthread_mutex_lock(&sync->lock);
	if (!seqno || seqno > log->submitted)
		ret = EINVAL;
	while (!ret && log->completed < seqno) {
		if (sync->lost)
			ret = ENODEV;
		else
			ret = forever ? pthread_cond_wait(&sync->changed, &sync->lock) :
					pthread_cond_timedwait(&sync->changed, &sync->lock,
							       &deadline);
	}
	if (ret)
		ret = wait_error(ret, seqno, timeout_ns, err);
	else
		collect(log, seqno, result);
	pthread_mutex_unlock(&sync->lock);
	return ret;
}
