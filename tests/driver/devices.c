// SPDX-License-Identifier: MIT
/*
 * Tests the three NPUs of the machine of guest_devices.sh in one process: devices use each other's
 * buffers and wait for each other's jobs, and the others go on when one of them is unbound.
 */
#include "harness.h"
#include "npu.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <xf86drm.h>

#define DEVICES 3
#define BYTES	65536u
#define STEPS	16u

struct device {
	int fd;
	struct npu_ctx ctx;
};

FIXTURE(devices)
{
	struct device npu[DEVICES];
};

static void open_all(struct device *npu)
{
	char node[32];

	for (int i = 0; i < DEVICES; i++) {
		snprintf(node, sizeof(node), "/dev/accel/accel%d", i);
		npu[i].fd = npu_open_node(node);
		npu[i].ctx = npu_ctx(npu[i].fd, 0);
	}
}

static void close_all(struct device *npu)
{
	for (int i = 0; i < DEVICES; i++)
		close(npu[i].fd);
}

FIXTURE_SETUP(devices)
{
	open_all(self->npu);
}

FIXTURE_TEARDOWN(devices)
{
	close_all(self->npu);
}

/* Gives a buffer to the device @to by a dma-buf. Returns its handle there. */
static uint32_t give_bo(const struct device *from, const struct npu_bo *bo, const struct device *to)
{
	uint32_t handle = 0;
	int file = -1;

	must(!drmPrimeHandleToFD(from->fd, bo->handle, DRM_CLOEXEC | DRM_RDWR, &file));
	must(!drmPrimeFDToHandle(to->fd, file, &handle));
	close(file);
	return handle;
}

/*
 * Gives the fence of a syncobj to the device @to by a sync file. Returns the handle of the syncobj
 * that has it there.
 */
static uint32_t give_fence(const struct device *from, uint32_t syncobj, const struct device *to)
{
	uint32_t there = npu_syncobj(to->fd);
	int file = -1;

	must(!drmSyncobjExportSyncFile(from->fd, syncobj, &file));
	must(!drmSyncobjImportSyncFile(to->fd, there, file));
	close(file);
	return there;
}

/* Shares a syncobj, not only its present fence, with the device @to. Returns its handle there. */
static uint32_t give_syncobj(const struct device *from, uint32_t syncobj, const struct device *to)
{
	uint32_t there = 0;
	int file = -1;

	must(!drmSyncobjHandleToFD(from->fd, syncobj, &file));
	must(!drmSyncobjFDToHandle(to->fd, file, &there));
	close(file);
	return there;
}

/* Submits a job that waits for @wait unless that is 0, and signals @signal. */
static void submit(const struct device *npu, struct drm_onpu_job job, uint32_t wait,
		   uint32_t signal)
{
	const struct drm_onpu_sync syncs[2] = {
		{ signal, DRM_ONPU_SYNC_SIGNAL, 0 },
		{ wait, DRM_ONPU_SYNC_WAIT, 0 },
	};

	job.syncs = (struct drm_onpu_obj_array)DRM_ONPU_OBJ_ARRAY(wait ? 2 : 1, syncs);
	must(!npu_submit(npu->fd, npu->ctx.id, &job, 1, NULL));
}

/* Starts jobs that end only with their context; returns a syncobj that signals when they end. */
static uint32_t start_endless(const struct device *npu)
{
	struct npu_bo data = npu_bo(npu->fd, NPU_LONG_BYTES, 0);
	uint32_t syncobj = npu_syncobj(npu->fd);

	npu_submit_endless(npu->fd, npu->ctx.id, data.va, syncobj);
	return syncobj;
}

TEST_F(devices, a_buffer_of_each_is_memory_of_the_others)
{
	for (int from = 0; from < DEVICES; from++) {
		const struct device *owner = &self->npu[from],
				    *user = &self->npu[(from + 1) % DEVICES];
		struct npu_ctx ctx = npu_ctx(user->fd, 0);
		struct npu_bo bo = npu_bo(owner->fd, BYTES, 0);
		uint32_t handle = give_bo(owner, &bo, user);
		struct drm_onpu_bo_info info = npu_bo_info(user->fd, handle);
		struct drm_onpu_job job = npu_fill(user->fd, info.va, BYTES, 5);

		EXPECT_EQ(BYTES, info.size);
		EXPECT_EQ(0, npu_run(user->fd, user->ctx.id, &job));
		EXPECT_TRUE(npu_sees(bo.map, BYTES, 5));
		job = npu_fill(owner->fd, bo.va, BYTES / 2, 6);
		EXPECT_EQ(0, npu_run(owner->fd, owner->ctx.id, &job));
		EXPECT_TRUE(npu_sees(bo.map, BYTES / 2, 6));
		EXPECT_TRUE(npu_sees(bo.map + BYTES / 2, BYTES / 2, 5));
		/*
		 * The first device closes its handle; the memory stays while the other device has
		 * one.
		 */
		EXPECT_EQ(0, npu_gem_close(owner->fd, bo.handle));
		job = npu_fill(user->fd, info.va, BYTES, 7);
		EXPECT_EQ(0, npu_run(user->fd, ctx.id, &job));
		EXPECT_TRUE(npu_sees(bo.map, BYTES, 7));
		EXPECT_EQ(0, npu_gem_close(user->fd, handle));
		EXPECT_EQ(EFAULT, npu_run(user->fd, ctx.id, &job));
	}
}

FIXTURE(fences)
{
	struct device npu[DEVICES];
};

FIXTURE_VARIANT(fences)
{
	uint32_t (*give)(const struct device *from, uint32_t syncobj, const struct device *to);
};

FIXTURE_VARIANT_ADD(fences, sync_file){
	.give = give_fence,
};

