// SPDX-License-Identifier: MIT
/*
 * The winsys of the device model in this process, in flat mode: buffers are host memory at invented
 * device addresses, and one thread runs all jobs one after the other. There is neither firmware nor
 * page tables; sim_full.c has the full mode.
 */
#include "util/array.h"
#include "util/malloc.h"
#include "util/number.h"
#include "winsys/winsys.h"
#include "winsys/sim_full.h"
#include "winsys/sim_heap.h"
#include "winsys/sim_queue.h"

#include <onpu/machines.h>
#include <onpu_sim.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define ABORT_CHECK 64u /* steps of the model between checks whether the job is still needed */

struct sim_bo {
	struct winsys_bo base;
	bool wrapped; /* the buffer's memory belongs to the caller */
};

struct sim_ctx;

struct sim {
	struct winsys base;
	struct onpu_machine *machine;
	struct wnn_allocator allocator; /* the allocator of the machine */
	/* Protects the buffers; memory accesses of the worker take it for reading. */
	pthread_rwlock_t memory_lock;
	struct sim_bo **bos; /* in the order of their addresses */
	size_t num_bos, cap_bos;
	size_t last_bo; /* index of the buffer that the worker accessed last */
	uint64_t next_va;
	/* Jobs. */
	struct sim_sync sync;
	pthread_t worker;
	bool started, stop;
	struct sim_queue queue;
	struct sim_ctx *running;
	struct sim_ctx *last; /* the context whose job ran last, so that SRAM may have its bytes */
};

struct winsys_ctx {
	struct sim *sim;
};

struct sim_ctx {
	struct winsys_ctx base;
	struct sim_log log;
	bool closing;
};

static struct sim *sim_of(struct winsys *ws)
{
	return (struct sim *)ws;
}

static struct sim_ctx *ctx_of(struct winsys_ctx *ctx)
{
	return (struct sim_ctx *)ctx;
}

/* ---- memory */

