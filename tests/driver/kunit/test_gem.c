// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Tests which bytes of memory, and in which direction, BO_SYNC and dma-bufs sync for caches that
 * the device does not snoop and for bounce buffers. before_gem.h replaces the functions of the DMA
 * API by functions of this file, which record the calls. Also tests the state of a buffer when its
 * handle is created, and memory that needs no syncs.
 */
#include "fake.h"

#define MAX_RUNS	24
#define BO_SIZE		(MAX_RUNS * PAGE_SIZE)

/* Start of the bus addresses at which an IOMMU maps memory. */
#define IOMMU_BASE	BIT_ULL(39)

#define FOR_DEVICE	DRM_ONPU_BO_SYNC_FOR_DEVICE
#define FOR_CPU		DRM_ONPU_BO_SYNC_FOR_CPU

/* A range of a buffer that is contiguous for the device. */
struct run {
	u64 addr;
	u64 size;
};

struct gem_test {
	struct onpu_device *onpu;
	struct onpu_vm *vm;
	struct rnd_state random;
	/* The memory of a buffer, and its scatter list for the driver. */
	struct run runs[MAX_RUNS];
	unsigned int num_runs;
	struct scatterlist entries[MAX_RUNS];
	struct sg_table sgt;
	/* The runs are pages, which an IOMMU makes contiguous for the device. */
	bool iommu;
	/* A client that has the buffer `bo`. */
	struct drm_file client;
	struct onpu_file file;
	struct onpu_bo *bo;
	int handle;
};

static u32 below(struct gem_test *t, u32 limit)
{
	return prandom_u32_state(&t->random) % limit;
}

/* ---- the record of synchronisations */

/* The synchronisations that the driver has done since begin(). */
static struct {
	const struct gem_test *t;
	/* End of the bytes synced so far: for the device, for the CPU. */
	u64 done[2];
	/*
	 * The call asks for both directions, so each range must be synced for the device first: a
	 * sync for the CPU that came first would lose the CPU's writes.
	 */
	bool both;
	/* A call did not sync the next bytes, or did it with a wrong device or direction. */
	bool wrong;
	/* The number of checks for a signal after which the process counts as killed. */
	u64 life;
	/*
	 * @table is mapped for another device; @others counts its syncs for the device and the CPU.
	 */
	struct sg_table *table;
	unsigned int others[2];
} seen;

/* The state of the buffer when its handle was created. */
static struct {
	bool has_memory;
	bool map_wc;
} created;

/* Number of pages that a call has mapped for the kernel. */
static unsigned int mapped_pages;

/* The protection with which the call has mapped these pages. */
static pgprot_t mapped_prot;

static void *seen_vmap(struct page **pages, unsigned int count, unsigned long flags, pgprot_t prot)
{
	mapped_pages += count;
	mapped_prot = prot;
	return (vmap)(pages, count, flags, prot);
}

/* Starts a record of syncs from this byte on, in the directions of @flags. */
static void begin(const struct gem_test *t, u64 offset, u32 flags)
{
	seen.t = t;
	seen.done[0] = offset;
	seen.done[1] = offset;
	seen.both = flags == (FOR_DEVICE | FOR_CPU);
	seen.wrong = false;
	seen.life = U64_MAX;
	memset(seen.others, 0, sizeof(seen.others));
}

/* Returns whether exactly this range was synced since begin(). */
static bool was_done(u64 offset, u64 size, u32 flags)
{
	return !seen.wrong && seen.done[0] == offset + (flags & FOR_DEVICE ? size : 0) &&
	       seen.done[1] == offset + (flags & FOR_CPU ? size : 0);
}

/*
 * Returns the device's address of a byte of the buffer and sets *@left to the number of contiguous
 * bytes from there on; both are U64_MAX past the end.
 */
static u64 wanted_addr(const struct gem_test *t, u64 offset, u64 *left)
{
	for (unsigned int i = 0; i < t->num_runs; i++) {
		if (offset < t->runs[i].size) {
			*left = t->runs[i].size - offset;
			return t->runs[i].addr + offset;
		}
		offset -= t->runs[i].size;
	}
	*left = U64_MAX;
	return U64_MAX;
}

