// SPDX-License-Identifier: MIT
/* Costs of instructions in cycles, from plain numbers; see cost.h. */
#include "machine/cost.h"

#include "math/divide.h"
#include "onpu/isa.h"

uint64_t cost_vector(uint64_t elements, unsigned int words, uint32_t lanes, uint64_t factor)
{
	uint64_t passes = onpu_div_up(cost_mul(elements, words), lanes);

	return cost_add(ONPU_CYCLES_VECTOR, cost_mul(passes, factor));
}

uint64_t cost_reduce(uint64_t in, uint64_t out, unsigned int words, uint32_t lanes,
		     unsigned int factor)
{
	return cost_add(cost_vector(in, words, lanes, 1),
			cost_mul(onpu_div_up(cost_mul(out, words), lanes), factor));
}

uint64_t cost_mma(uint64_t batch, uint64_t m, uint64_t n, uint64_t k, uint64_t taps, uint32_t rows,
		  uint32_t cols, unsigned int factor)
{
	uint64_t blocks = cost_mul(batch, cost_mul(onpu_div_up(m, rows), onpu_div_up(n, cols)));
	uint64_t depth = cost_mul(cost_mul(taps, k), factor);

	/*
	 * A block takes at least as long as loading the array for the next one: a cycle for each
	 * row.
	 */
	if (depth < rows)
		depth = rows;
	/* Filling the array takes a cycle for each row, draining it one for each column. */
	return cost_add(ONPU_CYCLES_MMA + (uint64_t)rows + cols, cost_mul(blocks, depth));
}

uint64_t cost_dma(uint64_t runs, uint64_t bytes, uint32_t bytes_per_cycle, unsigned int setup)
{
	return cost_add(setup, cost_mul(runs, onpu_div_up(bytes, bytes_per_cycle)));
}
