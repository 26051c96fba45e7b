// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Buffer objects: their memory comes from shmem, the DMA API, a process or another device, and they
 * can have an address in each client that has a handle.
 */
#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include <drm/drm_prime.h>
#include <drm/drm_print.h>

#include "onpu_compat.h"
#include "onpu_core.h"
#include "onpu_gem.h"

#define CREATE_FLAGS	(DRM_ONPU_BO_WC | DRM_ONPU_BO_DEVICE_RO | DRM_ONPU_BO_NO_MMAP)
#define SYNC_FLAGS	(DRM_ONPU_BO_SYNC_FOR_DEVICE | DRM_ONPU_BO_SYNC_FOR_CPU)
/* Buffers that programs cannot map through the device's file. */
#define NO_OFFSET	(DRM_ONPU_BO_NO_MMAP | DRM_ONPU_BO_IMPORTED | DRM_ONPU_BO_WRAPPED)

/* A client's use of an object: the number of handles, and the address. */
struct onpu_bo_use {
	struct list_head link; /* link in &onpu_bo.uses */
	struct onpu_file *file;
	unsigned int handles;
	struct onpu_map *map; /* NULL if the object has no address yet */
};

/* ---- mapping for the device */

/* MODULE_IMPORT_NS() takes a name on old kernels and a string on new ones. */
MODULE_INFO(import_ns, "DMA_BUF");

static void bo_mapped(struct onpu_bo *bo)
{
	struct onpu_device *onpu = to_onpu(bo->base.base.dev);

	guard(mutex)(&onpu->dma_lock);
	list_add(&bo->link, &onpu->bos);
}

/*
 * Returns an object's memory, mapped for the device, or an error pointer; the first call allocates
 * and maps it. Called within drm_dev_enter().
 */
static struct sg_table *bo_memory(struct onpu_bo *bo)
{
	struct sg_table *sgt;

	if (bo->base.sgt)
		return bo->base.sgt;
	if (bo->shared)
		sgt = onpu_shared_alloc(bo);
	else if (bo->flags & DRM_ONPU_BO_WRAPPED)
		sgt = onpu_wrap_map(bo);
	else
		sgt = drm_gem_shmem_get_pages_sgt(&bo->base);
	/* The DMA API returns -EIO when no bounce buffer is left. */
	if (sgt == ERR_PTR(-EIO))
		return ERR_PTR(-ENOMEM);
	if (!IS_ERR(sgt))
		bo_mapped(bo);
	return sgt;
}

/* Detaches an imported object: until then the exporter may keep it mapped for the device. */
static void bo_detach(struct drm_gem_object *obj, struct sg_table *sgt)
{
	struct dma_buf_attachment *attach = obj->import_attach;
	struct dma_buf *buf = attach->dmabuf;

	obj->import_attach = NULL;
	obj->resv = &obj->_resv;
	dma_buf_unmap_attachment_unlocked(attach, sgt, DMA_BIDIRECTIONAL);
	dma_buf_detach(buf, attach);
	dma_buf_put(buf);
}

/*
 * Unmaps an object from the device. Afterwards the DRM helpers treat it as never mapped or
 * imported. @attrs: how the DMA API unmaps it.
 */
static void bo_unmap(struct onpu_bo *bo, unsigned long attrs)
{
	struct drm_gem_object *obj = &bo->base.base;
	struct sg_table *sgt = bo->base.sgt;

	lockdep_assert_held(&to_onpu(obj->dev)->dma_lock);
	list_del_init(&bo->link);
	bo->base.sgt = NULL;
	if (drm_gem_is_imported(obj)) {
		bo_detach(obj, sgt);
		return;
	}
	if (bo->shared) {
		onpu_shared_unmap(obj->dev->dev, sgt);
		return;
	}
	dma_unmap_sgtable(obj->dev->dev, sgt, onpu_bo_dir(bo), attrs);
	sg_free_table(sgt);
	kfree(sgt);
}

void onpu_gem_unplug(struct onpu_device *onpu)
{
	struct onpu_bo *bo, *next;

	/* A client may be exporting an imported object: this lock excludes that. */
	guard(mutex)(&onpu->drm.object_name_lock);
	guard(mutex)(&onpu->dma_lock);
	/* Give memory back to the CPU: no call can sync it from here on. */
	list_for_each_entry_safe(bo, next, &onpu->bos, link)
		bo_unmap(bo, 0);
}

