/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Buffer objects.
 */
#ifndef ONPU_GEM_H
#define ONPU_GEM_H

#include <drm/drm_gem_shmem_helper.h>

#include "onpu_mmu.h"

/**
 * struct onpu_bo - A buffer object.
 */
struct onpu_bo {
	/** @base: The object of the GEM helpers. */
	struct drm_gem_shmem_object base;
	/** @flags: Combination of &enum drm_onpu_bo_flags. */
	u32 flags;
	/** @user: Who pays for it, with a reference; NULL: it is not counted anywhere yet. */
	struct onpu_user *user;
	/** @read_only: The CPU maps it for reading only: a completion page. */
	bool read_only;
	/** @link: In &onpu_device.bos while it is mapped for the device. */
	struct list_head link;
	/** @lock: Protects @uses. */
	struct mutex lock;
	/** @uses: One &struct onpu_bo_use for each client that has a handle. */
	struct list_head uses;
};

static inline struct onpu_bo *to_onpu_bo(struct drm_gem_object *obj)
{
	return container_of(to_drm_gem_shmem_obj(obj), struct onpu_bo, base);
}

/**
 * struct onpu_kernel_bo - Memory of the driver in the kernel's half of an address space.
 */
struct onpu_kernel_bo {
	/** @vm: The address space, which whoever has this refers to. */
	struct onpu_vm *vm;
	/** @bo: The memory. */
	struct onpu_bo *bo;
	/** @map: Where the device sees it. */
	struct onpu_map *map;
	/** @vaddr: Where the driver sees it; NULL if it does not. */
	void *vaddr;
};

int onpu_kernel_bo_create(struct onpu_kernel_bo *kbo, struct onpu_vm *vm, size_t size,
			  bool access);
void onpu_kernel_bo_destroy(struct onpu_kernel_bo *kbo);

#endif
