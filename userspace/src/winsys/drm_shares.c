// SPDX-License-Identifier: MIT
/* Counts the buffers that share a GEM handle; see drm_shares.h. */
#include "winsys/drm_shares.h"

#include <errno.h>
#include <xf86drm.h>

#include "util/array.h"
#include "util/malloc.h"

void drm_shares_init(struct drm_shares *shares)
{
	*shares = (struct drm_shares){ .list = NULL };
	pthread_mutex_init(&shares->lock, NULL);
}

void drm_shares_exit(struct drm_shares *shares)
{
	wnn_free(shares->list);
	pthread_mutex_destroy(&shares->lock);
}

static struct drm_share *find(struct drm_shares *shares, uint32_t handle)
{
	for (size_t i = 0; i < shares->count; i++)
		if (shares->list[i].handle == handle)
			return &shares->list[i];
	return NULL;
}

/* Adds a handle with one user; with the lock held, and with room in the list. */
static void append(struct drm_shares *shares, uint32_t handle)
{
	shares->list[shares->count++] = (struct drm_share){ .handle = handle, .users = 1 };
}

static int reserve(struct drm_shares *shares)
{
	return wnn_array_reserve(&shares->list, &shares->room, shares->count + 1,
				 sizeof(*shares->list)) ?
		       -ENOMEM :
		       0;
}

int drm_shares_import(struct drm_shares *shares, int fd, int dmabuf, uint32_t *handle)
{
	struct drm_share *share;
	int ret;

	/* The lock is held, so that nobody closes the handle before its user is counted. */
	pthread_mutex_lock(&shares->lock);
	ret = reserve(shares);
	if (!ret)
		ret = drmPrimeFDToHandle(fd, dmabuf, handle) ? -errno : 0;
	if (!ret) {
		share = find(shares, *handle);
		if (share)
			share->users++;
		else
			append(shares, *handle);
	}
	pthread_mutex_unlock(&shares->lock);
	return ret;
}

int drm_shares_add(struct drm_shares *shares, uint32_t handle)
{
	int ret;

	pthread_mutex_lock(&shares->lock);
	ret = reserve(shares);
	if (!ret)
		append(shares, handle);
	pthread_mutex_unlock(&shares->lock);
	return ret;
}

void drm_shares_put(struct drm_shares *shares, int fd, uint32_t handle)
{
	struct drm_share *share;

	pthread_mutex_lock(&shares->lock);
	share = find(shares, handle);
	if (share && !--share->users) {
		*share = shares->list[--shares->count];
		drmCloseBufferHandle(fd, handle);
	}
	pthread_mutex_unlock(&shares->lock);
}
