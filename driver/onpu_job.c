// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Jobs: waiting for fences, completion, detection of hangs.
 *
 * Jobs of one SUBMIT without a wait or a signal between them are one struct onpu_job, which has a
 * ring entry for each of them and one fence. Jobs of a context run in order, so only the oldest job
 * that is not ready has to wait for a fence, and for one fence at a time.
 *
 * The driver does not use drm_sched: the firmware schedules, and the driver only waits for fences.
 *
 * Once a fence exists, no function here may fail or wait for memory.
 */
#include <linux/module.h>
#include <linux/pm_runtime.h>
#include <linux/slab.h>

#include "onpu_ctx.h"
#include "onpu_job.h"
#include "onpu_queue.h"
#include "onpu_trace.h"

/* Consecutive jobs of one SUBMIT without a wait or a signal between them. */
struct onpu_job {
	struct onpu_ctx *ctx; /* the context, with a reference */
	struct onpu_fence *fence; /* signals when all entries have ended; see accept_jobs() */
	struct list_head link; /* link in &onpu_ctx.jobs */
	/* Link in &onpu_ctx.queued or &onpu_ctx.runnable, unless the hardware has the job. */
	struct list_head next;
	/* Fences to wait for, with references; the last is waited for first. */
	struct dma_fence **waits;
	u32 num_waits; /* number of @waits that may not have signalled yet */
	bool added; /* @callback was added to the last fence of @waits */
	struct dma_fence_cb callback; /* queues &onpu_ctx.resolve */
	u32 count; /* number of entries */
	u32 taken; /* number of entries that the hardware took on the context's earlier queues */
	unsigned long ready; /* the time when the job became runnable, in jiffies */
	/* Number of the last entry; the hardware has the job if it is up to &onpu_ctx.fed. */
	u64 seqno;
	struct onpu_ring_job entries[] __counted_by(count); /* copies for the ring */
};

/* ---- fences */

/* Fence of a job; its operations depend on nothing but this module. */
struct onpu_fence {
	struct dma_fence base; /* first, since the fence is freed by the address of this member */
	spinlock_t lock;
};

static const char *fence_name(struct dma_fence *fence)
{
	return "onpu";
}

/* Called by RCU, for which onpu_exit() waits: the module is not unloaded before this returns. */
static void fence_free(struct rcu_head *rcu)
{
	kfree(container_of(rcu, struct onpu_fence, base.rcu));
	module_put(THIS_MODULE);
}

static void fence_release(struct dma_fence *fence)
{
	call_rcu(&fence->rcu, fence_free);
}

static const struct dma_fence_ops fence_ops = {
	.get_driver_name = fence_name,
	.get_timeline_name = fence_name,
	.release = fence_release,
};

/* ---- what jobs wait for */

/* Callback of the fence that a job waits for; called with the fence's lock held. */
static void onpu_job_signalled(struct dma_fence *fence, struct dma_fence_cb *callback)
{
	struct onpu_ctx *ctx = container_of(callback, struct onpu_job, callback)->ctx;

	queue_work(ctx->onpu->wq, &ctx->resolve);
}

/* Drops the last fence of a job's waits. The callback is not running afterwards. */
static void drop_wait(struct onpu_job *job)
{
	struct dma_fence *fence = job->waits[--job->num_waits];

	if (job->added)
		dma_fence_remove_callback(fence, &job->callback);
	job->added = false;
	dma_fence_put(fence);
}

static bool job_waits(struct onpu_job *job)
{
	for (; job->num_waits; drop_wait(job)) {
		struct dma_fence *fence = job->waits[job->num_waits - 1];

		/* Adding a callback fails for a fence that has signalled. */
		if (!job->added)
			job->added = !dma_fence_add_callback(fence, &job->callback,
							     onpu_job_signalled);
		if (job->added && !dma_fence_is_signaled(fence))
			return true;
	}
	return false;
}

static u64 read_counter(struct onpu_device *onpu, u32 reg_lo)
{
	u32 lo = onpu_read(onpu, reg_lo);

	return (u64)onpu_read(onpu, reg_lo + 4) << 32 | lo;
}

