// SPDX-License-Identifier: MIT
/*
 * Makes the device model a device that is not coherent: it does not see the processor's writes, and
 * the processor does not see the device's. Each buffer is two copies, and bo_sync copies from one
 * to the other. The linker calls this file in place of winsys_sim_create() (--wrap). Some tests run
 * a second time with this file: where the library forgets a sync, their results are wrong.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "util/error.h"
#include "winsys/winsys.h"

/* A buffer. `base.map` is the processor's copy of its data, and `device` has the device's copy. */
struct copied_bo {
	struct winsys_bo base;
	struct winsys_bo *device;
	bool imported; /* device and processor share the memory of a dma-buf, so nothing is copied */
};

static const struct winsys_ops *sim_ops;
static struct winsys_ops ops;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static struct winsys_bo *make(struct winsys *ws, struct winsys_bo *device, void *map)
{
	struct copied_bo *bo;

	if (!device)
		return NULL;
	bo = calloc(1, sizeof(*bo));
	bo->base = (struct winsys_bo){ ws, device->va, device->size, map };
	bo->device = device;
	return &bo->base;
}

static struct winsys_bo *copied_create(struct winsys *ws, size_t size, struct wnn_error *err)
{
	return make(ws, sim_ops->bo_create(ws, size, err), calloc(1, size));
}

static struct winsys_bo *copied_import(struct winsys *ws, const struct wnn_dmabuf *buffer,
				       struct wnn_error *err)
{
	struct winsys_bo *bo = make(ws, sim_ops->bo_import(ws, buffer, err), buffer->map);

	if (bo)
		((struct copied_bo *)bo)->imported = true;
	return bo;
}

static void copied_destroy(struct winsys_bo *base)
{
	struct copied_bo *bo = (struct copied_bo *)base;

	if (!bo)
		return;
	sim_ops->bo_destroy(bo->device);
	if (!bo->imported)
		free(base->map);
	free(bo);
}

/*
 * Copies a range from one copy to the other. Aborts when the range is beyond the buffer or the
 * buffer is imported, which the driver would refuse.
 */
static void copied_sync(struct winsys_bo *base, size_t offset, size_t size, bool for_device)
{
	struct copied_bo *bo = (struct copied_bo *)base;
	char *device = bo->device->map, *own = base->map;

	if (bo->imported || offset > base->size || size > base->size - offset)
		abort();
	if (for_device)
		memcpy(device + offset, own + offset, size);
	else
		memcpy(own + offset, device + offset, size);
}

/* Always fails, and sets *err: nothing would copy the results for those who wait for a fence. */
static int no_fence(struct winsys_ctx *ctx, uint64_t seqno, struct wnn_error *err)
{
	(void)ctx;
	(void)seqno;
	return wnn_error_set(err, WNN_UNKNOWN_ERROR, "these tests have no fences");
}

static void fill_ops(void)
{
	ops = *sim_ops;
	ops.bo_create = copied_create;
	ops.bo_wrap = NULL;
	ops.bo_import = copied_import;
	ops.bo_destroy = copied_destroy;
	ops.bo_sync = copied_sync;
	ops.fence = no_fence;
}

/* Names for the linker's option --wrap; no header declares them. */
struct winsys *__real_winsys_sim_create(const struct winsys_sim_config *config,
					struct wnn_error *err);
struct winsys *__wrap_winsys_sim_create(const struct winsys_sim_config *config,
					struct wnn_error *err);

struct winsys *__wrap_winsys_sim_create(const struct winsys_sim_config *config,
					struct wnn_error *err)
{
	struct winsys *ws = __real_winsys_sim_create(config, err);

	if (!ws)
		return NULL;
	/* All devices of a test have equal operations, so that the operations of one serve all. */
	sim_ops = ws->ops;
	pthread_once(&once, fill_ops);
	ws->ops = &ops;
	return ws;
}