static void seen_for(unsigned int whom, struct device *dev, u64 addr, u64 size,
		     enum dma_data_direction dir)
{
	/* The direction must be that of the mapping. */
	seen.wrong |= dev != seen.t->onpu->drm.dev || dir != DMA_BIDIRECTIONAL || !size;
	/* The kernel translates the first byte alone, and assumes contiguous memory after it. */
	if (seen.t->iommu) {
		u64 page = (addr - IOMMU_BASE) / PAGE_SIZE;

		seen.wrong |= page >= seen.t->num_runs;
		addr = seen.wrong ? 0 : seen.t->runs[page].addr + offset_in_page(addr);
	}
	while (size && !seen.wrong) {
		u64 left;

		seen.wrong = wanted_addr(seen.t, seen.done[whom], &left) != addr;
		left = min(left, size);
		seen.done[whom] += left;
		addr += left;
		size -= left;
	}
	seen.wrong |= seen.both && seen.done[1] > seen.done[0];
}

static void seen_for_device(struct device *dev, dma_addr_t addr, size_t size,
			    enum dma_data_direction dir)
{
	seen_for(0, dev, addr, size, dir);
}

static void seen_for_cpu(struct device *dev, dma_addr_t addr, size_t size,
			 enum dma_data_direction dir)
{
	seen_for(1, dev, addr, size, dir);
}

static void seen_table(unsigned int whom, struct device *dev, struct sg_table *sgt,
		       enum dma_data_direction dir)
{
	seen.wrong |= dev != seen.t->onpu->drm.dev || sgt != seen.table || dir != DMA_TO_DEVICE;
	seen.others[whom]++;
}

static void seen_table_for_device(struct device *dev, struct sg_table *sgt,
				  enum dma_data_direction dir)
{
	seen_table(0, dev, sgt, dir);
}

static void seen_table_for_cpu(struct device *dev, struct sg_table *sgt,
			       enum dma_data_direction dir)
{
	seen_table(1, dev, sgt, dir);
}

/* The address of a copy in bounce buffers, or 0. */
static dma_addr_t copy;

static size_t seen_max_mapping(struct device *dev)
{
	return copy ? SZ_256K : SIZE_MAX;
}

static bool seen_need_sync(struct device *dev, dma_addr_t addr)
{
	return addr == copy;
}

static bool seen_kill(struct task_struct *task)
{
	seen.wrong |= task != current;
	return !seen.life || !seen.life--;
}

/* Runs in place of the creation of a handle: notes the buffer's state and returns -EMFILE. */
static int seen_handle(struct drm_file *file, struct drm_gem_object *obj, u32 *handle)
{
	created.has_memory = to_onpu_bo(obj)->base.sgt;
	created.map_wc = to_onpu_bo(obj)->base.map_wc;
	return -EMFILE;
}

/* ---- memory */

/* Adds a run at a random address, mostly beyond 32 bits. */
static void add_run(struct gem_test *t, u64 size)
{
	t->runs[t->num_runs++] = (struct run) {
		.addr = (u64)below(t, 1 << 20) << 20 | below(t, 256) * SZ_4K,
		.size = size,
	};
}

static u64 total_size(const struct gem_test *t)
{
	u64 size = 0;

	for (unsigned int i = 0; i < t->num_runs; i++)
		size += t->runs[i].size;
	return size;
}

/* Makes the scatter list of the runs. For the CPU, each entry has 4 KiB. */
static void make_table(struct gem_test *t)
{
	sg_init_table(t->entries, t->num_runs);
	for (unsigned int i = 0; i < t->num_runs; i++) {
		t->entries[i].length = SZ_4K;
		sg_dma_address(&t->entries[i]) = t->runs[i].addr;
		sg_dma_len(&t->entries[i]) = t->runs[i].size;
	}
	t->sgt = (struct sg_table) {
		.sgl = t->entries, .nents = t->num_runs, .orig_nents = t->num_runs,
	};
}

/* Gives the client's buffer three runs of memory. */
static void give_memory(struct gem_test *t)
{
	t->num_runs = 0;
	add_run(t, 5 * PAGE_SIZE);
	add_run(t, PAGE_SIZE);
	add_run(t, BO_SIZE - 6 * PAGE_SIZE);
	make_table(t);
	t->bo->base.sgt = &t->sgt;
}

/* Returns an offset at the border of a run or near it, but not past the end. */
static u64 near_border(struct gem_test *t)
{
	const u32 some[] = { 0, 1, 2, 63, 64, 65, 100, SZ_4K - 1, SZ_4K, SZ_4K + 1, SZ_64K };
	u32 more = some[below(t, ARRAY_SIZE(some))];
	u64 at = 0;

	for (unsigned int i = below(t, t->num_runs + 1); i > 0; i--)
		at += t->runs[i - 1].size;
	if (below(t, 2))
		return min(at + more, total_size(t));
	return at - min(at, more);
}

