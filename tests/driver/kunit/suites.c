// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The module that contains all suites of unit tests. */
#include <linux/module.h>

#include "fake.h"
#include "onpu_core.h"
#include "onpu_ctx.h"

#define CREATE_TRACE_POINTS
#include "onpu_trace.h"

#if IS_ENABLED(CONFIG_KUNIT)

kunit_test_suites(&onpu_mmu_suite, &onpu_mbox_suite, &onpu_fw_suite, &onpu_submit_suite,
		  &onpu_job_suite, &onpu_gem_suite, &onpu_wrap_suite, &onpu_dump_suite,
		  &onpu_device_suite);

#endif

static struct kunit_suite *const all_suites[] = {
	&onpu_mmu_suite, &onpu_mbox_suite, &onpu_fw_suite, &onpu_submit_suite, &onpu_job_suite,
	&onpu_gem_suite, &onpu_wrap_suite, &onpu_dump_suite, &onpu_device_suite,
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
