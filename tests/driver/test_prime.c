// SPDX-License-Identifier: MIT
/* Sharing buffers: between clients of the device, with another driver (vgem), and with udmabuf. */
#include "harness.h"
#include "npu.h"

#include <drm/drm_mode.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/udmabuf.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <xf86drm.h>

#define BYTES 65536u

FIXTURE(prime)
{
	int fd, other;
	struct npu_ctx ctx, other_ctx;
};

FIXTURE_SETUP(prime)
{
	self->fd = npu_open();
	self->other = npu_open();
	self->ctx = npu_ctx(self->fd, 0);
	self->other_ctx = npu_ctx(self->other, 0);
}

FIXTURE_TEARDOWN(prime)
{
	close(self->fd);
	close(self->other);
}

static int export_bo(int fd, uint32_t handle, uint32_t flags)
{
	int file = -1;

	must(!drmPrimeHandleToFD(fd, handle, DRM_CLOEXEC | flags, &file));
	return file;
}

static uint32_t import_bo(int fd, int file)
{
	uint32_t handle = 0;

	must(!drmPrimeFDToHandle(fd, file, &handle));
	return handle;
}

TEST_F(prime, two_clients_share_memory)
{
	struct npu_bo first = npu_bo(self->fd, 4096, 0), bo = npu_bo(self->fd, BYTES, 0);
	int file = export_bo(self->fd, bo.handle, DRM_RDWR);
	struct drm_onpu_bo_info info = npu_bo_info(self->other, import_bo(self->other, file));
	struct drm_onpu_job job;
	uint8_t *map;

	EXPECT_NE(bo.va, info.va);
	EXPECT_NE(0, first.va);
	EXPECT_EQ(0, info.flags);
	EXPECT_EQ(BYTES, info.size);
	map = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, self->other,
		   (off_t)info.mmap_offset);
	ASSERT_NE(MAP_FAILED, map);
	job = npu_fill(self->other, info.va, BYTES, 5);
	EXPECT_EQ(0, npu_run(self->other, self->other_ctx.id, &job));
	EXPECT_TRUE(npu_sees(bo.map, BYTES, 5));
	job = npu_fill(self->fd, bo.va, BYTES, 6);
	EXPECT_EQ(0, npu_run(self->fd, self->ctx.id, &job));
	EXPECT_TRUE(npu_dmabuf_sees(file, map, BYTES, 6));
	/* The client that created the buffer closes it; the other client still has it. */
	EXPECT_EQ(0, npu_gem_close(self->fd, bo.handle));
	EXPECT_EQ(EFAULT, npu_run(self->fd, self->ctx.id, &job));
	job = npu_fill(self->other, info.va, BYTES, 7);
	EXPECT_EQ(0, npu_run(self->other, self->other_ctx.id, &job));
	EXPECT_TRUE(npu_dmabuf_sees(file, map, BYTES, 7));
	close(file);
}

TEST_F(prime, the_flags_come_with_it)
{
	static const uint32_t flags[] = {
		DRM_ONPU_BO_WC,
		DRM_ONPU_BO_DEVICE_RO,
		DRM_ONPU_BO_NO_MMAP,
		DRM_ONPU_BO_NO_MMAP | DRM_ONPU_BO_DEVICE_RO,
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(flags); i++) {
		struct npu_bo bo = npu_bo(self->fd, 4096, flags[i]);
		int file = export_bo(self->fd, bo.handle, DRM_RDWR);
		struct drm_onpu_bo_info info =
			npu_bo_info(self->other, import_bo(self->other, file));

		EXPECT_EQ(flags[i], info.flags);
		EXPECT_EQ(!!(flags[i] & DRM_ONPU_BO_NO_MMAP), !info.mmap_offset);
		EXPECT_EQ(!!(flags[i] & DRM_ONPU_BO_NO_MMAP),
			  mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0) == MAP_FAILED);
		close(file);
	}
}

