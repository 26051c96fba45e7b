// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Makes moments long that are usually too short to be hit, for guest_moments.sh. Where the
 * scheduler and the end of an entity could meet, as long as it is loaded:
 *
 *   - the scheduler hesitates between the look at a job and taking it,
 *   - then, between the job and the next one, so that who waits for the entity can wake up,
 *   - drm_sched_entity_fini() hesitates at each job that it finds,
 *   - who signals a fence that a job waits for hesitates before he wakes the scheduler.
 *
 * And who has seen the device do wrong hesitates report_ms before he asks for a reset, and half of
 * that when he is in the midst of one; who submits jobs hesitates submit_ms before they are taken.
 */
#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/module.h>

#define TAKE_MS	5
#define NEXT_MS	2
#define FINI_MS	3
#define WAKE_MS	200

static atomic_t takes;
module_param_named(takes, takes.counter, int, 0444);
MODULE_PARM_DESC(takes, "How often the scheduler hesitated to take a job");

static atomic_t wakes;
module_param_named(wakes, wakes.counter, int, 0444);
MODULE_PARM_DESC(wakes, "How often somebody hesitated to wake a scheduler");

static unsigned int report_ms;
module_param(report_ms, uint, 0644);
MODULE_PARM_DESC(report_ms, "How long whoever asks for a reset hesitates (0)");

static atomic_t reports;
module_param_named(reports, reports.counter, int, 0444);
MODULE_PARM_DESC(reports, "How often somebody hesitated to ask for a reset");

static unsigned int submit_ms;
module_param(submit_ms, uint, 0644);
MODULE_PARM_DESC(submit_ms, "How long whoever submits jobs hesitates (0)");

static atomic_t submits;
module_param_named(submits, submits.counter, int, 0444);
MODULE_PARM_DESC(submits, "How often somebody hesitated to submit jobs");

/* Who is in the function on this CPU; workers stay on theirs. */
static DEFINE_PER_CPU(struct task_struct *, in_pop);
static DEFINE_PER_CPU(struct task_struct *, in_fini);

/* The scheduler that is about to be woken; nothing else hesitates then. */
static unsigned long woken;

static int enter_pop(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	this_cpu_write(in_pop, current);
	return 0;
}

static int leave_pop(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	this_cpu_write(in_pop, NULL);
	return 0;
}

static int enter_fini(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	this_cpu_write(in_fini, current);
	return 0;
}

static int leave_fini(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	this_cpu_write(in_fini, NULL);
	return 0;
}

static struct kretprobe pop_probe = {
	.kp.symbol_name = "drm_sched_entity_pop_job",
	.entry_handler = enter_pop,
	.handler = leave_pop,
	.maxactive = 16,
};

static struct kretprobe fini_probe = {
	.kp.symbol_name = "drm_sched_entity_fini",
	.entry_handler = enter_fini,
	.handler = leave_fini,
	.maxactive = 16,
};

static struct kretprobe *kretprobes[] = { &pop_probe, &fini_probe };

static int on_look(struct kprobe *probe, struct pt_regs *regs)
{
	if (this_cpu_read(in_pop) == current && !READ_ONCE(woken)) {
		atomic_inc(&takes);
		mdelay(TAKE_MS);
	}
	return 0;
}

static int on_ran(struct kprobe *probe, struct pt_regs *regs)
{
	if (!READ_ONCE(woken))
		mdelay(NEXT_MS);
	return 0;
}

static int on_callback(struct kprobe *probe, struct pt_regs *regs)
{
	if (this_cpu_read(in_fini) == current)
		mdelay(FINI_MS);
	return 0;
}

static int on_wakeup(struct kprobe *probe, struct pt_regs *regs)
{
	/* The scheduler's user wakes it too, without a fence. */
	if (!irqs_disabled())
		return 0;
	atomic_inc(&wakes);
	WRITE_ONCE(woken, regs_get_kernel_argument(regs, 0));
	mdelay(WAKE_MS);
	WRITE_ONCE(woken, 0);
	return 0;
}

static int on_end(struct kprobe *probe, struct pt_regs *regs)
{
	WARN(regs_get_kernel_argument(regs, 0) == READ_ONCE(woken),
	     "a scheduler ends while somebody wakes it\n");
	return 0;
}

static int hesitate(unsigned int ms, atomic_t *count)
{
	if (ms) {
		atomic_inc(count);
		mdelay(ms);
	}
	return 0;
}

static int on_report(struct kprobe *probe, struct pt_regs *regs)
{
	return hesitate(READ_ONCE(report_ms), &reports);
}

static int on_submit(struct kprobe *probe, struct pt_regs *regs)
{
	return hesitate(READ_ONCE(submit_ms), &submits);
}

static int on_reset(struct kprobe *probe, struct pt_regs *regs)
{
	mdelay(READ_ONCE(report_ms) / 2);
	return 0;
}

static struct kprobe look_probe = { .symbol_name = "xa_load", .pre_handler = on_look };
static struct kprobe ran_probe = {
	.symbol_name = "drm_sched_fence_scheduled",
	.pre_handler = on_ran,
};

static struct kprobe callback_probe = {
	.symbol_name = "dma_fence_add_callback",
	.pre_handler = on_callback,
};

static struct kprobe wakeup_probe = { .symbol_name = "drm_sched_wakeup", .pre_handler = on_wakeup };
static struct kprobe end_probe = { .symbol_name = "drm_sched_fini", .pre_handler = on_end };
static struct kprobe report_probe = {
	.symbol_name = "onpu_device_reset_async",
	.pre_handler = on_report,
};

static struct kprobe reset_probe = {
	.symbol_name = "onpu_ctx_pre_reset",
	.pre_handler = on_reset,
};

static struct kprobe submit_probe = {
	.symbol_name = "onpu_job_submit",
	.pre_handler = on_submit,
};

static struct kprobe *kprobes[] = {
	&look_probe, &ran_probe, &callback_probe, &wakeup_probe, &end_probe, &report_probe,
	&reset_probe, &submit_probe,
};

static int __init widen_init(void)
{
	int ret = register_kretprobes(kretprobes, ARRAY_SIZE(kretprobes));

	if (ret)
		return ret;
	ret = register_kprobes(kprobes, ARRAY_SIZE(kprobes));
	if (ret)
		unregister_kretprobes(kretprobes, ARRAY_SIZE(kretprobes));
	return ret;
}
module_init(widen_init);

static void __exit widen_exit(void)
{
	unregister_kprobes(kprobes, ARRAY_SIZE(kprobes));
	unregister_kretprobes(kretprobes, ARRAY_SIZE(kretprobes));
}
module_exit(widen_exit);

MODULE_DESCRIPTION("Widens races of the Open NPU's driver");
MODULE_LICENSE("Dual MIT/GPL");
