// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Contexts: creation and destruction, completion, faults and resets. */
#include <linux/capability.h>
#include <linux/pm_runtime.h>
#include <linux/slab.h>

#include <drm/drm_managed.h>

#include "onpu_ctx.h"
#include "onpu_job.h"
#include "onpu_queue.h"

/* ---- references */

/* Frees a context: a work item, as the caller of onpu_ctx_put() may hold locks that it takes. */
static void ctx_release_work(struct work_struct *work)
{
	struct onpu_ctx *ctx = container_of(work, struct onpu_ctx, release);
	struct onpu_ctx_device *cd = ctx->onpu->ctx;
	struct onpu_vm *vm = ctx->vm;

	cancel_work_sync(&ctx->resolve);
	if (cancel_delayed_work_sync(&ctx->linger))
		pm_runtime_put_autosuspend(ctx->onpu->drm.dev);
	scoped_guard(mutex, &cd->bind_lock)
		list_del(&ctx->all_link);
	onpu_kernel_bo_destroy(&ctx->ring);
	onpu_kernel_bo_destroy(&ctx->page);
	onpu_kernel_bo_destroy(&ctx->save);
	onpu_user_uncharge(vm->user, ctx->charged);
	onpu_vm_drop_ctx(vm);
	if (ctx->destroyed)
		onpu_user_free_end(vm->user);
	kfree(ctx);
	onpu_vm_put(vm);
}

static void ctx_release(struct kref *ref)
{
	struct onpu_ctx *ctx = container_of(ref, struct onpu_ctx, ref);

	queue_work(onpu_free_wq, &ctx->release);
}

struct onpu_ctx *onpu_ctx_get(struct onpu_ctx *ctx)
{
	kref_get(&ctx->ref);
	return ctx;
}

void onpu_ctx_put(struct onpu_ctx *ctx)
{
	if (ctx)
		kref_put(&ctx->ref, ctx_release);
}

struct onpu_ctx *onpu_ctx_lookup(struct onpu_file *file, u32 id)
{
	struct onpu_ctx *ctx;

	xa_lock(&file->ctxs);
	ctx = xa_load(&file->ctxs, id);
	if (ctx)
		onpu_ctx_get(ctx);
	xa_unlock(&file->ctxs);
	return ctx;
}

/* ---- the end of a context */

static void queue_end_work(struct onpu_ctx *ctx)
{
	onpu_ctx_get(ctx);
	if (!queue_work(ctx->onpu->wq, &ctx->end))
		onpu_ctx_put(ctx);
}

/*
 * Ends a context because of a failure, with its lock held; the device makes no access for it any
 * more. The oldest job, which has failed, gets the error @first, unless the context is destroyed;
 * all others get @rest.
 */
void onpu_ctx_fail(struct onpu_ctx *ctx, u32 state, int first, int rest)
{
	lockdep_assert_held(&ctx->lock);
	WRITE_ONCE(ctx->dead, true);
	if (ctx->state == DRM_ONPU_CTX_ACTIVE || ctx->state == DRM_ONPU_CTX_INNOCENT) {
		ctx->state = state;
		ctx->error = -first;
		if (!ctx->destroyed && state != DRM_ONPU_CTX_LOST)
			onpu_dump_ctx(ctx, state, -first);
	}
	if (ctx->destroyed)
		first = rest;
	onpu_job_end_all(ctx, first, rest);
	queue_end_work(ctx);
}

/*
 * Kills the jobs that a hung context has on its queue, and fails the context. If all these jobs
 * have completed before, only takes the queue from the context. With bind_lock held.
 */
static void kill_hung_jobs(struct onpu_ctx_device *cd, struct onpu_ctx *ctx)
{
	bool done = false;
	int ret;

	/* Feed no job to a queue that is about to be killed. */
	onpu_queue_yield(ctx);
	ret = onpu_queue_kill(ctx);
	if (!ret) {
		guard(spinlock)(&ctx->lock);
		/* Its jobs may have completed just before they were killed. */
		onpu_job_reap(ctx);
		done = !onpu_ctx_busy(ctx);
		if (!done)
			onpu_ctx_fail(ctx, DRM_ONPU_CTX_TIMEDOUT, -ETIME, -ECANCELED);
	}
	if (done)
		ret = onpu_queue_unbind(cd, ctx);
	onpu_queue_reset_on_error(cd->onpu, ret);
}

/*
 * Ends a context whose job makes no progress. If the firmware cannot kill the job, a reset does. If
 * the job has just ended, the context goes on.
 */
