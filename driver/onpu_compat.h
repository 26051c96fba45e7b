/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Bridges differences between kernel versions, which Kbuild finds: it defines ONPU_HAVE_*. */
#ifndef ONPU_COMPAT_H
#define ONPU_COMPAT_H

#include <linux/device.h>

#include <drm/drm_device.h>
#include <drm/drm_drv.h>
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
 * 1 if the architecture has devices that do not snoop the CPU's caches. Only there does
 * dev_dma_coherent() tell which devices snoop.
 */
#if defined(CONFIG_ARCH_HAS_SYNC_DMA_FOR_DEVICE) || \
	defined(CONFIG_ARCH_HAS_SYNC_DMA_FOR_CPU) || \
	defined(CONFIG_ARCH_HAS_SYNC_DMA_FOR_CPU_ALL)
#define ONPU_MARKS_COHERENT	1
#else
#define ONPU_MARKS_COHERENT	0
#endif

/* Old kernels keep this as a bit of the device, on architectures with ONPU_MARKS_COHERENT only. */
#ifndef ONPU_HAVE_DEV_DMA_COHERENT
static inline bool dev_dma_coherent(const struct device *dev)
{
#if ONPU_MARKS_COHERENT
	return dev->dma_coherent;
#else
	return true;
#endif
}
#endif

#endif
