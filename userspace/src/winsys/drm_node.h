/* SPDX-License-Identifier: MIT */
/* Finds the node of an NPU; winsys_drm_next() of winsys.h is in drm_node.c, too. */
#ifndef WNN_WINSYS_DRM_NODE_H
#define WNN_WINSYS_DRM_NODE_H

#include "util/error.h"

/*
 * Opens the given node, or with NULL the first node that opens, and sets path[]. Returns its file
 * descriptor, or -1 with *err.
 */
int drm_node_find(const char *node, char path[64], struct wnn_error *err);

#endif