void onpu_ctx_kill_hung(struct onpu_ctx *ctx)
{
	struct onpu_ctx_device *cd = ctx->onpu->ctx;

	guard(mutex)(&cd->bind_lock);
	/* While this waited for the lock, the job may have ended and the next one begun. */
	if (!onpu_job_hangs(ctx))
		return;
	if (ctx->queue < 0) {
		guard(spinlock)(&ctx->lock);
		onpu_ctx_fail(ctx, DRM_ONPU_CTX_TIMEDOUT, -ETIME, -ECANCELED);
		return;
	}
	kill_hung_jobs(cd, ctx);
	/* Other contexts may be waiting for the queue. */
	onpu_queue_serve(cd);
}

/*
 * Takes the queue, if it has one, from the context; the context's jobs on the queue are killed
 * first. Returns 0, -EAGAIN during a reset, or the errno of a request to the firmware.
 */
static int detach_ctx(struct onpu_ctx_device *cd, struct onpu_ctx *ctx)
{
	bool busy;
	int ret = 0;

	lockdep_assert_held(&cd->bind_lock);
	onpu_queue_stop_waiting(ctx);
	if (ctx->queue < 0)
		return 0;
	/*
	 * The firmware that a reset starts does not know the context, and onpu_ctx_post_reset()
	 * ends its jobs: nothing is to be requested.
	 */
	if (cd->stopped)
		return -EAGAIN;
	busy = !onpu_queue_yield(ctx);
	if (busy)
		ret = onpu_queue_kill(ctx);
	if (!ret && READ_ONCE(ctx->destroyed)) {
		guard(spinlock)(&ctx->lock);
		onpu_job_reap(ctx);
		onpu_job_end_all(ctx, -ECANCELED, -ECANCELED);
	}
	ret = ret ?: onpu_queue_unbind(cd, ctx);
	onpu_queue_reset_on_error(cd->onpu, ret);
	return ret;
}

/*
 * Ends a context that takes no more jobs: takes its queue back and, if the context was destroyed,
 * ends its jobs. If the firmware cannot give the queue back, a reset ends the jobs.
 */
static void ctx_end_work(struct work_struct *work)
{
	struct onpu_ctx *ctx __free(onpu_ctx) = container_of(work, struct onpu_ctx, end);
	struct onpu_ctx_device *cd = ctx->onpu->ctx;

	guard(onpu_signalling)();
	guard(mutex)(&cd->bind_lock);
	if (!detach_ctx(cd, ctx) && READ_ONCE(ctx->destroyed)) {
		guard(spinlock)(&ctx->lock);
		onpu_job_end_all(ctx, -ECANCELED, -ECANCELED);
	}
	onpu_queue_serve(cd);
	if (cancel_delayed_work(&ctx->watch))
		onpu_ctx_put(ctx);
}

/* Returns the node through which a client can map the completion page for reading, once allowed. */
static struct drm_vma_offset_node *page_node(struct onpu_ctx *ctx)
{
	return &ctx->page.bo->base.base.vma_node;
}

/* Destroys a context; the file's reference passes to the work that ends the context. */
static void destroy_ctx(struct onpu_file *file, struct onpu_ctx *ctx)
{
	drm_vma_node_revoke(page_node(ctx), file->drm);
	onpu_user_free_begin(ctx->vm->user);
	scoped_guard(spinlock, &ctx->lock) {
		WRITE_ONCE(ctx->dead, true);
		WRITE_ONCE(ctx->destroyed, true);
	}
	if (!queue_work(ctx->onpu->wq, &ctx->end))
		onpu_ctx_put(ctx);
}

/* ---- interrupts */

void onpu_ctx_reap(struct onpu_ctx *ctx)
{
	struct onpu_ctx_device *cd = ctx->onpu->ctx;

	guard(onpu_signalling)();
	guard(spinlock)(&ctx->lock);
	onpu_job_reap(ctx);
	/* Another context may take the queue of an idle one. */
	if (!onpu_ctx_busy(ctx) && (ctx->yield || !list_empty(&cd->waiters)))
		onpu_queue_serve(cd);
}

void onpu_ctx_irq(struct onpu_device *onpu, unsigned int queue)
{
	struct onpu_ctx *ctx __free(onpu_ctx) = onpu_queue_owner(onpu->ctx, queue);

	if (ctx)
		onpu_ctx_reap(ctx);
}

void onpu_ctx_fault_event(struct onpu_device *onpu, const struct onpu_msg_event_fault *event)
{
	struct onpu_ctx *ctx __free(onpu_ctx) = onpu_queue_owner(onpu->ctx, event->queue);

	if (!ctx)
		return;
	guard(onpu_signalling)();
	guard(spinlock)(&ctx->lock);
	onpu_job_reap(ctx);
	/* By the time of the event the queue may belong to another context. */
	if (!ctx->dead && ctx->queue == event->queue &&
	    onpu_read(onpu, ONPU_REG_QUEUE_STATE(event->queue)) == ONPU_QUEUE_FAULTED)
		onpu_job_faulted(ctx, event->code);
}

