/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The device and the open file, which all files of the driver share, and the lock order. */
#ifndef ONPU_DEVICE_H
#define ONPU_DEVICE_H

#include <linux/atomic.h>
#include <linux/bitfield.h>
#include <linux/cleanup.h>
#include <linux/io.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/rwsem.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include <drm/drm_device.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/onpu_accel.h>

#include <onpu/registers.h>

#include "onpu_fw.h"
#include "onpu_mbox.h"

/*
 * Lock order, outermost first. Locks of one line are never held at the same time.
 *
 *   device lock of the PCI core		probe, remove, FLR through sysfs, AER, system sleep
 *   pmus_lock (onpu_pmu.c)		PMUs by number; locks of perf are taken under it
 *   locks of perf			while an event is opened, which wakes the device
 *   &onpu_device.reset_lock		write: a reset; read: accesses that no reset may disturb,
 *					such as to the two halves of the clock, and (trylock only)
 *					heartbeat and hang detection
 *   locks of contexts (onpu_ctx.h)
 *   &onpu_file.import_lock		one import at a time; locks of the DRM core come under it
 *   &onpu_bo.lock, &drm_device.object_name_lock	users of a buffer; import and export
 *   &onpu_device.dma_lock		what is mapped for the device; locks of a buffer's exporter
 *					are taken under it
 *   &onpu_vm.lock			addresses and page tables
 *   &onpu_device.users_lock		users
 *   &onpu_mbox.lock			putting one request into its ring
 *   &onpu_mbox.pending_lock, &onpu_usage.lock, &onpu_usage.energy.lock, &onpu_dump.lock,
 *   &onpu_fw.log_lock, &onpu_mmu_device.lock, &onpu_device.time_lock,
 *   pmu_device_lock (onpu_pmu.c)
 *					no lock is taken under these
 *
 * Completion, hang detection and reset must never wait for memory, because fences depend on them.
 * So none of the locks that they take may be held around an allocation that can reclaim. These are
 * &onpu_device.reset_lock, all from &onpu_mbox.lock on, and those that onpu_ctx.h names. Requests
 * to the firmware fail during a reset; onpu_ctx_post_reset() cleans up after them.
 *
 * Hang detection and the driver's own resets of the device run on one ordered queue,
 * &onpu_device.reset_wq, so they never meet each other.
 *
 * Registers may be accessed at any time and from anywhere through onpu_read() and onpu_write():
 * once the device is unplugged they do nothing.
 */

struct onpu_ctx_device;
struct onpu_dump;
struct onpu_mmu_device;
struct onpu_vm;

/* Limits of the interface, reported by DRM_ONPU_DEV_QUERY_INFO. */
#define ONPU_SUBMIT_MAX_JOBS	256
#define ONPU_SUBMIT_MAX_SYNCS	64
#define ONPU_MAX_QUEUED_JOBS	1024
#define ONPU_VA_START		SZ_1M

/**
 * struct onpu_limits - Limits of clients and contexts, from the module parameters, clamped.
 */
struct onpu_limits {
	/** @memory: Bytes that a user may have, see onpu_user.c. */
	u64 memory;
	/** @all_memory: Bytes that all users of all devices may have together. */
	u64 all_memory;
	/** @contexts: Contexts that a client may have. */
	u32 contexts;
	/** @user_contexts: Contexts that a user may have in all clients. */
	u32 user_contexts;
	/** @timeout_ms: Timeout of a context that asks for none. */
	u32 timeout_ms;
	/** @max_timeout_ms: Longest timeout that a context may ask for. */
	u32 max_timeout_ms;
	/** @run_cycles: Device cycles that a job may take. */
	u64 run_cycles;
	/** @wait: Time that a job may wait while others run, in jiffies. */
	unsigned long wait;
	/**
	 * @fence: Time in jiffies after which the driver ends a job that was ready, as others may
	 * wait for its fence. It does not apply to long-running contexts.
	 */
	unsigned long fence;
	/** @linger: Time that an idle context keeps the device awake, in jiffies. */
	unsigned long linger;
};

/**
 * struct onpu_usage - Counters of what the device has done since the driver was bound.
 */
