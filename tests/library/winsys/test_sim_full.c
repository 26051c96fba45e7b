// SPDX-License-Identifier: MIT
/*
 * Tests the full mode of the device model as a winsys: it gives the bits and cycles of flat mode.
 * Also tests its limits, faults and destroyed objects.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <unistd.h>

#include "device/jobs.h"
#include "winsys/winsys.h"

#define SRAM JOB_SRAM

struct loaded {
	struct winsys *ws;
	struct winsys_bo *insns, *slots, *data;
	struct winsys_job job;
};

static struct winsys *open_sim(bool full)
{
	const struct winsys_sim_config config = { .full = full, .sram_bytes = SRAM, .simd = -1 };
	struct wnn_error err = { 0 };
	struct winsys *ws = winsys_sim_create(&config, &err);

	if (!ws)
		fail_msg("%s", err.message);
	return ws;
}

static struct winsys_bo *make_bo(struct winsys *ws, size_t size, const void *from)
{
	struct wnn_error err = { 0 };
	struct winsys_bo *bo = ws->ops->bo_create(ws, size, &err);

	assert_non_null(bo);
	if (from)
		memcpy(bo->map, from, size);
	return bo;
}

static void load(struct loaded *l, struct winsys *ws, const struct program *p)
{
	l->ws = ws;
	l->insns = make_bo(ws, p->num_insns * sizeof(p->insns[0]), p->insns);
	l->slots = make_bo(ws, p->num_slots * sizeof(p->slots[0]), p->slots);
	l->data = make_bo(ws, p->data_size, p->data);
	for (uint32_t i = 0; i < p->num_slots; i++) {
		struct onpu_slot_tensor *t = (struct onpu_slot_tensor *)l->slots->map + i;

		if (t->kind == ONPU_SLOT_TENSOR && t->space == ONPU_SPACE_VA)
			t->base += l->data->va - DATA_VA;
	}
	l->job = (struct winsys_job){
		.program_va = l->insns->va,
		.num_insns = p->num_insns,
		.slots_va = l->slots->va,
		.num_slots = p->num_slots,
	};
}

static void unload(struct loaded *l)
{
	l->ws->ops->bo_destroy(l->insns);
	l->ws->ops->bo_destroy(l->slots);
	l->ws->ops->bo_destroy(l->data);
}

static struct winsys_result run(struct winsys_ctx *ctx, const struct loaded *l)
{
	struct winsys_result result = { 0 };
	struct wnn_error err = { 0 };
	uint64_t seqno;

	assert_int_equal(l->ws->ops->submit(ctx, &l->job, 1, &seqno, &err), 0);
	if (l->ws->ops->wait(ctx, seqno, UINT64_MAX, &result, &err))
		fail_msg("%s", err.message);
	return result;
}

static struct winsys_ctx *make_ctx(struct winsys *ws)
{
	struct wnn_error err = { 0 };
	struct winsys_ctx *ctx = ws->ops->ctx_create(ws, WINSYS_POWER_DEFAULT, &err);

	assert_non_null(ctx);
	return ctx;
}

static void test_like_flat(void **state)
{
	struct winsys *ws[2] = { open_sim(false), open_sim(true) };

	(void)state;
	assert_memory_equal(&ws[0]->caps, &ws[1]->caps, sizeof(ws[0]->caps));
	for (unsigned int stages = 1; stages < 6; stages++) {
		struct program *p = job_stages(stages, (float)stages);
		struct winsys_result result[2];
		struct loaded l[2];

		for (int i = 0; i < 2; i++) {
			struct winsys_ctx *ctx = make_ctx(ws[i]);

			load(&l[i], ws[i], p);
			result[i] = run(ctx, &l[i]);
			ws[i]->ops->ctx_destroy(ctx);
			assert_int_equal(result[i].fault_code, 0);
		}
		assert_int_equal(result[0].cycles, result[1].cycles);
		assert_true(result[0].has_counters && result[1].has_counters);
		assert_memory_equal(result[0].busy, result[1].busy, sizeof(result[0].busy));
		assert_int_equal(result[0].macs, result[1].macs);
		assert_int_equal(result[0].bytes_ld, result[1].bytes_ld);
		assert_int_equal(result[0].bytes_st, result[1].bytes_st);
		assert_memory_equal(l[0].data->map, l[1].data->map, p->data_size);
		for (int i = 0; i < 2; i++)
			unload(&l[i]);
		program_destroy(p);
	}
	for (int i = 0; i < 2; i++)
		ws[i]->ops->destroy(ws[i]);
}

static void test_fault_like_flat(void **state)
{
	struct winsys *ws[2] = { open_sim(false), open_sim(true) };
	struct program *p = job_stages(3, 1.0f);
	struct winsys_result result[2];
	struct wnn_error err = { 0 };
	struct loaded l[2];
	uint64_t seqno;

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct winsys_ctx *ctx = make_ctx(ws[i]);
		struct winsys_job jobs[2];

		load(&l[i], ws[i], p);
		jobs[0] = jobs[1] = l[i].job;
		jobs[0].num_insns = 7;
		assert_int_equal(ws[i]->ops->submit(ctx, jobs, 2, &seqno, &err), 0);
		assert_int_equal(ws[i]->ops->wait(ctx, 1, UINT64_MAX, &result[i], &err), 0);
		assert_int_equal(result[i].fault_code, ONPU_FAULT_ILLEGAL_OPCODE);
		assert_int_equal(result[i].fault_pc, 7);
		assert_int_equal(ws[i]->ops->wait(ctx, 2, UINT64_MAX, &result[i], &err), 0);
		assert_true(result[i].cancelled);
		assert_int_equal(ws[i]->ops->submit(ctx, jobs, 1, &seqno, &err), -1);
		assert_non_null(strstr(err.message, "lost"));
		ws[i]->ops->ctx_destroy(ctx);
		unload(&l[i]);
		ws[i]->ops->destroy(ws[i]);
	}
	program_destroy(p);
}

/* Tests more jobs than the ring has entries, which are submitted before anybody waits. */
static void test_many_jobs(void **state)
{
	struct winsys *ws = open_sim(true);
	struct winsys_ctx *ctx = make_ctx(ws);
	struct program *p = job_stages(1, 1.0f);
	struct wnn_error err = { 0 };
	struct winsys_result result;
	struct winsys_job jobs[200];
	uint64_t seqno, cycles;
	struct loaded l;

	(void)state;
	load(&l, ws, p);
	for (int i = 0; i < 200; i++)
		jobs[i] = l.job;
	assert_int_equal(ws->ops->submit(ctx, jobs, 200, &seqno, &err), 0);
	assert_int_equal(seqno, 200);
	assert_int_equal(ws->ops->wait(ctx, 200, UINT64_MAX, &result, &err), 0);
	cycles = result.cycles;
	for (uint64_t i = 1; i <= 200; i++) {
		assert_int_equal(ws->ops->wait(ctx, i, 0, &result, &err), 0);
		assert_int_equal(result.fault_code, 0);
		assert_int_equal(result.cycles, cycles);
	}
	assert_int_equal(ws->ops->wait(ctx, 201, 0, &result, &err), -1);
	assert_int_equal(ws->ops->wait(ctx, 0, 0, &result, &err), -1);
	ws->ops->ctx_destroy(ctx);
	unload(&l);
	ws->ops->destroy(ws);
	program_destroy(p);
}

