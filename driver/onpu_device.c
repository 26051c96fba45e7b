// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Registers, capabilities, interrupts and counters of the device. */
#include <linux/cc_platform.h>
#include <linux/cpumask.h>
#include <linux/dma-mapping.h>
#include <linux/interrupt.h>
#include <linux/math64.h>

#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "onpu_compat.h"
#include "onpu_core.h"
#include "onpu_ctx.h"

/* Completion vectors to ask for if there are fewer CPUs: an interrupt checks a vector's queues. */
#define MIN_COMPLETION_VECTORS	4

#define MAX_SAVE_BYTES		SZ_256M

u32 onpu_read(struct onpu_device *onpu, u32 reg)
{
	CLASS(onpu_entered, entered)(&onpu->drm);

	return entered < 0 ? U32_MAX : readl(onpu->regs + reg);
}

void onpu_write(struct onpu_device *onpu, u32 reg, u32 value)
{
	CLASS(onpu_entered, entered)(&onpu->drm);

	if (entered >= 0)
		writel(value, onpu->regs + reg);
}

void onpu_write64(struct onpu_device *onpu, u32 reg_lo, u64 value)
{
	onpu_write(onpu, reg_lo, lower_32_bits(value));
	onpu_write(onpu, reg_lo + 4, upper_32_bits(value));
}

bool onpu_read_counter(struct onpu_device *onpu, u64 counter, u64 *value)
{
	u32 before, low, high;

	/* Read this before the registers, and again after them, so that no reset is missed. */
	if (smp_load_acquire(&onpu->in_reset))
		return false;
	before = onpu_read(onpu, ONPU_REG_COUNTER_HI(counter));
	low = onpu_read(onpu, ONPU_REG_COUNTER_LO(counter));
	high = onpu_read(onpu, ONPU_REG_COUNTER_HI(counter));
	/* The low half has just wrapped around, and will not do so again soon. */
	if (high != before)
		low = onpu_read(onpu, ONPU_REG_COUNTER_LO(counter));
	*value = (u64)high << 32 | low;
	return high != U32_MAX && !READ_ONCE(onpu->in_reset);
}

/*
 * Returns whether the device answers; false, without an access, during a reset and while the device
 * sleeps. If the device does not answer at any other time, asks for a reset, unless the device is
 * unplugged.
 */
bool onpu_device_present(struct onpu_device *onpu)
{
	/* Read this before the register, so that a reset that ends in between is not missed. */
	if (smp_load_acquire(&onpu->in_reset))
		return false;
	if (onpu_read(onpu, ONPU_REG_ID) == ONPU_ID_MAGIC)
		return true;
	if (!READ_ONCE(onpu->in_reset) && !drm_dev_is_unplugged(&onpu->drm))
		onpu_device_reset_async(onpu, ONPU_RESET_ABSENT);
	return false;
}

/* ---- capabilities */

static u32 dma_bits(const struct onpu_device *onpu)
{
	return FIELD_GET(ONPU_CAP_ADDRESS_DMA_BITS__MASK, onpu_cap(onpu, ONPU_REG_CAP_ADDRESS));
}

#define CAP(name, min, max)	{ "CAP_" #name, onpu_cap(onpu, ONPU_REG_CAP_##name), min, max }

static int check_caps(struct onpu_device *onpu)
{
	const struct { const char *name; u32 value, min, max; } caps[] = {
		CAP(NUM_QUEUES, 1, ONPU_MAX_QUEUES),
		CAP(NUM_VMS, 1, ONPU_MAX_QUEUES),
		CAP(NUM_ASIDS, 2, U16_MAX + 1),
		CAP(SAVE_BYTES, 1, MAX_SAVE_BYTES),
		CAP(CLOCK_KHZ, 1, U32_MAX - 1),
		{ "CAP_ADDRESS.VA_BITS", ilog2(onpu_va_end(onpu)) + 1, 38, 38 },
		{ "CAP_ADDRESS.DMA_BITS", dma_bits(onpu), 32, 64 },
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(caps); i++) {
		if (caps[i].value >= caps[i].min && caps[i].value <= caps[i].max)
			continue;
		drm_err(&onpu->drm, "property %s of the device is %u, but this driver supports %u to %u: install a newer onpu-dkms\n",
			caps[i].name, caps[i].value, caps[i].min, caps[i].max);
		return -ENODEV;
	}
	return 0;
}

