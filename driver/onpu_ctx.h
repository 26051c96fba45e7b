/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Contexts: their state, the hardware queues that they share in time slices, and how they end.
 *
 * Locks, outermost first, below those of onpu_device.h:
 *
 *   &onpu_ctx_device.bind_lock	which context has which hardware queue; held around requests to
 *				the firmware, never around an allocation
 *   xa_lock of &onpu_file.ctxs	the contexts' numbers
 *   &onpu_ctx.lock		jobs and state of a context; locks of fences are taken under it
 *   &onpu_ctx_device.lock	contexts that wait for a queue, contexts that have one
 *
 * References to a context are held by the file that created it, by each job that has not ended, by
 * the list of waiting contexts, by its hardware queue, by a dump until it is written, and by its
 * queued work items. @resolve holds none: it has work only while there is a job, which holds a
 * reference. @linger holds none either, lest an idle context outlives its file by
 * &onpu_limits.linger; the release of the context cancels it.
 */
#ifndef ONPU_CTX_H
#define ONPU_CTX_H

#include <linux/dma-fence.h>
#include <linux/sched.h>

#include "onpu_gem.h"

/* Number of entries of a ring. */
#define ONPU_RING_SIZE	256

/* The most entries of the device's VM table that are used; each queue needs at most one. */
#define ONPU_VM_SLOTS	ONPU_MAX_QUEUES

static_assert(ONPU_SUBMIT_MAX_JOBS <= ONPU_RING_SIZE);

/**
 * struct onpu_ctx_device - All contexts of a device.
 */
struct onpu_ctx_device {
	/** @onpu: The device. */
	struct onpu_device *onpu;
	/** @bind_lock: Protects changes of @queues, &onpu_vm.slot, @vm_slots and @all. */
	struct mutex bind_lock;
	/** @all: All contexts. */
	struct list_head all;
	/** @vm_slots: Entries of the VM table in use. */
	DECLARE_BITMAP(vm_slots, ONPU_VM_SLOTS);
	/** @bind: Gives queues to @waiters; delayed while contexts get time to yield theirs. */
	struct delayed_work bind;
	/** @lock: Protects everything below. */
	spinlock_t lock;
	/** @queues: The context on each hardware queue, with a reference. */
	struct onpu_ctx *queues[ONPU_MAX_QUEUES];
	/** @waiters: Contexts that wait for a queue, each with a reference; the oldest first. */
	struct list_head waiters;
	/** @stopped: A reset is under way: the hardware gets no jobs. */
	bool stopped;
	/** @lost: The device is wedged or unplugged. */
	bool lost;
};

/**
 * struct onpu_progress - What shows whether a context's jobs make progress.
 */
struct onpu_progress {
	/** @retired: Instructions that the context's queue has executed. */
	u64 retired;
	/** @cycles: Cycles during which the context's queue was running. */
	u64 cycles;
	/** @completed: Number of the last job that ended. */
	u64 completed;
	/**
	 * @when: The time, in jiffies, when a check last found one of the counters above changed,
	 *	or found that jobs of others run on the device instead, or when the hardware got
	 *	jobs of the context after it had none.
	 */
	unsigned long when;
	/** @moved: Time in jiffies when a counter last changed or the first job became ready. */
	unsigned long moved;
	/** @checks: Number of checks since @when; it does not grow while the host is stopped. */
	unsigned int checks;
};

/**
 * struct onpu_ctx - A context.
 */
struct onpu_ctx {
	/** @ref: References; the top of the file lists the holders. */
	struct kref ref;
	/** @onpu: The device. */
	struct onpu_device *onpu;
	/** @vm: The client's address space, with a reference; @vm has a reference to the device. */
	struct onpu_vm *vm;
	/** @id: The context's number in its file; 0 while it has none. */
	u32 id;
	/** @client: Number of the client that created the context, for dumps. */
	u64 client;
	/** @creator: The process that created the context, for dumps and events. */
	struct onpu_culprit creator;
	/** @priority: One of &enum drm_onpu_priority. */
	u32 priority;
	/** @power: One of &enum drm_onpu_power. */
	u32 power;
	/** @long_running: Jobs of the context may take any time, and signal no syncobj. */
	bool long_running;
	/** @run_cycles: Device cycles that a job may take. */
	u64 run_cycles;
	/** @timeout: Time without progress after which the context is ended, in jiffies. */
	unsigned long timeout;
	/** @check_interval: Time between two checks for hangs, in jiffies. */
	unsigned long check_interval;
	/** @ring: The ring with the entries of jobs. */
	struct onpu_kernel_bo ring;
	/** @page: The completion page. */
	struct onpu_kernel_bo page;
	/** @save: The save area for the state of an interrupted job. */
	struct onpu_kernel_bo save;
	/** @fence_context: Timeline of the jobs' fences. */
	u64 fence_context;
	/** @resolve: Gives jobs to the hardware when a fence that they wait for has signalled. */
	struct work_struct resolve;
	/** @watch: Looks for hangs while there are jobs that are ready or running. */
	struct delayed_work watch;
	/** @end: Takes the queue back from a context that failed or was destroyed. */
	struct work_struct end;
	/** @release: Frees the context. */
	struct work_struct release;
	/** @linger: Keeps the device awake while queued, if the client prefers performance. */
	struct delayed_work linger;
	/** @all_link: Link in &onpu_ctx_device.all. */
	struct list_head all_link;
	/** @wait_link: Link in &onpu_ctx_device.waiters; protected by &onpu_ctx_device.lock. */
	struct list_head wait_link;
	/** @charged: Bytes charged to the user for the context itself, without its buffers. */
	size_t charged;