TEST_F(prime, read_only_for_the_device_of_every_client)
{
	struct npu_bo bo = npu_bo(self->fd, 4096, DRM_ONPU_BO_DEVICE_RO);
	int file = export_bo(self->fd, bo.handle, DRM_RDWR);
	struct drm_onpu_bo_info info = npu_bo_info(self->other, import_bo(self->other, file));
	struct drm_onpu_job job = npu_fill(self->other, info.va, 64, 1);

	EXPECT_EQ(EFAULT, npu_run(self->other, self->other_ctx.id, &job));
	EXPECT_TRUE(npu_sees(bo.map, 4096, 0));
	close(file);
}

TEST_F(prime, back_to_the_same_client)
{
	struct npu_bo bo = npu_bo(self->fd, 4096, 0);
	int file = export_bo(self->fd, bo.handle, DRM_RDWR);
	uint64_t memory = npu_counters(self->fd).client_memory;

	EXPECT_EQ(bo.handle, import_bo(self->fd, file));
	EXPECT_EQ(bo.va, npu_bo_info(self->fd, bo.handle).va);
	EXPECT_EQ(memory, npu_counters(self->fd).client_memory);
	close(file);
}

TEST_F(prime, what_is_imported_counts)
{
	struct npu_bo bo = npu_bo(self->fd, BYTES, 0);
	int file = export_bo(self->fd, bo.handle, DRM_RDWR);
	uint32_t handle = import_bo(self->other, file);

	EXPECT_EQ(BYTES, npu_counters(self->other).client_memory);
	EXPECT_EQ(0, npu_gem_close(self->other, handle));
	EXPECT_EQ(0, npu_counters(self->other).client_memory);
	close(file);
}

TEST_F(prime, no_such_thing)
{
	uint32_t handle;
	int file = open("/dev/null", O_RDWR | O_CLOEXEC);

	EXPECT_NE(0, drmPrimeFDToHandle(self->fd, file, &handle));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_NE(0, drmPrimeFDToHandle(self->fd, -1, &handle));
	EXPECT_NE(0, drmPrimeHandleToFD(self->fd, 4711, DRM_CLOEXEC, &file));
	EXPECT_EQ(ENOENT, errno);
}

/*
 * Returns whether BYTES can be mapped at some offset in the 32 MiB from 4 GiB on, where a DRM
 * driver places its first buffers.
 */
static bool anything_maps(int fd)
{
	const uint64_t first = 1ull << 32;

	for (uint64_t at = first; at < first + (1 << 25); at += 4096)
		if (mmap(NULL, BYTES, PROT_READ, MAP_SHARED, fd, (off_t)at) != MAP_FAILED)
			return true;
	return false;
}

/* Checks a handle of a buffer of another device, which @map shows. */
static void check_imported(struct __test_metadata *_metadata, FIXTURE_DATA(prime) * self, int file,
			   uint8_t *map)
{
	uint32_t handle = import_bo(self->fd, file);
	struct drm_onpu_bo_info info = npu_bo_info(self->fd, handle);
	struct drm_onpu_bo_sync sync = {
		.handle = handle,
		.flags = DRM_ONPU_BO_SYNC_FOR_CPU,
		.size = 4096,
	};
	struct npu_program program = npu_program(self->fd, 1);
	struct npu_bo own;
	struct drm_onpu_job job;

	EXPECT_FALSE(anything_maps(self->fd));
	own = npu_bo(self->fd, BYTES, 0);
	EXPECT_TRUE(anything_maps(self->fd));
	EXPECT_EQ(DRM_ONPU_BO_IMPORTED, info.flags);
	EXPECT_EQ(0, info.mmap_offset);
	EXPECT_EQ(BYTES, info.size);
	EXPECT_EQ(info.va, npu_bo_info(self->fd, handle).va);
	EXPECT_EQ(EINVAL, npu_ioctl(self->fd, DRM_IOCTL_ONPU_BO_SYNC, &sync));
	memset(map, 0x21, BYTES);
	npu_insn(&program,
		 (struct onpu_insn){
			 .op = ONPU_OP_DMA_COPY,
			 .ch = 1,
			 .s0 = npu_tensor(&program, ONPU_DT_U8, ONPU_SPACE_VA, info.va, BYTES),
			 .dst = npu_tensor(&program, ONPU_DT_U8, ONPU_SPACE_VA, own.va, BYTES),
		 });
	job = npu_job(&program);
	EXPECT_EQ(0, npu_run(self->fd, self->ctx.id, &job));
	EXPECT_TRUE(npu_sees(own.map, BYTES, 0x21));
	job = npu_fill(self->fd, info.va, BYTES, 0x22);
	EXPECT_EQ(0, npu_run(self->fd, self->ctx.id, &job));
	EXPECT_TRUE(npu_all(map, BYTES, 0x22));
	EXPECT_EQ(0, npu_gem_close(self->fd, handle));
	EXPECT_EQ(EFAULT, npu_run(self->fd, self->ctx.id, &job));
}

