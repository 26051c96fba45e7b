// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The platforms that the driver refuses, as architectures describe them. */
#include "fake.h"

/* The attributes that the platform has. */
static unsigned long attributes;

static bool seen_platform(enum cc_attr attr)
{
	return attributes & BIT(attr);
}

static void which_platforms_are_refused(struct kunit *test)
{
	static const struct {
		unsigned long attributes;
		int ret;
	} platforms[] = {
		{ 0, 0 },
		/* a host and a guest of x86 */
		{ BIT(CC_ATTR_MEM_ENCRYPT) | BIT(CC_ATTR_HOST_MEM_ENCRYPT), 0 },
		{ BIT(CC_ATTR_MEM_ENCRYPT) | BIT(CC_ATTR_GUEST_MEM_ENCRYPT), -EIO },
		/* a guest of arm64 */
		{ BIT(CC_ATTR_MEM_ENCRYPT), -EIO },
	};
	struct onpu_device *onpu = test->priv;

	for (unsigned int i = 0; i < ARRAY_SIZE(platforms); i++) {
		attributes = platforms[i].attributes;
		KUNIT_EXPECT_EQ(test, check_dma(onpu), platforms[i].ret);
	}
}

static struct kunit_case device_cases[] = {
	KUNIT_CASE(which_platforms_are_refused),
	{}
};

struct kunit_suite onpu_device_suite = {
	.name = "onpu_device",
	.init = fake_init,
	.exit = fake_exit,
	.test_cases = device_cases,
};