static bool syncs_range(struct gem_test *t, u64 offset, u64 size, u32 flags)
{
	begin(t, offset, flags);
	return !sync_range(t->onpu->drm.dev, &t->sgt, offset, size, flags, DMA_BIDIRECTIONAL) &&
	       was_done(offset, size, flags);
}

static int call(struct gem_test *t, u64 offset, u64 size, u32 flags)
{
	struct drm_onpu_bo_sync args = {
		.handle = t->handle, .offset = offset, .size = size, .flags = flags,
	};

	begin(t, offset, flags);
	return onpu_bo_sync_ioctl(&t->onpu->drm, &args, &t->client);
}

/* ---- tests */

/*
 * Creates a client with a buffer in @t, where gem_exit() finds and frees what exists even after an
 * error. Returns 0 or an errno.
 */
static int make_client(struct gem_test *t)
{
	struct onpu_bo *bo;
	int ret = fake_vm_create(t->onpu, &t->vm);

	if (ret)
		return ret;
	bo = onpu_bo_alloc(t->vm, BO_SIZE);
	if (IS_ERR(bo))
		return PTR_ERR(bo);
	t->bo = bo;
	t->file.vm = t->vm;
	t->client.driver_priv = &t->file;
	t->handle = idr_alloc(&t->client.object_idr, &bo->base.base, 1, 0, GFP_KERNEL);
	return min(t->handle, 0);
}

static void gem_exit(struct kunit *test)
{
	struct gem_test *t = test->priv;

	idr_destroy(&t->client.object_idr);
	if (t->bo) {
		if (t->bo->base.sgt == &t->sgt)
			t->bo->base.sgt = NULL;
		drm_gem_object_put(&t->bo->base.base);
	}
	if (t->vm)
		fake_vm_put(t->vm);
	fake_exit_with(test);
}

static int gem_init(struct kunit *test)
{
	struct gem_test *t;
	int ret = fake_init_with(test, sizeof(*t));

	if (ret)
		return ret;
	t = test->priv;
	t->onpu->snoops = false;
	spin_lock_init(&t->client.table_lock);
	idr_init(&t->client.object_idr);
	prandom_seed_state(&t->random, FAKE_SEED);
	ret = make_client(t);
	if (ret)
		gem_exit(test);
	return ret;
}

/* Syncs every range of buffers of few bytes, including empty ranges; no range is rounded. */
static void each_range(struct kunit *test)
{
	static const u8 sizes[][4] = { { 40 }, { 1, 1 }, { 5, 1, 7, 3 }, { 1, 17, 2 } };
	struct gem_test *t = test->priv;

	for (unsigned int i = 0; i < ARRAY_SIZE(sizes); i++) {
		u64 total;

		t->num_runs = 0;
		for (unsigned int k = 0; k < ARRAY_SIZE(sizes[i]) && sizes[i][k]; k++)
			add_run(t, sizes[i][k]);
		make_table(t);
		total = total_size(t);
		for (u64 first = 0; first <= total; first++)
			for (u64 end = first; end <= total; end++)
				for (u32 flags = 0; flags <= (FOR_DEVICE | FOR_CPU); flags++)
					KUNIT_ASSERT_TRUE(test, syncs_range(t, first, end - first,
									    flags));
	}
}

static void ranges_near_borders(struct kunit *test)
{
	struct gem_test *t = test->priv;

	for (unsigned int round = 0; round < 100; round++) {
		t->num_runs = 0;
		for (unsigned int i = below(t, 8); i < 8; i++)
			add_run(t, (1 + below(t, 20)) * SZ_4K);
		make_table(t);
		for (unsigned int i = 0; i < 40; i++) {
			u64 one = near_border(t), other = near_border(t);
			u64 first = min(one, other), size = max(one, other) - first;

			KUNIT_ASSERT_TRUE(test, syncs_range(t, first, size, 1 + below(t, 3)));
		}
		KUNIT_ASSERT_TRUE(test, syncs_range(t, 0, total_size(t), FOR_DEVICE | FOR_CPU));
	}
}

