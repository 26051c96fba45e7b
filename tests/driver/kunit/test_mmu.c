// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Compares page tables with a walker that knows only their format, and tests requests for
 * invalidations. The build combines onpu_mmu.c and this file in one source, so that the tests can
 * call static functions.
 */
#include "fake.h"

#define NUM_MAPS	24
#define MAX_RUNS	6

/* The expected state of a mapping. */
struct wanted {
	struct onpu_map *map;
	struct drm_gem_object obj;
	struct scatterlist runs[MAX_RUNS];
	struct sg_table sgt;
	enum onpu_map_prot prot;
	bool freed;
};

struct mmu_test {
	struct onpu_device *onpu;
	struct onpu_vm *vm;
	struct rnd_state random;
	struct wanted wanted[NUM_MAPS];
};

static void obj_freed(struct drm_gem_object *obj)
{
	container_of(obj, struct wanted, obj)->freed = true;
	drm_gem_object_release(obj);
}

static const struct drm_gem_object_funcs obj_funcs = { .free = obj_freed };

static u32 below(struct mmu_test *t, u32 limit)
{
	return prandom_u32_state(&t->random) % limit;
}

/* ---- the device's actions */

/*
 * Returns whether @va translates in the page tables at @root, by the format in registers.xml. Sets
 * *@addr to the address and *@flags to the flags of the entry.
 */
static bool walk(dma_addr_t root, u64 va, u64 *addr, u64 *flags)
{
	u64 table = root;

	for (int level = ONPU_PTE_LEVELS - 1; level >= 0; level--) {
		unsigned int shift = 12 + level * ONPU_PTE_INDEX_BITS;
		u64 index = (va >> shift) % BIT_ULL(ONPU_PTE_INDEX_BITS);
		u64 entry = le64_to_cpu(((__le64 *)phys_to_virt(table))[index]);
		u64 page = (entry >> ONPU_PTE_PPN_SHIFT) % BIT_ULL(ONPU_PTE_PPN_BITS) << 12;

		if (!(entry & ONPU_PTE_V))
			return false;
		if (entry & (ONPU_PTE_R | ONPU_PTE_W | ONPU_PTE_X)) {
			*flags = entry % BIT_ULL(ONPU_PTE_PPN_SHIFT);
			*addr = page | va % BIT_ULL(shift);
			/* A large page is aligned. */
			return !(page % BIT_ULL(shift));
		}
		table = page;
	}
	return false;
}

/* Answers all requests for invalidations. */
static void answer(struct mmu_test *t)
{
	fake_set(t->onpu, ONPU_REG_INV_DONE, fake_get(t->onpu, ONPU_REG_INV_REQ));
	onpu_mmu_irq(t->onpu);
	flush_workqueue(onpu_free_wq);
}

/* ---- mappings */

static u64 wanted_flags(enum onpu_map_prot prot)
{
	const u64 leaf = ONPU_PTE_V | ONPU_PTE_R | ONPU_PTE_A, write = ONPU_PTE_W | ONPU_PTE_D;

	return prot == ONPU_MAP_KERNEL ? leaf | write :
	       prot == ONPU_MAP_USER ? leaf | write | ONPU_PTE_U : leaf | ONPU_PTE_U;
}

/*
 * Makes up memory of some runs, some of which have room for large pages. Returns the size in bytes.
 */
static u64 make_runs(struct mmu_test *t, struct wanted *w)
{
	unsigned int count = 1 + below(t, MAX_RUNS);
	u64 size = 0;

	sg_init_table(w->runs, count);
	for (unsigned int i = 0; i < count; i++) {
		u64 length = (1 + below(t, 20)) * SZ_4K;
		u64 addr = ((u64)below(t, 1 << 20) << 24) + below(t, 512) * SZ_4K;

		if (!below(t, 3)) {
			length += (1 + below(t, 3)) * SZ_2M;
			addr = round_up(addr, SZ_2M) - (below(t, 2) ? size % SZ_2M : 0);
		}
		sg_dma_address(&w->runs[i]) = addr;
		sg_dma_len(&w->runs[i]) = length;
		w->runs[i].length = length;
		size += length;
	}
	w->sgt = (struct sg_table) { .sgl = w->runs, .nents = count, .orig_nents = count };
	return size;
}

