// SPDX-License-Identifier: MIT
/*
 * Lets calls run out of memory, for guest_fail.sh, as root: driver-fail CALL. The module onpu_fail
 * lets the first allocation of the call fail, then the second, and so on until the call needs no
 * more. A call may fail with ENOMEM and no other errno, and some may not fail at all. A call that
 * fails must leave no memory, contexts or handles behind, and the client must still work. Without
 * CALL it lists the calls. driver-fail BIND ADDRESS does this with the driver's probe() of an
 * unbound device, which may fail with any errno, and leaves the device bound. The exit status is 0
 * if all was right.
 */
#include "npu.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xf86drm.h>

#define NTH	"/sys/module/onpu_fail/parameters/nth"
#define BYTES	(4u << 20)
#define MANY	32u
#define MAX_NTH 2000u

/* The client, with one object of each kind that a call may use. */
static struct {
	int fd, vgem, shared;
	void *memory; /* mapped shared, BYTES */
	struct npu_bo bo;
	uint32_t ctx, syncobjs[2 * MANY];
	struct drm_onpu_job job, jobs[MANY];
	struct drm_onpu_sync syncs[2 * MANY];
	uint64_t point, offset;
	/* Results of the call, for its undo function. */
	int made_fd;
	uint32_t handle;
	void *map;
} npu;

/* ---- the calls: each returns 0 or an errno */

static int call_open(void)
{
	npu.made_fd = open(NPU_NODE, O_RDWR | O_CLOEXEC);
	return npu.made_fd < 0 ? errno : 0;
}

static void undo_fd(void)
{
	close(npu.made_fd);
}

static int call_dev_query(void)
{
	struct drm_onpu_time_info info;
	struct drm_onpu_dev_query args = {
		.type = DRM_ONPU_DEV_QUERY_TIME,
		.size = sizeof(info),
		.pointer = (uintptr_t)&info,
	};

	return npu_ioctl(npu.fd, DRM_IOCTL_ONPU_DEV_QUERY, &args);
}

static int call_bo_create(void)
{
	struct drm_onpu_bo_create args = { .size = BYTES };
	int ret = npu_ioctl(npu.fd, DRM_IOCTL_ONPU_BO_CREATE, &args);

	npu.handle = args.handle;
	return ret;
}

static void undo_handle(void)
{
	must(!npu_gem_close(npu.fd, npu.handle));
}

static int call_bo_info(void)
{
	struct drm_onpu_bo_info args = { .handle = npu.bo.handle };

	return npu_ioctl(npu.fd, DRM_IOCTL_ONPU_BO_INFO, &args);
}

static int call_bo_sync(void)
{
	struct drm_onpu_bo_sync args = {
		.handle = npu.bo.handle,
		.flags = DRM_ONPU_BO_SYNC_FOR_DEVICE | DRM_ONPU_BO_SYNC_FOR_CPU,
		.size = npu.bo.size,
	};

	return npu_ioctl(npu.fd, DRM_IOCTL_ONPU_BO_SYNC, &args);
}

static int call_bo_wrap(void)
{
	struct drm_onpu_bo_wrap args = { .address = (uintptr_t)npu.memory, .size = BYTES };
	int ret = npu_ioctl(npu.fd, DRM_IOCTL_ONPU_BO_WRAP, &args);

	npu.handle = args.handle;
	return ret;
}

static int call_mmap(void)
{
	npu.map = mmap(NULL, npu.bo.size, PROT_READ | PROT_WRITE, MAP_SHARED, npu.fd,
		       (off_t)npu.offset);
	return npu.map == MAP_FAILED ? errno : 0;
}

static void undo_mmap(void)
{
	must(!munmap(npu.map, npu.bo.size));
}

static int call_gem_close(void)
{
	return npu_gem_close(npu.fd, npu.handle);
}

static void prepare_handle(void)
{
	must(!call_bo_create());
}

static int call_export(void)
{
	return drmPrimeHandleToFD(npu.fd, npu.handle, DRM_CLOEXEC | DRM_RDWR, &npu.made_fd) ?
		       errno :
		       0;
}

static void undo_export(void)
{
	close(npu.made_fd);
	undo_handle();
}

static int call_import(void)
{
	return drmPrimeFDToHandle(npu.fd, npu.shared, &npu.handle) ? errno : 0;
}

/* Puts a dma-buf of vgem, or of another client when vgem is not loaded, into npu.shared. */
static void share(void)
{
	struct drm_mode_create_dumb dumb = { .width = 1024, .height = 256, .bpp = 32 };

	npu.vgem = npu_open_vgem();
	if (npu.vgem >= 0) {
		must(!npu_ioctl(npu.vgem, DRM_IOCTL_MODE_CREATE_DUMB, &dumb));
	} else {
		npu.vgem = npu_open();
		dumb.handle = npu_bo(npu.vgem, BYTES, DRM_ONPU_BO_NO_MMAP).handle;
	}
	npu.memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(npu.memory != MAP_FAILED);
	memset(npu.memory, 1, BYTES);
	must(!drmPrimeHandleToFD(npu.vgem, dumb.handle, DRM_CLOEXEC | DRM_RDWR, &npu.shared));
}