static void ranges_beyond_32_bits(struct kunit *test)
{
	const u64 run = SZ_1G + SZ_512M + SZ_4K, big = BIT_ULL(32);
	struct gem_test *t = test->priv;

	t->num_runs = 0;
	for (unsigned int i = 0; i < 4; i++)
		add_run(t, run);
	make_table(t);
	KUNIT_EXPECT_TRUE(test, syncs_range(t, big - 100, 200, FOR_DEVICE | FOR_CPU));
	KUNIT_EXPECT_TRUE(test, syncs_range(t, big + 64, 1, FOR_DEVICE));
	KUNIT_EXPECT_TRUE(test, syncs_range(t, 3 * run - 7, 14, FOR_CPU));
	KUNIT_EXPECT_TRUE(test, syncs_range(t, 4 * run - 1, 1, FOR_DEVICE));
	KUNIT_EXPECT_TRUE(test, syncs_range(t, 10, big + 10, FOR_DEVICE));
	KUNIT_EXPECT_TRUE(test, syncs_range(t, 0, 4 * run, FOR_CPU));
}

static void the_call_syncs_its_range(struct kunit *test)
{
	struct gem_test *t = test->priv;

	give_memory(t);
	for (u32 flags = 1; flags <= (FOR_DEVICE | FOR_CPU); flags++) {
		KUNIT_EXPECT_EQ(test, call(t, 0, BO_SIZE, flags), 0);
		KUNIT_EXPECT_TRUE(test, was_done(0, BO_SIZE, flags));
		KUNIT_EXPECT_EQ(test, call(t, 1, BO_SIZE - 2, flags), 0);
		KUNIT_EXPECT_TRUE(test, was_done(1, BO_SIZE - 2, flags));
		KUNIT_EXPECT_EQ(test, call(t, BO_SIZE - 1, 1, flags), 0);
		KUNIT_EXPECT_TRUE(test, was_done(BO_SIZE - 1, 1, flags));
		KUNIT_EXPECT_EQ(test, call(t, 5 * PAGE_SIZE, PAGE_SIZE, flags), 0);
		KUNIT_EXPECT_TRUE(test, was_done(5 * PAGE_SIZE, PAGE_SIZE, flags));
	}
	KUNIT_EXPECT_EQ(test, kref_read(&t->bo->base.base.refcount), 1);
}

/*
 * The pages of a real buffer are synced, with the scatter list that the kernel's helpers for shmem
 * make; without an IOMMU, bus addresses are memory addresses.
 */
static void pages_of_a_buffer(struct kunit *test)
{
	struct gem_test *t = test->priv;

	KUNIT_ASSERT_FALSE(test, IS_ERR(bo_memory(t->bo)));
	t->num_runs = MAX_RUNS;
	for (unsigned int i = 0; i < MAX_RUNS; i++)
		t->runs[i] = (struct run) {
			.addr = page_to_phys(t->bo->base.pages[i]), .size = PAGE_SIZE,
		};
	for (unsigned int i = 0; i < 200; i++) {
		u64 first = below(t, BO_SIZE), size = 1 + below(t, BO_SIZE - first);
		u32 flags = 1 + below(t, 3);

		KUNIT_ASSERT_EQ(test, call(t, first, size, flags), 0);
		KUNIT_ASSERT_TRUE(test, was_done(first, size, flags));
	}
	KUNIT_EXPECT_EQ(test, call(t, 0, BO_SIZE, FOR_DEVICE | FOR_CPU), 0);
	KUNIT_EXPECT_TRUE(test, was_done(0, BO_SIZE, FOR_DEVICE | FOR_CPU));
}

static void pages_behind_an_iommu(struct kunit *test)
{
	struct gem_test *t = test->priv;

	t->num_runs = 0;
	for (unsigned int i = 0; i < MAX_RUNS; i++)
		add_run(t, PAGE_SIZE);
	t->iommu = true;
	sg_init_table(t->entries, 1);
	sg_dma_address(&t->entries[0]) = IOMMU_BASE;
	sg_dma_len(&t->entries[0]) = BO_SIZE;
	t->sgt = (struct sg_table) { .sgl = t->entries, .nents = 1, .orig_nents = 1 };
	for (unsigned int i = 0; i < 2000; i++) {
		u64 one = near_border(t), other = near_border(t);
		u64 first = min(one, other), size = max(one, other) - first;

		KUNIT_ASSERT_TRUE(test, syncs_range(t, first, size, 1 + below(t, 3)));
	}
	KUNIT_EXPECT_TRUE(test, syncs_range(t, 0, BO_SIZE, FOR_DEVICE | FOR_CPU));
}

/*
 * Tests that nothing is synced where the device snoops the caches and needs no bounce buffers, and
 * that all is synced elsewhere, whether or not the buffer is mapped write-combining.
 */
