/* SPDX-License-Identifier: MIT */
/*
 * The kernel's test harness, from Debian's linux-source package (scripts/fetch-linux.sh), and what
 * the tests add to it.
 */
#ifndef TESTS_DRIVER_HARNESS_H
#define TESTS_DRIVER_HARNESS_H

#include <kselftest_harness.h>

/* An emulated machine that shares a busy host needs more than the 30 s of the harness: only a hang takes so long. */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT 600

/*
 * One case of a fixture whose variants have the members spoil and error: what makes the good
 * arguments @a bad, and the errno.
 */
#define REFUSED(fixture, name, errno_, ...)                            \
	static void fixture##_spoils_##name(FIXTURE_DATA(fixture) * a) \
	{                                                              \
		__VA_ARGS__;                                           \
	}                                                              \
	FIXTURE_VARIANT_ADD(fixture, name)                             \
	{                                                              \
		.spoil = fixture##_spoils_##name, .error = (errno_),   \
	}

#endif
