/* SPDX-License-Identifier: MIT */
/*
 * Costs of instructions in cycles, from plain numbers. Normative text: uapi/onpu/isa.xml.
 *
 * Everything saturates at COST_MAX, far above the architecture's limit, so that no product of
 * hostile dimensions wraps.
 */
#ifndef ONPU_MACHINE_COST_H
#define ONPU_MACHINE_COST_H

#include <stdint.h>

#define COST_MAX (UINT64_C(1) << 48)

static inline uint64_t cost_mul(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) || product > COST_MAX ? COST_MAX : product;
}

static inline uint64_t cost_add(uint64_t a, uint64_t b)
{
	return a + b > COST_MAX ? COST_MAX : a + b;
}

/*
 * Returns the cycles of a vector instruction on @elements elements that take @bytes bytes of a lane
 * each: its start, and @factor cycles for every 4 * @lanes bytes.
 */
uint64_t cost_vector(uint64_t elements, unsigned int bytes, uint32_t lanes, uint64_t factor);
uint64_t cost_reduce(uint64_t in, uint64_t out, unsigned int bytes, uint32_t lanes,
		     unsigned int factor);
/*
 * Returns the cycles of products on an array of @rows x @cols cells. With @forms, the array also
 * has forms in which one side is 2^i times as long and the other is divided by 2^i, for i up to
 * @forms; the cheapest form counts.
 */
uint64_t cost_mma(uint64_t batch, uint64_t m, uint64_t n, uint64_t k, uint64_t taps, uint32_t rows,
		  uint32_t cols, unsigned int forms, unsigned int factor);
/* Returns @setup plus the time to move @runs runs of @bytes each. */
uint64_t cost_dma(uint64_t runs, uint64_t bytes, uint32_t bytes_per_cycle, unsigned int setup);

#endif
