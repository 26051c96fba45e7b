/* SPDX-License-Identifier: MIT */
/* The machine's cost model: cycles of instructions. */
#ifndef WNN_PLAN_COST_H
#define WNN_PLAN_COST_H

#include "plan/list/plan.h"

/* Returns the cycles of a DMA copy; without @src, of another DMA instruction that writes @dst. */
uint64_t plan_cost_dma(const struct npu_caps *caps, const struct npu_view *dst,
		       const struct npu_view *src);
/* Returns plan_cost_dma() of the views after views_simplify(). */
uint64_t plan_cost_copy(const struct npu_caps *caps, struct npu_view dst, struct npu_view src);
/*
 * Returns the cycles of one pass of the vector unit over elements, each of which occupies `bytes`
 * bytes of its lanes.
 */
uint64_t plan_cost_lanes(const struct npu_caps *caps, uint64_t elements, uint32_t bytes);
/* Returns the cycles of an instruction on its engine. */
uint64_t plan_cost_insn(const struct npu_caps *caps, const struct plan_insn *insn);
/*
 * Returns the cycles of matrix products of m rows and n columns, `batch` of them; @k_taps: terms of
 * the sum of a result.
 */
uint64_t plan_cost_mma(const struct npu_caps *caps, uint64_t batch, uint64_t m, uint64_t n,
		       uint64_t k_taps, uint8_t dtype);
/*
 * Returns the cycles of plan_cost_mma() by which tiles are compared: those of the first form of the
 * array, or of the best one if plan->first_form is not set and it saves more than a small margin,
 * which is then added.
 */
uint64_t plan_weigh_mma(const struct plan *plan, uint64_t batch, uint64_t m, uint64_t n,
			uint64_t k_taps, uint8_t dtype);

#endif
