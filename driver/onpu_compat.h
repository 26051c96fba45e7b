/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Bridges differences between kernel versions, which Kbuild finds: it defines ONPU_HAVE_*. */
#ifndef ONPU_COMPAT_H
#define ONPU_COMPAT_H

#include <linux/device.h>

#include <drm/drm_device.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>

/* Old kernels warn about a driver without a date. */
#ifdef ONPU_HAVE_DRIVER_DATE
#define ONPU_DRIVER_DATE	.date = "20261101",
#else
#define ONPU_DRIVER_DATE
#endif

/* Old kernels take the buffers of all drivers from one mount of shmem, without large pages. */
#ifndef ONPU_HAVE_GEM_HUGE_MNT
static inline int drm_gem_huge_mnt_create(struct drm_device *dev, const char *value)
{
	return 0;
}

static inline struct vfsmount *drm_gem_get_huge_mnt(struct drm_device *dev)
{
	return NULL;
}
#endif

/*
 * Returns whether the device snoops the CPU's caches. Architectures without these options have no
 * other devices, and mark none; old kernels keep the mark as a bit of the device.
 */
static inline bool onpu_dev_snoops(const struct device *dev)
{
#if !defined(CONFIG_ARCH_HAS_SYNC_DMA_FOR_DEVICE) && \
	!defined(CONFIG_ARCH_HAS_SYNC_DMA_FOR_CPU) && \
	!defined(CONFIG_ARCH_HAS_SYNC_DMA_FOR_CPU_ALL)
	return true;
#else
#ifdef ONPU_HAVE_DEV_DMA_COHERENT
	return dev_dma_coherent(dev);
#else
	return dev->dma_coherent;
#endif
#endif
}

#endif
