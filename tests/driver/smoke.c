// SPDX-License-Identifier: MIT
/*
 * A first look at the driver, to be run in the guest: each test is named on the command line, or
 * all that end by themselves run. Output in TAP.
 */
#include <drm/onpu_accel.h>
#include <onpu/isa.h>
#include <onpu/registers.h>
#include <onpu/slots.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/sync_file.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <xf86drm.h>

#define NODE	"/dev/accel/accel0"

struct bo {
	uint32_t handle;
	uint64_t va, size;
	char *map;
};

static bool failed;

__attribute__((format(printf, 2, 3)))
static void expect(bool ok, const char *format, ...)
{
	va_list args;

	if (ok)
		return;
	failed = true;
	va_start(args, format);
	printf("# failed: ");
	vprintf(format, args);
	printf(" (errno %d)\n", errno);
	va_end(args);
}

#define EXPECT(x) expect(x, "%s:%d: %s", __func__, __LINE__, #x)

static int xioctl(int fd, unsigned long request, void *arg)
{
	return ioctl(fd, request, arg) ? errno : 0;
}

static int open_npu(void)
{
	int fd = open(NODE, O_RDWR | O_CLOEXEC);

	if (fd < 0) {
		printf("Bail out! " NODE ": %s\n", strerror(errno));
		exit(1);
	}
	return fd;
}

static struct bo make_bo(int fd, uint64_t size, uint32_t flags)
{
	struct drm_onpu_bo_create create = { .size = size, .flags = flags };
	struct drm_onpu_bo_info info = { 0 };
	struct bo bo = { 0 };

	EXPECT(xioctl(fd, DRM_IOCTL_ONPU_BO_CREATE, &create) == 0);
	info.handle = create.handle;
	EXPECT(xioctl(fd, DRM_IOCTL_ONPU_BO_INFO, &info) == 0);
	EXPECT(info.va == create.va && info.size == create.size && info.flags == flags);
	bo = (struct bo) { create.handle, create.va, create.size, NULL };
	if (flags & DRM_ONPU_BO_NO_MMAP)
		return bo;
	bo.map = mmap(NULL, bo.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)info.mmap_offset);
	EXPECT(bo.map != MAP_FAILED);
	return bo;
}

static struct drm_onpu_ctx_create make_ctx(int fd, uint32_t timeout_ms)
{
	struct drm_onpu_ctx_create ctx = {
		.priority = DRM_ONPU_PRIORITY_NORMAL, .timeout_ms = timeout_ms,
	};

	EXPECT(xioctl(fd, DRM_IOCTL_ONPU_CTX_CREATE, &ctx) == 0);
	return ctx;
}

static struct drm_onpu_ctx_get_state state_of(int fd, uint32_t ctx)
{
	struct drm_onpu_ctx_get_state state = { .ctx_id = ctx };

	EXPECT(xioctl(fd, DRM_IOCTL_ONPU_CTX_GET_STATE, &state) == 0);
	return state;
}

static void show_state(int fd, uint32_t ctx)
{
	struct drm_onpu_ctx_get_state state = state_of(fd, ctx);
	struct onpu_fault_record record;

	memcpy(&record, state.fault, sizeof(record));
	printf("# state %u error %u, jobs: %llu submitted, %llu completed, %llu cancelled\n", state.state,
	       state.error, (unsigned long long)state.submitted,
	       (unsigned long long)state.completed, (unsigned long long)state.cancelled);
	if (record.code)
		printf("# fault %u, job %llu, instruction %llu, engine %u, operand %u, address %#llx\n",
		       record.code, (unsigned long long)record.seqno,
		       (unsigned long long)record.pc, record.engine, record.operand,
		       (unsigned long long)record.address);
}

