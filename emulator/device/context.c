// SPDX-License-Identifier: MIT
/*
 * The VM and context tables that the firmware fills, and the memory that a context sees. Engines
 * reach only pages with the bit U; the command processor's own accesses reach the whole address
 * space.
 */
#include "device/device.h"

#define VM_FIELDS      (ONPU_CORE_VM_CONTROL_ASID__MASK | ONPU_CORE_VM_CONTROL_VALID__MASK)
#define CONTEXT_VALID  ONPU_CORE_CONTEXT_CONTROL_VALID__MASK
#define CONTEXT_RESUME ONPU_CORE_CONTEXT_CONTROL_RESUME__MASK
#define CONTEXT_FIELDS                                                                 \
	(ONPU_CORE_CONTEXT_CONTROL_VM__MASK | ONPU_CORE_CONTEXT_CONTROL_VECTOR__MASK | \
	 CONTEXT_RESUME)

static unsigned int vm_of(const struct queue *q)
{
	return (q->control & ONPU_CORE_CONTEXT_CONTROL_VM__MASK) >>
	       ONPU_CORE_CONTEXT_CONTROL_VM__SHIFT;
}

static bool vm_in_use(const struct onpu_device *d, unsigned int vm)
{
	for (unsigned int i = 0; i < d->config.sim.num_queues; i++)
		if (d->queues[i].control & CONTEXT_VALID && vm_of(&d->queues[i]) == vm)
			return true;
	return false;
}

uint32_t context_vm_read(const struct onpu_device *d, uint32_t offset)
{
	unsigned int vm = (offset - ONPU_REG_CORE_VM_ROOT_LO(0)) / ONPU_REG_CORE_VM__STRIDE;

	switch (offset - vm * ONPU_REG_CORE_VM__STRIDE) {
	case ONPU_REG_CORE_VM_ROOT_LO(0):
		return (uint32_t)d->vms[vm].root;
	case ONPU_REG_CORE_VM_ROOT_HI(0):
		return (uint32_t)(d->vms[vm].root >> 32);
	case ONPU_REG_CORE_VM_CONTROL(0):
		return d->vms[vm].control;
	default:
		return 0;
	}
}

void context_vm_write(struct onpu_device *d, uint32_t offset, uint32_t value)
{
	unsigned int vm = (offset - ONPU_REG_CORE_VM_ROOT_LO(0)) / ONPU_REG_CORE_VM__STRIDE;

	if (vm_in_use(d, vm))
		return;
	switch (offset - vm * ONPU_REG_CORE_VM__STRIDE) {
	case ONPU_REG_CORE_VM_ROOT_LO(0):
		device_set_low(&d->vms[vm].root, value & ~(uint32_t)(ONPU_PAGE_SIZE - 1));
		break;
	case ONPU_REG_CORE_VM_ROOT_HI(0):
		device_set_high(&d->vms[vm].root, value);
		break;
	case ONPU_REG_CORE_VM_CONTROL(0):
		d->vms[vm].control = value & VM_FIELDS;
		break;
	}
}

