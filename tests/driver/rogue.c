// SPDX-License-Identifier: MIT
/*
 * A firmware that sends wrong messages when it answers a request for a context, and at each
 * heartbeat. The level of its log, which the driver sets, selects what is wrong in the answer.
 * Requests for contexts of low priority are answered correctly. guest_rogue.sh runs it.
 */
#include "firmware.h"

void __real_request_handle(struct firmware *fw);
void __wrap_request_handle(struct firmware *fw);

/*
 * Sends fault events for a queue that does not exist and for a queue that has not faulted; the
 * driver must ignore both.
 */
static void invent_faults(struct firmware *fw)
{
	const uint32_t queues[] = { UINT32_MAX, 0 };

	for (uint32_t i = 0; i < 2; i++) {
		for (uint32_t word = 0; word < ONPU_MSG_SIZE / 4; word++)
			fw->event.words[word] = UINT32_MAX;
		fw->event.event_fault.type = ONPU_MSG_EVENT_FAULT;
		fw->event.event_fault.queue = queues[i];
		mailbox_send(fw, &fw->event);
	}
}

/*
 * Announces messages that do not exist, and then sleeps, so that no later message corrects the
 * index.
 */
static void invent_messages(struct firmware *fw)
{
	hw_write(ONPU_REG_CORE_IRQ_ENABLE, 0);
	hw_write(ONPU_REG_CORE_RESPONSE_TAIL, fw->responses.index + fw->responses.size + 1);
	hw_write(ONPU_REG_CORE_INT_RAISE, ONPU_INT_STATUS_RESPONSE__MASK);
	for (;;)
		hw_wait();
}

void __wrap_request_handle(struct firmware *fw)
{
	uint32_t type = fw->message.header.type, priority = fw->message.ctx_create.priority;

	__real_request_handle(fw);
	if (type == ONPU_MSG_HEARTBEAT)
		invent_faults(fw);
	if (type != ONPU_MSG_CTX_CREATE || priority == ONPU_PRIORITY_LOW)
		return;
	switch (fw->log.level) {
	case ONPU_LOG_OFF:
		break;
	case ONPU_LOG_ERROR:
		/* The id has the right slot of the ring, but the generation of another request. */
		fw->message.header.id += 1 << 16;
		break;
	case ONPU_LOG_INFO:
		fw->message.header.status = UINT32_MAX;
		break;
	case ONPU_LOG_DEBUG:
		invent_messages(fw);
	}
}
