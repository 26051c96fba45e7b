/* SPDX-License-Identifier: MIT */
/* The errors of calls of the kernel's driver, as sentences for users of the library. */
#ifndef WNN_WINSYS_DRM_ERROR_H
#define WNN_WINSYS_DRM_ERROR_H

#include <drm/onpu_accel.h>

#include "util/error.h"

/* Sets the error of a call that failed with ENODEV. Returns -1. */
int drm_gone_error(struct wnn_error *err);

/* Returns why a call that takes memory of the NPU failed with the negative errno @ret. */
const char *drm_bo_error(int ret);

/* Set the error when no context is made, and when jobs are refused. @why: errno. Return -1. */
int drm_ctx_error(const struct drm_onpu_dev_info *info, int why, struct wnn_error *err);
int drm_submit_error(const struct drm_onpu_dev_info *info, int why, struct wnn_error *err);

#endif