static int insert(struct mmu_test *t, struct wanted *w, u64 size)
{
	static const enum onpu_map_prot prots[] = {
		ONPU_MAP_USER, ONPU_MAP_USER_RO, ONPU_MAP_KERNEL,
	};
	int ret;

	w->map = kzalloc(sizeof(*w->map), GFP_KERNEL);
	if (!w->map)
		return -ENOMEM;
	w->freed = false;
	w->obj.funcs = &obj_funcs;
	drm_gem_private_object_init(&t->onpu->drm, &w->obj, size);
	w->prot = prots[below(t, ARRAY_SIZE(prots))];
	ret = onpu_map_insert(w->map, t->vm, &w->obj, &w->sgt, w->prot);
	/* The mapping has a reference of its own if there is no error. */
	drm_gem_object_put(&w->obj);
	if (ret) {
		kfree(w->map);
		w->map = NULL;
	}
	return ret;
}

/* Returns the bus address of an offset in the object, or U64_MAX when it is beyond the end. */
static u64 wanted_addr(const struct wanted *w, u64 offset)
{
	for (unsigned int i = 0; i < w->sgt.nents; i++) {
		if (offset < sg_dma_len(&w->runs[i]))
			return sg_dma_address(&w->runs[i]) + offset;
		offset -= sg_dma_len(&w->runs[i]);
	}
	return U64_MAX;
}

/*
 * Returns whether the tables translate each page of the mapping correctly, and do not map the page
 * after it.
 */
static bool is_right(struct mmu_test *t, const struct wanted *w)
{
	u64 va = onpu_map_va(w->map), addr, flags, half = onpu_va_end(t->onpu);

	if (w->prot == ONPU_MAP_KERNEL ? va < half : va >= half)
		return false;
	for (u64 at = 0; at < w->map->size; at += SZ_4K)
		if (!walk(onpu_vm_root(t->vm), va + at + 8, &addr, &flags) ||
		    addr != wanted_addr(w, at) + 8 || flags != wanted_flags(w->prot))
			return false;
	return !walk(onpu_vm_root(t->vm), va + w->map->size, &addr, &flags);
}

static bool is_nowhere(struct mmu_test *t, u64 va, u64 size)
{
	u64 addr, flags;

	for (u64 at = 0; at < size; at += SZ_4K)
		if (walk(onpu_vm_root(t->vm), va + at, &addr, &flags))
			return false;
	return true;
}

/* ---- tests */

static int mmu_init(struct kunit *test)
{
	struct mmu_test *t;
	int ret = fake_init_with(test, sizeof(*t));

	if (ret)
		return ret;
	t = test->priv;
	prandom_seed_state(&t->random, FAKE_SEED);
	ret = fake_vm_create(t->onpu, &t->vm);
	if (ret)
		fake_exit_with(test);
	return ret;
}

static void mmu_exit(struct kunit *test)
{
	struct mmu_test *t = test->priv;

	for (unsigned int i = 0; i < NUM_MAPS; i++)
		if (t->wanted[i].map)
			onpu_map_remove(t->wanted[i].map);
	fake_vm_put(t->vm);
	fake_exit_with(test);
}

/* Many insertions and removals leave all mappings correct. */
static void tables_are_right(struct kunit *test)
{
	struct mmu_test *t = test->priv;

	for (unsigned int round = 0; round < 150; round++) {
		struct wanted *w = &t->wanted[below(t, NUM_MAPS)];

		if (w->map) {
			u64 va = onpu_map_va(w->map), size = w->map->size;

			onpu_map_remove(w->map);
			w->map = NULL;
			KUNIT_ASSERT_TRUE(test, is_nowhere(t, va, size));
			KUNIT_ASSERT_FALSE(test, w->freed);
			answer(t);
			KUNIT_ASSERT_TRUE(test, w->freed);
		} else {
			KUNIT_ASSERT_EQ(test, insert(t, w, make_runs(t, w)), 0);
		}
		/* Check one mapping, and in every 20th round many: the walker is slow. */
		for (unsigned int i = below(t, NUM_MAPS); i < NUM_MAPS; i++) {
			if (t->wanted[i].map)
				KUNIT_ASSERT_TRUE(test, is_right(t, &t->wanted[i]));
			if (round % 20)
				break;
		}
		cond_resched();
	}
	for (unsigned int i = 0; i < NUM_MAPS; i++)
		if (t->wanted[i].map)
			KUNIT_EXPECT_TRUE(test, is_right(t, &t->wanted[i]));
}

