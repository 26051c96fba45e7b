/* SPDX-License-Identifier: MIT */
/*
 * The device of a context: an NPU that a winsys gives access to, or no NPU, and the CPU. All
 * functions run on the thread that runs the context's timeline.
 */
#ifndef WNN_RUN_DEVICE_H
#define WNN_RUN_DEVICE_H

#include "cpu/cpu.h"
#include "run/heap.h"
#include "run/pool.h"
#include "util/log.h"
#include "winsys/winsys.h"

struct run_job;

struct run_device {
	struct winsys *ws; /* NULL: CPU only */
	struct winsys_ctx *ctx;
	struct cpu_context *cpu;
	struct run_heap heap;
	struct run_pool pool;
	const struct wnn_log *log;
	bool profile;		       /* whether jobs record when their instructions run */
	enum winsys_power power;       /* the power of ctx, and of each context that replaces it */
	struct run_job *first, **last; /* submitted jobs that nobody has waited for, oldest first */
	int wait_file;		       /* sync file for which the next job waits; 0: none */
	/* Whether a wait for a sync file is not needed any more; NULL: waits are always needed. */
	bool (*cancelled)(void *);
	void *userdata; /* argument of cancelled() */
	/*
	 * Whether the device is given up for good, as lost_error says: it is gone, was reset too
	 * often, or gave no new context.
	 */
	bool lost;
	struct wnn_error lost_error;
};

/* A job of the device. It belongs to the caller that submits it until done() runs. */
struct run_job {
	struct run_job *next;
	struct winsys_job desc;
	uint64_t seqno;
	/*
	 * Called when the job has ended; @err is NULL. When the device is lost before the job has
	 * ended, @result is NULL and *err says why.
	 */
	void (*done)(struct run_job *job, const struct winsys_result *result,
		     const struct wnn_error *err);
};

/**
 * run_device_init - make a device usable
 * @device: zeroed, but for heap.allocator, heap.limit, log, profile, power, cancelled and userdata
 * @ws: the winsys, taken over in any case; NULL: CPU only
 * @threads: of the CPU back end; 0: as many as processors that the calling thread may run on
 *
 * Returns 0 or -1. After a failure only run_device_exit() may be called, and it must be called.
 */
int run_device_init(struct run_device *device, struct winsys *ws, unsigned int threads,
		    struct wnn_error *err);
void run_device_exit(struct run_device *device);

/*
 * Queues a job whose members desc and done are filled in. Returns 0, or -1 with *err; done() does
 * not run then.
 */
int run_device_submit(struct run_device *device, struct run_job *job, struct wnn_error *err);

/* Waits for the oldest job and runs its done(); false when there is none. */
bool run_device_wait_one(struct run_device *device);

/* Waits for all jobs. */
void run_device_drain(struct run_device *device);

/*
 * Waits for all jobs, and for the sync files that further jobs would have waited for: after that
 * the CPU may use every buffer.
 */
void run_device_settle(struct run_device *device);

/*
 * Makes later work wait for a sync file, which is taken over in any case. Jobs wait if the device
 * has fences; else this call waits. Returns 0, or -1 with *err.
 */
int run_device_wait_file(struct run_device *device, int file, struct wnn_error *err);

/*
 * Returns a sync file that signals when all work that was queued before the call has ended; -1 with
 * *err. On a device that has no fences or is lost, the function waits until that work has ended.
 */
int run_device_fence(struct run_device *device, struct wnn_error *err);

#endif
