/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Jobs of a context.
 */
#ifndef ONPU_JOB_H
#define ONPU_JOB_H

#include <linux/types.h>

struct dma_fence;
struct drm_onpu_job;
struct onpu_ctx;
struct onpu_job;
struct work_struct;

/* ---- contexts */

/* Bytes that the jobs of a context take at most. */
size_t onpu_job_ctx_bytes(void);
/* Work of &onpu_ctx.resolve: feed jobs that have got what they waited for. */
void onpu_job_resolve_work(struct work_struct *work);

/* The rest with &onpu_ctx.lock held. */

/* Give the hardware what is runnable. */
void onpu_job_feed(struct onpu_ctx *ctx);
/* End the jobs that the completion page says have ended. */
void onpu_job_reap(struct onpu_ctx *ctx);
bool onpu_job_unfeed(struct onpu_ctx *ctx, u32 head);
/* The queue has stopped with @code, which the completion page may not tell. */
void onpu_job_faulted(struct onpu_ctx *ctx, u32 code);
/* The device makes no access for the context: end its oldest job with @first, others with @rest. */
void onpu_job_end_all(struct onpu_ctx *ctx, int first, int rest);
/* Host time of the context's jobs. */
u64 onpu_job_busy_ns(const struct onpu_ctx *ctx);

/* Work of &onpu_ctx.watch: check whether the context's jobs make progress. */
void onpu_job_watch_work(struct work_struct *work);
/* Whether jobs made no progress for the context's timeout; to be called repeatedly. */
bool onpu_job_hangs(struct onpu_ctx *ctx);

/* ---- SUBMIT */

struct onpu_job *onpu_job_create(struct onpu_ctx *ctx, const struct drm_onpu_job *jobs, u32 count,
				 u32 max_waits);
/* The oldest entry that has not ended, with the context's lock held; zero if there is none. */
void onpu_job_oldest(struct onpu_ctx *ctx, struct onpu_ring_job *entry);
/*
 * The first @max entries of the jobs that the hardware has, with the context's lock held. The ring
 * need not have those that it took before the queue was given back.
 */
void onpu_job_fed(struct onpu_ctx *ctx, struct onpu_ring_job *entries, u32 max);
/* Free a job that was not submitted. */
void onpu_job_drop(struct onpu_job *job);

/* The job runs after the fence, whose reference is taken over. */
void onpu_job_wait_for(struct onpu_job *job, struct dma_fence *fence);

/**
 * struct onpu_prepared - A job that SUBMIT has prepared.
 */
struct onpu_prepared {
	/** @job: The job; may end, and be freed, as soon as it was submitted. */
	struct onpu_job *job;
	/** @fence: Its fence, with a reference, once it was submitted. */
	struct dma_fence *fence;
};

int onpu_job_submit(struct onpu_ctx *ctx, struct onpu_prepared *jobs, u32 num_jobs, u32 num_entries,
		    u64 *seqno);

#endif
