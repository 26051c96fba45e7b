// SPDX-License-Identifier: MIT
/* BAR0: the registers that the driver sees (domain ONPU of registers.xml). */
#include "device/device.h"

#include "onpu/slots.h"

_Static_assert(ONPU_CAP_ISA__RESET >> ONPU_CAP_ISA_MAJOR__SHIFT == ONPU_ISA_MAJOR,
	       "CAP_ISA is the version that programs are checked with");

/*
 * Returns the value of a capability register. Capabilities that do not depend on the configuration
 * have the value of registers.xml.
 */
static uint32_t read_capability(const struct onpu_device *d, uint32_t offset)
{
	const struct onpu_sim_config *sim = &d->config.sim;

	switch (offset) {
	case ONPU_REG_CAP_MACHINE:
		return onpu_sim_config_machine(sim);
	case ONPU_REG_CAP_ISA:
		return ONPU_CAP_ISA__RESET;
	case ONPU_REG_CAP_SRAM_BYTES:
		return sim->sram_bytes;
	case ONPU_REG_CAP_LANES:
		return sim->lanes;
	case ONPU_REG_CAP_MXU_ROWS:
		return sim->mxu_rows;
	case ONPU_REG_CAP_MXU_COLS:
		return sim->mxu_cols;
	case ONPU_REG_CAP_FIFO_DEPTH:
		return sim->fifo_depth;
	case ONPU_REG_CAP_DMA_BYTES:
		return sim->dma_bytes_per_cycle;
	case ONPU_REG_CAP_NUM_QUEUES:
		return sim->num_queues;
	case ONPU_REG_CAP_NUM_VMS:
		return ONPU_CAP_NUM_VMS__RESET;
	case ONPU_REG_CAP_NUM_ASIDS:
		return ONPU_CAP_NUM_ASIDS__RESET;
	case ONPU_REG_CAP_ADDRESS:
		return ONPU_CAP_ADDRESS__RESET;
	case ONPU_REG_CAP_CLOCK_KHZ:
		return ONPU_CAP_CLOCK_KHZ__RESET;
	case ONPU_REG_CAP_TCM_BYTES:
		return ONPU_CAP_TCM_BYTES__RESET;
	case ONPU_REG_CAP_VECTORS:
		return device_vectors(d);
	case ONPU_REG_CAP_SAVE_BYTES:
		return device_save_bytes(d);
	case ONPU_REG_CAP_FEATURES:
		return sim->features;
	default:
		return 0;
	}
}

static uint32_t read_control(struct onpu_device *d, uint32_t offset)
{
	switch (offset) {
	case ONPU_REG_ID:
		return ONPU_ID_MAGIC;
	case ONPU_REG_VERSION:
		return ONPU_VERSION__RESET;
	case ONPU_REG_STATUS:
		return d->boot.status;
	case ONPU_REG_FW_ADDRESS_LO:
		return (uint32_t)d->boot.address;
	case ONPU_REG_FW_ADDRESS_HI:
		return (uint32_t)(d->boot.address >> 32);
	case ONPU_REG_FW_SIZE:
		return d->boot.size;
	case ONPU_REG_FW_ABI:
		return d->boot.abi;
	case ONPU_REG_FW_VERSION:
		return d->boot.version;
	case ONPU_REG_CYCLE_LO:
		d->cycle_high = (uint32_t)(device_now(d) >> 32);
		return (uint32_t)device_now(d);
	case ONPU_REG_CYCLE_HI:
		return d->cycle_high;
	case ONPU_REG_INT_STATUS:
		return irq_status(d);
	case ONPU_REG_INT_ENABLE:
		return d->irq.enable;
	case ONPU_REG_INT_QUEUE_PENDING(0):
		return d->irq.queue[0];
	case ONPU_REG_INT_QUEUE_PENDING(1):
		return d->irq.queue[1];
	case ONPU_REG_INV_ASID:
		return d->inv.asid;
	case ONPU_REG_INV_PAGES:
		return d->inv.pages;
	case ONPU_REG_INV_VA_LO:
		return (uint32_t)d->inv.va;
	case ONPU_REG_INV_VA_HI:
		return (uint32_t)(d->inv.va >> 32);
	case ONPU_REG_INV_REQ:
		return d->inv.request;
	case ONPU_REG_INV_DONE:
		return d->inv.done;
	case ONPU_REG_NUM_COUNTERS:
		return ONPU_NUM_COUNTERS__RESET;
	default:
		return read_capability(d, offset);
	}
}

