/* SPDX-License-Identifier: MIT */
/*
 * The kernel's test harness, from Debian's linux-source package (scripts/fetch-linux.sh), with
 * additions for these tests.
 */
#ifndef TESTS_DRIVER_HARNESS_H
#define TESTS_DRIVER_HARNESS_H

#include <kselftest_harness.h>

/*
 * The timeout of a test. An emulated machine on a busy host needs more than the harness's 30 s;
 * only a hang takes this long.
 */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT 600

/*
 * Defines a variant of a fixture with one wrong argument. The fixture's variants have the members
 * spoil and error: spoil is a function that runs the given code, which makes the good arguments @a
 * bad, and error is the expected errno.
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
