// SPDX-License-Identifier: MIT
/* BO_CREATE, BO_INFO, BO_SYNC, mmap: what they do, and what they refuse without effect. */
#include "harness.h"
#include "npu.h"

#include <errno.h>
#include <sys/mman.h>

#define ALL_FLAGS \
	(DRM_ONPU_BO_WC | DRM_ONPU_BO_DEVICE_RO | DRM_ONPU_BO_NO_MMAP | DRM_ONPU_BO_IMPORTED)

/* ---- what is refused */

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
		.size = 8192,
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
REFUSED(sync, size_beyond_the_end, EINVAL, a->args.size = 8193);
REFUSED(sync, offset_at_the_end, EINVAL, a->args.offset = 8192, a->args.size = 1);
REFUSED(sync, range_beyond_the_end, EINVAL, a->args.offset = 1);
REFUSED(sync, range_that_wraps, EINVAL, a->args.offset = UINT64_MAX - 4095);
REFUSED(sync, range_that_wraps_to_zero, EINVAL, a->args.offset = (uint64_t)-8192);

TEST_F(sync, is_refused)
{
	struct drm_onpu_bo_sync args;

	variant->spoil(self);
	args = self->args;
	EXPECT_EQ(variant->error, npu_ioctl(self->fd, DRM_IOCTL_ONPU_BO_SYNC, &args));
	EXPECT_EQ(0, memcmp(&args, &self->args, sizeof(args)));
}

/* ---- what works */

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
		EXPECT_EQ((sizes[i] + 4095) & ~4095ull, bos[i].size);
		EXPECT_EQ(bos[i].size, info.size);
		EXPECT_EQ(bos[i].va, info.va);
		EXPECT_EQ(0, bos[i].va % self->info.page_size);
		EXPECT_LE(self->info.va_start, bos[i].va);
		EXPECT_GE(self->info.va_end, bos[i].va + bos[i].size);
		EXPECT_TRUE(npu_all(bos[i].map, bos[i].size, 0));
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

		EXPECT_TRUE(npu_all(bo.map, bo.size, 0));
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
	for (uint64_t at = known[0] - 64 * 4096; at <= known[1] + 64 * 4096; at += 4096)
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
	struct npu_bo bo = npu_bo(self->fd, 8192, 0);
	uint64_t offset = npu_bo_info(self->fd, bo.handle).mmap_offset;

	EXPECT_TRUE(maps(self->fd, offset, 8192));
	EXPECT_FALSE(maps(self->fd, offset, 12288));
	EXPECT_EQ(MAP_FAILED, mremap(bo.map, 8192, 16384, MREMAP_MAYMOVE));
}

TEST_F(bo, a_mapping_outlives_handle_and_file)
{
	int fd = npu_open();
	struct npu_bo bo = npu_bo(fd, 8192, 0);

	memset(bo.map, 0x42, bo.size);
	EXPECT_EQ(0, npu_gem_close(fd, bo.handle));
	close(fd);
	EXPECT_TRUE(npu_all(bo.map, bo.size, 0x42));
	memset(bo.map, 0x43, bo.size);
	EXPECT_TRUE(npu_all(bo.map, bo.size, 0x43));
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
		ASSERT_EQ(0, npu_run(self->fd, ctx.id, &job));
		ASSERT_TRUE(npu_all(to.map, 4096, (uint8_t)round));
	}
}

/* Only where the limit is one that a test can reach: see guest_limits.sh. */
TEST_F(bo, memory_limit)
{
	uint64_t left = self->info.memory_limit;
	struct drm_onpu_bo_create more = { .size = 1 };
	struct npu_bo last = { 0 };

	if (left > 64 << 20)
		SKIP(return, "the limit is %llu MiB", (unsigned long long)left >> 20);
	for (; left; left -= last.size)
		last = npu_bo(self->fd, left > 1 << 20 ? 1 << 20 : left, DRM_ONPU_BO_NO_MMAP);
	EXPECT_EQ(ENOSPC, npu_ioctl(self->fd, DRM_IOCTL_ONPU_BO_CREATE, &more));
	EXPECT_EQ(self->info.memory_limit, npu_counters(self->fd).client_memory);
	EXPECT_EQ(0, npu_ioctl(self->other, DRM_IOCTL_ONPU_BO_CREATE, &more));
	npu_bo_close(self->fd, &last);
	more = (struct drm_onpu_bo_create){ .size = 1 };
	EXPECT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_ONPU_BO_CREATE, &more));
}

TEST_HARNESS_MAIN