/*
 * Adds the device's clock to the trace; the device is awake. Readers of the trace use pairs of
 * these events to convert the cycles in other events to the host's time.
 */
static void trace_clock(struct onpu_device *onpu)
{
	if (!trace_onpu_clock_enabled())
		return;
	guard(spinlock)(&onpu->time_lock);
	trace_onpu_clock(onpu, read_counter(onpu, ONPU_REG_CYCLE_LO));
}

/* ---- the end of jobs */

/*
 * Frees a job. The caller has a reference to the context beside the job's, or holds a lock that the
 * release of the context waits for.
 */
static void job_free(struct onpu_job *job)
{
	while (job->num_waits)
		drop_wait(job);
	onpu_ctx_put(job->ctx);
	kfree(job);
}

u64 onpu_job_busy_ns(const struct onpu_ctx *ctx)
{
	lockdep_assert_held(&ctx->lock);
	if (!ctx->in_ring)
		return ctx->busy_ns;
	return ctx->busy_ns + onpu_usage_share_ns(ctx->onpu) - ctx->since;
}

/*
 * Counts the entries of a job as gone from the hardware; if the hardware has no other job of the
 * context, charges the busy time up to now to the context.
 */
static void leave_ring(struct onpu_job *job)
{
	struct onpu_ctx *ctx = job->ctx;

	ctx->in_ring -= job->count;
	if (!ctx->in_ring)
		ctx->busy_ns += onpu_usage_end(ctx->vm) - ctx->since;
}

static void account_cycles(struct onpu_ctx *ctx, u64 total)
{
	if (total <= ctx->page_cycles)
		return;
	ctx->cycles += total - ctx->page_cycles;
	atomic64_add(total - ctx->page_cycles, &ctx->vm->cycles);
	ctx->page_cycles = total;
}

/*
 * Lets the device sleep now that the context has no job any more: after limits.linger for high
 * performance, at once to save energy, and otherwise after the delay for autosuspend.
 */
static void allow_sleep(struct onpu_ctx *ctx)
{
	struct device *dev = ctx->onpu->drm.dev;

	pm_runtime_mark_last_busy(dev);
	/* If the work was not queued yet, it takes over the job's reference of runtime PM. */
	if (ctx->power == DRM_ONPU_POWER_HIGH_PERFORMANCE &&
	    !mod_delayed_work(ctx->onpu->wq, &ctx->linger, ctx->onpu->limits.linger))
		return;
	__pm_runtime_suspend(dev, RPM_GET_PUT | RPM_ASYNC |
			     (ctx->power == DRM_ONPU_POWER_LOW ? 0 : RPM_AUTO));
}

static void end_job(struct onpu_job *job, int error)
{
	struct onpu_ctx *ctx = job->ctx;
	struct onpu_usage *usage = &ctx->onpu->usage;

	lockdep_assert_held(&ctx->lock);
	list_del(&job->link);
	if (job->seqno > ctx->fed)
		list_del(&job->next);
	else
		leave_ring(job);
	ctx->completed = max(ctx->completed, job->seqno);
	trace_onpu_complete(ctx, job->seqno, job->count, error);
	atomic64_add(job->count, &usage->jobs);
	if (error) {
		atomic64_add(job->count, &usage->failed_jobs);
		dma_fence_set_error(&job->fence->base, error);
	}
	if (error == -ECANCELED)
		ctx->cancelled += job->count;
	dma_fence_signal(&job->fence->base);
	dma_fence_put(&job->fence->base);
	if (list_empty(&ctx->jobs))
		allow_sleep(ctx);
	job_free(job);
}

/*
 * Writes the number of the last job that has ended, and the error, to the completion page, unless
 * the page has that number already.
 */
static void write_completion_page(struct onpu_ctx *ctx, int error)
{
	struct onpu_completion *page = ctx->page.vaddr;

	if (READ_ONCE(page->seqno) == ctx->completed)
		return;
	WRITE_ONCE(page->error, DRM_ONPU_COMPLETION_BY_DRIVER | -error);
	/* A reader that sees the new number sees the error. */
	smp_store_release(&page->seqno, ctx->completed);
}

