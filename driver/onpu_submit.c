// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* SUBMIT: copies the arguments once, checks them, and makes jobs of them. */
#include <linux/dma-fence-chain.h>
#include <linux/pm_runtime.h>
#include <linux/slab.h>

#include <drm/drm_syncobj.h>

#include <onpu/slots.h>

#include "onpu_ctx.h"
#include "onpu_job.h"

#define SYNC_FLAGS	(DRM_ONPU_SYNC_WAIT | DRM_ONPU_SYNC_SIGNAL | DRM_ONPU_SYNC_TIMELINE)

/* Arrays up to this size are on the stack; most submissions need no larger arrays. */
#define FEW_JOBS	2
#define FEW_SYNCS	4

/* Sizes of the elements in version 1.0; programs that were built for it continue to work. */
#define JOB_FIRST_SIZE	64
#define SYNC_FIRST_SIZE	16

static_assert(sizeof(struct drm_onpu_job) >= JOB_FIRST_SIZE);
static_assert(sizeof(struct drm_onpu_sync) >= SYNC_FIRST_SIZE);

/*
 * The longest elements allowed: programs built for a later version of the interface may have longer
 * elements than this driver knows.
 */
#define MAX_STRIDE	4096

/* A syncobj that a job is to signal. */
struct onpu_signal {
	struct drm_syncobj *syncobj; /* with a reference */
	struct dma_fence_chain *chain; /* allocated for a point of a timeline, else NULL */
	u64 point;
	u32 job; /* index in &onpu_submit.prepared */
};

/* The state of one SUBMIT ioctl. */
struct onpu_submit {
	struct onpu_ctx *ctx;
	struct drm_file *file; /* resolves the handles */
	/* Copies of the jobs, and of their syncs in the order of the jobs. */
	struct drm_onpu_job *jobs;
	struct drm_onpu_sync *syncs;
	struct onpu_prepared *prepared; /* the driver's jobs for @jobs */
	struct onpu_signal *signals;
	u32 num_jobs, num_syncs, num_prepared, num_signals;
	/* Storage of these arrays when they are short. */
	struct drm_onpu_job few_jobs[FEW_JOBS];
	struct drm_onpu_sync few_syncs[FEW_SYNCS];
	struct onpu_prepared few_prepared[FEW_JOBS];
	struct onpu_signal few_signals[FEW_SYNCS];
};

/*
 * Copies an array of user space to @dst, whose elements have @size bytes; @first_size is the size
 * that an element had in version 1.0. Members that shorter elements lack become zero. Returns 0;
 * -EINVAL for elements below @first_size; -E2BIG for elements above MAX_STRIDE or with unknown
 * bytes that are not zero; -EFAULT.
 */
static int copy_array(void *dst, size_t size, size_t first_size,
		      const struct drm_onpu_obj_array *array)
{
	const void __user *src = u64_to_user_ptr(array->array);
	int ret;

	if (array->stride < first_size)
		return -EINVAL;
	if (array->stride == size)
		return copy_from_user(dst, src, size * array->count) ? -EFAULT : 0;
	if (array->stride > MAX_STRIDE)
		return -E2BIG;
	for (u32 i = 0; i < array->count; i++) {
		ret = copy_struct_from_user(dst + i * size, size, src + (u64)i * array->stride,
					    array->stride);
		if (ret)
			return ret;
	}
	return 0;
}

static bool range_ok(u64 va, u64 size, u32 align, u64 limit)
{
	return IS_ALIGNED(va, align) && va < limit && size <= limit - va;
}

static bool job_ok(const struct drm_onpu_job *job, u64 limit)
{
	if (job->flags || !job->instr_count || !job->slot_count ||
	    job->slot_count > ONPU_MAX_SLOTS)
		return false;
	if (!job->profile_va != !job->profile_size ||
	    job->profile_size % sizeof(struct onpu_profile_record))
		return false;
	return range_ok(job->program_va, job->instr_count * 16ull, 16, limit) &&
	       range_ok(job->slots_va, (u64)job->slot_count * ONPU_SLOT_SIZE, ONPU_SLOT_SIZE,
			limit) &&
	       range_ok(job->profile_va, job->profile_size, sizeof(struct onpu_profile_record),
			limit);
}

