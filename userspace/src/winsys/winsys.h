/* SPDX-License-Identifier: MIT */
/*
 * The interface that carries programs to a device: the DRM driver, the device model in this
 * process, or nothing (tests). It knows buffers, addresses and jobs, but no tensors or operators.
 * run/ calls it; every function may be called from any thread.
 */
#ifndef WNN_WINSYS_H
#define WNN_WINSYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <onpu/registers.h>

#include "util/dmabuf.h"
#include "util/error.h"

/*
 * Device addresses of buffers, where no kernel gives them out: the first 4 GiB stay free, so that a
 * wrong 32-bit address faults, and the upper half is what a driver would keep for itself.
 */
#define WINSYS_VA_FIRST (UINT64_C(1) << 32)
#define WINSYS_VA_END	(UINT64_C(1) << (ONPU_VA_BITS - 1))

/* The capability registers that a compiler needs; raw values from the device. */
struct npu_caps {
	uint32_t sram_bytes;
	uint32_t lanes; /* of the vector unit */
	uint32_t mxu_rows, mxu_cols;
	uint32_t fifo_depth;
	uint32_t dma_bytes_per_cycle;
	uint32_t num_queues;
	uint32_t clock_khz; /* nominal; 0: it has none */
	char machine[32];   /* "onpu-ref1" when capabilities and costs are the named machine's */
	uint32_t max_slots; /* of a job; 0: as many as an operand can name */
	uint32_t isa_major; /* of the instruction set */
};

struct winsys;
struct winsys_ctx;

/* A buffer that host and device share; `map` stays valid until it is destroyed. */
struct winsys_bo {
	struct winsys *ws;
	uint64_t va; /* device address, page aligned */
	size_t size;
	void *map;
};

struct winsys_job {
	uint64_t program_va, slots_va;
	uint32_t num_insns, num_slots;
	uint64_t profile_va, profile_size; /* 0: none */
	uint64_t cycle_limit;		   /* 0: none */
	int wait_file;			   /* sync file that it waits for; 0: none */
};

/* The result of a job. fault_code is enum onpu_fault (0: it completed). */
struct winsys_result {
	uint32_t fault_code;
	uint32_t fault_engine, fault_operand;
	uint64_t fault_pc, fault_address;
	uint64_t cycles;
	/* Valid if has_counters. */
	uint64_t busy[ONPU_ENG_COUNT]; /* cycles, by enum onpu_engine */
	uint64_t macs, bytes_ld, bytes_st;
	bool has_counters;
	/* It was stopped, not by a fault of its own; another context may run it again. */
	bool cancelled;
};

/* Whether speed or power matters more for the jobs of a context. Results do not depend on it. */
enum winsys_power {
	WINSYS_POWER_DEFAULT,
	WINSYS_POWER_LOW,
	WINSYS_POWER_HIGH_PERFORMANCE,
};

struct winsys_ops {
	void (*destroy)(struct winsys *ws);
	/* A buffer whose bytes are all 0. */
	struct winsys_bo *(*bo_create)(struct winsys *ws, size_t size, struct wnn_error *err);
	/*
	 * A buffer over memory that exists already, at any address, and outlives the buffer. NULL:
	 * buffers have memory of their own.
	 */
	struct winsys_bo *(*bo_wrap)(struct winsys *ws, void *map, size_t size,
				     struct wnn_error *err);
	/* A buffer over a dma-buf, which outlives it. NULL: the device cannot import. */
	struct winsys_bo *(*bo_import)(struct winsys *ws, const struct wnn_dmabuf *buffer,
				       struct wnn_error *err);
	/*
	 * Returns a new file descriptor of the buffer's memory as a dma-buf; -1 with *err. NULL:
	 * the device cannot export.
	 */
	int (*bo_export)(struct winsys_bo *bo, struct wnn_error *err);
	void (*bo_destroy)(struct winsys_bo *bo);
	/* The power is a hint, which has no effect where the device never sleeps. */
	struct winsys_ctx *(*ctx_create)(struct winsys *ws, enum winsys_power power,
					 struct wnn_error *err);
	void (*ctx_destroy)(struct winsys_ctx *ctx);
	/* Queues jobs in order, all or nothing; *seqno is the last job's. */
	int (*submit)(struct winsys_ctx *ctx, const struct winsys_job *jobs, uint32_t count,
		      uint64_t *seqno, struct wnn_error *err);
	/*
	 * Waits for the job `seqno`. 0: it ended, *result says how. -1 with *err: timeout or device
	 * lost. UINT64_MAX ns = for ever.
	 */
	int (*wait)(struct winsys_ctx *ctx, uint64_t seqno, uint64_t timeout_ns,
		    struct winsys_result *result, struct wnn_error *err);
	/*
	 * Returns a sync file that signals when the job `seqno` has ended, with the error of its
	 * fault; for seqno 0, one that has signalled. -1 with *err. NULL: there are no fences, and
	 * jobs wait for none.
	 */
	int (*fence)(struct winsys_ctx *ctx, uint64_t seqno, struct wnn_error *err);
};

struct winsys {
	const struct winsys_ops *ops;
	const char *name; /* "sim", "null", "drm" */
	struct npu_caps caps;
	char node[64]; /* path of the device node; "": there is none */
};

struct winsys_sim_config {
	bool full;	      /* firmware, registers and page tables; else flat */
	uint32_t sram_bytes;  /* 0: the named machine's */
	uint32_t threads;     /* host threads of the device model; 0: 1 */
	int simd;	      /* -1: the best the host has; 0: scalar */
	const char *firmware; /* full mode: image path, NULL for the installed one */
};

struct winsys *winsys_sim_create(const struct winsys_sim_config *config, struct wnn_error *err);

/* The NPU behind a device node of the kernel's driver; NULL: the first that opens. */
struct winsys *winsys_drm_create(const char *node, struct wnn_error *err);

/* Accepts everything and computes nothing; counts calls and fails the n-th one on request. */
struct winsys_null_config {
	struct npu_caps caps;
	uint32_t fail_at; /* 1-based call to fail; 0: never */
};

struct winsys *winsys_null_create(const struct winsys_null_config *config, struct wnn_error *err);

#endif
