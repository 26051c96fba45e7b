// SPDX-License-Identifier: MIT
/* Implements the device of fake.h. */
#include "fake.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "onpu/registers.h"
#include "onpu/slots.h"

#define PAGE UINT64_C(4096)

struct winsys_ctx {
	uint64_t submitted;
	bool dead;
};

struct fake fake = { .lock = PTHREAD_MUTEX_INITIALIZER, .released = PTHREAD_COND_INITIALIZER };

static struct winsys_bo *fake_bo_create(struct winsys *ws, size_t size, struct wnn_error *err)
{
	struct winsys_bo *bo = calloc(1, sizeof(*bo));

	pthread_mutex_lock(&fake.lock);
	if (++fake.made_bos == fake.fail_bo_at || fake.num_bos == MAX_BOS) {
		pthread_mutex_unlock(&fake.lock);
		free(bo);
		wnn_error_set(err, WNN_UNKNOWN_ERROR, "no memory on the fake device");
		return NULL;
	}
	bo->ws = ws;
	bo->size = size;
	bo->map = aligned_alloc(PAGE, (size + PAGE - 1) / PAGE * PAGE);
	/* No byte of the memory is zero: the library has to write the zeros that it needs. */
	memset(bo->map, 0xa5, size);
	bo->va = fake.next_va += 1 << 28;
	fake.bos[fake.num_bos++] = bo;
	pthread_mutex_unlock(&fake.lock);
	return bo;
}

static void fake_bo_destroy(struct winsys_bo *bo)
{
	pthread_mutex_lock(&fake.lock);
	for (size_t i = 0; i < fake.num_bos; i++)
		if (fake.bos[i] == bo) {
			fake.bos[i] = fake.bos[--fake.num_bos];
			break;
		}
	pthread_mutex_unlock(&fake.lock);
	free(bo->map);
	free(bo);
}

static struct winsys_ctx *fake_ctx_create(struct winsys *ws, enum winsys_power power,
					  struct wnn_error *err)
{
	struct winsys_ctx *ctx = NULL;

	(void)ws;
	(void)power;
	pthread_mutex_lock(&fake.lock);
	if (++fake.made_contexts == fake.fail_ctx_at) {
		wnn_error_set(err, WNN_OPERATION_ERROR, "no context on the fake device");
	} else {
		ctx = calloc(1, sizeof(*ctx));
		fake.contexts++;
	}
	pthread_mutex_unlock(&fake.lock);
	return ctx;
}

static void fake_ctx_destroy(struct winsys_ctx *ctx)
{
	pthread_mutex_lock(&fake.lock);
	fake.contexts--;
	pthread_mutex_unlock(&fake.lock);
	free(ctx);
}

/*
 * Returns the memory at an address of the device, or NULL if no buffer has @size bytes from there.
 */
static void *at(uint64_t va, uint64_t size)
{
	for (size_t i = 0; i < fake.num_bos; i++) {
		const struct winsys_bo *bo = fake.bos[i];

		if (va >= bo->va && va - bo->va <= bo->size && size <= bo->size - (va - bo->va))
			return (char *)bo->map + (va - bo->va);
	}
	return NULL;
}

static void check_job(const struct winsys_job *job)
{
	const struct onpu_slot_tensor *slots = at(job->slots_va, (uint64_t)job->num_slots * 128);

	if (!at(job->program_va, (uint64_t)job->num_insns * 16) || !slots) {
		fake.bad_slots++;
		return;
	}
	for (uint32_t i = 1; i < job->num_slots; i++)
		if (slots[i].kind == ONPU_SLOT_TENSOR && slots[i].space == ONPU_SPACE_VA &&
		    !at(slots[i].base, slots[i].size))
			fake.bad_slots++;
}

static int fake_submit(struct winsys_ctx *ctx, const struct winsys_job *jobs, uint32_t count,
		       uint64_t *seqno, struct wnn_error *err)
{
	int ret = 0;

	pthread_mutex_lock(&fake.lock);
	if (ctx->dead || ++fake.jobs == fake.fail_submit_at) {
		ret = wnn_error_set(err, WNN_OPERATION_ERROR, "the fake device takes no job");
	} else {
		for (uint32_t i = 0; i < count; i++)
			check_job(&jobs[i]);
		*seqno = ctx->submitted += count;
	}
	pthread_mutex_unlock(&fake.lock);
	return ret;
}