/* Slot 0 the program's, slot 1 a tensor of bytes, slot 2 the value. */
static struct drm_onpu_job fill_program(struct bo *bo, uint64_t dst, uint64_t bytes, uint8_t value,
					uint32_t times)
{
	const struct onpu_slot_program head = {
		.kind = ONPU_SLOT_PROGRAM, .isa_major = ONPU_ISA_MAJOR,
	};
	const struct onpu_slot_tensor tensor = {
		.kind = ONPU_SLOT_TENSOR, .dtype = ONPU_DT_U8, .rank = 1, .space = ONPU_SPACE_VA,
		.base = dst, .size = bytes, .dim = { (uint32_t)bytes }, .stride = { 1 },
	};
	const struct onpu_slot_param_fill fill = {
		.kind = ONPU_SLOT_PARAM, .schema = ONPU_SCHEMA_FILL, .value = value,
	};
	const struct onpu_insn insn = { .op = ONPU_OP_DMA_FILL, .dst = 1, .param = 2, .ch = 1 };
	const struct onpu_insn preempt = { .op = ONPU_OP_PREEMPT };
	const struct onpu_insn end = { .op = ONPU_OP_END };
	uint32_t *words = (uint32_t *)(bo->map + 4 * ONPU_SLOT_SIZE);

	memcpy(bo->map, &head, sizeof(head));
	memcpy(bo->map + ONPU_SLOT_SIZE, &tensor, sizeof(tensor));
	memcpy(bo->map + 2 * ONPU_SLOT_SIZE, &fill, sizeof(fill));
	for (uint32_t i = 0; i < times; i++) {
		EXPECT(!onpu_insn_pack(&insn, words + 8 * i));
		EXPECT(!onpu_insn_pack(&preempt, words + 8 * i + 4));
	}
	EXPECT(!onpu_insn_pack(&end, words + 8 * times));
	return (struct drm_onpu_job) {
		.program_va = bo->va + 4 * ONPU_SLOT_SIZE, .slots_va = bo->va,
		.instr_count = 2 * times + 1, .slot_count = 3,
	};
}

static int submit(int fd, uint32_t ctx, struct drm_onpu_job *jobs, uint32_t count, uint64_t *seqno)
{
	struct drm_onpu_submit args = {
		.ctx_id = ctx, .jobs = DRM_ONPU_OBJ_ARRAY(count, jobs),
	};
	int ret = xioctl(fd, DRM_IOCTL_ONPU_SUBMIT, &args);

	if (seqno)
		*seqno = args.seqno;
	return ret;
}

static uint32_t make_syncobj(int fd)
{
	uint32_t handle = 0;

	EXPECT(!drmSyncobjCreate(fd, 0, &handle));
	return handle;
}

static int64_t soon(unsigned int seconds)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec + (int64_t)seconds) * 1000000000 + now.tv_nsec;
}

/* The errno that the fence ended with, or -1 if it does not. */
static int wait_for(int fd, uint32_t syncobj)
{
	struct sync_fence_info fence = { .status = 0 };
	struct sync_file_info info = {
		.num_fences = 1, .sync_fence_info = (uintptr_t)&fence,
	};
	int file, ret;

	if (drmSyncobjWait(fd, &syncobj, 1, soon(60), 0, NULL))
		return -1;
	if (drmSyncobjExportSyncFile(fd, syncobj, &file))
		return -1;
	ret = ioctl(file, SYNC_IOC_FILE_INFO, &info);
	close(file);
	return ret ? -1 : fence.status < 0 ? -fence.status : 0;
}

static int run(int fd, uint32_t ctx, struct drm_onpu_job *job)
{
	struct drm_onpu_sync sync = { make_syncobj(fd), DRM_ONPU_SYNC_SIGNAL, 0 };
	int ret;

	job->syncs = (struct drm_onpu_obj_array)DRM_ONPU_OBJ_ARRAY(1, &sync);
	ret = submit(fd, ctx, job, 1, NULL);
	EXPECT(ret == 0);
	ret = ret ? -1 : wait_for(fd, sync.handle);
	drmSyncobjDestroy(fd, sync.handle);
	job->syncs.count = 0;
	return ret;
}

