/* SPDX-License-Identifier: MIT */
/*
 * What both modes of the device model have in common: its sizes, and its allocator, which is that of
 * the application, as for all memory of the library.
 */
#ifndef WNN_WINSYS_SIM_HEAP_H
#define WNN_WINSYS_SIM_HEAP_H

#include "onpu_sim.h"
#include "util/alloc.h"
#include "winsys/winsys.h"

/*
 * Sets the machine, its SRAM, threads and SIMD level to those of @config. The device model has at
 * most ONPU_SIM_MAX_THREADS threads, even if there are more processors.
 */
void sim_configure(struct onpu_sim_config *machine, const struct winsys_sim_config *config);

/*
 * Stores the calling thread's allocator in @allocator, which must live as long as the model.
 * Returns the memory functions of the model, which use it.
 */
struct onpu_sim_memory sim_heap_memory(struct wnn_allocator *allocator);

#endif
