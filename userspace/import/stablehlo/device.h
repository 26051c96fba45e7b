/* SPDX-License-Identifier: MIT */
/* The context that runs graphs of a program's operations. */
#ifndef SHLO_DEVICE_H
#define SHLO_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include <webnn/stablehlo.h>

#include "memory.h"

struct shlo_device;

/*
 * The folder in which a program's graphs are saved, and the numbers that tell them from other
 * programs' graphs.
 */
struct shlo_graph_files {
	const char *folder; /* NULL: graphs are not saved; belongs to the program */
	uint64_t program;   /* hash of the program */
	size_t partitions, module;
	uint64_t loop_limit, unroll_limit;
};

/*
 * Returns a new device, which runs graphs on a context; NULL when the context is NULL, or memory is
 * exhausted.
 */
struct shlo_device *shlo_device_create(WNNContext context);
void shlo_device_destroy(struct shlo_device *device);
/*
 * Begins a run, which the functions below tell about. Graphs that it needs are loaded from @files,
 * or else built and saved there.
 */
void shlo_device_begin(struct shlo_device *device, const struct shlo_graph_files *files);
/* Returns the number of operators in the run's graphs that do not run on the NPU. */
uint64_t shlo_device_cpu_operators(const struct shlo_device *device);
/* Returns how many graphs the run has built, instead of using those of an earlier run. */
uint64_t shlo_device_built(const struct shlo_device *device);
/* Whether a graph was not built for lack of memory, so that the next run should try again. */
bool shlo_device_lacked_memory(const struct shlo_device *device);
/* Returns about how many bytes the graphs hold: constants, inputs, and values between them. */
size_t shlo_device_bytes(const struct shlo_device *device);

/* Whether the run has reached other functions or regions than the run before it. */
bool shlo_device_differs(const struct shlo_device *device);
/* Returns the device that computed each operation of the run. */
WNNStablehloPlacementArray shlo_device_placement(const struct shlo_device *device,
						 struct shlo_arena *arena);

#endif
