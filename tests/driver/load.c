/* SPDX-License-Identifier: MIT */
/*
 * Work without end: submits jobs to the node given and waits for them until the device is gone, then
 * ends with status 0. A job that was cancelled does not matter, every other failure does. For guest_lifecycle.py.
 */
#include <drm/onpu_accel.h>
#include <onpu/isa.h>
#include <onpu/slots.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/sync_file.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <xf86drm.h>

#define DATA_BYTES	(UINT32_C(1) << 19)
/* A job of 2^20 cycles: longer ones would need points where others may go first. */
#define FILLS		50u
/* Jobs that wait their turn while one runs. */
#define JOBS		4u
#define PATIENCE_S	60

struct buffer {
	uint64_t va;
	char *map;
};

static void die(const char *what, int error)
{
	fprintf(stderr, "load %d: %s: %s\n", (int)getpid(), what, strerror(error));
	exit(1);
}

static struct buffer make_buffer(int fd, uint64_t size)
{
	struct drm_onpu_bo_create create = { .size = size };
	struct drm_onpu_bo_info info = { 0 };
	struct buffer buffer;

	if (ioctl(fd, DRM_IOCTL_ONPU_BO_CREATE, &create))
		die("BO_CREATE", errno);
	info.handle = create.handle;
	if (ioctl(fd, DRM_IOCTL_ONPU_BO_INFO, &info))
		die("BO_INFO", errno);
	buffer.va = create.va;
	buffer.map = mmap(NULL, create.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			  (off_t)info.mmap_offset);
	if (buffer.map == MAP_FAILED)
		die("mmap", errno);
	return buffer;
}

/* Slots, then the program: the data buffer is filled again and again. */
static struct drm_onpu_job make_job(struct buffer *code, const struct buffer *data)
{
	const struct onpu_slot_program head = {
		.kind = ONPU_SLOT_PROGRAM, .isa_major = ONPU_ISA_MAJOR,
	};
	const struct onpu_slot_tensor tensor = {
		.kind = ONPU_SLOT_TENSOR, .dtype = ONPU_DT_U8, .rank = 1, .space = ONPU_SPACE_VA,
		.base = data->va, .size = DATA_BYTES, .dim = { DATA_BYTES }, .stride = { 1 },
	};
	const struct onpu_slot_param_fill fill = {
		.kind = ONPU_SLOT_PARAM, .schema = ONPU_SCHEMA_FILL, .value = 5,
	};
	const struct onpu_insn insn = { .op = ONPU_OP_DMA_FILL, .dst = 1, .param = 2, .ch = 1 };
	const struct onpu_insn end = { .op = ONPU_OP_END };
	uint32_t words[4 * (FILLS + 1)];

	for (uint32_t i = 0; i <= FILLS; i++)
		if (onpu_insn_pack(i < FILLS ? &insn : &end, words + 4 * i))
			die("the program", EINVAL);
	memcpy(code->map, &head, sizeof(head));
	memcpy(code->map + ONPU_SLOT_SIZE, &tensor, sizeof(tensor));
	memcpy(code->map + 2 * ONPU_SLOT_SIZE, &fill, sizeof(fill));
	memcpy(code->map + 3 * ONPU_SLOT_SIZE, words, sizeof(words));
	return (struct drm_onpu_job) {
		.program_va = code->va + 3 * ONPU_SLOT_SIZE, .slots_va = code->va,
		.instr_count = FILLS + 1, .slot_count = 3,
	};
}

/* The errno of the fence, or of the way to it. */
static int wait_for(int fd, uint32_t syncobj)
{
	struct sync_fence_info fence = { .status = 0 };
	struct sync_file_info info = { .num_fences = 1, .sync_fence_info = (uintptr_t)&fence };
	struct timespec now;
	int file, ret;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (drmSyncobjWait(fd, &syncobj, 1, (now.tv_sec + PATIENCE_S) * INT64_C(1000000000), 0,
			   NULL) ||
	    drmSyncobjExportSyncFile(fd, syncobj, &file))
		return errno;
	ret = ioctl(file, SYNC_IOC_FILE_INFO, &info) ? errno : 0;
	close(file);
	if (ret)
		return ret;
	return fence.status < 0 ? -fence.status : 0;
}

int main(int argc, char **argv)
{
	const char *node = argc > 1 ? argv[1] : "/dev/accel/accel0";
	int fd = open(node, O_RDWR | O_CLOEXEC), error;
	struct drm_onpu_ctx_create ctx = { .priority = DRM_ONPU_PRIORITY_NORMAL };
	struct drm_onpu_sync sync = { .flags = DRM_ONPU_SYNC_SIGNAL };
	struct drm_onpu_job jobs[JOBS];
	struct buffer code, data;

	if (fd < 0)
		die(node, errno);
	code = make_buffer(fd, 4096);
	data = make_buffer(fd, DATA_BYTES);
	for (uint32_t i = 0; i < JOBS; i++)
		jobs[i] = make_job(&code, &data);
	if (ioctl(fd, DRM_IOCTL_ONPU_CTX_CREATE, &ctx) || drmSyncobjCreate(fd, 0, &sync.handle))
		die("CTX_CREATE", errno);
	jobs[JOBS - 1].syncs = (struct drm_onpu_obj_array)DRM_ONPU_OBJ_ARRAY(1, &sync);
	do {
		struct drm_onpu_submit submit = {
			.ctx_id = ctx.ctx_id, .jobs = DRM_ONPU_OBJ_ARRAY(JOBS, jobs),
		};

		error = ioctl(fd, DRM_IOCTL_ONPU_SUBMIT, &submit) ? errno :
			wait_for(fd, sync.handle);
	} while (!error || error == ECANCELED);
	if (error != ENODEV)
		die("a job", error);
	/* Memory stays when the device goes. */
	memset(data.map, 1, DATA_BYTES);
	return 0;
}
