// SPDX-License-Identifier: MIT
/*
 * The winsys of the device model in full mode: buffers, contexts and jobs. Each context has a
 * hardware queue of its own; jobs wait in this process until the ring of their queue has room.
 */
#include "winsys/sim_full.h"

#include <errno.h>
#include <onpu/machines.h>
#include <stdio.h>
#include <string.h>

#include "util/malloc.h"
#include "util/number.h"

struct full_bo {
	struct winsys_bo base;
	struct full_map map;
	bool imported;
};

struct winsys_ctx {
	struct full *full;
};

struct full_ctx {
	struct winsys_ctx base;
	uint32_t id, queue;
	struct full_map ring, completion, save;
	/* Guarded by full->sync.lock. */
	struct sim_log log;
	uint64_t fed;
	struct sim_queue waiting;
};

static struct full *full_of(struct winsys *ws)
{
	return (struct full *)ws;
}

static struct full_ctx *ctx_of(struct winsys_ctx *ctx)
{
	return (struct full_ctx *)ctx;
}

/* ---- buffers */

static struct winsys_bo *full_bo_create(struct winsys *ws, size_t size, struct wnn_error *err)
{
	struct full *full = full_of(ws);
	struct full_bo *bo = wnn_calloc(1, sizeof(*bo));

	if (!bo || !size || size > full->memory.size ||
	    full_map_create(&full->memory, &bo->map, size, true)) {
		wnn_free(bo);
		wnn_error_set(
			err, WNN_UNKNOWN_ERROR,
			"the device sim in full mode has too little memory left for a buffer of "
			"%zu bytes: use a smaller model, or do without full mode",
			size);
		return NULL;
	}
	bo->base = (struct winsys_bo){
		.ws = ws,
		.va = bo->map.va,
		.size = size,
		.map = bo->map.map,
	};
	return &bo->base;
}

static void release(struct full *full, const struct full_map *map, bool user)
{
	if (!map->va)
		return;
	full_map_clear(&full->memory, map);
	full_invalidate(full, map->va, map->size);
	full_map_free(&full->memory, map, user);
}

static void full_bo_destroy(struct winsys_bo *base)
{
	struct full_bo *bo = (struct full_bo *)base;

	if (!bo)
		return;
	/*
	 * If the memory of the model cannot be mapped again in place of the dma-buf, neither memory
	 * nor addresses are used again.
	 */
	if (!bo->imported || !full_map_own(&bo->map))
		release(full_of(base->ws), &bo->map, true);
	wnn_free(bo);
}

/*
 * Imports a dma-buf: its pages replace those that the machine has at the buffer's addresses. NULL
 * with *err.
 */
static struct winsys_bo *full_bo_import(struct winsys *ws, const struct wnn_dmabuf *buffer,
					struct wnn_error *err)
{
	struct winsys_bo *base = full_bo_create(ws, buffer->size, err);
	struct full_bo *bo = (struct full_bo *)base;

	if (!bo)
		return NULL;
	bo->imported = true;
	if (!full_map_file(&bo->map, buffer->fd, buffer->read_only))
		return base;
	wnn_error_set(
		err, WNN_UNKNOWN_ERROR,
		"the device sim in full mode cannot map the dma-buf of a tensor: %s; do without "
		"the dma-buf or without full mode",
		strerror(errno));
	full_bo_destroy(base);
	return NULL;
}

/* ---- jobs */

/* Ends the remaining jobs of a context, such as those after a failed one: they are cancelled. */
static void cancel_rest(struct full_ctx *ctx)
{
	while (ctx->log.completed < ctx->log.submitted)
		sim_log_end(&ctx->log, ctx->log.completed + 1, NULL);
	ctx->log.dead = true;
	sim_queue_drop(&ctx->waiting, NULL);
}

/*
 * Takes the result of the job that ended from the completion page. The device waits until this
 * function, which serves its interrupt, returns: until then no later job changes the page.
 */
void full_completed(struct full_ctx *ctx)
{
	const struct onpu_completion *page = ctx->completion.map;
	struct winsys_result result = { .fault_code = page->error, .cycles = page->cycles };
	struct onpu_job_counters counters;
	struct onpu_fault_record fault;

	if (page->seqno <= ctx->log.completed)
		return;
	if (page->error) {
		memcpy(&fault, page->fault, sizeof(fault));
		result.fault_engine = fault.engine;
		result.fault_operand = fault.operand;
		result.fault_pc = fault.pc;
		result.fault_address = fault.address;
	}
	memcpy(&counters, (const char *)page + ONPU_COMPLETION_COUNTERS, sizeof(counters));
	memcpy(result.busy, counters.busy, sizeof(result.busy));
	result.macs = counters.macs;
	result.bytes_ld = counters.bytes_ld;
	result.bytes_st = counters.bytes_st;
	result.has_counters = true;
	sim_log_end(&ctx->log, page->seqno, &result);
	if (page->error)
		cancel_rest(ctx);
}

