/* SPDX-License-Identifier: MIT */
/* Reorders constant filters, so that the bytes of each tile are contiguous. */
#ifndef WNN_PLAN_PACK_H
#define WNN_PLAN_PACK_H

#include <stdint.h>

#define PACK_RANK 5

/*
 * pack_copy - copy elements from one order of memory to another
 * @to_stride, @from_stride: by dim, bytes from one element to the next; those of `from` may be
 *	negative
 * @size: bytes of an element
 *
 * Reads and writes whole cache lines where the fastest dims of the two orders differ.
 */
void pack_copy(uint8_t *to, const int64_t *to_stride, const uint8_t *from,
	       const int64_t *from_stride, const int64_t *dim, uint32_t size);

#endif
