// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Buffers over memory of a process. The pages of a shared mapping are pinned from the call until
 * the buffer is freed, which is after the device has forgotten them, whatever becomes of the
 * mapping and the process.
 *
 * Only shared mappings are taken: a pinned page of a private mapping can be a copy that the process
 * or its children no longer see.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/user.h>
#include <linux/slab.h>

#include <drm/drm_prime.h>
#include <drm/drm_print.h>

#include "onpu_core.h"
#include "onpu_gem.h"

/* Pages that are pinned at a time: other threads can change the process's mappings in between. */
#define PIN_AT_A_TIME	512

/* ---- RLIMIT_MEMLOCK, which counts the pinned pages of a user, as io_uring and iommufd do */

/* Pages of a buffer that are to be counted. */
struct lock_request {
	struct user_struct *user;
	unsigned long count, limit;
};

static int take_locked(struct onpu_user *user, void *data)
{
	const struct lock_request *request = data;
	long now = atomic_long_read(&request->user->locked_vm);

	do {
		if (now + request->count > request->limit)
			return -ENOSPC;
	} while (!atomic_long_try_cmpxchg(&request->user->locked_vm, &now, now + request->count));
	return 0;
}

static int lock_pages(struct onpu_bo *bo, unsigned long count)
{
	struct lock_request request = {
		.user = current_user(),
		.count = count,
		.limit = rlimit(RLIMIT_MEMLOCK) / PAGE_SIZE,
	};
	int ret = onpu_user_wait(bo->user, take_locked, &request);

	if (!ret)
		bo->locked_by = get_uid(request.user);
	return ret;
}

static void unlock_pages(struct onpu_bo *bo, unsigned long count)
{
	if (!bo->locked_by)
		return;
	atomic_long_sub(count, &bo->locked_by->locked_vm);
	free_uid(bo->locked_by);
}

/* ---- pages */

/* Returns whether no part of a range is mapped private; pinning finds parts that are not mapped. */
static bool is_shared(unsigned long start, unsigned long end)
{
	VMA_ITERATOR(range, current->mm, start);
	struct vm_area_struct *vma;

	for_each_vma_range(range, vma, end)
		if (!(vma->vm_flags & VM_MAYSHARE))
			return false;
	return true;
}

/* Pins up to @count pages at @start, after those in @bo->pages. Returns how many, or an errno. */
static long pin_some(struct onpu_bo *bo, unsigned long start, unsigned long count)
{
	unsigned int flags = FOLL_LONGTERM | (bo->flags & DRM_ONPU_BO_DEVICE_RO ? 0 : FOLL_WRITE);
	long ret;

	if (mmap_read_lock_killable(current->mm))
		return -EINTR;
	if (is_shared(start, start + count * PAGE_SIZE))
		ret = pin_user_pages(start, count, flags, bo->pages + bo->pinned);
	else
		ret = -EOPNOTSUPP;
	mmap_read_unlock(current->mm);
	return ret ?: -EFAULT;
}

/*
 * Pins the pages from address @start on as those of a buffer. Returns 0 or an errno; after an error
 * onpu_wrap_free() unpins and frees what there is.
 */
static int pin_pages_of(struct onpu_bo *bo, unsigned long start)
{
	unsigned long count = bo->base.base.size / PAGE_SIZE;
	int ret = capable(CAP_IPC_LOCK) ? 0 : lock_pages(bo, count);

	if (ret)
		return ret;
	bo->pages = kvcalloc(count, sizeof(*bo->pages), GFP_KERNEL_ACCOUNT);
	if (!bo->pages)
		return -ENOMEM;
	while (bo->pinned < count) {
		long got = pin_some(bo, start + bo->pinned * PAGE_SIZE,
				    min(count - bo->pinned, PIN_AT_A_TIME));

		if (got < 0)
			return got;
		bo->pinned += got;
	}
	return 0;
}

struct sg_table *onpu_wrap_map(struct onpu_bo *bo)
{
	struct drm_device *drm = bo->base.base.dev;
	struct sg_table *sgt = drm_prime_pages_to_sg(drm, bo->pages, bo->pinned);
	int ret;

	if (IS_ERR(sgt))
		return sgt;
	ret = dma_map_sgtable(drm->dev, sgt, onpu_bo_dir(bo), 0);
	if (ret) {
		sg_free_table(sgt);
		kfree(sgt);
		return ERR_PTR(ret);
	}
	bo->base.sgt = sgt;
	return sgt;
}

void onpu_wrap_free(struct onpu_bo *bo)
{
	unpin_user_pages_dirty_lock(bo->pages, bo->pinned, !(bo->flags & DRM_ONPU_BO_DEVICE_RO));
	kvfree(bo->pages);
	unlock_pages(bo, bo->base.base.size / PAGE_SIZE);
}

int onpu_bo_wrap_ioctl(struct drm_device *drm, void *data, struct drm_file *drm_file)
{
	struct drm_onpu_bo_wrap *args = data;
	u64 start = untagged_addr(args->address), end;
	struct onpu_bo *bo;
	int ret;

	if (!args->size || args->flags & ~DRM_ONPU_BO_DEVICE_RO || args->handle || args->va ||
	    !PAGE_ALIGNED(start) || check_add_overflow(start, args->size, &end))
		return -EINVAL;
	if (args->size > onpu_va_end(to_onpu(drm)))
		return -ENOSPC;
	/* Pinning finds pages of the kernel that programs can read, such as the vsyscall page. */
	if (!access_ok(u64_to_user_ptr(start), args->size))
		return -EFAULT;
	bo = onpu_bo_alloc(to_onpu_file(drm_file)->vm, PAGE_ALIGN(args->size));
	if (IS_ERR(bo))
		return PTR_ERR(bo);
	bo->flags = args->flags | DRM_ONPU_BO_WRAPPED;
	ret = pin_pages_of(bo, start);
	if (ret == -EOPNOTSUPP)
		drm_dbg(drm, "memory at %#llx is mapped private: only MAP_SHARED can be a buffer\n",
			start);
	if (!ret)
		ret = onpu_bo_publish(bo, drm_file, &args->handle, &args->va);
	if (!ret)
		args->size = bo->base.base.size;
	drm_gem_object_put(&bo->base.base);
	return ret;
}