static int read_caps(struct onpu_device *onpu)
{
	static_assert(ARRAY_SIZE(onpu->caps) >= ONPU_REG_CAP__LENGTH);
	for (unsigned int i = 0; i < ONPU_REG_CAP__LENGTH; i++)
		onpu->caps[i] = onpu_read(onpu, ONPU_REG_CAP_MACHINE + 4 * i);
	onpu->num_counters = min(onpu_read(onpu, ONPU_REG_NUM_COUNTERS), ONPU_COUNTER_COUNT);
	return check_caps(onpu);
}

static int check_version(struct onpu_device *onpu)
{
	u32 id = onpu_read(onpu, ONPU_REG_ID);
	u32 major = FIELD_GET(ONPU_VERSION_MAJOR__MASK, onpu_read(onpu, ONPU_REG_VERSION));

	if (id != ONPU_ID_MAGIC) {
		drm_err(&onpu->drm, "this is not an Open NPU, or it does not answer: the register ID reads %#x, not %#x\n",
			id, ONPU_ID_MAGIC);
		return -ENODEV;
	}
	if (major != FIELD_GET(ONPU_VERSION_MAJOR__MASK, ONPU_VERSION__RESET)) {
		drm_err(&onpu->drm, "the device has version %u of the registers, but this driver knows only version %u: install onpu-dkms of the device's release\n",
			major, FIELD_GET(ONPU_VERSION_MAJOR__MASK, ONPU_VERSION__RESET));
		return -ENODEV;
	}
	return 0;
}

static void destroy_wq(struct drm_device *drm, void *wq)
{
	destroy_workqueue(wq);
}

/*
 * Stores @wq in *@to. The workqueue is destroyed with the DRM device, because contexts have work
 * there that may end after the driver was unbound. Returns 0 or an errno, -ENOMEM if @wq is NULL.
 */
static int keep_wq(struct onpu_device *onpu, struct workqueue_struct **to,
		   struct workqueue_struct *wq)
{
	*to = wq;
	return wq ? drmm_add_action_or_reset(&onpu->drm, destroy_wq, wq) : -ENOMEM;
}

/*
 * Sets &onpu_device.snoops and &onpu_device.bounces. Returns 0, -ENOMEM, or -EIO for a device that
 * does not reach all memory of its driver.
 */
static int check_dma(struct onpu_device *onpu)
{
	struct device *dev = onpu->drm.dev;
	struct page *page;
	dma_addr_t addr;
	bool reserved, encrypted;

	if (dma_addressing_limited(dev)) {
		drm_err(&onpu->drm, "the device, which has %u address bits, or its bus cannot reach all memory of this machine: enable the machine's IOMMU\n",
			dma_bits(onpu));
		return -EIO;
	}
	page = dma_alloc_pages(dev, PAGE_SIZE, &addr, DMA_BIDIRECTIONAL, GFP_KERNEL);
	if (!page)
		return -ENOMEM;
	onpu->snoops = onpu_dev_snoops(dev);
	/* Only where the kernel uses bounce buffers is there a limit to the size of a mapping. */
	onpu->bounces = dma_max_mapping_size(dev) < SIZE_MAX;
	/*
	 * A restricted pool gives reserved pages, whose references the kernel does not count; but
	 * a program that maps a page must keep it after the driver is unbound.
	 */
	reserved = PageReserved(page);
	dma_free_pages(dev, PAGE_SIZE, page, addr, DMA_BIDIRECTIONAL);
	/* Only x86 has encrypted hosts as well: elsewhere memory is encrypted in guests alone. */
	encrypted = cc_platform_has(CC_ATTR_MEM_ENCRYPT) &&
		    !cc_platform_has(CC_ATTR_HOST_MEM_ENCRYPT);
	if (!reserved && !encrypted)
		return 0;
	drm_err(&onpu->drm,
		"the device cannot reach memory of its driver: use a guest without encrypted memory, and without a restricted-dma-pool\n");
	return -EIO;
}

