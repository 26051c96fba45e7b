// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Lets allocations of the kernel fail for one process, for guest_fail.sh and guest_probe.sh. The
 * process that writes N to the parameter nth has its Nth allocation from then on fail. Allocations
 * of pread() and pwrite() do not count, because these read and write the parameter, which tells how
 * many allocations are still to come: 0 when that one has failed. This is like /proc/self/fail-nth
 * of a kernel with fault injection, which Debian's kernels do not have. With the parameters from
 * and until, those allocations count that come after the process has entered the function `from`
 * and before it enters the function `until`.
 */
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <asm/syscall.h>
#include <asm/unistd.h>

static struct task_struct *victim;
static unsigned int nth;
static bool entered;

static char *from, *until;
module_param(from, charp, 0400);
MODULE_PARM_DESC(from, "The function from which on allocations count (default: from the first one on)");
module_param(until, charp, 0400);
MODULE_PARM_DESC(until, "The function from which on they count no more");

static int begin(struct kprobe *probe, struct pt_regs *regs)
{
	if (current == READ_ONCE(victim))
		entered = true;
	return 0;
}

NOKPROBE_SYMBOL(begin);

static int end(struct kprobe *probe, struct pt_regs *regs)
{
	if (current == READ_ONCE(victim))
		entered = false;
	return 0;
}

NOKPROBE_SYMBOL(end);

static struct kprobe doors[] = { { .pre_handler = begin }, { .pre_handler = end } };

/*
 * Each of these functions runs in place of an allocation function of the kernel, with the same
 * arguments, and returns the value with which that one reports a lack of memory: here NULL.
 */
static noinline void *no_memory(void)
{
	return NULL;
}

static noinline void *no_memory_error(void)
{
	return ERR_PTR(-ENOMEM);
}

static noinline int no_memory_errno(void)
{
	return -ENOMEM;
}

struct place {
	struct kprobe probe;
	void *fails;
};

static bool is_counted(struct pt_regs *regs)
{
	long call;

	/*
	 * An allocation counts only on the task's own stack: interrupts have other stacks.
	 * in_task() does not serve for that, because some probes count as NMI.
	 */
	if (current != READ_ONCE(victim) || current->flags & (PF_KTHREAD | PF_EXITING) ||
	    !object_is_on_stack((void *)kernel_stack_pointer(regs)) || (from && !entered))
		return false;
	call = syscall_get_nr(current, task_pt_regs(current));
	return call != __NR_pread64 && call != __NR_pwrite64;
}

static int look(struct kprobe *probe, struct pt_regs *regs)
{
	struct place *place = container_of(probe, struct place, probe);

	if (!is_counted(regs) || !nth || --nth)
		return 0;
	instruction_pointer_set(regs, (unsigned long)place->fails);
	return 1;
}

NOKPROBE_SYMBOL(look);

/*
 * Does nothing. A probe with a post handler is never optimised to a jump, with which look() could
 * not change where execution goes on.
 */
static void after(struct kprobe *probe, struct pt_regs *regs, unsigned long flags)
{
}

#define PLACE(function, what) { \
	.probe = { .symbol_name = (function), .pre_handler = look, .post_handler = after }, \
	.fails = (what) \
}

/*
 * Allocation functions of this kernel. When one of them calls another, an allocation counts twice.
 */
static struct place places[] = {
	PLACE("__kmalloc_noprof", no_memory),
	PLACE("__kmalloc_node_noprof", no_memory),
	PLACE("__kmalloc_node_track_caller_noprof", no_memory),
	PLACE("__kmalloc_cache_noprof", no_memory),
	PLACE("__kvmalloc_node_noprof", no_memory),
	PLACE("kmem_cache_alloc_noprof", no_memory),
	PLACE("kmem_cache_alloc_lru_noprof", no_memory),
	PLACE("dma_alloc_attrs", no_memory),
	PLACE("dma_pool_alloc", no_memory),
	PLACE("vmap", no_memory),
	PLACE("drm_gem_get_pages", no_memory_error),
	PLACE("dma_map_sgtable", no_memory_errno),
};

static int set_nth(const char *text, const struct kernel_param *param)
{
	unsigned int value;
	int ret = kstrtouint(text, 0, &value);

	if (ret)
		return ret;
	nth = value;
	entered = false;
	WRITE_ONCE(victim, value ? current : NULL);
	return 0;
}

static int get_nth(char *text, const struct kernel_param *param)
{
	return sysfs_emit(text, "%u\n", nth);
}

static const struct kernel_param_ops nth_ops = { .set = set_nth, .get = get_nth };
module_param_cb(nth, &nth_ops, NULL, 0600);
MODULE_PARM_DESC(nth, "Which allocation of the writing process fails (0: none)");

static unsigned int count;
module_param(count, uint, 0444);
MODULE_PARM_DESC(count, "How many of the places this kernel has");

static void stop(void)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(places); i++)
		if (places[i].probe.addr)
			unregister_kprobe(&places[i].probe);
	for (unsigned int i = 0; i < ARRAY_SIZE(doors); i++)
		if (doors[i].addr)
			unregister_kprobe(&doors[i]);
}

static int __init watch(struct kprobe *door, const char *function)
{
	int ret;

	door->symbol_name = function;
	ret = function ? register_kprobe(door) : 0;
	if (ret) {
		pr_err("%s: %d\n", function, ret);
		door->addr = NULL;
	}
	return ret;
}

static int __init fail_init(void)
{
	int ret = watch(&doors[0], from);

	if (!ret)
		ret = watch(&doors[1], until);
	if (ret) {
		stop();
		return ret;
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(places); i++) {
		ret = register_kprobe(&places[i].probe);
		if (ret && ret != -ENOENT) {
			pr_err("%s: %d\n", places[i].probe.symbol_name, ret);
			places[i].probe.addr = NULL;
			stop();
			return ret;
		}
		if (ret)
			places[i].probe.addr = NULL;
		else
			count++;
	}
	return 0;
}
module_init(fail_init);

static void __exit fail_exit(void)
{
	stop();
}
module_exit(fail_exit);

MODULE_DESCRIPTION("Lets allocations fail for the tests of the Open NPU's driver");
MODULE_LICENSE("Dual MIT/GPL");
