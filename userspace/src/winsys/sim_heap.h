/* SPDX-License-Identifier: MIT */
/*
 * The allocator of the device model in both modes: that of the application, which the library uses
 * for all its memory.
 */
#ifndef WNN_WINSYS_SIM_HEAP_H
#define WNN_WINSYS_SIM_HEAP_H

#include "onpu_sim.h"
#include "util/alloc.h"

/*
 * Stores the calling thread's allocator in @allocator, which must live as long as the model.
 * Returns the memory functions of the model, which use it.
 */
struct onpu_sim_memory sim_heap_memory(struct wnn_allocator *allocator);

#endif