int onpu_device_init(struct onpu_device *onpu)
{
	struct device *dev = onpu->drm.dev;
	int ret;

	spin_lock_init(&onpu->usage.lock);
	spin_lock_init(&onpu->usage.energy.lock);
	spin_lock_init(&onpu->time_lock);
	init_rwsem(&onpu->reset_lock);
	INIT_WORK(&onpu->reset_work, onpu_device_reset_work);
	INIT_WORK(&onpu->event_work, onpu_device_event_work);
	INIT_DELAYED_WORK(&onpu->quarantine_work, onpu_device_quarantine_work);
	INIT_LIST_HEAD(&onpu->bos);
	INIT_LIST_HEAD(&onpu->users);
	ret = drmm_mutex_init(&onpu->drm, &onpu->dma_lock);
	if (!ret)
		ret = drmm_mutex_init(&onpu->drm, &onpu->users_lock);
	if (!ret)
		ret = keep_wq(onpu, &onpu->wq, alloc_workqueue("onpu", WQ_HIGHPRI | WQ_MEM_RECLAIM |
							       WQ_PERCPU, 0));
	if (!ret)
		ret = keep_wq(onpu, &onpu->reset_wq,
			      alloc_ordered_workqueue("onpu-reset", WQ_MEM_RECLAIM));
	if (!ret)
		ret = check_version(onpu);
	if (!ret)
		ret = read_caps(onpu);
	if (ret)
		return ret;
	dma_set_max_seg_size(dev, UINT_MAX);
	ret = dma_set_mask_and_coherent(dev, DMA_BIT_MASK(dma_bits(onpu)));
	if (ret)
		return ret;
	return check_dma(onpu);
}

/* ---- interrupts */

/* Ends completed jobs of the queues in INT_QUEUE_PENDING; used when there is a single vector. */
static void completion_irq(struct onpu_device *onpu)
{
	for (unsigned int i = 0; i < ONPU_REG_INT_QUEUE__LENGTH; i++) {
		unsigned long pending = onpu_read(onpu, ONPU_REG_INT_QUEUE_PENDING(i));
		unsigned int bit;

		/* Clear the bits before checking the queues, so that no completion gets lost. */
		if (pending)
			onpu_write(onpu, ONPU_REG_INT_QUEUE_PENDING(i), pending);
		for_each_set_bit(bit, &pending, 32)
			if (32 * i + bit < onpu_cap(onpu, ONPU_REG_CAP_NUM_QUEUES))
				onpu_ctx_irq(onpu, 32 * i + bit);
	}
}

static irqreturn_t management_thread(int irq, void *data)
{
	struct onpu_device *onpu = *(struct onpu_device **)data;
	u32 causes = onpu_read(onpu, ONPU_REG_INT_STATUS);

	if (causes == U32_MAX) {
		onpu_device_present(onpu);
		return IRQ_HANDLED;
	}
	/* Clear the causes before handling them, so that none gets lost. */
	onpu_write(onpu, ONPU_REG_INT_STATUS, causes);
	if (causes & ONPU_INT_STATUS_RESPONSE__MASK)
		onpu_mbox_irq(onpu);
	if (causes & ONPU_INT_STATUS_INVALIDATED__MASK)
		onpu_mmu_irq(onpu);
	if (causes & ONPU_INT_STATUS_COMPLETION__MASK)
		completion_irq(onpu);
	if (causes & ONPU_INT_STATUS_LOG__MASK)
		onpu_fw_log_drain(onpu);
	if (causes & ONPU_INT_STATUS_STATUS__MASK)
		onpu_fw_status_irq(onpu);
	return IRQ_HANDLED;
}

/* Threaded handler: looks for completed jobs on the queues that share the interrupt vector. */
static irqreturn_t completion_thread(int irq, void *data)
{
	struct onpu_device **vector = data, *onpu = *vector;

	for (u32 q = vector - onpu->vectors - 1; q < onpu_cap(onpu, ONPU_REG_CAP_NUM_QUEUES);
	     q += onpu->num_vectors - 1)
		onpu_ctx_irq(onpu, q);
	return IRQ_HANDLED;
}

void onpu_irq_allow(struct onpu_device *onpu, bool allow)
{
	for (unsigned int i = 0; i < onpu->num_vectors; i++)
		(allow ? enable_irq : disable_irq)(pci_irq_vector(onpu->pdev, i));
}

static void free_irqs(struct onpu_device *onpu, unsigned int count)
{
	while (count--)
		pci_free_irq(onpu->pdev, count, &onpu->vectors[count]);
	pci_free_irq_vectors(onpu->pdev);
}

void onpu_irq_fini(void *data)
{
	struct onpu_device *onpu = data;

	free_irqs(onpu, onpu->num_vectors);
}

