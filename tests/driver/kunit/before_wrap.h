/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Puts a function before the one that gives a buffer its handle, after which a client sees the
 * buffer. It is in test_wrap.c.
 */
#ifndef ONPU_KUNIT_BEFORE_WRAP_H
#define ONPU_KUNIT_BEFORE_WRAP_H

#include "onpu_gem.h"

/* A macro with arguments does not replace (onpu_bo_publish), the driver's function. */
#define onpu_bo_publish(...)	seen_publish(__VA_ARGS__)

static int seen_publish(struct onpu_bo *bo, struct drm_file *drm_file, u32 *handle, u64 *va);

#endif
