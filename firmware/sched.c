/* SPDX-License-Identifier: MIT */
/*
 * Scheduling: round robin over the queues that have work. A queue keeps the machine while no other
 * one is ready, and for a slice of job cycles otherwise.
 */
#include "firmware.h"

void sched_set_slice(struct firmware *fw, uint32_t cycles)
{
	fw->slice = cycles;
	hw_write(ONPU_REG_CORE_SLICE, cycles);
}

void sched_start(struct firmware *fw)
{
	fw->running = HW_NO_QUEUE;
	sched_set_slice(fw, FW_DEFAULT_SLICE);
}

static void set_running(struct firmware *fw, uint32_t queue)
{
	if (fw->running == queue)
		return;
	fw->running = queue;
	fw->counts.switches += queue != HW_NO_QUEUE;
	hw_write(ONPU_REG_CORE_RUN_QUEUE, queue);
}

void sched_forget(struct firmware *fw, uint32_t queue)
{
	fw->ready[queue / 32] &= ~(1u << queue % 32);
	if (fw->running == queue)
		set_running(fw, HW_NO_QUEUE);
}

static bool has_work(uint32_t queue)
{
	uint32_t state = hw_read(ONPU_REG_CORE_CONTEXT_STATE(queue));

	return state == ONPU_QUEUE_READY || state == ONPU_QUEUE_RUNNING;
}

static void take_doorbells(struct firmware *fw)
{
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t rung = hw_read(ONPU_REG_CORE_DOORBELL_PENDING(i));

		if (!rung)
			continue;
		hw_write(ONPU_REG_CORE_DOORBELL_PENDING(i), rung);
		fw->ready[i] |= rung;
	}
}

static bool is_ready(struct firmware *fw, uint32_t queue)
{
	uint32_t bit = 1u << queue % 32;

	if (!(fw->ready[queue / 32] & bit))
		return false;
	if (has_work(queue))
		return true;
	fw->ready[queue / 32] &= ~bit;
	return false;
}

/* The next queue with work behind @after in a circle, @after itself last. */
static uint32_t next_ready(struct firmware *fw, uint32_t after)
{
	uint32_t first = after == HW_NO_QUEUE ? fw->num_queues - 1 : after;

	for (uint32_t i = 1; i <= fw->num_queues; i++) {
		uint32_t queue = first + i < fw->num_queues ? first + i : first + i - fw->num_queues;

		if (is_ready(fw, queue))
			return queue;
	}
	return HW_NO_QUEUE;
}

static bool slice_left(const struct firmware *fw)
{
	return !fw->slice ||
	       hw_read(ONPU_REG_CORE_CONTEXT_SLICE_USED(fw->running)) < fw->slice;
}

void sched_poll(struct firmware *fw)
{
	uint32_t next;

	take_doorbells(fw);
	/* A change under way is waited for: its end raises SWITCHED. */
	if (hw_read(ONPU_REG_CORE_CURRENT) & ONPU_CORE_CURRENT_SWITCHING__MASK)
		return;
	if (fw->running != HW_NO_QUEUE && is_ready(fw, fw->running) && slice_left(fw))
		return;
	next = next_ready(fw, fw->running);
	/* With nothing to do the last one stays, in case it is the next, too. */
	if (next != HW_NO_QUEUE)
		set_running(fw, next);
}

bool sched_evict(struct firmware *fw, uint32_t queue)
{
	uint32_t state = hw_read(ONPU_REG_CORE_CONTEXT_STATE(queue));

	if (state == ONPU_QUEUE_RUNNING || state == ONPU_QUEUE_READY)
		return false;
	if (fw->running != queue)
		return true;
	set_running(fw, HW_NO_QUEUE);
	/* An idle CP acts at once; what still keeps it busy is a bounded transfer. */
	for (uint32_t i = 0; i < 4096; i++)
		if (!(hw_read(ONPU_REG_CORE_CURRENT) & ONPU_CORE_CURRENT_SWITCHING__MASK))
			return true;
	return false;
}