static int alloc_vectors(struct onpu_device *onpu)
{
	u32 queues = min(onpu_cap(onpu, ONPU_REG_CAP_NUM_QUEUES),
			 max(num_online_cpus(), MIN_COMPLETION_VECTORS));
	int count = pci_alloc_irq_vectors(onpu->pdev, 2, 1 + queues, PCI_IRQ_MSIX);

	if (count < 0)
		count = pci_alloc_irq_vectors(onpu->pdev, 1, 1, PCI_IRQ_MSIX | PCI_IRQ_MSI);
	if (count < 0)
		drm_err(&onpu->drm, "the kernel gives the device no interrupt (MSI-X or MSI): %pe\n",
			ERR_PTR(count));
	return count;
}

int onpu_irq_init(struct onpu_device *onpu)
{
	int ret = alloc_vectors(onpu);

	if (ret < 0)
		return ret;
	onpu->num_vectors = ret;
	onpu->vectors = drmm_kcalloc(&onpu->drm, ret, sizeof(*onpu->vectors), GFP_KERNEL);
	if (!onpu->vectors) {
		pci_free_irq_vectors(onpu->pdev);
		return -ENOMEM;
	}
	for (unsigned int i = 0; i < onpu->num_vectors; i++) {
		onpu->vectors[i] = onpu;
		ret = pci_request_irq(onpu->pdev, i, NULL,
				      i ? completion_thread : management_thread,
				      &onpu->vectors[i], "onpu%u@pci:%s", i, pci_name(onpu->pdev));
		if (ret) {
			free_irqs(onpu, i);
			return ret;
		}
	}
	return devm_add_action_or_reset(onpu->drm.dev, onpu_irq_fini, onpu);
}

/* ---- counters */

/* Returns the time since &onpu_usage.since in which the hardware had jobs. */
static u64 busy_since(const struct onpu_usage *usage, ktime_t now)
{
	lockdep_assert_held(&usage->lock);
	return usage->running ? ktime_to_ns(ktime_sub(now, usage->since)) : 0;
}

static u64 share_at(const struct onpu_usage *usage, ktime_t now)
{
	u64 busy_ns = busy_since(usage, now);

	return usage->share_ns + (busy_ns ? div_u64(busy_ns, usage->running) : 0);
}

/* Brings the counters up to now, before @vm gets or loses a context whose jobs the hardware has. */
static void usage_update(struct onpu_usage *usage, struct onpu_vm *vm)
{
	ktime_t now = ktime_get();

	usage->share_ns = share_at(usage, now);
	usage->busy_ns += busy_since(usage, now);
	usage->since = now;
	vm->usage.busy_ns += vm->usage.running * (usage->share_ns - vm->usage.since);
	vm->usage.since = usage->share_ns;
}

u64 onpu_usage_begin(struct onpu_vm *vm)
{
	struct onpu_device *onpu = vm->onpu;
	struct onpu_usage *usage = &onpu->usage;

	guard(spinlock)(&usage->lock);
	usage_update(usage, vm);
	if (!usage->running++)
		queue_delayed_work(onpu->wq, &onpu->fw.heartbeat, ONPU_HEARTBEAT_INTERVAL);
	vm->usage.running++;
	return usage->share_ns;
}

u64 onpu_usage_end(struct onpu_vm *vm)
{
	struct onpu_usage *usage = &vm->onpu->usage;

	guard(spinlock)(&usage->lock);
	usage_update(usage, vm);
	usage->running--;
	vm->usage.running--;
	return usage->share_ns;
}

u64 onpu_usage_busy_ns(struct onpu_device *onpu)
{
	struct onpu_usage *usage = &onpu->usage;

	guard(spinlock)(&usage->lock);
	return usage->busy_ns + busy_since(usage, ktime_get());
}

u64 onpu_usage_share_ns(struct onpu_device *onpu)
{
	struct onpu_usage *usage = &onpu->usage;

	guard(spinlock)(&usage->lock);
	return share_at(usage, ktime_get());
}

u64 onpu_usage_vm_ns(struct onpu_vm *vm)
{
	struct onpu_usage *usage = &vm->onpu->usage;

	guard(spinlock)(&usage->lock);
	return vm->usage.busy_ns +
	       vm->usage.running * (share_at(usage, ktime_get()) - vm->usage.since);
}
