// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Address spaces: page tables in the format of Sv39, and invalidation of the device's translations.
 *
 * The page tables that a mapping needs are allocated before its first entry is written, and no
 * table is freed before its address space ends or the device is unplugged. So neither mapping nor
 * unmapping can fail half-way, and no walk of the device meets a page that was freed. They do not
 * come from a dma_pool: it would take as many pages, one by one, but keep freed ones, charged to
 * nobody, until the driver is unbound.
 * Large buffers get addresses from the top and small buffers from the bottom, so that a table of
 * small pages seldom keeps a buffer from using a large page.
 *
 * Unmapping clears the entries and requests an invalidation. A work item releases memory and
 * addresses when the device has answered the request, or was reset.
 */
#include <linux/dma-mapping.h>
#include <linux/idr.h>
#include <linux/slab.h>

#include <drm/drm_managed.h>

#include "onpu_core.h"
#include "onpu_mmu.h"

#define ENTRIES		512
#define LEAF		(ONPU_PTE_V | ONPU_PTE_R | ONPU_PTE_A)

/* The most requests under way; mappings that are removed meanwhile share the next request. */
#define MAX_REQUESTS	8

/*
 * Time between checks for an answer, and the number of checks before a reset. Checks are counted,
 * because a host that was stopped for a while has made only one.
 */
#define INV_CHECK_INTERVAL	(HZ / 4)
#define INV_CHECKS	20

/* A user may have at most 1/VMS_SHARE of all address spaces, but at least one. */
#define VMS_SHARE	16

/* A page of the page table, and the driver's pointers to the tables below it. */
struct onpu_table {
	__le64 *entries; /* in the device's format */
	dma_addr_t dma; /* bus address of @entries */
	struct onpu_table *below[]; /* tables that entries point to; none in the last level */
};

/* Address spaces and invalidations of a device. */
struct onpu_mmu_device {
	struct onpu_device *onpu;
	struct ida asids;
	struct list_head vms; /* protected by &onpu_device.dma_lock */
	spinlock_t lock; /* protects everything below */
	/* Mappings with a request under way, in order of requests, and those without one. */
	struct list_head requested, backlog;
	u32 last, seen; /* number of the last request, and of the last request known to be done */
	unsigned int checks; /* number of checks since another request was last found done */
	/* No request can be made: a reset is under way, or the device is lost or asleep. */
	bool stopped;
	bool idle; /* no request is needed either: the device makes no access */
	struct delayed_work timeout; /* checks whether requests are answered */
};

struct workqueue_struct *onpu_free_wq;

/* ---- page tables */

static size_t table_bytes(unsigned int level)
{
	return struct_size_t(struct onpu_table, below, level ? ENTRIES : 0);
}

/* Returns the bytes that a user is charged for a table. */
static size_t table_charge(unsigned int level)
{
	return table_bytes(level) + ONPU_PAGE_SIZE;
}

static void table_free(struct onpu_vm *vm, struct onpu_table *table, unsigned int level)
{
	if (!table)
		return;
	for (unsigned int i = 0; level && i < ENTRIES; i++)
		table_free(vm, table->below[i], level - 1);
	dma_free_coherent(vm->onpu->drm.dev, ONPU_PAGE_SIZE, table->entries, table->dma);
	kfree(table);
	onpu_user_uncharge(vm->user, table_charge(level));
}

static struct onpu_table *table_alloc(struct onpu_vm *vm, unsigned int level)
{
	struct onpu_table *table __free(kfree) = kzalloc(table_bytes(level), GFP_KERNEL_ACCOUNT);

	if (table)
		table->entries = dma_alloc_coherent(vm->onpu->drm.dev, ONPU_PAGE_SIZE, &table->dma,
						    GFP_KERNEL_ACCOUNT);
	return table && table->entries ? no_free_ptr(table) : NULL;
}

static struct onpu_table *table_create(struct onpu_vm *vm, unsigned int level)
{
	int ret = onpu_user_charge(vm->user, table_charge(level));
	struct onpu_table *table;

	if (ret)
		return ERR_PTR(ret);
	table = table_alloc(vm, level);
	if (table)
		return table;
	onpu_user_uncharge(vm->user, table_charge(level));
	return ERR_PTR(-ENOMEM);
}

static unsigned int entry_index(u64 va, unsigned int level)
{
	return va >> (12 + 9 * level) & (ENTRIES - 1);
}

static void entry_write(struct onpu_table *table, unsigned int index, dma_addr_t addr, u64 flags)
{
	u64 entry = flags ? (u64)addr / ONPU_PAGE_SIZE << ONPU_PTE_PPN_SHIFT | flags : 0;

	WRITE_ONCE(table->entries[index], cpu_to_le64(entry));
}

