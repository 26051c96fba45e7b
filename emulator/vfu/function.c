// SPDX-License-Identifier: MIT
/* The PCI function: regions, resets, and the device's accesses to memory and interrupts. */
#include "vfu/function.h"

#include <linux/vfio.h>
#include <string.h>

/* ---- functions that the device calls */

static int host_read(void *ctx, uint64_t addr, void *dst, size_t len)
{
	struct vfu_function *f = ctx;
	int ret = vfu_dma_read(&f->dma, addr, dst, len);

	vfu_recorder_add(f->recorder, VFU_RECORD_READ, addr, len, dst, ret ? 0 : len);
	return ret;
}

static int host_write(void *ctx, uint64_t addr, const void *src, size_t len)
{
	struct vfu_function *f = ctx;
	uint8_t copy[ONPU_CORE_DMA_MAX];
	const void *written = src;
	int ret;

	/* Messages of the firmware are short, so longer data is no message. */
	if (len <= sizeof(copy) && vfu_inject_spoils(&f->injector)) {
		memcpy(copy, src, len);
		vfu_inject_memory(&f->injector, addr, copy, len);
		written = copy;
	}
	ret = vfu_dma_write(&f->dma, addr, written, len);
	vfu_recorder_add(f->recorder, VFU_RECORD_WRITE, addr, ret != 0, src, len);
	return ret;
}

static void host_interrupt(void *ctx, unsigned int vector)
{
	struct vfu_function *f = ctx;

	vfu_recorder_add(f->recorder, VFU_RECORD_INTERRUPT, vector, 0, NULL, 0);
	vfu_inject_interrupt(&f->injector, vector);
}

static void host_trace(void *ctx, uint64_t cycle, unsigned int kind, uint32_t offset,
		       uint32_t value)
{
	const struct vfu_record_access access = { kind, offset, value };
	struct vfu_function *f = ctx;

	vfu_recorder_add(f->recorder, VFU_RECORD_ACCESS, onpu_device_point(f->device), cycle,
			 &access, sizeof(access));
}

static void host_wake(void *ctx)
{
	struct vfu_function *f = ctx;

	vfu_worker_wake(&f->worker);
}

/* ---- functions that the injector calls */

static void raise_interrupt(void *ctx, unsigned int vector)
{
	struct vfu_function *f = ctx;

	vfu_irqs_raise(&f->irqs, vector);
}

static void write_register(void *ctx, uint32_t offset, uint32_t value)
{
	struct vfu_function *f = ctx;

	onpu_device_mmio_write(f->device, offset, sizeof(value), value);
}

static void make_fault(void *ctx, enum vfu_fault fault)
{
	struct vfu_function *f = ctx;

	switch (fault) {
	case VFU_FAULT_STUCK_ENGINE:
		onpu_device_inject_stuck(f->device);
		break;
	case VFU_FAULT_DEAD_FIRMWARE:
		onpu_device_inject_dead_core(f->device);
		break;
	default:
		onpu_device_inject_parity(f->device);
	}
}

/* ---- resets */

/*
 * Follows the bus master bit: without it the function may neither access memory nor send
 * interrupts.
 */
static void follow_config(struct vfu_function *f)
{
	bool may = pci_config_master_enabled(&f->pci);

	vfu_dma_enable(&f->dma, may);
	vfu_irqs_enable(&f->irqs, may);
}

static void reset_msix_table(struct vfu_function *f)
{
	memset(f->msix_table, 0, sizeof(f->msix_table));
	for (unsigned int i = 0; i < f->pci.vectors; i++)
		f->msix_table[i * PCI_MSIX_ENTRY_SIZE + PCI_MSIX_ENTRY_VECTOR_CTRL] =
			PCI_MSIX_ENTRY_CTRL_MASKBIT;
}

/*
 * Resets the device. Access to the client's memory is disabled first: the device writes nothing
 * once the reset has begun. Interrupt descriptors stay, since a client that resets by FLR does not
 * attach them again.
 */
static void reset_device(struct vfu_function *f)
{
	vfu_dma_enable(&f->dma, false);
	onpu_device_reset(f->device);
	vfu_inject_reset(&f->injector);
	vfu_irqs_forget_pending(&f->irqs);
	reset_msix_table(f);
	follow_config(f);
}

void vfu_function_reset(struct vfu_function *f)
{
	vfu_recorder_add(f->recorder, VFU_RECORD_CONFIG_RESET, 0, 0, NULL, 0);
	pci_config_reset(&f->pci);
	reset_device(f);
}

void vfu_function_release(struct vfu_function *f)
{
	vfu_inject_clear(&f->injector);
	vfu_irqs_clear(&f->irqs);
	vfu_dma_clear(&f->dma);
	vfu_recorder_add(f->recorder, VFU_RECORD_CONFIG_RESET, 1, 0, NULL, 0);
	pci_config_init(&f->pci, f->pci.vectors);
	reset_device(f);
}

/*
 * Resets the function when its link goes down, as PCI Express demands: when the link is back, the
 * function is disabled.
 */
static void lose_link(void *ctx)
{
	vfu_function_reset(ctx);
}

/* ---- regions */

static uint32_t pba_size(const struct vfu_function *f)
{
	return (f->pci.vectors + 63) / 64 * 8;
}

uint64_t vfu_function_region(const struct vfu_function *f, uint32_t region)
{
	switch (region) {
	case VFIO_PCI_BAR0_REGION_INDEX:
		return ONPU_BAR0_SIZE;
	case VFIO_PCI_BAR2_REGION_INDEX:
		return f->pci.vectors ? PCI_CONFIG_MSIX_BAR_SIZE : 0;
	case VFIO_PCI_CONFIG_REGION_INDEX:
		return PCI_CONFIG_SIZE;
	default:
		return 0;
	}
}

