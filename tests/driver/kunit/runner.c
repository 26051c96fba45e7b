// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Runs unit tests on kernels without KUnit. */
#include <linux/debugfs.h>
#include <linux/kernel.h>

#include "harness.h"

#if !IS_ENABLED(CONFIG_KUNIT)

static struct dentry *folder;

static void run_case(struct seq_file *log, struct kunit_suite *suite, unsigned int index)
{
	const struct kunit_case *one = &suite->test_cases[index];
	struct kunit test = { .log = log };

	if (suite->init && suite->init(&test)) {
		onpu_kunit_failed(&test, __LINE__, "no device");
	} else {
		one->run_case(&test);
		if (suite->exit)
			suite->exit(&test);
	}
	seq_printf(log, "    %sok %u %s\n", test.failures ? "not " : "", index + 1, one->name);
}

static int results_show(struct seq_file *log, void *data)
{
	struct kunit_suite *suite = log->private;

	seq_printf(log, "    # Subtest: %s\n", suite->name);
	for (unsigned int i = 0; suite->test_cases[i].run_case; i++)
		run_case(log, suite, i);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(results);

void onpu_kunit_show(struct kunit_suite *const *suites, unsigned int count)
{
	folder = debugfs_create_dir("kunit", NULL);
	for (unsigned int i = 0; i < count; i++)
		debugfs_create_file("results", 0400, debugfs_create_dir(suites[i]->name, folder),
				    suites[i], &results_fops);
}

void onpu_kunit_hide(void)
{
	debugfs_remove(folder);
}

#endif
