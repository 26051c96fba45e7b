/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Address spaces of clients: addresses, page tables, invalidation of translations.
 */
#ifndef ONPU_MMU_H
#define ONPU_MMU_H

#include <linux/kref.h>
#include <linux/scatterlist.h>

#include <drm/drm_gem.h>
#include <drm/drm_mm.h>

#include "onpu_device.h"
#include "onpu_user.h"

/**
 * enum onpu_map_prot - Who may use a mapping, and how: the flags of its entries in page tables.
 */
enum onpu_map_prot {
	/** @ONPU_MAP_USER: Jobs read and write. */
	ONPU_MAP_USER = ONPU_PTE_U | ONPU_PTE_W | ONPU_PTE_D,
	/** @ONPU_MAP_USER_RO: Jobs read. */
	ONPU_MAP_USER_RO = ONPU_PTE_U,
	/** @ONPU_MAP_KERNEL: The command processor alone, in the kernel's half. */
	ONPU_MAP_KERNEL = ONPU_PTE_W | ONPU_PTE_D,
};

struct onpu_table;

/**
 * struct onpu_map - A buffer object's place in an address space.
 */
struct onpu_map {
	/** @vm: The address space, with a reference. */
	struct onpu_vm *vm;
	/** @obj: The object, with a reference from onpu_map_insert() on. */
	struct drm_gem_object *obj;
	/** @node: Addresses, one page more than @size. */
	struct drm_mm_node node;
	/** @size: Bytes mapped; 0: the whole address space. */
	u64 size;
	/** @link: In one of the lists of the invalidations. */
	struct list_head link;
	/** @free: Frees the mapping when the device has forgotten it. */
	struct work_struct free;
	/** @request: Number of the request that invalidates it. */
	u32 request;
};

/**
 * struct onpu_vm - The address space of one client.
 *
 * The firmware knows it only while a context of it has a hardware queue.
 */
struct onpu_vm {
	/** @ref: Held by the file, by each context, and by each mapping until it is invalidated. */
	struct kref ref;
	/** @onpu: The device, with a reference to it. */
	struct onpu_device *onpu;
	/** @user: Who opened the file, with a reference. */
	struct onpu_user *user;
	/** @link: In the device's list; protected by &onpu_device.dma_lock. */
	struct list_head link;
	/** @asid: Number by which the device tells address spaces apart. */
	u32 asid;
	/** @lock: Protects @mm and the page tables. May be held around allocations. */
	struct mutex lock;
	/** @mm: Addresses in use. */
	struct drm_mm mm;
	/** @root: Page table; NULL when the device is gone. */
	struct onpu_table *root;

	/** @slot: Entry of the device's VM table, or -1. The contexts own it and the next four. */
	int slot;
	/** @bound: Contexts with a hardware queue. */
	unsigned int bound;
	/** @num_ctxs: Contexts whose memory is not yet freed; see &onpu_user.freed. */
	atomic_t num_ctxs;
	/** @busy_ns: Host time of all jobs. */
	atomic64_t busy_ns;
	/** @cycles: Device cycles of all jobs. */
	atomic64_t cycles;
	/** @ctx_memory: Bytes that all contexts take; of onpu_gem.c. */
	atomic64_t ctx_memory;
	/** @all: Has the device forget everything in the end. */
	struct onpu_map all;
};

static inline u64 onpu_map_va(const struct onpu_map *map)
{
	return map->node.start;
}

/* For work that frees memory; it is done before the module is unloaded. */
extern struct workqueue_struct *onpu_free_wq;

/* Belongs to @user, whose reference is taken over on success. */
int onpu_vm_create(struct onpu_device *onpu, struct onpu_user *user, struct onpu_vm **vm);
struct onpu_vm *onpu_vm_get(struct onpu_vm *vm);
void onpu_vm_put(struct onpu_vm *vm);
dma_addr_t onpu_vm_root(const struct onpu_vm *vm);

/*
 * A place among the contexts of the client and of the user, until its memory is freed. Waits for
 * the places of contexts that were destroyed. Returns 0, -ENOSPC, or -ERESTARTSYS.
 */
int onpu_vm_add_ctx(struct onpu_vm *vm);
void onpu_vm_drop_ctx(struct onpu_vm *vm);

int onpu_map_insert(struct onpu_map *map, struct onpu_vm *vm, struct drm_gem_object *obj,
		    struct sg_table *sgt, enum onpu_map_prot prot);
void onpu_map_remove(struct onpu_map *map);

/*
 * Called once, before the firmware runs; its undoing, as that of onpu_ctx_init(), waits for the
 * last reference to the DRM device, maybe long after the device was unplugged.
 */
int onpu_mmu_init(struct onpu_device *onpu);
/* INV_DONE has changed; threaded interrupt. */
void onpu_mmu_irq(struct onpu_device *onpu);
/* Before a reset: no invalidation is requested until onpu_mmu_post_reset(). */
void onpu_mmu_pre_reset(struct onpu_device *onpu);
/*
 * The device has forgotten all translations and makes no access: everything that waits for
 * INV_DONE is done, unless &onpu_device.quarantine keeps it. After each reset, before
 * onpu_ctx_post_reset(), at the end of the quarantine, and at unplug.
 */
void onpu_mmu_post_reset(struct onpu_device *onpu);
/*
 * After drm_dev_unplug(), when the device makes no access and no context has a queue: nothing is
 * mapped for it any more, whatever files are open.
 */
void onpu_mmu_unplug(struct onpu_device *onpu);

#endif
