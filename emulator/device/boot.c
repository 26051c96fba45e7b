// SPDX-License-Identifier: MIT
/*
 * The boot ROM: fetches the firmware's image into the management core's memory, checks it and
 * starts the core. Sizes and addresses in the header are checked whether or not the checksum
 * matches: a valid checksum does not make them safe.
 */
#include "device/device.h"

#include <string.h>

uint32_t boot_state(const struct onpu_device *d)
{
	return (d->boot.status & ONPU_STATUS_STATE__MASK) >> ONPU_STATUS_STATE__SHIFT;
}

void boot_set_status(struct onpu_device *d, uint32_t state, uint32_t error, uint32_t detail)
{
	uint32_t status = state << ONPU_STATUS_STATE__SHIFT | error << ONPU_STATUS_ERROR__SHIFT |
			  detail << ONPU_STATUS_DETAIL__SHIFT;

	if (status == d->boot.status)
		return;
	d->boot.status = status;
	irq_set(d, ONPU_INT_STATUS_STATUS__MASK);
}

static uint32_t crc32(const uint8_t *bytes, size_t size)
{
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < size; i++) {
		crc ^= bytes[i];
		for (unsigned int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	}
	return ~crc;
}

static bool all_zero(const uint32_t *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (words[i])
			return false;
	return true;
}

static enum onpu_boot_error check_sizes(const struct onpu_fw_header *h, uint32_t size)
{
	if (h->image_size != size - ONPU_FW_HEADER_SIZE || !h->image_size || h->image_size % 4)
		return ONPU_BOOT_ERROR_SIZE;
	if (h->load_address % 4 || h->load_address >= ONPU_CAP_TCM_BYTES__RESET ||
	    h->memory_size > ONPU_CAP_TCM_BYTES__RESET - h->load_address)
		return ONPU_BOOT_ERROR_SIZE;
	if (h->memory_size < h->image_size)
		return ONPU_BOOT_ERROR_SIZE;
	if (h->entry % 4 || h->entry < h->load_address ||
	    h->entry - h->load_address >= h->image_size)
		return ONPU_BOOT_ERROR_SIZE;
	return ONPU_BOOT_ERROR_NONE;
}

static bool version_fits(uint32_t wanted)
{
	const uint32_t have = ONPU_VERSION__RESET;

	return (wanted & ONPU_VERSION_MAJOR__MASK) == (have & ONPU_VERSION_MAJOR__MASK) &&
	       (wanted & ONPU_VERSION_MINOR__MASK) <= (have & ONPU_VERSION_MINOR__MASK);
}

static enum onpu_boot_error load(struct onpu_device *d)
{
	struct onpu_fw_header h;
	uint8_t *to;
	enum onpu_boot_error error;

	if (d->boot.size < sizeof(h) || d->boot.size > ONPU_CAP_TCM_BYTES__RESET + sizeof(h))
		return ONPU_BOOT_ERROR_SIZE;
	if (d->boot.address % ONPU_RING_ALIGN ||
	    !mmu_bus_read(&d->mmu.bus, d->boot.address, &h, sizeof(h)))
		return ONPU_BOOT_ERROR_FETCH;
	if (h.magic != ONPU_FW_MAGIC || h.header_size != ONPU_FW_HEADER_SIZE ||
	    !all_zero(h.mbz_28, sizeof(h.mbz_28) / sizeof(h.mbz_28[0])))
		return ONPU_BOOT_ERROR_HEADER;
	error = check_sizes(&h, d->boot.size);
	if (error)
		return error;
	if (!version_fits(h.hw_version))
		return ONPU_BOOT_ERROR_ABI;
	to = d->tcm + h.load_address;
	if (!mmu_bus_read(&d->mmu.bus, d->boot.address + sizeof(h), to, h.image_size))
		return ONPU_BOOT_ERROR_FETCH;
	if (crc32(to, h.image_size) != h.crc)
		return ONPU_BOOT_ERROR_CRC;
	memset(to + h.image_size, 0, h.memory_size - h.image_size);
	onpu_rv32_reset(&d->core, h.entry);
	return ONPU_BOOT_ERROR_NONE;
}

void boot_start(struct onpu_device *d)
{
	enum onpu_boot_error error;

	if (boot_state(d) != ONPU_STATE_RESET)
		return;
	boot_set_status(d, ONPU_STATE_BOOTING, ONPU_BOOT_ERROR_NONE, 0);
	error = load(d);
	if (error) {
		boot_set_status(d, ONPU_STATE_FAILED, error, 0);
		return;
	}
	d->core_started = true;
	d->regs.stall = ONPU_COST_TRANSFER + d->boot.size / ONPU_COST_TRANSFER_BYTES;
}