static uint32_t saturate32(uint64_t value)
{
	return value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

uint32_t context_read(const struct onpu_device *d, uint32_t offset)
{
	unsigned int i =
		(offset - ONPU_REG_CORE_CONTEXT_CONTROL(0)) / ONPU_REG_CORE_CONTEXT__STRIDE;
	const struct queue *q = &d->queues[i];

	if (i >= d->config.sim.num_queues)
		return 0;
	switch (offset - i * ONPU_REG_CORE_CONTEXT__STRIDE) {
	case ONPU_REG_CORE_CONTEXT_CONTROL(0):
		return q->control;
	case ONPU_REG_CORE_CONTEXT_ID(0):
		return q->id;
	case ONPU_REG_CORE_CONTEXT_RING_LO(0):
		return (uint32_t)q->ring;
	case ONPU_REG_CORE_CONTEXT_RING_HI(0):
		return (uint32_t)(q->ring >> 32);
	case ONPU_REG_CORE_CONTEXT_RING_SIZE(0):
		return q->ring_size;
	case ONPU_REG_CORE_CONTEXT_SAVE_LO(0):
		return (uint32_t)q->save;
	case ONPU_REG_CORE_CONTEXT_SAVE_HI(0):
		return (uint32_t)(q->save >> 32);
	case ONPU_REG_CORE_CONTEXT_COMPLETION_LO(0):
		return (uint32_t)q->completion;
	case ONPU_REG_CORE_CONTEXT_COMPLETION_HI(0):
		return (uint32_t)(q->completion >> 32);
	case ONPU_REG_CORE_CONTEXT_HEAD(0):
		return q->head;
	case ONPU_REG_CORE_CONTEXT_TAIL(0):
		return q->tail;
	case ONPU_REG_CORE_CONTEXT_STATE(0):
		return queue_state(d, i);
	case ONPU_REG_CORE_CONTEXT_SLICE_USED(0):
		return i == d->cp.current ? saturate32(cp_slice_used(d)) : 0;
	default:
		return 0;
	}
}

static bool can_bind(const struct onpu_device *d, const struct queue *q, uint32_t control)
{
	unsigned int vector = (control & ONPU_CORE_CONTEXT_CONTROL_VECTOR__MASK) >>
			      ONPU_CORE_CONTEXT_CONTROL_VECTOR__SHIFT;
	unsigned int vm = (control & ONPU_CORE_CONTEXT_CONTROL_VM__MASK) >>
			  ONPU_CORE_CONTEXT_CONTROL_VM__SHIFT;
	bool power = q->ring_size && !(q->ring_size & (q->ring_size - 1));

	if (vm >= ONPU_CAP_NUM_VMS__RESET || vector >= device_vectors(d))
		return false;
	if (!power || q->ring_size < ONPU_MIN_RING_SIZE || q->ring_size > ONPU_MAX_RING_SIZE)
		return false;
	return !(q->ring % sizeof(struct onpu_ring_job)) &&
	       !((q->save | q->completion) % ONPU_PAGE_SIZE);
}

static void write_context_control(struct onpu_device *d, unsigned int i, uint32_t value)
{
	struct queue *q = &d->queues[i];
	bool bound = q->control & CONTEXT_VALID;

	if (bound && !(value & CONTEXT_VALID) && i != d->cp.current) {
		q->control = value & CONTEXT_FIELDS;
		queue_unbind(d, i);
	} else if (!bound) {
		q->control = value & CONTEXT_FIELDS;
		if (value & CONTEXT_VALID && can_bind(d, q, value)) {
			q->control |= CONTEXT_VALID;
			queue_bind(d, i, value & CONTEXT_RESUME);
		}
	}
}

void context_write(struct onpu_device *d, uint32_t offset, uint32_t value)
{
	unsigned int i =
		(offset - ONPU_REG_CORE_CONTEXT_CONTROL(0)) / ONPU_REG_CORE_CONTEXT__STRIDE;
	uint32_t reg = offset - i * ONPU_REG_CORE_CONTEXT__STRIDE;
	struct queue *q = &d->queues[i];

	if (i >= d->config.sim.num_queues)
		return;
	if (reg == ONPU_REG_CORE_CONTEXT_CONTROL(0)) {
		write_context_control(d, i, value);
		return;
	}
	if (q->control & CONTEXT_VALID)
		return;
	switch (reg) {
	case ONPU_REG_CORE_CONTEXT_ID(0):
		q->id = value;
		break;
	case ONPU_REG_CORE_CONTEXT_RING_LO(0):
		device_set_low(&q->ring, value);
		break;
	case ONPU_REG_CORE_CONTEXT_RING_HI(0):
		device_set_high(&q->ring, value);
		break;
	case ONPU_REG_CORE_CONTEXT_RING_SIZE(0):
		q->ring_size = value;
		break;
	case ONPU_REG_CORE_CONTEXT_SAVE_LO(0):
		device_set_low(&q->save, value);
		break;
	case ONPU_REG_CORE_CONTEXT_SAVE_HI(0):
		device_set_high(&q->save, value);
		break;
	case ONPU_REG_CORE_CONTEXT_COMPLETION_LO(0):
		device_set_low(&q->completion, value);
		break;
	case ONPU_REG_CORE_CONTEXT_COMPLETION_HI(0):
		device_set_high(&q->completion, value);
		break;
	}
}

void context_doorbell(struct onpu_device *d, unsigned int queue, uint32_t tail)
{
	struct queue *q = &d->queues[queue];

	d->doorbell[queue] = tail;
	if (!(q->control & CONTEXT_VALID))
		return;
	q->tail = tail;
	d->regs.doorbell[queue / 32] |= 1u << queue % 32;
	irq_core_update(d);
}

static struct mmu_space space_of(const struct port *port)
{
	const struct onpu_device *d = port->device;
	const struct vm_entry *vm = &d->vms[vm_of(&d->queues[port->queue])];

	return (struct mmu_space){
		.root = vm->root,
		.asid = vm->control & ONPU_CORE_VM_CONTROL_ASID__MASK,
		.valid = vm->control & ONPU_CORE_VM_CONTROL_VALID__MASK,
	};
}

static int port_read(void *ctx, uint64_t va, void *dst, size_t len)
{
	struct port *port = ctx;
	struct mmu_space space = space_of(port);

	return mmu_read(&port->device->mmu, &space, port->privileged, va, dst, len,
			&port->fault_va);
}

static int port_write(void *ctx, uint64_t va, const void *src, size_t len)
{
	struct port *port = ctx;
	struct mmu_space space = space_of(port);

	return mmu_write(&port->device->mmu, &space, port->privileged, va, src, len,
			 &port->fault_va);
}

static uint64_t port_fault_address(void *ctx)
{
	return ((struct port *)ctx)->fault_va;
}

static struct onpu_mem port_memory(struct port *port)
{
	return (struct onpu_mem){
		.ctx = port,
		.read = port_read,
		.write = port_write,
		.fault_address = port_fault_address,
	};
}

/* Connects the machine and the command processor to the memory of a queue. */
void context_port(struct onpu_device *d, unsigned int queue)
{
	struct cp *cp = &d->cp;

	cp->engine_port = (struct port){ .device = d, .queue = queue };
	cp->ring_port = (struct port){ .device = d, .queue = queue, .privileged = true };
	cp->engine_memory = port_memory(&cp->engine_port);
	cp->ring_memory = port_memory(&cp->ring_port);
}
