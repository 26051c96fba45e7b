/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Contexts: their state, the hardware queues that they take turns on, how they end.
 *
 * Locks, outermost first, below those of onpu_device.h:
 *
 *   &onpu_ctx_device.bind_lock	who has which hardware queue; held around requests to the firmware,
 *				never around an allocation
 *   xa_lock of &onpu_file.ctxs	the contexts' numbers
 *   &onpu_ctx.lock		jobs and state of a context; locks of fences are taken under it
 *   &onpu_ctx_device.lock	contexts that wait for a queue, contexts that have one
 *
 * References to a context are held by the file that created it, by each job that has not ended, by
 * its hardware queue and by its work that is queued, except for @resolve: there is nothing to do
 * for that without a job.
 */
#ifndef ONPU_CTX_H
#define ONPU_CTX_H

#include <linux/dma-fence.h>
#include <linux/sched.h>

#include "onpu_gem.h"

/* Entries of a ring. */
#define ONPU_RING_SIZE	256

/* Entries of the VM table that are used; each queue needs one at most. */
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
	/** @bind: Gives queues to @waiters; with a delay, takes those that must be given up. */
	struct delayed_work bind;
	/** @lock: Protects everything below. */
	spinlock_t lock;
	/** @queues: Context on each hardware queue, with a reference. */
	struct onpu_ctx *queues[ONPU_MAX_QUEUES];
	/** @waiters: Contexts that need a queue, with a reference, in the order of their coming. */
	struct list_head waiters;
	/** @stopped: A reset is under way, the hardware gets no jobs. */
	bool stopped;
	/** @lost: The device is wedged or unplugged. */
	bool lost;
};

/**
 * struct onpu_progress - What shows whether a context's jobs make progress.
 */
struct onpu_progress {
	/** @retired: Instructions that its queue has executed. */
	u64 retired;
	/** @cycles: Cycles during which its queue was running. */
	u64 cycles;
	/** @completed: Number of the last job that ended. */
	u64 completed;
	/**
	 * @when: When a check last found one of them changed, or others running on the device
	 * instead, in jiffies.
	 */
	unsigned long when;
	/** @moved: When a check last found one of them changed, or the first job became ready. */
	unsigned long moved;
	/** @checks: Checks since then: a host that was stopped for a while has made only one. */
	unsigned int checks;
};

/**
 * struct onpu_ctx - A context.
 */
struct onpu_ctx {
	/** @ref: See the top of the file. */
	struct kref ref;
	/** @onpu: The device. */
	struct onpu_device *onpu;
	/** @vm: The client's address space, with a reference; it has one to the device. */
	struct onpu_vm *vm;
	/** @id: Its number among the client's; 0 while it has none. */
	u32 id;
	/** @client: Number of the client, @pid and @comm the process that created it; for dumps. */
	u64 client;
	/** @pid: See @client. */
	pid_t pid;
	/** @comm: See @client. */
	char comm[TASK_COMM_LEN];
	/** @priority: One of &enum drm_onpu_priority. */
	u32 priority;
	/** @power: One of &enum drm_onpu_power. */
	u32 power;
	/** @timeout: Time without progress, in jiffies. */
	unsigned long timeout;
	/** @ring: Ring of entries. */
	struct onpu_kernel_bo ring;
	/** @page: Completion page. */
	struct onpu_kernel_bo page;
	/** @save: Save area. */
	struct onpu_kernel_bo save;
	/** @fence_context: Timeline of the jobs' fences. */
	u64 fence_context;
	/** @resolve: Feeds jobs when a fence has signalled that they wait for. */
	struct work_struct resolve;
	/** @watch: Looks for hangs as long as there are jobs that are ready or running. */
	struct delayed_work watch;
	/** @end: Takes the queue back from a context that failed or was destroyed. */
	struct work_struct end;
	/** @release: Frees the context. */
	struct work_struct release;
	/** @linger: While it is queued, the device is awake, as the user prefers performance. */
	struct delayed_work linger;
	/** @all_link: In &onpu_ctx_device.all. */
	struct list_head all_link;
	/** @wait_link: In &onpu_ctx_device.waiters; protected by its lock. */
	struct list_head wait_link;
	/** @charged: Bytes charged to the user beside those of the buffers. */
	size_t charged;

