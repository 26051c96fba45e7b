// SPDX-License-Identifier: MIT
/* BO_CREATE, BO_INFO, BO_SYNC, mmap: their effects, and the arguments that they refuse. */
#include "harness.h"
#include "npu.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <xf86drm.h>
#include <sys/mman.h>

#define ALL_FLAGS                                                                              \
	(DRM_ONPU_BO_WC | DRM_ONPU_BO_DEVICE_RO | DRM_ONPU_BO_NO_MMAP | DRM_ONPU_BO_IMPORTED | \
	 DRM_ONPU_BO_WRAPPED)

/* ---- refused arguments */

FIXTURE(create)
{
	int fd;
	struct drm_onpu_bo_create args;
};

FIXTURE_VARIANT(create)
{
	void (*spoil)(FIXTURE_DATA(create) * a);
	int error;
};

FIXTURE_SETUP(create)
{
	self->fd = npu_open();
	self->args.size = 4096;
}

FIXTURE_TEARDOWN(create)
{
	close(self->fd);
}

REFUSED(create, no_size, EINVAL, a->args.size = 0);
REFUSED(create, unknown_flag, EINVAL, a->args.flags = ALL_FLAGS + 1);
REFUSED(create, highest_flag, EINVAL, a->args.flags = 1u << 31);
REFUSED(create, imported, EINVAL, a->args.flags = DRM_ONPU_BO_IMPORTED);
REFUSED(create, wrapped, EINVAL, a->args.flags = DRM_ONPU_BO_WRAPPED);
REFUSED(create, wc_without_mmap, EINVAL, a->args.flags = DRM_ONPU_BO_WC | DRM_ONPU_BO_NO_MMAP);
REFUSED(create, handle, EINVAL, a->args.handle = 1);
REFUSED(create, address, EINVAL, a->args.va = 1 << 20);
REFUSED(create, beyond_the_limit, ENOSPC, a->args.size = npu_info(a->fd).memory_limit + 1);
REFUSED(create, beyond_all_addresses, ENOSPC, a->args.size = npu_info(a->fd).va_end);
REFUSED(create, size_that_wraps, ENOSPC, a->args.size = UINT64_MAX);
REFUSED(create, size_that_wraps_when_rounded, ENOSPC, a->args.size = UINT64_MAX - 4094);
REFUSED(create, negative_size, ENOSPC, a->args.size = 1ull << 63);

TEST_F(create, is_refused)
{
	struct drm_onpu_bo_create args;

	variant->spoil(self);
	args = self->args;
	EXPECT_EQ(variant->error, npu_ioctl(self->fd, DRM_IOCTL_ONPU_BO_CREATE, &args));
	EXPECT_EQ(0, memcmp(&args, &self->args, sizeof(args)));
	EXPECT_EQ(0, npu_counters(self->fd).client_memory);
	/* No handle was given out. */
	EXPECT_EQ(EINVAL, npu_gem_close(self->fd, 1));
}

FIXTURE(info)
{
	int fd;
	struct npu_bo bo;
	struct drm_onpu_bo_info args;
};

FIXTURE_VARIANT(info)
{
	void (*spoil)(FIXTURE_DATA(info) * a);
	int error;
};

FIXTURE_SETUP(info)
{
	self->fd = npu_open();
	self->bo = npu_bo(self->fd, 4096, 0);
	self->args.handle = self->bo.handle;
}

FIXTURE_TEARDOWN(info)
{
	close(self->fd);
}

REFUSED(info, no_handle, ENOENT, a->args.handle = 0);
REFUSED(info, unknown_handle, ENOENT, a->args.handle = 4711);
REFUSED(info, closed_handle, ENOENT, npu_bo_close(a->fd, &a->bo));
REFUSED(info, flags, EINVAL, a->args.flags = DRM_ONPU_BO_WC);
REFUSED(info, size, EINVAL, a->args.size = 4096);
REFUSED(info, offset, EINVAL, a->args.mmap_offset = 1ull << 32);
REFUSED(info, address, EINVAL, a->args.va = 1ull << 32);

TEST_F(info, is_refused)
{
	struct drm_onpu_bo_info args;

	variant->spoil(self);
	args = self->args;
	EXPECT_EQ(variant->error, npu_ioctl(self->fd, DRM_IOCTL_ONPU_BO_INFO, &args));
	EXPECT_EQ(0, memcmp(&args, &self->args, sizeof(args)));
}

