/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * In the place of the kernel's cache maintenance, which does nothing on the machines that run these
 * tests, of the moment at which a client sees a buffer, and of the signal that kills a process. The
 * functions are in test_gem.c.
 */
#ifndef ONPU_KUNIT_BEFORE_GEM_H
#define ONPU_KUNIT_BEFORE_GEM_H

#include <linux/dma-mapping.h>
#include <linux/sched/signal.h>
#include <linux/vmalloc.h>

#include <drm/drm_gem.h>

#define drm_gem_handle_create		seen_handle
#define fatal_signal_pending		seen_kill
/* Not a call of (vmap), which is the kernel's. */
#define vmap(...)			seen_vmap(__VA_ARGS__)
#define dma_sync_single_for_device	seen_for_device
#define dma_sync_single_for_cpu		seen_for_cpu
#define dma_sync_sgtable_for_device	seen_table_for_device
#define dma_sync_sgtable_for_cpu	seen_table_for_cpu

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
