/* SPDX-License-Identifier: MIT */
/*
 * Counts the buffers that share a GEM handle: a client gets the same handle each time that it
 * imports a dma-buf, and when it exported the dma-buf itself, the handle of the exported buffer.
 * The last buffer closes the handle. drm.c uses this for imports and exports.
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

/* Imports a dma-buf as *handle, and counts one more user of it. Returns 0 or a negative errno. */
int drm_shares_import(struct drm_shares *shares, int fd, int dmabuf, uint32_t *handle);
/* Begins to count the users of a buffer's handle, with 1 user. Returns 0 or a negative errno. */
int drm_shares_add(struct drm_shares *shares, uint32_t handle);

/* Counts one user less; closes the handle when no user is left. */
void drm_shares_put(struct drm_shares *shares, int fd, uint32_t handle);

#endif