FIXTURE(sync)
{
	int fd;
	struct npu_bo bo;
	struct drm_onpu_bo_sync args;
};

FIXTURE_VARIANT(sync)
{
	void (*spoil)(FIXTURE_DATA(sync) * a);
	int error;
};

FIXTURE_SETUP(sync)
{
	self->fd = npu_open();
	self->bo = npu_bo(self->fd, 8192, 0);
	self->args = (struct drm_onpu_bo_sync){
		.handle = self->bo.handle,
		.flags = DRM_ONPU_BO_SYNC_FOR_CPU,
		.size = self->bo.size,
	};
}

FIXTURE_TEARDOWN(sync)
{
	close(self->fd);
}

REFUSED(sync, no_handle, ENOENT, a->args.handle = 0);
REFUSED(sync, unknown_handle, ENOENT, a->args.handle = 4711);
REFUSED(sync, no_flag, EINVAL, a->args.flags = 0);
REFUSED(sync, unknown_flag, EINVAL, a->args.flags = 4 | DRM_ONPU_BO_SYNC_FOR_CPU);
REFUSED(sync, no_size, EINVAL, a->args.size = 0);
REFUSED(sync, size_beyond_the_end, EINVAL, a->args.size++);
REFUSED(sync, offset_at_the_end, EINVAL, a->args.offset = a->bo.size, a->args.size = 1);
REFUSED(sync, range_beyond_the_end, EINVAL, a->args.offset = 1);
REFUSED(sync, range_that_wraps, EINVAL, a->args.offset = UINT64_MAX - 4095);
REFUSED(sync, range_that_wraps_to_zero, EINVAL, a->args.offset = -a->bo.size);

TEST_F(sync, is_refused)
{
	struct drm_onpu_bo_sync args;

	variant->spoil(self);
	args = self->args;
	EXPECT_EQ(variant->error, npu_ioctl(self->fd, DRM_IOCTL_ONPU_BO_SYNC, &args));
	EXPECT_EQ(0, memcmp(&args, &self->args, sizeof(args)));
}

/* ---- successful calls */

FIXTURE(bo)
{
	int fd, other;
	struct drm_onpu_dev_info info;
};

FIXTURE_SETUP(bo)
{
	self->fd = npu_open();
	self->other = npu_open();
	self->info = npu_info(self->fd);
}

FIXTURE_TEARDOWN(bo)
{
	close(self->fd);
	close(self->other);
}

TEST_F(bo, sizes_and_addresses)
{
	static const uint64_t sizes[] = {
		1, 4095, 4096, 4097, 8192, 2 << 20, (2 << 20) + 1, 5000000, 1, 4096,
	};
	struct npu_bo bos[ARRAY_SIZE(sizes)];

	for (unsigned int i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct drm_onpu_bo_info info;

		bos[i] = npu_bo(self->fd, sizes[i], 0);
		info = npu_bo_info(self->fd, bos[i].handle);
		EXPECT_EQ((sizes[i] + npu_page() - 1) & ~(npu_page() - 1), bos[i].size);
		EXPECT_EQ(bos[i].size, info.size);
		EXPECT_EQ(bos[i].va, info.va);
		EXPECT_EQ(0, bos[i].va % self->info.page_size);
		EXPECT_LE(self->info.va_start, bos[i].va);
		EXPECT_GE(self->info.va_end, bos[i].va + bos[i].size);
		EXPECT_TRUE(npu_sees(bos[i].map, bos[i].size, 0));
		for (unsigned int j = 0; j < i; j++)
			EXPECT_TRUE(bos[j].va + bos[j].size <= bos[i].va ||
				    bos[i].va + bos[i].size <= bos[j].va);
	}
}