static bool all_are(const char *at, size_t size, char value)
{
	for (size_t i = 0; i < size; i++)
		if (at[i] != value)
			return false;
	return true;
}

/* ---- tests */

static void test_fill(void)
{
	int fd = open_npu();
	struct bo code = make_bo(fd, 4096, 0), data = make_bo(fd, 5000000, 0);
	struct drm_onpu_ctx_create ctx = make_ctx(fd, 0);
	const struct drm_onpu_completion *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd,
						      (off_t)ctx.completion_offset);
	struct drm_onpu_job job = fill_program(&code, data.va + 3, 4999990, 7, 1);
	struct drm_onpu_ctx_get_state state;

	EXPECT(page != MAP_FAILED);
	EXPECT(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		    (off_t)ctx.completion_offset) == MAP_FAILED);
	EXPECT(mprotect((void *)page, 4096, PROT_READ | PROT_WRITE) != 0);
	EXPECT(run(fd, ctx.ctx_id, &job) == 0);
	EXPECT(all_are(data.map + 3, 4999990, 7));
	EXPECT(data.map[2] == 0 && data.map[3 + 4999990] == 0);
	EXPECT(page->seqno == 1 && page->error == 0);
	state = state_of(fd, ctx.ctx_id);
	EXPECT(state.state == DRM_ONPU_CTX_ACTIVE && state.completed == 1 && state.submitted == 1);
	EXPECT(state.cycles > 0 && state.busy_ns > 0);
	EXPECT(xioctl(fd, DRM_IOCTL_ONPU_CTX_DESTROY,
		      &(struct drm_onpu_ctx_destroy){ ctx.ctx_id, 0 }) == 0);
	EXPECT(page->seqno == 1);
	close(fd);
	EXPECT(page->seqno == 1);
}

static void test_batch(void)
{
	int fd = open_npu();
	struct bo code = make_bo(fd, 4096, 0), data = make_bo(fd, 4096, DRM_ONPU_BO_WC);
	struct drm_onpu_ctx_create ctx = make_ctx(fd, 0);
	struct drm_onpu_job one = fill_program(&code, data.va, 4096, 9, 1), jobs[256];
	uint64_t seqno = 0;

	for (int round = 0; round < 20; round++) {
		struct drm_onpu_sync sync = { make_syncobj(fd), DRM_ONPU_SYNC_SIGNAL, 0 };

		for (int i = 0; i < 256; i++)
			jobs[i] = one;
		jobs[255].syncs = (struct drm_onpu_obj_array)DRM_ONPU_OBJ_ARRAY(1, &sync);
		EXPECT(submit(fd, ctx.ctx_id, jobs, 256, &seqno) == 0);
		EXPECT(seqno == 256u * ((unsigned int)round + 1));
		EXPECT(wait_for(fd, sync.handle) == 0);
	}
	EXPECT(all_are(data.map, 4096, 9));
	close(fd);
}

static void test_order(void)
{
	int fd = open_npu();
	struct bo code[2] = { make_bo(fd, 4096, 0), make_bo(fd, 4096, 0) };
	struct bo data = make_bo(fd, 1 << 20, 0);
	struct drm_onpu_ctx_create ctx[2] = { make_ctx(fd, 0), make_ctx(fd, 0) };
	uint32_t timeline = make_syncobj(fd), last = 200;
	uint64_t point = last;

	for (uint32_t i = 1; i <= last; i++) {
		struct drm_onpu_job job = fill_program(&code[i & 1], data.va, data.size,
						       (uint8_t)(i & 1), 1);
		struct drm_onpu_sync syncs[2] = {
			{ timeline, DRM_ONPU_SYNC_SIGNAL | DRM_ONPU_SYNC_TIMELINE, i },
			{ timeline, DRM_ONPU_SYNC_WAIT | DRM_ONPU_SYNC_TIMELINE, i - 1 },
		};

		job.syncs = (struct drm_onpu_obj_array)DRM_ONPU_OBJ_ARRAY(i > 1 ? 2 : 1, syncs);
		EXPECT(submit(fd, ctx[i & 1].ctx_id, &job, 1, NULL) == 0);
	}
	EXPECT(!drmSyncobjTimelineWait(fd, &timeline, &point, 1, soon(60), 0, NULL));
	EXPECT(all_are(data.map, data.size, 0));
	close(fd);
}

