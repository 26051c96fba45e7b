/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Address spaces of clients: addresses, page tables, invalidation of translations. */
#ifndef ONPU_MMU_H
#define ONPU_MMU_H

#include <linux/kref.h>
#include <linux/scatterlist.h>

#include <drm/drm_gem.h>
#include <drm/drm_mm.h>

#include "onpu_device.h"
#include "onpu_user.h"

/**
 * enum onpu_map_prot - Who may access a mapping, and how: the flags of its page table entries.
 */
enum onpu_map_prot {
	/** @ONPU_MAP_USER: Jobs read and write. */
	ONPU_MAP_USER = ONPU_PTE_U | ONPU_PTE_W | ONPU_PTE_D,
	/** @ONPU_MAP_USER_RO: Jobs read. */
	ONPU_MAP_USER_RO = ONPU_PTE_U,
	/** @ONPU_MAP_KERNEL: The command processor alone reads and writes; in the kernel's half. */
	ONPU_MAP_KERNEL = ONPU_PTE_W | ONPU_PTE_D,
};

struct onpu_table;

/**
 * struct onpu_map - The mapping of a buffer object into an address space.
 */
struct onpu_map {
	/** @vm: The address space, with a reference. */
	struct onpu_vm *vm;
	/** @obj: The object, with a reference from onpu_map_insert() on. */
	struct drm_gem_object *obj;
	/** @node: The range of addresses, one page longer than @size. */
	struct drm_mm_node node;
	/** @size: Bytes mapped; 0: the whole address space. */
	u64 size;
	/** @link: Link in one of the lists of invalidations. */
	struct list_head link;
	/** @free: Frees the mapping when the device has forgotten its translations. */
	struct work_struct free;
	/** @request: Number of the invalidation request for the mapping. */
	u32 request;
};

/**
 * struct onpu_vm - The address space of one client.
 *
 * The firmware knows an address space only while one of its contexts has a hardware queue.
 */
struct onpu_vm {
	/** @ref: Held by the file, by each context, and by each mapping until it is invalidated. */
	struct kref ref;
	/** @onpu: The device, with a reference to it. */
	struct onpu_device *onpu;
	/** @user: The user who opened the file, with a reference. */
	struct onpu_user *user;
	/** @link: Link in &onpu_mmu_device.vms; protected by &onpu_device.dma_lock. */
	struct list_head link;
	/** @asid: Number by which the device tells address spaces apart. */
	u32 asid;
	/** @lock: Protects @mm and the page tables. May be held around allocations. */
	struct mutex lock;
	/** @mm: Addresses in use. */
	struct drm_mm mm;
	/** @root: The top-level page table; NULL when the device is gone. */
	struct onpu_table *root;

	/** @slot: Entry of the device's VM table, or -1; owned by onpu_queue.c, under bind_lock. */
	int slot;
	/** @bound: Number of contexts with a hardware queue; under &onpu_ctx_device.bind_lock. */
	unsigned int bound;
	/** @num_ctxs: Number of contexts whose memory is not yet freed; see &onpu_user.freed. */
	atomic_t num_ctxs;
	/** @usage: The part of the busy time that its contexts had; owned by onpu_device.c. */
	struct {
		/** @usage.running: Number of contexts whose jobs the hardware has. */
		unsigned int running;
		/** @usage.since: &onpu_usage.share_ns up to which @usage.busy_ns counts. */
		u64 since;
		/** @usage.busy_ns: Nanoseconds, up to @usage.since. */
		u64 busy_ns;
	} usage;
	/** @cycles: Device cycles that all jobs took. */
	atomic64_t cycles;
	/** @ctx_memory: Bytes that all contexts take; owned by onpu_gem.c. */
	atomic64_t ctx_memory;
	/** @all: Invalidates the whole address space when it is freed. */
	struct onpu_map all;
};

static inline u64 onpu_map_va(const struct onpu_map *map)
{
	return map->node.start;
}

/* Queue for work that frees memory; it is drained before the module is unloaded. */
extern struct workqueue_struct *onpu_free_wq;

/* Creates an address space; it takes over @user's reference on success. Returns 0 or an errno. */
int onpu_vm_create(struct onpu_device *onpu, struct onpu_user *user, struct onpu_vm **vm);
struct onpu_vm *onpu_vm_get(struct onpu_vm *vm);
void onpu_vm_put(struct onpu_vm *vm);
dma_addr_t onpu_vm_root(const struct onpu_vm *vm);

/*
 * Counts a new context against the limits of the client and of the user, until its memory is freed.
 * Waits while contexts that were destroyed are still counted. Returns 0, -ENOSPC, or -ERESTARTSYS.
 */
int onpu_vm_add_ctx(struct onpu_vm *vm);
void onpu_vm_drop_ctx(struct onpu_vm *vm);

int onpu_map_insert(struct onpu_map *map, struct onpu_vm *vm, struct drm_gem_object *obj,
		    struct sg_table *sgt, enum onpu_map_prot prot);
void onpu_map_remove(struct onpu_map *map);

/*
 * Creates what all address spaces of the device share. Called once, before the firmware runs. The
 * effects of this function and of onpu_ctx_init() are undone when the last reference to the DRM
 * device is put, maybe long after the device was unplugged. Returns 0 or an errno.
 */
int onpu_mmu_init(struct onpu_device *onpu);
/* Called by the interrupt thread when INV_DONE has changed. */
void onpu_mmu_irq(struct onpu_device *onpu);
/* Called before a reset: no invalidation is requested until onpu_mmu_post_reset(). */
void onpu_mmu_pre_reset(struct onpu_device *onpu);
/*
 * Called when the device has forgotten all translations and makes no access: after each reset,
 * before onpu_ctx_post_reset(), at the end of the quarantine, and at unplug. Completes all
 * invalidations, unless &onpu_device.quarantine keeps the memory.
 */
void onpu_mmu_post_reset(struct onpu_device *onpu);
/*
 * Unmaps everything from the device, although files may be open. Called after drm_dev_unplug(),
 * when the device makes no access and no context has a queue.
 */
void onpu_mmu_unplug(struct onpu_device *onpu);

#endif