static void memory_not_in_pages_is_refused(struct kunit *test)
{
	struct mmu_test *t = test->priv;
	struct wanted *w = &t->wanted[0];
	u64 size = make_runs(t, w);

	KUNIT_EXPECT_EQ(test, insert(t, w, size + SZ_4K), -EINVAL);
	sg_dma_address(&w->runs[0]) += 512;
	KUNIT_EXPECT_EQ(test, insert(t, w, size), -EINVAL);
	sg_dma_address(&w->runs[0]) -= 512;
	sg_dma_len(&w->runs[0]) -= 4;
	KUNIT_EXPECT_EQ(test, insert(t, w, size - SZ_4K), -EINVAL);
	sg_dma_len(&w->runs[0]) += 4;
	KUNIT_EXPECT_EQ(test, insert(t, w, size), 0);
	KUNIT_EXPECT_TRUE(test, w->map && is_right(t, w));
}

/*
 * Inserts @count mappings of the array `wanted`, from the one with index @first on, and removes
 * them again; the device does not answer the invalidations. Returns 0 or the errno of an insertion.
 */
static int remove_from(struct mmu_test *t, unsigned int first, unsigned int count)
{
	for (unsigned int i = first; i < first + count; i++) {
		int ret = insert(t, &t->wanted[i], make_runs(t, &t->wanted[i]));

		if (ret)
			return ret;
	}
	for (unsigned int i = first; i < first + count; i++) {
		onpu_map_remove(t->wanted[i].map);
		t->wanted[i].map = NULL;
	}
	return 0;
}

static int remove_some(struct mmu_test *t, unsigned int count)
{
	return remove_from(t, 0, count);
}

static unsigned int count_freed(struct mmu_test *t, unsigned int count)
{
	unsigned int freed = 0;

	flush_workqueue(onpu_free_wq);
	for (unsigned int i = 0; i < count; i++)
		freed += t->wanted[i].freed;
	return freed;
}

/* Answers requests up to @done, and returns the number of mappings freed. */
static unsigned int freed_at(struct mmu_test *t, u32 done)
{
	fake_set(t->onpu, ONPU_REG_INV_DONE, done);
	onpu_mmu_irq(t->onpu);
	return count_freed(t, NUM_MAPS);
}

/* Checks that numbers of requests count on from @before, and wrap at 32 bits. */
static void check_requests(struct kunit *test, u32 before)
{
	struct mmu_test *t = test->priv;
	const unsigned int more = 5;

	t->onpu->mmu->last = before;
	t->onpu->mmu->seen = before;
	KUNIT_ASSERT_EQ(test, remove_some(t, MAX_REQUESTS + more), 0);
	/* At most MAX_REQUESTS are under way; the other removals wait for the first answer. */
	KUNIT_EXPECT_EQ(test, fake_get(t->onpu, ONPU_REG_INV_REQ), before + MAX_REQUESTS);
	KUNIT_EXPECT_EQ(test, fake_get(t->onpu, ONPU_REG_INV_ASID), t->vm->asid);
	/* Answers to requests never made, or answered before, change nothing. */
	KUNIT_EXPECT_EQ(test, freed_at(t, before), 0);
	KUNIT_EXPECT_EQ(test, freed_at(t, before - 1), 0);
	KUNIT_EXPECT_EQ(test, freed_at(t, before + MAX_REQUESTS + 1), 0);
	KUNIT_EXPECT_EQ(test, freed_at(t, before + 3), 3);
	/* The next request is for all removals that waited. */
	KUNIT_EXPECT_EQ(test, fake_get(t->onpu, ONPU_REG_INV_REQ), before + MAX_REQUESTS + 1);
	KUNIT_EXPECT_EQ(test, fake_get(t->onpu, ONPU_REG_INV_ASID), ONPU_INV_ASID_ALL__MASK);
	KUNIT_EXPECT_EQ(test, freed_at(t, before + MAX_REQUESTS), MAX_REQUESTS);
	KUNIT_EXPECT_EQ(test, freed_at(t, before + MAX_REQUESTS + 1), MAX_REQUESTS + more);
	KUNIT_EXPECT_EQ(test, fake_reset_reason(t->onpu), ONPU_RESET_NONE);
}

