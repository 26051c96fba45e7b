/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Replaces onpu_bo_publish(), which gives a buffer its handle and so shows it to clients, by
 * seen_publish() of test_wrap.c. That function notes the buffer's state and calls the original.
 */
#ifndef ONPU_KUNIT_BEFORE_WRAP_H
#define ONPU_KUNIT_BEFORE_WRAP_H

#include "onpu_gem.h"

/* Replaces calls only: (onpu_bo_publish), in parentheses, is still the driver's function. */
#define onpu_bo_publish(...)	seen_publish(__VA_ARGS__)

static int seen_publish(struct onpu_bo *bo, struct drm_file *drm_file, u32 *handle, u64 *va);

#endif
