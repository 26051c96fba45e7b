/* SPDX-License-Identifier: MIT */
/* Packing of memory with live ranges: intermediates in an arena, registers of a tile in SRAM. */
#ifndef WNN_UTIL_INTERVALS_H
#define WNN_UTIL_INTERVALS_H

#include <stdint.h>

#define MEMORY_ALIGN 64

struct memory_interval {
	uint64_t bytes;	     /* becomes a multiple of MEMORY_ALIGN */
	uint32_t begin, end; /* inclusive life time */
	uint64_t offset;     /* out */
};

/* Up to so many intervals are packed without allocating memory: enough for a vector program. */
#define MEMORY_FEW 32
/* Intervals alive at the same time never overlap in memory; 0 or -1 (out of memory). */
int memory_pack(struct memory_interval *intervals, uint32_t count, uint64_t *total);

#endif
