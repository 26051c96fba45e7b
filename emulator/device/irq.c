// SPDX-License-Identifier: MIT
/* Interrupts: those to the host (INT_*) and the external line of the management core (IRQ_*). */
#include "device/device.h"

#define INT_COMPLETION ONPU_INT_STATUS_COMPLETION__MASK
#define INT_ALL                                                              \
	(ONPU_INT_STATUS_STATUS__MASK | ONPU_INT_STATUS_RESPONSE__MASK |     \
	 ONPU_INT_STATUS_REQUEST__MASK | ONPU_INT_STATUS_INVALIDATED__MASK | \
	 ONPU_INT_STATUS_LOG__MASK | INT_COMPLETION)
#define IRQ_DOORBELL ONPU_CORE_IRQ_STATUS_DOORBELL__MASK
#define IRQ_FAULT    ONPU_CORE_IRQ_STATUS_FAULT__MASK

uint32_t irq_status(const struct onpu_device *d)
{
	bool completed = d->irq.queue[0] || d->irq.queue[1];

	return d->irq.status | (completed ? INT_COMPLETION : 0);
}

/*
 * Raises vector 0 for causes that are new, or again if another queue has completed a job (@gained).
 */
static void update(struct onpu_device *d, bool gained)
{
	uint32_t causes = irq_status(d) & d->irq.enable;

	if (causes & ~d->irq.raised || (gained && causes & INT_COMPLETION))
		d->host.interrupt(d->host.ctx, 0);
	d->irq.raised = causes;
}

void irq_set(struct onpu_device *d, uint32_t bits)
{
	d->irq.status |= bits & INT_ALL & ~INT_COMPLETION;
	update(d, false);
}

void irq_acknowledge(struct onpu_device *d, uint32_t bits)
{
	d->irq.status &= ~bits;
	update(d, false);
}

void irq_enable(struct onpu_device *d, uint32_t bits)
{
	d->irq.enable = bits & INT_ALL;
	update(d, false);
}

void irq_complete(struct onpu_device *d, unsigned int queue)
{
	uint32_t bit = 1u << queue % 32;
	uint32_t *word = &d->irq.queue[queue / 32];
	bool gained = !(*word & bit);
	unsigned int vector = (d->queues[queue].control & ONPU_CORE_CONTEXT_CONTROL_VECTOR__MASK) >>
			      ONPU_CORE_CONTEXT_CONTROL_VECTOR__SHIFT;

	*word |= bit;
	if (vector)
		d->host.interrupt(d->host.ctx, vector);
	update(d, gained);
}

void irq_clear_queues(struct onpu_device *d, unsigned int word, uint32_t bits)
{
	d->irq.queue[word] &= ~bits;
	update(d, false);
}

uint32_t irq_core_status(const struct onpu_device *d)
{
	uint32_t status = d->regs.irq_status;

	if (d->regs.doorbell[0] || d->regs.doorbell[1])
		status |= IRQ_DOORBELL;
	if (d->cp.fault_count)
		status |= IRQ_FAULT;
	return status;
}

void irq_core_update(struct onpu_device *d)
{
	onpu_rv32_set_irq(&d->core, ONPU_RV32_IRQ_EXTERNAL,
			  irq_core_status(d) & d->regs.irq_enable);
	onpu_rv32_set_irq(&d->core, ONPU_RV32_IRQ_TIMER, device_now(d) >= d->regs.mtimecmp);
}

void irq_core_set(struct onpu_device *d, uint32_t bits)
{
	d->regs.irq_status |= bits;
	irq_core_update(d);
}