/*
 * Tests buffers that are destroyed: a job sees the new content of a reused address, and faults on
 * an address that is free.
 */
static void test_buffers(void **state)
{
	struct winsys *ws = open_sim(true);
	struct winsys_ctx *ctx = make_ctx(ws);
	struct program *p = job_stages(2, 1.0f);
	struct winsys_result result;
	struct wnn_error err = { 0 };
	struct winsys_bo *large[3];
	struct loaded l, first;

	(void)state;
	for (int round = 0; round < 20; round++) {
		load(&l, ws, p);
		assert_int_equal(run(ctx, &l).fault_code, 0);
		assert_true(((float *)l.data->map)[JOB_OUT / 4 + 1] != 0.0f);
		unload(&l);
		large[round % 3] = make_bo(ws, (size_t)(round + 1) << 20, NULL);
		assert_int_equal(((uint8_t *)large[round % 3]->map)[round << 20], 0);
		memset(large[round % 3]->map, 0xff, large[round % 3]->size);
		ws->ops->bo_destroy(large[round % 3]);
	}
	load(&first, ws, p);
	load(&l, ws, p);
	assert_int_equal(run(ctx, &first).fault_code, 0);
	/* The second program's slots name the first one's data, which is gone. */
	memcpy(l.slots->map, first.slots->map, p->num_slots * ONPU_SLOT_SIZE);
	unload(&first);
	result = run(ctx, &l);
	assert_int_equal(result.fault_code, ONPU_FAULT_MMU_NOT_PRESENT);
	unload(&l);
	assert_null(ws->ops->bo_create(ws, 0, &err));
	assert_null(ws->ops->bo_create(ws, SIZE_MAX / 2, &err));
	ws->ops->bo_destroy(NULL);
	ws->ops->ctx_destroy(ctx);
	ws->ops->destroy(ws);
	program_destroy(p);
}

