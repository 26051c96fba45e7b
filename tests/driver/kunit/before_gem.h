/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Replaces functions of the kernel: syncs of the DMA API, which do nothing on the machines that run
 * these tests; functions by which the driver recognises copies in bounce buffers; the creation of a
 * handle, at which a client first sees a buffer; vmap(), which maps a buffer's pages for the
 * kernel; and the check for a signal that kills a process. The replacements are in test_gem.c.
 */
#ifndef ONPU_KUNIT_BEFORE_GEM_H
#define ONPU_KUNIT_BEFORE_GEM_H

#include <linux/dma-mapping.h>
#include <linux/sched/signal.h>
#include <linux/vmalloc.h>

#include <drm/drm_gem.h>

#define drm_gem_handle_create		seen_handle
#define fatal_signal_pending		seen_kill
/* Replaces calls only: (vmap), in parentheses, is still the kernel's function. */
#define vmap(...)			seen_vmap(__VA_ARGS__)
#define dma_max_mapping_size		seen_max_mapping
#define dma_need_sync			seen_need_sync
#define dma_sync_single_for_device	seen_for_device
#define dma_sync_single_for_cpu		seen_for_cpu
#define dma_sync_sgtable_for_device	seen_table_for_device
#define dma_sync_sgtable_for_cpu	seen_table_for_cpu

static size_t seen_max_mapping(struct device *dev);
static bool seen_need_sync(struct device *dev, dma_addr_t addr);
static void seen_for_device(struct device *dev, dma_addr_t addr, size_t size,
			    enum dma_data_direction dir);
static void seen_for_cpu(struct device *dev, dma_addr_t addr, size_t size,
			 enum dma_data_direction dir);
static void seen_table_for_device(struct device *dev, struct sg_table *sgt,
				  enum dma_data_direction dir);
static void seen_table_for_cpu(struct device *dev, struct sg_table *sgt,
			       enum dma_data_direction dir);
static void *seen_vmap(struct page **pages, unsigned int count, unsigned long flags,
		       pgprot_t prot);
static int seen_handle(struct drm_file *file, struct drm_gem_object *obj, u32 *handle);
static bool seen_kill(struct task_struct *task);

#endif
