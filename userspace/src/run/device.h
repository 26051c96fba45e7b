/* SPDX-License-Identifier: MIT */
/*
 * The device of a context: an NPU behind a winsys, or none, and the CPU beside it. All functions
 * run on the thread of the context's timeline, unless said otherwise.
 */
#ifndef WNN_RUN_DEVICE_H
#define WNN_RUN_DEVICE_H

#include "cpu/cpu.h"
#include "run/heap.h"
#include "util/log.h"
#include "winsys/winsys.h"

struct run_job;

struct run_device {
	struct winsys *ws; /* NULL: CPU only */
	struct winsys_ctx *ctx;
	struct cpu_context *cpu;
	struct run_heap heap;
	const struct wnn_log *log;
	bool profile;		       /* programs note when their instructions run */
	enum winsys_power power;       /* the power of ctx, and of each context that replaces it */
	struct run_job *first, **last; /* submitted, not waited for; oldest first */
	int wait_file;		       /* sync file that the next job waits for; 0: none */
	/* Whether the wait is no longer needed; NULL: it always is. */
	bool (*cancelled)(void *);
	void *userdata; /* of cancelled */
	bool lost;	/* the device no longer answers */
	struct wnn_error lost_error;
};

/* A job of the device; belongs to whoever submits it, until done() runs. */
struct run_job {
	struct run_job *next;
	struct winsys_job desc;
	uint64_t seqno;
	/* @result is NULL, and *err says why, when the job never ran: the device is lost. */
	void (*done)(struct run_job *job, const struct winsys_result *result,
		     const struct wnn_error *err);
};

/**
 * run_device_init - make a device usable
 * @device: zeroed, but for heap.allocator, heap.limit, log, profile, power and cancelled
 * @ws: the winsys, taken over in any case; NULL: CPU only
 * @threads: of the CPU back end; 0: as many as processors
 *
 * After a failure only run_device_exit() may be called, which is needed then as well.
 */
int run_device_init(struct run_device *device, struct winsys *ws, unsigned int threads,
		    struct wnn_error *err);
void run_device_exit(struct run_device *device);

/* Queues one job, whose desc and done are filled in. On error done() does not run. */
int run_device_submit(struct run_device *device, struct run_job *job, struct wnn_error *err);

/* Waits for the oldest job and runs its done(); false when there is none. */
bool run_device_wait_one(struct run_device *device);

/* Waits for all jobs. */
void run_device_drain(struct run_device *device);

/*
 * run_device_drain(), and waits for the sync files that jobs would have waited for: then the CPU
 * may touch every buffer.
 */
void run_device_settle(struct run_device *device);

/*
 * Makes later work wait for the sync file, which is taken over in any case: jobs of a device that
 * has fences wait; without fences this call waits.
 */
int run_device_wait_file(struct run_device *device, int file, struct wnn_error *err);

/*
 * Returns a sync file that signals when all work until here has ended; -1 with *err. Without fences
 * the work has ended when this returns.
 */
int run_device_fence(struct run_device *device, struct wnn_error *err);

#endif