/*
 * Returns whether a dma-buf is refused because the kernel gives the device that imports it, the NPU
 * or vgem, a copy; only where the NPU is not coherent.
 */
static bool would_be_copied(struct __test_metadata *_metadata, FIXTURE_DATA(prime) * self,
			    int importer, int file)
{
	uint64_t memory = npu_counters(self->fd).memory;
	uint32_t handle;

	if (!drmPrimeFDToHandle(importer, file, &handle)) {
		EXPECT_EQ(0, npu_gem_close(importer, handle));
		return false;
	}
	EXPECT_EQ(EOPNOTSUPP, errno);
	EXPECT_EQ(0, npu_info(self->fd).features & DRM_ONPU_FEATURE_COHERENT);
	EXPECT_EQ(memory, npu_counters(self->fd).memory);
	return true;
}

TEST_F(prime, from_vgem)
{
	struct drm_mode_create_dumb dumb = { .width = BYTES, .height = 1, .bpp = 8 };
	struct drm_mode_map_dumb offset = { 0 };
	int vgem = npu_open_vgem(), file;
	uint8_t *map;

	if (vgem < 0)
		SKIP(return, "no vgem: modprobe vgem");
	ASSERT_EQ(0, npu_ioctl(vgem, DRM_IOCTL_MODE_CREATE_DUMB, &dumb));
	offset.handle = dumb.handle;
	ASSERT_EQ(0, npu_ioctl(vgem, DRM_IOCTL_MODE_MAP_DUMB, &offset));
	map = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, vgem, (off_t)offset.offset);
	ASSERT_NE(MAP_FAILED, map);
	file = export_bo(vgem, dumb.handle, DRM_RDWR);
	if (would_be_copied(_metadata, self, self->fd, file))
		SKIP(return, "the device would have a copy");
	check_imported(_metadata, self, file, map);
	close(file);
	close(vgem);
}

TEST_F(prime, to_vgem)
{
	struct npu_bo bo = npu_bo(self->fd, BYTES, 0);
	int vgem = npu_open_vgem(), file = export_bo(self->fd, bo.handle, DRM_RDWR);
	struct drm_onpu_job job = npu_fill(self->fd, bo.va, BYTES, 0x33);
	uint32_t handle;
	uint8_t *map;

	if (vgem < 0)
		SKIP(return, "no vgem: modprobe vgem");
	if (would_be_copied(_metadata, self, vgem, file))
		SKIP(return, "vgem would have a copy");
	handle = import_bo(vgem, file);
	map = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(0, npu_run(self->fd, self->ctx.id, &job));
	EXPECT_TRUE(npu_dmabuf_sees(file, map, BYTES, 0x33));
	/* The memory lives on in the other driver. */
	npu_bo_close(self->fd, &bo);
	close(file);
	EXPECT_TRUE(npu_all(map, BYTES, 0x33));
	EXPECT_EQ(0, npu_gem_close(vgem, handle));
	close(vgem);
}

/* Returns a dma-buf of memory that *@map shows; -1 when the kernel has no udmabuf. */
static int create_udmabuf(uint32_t bytes, uint8_t **map)
{
	struct udmabuf_create create = { .size = bytes, .flags = UDMABUF_FLAGS_CLOEXEC };
	int device = open("/dev/udmabuf", O_RDWR | O_CLOEXEC), memfd, file;

	if (device < 0)
		return -1;
	memfd = memfd_create("onpu-test", MFD_ALLOW_SEALING | MFD_CLOEXEC);
	must(!ftruncate(memfd, bytes));
	must(!fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK));
	*map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	must(*map != MAP_FAILED);
	create.memfd = (uint32_t)memfd;
	file = ioctl(device, UDMABUF_CREATE, &create);
	must(file >= 0);
	close(memfd);
	close(device);
	return file;
}

