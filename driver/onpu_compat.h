/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Bridges differences between kernel versions, which Kbuild finds: it defines ONPU_HAVE_*. */
#ifndef ONPU_COMPAT_H
#define ONPU_COMPAT_H

#include <linux/device.h>
#include <linux/string.h>

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
 * Returns whether the device snoops the CPU's caches. Where none of the options below is set, every
 * device does, and the kernel marks none as coherent; else old kernels keep the mark as a bit of
 * the device.
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

/*
 * Tells udev that the device is wedged (@lost), or that a reset has brought it back, and which task
 * made the reset necessary, unless @comm is empty. Old kernels have no function for that, and the
 * one of 7.3 uses &drm_device.primary, which is NULL where there is but an accel node. So only the
 * series of scripts/make-series.py, which begins with a patch for that, uses it.
 */
static inline void onpu_wedged_event(struct drm_device *drm, bool lost, pid_t pid, const char *comm)
{
#ifdef ONPU_HAVE_ACCEL_WEDGED_EVENT
	struct drm_wedge_task_info task = { .pid = pid };

	strscpy(task.comm, comm);
	drm_dev_wedged_event(drm, lost ? DRM_WEDGE_RECOVERY_REBIND | DRM_WEDGE_RECOVERY_BUS_RESET :
				  DRM_WEDGE_RECOVERY_NONE, &task);
#else
	char what[32], id[32], name[32], *envp[] = { what, comm[0] ? id : NULL, name, NULL };

	snprintf(what, sizeof(what), "WEDGED=%s", lost ? "rebind,bus-reset" : "none");
	snprintf(id, sizeof(id), "PID=%d", pid);
	snprintf(name, sizeof(name), "TASK=%s", comm);
	kobject_uevent_env(&drm->accel->kdev->kobj, KOBJ_CHANGE, envp);
#endif
}

#endif