static bool sync_ok(const struct drm_onpu_sync *sync)
{
	bool timeline = sync->flags & DRM_ONPU_SYNC_TIMELINE;

	return !(sync->flags & ~SYNC_FLAGS) &&
	       !(sync->flags & DRM_ONPU_SYNC_WAIT) != !(sync->flags & DRM_ONPU_SYNC_SIGNAL) &&
	       !timeline == !sync->point;
}

static int read_jobs(struct onpu_submit *submit, const struct drm_onpu_obj_array *array)
{
	u64 limit = onpu_va_end(submit->ctx->onpu);
	int ret;

	if (!array->count || array->count > ONPU_SUBMIT_MAX_JOBS)
		return -EINVAL;
	submit->num_jobs = array->count;
	if (array->count > FEW_JOBS) {
		submit->jobs = kvmalloc_array(array->count, sizeof(*submit->jobs), GFP_KERNEL);
		submit->prepared = kvmalloc_array(array->count, sizeof(*submit->prepared),
						  GFP_KERNEL);
		if (!submit->jobs || !submit->prepared)
			return -ENOMEM;
	}
	ret = copy_array(submit->jobs, sizeof(*submit->jobs), JOB_FIRST_SIZE, array);
	if (ret)
		return ret;
	for (u32 i = 0; i < array->count; i++) {
		u32 count = submit->jobs[i].syncs.count;

		if (!job_ok(&submit->jobs[i], limit) ||
		    count > ONPU_SUBMIT_MAX_SYNCS - submit->num_syncs)
			return -EINVAL;
		submit->num_syncs += count;
	}
	return 0;
}

static u32 count_syncs(const struct drm_onpu_sync *syncs, u32 count, u32 flag)
{
	u32 found = 0;

	for (u32 i = 0; i < count; i++)
		found += !!(syncs[i].flags & flag);
	return found;
}

static int read_syncs(struct onpu_submit *submit)
{
	struct drm_onpu_sync *at;
	int ret;

	if (submit->num_syncs > FEW_SYNCS) {
		submit->syncs = kvmalloc_array(submit->num_syncs, sizeof(*submit->syncs),
					       GFP_KERNEL);
		submit->signals = kvmalloc_array(submit->num_syncs, sizeof(*submit->signals),
						 GFP_KERNEL);
		if (!submit->syncs || !submit->signals)
			return -ENOMEM;
	}
	at = submit->syncs;
	for (u32 i = 0; i < submit->num_jobs; i++) {
		const struct drm_onpu_obj_array *array = &submit->jobs[i].syncs;

		ret = array->count ? copy_array(at, sizeof(*at), SYNC_FIRST_SIZE, array) : 0;
		if (ret)
			return ret;
		at += array->count;
	}
	for (u32 i = 0; i < submit->num_syncs; i++)
		if (!sync_ok(&submit->syncs[i]))
			return -EINVAL;
	/* Everybody may wait for a syncobj, so it must signal in time. */
	return submit->ctx->long_running &&
	       count_syncs(submit->syncs, submit->num_syncs, DRM_ONPU_SYNC_SIGNAL) ?
	       -EOPNOTSUPP : 0;
}

/*
 * Returns how many jobs, from @first on, have no wait or signal between them; @syncs: the syncs of
 * job @first and then of the later ones.
 */
static u32 group_size(const struct onpu_submit *submit, u32 first,
		      const struct drm_onpu_sync *syncs)
{
	u32 i = first;

	do {
		u32 count = submit->jobs[i].syncs.count;

		if (count_syncs(syncs, count, DRM_ONPU_SYNC_SIGNAL))
			return i + 1 - first;
		syncs += count;
	} while (++i < submit->num_jobs &&
		 !count_syncs(syncs, submit->jobs[i].syncs.count, DRM_ONPU_SYNC_WAIT));
	return i - first;
}

static int add_wait(struct onpu_submit *submit, struct onpu_job *job,
		    const struct drm_onpu_sync *sync)
{
	struct dma_fence *fence;
	int ret = drm_syncobj_find_fence(submit->file, sync->handle, sync->point, 0, &fence);

	if (!ret)
		onpu_job_wait_for(job, fence);
	return ret;
}

static int add_signal(struct onpu_submit *submit, const struct drm_onpu_sync *sync)
{
	struct onpu_signal *signal = &submit->signals[submit->num_signals];

	*signal = (struct onpu_signal) {
		.syncobj = drm_syncobj_find(submit->file, sync->handle),
		.point = sync->point,
		.job = submit->num_prepared - 1,
	};
	if (!signal->syncobj)
		return -ENOENT;
	submit->num_signals++;
	if (sync->point) {
		signal->chain = dma_fence_chain_alloc();
		if (!signal->chain)
			return -ENOMEM;
	}
	return 0;
}