/* Returns the table below that translates @va, created if need be, or an error pointer. */
static struct onpu_table *table_below(struct onpu_vm *vm, struct onpu_table *table, u64 va,
				      unsigned int level)
{
	unsigned int index = entry_index(va, level);

	if (!table->below[index]) {
		struct onpu_table *below = table_create(vm, level - 1);

		if (IS_ERR(below))
			return below;
		/* The device must see an empty table before it sees the entry. */
		dma_wmb();
		table->below[index] = below;
		entry_write(table, index, below->dma, ONPU_PTE_V);
	}
	return table->below[index];
}

/* A position in the memory of an object. */
struct cursor {
	struct scatterlist *sg;
	u64 offset;
};

static dma_addr_t cursor_addr(const struct cursor *c)
{
	return sg_dma_address(c->sg) + c->offset;
}

static void cursor_advance(struct cursor *c, u64 bytes)
{
	c->offset += bytes;
	if (c->offset < sg_dma_len(c->sg))
		return;
	c->offset = 0;
	c->sg = sg_next(c->sg);
}

static bool can_be_large(const struct onpu_table *table, u64 va, const struct cursor *c, u64 left)
{
	return IS_ALIGNED(va | cursor_addr(c), ONPU_LARGE_PAGE_SIZE) &&
	       min(left, sg_dma_len(c->sg) - c->offset) >= ONPU_LARGE_PAGE_SIZE &&
	       !table->below[entry_index(va, 1)];
}

/*
 * With @flags 0, creates the page tables that a mapping needs; returns 0 or an errno. With other
 * @flags, writes the mapping's entries into tables that exist; returns 0.
 */
static int map_walk(struct onpu_map *map, struct sg_table *sgt, u64 flags)
{
	struct onpu_vm *vm = map->vm;
	struct cursor c = { .sg = sgt->sgl };
	u64 va = onpu_map_va(map), end = va + map->size, step;

	lockdep_assert_held(&vm->lock);
	for (; va < end; va += step, cursor_advance(&c, step)) {
		struct onpu_table *table = table_below(vm, vm->root, va, 2);

		if (IS_ERR(table))
			return PTR_ERR(table);
		/* A large buffer of small pages takes long to map. */
		if (IS_ALIGNED(va, ONPU_LARGE_PAGE_SIZE))
			cond_resched();
		step = ONPU_LARGE_PAGE_SIZE;
		if (can_be_large(table, va, &c, end - va)) {
			if (flags)
				entry_write(table, entry_index(va, 1), cursor_addr(&c), flags);
			continue;
		}
		step = ONPU_PAGE_SIZE;
		table = table_below(vm, table, va, 1);
		if (IS_ERR(table))
			return PTR_ERR(table);
		if (flags)
			entry_write(table, entry_index(va, 0), cursor_addr(&c), flags);
	}
	return 0;
}

static void map_clear(struct onpu_map *map)
{
	u64 va = onpu_map_va(map), end = va + map->size, step;

	lockdep_assert_held(&map->vm->lock);
	if (!map->vm->root)
		return;
	for (; va < end; va += step) {
		struct onpu_table *table = map->vm->root->below[entry_index(va, 2)];
		struct onpu_table *small = table->below[entry_index(va, 1)];

		if (IS_ALIGNED(va, ONPU_LARGE_PAGE_SIZE))
			cond_resched();
		step = small ? ONPU_PAGE_SIZE : ONPU_LARGE_PAGE_SIZE;
		if (small)
			entry_write(small, entry_index(va, 0), 0, 0);
		else
			entry_write(table, entry_index(va, 1), 0, 0);
	}
}

/* ---- invalidation */

static bool request_is_done(u32 request, u32 done)
{
	return (s32)(done - request) >= 0;
}

static void write_request(struct onpu_mmu_device *mmu, const struct onpu_map *map)
{
	struct onpu_device *onpu = mmu->onpu;

	lockdep_assert_held(&mmu->lock);
	if (mmu->last == mmu->seen)
		mmu->checks = 0;
	if (map) {
		onpu_write(onpu, ONPU_REG_INV_ASID, map->vm->asid);
		onpu_write(onpu, ONPU_REG_INV_PAGES, map->size / ONPU_PAGE_SIZE);
		onpu_write64(onpu, ONPU_REG_INV_VA_LO, onpu_map_va(map));
	} else {
		onpu_write(onpu, ONPU_REG_INV_ASID, ONPU_INV_ASID_ALL__MASK);
	}
	mmu->last++;
	if (READ_ONCE(onpu->lose_invalidations))
		onpu->lose_invalidations--;
	else if (!should_fail(&onpu_lose_invalidations, 1))
		onpu_write(onpu, ONPU_REG_INV_REQ, mmu->last);
	queue_delayed_work(onpu_free_wq, &mmu->timeout, INV_CHECK_INTERVAL);
}