void onpu_job_end_all(struct onpu_ctx *ctx, int first, int rest)
{
	struct onpu_job *job, *next;
	int error = first;

	lockdep_assert_held(&ctx->lock);
	ctx->resume = false;
	if (list_empty(&ctx->jobs))
		return;
	/* Write the page before signalling fences, as the device does. */
	job = list_last_entry(&ctx->jobs, struct onpu_job, link);
	ctx->completed = max(ctx->completed, job->seqno);
	write_completion_page(ctx, list_is_singular(&ctx->jobs) ? first : rest);
	list_for_each_entry_safe(job, next, &ctx->jobs, link) {
		end_job(job, error);
		error = rest;
	}
}

void onpu_job_oldest(struct onpu_ctx *ctx, struct onpu_ring_job *entry)
{
	const struct onpu_job *job = list_first_entry_or_null(&ctx->jobs, struct onpu_job, link);
	u64 first;

	lockdep_assert_held(&ctx->lock);
	*entry = (struct onpu_ring_job) {};
	if (!job)
		return;
	first = job->seqno - job->count + 1;
	*entry = job->entries[clamp_t(s64, ctx->completed + 1 - first, 0, job->count - 1)];
}

void onpu_job_fed(struct onpu_ctx *ctx, struct onpu_ring_job *entries, u32 max)
{
	const struct onpu_job *job;
	u32 count = 0;

	lockdep_assert_held(&ctx->lock);
	list_for_each_entry(job, &ctx->jobs, link) {
		if (job->seqno > ctx->fed)
			return;
		for (u32 i = 0; i < job->count; i++) {
			if (count == max)
				return;
			entries[count++] = job->entries[i];
		}
	}
}

static int fault_to_errno(u32 code)
{
	static const u8 errors[] = {
		[ONPU_FAULT_ILLEGAL_OPCODE ... ONPU_FAULT_SHAPE] = EINVAL,
		[ONPU_FAULT_BOUNDS ... ONPU_FAULT_MMU_PERM] = EFAULT,
		[ONPU_FAULT_SEM_OVERFLOW ... ONPU_FAULT_SEM_OWNER] = EINVAL,
		[ONPU_FAULT_DEADLOCK ... ONPU_FAULT_TIMEOUT] = ETIME,
	};

	return code < ARRAY_SIZE(errors) && errors[code] ? -errors[code] : -EREMOTEIO;
}

static struct onpu_fault_record read_fault_record(const struct onpu_ctx *ctx)
{
	const struct onpu_completion *page = ctx->page.vaddr;
	struct onpu_fault_record record;

	memcpy(&record, page->fault, sizeof(record));
	/* Make the compiler use the copy; the device may change the original. */
	barrier();
	return record;
}

/* Fails the context: the hardware's current job has faulted, and no other job of it is running. */
static void fail_faulted_ctx(struct onpu_ctx *ctx, const struct onpu_fault_record *record)
{
	trace_onpu_fault(ctx, record);
	ctx->fault = *record;
	onpu_ctx_fail(ctx, DRM_ONPU_CTX_FAULT, fault_to_errno(record->code), -ECANCELED);
}

void onpu_job_faulted(struct onpu_ctx *ctx, u32 code)
{
	struct onpu_fault_record record = read_fault_record(ctx);

	lockdep_assert_held(&ctx->lock);
	/* If the page's record is about another fault, only the event's code is known. */
	if (record.code != code)
		record = (struct onpu_fault_record) {
			.code = code,
			.engine = ONPU_ENG_CP,
			.operand = ONPU_OPERAND_NONE,
		};
	fail_faulted_ctx(ctx, &record);
}