static void nothing_to_sync(struct kunit *test)
{
	struct gem_test *t = test->priv;

	for (unsigned int i = 0; i < 8; i++) {
		for (u32 flags = 1; flags <= (FOR_DEVICE | FOR_CPU); flags++) {
			give_memory(t);
			t->onpu->snoops = i & 1;
			t->onpu->bounces = i & 2;
			t->bo->base.map_wc = i & 4;
			KUNIT_EXPECT_EQ(test, call(t, 0, BO_SIZE, flags), 0);
			KUNIT_EXPECT_TRUE(test, was_done(0, (i & 3) == 1 ? 0 : BO_SIZE, flags));
		}
	}
}

static void what_is_refused(struct kunit *test)
{
	static const struct {
		u64 offset, size;
		u32 flags;
	} wrong[] = {
		{ 0, BO_SIZE + 1, FOR_DEVICE }, { 1, BO_SIZE, FOR_CPU },
		{ BO_SIZE - 1, 2, FOR_DEVICE | FOR_CPU }, { BO_SIZE, 1, FOR_DEVICE },
		{ BO_SIZE + PAGE_SIZE, PAGE_SIZE, FOR_CPU }, { BIT_ULL(32), 1, FOR_DEVICE },
		{ 0, BIT_ULL(32) + 1, FOR_CPU }, { U64_MAX, 1, FOR_DEVICE },
		{ 1, U64_MAX, FOR_CPU }, { PAGE_SIZE, 0 - (u64)PAGE_SIZE + 1, FOR_DEVICE },
		{ U64_MAX, U64_MAX, FOR_CPU }, { BIT_ULL(63), BIT_ULL(63), FOR_DEVICE },
		{ 0, 0, FOR_DEVICE }, { PAGE_SIZE, 0, FOR_CPU }, { 0, PAGE_SIZE, 0 },
		{ 0, PAGE_SIZE, 4 }, { 0, PAGE_SIZE, 4 | FOR_CPU }, { 0, PAGE_SIZE, U32_MAX },
	};
	struct gem_test *t = test->priv;

	give_memory(t);
	for (unsigned int i = 0; i < ARRAY_SIZE(wrong); i++) {
		KUNIT_EXPECT_EQ(test, call(t, wrong[i].offset, wrong[i].size, wrong[i].flags),
				-EINVAL);
		KUNIT_EXPECT_TRUE(test, was_done(wrong[i].offset, 0, 0));
	}
	t->bo->flags = DRM_ONPU_BO_IMPORTED;
	KUNIT_EXPECT_EQ(test, call(t, 0, PAGE_SIZE, FOR_DEVICE), -EINVAL);
	KUNIT_EXPECT_TRUE(test, was_done(0, 0, 0));
	t->bo->flags = 0;
	t->handle++;
	KUNIT_EXPECT_EQ(test, call(t, 0, PAGE_SIZE, FOR_DEVICE), -ENOENT);
	KUNIT_EXPECT_TRUE(test, was_done(0, 0, 0));
	KUNIT_EXPECT_EQ(test, kref_read(&t->bo->base.base.refcount), 1);
}

/*
 * Checks that the begin of an access by the CPU syncs for the CPU and its end for the device,
 * whichever direction the access has, also for @others other devices.
 */
static void check_access(struct kunit *test, struct dma_buf *buf, u64 size, unsigned int others)
{
	struct gem_test *t = test->priv;

	begin(t, 0, FOR_CPU);
	KUNIT_EXPECT_EQ(test, buf->ops->begin_cpu_access(buf, DMA_TO_DEVICE), 0);
	KUNIT_EXPECT_TRUE(test, was_done(0, size, FOR_CPU));
	KUNIT_EXPECT_EQ(test, seen.others[1], others);
	KUNIT_EXPECT_EQ(test, seen.others[0], 0);
	begin(t, 0, FOR_DEVICE);
	KUNIT_EXPECT_EQ(test, buf->ops->end_cpu_access(buf, DMA_FROM_DEVICE), 0);
	KUNIT_EXPECT_TRUE(test, was_done(0, size, FOR_DEVICE));
	KUNIT_EXPECT_EQ(test, seen.others[0], others);
	KUNIT_EXPECT_EQ(test, seen.others[1], 0);
}