/* ---- charging users for buffers */

/* Charges a buffer to a user until it is freed, whoever has handles; returns 0 or an errno. */
static int bo_charge(struct onpu_bo *bo, struct onpu_user *user)
{
	struct drm_gem_object *obj = &bo->base.base;
	int ret = onpu_user_charge_wait(user, obj->size);

	if (ret)
		return ret;
	bo->user = onpu_user_get(user);
	atomic64_add(obj->size, &to_onpu(obj->dev)->usage.memory);
	return 0;
}

/* ---- caches that the device does not snoop, and bounce buffers */

static void sync_chunk(struct device *dev, dma_addr_t addr, size_t size, u32 flags,
		       enum dma_data_direction dir)
{
	if (flags & DRM_ONPU_BO_SYNC_FOR_DEVICE)
		dma_sync_single_for_device(dev, addr, size, dir);
	if (flags & DRM_ONPU_BO_SYNC_FOR_CPU)
		dma_sync_single_for_cpu(dev, addr, size, dir);
}

/* Syncs a range of a mapped buffer page by page; returns 0, or -EINTR if the process is killed. */
static int sync_range(struct device *dev, struct sg_table *sgt, u64 offset, u64 size, u32 flags,
		      enum dma_data_direction dir)
{
	struct scatterlist *sg;
	u64 at = 0, end = 0, step;
	int i;

	for_each_sgtable_dma_sg(sgt, sg, i) {
		end += sg_dma_len(sg);
		/* Sync one page a call: an IOMMU merges scattered pages into one entry. */
		for (; size && offset < end; offset += step, size -= step) {
			step = min3(size, end - offset, PAGE_SIZE - offset_in_page(offset));
			if (fatal_signal_pending(current))
				return -EINTR;
			sync_chunk(dev, sg_dma_address(sg) + (offset - at), step, flags, dir);
			cond_resched();
		}
		at = end;
	}
	return 0;
}

static int bo_sync(struct onpu_bo *bo, u64 offset, u64 size, u32 flags)
{
	struct drm_device *drm = bo->base.base.dev;

	if (onpu_coherent(to_onpu(drm)))
		return 0;
	/* The table exists as long as the handle and the device. */
	CLASS(onpu_entered, entered)(drm);
	if (entered < 0)
		return entered;
	return sync_range(drm->dev, bo->base.sgt, offset, size, flags, onpu_bo_dir(bo));
}

/* ---- dma-bufs that other devices import */

/*
 * Returns whether some memory of a mapped dma-buf is a copy in bounce buffers. Nothing tells which
 * of several copies is up to date, so neither import nor export allows a copy.
 */
static bool is_copied(struct device *dev, struct sg_table *sgt)
{
	struct scatterlist *sg;
	int i;

	for_each_sgtable_dma_sg(sgt, sg, i)
		if (dma_max_mapping_size(dev) < SIZE_MAX && dma_need_sync(dev, sg_dma_address(sg)))
			return true;
	return false;
}

/* A device that a dma-buf is attached to. */
struct onpu_attachment {
	struct sg_table *sgt; /* the mapping, or NULL; &dma_buf.resv protects it and @dir */
	enum dma_data_direction dir;
};

static int export_attach(struct dma_buf *buf, struct dma_buf_attachment *attach)
{
	struct onpu_attachment *mapped __free(kfree) = kzalloc(sizeof(*mapped), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!mapped)
		return -ENOMEM;
	ret = drm_gem_map_attach(buf, attach);
	if (!ret)
		attach->priv = no_free_ptr(mapped);
	return ret;
}

static void export_detach(struct dma_buf *buf, struct dma_buf_attachment *attach)
{
	drm_gem_map_detach(buf, attach);
	kfree(attach->priv);
}

/* Returns whether this device accesses a copy of the object's memory. */
static bool has_copy(struct drm_gem_object *obj)
{
	/* The table exists as long as the device; an unplugged one has no copy any more. */
	CLASS(onpu_entered, entered)(obj->dev);
	return entered >= 0 && is_copied(obj->dev->dev, to_onpu_bo(obj)->base.sgt);
}

