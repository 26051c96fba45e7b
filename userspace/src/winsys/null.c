// SPDX-License-Identifier: MIT
/*
 * A winsys that accepts every job and computes nothing, for tests of error paths: it can make the
 * n-th call fail.
 */
#include "winsys/winsys.h"

#include <pthread.h>

#include "util/malloc.h"
#include "util/number.h"

struct null_winsys {
	struct winsys base;
	pthread_mutex_t lock;
	uint32_t calls, fail_at;
	uint64_t next_va;
};

struct winsys_ctx {
	struct null_winsys *ws;
	uint64_t submitted;
};

/* Counts a call; returns true when this call is the one that shall fail. */
static bool fails(struct null_winsys *null)
{
	bool yes;

	pthread_mutex_lock(&null->lock);
	yes = ++null->calls == null->fail_at;
	pthread_mutex_unlock(&null->lock);
	return yes;
}

static struct winsys_bo *null_bo_create(struct winsys *ws, size_t size, struct wnn_error *err)
{
	struct null_winsys *null = (struct null_winsys *)ws;
	struct winsys_bo *bo = fails(null) ? NULL : wnn_calloc(1, sizeof(*bo));
	size_t pages = wnn_align_up(size, ONPU_PAGE_SIZE);

	if (bo)
		bo->map = wnn_calloc(1, pages ? pages : 1);
	if (!bo || !bo->map) {
		wnn_free(bo);
		wnn_error_nomem(err, "a device buffer");
		return NULL;
	}
	bo->ws = ws;
	bo->size = size;
	pthread_mutex_lock(&null->lock);
	bo->va = null->next_va;
	null->next_va += pages + ONPU_PAGE_SIZE;
	pthread_mutex_unlock(&null->lock);
	return bo;
}

static void null_bo_destroy(struct winsys_bo *bo)
{
	if (!bo)
		return;
	wnn_free(bo->map);
	wnn_free(bo);
}

static struct winsys_ctx *null_ctx_create(struct winsys *ws, enum winsys_power power,
					  struct wnn_error *err)
{
	struct null_winsys *null = (struct null_winsys *)ws;
	struct winsys_ctx *ctx = fails(null) ? NULL : wnn_calloc(1, sizeof(*ctx));

	(void)power;
	if (!ctx) {
		wnn_error_nomem(err, "a device context");
		return NULL;
	}
	ctx->ws = null;
	return ctx;
}

static void null_ctx_destroy(struct winsys_ctx *ctx)
{
	wnn_free(ctx);
}

static int null_submit(struct winsys_ctx *ctx, const struct winsys_job *jobs, uint32_t count,
		       uint64_t *seqno, struct wnn_error *err)
{
	(void)jobs;
	if (fails(ctx->ws))
		return wnn_error_set(
			err, WNN_OPERATION_ERROR,
			"the device that the library's own tests use refuses this job");
	pthread_mutex_lock(&ctx->ws->lock);
	ctx->submitted += count;
	*seqno = ctx->submitted;
	pthread_mutex_unlock(&ctx->ws->lock);
	return 0;
}

static int null_wait(struct winsys_ctx *ctx, uint64_t seqno, uint64_t timeout_ns,
		     struct winsys_result *result, struct wnn_error *err)
{
	(void)seqno;
	(void)timeout_ns;
	if (fails(ctx->ws))
		return wnn_error_set(
			err, WNN_OPERATION_ERROR,
			"the device that the library's own tests use does not end this job");
	*result = (struct winsys_result){ .fault_code = 0 };
	return 0;
}

static void null_destroy(struct winsys *ws)
{
	struct null_winsys *null = (struct null_winsys *)ws;

	pthread_mutex_destroy(&null->lock);
	wnn_free(null);
}

static const struct winsys_ops null_ops = {
	.destroy = null_destroy,
	.bo_create = null_bo_create,
	.bo_destroy = null_bo_destroy,
	.ctx_create = null_ctx_create,
	.ctx_destroy = null_ctx_destroy,
	.submit = null_submit,
	.wait = null_wait,
};

struct winsys *winsys_null_create(const struct winsys_null_config *config, struct wnn_error *err)
{
	struct null_winsys *null = wnn_calloc(1, sizeof(*null));

	if (!null) {
		wnn_error_nomem(err, "the null device");
		return NULL;
	}
	null->base.ops = &null_ops;
	null->base.name = "null";
	null->base.caps = config->caps;
	null->fail_at = config->fail_at;
	null->next_va = WINSYS_VA_FIRST;
	pthread_mutex_init(&null->lock, NULL);
	return &null->base;
}
