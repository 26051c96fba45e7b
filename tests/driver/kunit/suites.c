// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The module of the unit tests. */
#include <linux/debugfs.h>
#include <linux/module.h>

#include "fake.h"
#include "onpu_core.h"
#include "onpu_ctx.h"

#define CREATE_TRACE_POINTS
#include "onpu_trace.h"

#if IS_ENABLED(CONFIG_KUNIT)

kunit_test_suites(&onpu_mmu_suite, &onpu_mbox_suite, &onpu_fw_suite, &onpu_submit_suite,
		  &onpu_job_suite);

#else

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

static struct kunit_suite *const all_suites[] = {
	&onpu_mmu_suite, &onpu_mbox_suite, &onpu_fw_suite, &onpu_submit_suite, &onpu_job_suite,
};

static int __init onpu_kunit_init(void)
{
	onpu_free_wq = alloc_workqueue("onpu-free", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!onpu_free_wq)
		return -ENOMEM;
	onpu_kunit_show(all_suites, ARRAY_SIZE(all_suites));
	return 0;
}
module_init(onpu_kunit_init);

static void __exit onpu_kunit_exit(void)
{
	onpu_kunit_hide();
	destroy_workqueue(onpu_free_wq);
	rcu_barrier();
}
module_exit(onpu_kunit_exit);

MODULE_DESCRIPTION("Unit tests of the Open NPU's driver");
MODULE_LICENSE("Dual MIT/GPL");
