/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Jobs of a context: waiting for fences, feeding the ring, completion, hang detection. */
#ifndef ONPU_JOB_H
#define ONPU_JOB_H

#include <linux/types.h>

struct dma_fence;
struct drm_onpu_job;
struct onpu_ctx;
struct onpu_job;
struct work_struct;

/* Number of checks for hangs in the time that a job may go without progress. */
#define HANG_CHECKS	4

/* ---- contexts */

/* Returns the most bytes that the jobs of a context take. */
size_t onpu_job_ctx_bytes(void);
/* Work of &onpu_ctx.resolve: feeds jobs whose fences have signalled. */
void onpu_job_resolve_work(struct work_struct *work);

/* The functions up to SUBMIT are called with &onpu_ctx.lock held, unless they say otherwise. */

/* Gives runnable jobs to the hardware. */
void onpu_job_feed(struct onpu_ctx *ctx);
/* Ends the jobs that the completion page shows as completed. */
void onpu_job_reap(struct onpu_ctx *ctx);
bool onpu_job_unfeed(struct onpu_ctx *ctx, u32 head);
/* Fails the context, whose queue has stopped with fault @code; the page may not show it yet. */
void onpu_job_faulted(struct onpu_ctx *ctx, u32 code);
/* Ends the oldest job with @first, others with @rest, when the device makes no access for them. */
void onpu_job_end_all(struct onpu_ctx *ctx, int first, int rest);
/* Returns the host time that the context's jobs took, in ns. */
u64 onpu_job_busy_ns(const struct onpu_ctx *ctx);

/* Work of &onpu_ctx.watch: checks whether the context's jobs make progress; takes the lock. */
void onpu_job_watch_work(struct work_struct *work);
/*
 * Returns whether jobs made no progress for longer than the limits allow, or the oldest is overdue.
 * Takes the lock itself; repeated calls measure the time without progress.
 */
bool onpu_job_hangs(struct onpu_ctx *ctx);
/*
 * Returns whether the oldest job is ready and has to end now whatever it does, since others may
 * wait for its fence. With the context's lock held.
 */
bool onpu_job_overdue(struct onpu_ctx *ctx);

/* ---- SUBMIT */

struct onpu_job *onpu_job_create(struct onpu_ctx *ctx, const struct drm_onpu_job *jobs, u32 count,
				 u32 max_waits);
/* Copies the oldest entry that has not ended, or zeros, to *@entry; the context's lock is held. */
void onpu_job_oldest(struct onpu_ctx *ctx, struct onpu_ring_job *entry);
/*
 * Copies the first @max entries of the jobs that the hardware has, with the context's lock held.
 * They come from the jobs, as the ring need not have entries that an earlier queue took.
 */
void onpu_job_fed(struct onpu_ctx *ctx, struct onpu_ring_job *entries, u32 max);
/* Frees a job that was not submitted. */
void onpu_job_drop(struct onpu_job *job);

/* Makes the job wait for the fence; takes over the reference. */
void onpu_job_wait_for(struct onpu_job *job, struct dma_fence *fence);

/**
 * struct onpu_prepared - A job that SUBMIT has prepared.
 */
struct onpu_prepared {
	/** @job: The job; it may end and be freed as soon as it is submitted. */
	struct onpu_job *job;
	/** @fence: The job's fence, with a reference, once it is submitted. */
	struct dma_fence *fence;
};

int onpu_job_submit(struct onpu_ctx *ctx, struct onpu_prepared *jobs, u32 num_jobs, u32 num_entries,
		    u64 *seqno);

#endif
