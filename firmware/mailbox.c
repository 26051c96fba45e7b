// SPDX-License-Identifier: MIT
/*
 * The message rings. A request is taken only when the response ring has room and each fault has its
 * event. So the fault events of a queue come before the response to the request that unbinds it.
 */
#include "firmware.h"

static bool ring_valid(const struct fw_ring *ring)
{
	return !(ring->base % ONPU_RING_ALIGN) && ring->size >= ONPU_MIN_RING_SIZE &&
	       ring->size <= ONPU_MAX_RING_SIZE && !(ring->size & (ring->size - 1)) &&
	       ring->base <= UINT64_MAX - (uint64_t)ring->size * ONPU_MSG_SIZE;
}

void mailbox_start(struct firmware *fw)
{
	fw->requests.base = hw_read64(ONPU_REG_CORE_REQUEST_BASE_LO);
	fw->requests.size = hw_read(ONPU_REG_CORE_REQUEST_SIZE);
	fw->responses.base = hw_read64(ONPU_REG_CORE_RESPONSE_BASE_LO);
	fw->responses.size = hw_read(ONPU_REG_CORE_RESPONSE_SIZE);
	if (!ring_valid(&fw->requests) || !ring_valid(&fw->responses))
		fw_fail(fw, ONPU_FW_DETAIL_RING_SETUP);
}

static uint64_t slot_address(const struct fw_ring *ring)
{
	return ring->base + (uint64_t)(ring->index & (ring->size - 1)) * ONPU_MSG_SIZE;
}

/* Returns whether the response ring has room for a message. */
bool mailbox_room(struct firmware *fw)
{
	uint32_t waiting = fw->responses.index - hw_read(ONPU_REG_CORE_RESPONSE_HEAD);

	if (waiting > fw->responses.size) {
		fw_fail(fw, ONPU_FW_DETAIL_RING_INDEX);
		return false;
	}
	return waiting < fw->responses.size;
}

void mailbox_send(struct firmware *fw, const union onpu_msg *message)
{
	struct fw_ring *ring = &fw->responses;

	if (!hw_dma(ONPU_DMA_WRITE, slot_address(ring), (void *)(uintptr_t)message,
		    ONPU_MSG_SIZE)) {
		fw_fail(fw, ONPU_FW_DETAIL_RING_ACCESS);
		return;
	}
	ring->index++;
	hw_write(ONPU_REG_CORE_RESPONSE_TAIL, ring->index);
	hw_write(ONPU_REG_CORE_INT_RAISE, ONPU_INT_STATUS_RESPONSE__MASK);
}

/*
 * Frees the entry of a request that was read. A driver that finds the ring full waits for the
 * interrupt REQUEST. It may fill the last entry after the firmware has read TAIL, so this reads
 * TAIL after it has moved HEAD to decide whether the ring was full.
 */
static void advance(struct firmware *fw)
{
	struct fw_ring *ring = &fw->requests;
	uint32_t before = ring->index++;

	hw_write(ONPU_REG_CORE_REQUEST_HEAD, ring->index);
	if (hw_read(ONPU_REG_CORE_REQUEST_TAIL) - before >= ring->size)
		hw_write(ONPU_REG_CORE_INT_RAISE, ONPU_INT_STATUS_REQUEST__MASK);
}

static void take(struct firmware *fw)
{
	if (!hw_dma(ONPU_DMA_READ, slot_address(&fw->requests), &fw->message, ONPU_MSG_SIZE)) {
		fw_fail(fw, ONPU_FW_DETAIL_RING_ACCESS);
		return;
	}
	advance(fw);
	fw->counts.requests++;
	request_handle(fw);
	fw->answering = true;
	/*
	 * A queue that the request has stopped may have faulted just before: its event must come
	 * before the response.
	 */
	fault_poll(fw);
}

static void answer(struct firmware *fw)
{
	if (!fw->failed && fw->answering && mailbox_room(fw)) {
		mailbox_send(fw, &fw->message);
		fw->answering = false;
	}
}

/* Returns whether the next request can be taken. */
static bool can_take(struct firmware *fw)
{
	uint32_t waiting = hw_read(ONPU_REG_CORE_REQUEST_TAIL) - fw->requests.index;

	if (waiting > fw->requests.size) {
		fw_fail(fw, ONPU_FW_DETAIL_RING_INDEX);
		return false;
	}
	return mailbox_room(fw) && !fw->answering && waiting && !hw_read(ONPU_REG_CORE_FAULT_COUNT);
}

/*
 * Sends a response that waits for room, then takes at most one request and answers it, so that the
 * scheduler runs between two requests. Returns true if another request can be taken.
 */
bool mailbox_poll(struct firmware *fw)
{
	answer(fw);
	if (!fw->failed && can_take(fw)) {
		take(fw);
		answer(fw);
	}
	return !fw->failed && can_take(fw);
}