static void test_faults(void)
{
	int fd = open_npu(), other = open_npu();
	struct bo code = make_bo(fd, 4096, 0), ro = make_bo(fd, 4096, DRM_ONPU_BO_DEVICE_RO);
	struct bo code2 = make_bo(other, 4096, 0), data2 = make_bo(other, 4096, 0);
	struct drm_onpu_ctx_create good = make_ctx(other, 0), ctx;
	struct drm_onpu_job fine = fill_program(&code2, data2.va, 4096, 1, 1);
	const struct { uint64_t dst; uint32_t fault; int error; } cases[] = {
		{ 1 << 20, ONPU_FAULT_MMU_NOT_PRESENT, EFAULT },
		{ ro.va, ONPU_FAULT_MMU_PERM, EFAULT },
		{ ro.va + 4096, ONPU_FAULT_MMU_NOT_PRESENT, EFAULT },
		{ 1ull << 37, ONPU_FAULT_MMU_PERM, EFAULT },
	};

	for (unsigned int i = 0; i < 4; i++) {
		struct drm_onpu_job job = fill_program(&code, cases[i].dst, 64, 1, 1);
		struct drm_onpu_ctx_get_state state;
		struct onpu_fault_record record;

		if (!i)
			job.program_va = 1ull << 36;
		ctx = make_ctx(fd, 0);
		EXPECT(run(fd, ctx.ctx_id, &job) == cases[i].error);
		state = state_of(fd, ctx.ctx_id);
		memcpy(&record, state.fault, sizeof(record));
		EXPECT(state.state == DRM_ONPU_CTX_FAULT && state.error == (uint32_t)cases[i].error);
		expect(record.code == cases[i].fault || (i == 3 && record.code), "case %u: %u", i,
		       record.code);
		EXPECT(submit(fd, ctx.ctx_id, &job, 1, NULL) == EIO);
		EXPECT(run(other, good.ctx_id, &fine) == 0);
	}
	close(fd);
	EXPECT(run(other, good.ctx_id, &fine) == 0);
	close(other);
}

/* More contexts than queues, each with more than it can be given at once. */
static void test_many(void)
{
	enum { CONTEXTS = 24, ROUNDS = 30 };
	int fd = open_npu();
	struct bo data = make_bo(fd, 4096 * CONTEXTS, 0), code[CONTEXTS];
	struct drm_onpu_ctx_create ctx[CONTEXTS];
	uint32_t syncobj[CONTEXTS];

	for (int i = 0; i < CONTEXTS; i++) {
		ctx[i] = make_ctx(fd, 0);
		code[i] = make_bo(fd, 4096, 0);
		syncobj[i] = make_syncobj(fd);
	}
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < CONTEXTS; i++) {
			struct drm_onpu_job job = fill_program(&code[i], data.va + 4096u * i, 4096,
							       (uint8_t)(i + 1), 1);
			struct drm_onpu_sync sync = { syncobj[i], DRM_ONPU_SYNC_SIGNAL, 0 };

			job.syncs = (struct drm_onpu_obj_array)DRM_ONPU_OBJ_ARRAY(1, &sync);
			EXPECT(submit(fd, ctx[i].ctx_id, &job, 1, NULL) == 0);
		}
	}
	for (int i = 0; i < CONTEXTS; i++) {
		EXPECT(wait_for(fd, syncobj[i]) == 0);
		EXPECT(state_of(fd, ctx[i].ctx_id).completed == ROUNDS);
		EXPECT(all_are(data.map + 4096 * i, 4096, (char)(i + 1)));
	}
	close(fd);
}