/* Reads one register; any other read gives all ones, as onpu_device.h says. */
static void bar0_read(struct vfu_function *f, uint64_t offset, uint8_t *data, uint32_t count)
{
	uint64_t value = UINT64_MAX;

	memset(data, 0xff, count);
	if (count > sizeof(value) || vfu_inject_ones(&f->injector))
		return;
	value = onpu_device_mmio_read(f->device, offset, count);
	memcpy(data, &value, count);
}

static void bar0_write(struct vfu_function *f, uint64_t offset, const uint8_t *data, uint32_t count)
{
	uint64_t value = 0;

	if (count > sizeof(value))
		return;
	memcpy(&value, data, count);
	if (count == sizeof(uint32_t))
		vfu_inject_write(&f->injector, (uint32_t)offset, (uint32_t)value);
	else
		onpu_device_mmio_write(f->device, offset, count, value);
}

static uint8_t msix_byte(struct vfu_function *f, uint64_t offset)
{
	uint8_t pending = 0;

	if (offset < f->pci.vectors * PCI_MSIX_ENTRY_SIZE)
		return f->msix_table[offset];
	if (offset < PCI_CONFIG_MSIX_PBA || offset - PCI_CONFIG_MSIX_PBA >= pba_size(f))
		return 0;
	for (unsigned int i = 0; i < 8; i++) {
		uint64_t vector = (offset - PCI_CONFIG_MSIX_PBA) * 8 + i;

		if (vector < f->pci.vectors && vfu_irqs_pending(&f->irqs, (unsigned int)vector))
			pending |= (uint8_t)(1u << i);
	}
	return pending;
}

/*
 * Writes the MSI-X table, for later reads only: the client itself keeps the table by which
 * interrupts are sent.
 */
static void msix_write(struct vfu_function *f, uint64_t offset, const uint8_t *data, uint32_t count)
{
	uint64_t size = f->pci.vectors * PCI_MSIX_ENTRY_SIZE;

	for (uint32_t i = 0; i < count && offset + i < size; i++)
		f->msix_table[offset + i] = data[i];
}

void vfu_function_read(struct vfu_function *f, uint32_t region, uint64_t offset, void *data,
		       uint32_t count)
{
	uint8_t *to = data;

	if (vfu_inject_link_down(&f->injector)) {
		memset(data, 0xff, count);
	} else if (region == VFIO_PCI_CONFIG_REGION_INDEX) {
		pci_config_read(&f->pci, (uint32_t)offset, data, count);
		vfu_recorder_add(f->recorder, VFU_RECORD_CONFIG_READ, offset, 0, data, count);
	} else if (!pci_config_memory_enabled(&f->pci)) {
		memset(data, 0xff, count);
	} else if (region == VFIO_PCI_BAR0_REGION_INDEX) {
		bar0_read(f, offset, data, count);
	} else {
		for (uint32_t i = 0; i < count; i++)
			to[i] = msix_byte(f, offset + i);
	}
}

void vfu_function_write(struct vfu_function *f, uint32_t region, uint64_t offset, const void *data,
			uint32_t count)
{
	if (vfu_inject_link_down(&f->injector))
		return;
	if (region == VFIO_PCI_CONFIG_REGION_INDEX) {
		bool reset = pci_config_write(&f->pci, (uint32_t)offset, data, count);

		vfu_recorder_add(f->recorder, VFU_RECORD_CONFIG_WRITE, offset, 0, data, count);
		if (reset)
			reset_device(f);
		else
			follow_config(f);
	} else if (!pci_config_memory_enabled(&f->pci)) {
		return;
	} else if (region == VFIO_PCI_BAR0_REGION_INDEX) {
		bar0_write(f, offset, data, count);
	} else {
		msix_write(f, offset, data, count);
	}
	vfu_worker_settle(&f->worker);
}

/* ---- creation */

bool vfu_function_init(struct vfu_function *f, const struct vfu_function_config *config,
		       const char **error)
{
	const struct onpu_host_ops host = {
		.ctx = f,
		.read = host_read,
		.write = host_write,
		.interrupt = host_interrupt,
		.wake = host_wake,
		.trace = config->recorder ? host_trace : NULL,
	};
	const struct vfu_inject_ops inject = {
		.ctx = f,
		.interrupt = raise_interrupt,
		.write = write_register,
		.fault = make_fault,
		.link = lose_link,
	};
	unsigned int vectors = config->msix ? config->device.sim.num_queues + 1 : 0;
	bool irqs, injector;

	memset(f, 0, sizeof(*f));
	f->recorder = config->recorder;
	vfu_recorder_begin(f->recorder, &config->device, vectors);
	injector = vfu_inject_init(&f->injector, &inject);
	vfu_dma_init(&f->dma);
	vfu_worker_init(&f->worker, config->sync);
	f->device = onpu_device_create(&config->device, &host, error);
	irqs = vfu_irqs_init(&f->irqs, vectors);
	pci_config_init(&f->pci, vectors);
	reset_msix_table(f);
	f->worker.device = f->device;
	if (f->device && irqs && injector && vfu_worker_start(&f->worker))
		return true;
	if (f->device)
		*error = irqs ? "the system gives it no thread" :
				"the system gives no descriptor, or refuses io_setup() (limit "
				"fs.aio-max-nr), which interrupts need";
	vfu_function_destroy(f);
	return false;
}

void vfu_function_destroy(struct vfu_function *f)
{
	vfu_recorder_end(f->recorder);
	vfu_worker_destroy(&f->worker);
	vfu_inject_destroy(&f->injector);
	onpu_device_destroy(f->device);
	vfu_irqs_destroy(&f->irqs);
	vfu_dma_destroy(&f->dma);
}
