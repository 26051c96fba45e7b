/* SPDX-License-Identifier: MIT */
/*
 * Converts values of 4-bit elements, two of which share a byte of memory, to a byte for each
 * element and back: the DMA engines move bytes only. The vector unit converts the elements in SRAM.
 */
#ifndef WNN_PLAN_NIBBLES_H
#define WNN_PLAN_NIBBLES_H

#include "plan/list/plan.h"

/*
 * Returns the bytes of memory for a value with one byte for each element, aligned, so that there is
 * room for one more element after an odd number of them.
 */
uint64_t nibbles_unpacked_bytes(int64_t elements);
/*
 * Emits the conversion from 4-bit elements to bytes. Both views are dense; `packed` has the 4-bit
 * type, `bytes` has int8 or uint8.
 */
void nibbles_unpack(struct plan *plan, const struct npu_view *bytes, const struct npu_view *packed);
/*
 * Emits the conversion from bytes to 4-bit elements, which saturates. With an odd number of
 * elements, the other half of the last byte becomes 0.
 */
void nibbles_pack(struct plan *plan, const struct npu_view *packed, const struct npu_view *bytes);

#endif