static void requests_are_counted(struct kunit *test)
{
	check_requests(test, 100);
}

static void requests_are_counted_beyond_32_bits(struct kunit *test)
{
	check_requests(test, U32_MAX - 2);
}

static void a_request_names_the_pages(struct kunit *test)
{
	struct mmu_test *t = test->priv;
	struct wanted *w = &t->wanted[0];
	u64 va, size;

	KUNIT_ASSERT_EQ(test, insert(t, w, make_runs(t, w)), 0);
	va = onpu_map_va(w->map);
	size = w->map->size;
	onpu_map_remove(w->map);
	w->map = NULL;
	KUNIT_EXPECT_EQ(test, fake_get(t->onpu, ONPU_REG_INV_ASID), t->vm->asid);
	KUNIT_EXPECT_EQ(test, fake_get(t->onpu, ONPU_REG_INV_VA_LO), lower_32_bits(va));
	KUNIT_EXPECT_EQ(test, fake_get(t->onpu, ONPU_REG_INV_VA_HI), upper_32_bits(va));
	KUNIT_EXPECT_EQ(test, fake_get(t->onpu, ONPU_REG_INV_PAGES), size / SZ_4K);
}

/* Tests that only INV_CHECKS checks in a row without an answer ask for a reset. */
static void no_answer_ends_in_a_reset(struct kunit *test)
{
	struct mmu_test *t = test->priv;
	struct delayed_work *timeout = &t->onpu->mmu->timeout;
	u32 before = t->onpu->mmu->last;

	KUNIT_ASSERT_EQ(test, remove_some(t, 3), 0);
	cancel_delayed_work_sync(timeout);
	for (unsigned int i = 1; i < INV_CHECKS; i++)
		inv_timeout_work(&timeout->work);
	KUNIT_EXPECT_EQ(test, fake_reset_reason(t->onpu), ONPU_RESET_NONE);
	/*
	 * A check finds an answer whose interrupt was lost; the row of checks without an answer
	 * begins anew.
	 */
	fake_set(t->onpu, ONPU_REG_INV_DONE, before + 1);
	inv_timeout_work(&timeout->work);
	KUNIT_EXPECT_EQ(test, count_freed(t, 3), 1);
	for (unsigned int i = 2; i < INV_CHECKS; i++)
		inv_timeout_work(&timeout->work);
	KUNIT_EXPECT_EQ(test, fake_reset_reason(t->onpu), ONPU_RESET_NONE);
	inv_timeout_work(&timeout->work);
	KUNIT_EXPECT_EQ(test, fake_reset_reason(t->onpu), ONPU_RESET_INVALIDATION);
	KUNIT_EXPECT_EQ(test, count_freed(t, 3), 1);
	cancel_delayed_work_sync(timeout);
}

/*
 * Tests that memory which is unmapped before or after the loss of the device is freed when the
 * device is off the bus.
 */