static struct sg_table *export_map(struct dma_buf_attachment *attach, enum dma_data_direction dir)
{
	struct sg_table *sgt = drm_gem_map_dma_buf(attach, dir);

	if (IS_ERR(sgt))
		return sgt;
	if (is_copied(attach->dev, sgt) || has_copy(attach->dmabuf->priv)) {
		drm_gem_unmap_dma_buf(attach, sgt, dir);
		return ERR_PTR(-EOPNOTSUPP);
	}
	*(struct onpu_attachment *)attach->priv = (struct onpu_attachment) { sgt, dir };
	return sgt;
}

static void export_unmap(struct dma_buf_attachment *attach, struct sg_table *sgt,
			 enum dma_data_direction dir)
{
	struct onpu_attachment *mapped = attach->priv;

	if (mapped->sgt == sgt)
		mapped->sgt = NULL;
	drm_gem_unmap_dma_buf(attach, sgt, dir);
}

/*
 * Syncs an exported buffer from the CPU to the devices or back, as @flags tell: for this device, if
 * it is not gone, and for all devices that have mapped the dma-buf. Returns 0 or an errno.
 */
static int export_sync(struct dma_buf *buf, u32 flags)
{
	struct drm_gem_object *obj = buf->priv;
	struct dma_buf_attachment *attach;
	int ret = bo_sync(to_onpu_bo(obj), 0, obj->size, flags);

	/* Once this device is gone, the other devices still have the memory. */
	if (ret && ret != -ENODEV)
		return ret;
	ret = dma_resv_lock_interruptible(buf->resv, NULL);
	if (ret)
		return ret;
	list_for_each_entry(attach, &buf->attachments, node) {
		const struct onpu_attachment *mapped = attach->priv;

		if (mapped->sgt && flags & DRM_ONPU_BO_SYNC_FOR_DEVICE)
			dma_sync_sgtable_for_device(attach->dev, mapped->sgt, mapped->dir);
		else if (mapped->sgt)
			dma_sync_sgtable_for_cpu(attach->dev, mapped->sgt, mapped->dir);
	}
	dma_resv_unlock(buf->resv);
	return 0;
}

static int export_begin_cpu_access(struct dma_buf *buf, enum dma_data_direction dir)
{
	return export_sync(buf, DRM_ONPU_BO_SYNC_FOR_CPU);
}

static int export_end_cpu_access(struct dma_buf *buf, enum dma_data_direction dir)
{
	return export_sync(buf, DRM_ONPU_BO_SYNC_FOR_DEVICE);
}

/* DRM's own operations sync nothing: they assume that each device snoops the caches. */
static const struct dma_buf_ops export_ops = {
	.attach = export_attach,
	.detach = export_detach,
	.map_dma_buf = export_map,
	.unmap_dma_buf = export_unmap,
	.release = drm_gem_dmabuf_release,
	.begin_cpu_access = export_begin_cpu_access,
	.end_cpu_access = export_end_cpu_access,
	.mmap = drm_gem_dmabuf_mmap,
	.vmap = drm_gem_dmabuf_vmap,
	.vunmap = drm_gem_dmabuf_vunmap,
};

static struct dma_buf *bo_export(struct drm_gem_object *obj, int flags)
{
	struct dma_buf_export_info info = {
		.exp_name = KBUILD_MODNAME,
		.owner = THIS_MODULE,
		.ops = &export_ops,
		.size = obj->size,
		.flags = flags,
		.resv = obj->resv,
		.priv = obj,
	};

	/* The pages belong to a mapping of the process, which can make a dma-buf by udmabuf. */
	if (to_onpu_bo(obj)->flags & DRM_ONPU_BO_WRAPPED)
		return ERR_PTR(-EOPNOTSUPP);
	return drm_gem_dmabuf_export(obj->dev, &info);
}

/* ---- the object's functions */

static struct onpu_bo_use *find_use(struct onpu_bo *bo, struct onpu_file *file)
{
	struct onpu_bo_use *use;