/*
 * Makes one request for all mappings of the backlog: if there is only one, the device is to forget
 * its translations, else all translations. Does nothing while stopped or while MAX_REQUESTS
 * requests are under way.
 */
static void send_backlog(struct onpu_mmu_device *mmu)
{
	struct onpu_map *map;

	lockdep_assert_held(&mmu->lock);
	if (list_empty(&mmu->backlog) || mmu->stopped || mmu->last - mmu->seen >= MAX_REQUESTS)
		return;
	map = list_first_entry(&mmu->backlog, struct onpu_map, link);
	write_request(mmu, list_is_singular(&mmu->backlog) ? map : NULL);
	list_for_each_entry(map, &mmu->backlog, link)
		map->request = mmu->last;
	list_splice_tail_init(&mmu->backlog, &mmu->requested);
}

static void complete_invalidations(struct onpu_mmu_device *mmu)
{
	struct onpu_map *map, *next;
	u32 done;

	lockdep_assert_held(&mmu->lock);
	if (mmu->stopped || mmu->last == mmu->seen)
		return;
	done = onpu_read(mmu->onpu, ONPU_REG_INV_DONE);
	/* Ignores the all ones of a device that is gone, and numbers of requests never made. */
	if (request_is_done(done, mmu->seen) || !request_is_done(done, mmu->last))
		return;
	mmu->seen = done;
	mmu->checks = 0;
	list_for_each_entry_safe(map, next, &mmu->requested, link) {
		if (!request_is_done(map->request, done))
			break;
		list_del(&map->link);
		queue_work(onpu_free_wq, &map->free);
	}
	send_backlog(mmu);
}

void onpu_mmu_irq(struct onpu_device *onpu)
{
	guard(spinlock)(&onpu->mmu->lock);
	complete_invalidations(onpu->mmu);
}

static void inv_timeout_work(struct work_struct *work)
{
	struct onpu_mmu_device *mmu = container_of(to_delayed_work(work), struct onpu_mmu_device,
						   timeout);

	guard(spinlock)(&mmu->lock);
	/* Check for completion first, in case an interrupt was lost. */
	complete_invalidations(mmu);
	if (mmu->stopped || mmu->last == mmu->seen)
		return;
	if (++mmu->checks >= INV_CHECKS && onpu_device_present(mmu->onpu))
		onpu_device_reset_async(mmu->onpu, ONPU_RESET_INVALIDATION);
	queue_delayed_work(onpu_free_wq, &mmu->timeout, INV_CHECK_INTERVAL);
}

/* Frees a mapping when the device has forgotten its translations. */
static void map_free_work(struct work_struct *work)
{
	struct onpu_map *map = container_of(work, struct onpu_map, free);
	struct onpu_vm *vm = map->vm;

	scoped_guard(mutex, &vm->lock)
		drm_mm_remove_node(&map->node);
	drm_gem_object_put(map->obj);
	kfree(map);
	onpu_user_free_end(vm->user);
	onpu_vm_put(vm);
}

void onpu_mmu_pre_reset(struct onpu_device *onpu)
{
	guard(spinlock)(&onpu->mmu->lock);
	onpu->mmu->stopped = true;
	onpu->mmu->idle = false;
}

void onpu_mmu_post_reset(struct onpu_device *onpu)
{
	struct onpu_mmu_device *mmu = onpu->mmu;
	struct onpu_map *map, *next;

	guard(spinlock)(&mmu->lock);
	/* A device that is wedged or asleep does not answer, so it is not asked. */
	mmu->stopped = onpu_device_lost(onpu) || onpu->asleep;
	mmu->idle = mmu->stopped && !onpu->quarantine;
	if (onpu->quarantine)
		return;
	list_splice_tail_init(&mmu->backlog, &mmu->requested);
	list_for_each_entry_safe(map, next, &mmu->requested, link) {
		list_del(&map->link);
		queue_work(onpu_free_wq, &map->free);
	}
	mmu->last = onpu_read(onpu, ONPU_REG_INV_DONE);
	mmu->seen = mmu->last;
}

/* ---- mappings */

/*
 * Returns whether an object's memory consists of whole pages and has at least @size bytes: memory
 * that another driver exports may have any alignment and size.
 */
