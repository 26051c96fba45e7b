// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The module: PCI function, DRM device, open files, queries. */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pm_runtime.h>
#include <linux/uaccess.h>
#include <linux/user_namespace.h>

#include <drm/drm_accel.h>
#include <drm/drm_gem_shmem_helper.h>
#include <drm/drm_print.h>

#include "onpu_compat.h"
#include "onpu_core.h"
#include "onpu_ctx.h"

#define CREATE_TRACE_POINTS
#include "onpu_trace.h"

static unsigned int memory_limit_mb;
module_param(memory_limit_mb, uint, 0444);
MODULE_PARM_DESC(memory_limit_mb,
		 "MiB that a user may have in buffers, contexts and page tables (default 0: half of the memory)");

static unsigned int max_memory_percent = 75;
module_param(max_memory_percent, uint, 0444);
MODULE_PARM_DESC(max_memory_percent,
		 "Percentage of the memory that all users together may have in buffers, contexts and page tables (default 75)");

static unsigned int max_contexts = 64;
module_param(max_contexts, uint, 0444);
MODULE_PARM_DESC(max_contexts, "Contexts that an open file may have (default 64)");

static unsigned int max_user_contexts = 256;
module_param(max_user_contexts, uint, 0444);
MODULE_PARM_DESC(max_user_contexts, "Contexts that a user may have in all files (default 256)");

static unsigned int timeout_ms = 10000;
module_param(timeout_ms, uint, 0444);
MODULE_PARM_DESC(timeout_ms,
		 "Milliseconds without progress after which a job is ended (default 10000)");

static unsigned int max_timeout_ms = 600000;
module_param(max_timeout_ms, uint, 0444);
MODULE_PARM_DESC(max_timeout_ms, "Longest timeout that a context may ask for (default 600000)");

static unsigned int max_run_ms = 300000;
module_param(max_run_ms, uint, 0444);
MODULE_PARM_DESC(max_run_ms,
		 "Milliseconds of the device's clock that a job may take (default 300000)");

static unsigned int max_wait_ms = 300000;
module_param(max_wait_ms, uint, 0444);
MODULE_PARM_DESC(max_wait_ms, "Milliseconds that a job may wait while others run (default 300000)");

static unsigned int max_fence_ms = 600000;
module_param(max_fence_ms, uint, 0444);
MODULE_PARM_DESC(max_fence_ms,
		 "Milliseconds after which a job that was ready is ended whatever it does, except in contexts for long work (default 600000)");

static unsigned int linger_ms = 30000;
module_param(linger_ms, uint, 0444);
MODULE_PARM_DESC(linger_ms,
		 "Milliseconds without a job after which a context that prefers performance lets the device sleep (default 30000)");

/* The upper bound of all time parameters, so that each hang is found at some time. */
#define LONGEST_TIMEOUT_MS	(24u * 60 * 60 * 1000)

/* ---- queries */

static int query_answer(struct drm_onpu_dev_query *query, const void *data, size_t size)
{
	void __user *to = u64_to_user_ptr(query->pointer);

	/* Newer programs get zeroes for what this driver does not know. */
	if (to && (copy_to_user(to, data, min_t(size_t, query->size, size)) ||
		   (query->size > size && clear_user(to + size, query->size - size))))
		return -EFAULT;
	/* After an error the size stays: the DRM core copies the arguments back then, too. */
	query->size = size;
	return 0;
}

static int query_info(struct onpu_device *onpu, struct drm_onpu_dev_query *query)
{
	struct drm_onpu_dev_info info = {
		.interface_major = DRM_ONPU_DRIVER_MAJOR,
		.interface_minor = DRM_ONPU_DRIVER_MINOR,
		.features = onpu_coherent(onpu) ? DRM_ONPU_FEATURE_COHERENT : 0,
		.priority_mask = BIT(DRM_ONPU_PRIORITY_LOW) | BIT(DRM_ONPU_PRIORITY_NORMAL),
		.va_start = ONPU_VA_START,
		.va_end = onpu_va_end(onpu),
		.memory_limit = onpu->limits.memory,
		.page_size = PAGE_SIZE,
		.max_contexts = onpu->limits.contexts,
		.max_jobs = ONPU_SUBMIT_MAX_JOBS,
		.max_syncs = ONPU_SUBMIT_MAX_SYNCS,
		.timeout_ms = onpu->limits.timeout_ms,
		.max_timeout_ms = onpu->limits.max_timeout_ms,
		.max_queued_jobs = ONPU_MAX_QUEUED_JOBS,
		.max_user_contexts = onpu->limits.user_contexts,
	};

	/* The query refuses nothing without the capability, so there is nothing to audit. */
	if (ns_capable_noaudit(&init_user_ns, CAP_SYS_NICE))
		info.priority_mask |= BIT(DRM_ONPU_PRIORITY_HIGH);
	return query_answer(query, &info, sizeof(info));
}

