// SPDX-License-Identifier: MIT
/*
 * Ends contexts while another driver signals the fences that their jobs wait for. guest_moments.sh
 * prolongs the moments in which that can go wrong; errors are in the kernel's log. driver-ends FILE
 * goes on until the count of prolonged moments in FILE has grown by five, for at most ROUNDS_MAX
 * rounds: on a busy machine a context may be gone before the fence signals, and the moment does not
 * come.
 */
#include "npu.h"

#include <drm/vgem_drm.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xf86drm.h>

#define BYTES 4096u

/*
 * The program makes at least ROUNDS_MIN rounds. It goes on, up to ROUNDS_MAX rounds, until the
 * module onpu_widen has prolonged the moment in question TIMES times.
 */
#define TIMES	   5
#define ROUNDS_MIN 6u
#define ROUNDS_MAX 60u

struct client {
	int fd;
	struct drm_onpu_job job, endless;
};

/* Binds this thread to a processor: a kernel worker runs on the processor that queued its work. */
static void run_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	must(!sched_setaffinity(0, sizeof(set), &set));
}

static void submit(const struct client *client, const struct npu_ctx *ctx, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		must(!npu_submit(client->fd, ctx->id, &client->job, 1, NULL));
}

/* A fence of another driver, and a syncobj of the NPU that has it. */
struct foreign {
	int vgem, cpu;
	uint32_t fence, syncobj;
};

static struct foreign make_foreign(int fd)
{
	struct foreign foreign = { .vgem = npu_open_vgem(), .syncobj = npu_syncobj(fd) };
	struct drm_mode_create_dumb dumb = { .width = BYTES, .height = 1, .bpp = 8 };
	struct dma_buf_export_sync_file export = { .flags = DMA_BUF_SYNC_RW };
	struct drm_vgem_fence_attach attach = { .flags = VGEM_FENCE_WRITE };
	int file;

	must(foreign.vgem >= 0);
	must(!npu_ioctl(foreign.vgem, DRM_IOCTL_MODE_CREATE_DUMB, &dumb));
	attach.handle = dumb.handle;
	must(!npu_ioctl(foreign.vgem, DRM_IOCTL_VGEM_FENCE_ATTACH, &attach));
	foreign.fence = attach.out_fence;
	must(!drmPrimeHandleToFD(foreign.vgem, dumb.handle, DRM_RDWR, &file));
	must(!npu_ioctl(file, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &export));
	close(file);
	must(!drmSyncobjImportSyncFile(fd, foreign.syncobj, export.fd));
	close(export.fd);
	return foreign;
}

static void *signal_foreign(void *data)
{
	const struct foreign *foreign = data;
	struct drm_vgem_fence_signal args = { .fence = foreign->fence };

	run_on(foreign->cpu);
	must(!npu_ioctl(foreign->vgem, DRM_IOCTL_VGEM_FENCE_SIGNAL, &args));
	return NULL;
}

/* Ends a context while one job is running and a fence signals for which the other jobs wait. */
static void end_as_its_jobs_are_woken(const struct client *client, unsigned int round)
{
	struct foreign foreign = make_foreign(client->fd);
	struct drm_onpu_sync wait = { foreign.syncobj, DRM_ONPU_SYNC_WAIT, 0 };
	struct npu_ctx ctx = npu_ctx(client->fd, 0);
	struct drm_onpu_job job = client->job;
	pthread_t thread;

	/*
	 * Rounds alternate between the two processors: one of them also gets the interrupts without
	 * which contexts do not end.
	 */
	foreign.cpu = round % 2;
	run_on(!foreign.cpu);
	must(!npu_submit(client->fd, ctx.id, &client->endless, 1, NULL));
	job.syncs = (struct drm_onpu_obj_array)DRM_ONPU_OBJ_ARRAY(1, &wait);
	must(!npu_submit(client->fd, ctx.id, &job, 1, NULL));
	submit(client, &ctx, 8);
	drmSyncobjDestroy(client->fd, foreign.syncobj);
	munmap((void *)ctx.page, BYTES);
	usleep(20000);
	must(!pthread_create(&thread, NULL, signal_foreign, &foreign));
	usleep(1000 * (round % 10));
	must(!npu_ctx_destroy(client->fd, ctx.id));
	pthread_join(thread, NULL);
	close(foreign.vgem);
}

static int count_in(const char *path)
{
	FILE *file = fopen(path, "re");
	int count;

	must(file && fscanf(file, "%d", &count) == 1 && !fclose(file));
	return count;
}

int main(int argc, char **argv)
{
	struct client client = { .fd = npu_open() };
	unsigned int round = 0;
	int before;
	struct npu_bo data = npu_bo(client.fd, NPU_LONG_BYTES, 0);

	client.job = npu_fill(client.fd, data.va, BYTES, 1);
	client.endless = npu_long(client.fd, data.va);
	must(argc == 2);
	before = count_in(argv[1]);
	do
		end_as_its_jobs_are_woken(&client, round++);
	while (round < ROUNDS_MIN || (round < ROUNDS_MAX && count_in(argv[1]) < before + TIMES));
	printf("# %d in %u rounds\n", count_in(argv[1]) - before, round);
	return count_in(argv[1]) < before + TIMES;
}