struct onpu_usage {
	/** @lock: Protects @running, @since, @busy_ns, @share_ns and &onpu_vm.usage. */
	spinlock_t lock;
	/** @running: Number of contexts whose jobs the hardware has. */
	unsigned int running;
	/** @since: The time when @running last changed. */
	ktime_t since;
	/** @busy_ns: Time with @running above zero, up to @since. */
	u64 busy_ns;
	/**
	 * @share_ns: The part of @busy_ns that a context would have if the hardware had its jobs
	 *	all the time: each moment is divided evenly among @running contexts.
	 */
	u64 share_ns;
	/** @jobs: Number of jobs that have ended, with success or an error. */
	atomic64_t jobs;
	/** @failed_jobs: Number of the ended jobs whose fence has an error. */
	atomic64_t failed_jobs;
	/** @memory: Bytes in buffers, those of contexts included. */
	atomic64_t memory;
	/** @energy: Picojoules and, as @energy.power, microwatts for hwmon; see onpu_sysfs.c. */
	struct {
		spinlock_t lock; /* protects the members below */
		u64 total, counter; /* @counter: the device's own total when it was last read */
		u64 power, before; /* @before: @total at @since, where averaging began */
		ktime_t since;
	} energy;
};

/**
 * enum onpu_dev_state - Whether the device can be used.
 */
enum onpu_dev_state {
	/** @ONPU_DEV_UP: The firmware runs, or a reset is about to make it run again. */
	ONPU_DEV_UP,
	/** @ONPU_DEV_WEDGED: Resets did not help, or the device does not answer any more. */
	ONPU_DEV_WEDGED,
	/** @ONPU_DEV_GONE: The driver was unbound from the device. */
	ONPU_DEV_GONE,
};

/**
 * enum onpu_reset_reason - Why the driver resets the device.
 *
 * The reasons from &ONPU_RESET_FW_FAILED on are errors of the firmware that clients cannot cause;
 * fw_resets_exhausted() in onpu_reset.c counts them.
 */
enum onpu_reset_reason {
	/** @ONPU_RESET_NONE: No reset is asked for. */
	ONPU_RESET_NONE,
	/** @ONPU_RESET_ABSENT: Registers of the device read as all ones. */
	ONPU_RESET_ABSENT,
	/** @ONPU_RESET_BUS: The PCI core has reported an error. */
	ONPU_RESET_BUS,
	/** @ONPU_RESET_EXTERNAL: The device was reset, but not by the driver. */
	ONPU_RESET_EXTERNAL,
	/** @ONPU_RESET_INVALIDATION: An invalidation was not answered. */
	ONPU_RESET_INVALIDATION,
	/** @ONPU_RESET_KILL: A context could not be killed, or did not give up its queue. */
	ONPU_RESET_KILL,
	/** @ONPU_RESET_TIMEOUT: The firmware did not answer; a busy device may look like that. */
	ONPU_RESET_TIMEOUT,
	/** @ONPU_RESET_FW_FAILED: The firmware reports a failure, or its core has stopped. */
	ONPU_RESET_FW_FAILED,
	/** @ONPU_RESET_FW_PROTOCOL: The firmware broke the protocol of the mailbox. */
	ONPU_RESET_FW_PROTOCOL,
	/** @ONPU_RESET_FW_REFUSES: The firmware refused a valid request. */
	ONPU_RESET_FW_REFUSES,
};

/* A process that dumps and events name; there is none if @comm is empty. */
struct onpu_culprit {
	pid_t pid;
	char comm[TASK_COMM_LEN];
};

/**
 * struct onpu_device - One NPU.
 */
struct onpu_device {
	/** @drm: The DRM device; holds the memory of this structure. */
	struct drm_device drm;
	/** @pdev: The PCI function. */
	struct pci_dev *pdev;
	/** @regs: BAR0; use onpu_read() and onpu_write(). */
	void __iomem *regs;
	/** @caps: The CAP block as &struct drm_onpu_caps has it, read at probe; see onpu_cap(). */
	u32 caps[sizeof(struct drm_onpu_caps) / sizeof(u32)];
	/** @limits: Limits of clients and contexts. */
	struct onpu_limits limits;
	/** @snoops: The device snoops the CPU's caches. */
	bool snoops;
	/** @bounces: A buffer may be mapped as a copy, which only syncs bring up to date. */
	bool bounces;

