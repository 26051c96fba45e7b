/* SPDX-License-Identifier: MIT */
/* Sequences of operations that a device runs as one graph. */
#ifndef SHLO_SEGMENT_H
#define SHLO_SEGMENT_H

#include "run.h"

/*
 * Runs the graph that begins at operation @at of the region, and returns the number of operations
 * that the graph replaces; 0: no graph can run there.
 */
size_t shlo_run_segment(struct shlo_run *run, struct shlo_frame *frame,
			const struct shlo_region *region, size_t at);

#endif