static int call_ctx_create(void)
{
	struct drm_onpu_ctx_create args = { .priority = DRM_ONPU_PRIORITY_NORMAL };
	int ret = npu_ioctl(npu.fd, DRM_IOCTL_ONPU_CTX_CREATE, &args);

	npu.handle = args.ctx_id;
	return ret;
}

static int call_ctx_destroy(void)
{
	return npu_ctx_destroy(npu.fd, npu.handle);
}

static void prepare_ctx(void)
{
	must(!call_ctx_create());
}

static void undo_ctx(void)
{
	must(!call_ctx_destroy());
}

static int call_ctx_get_state(void)
{
	struct drm_onpu_ctx_get_state args = { .ctx_id = npu.ctx };

	return npu_ioctl(npu.fd, DRM_IOCTL_ONPU_CTX_GET_STATE, &args);
}

/*
 * Prepares more jobs and syncobjs than the driver has room for on its stack; half of the syncobjs
 * are timeline points.
 */
static void prepare_submit(void)
{
	npu.point++;
	for (uint32_t i = 0; i < MANY; i++) {
		struct drm_onpu_sync *sync = &npu.syncs[2 * i];

		sync[0] = (struct drm_onpu_sync){ npu.syncobjs[i], DRM_ONPU_SYNC_SIGNAL, 0 };
		sync[1] = (struct drm_onpu_sync){ npu.syncobjs[MANY + i],
						  DRM_ONPU_SYNC_SIGNAL | DRM_ONPU_SYNC_TIMELINE,
						  npu.point };
		/*
		 * After the first call, the first job of each pair waits for a fence that the first
		 * call has signalled.
		 */
		if (i % 2 == 0 && npu.point > 1)
			sync[0].flags = DRM_ONPU_SYNC_WAIT;
		npu.jobs[i] = npu.job;
		npu.jobs[i].syncs = (struct drm_onpu_obj_array)DRM_ONPU_OBJ_ARRAY(2, sync);
	}
}

static int call_submit(void)
{
	return npu_submit(npu.fd, npu.ctx, npu.jobs, MANY, NULL);
}

static void undo_submit(void)
{
	must(!npu_run(npu.fd, npu.ctx, &npu.job));
}

static int call_submit_one(void)
{
	return npu_submit(npu.fd, npu.ctx, &npu.job, 1, NULL);
}

/* ---- the list of calls */

static const struct call {
	const char *name;
	int (*run)(void);
	void (*prepare)(void);
	/*
	 * undo() undoes a call that has succeeded, undo_prepared() the preparation of one that has
	 * failed.
	 */
	void (*undo)(void), (*undo_prepared)(void);
	bool must_work;
} calls[] = {
	{ "OPEN", call_open, NULL, undo_fd, NULL, false },
	{ "DEV_QUERY", call_dev_query, NULL, NULL, NULL, false },
	{ "BO_CREATE", call_bo_create, NULL, undo_handle, NULL, false },
	{ "BO_INFO", call_bo_info, NULL, NULL, NULL, false },
	{ "BO_SYNC", call_bo_sync, NULL, NULL, NULL, false },
	{ "BO_WRAP", call_bo_wrap, NULL, undo_handle, NULL, false },
	{ "MMAP", call_mmap, NULL, undo_mmap, NULL, false },
	{ "GEM_CLOSE", call_gem_close, prepare_handle, NULL, NULL, true },
	{ "EXPORT", call_export, prepare_handle, undo_export, undo_handle, false },
	{ "IMPORT", call_import, NULL, undo_handle, NULL, false },
	{ "CTX_CREATE", call_ctx_create, NULL, undo_ctx, NULL, false },
	{ "CTX_DESTROY", call_ctx_destroy, prepare_ctx, NULL, NULL, true },
	{ "CTX_GET_STATE", call_ctx_get_state, NULL, NULL, NULL, false },
	{ "SUBMIT", call_submit, prepare_submit, undo_submit, NULL, false },
	{ "SUBMIT-one", call_submit_one, NULL, undo_submit, NULL, false },
};

#define NUM_CALLS (sizeof(calls) / sizeof(calls[0]))

static int nth_file;

static void set_nth(unsigned int nth)
{
	char text[16];
	int length = snprintf(text, sizeof(text), "%u\n", nth);

	must(pwrite(nth_file, text, (size_t)length, 0) == length);
}