/* Traces a job's busy cycles; the completion page has those of the last job alone. */
static void trace_engines(const struct onpu_ctx *ctx, u64 seqno)
{
	const struct onpu_completion *page = ctx->page.vaddr;
	const struct onpu_job_counters *counters = ctx->page.vaddr + ONPU_COMPLETION_COUNTERS;
	u64 busy[ONPU_ENG_COUNT], cycles, end;

	if (!trace_onpu_ran_enabled())
		return;
	cycles = READ_ONCE(page->cycles);
	end = READ_ONCE(page->end_cycle);
	memcpy(busy, counters->busy, sizeof(busy));
	/* The values are this job's, unless the device has begun to write those of the next job. */
	dma_rmb();
	if (READ_ONCE(counters->seqno) == seqno)
		trace_onpu_ran(ctx, seqno, cycles, end, busy);
	trace_clock(ctx->onpu);
}

/*
 * Ends the jobs that the completion page shows as completed, and fails the context if a job has
 * faulted. The device may write the page at any time: each member is read once and checked. A job's
 * error is written before its number, so the error may be that of the next job; the fault record
 * has the number of its job.
 */
void onpu_job_reap(struct onpu_ctx *ctx)
{
	const struct onpu_completion *page = ctx->page.vaddr;
	struct onpu_fault_record record = {};
	struct onpu_job *job, *next;
	u64 seqno;

	lockdep_assert_held(&ctx->lock);
	if (ctx->queue < 0 || !onpu_ctx_busy(ctx))
		return;
	seqno = READ_ONCE(page->seqno);
	dma_rmb();
	if (READ_ONCE(page->error))
		record = read_fault_record(ctx);
	if (seqno <= ctx->completed || seqno > ctx->fed)
		return;
	account_cycles(ctx, READ_ONCE(page->total_cycles));
	trace_engines(ctx, seqno);
	if (!record.code || record.seqno != seqno)
		record.seqno = U64_MAX;
	list_for_each_entry_safe(job, next, &ctx->jobs, link) {
		if (job->seqno > seqno || job->seqno >= record.seqno)
			break;
		end_job(job, 0);
	}
	/* The job that faulted has not ended yet. */
	ctx->completed = max(ctx->completed, seqno - (record.seqno == seqno));
	ctx->progress.moved = jiffies;
	if (record.seqno == seqno)
		fail_faulted_ctx(ctx, &record);
	else
		onpu_job_feed(ctx);
}

/* Puts a job on the runnable list, after @after. The hardware took entries up to number @taken. */
static void unfeed_job(struct onpu_job *job, struct list_head *after, u64 taken)
{
	u64 first = job->seqno - job->count + 1;

	job->taken = clamp_t(s64, taken + 1 - first, 0, job->count);
	list_add(&job->next, after);
	leave_ring(job);
}

/*
 * Takes back the jobs that the hardware has not completed, when the context's queue was just taken
 * away; @head: the number of ring entries that the hardware has taken. Returns whether @head is
 * possible; true also if all jobs have ended.
 */
bool onpu_job_unfeed(struct onpu_ctx *ctx, u32 head)
{
	u64 taken = ctx->before + head;
	struct list_head *after = &ctx->runnable;
	struct onpu_job *job;

	lockdep_assert_held(&ctx->lock);
	onpu_job_reap(ctx);
	/* All jobs may have ended, also by a fault. */
	if (!onpu_ctx_busy(ctx))
		return true;
	if (taken < ctx->completed || taken > ctx->completed + 1 || taken > ctx->fed)
		return false;
	ctx->resume = taken > ctx->completed;
	list_for_each_entry(job, &ctx->jobs, link) {
		if (job->seqno > ctx->fed)
			break;
		unfeed_job(job, after, taken);
		after = &job->next;
	}
	ctx->fed = ctx->completed;
	return true;
}

/* ---- hangs */

/* Returns whether the queue is ready while another runs; then it need not make progress. */
static bool waits_for_others(struct onpu_device *onpu, unsigned int queue)
{
	bool ready = onpu_read(onpu, ONPU_REG_QUEUE_STATE(queue)) == ONPU_QUEUE_READY;

	for (u32 i = 0; ready && i < onpu_cap(onpu, ONPU_REG_CAP_NUM_QUEUES); i++)
		if (onpu_read(onpu, ONPU_REG_QUEUE_STATE(i)) == ONPU_QUEUE_RUNNING)
			return true;
	return false;
}