TEST_F(bo, every_combination_of_flags)
{
	for (uint32_t flags = 0; flags < DRM_ONPU_BO_IMPORTED; flags++) {
		struct drm_onpu_bo_info info;
		struct npu_bo bo;

		if (flags & DRM_ONPU_BO_WC && flags & DRM_ONPU_BO_NO_MMAP)
			continue;
		bo = npu_bo(self->fd, 4096, flags);
		info = npu_bo_info(self->fd, bo.handle);
		EXPECT_EQ(flags, info.flags);
		if (flags & DRM_ONPU_BO_NO_MMAP) {
			EXPECT_EQ(0, info.mmap_offset);
		} else {
			EXPECT_NE(0, info.mmap_offset);
			EXPECT_GT(1ull << 44, info.mmap_offset);
			memset(bo.map, 0x77, bo.size);
			EXPECT_TRUE(npu_all(bo.map, bo.size, 0x77));
		}
	}
}

TEST_F(bo, memory_is_zero_also_the_second_time)
{
	for (int round = 0; round < 8; round++) {
		struct npu_bo bo = npu_bo(self->fd, 1 << 20, 0);

		EXPECT_TRUE(npu_sees(bo.map, bo.size, 0));
		memset(bo.map, 0xff, bo.size);
		npu_bo_close(self->fd, &bo);
	}
}

static bool maps(int fd, uint64_t offset, size_t size)
{
	void *map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, (off_t)offset);

	if (map == MAP_FAILED)
		return false;
	munmap(map, size);
	return true;
}

TEST_F(bo, no_mmap_is_nowhere_to_be_mapped)
{
	struct npu_bo before = npu_bo(self->fd, 4096, 0);
	struct npu_bo hidden = npu_bo(self->fd, 4096, DRM_ONPU_BO_NO_MMAP);
	struct npu_bo after = npu_bo(self->fd, 4096, 0);
	uint64_t known[2] = {
		npu_bo_info(self->fd, before.handle).mmap_offset,
		npu_bo_info(self->fd, after.handle).mmap_offset,
	};

	EXPECT_NE(0, hidden.handle);
	for (uint64_t at = known[0] - 64 * npu_page(); at <= known[1] + 64 * npu_page();
	     at += npu_page())
		EXPECT_EQ(at == known[0] || at == known[1], maps(self->fd, at, 4096));
}

TEST_F(bo, another_client_cannot_map_it)
{
	struct npu_bo bo = npu_bo(self->fd, 4096, 0);
	uint64_t offset = npu_bo_info(self->fd, bo.handle).mmap_offset;

	EXPECT_TRUE(maps(self->fd, offset, 4096));
	EXPECT_FALSE(maps(self->other, offset, 4096));
	EXPECT_EQ(EACCES, errno);
}

TEST_F(bo, handles_are_of_one_client)
{
	struct npu_bo bo = npu_bo(self->fd, 4096, 0);
	struct drm_onpu_bo_info info = { .handle = bo.handle };

	EXPECT_EQ(ENOENT, npu_ioctl(self->other, DRM_IOCTL_ONPU_BO_INFO, &info));
	EXPECT_EQ(EINVAL, npu_gem_close(self->other, bo.handle));
}

TEST_F(bo, no_more_than_it_is_can_be_mapped)
{
	size_t page = npu_page();
	struct npu_bo bo = npu_bo(self->fd, 2 * page, 0);
	uint64_t offset = npu_bo_info(self->fd, bo.handle).mmap_offset;

	EXPECT_TRUE(maps(self->fd, offset, 2 * page));
	EXPECT_FALSE(maps(self->fd, offset, 3 * page));
	EXPECT_EQ(MAP_FAILED, mremap(bo.map, 2 * page, 4 * page, MREMAP_MAYMOVE));
}

/*
 * A mapping keeps its pages when handle and file are closed: other buffers do not get them. The
 * mapping of a dma-buf keeps them too, although it does not keep the device's file open.
 */
