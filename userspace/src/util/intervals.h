/* SPDX-License-Identifier: MIT */
/*
 * Packing of memory by live ranges, for intermediates in an arena and for registers of a tile in
 * SRAM.
 */
#ifndef WNN_UTIL_INTERVALS_H
#define WNN_UTIL_INTERVALS_H

#include <stdint.h>

#define MEMORY_ALIGN 64

struct memory_interval {
	uint64_t bytes;	     /* rounded up to a multiple of MEMORY_ALIGN by memory_pack() */
	uint32_t begin, end; /* live range, both ends included */
	uint64_t offset;     /* result */
};

/*
 * memory_pack() allocates no memory for up to this many intervals, which is enough for a vector
 * program.
 */
#define MEMORY_FEW 40
/*
 * Sets the offset of each interval so that intervals which are live at the same time do not
 * overlap, and *total to the bytes of all. Returns 0, or -1 when out of memory.
 */
int memory_pack(struct memory_interval *intervals, uint32_t count, uint64_t *total);

#endif