/* ---- resets */

void onpu_ctx_pre_reset(struct onpu_device *onpu)
{
	struct onpu_ctx_device *cd = onpu->ctx;
	struct onpu_ctx *ctx;

	guard(onpu_signalling)();
	onpu_mmu_pre_reset(onpu);
	guard(mutex)(&cd->bind_lock);
	WRITE_ONCE(cd->stopped, true);
	list_for_each_entry(ctx, &cd->all, all_link) {
		/* End jobs that have completed before the reset: they are not lost. */
		guard(spinlock)(&ctx->lock);
		onpu_job_reap(ctx);
	}
}

/* Ends a context's jobs after a reset (@alive) or the loss of the device; its lock is held. */
static void settle_ctx(struct onpu_ctx *ctx, bool alive)
{
	if (!alive) {
		onpu_ctx_fail(ctx, DRM_ONPU_CTX_LOST, -ENODEV, -ENODEV);
		return;
	}
	if (ctx->guilty) {
		onpu_ctx_fail(ctx, DRM_ONPU_CTX_TIMEDOUT, -ETIME, -ECANCELED);
		return;
	}
	if (onpu_user_is_banned(ctx->vm->user)) {
		onpu_ctx_fail(ctx, DRM_ONPU_CTX_LOST, -ECANCELED, -ECANCELED);
		return;
	}
	if (list_empty(&ctx->jobs))
		return;
	onpu_job_end_all(ctx, -ECANCELED, -ECANCELED);
	if (ctx->destroyed)
		queue_end_work(ctx);
	if (ctx->state == DRM_ONPU_CTX_ACTIVE && !ctx->dead) {
		ctx->state = DRM_ONPU_CTX_INNOCENT;
		ctx->error = ECANCELED;
	}
}

/* Frees all queues and ends all jobs after a reset (@alive) or the loss of the device. */
static void settle_all(struct onpu_ctx_device *cd, bool alive)
{
	struct onpu_ctx *ctx;

	lockdep_assert_held(&cd->bind_lock);
	onpu_queue_forget_all(cd);
	list_for_each_entry(ctx, &cd->all, all_link) {
		/* A context without references is about to be freed: it has no jobs. */
		if (!kref_get_unless_zero(&ctx->ref))
			continue;
		scoped_guard(spinlock, &ctx->lock)
			settle_ctx(ctx, alive);
		onpu_ctx_put(ctx);
	}
}

void onpu_ctx_cancel_all(struct onpu_device *onpu)
{
	guard(onpu_signalling)();
	guard(mutex)(&onpu->ctx->bind_lock);
	settle_all(onpu->ctx, true);
}

void onpu_ctx_post_reset(struct onpu_device *onpu, bool alive)
{
	struct onpu_ctx_device *cd = onpu->ctx;

	guard(onpu_signalling)();
	guard(mutex)(&cd->bind_lock);
	WRITE_ONCE(cd->lost, !alive);
	settle_all(cd, alive);
	WRITE_ONCE(cd->stopped, onpu->asleep);
	onpu_queue_serve(cd);
}

/* ---- ioctls */

static int check_create(const struct drm_onpu_ctx_create *args)
{
	if (args->flags & ~DRM_ONPU_CTX_LONG_RUNNING || args->ctx_id || args->pad ||
	    args->completion_offset)
		return -EINVAL;
	if (args->priority > DRM_ONPU_PRIORITY_HIGH ||
	    args->power > DRM_ONPU_POWER_HIGH_PERFORMANCE)
		return -EINVAL;
	if (args->priority == DRM_ONPU_PRIORITY_HIGH && !capable(CAP_SYS_NICE))
		return -EACCES;
	return 0;
}

/* Ends the time &onpu_limits.linger, in which the context keeps the device awake without a job. */
static void ctx_linger_work(struct work_struct *work)
{
	struct onpu_ctx *ctx = container_of(to_delayed_work(work), struct onpu_ctx, linger);

	pm_runtime_put_autosuspend(ctx->onpu->drm.dev);
}