	/** @vectors: A pointer to this device for each interrupt vector, by the vector's number. */
	struct onpu_device **vectors;
	/** @num_vectors: Vectors in use; with 1, vector 0 also signals completions. */
	unsigned int num_vectors;

	/** @mbox: The mailbox. */
	struct onpu_mbox mbox;
	/** @fw: The firmware's image, log and heartbeat. */
	struct onpu_fw fw;
	/** @usage: Counters over all clients. */
	struct onpu_usage usage;
	/** @dump: State of core dumps; private to onpu_dump.c. */
	struct onpu_dump *dump;
	/** @num_counters: Number of the registers COUNTER that driver and device have. */
	u32 num_counters;
	/** @fail_request: For tests: the next request of this type fails with EIO. */
	u32 fail_request;
	/** @lose_invalidations: For tests: this many invalidations are not requested. */
	u32 lose_invalidations;

	/** @dma_lock: Protects @bos and &onpu_mmu_device.vms; an unplug waits while they grow. */
	struct mutex dma_lock;
	/** @bos: Buffers, by &onpu_bo.link. */
	struct list_head bos;
	/** @users_lock: Protects @users. */
	struct mutex users_lock;
	/** @users: Users with open files, buffers or strikes, by &onpu_user.link. */
	struct list_head users;
	/** @mmu: Address spaces, their numbers, invalidations; private to onpu_mmu.c. */
	struct onpu_mmu_device *mmu;
	/** @ctx: Hardware queues and the contexts on them; defined in onpu_ctx.h. */
	struct onpu_ctx_device *ctx;

	/** @state: One of &enum onpu_dev_state; written with @reset_lock held for writing. */
	enum onpu_dev_state state;
	/** @in_reset: A reset is under way, or the device sleeps: it need not answer. */
	bool in_reset;
	/** @asleep: The device is powered off; written with @reset_lock held for writing. */
	bool asleep;
	/** @quarantine: Memory the device knows is kept, see leave_bus(); locked as @asleep. */
	bool quarantine;
	/** @reset_lock: Held for writing during a reset; see the lock order above. */
	struct rw_semaphore reset_lock;
	/** @wq: For work that fences depend on: it makes progress when memory is short. */
	struct workqueue_struct *wq;
	/** @reset_wq: Ordered queue for resets of the device and detection of hangs. */
	struct workqueue_struct *reset_wq;
	/** @reset_work: Resets the device. */
	struct work_struct reset_work;
	/** @event_work: Tells udev that the device was reset or is wedged. */
	struct work_struct event_work;
	/** @culprit: The process whose job made a reset necessary; under bind_lock. */
	struct onpu_culprit culprit;
	/** @quarantine_work: Checks whether @quarantine can end. */
	struct delayed_work quarantine_work;
	/** @config: PCI configuration space as it was before bus mastering was switched on. */
	struct pci_saved_state *config;
	/** @reset_reason: The first reason for @reset_work, one of &enum onpu_reset_reason. */
	unsigned int reset_reason;
	/** @fw_resets: Number of resets in a row for errors of the firmware; under @reset_lock. */
	unsigned int fw_resets;
	/** @fw_reset_at: The time of the last reset that @fw_resets counts, in jiffies. */
	unsigned long fw_reset_at;
	/** @fw_reset_jobs: Number of jobs that had succeeded when that reset began. */
	u64 fw_reset_jobs;
	/** @resets: Number of resets of the whole device. */
	atomic_t resets;
	/** @time_lock: Keeps the two halves of the device clock together. */
	spinlock_t time_lock;
};

/**
 * struct onpu_file - One client, a file opened on the device.
 */
struct onpu_file {
	/** @onpu: The device. */
	struct onpu_device *onpu;
	/** @drm: The file of the DRM core. */
	struct drm_file *drm;
	/** @vm: The client's address space. */
	struct onpu_vm *vm;
	/** @ctxs: The client's contexts by number; owned by onpu_ctx.c. */
	struct xarray ctxs;
	/** @import_lock: Serializes imports, as an import may have to take a new handle back. */
	struct mutex import_lock;
	/** @memory: Bytes in buffers that this client has handles of; owned by onpu_gem.c. */
	atomic64_t memory;
};

