// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Makes moments long that are usually too short to be hit, for guest_moments.sh. As long as it is
 * loaded, these hesitate for as many milliseconds as their parameters say, which counts:
 *
 *   - wake: who signals a fence that a job waits for, before the driver hears of it,
 *   - resolve: the driver, when it has heard of it, before it looks for jobs that are ready,
 *   - report: who has seen the device do wrong, before a reset is asked for, and half as long
 *     whoever is in the midst of one,
 *   - submit: who submits jobs, before they are taken.
 */
#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/module.h>

/* One of these: how long, how often so far, and where. */
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

#define MOMENT(name, function, text)							\
static struct moment name = {								\
	.probe = { .symbol_name = #function, .pre_handler = hesitate },			\
};											\
module_param_named(name##_ms, name.ms, uint, 0644);					\
MODULE_PARM_DESC(name##_ms, "How long " text " hesitates (0)");				\
module_param_named(name##s, name.count.counter, int, 0444);				\
MODULE_PARM_DESC(name##s, "How often it did")

MOMENT(wake, onpu_job_signalled, "whoever signals a fence");
MOMENT(resolve, onpu_job_resolve_work, "the driver after that");
MOMENT(report, onpu_device_reset_async, "whoever asks for a reset");
MOMENT(submit, onpu_job_submit, "whoever submits jobs");

static int on_reset(struct kprobe *probe, struct pt_regs *regs)
{
	mdelay(READ_ONCE(report.ms) / 2);
	return 0;
}

static struct kprobe reset_probe = {
	.symbol_name = "onpu_ctx_pre_reset",
	.pre_handler = on_reset,
};

static struct kprobe *kprobes[] = {
	&wake.probe, &resolve.probe, &report.probe, &submit.probe, &reset_probe,
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