/*
 * Returns whether the context's jobs have made no progress for longer than &onpu_limits.wait.
 * Called for a context that waits for a queue, or whose queue waits for others; its lock is held.
 */
static bool waits_too_long(const struct onpu_ctx *ctx)
{
	return time_after(jiffies, ctx->progress.moved + ctx->onpu->limits.wait);
}

bool onpu_job_overdue(struct onpu_ctx *ctx)
{
	const struct onpu_job *job = list_first_entry_or_null(&ctx->jobs, struct onpu_job, link);

	lockdep_assert_held(&ctx->lock);
	/* The oldest job is ready unless it is also the first that waits for fences. */
	return job && !list_is_first(&job->next, &ctx->queued) && !ctx->long_running &&
	       time_after(jiffies, job->ready + ctx->onpu->limits.fence);
}

/*
 * Notes the progress since the last call, with the context's lock held; false: the job hangs.
 * @waits: the queue is ready while another one runs, so only limits.wait counts.
 */
static bool makes_progress(struct onpu_ctx *ctx, bool waits)
{
	const struct onpu_progress now = {
		.retired = read_counter(ctx->onpu, ONPU_REG_QUEUE_RETIRED_LO(ctx->queue)),
		.cycles = read_counter(ctx->onpu, ONPU_REG_QUEUE_RUN_CYCLES_LO(ctx->queue)),
		.completed = ctx->completed,
		.when = jiffies,
		.moved = jiffies,
	};
	struct onpu_progress *last = &ctx->progress;

	if (now.retired != last->retired || now.cycles != last->cycles ||
	    now.completed != last->completed) {
		*last = now;
		return true;
	}
	if (waits) {
		last->when = now.when;
		last->checks = 0;
		return !waits_too_long(ctx);
	}
	return ++last->checks < HANG_CHECKS || time_before(now.when, last->when + ctx->timeout);
}

bool onpu_job_hangs(struct onpu_ctx *ctx)
{
	int queue = READ_ONCE(ctx->queue);
	/* Called before the lock is taken, because it reads up to 65 registers. */
	bool waits = queue >= 0 && waits_for_others(ctx->onpu, queue);

	guard(spinlock)(&ctx->lock);
	if (ctx->dead || READ_ONCE(ctx->onpu->ctx->stopped))
		return false;
	if (ctx->queue < 0)
		return !list_empty(&ctx->runnable) &&
		       (onpu_job_overdue(ctx) || waits_too_long(ctx));
	return ctx->queue == queue && onpu_ctx_busy(ctx) &&
	       (onpu_job_overdue(ctx) || !makes_progress(ctx, waits));
}

/* Queues the next check for hangs; the work has a reference to its context. */
static void watch_ctx(struct onpu_ctx *ctx)
{
	onpu_ctx_get(ctx);
	if (!queue_delayed_work(ctx->onpu->reset_wq, &ctx->watch, ctx->check_interval))
		onpu_ctx_put(ctx);
}

void onpu_job_watch_work(struct work_struct *work)
{
	struct onpu_ctx *ctx __free(onpu_ctx) = container_of(to_delayed_work(work),
							     struct onpu_ctx, watch);
	struct onpu_device *onpu = ctx->onpu;

	guard(onpu_signalling)();
	/* A reset ends all jobs; jobs that come after it must not be taken for jobs that hung. */
	if (down_read_trylock(&onpu->reset_lock)) {
		/* A device that is gone reads all ones, which looks like no progress. */
		if (onpu_device_present(onpu)) {
			/* Reap first, in case an interrupt was lost. */
			onpu_ctx_reap(ctx);
			if (onpu_job_hangs(ctx))
				onpu_ctx_kill_hung(ctx);
		}
		up_read(&onpu->reset_lock);
	}
	guard(spinlock)(&ctx->lock);
	if (onpu_ctx_busy(ctx) || !list_empty(&ctx->runnable))
		watch_ctx(ctx);
}

