// SPDX-License-Identifier: MIT
/* The registers that the firmware sees (domain ONPU_CORE of registers.xml), and its DMA. */
#include "device/device.h"

#define STATUS_STATE(value) \
	(((value) & ONPU_CORE_STATUS_STATE__MASK) >> ONPU_CORE_STATUS_STATE__SHIFT)
#define INT_OF_FIRMWARE \
	(ONPU_INT_STATUS_RESPONSE__MASK | ONPU_INT_STATUS_REQUEST__MASK | ONPU_INT_STATUS_LOG__MASK)
#define IRQ_ALL                                                                     \
	(ONPU_CORE_IRQ_STATUS_REQUEST__MASK | ONPU_CORE_IRQ_STATUS_RESPONSE__MASK | \
	 ONPU_CORE_IRQ_STATUS_DOORBELL__MASK | ONPU_CORE_IRQ_STATUS_FAULT__MASK |   \
	 ONPU_CORE_IRQ_STATUS_SWITCHED__MASK | ONPU_CORE_IRQ_STATUS_IDLE__MASK |    \
	 ONPU_CORE_IRQ_STATUS_SLICE__MASK | ONPU_CORE_IRQ_STATUS_KILLED__MASK)

void core_bus_reset(struct onpu_device *d)
{
	d->regs = (struct core_regs){ .mtimecmp = DEVICE_NEVER };
}

static uint32_t read_system(const struct onpu_device *d, uint32_t offset)
{
	switch (offset) {
	case ONPU_REG_CORE_MTIME_LO:
		return (uint32_t)device_now(d);
	case ONPU_REG_CORE_MTIME_HI:
		return (uint32_t)(device_now(d) >> 32);
	case ONPU_REG_CORE_MTIMECMP_LO:
		return (uint32_t)d->regs.mtimecmp;
	case ONPU_REG_CORE_MTIMECMP_HI:
		return (uint32_t)(d->regs.mtimecmp >> 32);
	case ONPU_REG_CORE_IRQ_STATUS:
		return irq_core_status(d);
	case ONPU_REG_CORE_IRQ_ENABLE:
		return d->regs.irq_enable;
	case ONPU_REG_CORE_DOORBELL_PENDING(0):
		return d->regs.doorbell[0];
	case ONPU_REG_CORE_DOORBELL_PENDING(1):
		return d->regs.doorbell[1];
	case ONPU_REG_CORE_STATUS:
		return d->boot.status;
	case ONPU_REG_CORE_FW_ABI:
		return d->boot.abi;
	case ONPU_REG_CORE_FW_VERSION:
		return d->boot.version;
	case ONPU_REG_CORE_NUM_QUEUES:
		return d->config.sim.num_queues;
	case ONPU_REG_CORE_NUM_VMS:
		return ONPU_CAP_NUM_VMS__RESET;
	case ONPU_REG_CORE_NUM_ASIDS:
		return ONPU_CAP_NUM_ASIDS__RESET;
	case ONPU_REG_CORE_SAVE_BYTES:
		return device_save_bytes(d);
	default:
		return 0;
	}
}

static uint32_t read_rings(const struct onpu_device *d, uint32_t offset)
{
	switch (offset) {
	case ONPU_REG_CORE_REQUEST_BASE_LO:
		return (uint32_t)d->request.base;
	case ONPU_REG_CORE_REQUEST_BASE_HI:
		return (uint32_t)(d->request.base >> 32);
	case ONPU_REG_CORE_REQUEST_SIZE:
		return d->request.size;
	case ONPU_REG_CORE_REQUEST_TAIL:
		return d->request.tail;
	case ONPU_REG_CORE_REQUEST_HEAD:
		return d->request.head;
	case ONPU_REG_CORE_RESPONSE_BASE_LO:
		return (uint32_t)d->response.base;
	case ONPU_REG_CORE_RESPONSE_BASE_HI:
		return (uint32_t)(d->response.base >> 32);
	case ONPU_REG_CORE_RESPONSE_SIZE:
		return d->response.size;
	case ONPU_REG_CORE_RESPONSE_TAIL:
		return d->response.tail;
	case ONPU_REG_CORE_RESPONSE_HEAD:
		return d->response.head;
	case ONPU_REG_CORE_LOG_BASE_LO:
		return (uint32_t)d->log.base;
	case ONPU_REG_CORE_LOG_BASE_HI:
		return (uint32_t)(d->log.base >> 32);
	case ONPU_REG_CORE_LOG_SIZE:
		return d->log.size;
	case ONPU_REG_CORE_LOG_TAIL:
		return d->log.tail;
	default:
		return read_system(d, offset);
	}
}

