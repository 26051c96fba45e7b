// SPDX-License-Identifier: MIT
/*
 * The invalidation protocol. The TLB drops translations at once: requests are taken only between
 * two steps, or between two memory accesses of one long instruction, when no translation is in use.
 * The answer comes ONPU_COST_INVALIDATE cycles later, as it would from hardware with accesses under
 * way.
 */
#include "device/device.h"

void inv_request(struct onpu_device *d, uint32_t name)
{
	struct inv_regs *inv = &d->inv;
	struct invalidation *entry;

	if (inv->asid & ONPU_INV_ASID_ALL__MASK)
		tlb_flush(&d->mmu.tlb);
	else
		tlb_invalidate(&d->mmu.tlb, inv->asid & ONPU_INV_ASID_ASID__MASK, inv->va,
			       inv->pages);
	inv->request = name;
	/*
	 * When the list is full, this request replaces the last one of the list. Requests are done
	 * in order, so the new request's name tells that the replaced one is done, too.
	 */
	if (inv->count < DEVICE_INVALIDATIONS)
		inv->count++;
	entry = &inv->waiting[inv->count - 1];
	entry->name = name;
	entry->due = device_now(d) + ONPU_COST_INVALIDATE;
}

uint64_t inv_next(const struct onpu_device *d)
{
	return d->inv.count ? d->inv.waiting[0].due : DEVICE_NEVER;
}

bool inv_poll(struct onpu_device *d)
{
	struct inv_regs *inv = &d->inv;

	if (device_now(d) < inv_next(d))
		return false;
	inv->done = inv->waiting[0].name;
	inv->count--;
	for (unsigned int i = 0; i < inv->count; i++)
		inv->waiting[i] = inv->waiting[i + 1];
	irq_set(d, ONPU_INT_STATUS_INVALIDATED__MASK);
	return true;
}