TEST_F(bo, a_mapping_outlives_handle_and_file)
{
	struct npu_ctx ctx = npu_ctx(self->fd, 0);

	for (int shared = 0; shared < 2; shared++) {
		int fd = npu_open(), file;
		struct npu_bo bo = npu_bo(fd, 1 << 20, 0), more[8];

		memset(bo.map, 0x42, bo.size);
		if (shared) {
			must(!drmPrimeHandleToFD(fd, bo.handle, DRM_RDWR, &file));
			munmap(bo.map, bo.size);
			bo.map = mmap(NULL, bo.size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
			ASSERT_NE(MAP_FAILED, (void *)bo.map);
			close(file);
		}
		EXPECT_EQ(0, npu_gem_close(fd, bo.handle));
		close(fd);
		for (int i = 0; i < 8; i++) {
			struct drm_onpu_job job;

			more[i] = npu_bo(self->fd, 1 << 20, 0);
			job = npu_fill(self->fd, more[i].va, 1 << 20, 0x99);
			EXPECT_EQ(0, npu_run(self->fd, ctx.id, &job));
		}
		EXPECT_TRUE(npu_all(bo.map, bo.size, 0x42));
		memset(bo.map, 0x43, bo.size);
		for (int i = 0; i < 8; i++) {
			EXPECT_TRUE(npu_sees(more[i].map, 1 << 20, 0x99));
			npu_bo_close(self->fd, &more[i]);
		}
		EXPECT_TRUE(npu_all(bo.map, bo.size, 0x43));
		munmap(bo.map, bo.size);
	}
}

TEST_F(bo, a_handle_is_closed_once)
{
	struct npu_bo bo = npu_bo(self->fd, 4096, 0);

	EXPECT_EQ(0, npu_gem_close(self->fd, bo.handle));
	EXPECT_EQ(EINVAL, npu_gem_close(self->fd, bo.handle));
}

TEST_F(bo, sync_of_every_part)
{
	struct npu_bo bo = npu_bo(self->fd, 12288, 0);
	static const struct {
		uint64_t offset, size;
	} parts[] = {
		{ 0, 1 }, { 0, 12288 }, { 12287, 1 }, { 4095, 2 }, { 1, 12287 },
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(parts); i++) {
		for (uint32_t flags = 1; flags < 4; flags++) {
			struct drm_onpu_bo_sync args = {
				.handle = bo.handle,
				.flags = flags,
				.offset = parts[i].offset,
				.size = parts[i].size,
			};

			EXPECT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_ONPU_BO_SYNC, &args));
		}
	}
}

TEST_F(bo, the_device_sees_what_was_written_write_combining)
{
	struct npu_bo from = npu_bo(self->fd, 4096, DRM_ONPU_BO_WC);
	struct npu_bo to = npu_bo(self->fd, 4096, 0);
	struct npu_ctx ctx = npu_ctx(self->fd, 0);
	struct npu_program program = npu_program(self->fd, 1);
	struct drm_onpu_job job;

	npu_insn(&program,
		 (struct onpu_insn){
			 .op = ONPU_OP_DMA_COPY,
			 .ch = 1,
			 .s0 = npu_tensor(&program, ONPU_DT_U8, ONPU_SPACE_VA, from.va, 4096),
			 .dst = npu_tensor(&program, ONPU_DT_U8, ONPU_SPACE_VA, to.va, 4096),
		 });
	job = npu_job(&program);
	for (int round = 1; round < 40; round++) {
		memset(from.map, round, 4096);
		npu_flush(from.map, 4096);
		ASSERT_EQ(0, npu_run(self->fd, ctx.id, &job));
		ASSERT_TRUE(npu_sees(to.map, 4096, (uint8_t)round));
	}
}

/* ---- the limit of a user; only where a test can reach it: see guest_limits.sh */

#define MIB 1048576u

/* Returns 0 or the errno, and the handle of the new buffer. */
static int try_bo(int fd, uint64_t size, uint32_t *handle)
{
	struct drm_onpu_bo_create args = { .size = size, .flags = DRM_ONPU_BO_NO_MMAP };
	int ret = npu_ioctl(fd, DRM_IOCTL_ONPU_BO_CREATE, &args);

	*handle = args.handle;
	return ret;
}

/*
 * Creates buffers of this size until that fails. Returns the error, which should be ENOSPC, and the
 * handle of the last buffer.
 */
static int fill_up(int fd, uint64_t size, uint32_t *last)
{
	uint32_t handle;
	int ret;

	while (!(ret = try_bo(fd, size, &handle)))
		*last = handle;
	return ret;
}

FIXTURE(limit)
{
	int fd, other;
	struct drm_onpu_dev_info info;
};

FIXTURE_SETUP(limit)
{
	self->fd = npu_open();
	self->other = npu_open();
	self->info = npu_info(self->fd);
	if (self->info.memory_limit > 64 * MIB)
		SKIP(return, "the limit is %llu MiB",
			   (unsigned long long)self->info.memory_limit >> 20);
}