/* A dma-buf syncs for each device that has the memory mapped: devices differ in their caches. */
static void what_a_dma_buf_syncs(struct kunit *test)
{
	struct gem_test *t = test->priv;
	struct drm_gem_object *obj = &t->bo->base.base;
	struct dma_buf buf = { .priv = obj, .resv = obj->resv, .ops = &export_ops };
	struct dma_buf_attachment attach = { .dmabuf = &buf, .dev = t->onpu->drm.dev };

	INIT_LIST_HEAD(&buf.attachments);
	give_memory(t);
	check_access(test, &buf, BO_SIZE, 0);
	KUNIT_ASSERT_EQ(test, buf.ops->attach(&buf, &attach), 0);
	list_add(&attach.node, &buf.attachments);
	check_access(test, &buf, BO_SIZE, 0);
	seen.table = buf.ops->map_dma_buf(&attach, DMA_TO_DEVICE);
	KUNIT_EXPECT_FALSE(test, IS_ERR(seen.table));
	check_access(test, &buf, BO_SIZE, 1);
	t->onpu->snoops = true;
	check_access(test, &buf, 0, 1);
	t->onpu->bounces = true;
	check_access(test, &buf, BO_SIZE, 1);
	t->onpu->bounces = false;
	t->onpu->snoops = false;
	t->onpu->drm.unplugged = true;
	check_access(test, &buf, 0, 1);
	t->onpu->drm.unplugged = false;
	begin(t, 0, FOR_CPU);
	seen.life = 3;
	KUNIT_EXPECT_EQ(test, buf.ops->begin_cpu_access(&buf, DMA_FROM_DEVICE), -EINTR);
	KUNIT_EXPECT_TRUE(test, was_done(0, 3 * PAGE_SIZE, FOR_CPU));
	buf.ops->unmap_dma_buf(&attach, seen.table, DMA_TO_DEVICE);
	check_access(test, &buf, BO_SIZE, 0);
	list_del(&attach.node);
	buf.ops->detach(&buf, &attach);
	KUNIT_EXPECT_EQ(test, kref_read(&obj->refcount), 1);
}

/*
 * While this device uses a copy of the buffer in bounce buffers, mapping the dma-buf for another
 * device is refused; once this device is unplugged, the mapping succeeds.
 */
static void a_copy_is_not_exported(struct kunit *test)
{
	struct gem_test *t = test->priv;
	struct drm_gem_object *obj = &t->bo->base.base;
	struct dma_buf buf = { .priv = obj, .resv = obj->resv, .ops = &export_ops };
	struct dma_buf_attachment attach = { .dmabuf = &buf, .dev = t->onpu->drm.dev };
	struct sg_table *table;

	INIT_LIST_HEAD(&buf.attachments);
	give_memory(t);
	KUNIT_ASSERT_EQ(test, buf.ops->attach(&buf, &attach), 0);
	copy = t->runs[1].addr;
	table = buf.ops->map_dma_buf(&attach, DMA_TO_DEVICE);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(table), -EOPNOTSUPP);
	t->onpu->drm.unplugged = true;
	table = buf.ops->map_dma_buf(&attach, DMA_TO_DEVICE);
	t->onpu->drm.unplugged = false;
	copy = 0;
	KUNIT_EXPECT_FALSE(test, IS_ERR(table));
	if (!IS_ERR(table))
		buf.ops->unmap_dma_buf(&attach, table, DMA_TO_DEVICE);
	buf.ops->detach(&buf, &attach);
}

/* When a signal kills the process, its sync ends after the current page, with -EINTR. */
static void a_process_that_is_killed(struct kunit *test)
{
	struct drm_onpu_bo_sync args = { .size = BO_SIZE, .flags = FOR_DEVICE };
	struct gem_test *t = test->priv;

	give_memory(t);
	args.handle = t->handle;
	for (u64 pages = 0; pages < MAX_RUNS; pages++) {
		begin(t, 0, FOR_DEVICE);
		seen.life = pages;
		KUNIT_EXPECT_EQ(test, onpu_bo_sync_ioctl(&t->onpu->drm, &args, &t->client), -EINTR);
		KUNIT_EXPECT_TRUE(test, was_done(0, pages * PAGE_SIZE, FOR_DEVICE));
	}
	KUNIT_EXPECT_EQ(test, call(t, 0, BO_SIZE, FOR_DEVICE), 0);
}

/*
 * A buffer has memory before its handle exists, because a client could guess the handle. It is
 * mapped write-combining only with the flag, on a device that neither snoops the caches nor needs
 * bounce buffers.
 */