/*
 * Creates the jobs of a call with their waits and signals: everything that can fail comes before
 * the first job is accepted. Returns 0 or an errno.
 */
static int prepare_submit(struct onpu_submit *submit)
{
	const struct drm_onpu_sync *sync = submit->syncs;
	int ret = 0;

	for (u32 first = 0, count; first < submit->num_jobs; first += count) {
		struct onpu_job *job;

		count = group_size(submit, first, sync);
		/* Only the first job of a group has waits. */
		job = onpu_job_create(submit->ctx, &submit->jobs[first], count,
				      count_syncs(sync, submit->jobs[first].syncs.count,
						  DRM_ONPU_SYNC_WAIT));
		if (!job)
			return -ENOMEM;
		submit->prepared[submit->num_prepared++].job = job;
		for (u32 i = first; i < first + count; i++) {
			const struct drm_onpu_sync *end = sync + submit->jobs[i].syncs.count;

			for (; sync < end && !ret; sync++)
				ret = sync->flags & DRM_ONPU_SYNC_WAIT ?
				      add_wait(submit, job, sync) : add_signal(submit, sync);
		}
		if (ret)
			return ret;
	}
	return 0;
}

/* Puts fences into syncobjs when nothing can fail any more, so that nobody waits in vain. */
static void publish_fences(struct onpu_submit *submit)
{
	for (u32 i = 0; i < submit->num_signals; i++) {
		struct onpu_signal *signal = &submit->signals[i];
		struct dma_fence *fence = submit->prepared[signal->job].fence;

		if (signal->chain)
			drm_syncobj_add_point(signal->syncobj, signal->chain, fence,
					      signal->point);
		else
			drm_syncobj_replace_fence(signal->syncobj, fence);
		signal->chain = NULL;
	}
}

static int commit_submit(struct onpu_submit *submit, u64 *seqno)
{
	struct device *dev = submit->ctx->onpu->drm.dev;
	int ret = pm_runtime_resume_and_get(dev);

	if (ret)
		return ret;
	ret = onpu_job_submit(submit->ctx, submit->prepared, submit->num_prepared,
			      submit->num_jobs, seqno);
	pm_runtime_put_autosuspend(dev);
	if (ret)
		return ret;
	publish_fences(submit);
	/* The context owns the jobs now. */
	while (submit->num_prepared)
		dma_fence_put(submit->prepared[--submit->num_prepared].fence);
	return 0;
}

static void cleanup_submit(struct onpu_submit *submit)
{
	for (u32 i = 0; i < submit->num_prepared; i++)
		onpu_job_drop(submit->prepared[i].job);
	for (u32 i = 0; i < submit->num_signals; i++) {
		dma_fence_chain_free(submit->signals[i].chain);
		drm_syncobj_put(submit->signals[i].syncobj);
	}
	if (submit->jobs != submit->few_jobs)
		kvfree(submit->jobs);
	if (submit->prepared != submit->few_prepared)
		kvfree(submit->prepared);
	if (submit->syncs != submit->few_syncs)
		kvfree(submit->syncs);
	if (submit->signals != submit->few_signals)
		kvfree(submit->signals);
}

int onpu_submit_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_onpu_submit *args = data;
	struct onpu_submit submit;
	int ret;

	if (args->flags || args->seqno)
		return -EINVAL;
	submit.ctx = onpu_ctx_lookup(to_onpu_file(file), args->ctx_id);
	if (!submit.ctx)
		return -ENOENT;
	submit.file = file;
	submit.jobs = submit.few_jobs;
	submit.prepared = submit.few_prepared;
	submit.syncs = submit.few_syncs;
	submit.signals = submit.few_signals;
	submit.num_syncs = 0;
	submit.num_prepared = 0;
	submit.num_signals = 0;
	ret = read_jobs(&submit, &args->jobs);
	if (!ret)
		ret = read_syncs(&submit);
	if (!ret)
		ret = prepare_submit(&submit);
	if (!ret)
		ret = commit_submit(&submit, &args->seqno);
	cleanup_submit(&submit);
	onpu_ctx_put(submit.ctx);
	return ret;
}
