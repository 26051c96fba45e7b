/* SPDX-License-Identifier: MIT */
/*
 * Recordings of all accesses across the device's interface, see "Recordings" in
 * Documentation/emulator.rst: their format, and the functions that write them. replay.h reads them.
 */
#ifndef ONPU_VFU_RECORD_H
#define ONPU_VFU_RECORD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "onpu_device.h"

#define VFU_RECORD_MAGIC   "ONPUREC\n"
#define VFU_RECORD_VERSION 2u

/* The header of a file. Numbers are little endian. */
struct vfu_record_header {
	char magic[8];
	uint32_t version, size; /* @size: bytes of this header */
	uint32_t sram_bytes, num_queues;
	uint32_t tlb_sticky, vectors; /* @vectors: number of MSI-X vectors, 0: none */
	/* Name of the machine, filled with zeros, for people; a replay reads the sizes. */
	char machine[32];
	uint32_t lanes, mxu_rows, mxu_cols, fifo_depth, dma_bytes_per_cycle, features;
};

enum vfu_record_kind {
	/*
	 * An access of the client, or another event of enum onpu_access; @where:
	 * onpu_device_point() then, @what: its cycle, data: struct vfu_record_access.
	 */
	VFU_RECORD_ACCESS = 1,
	/* A read of memory; @where: address, @what: bytes, data: its bytes, or none: an error. */
	VFU_RECORD_READ,
	VFU_RECORD_WRITE, /* @where: address, @what: 0, or 1: an error, data: what was written */
	VFU_RECORD_INTERRUPT,	 /* @where: vector */
	VFU_RECORD_CONFIG_READ,	 /* @where: offset, data: the bytes that were read */
	VFU_RECORD_CONFIG_WRITE, /* @where: offset, data: what was written */
	/* A reset of the configuration alone; @where: 0: by FLR, 1: to the state after power-on. */
	VFU_RECORD_CONFIG_RESET,
	/*
	 * The last event; @where: number of events before it, @what: CRC-32 of all bytes before it.
	 */
	VFU_RECORD_END,
};

/* The header of an event; its data follows. */
struct vfu_record_event {
	uint32_t kind, size; /* enum vfu_record_kind; bytes of the data */
	uint64_t where, what;
};

/* A call of struct onpu_host_ops.trace. */
struct vfu_record_access {
	uint32_t kind, offset, value;
};

/* Returns the CRC-32 @crc after adding data to it; it starts with 0. */
uint32_t vfu_record_crc(uint32_t crc, const void *data, size_t size);

/*
 * The writer of a recording. All functions except vfu_recorder_init() and vfu_recorder_destroy()
 * take NULL for a recorder, and then do nothing.
 */
struct vfu_recorder {
	FILE *file;
	pthread_mutex_t lock;
	uint64_t count, size; /* number of events; bytes of the file */
	uint64_t limit;	      /* size at which the recording ends; 0: no limit */
	uint32_t crc;
	bool ended, full; /* @full: ended because of @limit */
	int error;	  /* errno of the first write that failed */
};

/*
 * Creates the file; @limit is that of struct vfu_recorder. Returns false after an error, with
 * errno.
 */
bool vfu_recorder_init(struct vfu_recorder *recorder, const char *path, uint64_t limit);
void vfu_recorder_begin(struct vfu_recorder *recorder, const struct onpu_device_config *config,
			unsigned int vectors);
void vfu_recorder_add(struct vfu_recorder *recorder, enum vfu_record_kind kind, uint64_t where,
		      uint64_t what, const void *data, size_t size);
/* Ends the recording: later events are not in it. */
void vfu_recorder_end(struct vfu_recorder *recorder);
/* Closes the file. Returns 0, or an errno if the file is not complete. */
int vfu_recorder_destroy(struct vfu_recorder *recorder);

#endif