/*
 * Reads the device's clock and the host's at nearly the same time; sets the figures of @info.
 * Returns 0 or an errno, -ENODEV if the device does not answer. The reset lock keeps resets away,
 * and the time lock keeps the two halves of the device's clock together.
 */
static int read_time(struct onpu_device *onpu, struct drm_onpu_time_info *info)
{
	u64 before, after, low, high;
	int ret = pm_runtime_resume_and_get(onpu->drm.dev);

	if (ret)
		return ret;
	ret = down_read_killable(&onpu->reset_lock);
	if (ret)
		goto put;
	scoped_guard(spinlock, &onpu->time_lock) {
		before = ktime_get_ns();
		low = onpu_read(onpu, ONPU_REG_CYCLE_LO);
		after = ktime_get_ns();
		high = onpu_read(onpu, ONPU_REG_CYCLE_HI);
	}
	ret = high != U32_MAX || onpu_device_present(onpu) ? 0 : -ENODEV;
	up_read(&onpu->reset_lock);
	info->cycles = high << 32 | low;
	info->cycles_per_second = onpu_cap(onpu, ONPU_REG_CAP_CLOCK_KHZ) * 1000ull;
	info->monotonic_ns = before + (after - before) / 2;
	info->error_ns = (after - before) / 2 + 1;
put:
	pm_runtime_put_autosuspend(onpu->drm.dev);
	return ret;
}

static int query_time(struct onpu_device *onpu, struct drm_onpu_dev_query *query)
{
	struct drm_onpu_time_info info = {};
	int ret = query->pointer ? read_time(onpu, &info) : 0;

	return ret ?: query_answer(query, &info, sizeof(info));
}

static int query_counters(struct onpu_device *onpu, struct onpu_file *file,
			  struct drm_onpu_dev_query *query)
{
	const struct drm_onpu_counters counters = {
		.busy_ns = onpu_usage_busy_ns(onpu),
		.jobs = atomic64_read(&onpu->usage.jobs),
		.failed_jobs = atomic64_read(&onpu->usage.failed_jobs),
		.resets = atomic_read(&onpu->resets),
		.memory = atomic64_read(&onpu->usage.memory),
		.client_memory = atomic64_read(&file->memory),
		.user_memory = atomic64_read(&file->vm->user->memory),
	};

	return query_answer(query, &counters, sizeof(counters));
}

static int onpu_dev_query_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct onpu_device *onpu = to_onpu(drm);
	struct drm_onpu_dev_query *query = data;

	switch (query->type) {
	case DRM_ONPU_DEV_QUERY_INFO:
		return query_info(onpu, query);
	case DRM_ONPU_DEV_QUERY_CAPS:
		return query_answer(query, onpu->caps, sizeof(onpu->caps));
	case DRM_ONPU_DEV_QUERY_FIRMWARE:
		return query_answer(query, &onpu->fw.info, sizeof(onpu->fw.info));
	case DRM_ONPU_DEV_QUERY_TIME:
		return query_time(onpu, query);
	case DRM_ONPU_DEV_QUERY_COUNTERS:
		return query_counters(onpu, to_onpu_file(file), query);
	default:
		return -EINVAL;
	}
}

/* ---- open files */