static void memory_comes_before_the_handle(struct kunit *test)
{
	struct gem_test *t = test->priv;

	for (unsigned int i = 0; i < 8; i++) {
		struct drm_onpu_bo_create args = {
			.size = 3 * PAGE_SIZE, .flags = i & 1 ? DRM_ONPU_BO_WC : 0,
		};

		t->onpu->snoops = i & 2;
		t->onpu->bounces = i & 4;
		memset(&created, 0, sizeof(created));
		KUNIT_EXPECT_EQ(test, onpu_bo_create_ioctl(&t->onpu->drm, &args, &t->client),
				-EMFILE);
		KUNIT_EXPECT_TRUE(test, created.has_memory);
		KUNIT_EXPECT_EQ(test, created.map_wc, i == 1);
		KUNIT_EXPECT_EQ(test, args.handle, 0);
	}
}

/* A buffer of an unplugged device is not synced: its memory is not mapped for it any more. */
static void a_device_that_is_unplugged(struct kunit *test)
{
	struct gem_test *t = test->priv;

	give_memory(t);
	t->onpu->drm.unplugged = true;
	KUNIT_EXPECT_EQ(test, call(t, 0, BO_SIZE, FOR_DEVICE | FOR_CPU), -ENODEV);
	KUNIT_EXPECT_TRUE(test, was_done(0, 0, 0));
	t->onpu->drm.unplugged = false;
}

/*
 * Tests the driver's own memory, which is never synced: it may be cached only where the device
 * snoops, it is mapped without copies, and its pages are zero.
 */
static void memory_of_the_driver(struct kunit *test)
{
	struct gem_test *t = test->priv;

	for (unsigned int i = 0; i < 4; i++) {
		struct onpu_kernel_bo kbo;
		struct scatterlist *sg;
		pgprot_t prot;
		int k;

		t->onpu->snoops = i & 1;
		t->onpu->bounces = i & 2;
		prot = i & 1 ? PAGE_KERNEL : pgprot_writecombine(PAGE_KERNEL);
		KUNIT_ASSERT_EQ(test, onpu_kernel_bo_create(&kbo, t->vm, 3 * PAGE_SIZE, true), 0);
		KUNIT_EXPECT_EQ(test, pgprot_val(mapped_prot), pgprot_val(prot));
		KUNIT_EXPECT_FALSE(test, memchr_inv(kbo.vaddr, 0, 3 * PAGE_SIZE));
		KUNIT_EXPECT_EQ(test, kbo.bo->base.sgt->nents, 3);
		for_each_sgtable_dma_sg(kbo.bo->base.sgt, sg, k) {
			KUNIT_EXPECT_EQ(test, sg_dma_address(sg), page_to_phys(kbo.bo->pages[k]));
			KUNIT_EXPECT_EQ(test, sg_dma_len(sg), PAGE_SIZE);
			KUNIT_EXPECT_TRUE(test, vmalloc_to_page(kbo.vaddr + k * PAGE_SIZE) ==
					  kbo.bo->pages[k]);
		}
		onpu_kernel_bo_destroy(&kbo);
	}
}

/*
 * Tests memory that only the device accesses, such as a save area: the driver's own pages where
 * mapping memory could make a copy (bounces), which no call would sync; elsewhere memory of shmem.
 */
static void memory_of_the_device_alone(struct kunit *test)
{
	struct gem_test *t = test->priv;
	struct onpu_kernel_bo kbo;

	for (unsigned int i = 0; i < 2; i++) {
		t->onpu->bounces = i & 1;
		KUNIT_ASSERT_EQ(test, onpu_kernel_bo_create(&kbo, t->vm, 3 * PAGE_SIZE, false), 0);
		KUNIT_EXPECT_FALSE(test, kbo.vaddr);
		KUNIT_EXPECT_EQ(test, !!kbo.bo->pages, i & 1);
		onpu_kernel_bo_destroy(&kbo);
	}
}

/*
 * An unplug ends the DMA mapping of the driver's memory, which the kernel still has mapped and can
 * read. The test's reference to the last page is the only one left when the memory is freed.
 */