static bool sgt_fits(struct sg_table *sgt, u64 size)
{
	struct scatterlist *sg;
	u64 length = 0;
	int i;

	for_each_sgtable_dma_sg(sgt, sg, i) {
		if (!IS_ALIGNED(sg_dma_address(sg) | sg_dma_len(sg), ONPU_PAGE_SIZE))
			return false;
		length += sg_dma_len(sg);
	}
	return length >= size;
}

static int insert_node(struct onpu_map *map, enum onpu_map_prot prot)
{
	u64 middle = onpu_va_end(map->vm->onpu);
	bool kernel = prot == ONPU_MAP_KERNEL, large = map->size >= ONPU_LARGE_PAGE_SIZE;

	/* Add one page that is never mapped: an access beyond the buffer faults. */
	return drm_mm_insert_node_in_range(&map->vm->mm, &map->node, map->size + PAGE_SIZE,
					   large ? ONPU_LARGE_PAGE_SIZE : PAGE_SIZE, 0,
					   kernel ? middle : ONPU_VA_START,
					   kernel ? 2 * middle : middle,
					   large ? DRM_MM_INSERT_HIGH : DRM_MM_INSERT_LOW);
}

/*
 * Maps a buffer object, with its memory @sgt that is mapped for the device, at a free address; the
 * caller has zeroed @map. Returns 0, -ENOSPC without addresses or beyond the user's limit, -EINVAL
 * for memory that is not in whole pages or too short, or -ENOMEM.
 */
int onpu_map_insert(struct onpu_map *map, struct onpu_vm *vm, struct drm_gem_object *obj,
		    struct sg_table *sgt, enum onpu_map_prot prot)
{
	int ret;

	if (!sgt_fits(sgt, obj->size))
		return -EINVAL;
	map->vm = vm;
	map->size = obj->size;
	guard(mutex)(&vm->lock);
	ret = insert_node(map, prot);
	if (ret)
		return ret;
	ret = map_walk(map, sgt, 0);
	if (ret) {
		drm_mm_remove_node(&map->node);
		return ret;
	}
	map_walk(map, sgt, LEAF | prot);
	drm_gem_object_get(obj);
	map->obj = obj;
	onpu_vm_get(vm);
	return 0;
}

/* Runs @free when the device has forgotten @map, or its address space if the size of @map is 0. */
static void forget(struct onpu_map *map, work_func_t free)
{
	struct onpu_mmu_device *mmu = map->vm->onpu->mmu;

	/* The device must see the cleared entries before the request. */
	wmb();
	INIT_WORK(&map->free, free);
	guard(spinlock)(&mmu->lock);
	if (mmu->idle) {
		queue_work(onpu_free_wq, &map->free);
	} else {
		list_add_tail(&map->link, &mmu->backlog);
		send_backlog(mmu);
	}
}

/*
 * Unmaps a buffer object and takes over @map, which is from kmalloc(). Does not wait: object and
 * addresses are released when the device has forgotten the translations.
 */
void onpu_map_remove(struct onpu_map *map)
{
	onpu_user_free_begin(map->vm->user);
	scoped_guard(mutex, &map->vm->lock)
		map_clear(map);
	forget(map, map_free_work);
}

/* ---- address spaces */

/* Creates an address space that take_vm() has charged to the user; returns 0 or an errno. */
static int vm_create(struct onpu_device *onpu, struct onpu_user *user, struct onpu_vm **out)
{
	struct onpu_vm *vm __free(kfree) = kzalloc(sizeof(*vm), GFP_KERNEL_ACCOUNT);
	int asid;

	CLASS(onpu_entered, entered)(&onpu->drm);
	if (entered < 0)
		return entered;
	if (!vm)
		return -ENOMEM;
	asid = ida_alloc_max(&onpu->mmu->asids, onpu_cap(onpu, ONPU_REG_CAP_NUM_ASIDS) - 1,
			     GFP_KERNEL);
	if (asid < 0)
		return asid;
	vm->onpu = onpu;
	vm->user = user;
	vm->root = table_alloc(vm, 2);
	if (!vm->root) {
		ida_free(&onpu->mmu->asids, asid);
		return -ENOMEM;
	}
	kref_init(&vm->ref);
	drm_dev_get(&onpu->drm);
	vm->asid = asid;
	vm->slot = -1;
	mutex_init(&vm->lock);
	drm_mm_init(&vm->mm, ONPU_VA_START, 2 * onpu_va_end(onpu) - ONPU_VA_START);
	scoped_guard(mutex, &onpu->dma_lock)
		list_add(&vm->link, &onpu->mmu->vms);
	*out = no_free_ptr(vm);
	return 0;
}

