// SPDX-License-Identifier: MIT
/*
 * Sv39 page table walks, and copies through translations. Page tables are not trusted: every bit is
 * checked, and an entry that is not well formed counts as not present.
 */
#include "device/mmu.h"

#include "onpu/registers.h"

#define PTE_BITS                                                                       \
	(ONPU_PTE_V | ONPU_PTE_R | ONPU_PTE_W | ONPU_PTE_X | ONPU_PTE_U | ONPU_PTE_G | \
	 ONPU_PTE_A | ONPU_PTE_D)
#define PTE_PPN_MASK (((UINT64_C(1) << ONPU_PTE_PPN_BITS) - 1) << ONPU_PTE_PPN_SHIFT)
#define LARGE_LEVEL  1

bool mmu_bus_read(const struct mmu_bus *bus, uint64_t addr, void *dst, size_t len)
{
	const uint64_t limit = UINT64_C(1) << ONPU_BUS_BITS;

	return addr < limit && len <= limit - addr && !bus->read(bus->ctx, addr, dst, len);
}

bool mmu_bus_write(const struct mmu_bus *bus, uint64_t addr, const void *src, size_t len)
{
	const uint64_t limit = UINT64_C(1) << ONPU_BUS_BITS;

	return addr < limit && len <= limit - addr && !bus->write(bus->ctx, addr, src, len);
}

bool mmu_init(struct mmu *mmu, const struct onpu_sim_memory *memory, const struct mmu_bus *bus,
	      bool sticky)
{
	mmu->bus = *bus;
	mmu->misses = 0;
	return tlb_init(&mmu->tlb, memory, sticky);
}

void mmu_destroy(struct mmu *mmu)
{
	tlb_destroy(&mmu->tlb);
}

static uint64_t pte_address(uint64_t pte)
{
	return (pte & PTE_PPN_MASK) >> ONPU_PTE_PPN_SHIFT << ONPU_PAGE_SHIFT;
}

static bool is_pointer(uint64_t pte)
{
	return (pte & PTE_BITS) == ONPU_PTE_V;
}

/* Returns whether an entry is a leaf as enum onpu_pte defines it, at a level that has leaves. */
static bool is_leaf(uint64_t pte, unsigned int level)
{
	const uint64_t large = (UINT64_C(1) << ONPU_LARGE_PAGE_SHIFT) - 1;

	if (level > LARGE_LEVEL || (level == LARGE_LEVEL && pte_address(pte) & large))
		return false;
	if (pte & (ONPU_PTE_X | ONPU_PTE_G) || !(pte & ONPU_PTE_R) || !(pte & ONPU_PTE_A))
		return false;
	return !(pte & ONPU_PTE_W) || pte & ONPU_PTE_D;
}

static bool walk(struct mmu *mmu, const struct mmu_space *space, uint64_t va, uint64_t *leaf,
		 bool *large)
{
	uint64_t table = space->root, kept;
	unsigned int level = ONPU_PTE_LEVELS;

	if (tlb_lookup_table(&mmu->tlb, space->asid, va, &kept)) {
		table = pte_address(kept);
		level = LARGE_LEVEL;
	}
	while (level-- > 0) {
		unsigned int shift = ONPU_PAGE_SHIFT + ONPU_PTE_INDEX_BITS * level;
		uint64_t index = va >> shift & ((1u << ONPU_PTE_INDEX_BITS) - 1);
		uint64_t pte;

		if (!mmu_bus_read(&mmu->bus, table + index * sizeof(pte), &pte, sizeof(pte)))
			return false;
		if (!(pte & ONPU_PTE_V) || pte & ~(PTE_PPN_MASK | PTE_BITS))
			return false;
		if (is_pointer(pte)) {
			table = pte_address(pte);
			if (level == LARGE_LEVEL)
				tlb_insert_table(&mmu->tlb, space->asid, va, pte);
			continue;
		}
		*leaf = pte;
		*large = level == LARGE_LEVEL;
		return is_leaf(pte, level);
	}
	return false;
}

int mmu_translate(struct mmu *mmu, const struct mmu_space *space, uint64_t va,
		  enum mmu_access access, bool privileged, uint64_t *addr)
{
	uint64_t offset_mask, pte;
	bool large;

	if (va >> ONPU_VA_BITS || !space->valid)
		return ONPU_FAULT_MMU_NOT_PRESENT;
	if (!tlb_lookup(&mmu->tlb, space->asid, va, &pte, &large)) {
		mmu->misses++;
		if (!walk(mmu, space, va, &pte, &large))
			return ONPU_FAULT_MMU_NOT_PRESENT;
		tlb_insert(&mmu->tlb, space->asid, va, pte, large);
	}
	if (!(pte & ONPU_PTE_U) && !privileged)
		return ONPU_FAULT_MMU_PERM;
	if (access == MMU_WRITE && !(pte & ONPU_PTE_W))
		return ONPU_FAULT_MMU_PERM;
	offset_mask = (UINT64_C(1) << (large ? ONPU_LARGE_PAGE_SHIFT : ONPU_PAGE_SHIFT)) - 1;
	*addr = pte_address(pte) | (va & offset_mask);
	return 0;
}

static size_t until_page_end(uint64_t va, size_t len)
{
	size_t rest = ONPU_PAGE_SIZE - (va & (ONPU_PAGE_SIZE - 1));

	return len < rest ? len : rest;
}

int mmu_read(struct mmu *mmu, const struct mmu_space *space, bool privileged, uint64_t va,
	     void *dst, size_t len, uint64_t *fault_va)
{
	uint8_t *to = dst;

	while (len) {
		size_t part = until_page_end(va, len);
		uint64_t addr;
		int fault = mmu_translate(mmu, space, va, MMU_READ, privileged, &addr);

		if (!fault && !mmu_bus_read(&mmu->bus, addr, to, part))
			fault = ONPU_FAULT_MMU_NOT_PRESENT;
		if (fault) {
			*fault_va = va;
			return fault;
		}
		va += part;
		to += part;
		len -= part;
	}
	return 0;
}

int mmu_write(struct mmu *mmu, const struct mmu_space *space, bool privileged, uint64_t va,
	      const void *src, size_t len, uint64_t *fault_va)
{
	const uint8_t *from = src;

	while (len) {
		size_t part = until_page_end(va, len);
		uint64_t addr;
		int fault = mmu_translate(mmu, space, va, MMU_WRITE, privileged, &addr);

		if (!fault && !mmu_bus_write(&mmu->bus, addr, from, part))
			fault = ONPU_FAULT_MMU_NOT_PRESENT;
		if (fault) {
			*fault_va = va;
			return fault;
		}
		va += part;
		from += part;
		len -= part;
	}
	return 0;
}
