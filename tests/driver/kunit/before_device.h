/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Replaces the kernel's answer whether memory is encrypted, which it is not on the machines that
 * run these tests. The replacement is in test_device.c.
 */
#ifndef ONPU_KUNIT_BEFORE_DEVICE_H
#define ONPU_KUNIT_BEFORE_DEVICE_H

#include <linux/cc_platform.h>

/* Replaces calls only: the name without arguments is still the kernel's function. */
#define cc_platform_has(attr)	seen_platform(attr)

static bool seen_platform(enum cc_attr attr);

#endif