/* ---- the hardware */

static void write_entries(struct onpu_ctx *ctx, const struct onpu_job *job)
{
	struct onpu_ring_job *ring = ctx->ring.vaddr;
	u32 tail = ctx->tail;

	for (u32 i = job->taken; i < job->count; i++)
		ring[tail++ % ONPU_RING_SIZE] = job->entries[i];
	ctx->tail = tail;
}

void onpu_job_feed(struct onpu_ctx *ctx)
{
	struct onpu_job *job, *next;
	u32 count = 0, before;

	lockdep_assert_held(&ctx->lock);
	if (list_empty(&ctx->runnable))
		return;
	if (!onpu_queue_may_feed(ctx)) {
		onpu_queue_want(ctx);
		return;
	}
	before = ctx->in_ring;
	list_for_each_entry_safe(job, next, &ctx->runnable, next) {
		if (ctx->in_ring + job->count > ONPU_RING_SIZE)
			break;
		write_entries(ctx, job);
		list_del(&job->next);
		ctx->fed = job->seqno;
		ctx->in_ring += job->count;
		count += job->count;
	}
	if (!count)
		return;
	/* Trace before the doorbell, so that events of these jobs on the device come later. */
	trace_onpu_feed(ctx, ctx->fed, count, 0);
	trace_clock(ctx->onpu);
	/* onpu_write() orders this after all earlier writes to memory. */
	onpu_write(ctx->onpu, ONPU_REG_DOORBELL_TAIL(ctx->queue), ctx->tail);
	/* This may follow the doorbell, as only holders of the lock find that jobs have ended. */
	if (!before) {
		ctx->since = onpu_usage_begin(ctx->vm);
		ctx->progress.when = jiffies;
		ctx->progress.checks = 0;
	}
}

/* ---- jobs that are ready */

/* Puts a job on the runnable list; all earlier jobs of the context must already be runnable. */
static void make_runnable(struct onpu_job *job)
{
	struct onpu_ctx *ctx = job->ctx;
	unsigned long now = jiffies;

	lockdep_assert_held(&ctx->lock);
	job->ready = now;
	if (list_empty(&ctx->runnable) && !ctx->in_ring) {
		ctx->progress.moved = now;
		watch_ctx(ctx);
	}
	list_move_tail(&job->next, &ctx->runnable);
}

static void feed_what_is_ready(struct onpu_ctx *ctx)
{
	struct onpu_job *job, *next;

	lockdep_assert_held(&ctx->lock);
	list_for_each_entry_safe(job, next, &ctx->queued, next) {
		if (job_waits(job))
			break;
		make_runnable(job);
	}
	onpu_job_feed(ctx);
}

void onpu_job_resolve_work(struct work_struct *work)
{
	struct onpu_ctx *ctx = container_of(work, struct onpu_ctx, resolve);

	guard(onpu_signalling)();
	guard(spinlock)(&ctx->lock);
	feed_what_is_ready(ctx);
}

/* ---- what SUBMIT makes */

static void fill_entry(struct onpu_ring_job *entry, const struct drm_onpu_job *job, u64 max_cycles)
{
	*entry = (struct onpu_ring_job) {
		.type = ONPU_ENTRY_JOB,
		.program_va = job->program_va,
		.num_insns = job->instr_count,
		.num_slots = job->slot_count,
		.slots_va = job->slots_va,
		.profile_va = job->profile_va,
		.profile_size = job->profile_size,
		.cycle_limit = job->cycle_limit ? min(job->cycle_limit, max_cycles) : max_cycles,
	};
}

size_t onpu_job_ctx_bytes(void)
{
	return ONPU_MAX_QUEUED_JOBS * (struct_size_t(struct onpu_job, entries, 1) +
				       sizeof(struct onpu_fence) +
				       ONPU_SUBMIT_MAX_SYNCS * sizeof(struct dma_fence *));
}

