// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Memory that the CPU and the device access at the same time, without syncs: rings and completion
 * pages.
 *
 * A streaming mapping can be a copy in a bounce buffer, so this memory comes from
 * dma_alloc_pages(), which returns pages that the device reaches itself. Where the device does not
 * snoop the caches, the mappings of driver and programs are write-combined.
 *
 * Programs keep completion pages mapped after the driver was unbound, when no memory of the DMA API
 * may be left. The object therefore has a reference to each page besides the one of the DMA API.
 */
#include <linux/dma-mapping.h>
#include <linux/slab.h>

#include "onpu_core.h"
#include "onpu_gem.h"

void onpu_shared_unmap(struct device *dev, struct sg_table *sgt)
{
	struct scatterlist *sg;
	int i;

	for_each_sgtable_sg(sgt, sg, i)
		if (sg_page(sg))
			dma_free_pages(dev, PAGE_SIZE, sg_page(sg), sg_dma_address(sg),
				       DMA_BIDIRECTIONAL);
	sg_free_table(sgt);
	kfree(sgt);
}

void onpu_shared_free(struct onpu_bo *bo)
{
	for (unsigned int i = 0; bo->pages && i < bo->base.base.size / PAGE_SIZE; i++)
		if (bo->pages[i])
			put_page(bo->pages[i]);
	kfree(bo->pages);
}

/* Fills an object's pages and their table. Returns 0 or -ENOMEM. */
static int alloc_pages_of(struct onpu_bo *bo, struct sg_table *sgt)
{
	struct device *dev = bo->base.base.dev->dev;
	struct scatterlist *sg;
	int i;

	for_each_sgtable_sg(sgt, sg, i) {
		struct page *page = dma_alloc_pages(dev, PAGE_SIZE, &sg_dma_address(sg),
						    DMA_BIDIRECTIONAL, GFP_KERNEL_ACCOUNT);

		if (!page)
			return -ENOMEM;
		get_page(page);
		bo->pages[i] = page;
		sg_set_page(sg, page, PAGE_SIZE, 0);
		sg_dma_len(sg) = PAGE_SIZE;
		/* Write the zeroes back: no mapping is cached from here on. */
		dma_sync_single_for_device(dev, sg_dma_address(sg), PAGE_SIZE, DMA_BIDIRECTIONAL);
	}
	return 0;
}

/*
 * Allocates the memory of an object that has none yet; sets &onpu_bo.pages and the table of the GEM
 * helpers. Called within drm_dev_enter(). Returns the table, mapped for the device, or -ENOMEM as
 * an error pointer.
 */
struct sg_table *onpu_shared_alloc(struct onpu_bo *bo)
{
	unsigned int count = bo->base.base.size / PAGE_SIZE;
	struct sg_table *sgt = kzalloc(sizeof(*sgt), GFP_KERNEL_ACCOUNT);
	int ret;

	bo->pages = kcalloc(count, sizeof(*bo->pages), GFP_KERNEL_ACCOUNT);
	if (!sgt || !bo->pages || sg_alloc_table(sgt, count, GFP_KERNEL_ACCOUNT)) {
		kfree(sgt);
		return ERR_PTR(-ENOMEM);
	}
	ret = alloc_pages_of(bo, sgt);
	if (ret) {
		onpu_shared_unmap(bo->base.base.dev->dev, sgt);
		return ERR_PTR(ret);
	}
	bo->base.sgt = sgt;
	return sgt;
}

pgprot_t onpu_shared_prot(const struct onpu_device *onpu, pgprot_t prot)
{
	return onpu->snoops ? prot : pgprot_writecombine(prot);
}

/* ---- mappings of programs */

static vm_fault_t shared_fault(struct vm_fault *vmf)
{
	struct onpu_bo *bo = to_onpu_bo(vmf->vma->vm_private_data);

	/* DRM checks the size of a mapping, and no mapping grows. */
	vmf->page = bo->pages[vmf->pgoff - drm_vma_node_start(&bo->base.base.vma_node)];
	get_page(vmf->page);
	return 0;
}

static const struct vm_operations_struct shared_vm_ops = {
	.fault = shared_fault,
	.open = drm_gem_vm_open,
	.close = drm_gem_vm_close,
};

int onpu_shared_mmap(struct onpu_bo *bo, struct vm_area_struct *vma)
{
	if (vma->vm_flags & VM_WRITE)
		return -EACCES;
	vm_flags_mod(vma, VM_DONTEXPAND | VM_DONTDUMP, VM_MAYWRITE);
	vma->vm_page_prot = onpu_shared_prot(to_onpu(bo->base.base.dev),
					     vm_get_page_prot(vma->vm_flags));
	vma->vm_ops = &shared_vm_ops;
	return 0;
}