static uint32_t read_counter(const struct onpu_device *d, uint32_t offset)
{
	uint32_t at = offset - ONPU_REG_COUNTER_LO(0);
	uint64_t value = counters_read(d, at / ONPU_REG_COUNTER__STRIDE);

	return (uint32_t)(at % ONPU_REG_COUNTER__STRIDE ? value >> 32 : value);
}

static uint32_t read_management(const struct onpu_device *d, uint32_t offset)
{
	switch (offset) {
	case ONPU_REG_REQUEST_BASE_LO:
		return (uint32_t)d->request.base;
	case ONPU_REG_REQUEST_BASE_HI:
		return (uint32_t)(d->request.base >> 32);
	case ONPU_REG_REQUEST_SIZE:
		return d->request.size;
	case ONPU_REG_REQUEST_TAIL:
		return d->request.tail;
	case ONPU_REG_REQUEST_HEAD:
		return d->request.head;
	case ONPU_REG_RESPONSE_BASE_LO:
		return (uint32_t)d->response.base;
	case ONPU_REG_RESPONSE_BASE_HI:
		return (uint32_t)(d->response.base >> 32);
	case ONPU_REG_RESPONSE_SIZE:
		return d->response.size;
	case ONPU_REG_RESPONSE_TAIL:
		return d->response.tail;
	case ONPU_REG_RESPONSE_HEAD:
		return d->response.head;
	case ONPU_REG_LOG_BASE_LO:
		return (uint32_t)d->log.base;
	case ONPU_REG_LOG_BASE_HI:
		return (uint32_t)(d->log.base >> 32);
	case ONPU_REG_LOG_SIZE:
		return d->log.size;
	case ONPU_REG_LOG_TAIL:
		return d->log.tail;
	default:
		return 0;
	}
}

static uint32_t read_queue(const struct onpu_device *d, uint32_t offset)
{
	unsigned int queue = (offset - ONPU_REG_QUEUE_RETIRED_LO(0)) / ONPU_REG_QUEUE__STRIDE;

	if (queue >= d->config.sim.num_queues)
		return 0;
	switch (offset - queue * ONPU_REG_QUEUE__STRIDE) {
	case ONPU_REG_QUEUE_RETIRED_LO(0):
		return (uint32_t)queue_retired(d, queue);
	case ONPU_REG_QUEUE_RETIRED_HI(0):
		return (uint32_t)(queue_retired(d, queue) >> 32);
	case ONPU_REG_QUEUE_RUN_CYCLES_LO(0):
		return (uint32_t)queue_run_cycles(d, queue);
	case ONPU_REG_QUEUE_RUN_CYCLES_HI(0):
		return (uint32_t)(queue_run_cycles(d, queue) >> 32);
	case ONPU_REG_QUEUE_HEAD(0):
		return d->queues[queue].head;
	case ONPU_REG_QUEUE_STATE(0):
		return queue_state(d, queue);
	default:
		return 0;
	}
}

/* Returns the queue whose doorbell register is at @offset, or ONPU_NO_QUEUE. */
static unsigned int doorbell_queue(const struct onpu_device *d, uint32_t offset)
{
	unsigned int queue;

	if (offset < ONPU_DOORBELL_BASE || offset % ONPU_REG_DOORBELL__STRIDE)
		return ONPU_NO_QUEUE;
	queue = (offset - ONPU_DOORBELL_BASE) / ONPU_REG_DOORBELL__STRIDE;
	return queue < d->config.sim.num_queues ? queue : ONPU_NO_QUEUE;
}

uint32_t bar0_read(struct onpu_device *d, uint32_t offset)
{
	unsigned int queue = doorbell_queue(d, offset);

	if (queue != ONPU_NO_QUEUE)
		return d->doorbell[queue];
	if (offset >= ONPU_REG_COUNTER_LO(0) && offset < ONPU_REG_COUNTER_LO(ONPU_COUNTER_COUNT))
		return read_counter(d, offset);
	if (offset < ONPU_REG_QUEUE_RETIRED_LO(0))
		return read_control(d, offset);
	if (offset < ONPU_REG_QUEUE_RETIRED_LO(ONPU_MAX_QUEUES))
		return read_queue(d, offset);
	return read_management(d, offset);
}

