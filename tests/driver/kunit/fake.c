// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* A device without hardware: see fake.h. */
#include <linux/bitfield.h>
#include <linux/dma-mapping.h>
#include <linux/platform_device.h>

#include <drm/drm_managed.h>

#include "fake.h"
#include "onpu_core.h"
#include "onpu_ctx.h"
#include "onpu_user.h"

static const struct drm_driver fake_driver = {
	.driver_features = DRIVER_GEM,
	.gem_create_object = onpu_gem_create_object,
	.name = "onpu-kunit",
	.desc = "Open NPU without hardware",
};

static void do_nothing(struct work_struct *work)
{
}

void fake_set(struct onpu_device *onpu, u32 reg, u32 value)
{
	writel(value, onpu->regs + reg);
}

u32 fake_get(struct onpu_device *onpu, u32 reg)
{
	return readl(onpu->regs + reg);
}

enum onpu_reset_reason fake_reset_reason(struct onpu_device *onpu)
{
	flush_workqueue(onpu->reset_wq);
	return xchg(&onpu->reset_reason, ONPU_RESET_NONE);
}

static void set_cap(struct onpu_device *onpu, u32 reg, u32 value)
{
	onpu->caps[(reg - ONPU_REG_CAP_MACHINE) / 4] = value;
}

/*
 * Initializes the members that onpu_device_init() initializes and sets the values that it reads
 * from registers. Returns 0 or an errno.
 */
static int fill_in(struct onpu_device *onpu, struct device *dev)
{
	void *memory;
	int ret;

	memory = devm_kzalloc(dev, ONPU_BAR0_SIZE, GFP_KERNEL);
	if (!memory)
		return -ENOMEM;
	onpu->regs = (void __iomem __force *)memory;
	spin_lock_init(&onpu->usage.lock);
	init_rwsem(&onpu->reset_lock);
	INIT_WORK(&onpu->reset_work, do_nothing);
	INIT_LIST_HEAD(&onpu->bos);
	INIT_LIST_HEAD(&onpu->users);
	ret = drmm_mutex_init(&onpu->drm, &onpu->dma_lock) ?:
	      drmm_mutex_init(&onpu->drm, &onpu->users_lock) ?:
	      drmm_mutex_init(&onpu->drm, &onpu->fw.log_lock);
	if (ret)
		return ret;
	onpu->reset_wq = alloc_ordered_workqueue("onpu-kunit", 0);
	if (!onpu->reset_wq)
		return -ENOMEM;
	set_cap(onpu, ONPU_REG_CAP_NUM_QUEUES, 4);
	set_cap(onpu, ONPU_REG_CAP_NUM_ASIDS, 64);
	set_cap(onpu, ONPU_REG_CAP_ADDRESS, FIELD_PREP(ONPU_CAP_ADDRESS_VA_BITS__MASK, 38));
	onpu->limits.memory = SZ_1G;
	onpu->limits.all_memory = SZ_1G;
	onpu->limits.run_cycles = 1000000;
	onpu->limits.wait = 100 * HZ;
	onpu->limits.fence = 100 * HZ;
	onpu->num_vectors = 1;
	fake_set(onpu, ONPU_REG_ID, ONPU_ID_MAGIC);
	fake_set(onpu, ONPU_REG_STATUS, FIELD_PREP(ONPU_STATUS_STATE__MASK, ONPU_STATE_READY));
	ret = onpu_mmu_init(onpu) ?: onpu_ctx_init(onpu) ?: onpu_mbox_init(onpu);
	if (!ret)
		onpu_mbox_start(onpu);
	return ret;
}

int fake_init(struct kunit *test)
{
	struct platform_device *pdev = platform_device_register_simple("onpu-kunit", -1, NULL, 0);
	struct onpu_device *onpu;
	int ret;

	if (IS_ERR(pdev))
		return PTR_ERR(pdev);
	ret = dma_coerce_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(64));
	dma_set_max_seg_size(&pdev->dev, UINT_MAX);
	onpu = devm_drm_dev_alloc(&pdev->dev, &fake_driver, struct onpu_device, drm);
	if (IS_ERR(onpu))
		ret = PTR_ERR(onpu);
	if (!ret)
		ret = fill_in(onpu, &pdev->dev);
	if (ret) {
		platform_device_unregister(pdev);
		return ret;
	}
	test->priv = onpu;
	return 0;
}

void fake_exit(struct kunit *test)
{
	struct onpu_device *onpu = test->priv;

	flush_workqueue(onpu_free_wq);
	destroy_workqueue(onpu->reset_wq);
	platform_device_unregister(to_platform_device(onpu->drm.dev));
}

int fake_init_with(struct kunit *test, size_t size)
{
	struct onpu_device **shared;
	int ret = fake_init(test);

	if (ret)
		return ret;
	shared = kvzalloc(size, GFP_KERNEL);
	if (!shared) {
		fake_exit(test);
		return -ENOMEM;
	}
	*shared = test->priv;
	test->priv = shared;
	return 0;
}

void fake_exit_with(struct kunit *test)
{
	struct onpu_device **shared = test->priv;

	test->priv = *shared;
	fake_exit(test);
	kvfree(shared);
}

int fake_vm_create(struct onpu_device *onpu, struct onpu_vm **vm)
{
	struct onpu_user *user = onpu_user_find(onpu, GLOBAL_ROOT_UID);

	return user ? onpu_vm_create(onpu, user, vm) : -ENOMEM;
}

void fake_vm_close(struct onpu_vm *vm)
{
	/* Drops the reference of the file: closing a file calls onpu_vm_put(). */
	onpu_user_free_begin(vm->user);
	onpu_vm_put(vm);
}

void fake_vm_put(struct onpu_vm *vm)
{
	struct onpu_device *onpu = vm->onpu;

	/* The reset frees the mappings that are left, and the address space with them. */
	onpu_mmu_post_reset(onpu);
	flush_workqueue(onpu_free_wq);
	fake_vm_close(vm);
	onpu_mmu_post_reset(onpu);
	flush_workqueue(onpu_free_wq);
}