FIXTURE_VARIANT_ADD(fences, syncobj){
	.give = give_syncobj,
};

FIXTURE_SETUP(fences)
{
	open_all(self->npu);
}

FIXTURE_TEARDOWN(fences)
{
	close_all(self->npu);
}

TEST_F(fences, a_job_waits_for_one_of_another_device)
{
	struct device *first = &self->npu[0], *second = &self->npu[1];
	struct npu_bo data = npu_bo(second->fd, BYTES, 0);
	uint32_t endless = start_endless(first), behind = npu_syncobj(second->fd);

	submit(second, npu_fill(second->fd, data.va, BYTES, 3),
	       variant->give(first, endless, second), behind);
	usleep(100000);
	EXPECT_FALSE(npu_signalled(first->fd, endless));
	EXPECT_FALSE(npu_signalled(second->fd, behind));
	EXPECT_TRUE(npu_sees(data.map, BYTES, 0));
	EXPECT_EQ(0, npu_ctx_destroy(first->fd, first->ctx.id));
	EXPECT_EQ(ECANCELED, npu_wait(first->fd, endless));
	EXPECT_EQ(0, npu_wait(second->fd, behind));
	EXPECT_TRUE(npu_sees(data.map, BYTES, 3));
}

/*
 * Each step fills fewer pages of one buffer than the step before it, so that pages tell the order
 * in which the steps ran.
 */
TEST_F(fences, a_chain_over_all_devices_runs_in_order)
{
	struct npu_bo data = npu_bo(self->npu[0].fd, STEPS * 4096, 0);
	uint32_t wait = 0, signal = 0;
	uint64_t va[DEVICES] = { data.va };

	for (int i = 1; i < DEVICES; i++)
		va[i] = npu_bo_info(self->npu[i].fd, give_bo(&self->npu[0], &data, &self->npu[i]))
				.va;
	for (uint32_t i = 0; i < STEPS; i++) {
		const struct device *npu = &self->npu[i % DEVICES];

		if (i)
			wait = variant->give(&self->npu[(i - 1) % DEVICES], signal, npu);
		signal = npu_syncobj(npu->fd);
		submit(npu,
		       npu_fill(npu->fd, va[i % DEVICES], (STEPS - i) * 4096, (uint8_t)(i + 1)),
		       wait, signal);
	}
	ASSERT_EQ(0, npu_wait(self->npu[(STEPS - 1) % DEVICES].fd, signal));
	for (uint32_t page = 0; page < STEPS; page++)
		EXPECT_TRUE(npu_sees(data.map + page * 4096, 4096, (uint8_t)(STEPS - page)));
}

/* Writes the address of a device to a file of the driver, such as unbind. */
static void drive(const char *file, const char *address)
{
	char path[64];
	FILE *out;

	snprintf(path, sizeof(path), "/sys/bus/pci/drivers/onpu/%s", file);
	out = fopen(path, "w");
	must(out && fputs(address, out) >= 0 && !fclose(out));
}

FIXTURE(unbinding)
{
	struct device npu[DEVICES];
};

FIXTURE_SETUP(unbinding)
{
	open_all(self->npu);
}

FIXTURE_TEARDOWN(unbinding)
{
	close_all(self->npu);
}

/*
 * One device is unbound: the others go on. This must be the last test, because it does not bind the
 * device again; guest_devices.sh does.
 */
TEST_F(unbinding, one_that_goes_disturbs_nobody_else)
{
	struct device *first = &self->npu[0], *gone = &self->npu[1], *third = &self->npu[2];
	struct npu_bo lent = npu_bo(gone->fd, BYTES, 0), data = npu_bo(third->fd, BYTES, 0);
	struct drm_onpu_bo_info info = npu_bo_info(first->fd, give_bo(gone, &lent, first)),
				far = npu_bo_info(gone->fd, give_bo(third, &data, gone));
	uint32_t endless = start_endless(gone), stays = start_endless(third),
		 behind = npu_syncobj(first->fd);
	struct drm_onpu_job job = npu_fill(first->fd, info.va, BYTES, 8),
			    late = npu_fill(gone->fd, lent.va, 64, 1);
	struct drm_onpu_ctx_get_state state;
	char link[PATH_MAX];

	EXPECT_NE(0, far.va);
	submit(first, npu_fill(first->fd, info.va, BYTES, 4), give_fence(gone, endless, first),
	       behind);
	usleep(100000);
	EXPECT_FALSE(npu_signalled(first->fd, behind));
	must(realpath("/sys/class/accel/accel1/device", link));
	drive("unbind", basename(link));
	/*
	 * The job of the first device waited for a fence of the second one, which is gone. The job
	 * runs nevertheless, and fills a buffer that the second device had lent.
	 */
	EXPECT_EQ(0, npu_wait(first->fd, behind));
	EXPECT_TRUE(npu_sees(lent.map, 4096, 4));
	EXPECT_EQ(0, npu_run(first->fd, first->ctx.id, &job));
	EXPECT_TRUE(npu_sees(lent.map, BYTES, 8));
	EXPECT_EQ(ENODEV, npu_submit(gone->fd, gone->ctx.id, &late, 1, NULL));
	/* The third device, whose buffer the second had, works on and was not reset. */
	EXPECT_FALSE(npu_signalled(third->fd, stays));
	state = npu_state(third->fd, third->ctx.id);
	EXPECT_EQ(DRM_ONPU_CTX_ACTIVE, state.state);
	EXPECT_EQ(0, state.cancelled);
	EXPECT_EQ(0, npu_ctx_destroy(third->fd, third->ctx.id));
	EXPECT_EQ(ECANCELED, npu_wait(third->fd, stays));
}

TEST_HARNESS_MAIN