static uint32_t read_fault(const struct onpu_device *d, uint32_t offset)
{
	unsigned int word = (offset - ONPU_REG_CORE_FAULT_WORD(0)) / ONPU_REG_CORE_FAULT__STRIDE;
	union {
		struct onpu_fault_record record;
		uint32_t words[ONPU_REG_CORE_FAULT__LENGTH];
	} fault;

	if (!d->cp.fault_count)
		return 0;
	fault.record = d->cp.faults[d->cp.fault_head];
	return fault.words[word];
}

static uint32_t read_scheduler(const struct onpu_device *d, uint32_t offset)
{
	switch (offset) {
	case ONPU_REG_CORE_DMA_HOST_LO:
		return (uint32_t)d->regs.dma_host;
	case ONPU_REG_CORE_DMA_HOST_HI:
		return (uint32_t)(d->regs.dma_host >> 32);
	case ONPU_REG_CORE_DMA_LOCAL:
		return d->regs.dma_local;
	case ONPU_REG_CORE_DMA_LENGTH:
		return d->regs.dma_length;
	case ONPU_REG_CORE_DMA_ERROR:
		return d->regs.dma_error;
	case ONPU_REG_CORE_RUN_QUEUE:
		return d->cp.run_queue;
	case ONPU_REG_CORE_SLICE:
		return d->cp.slice;
	case ONPU_REG_CORE_CURRENT:
		return d->cp.current << ONPU_CORE_CURRENT_QUEUE__SHIFT |
		       (cp_switching(d) ? ONPU_CORE_CURRENT_SWITCHING__MASK : 0);
	case ONPU_REG_CORE_SWITCH_LIMIT:
		return d->cp.switch_limit;
	case ONPU_REG_CORE_FAULT_COUNT:
		return d->cp.fault_count;
	default:
		return 0;
	}
}

static bool within(uint32_t offset, uint32_t first, uint32_t end)
{
	return offset >= first && offset < end;
}

bool core_bus_load(void *ctx, uint32_t addr, unsigned int size, uint32_t *value)
{
	const struct onpu_device *d = ctx;
	uint32_t offset = addr - ONPU_CORE_REGS_BASE;

	if (size != 4 || offset >= ONPU_CORE_REGS_SIZE)
		return false;
	if (offset < ONPU_REG_CORE_DMA_HOST_LO)
		*value = read_rings(d, offset);
	else if (within(offset, ONPU_REG_CORE_FAULT_WORD(0),
			ONPU_REG_CORE_FAULT_WORD(ONPU_REG_CORE_FAULT__LENGTH)))
		*value = read_fault(d, offset);
	else if (within(offset, ONPU_REG_CORE_VM_ROOT_LO(0),
			ONPU_REG_CORE_VM_ROOT_LO(ONPU_REG_CORE_VM__LENGTH)))
		*value = context_vm_read(d, offset);
	else if (within(offset, ONPU_REG_CORE_CONTEXT_CONTROL(0),
			ONPU_REG_CORE_CONTEXT_CONTROL(ONPU_REG_CORE_CONTEXT__LENGTH)))
		*value = context_read(d, offset);
	else
		*value = read_scheduler(d, offset);
	return true;
}

static void transfer(struct onpu_device *d, uint32_t command)
{
	struct core_regs *r = &d->regs;
	bool ok = !((r->dma_host | r->dma_local | r->dma_length) % ONPU_CORE_DMA_ALIGN) &&
		  r->dma_length <= ONPU_CORE_DMA_MAX && r->dma_local <= ONPU_CAP_TCM_BYTES__RESET &&
		  r->dma_length <= ONPU_CAP_TCM_BYTES__RESET - r->dma_local;
	uint8_t *local = d->tcm + (ok ? r->dma_local : 0);

	if (ok && r->dma_length && command == ONPU_DMA_READ)
		ok = mmu_bus_read(&d->mmu.bus, r->dma_host, local, r->dma_length);
	else if (ok && r->dma_length && command == ONPU_DMA_WRITE)
		ok = mmu_bus_write(&d->mmu.bus, r->dma_host, local, r->dma_length);
	else
		ok = ok && (command == ONPU_DMA_READ || command == ONPU_DMA_WRITE);
	r->dma_error = !ok;
	r->stall += ONPU_COST_TRANSFER + (ok ? r->dma_length / ONPU_COST_TRANSFER_BYTES : 0);
}

