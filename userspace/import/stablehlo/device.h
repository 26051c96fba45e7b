/* SPDX-License-Identifier: MIT */
/* The context that runs graphs of a program's operations. */
#ifndef SHLO_DEVICE_H
#define SHLO_DEVICE_H

#include <stdint.h>

#include <webnn/stablehlo.h>

#include "memory.h"

struct shlo_device;

/* Returns NULL when context is NULL, or memory is exhausted. */
struct shlo_device *shlo_device_create(WNNContext context);
void shlo_device_destroy(struct shlo_device *device);
/* Returns the number of operators in the device's graphs that do not run on the NPU. */
uint64_t shlo_device_cpu_operators(const struct shlo_device *device);

/* Returns the device that computed each operation of the last run. */
WNNStablehloPlacementArray shlo_device_placement(const struct shlo_device *device,
						 struct shlo_arena *arena);

#endif