	/** @lock: Protects everything below. */
	spinlock_t lock;
	/** @jobs: Jobs that were accepted and have not ended, in order. */
	struct list_head jobs;
	/** @queued: Jobs of @jobs that wait for a fence, or come after a job that does. */
	struct list_head queued;
	/** @runnable: Jobs of @jobs that are ready, but not in the ring yet. */
	struct list_head runnable;
	/** @submitted: Number of the last job accepted. */
	u64 submitted;
	/** @fed: Number of the last job given to the hardware. */
	u64 fed;
	/** @completed: Number of the last job that ended. */
	u64 completed;
	/** @cancelled: Number of jobs whose fence has ECANCELED. */
	u64 cancelled;
	/** @cycles: Device cycles of the context's jobs. */
	u64 cycles;
	/** @busy_ns: The context's part of the device's busy time, up to @since. */
	u64 busy_ns;
	/** @since: &onpu_usage.share_ns when the hardware got the context's jobs. */
	u64 since;
	/** @state: One of &enum drm_onpu_ctx_state. */
	u32 state;
	/** @error: The errno that belongs to @state, positive. */
	u32 error;
	/** @fault: The record of the fault that ended the context. */
	struct onpu_fault_record fault;
	/** @queue: The context's hardware queue, or -1. */
	int queue;
	/** @tail: Number of ring entries written since the queue was taken. */
	u32 tail;
	/** @before: Number of the job before the first of the entries that @tail counts. */
	u64 before;
	/** @resume: The save area holds the oldest job, which was interrupted. */
	bool resume;
	/** @in_ring: Number of all entries of the jobs that are in the ring and have not ended. */
	u32 in_ring;
	/** @page_cycles: Device cycles since the queue was taken, as last seen in @page. */
	u64 page_cycles;
	/** @progress: The counters as hang detection saw them last. */
	struct onpu_progress progress;
	/** @bound_at: The time when the context took its queue, in jiffies. */
	unsigned long bound_at;
	/** @waits_since: The time when the context began to wait for a queue, in jiffies. */
	unsigned long waits_since;
	/** @yields_since: The time when @yield was set, in jiffies. */
	unsigned long yields_since;
	/** @yield: The ring gets no more jobs, because the queue is to be taken. */
	bool yield;
	/** @dead: The context takes no more jobs. */
	bool dead;
	/** @destroyed: User space has destroyed the context or closed the file. */
	bool destroyed;
	/** @guilty: A job could not be stopped without a reset; under bind_lock, not @lock. */
	bool guilty;
};

/* The scope is on the path to signalling fences: code in it must not wait for memory. */
DEFINE_LOCK_GUARD_0(onpu_signalling, _T->cookie = dma_fence_begin_signalling(),
		    dma_fence_end_signalling(_T->cookie), bool cookie)

/* Returns whether the hardware has jobs of the context. */
static inline bool onpu_ctx_busy(const struct onpu_ctx *ctx)
{
	return ctx->fed > ctx->completed;
}

/* Copies a failed context's state for a dump, its lock held, before jobs end; allocates nothing. */
void onpu_dump_ctx(struct onpu_ctx *ctx, u32 state, int error);

/* ---- onpu_ctx.c */

/* Returns the client's context with this id, with a reference; NULL if there is none. */
struct onpu_ctx *onpu_ctx_lookup(struct onpu_file *file, u32 id);
struct onpu_ctx *onpu_ctx_get(struct onpu_ctx *ctx);
/* Puts a reference to a context; NULL is allowed. */
void onpu_ctx_put(struct onpu_ctx *ctx);
DEFINE_FREE(onpu_ctx, struct onpu_ctx *, onpu_ctx_put(_T))

/* Ends jobs that the completion page shows as completed; an idle context may lose its queue. */
void onpu_ctx_reap(struct onpu_ctx *ctx);

void onpu_ctx_fail(struct onpu_ctx *ctx, u32 state, int first, int rest);
void onpu_ctx_kill_hung(struct onpu_ctx *ctx);

/*
 * Creates what all contexts of the device share. Called once, before the firmware runs; undone as
 * described at onpu_mmu_init(). Returns 0 or an errno.
 */
int onpu_ctx_init(struct onpu_device *onpu);
void onpu_ctx_file_close(struct onpu_file *file);
/* Ends completed jobs of the context on @queue; called by the interrupt thread. */
void onpu_ctx_irq(struct onpu_device *onpu, unsigned int queue);
/* Fails the context whose queue has faulted, as @event reports; its members are not trusted. */
void onpu_ctx_fault_event(struct onpu_device *onpu, const struct onpu_msg_event_fault *event);
/*
 * onpu_ctx_pre_reset() and onpu_ctx_post_reset() enclose a device reset, with
 * &onpu_device.reset_lock held for writing. onpu_ctx_pre_reset() ends the jobs that the completion
 * pages show as done; from then on the hardware gets no job. onpu_ctx_post_reset() is called when
 * the firmware knows no context (@alive), or when the device is wedged or, without the lock, was
 * unplugged: then all contexts that have not failed before become LOST and all fences signal
 * -ENODEV. Another reset can revive a wedged device, for new contexts.
 */
void onpu_ctx_pre_reset(struct onpu_device *onpu);
/* Called between pre_reset and post_reset: cancels all jobs, whatever becomes of the device. */
void onpu_ctx_cancel_all(struct onpu_device *onpu);
void onpu_ctx_post_reset(struct onpu_device *onpu, bool alive);

/* Ioctls of contexts; SUBMIT is in onpu_submit.c. */
drm_ioctl_t onpu_ctx_create_ioctl, onpu_ctx_destroy_ioctl, onpu_ctx_get_state_ioctl,
	onpu_submit_ioctl;

#endif