static void write_interrupt(struct onpu_device *d, uint32_t offset, uint32_t value)
{
	switch (offset) {
	case ONPU_REG_INT_STATUS:
		irq_acknowledge(d, value);
		break;
	case ONPU_REG_INT_ENABLE:
		irq_enable(d, value);
		break;
	case ONPU_REG_INT_QUEUE_PENDING(0):
		irq_clear_queues(d, 0, value);
		break;
	case ONPU_REG_INT_QUEUE_PENDING(1):
		irq_clear_queues(d, 1, value);
		break;
	}
}

static void write_control(struct onpu_device *d, uint32_t offset, uint32_t value)
{
	switch (offset) {
	case ONPU_REG_RESET:
		if (value & ONPU_RESET_START__MASK)
			device_reset_state(d);
		break;
	case ONPU_REG_FW_ADDRESS_LO:
		device_set_low(&d->boot.address, value);
		break;
	case ONPU_REG_FW_ADDRESS_HI:
		device_set_high(&d->boot.address, value);
		break;
	case ONPU_REG_FW_SIZE:
		d->boot.size = value;
		break;
	case ONPU_REG_BOOT:
		if (value & ONPU_BOOT_START__MASK)
			boot_start(d);
		break;
	case ONPU_REG_INV_ASID:
		d->inv.asid = value & (ONPU_INV_ASID_ASID__MASK | ONPU_INV_ASID_ALL__MASK);
		break;
	case ONPU_REG_INV_PAGES:
		d->inv.pages = value;
		break;
	case ONPU_REG_INV_VA_LO:
		device_set_low(&d->inv.va, value);
		break;
	case ONPU_REG_INV_VA_HI:
		device_set_high(&d->inv.va, value);
		break;
	case ONPU_REG_INV_REQ:
		inv_request(d, value);
		break;
	default:
		write_interrupt(d, offset, value);
	}
}

/* Writes the address or the size of a ring; ignores writes once the firmware has started. */
static void write_ring_setup(struct onpu_device *d, uint32_t offset, uint32_t value)
{
	if (boot_state(d) != ONPU_STATE_RESET)
		return;
	switch (offset) {
	case ONPU_REG_REQUEST_BASE_LO:
		device_set_low(&d->request.base, value);
		break;
	case ONPU_REG_REQUEST_BASE_HI:
		device_set_high(&d->request.base, value);
		break;
	case ONPU_REG_REQUEST_SIZE:
		d->request.size = value;
		break;
	case ONPU_REG_RESPONSE_BASE_LO:
		device_set_low(&d->response.base, value);
		break;
	case ONPU_REG_RESPONSE_BASE_HI:
		device_set_high(&d->response.base, value);
		break;
	case ONPU_REG_RESPONSE_SIZE:
		d->response.size = value;
		break;
	case ONPU_REG_LOG_BASE_LO:
		device_set_low(&d->log.base, value);
		break;
	case ONPU_REG_LOG_BASE_HI:
		device_set_high(&d->log.base, value);
		break;
	case ONPU_REG_LOG_SIZE:
		d->log.size = value;
		break;
	}
}

void bar0_write(struct onpu_device *d, uint32_t offset, uint32_t value)
{
	unsigned int queue = doorbell_queue(d, offset);

	if (queue != ONPU_NO_QUEUE) {
		context_doorbell(d, queue, value);
	} else if (offset == ONPU_REG_REQUEST_TAIL) {
		d->request.tail = value;
		irq_core_set(d, ONPU_CORE_IRQ_STATUS_REQUEST__MASK);
	} else if (offset == ONPU_REG_RESPONSE_HEAD) {
		d->response.head = value;
		irq_core_set(d, ONPU_CORE_IRQ_STATUS_RESPONSE__MASK);
	} else if (offset >= ONPU_REG_REQUEST_BASE_LO) {
		write_ring_setup(d, offset, value);
	} else {
		write_control(d, offset, value);
	}
}
