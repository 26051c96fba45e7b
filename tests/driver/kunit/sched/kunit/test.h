/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Replaces the header of KUnit, which Debian's kernels do not have. */
#ifndef ONPU_SCHED_KUNIT_TEST_H
#define ONPU_SCHED_KUNIT_TEST_H

#include <linux/module.h>

#include "harness.h"

#define KUNIT_ASSERT_NOT_NULL(test, pointer) KUNIT_ASSERT_TRUE(test, pointer)

#define kunit_test_suite(suite)                                          \
	static int __init sched_test_init(void)                          \
	{                                                                \
		onpu_kunit_show(&(struct kunit_suite *){ &(suite) }, 1); \
		return 0;                                                \
	}                                                                \
	module_init(sched_test_init);                                    \
	static void __exit sched_test_exit(void)                         \
	{                                                                \
		onpu_kunit_hide();                                       \
	}                                                                \
	module_exit(sched_test_exit);                                    \
	MODULE_DESCRIPTION("A unit test of the DRM scheduler");          \
	MODULE_LICENSE("GPL")

#endif