	lockdep_assert_held(&bo->lock);
	list_for_each_entry(use, &bo->uses, link)
		if (use->file == file)
			return use;
	return NULL;
}

static int bo_open(struct drm_gem_object *obj, struct drm_file *drm_file)
{
	struct onpu_file *file = to_onpu_file(drm_file);
	struct onpu_bo *bo = to_onpu_bo(obj);
	struct onpu_bo_use *use;

	guard(mutex)(&bo->lock);
	use = find_use(bo, file);
	if (!use) {
		use = kzalloc(sizeof(*use), GFP_KERNEL_ACCOUNT);
		if (!use)
			return -ENOMEM;
		atomic64_add(obj->size, &file->memory);
		use->file = file;
		list_add(&use->link, &bo->uses);
	}
	use->handles++;
	return 0;
}

static void bo_close(struct drm_gem_object *obj, struct drm_file *drm_file)
{
	struct onpu_file *file = to_onpu_file(drm_file);
	struct onpu_bo *bo = to_onpu_bo(obj);
	struct onpu_bo_use *use;

	scoped_guard(mutex, &bo->lock) {
		use = find_use(bo, file);
		if (WARN_ON(!use) || --use->handles)
			return;
		list_del(&use->link);
	}
	if (use->map) {
		/* Let a pending dump read the program that faulted, even if its owner exits. */
		onpu_dump_flush(to_onpu(obj->dev));
		onpu_map_remove(use->map);
	}
	atomic64_sub(obj->size, &file->memory);
	kfree(use);
}

static void bo_free(struct drm_gem_object *obj)
{
	struct onpu_device *onpu = to_onpu(obj->dev);
	struct onpu_bo *bo = to_onpu_bo(obj);
	struct onpu_user *user = bo->user;
	u64 size = obj->size;

	WARN_ON(!list_empty(&bo->uses));
	scoped_guard(mutex, &onpu->dma_lock)
		if (!list_empty(&bo->link))
			/* Nobody needs a sync here, and it would undo what the CPU wrote. */
			bo_unmap(bo, DMA_ATTR_SKIP_CPU_SYNC);
	mutex_destroy(&bo->lock);
	if (bo->flags & DRM_ONPU_BO_WRAPPED)
		onpu_wrap_free(bo);
	else
		onpu_shared_free(bo);
	drm_gem_shmem_free(&bo->base);
	if (!user)
		return;
	atomic64_sub(size, &onpu->usage.memory);
	onpu_user_uncharge(user, size);
	onpu_user_put(user);
}

static int bo_mmap(struct drm_gem_object *obj, struct vm_area_struct *vma)
{
	struct onpu_bo *bo = to_onpu_bo(obj);

	if (bo->flags & NO_OFFSET)
		return -EINVAL;
	return bo->shared ? onpu_shared_mmap(bo, vma) : drm_gem_shmem_mmap(&bo->base, vma);
}

static const struct drm_gem_object_funcs bo_funcs = {
	.free = bo_free,
	.open = bo_open,
	.close = bo_close,
	.export = bo_export,
	.print_info = drm_gem_shmem_object_print_info,
	.pin = drm_gem_shmem_object_pin,
	.unpin = drm_gem_shmem_object_unpin,
	.get_sg_table = drm_gem_shmem_object_get_sg_table,
	.vmap = drm_gem_shmem_object_vmap,
	.vunmap = drm_gem_shmem_object_vunmap,
	.mmap = bo_mmap,
	.vm_ops = &drm_gem_shmem_vm_ops,
};

struct drm_gem_object *onpu_gem_create_object(struct drm_device *drm, size_t size)
{
	struct onpu_bo *bo = kzalloc(sizeof(*bo), GFP_KERNEL_ACCOUNT);

	if (!bo)
		return ERR_PTR(-ENOMEM);
	bo->base.base.funcs = &bo_funcs;
	INIT_LIST_HEAD(&bo->link);
	mutex_init(&bo->lock);
	INIT_LIST_HEAD(&bo->uses);
	return &bo->base.base;
}

struct drm_gem_object *onpu_gem_prime_import(struct drm_device *drm, struct dma_buf *buf)
{
	struct drm_gem_object *obj = buf->priv;