/* Returns the index of the first buffer that ends above `va`. */
static size_t find_bo(const struct sim *sim, uint64_t va)
{
	size_t lo = 0, hi = sim->num_bos;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (sim->bos[mid]->base.va + sim->bos[mid]->base.size <= va)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool bo_holds(const struct sim *sim, size_t index, uint64_t va, size_t len)
{
	const struct winsys_bo *bo;

	if (index >= sim->num_bos)
		return false;
	bo = &sim->bos[index]->base;
	return va >= bo->va && va - bo->va <= bo->size && len <= bo->size - (va - bo->va);
}

/* Returns the host address of device memory; NULL: it is not in one buffer. The lock is held. */
static uint8_t *resolve(struct sim *sim, uint64_t va, size_t len)
{
	size_t index = sim->last_bo;

	if (!bo_holds(sim, index, va, len)) {
		index = find_bo(sim, va);
		if (!bo_holds(sim, index, va, len))
			return NULL;
		sim->last_bo = index;
	}
	return (uint8_t *)sim->bos[index]->base.map + (va - sim->bos[index]->base.va);
}

static int sim_read(void *ctx, uint64_t addr, void *dst, size_t len)
{
	struct sim *sim = ctx;
	const uint8_t *from;

	pthread_rwlock_rdlock(&sim->memory_lock);
	from = resolve(sim, addr, len);
	if (from)
		memcpy(dst, from, len);
	pthread_rwlock_unlock(&sim->memory_lock);
	return from ? 0 : ONPU_FAULT_MMU_NOT_PRESENT;
}

static int sim_write(void *ctx, uint64_t addr, const void *src, size_t len)
{
	struct sim *sim = ctx;
	uint8_t *to;

	pthread_rwlock_rdlock(&sim->memory_lock);
	to = resolve(sim, addr, len);
	if (to)
		memcpy(to, src, len);
	pthread_rwlock_unlock(&sim->memory_lock);
	return to ? 0 : ONPU_FAULT_MMU_NOT_PRESENT;
}

static size_t whole_pages(size_t size)
{
	return wnn_align_up(size, ONPU_PAGE_SIZE);
}

/*
 * Gives a buffer its address and adds it, with the lock held for writing. No address is used twice,
 * so that access to a destroyed buffer faults. Returns 0, or -1 when addresses or memory are
 * exhausted.
 */
static int insert_bo(struct sim *sim, struct sim_bo *bo)
{
	size_t span = whole_pages(bo->base.size) + ONPU_PAGE_SIZE;

	if (span > WINSYS_VA_END - sim->next_va)
		return -1;
	if (wnn_array_reserve(&sim->bos, &sim->cap_bos, sim->num_bos + 1, sizeof(struct sim_bo *)))
		return -1;
	bo->base.va = sim->next_va;
	sim->next_va += span;
	sim->bos[sim->num_bos++] = bo;
	return 0;
}

/* Sets the error of a buffer that cannot be made. Returns NULL. */
static struct winsys_bo *lack_memory(size_t size, struct wnn_error *err)
{
	wnn_error_set(
		err, WNN_UNKNOWN_ERROR,
		"too little memory is free for a buffer of %zu bytes of the device sim: use a "
		"smaller model, or end other programs",
		size);
	return NULL;
}

static struct winsys_bo *sim_bo_create(struct winsys *ws, size_t size, struct wnn_error *err)
{
	struct sim *sim = sim_of(ws);
	struct sim_bo *bo = wnn_calloc(1, sizeof(*bo));
	int ret = -1;

	if (bo && size && size < WINSYS_VA_END)
		bo->base.map = wnn_aligned_calloc(ONPU_PAGE_SIZE, whole_pages(size));
	if (bo && bo->base.map) {
		bo->base.ws = ws;
		bo->base.size = size;
		pthread_rwlock_wrlock(&sim->memory_lock);
		ret = insert_bo(sim, bo);
		pthread_rwlock_unlock(&sim->memory_lock);
	}
	if (!ret)
		return &bo->base;
	if (bo)
		wnn_free(bo->base.map);
	wnn_free(bo);
	return lack_memory(size, err);
}

static struct winsys_bo *wrap(struct winsys *ws, void *map, size_t size, struct wnn_error *err)
{
	struct sim *sim = sim_of(ws);
	struct sim_bo *bo = wnn_calloc(1, sizeof(*bo));
	int ret = -1;

	if (bo && size && size < WINSYS_VA_END) {
		bo->base = (struct winsys_bo){ .ws = ws, .size = size, .map = map };
		bo->wrapped = true;
		pthread_rwlock_wrlock(&sim->memory_lock);
		ret = insert_bo(sim, bo);
		pthread_rwlock_unlock(&sim->memory_lock);
	}
	if (!ret)
		return &bo->base;
	wnn_free(bo);
	return lack_memory(size, err);
}

static int sim_bo_wrap(struct winsys *ws, void *map, size_t size, bool writes,
		       struct winsys_bo **bo, struct wnn_error *err)
{
	(void)writes;
	*bo = wrap(ws, map, size, err);
	return *bo ? 0 : -1;
}

static struct winsys_bo *sim_bo_import(struct winsys *ws, const struct wnn_dmabuf *buffer,
				       struct wnn_error *err)
{
	return wrap(ws, buffer->map, buffer->size, err);
}

static void sim_bo_destroy(struct winsys_bo *bo)
{
	struct sim *sim;
	size_t at;

	if (!bo)
		return;
	sim = sim_of(bo->ws);
	pthread_rwlock_wrlock(&sim->memory_lock);
	at = find_bo(sim, bo->va);
	memmove(sim->bos + at, sim->bos + at + 1,
		(sim->num_bos - at - 1) * sizeof(struct sim_bo *));
	sim->num_bos--;
	sim->last_bo = 0;
	pthread_rwlock_unlock(&sim->memory_lock);
	if (!((struct sim_bo *)bo)->wrapped)
		wnn_free(bo->map);
	wnn_free(bo);
}

/* ---- running jobs, on the worker */

static void to_result(const struct onpu_job_result *from, struct winsys_result *to)
{
	*to = (struct winsys_result){
		.fault_code = from->fault.code,
		.fault_engine = from->fault.engine,
		.fault_operand = from->fault.operand,
		.fault_pc = from->fault.pc,
		.fault_address = from->fault.address,
		.cycles = from->cycles,
		.macs = from->counters.macs,
		.bytes_ld = from->counters.bytes_ld,
		.bytes_st = from->counters.bytes_st,
		.has_counters = true,
	};
	for (int i = 0; i < ONPU_ENG_COUNT; i++)
		to->busy[i] = from->counters.busy[i];
}

/*
 * Returns true if nobody needs the running job any more. The model calls it within long
 * instructions, too.
 */
static bool abandoned(void *ctx)
{
	struct sim *sim = ctx;
	bool yes;

	pthread_mutex_lock(&sim->sync.lock);
	yes = sim->stop || sim->running->closing;
	pthread_mutex_unlock(&sim->sync.lock);
	return yes;
}

/* Runs a job on the model; false: it was stopped, because nobody needs its result any more. */
static bool run_job(struct sim *sim, const struct sim_job *job, struct winsys_result *result)
{
	struct onpu_mem mem = { .ctx = sim, .read = sim_read, .write = sim_write };
	struct onpu_job run = {
		.program_va = job->job.program_va,
		.num_insns = job->job.num_insns,
		.num_slots = job->job.num_slots,
		.slots_va = job->job.slots_va,
		.profile_va = job->job.profile_va,
		.profile_size = job->job.profile_size,
		.cycle_limit = job->job.cycle_limit,
	};
	enum onpu_step step;
	unsigned int count = 0;

	onpu_machine_begin(sim->machine, &mem, &run);
	do {
		if (++count % ABORT_CHECK == 0 && abandoned(sim)) {
			onpu_machine_abort(sim->machine);
			return false;
		}
		step = onpu_machine_step(sim->machine);
	} while (step == ONPU_STEP_RUNNING || step == ONPU_STEP_PREEMPT_POINT);
	if (step == ONPU_STEP_IDLE)
		return false;
	to_result(onpu_machine_result(sim->machine), result);
	return true;
}

/* Runs the first waiting job. The lock is held, but released while the job runs. */
static void work(struct sim *sim)
{
	struct sim_job *job = sim_queue_take(&sim->queue);
	struct sim_ctx *ctx = ctx_of(job->ctx);
	struct winsys_result result;
	bool ran = false;

	sim->running = ctx;
	if (!ctx->log.dead && !ctx->closing) {
		if (sim->last != ctx)
			onpu_machine_forget(sim->machine);
		sim->last = ctx;
		pthread_mutex_unlock(&sim->sync.lock);
		ran = run_job(sim, job, &result);
		pthread_mutex_lock(&sim->sync.lock);
	}
	sim->running = NULL;
	sim_log_end(&ctx->log, job->seqno, ran ? &result : NULL);
	pthread_cond_broadcast(&sim->sync.changed);
	wnn_free(job);
}

static void *worker_main(void *arg)
{
	struct sim *sim = arg;

	pthread_mutex_lock(&sim->sync.lock);
	for (;;) {
		while (!sim->queue.first && !sim->stop)
			pthread_cond_wait(&sim->sync.wake, &sim->sync.lock);
		if (sim->stop)
			break;
		work(sim);
	}
	pthread_mutex_unlock(&sim->sync.lock);
	return NULL;
}

/* ---- contexts and jobs, for callers */

static struct winsys_ctx *sim_ctx_create(struct winsys *ws, enum winsys_power power,
					 struct wnn_error *err)
{
	struct sim_ctx *ctx = wnn_calloc(1, sizeof(*ctx));

	(void)power;
	if (!ctx) {
		wnn_error_nomem(err, "a device context");
		return NULL;
	}
	ctx->base.sim = sim_of(ws);
	return &ctx->base;
}

static void sim_ctx_destroy(struct winsys_ctx *base)
{
	struct sim_ctx *ctx = ctx_of(base);
	struct sim *sim;

	if (!base)
		return;
	sim = base->sim;
	pthread_mutex_lock(&sim->sync.lock);
	ctx->closing = true;
	sim_queue_drop(&sim->queue, base);
	while (sim->running == ctx)
		pthread_cond_wait(&sim->sync.changed, &sim->sync.lock);
	/* A later context may have the address of this one, but must not find its bytes in SRAM. */
	if (sim->last == ctx)
		sim->last = NULL;
	pthread_mutex_unlock(&sim->sync.lock);
	wnn_free(ctx);
}

static int sim_submit(struct winsys_ctx *base, const struct winsys_job *jobs, uint32_t count,
		      uint64_t *seqno, struct wnn_error *err)
{
	struct sim *sim = base->sim;
	struct sim_queue made;
	int ret;

	if (sim_queue_make(&made, base, jobs, count, err))
		return -1;
	pthread_mutex_lock(&sim->sync.lock);
	ret = sim_log_submit(&ctx_of(base)->log, &sim->queue, &made, seqno, err);
	pthread_cond_signal(&sim->sync.wake);
	pthread_mutex_unlock(&sim->sync.lock);
	return ret;
}

static int sim_wait(struct winsys_ctx *base, uint64_t seqno, uint64_t timeout_ns,
		    struct winsys_result *result, struct wnn_error *err)
{
	return sim_log_wait(&ctx_of(base)->log, &base->sim->sync, seqno, timeout_ns, result, err);
}

/* ---- the winsys */

static void sim_destroy(struct winsys *ws)
{
	struct sim *sim = sim_of(ws);

	pthread_mutex_lock(&sim->sync.lock);
	sim->stop = true;
	pthread_cond_broadcast(&sim->sync.wake);
	pthread_mutex_unlock(&sim->sync.lock);
	if (sim->started)
		pthread_join(sim->worker, NULL);
	sim_queue_drop(&sim->queue, NULL);
	for (size_t i = 0; i < sim->num_bos; i++) {
		if (!sim->bos[i]->wrapped)
			wnn_free(sim->bos[i]->base.map);
		wnn_free(sim->bos[i]);
	}
	wnn_free(sim->bos);
	onpu_machine_destroy(sim->machine);
	sim_sync_destroy(&sim->sync);
	pthread_rwlock_destroy(&sim->memory_lock);
	wnn_free(sim);
}

static const struct winsys_ops sim_ops = {
	.destroy = sim_destroy,
	.bo_create = sim_bo_create,
	.bo_wrap = sim_bo_wrap,
	.bo_import = sim_bo_import,
	.bo_destroy = sim_bo_destroy,
	.ctx_create = sim_ctx_create,
	.ctx_destroy = sim_ctx_destroy,
	.submit = sim_submit,
	.wait = sim_wait,
};

static void set_caps(struct npu_caps *caps, const struct onpu_sim_config *config)
{
	*caps = (struct npu_caps){
		.sram_bytes = config->sram_bytes,
		.lanes = config->lanes,
		.mxu_rows = config->mxu_rows,
		.mxu_cols = config->mxu_cols,
		.features = config->features,
		.fifo_depth = config->fifo_depth,
		.dma_bytes_per_cycle = config->dma_bytes_per_cycle,
		.num_queues = config->num_queues,
		.isa_major = ONPU_CAP_ISA__RESET >> ONPU_CAP_ISA_MAJOR__SHIFT,
	};
	snprintf(caps->machine, sizeof(caps->machine), "%s",
		 onpu_machine_name(onpu_sim_config_machine(config)));
}

struct winsys *winsys_sim_create(const struct winsys_sim_config *config, struct wnn_error *err)
{
	struct onpu_sim_config machine = onpu_sim_config_default();
	struct onpu_sim_memory memory;
	const char *why = "too little memory is free; end other programs";
	struct sim *sim;

	if (config->full)
		return winsys_sim_full_create(config, err);
	sim = wnn_calloc(1, sizeof(*sim));
	if (!sim) {
		wnn_error_nomem(err, "the device model");
		return NULL;
	}
	sim_configure(&machine, config);
	sim->base.ops = &sim_ops;
	sim->base.name = "sim";
	sim_queue_init(&sim->queue);
	sim->next_va = WINSYS_VA_FIRST;
	pthread_rwlock_init(&sim->memory_lock, NULL);
	sim_sync_init(&sim->sync);
	memory = sim_heap_memory(&sim->allocator);
	sim->machine = onpu_machine_create_in(&memory, &machine, &why);
	if (sim->machine) {
		onpu_machine_watch(sim->machine, abandoned, sim);
		set_caps(&sim->base.caps, onpu_machine_config(sim->machine));
		why = "no thread can be started; end other programs, or raise the limits (ulimit -u, "
		      "ulimit -v)";
		sim->started = !pthread_create(&sim->worker, NULL, worker_main, sim);
	}
	if (!sim->started) {
		wnn_error_set(err, WNN_UNKNOWN_ERROR, "the device sim does not start: %s", why);
		sim_destroy(&sim->base);
		return NULL;
	}
	return &sim->base;
}