/*
 * Returns a job that combines @count jobs of SUBMIT, at most ONPU_RING_SIZE, and waits for at most
 * @max_waits fences; NULL without memory.
 */
struct onpu_job *onpu_job_create(struct onpu_ctx *ctx, const struct drm_onpu_job *jobs, u32 count,
				 u32 max_waits)
{
	size_t size = struct_size_t(struct onpu_job, entries, count);
	u64 max_cycles = ctx->run_cycles;
	struct onpu_job *job __free(kfree) = kmalloc(size + max_waits * sizeof(*job->waits),
						     max_waits ? GFP_KERNEL_ACCOUNT : GFP_KERNEL);

	if (!job)
		return NULL;
	job->fence = kmalloc(sizeof(*job->fence), GFP_KERNEL);
	if (!job->fence)
		return NULL;
	job->ctx = onpu_ctx_get(ctx);
	job->waits = (void *)job + size;
	job->num_waits = 0;
	job->added = false;
	job->count = count;
	job->taken = 0;
	for (u32 i = 0; i < count; i++)
		fill_entry(&job->entries[i], &jobs[i], max_cycles);
	return_ptr(job);
}

void onpu_job_drop(struct onpu_job *job)
{
	kfree(job->fence);
	job_free(job);
}

void onpu_job_wait_for(struct onpu_job *job, struct dma_fence *fence)
{
	/* A fence of the job's own context needs no wait: its jobs run in order. */
	if (fence->context == job->ctx->fence_context || dma_fence_is_signaled(fence))
		dma_fence_put(fence);
	else
		job->waits[job->num_waits++] = fence;
}

/* Gives all jobs their numbers and fences, or refuses all. Returns 0 or an errno. */
static int accept_jobs(struct onpu_ctx *ctx, struct onpu_prepared *jobs, u32 num_jobs,
		       u32 num_entries)
{
	u64 seqno = ctx->submitted;

	lockdep_assert_held(&ctx->lock);
	if (ctx->dead)
		return ctx->destroyed ? -ENOENT : onpu_device_lost(ctx->onpu) ? -ENODEV : -EIO;
	if (ctx->submitted - ctx->completed + num_entries > ONPU_MAX_QUEUED_JOBS)
		return -ENOSPC;
	if (list_empty(&ctx->jobs))
		pm_runtime_get_noresume(ctx->onpu->drm.dev);
	for (u32 i = 0; i < num_jobs; i++) {
		struct onpu_job *job = jobs[i].job;

		for (u32 j = 0; j < job->count; j++)
			job->entries[j].seqno = ++seqno;
		job->seqno = seqno;
		__module_get(THIS_MODULE);
		spin_lock_init(&job->fence->lock);
		dma_fence_init(&job->fence->base, &fence_ops, &job->fence->lock, ctx->fence_context,
			       job->seqno);
		jobs[i].fence = dma_fence_get(&job->fence->base);
		list_add_tail(&job->link, &ctx->jobs);
		list_add_tail(&job->next, &ctx->queued);
	}
	ctx->submitted = seqno;
	return 0;
}

/*
 * Accepts jobs, all or none, feeds those that are ready, sets their fences in @jobs, and *@seqno to
 * the last job's number. @num_entries: the number of ring entries that they need. Returns 0, -EIO
 * for a context that has failed, -ENODEV for a lost device, -ENOENT for a context that was
 * destroyed, or -ENOSPC for too many queued jobs.
 */
int onpu_job_submit(struct onpu_ctx *ctx, struct onpu_prepared *jobs, u32 num_jobs, u32 num_entries,
		    u64 *seqno)
{
	int ret;

	guard(onpu_signalling)();
	guard(spinlock)(&ctx->lock);
	ret = accept_jobs(ctx, jobs, num_jobs, num_entries);
	if (ret)
		return ret;
	*seqno = ctx->submitted;
	trace_onpu_submit(ctx, *seqno, num_entries, 0);
	feed_what_is_ready(ctx);
	return 0;
}
