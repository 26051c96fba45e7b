/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * In the place of the kernel's cache maintenance, which does nothing on the machines that run these
 * tests. The functions are in test_gem.c.
 */
#ifndef ONPU_KUNIT_BEFORE_GEM_H
#define ONPU_KUNIT_BEFORE_GEM_H

#include <linux/dma-mapping.h>

#define dma_sync_single_for_device	seen_for_device
#define dma_sync_single_for_cpu		seen_for_cpu

static void seen_for_device(struct device *dev, dma_addr_t addr, size_t size,
			    enum dma_data_direction dir);
static void seen_for_cpu(struct device *dev, dma_addr_t addr, size_t size,
			 enum dma_data_direction dir);

#endif