static int onpu_open(struct drm_device *drm, struct drm_file *drm_file)
{
	struct onpu_file *file __free(kfree) = kzalloc(sizeof(*file), GFP_KERNEL_ACCOUNT);
	struct onpu_device *onpu = to_onpu(drm);
	struct onpu_user *user;
	int ret;

	if (!file)
		return -ENOMEM;
	if (onpu_device_lost(onpu))
		return -ENODEV;
	file->onpu = onpu;
	file->drm = drm_file;
	user = onpu_user_find(onpu, current_uid());
	if (!user)
		return -ENOMEM;
	ret = onpu_vm_create(onpu, user, &file->vm);
	if (ret) {
		onpu_user_put(user);
		return ret;
	}
	xa_init_flags(&file->ctxs, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	mutex_init(&file->import_lock);
	drm_file->driver_priv = no_free_ptr(file);
	return 0;
}

/*
 * Closes a client's file and returns the result of drm_release(). Destroys the contexts first: a
 * job that then faults on a buffer that is gone counts as cancelled, without a core dump.
 */
static int onpu_release(struct inode *inode, struct file *filp)
{
	struct drm_file *drm_file = filp->private_data;

	onpu_ctx_file_close(to_onpu_file(drm_file));
	/*
	 * The work that ends contexts must end before the module goes: for an unplugged device
	 * nothing else waits for it.
	 */
	if (drm_dev_is_unplugged(drm_file->minor->dev))
		flush_workqueue(to_onpu(drm_file->minor->dev)->wq);
	return drm_release(inode, filp);
}

static void onpu_postclose(struct drm_device *drm, struct drm_file *drm_file)
{
	struct onpu_file *file = to_onpu_file(drm_file);

	onpu_user_free_begin(file->vm->user);
	onpu_vm_put(file->vm);
	mutex_destroy(&file->import_lock);
	kfree(file);
}

static void onpu_show_fdinfo(struct drm_printer *p, struct drm_file *drm_file)
{
	struct onpu_file *file = to_onpu_file(drm_file);
	struct onpu_vm *vm = file->vm;

	drm_printf(p, "drm-engine-npu:\t%llu ns\n", onpu_usage_vm_ns(vm));
	drm_printf(p, "drm-engine-capacity-npu:\t1\n");
	/* The device's clock stands while it has no jobs, so there are no drm-total-cycles. */
	drm_printf(p, "drm-cycles-npu:\t%llu\n", atomic64_read(&vm->cycles));
	drm_printf(p, "drm-maxfreq-npu:\t%u KHz\n", onpu_cap(file->onpu, ONPU_REG_CAP_CLOCK_KHZ));
	onpu_gem_show_memory(p, file);
}

/* ---- the DRM device */

/*
 * The DRM core refuses ioctls on an unplugged device only. These wrappers also refuse them on a
 * wedged device. CTX_GET_STATE has no wrapper, as it tells what happened to a context, nor has
 * BO_SYNC, with which the CPU sees the results of jobs that ended before.
 */
#define REFUSED_IF_LOST(name)								\
static int onpu_ioctl_##name(struct drm_device *drm, void *data, struct drm_file *file)	\
{											\
	return onpu_device_lost(to_onpu(drm)) ? -ENODEV :				\
		onpu_##name##_ioctl(drm, data, file);					\
}

REFUSED_IF_LOST(dev_query)
REFUSED_IF_LOST(bo_create)
REFUSED_IF_LOST(bo_info)
REFUSED_IF_LOST(bo_wrap)
REFUSED_IF_LOST(ctx_create)
REFUSED_IF_LOST(ctx_destroy)
REFUSED_IF_LOST(submit)

static const struct drm_ioctl_desc onpu_ioctls[] = {
	DRM_IOCTL_DEF_DRV(ONPU_DEV_QUERY, onpu_ioctl_dev_query, 0),
	DRM_IOCTL_DEF_DRV(ONPU_BO_CREATE, onpu_ioctl_bo_create, 0),
	DRM_IOCTL_DEF_DRV(ONPU_BO_INFO, onpu_ioctl_bo_info, 0),
	DRM_IOCTL_DEF_DRV(ONPU_BO_SYNC, onpu_bo_sync_ioctl, 0),
	DRM_IOCTL_DEF_DRV(ONPU_CTX_CREATE, onpu_ioctl_ctx_create, 0),
	DRM_IOCTL_DEF_DRV(ONPU_CTX_DESTROY, onpu_ioctl_ctx_destroy, 0),
	DRM_IOCTL_DEF_DRV(ONPU_CTX_GET_STATE, onpu_ctx_get_state_ioctl, 0),
	DRM_IOCTL_DEF_DRV(ONPU_SUBMIT, onpu_ioctl_submit, 0),
	DRM_IOCTL_DEF_DRV(ONPU_BO_WRAP, onpu_ioctl_bo_wrap, 0),
};

/* DRM_ACCEL_FOPS with the driver's own release, and with show_fdinfo. */
static const struct file_operations onpu_fops = {
	.owner = THIS_MODULE,
	.open = accel_open,
	.release = onpu_release,
	.unlocked_ioctl = drm_ioctl,
	.compat_ioctl = drm_compat_ioctl,
	.poll = drm_poll,
	.read = drm_read,
	.llseek = noop_llseek,
	.mmap = drm_gem_mmap,
	.show_fdinfo = drm_show_fdinfo,
	.fop_flags = FOP_UNSIGNED_OFFSET,
};

/*
 * Version 1.1 added max_user_contexts and user_memory, 1.2 bans users, 1.3 ends jobs whose fences
 * take too long, 1.4 has BO_WRAP, 1.5 needs no interrupt for CTX_GET_STATE; see the uapi header.
 */
static const struct drm_driver onpu_drm_driver = {
	.driver_features = DRIVER_GEM | DRIVER_COMPUTE_ACCEL | DRIVER_SYNCOBJ |
			   DRIVER_SYNCOBJ_TIMELINE,
	.open = onpu_open,
	.postclose = onpu_postclose,
	.show_fdinfo = onpu_show_fdinfo,
	.gem_create_object = onpu_gem_create_object,
	.gem_prime_import = onpu_gem_prime_import,
	.prime_fd_to_handle = onpu_gem_prime_fd_to_handle,
	.gem_prime_import_sg_table = drm_gem_shmem_prime_import_sg_table,
	.ioctls = onpu_ioctls,
	.num_ioctls = ARRAY_SIZE(onpu_ioctls),
	.fops = &onpu_fops,
	.name = "onpu",
	.desc = "Open NPU",
	ONPU_DRIVER_DATE
	.major = DRM_ONPU_DRIVER_MAJOR,
	.minor = DRM_ONPU_DRIVER_MINOR,
};

/* ---- the PCI function */

static void set_limits(struct onpu_device *onpu)
{
	struct onpu_limits *limits = &onpu->limits;
	u64 ram = (u64)totalram_pages() * PAGE_SIZE;

	limits->memory = memory_limit_mb ? (u64)memory_limit_mb * SZ_1M : ram / 2;
	limits->all_memory = div_u64(ram, 100) * clamp(max_memory_percent, 1u, 100u);
	limits->contexts = clamp(max_contexts, 1u, 65535u);
	limits->user_contexts = max(max_user_contexts, limits->contexts);
	limits->max_timeout_ms = clamp(max_timeout_ms, 1u, LONGEST_TIMEOUT_MS);
	limits->timeout_ms = clamp(timeout_ms, 1u, limits->max_timeout_ms);
	limits->wait = msecs_to_jiffies(clamp(max_wait_ms, 1u, LONGEST_TIMEOUT_MS));
	limits->fence = msecs_to_jiffies(clamp(max_fence_ms, 1u, LONGEST_TIMEOUT_MS));
	limits->linger = msecs_to_jiffies(min(linger_ms, LONGEST_TIMEOUT_MS));
	limits->run_cycles = (u64)clamp(max_run_ms, 1u, LONGEST_TIMEOUT_MS) *
			     onpu_cap(onpu, ONPU_REG_CAP_CLOCK_KHZ);
}

/* Prepares all parts of the driver and starts the device; returns 0 or an errno. */
static int onpu_bring_up(struct onpu_device *onpu)
{
	static int (*const parts[])(struct onpu_device *onpu) = {
		onpu_device_init, onpu_mbox_init, onpu_fw_init, onpu_dump_init, onpu_mmu_init,
		onpu_ctx_init, onpu_irq_init,
	};
	char text[ONPU_FW_TEXT];
	int ret = 0;

	for (unsigned int i = 0; !ret && i < ARRAY_SIZE(parts); i++)
		ret = parts[i](onpu);
	if (ret)
		return ret;
	set_limits(onpu);
	onpu_irq_allow(onpu, false);
	ret = onpu_device_start(onpu);
	onpu_irq_allow(onpu, true);
	if (ret) {
		onpu_device_unplug(onpu);
		return ret;
	}
	onpu_fw_log_start(onpu);
	drm_info(&onpu->drm, "firmware %s, %u queues, %u interrupt vectors\n",
		 onpu_fw_describe(onpu, text), onpu_cap(onpu, ONPU_REG_CAP_NUM_QUEUES),
		 onpu->num_vectors);
	return 0;
}

static void free_config(void *config)
{
	kfree(config);
}

/* Saves the configuration space, with which a reset puts the device back. Returns 0 or an errno. */
static int save_config(struct onpu_device *onpu)
{
	pci_save_state(onpu->pdev);
	onpu->config = pci_store_saved_state(onpu->pdev);
	if (!onpu->config)
		return -ENOMEM;
	return devm_add_action_or_reset(onpu->drm.dev, free_config, onpu->config);
}

/*
 * Lets the kernel make buffers of large pages, with which the device reads fewer page tables.
 * Returns 0, even if buffers will have small pages only, or an errno if no buffer could be made.
 */
static int allow_large_pages(struct onpu_device *onpu)
{
	int ret = drm_gem_huge_mnt_create(&onpu->drm, "within_size");

	if (ret)
		drm_notice(&onpu->drm, "buffers get no large pages, so the device is slower: %pe\n",
			   ERR_PTR(ret));
	/* Linux 7.3 returns 0 even if it could not mount, and then no buffer can be made. */
	return PTR_ERR_OR_ZERO(drm_gem_get_huge_mnt(&onpu->drm));
}

static int onpu_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct onpu_device *onpu;
	int ret;

	ret = pcim_enable_device(pdev);
	if (ret)
		return ret;
	onpu = devm_drm_dev_alloc(&pdev->dev, &onpu_drm_driver, struct onpu_device, drm);
	if (IS_ERR(onpu))
		return PTR_ERR(onpu);
	onpu->pdev = pdev;
	pci_set_drvdata(pdev, onpu);
	if (pci_resource_len(pdev, 0) < ONPU_BAR0_SIZE)
		return dev_err_probe(&pdev->dev, -ENODEV,
				     "BAR 0 of the device is too small for the registers of an Open NPU: use a driver and a device (onpu-emu) of one release\n");
	onpu->regs = pcim_iomap_region(pdev, 0, "onpu");
	if (IS_ERR(onpu->regs))
		return PTR_ERR(onpu->regs);
	ret = save_config(onpu);
	if (!ret)
		ret = onpu_bring_up(onpu);
	if (ret)
		return dev_err_probe(&pdev->dev, ret,
				     "the device could not be started, for the reason in the messages before this one or, if there are none, for this error\n");
	onpu_debugfs_init(onpu);
	ret = allow_large_pages(onpu);
	if (!ret)
		ret = drm_dev_register(&onpu->drm, 0);
	if (ret) {
		onpu_device_unplug(onpu);
		return ret;
	}
	if (IS_ENABLED(CONFIG_PERF_EVENTS))
		onpu_pmu_add(onpu);
	onpu_hwmon_add(onpu);
	/* If the administrator allows it, the device sleeps when it has had no job for a second. */
	pm_runtime_set_autosuspend_delay(&pdev->dev, MSEC_PER_SEC);
	pm_runtime_use_autosuspend(&pdev->dev);
	pm_runtime_put_autosuspend(&pdev->dev);
	return 0;
}

