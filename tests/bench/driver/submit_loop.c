// SPDX-License-Identifier: MIT
/*
 * The program of the driver benchmark in the guest: submits empty jobs between marks, from which
 * the QEMU plugin counts. Before the next submission the program waits for the end of the jobs, and
 * for the machine to be idle.
 */
#include <drm/onpu_accel.h>
#include <onpu/isa.h>
#include <onpu/slots.h>

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <xf86drm.h>

#include "markers.h"

#define BATCH 64u

struct rig {
	int npu, vgem;
	uint32_t context;
	const volatile struct drm_onpu_completion *page;
	uint64_t va;
	/* jobs wait for the first, which has signalled, and signal the second */
	uint32_t syncobj[2];
};

static void fail(const char *what)
{
	fprintf(stderr, "submit_loop: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void check(int ret, const char *what)
{
	if (ret)
		fail(what);
}

static int open_driver(const char *folder, const char *prefix, const char *name)
{
	for (int i = 0; i < 64; i++) {
		drmVersionPtr version;
		char path[64];
		int fd, found;

		snprintf(path, sizeof(path), "%s/%s%d", folder, prefix, i);
		fd = open(path, O_RDWR | O_CLOEXEC);
		version = fd < 0 ? NULL : drmGetVersion(fd);
		found = version && !strcmp(version->name, name);
		drmFreeVersion(version);
		if (found)
			return fd;
		if (fd >= 0)
			close(fd);
	}
	errno = ENODEV;
	fail(name);
	return -1;
}

/* Makes a program of one instruction, and after it its slot table of one slot. */
static void make_program(struct rig *rig)
{
	const struct onpu_insn end = { .op = ONPU_OP_END };
	const struct onpu_slot_program slot = {
		.kind = ONPU_SLOT_PROGRAM,
		.isa_major = ONPU_ISA_MAJOR,
	};
	struct drm_onpu_bo_create create = { .size = 4096 };
	struct drm_onpu_bo_info info = { 0 };
	char *map;

	check(drmIoctl(rig->npu, DRM_IOCTL_ONPU_BO_CREATE, &create), "BO_CREATE");
	info.handle = create.handle;
	check(drmIoctl(rig->npu, DRM_IOCTL_ONPU_BO_INFO, &info), "BO_INFO");
	map = mmap(NULL, info.size, PROT_READ | PROT_WRITE, MAP_SHARED, rig->npu,
		   (off_t)info.mmap_offset);
	if (map == MAP_FAILED)
		fail("mmap");
	check(onpu_insn_pack(&end, (uint32_t *)map), "the instruction end");
	memcpy(map + ONPU_SLOT_SIZE, &slot, sizeof(slot));
	rig->va = info.va;
}

static void open_rig(struct rig *rig)
{
	struct drm_onpu_ctx_create context = { .priority = DRM_ONPU_PRIORITY_NORMAL };

	rig->npu = open_driver("/dev/accel", "accel", "onpu");
	rig->vgem = open_driver("/dev/dri", "card", "vgem");
	make_program(rig);
	check(drmIoctl(rig->npu, DRM_IOCTL_ONPU_CTX_CREATE, &context), "CTX_CREATE");
	rig->context = context.ctx_id;
	rig->page =
		mmap(NULL, 4096, PROT_READ, MAP_SHARED, rig->npu, (off_t)context.completion_offset);
	if (rig->page == MAP_FAILED)
		fail("mmap of the completion page");
	check(drmSyncobjCreate(rig->npu, DRM_SYNCOBJ_CREATE_SIGNALED, &rig->syncobj[0]), "syncobj");
	check(drmSyncobjCreate(rig->npu, 0, &rig->syncobj[1]), "syncobj");
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Looks at the completion page until it shows the job, and has the driver confirm that. */
static void look(struct rig *rig, uint64_t seqno)
{
	struct drm_onpu_ctx_get_state state = { .ctx_id = rig->context };

	while (__atomic_load_n(&rig->page->seqno, __ATOMIC_ACQUIRE) < seqno)
		;
	check(drmIoctl(rig->npu, DRM_IOCTL_ONPU_CTX_GET_STATE, &state), "CTX_GET_STATE");
	errno = EIO;
	check(state.state != DRM_ONPU_CTX_ACTIVE || state.completed < seqno, "the job's end");
}

/* Prints the nanoseconds from a SUBMIT until the program knows that its job has ended. */
static void measure(struct rig *rig, int sleeps)
{
	struct drm_onpu_sync signal = { rig->syncobj[1], DRM_ONPU_SYNC_SIGNAL, 0 };
	struct drm_onpu_job job = {
		.program_va = rig->va,
		.slots_va = rig->va + ONPU_SLOT_SIZE,
		.instr_count = 1,
		.slot_count = 1,
		.syncs = DRM_ONPU_OBJ_ARRAY(1, &signal),
	};
	struct drm_onpu_submit args = {
		.ctx_id = rig->context,
		.jobs = DRM_ONPU_OBJ_ARRAY(1, &job),
	};
	const struct timespec rest = { 0, 3000000 };
	uint64_t start = now_ns();

	check(drmIoctl(rig->npu, DRM_IOCTL_ONPU_SUBMIT, &args), "SUBMIT");
	if (sleeps)
		check(drmSyncobjWait(rig->npu, &rig->syncobj[1], 1, INT64_MAX, 0, NULL),
		      "SYNCOBJ_WAIT");
	else
		look(rig, args.seqno);
	printf("%s %llu\n", sleeps ? "sleep" : "look", (unsigned long long)(now_ns() - start));
	nanosleep(&rest, NULL);
}

/* Submits jobs: the first waits for one syncobj, the last signals the other. */
static void submit(struct rig *rig, uint32_t count)
{
	struct drm_onpu_sync wait = { rig->syncobj[0], DRM_ONPU_SYNC_WAIT, 0 };
	struct drm_onpu_sync signal = { rig->syncobj[1], DRM_ONPU_SYNC_SIGNAL, 0 };
	struct drm_onpu_sync both[2] = { wait, signal };
	struct drm_onpu_job jobs[BATCH];
	struct drm_onpu_submit args = {
		.ctx_id = rig->context,
		.jobs = DRM_ONPU_OBJ_ARRAY(count, jobs),
	};
	const struct timespec rest = { 0, 3000000 };
	int ret;

	memset(jobs, 0, sizeof(jobs));
	for (uint32_t i = 0; i < count; i++) {
		jobs[i].program_va = rig->va;
		jobs[i].slots_va = rig->va + ONPU_SLOT_SIZE;
		jobs[i].instr_count = jobs[i].slot_count = 1;
	}
	if (count == 1) {
		jobs[0].syncs = (struct drm_onpu_obj_array)DRM_ONPU_OBJ_ARRAY(2, both);
	} else {
		jobs[0].syncs = (struct drm_onpu_obj_array)DRM_ONPU_OBJ_ARRAY(1, &wait);
		jobs[count - 1].syncs = (struct drm_onpu_obj_array)DRM_ONPU_OBJ_ARRAY(1, &signal);
	}
	if (count == 1) {
		MARK(MARKER_SUBMIT_ONE);
		ret = ioctl(rig->npu, DRM_IOCTL_ONPU_SUBMIT, &args);
	} else {
		MARK(MARKER_SUBMIT_MANY);
		ret = ioctl(rig->npu, DRM_IOCTL_ONPU_SUBMIT, &args);
	}
	check(ret, "SUBMIT");
	check(drmSyncobjWait(rig->npu, &rig->syncobj[1], 1, INT64_MAX, 0, NULL), "SYNCOBJ_WAIT");
	rig->syncobj[0] = signal.handle;
	rig->syncobj[1] = wait.handle;
	nanosleep(&rest, NULL);
}

static void trivial(struct rig *rig)
{
	struct drm_version version = { 0 };
	int ret;

	MARK(MARKER_TRIVIAL);
	ret = ioctl(rig->vgem, DRM_IOCTL_VERSION, &version);
	MARK(MARKER_END);
	check(ret, "VERSION");
}

int main(int argc, char **argv)
{
	int rounds = argc >= 2 ? atoi(argv[1]) : 0, latency = argc == 3;
	struct rig rig;

	if (rounds < 1 || argc > 3 || (latency && strcmp(argv[2], "latency"))) {
		fprintf(stderr, "usage: submit_loop ROUNDS [latency]\n");
		return 2;
	}
	open_rig(&rig);
	for (int i = 0; latency && i < rounds; i++) {
		measure(&rig, 1);
		measure(&rig, 0);
	}
	if (latency)
		return 0;
	for (int i = 0; i < rounds; i++) {
		submit(&rig, 1);
		submit(&rig, BATCH);
		trivial(&rig);
	}
	return 0;
}
