// SPDX-License-Identifier: MIT
/* Tests buffers, contexts and jobs of the winsys back ends that need no driver: sim and null. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <string.h>

#include <onpu/isa.h>
#include <onpu/slots.h>

#include "winsys/winsys.h"

#define ELEMENTS 64

/* A program that copies one buffer to another and ends. */
struct rig {
	struct winsys *ws;
	struct winsys_bo *insns, *slots, *from, *to;
};

static struct winsys *open_sim(void)
{
	struct winsys_sim_config config = { .simd = -1, .sram_bytes = 64 << 10 };
	struct wnn_error err = { 0 };
	struct winsys *ws = winsys_sim_create(&config, &err);

	assert_non_null(ws);
	return ws;
}

static struct winsys_bo *make_bo(struct winsys *ws, size_t size)
{
	struct wnn_error err = { 0 };
	struct winsys_bo *bo = ws->ops->bo_create(ws, size, &err);

	assert_non_null(bo);
	return bo;
}

static void put_tensor(union onpu_slot *slot, uint64_t va)
{
	memset(slot, 0, sizeof(*slot));
	slot->tensor.kind = ONPU_SLOT_TENSOR;
	slot->tensor.dtype = ONPU_DT_F32;
	slot->tensor.rank = 1;
	slot->tensor.space = ONPU_SPACE_VA;
	slot->tensor.base = va;
	slot->tensor.size = ELEMENTS * 4;
	slot->tensor.dim[0] = ELEMENTS;
	slot->tensor.stride[0] = 4;
}

static void rig_init(struct rig *rig, struct winsys *ws)
{
	struct onpu_insn copy = { .op = ONPU_OP_DMA_COPY, .dst = 2, .s0 = 1 },
			 end = { .op = ONPU_OP_END };
	union onpu_slot *slots;
	uint32_t(*words)[4];

	rig->ws = ws;
	rig->insns = make_bo(ws, 2 * 16);
	rig->slots = make_bo(ws, 3 * sizeof(union onpu_slot));
	rig->from = make_bo(ws, ELEMENTS * 4);
	rig->to = make_bo(ws, ELEMENTS * 4);
	words = rig->insns->map;
	assert_int_equal(onpu_insn_pack(&copy, words[0]), 0);
	assert_int_equal(onpu_insn_pack(&end, words[1]), 0);
	slots = rig->slots->map;
	memset(slots, 0, sizeof(*slots));
	slots[0].program.kind = ONPU_SLOT_PROGRAM;
	slots[0].program.isa_major = ONPU_ISA_MAJOR;
	put_tensor(&slots[1], rig->from->va);
	put_tensor(&slots[2], rig->to->va);
	for (int i = 0; i < ELEMENTS; i++)
		((uint32_t *)rig->from->map)[i] = 1000 + i;
}

static void rig_free(struct rig *rig)
{
	rig->ws->ops->bo_destroy(rig->insns);
	rig->ws->ops->bo_destroy(rig->slots);
	rig->ws->ops->bo_destroy(rig->from);
	rig->ws->ops->bo_destroy(rig->to);
}

static struct winsys_job rig_job(const struct rig *rig)
{
	return (struct winsys_job){ .program_va = rig->insns->va,
				    .slots_va = rig->slots->va,
				    .num_insns = 2,
				    .num_slots = 3 };
}

static void test_buffers(void **state)
{
	struct winsys *ws = open_sim();
	struct winsys_bo *bo[40] = { NULL };
	struct wnn_error err = { 0 };

	(void)state;
	for (int round = 0; round < 4; round++) {
		for (int i = round & 1; i < 40; i += 2) {
			ws->ops->bo_destroy(bo[i]);
			bo[i] = make_bo(ws, 1 + (size_t)i * 700);
			assert_int_equal(bo[i]->va % 4096, 0);
			memset(bo[i]->map, i, bo[i]->size);
		}
		for (int i = 0; i < 40; i++)
			for (int j = 0; j < i; j++)
				assert_true(!bo[i] || !bo[j] ||
					    bo[i]->va + bo[i]->size < bo[j]->va ||
					    bo[j]->va + bo[j]->size < bo[i]->va);
	}
	assert_null(ws->ops->bo_create(ws, 0, &err));
	assert_null(ws->ops->bo_create(ws, SIZE_MAX / 2, &err));
	assert_non_null(strstr(err.message, "too little memory is free"));
	for (int i = 0; i < 20; i++)
		ws->ops->bo_destroy(bo[i]);
	ws->ops->bo_destroy(NULL);
	/* Destroying the device frees the other buffers. */
	ws->ops->destroy(ws);
}