	CLASS(onpu_entered, entered)(drm);
	if (entered < 0)
		return ERR_PTR(entered);
	/* A buffer of this device is imported as the object that it is. */
	if (buf->ops == &export_ops && obj->dev == drm) {
		drm_gem_object_get(obj);
		return obj;
	}
	obj = drm_gem_prime_import(drm, buf);
	if (IS_ERR(obj))
		return obj;
	if (is_copied(drm->dev, to_onpu_bo(obj)->base.sgt)) {
		drm_gem_object_put(obj);
		return ERR_PTR(-EOPNOTSUPP);
	}
	to_onpu_bo(obj)->flags = DRM_ONPU_BO_IMPORTED;
	bo_mapped(to_onpu_bo(obj));
	return obj;
}

/*
 * Charges an imported buffer to the client's user, unless it is charged already. Returns 0 or an
 * errno; 0 as well when another thread has closed the handle, as there is nothing to charge.
 */
static int charge_import(struct drm_file *drm_file, u32 handle)
{
	struct drm_gem_object *obj = drm_gem_object_lookup(drm_file, handle);
	int ret = 0;

	if (!obj)
		return 0;
	if (!to_onpu_bo(obj)->user)
		ret = bo_charge(to_onpu_bo(obj), to_onpu_file(drm_file)->vm->user);
	drm_gem_object_put(obj);
	return ret;
}

/*
 * Imports a dma-buf; sets *@handle and returns 0, or returns an errno. The DRM core creates the
 * handle under a lock that closing a handle takes, too. Charging may wait for buffers that are
 * being closed, so the user is charged after the core returns.
 */
int onpu_gem_prime_fd_to_handle(struct drm_device *drm, struct drm_file *drm_file, int fd,
				u32 *handle)
{
	struct onpu_file *file = to_onpu_file(drm_file);
	int ret = mutex_lock_interruptible(&file->import_lock);

	if (ret)
		return ret;
	ret = drm_gem_prime_fd_to_handle(drm, drm_file, fd, handle);
	if (!ret) {
		ret = charge_import(drm_file, *handle);
		if (ret)
			drm_gem_handle_delete(drm_file, *handle);
	}
	mutex_unlock(&file->import_lock);
	return ret;
}

/*
 * Copies bytes from a buffer that is mapped in some address space; for that, the CPU maps only the
 * pages that hold the bytes. Returns 0, -ENOMEM, or -EOPNOTSUPP for a buffer of another driver,
 * which could only be mapped whole and under locks of that driver.
 */
int onpu_gem_read(struct drm_gem_object *obj, u64 offset, void *to, size_t size)
{
	struct onpu_bo *bo = to_onpu_bo(obj);
	pgoff_t first = offset / PAGE_SIZE, end = (offset + size - 1) / PAGE_SIZE + 1;
	void *memory;

	if (drm_gem_is_imported(obj))
		return -EOPNOTSUPP;
	/* Pages exist as long as the object. */
	memory = vmap((bo->pages ?: bo->base.pages) + first, end - first, VM_MAP,
		      bo->base.map_wc ? pgprot_writecombine(PAGE_KERNEL) : PAGE_KERNEL);
	if (!memory)
		return -ENOMEM;
	memcpy(to, memory + offset_in_page(offset), size);
	vunmap(memory);
	return 0;
}

/* Prints what drm_show_memory_stats() does, plus the memory of contexts, which has no handles. */
void onpu_gem_show_memory(struct drm_printer *p, struct onpu_file *file)
{
	u64 contexts = atomic64_read(&file->vm->ctx_memory);
	struct drm_memory_stats stats = { .private = contexts, .resident = contexts };
	struct drm_gem_object *obj;
	int id;

	spin_lock(&file->drm->table_lock);
	idr_for_each_entry(&file->drm->object_idr, obj, id) {
		if (drm_gem_object_is_shared_for_memory_stats(obj))
			stats.shared += obj->size;
		else
			stats.private += obj->size;
		/* All memory of a buffer is resident while it has a handle. */
		stats.resident += obj->size;
	}
	spin_unlock(&file->drm->table_lock);
	drm_print_memory_stats(p, &stats, DRM_GEM_OBJECT_RESIDENT, "memory");
}

/* ---- addresses */

