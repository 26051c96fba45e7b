// SPDX-License-Identifier: MIT
/* Requests: checks which words a request may have, calls its handler and makes the response. */
#include "firmware.h"

#define HEADER_WORDS 4u

/*
 * Returns the index of the first word after the last member that a request may set: from there on
 * all words must be zero. Returns 0 if there is no request of this type.
 */
static uint32_t request_words(uint32_t type)
{
	switch (type) {
	case ONPU_MSG_VM_CREATE:
	case ONPU_MSG_VM_DESTROY:
		return ONPU_REG_MSG_VM_ROOT_HI / 4 + 1;
	case ONPU_MSG_CTX_CREATE:
		return ONPU_REG_MSG_CTX_CREATE_PRIORITY / 4 + 1;
	case ONPU_MSG_CTX_DESTROY:
	case ONPU_MSG_CTX_KILL:
		return ONPU_REG_MSG_CTX_CONTEXT / 4 + 1;
	case ONPU_MSG_QUEUE_BIND:
	case ONPU_MSG_QUEUE_UNBIND:
		return ONPU_REG_MSG_QUEUE_MODE / 4 + 1;
	case ONPU_MSG_LOG_CONFIG:
		return ONPU_REG_MSG_LOG_CONFIG_INTERRUPT / 4 + 1;
	case ONPU_MSG_SCHED_CONFIG:
		return ONPU_REG_MSG_SCHED_CONFIG_SLICE / 4 + 1;
	case ONPU_MSG_HEARTBEAT:
	case ONPU_MSG_TELEMETRY:
		return HEADER_WORDS;
	default:
		return 0;
	}
}

static bool reserved_zero(const union onpu_msg *m)
{
	if (m->header.status || m->words[HEADER_WORDS - 1])
		return false;
	for (uint32_t i = request_words(m->header.type); i < ONPU_MSG_SIZE / 4; i++)
		if (m->words[i])
			return false;
	return true;
}

static uint32_t log_config(struct firmware *fw, const struct onpu_msg_log_config *m)
{
	if (m->level > ONPU_LOG_DEBUG || m->interrupt > 1)
		return ONPU_MSG_INVALID;
	fw->log.level = m->level;
	fw->log.interrupt = m->interrupt;
	return ONPU_MSG_OK;
}

static uint32_t sched_config(struct firmware *fw, const struct onpu_msg_sched_config *m)
{
	sched_set_slice(fw, m->slice);
	return ONPU_MSG_OK;
}

static uint32_t handle(struct firmware *fw, uint32_t *head)
{
	const union onpu_msg *m = &fw->message;

	/*
	 * An unknown type is UNSUPPORTED whatever its other words hold: in this way a newer driver
	 * finds out what this firmware can do.
	 */
	if (!request_words(m->header.type))
		return ONPU_MSG_UNSUPPORTED;
	if (!reserved_zero(m))
		return ONPU_MSG_INVALID;
	switch (m->header.type) {
	case ONPU_MSG_VM_CREATE:
		return vm_create(fw, &m->vm);
	case ONPU_MSG_VM_DESTROY:
		return vm_destroy(fw, &m->vm);
	case ONPU_MSG_CTX_CREATE:
		return context_create(fw, &m->ctx_create);
	case ONPU_MSG_CTX_DESTROY:
		return context_destroy(fw, &m->ctx);
	case ONPU_MSG_CTX_KILL:
		return context_kill(fw, &m->ctx);
	case ONPU_MSG_QUEUE_BIND:
		return context_bind(fw, &m->queue);
	case ONPU_MSG_QUEUE_UNBIND:
		return context_unbind(fw, &m->queue, head);
	case ONPU_MSG_LOG_CONFIG:
		return log_config(fw, &m->log_config);
	case ONPU_MSG_SCHED_CONFIG:
		return sched_config(fw, &m->sched_config);
	default:
		return ONPU_MSG_OK;
	}
}

static void fill_telemetry(const struct firmware *fw, struct onpu_msg_telemetry *m)
{
	m->requests = fw->counts.requests;
	m->switches = fw->counts.switches;
	m->faults = fw->counts.faults;
	m->idle_cycles = fw->counts.idle_cycles;
	m->contexts = fw->counts.contexts;
	m->queues = fw->counts.queues;
	m->vms = fw->counts.vms;
	m->errors = fw->counts.errors;
}

void request_handle(struct firmware *fw)
{
	union onpu_msg *m = &fw->message;
	uint32_t type = m->header.type, id = m->header.id;
	uint32_t status, head = 0;

	log_value(fw, ONPU_LOG_DEBUG, "request of type", type);
	status = handle(fw, &head);
	if (status) {
		fw->counts.errors++;
		log_value(fw, ONPU_LOG_ERROR, "request refused, type", type);
	}
	for (uint32_t i = 0; i < ONPU_MSG_SIZE / 4; i++)
		m->words[i] = 0;
	m->header.type = type | ONPU_MSG_RESPONSE;
	m->header.id = id;
	m->header.status = status;
	if (type == ONPU_MSG_HEARTBEAT && !status) {
		m->heartbeat.cycle = hw_cycle();
		m->heartbeat.beats = fw->counts.beats;
	} else if (type == ONPU_MSG_QUEUE_UNBIND && !status) {
		m->queue.head = head;
	} else if (type == ONPU_MSG_TELEMETRY && !status) {
		fill_telemetry(fw, &m->telemetry);
	}
}
