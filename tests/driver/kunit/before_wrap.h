/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Puts a function before the one that gives a buffer its handle, after which a client sees the
 * buffer. It is in test_wrap.c.
 */
#ifndef ONPU_KUNIT_BEFORE_WRAP_H
#define ONPU_KUNIT_BEFORE_WRAP_H

#include "onpu_gem.h"

/* Replaces calls only: (onpu_bo_publish), in parentheses, is still the driver's function. */
#define onpu_bo_publish(...)	seen_publish(__VA_ARGS__)

static int seen_publish(struct onpu_bo *bo, struct drm_file *drm_file, u32 *handle, u64 *va);

#endif