static int fake_wait(struct winsys_ctx *ctx, uint64_t seqno, uint64_t timeout_ns,
		     struct winsys_result *result, struct wnn_error *err)
{
	unsigned int run;
	int ret = 0;

	(void)seqno;
	(void)timeout_ns;
	pthread_mutex_lock(&fake.lock);
	while (fake.hold)
		pthread_cond_wait(&fake.released, &fake.lock);
	memset(result, 0, sizeof(*result));
	result->cycles = 1000;
	run = ++fake.runs;
	if (ctx->dead) {
		ret = wnn_error_set(err, WNN_OPERATION_ERROR, "the context is dead");
	} else if (run == fake.fault_at) {
		ctx->dead = true;
		result->fault_code = ONPU_FAULT_BOUNDS;
		result->fault_engine = ONPU_ENG_VPU;
		result->fault_operand = ONPU_OPERAND_S1;
		result->fault_pc = 2;
		result->fault_address = 0xdead;
	} else if (fake.cancels) {
		fake.cancels--;
		result->cancelled = true;
	} else if (run == fake.lose_at) {
		ret = wnn_error_set(err, WNN_OPERATION_ERROR, "the fake device fell off the bus");
	}
	pthread_mutex_unlock(&fake.lock);
	return ret;
}

static void fake_destroy(struct winsys *ws)
{
	(void)ws;
	pthread_mutex_lock(&fake.lock);
	fake.alive = false;
	pthread_cond_broadcast(&fake.released);
	pthread_mutex_unlock(&fake.lock);
}

static const struct winsys_ops fake_ops = {
	.destroy = fake_destroy,
	.bo_create = fake_bo_create,
	.bo_destroy = fake_bo_destroy,
	.ctx_create = fake_ctx_create,
	.ctx_destroy = fake_ctx_destroy,
	.submit = fake_submit,
	.wait = fake_wait,
};

struct winsys *winsys_sim_create(const struct winsys_sim_config *config, struct wnn_error *err)
{
	(void)config;
	(void)err;
	fake.base.ops = &fake_ops;
	fake.base.name = "sim";
	fake.base.caps = (struct npu_caps){
		.sram_bytes = 65536,
		.lanes = ONPU_CAP_LANES__RESET,
		.mxu_rows = ONPU_CAP_MXU_ROWS__RESET,
		.mxu_cols = ONPU_CAP_MXU_COLS__RESET,
		.fifo_depth = ONPU_CAP_FIFO_DEPTH__RESET,
		.dma_bytes_per_cycle = ONPU_CAP_DMA_BYTES__RESET,
		.num_queues = 4,
		.max_slots = fake.max_slots,
		.isa_major = fake.isa_major,
		.machine = "onpu-fake",
	};
	fake.alive = true;
	return &fake.base;
}

int setup(void **state)
{
	static struct fixture f;

	fake.next_va = UINT64_C(1) << 32;
	fake.contexts = fake.jobs = fake.runs = fake.bad_slots = 0;
	fake.fault_at = fake.lose_at = fake.fail_bo_at = fake.fail_ctx_at = fake.fail_submit_at = 0;
	fake.made_bos = fake.made_contexts = fake.cancels = 0;
	fake.hold = false;
	fake.max_slots = 0;
	fake.isa_major = ONPU_ISA_MAJOR;
	f.instance = wnnCreateInstance(NULL);
	f.context = open_context(f.instance, "sim");
	f.notes = notes_create();
	*state = &f;
	return 0;
}

void release_jobs(void)
{
	pthread_mutex_lock(&fake.lock);
	fake.hold = false;
	pthread_cond_broadcast(&fake.released);
	pthread_mutex_unlock(&fake.lock);
}

void wait_for_the_end(void)
{
	struct timespec deadline;

	clock_gettime(CLOCK_REALTIME, &deadline);
	deadline.tv_sec += 60;
	pthread_mutex_lock(&fake.lock);
	while (fake.alive && !pthread_cond_timedwait(&fake.released, &fake.lock, &deadline))
		;
	pthread_mutex_unlock(&fake.lock);
	assert_false(fake.alive);
	assert_int_equal(fake.num_bos, 0);
	assert_int_equal(fake.contexts, 0);
	assert_int_equal(fake.bad_slots, 0);
}

int teardown(void **state)
{
	struct fixture *f = *state;

	wnnContextRelease(f->context);
	wnnInstanceRelease(f->instance);
	wait_for_the_end();
	return 0;
}