static inline struct onpu_device *to_onpu(struct drm_device *drm)
{
	return container_of(drm, struct onpu_device, drm);
}

static inline struct onpu_file *to_onpu_file(struct drm_file *file)
{
	return file->driver_priv;
}

/* Returns whether the device and the CPU see each other's writes to all buffers without syncs. */
static inline bool onpu_coherent(const struct onpu_device *onpu)
{
	return onpu->snoops && !onpu->bounces;
}

/* Returns the value of a register of the CAP block, as it was read at probe. */
static inline u32 onpu_cap(const struct onpu_device *onpu, u32 reg)
{
	return onpu->caps[(reg - ONPU_REG_CAP_MACHINE) / 4];
}

/* Returns the first address above user buffers, from which on addresses are the kernel's. */
static inline u64 onpu_va_end(const struct onpu_device *onpu)
{
	return BIT_ULL(FIELD_GET(ONPU_CAP_ADDRESS_VA_BITS__MASK,
				 onpu_cap(onpu, ONPU_REG_CAP_ADDRESS)) - 1);
}

/*
 * The device is not unplugged while the object is in scope. The value of the object is -ENODEV if
 * the device is unplugged already.
 */
DEFINE_CLASS(onpu_entered, int, _T < 0 ? (void)0 : drm_dev_exit(_T),
	     ({ int idx; drm_dev_enter(drm, &idx) ? idx : -ENODEV; }), struct drm_device *drm)

/* ---- onpu_device.c: registers, counters */

/* Returns a register's value; all ones if the device is gone or unplugged. */
u32 onpu_read(struct onpu_device *onpu, u32 reg);
/* Write one register, or two that form 64 bits; nothing happens if the device is unplugged. */
void onpu_write(struct onpu_device *onpu, u32 reg, u32 value);
void onpu_write64(struct onpu_device *onpu, u32 reg_lo, u64 value);
/* Reads a register COUNTER to *@value; returns false if the device is gone, in reset or asleep. */
bool onpu_read_counter(struct onpu_device *onpu, u64 counter, u64 *value);
bool onpu_device_present(struct onpu_device *onpu);

/*
 * Returns the number of the vector that signals completions of a queue. It is 0 if there is but one
 * vector; its handler finds the queue in INT_QUEUE_PENDING.
 */
static inline u32 onpu_queue_vector(const struct onpu_device *onpu, unsigned int queue)
{
	return onpu->num_vectors > 1 ? 1 + queue % (onpu->num_vectors - 1) : 0;
}

/*
 * onpu_usage_begin() is called when the hardware gets the first job of a context of @vm,
 * onpu_usage_end() when it has no job of that context any more, both with &onpu_ctx.lock held. They
 * measure the busy time and return &onpu_usage.share_ns; onpu_usage_begin() also starts the
 * heartbeat. They do not count &onpu_usage.jobs and failed_jobs: end_job() does, for jobs that
 * never ran as well.
 */
u64 onpu_usage_begin(struct onpu_vm *vm);
u64 onpu_usage_end(struct onpu_vm *vm);
/* Return &onpu_usage.busy_ns and &onpu_usage.share_ns as of now. */
u64 onpu_usage_busy_ns(struct onpu_device *onpu);
u64 onpu_usage_share_ns(struct onpu_device *onpu);
/* Returns the part of the busy time that all contexts of an address space had. */
u64 onpu_usage_vm_ns(struct onpu_vm *vm);

/* ---- onpu_reset.c */

void onpu_device_reset_async(struct onpu_device *onpu, enum onpu_reset_reason reason);
/* Asks for a reset for an error of the firmware; false: somebody else has reset the device. */
bool onpu_fw_reset_async(struct onpu_device *onpu, enum onpu_reset_reason reason);

/* Returns whether ioctls are to be refused: the device is unplugged or wedged. */
static inline bool onpu_device_lost(struct onpu_device *onpu)
{
	return READ_ONCE(onpu->state) != ONPU_DEV_UP;
}

#endif