static struct onpu_ring_job ring_job(const struct sim_job *job)
{
	const uint64_t max_profile = UINT32_MAX / sizeof(struct onpu_profile_record) *
				     sizeof(struct onpu_profile_record);
	uint64_t profile = job->job.profile_size;

	profile -= profile % sizeof(struct onpu_profile_record);
	return (struct onpu_ring_job){
		.type = ONPU_ENTRY_JOB,
		.seqno = job->seqno,
		.program_va = job->job.program_va,
		.num_insns = job->job.num_insns,
		.num_slots = job->job.num_slots,
		.slots_va = job->job.slots_va,
		.profile_va = job->job.profile_va,
		.profile_size = (uint32_t)(profile < max_profile ? profile : max_profile),
		.cycle_limit = job->job.cycle_limit,
	};
}

/* Moves waiting jobs into the ring; returns the new value of the doorbell, or 0: none was moved. */
static uint32_t fill_ring(struct full_ctx *ctx)
{
	uint64_t before = ctx->fed;

	while (ctx->waiting.first && ctx->fed - ctx->log.completed < FULL_RING) {
		/* ring.map is not NULL, as only a context that is complete has jobs. */
		struct onpu_ring_job *ring = ctx->ring.map;
		struct sim_job *job = sim_queue_take(&ctx->waiting);

		ring[ctx->fed++ % FULL_RING] = ring_job(job);
		wnn_free(job);
	}
	return ctx->fed == before ? 0 : (uint32_t)ctx->fed;
}

/*
 * Moves waiting jobs into the rings; the device's thread calls it after each run of the device.
 * Returns true if it moved any.
 */
bool full_feed(struct full *full)
{
	bool any = false;

	for (unsigned int i = 0; i < ONPU_MAX_QUEUES; i++) {
		uint32_t doorbell = 0;

		pthread_mutex_lock(&full->sync.lock);
		if (full->queues[i])
			doorbell = fill_ring(full->queues[i]);
		pthread_mutex_unlock(&full->sync.lock);
		if (doorbell)
			full_write(full, ONPU_REG_DOORBELL_TAIL(i), doorbell);
		any |= doorbell;
	}
	return any;
}

static int full_submit(struct winsys_ctx *base, const struct winsys_job *jobs, uint32_t count,
		       uint64_t *seqno, struct wnn_error *err)
{
	struct full_ctx *ctx = ctx_of(base);
	struct full *full = base->full;
	struct sim_queue made;
	int ret;

	if (sim_queue_make(&made, base, jobs, count, err))
		return -1;
	pthread_mutex_lock(&full->sync.lock);
	ctx->log.dead |= full->sync.lost;
	ret = sim_log_submit(&ctx->log, &ctx->waiting, &made, seqno, err);
	full->kicked = true;
	pthread_cond_signal(&full->sync.wake);
	pthread_mutex_unlock(&full->sync.lock);
	return ret;
}

static int full_wait(struct winsys_ctx *base, uint64_t seqno, uint64_t timeout_ns,
		     struct winsys_result *result, struct wnn_error *err)
{
	return sim_log_wait(&ctx_of(base)->log, &base->full->sync, seqno, timeout_ns, result, err);
}

/* ---- contexts */

static int take_queue(struct full *full, struct full_ctx *ctx, struct wnn_error *err)
{
	uint32_t queue = 0;

	pthread_mutex_lock(&full->sync.lock);
	while (queue < full->base.caps.num_queues && full->queues[queue])
		queue++;
	if (queue < full->base.caps.num_queues) {
		ctx->queue = queue;
		ctx->id = queue + 1;
		full->queues[queue] = ctx;
	}
	pthread_mutex_unlock(&full->sync.lock);
	if (queue < full->base.caps.num_queues)
		return 0;
	return wnn_error_set(
		err, WNN_OPERATION_ERROR,
		"internal error, please report it: the device sim in full mode has %u contexts, "
		"one for each hardware queue, and can have no more",
		full->base.caps.num_queues);
}

static void give_queue(struct full *full, struct full_ctx *ctx)
{
	pthread_mutex_lock(&full->sync.lock);
	full->queues[ctx->queue] = NULL;
	sim_queue_drop(&ctx->waiting, NULL);
	pthread_mutex_unlock(&full->sync.lock);
}

static int make_context(struct full *full, struct full_ctx *ctx, struct wnn_error *err)
{
	struct full_memory *memory = &full->memory;
	union onpu_msg m = { .ctx_create = { .type = ONPU_MSG_CTX_CREATE } };
	union onpu_msg bind = { .queue = { .type = ONPU_MSG_QUEUE_BIND } };

	if (full_map_create(memory, &ctx->ring, FULL_RING * sizeof(struct onpu_ring_job), false) ||
	    full_map_create(memory, &ctx->completion, ONPU_PAGE_SIZE, false) ||
	    full_map_create(memory, &ctx->save, full_read(full, ONPU_REG_CAP_SAVE_BYTES), false))
		return wnn_error_nomem(err, "a device context");
	m.ctx_create.context = ctx->id;
	m.ctx_create.ring = ctx->ring.va;
	m.ctx_create.ring_size = FULL_RING;
	m.ctx_create.completion = ctx->completion.va;
	m.ctx_create.save = ctx->save.va;
	m.ctx_create.vector = ctx->queue + 1;
	m.ctx_create.priority = ONPU_PRIORITY_NORMAL;
	if (full_request(full, &m, err))
		return -1;
	bind.queue.context = ctx->id;
	bind.queue.queue = ctx->queue;
	return full_request(full, &bind, err);
}

