// SPDX-License-Identifier: MIT
/*
 * The TLB: a hash table of leaf entries. The normal TLB has a fixed number of entries, and a new
 * translation evicts the one with its hash. The sticky TLB grows and keeps each translation until
 * it is invalidated, up to a limit so that a hostile page table cannot fill the host's memory. It
 * also keeps pointers to tables of the last level, which only an invalidation of their whole
 * address space drops.
 */
#include "device/mmu.h"

#include <string.h>

#include "onpu_memory.h"

#define TLB_SIZE       1024
#define TLB_STICKY_MAX (1u << 20)

#define KEY_VALID      (UINT64_C(1) << 63)
#define KEY_LARGE      (UINT64_C(1) << 62)
#define KEY_TABLE      (UINT64_C(1) << 61)
#define KEY_ASID_SHIFT 32

static uint64_t make_key(uint16_t asid, uint64_t va, bool large)
{
	unsigned int shift = large ? ONPU_LARGE_PAGE_SHIFT : ONPU_PAGE_SHIFT;

	return KEY_VALID | (large ? KEY_LARGE : 0) | (uint64_t)asid << KEY_ASID_SHIFT | va >> shift;
}

static uint64_t make_table_key(uint16_t asid, uint64_t va)
{
	return KEY_VALID | KEY_TABLE | (uint64_t)asid << KEY_ASID_SHIFT |
	       va >> ONPU_LARGE_PAGE_SHIFT;
}

static size_t place(const struct tlb *tlb, uint64_t key)
{
	return (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (tlb->size - 1);
}

bool tlb_init(struct tlb *tlb, const struct onpu_sim_memory *memory, bool sticky)
{
	tlb->memory = memory ? *memory : (struct onpu_sim_memory){ 0 };
	tlb->size = TLB_SIZE;
	tlb->used = 0;
	tlb->sticky = sticky;
	tlb->entries = sim_calloc(&tlb->memory, tlb->size, sizeof(*tlb->entries));
	return tlb->entries;
}

void tlb_destroy(struct tlb *tlb)
{
	sim_free(&tlb->memory, tlb->entries);
	tlb->entries = NULL;
}

void tlb_flush(struct tlb *tlb)
{
	memset(tlb->entries, 0, tlb->size * sizeof(*tlb->entries));
	tlb->used = 0;
}

/*
 * Returns the entry of @key, or the entry where @key would go. The sticky table always has an empty
 * entry, at which the search ends.
 */
static struct tlb_entry *find(const struct tlb *tlb, uint64_t key)
{
	size_t at = place(tlb, key);

	while (tlb->sticky && tlb->entries[at].key && tlb->entries[at].key != key)
		at = (at + 1) & (tlb->size - 1);
	return &tlb->entries[at];
}

static bool lookup_key(const struct tlb *tlb, uint64_t key, uint64_t *pte)
{
	const struct tlb_entry *entry = find(tlb, key);

	if (entry->key != key)
		return false;
	*pte = entry->pte;
	return true;
}

bool tlb_lookup(const struct tlb *tlb, uint16_t asid, uint64_t va, uint64_t *pte, bool *large)
{
	*large = false;
	if (lookup_key(tlb, make_key(asid, va, false), pte))
		return true;
	*large = true;
	return lookup_key(tlb, make_key(asid, va, true), pte);
}

bool tlb_lookup_table(const struct tlb *tlb, uint16_t asid, uint64_t va, uint64_t *pte)
{
	return tlb->sticky && lookup_key(tlb, make_table_key(asid, va), pte);
}

/*
 * Makes a table of @size with the entries of the old one. Returns false when memory is exhausted;
 * then nothing has changed.
 */
static bool resize(struct tlb *tlb, size_t size)
{
	struct tlb_entry *old = tlb->entries;
	size_t old_size = tlb->size;
	struct tlb_entry *entries = sim_calloc(&tlb->memory, size, sizeof(*entries));

	if (!entries)
		return false;
	tlb->entries = entries;
	tlb->size = size;
	for (size_t i = 0; i < old_size; i++)
		if (old[i].key)
			*find(tlb, old[i].key) = old[i];
	sim_free(&tlb->memory, old);
	return true;
}

static void insert_key(struct tlb *tlb, uint64_t key, uint64_t pte)
{
	struct tlb_entry *entry;

	if (tlb->sticky && tlb->used * 2 >= tlb->size &&
	    (tlb->size >= 2 * TLB_STICKY_MAX || !resize(tlb, tlb->size * 2)))
		tlb_flush(tlb);
	entry = find(tlb, key);
	tlb->used += !entry->key;
	entry->key = key;
	entry->pte = pte;
}

void tlb_insert(struct tlb *tlb, uint16_t asid, uint64_t va, uint64_t pte, bool large)
{
	insert_key(tlb, make_key(asid, va, large), pte);
}

void tlb_insert_table(struct tlb *tlb, uint16_t asid, uint64_t va, uint64_t pte)
{
	if (tlb->sticky)
		insert_key(tlb, make_table_key(asid, va), pte);
}

/*
 * Returns whether an invalidation concerns an entry. @all: it is for the whole address space, so
 * that pointers to tables are concerned, too.
 */
static bool concerned(const struct tlb_entry *entry, uint16_t asid, uint64_t first, uint64_t end,
		      bool all)
{
	unsigned int shift = entry->key & KEY_LARGE ? ONPU_LARGE_PAGE_SHIFT : ONPU_PAGE_SHIFT;
	uint64_t low = (entry->key & UINT32_MAX) << shift;
	uint64_t high = low + (UINT64_C(1) << shift);

	if (!entry->key || (uint16_t)(entry->key >> KEY_ASID_SHIFT) != asid)
		return false;
	return all || (!(entry->key & KEY_TABLE) && low < end && high > first);
}

/* After entries were removed, moves the others to where a search finds them. */
static void rehash(struct tlb *tlb)
{
	/* Without memory for a new table, drop all entries, which is always correct. */
	if (!resize(tlb, tlb->size))
		tlb_flush(tlb);
}

void tlb_invalidate(struct tlb *tlb, uint16_t asid, uint64_t va, uint32_t pages)
{
	uint64_t first = va & ~(ONPU_PAGE_SIZE - 1);
	uint64_t end = first + ((uint64_t)pages << ONPU_PAGE_SHIFT);
	size_t removed = 0;

	if (end < first)
		end = UINT64_MAX;
	for (size_t i = 0; i < tlb->size; i++) {
		if (concerned(&tlb->entries[i], asid, first, end, !pages)) {
			tlb->entries[i].key = 0;
			removed++;
		}
	}
	tlb->used -= removed;
	if (tlb->sticky && removed)
		rehash(tlb);
}
