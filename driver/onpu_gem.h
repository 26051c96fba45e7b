/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Buffer objects. */
#ifndef ONPU_GEM_H
#define ONPU_GEM_H

#include <drm/drm_gem_shmem_helper.h>
#include <drm/drm_ioctl.h>

#include "onpu_mmu.h"

/**
 * struct onpu_bo - A buffer object.
 */
struct onpu_bo {
	/** @base: The object of the GEM helpers. */
	struct drm_gem_shmem_object base;
	/** @flags: Combination of &enum drm_onpu_bo_flags. */
	u32 flags;
	/**
	 * @user: The user whom the buffer is charged to, with a reference; NULL: nobody yet. While
	 *	a buffer is imported, &onpu_file.import_lock protects this.
	 */
	struct onpu_user *user;
	/** @shared: The memory comes from onpu_shared.c, as that of a ring or completion page. */
	bool shared;
	/** @pages: Pages of memory with @shared or of a process; NULL: none, or not yet. */
	struct page **pages;
	/** @pinned: Number of @pages that are pinned: memory of a process. */
	unsigned long pinned;
	/** @locked_by: The user whose RLIMIT_MEMLOCK counts memory of a process, or NULL. */
	struct user_struct *locked_by;
	/** @link: Link in &onpu_device.bos while the buffer is mapped for the device. */
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

/* Returns the directions in which the memory is mapped for the device. */
static inline enum dma_data_direction onpu_bo_dir(const struct onpu_bo *bo)
{
	const u32 read_only = DRM_ONPU_BO_WRAPPED | DRM_ONPU_BO_DEVICE_RO;

	return (bo->flags & read_only) == read_only ? DMA_TO_DEVICE : DMA_BIDIRECTIONAL;
}

/**
 * struct onpu_kernel_bo - Memory of the driver in the kernel's half of an address space.
 */
struct onpu_kernel_bo {
	/** @vm: The address space; the owner of this structure holds a reference to it. */
	struct onpu_vm *vm;
	/** @bo: The memory. */
	struct onpu_bo *bo;
	/** @map: The mapping for the device. */
	struct onpu_map *map;
	/** @vaddr: The mapping for the driver; NULL if there is none. */
	void *vaddr;
};

int onpu_kernel_bo_create(struct onpu_kernel_bo *kbo, struct onpu_vm *vm, size_t size, bool shared);
void onpu_kernel_bo_destroy(struct onpu_kernel_bo *kbo);

int onpu_gem_read(struct drm_gem_object *obj, u64 offset, void *to, size_t size);

/* ---- onpu_shared.c */

struct sg_table *onpu_shared_alloc(struct onpu_bo *bo);
/* Gives the DMA API its references to an object's pages back, and frees their table. */
void onpu_shared_unmap(struct device *dev, struct sg_table *sgt);
/* Puts the object's own references to its pages; does nothing if @bo->pages is NULL. */
void onpu_shared_free(struct onpu_bo *bo);
/*
 * Returns the protection with which the CPU maps shared memory: @prot, or its write-combined form
 * if the device does not snoop the CPU's caches.
 */
pgprot_t onpu_shared_prot(const struct onpu_device *onpu, pgprot_t prot);
/* Maps an object for a program to read; returns 0, or -EACCES for a writable mapping. */
int onpu_shared_mmap(struct onpu_bo *bo, struct vm_area_struct *vma);

/* ---- onpu_wrap.c */

/* Maps pinned pages for the device; returns their table or an error pointer. */
struct sg_table *onpu_wrap_map(struct onpu_bo *bo);
/* Unpins the &onpu_bo.pinned pages, and no longer counts the buffer for RLIMIT_MEMLOCK. */
void onpu_wrap_free(struct onpu_bo *bo);
drm_ioctl_t onpu_bo_wrap_ioctl;

/* ---- onpu_gem.c */

struct onpu_bo *onpu_bo_alloc(struct onpu_vm *vm, u64 size);
int onpu_bo_publish(struct onpu_bo *bo, struct drm_file *drm_file, u32 *handle, u64 *va);

/* Unmaps all buffers from the device; must be called under the conditions of onpu_mmu_unplug(). */
void onpu_gem_unplug(struct onpu_device *onpu);

/* ---- functions of the DRM driver, and ioctls */
struct drm_gem_object *onpu_gem_create_object(struct drm_device *drm, size_t size);
struct drm_gem_object *onpu_gem_prime_import(struct drm_device *drm, struct dma_buf *buf);
int onpu_gem_prime_fd_to_handle(struct drm_device *drm, struct drm_file *drm_file, int fd,
				u32 *handle);
void onpu_gem_show_memory(struct drm_printer *p, struct onpu_file *file);
drm_ioctl_t onpu_bo_create_ioctl, onpu_bo_info_ioctl, onpu_bo_sync_ioctl;

#endif