/*
 * Destroys a context, also one that is incomplete: the firmware then refuses the requests for
 * objects that do not exist.
 */
static void unmake_context(struct full *full, struct full_ctx *ctx)
{
	const uint32_t types[] = {
		ONPU_MSG_CTX_KILL,
		ONPU_MSG_QUEUE_UNBIND,
		ONPU_MSG_CTX_DESTROY,
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(types); i++) {
		union onpu_msg m = { .ctx = { .type = types[i], .context = ctx->id } };

		if (types[i] == ONPU_MSG_QUEUE_UNBIND)
			m.queue.queue = ctx->queue;
		full_request(full, &m, NULL);
	}
	release(full, &ctx->ring, false);
	release(full, &ctx->completion, false);
	release(full, &ctx->save, false);
}

static struct winsys_ctx *full_ctx_create(struct winsys *ws, enum winsys_power power,
					  struct wnn_error *err)
{
	struct full *full = full_of(ws);
	struct full_ctx *ctx = wnn_calloc(1, sizeof(*ctx));

	(void)power;
	if (!ctx) {
		wnn_error_nomem(err, "a device context");
		return NULL;
	}
	ctx->base.full = full;
	sim_queue_init(&ctx->waiting);
	if (!take_queue(full, ctx, err)) {
		if (!make_context(full, ctx, err))
			return &ctx->base;
		unmake_context(full, ctx);
		give_queue(full, ctx);
	}
	wnn_free(ctx);
	return NULL;
}

static void full_ctx_destroy(struct winsys_ctx *base)
{
	struct full_ctx *ctx = ctx_of(base);
	struct full *full;

	if (!base)
		return;
	full = base->full;
	pthread_mutex_lock(&full->sync.lock);
	cancel_rest(ctx);
	pthread_cond_broadcast(&full->sync.changed);
	pthread_mutex_unlock(&full->sync.lock);
	unmake_context(full, ctx);
	give_queue(full, ctx);
	wnn_free(ctx);
}

/* ---- the winsys */

static void full_destroy(struct winsys *ws)
{
	struct full *full = full_of(ws);

	full_driver_stop(full);
	full_memory_destroy(&full->memory);
	sim_sync_destroy(&full->sync);
	pthread_mutex_destroy(&full->requests);
	pthread_mutex_destroy(&full->invalidations);
	wnn_free(full);
}

static const struct winsys_ops full_ops = {
	.destroy = full_destroy,
	.bo_create = full_bo_create,
	.bo_import = full_bo_import,
	.bo_destroy = full_bo_destroy,
	.ctx_create = full_ctx_create,
	.ctx_destroy = full_ctx_destroy,
	.submit = full_submit,
	.wait = full_wait,
};

static void read_caps(struct full *full)
{
	struct npu_caps *caps = &full->base.caps;

	*caps = (struct npu_caps){
		.sram_bytes = full_read(full, ONPU_REG_CAP_SRAM_BYTES),
		.lanes = full_read(full, ONPU_REG_CAP_LANES),
		.mxu_rows = full_read(full, ONPU_REG_CAP_MXU_ROWS),
		.mxu_cols = full_read(full, ONPU_REG_CAP_MXU_COLS),
		.features = full_read(full, ONPU_REG_CAP_FEATURES),
		.fifo_depth = full_read(full, ONPU_REG_CAP_FIFO_DEPTH),
		.dma_bytes_per_cycle = full_read(full, ONPU_REG_CAP_DMA_BYTES),
		.num_queues = full_read(full, ONPU_REG_CAP_NUM_QUEUES),
		.isa_major = full_read(full, ONPU_REG_CAP_ISA) >> ONPU_CAP_ISA_MAJOR__SHIFT,
	};
	snprintf(caps->machine, sizeof(caps->machine), "%s",
		 onpu_machine_name(full_read(full, ONPU_REG_CAP_MACHINE)));
}

static void init_sync(struct full *full)
{
	sim_sync_init(&full->sync);
	pthread_mutex_init(&full->requests, NULL);
	pthread_mutex_init(&full->invalidations, NULL);
}

struct winsys *winsys_sim_full_create(const struct winsys_sim_config *config, struct wnn_error *err)
{
	struct full *full = wnn_calloc(1, sizeof(*full));

	if (!full) {
		wnn_error_nomem(err, "the device model");
		return NULL;
	}
	full->base.ops = &full_ops;
	full->base.name = "sim";
	init_sync(full);
	if (full_memory_init(&full->memory, err) || full_driver_start(full, config, err)) {
		full_destroy(&full->base);
		return NULL;
	}
	read_caps(full);
	return &full->base;
}
