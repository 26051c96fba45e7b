// SPDX-License-Identifier: MIT
/*
 * Reports faults. When a job faults, the CP stops its queue and writes a record; fault_poll() sends
 * the driver an event about it. The scheduler sees the fault in the state of the queue.
 */
#include "firmware.h"

static void read_record(struct onpu_fault_record *record)
{
	union {
		struct onpu_fault_record record;
		uint32_t words[ONPU_REG_CORE_FAULT__LENGTH];
	} fault;

	for (uint32_t i = 0; i < ONPU_REG_CORE_FAULT__LENGTH; i++)
		fault.words[i] = hw_read(ONPU_REG_CORE_FAULT_WORD(i));
	*record = fault.record;
}

/*
 * Enables the interrupts that wake the core. While faults wait because the response ring is full
 * (@room is false), the interrupt FAULT, which stays high, would keep the core from sleeping. It is
 * off then, and the interrupt RESPONSE tells that there may be room again.
 */
static void set_awake(struct firmware *fw, bool room)
{
	uint32_t enable = room ? FW_IRQS : FW_IRQS & ~ONPU_CORE_IRQ_STATUS_FAULT__MASK;

	if (fw->irq_enable != enable)
		hw_write(ONPU_REG_CORE_IRQ_ENABLE, enable);
	fw->irq_enable = enable;
}

static void send_event(struct firmware *fw, const struct onpu_fault_record *record)
{
	struct onpu_msg_event_fault *event = &fw->event.event_fault;

	for (uint32_t i = 0; i < ONPU_MSG_SIZE / 4; i++)
		fw->event.words[i] = 0;
	event->type = ONPU_MSG_EVENT_FAULT;
	event->context = record->context;
	event->queue = record->queue;
	event->seqno = record->seqno;
	event->code = record->code;
	mailbox_send(fw, &fw->event);
}

/*
 * Sends events about new records. A record stays in the device until its event is in the ring,
 * however long the ring is full.
 */
void fault_poll(struct firmware *fw)
{
	while (!fw->failed && hw_read(ONPU_REG_CORE_FAULT_COUNT) && mailbox_room(fw)) {
		struct onpu_fault_record record;

		read_record(&record);
		send_event(fw, &record);
		hw_write(ONPU_REG_CORE_FAULT_POP, 1);
		fw->counts.faults++;
		log_value(fw, ONPU_LOG_ERROR, "fault in context", record.context);
		log_value(fw, ONPU_LOG_ERROR, "  of code", record.code);
	}
	if (!fw->failed)
		set_awake(fw, !hw_read(ONPU_REG_CORE_FAULT_COUNT));
}