static void a_device_that_cannot_be_reached_keeps_memory(struct kunit *test)
{
	struct mmu_test *t = test->priv;
	struct onpu_device *onpu = t->onpu;

	KUNIT_ASSERT_EQ(test, remove_some(t, 3), 0);
	onpu_mmu_pre_reset(onpu);
	onpu->state = ONPU_DEV_WEDGED;
	onpu->quarantine = true;
	onpu_mmu_post_reset(onpu);
	KUNIT_EXPECT_EQ(test, remove_from(t, 3, 3), 0);
	KUNIT_EXPECT_EQ(test, count_freed(t, 6), 0);
	onpu->quarantine = false;
	onpu_mmu_post_reset(onpu);
	KUNIT_EXPECT_EQ(test, count_freed(t, 6), 6);
	/* From then on no invalidation is requested. */
	KUNIT_EXPECT_EQ(test, remove_some(t, 3), 0);
	KUNIT_EXPECT_EQ(test, count_freed(t, 3), 3);
	/* A device that works again gets requests. */
	onpu->state = ONPU_DEV_UP;
	onpu_mmu_post_reset(onpu);
	KUNIT_EXPECT_EQ(test, remove_some(t, 3), 0);
	KUNIT_EXPECT_EQ(test, count_freed(t, 3), 0);
	answer(t);
	KUNIT_EXPECT_EQ(test, count_freed(t, 3), 3);
}

/*
 * Page tables are not reused until the device has forgotten all translations, because it may cache
 * pointers to the tables.
 */
static void tables_stay_until_all_is_forgotten(struct kunit *test)
{
	struct mmu_test *t = test->priv;
	struct onpu_user *user = t->vm->user;
	u64 before = atomic64_read(&user->memory);
	struct onpu_vm *vm;
	u32 asid;

	KUNIT_ASSERT_EQ(test, onpu_vm_create(t->onpu, onpu_user_get(user), &vm), 0);
	asid = vm->asid;
	fake_vm_close(vm);
	flush_workqueue(onpu_free_wq);
	KUNIT_EXPECT_EQ(test, fake_get(t->onpu, ONPU_REG_INV_ASID), asid);
	KUNIT_EXPECT_EQ(test, fake_get(t->onpu, ONPU_REG_INV_PAGES), 0);
	KUNIT_EXPECT_TRUE(test, (u64)atomic64_read(&user->memory) > before);
	KUNIT_EXPECT_EQ(test, atomic_read(&user->vms), 2);
	answer(t);
	KUNIT_EXPECT_EQ(test, (u64)atomic64_read(&user->memory), before);
	KUNIT_EXPECT_EQ(test, atomic_read(&user->vms), 1);
}

/* A user who opens the device many times gets only a fraction of the address spaces. */
static void a_user_has_a_part_of_the_address_spaces(struct kunit *test)
{
	struct mmu_test *t = test->priv;
	struct onpu_user *user = t->vm->user;
	struct onpu_vm *vms[4];
	unsigned int count;
	int ret = 0;

	/* One address space exists already. */
	for (count = 0; count < ARRAY_SIZE(vms); count++) {
		ret = onpu_vm_create(t->onpu, onpu_user_get(user), &vms[count]);
		if (ret)
			break;
	}
	KUNIT_EXPECT_EQ(test, ret, -ENOSPC);
	KUNIT_EXPECT_EQ(test, count, 3);
	onpu_user_put(user);
	while (count)
		fake_vm_close(vms[--count]);
	answer(t);
	KUNIT_EXPECT_EQ(test, onpu_vm_create(t->onpu, onpu_user_get(user), &vms[0]), 0);
	fake_vm_close(vms[0]);
	answer(t);
}

static struct kunit_case mmu_cases[] = {
	KUNIT_CASE(tables_are_right),
	KUNIT_CASE(memory_not_in_pages_is_refused),
	KUNIT_CASE(requests_are_counted),
	KUNIT_CASE(requests_are_counted_beyond_32_bits),
	KUNIT_CASE(a_request_names_the_pages),
	KUNIT_CASE(a_device_that_cannot_be_reached_keeps_memory),
	KUNIT_CASE(tables_stay_until_all_is_forgotten),
	KUNIT_CASE(a_user_has_a_part_of_the_address_spaces),
	KUNIT_CASE(no_answer_ends_in_a_reset),
	{}
};

struct kunit_suite onpu_mmu_suite = {
	.name = "onpu_mmu",
	.init = mmu_init,
	.exit = mmu_exit,
	.test_cases = mmu_cases,
};