static void init_ctx(struct onpu_ctx *ctx, struct onpu_file *file,
		     const struct drm_onpu_ctx_create *args, u32 timeout_ms)
{
	const struct onpu_limits *limits = &file->onpu->limits;

	kref_init(&ctx->ref);
	ctx->onpu = file->onpu;
	ctx->vm = onpu_vm_get(file->vm);
	ctx->client = file->drm->client_id;
	ctx->creator.pid = task_tgid_nr(current);
	get_task_comm(ctx->creator.comm, current->group_leader);
	ctx->priority = args->priority;
	ctx->power = args->power;
	ctx->long_running = args->flags & DRM_ONPU_CTX_LONG_RUNNING;
	ctx->run_cycles = ctx->long_running ? U64_MAX : limits->run_cycles;
	INIT_DELAYED_WORK(&ctx->linger, ctx_linger_work);
	if (ctx->power == DRM_ONPU_POWER_HIGH_PERFORMANCE) {
		pm_runtime_get_noresume(ctx->onpu->drm.dev);
		queue_delayed_work(ctx->onpu->wq, &ctx->linger, ctx->onpu->limits.linger);
	}
	ctx->timeout = msecs_to_jiffies(timeout_ms);
	ctx->check_interval = DIV_ROUND_UP(min3(ctx->timeout, limits->wait, limits->fence),
					   HANG_CHECKS);
	ctx->queue = -1;
	ctx->fence_context = dma_fence_context_alloc(1);
	spin_lock_init(&ctx->lock);
	INIT_DELAYED_WORK(&ctx->watch, onpu_job_watch_work);
	INIT_WORK(&ctx->resolve, onpu_job_resolve_work);
	INIT_WORK(&ctx->end, ctx_end_work);
	INIT_WORK(&ctx->release, ctx_release_work);
	INIT_LIST_HEAD(&ctx->all_link);
	INIT_LIST_HEAD(&ctx->wait_link);
	INIT_LIST_HEAD(&ctx->jobs);
	INIT_LIST_HEAD(&ctx->queued);
	INIT_LIST_HEAD(&ctx->runnable);
}

static int register_ctx(struct onpu_ctx *ctx)
{
	struct onpu_ctx_device *cd = ctx->onpu->ctx;
	int ret = mutex_lock_killable(&cd->bind_lock);

	if (ret)
		return ret;
	if (cd->lost)
		ret = -ENODEV;
	else if (onpu_user_is_banned(ctx->vm->user))
		ret = -EPERM;
	else
		list_add_tail(&ctx->all_link, &cd->all);
	mutex_unlock(&cd->bind_lock);
	return ret;
}

static int alloc_ctx_memory(struct onpu_ctx *ctx)
{
	const struct { struct onpu_kernel_bo *kbo; size_t size; bool access; } parts[] = {
		{ &ctx->ring, ONPU_RING_SIZE * sizeof(struct onpu_ring_job), true },
		{ &ctx->page, PAGE_SIZE, true },
		{ &ctx->save, onpu_cap(ctx->onpu, ONPU_REG_CAP_SAVE_BYTES), false },
	};
	size_t bytes = sizeof(*ctx) + onpu_job_ctx_bytes();
	int ret = onpu_user_charge_wait(ctx->vm->user, bytes);

	if (!ret)
		ctx->charged = bytes;
	for (unsigned int i = 0; !ret && i < ARRAY_SIZE(parts); i++)
		ret = onpu_kernel_bo_create(parts[i].kbo, ctx->vm, parts[i].size, parts[i].access);
	return ret;
}

/*
 * Creates a context, which the caller has counted with onpu_vm_add_ctx(); sets *@id and *@offset,
 * where the completion page can be mapped. Returns 0 or an errno. The number @id is allocated last,
 * under the lock of the array of contexts: once the lock is released, programs can use and destroy
 * the context.
 */
static int create_ctx(struct onpu_file *file, const struct drm_onpu_ctx_create *args,
		      u32 timeout_ms, u32 *id, u64 *offset)
{
	struct onpu_ctx *ctx = kzalloc(sizeof(*ctx), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!ctx) {
		onpu_vm_drop_ctx(file->vm);
		return -ENOMEM;
	}
	init_ctx(ctx, file, args, timeout_ms);
	ret = alloc_ctx_memory(ctx);
	if (!ret)
		ret = register_ctx(ctx);
	if (!ret) {
		*offset = drm_vma_node_offset_addr(page_node(ctx));
		ret = drm_vma_node_allow(page_node(ctx), file->drm);
	}
	if (!ret) {
		xa_lock(&file->ctxs);
		ret = __xa_alloc(&file->ctxs, id, ctx, XA_LIMIT(1, U32_MAX), GFP_KERNEL);
		if (!ret)
			WRITE_ONCE(ctx->id, *id);
		xa_unlock(&file->ctxs);
		if (ret)
			drm_vma_node_revoke(page_node(ctx), file->drm);
	}
	if (ret)
		onpu_ctx_put(ctx);
	return ret;
}

