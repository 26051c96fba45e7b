/* SPDX-License-Identifier: MIT */
/* Copies and fills of strided views between spaces, for the DMA instructions. */
#ifndef ONPU_MACHINE_DMA_H
#define ONPU_MACHINE_DMA_H

#include "machine/sim.h"
#include "machine/walk.h"

/* A copy between views of the same dimensions, prepared once for any start positions. */
struct dma_copy {
	struct sim_context *c;
	bool src_va, dst_va;
	unsigned int esize;
	/*
	 * The view in whose order elements are visited, and the other one: S0 and DST, or DST and
	 * S0. In `walk` they are views 0 and 1.
	 */
	unsigned int lead, follow;
	struct walk walk;
	unsigned int block; /* the dimensions from this one on are moved together, as a block */
	bool dense;	    /* the block is dense in the leading view */
};

/*
 * dma_copy_init() takes dimensions and strides of @dst and @src; dma_copy_run() gets their starts.
 * dma_copy_run() and dma_fill() return false after a fault, which is in the context, or when the
 * job is given up.
 */
void dma_copy_init(struct dma_copy *copy, struct sim_context *c, const struct sim_tensor *dst,
		   const struct sim_tensor *src);
bool dma_copy_run(const struct dma_copy *copy, uint64_t dst, uint64_t src);
bool dma_fill(struct sim_context *c, const struct sim_tensor *dst, uint64_t value);
/* Counts the memory traffic of @elements elements. */
void dma_count(struct sim_context *c, const struct sim_tensor *dst, const struct sim_tensor *src,
	       uint64_t elements);

#endif