/*
 * Charges an address space and its root table to a user; returns 0 or, beyond the limits, -ENOSPC.
 * The limit of address spaces leaves other users enough numbers to open the device.
 */
static int take_vm(struct onpu_user *user, void *data)
{
	int limit = onpu_cap(user->onpu, ONPU_REG_CAP_NUM_ASIDS) / VMS_SHARE;
	int ret = onpu_user_charge(user, table_charge(2));

	if (ret || atomic_add_unless(&user->vms, 1, max(limit, 1)))
		return ret;
	onpu_user_uncharge(user, table_charge(2));
	return -ENOSPC;
}

int onpu_vm_create(struct onpu_device *onpu, struct onpu_user *user, struct onpu_vm **out)
{
	int ret = onpu_user_wait(user, take_vm, NULL);

	if (ret)
		return ret;
	ret = vm_create(onpu, user, out);
	if (ret) {
		onpu_user_uncharge(user, table_charge(2));
		atomic_dec(&user->vms);
	}
	return ret;
}

struct onpu_vm *onpu_vm_get(struct onpu_vm *vm)
{
	kref_get(&vm->ref);
	return vm;
}

dma_addr_t onpu_vm_root(const struct onpu_vm *vm)
{
	return vm->root->dma;
}

static int take_address(struct onpu_user *user, void *data)
{
	const struct onpu_limits *limits = &user->onpu->limits;
	struct onpu_vm *vm = data;

	if (!atomic_add_unless(&vm->num_ctxs, 1, limits->contexts))
		return -ENOSPC;
	if (atomic_add_unless(&user->contexts, 1, limits->user_contexts))
		return 0;
	atomic_dec(&vm->num_ctxs);
	return -ENOSPC;
}

int onpu_vm_add_ctx(struct onpu_vm *vm)
{
	return onpu_user_wait(vm->user, take_address, vm);
}

void onpu_vm_drop_ctx(struct onpu_vm *vm)
{
	atomic_dec(&vm->num_ctxs);
	atomic_dec(&vm->user->contexts);
}

static void vm_free_work(struct work_struct *work)
{
	struct onpu_vm *vm = container_of(work, struct onpu_vm, all.free);
	struct onpu_device *onpu = vm->onpu;

	drm_mm_takedown(&vm->mm);
	scoped_guard(mutex, &onpu->dma_lock) {
		list_del(&vm->link);
		table_free(vm, vm->root, 2);
	}
	ida_free(&onpu->mmu->asids, vm->asid);
	mutex_destroy(&vm->lock);
	atomic_dec(&vm->user->vms);
	onpu_user_free_end(vm->user);
	onpu_user_put(vm->user);
	kfree(vm);
	drm_dev_put(&onpu->drm);
}

/*
 * Has the device forget all translations before the tables are freed: no mapping is left, but the
 * device may have cached pointers to tables.
 */
static void vm_release(struct kref *ref)
{
	struct onpu_vm *vm = container_of(ref, struct onpu_vm, ref);

	vm->all.vm = vm;
	forget(&vm->all, vm_free_work);
}

void onpu_vm_put(struct onpu_vm *vm)
{
	kref_put(&vm->ref, vm_release);
}

void onpu_mmu_unplug(struct onpu_device *onpu)
{
	struct onpu_vm *vm;

	guard(mutex)(&onpu->dma_lock);
	list_for_each_entry(vm, &onpu->mmu->vms, link) {
		guard(mutex)(&vm->lock);
		table_free(vm, vm->root, 2);
		vm->root = NULL;
	}
}

/* ---- the device */

static void mmu_fini(struct drm_device *drm, void *data)
{
	struct onpu_mmu_device *mmu = data;

	/* No mapping is left, as each held a reference to the device: no answer is awaited. */
	cancel_delayed_work_sync(&mmu->timeout);
	ida_destroy(&mmu->asids);
}

int onpu_mmu_init(struct onpu_device *onpu)
{
	struct onpu_mmu_device *mmu = drmm_kzalloc(&onpu->drm, sizeof(*mmu), GFP_KERNEL);

	if (!mmu)
		return -ENOMEM;
	mmu->onpu = onpu;
	ida_init(&mmu->asids);
	INIT_LIST_HEAD(&mmu->vms);
	spin_lock_init(&mmu->lock);
	INIT_LIST_HEAD(&mmu->requested);
	INIT_LIST_HEAD(&mmu->backlog);
	INIT_DELAYED_WORK(&mmu->timeout, inv_timeout_work);
	onpu->mmu = mmu;
	return drmm_add_action_or_reset(&onpu->drm, mmu_fini, mmu);
}