/* Jobs that are under way when their context or file goes. */
static void test_destroy(void)
{
	for (int how = 0; how < 4; how++) {
		int fd = open_npu(), other = open_npu(), shared = -1;
		struct bo data = make_bo(fd, 4 << 20, 0), code = make_bo(fd, 1 << 20, 0);
		struct drm_onpu_ctx_create ctx = make_ctx(fd, 0);
		struct drm_onpu_job job = fill_program(&code, data.va, data.size, 5, 20000);
		struct drm_onpu_sync sync = { make_syncobj(fd), DRM_ONPU_SYNC_SIGNAL, 0 };
		uint32_t imported = 0;

		EXPECT(!drmSyncobjHandleToFD(fd, sync.handle, &shared));
		EXPECT(!drmSyncobjFDToHandle(other, shared, &imported));
		job.syncs = (struct drm_onpu_obj_array)DRM_ONPU_OBJ_ARRAY(1, &sync);
		for (int i = 0; i < 20; i++)
			EXPECT(submit(fd, ctx.ctx_id, &job, 1, NULL) == 0);
		usleep(how * 20000);
		if (how & 1)
			EXPECT(xioctl(fd, DRM_IOCTL_ONPU_CTX_DESTROY,
				      &(struct drm_onpu_ctx_destroy){ ctx.ctx_id, 0 }) == 0);
		/* A mapping would keep the file open. */
		munmap(data.map, data.size);
		munmap(code.map, code.size);
		if (!(how & 1))
			close(fd);
		EXPECT(wait_for(other, imported) == ECANCELED);
		if (how & 1)
			close(fd);
		close(shared);
		close(other);
	}
}

/* Progress is told at least every 2^20 cycles, which takes longer than the timeout here. */
static void test_timeout(void)
{
	int fd = open_npu();
	struct bo data = make_bo(fd, 31 << 20, 0), code = make_bo(fd, 1 << 20, 0);
	struct drm_onpu_ctx_create ctx = make_ctx(fd, 1);
	struct drm_onpu_job job = fill_program(&code, data.va, data.size, 5, 20000);
	struct drm_onpu_ctx_get_state state;
	int error = run(fd, ctx.ctx_id, &job);

	state = state_of(fd, ctx.ctx_id);
	expect(error == ETIME && state.state == DRM_ONPU_CTX_TIMEDOUT && state.error == ETIME,
	       "error %d, state %u", error, state.state);
	EXPECT(submit(fd, ctx.ctx_id, &job, 1, NULL) == EIO);
	ctx = make_ctx(fd, 0);
	job = fill_program(&code, data.va, 4096, 6, 1);
	EXPECT(run(fd, ctx.ctx_id, &job) == 0);
	close(fd);
}

static void test_share(void)
{
	int fd = open_npu(), other = open_npu(), file = -1;
	struct bo data = make_bo(fd, 8192, DRM_ONPU_BO_DEVICE_RO), code = make_bo(other, 4096, 0);
	struct drm_onpu_ctx_create ctx = make_ctx(other, 0);
	struct drm_onpu_bo_info info = { 0 };
	struct drm_onpu_job job;

	EXPECT(!drmPrimeHandleToFD(fd, data.handle, O_CLOEXEC | O_RDWR, &file));
	EXPECT(!drmPrimeFDToHandle(other, file, &info.handle));
	EXPECT(xioctl(other, DRM_IOCTL_ONPU_BO_INFO, &info) == 0);
	EXPECT(info.flags == DRM_ONPU_BO_DEVICE_RO && info.size == 8192 && info.va);
	job = fill_program(&code, info.va, 64, 1, 1);
	EXPECT(run(other, ctx.ctx_id, &job) == EFAULT);
	close(file);
	close(fd);
	close(other);
}

static void close_handle(int fd, uint32_t handle)
{
	struct drm_gem_close args = { .handle = handle };

	EXPECT(xioctl(fd, DRM_IOCTL_GEM_CLOSE, &args) == 0);
}

