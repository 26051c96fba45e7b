/* SPDX-License-Identifier: MIT */
/*
 * 4-bit elements: two share a byte of memory and the DMA engines move bytes. The vector unit
 * converts them in SRAM, and these passes take all elements of a value from one form to the other.
 */
#ifndef WNN_PLAN_NIBBLES_H
#define WNN_PLAN_NIBBLES_H

#include "plan/list/plan.h"

/*
 * Returns the memory for so many elements, each a byte: an even number of them, rounded up to the
 * alignment.
 */
uint64_t nibbles_unpacked_bytes(int64_t elements);
/* Both views are dense; `packed` has the 4-bit type, `bytes` int8 or uint8. */
void nibbles_unpack(struct plan *plan, const struct npu_view *bytes, const struct npu_view *packed);
/* Limits the elements to the 4-bit type; the half that an odd number leaves becomes 0. */
void nibbles_pack(struct plan *plan, const struct npu_view *packed, const struct npu_view *bytes);

#endif