TEST_F(prime, from_udmabuf)
{
	uint8_t *map;
	int file = create_udmabuf(BYTES, &map);

	if (file < 0)
		SKIP(return, "no /dev/udmabuf");
	if (would_be_copied(_metadata, self, self->fd, file))
		SKIP(return, "the device would have a copy");
	check_imported(_metadata, self, file, map);
	close(file);
}

/* ---- an import that has to wait for memory that is being freed */

#define LARGE (4u << 20)

struct import {
	int fd, file, error;
	uint32_t handle;
	pid_t thread;
	bool ends;
};

static void *import_it(void *data)
{
	struct import *import = data;

	__atomic_store_n(&import->thread, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	import->error = drmPrimeFDToHandle(import->fd, import->file, &import->handle) ? errno : 0;
	__atomic_store_n(&import->ends, true, __ATOMIC_RELEASE);
	return NULL;
}

/*
 * Waits until the import waits for memory, and returns true; returns false when it ends without
 * that.
 */
static bool import_waits(const struct import *import)
{
	char path[64], stack[4096];

	while (!__atomic_load_n(&import->ends, __ATOMIC_ACQUIRE)) {
		FILE *file;
		size_t bytes;

		usleep(1000);
		snprintf(path, sizeof(path), "/proc/self/task/%d/stack",
			 __atomic_load_n(&import->thread, __ATOMIC_ACQUIRE));
		file = fopen(path, "r");
		if (!file)
			continue;
		bytes = fread(stack, 1, sizeof(stack) - 1, file);
		stack[bytes] = '\0';
		fclose(file);
		if (strstr(stack, "onpu_user_wait"))
			return true;
	}
	return false;
}

/*
 * Makes the driver leave out the next invalidation, by a file in debugfs that only root may write.
 * Returns false if it cannot.
 */
static bool lose_invalidation(void)
{
	glob_t found;
	FILE *file = NULL;
	bool written;

	if (!glob("/sys/kernel/debug/accel/0000:*/lose_invalidations", 0, NULL, &found))
		file = fopen(found.gl_pathv[0], "w");
	globfree(&found);
	written = file && fputs("1", file) > 0;
	return file && !fclose(file) && written;
}

/*
 * Takes memory until less is left than @import needs, and closes a buffer during the import.
 * Returns whether the import then gets the closed buffer's memory.
 */
static bool gets_what_is_closed(struct import *import)
{
	struct npu_bo small = npu_bo(import->fd, 4096, 0), large = npu_bo(import->fd, LARGE, 0);
	struct npu_bo rest = npu_bo(import->fd,
				    npu_info(import->fd).memory_limit -
					    npu_counters(import->fd).user_memory - LARGE / 2,
				    0);
	pthread_t thread;
	uint64_t others = npu_counters(import->fd).memory - small.size - large.size - rest.size;
	bool waits;

	import->ends = false;
	/* The driver keeps the small buffer until the device answers another invalidation. */
	must(lose_invalidation());
	npu_bo_close(import->fd, &small);
	must(!pthread_create(&thread, NULL, import_it, import));
	waits = import_waits(import);
	npu_bo_close(import->fd, &large);
	must(!pthread_join(thread, NULL));
	if (!import->error)
		npu_gem_close(import->fd, import->handle);
	npu_bo_close(import->fd, &rest);
	must(npu_settled_memory(import->fd, others) == others);
	return waits && !import->error;
}

TEST_F(prime, while_an_import_waits_buffers_can_be_closed)
{
	struct import import = { .fd = self->fd };
	uint64_t limit = npu_info(self->fd).memory_limit;
	bool got = false;
	uint8_t *map;

	if (limit > 64 << 20)
		SKIP(return, "the limit is %u MiB", (unsigned int)(limit >> 20));
	import.file = create_udmabuf(LARGE, &map);
	ASSERT_LE(0, import.file);
	/* The import waits at most two seconds; a busy machine may miss that, so try again. */
	for (int i = 0; i < 20 && !got; i++)
		got = gets_what_is_closed(&import);
	EXPECT_TRUE(got);
	close(import.file);
}

TEST_HARNESS_MAIN
