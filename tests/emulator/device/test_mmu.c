// SPDX-License-Identifier: MIT
/*
 * Compares page table walks with a second walker; tests permissions, copies across pages and the
 * TLB protocol.
 */
#include "../../random.h"
#include "rig.h"

#include "device/mmu.h"

#define POOL_PAGES 64u
#define BASE	   UINT64_C(0x700000000000)
#define PAGE	   4096u

static uint8_t pool[POOL_PAGES * PAGE];
static struct rng rng = { 1 };

static int pool_read(void *ctx, uint64_t addr, void *dst, size_t len)
{
	(void)ctx;
	if (addr < BASE || addr + len > BASE + sizeof(pool))
		return -1;
	memcpy(dst, pool + (addr - BASE), len);
	return 0;
}

static int pool_write(void *ctx, uint64_t addr, const void *src, size_t len)
{
	(void)ctx;
	if (addr < BASE || addr + len > BASE + sizeof(pool))
		return -1;
	memcpy(pool + (addr - BASE), src, len);
	return 0;
}

static const struct mmu_bus bus = { .read = pool_read, .write = pool_write };

/* ---- A second walker, written from the text of enum onpu_pte: recursive, bit by bit ---- */

static bool bit(uint64_t pte, unsigned int n)
{
	return pte >> n & 1;
}

static int second_walk(uint64_t table, unsigned int level, uint64_t va, bool write, bool kernel,
		       uint64_t *addr)
{
	uint64_t index = (va >> (12 + level * 9)) % 512, page, pte;
	bool v, r, w, x, u, g, a, d;

	if (pool_read(NULL, table + 8 * index, &pte, 8))
		return ONPU_FAULT_MMU_NOT_PRESENT;
	v = bit(pte, 0), r = bit(pte, 1), w = bit(pte, 2), x = bit(pte, 3);
	u = bit(pte, 4), g = bit(pte, 5), a = bit(pte, 6), d = bit(pte, 7);
	page = pte << 10 >> 20 << 12;
	if (!v || x || g || bit(pte, 8) || bit(pte, 9) || pte >> 54 || (w && !r))
		return ONPU_FAULT_MMU_NOT_PRESENT;
	if (!r) {
		if (u || a || d || !level)
			return ONPU_FAULT_MMU_NOT_PRESENT;
		return second_walk(page, level - 1, va, write, kernel, addr);
	}
	if (!a || (w && !d) || level == 2 || (level == 1 && page % (2 << 20)))
		return ONPU_FAULT_MMU_NOT_PRESENT;
	if ((write && !w) || (!u && !kernel))
		return ONPU_FAULT_MMU_PERM;
	*addr = page + va % (level ? 2 << 20 : PAGE);
	return 0;
}

/* ---- Random tables ---- */

static uint64_t random_pte(void)
{
	uint64_t page = (BASE >> 12) + rng_u32(&rng) % POOL_PAGES, pte;
	unsigned int kind = rng_u32(&rng) % 16;

	if (kind < 7)
		return page << 10 | 1; /* a pointer */
	if (kind < 8)
		return 0;
	pte = page << 10 | RIG_USER;
	if (kind < 10)
		pte &= ~(UINT64_C(0x1ff) << 10); /* aligned to 2 MiB */
	if (rng_u32(&rng) % 2)
		pte ^= UINT64_C(1) << rng_u32(&rng) % 10;
	if (rng_u32(&rng) % 32 == 0)
		pte ^= UINT64_C(1) << rng_u32(&rng) % 64;
	return pte;
}

static void test_random_walks(void **state)
{
	const struct mmu_space space = { .root = BASE, .asid = 7, .valid = true };
	unsigned int hits[20] = { 0 };
	struct mmu mmu;

	(void)state;
	assert_true(mmu_init(&mmu, NULL, &bus, false));
	for (unsigned int round = 0; round < 30; round++) {
		for (size_t i = 0; i < sizeof(pool) / 8; i++)
			((uint64_t *)pool)[i] = random_pte();
		tlb_flush(&mmu.tlb);
		for (unsigned int i = 0; i < 20000; i++) {
			uint64_t va = ((uint64_t)rng_u32(&rng) << 32 | rng_u32(&rng)) >> 26;
			bool write = rng_u32(&rng) % 2, kernel = rng_u32(&rng) % 2;
			uint64_t want_addr = 0, addr = 0;
			int want = second_walk(space.root, 2, va, write, kernel, &want_addr);
			int got = mmu_translate(&mmu, &space, va, write ? MMU_WRITE : MMU_READ,
						kernel, &addr);

			assert_int_equal(got, want);
			assert_true(addr == want_addr);
			hits[got]++;
		}
	}
	/* The random tables give many good translations and many faults of both kinds. */
	assert_true(hits[0] > 10000);
	assert_true(hits[ONPU_FAULT_MMU_NOT_PRESENT] > 10000);
	assert_true(hits[ONPU_FAULT_MMU_PERM] > 1000);
	mmu_destroy(&mmu);
}

