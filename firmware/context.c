// SPDX-License-Identifier: MIT
/*
 * Handles the requests that create and destroy contexts, kill their jobs, and bind them to queues.
 */
#include "firmware.h"

#define ENTRY ((uint32_t)sizeof(struct onpu_ring_job))

static struct fw_context *find(struct firmware *fw, uint32_t id)
{
	for (uint32_t i = 0; i < FW_MAX_CONTEXTS; i++)
		if (fw->contexts[i].used && fw->contexts[i].id == id)
			return &fw->contexts[i];
	return NULL;
}

static struct fw_context *unused(struct firmware *fw)
{
	for (uint32_t i = 0; i < FW_MAX_CONTEXTS; i++)
		if (!fw->contexts[i].used)
			return &fw->contexts[i];
	return NULL;
}

/* Returns whether a range is aligned and lies within the address space. */
static bool range_valid(uint64_t start, uint64_t size, uint32_t alignment)
{
	const uint64_t end = UINT64_C(1) << ONPU_VA_BITS;

	return !(start % alignment) && start < end && size <= end - start;
}

static bool create_valid(const struct firmware *fw, const struct onpu_msg_ctx_create *m)
{
	if (m->context >= ONPU_MAX_CONTEXTS || m->vm >= fw->num_vms ||
	    m->priority >= ONPU_PRIORITY_COUNT)
		return false;
	if (m->ring_size < ONPU_MIN_RING_SIZE || m->ring_size > ONPU_MAX_RING_SIZE ||
	    m->ring_size & (m->ring_size - 1))
		return false;
	if (!range_valid(m->ring, (uint64_t)m->ring_size * ENTRY, ENTRY) ||
	    !range_valid(m->save, hw_read(ONPU_REG_CORE_SAVE_BYTES), ONPU_PAGE_SIZE) ||
	    !range_valid(m->completion, ONPU_PAGE_SIZE, ONPU_PAGE_SIZE))
		return false;
	return m->vector <= fw->num_queues;
}

uint32_t context_create(struct firmware *fw, const struct onpu_msg_ctx_create *m)
{
	struct fw_context *c;

	if (!create_valid(fw, m))
		return ONPU_MSG_INVALID;
	if (!fw->vms[m->vm].used)
		return ONPU_MSG_NOT_FOUND;
	if (find(fw, m->context))
		return ONPU_MSG_EXISTS;
	c = unused(fw);
	if (!c)
		return ONPU_MSG_BUSY;
	c->used = true;
	c->queue = ONPU_NO_QUEUE;
	c->id = (uint16_t)m->context;
	c->vm = m->vm;
	c->ring = m->ring;
	c->save = m->save;
	c->completion = m->completion;
	c->ring_size = m->ring_size;
	c->vector = m->vector;
	c->priority = m->priority;
	fw->vms[m->vm].contexts++;
	fw->counts.contexts++;
	return ONPU_MSG_OK;
}

uint32_t context_destroy(struct firmware *fw, const struct onpu_msg_ctx *m)
{
	struct fw_context *c = find(fw, m->context);

	if (!c)
		return ONPU_MSG_NOT_FOUND;
	if (c->queue != ONPU_NO_QUEUE)
		return ONPU_MSG_BUSY;
	fw->vms[c->vm].contexts--;
	fw->counts.contexts--;
	c->used = false;
	return ONPU_MSG_OK;
}

/*
 * Kills a context's job, if it has a queue, and waits until the CP has confirmed that no access of
 * the context is under way. Returns the status of the response: ONPU_MSG_OK, NOT_FOUND without such
 * a context, or INTERNAL if the CP does not confirm.
 */
uint32_t context_kill(struct firmware *fw, const struct onpu_msg_ctx *m)
{
	struct fw_context *c = find(fw, m->context);

	if (!c)
		return ONPU_MSG_NOT_FOUND;
	if (c->queue == ONPU_NO_QUEUE)
		return ONPU_MSG_OK;
	if (!sched_kill(fw, c->queue))
		return ONPU_MSG_INTERNAL;
	log_value(fw, ONPU_LOG_INFO, "killed context", c->id);
	return ONPU_MSG_OK;
}

uint32_t context_bind(struct firmware *fw, const struct onpu_msg_queue *m)
{
	struct fw_context *c = find(fw, m->context);
	uint32_t q = m->queue;

	if (q >= fw->num_queues || (m->mode != ONPU_QUEUE_PLAIN && m->mode != ONPU_QUEUE_RESUME))
		return ONPU_MSG_INVALID;
	if (!c)
		return ONPU_MSG_NOT_FOUND;
	if (c->queue != ONPU_NO_QUEUE || fw->bound[q])
		return ONPU_MSG_BUSY;
	hw_write(ONPU_REG_CORE_CONTEXT_ID(q), c->id);
	hw_write64(ONPU_REG_CORE_CONTEXT_RING_LO(q), c->ring);
	hw_write(ONPU_REG_CORE_CONTEXT_RING_SIZE(q), c->ring_size);
	hw_write64(ONPU_REG_CORE_CONTEXT_SAVE_LO(q), c->save);
	hw_write64(ONPU_REG_CORE_CONTEXT_COMPLETION_LO(q), c->completion);
	hw_write(ONPU_REG_CORE_CONTEXT_CONTROL(q),
		 c->vm << ONPU_CORE_CONTEXT_CONTROL_VM__SHIFT |
			 c->vector << ONPU_CORE_CONTEXT_CONTROL_VECTOR__SHIFT |
			 (m->mode == ONPU_QUEUE_RESUME ? ONPU_CORE_CONTEXT_CONTROL_RESUME__MASK :
							 0) |
			 ONPU_CORE_CONTEXT_CONTROL_VALID__MASK);
	if (!(hw_read(ONPU_REG_CORE_CONTEXT_CONTROL(q)) & ONPU_CORE_CONTEXT_CONTROL_VALID__MASK))
		return ONPU_MSG_INTERNAL;
	sched_add(fw, q, c->vm, c->priority, m->mode == ONPU_QUEUE_RESUME);
	c->queue = (uint8_t)q;
	fw->bound[q] = (uint16_t)(c - fw->contexts + 1);
	fw->counts.queues++;
	return ONPU_MSG_OK;
}

uint32_t context_unbind(struct firmware *fw, const struct onpu_msg_queue *m, uint32_t *head)
{
	struct fw_context *c = find(fw, m->context);
	uint32_t q = m->queue;

	if (q >= fw->num_queues || (m->mode != ONPU_QUEUE_PLAIN && m->mode != ONPU_QUEUE_PREEMPT))
		return ONPU_MSG_INVALID;
	if (!c || c->queue != q)
		return ONPU_MSG_NOT_FOUND;
	if (m->mode == ONPU_QUEUE_PREEMPT ? !sched_preempt(fw, q) : !sched_evict(fw, q))
		return ONPU_MSG_BUSY;
	*head = hw_read(ONPU_REG_CORE_CONTEXT_HEAD(q));
	hw_write(ONPU_REG_CORE_CONTEXT_CONTROL(q), 0);
	if (hw_read(ONPU_REG_CORE_CONTEXT_CONTROL(q)) & ONPU_CORE_CONTEXT_CONTROL_VALID__MASK)
		return ONPU_MSG_BUSY;
	sched_remove(fw, q);
	c->queue = ONPU_NO_QUEUE;
	fw->bound[q] = 0;
	fw->counts.queues--;
	return ONPU_MSG_OK;
}
