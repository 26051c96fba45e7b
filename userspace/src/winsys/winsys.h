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

#include <onpu/machines.h>
#include <onpu/registers.h>

#include "util/dmabuf.h"
#include "util/error.h"

/*
 * The range of device addresses of buffers when no kernel assigns them. The first 4 GiB stay free,
 * so that a wrong 32-bit address faults; a driver would use the upper half for itself.
 */
#define WINSYS_VA_FIRST (UINT64_C(1) << 32)
#define WINSYS_VA_END	(UINT64_C(1) << (ONPU_VA_BITS - 1))

/* The capabilities of a device that the compiler needs, as its registers have them. */
struct npu_caps {
	uint32_t sram_bytes;
	uint32_t lanes; /* lanes of the vector unit */
	uint32_t mxu_rows, mxu_cols;
	uint32_t features; /* value of the register CAP_FEATURES */
	uint32_t fifo_depth;
	uint32_t dma_bytes_per_cycle;
	uint32_t num_queues;
	uint32_t clock_khz; /* nominal frequency; 0: it has none */
	char machine[32];   /* name of the machine; "onpu-custom": no machine has these sizes */
	uint32_t max_slots; /* the most slots of a job; 0: as many as an operand can name */
	uint32_t isa_major; /* major version of the instruction set */
};

/*
 * Returns how many more forms than ROWS x COLS the matrix array has in each direction (more rows,
 * or more columns): see #forms of isa.xml.
 */
static inline uint32_t npu_mxu_forms(const struct npu_caps *caps)
{
	return (caps->features & ONPU_CAP_FEATURES_MXU_FORMS__MASK) >>
	       ONPU_CAP_FEATURES_MXU_FORMS__SHIFT;
}

/* Returns the factor of an instruction (enum onpu_op) on this machine: see #cost of isa.xml. */
static inline unsigned int npu_factor(const struct npu_caps *caps, unsigned int op)
{
	return onpu_machine_factors(caps->features)[op];
}

struct winsys;
struct winsys_ctx;

/* A buffer that host and device share; `map` stays valid until the buffer is destroyed. */
struct winsys_bo {
	struct winsys *ws;
	uint64_t va; /* device address; page aligned, unless the buffer wraps other memory */
	size_t size;
	void *map;
};

struct winsys_job {
	uint64_t program_va, slots_va;
	uint32_t num_insns, num_slots;
	uint64_t profile_va, profile_size; /* buffer for profile records; 0: none */
	uint64_t cycle_limit;		   /* the most cycles that the job may take; 0: no limit */
	int wait_file;			   /* sync file that the job waits for; 0: none */
};

/* The result of a job; fault_code is enum onpu_fault, 0 when the job completed. */
struct winsys_result {
	uint32_t fault_code;
	uint32_t fault_engine, fault_operand;
	uint64_t fault_pc, fault_address;
	uint64_t cycles;
	/* The counters are valid if has_counters is set. */
	uint64_t busy[ONPU_ENG_COUNT]; /* cycles, by enum onpu_engine */
	uint64_t macs, bytes_ld, bytes_st;
	bool has_counters;
	/* The job was stopped without a fault of its own; another context may run it again. */
	bool cancelled;
};

/* A hint whether speed or power matters more for the jobs of a context; results do not change. */
enum winsys_power {
	WINSYS_POWER_DEFAULT,
	WINSYS_POWER_LOW,
	WINSYS_POWER_HIGH_PERFORMANCE,
};