static int map_new(struct onpu_map **out, struct onpu_vm *vm, struct onpu_bo *bo,
		   enum onpu_map_prot prot)
{
	struct onpu_map *map __free(kfree) = kzalloc(sizeof(*map), GFP_KERNEL_ACCOUNT);
	struct sg_table *sgt;
	int ret;

	CLASS(onpu_entered, entered)(&vm->onpu->drm);
	if (entered < 0)
		return entered;
	sgt = bo_memory(bo);
	if (IS_ERR(sgt))
		return PTR_ERR(sgt);
	if (!map)
		return -ENOMEM;
	ret = onpu_map_insert(map, vm, &bo->base.base, sgt, prot);
	if (!ret)
		*out = no_free_ptr(map);
	return ret;
}

/* Sets *@va to the object's address in the client, mapped if need be; returns 0 or an errno. */
static int bo_address(struct onpu_bo *bo, struct onpu_file *file, u64 *va)
{
	struct onpu_bo_use *use;
	int ret = 0;

	guard(mutex)(&bo->lock);
	use = find_use(bo, file);
	if (!use)
		return -ENOENT;	/* another thread was quick to close the handle */
	if (!use->map)
		ret = map_new(&use->map, file->vm, bo, bo->flags & DRM_ONPU_BO_DEVICE_RO ?
			      ONPU_MAP_USER_RO : ONPU_MAP_USER);
	if (!ret)
		*va = onpu_map_va(use->map);
	return ret;
}

/* ---- ioctls */

/*
 * Returns a buffer that is charged, but has no pages yet, or an error pointer. Each error of shmem
 * becomes -ENOMEM: even its ENOSPC is a lack of memory.
 */
struct onpu_bo *onpu_bo_alloc(struct onpu_vm *vm, u64 size)
{
	struct drm_gem_shmem_object *shmem = drm_gem_shmem_create(&vm->onpu->drm, size);
	struct onpu_bo *bo;
	int ret;

	if (IS_ERR(shmem))
		return ERR_PTR(-ENOMEM);
	bo = container_of(shmem, struct onpu_bo, base);
	ret = bo_charge(bo, vm->user);
	if (!ret)
		return bo;
	drm_gem_object_put(&shmem->base);
	return ERR_PTR(ret);
}

/*
 * Makes sure that a buffer has memory and that it is mapped for the device, and then gives the
 * buffer a handle and an address in the client's address space. The handle comes after the memory,
 * because a client could guess it and use the buffer at once. Returns 0 or an errno. *@handle and
 * *@va change only on success: DRM copies an ioctl's arguments back in any case.
 */
int onpu_bo_publish(struct onpu_bo *bo, struct drm_file *drm_file, u32 *handle, u64 *va)
{
	int ret;
	u32 new;

	CLASS(onpu_entered, entered)(bo->base.base.dev);
	if (entered < 0)
		return entered;
	ret = PTR_ERR_OR_ZERO(bo_memory(bo));
	if (!ret)
		ret = drm_gem_handle_create(drm_file, &bo->base.base, &new);
	if (ret)
		return ret;
	ret = bo_address(bo, to_onpu_file(drm_file), va);
	if (!ret)
		*handle = new;
	else if (ret != -ENOENT)
		drm_gem_handle_delete(drm_file, new);
	return ret;
}

int onpu_bo_create_ioctl(struct drm_device *drm, void *data, struct drm_file *drm_file)
{
	struct onpu_device *onpu = to_onpu(drm);
	struct drm_onpu_bo_create *args = data;
	struct onpu_bo *bo;
	int ret;

	if (!args->size || args->flags & ~CREATE_FLAGS || args->handle || args->va)
		return -EINVAL;
	if (args->flags & DRM_ONPU_BO_NO_MMAP && args->flags & DRM_ONPU_BO_WC)
		return -EINVAL;
	if (args->size > onpu_va_end(onpu))
		return -ENOSPC;
	bo = onpu_bo_alloc(to_onpu_file(drm_file)->vm, PAGE_ALIGN(args->size));
	if (IS_ERR(bo))
		return PTR_ERR(bo);
	bo->flags = args->flags;
	/*
	 * A device that snoops the caches gains nothing from write-combining. Its pages are not
	 * cleaned either, so a write-combining mapping could show their old contents: shmem clears
	 * pages through a cached mapping. The kernel also copies to bounce buffers through one.
	 */
	bo->base.map_wc = args->flags & DRM_ONPU_BO_WC && !onpu->snoops && !onpu->bounces;
	ret = onpu_bo_publish(bo, drm_file, &args->handle, &args->va);
	if (!ret)
		args->size = bo->base.base.size;
	drm_gem_object_put(&bo->base.base);
	return ret;
}