struct task {
	struct winsys *ws;
	const struct program *p;
	uint64_t cycles;
	int good;
};

static void *submit_many(void *arg)
{
	struct task *task = arg;
	struct winsys_ctx *ctx = make_ctx(task->ws);

	for (int i = 0; i < 15; i++) {
		struct loaded l;
		struct winsys_result result;

		load(&l, task->ws, task->p);
		result = run(ctx, &l);
		task->good += !result.fault_code && (!i || result.cycles == task->cycles);
		task->cycles = result.cycles;
		unload(&l);
	}
	task->ws->ops->ctx_destroy(ctx);
	return NULL;
}

static void test_threads(void **state)
{
	struct winsys *ws = open_sim(true);
	struct program *p = job_stages(30, 1.0f);
	struct task task[4];
	pthread_t thread[4];

	(void)state;
	for (int i = 0; i < 4; i++) {
		task[i] = (struct task){ .ws = ws, .p = p };
		assert_int_equal(pthread_create(&thread[i], NULL, submit_many, &task[i]), 0);
	}
	for (int i = 0; i < 4; i++) {
		pthread_join(thread[i], NULL);
		assert_int_equal(task[i].good, 15);
		assert_int_equal(task[i].cycles, task[0].cycles);
	}
	ws->ops->destroy(ws);
	program_destroy(p);
}

/* Tests that a context with queued and running jobs can be destroyed, and its queue used again. */
static void test_abandoned(void **state)
{
	struct winsys *ws = open_sim(true);
	struct program *p = job_stubborn(1 << 20), *q = job_stages(2, 1.0f);
	struct winsys_job jobs[100];
	struct wnn_error err = { 0 };
	struct loaded l, m;
	uint64_t seqno;

	(void)state;
	load(&l, ws, p);
	load(&m, ws, q);
	for (int i = 0; i < 100; i++)
		jobs[i] = l.job;
	for (int i = 0; i < 5; i++) {
		struct winsys_ctx *ctx = make_ctx(ws);

		assert_int_equal(ws->ops->submit(ctx, jobs, 100, &seqno, &err), 0);
		usleep(2000);
		ws->ops->ctx_destroy(ctx);
		ctx = make_ctx(ws);
		assert_int_equal(run(ctx, &m).fault_code, 0);
		ws->ops->ctx_destroy(ctx);
	}
	unload(&l);
	unload(&m);
	ws->ops->destroy(ws);
	program_destroy(p);
	program_destroy(q);
}

static void test_queues_run_out(void **state)
{
	struct winsys *ws = open_sim(true);
	struct winsys_ctx *ctx[ONPU_MAX_QUEUES];
	struct wnn_error err = { 0 };

	(void)state;
	for (unsigned int i = 0; i < ONPU_MAX_QUEUES; i++)
		ctx[i] = make_ctx(ws);
	assert_null(ws->ops->ctx_create(ws, WINSYS_POWER_DEFAULT, &err));
	assert_non_null(strstr(err.message, "one for each hardware queue"));
	ws->ops->ctx_destroy(ctx[17]);
	ctx[17] = make_ctx(ws);
	for (unsigned int i = 0; i < ONPU_MAX_QUEUES; i++)
		ws->ops->ctx_destroy(ctx[i]);
	ws->ops->destroy(ws);
}

static void expect_no_start(const char *firmware, const char *why)
{
	const struct winsys_sim_config config = {
		.full = true,
		.sram_bytes = SRAM,
		.simd = -1,
		.firmware = firmware,
	};
	struct wnn_error err = { 0 };

	assert_null(winsys_sim_create(&config, &err));
	assert_int_equal(err.status, WNN_NOT_SUPPORTED);
	assert_non_null(strstr(err.message, why));
}

static void test_bad_firmware(void **state)
{
	char path[] = "/tmp/onpu-fw-XXXXXX";
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, path, sizeof(path)), sizeof(path));
	close(fd);
	expect_no_start("/nonexistent/onpu.bin", "/nonexistent/onpu.bin");
	expect_no_start("/nonexistent/onpu.bin", "or the variable ONPU_FIRMWARE");
	expect_no_start("/tmp", "cannot read the firmware's image /tmp: Is a directory");
	expect_no_start(path, "does not start on the device sim: the file is cut off");
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_like_flat),      cmocka_unit_test(test_fault_like_flat),
		cmocka_unit_test(test_many_jobs),      cmocka_unit_test(test_buffers),
		cmocka_unit_test(test_threads),	       cmocka_unit_test(test_abandoned),
		cmocka_unit_test(test_queues_run_out), cmocka_unit_test(test_bad_firmware),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