/* An address that was used and is given away must not lead to the old memory. */
static void test_forget(void)
{
	int fd = open_npu();
	struct bo code = make_bo(fd, 4096, 0), old, new;
	struct drm_onpu_ctx_create ctx;
	struct drm_onpu_job job;

	for (int i = 0; i < 20; i++) {
		uint64_t size = i & 1 ? 4096 : 3 << 20;

		ctx = make_ctx(fd, 0);
		old = make_bo(fd, size, 0);
		job = fill_program(&code, old.va, old.size, 1, 1);
		EXPECT(run(fd, ctx.ctx_id, &job) == 0);
		close_handle(fd, old.handle);
		EXPECT(run(fd, ctx.ctx_id, &job) == EFAULT);
		EXPECT(all_are(old.map, old.size, 1));
		usleep(20000);
		new = make_bo(fd, size, 0);
		ctx = make_ctx(fd, 0);
		job = fill_program(&code, new.va, new.size, 2, 1);
		EXPECT(run(fd, ctx.ctx_id, &job) == 0);
		EXPECT(all_are(old.map, old.size, 1));
		EXPECT(all_are(new.map, new.size, 2));
		munmap(old.map, old.size);
		munmap(new.map, new.size);
		close_handle(fd, new.handle);
	}
	close(fd);
}

static void test_limits(void)
{
	struct drm_onpu_dev_info info;
	struct drm_onpu_dev_query query = {
		.type = DRM_ONPU_DEV_QUERY_INFO, .size = sizeof(info),
		.pointer = (uintptr_t)&info,
	};
	struct drm_onpu_ctx_create more = { .priority = DRM_ONPU_PRIORITY_NORMAL };
	struct drm_onpu_bo_create big = { 0 };
	uint32_t ids[256];
	int fd = open_npu();

	EXPECT(xioctl(fd, DRM_IOCTL_ONPU_DEV_QUERY, &query) == 0);
	EXPECT(info.max_contexts <= 256);
	for (int round = 0; round < 3; round++) {
		for (unsigned int i = 0; i < info.max_contexts; i++)
			ids[i] = make_ctx(fd, 0).ctx_id;
		EXPECT(xioctl(fd, DRM_IOCTL_ONPU_CTX_CREATE, &more) == ENOSPC);
		for (unsigned int i = 0; i < info.max_contexts; i++)
			EXPECT(xioctl(fd, DRM_IOCTL_ONPU_CTX_DESTROY,
				      &(struct drm_onpu_ctx_destroy){ ids[i], 0 }) == 0);
	}
	big.size = info.memory_limit + 1;
	EXPECT(xioctl(fd, DRM_IOCTL_ONPU_BO_CREATE, &big) == ENOSPC);
	close(fd);
}

/* Needs vgem. */
static void test_import(void)
{
	struct drm_mode_create_dumb dumb = { .width = 1024, .height = 256, .bpp = 32 };
	struct drm_mode_map_dumb map = { 0 };
	struct drm_onpu_bo_info info = { 0 };
	int fd = open_npu(), vgem = drmOpen("vgem", NULL), file = -1;
	struct bo code = make_bo(fd, 4096, 0);
	struct drm_onpu_ctx_create ctx = make_ctx(fd, 0);
	struct drm_onpu_job job;
	char *at;

	EXPECT(vgem >= 0);
	EXPECT(xioctl(vgem, DRM_IOCTL_MODE_CREATE_DUMB, &dumb) == 0);
	map.handle = dumb.handle;
	EXPECT(xioctl(vgem, DRM_IOCTL_MODE_MAP_DUMB, &map) == 0);
	at = mmap(NULL, dumb.size, PROT_READ | PROT_WRITE, MAP_SHARED, vgem, (off_t)map.offset);
	EXPECT(!drmPrimeHandleToFD(vgem, dumb.handle, O_CLOEXEC | O_RDWR, &file));
	EXPECT(!drmPrimeFDToHandle(fd, file, &info.handle));
	EXPECT(xioctl(fd, DRM_IOCTL_ONPU_BO_INFO, &info) == 0);
	EXPECT(info.flags == DRM_ONPU_BO_IMPORTED && info.size == dumb.size && info.va &&
	       !info.mmap_offset);
	job = fill_program(&code, info.va, dumb.size, 0x5a, 1);
	EXPECT(run(fd, ctx.ctx_id, &job) == 0);
	EXPECT(at != MAP_FAILED && all_are(at, dumb.size, 0x5a));
	close(file);
	close(fd);
	close(vgem);
}