int onpu_bo_info_ioctl(struct drm_device *drm, void *data, struct drm_file *drm_file)
{
	struct drm_onpu_bo_info *args = data;
	struct drm_gem_object *obj;
	struct onpu_bo *bo;
	int ret;

	if (args->flags || args->size || args->mmap_offset || args->va)
		return -EINVAL;
	obj = drm_gem_object_lookup(drm_file, args->handle);
	if (!obj)
		return -ENOENT;
	bo = to_onpu_bo(obj);
	ret = bo_address(bo, to_onpu_file(drm_file), &args->va);
	if (!ret) {
		args->flags = bo->flags;
		args->size = obj->size;
		if (!(bo->flags & NO_OFFSET))
			args->mmap_offset = drm_vma_node_offset_addr(&obj->vma_node);
	}
	drm_gem_object_put(obj);
	return ret;
}

int onpu_bo_sync_ioctl(struct drm_device *drm, void *data, struct drm_file *drm_file)
{
	struct drm_onpu_bo_sync *args = data;
	struct drm_gem_object *obj;
	struct onpu_bo *bo;
	u64 end;
	int ret;

	if (!args->flags || args->flags & ~SYNC_FLAGS || !args->size ||
	    check_add_overflow(args->offset, args->size, &end))
		return -EINVAL;
	obj = drm_gem_object_lookup(drm_file, args->handle);
	if (!obj)
		return -ENOENT;
	bo = to_onpu_bo(obj);
	if (end > obj->size || bo->flags & DRM_ONPU_BO_IMPORTED)
		ret = -EINVAL;
	else
		ret = bo_sync(bo, args->offset, args->size, args->flags);
	drm_gem_object_put(obj);
	return ret;
}

/* ---- memory that the driver allocates for itself */

/*
 * Allocates memory for the command processor; *@kbo is zero after an error. With @shared the driver
 * accesses the memory, too, through &onpu_kernel_bo.vaddr, without syncs. Returns 0 or an errno,
 * such as -ENOSPC beyond the user's limit or -ENOMEM.
 */
int onpu_kernel_bo_create(struct onpu_kernel_bo *kbo, struct onpu_vm *vm, size_t size, bool shared)
{
	struct onpu_bo *bo = onpu_bo_alloc(vm, PAGE_ALIGN(size));
	int ret;

	memset(kbo, 0, sizeof(*kbo));
	if (IS_ERR(bo))
		return PTR_ERR(bo);
	/* Else it could be a copy in bounce buffers, which nobody syncs and which are scarce. */
	bo->shared = shared || vm->onpu->bounces;
	kbo->vm = vm;
	kbo->bo = bo;
	atomic64_add(bo->base.base.size, &vm->ctx_memory);
	ret = map_new(&kbo->map, vm, bo, ONPU_MAP_KERNEL);
	if (!ret && shared) {
		kbo->vaddr = vmap(bo->pages, bo->base.base.size / PAGE_SIZE, VM_MAP,
				  onpu_shared_prot(vm->onpu, PAGE_KERNEL));
		ret = kbo->vaddr ? 0 : -ENOMEM;
	}
	if (ret)
		onpu_kernel_bo_destroy(kbo);
	return ret;
}

void onpu_kernel_bo_destroy(struct onpu_kernel_bo *kbo)
{
	vunmap(kbo->vaddr);
	if (kbo->map)
		onpu_map_remove(kbo->map);
	if (kbo->bo) {
		atomic64_sub(kbo->bo->base.base.size, &kbo->vm->ctx_memory);
		drm_gem_object_put(&kbo->bo->base.base);
	}
	memset(kbo, 0, sizeof(*kbo));
}
