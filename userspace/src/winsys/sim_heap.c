// SPDX-License-Identifier: MIT
/*
 * The sizes and the allocator of the device model. The model's thread works for no caller, so that
 * the allocator of the application is stored with the model.
 */
#include "winsys/sim_heap.h"

void sim_configure(struct onpu_sim_config *machine, const struct winsys_sim_config *config)
{
	uint32_t threads = config->threads ? config->threads : 1;

	if (config->machine)
		onpu_sim_config_name(machine, config->machine);
	if (config->sram_bytes)
		machine->sram_bytes = config->sram_bytes;
	machine->threads = threads < ONPU_SIM_MAX_THREADS ? threads : ONPU_SIM_MAX_THREADS;
	machine->simd = config->simd;
}

static void *allocate(void *ctx, size_t alignment, size_t size)
{
	return alignment <= WNN_ALIGNMENT ? wnn_allocate(ctx, size) : NULL;
}

static void release(void *ctx, void *memory)
{
	wnn_deallocate(ctx, memory);
}

struct onpu_sim_memory sim_heap_memory(struct wnn_allocator *allocator)
{
	*allocator = wnn_allocator_current();
	return (struct onpu_sim_memory){ allocator, allocate, release };
}