static void onpu_remove(struct pci_dev *pdev)
{
	struct onpu_device *onpu = pci_get_drvdata(pdev);

	pm_runtime_get_sync(&pdev->dev);
	pm_runtime_dont_use_autosuspend(&pdev->dev);
	drm_dev_unplug(&onpu->drm);
	onpu_device_unplug(onpu);
}

/* QEMU leaves this device ID to experiments; the subsystem IDs tell the device from others. */
static const struct pci_device_id onpu_pci_ids[] = {
	{ PCI_DEVICE_SUB(ONPU_PCI_VENDOR, ONPU_PCI_DEVICE, ONPU_PCI_VENDOR, ONPU_PCI_DEVICE) },
	{}
};
MODULE_DEVICE_TABLE(pci, onpu_pci_ids);

__ATTRIBUTE_GROUPS(onpu_sysfs);

static struct pci_driver onpu_pci_driver = {
	.name = "onpu",
	.id_table = onpu_pci_ids,
	.probe = onpu_probe,
	.remove = onpu_remove,
	.shutdown = onpu_remove,
	.err_handler = &onpu_error_handlers,
	.driver.pm = pm_ptr(&onpu_pm_ops),
	.dev_groups = onpu_sysfs_groups,
};

static int __init onpu_init(void)
{
	int ret;

	onpu_free_wq = alloc_workqueue("onpu-free", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!onpu_free_wq)
		return -ENOMEM;
	ret = pci_register_driver(&onpu_pci_driver);
	if (ret)
		destroy_workqueue(onpu_free_wq);
	return ret;
}
module_init(onpu_init);

static void __exit onpu_exit(void)
{
	pci_unregister_driver(&onpu_pci_driver);
	if (IS_ENABLED(CONFIG_PERF_EVENTS))
		onpu_pmu_exit();
	destroy_workqueue(onpu_free_wq);
	/* Wait for fences that are freed after a grace period. */
	rcu_barrier();
}
module_exit(onpu_exit);

MODULE_DESCRIPTION("Open NPU");
MODULE_LICENSE("Dual MIT/GPL");
