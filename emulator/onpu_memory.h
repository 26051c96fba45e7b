/* SPDX-License-Identifier: MIT */
/*
 * Memory of a machine and of the device around it: from its owner's functions, or from the C
 * library.
 */
#ifndef ONPU_MEMORY_H
#define ONPU_MEMORY_H

#include <stdlib.h>
#include <string.h>

#include "onpu_sim.h"

#define SIM_ALIGNMENT ((size_t)64)

/* Returns memory aligned to SIM_ALIGNMENT with undefined contents; NULL: there is none. */
static inline void *sim_alloc(const struct onpu_sim_memory *memory, size_t size)
{
	size = (size + SIM_ALIGNMENT - 1) & ~(SIM_ALIGNMENT - 1);
	return memory->allocate ? memory->allocate(memory->ctx, SIM_ALIGNMENT, size) :
				  aligned_alloc(SIM_ALIGNMENT, size);
}

/* Allocates a block whose bytes are zero; returns NULL when memory is exhausted. */
static inline void *sim_calloc(const struct onpu_sim_memory *memory, size_t count, size_t size)
{
	void *block = sim_alloc(memory, count * size);

	return block ? memset(block, 0, count * size) : NULL;
}

static inline void sim_free(const struct onpu_sim_memory *memory, void *block)
{
	if (!memory->allocate)
		free(block);
	else if (block)
		memory->release(memory->ctx, block);
}

#endif
