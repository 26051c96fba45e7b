/* SPDX-License-Identifier: MIT */
/*
 * Reference counts of GEM handles that several buffers share: a client gets one handle for a
 * dma-buf however often it imports it, and for a dma-buf of its own the handle that it has. The
 * last buffer closes the handle. drm.c uses this for imports and exports.
 */
#ifndef WNN_WINSYS_DRM_SHARES_H
#define WNN_WINSYS_DRM_SHARES_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

struct drm_share {
	uint32_t handle, users;
};

struct drm_shares {
	pthread_mutex_t lock;
	struct drm_share *list;
	size_t count, room;
};

void drm_shares_init(struct drm_shares *shares);
void drm_shares_exit(struct drm_shares *shares);

/* All three: 0 or a negative errno. */
int drm_shares_import(struct drm_shares *shares, int fd, int dmabuf, uint32_t *handle);
/* A handle of one buffer becomes one that others may have. */
int drm_shares_add(struct drm_shares *shares, uint32_t handle);

void drm_shares_put(struct drm_shares *shares, int fd, uint32_t handle);

#endif