static void write_status(struct onpu_device *d, uint32_t value)
{
	uint32_t state = STATUS_STATE(value);

	if (state != ONPU_STATE_READY && state != ONPU_STATE_FAILED)
		return;
	boot_set_status(d, state,
			(value & ONPU_CORE_STATUS_ERROR__MASK) >> ONPU_CORE_STATUS_ERROR__SHIFT,
			(value & ONPU_CORE_STATUS_DETAIL__MASK) >> ONPU_CORE_STATUS_DETAIL__SHIFT);
}

static void write_system(struct onpu_device *d, uint32_t offset, uint32_t value)
{
	switch (offset) {
	case ONPU_REG_CORE_MTIMECMP_LO:
		device_set_low(&d->regs.mtimecmp, value);
		break;
	case ONPU_REG_CORE_MTIMECMP_HI:
		device_set_high(&d->regs.mtimecmp, value);
		break;
	case ONPU_REG_CORE_IRQ_STATUS:
		d->regs.irq_status &= ~value;
		break;
	case ONPU_REG_CORE_IRQ_ENABLE:
		d->regs.irq_enable = value & IRQ_ALL;
		break;
	case ONPU_REG_CORE_DOORBELL_PENDING(0):
		d->regs.doorbell[0] &= ~value;
		break;
	case ONPU_REG_CORE_DOORBELL_PENDING(1):
		d->regs.doorbell[1] &= ~value;
		break;
	case ONPU_REG_CORE_STATUS:
		write_status(d, value);
		break;
	case ONPU_REG_CORE_FW_ABI:
		d->boot.abi = value;
		break;
	case ONPU_REG_CORE_FW_VERSION:
		d->boot.version = value;
		break;
	case ONPU_REG_CORE_INT_RAISE:
		irq_set(d, value & INT_OF_FIRMWARE);
		break;
	case ONPU_REG_CORE_REQUEST_HEAD:
		d->request.head = value;
		break;
	case ONPU_REG_CORE_RESPONSE_TAIL:
		d->response.tail = value;
		break;
	case ONPU_REG_CORE_LOG_TAIL:
		d->log.tail = value;
		break;
	}
	irq_core_update(d);
}

static void write_scheduler(struct onpu_device *d, uint32_t offset, uint32_t value)
{
	switch (offset) {
	case ONPU_REG_CORE_DMA_HOST_LO:
		device_set_low(&d->regs.dma_host, value);
		break;
	case ONPU_REG_CORE_DMA_HOST_HI:
		device_set_high(&d->regs.dma_host, value);
		break;
	case ONPU_REG_CORE_DMA_LOCAL:
		d->regs.dma_local = value;
		break;
	case ONPU_REG_CORE_DMA_LENGTH:
		d->regs.dma_length = value;
		break;
	case ONPU_REG_CORE_DMA_COMMAND:
		transfer(d, value);
		break;
	case ONPU_REG_CORE_RUN_QUEUE:
		d->cp.run_queue = value & ONPU_CORE_RUN_QUEUE_QUEUE__MASK;
		cp_target_changed(d);
		break;
	case ONPU_REG_CORE_SLICE:
		cp_set_slice(d, value);
		break;
	case ONPU_REG_CORE_KILL:
		cp_kill(d, value);
		break;
	case ONPU_REG_CORE_SWITCH_LIMIT:
		d->cp.switch_limit = value;
		break;
	case ONPU_REG_CORE_FAULT_POP:
		cp_pop_fault(d);
		break;
	}
}

bool core_bus_store(void *ctx, uint32_t addr, unsigned int size, uint32_t value)
{
	struct onpu_device *d = ctx;
	uint32_t offset = addr - ONPU_CORE_REGS_BASE;

	if (size != 4 || offset >= ONPU_CORE_REGS_SIZE)
		return false;
	if (offset < ONPU_REG_CORE_DMA_HOST_LO)
		write_system(d, offset, value);
	else if (within(offset, ONPU_REG_CORE_VM_ROOT_LO(0),
			ONPU_REG_CORE_VM_ROOT_LO(ONPU_REG_CORE_VM__LENGTH)))
		context_vm_write(d, offset, value);
	else if (within(offset, ONPU_REG_CORE_CONTEXT_CONTROL(0),
			ONPU_REG_CORE_CONTEXT_CONTROL(ONPU_REG_CORE_CONTEXT__LENGTH)))
		context_write(d, offset, value);
	else
		write_scheduler(d, offset, value);
	/*
	 * End the run here, so that the rest of the device acts on the write before the core's next
	 * instruction.
	 */
	onpu_rv32_yield(&d->core);
	return true;
}
