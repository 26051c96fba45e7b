// SPDX-License-Identifier: MIT
/*
 * Writes recordings: see record.h. Events come from the device's thread and the protocol's thread.
 */
#include "vfu/record.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "onpu/machines.h"

uint32_t vfu_record_crc(uint32_t crc, const void *data, size_t size)
{
	const uint8_t *bytes = data;
	uint32_t table[256];

	/* For less than 1024 bytes a table does not pay. */
	for (uint32_t i = 0; size >= 1024 && i < 256; i++) {
		table[i] = i;
		for (unsigned int bit = 0; bit < 8; bit++)
			table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320u : 0);
	}
	crc = ~crc;
	for (size_t i = 0; i < size; i++) {
		if (size >= 1024) {
			crc = crc >> 8 ^ table[(crc ^ bytes[i]) & 0xff];
			continue;
		}
		crc ^= bytes[i];
		for (unsigned int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	}
	return ~crc;
}

/* Writes bytes to the file; with the lock held, or before another thread knows of the recorder. */
static void put(struct vfu_recorder *recorder, const void *data, size_t size)
{
	if (recorder->error || !size)
		return;
	recorder->crc = vfu_record_crc(recorder->crc, data, size);
	recorder->size += size;
	errno = EIO;
	if (fwrite(data, size, 1, recorder->file) != 1)
		recorder->error = errno;
}

bool vfu_recorder_init(struct vfu_recorder *recorder, const char *path, uint64_t limit)
{
	memset(recorder, 0, sizeof(*recorder));
	recorder->limit = limit;
	recorder->file = fopen(path, "wbe");
	if (!recorder->file)
		return false;
	pthread_mutex_init(&recorder->lock, NULL);
	return true;
}

void vfu_recorder_begin(struct vfu_recorder *recorder, const struct onpu_device_config *config,
			unsigned int vectors)
{
	struct vfu_record_header header = {
		.version = VFU_RECORD_VERSION,
		.size = sizeof(header),
		.sram_bytes = config->sim.sram_bytes,
		.num_queues = config->sim.num_queues,
		.tlb_sticky = config->tlb_sticky,
		.vectors = vectors,
		.lanes = config->sim.lanes,
		.mxu_rows = config->sim.mxu_rows,
		.mxu_cols = config->sim.mxu_cols,
		.fifo_depth = config->sim.fifo_depth,
		.dma_bytes_per_cycle = config->sim.dma_bytes_per_cycle,
		.features = config->sim.features,
	};

	if (!recorder)
		return;
	memcpy(header.magic, VFU_RECORD_MAGIC, sizeof(header.magic));
	snprintf(header.machine, sizeof(header.machine), "%s",
		 onpu_machine_name(onpu_sim_config_machine(&config->sim)));
	put(recorder, &header, sizeof(header));
}

static void add(struct vfu_recorder *recorder, enum vfu_record_kind kind, uint64_t where,
		uint64_t what, const void *data, size_t size)
{
	const struct vfu_record_event event = { kind, (uint32_t)size, where, what };

	put(recorder, &event, sizeof(event));
	put(recorder, data, size);
	recorder->count++;
}

static void end(struct vfu_recorder *recorder)
{
	if (!recorder->ended)
		add(recorder, VFU_RECORD_END, recorder->count, recorder->crc, NULL, 0);
	recorder->ended = true;
}

void vfu_recorder_add(struct vfu_recorder *recorder, enum vfu_record_kind kind, uint64_t where,
		      uint64_t what, const void *data, size_t size)
{
	if (!recorder)
		return;
	pthread_mutex_lock(&recorder->lock);
	if (!recorder->ended)
		add(recorder, kind, where, what, data, size);
	/* Replays end here, whatever the device does afterwards. */
	if (!recorder->ended && recorder->limit && recorder->size >= recorder->limit) {
		end(recorder);
		recorder->full = true;
	}
	pthread_mutex_unlock(&recorder->lock);
}

void vfu_recorder_end(struct vfu_recorder *recorder)
{
	if (!recorder)
		return;
	pthread_mutex_lock(&recorder->lock);
	end(recorder);
	pthread_mutex_unlock(&recorder->lock);
}

int vfu_recorder_destroy(struct vfu_recorder *recorder)
{
	if (fclose(recorder->file) && !recorder->error)
		recorder->error = errno;
	pthread_mutex_destroy(&recorder->lock);
	return recorder->error;
}
