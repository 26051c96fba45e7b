/* SPDX-License-Identifier: MIT */
/*
 * Helpers that the tests of the driver share: buffers, contexts, programs, jobs and their fences.
 * An operation that a test needs, but does not test, ends the test with a message when it fails.
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

/* Seconds within which an operation must end; the machine may be slow and busy. */
#define NPU_PATIENCE_S 60

/*
 * Returns the factor for waiting times, ONPU_PATIENCE: above 1 on busy machines and kernels with
 * debug checks.
 */
double npu_patience(void);

/*
 * Numbers of a job that takes long, but ends: bytes of each of its fills, and the number of its
 * fills. A preemption point follows each of them.
 */
#define NPU_LONG_BYTES (4u << 20)
#define NPU_LONG_FILLS 16384u

/*
 * Returns the processor's page size: sizes of buffers are rounded up to it, and mappings consist of
 * whole pages.
 */
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

/* A buffer that holds a program: its slots, then its instructions. */
struct npu_program {
	struct npu_bo bo;
	uint32_t slots, insns, max_insns;
};

#define must(x) ((x) ? (void)0 : npu_failed(__FILE__, __LINE__, #x))
/* Prints the condition that does not hold and errno's message, and aborts the program. */
_Noreturn void npu_failed(const char *file, int line, const char *what);

/*
 * npu_open() opens the NPU, npu_open_node() the device @node; both return a descriptor that must be
 * valid.
 */
int npu_open(void);
int npu_open_node(const char *node);
/* Opens a device of the driver vgem; returns its descriptor, or -1 if vgem is not loaded. */
int npu_open_vgem(void);
/* Returns 0 or the errno; an interrupted call is not repeated. */
int npu_ioctl(int fd, unsigned long request, void *args);
struct drm_onpu_dev_info npu_info(int fd);
struct drm_onpu_caps npu_caps(int fd);
uint32_t npu_num_queues(int fd);
struct drm_onpu_counters npu_counters(int fd);
/*
 * Returns the number in a line "@name: NUMBER [UNIT]" of the file's fdinfo, in bytes if the unit is
 * one of bytes.
 */
uint64_t npu_fdinfo(int fd, const char *name);
/*
 * Returns the bytes of memory of all clients, once they are at most @bytes or the time is over:
 * closed files free theirs a little later.
 */
uint64_t npu_settled_memory(int fd, uint64_t bytes);

/* Returns a new buffer, mapped for the processor unless the flags have DRM_ONPU_BO_NO_MMAP. */
struct npu_bo npu_bo(int fd, uint64_t size, uint32_t flags);
/*
 * Returns a buffer made of shared memory of this process. The memory stays mapped when the buffer
 * is closed.
 */
struct npu_bo npu_wrap(int fd, void *memory, uint64_t size, uint32_t flags);
void npu_bo_close(int fd, struct npu_bo *bo);
int npu_gem_close(int fd, uint32_t handle);
/* Returns the result of BO_INFO for a handle, such as one that came from another file. */
struct drm_onpu_bo_info npu_bo_info(int fd, uint32_t handle);
bool npu_all(const uint8_t *at, uint64_t size, uint8_t value);
/*
 * Hand a range of npu_bo.map to the device, after the processor has written it, or back, before the
 * processor reads what jobs have written. Nothing happens where the device is coherent, or with
 * other memory.
 */
void npu_flush(const void *at, uint64_t size);
void npu_refresh(const void *at, uint64_t size);
/* Calls npu_refresh(), then returns whether all @size bytes at @at are @value. */
bool npu_sees(const uint8_t *at, uint64_t size, uint8_t value);
/*
 * Returns whether all @size bytes at @at, in a mapping of the dma-buf @file, are @value; reads them
 * between the begin and the end of a CPU access to the dma-buf.
 */
bool npu_dmabuf_sees(int file, const uint8_t *at, uint64_t size, uint8_t value);

/*
 * Creates a context and returns 0 or the errno. Tries again for a while as long as destroyed
 * contexts still take room.
 */
int npu_ctx_create(int fd, struct drm_onpu_ctx_create *args);
struct npu_ctx npu_ctx(int fd, uint32_t timeout_ms);
struct npu_ctx npu_ctx_of(int fd, uint32_t priority, uint32_t timeout_ms);
int npu_ctx_destroy(int fd, uint32_t ctx);
struct drm_onpu_ctx_get_state npu_state(int fd, uint32_t ctx);

/*
 * Returns a new program with room for @max_insns instructions and the end. npu_slot() and
 * npu_tensor() add a slot, and return its number; npu_insn() adds an instruction.
 */
struct npu_program npu_program(int fd, uint32_t max_insns);
uint16_t npu_slot(struct npu_program *program, const void *slot);
uint16_t npu_tensor(struct npu_program *program, enum onpu_dtype dtype, enum onpu_space space,
		    uint64_t base, uint32_t count);
void npu_insn(struct npu_program *program, struct onpu_insn insn);
/* Adds four words to the program, which need not be a valid instruction. */
void npu_words(struct npu_program *program, const uint32_t *words);
/* Ends the program, hands it to the device, and returns a job that runs it. */
struct drm_onpu_job npu_job(struct npu_program *program);
/* Unmaps all programs, because mappings keep their files open; jobs run without them. */
void npu_unmap_programs(void);

/* Adds instructions that write a byte to a range. */
void npu_add_fill(struct npu_program *program, uint64_t va, uint32_t bytes, uint8_t value);
struct drm_onpu_job npu_fill(int fd, uint64_t va, uint32_t bytes, uint8_t value);
/*
 * Returns a job that takes seconds, and can be preempted after each of its fills; all of them fill
 * NPU_LONG_BYTES at @va.
 */
struct drm_onpu_job npu_long(int fd, uint64_t va);
#define NPU_ENDLESS 64
/*
 * Submits NPU_ENDLESS jobs of npu_long(), which run for minutes on the fastest device. @syncobj
 * signals when the last one ends.
 */
void npu_submit_endless(int fd, uint32_t ctx, uint64_t va, uint32_t syncobj);

/* Returns the errno of SUBMIT, or 0; @seqno gets the number of the last job, unless it is NULL. */
int npu_submit(int fd, uint32_t ctx, const struct drm_onpu_job *jobs, uint32_t count,
	       uint64_t *seqno);
/* Submits a job whose end signals @syncobj; returns 0 or an errno. */
int npu_submit_signal(int fd, uint32_t ctx, struct drm_onpu_job job, uint32_t syncobj);
uint32_t npu_syncobj(int fd);
bool npu_has_fence(int fd, uint32_t syncobj);
bool npu_signalled(int fd, uint32_t syncobj);
/*
 * Waits for the fence of a syncobj. Returns the errno that the fence has, or 0; ENODEV, too, when
 * the device is gone; -1 when the fence has not signalled in time.
 */
int npu_wait(int fd, uint32_t syncobj);
/* Submits a job, which must be accepted, and waits for it. Returns the errno of its end, or 0. */
int npu_run(int fd, uint32_t ctx, const struct drm_onpu_job *job);
int64_t npu_deadline(double seconds);
double npu_now(void);

#endif