static void test_limits(void **state)
{
	struct mmu_space space = { .root = BASE, .asid = 7, .valid = true };
	uint64_t addr, fault;
	struct mmu mmu;
	uint8_t byte;

	(void)state;
	memset(pool, 0, sizeof(pool));
	assert_true(mmu_init(&mmu, NULL, &bus, false));
	assert_int_equal(mmu_translate(&mmu, &space, UINT64_C(1) << 38, MMU_READ, true, &addr),
			 ONPU_FAULT_MMU_NOT_PRESENT);
	assert_int_equal(mmu_translate(&mmu, &space, UINT64_MAX, MMU_READ, true, &addr),
			 ONPU_FAULT_MMU_NOT_PRESENT);
	assert_int_equal(mmu_read(&mmu, &space, true, (UINT64_C(1) << 38) - 1, &byte, 1, &fault),
			 ONPU_FAULT_MMU_NOT_PRESENT);
	/* The root table cannot be read, or is above the bus. */
	space.root = 4096;
	assert_int_equal(mmu_translate(&mmu, &space, 0, MMU_READ, true, &addr),
			 ONPU_FAULT_MMU_NOT_PRESENT);
	space.root = UINT64_MAX & ~UINT64_C(4095);
	assert_int_equal(mmu_translate(&mmu, &space, 0, MMU_READ, true, &addr),
			 ONPU_FAULT_MMU_NOT_PRESENT);
	space.root = BASE;
	space.valid = false;
	assert_int_equal(mmu_translate(&mmu, &space, 0, MMU_READ, true, &addr),
			 ONPU_FAULT_MMU_NOT_PRESENT);
	mmu_destroy(&mmu);
}

/* ---- Copies: contiguous addresses whose pages are out of order in memory ---- */

static void map_page(uint64_t va, unsigned int page, uint64_t flags)
{
	uint64_t *l2 = (uint64_t *)pool, *l1 = l2 + 512, *l0 = l2 + 1024;

	l2[va >> 30] = (BASE + PAGE) >> 12 << 10 | 1;
	l1[va >> 21 & 511] = (BASE + 2 * PAGE) >> 12 << 10 | 1;
	l0[va >> 12 & 511] = ((BASE >> 12) + page) << 10 | flags;
}

static void test_copies(void **state)
{
	const struct mmu_space space = { .root = BASE, .asid = 7, .valid = true };
	static uint8_t in[4 * PAGE], out[4 * PAGE];
	uint64_t fault = 0;
	struct mmu mmu;

	(void)state;
	memset(pool, 0, sizeof(pool));
	assert_true(mmu_init(&mmu, NULL, &bus, false));
	for (unsigned int i = 0; i < 4; i++)
		map_page((uint64_t)i * PAGE, 20 - 3 * i, RIG_USER);
	for (size_t i = 0; i < sizeof(in); i++)
		in[i] = (uint8_t)rng_u32(&rng);
	for (unsigned int i = 0; i < 200; i++) {
		size_t at = rng_u32(&rng) % sizeof(in), len = rng_u32(&rng) % (sizeof(in) - at + 1);

		assert_int_equal(mmu_write(&mmu, &space, false, at, in + at, len, &fault), 0);
		memset(out, 0, sizeof(out));
		assert_int_equal(mmu_read(&mmu, &space, false, at, out + at, len, &fault), 0);
		assert_memory_equal(in + at, out + at, len);
	}
	/* The table was read once for each page. */
	assert_int_equal(mmu.misses, 4);
	assert_int_equal(mmu_write(&mmu, &space, false, 0, in, sizeof(in), &fault), 0);
	assert_memory_equal(pool + 20 * PAGE, in, PAGE);
	assert_memory_equal(pool + 11 * PAGE, in + 3 * PAGE, PAGE);
	/* The fault names the address that fails, not that at which the copy begins. */
	assert_int_equal(mmu_read(&mmu, &space, false, 3 * PAGE + 5, out, PAGE, &fault),
			 ONPU_FAULT_MMU_NOT_PRESENT);
	assert_int_equal(fault, 4 * PAGE);
	/* The leaf is good, but the memory to which it points does not answer. */
	map_page(4 * PAGE, POOL_PAGES + 1, RIG_USER);
	assert_int_equal(mmu_write(&mmu, &space, false, 4 * PAGE + 8, in, 4, &fault),
			 ONPU_FAULT_MMU_NOT_PRESENT);
	assert_int_equal(fault, 4 * PAGE + 8);
	mmu_destroy(&mmu);
}

/* ---- TLB ---- */

