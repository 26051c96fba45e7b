/* SPDX-License-Identifier: MIT */
/*
 * Helpers that the tests of the driver share: buffers, contexts, programs, jobs and their fences.
 * Whatever a test only needs, and does not test, ends it with a message when it fails.
 */
#ifndef TESTS_DRIVER_NPU_H
#define TESTS_DRIVER_NPU_H

#include <drm/onpu_accel.h>
#include <onpu/isa.h>
#include <onpu/registers.h>
#include <onpu/slots.h>

#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#define NPU_NODE "/dev/accel/accel0"

/* How long something may take that has to end; the machine may be slow and busy. */
#define NPU_PATIENCE_S 60

/* A machine that does more than its work, with a kernel that looks for errors: ONPU_PATIENCE times. */
double npu_patience(void);

/* A job of this many of these instructions, in turn with points of preemption, ends one day. */
#define NPU_LONG_BYTES (4u << 20)
#define NPU_LONG_INSNS 16384u

/* The page size of the processor: sizes of buffers are rounded up to it, and nothing smaller is mapped. */
static inline size_t npu_page(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

struct npu_bo {
	uint32_t handle;
	uint64_t va, size;
	uint8_t *map; /* NULL: not mapped */
};

struct npu_ctx {
	uint32_t id;
	const struct drm_onpu_completion *page;
	uint64_t page_offset;
};

/* Slots and behind them instructions. */
struct npu_program {
	struct npu_bo bo;
	uint32_t slots, insns, max_insns;
};

#define must(x) ((x) ? (void)0 : npu_failed(__FILE__, __LINE__, #x))
_Noreturn void npu_failed(const char *file, int line, const char *what);

int npu_open(void);
int npu_open_node(const char *node);
/* Another driver; -1: it is not loaded. */
int npu_open_vgem(void);
/* 0 or the errno; an interrupted call is not repeated. */
int npu_ioctl(int fd, unsigned long request, void *args);
struct drm_onpu_dev_info npu_info(int fd);
uint32_t npu_num_queues(int fd);
struct drm_onpu_counters npu_counters(int fd);
/* The number of a line "@name: NUMBER [UNIT]" of the file's fdinfo, in bytes if it is of those. */
uint64_t npu_fdinfo(int fd, const char *name);
/* The memory of all clients; waits for it to be @bytes, as files that were closed give theirs back a little later. */
uint64_t npu_settled_memory(int fd, uint64_t bytes);

struct npu_bo npu_bo(int fd, uint64_t size, uint32_t flags);
void npu_bo_close(int fd, struct npu_bo *bo);
int npu_gem_close(int fd, uint32_t handle);
/* Address and flags of a handle that came from elsewhere. */
struct drm_onpu_bo_info npu_bo_info(int fd, uint32_t handle);
bool npu_all(const uint8_t *at, uint64_t size, uint8_t value);

/* 0 or the errno. Tries again for a while as long as contexts that were destroyed have not made room yet. */
int npu_ctx_create(int fd, struct drm_onpu_ctx_create *args);
struct npu_ctx npu_ctx(int fd, uint32_t timeout_ms);
struct npu_ctx npu_ctx_of(int fd, uint32_t priority, uint32_t timeout_ms);
int npu_ctx_destroy(int fd, uint32_t ctx);
struct drm_onpu_ctx_get_state npu_state(int fd, uint32_t ctx);
struct onpu_fault_record npu_fault(const struct drm_onpu_ctx_get_state *state);

struct npu_program npu_program(int fd, uint32_t max_insns);
uint16_t npu_slot(struct npu_program *program, const void *slot);
uint16_t npu_tensor(struct npu_program *program, enum onpu_dtype dtype, enum onpu_space space,
		    uint64_t base, uint32_t count);
void npu_insn(struct npu_program *program, struct onpu_insn insn);
/* Four words that need not be an instruction. */
void npu_words(struct npu_program *program, const uint32_t *words);
/* Ends the program. */
struct drm_onpu_job npu_job(struct npu_program *program);
/* A mapping keeps its file open: give up those of all programs, whose jobs do without. */
void npu_unmap_programs(void);

/* Instructions that write a byte to a range. */
void npu_add_fill(struct npu_program *program, uint64_t va, uint32_t bytes, uint8_t value);
struct drm_onpu_job npu_fill(int fd, uint64_t va, uint32_t bytes, uint8_t value);
/* A job that takes seconds, and can be preempted at any time; it fills NPU_LONG_BYTES at @va. */
struct drm_onpu_job npu_long(int fd, uint64_t va);
#define NPU_ENDLESS 64
/*
 * Submits NPU_ENDLESS of them, which run for minutes however fast the device is. @syncobj signals
 * with the last.
 */
void npu_submit_endless(int fd, uint32_t ctx, uint64_t va, uint32_t syncobj);

/* The errno of SUBMIT. */
int npu_submit(int fd, uint32_t ctx, const struct drm_onpu_job *jobs, uint32_t count,
	       uint64_t *seqno);
/* With a syncobj that signals at the end. */
int npu_submit_signal(int fd, uint32_t ctx, struct drm_onpu_job job, uint32_t syncobj);
uint32_t npu_syncobj(int fd);
bool npu_has_fence(int fd, uint32_t syncobj);
bool npu_signalled(int fd, uint32_t syncobj);
/* The errno that the fence ended with, or 0; ENODEV also without device; -1: it did not end. */
int npu_wait(int fd, uint32_t syncobj);
/* Submits a job, which must be accepted, and waits for it: the errno that it ended with. */
int npu_run(int fd, uint32_t ctx, const struct drm_onpu_job *job);
int64_t npu_deadline(double seconds);
double npu_now(void);

#endif
