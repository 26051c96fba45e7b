/* SPDX-License-Identifier: MIT */
/*
 * The MMU: Sv39 page tables with the entries of registers.xml (enum onpu_pte), a TLB tagged with
 * address space identifiers, and copies between virtual memory and the device.
 */
#ifndef ONPU_DEVICE_MMU_H
#define ONPU_DEVICE_MMU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "onpu/registers.h"
#include "onpu_sim.h"

/* Host memory; the functions are described at struct onpu_host_ops. */
struct mmu_bus {
	void *ctx;
	int (*read)(void *ctx, uint64_t addr, void *dst, size_t len);
	int (*write)(void *ctx, uint64_t addr, const void *src, size_t len);
};

struct tlb_entry {
	uint64_t key; /* 0: empty */
	uint64_t pte;
};

struct tlb {
	struct onpu_sim_memory memory;
	struct tlb_entry *entries;
	size_t size; /* a power of two */
	size_t used;
	bool sticky;
};

struct mmu {
	struct mmu_bus bus;
	struct tlb tlb;
	uint64_t misses; /* number of translations that the page tables were read for */
};

/* An address space. */
struct mmu_space {
	uint64_t root;
	uint16_t asid;
	bool valid;
};

enum mmu_access {
	MMU_READ,
	MMU_WRITE,
};

/*
 * Initializes an MMU, which accesses host memory through @bus. @memory allocates the TLB, or the C
 * library if it is NULL; @sticky chooses the kind of TLB, see tlb.c. Returns false when memory is
 * exhausted.
 */
bool mmu_init(struct mmu *mmu, const struct onpu_sim_memory *memory, const struct mmu_bus *bus,
	      bool sticky);
void mmu_destroy(struct mmu *mmu);

/*
 * Translates one address; @privileged accesses reach pages without U. Returns 0 and the bus
 * address, or an enum onpu_fault.
 */
int mmu_translate(struct mmu *mmu, const struct mmu_space *space, uint64_t va,
		  enum mmu_access access, bool privileged, uint64_t *addr);

/*
 * Copy between virtual memory and the device. Return 0, or an enum onpu_fault after setting
 * *@fault_va to the address that failed.
 */
int mmu_read(struct mmu *mmu, const struct mmu_space *space, bool privileged, uint64_t va,
	     void *dst, size_t len, uint64_t *fault_va);
int mmu_write(struct mmu *mmu, const struct mmu_space *space, bool privileged, uint64_t va,
	      const void *src, size_t len, uint64_t *fault_va);

/* Access host memory. Return false for a bus error, or for an address beyond ONPU_BUS_BITS. */
bool mmu_bus_read(const struct mmu_bus *bus, uint64_t addr, void *dst, size_t len);
bool mmu_bus_write(const struct mmu_bus *bus, uint64_t addr, const void *src, size_t len);

/* tlb.c */
bool tlb_init(struct tlb *tlb, const struct onpu_sim_memory *memory, bool sticky);
void tlb_destroy(struct tlb *tlb);
/*
 * Finds the leaf for @va, and whether it is a 2 MiB one. Returns false if the TLB does not have it.
 */
bool tlb_lookup(const struct tlb *tlb, uint16_t asid, uint64_t va, uint64_t *pte, bool *large);
void tlb_insert(struct tlb *tlb, uint16_t asid, uint64_t va, uint64_t pte, bool large);
/*
 * Finds in *@pte the entry that points to the table of the last level for @va. Returns false if the
 * TLB does not have the entry; only a sticky TLB keeps such entries.
 */
bool tlb_lookup_table(const struct tlb *tlb, uint16_t asid, uint64_t va, uint64_t *pte);
void tlb_insert_table(struct tlb *tlb, uint16_t asid, uint64_t va, uint64_t pte);
void tlb_flush(struct tlb *tlb);
/* Drops the entries of @pages pages of an address space from @va on; 0 pages: all of it. */
void tlb_invalidate(struct tlb *tlb, uint16_t asid, uint64_t va, uint32_t pages);

#endif
