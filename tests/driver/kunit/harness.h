/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * KUnit; or, for Debian's kernels without KUnit, those parts of it that these tests use, and a file
 * /sys/kernel/debug/kunit/SUITE/results, which runs the suite when it is read.
 */
#ifndef ONPU_KUNIT_HARNESS_H
#define ONPU_KUNIT_HARNESS_H

#if IS_ENABLED(CONFIG_KUNIT)

#include <kunit/test.h>

/* With KUnit, loading the module has run the suites. */
static inline void onpu_kunit_show(struct kunit_suite *const *suites, unsigned int count) {}
static inline void onpu_kunit_hide(void) {}

#else

#include <linux/seq_file.h>

struct kunit {
	/** @priv: Data of the test. */
	void *priv;
	/** @failures: Number of expectations that failed. */
	unsigned int failures;
	/** @log: File that gets the messages of failures. */
	struct seq_file *log;
};

struct kunit_case {
	void (*run_case)(struct kunit *test);
	const char *name;
};

struct kunit_suite {
	const char name[32];
	int (*init)(struct kunit *test);
	void (*exit)(struct kunit *test);
	struct kunit_case *test_cases;
};

#define KUNIT_CASE(function) { .run_case = (function), .name = #function }

static inline bool onpu_kunit_failed(struct kunit *test, int line, const char *text)
{
	test->failures++;
	seq_printf(test->log, "    # line %d: %s\n", line, text);
	return true;
}

#define KUNIT_EXPECT_TRUE(test, condition) \
	((void)((condition) || onpu_kunit_failed(test, __LINE__, #condition)))
#define KUNIT_EXPECT_FALSE(test, condition)	KUNIT_EXPECT_TRUE(test, !(condition))
#define KUNIT_EXPECT_EQ(test, left, right)	KUNIT_EXPECT_TRUE(test, (left) == (right))
#define KUNIT_EXPECT_NE(test, left, right)	KUNIT_EXPECT_TRUE(test, (left) != (right))

/* For use in a test's function itself: a failure returns from it. */
#define KUNIT_ASSERT_TRUE(test, condition)			\
	do {							\
		if (!(condition) &&				\
		    onpu_kunit_failed(test, __LINE__, #condition)) \
			return;					\
	} while (0)
#define KUNIT_ASSERT_FALSE(test, condition)	KUNIT_ASSERT_TRUE(test, !(condition))
#define KUNIT_ASSERT_EQ(test, left, right)	KUNIT_ASSERT_TRUE(test, (left) == (right))

void onpu_kunit_show(struct kunit_suite *const *suites, unsigned int count);
void onpu_kunit_hide(void);

#endif

#endif