static void memory_of_an_unplugged_device(struct kunit *test)
{
	struct gem_test *t = test->priv;
	struct onpu_kernel_bo kbo;
	struct page *page;

	KUNIT_ASSERT_EQ(test, onpu_kernel_bo_create(&kbo, t->vm, 2 * PAGE_SIZE, true), 0);
	page = kbo.bo->pages[1];
	get_page(page);
	KUNIT_EXPECT_EQ(test, page_count(page), 3);
	memset(kbo.vaddr, 0x5a, 2 * PAGE_SIZE);
	onpu_gem_unplug(t->onpu);
	KUNIT_EXPECT_FALSE(test, kbo.bo->base.sgt);
	KUNIT_EXPECT_EQ(test, page_count(page), 2);
	KUNIT_EXPECT_EQ(test, ((u8 *)kbo.vaddr)[2 * PAGE_SIZE - 1], 0x5a);
	onpu_kernel_bo_destroy(&kbo);
	onpu_mmu_post_reset(t->onpu);
	flush_workqueue(onpu_free_wq);
	KUNIT_EXPECT_EQ(test, page_count(page), 1);
	put_page(page);
}

/* Only a process's memory that the device may not write is synced one way: to the device. */
static void the_direction_of_a_mapping(struct kunit *test)
{
	struct onpu_bo bo = { .flags = DRM_ONPU_BO_WRAPPED | DRM_ONPU_BO_DEVICE_RO };

	KUNIT_EXPECT_EQ(test, onpu_bo_dir(&bo), DMA_TO_DEVICE);
	bo.flags = DRM_ONPU_BO_DEVICE_RO;
	KUNIT_EXPECT_EQ(test, onpu_bo_dir(&bo), DMA_BIDIRECTIONAL);
}

/* A dump maps only the pages that it reads, however large the buffer is. */
static void what_a_dump_reads(struct kunit *test)
{
	static const struct { u64 offset, size, pages; } parts[] = {
		{ 0, 1, 1 }, { 0, PAGE_SIZE, 1 }, { 1, PAGE_SIZE, 2 }, { PAGE_SIZE - 1, 2, 2 },
		{ 7 * PAGE_SIZE + 16, 272, 1 }, { BO_SIZE - 272, 272, 1 }, { BO_SIZE - 1, 1, 1 },
		{ 5 * PAGE_SIZE - 100, 272, 2 },
	};
	struct gem_test *t = test->priv;
	u8 *got = kmalloc(PAGE_SIZE, GFP_KERNEL);
	struct page **pages;

	KUNIT_ASSERT_TRUE(test, got);
	KUNIT_ASSERT_FALSE(test, IS_ERR(bo_memory(t->bo)));
	pages = t->bo->base.pages;
	for (u64 i = 0; i < BO_SIZE; i++)
		((u8 *)page_address(pages[i / PAGE_SIZE]))[i % PAGE_SIZE] = i % 251;
	for (unsigned int i = 0; i < ARRAY_SIZE(parts); i++) {
		bool same = true;

		mapped_pages = 0;
		KUNIT_EXPECT_EQ(test, onpu_gem_read(&t->bo->base.base, parts[i].offset, got,
						    parts[i].size), 0);
		KUNIT_EXPECT_EQ(test, mapped_pages, parts[i].pages);
		for (u64 k = 0; k < parts[i].size; k++)
			same &= got[k] == (parts[i].offset + k) % 251;
		KUNIT_EXPECT_TRUE(test, same);
	}
	t->bo->base.base.import_attach = (void *)t; /* memory of another driver */
	KUNIT_EXPECT_EQ(test, onpu_gem_read(&t->bo->base.base, 0, got, 1), -EOPNOTSUPP);
	t->bo->base.base.import_attach = NULL;
	kfree(got);
}

static struct kunit_case gem_cases[] = {
	KUNIT_CASE(each_range),
	KUNIT_CASE(ranges_near_borders),
	KUNIT_CASE(ranges_beyond_32_bits),
	KUNIT_CASE(the_call_syncs_its_range),
	KUNIT_CASE(pages_of_a_buffer),
	KUNIT_CASE(pages_behind_an_iommu),
	KUNIT_CASE(nothing_to_sync),
	KUNIT_CASE(what_is_refused),
	KUNIT_CASE(what_a_dma_buf_syncs),
	KUNIT_CASE(a_copy_is_not_exported),
	KUNIT_CASE(a_process_that_is_killed),
	KUNIT_CASE(memory_comes_before_the_handle),
	KUNIT_CASE(a_device_that_is_unplugged),
	KUNIT_CASE(memory_of_the_driver),
	KUNIT_CASE(memory_of_the_device_alone),
	KUNIT_CASE(memory_of_an_unplugged_device),
	KUNIT_CASE(what_a_dump_reads),
	KUNIT_CASE(the_direction_of_a_mapping),
	{}
};

struct kunit_suite onpu_gem_suite = {
	.name = "onpu_gem",
	.init = gem_init,
	.exit = gem_exit,
	.test_cases = gem_cases,
};
