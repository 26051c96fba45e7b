// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Prolongs moments that are usually too short to be hit, for guest_moments.sh. While it is loaded,
 * these functions wait for as many milliseconds as their parameters say, and the waits are counted,
 * except those of a reset:
 *
 *   - wake: a driver that signals a fence that a job waits for, before the NPU driver's callback,
 *   - resolve: the NPU driver after the callback, before it looks for jobs that are ready,
 *   - report: a function that has seen an error of the device, before it asks for a reset,
 *   - reset: a reset under way,
 *   - submit: a submission, before its jobs are accepted,
 *   - settle: a reset that has started the device, or given it up, before contexts learn of it,
 *   - dump: the work that makes a core dump, before it reads the program of the failed job; it
 *     sleeps.
 */
#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/workqueue.h>

/*
 * A moment: the milliseconds by which it is prolonged, how often that happened so far, and the
 * probe.
 */
struct moment {
	struct kprobe probe;
	unsigned int ms;
	atomic_t count;
};

static int hesitate(struct kprobe *probe, struct pt_regs *regs)
{
	struct moment *moment = container_of(probe, struct moment, probe);
	unsigned int ms = READ_ONCE(moment->ms);

	if (ms) {
		atomic_inc(&moment->count);
		mdelay(ms);
	}
	return 0;
}

#define PROBE(function) { .symbol_name = (function), .pre_handler = hesitate }

static struct moment wake = { .probe = PROBE("onpu_job_signalled") };
module_param_named(wake_ms, wake.ms, uint, 0644);
MODULE_PARM_DESC(wake_ms, "How long whoever signals a fence hesitates (0)");
module_param_named(wakes, wake.count.counter, int, 0444);
MODULE_PARM_DESC(wakes, "How often it did");

static struct moment resolve = { .probe = PROBE("onpu_job_resolve_work") };
module_param_named(resolve_ms, resolve.ms, uint, 0644);
MODULE_PARM_DESC(resolve_ms, "How long the driver after that hesitates (0)");
module_param_named(resolves, resolve.count.counter, int, 0444);
MODULE_PARM_DESC(resolves, "How often it did");

static struct moment report = { .probe = PROBE("onpu_device_reset_async") };
module_param_named(report_ms, report.ms, uint, 0644);
MODULE_PARM_DESC(report_ms, "How long whoever asks for a reset hesitates (0)");
module_param_named(reports, report.count.counter, int, 0444);
MODULE_PARM_DESC(reports, "How often it did");

static struct moment submit = { .probe = PROBE("onpu_job_submit") };
module_param_named(submit_ms, submit.ms, uint, 0644);
MODULE_PARM_DESC(submit_ms, "How long whoever submits jobs hesitates (0)");
module_param_named(submits, submit.count.counter, int, 0444);
MODULE_PARM_DESC(submits, "How often it did");

static struct moment settle = { .probe = PROBE("onpu_ctx_post_reset") };
module_param_named(settle_ms, settle.ms, uint, 0644);
MODULE_PARM_DESC(settle_ms, "How long a reset hesitates to tell contexts (0)");
module_param_named(settles, settle.count.counter, int, 0444);
MODULE_PARM_DESC(settles, "How often it did");

static unsigned int reset_ms;
module_param(reset_ms, uint, 0644);
MODULE_PARM_DESC(reset_ms, "How long whoever is in the midst of a reset hesitates (0)");

static int on_reset(struct kprobe *probe, struct pt_regs *regs)
{
	mdelay(READ_ONCE(reset_ms));
	return 0;
}

static struct kprobe reset_probe = {
	.symbol_name = "onpu_ctx_pre_reset",
	.pre_handler = on_reset,
};

static unsigned int dump_ms, dumps;
module_param(dump_ms, uint, 0644);
MODULE_PARM_DESC(dump_ms, "How long whoever makes a core dump sleeps (0)");
module_param(dumps, uint, 0444);
MODULE_PARM_DESC(dumps, "How often it did");

static struct kprobe dump_probe;
static bool dump_is_late;

/*
 * Runs in place of the work item, and calls it after a pause. It sleeps and does not keep its
 * processor, which may be needed to free the memory of a program.
 */
static noinline void dump_late(struct work_struct *work)
{
	void (*dump)(struct work_struct *work) = (void *)dump_probe.addr;

	msleep(READ_ONCE(dump_ms));
	dumps++;
	dump(work);
}

static int on_dump(struct kprobe *probe, struct pt_regs *regs)
{
	/*
	 * The second entry is the call by dump_late(). One flag is enough, because there is one
	 * work item.
	 */
	dump_is_late = READ_ONCE(dump_ms) && !dump_is_late;
	if (!dump_is_late)
		return 0;
	instruction_pointer_set(regs, (unsigned long)dump_late);
	return 1;
}

NOKPROBE_SYMBOL(on_dump);

/*
 * Does nothing. A probe with a post handler is never optimised to a jump, with which on_dump()
 * could not change where execution goes on.
 */
static void after_dump(struct kprobe *probe, struct pt_regs *regs, unsigned long flags)
{
}

static struct kprobe dump_probe = {
	.symbol_name = "onpu:dump_work",
	.pre_handler = on_dump,
	.post_handler = after_dump,
};

static struct kprobe *kprobes[] = {
	&wake.probe, &resolve.probe, &report.probe, &submit.probe, &settle.probe, &reset_probe,
	&dump_probe,
};

static int __init widen_init(void)
{
	return register_kprobes(kprobes, ARRAY_SIZE(kprobes));
}
module_init(widen_init);

static void __exit widen_exit(void)
{
	unregister_kprobes(kprobes, ARRAY_SIZE(kprobes));
}
module_exit(widen_exit);

MODULE_DESCRIPTION("Widens races of the Open NPU's driver");
MODULE_LICENSE("Dual MIT/GPL");