FIXTURE_TEARDOWN(limit)
{
	close(self->fd);
	close(self->other);
}

TEST_F(limit, all_files_of_a_user)
{
	uint32_t last = 0, handle;
	uint64_t used;

	EXPECT_EQ(ENOSPC, fill_up(self->fd, MIB, &last));
	EXPECT_EQ(ENOSPC, fill_up(self->fd, 4096, &handle));
	EXPECT_EQ(ENOSPC, try_bo(self->other, 4096, &handle));
	used = npu_counters(self->other).user_memory;
	EXPECT_EQ(used, npu_counters(self->fd).user_memory);
	EXPECT_GE(self->info.memory_limit, used);
	EXPECT_LT(self->info.memory_limit, used + 8 * npu_page());
	/* Memory of a closed buffer can be allocated again at once. */
	for (int round = 0; round < 20; round++) {
		ASSERT_EQ(0, npu_gem_close(self->fd, last));
		ASSERT_EQ(0, try_bo(self->fd, MIB, &last));
	}
	close(self->fd);
	self->fd = npu_open();
	EXPECT_EQ(0, try_bo(self->other, self->info.memory_limit / 2, &handle));
}

TEST_F(limit, not_those_of_another_user)
{
	uint32_t handle = 0;
	pid_t child;
	int status;

	if (geteuid())
		SKIP(return, "only root can be somebody else");
	EXPECT_EQ(ENOSPC, fill_up(self->fd, MIB, &handle));
	child = fork();
	if (!child) {
		struct stat node;
		int fd;

		must(!stat(NPU_NODE, &node) && !setgid(node.st_gid) && !setuid(4242));
		fd = npu_open();
		must(!try_bo(fd, self->info.memory_limit / 2, &handle));
		must(try_bo(fd, self->info.memory_limit / 2 + 1, &handle) == ENOSPC);
		_exit(0);
	}
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
}

/*
 * Pages are charged as long as they exist: closing a handle does not free pages that are exported
 * or mapped.
 */
TEST_F(limit, buffers_that_are_exported_or_mapped_and_closed)
{
	for (int mapped = 0; mapped < 2; mapped++) {
		int file[64], made = 0, fds[] = { self->fd, self->other }, ret = 0;
		void *map[64];

		for (; made < 64 && !ret; made++) {
			struct drm_onpu_bo_create args = { .size = MIB };
			int fd = fds[made % 2];

			ret = npu_ioctl(fd, DRM_IOCTL_ONPU_BO_CREATE, &args);
			if (ret)
				break;
			if (mapped)
				map[made] = mmap(NULL, MIB, PROT_READ, MAP_SHARED, fd,
						 (off_t)npu_bo_info(fd, args.handle).mmap_offset);
			else
				must(!drmPrimeHandleToFD(fd, args.handle, DRM_RDWR, &file[made]));
			ASSERT_EQ(0, npu_gem_close(fd, args.handle));
		}
		EXPECT_EQ(ENOSPC, ret);
		EXPECT_LE(made, (int)(self->info.memory_limit / MIB));
		EXPECT_LT((int)(self->info.memory_limit / MIB) - 3, made);
		EXPECT_EQ(0, npu_counters(self->fd).client_memory);
		while (made--)
			mapped ? munmap(map[made], MIB) : close(file[made]);
		/* A work item of the kernel may drop the last reference. */
		EXPECT_GT(2 * MIB, npu_settled_memory(self->fd, 0));
	}
}

TEST_F(limit, contexts_count)
{
	struct drm_onpu_ctx_create args = { .flags = 0 };
	uint32_t handle = 0;

	EXPECT_EQ(ENOSPC, fill_up(self->other, MIB, &handle));
	EXPECT_EQ(ENOSPC, npu_ioctl(self->fd, DRM_IOCTL_ONPU_CTX_CREATE, &args));
	for (uint32_t i = 0; i < 8; i++)
		ASSERT_EQ(0, npu_gem_close(self->other, handle - i));
	args = (struct drm_onpu_ctx_create){ .flags = 0 };
	EXPECT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_ONPU_CTX_CREATE, &args));
}

TEST_HARNESS_MAIN
