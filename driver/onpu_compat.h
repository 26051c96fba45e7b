/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The only file that knows that kernels differ. ONPU_HAVE_* come from the probes in Kbuild.
 */
#ifndef ONPU_COMPAT_H
#define ONPU_COMPAT_H

#include <linux/uaccess.h>
#include <linux/workqueue.h>

#include <drm/drm_device.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/gpu_scheduler.h>

/* Old kernels warn about a driver without a date. */
#ifdef ONPU_HAVE_DRIVER_DATE
#define ONPU_DRIVER_DATE	.date = "20261101",
#else
#define ONPU_DRIVER_DATE
#endif

#ifndef ONPU_HAVE_COPY_STRUCT_TO_USER
static __always_inline __must_check int
copy_struct_to_user(void __user *dst, size_t usize, const void *src, size_t ksize,
		    bool *ignored_trailing)
{
	if (usize > ksize && clear_user(dst + ksize, usize - ksize))
		return -EFAULT;
	if (ignored_trailing)
		*ignored_trailing = usize < ksize && memchr_inv(src + usize, 0, ksize - usize);
	return copy_to_user(dst, src, min(usize, ksize)) ? -EFAULT : 0;
}
#endif

#ifndef ONPU_HAVE_GEM_IS_IMPORTED
static inline bool drm_gem_is_imported(const struct drm_gem_object *obj)
{
	return obj->import_attach;
}
#endif

/* Work runs where it was queued; old kernels have no word for it. */
#ifdef ONPU_HAVE_WQ_PERCPU
#define ONPU_WQ_PERCPU	WQ_PERCPU
#else
#define ONPU_WQ_PERCPU	0
#endif

/* An address in the kernel; the caller holds no lock of the object. */
#ifdef ONPU_HAVE_GEM_VMAP_UNLOCKED
#define onpu_gem_vmap	drm_gem_vmap_unlocked
#define onpu_gem_vunmap	drm_gem_vunmap_unlocked
#else
#define onpu_gem_vmap	drm_gem_vmap
#define onpu_gem_vunmap	drm_gem_vunmap
#endif

/* A scheduler with one queue. */
static inline int onpu_sched_init(struct drm_gpu_scheduler *sched,
				  const struct drm_sched_backend_ops *ops,
				  struct workqueue_struct *submit_wq, u32 credits, long timeout,
				  struct workqueue_struct *timeout_wq, const char *name,
				  struct device *dev)
{
#ifdef ONPU_HAVE_SCHED_INIT_ARGS
	const struct drm_sched_init_args args = {
		.ops = ops,
		.submit_wq = submit_wq,
		.timeout_wq = timeout_wq,
#ifdef ONPU_HAVE_SCHED_NUM_RQS
		.num_rqs = 1,
#endif
		.credit_limit = credits,
		.timeout = timeout,
		.name = name,
		.dev = dev,
	};

	return drm_sched_init(sched, &args);
#else
	return drm_sched_init(sched, ops, submit_wq, 1, credits, 0, timeout, timeout_wq, NULL, name,
			      dev);
#endif
}

static inline int onpu_sched_job_init(struct drm_sched_job *job, struct drm_sched_entity *entity,
				      u32 credits, void *owner, u64 client_id)
{
#ifdef ONPU_HAVE_SCHED_CLIENT_ID
	return drm_sched_job_init(job, entity, credits, owner, client_id);
#else
	return drm_sched_job_init(job, entity, credits, owner);
#endif
}

/* Go on after drm_sched_stop(). Jobs whose fences have not signalled end with the error. */
static inline void onpu_sched_start(struct drm_gpu_scheduler *sched, int error)
{
#ifdef ONPU_HAVE_SCHED_START_ERRNO
	drm_sched_start(sched, error);
#else
	drm_sched_start(sched);
#endif
}

/* What timedout_job returns after it has dealt with a hang. */
#ifdef ONPU_HAVE_SCHED_STAT_RESET
#define ONPU_SCHED_STAT_RESET	DRM_GPU_SCHED_STAT_RESET
#else
#define ONPU_SCHED_STAT_RESET	DRM_GPU_SCHED_STAT_NOMINAL
#endif

/* What timedout_job returns when the job is only slow; the timeout starts anew. */
static inline enum drm_gpu_sched_stat onpu_sched_no_hang(struct drm_sched_job *job)
{
#ifdef ONPU_HAVE_SCHED_STAT_NO_HANG
	return DRM_GPU_SCHED_STAT_NO_HANG;
#else
	struct drm_gpu_scheduler *sched = job->sched;

	/* The scheduler has taken the job off its list, and nobody would end it. */
	spin_lock(&sched->job_list_lock);
	list_add(&job->list, &sched->pending_list);
	spin_unlock(&sched->job_list_lock);
	/* It may have ended meanwhile, unseen by the work that frees jobs; or be freed already. */
	queue_work(sched->submit_wq, &sched->work_free_job);
	return ONPU_SCHED_STAT_RESET;
#endif
}

#endif