static bool holds(const struct tlb *tlb, uint16_t asid, uint64_t va)
{
	uint64_t pte;
	bool large;

	return tlb_lookup(tlb, asid, va, &pte, &large);
}

/* A TLB never holds an invalidated entry; the normal one may have evicted a valid entry. */
static void expect_held(const struct tlb *tlb, uint16_t asid, uint64_t va, bool held)
{
	if (!held || tlb->sticky)
		assert_int_equal(holds(tlb, asid, va), held);
}

static void test_tlb_ranges(void **state)
{
	struct tlb tlb;

	(void)state;
	for (unsigned int sticky = 0; sticky < 2; sticky++) {
		assert_true(tlb_init(&tlb, NULL, sticky));
		for (uint64_t page = 0; page < 16; page++)
			tlb_insert(&tlb, 1, page << 12, page << 10 | 1, false);
		tlb_insert(&tlb, 1, 4 << 20, 0, true);
		tlb_insert(&tlb, 2, 5 << 12, 0, false);
		tlb_invalidate(&tlb, 1, (4 << 12) + 77, 3);
		for (uint64_t page = 0; page < 16; page++)
			expect_held(&tlb, 1, page << 12, page < 4 || page > 6);
		expect_held(&tlb, 2, 5 << 12, true);
		/* Invalidating any page of a large page removes all of it. */
		expect_held(&tlb, 1, (6 << 20) - 1, true);
		tlb_invalidate(&tlb, 1, (5 << 20) + 4096, 1);
		expect_held(&tlb, 1, 4 << 20, false);
		tlb_invalidate(&tlb, 1, UINT64_MAX - 4096, UINT32_MAX);
		expect_held(&tlb, 1, 15 << 12, true);
		tlb_invalidate(&tlb, 1, 0, 0);
		expect_held(&tlb, 1, 15 << 12, false);
		expect_held(&tlb, 2, 5 << 12, true);
		tlb_flush(&tlb);
		expect_held(&tlb, 2, 5 << 12, false);
		tlb_destroy(&tlb);
	}
}

/* The sticky TLB keeps pointers to tables until the whole address space is invalidated. */
static void test_tlb_tables(void **state)
{
	struct tlb tlb;
	uint64_t pte;

	(void)state;
	assert_true(tlb_init(&tlb, NULL, true));
	tlb_insert_table(&tlb, 1, 4 << 20, 77);
	tlb_insert_table(&tlb, 2, 4 << 20, 88);
	assert_false(holds(&tlb, 1, 4 << 20));
	tlb_invalidate(&tlb, 1, 4 << 20, 512);
	assert_true(tlb_lookup_table(&tlb, 1, (6 << 20) - 1, &pte));
	assert_int_equal(pte, 77);
	assert_false(tlb_lookup_table(&tlb, 1, 6 << 20, &pte));
	tlb_invalidate(&tlb, 1, 0, 0);
	assert_false(tlb_lookup_table(&tlb, 1, 4 << 20, &pte));
	assert_true(tlb_lookup_table(&tlb, 2, 4 << 20, &pte));
	assert_int_equal(pte, 88);
	tlb_flush(&tlb);
	assert_false(tlb_lookup_table(&tlb, 2, 4 << 20, &pte));
	tlb_destroy(&tlb);
	assert_true(tlb_init(&tlb, NULL, false));
	tlb_insert_table(&tlb, 1, 4 << 20, 77);
	assert_false(tlb_lookup_table(&tlb, 1, 4 << 20, &pte));
	tlb_destroy(&tlb);
}

/* The sticky TLB holds every entry that was put in; the normal one has a capacity. */
static void test_tlb_capacity(void **state)
{
	const unsigned int count = 100000;
	struct tlb tlb;

	(void)state;
	for (unsigned int sticky = 0; sticky < 2; sticky++) {
		unsigned int kept = 0;

		assert_true(tlb_init(&tlb, NULL, sticky));
		for (uint64_t page = 0; page < count; page++)
			tlb_insert(&tlb, (uint16_t)page, page << 12, page << 10, page % 3 == 0);
		for (uint64_t page = 0; page < count; page++)
			kept += holds(&tlb, (uint16_t)page, page << 12);
		if (sticky)
			assert_int_equal(kept, count);
		else
			assert_true(kept > 100 && kept <= 1024);
		for (unsigned int asid = 0; asid < 200; asid++)
			tlb_invalidate(&tlb, (uint16_t)(asid * 300), 0, 0);
		assert_false(holds(&tlb, 300, 300 << 12));
		if (sticky)
			assert_true(holds(&tlb, 301, 301 << 12));
		tlb_destroy(&tlb);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_walks), cmocka_unit_test(test_limits),
		cmocka_unit_test(test_copies),	     cmocka_unit_test(test_tlb_ranges),
		cmocka_unit_test(test_tlb_capacity), cmocka_unit_test(test_tlb_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
