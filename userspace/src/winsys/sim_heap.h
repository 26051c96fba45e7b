/* SPDX-License-Identifier: MIT */
/* The memory of the device model, in both modes: it is the application's, like all of the library's. */
#ifndef WNN_WINSYS_SIM_HEAP_H
#define WNN_WINSYS_SIM_HEAP_H

#include "onpu_sim.h"
#include "util/alloc.h"

/* Remembers in @allocator what the calling thread works for; it stays as long as the model does. */
struct onpu_sim_memory sim_heap_memory(struct wnn_allocator *allocator);

#endif
