/* SPDX-License-Identifier: MIT */
/* The message rings. */
#include "firmware.h"

static bool ring_valid(const struct fw_ring *ring)
{
	return !(ring->base % 64) && ring->size >= ONPU_MIN_RING_SIZE &&
	       ring->size <= ONPU_MAX_RING_SIZE && !(ring->size & (ring->size - 1));
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

static uint64_t place(const struct fw_ring *ring)
{
	return ring->base + (uint64_t)(ring->index & (ring->size - 1)) * ONPU_MSG_SIZE;
}

/* Whether a message fits; the driver may take its time to make room. */
bool mailbox_room(struct firmware *fw)
{
	uint32_t waiting = fw->responses.index - hw_read(ONPU_REG_CORE_RESPONSE_HEAD);

	if (waiting > fw->responses.size) {
		fw_fail(fw, ONPU_FW_DETAIL_RING_INDEX);
		return false;
	}
	return waiting < fw->responses.size;
}

void mailbox_send(struct firmware *fw)
{
	struct fw_ring *ring = &fw->responses;

	if (!hw_dma(ONPU_DMA_WRITE, place(ring), &fw->message, ONPU_MSG_SIZE)) {
		fw_fail(fw, ONPU_FW_DETAIL_RING_ACCESS);
		return;
	}
	ring->index++;
	hw_write(ONPU_REG_CORE_RESPONSE_TAIL, ring->index);
	hw_write(ONPU_REG_CORE_INT_RAISE, ONPU_INT_STATUS_RESPONSE__MASK);
}

static void take(struct firmware *fw, bool was_full)
{
	struct fw_ring *ring = &fw->requests;

	if (!hw_dma(ONPU_DMA_READ, place(ring), &fw->message, ONPU_MSG_SIZE)) {
		fw_fail(fw, ONPU_FW_DETAIL_RING_ACCESS);
		return;
	}
	ring->index++;
	hw_write(ONPU_REG_CORE_REQUEST_HEAD, ring->index);
	if (was_full)
		hw_write(ONPU_REG_CORE_INT_RAISE, ONPU_INT_STATUS_REQUEST__MASK);
	fw->counts.requests++;
	request_handle(fw);
	mailbox_send(fw);
}

/* Work off requests while their responses find room. */
void mailbox_poll(struct firmware *fw)
{
	while (!fw->failed) {
		uint32_t waiting = hw_read(ONPU_REG_CORE_REQUEST_TAIL) - fw->requests.index;

		if (waiting > fw->requests.size) {
			fw_fail(fw, ONPU_FW_DETAIL_RING_INDEX);
			return;
		}
		if (!waiting || !mailbox_room(fw))
			return;
		take(fw, waiting == fw->requests.size);
	}
}