	/** @lock: Protects everything below. */
	spinlock_t lock;
	/** @jobs: Jobs accepted and not ended, in order. */
	struct list_head jobs;
	/** @queued: Those of @jobs that wait for a fence, or come after one that does. */
	struct list_head queued;
	/** @runnable: Those of @jobs that are ready, but not in the ring yet. */
	struct list_head runnable;
	/** @submitted: Number of the last job accepted. */
	u64 submitted;
	/** @fed: Number of the last job given to the hardware. */
	u64 fed;
	/** @completed: Number of the last job that ended. */
	u64 completed;
	/** @cancelled: Jobs whose fence has ECANCELED. */
	u64 cancelled;
	/** @cycles: Device cycles of its jobs. */
	u64 cycles;
	/** @busy_ns: Host time of its jobs, up to @since. */
	u64 busy_ns;
	/** @since: When the job at the hardware began, as far as is known. */
	ktime_t since;
	/** @state: One of &enum drm_onpu_ctx_state. */
	u32 state;
	/** @error: The errno that belongs to @state, positive. */
	u32 error;
	/** @fault: Fault record. */
	struct onpu_fault_record fault;
	/** @queue: Hardware queue, or -1. */
	int queue;
	/** @tail: Ring entries written since the queue was taken. */
	u32 tail;
	/** @before: Number of the job before the first of these entries. */
	u64 before;
	/** @resume: The save area holds the oldest job, which was interrupted. */
	bool resume;
	/** @in_ring: Those of these entries whose jobs have not ended. */
	u32 in_ring;
	/** @page_cycles: Device cycles since the queue was taken, as last seen in @page. */
	u64 page_cycles;
	/** @progress: As hang detection saw it last. */
	struct onpu_progress progress;
	/** @bound_at: When it took its queue, in jiffies. */
	unsigned long bound_at;
	/** @waits_since: When it began to wait for a queue, in jiffies. */
	unsigned long waits_since;
	/** @yields_since: When @yield was set, in jiffies. */
	unsigned long yields_since;
	/** @yield: It gets no more jobs into its ring and loses the queue once those have ended. */
	bool yield;
	/** @dead: It takes no more jobs. */
	bool dead;
	/** @destroyed: User space has given it up. */
	bool destroyed;
	/** @guilty: It could not be killed, which made a reset necessary. */
	bool guilty;
};

/* Around what fences depend on: it must not wait for memory. */
DEFINE_LOCK_GUARD_0(onpu_signalling, _T->cookie = dma_fence_begin_signalling(),
		    dma_fence_end_signalling(_T->cookie), bool cookie)

/* Whether the hardware has jobs of the context. */
static inline bool onpu_ctx_busy(const struct onpu_ctx *ctx)
{
	return ctx->fed > ctx->completed;
}

/*
 * Keep a failure for a dump (onpu_dump.c), with the lock held, before jobs end. Allocates nothing.
 */
void onpu_dump_ctx(struct onpu_ctx *ctx, u32 state, int error);

/* ---- onpu_ctx.c */

struct onpu_ctx *onpu_ctx_lookup(struct onpu_file *file, u32 id);
struct onpu_ctx *onpu_ctx_get(struct onpu_ctx *ctx);
/* Put a reference; NULL is allowed. */
void onpu_ctx_put(struct onpu_ctx *ctx);
DEFINE_FREE(onpu_ctx, struct onpu_ctx *, onpu_ctx_put(_T))

/* Signal jobs that have completed; if the context is idle then, others may get its queue. */
void onpu_ctx_reap(struct onpu_ctx *ctx);

void onpu_ctx_fail(struct onpu_ctx *ctx, u32 state, int first, int rest);
void onpu_ctx_kill_hung(struct onpu_ctx *ctx);

/* Called once, before the firmware runs; undone as onpu_mmu_init() is. */
int onpu_ctx_init(struct onpu_device *onpu);
void onpu_ctx_file_close(struct onpu_file *file);
/* Host time and device cycles of all jobs of a client, destroyed contexts included. */
void onpu_ctx_file_usage(struct onpu_file *file, u64 *busy_ns, u64 *cycles);
/* A queue may have completed jobs; threaded interrupt. Cheap for a queue that has not. */
void onpu_ctx_irq(struct onpu_device *onpu, unsigned int queue);
/* The firmware says that a queue has faulted; its members are not to be trusted. */
void onpu_ctx_fault_event(struct onpu_device *onpu, const struct onpu_msg_event_fault *event);
/*
 * Around a device reset, with &onpu_device.reset_lock held for writing. Before: no job is given to
 * the hardware any more, and jobs that the completion pages say have ended count as done. After:
 * the firmware knows no context (@alive), or the device is wedged: all contexts become LOST, all
 * fences signal -ENODEV. Another reset can revive a wedged device, for new contexts. Also at the
 * unplug, with @alive false.
 */
void onpu_ctx_pre_reset(struct onpu_device *onpu);
/* In between: cancel all jobs at once, whatever becomes of the device. */
void onpu_ctx_cancel_all(struct onpu_device *onpu);
void onpu_ctx_post_reset(struct onpu_device *onpu, bool alive);

/* Ioctls of contexts; SUBMIT is in onpu_submit.c. */
drm_ioctl_t onpu_ctx_create_ioctl, onpu_ctx_destroy_ioctl, onpu_ctx_get_state_ioctl,
	onpu_submit_ioctl;

#endif