static unsigned int get_nth(void)
{
	char text[16] = "";

	must(pread(nth_file, text, sizeof(text) - 1, 0) > 0);
	return (unsigned int)strtoul(text, NULL, 10);
}

static void begin(void)
{
	npu.fd = npu_open();
	npu.bo = npu_bo(npu.fd, BYTES, 0);
	npu.offset = npu_bo_info(npu.fd, npu.bo.handle).mmap_offset;
	npu.ctx = npu_ctx(npu.fd, 0).id;
	npu.job = npu_fill(npu.fd, npu.bo.va, 4096, 1);
	share();
	for (unsigned int i = 0; i < 2 * MANY; i++)
		npu.syncobjs[i] = npu_syncobj(npu.fd);
	must(!npu_run(npu.fd, npu.ctx, &npu.job));
}

/* Waits until the bytes of memory of all clients have not changed for 0.2 s, and returns them. */
static uint64_t quiet_memory(void)
{
	uint64_t memory = npu_counters(npu.fd).memory, before;

	do {
		before = memory;
		usleep(200000);
		memory = npu_counters(npu.fd).memory;
	} while (memory != before);
	return memory;
}

/* Returns how many allocations of a call have failed; -1: an error was found. */
static int run_call(const struct call *call)
{
	uint64_t memory, now;
	int failed = 0;

	/*
	 * The first call may add page tables, and it signals the fences for which later calls wait.
	 */
	if (call->prepare)
		call->prepare();
	must(!call->run());
	if (call->undo)
		call->undo();
	memory = quiet_memory();

	for (unsigned int nth = 1; nth <= MAX_NTH; nth++) {
		unsigned int left;
		int error;

		if (call->prepare)
			call->prepare();
		set_nth(nth);
		error = call->run();
		left = get_nth();
		set_nth(0);
		if (error && (left || call->must_work || error != ENOMEM)) {
			fprintf(stderr, "# %s, allocation %u: errno %d\n", call->name, nth, error);
			return -1;
		}
		if (error && call->undo_prepared)
			call->undo_prepared();
		else if (!error && call->undo)
			call->undo();
		must(!npu_run(npu.fd, npu.ctx, &npu.job));
		now = npu_settled_memory(npu.fd, memory);
		if (now > memory) {
			fprintf(stderr, "# %s, allocation %u: %" PRIu64 " bytes are lost\n",
				call->name, nth, now - memory);
			return -1;
		}
		failed += !left;
		if (left)
			return failed;
	}
	fprintf(stderr, "# %s does not end\n", call->name);
	return -1;
}

/* ---- probe() */

static int write_to(int file, const char *text)
{
	return write(file, text, strlen(text)) < 0 ? errno : 0;
}

/*
 * Binds the device with failing allocations; returns how many have failed, or -1: an error was
 * found. Some functions of the kernel do without the memory, or hide the reason of a failure: the
 * firmware is searched in several folders, and the last one does not exist.
 */
static int run_bind(const char *address)
{
	int bind = open("/sys/bus/pci/drivers/onpu/bind", O_WRONLY | O_CLOEXEC);
	int unbind = open("/sys/bus/pci/drivers/onpu/unbind", O_WRONLY | O_CLOEXEC);
	unsigned int left = 0;
	int failed = 0;

	must(bind >= 0 && unbind >= 0);
	for (unsigned int nth = 1; nth <= MAX_NTH && !left; nth++) {
		int error;

		set_nth(nth);
		error = write_to(bind, address);
		left = get_nth();
		set_nth(0);
		if (error && left) {
			fprintf(stderr, "# BIND, allocation %u: errno %d without a reason\n", nth,
				error);
			return -1;
		}
		failed += !left;
		if (!error && !left)
			must(!write_to(unbind, address));
	}
	if (!left || !failed) {
		fprintf(stderr, "# BIND %s\n", left ? "has no allocation" : "does not end");
		return -1;
	}
	begin();
	return failed;
}

int main(int argc, char **argv)
{
	int failed;

	nth_file = open(NTH, O_RDWR | O_CLOEXEC);
	must(argc < 2 || nth_file >= 0);
	if (argc == 3 && !strcmp(argv[1], "BIND")) {
		failed = run_bind(argv[2]);
		printf("# BIND: %d allocations have failed\n", failed);
		return failed < 0;
	}
	for (size_t i = 0; i < NUM_CALLS; i++) {
		if (argc < 2) {
			puts(calls[i].name);
			continue;
		}
		if (strcmp(calls[i].name, argv[1]))
			continue;
		begin();
		failed = run_call(&calls[i]);
		printf("# %s: %d allocations have failed\n", argv[1], failed);
		return failed < 0;
	}
	return argc < 2 ? 0 : 2;
}