static void test_jobs(void **state)
{
	struct winsys *ws = open_sim();
	struct wnn_error err = { 0 };
	struct winsys_result result;
	struct winsys_ctx *ctx;
	struct winsys_job job[3];
	struct rig rig;
	uint64_t seqno;

	(void)state;
	rig_init(&rig, ws);
	ctx = ws->ops->ctx_create(ws, WINSYS_POWER_DEFAULT, &err);
	for (int i = 0; i < 3; i++)
		job[i] = rig_job(&rig);
	assert_int_equal(ws->ops->submit(ctx, job, 3, &seqno, &err), 0);
	assert_int_equal(seqno, 3);
	for (uint64_t i = 1; i <= 3; i++) {
		assert_int_equal(ws->ops->wait(ctx, i, UINT64_MAX, &result, &err), 0);
		assert_int_equal(result.fault_code, 0);
		assert_true(result.has_counters && result.cycles > 0);
		assert_int_equal(result.bytes_ld, ELEMENTS * 4);
	}
	assert_memory_equal(rig.from->map, rig.to->map, ELEMENTS * 4);
	assert_int_equal(ws->ops->wait(ctx, 4, 0, &result, &err), -1);
	/* A job that ended long ago still counts as ended. */
	for (int i = 0; i < 300; i++)
		assert_int_equal(ws->ops->submit(ctx, job, 1, &seqno, &err), 0);
	assert_int_equal(ws->ops->wait(ctx, seqno, UINT64_MAX, &result, &err), 0);
	assert_int_equal(ws->ops->wait(ctx, 2, 0, &result, &err), 0);
	assert_false(result.has_counters);
	ws->ops->ctx_destroy(ctx);
	rig_free(&rig);
	ws->ops->destroy(ws);
}

static void test_fault(void **state)
{
	struct winsys *ws = open_sim();
	struct wnn_error err = { 0 };
	struct winsys_ctx *ctx, *other;
	struct winsys_result result;
	struct winsys_job job[2];
	struct rig rig;
	uint64_t seqno, stale;

	(void)state;
	rig_init(&rig, ws);
	ctx = ws->ops->ctx_create(ws, WINSYS_POWER_DEFAULT, &err);
	other = ws->ops->ctx_create(ws, WINSYS_POWER_DEFAULT, &err);
	stale = rig.to->va;
	ws->ops->bo_destroy(rig.to);
	rig.to = make_bo(ws, ELEMENTS * 4);
	assert_true(rig.to->va != stale);
	job[0] = job[1] = rig_job(&rig);
	assert_int_equal(ws->ops->submit(ctx, job, 2, &seqno, &err), 0);
	assert_int_equal(ws->ops->wait(ctx, 1, UINT64_MAX, &result, &err), 0);
	assert_int_equal(result.fault_code, ONPU_FAULT_MMU_NOT_PRESENT);
	assert_int_equal(result.fault_pc, 0);
	assert_int_equal(result.fault_address, stale);
	/*
	 * The job after the fault is cancelled, the context refuses more, another context goes on.
	 */
	assert_int_equal(ws->ops->wait(ctx, 2, UINT64_MAX, &result, &err), 0);
	assert_true(result.cancelled);
	assert_int_equal(ws->ops->submit(ctx, job, 1, &seqno, &err), -1);
	assert_non_null(strstr(err.message, "lost"));
	put_tensor((union onpu_slot *)rig.slots->map + 2, rig.to->va);
	assert_int_equal(ws->ops->submit(other, job, 1, &seqno, &err), 0);
	assert_int_equal(ws->ops->wait(other, seqno, UINT64_MAX, &result, &err), 0);
	assert_int_equal(result.fault_code, 0);
	ws->ops->ctx_destroy(ctx);
	ws->ops->ctx_destroy(other);
	rig_free(&rig);
	ws->ops->destroy(ws);
}

