// SPDX-License-Identifier: MIT
/* Costs of instructions in cycles, from plain numbers; see cost.h. */
#include "machine/cost.h"

#include "math/divide.h"
#include "onpu/isa.h"

/* Returns how often @elements elements of @bytes fill all lanes, of 4 bytes each, rounded up. */
static uint64_t cost_passes(uint64_t elements, unsigned int bytes, uint32_t lanes)
{
	return onpu_div_up(cost_mul(elements, bytes), (uint64_t)lanes * 4);
}

uint64_t cost_vector(uint64_t elements, unsigned int bytes, uint32_t lanes, uint64_t factor)
{
	return cost_add(ONPU_CYCLES_VECTOR, cost_mul(cost_passes(elements, bytes, lanes), factor));
}

uint64_t cost_reduce(uint64_t in, uint64_t out, unsigned int bytes, uint32_t lanes,
		     unsigned int factor)
{
	return cost_add(cost_vector(in, bytes, lanes, 1),
			cost_mul(cost_passes(out, bytes, lanes), factor));
}

/*
 * Returns the cycles of the blocks of a product in one form of the array, and of filling and
 * draining it.
 */
static uint64_t cost_form(uint64_t batch, uint64_t m, uint64_t n, uint64_t depth, uint64_t rows,
			  uint64_t cols)
{
	uint64_t blocks = cost_mul(batch, cost_mul(onpu_div_up(m, rows), onpu_div_up(n, cols)));

	/* Filling the array takes a cycle for each row, draining it one for each column. */
	return cost_add(ONPU_CYCLES_MMA + rows + cols, cost_mul(blocks, depth));
}

uint64_t cost_mma(uint64_t batch, uint64_t m, uint64_t n, uint64_t k, uint64_t taps, uint32_t rows,
		  uint32_t cols, unsigned int forms, unsigned int factor)
{
	uint64_t depth = cost_mul(cost_mul(taps, k), factor), best, cost;

	/*
	 * In each form, a block takes at least as long as loading the array for the next block: a
	 * cycle for each of @rows, whatever the form.
	 */
	if (depth < rows)
		depth = rows;
	best = cost_form(batch, m, n, depth, rows, cols);
	for (unsigned int i = 1; i <= forms; i++) {
		if (!(cols % (1u << i))) {
			cost = cost_form(batch, m, n, depth, (uint64_t)rows << i, cols >> i);
			best = cost < best ? cost : best;
		}
		if (!(rows % (1u << i))) {
			cost = cost_form(batch, m, n, depth, rows >> i, (uint64_t)cols << i);
			best = cost < best ? cost : best;
		}
	}
	return best;
}

uint64_t cost_dma(uint64_t runs, uint64_t bytes, uint32_t bytes_per_cycle, unsigned int setup)
{
	return cost_add(setup, cost_mul(runs, onpu_div_up(bytes, bytes_per_cycle)));
}