/* Two processes that work while others are killed. */
static void child_loop(void)
{
	int fd = open_npu();
	struct bo data = make_bo(fd, 4 << 20, 0), code = make_bo(fd, 1 << 20, 0);
	struct drm_onpu_ctx_create ctx = make_ctx(fd, 0);
	struct drm_onpu_job job = fill_program(&code, data.va, data.size, 5, 1000);

	while (!run(fd, ctx.ctx_id, &job))
		;
	show_state(fd, ctx.ctx_id);
	exit(1);
}

static void test_kill9(void)
{
	int fd = open_npu();
	struct bo code = make_bo(fd, 4096, 0), data = make_bo(fd, 4096, 0);
	struct drm_onpu_ctx_create ctx = make_ctx(fd, 0);
	struct drm_onpu_job job = fill_program(&code, data.va, 4096, 1, 1);

	fflush(stdout);
	for (int i = 0; i < 10; i++) {
		pid_t pid = fork();

		if (!pid)
			child_loop();
		usleep(100000);
		EXPECT(run(fd, ctx.ctx_id, &job) == 0);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		EXPECT(run(fd, ctx.ctx_id, &job) == 0);
	}
	close(fd);
}

/* Runs until the device goes; the error must be one that says so. */
static void test_endless(void)
{
	int fd = open_npu(), ret = 0;
	struct bo data = make_bo(fd, 4 << 20, 0), code = make_bo(fd, 1 << 20, 0);
	struct drm_onpu_ctx_create ctx = make_ctx(fd, 0);
	struct drm_onpu_job job = fill_program(&code, data.va, data.size, 5, 200);
	struct drm_onpu_sync sync = { make_syncobj(fd), DRM_ONPU_SYNC_SIGNAL, 0 };

	job.syncs = (struct drm_onpu_obj_array)DRM_ONPU_OBJ_ARRAY(1, &sync);
	while (!(ret = submit(fd, ctx.ctx_id, &job, 1, NULL))) {
		int error = wait_for(fd, sync.handle);

		if (error)
			printf("# fence: %d\n", error);
		if (error > 0 && error != ECANCELED && error != ENODEV)
			EXPECT(!"a fence with another error");
		if (error < 0)
			break;
	}
	printf("# ended with %d\n", ret);
	munmap(data.map, data.size);
	close(fd);
}

static const struct { const char *name; void (*run)(void); } tests[] = {
	{ "fill", test_fill }, { "batch", test_batch }, { "order", test_order },
	{ "faults", test_faults }, { "many", test_many }, { "destroy", test_destroy },
	{ "timeout", test_timeout }, { "share", test_share }, { "kill9", test_kill9 },
	{ "forget", test_forget }, { "limits", test_limits },
	{ "import", test_import }, { "endless", test_endless },
};

int main(int argc, char **argv)
{
	unsigned int count = sizeof(tests) / sizeof(tests[0]), number = 0;
	bool bad = false;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (unsigned int i = 0; i < count; i++) {
		bool wanted = argc == 1 && tests[i].run != test_endless &&
			      tests[i].run != test_import;

		for (int a = 1; a < argc; a++)
			wanted |= !strcmp(argv[a], tests[i].name);
		if (!wanted)
			continue;
		failed = false;
		tests[i].run();
		printf("%sok %u - %s\n", failed ? "not " : "", ++number, tests[i].name);
		bad |= failed;
	}
	printf("1..%u\n", number);
	return bad;
}