struct winsys_ops {
	void (*destroy)(struct winsys *ws);
	/* Creates a buffer whose bytes are all 0; NULL with *err. */
	struct winsys_bo *(*bo_create)(struct winsys *ws, size_t size, struct wnn_error *err);
	/*
	 * Creates *bo over memory at any host address, which outlives the buffer; jobs write it
	 * only if @writes. Sets *bo to NULL when the device cannot use this memory. Returns 0, or
	 * -1 with *err. The member is NULL when buffers must have memory of their own.
	 */
	int (*bo_wrap)(struct winsys *ws, void *map, size_t size, bool writes,
		       struct winsys_bo **bo, struct wnn_error *err);
	/*
	 * Creates a buffer over a dma-buf, which outlives the buffer; NULL with *err. The member is
	 * NULL when the device cannot import.
	 */
	struct winsys_bo *(*bo_import)(struct winsys *ws, const struct wnn_dmabuf *buffer,
				       struct wnn_error *err);
	/*
	 * Returns a new file descriptor of the buffer's memory as a dma-buf; -1 with *err. The
	 * member is NULL when the device cannot export.
	 */
	int (*bo_export)(struct winsys_bo *bo, struct wnn_error *err);
	void (*bo_destroy)(struct winsys_bo *bo);
	/*
	 * Syncs a range of a buffer that is not imported: with @for_device after the processor has
	 * written it and before jobs that read it are submitted, else after jobs that write it have
	 * ended and before the processor reads it. The member is NULL when this is not needed.
	 */
	void (*bo_sync)(struct winsys_bo *bo, size_t offset, size_t size, bool for_device);
	/*
	 * Creates a context; NULL with *err. `power` has no effect on a device that never sleeps.
	 */
	struct winsys_ctx *(*ctx_create)(struct winsys *ws, enum winsys_power power,
					 struct wnn_error *err);
	void (*ctx_destroy)(struct winsys_ctx *ctx);
	/*
	 * Queues jobs in order, all or none, and sets *seqno to the number of the last one. Returns
	 * 0, or -1 with *err.
	 */
	int (*submit)(struct winsys_ctx *ctx, const struct winsys_job *jobs, uint32_t count,
		      uint64_t *seqno, struct wnn_error *err);
	/*
	 * Waits until job `seqno` has ended, at most timeout_ns (UINT64_MAX: for ever). Returns 0:
	 * the job ended, and *result says how; -1 with *err: the job did not end in time, or the
	 * device is lost.
	 */
	int (*wait)(struct winsys_ctx *ctx, uint64_t seqno, uint64_t timeout_ns,
		    struct winsys_result *result, struct wnn_error *err);
	/*
	 * Returns a sync file that signals when job `seqno` has ended, with an error if the job
	 * faulted; for seqno 0, a sync file that has signalled. -1 with *err. The member is NULL
	 * when the device has no fences; its jobs wait for none, either.
	 */
	int (*fence)(struct winsys_ctx *ctx, uint64_t seqno, struct wnn_error *err);
};

struct winsys {
	const struct winsys_ops *ops;
	const char *name; /* the kind of device: "sim", "null" or "drm" */
	struct npu_caps caps;
	char node[64]; /* path of the device node; "": there is none */
};

struct winsys_sim_config {
	bool full;	      /* full mode, with firmware, registers and page tables; else flat */
	const char *machine;  /* name of the machine; NULL: the default one */
	uint32_t sram_bytes;  /* 0: that of the machine */
	uint32_t threads;     /* host threads of the device model; 0: one */
	int simd;	      /* SIMD level; -1: the best of the host; 0: scalar */
	const char *firmware; /* full mode: path of the image; NULL: the installed one */
};

struct winsys *winsys_sim_create(const struct winsys_sim_config *config, struct wnn_error *err);

#define WINSYS_NODE "/dev/accel/accel%u" /* the node of the NPU with this number */

/*
 * Opens the NPU behind a device node; node NULL: the first node that opens. NULL with *err. @spin:
 * the microseconds for which a wait looks at the completion page before it sleeps; contexts that
 * save energy sleep at once.
 */
struct winsys *winsys_drm_create(const char *node, uint32_t spin, struct wnn_error *err);

/* Returns the lowest number from @number on of an NPU whose node opens, or -1. */
int winsys_drm_next(unsigned int number);

/* A device that accepts every job and computes nothing; it can make the n-th call fail. */
struct winsys_null_config {
	struct npu_caps caps;
	uint32_t fail_at; /* number of the call that fails, from 1; 0: none fails */
};

struct winsys *winsys_null_create(const struct winsys_null_config *config, struct wnn_error *err);

#endif