int onpu_ctx_create_ioctl(struct drm_device *drm, void *data, struct drm_file *drm_file)
{
	struct onpu_file *file = to_onpu_file(drm_file);
	const struct onpu_limits *limits = &file->onpu->limits;
	struct drm_onpu_ctx_create *args = data;
	u32 id, timeout_ms = args->timeout_ms ?: limits->timeout_ms;
	u64 offset;
	int ret;

	ret = check_create(args);
	if (ret)
		return ret;
	timeout_ms = min(timeout_ms, limits->max_timeout_ms);
	ret = onpu_vm_add_ctx(file->vm);
	if (!ret)
		ret = create_ctx(file, args, timeout_ms, &id, &offset);
	if (ret)
		return ret;
	args->timeout_ms = timeout_ms;
	args->ctx_id = id;
	args->completion_offset = offset;
	return 0;
}

int onpu_ctx_destroy_ioctl(struct drm_device *drm, void *data, struct drm_file *drm_file)
{
	struct onpu_file *file = to_onpu_file(drm_file);
	struct drm_onpu_ctx_destroy *args = data;
	struct onpu_ctx *ctx;

	if (args->pad)
		return -EINVAL;
	ctx = xa_erase(&file->ctxs, args->ctx_id);
	if (!ctx)
		return -ENOENT;
	destroy_ctx(file, ctx);
	return 0;
}

int onpu_ctx_get_state_ioctl(struct drm_device *drm, void *data, struct drm_file *drm_file)
{
	struct drm_onpu_ctx_get_state *args = data;
	struct onpu_ctx *ctx __free(onpu_ctx) = NULL;
	const struct onpu_completion *page;
	int ret;

	if (args->state || args->error || args->pad || args->submitted || args->completed ||
	    args->cancelled || args->busy_ns || args->cycles ||
	    memchr_inv(&args->fault, 0, sizeof(args->fault)))
		return -EINVAL;
	ctx = onpu_ctx_lookup(to_onpu_file(drm_file), args->ctx_id);
	if (!ctx)
		return -ENOENT;
	/* A reset that gives the device up may be setting the context's state: wait for its end. */
	if (onpu_device_lost(ctx->onpu)) {
		ret = down_read_killable(&ctx->onpu->reset_lock);
		if (ret)
			return ret;
		up_read(&ctx->onpu->reset_lock);
	}
	/* End what the completion page shows as ended: its interrupt may not have been handled. */
	page = ctx->page.vaddr;
	if (READ_ONCE(page->seqno) != READ_ONCE(ctx->completed) &&
	    down_read_trylock(&ctx->onpu->reset_lock)) {
		onpu_ctx_reap(ctx);
		up_read(&ctx->onpu->reset_lock);
	}
	guard(spinlock)(&ctx->lock);
	args->state = ctx->state;
	args->error = ctx->error;
	args->submitted = ctx->submitted;
	args->completed = ctx->completed;
	args->cancelled = ctx->cancelled;
	args->busy_ns = onpu_job_busy_ns(ctx);
	args->cycles = ctx->cycles;
	static_assert(sizeof(args->fault) == sizeof(ctx->fault));
	memcpy(&args->fault, &ctx->fault, sizeof(args->fault));
	return 0;
}

/* ---- files and the device */

void onpu_ctx_file_close(struct onpu_file *file)
{
	struct onpu_ctx *ctx;
	unsigned long id;

	xa_for_each(&file->ctxs, id, ctx)
		destroy_ctx(file, xa_erase(&file->ctxs, id));
	xa_destroy(&file->ctxs);
}

static void ctx_fini(struct drm_device *drm, void *data)
{
	struct onpu_ctx_device *cd = data;

	cancel_delayed_work_sync(&cd->bind);
	onpu_user_forgive_all(cd->onpu);
	mutex_destroy(&cd->bind_lock);
}

int onpu_ctx_init(struct onpu_device *onpu)
{
	struct onpu_ctx_device *cd = drmm_kzalloc(&onpu->drm, sizeof(*cd), GFP_KERNEL);

	if (!cd)
		return -ENOMEM;
	cd->onpu = onpu;
	mutex_init(&cd->bind_lock);
	INIT_LIST_HEAD(&cd->all);
	INIT_DELAYED_WORK(&cd->bind, onpu_queue_bind_work);
	spin_lock_init(&cd->lock);
	INIT_LIST_HEAD(&cd->waiters);
	onpu->ctx = cd;
	return drmm_add_action_or_reset(&onpu->drm, ctx_fini, cd);
}