static void *submit_many(void *arg)
{
	struct rig rig;
	struct winsys *ws = arg;
	struct wnn_error err = { 0 };
	struct winsys_ctx *ctx = ws->ops->ctx_create(ws, WINSYS_POWER_DEFAULT, &err);
	uintptr_t good = 0;

	rig_init(&rig, ws);
	for (int i = 0; i < 50; i++) {
		struct winsys_job job = rig_job(&rig);
		struct winsys_result result;
		uint64_t seqno;

		memset(rig.to->map, 0, ELEMENTS * 4);
		if (ws->ops->submit(ctx, &job, 1, &seqno, &err) ||
		    ws->ops->wait(ctx, seqno, UINT64_MAX, &result, &err))
			break;
		good += !result.fault_code && !memcmp(rig.from->map, rig.to->map, ELEMENTS * 4);
	}
	ws->ops->ctx_destroy(ctx);
	rig_free(&rig);
	return (void *)good;
}

static void test_threads(void **state)
{
	struct winsys *ws = open_sim();
	pthread_t thread[4];
	void *good;

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, submit_many, ws), 0);
	for (int i = 0; i < 4; i++) {
		pthread_join(thread[i], &good);
		assert_int_equal((uintptr_t)good, 50);
	}
	ws->ops->destroy(ws);
}

/* Tests that a context can be destroyed while jobs are queued and running. */
static void test_abandoned(void **state)
{
	struct winsys *ws = open_sim();
	struct wnn_error err = { 0 };
	struct winsys_ctx *ctx, *other;
	struct winsys_result result;
	struct winsys_job job[64];
	struct rig rig;
	uint64_t seqno;

	(void)state;
	rig_init(&rig, ws);
	for (int i = 0; i < 64; i++)
		job[i] = rig_job(&rig);
	ctx = ws->ops->ctx_create(ws, WINSYS_POWER_DEFAULT, &err);
	other = ws->ops->ctx_create(ws, WINSYS_POWER_DEFAULT, &err);
	assert_int_equal(ws->ops->submit(ctx, job, 64, &seqno, &err), 0);
	assert_int_equal(ws->ops->submit(other, job, 1, &seqno, &err), 0);
	ws->ops->ctx_destroy(ctx);
	assert_int_equal(ws->ops->wait(other, seqno, UINT64_MAX, &result, &err), 0);
	ws->ops->ctx_destroy(other);
	rig_free(&rig);
	ws->ops->destroy(ws);
}

static void test_null(void **state)
{
	struct winsys_null_config config = { .caps = { .sram_bytes = 16384 }, .fail_at = 4 };
	struct wnn_error err = { 0 };
	struct winsys *ws = winsys_null_create(&config, &err);
	struct winsys_result result;
	struct winsys_job job = { .num_insns = 1 };
	struct winsys_ctx *ctx;
	struct winsys_bo *bo;
	uint64_t seqno;

	(void)state;
	assert_non_null(ws);
	assert_int_equal(ws->caps.sram_bytes, 16384);
	bo = ws->ops->bo_create(ws, 100, &err);
	ctx = ws->ops->ctx_create(ws, WINSYS_POWER_DEFAULT, &err);
	assert_non_null(bo);
	assert_non_null(ctx);
	assert_int_equal(ws->ops->submit(ctx, &job, 1, &seqno, &err), 0);
	assert_int_equal(ws->ops->wait(ctx, seqno, 0, &result, &err), -1); /* this call must fail */
	assert_int_equal(ws->ops->wait(ctx, seqno, 0, &result, &err), 0);
	ws->ops->ctx_destroy(ctx);
	ws->ops->bo_destroy(bo);
	ws->ops->destroy(ws);
	for (uint32_t fail = 1; fail <= 2; fail++) {
		config.fail_at = fail;
		ws = winsys_null_create(&config, &err);
		bo = ws->ops->bo_create(ws, 100, &err);
		assert_true((bo == NULL) == (fail == 1));
		ctx = ws->ops->ctx_create(ws, WINSYS_POWER_DEFAULT, &err);
		assert_true((ctx == NULL) == (fail == 2));
		ws->ops->ctx_destroy(ctx);
		ws->ops->bo_destroy(bo);
		ws->ops->destroy(ws);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_buffers),	  cmocka_unit_test(test_jobs),
		cmocka_unit_test(test_fault),	  cmocka_unit_test(test_threads),
		cmocka_unit_test(test_abandoned), cmocka_unit_test(test_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
